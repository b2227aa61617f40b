/*
 * GOAL text:
 *
 *	goal := "num_ranks" INT rank*
 *	rank := "rank" INT "{" (op | dep)* "}"
 *	op   := [NAME ":"] "send" INT "b" "to" INT option*
 *	      | [NAME ":"] "recv" INT "b" "from" (INT | "-1") option*
 *	      | [NAME ":"] "calc" INT option*
 *	option := "tag" (INT | "-1") | "cpu" INT | "nic" INT
 *	dep  := NAME ("requires" | "irequires") NAME
 *
 * Comments are those of C++.  A dependency may stand before what it names.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_goal_text.h"

struct word {
	const char *at; /* good until the next one is read */
	size_t len;	/* 0: the end of the file */
};

/* A dependency on a name that is still to come. */
struct later {
	char x[NP_GOAL_WORD], y[NP_GOAL_WORD];
	uint32_t line;
	enum np_dep_kind kind;
	struct later *next;
};

struct reader {
	struct np_goal_in *in;
	struct np_graph *g;
	struct np_goal_labels *labels;
	struct later *later;
	uint64_t line;
	uint32_t n_ranks, rank;
	bool in_rank;
	struct word word; /* the present one */
	struct np_err *err;
};

/* "FILE:LINE: rank R: " and then. */
__attribute__((format(printf, 2, 3)))
static int fail(struct reader *r, const char *fmt, ...)
{
	char what[NP_ERR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (r->in_rank)
		return np_errf(r->err, -EINVAL, "%s:%llu: rank %u: %s",
			       r->in->name, (unsigned long long)r->line,
			       r->rank, what);
	return np_errf(r->err, -EINVAL, "%s:%llu: %s", r->in->name,
		       (unsigned long long)r->line, what);
}

static int no_memory(struct reader *r)
{
	return np_errf(r->err, -ENOMEM, "%s: no memory to read", r->in->name);
}

static int unexpected(struct reader *r, const char *wanted)
{
	if (!r->word.len)
		return fail(r, "the file ends, expected %s", wanted);
	return fail(r, "\"%.*s\", expected %s", (int)r->word.len, r->word.at,
		    wanted);
}

static int fill(struct reader *r)
{
	if (r->in->end - r->in->at >= 2 * NP_GOAL_WORD)
		return 0;
	return np_goal_in_fill(r->in, 2 * NP_GOAL_WORD, r->err);
}

/* Behind the comment that begins here. */
static int skip_comment(struct reader *r)
{
	struct np_goal_in *in = r->in;
	bool block = in->buf[in->at + 1] == '*';
	uint64_t from = r->line;
	int rc;

	for (in->at += 2;; in->at++) {
		char c;

		rc = fill(r);
		if (rc)
			return rc;
		c = in->buf[in->at];
		if (in->at == in->end)
			break;
		if (!block && c == '\n')
			return 0;
		r->line += c == '\n';
		if (block && c == '*' && in->buf[in->at + 1] == '/') {
			in->at += 2;
			return 0;
		}
	}
	if (!block)
		return 0;
	r->line = from;
	return fail(r, "a comment without end");
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       (c >= 'A' && c <= 'Z') || c == '_';
}

static int next(struct reader *r)
{
	struct np_goal_in *in = r->in;
	const char *p;
	size_t n = 0;
	int rc;

	for (;;) {
		rc = fill(r);
		if (rc)
			return rc;
		p = in->buf + in->at;
		if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') {
			r->line += *p == '\n';
			in->at++;
		} else if (*p == '/' && (p[1] == '/' || p[1] == '*')) {
			rc = skip_comment(r);
			if (rc)
				return rc;
		} else {
			break;
		}
	}
	if (in->at < in->end) {
		n = *p == '-';
		while (n < NP_GOAL_WORD && is_name(p[n]))
			n++;
		n += !n; /* a mark */
	}
	r->word = (struct word){ p, n };
	if (n >= NP_GOAL_WORD)
		return fail(r, "a word of more than %d characters: %.16s...",
			    NP_GOAL_WORD - 1, p);
	in->at += n;
	return 0;
}

static bool is(const struct reader *r, const char *what, size_t len)
{
	return r->word.len == len && !memcmp(r->word.at, what, len);
}

#define IS(r, what) is(r, what, sizeof(what) - 1)

