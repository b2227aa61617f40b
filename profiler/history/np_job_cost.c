#include "np_job_cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_moments.h"
#include "np_ranks.h"

#define MOST_MEETINGS 32000000 /* of two jobs on a leaf switch: half a GiB */
#define LOW_SD 1.645	       /* sd to the low end of a 90 % interval */
#define PAIR_SD 4.0	       /* sd above 0 */
#define NODE_CHANCE 3.4e-6     /* of listing a node: one in 300,000 */

static const struct np_blame_prior prior = { 0.05, 0.3 };

/* Two jobs shared a leaf switch; x: seconds, weighted by the share of nodes. */
struct meeting {
	uint32_t job, app, leaf;
	float x;
};

/* Properties that comparable runs share. */
struct class_key {
	uint32_t user, name, partition, nodes, cpus, tasks;
	int32_t limit;
};

/*
 * What pairs cost on a leaf switch; below and above are the widths of the
 * interval on both sides. Within a class the costs depend on each other, so the
 * widths are added up. Between classes they are independent, so the squares
 * are.
 */
struct leaf {
	double hours, below, above; /* widths: of the present class */
	double below2, above2;	    /* squares, of the classes before it */
};

/* clang-format off */
struct class {
	double node_sec; /* the first, as np_order_desc() expects */
	uint32_t *run;	 /* its jobs, ascending */
	size_t n;
};
/* clang-format on */

/* A pair with a certain cost, unless its runs took longer by chance. */
struct candidate {
	double p; /* probability of that; the first, for np_order_double() */
	size_t class; /* index of the class of the slowed runs */
	uint32_t app; /* the other application */
	struct np_job_cost_pair pair;
};

struct work {
	const struct np_acct *h;
	uint32_t *app;	 /* of each job, a number of apps */
	uint32_t *class; /* of each job; NP_NO_INDEX: not compared */
	struct np_index apps, classes;
	struct class *of; /* each class, those with most node-seconds first */
	struct candidate *candidate;
	size_t n_candidates;
	struct meeting *met;
	size_t n_met, met_room;
	size_t *first; /* of each job, its first meeting */
	struct leaf *leaf;
	struct np_moments *node; /* how much slower its runs were, of each */
	struct np_moments *node_hours; /* that each of these runs lost */
	struct np_job_cost *out;
};

/* Run time of a job by its index, seconds. */
static double run_sec(const struct work *w, uint32_t job)
{
	return np_acct_job_sec(w->h, &w->h->job[job]);
}

/* ---- classes ---- */

/* Assign each job its application, and each completed job its class. */
static int classify(struct work *w)
{
	const struct np_acct *h = w->h;

	w->app = malloc((h->n_jobs + 1) * sizeof(*w->app));
	w->class = malloc((h->n_jobs + 1) * sizeof(*w->class));
	if (!w->app || !w->class)
		return -ENOMEM;
	for (size_t i = 0; i < h->n_jobs; i++) {
		const struct np_acct_job *j = &h->job[i];
		const uint32_t app[] = { j->user, j->name };
		const struct class_key key = {
			j->user, j->name,  j->partition,	   j->n_nodes,
			j->cpus, j->tasks, np_acct_limit_class(j),
		};

		w->app[i] = np_index_add(&w->apps, app, sizeof(app));
		w->class[i] = NP_NO_INDEX;
		w->out->node_hours +=
			j->n_nodes * run_sec(w, (uint32_t)i) / 3600;
		if (j->state == NP_ACCT_COMPLETED && !j->resized &&
		    run_sec(w, (uint32_t)i) > 0)
			w->class[i] =
				np_index_add(&w->classes, &key, sizeof(key));
		else
			continue;
		if (w->app[i] == NP_NO_INDEX || w->class[i] == NP_NO_INDEX)
			return -ENOMEM;
	}
	return 0;
}

/* List the runs of each class, with their node-seconds. */
static int collect_classes(struct work *w)
{
	w->of = calloc(w->classes.n + 1, sizeof(*w->of));
	if (!w->of)
		return -ENOMEM;
	for (size_t i = 0; i < w->h->n_jobs; i++) {
		struct class *c;

		if (w->class[i] == NP_NO_INDEX)
			continue;
		c = &w->of[w->class[i]];
		if (np_array_grow(&c->run, c->n, sizeof(*c->run)))
			return -ENOMEM;
		c->run[c->n++] = (uint32_t)i;
		c->node_sec += w->h->job[i].n_nodes * run_sec(w, (uint32_t)i);
	}
	return 0;
}

