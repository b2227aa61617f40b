/*
 * A list of trials is made in advance, so that all processes run the same ones.
 * Results arrive trial by trial.
 *
 * Each scheme first runs once to warm up; this result is dropped. A repetition
 * then measures each size alone and at once afterwards all transfers together,
 * so that a penalty compares times under the same conditions of the network.
 */
#include "np_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER SIZE_MAX /* in place of a size */

/* Data for the trials of one scheme. */
struct np_schedule_part {
	struct np_transfer *all;  /* all transfers of the scheme */
	/* one transfer per size; the first is the reference */
	struct np_transfer *alone;
	size_t n_sizes;
	size_t *size; /* by transfer: index into alone[] */
	double *alone_sec; /* latest time of each size */
	bool warm; /* the first trial of all transfers is done */
};

/* Index of a size in alone[], n_sizes if it is new. */
static size_t size_of(const struct np_schedule_part *p, uint32_t bytes)
{
	size_t i = 0;

	while (i < p->n_sizes && p->alone[i].bytes != bytes)
		i++;
	return i;
}

/* Checks that a transfer can be measured. */
static int check(const struct np_scheme *s, const struct np_transfer *t,
		 size_t i, struct np_err *err)
{
	if (!s->bytes[i] || s->bytes[i] > NP_SCHEDULE_MAX_BYTES)
		return np_errf(err, -EINVAL, "scheme %s: %s has %llu bytes, "
			       "expected 1 to %u", s->name, s->label[i],
			       (unsigned long long)s->bytes[i],
			       NP_SCHEDULE_MAX_BYTES);
	if (t->from == t->to)
		return np_errf(err, -EINVAL, "scheme %s: %s: both nodes are "
			       "process %u", s->name, s->label[i], t->from);
	return 0;
}

/* Allocates room for n transfers, and as many sizes and the reference. */
static int alloc_part(struct np_schedule_part *p, size_t n)
{
	p->all = calloc(n, sizeof(*p->all));
	p->alone = calloc(n + 1, sizeof(*p->alone));
	p->size = calloc(n, sizeof(*p->size));
	p->alone_sec = calloc(n + 1, sizeof(*p->alone_sec));
	return p->all && p->alone && p->size && p->alone_sec ? 0 : -ENOMEM;
}

/* Collects the transfers of a scheme and its different sizes. */
static int init_part(const struct np_scheme *s, const uint32_t *rank_of,
		struct np_schedule_part *p, struct np_err *err)
{
	int rc = alloc_part(p, s->n) ?
		 np_errf(err, -ENOMEM, "out of memory") : 0;

	if (!rc && s->reference_bytes > NP_SCHEDULE_MAX_BYTES)
		rc = np_errf(err, -EINVAL, "scheme %s: a reference of %llu "
			     "bytes, expected 1 to %u", s->name,
			     (unsigned long long)s->reference_bytes,
			     NP_SCHEDULE_MAX_BYTES);
	for (size_t i = 0; !rc && i < s->n; i++) {
		struct np_transfer *t = &p->all[i];

		*t = (struct np_transfer){
			rank_of[s->c[i].from], rank_of[s->c[i].to],
			(uint32_t)s->bytes[i], s->start_sec[i] };
		rc = check(s, t, i, err);
	}
	if (rc)
		return rc;
	p->alone[p->n_sizes] = p->all[0];
	p->alone[p->n_sizes++].bytes = (uint32_t)s->reference_bytes;
	for (size_t i = 0; i < s->n; i++) {
		p->size[i] = size_of(p, p->all[i].bytes);
		if (p->size[i] == p->n_sizes)
			p->alone[p->n_sizes++] = p->all[i];
	}
	for (size_t i = 0; i < p->n_sizes; i++)
		p->alone[i].at_sec = 0;
	return 0;
}

