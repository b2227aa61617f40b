/*
 * netprof loggps: measures what a message costs on a fabric. It runs inside an
 * allocation and stores the result with the calibration of the cluster, where
 * netprof tolerance finds it. With --show it prints the last result instead.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_alloc.h"
#include "cli_json_put.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_clock.h"
#include "np_conf.h"
#include "np_helper.h"
#include "np_loggps_fit.h"
#include "np_loggps_store.h"
#include "np_prtt.h"
#include "np_report.h"

/* The request, from the command line. */
struct options {
	uint32_t blocks, max_bytes; /* repetitions; the largest message */
	double max_trip_sec; /* sizes whose round trip is longer are skipped */
	bool across, show, json, dry_run;
	const char *output; /* NULL: the store */
	/* for --show; NULL: the newest record of any cluster */
	const char *cluster;
};

/* ---- one measurement ---- */

/* From finding the allocation to storing the result. */
struct work {
	const struct options *opt;
	struct np_store *store; /* NULL with --output */
	struct cli_alloc at;
};

#define UP_SEC 90.0 /* for all processes to start */
#define TICK_SEC 0.25

/*
 * A measurement in progress. netprof-prtt is started as a step on all nodes of
 * the allocation. Two of its processes are chosen by their leaf switches: the
 * client, which measures and reports each median as a line of output, and its
 * peer. The others take no part. The step is followed until the client says
 * bye; then the parameters are fitted to all medians.
 */
struct run {
	const struct work *w;
	const volatile sig_atomic_t *stop; /* set when the user wants to stop */
	bool shows_progress;
	struct np_helper_step step;
	struct np_prtt *sample;
	size_t n;
	uint32_t handshakes, n_ranks, done; /* done: blocks that have begun */
	bool over; /* the client has measured everything and said bye */
	struct np_report *client; /* its handshake, which has the path */
	bool no_memory;
	char note[NP_REPORT_TEXT];
};

/* The handshake of the client names its peer. */
static void on_handshake(struct run *r, const struct np_report *rep)
{
	r->handshakes++;
	r->n_ranks = rep->handshake.n_ranks;
	if (rep->handshake.peer_node[0])
		*r->client = *rep;
}

/* Stores a median that the client reports. */
static void on_sample(struct run *r, const struct np_prtt *p)
{
	if (r->n == NP_LOGGPS_MAX_BLOCKS * (NP_LOGGPS_MAX_SIZES + 4) * 2 ||
	    np_array_grow(&r->sample, r->n, sizeof(*r->sample))) {
		r->no_memory = true;
		return;
	}
	r->sample[r->n++] = *p;
	if (p->block + 1 > r->done) {
		r->done = p->block + 1;
		if (r->shows_progress) /* overwrites the line */
			fprintf(stderr, "\r%u of %u blocks", r->done - 1,
				r->w->opt->blocks);
	}
}

/* Handles a line of the step's output. */
static void on_report(const struct np_report *rep, void *arg)
{
	struct run *r = arg;

	switch (rep->kind) {
	case NP_REPORT_HANDSHAKE:
		on_handshake(r, rep);
		break;
	case NP_REPORT_PRTT:
		on_sample(r, &rep->prtt);
		break;
	case NP_REPORT_NOTE:
		strcpy(r->note, rep->note);
		break;
	case NP_REPORT_BYE:
		r->over |= rep->rank == r->client->rank && r->n;
		break;
	default:
		break;
	}
}

/* Starts the step with the options of this measurement. */
static int start(struct run *r, struct np_err *err)
{
	const struct options *o = r->w->opt;
	const struct cli_alloc *at = &r->w->at;
	struct np_args args;
	int rc;

	np_helper_cmd_probe(&args, &at->job, &at->conf, "netprof-prtt",
			    at->nodes, at->n_nodes);
	np_args_add(&args, "--blocks=%u", o->blocks);
	np_args_add(&args, "--max-bytes=%u", o->max_bytes);
	np_args_add(&args, "--max-trip=%.9gs", o->max_trip_sec);
	if (o->across)
		np_args_add(&args, "--across");
	rc = np_helper_start(&r->step, &args, at->env, (uint32_t)at->n_nodes,
			     err);
	np_args_free(&args);
	return rc;
}

