/*
 * Communicators: the numbers by which records identify them, and their ranks in
 * MPI_COMM_WORLD. Programs have few communicators at a time.
 */
#include "shim.h"

#include <stdlib.h>

static struct shim_comm *comms; /* unordered */
static size_t n_comms, room;
static int *free_ids;
static size_t n_free;
static int n_ids;
static MPI_Group world;
static size_t last; /* index of the last one that was found */

/* Programs use few communicators alternately: try the last one first. */
static struct shim_comm *find(MPI_Comm comm)
{
	if (last < n_comms && comms[last].handle == comm)
		return &comms[last];
	for (size_t i = 0; i < n_comms; i++)
		if (comms[i].handle == comm) {
			last = i;
			return &comms[i];
		}
	return NULL;
}

/* Adds a communicator, not numbered yet. */
static struct shim_comm *add(MPI_Comm comm)
{
	if (n_comms == room) {
		size_t want = room ? 2 * room : 16;
		struct shim_comm *c = realloc(comms, want * sizeof(*c));
		int *ids = c ? realloc(free_ids, want * sizeof(*ids)) : NULL;

		comms = c ? c : comms;
		if (!ids)
			return NULL;
		free_ids = ids;
		room = want;
	}
	comms[n_comms] = (struct shim_comm){ .handle = comm, .id = SHIM_INTER };
	return &comms[n_comms++];
}

/* Writes ranks in MPI_COMM_WORLD as runs of equal steps; returns the end. */
static uint64_t *put_runs(uint64_t *p, const int *rank, int n)
{
	uint64_t *runs = p++;

	*runs = 0;
	for (int i = 0; i < n; ++*runs) {
		int step = i + 1 < n ? rank[i + 1] - rank[i] : 1, k = 1;

		while (i + k < n && rank[i + k] - rank[i + k - 1] == step)
			k++;
		*p++ = (uint64_t)rank[i];
		*p++ = step < 0 ? (uint64_t)-step * 2 - 1 : (uint64_t)step * 2;
		*p++ = (uint64_t)k;
		i += k;
	}
	return p;
}

/* Writes the record of a new communicator. */
static void put_comm(const struct shim_call *c, const struct shim_comm *k,
		     const int *rank)
{
	/* Every run except the last has at least two ranks. */
	size_t runs = (size_t)k->size / 2 + 1;
	uint64_t *v = shim_list(4 + 3 * runs);

	if (!v)
		return;
	v[0] = (uint64_t)k->id;
	v[1] = (uint64_t)k->rank;
	v[2] = (uint64_t)k->size;
	shim_put(c, NP_TRACE_COMM, v, put_runs(v + 3, rank, k->size));
}

/* Ranks in MPI_COMM_WORLD; NULL if some are not in it. */
static int *ranks_of(MPI_Comm comm, int size)
{
	int *from = malloc(2 * (size_t)size * sizeof(*from));
	int *to = from ? from + size : NULL;
	MPI_Group group;
	bool ok;

	if (!from || PMPI_Comm_group(comm, &group)) {
		free(from);
		return NULL;
	}
	for (int i = 0; i < size; i++)
		from[i] = i;
	ok = !PMPI_Group_translate_ranks(group, size, from, world, to);
	PMPI_Group_free(&group);
	for (int i = 0; ok && i < size; i++) {
		ok = to[i] >= 0;
		from[i] = to[i];
	}
	if (ok)
		return from;
	free(from);
	return NULL;
}

/*
 * Numbers a communicator and records it. like: the communicator itself, or one
 * with the same ranks. Intercommunicators keep the number SHIM_INTER.
 */
static void number_comm(const struct shim_call *c, struct shim_comm *k,
			MPI_Comm like)
{
	int inter = 0, *rank;

	PMPI_Comm_test_inter(like, &inter);
	if (inter || PMPI_Comm_rank(like, &k->rank) ||
	    PMPI_Comm_size(like, &k->size))
		return;
	rank = ranks_of(like, k->size);
	if (!rank)
		return;
	k->id = n_free ? free_ids[--n_free] : n_ids++;
	put_comm(c, k, rank);
	free(rank);
}

void shim_comm_start(void)
{
	struct shim_call c = { shim_out.end_ns, shim_out.end_ns };

	if (PMPI_Comm_group(MPI_COMM_WORLD, &world))
		world = MPI_GROUP_EMPTY;
	shim_comm(&c, MPI_COMM_WORLD);
	shim_comm(&c, MPI_COMM_SELF);
}

const struct shim_comm *shim_comm(const struct shim_call *c, MPI_Comm comm)
{
	static const struct shim_comm none = { .id = SHIM_INTER };
	const struct shim_call begin = { c->start_ns, c->start_ns };
	struct shim_comm *k = find(comm);

	if (k)
		return k;
	k = add(comm);
	if (!k)
		return &none;
	number_comm(&begin, k, comm);
	return k;
}

void shim_comm_new(const struct shim_call *c, MPI_Comm comm,
		   const MPI_Comm *like)
{
	struct shim_comm *k;

	if (comm == MPI_COMM_NULL)
		return;
	/* its previous owner was freed by a call that is not traced */
	shim_comm_gone(c, comm);
	k = add(comm);
	if (k)
		number_comm(c, k, like ? *like : comm);
}

void shim_comm_gone(const struct shim_call *c, MPI_Comm comm)
{
	struct shim_comm *k = find(comm);

	if (!k)
		return;
	if (k->id >= 0) {
		const uint64_t id = (uint64_t)k->id;

		free_ids[n_free++] = k->id;
		shim_put(c, NP_TRACE_COMM_FREE, &id, &id + 1);
	}
	*k = comms[--n_comms];
}
