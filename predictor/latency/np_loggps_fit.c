#include "np_loggps_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "np_loggps_impl.h"

/* Bytes cost as much as all else where a message takes this many shortest. */
#define BULK 2
#define SPAN 8 /* the greatest size over the least for a slope */

/* What one block says of the shortest messages. */
struct block {
	double trip, g, o_send, o_recv; /* trip: half of PRTT(1, 0, 1) */
};

struct work {
	const struct np_loggps_sample *sample; /* sorted */
	size_t n;
	struct np_loggps_trips trips;
	struct block *block;
	double *column; /* a value of each block */
	double *times;	/* of one kind in one block: n */
};

/* ---- what there is ---- */

static int order(double a, double b)
{
	return (a > b) - (a < b);
}

/* By block, then messages, pause and size: 0 if they are of one kind. */
static int compare(const void *x, const void *y)
{
	const struct np_loggps_sample *a = x, *b = y;
	int d = order(a->block, b->block);

	d = d ? d : order(a->n, b->n);
	if (d || !a->n)
		return d;
	/* Pauses are chosen by what was seen before: with one, without one. */
	d = order(a->delay_sec > 0, b->delay_sec > 0);
	return d ? d : order(a->bytes, b->bytes);
}

static int check(const struct np_loggps_sample *s, size_t i,
		 struct np_err *err)
{
	if (s->block < NP_LOGGPS_MAX_BLOCKS && isfinite(s->sec) && s->sec > 0 &&
	    isfinite(s->delay_sec) && s->delay_sec >= 0 &&
	    (!s->n || s->bytes))
		return 0;
	return np_errf(err, -EINVAL, "measurement %zu: block %u, %u messages "
		       "of %u bytes, pause %g s, %g s: expected times above "
		       "0 and fewer than %d blocks", i, s->block, s->n,
		       s->bytes, s->delay_sec, s->sec, NP_LOGGPS_MAX_BLOCKS);
}

static int is_trip(const struct np_loggps_sample *s)
{
	return s->n == 1 && !(s->delay_sec > 0);
}

static int add_size(struct np_loggps_trips *t, uint32_t bytes,
		    struct np_err *err)
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

/* Samples of the same kind as the first, and their median less pauses. */
static size_t kind(const struct work *w, size_t at, double *sec)
{
	const struct np_loggps_sample *s = w->sample + at;
	size_t n = 0;

	while (at + n < w->n && !compare(s, s + n)) {
		w->times[n] = s[n].sec - (s[n].n ? s[n].n - 1 : 0) *
					 s[n].delay_sec;
		n++;
	}
	gsl_sort(w->times, 1, n);
	*sec = gsl_stats_median_from_sorted_data(w->times, 1, n);
	return n;
}

/*
 * One block into row b of the trips.  Returns the samples it has; *whole: of
 * every kind.
 */
static size_t read_block(struct work *w, size_t at, size_t b, int *whole)
{
	struct np_loggps_trips *t = &w->trips;
	double *trip = t->sec + b * t->n_sizes, sec;
	struct block *out = &w->block[b];
	size_t begin = at, n_trips = 0;
	uint32_t block = w->sample[at].block;
	double first = NAN;

	*out = (struct block){ NAN, NAN, NAN, NAN };
	while (at < w->n && w->sample[at].block == block) {
		const struct np_loggps_sample *s = &w->sample[at];

		at += kind(w, at, &sec);
		if (!s->n) {
			out->o_recv = sec;
		} else if (is_trip(s)) {
			while (n_trips < t->n_sizes &&
			       t->bytes[n_trips] != s->bytes)
				n_trips++; /* missing: not whole */
			if (n_trips < t->n_sizes)
				trip[n_trips] = sec / 2;
			first = n_trips++ ? first : sec;
		} else if (s->bytes == t->bytes[0] && s->n > 1) {
			sec = (sec - first) / (s->n - 1);
			*(s->delay_sec > 0 ? &out->o_send : &out->g) = sec;
		}
	}
	out->trip = first / 2;
	out->o_recv = fmin(out->o_recv, out->trip);
	out->o_send = fmin(out->o_send, out->trip - out->o_recv);
	*whole = isfinite(out->trip + out->g + out->o_send + out->o_recv);
	return at - begin;
}

/* Every size of a block was measured. */
static int full(const struct np_loggps_trips *t, size_t b)
{
	for (size_t i = 0; i < t->n_sizes; i++)
		if (!isfinite(t->sec[b * t->n_sizes + i]))
			return 0;
	return 1;
}

static void read_blocks(struct work *w)
{
	struct np_loggps_trips *t = &w->trips;

	for (size_t at = 0; at < w->n;) {
		int whole;

		for (size_t i = 0; i < t->n_sizes; i++)
			t->sec[t->n_blocks * t->n_sizes + i] = NAN;
		at += read_block(w, at, t->n_blocks, &whole);
		t->n_blocks += whole && full(t, t->n_blocks);
	}
}

/* ---- what it says ---- */

