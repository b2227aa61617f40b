#include "t.h"
#include "np_placer.h"
#include "some_slurm.h"

static struct np_denials denied_of(const struct some_slurm *s,
				   const struct np_job_snapshot *v)
{
	struct np_app_index *index = some_index(s->auth);
	struct np_denials d;

	np_denials_collect(v, index, &d);
	np_app_index_unref(index);
	return d;
}

static struct np_state state_of(struct some_slurm *s)
{
	static struct np_settings settings;
	static const struct np_controller controller = { .cluster = "c",
							 .host = "ctl" };
	struct np_slowdowns *table = some_slowdowns();
	struct np_state state = { .date = 0 };
	struct np_denials denied;
	struct np_placement *p;
	struct np_job_snapshot v;
	struct np_state_input t = {
		.controller = &controller,
		.settings = &settings,
		.table = table,
		.fabric = "as of today",
		.trouble = "none",
		.decide_sec = .5,
	};

	np_settings_init(&settings);
	T_CHECK(!some_jobs(s, NULL, NULL, 0, &v));
	p = some_decision(&v);
	denied = denied_of(s, &v);
	t.denied = &denied;
	T_CHECK(!np_state_make(&t, &v, p, &state));
	np_placement_free(p);
	np_job_snapshot_free(&v);
	np_slowdowns_unref(table);
	return state;
}

static const struct np_state_job *job(const struct np_state *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->job[i].id == id)
			return &s->job[i];
	return NULL;
}

T_FIXTURE(some_slurm_begin, some_slurm_end);

T_TEST("the state of placement")
{
	const struct np_state_job *j;
	struct np_state state;

	ctld.node[2].node_state = NODE_STATE_DOWN;
	ctld.node[0].node_state = ctld.node[1].node_state =
		NODE_STATE_ALLOCATED;
	some_run(&ctld, some_job(&ctld, 30, "loud"), "n[0-1]");
	some_run(&ctld, some_job(&ctld, 20, "nameless"), "n[1,4]");
	some_job(&ctld, 10, "soft");
	some_job(&ctld, 5, "quiet");
	some_job(&ctld, 4, "unknown");
	state = state_of(&ctld);
	T_CHECK(state.date == SOME_NOW && state.decide_sec == .5);
	T_CHECK(!strcmp(state.cluster, "c") &&
		!strcmp(state.controller, "ctl"));
	T_CHECK(state.n_profiles == 3);
	T_CHECK(state.n_leaves == SOME_LEAVES);
	T_CHECK(!strcmp(state.leaf[0].name, "leaf0"));
	T_CHECK(state.leaf[0].n_nodes == 4 && state.leaf[0].n_idle == 1 &&
		state.leaf[0].n_unavailable == 1);
	T_CHECK(state.leaf[0].n_jobs == 2 && state.leaf[0].n_known == 1);
	T_CHECK(state.leaf[1].n_jobs == 1 && !state.leaf[1].n_known);
	T_ROW("those without an application are not logged",
	      state.n_jobs == 3 && !job(&state, 4) && !job(&state, 20));
	j = job(&state, 30);
	T_ROW("one that runs", j && !j->pending && j->known &&
				       some_same(j->leaves, "leaf0") &&
				       j->start == SOME_NOW - 50);
	j = job(&state, 5);
	T_ROW("one that harms nobody",
	      j && j->pending && some_same(j->action, "unrestricted") &&
		      !j->n_causes);
	j = job(&state, 10);
	T_ROW("one that is kept off",
	      j && some_same(j->action, "restricted") &&
		      some_same(j->leaves, "leaf[1-3]"));
	T_CHECK(j && j->text && strstr(j->text, "running job 30"));
	T_CHECK(j && j->n_causes == 1);
	if (j && j->n_causes == 1) {
		T_CHECK(!strcmp(j->cause[0].leaf, "leaf0"));
		T_CHECK(j->cause[0].other == 30);
		T_CHECK(!strcmp(j->cause[0].other_app, "loud"));
		T_CHECK(j->cause[0].victim == 10);
		T_CHECK(t_close(j->cause[0].slowdown, .5, 1e-3));
	}
	np_state_free(&state);
}

T_TEST("the state of nothing")
{
	struct np_state state;

	state = state_of(&ctld);
	T_CHECK(!state.n_jobs && state.n_leaves == SOME_LEAVES);
	np_state_free(&state);
}

static unsigned lines(const struct np_job_snapshot *v,
		      struct np_job_cache *cache)
{
	struct np_placement *p = some_decision(v);
	unsigned before = some_n_logged(), n;

	np_state_log_decisions(v, p, cache);
	n = some_n_logged() - before;
	np_placement_free(p);
	return n;
}