/* Error message with the program's own reason, or srun's. */
static int ended_early(struct run *r, struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	if (r->note[0])
		return np_errf(err, -EPIPE, "the measurement ended early: %s",
			       r->note);
	np_helper_cause(&r->step, cause, sizeof(cause));
	return np_errf(err, -EPIPE, "the measurement ended early: %s", cause);
}

/* Follows the step until everything is measured or it fails. */
static int watch(struct run *r, struct np_err *err)
{
	double begun_sec = np_mono_sec();

	while (!r->over) {
		bool up = r->handshakes && r->handshakes >= r->n_ranks;

		np_helper_wait(&r->step, TICK_SEC, on_report, r);
		/* Slurm 22.05 requires a step to be up before it can end. */
		if (*r->stop && up)
			return np_errf(err, -EINTR, "stopped");
		if (r->no_memory)
			return np_errf(err, -ENOMEM, "out of memory");
		if (!up && np_mono_sec() > begun_sec + UP_SEC)
			return np_errf(err, -ETIMEDOUT,
				       "only %u processes of netprof-prtt "
				       "started within %g s",
				       r->handshakes, UP_SEC);
		if (np_helper_reap(&r->step)) {
			while (r->step.fd >= 0)
				np_helper_wait(&r->step, TICK_SEC, on_report,
					       r);
			return r->over ? 0 : ended_early(r, err);
		}
	}
	return 0;
}

/*
 * Returns 0, or with err -EINTR (the user stopped it), -EPIPE (the step ended
 * before everything was measured), -ETIMEDOUT (its processes did not start),
 * -ENOMEM, or an error of np_loggps_fit().
 */
static int run_measurement(const struct work *w, struct np_loggps_fit *fit,
			   struct np_report *client, struct np_err *err)
{
	struct run r = {
		.w = w,
		.client = client,
		.step = NP_HELPER_INIT,
		.stop = cli_alloc_catch_signals(),
		.shows_progress = isatty(STDERR_FILENO),
	};
	int rc = start(&r, err);

	if (!rc) {
		rc = watch(&r, err);
		np_helper_stop(&r.step, r.over ? 0 : SIGUSR1, on_report, &r);
	}
	if (r.shows_progress)
		fprintf(stderr, "\r%24s\r", ""); /* clears its line */
	if (!rc && r.done < w->opt->blocks)
		rc = ended_early(&r, err);
	if (!rc)
		rc = np_loggps_fit(r.sample, r.n, fit, err);
	free(r.sample);
	return rc;
}

/* ---- the command ---- */

/*
 * Runs the measurement in the allocation and adds where and when that was. The
 * record owns its texts.
 */
static int measure(struct work *w, struct np_loggps_record *r,
		   struct np_err *err)
{
	struct np_report client = { .rank = 0 }; /* "" if not reported */
	int rc = run_measurement(w, &r->fit, &client, err);

	if (rc)
		return rc;
	r->date = (double)time(NULL);
	r->across = w->opt->across;
	r->cluster = cli_strdup(w->at.cluster ? w->at.cluster : "");
	r->from = cli_strdup(client.handshake.node);
	r->to = cli_strdup(client.handshake.peer_node);
	r->leaf = cli_strdup(client.handshake.leaf);
	r->transport = cli_strdup(client.handshake.transport);
	r->ucx_version = cli_strdup(client.handshake.version);
	r->netprof_version = cli_strdup(NP_VERSION);
	return 0;
}

/* Writes the record as JSON to a file. */
static int write_output(const char *path, const struct np_loggps_record *r,
			struct np_err *err)
{
	char *text;
	int rc = np_loggps_record_put(r, &text, err);

