#include "np_loggps_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "np_moments.h"

/*
 * Bytes cost as much as everything else once a message takes this many times as
 * long as the shortest.
 */
#define BULK 2
#define SPAN 8		 /* largest size over smallest size for the slope */
#define LEAST_STEP 0.5	 /* relative to the time of the shortest message */
#define LEAST_SHARE 0.05 /* relative to the time at the step */

/* Half round trips: sec[block * n_sizes + size]. */
struct trips {
	size_t n_blocks, n_sizes;
	uint32_t bytes[NP_LOGGPS_MAX_SIZES]; /* ascending */
	double *sec;
	/* Likewise: both overheads together; NAN where not measured. */
	double *overhead;
	double *column; /* buffer for one value of each block */
};

/* Values that one block gives for the shortest messages. */
enum { LATENCY, GAP, SEND, RECV, N_SHORT };

struct work {
	const struct np_prtt *sample; /* sorted by compare() */
	size_t n;
	struct trips trips;
	double (*short_values)[N_SHORT]; /* by block */
	double *times; /* buffer for the times of one kind in one block */
};

/* ---- Input ---- */

static int order(double a, double b)
{
	return (a > b) - (a < b);
}

/* By block, number of messages, pause and size; 0 if of the same kind. */
static int compare(const void *x, const void *y)
{
	const struct np_prtt *a = x, *b = y;
	int d = order(a->block, b->block);

	d = d ? d : order(a->n, b->n);
	/*
	 * The length of a pause varies with earlier results: only its presence
	 * counts.
	 */
	if (!d && a->n)
		d = order(a->delay_sec > 0, b->delay_sec > 0);
	return d ? d : order(a->bytes, b->bytes);
}

/* Checks one sample. */
static int check(const struct np_prtt *s, size_t i, struct np_err *err)
{
	if (s->block < NP_LOGGPS_MAX_BLOCKS && isfinite(s->sec) && s->sec > 0 &&
	    isfinite(s->delay_sec) && s->delay_sec >= 0 && (!s->n || s->bytes))
		return 0;
	return np_errf(
		err, -EINVAL,
		"measurement %zu: block %u, %u messages of %u bytes, pause %g "
		"s, %g s: expected times above 0 and fewer than %d blocks",
		i, s->block, s->n, s->bytes, s->delay_sec, s->sec,
		NP_LOGGPS_MAX_BLOCKS);
}

static int is_trip(const struct np_prtt *s)
{
	return s->n == 1 && !(s->delay_sec > 0);
}

/* Inserts a size into the sorted list of sizes. */
static int add_size(struct trips *t, uint32_t bytes, struct np_err *err)
{
	size_t i = 0;

	while (i < t->n_sizes && t->bytes[i] < bytes)
		i++;
	if (i < t->n_sizes && t->bytes[i] == bytes)
		return 0;
	if (t->n_sizes == NP_LOGGPS_MAX_SIZES)
		return np_errf(err, -EINVAL, "more than %d sizes of messages",
			       NP_LOGGPS_MAX_SIZES);
	for (size_t j = t->n_sizes++; j > i; j--)
		t->bytes[j] = t->bytes[j - 1];
	t->bytes[i] = bytes;
	return 0;
}

/*
 * Number of samples of the same kind as the first, and their median less
 * pauses.
 */
static size_t read_kind(const struct work *w, size_t at, double *sec)
{
	const struct np_prtt *s = w->sample + at;
	size_t n = 0;

	while (at + n < w->n && !compare(s, s + n)) {
		w->times[n] =
			s[n].sec - (s[n].n ? s[n].n - 1 : 0) * s[n].delay_sec;
		n++;
	}
	*sec = np_median(w->times, n);
	return n;
}

/* Index of a size, n_sizes if it has none; samples without one: the first. */
static size_t size_index(const struct trips *t, uint32_t bytes)
{
	size_t i = 0;

	while (bytes && i < t->n_sizes && t->bytes[i] != bytes)
		i++;
	return i;
}

/*
 * Reads one block into row b of the trips. Returns its number of samples;
 * *whole: whether it has all kinds.
 */
