#include "np_workload.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_workload_impl.h"

#define BYTES ((uint64_t)1 << 20) /* where no size is given */
#define MAX_BYTES ((uint64_t)1 << 40)
#define MAX_REPEATS 1000000u

struct reader {
	struct np_words w;
	struct np_workload b;
	/* repeats that are not over: where they begin, and how often yet */
	struct {
		const char *at;
		size_t line;
		uint64_t left;
	} loop[NP_WORKLOAD_DEPTH];
	size_t depth, n_steps;
};

#define BAD(r, ...) np_words_errf(&(r)->w, (r)->b.err, -EINVAL, __VA_ARGS__)
#define TOO_BIG(r, ...) np_words_errf(&(r)->w, (r)->b.err, -E2BIG, __VA_ARGS__)

static int no_memory(struct reader *r)
{
	return np_errf(r->b.err, -ENOMEM, "%s: out of memory", r->w.source);
}

static const char *word(const struct reader *r, size_t i)
{
	return i < r->w.n ? r->w.word[i] : "";
}

/* Which tasks: "all", "3", "0-2,5". */

static int name_range(struct reader *r, const char *text)
{
	char *end;
	unsigned long from, to;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	from = to = strtoul(text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		to = strtoul(end + 1, &end, 10);
	if (*end || from > to || to >= r->b.n_tasks)
		return -EINVAL;
	memset(r->b.named + from, true, to - from + 1);
	return 0;
}

static int name_tasks(struct reader *r)
{
	char *list = r->w.word[0], *save = NULL;
	int rc = 0;

	list[strlen(list) - 1] = '\0';
	memset(r->b.named, !strcmp(list, "all"), r->b.n_tasks);
	if (!strcmp(list, "all"))
		return 0;
	if (!*list)
		rc = -EINVAL;
	for (char *p = strtok_r(list, ",", &save); p && !rc;
	     p = strtok_r(NULL, ",", &save))
		rc = name_range(r, p);
	return rc ? BAD(r, "tasks \"%.40s\": expected all, or numbers and "
			"ranges as 0-2,5, below %u", list, r->b.n_tasks) : 0;
}

/* "3", "+1", "-1": of which task's point of view; *back: who has it as peer. */
static int peer_of(struct reader *r, uint32_t task, const char *text,
		   uint32_t *to, uint32_t *back)
{
	bool relative = *text == '+' || *text == '-';
	const char *digits = text + relative;
	uint32_t n = r->b.n_tasks;
	unsigned long v;
	char *end = NULL;

	v = isdigit((unsigned char)*digits) ? strtoul(digits, &end, 10) : 0;
	if (!end || *end || v >= n)
		return BAD(r, "peer \"%.40s\": expected a task below %u, or "
			   "+1 or -1 for the next and the previous one", text,
			   n);
	*to = *back = (uint32_t)v;
	if (relative) {
		uint32_t up = (task + (uint32_t)v) % n;
		uint32_t down = (task + n - (uint32_t)v) % n;

		*to = *text == '+' ? up : down;
		*back = *text == '+' ? down : up;
	}
	return 0;
}

/* [SIZE] as word i, and no more after it. */
static int size_at(struct reader *r, size_t i, uint64_t *bytes)
{
	*bytes = r->b.bytes;
	if (i < r->w.n && np_words_bytes(&r->w, i, MAX_BYTES, bytes, r->b.err))
		return -EINVAL;
	return i + 1 < r->w.n ? BAD(r, "\"%.40s\": not expected here",
				    r->w.word[i + 1]) : 0;
}

/* Events */

static int no_more(struct reader *r, size_t n)
{
	return r->w.n > n ? BAD(r, "\"%.40s\": not expected here",
				r->w.word[n]) : 0;
}

static int event_compute(struct reader *r, uint32_t task)
{
	double sec = 0;
	int rc = np_words_time(&r->w, 2, &sec, r->b.err);

	if (!rc)
		rc = no_more(r, 3);
	return rc ? rc : np_workload_compute(&r->b, task, sec);
}

static int send_event(struct reader *r, uint32_t task, bool blocking)
{
	uint32_t to = 0, back;
	uint64_t bytes = 0;
	int rc = peer_of(r, task, word(r, 2), &to, &back);

	if (!rc)
		rc = size_at(r, 3, &bytes);
	return rc ? rc : np_workload_send(&r->b, task, to, bytes, blocking);
}

static int recv_event(struct reader *r, uint32_t task, bool blocking)
{
	uint32_t from = 0, back;
	int rc = peer_of(r, task, word(r, 2), &from, &back);

	if (!rc)
		rc = no_more(r, 3);
	return rc ? rc : np_workload_recv(&r->b, task, from, blocking);
}

static int event_send(struct reader *r, uint32_t task)
{
	return send_event(r, task, true);
}

static int event_isend(struct reader *r, uint32_t task)
{
	return send_event(r, task, false);
}

static int event_recv(struct reader *r, uint32_t task)
{
	return recv_event(r, task, true);
}

static int event_irecv(struct reader *r, uint32_t task)
{
	return recv_event(r, task, false);
}

static int event_wait(struct reader *r, uint32_t task)
{
	int rc = no_more(r, 2);

	return rc ? rc : np_workload_wait(&r->b, task);
}

/* To the one side, from the other one. */
static int event_exchange(struct reader *r, uint32_t task)
{
	uint32_t to = 0, from = 0;
	uint64_t bytes = 0;
	int rc = peer_of(r, task, word(r, 2), &to, &from);

	if (!rc)
		rc = size_at(r, 3, &bytes);
	if (!rc)
		rc = np_workload_recv(&r->b, task, from, false);
	if (!rc)
		rc = np_workload_send(&r->b, task, to, bytes, false);
	return rc ? rc : np_workload_wait(&r->b, task);
}

/* With all that the line names, the next one first. */
static int event_alltoall(struct reader *r, uint32_t task)
{
	uint32_t n = r->b.n_tasks;
	uint64_t bytes = 0;
	int rc = size_at(r, 2, &bytes);

	for (uint32_t k = 1; !rc && k < n; k++)
		if (r->b.named[(task + n - k) % n])
			rc = np_workload_recv(&r->b, task, (task + n - k) % n,
					      false);
	for (uint32_t k = 1; !rc && k < n; k++)
		if (r->b.named[(task + k) % n])
			rc = np_workload_send(&r->b, task, (task + k) % n,
					      bytes, false);
	return rc ? rc : np_workload_wait(&r->b, task);
}

static const struct {
	const char *name;
	int (*of_task)(struct reader *r, uint32_t task);
} events[] = {
	{ "compute", event_compute }, { "send", event_send },
	{ "recv", event_recv },	      { "isend", event_isend },
	{ "irecv", event_irecv },     { "wait", event_wait },
	{ "exchange", event_exchange }, { "alltoall", event_alltoall },
};

static int line_event(struct reader *r)
{
	int rc = name_tasks(r);

	if (rc)
		return rc;
	if (!strcmp(word(r, 1), "barrier")) {
		rc = no_more(r, 2);
		return rc ? rc : np_workload_barrier(&r->b);
	}
	for (size_t i = 0; i < NP_ARRAY_SIZE(events); i++) {
		if (strcmp(word(r, 1), events[i].name))
			continue;
		for (uint32_t t = 0; !rc && t < r->b.n_tasks; t++)
			if (r->b.named[t])
				rc = events[i].of_task(r, t);
		return rc;
	}
	return BAD(r, "\"%.40s\": expected compute, send, recv, isend, irecv, "
		   "wait, exchange, alltoall or barrier", word(r, 1));
}

/* Settings and repeats */

static int line_tasks(struct reader *r)
{
	uint64_t n;
	int rc = np_words_count(&r->w, 1, NP_WORKLOAD_MAX_TASKS, &n, r->b.err);

	if (rc)
		return rc;
	if (r->b.app || !n || r->w.n > 2)
		return BAD(r, "expected tasks N once, at the beginning");
	r->b.n_tasks = (uint32_t)n;
	r->b.app = np_replay_app_new(r->b.n_tasks);
	r->b.task = calloc(n, sizeof(*r->b.task));
	r->b.named = calloc(n, sizeof(*r->b.named));
	return r->b.app && r->b.task && r->b.named ? 0 : no_memory(r);
}

static int line_size(struct reader *r)
{
	int rc = np_words_bytes(&r->w, 1, MAX_BYTES, &r->b.bytes, r->b.err);

	return rc ? rc : no_more(r, 2);
}

static int line_repeat(struct reader *r)
{
	uint64_t n;
	int rc = np_words_count(&r->w, 1, MAX_REPEATS, &n, r->b.err);

	if (rc)
		return rc;
	if (!n || r->w.n > 2)
		return BAD(r, "expected repeat N, 1 or more");
	if (r->depth == NP_WORKLOAD_DEPTH)
		return TOO_BIG(r, "more than %d repeats in each other",
			       NP_WORKLOAD_DEPTH);
	r->loop[r->depth].at = r->w.at;
	r->loop[r->depth].line = r->w.line;
	r->loop[r->depth++].left = n - 1;
	return 0;
}

static int line_end(struct reader *r)
{
	if (!r->depth)
		return BAD(r, "end: expected after repeat");
	if (!r->loop[r->depth - 1].left) {
		r->depth--;
		return 0;
	}
	r->loop[r->depth - 1].left--;
	r->w.at = r->loop[r->depth - 1].at;
	r->w.line = r->loop[r->depth - 1].line;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct reader *r);
} lines[] = {
	{ "tasks", line_tasks }, { "size", line_size },
	{ "repeat", line_repeat }, { "end", line_end },
};

