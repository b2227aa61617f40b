/*
 * netprof-sharing: a program that measures how concurrent transfers share the
 * network. Its processes are those of a job step, one per node. All make the
 * same list of trials from the schemes (np_schedule.h) and run them together
 * (np_transfers.h); rank 0 prints the results.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_helper.h"
#include "np_probe.h"
#include "np_schedule.h"
#include "np_wire.h"

#define NAME "netprof-sharing"
#define TRIAL_TIMEOUT_SEC 600.0 /* of one trial; then the measurement fails */

static const char usage[] =
	"usage: srun --mpi=pmix [srun options] " NAME " [options] SCHEME\n"
	"\n"
	"Measures the transfers of SCHEME, netprof-scheme(5), all at the same time and\n"
	"each size alone, between the processes of a job step with one process per\n"
	"node. Prints SCHEME with the measured times and the penalty of each transfer,\n"
	"which is its time divided by its time alone. netprof sharing compares these\n"
	"results with models.\n"
	"\n"
	"  --repeats=N   number of repetitions of each scheme, 2 to 1000 (default 10)\n"
	"  --parsable    one transfer per line, separated by |\n"
	"  --version     print the version\n"
	"  --help        print this help\n"
	"\n"
	"A node of a scheme is the process on the node of that name, if each node of the\n"
	"scheme has one; otherwise its nodes are the processes in their order. UCX_TLS\n"
	"and UCX_NET_DEVICES select the network.\n";

/* What the command line requests. */
struct settings {
	uint32_t repeats;
	bool parsable;
	const char *path;
};

/* The measurement, as this process takes part in it. */
struct run {
	struct settings settings;
	struct np_scheme_set set;
	uint32_t *rank_of; /* process of each node of each scheme */
	struct np_schedule schedule;
	struct np_probe probe;
	struct np_clock clock;
	int rc; /* of the measurement */
	struct np_err *err;
};

/* Finds the process on the node with this name. */
static bool find_rank(const struct np_probe *probe, const char *name,
		      uint32_t *rank)
{
	for (uint32_t k = 0; k < probe->size; k++)
		if (!strcmp(probe->place[k].node, name)) {
			*rank = k;
			return true;
		}
	return false;
}

/*
 * Assigns processes to the nodes of a scheme: by name if all names exist,
 * otherwise in order.
 */
static void map_scheme(const struct run *run, const struct np_scheme *scheme,
		       uint32_t *rank_of)
{
	bool named = true;

	for (size_t i = 0; named && i < scheme->n_nodes; i++)
		named = find_rank(&run->probe, scheme->node[i], &rank_of[i]);
	for (size_t i = 0; !named && i < scheme->n_nodes; i++)
		rank_of[i] = (uint32_t)i;
}

/* Assigns processes to the nodes of all schemes, and plans the trials. */
static int map_all(struct run *run)
{
	size_t n = 0;

	for (size_t k = 0; k < run->set.n; k++)
		n += run->set.scheme[k].n_nodes;
	run->rank_of = calloc(n, sizeof(*run->rank_of));
	if (!run->rank_of)
		return np_errf(run->err, -ENOMEM, "out of memory");
	for (size_t k = 0, at = 0; k < run->set.n; k++) {
		map_scheme(run, &run->set.scheme[k], run->rank_of + at);
		at += run->set.scheme[k].n_nodes;
	}
	return np_schedule_new(&run->set, run->rank_of, run->settings.repeats,
			       &run->schedule, run->err);
}

/* Connects this process to all others. */
static int connect_all(struct run *run)
{
	struct np_probe *probe = &run->probe;
	int rc = 0;

	for (uint32_t k = 0; !rc && k < probe->size; k++)
		if (k != probe->rank)
			rc = np_probe_connect(probe, k, run->err);
	return rc;
}

/*
 * Whether the step has a process for each node of a scheme. All processes find
 * the same before any waits for another: those that wait for one that has ended
 * do so until their time is over.
 */
