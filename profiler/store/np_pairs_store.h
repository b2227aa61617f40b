/*
 * Pairs of programs that netprof validate measured, next to the runs of the
 * victim:
 *
 *	STORE/users/UID/VICTIM/DATE.pairs	(DATE as 20261126T063957Z)
 *
 * Each file is one measurement in the form of netprof-pairs(5), with the raw
 * runs of one victim and without the slowdowns, which are computed on reading.
 * DATE is that of the first run of the measurement, so that a measurement that
 * continues replaces its file. Files are trusted and checked as runs are.
 */
#ifndef NP_PAIRS_STORE_H
#define NP_PAIRS_STORE_H

#include "np_measured.h"
#include "np_store.h"

#define NP_PAIRS_STORE_FILES 16 /* read for one application, newest first */

/*
 * Write the runs of one victim into the calling user's directory, completely or
 * not at all. Nothing is written without a run with another program, or if
 * the user has no profile of the victim, which is then not predicted, either.
 * Returns 0, or with err -EINVAL (p has no usable date), -ENOMEM or what
 * np_store_save() returns.
 */
int np_pairs_store_save(struct np_store *s, const struct np_pairs *p,
			const char *victim, struct np_err *err);

/*
 * Read the measurements of an application, the newest first. Files that cannot
 * be used are skipped, and reported to warn, which may be NULL. A missing
 * directory has no measurement. Returns 0 (free each with np_pairs_free(), and
 * the array), or with err -EACCES, -ENOMEM or another -errno.
 */
int np_pairs_store_load(struct np_store *s, enum np_store_owner owner,
			uid_t uid, const char *app, np_store_warn_f *warn,
			void *arg, struct np_pairs **out, size_t *n,
			struct np_err *err);

#endif
