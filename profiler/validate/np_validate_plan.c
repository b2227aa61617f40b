#include "np_validate_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

#define START_SEC 1.0 /* srun, until its step runs and when it ends */
#define SLOWER 1.3    /* beside a co-runner, on one leaf, as a guess */

/* Repeats of runs alone that begin what was interrupted; never the same. */
#define EXTRA 1000000u

/* ---- nodes ---- */

void np_validate_sites_free(struct np_validate_sites *s)
{
	free(s->leaf);
	free(s->victim.list);
	free(s->corunner.list);
	free(s->apart.list);
	*s = (struct np_validate_sites){ .leaf = NULL };
}

static void move(struct np_cal_hosts *to, struct np_cal_hosts *from)
{
	*to = *from;
	*from = (struct np_cal_hosts){ .n = 0 };
}

/* Co-runners under another leaf have the place that they have in this one. */
static int find_apart(const struct np_cal_node *node, size_t n, uint32_t most,
		      struct np_validate_sites *s)
{
	struct np_cal_node *rest = calloc(n + 1, sizeof(*rest));
	struct np_cal_sites other;
	size_t n_rest = 0;
	int rc;

	if (!rest)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (strcmp(node[i].leaf, s->leaf))
			rest[n_rest++] = node[i];
	rc = np_cal_sites_make(rest, n_rest, &other, NULL);
	free(rest);
	if (rc)
		return rc == -ENODEV ? 0 : rc;
	if (other.aggressor.n >= most)
		move(&s->apart, &other.aggressor);
	else if (!other.aggressor.n && other.victim.n >= most)
		move(&s->apart, &other.victim);
	np_cal_sites_free(&other);
	return 0;
}

static int check_fit(const struct np_validate_list *l,
		     const struct np_validate_sites *s, struct np_err *err)
{
	size_t room = s->victim.n < s->corunner.n ? s->victim.n : s->corunner.n;

	if (!room)
		return np_errf(err, -ENODEV, "leaf %s: expected four nodes or "
			       "more, half of them for each of two programs",
			       s->leaf);
	for (size_t i = 0; i < l->n; i++)
		if (l->program[i].nodes > room)
			return np_errf(err, -ENODEV, "%s: %u nodes, but half of "
				       "leaf %s has %zu", l->program[i].name,
				       l->program[i].nodes, s->leaf, room);
	return 0;
}

int np_validate_sites_make(const struct np_cal_node *node, size_t n,
			   const struct np_validate_list *l,
			   struct np_validate_sites *out, struct np_err *err)
{
	struct np_validate_sites s = { .leaf = NULL };
	struct np_cal_sites here;
	uint32_t most = 0;
	int rc = np_cal_sites_make(node, n, &here, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l->n; i++)
		if (l->program[i].nodes > most)
			most = l->program[i].nodes;
	s.leaf = here.leaf;
	here.leaf = NULL;
	move(&s.victim, &here.victim);
	move(&s.corunner, &here.aggressor);
	np_cal_sites_free(&here);
	rc = check_fit(l, &s, err);
	if (!rc && find_apart(node, n, most, &s))
		rc = np_errf(err, -ENOMEM, "out of memory");
	if (rc)
		np_validate_sites_free(&s);
	else
		*out = s;
	return rc;
}

char *np_validate_hosts(const struct np_cal_hosts *h, size_t want)
{
	const char *end = h->list ? h->list : "";

	for (size_t i = 0; i < want && *end; i++) {
		end += *end == ',';
		end += strcspn(end, ",");
	}
	return strndup(h->list ? h->list : "", (size_t)(end - h->list));
}

/* ---- runs ---- */

struct list {
	struct np_validate_task *task;
	size_t n;
	int rc;
	const struct np_validate_list *programs;
	const struct np_pairs *done;
	bool fresh; /* a run of this victim alone is in the list */
};

