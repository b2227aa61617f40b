/*
 * What job_submit costs on a large cluster: 10,000 nodes under 600 leaf
 * switches, 20,000 jobs of which 5,000 are pending. The whole callback is
 * measured, with all that it writes into the job's description; lines of the
 * log are formatted, but not written. Every fourth submission excludes some
 * nodes.
 *
 *   bench_submit [decisions [submissions]]
 *
 * The same where nodes are not numbered in order, with a list of 60 kB, and with
 * the longest list that is used; and a snapshot of 1,000 and 5,000 records of an
 * array whose owner has changed that list eight times since the last one.
 *
 * Then the work of the thread on the jobs that slurmctld has: to read them, to
 * decide, and to find what has to be written. A second decision has nothing new
 * to write. Exit 1 if it has, if all of it takes more than 64 MB, or if, in the
 * usual mix, a callback takes more than half a baseline (bench_baseline.h) of CPU
 * time at p99.
 */
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_baseline.h"
#include "bench_big.h"
#include "bench_ctld.h"
#include "np_apply.h"
#include "np_ctl.h"
#include "np_job_snapshot.h"
#include "np_shared.h"
#include "np_store_reader.h"

#define NOW BENCH_NOW
#define COLD 20	     /* submissions with cold caches, after each decision */
#define VARIABLES 80 /* of a user's environment */
#define CALLBACK_MAX_BASELINES 0.5
#define MEMORY_MAX_BYTES 64e6

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

