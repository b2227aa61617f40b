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
#define PATIENCE_SEC 600.0 /* longest trial */

static const char usage[] =
	"usage: srun --mpi=pmix [srun options] " NAME " [options] SCHEME\n"
	"\n"
	"Measure the transfers of SCHEME, netprof-scheme(5), all at the same time and\n"
	"each size alone, between the processes of a job step with one process per\n"
	"node.  Prints SCHEME with the measured times and the penalty of each transfer:\n"
	"its time over its time alone.  netprof sharing compares them with models.\n"
	"\n"
	"  --repeats=N   number of repetitions of each scheme, 2 to 1000 (default 10)\n"
	"  --parsable    one transfer per line, separated by |\n"
	"  --version     print the version\n"
	"  --help        print this help\n"
	"\n"
	"If there is a process on a node of the same name for each node of the scheme,\n"
	"these are used; otherwise the processes in their order.  UCX_TLS and\n"
	"UCX_NET_DEVICES choose the network.\n";

/* The request, from the command line. */
struct settings {
	uint32_t repeats;
	bool parsable;
	const char *path;
};

/* The measurement, as this process takes part in it. */
struct run {
	struct settings s;
	struct np_scheme_set set;
	uint32_t *rank_of; /* by node of each scheme */
	struct np_schedule schedule;
	struct np_probe probe;
	struct np_clock clock;
	int rc; /* of the measurement */
	struct np_err *err;
};

/* Finds the process on the node with this name. */
static bool find_rank(const struct np_probe *p, const char *name,
		      uint32_t *rank)
{
	for (uint32_t k = 0; k < p->size; k++)
		if (!strcmp(p->place[k].node, name)) {
			*rank = k;
			return true;
		}
	return false;
}

/*
 * Assigns processes to the nodes of a scheme: by name if all names exist,
 * otherwise in order.
 */
static int map_scheme(const struct run *r, const struct np_scheme *s,
		      uint32_t *rank_of)
{
	bool named = true;

	if (s->n_nodes > r->probe.size)
		return np_errf(
			r->err, -EINVAL,
			"scheme %s has %zu nodes, the step has %u processes",
			s->name, s->n_nodes, r->probe.size);
	for (size_t i = 0; named && i < s->n_nodes; i++)
		named = find_rank(&r->probe, s->node[i], &rank_of[i]);
	for (size_t i = 0; !named && i < s->n_nodes; i++)
		rank_of[i] = (uint32_t)i;
	return 0;
}

/* Assigns processes to the nodes of all schemes, and plans the trials. */
static int map_all(struct run *r)
{
	size_t n = 0;
	int rc = 0;

	for (size_t k = 0; k < r->set.n; k++)
		n += r->set.scheme[k].n_nodes;
	r->rank_of = calloc(n, sizeof(*r->rank_of));
	if (!r->rank_of)
		return np_errf(r->err, -ENOMEM, "out of memory");
	for (size_t k = 0, at = 0; !rc && k < r->set.n; k++) {
		rc = map_scheme(r, &r->set.scheme[k], r->rank_of + at);
		at += r->set.scheme[k].n_nodes;
	}
	return rc ? rc :
		    np_schedule_new(&r->set, r->rank_of, r->s.repeats,
				    &r->schedule, r->err);
}

/* Connects this process to all others. */
static int connect_all(struct run *r)
{
	struct np_probe *p = &r->probe;
	int rc = 0;

	for (uint32_t k = 0; !rc && k < p->size; k++)
		if (k != p->rank)
			rc = np_probe_connect(p, k, r->err);
	return rc;
}

/* Joins the job step, connects all processes, and plans the measurement. */
static int set_up(struct run *r)
{
	struct np_probe_conf conf = {
		.kind = NP_REPORT_ROUND,
		.clock = &r->clock,
		.leaf = "-",
		.node = np_node_name(),
		.report_every_sec = 1,
	};
	int rc = np_scheme_read(r->s.path, &r->set, r->err);

	if (!rc)
		rc = np_stop_init(r->err);
	if (rc)
		return rc;
	np_clock_init(&r->clock, np_stop_fd());
	rc = np_pmix_open(&conf.wire, r->err);
	if (!rc)
		rc = np_probe_net(conf.wire->size, conf.wire->size, &conf.net,
				  r->err);
	if (!rc)
		rc = np_probe_open(&r->probe, &conf, r->err);
	if (!rc)
		rc = map_all(r);
	if (!rc)
		rc = connect_all(r);
	return rc ? rc :
		    conf.wire->ops->fence(conf.wire, NP_PROBE_FENCE_SEC,
					  r->err);
}

/* Stores the times of a trial. */
static void on_done(size_t i, const double *sec, void *arg)
{
	np_schedule_done(i, sec, &((struct run *)arg)->schedule);
}

/* Ends the measurement with its result. */
static void on_over(int rc, const char *why, void *arg)
{
	struct run *r = arg;

	r->rc = rc ? np_errf(r->err, rc, "%s", why) : 0;
	np_stop_request();
}

