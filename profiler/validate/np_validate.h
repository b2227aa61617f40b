#ifndef NP_VALIDATE_H
#define NP_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_calibrate_plan.h"
#include "np_err.h"
#include "np_measured.h"

/*
 * The programs that `netprof validate` measures, as people write them:
 *
 *	program melt
 *	  nodes 4
 *	  directory /home/alice/melt
 *	  srun --mpi=pmix
 *	  run lmp -in in.melt
 *	  longer lmp -in in.melt.long
 *
 * Files are hostile input: whatever is no such list is refused with one line
 * that names file, line, value and what was expected.
 */

#define NP_VALIDATE_MAX_BYTES (1u << 20)
#define NP_VALIDATE_MAX_PROGRAMS 64
#define NP_VALIDATE_MAX_WORDS 32 /* of a command */
#define NP_VALIDATE_MAX_OPTIONS 12 /* of srun */
#define NP_VALIDATE_MAX_NODES 65536
#define NP_VALIDATE_MAX_TASKS 1024 /* on a node */
#define NP_VALIDATE_BEGINS_SEC 5

struct np_validate_words {
	char **word;
	size_t n;
};

struct np_validate_program {
	char name[NP_APP_MAX + 1];
	uint32_t nodes, per_node;
	char *directory; /* NULL: the current one */
	struct np_validate_words srun, run;
	/* The same work for longer, for its profile and as co-runner; n 0: as
	 * run. */
	struct np_validate_words longer;
	double begins_sec; /* from its start until it communicates */
	double takes_sec;  /* alone, as somebody expects; 0: not said */
};

struct np_validate_list {
	struct np_validate_program *program;
	size_t n;
};

/*
 * text: len bytes; source names it in messages.  Returns 0 (free with
 * np_validate_list_free()), or with err -EINVAL or -ENOMEM.
 */
int np_validate_list_parse(const char *text, size_t len, const char *source,
			   struct np_validate_list *out, struct np_err *err);

/* The same from a regular file; also -errno of opening and reading it. */
int np_validate_list_read(const char *path, struct np_validate_list *out,
			  struct np_err *err);
void np_validate_list_free(struct np_validate_list *l);

/* The command as co-runner, and for the profile. */
const struct np_validate_words *
np_validate_longer(const struct np_validate_program *p);

/*
 * One line for each program, malloc'ed: what must be the same for runs to be
 * compared.  NULL: out of memory.
 */
char *np_validate_list_text(const struct np_validate_list *l);

/*
 * What `netprof validate` runs, where, in which order, and how long it takes:
 * pure functions of the programs, the nodes and what has been run.
 */

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

/* What measured runs say of pairs: pure functions of the runs. */

/*
 * A pair under two leaves shares no switch, so its slowdown there is not that
 * of the network: up to this much of it is taken off, of a pair with more
 * nothing is believed.
 */
#define NP_VALIDATE_CONTROL_MOST 0.05

/*
 * Two runs of a pair that differ by more are told: one of them may have been
 * disturbed, or its co-runner may not have come up.
 */
#define NP_VALIDATE_REPEAT_MOST 0.20

struct np_validate_pair {
	struct np_mean slowdown; /* on one leaf, less that under two */
	struct np_mean apart;	 /* under two leaves; n 0: not measured */
	double between; /* how its first two runs differ; NaN: there are none */
	bool refused; /* slowed too much there: slowdown has n 0 */
};

struct np_validate_app {
	double launch_sec; /* of srun without the program: taken off all runs */
	struct np_mean alone_sec;
	double drift; /* of runs alone: longest less shortest, over the mean */
};

/* Programs by their order in p. */
struct np_validate_result {
	size_t n_programs;
	struct np_validate_app *app;
	struct np_validate_pair *pair; /* [victim * n_programs + co-runner] */
	size_t n_pairs, n_refused, n_controls; /* that have a slowdown; ... */
	/* Pairs that ran more than once, and how two such runs differ. */
	size_t n_repeated;
	double repeat_points; /* mean, in points of slowdown; NaN: none */
	double control_mean, control_most; /* absolute, fractions; NaN: none */
};

/*
 * A run's time is compared with that run of its victim alone that was nearest
 * in time.  Returns 0 (free with np_validate_result_free()) or -ENOMEM.
 */
int np_validate_result_make(const struct np_pairs *p,
			    struct np_validate_result *out);
void np_validate_result_free(struct np_validate_result *r);

/* The results as tables of p, which owns them.  Returns 0 or -ENOMEM. */
int np_validate_result_give(const struct np_validate_result *r,
			    struct np_pairs *p);

#endif
