/*
 * What the placement decision costs on a large cluster: 10,000 nodes under 600
 * leaf switches, 20,000 jobs of which 5,000 wait.
 *
 *   bench_place [decisions [submissions]]
 *
 * One line per quantity and mix of applications: number of samples, median,
 * p99, maximum, by the clock and in CPU time, as others may use the machine;
 * then memory. Exit 1 if a goal is missed: 64 MB in every mix; in the mix
 * "usual" a decision within 500 baselines (bench_baseline.h) and a submission within
 * half a one of CPU time at p99; in another mix a decision within so many times
 * the usual one's median (bench_big.h).
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_baseline.h"
#include "bench_big.h"
#include "np_bits.h"
#include "np_placement.h"

#define NODES BENCH_NODES
#define RUNNING BENCH_RUNNING
#define PENDING BENCH_PENDING
#define WORDS ((NODES + 63) / 64)
#define SETS 100
#define DECISION_MAX_BASELINES 500
#define SUBMISSION_MAX_BASELINES 0.5

/* A profile of the job's owner's or a trusted one, most often. */
static void fill_job(struct np_job *j, const struct bench_mix *m, uint32_t id)
{
	*j = (struct np_job){
		.id = id,
		.tasks = 1,
		.priority = bench_below(1000),
		.submit_sec = 1000 + bench_below(1000),
		.flags = bench_random() < .8 ? NP_JOB_SHARES_NODES : 0,
		.profile = bench_random() < .1 ?
				   NP_PROFILE_UNKNOWN :
				   (int32_t)bench_below(m->profiles),
	};
	j->owner = j->profile >= 0 ? (uint32_t)j->profile % BENCH_USERS :
				     bench_below(BENCH_USERS);
	do
		j->mode = (enum np_mode)bench_below(4);
	while (!(m->modes & 1u << j->mode));
	j->partition = (uint16_t)j->mode;
}

static void add_running(struct np_snapshot *s, const struct bench_mix *m,
			uint8_t *use)
{
	struct np_err err;

	for (uint32_t i = 0; i < RUNNING; i++) {
		uint32_t node[64],
			n = bench_random() < .95 ? 1 + bench_below(3) : 32;
		uint32_t at = bench_below(NODES);
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
		bench_must(np_snapshot_job(s, &j, &err), &err);
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
		bench_must(np_snapshot_nodes(s, bits, &set[i], &err), &err);
	}
}

static struct np_snapshot *
make_snapshot(struct np_leaves *l, const struct bench_mix *m, uint32_t *set)
{
	static uint8_t use[NODES];
	struct np_snapshot *s;
	struct np_err err;

	memset(use, 0, sizeof(use));
	bench_must(np_snapshot_new(l, 10000, 9990, &s, &err), &err);
	add_sets(s, set);
	add_running(s, m, use);
	for (uint32_t i = 0; i < NODES; i++)
		bench_must(np_snapshot_node(s, i,
					    use[i] > 3 ? NP_NODE_FULL :
					    use[i]     ? NP_NODE_MIXED :
							 NP_NODE_IDLE,
					    &err),
			   &err);
	for (uint32_t i = 0; i < PENDING; i++) {
		struct np_job j;

		fill_job(&j, m, 100000 + i);
		j.state = bench_random() < .9 ? NP_JOB_READY : NP_JOB_WAITING;
		j.nodes_min = 1 + bench_below(bench_random() < .9 ? 8 : 200);
		j.tasks = bench_random() < .95 ? 1 : 1 + bench_below(100);
		j.candidates = set[bench_below(SETS)];
		bench_must(np_snapshot_job(s, &j, &err), &err);
	}
	np_snapshot_seal(s);
	return s;
}

