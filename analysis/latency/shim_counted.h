/*
 * Wrappers of calls with counts, which MPI 4 has twice: with counts of type int
 * and, with the suffix _c, with counts of type MPI_Count. shim_wraps.c includes this file once with int
 * as COUNT and, if the MPI has them, once for the calls with larger counts.
 * C(name): name with its suffix; DISPL: type of displacements.
 */

/* Describes one message of a call from the arguments of that call. */
#define MESSAGE(n, type, peer_, tag_) \
	(&(struct shim_message){ .comm = comm, \
				 .peer = peer_, \
				 .tag = tag_, \
				 .bytes = bytes(n, type) })

/* Defines a blocking send. */
#define SEND(name) \
	WRAP(name)(const void *buf, COUNT n, MPI_Datatype type, int dest, \
		   int tag, MPI_Comm comm) \
	{ \
		SHIM_FOLLOW(REAL(name)(buf, n, type, dest, tag, comm), \
			    shim_send(&c_, MESSAGE(n, type, dest, tag))); \
	}
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)
#undef SEND

WRAP(Recv)(void *buf, COUNT n, MPI_Datatype type, int source, int tag,
	   MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own, *st = STATUS(source, tag, status, &own);

	SHIM_FOLLOW(REAL(Recv)(buf, n, type, source, tag, comm, st),
		    shim_recv(&c_, MESSAGE(n, type, source, tag), st));
}

WRAP(Sendrecv)(const void *sbuf, COUNT sn, MPI_Datatype stype, int dest,
	       int stag, void *rbuf, COUNT rn, MPI_Datatype rtype, int source,
	       int rtag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own, *st = STATUS(source, rtag, status, &own);

	SHIM_FOLLOW(REAL(Sendrecv)(sbuf, sn, stype, dest, stag, rbuf, rn, rtype,
				   source, rtag, comm, st),
		    shim_sendrecv(&c_, MESSAGE(sn, stype, dest, stag),
				  MESSAGE(rn, rtype, source, rtag), st));
}

WRAP(Sendrecv_replace)(void *buf, COUNT n, MPI_Datatype type, int dest,
		       int stag, int source, int rtag, MPI_Comm comm,
		       MPI_Status *status)
{
	MPI_Status own, *st = STATUS(source, rtag, status, &own);

	SHIM_FOLLOW(REAL(Sendrecv_replace)(buf, n, type, dest, stag, source,
					   rtag, comm, st),
		    shim_sendrecv(&c_, MESSAGE(n, type, dest, stag),
				  MESSAGE(n, type, source, rtag), st));
}

/* Defines a call that returns a request: nonblocking or persistent. */
#define POST(name, qualifier, kind) \
	WRAP(name)(qualifier void *buf, COUNT n, MPI_Datatype type, int peer, \
		   int tag, MPI_Comm comm, MPI_Request *request) \
	{ \
		SHIM_FOLLOW(REAL(name)(buf, n, type, peer, tag, comm, \
				       request), \
			    shim_post(&c_, kind, MESSAGE(n, type, peer, tag), \
				      *request)); \
	}
POST(Isend, const, NP_TRACE_ISEND)
POST(Ibsend, const, NP_TRACE_ISEND)
POST(Issend, const, NP_TRACE_ISEND)
POST(Irsend, const, NP_TRACE_ISEND)
POST(Irecv, , NP_TRACE_IRECV)
POST(Send_init, const, NP_TRACE_SEND_INIT)
POST(Bsend_init, const, NP_TRACE_SEND_INIT)
POST(Ssend_init, const, NP_TRACE_SEND_INIT)
POST(Rsend_init, const, NP_TRACE_SEND_INIT)
POST(Recv_init, , NP_TRACE_RECV_INIT)
#undef POST

#if MPI_VERSION >= 4
WRAP(Isendrecv)(const void *sbuf, COUNT sn, MPI_Datatype stype, int dest,
		int stag, void *rbuf, COUNT rn, MPI_Datatype rtype, int source,
		int rtag, MPI_Comm comm, MPI_Request *request)
{
	SHIM_FOLLOW(REAL(Isendrecv)(sbuf, sn, stype, dest, stag, rbuf, rn,
				    rtype, source, rtag, comm, request),
		    shim_post_both(&c_, MESSAGE(sn, stype, dest, stag),
				   MESSAGE(rn, rtype, source, rtag), *request));
}

