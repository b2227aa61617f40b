#include "np_goal.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_array.h"
#include "np_read.h"

/*
 * ---- GOAL binary ----
 *
 * As txt2bin of LogGOPSim writes it: little endian and packed. After the
 * cookie, offsets count from 0.
 *
 *	u64 4223; then, and from here offsets are counted:
 *	u32 ranks; u8 processors; u8 adapters; ranks * { u64 start, end }
 *	of each rank: u32 n; u32 roots; roots * u32; n * node; appendix of u32
 *	node: u32 number of dependencies; u8 1 send, 2 receive, 3 calc; u32
 *	peer; u64 size; u32 tag; u8 processor, adapter; u32 n, first: range of
 *	the appendix with the nodes that require this one; u32 n, first: those
 *	that irequire it
 *
 * The number of dependencies and the roots follow from the other members and
 * are not used.
 */

#define BINARY_FIRST_BYTE 0x7f
#define COOKIE 4223
#define HEAD_BYTES 6
#define NODE_BYTES 39
#define READ_STEP ((size_t)1 << 20)

struct binary_reader {
	FILE *f;
	const char *name; /* of the file */
	uint64_t at;	  /* bytes read after the cookie */
	struct np_graph *g;
	uint64_t *ends; /* by rank: start, end */
	char *block;	/* data of one rank */
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

/* Reads exactly n bytes. */
static int get_bytes(struct binary_reader *r, char *to, size_t n)
{
	size_t got = fread(to, 1, n, r->f);

	r->at += got;
	return got == n ? 0 :
			  np_errf(r->err, -EINVAL,
				  "%s: the file ends, expected %zu bytes more",
				  r->name, n - got);
}

/* Skips bytes up to an offset. */
static int skip_to(struct binary_reader *r, uint64_t at)
{
	for (; r->at < at; r->at++)
		if (getc_unlocked(r->f) == EOF)
			return np_errf(
				r->err, -EINVAL,
				"%s: the file ends, expected %llu bytes more",
				r->name, (unsigned long long)(at - r->at));
	return 0;
}

/* Allocates as data arrives, not as much as a damaged header claims. */
static int get_block(struct binary_reader *r, char **block, size_t *room,
		     uint64_t n)
{
	for (uint64_t at = 0; at < n;) {
		size_t some = n - at < READ_STEP ? (size_t)(n - at) : READ_STEP;
		int rc;

		if (np_array_reserve(block, room, at + some, 1))
			return np_errf(r->err, -ENOMEM, "%s: no memory to read",
				       r->name);
		rc = get_bytes(r, *block + at, some);
		if (rc)
			return rc;
		at += some;
	}
	return 0;
}

/* Error message about a value in the data of the current rank. */
static int binary_error(struct binary_reader *r, const char *what,
			uint64_t value, uint64_t most)
{
	return np_errf(r->err, -EINVAL,
		       "%s: rank %u: %s %llu, expected at most %llu", r->name,
		       r->rank, what, (unsigned long long)value,
		       (unsigned long long)most);
}

/* Adds an operation from its 39 bytes in the file. */
static int add_binary_op(struct binary_reader *r, const char *p, uint32_t i)
{
	struct np_graph_op op = {
		.peer = u32(p + 5),
		.size = u64(p + 9),
		.tag = u32(p + 17),
		.cpu = (uint8_t)p[21],
		.nic = (uint8_t)p[22],
		.line = i + 1,
	};

	if (p[4] < 1 || p[4] > 3)
		return np_errf(
			r->err, -EINVAL,
			"%s: rank %u: operation %u of type %d, expected 1 to 3",
			r->name, r->rank, i, p[4]);
	op.kind = p[4] == 1 ? NP_OP_SEND : p[4] == 2 ? NP_OP_RECV : NP_OP_CALC;
	if (op.kind != NP_OP_CALC && op.tag != NP_ANY &&
	    np_graph_tag(r->g, op.tag, &op.tag, r->err))
		return -ENOMEM;
	return np_graph_add(r->g, &op, NULL, r->err);
}

/*
 * Adds the nodes that wait for operation i: n entries of the appendix from
 * first.
 */
static int add_binary_deps(struct binary_reader *r, const char *appendix,
			   uint64_t size, const char *p, uint32_t i,
			   enum np_dep_kind kind)
{
	uint32_t n = u32(p), first = u32(p + 4);

