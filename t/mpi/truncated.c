/*
 * Messages around the ring. After the 1000th round rank 0 cuts the file that
 * its argument names to nothing, as somebody else might, if there is one.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, n, got;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	for (int i = 0; i < 100000; i++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % n, 0, &got, 1,
			     MPI_INT, (rank + n - 1) % n, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		if (i == 999 && !rank && argc > 1 && truncate(argv[1], 0))
			perror(argv[1]);
	}
	MPI_Finalize();
	if (!rank)
		puts("done");
	return 0;
}
