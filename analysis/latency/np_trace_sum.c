/*
 * Totals of a trace, from one rank after the other: no graph is made and no
 * event is kept, so that traces of any length can be summarised.
 */
#include "np_trace.h"

#include "np_trace_read.h"

/*
 * Bytes that the caller contributes; a list that all ranks have counts as its
 * mean.
 */
static double own_part(const struct np_trace_event *ev)
{
	double sum = 0;

	if (!ev->list)
		return (double)ev->bytes;
	if (ev->collective == NP_GATHERV)
		return (double)ev->list[ev->root];
	for (size_t i = 0; i < ev->n_list; i++)
		sum += (double)ev->list[i];
	return ev->collective == NP_ALLGATHER ? sum / (double)ev->n_list : sum;
}

/* Adds one event to the totals. */
static void add_event(struct np_trace_sum *s, const struct np_trace_event *ev)
{
	s->records++;
	s->received += ev->in.there;
	s->not_followed += ev->kind == NP_TRACE_UNSUPPORTED;
	if (ev->out.there) {
		s->sent++;
		s->sent_bytes += ev->out.bytes;
		s->given_bytes += (double)ev->out.bytes;
	}
	if (ev->kind == NP_TRACE_COLLECTIVE) {
		s->collectives[ev->collective]++;
		if (ev->collective != NP_BARRIER)
			s->given_bytes += own_part(ev);
	}
}

/*
 * Adds the totals of one rank. As mpiP defines them, app_ns is the time up to
 * MPI_Finalize() and mpi_ns the part of it in calls. MPI_Finalize() itself only
 * counts for the end of the rank.
 */
static int add_rank(struct np_trace_sum *s, const struct np_trace_files *f,
		    uint32_t rank, struct np_err *err)
{
	uint64_t app_ns = 0, mpi_ns = 0, end_ns = 0;
	struct np_trace_reader *r;
	struct np_trace_event ev;
	int rc = np_trace_open(f->path[rank], rank, f->n, &r, err);

	if (rc)
		return rc;
	s->cut += !np_trace_is_complete(r);
	while ((rc = np_trace_next(r, &ev)) == 1) {
		add_event(s, &ev);
		s->communicators += !rank && ev.kind == NP_TRACE_COMM;
		s->calls_sec += 1e-9 * (double)ev.length_ns / f->n;
		app_ns += ev.gap_ns;
		end_ns = app_ns + ev.length_ns;
		if (ev.kind == NP_TRACE_FINALIZE)
			continue;
		app_ns = end_ns;
		mpi_ns += ev.length_ns;
	}
	np_trace_close(r);
	s->app_sec += 1e-9 * (double)app_ns;
	s->mpi_sec += 1e-9 * (double)mpi_ns;
	if (1e-9 * (double)app_ns > s->max_app_sec)
		s->max_app_sec = 1e-9 * (double)app_ns;
	if (1e-9 * (double)end_ns > s->sec)
		s->sec = 1e-9 * (double)end_ns;
	return rc;
}

int np_trace_sum(const struct np_trace_files *f, struct np_trace_sum *out,
		 struct np_err *err)
{
	struct np_trace_sum s = { .ranks = f->n };
	int rc = 0;

	for (uint32_t i = 0; !rc && i < f->n; i++)
		rc = add_rank(&s, f, i, err);
	if (!rc)
		*out = s;
	return rc;
}
