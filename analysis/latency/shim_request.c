/*
 * Messages, and requests by number.
 *
 * A handle may denote several requests at a time: MPI libraries return the same
 * handle for all sends that completed immediately. Such requests are used in
 * the order of their creation.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "np_err.h"

enum {
	ACTIVE = 1,
	PERSISTENT = 2,
	/* Only its status says what it received or that it was cancelled. */
	WILD = 4,
	SENDS = 8, /* the status of a send has neither rank nor tag */
};

/* A request that was made and not freed; otherwise an unused entry. */
struct request {
	MPI_Request handle;
	int64_t next; /* next in its row, or next free one; -1: none */
	unsigned flags;
};

static struct request *requests;
static int64_t n_requests, room, first_free = -1;
static size_t n_wild; /* active requests with a wildcard or a pending cancel */

/* Hash table by handle, with as many rows as there is room for requests. */
static struct row {
	int64_t first;
	int64_t *end; /* where the number of another request is appended */
} * rows;

/* The row of a handle in a table of n rows; n is a power of two. */
static struct row *row_of(struct row *all, int64_t n, MPI_Request handle)
{
	return &all[(SHIM_KEY(handle) * 0x9e3779b97f4a7c15ull) >> 32 &
		    (uint64_t)(n - 1)];
}

/* Where the number of the first request of a handle is stored; NULL if none. */
static int64_t *find(MPI_Request handle)
{
	int64_t *at = room ? &row_of(rows, room, handle)->first : NULL;

	while (at && *at >= 0 && requests[*at].handle != handle)
		at = &requests[*at].next;
	return at && *at >= 0 ? at : NULL;
}

/* Appends a request to a row. The oldest of a handle stays first. */
static void append(struct row *row, int64_t i)
{
	requests[i].next = -1;
	*row->end = i;
	row->end = &requests[i].next;
}

/* Doubles the room for requests and distributes them to the new rows. */
static bool grow_table(void)
{
	int64_t n = room ? 2 * room : 256, next;
	struct row *wider = malloc((size_t)n * sizeof(*wider));
	struct request *r = wider ? realloc(requests, (size_t)n * sizeof(*r)) :
				    NULL;

	if (!r) {
		free(wider);
		return false;
	}
	requests = r;
	for (int64_t i = 0; i < n; i++)
		wider[i] = (struct row){ -1, &wider[i].first };
	for (int64_t k = 0; k < room; k++)
		for (int64_t i = rows[k].first; i >= 0; i = next) {
			next = r[i].next;
			append(row_of(wider, n, r[i].handle), i);
		}
	free(rows);
	rows = wider;
	room = n;
	return true;
}

/* A free number for a request; -1 if memory is short. */
static int64_t new_id(void)
{
	int64_t i = first_free;

	if (i >= 0) {
		first_free = requests[i].next;
		return i;
	}
	return n_requests < room || grow_table() ? n_requests++ : -1;
}

/* Numbers a request and adds it to the table. */
static int64_t new_request(MPI_Request handle, unsigned flags)
{
	int64_t i = handle == MPI_REQUEST_NULL ? -1 : new_id();

	if (i < 0)
		return -1;
	requests[i] = (struct request){ handle, -1, flags };
	append(row_of(rows, room, handle), i);
	if ((flags & WILD) && (flags & ACTIVE))
		n_wild++;
	return i;
}

int64_t shim_request_new(MPI_Request request)
{
	return new_request(request, ACTIVE);
}

/* Frees the request whose number is stored at `at`, as returned by find(). */
static void free_request(int64_t *at)
{
	int64_t i = *at;
	struct request *q = &requests[i];

	if ((q->flags & WILD) && (q->flags & ACTIVE))
		n_wild--;
	*at = q->next;
	if (q->next < 0)
		row_of(rows, room, q->handle)->end = at;
	q->next = first_free;
	first_free = i;
}

/* Writes peer, tag and bytes of a message at p; returns the end. */
static uint64_t *put_message(uint64_t *p, const struct shim_message *m)
{
	*p++ = (uint32_t)m->peer;
	*p++ = (uint32_t)m->tag;
	*p++ = m->bytes;
	return p;
}

/* The same for a posted receive: peer and tag plus 1, or 0 for any. */
static uint64_t *put_open_message(uint64_t *p, const struct shim_message *m)
{
	*p++ = m->peer == MPI_ANY_SOURCE ? 0 : (uint64_t)(m->peer + 1ll);
	*p++ = m->tag == MPI_ANY_TAG ? 0 : (uint64_t)(m->tag + 1ll);
	*p++ = m->bytes;
	return p;
}