static int check_size(const struct run *run, uint32_t size)
{
	for (size_t k = 0; k < run->set.n; k++) {
		const struct np_scheme *scheme = &run->set.scheme[k];

		if (scheme->n_nodes > size)
			return np_errf(
				run->err, -EINVAL,
				"scheme %s has %zu nodes, the step has %u processes",
				scheme->name, scheme->n_nodes, size);
	}
	return 0;
}

/* Joins the job step, connects all processes, and plans the measurement. */
static int set_up(struct run *run)
{
	struct np_probe_conf conf = {
		.kind = NP_REPORT_ROUND,
		.clock = &run->clock,
		.leaf = "-",
		.node = np_node_name(),
		.report_every_sec = 1,
	};
	int rc = np_scheme_read(run->settings.path, &run->set, run->err);

	if (!rc)
		rc = np_stop_init(run->err);
	if (rc)
		return rc;
	np_clock_init(&run->clock, np_stop_fd());
	rc = np_pmix_open(&conf.wire, run->err);
	if (!rc)
		rc = check_size(run, conf.wire->size);
	if (!rc)
		rc = np_probe_net(conf.wire->size, conf.wire->size, &conf.net,
				  run->err);
	if (!rc)
		rc = np_probe_open(&run->probe, &conf, run->err);
	if (!rc)
		rc = map_all(run);
	if (!rc)
		rc = connect_all(run);
	return rc ? rc :
		    conf.wire->ops->fence(conf.wire, NP_PROBE_FENCE_SEC,
					  run->err);
}

/* Stores the times of a trial. */
static void on_done(size_t i, const double *sec, void *arg)
{
	np_schedule_done(i, sec, &((struct run *)arg)->schedule);
}

/* Ends the measurement with its result. */
static void on_end(int rc, const char *why, void *arg)
{
	struct run *run = arg;

	run->rc = rc ? np_errf(run->err, rc, "%s", why) : 0;
	np_stop_request();
}

/* For np_loop_run(), which calls a function periodically. */
static void do_nothing(void *arg, double now_sec)
{
	(void)arg, (void)now_sec;
}

/* Runs all trials. */
static int measure(struct run *run)
{
	struct np_transfers_conf conf = {
		.env = np_probe_env(&run->probe),
		.n_ranks = run->probe.size,
		.trial = run->schedule.trial,
		.n_trials = run->schedule.n,
		.patience_sec = TRIAL_TIMEOUT_SEC,
		.done = on_done,
		.over = on_end,
	};
	const struct np_idle idle = { do_nothing, TRIAL_TIMEOUT_SEC, NULL };
	struct np_engine *engine;

	conf.env.arg = run;
	if (np_transfers_new(&conf, &engine))
		return np_errf(run->err, -ENOMEM, "out of memory");
	run->rc = np_errf(run->err, -EINTR, "ended by a signal");
	np_loop_run(engine, &idle, run->probe.conf.net, &run->clock,
		    np_stop_requested, INFINITY);
	return run->rc;
}

/* Prints a scheme with its results, in the format of schemes. */
static void print_scheme(const struct run *run, size_t k)
{
	const struct np_scheme *scheme = &run->set.scheme[k];
	const struct np_measured_scheme *measured = &run->schedule.result[k];
	double half = np_moments_half_width(&measured->reference);

	printf("\nscheme %s\nreference %llu took %.9fs # 95 %% %.9f to %.9f\n",
	       scheme->name, (unsigned long long)scheme->reference_bytes,
	       measured->reference.mean, measured->reference.mean - half,
	       measured->reference.mean + half);
	for (size_t i = 0; i < scheme->n; i++) {
		const struct np_moments *penalty = &measured->penalty[i];

		half = np_moments_half_width(penalty);
		printf("%s: %s -> %s %llu", scheme->label[i],
		       scheme->node[scheme->c[i].from],
		       scheme->node[scheme->c[i].to],
		       (unsigned long long)scheme->bytes[i]);
		if (scheme->start_sec[i] > 0)
			printf(" at %.9fs", scheme->start_sec[i]);
		printf(" took %.9fs # penalty %.3f, 95 %% %.3f to %.3f\n",
		       measured->sec[i].mean, penalty->mean,
		       penalty->mean - half, penalty->mean + half);
	}
}

