/*
 * What the placement decision costs on a large cluster: 10,000 nodes under 600
 * leaf switches, 20,000 jobs of which 5,000 wait.
 *
 *   bench_place [decisions [submissions]]
 *
 * One line per quantity and mix of applications: number of samples, median,
 * p99, maximum, by the clock and in CPU time, as others may use the machine;
 * then memory.  Exit 1 if a goal is missed: a decision within 100 ms and a
 * submission within 100 us of CPU time at p99, and 64 MB, in the mix "usual".
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_bits.h"
#include "np_placement.h"

#define NODES 10000
#define LEAVES 600
#define RUNNING 15000
#define PENDING 5000
#define WORDS ((NODES + 63) / 64)
#define SETS 100

/* A mix of applications. */
struct mix {
	const char *name;
	uint32_t profiles;
	double loud;	/* share of the profiles that press on others */
	double trusted; /* share that an administrator published */
	double most;	/* worst slowdown */
	unsigned modes; /* 1 << enum np_mode, drawn evenly */
};

static const struct mix mixes[] = {
	{ "usual", 200, .3, .7, .6, 1u << NP_MODE_ENFORCE },
	{ "prefer and advise", 200, .3, .7, .6,
	  1u << NP_MODE_ENFORCE | 1u << NP_MODE_PREFER |
	  1u << NP_MODE_ADVISE },
	{ "all in conflict", 200, 1, 1, 2, 1u << NP_MODE_ENFORCE },
	{ "all untrusted", 200, .3, 0, .6, 1u << NP_MODE_ENFORCE },
	{ "1000 applications", 1000, .3, .7, .6, 1u << NP_MODE_ENFORCE },
};

static uint64_t seed = 1;

static double draw(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) / (double)(UINT64_C(1) << 53);
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(draw() * n);
}

struct span {
	double wall_sec, cpu_sec;
};

static double clock_sec(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct span now(void)
{
	return (struct span){ clock_sec(CLOCK_MONOTONIC),
			      clock_sec(CLOCK_THREAD_CPUTIME_ID) };
}

static struct span since(struct span begin)
{
	struct span end = now();

	return (struct span){ end.wall_sec - begin.wall_sec,
			      end.cpu_sec - begin.cpu_sec };
}

static void must(int rc, const struct np_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "bench_place: %s\n", err->text);
	exit(1);
}

struct loudness {
	double press[NP_CONFLICT_MAX_PROFILES];
	double feel[NP_CONFLICT_MAX_PROFILES];
};

static int ask(void *arg, uint32_t victim, uint32_t co,
	       enum np_contact contact, double *slowdown)
{
	static const double coupling[] = { 1.5, 1, .5 };
	const struct loudness *l = arg;

	*slowdown = coupling[contact] * l->feel[victim] * l->press[co];
	return 0;
}

static struct np_press *make_press(const struct mix *m)
{
	static struct loudness l;
	struct np_oracle o = { ask, &l };
	struct np_conflict *c;
	struct np_press *t;
	struct np_err err;

	must(np_conflict_new(&o, &c, &err), &err);
	for (uint32_t i = 0; i < m->profiles; i++) {
		bool loud = draw() < m->loud;
		char name[16];
		uint32_t handle;

		l.press[i] = loud ? draw() : .02 * draw();
		l.feel[i] = m->most * draw();
		snprintf(name, sizeof(name), "app%u", i);
		must(np_conflict_add(c, name, i % 50, draw() < m->trusted,
				     &handle, &err), &err);
	}
	np_conflict_ask(c, NULL, 0, SIZE_MAX);
	must(np_conflict_table(c, .01, &t, &err), &err);
	np_conflict_free(c);
	return t;
}

static struct np_leaves *make_leaves(void)
{
	static char name[LEAVES][12];
	static uint32_t node[NODES];
	struct np_leaf leaf[LEAVES];
	struct np_leaves *l;
	struct np_err err;

