/*
 * Reads netprof-workload(5), descriptions of programs. Lines are executed while
 * they are read: repeats move the reader back. Each task remembers its last
 * operation, which the next one depends on. Sends and receives are matched at
 * the end, when all are known.
 */
#include "np_workload.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_read.h"
#include "np_words.h"

#define BYTES ((uint64_t)1 << 20) /* default message size */
#define MAX_BYTES ((uint64_t)1 << 40) /* of a message */
#define MAX_REPEATS 1000000u /* of one repeat line */

/*
 * One end of a message; the k-th send from one task to another matches the k-th
 * receive.
 */
struct end {
	uint32_t from, to, op;
	uint32_t line; /* for error messages */
};

/* All sends, or all receives. */
struct ends {
	struct end *e;
	size_t n;
};

/* State of a task while reading. */
struct task {
	uint32_t last; /* operation that the next one follows */
	/* any: last is valid; posted: the next one waits only for its start */
	bool any, posted;
	uint32_t *pending; /* nonblocking operations that were not waited for */
	size_t n_pending;
};

/* State of the reader of a file. */
struct reader {
	struct np_words w;
	struct np_replay_app *app;
	uint32_t n_tasks;
	struct task *task;
	uint64_t bytes; /* default message size */
	struct ends sends, recvs;
	bool *named;   /* tasks selected by this line */
	bool blocking; /* whether the operations of this line block */
	/* operation of the barrier in this line; UINT32_MAX: none yet */
	uint32_t barrier;
	/* Open repeats: where they begin, and the remaining iterations. */
	struct loop {
		const char *at;
		size_t line;
		uint64_t left;
	} loop[NP_WORKLOAD_DEPTH];
	size_t depth, n_steps;
};

/* Record the first error, with the number of the current line. */
#define BAD(r, ...) np_words_fail(&(r)->w, -EINVAL, __VA_ARGS__)
#define TOO_BIG(r, ...) np_words_fail(&(r)->w, -E2BIG, __VA_ARGS__)

/* ---- Operations ---- */

/* Makes op follow the last operation of a task, and the new last one. */
static void follow(struct reader *r, uint32_t task, uint32_t op)
{
	struct task *t = &r->task[task];

	if (!r->w.rc && t->any)
		r->w.rc = np_replay_depend(r->app, op, t->last, t->posted,
					   r->w.err);
	t->last = op;
	t->any = true;
	t->posted = false;
}

/* Adds an operation that follows the last one of its task. */
static uint32_t add_op(struct reader *r, enum np_replay_kind kind,
		       uint32_t task, double sec, uint64_t bytes)
{
	const struct np_replay_op o = { kind, task, sec, bytes, 0 };
	uint32_t op = 0;

	if (np_replay_ops(r->app) == NP_WORKLOAD_MAX_OPS)
		TOO_BIG(r, "more than %zu operations", NP_WORKLOAD_MAX_OPS);
	if (!r->w.rc)
		r->w.rc = np_replay_add(r->app, &o, &op, r->w.err);
	follow(r, task, op);
	return op;
}

/* Adds one end of a message. A nonblocking one must be waited for. */
static void add_end(struct reader *r, enum np_replay_kind kind, uint32_t task,
		    uint32_t peer, uint64_t bytes)
{
	bool sends = kind == NP_REPLAY_SEND;
	struct ends *e = sends ? &r->sends : &r->recvs;
	struct task *t = &r->task[task];
	uint32_t op = add_op(r, kind, task, 0, bytes);

	if (np_array_grow(&e->e, e->n, sizeof(*e->e)) ||
	    (!r->blocking && np_array_grow(&t->pending, t->n_pending,
					   sizeof(*t->pending)))) {
		np_words_no_memory(&r->w);
		return;
	}
	e->e[e->n++] = (struct end){ sends ? task : peer, sends ? peer : task,
				     op, (uint32_t)r->w.line };
	t->posted = !r->blocking;
	if (!r->blocking)
		t->pending[t->n_pending++] = op;
}