	if (rc)
		return rc;
	rc = cli_write_in_place(path, text, "", err);
	free(text);
	return rc;
}

/* Says what is going to be measured, before it takes minutes. */
static void print_plan(const struct work *w)
{
	const struct options *o = w->opt;

	fprintf(stderr,
		"%u block%s of messages up to %u bytes between two of %s%s; "
		"the result goes to %s\n",
		o->blocks, cli_plural_s(o->blocks), o->max_bytes, w->at.nodes,
		o->across ? " under two leaf switches" : "",
		o->output ? o->output : np_store_dir(w->store));
}

/* Finds the allocation, measures, and stores the result. */
static int work(struct work *w, struct np_loggps_record *r, struct np_err *err)
{
	const char *output = w->opt->output;
	int rc = cli_alloc_find(&w->at, 2, "loggps", err);

	if (!rc && w->at.n_nodes < 2)
		rc = np_errf(err, -EINVAL, "one node: expected two or more");
	/* Check before measuring that the result can be stored. */
	if (!rc && !output)
		rc = np_store_open(w->at.conf.store, &w->store, err);
	if (!rc && !output && !w->opt->dry_run)
		rc = np_loggps_store_check(w->store, w->at.cluster, err);
	if (rc)
		return rc;
	print_plan(w);
	if (w->opt->dry_run)
		return 0;
	rc = cli_alloc_env(&w->at, err);
	if (!rc)
		rc = measure(w, r, err);
	if (rc)
		return rc;
	return output ? write_output(output, r, err) :
			np_loggps_store_save(w->store, w->at.cluster, r, err);
}

/* The caller frees *r. */
static int measure_all(const struct options *o, struct np_loggps_record *r,
		       struct np_err *err)
{
	/* static, because w.at contains pointers into itself */
	static struct work w;
	int rc;

	w.opt = o;
	rc = work(&w, r, err);
	np_store_close(w.store);
	cli_alloc_free(&w.at);
	return rc;
}

#define MAX_BYTES (1u << 20) /* the default of --max-bytes */
#define AT(member) offsetof(struct options, member)

static const struct np_option options[] = {
	{ "blocks", NP_OPTION_COUNT, AT(blocks), 1, NP_PRTT_MAX_BLOCKS },
	{ "max-bytes", NP_OPTION_BYTES, AT(max_bytes), NP_PRTT_LEAST_MAX_BYTES,
	  NP_PRTT_MAX_BYTES },
	{ "max-trip", NP_OPTION_TIME, AT(max_trip_sec), 1e-4, 10 },
	{ "across", NP_OPTION_FLAG, AT(across) },
	{ "output", NP_OPTION_WORD, AT(output) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
	{ "show", NP_OPTION_FLAG, AT(show) },
	{ "cluster", NP_OPTION_WORD, AT(cluster) },
	{ NULL },
};

/* Parses the command line and checks which options fit together. */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct options *o)
{
	struct cli_options given;
	int rc = cli_options_parse(self, argc, argv, o, &given);

	if (rc < 0 && o->show && (o->output || o->dry_run))
		return cli_usage(
			self,
			"--output and --dry-run have no effect with --show");
	if (rc < 0 && o->show &&
	    (o->blocks != NP_PRTT_BLOCKS || o->max_bytes != MAX_BYTES ||
	     o->max_trip_sec != NP_PRTT_TRIP_SEC))
		return cli_usage(self, "--blocks, --max-bytes and --max-trip "
				       "have no effect with --show");
	if (rc < 0 && o->dry_run && given.format)
		return cli_usage(self, "--json has no effect with --dry-run");
	if (rc < 0 && !o->show && o->cluster)
		return cli_usage(self, "--cluster needs --show");
	o->json = rc < 0 && given.format == CLI_JSON;
	return rc;
}

