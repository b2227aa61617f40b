/*
 * Reads binary traces (np_trace_format.h). The first pass stores how each use
 * of a request ended; the second pass then reports what it sends and receives
 * when it begins.
 */
#include <errno.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_trace_reader.h"

/* The file ends within a record, and so does the trace. */
#define CUT (-ENODATA)

/* How a use of a request ended; known when the request completes. */
struct match {
	uint32_t peer, tag;
	enum { UNKNOWN, MATCHED, CANCELLED } how;
};

/* The reader of a binary trace. */
struct binary {
	struct np_trace_reader r; /* must be first */
	uint64_t sum_ns;	  /* time since the beginning of the trace */
	uint32_t *comm_size;	  /* by communicator; 0: does not exist */
	size_t n_comms, comm_room;
	uint32_t *member; /* of the communicator that was read last */
	size_t member_room;
	char name[128]; /* of the unsupported call that was read last */
};

/* The next byte; 0 at the end or after an error. */
static int read_byte(struct binary *b)
{
	int c = b->r.rc ? 0 : getc_unlocked(b->r.f);

	if (c < 0)
		b->r.rc = CUT;
	return c < 0 ? 0 : c;
}

/*
 * The next number, which must be below limit; 0 after an error. Numbers have
 * seven bits per byte, the lowest first; the eighth bit is set in all bytes but
 * the last.
 */
static uint64_t read_number(struct binary *b, uint64_t limit, const char *what)
{
	uint64_t v = 0;
	int c = 128;

	for (unsigned shift = 0; c >= 128; shift += 7) {
		c = read_byte(b);
		if (shift == 63 && c > 1) {
			v = UINT64_MAX;
			break;
		}
		v |= (uint64_t)(c & 127) << shift;
	}
	if (v >= limit && !b->r.rc)
		np_trace_fail(&b->r, "%s %llu: expected one below %llu", what,
			      (unsigned long long)v, (unsigned long long)limit);
	return b->r.rc ? 0 : v;
}

/* Reads a communicator and returns its size; 0 after an error. */
static uint32_t read_known_comm(struct binary *b, uint32_t *id)
{
	*id = (uint32_t)read_number(b, b->n_comms, "communicator");
	if (b->r.rc)
		return 0;
	if (!b->comm_size[*id])
		np_trace_fail(&b->r, "communicator %u was freed", *id);
	return b->comm_size[*id];
}

/* Reads a message. any: rank and tag are stored plus 1, and 0 is a wildcard. */
static void read_message(struct binary *b, uint32_t size, bool any,
			 struct np_trace_message *m)
{
	uint64_t peer = read_number(b, size + (uint64_t)any, "rank");
	uint64_t tag = read_number(b, (1ull << 31) + any, "tag");

	m->bytes = read_number(b, NP_TRACE_MAX, "bytes");
	m->there = true;
	m->peer = any && !peer ? NP_TRACE_ANY : (uint32_t)(peer - any);
	m->tag = any && !tag ? NP_TRACE_ANY : (uint32_t)(tag - any);
}

/* Reads a message that may be absent. */
static void read_optional_message(struct binary *b, uint32_t size, bool any,
				  struct np_trace_message *m)
{
	if (read_number(b, 2, "number of messages"))
		read_message(b, size, any, m);
}

/*
 * The number of a new request must be unused, and at most one above the others.
 */
static struct np_trace_request *new_request(struct binary *b, uint32_t id)
{
	if (b->r.rc || (id == b->r.n_requests && !np_trace_request_new(&b->r)))
		return NULL;
	if (b->r.request[id].used) {
		np_trace_fail(&b->r, "request %u is in use", id);
		return NULL;
	}
	return &b->r.request[id];
}

/* Reads the number of a request that must be in use. */
static struct np_trace_request *old_request(struct binary *b, uint32_t *id)
{
	*id = (uint32_t)read_number(b, b->r.n_requests, "request");
	if (b->r.rc)
		return NULL;
	if (!b->r.request[*id].used) {
		np_trace_fail(&b->r, "request %u does not exist", *id);
		return NULL;
	}
	return &b->r.request[*id];
}

/* What is stored for the current use of a request. */
static struct match *match_of(struct np_trace_reader *r,
			      const struct np_trace_request *q)
{
	return (struct match *)r->use + q->use;
}

/* Fills in what a use of a request sends and receives, according to its end. */
static void start(struct np_trace_reader *r, struct np_trace_request *q,
		  struct np_trace_event *ev)
{
	const struct match *m = match_of(r, q);
	bool wild = q->in.there &&
		    (q->in.peer == NP_TRACE_ANY || q->in.tag == NP_TRACE_ANY);

