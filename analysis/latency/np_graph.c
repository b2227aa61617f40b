/*
 * Execution graphs: built rank by rank, then matched, and from then on only
 * read.
 *
 * All operations are in one array in the order in which they were added, so
 * that a rank is a range of it, and a pass over the graph is a pass over
 * memory. Their dependencies are in a second array, in the same order. Both
 * name operations by numbers of 32 bits instead of pointers: graphs of real
 * programs have hundreds of millions of operations, so memory limits them.
 */
#include "np_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_graph_impl.h"
#include "np_large.h"

/*
 * Matching of sends and receives.
 *
 * Receivers are processed one after the other. The sends to a receiver are
 * found by a counting sort over receivers and wait in one queue per channel
 * (sender, tag, context). While a send waits, its member peer links to the next
 * send of its queue.
 *
 * For receives from any rank or with any tag, the channels that such a receive
 * may take from form a class: one sender with any tag, one tag from any sender,
 * or everything. A class is a heap of its channels, ordered by the position of
 * the next send of the channel among its sender's operations. When a receive
 * outside the class takes from a channel, the channel's key becomes outdated.
 * The heap corrects it only when the channel reaches its top, which is
 * sufficient because keys only grow.
 */

#define KINDS 3 /* number of classes that a channel belongs to */

/* The queue of one sender, tag and context, or a class of such queues. */
struct channel {
	uint32_t peer, tag;
	uint32_t context : 31, used : 1;
	uint32_t head, tail; /* first and last send of the queue */
	uint32_t surplus;    /* sends that no receive without NP_ANY needs */
	uint32_t root;	     /* for a class: root of the heap of its channels */
};

struct item { /* a channel in one class: a node of a skew heap */
	uint32_t key, left, right;
};

struct match {
	struct np_graph *g;
	uint32_t *send;		 /* all sends, sorted by receiver */
	uint32_t *end_of;	 /* by receiver: index after its last send */
	struct channel *channel; /* hash table */
	size_t size, n_channels;
	struct item *item; /* KINDS for each slot of the table; or NULL */
	uint32_t rank;	   /* current receiver */
	size_t n_unmatched;
	/* first unmatched operation and its receiver */
	uint32_t first_unmatched, receiver;
};

/* Hash of a channel. */
static size_t hash(uint32_t peer, uint32_t tag, uint32_t context)
{
	uint64_t h = peer * 0x9e3779b97f4a7c15u;

	h = (h ^ tag ^ (uint64_t)context << 40) * 0xd6e8feb86659fd93u;
	return (size_t)(h >> 32);
}

/*
 * Finds the slot of a channel, or the free slot where it belongs. There is
 * always a free one, because the table is at most half full.
 */
static struct channel *find_channel(const struct match *m, uint32_t peer,
				    uint32_t tag, uint32_t context)
{
	size_t at = hash(peer, tag, context) & (m->size - 1);

	for (;; at = (at + 1) & (m->size - 1)) {
		struct channel *c = &m->channel[at];

		if (!c->used ||
		    (c->peer == peer && c->tag == tag && c->context == context))
			return c;
	}
}

/* Makes room for n channels. Existing ones may move. */
static int reserve_channels(struct match *m, size_t n)
{
	struct match more = { .size = 16 };

	if (2 * n <= m->size)
		return 0;
	while (more.size < 2 * n)
		more.size *= 2;
	more.channel = calloc(more.size, sizeof(*more.channel));
	if (!more.channel)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		const struct channel *c = &m->channel[i];

		if (c->used)
			*find_channel(&more, c->peer, c->tag, c->context) = *c;
	}
	free(m->channel);
	m->channel = more.channel;
	m->size = more.size;
	return 0;
}

/* Finds or makes a channel. The caller has made room for it. */
static struct channel *make_channel(struct match *m, uint32_t peer,
				    uint32_t tag, uint32_t context)
{
	struct channel *c = find_channel(m, peer, tag, context);

	if (!c->used) {
		*c = (struct channel){
			.peer = peer,
			.tag = tag,
			.context = context,
			.used = 1,
			.head = NP_GRAPH_NONE,
			.tail = NP_GRAPH_NONE,
			.root = NP_GRAPH_NONE,
		};
		m->n_channels++;
	}
	return c;
}

