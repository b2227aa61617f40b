/*
 * A table of the keys of netprof.conf, so that each part of the settings can
 * have its own.  Private to np_conf.c and the parts.
 */
#ifndef NP_CONF_KEY_H
#define NP_CONF_KEY_H

#include <stddef.h>

#include "np_err.h"

struct np_conf_key {
	const char *name;
	/* One value: returns 0 or -errno; offset and expected go with it. */
	int (*set)(const char *value, void *field);
	size_t offset; /* of the field in the structure of the table */
	const char *expected;
	/* Instead, where a value adds to a list of the structure: returns 0,
	 * or -EINVAL with why: what was expected. */
	int (*add)(void *conf, const char *value, struct np_err *why);
};

/*
 * Apply a value to the key of this name (nlen characters, in any case) of the
 * structure conf.  Returns 0, -ENOENT (no such key, without err), or -EINVAL
 * with err: the key, the value and what was expected.
 */
int np_conf_key_set(const struct np_conf_key *keys, size_t n_keys, void *conf,
		    const char *name, size_t nlen, const char *value,
		    struct np_err *err);

/* Of struct np_place_conf. */
extern const struct np_conf_key np_place_keys[];
extern const size_t np_n_place_keys;

#endif
