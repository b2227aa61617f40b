#include "np_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_graph_impl.h"

static int no_memory(const struct np_graph *g, struct np_err *err)
{
	return np_errf(err, -ENOMEM, "%s: no memory for a graph of more than "
		       "%zu operations", g->name, g->n_nodes);
}

int np_graph_new(const char *name, uint32_t n_ranks, struct np_graph **out,
		 struct np_err *err)
{
	struct np_graph *g;

	if (!n_ranks || n_ranks > NP_GRAPH_MAX_RANKS)
		return np_errf(err, -ERANGE, "%s: %u ranks, expected 1 to %u",
			       name, n_ranks, NP_GRAPH_MAX_RANKS);
	g = calloc(1, sizeof(*g));
	if (g) {
		g->n_ranks = n_ranks;
		g->name = strdup(name);
		g->part_of = calloc(n_ranks, sizeof(*g->part_of));
	}
	if (!g || !g->name || !g->part_of) {
		np_graph_free(g);
		return np_errf(err, -ENOMEM, "%s: no memory for %u ranks", name,
			       n_ranks);
	}
	*out = g;
	return 0;
}

void np_graph_free(struct np_graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n_parts; i++)
		free(g->part[i].file);
	free(g->part);
	free(g->part_of);
	free(g->node);
	free(g->big);
	free(g->dep);
	free(g->pending);
	np_numbers_free(&g->tags);
	free(g->name);
	free(g);
}

/* Dependencies of the last rank get their place behind those before. */
static int end_rank(struct np_graph *g, struct np_err *err)
{
	struct np_graph_node *node;
	size_t first, n, at = g->n_deps;

	if (!g->n_parts)
		return 0;
	first = g->part[g->n_parts - 1].first;
	node = g->node + first;
	n = g->n_nodes - first;
	if (g->n_deps + g->n_pending > NP_GRAPH_MAX_DEPS)
		return np_errf(err, -ERANGE, "%s: more than %u dependencies",
			       g->name, NP_GRAPH_MAX_DEPS);
	if (np_array_room(&g->dep, &g->max_deps, g->n_deps + g->n_pending,
			  sizeof(*g->dep)))
		return no_memory(g, err);
	for (size_t i = 0; i < n; i++)
		node[i].first = 0;
	for (size_t i = 0; i < g->n_pending; i++)
		node[g->pending[i] >> 32].first++;
	for (size_t i = 0; i < n; i++) { /* to where the next one begins */
		at += node[i].first;
		node[i].first = (uint32_t)at;
	}
	for (size_t i = g->n_pending; i--;)
		g->dep[--node[g->pending[i] >> 32].first] =
			(uint32_t)g->pending[i] + (uint32_t)(first << 1);
	g->n_deps = at;
	g->n_pending = 0;
	return 0;
}

int np_graph_rank(struct np_graph *g, uint32_t rank, const char *file,
		  struct np_err *err)
{
	struct np_graph_part *p;
	int rc = end_rank(g, err);

	if (rc)
		return rc;
	if (rank >= g->n_ranks)
		return np_errf(err, -EINVAL, "%s: rank %u, expected 0 to %u",
			       file ? file : g->name, rank, g->n_ranks - 1);
	if (g->part_of[rank])
		return np_errf(err, -EINVAL, "%s: rank %u is there twice",
			       file ? file : g->name, rank);
	if (np_array_room(&g->part, &g->max_parts, g->n_parts + 1,
			  sizeof(*g->part)))
		return no_memory(g, err);
	p = &g->part[g->n_parts];
	*p = (struct np_graph_part){ rank, (uint32_t)g->n_nodes, NULL };
	if (file) {
		p->file = strdup(file);
		if (!p->file)
			return no_memory(g, err);
	}
	g->part_of[rank] = (uint32_t)++g->n_parts;
	return 0;
}

/* "FILE:LINE: rank R" where the next operation would stand. */
static int refuse(const struct np_graph *g, const struct np_graph_op *op, int rc,
		  const char *what, uint64_t value, uint64_t most,
		  struct np_err *err)
{
	const struct np_graph_part *p = &g->part[g->n_parts - 1];

	return np_errf(err, rc, "%s:%u: rank %u: %s %llu, expected at most "
		       "%llu", p->file ? p->file : g->name, op->line, p->rank,
		       what, (unsigned long long)value,
		       (unsigned long long)most);
}

static int check(const struct np_graph *g, const struct np_graph_op *op,
		 struct np_err *err)
{
	uint64_t sum = op->kind == NP_OP_CALC ? g->total_ns : g->total_bytes;