static const char *name_of(const struct np_validate_list *l, size_t i)
{
	return i == NP_CAL_NONE ? NULL : l->program[i].name;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_done(const struct list *l, const struct np_validate_task *t)
{
	for (size_t i = 0; i < l->done->n_runs; i++) {
		const struct np_pairs_run *r = &l->done->run[i];

		if (r->kind == t->kind && r->repeat == t->repeat &&
		    same_text(r->victim, name_of(l->programs, t->victim)) &&
		    same_text(r->corunner, name_of(l->programs, t->corunner)))
			return true;
	}
	return false;
}

static void append(struct list *l, struct np_validate_task t)
{
	if (!l->rc)
		l->rc = np_array_more(&l->task, l->n, sizeof(*l->task));
	if (!l->rc)
		l->task[l->n++] = t;
}

/* Of a run alone that no plan has had yet. */
static uint32_t next_extra(const struct np_pairs *done, const char *victim)
{
	uint32_t next = EXTRA;

	for (size_t i = 0; i < done->n_runs; i++)
		if (done->run[i].kind == NP_PAIRS_ALONE &&
		    !strcmp(done->run[i].victim, victim) &&
		    done->run[i].repeat >= next)
			next = done->run[i].repeat + 1;
	return next;
}

static void add(struct list *l, enum np_pairs_kind kind, size_t victim,
		size_t corunner, uint32_t repeat)
{
	struct np_validate_task t = { kind, victim, corunner, repeat };

	if (is_done(l, &t))
		return;
	if (corunner != NP_CAL_NONE && !l->fresh) {
		uint32_t extra = next_extra(l->done,
					    name_of(l->programs, victim));

		append(l, (struct np_validate_task){
			NP_PAIRS_ALONE, victim, NP_CAL_NONE, extra });
		l->fresh = true;
	}
	append(l, t);
	if (kind == NP_PAIRS_ALONE)
		l->fresh = true;
}

/* One victim beside all, in one repeat. */
static void add_victim(struct list *l, size_t victim, uint32_t repeat,
		       bool apart)
{
	size_t n = l->programs->n;
	uint32_t per_repeat = (uint32_t)(1 + (n + NP_VALIDATE_STRETCH - 1) /
					 NP_VALIDATE_STRETCH);
	uint32_t alone = repeat * per_repeat;

	l->fresh = false;
	add(l, NP_PAIRS_ALONE, victim, NP_CAL_NONE, alone++);
	for (size_t c = 0; c < n; c++) {
		add(l, NP_PAIRS_LEAF, victim, c, repeat);
		if (apart && !repeat)
			add(l, NP_PAIRS_APART, victim, c, 0);
		if ((c + 1) % NP_VALIDATE_STRETCH == 0 || c + 1 == n)
			add(l, NP_PAIRS_ALONE, victim, NP_CAL_NONE, alone++);
	}
}

int np_validate_plan(const struct np_validate_list *programs, uint32_t repeats,
		     bool apart, const struct np_pairs *done,
		     struct np_validate_task **out, size_t *n)
{
	struct list l = { .programs = programs, .done = done };

	for (size_t v = 0; v < programs->n; v++)
		for (uint32_t r = 0; r < NP_VALIDATE_LAUNCHES; r++)
			add(&l, NP_PAIRS_LAUNCH, v, NP_CAL_NONE, r);
	for (size_t v = 0; v < programs->n; v++)
		add(&l, NP_PAIRS_PROFILE, v, NP_CAL_NONE, 0);
	for (uint32_t r = 0; r < repeats; r++)
		for (size_t v = 0; v < programs->n; v++)
			add_victim(&l, v, r, apart);
	if (l.rc) {
		free(l.task);
		return l.rc;
	}
	*out = l.task;
	*n = l.n;
	return 0;
}

/* The newest run alone, else what was said of it. */
static double takes_sec(const struct np_validate_program *p,
			const struct np_pairs *done)
{
	double sec = p->takes_sec > 0 ? p->takes_sec : NP_VALIDATE_TAKES_SEC;

	for (size_t i = 0; i < done->n_runs; i++)
		if (done->run[i].kind == NP_PAIRS_ALONE &&
		    !strcmp(done->run[i].victim, p->name))
			sec = done->run[i].sec;
	return sec;
}

double np_validate_cost_sec(const struct np_validate_list *l,
			    const struct np_pairs *done,
			    const struct np_validate_task *t)
{
	const struct np_validate_program *p = &l->program[t->victim];
	double sec = takes_sec(p, done);

	switch (t->kind) {
	case NP_PAIRS_LAUNCH:
		return START_SEC;
	case NP_PAIRS_PROFILE:
		return START_SEC + (p->longer.n ?
				    fmax(NP_VALIDATE_PROFILE_SEC, sec) :
				    SLOWER * sec);
	case NP_PAIRS_ALONE:
		return START_SEC + sec;
	case NP_PAIRS_LEAF:
		sec *= SLOWER;
		break;
	case NP_PAIRS_APART:
		break;
	}
	return 2 * START_SEC + l->program[t->corunner].begins_sec + sec;
}
