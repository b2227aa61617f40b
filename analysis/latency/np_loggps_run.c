/*
 * Runs the measurement of netprof loggps. netprof-prtt is started as a step on
 * all nodes of the allocation. Two of its processes are chosen by their leaf
 * switches: the client, which measures and reports each median as a line of
 * output, and its peer. The others take no part. The step is followed until the
 * client says bye; then the parameters are fitted to all medians.
 */
#include "np_loggps_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_helper.h"

#define UP_SEC 90.0 /* for all processes to start */
#define TICK_SEC 0.25

/* A measurement in progress. */
struct run {
	const struct np_loggps_run *conf;
	struct np_helper_step step;
	struct np_loggps_sample *sample;
	size_t n;
	uint32_t handshakes, n_ranks, done; /* done: blocks that have begun */
	bool over; /* the client has measured everything and said bye */
	uint32_t client; /* rank of the client */
	bool no_memory;
	char note[NP_REPORT_TEXT];
	struct np_loggps_seen seen;
};

/* The handshake of the client names its peer. */
static void on_handshake(struct run *r, const struct np_report *rep)
{
	r->handshakes++;
	r->n_ranks = rep->handshake.n_ranks;
	if (!rep->handshake.peer_node[0])
		return;
	r->client = rep->rank;
	strcpy(r->seen.from, rep->handshake.node);
	strcpy(r->seen.to, rep->handshake.peer_node);
	strcpy(r->seen.leaf, rep->handshake.leaf);
	strcpy(r->seen.transport, rep->handshake.transport);
	strcpy(r->seen.version, rep->handshake.version);
}

/* Stores a median that the client reports. */
static void on_sample(struct run *r, const struct np_prtt *p)
{
	if (r->n == NP_LOGGPS_MAX_BLOCKS * (NP_LOGGPS_MAX_SIZES + 4) * 2 ||
	    np_array_grow(&r->sample, r->n, sizeof(*r->sample))) {
		r->no_memory = true;
		return;
	}
	r->sample[r->n++] = (struct np_loggps_sample){
		p->block, p->n, p->bytes, p->delay_sec, p->sec,
	};
	if (p->block + 1 > r->done) {
		r->done = p->block + 1;
		if (r->conf->progress)
			r->conf->progress(r->conf->arg, r->done - 1,
					  r->conf->blocks);
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
		r->over |= rep->rank == r->client && r->n;
		break;
	default:
		break;
	}
}

/* Starts the step with the options of this measurement. */
static int start(struct run *r, struct np_err *err)
{
	const struct np_loggps_run *c = r->conf;
	struct np_args args;
	int rc;

	np_helper_cmd_prtt(&args, &c->job, c->conf, c->nodes, c->n_nodes);
	np_args_add(&args, "--blocks=%u", c->blocks);
	np_args_add(&args, "--max-bytes=%u", c->max_bytes);
	np_args_add(&args, "--max-trip=%.9gs", c->max_trip_sec);
	if (c->across)
		np_args_add(&args, "--across");
	rc = np_helper_start(&r->step, &args, c->env, (uint32_t)c->n_nodes,
			       err);
	np_args_free(&args);
	return rc;
}

/* Waits for output of the step and handles it. */
static void read_more(struct run *r, double sec)
{
	struct pollfd p = { r->step.fd, POLLIN, 0 };

	poll(&p, 1, (int)(sec * 1000));
	np_helper_read(&r->step, on_report, r);
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

		read_more(r, TICK_SEC);
		/* Slurm 22.05 requires a step to be up before it can end. */
		if (*r->conf->stop && up)
			return np_errf(err, -EINTR, "stopped");
		if (r->no_memory)
			return np_errf(err, -ENOMEM, "out of memory");
		if (!up && np_mono_sec() > begun_sec + UP_SEC)
			return np_errf(err, -ETIMEDOUT,
				       "only %u processes of "
				       "netprof-prtt started within %g s",
				       r->handshakes, UP_SEC);
		if (np_helper_reap(&r->step)) {
			while (r->step.fd >= 0)
				read_more(r, TICK_SEC);
			return r->over ? 0 : ended_early(r, err);
		}
	}
	return 0;
}

/* Ends the step: by signals with increasing force unless it is done. */
static void stop(struct run *r)
{
	struct np_helper_step *step = &r->step;
	struct np_helper_end end = { .asked_sec = np_mono_sec() };
	int sig = r->over ? 0 : SIGUSR1;

	while (!np_helper_reap(step) && sig >= 0) {
		if (sig)
			np_helper_signal(step, sig);
		read_more(r, 0.01);
		sig = np_helper_end_due(&end, np_mono_sec());
	}
	np_helper_close(step);
}

int np_loggps_run(const struct np_loggps_run *conf, struct np_loggps_fit *fit,
		  struct np_loggps_seen *seen, struct np_err *err)
{
	struct run r = { .conf = conf, .step = NP_HELPER_INIT };
	int rc = start(&r, err);

	if (!rc) {
		rc = watch(&r, err);
		stop(&r);
	}
	if (!rc && r.done < conf->blocks)
		rc = ended_early(&r, err);
	if (!rc)
		rc = np_loggps_fit(r.sample, r.n, fit, err);
	if (!rc)
		*seen = r.seen;
	free(r.sample);
	return rc;
}