/* Writes a message that may be absent, with the function put. */
static uint64_t *put_optional(uint64_t *p, const struct shim_message *m,
			      uint64_t *(*put)(uint64_t *,
					       const struct shim_message *))
{
	*p++ = m->peer != MPI_PROC_NULL;
	return m->peer != MPI_PROC_NULL ? put(p, m) : p;
}

/* Number of a communicator; -1 if it is not traced, which is recorded. */
static int comm_of(const struct shim_call *c, MPI_Comm comm)
{
	int id = shim_comm(c, comm)->id;

	if (id < 0)
		shim_unsupported(c, "a message on an intercommunicator");
	return id;
}

/* MPI_PROC_NULL: no message; only the time is recorded. */
static bool record_null_message(const struct shim_call *c,
				const struct shim_message *m)
{
	if (m->peer != MPI_PROC_NULL)
		return false;
	shim_local(c);
	return true;
}

/* Records a blocking message. */
static void put_one(const struct shim_call *c, enum np_trace_kind kind,
		    const struct shim_message *m)
{
	int comm = comm_of(c, m->comm);
	uint64_t v[4] = { (uint64_t)comm };

	if (comm >= 0)
		shim_put(c, kind, v, put_message(v + 1, m));
}

void shim_send(const struct shim_call *c, const struct shim_message *m)
{
	if (!record_null_message(c, m))
		put_one(c, NP_TRACE_SEND, m);
}

/* Replaces wildcards by what the status says. */
static void fill_wildcards(struct shim_message *m, const MPI_Status *st)
{
	if (m->peer == MPI_ANY_SOURCE)
		m->peer = st->MPI_SOURCE;
	if (m->tag == MPI_ANY_TAG)
		m->tag = st->MPI_TAG;
}

void shim_recv(const struct shim_call *c, const struct shim_message *m,
	       const MPI_Status *st)
{
	struct shim_message matched = *m;

	fill_wildcards(&matched, st);
	if (!record_null_message(c, &matched))
		put_one(c, NP_TRACE_RECV, &matched);
}

void shim_sendrecv(const struct shim_call *c, const struct shim_message *out,
		   const struct shim_message *in, const MPI_Status *st)
{
	int comm = comm_of(c, out->comm);
	struct shim_message matched = *in;
	uint64_t v[9] = { (uint64_t)comm }, *p;

	if (comm < 0)
		return;
	fill_wildcards(&matched, st);
	p = put_optional(v + 1, out, put_message);
	shim_put(c, NP_TRACE_SENDRECV, v,
		 put_optional(p, &matched, put_message));
}

/* WILD for a receive with a wildcard, otherwise 0. */
static unsigned wild_flag(const struct shim_message *m)
{
	return m->peer == MPI_ANY_SOURCE || m->tag == MPI_ANY_TAG ? WILD : 0;
}

/* Whether a call posts a receive. */
static bool receives(enum np_trace_kind kind)
{
	return kind == NP_TRACE_IRECV || kind == NP_TRACE_RECV_INIT;
}

void shim_post(const struct shim_call *c, enum np_trace_kind kind,
	       const struct shim_message *m, MPI_Request request)
{
	bool starts = kind == NP_TRACE_ISEND || kind == NP_TRACE_IRECV;
	unsigned flags = (starts ? ACTIVE : PERSISTENT) |
			 (receives(kind) ? wild_flag(m) : SENDS);
	uint64_t v[5];
	int64_t id;
	int comm;

	if (record_null_message(c, m) || (comm = comm_of(c, m->comm)) < 0)
		return;
	id = new_request(request, flags);
	if (id < 0)
		return;
	v[0] = (uint64_t)id;
	v[1] = (uint64_t)comm;
	shim_put(c, kind, v,
		 (receives(kind) ? put_open_message : put_message)(v + 2, m));
}

void shim_post_both(const struct shim_call *c, const struct shim_message *out,
		    const struct shim_message *in, MPI_Request request)
{
	int comm = comm_of(c, out->comm);
	int64_t id = comm < 0 ? -1 :
				new_request(request, ACTIVE | wild_flag(in));
	uint64_t v[10] = { (uint64_t)id, (uint64_t)comm }, *p;

	if (id < 0)
		return;
	p = put_optional(v + 2, out, put_message);
	shim_put(c, NP_TRACE_ISENDRECV, v,
		 put_optional(p, in, put_open_message));
}

void shim_begin_all(const struct shim_call *c, int n, const MPI_Request *r)
{
	uint64_t *v = shim_list((size_t)n + 1), *p;

	if (!v)
		return;
	p = v + 1;
	for (int i = 0; i < n; i++) {
		const int64_t *at = find(r[i]);
		struct request *q = at ? &requests[*at] : NULL;

		if (!q || !(q->flags & PERSISTENT))
			continue;
		if ((q->flags & WILD) && !(q->flags & ACTIVE))
			n_wild++;
		q->flags |= ACTIVE;
		*p++ = (uint64_t)*at;
	}
	v[0] = (uint64_t)(p - v - 1);
	shim_put(c, NP_TRACE_START, v, p);
}

