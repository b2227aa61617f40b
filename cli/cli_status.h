/* The page of `netprof status`, and the same for programs. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "cli_options.h"
#include "cli_state.h"

struct cli_status {
	const struct np_state *s;
	double now;
	bool places; /* the configuration here asks for placement */
	bool all; /* every leaf and every job, however many */
	/* Strained leaves first; jobs kept apart, by number. */
	const struct np_state_leaf **leaf;
	const struct np_state_job **apart;
	size_t n_apart;
	size_t n_running, n_known, n_pending; /* jobs that placement looks at */
};

/* Each prints it and returns the exit status. */
int cli_status_text(const struct cli_status *t);
int cli_status_data(const struct cli_status *t, enum cli_format format);
int cli_status_plot(const struct cli_status *t, const char *path);

#endif
