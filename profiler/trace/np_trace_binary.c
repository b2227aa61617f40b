/* Reading binary traces (np_trace_format.h). */
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_trace_binary.h"

static int read_list(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t n, size = b->comm_size[ev->comm];
	int rc = np_binary_below(b, size + 1, "number of sizes", &n, err);

	if (rc || !n)
		return rc;
	if (n != size)
		return np_trace_wrong(&b->r, err, "%llu sizes: expected %llu",
				      (unsigned long long)n,
				      (unsigned long long)size);
	if (np_array_room(&b->list, &b->list_room, n, sizeof(*b->list)))
		return np_errf(err, -ENOMEM, "out of memory");
	for (uint64_t i = 0; !rc && i < n; i++)
		rc = np_binary_below(b, NP_TRACE_MAX, "bytes", &b->list[i],
				     err);
	ev->list = b->list;
	ev->n_list = n;
	return rc;
}

static int read_collective(struct np_binary *b, struct np_trace_event *ev,
			   struct np_err *err)
{
	uint32_t which, request = 0, id = 0, root;
	uint64_t received;
	int rc = np_binary_u32(b, NP_N_COLLECTIVES, "collective", &which, err);

	if (!rc)
		rc = np_binary_u32(b, b->n_requests + 2, "request", &request,
				   err);
	if (!rc)
		rc = np_binary_comm(b, &ev->comm, err);
	if (!rc)
		rc = np_binary_u32(b, b->comm_size[ev->comm] + 1ull, "root",
				   &root, err);
	if (!rc)
		rc = np_binary_below(b, NP_TRACE_MAX, "bytes", &ev->bytes, err);
	if (!rc)
		rc = np_binary_below(b, NP_TRACE_MAX, "bytes", &received, err);
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
	rc = np_binary_new(b, id, err);
	if (rc)
		return rc;
	b->request[id] = (struct np_binary_request){.used = true,
						    .comm = ev->comm};
	ev->request = id;
	return np_binary_begin(b, &b->request[id], err);
}

/* A run of ranks in MPI_COMM_WORLD; *n: how many there are already. */
static int read_run(struct np_binary *b, uint32_t size, uint32_t *n,
		    struct np_err *err)
{
	uint64_t first, step, count;
	int64_t rank, by;
	int rc = np_binary_below(b, b->r.size, "rank", &first, err);

