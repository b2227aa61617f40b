/* The work of `netprof validate`. */
#ifndef CLI_VALIDATE_H
#define CLI_VALIDATE_H

#include "cli_alloc.h"
#include "cli_options.h"
#include "np_accuracy.h"
#include "np_measured.h"
#include "np_predict.h"
#include "np_validate.h"

struct cli_validate {
	struct np_validate_list list;
	uint32_t repeats; /* of each pair */
	const char *path; /* of the results */
	struct np_pairs pairs;

	struct np_validate_result result; /* of pairs */
	/*
	 * What netprof predicts: [victim * list.n + co-runner], with rc 0 where
	 * there is an answer.  NULL: nothing.
	 */
	struct np_prediction *prediction;
	int *rc;
	struct np_score score, constant_score;
	double constant; /* the best one, with the answers in hand */
};

/* cli_validate_run.c: measures, inside an allocation. */

/*
 * Where programs run, by the probes.  Returns 0 or -errno with err.
 */
int cli_validate_survey(struct cli_alloc *at, const struct np_validate_list *l,
			struct np_validate_sites *sites, char **transport,
			struct np_err *err);

/* About how many seconds these tasks take. */
double cli_validate_left_sec(const struct cli_validate *v,
			     const struct np_validate_task *task, size_t n);

/*
 * Run task[n], each of which is saved when it has ended.  Returns 0, or with
 * err -EINTR (the user wants to stop) or another -errno; what was run is kept.
 */
int cli_validate_run(struct cli_validate *v, struct cli_alloc *at,
		     const struct np_validate_sites *sites,
		     const struct np_validate_task *task, size_t n,
		     struct np_err *err);

/* cli_validate_pages.c */
int cli_validate_text(const struct cli_validate *v);
int cli_validate_json(const struct cli_validate *v);
int cli_validate_plot(const struct cli_validate *v, const char *path);

#endif
