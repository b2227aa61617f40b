#include "np_probe_main.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_sideenv.h"
#include "np_topo.h"
#include "np_wire.h"
#include "np_stop.h"
#include "np_net.h"
#include "np_wire_join.h"

const char *np_probe_node(void)
{
	static char host[NP_REPORT_WORD];
	const char *node = getenv("SLURMD_NODENAME");

	if (node && *node)
		return node;
	if (gethostname(host, sizeof(host) - 1))
		strcpy(host, "unknown");
	return host;
}

/* The first provider of libfabric that works of those that this node has. */
static int open_auto(uint32_t size, size_t n_peers, struct np_net **out,
		     struct np_err *err)
{
	const char *const *provider = np_device_providers("/sys");

	/* Who says how UCX is to be used wants it. */
	for (; !getenv("UCX_TLS") && *provider; provider++)
		if (!np_ofi_open(size, n_peers, *provider,
				 getenv("UCX_NET_DEVICES"), out, NULL))
			return 0;
	return np_ucx_open(size, n_peers, out, err);
}

/* text: "PROVIDER" or "PROVIDER/DEVICE". */
static int open_ofi(const char *text, uint32_t size, size_t n_peers,
		    struct np_net **out, struct np_err *err)
{
	char provider[128];
	const char *slash = strchr(text, '/');

	snprintf(provider, sizeof(provider), "%.*s",
		 (int)strcspn(text, "/"), text);
	return np_ofi_open(size, n_peers, provider,
			   slash ? slash + 1 : getenv("UCX_NET_DEVICES"), out,
			   err);
}

int np_probe_net(uint32_t size, size_t n_peers, struct np_net **out,
		 struct np_err *err)
{
	const char *t = getenv(NP_TRANSPORT_ENV);
	struct np_transport how;
	int rc = np_transport_parse(t ? t : "auto", &how);

	if (rc)
		return np_errf(err, rc, NP_TRANSPORT_ENV "=%.80s: expected "
			       NP_TRANSPORT_EXPECTED, t);
	if (how.library == NP_TRANSPORT_AUTO)
		return open_auto(size, n_peers, out, err);
	if (how.library == NP_TRANSPORT_OFI)
		return open_ofi(how.of, size, n_peers, out, err);
	if (*how.of)
		setenv("UCX_TLS", how.of, 1);
	return np_ucx_open(size, n_peers, out, err);
}

static int begin(const struct np_probe_program *prog, struct np_probe *p,
		 const struct np_probe_conf *conf, struct np_err *err)
{
	struct np_probe_plan plan = { .partner = "", .peer = NP_NOBODY };
	int rc = np_probe_open(p, conf, err);

	if (!rc)
		rc = prog->plan(p, prog->arg, &plan, err);
	if (!rc)
		rc = np_probe_start(p, &plan, conf->net->version, err);
	return rc;
}

/* How the processes find each other. */
static int open_wire(const struct np_probe_program *prog, struct np_wire **out,
		     struct np_err *err)
{
	uint32_t rank, size;

	if (!prog->join)
		return np_pmix_open(out, err);
	if (!strcmp(prog->join, "srun"))
		return np_wire_srun_open(out, err);
	if (np_wire_join_parse(prog->join, &rank, &size))
		return np_errf(err, -EINVAL, "--join \"%.40s\": expected "
			       "srun or RANK/SIZE", prog->join);
	return np_wire_join_open(STDIN_FILENO, STDOUT_FILENO, rank, size, out,
				 err);
}

/* What whoever started us says of it, or else what the address tells. */
static void find_leaf(const char *node, char leaf[NP_REPORT_WORD])
{
	const char *told = getenv(NP_LEAF_ENV);

	if (told && strlen(told) < NP_REPORT_WORD)
		strcpy(leaf, told);
	else
		np_leaf_from_address(getenv("SLURM_TOPOLOGY_ADDR"),
				     getenv("SLURM_TOPOLOGY_ADDR_PATTERN"),
				     node, leaf, NP_REPORT_WORD);
}

