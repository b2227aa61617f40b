#include "some_slurm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_ctl.h"
#include "np_placement.h"

static const char topology[] =
	"SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
	"SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[4-7]\n"
	"SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[8-11]\n"
	"SwitchName=leaf3 Level=0 LinkSpeed=1 Nodes=n[12-15]\n"
	"SwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-15] "
	"Switches=leaf[0-3]\n";

static int32_t all[] = { 0, 15, -1 }, first[] = { 0, 3, -1 },
	       last[] = { 12, 15, -1 };

static void add_nodes(struct some_slurm *s)
{
	for (uint32_t i = 0; i < SOME_NODES; i++) {
		bool big = i >= 12;

		snprintf(s->name[i], sizeof(s->name[i]), "n%u", i);
		s->node[i] = (node_info_t){
			.name = s->name[i],
			.node_state = NODE_STATE_IDLE,
			.cpus = big ? 8 : 4,
			.real_memory = big ? 8000 : 2000,
			.features = big ? (char *)"big,ib" : NULL,
		};
	}
	s->nodes = (node_info_msg_t){
		.record_count = SOME_NODES,
		.node_array = s->node,
	};
}

static void add_parts(struct some_slurm *s)
{
	s->part[0] = (partition_info_t){
		.name = (char *)"batch",
		.node_inx = all,
		.max_share = 1,
		.flags = PART_FLAG_DEFAULT,
	};
	s->part[1] = (partition_info_t){
		.name = (char *)"debug",
		.node_inx = first,
		.max_share = 1,
	};
	s->part[2] = (partition_info_t){
		.name = (char *)"alone",
		.node_inx = all,
		.max_share = 0,
	};
	s->part[3] = (partition_info_t){
		.name = (char *)"big",
		.node_inx = last,
		.max_share = 1,
	};
	s->parts = (partition_info_msg_t){
		.record_count = SOME_PARTS,
		.partition_array = s->part,
	};
}

void some_slurm(struct some_slurm *s)
{
	struct np_err err = NP_ERR_INIT;

	memset(s, 0, sizeof(*s));
	s->now_sec = SOME_NOW;
	add_nodes(s);
	add_parts(s);
	s->jobs.job_array = s->job;
	s->info = (struct np_ctld_info){
		.nodes = &s->nodes,
		.parts = &s->parts,
		.jobs = &s->jobs,
		.topology = (char *)topology,
	};
	if (np_cluster_map_make(NULL, &s->nodes, &s->parts, topology, false,
				&s->map, &err)) {
		fprintf(stderr, "some_slurm: %s\n", err.text);
		abort();
	}
}

void some_slurm_free(struct some_slurm *s)
{
	np_cluster_map_unref(s->map);
	s->map = NULL;
}

struct some_slurm ctld;

void some_slurm_end(void)
{
	some_slurm_free(&ctld);
}

void some_slurm_begin(void)
{
	some_slurm_end();
	some_slurm(&ctld);
}

slurm_job_info_t *some_job(struct some_slurm *s, uint32_t id, const char *app)
{
	slurm_job_info_t *j = &s->job[s->jobs.record_count++];

	*j = (slurm_job_info_t){
		.job_id = id,
		.user_id = SOME_UID,
		.name = (char *)app,
		.partition = (char *)"batch",
		.job_state = JOB_PENDING,
		.state_reason = WAIT_RESOURCES,
		.priority = 1000 - id,
		.num_nodes = 1,
		.num_cpus = 1,
		.num_tasks = 1,
		.ntasks_per_node = NO_VAL16,
		.shared = NO_VAL16,
		.array_task_id = NO_VAL,
		.submit_time = SOME_NOW - 100,
		.eligible_time = SOME_NOW - 100,
	};
	return j;
}

job_info_msg_t *some_answer(const job_info_msg_t *from)
{
	size_t n = from->record_count;
	job_info_msg_t *m = malloc(sizeof(*m));

	*m = *from;
	m->job_array = calloc(n + 1, sizeof(*m->job_array));
	for (size_t i = 0; i < n; i++) {
		m->job_array[i] = from->job_array[i];
		if (m->job_array[i].admin_comment)
			m->job_array[i].admin_comment =
				slurm_xstrdup(m->job_array[i].admin_comment);
	}
	return m;
}

static void pairs_of(struct some_slurm *s, const char *hosts, int32_t *to)
{
	uint64_t bits[1];

	if (np_cluster_map_parse_hostlist(s->map, hosts, bits))
		abort();
	NP_BITS_EACH(i, bits, 1) {
		*to++ = (int32_t)i;
		*to++ = (int32_t)i;
	}
	*to = -1;
}

void some_exclude(struct some_slurm *s, slurm_job_info_t *j, const char *hosts)
{
	j->exc_node_inx = s->now[j - s->job];
	pairs_of(s, hosts, j->exc_node_inx);
}

void some_run(struct some_slurm *s, slurm_job_info_t *j, const char *hosts)
{
	j->node_inx = s->now[j - s->job];
	pairs_of(s, hosts, j->node_inx);
	j->job_state = JOB_RUNNING;
	j->state_reason = WAIT_NO_REASON;
	j->start_time = SOME_NOW - 50;
}

void some_place_conf(struct np_place_conf *c)
{
	static const char *const apps[] = { "loud", "soft", "quiet" };

	np_place_conf_init(c);
	c->mode = NP_MODE_ENFORCE;
	for (size_t i = 0; i < NP_ARRAY_SIZE(apps); i++) {
		struct np_place_rule *r = &c->rule[c->n_rules++];

		r->what = NP_PLACE_JOB_NAME;
		strcpy(r->pattern, apps[i]);
		strcpy(r->app, apps[i]);
	}
}

