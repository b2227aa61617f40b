#include "np_trace_graph.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_trace_common.h"
#include "np_trace_groups.h"
#include "np_trace_read.h"

#define NOT_THERE UINT32_MAX /* an operation that is left out */

/* What an operation has to wait for. */
struct before {
	struct dep {
		uint32_t op;
		enum np_dep_kind kind;
	} *dep;
	size_t n, room;
};

/* What is under way for a request. */
struct under_way {
	uint32_t *op;
	size_t n, room;
};

/* A communicator of the present rank by its number there. */
struct comm {
	struct np_trace_group group;
	uint32_t rank;
};

struct build {
	const struct np_trace_files *files;
	const struct np_trace_options *o;
	struct np_graph *g; /* NULL: messages are only counted */
	struct np_trace_groups *groups;
	struct np_trace_common common;
	bool is_cut;  /* a trace ends early */
	bool counted; /* and messages have been counted */

	/* of the present rank */
	struct np_trace_reader *r;
	uint32_t rank;
	uint64_t calc_ns; /* since the last operation */
	struct before now, round, next;
	struct under_way *request;
	size_t request_room;
	struct comm *comm;
	size_t comm_room;
	uint32_t *n_collectives; /* of each group: so many there were */
	size_t group_room, n_groups;
	struct np_steps steps;
};

static int no_memory(struct np_err *err)
{
	return np_errf(err, -ENOMEM, "out of memory");
}

static int add_dep(struct before *b, uint32_t op, enum np_dep_kind kind)
{
	if (op == NOT_THERE)
		return 0;
	if (np_array_room(&b->dep, &b->room, b->n + 1, sizeof(*b->dep)))
		return -ENOMEM;
	b->dep[b->n++] = (struct dep){ op, kind };
	return 0;
}

static int copy_deps(struct before *to, const struct before *from)
{
	to->n = 0;
	if (np_array_room(&to->dep, &to->room, from->n, sizeof(*to->dep)))
		return -ENOMEM;
	if (from->n)
		memcpy(to->dep, from->dep, from->n * sizeof(*to->dep));
	to->n = from->n;
	return 0;
}

static int add_op(struct build *b, const struct np_graph_op *op,
		  const struct before *after, uint32_t *index,
		  struct np_err *err)
{
	int rc = np_graph_add(b->g, op, index, err);

	for (size_t i = 0; !rc && i < after->n; i++)
		rc = np_graph_depend(b->g, *index, after->dep[i].op,
				     after->dep[i].kind, err);
	return rc;
}

/* What was computed since the last operation becomes one. */
static int add_calc(struct build *b, struct np_err *err)
{
	struct np_graph_op op = { .kind = NP_OP_CALC, .size = b->calc_ns };
	uint32_t index;
	int rc;

	if (!b->g || !b->calc_ns)
		return 0;
	b->calc_ns = 0;
	rc = add_op(b, &op, &b->now, &index, err);
	b->now.n = 0;
	if (!rc && add_dep(&b->now, index, NP_REQUIRES))
		rc = no_memory(err);
	return rc;
}

/* Is a message of a trace that ends early in the graph? 0, 1 or -errno. */
static int takes(struct build *b, const struct np_graph_op *op)
{
	bool send = op->kind == NP_OP_SEND;
	struct np_trace_ends ends = {
		.from = send ? b->rank : op->peer,
		.to = send ? op->peer : b->rank,
		.tag = op->tag, .context = op->context,
	};

	if (!b->g)
		return np_trace_common_count(&b->common, &ends, send);
	return !b->counted || np_trace_common_take(&b->common, &ends, send);
}

/* *index may become NOT_THERE. */
static int add_message(struct build *b, const struct np_graph_op *op,
		       const struct before *after, uint32_t *index,
		       struct np_err *err)
{
	int rc = takes(b, op);

	*index = NOT_THERE;
	if (rc < 0)
		return no_memory(err);
	return rc ? add_op(b, op, after, index, err) : 0;
}

static struct np_graph_op op_of(const struct build *b,
			  const struct np_trace_event *ev, bool send)
{
	const struct np_trace_message *m = send ? &ev->out : &ev->in;
	const struct comm *c = &b->comm[ev->comm];

	return (struct np_graph_op){
		.kind = send ? NP_OP_SEND : NP_OP_RECV, .size = m->bytes,
		.peer = m->peer == NP_TRACE_ANY ? NP_ANY :
			c->group.member[m->peer],
		.tag = m->tag == NP_TRACE_ANY ? NP_ANY : m->tag,
		.context = 2 * c->group.number,
		.line = ev->line < UINT32_MAX ? (uint32_t)ev->line : 0,
	};
}

static struct under_way *request_of(struct build *b, uint32_t id)
{
	size_t old = b->request_room;

	if (np_array_room(&b->request, &b->request_room, id + 1ull,
			  sizeof(*b->request)))
		return NULL;
	if (b->request_room > old)
		memset(b->request + old, 0, (b->request_room - old) *
		       sizeof(*b->request));
	return &b->request[id];
}