static size_t read_block(struct work *w, size_t at, size_t b, int *whole)
{
	struct trips *t = &w->trips;
	double *trip = t->sec + b * t->n_sizes, sec;
	double *overhead = t->overhead + b * t->n_sizes;
	double *out = w->short_values[b], recv[NP_LOGGPS_MAX_SIZES];
	uint32_t block = w->sample[at].block;
	size_t begin = at;

	out[LATENCY] = out[GAP] = out[SEND] = out[RECV] = NAN;
	for (size_t i = 0; i < t->n_sizes; i++)
		trip[i] = overhead[i] = recv[i] = NAN;
	while (at < w->n && w->sample[at].block == block) {
		const struct np_prtt *s = &w->sample[at];
		size_t i = size_index(t, s->bytes);

		at += read_kind(w, at, &sec);
		if (i == t->n_sizes)
			continue;
		/* The order of samples: receiving, trips, gap, sending. */
		if (!s->n) {
			recv[i] = sec;
		} else if (is_trip(s)) {
			trip[i] = sec / 2;
		} else if (s->n > 1 && s->delay_sec > 0) {
			sec = (sec - 2 * trip[i]) / (s->n - 1);
			overhead[i] = sec + recv[i];
			out[SEND] = i ? out[SEND] : sec;
		} else if (s->n > 1 && !i) {
			out[GAP] = (sec - 2 * trip[i]) / (s->n - 1);
		}
	}
	*whole = isfinite(trip[0] + out[GAP] + out[SEND] + recv[0]);
	out[RECV] = fmin(recv[0], trip[0]);
	out[SEND] = fmin(out[SEND], trip[0] - out[RECV]);
	/* Rounding may leave a negative rest. */
	out[LATENCY] = fmax(trip[0] - out[SEND] - out[RECV], 0);
	return at - begin;
}

/* Whether every size of a block was measured. */
static int has_all_sizes(const struct trips *t, size_t b)
{
	for (size_t i = 0; i < t->n_sizes; i++)
		if (!isfinite(t->sec[b * t->n_sizes + i]))
			return 0;
	return 1;
}

/* Reads all blocks; incomplete ones are overwritten by the next. */
static void read_blocks(struct work *w)
{
	struct trips *t = &w->trips;

	for (size_t at = 0; at < w->n;) {
		int whole;

		at += read_block(w, at, t->n_blocks, &whole);
		t->n_blocks += whole && has_all_sizes(t, t->n_blocks);
	}
}

/* ---- Medians over blocks, and the start of the rendezvous protocol ---- */

/*
 * The median of x[n], n > 0, and its confidence interval; sorts x. The interval
 * is between ranks k and n + 1 - k with the largest k for which the true median
 * lies outside with a probability of at most (1 - confidence) / 2 on each side.
 */
static struct np_loggps_value interval(double *x, size_t n, double confidence)
{
	const double tail = (1 - confidence) / 2;
	const double value = np_median(x, n);
	size_t k = 0;

	while (k + 1 <= n / 2 &&
	       gsl_cdf_binomial_P((unsigned)k, 0.5, (unsigned)n) <= tail)
		k++;
	k = k ? k - 1 : 0;
	return (struct np_loggps_value){ value, x[k], x[n - 1 - k] };
}

/* Median over blocks of one size. */
static double median_trip(const struct trips *t, size_t size)
{
	for (size_t b = 0; b < t->n_blocks; b++)
		t->column[b] = t->sec[b * t->n_sizes + size];
	return np_median(t->column, t->n_blocks);
}

/* Sums over one side of a step. */
struct side {
	/* means; sums of squares and products about them */
	double x, y, xx, xy;
};

/* Means and sums of squares over one side of a step. */
static struct side sums(const uint32_t *x, const double *y)
{
	struct side s = { 0 };

	for (size_t i = 0; i < NP_LOGGPS_SIDE; i++) {
		s.x += (double)x[i] / NP_LOGGPS_SIDE;
		s.y += y[i] / NP_LOGGPS_SIDE;
	}
	for (size_t i = 0; i < NP_LOGGPS_SIDE; i++) {
		s.xx += ((double)x[i] - s.x) * ((double)x[i] - s.x);
		s.xy += ((double)x[i] - s.x) * (y[i] - s.y);
	}
	return s;
}

/* Height of a step between sizes at - 1 and at. */
static double step_of(const uint32_t *bytes, const double *sec, size_t at)
{
	size_t from = at - NP_LOGGPS_SIDE;
	struct side a = sums(bytes + from, sec + from);
	struct side b = sums(bytes + at, sec + at);
	double middle = ((double)bytes[at - 1] + bytes[at]) / 2;
	double slope = (a.xy + b.xy) / (a.xx + b.xx);
	double one = b.y - a.y - slope * (b.x - a.x);
	double two = b.y + b.xy / b.xx * (middle - b.x) -
		     (a.y + a.xy / a.xx * (middle - a.x));

	return fmin(one, two);
}

