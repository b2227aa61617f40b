/*
 * The applications of the store as the placement decision knows them: a handle
 * for each profile, and what each does to each other on the cluster's
 * calibrated fabric.  Reads the store; for one thread, which may wait.
 *
 * A job's application is looked up as the published profile of that name, or
 * else as the job owner's own: a published name cannot be dodged by a profile
 * of one's own.
 */
#ifndef NP_CATALOG_H
#define NP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app_index.h"
#include "np_conflict.h"
#include "np_place_conf.h"
#include "np_store.h"

struct np_catalog;

/*
 * Nothing is read yet.  cluster: its name.  conf and store_dir are copied.
 * *out: free with np_catalog_free().  Returns 0 or -ENOMEM.
 */
int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err);
void np_catalog_free(struct np_catalog *c); /* NULL is allowed */

/*
 * Jobs of this user and application are there: read their profile before
 * others.  Cheap; may be called for every job at every refresh.
 */
void np_catalog_want(struct np_catalog *c, const char *app, uint32_t uid);

/*
 * Look what changed in the store, read it, and ask the models what is not known
 * yet; stops soon after budget_sec and goes on with the next call.  Profiles
 * that are gone, or that can no longer be read, count as unknown from then on.
 * *changed: a table or index taken before is out of date.  *more: there is
 * still something to do.  warn is called for each file that is skipped, once as
 * long as it does not change.
 * Returns 0; or with err -errno where the store or the calibration cannot be
 * used: then nothing conflicts, until a later call finds it again.
 */
int np_catalog_refresh(struct np_catalog *c, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err);

/* What the decision needs; np_press_unref().  Returns 0, -EINVAL, -ENOMEM. */
int np_catalog_table(struct np_catalog *c, struct np_press **out,
		     struct np_err *err);

/* Handles by name, of the same moment; np_app_index_unref(). */
int np_catalog_index(struct np_catalog *c, struct np_app_index **out);

/* One line on the calibration in use: its date, or why there is none. */
const char *np_catalog_fabric(const struct np_catalog *c);

#endif
