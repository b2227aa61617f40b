/*
 * The placer makes the scheduling passes of the placement thread, and holds
 * everything that the thread keeps from one pass to the next. A pass reads the
 * store and Slurm's state, decides, updates jobs, and writes state.json.
 */
#ifndef NP_PLACER_H
#define NP_PLACER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "np_catalog.h"
#include "np_conf.h"
#include "np_err.h"
#include "np_job_snapshot.h"
#include "np_placement.h"
#include "np_shared.h"
#include "np_slurm_compat.h"
#include "np_state.h"

struct np_placer;
struct np_deadlines;
struct np_worker;

/*
 * shared is borrowed. deadlines: how long a pass waits for the store, and for
 * netprof.conf. Returns 0 or -ENOMEM.
 */
int np_placer_new(struct np_shared *shared,
		  const struct np_deadlines *deadlines, struct np_placer **out);
void np_placer_free(struct np_placer *placer); /* NULL is allowed */

/* When to start the next pass. */
struct np_placer_next {
	double rest_sec; /* minimum time, from np_placer_gap_sec() */
	double wait_sec; /* further time to wait, unless woken */
};

/*
 * Make one pass. may_continue(arg) is called before every update of a job; once
 * it returns false, the pass ends early.
 */
void np_placer_run(struct np_placer *placer, bool (*may_continue)(void *arg),
		   void *arg, struct np_placer_next *next);

/*
 * Minimum time between two passes, seconds, however often the thread is woken.
 *
 * The more jobs Slurm has, the longer a pass takes, and part of it holds
 * Slurm's locks. The thread therefore works at most a twentieth of the time.
 * But it never rests longer than PlacementInterval, as users wait for its
 * decisions, nor so long that submissions that wait for the next pass are
 * released before that pass ends, and never shorter than the pass took.
 * took_sec counts only the work that slurmctld may notice, not the writing of
 * files afterwards, so that a slow disk does not make decisions out of date.
 */

#define NP_PLACER_LEAST_GAP_SEC 0.2

double np_placer_gap_sec(double took_sec, double interval_sec);

/*
 * ---- For np_placer.c and unit tests ----
 *
 * The conditions of a pass, which are whether this slurmctld is the active
 * controller and the settings of netprof.conf; and the reports of a pass, which
 * are lines in slurmctld.log and state.json.
 */

/*
 * ---- Is this slurmctld the active controller? ----
 *
 * A standby controller loads its plugins too, and no callback reports a
 * takeover. The thread therefore checks before each pass that this controller
 * answers pings, and that no controller listed before it in slurm.conf does. A
 * standby that is not in control refuses all other requests itself.
 */

/* The settings of slurm.conf that matter here. */
struct np_controller {
	int index;	   /* in the list of controllers; -1: not known yet */
	bool alone;	   /* there is no other controller */
	bool whole_nodes;  /* SelectType allocates whole nodes */
	bool private_jobs; /* PrivateData=jobs */
	char cluster[256];
	char host[256];
	double conf_read_sec; /* CLOCK_MONOTONIC, when slurm.conf was last read;
			       0: never */
	bool failing;	      /* reading it fails; this was logged */
	bool other_active;    /* since the last decision, a controller that
				 precedes this one was active */
};

/*
 * Fill in controller from slurm.conf for controller->host. Returns 0, or
 * -EAGAIN with err if it does not list that host. Exported for the tests.
 */
int np_controller_read_conf(struct np_controller *controller,
			    const slurm_conf_t *conf, struct np_err *err);

/*
 * Read slurm.conf by an RPC if it was not read for a minute. now_sec:
 * CLOCK_MONOTONIC. If the RPC fails, the last answer stays in use for ten
 * minutes. Returns 0, or -EAGAIN with err. Exported for the tests.
 */
int np_controller_refresh(struct np_controller *controller, double now_sec,
			  struct np_err *err);

/* ---- Settings of netprof.conf ---- */

struct np_settings {
	struct np_conf conf;	  /* of the last valid file; before, placement
				   * is off */
	bool valid;		  /* there was a valid file */
	struct np_err trouble;	  /* error in the current file, or "" */
	bool read;		  /* the file was read at least once */
	struct timespec changed;  /* modification time of the file read last */
	off_t size;		  /* of that file, bytes */
	struct np_worker *worker; /* reads the file; NULL: not started yet */
	bool hangs;		  /* its file system does not answer */
	double retry_sec; /* CLOCK_MONOTONIC, when a file in error is read again:
			     the users and groups that it names may exist */
};

