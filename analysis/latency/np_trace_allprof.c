/*
 * Writes the text format of liballprof. A request of the trace may need two
 * handles, because the text has no MPI_Isendrecv().
 */
#include "np_trace.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "np_array.h"
#include "np_trace_groups.h"
#include "np_trace_read.h"

#define WORLD 1		 /* handle that stands for every communicator */
#define BEGIN_NS 1000000 /* time at the end of MPI_Init() */
#define BYTE "13,1,1"	 /* a datatype of one byte */
#define HANDLE_BYTES \
	16 /* bytes of address space for the handles of one request */
#define FIRST_HANDLE 4096

struct out {
	FILE *f;
	const struct np_choices *choices;
	struct np_trace_groups groups;
	uint32_t rank, size;
	/* the only communicator in the text: "handle,rank,size" */
	char comm[64];
	uint64_t begin_ns, end_ns; /* of the current call */
	uint8_t *used; /* by request: number of handles that it uses */
	size_t used_room;
	struct np_index tags; /* tags of smaller communicators */
	struct np_steps steps;
};

/* Writes "MPI_NAME:BEGIN:ARGUMENTS:END". */
__attribute__((format(printf, 3, 4))) static void
write_line(const struct out *o, const char *name, const char *fmt, ...)
{
	va_list ap;

	fprintf(o->f, "MPI_%s:%llu.%03u:", name,
		(unsigned long long)o->begin_ns / 1000,
		(unsigned)(o->begin_ns % 1000));
	va_start(ap, fmt);
	vfprintf(o->f, fmt, ap);
	va_end(ap);
	fprintf(o->f, ":%llu.%03u\n", (unsigned long long)o->end_ns / 1000,
		(unsigned)(o->end_ns % 1000));
}

/*
 * All messages are on one communicator in the text, because handles of others
 * differ between ranks. Messages of other communicators than MPI_COMM_WORLD get
 * separate tags, from the largest tag downwards.
 */
static int tag_of(struct out *o, uint32_t context, uint32_t tag, int *out)
{
	const uint32_t what[] = { context, tag };
	uint32_t number;

	*out = (int)tag;
	if (!context || tag == NP_TRACE_ANY)
		return 0;
	number = np_index_add(&o->tags, what, sizeof(what));
	*out = (int)(INT32_MAX - number);
	return number == NP_NO_INDEX ? -ENOMEM : 0;
}

/* The address that stands for handle k of a request. */
static uint64_t handle_address(uint32_t request, unsigned k)
{
	return FIRST_HANDLE + (uint64_t)HANDLE_BYTES * request + 8 * k;
}

/* A rank of MPI_COMM_WORLD, or -1 for any, as in the text. */
static int peer_of(const struct np_trace_comm *c,
		   const struct np_trace_message *m)
{
	return !m->there || m->peer == NP_TRACE_ANY ? -1 :
						      (int)c->member[m->peer];
}

/* Writes MPI_Send, MPI_Recv or MPI_Sendrecv. */
static int write_blocking(struct out *o, const struct np_trace_event *ev)
{
	const struct np_trace_comm *c = np_trace_comm(&o->groups, ev);
	const struct np_trace_message *out = &ev->out, *in = &ev->in;
	int to = peer_of(c, out), from = peer_of(c, in), to_tag, from_tag;

	if (tag_of(o, 2 * c->number, out->tag, &to_tag) ||
	    tag_of(o, 2 * c->number, in->tag, &from_tag))
		return -ENOMEM;
	if (out->there && in->there)
		write_line(o, "Sendrecv",
			   "0:%llu:" BYTE ":%d:%d:0:%llu:" BYTE ":%d:%d:%s:0",
			   (unsigned long long)out->bytes, to, to_tag,
			   (unsigned long long)in->bytes, from, from_tag,
			   o->comm);
	else if (out->there)
		write_line(o, "Send", "0:%llu:" BYTE ":%d:%d:%s",
			   (unsigned long long)out->bytes, to, to_tag, o->comm);
	else if (in->there)
		write_line(o, "Recv", "0:%llu:" BYTE ":%d:%d:%s:0",
			   (unsigned long long)in->bytes, from, from_tag,
			   o->comm);
	return 0;
}

static void write_post(const struct out *o, const char *name, uint64_t bytes,
		       int peer, int tag, uint64_t at)
{
	write_line(o, name, "0:%llu:" BYTE ":%d:%d:%s:%llu",
		   (unsigned long long)bytes, peer, tag, o->comm,
		   (unsigned long long)at);
}

