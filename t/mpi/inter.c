/* A message on an intercommunicator, and a window, which are not followed. */
#include <mpi.h>
#include <stdio.h>

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
	if (!rank)
		puts("done");
	MPI_Finalize();
	return 0;
}