/* Matches the first send of a non-empty channel with recv. */
static void match_first(struct match *m, struct channel *c, uint32_t recv)
{
	struct np_graph_node *node = m->g->node;
	uint32_t send = c->head;

	c->head = node[send].peer;
	node[send].peer = recv;
	node[recv].peer = send;
}

/* Counts an operation without a match, and remembers the first. */
static void add_unmatched(struct match *m, uint32_t node)
{
	if (!m->n_unmatched++ || node < m->first_unmatched) {
		m->first_unmatched = node;
		m->receiver = m->rank;
	}
}

/* Whether a receive has a wildcard. */
static bool is_any(const struct np_graph *g, uint32_t recv)
{
	return g->node[recv].peer == NP_ANY || g->label[recv].tag == NP_ANY;
}

/* The channel of a receive, or its class if it has a wildcard. */
static struct channel *channel_of(const struct match *m, uint32_t recv)
{
	return find_channel(m, m->g->node[recv].peer, m->g->label[recv].tag,
			    np_graph_context(m->g, recv));
}

/* Appends a send to the queue of its channel. */
static int enqueue(struct match *m, uint32_t send, uint32_t from)
{
	struct np_graph_node *node = m->g->node;
	struct channel *c;

	if (reserve_channels(m, m->n_channels + 1))
		return -ENOMEM;
	c = make_channel(m, from, m->g->label[send].tag,
			 np_graph_context(m->g, send));
	node[send].peer = NP_GRAPH_NONE;
	if (c->head == NP_GRAPH_NONE)
		c->head = send;
	else
		node[c->tail].peer = send;
	c->tail = send;
	c->surplus++;
	return 0;
}

/* Position of the next send of a channel among its sender's operations. */
static uint32_t key_of(const struct match *m, const struct channel *c)
{
	return c->head - np_graph_part_of(m->g, c->head)->first;
}

/* By position of the send, then by sender and tag. */
static bool before(const struct match *m, uint32_t a, uint32_t b)
{
	const struct channel *x = &m->channel[a / KINDS];
	const struct channel *y = &m->channel[b / KINDS];

	if (m->item[a].key != m->item[b].key)
		return m->item[a].key < m->item[b].key;
	return x->peer != y->peer ? x->peer < y->peer : x->tag < y->tag;
}

/* Merges two skew heaps: amortised logarithmic time, no recursion. */
static uint32_t merge(struct match *m, uint32_t a, uint32_t b)
{
	uint32_t root = NP_GRAPH_NONE, *at = &root;

	while (a != NP_GRAPH_NONE && b != NP_GRAPH_NONE) {
		uint32_t rest;

		if (before(m, b, a)) {
			uint32_t t = a;

			a = b;
			b = t;
		}
		*at = a;
		rest = m->item[a].right;
		m->item[a].right = m->item[a].left;
		at = &m->item[a].left;
		a = rest;
	}
	*at = a == NP_GRAPH_NONE ? b : a;
	return root;
}

/* Adds a channel to the heap of a class. */
static void add(struct match *m, struct channel *class, uint32_t item)
{
	m->item[item].left = m->item[item].right = NP_GRAPH_NONE;
	class->root = merge(m, class->root, item);
}

/*
 * Fills the class heaps. Classes are in the table too; only channels have
 * sends.
 */
static int fill_classes(struct match *m)
{
	if (reserve_channels(m, (KINDS + 1) * m->n_channels))
		return -ENOMEM;
	m->item = malloc(KINDS * m->size * sizeof(*m->item));
	if (!m->item)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		const struct channel *c = &m->channel[i];

		for (unsigned kind = 0; c->surplus && kind < KINDS; kind++) {
			uint32_t item = (uint32_t)(KINDS * i + kind);

			m->item[item].key = key_of(m, c);
			add(m,
			    make_channel(m, kind & 1 ? c->peer : NP_ANY,
					 kind & 2 ? c->tag : NP_ANY,
					 c->context),
			    item);
		}
	}
	return 0;
}

/*
 * Keeps the sends that receives without NP_ANY need from all other receives.
 * MPI would let a wildcard take any of them, and the program would then wait
 * forever; a graph of a run that ended must be matched so that it can end.
 */
static void reserve_sends(struct match *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct channel *c;

		if (m->g->node[i].kind != NP_OP_RECV || is_any(m->g, i))
			continue;
		c = channel_of(m, i);
		if (c->used && c->surplus)
			c->surplus--;
	}
}