	if (n && (uint64_t)first + n > size)
		return binary_error(r, "an appendix up to", (uint64_t)first + n,
				    size);
	for (uint32_t k = 0; k < n; k++) {
		int rc = np_graph_depend(
			r->g, u32(appendix + 4 * ((size_t)first + k)), i, kind,
			r->err);

		if (rc)
			return rc;
	}
	return 0;
}

/*
 * The numbers of dependencies may not exceed the appendix together; otherwise
 * entries could be shared and a small file would produce a large graph.
 */
static int read_binary_rank(struct binary_reader *r, uint64_t size)
{
	uint32_t n, roots;
	uint64_t behind, total = 0;
	const char *node, *appendix;
	int rc;

	if (size < 8)
		return np_errf(r->err, -EINVAL,
			       "%s: rank %u: %u bytes, expected at least 8",
			       r->name, r->rank, (unsigned)size);
	rc = get_block(r, &r->block, &r->room, size);
	if (rc)
		return rc;
	n = u32(r->block);
	roots = u32(r->block + 4);
	behind = 8 + 4 * (uint64_t)roots + NODE_BYTES * (uint64_t)n;
	if (behind > size)
		return binary_error(r, "operations up to byte", behind, size);
	node = r->block + 8 + 4 * (size_t)roots;
	appendix = r->block + behind;
	for (uint32_t i = 0; !rc && i < n; i++) {
		const char *p = node + NODE_BYTES * (size_t)i;

		total += (uint64_t)u32(p + 23) + u32(p + 31);
		rc = add_binary_op(r, p, i);
	}
	if (!rc && total > (size - behind) / 4)
		rc = binary_error(r, "dependencies of number", total,
				  (size - behind) / 4);
	for (uint32_t i = 0; !rc && i < n; i++) {
		const char *p = node + NODE_BYTES * (size_t)i;

		for (int kind = NP_REQUIRES; !rc && kind <= NP_IREQUIRES;
		     kind++)
			rc = add_binary_deps(r, appendix, (size - behind) / 4,
					     p + 23 + 8 * kind, i,
					     (enum np_dep_kind)kind);
	}
	return rc;
}

/* Reads the header of a binary file, then one rank after the other. */
static int read_all(struct binary_reader *r)
{
	char head[HEAD_BYTES];
	size_t room = 0;
	int rc = get_bytes(r, head, sizeof(head));

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
			return np_errf(r->err, -EINVAL,
				       "%s: rank %u from byte %llu to %llu, "
				       "expected what follows %llu",
				       r->name, r->rank,
				       (unsigned long long)start,
				       (unsigned long long)end,
				       (unsigned long long)r->at);
		rc = skip_to(r, start);
		if (!rc)
			rc = np_graph_rank(r->g, r->rank, NULL, r->err);
		if (!rc)
			rc = read_binary_rank(r, end - start);
	}
	return rc ? rc : np_graph_finish(r->g, r->err);
}

/* On an error *g may hold an unfinished graph, for the caller to free. */
static int read_binary(FILE *f, const char *name, struct np_graph **g,
		       struct np_err *err)
{
	struct binary_reader r = { .f = f, .name = name, .err = err };
	uint64_t cookie = 0;
	size_t n = fread(&cookie, 1, sizeof(cookie), f);
	int rc = np_kind_check((char *)&cookie, n, NP_KIND_GOAL, name, err);

	if (rc)
		return rc;
	/* Anything else is text, and no valid text begins with this byte. */
	if (n < sizeof(cookie) || le64toh(cookie) != COOKIE)
		return np_errf(err, -EINVAL,
			       "%s:1: byte 0x%02x, expected \"num_ranks\"",
			       name, BINARY_FIRST_BYTE);
	rc = read_all(&r);
	free(r.ends);
	free(r.block);
	*g = r.g;
	return rc;
}

/*
 * ---- GOAL text ----
 *
 *	goal := "num_ranks" INT rank*
 *	rank := "rank" INT "{" (op | dep)* "}"
 *	op   := [NAME ":"] "send" INT "b" "to" INT option*
 *	      | [NAME ":"] "recv" INT "b" "from" (INT | "-1") option*
 *	      | [NAME ":"] "calc" INT option*
 *	option := "tag" (INT | "-1") | "cpu" INT | "nic" INT
 *	dep  := NAME ("requires" | "irequires") NAME
 *
 * Comments are those of C++. A dependency may precede the operations that it
 * names.
 */