/* A decision is logged once, until it is another one. */
T_TEST("a decision is logged once")
{
	struct np_job_cache *cache;
	struct np_job_snapshot v;

	T_CHECK(!np_job_cache_new(&cache));
	some_run(&ctld, some_job(&ctld, 30, "loud"), "n0");
	some_job(&ctld, 10, "soft");
	some_job(&ctld, 11, "unknown");
	T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
	T_CHECK(lines(&v, cache) == 1);
	T_CHECK(!strncmp(
		some_logged(),
		"netprof: JobId=10 (soft): kept off 1 of 4 leaf switches: ",
		55));
	T_ROW("again", !lines(&v, cache));
	np_job_snapshot_free(&v);
	some_run(&ctld, &ctld.job[0], "n4");
	T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
	T_ROW("another leaf", lines(&v, cache) == 1);
	np_job_snapshot_free(&v);
	np_job_cache_free(cache);
}

/* One that is another in each of forty passes. */
T_TEST("one that changes all the time does not fill the log")
{
	struct np_job_cache *cache;
	struct np_job_snapshot v;
	unsigned n = 0;

	T_CHECK(!np_job_cache_new(&cache));
	some_run(&ctld, some_job(&ctld, 30, "loud"), "n0");
	some_job(&ctld, 10, "soft");
	for (int i = 0; i < 40; i++) {
		if (i == 20)
			ctld.now_sec += 3600;
		some_run(&ctld, &ctld.job[0], i % 2 ? "n0" : "n4");
		T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
		n += lines(&v, cache);
		np_job_snapshot_free(&v);
	}
	T_ROW("five in an hour", n == 10);
	T_CHECK(strstr(some_logged(), "no more lines about it"));
	np_job_cache_free(cache);
}

/* A job of a user whose own runs contradict soft. */
static slurm_job_info_t *quiet_one(struct some_slurm *s, uint32_t id)
{
	slurm_job_info_t *j = some_job(s, id, "soft");

	j->user_id = SOME_UID + 1;
	return j;
}

T_TEST("denied names are in the state")
{
	struct np_auth_rule rule[NP_AUTH_MAX_RULES] = { { 0 } };
	struct np_auth_rules who = { .rule = rule };
	const struct np_state_job *j;
	struct np_state state;

	T_CHECK(!np_auth_parse("loud:account=phys", rule, &who.n_rules, NULL));
	ctld.auth = &who;
	some_run(&ctld, some_job(&ctld, 30, "loud"), "n[0-1]");
	quiet_one(&ctld, 10);
	quiet_one(&ctld, 11);
	some_job(&ctld, 12, "soft");
	state = state_of(&ctld);
	T_CHECK(state.n_denials == 2 && !state.more_denied);
	if (state.n_denials == 2) {
		T_CHECK(state.denial[0].uid == SOME_UID);
		T_CHECK(!strcmp(state.denial[0].app, "loud"));
		T_CHECK(state.denial[0].n_jobs == 1 &&
			!state.denial[0].refuted);
		T_CHECK(!strcmp(state.denial[0].why,
				"Claim= in netprof.conf names others"));
		T_CHECK(state.denial[1].uid == SOME_UID + 1);
		T_CHECK(state.denial[1].n_jobs == 2 && state.denial[1].refuted);
		T_CHECK(!strcmp(state.denial[1].why,
				"own runs contradict it: it is quiet"));
	}
	j = job(&state, 30);
	T_ROW("it is no load", j && !j->known && state.leaf[0].n_jobs == 1 &&
				       !state.leaf[0].n_known);
	j = job(&state, 10);
	T_ROW("it is ignored",
	      j && some_same(j->action, "none") &&
		      strstr(j->text, "is not authorised to use that"));
	j = job(&state, 12);
	T_ROW("another user's is moved by nobody, as loud does not count",
	      j && !strcmp(j->action, "unrestricted"));
	np_state_free(&state);
}

/* Lines of one pass. */
static size_t denied_lines(struct some_slurm *s,
			   struct np_logged_denials *logged)
{
	unsigned before = some_n_logged();
	struct np_denials d;
	struct np_job_snapshot v;
	size_t n;

	T_CHECK(!some_jobs(s, NULL, NULL, 0, &v));
	d = denied_of(s, &v);
	n = np_denials_log(&v, &d, logged);
	T_CHECK(n == some_n_logged() - before);
	np_job_snapshot_free(&v);
	return n;
}

