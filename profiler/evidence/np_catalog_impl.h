/*
 * The parts of the catalog (np_catalog.h), in the order in which one refresh
 * uses them:
 *
 *	np_catalog_fabric.c	the calibration
 *	np_catalog_look.c	which applications there are, and which changed
 *	np_catalog_read.c	an application as the models see it
 *	np_catalog.c		what it does to others, and what these see
 *
 * np_catalog_item.c, which uses none of the others, and np_catalog_said.c serve
 * them.
 */
#ifndef NP_CATALOG_IMPL_H
#define NP_CATALOG_IMPL_H

#include "np_catalog.h"
#include "np_fabric_store.h"
#include "np_members.h"
#include "np_predict.h"
#include "np_evidence.h"

#define NP_CAT_PUBLISHED (-1) /* as an owner */
#define NP_CAT_MAX_OWNERS 131072

/* Whose, and which application; every item of a map begins with it. */
struct np_cat_key {
	int64_t owner; /* uid, or NP_CAT_PUBLISHED */
	char app[NP_APP_MAX + 1];
};

/* Items by key, sorted. */
struct np_cat_map {
	struct np_cat_key **item;
	size_t n, room;
};

/* Index of the first item not before the key. */
size_t np_cat_map_at(const struct np_cat_map *m, int64_t owner,
		     const char *app);
/* NULL: not there. */
void *np_cat_map_find(const struct np_cat_map *m, int64_t owner,
		      const char *app);
/* A new item of size bytes, zeroed but for its key; NULL: no memory. */
void *np_cat_map_add(struct np_cat_map *m, int64_t owner, const char *app,
		     size_t size);
/* Take the i-th item out, and free() it. */
void np_cat_map_remove(struct np_cat_map *m, size_t i);
void np_cat_map_free(struct np_cat_map *m);

/* What was said of a place when it was last read, as hashes of lines. */
struct np_said {
	uint64_t *old, *now;
	size_t n_old, n_now;
};

void np_said_free(struct np_said *s);

/* Jobs of these are there. */
struct np_cat_want {
	struct np_cat_key key;
	double until;
};

/* What was told of an owner's files within an hour. */
struct np_cat_lines {
	double until; /* the hour ends; 0: none has begun */
	size_t told, untold;
};

/* A user, or the published ones: a directory of applications. */
struct np_cat_owner {
	struct np_cat_key key;
	double due;	     /* to be looked at again */
	double cost_sec;     /* of the last look */
	double wanted_until; /* jobs of the user are there */
	double paid_until;   /* before, no more is read; see np_catalog_read.c */
	uint64_t turn;	     /* when something was read last */
	bool listed;	     /* has a directory */
	struct np_said said;
	struct np_cat_lines lines;
};

struct np_cat_app {
	struct np_cat_key key;
	struct np_store_stamp stamp;
	double wanted_until;
	double again;	/* to be read once more then, 0: not; np_store_is_racy() */
	uint64_t turn;	/* when it was read last; 0: never */
	bool stamped;	/* it was read since the stamp changed */
	bool seen;	/* by the look that goes on */
	bool there;	/* the last look saw it */
	bool to_read;
	bool known;	/* for the index */
	bool usable;	/* evidence is of the calibration in use */
	bool no_room;	/* there was no handle for it */
	int32_t handle; /* NP_PROFILE_UNKNOWN: none */
	struct np_evidence evidence;
	bool backed; /* a user's own, as in np_app_index.h */
	char refuted[NP_APP_WHY];
	struct np_said said;
};

struct np_catalog {
	char *store_dir, *cluster;
	struct np_place_conf conf;
	const struct np_clock *clock;
	struct np_clock real;

	struct np_cat_map owners, apps, wants;
	size_t n_to_read;
	uint64_t turn;	/* of the last reading */
	double uids_due;
	double cost_sec;     /* of looking at every owner once */
	double idle_until[2]; /* no owner is due before: any, wanted */
	size_t cursor[2];
	struct np_said uids_said;

	bool calibrated;
	struct np_calibration cal;
	struct np_predictor *models;
	struct np_store_stamp cal_stamp;
	double cal_due, cal_again;
	int cal_rc; /* of the last attempt */
	struct np_err cal_err;
	struct np_said cal_said;
	struct np_err fabric; /* what is in use, in words */

	struct np_conflict *conflict;
	struct np_cat_app *by_handle[NP_CONFLICT_MAX_PROFILES];
	size_t n_handles;
	bool asked_wanted, asked_all; /* nothing is missing */
	bool ask_next; /* rather than read */

	struct np_members members; /* who is in groups of Claim= */

	bool trouble; /* nothing can be used */
	struct np_err why; /* of the trouble */
	bool changed; /* since the last refresh */
	struct np_app_index *index; /* NULL: to be made anew */

	/* During a refresh. */
	struct np_store *store;
	np_store_warn_f *warn;
	void *warn_arg;
	size_t n_warned;
	struct np_said *saying;
	struct np_cat_owner *teller; /* whose files that is about, or NULL */
};

double np_catalog_now(const struct np_catalog *c);

/* Read a place of that owner (NULL: nobody's): tell of it, until end. */
void np_catalog_say_begin(struct np_catalog *c, struct np_said *place,
			  struct np_cat_owner *owner);
/* Unless it was told before, or the owner has too many lines. */
void np_catalog_say(const char *line, void *catalog);
void np_catalog_say_end(struct np_catalog *c);

/* If the hour is over: how many lines were not told. */
void np_catalog_sum_up(struct np_catalog *c, struct np_cat_owner *o);

/* The index is out of date. */
void np_catalog_reindex(struct np_catalog *c);

bool np_catalog_is_wanted(const struct np_catalog *c, double until);
void np_catalog_set_to_read(struct np_catalog *c, struct np_cat_app *a,
			    bool to_read);

bool np_catalog_same_stamp(const struct np_store_stamp *a,
			   const struct np_store_stamp *b);

/* Load the calibration if it is due; returns 0 or -errno with err. */
int np_catalog_calibrate(struct np_catalog *c, struct np_err *err);
void np_catalog_uncalibrate(struct np_catalog *c);

/* The next owner to look at, or NULL. */
struct np_cat_owner *np_catalog_due(struct np_catalog *c, bool wanted);
struct np_cat_owner *np_catalog_owner(struct np_catalog *c, int64_t owner);
int np_catalog_look(struct np_catalog *c, struct np_cat_owner *o,
		    struct np_err *err);
int np_catalog_look_uids(struct np_catalog *c, struct np_err *err);
/* All are to be looked at anew, and none is there until then. */
void np_catalog_doubt(struct np_catalog *c);

/* The next application to read, or NULL: owners take turns. */
struct np_cat_app *np_catalog_next(const struct np_catalog *c, bool wanted);
/* Would it be served as if nothing had been read of it? */
bool np_catalog_is_settled(const struct np_catalog *c,
			   const struct np_cat_owner *o);
int np_catalog_read(struct np_catalog *c, struct np_cat_app *a,
		    struct np_err *err);
void np_catalog_drop_evidence(struct np_cat_app *a);

/* Is a kept rather than b, where there is no room for both? */
bool np_catalog_outranks(const struct np_catalog *c, const struct np_cat_app *a,
			 const struct np_cat_app *b);
/* Give it a handle; a->no_room if others are kept rather. */
int np_catalog_take_handle(struct np_catalog *c, struct np_cat_app *a,
			   struct np_err *err);
/* What is answered about it no longer holds. */
void np_catalog_forget(struct np_catalog *c, const struct np_cat_app *a);
bool np_catalog_has_room(const struct np_catalog *c);

#endif