	if (!g->n_parts)
		return np_errf(err, -EINVAL, "%s: an operation of no rank",
			       g->name);
	if (g->n_nodes >= NP_GRAPH_MAX_OPS)
		return refuse(g, op, -ERANGE, "operation number", g->n_nodes,
			      NP_GRAPH_MAX_OPS - 1, err);
	if (op->size > NP_GRAPH_MAX_SIZE)
		return refuse(g, op, -ERANGE, op->kind == NP_OP_CALC ?
			      "a calc of ns" : "a message of bytes", op->size,
			      NP_GRAPH_MAX_SIZE, err);
	if (op->kind != NP_OP_RECV && sum + op->size > NP_GRAPH_MAX_SIZE)
		return refuse(g, op, -ERANGE, op->kind == NP_OP_CALC ?
			      "all calcs so far, ns:" :
			      "all messages so far, bytes:", sum + op->size,
			      NP_GRAPH_MAX_SIZE, err);
	if (op->context >= NP_GRAPH_CONTEXTS)
		return refuse(g, op, -ERANGE, "context", op->context,
			      NP_GRAPH_CONTEXTS - 1, err);
	if (op->kind != NP_OP_CALC && op->peer >= g->n_ranks &&
	    !(op->kind == NP_OP_RECV && op->peer == NP_ANY))
		return refuse(g, op, -EINVAL, op->kind == NP_OP_SEND ?
			      "a send to rank" : "a receive from rank",
			      op->peer, g->n_ranks - 1, err);
	if (op->kind == NP_OP_SEND && op->tag == NP_ANY)
		return refuse(g, op, -EINVAL, "a send with tag", op->tag,
			      NP_ANY - 1, err);
	return 0;
}

int np_graph_add(struct np_graph *g, const struct np_graph_op *op, uint32_t *index,
		 struct np_err *err)
{
	bool big = op->size > UINT32_MAX, message = op->kind != NP_OP_CALC;
	int rc = check(g, op, err);

	if (rc)
		return rc;
	if (np_array_room(&g->node, &g->max_nodes, g->n_nodes + 1,
			  sizeof(*g->node)) ||
	    (big && np_array_room(&g->big, &g->max_big, g->n_big + 1,
				  sizeof(*g->big))))
		return no_memory(g, err);
	g->node[g->n_nodes] = (struct np_graph_node){
		.size = (uint32_t)(big ? g->n_big : op->size), .big = big,
		.peer = message ? op->peer : NP_GRAPH_NONE,
		.tag = message ? op->tag : 0, .line = op->line,
		.kind = op->kind, .cpu = op->cpu, .nic = op->nic,
		.any_peer = message && op->peer == NP_ANY,
		.context = op->context & (NP_GRAPH_CONTEXTS - 1),
	};
	if (big)
		g->big[g->n_big++] = op->size;
	if (op->kind == NP_OP_CALC)
		g->total_ns += op->size;
	if (op->kind == NP_OP_SEND)
		g->total_bytes += op->size;
	g->n_messages += op->kind == NP_OP_SEND;
	if (op->kind == NP_OP_RECV && (op->peer == NP_ANY || op->tag == NP_ANY))
		g->n_any++;
	if (index)
		*index = (uint32_t)g->n_nodes - g->part[g->n_parts - 1].first;
	g->n_nodes++;
	return 0;
}

/* There are fewer numbers than operations: NP_ANY is none of them. */
int np_graph_tag(struct np_graph *g, uint64_t of_file, uint32_t *tag,
		 struct np_err *err)
{
	uint32_t number = 0;

	*tag = (uint32_t)of_file;
	if (of_file < NP_GRAPH_LARGE_TAG)
		return 0;
	if (g->n_nodes < NP_GRAPH_MAX_OPS)
		number = np_numbers_get(&g->tags, &of_file, sizeof(of_file));
	if (number == NP_NO_NUMBER)
		return no_memory(g, err);
	*tag = NP_GRAPH_LARGE_TAG + number;
	return 0;
}

int np_graph_depend(struct np_graph *g, uint32_t x, uint32_t y,
		    enum np_dep_kind kind, struct np_err *err)
{
	size_t first = g->n_parts ? g->part[g->n_parts - 1].first : 0;
	size_t n = g->n_nodes - first;
	char buf[NP_ERR_LEN];

	if (x >= n || y >= n)
		return np_errf(err, -EINVAL, "%s: operation %u depends on %u, "
			       "expected two of %zu", g->name, x, y, n);
	if (x == y)
		return np_errf(err, -EINVAL, "%s depends on itself",
			       np_graph_say(g, (uint32_t)first + x, buf,
					    sizeof(buf)));
	if (np_array_room(&g->pending, &g->max_pending, g->n_pending + 1,
			  sizeof(*g->pending)))
		return no_memory(g, err);
	g->pending[g->n_pending++] = (uint64_t)x << 32 | (uint64_t)y << 1 |
				     kind;
	return 0;
}

int np_graph_finish(struct np_graph *g, struct np_err *err)
{
	int rc = end_rank(g, err);

	if (rc)
		return rc;
	free(g->pending);
	g->pending = NULL;
	g->max_pending = 0;
	rc = np_graph_match(g, err);
	g->matched = !rc;
	return rc;
}