WRAP(Isendrecv_replace)(void *buf, COUNT n, MPI_Datatype type, int dest,
			int stag, int source, int rtag, MPI_Comm comm,
			MPI_Request *request)
{
	SHIM_FOLLOW(REAL(Isendrecv_replace)(buf, n, type, dest, stag, source,
					    rtag, comm, request),
		    shim_post_both(&c_, MESSAGE(n, type, dest, stag),
				   MESSAGE(n, type, source, rtag), *request));
}
#endif

/* The message was recorded as received by MPI_Mprobe() or MPI_Improbe(). */
WRAP(Mrecv)(void *buf, COUNT n, MPI_Datatype type, MPI_Message *message,
	    MPI_Status *status)
{
	SHIM_FOLLOW(REAL(Mrecv)(buf, n, type, message, status),
		    shim_local(&c_));
}

WRAP(Imrecv)(void *buf, COUNT n, MPI_Datatype type, MPI_Message *message,
	     MPI_Request *request)
{
	SHIM_FOLLOW(REAL(Imrecv)(buf, n, type, message, request),
		    shim_local(&c_));
}

/*
 * Bytes for each rank, for a record; of one datatype, or of one for each rank.
 */
static uint64_t *C(blocks)(const struct shim_call *c, MPI_Comm comm,
			   const COUNT *counts, MPI_Datatype type,
			   const MPI_Datatype *types)
{
	const struct shim_comm *k = shim_comm(c, comm);
	size_t n = k->id < 0 ? 0 : (size_t)k->size;
	uint64_t *list = n ? shim_list(BEFORE + n) : NULL;

	for (size_t i = 0; list && i < n; i++)
		list[BEFORE + i] = bytes(counts[i], types ? types[i] : type);
	return list;
}

/* Some arguments are valid only at the root. */
static bool C(is_root)(const struct shim_call *c, MPI_Comm comm, int root)
{
	return shim_comm(c, comm)->rank == root;
}

/*
 * Defines a collective and its nonblocking form. ARGS: their common parameters;
 * PASS: the names of these; then the members of struct collective.
 */
/* clang-format off */
#define BOTH(name, iname, ARGS, PASS, ...) \
WRAP(name)(UNPACK ARGS, MPI_Comm comm) \
{ \
	SHIM_FOLLOW(REAL(name)(UNPACK PASS, comm), \
		    collective(&c_, &(struct collective){ \
			.comm = comm, __VA_ARGS__ })); \
} \
WRAP(iname)(UNPACK ARGS, MPI_Comm comm, MPI_Request *request) \
{ \
	SHIM_FOLLOW(REAL(iname)(UNPACK PASS, comm, request), \
		    collective(&c_, &(struct collective){ \
			.comm = comm, .request = request, \
			__VA_ARGS__ })); \
}
/* clang-format on */

/* Bytes by the arguments of the send buffer, and of the receive buffer. */
#define SENT bytes(sn, stype)
#define GOT bytes(rn, rtype)
#define AT_ROOT C(is_root)(&c_, comm, root_)
/* Contribution of one rank, from the arguments that are valid. */
#define OWN(there) ((there) == MPI_IN_PLACE ? GOT : SENT)

BOTH(Bcast, Ibcast, (void *buf, COUNT n, MPI_Datatype type, int root_),
     (buf, n, type, root_), .which = NP_BCAST, .rooted = true, .root = root_,
     .sent = bytes(n, type))
BOTH(Gather, Igather,
     (const void *sbuf, COUNT sn, MPI_Datatype stype, void *rbuf, COUNT rn,
      MPI_Datatype rtype, int root_),
     (sbuf, sn, stype, rbuf, rn, rtype, root_), .which = NP_GATHER,
     .rooted = true, .root = root_, .sent = AT_ROOT ? GOT : SENT)
BOTH(Gatherv, Igatherv,
     (const void *sbuf, COUNT sn, MPI_Datatype stype, void *rbuf,
      const COUNT *rn, const DISPL *at, MPI_Datatype rtype, int root_),
     (sbuf, sn, stype, rbuf, rn, at, rtype, root_), .which = NP_GATHERV,
     .rooted = true, .root = root_, .sent = AT_ROOT ? 0 : SENT,
     .list = AT_ROOT ? C(blocks)(&c_, comm, rn, rtype, NULL) : NULL)
BOTH(Scatter, Iscatter,
     (const void *sbuf, COUNT sn, MPI_Datatype stype, void *rbuf, COUNT rn,
      MPI_Datatype rtype, int root_),
     (sbuf, sn, stype, rbuf, rn, rtype, root_), .which = NP_SCATTER,
     .rooted = true, .root = root_, .sent = AT_ROOT ? SENT : GOT)