/* ---- meetings of jobs ---- */

/* Record that another job was near a job that is compared. */
static int add_meeting(struct work *w, const struct np_acct_place *victim,
		       const struct np_acct_place *other, double sec)
{
	uint32_t size = w->h->one_leaf ? (uint32_t)w->h->node_name.n :
					 w->h->leaf_size[victim->leaf];
	double room = size > victim->nodes ? size - victim->nodes : 1;

	if (w->class[victim->job] == NP_NO_INDEX)
		return 0;
	if (w->n_met == MOST_MEETINGS) {
		w->out->n_dropped_meetings++;
		return 0;
	}
	if (np_array_reserve(&w->met, &w->met_room, w->n_met + 1,
			     sizeof(*w->met)))
		return -ENOMEM;
	w->met[w->n_met++] = (struct meeting){
		victim->job,
		w->app[other->job],
		victim->leaf,
		(float)(sec * fmin(other->nodes / room, 1)),
	};
	return 0;
}

/* Find the meetings under one leaf switch, by start; active: scratch space. */
static int find_on_leaf(struct work *w, size_t from, size_t to, size_t *active)
{
	const struct np_acct *h = w->h;
	size_t n = 0;
	int rc = 0;

	for (size_t i = from; !rc && i < to; i++) {
		const struct np_acct_job *j = &h->job[h->place[i].job];
		size_t n_retained = 0;

		for (size_t k = 0; !rc && k < n; k++) {
			const struct np_acct_place *p = &h->place[active[k]];
			const struct np_acct_job *o = &h->job[p->job];
			double sec = fmin(np_acct_job_end(h, j),
					  np_acct_job_end(h, o)) -
				     j->start;

			if (sec <= 0)
				continue; /* it has ended */
			active[n_retained++] = active[k];
			if (o->id == j->id)
				continue;
			rc = add_meeting(w, &h->place[i], p, sec);
			if (!rc)
				rc = add_meeting(w, p, &h->place[i], sec);
		}
		n = n_retained;
		active[n++] = i;
	}
	return rc;
}

static int by_job(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->app > y->app) - (x->app < y->app);
}

/* Find the meetings on all leaf switches, and sort them by job. */
static int find_meetings(struct work *w)
{
	const struct np_acct *h = w->h;
	size_t *active = malloc((h->n_places + 1) * sizeof(*active));
	int rc = active ? 0 : -ENOMEM;

	for (size_t i = 0, k; !rc && i < h->n_places; i = k) {
		for (k = i;
		     k < h->n_places && h->place[k].leaf == h->place[i].leaf;
		     k++)
			;
		rc = find_on_leaf(w, i, k, active);
	}
	free(active);
	if (!rc && w->n_met)
		qsort(w->met, w->n_met, sizeof(*w->met), by_job);
	w->first = calloc(h->n_jobs + 2, sizeof(*w->first));
	if (rc || !w->first)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_met; i++)
		w->first[w->met[i].job + 1]++;
	for (size_t i = 0; i < h->n_jobs; i++)
		w->first[i + 1] += w->first[i];
	return 0;
}

/* ---- one class ---- */

/* An application that was near; x as in struct meeting. */
struct nearby {
	double x; /* the first, as np_order_desc() expects */
	uint32_t app;
};

/* The neighbours that were near its runs for longest; returns how many. */
static size_t find_neighbours(const struct work *w, const struct class *c,
			      struct np_index *seen, struct nearby *list,
			      size_t room, struct nearby out[])
{
	size_t n = 0;

	np_index_clear(seen);
	for (size_t r = 0; r < c->n; r++)
		for (size_t m = w->first[c->run[r]];
		     m < w->first[c->run[r] + 1]; m++) {
			uint32_t k = np_index_add(seen, &w->met[m].app,
						  sizeof(w->met[m].app));

			if (k == NP_NO_INDEX || k >= room)
				continue;
			if (k == n)
				list[n++] = (struct nearby){ 0, w->met[m].app };
			list[k].x += w->met[m].x;
		}
	if (n)
		qsort(list, n, sizeof(*list), np_order_desc);
	n = n < NP_JOB_COST_NEIGHBOURS ? n : NP_JOB_COST_NEIGHBOURS;
	memcpy(out, list, n * sizeof(*out));
	return n;
}