#define WORD 64 /* bytes of the longest word, plus 1 */
#define TEXT_BYTES (1 << 16)

/* The name of an operation at its place in the file. */
struct name {
	char text[WORD]; /* of which the first len bytes count */
	size_t len;
	uint32_t number; /* see number_in_name() */
	uint64_t line;
};

/* A dependency on an operation that is not defined yet. */
struct later {
	struct name x, y;
	enum np_dep_kind kind;
};

struct text_reader {
	FILE *f;
	const char *name; /* of the file */
	struct np_graph *g;
	uint64_t line;
	uint32_t n_ranks, rank;
	bool in_rank;
	/*
	 * What was read of the file, and behind it a null byte. Words are used
	 * where they are; only what is longer than a word may be cut at the end.
	 */
	char text[TEXT_BYTES + WORD];
	const char *at, *end; /* the part that is not used yet */
	bool at_eof;
	const char *word; /* the current word */
	size_t len;	  /* 0: end of the file, or an error */
	int rc;		  /* the first error; after it nothing is read */
	struct np_err *err;

	/*
	 * Names of the operations of a rank. Schedgen names them l1, l2, l3 ...
	 * in each rank, and generators for NCCL count on from rank to rank or
	 * begin with l0; as long as each name is the next number, only their
	 * number and the first one are stored.
	 */
	uint32_t in_order, first_number;
	struct np_index names;
	uint32_t *op; /* by name */
	size_t op_room;
	struct later *later;
	size_t n_later;
};

/* Error message that begins with "FILE:LINE: rank R: ". */
__attribute__((format(printf, 2, 3))) static void fail(struct text_reader *r,
						       const char *fmt, ...)
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

static void no_memory(struct text_reader *r)
{
	if (!r->rc)
		r->rc = np_errf(r->err, -ENOMEM, "%s: no memory to read",
				r->name);
}

/* Error message about the current word, which may be no ASCII. */
static void unexpected(struct text_reader *r, const char *wanted)
{
	unsigned char first = (unsigned char)*r->word;

	if (!r->len)
		fail(r, "the file ends, expected %s", wanted);
	else if (first < ' ' || first > '~')
		fail(r, "byte 0x%02x, expected %s", first, wanted);
	else
		fail(r, "\"%.*s\", expected %s", (int)r->len, r->word, wanted);
}

/* Moves the unused text to the front and reads more; false at end of file. */
static bool read_more(struct text_reader *r)
{
	size_t left = (size_t)(r->end - r->at), n;

	if (left)
		memmove(r->text, r->at, left);
	n = fread(r->text + left, 1, TEXT_BYTES - left, r->f);
	r->at = r->text;
	r->end = r->text + left + n;
	r->text[left + n] = '\0';
	return n > 0;
}

/* The next character, or EOF. */
static int get(struct text_reader *r)
{
	if (r->at == r->end && !read_more(r))
		return EOF;
	return (unsigned char)*r->at++;
}

/* Skips a comment: a block comment, or one to the end of the line. */
static void skip_comment(struct text_reader *r)
{
	bool block = r->at[1] == '*';
	uint64_t from = r->line;
	int c = 0, last;

	r->at += 2;
	do {
		last = c;
		c = get(r);
		r->line += c == '\n';
		if (block ? last == '*' && c == '/' : c == '\n')
			return;
	} while (c != EOF);
	if (!block)
		return;
	r->line = from;
	fail(r, "unterminated comment");
}

/* Skips blanks and comments; false at the end of the file, or on an error. */
static inline bool find_word(struct text_reader *r)
{
	for (;;) {
		const char *p = r->at;

		while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
			r->line += *p++ == '\n';
		r->at = p;
		if (r->end - p < WORD && !r->at_eof)
			r->at_eof = !read_more(r);
		else if (p[0] != '/' || (p[1] != '/' && p[1] != '*'))
			return p < r->end;
		else
			skip_comment(r);
		if (r->rc)
			return false;
	}
}