T_TEST("a denial is logged once")
{
	struct np_auth_rule rule[NP_AUTH_MAX_RULES] = { { 0 } };
	struct np_auth_rules who = { .rule = rule };
	static struct np_logged_denials logged;

	quiet_one(&ctld, 10);
	quiet_one(&ctld, 11);
	T_CHECK(denied_lines(&ctld, &logged) == 1);
	T_CHECK(!strcmp(some_logged(),
			"netprof: uid 20002 may not use the profile name "
			"\"soft\": own runs contradict it: it is quiet; its "
			"jobs of that name count as unknown"));
	T_ROW("again", !denied_lines(&ctld, &logged));
	ctld.jobs.record_count = 0;
	T_ROW("the jobs went", !denied_lines(&ctld, &logged));
	quiet_one(&ctld, 12);
	T_ROW("others came", !denied_lines(&ctld, &logged));
	T_CHECK(!np_auth_parse("soft:user=0", rule, &who.n_rules, NULL));
	ctld.auth = &who;
	T_ROW("for another reason", denied_lines(&ctld, &logged) == 1);
	T_CHECK(strstr(some_logged(), "Claim= in netprof.conf names others"));
	rule[0].id = SOME_UID + 1;
	T_ROW("he may", !denied_lines(&ctld, &logged));
	rule[0].id = 0;
	T_ROW("and may not", denied_lines(&ctld, &logged) == 1);
}

T_TEST("more denials than are listed")
{
	enum { JOBS = 2 * NP_DENIED_KEEP };
	struct np_app_index *index = some_index(NULL);
	struct np_job_entry *entries = calloc(JOBS, sizeof(*entries));
	struct np_job *in = calloc(JOBS, sizeof(*in));
	struct np_job_snapshot v = { .job = entries, .n_jobs = JOBS };
	static struct np_logged_denials logged;
	struct np_denials d;

	for (uint32_t i = 0; i < JOBS; i++) {
		in[i].owner = i;
		entries[i].in = &in[i];
		entries[i].auth = NP_AUTH_DENIED;
		strcpy(entries[i].app, "loud");
	}
	np_denials_collect(&v, index, &d);
	T_CHECK(d.n == NP_DENIED_MAX && d.n_more == JOBS - NP_DENIED_MAX);
	for (size_t i = 0; i < JOBS; i += NP_DENIED_MAX) {
		v.job = entries + i;
		v.n_jobs = NP_DENIED_MAX;
		np_denials_collect(&v, index, &d);
		T_CHECK(np_denials_log(&v, &d, &logged) == NP_DENIED_MAX);
	}
	T_CHECK(logged.n == NP_DENIED_KEEP);
	T_ROW("the last ones are remembered", !np_denials_log(&v, &d, &logged));
	np_app_index_unref(index);
	free(in);
	free(entries);
}

T_TEST("a user who is denied many names leaves others' in the list")
{
	enum { JOBS = 2 * NP_DENIED_MAX };
	struct np_app_index *index = some_index(NULL);
	static struct np_job_entry entries[JOBS];
	static struct np_job in[JOBS];
	struct np_job_snapshot v = { .job = entries, .n_jobs = JOBS };
	struct np_denials d;

	for (uint32_t i = 0; i < JOBS; i++) {
		in[i].owner = i < JOBS - 1 ? 7 : 8;
		entries[i].in = &in[i];
		entries[i].auth = NP_AUTH_DENIED;
		sprintf(entries[i].app, "loud%u", i);
	}
	np_denials_collect(&v, index, &d);
	T_CHECK(d.n == NP_DENIED_MAX / 2 + 1 && d.entry[d.n - 1].uid == 8 &&
		d.n_more == JOBS - d.n);
	np_app_index_unref(index);
}

/* A pass that ended so, with what stood there before; what is logged. */
static const char *make_pass(struct np_err *logged, int rc, const char *text)
{
	struct np_err why = NP_ERR_INIT, trouble = NP_ERR_INIT;

	strcpy(why.text, text);
	np_state_set_trouble(rc, &why, &trouble);
	np_state_log_trouble(logged, &trouble);
	return some_logged();
}

T_TEST("a trouble is logged once, also one without words")
{
	struct np_err logged = NP_ERR_INIT;
	unsigned errors = some_n_errors(), infos = some_n_logged();

	T_CHECK(!strcmp(make_pass(&logged, -EIO, "slurmctld: no answer"),
			"netprof: slurmctld: no answer"));
	make_pass(&logged, -EIO, "slurmctld: no answer");
	T_ROW("once", some_n_errors() == errors + 1);
	/* Without words it is none the less a failure. */
	T_CHECK(strstr(make_pass(&logged, -ENOMEM, ""), strerror(ENOMEM)));
	T_CHECK(some_n_errors() == errors + 2 && some_n_logged() == infos);
	T_CHECK(!strcmp(make_pass(&logged, 0, ""),
			"netprof: placement works fully again"));
	make_pass(&logged, 0, "");
	T_CHECK(some_n_logged() == infos + 1);
}

T_TEST("a pass that failed says why")
{
	struct np_err why = NP_ERR_INIT, trouble = { "no leaf switches" };

	np_state_set_trouble(0, &why, &trouble);
	T_CHECK(!strcmp(trouble.text, "no leaf switches"));
	np_state_set_trouble(-ENOMEM, &why, &trouble);
	T_CHECK(strstr(trouble.text, strerror(ENOMEM)));
}
