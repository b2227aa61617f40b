/*
 * Reads the text of liballprof, one line per call:
 *
 *	MPI_NAME:BEGIN:ARGUMENT:...:END
 *
 * Times are microseconds. A datatype is "id,size,extent", a communicator
 * "handle,rank,size", the counts of a v-collective a pointer followed by
 * "n0,n1,...". All other arguments are numbers; those of handles and arrays are
 * addresses.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_text.h"
#include "np_trace_reader.h"

/*
 * Arguments as letters: n count, t type, p rank, g tag, c communicator, q
 * request, N number of requests, r root, L counts, l displacements, . not
 * needed. The second n, t, p and g describe what is received; there is no third
 * one.
 */
struct call_form {
	const char *name; /* without "MPI_" */
	enum np_trace_kind kind;
	const char *args;
	enum np_collective collective;
	bool may_leave; /* may leave some requests incomplete */
};

/* The arguments of a line; numbers are in the order of their letters. */
struct arguments {
	/* sent, or the only one; received */
	int64_t n[2], size[2], peer[2], tag[2];
	int64_t root, n_requests;
	uint64_t request;
	char *list; /* the first list, or NULL */
	unsigned n_n, n_t, n_p, n_g;
	bool has_comm;
	uint64_t handle;
	int64_t comm_rank, comm_size;
};

#define MAX_FIELDS 64

static const struct call_form calls[] = {
	{ "Send", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Bsend", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Ssend", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Rsend", NP_TRACE_SEND, ".ntpgc", 0, 0 },
	{ "Recv", NP_TRACE_RECV, ".ntpgc.", 0, 0 },
	{ "Sendrecv", NP_TRACE_SENDRECV, ".ntpg.ntpgc.", 0, 0 },
	{ "Sendrecv_replace", NP_TRACE_SENDRECV, ".ntpgpgc.", 0, 0 },
	{ "Isend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Ibsend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Issend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Irsend", NP_TRACE_ISEND, ".ntpgcq", 0, 0 },
	{ "Irecv", NP_TRACE_IRECV, ".ntpgcq", 0, 0 },
	{ "Send_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Bsend_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Ssend_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Rsend_init", NP_TRACE_SEND_INIT, ".ntpgcq", 0, 0 },
	{ "Recv_init", NP_TRACE_RECV_INIT, ".ntpgcq", 0, 0 },
	{ "Start", NP_TRACE_START, "q", 0, 0 },
	{ "Startall", NP_TRACE_START, "Nq", 0, 0 },
	{ "Wait", NP_TRACE_WAIT, "q.", 0, 0 },
	{ "Waitall", NP_TRACE_WAIT, "Nq.", 0, 0 },
	{ "Waitany", NP_TRACE_WAIT, "Nq..", 0, true },
	{ "Waitsome", NP_TRACE_WAIT, "Nq...", 0, true },
	{ "Test", NP_TRACE_WAIT, "q..", 0, true },
	{ "Testall", NP_TRACE_WAIT, "Nq..", 0, true },
	{ "Testany", NP_TRACE_WAIT, "Nq...", 0, true },
	{ "Testsome", NP_TRACE_WAIT, "Nq...", 0, true },
	{ "Request_free", NP_TRACE_FREE, "q", 0, 0 },
	{ "Finalize", NP_TRACE_FINALIZE, "", 0, 0 },
/* clang-format off */
#define COLLECTIVE(name, args, which) \
	{ name, NP_TRACE_COLLECTIVE, args, which, 0 }, \
	{ "I" name, NP_TRACE_COLLECTIVE, args "q", which, 0 }
	/* clang-format on */
	COLLECTIVE("barrier", "c", NP_BARRIER),
	COLLECTIVE("bcast", ".ntrc", NP_BCAST),
	COLLECTIVE("gather", ".nt.ntrc", NP_GATHER),
	COLLECTIVE("gatherv", ".nt.Lltrc", NP_GATHERV),
	COLLECTIVE("scatter", ".nt.ntrc", NP_SCATTER),
	COLLECTIVE("scatterv", ".Llt.ntrc", NP_SCATTERV),
	COLLECTIVE("allgather", ".nt.ntc", NP_ALLGATHER),
	COLLECTIVE("allgatherv", ".nt.Lltc", NP_ALLGATHER),
	COLLECTIVE("alltoall", ".nt.ntc", NP_ALLTOALL),
	COLLECTIVE("alltoallv", ".Llt.Lltc", NP_ALLTOALLV),
	COLLECTIVE("reduce", "..nt.rc", NP_REDUCE),
	COLLECTIVE("allreduce", "..nt.c", NP_ALLREDUCE),
	COLLECTIVE("reduce_scatter", "..Lt.c", NP_REDUCE_SCATTER),
	COLLECTIVE("reduce_scatter_block", "..nt.c", NP_REDUCE_SCATTER),
	COLLECTIVE("scan", "..nt.c", NP_SCAN),
	COLLECTIVE("exscan", "..nt.c", NP_EXSCAN),
#undef COLLECTIVE
};

/* Patterns of calls that send messages, but are not supported. */
static const char *const unsupported[] = {
	"alltoallw",
	"ialltoallw",
	"neighbor_*",
	"ineighbor_*",
	"*_init",
	"isendrecv*",
	"mrecv",
	"imrecv",
	"put",
	"rput",
	"get",
	"rget",
	"accumulate",
	"raccumulate",
	"get_accumulate",
	"rget_accumulate",
	"fetch_and_op",
	"compare_and_swap",
	"intercomm_create",
	"comm_spawn*",
	"comm_connect",
	"comm_accept",
};

/* Names of collectives are in lower case in the table. */
static const struct call_form *find_call(const char *name)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(calls); i++)
		if (!strcasecmp(calls[i].name, name))
			return &calls[i];
	return NULL;
}

