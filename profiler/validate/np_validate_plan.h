/*
 * What `netprof validate` runs, where, in which order, and how long it takes:
 * pure functions of the programs, the nodes and what has been run.
 */
#ifndef NP_VALIDATE_PLAN_H
#define NP_VALIDATE_PLAN_H

#include "np_calibrate_plan.h"
#include "np_pairs.h"
#include "np_validate_list.h"

#define NP_VALIDATE_LAUNCHES 3 /* of each program's layout */
/* Pairs, with their controls, between two runs alone of their victim. */
#define NP_VALIDATE_STRETCH 2
#define NP_VALIDATE_TAKES_SEC 30 /* where nobody says how long it takes */
#define NP_VALIDATE_PROFILE_SEC 150 /* a long run beside levels, about */

/* ---- nodes ---- */

struct np_validate_sites {
	char *leaf; /* where victims and co-runners are */
	struct np_cal_hosts victim, corunner; /* as netprof calibrate has them */
	struct np_cal_hosts apart; /* under another leaf; n 0: there is none */
};

/*
 * Returns 0 (free with np_validate_sites_free()), -ENODEV with err if no leaf
 * has two halves of two nodes or more, or some program does not fit into one;
 * -ENOMEM.  Without room for all co-runners under a second leaf, there is no
 * apart.
 */
int np_validate_sites_make(const struct np_cal_node *node, size_t n,
			   const struct np_validate_list *l,
			   struct np_validate_sites *out, struct np_err *err);
void np_validate_sites_free(struct np_validate_sites *s);

/*
 * The first want of the nodes of a role, "n0,n1", malloc'ed.  NULL: out of
 * memory.
 */
char *np_validate_hosts(const struct np_cal_hosts *h, size_t want);

/* ---- runs ---- */

struct np_validate_task {
	enum np_pairs_kind kind;
	size_t victim, corunner; /* NP_CAL_NONE: none */
	uint32_t repeat;
};

/*
 * Those that done, of the same programs, does not have: launches and profiles
 * of all programs, then repeat after repeat and victim after victim, each pair
 * followed in the first repeat by its control under two leaves (apart), and
 * runs of the victim alone before and after every NP_VALIDATE_STRETCH pairs.
 * A victim's pairs that are left begin with a run alone in any case, as those
 * that are done may be of another day.  *out: free() it.  Returns 0 or -ENOMEM.
 */
int np_validate_plan(const struct np_validate_list *l, uint32_t repeats,
		     bool apart, const struct np_pairs *done,
		     struct np_validate_task **out, size_t *n);

/* About how long it takes, by what is known of the program by now. */
double np_validate_cost_sec(const struct np_validate_list *l,
			    const struct np_pairs *done,
			    const struct np_validate_task *t);

#endif
