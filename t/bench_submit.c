/*
 * What job_submit costs on a large cluster: 10,000 nodes under 600 leaf
 * switches, 20,000 jobs of which 5,000 wait; the whole callback, with all that
 * it writes into the description, and lines of the log put together and thrown
 * away.  Every fourth submission excludes some nodes.
 *
 *   bench_submit [decisions [submissions]]
 *
 * And the thread's own work on what slurmctld tells: to look at it, to decide,
 * to work out what is to be written.  A second decision has nothing new to
 * write.  Exit 1 if that is not so, or all of it takes more than 64 MB, or in
 * the usual mix a callback more than half a yard (bench_yard.h) of CPU time at
 * p99.
 */
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_big.h"
#include "bench_yard.h"
#include "np_bits.h"
#include "np_ctl.h"
#include "np_history.h"
#include "np_press_impl.h"
#include "np_submit.h"
#include "np_view.h"
#include "np_desired.h"

#define NODES BENCH_NODES
#define JOBS (BENCH_RUNNING + BENCH_PENDING)
#define NOW 1700000000
#define COLD 20 /* submissions with cold caches, after each decision */
#define VARIABLES 80 /* of a user's environment */
#define CALLBACK_MAX_YARDS 0.5
#define MEMORY_MAX_BYTES 64e6

static node_info_t node[NODES];
static char node_name[NODES][12];
static partition_info_t part[NP_MODE_ENFORCE + 1]; /* one for each mode */
static slurm_job_info_t job[JOBS];
static char job_app[JOBS][12];
static int32_t *job_pairs[JOBS];
static char *job_comment[JOBS];
static node_info_msg_t nodes = { .record_count = NODES, .node_array = node };
static partition_info_msg_t parts = { .record_count = NP_MODE_ENFORCE + 1,
				      .partition_array = part };
static job_info_msg_t jobs = { .record_count = JOBS, .job_array = job };
static char *topology;

/* In place of Slurm's: nothing is written anywhere. */
void slurm_info(const char *fmt, ...);
void slurm_info(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

static void make_nodes(void)
{
	static int32_t all[] = { 0, NODES - 1, -1 };
	size_t size;
	FILE *f = open_memstream(&topology, &size);

	for (uint32_t i = 0; i < NODES; i++) {
		snprintf(node_name[i], sizeof(node_name[i]), "node%05u", i);
		node[i] = (node_info_t){
			.name = node_name[i], .cpus = 128,
			.real_memory = 512000,
			.node_state = NODE_STATE_IDLE,
		};
	}
	for (uint32_t i = 0; i < BENCH_LEAVES; i++)
		fprintf(f, "SwitchName=leaf%u Level=0 Nodes=node[%05u-%05u]\n",
			i, bench_first_node(i), bench_first_node(i + 1) - 1);
	fclose(f);
	for (int i = 0; i <= NP_MODE_ENFORCE; i++)
		part[i] = (partition_info_t){
			.name = (char *)np_mode_name((enum np_mode)i),
			.node_inx = all, .max_share = 1,
		};
}

static char *draw_partition(const struct bench_mix *m)
{
	uint32_t mode;

	do
		mode = bench_below(NP_MODE_ENFORCE + 1);
	while (!(m->modes & 1u << mode));
	return part[mode].name;
}

static void make_job(uint32_t i, const struct bench_mix *m)
{
	uint32_t app = bench_below(m->profiles);

	/* One in ten is of nobody's applications. */
	snprintf(job_app[i], sizeof(job_app[i]), "%s%u",
		 bench_draw() < .1 ? "other" : "app", app);
	job[i] = (slurm_job_info_t){
		.job_id = i + 1, .user_id = app % BENCH_USERS,
		.name = job_app[i], .partition = draw_partition(m),
		.job_state = JOB_PENDING, .state_reason = WAIT_RESOURCES,
		.priority = 1 + bench_below(1000), .num_cpus = 1,
		.num_nodes = 1, .num_tasks = 1, .ntasks_per_node = NO_VAL16,
		.shared = NO_VAL16, .array_task_id = NO_VAL,
		.submit_time = NOW - 1000 + bench_below(1000),
	};
}

static void make_jobs(const struct bench_mix *m)
{
	static uint8_t use[NODES];

	memset(use, 0, sizeof(use));
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t n = bench_draw() < .95 ? 1 + bench_below(3) : 32;
		uint32_t at = bench_below(NODES - n);
		int32_t pairs[] = { (int32_t)at, (int32_t)(at + n - 1), -1 };

		make_job(i, m);
		free(job_pairs[i]);
		free(job_comment[i]);
		job_comment[i] = NULL;
		job_pairs[i] = malloc(sizeof(pairs));
		memcpy(job_pairs[i], pairs, sizeof(pairs));
		if (i >= BENCH_RUNNING) {
			job[i].num_nodes = 1 + bench_below(bench_draw() < .9 ?
							   8 : 200);
			if (i % 4)
				job_pairs[i][0] = -1;
			job[i].exc_node_inx = job_pairs[i];
			continue;
		}
		job[i].job_state = JOB_RUNNING;
		job[i].start_time = NOW - 500;
		job[i].node_inx = job_pairs[i];
		for (uint32_t k = at; k < at + n; k++)
			use[k]++;
	}
	for (uint32_t i = 0; i < NODES; i++)
		node[i].node_state = use[i] > 3 ? NODE_STATE_ALLOCATED :
				     use[i] ? NODE_STATE_MIXED :
					      NODE_STATE_IDLE;
}

