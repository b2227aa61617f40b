/*
 * Reading the text of liballprof: a line per call,
 *
 *	MPI_NAME:BEGIN:ARGUMENT:...:END
 *
 * Times are microseconds.  A datatype is "id,size,extent", a communicator
 * "handle,rank,size", counts of a v-collective a pointer and then
 * "n0,n1,...", all else a number, of handles and arrays the address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_trace_address.h"
#include "np_trace_line.h"

#define MPICH_WORLD 0x44000000 /* its MPI_COMM_WORLD, in C and Fortran */

struct text {
	struct np_trace_reader r;
	char *text;
	size_t room;
	bool told[NP_LINE_CALLS];
	bool mpich;
	uint64_t end_ns, start_ns; /* of the call before; of the first */
	uint64_t work, max_work;   /* requests looked at */
	unsigned handle_bytes;	   /* of requests, 4 or 8; 0: not known */
	struct np_addresses at;

	uint64_t *handle; /* of each communicator */
	size_t n_handles, handle_room;
	uint32_t *member;
	struct np_trace_event held; /* what comes after a COMM */
	bool holds, alone;	    /* the COMM has this rank only */
	uint32_t *done;
	size_t n_done, done_room;
	uint32_t *started; /* as many of these are begun as is_begun says */
	size_t n_started, next_started, started_room;
	uint64_t *blocks;
	size_t block_room;
};

/* The number of a communicator; *is_new: a COMM has to say which it is. */
static int comm_of(struct text *t, const struct np_line_args *a, uint32_t *comm,
		   bool *is_new, struct np_err *err)
{
	bool all = a->comm_size == t->r.size && a->comm_rank == t->r.rank;

	for (size_t i = 0; i < t->n_handles; i++)
		if (t->handle[i] == a->handle) {
			*comm = (uint32_t)i;
			return 0;
		}
	if (!all && a->comm_size != 1)
		return np_trace_wrong(&t->r, err, "rank %lld of %lld in "
				      "communicator %llu: liballprof tells "
				      "who is who only of all %u ranks",
				      (long long)a->comm_rank,
				      (long long)a->comm_size,
				      (unsigned long long)a->handle,
				      t->r.size);
	if (np_array_room(&t->handle, &t->handle_room, t->n_handles + 1,
			  sizeof(*t->handle)))
		return np_errf(err, -ENOMEM, "out of memory");
	*comm = (uint32_t)t->n_handles;
	t->handle[t->n_handles++] = a->handle;
	t->alone = !all;
	*is_new = true;
	return 0;
}

static int post(struct text *t, const struct np_line_args *a,
		struct np_trace_event *ev, struct np_err *err)
{
	struct np_address *p = np_address_at(&t->at, a->request);

	if (!p || np_address_begin(&t->at, p))
		return np_errf(err, -ENOMEM, "out of memory");
	p->persistent = false;
	ev->request = (uint32_t)(p - t->at.address);
	return 0;
}

static int post_later(struct text *t, const struct np_line_args *a,
		      const struct np_trace_event *ev, struct np_err *err)
{
	const struct np_trace_message *m = ev->out.there ? &ev->out : &ev->in;
	struct np_address *p = np_address_at(&t->at, a->request);

	if (!p)
		return np_errf(err, -ENOMEM, "out of memory");
	p->active = false;
	p->persistent = m->there;
	p->sends = ev->out.there;
	p->comm = ev->comm;
	p->bytes = m->bytes;
	p->peer = m->peer;
	p->tag = m->tag;
	return 0;
}

static int take_message(struct text *t, const struct np_line_args *a,
			struct np_trace_event *ev, struct np_err *err)
{
	enum np_trace_kind kind = ev->kind;
	bool receives = kind == NP_TRACE_RECV || kind == NP_TRACE_IRECV ||
			kind == NP_TRACE_RECV_INIT;
	int rc = np_line_message(&t->r, t->mpich, a, 0, receives,
				 receives ? &ev->in : &ev->out, err);

	if (!rc && kind == NP_TRACE_SENDRECV)
		rc = np_line_message(&t->r, t->mpich, a, 1, true, &ev->in, err);
	if (rc)
		return rc;
	if (kind == NP_TRACE_SEND_INIT || kind == NP_TRACE_RECV_INIT) {
		rc = post_later(t, a, ev, err);
		ev->kind = NP_TRACE_LOCAL;
		ev->in.there = ev->out.there = false;
		return rc;
	}
	if (!ev->in.there && !ev->out.there)
		ev->kind = NP_TRACE_LOCAL;
	else if (kind == NP_TRACE_ISEND || kind == NP_TRACE_IRECV)
		return post(t, a, ev, err);
	return 0;
}

