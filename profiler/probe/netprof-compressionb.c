/* CompressionB: takes away a known part of the network, and times itself. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_option.h"
#include "np_probe_main.h"
#include "np_rounds.h"

#define NAME "netprof-compressionb"

static const char usage[] =
"usage: srun --mpi=pmix [srun options] " NAME " [options]\n"
"\n"
"Interfere with a program on the network: the processes of a job step, one a\n"
"node, send messages around a ring of the nodes under each leaf switch, pause,\n"
"wait for all, and start again.  The time of the rounds is reported.  Ends on\n"
"SIGUSR1, SIGTERM or SIGINT.\n"
"\n"
"  --level=LEVEL       c0 (mild) to c7 (saturating), or P4:M10:B250us[:S40960]:\n"
"                      partners, messages, pause, bytes (default c0)\n"
"  --partners=P        nodes that each process sends to, 1 to 1024; no more than\n"
"                      there are\n"
"  --messages=M        messages to each partner and round, 1 to 1024\n"
"  --pause=TIME        pause of a round, 0s to 60s\n"
"  --bytes=SIZE        size of a message, 8 to 16M bytes\n"
"  --across            one ring around all leaves, dealt in turn, so that messages\n"
"                      cross the uplinks\n"
"  --report-every=SEC  width of a reported window, 0.1 to 60 s (default 1)\n"
"  --duration=SEC      end after so long, up to 366 days (default: never)\n"
"  --join=RANK/SIZE    as netprof-join starts it, on standard input and output;\n"
"                      --join=srun: as netprof calibrate does\n"
"  --version           print the version\n"
"  --help              print this\n"
"\n"
"--partners, --messages, --pause and --bytes change what --level says.  SIZE is\n"
"in bytes, or with K or M.  TIME needs a unit: ns, us, ms, s.  SEC is in seconds,\n"
"or with a unit.  UCX_TLS and UCX_NET_DEVICES choose the network.  Reports go to\n"
"standard output, one line each.\n";

struct settings {
	struct np_level level;
	double report_every_sec, duration_sec;
	const char *join;
	bool across;
	size_t *to_rank, *from_rank;
	int *to;
	const char **to_names;
};

static int alloc_ring(struct settings *s)
{
	size_t n = s->level.partners;

	s->to_rank = calloc(n, sizeof(*s->to_rank));
	s->from_rank = calloc(n, sizeof(*s->from_rank));
	s->to = calloc(n, sizeof(*s->to));
	s->to_names = calloc(n, sizeof(*s->to_names));
	return s->to_rank && s->from_rank && s->to && s->to_names ? 0 :
								    -ENOMEM;
}

static int plan(struct np_probe *p, void *arg, struct np_probe_plan *out,
		struct np_err *err)
{
	struct settings *s = arg;
	size_t got = 0;

	if (alloc_ring(s) ||
	    (s->across ? np_pairing_across : np_pairing_ring)(
			p->place, p->size, p->rank, s->level.partners,
			s->to_rank, s->from_rank, &got))
		return np_errf(err, -ENOMEM, "out of memory");
	s->level.partners = (uint32_t)got;
	if (!got) {
		out->skipped = "no partner: the step has one node on this leaf";
		return 0;
	}
	for (size_t i = 0; i < got; i++) {
		s->to_names[i] = p->place[s->to_rank[i]].node;
		s->to[i] = np_probe_connect(p, s->to_rank[i], err);
		if (s->to[i] < 0)
			return s->to[i];
	}
	out->partner = s->to_names[0];
	out->peer = s->to[0];
	return 0;
}

/* Of this step; another step has another, and every process the same. */
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

static int engine(struct np_probe *p, void *arg, void **out,
		  struct np_err *err)
{
	struct settings *s = arg;
	const struct np_rounds_conf conf = {
		.rank = p->rank, .level = s->level, .from = s->from_rank,
		.to = s->to, .to_names = s->to_names,
		.start_sec = p->start_sec, .phase = phase_of_step(),
		.round = np_probe_count,
		.note = np_probe_note, .arg = p,
	};

