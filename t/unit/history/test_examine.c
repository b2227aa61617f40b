#include "t.h"
#include "np_examine.h"

#define RUNS 12
#define WINDOWS 40
#define SLOW 3 /* of the windows */

/*
 * Twelve comparable runs of about 100 s; in four of them other jobs had all
 * nodes of the leaf switch, which cost `cost` seconds.
 */
static const struct row {
	const char *name;
	double cost;
	double others;	/* of the run in question: share of time with others */
	double sec;	/* its run time */
	double delayed; /* of its probes */
	double slow;	/* the same in SLOW of its windows; 0: not known */
	bool blamed;	/* the network */
	enum np_witness probes;
} rows[] = {
	{ "without probes, neighbours that slowed other runs", 40, 1, 141, NAN,
	  0, true, NP_WITNESS_NONE },
	{ "probes as fast as usual clear the network", 40, 1, 141, 0.02, 0,
	  false, NP_WITNESS_AGAINST },
	{ "slow probes confirm it", 40, 1, 141, 0.8, 0, true, NP_WITNESS_FOR },
	{ "without probes, no neighbours: unexplained", 40, 0, 141, NAN, 0,
	  false, NP_WITNESS_NONE },
	{ "slow probes without known neighbours are the network", 40, 0, 141,
	  0.8, 0, true, NP_WITNESS_FOR },
	{ "slow probes do not make a run slow", 40, 1, 100, 0.8, 0, false,
	  NP_WITNESS_FOR },
	{ "neighbours that never cost anything, and usual probes", 0, 1, 141, 0,
	  0, false, NP_WITNESS_AGAINST },
	{ "a slow part of a run counts, though few of its probes are delayed",
	  80, 0, 112, 0.07, 0.99, true, NP_WITNESS_FOR },
	{ "a little delay in each part does not", 40, 1, 141, 0.06, 0.08, false,
	  NP_WITNESS_AGAINST },
};

/* measured: the comparable runs had probes, too. */
static int examine(const struct row *r, bool measured,
		   struct np_examine_result *x)
{
	struct np_examine_run run[RUNS + 1] = { { .n = 0 } };
	struct np_err err = NP_ERR_INIT;

	for (int i = 0; i < RUNS; i++) {
		bool hit = i % 3 == 0;

		run[i].sec = 99 + i % 4 + hit * r->cost;
		run[i].occupied_sec = hit * run[i].sec;
		run[i].probes.delayed = !measured	   ? NAN :
					hit && r->cost > 0 ? 0.8 :
							     0.01;
	}
	run[RUNS].sec = r->sec;
	run[RUNS].occupied_sec = r->others * r->sec;
	run[RUNS].probes.delayed = r->delayed;
	run[RUNS].probes.n = r->slow > 0 ? WINDOWS : 0;
	for (int i = 0; i < WINDOWS; i++)
		run[RUNS].probes.window[i] = i < SLOW  ? r->slow :
					     i == SLOW ? NAN :
							 0;
	return np_examine(run, RUNS, x, &err);
}

T_TEST("a job's own probes speak for or against the network")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++)
		for (int measured = 0; measured < 2; measured++) {
			const struct row *r = &rows[i];
			struct np_examine_result x;

			T_ROW(r->name, !examine(r, measured, &x));
			T_ROW(r->name, x.probes == r->probes);
			T_ROW(r->name, x.blame.cause[NP_CAUSE_NETWORK].blamed ==
					       r->blamed);
			T_ROW(r->name, (x.blame.verdict == NP_BLAME_NOT_SLOW) ==
					       (r->sec < 110));
		}
}

/*
 * Comparable runs of which most waited for processors for half of their time, and
 * as much when they were fast. Those that other jobs slowed waited less. In one run
 * a processor was lent to others.
 */