/* Index of an application in a list, or n. */
static size_t index_of(const struct nearby *list, size_t n, uint32_t app)
{
	size_t i = 0;

	while (i < n && list[i].app != app)
		i++;
	return i;
}

/* Share of its time for which a run met an application; 0: another one. */
static double met_share(const struct work *w, uint32_t run,
			const struct meeting *m, uint32_t app)
{
	return m->app == app ? m->x / run_sec(w, run) : 0;
}

/* Distribute the cost of a pair over the leaf switches of its meetings. */
static void add_leaves(struct work *w, const struct class *c, uint32_t app,
		       const struct np_blame_range *hours)
{
	double all = 0;

	for (size_t r = 0; r < c->n; r++)
		for (size_t m = w->first[c->run[r]];
		     m < w->first[c->run[r] + 1]; m++)
			all += met_share(w, c->run[r], &w->met[m], app);
	for (size_t r = 0; r < c->n; r++)
		for (size_t m = w->first[c->run[r]];
		     m < w->first[c->run[r] + 1]; m++) {
			struct leaf *l = &w->leaf[w->met[m].leaf];
			double share =
				met_share(w, c->run[r], &w->met[m], app) / all;

			l->hours += share * hours->mean;
			l->below += share * (hours->mean - hours->low);
			l->above += share * (hours->high - hours->mean);
		}
}

/* No more pairs of this class will be added. */
static void end_class(struct work *w)
{
	for (size_t i = 0; i < w->h->leaf_name.n; i++) {
		struct leaf *l = &w->leaf[i];

		l->below2 += l->below * l->below;
		l->above2 += l->above * l->above;
		l->below = l->above = 0;
	}
}

/* Add to each node of each run how much slower that run was than the median. */
static void add_nodes(struct work *w, const struct class *c, double usual)
{
	for (size_t r = 0; r < c->n; r++) {
		const struct np_acct_job *j = &w->h->job[c->run[r]];
		double slower = run_sec(w, c->run[r]) / usual - 1;

		/* One job that hangs says little about its nodes. */
		slower = fmin(slower, 2);
		for (size_t i = 0; i < j->n_listed; i++) {
			uint32_t node = w->h->node[j->first_node + i];

			np_moments_add(&w->node[node], slower);
			np_moments_add(&w->node_hours[node],
				       slower * usual * j->n_nodes / 3600);
		}
	}
}

/* Median run time; sec: scratch space for the runs. */
static double median_sec(const struct work *w, const struct class *c,
			 double *sec)
{
	for (size_t r = 0; r < c->n; r++)
		sec[r] = run_sec(w, c->run[r]);
	return np_quantile(sec, c->n, 0.5);
}

/*
 * Exposures are shares of time, multiplied by the usual run time (the reason is
 * in np_examine.c), and counted from that of the least exposed run.
 */
static void set_exposures(const struct work *w, const struct class *c,
			  const struct nearby *by, size_t k, double usual,
			  double *x)
{
	for (size_t r = 0; r < c->n; r++)
		for (size_t m = w->first[c->run[r]];
		     m < w->first[c->run[r] + 1]; m++) {
			size_t i = index_of(by, k, w->met[m].app);

			if (i < k)
				x[r * k + i] += w->met[m].x * usual /
						run_sec(w, c->run[r]);
		}
	for (size_t i = 0; i < k; i++) {
		double least = INFINITY;

		for (size_t r = 0; r < c->n; r++)
			least = fmin(least, x[r * k + i]);
		for (size_t r = 0; r < c->n; r++)
			x[r * k + i] -= least;
	}
}

/*
 * Whether a cost is clearly above 0. Only the lower half of the interval
 * counts: the upper half is wide if the application was never alone, and the
 * whole interval is empty if few samples are above 0.
 */
static bool is_sure(const struct np_blame_range *r)
{
	double sd = (r->mean - r->low) / LOW_SD;

	return r->mean - PAIR_SD * sd > 0;
}