/* Remembers how many handles a request uses. */
static int set_handles(struct out *o, uint32_t request, unsigned n)
{
	size_t old = o->used_room;

	if (np_array_reserve(&o->used, &o->used_room, request + 1ull, 1))
		return -ENOMEM;
	memset(o->used + old, 0, o->used_room - old);
	o->used[request] = (uint8_t)n;
	return 0;
}

/* Writes MPI_Isend, MPI_Irecv, or both. */
static int write_nonblocking(struct out *o, const struct np_trace_event *ev)
{
	const struct np_trace_comm *c = np_trace_comm(&o->groups, ev);
	const struct np_trace_message *out = &ev->out, *in = &ev->in;
	unsigned n = 0;
	int tag;

	if (tag_of(o, 2 * c->number, out->tag, &tag))
		return -ENOMEM;
	if (out->there)
		write_post(o, "Isend", out->bytes, peer_of(c, out), tag,
			   handle_address(ev->request, n++));
	if (tag_of(o, 2 * c->number, in->tag, &tag))
		return -ENOMEM;
	if (in->there)
		write_post(o, "Irecv", in->bytes, peer_of(c, in), tag,
			   handle_address(ev->request, n++));
	return set_handles(o, ev->request, n);
}

/* Writes an MPI_Wait for each handle of the completed requests. */
static void write_waits(struct out *o, const struct np_trace_event *ev)
{
	for (size_t i = 0; i < ev->n_done; i++) {
		uint32_t id = ev->done[i];
		unsigned n = id < o->used_room ? o->used[id] : 0;

		for (unsigned k = 0; k < n; k++)
			write_line(o, "Wait", "%llu:0",
				   (unsigned long long)handle_address(id, k));
		if (n)
			o->used[id] = 0;
	}
}

/* Writes a collective by its name, which the text capitalises. */
static int write_collective(struct out *o, const struct np_trace_event *ev)
{
	enum np_collective c = ev->collective;
	bool waits = ev->request == NP_TRACE_NO_REQUEST;
	unsigned long long n = ev->bytes;
	char name[40], end[96];

	snprintf(name, sizeof(name), "%s%s%s", waits ? "" : "I",
		 np_collective_name(c), c == NP_REDUCE_SCATTER ? "_block" : "");
	name[0] = (char)toupper((unsigned char)name[0]);
	snprintf(end, sizeof(end), waits ? "%s" : "%s:%llu", o->comm,
		 (unsigned long long)handle_address(ev->request, 0));
	if (c == NP_BARRIER)
		write_line(o, name, "%s", end);
	else if (c == NP_BCAST)
		write_line(o, name, "0:%llu:" BYTE ":%u:%s", n, ev->root, end);
	else if (c == NP_GATHER || c == NP_SCATTER)
		write_line(o, name, "0:%llu:" BYTE ":0:%llu:" BYTE ":%u:%s", n,
			   n, ev->root, end);
	else if (c == NP_ALLGATHER || c == NP_ALLTOALL)
		write_line(o, name, "0:%llu:" BYTE ":0:%llu:" BYTE ":%s", n, n,
			   end);
	else if (c == NP_REDUCE)
		write_line(o, name, "0:0:%llu:" BYTE ":3:%u:%s", n, ev->root,
			   end);
	else
		write_line(o, name, "0:0:%llu:" BYTE ":3:%s",
			   c == NP_REDUCE_SCATTER ? n / o->size : n, end);
	return waits ? 0 : set_handles(o, ev->request, 1);
}

/* Writes a collective as messages, with a wait after each round. */
static int write_as_messages(struct out *o, const struct np_trace_event *ev)
{
	const struct np_trace_comm *c = np_trace_comm(&o->groups, ev);
	/* Addresses after those of all requests. */
	uint64_t at = handle_address(UINT32_MAX, 0);
	size_t n = 0;
	int tag;

	/* One tag suffices, because messages match in order. */
	if (np_trace_steps(&o->groups, ev, o->choices, &o->steps) ||
	    tag_of(o, 2 * c->number + 1, 0, &tag))
		return -ENOMEM;
	for (size_t i = 0; i < o->steps.n; i++) {
		const struct np_step *s = &o->steps.step[i];

		write_post(o, s->send ? "Isend" : "Irecv", s->bytes,
			   (int)c->member[s->peer], tag, at + 8 * n++);
		if (i + 1 == o->steps.n || s[1].round != s->round) {
			write_line(o, "Waitall", "%zu:%llu:0", n,
				   (unsigned long long)at);
			n = 0;
		}
	}
	return ev->request == NP_TRACE_NO_REQUEST ?
		       0 :
		       set_handles(o, ev->request, 0);
}

