#include "np_choose.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_curve_count.h"
#include "np_evidence.h"
#include "np_store.h"

#define LOCK_NAME ".calibrate.lock" /* hidden: no run is called so */

/*
 * Without the lock two runs may take the same level, which does no harm: file
 * systems that cannot lock, and a holder that hangs, are passed over.
 */
static int lock_app(struct np_store *s, const char *app)
{
	struct np_dir d;
	int fd;

	if (np_dir_open(s, NP_STORE_USER, geteuid(), app, true, &d, NULL))
		return -1;
	fd = openat(d.fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	np_dir_close(&d);
	if (fd >= 0)
		np_file_lock(fd);
	return fd;
}

void np_choice_end(struct np_choice *c)
{
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}

/* *c only if it returns true. */
static bool load_fabric(struct np_store *s, const char *cluster,
			const char *scope, struct np_calibration *c)
{
	return !np_fabric_store_load(s, cluster, scope, c, NULL) ||
	       !np_fabric_store_load(s, cluster, NULL, c, NULL);
}

static int copy_names(const struct np_curve_levels *l,
		      struct np_course_history *p)
{
	p->name = calloc(l->n + 1, sizeof(*p->name));
	p->is_led = calloc(l->n + 1, sizeof(*p->is_led));
	while (p->name && p->is_led && p->n_levels < l->n) {
		p->name[p->n_levels] = strdup(l->name[p->n_levels]);
		if (!p->name[p->n_levels++])
			return -ENOMEM;
	}
	return p->name && p->is_led ? 0 : -ENOMEM;
}

/* Have the blocks so far shown that they cannot say anything? */
static int are_useless(const struct np_course_history *p, bool *useless)
{
	struct np_blocks_level *level = calloc(p->n_levels + 1,
					       sizeof(*level));
	struct np_blocks o;
	int rc = -ENOMEM;

	if (level)
		rc = np_blocks_estimate(p->block, p->n_blocks, NULL, level,
					p->n_levels, &o);
	*useless = !rc && o.verdict != NP_BLOCKS_FEW &&
		   o.verdict != NP_BLOCKS_USABLE;
	free(level);
	return rc;
}

/* Is there a level that needs another block, or its rounds alone? */
static int is_complete(const struct np_course_history *p, bool *complete)
{
	const struct np_blocks_plan plan = { p->n_levels, 1, p->share };
	struct np_blocks_next next = { .complete = false };
	int rc = np_blocks_plan_next(&plan, p->block, p->n_blocks, 0, 0, &next);

	*complete = next.complete;
	for (size_t i = 0; i < p->n_levels; i++)
		*complete &= p->is_led[i];
	return rc;
}

/* Levels remain in the history where the run is to be cut into blocks. */
static int look_back(const struct np_runs *runs, const struct np_evidence *e,
		     const struct np_curve_levels *l, double share,
		     uint32_t n_nodes, struct np_course_history *history,
		     bool *complete)
{
	struct np_course_history p = { .share = share };
	bool useless = false;
	int rc = copy_names(l, &p);

	if (!rc)
		rc = np_run_blocks(runs, e->use, l->name, NULL, l->n, &p.block,
				   &p.n_blocks);
	if (!rc)
		rc = are_useless(&p, &useless);
	for (size_t i = 0; !rc && i < l->n; i++)
		p.is_led[i] = np_run_blocks_alone(runs, e->use, NULL,
						  l->name[i], n_nodes);
	if (!rc && !useless)
		rc = is_complete(&p, complete);
	if (rc || useless || *complete)
		np_course_history_free(&p);
	*history = p;
	return rc;
}

static int pick(const struct np_runs *runs, const struct np_evidence_opt *opt,
		double share, struct np_curve_levels *l, struct np_choice *out,
		struct np_err *err)
{
	struct np_evidence e;
	struct np_mean alone;
	struct np_level level;
	long i;
	int rc;

	if (np_evidence_make(runs, opt, &e))
		return np_errf(err, -ENOMEM, "out of memory");
	np_curve_count(&e, runs, opt->scope, l, &alone);
	rc = share > 0 ? look_back(runs, &e, l, share, opt->like->blocks_nodes,
				   &out->history, &out->complete) : 0;
	np_evidence_free(&e);
	if (rc)
		return np_errf(err, rc, "out of memory");
	if (out->complete || out->history.n_levels)
		return 0;
	i = np_need_next(l->level, l->n, &alone, NP_NEED_RUNS,
			 NP_NEED_RUNS_ALONE);
	out->complete = i == NP_NEED_COMPLETE;
	if (i < 0)
		return 0;
	if (np_level_parse(l->name[i], &level, err))
		return -EINVAL; /* of a calibration that somebody wrote */
	strcpy(out->level, level.name);
	return 0;
}

int np_choose(struct np_store *s, const struct np_record *r,
	      const char *scope, double share, double now,
	      struct np_choice *out,
	      struct np_err *err)
{
	struct np_evidence_opt opt = {
		.like = r, .scope = scope, .fingerprint = r->fingerprint,
		.now = now,
	};
	struct np_calibration c;
	struct np_curve_levels l;
	struct np_runs runs = { .n = 0 };
	int rc;

	*out = (struct np_choice){ .lock = lock_app(s, r->app) };
	rc = np_store_load(s, NP_STORE_USER, geteuid(), r->app, NULL, NULL,
			   &runs, err);
	if (rc && rc != -ENOENT)
		return rc;
	if (load_fabric(s, r->cluster, scope, &c))
		opt.calibration = &c;
	rc = np_curve_levels_make(opt.calibration, &l);
	if (!rc) {
		rc = pick(&runs, &opt, share, &l, out, err);
		np_curve_levels_free(&l);
	} else {
		np_errf(err, rc, "out of memory");
	}
	if (opt.calibration)
		np_calibration_free(&c);
	np_runs_free(&runs);
	return rc;
}