/*
 * Test whether the runs near one application took longer than the others of
 * their class by chance; *p is the probability. The fit assumes that all runs
 * scatter alike. If some runs are slow for reasons of their own, four of them
 * will be near the same application sooner or later. The certain costs of other
 * applications are subtracted first. A run counts as near if its exposure is
 * more than half of the largest.
 */
static int test_chance(const double *sec, const double *x, size_t n, size_t k,
		       size_t i, const struct np_blame_range *cost,
		       const bool *sure, double *p)
{
	double rest[NP_JOB_COST_MOST_RUNS], most = 0;
	bool near[NP_JOB_COST_MOST_RUNS];

	for (size_t r = 0; r < n; r++)
		most = fmax(most, x[r * k + i]);
	for (size_t r = 0; r < n; r++) {
		near[r] = x[r * k + i] > most / 2;
		rest[r] = sec[r];
		for (size_t o = 0; o < k; o++)
			if (o != i && sure[o])
				rest[r] -= cost[o].mean * x[r * k + o];
	}
	return np_ranks_test(rest, near, n, p);
}

/* Add a candidate; class: its index; total: seconds that its runs lost. */
static int add_candidate(struct work *w, size_t class, uint32_t app,
			 size_t runs, const struct np_blame_range *total,
			 double p)
{
	const struct np_acct_job *j = &w->h->job[w->of[class].run[0]];
	double hours = j->n_nodes / 3600.0;
	uint32_t other[2];

	memcpy(other, w->apps.bytes + (app ? w->apps.end[app - 1] : 0),
	       sizeof(other));
	if (np_array_grow(&w->candidate, w->n_candidates,
			  sizeof(*w->candidate)))
		return -ENOMEM;
	w->candidate[w->n_candidates++] = (struct candidate){
		.p = p,
		.class = class,
		.app = app,
		.pair.user = j->user,
		.pair.name = j->name,
		.pair.by_user = other[0],
		.pair.by_name = other[1],
		.pair.runs = (uint32_t)runs,
		.pair.node_hours = { hours * total->mean, hours * total->low,
				     hours * total->high },
	};
	return 0;
}

/*
 * Fit the run times of a class to its exposures, and add the pairs whose cost
 * is sure to the candidates.
 */
static int fit_class(struct work *w, size_t class, const struct class *c,
		     const struct nearby *by, size_t k, double usual,
		     double *sec, double *x)
{
	struct np_blame_range cost[NP_JOB_COST_NEIGHBOURS];
	struct np_blame_range total[NP_JOB_COST_NEIGHBOURS];
	struct np_blame_prior p[NP_JOB_COST_NEIGHBOURS];
	size_t runs[NP_JOB_COST_NEIGHBOURS] = { 0 };
	bool sure[NP_JOB_COST_NEIGHBOURS];
	double chance;
	int rc;

	memset(x, 0, c->n * k * sizeof(*x));
	set_exposures(w, c, by, k, usual, x);
	for (size_t r = 0; r < c->n; r++) {
		sec[r] = run_sec(w, c->run[r]);
		for (size_t i = 0; i < k; i++)
			runs[i] += x[r * k + i] > 0;
	}
	for (size_t i = 0; i < k; i++)
		p[i] = prior;
	rc = np_blame_costs(sec, x, c->n, k, p, cost, total);
	for (size_t i = 0; i < k; i++) {
		bool enough = runs[i] >= NP_JOB_COST_LEAST_NEAR;

		w->out->n_examined += enough;
		sure[i] = !rc && enough && is_sure(&total[i]);
	}
	for (size_t i = 0; !rc && i < k; i++) {
		if (!sure[i])
			continue;
		rc = test_chance(sec, x, c->n, k, i, cost, sure, &chance);
		if (!rc)
			rc = add_candidate(w, class, by[i].app, runs[i],
					   &total[i], chance);
	}
	return rc == -ENOMEM ? rc : 0;
}

/* The newest runs of a class, as job numbers rise with time; borrowed. */
static struct class newest(const struct class *c)
{
	const size_t most = NP_JOB_COST_MOST_RUNS;
	struct class out = *c;

	if (c->n > most) {
		out.run += c->n - most;
		out.n = most;
	}
	return out;
}

