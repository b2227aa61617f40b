/* CompressionB: takes away a known part of the network, and times itself. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "np_engine.h"
#include "np_probe.h"

#define NAME "netprof-compressionb"

static const char usage[] =
	"usage: srun --mpi=pmix [srun options] " NAME " [options]\n"
	"\n"
	"Loads the network with synthetic traffic: the processes of a job step, one per\n"
	"node, send messages around a ring of the nodes under each leaf switch, pause,\n"
	"wait for all messages, and start again. They report the duration of these\n"
	"rounds, and end on SIGUSR1, SIGTERM or SIGINT.\n"
	"\n"
	"  --level=LEVEL       c0 to c7, or P4:M10:B250us[:S40960]:\n"
	"                      peers, messages, pause, bytes (default c0)\n"
	"  --partners=P        nodes that each process sends to, 1 to 1024; at most all\n"
	"                      others\n"
	"  --messages=M        messages to each peer per round, 1 to 1024\n"
	"  --pause=TIME        pause in each round, 0s to 60s\n"
	"  --bytes=SIZE        size of a message, 8 to 16M bytes\n"
	"  --across            one ring through all leaf switches in turn, so that\n"
	"                      messages cross the uplinks\n"
	"  --report-every=SEC  width of a reported window, 0.1 to 60 s (default 1)\n"
	"  --duration=SEC      end after this time, up to 366 days (default: never)\n"
	"  --join=RANK/SIZE    find the other processes over standard input and output;\n"
	"                      netprof-agent sets this, and netprof calibrate sets\n"
	"                      --join=srun\n"
	"  --version           print the version\n"
	"  --help              print this help\n"
	"\n"
	"--partners, --messages, --pause and --bytes override parts of --level. SIZE is\n"
	"in bytes, or with K or M. TIME needs a unit: ns, us, ms, s. SEC is in seconds,\n"
	"or with a unit. UCX_TLS and UCX_NET_DEVICES select the network. Reports are\n"
	"written to standard output, one per line.\n";

struct settings {
	struct np_probe_program program;
	struct np_level level;
	bool across;
	size_t *to, *from; /* ranks */
};

static int check(void *arg, struct np_err *err)
{
	struct settings *s = arg;

	s->program.n_peers = s->level.peers;
	return np_level_check(&s->level, err);
}

static int plan(struct np_probe *p, void *arg, struct np_probe_plan *out,
		struct np_err *err)
{
	struct settings *s = arg;
	size_t got = 0;
	int rc = 0;

	s->to = calloc(s->level.peers, sizeof(*s->to));
	s->from = calloc(s->level.peers, sizeof(*s->from));
	if (!s->to || !s->from ||
	    np_pairing_ring(p->place, p->size, s->across, p->rank,
			    s->level.peers, s->to, s->from, &got))
		return np_errf(err, -ENOMEM, "out of memory");
	s->level.peers = (uint32_t)got;
	if (!got) {
		out->skipped =
			"only one node of the step is on this leaf switch";
		return 0;
	}
	for (size_t i = 0; !rc && i < got; i++)
		rc = np_probe_connect(p, s->to[i], err);
	out->peer_node = p->place[s->to[0]].node;
	out->peer = (long)s->to[0];
	return rc;
}

/*
 * Where the order of pauses starts: the same in every process of a step, and
 * different for each step.
 */
static double phase_of_step(void)
{
	static const char *const name[] = { "SLURM_JOB_ID", "SLURM_STEP_ID" };
	static const double stride[] = { 0.7548776662466927,
					 0.5698402909980532 };
	double sum = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(name); i++) {
		const char *id = getenv(name[i]);

		sum += stride[i] * (id ? (double)strtoul(id, NULL, 10) : 0);
	}
	return sum - floor(sum);
}

static int engine(struct np_probe *p, void *arg, struct np_engine **out)
{
	struct settings *s = arg;
	const struct np_rounds_conf conf = {
		.env = np_probe_env(p),
		.level = s->level,
		.from = s->from,
		.to = s->to,
		.phase = phase_of_step(),
	};

	return np_rounds_new(&conf, out);
}

static int set_level(char *text, void *all, struct np_err *err)
{
	return np_level_parse(text, &((struct settings *)all)->level, err);
}

#define AT(member) offsetof(struct settings, member)

static const struct np_option options[] = {
	/* First, because the other options change parts of it. */
	{ "level", NP_OPTION_TAKE, .take = set_level },
	{ "partners", NP_OPTION_COUNT, AT(level.peers), 1, NP_LEVEL_MAX_PEERS },
	{ "messages", NP_OPTION_COUNT, AT(level.messages), 1,
	  NP_LEVEL_MAX_MESSAGES },
	{ "pause", NP_OPTION_TIME, AT(level.pause_sec), 0,
	  NP_LEVEL_MAX_PAUSE_SEC },
	{ "bytes", NP_OPTION_BYTES, AT(level.bytes), NP_LEVEL_MIN_BYTES,
	  NP_LEVEL_MAX_BYTES },
	{ "across", NP_OPTION_FLAG, AT(across) },
	{ "report-every", NP_OPTION_SECONDS, AT(program.report_every_sec), 0.1,
	  60 },
	{ "duration", NP_OPTION_SECONDS, AT(program.duration_sec), 0,
	  366 * 86400.0 },
	{ "join", NP_OPTION_WORD, AT(program.wire) },
	{ NULL },
};

int main(int argc, char **argv)
{
	struct settings s = {
		.program = {
			.command = { NAME, usage, options },
			.kind = NP_REPORT_ROUND, .report_every_sec = 1,
			.duration_sec = INFINITY, .check = check,
			.plan = plan, .engine = engine,
			.arg = &s,
		},
		.level = np_levels[0],
	};

	return np_probe_main(&s.program, argc, argv);
}