/* Adds an operation that waits for all nonblocking ones of a task. */
static void add_wait(struct reader *r, uint32_t task)
{
	struct task *t = &r->task[task];
	uint32_t op = t->n_pending ? add_op(r, NP_REPLAY_COMPUTE, task, 0, 0) :
				     0;

	for (size_t i = 0; !r->w.rc && i < t->n_pending; i++)
		r->w.rc = np_replay_depend(r->app, op, t->pending[i], false,
					   r->w.err);
	t->n_pending = 0;
}

/* ---- Matching of sends and receives ---- */

/* By sender, receiver, and order in the program. */
static int by_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

/* Reports the first unmatched end, in sorting order. */
static void unmatched_error(struct reader *r, const struct end *send,
		  const struct end *recv)
{
	bool more = send && (!recv || send->from < recv->from ||
			     (send->from == recv->from &&
			      send->to < recv->to));
	const struct end *e = more ? send : recv;

	r->w.rc = np_errf(r->w.err, -EINVAL, "%s:%u: task %u sends %s messages "
			  "to task %u than that task receives", r->w.source,
			  e->line, e->from, more ? "more" : "fewer", e->to);
}

/* Matches sends and receives of each pair of tasks in order. */
static void match_ends(struct reader *r)
{
	const struct end *s = r->sends.e, *v = r->recvs.e;
	size_t n = r->sends.n, m = r->recvs.n, i;

	if (n)
		qsort(r->sends.e, n, sizeof(*s), by_ends);
	if (m)
		qsort(r->recvs.e, m, sizeof(*v), by_ends);
	for (i = 0; i < n && i < m && s[i].from == v[i].from &&
		    s[i].to == v[i].to; i++)
		np_replay_match(r->app, s[i].op, v[i].op);
	if (i < n || i < m)
		unmatched_error(r, i < n ? &s[i] : NULL, i < m ? &v[i] : NULL);
	else
		r->w.rc = np_replay_finish(r->app, r->w.err);
}

/* ---- Lists of tasks: "all", "3", "0-2,5" ---- */