/* What is due from time to time: nothing. */
static void nothing(void *arg, double now_sec)
{
	(void)arg, (void)now_sec;
}

/* Runs all trials. */
static int measure(struct run *r)
{
	struct np_transfers_conf conf = {
		.env = np_probe_env(&r->probe),
		.n_ranks = r->probe.size,
		.trial = r->schedule.trial,
		.n_trials = r->schedule.n,
		.patience_sec = PATIENCE_SEC,
		.done = on_done,
		.over = on_over,
	};
	const struct np_idle idle = { nothing, PATIENCE_SEC, NULL };
	struct np_engine *e;

	conf.env.arg = r;
	if (np_transfers_new(&conf, &e))
		return np_errf(r->err, -ENOMEM, "out of memory");
	r->rc = np_errf(r->err, -EINTR, "ended by a signal");
	np_loop_run(e, &idle, r->probe.conf.net, &r->clock, np_stop_requested,
		    INFINITY);
	return r->rc;
}

/* Prints a scheme with its results, in the format of schemes. */
static void print_scheme(const struct run *r, size_t k)
{
	const struct np_scheme *s = &r->set.scheme[k];
	const struct np_measured_scheme *g = &r->schedule.result[k];
	double half = np_moments_half_width(&g->reference);

	printf("\nscheme %s\nreference %llu took %.6fs # 95 %% %.6f to %.6f\n",
	       s->name, (unsigned long long)s->reference_bytes,
	       g->reference.mean, g->reference.mean - half,
	       g->reference.mean + half);
	for (size_t i = 0; i < s->n; i++) {
		const struct np_moments *p = &g->penalty[i];

		half = np_moments_half_width(p);
		printf("%s: %s -> %s %llu", s->label[i], s->node[s->c[i].from],
		       s->node[s->c[i].to], (unsigned long long)s->bytes[i]);
		if (s->start_sec[i] > 0)
			printf(" at %.6fs", s->start_sec[i]);
		printf(" took %.6fs # penalty %.3f, 95 %% %.3f to %.3f\n",
		       g->sec[i].mean, p->mean, p->mean - half, p->mean + half);
	}
}

/* Prints all schemes. */
static void print(const struct run *r)
{
	char transport[NP_REPORT_WORD] = "";
	const struct np_probe_conf *c = &r->probe.conf;

	if (r->probe.size > 1)
		c->net->ops->transport(c->net, 1, transport, sizeof(transport));
	printf("# %s %s, %s%s, %s, %u processes, %u repeats\n", NAME,
	       NP_VERSION, strcmp(c->net->kind, "ucx") ? "" : "UCX ",
	       c->net->version, transport, r->probe.size, r->s.repeats);
	for (size_t k = 0; k < r->set.n; k++)
		print_scheme(r, k);
}

/* Prints one line per transfer. */
static void print_parsable(const struct run *r)
{
	puts("Scheme|Transfer|From|To|Bytes|Start|Repeats|Reference|Time|"
	     "Penalty|Low|High");
	for (size_t k = 0; k < r->set.n; k++)
		for (size_t i = 0; i < r->set.scheme[k].n; i++) {
			const struct np_scheme *s = &r->set.scheme[k];
			const struct np_measured_scheme *g =
				&r->schedule.result[k];
			const struct np_moments *p = &g->penalty[i];
			double half = np_moments_half_width(p);

			printf("%s|%s|%s|%s|%llu|%.6f|%u|%.6f|%.6f|%.4f|%.4f|"
			       "%.4f\n",
			       s->name, s->label[i], s->node[s->c[i].from],
			       s->node[s->c[i].to],
			       (unsigned long long)s->bytes[i], s->start_sec[i],
			       r->s.repeats, g->reference.mean, g->sec[i].mean,
			       p->mean, p->mean - half, p->mean + half);
		}
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
	struct run r = { .s = { .repeats = 10 }, .err = &err };
	int rc;

	rc = np_probe_options(&command, argc, argv, &r.s, &r.s.path, &err);
	if (!rc && !r.s.path)
		rc = np_errf(&err, -EINVAL,
			     "expected a file with schemes; see \"" NAME
			     " --help\"");
	if (rc) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 2;
	}
	rc = set_up(&r);
	if (!rc) {
		np_stop_on_signal();
		rc = measure(&r);
	}
	if (rc)
		fprintf(stderr, NAME ": %s\n", err.text);
	else if (r.probe.rank == 0)
		(r.s.parsable ? print_parsable : print)(&r);
	fflush(NULL);
	/*
	 * Slurm considers a process that ends without closing PMIx as failed.
	 */
	if (!rc)
		r.probe.conf.wire->ops->close(r.probe.conf.wire);
	/* _exit() as in np_probe_main(). */
	_exit(rc ? EXIT_FAILURE : EXIT_SUCCESS);
}
