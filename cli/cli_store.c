/* The store that the configuration names. */
#include "cli_profile.h"

#include "np_conf.h"

int cli_store_open(struct cli_store *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;

	if (np_conf_from_environment(&conf, &err) ||
	    np_store_open(conf.store, &s->store, &err))
		return cli_fail("%s", err.text);
	np_store_set_max_runs(s->store, conf.max_runs);
	return -1;
}

void cli_store_close(struct cli_store *s)
{
	np_store_close(s->store);
}
