/*
 * Makes an execution graph from traces, rank by rank. The operations that the
 * next one has to wait for are in build.now. Traces that end early are read
 * three times: to notice it, to count the messages, and to build the graph of
 * those with both ends.
 */
#include "np_trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_trace_groups.h"
#include "np_trace_read.h"

#define EXCLUDED UINT32_MAX /* an operation that is excluded */
/* From here on, ranks probably did not start together. */
#define APART_NS (UINT64_C(3600) * 1000000000)

/* The operations that an operation has to wait for. */
struct dependencies {
	struct dep {
		uint32_t op;
		enum np_dep_kind kind;
	} * dep;
	size_t n, room;
};

/* Both ends of a message. */
struct ends {
	uint32_t from, to, tag, context;
};

struct build {
	const struct np_trace_files *files;
	const struct np_trace_options *o;
	struct np_err *err;
	int rc;		    /* the first error */
	struct np_graph *g; /* NULL: messages are only counted */
	struct np_trace_groups groups;
	uint64_t start_ns; /* when rank 0 began */
	bool is_apart;	   /* some rank began long before or after it */
	bool is_cut;	   /* the trace of some rank ends early */
	bool counted;	   /* messages were counted before */

	/*
	 * For each (sender, receiver, tag, context): how many sends and
	 * receives there are. The smaller of the two numbers is how many
	 * messages have both ends.
	 */
	struct np_index ends;
	struct {
		uint32_t n[2], taken[2]; /* index 0: receives, 1: sends */
	} * pairs;			 /* by number in ends */
	size_t n_pairs, pairs_room;

	/* Of the current rank: */
	struct np_trace_reader *r;
	uint32_t rank;
	uint64_t calc_ns; /* computation since the last operation */
	struct dependencies now, round, next;
	struct dependencies *request; /* by request: what it consists of */
	size_t request_room;
	struct np_steps steps;
};

static void no_memory(struct build *b)
{
	if (!b->rc)
		b->rc = np_errf(b->err, -ENOMEM, "out of memory");
}

/* Adds an operation to those that others have to wait for. */
static void add_dep(struct build *b, struct dependencies *to, uint32_t op,
		    enum np_dep_kind kind)
{
	if (op != EXCLUDED && !b->rc &&
	    NP_ARRAY_PUSH(to->dep, to->n, to->room, (struct dep){ op, kind }))
		no_memory(b);
}

static void copy_deps(struct build *b, struct dependencies *to,
		      const struct dependencies *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		add_dep(b, to, from->dep[i].op, from->dep[i].kind);
}

/* Adds an operation that waits for all of `after`. */
static void add_op(struct build *b, const struct np_graph_op *op,
		   const struct dependencies *after, uint32_t *index)
{
	if (!b->rc)
		b->rc = np_graph_add(b->g, op, index, b->err);
	for (size_t i = 0; !b->rc && i < after->n; i++)
		b->rc = np_graph_depend(b->g, *index, after->dep[i].op,
					after->dep[i].kind, b->err);
}

/* Adds the computation since the last operation as a calc. */
static void add_calc(struct build *b)
{
	struct np_graph_op op = { .kind = NP_OP_CALC, .size = b->calc_ns };
	uint32_t index;

	if (!b->g || !b->calc_ns)
		return;
	b->calc_ns = 0;
	add_op(b, &op, &b->now, &index);
	b->now.n = 0;
	add_dep(b, &b->now, index, NP_REQUIRES);
}

/* Counts one end of a message. */
static void count_message(struct build *b, const struct ends *ends, bool send)
{
	uint32_t i = np_index_add(&b->ends, ends, sizeof(*ends));

	if (i == NP_NO_INDEX ||
	    np_array_reserve(&b->pairs, &b->pairs_room, b->ends.n,
			     sizeof(*b->pairs))) {
		no_memory(b);
		return;
	}
	if (i == b->n_pairs)
		memset(&b->pairs[b->n_pairs++], 0, sizeof(*b->pairs));
	b->pairs[i].n[send]++;
}

/* Takes one end of a message, as long as there are pairs. */
static bool take_pair(struct build *b, const struct ends *ends, bool send)
{
	uint32_t i = np_index_find(&b->ends, ends, sizeof(*ends)), *n;

	if (i == NP_NO_INDEX)
		return false;
	n = b->pairs[i].n;
	if (b->pairs[i].taken[send] == (n[0] < n[1] ? n[0] : n[1]))
		return false;
	b->pairs[i].taken[send]++;
	return true;
}

/* Whether a message enters the graph. If traces end early, not all do. */
static bool is_included(struct build *b, const struct np_graph_op *op)
{
	bool send = op->kind == NP_OP_SEND;
	const struct ends ends = {
		.from = send ? b->rank : op->peer,
		.to = send ? op->peer : b->rank,
		.tag = op->tag,
		.context = op->context,
	};

	if (!b->g)
		count_message(b, &ends, send);
	return b->g && (!b->counted || take_pair(b, &ends, send));
}

