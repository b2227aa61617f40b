/* Applications' traces, as models that work from them want them. */
#ifndef CLI_TRACED_H
#define CLI_TRACED_H

#include "cli_known.h"
#include "np_response.h"

struct cli_traced {
	struct np_response response;
	struct np_err why; /* why there is no response, or "" */
};

/* Of all files of a trace, or of a graph; 0: reading will tell why. */
double cli_traced_bytes(const char *path);

/* Read a trace or a graph; net: the network where it ran, or NULL: not known. */
void cli_traced_read(const char *path, const struct np_loggps *net,
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
