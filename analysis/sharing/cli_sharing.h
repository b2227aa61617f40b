/* netprof sharing: transfers of a scheme under models of a network. */
#ifndef CLI_SHARING_H
#define CLI_SHARING_H

#include "cli_network.h"
#include "cli_options.h"

/* What one model says of one scheme. */
struct cli_sharing_model {
	struct np_err why;   /* it has no answer: a line; "" otherwise */
	double *penalty;     /* of each transfer, over its time alone */
	double *time, *end;  /* from its start; in the unit of the scheme */
	double error;	     /* mean |time / measured - 1|; NAN: not measured */
	size_t n_measured;
};

struct cli_sharing {
	const struct np_scheme_set *set;
	struct cli_network net;
	const char *fit; /* file that the parameters are found from, or NULL */
	bool constant; /* penalties of all together, whatever ends */
	bool summary;  /* as text: the errors alone */
	struct cli_sharing_model *answer; /* of each scheme, of each model */
};

static inline const struct cli_sharing_model *
cli_sharing_at(const struct cli_sharing *a, size_t scheme, size_t model)
{
	return &a->answer[scheme * a->net.n + model];
}

/* The first model that has an answer; there are net.n of them. */
size_t cli_sharing_first(const struct cli_sharing *a, size_t scheme);

/* Each prints everything and returns the exit status. */
int cli_sharing_text(const struct cli_sharing *a);
int cli_sharing_data(const struct cli_sharing *a, enum cli_format format);
int cli_sharing_plot(const struct cli_sharing *a, const char *path);

#endif
