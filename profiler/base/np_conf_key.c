#include "np_conf_key.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "np_quantity.h"

#define SHOWN 80 /* of a value, in messages */

static bool is_within(const struct np_conf_key *k, double value)
{
	return value >= k->min && value <= k->max;
}

int np_conf_set_time(const struct np_conf_key *k, const char *value, void *sec)
{
	double t;

	if (np_duration_parse(value, &t) || !is_within(k, t))
		return -EINVAL;
	*(double *)sec = t;
	return 0;
}

int np_conf_set_share(const struct np_conf_key *k, const char *value,
		      void *share)
{
	double fraction;

	if (np_percent_parse(value, &fraction) || !is_within(k, fraction))
		return -EINVAL;
	*(double *)share = fraction;
	return 0;
}

int np_conf_set_bytes(const struct np_conf_key *k, const char *value,
		      void *bytes)
{
	uint64_t n;

	if (np_bytes_parse(value, &n) || !is_within(k, (double)n))
		return -EINVAL;
	*(uint64_t *)bytes = n;
	return 0;
}

int np_conf_set_count(const struct np_conf_key *k, const char *value, void *n)
{
	uint64_t count;

	if (!*value || !isdigit((unsigned char)value[strlen(value) - 1]) ||
	    np_conf_set_bytes(k, value, &count))
		return -EINVAL;
	*(uint32_t *)n = (uint32_t)count;
	return 0;
}

static int apply(const struct np_conf_key *k, void *conf, const char *value,
		 struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = k->add ? k->add(conf, value, &why) :
			  k->set(k, value, (char *)conf + k->offset);

	if (!rc)
		return 0;
	return np_errf(err, -EINVAL, "%s=%.*s: %s%s", k->name, SHOWN, value,
		       k->add ? "" : "expected ",
		       k->add ? why.text : k->expected);
}

int np_conf_key_set(const struct np_conf_key *keys, size_t n_keys, void *conf,
		    const char *name, size_t nlen, const char *value,
		    struct np_err *err)
{
	for (size_t i = 0; i < n_keys; i++)
		if (strlen(keys[i].name) == nlen &&
		    !strncasecmp(keys[i].name, name, nlen))
			return apply(&keys[i], conf, value, err);
	return -ENOENT;
}
