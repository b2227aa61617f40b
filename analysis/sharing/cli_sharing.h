/* netprof sharing: transfers of a scheme under network models. */
#ifndef CLI_SHARING_H
#define CLI_SHARING_H

#include "cli_network.h"
#include "cli_options.h"

/* Results of one model for one scheme. */
struct cli_sharing_model {
	struct np_err why;   /* why there is no result; "" if there is one */
	double *penalty;     /* by transfer: its time over its time alone */
	double *time, *end;  /* duration and end, in the unit of the scheme */
	double error; /* mean |time / measured - 1|; NAN: nothing measured */
	size_t n_measured;
};

struct cli_sharing {
	const struct np_scheme_set *set;
	struct cli_network net;
	const char *fit; /* file to fit parameters to, or NULL */
	/* constant penalties, as if all transfers were active all the time */
	bool constant;
	bool summary;  /* text output: only the errors */
	struct cli_sharing_model *answer; /* by scheme and model */
};

static inline const struct cli_sharing_model *
cli_sharing_at(const struct cli_sharing *a, size_t scheme, size_t model)
{
	return &a->answer[scheme * a->net.n + model];
}

/* The first model with a result; net.n if there is none. */
size_t cli_sharing_first(const struct cli_sharing *a, size_t scheme);

/* Each prints the complete report and returns the exit status. */
int cli_sharing_text(const struct cli_sharing *a);
int cli_sharing_data(const struct cli_sharing *a, enum cli_format format);
int cli_sharing_plot(const struct cli_sharing *a, const char *path);

#endif
