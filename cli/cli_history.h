/*
 * What Slurm's accounting and the site's metrics say of one job: gathered for
 * netprof explain, and its pages.
 */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <json-c/json.h>

#include "cli_check.h"
#include "np_examine.h"
#include "np_acct.h"

#define CLI_HISTORY_SINCE (30 * 86400.0) /* how far back runs are compared */
#define CLI_HISTORY_RUNS 24  /* comparable ones that are looked at */
#define CLI_HISTORY_STEPS 48 /* of a timeline, at most */

/* What was asked for. */
struct cli_history_ask {
	const char *accounting; /* a file that sacct printed, or NULL: ask it */
	const char *topology;	/* what scontrol printed, with accounting */
	const char *metrics_url; /* for the caller; NULL: as configured */
	double since_sec;
};

/* Values of the leaf switch with most traffic of others, per step. */
struct cli_timeline {
	double start, step_sec;
	size_t n;
	uint32_t leaf;
	/* Bytes per second; shares of time of the worst node; NaN: no value. */
	double own[CLI_HISTORY_STEPS], others[CLI_HISTORY_STEPS];
	double cpu[CLI_HISTORY_STEPS], io[CLI_HISTORY_STEPS];
};

struct cli_history {
	struct np_acct h;
	const struct np_acct_job *job; /* NULL: not in the accounting */
	struct np_err why;	   /* there is no accounting, or "" */
	double since_sec;
	uint32_t like[CLI_HISTORY_RUNS];
	size_t n_like, any_like;
	double shortest, longest; /* of these, seconds */
	struct np_acct_beside_job *beside;
	size_t n_beside;
	double *beside_rate; /* traffic of each, bytes per second; NaN */
	double *beside_sec;  /* what each cost, seconds; NaN: not slow */
	bool masked;	     /* others' jobs are private */
	bool examined;	     /* x is valid */
	struct np_examined x;
	bool metrics;	     /* the server answered */
	struct np_err no_metrics; /* why it was not asked, or what it lacks */
	size_t n_queries, n_without; /* nodes of the job without any sample */
	struct cli_timeline timeline;
};

/* "7d", "36h": --since=AGE, into a double, seconds. */
int cli_history_since(char *text, void *sec, struct np_err *err);

/* What else stops the judgement of a run time. */
enum cli_history_state {
	CLI_HISTORY_OK, CLI_HISTORY_RUNNING, CLI_HISTORY_FAILED,
};

enum cli_history_state cli_history_state(const struct cli_history *p);

/*
 * Look the job up and examine it.  Of a job that is not found, or without any
 * accounting, p->job is NULL.  Returns 0 or -ENOMEM.  Free it in any case.
 */
int cli_history_make(struct cli_history *p, const struct cli_history_ask *ask,
		     const struct np_metrics_conf *conf, uint32_t id,
		     uint32_t task, double now);
void cli_history_free(struct cli_history *p);

/*
 * For netprof blame: all jobs of the time since, of the file or of sacct.
 * Returns 0 or -errno with err.
 */
int cli_history_all(struct np_acct *h, const struct cli_history_ask *ask,
		    double now, struct np_err *err);

/* Whose job it is, as far as the caller may know it. */
bool cli_history_may_name(const struct cli_history *p,
			  const struct np_acct_job *j);
/* Its id "12", "12_3", or "another job" */
const char *cli_history_job(const struct cli_history *p,
			    const struct np_acct_job *j, char *buf, size_t len);

/* "waiting for processors" */
const char *cli_cause_words(enum np_cause c);

/* Pages: cli_history_pages.c. */
struct np_figure;
void cli_history_text(const struct cli_history *p);
void cli_history_json(json_object *in, const struct cli_history *p);
struct np_figure *cli_history_figure(const struct cli_history *p);

/* The verdict for programs: "network", ... "none", "unexplained", "too_few" */
const char *cli_history_verdict(const struct cli_history *p);

#endif
