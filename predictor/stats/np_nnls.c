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
	double *z;     /* unconstrained solution on the passive set */
	double *scale; /* 1 / the diagonal of A'A, by unknown */
	double *work, *next;
	size_t *set;	    /* the passive set, in order of entry */
	const double **row; /* row of A'A of each member of the set */
	size_t *refused;    /* rejected until x changes */
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
	struct np_nnls *nnls;

	if (!n || n > NP_NNLS_MAX)
		return NULL;
	nnls = calloc(1, sizeof(*nnls));
	if (!nnls)
		return NULL;
	nnls->max = n;
	nnls->stride = whole_parts(n);
	nnls->inverse = malloc((n + 6) * nnls->stride * sizeof(double));
	nnls->set = malloc(2 * n * sizeof(*nnls->set));
	nnls->row = malloc(n * sizeof(*nnls->row));
	if (!nnls->inverse || !nnls->set || !nnls->row) {
		np_nnls_free(nnls);
		return NULL;
	}
	nnls->d_inverse = nnls->inverse + n * nnls->stride;
	nnls->step = nnls->d_inverse + nnls->stride;
	nnls->z = nnls->step + nnls->stride;
	nnls->scale = nnls->z + nnls->stride;
	nnls->work = nnls->scale + nnls->stride;
	nnls->next = nnls->work + nnls->stride;
	nnls->refused = nnls->set + n;
	return nnls;
}

void np_nnls_free(struct np_nnls *nnls)
{
	if (!nnls)
		return;
	free(nnls->inverse);
	free(nnls->set);
	free(nnls->row);
	free(nnls);
}

/* Dot product of row i of the inverse with g. */
static double row_dot(const struct np_nnls *nnls, size_t i, const double *g)
{
	const double *row = nnls->inverse + i * nnls->stride;
	np_pair s0 = { 0 }, s1 = { 0 };

	for (size_t j = 0; j <= i; j += PART) {
		s0 += np_pair_at(row + j) * np_pair_at(g + j);
		s1 += np_pair_at(row + j + 2) * np_pair_at(g + j + 2);
	}
	s0 += s1;
	return s0[0] + s0[1];
}