/* Index of a call among the patterns above, or their number. */
static size_t find_unsupported(const char *name)
{
	size_t i = 0;

	while (i < NP_ARRAY_SIZE(unsupported) &&
	       fnmatch(unsupported[i], name, FNM_CASEFOLD))
		i++;
	return strcasecmp(name, "Session_init") ? i :
						  NP_ARRAY_SIZE(unsupported);
}

/* Reads a number and advances *at past it. Returns 0 or -EINVAL. */
static int parse_number(char **at, int64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)**at) && **at != '-')
		return -EINVAL;
	errno = 0;
	*v = strtoll(*at, &end, 10);
	if (end == *at || errno)
		return -EINVAL;
	/* Some integers are written as reals. */
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	*at = end;
	return 0;
}

/* Error about a field with an unexpected value. */
static int wrong(struct np_trace_reader *r, const char *what, const char *field,
		 const char *expected)
{
	return np_trace_fail(r, "%s \"%.40s\": expected %s", what, field,
			     expected);
}

/* Takes the size from a datatype. */
static int take_type(struct np_trace_reader *r, char *field,
		     struct arguments *a)
{
	char *at = strchr(field, ',');
	int64_t size;

	if (!at || (at++, parse_number(&at, &size)) || size < 0)
		return wrong(r, "datatype", field, "id,size,extent");
	a->size[a->n_t++] = size;
	return 0;
}

/* Parses a communicator. */
static int take_communicator(struct np_trace_reader *r, char *field,
			     struct arguments *a)
{
	char *at;

	a->handle = strtoull(field, &at, 10);
	if (at == field || *at++ != ',' || parse_number(&at, &a->comm_rank) ||
	    *at++ != ',' || parse_number(&at, &a->comm_size) ||
	    a->comm_rank < 0 || a->comm_rank >= a->comm_size)
		return wrong(r, "communicator", field, "handle,rank,size");
	a->has_comm = true;
	return 0;
}

/* Parses a number and stores it by its letter. */
static int take_number(struct np_trace_reader *r, char letter, char *field,
		       struct arguments *a)
{
	char *at = field;
	int64_t v;

