/*
 * What added latency does to two MPI ranks: round trips, sends, and a receive
 * that computation overlaps. Prints microseconds, medians:
 *
 *	TRIP SEND WAIT WAIT_AFTER_COMPUTING
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMES 41
#define PAUSE_SEC 0.02 /* computed, or slept; longer than any delay here */

static double values[TIMES];

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static double median_us(void)
{
	qsort(values, TIMES, sizeof(values[0]), ascending);
	return 1e6 * values[TIMES / 2];
}

static void compute(void)
{
	double end = MPI_Wtime() + PAUSE_SEC;

	while (MPI_Wtime() < end)
		;
}

static double round_trip(int rank)
{
	char c = 0;

	for (int i = 0; i < TIMES; i++) {
		double begin = MPI_Wtime();

		if (rank == 0)
			MPI_Send(&c, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(&c, 1, MPI_CHAR, !rank, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(&c, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
		values[i] = MPI_Wtime() - begin;
	}
	return median_us();
}

/* Rank 1 says "go" and then sends; rank 0 waits for it, or computes first. */
static double overlapped(int rank, int computes, double *send_us)
{
	double sent[TIMES];
	char c = 0;

	for (int i = 0; i < TIMES; i++) {
		MPI_Request r;
		double begin;

		if (rank == 1) {
			MPI_Send(&c, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
			begin = MPI_Wtime();
			MPI_Send(&c, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
			sent[i] = MPI_Wtime() - begin;
			MPI_Recv(&c, 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			continue;
		}
		MPI_Irecv(&c, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &r);
		if (computes)
			compute();
		begin = MPI_Wtime();
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		values[i] = MPI_Wtime() - begin;
		MPI_Recv(&c, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		MPI_Send(&c, 1, MPI_CHAR, 1, 4, MPI_COMM_WORLD);
	}
	if (rank == 1) {
		for (int i = 0; i < TIMES; i++)
			values[i] = sent[i];
		*send_us = median_us();
		return 0;
	}
	return median_us();
}

int main(int argc, char **argv)
{
	double trip, wait, after, send = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	trip = round_trip(rank);
	wait = overlapped(rank, 0, &send);
	after = overlapped(rank, 1, &send);
	MPI_Bcast(&send, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%.1f %.1f %.1f %.1f\n", trip, send, wait, after);
	return MPI_Finalize();
}
