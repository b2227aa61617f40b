#include "np_select_level.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_run_summary.h"

/* ---- the choice ---- */

#define LOCK_NAME ".calibrate.lock" /* hidden: no run has such a name */

/*
 * Without the lock two runs may choose the same level, which does no harm.  So
 * file systems that cannot lock, and a holder that hangs, are ignored.
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

static void unlock(struct np_selection *c)
{
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}

/* Sets *c only if it returns true. */
static bool load_fabric(struct np_store *s, const char *cluster,
			const char *scope, struct np_calibration *c)
{
	return !np_fabric_store_load(s, cluster, scope, c, NULL) ||
	       !np_fabric_store_load(s, cluster, NULL, c, NULL);
}

static int copy_names(const struct np_curve_levels *l,
		      struct np_earlier_intervals *p)
{
	p->name = calloc(l->n + 1, sizeof(*p->name));
	p->alone_known = calloc(l->n + 1, sizeof(*p->alone_known));
	while (p->name && p->alone_known && p->n_levels < l->n) {
		p->name[p->n_levels] = strdup(l->name[p->n_levels]);
		if (!p->name[p->n_levels++])
			return -ENOMEM;
	}
	return p->name && p->alone_known ? 0 : -ENOMEM;
}

/* Have the intervals so far shown that intervals cannot tell anything? */
static int are_useless(const struct np_earlier_intervals *p, bool *useless)
{
	struct np_one_run_level *level =
		calloc(p->n_levels + 1, sizeof(*level));
	struct np_one_run o;
	int rc = -ENOMEM;

	if (level)
		rc = np_one_run_estimate(p->interval, p->n_intervals, NULL,
					 level, p->n_levels, &o);
	*useless = !rc && o.verdict != NP_ONE_RUN_FEW &&
		   o.verdict != NP_ONE_RUN_USABLE;
	free(level);
	return rc;
}

/* No level needs another interval, or its rounds alone. */
static int is_complete(const struct np_earlier_intervals *p, bool *complete)
{
	const struct np_one_run_schedule plan = { p->n_levels, 1, p->share };
	struct np_one_run_next next = { .complete = false };
	int rc = np_one_run_next_interval(&plan, p->interval, p->n_intervals, 0,
					  0, &next);

	*complete = next.complete;
	for (size_t i = 0; i < p->n_levels; i++)
		*complete &= p->alone_known[i];
	return rc;
}

/*
 * The earlier intervals keep their levels only if the run is to be divided into
 * intervals.
 */
static int look_back(const struct np_runs *runs, const struct np_run_summary *e,
		     const struct np_curve_levels *l, double share,
		     uint32_t n_nodes, struct np_earlier_intervals *earlier,
		     bool *complete)
{
	struct np_earlier_intervals p = { .share = share };
	bool useless = false;
	int rc = copy_names(l, &p);

	if (!rc)
		rc = np_run_intervals(runs, e->use, l->name, NULL, l->n,
				      &p.interval, &p.n_intervals);
	if (!rc)
		rc = are_useless(&p, &useless);
	for (size_t i = 0; !rc && i < l->n; i++)
		p.alone_known[i] = np_run_intervals_alone(runs, e->use, NULL,
							  l->name[i], n_nodes);
	if (!rc && !useless)
		rc = is_complete(&p, complete);
	if (rc || useless || *complete)
		np_earlier_intervals_free(&p);
	*earlier = p;
	return rc;
}

static int select_level(const struct np_runs *runs,
			const struct np_run_summary_opt *opt, double share,
			struct np_curve_levels *l, struct np_selection *out,
			struct np_err *err)
{
	struct np_run_summary e;
	struct np_mean alone;
	struct np_level level;
	long i;
	int rc;

	if (np_run_summary_make(runs, opt, &e))
		return np_errf(err, -ENOMEM, "out of memory");
	np_curve_count(&e, runs, opt->scope, l, &alone);
	rc = share > 0 ?
		     look_back(runs, &e, l, share, opt->like->intervals_nodes,
			       &out->earlier, &out->complete) :
		     0;
	np_run_summary_free(&e);
	if (rc)
		return np_errf(err, rc, "out of memory");
	if (out->complete || out->earlier.n_levels)
		return 0;
	i = np_planner_next(l->level, l->n, &alone, NP_PLANNER_RUNS,
			    NP_PLANNER_RUNS_ALONE);
	out->complete = i == NP_PLANNER_COMPLETE;
	if (i < 0)
		return 0;
	if (np_level_parse(l->name[i], &level, err))
		return -EINVAL; /* somebody edited the calibration */
	strcpy(out->level, level.name);
	return 0;
}

/*
 * Holds a lock of the application until unlock(), so that runs which start
 * together choose differently.  *out is empty on error.
 */
static int choose(struct np_store *s, const struct np_record *r,
		  const char *scope, double share, double now,
		  struct np_selection *out, struct np_err *err)
{
	struct np_run_summary_opt opt = {
		.like = r,
		.scope = scope,
		.fingerprint = r->fingerprint,
		.now = now,
	};
	struct np_calibration c;
	struct np_curve_levels l;
	struct np_runs runs = { .n = 0 };
	int rc;

	*out = (struct np_selection){ .lock = lock_app(s, r->app) };
	rc = np_store_load(s, NP_STORE_USER, geteuid(), r->app, NULL, NULL,
			   &runs, err);
	if (rc && rc != -ENOENT)
		return rc;
	if (load_fabric(s, r->cluster, scope, &c))
		opt.calibration = &c;
	rc = np_curve_levels_make(opt.calibration, &l);
	if (!rc) {
		rc = select_level(&runs, &opt, share, &l, out, err);
		np_curve_levels_free(&l);
	} else {
		np_errf(err, rc, "out of memory");
	}
	if (opt.calibration)
		np_calibration_free(&c);
	np_runs_free(&runs);
	return rc;
}

