/* Reading binary traces (np_trace_format.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_trace_reader.h"

#define CUT (-ENODATA) /* the file ends within a record: so does the trace */

struct request {
	bool used, active, persistent, sends, receives, wild;
	uint32_t comm, instance;
	struct np_trace_message out, in;
};

/* What is known when a request is done. */
struct match {
	uint32_t peer, tag;
	enum { UNKNOWN, MATCHED, CANCELLED } how;
};

struct done {
	uint32_t request;
	struct match match;
};

struct binary {
	struct np_trace_reader r;
	bool first_pass;
	uint64_t sum_ns;

	struct request *request;
	size_t n_requests, request_room;
	struct match *match; /* of each use of a request, in their order */
	size_t n_matches, match_room;
	size_t instance; /* of the present pass */
	uint32_t *comm_size; /* of each communicator; 0: there is none */
	size_t n_comms, comm_room;

	struct done *done; /* of a WAIT */
	size_t n_done, done_room;
	uint32_t *ids; /* of a START, and what is left of it; of a WAIT */
	size_t n_ids, next_id, id_room;
	uint64_t *list;
	size_t list_room;
	uint32_t *member;
	size_t member_room;
	char name[128];
};

static int get(struct binary *b, uint64_t *v)
{
	uint64_t sum = 0;
	int c;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		c = np_input_byte(&b->r.in);
		if (c < 0)
			return CUT;
		if (shift == 63 && c > 1)
			return -EINVAL;
		sum |= (uint64_t)(c & 127) << shift;
		if (c < 128) {
			*v = sum;
			return 0;
		}
	}
	return -EINVAL;
}

static int get_below(struct binary *b, uint64_t limit, const char *what,
		     uint64_t *v, struct np_err *err)
{
	int rc = get(b, v);

	if (rc == CUT)
		return rc;
	if (rc || *v >= limit)
		return np_trace_wrong(&b->r, err, "%s %llu: expected one below "
				      "%llu", what,
				      rc ? ~0ull : (unsigned long long)*v,
				      (unsigned long long)limit);
	return 0;
}

static int get_u32(struct binary *b, uint64_t limit, const char *what,
		   uint32_t *v, struct np_err *err)
{
	uint64_t wide = 0;
	int rc = get_below(b, limit, what, &wide, err);

	*v = (uint32_t)wide;
	return rc;
}

static int get_comm(struct binary *b, uint32_t *comm, struct np_err *err)
{
	int rc = get_u32(b, b->n_comms, "communicator", comm, err);

	if (!rc && !b->comm_size[*comm])
		rc = np_trace_wrong(&b->r, err, "communicator %u: it was freed",
				    *comm);
	return rc;
}

/* any: both are one more, 0 is a wildcard. */
static int get_message(struct binary *b, uint32_t comm, bool any,
		       struct np_trace_message *m, struct np_err *err)
{
	uint64_t peer, tag;
	int rc = get_below(b, b->comm_size[comm] + (uint64_t)any, "rank",
			   &peer, err);

	if (!rc)
		rc = get_below(b, (1ull << 31) + any, "tag", &tag, err);
	if (!rc)
		rc = get_below(b, NP_TRACE_MAX, "bytes", &m->bytes, err);
	if (rc)
		return rc;
	m->there = true;
	m->peer = any && !peer ? NP_TRACE_ANY : (uint32_t)(peer - any);
	m->tag = any && !tag ? NP_TRACE_ANY : (uint32_t)(tag - any);
	return 0;
}

static int get_maybe(struct binary *b, uint32_t comm, bool any,
		     struct np_trace_message *m, struct np_err *err)
{
	uint64_t there;
	int rc = get_below(b, 2, "number of messages", &there, err);

	return rc || !there ? rc : get_message(b, comm, any, m, err);
}

/* A new request's number; it must be free, and not far beyond the others. */
static int get_new(struct binary *b, uint32_t *id, struct np_err *err)
{
	int rc = get_u32(b, b->n_requests + 1, "request", id, err);

	if (rc)
		return rc;
	if (*id == b->n_requests) {
		if (np_trace_room(&b->request, &b->request_room,
				  b->n_requests + 1, sizeof(*b->request)))
			return np_errf(err, -ENOMEM, "out of memory");
		b->request[b->n_requests++] = (struct request){ 0 };
	}
	if (b->request[*id].used)
		return np_trace_wrong(&b->r, err, "request %u: it is in use",
				      *id);
	return 0;
}