/* Reads the last result from the store. Returns -1, or the exit status. */
static int load(const struct options *o, struct np_loggps_record *r)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_store s;
	int rc = cli_store_open(&s);

	if (rc >= 0)
		return rc;
	rc = np_loggps_store_load(s.store, o->cluster, o->across, r, &err);
	cli_store_close(&s);
	return rc == -ENOENT ?
		       cli_fail("%s; salloc -N2 --exclusive netprof loggps",
				err.text) :
	       rc ? cli_fail("%s", err.text) :
		    -1;
}

/* Prints a parameter with its confidence interval. */
static void print_value(const char *symbol, const char *name,
			const struct np_loggps_value *v)
{
	printf("%s%-3s%s%-22s", cli_colour(CLI_BOLD), symbol,
	       cli_colour(CLI_PLAIN), name);
	cli_print_sec(v->value, 9);
	printf("   %s\n", cli_sec_range(v->low, v->high));
}

/* Prints a time per byte; more: what follows it. */
static void print_bytes(const char *symbol, const char *name,
			const struct np_loggps_value *v, const char *more)
{
	printf("%s%-3s%s%-22s%6.3g ns   %.3g to %.3g ns%s\n",
	       cli_colour(CLI_BOLD), symbol, cli_colour(CLI_PLAIN), name,
	       1e9 * v->value, 1e9 * v->low, 1e9 * v->high, more);
}

/* Prints S, or that no size is noticeably slower. */
static void print_rendezvous(const struct np_loggps_fit *f)
{
	printf("%s%-3s%s", cli_colour(CLI_BOLD), "S", cli_colour(CLI_PLAIN));
	if (f->S)
		printf("%-22s%9s   rendezvous from %s on costs %s\n",
		       "eager up to", cli_bytes(f->S), cli_bytes(f->S_above),
		       cli_sec(f->step.value));
	else
		printf("no costly rendezvous up to %s\n",
		       cli_bytes(f->bytes_max));
}

/* Prints a result as a table. */
static int print_text(const struct np_loggps_record *r)
{
	const struct np_loggps_fit *f = &r->fit;
	char bandwidth[CLI_NUMBER_LEN + 8];

	snprintf(bandwidth, sizeof(bandwidth), ";  %s",
		 cli_rate(1 / f->G.value));
	printf("%s to %s over %s, %s%s%s\n\n", r->from, r->to,
	       *r->transport ? r->transport : "an unknown transport",
	       r->across ? "across leaf switches" :
	       *r->leaf	 ? r->leaf :
			   "an unknown leaf switch",
	       *r->cluster ? " of " : "", r->cluster);
	print_value("L", "latency", &f->L);
	print_value("o", "overhead of sending", &f->o_send);
	print_value("", "overhead of receiving", &f->o_recv);
	print_value("g", "between messages", &f->g);
	if (f->O.high > 0)
		print_bytes("O", "overhead per byte", &f->O, "");
	print_bytes("G", "time per byte", &f->G, bandwidth);
	print_rendezvous(f);
	printf("\nMedians of %u block%s and %u size%s, with ", f->n_blocks,
	       cli_plural_s(f->n_blocks), f->n_sizes, cli_plural_s(f->n_sizes));
	if (f->n_blocks < NP_LOGGPS_INTERVAL)
		printf("the smallest and largest values (%.0f %% confidence "
		       "intervals need %d blocks)",
		       100 * NP_LOGGPS_CONFIDENCE, NP_LOGGPS_INTERVAL);
	else
		printf("%.0f %% confidence intervals",
		       100 * NP_LOGGPS_CONFIDENCE);
	printf("; %s\n", cli_date(r->date));
	return CLI_DONE;
}

/* Adds a parameter with its interval to the JSON output. */
static void put_value(json_object *in, const char *key,
		      const struct np_loggps_value *v)
{
	json_object *j = cli_put_object(in, key);

	cli_put_real(j, "value", v->value);
	cli_put_real(j, "low", v->low);
	cli_put_real(j, "high", v->high);
}

