/*
 * Profiles: finding one in the store, and describing it in sentences.
 *
 * Functions that print their own errors return -1 if the command should
 * continue, and its exit status otherwise.
 */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <stdio.h>

#include "cli_options.h"
#include "np_profile.h"

/* ---- the profile store ---- */

#define CLI_CALIBRATIONS 8 /* remembered by a store */

/* The store that the configuration names. */
struct cli_store {
	struct np_store *store;
	double max_slowdown; /* MaxSlowdown of placement, a fraction */
	/* Of cli_calibration_of(), the oldest of which is replaced next. */
	struct cli_calibration {
		char *fabric; /* that it was looked up for; NULL: unused */
		bool found;
		struct np_calibration calibration; /* valid if found */
	} calibration[CLI_CALIBRATIONS];
	size_t oldest;
	/* Of cli_profile_make(): the idle runs of a user, and published ones. */
	struct np_runs idle[2]; /* by enum np_store_owner; valid if idle_read */
	uid_t idle_uid;
	bool idle_read;
};

struct np_conf;

/*
 * Read the configuration for a command that only reads the store. A line in
 * error is ignored; users who can write the file are warned.
 * Returns -1 or an exit status.
 */
int cli_conf_read(struct np_conf *conf);

/*
 * Open the store. Returns -1, and the caller closes it, or an exit status.
 */
int cli_store_open(struct cli_store *store);
void cli_store_close(struct cli_store *store);

/* ---- runs and profiles ---- */

/*
 * The applications that a user can name, each once: the first *n_own are the
 * user's, then come the published ones that the user does not have
 * (--published: only those); each part is sorted by name. free() the list.
 */
struct np_store_app *cli_list_apps(struct cli_store *store,
				   const struct cli_options *options,
				   size_t *n_own, size_t *n);

/*
 * Load the user's runs, or else the published ones (--published: only those).
 * Returns -1, and the caller frees *out with np_runs_free(), or an exit status.
 * An unknown name is reported with the names most like it.
 */
int cli_runs_find(struct cli_store *store, const struct cli_options *options,
		  const char *app, struct np_runs *out);

/*
 * The end of the error for an unknown application: "; did you mean fft?", or
 * how to make a first profile if there is none.
 */
const char *cli_similar_apps(struct cli_store *store,
			     const struct cli_options *options,
			     const char *app);

/*
 * Where a user reads why flagged steps left no run, for the end of a message:
 * "; why steps were not measured: FILE", or "" if there is no such log.
 */
const char *cli_unmeasured(const struct cli_store *store, uid_t uid);

/*
 * "; there are fft, halo, lammps", as many as fit into a few lines, for the
 * error of a command that was called without an application.
 */
const char *cli_known_apps(const struct cli_options *options);

/*
 * Load the runs of a known owner's application. Prints nothing but warnings
 * about skipped files. Returns 0 or -errno with err.
 */
int cli_runs_load(struct cli_store *store, enum np_store_owner owner, uid_t uid,
		  const char *app, struct np_runs *out, struct np_err *err);

/*
 * Make the profile of runs as np_profile_make(), with the calibration of all
 * runs of the application (NULL: none), and with the idle runs of the store:
 * first those of the owner. They are read once for all profiles of a user.
 */
void cli_profile_make(struct cli_store *store, const struct np_runs *runs,
		      const struct np_runs *all, struct np_run_summary *out);

/*
 * Find the calibration for the profile of these runs: that of the cluster and,
 * if possible, of the rail or transport of the newest one with latencies. It
 * is read once for all applications of a fabric. Returns NULL for the idle
 * network, or if there is none; otherwise it is borrowed until the next call or
 * cli_store_close().
 */
const struct np_calibration *cli_calibration_of(struct cli_store *store,
						const struct np_runs *runs);

/*
 * Load the runs alone and print nothing. Returns 0 or -ENOENT: no run can be
 * read.
 */
int cli_runs_load_quiet(struct cli_store *store, enum np_store_owner owner,
			uid_t uid, const char *app, struct np_runs *out);

/* "alice" or "published" */
const char *cli_owner_name(enum np_store_owner owner, uid_t uid);

/* "1234.0", "1234_7.0" of an array, "1234+1.0" of a heterogeneous job */
const char *cli_run_id(const struct np_record *record);

/*
 * Whether `run` is the name that `netprof runs` prints for a run, or the id of
 * its job.
 */
bool cli_run_is(const struct np_record *record, const char *run);

/* ---- facts in sentences ---- */

/* Command that measures the idle baseline. */
#define CLI_IDLE_COMMAND "srun -N2 --netprofile=idle sleep 30"

/*
 * Sentence i of the verdict: 0 how the application uses the network, 1 weak
 * points of the reference, 2 its slowdown under synthetic load; "" if there is
 * nothing to say. Sentence i may be several sentences.
 */
#define CLI_SENTENCES 3
const char *cli_verdict_text(const struct np_run_summary *profile, int i);

/*
 * Largest difference of two mean run times that is still plausible by chance,
 * as a fraction of the run time.
 */
#define CLI_MIN_NOISE 0.02 /* least scatter of run times, as in np_moments.h */
double cli_noise_limit(const struct np_mean *a, const struct np_mean *b);

/* "heavy", "moderate", "light", "saturated", "unknown"; "idle" for idle */
const char *cli_use_name(const struct np_run_summary *profile);
/* "steady", "phases", "unknown" */
const char *cli_phase_name(enum np_phase_kind kind);
/* "1 on another fabric, 2 failed": the excluded runs; "" if there are none. */
const char *cli_excluded_text(const struct np_run_summary *summary);

/*
 * Print the signs of congestion that the network adapters counted during the
 * runs; nothing if no counters were read.
 */
void cli_print_adapters(FILE *f, const struct np_sample *sample);

/*
 * Print the mean latency on each rail of a run, and which one counts; nothing
 * if it has no rails.
 */
void cli_print_rails(FILE *f, const struct np_record *record);

#endif