	if (parse_number(&at, &v) || *at)
		return wrong(r,
			     letter == 'p' ? "rank" :
			     letter == 'g' ? "tag" :
			     letter == 'r' ? "root" :
					     "count",
			     field, "a number");
	if (letter == 'n')
		a->n[a->n_n++] = v;
	else if (letter == 'p')
		a->peer[a->n_p++] = v;
	else if (letter == 'g')
		a->tag[a->n_g++] = v;
	else if (letter == 'r')
		a->root = v;
	else
		a->n_requests = v;
	return 0;
}

/* Parses one argument by its letter. */
static int take_arg(struct np_trace_reader *r, char letter, char *field,
		    struct arguments *a)
{
	char *at;

	switch (letter) {
	case 't':
		return take_type(r, field, a);
	case 'c':
		return take_communicator(r, field, a);
	case 'L':
		a->list = a->list ? a->list : field;
		return 0;
	case '.':
	case 'l':
		return 0;
	case 'q':
		a->request = strtoull(field, &at, 10);
		return at == field || *at ?
			       wrong(r, "request", field, "a number") :
			       0;
	default:
		return take_number(r, letter, field, a);
	}
}

/*
 * field[n]: the arguments, without the two times; borrowed. Returns 0 or
 * -EINVAL.
 */
static int read_arguments(struct np_trace_reader *r, const struct call_form *c,
			  char **field, size_t n, struct arguments *a)
{
	size_t i = 0;

	*a = (struct arguments){ .n_requests = 1 };
	for (const char *p = c->args; !r->rc && *p; p++) {
		if (*p == 'L' || *p == 'l')
			i++; /* skip the address */
		if (i >= n)
			np_trace_fail(r, "MPI_%s: %zu arguments, expected more",
				      c->name, n);
		else
			take_arg(r, *p, field[i++], a);
	}
	return r->rc;
}

/* Reads "1237666046950106.000000" (us) as ns. Returns 0 or -EINVAL. */
static int parse_time(struct np_trace_reader *r, const char *text, uint64_t *ns)
{
	char *end = "-";
	uint64_t us = 0;
	unsigned part = 0, digit = 100;

	errno = 0;
	if (isdigit((unsigned char)*text))
		us = strtoull(text, &end, 10);
	if (*end == '.')
		for (end++; isdigit((unsigned char)*end); end++, digit /= 10)
			part += digit * (unsigned)(*end - '0');
	*ns = us * 1000 + part;
	return errno || us > UINT64_MAX / 4000 || *end ?
		       wrong(r, "time", text, "a number") :
		       0;
}

/* Bytes of n elements of a size; 0 with an error if that is impossible. */
static uint64_t total_bytes(struct np_trace_reader *r, int64_t n, int64_t size)
{
	if (n >= 0 && (!size || n <= (int64_t)(NP_TRACE_MAX / (uint64_t)size)))
		return (uint64_t)n * (uint64_t)size;
	np_trace_fail(r, "%lld times %lld bytes: expected 0 to 2^52",
		      (long long)n, (long long)size);
	return 0;
}

/*
 * Message i of the two of a call: what it sends, or for receives what it
 * receives. mpich: use MPICH's numbers for MPI_PROC_NULL and MPI_ANY_SOURCE.
 * Returns 0 or -EINVAL.
 */
static int make_message(struct np_trace_reader *r, bool mpich,
			const struct arguments *a, unsigned i, bool receives,
			struct np_trace_message *m)
{
	unsigned k = i && a->n_n > 1;
	int64_t any = mpich ? -2 : -1, none = mpich ? -1 : -2;
	int64_t peer = a->peer[i], tag = a->tag[i];

