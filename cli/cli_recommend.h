/*
 * Recommendations about an application: which others to keep away from it, and
 * what to measure next.
 */
#ifndef CLI_RECOMMEND_H
#define CLI_RECOMMEND_H

#include "cli_predict.h"
#include "np_profile.h"

#define CLI_PAIRS_MAX 3

/* One application with another, and the slowdown of one of the two. */
struct cli_pair {
	const char *app;   /* the other application; borrowed */
	size_t victim, co; /* indices into the known applications */
	struct np_prediction p;
};

/* The worst pairs: largest slowdown first, uncertain ones last. */
struct cli_pair_list {
	struct cli_pair pair[CLI_PAIRS_MAX];
	size_t n;
};

/* Insert a pair in its place; the list keeps the CLI_PAIRS_MAX worst ones. */
void cli_pair_insert(struct cli_pair_list *list, const struct cli_pair *pair);

struct cli_recommendation {
	double limit; /* acceptable slowdown, fraction: MaxSlowdown */
	size_t n_pairs; /* co-runners in pair[] */
	size_t n_avoid; /* the first of them, which slow it beyond limit */
	const struct cli_pair *pair; /* borrowed, largest slowdown first */
	const char *app;	   /* the application; borrowed */
	/*
	 * The most useful measurement: a command to type, and what it
	 * measures. Both are "" if nothing would help.
	 */
	char command[256], what[256];
	bool command_named; /* the verdict of netprof show names the command already */
};

/*
 * p: the profile; k: the known applications and, if there is one, the
 * calibration; pairs: the applications that slow it most at that scope. All are
 * borrowed. Always succeeds.
 */
void cli_recommend(const struct np_profile *p, const struct cli_known *k,
		   enum np_scope scope, const struct cli_pair_list *pairs,
		   double limit, struct cli_recommendation *out);

/*
 * "Avoid sharing a leaf switch with NPmpi or fft: each slows it by more than
 * 10 %. ..."; "" if no other application has a profile.
 */
void cli_avoid_text(const struct cli_recommendation *a, char *buf, size_t len);

/*
 * "To improve this: sbatch ... (more runs of fft without load)"; "" if there is
 * nothing to measure or the verdict names it already.
 */
void cli_measure_text(const struct cli_recommendation *a, char *buf, size_t len);

#endif
