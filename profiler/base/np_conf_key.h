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
	/* One value: returns 0 or -EINVAL; what follows goes with it. */
	int (*set)(const struct np_conf_key *k, const char *value, void *field);
	size_t offset; /* of the field in the structure of the table */
	const char *expected;
	double min, max; /* where the value is a number */
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

/* Of numbers from k->min to k->max, for set: */
int np_conf_set_time(const struct np_conf_key *k, const char *value,
		     void *sec); /* a double */
int np_conf_set_share(const struct np_conf_key *k, const char *value,
		      void *share); /* a double */
int np_conf_set_bytes(const struct np_conf_key *k, const char *value,
		      void *bytes); /* a uint64_t */
int np_conf_set_count(const struct np_conf_key *k, const char *value,
		      void *n); /* a uint32_t, without a suffix */

/* Of struct np_place_conf. */
extern const struct np_conf_key np_place_keys[];
extern const size_t np_n_place_keys;

#endif