/* Compare the runs of each class, beginning with the largest classes. */
static int fit_classes(struct work *w)
{
	size_t room = 65536, most = NP_JOB_COST_MOST_RUNS;
	struct nearby *list = malloc(room * sizeof(*list));
	struct nearby by[NP_JOB_COST_NEIGHBOURS];
	double *sec = malloc(most * sizeof(*sec));
	double *x = malloc(most * NP_JOB_COST_NEIGHBOURS * sizeof(*x));
	struct np_index seen = { 0 };
	int rc = list && sec && x ? 0 : -ENOMEM;

	if (!rc && w->classes.n)
		qsort(w->of, w->classes.n, sizeof(*w->of), np_order_desc);
	for (size_t i = 0;
	     !rc && i < w->classes.n && i < NP_JOB_COST_MOST_CLASSES; i++) {
		struct class c = newest(&w->of[i]);
		double usual;
		size_t k;

		if (c.n < NP_JOB_COST_MIN_RUNS)
			continue;
		w->out->n_groups++;
		w->out->n_compared += c.n;
		usual = median_sec(w, &c, sec);
		add_nodes(w, &c, usual);
		k = find_neighbours(w, &c, &seen, list, room, by);
		if (k)
			rc = fit_class(w, i, &c, by, k, usual, sec, x);
	}
	np_index_free(&seen);
	free(list);
	free(sec);
	free(x);
	return rc;
}

/* ---- which pairs are no chance ---- */

/*
 * Sort the candidates, and keep those of which at most NP_JOB_COST_CHANCE are
 * expected to be chance; returns how many. Of m pairs without any cost, m * p are
 * expected to have p or less.
 */
static size_t keep_candidates(struct work *w)
{
	size_t n = w->n_candidates;

	if (n)
		qsort(w->candidate, n, sizeof(*w->candidate), np_order_double);
	while (n && w->candidate[n - 1].p * (double)w->out->n_examined >
			    NP_JOB_COST_CHANCE * (double)n)
		n--;
	return n;
}

static int by_class(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (x->app > y->app) - (x->app < y->app);
}

/* Add the pairs that are no chance, and what they cost on which leaf switches. */
static int add_pairs(struct work *w)
{
	struct np_job_cost *t = w->out;
	size_t n = keep_candidates(w);

	if (n)
		qsort(w->candidate, n, sizeof(*w->candidate), by_class);
	for (size_t i = 0; i < n; i++) {
		const struct candidate *of = &w->candidate[i];
		struct class c = newest(&w->of[of->class]);

		if (np_array_grow(&t->pair, t->n_pairs, sizeof(*t->pair)))
			return -ENOMEM;
		t->pair[t->n_pairs++] = of->pair;
		add_leaves(w, &c, of->app, &of->pair.node_hours);
		if (i + 1 == n || of[1].class != of->class)
			end_class(w);
	}
	return 0;
}

/* ---- results ---- */

/* Order of pairs by their applications. */
static int by_apps(const void *a, const void *b)
{
	const struct np_job_cost_pair *x = a, *y = b;
	const uint32_t left[] = { x->user, x->name, x->by_user, x->by_name };
	const uint32_t right[] = { y->user, y->name, y->by_user, y->by_name };

	return memcmp(left, right, sizeof(left));
}

/* Add an independent estimate: the squares of the widths are added up. */
static void add_range(struct np_blame_range *to,
		      const struct np_blame_range *more)
{
	double below = hypot(to->mean - to->low, more->mean - more->low);
	double above = hypot(to->high - to->mean, more->high - more->mean);

	to->mean += more->mean;
	to->low = to->mean - below;
	to->high = to->mean + above;
}

/*
 * Combine the pairs of the same two applications, of which each class has one:
 * runs on other numbers of nodes are in another class. A monitoring system
 * would refuse two values of one pair.
 */
static void merge_pairs(struct np_job_cost *t)
{
	size_t n = 0;

	if (t->n_pairs)
		qsort(t->pair, t->n_pairs, sizeof(*t->pair), by_apps);
	for (size_t i = 0; i < t->n_pairs; i++) {
		if (!n || by_apps(&t->pair[n - 1], &t->pair[i])) {
			t->pair[n++] = t->pair[i];
			continue;
		}
		add_range(&t->pair[n - 1].node_hours, &t->pair[i].node_hours);
		t->pair[n - 1].runs += t->pair[i].runs;
	}
	t->n_pairs = n;
}

