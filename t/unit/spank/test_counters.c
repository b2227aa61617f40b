#include "t.h"
#include "np_reports.h"

#define BYTES 1024
/* Of a message of the probes and its answer, as both are counted. */
#define OWN (8 + BYTES + 2 * 132)

static struct np_record *r; /* of the test */
static struct np_counters *c;

static void tear_down(void)
{
	np_counters_free(c);
	np_record_free(r);
}

static void set_up(void)
{
	r = np_record_new();
	c = np_counters_new(r);
	strcpy(r->app, "fft");
	r->cluster = strdup("hpc");
	r->job_id = 7;
	r->start = 1.7e9;
	r->end = 1.7e9 + 60;
	r->probe.message_bytes = BYTES;
	r->probe.period_sec = 0.1;
	r->probe.transport = strdup("tcp/eth0");
}

static void handshake(uint32_t rank)
{
	const struct np_report rep = {
		.kind = NP_REPORT_HANDSHAKE,
		.rank = rank,
		.handshake = { .leaf = "leaf0" },
	};

	np_counters_report(c, &rep, true, 1);
}

/* What node rank says of a second that ends at sec. */
static void second(uint32_t rank, double sec, double latency_sec,
		   double bytes_per_sec)
{
	struct np_report rep = {
		.kind = NP_REPORT_LATENCY,
		.rank = rank,
		.window = { .at_sec = sec, .n_bins = 1 },
	};

	for (int i = 0; i < 10; i++)
		np_moments_add(&rep.window.sec, latency_sec);
	rep.window.bins[0].bin = (uint16_t)np_hist_bin_of(latency_sec);
	rep.window.bins[0].count = 10;
	if (latency_sec > 0)
		np_counters_report(c, &rep, true, sec);
	rep = (struct np_report){
		.kind = NP_REPORT_COST,
		.rank = rank,
		.cost.messages = 20,
	};
	np_counters_report(c, &rep, true, sec);
	rep = (struct np_report){
		.kind = NP_REPORT_TRANSFERRED,
		.rank = rank,
		.transferred = { 1, (uint64_t)bytes_per_sec + 20 * OWN },
	};
	np_counters_report(c, &rep, true, sec);
}

T_FIXTURE(set_up, tear_down);

T_TEST("traffic is what devices count, less the probes' own")
{
	T_CHECK(r->traffic.n_nodes == 0 && r->traffic.node_sec == 0);
	handshake(0);
	handshake(1);
	for (int i = 10; i < 20; i++) {
		second(0, i, 1e-5, 1e6);
		second(1, i + 0.3, 0, 3e6);
	}
	T_CHECK(r->traffic.n_nodes == 2);
	T_CHECK(t_close(r->traffic.node_sec, 20, 1e-9));
	T_CHECK(t_close(r->traffic.bytes, 4e7, 1e-9));
	/* Another rail's device adds bytes, but no node and no time. */
	np_counters_report(c,
			   &(struct np_report){ .kind = NP_REPORT_TRANSFERRED,
						.rank = 2,
						.other_rail = true,
						.transferred = { 1, 1000000 } },
			   true, 20);
	T_CHECK(r->traffic.n_nodes == 2);
	T_CHECK(t_close(r->traffic.node_sec, 20, 1e-9));
	T_CHECK(t_close(r->traffic.bytes, 4.1e7, 1e-9));
	T_CHECK(!np_counters_idle(c));
}

static void messages(uint64_t n)
{
	np_counters_report(c,
			   &(struct np_report){ .kind = NP_REPORT_COST,
						.cost.messages = n },
			   true, 10);
}

static void bytes(uint64_t n, bool alone)
{
	const struct np_report rep = {
		.kind = NP_REPORT_TRANSFERRED,
		.transferred = { 1, n },
	};

	np_counters_report(c, &rep, alone, 10);
}

/* Bytes are reported late if a device answers late; messages are not. */
T_TEST("each message of the probes is subtracted once")
{
	handshake(0);
	messages(20);
	messages(30);
	bytes(1000000 + 50 * OWN, true);
	T_ROW("messages of two reports", r->traffic.bytes == 1e6);
	bytes(1000000, true);
	T_ROW("they are subtracted once", r->traffic.bytes == 2e6);
	messages(40);
	bytes(5000000, false);
	messages(10);
	bytes(1000000 + 10 * OWN, true);
	T_ROW("those under a level do not count", r->traffic.bytes == 3e6);
}

