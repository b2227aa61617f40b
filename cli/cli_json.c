#include "cli_json.h"

#include <stdio.h>

#include <json-c/json.h>

#include "cli_text.h"

static void put(json_object *in, const char *key, json_object *value)
{
	json_object_object_add(in, key, value);
}

static void put_text(json_object *in, const char *key, const char *text)
{
	put(in, key, text ? json_object_new_string(text) : NULL);
}

static void put_real(json_object *in, const char *key, double v)
{
	char text[CLI_NUMBER];

	snprintf(text, sizeof(text), "%.6g", v);
	put(in, key, json_object_new_double_s(v, text));
}

/* A date: seconds since 1970 to the millisecond. */
static void put_time(json_object *in, const char *key, double v)
{
	char text[CLI_NUMBER];

	snprintf(text, sizeof(text), "%.3f", v);
	put(in, key, json_object_new_double_s(v, text));
}

static void put_count(json_object *in, const char *key, uint64_t n)
{
	put(in, key, json_object_new_uint64(n));
}

static json_object *put_object(json_object *in, const char *key)
{
	json_object *j = json_object_new_object();

	put(in, key, j);
	return j;
}

static json_object *put_array(json_object *in, const char *key)
{
	json_object *j = json_object_new_array();

	put(in, key, j);
	return j;
}

static json_object *append_object(json_object *list)
{
	json_object *j = json_object_new_object();

	json_object_array_add(list, j);
	return j;
}

static int print(json_object *j)
{
	const char *text = json_object_to_json_string_ext(j,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		JSON_C_TO_STRING_NOSLASHESCAPE);
	int rc = text ? CLI_DONE : cli_fail("out of memory");

	if (text)
		puts(text);
	json_object_put(j);
	return rc;
}

static void put_owner(json_object *in, const struct cli_profile *p)
{
	char user[CLI_NUMBER];
	bool own = p->owner == NP_STORE_USER;

	put(in, "published", json_object_new_boolean(!own));
	put_text(in, "user", own ? cli_user(p->uid, user) : NULL);
	put(in, "uid", own ? json_object_new_int64(p->uid) : NULL);
}

static void put_verdict(json_object *in, const struct np_profile *p)
{
	static const char *const against[] = {
		[NP_AGAINST_NOTHING] = "nothing", [NP_AGAINST_IDLE] = "idle",
		[NP_AGAINST_SELF] = "self",
	};
	json_object *j = put_object(in, "verdict");
	json_object *text = put_array(j, "text");
	const struct np_verdict *v = &p->verdict;
	char said[CLI_SENTENCE];

	cli_say_use(p, said);
	json_object_array_add(text, json_object_new_string(said));
	cli_say_basis(p, said);
	if (*said)
		json_object_array_add(text, json_object_new_string(said));
	cli_say_interference(p, said);
	if (*said)
		json_object_array_add(text, json_object_new_string(said));
	put_text(j, "use", cli_use_name(p));
	put_text(j, "against", against[v->against]);
	put_real(j, "delayed_sec", v->delayed_sec);
	put_real(j, "delayed_share", v->delayed_share);
	put_real(j, "beyond_idle_p95", v->beyond_p95);
	put_real(j, "beyond_idle_p99", v->beyond_p99);
	put_real(j, "excess", v->excess);
	put_real(j, "rho", v->rho);
	put_text(j, "phases", cli_phase_name(v->phases));
	put_real(j, "busy_share", v->busy_share);
	put_real(j, "busy_period_sec", p->phases.busy_period_sec);
	put(j, "interference", json_object_new_boolean(v->interference));
}

static void put_runs(json_object *in, const struct cli_profile *p)
{
	json_object *j = put_object(in, "runs");

	for (int use = NP_RUN_USED; use <= NP_RUN_EMPTY; use++)
		put_count(j, cli_run_use_name((enum np_run_use)use),
			  p->profile.count[use]);
	put_count(j, "unreadable", p->n_skipped);
}