static void make_conf(struct np_conf *conf)
{
	struct np_place_rule *r = &conf->place.rule[0];

	np_conf_init(conf);
	conf->place.n_partitions = NP_MODE_ENFORCE + 1;
	for (int i = 0; i <= NP_MODE_ENFORCE; i++) {
		strcpy(conf->place.partition[i].name, part[i].name);
		conf->place.partition[i].mode = (enum np_mode)i;
	}
	/* What rules cost: most match nothing. */
	for (; r < &conf->place.rule[10]; r++) {
		r->what = NP_PLACE_JOB_NAME;
		strcpy(r->pattern, "*/bin/*_solver.[0-9]");
		strcpy(r->app, "solver");
	}
	conf->place.n_rules = 10;
}

static struct np_app_index *make_index(const struct np_press *t)
{
	static struct np_app_entry entry[NP_CONFLICT_MAX_PROFILES];
	size_t n = np_press_n(t);
	struct np_app_index *x;
	struct np_err err = { "out of memory" };

	for (uint32_t i = 0; i < n; i++) {
		snprintf(entry[i].app, sizeof(entry[i].app), "app%u", i);
		entry[i].published = t->profile[i].trusted;
		entry[i].uid = i % BENCH_USERS;
		entry[i].profile = (int32_t)i;
	}
	bench_must(np_app_index_new(entry, n, NP_PROFILE_UNKNOWN, NULL, &x),
		   &err);
	return x;
}

/* Who named the application of a job that waits or runs: its note. */
static void name_jobs(void)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		if (!job_comment[i] && asprintf(&job_comment[i],
						"netprof{app=%s}",
						job_app[i]) < 0)
			exit(1);
		job[i].admin_comment = job_comment[i];
	}
}

struct bench {
	const struct bench_mix *mix;
	struct np_conf conf;
	struct np_shared *shared;
	struct np_site *site;
	struct np_press *table;
	struct np_app_index *index;
	struct np_job_cache *cache;
	struct np_policy policy;
	size_t most; /* bytes in use, all told */
};

