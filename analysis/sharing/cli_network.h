/* Network models on the command line: --model, --set and --fit. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H

#include "cli.h"
#include "np_scheme.h"
#include "np_sharing_fit.h"

#define CLI_NETWORK_MODELS 6 /* maximum number of models in --model */

struct cli_network {
	size_t n;
	const struct np_sharing_model *model[CLI_NETWORK_MODELS];
	struct np_sharing_param param;
	/* bit for each entry of np_sharing_members[] that --set has changed */
	unsigned set;
	/* results of --fit by model; fitted: they exist */
	struct np_sharing_fit fit[CLI_NETWORK_MODELS];
	bool fitted;
};

/* Sets the defaults: the four models of the sources, with their parameters. */
void cli_network_init(struct cli_network *net);

/*
 * np_option callbacks: parse "gige,maxmin" into net->model, and
 * "beta=0.8,fabric=4" into net->param. text is modified; net is a struct
 * cli_network. Return 0 or -EINVAL with err.
 */
int cli_network_models(char *text, void *net, struct np_err *err);
int cli_network_set(char *text, void *net, struct np_err *err);

/*
 * Rejects a parameter of a model that was not selected. Returns -1, or the
 * result of cli_usage().
 */
int cli_network_check(const struct cli_network *net, const struct cli_cmd *cmd);

#endif