static pid_t traced_task(void)
{
	const char *text = getenv(NP_TASK_ENV);

	return text ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Everything until the measurement can begin. */
static int set_up(const struct np_probe_program *prog, struct np_probe *p,
		  struct np_clock *clock, struct np_err *err)
{
	static char leaf[NP_REPORT_WORD];
	struct np_probe_conf conf = {
		.kind = prog->kind, .clock = clock, .leaf = leaf,
		.node = np_probe_node(), .report_every_sec = prog->report_every_sec,
		.task = traced_task(),
	};
	int rc = np_stop_init(err);

	if (rc)
		return rc;
	np_clock_init(clock, np_stop_fd());
	conf.born_sec = clock->now_sec(clock);
	find_leaf(conf.node, leaf);
	np_cost_prompt();
	rc = open_wire(prog, &conf.wire, err);
	if (rc)
		return rc;
	rc = np_probe_net(conf.wire->size, prog->n_peers, &conf.net, err);
	if (!rc)
		rc = begin(prog, p, &conf, err);
	/*
	 * Done with the wire: from here on no process depends on another one
	 * being alive, neither while it runs nor when it ends.
	 */
	conf.wire->ops->close(conf.wire);
	return rc;
}

#define MAX_OPTIONS 16 /* of a program */
enum { VERSION = 256, HELP, OWN };

/* given: the argument of each row that stands there, or "". */
static int look(const struct np_probe_command *c, int argc, char **argv,
		char *given[MAX_OPTIONS], struct np_err *err)
{
	struct option longs[MAX_OPTIONS + 3] = {
		{ "version", no_argument, NULL, VERSION },
		{ "help", no_argument, NULL, HELP },
	};
	int opt;

	for (int i = 0; c->options[i].name; i++)
		longs[2 + i] = (struct option){
			c->options[i].name,
			np_option_has_argument(&c->options[i]), NULL, OWN + i
		};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) >= OWN)
		given[opt - OWN] = optarg ? optarg : "";
	if (opt == VERSION)
		printf("%s %s (UCX %s)\n", c->name, NP_VERSION,
		       np_ucx_version());
	if (opt == HELP)
		fputs(c->usage, stdout);
	if (opt == VERSION || opt == HELP)
		exit(EXIT_SUCCESS);
	return opt < 0 ? 0 : np_option_unknown(opt, argv[optind - 1], c->name,
					       err);
}

int np_probe_options(const struct np_probe_command *c, int argc, char **argv,
		     void *all, const char **word, struct np_err *err)
{
	char *given[MAX_OPTIONS] = { NULL };
	int rc = look(c, argc, argv, given, err);

	for (size_t i = 0; !rc && c->options[i].name; i++)
		if (given[i])
			rc = np_option_set(&c->options[i], given[i], all, err);
	if (!rc && word)
		*word = argv[optind] ? argv[optind++] : NULL;
	if (!rc && optind < argc)
		rc = np_option_unknown(0, argv[optind], c->name, err);
	return rc;
}

int np_probe_main(struct np_probe_program *prog, int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct np_clock clock;
	struct np_probe probe;
	struct np_engine *engine;

	if (np_probe_options(&prog->command, argc, argv, prog->arg, NULL,
			     &err) ||
	    (prog->check && prog->check(prog->arg, &err))) {
		fprintf(stderr, "%s: %s\n", prog->command.name, err.text);
		return 2;
	}
	if (set_up(prog, &probe, &clock, &err) ||
	    prog->engine(&probe, prog->arg, &engine, &err)) {
		fprintf(stderr, "%s: %s\n", prog->command.name, err.text);
		return EXIT_FAILURE;
	}
	np_probe_run(&probe, engine, prog->duration_sec);
	np_probe_finish(&probe);
	/*
	 * Not exit(): what is left is to take UCX down, which may wait for a
	 * partner that is gone.  The kernel does it without asking.
	 */
	_exit(EXIT_SUCCESS);
}