/* The record says what was chosen, for runs that start at the same time. */
static int note_selection(struct np_record *r, const struct np_selection *c,
			  const char *scope, const char *nodes,
			  struct np_err *err)
{
	if (!c->earlier.n_levels)
		r->intervals_nodes = 0;
	else if (!(r->intervals_scope = strdup(scope)))
		return np_errf(err, -ENOMEM, "out of memory");
	return c->level[0] ?
		       np_record_note_level(r, c->level, scope, nodes, err) :
		       0;
}

int np_select_level(struct np_store *s, struct np_record *r, const char *scope,
		    const char *nodes, double share, double now, char **text,
		    struct np_err *err)
{
	struct np_selection c = NP_SELECTION_INIT;
	int rc = choose(s, r, scope, share, now, &c, err);

	if (!rc)
		rc = note_selection(r, &c, scope, nodes, err);
	if (!rc)
		rc = np_store_save(s, r, err);
	unlock(&c);
	if (!rc && !(*text = np_selection_print(&c)))
		rc = np_errf(err, -ENOMEM, "out of memory");
	np_earlier_intervals_free(&c.earlier);
	return rc;
}

/* ---- the choice as text ---- */

#define MAX_LEVELS 256
#define MAX_INTERVALS 65536

/*
 * The first line is "LEVEL|- COMPLETE N_LEVELS N_INTERVALS SHARE"; then follow
 * a line "NAME LED" for each level and "RUN LEVEL SEC RATE CALLS" for each
 * interval.
 */
char *np_selection_print(const struct np_selection *c)
{
	const struct np_earlier_intervals *h = &c->earlier;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "%s %d %zu %zu %.17g\n", c->level[0] ? c->level : "-",
		c->complete, h->n_levels, h->n_intervals, h->share);
	for (size_t i = 0; i < h->n_levels; i++)
		fprintf(f, "%s %d\n", h->name[i], h->alone_known[i]);
	for (size_t i = 0; i < h->n_intervals; i++)
		fprintf(f, "%" PRIu32 " %zu %.17g %.17g %.17g\n",
			h->interval[i].run, h->interval[i].level,
			h->interval[i].sec, h->interval[i].rate,
			h->interval[i].calls);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *next_line(const char *text)
{
	const char *nl = strchr(text, '\n');

	return nl ? nl + 1 : text + strlen(text);
}

static int parse_levels(const char **text, size_t n,
			struct np_earlier_intervals *h)
{
	char name[NP_LEVEL_NAME];
	struct np_level level;
	int led;

	h->name = calloc(n + 1, sizeof(*h->name));
	h->alone_known = calloc(n + 1, sizeof(*h->alone_known));
	if (!h->name || !h->alone_known)
		return -ENOMEM;
	for (; h->n_levels < n; *text = next_line(*text)) {
		if (sscanf(*text, "%63s %d", name, &led) != 2 ||
		    np_level_parse(name, &level, NULL))
			return -EINVAL;
		h->alone_known[h->n_levels] = led;
		h->name[h->n_levels] = strdup(name);
		if (!h->name[h->n_levels++])
			return -ENOMEM;
	}
	return 0;
}

static int parse_intervals(const char **text, size_t n,
			   struct np_earlier_intervals *h)
{
	h->interval = calloc(n + 1, sizeof(*h->interval));
	if (!h->interval)
		return -ENOMEM;
	for (; h->n_intervals < n; *text = next_line(*text)) {
		struct np_interval *b = &h->interval[h->n_intervals];

		if (sscanf(*text, "%" SCNu32 " %zu %lf %lf %lf", &b->run,
			   &b->level, &b->sec, &b->rate, &b->calls) != 5 ||
		    !(b->level < h->n_levels ||
		      b->level == NP_INTERVAL_NO_LEVEL) ||
		    !(b->sec > 0) || !(b->rate >= 0) || b->calls < 0)
			return -EINVAL;
		h->n_intervals++;
	}
	return 0;
}

int np_selection_parse(const char *text, struct np_selection *out)
{
	struct np_selection c = NP_SELECTION_INIT;
	size_t n_levels, n_intervals;
	struct np_level level;
	int complete, rc = 0;

	*out = c;
	if (sscanf(text, "%63s %d %zu %zu %lf", c.level, &complete, &n_levels,
		   &n_intervals, &c.earlier.share) != 5 ||
	    n_levels > MAX_LEVELS || n_intervals > MAX_INTERVALS)
		return -EINVAL;
	c.complete = complete;
	if (!strcmp(c.level, "-"))
		c.level[0] = '\0';
	else if (np_level_parse(c.level, &level, NULL))
		return -EINVAL;
	text = next_line(text);
	if (n_levels)
		rc = parse_levels(&text, n_levels, &c.earlier);
	if (!rc && n_levels)
		rc = parse_intervals(&text, n_intervals, &c.earlier);
	if (rc)
		np_earlier_intervals_free(&c.earlier);
	else
		*out = c;
	return rc;
}

/* ---- earlier intervals ---- */

void np_earlier_intervals_free(struct np_earlier_intervals *p)
{
	for (size_t i = 0; i < p->n_levels; i++)
		free(p->name[i]);
	free(p->name);
	free(p->alone_known);
	free(p->interval);
	*p = (struct np_earlier_intervals){ .n_levels = 0 };
}