static void write_one(uint32_t i, const struct np_update *u,
		      const struct np_site *site, uint64_t *bits)
{
	size_t words = np_site_words(site), n = 0;
	struct np_err err = { "list" };

	if (u->comment) {
		free(job_comment[i]);
		job_comment[i] = strdup(u->comment);
		job[i].admin_comment = job_comment[i];
	}
	if (u->begin_sec)
		job[i].eligible_time = u->begin_sec;
	if (!u->exc_nodes)
		return;
	bench_must(np_site_parse(site, u->exc_nodes, bits), &err);
	free(job_pairs[i]);
	job_pairs[i] = malloc((NODES + 2) * sizeof(int32_t));
	NP_BITS_EACH(k, bits, words) {
		if (n && job_pairs[i][n - 1] == (int32_t)k - 1) {
			job_pairs[i][n - 1]++;
			continue;
		}
		job_pairs[i][n++] = (int32_t)k;
		job_pairs[i][n++] = (int32_t)k;
	}
	job_pairs[i][n++] = -1;
	job_pairs[i] = realloc(job_pairs[i], n * sizeof(int32_t));
	job[i].exc_node_inx = job_pairs[i];
}

static struct np_desired wish_of(const struct np_outcome *o)
{
	struct np_desired w = { .held_sec = o->held_sec };

	if (o->applied)
		w.decided = o->action != NP_ACT_NONE;
	if (w.decided && o->action == NP_ACT_CONFINE)
		w.open = o->leaves;
	if (w.decided && o->action == NP_ACT_DEFER)
		w.until_sec = o->until_sec;
	return w;
}

/* What the thread would write; returns how many updates, and makes them. */
static size_t write_all(const struct np_view *v, const struct np_placement *p,
			struct bench_span *t)
{
	uint64_t *bits = calloc(np_site_words(v->site), sizeof(*bits));
	struct bench_span begin, took;
	size_t n = 0;

	*t = (struct bench_span){ 0, 0 };
	for (size_t i = 0; i < v->n_jobs; i++) {
		struct np_desired w = wish_of(np_placement_at(p, i));
		struct np_err err = { "out of memory" };
		struct np_update u;
		int rc;

		if (!v->job[i].ours)
			continue;
		begin = bench_now();
		rc = np_desired_update(&v->job[i], v->site, &w, NOW, false, &u);
		took = bench_since(begin);
		t->wall_sec += took.wall_sec;
		t->cpu_sec += took.cpu_sec;
		bench_must(rc < 0, &err);
		if (rc) {
			write_one(v->job[i].id - 1, &u, v->site, bits);
			n++;
		}
		np_update_clear(&u);
	}
	free(bits);
	return n;
}

static void publish(struct bench *b, struct np_view *v, struct np_placement *p)
{
	struct np_standing *s = calloc(1, sizeof(*s));

	s->placement = p;
	s->site = np_site_ref(b->site);
	s->index = np_app_index_ref(b->index);
	s->set = v->set;
	v->set = NULL;
	s->now_sec = NOW;
	np_shared_publish(b->shared, s, NOW + 1);
}

struct spans {
	struct bench_span *look, *decide, *write;
};

/* One round of the thread.  Returns how many updates it would send. */
static size_t decide(struct bench *b, const struct spans *t, size_t i)
{
	struct np_answers a = { .nodes = &nodes, .parts = &parts,
				.jobs = &jobs, .topology = topology };
	struct bench_span begin = bench_now();
	struct np_placement *p;
	struct np_site *site;
	struct np_err err;
	struct np_view v;
	size_t n;

	bench_must(np_site_make(b->site, &nodes, &parts, topology, false,
				&site, &err), &err);
	np_site_unref(b->site);
	b->site = site;
	bench_must(np_view_make(&a, b->site, b->index, &b->conf.place,
				b->cache, NULL, 0, NOW, NOW - 2, &v, &err),
		   &err);
	t->look[i] = bench_since(begin);
	begin = bench_now();
	bench_must(np_placement_decide(v.snapshot, b->table, &b->policy, &p,
				       &err), &err);
	t->decide[i] = bench_since(begin);
	n = write_all(&v, p, &t->write[i]);
	np_job_cache_sweep(b->cache);
	if (mallinfo2().uordblks > b->most)
		b->most = mallinfo2().uordblks;
	publish(b, &v, p);
	np_view_free(&v);
	return n;
}