/* Appends a trial: one size alone, or all transfers. */
static void add_trial(struct np_schedule *s, size_t part, size_t size, size_t n)
{
	struct np_schedule_part *p = &s->part[part];

	s->part_of[s->n] = part;
	s->size_of[s->n] = size;
	s->trial[s->n++] = size == TOGETHER ?
			   (struct np_trial){ p->all, n } :
			   (struct np_trial){ &p->alone[size], 1 };
}

/* Makes the trials of all schemes. */
static int make_trials(struct np_schedule *s, struct np_err *err)
{
	size_t n = 0;

	for (size_t k = 0; k < s->set->n; k++)
		n += 1 + s->repeats * (s->part[k].n_sizes + 1);
	if (n > NP_SCHEDULE_MAX_TRIALS)
		return np_errf(err, -E2BIG, "%zu trials, expected at most %u: "
			       "fewer repeats or sizes", n,
			       NP_SCHEDULE_MAX_TRIALS);
	s->trial = calloc(n, sizeof(*s->trial));
	s->part_of = calloc(n, sizeof(*s->part_of));
	s->size_of = calloc(n, sizeof(*s->size_of));
	if (!s->trial || !s->part_of || !s->size_of)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t k = 0; k < s->set->n; k++) {
		add_trial(s, k, TOGETHER, s->set->scheme[k].n);
		for (uint32_t r = 0; r < s->repeats; r++) {
			for (size_t i = 0; i < s->part[k].n_sizes; i++)
				add_trial(s, k, i, 1);
			add_trial(s, k, TOGETHER, s->set->scheme[k].n);
		}
	}
	return 0;
}

int np_schedule_new(const struct np_scheme_set *set, const uint32_t *rank_of,
		    uint32_t repeats, struct np_schedule *out,
		    struct np_err *err)
{
	struct np_schedule s = {
		.set = set, .repeats = repeats,
		.part = calloc(set->n, sizeof(*s.part)),
		.got = calloc(set->n, sizeof(*s.got)),
	};
	int rc = s.part && s.got ? 0 : np_errf(err, -ENOMEM, "out of memory");

	for (size_t k = 0; !rc && k < set->n; k++) {
		struct np_measured_scheme *g = &s.got[k];
		size_t n = set->scheme[k].n;

		g->sec = calloc(2 * n, sizeof(*g->sec));
		g->penalty = g->sec + n;
		rc = g->sec ? init_part(&set->scheme[k], rank_of, &s.part[k],
					err) :
			      np_errf(err, -ENOMEM, "out of memory");
		rank_of += set->scheme[k].n_nodes;
	}
	if (!rc)
		rc = make_trials(&s, err);
	if (rc)
		np_schedule_free(&s);
	else
		*out = s;
	return rc;
}

void np_schedule_free(struct np_schedule *s)
{
	for (size_t k = 0; s->set && k < s->set->n; k++) {
		if (s->part) {
			free(s->part[k].all);
			free(s->part[k].alone);
			free(s->part[k].size);
			free(s->part[k].alone_sec);
		}
		if (s->got)
			free(s->got[k].sec);
	}
	free(s->part);
	free(s->got);
	free(s->trial);
	free(s->part_of);
	free(s->size_of);
	memset(s, 0, sizeof(*s));
}

void np_schedule_done(size_t i, const double *sec, void *schedule)
{
	struct np_schedule *s = schedule;
	struct np_schedule_part *p = &s->part[s->part_of[i]];
	struct np_measured_scheme *g = &s->got[s->part_of[i]];

	if (s->size_of[i] != TOGETHER) {
		p->alone_sec[s->size_of[i]] = sec[0];
		if (!s->size_of[i])
			np_moments_add(&g->reference, sec[0]);
		return;
	}
	for (size_t k = 0; p->warm && k < s->trial[i].n; k++) {
		np_moments_add(&g->sec[k], sec[k]);
		np_moments_add(&g->penalty[k],
			       sec[k] / p->alone_sec[p->size[k]]);
	}
	p->warm = true;
}