/* How far apart the handles of an array are: where there are requests. */
static unsigned handle_bytes(struct text *t, const struct np_line_args *a)
{
	unsigned hits[2] = { 0 };

	if (t->handle_bytes || a->n_requests < 2)
		return t->handle_bytes ? t->handle_bytes : 8;
	for (unsigned i = 1; i < 64 && i < a->n_requests; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct np_address *p = np_address_find(&t->at,
				a->request + (uint64_t)i * (4 + 4 * k));

			hits[k] += p && (p->active || p->persistent);
		}
	if (hits[0] != hits[1])
		t->handle_bytes = hits[0] > hits[1] ? 4 : 8;
	return hits[0] > hits[1] ? 4 : 8;
}

static int check_work(struct text *t, const struct np_line_args *a,
		      struct np_err *err)
{
	if (a->n_requests < 0)
		return np_trace_wrong(&t->r, err, "%lld requests: expected "
				      "no less than 0",
				      (long long)a->n_requests);
	t->work += (uint64_t)a->n_requests;
	if (t->work > t->max_work)
		return np_trace_wrong(&t->r, err, "%lld requests: more than "
				      "the whole file can have",
				      (long long)a->n_requests);
	return 0;
}

static int take_wait(struct text *t, const struct np_line_call *c,
		     const struct np_line_args *a, struct np_trace_event *ev,
		     struct np_err *err)
{
	unsigned bytes = handle_bytes(t, a);
	int rc = check_work(t, a, err);

	t->n_done = 0;
	for (int64_t i = 0; !rc && i < a->n_requests; i++) {
		struct np_address *p = np_address_find(&t->at, a->request +
						       (uint64_t)i * bytes);

		if (!np_address_ends(&t->at, p, t->r.line, !c->may_leave))
			continue;
		if (np_array_room(&t->done, &t->done_room, t->n_done + 1,
				  sizeof(*t->done)))
			return np_errf(err, -ENOMEM, "out of memory");
		t->done[t->n_done++] = (uint32_t)(p - t->at.address);
	}
	ev->done = t->done;
	ev->n_done = t->n_done;
	return rc;
}

static int take_start(struct text *t, const struct np_line_args *a,
		      struct np_err *err)
{
	unsigned bytes = handle_bytes(t, a);
	int rc = check_work(t, a, err);

	t->n_started = t->next_started = 0;
	for (int64_t i = 0; !rc && i < a->n_requests; i++) {
		struct np_address *p = np_address_find(&t->at, a->request +
						       (uint64_t)i * bytes);

		if (!p || !p->persistent)
			continue;
		if (np_address_begin(&t->at, p) ||
		    np_array_room(&t->started, &t->started_room,
				  t->n_started + 1, sizeof(*t->started)))
			return np_errf(err, -ENOMEM, "out of memory");
		t->started[t->n_started++] = (uint32_t)(p - t->at.address);
	}
	return rc;
}

static void give_started(struct text *t, struct np_trace_event *ev)
{
	const struct np_address *p;
	struct np_trace_message *m;

	if (t->next_started == t->n_started) {
		ev->kind = NP_TRACE_LOCAL;
		return;
	}
	p = &t->at.address[t->started[t->next_started]];
	ev->kind = p->sends ? NP_TRACE_ISEND : NP_TRACE_IRECV;
	ev->request = t->started[t->next_started++];
	ev->comm = p->comm;
	m = p->sends ? &ev->out : &ev->in;
	*m = (struct np_trace_message){ true, p->peer, p->tag, p->bytes };
}

/* "4,4,8": counts, as bytes of each rank. */
static int take_list(struct text *t, const struct np_line_args *a,
		     struct np_trace_event *ev, struct np_err *err)
{
	size_t n = (size_t)a->comm_size;
	unsigned of_type = a->n_t > 1 && ev->collective == NP_ALLGATHER;
	char *at = a->list[0];
	int64_t count;
	int rc = 0;

	if (np_array_room(&t->blocks, &t->block_room, n, sizeof(*t->blocks)))
		return np_errf(err, -ENOMEM, "out of memory");
	if (ev->collective == NP_GATHERV)
		of_type = 1;
	for (size_t i = 0; !rc && i < n; i++) {
		if (np_line_number(&at, &count) || (i + 1 < n && *at++ != ','))
			return np_trace_wrong(&t->r, err, "counts: expected "
					      "%zu with commas", n);
		rc = np_line_bytes(&t->r, count, a->size[of_type],
				   &t->blocks[i], err);
	}
	ev->list = t->blocks;
	ev->n_list = n;
	return rc;
}