/*
 * Index of the first size of the rendezvous protocol, 0 if none; *step: its
 * cost.
 */
static size_t find_step(const struct trips *t, struct np_loggps_value *step)
{
	double sec[NP_LOGGPS_MAX_SIZES], most = 0;
	struct np_loggps_value sure;
	size_t best = 0;

	*step = (struct np_loggps_value){ 0 };
	for (size_t i = 0; i < t->n_sizes; i++)
		sec[i] = median_trip(t, i);
	for (size_t i = NP_LOGGPS_SIDE; i + NP_LOGGPS_SIDE <= t->n_sizes; i++) {
		double here = step_of(t->bytes, sec, i);

		if (here > most && here >= LEAST_STEP * sec[0] &&
		    here >= LEAST_SHARE * sec[i]) {
			most = here;
			best = i;
		}
	}
	if (!best)
		return 0;
	for (size_t b = 0; b < t->n_blocks; b++)
		t->column[b] = step_of(t->bytes, t->sec + b * t->n_sizes, best);
	/*
	 * The largest of many: correct its confidence for their number
	 * (Bonferroni).
	 */
	sure = interval(t->column, t->n_blocks,
			1 - (1 - NP_LOGGPS_CONFIDENCE) / (double)t->n_sizes);
	if (sure.low < LEAST_STEP * sec[0] ||
	    sure.low < LEAST_SHARE * sec[best])
		return 0;
	*step = interval(t->column, t->n_blocks, NP_LOGGPS_CONFIDENCE);
	return best;
}

/* ---- Results ---- */

/* Index of the first size that enters the slope; 0 if too few are longer. */
static size_t bulk_from(const struct trips *t)
{
	double shortest = median_trip(t, 0);
	size_t i = 0;

	while (i < t->n_sizes &&
	       (median_trip(t, i) < BULK * shortest ||
		t->bytes[i] < t->bytes[t->n_sizes - 1] / SPAN))
		i++;
	return i + NP_LOGGPS_LEAST <= t->n_sizes ? i : 0;
}

/*
 * Slope of y over x by least squares with weights 1 / y^2. If step is within
 * the range, each side has an intercept of its own.
 */
static double slope(const uint32_t *x, const double *y, size_t from, size_t n,
		    size_t step)
{
	double xx = 0, xy = 0;
	size_t end;

	for (; from < n; from = end) {
		double sw = 0, mx = 0, my = 0;

		end = from < step && step < n ? step : n;
		for (size_t i = from; i < end; i++) {
			double wi = 1 / (y[i] * y[i]);

			sw += wi;
			mx += wi * x[i];
			my += wi * y[i];
		}
		for (size_t i = from; i < end; i++) {
			double dx = x[i] - mx / sw;

			xx += dx * dx / (y[i] * y[i]);
			xy += dx * (y[i] - my / sw) / (y[i] * y[i]);
		}
	}
	return xy / xx;
}

/*
 * Overhead per byte in block b, from the sizes up to the one at end; NAN if
 * they do not determine it.
 */
static double copy_slope(const struct trips *t, size_t b, size_t end)
{
	const double *overhead = t->overhead + b * t->n_sizes;
	uint32_t x[NP_LOGGPS_MAX_SIZES];
	double y[NP_LOGGPS_MAX_SIZES];
	size_t n = 0;

	for (size_t i = 0; i < end; i++) {
		if (!(overhead[i] > 0)) /* nor if it is NAN */
			continue;
		x[n] = t->bytes[i];
		y[n++] = overhead[i] / 2;
	}
	return n > 1 && x[n - 1] >= NP_LOGGPS_COPIED ?
		       fmax(0, slope(x, y, 0, n, n)) :
		       NAN;
}

/* Rejects results that no network can have. */
static int check_plausible(const struct np_loggps_fit *f, struct np_err *err)
{
	const struct {
		const char *name;
		double value;
	} all[] = {
		{ "latency L", f->L.value },
		{ "overhead o of sending", f->o_send.value },
		{ "overhead o of receiving", f->o_recv.value },
		{ "gap g", f->g.value },
		{ "time per byte G", f->G.value },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(all); i++)
		if (!isfinite(all[i].value) || all[i].value < 0)
			return np_errf(err, -EDOM,
				       "%s would be %g s, not above 0: was the "
				       "machine disturbed?",
				       all[i].name, all[i].value);
	return 0;
}

