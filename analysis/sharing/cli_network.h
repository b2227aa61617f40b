/* Models of a network on the command line: --model, --set and --fit. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H

#include "cli.h"
#include "np_scheme.h"
#include "np_sharing_fit.h"

#define CLI_NETWORK_MODELS 6 /* most that are asked */

struct cli_network {
	size_t n;
	const struct np_sharing_model *model[CLI_NETWORK_MODELS];
	struct np_sharing_param param;
	unsigned set; /* a bit for each of np_sharing_members[] */
	/* of --fit, for each model; fitted: there is one */
	struct np_sharing_fit fit[CLI_NETWORK_MODELS];
	bool fitted;
};

/* The defaults: the four models of the sources, with their parameters. */
void cli_network_init(struct cli_network *net);

/*
 * "gige,maxmin" into net->model; "beta=0.8,fabric=4" into net->param.  text is
 * cut up.  net: a struct cli_network.  Return 0 or -EINVAL with err.
 */
int cli_network_models(char *text, void *net, struct np_err *err);
int cli_network_set(char *text, void *net, struct np_err *err);

/* Refuses a parameter of a model that is not asked, as cli_usage(), or -1. */
int cli_network_check(const struct cli_network *net, const struct cli_cmd *cmd);

/*
 * Parameters from what was measured in these schemes, for each model of net in
 * turn.  Returns 0 or -errno with err.
 */
int cli_network_fit(struct cli_network *net, const struct np_scheme_set *s,
		    struct np_err *err);

#endif