/* Characters of names; also of numbers and of the words of the language. */
static const bool name_char[UCHAR_MAX + 1] = {
	['a' ... 'z'] = true,
	['A' ... 'Z'] = true,
	['0' ... '9'] = true,
	['_'] = true,
};

static bool is_name(int c)
{
	return name_char[(unsigned char)c];
}

/*
 * Reads the next word: a name, a number or a punctuation mark. A number may
 * contain a point or comma, for error messages.
 */
static void next_word(struct text_reader *r)
{
	const char *p;

	r->word = "";
	r->len = 0;
	if (r->rc || !find_word(r))
		return;
	r->word = r->at;
	p = r->at + 1;
	if (is_name(*r->word) || *r->word == '-')
		while (is_name(*p) || ((*p == '.' || *p == ',') &&
				       isdigit((unsigned char)*r->word)))
			p++;
	r->at = p;
	r->len = (size_t)(p - r->word);
	if (r->len < WORD)
		return;
	fail(r, "a word of more than %d characters: %.16s...", WORD - 1,
	     r->word);
	r->len = 0;
}

/* what: a literal, so that no function needs to be called. */
static inline bool word_is(const struct text_reader *r, const char *what)
{
	return r->len == strlen(what) && !memcmp(r->word, what, strlen(what));
}

/* Reads a word that must be `what`. */
static inline void expect(struct text_reader *r, const char *what)
{
	char wanted[WORD];

	next_word(r);
	if (word_is(r, what))
		return;
	snprintf(wanted, sizeof(wanted), "\"%s\"", what);
	unexpected(r, wanted);
}

/*
 * The current word as a number of least to most; unit: its suffix, one
 * character, or NULL.
 */
static uint64_t parse_number(struct text_reader *r, const char *what,
			     uint64_t least, uint64_t most, const char *unit)
{
	const char *p = r->word, *end = p + r->len;
	bool large = false;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		large |= __builtin_mul_overflow(v, 10, &v) ||
			 __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
	if (r->len && (*r->word == '-' || large || v > most ||
		       (v < least && p > r->word)))
		fail(r, "%.*s, expected %s of %llu to %llu", (int)r->len,
		     r->word, what, (unsigned long long)least,
		     (unsigned long long)most);
	else if (p == r->word ||
		 (p < end && (!unit || end - p != 1 || *p != *unit)))
		unexpected(r, what);
	else if (unit && p == end) /* unit as a word of its own: "8 b" */
		expect(r, unit);
	return v;
}

static uint64_t next_number(struct text_reader *r, const char *what,
			    uint64_t most)
{
	next_word(r);
	return parse_number(r, what, 0, most, NULL);
}

/* Reads a rank, or -1 for any. */
static uint32_t next_rank(struct text_reader *r, bool any)
{
	next_word(r);
	if (any && word_is(r, "-1"))
		return NP_ANY;
	return (uint32_t)parse_number(r, any ? "a rank (-1: any)" : "a rank", 0,
				      r->n_ranks - 1, NULL);
}

/* Reads a tag, or -1 for any. */
static uint32_t next_tag(struct text_reader *r, bool any)
{
	uint32_t tag = NP_ANY;
	uint64_t of_file;

	next_word(r);
	if (any && word_is(r, "-1"))
		return tag;
	of_file = parse_number(r, "a tag", 0, UINT64_MAX, NULL);
	if (!r->rc)
		r->rc = np_graph_tag(r->g, of_file, &tag, r->err);
	return tag;
}

/* Reads the options of an operation, in any order, and the word after them. */
static void read_options(struct text_reader *r, struct np_graph_op *op)
{
	bool message = op->kind != NP_OP_CALC;
	unsigned seen = 0, bit;

	for (next_word(r);; next_word(r), seen |= bit) {
		bit = message && word_is(r, "tag") ? 1 :
		      word_is(r, "cpu")		   ? 2 :
		      word_is(r, "nic")		   ? 4 :
						     0;
		if (seen & bit)
			fail(r, "a second %.*s", (int)r->len, r->word);
		if (!bit || r->rc)
			return;
		if (bit == 1)
			op->tag = next_tag(r, op->kind == NP_OP_RECV);
		else if (bit == 2)
			op->cpu = (uint16_t)next_number(r, "a processor",
							UINT16_MAX);
		else
			op->nic = (uint8_t)next_number(r, "an adapter",
						       UINT8_MAX);
	}
}