	m->bytes = total_bytes(r, a->n[k], a->size[k]);
	if (r->rc || peer == none || (!receives && peer == any))
		return r->rc;
	if (peer != any && (peer < 0 || peer >= a->comm_size))
		return np_trace_fail(r, "rank %lld: expected 0 to %lld",
				     (long long)peer,
				     (long long)a->comm_size - 1);
	if (tag < (receives ? -1 : 0) || tag > INT32_MAX)
		return np_trace_fail(r, "tag %lld: expected 0 to 2^31 - 1",
				     (long long)tag);
	m->there = true;
	m->peer = peer == any ? NP_TRACE_ANY : (uint32_t)peer;
	m->tag = tag < 0 ? NP_TRACE_ANY : (uint32_t)tag;
	return 0;
}

/* Splits "a:b:c" in place. Returns the number of fields; 0: too many. */
static size_t split_fields(char *line, char *field[MAX_FIELDS])
{
	size_t n = 0;

	for (char *at = line; at; n++) {
		if (n == MAX_FIELDS)
			return 0;
		field[n] = strsep(&at, ":");
	}
	return n;
}

#define LINE_MAX_BYTES (16u << 20)
#define MPICH_WORLD 0x44000000 /* MPI_COMM_WORLD of MPICH, in C and Fortran */

/*
 * Requests are identified by the addresses of their handles in the program's
 * memory, which programs reuse for one request after another. The text does not
 * say what a call completed that may leave requests incomplete. Therefore a
 * request that no MPI_Wait() or MPI_Waitall() names counts as completed by the
 * last call that names its address; the first pass finds that call.
 */
struct text {
	/* stores for each use the line that ends it */
	struct np_trace_reader r;
	char *text;
	size_t room;
	bool reported[NP_ARRAY_SIZE(unsupported)];
	bool mpich, has_world;	   /* MPI_COMM_WORLD was seen */
	uint64_t end_ns, start_ns; /* of the previous call; of the first call */
	uint64_t work, max_work;   /* number of requests examined */
	/* size of a request handle, 4 or 8; 0: not known yet */
	unsigned handle_bytes;
	/* addresses of handles; their numbers are request numbers */
	struct np_index addresses;

	struct np_index comms;
	uint32_t *member;
	struct np_trace_event held; /* the event that follows a COMM */
	bool holds, alone; /* alone: the COMM contains only this rank */
	bool begun, ended; /* MPI_Init and MPI_Finalize were seen */
	bool is_cut;	   /* the current line has no newline */
};

/*
 * A handle may denote another communicator later. The first event on a new
 * communicator is held back until a COMM event has described the communicator.
 */
static int take_comm(struct text *t, const struct arguments *a,
		     struct np_trace_event *ev)
{
	bool all = a->comm_size == t->r.size && a->comm_rank == t->r.rank;
	const uint64_t which[] = { a->handle, all };
	size_t known = t->comms.n;

	t->mpich |= a->handle == MPICH_WORLD;
	/* The first communicator of all ranks is MPI_COMM_WORLD. */
	t->has_world |= all;
	if (!t->has_world && a->comm_size == t->r.size)
		return np_trace_fail(
			&t->r, "the file says rank %lld where %u is expected",
			(long long)a->comm_rank, t->r.rank);
	if (a->comm_size > t->r.size)
		return np_trace_fail(&t->r,
				     "a communicator of %lld ranks, but files "
				     "of only %u: the others are missing",
				     (long long)a->comm_size, t->r.size);
	if (!all && a->comm_size != 1)
		return np_trace_fail(
			&t->r,
			"rank %lld of %lld in communicator %llu: liballprof "
			"records members only for all %u ranks",
			(long long)a->comm_rank, (long long)a->comm_size,
			(unsigned long long)a->handle, t->r.size);
	ev->comm = np_index_add(&t->comms, which, sizeof(which));
	t->alone = !all;
	t->holds = ev->comm == known;
	return ev->comm == NP_NO_INDEX ? np_trace_no_memory(&t->r) : 0;
}

/* The request whose handle is at an address; NULL if there is none. */
static struct np_trace_request *request_at(struct text *t, uint64_t place)
{
	uint32_t id = np_index_find(&t->addresses, &place, sizeof(place));

