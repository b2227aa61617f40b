/*
 * The wrappers of the MPI's calls; shim_calls.h lists them.
 *
 * A wrapper calls the MPI's own function and then records the call, or does
 * nothing else if nothing is recorded. It passes on the arguments of the
 * program, with one exception: where the program ignores a status that says
 * which message was received, the MPI fills one of ours. The result is always
 * the MPI's.
 *
 * Wrappers are found through np_shim_bind() and not by their names, because
 * libnetprof-mpi.so, which the program is started with, cannot know which MPI
 * will be used.
 */
#include "shim.h"

#include "np_collective.h"
#include "shim_calls.h"

#if MPI_VERSION >= 4
#define ALL(X) \
	SHIM_COUNTED(X) \
	SHIM_PLAIN(X) SHIM_COUNTED_4(X) SHIM_PLAIN_4(X) SHIM_LARGE(X)
#else
#define ALL(X) SHIM_COUNTED(X) SHIM_PLAIN(X)
#endif

/* The MPI's own functions. */
#define OWN_CALL(name) static __typeof__(PMPI_##name) *real_##name;
ALL(OWN_CALL)

#define UNPACK(...) __VA_ARGS__
#define IGNORED(status) ((status) == MPI_STATUS_IGNORE)
/* A receive with a wildcard needs a status, even if the caller ignores it. */
#define STATUS(source, tag, status, own) \
	(IGNORED(status) && ((source) == MPI_ANY_SOURCE || \
			     (tag) == MPI_ANY_TAG) ? \
		 (own) : \
		 (status))

/* MPI 4.1 has renamed it. */
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION > 0)
#define TYPE_SIZE PMPI_Type_size_c
#else
#define TYPE_SIZE PMPI_Type_size_x
#endif

/* Bytes of count elements of a datatype. */
static uint64_t bytes(int64_t count, MPI_Datatype type)
{
	MPI_Count size = 0;

	/* With a count of 0 the datatype may be invalid. */
	if (count <= 0 || TYPE_SIZE(type, &size) || size < 0)
		return 0;
	return (uint64_t)count * (uint64_t)size;
}

#define BEFORE 7 /* numbers of a record before its list */

/* One record for a blocking or nonblocking collective. */
struct collective {
	enum np_collective which;
	MPI_Comm comm;
	bool rooted;
	int root;
	uint64_t sent, received;
	/*
	 * one entry per rank of the communicator, after BEFORE unused ones; or
	 * NULL
	 */
	uint64_t *list;
	const MPI_Request *request; /* NULL: blocking */
};

/* Records a collective. */
static void collective(const struct shim_call *c, const struct collective *k)
{
	const struct shim_comm *comm = shim_comm(c, k->comm);
	size_t n = k->list && comm->id >= 0 ? (size_t)comm->size : 0;
	uint64_t few[BEFORE], *v = k->list ? k->list : few;
	int64_t id = -1;

	if (comm->id < 0) {
		shim_unsupported(c, "a collective on an intercommunicator");
		return;
	}
	if (k->request)
		id = shim_request_new(*k->request);
	v[0] = (uint64_t)k->which;
	v[1] = (uint64_t)(id + 1);
	v[2] = (uint64_t)comm->id;
	v[3] = k->rooted ? (uint64_t)k->root + 1 : 0;
	v[4] = k->sent;
	v[5] = k->received;
	v[6] = n;
	shim_put(c, NP_TRACE_COLLECTIVE, v, v + BEFORE + n);
}

/* The head of a wrapper's definition, and the MPI's function that it calls. */
#define WRAP(name) static int C(wrap_##name)
#define REAL(name) C(real_##name)

#if MPI_VERSION >= 4
#define C(name) name##_c
#define COUNT MPI_Count
#define DISPL MPI_Aint
#include "shim_counted.h"
#undef C
#undef COUNT
#undef DISPL
#endif

#define C(name) name
#define COUNT int
#define DISPL int
#include "shim_counted.h"

static void start_trace(int threads)
{
	if (shim_start(threads))
		shim_comm_start();
}

WRAP(Init)(int *argc, char ***argv)
{
	int rc = real_Init(argc, argv), provided = MPI_THREAD_SINGLE;

	/* A variable of the environment may raise the level. */
	if (rc == MPI_SUCCESS && !PMPI_Query_thread(&provided))
		start_trace(provided);
	return rc;
}