void np_settings_init(struct np_settings *settings);
/* Release the worker, even if the file system hangs. */
void np_settings_free(struct np_settings *settings);

/*
 * A file that was changed less than this long ago may be half-written, and is
 * read later, unless it is the first one. Seconds.
 */
#define NP_SETTINGS_SETTLE_SEC 2.0

/*
 * Read the file if it changed, in another thread, for which this waits up to
 * deadlines->wait_sec. Returns true if the settings were replaced. While the
 * file system does not answer, they stay in use.
 */
bool np_settings_refresh(struct np_settings *settings,
			 const struct np_deadlines *deadlines);

/* Give the settings to the callbacks. */
void np_settings_share(const struct np_settings *settings,
		       struct np_shared *shared);

/* Derive the policy of decisions from the settings. */
void np_settings_policy(const struct np_settings *settings,
			const struct np_app_index *index,
			struct np_policy *policy);

/* ---- Log lines ---- */

/*
 * Log each pending job whose decision differs from the last one, at most five
 * lines per job and hour. Returns how many decisions differ.
 */
size_t np_state_log_decisions(const struct np_job_snapshot *jobs,
			      const struct np_placement *placement,
			      struct np_job_cache *cache);

/*
 * If a pass failed (rc is not 0), set trouble to why, or to a text for rc if
 * why is empty.
 */
void np_state_set_trouble(int rc, const struct np_err *why,
			  struct np_err *trouble);

/*
 * Log trouble, or that it is over, unless *logged has the same text. *logged is
 * updated.
 */
void np_state_log_trouble(struct np_err *logged, const struct np_err *trouble);

/*
 * ---- Denied names ----
 *
 * Jobs whose users name a published profile without being authorised to. They
 * count as jobs of unknown applications; log and state.json say why.
 */

/* Reported at a time; half of them of a single user. */
#define NP_DENIED_MAX NP_STATE_MAX_DENIALS
#define NP_DENIED_KEEP 256 /* remembered as logged; the oldest is dropped */

/* One user and one name that the user may not use. */
struct np_denied {
	uint32_t uid;
	char app[NP_APP_MAX + 1];
	enum np_auth auth;
	uint32_t n_jobs;		/* of that user with that name */
	char why[NP_STATE_WHY_MAX + 1]; /* in words */
};

/* One entry per user and application, in the order of their first jobs. */
struct np_denials {
	struct np_denied entry[NP_DENIED_MAX];
	size_t n;
	uint32_t n_more; /* jobs of further pairs, beyond NP_DENIED_MAX */
};

/* Collect the denials. index must be that from which the snapshot was made. */
void np_denials_collect(const struct np_job_snapshot *jobs,
			const struct np_app_index *index,
			struct np_denials *out);

/* Denials that were logged already; zero-initialised: none. */
struct np_logged_denials {
	struct {
		uint32_t uid;
		char app[NP_APP_MAX + 1];
		enum np_auth auth;
	} entry[NP_DENIED_KEEP];
	size_t n, next; /* next: the oldest, once the array is full */
};

/*
 * Log each denial once, and again if its reason changes or the name was
 * authorised in between. Returns how many were logged.
 */
size_t np_denials_log(const struct np_job_snapshot *jobs,
		      const struct np_denials *denials,
		      struct np_logged_denials *logged);

/* ---- state.json ---- */

/* Contents of state.json apart from the decision itself. */
struct np_state_input {
	const struct np_controller *controller;
	const struct np_settings *settings;
	const struct np_slowdowns *table;
	const struct np_denials *denied; /* NULL: none */
	const char *fabric, *trouble;
	double decide_sec; /* duration of the pass so far */
};

/*
 * Make the contents of state.json, for np_state_save(). Returns 0, free with
 * np_state_free(); or -ENOMEM.
 */
int np_state_make(const struct np_state_input *input,
		  const struct np_job_snapshot *jobs,
		  const struct np_placement *placement, struct np_state *out);

#endif