static void submit(struct np_placement *p, const struct bench_mix *m,
		   const uint32_t *set, struct bench_span *t, size_t n)
{
	uint64_t minus[WORDS] = { 0xff };
	struct np_outcome v;
	struct np_err err;

	for (size_t i = 0; i < n; i++) {
		struct np_job j;
		struct bench_span begin;

		fill_job(&j, m, 0);
		j.state = NP_JOB_READY;
		j.nodes_min = 1 + bench_below(8);
		j.candidates = set[bench_below(3)];
		if (i % 100 == 0)
			bench_baseline();
		begin = bench_now();
		bench_must(np_placement_submit(p, &j, i % 4 ? NULL : minus,
					       10001, &v, &err),
			   &err);
		t[i] = bench_since(begin);
	}
}

static void say_what(const struct bench_mix *m, const struct np_placement *p)
{
	unsigned n[4] = { 0 };

	for (size_t i = RUNNING; i < RUNNING + PENDING; i++)
		n[np_outcome_of(p, i)->action]++;
	printf("%-18s of %d pending: %u left alone, %u anywhere, %u restricted,"
	       " %u held\n",
	       m->name, PENDING, n[NP_ACT_NONE], n[NP_ACT_UNRESTRICTED],
	       n[NP_ACT_RESTRICT], n[NP_ACT_HOLD]);
}

/* Medians; the usual mix comes first. */
static bool within_usual(const struct bench_mix *m, double median_sec)
{
	static double usual_sec;

	if (!usual_sec)
		usual_sec = median_sec;
	if (median_sec <= m->usual_max * usual_sec)
		return true;
	printf("  too slow: %.2f times the usual decision, at most %g\n",
	       median_sec / usual_sec, m->usual_max);
	return false;
}

static bool run(const struct bench_mix *m, struct np_leaves *l,
		size_t decisions, size_t submissions)
{
	struct bench_span *decide = calloc(decisions, sizeof(*decide));
	struct bench_span *one = calloc(decisions * submissions, sizeof(*one));
	size_t before = mallinfo2().uordblks, in_use = 0;
	struct np_slowdowns *t = bench_slowdowns(m);
	struct np_policy policy;
	uint32_t set[SETS];
	struct np_err err;
	bool good, quick;
	double p99;

	np_policy_init(&policy);
	policy.modes = m->modes;
	for (size_t i = 0; i < decisions; i++) {
		struct np_snapshot *s = make_snapshot(l, m, set);
		struct np_placement *p;
		struct bench_span begin = bench_now();

		bench_must(np_placement_decide(s, t, &policy, &p, &err), &err);
		decide[i] = bench_since(begin);
		submit(p, m, set, one + i * submissions, submissions);
		if (mallinfo2().uordblks - before > in_use)
			in_use = mallinfo2().uordblks - before;
		if (!i)
			say_what(m, p);
		np_placement_free(p);
		np_snapshot_unref(s);
	}
	p99 = bench_report(m->name, "full decision", decide, decisions, 1e-3,
			   "ms");
	good = within_usual(m, decide[decisions / 2].cpu_sec);
	quick = bench_within("a decision", p99, DECISION_MAX_BASELINES);
	p99 = bench_report(m->name, "one submission", one,
			   decisions * submissions, 1e-6, "us");
	quick &= bench_within("a submission", p99, SUBMISSION_MAX_BASELINES);
	good &= quick || m != bench_mixes;
	/* While a decision is made the one before is still in use. */
	printf("%-18s memory in use, two decisions  %.1f MB\n", m->name,
	       2e-6 * (double)in_use);
	good &= 2 * in_use < 64e6;
	np_slowdowns_unref(t);
	free(decide);
	free(one);
	return good;
}

int main(int argc, char **argv)
{
	size_t decisions = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	size_t submissions = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	struct np_leaves *l = bench_leaves();
	bool good = true;

	if (!decisions || !submissions || argc > 3) {
		fprintf(stderr,
			"usage: bench_place [decisions [submissions]]\n");
		return 2;
	}
	for (size_t i = 0; i < bench_n_mixes; i++)
		good &= run(&bench_mixes[i], l, decisions, submissions);
	printf("a baseline: %.0f us\n", 1e6 * bench_baseline());
	np_leaves_unref(l);
	return !good;
}