	if (!rc)
		rc = np_binary_below(b, 2ull * b->r.size + 1, "step", &step,
				     err);
	if (!rc)
		rc = np_binary_below(b, (uint64_t)(size - *n) + 1,
				     "number of ranks", &count, err);
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

static int new_comm(struct np_binary *b, uint32_t id, uint32_t size,
		    struct np_err *err)
{
	if (id == b->n_comms) {
		if (np_array_room(&b->comm_size, &b->comm_room, b->n_comms + 1,
				  sizeof(*b->comm_size)))
			return np_errf(err, -ENOMEM, "out of memory");
		b->comm_size[b->n_comms++] = 0;
	}
	if (b->comm_size[id])
		return np_trace_wrong(&b->r, err, "communicator %u: it is in "
				      "use", id);
	if (np_array_room(&b->member, &b->member_room, size,
			  sizeof(*b->member)))
		return np_errf(err, -ENOMEM, "out of memory");
	b->comm_size[id] = size;
	return 0;
}

static int read_comm(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t runs = 0;
	uint32_t n = 0;
	int rc = np_binary_u32(b, b->n_comms + 1, "communicator", &ev->comm,
			       err);

	if (!rc)
		rc = np_binary_u32(b, b->r.size, "rank", &ev->rank, err);
	if (!rc)
		rc = np_binary_u32(b, b->r.size + 1ull, "size", &ev->size, err);
	if (!rc && ev->rank >= ev->size)
		rc = np_trace_wrong(&b->r, err, "rank %u: expected one below "
				    "%u", ev->rank, ev->size);
	if (!rc)
		rc = new_comm(b, ev->comm, ev->size, err);
	if (!rc)
		rc = np_binary_below(b, ev->size + 1ull, "number of runs",
				     &runs, err);
	while (!rc && runs--)
		rc = read_run(b, ev->size, &n, err);
	if (!rc && (n != ev->size || b->member[ev->rank] != b->r.rank))
		rc = np_trace_wrong(&b->r, err, "ranks of a communicator: "
				    "expected %u, this one in its place",
				    ev->size);
	ev->member = b->member;
	return rc;
}

static int read_name(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint64_t n;
	int rc = np_binary_below(b, sizeof(b->name), "length of a name", &n,
				 err);

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

static int read_body(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	uint32_t id;
	int rc;

	switch (ev->kind) {
	case NP_TRACE_SEND:
		rc = np_binary_comm(b, &ev->comm, err);
		return rc ? rc :
			    np_binary_message(b, ev->comm, false, &ev->out,
					      err);
	case NP_TRACE_RECV:
		rc = np_binary_comm(b, &ev->comm, err);
		return rc ? rc :
			    np_binary_message(b, ev->comm, false, &ev->in, err);
	case NP_TRACE_SENDRECV:
		rc = np_binary_comm(b, &ev->comm, err);
		if (!rc)
			rc = np_binary_maybe(b, ev->comm, false, &ev->out, err);
		return rc ? rc :
			    np_binary_maybe(b, ev->comm, false, &ev->in, err);
	case NP_TRACE_START:
		return np_binary_start(b, err);
	case NP_TRACE_WAIT:
		return np_binary_wait(b, ev, err);
	case NP_TRACE_FREE:
		rc = np_binary_u32(b, b->n_requests, "request", &id, err);
		if (!rc)
			rc = np_binary_old(b, id, err);
		if (!rc)
			b->request[id].used = b->request[id].active = false;
		ev->kind = NP_TRACE_LOCAL;
		return rc;
	case NP_TRACE_COLLECTIVE:
		return read_collective(b, ev, err);
	case NP_TRACE_COMM:
		return read_comm(b, ev, err);
	case NP_TRACE_COMM_FREE:
		rc = np_binary_comm(b, &ev->comm, err);
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
		return np_binary_post(b, ev, err);
	}
}

static int read_time(struct np_binary *b, struct np_trace_event *ev,
		     struct np_err *err)
{
	int rc = np_binary_below(b, NP_TRACE_MAX, "ns", &ev->gap_ns, err), c;
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
		rc = np_binary_below(b, NP_TRACE_MAX, "ns", &v, err);
	ev->length_ns = v;
	if (!rc && (v >= NP_TRACE_MAX ||
		    (b->sum_ns += ev->gap_ns + v) >= NP_TRACE_MAX))
		rc = np_trace_wrong(&b->r, err, "a time beyond 2^52 ns");
	return rc;
}

/* 1, 0 at the end, or an error. */
static int read_record(struct np_binary *b, struct np_trace_event *ev,
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
static void next_started(struct np_binary *b, struct np_trace_event *ev)
{
	uint32_t id = b->ids[b->next_id++];

	np_binary_use(b, &b->request[id], id, ev);
	if (b->next_id == b->n_ids)
		b->next_id = b->n_ids = 0;
}

static int next(struct np_trace_reader *r, struct np_trace_event *ev,
		struct np_err *err)
{
	struct np_binary *b = (struct np_binary *)r;
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

static void rewind_to(struct np_binary *b, bool first_pass)
{
	np_input_seek(&b->r.in, NP_TRACE_HEADER);
	b->first_pass = first_pass;
	b->r.line = b->sum_ns = 0;
	b->n_requests = b->n_comms = b->instance = 0;
	b->n_ids = b->next_id = 0;
}

static void close_binary(struct np_trace_reader *r)
{
	struct np_binary *b = (struct np_binary *)r;

	np_input_close(&r->in);
	free(b->request);
	free(b->match);
	free(b->comm_size);
	free(b->ids);
	free(b->list);
	free(b->member);
	free(b);
}

static int check_header(struct np_binary *b, struct np_err *err)
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
	struct np_binary *b = calloc(1, sizeof(*b));
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
