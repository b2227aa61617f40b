/* What it takes to make a communicator: for each way, a line "NAME MILLISECONDS". */
#include <mpi.h>
#include <stdio.h>

#define CALLS 10

static void allreduce(MPI_Comm *made)
{
	long in = 1, out;

	*made = MPI_COMM_NULL;
	MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
}

static void split(MPI_Comm *made)
{
	MPI_Comm_split(MPI_COMM_WORLD, 0, 0, made);
}

static void split_type(MPI_Comm *made)
{
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
			    MPI_INFO_NULL, made);
}

static void dup(MPI_Comm *made)
{
	MPI_Comm_dup(MPI_COMM_WORLD, made);
}

static void create(MPI_Comm *made)
{
	MPI_Group group;

	MPI_Comm_group(MPI_COMM_WORLD, &group);
	MPI_Comm_create(MPI_COMM_WORLD, group, made);
	MPI_Group_free(&group);
}

static void create_group(MPI_Comm *made)
{
	MPI_Group group;

	MPI_Comm_group(MPI_COMM_WORLD, &group);
	MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, made);
	MPI_Group_free(&group);
}

static void cart(MPI_Comm *made)
{
	int size, periods = 0;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, made);
}

static const struct {
	const char *name;
	void (*make)(MPI_Comm *made);
} ways[] = {
	{ "allreduce", allreduce },   { "split", split },
	{ "split_type", split_type }, { "dup", dup },
	{ "create", create },	      { "create_group", create_group },
	{ "cart_create", cart },
};

/* The first call may connect ranks, and is not counted. */
static double sec_of(void (*make)(MPI_Comm *made))
{
	MPI_Comm made[CALLS + 1];
	double begin = 0, sec;

	for (int i = 0; i <= CALLS; i++) {
		if (i == 1)
			begin = MPI_Wtime();
		make(&made[i]);
	}
	sec = (MPI_Wtime() - begin) / CALLS;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i <= CALLS; i++)
		if (made[i] != MPI_COMM_NULL)
			MPI_Comm_free(&made[i]);
	return sec;
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		double sec = sec_of(ways[i].make);

		if (rank == 0)
			printf("%s %.3f\n", ways[i].name, 1e3 * sec);
	}
	MPI_Finalize();
	return 0;
}