static int expect(struct reader *r, const char *what)
{
	char wanted[NP_GOAL_WORD];
	int rc = next(r);

	if (rc || is(r, what, strlen(what)))
		return rc;
	snprintf(wanted, sizeof(wanted), "\"%s\"", what);
	return unexpected(r, wanted);
}

/* The present word as a number up to most; unit: what follows it, or 0. */
static int number(struct reader *r, const char *what, uint64_t most,
		  char unit, uint64_t *out)
{
	const struct word *w = &r->word;
	size_t n = w->len, i = 0;
	uint64_t v = 0;

	if (n && w->at[0] == '-')
		return fail(r, "%.*s, expected %s of 0 to %llu", (int)n, w->at,
			    what, (unsigned long long)most);
	if (unit && n && w->at[n - 1] == unit)
		n--;
	for (; i < n && w->at[i] >= '0' && w->at[i] <= '9'; i++) {
		unsigned digit = (unsigned)(w->at[i] - '0');

		if (v > most / 10 || 10 * v + digit > most)
			return fail(r, "%.*s, expected %s of 0 to %llu",
				    (int)w->len, w->at, what,
				    (unsigned long long)most);
		v = 10 * v + digit;
	}
	if (!n || i < n)
		return unexpected(r, what);
	*out = v;
	if (unit && n == w->len) /* "8 b" */
		return expect(r, (char[]){ unit, '\0' });
	return 0;
}

static int next_number(struct reader *r, const char *what, uint64_t most,
		       char unit, uint64_t *out)
{
	int rc = next(r);

	return rc ? rc : number(r, what, most, unit, out);
}

/* A number, or -1 for any. */
static int next_or_any(struct reader *r, const char *what, bool any,
		       uint32_t *out)
{
	uint64_t v = NP_ANY;
	int rc = next(r);

	if (!rc && !(any && IS(r, "-1")))
		rc = number(r, what, NP_ANY - 1, 0, &v);
	*out = (uint32_t)v;
	return rc;
}

/* What may follow an operation, in any order; ends at another word. */
static int options(struct reader *r, struct np_graph_op *op)
{
	bool message = op->kind != NP_OP_CALC;
	uint64_t v;
	int rc = next(r);

	while (!rc) {
		if (message && IS(r, "tag")) {
			rc = next_or_any(r, "a tag", op->kind == NP_OP_RECV,
					 &op->tag);
		} else if (IS(r, "cpu")) {
			rc = next_number(r, "a processor", UINT8_MAX, 0, &v);
			op->cpu = (uint8_t)v;
		} else if (IS(r, "nic")) {
			rc = next_number(r, "an adapter", UINT8_MAX, 0, &v);
			op->nic = (uint8_t)v;
		} else {
			return 0;
		}
		if (!rc)
			rc = next(r);
	}
	return rc;
}

/* The present word is "send", "recv" or "calc"; the last one is behind it. */
static int operation(struct reader *r, uint32_t *index)
{
	struct np_graph_op op = {
		.line = r->line > UINT32_MAX ? UINT32_MAX : (uint32_t)r->line,
	};
	int rc;

	if (IS(r, "calc")) {
		rc = next_number(r, "a time in ns", NP_GRAPH_MAX_SIZE, 0,
				 &op.size);
	} else {
		op.kind = IS(r, "send") ? NP_OP_SEND : NP_OP_RECV;
		rc = next_number(r, "a size in bytes, 8b", NP_GRAPH_MAX_SIZE,
				 'b', &op.size);
		if (!rc)
			rc = expect(r, op.kind == NP_OP_SEND ? "to" : "from");
		if (!rc)
			rc = next_or_any(r, "a rank", op.kind == NP_OP_RECV,
					 &op.peer);
	}
	if (!rc)
		rc = options(r, &op);
	return rc ? rc : np_graph_add(r->g, &op, index, r->err);
}

static bool is_operation(const struct reader *r)
{
	return IS(r, "send") || IS(r, "recv") || IS(r, "calc");
}

static int define(struct reader *r, const char *name, size_t len)
{
	uint32_t op;
	int rc = next(r);

	if (!rc && !is_operation(r))
		return unexpected(r, "send, recv or calc");
	if (!rc)
		rc = operation(r, &op);
	if (rc)
		return rc;
	rc = np_goal_labels_add(r->labels, name, len, op);
	if (rc == -EEXIST)
		return fail(r, "%s is there twice", name);
	return rc ? no_memory(r) : 0;
}

static int depend(struct reader *r, const char *x, const char *y,
		  enum np_dep_kind kind, bool last)
{
	uint32_t from, to;