static void make_conf(struct np_conf *conf)
{
	struct np_place_rule *r = &conf->place.rule[0];

	np_conf_init(conf);
	conf->place.n_partitions = NP_MODE_ENFORCE + 1;
	for (int i = 0; i <= NP_MODE_ENFORCE; i++) {
		strcpy(conf->place.partition[i].name,
		       np_mode_name((enum np_mode)i));
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

static struct np_app_index *make_index(const struct np_slowdowns *t)
{
	static struct np_app_entry entry[NP_CONFLICT_MAX_PROFILES];
	static const struct np_auth_rule all = {
		.by = NP_AUTH_BY_ALL,
		.pattern = "*",
	};
	const struct np_auth_rules auth = { &all, 1, NULL, 0 };
	size_t n = t->n;
	struct np_app_index *x;
	struct np_err err = { "out of memory" };

	for (uint32_t i = 0; i < n; i++) {
		snprintf(entry[i].app, sizeof(entry[i].app), "app%u", i);
		entry[i].published = t->profile[i].trusted;
		entry[i].uid = i % BENCH_USERS;
		entry[i].profile = (int32_t)i;
	}
	bench_must(np_app_index_new(entry, n, NP_PROFILE_UNKNOWN, &auth, &x),
		   &err);
	return x;
}

struct bench {
	const struct bench_mix *mix;
	struct np_conf conf;
	struct np_shared *shared;
	struct np_cluster_map *map;
	struct np_slowdowns *table;
	struct np_app_index *index;
	struct np_job_cache *cache;
	struct np_policy policy;
	size_t most; /* bytes in use, in total */
};

/* What the thread would write; returns how many updates, and makes them. */
static size_t write_all(const struct np_job_snapshot *v,
			const struct np_placement *p, struct bench_span *t)
{
	uint64_t *bits = calloc(v->map->words, sizeof(*bits));
	struct bench_span begin, took;
	size_t n = 0;

	*t = (struct bench_span){ 0, 0 };
	for (size_t i = 0; i < v->n_jobs; i++) {
		struct np_err err = { "out of memory" };
		struct np_update u;
		int rc;

		if (!v->job[i].managed)
			continue;
		begin = bench_now();
		rc = np_update_make(v, i, np_outcome_of(p, i), false, &u);
		took = bench_since(begin);
		t->wall_sec += took.wall_sec;
		t->cpu_sec += took.cpu_sec;
		bench_must(rc < 0, &err);
		if (rc) {
			ctld_update(v->job[i].id, &u, v->map, bits);
			n++;
		}
		np_update_clear(&u);
	}
	free(bits);
	return n;
}

static void publish(struct bench *b, struct np_job_snapshot *v,
		    struct np_placement *p)
{
	struct np_decision *s = calloc(1, sizeof(*s));
	struct np_arrivals none = { .since_sec = NOW + 1 };

	s->placement = p;
	s->map = np_cluster_map_ref(b->map);
	s->index = np_app_index_ref(b->index);
	s->set = v->set;
	v->set = NULL;
	s->now_sec = NOW;
	np_shared_publish(b->shared, s, &none);
}

struct spans {
	struct bench_span *look, *decide, *write;
};

/* The job snapshot, with changes of users. */
static void make_snapshot(struct bench *b, const struct np_change *change,
			  size_t n_changes, struct np_job_snapshot *v)
{
	const struct np_job_snapshot_input in = {
		.info = ctld_info(),
		.map = b->map,
		.index = b->index,
		.conf = &b->conf.place,
		.cache = b->cache,
		.change = change,
		.n_changes = n_changes,
		.now_sec = NOW,
		.last_sec = NOW - 2,
	};
	struct np_err err;

	bench_must(np_job_snapshot_make(&in, v, &err), &err);
}

/* One pass of the thread. Returns how many updates it would send. */
static size_t decide(struct bench *b, const struct spans *t, size_t i)
{
	const struct np_ctld_info *a = ctld_info();
	struct bench_span begin = bench_now();
	struct np_placement *p;
	struct np_cluster_map *map;
	struct np_err err;
	struct np_job_snapshot v;
	size_t n;

	bench_must(np_cluster_map_make(b->map, a->nodes, a->parts, a->topology,
				       false, &map, &err),
		   &err);
	np_cluster_map_unref(b->map);
	b->map = map;
	make_snapshot(b, NULL, 0, &v);
	t->look[i] = bench_since(begin);
	begin = bench_now();
	bench_must(np_placement_decide(v.snapshot, b->table, &b->policy, &p,
				       &err),
		   &err);
	t->decide[i] = bench_since(begin);
	n = write_all(&v, p, &t->write[i]);
	np_job_cache_sweep(b->cache);
	if (mallinfo2().uordblks > b->most)
		b->most = mallinfo2().uordblks;
	publish(b, &v, p);
	np_job_snapshot_free(&v);
	return n;
}

/* What became of the submissions. */
struct tally {
	size_t restricted, held;
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
	d.partition = slurm_xstrdup(ctld_partition(b->mix));
	snprintf(text, sizeof(text), "NETPROF_APP=app%u", app);
	env[VARIABLES - 1] = text;
	d.environment = env;
	d.env_size = VARIABLES;
	if (i % 4 == 0)
		d.exc_nodes = slurm_xstrdup("node[00100-00103],node04711");
	if (i % 100 == 0)
		bench_baseline();
	begin = bench_now();
	np_submit(b->shared, &d, NOW, false);
	*t = bench_since(begin);
	tally->held += d.begin_time > NOW;
	tally->restricted += d.exc_nodes && (i % 4 || strlen(d.exc_nodes) > 40);
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
			 "VARIABLE_%d=/some/path/of/a/module/that/is/loaded",
			 i);
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
	b->table = bench_slowdowns(m);
	b->index = make_index(b->table);
	np_policy_init(&b->policy);
	b->policy.modes = m->modes;
	ctld_make_jobs(m);
}

/* All that runs ends at once: rounds until the history has it. */
static void end_all(struct bench *b)
{
	struct bench_span *t = calloc(BENCH_RUNNING + 1, sizeof(*t)), begin;
	const struct np_ctld_info *a = ctld_info();
	char dir[] = "/tmp/bench_submit.XXXXXX", rm[64];
	struct np_err err = { "out of memory" };
	struct np_accounting *history = NULL;
	struct np_job_snapshot v;
	size_t n = 0;

	bench_must(!mkdtemp(dir) || np_accounting_new(&history), &err);
	make_snapshot(b, NULL, 0, &v);
	bench_must(np_accounting_update(history, &v, a, b->table, b->index, dir,
					0600, &err),
		   &err);
	np_job_snapshot_free(&v);
	ctld_end_jobs();
	make_snapshot(b, NULL, 0, &v);
	do {
		begin = bench_now();
		bench_must(np_accounting_update(history, &v, a, b->table,
						b->index, dir, 0600, &err),
			   &err);
		t[n++] = bench_since(begin);
	} while (np_accounting_has_more(history));
	bench_report(b->mix->name, "all jobs end", t, n, 1e-3, "ms");
	np_job_snapshot_free(&v);
	np_accounting_free(history);
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
	np_slowdowns_unref(b->table);
	np_app_index_unref(b->index);
	np_cluster_map_unref(b->map);
}

/* As if slurmctld had done something else since the last submission. */
static void cool(void)
{
	static char other[32 << 20];

	for (size_t i = 0; i < sizeof(other); i += 64)
		other[i]++;
}

static bool run(const struct bench_mix *m, size_t decisions, size_t submissions)
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
	printf("%-18s of %zu submissions %zu restricted, %zu held; updates: "
	       "%zu at first, %zu in %zu more rounds\n",
	       m->name, decisions * (submissions + COLD), tally.restricted,
	       tally.held, first, more, decisions - 1);
	p99 = bench_report(m->name, "callback", one, decisions * submissions,
			   1e-6, "us");
	good = bench_within("a callback", p99, CALLBACK_MAX_BASELINES) ||
	       m != bench_mixes;
	bench_report(m->name, "cold callback", cold, decisions * COLD, 1e-6,
		     "us");
	bench_report(m->name, "look", spans.look, decisions, 1e-3, "ms");
	bench_report(m->name, "decide", spans.decide, decisions, 1e-3, "ms");
	bench_report(m->name, "what to write", spans.write, decisions, 1e-3,
		     "ms");
	/* At the moment when there are two decisions, and a snapshot. What the
	   jobs themselves hold here is slurmctld's. */
	bytes = (double)b.most - (double)before - (double)ctld_bytes();
	printf("%-18s memory in use  %.1f MB\n", m->name, 1e-6 * bytes);
	good &= !more && bytes < MEMORY_MAX_BYTES;
	tear_down(&b);
	free(cold);
	free(one);
	free(t);
	return good;
}

