/*
 * Recommendations about an application: which others to keep off its leaf
 * switches, and what to measure next.
 */
#ifndef CLI_RECOMMEND_H
#define CLI_RECOMMEND_H

#include "cli_predict.h"

#define CLI_PAIRS_MAX 3 /* pairs that a list keeps */

/* Two applications on one leaf switch, one of them the subject of the list. */
struct cli_pair {
	const char *app;	 /* the other application; borrowed */
	size_t victim, corunner; /* indices into the known applications */
	struct np_prediction prediction; /* slowdown of the victim */
};

/* The worst pairs, largest slowdown first; uncertain ones after all others. */
struct cli_pair_list {
	struct cli_pair pair[CLI_PAIRS_MAX];
	size_t n;
};

/*
 * Insert a pair, whose members are given, at its position; the list keeps the
 * CLI_PAIRS_MAX worst ones.
 */
void cli_pair_list_insert(struct cli_pair_list *list, const char *app,
			  size_t victim, size_t corunner,
			  const struct np_prediction *prediction);

/*
 * Predict a pair again, as netprof predict does: without this, its prediction
 * may have no interval, or not say which measurement would narrow it.
 */
void cli_pair_predict(struct np_predictor *predictor,
		      const struct cli_known *known, enum np_scope scope,
		      struct cli_pair *pair);

struct cli_recommendation {
	double limit; /* acceptable slowdown, fraction: MaxSlowdown */
	const struct cli_pair *pair; /* borrowed, as in struct cli_pair_list */
	size_t n_pairs;		     /* in pair[] */
	/* How many of them, from the first on, to avoid: their slowdown is above
	   limit, and the prediction is not uncertain. */
	size_t n_avoid;
	const char *app; /* the application; borrowed */
	/*
	 * The most useful measurement: a command to type, and a noun phrase for
	 * what it measures. Both are "" if nothing would help.
	 */
	char command[256], measurement[256];
	bool verdict_names_command; /* the verdict in netprof show */
};

/*
 * Recommend what to do about the application of a profile.
 *
 * known holds the known applications and, if there is one, the calibration.
 * pairs are the applications that slow this one most at that scope. limit is
 * the acceptable slowdown. All are borrowed, and *out borrows pairs too. Always
 * succeeds.
 */
void cli_recommend(const struct np_run_summary *profile,
		   const struct cli_known *known, enum np_scope scope,
		   const struct cli_pair_list *pairs, double limit,
		   struct cli_recommendation *out);

/*
 * What to avoid: "sharing a leaf switch with NPmpi or fft: each slows lammps by
 * more than 10 %. ...", or that no application does; "" if there is no
 * prediction.
 */
const char *cli_avoid_text(const struct cli_recommendation *recommendation);

/*
 * What improves the predictions: "sbatch ... (more runs of fft without load)";
 * "" if there is nothing to measure, or the verdict names the command.
 */
const char *cli_improve_text(const struct cli_recommendation *recommendation);

/*
 * "fft +49 % (46 to 55)", or "a second fft job +51 % (47 to 54)" where fft is
 * subject, the application itself. Names are cut to this number of columns.
 */
const char *cli_pair_text(const struct cli_pair *pair, const char *subject,
			  size_t columns);

#endif