	if (np_goal_labels_find(r->labels, x, strlen(x), &from) ||
	    np_goal_labels_find(r->labels, y, strlen(y), &to)) {
		struct later *l;

		if (last)
			return -ENOENT;
		l = malloc(sizeof(*l));
		if (!l)
			return no_memory(r);
		*l = (struct later){ .line = (uint32_t)r->line, .kind = kind,
				     .next = r->later };
		strcpy(l->x, x);
		strcpy(l->y, y);
		r->later = l;
		return 0;
	}
	return np_graph_depend(r->g, from, to, kind, r->err);
}

/* "requires NAME"; the word behind it is the present one then. */
static int dependency(struct reader *r, const char *x)
{
	enum np_dep_kind kind = IS(r, "requires") ? NP_REQUIRES :
						    NP_IREQUIRES;
	char y[NP_GOAL_WORD];
	int rc = next(r);

	if (rc)
		return rc;
	if (!r->word.len || !is_name(r->word.at[0]))
		return unexpected(r, "the name of an operation");
	memcpy(y, r->word.at, r->word.len);
	y[r->word.len] = '\0';
	rc = depend(r, x, y, kind, false);
	return rc ? rc : next(r);
}

static int named(struct reader *r)
{
	char name[NP_GOAL_WORD];
	size_t len = r->word.len;
	int rc;

	memcpy(name, r->word.at, len);
	name[len] = '\0';
	rc = next(r);
	if (rc)
		return rc;
	if (IS(r, ":"))
		return define(r, name, len);
	if (IS(r, "requires") || IS(r, "irequires"))
		return dependency(r, name);
	return unexpected(r, "\":\", requires or irequires");
}

/* What was named before it was there. */
static int end_rank(struct reader *r)
{
	uint64_t line = r->line;
	int rc = 0;

	while (r->later) {
		struct later *l = r->later;

		r->later = l->next;
		r->line = l->line;
		if (!rc)
			rc = depend(r, l->x, l->y, l->kind, true);
		if (rc == -ENOENT)
			rc = fail(r, "%.64s depends on %.64s, and not both "
				  "are there", l->x, l->y);
		free(l);
	}
	r->line = line;
	np_goal_labels_clear(r->labels);
	return rc;
}

static int rank(struct reader *r)
{
	uint64_t n;
	int rc = next_number(r, "a rank", r->n_ranks - 1, 0, &n);

	if (!rc)
		rc = expect(r, "{");
	if (rc)
		return rc;
	r->rank = (uint32_t)n;
	r->in_rank = true;
	rc = np_graph_rank(r->g, r->rank, NULL, r->err);
	if (!rc)
		rc = next(r);
	while (!rc && !IS(r, "}"))
		if (is_operation(r))
			rc = operation(r, NULL);
		else if (r->word.len && is_name(r->word.at[0]))
			rc = named(r);
		else
			rc = unexpected(r, "an operation, or }");
	if (!rc)
		rc = end_rank(r);
	r->in_rank = false;
	return rc;
}

static int all(struct reader *r)
{
	uint64_t n, seen = 0;
	int rc = expect(r, "num_ranks");

	if (!rc)
		rc = next_number(r, "a number of ranks", NP_GRAPH_MAX_RANKS,
				 0, &n);
	if (!rc)
		rc = np_graph_new(r->in->name, (uint32_t)n, &r->g, r->err);
	if (!rc)
		r->n_ranks = (uint32_t)n;
	while (!rc) {
		rc = next(r);
		if (rc || !r->word.len)
			break;
		if (!IS(r, "rank"))
			return unexpected(r, "rank");
		rc = rank(r);
		seen++;
	}
	if (!rc && seen < r->n_ranks)
		return fail(r, "the file ends after %llu of %u ranks",
			    (unsigned long long)seen, r->n_ranks);
	return rc ? rc : np_graph_finish(r->g, r->err);
}

int np_goal_read_text(struct np_goal_in *in, struct np_graph **out,
		      struct np_err *err)
{
	struct reader r = { .in = in, .line = 1, .err = err };
	int rc;

	r.labels = np_goal_labels_new();
	rc = r.labels ? all(&r) : no_memory(&r);
	while (r.later) {
		struct later *l = r.later;

		r.later = l->next;
		free(l);
	}
	np_goal_labels_free(r.labels);
	if (rc)
		np_graph_free(r.g);
	else
		*out = r.g;
	return rc;
}
