/* ImpactB: measures the latency between nodes while a program runs there. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "np_option.h"
#include "np_pingpong.h"
#include "np_probe_main.h"

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
"  --join=RANK/SIZE    as netprof-join starts it, on standard input and output;\n"
"                      --join=srun: as netprof calibrate does\n"
"  --version           print the version\n"
"  --help              print this\n"
"\n"
"SIZE is in bytes, or with K or M.  TIME needs a unit: us, ms, s, m, h.  SEC is\n"
"in seconds, or with a unit.  UCX_TLS and UCX_NET_DEVICES choose the network.\n"
"Reports go to standard output, one line each.\n";

struct settings {
	uint32_t bytes;
	double period_sec, report_every_sec, duration_sec;
	const char *join;
	struct np_pingpong_conf conf;
};

static int connect_to(struct np_probe *p, long rank, int *peer,
		      const char **name, struct np_err *err)
{
	if (rank == NP_NOBODY)
		return 0;
	*name = p->place[rank].node;
	*peer = np_probe_connect(p, (size_t)rank, err);
	return *peer < 0 ? *peer : 0;
}

/* A pair in which both ask and answer has two connections all the same. */
static int plan(struct np_probe *p, void *arg, struct np_probe_plan *out,
		struct np_err *err)
{
	struct np_pingpong_conf *c = &((struct settings *)arg)->conf;
	struct np_pair *pairs = calloc(p->size, sizeof(*pairs));
	int rc;

	if (!pairs || np_pairing_make(p->place, p->size, pairs)) {
		free(pairs);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	c->pair = pairs[p->rank];
	free(pairs);
	rc = connect_to(p, c->pair.asks, &c->asks_peer, &c->asks_name, err);
	if (!rc)
		rc = connect_to(p, c->pair.answers, &c->answers_peer,
				&c->answers_name, err);
	if (rc)
		return rc;
	out->skipped = c->pair.skipped;
	if (c->pair.asks != NP_NOBODY) {
		out->partner = c->asks_name;
		out->peer = c->asks_peer;
	} else if (c->pair.answers != NP_NOBODY) {
		out->peer = c->answers_peer;
	}
	return 0;
}

static int engine(struct np_probe *p, void *arg, void **out,
		  struct np_err *err)
{
	struct settings *s = arg;
	struct np_pingpong_conf *c = &s->conf;

	c->rank = p->rank;
	c->bytes = s->bytes;
	c->period_sec = s->period_sec;
	c->start_sec = p->start_sec;
	c->seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	c->latency = np_probe_count;
	c->note = np_probe_note;
	c->arg = p;
	if (np_pingpong_new(c, p->conf.net, p->conf.clock,
			    (struct np_pingpong **)out))
		return np_errf(err, -ENOMEM, "out of memory");
	return 0;
}

static uint64_t messages(const void *e)
{
	return np_pingpong_messages(e);
}

enum { BYTES = 256, PERIOD, REPORT_EVERY, DURATION, JOIN, VERSION, HELP };

static const struct option options[] = {
	{ "bytes", required_argument, NULL, BYTES },
	{ "period", required_argument, NULL, PERIOD },
	{ "report-every", required_argument, NULL, REPORT_EVERY },
	{ "duration", required_argument, NULL, DURATION },
	{ "join", required_argument, NULL, JOIN },
	{ "version", no_argument, NULL, VERSION },
	{ "help", no_argument, NULL, HELP },
	{ NULL },
};

static int set(struct settings *s, int option, const char *value,
	       const char *previous, struct np_err *err)
{
	switch (option) {
	case BYTES:
		return np_option_bytes("--bytes", value, NP_PINGPONG_MIN_BYTES,
				       NP_PINGPONG_MAX_BYTES, &s->bytes, err);
	case PERIOD:
		return np_option_time("--period", value, 1e-3, 3600,
				      &s->period_sec, err);
	case REPORT_EVERY:
		return np_option_seconds("--report-every", value, 0.1, 60,
					 &s->report_every_sec, err);
	case DURATION:
		return np_option_seconds("--duration", value, 0, 366 * 86400.0,
					 &s->duration_sec, err);
	case JOIN:
		s->join = value;
		return 0;
	case VERSION:
		np_probe_print_version(NAME);
		exit(EXIT_SUCCESS);
	case HELP:
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	}
	return np_option_unknown(option, previous, NAME, err);
}

int main(int argc, char **argv)
{
	struct settings s = {
		.bytes = 1024, .period_sec = 0.1, .report_every_sec = 1,
		.duration_sec = INFINITY,
	};
	struct np_err err = NP_ERR_INIT;
	struct np_probe_program prog = {
		.name = NAME, .kind = NP_REPORT_LATENCY, .n_peers = 2,
		.plan = plan, .engine = engine, .step = np_pingpong_step,
		.messages = messages, .arg = &s,
	};
	int option, rc = 0;

	opterr = 0;
	while (!rc &&
	       (option = getopt_long(argc, argv, ":", options, NULL)) >= 0)
		rc = set(&s, option, optarg, argv[optind - 1], &err);
	if (!rc && optind < argc)
		rc = np_option_unknown(0, argv[optind], NAME, &err);
	if (rc) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 2;
	}
	prog.report_every_sec = s.report_every_sec;
	prog.duration_sec = s.duration_sec;
	prog.join = s.join;
	return np_probe_main(&prog);
}