/* The line of an operation. */
static uint32_t line_of(const struct text_reader *r)
{
	return r->line > UINT32_MAX ? UINT32_MAX : (uint32_t)r->line;
}

/*
 * Reads an operation whose first word ("send", "recv" or "calc") is the current
 * one, and the word after it.
 */
static uint32_t read_operation(struct text_reader *r)
{
	struct np_graph_op op = { .line = line_of(r) };
	uint32_t index = 0;

	if (word_is(r, "calc")) {
		op.size =
			next_number(r, "a time in whole ns", NP_GRAPH_MAX_SIZE);
	} else {
		op.kind = word_is(r, "send") ? NP_OP_SEND : NP_OP_RECV;
		next_word(r);
		op.size = parse_number(r, "a size in bytes (8b)", 0,
				       NP_GRAPH_MAX_SIZE, "b");
		expect(r, op.kind == NP_OP_SEND ? "to" : "from");
		op.peer = next_rank(r, op.kind == NP_OP_RECV);
	}
	read_options(r, &op);
	if (!r->rc)
		r->rc = np_graph_add(r->g, &op, &index, r->err);
	return index;
}

static bool is_operation(const struct text_reader *r)
{
	return word_is(r, "send") || word_is(r, "recv") || word_is(r, "calc");
}

/*
 * 1 more than the number in the current word, if it is a name such as l7;
 * otherwise 0.
 */
static uint32_t number_in_name(const struct text_reader *r)
{
	const char *end = r->word + r->len;
	uint64_t n = 0;

	if (r->word[0] != 'l' || r->len < 2 ||
	    (r->word[1] == '0' && r->len > 2))
		return 0;
	for (const char *p = r->word + 1; p < end; p++) {
		if (*p < '0' || *p > '9' || n > NP_GRAPH_MAX_OPS)
			return 0;
		n = 10 * n + (uint64_t)(*p - '0');
	}
	return n > NP_GRAPH_MAX_OPS ? 0 : (uint32_t)n + 1;
}

/* Copies the current word, and what follows it up to a fixed length. */
static void copy_name(const struct text_reader *r, struct name *to)
{
	memcpy(to->text, r->word, WORD);
	to->len = r->len;
	to->number = number_in_name(r);
	to->line = r->line;
}

/* The index of an operation by its name; false if there is none. */
static bool find_op(const struct text_reader *r, const struct name *name,
		    uint32_t *op)
{
	uint32_t n = name->number - r->first_number;
	bool in_order = name->number && n < r->in_order;

	if (!in_order) {
		n = np_index_find(&r->names, name->text, name->len);
		if (n == NP_NO_INDEX)
			return false;
	}
	*op = in_order ? n : r->op[n];
	return true;
}

/*
 * Reads the operation after "NAME:" and stores its name, unless it is the next
 * number.
 */
static void define_name(struct text_reader *r, const struct name *name)
{
	uint32_t op, there;

	next_word(r);
	if (!is_operation(r)) {
		unexpected(r, "send, recv or calc");
		return;
	}
	op = read_operation(r);
	if (r->rc)
		return;
	if (!op)
		r->first_number = name->number;
	if (name->number && name->number - r->first_number == op &&
	    r->in_order == op && !r->names.n) {
		r->in_order++;
	} else if (find_op(r, name, &there)) {
		r->line = name->line; /* the word after it was read already */
		fail(r, "%.*s is defined twice", (int)name->len, name->text);
	} else if (np_index_add(&r->names, name->text, name->len) ==
			   NP_NO_INDEX ||
		   np_array_reserve(&r->op, &r->op_room, r->names.n,
				    sizeof(*r->op))) {
		no_memory(r);
	} else {
		r->op[r->names.n - 1] = op;
	}
}

/* Returns false if one of the two is not defined yet. */
static bool add_dep(struct text_reader *r, const struct name *x,
		    const struct name *y, enum np_dep_kind kind)
{
	uint32_t from, to;

	if (!find_op(r, x, &from) || !find_op(r, y, &to))
		return false;
	r->rc = np_graph_depend(r->g, from, to, kind, r->err);
	return true;
}