/* What became of the submissions. */
struct tally {
	size_t confined, deferred;
};

static void set_text(char **where, const char *text)
{
	slurm_xfree((void **)where);
	*where = text ? slurm_xstrdup(text) : NULL;
}

static void submit_one(struct bench *b, size_t i, char **env,
		       struct bench_span *t, struct tally *tally)
{
	uint32_t app = bench_below(b->mix->profiles);
	struct bench_span begin;
	job_desc_msg_t d;
	char text[64];

	slurm_init_job_desc_msg(&d);
	d.het_job_offset = NO_VAL;
	d.user_id = app % BENCH_USERS;
	d.name = slurm_xstrdup("my_simulation.sh");
	d.min_nodes = 1 + bench_below(8);
	d.partition = slurm_xstrdup(draw_partition(b->mix));
	snprintf(text, sizeof(text), "NETPROF_APP=app%u", app);
	env[VARIABLES - 1] = text;
	d.environment = env;
	d.env_size = VARIABLES;
	if (i % 4 == 0)
		d.exc_nodes = slurm_xstrdup("node[00100-00103],node04711");
	if (i % 100 == 0)
		bench_yard();
	begin = bench_now();
	np_submit(b->shared, &d, NOW, false);
	*t = bench_since(begin);
	tally->deferred += d.begin_time > NOW;
	tally->confined += d.exc_nodes && (i % 4 || strlen(d.exc_nodes) > 40);
	set_text(&d.name, NULL);
	set_text(&d.partition, NULL);
	set_text(&d.exc_nodes, NULL);
	set_text(&d.admin_comment, NULL);
}

static void make_env(char **env)
{
	static char text[VARIABLES][64];

	for (int i = 0; i < VARIABLES; i++) {
		snprintf(text[i], sizeof(text[i]),
			 "VARIABLE_%d=/some/path/of/a/module/that/is/loaded", i);
		env[i] = text[i];
	}
}

static void set_up(struct bench *b, const struct bench_mix *m)
{
	struct np_err err = { "out of memory" };

	memset(b, 0, sizeof(*b));
	b->mix = m;
	make_conf(&b->conf);
	bench_must(np_shared_new(&b->conf, &b->shared), &err);
	bench_must(np_job_cache_new(&b->cache), &err);
	b->table = bench_press(m);
	b->index = make_index(b->table);
	np_policy_init(&b->policy);
	b->policy.modes = m->modes;
	make_jobs(m);
	name_jobs();
}

/* Texts and lists that the updates made longer. */
static size_t jobs_bytes(void)
{
	size_t n = 0;

	for (uint32_t i = 0; i < JOBS; i++)
		n += malloc_usable_size(job_comment[i]) +
		     malloc_usable_size(job_pairs[i]) - 2 * 24;
	return n;
}

static void view_of(struct bench *b, struct np_view *v)
{
	struct np_answers a = { .nodes = &nodes, .parts = &parts,
				.jobs = &jobs, .topology = topology };
	struct np_err err;

	bench_must(np_view_make(&a, b->site, b->index, &b->conf.place,
				b->cache, NULL, 0, NOW, NOW - 2, v, &err),
		   &err);
}

/* All that runs ends at once: rounds until the history has it. */
static void end_all(struct bench *b)
{
	struct bench_span *t = calloc(BENCH_RUNNING + 1, sizeof(*t)), begin;
	struct np_answers a = { .jobs = &jobs };
	char dir[] = "/tmp/bench_submit.XXXXXX", rm[64];
	struct np_err err = { "out of memory" };
	struct np_history *history = NULL;
	struct np_view v;
	size_t n = 0;

	bench_must(!mkdtemp(dir) || np_history_new(&history), &err);
	view_of(b, &v);
	bench_must(np_history_update(history, &v, &a, b->table, b->index, dir,
				     0600,
				     &err), &err);
	np_view_free(&v);
	for (uint32_t i = 0; i < BENCH_RUNNING; i++) {
		job[i].job_state = JOB_COMPLETE;
		job[i].end_time = NOW - (time_t)(i % 100);
	}
	view_of(b, &v);
	do {
		begin = bench_now();
		bench_must(np_history_update(history, &v, &a, b->table,
					     b->index,
					     dir, 0600, &err), &err);
		t[n++] = bench_since(begin);
	} while (np_history_has_more(history));
	bench_report(b->mix->name, "all jobs end", t, n, 1e-3, "ms");
	np_view_free(&v);
	np_history_free(history);
	free(t);
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	bench_must(system(rm), &err);
}