/* Sizes of one rank, from whichever side tells it. */
static int take_bytes(struct text *t, const struct np_line_args *a,
		      struct np_trace_event *ev, struct np_err *err)
{
	enum np_collective c = ev->collective;
	unsigned side = (c == NP_SCATTER && a->root != a->comm_rank) ||
			(c == NP_GATHER && a->root == a->comm_rank) ||
			c == NP_ALLGATHER || c == NP_ALLTOALL;
	unsigned n = side && a->n_n > 1, k = side && a->n_t > 1;
	bool lists = a->n_l && (c == NP_ALLGATHER || c == NP_ALLTOALLV ||
				c == NP_REDUCE_SCATTER ||
				a->root == a->comm_rank);
	int rc = 0;

	if (c == NP_SCATTERV)
		k = 1;
	if (a->n_n)
		rc = np_line_bytes(&t->r, a->n[n], a->size[k], &ev->bytes, err);
	if (lists) {
		ev->bytes = 0;
		return take_list(t, a, ev, err);
	}
	if (!rc && c == NP_REDUCE_SCATTER)
		rc = np_line_bytes(&t->r, (int64_t)ev->bytes, a->comm_size,
				   &ev->bytes, err);
	return rc;
}

static int take_collective(struct text *t, const struct np_line_args *a,
			   struct np_trace_event *ev, struct np_err *err)
{
	if (a->root < 0 || a->root >= a->comm_size)
		return np_trace_wrong(&t->r, err, "root %lld: expected 0 to "
				      "%lld", (long long)a->root,
				      (long long)a->comm_size - 1);
	ev->root = (uint32_t)a->root;
	ev->request = NP_TRACE_NO_REQUEST;
	if (a->request) {
		int rc = post(t, a, ev, err);

		if (rc)
			return rc;
	}
	return take_bytes(t, a, ev, err);
}

static int take_call(struct text *t, const struct np_line_call *c, char **field,
		     size_t n, struct np_trace_event *ev, bool *is_new,
		     struct np_err *err)
{
	struct np_line_args a;
	int rc;

	ev->kind = c->kind;
	ev->collective = c->collective;
	ev->name = c->name;
	if (c->kind == NP_TRACE_UNSUPPORTED) {
		if (t->told[c->number])
			ev->kind = NP_TRACE_LOCAL;
		t->told[c->number] = true;
		return 0;
	}
	rc = np_line_args(&t->r, c, field, n, &a, err);
	if (!rc && a.has_comm)
		rc = comm_of(t, &a, &ev->comm, is_new, err);
	if (!rc && a.has_comm && a.handle == MPICH_WORLD)
		t->mpich = true;
	if (rc)
		return rc;
	switch (c->kind) {
	case NP_TRACE_WAIT:
		return take_wait(t, c, &a, ev, err);
	case NP_TRACE_START:
		rc = take_start(t, &a, err);
		give_started(t, ev);
		return rc;
	case NP_TRACE_COLLECTIVE:
		return take_collective(t, &a, ev, err);
	case NP_TRACE_FREE:
		if (np_address_find(&t->at, a.request))
			np_address_find(&t->at, a.request)->persistent = false;
		ev->kind = NP_TRACE_LOCAL;
		return 0;
	case NP_TRACE_FINALIZE:
		return 0;
	default:
		return take_message(t, &a, ev, err);
	}
}

/* first and last: the times, "-" before the first call and after the last. */
static int take_times(struct text *t, const char *first, const char *last,
		      struct np_trace_event *ev, struct np_err *err)
{
	uint64_t begin = t->end_ns, end;

	if (strcmp(first, "-") && np_line_time(first, &begin))
		return np_line_wrong(&t->r, "time", first, err);
	end = begin;
	if (strcmp(last, "-") && np_line_time(last, &end))
		return np_line_wrong(&t->r, "time", last, err);
	if (!strcmp(first, "-"))
		begin = t->start_ns = t->end_ns = end; /* MPI_Init() */
	if (!t->start_ns)
		t->start_ns = t->end_ns = begin;
	ev->gap_ns = begin > t->end_ns ? begin - t->end_ns : 0;
	ev->length_ns = end > begin ? end - begin : 0;
	if (end > t->end_ns)
		t->end_ns = end;
	if (t->end_ns - t->start_ns >= NP_TRACE_MAX)
		return np_trace_wrong(&t->r, err, "a time beyond 2^52 ns");
	return 0;
}