	return id == NP_NO_INDEX ? NULL : &t->r.request[id];
}

/* The same; a new request is created. NULL if memory is short. */
static struct np_trace_request *new_request(struct text *t, uint64_t place,
					    uint32_t *id)
{
	*id = np_index_add(&t->addresses, &place, sizeof(place));
	if (*id == NP_NO_INDEX)
		np_trace_no_memory(&t->r);
	else if (*id < t->r.n_requests || np_trace_request_new(&t->r))
		return &t->r.request[*id];
	return NULL;
}

/* Begins a use of the request at the address of a handle. */
static void post(struct text *t, const struct arguments *a,
		 struct np_trace_event *ev)
{
	struct np_trace_request *q = new_request(t, a->request, &ev->request);

	if (q && !np_trace_request_use(&t->r, q))
		q->persistent = false;
}

/* Stores what a persistent request sends or receives. */
static void post_later(struct text *t, const struct arguments *a,
		       const struct np_trace_event *ev)
{
	uint32_t id;
	struct np_trace_request *q = new_request(t, a->request, &id);

	if (q)
		*q = (struct np_trace_request){
			.persistent = ev->out.there || ev->in.there,
			.comm = ev->comm,
			.out = ev->out,
			.in = ev->in,
		};
}

static void start(struct np_trace_reader *r, struct np_trace_request *q,
		  struct np_trace_event *ev)
{
	(void)r;
	ev->kind = q->out.there ? NP_TRACE_ISEND : NP_TRACE_IRECV;
	ev->comm = q->comm;
	ev->out = q->out;
	ev->in = q->in;
}

/* Handles a point-to-point call. */
static void take_message(struct text *t, const struct arguments *a,
			 struct np_trace_event *ev)
{
	enum np_trace_kind kind = ev->kind;
	bool receives = kind == NP_TRACE_RECV || kind == NP_TRACE_IRECV ||
			kind == NP_TRACE_RECV_INIT;

	if (make_message(&t->r, t->mpich, a, 0, receives,
			 receives ? &ev->in : &ev->out) ||
	    (kind == NP_TRACE_SENDRECV &&
	     make_message(&t->r, t->mpich, a, 1, true, &ev->in)))
		return;
	if (kind == NP_TRACE_SEND_INIT || kind == NP_TRACE_RECV_INIT) {
		post_later(t, a, ev);
		ev->in.there = ev->out.there = false;
	}
	if (!ev->in.there && !ev->out.there)
		ev->kind = NP_TRACE_LOCAL;
	else if (kind == NP_TRACE_ISEND || kind == NP_TRACE_IRECV)
		post(t, a, ev);
}

/* Distance between handles in an array: the one at which there are requests. */
static unsigned handle_bytes(struct text *t, const struct arguments *a)
{
	unsigned hits[2] = { 0 };

	if (t->handle_bytes || a->n_requests < 2)
		return t->handle_bytes ? t->handle_bytes : 8;
	for (unsigned i = 1; i < 64 && i < a->n_requests; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct np_trace_request *q = request_at(
				t, a->request + (uint64_t)i * (4 + 4 * k));

			hits[k] += q && (q->active || q->persistent);
		}
	if (hits[0] != hits[1])
		t->handle_bytes = hits[0] > hits[1] ? 4 : 8;
	return hits[0] > hits[1] ? 4 : 8;
}

/* Limits the total number of requests that are examined. */
static int check_work(struct text *t, const struct arguments *a)
{
	if (a->n_requests < 0)
		return np_trace_fail(&t->r,
				     "%lld requests: expected no less than 0",
				     (long long)a->n_requests);
	t->work += (uint64_t)a->n_requests;
	if (t->work > t->max_work)
		return np_trace_fail(
			&t->r,
			"%lld requests: more than the whole file can have",
			(long long)a->n_requests);
	return 0;
}