static const struct wait_row {
	const char *name;
	double sec, wait; /* of the run in question */
	bool blamed;	  /* processors */
} wait_rows[] = {
	{ "as much waiting as in fast runs makes no run slow", 108, 0.52,
	  false },
	{ "much more waiting than in fast runs does", 180, 0.8, true },
	{ "a fast run is not slow, however much it waited", 99, 0.8, false },
	{ "a slow run that waited no more is slow for another reason", 180, 0.5,
	  false },
};

static int examine_wait(const struct wait_row *r, struct np_examine_result *x)
{
	struct np_examine_run run[RUNS + 1] = { { .n = 0 } };
	struct np_examine_node node[RUNS + 1];
	struct np_err err = NP_ERR_INIT;

	for (int i = 0; i <= RUNS; i++) {
		bool hit = i % 3 == 0;

		node[i] = (struct np_examine_node){ .own = true };
		for (int s = 0; s < NP_N_SIGNALS; s++)
			node[i].value[s] = NAN;
		node[i].value[NP_SIGNAL_CPU_WAIT] = hit ? 0.3 :
							  0.5 + 0.005 * (i % 4);
		run[i].sec = 99 + i % 4 + hit * 40;
		run[i].occupied_sec = hit * run[i].sec;
		run[i].probes.delayed = NAN;
		run[i].node = &node[i];
		run[i].n = 1;
	}
	node[RUNS - 1].value[NP_SIGNAL_CPU_WAIT] = 0.8;
	run[RUNS - 1].sec = 180;
	node[RUNS].value[NP_SIGNAL_CPU_WAIT] = r->wait;
	run[RUNS].sec = r->sec;
	run[RUNS].occupied_sec = 0;
	return np_examine(run, RUNS, x, &err);
}

T_TEST("waiting counts as far as it exceeds that of fast runs")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(wait_rows); i++) {
		const struct wait_row *r = &wait_rows[i];
		struct np_examine_result x;

		T_ROW(r->name, !examine_wait(r, &x));
		T_ROW(r->name, x.blame.cause[NP_CAUSE_CPU].blamed == r->blamed);
		T_ROW(r->name, !x.blame.cause[NP_CAUSE_NETWORK].blamed);
	}
}

/* A part of a run, of which comparable runs have 2 in the median, at most 4. */
static const struct unusual_row {
	const char *name;
	enum np_signal signal;
	double limit, v;
	bool unusual;
} unusual_rows[] = {
	{ "half as much again", NP_SIGNAL_SWAP, 1, 3.5, true },
	{ "less than half of what the worst run has more", NP_SIGNAL_SWAP, 1,
	  2.9, false },
	{ "as usual", NP_SIGNAL_SWAP, 1, 2, false },
	{ "a small value", NP_SIGNAL_SWAP, 10, 9, false },
	{ "no value", NP_SIGNAL_SWAP, 1, NAN, false },
	{ "much traffic of others", NP_SIGNAL_TRAFFIC, 1, 5, true },
	{ "a slower link", NP_SIGNAL_LINK_SPEED, 1, 1.8, true },
	{ "a faster link", NP_SIGNAL_LINK_SPEED, 1, 5, false },
};

T_TEST("values of a part of a run are compared with whole runs")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(unusual_rows); i++) {
		const struct unusual_row *r = &unusual_rows[i];
		struct np_examine_signal of = {
			.known = true,
			.usual = 2,
			.most = 4,
			.limit = r->limit,
		};

		T_ROW(r->name, np_examine_is_unusual(r->signal, &of, r->v) ==
				       r->unusual);
		of.known = false;
		T_ROW(r->name, !np_examine_is_unusual(r->signal, &of, r->v));
	}
	T_CHECK(np_examine_is_worse(NP_SIGNAL_STEAL, 1, NAN));
	T_CHECK(!np_examine_is_worse(NP_SIGNAL_STEAL, NAN, NAN));
	T_CHECK(!np_examine_is_worse(NP_SIGNAL_STEAL, 1, 1));
	T_CHECK(np_examine_is_worse(NP_SIGNAL_CLOCK, 1e9, 2e9));
}