/* The sum of values, and its 95 % interval. */
static struct np_blame_range sum_of(const struct np_moments *m)
{
	double half = np_moments_half_width(m), n = (double)m->n;

	return (struct np_blame_range){
		n * m->mean,
		n * (m->mean - half),
		n * (m->mean + half),
	};
}

/* Keep the nodes on which runs were certainly slower than elsewhere. */
static int keep_nodes(struct work *w)
{
	struct np_job_cost *t = w->out;

	for (size_t i = 0; i < w->h->node_name.n; i++) {
		const struct np_moments *m = &w->node[i];
		double half = np_moments_half_width(m);
		double error =
			fmax(np_moments_sd(m), 0.01) / sqrt((double)m->n);

		if (m->n < NP_JOB_COST_MIN_RUNS ||
		    !(m->mean - np_moments_errors(m, NODE_CHANCE) * error >
		      0.01))
			continue;
		if (np_array_grow(&t->node, t->n_nodes, sizeof(*t->node)))
			return -ENOMEM;
		t->node[t->n_nodes++] = (struct np_job_cost_node){
			.node = (uint32_t)i,
			.runs = (uint32_t)m->n,
			.excess_time = { m->mean, m->mean - half,
					 m->mean + half },
			.node_hours = sum_of(&w->node_hours[i]),
		};
	}
	return 0;
}

/* Keep the leaf switches where some pair had a cost. */
static int keep_leaves(struct work *w)
{
	struct np_job_cost *t = w->out;

	for (size_t i = 0; i < w->h->leaf_name.n; i++) {
		const struct leaf *l = &w->leaf[i];

		if (!(l->hours > 0))
			continue;
		if (np_array_grow(&t->leaf, t->n_leaves, sizeof(*t->leaf)))
			return -ENOMEM;
		t->leaf[t->n_leaves++] = (struct np_job_cost_leaf){
			.node_hours = { l->hours, l->hours - sqrt(l->below2),
					l->hours + sqrt(l->above2) },
			.leaf = (uint32_t)i,
		};
	}
	return 0;
}

/* Sort all results by cost, the largest first. */
static int sort_all(struct work *w)
{
	struct np_job_cost *t = w->out;
	int rc = keep_nodes(w);

	if (!rc)
		rc = keep_leaves(w);
	merge_pairs(t);
	if (t->n_pairs)
		qsort(t->pair, t->n_pairs, sizeof(*t->pair), np_order_desc);
	if (t->n_leaves)
		qsort(t->leaf, t->n_leaves, sizeof(*t->leaf), np_order_desc);
	if (t->n_nodes)
		qsort(t->node, t->n_nodes, sizeof(*t->node), np_order_desc);
	return rc;
}

/* Free everything but the results. */
static void free_work(struct work *w)
{
	for (size_t i = 0; w->of && i < w->classes.n; i++)
		free(w->of[i].run);
	free(w->of);
	free(w->candidate);
	free(w->app);
	free(w->class);
	free(w->met);
	free(w->first);
	free(w->leaf);
	free(w->node);
	free(w->node_hours);
	np_index_free(&w->apps);
	np_index_free(&w->classes);
}

int np_job_cost_make(const struct np_acct *h, struct np_job_cost *out)
{
	static int (*const steps[])(struct work * w) = {
		classify,    collect_classes, find_meetings,
		fit_classes, add_pairs,	      sort_all,
	};
	struct work w = {
		.h = h,
		.out = out,
		.leaf = calloc(h->leaf_name.n + 1, sizeof(*w.leaf)),
		.node = calloc(h->node_name.n + 1, sizeof(*w.node)),
		.node_hours = calloc(h->node_name.n + 1, sizeof(*w.node_hours)),
	};
	int rc = w.leaf && w.node && w.node_hours ? 0 : -ENOMEM;

	*out = (struct np_job_cost){ .n_jobs = h->n_jobs };
	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(steps); i++)
		rc = steps[i](&w);
	free_work(&w);
	if (rc)
		np_job_cost_free(out);
	return rc;
}

void np_job_cost_free(struct np_job_cost *t)
{
	free(t->pair);
	free(t->leaf);
	free(t->node);
	*t = (struct np_job_cost){ .n_jobs = 0 };
}
