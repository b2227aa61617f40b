/*
 * GOAL binary, as txt2bin of LogGOPSim writes it; all little endian, packed.
 *
 *	u64 4223; then, and from here offsets are counted:
 *	u32 ranks; u8 processors; u8 adapters; ranks * { u64 start, end }
 *	of each rank: u32 n; u32 roots; roots * u32; n * node; appendix of u32
 *	node: u32 waits for so many; u8 1 send, 2 receive, 3 calc; u32 peer;
 *	u64 size; u32 tag; u8 processor, adapter; u32 n, first: in the
 *	appendix, those that wait for its end; u32 n, first: for its start
 *
 * What an operation waits for is told by who is waited for alone: the counts
 * and the roots follow from that and are not used.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_goal.h"

#define COOKIE 4223
#define HEAD 6
#define NODE 39
#define STEP ((size_t)1 << 20)

struct reader {
	FILE *f;
	const char *name; /* of the file */
	uint64_t at;	  /* bytes read behind the cookie */
	struct np_graph *g;
	uint64_t *ends; /* of ranks: start, end */
	char *block;	/* one rank */
	size_t room;
	uint32_t n_ranks, rank;
	struct np_err *err;
};

static uint32_t u32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t u64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static int get(struct reader *r, char *to, size_t n)
{
	size_t got = fread(to, 1, n, r->f);

	r->at += got;
	return got == n ? 0 : np_errf(r->err, -EINVAL, "%s: the file ends, "
				      "expected %zu bytes more", r->name,
				      n - got);
}

static int skip_to(struct reader *r, uint64_t at)
{
	for (; r->at < at; r->at++)
		if (getc_unlocked(r->f) == EOF)
			return np_errf(r->err, -EINVAL, "%s: the file ends, "
				       "expected %llu bytes more", r->name,
				       (unsigned long long)(at - r->at));
	return 0;
}

/* As much memory as there is file, and not as a damaged file promises. */
static int get_block(struct reader *r, char **block, size_t *room, uint64_t n)
{
	for (uint64_t at = 0; at < n;) {
		size_t some = n - at < STEP ? (size_t)(n - at) : STEP;
		int rc;

		if (np_array_room(block, room, at + some, 1))
			return np_errf(r->err, -ENOMEM, "%s: no memory to read",
				       r->name);
		rc = get(r, *block + at, some);
		if (rc)
			return rc;
		at += some;
	}
	return 0;
}

static int damaged(struct reader *r, const char *what, uint64_t value,
		   uint64_t most)
{
	return np_errf(r->err, -EINVAL, "%s: rank %u: %s %llu, expected at "
		       "most %llu", r->name, r->rank, what,
		       (unsigned long long)value, (unsigned long long)most);
}

static int add(struct reader *r, const char *p, uint32_t i)
{
	struct np_graph_op op = {
		.peer = u32(p + 5), .size = u64(p + 9), .tag = u32(p + 17),
		.cpu = (uint8_t)p[21], .nic = (uint8_t)p[22], .line = i + 1,
	};

	if (p[4] < 1 || p[4] > 3)
		return np_errf(r->err, -EINVAL, "%s: rank %u: operation %u of "
			       "type %d, expected 1 to 3", r->name,
			       r->rank, i, p[4]);
	op.kind = p[4] == 1 ? NP_OP_SEND : p[4] == 2 ? NP_OP_RECV : NP_OP_CALC;
	if (op.kind != NP_OP_CALC && op.tag != NP_ANY &&
	    np_graph_tag(r->g, op.tag, &op.tag, r->err))
		return -ENOMEM;
	return np_graph_add(r->g, &op, NULL, r->err);
}

/* Those that wait for operation i: n of the appendix from first on. */
static int depend(struct reader *r, const char *appendix, uint64_t size,
		  const char *p, uint32_t i, enum np_dep_kind kind)
{
	uint32_t n = u32(p), first = u32(p + 4);

	if (n && (uint64_t)first + n > size)
		return damaged(r, "an appendix up to", (uint64_t)first + n,
			       size);
	for (uint32_t k = 0; k < n; k++) {
		int rc = np_graph_depend(r->g, u32(appendix + 4 *
						   ((size_t)first + k)),
					 i, kind, r->err);

		if (rc)
			return rc;
	}
	return 0;
}

/*
 * All counts together may not be more than the appendix: else a small file
 * would make a large graph.
 */
static int read_rank(struct reader *r, uint64_t size)
{
	uint32_t n, roots;
	uint64_t behind, total = 0;
	const char *node, *appendix;
	int rc = size < 8 ? damaged(r, "a missing part of bytes", 8 - size, 0) :
			    get_block(r, &r->block, &r->room, size);

	if (rc)
		return rc;
	n = u32(r->block);
	roots = u32(r->block + 4);
	behind = 8 + 4 * (uint64_t)roots + NODE * (uint64_t)n;
	if (behind > size)
		return damaged(r, "operations up to byte", behind, size);
	node = r->block + 8 + 4 * (size_t)roots;
	appendix = r->block + behind;
	for (uint32_t i = 0; !rc && i < n; i++) {
		const char *p = node + NODE * (size_t)i;

		total += (uint64_t)u32(p + 23) + u32(p + 31);
		rc = add(r, p, i);
	}
	if (!rc && total > (size - behind) / 4)
		rc = damaged(r, "dependencies of number", total,
			     (size - behind) / 4);
	for (uint32_t i = 0; !rc && i < n; i++) {
		const char *p = node + NODE * (size_t)i;

		rc = depend(r, appendix, (size - behind) / 4, p + 23, i,
			    NP_REQUIRES);
		if (!rc)
			rc = depend(r, appendix, (size - behind) / 4, p + 31,
				    i, NP_IREQUIRES);
	}
	return rc;
}

static int all(struct reader *r)
{
	char head[HEAD];
	size_t room = 0;
	int rc = get(r, head, sizeof(head));

	if (rc)
		return rc;
	r->n_ranks = u32(head);
	rc = np_graph_new(r->name, r->n_ranks, &r->g, r->err);
	if (!rc)
		rc = get_block(r, (char **)&r->ends, &room,
			       16 * (uint64_t)r->n_ranks);
	for (; !rc && r->rank < r->n_ranks; r->rank++) {
		uint64_t start = le64toh(r->ends[2 * (size_t)r->rank]);
		uint64_t end = le64toh(r->ends[2 * (size_t)r->rank + 1]);

		if (start < r->at || end < start)
			return np_errf(r->err, -EINVAL, "%s: rank %u from "
				       "byte %llu to %llu, expected what "
				       "follows %llu", r->name, r->rank,
				       (unsigned long long)start,
				       (unsigned long long)end,
				       (unsigned long long)r->at);
		rc = skip_to(r, start);
		if (!rc)
			rc = np_graph_rank(r->g, r->rank, NULL, r->err);
		if (!rc)
			rc = read_rank(r, end - start);
	}
	return rc ? rc : np_graph_finish(r->g, r->err);
}

int np_goal_read_binary(FILE *f, const char *name, struct np_graph **g,
			struct np_err *err)
{
	struct reader r = { .f = f, .name = name, .err = err };
	uint64_t cookie = 0;
	int rc;

	/* What is not binary is text, which does not begin so. */
	if (fread(&cookie, 1, sizeof(cookie), f) < sizeof(cookie) ||
	    le64toh(cookie) != COOKIE)
		return np_errf(err, -EINVAL, "%s:1: \"%c\", expected "
			       "\"num_ranks\"", name, NP_GOAL_BINARY);
	rc = all(&r);
	free(r.ends);
	free(r.block);
	*g = r.g;
	return rc;
}
