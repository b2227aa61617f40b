/* The options of the plugin: what the user typed, or a script had. */
#ifndef SPANK_OPTIONS_H
#define SPANK_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include <slurm/spank.h>

#include "np_app.h"
#include "np_level.h"

extern struct spank_opt {
	bool asked, trace;
	char app[NP_APP_MAX + 1];  /* "": not told, as below */
	char period[39];	   /* "Period=100ms" */
	char level[NP_LEVEL_NAME]; /* or NP_ORDER_AUTO */
	char trace_dir[PATH_MAX]; /* "": in the store */
} spank_opt;

/* In every Slurm program; what cannot be registered is logged. */
void spank_options_register(spank_t sp);

#endif