static int keep(struct build *b, uint32_t id, uint32_t op, struct np_err *err)
{
	struct under_way *u;

	if (op == NOT_THERE)
		return 0;
	u = request_of(b, id);
	if (!u || np_array_room(&u->op, &u->room, u->n + 1, sizeof(*u->op)))
		return no_memory(err);
	u->op[u->n++] = op;
	return 0;
}

/* One or two messages at once; the program waits for them, or goes on. */
static int add_messages(struct build *b, const struct np_trace_event *ev,
			bool waits, struct np_err *err)
{
	enum np_dep_kind kind = waits ? NP_REQUIRES : NP_IREQUIRES;
	struct under_way *u = waits ? NULL : request_of(b, ev->request);
	struct np_graph_op op;
	uint32_t index;
	int rc = add_calc(b, err);

	if (u)
		u->n = 0;
	b->next.n = 0;
	for (int send = 1; !rc && send >= 0; send--) {
		if (!(send ? ev->out.there : ev->in.there))
			continue;
		op = op_of(b, ev, send);
		rc = add_message(b, &op, &b->now, &index, err);
		if (!rc && add_dep(&b->next, index, kind))
			rc = no_memory(err);
		if (!rc && !waits)
			rc = keep(b, ev->request, index, err);
	}
	if (!rc && b->next.n && copy_deps(&b->now, &b->next))
		rc = no_memory(err);
	return rc;
}

static int add_wait(struct build *b, const struct np_trace_event *ev,
		    struct np_err *err)
{
	int rc = ev->n_done ? add_calc(b, err) : 0;

	for (size_t i = 0; !rc && i < ev->n_done; i++) {
		struct under_way *u = request_of(b, ev->done[i]);

		for (size_t k = 0; u && k < u->n; k++)
			if (add_dep(&b->now, u->op[k], NP_REQUIRES))
				u = NULL;
		if (!u)
			return no_memory(err);
		u->n = 0;
	}
	return rc;
}

/* Tags of collectives count them: all ranks of one have the same number. */
static uint32_t next_tag(struct build *b, uint32_t group)
{
	return b->n_collectives[group]++ & 0x7fffffff;
}

static struct np_collective_call call_of(const struct build *b,
					 const struct np_trace_event *ev)
{
	const struct comm *c = &b->comm[ev->comm];
	struct np_collective_call k = {
		.collective = ev->collective, .rank = c->rank,
		.size = c->group.size, .root = ev->root, .bytes = ev->bytes,
		.blocks = ev->list,
	};
	uint64_t bytes = k.bytes;

	/* Sizes that differ: by their mean, which all know. */
	for (size_t i = 0; i < ev->n_list; i++)
		bytes += ev->list[i];
	if (ev->n_list && ev->collective == NP_ALLGATHER)
		bytes /= ev->n_list;
	k.algorithm = np_choices_pick(b->o->choices, k.collective, k.size,
				      bytes);
	return k;
}

/* The steps of one round wait for the round before. */
static int add_rounds(struct build *b, const struct np_trace_event *ev,
		      uint32_t tag, struct np_err *err)
{
	const struct comm *c = &b->comm[ev->comm];
	int rc = 0;

	b->next.n = 0;
	for (size_t i = 0; !rc && i < b->steps.n; i++) {
		const struct np_step *s = &b->steps.step[i];
		struct np_graph_op op = {
			.kind = s->send ? NP_OP_SEND : NP_OP_RECV,
			.size = s->bytes, .peer = c->group.member[s->peer],
			.tag = tag, .context = 2 * c->group.number + 1,
			.line = ev->line < UINT32_MAX ? (uint32_t)ev->line : 0,
		};
		uint32_t index;

		if (i && s->round != s[-1].round && b->next.n) {
			rc = copy_deps(&b->round, &b->next);
			b->next.n = 0;
		}
		if (rc)
			return no_memory(err);
		rc = add_message(b, &op, &b->round, &index, err);
		if (!rc && add_dep(&b->next, index, NP_REQUIRES))
			rc = no_memory(err);
	}
	if (!rc && b->next.n && copy_deps(&b->round, &b->next))
		rc = no_memory(err);
	return rc;
}

static int add_collective(struct build *b, const struct np_trace_event *ev,
			  struct np_err *err)
{
	uint32_t tag = next_tag(b, b->comm[ev->comm].group.number);
	struct np_collective_call k = call_of(b, ev);
	bool waits = ev->request == NP_TRACE_NO_REQUEST;
	struct under_way *u = waits ? NULL : request_of(b, ev->request);
	int rc;

	if (np_collective_steps(&k, &b->steps) || (!waits && !u))
		return no_memory(err);
	if (u)
		u->n = 0;
	if (!b->steps.n)
		return 0;
	rc = add_calc(b, err);
	if (!rc && copy_deps(&b->round, &b->now))
		rc = no_memory(err);
	if (!rc)
		rc = add_rounds(b, ev, tag, err);
	if (!rc && waits && copy_deps(&b->now, &b->round))
		rc = no_memory(err);
	for (size_t i = 0; !rc && !waits && i < b->round.n; i++)
		rc = keep(b, ev->request, b->round.dep[i].op, err);
	return rc;
}

