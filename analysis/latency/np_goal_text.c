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
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_array.h"
#include "np_goal.h"
#include "np_kind.h"
#include "np_numbers.h"

#define WORD 64 /* bytes of the longest word, and one */

/* A dependency on a name that is still to come. */
struct later {
	char x[WORD], y[WORD];
	uint64_t line;
	enum np_dep_kind kind;
};

struct reader {
	FILE *f;
	const char *name; /* of the file */
	struct np_graph *g;
	uint64_t line;
	uint32_t n_ranks, rank;
	bool in_rank;
	char word[WORD]; /* the present one */
	size_t len;	 /* 0: the end of the file, or something is wrong */
	int rc;		 /* what went wrong first; then nothing is read */
	struct np_err *err;

	/*
	 * Names of a rank's operations.  Schedgen names them l1, l2, l3 ... in
	 * each rank: as long as that is so nothing is kept of them but how many
	 * there are.
	 */
	uint32_t in_order;
	struct np_numbers names;
	uint32_t *op; /* of each name */
	size_t op_room;
	struct later *later;
	size_t n_later;
};

/* "FILE:LINE: rank R: " and then. */
__attribute__((format(printf, 2, 3)))
static void fail(struct reader *r, const char *fmt, ...)
{
	char what[NP_ERR_LEN], rank[32] = "";
	va_list ap;

	if (r->rc)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (r->in_rank)
		snprintf(rank, sizeof(rank), "rank %u: ", r->rank);
	r->rc = np_errf(r->err, -EINVAL, "%s:%llu: %s%s", r->name,
			(unsigned long long)r->line, rank, what);
}

static void no_memory(struct reader *r)
{
	if (!r->rc)
		r->rc = np_errf(r->err, -ENOMEM, "%s: no memory to read",
				r->name);
}

static void unexpected(struct reader *r, const char *wanted)
{
	if (!r->len)
		fail(r, "the file ends, expected %s", wanted);
	else
		fail(r, "\"%s\", expected %s", r->word, wanted);
}

/* Behind a comment; what is no block ends with its line. */
static void skip_comment(struct reader *r, bool block)
{
	uint64_t from = r->line;
	int c = 0, last;

	do {
		last = c;
		c = getc_unlocked(r->f);
		r->line += c == '\n';
		if (block ? last == '*' && c == '/' : c == '\n')
			return;
	} while (c != EOF);
	if (!block)
		return;
	r->line = from;
	fail(r, "a comment without end");
}

/* The first character of a word. */
static int skip(struct reader *r)
{
	for (;;) {
		int c = getc_unlocked(r->f), then;

		r->line += c == '\n';
		if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
			continue;
		if (c != '/')
			return c;
		then = getc_unlocked(r->f);
		if (then != '/' && then != '*') {
			ungetc(then, r->f);
			return c;
		}
		skip_comment(r, then == '*');
		if (r->rc)
			return EOF;
	}
}

static bool is_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       (c >= 'A' && c <= 'Z') || c == '_';
}

/* May c follow in the present word?  A number may have a point, to be named. */
static bool is_more(const struct reader *r, int c)
{
	return is_name(c) || (c == '.' && isdigit((unsigned char)*r->word));
}

/* A name, a number, or a mark. */
static void next(struct reader *r)
{
	int c = r->rc ? EOF : skip(r);
	bool more = is_name(c) || c == '-';

	r->len = 0;
	while (c != EOF && r->len < WORD - 1) {
		r->word[r->len++] = (char)c;
		c = more ? getc_unlocked(r->f) : EOF;
		more = more && is_more(r, c);
		if (!more) {
			ungetc(c, r->f);
			break;
		}
	}
	r->word[r->len] = '\0';
	if (more && r->len == WORD - 1)
		fail(r, "a word of more than %d characters: %.16s...",
		     WORD - 1, r->word);
	if (r->rc)
		r->len = 0;
}

static bool is(const struct reader *r, const char *what)
{
	return *r->word == *what && !strcmp(r->word, what);
}

static void expect(struct reader *r, const char *what)
{
	char wanted[WORD];

	next(r);
	snprintf(wanted, sizeof(wanted), "\"%s\"", what);
	if (!is(r, what))
		unexpected(r, wanted);
}

/* The present word as a number up to most; unit: what follows it, or 0. */
static uint64_t number(struct reader *r, const char *what, uint64_t most,
		       const char *unit)
{
	char *end = r->word;
	uint64_t v = 0;

	errno = 0;
	if (r->len)
		v = strtoull(r->word, &end, 10);
	if (r->len && (*r->word == '-' || errno || v > most))
		fail(r, "%s, expected %s of 0 to %llu", r->word, what,
		     (unsigned long long)most);
	else if (end == r->word || (*end && (!unit || strcmp(end, unit))))
		unexpected(r, what);
	else if (unit && !*end) /* "8 b" */
		expect(r, unit);
	return v;
}

