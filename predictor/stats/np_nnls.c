#include "np_nnls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A column enters only if this share of its square is independent of the
 * others.
 */
#define PIVOT_MIN 1e-13
/* Gradients below this, relative to the largest |h|, count as zero. */
#define GRADIENT_MIN 1e-12

/* Rows of the inverse are processed in parts of this many numbers. */
#define PART 4

/*
 * The equations of the passive set are factored as L D L', with 1 on the
 * diagonal of L. The inverse of L is stored, because in a product with it no
 * number waits for another.
 */
struct np_nnls {
	size_t max, stride; /* stride: max, rounded up to whole parts */
	/* of L; each row ends with the part of its diagonal */
	double *inverse;
	/* 1 / D */
	double *d_inverse;
	/* coefficient of each row of the inverse in the solution */
	double *step;
	double *z;	 /* unconstrained solution on the passive set */
	double *scale;	 /* 1 / the diagonal of A'A, by unknown */
	double *work, *next;
	size_t *set;	 /* the passive set, in order of entry */
	const double **row; /* row of A'A of each member of the set */
	size_t *refused; /* rejected until x changes */
};

/* The problem of one call, to keep argument lists short. */
struct problem {
	struct np_nnls *s;
	const double *gram, *h;
	double ridge;
	size_t stride, n, k; /* k: size of the passive set */
	size_t n_refused;
	double *x;
};

static size_t whole_parts(size_t n)
{
	return (n + PART - 1) / PART * PART;
}

struct np_nnls *np_nnls_new(size_t n)
{
	struct np_nnls *s;

	if (!n || n > NP_NNLS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->max = n;
	s->stride = whole_parts(n);
	s->inverse = malloc((n + 6) * s->stride * sizeof(double));
	s->set = malloc(2 * n * sizeof(*s->set));
	s->row = malloc(n * sizeof(*s->row));
	if (!s->inverse || !s->set || !s->row) {
		np_nnls_free(s);
		return NULL;
	}
	s->d_inverse = s->inverse + n * s->stride;
	s->step = s->d_inverse + s->stride;
	s->z = s->step + s->stride;
	s->scale = s->z + s->stride;
	s->work = s->scale + s->stride;
	s->next = s->work + s->stride;
	s->refused = s->set + n;
	return s;
}

void np_nnls_free(struct np_nnls *s)
{
	if (!s)
		return;
	free(s->inverse);
	free(s->set);
	free(s->row);
	free(s);
}

/* Dot product of row i of the inverse with g. */
static double row_dot(const struct np_nnls *s, size_t i, const double *g)
{
	const double *row = s->inverse + i * s->stride;
	np_pair s0 = { 0 }, s1 = { 0 };

	for (size_t j = 0; j <= i; j += PART) {
		s0 += np_pair_at(row + j) * np_pair_at(g + j);
		s1 += np_pair_at(row + j + 2) * np_pair_at(g + j + 2);
	}
	s0 += s1;
	return s0[0] + s0[1];
}

/* Sum of the first k rows of the inverse, each times its factor. */
static void add_rows(const struct np_nnls *s, const double *times, size_t k,
		     double *to)
{
	for (size_t j = 0; j < k; j += PART) {
		np_pair s0 = { 0 }, s1 = { 0 };

		for (size_t i = j; i < k; i++) {
			const double *row = s->inverse + i * s->stride + j;

			s0 += np_pair_at(row) * times[i];
			s1 += np_pair_at(row + 2) * times[i];
		}
		memcpy(to + j, &s0, sizeof(s0));
		memcpy(to + j + 2, &s1, sizeof(s1));
	}
}

/*
 * The elements of a row of A'A that belong to the passive set, padded with 0 to
 * whole parts.
 */
static void gather(const struct problem *p, const double *from, double *g)
{
	const size_t *set = p->s->set;

	for (size_t i = 0; i < whole_parts(p->k); i += 2) {
		np_pair two = { i < p->k ? from[set[i]] : 0,
				i + 1 < p->k ? from[set[i + 1]] : 0 };

		memcpy(g + i, &two, sizeof(two));
	}
}

/*
 * Append unknown t to the passive set. With g from gather(), the next row of L
 * is l D^-1, where l = L^-1 g, and that of its inverse is -l' D^-1 L^-1. False
 * if t depends on the members.
 */
static bool append(struct problem *p, size_t t)
{
	struct np_nnls *s = p->s;
	const double *from = p->gram + t * p->stride;
	double own = from[t], left = own + p->ridge;
	double *row = s->inverse + p->k * s->stride, f = p->h[t];
	size_t k = p->k;

	gather(p, from, s->work);
	for (size_t i = 0; i < k; i++) {
		double l = row_dot(s, i, s->work);

		s->next[i] = -l * s->d_inverse[i];
		left += l * s->next[i];
		f -= l * s->step[i];
	}
	if (!(left > PIVOT_MIN * own))
		return false;
	add_rows(s, s->next, k, row);
	for (size_t j = k; j < whole_parts(k + 1); j++)
		row[j] = j == k;
	s->d_inverse[k] = 1 / left;
	s->step[k] = f / left;
	s->row[p->k] = from;
	s->set[p->k++] = t;
	return true;
}

/* z: the least-squares solution on the passive set, regardless of sign. */
static void solve_passive(struct problem *p)
{
	add_rows(p->s, p->s->step, p->k, p->s->z);
}

/*
 * Keep the members of the passive set that are still positive, and refactor
 * from the first one removed.
 */
static void refactor(struct problem *p)
{
	size_t *set = p->s->set, old = p->k, i = 0;

	while (i < old && p->x[set[i]] > 0)
		i++;
	for (p->k = i; i < old; i++) {
		size_t t = set[i];

		/* append() writes set[p->k], which is set[i] or before it */
		if (p->x[t] <= 0 || !append(p, t))
			p->x[t] = 0;
	}
}

/*
 * Move x towards z as long as it stays >= 0. Unknowns that reach 0 leave the
 * passive set.
 */
static void step_to_boundary(struct problem *p)
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

static bool is_positive(const double *z, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!(z[i] > 0))
			return false;
	return true;
}

