/* The work of `netprof calibrate`. */
#ifndef CLI_CALIBRATE_H
#define CLI_CALIBRATE_H

#include "cli.h"
#include "np_calibrate.h"
#include "np_conf.h"

struct calibrate_opt {
	const char *levels; /* "default", "all" or names */
	uint32_t keep;
	double seconds, probe_seconds; /* probe_seconds 0: by seconds */
	uint32_t repeats; /* 0: not said */
	bool scope_given, fresh, dry_run;
	enum np_scope scope;
	const char *output; /* NULL: into the store */
	const char *app;    /* NULL: the fabric */
	int argc;	    /* what stands behind the options */
	char **argv;
};

/* cli_calibrate_fabric.c; returns the exit status. */
int calibrate_fabric(const struct calibrate_opt *opt);

#endif