/* Prints a result as JSON. */
static int print_json(const struct np_loggps_record *r)
{
	json_object *j = json_object_new_object();
	const struct np_loggps_fit *f = &r->fit;

	cli_put_time(j, "date", r->date);
	cli_put_text(j, "cluster", r->cluster);
	cli_put_text(j, "from", r->from);
	cli_put_text(j, "to", r->to);
	cli_put_text(j, "leaf", r->leaf);
	cli_put_bool(j, "across", r->across);
	cli_put_text(j, "transport", r->transport);
	cli_put_text(j, "ucx_version", r->ucx_version);
	cli_put_text(j, "netprof_version", r->netprof_version);
	cli_put_count(j, "blocks", f->n_blocks);
	cli_put_count(j, "sizes", f->n_sizes);
	cli_put_count(j, "bytes_min", f->bytes_min);
	cli_put_count(j, "bytes_max", f->bytes_max);
	put_value(j, "L_sec", &f->L);
	put_value(j, "o_send_sec", &f->o_send);
	put_value(j, "o_recv_sec", &f->o_recv);
	put_value(j, "g_sec", &f->g);
	put_value(j, "G_sec_per_byte", &f->G);
	put_value(j, "O_sec_per_byte", &f->O);
	if (f->S) {
		cli_put_count(j, "S_bytes", f->S);
		cli_put_count(j, "S_above_bytes", f->S_above);
		put_value(j, "rendezvous_sec", &f->step);
	} else {
		cli_put(j, "S_bytes", NULL);
	}
	return cli_print_json("loggps", j);
}

/* Measures, or loads the last result, and prints it. */
static int run_loggps(const struct cli_cmd *self, int argc, char **argv)
{
	struct options o = {
		.blocks = NP_PRTT_BLOCKS,
		.max_bytes = MAX_BYTES,
		.max_trip_sec = NP_PRTT_TRIP_SEC,
	};
	struct np_loggps_record r = { 0 };
	struct np_err err = NP_ERR_INIT;
	int rc = parse(self, argc, argv, &o);

	if (rc < 0 && o.show)
		rc = load(&o, &r);
	else if (rc < 0 && measure_all(&o, &r, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0 && o.dry_run)
		rc = CLI_DONE;
	if (rc < 0)
		rc = o.json ? print_json(&r) : print_text(&r);
	np_loggps_record_free(&r);
	return rc;
}

const struct cli_cmd cmd_loggps = {
	.name = "loggps",
	.args = "[OPTIONS] | --show [--json] [--cluster=NAME] [--across]",
	.help = "measure what a message costs: latency, overhead, bandwidth",
	.text = "Measures message times between two nodes under one leaf switch, and stores the\n"
		"LogGPS parameters with the calibration of the fabric: latency L, overhead o of\n"
		"sender and receiver and O per byte, gap g between messages, time per byte G,\n"
		"and the size S above which a message waits for its receiver. Run it as an\n"
		"administrator inside an allocation of idle nodes (salloc -N2 --exclusive).\n\n"
		"  --blocks=N         number of repetitions (default 30)\n"
		"  --max-bytes=SIZE   size of the largest message (default 1M)\n"
		"  --max-trip=TIME    skip sizes whose round trip takes longer (default 50ms)\n"
		"  --across           measure between nodes under two leaf switches\n"
		"  --output=FILE      write the result to FILE instead of the store\n"
		"  --dry-run          print the plan without measuring\n"
		"  --show             print the last result\n"
		"  --cluster=NAME     with --show: result of this cluster (default: any)\n"
		"  --json             output for programs",
	.examples = "  salloc -N2 --exclusive netprof loggps\n"
		    "  netprof loggps --show\n",
	.takes = CLI_TAKES_JSON,
	.own = options,
	.run = run_loggps,
};
