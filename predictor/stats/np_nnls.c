#include "np_nnls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_lanes.h"

/* Share of a column's own square that must be left beside the others. */
#define PIVOT_MIN 1e-13
/* Gradients this small, relative to the largest |h|, count as zero. */
#define GRADIENT_MIN 1e-12

struct np_nnls {
	size_t max;
	double *chol;  /* lower triangle of the passive set's factor */
	double *fwd;   /* chol's solution of the right-hand side */
	double *inverse; /* of chol's diagonal */
	double *z;     /* unconstrained solution on the passive set */
	double *work;
	size_t *set;   /* passive set, in order of entry */
	char *barred;  /* 1: passive, 2: refused until x moves */
};

/* One call's problem, to keep argument lists short. */
struct problem {
	struct np_nnls *s;
	const double *gram, *h;
	double ridge;
	size_t stride, n, k; /* k: size of the passive set */
	double *x;
};

struct np_nnls *np_nnls_new(size_t n)
{
	struct np_nnls *s;

	if (!n || n > NP_NNLS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->max = n;
	s->chol = malloc((n * n + 4 * n) * sizeof(double));
	s->set = malloc(n * sizeof(*s->set));
	s->barred = malloc(n);
	if (!s->chol || !s->set || !s->barred) {
		np_nnls_free(s);
		return NULL;
	}
	s->fwd = s->chol + n * n;
	s->inverse = s->fwd + n;
	s->z = s->inverse + n;
	s->work = s->z + n;
	return s;
}

void np_nnls_free(struct np_nnls *s)
{
	if (!s)
		return;
	free(s->chol);
	free(s->set);
	free(s->barred);
	free(s);
}

/* Append unknown t to the factor; false if it depends on those within. */
static bool chol_append(struct problem *p, size_t t)
{
	const double *g = p->gram + t * p->stride;
	size_t max = p->s->max, k = p->k;
	double *row = p->s->chol + k * max, left = g[t] + p->ridge;
	double *fwd = p->s->fwd, f = p->h[t];

	for (size_t i = 0; i < k; i++) {
		const double *up = p->s->chol + i * max;
		double v = g[p->s->set[i]];

		for (size_t j = 0; j < i; j++)
			v -= up[j] * row[j];
		row[i] = v * p->s->inverse[i];
		left -= row[i] * row[i];
		f -= row[i] * fwd[i];
	}
	if (!(left > PIVOT_MIN * g[t]))
		return false;
	row[k] = sqrt(left);
	p->s->inverse[k] = 1 / row[k];
	fwd[k] = f * p->s->inverse[k];
	p->s->set[p->k++] = t;
	p->s->barred[t] = 1;
	return true;
}

/* z: the least-squares solution on the passive set, signs free. */
static void solve_passive(struct problem *p)
{
	size_t max = p->s->max;
	double *z = p->s->z;

	memcpy(z, p->s->fwd, p->k * sizeof(*z));
	for (size_t i = p->k; i-- > 0;) {
		const double *row = p->s->chol + i * max;
		double v = z[i] * p->s->inverse[i];

		z[i] = v;
		for (size_t j = 0; j < i; j++)
			z[j] -= row[j] * v;
	}
}

/* Keep of the passive set what is still positive, and factor it anew. */
static void refactor(struct problem *p)
{
	size_t *set = p->s->set, old = p->k;

	p->k = 0;
	for (size_t i = 0; i < old; i++) {
		size_t t = set[i];

		p->s->barred[t] = 0;
		/* chol_append writes set[p->k], which is set[i] or before it */
		if (p->x[t] <= 0 || !chol_append(p, t))
			p->x[t] = 0;
	}
}

/* Move x towards z as far as it stays >= 0; what reaches 0 leaves the set. */
static void step_to_border(struct problem *p)
{
	const double *z = p->s->z;
	const size_t *set = p->s->set;
	size_t hit = p->k;
	double alpha = 1;

	for (size_t i = 0; i < p->k; i++) {
		double x = p->x[set[i]], a;

		if (z[i] > 0)
			continue;
		a = x / (x - z[i]);
		if (hit == p->k || a < alpha) {
			alpha = a;
			hit = i;
		}
	}
	for (size_t i = 0; i < p->k; i++) {
		double *x = p->x + set[i];

		*x += alpha * (z[i] - *x);
		if (i == hit || *x < 0)
			*x = 0;
	}
	refactor(p);
}

static bool all_positive(const double *z, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!(z[i] > 0))
			return false;
	return true;
}

