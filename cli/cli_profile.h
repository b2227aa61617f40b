/* Finding a profile in the store, and what it is compared with. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli_options.h"
#include "np_profile.h"

/* The store of the configuration. */
struct cli_store {
	struct np_store *store;
	double max_slowdown; /* MaxSlowdown of placement, a fraction */
};

struct np_conf;

/*
 * The configuration, for what only reads: a line in error is passed over, and
 * said to those who can write the file.  Returns -1 to go on, or the exit
 * status after saying why.
 */
int cli_conf_read(struct np_conf *conf);

/* Returns the same. */
int cli_store_open(struct cli_store *s);
void cli_store_close(struct cli_store *s);

/* The runs of an application, and whose they are. */
struct cli_runs {
	enum np_store_owner owner;
	uid_t uid;	  /* of NP_STORE_USER */
	struct np_runs runs;
	size_t n_skipped; /* files that could not be used, each said */
};

/*
 * The user's, then the published ones (with --published: only those).
 * Returns -1 to go on (np_runs_free()), or the exit status after saying why,
 * with the nearest names if there is no such application.
 */
int cli_runs_find(struct cli_store *s, const struct cli_options *o,
		  const char *app, struct cli_runs *out);

/*
 * "; known are fft, halo, lammps", as many as fit into a line, for a command
 * that was given no application.
 */
const char *cli_known_apps(const struct cli_options *o, char *buf, size_t len);

/* A profile with all that belongs to it. */
struct cli_profile {
	struct cli_runs r;
	struct np_runs idle[2]; /* candidates for the reference */
	struct np_profile profile;
};

/* The profile of what cli_runs_find() finds; returns the same. */
int cli_profile_find(struct cli_store *s, const struct cli_options *o,
		     const char *app, struct cli_profile *out);
void cli_profile_free(struct cli_profile *p);

/*
 * The same where it is known who has it.  Returns 0 or -errno, without saying
 * anything but which files are skipped.
 */
int cli_profile_load(struct cli_store *s, enum np_store_owner owner, uid_t uid,
		     const char *app, struct cli_profile *out,
		     struct np_err *err);

/*
 * The runs alone, without a word: 0, -ENOENT (no run of it can be read) or
 * -ENOMEM.
 */
int cli_runs_look(struct cli_store *s, enum np_store_owner owner, uid_t uid,
		  const char *app, struct cli_runs *out);

/* "alice" or "published" */
const char *cli_owner_name(enum np_store_owner owner, uid_t uid, char *buf,
			   size_t len);

/* "1234.0", "1234_7.0" of an array, "1234+1.0" of a heterogeneous job */
const char *cli_run_id(const struct np_record *r, char *buf, size_t len);

/* Is run what `netprof runs` calls it, or the number of its job? */
bool cli_run_is(const struct np_record *r, const char *run);

/*
 * Sentence i of the verdict: how it uses the network, what that was compared
 * with, and what interference does to it; "" where there is nothing to say.
 */
#define CLI_SENTENCE 512
#define CLI_MEASURE_IDLE "srun -N2 --netprofile=idle sleep 30"
#define CLI_SENTENCES 3
const char *cli_say_verdict(const struct np_profile *p, int i,
			    char buf[CLI_SENTENCE]);
/* How far two mean run times are apart by chance, of the smaller one. */
#define CLI_LEAST_NOISE 0.02 /* as np_noise.h: run times scatter by so much */
double cli_chance(const struct np_mean *a, const struct np_mean *b);

/* "heavy", "moderate", "light", "saturated", "unknown"; "idle" for idle */
const char *cli_use_name(const struct np_profile *p);
/* "steady", "phases", "unknown" */
const char *cli_phase_name(enum np_phase_kind kind);
/*
 * "1 on another fabric, 2 failed": the runs that do not count; "" without.
 * Returns whether there are any.
 */
bool cli_say_left_out(const struct np_evidence *e, char *buf, size_t len);

#endif
