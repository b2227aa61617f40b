/*
 * What traces of applications say, as data: records of netprof-analysis
 * (np_traced.h), read from the store where they fit, or else asked of that
 * program, which is another package.
 */
#ifndef CLI_TRACED_H
#define CLI_TRACED_H

#include "cli_known.h"
#include "np_response.h"
#include "np_traced.h"

/*
 * Become netprof-analysis, with these arguments behind its own name: argv[0] is
 * that of the command.  Returns the exit status, after saying why, only if it
 * cannot: which package to install.
 */
int cli_analysis_run(char **argv);

enum cli_traced_what { CLI_TRACED_ZONES, CLI_TRACED_CURVE };

/*
 * What the trace or graph at path says of one of these on that network: the
 * record beside it (uid: whose it is), if it fits, else by netprof-analysis.
 * max_bytes: a larger one is not read for it.  Returns 0 (np_traced_free()), or
 * with err: -E2BIG, -ENODATA (the trace does not tell), -ENOENT (no
 * netprof-analysis) or what went wrong.
 */
int cli_traced_ask(const char *path, uid_t uid, enum cli_traced_what what,
		   const struct np_loggps *net, double max_bytes,
		   struct np_traced *out, struct np_err *err);

struct cli_traced {
	struct np_response response;
	struct np_err why; /* why there is no response, or "" */
};

/* net: the network where it ran, or NULL: not known. */
void cli_traced_read(const char *path, uid_t uid, const struct np_loggps *net,
		     struct cli_traced *out);

/* Give the program what was read; t is borrowed for its life. */
void cli_traced_give(const struct cli_traced *t, struct np_program *a);

/*
 * The newest traces of all applications, if model m needs traces at all; the
 * network is that of the calibration, as netprof loggps measured it.  Returns 0
 * or -ENOMEM; what is missing, the model says where it is asked.
 */
int cli_known_trace(struct cli_known *k, struct cli_store *s,
		    const struct np_model *m);

#endif