/* Returns the index of the operation, or NOT_THERE. */
static uint32_t add_message(struct build *b, const struct np_graph_op *op,
			    const struct dependencies *after)
{
	uint32_t index = EXCLUDED;

	if (!b->rc && is_included(b, op))
		add_op(b, op, after, &index);
	return index;
}

static uint32_t line_of(const struct np_trace_event *ev)
{
	return ev->line < UINT32_MAX ? (uint32_t)ev->line : 0;
}

/* The graph operation of one direction of an event. */
static struct np_graph_op op_of(const struct build *b,
				const struct np_trace_event *ev, bool send)
{
	const struct np_trace_message *m = send ? &ev->out : &ev->in;
	const struct np_trace_comm *c = np_trace_comm(&b->groups, ev);

	return (struct np_graph_op){
		.kind = send ? NP_OP_SEND : NP_OP_RECV,
		.size = m->bytes,
		.peer = m->peer == NP_TRACE_ANY ? NP_ANY : c->member[m->peer],
		.tag = m->tag == NP_TRACE_ANY ? NP_ANY : m->tag,
		.context = 2 * c->number,
		.line = line_of(ev),
	};
}

/* NULL if memory is short. */
static struct dependencies *request_of(struct build *b, uint32_t id)
{
	size_t old = b->request_room;

	if (np_array_reserve(&b->request, &b->request_room, id + 1ull,
			     sizeof(*b->request))) {
		no_memory(b);
		return NULL;
	}
	memset(b->request + old, 0,
	       (b->request_room - old) * sizeof(*b->request));
	return &b->request[id];
}

/* Adds one or two simultaneous messages, for which the program waits or not. */
static void add_messages(struct build *b, const struct np_trace_event *ev,
			 bool waits)
{
	enum np_dep_kind kind = waits ? NP_REQUIRES : NP_IREQUIRES;
	struct dependencies *u = waits ? NULL : request_of(b, ev->request);

	add_calc(b);
	if (u)
		u->n = 0;
	b->next.n = 0;
	for (int send = 1; !b->rc && send >= 0; send--) {
		struct np_graph_op op;
		uint32_t index;

		if (!(send ? ev->out.there : ev->in.there))
			continue;
		op = op_of(b, ev, send);
		index = add_message(b, &op, &b->now);
		add_dep(b, &b->next, index, kind);
		if (u)
			add_dep(b, u, index, NP_REQUIRES);
	}
	if (b->next.n)
		copy_deps(b, &b->now, &b->next);
}

/* Makes what follows wait for completed requests. */
static void add_wait(struct build *b, const struct np_trace_event *ev)
{
	if (ev->n_done)
		add_calc(b);
	for (size_t i = 0; i < ev->n_done; i++) {
		struct dependencies *u = request_of(b, ev->done[i]);

		if (!u)
			return;
		for (size_t k = 0; k < u->n; k++)
			add_dep(b, &b->now, u->dep[k].op, NP_REQUIRES);
		u->n = 0;
	}
}

/* Adds the steps of a collective; each round waits for the one before. */
static void add_rounds(struct build *b, const struct np_trace_event *ev,
		       uint32_t tag)
{
	const struct np_trace_comm *c = np_trace_comm(&b->groups, ev);

	b->next.n = 0;
	for (size_t i = 0; !b->rc && i < b->steps.n; i++) {
		const struct np_step *s = &b->steps.step[i];
		struct np_graph_op op = {
			.kind = s->send ? NP_OP_SEND : NP_OP_RECV,
			.size = s->bytes,
			.peer = c->member[s->peer],
			.tag = tag,
			.context = 2 * c->number + 1,
			.line = line_of(ev),
		};

		if (i && s->round != s[-1].round && b->next.n) {
			copy_deps(b, &b->round, &b->next);
			b->next.n = 0;
		}
		add_dep(b, &b->next, add_message(b, &op, &b->round),
			NP_REQUIRES);
	}
	if (b->next.n)
		copy_deps(b, &b->round, &b->next);
}

/* Adds the messages of a collective. */
static void add_collective(struct build *b, const struct np_trace_event *ev)
{
	uint32_t number = np_trace_comm(&b->groups, ev)->number;
	/*
	 * The tag is the number of the collective, which is equal on all ranks.
	 */
	uint32_t tag = b->groups.group[number].n_collectives++ & 0x7fffffff;
	bool waits = ev->request == NP_TRACE_NO_REQUEST;
	struct dependencies *u = waits ? NULL : request_of(b, ev->request);

	if (np_trace_steps(&b->groups, ev, b->o->choices, &b->steps))
		no_memory(b);
	if (u)
		u->n = 0;
	if (b->rc || !b->steps.n)
		return;
	add_calc(b);
	copy_deps(b, &b->round, &b->now);
	add_rounds(b, ev, tag);
	if (waits)
		copy_deps(b, &b->now, &b->round);
	if (u)
		copy_deps(b, u, &b->round);
}