/* An event of the line, or nothing (0). */
static int take_line(struct text *t, struct np_trace_event *ev,
		     bool *is_new, struct np_err *err)
{
	char *field[NP_LINE_FIELDS];
	const struct np_line_call *c;
	size_t n;
	int rc;

	t->text[strcspn(t->text, "\r")] = '\0';
	if (!t->text[0] || t->text[0] == '#')
		return 0;
	n = strncmp(t->text, "MPI_", 4) ? 0 : np_line_cut(t->text, field);
	if (n < 3)
		return np_trace_wrong(&t->r, err, "\"%.40s\": expected "
				      "MPI_NAME:BEGIN:...:END", t->text);
	*ev = (struct np_trace_event){ .kind = NP_TRACE_LOCAL,
		.line = t->r.line, .request = NP_TRACE_NO_REQUEST };
	rc = take_times(t, field[1], field[n - 1], ev, err);
	c = np_line_call(field[0] + 4);
	if (!rc && c)
		rc = take_call(t, c, field + 2, n - 3, ev, is_new, err);
	return rc ? rc : 1;
}

/* A communicator that is new here has all ranks, or this one alone. */
static void give_comm(struct text *t, struct np_trace_event *ev)
{
	t->held = *ev;
	t->holds = true;
	*ev = (struct np_trace_event){ .kind = NP_TRACE_COMM,
		.line = t->r.line, .comm = t->held.comm };
	ev->member = t->alone ? t->member + t->r.rank : t->member;
	ev->size = t->alone ? 1 : t->r.size;
	ev->rank = t->alone ? 0 : t->r.rank;
}

static int next(struct np_trace_reader *r, struct np_trace_event *ev,
		struct np_err *err)
{
	struct text *t = (struct text *)r;
	bool is_new = false;
	int rc;

	if (t->holds) {
		*ev = t->held;
		t->holds = false;
		return 1;
	}
	if (t->next_started < t->n_started) {
		*ev = (struct np_trace_event){ .line = r->line };
		give_started(t, ev);
		return 1;
	}
	do {
		rc = np_input_line(&r->in, &t->text, &t->room);
		if (rc <= 0)
			break;
		r->line++;
		rc = take_line(t, ev, &is_new, err);
	} while (!rc);
	if (rc == -EFBIG)
		return np_trace_wrong(r, err, "a line of more than %u bytes",
				      NP_INPUT_LINE);
	if (rc < 0 && r->in.error)
		return np_errf(err, rc, "%s: %s", r->in.path, strerror(-rc));
	if (rc == 1 && is_new)
		give_comm(t, ev);
	return rc;
}

static void rewind_to(struct text *t)
{
	np_input_seek(&t->r.in, 0);
	t->r.line = t->end_ns = t->start_ns = t->work = 0;
	t->n_handles = t->n_started = t->next_started = 0;
	t->holds = false;
	memset(t->told, 0, sizeof(t->told));
}

static void close_text(struct np_trace_reader *r)
{
	struct text *t = (struct text *)r;

	np_input_close(&r->in);
	np_addresses_free(&t->at);
	free(t->text);
	free(t->handle);
	free(t->member);
	free(t->done);
	free(t->started);
	free(t->blocks);
	free(t);
}

int np_trace_open_text(struct np_input *in, uint32_t rank, uint32_t size,
		       struct np_trace_reader **out, struct np_err *err)
{
	struct text *t = calloc(1, sizeof(*t));
	struct np_trace_event ev;
	int rc = 0;

	if (!t) {
		np_input_close(in);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	t->r = (struct np_trace_reader){ .in = *in, .rank = rank, .size = size,
		.next = next, .close = close_text };
	t->max_work = 1000000 + 256 * in->size;
	t->member = calloc(size, sizeof(*t->member));
	if (!t->member)
		rc = np_errf(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; !rc && i < size; i++)
		t->member[i] = i;
	while (!rc) {
		rc = next(&t->r, &ev, err);
		if (rc <= 0)
			break;
		t->r.whole = ev.kind == NP_TRACE_FINALIZE;
		rc = 0;
	}
	if (rc) {
		close_text(&t->r);
		return rc;
	}
	rewind_to(t);
	np_addresses_again(&t->at);
	*out = &t->r;
	return 0;
}