/* Reading takes no longer than so many steps, whatever they do. */
static bool too_long(struct reader *r)
{
	size_t n = r->b.n_tasks;

	r->n_steps += !strcmp(word(r, 1), "alltoall") ? 1 + n * n : 1 + n;
	return r->n_steps > NP_WORKLOAD_MAX_STEPS;
}

static int line(struct reader *r)
{
	const char *first = r->w.word[0];

	if (too_long(r))
		return TOO_BIG(r, "more than %zu steps: lines by tasks by "
			       "repeats", NP_WORKLOAD_MAX_STEPS);
	if (!r->b.app && strcmp(first, "tasks"))
		return BAD(r, "\"%.40s\": expected tasks N first", first);
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++)
		if (!strcmp(first, lines[i].name))
			return lines[i].read(r);
	if (first[strlen(first) - 1] == ':')
		return line_event(r);
	return BAD(r, "\"%.40s\": expected size, repeat, end or TASKS: EVENT",
		   first);
}

static int parse(struct reader *r)
{
	int rc;

	while ((rc = np_words_next(&r->w, r->b.err)) > 0) {
		rc = line(r);
		if (rc)
			return rc;
	}
	if (!rc && !r->b.app)
		rc = np_errf(r->b.err, -EINVAL, "%s: no program in it",
			     r->w.source);
	if (!rc && r->depth)
		rc = BAD(r, "repeat of line %zu: its end is missing",
			 r->loop[r->depth - 1].line);
	return rc ? rc : np_workload_meet(&r->b);
}

int np_workload_parse(const char *text, size_t len, const char *source,
		      struct np_replay_app **out, struct np_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return np_errf(err, -ENOMEM, "%s: out of memory", source);
	np_words_open(&r->w, text, len, source);
	r->b.w = &r->w;
	r->b.err = err;
	r->b.bytes = BYTES;
	rc = parse(r);
	if (rc)
		np_replay_app_free(r->b.app);
	else
		*out = r->b.app;
	for (uint32_t t = 0; r->b.task && t < r->b.n_tasks; t++)
		free(r->b.task[t].pending);
	free(r->b.task);
	free(r->b.named);
	free(r->b.sends.e);
	free(r->b.recvs.e);
	free(r);
	return rc;
}

int np_workload_read(const char *path, struct np_replay_app **out,
		     struct np_err *err)
{
	char *text;
	size_t len;
	int rc = np_words_file(path, NP_WORKLOAD_MAX_FILE_BYTES, &text, &len,
			       err);

	if (rc)
		return rc;
	rc = np_workload_parse(text, len, path, out, err);
	free(text);
	return rc;
}
