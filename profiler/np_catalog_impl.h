/* Inside np_catalog: its fields. */
#ifndef NP_CATALOG_IMPL_H
#define NP_CATALOG_IMPL_H

#include <limits.h>
#include <time.h>

#include "np_catalog.h"
#include "np_fabric_store.h"
#include "np_predict.h"
#include "np_profile.h"
#include "np_store_dir.h"
#include "np_subject.h"

#define NP_CATALOG_MAX_LISTED 16384

/* An application of one owner. */
struct np_listed {
	char app[NP_APP_MAX + 1];
	enum np_store_owner owner;
	uid_t uid;
	bool wanted;	      /* jobs of it are there */
	bool there;	      /* at the last look */
	bool read;	      /* runs and subject are set */
	bool usable;	      /* a model can take it */
	struct timespec mtime; /* of its directory, as it was read */
	double read_sec, cost_sec; /* monotonic: when, and how long */
	struct np_runs runs;
	struct np_subject subject;
	int32_t profile;      /* handle; -1: none yet */
};

struct np_catalog {
	char store_dir[PATH_MAX];
	char cluster[256];
	struct np_place_conf conf;
	struct np_listed *listed;
	size_t n;
	double scanned_sec; /* monotonic */
	bool rescan;	    /* somebody wants what was not found yet */
	bool calibrated;
	struct np_calibration cal;
	struct timespec fabric_mtime;
	struct np_err why; /* not calibrated */
	struct np_predictor *predictor;
	struct np_conflict *conflict;
	/* What was handed out last: both of one moment. */
	struct np_press *table;
	struct np_app_index *index;
	char fabric[NP_ERR_LEN + 16];
};

/* Find what is there; every few seconds, or at once for what is wanted. */
int np_catalog_scan(struct np_catalog *c, struct np_store *s, double now_sec,
		    struct np_err *err);

/*
 * Read what changed, the wanted first, until the time is up.  *more: there is
 * something left.  Returns 0 or -ENOMEM.
 */
int np_catalog_read(struct np_catalog *c, struct np_store *s, double until_sec,
		    np_store_warn_f *warn, void *arg, bool *changed,
		    bool *more);

/* The calibration, if it changed.  Returns 0 or -errno with err. */
int np_catalog_calibrate(struct np_catalog *c, struct np_store *s,
			 bool *changed, struct np_err *err);

/* One application on the calibration; tells whether it says something else
 * than before. */
int np_catalog_judge(struct np_catalog *c, struct np_listed *l, bool *changed);
void np_listed_clear(struct np_listed *l);

/* Monotonic. */
double np_catalog_now(void);

#endif