static void tear_down(struct bench *b)
{
	if (b->mix == bench_mixes)
		end_all(b);
	np_shared_free(b->shared);
	np_job_cache_free(b->cache);
	np_press_unref(b->table);
	np_app_index_unref(b->index);
	np_site_unref(b->site);
}

/* As if slurmctld had done something else since the last submission. */
static void cool(void)
{
	static char other[32 << 20];

	for (size_t i = 0; i < sizeof(other); i += 64)
		other[i]++;
}

static bool run(const struct bench_mix *m, size_t decisions,
		size_t submissions)
{
	struct bench_span *cold = calloc(decisions * COLD, sizeof(*cold));
	struct bench_span *one = calloc(decisions * submissions, sizeof(*one));
	struct bench_span *t = calloc(3 * decisions, sizeof(*t));
	struct spans spans = { t, t + decisions, t + 2 * decisions };
	size_t before, first = 0, more = 0;
	struct tally tally = { 0, 0 };
	char *env[VARIABLES];
	struct bench b;
	double bytes, p99;
	bool good;

	make_env(env);
	set_up(&b, m);
	before = mallinfo2().uordblks;
	for (size_t i = 0; i < decisions; i++) {
		size_t n = decide(&b, &spans, i);

		*(i ? &more : &first) += n;
		for (size_t k = 0; k < submissions; k++)
			submit_one(&b, k, env, &one[i * submissions + k],
				   &tally);
		for (size_t k = 0; k < COLD; k++) {
			cool();
			submit_one(&b, k, env, &cold[i * COLD + k], &tally);
		}
	}
	printf("%-18s of %zu submissions %zu confined, %zu deferred; updates: "
	       "%zu at first, %zu in %zu more rounds\n", m->name,
	       decisions * (submissions + COLD), tally.confined,
	       tally.deferred, first, more, decisions - 1);
	p99 = bench_report(m->name, "callback", one, decisions * submissions,
			   1e-6, "us");
	good = bench_within("a callback", p99, CALLBACK_MAX_YARDS) ||
	       m != bench_mixes;
	bench_report(m->name, "cold callback", cold, decisions * COLD, 1e-6,
		     "us");
	bench_report(m->name, "look", spans.look, decisions, 1e-3, "ms");
	bench_report(m->name, "decide", spans.decide, decisions, 1e-3, "ms");
	bench_report(m->name, "what to write", spans.write, decisions, 1e-3,
		     "ms");
	/* At the moment when there are two decisions, and a view.  What the
	   jobs themselves hold here is slurmctld's. */
	bytes = (double)b.most - (double)before - (double)jobs_bytes();
	printf("%-18s memory in use  %.1f MB\n", m->name, 1e-6 * bytes);
	good &= !more && bytes < MEMORY_MAX_BYTES;
	tear_down(&b);
	free(cold);
	free(one);
	free(t);
	return good;
}

int main(int argc, char **argv)
{
	size_t decisions = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	size_t submissions = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	bool good = true;

	if (!decisions || !submissions || argc > 3) {
		fprintf(stderr, "usage: bench_submit [decisions "
			"[submissions]]\n");
		return 2;
	}
	make_nodes();
	for (size_t i = 0; i < bench_n_mixes; i++)
		good &= run(&bench_mixes[i], decisions, submissions);
	printf("a yard: %.0f us\n", 1e6 * bench_yard());
	return !good;
}
