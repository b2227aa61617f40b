/*
 * Every form of sending, receiving, waiting and testing, communicators and
 * collectives, for 4 ranks; says "done" if all data are right. Its messages
 * by their names are counted in the test that reads its trace.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define N 4

static int rank, size, right, left;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	printf("rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Around the ring, 1 message: blocking ones of each form. */
static void blocking(void)
{
	int (*const send[])(const void *, int, MPI_Datatype, int, int,
			    MPI_Comm) = { MPI_Send, MPI_Ssend, MPI_Bsend };
	char room[1024];
	void *at;
	int got, n;

	MPI_Buffer_attach(room, sizeof(room));
	for (int i = 0; i < 3; i++) {
		if (rank % 2)
			MPI_Recv(&got, 1, MPI_INT, left, i, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		send[i](&rank, 1, MPI_INT, right, i, MPI_COMM_WORLD);
		if (rank % 2 == 0)
			MPI_Recv(&got, 1, MPI_INT, left, i, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		must(got == left, "blocking");
	}
	MPI_Buffer_detach(&at, &n);
	MPI_Sendrecv(&rank, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	must(got == left, "sendrecv");
	got = rank;
	MPI_Sendrecv_replace(&got, 1, MPI_INT, right, 4, MPI_ANY_SOURCE, 4,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	must(got == left, "sendrecv_replace");
	MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 5, &got, 1, MPI_INT,
		     MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD);
}

static void finish(int how, int n, MPI_Request *r)
{
	int flag = 0, i, some, index[8];

	switch (how) {
	case 0:
		for (i = 0; i < n; i++)
			MPI_Wait(&r[i], MPI_STATUS_IGNORE);
		break;
	case 1:
		MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
		break;
	case 2:
		for (i = 0; i < n; i++)
			MPI_Waitany(n, r, &some, MPI_STATUS_IGNORE);
		break;
	case 3:
		for (i = 0; i < n; i += some)
			MPI_Waitsome(n, r, &some, index, MPI_STATUSES_IGNORE);
		break;
	case 4:
		for (i = 0; i < n; i++, flag = 0)
			while (!flag)
				MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
		break;
	case 5:
		while (!flag)
			MPI_Testall(n, r, &flag, MPI_STATUSES_IGNORE);
		break;
	case 6:
		for (i = 0; i < n; i += flag)
			MPI_Testany(n, r, &some, &flag, MPI_STATUS_IGNORE);
		break;
	default:
		for (i = 0; i < n; i += some)
			MPI_Testsome(n, r, &some, index, MPI_STATUSES_IGNORE);
	}
	for (i = 0; i < n; i++)
		must(r[i] == MPI_REQUEST_NULL, "a request is left");
}

/* 8 times: to the right by Isend and Issend, from anywhere and from the left */
static void nonblocking(void)
{
	MPI_Request r[4];
	int got[2];

	for (int how = 0; how < 8; how++) {
		MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 10 + how,
			  MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(&got[1], 1, MPI_INT, left, 30 + how, MPI_COMM_WORLD,
			  &r[1]);
		MPI_Isend(&rank, 1, MPI_INT, right, 10 + how, MPI_COMM_WORLD,
			  &r[2]);
		MPI_Issend(&rank, 1, MPI_INT, right, 30 + how, MPI_COMM_WORLD,
			   &r[3]);
		finish(how, 4, r);
		must(got[0] == left && got[1] == left, "nonblocking");
	}
}

/* 3 times 2 messages. */
static void persistent(void)
{
	MPI_Request r[4];
	int got[2], flag;

	MPI_Recv_init(&got[0], 1, MPI_INT, left, 50, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
		      MPI_COMM_WORLD, &r[1]);
	MPI_Send_init(&rank, 1, MPI_INT, right, 50, MPI_COMM_WORLD, &r[2]);
	MPI_Ssend_init(&rank, 1, MPI_INT, right, 51, MPI_COMM_WORLD, &r[3]);
	for (int i = 0; i < 3; i++) {
		got[0] = got[1] = -1;
		MPI_Start(&r[0]);
		MPI_Startall(1, &r[1]);
		MPI_Start(&r[2]);
		MPI_Wait(&r[0], MPI_STATUS_IGNORE);
		MPI_Start(&r[3]);
		MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
		MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
		must(flag && got[0] == left && got[1] == left, "persistent");
		MPI_Barrier(MPI_COMM_WORLD);
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&r[i]);
}

/* 4 messages: probe, iprobe, mprobe, improbe. */
static void probes(void)
{
	MPI_Message m;
	MPI_Request r[4];
	MPI_Status st;
	int got, flag = 0;

	for (int i = 0; i < 4; i++)
		MPI_Isend(&rank, 1, MPI_INT, right, 60 + i, MPI_COMM_WORLD,
			  &r[i]);
	MPI_Probe(MPI_ANY_SOURCE, 60, MPI_COMM_WORLD, &st);
	MPI_Recv(&got, 1, MPI_INT, st.MPI_SOURCE, 60, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	while (!flag)
		MPI_Iprobe(left, 61, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	MPI_Mprobe(MPI_ANY_SOURCE, 62, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
	MPI_Mrecv(&got, 1, MPI_INT, &m, MPI_STATUS_IGNORE);
	must(got == left, "mprobe");
	for (flag = 0; !flag;)
		MPI_Improbe(left, 63, MPI_COMM_WORLD, &flag, &m,
			    MPI_STATUS_IGNORE);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	MPI_Imrecv(&got, 1, MPI_INT, &m, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	must(got == left, "improbe");
}

/* 2 messages: a receive is cancelled, a send is freed, another cannot be cancelled. */
static void loose_ends(void)
{
	MPI_Request r;
	MPI_Status st;
	int got, sent = rank;

	MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 70, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Isend(&sent, 1, MPI_INT, right, 71, MPI_COMM_WORLD, &r);
	MPI_Request_free(&r);
	MPI_Recv(&got, 1, MPI_INT, left, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	must(got == left, "free");
	MPI_Isend(&sent, 1, MPI_INT, right, 72, MPI_COMM_WORLD, &r);
	MPI_Recv(&got, 1, MPI_INT, left, 72, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Cancel(&r);
	memset(&st, 0x5a, sizeof(st)); /* a send leaves it as it is */
	MPI_Wait(&r, &st);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* One message to the other one in each, with the same tag. */
static void swap(MPI_Comm comm, int what)
{
	int n, me, got;

	MPI_Comm_size(comm, &n);
	MPI_Comm_rank(comm, &me);
	MPI_Sendrecv(&what, 1, MPI_INT, (me + 1) % n, 9, &got, 1, MPI_INT,
		     (me + n - 1) % n, 9, comm, MPI_STATUS_IGNORE);
	must(got == what, "a communicator");
	MPI_Allreduce(&what, &got, 1, MPI_INT, MPI_MAX, comm);
	must(got == what, "a communicator's allreduce");
}

static void communicators(void)
{
	int dims[2] = { 2, 2 }, periods[2] = { 1, 0 }, keep[2] = { 0, 1 };
	int first[2] = { 3, 1 };
	MPI_Comm dup, idup, split, cart, row, made = MPI_COMM_NULL;
	MPI_Group world, group;
	MPI_Request r;

	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_idup(MPI_COMM_WORLD, &idup, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	/* The ranks the other way round. */
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &split);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
	MPI_Cart_sub(cart, keep, &row);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, first, &group);
	MPI_Comm_create(MPI_COMM_WORLD, group, &made);
	swap(dup, 1);
	swap(idup, 2);
	swap(split, 3 + rank / 2);
	swap(cart, 5);
	swap(row, 6 + rank / 2);
	if (made != MPI_COMM_NULL)
		swap(made, 8);
	swap(MPI_COMM_SELF, 9);
	for (int i = 0; i < 20; i++) { /* numbers are used again */
		MPI_Comm_free(&dup);
		MPI_Comm_dup(split, &dup);
		swap(dup, 10 + rank / 2);
	}
	MPI_Comm_free(&dup);
	MPI_Comm_free(&split);
	if (made != MPI_COMM_NULL)
		MPI_Comm_free(&made);
	MPI_Group_free(&group);
	MPI_Group_free(&world);
}

static void vector_collectives(void)
{
	int out[N * N], in[N * N], n[N], at[N];

	for (int i = 0; i < N; i++) {
		n[i] = i + 1;
		at[i] = i * N;
	}
	memset(out, 0, sizeof(out));
	MPI_Gatherv(out, rank + 1, MPI_INT, in, n, at, MPI_INT, 2,
		    MPI_COMM_WORLD);
	MPI_Scatterv(out, n, at, MPI_INT, in, rank + 1, MPI_INT, 1,
		     MPI_COMM_WORLD);
	MPI_Allgatherv(out, rank + 1, MPI_INT, in, n, at, MPI_INT,
		       MPI_COMM_WORLD);
	for (int i = 0; i < N; i++)
		n[i] = 1 + (i + rank) % N;
	MPI_Alltoallv(out, n, at, MPI_INT, in, n, at, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < N; i++)
		n[i] = i + 1;
	MPI_Reduce_scatter(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void collectives(void)
{
	int out[N], in[N], sum = 0;
	MPI_Request r[3];

	for (int i = 0; i < N; i++)
		out[i] = rank;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Bcast(out, 1, MPI_INT, 3, MPI_COMM_WORLD);
	must(out[0] == 3, "bcast");
	out[0] = rank;
	MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 1, MPI_COMM_WORLD);
	must(rank != 1 || in[3] == 3, "gather");
	MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, 2, MPI_COMM_WORLD);
	MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	must(in[2] == 2, "allgather");
	in[rank] = rank;
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT,
		      MPI_COMM_WORLD);
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	must(sum == 6, "allreduce");
	MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	vector_collectives();
	MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
	MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]);
	MPI_Ibcast(out, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[2]);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	must(sum == 6, "iallreduce");
}

/* Many at once: MPIs give what is done at once the same handle. */
static void many(void)
{
	enum { MANY = 500 };
	static MPI_Request r[2 * MANY];
	static int in[MANY];

	for (int i = 0; i < MANY; i++) {
		MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 80,
			  MPI_COMM_WORLD, &r[i]);
		MPI_Isend(&rank, 1, MPI_INT, i % 10 ? right : MPI_PROC_NULL, 80,
			  MPI_COMM_WORLD, &r[MANY + i]);
	}
	for (int i = 0; i < MANY / 10; i++)
		MPI_Send(&rank, 1, MPI_INT, right, 80, MPI_COMM_WORLD);
	MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv,
			argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
			&provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must(size == N, "it is for 4 ranks");
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	blocking();
	nonblocking();
	persistent();
	probes();
	loose_ends();
	communicators();
	collectives();
	many();
	if (!rank)
		puts("done");
	MPI_Finalize();
	return 0;
}