static void put_fabric(json_object *in, const struct np_record *r)
{
	json_object *j, *leaves;

	if (!r) {
		put(in, "fabric", NULL);
		return;
	}
	j = put_object(in, "fabric");
	put_text(j, "cluster", r->cluster);
	put_text(j, "transport", r->probe.transport);
	put_count(j, "message_bytes", r->probe.message_bytes);
	put_real(j, "period_sec", r->probe.period_sec);
	leaves = put_array(j, "leaves");
	for (size_t i = 0; i < r->n_leaves; i++) {
		json_object *leaf = append_object(leaves);

		put_text(leaf, "name", r->leaves[i].name);
		put_text(leaf, "nodes", r->leaves[i].nodes);
		put_count(leaf, "pairs", r->leaves[i].n_pairs);
		put_text(leaf, "skipped", r->leaves[i].skipped);
	}
}

static void put_sample(json_object *in, const char *key,
		       const struct np_sample *s)
{
	json_object *j;

	if (!s->n_runs) {
		put(in, key, NULL);
		return;
	}
	j = put_object(in, key);
	put_count(j, "runs", s->n_runs);
	put_count(j, "n", s->moments.n);
	put_real(j, "mean_sec", s->moments.mean);
	put_real(j, "sd_sec", np_moments_sd(&s->moments));
	put_real(j, "p50_sec", np_sample_quantile(s, 0.5));
	put_real(j, "p90_sec", np_sample_quantile(s, 0.9));
	put_real(j, "p99_sec", np_sample_quantile(s, 0.99));
	put_real(j, "max_sec", s->moments.max);
	put_time(j, "first", s->first);
	put_time(j, "last", s->last);
	put(j, "beside_other_jobs", json_object_new_boolean(s->neighbours));
}

/* [from_sec, samples, idle samples] of each bin that holds any. */
static void put_hist(json_object *in, const struct np_profile *p)
{
	json_object *list = put_array(in, "histogram");

	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		uint64_t n = p->app.hist ? np_hist_count(p->app.hist, i) : 0;
		uint64_t idle = p->idle.hist ? np_hist_count(p->idle.hist, i) :
					       0;
		char edge[CLI_NUMBER];
		json_object *j;

		if (!n && !idle)
			continue;
		j = json_object_new_array();
		snprintf(edge, sizeof(edge), "%.6g", np_hist_edge(i));
		json_object_array_add(j, json_object_new_double_s(
						 np_hist_edge(i), edge));
		json_object_array_add(j, json_object_new_uint64(n));
		json_object_array_add(j, json_object_new_uint64(idle));
		json_object_array_add(list, j);
	}
}

static void put_levels(json_object *in, const struct np_profile *p)
{
	json_object *list = put_array(in, "levels");

	for (size_t i = 0; i < p->n_levels; i++) {
		const struct np_level_result *l = &p->levels[i];
		json_object *j = append_object(list);

		put_text(j, "name", l->name);
		put_text(j, "scope", l->scope);
		put_count(j, "runs", l->n_runs);
		put_count(j, "compared", l->n_compared);
		if (l->n_compared) {
			put_real(j, "run_sec", l->run_sec);
			put_real(j, "alone_sec", l->alone_sec);
			put_real(j, "slowdown", l->slowdown);
		}
		if (l->n_rounds)
			put_real(j, "level_slowdown", l->level_slowdown);
	}
}

static void put_cost(json_object *in, const struct np_profile *p)
{
	json_object *j = put_object(in, "probe_cost");

	put_real(j, "cpu_share", p->cost.cpu_share);
	put_real(j, "cpu_share_max", p->cost.cpu_share_max);
	put_count(j, "rss_bytes_max", p->cost.rss_bytes_max);
	put_count(j, "messages", p->cost.messages);
}

int cli_json_show(const struct cli_profile *p)
{
	json_object *j = json_object_new_object();

	put_text(j, "app", p->runs.app);
	put_owner(j, p);
	put_verdict(j, &p->profile);
	put_runs(j, p);
	put_fabric(j, p->profile.fabric);
	put_sample(j, "latency", &p->profile.app);
	put_sample(j, "idle", &p->profile.idle);
	put_hist(j, &p->profile);
	put_levels(j, &p->profile);
	put_cost(j, &p->profile);
	return print(j);
}

