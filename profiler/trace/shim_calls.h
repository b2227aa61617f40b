/*
 * The MPI calls that are followed, as lists X(NAME) without "MPI_".  What comes
 * with MPI 4 is followed where the MPI has it.
 */
#ifndef SHIM_CALLS_H
#define SHIM_CALLS_H

/* Those with counts. */
#define SHIM_COUNTED(X) \
	X(Send) X(Bsend) X(Ssend) X(Rsend) X(Recv) X(Sendrecv) \
	X(Sendrecv_replace) X(Isend) X(Ibsend) X(Issend) X(Irsend) X(Irecv) \
	X(Send_init) X(Bsend_init) X(Ssend_init) X(Rsend_init) X(Recv_init) \
	X(Mrecv) X(Imrecv) \
	X(Bcast) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) \
	X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw) X(Reduce) \
	X(Allreduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) \
	X(Exscan) X(Ibcast) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) \
	X(Iallgather) X(Iallgatherv) X(Ialltoall) X(Ialltoallv) \
	X(Ialltoallw) X(Ireduce) X(Iallreduce) X(Ireduce_scatter) \
	X(Ireduce_scatter_block) X(Iscan) X(Iexscan)

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

/* A trace says that they were called: their messages are not in it. */
#define SHIM_NOT_FOLLOWED(X) \
	X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_accept) \
	X(Comm_connect) X(Comm_join) X(Win_create) X(Win_allocate) \
	X(Win_allocate_shared) X(Win_create_dynamic) \
	X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) \
	X(Neighbor_alltoallv) X(Neighbor_alltoallw) X(Ineighbor_allgather) \
	X(Ineighbor_allgatherv) X(Ineighbor_alltoall) \
	X(Ineighbor_alltoallv) X(Ineighbor_alltoallw)

/* New in MPI 4, without and with larger counts. */
#define SHIM_COUNTED_4(X) X(Isendrecv) X(Isendrecv_replace)
#define SHIM_PLAIN_4(X) X(Comm_idup_with_info) SHIM_NOT_FOLLOWED_4(X)
#define SHIM_NOT_FOLLOWED_4(X) \
	X(Psend_init) X(Precv_init) X(Barrier_init) \
	X(Bcast_init) X(Gather_init) X(Gatherv_init) X(Scatter_init) \
	X(Scatterv_init) X(Allgather_init) X(Allgatherv_init) \
	X(Alltoall_init) X(Alltoallv_init) X(Alltoallw_init) X(Reduce_init) \
	X(Allreduce_init) X(Reduce_scatter_init) \
	X(Reduce_scatter_block_init) X(Scan_init) X(Exscan_init)

/* The same with larger counts. */
#define SHIM_LARGE(X) \
	X(Send_c) X(Bsend_c) X(Ssend_c) X(Rsend_c) X(Recv_c) X(Sendrecv_c) \
	X(Sendrecv_replace_c) X(Isend_c) X(Ibsend_c) X(Issend_c) \
	X(Irsend_c) X(Irecv_c) X(Send_init_c) X(Bsend_init_c) \
	X(Ssend_init_c) X(Rsend_init_c) X(Recv_init_c) X(Mrecv_c) \
	X(Imrecv_c) X(Bcast_c) X(Gather_c) X(Gatherv_c) X(Scatter_c) \
	X(Scatterv_c) X(Allgather_c) X(Allgatherv_c) X(Alltoall_c) \
	X(Alltoallv_c) X(Alltoallw_c) X(Reduce_c) X(Allreduce_c) \
	X(Reduce_scatter_c) X(Reduce_scatter_block_c) X(Scan_c) X(Exscan_c) \
	X(Ibcast_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c) \
	X(Iallgather_c) X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c) \
	X(Ialltoallw_c) X(Ireduce_c) X(Iallreduce_c) X(Ireduce_scatter_c) \
	X(Ireduce_scatter_block_c) X(Iscan_c) X(Iexscan_c) X(Isendrecv_c) \
	X(Isendrecv_replace_c)

#endif