/* Whether a request completes here, as far as is known. */
static bool ends(struct text *t, struct np_trace_request *q, bool surely)
{
	uint64_t *last;

	if (!q || !q->active)
		return false;
	last = (uint64_t *)t->r.use + q->use;
	if (!t->r.again)
		*last = t->r.line;
	if (!surely && (!t->r.again || *last != t->r.line))
		return false;
	q->active = false;
	return true;
}

/*
 * Collects the requests of an array of handles that a START begins or a WAIT
 * ends.
 */
static int take_requests(struct text *t, const struct call_form *c,
			 const struct arguments *a)
{
	unsigned bytes = handle_bytes(t, a);
	int rc = check_work(t, a);

	t->r.n_ids = t->r.next_id = 0;
	for (int64_t i = 0; !rc && i < a->n_requests; i++) {
		struct np_trace_request *q =
			request_at(t, a->request + (uint64_t)i * bytes);

		if (c->kind == NP_TRACE_WAIT ? !ends(t, q, !c->may_leave) :
					       !q || !q->persistent)
			continue;
		if (c->kind == NP_TRACE_START)
			np_trace_request_use(&t->r, q);
		np_trace_id(&t->r, (uint32_t)(q - t->r.request));
		rc = t->r.rc;
	}
	return rc;
}

/* Reads counts such as "4,4,8" as bytes per rank. */
static void read_counts(struct text *t, const struct arguments *a,
			struct np_trace_event *ev)
{
	size_t n = (size_t)a->comm_size;
	unsigned of_type = ev->collective == NP_GATHERV ||
			   (ev->collective == NP_ALLGATHER && a->n_t > 1);
	uint64_t *list = np_trace_list(&t->r, ev, n);
	char *at = a->list;
	int64_t count;

	for (size_t i = 0; i < n && !t->r.rc; i++) {
		if (parse_number(&at, &count) || (i + 1 < n && *at++ != ','))
			np_trace_fail(
				&t->r,
				"counts: expected %zu separated by commas", n);
		else
			list[i] = total_bytes(&t->r, count, a->size[of_type]);
	}
}

/* Bytes per rank of a collective, from the side whose arguments describe it. */
static void read_sizes(struct text *t, const struct arguments *a,
		       struct np_trace_event *ev)
{
	enum np_collective c = ev->collective;
	unsigned side = (c == NP_SCATTER && a->root != a->comm_rank) ||
			(c == NP_GATHER && a->root == a->comm_rank) ||
			c == NP_ALLGATHER || c == NP_ALLTOALL;
	unsigned n = side && a->n_n > 1, k = side && a->n_t > 1;
	bool lists = a->list &&
		     (c == NP_ALLGATHER || c == NP_ALLTOALLV ||
		      c == NP_REDUCE_SCATTER || a->root == a->comm_rank);

	if (c == NP_SCATTERV)
		k = 1;
	if (a->n_n)
		ev->bytes = total_bytes(&t->r, a->n[n], a->size[k]);
	if (lists) {
		ev->bytes = 0;
		read_counts(t, a, ev);
	} else if (c == NP_REDUCE_SCATTER) {
		ev->bytes =
			total_bytes(&t->r, (int64_t)ev->bytes, a->comm_size);
	}
}

/* Handles a collective. */
static void take_collective(struct text *t, const struct arguments *a,
			    struct np_trace_event *ev)
{
	if (a->root < 0 || a->root >= a->comm_size) {
		np_trace_fail(&t->r, "root %lld: expected 0 to %lld",
			      (long long)a->root, (long long)a->comm_size - 1);
		return;
	}
	ev->root = (uint32_t)a->root;
	if (a->request)
		post(t, a, ev);
	read_sizes(t, a, ev);
}