/* Reads "requires NAME" and the word after it. */
static void read_dependency(struct text_reader *r, const struct name *x)
{
	enum np_dep_kind kind = word_is(r, "requires") ? NP_REQUIRES :
							 NP_IREQUIRES;
	struct name y;

	next_word(r);
	if (!is_name(*r->word)) {
		unexpected(r, "the name of an operation");
		return;
	}
	copy_name(r, &y);
	if (!add_dep(r, x, &y, kind)) {
		if (np_array_grow(&r->later, r->n_later, sizeof(*r->later)))
			no_memory(r);
		else
			r->later[r->n_later++] = (struct later){ *x, y, kind };
	}
	next_word(r);
}

/*
 * Reads what begins with the name of an operation: its definition or a
 * dependency.
 */
static void read_named(struct text_reader *r)
{
	struct name name;

	copy_name(r, &name);
	next_word(r);
	if (word_is(r, ":"))
		define_name(r, &name);
	else if (word_is(r, "requires") || word_is(r, "irequires"))
		read_dependency(r, &name);
	else
		unexpected(r, "\":\", requires or irequires");
}

/* Adds the dependencies that preceded their operations. */
static void add_later_deps(struct text_reader *r)
{
	uint64_t line = r->line;

	while (!r->rc && r->n_later) {
		const struct later *l = &r->later[--r->n_later];

		r->line = l->y.line;
		if (!add_dep(r, &l->x, &l->y, l->kind))
			fail(r,
			     "%.*s depends on %.*s, but not both are defined",
			     (int)l->x.len, l->x.text, (int)l->y.len,
			     l->y.text);
	}
	r->line = line;
	r->in_order = 0;
	np_index_free(&r->names);
}

/*
 * Lines as generators print them: an operation whose name is the next number,
 * or a dependency between two such operations. They are most of a file, and are
 * read without looking for words. Any other line is left to the functions above.
 * Text ends with a null byte, which none of these functions passes.
 */

static inline bool plain_text(const char **p, const char *what)
{
	if (memcmp(*p, what, strlen(what)))
		return false;
	*p += strlen(what);
	return true;
}

/* A number up to most, of at most 18 digits, which cannot overflow. */
static inline bool plain_number(const char **p, uint64_t most, uint64_t *v)
{
	const char *from = *p, *at = from;
	uint64_t n = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		n = 10 * n + (uint64_t)(*at - '0');
	*p = at;
	*v = n;
	return at > from && at - from <= 18 && n <= most;
}

/* A name such as l7; *number: as number_in_name(). */
static inline bool plain_name(const char **p, uint32_t *number)
{
	const char *from = *p;
	uint64_t v;

	if (!plain_text(p, "l") || !plain_number(p, NP_GRAPH_MAX_OPS, &v) ||
	    (from[1] == '0' && *p > from + 2))
		return false;
	*number = (uint32_t)v + 1;
	return true;
}

/* An option such as " cpu 3"; true if there is none, too. */
static inline bool plain_option(const char **p, const char *what, uint64_t most,
				uint64_t *v)
{
	return !plain_text(p, what) || plain_number(p, most, v);
}

static bool plain_dependency(struct text_reader *r, const char **p, uint32_t x)
{
	enum np_dep_kind kind = NP_REQUIRES;
	uint32_t y;

	if (!plain_text(p, " requires ")) {
		kind = NP_IREQUIRES;
		if (!plain_text(p, " irequires "))
			return false;
	}
	if (!plain_name(p, &y) || **p != '\n' ||
	    x - r->first_number >= r->in_order ||
	    y - r->first_number >= r->in_order)
		return false;
	r->rc = np_graph_depend(r->g, x - r->first_number, y - r->first_number,
				kind, r->err);
	return true;
}

