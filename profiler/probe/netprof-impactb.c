/* ImpactB: measures the latency between nodes while a program runs there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "np_matrix.h"
#include "np_pingpong.h"
#include "np_probe_main.h"
#include "np_stop.h"

#define NAME "netprof-impactb"

static const char usage[] =
"usage: srun --mpi=pmix [srun options] " NAME " [options]\n"
"\n"
"Measure the latency between the nodes of a job step: processes on two nodes\n"
"under one leaf switch exchange a short message now and then.  One process a\n"
"node or more, as srun lays them out.  Ends on SIGUSR1, SIGTERM or SIGINT.\n"
"\n"
"  --bytes=SIZE        size of a message, 8 to 1M bytes (default 1K)\n"
"  --period=TIME       mean time between exchanges, 1ms to 1h (default 100ms)\n"
"  --report-every=SEC  width of a reported window, 0.1 to 60 s (default 1)\n"
"  --duration=SEC      end after so long, up to 366 days (default: never)\n"
"  --matrix=N          instead, the least of N latencies between every two nodes,\n"
"                      one pair after the other; ends when all are measured\n"
"  --join=RANK/SIZE    as netprof-join starts it, on standard input and output;\n"
"                      --join=srun: as netprof calibrate does\n"
"  --version           print the version\n"
"  --help              print this\n"
"\n"
"SIZE is in bytes, or with K or M.  TIME needs a unit: us, ms, s, m, h.  SEC is\n"
"in seconds, or with a unit.  UCX_TLS and UCX_NET_DEVICES choose the network.\n"
"Reports go to standard output, one line each.\n";

struct settings {
	struct np_probe_program program;
	struct np_pingpong_conf conf;
	uint32_t times; /* that each pair is measured; 0: no matrix */
};

/* The first waits until all others are done. */
#define MATRIX_PATIENCE_SEC 600

/* A pair after the other needs all connected. */
static int plan_matrix(struct np_probe *p, struct np_probe_plan *out,
		       struct np_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < p->size; i++)
		if (i != p->rank)
			rc = np_probe_connect(p, i, err);
	if (p->size > 1)
		out->peer = p->rank ? 0 : 1;
	return rc;
}

static void over(void *probe)
{
	(void)probe;
	np_stop_ask();
}

static int plan(struct np_probe *p, void *arg, struct np_probe_plan *out,
		struct np_err *err)
{
	struct np_pingpong_conf *c = &((struct settings *)arg)->conf;
	struct np_pair *pairs;
	int rc = 0;

	if (((struct settings *)arg)->times)
		return plan_matrix(p, out, err);
	pairs = calloc(p->size, sizeof(*pairs));
	if (!pairs || np_pairing_make(p->place, p->size, pairs)) {
		free(pairs);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	c->pair = pairs[p->rank];
	free(pairs);
	if (c->pair.asks != NP_NOBODY) {
		out->partner = p->place[c->pair.asks].node;
		rc = np_probe_connect(p, (size_t)c->pair.asks, err);
	}
	if (!rc && c->pair.answers != NP_NOBODY)
		rc = np_probe_connect(p, (size_t)c->pair.answers, err);
	out->skipped = c->pair.skipped;
	out->peer = c->pair.asks != NP_NOBODY ? c->pair.asks : c->pair.answers;
	return rc;
}

static int engine(struct np_probe *p, void *arg, struct np_engine **out,
		  struct np_err *err)
{
	const struct settings *s = arg;
	struct np_pingpong_conf *c = &((struct settings *)arg)->conf;
	const struct np_matrix_conf matrix = {
		.env = np_probe_env(p), .n_ranks = p->size, .times = s->times,
		.patience_sec = MATRIX_PATIENCE_SEC,
		.pair = np_probe_pair, .over = over,
	};

	if (s->times)
		return np_matrix_new(&matrix, out) ?
		       np_errf(err, -ENOMEM, "out of memory") : 0;
	c->env = np_probe_env(p);
	c->seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	return np_pingpong_new(c, out) ?
	       np_errf(err, -ENOMEM, "out of memory") : 0;
}

#define AT(member) offsetof(struct settings, member)

static const struct np_option options[] = {
	{ "bytes", NP_OPTION_BYTES, AT(conf.bytes), NP_PINGPONG_MIN_BYTES,
	  NP_PINGPONG_MAX_BYTES },
	{ "period", NP_OPTION_TIME, AT(conf.period_sec), 1e-3, 3600 },
	{ "report-every", NP_OPTION_SECONDS, AT(program.report_every_sec),
	  0.1, 60 },
	{ "duration", NP_OPTION_SECONDS, AT(program.duration_sec), 0,
	  366 * 86400.0 },
	{ "matrix", NP_OPTION_COUNT, AT(times), 1, 10000 },
	{ "join", NP_OPTION_WORD, AT(program.join) },
	{ NULL },
};

int main(int argc, char **argv)
{
	struct settings s = {
		.program = {
			.command = { NAME, usage, options },
			.kind = NP_REPORT_LATENCY, .n_peers = 2,
			.report_every_sec = 1, .duration_sec = INFINITY,
			.plan = plan, .engine = engine,
			.arg = &s,
		},
		.conf = { .period_sec = 0.1, .bytes = 1024 },
	};

	return np_probe_main(&s.program, argc, argv);
}
