#include "np_collective.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "np_quantity.h"

static const char *const collectives[] = {
	[NP_BARRIER] = "barrier", [NP_BCAST] = "bcast",
	[NP_GATHER] = "gather", [NP_SCATTER] = "scatter",
	[NP_ALLGATHER] = "allgather", [NP_ALLTOALL] = "alltoall",
	[NP_REDUCE] = "reduce", [NP_ALLREDUCE] = "allreduce",
	[NP_REDUCE_SCATTER] = "reduce_scatter", [NP_SCAN] = "scan",
	[NP_EXSCAN] = "exscan", [NP_GATHERV] = "gatherv",
	[NP_SCATTERV] = "scatterv", [NP_ALLTOALLV] = "alltoallv",
};

static const char *const algorithms[] = {
	[NP_LINEAR] = "linear", [NP_BINOMIAL] = "binomial",
	[NP_RECURSIVE_DOUBLING] = "recursive-doubling",
	[NP_DISSEMINATION] = "dissemination", [NP_RING] = "ring",
};

const char *np_collective_name(enum np_collective c)
{
	return collectives[c];
}

static int find(const char *const *names, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], text))
			return (int)i;
	return -1;
}

static int wrong(struct np_err *err, const char *text, const char *expected)
{
	return np_errf(err, -EINVAL, "\"%.64s\": expected %s, such as "
		       "allreduce=ring or allreduce:64K=ring", text, expected);
}

int np_choices_add(struct np_choices *c, const char *text, struct np_err *err)
{
	char copy[128], *algorithm = copy, *from, *name;
	uint64_t from_bytes = 0;
	int which, how;

	snprintf(copy, sizeof(copy), "%s", text);
	from = strsep(&algorithm, "=");
	name = strsep(&from, ":");
	if (!algorithm)
		return wrong(err, text, "COLLECTIVE=ALGORITHM");
	which = find(collectives, NP_N_COLLECTIVES, name);
	if (which < 0)
		return wrong(err, text, "a collective of MPI in small letters");
	if (from && (np_bytes_parse(from, &from_bytes) ||
		     from_bytes > INT64_MAX))
		return wrong(err, text, "bytes after the colon");
	how = find(algorithms, NP_N_ALGORITHMS, algorithm);
	if (how < 0)
		return wrong(err, text, "linear, binomial, recursive-doubling, "
			     "dissemination or ring");
	if (!np_algorithm_does((enum np_algorithm)how,
			       (enum np_collective)which))
		return np_errf(err, -EINVAL, "\"%.64s\": %s has no algorithm "
			       "%s", text, collectives[which], algorithms[how]);
	if (c->n == NP_MAX_CHOICES)
		return np_errf(err, -EINVAL, "\"%.64s\": expected at most %d "
			       "choices", text, NP_MAX_CHOICES);
	c->own[c->n++] = (struct np_choice){ (enum np_collective)which,
		from_bytes, (enum np_algorithm)how };
	return 0;
}

/*
 * Much as MPICH's and Open MPI's defaults: MPICH's but for allreduce, which is
 * Open MPI's.  bytes of gather to alltoall are those of a rank.
 */
static enum np_algorithm usual(enum np_collective c, uint32_t size,
			       uint64_t bytes)
{
	bool power = !(size & (size - 1));
	uint64_t all = bytes * size;

	switch (c) {
	case NP_BARRIER:
		return NP_DISSEMINATION;
	case NP_BCAST:
		return bytes < 12288 || size < 8 ? NP_BINOMIAL :
		       bytes < 512 << 10 && power ? NP_RECURSIVE_DOUBLING :
		       NP_RING;
	case NP_GATHER:
	case NP_SCATTER:
		return NP_BINOMIAL;
	case NP_ALLGATHER:
		return power && all < 512 << 10 ? NP_RECURSIVE_DOUBLING :
		       all < 80 << 10 ? NP_DISSEMINATION : NP_RING;
	case NP_ALLTOALL:
		return bytes <= 256 && size >= 8 ? NP_DISSEMINATION :
		       bytes <= 32 << 10 ? NP_LINEAR : NP_RING;
	case NP_REDUCE:
		return bytes <= 2048 ? NP_BINOMIAL : NP_RECURSIVE_DOUBLING;
	case NP_ALLREDUCE:
		return bytes < 10000 ? NP_RECURSIVE_DOUBLING : NP_RING;
	case NP_REDUCE_SCATTER:
		return bytes < 512 << 10 ? NP_RECURSIVE_DOUBLING : NP_RING;
	case NP_SCAN:
	case NP_EXSCAN:
		return NP_RECURSIVE_DOUBLING;
	default:
		return NP_LINEAR;
	}
}

enum np_algorithm np_choices_pick(const struct np_choices *choices,
				  enum np_collective c, uint32_t size,
				  uint64_t bytes)
{
	for (size_t i = choices ? choices->n : 0; i; i--)
		if (choices->own[i - 1].collective == c &&
		    bytes >= choices->own[i - 1].from_bytes)
			return choices->own[i - 1].algorithm;
	return usual(c, size, bytes);
}