static bool plain_operation(struct text_reader *r, const char **p,
			    uint32_t number)
{
	struct np_graph_op op = { .line = line_of(r) };
	uint64_t peer = 0, tag = 0, cpu = 0, nic = 0;

	if (!plain_text(p, ": calc ")) {
		op.kind = plain_text(p, ": send ") ? NP_OP_SEND : NP_OP_RECV;
		if (op.kind == NP_OP_RECV && !plain_text(p, ": recv "))
			return false;
	}
	if (!plain_number(p, NP_GRAPH_MAX_SIZE, &op.size))
		return false;
	if (op.kind != NP_OP_CALC &&
	    (!(op.kind == NP_OP_SEND ? plain_text(p, "b to ") :
				       plain_text(p, "b from ")) ||
	     !plain_number(p, r->n_ranks - 1, &peer) ||
	     !plain_option(p, " tag ", UINT64_MAX, &tag)))
		return false;
	if (!plain_option(p, " cpu ", UINT16_MAX, &cpu) ||
	    !plain_option(p, " nic ", UINT8_MAX, &nic) || **p != '\n')
		return false;
	if (!r->in_order)
		r->first_number = number;
	if (number - r->first_number != r->in_order)
		return false;
	op.peer = (uint32_t)peer;
	op.cpu = (uint16_t)cpu;
	op.nic = (uint8_t)nic;
	if (tag)
		r->rc = np_graph_tag(r->g, tag, &op.tag, r->err);
	if (!r->rc)
		r->rc = np_graph_add(r->g, &op, NULL, r->err);
	r->in_order++;
	return true;
}

/*
 * Reads plain lines from the current word on, and the word after them; false if
 * there are none, or if not all operations so far are named by their number.
 */
static bool read_plain_lines(struct text_reader *r)
{
	const char *line = r->word, *p = line;
	uint32_t number;

	if (r->names.n || r->in_order != np_graph_rank_ops(r->g, r->rank))
		return false;
	while (!r->rc && plain_name(&p, &number) &&
	       (*p == ' ' ? plain_dependency(r, &p, number) :
			    plain_operation(r, &p, number))) {
		r->line += !r->rc;
		line = ++p;
	}
	if (line == r->word)
		return false;
	r->at = line;
	next_word(r);
	return true;
}

/* Begins the rank that the file names next. */
static void begin_rank(struct text_reader *r)
{
	int rc;

	r->rank = (uint32_t)next_number(r, "a rank", r->n_ranks - 1);
	if (r->rc)
		return;
	rc = np_graph_rank(r->g, r->rank, NULL, r->err);
	if (rc == -EINVAL) /* its message has no line */
		fail(r, "rank %u appears twice", r->rank);
	else
		r->rc = rc;
}

/* Reads "rank N { ... }". */
static void read_rank(struct text_reader *r)
{
	begin_rank(r);
	expect(r, "{");
	if (r->rc)
		return;
	r->in_rank = true;
	next_word(r);
	while (!r->rc && !word_is(r, "}"))
		if (read_plain_lines(r))
			continue;
		else if (is_operation(r))
			read_operation(r);
		else if (is_name(*r->word))
			read_named(r);
		else
			unexpected(r, "an operation, or }");
	add_later_deps(r);
	r->in_rank = false;
}

/* Reads the whole file. */
static void read_ranks(struct text_reader *r)
{
	uint64_t seen = 0;

	expect(r, "num_ranks");
	next_word(r);
	r->n_ranks = (uint32_t)parse_number(r, "a number of ranks", 1,
					    NP_GRAPH_MAX_RANKS, NULL);
	if (!r->rc)
		r->rc = np_graph_new(r->name, r->n_ranks, &r->g, r->err);
	for (next_word(r); r->len; next_word(r), seen++)
		if (word_is(r, "rank"))
			read_rank(r);
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
	struct text_reader r = { .f = f, .name = name, .line = 1, .err = err };

	r.at = r.end = r.text;
	read_more(&r);
	r.rc = np_kind_check(r.at, (size_t)(r.end - r.at), NP_KIND_GOAL, name,
			     err);
	if (!r.rc)
		read_ranks(&r);
	np_index_free(&r.names);
	free(r.op);
	free(r.later);
	*g = r.g;
	return r.rc;
}

/* No text begins with the first byte of a binary file. */
static int read_any(FILE *f, const char *name, struct np_graph **g,
		    struct np_err *err)
{
	int first = getc(f);

	if (first == EOF && ferror(f))
		return np_errf(err, -errno, "%s: %s", name, strerror(errno));
	ungetc(first, f);
	return first == BINARY_FIRST_BYTE ? read_binary(f, name, g, err) :
					    read_text(f, name, g, err);
}