enum { LOUD, SOFT, QUIET };

static int slowdown_of(void *arg, uint32_t victim, uint32_t co,
		       enum np_contact contact, double *slowdown)
{
	(void)arg;
	(void)contact;
	*slowdown = victim != QUIET && co == LOUD ? .5 : 0;
	return 0;
}

struct np_slowdowns *some_slowdowns(void)
{
	struct np_oracle o = { .slowdown = slowdown_of };
	struct np_conflict *c = np_conflict_new(&o);
	struct np_slowdowns *t;
	uint32_t handle;

	if (!c)
		abort();
	for (uint32_t i = LOUD; i <= QUIET; i++)
		if (np_conflict_add(c, 0, true, &handle, NULL) || handle != i)
			abort();
	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	if (np_conflict_table(c, .01, &t, NULL))
		abort();
	np_conflict_free(c);
	return t;
}

struct np_app_index *some_index(const struct np_auth_rules *auth)
{
	static const struct np_app_entry entry[] = {
		{ "loud", true, 0, LOUD },
		{ "soft", true, 0, SOFT },
		{ "quiet", true, 0, QUIET },
		{ "soft", false, SOME_UID + 1, QUIET, false, "it is quiet" },
	};
	static const struct np_auth_rule rules[] = {
		{ NP_AUTH_BY_DEFAULT, 0, "*", "" },
		{ NP_AUTH_BY_USER, SOME_UID, "*", "" },
		{ NP_AUTH_BY_USER, SOME_UID + 2, "*", "" },
		{ NP_AUTH_BY_USER, SOME_UID + 3, "*", "" },
	};
	static const struct np_auth_rules usual = {
		rules,
		NP_ARRAY_SIZE(rules),
		NULL,
		0,
	};
	struct np_app_index *x;

	if (np_app_index_new(entry, NP_ARRAY_SIZE(entry), NP_PROFILE_UNKNOWN,
			     auth ? auth : &usual, &x))
		abort();
	return x;
}

int some_jobs(struct some_slurm *s, struct np_job_cache *cache,
	      const struct np_change *change, size_t n_changes,
	      struct np_job_snapshot *v)
{
	struct np_app_index *index = some_index(s->auth);
	struct np_job_snapshot_input in;
	struct np_job_cache *own = NULL;
	struct np_place_conf conf;
	struct np_err err;
	int rc;

	some_place_conf(&conf);
	if (!cache && np_job_cache_new(&own))
		abort();
	in = (struct np_job_snapshot_input){
		.info = &s->info,
		.map = s->map,
		.index = index,
		.conf = &conf,
		.cache = cache ? cache : own,
		.change = change,
		.n_changes = n_changes,
		.now_sec = s->now_sec,
		.last_sec = s->now_sec - 2,
	};
	rc = np_job_snapshot_make(&in, v, &err);
	np_job_cache_free(own);
	np_app_index_unref(index);
	return rc;
}

struct np_placement *some_decision(const struct np_job_snapshot *v)
{
	struct np_slowdowns *t = some_slowdowns();
	struct np_policy policy;
	struct np_placement *p;
	struct np_err err;

	np_policy_init(&policy);
	if (np_placement_decide(v->snapshot, t, &policy, &p, &err)) {
		fprintf(stderr, "some_decision: %s\n", err.text);
		abort();
	}
	np_slowdowns_unref(t);
	return p;
}

/* Of libslurmfull; no installed header has them. */
extern bitstr_t *slurm_bit_alloc(int64_t n);
extern void slurm_bit_free(bitstr_t **b);
extern void slurm_bit_set(bitstr_t *b, int64_t bit);

bitstr_t *some_bits(int64_t from, int64_t end)
{
	bitstr_t *b = slurm_bit_alloc(64);

	for (int64_t i = from; i < end; i++)
		slurm_bit_set(b, i);
	return b;
}

void some_bits_free(bitstr_t *b)
{
	slurm_bit_free(&b);
}

void some_text(char **where, const char *text)
{
	slurm_xfree((void **)where);
	*where = text ? slurm_xstrdup(text) : NULL;
}

static _Thread_local char last_line[1024];
static _Thread_local unsigned n_logged, n_errors;
void (*some_on_log)(const char *line);

const char *some_logged(void)
{
	return last_line;
}

unsigned some_n_logged(void)
{
	return n_logged;
}

unsigned some_n_errors(void)
{
	return n_errors;
}

/* In place of Slurm's, whose log these would go to. */
void slurm_info(const char *fmt, ...);
void slurm_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_line, sizeof(last_line), fmt, ap);
	va_end(ap);
	n_logged++;
	if (some_on_log)
		some_on_log(last_line);
}

int slurm_error(const char *fmt, ...);
int slurm_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_line, sizeof(last_line), fmt, ap);
	va_end(ap);
	n_errors++;
	return SLURM_ERROR;
}

void some_desc(job_desc_msg_t *d, const char *app)
{
	slurm_init_job_desc_msg(d);
	d->het_job_offset = NO_VAL;
	d->user_id = SOME_UID;
	d->name = slurm_xstrdup(app);
	d->min_nodes = 1;
}

void some_desc_free(job_desc_msg_t *d)
{
	some_text(&d->name, NULL);
	some_text(&d->exc_nodes, NULL);
	some_text(&d->admin_comment, NULL);
	some_text(&d->partition, NULL);
}

const char *some_hosts(const struct np_cluster_map *s, const uint64_t *nodes)
{
	static char buf[256];
	char *text = np_cluster_map_format_hostlist(s, nodes);

	snprintf(buf, sizeof(buf), "%s", text ? text : "");
	free(text);
	return buf;
}

bool some_same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}
