/*
 * The list of trials is made in advance, so that all processes run the same
 * ones. Results arrive trial by trial.
 *
 * Each scheme first runs once to warm up; this result is dropped. A repetition
 * then measures each size alone, and immediately afterwards all transfers
 * together, so that a penalty compares times under the same conditions of the
 * network.
 */
#include "np_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER SIZE_MAX /* in place of an index of a size */

/* Data for the trials of one scheme. */
struct np_schedule_part {
	struct np_transfer *all; /* all transfers of the scheme */
	/* One transfer for each size; the first is the reference. */
	struct np_transfer *alone;
	size_t n_sizes;
	size_t *size_index; /* by transfer: index into alone[] */
	double *alone_sec;  /* by size: its latest time alone */
	bool warmed_up;	    /* the first trial of all transfers is done */
};

/* Finds a size in alone[]; returns n_sizes if it is not there. */
static size_t find_size(const struct np_schedule_part *part, uint32_t bytes)
{
	size_t i = 0;

	while (i < part->n_sizes && part->alone[i].bytes != bytes)
		i++;
	return i;
}

/* Checks that transfer i of a scheme can be measured between these ranks. */
static int check(const struct np_scheme *scheme, size_t i,
		 const struct np_transfer *transfer, struct np_err *err)
{
	if (!scheme->bytes[i] || scheme->bytes[i] > NP_SCHEDULE_MAX_BYTES)
		return np_errf(err, -EINVAL,
			       "scheme %s: %s has %llu bytes, expected 1 to %u",
			       scheme->name, scheme->label[i],
			       (unsigned long long)scheme->bytes[i],
			       NP_SCHEDULE_MAX_BYTES);
	if (transfer->from == transfer->to)
		return np_errf(err, -EINVAL,
			       "scheme %s: %s: both nodes are process %u",
			       scheme->name, scheme->label[i], transfer->from);
	return 0;
}

/* Allocates for n transfers, which have at most n sizes and the reference. */
static int alloc_part(struct np_schedule_part *part, size_t n)
{
	part->all = calloc(n, sizeof(*part->all));
	part->alone = calloc(n + 1, sizeof(*part->alone));
	part->size_index = calloc(n, sizeof(*part->size_index));
	part->alone_sec = calloc(n + 1, sizeof(*part->alone_sec));
	return part->all && part->alone && part->size_index && part->alone_sec ?
		       0 :
		       -ENOMEM;
}

/*
 * Collects the different sizes. The transfers that measure them alone run
 * between the nodes of the first transfer of that size, the reference between
 * those of the first of all.
 */
static void collect_sizes(struct np_schedule_part *part, size_t n,
			  uint32_t reference_bytes)
{
	part->alone[0] = part->all[0];
	part->alone[0].bytes = reference_bytes;
	part->n_sizes = 1;
	for (size_t i = 0; i < n; i++) {
		part->size_index[i] = find_size(part, part->all[i].bytes);
		if (part->size_index[i] == part->n_sizes)
			part->alone[part->n_sizes++] = part->all[i];
	}
	for (size_t i = 0; i < part->n_sizes; i++)
		part->alone[i].at_sec = 0;
}

/* Collects the transfers of a scheme. rank_of: by node of the scheme. */
static int init_part(const struct np_scheme *scheme, const uint32_t *rank_of,
		     struct np_schedule_part *part, struct np_err *err)
{
	int rc = alloc_part(part, scheme->n) ?
			 np_errf(err, -ENOMEM, "out of memory") :
			 0;

	if (!rc && scheme->reference_bytes > NP_SCHEDULE_MAX_BYTES)
		rc = np_errf(err, -EINVAL,
			     "scheme %s: a reference of %llu bytes, expected 1 "
			     "to %u",
			     scheme->name,
			     (unsigned long long)scheme->reference_bytes,
			     NP_SCHEDULE_MAX_BYTES);
	for (size_t i = 0; !rc && i < scheme->n; i++) {
		part->all[i] = (struct np_transfer){ rank_of[scheme->c[i].from],
						     rank_of[scheme->c[i].to],
						     (uint32_t)scheme->bytes[i],
						     scheme->start_sec[i] };
		rc = check(scheme, i, &part->all[i], err);
	}
	if (!rc)
		collect_sizes(part, scheme->n,
			      (uint32_t)scheme->reference_bytes);
	return rc;
}

/* Appends a trial of scheme k: one size alone, or all n transfers. */
static void add_trial(struct np_schedule *s, size_t k, size_t size, size_t n)
{
	struct np_schedule_part *part = &s->part[k];

	s->scheme_of[s->n] = k;
	s->size_of[s->n] = size;
	s->trial[s->n++] = size == TOGETHER ?
				   (struct np_trial){ part->all, n } :
				   (struct np_trial){ &part->alone[size], 1 };
}

/* Makes the trials of all schemes, in the order in which they run. */
static int make_trials(struct np_schedule *s, struct np_err *err)
{
	size_t n = 0;

	for (size_t k = 0; k < s->set->n; k++)
		n += 1 + s->repeats * (s->part[k].n_sizes + 1);
	if (n > NP_SCHEDULE_MAX_TRIALS)
		return np_errf(err, -E2BIG,
			       "%zu trials, expected at most %u: fewer repeats "
			       "or sizes",
			       n, NP_SCHEDULE_MAX_TRIALS);
	s->trial = calloc(n, sizeof(*s->trial));
	s->scheme_of = calloc(n, sizeof(*s->scheme_of));
	s->size_of = calloc(n, sizeof(*s->size_of));
	if (!s->trial || !s->scheme_of || !s->size_of)
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
		.set = set,
		.repeats = repeats,
		.part = calloc(set->n, sizeof(*s.part)),
		.result = calloc(set->n, sizeof(*s.result)),
	};
	int rc = s.part && s.result ? 0 :
				      np_errf(err, -ENOMEM, "out of memory");

	for (size_t k = 0; !rc && k < set->n; k++) {
		struct np_measured_scheme *result = &s.result[k];
		size_t n = set->scheme[k].n;

		result->sec = calloc(2 * n, sizeof(*result->sec));
		result->penalty = result->sec + n;
		rc = result->sec ? init_part(&set->scheme[k], rank_of,
					     &s.part[k], err) :
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
			free(s->part[k].size_index);
			free(s->part[k].alone_sec);
		}
		if (s->result)
			free(s->result[k].sec);
	}
	free(s->part);
	free(s->result);
	free(s->trial);
	free(s->scheme_of);
	free(s->size_of);
	memset(s, 0, sizeof(*s));
}

void np_schedule_done(size_t i, const double *sec, void *schedule)
{
	struct np_schedule *s = schedule;
	struct np_schedule_part *part = &s->part[s->scheme_of[i]];
	struct np_measured_scheme *result = &s->result[s->scheme_of[i]];
	size_t size = s->size_of[i];

	if (size != TOGETHER) {
		part->alone_sec[size] = sec[0];
		if (size == 0)
			np_moments_add(&result->reference, sec[0]);
		return;
	}
	for (size_t k = 0; part->warmed_up && k < s->trial[i].n; k++) {
		double alone_sec = part->alone_sec[part->size_index[k]];

		np_moments_add(&result->sec[k], sec[k]);
		np_moments_add(&result->penalty[k], sec[k] / alone_sec);
	}
	part->warmed_up = true;
}
