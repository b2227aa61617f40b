/*
 * Three threads, each with a communicator of its own, post and complete messages to
 * themselves at the same time, so that the MPI gives one thread the handles of requests
 * that another has just completed.
 */
#include <mpi.h>
#include <pthread.h>

#define THREADS 3
#define ROUNDS 400
#define TESTS 20

static MPI_Comm comm[THREADS];

static void *run(void *arg)
{
	MPI_Comm mine = *(MPI_Comm *)arg;
	int in[2], out[2] = { 0, 0 }, done, which;
	MPI_Request r[4];

	for (int k = 0; k < ROUNDS; k++) {
		MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, mine,
			  &r[0]);
		MPI_Irecv(&in[1], 1, MPI_INT, 0, 5, mine, &r[1]);
		MPI_Isend(&out[0], 1, MPI_INT, 0, 5, mine, &r[2]);
		MPI_Isend(&out[1], 1, MPI_INT, 0, 5, mine, &r[3]);
		for (int i = 0; i < TESTS; i++)
			MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
		MPI_Waitany(4, r, &which, MPI_STATUS_IGNORE);
		MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 77);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &comm[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run, &comm[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MPI_Finalize();
	return 0;
}
