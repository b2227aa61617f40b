#include "np_trace_binary.h"

#include "np_array.h"

int np_binary_new(struct np_binary *b, uint32_t id, struct np_err *err)
{
	if (id == b->n_requests) {
		if (np_array_room(&b->request, &b->request_room,
				  b->n_requests + 1, sizeof(*b->request)))
			return np_errf(err, -ENOMEM, "out of memory");
		b->request[b->n_requests++] = (struct np_binary_request){ 0 };
	}
	if (b->request[id].used)
		return np_trace_wrong(&b->r, err, "request %u: it is in use",
				      id);
	return 0;
}

int np_binary_old(struct np_binary *b, uint32_t id, struct np_err *err)
{
	if (id >= b->n_requests || !b->request[id].used)
		return np_trace_wrong(&b->r, err, "request %u: there is none",
				      id);
	return 0;
}

/* One more use of a request begins. */
int np_binary_begin(struct np_binary *b, struct np_binary_request *q,
		    struct np_err *err)
{
	if (b->instance >= UINT32_MAX)
		return np_trace_wrong(&b->r, err, "too many requests");
	q->active = true;
	q->instance = (uint32_t)b->instance++;
	if (!b->first_pass)
		return 0;
	if (np_array_room(&b->match, &b->match_room, b->instance,
			  sizeof(*b->match)))
		return np_errf(err, -ENOMEM, "out of memory");
	b->match[q->instance] = (struct np_binary_match){ 0 };
	return 0;
}

/* What a use of it sends and receives, in the end. */
void np_binary_use(const struct np_binary *b, const struct np_binary_request *q,
		uint32_t id, struct np_trace_event *ev)
{
	static const struct np_binary_match none;
	const struct np_binary_match *m = b->first_pass ? &none :
				&b->match[q->instance];

	ev->kind = q->sends && q->receives ? NP_TRACE_ISENDRECV :
		   q->sends ? NP_TRACE_ISEND : NP_TRACE_IRECV;
	ev->request = id;
	ev->comm = q->comm;
	ev->out = q->out;
	ev->in = q->in;
	if (q->receives && q->wild && m->how == MATCHED) {
		ev->in.peer = m->peer;
		ev->in.tag = m->tag;
	}
	if (m->how == CANCELLED || (q->receives && q->wild &&
				    m->how == UNKNOWN)) {
		ev->in.there = false;
		ev->out.there &= m->how != CANCELLED;
	}
	if (!ev->in.there && !ev->out.there)
		ev->kind = NP_TRACE_LOCAL;
}

static bool is_wild(const struct np_trace_message *m)
{
	return m->there && (m->peer == NP_TRACE_ANY || m->tag == NP_TRACE_ANY);
}

int np_binary_post(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	enum np_trace_kind kind = ev->kind;
	struct np_binary_request q = { .used = true };
	uint32_t id;
	int rc = np_binary_u32(b, b->n_requests + 1, "request", &id, err);

	if (!rc)
		rc = np_binary_new(b, id, err);
	if (!rc)
		rc = np_binary_comm(b, &q.comm, err);
	q.persistent = kind == NP_TRACE_SEND_INIT || kind == NP_TRACE_RECV_INIT;
	if (rc)
		return rc;
	if (kind == NP_TRACE_ISENDRECV) {
		rc = np_binary_maybe(b, q.comm, false, &q.out, err);
		if (!rc)
			rc = np_binary_maybe(b, q.comm, true, &q.in, err);
	} else if (kind == NP_TRACE_ISEND || kind == NP_TRACE_SEND_INIT) {
		rc = np_binary_message(b, q.comm, false, &q.out, err);
	} else {
		rc = np_binary_message(b, q.comm, true, &q.in, err);
	}
	q.sends = q.out.there;
	q.receives = q.in.there;
	q.wild = is_wild(&q.in);
	if (!rc && !q.persistent)
		rc = np_binary_begin(b, &q, err);
	if (rc)
		return rc;
	b->request[id] = q;
	ev->kind = NP_TRACE_LOCAL;
	if (!q.persistent)
		np_binary_use(b, &q, id, ev);
	return 0;
}

int np_binary_start(struct np_binary *b, struct np_err *err)
{
	uint64_t n;
	int rc = np_binary_below(b, b->n_requests + 1, "number of requests", &n,
				 err);

	b->n_ids = b->next_id = 0;
	if (!rc && np_array_room(&b->ids, &b->id_room, n, sizeof(*b->ids)))
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && b->n_ids < n) {
		uint32_t id;

		rc = np_binary_u32(b, b->n_requests, "request", &id, err);
		if (!rc)
			rc = np_binary_old(b, id, err);
		if (!rc && (!b->request[id].persistent ||
			    b->request[id].active))
			rc = np_trace_wrong(&b->r, err, "request %u: expected "
					    "one to be started", id);
		if (!rc)
			rc = np_binary_begin(b, &b->request[id], err);
		if (!rc)
			b->ids[b->n_ids++] = id;
	}
	if (rc)
		b->n_ids = 0;
	return rc;
}

static int read_match(struct np_binary *b, const struct np_binary_request *q,
		      unsigned how, struct np_binary_match *m,
		      struct np_err *err)
{
	int rc = 0;

	*m = (struct np_binary_match){.how = how & 2 ? CANCELLED :
					     how & 1 ? MATCHED :
						       UNKNOWN};
	if (how & 1)
		rc = np_binary_u32(b, b->comm_size[q->comm], "rank", &m->peer,
				   err);
	if (!rc && how & 1)
		rc = np_binary_u32(b, 1ull << 31, "tag", &m->tag, err);
	return rc;
}

static int read_done(struct np_binary *b, uint64_t v, struct np_err *err)
{
	uint64_t id = v / 4 - 1;
	struct np_binary_request *q;
	struct np_binary_match m;
	int rc;

	if (v < 4 || id >= b->n_requests || !b->request[id].active)
		return np_trace_wrong(&b->r, err, "request %llu: it is not "
				      "under way", (unsigned long long)id);
	q = &b->request[id];
	rc = read_match(b, q, v & 3, &m, err);
	if (rc)
		return rc;
	if (np_array_room(&b->ids, &b->id_room, b->n_done + 1, sizeof(*b->ids)))
		return np_errf(err, -ENOMEM, "out of memory");
	b->ids[b->n_done++] = (uint32_t)id;
	if (b->first_pass)
		b->match[q->instance] = m;
	q->active = false;
	q->used = q->persistent;
	return 0;
}

int np_binary_wait(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t v;
	int rc = 0;

	b->n_done = 0;
	while (!rc) {
		rc = np_binary_below(b, UINT64_MAX, "request", &v, err);
		if (rc || !v)
			break;
		rc = read_done(b, v, err);
	}
	ev->done = b->ids;
	ev->n_done = b->n_done;
	return rc;
}