/* Computes all parameters from the complete blocks. */
static int fit(struct work *w, struct np_loggps_fit *out, struct np_err *err)
{
	const struct trips *t = &w->trips;
	struct np_loggps_value *const value[] = {
		[LATENCY] = &out->L,
		[GAP] = &out->g,
		[SEND] = &out->o_send,
		[RECV] = &out->o_recv,
	};
	size_t step = find_step(t, &out->step), from = bulk_from(t), n = 0;

	out->n_blocks = (uint32_t)t->n_blocks;
	out->n_sizes = (uint32_t)t->n_sizes;
	out->bytes_min = t->bytes[0];
	out->bytes_max = t->bytes[t->n_sizes - 1];
	out->S = step ? t->bytes[step - 1] : 0;
	out->S_above = step ? t->bytes[step] : 0;
	for (size_t k = 0; k < N_SHORT; k++) {
		for (size_t b = 0; b < t->n_blocks; b++)
			t->column[b] = w->short_values[b][k];
		*value[k] =
			interval(t->column, t->n_blocks, NP_LOGGPS_CONFIDENCE);
	}
	for (size_t b = 0; b < t->n_blocks; b++)
		t->column[b] = slope(t->bytes, t->sec + b * t->n_sizes, from,
				     t->n_sizes, step);
	out->G = interval(t->column, t->n_blocks, NP_LOGGPS_CONFIDENCE);
	for (size_t b = 0; b < t->n_blocks; b++) {
		double O = copy_slope(t, b, step ? step : t->n_sizes);

		if (isfinite(O))
			t->column[n++] = O;
	}
	if (n)
		out->O = interval(t->column, n, NP_LOGGPS_CONFIDENCE);
	return check_plausible(out, err);
}

/* ---- Memory ---- */

/* Checks and sorts the samples, and allocates buffers for them. */
static int prepare_work(struct work *w, struct np_prtt *copy, size_t n,
			struct np_err *err)
{
	struct trips *t = &w->trips;
	size_t rows = 0;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = check(&copy[i], i, err);
		if (!rc && is_trip(&copy[i]))
			rc = add_size(t, copy[i].bytes, err);
	}
	if (rc)
		return rc;
	if (t->n_sizes < NP_LOGGPS_LEAST)
		return np_errf(err, -ENODATA,
			       "%zu sizes of messages were measured: expected "
			       "%d or more",
			       t->n_sizes, NP_LOGGPS_LEAST);
	qsort(copy, n, sizeof(*copy), compare);
	for (size_t i = 0; i < n; i++)
		rows += !i || copy[i].block != copy[i - 1].block;
	w->sample = copy;
	w->n = n;
	w->short_values = calloc(rows, sizeof(*w->short_values));
	w->times = calloc(n, sizeof(*w->times));
	t->column = calloc(rows, sizeof(*t->column));
	t->sec = calloc(2 * rows * t->n_sizes, sizeof(*t->sec));
	t->overhead = t->sec ? t->sec + rows * t->n_sizes : NULL;
	return w->short_values && w->times && t->column && t->sec ?
		       0 :
		       np_errf(err, -ENOMEM, "out of memory");
}

int np_loggps_fit(const struct np_prtt *sample, size_t n,
		  struct np_loggps_fit *out, struct np_err *err)
{
	struct np_prtt *copy = calloc(n ? n : 1, sizeof(*copy));
	struct np_loggps_fit f = { 0 };
	struct work w = { 0 };
	int rc;

	if (!copy)
		return np_errf(err, -ENOMEM, "out of memory");
	if (n)
		memcpy(copy, sample, n * sizeof(*copy));
	rc = prepare_work(&w, copy, n, err);
	if (!rc) {
		read_blocks(&w);
		rc = w.trips.n_blocks ?
			     fit(&w, &f, err) :
			     np_errf(err, -ENODATA,
				     "no complete block of measurements: "
				     "expected every size, overheads and gap");
	}
	free(copy);
	free(w.short_values);
	free(w.times);
	free(w.trips.column);
	free(w.trips.sec);
	if (!rc)
		*out = f;
	return rc;
}
