#include "t.h"
#include "np_queue.h"

#define N 8

/* clang-format off */
static const struct {
	const char *name;
	enum np_curve_shape shape;
	size_t n;
	double utilisation[N], slow[N];
	double at, want;
	bool outside;
} rows[] = {
	{ "a line through two points", NP_CURVE_LINE, 2, { 0.2, 0.6 },
	  { 0.1, 0.5 }, 0.4, 0.3, false },
	{ "the least-squares line of three", NP_CURVE_LINE, 3,
	  { 0.1, 0.2, 0.3 }, { 0, 0.3, 0.3 }, 0.2, 0.2, false },
	{ "equal utilisations count each", NP_CURVE_LINE, 4,
	  { 0.1, 0.1, 0.1, 0.3 }, { 0.3, 0.3, 0, 0.4 }, 0.1, 0.2, false },
	{ "a line below zero is cut", NP_CURVE_LINE, 2, { 0.2, 0.6 },
	  { -0.2, 0.2 }, 0.3, 0, false },
	{ "a line is not continued below the range", NP_CURVE_LINE, 2,
	  { 0.2, 0.6 }, { 0.1, 0.5 }, 0.1, 0.1, true },
	{ "nor above it", NP_CURVE_LINE, 2, { 0.2, 0.6 }, { 0.1, 0.5 }, 0.9,
	  0.5, true },
	{ "a saturated level is not fitted, but is range", NP_CURVE_LINE, 3,
	  { 0.2, 0.6, 0.99 }, { 0.1, 0.5, 9 }, 0.9, 0.8, false },
	{ "isotonic goes straight between neighbours", NP_CURVE_ISOTONIC, 3,
	  { 0.6, 0.2, 0.4 }, { 0.9, 0.1, 0.3 }, 0.5, 0.6, false },
	{ "isotonic hits points that rise", NP_CURVE_ISOTONIC, 3,
	  { 0.6, 0.2, 0.4 }, { 0.9, 0.1, 0.3 }, 0.4, 0.3, false },
	{ "isotonic pools what falls", NP_CURVE_ISOTONIC, 4,
	  { 0.2, 0.4, 0.6, 0.8 }, { 0.1, 0.5, 0.3, 0.9 }, 0.6, 0.4, false },
	{ "isotonic pools back as far as needed", NP_CURVE_ISOTONIC, 4,
	  { 0.2, 0.4, 0.6, 0.8 }, { 0.4, 0.5, 0.6, 0.1 }, 0.2, 0.4, false },
	{ "isotonic of a falling curve is its mean", NP_CURVE_ISOTONIC, 3,
	  { 0.2, 0.4, 0.6 }, { 0.6, 0.3, 0 }, 0.5, 0.3, false },
	{ "isotonic weighs equal utilisations", NP_CURVE_ISOTONIC, 4,
	  { 0.2, 0.2, 0.2, 0.4 }, { 0.4, 0.4, 0.4, 0 }, 0.4, 0.3, false },
};
/* clang-format on */

T_TEST("each shape goes where it should")
{
	double curve[NP_CURVE_DIM(N)];

	T_EACH(r, rows) {
		bool outside = false;
		int ok = !np_curve_fit(r->shape, r->utilisation, r->slow, r->n,
				       curve, NULL);
		double got = ok ? np_curve_at(curve, r->at, &outside) : NAN;

		T_ROW(r->name,
		      fabs(got - r->want) < 1e-12 && outside == r->outside);
	}
}

static const struct {
	const char *name;
	size_t n;
	double utilisation[N];
} refused[] = {
	{ "no level", 0, { 0 } },
	{ "one level", 1, { 0.5 } },
	{ "two levels of one utilisation", 2, { 0.5, 0.5 } },
	{ "only one below saturation", 3, { 0.5, 0.97, 0.99 } },
};

T_TEST("too few levels make no curve")
{
	static const double slow[N];
	double curve[NP_CURVE_DIM(N)];

	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, np_curve_fit(NP_CURVE_LINE, r->utilisation, slow,
					    r->n, curve, &err) == -EDOM &&
				       strstr(err.text, "expected at least 2"));
	}
}