const char *cli_run_id(const struct np_record *r, char *buf, size_t len)
{
	char job[CLI_NUMBER];

	if (r->array_job_id != NP_NO_VALUE && r->array_task_id != NP_NO_VALUE)
		snprintf(job, sizeof(job), "%u_%u", (unsigned)r->array_job_id,
			 (unsigned)r->array_task_id);
	else if (r->het_component != NP_NO_VALUE)
		snprintf(job, sizeof(job), "%u+%u", r->job_id,
			 (unsigned)r->het_component);
	else
		snprintf(job, sizeof(job), "%u", r->job_id);
	snprintf(buf, len, "%s.%u", job, r->step_id);
	return buf;
}

static void put_level_run(json_object *in, const struct np_level_run *l)
{
	json_object *j;

	if (!l) {
		put(in, "level", NULL);
		return;
	}
	j = put_object(in, "level");
	put_text(j, "name", l->name);
	put_text(j, "scope", l->scope);
	put_real(j, "alone_round_sec", l->alone_round_sec.mean);
	put_real(j, "beside_round_sec", l->beside_round_sec.mean);
}

static void put_run_latency(json_object *in, const struct np_record *r)
{
	struct np_moments m = np_run_latency(r);
	json_object *j = put_object(in, "latency");

	put_count(j, "n", m.n);
	put_real(j, "mean_sec", m.mean);
	put_real(j, "sd_sec", np_moments_sd(&m));
	put_real(j, "max_sec", m.n ? m.max : 0);
}

static void append_run(json_object *list, const struct np_record *r,
		       enum np_run_use use)
{
	static const char *const states[] = {
		[NP_RUN_RUNNING] = "running", [NP_RUN_COMPLETE] = "complete",
		[NP_RUN_CUT] = "cut",
	};
	json_object *j = append_object(list), *notes;
	char id[64];

	put_text(j, "run", cli_run_id(r, id, sizeof(id)));
	put_count(j, "job_id", r->job_id);
	put_count(j, "step_id", r->step_id);
	put_text(j, "use", cli_run_use_name(use));
	put_text(j, "state", states[r->state]);
	put(j, "exit_code", r->exit_code == NP_NO_VALUE ? NULL :
			    json_object_new_int64(r->exit_code));
	put_time(j, "start", r->start);
	put_time(j, "end", r->end);
	put_real(j, "run_sec", np_record_run_sec(r));
	put_text(j, "cluster", r->cluster);
	put_text(j, "nodes", r->nodes);
	put_count(j, "n_nodes", r->n_nodes);
	put_count(j, "n_tasks", r->n_tasks);
	put_text(j, "executable", r->executable);
	put_text(j, "fingerprint", r->fingerprint);
	put_run_latency(j, r);
	put_level_run(j, r->level);
	put_count(j, "neighbours", r->n_neighbours);
	notes = put_array(j, "notes");
	for (size_t i = 0; i < r->n_notes; i++)
		json_object_array_add(notes,
				      json_object_new_string(r->notes[i]));
}

int cli_json_runs(const struct cli_profile *p)
{
	json_object *j = json_object_new_object(), *list;

	put_text(j, "app", p->runs.app);
	put_owner(j, p);
	put_count(j, "unreadable", p->n_skipped);
	list = put_array(j, "runs");
	for (size_t i = 0; i < p->runs.n; i++)
		append_run(list, p->runs.run[i], p->profile.use[i]);
	return print(j);
}

int cli_json_list(const struct cli_profile *const *p, size_t n)
{
	json_object *j = json_object_new_object();
	json_object *list = put_array(j, "profiles");

	for (size_t i = 0; i < n; i++) {
		json_object *one = append_object(list);

		put_text(one, "app", p[i]->runs.app);
		put_owner(one, p[i]);
		put_count(one, "runs", p[i]->runs.n);
		put_time(one, "last", p[i]->runs.n ? p[i]->runs.run[0]->end :
						     0);
		put_text(one, "use", cli_use_name(&p[i]->profile));
		put_text(one, "phases",
			 cli_phase_name(p[i]->profile.phases.kind));
		put_real(one, "busy_share", p[i]->profile.phases.busy_share);
		put_levels(one, &p[i]->profile);
	}
	return print(j);
}
