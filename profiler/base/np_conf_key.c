#include "np_conf_key.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define SHOWN 80 /* of a value, in messages */

static int apply(const struct np_conf_key *k, void *conf, const char *value,
		 struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = k->add ? k->add(conf, value, &why) :
			  k->set(value, (char *)conf + k->offset);

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
