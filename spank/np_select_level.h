/*
 * Which load level a run takes that is flagged by --netprofile-calibrate: the
 * one that the profile of its workload, from the user's own runs, lacks most.
 *
 * netprof-saver selects it, because only it touches the store, and sends the
 * selection to the collector as text.
 */
#ifndef NP_SELECT_LEVEL_H
#define NP_SELECT_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "np_fabric.h"
#include "np_level.h"
#include "np_one_run.h"
#include "np_record.h"
#include "np_store.h"

/*
 * Measurement intervals in a selection: of more, the newest. Its text, at most
 * 110 bytes for each, is thus shorter than the 1 MiB of replies that
 * netprof-saver keeps for a client.
 */
#define NP_SELECTION_MAX_INTERVALS 8192

/* What earlier runs say to a run that is divided into intervals. */
struct np_earlier_intervals {
	/* Levels, as np_level_parse() accepts them. */
	char name[NP_FABRIC_MAX_LEVELS][NP_LEVEL_NAME];
	bool alone_known[NP_FABRIC_MAX_LEVELS]; /* are its rounds alone known? */
	size_t n_levels;
	/* Measurement intervals of earlier runs, oldest run first. */
	struct np_interval *interval;
	size_t n_intervals;
	double share; /* part by which intervals may lengthen the run */
};

void np_earlier_intervals_free(struct np_earlier_intervals *earlier);

struct np_selection {
	char level[NP_LEVEL_NAME]; /* "": none */
	bool complete;		   /* the sensitivity curve has all it needs */
	/*
	 * If it has levels: the run alternates them in measurement intervals,
	 * instead of one level throughout. Free with
	 * np_earlier_intervals_free().
	 */
	struct np_earlier_intervals earlier;
};

/*
 * Select a level for the run of a record, note it there, and save the record
 * in the store. A lock is held meanwhile, so that runs which start together
 * select different levels; if the lock cannot be had, they may select the
 * same.
 *
 * record: application, cluster and fingerprint of the run; intervals_nodes,
 * the nodes on which levels would run, becomes 0 if the run has no intervals.
 * scope, nodes: where its level would run. Levels are those of the cluster's
 * calibration at this scope, or else at any, or else c0 to c7. share: part by
 * which measurement intervals may lengthen the run; 0: no intervals. now: a
 * date. *text: the selection, as np_selection_print(); the caller frees it.
 * Returns 0, or -errno with err; the record may have been saved then.
 */
int np_select_level(struct np_store *store, struct np_record *record,
		    const char *scope, const char *nodes, double share,
		    double now, char **text, struct np_err *err);

/*
 * The selection from its text. Returns 0, or -EINVAL (malformed, or with more
 * than NP_SELECTION_MAX_INTERVALS) or -ENOMEM, and *out is empty then. Pure.
 */
int np_selection_parse(const char *text, struct np_selection *out);

/* For unit tests and the fuzzer. NULL: out of memory; free() it. Pure. */
char *np_selection_print(const struct np_selection *selection);

#endif