/* Handles a call by its kind. */
static void take_call(struct text *t, const struct call_form *c, char **field,
		      size_t n, struct np_trace_event *ev)
{
	struct np_trace_request *q;
	struct arguments a;

	ev->kind = c->kind;
	ev->collective = c->collective;
	ev->name = c->name;
	if (read_arguments(&t->r, c, field, n, &a) ||
	    (a.has_comm && take_comm(t, &a, ev)))
		return;
	switch (c->kind) {
	case NP_TRACE_WAIT:
		take_requests(t, c, &a);
		ev->done = t->r.id;
		ev->n_done = t->r.next_id = t->r.n_ids;
		break;
	case NP_TRACE_START:
		take_requests(t, c, &a);
		np_trace_started(&t->r, ev);
		break;
	case NP_TRACE_COLLECTIVE:
		take_collective(t, &a, ev);
		break;
	case NP_TRACE_FREE:
		q = request_at(t, a.request);
		if (q)
			q->persistent = false;
		ev->kind = NP_TRACE_LOCAL;
		break;
	case NP_TRACE_FINALIZE:
		t->ended = true;
		break;
	default:
		take_message(t, &a, ev);
	}
}

/* A call that is not in the table; of the unsupported ones the first counts. */
static void take_other(struct text *t, char *name, struct np_trace_event *ev)
{
	size_t i = find_unsupported(name);

	if (i == NP_ARRAY_SIZE(unsupported) || t->reported[i])
		return;
	np_text_make_plain(name);
	t->reported[i] = true;
	ev->kind = NP_TRACE_UNSUPPORTED;
	ev->name = name;
}

/* first, last: the times; "-" before the first call and after the last. */
static int take_times(struct text *t, const char *first, const char *last,
		      struct np_trace_event *ev)
{
	uint64_t begin = t->end_ns, end;

	if (strcmp(first, "-") && parse_time(&t->r, first, &begin))
		return t->r.rc;
	end = begin;
	if (strcmp(last, "-") && parse_time(&t->r, last, &end))
		return t->r.rc;
	if (!strcmp(first, "-")) {
		/* the end of MPI_Init() */
		if (t->begun)
			return np_trace_fail(&t->r,
					     "a second MPI_Init(), expected "
					     "one run in a file");
		t->begun = true;
		begin = t->start_ns = t->end_ns = end;
	}
	if (!t->start_ns)
		t->start_ns = t->end_ns = begin;
	t->r.start_ns = t->start_ns;
	ev->gap_ns = begin > t->end_ns ? begin - t->end_ns : 0;
	/* Calls may overlap, in threads or as np_trace_allprof.c writes them. */
	begin = begin > t->end_ns ? begin : t->end_ns;
	ev->length_ns = end > begin ? end - begin : 0;
	if (end > t->end_ns)
		t->end_ns = end;
	if (t->end_ns - t->start_ns >= NP_TRACE_MAX)
		return np_trace_fail(&t->r, "a time beyond 2^52 ns");
	return 0;
}

/* Reads an event from a line. Returns 1, 0 if there is none, or -errno. */
static int take_line(struct text *t, struct np_trace_event *ev)
{
	char *field[MAX_FIELDS];
	const struct call_form *c;
	size_t n = strlen(t->text);

	if (n && t->text[n - 1] == '\r')
		t->text[n - 1] = '\0';
	if (strchr(t->text, '\r'))
		return np_trace_fail(
			&t->r,
			"a carriage return, expected one call on a line");
	if (!t->text[0] || t->text[0] == '#')
		return 0;
	if (t->ended)
		return np_trace_fail(&t->r,
				     "\"%.40s\" after MPI_Finalize(), expected "
				     "one run in a file",
				     t->text);
	n = strncmp(t->text, "MPI_", 4) ? 0 : split_fields(t->text, field);
	if (n < 3)
		return np_trace_fail(
			&t->r, "\"%.40s\": expected MPI_NAME:BEGIN:...:END",
			t->text);
	*ev = (struct np_trace_event){ .kind = NP_TRACE_LOCAL,
				       .line = t->r.line,
				       .request = NP_TRACE_NO_REQUEST };
	c = find_call(field[0] + 4);
	if (take_times(t, field[1], field[n - 1], ev))
		return t->r.rc;
	if (c)
		take_call(t, c, field + 2, n - 3, ev);
	else
		take_other(t, field[0] + 4, ev);
	return t->r.rc ? t->r.rc : 1;
}