/* "node[00000-09999,00001-09999,...]", so many bytes of it. */
static char *long_list(size_t len, size_t first)
{
	char *text = malloc(len + 1);
	size_t n = (size_t)snprintf(text, len + 1, "node[%05zu-%05u", first,
				    BENCH_NODES - 1);

	for (size_t i = first + 1; n + 13 < len; i++)
		n += (size_t)snprintf(text + n, len + 1 - n, ",%05zu-%05u",
				      i % 1000, BENCH_NODES - 1);
	strcpy(text + n, "]");
	return text;
}

static void submit_list(struct bench *b, size_t bytes, const char *what)
{
	struct bench_span t[20];
	char *env[VARIABLES];
	char *list = long_list(bytes, 0);

	make_env(env);
	for (size_t i = 0; i < NP_ARRAY_SIZE(t); i++) {
		char text[] = "NETPROF_APP=app1";
		struct bench_span begin;
		job_desc_msg_t d;

		slurm_init_job_desc_msg(&d);
		d.het_job_offset = NO_VAL;
		d.user_id = 1;
		d.min_nodes = 1;
		d.partition = slurm_xstrdup("enforce");
		env[VARIABLES - 1] = text;
		d.environment = env;
		d.env_size = VARIABLES;
		d.exc_nodes = slurm_xstrdup(list);
		begin = bench_now();
		np_submit(b->shared, &d, NOW, false);
		t[i] = bench_since(begin);
		set_text(&d.partition, NULL);
		set_text(&d.exc_nodes, NULL);
		set_text(&d.admin_comment, NULL);
	}
	bench_report("long lists", what, t, NP_ARRAY_SIZE(t), 1e-3, "ms");
	free(list);
}

static void look_at_changes(struct bench *b, uint32_t records, size_t bytes,
			    const char *what)
{
	struct np_change c[8];
	struct bench_span t[3];
	uint32_t id, uid;

	ctld_make_jobs(b->mix);
	uid = ctld_make_array(records, &id);
	for (size_t i = 0; i < NP_ARRAY_SIZE(c); i++)
		c[i] = (struct np_change){
			.id = id,
			.task = NP_CHANGE_ALL,
			.uid = uid,
			.exc_nodes = long_list(bytes, i),
			.passed_on = long_list(bytes, i),
		};
	for (size_t i = 0; i < NP_ARRAY_SIZE(t); i++) {
		struct bench_span begin = bench_now();
		struct np_job_snapshot v;

		make_snapshot(b, c, NP_ARRAY_SIZE(c), &v);
		t[i] = bench_since(begin);
		np_job_snapshot_free(&v);
	}
	bench_report("long lists", what, t, NP_ARRAY_SIZE(t), 1e-3, "ms");
	for (size_t i = 0; i < NP_ARRAY_SIZE(c); i++) {
		free(c[i].exc_nodes);
		free(c[i].passed_on);
	}
}

static void run_lists(void)
{
	struct bench_span t[3];
	struct spans spans = { t, t + 1, t + 2 };
	struct bench b;

	ctld_make_nodes(true);
	set_up(&b, bench_mixes);
	decide(&b, &spans, 0);
	submit_list(&b, 60000, "callback, 60 kB");
	submit_list(&b, 4096, "callback, 4 KiB");
	look_at_changes(&b, 1000, 60000, "8 of 60 kB, 1,000");
	look_at_changes(&b, 5000, 60000, "8 of 60 kB, 5,000");
	look_at_changes(&b, 5000, 4096, "8 of 4 KiB, 5,000");
	np_shared_free(b.shared);
	np_job_cache_free(b.cache);
	np_slowdowns_unref(b.table);
	np_app_index_unref(b.index);
	np_cluster_map_unref(b.map);
}

int main(int argc, char **argv)
{
	size_t decisions = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	size_t submissions = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	bool good = true;

	if (!decisions || !submissions || argc > 3) {
		fprintf(stderr,
			"usage: bench_submit [decisions [submissions]]\n");
		return 2;
	}
	ctld_make_nodes(false);
	for (size_t i = 0; i < bench_n_mixes; i++)
		good &= run(&bench_mixes[i], decisions, submissions);
	run_lists();
	printf("a baseline: %.0f us\n", 1e6 * bench_baseline());
	return !good;
}