/* Selects the tasks of "3" or "0-2". */
static int name_range(struct reader *r, const char *text)
{
	char *end;
	unsigned long from, to;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	from = to = strtoul(text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		to = strtoul(end + 1, &end, 10);
	if (*end || from > to || to >= r->n_tasks)
		return -EINVAL;
	memset(r->named + from, true, to - from + 1);
	return 0;
}

/* Selects the tasks of the first word. */
static int name_tasks(struct reader *r)
{
	char *list = r->w.word[0], *save = NULL;
	bool all, good;

	list[strlen(list) - 1] = '\0';
	all = !strcmp(list, "all");
	memset(r->named, all, r->n_tasks);
	good = *list;
	for (char *p = all ? NULL : strtok_r(list, ",", &save); p && good;
	     p = strtok_r(NULL, ",", &save))
		good = !name_range(r, p);
	return good ? 0 : BAD(r, "tasks \"%.40s\": expected all, or numbers "
			      "and ranges as 0-2,5, below %u", list,
			      r->n_tasks);
}

/*
 * Parses word 2 as a peer: "3", "+1" or "-1", from the perspective of a task.
 * *back: the task whose peer this one is.
 */
static uint32_t peer_of(struct reader *r, uint32_t task, uint32_t *back)
{
	const char *text = np_words_at(&r->w, 2);
	bool relative = *text == '+' || *text == '-';
	const char *digits = text + relative;
	uint32_t n = r->n_tasks, up, down;
	unsigned long v;
	char *end = NULL;

	v = isdigit((unsigned char)*digits) ? strtoul(digits, &end, 10) : 0;
	if (!end || *end || v >= n) {
		BAD(r, "peer \"%.40s\": expected a task below %u, or +1 or -1 "
		    "for the next and the previous one", text, n);
		v = 0;
	}
	up = relative ? (task + (uint32_t)v) % n : (uint32_t)v;
	down = relative ? (task + n - (uint32_t)v) % n : up;
	*back = *text == '-' ? up : down;
	return *text == '-' ? down : up;
}

/* Fails if the line has more than n words. */
static void expect_end(struct reader *r, size_t n)
{
	if (r->w.n > n)
		BAD(r, "\"%.40s\": unexpected argument", r->w.word[n]);
}

/* Parses [SIZE] as word i, which must be the last. */
static uint64_t size_at(struct reader *r, size_t i)
{
	uint64_t bytes = i < r->w.n ? np_words_bytes(&r->w, i, MAX_BYTES) :
				      r->bytes;

	expect_end(r, i + 1);
	return bytes;
}

/* ---- Events ---- */

static void event_compute(struct reader *r, uint32_t task)
{
	double sec = np_words_time(&r->w, 2);

	expect_end(r, 3);
	add_op(r, NP_REPLAY_COMPUTE, task, sec, 0);
}

static void event_send(struct reader *r, uint32_t task)
{
	uint32_t back, to = peer_of(r, task, &back);

	add_end(r, NP_REPLAY_SEND, task, to, size_at(r, 3));
}

static void event_recv(struct reader *r, uint32_t task)
{
	uint32_t back, from = peer_of(r, task, &back);

	expect_end(r, 3);
	add_end(r, NP_REPLAY_RECV, task, from, 0);
}

static void event_wait(struct reader *r, uint32_t task)
{
	expect_end(r, 2);
	add_wait(r, task);
}

/* Sends to one side and receives from the other. */
static void event_exchange(struct reader *r, uint32_t task)
{
	uint32_t from, to = peer_of(r, task, &from);
	uint64_t bytes = size_at(r, 3);

	add_end(r, NP_REPLAY_RECV, task, from, 0);
	add_end(r, NP_REPLAY_SEND, task, to, bytes);
	add_wait(r, task);
}

/* Exchanges with all tasks of the line, beginning with the next one. */
static void event_alltoall(struct reader *r, uint32_t task)
{
	uint32_t n = r->n_tasks;
	uint64_t bytes = size_at(r, 2);

	for (uint32_t k = 1; !r->w.rc && k < n; k++)
		if (r->named[(task + n - k) % n])
			add_end(r, NP_REPLAY_RECV, task, (task + n - k) % n, 0);
	for (uint32_t k = 1; !r->w.rc && k < n; k++)
		if (r->named[(task + k) % n])
			add_end(r, NP_REPLAY_SEND, task, (task + k) % n, bytes);
	add_wait(r, task);
}

/* One operation that waits for all tasks, and that all wait for. */
static void event_barrier(struct reader *r, uint32_t task)
{
	expect_end(r, 2);
	if (r->barrier == UINT32_MAX)
		r->barrier = add_op(r, NP_REPLAY_COMPUTE, task, 0, 0);
	else
		follow(r, task, r->barrier);
}

static const struct {
	const char *name;
	void (*of_task)(struct reader *r, uint32_t task);
	bool blocking;
} events[] = {
	{ "compute", event_compute }, { "send", event_send, true },
	{ "recv", event_recv, true }, { "isend", event_send },
	{ "irecv", event_recv },      { "wait", event_wait },
	{ "exchange", event_exchange }, { "alltoall", event_alltoall },
	{ "barrier", event_barrier },
};

/* Reads "TASKS: EVENT" and executes it for each selected task. */
static void line_event(struct reader *r)
{
	size_t i = 0;

	if (name_tasks(r))
		return;
	r->barrier = UINT32_MAX;
	while (i < NP_ARRAY_SIZE(events) &&
	       !np_words_is(&r->w, 1, events[i].name))
		i++;
	if (i == NP_ARRAY_SIZE(events)) {
		BAD(r, "\"%.40s\": expected compute, send, recv, isend, irecv, "
		    "wait, exchange, alltoall or barrier",
		    np_words_at(&r->w, 1));
		return;
	}
	r->blocking = events[i].blocking;
	for (uint32_t t = 0; !r->w.rc && t < r->n_tasks; t++)
		if (r->named[t])
			events[i].of_task(r, t);
}

/* ---- Settings and repeats ---- */

/* Reads "tasks N". */
static void line_tasks(struct reader *r)
{
	uint64_t n = np_words_count(&r->w, 1, NP_WORKLOAD_MAX_TASKS);

	if (r->app || !n || r->w.n > 2)
		BAD(r, "expected tasks N once, at the beginning");
	if (r->w.rc)
		return;
	r->n_tasks = (uint32_t)n;
	r->app = np_replay_app_new(r->n_tasks);
	r->task = calloc(n, sizeof(*r->task));
	r->named = calloc(n, sizeof(*r->named));
	if (!r->app || !r->task || !r->named)
		np_words_no_memory(&r->w);
}

static void line_size(struct reader *r)
{
	r->bytes = np_words_bytes(&r->w, 1, MAX_BYTES);
	expect_end(r, 2);
}

/* Reads "repeat N" and remembers where it begins. */
static void line_repeat(struct reader *r)
{
	uint64_t n = np_words_count(&r->w, 1, MAX_REPEATS);

	if (!n || r->w.n > 2)
		BAD(r, "expected repeat N, 1 or more");
	if (r->depth == NP_WORKLOAD_DEPTH)
		TOO_BIG(r, "more than %d repeats in each other",
			NP_WORKLOAD_DEPTH);
	if (!r->w.rc)
		r->loop[r->depth++] = (struct loop){ r->w.at, r->w.line,
						     n - 1 };
}

/* Reads "end": goes back to the beginning of the repeat, or past it. */
static void line_end(struct reader *r)
{
	struct loop *l = &r->loop[r->depth];

	if (!r->depth) {
		BAD(r, "end: expected after repeat");
	} else if (!l[-1].left) {
		r->depth--;
	} else {
		l[-1].left--;
		r->w.at = l[-1].at;
		r->w.line = l[-1].line;
	}
}

static const struct {
	const char *name;
	void (*read)(struct reader *r);
} lines[] = {
	{ "tasks", line_tasks }, { "size", line_size },
	{ "repeat", line_repeat }, { "end", line_end },
};

/* Limits the time for reading, whatever the lines do. */
static bool exceeds_steps(struct reader *r)
{
	size_t n = r->n_tasks;

	r->n_steps += np_words_is(&r->w, 1, "alltoall") ? 1 + n * n : 1 + n;
	return r->n_steps > NP_WORKLOAD_MAX_STEPS;
}

/* Reads a line by its first word. */
static void read_line(struct reader *r)
{
	const char *first = r->w.word[0];

	if (exceeds_steps(r))
		TOO_BIG(r, "more than %zu steps: lines by tasks by repeats",
			NP_WORKLOAD_MAX_STEPS);
	if (!r->app && strcmp(first, "tasks"))
		BAD(r, "\"%.40s\": expected tasks N first", first);
	if (r->w.rc)
		return;
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++)
		if (!strcmp(first, lines[i].name)) {
			lines[i].read(r);
			return;
		}
	if (first[strlen(first) - 1] == ':')
		line_event(r);
	else
		BAD(r, "\"%.40s\": expected size, repeat, end or TASKS: EVENT",
		    first);
}