static int add_comm(struct build *b, const struct np_trace_event *ev,
		    struct np_err *err)
{
	struct np_trace_group group;
	int rc = np_trace_groups_add(b->groups, ev->member, ev->size, &group,
				     err);

	if (rc)
		return rc;
	if (np_array_room(&b->comm, &b->comm_room, ev->comm + 1ull,
			  sizeof(*b->comm)) ||
	    np_array_room(&b->n_collectives, &b->group_room,
			  group.number + 1ull, sizeof(*b->n_collectives)))
		return no_memory(err);
	while (b->n_groups <= group.number)
		b->n_collectives[b->n_groups++] = 0;
	b->comm[ev->comm] = (struct comm){ group, ev->rank };
	return 0;
}

__attribute__((format(printf, 2, 3)))
static void warn(const struct build *b, const char *fmt, ...)
{
	char text[NP_ERR_LEN], line[2 * NP_ERR_LEN];
	va_list ap;

	if (!b->g || b->counted || !b->o->warn) /* or told before */
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "%.200s: rank %u: %s",
		 b->files->path[b->rank], b->rank, text);
	b->o->warn(line, b->o->arg);
}

static int add_event(struct build *b, const struct np_trace_event *ev,
		     struct np_err *err)
{
	b->calc_ns += ev->gap_ns;
	switch (ev->kind) {
	case NP_TRACE_SEND:
	case NP_TRACE_RECV:
	case NP_TRACE_SENDRECV:
		return add_messages(b, ev, true, err);
	case NP_TRACE_ISEND:
	case NP_TRACE_IRECV:
	case NP_TRACE_ISENDRECV:
		return add_messages(b, ev, false, err);
	case NP_TRACE_WAIT:
		return add_wait(b, ev, err);
	case NP_TRACE_COLLECTIVE:
		return add_collective(b, ev, err);
	case NP_TRACE_COMM:
		return add_comm(b, ev, err);
	case NP_TRACE_COMM_FREE:
		np_trace_groups_drop(b->groups,
				     b->comm[ev->comm].group.number);
		return 0;
	case NP_TRACE_UNSUPPORTED:
		warn(b, "%s is not followed: what it sends is missing",
		     ev->name);
		return 0;
	default:
		return 0;
	}
}

/* Nothing of the rank before is left. */
static void forget_rank(struct build *b)
{
	b->calc_ns = b->now.n = b->n_groups = 0;
	for (size_t i = 0; i < b->request_room; i++)
		b->request[i].n = 0;
	np_trace_groups_rank(b->groups);
}

static int add_rank(struct build *b, uint32_t rank, struct np_err *err)
{
	const char *path = b->files->path[rank];
	struct np_trace_event ev;
	int rc = np_trace_open(path, rank, b->files->n, &b->r, err);

	if (rc)
		return rc;
	b->rank = rank;
	forget_rank(b);
	if (!np_trace_is_whole(b->r)) {
		b->is_cut = true;
		warn(b, "the trace ends before MPI_Finalize(): what has no "
		     "counterpart is left out");
	}
	if (b->g)
		rc = np_graph_rank(b->g, rank, path, err);
	while (!rc) {
		rc = np_trace_next(b->r, &ev, err);
		if (rc <= 0)
			break;
		rc = add_event(b, &ev, err);
	}
	if (!rc)
		rc = add_calc(b, err);
	np_trace_close(b->r);
	b->r = NULL;
	return rc;
}

static int add_ranks(struct build *b, struct np_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < b->files->n; i++)
		rc = add_rank(b, i, err);
	return rc;
}

/* A graph of all that there is, or of what was counted. */
static int add_graph(struct build *b, struct np_err *err)
{
	int rc;

	np_graph_free(b->g);
	b->g = NULL;
	rc = np_graph_new(b->files->path[0], b->files->n, &b->g, err);
	return rc ? rc : add_ranks(b, err);
}

static int count(struct build *b, struct np_err *err)
{
	int rc;

	np_graph_free(b->g);
	b->g = NULL;
	rc = add_ranks(b, err);
	b->counted = true;
	return rc;
}

static void free_build(struct build *b)
{
	for (size_t i = 0; i < b->request_room; i++)
		free(b->request[i].op);
	free(b->request);
	free(b->now.dep);
	free(b->round.dep);
	free(b->next.dep);
	free(b->comm);
	free(b->n_collectives);
	np_steps_free(&b->steps);
	np_trace_common_free(&b->common);
	np_trace_groups_free(b->groups);
}

int np_trace_graph(const struct np_trace_files *f,
		   const struct np_trace_options *o, struct np_graph **out,
		   struct np_err *err)
{
	struct build b = { .files = f, .o = o,
		.groups = np_trace_groups_new() };
	int rc = b.groups ? add_graph(&b, err) : no_memory(err);

	if (!rc && b.is_cut) {
		rc = count(&b, err);
		if (!rc)
			rc = add_graph(&b, err);
	}
	if (!rc)
		rc = np_graph_finish(b.g, err);
	if (rc)
		np_graph_free(b.g);
	else
		*out = b.g;
	free_build(&b);
	return rc;
}