/* Shrink the passive set until the solution on it is positive. */
static void make_feasible(struct problem *p)
{
	while (!is_positive(p->s->z, p->k)) {
		step_to_boundary(p); /* at least one unknown leaves */
		solve_passive(p);
	}
	for (size_t i = 0; i < p->k; i++)
		p->x[p->s->set[i]] = p->s->z[i];
}

/*
 * Improvement of the fit by each of these unknowns alone, if its descent w is
 * above min; otherwise 0.
 */
static np_pair gain(np_pair w, double min, np_pair scale)
{
	const np_pair least = { min, min };

	return (np_pair)((np_pair_mask)(w * w * scale) & (w > least));
}

/*
 * Improvement by NP_LANES unknowns from the given one on. w = h - A'A x, where
 * x is z on the passive set, as make_feasible() leaves it.
 */
static void lane_gains(const struct problem *p, size_t from, double min,
		       double *to)
{
	const double *h = p->h + from, *scale = p->s->scale + from;
	np_pair s0 = np_pair_at(h), s1 = np_pair_at(h + 2);
	np_pair s2 = np_pair_at(h + 4), s3 = np_pair_at(h + 6);

	for (size_t i = 0; i < p->k; i++) {
		const double *g = p->s->row[i] + from;
		double x = p->s->z[i];

		s0 -= np_pair_at(g) * x;
		s1 -= np_pair_at(g + 2) * x;
		s2 -= np_pair_at(g + 4) * x;
		s3 -= np_pair_at(g + 6) * x;
	}
	s0 = gain(s0, min, np_pair_at(scale));
	s1 = gain(s1, min, np_pair_at(scale + 2));
	s2 = gain(s2, min, np_pair_at(scale + 4));
	s3 = gain(s3, min, np_pair_at(scale + 6));
	memcpy(to + from, &s0, sizeof(s0));
	memcpy(to + from + 2, &s1, sizeof(s1));
	memcpy(to + from + 4, &s2, sizeof(s2));
	memcpy(to + from + 6, &s3, sizeof(s3));
}

static double gain_of(const struct problem *p, size_t j, double min)
{
	double w = p->h[j];

	for (size_t i = 0; i < p->k; i++)
		w -= p->s->row[i][j] * p->s->z[i];
	return w > min ? w * w * p->s->scale[j] : 0;
}