static uint64_t next_number(struct reader *r, const char *what, uint64_t most)
{
	next(r);
	return number(r, what, most, NULL);
}

/* A rank, or -1 for any. */
static uint32_t next_rank(struct reader *r, bool any)
{
	next(r);
	return any && is(r, "-1") ? NP_ANY :
	       (uint32_t)number(r, "a rank", NP_ANY - 1, NULL);
}

/* A tag, or -1 for any. */
static uint32_t next_tag(struct reader *r, bool any)
{
	uint32_t tag = NP_ANY;
	uint64_t of_file;

	next(r);
	if (any && is(r, "-1"))
		return tag;
	of_file = number(r, "a tag", UINT64_MAX, NULL);
	if (!r->rc)
		r->rc = np_graph_tag(r->g, of_file, &tag, r->err);
	return tag;
}

/* What may follow an operation, in any order; ends at another word. */
static void options(struct reader *r, struct np_graph_op *op)
{
	bool message = op->kind != NP_OP_CALC;

	for (next(r);; next(r))
		if (message && is(r, "tag"))
			op->tag = next_tag(r, op->kind == NP_OP_RECV);
		else if (is(r, "cpu"))
			op->cpu = (uint8_t)next_number(r, "a processor",
						       UINT8_MAX);
		else if (is(r, "nic"))
			op->nic = (uint8_t)next_number(r, "an adapter",
						       UINT8_MAX);
		else
			return;
}

/* The present word is "send", "recv" or "calc"; the last one is behind it. */
static uint32_t operation(struct reader *r)
{
	struct np_graph_op op = {
		.line = r->line > UINT32_MAX ? UINT32_MAX : (uint32_t)r->line,
	};
	uint32_t index = 0;

	if (is(r, "calc")) {
		op.size = next_number(r, "a time in whole ns", NP_GRAPH_MAX_SIZE);
	} else {
		op.kind = is(r, "send") ? NP_OP_SEND : NP_OP_RECV;
		next(r);
		op.size = number(r, "a size in bytes, 8b", NP_GRAPH_MAX_SIZE,
				 "b");
		expect(r, op.kind == NP_OP_SEND ? "to" : "from");
		op.peer = next_rank(r, op.kind == NP_OP_RECV);
	}
	options(r, &op);
	if (!r->rc)
		r->rc = np_graph_add(r->g, &op, &index, r->err);
	return index;
}

static bool is_operation(const struct reader *r)
{
	return is(r, "send") || is(r, "recv") || is(r, "calc");
}

/* The number of l7: 7; of all else 0. */
static uint32_t number_of(const char *name)
{
	uint64_t n = 0;

	if (name[0] != 'l' || name[1] == '0')
		return 0;
	for (const char *p = name + 1; *p; p++) {
		if (*p < '0' || *p > '9' || n > NP_GRAPH_MAX_OPS)
			return 0;
		n = 10 * n + (uint64_t)(*p - '0');
	}
	return n > NP_GRAPH_MAX_OPS ? 0 : (uint32_t)n;
}

static bool find(const struct reader *r, const char *name, uint32_t *op)
{
	uint32_t n = number_of(name);
	bool in_order = n && n <= r->in_order;

	if (!in_order) {
		n = np_numbers_find(&r->names, name, strlen(name));
		if (n == NP_NO_NUMBER)
			return false;
	}
	*op = in_order ? n - 1 : r->op[n];
	return true;
}

static void define(struct reader *r, const char *name)
{
	uint32_t op, there;

	next(r);
	if (!is_operation(r)) {
		unexpected(r, "send, recv or calc");
		return;
	}
	op = operation(r);
	if (r->rc)
		return;
	if (number_of(name) == op + 1 && r->in_order == op && !r->names.n) {
		r->in_order++;
	} else if (find(r, name, &there)) {
		fail(r, "%s is there twice", name);
	} else if (np_numbers_get(&r->names, name, strlen(name)) ==
		   NP_NO_NUMBER ||
		   np_array_room(&r->op, &r->op_room, r->names.n,
				 sizeof(*r->op))) {
		no_memory(r);
	} else {
		r->op[r->names.n - 1] = op;
	}
}

/* False: not both are there. */
static bool depend(struct reader *r, const char *x, const char *y,
		   enum np_dep_kind kind)
{
	uint32_t from, to;

	if (!find(r, x, &from) || !find(r, y, &to))
		return false;
	r->rc = np_graph_depend(r->g, from, to, kind, r->err);
	return true;
}

static void keep_for_later(struct reader *r, const char *x,
			   enum np_dep_kind kind)
{
	struct later *l;