/* The channel of a class with the earliest send, or NULL. */
static struct channel *earliest_channel(struct match *m, struct channel *class)
{
	while (class->used && class->root != NP_GRAPH_NONE) {
		uint32_t top = class->root;
		struct channel *c = &m->channel[top / KINDS];
		struct item *it = &m->item[top];
		bool stale = c->surplus && it->key != key_of(m, c);

		if (c->surplus && !stale)
			return c;
		class->root = merge(m, it->left, it->right);
		if (stale) {
			it->key = key_of(m, c);
			add(m, class, top);
		}
	}
	return NULL;
}

/* Matches the receives among these nodes in their order. */
static void match_receives(struct match *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct channel *c;

		if (m->g->node[i].kind != NP_OP_RECV)
			continue;
		c = channel_of(m, i);
		if (is_any(m->g, i)) {
			c = earliest_channel(m, c);
			if (c)
				c->surplus--;
		} else if (!c->used || c->head == NP_GRAPH_NONE) {
			c = NULL;
		}
		if (c)
			match_first(m, c, i);
		else
			add_unmatched(m, i);
	}
}

/* Counts the sends that no receive took. */
static void add_left_sends(struct match *m)
{
	for (size_t i = 0; i < m->size; i++) {
		const struct channel *c = &m->channel[i];

		for (uint32_t s = c->used ? c->head : NP_GRAPH_NONE;
		     s != NP_GRAPH_NONE; s = m->g->node[s].peer)
			add_unmatched(m, s);
	}
}

/* Matches all sends to m->rank with the receives of that rank. */
static int match_rank(struct match *m)
{
	const struct np_graph *g = m->g;
	size_t n = m->end_of[m->rank] - (m->rank ? m->end_of[m->rank - 1] : 0);
	const uint32_t *send = m->send + m->end_of[m->rank] - n;
	uint32_t part = g->part_of[m->rank], first, end;
	const struct np_graph_part *from = NULL;
	bool any = false;

	first = part ? g->part[part - 1].first : 0;
	end = part ? np_graph_part_end(g, part - 1) : 0;
	for (uint32_t i = first; g->n_any && i < end; i++)
		any |= g->node[i].kind == NP_OP_RECV && is_any(g, i);
	if (end == first && !n)
		return 0;
	free(m->channel); /* start small: the previous table may be large */
	free(m->item);
	m->channel = NULL;
	m->item = NULL;
	m->size = m->n_channels = 0;
	if (reserve_channels(m, 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!from ||
		    send[i] >= np_graph_part_end(g, (size_t)(from - g->part)))
			from = np_graph_part_of(g, send[i]);
		if (enqueue(m, send[i], from->rank))
			return -ENOMEM;
	}
	if (any) {
		reserve_sends(m, first, end);
		if (fill_classes(m))
			return -ENOMEM;
	}
	match_receives(m, first, end);
	add_left_sends(m);
	return 0;
}

/*
 * Sorts sends by receiver; those of one receiver stay in graph order, because
 * messages of one channel must not overtake each other.
 */
static int sort_sends(struct match *m)
{
	struct np_graph *g = m->g;
	uint32_t sum = 0;

	m->end_of = calloc(g->n_ranks, sizeof(*m->end_of));
	m->send = malloc((g->n_messages + 1) * sizeof(*m->send));
	if (!m->end_of || !m->send)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_nodes; i++)
		if (g->node[i].kind == NP_OP_SEND)
			m->end_of[g->node[i].peer]++;
	for (size_t i = 0; i < g->n_ranks; i++) {
		uint32_t n = m->end_of[i];

		m->end_of[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < g->n_nodes; i++)
		if (g->node[i].kind == NP_OP_SEND)
			m->send[m->end_of[g->node[i].peer]++] = (uint32_t)i;
	return 0;
}

/* Error message about the first unmatched operation. */
static int unmatched_error(struct match *m, struct np_err *err)
{
	struct np_graph_node *n = &m->g->node[m->first_unmatched];
	char buf[NP_ERR_LEN];

	if (n->kind == NP_OP_SEND)
		n->peer = m->receiver;
	np_graph_describe(m->g, m->first_unmatched, buf, sizeof(buf));
	if (m->n_unmatched == 1)
		return np_errf(err, -EINVAL, "%s has no matching %s", buf,
			       n->kind == NP_OP_SEND ? "receive" : "send");
	return np_errf(err, -EINVAL,
		       "%s has no matching %s; %zu more such operations", buf,
		       n->kind == NP_OP_SEND ? "receive" : "send",
		       m->n_unmatched - 1);
}