/* Other jobs send 1 in most of the runs, and 9 in a third of them. */
T_TEST("the traffic of others is compared with that in other runs")
{
	static const double sent[] = { 0.5, 1, 1.4, 4, 6, 10 };

	for (size_t k = 0; k < NP_ARRAY_SIZE(sent); k++) {
		struct np_examine_run run[RUNS + 1] = { { .n = 0 } };
		struct np_examine_node node[RUNS + 1][2] = {
			{ { .own = false } }
		};
		struct np_err err = NP_ERR_INIT;
		struct np_examine_result x;

		for (int i = 0; i <= RUNS; i++) {
			for (int s = 0; s < NP_N_SIGNALS; s++)
				node[i][0].value[s] = node[i][1].value[s] = NAN;
			node[i][0].own = true;
			node[i][0].value[NP_SIGNAL_TRAFFIC] = 1;
			node[i][1].value[NP_SIGNAL_TRAFFIC] = i == RUNS ?
								      sent[k] :
							      i % 3 ? 1 :
								      9;
			run[i].sec = 100 + i % 4;
			run[i].probes.delayed = NAN;
			run[i].node = node[i];
			run[i].n = 2;
		}
		T_CHECK(!np_examine(run, RUNS, &x, &err));
		T_CHECK(x.others_traffic.known && x.others_traffic.usual == 1 &&
			x.others_traffic.most == 9);
		T_CHECK(x.others_traffic.value == sent[k]);
		T_CHECK(x.others_traffic.unusual == (sent[k] > 5));
	}
}

/* NFS requests of other nodes: 20 in most runs, 60 in one of three; its own have 10. */
static const struct near_row {
	const char *name;
	double own, others; /* of the run in question */
	bool unusual;
} near_rows[] = {
	{ "as usual", 10, 20, false },
	{ "as many as in some runs", 10, 60, true },
	{ "a little more than usual", 10, 28, false },
	{ "fewer than its own", 80, 60, false },
	{ "its own are not known", NAN, 60, true },
	{ "those of others are not known", 10, NAN, false },
};

T_TEST("other nodes are compared with other nodes")
{
	for (size_t k = 0; k < NP_ARRAY_SIZE(near_rows); k++) {
		const struct near_row *r = &near_rows[k];
		struct np_examine_run run[RUNS + 1] = { { .n = 0 } };
		struct np_examine_node node[RUNS + 1][3] = {
			{ { .own = false } }
		};
		struct np_err err = NP_ERR_INIT;
		struct np_examine_result x;

		for (int i = 0; i <= RUNS; i++) {
			for (int n = 0; n < 3; n++)
				for (int s = 0; s < NP_N_SIGNALS; s++)
					node[i][n].value[s] = NAN;
			node[i][0].own = true;
			node[i][0].value[NP_SIGNAL_NFS_CALLS] =
				i == RUNS ? r->own : 10;
			node[i][1].value[NP_SIGNAL_NFS_CALLS] = 1;
			node[i][1].node = 1;
			node[i][2].value[NP_SIGNAL_NFS_CALLS] =
				i == RUNS ? r->others :
				i % 3	  ? 20 :
					    60;
			node[i][2].node = 2;
			/* Own values alone count here. */
			node[i][2].value[NP_SIGNAL_IO_WAIT] = i == RUNS;
			run[i].sec = 100 + i % 4;
			run[i].probes.delayed = NAN;
			run[i].node = node[i];
			run[i].n = 3;
		}
		T_ROW(r->name, !np_examine(run, RUNS, &x, &err));
		T_ROW(r->name,
		      x.near[NP_SIGNAL_NFS_CALLS].unusual == r->unusual);
		T_ROW(r->name, x.near[NP_SIGNAL_NFS_CALLS].node ==
				       (isnan(r->others) ? 1 : 2));
		T_ROW(r->name, x.near[NP_SIGNAL_NFS_CALLS].usual == 20);
		T_ROW(r->name, !x.near[NP_SIGNAL_IO_WAIT].unusual &&
				       !x.blame.cause[NP_CAUSE_IO].examined);
	}
}
