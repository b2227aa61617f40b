/* The page of `netprof trace` for programs. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli.h"
#include "np_trace_sum.h"

int cli_trace_json(const char *path, const struct np_trace_sum *s);

#endif