	if (np_rounds_new(&conf, p->conf.net, p->conf.clock,
			  (struct np_rounds **)out))
		return np_errf(err, -ENOMEM, "out of memory");
	return 0;
}

static uint64_t messages(const void *e)
{
	return np_rounds_messages(e);
}

enum {
	LEVEL = 256, PARTNERS, MESSAGES, PAUSE, BYTES, ACROSS, REPORT_EVERY, DURATION,
	JOIN, VERSION, HELP,
};

static const struct option options[] = {
	{ "level", required_argument, NULL, LEVEL },
	{ "partners", required_argument, NULL, PARTNERS },
	{ "messages", required_argument, NULL, MESSAGES },
	{ "pause", required_argument, NULL, PAUSE },
	{ "bytes", required_argument, NULL, BYTES },
	{ "across", no_argument, NULL, ACROSS },
	{ "report-every", required_argument, NULL, REPORT_EVERY },
	{ "duration", required_argument, NULL, DURATION },
	{ "join", required_argument, NULL, JOIN },
	{ "version", no_argument, NULL, VERSION },
	{ "help", no_argument, NULL, HELP },
	{ NULL },
};

static int set_level(struct np_level *l, int option, const char *value,
		     const char *previous, struct np_err *err)
{
	switch (option) {
	case LEVEL:
		return np_level_parse(value, l, err);
	case PARTNERS:
		return np_option_count("--partners", value, 1,
				       NP_LEVEL_MAX_PARTNERS, &l->partners,
				       err);
	case MESSAGES:
		return np_option_count("--messages", value, 1,
				       NP_LEVEL_MAX_MESSAGES, &l->messages,
				       err);
	case PAUSE:
		return np_option_time("--pause", value, 0,
				      NP_LEVEL_MAX_PAUSE_SEC, &l->pause_sec,
				      err);
	case BYTES:
		return np_option_bytes("--bytes", value, NP_LEVEL_MIN_BYTES,
				       NP_LEVEL_MAX_BYTES, &l->bytes, err);
	}
	return np_option_unknown(option, previous, NAME, err);
}

static int set(struct settings *s, int option, const char *value,
	       const char *previous, struct np_err *err)
{
	switch (option) {
	case REPORT_EVERY:
		return np_option_seconds("--report-every", value, 0.1, 60,
					 &s->report_every_sec, err);
	case DURATION:
		return np_option_seconds("--duration", value, 0, 366 * 86400.0,
					 &s->duration_sec, err);
	case ACROSS:
		s->across = true;
		return 0;
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
	return set_level(&s->level, option, value, previous, err);
}

/* --level first, whatever the order, as the others change what it says. */
static int parse(int argc, char **argv, struct settings *s,
		 struct np_err *err)
{
	int option, rc = 0;

	opterr = 0;
	for (int pass = 0; pass < 2; pass++) {
		optind = 0; /* glibc: start again */
		while (!rc && (option = getopt_long(argc, argv, ":", options,
						    NULL)) >= 0)
			if ((option == LEVEL) == !pass)
				rc = set(s, option, optarg, argv[optind - 1],
					 err);
	}
	if (!rc && optind < argc)
		rc = np_option_unknown(0, argv[optind], NAME, err);
	if (!rc)
		rc = np_level_check(&s->level, err);
	return rc;
}

int main(int argc, char **argv)
{
	struct settings s = {
		.level = np_levels[0], .report_every_sec = 1,
		.duration_sec = INFINITY,
	};
	struct np_err err = NP_ERR_INIT;
	struct np_probe_program prog = {
		.name = NAME, .kind = NP_REPORT_ROUND, .plan = plan,
		.engine = engine, .step = np_rounds_step,
		.messages = messages, .arg = &s,
	};

	if (parse(argc, argv, &s, &err)) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 2;
	}
	prog.n_peers = s.level.partners;
	prog.report_every_sec = s.report_every_sec;
	prog.duration_sec = s.duration_sec;
	prog.join = s.join;
	return np_probe_main(&prog);
}
