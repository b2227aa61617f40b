/* What a report of mpiP would say of a run that was traced. */
#include <string.h>

#include "np_mpip.h"
#include "np_trace_files.h"
#include "np_trace_read.h"

/* What the caller gives; a list that all ranks have counts as its mean. */
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

static void count(struct np_mpip *m, const struct np_trace_event *ev)
{
	double part = 0;

	if (ev->out.there)
		part = (double)ev->out.bytes;
	else if (ev->kind == NP_TRACE_COLLECTIVE &&
		 ev->collective != NP_BARRIER)
		part = own_part(ev);
	else
		return;
	m->messages++;
	m->bytes += part;
}

static int add_rank(struct np_mpip *m, const struct np_trace_files *f,
		    uint32_t rank, struct np_err *err)
{
	uint64_t app_ns = 0, mpi_ns = 0;
	struct np_trace_reader *r;
	struct np_trace_event ev;
	int rc = np_trace_open(f->path[rank], rank, f->n, &r, err);

	if (rc)
		return rc;
	if (!np_trace_is_whole(r))
		m->notes |= NP_MPIP_TRUNCATED;
	while ((rc = np_trace_next(r, &ev, err)) == 1) {
		app_ns += ev.gap_ns;
		/* mpiP's time ends where MPI_Finalize() begins. */
		if (ev.kind == NP_TRACE_FINALIZE)
			continue;
		app_ns += ev.length_ns;
		mpi_ns += ev.length_ns;
		count(m, &ev);
	}
	np_trace_close(r);
	m->app_sec += 1e-9 * (double)app_ns;
	m->mpi_sec += 1e-9 * (double)mpi_ns;
	if (1e-9 * (double)app_ns > m->max_app_sec)
		m->max_app_sec = 1e-9 * (double)app_ns;
	return rc;
}

int np_mpip_trace(const char *path, struct np_mpip *out, struct np_err *err)
{
	struct np_mpip m = { .notes = 0 };
	struct np_trace_files f;
	int rc = np_trace_files_find(path, &f, err);

	if (rc)
		return rc;
	m.n_tasks = f.n;
	for (uint32_t i = 0; !rc && i < f.n; i++)
		rc = add_rank(&m, &f, i, err);
	np_trace_files_free(&f);
	if (!m.messages)
		m.notes |= NP_MPIP_NO_MESSAGES;
	if (!rc)
		*out = m;
	return rc;
}
