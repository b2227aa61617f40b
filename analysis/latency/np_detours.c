/*
 * Detours are what a processor does instead of running the program, such as
 * work of the operating system: sorted, disjoint intervals of one period, which
 * is repeated without end. np_detours_end() skips whole periods and then walks
 * through the remaining detours. It ends, because a part of each period is left
 * for work (np_detours_read() rejects files without).
 */
#include "np_detours.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_option.h"
#include "np_read.h"
#include "np_rng.h"

#define RANDOM 4096	 /* number of detours in a generated trace */
#define STEPS (1u << 30) /* different random intervals */
#define MAX_NS 1e15	 /* largest time in a file, about 12 days */

/* Appends a detour, or extends the last one if they touch. */
static int add(struct np_detours *d, size_t *room, double start, double length)
{
	struct np_detour new = { start, start + length };
	struct np_detour *last = d->n ? &d->detour[d->n - 1] : NULL;

	if (!(length > 0))
		return 0;
	if (last && start <= last->end) {
		last->end = fmax(last->end, new.end);
		return 0;
	}
	return d->n == NP_DETOURS_MAX ?
		     -E2BIG :
		     NP_ARRAY_PUSH(d->detour, d->n, *room, new);
}

/* Computes the length of the period and the sum of all detours. */
static void sum_up(struct np_detours *d)
{
	d->period_ns = d->n ? d->detour[d->n - 1].end : 0;
	d->away_ns = 0;
	for (size_t i = 0; i < d->n; i++)
		d->away_ns += d->detour[i].end - d->detour[i].start;
}

/* Error message about a line of a file. */
static int refuse(const char *name, size_t line, const char *text, int rc,
		  struct np_err *err)
{
	size_t len = strcspn(text, "\r\n");

	if (rc == -E2BIG)
		return np_errf(err, rc, "%s:%zu: more than %u detours", name,
			       line, NP_DETOURS_MAX);
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s: out of memory", name);
	return np_errf(err, -EINVAL,
		       "%s:%zu: \"%.*s\", expected a start and a length of 0 "
		       "to %g ns, in order of the starts",
		       name, line, len > 40 ? 40 : (int)len, text, MAX_NS);
}

/* Parses "START LENGTH", an empty line or a comment. */
static int read_line(const char *p, double *last, struct np_detours *d,
		     size_t *room)
{
	double v[2];

	p += strspn(p, " \t\r\n");
	if (!*p || *p == '#')
		return 0;
	for (int i = 0; i < 2; i++) {
		p = np_decimal_parse(p, &v[i]);
		if (!p || v[i] < 0 || v[i] > MAX_NS ||
		    (*p && !strchr(" \t\r\n#", *p)))
			return -EINVAL;
		p += strspn(p, " \t\r\n");
	}
	if ((*p && *p != '#') || v[0] < *last)
		return -EINVAL;
	*last = v[0];
	return add(d, room, v[0], v[1]);
}

#define LINE 256 /* bytes of a line that are read, with its NUL */

/*
 * Reads the next line, without its end, or the beginning of one that is too
 * long. Returns its length; LINE: it is too long or has a NUL; -1: there is
 * none.
 */
static int next_line(FILE *f, char line[LINE])
{
	int n = 0, c = getc(f);

	if (c == EOF)
		return -1;
	for (; c != EOF && c != '\n'; c = getc(f)) {
		if (!c || n == LINE - 1) {
			line[n] = '\0';
			return LINE;
		}
		line[n++] = (char)c;
	}
	line[n] = '\0';
	return n;
}

int np_detours_read(FILE *f, const char *name, struct np_detours *out,
		    struct np_err *err)
{
	struct np_detours d = { .n = 0 };
	size_t n = 0, room = 0;
	char line[LINE];
	double last = 0;
	int rc = 0, len;

	while (!rc && (len = next_line(f, line)) >= 0) {
		if (!n++ && np_kind_check(line, strlen(line), NP_KIND_WORDS,
					  name, err)) {
			np_detours_free(&d);
			return -EINVAL;
		}
		rc = len == LINE ? -EINVAL : read_line(line, &last, &d, &room);
	}
	if (rc && len == LINE && strlen(line) < LINE - 1)
		np_errf(err, rc, "%s:%zu: a NUL character, expected text", name,
			n);
	else if (rc)
		rc = refuse(name, n, line, rc, err);
	else if (ferror(f))
		rc = np_errf(err, -errno, "%s: %s", name, strerror(errno));
	sum_up(&d);
	if (!rc && !(d.away_ns > 0 && d.away_ns < d.period_ns))
		rc = np_errf(err, -EINVAL,
			     "%s: %g of %g ns are detours, expected some of "
			     "them, and not all",
			     name, d.away_ns, d.period_ns);
	if (rc)
		np_detours_free(&d);
	else
		*out = d;
	return rc;
}

int np_detours_random(double mean_ns, double length_ns, uint64_t seed,
		      struct np_detours *out)
{
	struct np_detours d = { .seed = seed };
	struct np_rng *rng = np_rng_new(seed, "detours");
	double at = 0;
	size_t room = 0;
	int rc = rng ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < RANDOM; i++) {
		/* exponentially distributed intervals between detours */
		at -= mean_ns *
		      log(((double)np_rng_below(rng, STEPS) + 0.5) / STEPS);
		rc = add(&d, &room, at, length_ns);
		at += length_ns;
	}
	np_rng_free(rng);
	sum_up(&d);
	if (rc)
		np_detours_free(&d);
	else
		*out = d;
	return rc;
}

void np_detours_free(struct np_detours *d)
{
	free(d->detour);
	*d = (struct np_detours){ .n = 0 };
}

/*
 * Position in the trace at which a rank begins: 0 to 1, by hash. Detours of
 * different ranks are not at the same times, which is what makes them costly.
 */
static double place_of(uint64_t seed, uint32_t rank)
{
	return np_rng_unit(np_rng_mix((seed + 1) * NP_RNG_STEP + rank));
}

/* The first detour that ends after t; t is below the end of the last one. */
static size_t find(const struct np_detours *d, double t)
{
	size_t low = 0, high = d->n - 1;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->detour[mid].end > t)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

double np_detours_end(const struct np_detours *d, uint32_t rank, double t,
		      double length)
{
	double at =
		fmod(t + place_of(d->seed, rank) * d->period_ns, d->period_ns);
	/* A whole period leaves period_ns - away_ns for work. */
	double whole = floor(length / (d->period_ns - d->away_ns));
	double left = length - whole * (d->period_ns - d->away_ns);
	double extra = whole * d->away_ns;
	size_t i = find(d, at);

	for (;;) {
		const struct np_detour *next = &d->detour[i];
		double work = next->start - at;

		if (work >= left)
			return t + length + extra;
		left -= work > 0 ? work : 0;
		extra += next->end - (work > 0 ? next->start : at);
		at = next->end;
		if (++i == d->n) {
			i = 0;
			at = 0;
		}
	}
}