static int get_old(struct binary *b, uint32_t id, struct np_err *err)
{
	if (id >= b->n_requests || !b->request[id].used)
		return np_trace_wrong(&b->r, err, "request %u: there is none",
				      id);
	return 0;
}

/* One more use of a request begins. */
static int begin_use(struct binary *b, struct request *q, struct np_err *err)
{
	if (b->instance >= UINT32_MAX)
		return np_trace_wrong(&b->r, err, "too many requests");
	q->active = true;
	q->instance = (uint32_t)b->instance++;
	if (!b->first_pass)
		return 0;
	if (np_trace_room(&b->match, &b->match_room, b->instance,
			  sizeof(*b->match)))
		return np_errf(err, -ENOMEM, "out of memory");
	b->match[q->instance] = (struct match){ 0 };
	b->n_matches = b->instance;
	return 0;
}

/* What a use of it sends and receives, in the end. */
static void use(const struct binary *b, const struct request *q,
		uint32_t id, struct np_trace_event *ev)
{
	static const struct match none;
	const struct match *m = b->first_pass ? &none :
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

static int read_post(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	enum np_trace_kind kind = ev->kind;
	struct request q = { .used = true };
	uint32_t id;
	int rc = get_new(b, &id, err);

	if (!rc)
		rc = get_comm(b, &q.comm, err);
	q.persistent = kind == NP_TRACE_SEND_INIT || kind == NP_TRACE_RECV_INIT;
	if (rc)
		return rc;
	if (kind == NP_TRACE_ISENDRECV) {
		rc = get_maybe(b, q.comm, false, &q.out, err);
		if (!rc)
			rc = get_maybe(b, q.comm, true, &q.in, err);
	} else if (kind == NP_TRACE_ISEND || kind == NP_TRACE_SEND_INIT) {
		rc = get_message(b, q.comm, false, &q.out, err);
	} else {
		rc = get_message(b, q.comm, true, &q.in, err);
	}
	q.sends = q.out.there;
	q.receives = q.in.there;
	q.wild = is_wild(&q.in);
	if (!rc && !q.persistent)
		rc = begin_use(b, &q, err);
	if (rc)
		return rc;
	b->request[id] = q;
	ev->kind = NP_TRACE_LOCAL;
	if (!q.persistent)
		use(b, &q, id, ev);
	return 0;
}

static int read_start(struct binary *b, struct np_err *err)
{
	uint64_t n;
	int rc = get_below(b, b->n_requests + 1, "number of requests", &n, err);

	b->n_ids = b->next_id = 0;
	if (!rc && np_trace_room(&b->ids, &b->id_room, n, sizeof(*b->ids)))
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && b->n_ids < n) {
		uint32_t id;

		rc = get_u32(b, b->n_requests, "request", &id, err);
		if (!rc)
			rc = get_old(b, id, err);
		if (!rc && (!b->request[id].persistent ||
			    b->request[id].active))
			rc = np_trace_wrong(&b->r, err, "request %u: expected "
					    "one to be started", id);
		if (!rc)
			rc = begin_use(b, &b->request[id], err);
		if (!rc)
			b->ids[b->n_ids++] = id;
	}
	if (rc)
		b->n_ids = 0;
	return rc;
}

static int read_match(struct binary *b, const struct request *q, unsigned how,
		      struct match *m, struct np_err *err)
{
	int rc = 0;

	*m = (struct match){ .how = how & 2 ? CANCELLED : how & 1 ? MATCHED :
				    UNKNOWN };
	if (how & 1)
		rc = get_u32(b, b->comm_size[q->comm], "rank", &m->peer, err);
	if (!rc && how & 1)
		rc = get_u32(b, 1ull << 31, "tag", &m->tag, err);
	return rc;
}

static int read_done(struct binary *b, uint64_t v, struct np_err *err)
{
	uint64_t id = v / 4 - 1;
	struct request *q;
	struct match m;
	int rc;

	if (v < 4 || id >= b->n_requests || !b->request[id].active)
		return np_trace_wrong(&b->r, err, "request %llu: it is not "
				      "under way", (unsigned long long)id);
	q = &b->request[id];
	rc = read_match(b, q, v & 3, &m, err);
	if (rc)
		return rc;
	if (np_trace_room(&b->ids, &b->id_room, b->n_done + 1, sizeof(*b->ids)))
		return np_errf(err, -ENOMEM, "out of memory");
	b->ids[b->n_done++] = (uint32_t)id;
	if (b->first_pass)
		b->match[q->instance] = m;
	q->active = false;
	q->used = q->persistent;
	return 0;
}