/* A new communicator contains all ranks, or only this one. */
static void give_comm(struct text *t, struct np_trace_event *ev)
{
	t->held = *ev;
	*ev = (struct np_trace_event){ .kind = NP_TRACE_COMM,
				       .line = t->r.line,
				       .comm = t->held.comm };
	ev->member = t->alone ? t->member + t->r.rank : t->member;
	ev->size = t->alone ? 1 : t->r.size;
	ev->rank = t->alone ? 0 : t->r.rank;
}

/* Reads a line without its newline. Returns 1, 0 at the end, or -errno. */
static int read_line(struct text *t)
{
	size_t n = 0;
	int c;

	t->r.line++;
	while ((c = getc_unlocked(t->r.f)) != '\n') {
		if (c < 0 && !n)
			return 0;
		t->is_cut = c < 0;
		if (c < 0)
			break;
		if (!c)
			return np_trace_fail(&t->r,
					     "a NUL character, expected text");
		if (n == LINE_MAX_BYTES)
			return np_trace_fail(&t->r,
					     "a line of more than %u bytes",
					     LINE_MAX_BYTES);
		if (n + 1 >= t->room &&
		    np_array_reserve(&t->text, &t->room, n + 2, 1))
			return np_trace_no_memory(&t->r);
		t->text[n++] = (char)c;
	}
	t->text[n] = '\0';
	return 1;
}

/*
 * A program that was killed leaves a part of its last line, with which its trace
 * ends.
 */
static int skip_part_of_line(struct text *t)
{
	t->holds = false;
	t->r.next_id = t->r.n_ids;
	t->r.rc = 0;
	if (t->r.err)
		t->r.err->text[0] = '\0';
	return 0;
}

/* Returns the next event, possibly one that was held back. */
static int next(struct np_trace_reader *r, struct np_trace_event *ev)
{
	struct text *t = (struct text *)r;
	int rc;

	if (t->holds) {
		*ev = t->held;
		t->holds = false;
		return 1;
	}
	do {
		rc = read_line(t);
		if (rc <= 0)
			return rc;
		rc = take_line(t, ev);
	} while (!rc);
	if (rc == -EINVAL && t->is_cut && t->r.line > 1)
		return skip_part_of_line(t);
	if (t->holds)
		give_comm(t, ev);
	return rc;
}

/* Starts a pass over the file. */
static void rewind_text(struct np_trace_reader *r)
{
	struct text *t = (struct text *)r;

	fseeko(r->f, 0, SEEK_SET);
	t->end_ns = t->start_ns = t->work = 0;
	t->holds = t->has_world = t->begun = t->ended = false;
	memset(t->reported, 0, sizeof(t->reported));
	np_index_clear(&t->addresses);
	np_index_clear(&t->comms);
}

static void close_text(struct np_trace_reader *r)
{
	struct text *t = (struct text *)r;

	np_index_free(&t->addresses);
	np_index_free(&t->comms);
	free(t->text);
	free(t->member);
}

/* Prepares the reader of a file. */
static int begin(struct np_trace_reader *r, const struct np_trace_header *h,
		 size_t got)
{
	struct text *t = (struct text *)r;

	(void)h, (void)got;
	t->max_work = 1000000 + 256 * r->bytes;
	t->member = calloc(r->size, sizeof(*t->member));
	if (!t->member || np_array_reserve(&t->text, &t->room, 1, 1))
		return np_trace_no_memory(r);
	for (uint32_t i = 0; i < r->size; i++)
		t->member[i] = i;
	return 0;
}

const struct np_trace_form np_trace_text = {
	.bytes = sizeof(struct text),
	.use_bytes = sizeof(uint64_t),
	.begin = begin,
	.next = next,
	.start = start,
	.rewind = rewind_text,
	.close = close_text,
};