WRAP(Init_thread)(int *argc, char ***argv, int required, int *provided)
{
	int rc = real_Init_thread(argc, argv, required, provided);

	if (rc == MPI_SUCCESS)
		start_trace(*provided);
	return rc;
}

WRAP(Finalize)(void)
{
	struct shim_call c;

	if (shim_enter(&c)) {
		shim_stop(&c);
		shim_leave();
	}
	return real_Finalize();
}

WRAP(Barrier)(MPI_Comm comm)
{
	SHIM_FOLLOW(real_Barrier(comm),
		    collective(&c_, &(struct collective){ .which = NP_BARRIER,
							  .comm = comm }));
}

WRAP(Ibarrier)(MPI_Comm comm, MPI_Request *request)
{
	SHIM_FOLLOW(real_Ibarrier(comm, request),
		    collective(&c_,
			       &(struct collective){ .which = NP_BARRIER,
						     .comm = comm,
						     .request = request }));
}

WRAP(Start)(MPI_Request *request)
{
	SHIM_FOLLOW(real_Start(request), shim_begin_all(&c_, 1, request));
}

WRAP(Startall)(int n, MPI_Request *request)
{
	SHIM_FOLLOW(real_Startall(n, request), shim_begin_all(&c_, n, request));
}

/* A matched probe counts as the receive of the message. */
static void record_matched_probe(const struct shim_call *c, MPI_Comm comm,
				 const MPI_Status *st)
{
	int n = 0;

	if (PMPI_Get_count(st, MPI_BYTE, &n) || n < 0)
		n = 0;
	shim_recv(c,
		  &(struct shim_message){ .comm = comm,
					  .peer = st->MPI_SOURCE,
					  .tag = st->MPI_TAG,
					  .bytes = (uint64_t)n },
		  st);
}

WRAP(Mprobe)(int source, int tag, MPI_Comm comm, MPI_Message *message,
	     MPI_Status *status)
{
	MPI_Status own, *st = IGNORED(status) ? &own : status;

	SHIM_FOLLOW(real_Mprobe(source, tag, comm, message, st),
		    record_matched_probe(&c_, comm, st));
}

WRAP(Improbe)(int source, int tag, MPI_Comm comm, int *flag,
	      MPI_Message *message, MPI_Status *status)
{
	MPI_Status own, *st = IGNORED(status) ? &own : status;

	SHIM_FOLLOW(real_Improbe(source, tag, comm, flag, message, st),
		    *flag ? record_matched_probe(&c_, comm, st) :
			    shim_poll(&c_));
}

WRAP(Probe)(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	SHIM_FOLLOW(real_Probe(source, tag, comm, status), shim_local(&c_));
}

WRAP(Iprobe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	SHIM_FOLLOW(real_Iprobe(source, tag, comm, flag, status),
		    *flag ? shim_local(&c_) : shim_poll(&c_));
}

/* call: uses st in place of the statuses; record: which requests completed. */
#define WAIT(n, requests, statuses, ignored, call, record) \
	do { \
		struct shim_wait w_; \
		struct shim_call c_; \
		MPI_Status *st; \
		int rc_; \
		if (!shim_enter(&c_)) { \
			st = statuses; \
			return call; \
		} \
		st = shim_wait_begin(&w_, n, requests, statuses, ignored); \
		rc_ = call; \
		if (shim_end(&c_, rc_)) { \
			record; \
			shim_leave(); \
		} \
		shim_wait_free(&w_); \
		return rc_; \
	} while (0)
#define DONE(n, index) shim_wait_done(&c_, &w_, n, index)
#define ALL_IGNORED(st) ((st) == MPI_STATUSES_IGNORE)

WRAP(Wait)(MPI_Request *request, MPI_Status *status)
{
	WAIT(1, request, status, IGNORED(status), real_Wait(request, st),
	     DONE(1, NULL));
}

WRAP(Waitall)(int n, MPI_Request *request, MPI_Status *status)
{
	WAIT(n, request, status, ALL_IGNORED(status),
	     real_Waitall(n, request, st), DONE(n, NULL));
}

WRAP(Waitany)(int n, MPI_Request *request, int *index, MPI_Status *status)
{
	WAIT(n, request, status, IGNORED(status),
	     real_Waitany(n, request, index, st),
	     DONE(*index != MPI_UNDEFINED, index));
}

