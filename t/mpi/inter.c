/*
 * Calls that are not followed: a message on an intercommunicator, a window, and of
 * MPI 4 the persistent collective with the most arguments and some that are new.
 */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4
static void run(MPI_Request *request)
{
	MPI_Start(request);
	MPI_Wait(request, MPI_STATUS_IGNORE);
	MPI_Request_free(request);
}

static void collectives_of_mpi_4(void)
{
	int n[2] = { 1, 1 }, at[2] = { 0, 4 }, out[2] = { 7, 7 }, in[2] = { 0 };
	MPI_Datatype type[2] = { MPI_INT, MPI_INT };
	int ranks = 2, periodic = 1;
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Comm ring;

	MPI_Alltoallw_init(out, n, at, type, in, n, at, type, MPI_COMM_WORLD,
			   MPI_INFO_NULL, &request);
	run(&request);
	if (in[0] != 7 || in[1] != 7)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
	MPI_Bcast_init_c(out, 2, MPI_INT, 0, ring, MPI_INFO_NULL, &request);
	run(&request);
	MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, ring,
				   MPI_INFO_NULL, &request);
	run(&request);
	MPI_Neighbor_alltoall_c(out, 1, MPI_INT, in, 1, MPI_INT, ring);
	MPI_Comm_free(&ring);
}
#endif

int main(int argc, char **argv)
{
	MPI_Comm half, inter;
	int rank, value = 0;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
	if (rank % 2)
		MPI_Recv(&value, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
	else
		MPI_Send(&value, 1, MPI_INT, 0, 5, inter);
	MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
		       &win);
	MPI_Win_free(&win);
#if MPI_VERSION >= 4
	collectives_of_mpi_4();
#endif
	if (!rank)
		puts("done");
	MPI_Finalize();
	return 0;
}
