/*
 * Lists X(NAME) of the MPI calls that are traced, without "MPI_", and the
 * interface to the wrappers. Calls of MPI 4 are traced if the MPI has them.
 */
#ifndef SHIM_CALLS_H
#define SHIM_CALLS_H

/* Calls with counts; s: suffix of each name. */
#define SHIM_COUNTED(X) SHIM_COUNTED_AS(X, )
/* clang-format off */
#define SHIM_COUNTED_AS(X, s) \
	X(Send##s) X(Bsend##s) X(Ssend##s) X(Rsend##s) X(Recv##s) \
	X(Sendrecv##s) X(Sendrecv_replace##s) X(Isend##s) X(Ibsend##s) \
	X(Issend##s) X(Irsend##s) X(Irecv##s) X(Send_init##s) \
	X(Bsend_init##s) X(Ssend_init##s) X(Rsend_init##s) X(Recv_init##s) \
	X(Mrecv##s) X(Imrecv##s) X(Bcast##s) X(Gather##s) X(Gatherv##s) \
	X(Scatter##s) X(Scatterv##s) X(Allgather##s) X(Allgatherv##s) \
	X(Alltoall##s) X(Alltoallv##s) X(Alltoallw##s) X(Reduce##s) \
	X(Allreduce##s) X(Reduce_scatter##s) X(Reduce_scatter_block##s) \
	X(Scan##s) X(Exscan##s) X(Ibcast##s) X(Igather##s) X(Igatherv##s) \
	X(Iscatter##s) X(Iscatterv##s) X(Iallgather##s) X(Iallgatherv##s) \
	X(Ialltoall##s) X(Ialltoallv##s) X(Ialltoallw##s) X(Ireduce##s) \
	X(Iallreduce##s) X(Ireduce_scatter##s) X(Ireduce_scatter_block##s) \
	X(Iscan##s) X(Iexscan##s)

#define SHIM_PLAIN(X) SHIM_INIT(X) SHIM_REST(X)
#define SHIM_INIT(X) X(Init) X(Init_thread)
#define SHIM_REST(X) \
	X(Finalize) \
	X(Start) X(Startall) X(Mprobe) X(Improbe) X(Probe) X(Iprobe) \
	X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) \
	X(Testany) X(Testsome) X(Request_get_status) X(Request_free) \
	X(Cancel) X(Barrier) X(Ibarrier) \
	X(Comm_dup) X(Comm_dup_with_info) X(Comm_idup) X(Comm_split) \
	X(Comm_split_type) X(Comm_create) X(Comm_create_group) \
	X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) \
	X(Dist_graph_create_adjacent) X(Intercomm_create) \
	X(Intercomm_merge) X(Comm_free) X(Comm_disconnect) \
	SHIM_NOT_FOLLOWED(X)

/*
 * A trace records that these were called, but does not contain their messages.
 */
#define SHIM_NOT_FOLLOWED(X) \
	X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_accept) \
	X(Comm_connect) X(Comm_join) X(Win_create_dynamic) \
	SHIM_NOT_FOLLOWED_AS(X, )
#define SHIM_NOT_FOLLOWED_AS(X, s) \
	X(Win_create##s) X(Win_allocate##s) X(Win_allocate_shared##s) \
	X(Neighbor_allgather##s) X(Neighbor_allgatherv##s) \
	X(Neighbor_alltoall##s) X(Neighbor_alltoallv##s) \
	X(Neighbor_alltoallw##s) X(Ineighbor_allgather##s) \
	X(Ineighbor_allgatherv##s) X(Ineighbor_alltoall##s) \
	X(Ineighbor_alltoallv##s) X(Ineighbor_alltoallw##s)

/* New in MPI 4. */
#define SHIM_COUNTED_4(X) SHIM_COUNTED_4_AS(X, )
#define SHIM_COUNTED_4_AS(X, s) X(Isendrecv##s) X(Isendrecv_replace##s)
#define SHIM_PLAIN_4(X) X(Comm_idup_with_info) SHIM_NOT_FOLLOWED_4(X)
#define SHIM_NOT_FOLLOWED_4(X) \
	X(Psend_init) X(Precv_init) X(Barrier_init) \
	SHIM_NOT_FOLLOWED_4_AS(X, ) SHIM_NOT_FOLLOWED_AS(X, _c) \
	SHIM_NOT_FOLLOWED_4_AS(X, _c)
#define SHIM_NOT_FOLLOWED_4_AS(X, s) \
	X(Bcast_init##s) X(Gather_init##s) X(Gatherv_init##s) \
	X(Scatter_init##s) X(Scatterv_init##s) X(Allgather_init##s) \
	X(Allgatherv_init##s) X(Alltoall_init##s) X(Alltoallv_init##s) \
	X(Alltoallw_init##s) X(Reduce_init##s) X(Allreduce_init##s) \
	X(Reduce_scatter_init##s) X(Reduce_scatter_block_init##s) \
	X(Scan_init##s) X(Exscan_init##s) X(Neighbor_allgather_init##s) \
	X(Neighbor_allgatherv_init##s) X(Neighbor_alltoall_init##s) \
	X(Neighbor_alltoallv_init##s) X(Neighbor_alltoallw_init##s)
/* clang-format on */

/* The same with larger counts. */
#define SHIM_LARGE(X) SHIM_COUNTED_AS(X, _c) SHIM_COUNTED_4_AS(X, _c)

/*
 * Interface between libnetprof-mpi.so, which depends on no MPI, and the part
 * for the program's MPI. A shim_find_f returns a function of the MPI by name,
 * or NULL.
 */
typedef void *shim_find_f(const char *name);

struct shim_wrapper {
	const char *name; /* without "MPI_" */
	void *function;
};

/*
 * Looks up the MPI's own functions with find, and returns their wrappers; the
 * last entry has no name.
 */
typedef const struct shim_wrapper *shim_bind_f(shim_find_f *find);
#define SHIM_BIND "np_shim_bind"

#endif