	ev->comm = q->comm;
	ev->kind = q->out.there && q->in.there ? NP_TRACE_ISENDRECV :
		   q->out.there		       ? NP_TRACE_ISEND :
						 NP_TRACE_IRECV;
	ev->out = q->out;
	ev->in = q->in;
	if (wild && m->how == MATCHED) {
		ev->in.peer = m->peer;
		ev->in.tag = m->tag;
	}
	if (m->how == CANCELLED)
		ev->in.there = ev->out.there = false;
	if (wild && m->how == UNKNOWN)
		ev->in.there = false;
	if (!ev->in.there && !ev->out.there)
		ev->kind = NP_TRACE_LOCAL;
}

/* Reads the start of a nonblocking or persistent operation. */
static void read_post(struct binary *b, struct np_trace_event *ev)
{
	enum np_trace_kind kind = ev->kind;
	bool persistent = kind == NP_TRACE_SEND_INIT ||
			  kind == NP_TRACE_RECV_INIT;
	uint32_t id = (uint32_t)read_number(b, b->r.n_requests + 1, "request"),
		 size;
	struct np_trace_request *at = new_request(b, id);
	struct np_trace_request q = { .used = true, .persistent = persistent };

	size = read_known_comm(b, &q.comm);
	if (kind == NP_TRACE_ISENDRECV) {
		read_optional_message(b, size, false, &q.out);
		read_optional_message(b, size, true, &q.in);
	} else if (kind == NP_TRACE_ISEND || kind == NP_TRACE_SEND_INIT) {
		read_message(b, size, false, &q.out);
	} else {
		read_message(b, size, true, &q.in);
	}
	if (b->r.rc || (!persistent && np_trace_request_use(&b->r, &q)))
		return;
	*at = q;
	ev->kind = NP_TRACE_LOCAL;
	if (persistent)
		return;
	ev->request = id;
	start(&b->r, at, ev);
}

/* Reads MPI_Start or MPI_Startall; the requests become events of their own. */
static void read_start(struct binary *b)
{
	uint64_t n = read_number(b, b->r.n_requests + 1, "number of requests");

	b->r.n_ids = b->r.next_id = 0;
	while (!b->r.rc && b->r.n_ids < n) {
		uint32_t id;
		struct np_trace_request *q = old_request(b, &id);

		if (!q)
			return;
		if (!q->persistent || q->active)
			np_trace_fail(&b->r,
				      "request %u: expected one to be started",
				      id);
		else if (!np_trace_request_use(&b->r, q))
			np_trace_id(&b->r, id);
	}
}

/* Reads one completed request and how it ended. */
static void read_done(struct binary *b, uint64_t v)
{
	bool matched = v & 1, cancelled = v & 2;
	uint64_t id = v / 4 - 1;
	struct np_trace_request *q;
	struct match m = { .how = cancelled ? CANCELLED :
				  matched   ? MATCHED :
					      UNKNOWN };

	if (v < 4 || id >= b->r.n_requests || !b->r.request[id].active) {
		np_trace_fail(&b->r, "request %llu is not active",
			      (unsigned long long)id);
		return;
	}
	q = &b->r.request[id];
	if (matched) {
		m.peer =
			(uint32_t)read_number(b, b->comm_size[q->comm], "rank");
		m.tag = (uint32_t)read_number(b, 1ull << 31, "tag");
	}
	if (b->r.rc)
		return;
	np_trace_id(&b->r, (uint32_t)id);
	if (!b->r.again)
		*match_of(&b->r, q) = m;
	q->active = false;
	q->used = q->persistent;
}

/* Reads the completed requests of a call. */
static void read_wait(struct binary *b, struct np_trace_event *ev)
{
	uint64_t v;

	b->r.n_ids = 0;
	while ((v = read_number(b, UINT64_MAX, "request")))
		read_done(b, v);
	ev->done = b->r.id;
	ev->n_done = b->r.next_id = b->r.n_ids;
}

/* Reads sizes by rank. */
static void read_list(struct binary *b, struct np_trace_event *ev,
		      uint32_t size)
{
	uint64_t n = read_number(b, size + 1ull, "number of sizes");
	uint64_t *list;

	if (!n)
		return;
	if (n != size) {
		np_trace_fail(&b->r, "%llu sizes: expected %u",
			      (unsigned long long)n, size);
		return;
	}
	list = np_trace_list(&b->r, ev, n);
	for (uint64_t i = 0; list && i < n && !b->r.rc; i++)
		list[i] = read_number(b, NP_TRACE_MAX, "bytes");
}

