/*
 * One message to and fro between two ranks: pingpong N prints ns of a message
 * in the tenth of a hundred parts of N round trips, the fastest first: others
 * that run on this machine disturb some of the parts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS 100
#define TENTH 9

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double part(int rank, long n)
{
	double begin = MPI_Wtime();
	char byte = 0;

	for (long i = 0; i < n; i++) {
		if (rank == 0)
			MPI_Send(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(&byte, 1, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / (2.0 * (double)n) * 1e9;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	double ns[PARTS];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	part(rank, n);
	for (int i = 0; i < PARTS; i++)
		ns[i] = part(rank, n);
	qsort(ns, PARTS, sizeof(ns[0]), by_size);
	if (!rank)
		printf("%.1f\n", ns[TENTH]);
	MPI_Finalize();
	return 0;
}