void shim_free(const struct shim_call *c, MPI_Request request)
{
	int64_t *at = find(request);
	uint64_t id;

	if (!at) {
		shim_local(c);
		return;
	}
	id = (uint64_t)*at;
	shim_put(c, NP_TRACE_FREE, &id, &id + 1);
	free_request(at);
}

/*
 * Whether the cancel succeeded is known only from the status of the completion,
 * so the request is treated like one with a wildcard.
 */
void shim_cancel(const struct shim_call *c, MPI_Request request)
{
	const int64_t *at = find(request);
	struct request *q = at ? &requests[*at] : NULL;

	if (q && (q->flags & ACTIVE) && !(q->flags & WILD)) {
		q->flags |= WILD;
		n_wild++;
	}
	shim_local(c);
}

/*
 * Looks up the requests of a list before the call: the MPI may give the handle
 * of a request that has completed to another thread before this one records
 * the completion. Of several with the same handle, the newest is meant.
 */
static void look_up(struct shim_wait *w, size_t n)
{
	for (size_t k = 0; w->id && k < n; k++) {
		int64_t i = room ? row_of(rows, room, w->request[k])->first :
				   -1;

		for (w->id[k] = -1; i >= 0; i = requests[i].next)
			if (requests[i].handle == w->request[k])
				w->id[k] = i;
	}
}

/* Where the number of the k-th request of a list is stored; NULL if none. */
static int64_t *find_of(const struct shim_wait *w, int k)
{
	int64_t *at = room && w->id ?
			    &row_of(rows, room, w->request[k])->first :
			    NULL;

	while (at && *at >= 0 && *at != w->id[k])
		at = &requests[*at].next;
	return at && *at >= 0 && requests[*at].handle == w->request[k] ?
		       at :
		       find(w->request[k]);
}

MPI_Status *shim_wait_begin(struct shim_wait *w, int n, const MPI_Request *r,
			    MPI_Status *user, bool ignored)
{
	bool few = n <= (int)NP_ARRAY_SIZE(w->few);
	size_t count = n > 0 ? (size_t)n : 0;

	w->own = NULL;
	w->id = NULL;
	w->st = ignored ? NULL : user;
	if (count && !r)
		w->request = NULL; /* an error of the program */
	else
		w->request = few ? w->few : malloc(count * sizeof(*r));
	if (!w->request)
		return user;
	if (count)
		memcpy(w->request, r, count * sizeof(*r));
	if (count && shim_lock()) {
		w->id = few ? w->few_id : malloc(count * sizeof(*w->id));
		look_up(w, count);
		shim_unlock();
	}
	/* The status says what a request with a wildcard matched. */
	if (ignored && n_wild) {
		w->own = few ? w->few_st : malloc(count * sizeof(*w->own));
		w->st = w->own;
	}
	return w->own ? w->own : user;
}

void shim_wait_free(struct shim_wait *w)
{
	if (w->request != w->few)
		free(w->request);
	if (w->own != w->few_st)
		free(w->own);
	if (w->id != w->few_id)
		free(w->id);
}

/* Writes a completed request and what it matched at p; returns the end. */
static uint64_t *put_done(uint64_t *p, int64_t *at, MPI_Status *st)
{
	struct request *q = &requests[*at];
	bool wild = (q->flags & WILD) && st;
	int cancelled = 0;

	if (wild)
		PMPI_Test_cancelled(st, &cancelled);
	wild = wild && !(q->flags & SENDS);
	/* Two bits: 1: peer and tag follow; 2: it was cancelled. */
	*p++ = (uint64_t)(*at + 1) * 4 + (cancelled ? 2 : wild);
	if (wild && !cancelled) {
		*p++ = (uint32_t)st->MPI_SOURCE;
		*p++ = (uint32_t)st->MPI_TAG;
	}
	if (!(q->flags & PERSISTENT)) {
		free_request(at);
		return p;
	}
	if (q->flags & WILD)
		n_wild--;
	q->flags &= ~(unsigned)ACTIVE;
	return p;
}

void shim_wait_done(const struct shim_call *c, struct shim_wait *w, int n,
		    const int *index)
{
	uint64_t *v = shim_list(3 * (size_t)n + 1), *p = v;

	if (!w->request || !v)
		return;
	for (int i = 0; i < n; i++) {
		int64_t *at = find_of(w, index ? index[i] : i);

		if (at && (requests[*at].flags & ACTIVE))
			p = put_done(p, at, w->st ? &w->st[i] : NULL);
	}
	*p++ = 0;
	shim_put(c, NP_TRACE_WAIT, v, p);
}