/* Reads a collective, blocking or not. */
static void read_collective(struct binary *b, struct np_trace_event *ev)
{
	struct np_trace_request *q;
	uint64_t request, root;
	uint32_t size;

	ev->collective = (enum np_collective)read_number(b, NP_N_COLLECTIVES,
							 "collective");
	request = read_number(b, b->r.n_requests + 2, "request");
	size = read_known_comm(b, &ev->comm);
	root = read_number(b, size + 1ull, "root");
	ev->root = root ? (uint32_t)(root - 1) : 0;
	ev->bytes = read_number(b, NP_TRACE_MAX, "bytes");
	read_number(b, NP_TRACE_MAX, "bytes"); /* bytes received; not needed */
	read_list(b, ev, size);
	if (!request)
		return;
	ev->request = (uint32_t)(request - 1);
	q = new_request(b, ev->request);
	if (!q)
		return;
	*q = (struct np_trace_request){ .used = true, .comm = ev->comm };
	np_trace_request_use(&b->r, q);
}

/*
 * Reads a run of ranks in MPI_COMM_WORLD: the first, the step and their number.
 * Steps are stored as 0, -1, 1, -2, 2 ... *n: number of ranks so far.
 */
static void read_run(struct binary *b, uint32_t size, uint32_t *n)
{
	int64_t rank = (int64_t)read_number(b, b->r.size, "rank"), by;
	uint64_t step = read_number(b, 2ull * b->r.size + 1, "step");
	uint64_t count =
		read_number(b, (uint64_t)(size - *n) + 1, "number of ranks");

	by = step & 1 ? -(int64_t)(step + 1) / 2 : (int64_t)step / 2;
	for (uint64_t i = 0; i < count; i++, rank += by) {
		if (rank < 0 || rank >= b->r.size) {
			np_trace_fail(
				&b->r,
				"a rank of a communicator: expected 0 to %u",
				b->r.size - 1);
			return;
		}
		b->member[(*n)++] = (uint32_t)rank;
	}
}

/* Makes room for a communicator, whose number must be free. */
static int new_comm(struct binary *b, uint32_t id, uint32_t size)
{
	if (b->r.rc)
		return b->r.rc;
	if (np_array_reserve(&b->comm_size, &b->comm_room, id + 1ull,
			     sizeof(*b->comm_size)) ||
	    np_array_reserve(&b->member, &b->member_room, size,
			     sizeof(*b->member)))
		return np_trace_no_memory(&b->r);
	if (id == b->n_comms)
		b->comm_size[b->n_comms++] = 0;
	if (b->comm_size[id])
		return np_trace_fail(&b->r, "communicator %u is in use", id);
	b->comm_size[id] = size;
	return 0;
}

/* Reads the ranks of a new communicator. */
static void read_comm(struct binary *b, struct np_trace_event *ev)
{
	uint64_t runs;
	uint32_t n = 0;

	ev->comm = (uint32_t)read_number(b, b->n_comms + 1, "communicator");
	ev->rank = (uint32_t)read_number(b, b->r.size, "rank");
	ev->size = (uint32_t)read_number(b, b->r.size + 1ull, "size");
	if (ev->rank >= ev->size)
		np_trace_fail(&b->r, "rank %u: expected one below %u", ev->rank,
			      ev->size);
	if (new_comm(b, ev->comm, ev->size))
		return;
	runs = read_number(b, ev->size + 1ull, "number of runs");
	while (!b->r.rc && runs--)
		read_run(b, ev->size, &n);
	if (!b->r.rc && (n != ev->size || b->member[ev->rank] != b->r.rank))
		np_trace_fail(&b->r,
			      "ranks of a communicator: expected %u, this one "
			      "in its place",
			      ev->size);
	ev->member = b->member;
}

/* Reads the name of an unsupported call; other characters become "?". */
static void read_name(struct binary *b, struct np_trace_event *ev)
{
	uint64_t n = read_number(b, sizeof(b->name), "length of a name");

	for (uint64_t i = 0; i < n; i++) {
		int c = read_byte(b);

		b->name[i] = c >= ' ' && c < 127 ? (char)c : '?';
	}
	b->name[n] = '\0';
	ev->name = b->name;
}

/* Reads MPI_Request_free. */
static void read_free(struct binary *b, struct np_trace_event *ev)
{
	uint32_t id;
	struct np_trace_request *q = old_request(b, &id);

	if (q)
		q->used = q->active = false;
	ev->kind = NP_TRACE_LOCAL;
}