/* From z on the passive set, shrink that until the answer is positive. */
static void settle(struct problem *p)
{
	while (!all_positive(p->s->z, p->k)) {
		step_to_border(p); /* at least one unknown leaves */
		solve_passive(p);
	}
	for (size_t i = 0; i < p->k; i++)
		p->x[p->s->set[i]] = p->s->z[i];
}

/* h - A'A x of NP_LANES unknowns, from the given one on. */
static void descent(const struct problem *p, size_t from, double *w)
{
	const double *h = p->h + from;
	np_pair s0 = np_pair_at(h), s1 = np_pair_at(h + 2);
	np_pair s2 = np_pair_at(h + 4), s3 = np_pair_at(h + 6);

	for (size_t i = 0; i < p->k; i++) {
		size_t t = p->s->set[i];
		const double *g = p->gram + t * p->stride + from;
		double x = p->x[t];

		s0 -= np_pair_at(g) * x;
		s1 -= np_pair_at(g + 2) * x;
		s2 -= np_pair_at(g + 4) * x;
		s3 -= np_pair_at(g + 6) * x;
	}
	memcpy(w + from, &s0, sizeof(s0));
	memcpy(w + from + 2, &s1, sizeof(s1));
	memcpy(w + from + 4, &s2, sizeof(s2));
	memcpy(w + from + 6, &s3, sizeof(s3));
}

static double descent_of(const struct problem *p, size_t j)
{
	double w = p->h[j];

	for (size_t i = 0; i < p->k; i++) {
		size_t t = p->s->set[i];

		w -= p->gram[t * p->stride + j] * p->x[t];
	}
	return w;
}

/* The unknown outside the passive set with the steepest descent, or n. */
static size_t steepest(struct problem *p, double min)
{
	double *w = p->s->work, best = min;
	size_t at = p->n, to = p->n - p->n % NP_LANES;

	for (size_t j = 0; j < to; j += NP_LANES)
		descent(p, j, w);
	for (size_t j = to; j < p->n; j++)
		w[j] = descent_of(p, j);
	for (size_t j = 0; j < p->n; j++)
		if (!p->s->barred[j] && w[j] > best) {
			best = w[j];
			at = j;
		}
	return at;
}

/* Let t in.  False if rounding would send it straight out again. */
static bool enter(struct problem *p, size_t t)
{
	if (chol_append(p, t)) {
		solve_passive(p);
		if (p->s->z[p->k - 1] > 0)
			return true;
		p->k--;
	}
	p->s->barred[t] = 2;
	return false;
}

static void start_warm(struct problem *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->x[i] > 0 && !chol_append(p, i))
			p->x[i] = 0;
	solve_passive(p);
	settle(p);
}

static int check(const struct problem *p, bool warm, struct np_err *err)
{
	if (!p->n || p->n > p->s->max)
		return np_errf(err, -EINVAL, "least squares: %zu unknowns, "
			       "expected 1 to %zu", p->n, p->s->max);
	/* A finite diagonal of A'A is a finite A, so the rest is finite too. */
	for (size_t i = 0; i < p->n; i++) {
		if (!isfinite(p->gram[i * p->stride + i]) || !isfinite(p->h[i]))
			return np_errf(err, -EINVAL, "least squares: unknown "
				       "%zu has a value that is not finite", i);
		if (warm && !(p->x[i] >= 0 && isfinite(p->x[i])))
			return np_errf(err, -EINVAL, "least squares: guess "
				       "%zu is %g, expected >= 0", i, p->x[i]);
	}
	return 0;
}

int np_nnls_solve(struct np_nnls *s, const double *gram, size_t stride,
		  double ridge, const double *h, size_t n, double *x,
		  bool warm, struct np_err *err)
{
	struct problem p = { s, gram, h, ridge, stride, n, 0, x };
	size_t limit = 10 * n + 10;
	double min = 0;
	int rc = check(&p, warm, err);

	if (rc)
		return rc;
	memset(s->barred, 0, n);
	for (size_t i = 0; i < n; i++)
		min = fmax(min, GRADIENT_MIN * fabs(h[i]));
	if (warm)
		start_warm(&p);
	else
		memset(x, 0, n * sizeof(*x));
	while (limit--) {
		size_t t = steepest(&p, min);

		if (t == n)
			return 0;
		if (!enter(&p, t))
			continue;
		settle(&p);
		for (size_t i = 0; i < n; i++)
			s->barred[i] &= 1;
	}
	return np_errf(err, -ELOOP, "least squares: no solution in %zu steps",
		       10 * n + 10);
}