WRAP(Waitsome)(int n, MPI_Request *request, int *n_done, int *index,
	       MPI_Status *status)
{
	WAIT(n, request, status, ALL_IGNORED(status),
	     real_Waitsome(n, request, n_done, index, st),
	     DONE(*n_done == MPI_UNDEFINED ? 0 : *n_done, index));
}

WRAP(Test)(MPI_Request *request, int *flag, MPI_Status *status)
{
	WAIT(1, request, status, IGNORED(status), real_Test(request, flag, st),
	     *flag ? DONE(1, NULL) : shim_poll(&c_));
}

WRAP(Testall)(int n, MPI_Request *request, int *flag, MPI_Status *status)
{
	WAIT(n, request, status, ALL_IGNORED(status),
	     real_Testall(n, request, flag, st),
	     *flag ? DONE(n, NULL) : shim_poll(&c_));
}

WRAP(Testany)(int n, MPI_Request *request, int *index, int *flag,
	      MPI_Status *status)
{
	WAIT(n, request, status, IGNORED(status),
	     real_Testany(n, request, index, flag, st),
	     *flag ? DONE(*index != MPI_UNDEFINED, index) : shim_poll(&c_));
}

WRAP(Testsome)(int n, MPI_Request *request, int *n_done, int *index,
	       MPI_Status *status)
{
	WAIT(n, request, status, ALL_IGNORED(status),
	     real_Testsome(n, request, n_done, index, st),
	     *n_done > 0 ? DONE(*n_done, index) : shim_poll(&c_));
}

WRAP(Request_get_status)(MPI_Request request, int *flag, MPI_Status *status)
{
	SHIM_FOLLOW(real_Request_get_status(request, flag, status),
		    shim_poll(&c_));
}

WRAP(Request_free)(MPI_Request *request)
{
	MPI_Request gone = request ? *request : MPI_REQUEST_NULL;

	SHIM_FOLLOW(real_Request_free(request), shim_free(&c_, gone));
}

WRAP(Cancel)(MPI_Request *request)
{
	SHIM_FOLLOW(real_Cancel(request), shim_cancel(&c_, *request));
}

/*
 * Creating a communicator is modelled as this many rounds, each as expensive as
 * an allreduce of a few bytes. The numbers are from the time that it takes at
 * added latency on 2, 4 and 8 nodes, with Open MPI 4.1.4 and MPICH 4.0.2
 * (doc/validation/methods.md).
 */
#ifdef OPEN_MPI
#define ROUNDS(mpich) 6
#else
#define ROUNDS(mpich) (mpich)
#endif

/* Records the rounds of an agreement as allreduces of 8 bytes. */
static void record_agreement(const struct shim_call *c, MPI_Comm comm,
			     int rounds)
{
	const struct shim_call end = { c->end_ns, c->end_ns };

	for (int i = 0; i < rounds; i++)
		collective(i ? &end : c,
			   &(struct collective){ .which = NP_ALLREDUCE,
						 .comm = comm,
						 .sent = 8 });
}

/* All ranks of the parent create the communicator. */
static void record_new_comm(const struct shim_call *c, MPI_Comm parent,
			    MPI_Comm comm, int rounds)
{
	const struct shim_call end = { c->end_ns, c->end_ns };

	record_agreement(c, parent, rounds);
	shim_comm_new(&end, comm, NULL);
}

/* Only its members create the communicator. */
static void record_group_comm(const struct shim_call *c, MPI_Comm comm)
{
	shim_comm_new(c, comm, NULL);
	if (comm != MPI_COMM_NULL)
		record_agreement(c, comm, ROUNDS(2));
}

/* clang-format off */
#define MAKE(name, rounds, ARGS, PASS) \
WRAP(name)(MPI_Comm comm, UNPACK ARGS, MPI_Comm *new) \
{ \
	SHIM_FOLLOW(real_##name(comm, UNPACK PASS, new), \
		    record_new_comm(&c_, comm, *new, rounds)); \
}
/* clang-format on */
MAKE(Comm_dup_with_info, ROUNDS(2), (MPI_Info info), (info))
MAKE(Comm_split, ROUNDS(4), (int colour, int key), (colour, key))
MAKE(Comm_split_type, ROUNDS(6), (int type, int key, MPI_Info info),
     (type, key, info))
