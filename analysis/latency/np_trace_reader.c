/*
 * What the readers of both trace formats share: errors, requests and lists.
 *
 * A trace is read twice. What a nonblocking call receives is known only when
 * its request completes, maybe much later, but its event is to be returned at
 * its place. Therefore the first pass notes for each use of a request what the
 * format needs, and the second pass returns the events. Memory grows only with
 * the number of nonblocking calls.
 */
#include "np_trace_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "np_array.h"

/* Later errors are consequences of the first, which is the one to report. */
int np_trace_fail(struct np_trace_reader *r, const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	if (r->rc)
		return r->rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->rc = np_errf(r->err, -EINVAL, "%s:%llu: rank %u: %s", r->path,
			(unsigned long long)r->line, r->rank, text);
	return r->rc;
}

int np_trace_no_memory(struct np_trace_reader *r)
{
	if (!r->rc)
		r->rc = np_errf(r->err, -ENOMEM, "out of memory");
	return r->rc;
}

struct np_trace_request *np_trace_request_new(struct np_trace_reader *r)
{
	if (!NP_ARRAY_PUSH(r->request, r->n_requests, r->request_room,
			   (struct np_trace_request){ .used = false }))
		return &r->request[r->n_requests - 1];
	np_trace_no_memory(r);
	return NULL;
}

/* If the file grows meanwhile, the second pass has more uses than the first. */
int np_trace_request_use(struct np_trace_reader *r, struct np_trace_request *q)
{
	size_t bytes = r->form->use_bytes;

	if (r->n_uses >= UINT32_MAX)
		return np_trace_fail(r, "too many requests");
	if (r->n_uses == r->n_known) {
		if (np_array_reserve(&r->use, &r->use_room, r->n_known + 1,
				     bytes))
			return np_trace_no_memory(r);
		memset((char *)r->use + bytes * r->n_known++, 0, bytes);
	}
	q->active = true;
	q->use = (uint32_t)r->n_uses++;
	return 0;
}

void np_trace_id(struct np_trace_reader *r, uint32_t id)
{
	if (NP_ARRAY_PUSH(r->id, r->n_ids, r->id_room, id))
		np_trace_no_memory(r);
}

void np_trace_started(struct np_trace_reader *r, struct np_trace_event *ev)
{
	ev->kind = NP_TRACE_LOCAL;
	if (r->next_id == r->n_ids)
		return;
	ev->request = r->id[r->next_id++];
	r->form->start(r, &r->request[ev->request], ev);
}

uint64_t *np_trace_list(struct np_trace_reader *r, struct np_trace_event *ev,
			size_t n)
{
	if (np_array_reserve(&r->list, &r->list_room, n, sizeof(*r->list))) {
		np_trace_no_memory(r);
		return NULL;
	}
	ev->n_list = n;
	ev->list = r->list;
	return r->list;
}