/* Sum of the first k rows of the inverse, each times its factor. */
static void add_rows(const struct np_nnls *nnls, const double *times, size_t k,
		     double *to)
{
	for (size_t j = 0; j < k; j += PART) {
		np_pair s0 = { 0 }, s1 = { 0 };

		for (size_t i = j; i < k; i++) {
			const double *row =
				nnls->inverse + i * nnls->stride + j;

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
static void gather(const struct problem *problem, const double *from, double *g)
{
	const size_t *set = problem->s->set;

	for (size_t i = 0; i < whole_parts(problem->k); i += 2) {
		np_pair two = { i < problem->k ? from[set[i]] : 0,
				i + 1 < problem->k ? from[set[i + 1]] : 0 };

		memcpy(g + i, &two, sizeof(two));
	}
}

/*
 * Append unknown t to the passive set. With g from gather(), the next row of L
 * is l D^-1, where l = L^-1 g, and that of its inverse is -l' D^-1 L^-1. False
 * if t depends on the members.
 */
static bool append(struct problem *problem, size_t t)
{
	struct np_nnls *nnls = problem->s;
	const double *from = problem->gram + t * problem->stride;
	double own = from[t], left = own + problem->ridge;
	double *row = nnls->inverse + problem->k * nnls->stride,
	       f = problem->h[t];
	size_t k = problem->k;

	gather(problem, from, nnls->work);
	for (size_t i = 0; i < k; i++) {
		double l = row_dot(nnls, i, nnls->work);

		nnls->next[i] = -l * nnls->d_inverse[i];
		left += l * nnls->next[i];
		f -= l * nnls->step[i];
	}
	if (!(left > PIVOT_MIN * own))
		return false;
	add_rows(nnls, nnls->next, k, row);
	for (size_t j = k; j < whole_parts(k + 1); j++)
		row[j] = j == k;
	nnls->d_inverse[k] = 1 / left;
	nnls->step[k] = f / left;
	nnls->row[problem->k] = from;
	nnls->set[problem->k++] = t;
	return true;
}

/* z: the least-squares solution on the passive set, regardless of sign. */
static void solve_passive(struct problem *problem)
{
	add_rows(problem->s, problem->s->step, problem->k, problem->s->z);
}

/*
 * Keep the members of the passive set that are still positive, and refactor
 * from the first one removed.
 */
static void refactor(struct problem *problem)
{
	size_t *set = problem->s->set, old = problem->k, i = 0;

	while (i < old && problem->x[set[i]] > 0)
		i++;
	for (problem->k = i; i < old; i++) {
		size_t t = set[i];

		/*
		 * append() writes set[problem->k], which is set[i] or before it
		 */
		if (problem->x[t] <= 0 || !append(problem, t))
			problem->x[t] = 0;
	}
}

/*
 * Move x towards z as long as it stays >= 0. Unknowns that reach 0 leave the
 * passive set.
 */
static void step_to_boundary(struct problem *problem)
{
	const double *z = problem->s->z;
	const size_t *set = problem->s->set;
	size_t hit = problem->k;
	double alpha = 1;

	for (size_t i = 0; i < problem->k; i++) {
		double x = problem->x[set[i]], a;

		if (z[i] > 0)
			continue;
		a = x / (x - z[i]);
		if (hit == problem->k || a < alpha) {
			alpha = a;
			hit = i;
		}
	}
	for (size_t i = 0; i < problem->k; i++) {
		double *x = problem->x + set[i];

		*x += alpha * (z[i] - *x);
		if (i == hit || *x < 0)
			*x = 0;
	}
	refactor(problem);
}

static bool is_positive(const double *z, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!(z[i] > 0))
			return false;
	return true;
}

/* Shrink the passive set until the solution on it is positive. */
static void make_feasible(struct problem *problem)
{
	while (!is_positive(problem->s->z, problem->k)) {
		step_to_boundary(problem); /* at least one unknown leaves */
		solve_passive(problem);
	}
	for (size_t i = 0; i < problem->k; i++)
		problem->x[problem->s->set[i]] = problem->s->z[i];
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
static void lane_gains(const struct problem *problem, size_t from, double min,
		       double *to)
{
	const double *h = problem->h + from, *scale = problem->s->scale + from;
	np_pair s0 = np_pair_at(h), s1 = np_pair_at(h + 2);
	np_pair s2 = np_pair_at(h + 4), s3 = np_pair_at(h + 6);

	for (size_t i = 0; i < problem->k; i++) {
		const double *g = problem->s->row[i] + from;
		double x = problem->s->z[i];

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

static double gain_of(const struct problem *problem, size_t j, double min)
{
	double w = problem->h[j];

	for (size_t i = 0; i < problem->k; i++)
		w -= problem->s->row[i][j] * problem->s->z[i];
	return w > min ? w * w * problem->s->scale[j] : 0;
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
static size_t next_to_enter(struct problem *problem, double min)
{
	double *g = problem->s->work, best;
	size_t at = 0, to = problem->n - problem->n % NP_LANES;

	for (size_t j = 0; j < to; j += NP_LANES)
		lane_gains(problem, j, min, g);
	for (size_t j = to; j < problem->n; j++)
		g[j] = gain_of(problem, j, min);
	for (size_t i = 0; i < problem->k; i++)
		g[problem->s->set[i]] = 0;
	for (size_t i = 0; i < problem->n_refused; i++)
		g[problem->s->refused[i]] = 0;
	best = largest(g, problem->n);
	if (!(best > 0))
		return problem->n;
	while (g[at] < best)
		at++;
	return at;
}

/* Add t to the passive set. False if rounding would remove it at once. */
static bool enter(struct problem *problem, size_t t)
{
	if (append(problem, t)) {
		if (problem->s->step[problem->k - 1] > 0) {
			solve_passive(problem);
			return true;
		}
		problem->k--;
	}
	problem->s->refused[problem->n_refused++] = t;
	return false;
}

static void start_from_guess(struct problem *problem)
{
	for (size_t i = 0; i < problem->n; i++)
		if (problem->x[i] > 0 && !append(problem, i))
			problem->x[i] = 0;
	solve_passive(problem);
	make_feasible(problem);
}

/* Error message about the first unknown that cannot be computed with. */
static int refuse(const struct problem *problem, bool warm, struct np_err *err)
{
	size_t i = 0;

	while (isfinite(problem->gram[i * problem->stride + i]) &&
	       isfinite(problem->h[i]) &&
	       (!warm || (problem->x[i] >= 0 && isfinite(problem->x[i]))))
		i++;
	if (!isfinite(problem->gram[i * problem->stride + i]) ||
	    !isfinite(problem->h[i]))
		return np_errf(err, -EINVAL,
			       "least squares: unknown %zu has a value that is "
			       "not finite",
			       i);
	return np_errf(err, -EINVAL,
		       "least squares: guess %zu is %g, expected >= 0", i,
		       problem->x[i]);
}

/*
 * Checks all numbers and prepares scale. A finite diagonal of A'A is a finite
 * A, so the rest is finite too. *most: the largest |h|.
 */
static int prepare(struct problem *problem, bool warm, double *most,
		   struct np_err *err)
{
	bool good = true;

	if (!problem->n || problem->n > problem->s->max)
		return np_errf(err, -EINVAL,
			       "least squares: %zu unknowns, expected 1 to %zu",
			       problem->n, problem->s->max);
	*most = 0;
	for (size_t i = 0; i < problem->n; i++) {
		double own = problem->gram[i * problem->stride + i],
		       h = fabs(problem->h[i]);

		good &= isfinite(own) && isfinite(h) &&
			(!warm ||
			 (problem->x[i] >= 0 && isfinite(problem->x[i])));
		problem->s->scale[i] = 1 / (own + problem->ridge);
		*most = h > *most ? h : *most;
	}
	return good ? 0 : refuse(problem, warm, err);
}

int np_nnls_solve(struct np_nnls *nnls, const double *gram, size_t stride,
		  double ridge, const double *h, size_t n, double *x, bool warm,
		  struct np_err *err)
{
	struct problem p = { nnls, gram, h, ridge, stride, n, 0, 0, x };
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
