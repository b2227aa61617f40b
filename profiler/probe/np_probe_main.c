/*
 * The start of a probe process: its options, the network library, the node and
 * its leaf switch, and the wire-up with the other processes.
 */
#include "np_probe.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "np_helper.h"
#include "np_hostlist.h"
#include "np_topo.h"

/*
 * Use the first working libfabric provider for the networks of this node, or
 * else UCX.
 */
static int open_auto(uint32_t size, size_t n_peers, struct np_net **out,
		     struct np_err *err)
{
	const char *const *provider = np_device_providers("/sys");

	/* A user who configures UCX wants UCX. */
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

	snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(text, "/"),
		 text);
	return np_ofi_open(size, n_peers, provider,
			   slash ? slash + 1 : getenv("UCX_NET_DEVICES"), out,
			   err);
}

int np_probe_net(uint32_t size, size_t n_peers, struct np_net **out,
		 struct np_err *err)
{
	const char *t = getenv(NP_TRANSPORT_ENV);
	struct np_transport transport;
	int rc = np_transport_parse(t ? t : "auto", &transport);

	if (rc)
		return np_errf(err, rc,
			       NP_TRANSPORT_ENV
			       "=%.80s: expected " NP_TRANSPORT_EXPECTED,
			       t);
	if (transport.library == NP_TRANSPORT_AUTO)
		return open_auto(size, n_peers, out, err);
	if (transport.library == NP_TRANSPORT_OFI)
		return open_ofi(transport.of, size, n_peers, out, err);
	if (*transport.of)
		setenv("UCX_TLS", transport.of, 1);
	return np_ucx_open(size, n_peers, out, err);
}

static int connect_and_start(const struct np_probe_program *prog,
			     struct np_probe *p,
			     const struct np_probe_conf *conf,
			     struct np_err *err)
{
	struct np_probe_plan plan = { .peer_node = "", .peer = NP_NO_RANK };
	int rc = np_probe_open(p, conf, err);

	if (!rc)
		rc = prog->plan(p, prog->arg, &plan, err);
	if (!rc)
		rc = np_probe_start(p, &plan, conf->net->version, err);
	return rc;
}

static int is_named(void *node, const char *name)
{
	return !strcmp(node, name);
}

/* The leaf switch of a node in a topology as text; "": it has none. */
static void find_in_topology(const char *text, const char *node,
			     char leaf[NP_REPORT_WORD])
{
	struct np_topo t;

	*leaf = '\0';
	if (np_topo_parse(text, &t, NULL))
		return;
	for (size_t i = 0; !*leaf && i < t.n; i++) {
		const char *word = t.leaf[i].nodes;

		for (size_t len; !*leaf && (len = np_hostlist_word(&word));
		     word += len)
			if (np_hostlist_walk(word, len, is_named,
					     (void *)node) == 1)
				snprintf(leaf, NP_REPORT_WORD, "%s",
					 t.leaf[i].name);
	}
	np_topo_free(&t);
}

/*
 * The leaf given by the collector, or else the one in the partition's topology,
 * or else the one in Slurm's topology address, which is of the cluster's.
 */
static void find_leaf(const char *node, char leaf[NP_REPORT_WORD])
{
	const char *from_collector = getenv(NP_LEAF_ENV);
	const char *partition = getenv(NP_LEAVES_ENV);

	if (from_collector && strlen(from_collector) < NP_REPORT_WORD)
		strcpy(leaf, from_collector);
	else if (partition)
		find_in_topology(partition, node, leaf);
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

/* As in linux/sched/types.h, whose struct clashes with that of glibc. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#define SLICE_NS 100000 /* the shortest slice that the kernel allows */

/*
 * Ask the kernel to wake this process promptly on busy processors, as far as
 * an unprivileged process can. What the kernel does not grant stays as it is.
 */
static void request_prompt_wakeup(void)
{
	struct attr a = { .size = sizeof(a) };

	prctl(PR_SET_TIMERSLACK, 1);
	/*
	 * Since Linux 6.12 the runtime of an ordinary task is its time slice,
	 * and a task with a short slice is scheduled soon after it wakes up.
	 * Older kernels ignore it.
	 */
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy)
		return;
	a.runtime_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

/* All that precedes the measurement. */
static int set_up(const struct np_probe_program *prog, struct np_probe *p,
		  struct np_clock *clock, struct np_err *err)
{
	static char leaf[NP_REPORT_WORD];
	struct np_probe_conf conf = {
		.kind = prog->kind,
		.clock = clock,
		.leaf = leaf,
		.node = np_node_name(),
		.task = traced_task(),
		.report_every_sec = prog->report_every_sec,
	};
	int rc = np_stop_init(err);

	if (rc)
		return rc;
	np_clock_init(clock, np_stop_fd());
	conf.born_sec = clock->now_sec(clock);
	find_leaf(conf.node, leaf);
	request_prompt_wakeup();
	rc = prog->wire ? np_wire_open(prog->wire, &conf.wire, err) :
			  np_pmix_open(&conf.wire, err);
	if (rc)
		return rc;
	rc = np_probe_net(conf.wire->size, prog->n_peers, &conf.net, err);
	if (!rc)
		rc = connect_and_start(prog, p, &conf, err);
	/*
	 * The wire is no longer needed. From here on no process depends on
	 * another one being alive, neither while it runs nor when it ends.
	 */
	conf.wire->ops->close(conf.wire);
	return rc;
}

#define MAX_OPTIONS 16 /* in one table */
enum { VERSION = 256, HELP, OWN };

/*
 * given[i] is set to the argument of row i of the table, or to "" if it has
 * none; it stays NULL for an option that is not on the command line.
 */
static int read_options(const struct np_probe_command *c, int argc, char **argv,
			char *given[MAX_OPTIONS], struct np_err *err)
{
	struct option longs[MAX_OPTIONS + 3] = {
		{ "version", no_argument, NULL, VERSION },
		{ "help", no_argument, NULL, HELP },
	};
	char letter[] = "-?";
	int opt;

	for (int i = 0; c->options[i].name; i++)
		longs[2 + i] =
			(struct option){ c->options[i].name,
					 np_option_has_argument(&c->options[i]),
					 NULL, OWN + i };
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
	if (opt < 0)
		return 0;
	/* No option is a letter. argv[optind - 1] may be another word then. */
	letter[1] = (char)optopt;
	return np_option_unknown(
		opt, optopt && optopt < VERSION ? letter : argv[optind - 1],
		c->name, err);
}

int np_probe_options(const struct np_probe_command *c, int argc, char **argv,
		     void *all, const char **word, struct np_err *err)
{
	char *given[MAX_OPTIONS] = { NULL };
	int rc = read_options(c, argc, argv, given, err);

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
	int rc;

	if (np_probe_options(&prog->command, argc, argv, prog->arg, NULL,
			     &err) ||
	    (prog->check && prog->check(prog->arg, &err))) {
		fprintf(stderr, "%s: %s\n", prog->command.name, err.text);
		return 2;
	}
	rc = set_up(prog, &probe, &clock, &err);
	if (!rc && prog->engine(&probe, prog->arg, &engine))
		rc = np_errf(&err, -ENOMEM, "out of memory");
	if (rc) {
		fprintf(stderr, "%s: %s\n", prog->command.name, err.text);
		return EXIT_FAILURE;
	}
	np_probe_run(&probe, engine, prog->duration_sec);
	np_probe_finish(&probe);
	/*
	 * Not exit(): that would shut UCX down, which may wait for a peer that
	 * is gone. The kernel releases everything without asking.
	 */
	_exit(EXIT_SUCCESS);
}
