#include "t.h"
#include "np_nnls.h"

#include <gsl/gsl_rng.h>

#define MAX 48

/* Known answers, small enough to check by hand. */
/* clang-format off */
static const struct {
	const char *name;
	size_t rows, n;
	double a[12], b[4], want[4];
} known[] = {
	{ "one unknown", 2, 1, { 1, 1 }, { 1, 3 }, { 2 } },
	{ "one unknown that would be negative stays at zero", 2, 1, { 1, 1 },
	  { -1, -3 }, { 0 } },
	{ "the free solution if it is positive", 2, 2, { 1, 0, 0, 2 },
	  { 3, 4 }, { 3, 2 } },
	{ "one unknown at the border changes the other", 2, 2, { 1, 1, 0, 1 },
	  { 1, -1 }, { 1, 0 } },
	{ "an unknown that entered first may leave again", 3, 2,
	  { 2, 1, 2, 0, 1, 0 }, { 1, 0, 0 }, { 0, 1 } },
	{ "a column of zeros is left at zero", 2, 2, { 0, 1, 0, 1 }, { 2, 2 },
	  { 0, 2 } },
	{ "all columns zero", 2, 2, { 0, 0, 0, 0 }, { 1, 1 }, { 0, 0 } },
	{ "nothing to explain", 2, 2, { 1, 2, 3, 4 }, { 0, 0 }, { 0, 0 } },
};
/* clang-format on */

/* From A itself: rows x n, row after row. */
static int solve(const double *a, const double *b, size_t rows, size_t n,
		 double *x, struct np_err *err)
{
	struct np_nnls *s = np_nnls_new(n ? n : 1);
	double *gram = calloc(n * n + n + 1, sizeof(*gram));
	int rc;

	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < n; i++) {
			double v = a[r * n + i];

			for (size_t j = 0; j < n; j++)
				gram[i * n + j] += v * a[r * n + j];
			gram[n * n + i] += v * b[r];
		}
	rc = np_nnls_solve(s, gram, n, 0, gram + n * n, n, x, false, err);
	free(gram);
	np_nnls_free(s);
	return rc;
}

T_TEST("small problems with known answers")
{
	T_EACH(r, known) {
		double x[4];
		int ok = !solve(r->a, r->b, r->rows, r->n, x, NULL);

		for (size_t j = 0; ok && j < r->n; j++)
			ok = fabs(x[j] - r->want[j]) < 1e-12;
		T_ROW(r->name, ok);
	}
}

/*
 * Karush-Kuhn-Tucker: x is the minimum if and only if x >= 0, the gradient
 * A'(b - Ax) is nowhere positive, and it is 0 where x > 0.
 */
static int optimal(const double *a, const double *b, size_t rows, size_t n,
		   const double *x)
{
	double r[2 * MAX], scale = 0, w;

	for (size_t i = 0; i < rows; i++) {
		r[i] = b[i];
		for (size_t j = 0; j < n; j++)
			r[i] -= a[i * n + j] * x[j];
	}
	for (size_t j = 0; j < n; j++) {
		double s = 0;

		for (size_t i = 0; i < rows; i++)
			s += fabs(a[i * n + j]) * (fabs(b[i]) + fabs(r[i]));
		scale = fmax(scale, s);
	}
	for (size_t j = 0; j < n; j++) {
		w = 0;
		for (size_t i = 0; i < rows; i++)
			w += a[i * n + j] * r[i];
		if (x[j] < 0 || !isfinite(x[j]) || w > 1e-9 * scale + 1e-300 ||
		    (x[j] > 0 && fabs(w) > 1e-9 * scale + 1e-300))
			return 0;
	}
	return 1;
}

/* Kinds of degenerate problem; what(...) spoils a random one. */
enum kind { FULL, WIDE, ZERO_COLUMNS, TWINS, LOW_RANK, CONSTANT, TINY, HUGE_ };

static const struct {
	const char *name;
	enum kind kind;
	size_t rows, n;
} shapes[] = {
	{ "random, more equations than unknowns", FULL, 60, 41 },
	{ "random, square", FULL, 24, 24 },
	{ "random, more unknowns than equations", WIDE, 7, 41 },
	{ "columns of zeros among others", ZERO_COLUMNS, 30, 20 },
	{ "every column twice", TWINS, 30, 20 },
	{ "rank 3 of 20", LOW_RANK, 30, 20 },
	{ "all columns the same", CONSTANT, 30, 20 },
	{ "values around 1e-7", TINY, 30, 20 },
	{ "values around 1e7", HUGE_, 30, 20 },
};

static double entry(enum kind kind, gsl_rng *g, const double *row, size_t i,
		    size_t j, const double *basis)
{
	double u = 2 * gsl_rng_uniform(g) - 0.7;

	switch (kind) {
	case ZERO_COLUMNS:
		return j % 3 ? u : 0;
	case TWINS:
		return j % 2 ? row[j - 1] : u;
	case LOW_RANK:
		return basis[i] * cos(j) + basis[i + MAX] * sin(j) +
		       basis[(i + 2 * MAX)] * j / 7.0;
	case CONSTANT:
		return basis[i];
	case TINY:
		return u * 1e-7;
	case HUGE_:
		return u * 1e7;
	default:
		return u;
	}
}

