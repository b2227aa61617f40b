/*
 * Messages around the ring until rank 0 is killed after the 1000th round, as
 * by kill -9. The rank before it has ended that round, too, when its next
 * message is there: it may be killed soon.
 */
#include <mpi.h>
#include <signal.h>
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
		if (i == 999 && !rank) {
			MPI_Probe(n - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			kill(getpid(), SIGKILL);
		}
	}
	MPI_Finalize();
	puts("not killed");
	return 0;
}