static int read_wait(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t v = 0;
	int rc = 0;

	b->n_done = 0;
	while (!rc && !(rc = get(b, &v)) && v)
		rc = read_done(b, v, err);
	if (rc == -EINVAL && v == 0)
		rc = np_trace_wrong(&b->r, err, "a number that is too large");
	ev->done = b->ids;
	ev->n_done = b->n_done;
	return rc;
}

static int read_list(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t n, size = b->comm_size[ev->comm];
	int rc = get_below(b, size + 1, "number of sizes", &n, err);

	if (rc || !n)
		return rc;
	if (n != size)
		return np_trace_wrong(&b->r, err, "%llu sizes: expected %llu",
				      (unsigned long long)n,
				      (unsigned long long)size);
	if (np_trace_room(&b->list, &b->list_room, n, sizeof(*b->list)))
		return np_errf(err, -ENOMEM, "out of memory");
	for (uint64_t i = 0; !rc && i < n; i++)
		rc = get_below(b, NP_TRACE_MAX, "bytes", &b->list[i], err);
	ev->list = b->list;
	ev->n_list = n;
	return rc;
}

static int read_collective(struct binary *b, struct np_trace_event *ev,
			   struct np_err *err)
{
	uint32_t which, request = 0, id = 0, root;
	uint64_t received;
	int rc = get_u32(b, NP_N_COLLECTIVES, "collective", &which, err);

	if (!rc)
		rc = get_u32(b, b->n_requests + 2, "request", &request, err);
	if (!rc)
		rc = get_comm(b, &ev->comm, err);
	if (!rc)
		rc = get_u32(b, b->comm_size[ev->comm] + 1ull, "root", &root,
			     err);
	if (!rc)
		rc = get_below(b, NP_TRACE_MAX, "bytes", &ev->bytes, err);
	if (!rc)
		rc = get_below(b, NP_TRACE_MAX, "bytes", &received, err);
	if (!rc)
		rc = read_list(b, ev, err);
	if (rc)
		return rc;
	ev->collective = (enum np_collective)which;
	ev->root = root ? root - 1 : 0;
	ev->request = NP_TRACE_NO_REQUEST;
	if (!request)
		return 0;
	id = request - 1;
	if (id == b->n_requests) {
		if (np_trace_room(&b->request, &b->request_room,
				  b->n_requests + 1, sizeof(*b->request)))
			return np_errf(err, -ENOMEM, "out of memory");
		b->request[b->n_requests++] = (struct request){ 0 };
	}
	if (b->request[id].used)
		return np_trace_wrong(&b->r, err, "request %u: it is in use",
				      id);
	b->request[id] = (struct request){ .used = true, .comm = ev->comm };
	ev->request = id;
	return begin_use(b, &b->request[id], err);
}

/* A run of ranks in MPI_COMM_WORLD; *n: how many there are already. */
static int read_run(struct binary *b, uint32_t size, uint32_t *n,
		    struct np_err *err)
{
	uint64_t first, step, count;
	int64_t rank, by;
	int rc = get_below(b, b->r.size, "rank", &first, err);

	if (!rc)
		rc = get_below(b, 2ull * b->r.size + 1, "step", &step, err);
	if (!rc)
		rc = get_below(b, (uint64_t)(size - *n) + 1, "number of ranks",
			       &count, err);
	if (rc)
		return rc;
	by = step & 1 ? -(int64_t)(step + 1) / 2 : (int64_t)step / 2;
	rank = (int64_t)first;
	for (uint64_t i = 0; i < count; i++, rank += by) {
		if (rank < 0 || rank >= b->r.size)
			return np_trace_wrong(&b->r, err, "a rank of a "
					      "communicator: expected 0 to %u",
					      b->r.size - 1);
		b->member[(*n)++] = (uint32_t)rank;
	}
	return 0;
}

