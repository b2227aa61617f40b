/* What is known of one job: the work of `netprof explain`, and its pages. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli_history.h"
#include "cli_known.h"
#include "cli_profile.h"
#include "cli_state.h"
#include "np_mean.h"

/* A job beside it. */
struct cli_beside {
	uint32_t id, array, task; /* array 0: no array */
	const char *app;   /* borrowed; "": not known */
	char leaves[256];  /* that they share */
	double overlap_sec; /* of one that ended */
	bool predicted;	    /* slowdown of the job beside it alone is known */
	double slowdown;
};

/* A step of it that was measured. */
struct cli_measured {
	const struct np_record *run; /* borrowed */
	struct np_mean alone;	     /* run times of the same alone */
};

struct cli_explain {
	const char *word; /* as it was asked for */
	uint32_t id, task; /* task NP_ENDED_NO_TASK: id is a job's */
	double now;

	struct cli_history_ask ask;
	struct cli_history past; /* what the accounting says; job NULL: nothing */

	/* The last decision, and what it says of the job. */
	bool have_state;
	struct np_state state;
	const struct np_state_job *job; /* NULL: nothing */

	bool have_ended;
	struct np_ended ended;
	struct np_err ended_why; /* cannot be read, or "" */

	/* Run records of the job. */
	uid_t uid;
	struct cli_runs *runs; /* of the applications that have any */
	size_t n_runs;
	struct cli_measured *measured;
	size_t n_measured;

	struct cli_beside *beside;
	size_t n_beside;
	/* Beside all of them. */
	bool predicted;
	double slowdown;
	struct np_err not_predicted; /* why, or "" */
};

/*
 * cli_explain_beside.c: who was beside it, or is; 0 or -ENOMEM.  The running
 * ones are predicted from the profiles that the caller may read.
 */
int cli_explain_running(struct cli_explain *e, struct cli_store *s);
int cli_explain_ended(struct cli_explain *e);

/*
 * The neighbour that cost it most, or costs; *share: how much of its run time
 * that is, a fraction.  NULL: that is known of none, or half a point at most.
 */
const struct cli_beside *cli_explain_costliest(const struct cli_explain *e,
					       double *share);

/*
 * "It took 35.0 s, 40 % longer than alone (25.0 s, n 5); its neighbours explain
 * 33 points of that."  predicted: NULL if nobody predicted it.
 */
void cli_say_took(double run_sec, const struct np_mean *alone,
		  const double *predicted, char *buf, size_t len);

/* Each prints it and returns the exit status. */
int cli_explain_text(const struct cli_explain *e);
int cli_explain_data(const struct cli_explain *e, enum cli_format format);

#endif
