/* What a trace says to netprof, as the record of np_traced.h. */
#ifndef CLI_CURVE_H
#define CLI_CURVE_H

#include "cli.h"
#include "np_loggps.h"

/*
 * Beside a trace of the store that is one's own: the whole record.  What cannot
 * be written, or computed, is passed over: netprof asks again.
 */
void cli_curve_leave(const char *path, const struct np_loggps *net);

#endif