/* Matches all sends and receives. */
static int np_graph_match(struct np_graph *g, struct np_err *err)
{
	struct match m = { .g = g };
	int rc = sort_sends(&m);

	for (; !rc && m.rank < g->n_ranks; m.rank++)
		rc = match_rank(&m);
	free(m.end_of);
	free(m.send);
	free(m.channel);
	free(m.item);
	if (rc)
		return np_errf(err, rc, "%s: no memory to match %zu messages",
			       g->name, g->n_messages);
	return m.n_unmatched ? unmatched_error(&m, err) : 0;
}

static int no_memory(const struct np_graph *g, struct np_err *err)
{
	return np_errf(err, -ENOMEM,
		       "%s: no memory for a graph of more than %zu operations",
		       g->name, g->n_nodes);
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
	free(g->label);
	free(g->big);
	free(g->dep);
	free(g->pending);
	np_index_free(&g->tags);
	free(g->name);
	free(g);
}

/* Notes that another operation depends on this one. */
static void add_use(struct np_graph_node *n, enum np_dep_kind kind)
{
	if (kind == NP_IREQUIRES)
		n->irequired = 1;
	else
		n->required = n->required ? 2 : 1;
}

/*
 * Appends the dependencies of the current rank to those of earlier ranks. They
 * were added in any order; a counting sort brings those of one operation
 * together, in linear time.
 */
static int flush_dependencies(struct np_graph *g, struct np_err *err)
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
	if (np_large_reserve(&g->dep, &g->max_deps, g->n_deps + g->n_pending,
			     sizeof(*g->dep)))
		return no_memory(g, err);
	for (size_t i = 0; i < n; i++)
		node[i].first = 0;
	for (size_t i = 0; i < g->n_pending; i++)
		node[g->pending[i] >> 32].first++;
	/* end of its dependencies, lowered again below */
	for (size_t i = 0; i < n; i++) {
		at += node[i].first;
		node[i].first = (uint32_t)at;
	}
	for (size_t i = g->n_pending; i--;) {
		uint32_t on = (uint32_t)g->pending[i];

		g->dep[--node[g->pending[i] >> 32].first] =
			on + (uint32_t)(first << 1);
		add_use(&node[on >> 1], (enum np_dep_kind)(on & 1));
	}
	g->n_deps = at;
	g->n_pending = 0;
	return 0;
}

int np_graph_rank(struct np_graph *g, uint32_t rank, const char *file,
		  struct np_err *err)
{
	struct np_graph_part *p;
	int rc = flush_dependencies(g, err);

