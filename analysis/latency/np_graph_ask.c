/* ---- Queries ---- */
#include <stdio.h>
#include <string.h>

#include "np_graph_impl.h"

#define NAME_MAX_SAID 96 /* bytes shown of a file name, from its end */

uint32_t np_graph_ranks(const struct np_graph *g)
{
	return g->n_ranks;
}

size_t np_graph_ops(const struct np_graph *g)
{
	return g->n_nodes;
}

size_t np_graph_messages(const struct np_graph *g)
{
	return g->n_messages;
}

uint32_t np_graph_rank_ops(const struct np_graph *g, uint32_t rank)
{
	uint32_t p = g->part_of[rank];

	return p ? np_graph_part_end(g, p - 1) - g->part[p - 1].first : 0;
}

const struct np_graph_part *np_graph_part_of(const struct np_graph *g,
					     uint32_t node)
{
	size_t low = 0, high = g->n_parts;

	/* binary search for the last part that begins at or before node */
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (g->part[mid].first <= node)
			low = mid;
		else
			high = mid;
	}
	return &g->part[low];
}

static uint32_t peer_of(const struct np_graph *g,
			const struct np_graph_node *n)
{
	if (n->any_peer)
		return NP_ANY;
	return g->matched && n->kind != NP_OP_CALC ?
		       np_graph_part_of(g, n->peer)->rank : n->peer;
}

static void op_of(const struct np_graph *g, uint32_t node, struct np_graph_op *out)
{
	const struct np_graph_node *n = &g->node[node];

	*out = (struct np_graph_op){
		.kind = (enum np_op_kind)n->kind,
		.size = np_graph_size(g, node), .peer = peer_of(g, n),
		.tag = n->tag, .context = n->context, .cpu = n->cpu,
		.nic = n->nic, .line = n->line,
	};
}

void np_graph_op(const struct np_graph *g, uint32_t rank, uint32_t i,
		 struct np_graph_op *out)
{
	op_of(g, g->part[g->part_of[rank] - 1].first + i, out);
}

uint64_t np_graph_tag_of_file(const struct np_graph *g, uint32_t tag)
{
	size_t rank_or_tag = tag - (size_t)NP_GRAPH_LARGE_TAG;
	uint64_t of_file = tag;

	if (tag >= NP_GRAPH_LARGE_TAG && rank_or_tag < g->tags.n)
		memcpy(&of_file, g->tags.bytes + sizeof(of_file) * rank_or_tag,
		       sizeof(of_file));
	return of_file;
}

bool np_graph_dep(const struct np_graph *g, uint32_t rank, uint32_t i,
		  size_t n, uint32_t *y, enum np_dep_kind *kind)
{
	uint32_t first = g->part[g->part_of[rank] - 1].first;
	size_t at = g->node[first + i].first + n;

	if (at >= np_graph_deps_end(g, first + i))
		return false;
	*y = (g->dep[at] >> 1) - first;
	*kind = (enum np_dep_kind)(g->dep[at] & 1);
	return true;
}

void np_graph_met(const struct np_graph *g, uint32_t rank, uint32_t i,
		  uint32_t *peer_rank, uint32_t *peer_i)
{
	uint32_t met = g->node[g->part[g->part_of[rank] - 1].first + i].peer;
	const struct np_graph_part *p = np_graph_part_of(g, met);

	*peer_rank = p->rank;
	*peer_i = met - p->first;
}

/* A rank or tag as text; it may be "any". */
static const char *rank_or_tag(bool any, uint64_t n, char buf[24])
{
	if (any)
		return "any";
	snprintf(buf, 24, "%llu", (unsigned long long)n);
	return buf;
}

const char *np_graph_say(const struct np_graph *g, uint32_t node, char *buf,
			 size_t len)
{
	const struct np_graph_part *p = np_graph_part_of(g, node);
	const char *name = p->file ? p->file : g->name;
	size_t cut = strlen(name) > NAME_MAX_SAID ?
			     strlen(name) - NAME_MAX_SAID : 0;
	char peer[24], tag[24];
	struct np_graph_op op;
	int n;

	op_of(g, node, &op);
	n = snprintf(buf, len, "%s%s:%u: rank %u, ", cut ? "..." : "",
		     name + cut, op.line, p->rank);
	if (n < 0 || (size_t)n >= len)
		return buf;
	if (op.kind == NP_OP_CALC)
		snprintf(buf + n, len - (size_t)n, "calc of %llu ns",
			 (unsigned long long)op.size);
	else
		snprintf(buf + n, len - (size_t)n,
			 "%s of %llu bytes %s %s with tag %s",
			 op.kind == NP_OP_SEND ? "send" : "receive",
			 (unsigned long long)op.size,
			 op.kind == NP_OP_SEND ? "to" : "from",
			 rank_or_tag(op.peer == NP_ANY, op.peer, peer),
			 rank_or_tag(op.tag == NP_ANY,
				np_graph_tag_of_file(g, op.tag), tag));
	return buf;
}