/* Probes of two rails of a node: each counts its own adapter. */
T_TEST("bytes of each rail are counted for its leaf switch")
{
	static const char *const leaf[] = { "leaf0", "leaf0r1" };

	np_record_leaf(r, "plain");
	for (uint32_t i = 0; i < 2; i++) {
		struct np_report rep = { .kind = NP_REPORT_HANDSHAKE,
					 .rank = i };

		np_record_leaf(r, leaf[i])->rail = strdup(i ? "r1" : "r0");
		strcpy(rep.handshake.leaf, leaf[i]);
		np_counters_report(c, &rep, true, 1);
		rep = (struct np_report){
			.kind = NP_REPORT_TRANSFERRED,
			.rank = i,
			.other_rail = i,
			.transferred = { 2, i ? 5000000 : 1000 },
		};
		np_counters_report(c, &rep, true, 10);
		np_counters_report(c, &rep, true, 12);
	}
	T_CHECK(!r->leaves[0].traffic);
	T_CHECK(r->leaves[1].traffic->n_nodes == 1 &&
		r->leaves[1].traffic->node_sec == 4 &&
		r->leaves[1].traffic->bytes == 2000);
	T_CHECK(r->leaves[2].traffic->n_nodes == 1 &&
		r->leaves[2].traffic->bytes == 1e7);
	T_CHECK(r->traffic.n_nodes == 1 && r->traffic.node_sec == 4);
}

T_TEST("the link is that of the slowest device")
{
	static const uint64_t link[] = { 0, 1250000000, 125000000, 0,
					 1250000000 };

	for (uint32_t i = 0; i < NP_ARRAY_SIZE(link); i++) {
		const struct np_report rep = {
			.kind = NP_REPORT_LINK,
			.rank = i,
			.link = link[i],
		};

		np_counters_report(c, &rep, true, 1);
	}
	T_CHECK(r->traffic.link == 125e6);
}

/* A program of 20 s on two nodes that begins to send after some of them. */
static const struct {
	const char *name;
	double rate[2];	      /* of both nodes, bytes/s, at first ... */
	int quiet_sec;	      /* for so long; then a megabyte a second */
	unsigned least, most; /* quiet probes, of 10 a second */
} rows[] = {
	{ "a program that only sleeps", { 0, 0 }, 20, 150, 200 },
	{ "what a daemon sends is no traffic", { 5e3, 1e4 }, 20, 150, 200 },
	{ "before its first byte", { 0, 0 }, 8, 40, 80 },
	{ "one node sends from the start", { 0, 1e6 }, 20, 0, 0 },
	{ "it sends from the start", { 1e6, 1e6 }, 0, 0, 0 },
};

T_TEST("probes of quiet moments are those of the idle network")
{
	T_EACH(row, rows) {
		struct np_record *idle;
		uint64_t n = 0;

		tear_down();
		set_up();
		handshake(0);
		handshake(1);
		for (int s = 1; s <= 20; s++) {
			bool quiet = s <= row->quiet_sec;

			second(0, 10 + s, quiet ? 1e-5 : 1e-3,
			       quiet ? row->rate[0] : 1e6);
			second(1, 10.4 + s, 0, quiet ? row->rate[1] : 1e6);
		}
		idle = np_counters_idle(c);
		if (idle)
			n = idle->leaves[0].latency.n;
		T_ROW(row->name, n >= row->least && n <= row->most);
		T_ROW(row->name,
		      !idle || (idle->leaves[0].latency.max < 2e-5 &&
				np_hist_total(idle->leaves[0].hist) == n));
		T_ROW(row->name,
		      !idle || (!strcmp(idle->app, "idle") &&
				!strcmp(idle->source, "quiet") &&
				!strcmp(idle->cluster, "hpc") &&
				idle->probe.period_sec == 0.1 &&
				!strcmp(idle->leaves[0].name, "leaf0")));
		np_record_free(idle);
	}
}

T_TEST("windows of many probes are kept until they are judged")
{
	struct np_record *idle;

	handshake(0);
	handshake(1);
	for (int s = 1; s <= 20; s++) {
		second(0, 10 + s, 1e-5, 0);
		second(1, 10.4 + s, 0, 0);
		/* 64 more, of the same leaf switch; each has four in a second. */
		for (int i = 0; i < 256; i++) {
			struct np_report rep = {
				.kind = NP_REPORT_LATENCY,
				.rank = 0,
				.window = { .n_bins = 1 },
			};

			np_moments_add(&rep.window.sec, 1e-5);
			rep.window.bins[0].bin = (uint16_t)np_hist_bin_of(1e-5);
			rep.window.bins[0].count = 1;
			np_counters_report(c, &rep, true, 10.5 + s);
		}
	}
	idle = np_counters_idle(c);
	T_CHECK(idle && idle->leaves[0].latency.n > 15 * 256);
	np_record_free(idle);
}

/* Without counters nothing is known to be quiet. */
T_TEST("without counters nothing is quiet")
{
	struct np_report rep = {
		.kind = NP_REPORT_LATENCY,
		.window = { .n_bins = 1, .bins = { { 50, 10 } } },
	};

	handshake(0);
	for (int i = 0; i < 10; i++)
		np_moments_add(&rep.window.sec, 1e-5);
	for (int s = 1; s < 600; s++)
		np_counters_report(c, &rep, true, s);
	T_CHECK(!np_counters_idle(c) && r->traffic.n_nodes == 0);
	rep.rank = UINT32_MAX; /* of nobody there can be */
	np_counters_report(c, &rep, true, 600);
}
