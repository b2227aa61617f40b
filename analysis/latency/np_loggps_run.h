/*
 * Runs one measurement of LogGPS parameters: starts netprof-prtt as a job step
 * in an allocation, collects its reports, and fits the parameters.
 */
#ifndef NP_LOGGPS_RUN_H
#define NP_LOGGPS_RUN_H

#include <signal.h>
#include <stdbool.h>

#include "np_conf.h"
#include "np_loggps_fit.h"
#include "np_report.h"
#include "np_helper.h"

struct np_loggps_run {
	const struct np_conf *conf; /* borrowed, as all pointers here */
	struct np_helper_job job;
	char **env; /* np_helper_env() */
	const char *nodes;
	size_t n_nodes;
	uint32_t blocks, max_bytes;
	double max_trip_sec;
	bool across;
	const volatile sig_atomic_t *stop; /* set when the user wants to stop */
	/* Called whenever a block is complete; may be NULL. */
	void (*progress)(void *arg, uint32_t done, uint32_t blocks);
	void *arg;
};

/* The measured path; "" for values that were not reported. */
struct np_loggps_seen {
	char from[NP_REPORT_WORD], to[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
	char transport[NP_REPORT_WORD], version[NP_REPORT_WORD];
};

/*
 * Returns 0, or with err -EINTR (the user stopped it), -EPIPE (the step ended
 * before everything was measured), -ETIMEDOUT (its processes did not start),
 * -ENOMEM, or an error of np_loggps_fit().
 */
int np_loggps_run(const struct np_loggps_run *r, struct np_loggps_fit *fit,
		  struct np_loggps_seen *seen, struct np_err *err);

#endif