	if (np_array_more(&r->later, r->n_later, sizeof(*l))) {
		no_memory(r);
		return;
	}
	l = &r->later[r->n_later++];
	l->line = r->line;
	l->kind = kind;
	strcpy(l->x, x);
	strcpy(l->y, r->word);
}

/* "requires NAME"; the word behind it is the present one then. */
static void dependency(struct reader *r, const char *x)
{
	enum np_dep_kind kind = is(r, "requires") ? NP_REQUIRES :
						    NP_IREQUIRES;

	next(r);
	if (!is_name(*r->word))
		unexpected(r, "the name of an operation");
	else if (!depend(r, x, r->word, kind))
		keep_for_later(r, x, kind);
	next(r);
}

static void named(struct reader *r)
{
	char name[WORD];

	strcpy(name, r->word);
	next(r);
	if (is(r, ":"))
		define(r, name);
	else if (is(r, "requires") || is(r, "irequires"))
		dependency(r, name);
	else
		unexpected(r, "\":\", requires or irequires");
}

/* What was named before it was there. */
static void end_rank(struct reader *r)
{
	uint64_t line = r->line;

	while (!r->rc && r->n_later) {
		const struct later *l = &r->later[--r->n_later];

		r->line = l->line;
		if (!depend(r, l->x, l->y, l->kind))
			fail(r, "%.64s depends on %.64s, and not both are "
			     "there", l->x, l->y);
	}
	r->line = line;
	r->in_order = 0;
	np_numbers_free(&r->names);
}

static void rank(struct reader *r)
{
	r->rank = (uint32_t)next_number(r, "a rank", r->n_ranks - 1);
	expect(r, "{");
	if (r->rc)
		return;
	r->in_rank = true;
	r->rc = np_graph_rank(r->g, r->rank, NULL, r->err);
	next(r);
	while (!r->rc && !is(r, "}"))
		if (is_operation(r))
			operation(r);
		else if (is_name(*r->word))
			named(r);
		else
			unexpected(r, "an operation, or }");
	end_rank(r);
	r->in_rank = false;
}

static void all(struct reader *r)
{
	uint64_t seen = 0;

	expect(r, "num_ranks");
	r->n_ranks = (uint32_t)next_number(r, "a number of ranks",
					   NP_GRAPH_MAX_RANKS);
	if (!r->rc)
		r->rc = np_graph_new(r->name, r->n_ranks, &r->g, r->err);
	for (next(r); r->len; next(r), seen++)
		if (is(r, "rank"))
			rank(r);
		else
			unexpected(r, "rank");
	if (seen < r->n_ranks)
		fail(r, "the file ends after %llu of %u ranks",
		     (unsigned long long)seen, r->n_ranks);
	if (!r->rc)
		r->rc = np_graph_finish(r->g, r->err);
}

static int read_text(FILE *f, const char *name, struct np_graph **g,
		     struct np_err *err)
{
	struct reader r = { .f = f, .name = name, .line = 1, .err = err };

	all(&r);
	np_numbers_free(&r.names);
	free(r.op);
	free(r.later);
	*g = r.g;
	return r.rc;
}

/* Of a pipe nothing is known before it is read. */
static int check_kind(int fd, const char *name, struct np_err *err)
{
	char begin[NP_KIND_BYTES];
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t n = at < 0 ? 0 : pread(fd, begin, sizeof(begin), at);

	return n > 0 ? np_kind_check(begin, (size_t)n, NP_KIND_GOAL, name,
				     err) : 0;
}

/* The first byte tells them: what is binary begins with that of no text. */
static int read_any(FILE *f, const char *name, struct np_graph **g,
		    struct np_err *err)
{
	int first = getc(f);

	if (first == EOF && ferror(f))
		return np_errf(err, -errno, "%s: %s", name, strerror(errno));
	ungetc(first, f);
	return first == NP_GOAL_BINARY ? np_goal_read_binary(f, name, g, err) :
					 read_text(f, name, g, err);
}

int np_goal_read(int fd, const char *name, struct np_graph **out,
		 struct np_err *err)
{
	int rc = check_kind(fd, name, err);
	int own = rc ? -1 : dup(fd);
	FILE *f = own < 0 ? NULL : fdopen(own, "r");
	struct np_graph *g = NULL;

	if (rc)
		return rc;
	if (!f) {
		rc = np_errf(err, -errno, "%s: %s", name, strerror(errno));
		if (own >= 0)
			close(own);
		return rc;
	}
	setvbuf(f, NULL, _IOFBF, 1u << 16);
	rc = read_any(f, name, &g, err);
	if (ferror(f))
		rc = np_errf(err, -EIO, "%s: %s", name, strerror(EIO));
	fclose(f);
	if (rc)
		np_graph_free(g);
	else
		*out = g;
	return rc;
}