__attribute__((format(printf, 2, 3)))
/* Passes a warning about the current rank to the caller. */
static void
warn(const struct build *b, const char *fmt, ...)
{
	char text[NP_ERR_LEN], line[2 * NP_ERR_LEN];
	va_list ap;

	if (!b->g || b->counted || !b->o->warn) /* already reported */
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "%.200s: rank %u: %s",
		 b->files->path[b->rank], b->rank, text);
	b->o->warn(line, NULL);
}

/* Adds an event to the graph. Only its gap is computation. */
static void add_event(struct build *b, const struct np_trace_event *ev)
{
	b->calc_ns += ev->gap_ns;
	switch (ev->kind) {
	case NP_TRACE_SEND:
	case NP_TRACE_RECV:
	case NP_TRACE_SENDRECV:
		add_messages(b, ev, true);
		break;
	case NP_TRACE_ISEND:
	case NP_TRACE_IRECV:
	case NP_TRACE_ISENDRECV:
		add_messages(b, ev, false);
		break;
	case NP_TRACE_WAIT:
		add_wait(b, ev);
		break;
	case NP_TRACE_COLLECTIVE:
		add_collective(b, ev);
		break;
	case NP_TRACE_COMM:
		b->rc = np_trace_groups_add(&b->groups, ev, b->err);
		break;
	case NP_TRACE_COMM_FREE:
		np_trace_groups_drop(&b->groups, ev);
		break;
	case NP_TRACE_UNSUPPORTED:
		warn(b, "%s is not supported: its messages are missing",
		     ev->name);
		break;
	default:
		break;
	}
}

/* Resets everything that belongs to the previous rank. */
static void reset_rank(struct build *b)
{
	b->calc_ns = b->now.n = 0;
	for (size_t i = 0; i < b->request_room; i++)
		b->request[i].n = 0;
	np_trace_groups_rank(&b->groups);
}

/*
 * Warns of a rank that began long before or after rank 0: its file may be left
 * from another run.
 */
static void check_start(struct build *b)
{
	uint64_t ns = np_trace_start_ns(b->r), first = b->start_ns;
	uint64_t apart = ns > first ? ns - first : first - ns;

	if (!b->rank)
		b->start_ns = ns;
	if (!b->rank || !ns || !first || apart < APART_NS || b->is_apart)
		return;
	b->is_apart = true;
	warn(b, "begins %.1f hours %s rank 0: are these files of one run?",
	     (double)apart / 3600e9, ns > first ? "after" : "before");
}

/* Reads the trace of one rank. */
static int add_rank(struct build *b, uint32_t rank)
{
	const char *path = b->files->path[rank];
	struct np_trace_event ev;
	int rc = np_trace_open(path, rank, b->files->n, &b->r, b->err);

	if (rc)
		return b->rc = rc;
	b->rank = rank;
	reset_rank(b);
	check_start(b);
	if (!np_trace_is_complete(b->r)) {
		b->is_cut = true;
		warn(b, "the trace ends before MPI_Finalize(): messages "
			"without a counterpart are excluded");
	}
	if (b->g)
		b->rc = np_graph_rank(b->g, rank, path, b->err);
	while (!b->rc && (rc = np_trace_next(b->r, &ev)) == 1)
		add_event(b, &ev);
	if (!b->rc)
		b->rc = rc;
	if (!b->rc)
		add_calc(b);
	np_trace_close(b->r);
	return b->rc;
}

/*
 * Builds the graph, of all messages or of those with both ends; or only counts.
 */
static int add_ranks(struct build *b, bool counts)
{
	np_graph_free(b->g);
	b->g = NULL;
	if (!counts)
		b->rc = np_graph_new(b->files->path[0], b->files->n, &b->g,
				     b->err);
	for (uint32_t i = 0; !b->rc && i < b->files->n; i++)
		add_rank(b, i);
	b->counted = counts;
	return b->rc;
}

static void free_build(struct build *b)
{
	for (size_t i = 0; i < b->request_room; i++)
		free(b->request[i].dep);
	free(b->request);
	free(b->now.dep);
	free(b->round.dep);
	free(b->next.dep);
	free(b->pairs);
	np_index_free(&b->ends);
	np_steps_free(&b->steps);
	np_trace_groups_free(&b->groups);
}

int np_trace_graph(const struct np_trace_files *f,
		   const struct np_trace_options *o, struct np_graph **out,
		   struct np_err *err)
{
	struct build b = { .files = f, .o = o, .err = err };

	if (!add_ranks(&b, false) && b.is_cut && !add_ranks(&b, true))
		add_ranks(&b, false);
	if (!b.rc)
		b.rc = np_graph_finish(b.g, err);
	if (b.rc)
		np_graph_free(b.g);
	else
		*out = b.g;
	free_build(&b);
	return b.rc;
}
