/* Inside np_view: a view in the making. */
#ifndef NP_VIEW_IMPL_H
#define NP_VIEW_IMPL_H

#include "np_view.h"

/* The lists of a change as bitmaps of nodes: read once for all records. */
struct np_change_lists {
	bool read;
	int put_rc, his_rc; /* of np_site_parse() */
	uint64_t *put, *his;
};

struct np_view_make {
	struct np_view *view;
	const struct np_app_index *index;
	const struct np_place_conf *conf;
	struct np_job_cache *cache;
	const struct np_change *change;
	size_t n_changes;
	struct np_change_lists *lists; /* of each change */
	uint64_t *scratch; /* four bitmaps of nodes, and one of leaves */
	uint32_t *node;	   /* of a running job */
};

/*
 * Add one job to the snapshot, and fill in *seen.  Returns 0; -ENOENT: it is
 * no job that holds nodes or waits for some; -EINVAL with err: one that cannot
 * be; -ENOMEM.
 */
int np_view_job(struct np_view_make *m, const slurm_job_info_t *j,
		struct np_seen *seen, struct np_err *err);

#endif