/* Prints how the schemes were measured. */
static void print_head(const struct run *run)
{
	char transport[NP_REPORT_WORD] = "";
	const struct np_probe_conf *conf = &run->probe.conf;

	if (run->probe.size > 1)
		conf->net->ops->transport(conf->net, 1, transport,
					  sizeof(transport));
	printf("# %s %s, %s%s, %s, %u processes, %u repeats\n", NAME,
	       NP_VERSION, strcmp(conf->net->kind, "ucx") ? "" : "UCX ",
	       conf->net->version, transport, run->probe.size,
	       run->settings.repeats);
}

/* Prints one line per transfer of a scheme. */
static void print_rows(const struct run *run, size_t k)
{
	const struct np_scheme *scheme = &run->set.scheme[k];
	const struct np_measured_scheme *measured = &run->schedule.result[k];

	for (size_t i = 0; i < scheme->n; i++) {
		const struct np_moments *penalty = &measured->penalty[i];
		double half = np_moments_half_width(penalty);

		printf("%s|%s|%s|%s|%llu|%.9f|%u|%.9f|%.9f|%.4f|%.4f|%.4f\n",
		       scheme->name, scheme->label[i],
		       scheme->node[scheme->c[i].from],
		       scheme->node[scheme->c[i].to],
		       (unsigned long long)scheme->bytes[i],
		       scheme->start_sec[i], run->settings.repeats,
		       measured->reference.mean, measured->sec[i].mean,
		       penalty->mean, penalty->mean - half,
		       penalty->mean + half);
	}
}

/*
 * Prints the results. Errors of standard output, such as a full disk, are only
 * seen when it is flushed.
 */
static int print_results(const struct run *run)
{
	if (run->settings.parsable)
		puts("Scheme|Transfer|From|To|Bytes|Start|Repeats|Reference|"
		     "Time|Penalty|Low|High");
	else
		print_head(run);
	for (size_t k = 0; k < run->set.n; k++)
		(run->settings.parsable ? print_rows : print_scheme)(run, k);
	return fflush(stdout) || ferror(stdout) ?
		       np_errf(run->err, -EIO, "standard output: %s",
			       strerror(errno)) :
		       0;
}

#define AT(member) offsetof(struct settings, member)

static const struct np_option options[] = {
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 2, 1000 },
	{ "parsable", NP_OPTION_FLAG, AT(parsable) },
	{ NULL },
};

int main(int argc, char **argv)
{
	const struct np_probe_command command = { NAME, usage, options };
	struct np_err err = NP_ERR_INIT;
	struct run run = { .settings = { .repeats = 10 }, .err = &err };
	int rc;

	rc = np_probe_options(&command, argc, argv, &run.settings,
			      &run.settings.path, &err);
	if (!rc && !run.settings.path)
		rc = np_errf(&err, -EINVAL,
			     "expected a file with schemes; see \"" NAME
			     " --help\"");
	if (rc) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 2;
	}
	rc = set_up(&run);
	if (!rc) {
		np_stop_on_signal();
		rc = measure(&run);
	}
	if (!rc && run.probe.rank == 0)
		rc = print_results(&run);
	if (rc)
		fprintf(stderr, NAME ": %s\n", err.text);
	fflush(NULL);
	/*
	 * Slurm considers a process that ends without closing PMIx as failed.
	 */
	if (!rc)
		run.probe.conf.wire->ops->close(run.probe.conf.wire);
	/* _exit() as in np_probe_main(). */
	_exit(rc ? EXIT_FAILURE : EXIT_SUCCESS);
}