BOTH(Scatterv, Iscatterv,
     (const void *sbuf, const COUNT *sn, const DISPL *at, MPI_Datatype stype,
      void *rbuf, COUNT rn, MPI_Datatype rtype, int root_),
     (sbuf, sn, at, stype, rbuf, rn, rtype, root_), .which = NP_SCATTERV,
     .rooted = true, .root = root_, .sent = AT_ROOT ? 0 : GOT,
     .list = AT_ROOT ? C(blocks)(&c_, comm, sn, stype, NULL) : NULL)
BOTH(Allgather, Iallgather,
     (const void *sbuf, COUNT sn, MPI_Datatype stype, void *rbuf, COUNT rn,
      MPI_Datatype rtype),
     (sbuf, sn, stype, rbuf, rn, rtype), .which = NP_ALLGATHER,
     .sent = OWN(sbuf))
BOTH(Allgatherv, Iallgatherv,
     (const void *sbuf, COUNT sn, MPI_Datatype stype, void *rbuf,
      const COUNT *rn, const DISPL *at, MPI_Datatype rtype),
     (sbuf, sn, stype, rbuf, rn, at, rtype), .which = NP_ALLGATHER,
     .list = C(blocks)(&c_, comm, rn, rtype, NULL))
BOTH(Alltoall, Ialltoall,
     (const void *sbuf, COUNT sn, MPI_Datatype stype, void *rbuf, COUNT rn,
      MPI_Datatype rtype),
     (sbuf, sn, stype, rbuf, rn, rtype), .which = NP_ALLTOALL,
     .sent = OWN(sbuf))
BOTH(Alltoallv, Ialltoallv,
     (const void *sbuf, const COUNT *sn, const DISPL *sat, MPI_Datatype stype,
      void *rbuf, const COUNT *rn, const DISPL *rat, MPI_Datatype rtype),
     (sbuf, sn, sat, stype, rbuf, rn, rat, rtype), .which = NP_ALLTOALLV,
     .list = sbuf == MPI_IN_PLACE ? C(blocks)(&c_, comm, rn, rtype, NULL) :
				    C(blocks)(&c_, comm, sn, stype, NULL))
BOTH(Alltoallw, Ialltoallw,
     (const void *sbuf, const COUNT *sn, const DISPL *sat,
      const MPI_Datatype *stype, void *rbuf, const COUNT *rn, const DISPL *rat,
      const MPI_Datatype *rtype),
     (sbuf, sn, sat, stype, rbuf, rn, rat, rtype), .which = NP_ALLTOALLV,
     .list = sbuf == MPI_IN_PLACE ?
		     C(blocks)(&c_, comm, rn, MPI_DATATYPE_NULL, rtype) :
		     C(blocks)(&c_, comm, sn, MPI_DATATYPE_NULL, stype))
BOTH(Reduce, Ireduce,
     (const void *sbuf, void *rbuf, COUNT n, MPI_Datatype type, MPI_Op op,
      int root_),
     (sbuf, rbuf, n, type, op, root_), .which = NP_REDUCE, .rooted = true,
     .root = root_, .sent = bytes(n, type))

#define REDUCTION(name, iname, which_) \
	BOTH(name, iname, \
	     (const void *sbuf, void *rbuf, COUNT n, MPI_Datatype type, \
	      MPI_Op op), \
	     (sbuf, rbuf, n, type, op), .which = which_, \
	     .sent = bytes(n, type))
REDUCTION(Allreduce, Iallreduce, NP_ALLREDUCE)
REDUCTION(Scan, Iscan, NP_SCAN)
REDUCTION(Exscan, Iexscan, NP_EXSCAN)
#undef REDUCTION
BOTH(Reduce_scatter_block, Ireduce_scatter_block,
     (const void *sbuf, void *rbuf, COUNT n, MPI_Datatype type, MPI_Op op),
     (sbuf, rbuf, n, type, op), .which = NP_REDUCE_SCATTER,
     .sent = bytes(n, type) * (uint64_t)shim_comm(&c_, comm)->size)
BOTH(Reduce_scatter, Ireduce_scatter,
     (const void *sbuf, void *rbuf, const COUNT *rn, MPI_Datatype type,
      MPI_Op op),
     (sbuf, rbuf, rn, type, op), .which = NP_REDUCE_SCATTER,
     .list = C(blocks)(&c_, comm, rn, type, NULL))

#undef BOTH
#undef SENT
#undef GOT
#undef AT_ROOT
#undef OWN
#undef MESSAGE