/* Reads the members of a record after its times. */
static void read_body(struct binary *b, struct np_trace_event *ev)
{
	uint32_t size;

	switch (ev->kind) {
	case NP_TRACE_SEND:
	case NP_TRACE_RECV:
		size = read_known_comm(b, &ev->comm);
		read_message(b, size, false,
			     ev->kind == NP_TRACE_SEND ? &ev->out : &ev->in);
		break;
	case NP_TRACE_SENDRECV:
		size = read_known_comm(b, &ev->comm);
		read_optional_message(b, size, false, &ev->out);
		read_optional_message(b, size, false, &ev->in);
		break;
	case NP_TRACE_START:
		read_start(b);
		np_trace_started(&b->r, ev);
		break;
	case NP_TRACE_WAIT:
		read_wait(b, ev);
		break;
	case NP_TRACE_FREE:
		read_free(b, ev);
		break;
	case NP_TRACE_COLLECTIVE:
		read_collective(b, ev);
		break;
	case NP_TRACE_COMM:
		read_comm(b, ev);
		break;
	case NP_TRACE_COMM_FREE:
		if (read_known_comm(b, &ev->comm))
			b->comm_size[ev->comm] = 0;
		break;
	case NP_TRACE_UNSUPPORTED:
		read_name(b, ev);
		break;
	case NP_TRACE_LOCAL:
	case NP_TRACE_POLL:
	case NP_TRACE_FULL:
	case NP_TRACE_FINALIZE:
		break;
	default:
		read_post(b, ev);
	}
}

/*
 * Reads gap and length of a record. The length of polling has a fixed size,
 * because the record is rewritten while polling goes on.
 */
static void read_time(struct binary *b, struct np_trace_event *ev)
{
	uint64_t v = 0;

	ev->gap_ns = read_number(b, NP_TRACE_MAX, "ns");
	if (ev->kind == NP_TRACE_POLL)
		for (int i = 0; i < 8; i++)
			v |= (uint64_t)read_byte(b) << 8 * i;
	else
		v = read_number(b, NP_TRACE_MAX, "ns");
	ev->length_ns = v;
	if (!b->r.rc && (v >= NP_TRACE_MAX ||
			 (b->sum_ns += ev->gap_ns + v) >= NP_TRACE_MAX))
		np_trace_fail(&b->r, "a time beyond 2^52 ns");
}

/* Reads the next record. */
static int next(struct np_trace_reader *r, struct np_trace_event *ev)
{
	struct binary *b = (struct binary *)r;
	int kind = getc_unlocked(r->f);

	if (kind <= NP_TRACE_END)
		return 0;
	r->line++;
	*ev = (struct np_trace_event){ .kind = (enum np_trace_kind)kind,
				       .line = r->line,
				       .request = NP_TRACE_NO_REQUEST };
	if (kind >= NP_TRACE_N_KINDS)
		return np_trace_fail(r,
				     "record of kind %d: expected one below %d",
				     kind, NP_TRACE_N_KINDS);
	read_time(b, ev);
	if (!r->rc)
		read_body(b, ev);
	if (r->rc == CUT)
		return r->rc = 0;
	if (kind == NP_TRACE_FINALIZE || kind == NP_TRACE_FULL)
		fseeko(r->f, 0, SEEK_END); /* nothing may follow */
	return r->rc ? r->rc : 1;
}

/* Returns to the first record, with no communicators. */
static void rewind_binary(struct np_trace_reader *r)
{
	struct binary *b = (struct binary *)r;

	fseeko(r->f, NP_TRACE_HEADER, SEEK_SET);
	b->sum_ns = b->n_comms = 0;
}

/* Frees what only a binary reader has. */
static void close_binary(struct np_trace_reader *r)
{
	struct binary *b = (struct binary *)r;

	free(b->comm_size);
	free(b->member);
}

/* Checks that the file is of the expected rank. */
static int check_header(struct np_trace_reader *r,
			const struct np_trace_header *h, size_t got)
{
	if (got < sizeof(*h))
		return np_errf(r->err, -EINVAL,
			       "%s: expected a header of %zu bytes", r->path,
			       sizeof(*h));
	r->start_ns = h->start_ns;
	if (h->rank == r->rank && h->size == r->size)
		return 0;
	return np_errf(r->err, -EINVAL,
		       "%s: the trace of rank %u of %u: expected rank %u of %u",
		       r->path, h->rank, h->size, r->rank, r->size);
}

const struct np_trace_form np_trace_binary = {
	.bytes = sizeof(struct binary),
	.use_bytes = sizeof(struct match),
	.begin = check_header,
	.next = next,
	.start = start,
	.rewind = rewind_binary,
	.close = close_binary,
};