static int random_problem(size_t shape, gsl_rng *g)
{
	size_t rows = shapes[shape].rows, n = shapes[shape].n;
	double a[2 * MAX * MAX], b[2 * MAX], x[MAX], basis[4 * MAX];

	for (size_t i = 0; i < NP_ARRAY_SIZE(basis); i++)
		basis[i] = gsl_rng_uniform(g) - 0.3;
	for (size_t i = 0; i < rows; i++) {
		for (size_t j = 0; j < n; j++)
			a[i * n + j] = entry(shapes[shape].kind, g, a + i * n,
					     i, j, basis);
		b[i] = 3 * gsl_rng_uniform(g) - 1;
	}
	return !solve(a, b, rows, n, x, NULL) && optimal(a, b, rows, n, x);
}

T_TEST("the answer meets the optimality conditions")
{
	gsl_rng *g = gsl_rng_alloc(gsl_rng_taus2);

	for (size_t s = 0; s < NP_ARRAY_SIZE(shapes); s++) {
		int good = 0;

		for (int i = 0; i < 200; i++)
			good += random_problem(s, g);
		T_ROW(shapes[s].name, good == 200);
	}
	gsl_rng_free(g);
}

/* The check itself must be able to fail. */
T_TEST("the optimality check can fail")
{
	const double a[4] = { 1, 0, 0, 2 }, b[2] = { 3, 4 };
	const double right[2] = { 3, 2 }, wrong[2] = { 3, 1.99 };
	const double negative[2] = { 3, -1 }, idle[2] = { 3, 0 };

	T_CHECK(optimal(a, b, 2, 2, right));
	T_CHECK(!optimal(a, b, 2, 2, wrong));
	T_CHECK(!optimal(a, b, 2, 2, negative));
	T_CHECK(!optimal(a, b, 2, 2, idle));
}

/* A warm start may take another way but must arrive at the same place. */
T_TEST("a warm start gives the same answer")
{
	gsl_rng *g = gsl_rng_alloc(gsl_rng_taus2);
	struct np_nnls *s = np_nnls_new(12);
	double gram[144], h[12], cold[12], warm[12], a[30 * 12];
	int same = 0;

	for (int i = 0; i < 200; i++) {
		for (size_t j = 0; j < NP_ARRAY_SIZE(a); j++)
			a[j] = gsl_rng_uniform(g);
		memset(gram, 0, sizeof(gram));
		for (size_t r = 0; r < 30; r++)
			for (size_t j = 0; j < 144; j++)
				gram[j] +=
					a[r * 12 + j / 12] * a[r * 12 + j % 12];
		for (size_t j = 0; j < 12; j++) {
			h[j] = 10 * gsl_rng_uniform(g) - 3;
			warm[j] = fmax(0, gsl_rng_uniform(g) - 0.5);
		}
		if (np_nnls_solve(s, gram, 12, 0, h, 12, cold, false, NULL) ||
		    np_nnls_solve(s, gram, 12, 0, h, 12, warm, true, NULL))
			continue;
		same++;
		for (size_t j = 0; j < 12; j++)
			if (fabs(cold[j] - warm[j]) > 1e-8)
				same--, j = 12;
	}
	T_CHECK(same == 200);
	np_nnls_free(s);
	gsl_rng_free(g);
}

T_TEST("a ridge draws to zero")
{
	struct np_nnls *s = np_nnls_new(2);
	double gram[4] = { 2, 0, 0, 2 }, h[2] = { 2, -1 }, x[2];

	T_CHECK(!np_nnls_solve(s, gram, 2, 0, h, 2, x, false, NULL));
	T_CHECK(fabs(x[0] - 1) < 1e-12 && x[1] == 0);
	T_CHECK(!np_nnls_solve(s, gram, 2, 2, h, 2, x, false, NULL));
	T_CHECK(fabs(x[0] - 0.5) < 1e-12 && x[1] == 0);
	np_nnls_free(s);
}

T_TEST("impossible problems are refused")
{
	struct np_nnls *s = np_nnls_new(2);
	struct np_err err = NP_ERR_INIT;
	double gram[4] = { 1, 0, 0, 1 }, h[2] = { 1, NAN }, x[2] = { 0, -1 };

	T_CHECK(np_nnls_solve(s, gram, 2, 0, h, 2, x, false, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "not finite") != NULL);
	h[1] = 1;
	T_CHECK(np_nnls_solve(s, gram, 2, 0, h, 2, x, true, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "guess 1 is -1") != NULL);
	T_CHECK(np_nnls_solve(s, gram, 2, 0, h, 3, x, false, &err) == -EINVAL);
	T_CHECK(solve(gram, h, 1, 0, x, &err) == -EINVAL);
	T_CHECK(np_nnls_new(0) == NULL);
	T_CHECK(np_nnls_new(NP_NNLS_MAX + 1) == NULL);
	np_nnls_free(s);
	np_nnls_free(NULL);
}
