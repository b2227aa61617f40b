/* Measures message times between two nodes, for the LogGPS parameters. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_clock.h"
#include "np_probe.h"
#include "np_prtt.h"

#define NAME "netprof-prtt"

static const char usage[] =
	"usage: srun --mpi=pmix -N2 -n2 " NAME " [options]\n"
	"\n"
	"Measures message times between two nodes under one leaf switch: round trips of\n"
	"many sizes, and the overhead of sending and receiving. netprof loggps\n"
	"computes the LogGPS parameters from them. Start one process per node; with\n"
	"more nodes, the first two under one leaf switch are measured. Both keep a\n"
	"processor busy.\n"
	"\n"
	"  --blocks=N        number of repetitions, 1 to 1000 (default 30)\n"
	"  --max-bytes=SIZE  size of the largest message, 4K to 64M (default 1M)\n"
	"  --max-trip=TIME   skip sizes whose round trip takes longer, 100us to 10s\n"
	"                    (default 50ms)\n"
	"  --across          measure between nodes under two leaf switches\n"
	"  --join=srun       find the other processes over standard input and output;\n"
	"                    netprof loggps sets this\n"
	"  --version         print the version\n"
	"  --help            print this help\n"
	"\n"
	"SIZE is in bytes, or with K or M. TIME needs a unit: us, ms, s. UCX_TLS and\n"
	"UCX_NET_DEVICES select the network. Reports are written to standard output, one\n"
	"per line.\n";

struct settings {
	struct np_probe_program program;
	struct np_prtt_conf conf;
	bool across;
};

/*
 * Finds the first process that has a peer under the same leaf switch, or with
 * across under another one.
 */
static int pair_of(const struct np_probe *p, bool across, size_t *client,
		   size_t *server, size_t *found)
{
	int rc = 0;

	*found = 0;
	for (*client = 0; !rc && !*found && *client < p->size; (*client)++) {
		size_t from;

		rc = np_pairing_ring(p->place, p->size, across, *client, 1,
				     server, &from, found);
		/*
		 * In a ring over all leaves, the next node may be under the
		 * same leaf.
		 */
		if (!rc && *found && across)
			*found = strcmp(p->place[*client].leaf,
					p->place[*server].leaf) != 0;
	}
	(*client)--;
	return rc;
}

/* Decides which part this process has in the measurement, and connects it. */
static int plan(struct np_probe *p, void *arg, struct np_probe_plan *out,
		struct np_err *err)
{
	struct settings *s = arg;
	size_t client, server, other, found;

	if (pair_of(p, s->across, &client, &server, &found))
		return np_errf(err, -ENOMEM, "out of memory");
	if (!found)
		return np_errf(
			err, -ENODEV,
			"no two of the %u processes are on nodes under %s",
			p->size,
			s->across ? "two leaf switches" : "one leaf switch");
	s->conf.is_client = p->rank == client;
	s->conf.takes_part = s->conf.is_client || p->rank == server;
	if (!s->conf.takes_part)
		return 0;
	other = s->conf.is_client ? server : client;
	s->conf.peer = (uint32_t)other;
	out->peer = (long)other;
	out->peer_node = s->conf.is_client ? p->place[other].node : "";
	return np_probe_connect(p, other, err);
}

/* Ends the program once the measurement has ended. */
static void done(void *probe)
{
	(void)probe;
	np_stop_request();
}

static void report(const struct np_prtt *prtt, void *probe)
{
	struct np_probe *p = probe;

	np_probe_report(p, &(struct np_report){
				   .kind = NP_REPORT_PRTT,
				   .rank = p->rank,
				   .prtt = *prtt,
			   });
}

/* Makes the engine. A process without a part stops immediately. */
static int engine(struct np_probe *p, void *arg, struct np_engine **out)
{
	struct settings *s = arg;

	if (!s->conf.takes_part)
		np_stop_request();
	s->conf.env = np_probe_env(p);
	s->conf.report = report;
	s->conf.done = done;
	s->conf.stop = np_stop_requested;
	return np_prtt_new(&s->conf, out);
}

#define AT(member) offsetof(struct settings, member)

static const struct np_option options[] = {
	{ "blocks", NP_OPTION_COUNT, AT(conf.blocks), 1, NP_PRTT_MAX_BLOCKS },
	{ "max-bytes", NP_OPTION_BYTES, AT(conf.max_bytes),
	  NP_PRTT_LEAST_MAX_BYTES, NP_PRTT_MAX_BYTES },
	{ "max-trip", NP_OPTION_TIME, AT(conf.max_sec), 1e-4, 10 },
	{ "across", NP_OPTION_FLAG, AT(across) },
	{ "join", NP_OPTION_WORD, AT(program.wire) },
	{ NULL },
};

int main(int argc, char **argv)
{
	struct settings s = {
		.program = {
			.command = { NAME, usage, options },
			.kind = NP_REPORT_LATENCY, .n_peers = 1,
			.report_every_sec = 60, .duration_sec = INFINITY,
			.plan = plan, .engine = engine,
			.arg = &s,
		},
		.conf = {
			.blocks = NP_PRTT_BLOCKS, .max_bytes = 1u << 20,
			.max_sec = NP_PRTT_TRIP_SEC,
		},
	};

	/*
	 * Unlike other probes, use the defaults that a program has: from some
	 * size on, messages use the rendezvous protocol.
	 */
	setenv("UCX_RNDV_THRESH", "auto", 0);
	setenv("FI_OFI_RXM_EAGER_LIMIT", "16384", 0);
	return np_probe_main(&s.program, argc, argv);
}