	for (uint32_t i = 0; i < NODES; i++)
		node[i] = i;
	for (uint32_t i = 0; i < LEAVES; i++) {
		uint32_t first = (uint32_t)((uint64_t)i * NODES / LEAVES);
		uint32_t end = (uint32_t)((uint64_t)(i + 1) * NODES / LEAVES);

		snprintf(name[i], sizeof(name[i]), "leaf%u", i);
		leaf[i] = (struct np_leaf){ name[i], node + first,
					    end - first };
	}
	must(np_leaves_new(NODES, leaf, LEAVES, &l, &err), &err);
	return l;
}

/* A profile of the job's owner's or a trusted one, most often. */
static void fill_job(struct np_job *j, const struct mix *m, uint32_t id)
{
	*j = (struct np_job){
		.id = id, .tasks = 1, .priority = below(1000),
		.submit_sec = 1000 + below(1000),
		.flags = draw() < .8 ? NP_JOB_SHARES_NODES : 0,
		.profile = draw() < .1 ? NP_PROFILE_UNKNOWN :
			   (int32_t)below(m->profiles),
	};
	j->owner = j->profile >= 0 ? (uint32_t)j->profile % 50 : below(50);
	do
		j->mode = (enum np_mode)below(4);
	while (!(m->modes & 1u << j->mode));
	j->partition = (uint16_t)j->mode;
}

static void add_running(struct np_snapshot *s, const struct mix *m,
			uint8_t *use)
{
	struct np_err err;

	for (uint32_t i = 0; i < RUNNING; i++) {
		uint32_t node[64], n = draw() < .95 ? 1 + below(3) : 32;
		uint32_t at = below(NODES);
		struct np_job j;

		fill_job(&j, m, i + 1);
		j.state = NP_JOB_RUNNING;
		j.flags |= NP_JOB_SHARES_NODES;
		for (uint32_t k = 0; k < n; k++) {
			node[k] = (at + k) % NODES;
			use[node[k]]++;
		}
		j.node = node;
		j.n_nodes = n;
		must(np_snapshot_job(s, &j, &err), &err);
	}
}

static void add_sets(struct np_snapshot *s, uint32_t *set)
{
	struct np_err err;

	for (uint32_t i = 0; i < SETS; i++) {
		uint64_t bits[WORDS] = { 0 };

		for (uint32_t node = 0; node < NODES; node++)
			if (i < 3 || node % SETS != i)
				np_bits_set(bits, node);
		must(np_snapshot_nodes(s, bits, &set[i], &err), &err);
	}
}

static struct np_snapshot *make_snapshot(struct np_leaves *l,
					 const struct mix *m, uint32_t *set)
{
	static uint8_t use[NODES];
	struct np_snapshot *s;
	struct np_err err;

	memset(use, 0, sizeof(use));
	must(np_snapshot_new(l, 10000, 9990, &s, &err), &err);
	add_sets(s, set);
	add_running(s, m, use);
	for (uint32_t i = 0; i < NODES; i++)
		must(np_snapshot_node(s, i, use[i] > 3 ? NP_NODE_FULL :
				      use[i] ? NP_NODE_MIXED : NP_NODE_IDLE,
				      &err), &err);
	for (uint32_t i = 0; i < PENDING; i++) {
		struct np_job j;

		fill_job(&j, m, 100000 + i);
		j.state = draw() < .9 ? NP_JOB_READY : NP_JOB_WAITING;
		j.nodes_min = 1 + below(draw() < .9 ? 8 : 200);
		j.tasks = draw() < .95 ? 1 : 1 + below(100);
		j.candidates = set[below(SETS)];
		must(np_snapshot_job(s, &j, &err), &err);
	}
	np_snapshot_seal(s);
	return s;
}

static int by_wall(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->wall_sec < y->wall_sec ? -1 : x->wall_sec > y->wall_sec;
}

static int by_cpu(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->cpu_sec < y->cpu_sec ? -1 : x->cpu_sec > y->cpu_sec;
}

