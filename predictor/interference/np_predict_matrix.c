/* Many pairs at once: what they have in common is computed once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_predict_impl.h"

/*
 * Co-runners asked about together: few enough that their sides stay in the
 * cache, while the victims' sides, which do not fit, pass by.
 */
#define BLOCK 8

struct task {
	struct np_predictor *p;
	const struct np_program *const *app;
	size_t n;
	enum np_scope scope;
	bool around;	/* only pairs that the first program is one of */
	bool fell_back;
	bool left;	/* some pairs had no answer for want of data */
	size_t *order;	/* in which programs are asked about */
	bool *known;	/* of each: beside which levels, and these beside it */
	struct np_prediction *out;
	int *rc;
};

/* Where the answer goes. */
static size_t place(const struct task *t, size_t v, size_t c)
{
	return t->around && v ? t->n - 1 + v : v * t->n + c;
}

static size_t pairs(const struct task *t)
{
	return t->around ? 2 * t->n - 1 : t->n * t->n;
}

/* What became of one pair.  Returns 0 or -ENOMEM. */
static int note(struct task *t, size_t at, int rc)
{
	if (!rc && t->fell_back)
		t->out[at].flags |= NP_PRED_FELL_BACK;
	t->left |= rc == -ENODATA;
	t->rc[at] = rc;
	return rc == -ENOMEM ? rc : 0;
}

/*
 * One pair, if it is still without an answer, and with it the other way round
 * if the model answers both at once.  Returns 0 or -ENOMEM.
 */
static int cell(struct task *t, size_t v, struct np_ready *victim, size_t c,
		struct np_ready *co)
{
	size_t at = place(t, v, c), back = place(t, c, v);
	struct np_prediction *const out[2] = { &t->out[at], &t->out[back] };
	int rc[2];

	if (t->rc[at] != -ENODATA)
		return 0;
	if (v == c || !np_ready_both(t->p, victim, co, t->scope, out, rc))
		return note(t, at, np_ready_pair(t->p, victim, co, 1, t->scope,
						 out[0], NULL));
	note(t, at, rc[0]);
	return note(t, back, rc[1]);
}

/*
 * Halves of a question serve the next one if that has the same levels in use:
 * programs that are known beside the same levels follow each other.
 */
static int by_levels(const void *x, const void *y, void *arg)
{
	const struct task *t = arg;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	size_t n = 2 * t->p->n;
	int diff = memcmp(t->known + i * n, t->known + j * n, n);

	return diff ? diff : (i > j) - (i < j);
}

static void know(const struct np_mean *m, size_t n, bool *known)
{
	for (size_t i = 0; m && i < n; i++)
		known[i] = np_mean_known(&m[i]);
}

static int make_order(struct task *t)
{
	size_t n = t->p->n;

	t->order = malloc(t->n * sizeof(*t->order));
	t->known = calloc(2 * n * t->n + 1, sizeof(*t->known));
	if (!t->order || !t->known)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		t->order[i] = i;
		know(t->app[i]->curve, n, t->known + 2 * n * i);
		know(t->app[i]->pressure, n, t->known + 2 * n * i + n);
	}
	qsort_r(t->order, t->n, sizeof(*t->order), by_levels, t);
	return 0;
}

/* Is there a pair with it that has no answer yet? */
static bool is_asked(const struct task *t, size_t i)
{
	for (size_t j = 0; j < t->n; j++)
		if (t->rc[place(t, i, j)] == -ENODATA ||
		    t->rc[place(t, j, i)] == -ENODATA)
			return true;
	return false;
}

static int matrix_pass(struct task *t, struct np_ready *ready,
		       struct np_err *err)
{
	const size_t *order = t->order;
	int rc = 0;

	for (size_t i = 0; !rc && i < t->n; i++)
		if (is_asked(t, i))
			rc = np_ready_make(t->p, t->app[i], &ready[i], err);
	for (size_t from = 0; !rc && from < t->n; from += BLOCK) {
		size_t n = from + BLOCK < t->n ? BLOCK : t->n - from;

		for (size_t at = 0; !rc && at < t->n * n; at++) {
			size_t v = order[at / n], c = order[from + at % n];

			rc = cell(t, v, &ready[v], c, &ready[c]);
		}
		for (size_t k = from; k < from + n; k++) /* not asked again */
			np_half_free(&ready[order[k]], NP_CO);
	}
	return rc;
}

/* Each other is needed once, for both ways. */
static int around_pass(struct task *t, struct np_ready *ready,
		       struct np_err *err)
{
	struct np_ready *first = &ready[0], *other = &ready[1];
	int rc = np_ready_make(t->p, t->app[0], first, err);

	if (!rc)
		rc = cell(t, 0, first, 0, first);
	for (size_t k = 0; !rc && k < t->n; k++) {
		size_t i = t->order[k];

		if (!i || (t->rc[place(t, 0, i)] != -ENODATA &&
			   t->rc[place(t, i, 0)] != -ENODATA))
			continue;
		rc = np_ready_make(t->p, t->app[i], other, err);
		if (!rc)
			rc = cell(t, 0, first, i, other);
		if (!rc)
			rc = cell(t, i, other, 0, first);
		np_ready_free(other);
	}
	return rc;
}

static int pass(struct task *t, struct np_err *err)
{
	size_t n = t->around ? 2 : t->n;
	struct np_ready *ready = calloc(n, sizeof(*ready));
	int rc = -ENOMEM;

	if (ready)
		rc = t->around ? around_pass(t, ready, err) :
				 matrix_pass(t, ready, err);
	for (size_t i = 0; ready && i < n; i++)
		np_ready_free(&ready[i]);
	free(ready);
	return rc;
}

/* One model after the other, until nothing is left. */
static int ask(struct task *t, struct np_err *err)
{
	int rc = pass(t, err);

	while (!rc && t->left) {
		struct np_predictor *other;

		rc = np_predictor_fallback(t->p, &other, err);
		if (rc || !other)
			return rc;
		t->p = other;
		t->fell_back = true;
		t->left = false;
		rc = pass(t, err);
	}
	return rc;
}

static int check_and_ask(struct task *t, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < t->n; i++)
		rc = np_program_check(t->app[i], t->p->f, err);
	if (!rc)
		rc = make_order(t);
	if (!rc)
		rc = ask(t, err);
	free(t->order);
	free(t->known);
	return rc == -ENOMEM ? np_errf(err, rc, "no memory for the pairs of "
				       "%zu programs", t->n) : rc;
}

static int answer(struct task *t, struct np_err *err)
{
	if (!t->n)
		return 0;
	for (size_t i = 0; i < pairs(t); i++) {
		t->out[i] = (struct np_prediction){
			.slowdown = NAN, .low = NAN, .high = NAN,
		};
		t->rc[i] = -ENODATA;
	}
	return check_and_ask(t, err);
}

int np_predict_matrix(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct task t = {
		.p = p, .app = app, .n = n, .scope = scope, .out = out,
		.rc = rc,
	};

	return answer(&t, err);
}

int np_predict_around(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct task t = {
		.p = p, .app = app, .n = n, .scope = scope, .around = true,
		.out = out, .rc = rc,
	};

	return answer(&t, err);
}