/* The maximum, in four chains that do not wait for each other. */
static double largest(const double *v, size_t n)
{
	double a = 0, b = 0, c = 0, d = 0;
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		a = v[i] > a ? v[i] : a;
		b = v[i + 1] > b ? v[i + 1] : b;
		c = v[i + 2] > c ? v[i + 2] : c;
		d = v[i + 3] > d ? v[i + 3] : d;
	}
	for (; i < n; i++)
		a = v[i] > a ? v[i] : a;
	b = a > b ? a : b;
	d = c > d ? c : d;
	return b > d ? b : d;
}

/*
 * The unknown outside the passive set that improves the fit most; n: none. The
 * steepest descent of the book prefers unknowns with large coefficients, which
 * then leave the set again more often.
 */
static size_t next_to_enter(struct problem *p, double min)
{
	double *g = p->s->work, best;
	size_t at = 0, to = p->n - p->n % NP_LANES;

	for (size_t j = 0; j < to; j += NP_LANES)
		lane_gains(p, j, min, g);
	for (size_t j = to; j < p->n; j++)
		g[j] = gain_of(p, j, min);
	for (size_t i = 0; i < p->k; i++)
		g[p->s->set[i]] = 0;
	for (size_t i = 0; i < p->n_refused; i++)
		g[p->s->refused[i]] = 0;
	best = largest(g, p->n);
	if (!(best > 0))
		return p->n;
	while (g[at] < best)
		at++;
	return at;
}

/* Add t to the passive set. False if rounding would remove it at once. */
static bool enter(struct problem *p, size_t t)
{
	if (append(p, t)) {
		if (p->s->step[p->k - 1] > 0) {
			solve_passive(p);
			return true;
		}
		p->k--;
	}
	p->s->refused[p->n_refused++] = t;
	return false;
}

static void start_from_guess(struct problem *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->x[i] > 0 && !append(p, i))
			p->x[i] = 0;
	solve_passive(p);
	make_feasible(p);
}

/* Error message about the first unknown that cannot be computed with. */
static int refuse(const struct problem *p, bool warm, struct np_err *err)
{
	size_t i = 0;

	while (isfinite(p->gram[i * p->stride + i]) && isfinite(p->h[i]) &&
	       (!warm || (p->x[i] >= 0 && isfinite(p->x[i]))))
		i++;
	if (!isfinite(p->gram[i * p->stride + i]) || !isfinite(p->h[i]))
		return np_errf(err, -EINVAL, "least squares: unknown %zu has a "
			       "value that is not finite", i);
	return np_errf(err, -EINVAL, "least squares: guess %zu is %g, expected "
		       ">= 0", i, p->x[i]);
}

/*
 * Checks all numbers and prepares scale. A finite diagonal of A'A is a finite
 * A, so the rest is finite too. *most: the largest |h|.
 */
static int prepare(struct problem *p, bool warm, double *most,
		   struct np_err *err)
{
	bool good = true;

	if (!p->n || p->n > p->s->max)
		return np_errf(err, -EINVAL, "least squares: %zu unknowns, "
			       "expected 1 to %zu", p->n, p->s->max);
	*most = 0;
	for (size_t i = 0; i < p->n; i++) {
		double own = p->gram[i * p->stride + i], h = fabs(p->h[i]);

		good &= isfinite(own) && isfinite(h) &&
			(!warm || (p->x[i] >= 0 && isfinite(p->x[i])));
		p->s->scale[i] = 1 / (own + p->ridge);
		*most = h > *most ? h : *most;
	}
	return good ? 0 : refuse(p, warm, err);
}

int np_nnls_solve(struct np_nnls *s, const double *gram, size_t stride,
		  double ridge, const double *h, size_t n, double *x,
		  bool warm, struct np_err *err)
{
	struct problem p = { s, gram, h, ridge, stride, n, 0, 0, x };
	size_t limit = 10 * n + 10;
	double min = 0;
	int rc = prepare(&p, warm, &min, err);

	if (rc)
		return rc;
	min *= GRADIENT_MIN;
	if (warm)
		start_from_guess(&p);
	else
		memset(x, 0, n * sizeof(*x));
	while (limit--) {
		size_t t = next_to_enter(&p, min);

		if (t == n)
			return 0;
		if (!enter(&p, t))
			continue;
		make_feasible(&p);
		p.n_refused = 0;
	}
	return np_errf(err, -ELOOP, "least squares: no solution in %zu steps",
		       10 * n + 10);
}
