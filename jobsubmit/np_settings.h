/* netprof.conf as the thread follows it. */
#ifndef NP_SETTINGS_H
#define NP_SETTINGS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "np_catalog.h"
#include "np_conf.h"
#include "np_placement.h"

struct np_settings {
	struct np_conf conf; /* the last good ones; off before */
	struct np_err trouble; /* the file is broken: where and why, or "" */
	bool read;	     /* once at least */
	struct timespec changed; /* of the file that was read */
	off_t size;
};

void np_settings_init(struct np_settings *s);

/* Read the file if it changed.  Returns true if the settings did. */
bool np_settings_refresh(struct np_settings *s);

/* The policy that they make. */
void np_settings_policy(const struct np_settings *s,
			const struct np_app_index *index,
			struct np_policy *policy);

#endif