MAKE(Comm_create, ROUNDS(2), (MPI_Group group), (group))
MAKE(Cart_create, ROUNDS(2),
     (int n, const int *dims, const int *periods, int reorder),
     (n, dims, periods, reorder))
MAKE(Cart_sub, ROUNDS(2), (const int *remain), (remain))
MAKE(Graph_create, ROUNDS(2),
     (int n, const int *index, const int *edges, int reorder),
     (n, index, edges, reorder))
MAKE(Dist_graph_create, ROUNDS(2),
     (int n, const int *from, const int *degrees, const int *to,
      const int *weights, MPI_Info info, int reorder),
     (n, from, degrees, to, weights, info, reorder))
MAKE(Dist_graph_create_adjacent, ROUNDS(2),
     (int n_in, const int *in, const int *in_weights, int n_out, const int *out,
      const int *out_weights, MPI_Info info, int reorder),
     (n_in, in, in_weights, n_out, out, out_weights, info, reorder))
#undef MAKE

WRAP(Comm_dup)(MPI_Comm comm, MPI_Comm *new)
{
	SHIM_FOLLOW(real_Comm_dup(comm, new),
		    record_new_comm(&c_, comm, *new, ROUNDS(2)));
}

WRAP(Comm_idup)(MPI_Comm comm, MPI_Comm *new, MPI_Request *request)
{
	SHIM_FOLLOW(real_Comm_idup(comm, new, request),
		    shim_comm_new(&c_, *new, &comm));
}

WRAP(Comm_create_group)(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new)
{
	SHIM_FOLLOW(real_Comm_create_group(comm, group, tag, new),
		    record_group_comm(&c_, *new));
}

WRAP(Intercomm_create)(MPI_Comm local, int leader, MPI_Comm peer, int remote,
		       int tag, MPI_Comm *new)
{
	SHIM_FOLLOW(real_Intercomm_create(local, leader, peer, remote, tag,
					  new),
		    record_new_comm(&c_, local, *new, ROUNDS(2)));
}

WRAP(Intercomm_merge)(MPI_Comm inter, int high, MPI_Comm *new)
{
	SHIM_FOLLOW(real_Intercomm_merge(inter, high, new),
		    record_group_comm(&c_, *new));
}

/* clang-format off */
#define GONE(name) \
WRAP(name)(MPI_Comm *comm) \
{ \
	MPI_Comm gone = comm ? *comm : MPI_COMM_NULL; \
	\
	SHIM_FOLLOW(real_##name(comm), shim_comm_gone(&c_, gone)); \
}
/* clang-format on */
GONE(Comm_free)
GONE(Comm_disconnect)
#undef GONE

/*
 * Calls whose messages are not traced, but which are recorded. Twelve words
 * cover the arguments of each, of which MPI_Alltoallw_init() has eleven; surplus
 * ones are passed on unread.
 */
#define NOT_FOLLOWED(name) \
	static int wrap_##name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, \
			       intptr_t e, intptr_t f, intptr_t g, intptr_t h, \
			       intptr_t i, intptr_t j, intptr_t k, intptr_t l) \
	{ \
		int (*real)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, \
			    intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, \
			    intptr_t, intptr_t) = (void *)real_##name; \
\
		SHIM_FOLLOW(real(a, b, c, d, e, f, g, h, i, j, k, l), \
			    shim_unsupported(&c_, "MPI_" #name)); \
	}
SHIM_NOT_FOLLOWED(NOT_FOLLOWED)
#if MPI_VERSION >= 4
SHIM_NOT_FOLLOWED_4(NOT_FOLLOWED)

WRAP(Comm_idup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *new,
			  MPI_Request *request)
{
	SHIM_FOLLOW(real_Comm_idup_with_info(comm, info, new, request),
		    shim_comm_new(&c_, *new, &comm));
}
#endif

#define ENTRY(name) { #name, (void *)wrap_##name },
static const struct shim_wrapper wrappers[] = {
	ALL(ENTRY)
	/* the end */
	{ NULL, NULL },
};

__attribute__((visibility("default"))) const struct shim_wrapper *
np_shim_bind(shim_find_f *find);

const struct shim_wrapper *np_shim_bind(shim_find_f *find)
{
#define BIND(name) *(void **)&real_##name = find("PMPI_" #name);
	ALL(BIND)
	return wrappers;
}