/* Reads all lines, then matches sends and receives. */
static int read_all(struct reader *r)
{
	while (np_words_next(&r->w))
		read_line(r);
	if (r->w.rc)
		return r->w.rc;
	if (!r->app)
		return np_errf(r->w.err, -EINVAL, "%s: no program in it",
			       r->w.source);
	if (r->depth)
		return BAD(r, "repeat in line %zu has no end",
			   r->loop[r->depth - 1].line);
	match_ends(r);
	return r->w.rc;
}

int np_workload_parse(const char *text, size_t len, const char *source,
		      struct np_replay_app **out, struct np_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return np_errf(err, -ENOMEM, "%s: out of memory", source);
	np_words_open(&r->w, text, len, source, err);
	r->w.rc = np_kind_check(text, len, NP_KIND_WORDS, source, err);
	r->bytes = BYTES;
	rc = read_all(r);
	if (rc)
		np_replay_app_free(r->app);
	else
		*out = r->app;
	for (uint32_t t = 0; r->task && t < r->n_tasks; t++)
		free(r->task[t].pending);
	free(r->task);
	free(r->named);
	free(r->sends.e);
	free(r->recvs.e);
	free(r);
	return rc;
}

int np_workload_read(const char *path, struct np_replay_app **out,
		     struct np_err *err)
{
	char *text;
	size_t len;
	int rc = np_read_file(path, NP_WORKLOAD_MAX_FILE_BYTES, &text, &len,
			      err);

	if (rc)
		return rc;
	rc = np_workload_parse(text, len, path, out, err);
	free(text);
	return rc;
}