	if (rc)
		return rc;
	if (rank >= g->n_ranks)
		return np_errf(err, -EINVAL, "%s: rank %u, expected 0 to %u",
			       file ? file : g->name, rank, g->n_ranks - 1);
	if (g->part_of[rank])
		return np_errf(err, -EINVAL, "%s: rank %u appears twice",
			       file ? file : g->name, rank);
	if (np_array_reserve(&g->part, &g->max_parts, g->n_parts + 1,
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

/* Error message for the operation that would be added next. */
static int refuse(const struct np_graph *g, const struct np_graph_op *op,
		  int rc, const char *what, uint64_t value, uint64_t most,
		  struct np_err *err)
{
	const struct np_graph_part *p = &g->part[g->n_parts - 1];

	return np_errf(err, rc,
		       "%s:%u: rank %u: %s %llu, expected at most %llu",
		       p->file ? p->file : g->name, op->line, p->rank, what,
		       (unsigned long long)value, (unsigned long long)most);
}

/*
 * Checks an operation against the limits of a graph. Sums are limited, too, so
 * that a double holds them exactly.
 */
static int check(const struct np_graph *g, const struct np_graph_op *op,
		 struct np_err *err)
{
	uint64_t sum = op->kind == NP_OP_CALC ? g->total_ns : g->total_bytes;

	if (!g->n_parts)
		return np_errf(err, -EINVAL, "%s: an operation without a rank",
			       g->name);
	if (g->n_nodes >= NP_GRAPH_MAX_OPS)
		return refuse(g, op, -ERANGE, "operation number", g->n_nodes,
			      NP_GRAPH_MAX_OPS - 1, err);
	if (op->size > NP_GRAPH_MAX_SIZE)
		return refuse(g, op, -ERANGE,
			      op->kind == NP_OP_CALC ? "a calc of ns" :
						       "a message of bytes",
			      op->size, NP_GRAPH_MAX_SIZE, err);
	if (op->kind != NP_OP_RECV && sum + op->size > NP_GRAPH_MAX_SIZE)
		return refuse(g, op, -ERANGE,
			      op->kind == NP_OP_CALC ?
				      "all calcs so far, ns:" :
				      "all messages so far, bytes:",
			      sum + op->size, NP_GRAPH_MAX_SIZE, err);
	if (op->context >= NP_GRAPH_CONTEXTS)
		return refuse(g, op, -ERANGE, "context", op->context,
			      NP_GRAPH_CONTEXTS - 1, err);
	if ((op->cpu && g->has_contexts) || (op->context && g->has_cpus) ||
	    (op->cpu && op->context))
		return refuse(g, op, -EINVAL,
			      "in a graph with contexts, processor", op->cpu, 0,
			      err);
	if (op->kind != NP_OP_CALC && op->peer >= g->n_ranks &&
	    !(op->kind == NP_OP_RECV && op->peer == NP_ANY))
		return refuse(g, op, -EINVAL,
			      op->kind == NP_OP_SEND ? "a send to rank" :
						       "a receive from rank",
			      op->peer, g->n_ranks - 1, err);
	if (op->kind == NP_OP_SEND && op->tag == NP_ANY)
		return refuse(g, op, -EINVAL, "a send with tag", op->tag,
			      NP_ANY - 1, err);
	return 0;
}

int np_graph_add(struct np_graph *g, const struct np_graph_op *op,
		 uint32_t *index, struct np_err *err)
{
	bool big = op->size > UINT32_MAX, message = op->kind != NP_OP_CALC;
	int rc = check(g, op, err);

	if (rc)
		return rc;
	if ((g->n_nodes == g->max_nodes &&
	     np_large_reserve(&g->node, &g->max_nodes, g->n_nodes + 1,
			      sizeof(*g->node))) ||
	    (g->n_nodes == g->max_labels &&
	     np_large_reserve(&g->label, &g->max_labels, g->n_nodes + 1,
			      sizeof(*g->label))) ||
	    (big && np_array_reserve(&g->big, &g->max_big, g->n_big + 1,
				     sizeof(*g->big))))
		return no_memory(g, err);
	g->node[g->n_nodes] = (struct np_graph_node){
		.size = (uint32_t)(big ? g->n_big : op->size),
		.big = big,
		.peer = message ? op->peer : NP_GRAPH_NONE,
		.kind = op->kind,
		.nic = op->nic,
		.any_peer = message && op->peer == NP_ANY,
		.where = (uint16_t)(op->cpu ? op->cpu : op->context),
	};
	g->label[g->n_nodes] =
		(struct np_graph_label){ message ? op->tag : 0, op->line };
	g->has_cpus |= op->cpu != 0;
	g->has_contexts |= op->context != 0;
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

/*
 * Files have tags of 64 bits, operations of a graph only of 32. A large tag is
 * replaced by a number. There are fewer numbers than operations, so none of
 * them equals NP_ANY.
 */
int np_graph_tag(struct np_graph *g, uint64_t of_file, uint32_t *tag,
		 struct np_err *err)
{
	uint32_t number = 0;

	*tag = (uint32_t)of_file;
	if (of_file < NP_GRAPH_LARGE_TAG)
		return 0;
	if (g->n_nodes < NP_GRAPH_MAX_OPS)
		number = np_index_add(&g->tags, &of_file, sizeof(of_file));
	if (number == NP_NO_INDEX)
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
		return np_errf(
			err, -EINVAL,
			"%s: operation %u depends on %u, expected two of %zu",
			g->name, x, y, n);
	if (x == y)
		return np_errf(err, -EINVAL, "%s depends on itself",
			       np_graph_describe(g, (uint32_t)first + x, buf,
						 sizeof(buf)));
	if (g->n_pending == g->max_pending &&
	    np_array_reserve(&g->pending, &g->max_pending, g->n_pending + 1,
			     sizeof(*g->pending)))
		return no_memory(g, err);
	g->pending[g->n_pending++] = (uint64_t)x << 32 | (uint64_t)y << 1 |
				     kind;
	return 0;
}

int np_graph_finish(struct np_graph *g, struct np_err *err)
{
	int rc = flush_dependencies(g, err);

	if (rc)
		return rc;
	if (np_large_reserve(&g->node, &g->max_nodes, g->n_nodes + 1,
			     sizeof(*g->node)))
		return no_memory(g, err);
	/* ends the dependencies of the last one, see np_graph_deps_end() */
	g->node[g->n_nodes] =
		(struct np_graph_node){ .first = (uint32_t)g->n_deps };
	free(g->pending);
	g->pending = NULL;
	g->max_pending = 0;
	rc = np_graph_match(g, err);
	g->matched = !rc;
	return rc;
}

/* ---- Queries ---- */

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

/* The peer of an operation as it was added, also after matching. */
static uint32_t peer_of(const struct np_graph *g, const struct np_graph_node *n)
{
	if (n->any_peer)
		return NP_ANY;
	return g->matched && n->kind != NP_OP_CALC ?
		       np_graph_part_of(g, n->peer)->rank :
		       n->peer;
}

/* Converts a node back to the form in which it was added. */
static void op_of(const struct np_graph *g, uint32_t node,
		  struct np_graph_op *out)
{
	const struct np_graph_node *n = &g->node[node];

	*out = (struct np_graph_op){
		.kind = (enum np_op_kind)n->kind,
		.size = np_graph_size(g, node),
		.peer = peer_of(g, n),
		.tag = g->label[node].tag,
		.context = np_graph_context(g, node),
		.cpu = np_graph_cpu(g, node),
		.nic = n->nic,
		.line = g->label[node].line,
	};
}

void np_graph_op(const struct np_graph *g, uint32_t rank, uint32_t i,
		 struct np_graph_op *out)
{
	op_of(g, g->part[g->part_of[rank] - 1].first + i, out);
}

uint64_t np_graph_file_tag(const struct np_graph *g, uint32_t tag)
{
	size_t number = tag - (size_t)NP_GRAPH_LARGE_TAG;
	uint64_t of_file = tag;

	if (tag >= NP_GRAPH_LARGE_TAG && number < g->tags.n)
		memcpy(&of_file, g->tags.bytes + sizeof(of_file) * number,
		       sizeof(of_file));
	return of_file;
}

bool np_graph_dep(const struct np_graph *g, uint32_t rank, uint32_t i, size_t n,
		  uint32_t *y, enum np_dep_kind *kind)
{
	uint32_t first = g->part[g->part_of[rank] - 1].first;
	size_t at = g->node[first + i].first + n;

	if (at >= np_graph_deps_end(g, first + i))
		return false;
	*y = (g->dep[at] >> 1) - first;
	*kind = (enum np_dep_kind)(g->dep[at] & 1);
	return true;
}

void np_graph_peer(const struct np_graph *g, uint32_t rank, uint32_t i,
		   uint32_t *peer_rank, uint32_t *peer_i)
{
	uint32_t met = g->node[g->part[g->part_of[rank] - 1].first + i].peer;
	const struct np_graph_part *p = np_graph_part_of(g, met);

	*peer_rank = p->rank;
	*peer_i = met - p->first;
}

size_t np_graph_short_receives(const struct np_graph *g, uint32_t *first)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (g->node[i].kind == NP_OP_RECV &&
		    np_graph_size(g, i) < np_graph_size(g, g->node[i].peer) &&
		    !n++)
			*first = i;
	return n;
}

/* A rank or tag as text; it may be "any". */
static const char *rank_or_tag(bool any, uint64_t n, char buf[24])
{
	if (any)
		return "any";
	snprintf(buf, 24, "%llu", (unsigned long long)n);
	return buf;
}

const char *np_graph_describe(const struct np_graph *g, uint32_t node,
			      char *buf, size_t len)
{
	const struct np_graph_part *p = np_graph_part_of(g, node);
	const char *name = p->file ? p->file : g->name;
	size_t cut =
		strlen(name) > NAME_MAX_SAID ? strlen(name) - NAME_MAX_SAID : 0;
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
			 "%s of %llu byte%s %s %s with tag %s",
			 op.kind == NP_OP_SEND ? "send" : "receive",
			 (unsigned long long)op.size, op.size == 1 ? "" : "s",
			 op.kind == NP_OP_SEND ? "to" : "from",
			 rank_or_tag(op.peer == NP_ANY, op.peer, peer),
			 rank_or_tag(op.tag == NP_ANY,
				     np_graph_file_tag(g, op.tag), tag));
	return buf;
}