static int new_comm(struct binary *b, uint32_t id, uint32_t size,
		    struct np_err *err)
{
	if (id == b->n_comms) {
		if (np_trace_room(&b->comm_size, &b->comm_room, b->n_comms + 1,
				  sizeof(*b->comm_size)))
			return np_errf(err, -ENOMEM, "out of memory");
		b->comm_size[b->n_comms++] = 0;
	}
	if (b->comm_size[id])
		return np_trace_wrong(&b->r, err, "communicator %u: it is in "
				      "use", id);
	if (np_trace_room(&b->member, &b->member_room, size,
			  sizeof(*b->member)))
		return np_errf(err, -ENOMEM, "out of memory");
	b->comm_size[id] = size;
	return 0;
}

static int read_comm(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t runs = 0;
	uint32_t n = 0;
	int rc = get_u32(b, b->n_comms + 1, "communicator", &ev->comm, err);

	if (!rc)
		rc = get_u32(b, b->r.size, "rank", &ev->rank, err);
	if (!rc)
		rc = get_u32(b, b->r.size + 1ull, "size", &ev->size, err);
	if (!rc && ev->rank >= ev->size)
		rc = np_trace_wrong(&b->r, err, "rank %u: expected one below "
				    "%u", ev->rank, ev->size);
	if (!rc)
		rc = new_comm(b, ev->comm, ev->size, err);
	if (!rc)
		rc = get_below(b, ev->size + 1ull, "number of runs", &runs,
			       err);
	while (!rc && runs--)
		rc = read_run(b, ev->size, &n, err);
	if (!rc && (n != ev->size || b->member[ev->rank] != b->r.rank))
		rc = np_trace_wrong(&b->r, err, "ranks of a communicator: "
				    "expected %u, this one in its place",
				    ev->size);
	ev->member = b->member;
	return rc;
}

static int read_name(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t n;
	int rc = get_below(b, sizeof(b->name), "length of a name", &n, err);

	for (uint64_t i = 0; !rc && i < n; i++) {
		int c = np_input_byte(&b->r.in);

		if (c < 0)
			return CUT;
		b->name[i] = c >= ' ' && c < 127 ? (char)c : '?';
	}
	if (!rc)
		b->name[n] = '\0';
	ev->name = b->name;
	return rc;
}

static int read_body(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint32_t id;
	int rc;

	switch (ev->kind) {
	case NP_TRACE_SEND:
		rc = get_comm(b, &ev->comm, err);
		return rc ? rc : get_message(b, ev->comm, false, &ev->out, err);
	case NP_TRACE_RECV:
		rc = get_comm(b, &ev->comm, err);
		return rc ? rc : get_message(b, ev->comm, false, &ev->in, err);
	case NP_TRACE_SENDRECV:
		rc = get_comm(b, &ev->comm, err);
		if (!rc)
			rc = get_maybe(b, ev->comm, false, &ev->out, err);
		return rc ? rc : get_maybe(b, ev->comm, false, &ev->in, err);
	case NP_TRACE_START:
		return read_start(b, err);
	case NP_TRACE_WAIT:
		return read_wait(b, ev, err);
	case NP_TRACE_FREE:
		rc = get_u32(b, b->n_requests, "request", &id, err);
		if (!rc)
			rc = get_old(b, id, err);
		if (!rc)
			b->request[id].used = b->request[id].active = false;
		ev->kind = NP_TRACE_LOCAL;
		return rc;
	case NP_TRACE_COLLECTIVE:
		return read_collective(b, ev, err);
	case NP_TRACE_COMM:
		return read_comm(b, ev, err);
	case NP_TRACE_COMM_FREE:
		rc = get_comm(b, &ev->comm, err);
		if (!rc)
			b->comm_size[ev->comm] = 0;
		return rc;
	case NP_TRACE_UNSUPPORTED:
		return read_name(b, ev, err);
	case NP_TRACE_LOCAL:
	case NP_TRACE_POLL:
	case NP_TRACE_FULL:
	case NP_TRACE_FINALIZE:
		return 0;
	default:
		return read_post(b, ev, err);
	}
}

static int read_time(struct binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	int rc = get_below(b, NP_TRACE_MAX, "ns", &ev->gap_ns, err), c;
	uint64_t v = 0;

	if (rc)
		return rc;
	for (int i = 0; ev->kind == NP_TRACE_POLL && i < 8; i++) {
		c = np_input_byte(&b->r.in);
		if (c < 0)
			return CUT;
		v |= (uint64_t)c << 8 * i;
	}
	if (ev->kind != NP_TRACE_POLL)
		rc = get_below(b, NP_TRACE_MAX, "ns", &v, err);
	ev->length_ns = v;
	if (!rc && (v >= NP_TRACE_MAX ||
		    (b->sum_ns += ev->gap_ns + v) >= NP_TRACE_MAX))
		rc = np_trace_wrong(&b->r, err, "a time beyond 2^52 ns");
	return rc;
}