/* Prints; returns p99 of the CPU time. */
static double report(const char *mix, const char *what, struct span *t,
		     size_t n, double unit_sec, const char *unit)
{
	size_t p99 = (n * 99 + 99) / 100 - 1;

	qsort(t, n, sizeof(*t), by_wall);
	printf("%-18s %-15s n %6zu  median %7.1f p99 %7.1f max %7.1f %s",
	       mix, what, n, t[n / 2].wall_sec / unit_sec,
	       t[p99].wall_sec / unit_sec, t[n - 1].wall_sec / unit_sec, unit);
	qsort(t, n, sizeof(*t), by_cpu);
	printf("  CPU median %7.1f p99 %7.1f max %7.1f %s\n",
	       t[n / 2].cpu_sec / unit_sec, t[p99].cpu_sec / unit_sec,
	       t[n - 1].cpu_sec / unit_sec, unit);
	return t[p99].cpu_sec;
}

static void submit(struct np_placement *p, const struct mix *m,
		   const uint32_t *set, struct span *t, size_t n)
{
	uint64_t minus[WORDS] = { 0xff };
	struct np_outcome v;
	struct np_err err;

	for (size_t i = 0; i < n; i++) {
		struct np_job j;
		struct span begin;

		fill_job(&j, m, 0);
		j.state = NP_JOB_READY;
		j.nodes_min = 1 + below(8);
		j.candidates = set[below(3)];
		begin = now();
		must(np_placement_one(p, &j, i % 4 ? NULL : minus, 10001, &v,
				      &err), &err);
		t[i] = since(begin);
	}
}

static void say_what(const struct mix *m, const struct np_placement *p)
{
	unsigned n[4] = { 0 };

	for (size_t i = RUNNING; i < RUNNING + PENDING; i++)
		n[np_placement_at(p, i)->action]++;
	printf("%-18s of %d pending: %u left alone, %u anywhere, %u confined,"
	       " %u deferred\n", m->name, PENDING, n[NP_ACT_NONE],
	       n[NP_ACT_ANYWHERE], n[NP_ACT_CONFINE], n[NP_ACT_DEFER]);
}

static bool run(const struct mix *m, struct np_leaves *l, size_t decisions,
		size_t submissions)
{
	struct span *decide = calloc(decisions, sizeof(*decide));
	struct span *one = calloc(decisions * submissions, sizeof(*one));
	size_t before = mallinfo2().uordblks, in_use = 0;
	struct np_press *t = make_press(m);
	struct np_policy policy;
	uint32_t set[SETS];
	struct np_err err;
	bool good;

	np_policy_init(&policy);
	policy.modes = m->modes;
	for (size_t i = 0; i < decisions; i++) {
		struct np_snapshot *s = make_snapshot(l, m, set);
		struct np_placement *p;
		struct span begin = now();

		must(np_placement_decide(s, t, &policy, &p, &err), &err);
		decide[i] = since(begin);
		submit(p, m, set, one + i * submissions, submissions);
		if (mallinfo2().uordblks - before > in_use)
			in_use = mallinfo2().uordblks - before;
		if (!i)
			say_what(m, p);
		np_placement_free(p);
		np_snapshot_unref(s);
	}
	good = report(m->name, "full decision", decide, decisions, 1e-3,
		      "ms") < .1;
	good &= report(m->name, "one submission", one, decisions *
		       submissions, 1e-6, "us") < 100e-6;
	/* While a decision is made the one before is still in use. */
	printf("%-18s memory in use, two decisions  %.1f MB\n", m->name,
	       2e-6 * (double)in_use);
	good &= 2 * in_use < 64e6;
	np_press_unref(t);
	free(decide);
	free(one);
	return good;
}

int main(int argc, char **argv)
{
	size_t decisions = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	size_t submissions = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	struct np_leaves *l = make_leaves();
	bool good = true;

	if (!decisions || !submissions || argc > 3) {
		fprintf(stderr, "usage: bench_place [decisions "
			"[submissions]]\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
		bool fine = run(&mixes[i], l, decisions, submissions);

		if (!strcmp(mixes[i].name, "usual"))
			good = fine;
	}
	np_leaves_unref(l);
	return !good;
}