/*
 * Whether the text can describe a collective: it involves all ranks in order,
 * with equal sizes.
 */
static bool can_write_collective(const struct out *o,
				 const struct np_trace_event *ev)
{
	const struct np_trace_comm *c = np_trace_comm(&o->groups, ev);

	if (c->size != o->size || ev->n_list || ev->collective >= NP_GATHERV ||
	    c->rank != o->rank ||
	    (ev->collective == NP_REDUCE_SCATTER && ev->bytes % o->size))
		return false;
	for (uint32_t i = 0; i < o->size; i++)
		if (c->member[i] != i)
			return false;
	return true;
}

/* Writes one event. Its times follow from the gaps and lengths so far. */
static int write_event(struct out *o, const struct np_trace_event *ev,
		       struct np_err *err)
{
	int rc = 0;

	o->begin_ns = o->end_ns + ev->gap_ns;
	o->end_ns = o->begin_ns + ev->length_ns;
	switch (ev->kind) {
	case NP_TRACE_SEND:
	case NP_TRACE_RECV:
	case NP_TRACE_SENDRECV:
		rc = write_blocking(o, ev);
		break;
	case NP_TRACE_ISEND:
	case NP_TRACE_IRECV:
	case NP_TRACE_ISENDRECV:
		rc = write_nonblocking(o, ev);
		break;
	case NP_TRACE_WAIT:
		write_waits(o, ev);
		break;
	case NP_TRACE_COLLECTIVE:
		rc = can_write_collective(o, ev) ? write_collective(o, ev) :
						   write_as_messages(o, ev);
		break;
	case NP_TRACE_COMM:
		return np_trace_groups_add(&o->groups, ev, err);
	case NP_TRACE_COMM_FREE:
		np_trace_groups_drop(&o->groups, ev);
		break;
	case NP_TRACE_FINALIZE:
		fprintf(o->f, "MPI_Finalize:%llu.%03u:-\n",
			(unsigned long long)o->begin_ns / 1000,
			(unsigned)(o->begin_ns % 1000));
		break;
	default: /* only their time counts */
		write_line(o, "Comm_rank", "1,%u,%u:0", o->rank, o->size);
	}
	return rc ? np_errf(err, rc, "out of memory") : 0;
}

/* Writes all events of one rank. */
static int write_rank(struct out *o, const char *from, struct np_err *err)
{
	struct np_trace_reader *r;
	struct np_trace_event ev;
	int rc = np_trace_open(from, o->rank, o->size, &r, err);

	if (rc)
		return rc;
	np_trace_groups_rank(&o->groups);
	o->end_ns = BEGIN_NS;
	snprintf(o->comm, sizeof(o->comm), "%u,%u,%u", WORLD, o->rank, o->size);
	fprintf(o->f, "# netprof\nMPI_Init:-:0:0:%u.000\n", BEGIN_NS / 1000);
	while (!rc) {
		rc = np_trace_next(r, &ev);
		if (rc <= 0)
			break;
		rc = write_event(o, &ev, err);
	}
	np_trace_close(r);
	return rc;
}

/* Writes the file of one rank. */
static int write_file(struct out *o, const char *from, const char *dir,
		      struct np_err *err)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/pmpi-trace-rank-%u.txt", dir, o->rank);
	o->f = fopen(path, "w");
	if (!o->f)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	rc = write_rank(o, from, err);
	if ((ferror(o->f) | fclose(o->f)) && !rc)
		rc = np_errf(err, -EIO, "%s: not written", path);
	return rc;
}

int np_trace_allprof(const struct np_trace_files *f,
		     const struct np_choices *choices, const char *dir,
		     struct np_err *err)
{
	struct out o = { .choices = choices, .size = f->n };
	int rc = 0;

	if (mkdir(dir, 0777) && errno != EEXIST)
		rc = np_errf(err, -errno, "%s: %s", dir, strerror(errno));
	for (; !rc && o.rank < f->n; o.rank++)
		rc = write_file(&o, f->path[o.rank], dir, err);
	free(o.used);
	np_index_free(&o.tags);
	np_steps_free(&o.steps);
	np_trace_groups_free(&o.groups);
	return rc;
}