int np_goal_read(int fd, const char *name, struct np_graph **out,
		 struct np_err *err)
{
	int own = dup(fd), rc;
	FILE *f = own < 0 ? NULL : fdopen(own, "r");
	struct np_graph *g = NULL;

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

/* ---- Writing GOAL text ---- */

/* Pairs of context and tag, sorted; empty if there is only one context. */
struct tags {
	uint64_t *pair;
	size_t n;
};

static uint64_t pair_of(const struct np_graph_op *op)
{
	return (uint64_t)op->context << 32 | op->tag;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Collects the pairs of all messages, if there are several contexts. */
static int number_tags(const struct np_graph *g, struct tags *t)
{
	bool several = false;
	size_t n = 0;

	t->pair = malloc((np_graph_messages(g) + 1) * sizeof(*t->pair));
	if (!t->pair)
		return -ENOMEM;
	for (uint32_t r = 0; r < np_graph_ranks(g); r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++) {
			struct np_graph_op op;

			np_graph_op(g, r, i, &op);
			if (op.kind != NP_OP_SEND)
				continue;
			several |= op.context != 0;
			t->pair[n++] = pair_of(&op);
		}
	if (!several)
		return 0;
	qsort(t->pair, n, sizeof(*t->pair), by_value);
	for (size_t i = 0; i < n; i++)
		if (!t->n || t->pair[i] != t->pair[t->n - 1])
			t->pair[t->n++] = t->pair[i];
	return 0;
}

/* The tag to write for a message: renumbered if there are several contexts. */
static uint64_t tag_of(const struct np_graph *g, const struct tags *t,
		       const struct np_graph_op *send)
{
	uint64_t pair = pair_of(send);
	const uint64_t *at = t->n ? bsearch(&pair, t->pair, t->n,
					    sizeof(*t->pair), by_value) :
				    NULL;

	return at ? (uint64_t)(at - t->pair) : np_graph_file_tag(g, send->tag);
}

/*
 * Writes one operation. A receive is written with the sender and tag that it is
 * matched with.
 */
static void write_op(const struct np_graph *g, const struct tags *t,
		     uint32_t rank, uint32_t i, FILE *f)
{
	struct np_graph_op op, send;
	uint32_t peer, at;

	np_graph_op(g, rank, i, &op);
	fprintf(f, "l%u: ", i + 1);
	if (op.kind == NP_OP_CALC) {
		fprintf(f, "calc %llu", (unsigned long long)op.size);
	} else {
		bool is_send = op.kind == NP_OP_SEND;

		np_graph_peer(g, rank, i, &peer, &at);
		send = op;
		if (!is_send)
			np_graph_op(g, peer, at, &send);
		fprintf(f, "%s %llub %s %u tag %llu", is_send ? "send" : "recv",
			(unsigned long long)op.size, is_send ? "to" : "from",
			peer, (unsigned long long)tag_of(g, t, &send));
	}
	if (op.cpu)
		fprintf(f, " cpu %u", op.cpu);
	if (op.nic)
		fprintf(f, " nic %u", op.nic);
	fputc('\n', f);
}

/* Writes dependencies on earlier operations, or those on later ones. */
static void write_deps(const struct np_graph *g, uint32_t rank, uint32_t i,
		       bool before, FILE *f)
{
	enum np_dep_kind kind;
	uint32_t y;

	for (size_t n = 0; np_graph_dep(g, rank, i, n, &y, &kind); n++)
		if ((y < i) == before)
			fprintf(f, "l%u %s l%u\n", i + 1,
				kind == NP_REQUIRES ? "requires" : "irequires",
				y + 1);
}

int np_goal_write(const struct np_graph *g, FILE *f, struct np_err *err)
{
	struct tags t = { .n = 0 };

	if (number_tags(g, &t))
		return np_errf(err, -ENOMEM, "no memory to write a graph");
	fprintf(f, "num_ranks %u\n", np_graph_ranks(g));
	for (uint32_t r = 0; r < np_graph_ranks(g); r++) {
		uint32_t n = np_graph_rank_ops(g, r);

		fprintf(f, "\nrank %u {\n", r);
		for (uint32_t i = 0; i < n; i++) {
			write_op(g, &t, r, i, f);
			write_deps(g, r, i, true, f);
		}
		/*
		 * Last, because not all readers accept names that are not
		 * defined yet.
		 */
		for (uint32_t i = 0; i < n; i++)
			write_deps(g, r, i, false, f);
		fprintf(f, "}\n");
	}
	free(t.pair);
	return ferror(f) ? np_errf(err, -EIO, "a graph cannot be written") : 0;
}