/* The least size that counts for the slope; 0 if few are longer. */
static size_t bulk_from(const struct np_loggps_trips *t)
{
	double shortest = np_loggps_trip(t, 0);
	size_t i = 0;

	while (i < t->n_sizes && (np_loggps_trip(t, i) < BULK * shortest ||
				  t->bytes[i] < t->bytes[t->n_sizes - 1] / SPAN))
		i++;
	return i + NP_LOGGPS_LEAST <= t->n_sizes ? i : 0;
}

/*
 * Slope of y over x by least squares with weights 1 / y^2; from `step` on
 * (if that is inside) with another intercept: of each side's deviations from
 * its own means.
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

static struct np_loggps_value
over_blocks(struct work *w, double (*value)(const struct block *))
{
	for (size_t b = 0; b < w->trips.n_blocks; b++)
		w->column[b] = value(&w->block[b]);
	return np_loggps_median(w->column, w->trips.n_blocks);
}

static double send_of(const struct block *b)
{
	return b->o_send;
}

static double recv_of(const struct block *b)
{
	return b->o_recv;
}

static double gap_of(const struct block *b)
{
	return b->g;
}

static double latency_of(const struct block *b)
{
	/* Rounding alone may leave less than nothing. */
	return fmax(b->trip - b->o_send - b->o_recv, 0);
}

static int plausible(const struct np_loggps_fit *f, struct np_err *err)
{
	const struct {
		const char *name;
		double value;
	} all[] = {
		{ "latency L", f->L.value }, { "overhead o of sending",
		  f->o_send.value }, { "overhead o of receiving",
		  f->o_recv.value }, { "gap g", f->g.value },
		{ "time per byte G", f->G.value },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(all); i++)
		if (!isfinite(all[i].value) || all[i].value < 0)
			return np_errf(err, -EDOM, "%s comes out as %g s, not "
				       "above 0: was the machine disturbed?",
				       all[i].name, all[i].value);
	return 0;
}

static int fit(struct work *w, struct np_loggps_fit *out, struct np_err *err)
{
	const struct np_loggps_trips *t = &w->trips;
	size_t step = np_loggps_find_step(t, &out->step), from = bulk_from(t);

	out->n_blocks = (uint32_t)t->n_blocks;
	out->n_sizes = (uint32_t)t->n_sizes;
	out->bytes_min = t->bytes[0];
	out->bytes_max = t->bytes[t->n_sizes - 1];
	out->S = step ? t->bytes[step - 1] : 0;
	out->S_above = step ? t->bytes[step] : 0;
	out->o_send = over_blocks(w, send_of);
	out->o_recv = over_blocks(w, recv_of);
	out->g = over_blocks(w, gap_of);
	out->L = over_blocks(w, latency_of);
	for (size_t b = 0; b < t->n_blocks; b++)
		w->column[b] = slope(t->bytes, t->sec + b * t->n_sizes, from,
				     t->n_sizes, step);
	out->G = np_loggps_median(w->column, t->n_blocks);
	return plausible(out, err);
}

/* ---- memory ---- */

static int take(struct work *w, struct np_loggps_sample *copy, size_t n,
		struct np_err *err)
{
	struct np_loggps_trips *t = &w->trips;
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
		return np_errf(err, -ENODATA, "%zu sizes of messages were "
			       "measured: expected %d or more", t->n_sizes,
			       NP_LOGGPS_LEAST);
	qsort(copy, n, sizeof(*copy), compare);
	for (size_t i = 0; i < n; i++)
		rows += !i || copy[i].block != copy[i - 1].block;
	w->sample = copy;
	w->n = n;
	w->block = calloc(rows, sizeof(*w->block));
	w->column = calloc(rows, sizeof(*w->column));
	w->times = calloc(n, sizeof(*w->times));
	t->scratch = calloc(rows, sizeof(*t->scratch));
	t->sec = calloc(rows * t->n_sizes, sizeof(*t->sec));
	return w->block && w->column && w->times && t->scratch && t->sec ?
	       0 : np_errf(err, -ENOMEM, "out of memory");
}

int np_loggps_fit(const struct np_loggps_sample *sample, size_t n,
		  struct np_loggps_fit *out, struct np_err *err)
{
	struct np_loggps_sample *copy = calloc(n ? n : 1, sizeof(*copy));
	struct np_loggps_fit f = { 0 };
	struct work w = { 0 };
	int rc;

	if (!copy)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		copy[i] = sample[i];
	rc = take(&w, copy, n, err);
	if (!rc) {
		read_blocks(&w);
		rc = w.trips.n_blocks ? fit(&w, &f, err) :
		     np_errf(err, -ENODATA, "no block of measurements is "
			     "whole: expected every size, overheads and gap");
	}
	free(copy);
	free(w.block);
	free(w.column);
	free(w.times);
	free(w.trips.scratch);
	free(w.trips.sec);
	if (!rc)
		*out = f;
	return rc;
}

void np_loggps_of_fit(const struct np_loggps_fit *f, struct np_loggps *out)
{
	*out = (struct np_loggps){
		.L_ns = 1e9 * f->L.value,
		.o_ns = 1e9 * (f->o_send.value + f->o_recv.value) / 2,
		.G_ns = 1e9 * f->G.value,
		.S = f->S ? f->S : NP_LOGGPS_NO_RENDEZVOUS,
		.first_byte_free = true,
	};
}