/* 1, 0 at the end, or an error. */
static int read_record(struct binary *b, struct np_trace_event *ev,
		       struct np_err *err)
{
	int kind = np_input_byte(&b->r.in), rc;

	if (kind <= NP_TRACE_END)
		return b->r.in.error;
	b->r.line++;
	*ev = (struct np_trace_event){ .kind = (enum np_trace_kind)kind,
		.line = b->r.line, .request = NP_TRACE_NO_REQUEST };
	if (kind >= NP_TRACE_N_KINDS)
		return np_trace_wrong(&b->r, err, "record of kind %d: expected "
				      "one below %d", kind, NP_TRACE_N_KINDS);
	rc = read_time(b, ev, err);
	if (!rc)
		rc = read_body(b, ev, err);
	if (rc == CUT)
		return b->r.in.error;
	return rc ? rc : 1;
}

/* The next of those that one START begins. */
static void next_started(struct binary *b, struct np_trace_event *ev)
{
	uint32_t id = b->ids[b->next_id++];

	use(b, &b->request[id], id, ev);
	if (b->next_id == b->n_ids)
		b->next_id = b->n_ids = 0;
}

static int next(struct np_trace_reader *r, struct np_trace_event *ev,
		struct np_err *err)
{
	struct binary *b = (struct binary *)r;
	int rc;

	if (b->next_id) {
		*ev = (struct np_trace_event){ .line = r->line };
		next_started(b, ev);
		return 1;
	}
	rc = read_record(b, ev, err);
	if (rc < 0 && r->in.error)
		return np_errf(err, rc, "%s: %s", r->in.path, strerror(-rc));
	if (rc == 1 && ev->kind == NP_TRACE_START) {
		ev->kind = NP_TRACE_LOCAL;
		if (b->n_ids)
			next_started(b, ev);
	}
	if (rc == 1 && (ev->kind == NP_TRACE_FINALIZE ||
			ev->kind == NP_TRACE_FULL))
		np_input_seek(&r->in, r->in.size); /* nothing follows */
	return rc;
}

static void rewind_to(struct binary *b, bool first_pass)
{
	np_input_seek(&b->r.in, NP_TRACE_HEADER);
	b->first_pass = first_pass;
	b->r.line = b->sum_ns = 0;
	b->n_requests = b->n_comms = b->instance = 0;
	b->n_ids = b->next_id = 0;
}

static void close_binary(struct np_trace_reader *r)
{
	struct binary *b = (struct binary *)r;

	np_input_close(&r->in);
	free(b->request);
	free(b->match);
	free(b->comm_size);
	free(b->done);
	free(b->ids);
	free(b->list);
	free(b->member);
	free(b);
}

static int check_header(struct binary *b, struct np_err *err)
{
	struct np_input *in = &b->r.in;
	struct np_trace_header h;

	if (!np_input_more(in) || in->end - in->at < (ptrdiff_t)sizeof(h))
		return np_errf(err, -EINVAL, "%s: expected a header of %zu "
			       "bytes", in->path, sizeof(h));
	memcpy(&h, in->at, sizeof(h));
	if (h.rank == b->r.rank && h.size == b->r.size)
		return 0;
	return np_errf(err, -EINVAL, "%s: the trace of rank %u of %u: expected "
		       "rank %u of %u", in->path, h.rank, h.size, b->r.rank,
		       b->r.size);
}

int np_trace_open_binary(struct np_input *in, uint32_t rank, uint32_t size,
			 struct np_trace_reader **out, struct np_err *err)
{
	struct binary *b = calloc(1, sizeof(*b));
	struct np_trace_event ev;
	int rc;

	if (!b) {
		np_input_close(in);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	b->r = (struct np_trace_reader){ .in = *in, .rank = rank, .size = size,
		.next = next, .close = close_binary };
	rc = check_header(b, err);
	rewind_to(b, true);
	while (!rc) {
		rc = next(&b->r, &ev, err);
		if (rc <= 0)
			break;
		b->r.whole = ev.kind == NP_TRACE_FINALIZE;
		rc = 0;
	}
	if (rc) {
		close_binary(&b->r);
		return rc;
	}
	rewind_to(b, false);
	*out = &b->r;
	return 0;
}
