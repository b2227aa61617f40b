#include "t.h"
#include "np_goal.h"

#include "some_goal.h"
#include "some_graph.h"

/* clang-format off */
static const struct {
	const char *name, *text, *says;
} bad[] = {
	{ "nothing", "", "some.goal:1: the file ends, expected \"num_ranks\"" },
	{ "something else", "hello", ":1: \"hello\", expected \"num_ranks\"" },
	{ "no ranks", "\nnum_ranks 0", ":2: 0, expected a number of ranks of "
	  "1 to" },
	{ "fewer than no ranks", "num_ranks -1", ":1: -1, expected a number of "
	  "ranks of 1 to" },
	{ "too many ranks", "num_ranks 99999999", "expected a number of ranks "
	  "of 1 to 4194304" },
	{ "a rank is missing", "num_ranks 2\nrank 0 {}\n",
	  ":3: the file ends after 1 of 2 ranks" },
	{ "a rank twice", "num_ranks 2\nrank 0 {}\nrank 0 {}",
	  "some.goal:3: rank 0 appears twice" },
	{ "a rank beyond", "num_ranks 2\nrank 2 {}", ":2: 2, expected a rank "
	  "of 0 to 1" },
	{ "truncated in a rank", "num_ranks 1\nrank 0 {\nl1: calc 5\n",
	  ":4: rank 0: the file ends, expected an operation, or }" },
	{ "truncated in a word", "num_ranks 1\nrank 0 {\nl1: cal",
	  ":3: rank 0: \"cal\", expected send, recv or calc" },
	{ "truncated in an operation", "num_ranks 1\nrank 0 {\nl1: send 8b",
	  ":3: rank 0: the file ends, expected \"to\"" },
	{ "a negative time", "num_ranks 1\nrank 0 {\ncalc -5 }",
	  ":3: rank 0: -5, expected a time in whole ns of 0 to" },
	{ "a negative size", "num_ranks 1\nrank 0 { send -8b to 0 }",
	  ":2: rank 0: -8b, expected a size in bytes" },
	{ "a size that overflows", "num_ranks 1\nrank 0 {\n"
	  "send 99999999999999999999b to 0 }",
	  "99999999999999999999b, expected a size in bytes (8b) of 0 to" },
	{ "a size without unit", "num_ranks 1\nrank 0 { send 8 to 0 }",
	  "\"to\", expected \"b\"" },
	{ "a time of parts of ns", "num_ranks 1\nrank 0 { l1: calc 7.5\n}",
	  "\"7.5\", expected a time in whole ns" },
	{ "a decimal comma", "num_ranks 1\nrank 0 { l1: calc 7,5\n}",
	  "\"7,5\", expected a time in whole ns" },
	{ "a tag beyond", "num_ranks 1\n"
	  "rank 0 { send 8b to 0 tag 18446744073709551616 }",
	  "18446744073709551616, expected a tag of 0 to 18446744073709551615" },
	{ "unmatched, with a large tag", "num_ranks 2\nrank 0 {\n"
	  " send 8b to 1 tag 1002003004005\n}\nrank 1 {}", "some.goal:3: "
	  "rank 0, send of 8 bytes to 1 with tag 1002003004005 has no matching "
	  "receive" },
	{ "tags equal in their lower 32 bits do not match", "num_ranks 2\n"
	  "rank 0 {\n send 8b to 1 tag 4294967297\n}\n"
	  "rank 1 { recv 8b from 0 tag 1 }", "has no matching" },
	{ "a size that is no number", "num_ranks 1\nrank 0 { calc x }",
	  "\"x\", expected a time in whole ns" },
	{ "a send to any", "num_ranks 1\nrank 0 { send 8b to -1 }",
	  "some.goal:2: rank 0: -1, expected a rank of 0 to 0" },
	{ "a send to any, the line ends", "num_ranks 2\nrank 0 {\n"
	  "l1: send 8b to -1 tag 7\n}\nrank 1 {}\n",
	  "some.goal:3: rank 0: -1, expected a rank of 0 to 1" },
	{ "a receive from below any", "num_ranks 2\nrank 0 {\n"
	  "l1: recv 8b from -2\n}\nrank 1 {}\n", "some.goal:3: rank 0: -2, "
	  "expected a rank (-1: any) of 0 to 1" },
	{ "a section of rank -1", "num_ranks 2\nrank -1 {}\n",
	  "some.goal:2: -1, expected a rank of 0 to 1" },
	{ "a peer beyond 32 bits", "num_ranks 2\nrank 0 {\n"
	  "l1: send 8b to 4294967296\n}\nrank 1 {}\n", "some.goal:3: rank 0: "
	  "4294967296, expected a rank of 0 to 1" },
	{ "a peer that is the number of ranks", "num_ranks 2\nrank 0 {\n"
	  "l1: send 8b to 2\n}\nrank 1 {}\n", "some.goal:3: rank 0: 2, "
	  "expected a rank of 0 to 1" },
	{ "a send with any tag", "num_ranks 1\nrank 0 { send 8b to 0 tag -1 }",
	  "-1, expected a tag of 0 to" },
	{ "a peer beyond", "num_ranks 1\nrank 0 {\nl1: recv 8b from 1 }",
	  ":3: rank 0: 1, expected a rank (-1: any) of 0 to 0" },
	{ "two tags", "num_ranks 1\nrank 0 {\nsend 8b to 0 tag 1 cpu 2 tag 2 }",
	  ":3: rank 0: a second tag" },
	{ "a processor beyond", "num_ranks 1\nrank 0 { calc 1 cpu 65536 }",
	  "65536, expected a processor of 0 to 65535" },
	{ "a calc with a tag", "num_ranks 1\nrank 0 { calc 1 tag 2 }",
	  "\"2\", expected \":\", requires or irequires" },
	{ "a name twice", "num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n\n}",
	  ":4: rank 0: a is defined twice" },
	{ "a counted name twice", "num_ranks 1\nrank 0 { l1: calc 1\n"
	  "l1: calc 2\n}", ":3: rank 0: l1 is defined twice" },
	{ "an undefined name", "num_ranks 1\nrank 0 {\nl1: calc 1\n"
	  "l1 requires l2\n}", ":4: rank 0: l1 depends on l2, but not both "
	  "are defined" },
	{ "names of another rank", "num_ranks 2\nrank 0 { x: calc 1 }\n"
	  "rank 1 {\ny: calc 1\ny requires x }", ":5: rank 1: y depends on x" },
	{ "dependent on itself", "num_ranks 1\nrank 0 {\nl1: calc 1\n"
	  "l1 requires l1 }", "some.goal:3: rank 0, calc of 1 ns depends on "
	  "itself" },
	{ "dependent on itself, the line ends", "num_ranks 1\nrank 0 {\n"
	  "l0: calc 1\nl0 requires l0\n}\n", "some.goal:3: rank 0, calc of 1 "
	  "ns depends on itself" },
	{ "numbers of another rank", "num_ranks 2\nrank 0 {\nl1: calc 1\n}\n"
	  "rank 1 {\nl2: calc 1\nl2 requires l1\n}\n", ":7: rank 1: l2 "
	  "depends on l1, but not both are defined" },
	{ "a peer beyond, the line ends", "num_ranks 1\nrank 0 {\nl1: calc 1\n"
	  "l2: recv 8b from 1\n}\n", ":4: rank 0: 1, expected a rank "
	  "(-1: any) of 0 to 0" },
	{ "a time that overflows", "num_ranks 1\nrank 0 {\nl1: calc 1\n"
	  "l2: calc 99999999999999999999\n}\n", ":4: rank 0: "
	  "99999999999999999999, expected a time in whole ns of 0 to" },
	{ "an adapter beyond, the line ends", "num_ranks 1\nrank 0 {\n"
	  "l1: calc 1 cpu 0 nic 256\n}\n", ":3: rank 0: 256, expected an "
	  "adapter of 0 to 255" },
	{ "a number twice", "num_ranks 1\nrank 0 {\nl7: calc 1\n"
	  "l8: calc 1\nl7: calc 1\n}\n", ":5: rank 0: l7 is defined twice" },
	{ "unmatched", "num_ranks 2\nrank 0 {\n send 8b to 1 tag 3\n}\n"
	  "rank 1 {}", "some.goal:3: rank 0, send of 8 bytes to 1 with tag 3 "
	  "has no matching receive" },
	{ "unmatched, of one byte", "num_ranks 1\nrank 0 { send 1b to 0 }",
	  "send of 1 byte to 0 with tag 0 has no matching receive" },
	{ "unterminated comment", "num_ranks 1\nrank 0 {\n/* calc 1 }\n\n",
	  ":3: rank 0: unterminated comment" },
	{ "a mark", "num_ranks 1\nrank 0 { ? }", "\"?\", expected an "
	  "operation, or }" },
	{ "a word without end", "num_ranks 1\nrank 0 { llllllllllllllllllllllll"
	  "lllllllllllllllllllllllllllllllllllllllllllllllllllllll: calc 1 }",
	  "a word of more than 63 characters: llllllllllllllll..." },
	{ "a letter with an accent", "num_ranks 1\nrank 0 { \303\251 }",
	  "byte 0xc3, expected an operation, or }" },
	{ "control characters are not shown", "num_ranks 1\nrank 0 { \033 }",
	  "byte 0x1b, expected" },
};
/* clang-format on */

T_TEST("invalid graphs are rejected with line and rank")
{
	T_EACH(r, bad) {
		struct np_err err = NP_ERR_INIT;
		struct np_graph *g = NULL;
		int rc = some_goal(r->text, strlen(r->text), &g, &err);
		bool as_expected = (rc == -EINVAL || rc == -ERANGE) &&
				   strstr(err.text, r->says);

		if (!as_expected)
			fprintf(stderr, "%s\n", err.text);
		T_ROW(r->name, as_expected);
	}
}

static char *written(const struct np_graph *g, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	T_CHECK(f && !np_goal_write(g, f, NULL));
	if (f)
		fclose(f);
	return text;
}

static const struct {
	const char *name, *text, *means;
} good[] = {
	{ "blanks are free, names are optional",
	  "num_ranks\t2 rank 1{recv 8b from 0}rank 0{send 8 b to 1 tag 0}",
	  "num_ranks 2\n\nrank 0 {\nl1: send 8b to 1 tag 0\n}\n\n"
	  "rank 1 {\nl1: recv 8b from 0 tag 0\n}\n" },
	{ "comments",
	  "// one\nnum_ranks 1 /* two\n * three */ rank 0 { // x }\n"
	  "calc /**/ 7 }//",
	  "num_ranks 1\n\nrank 0 {\nl1: calc 7\n}\n" },
	{ "a dependency before what it names",
	  "num_ranks 1 rank 0 { b requires a a: calc 1 b: calc 2 }",
	  "num_ranks 1\n\nrank 0 {\nl1: calc 1\nl2: calc 2\nl2 requires l1\n"
	  "}\n" },
	{ "a dependency on a later operation",
	  "num_ranks 1 rank 0 { a: calc 1 b: calc 2 a irequires b }",
	  "num_ranks 1\n\nrank 0 {\nl1: calc 1\nl2: calc 2\nl1 irequires l2\n"
	  "}\n" },
	{ "processors and adapters, in any order",
	  "num_ranks 1 rank 0 { l1: send 1b to 0 nic 2 cpu 1 tag 3\n"
	  "l2: recv 1b from 0 cpu 255 tag 3 l3: calc 4 cpu 1 }",
	  "num_ranks 1\n\nrank 0 {\nl1: send 1b to 0 tag 3 cpu 1 nic 2\n"
	  "l2: recv 1b from 0 tag 3 cpu 255\nl3: calc 4 cpu 1\n}\n" },
	{ "more processors than a byte can count, as generators for NCCL have",
	  "num_ranks 1 rank 0 { l1: calc 1 cpu 300 l2: calc 2 cpu 65535\n"
	  "l3: calc 3 cpu 44 }",
	  "num_ranks 1\n\nrank 0 {\nl1: calc 1 cpu 300\n"
	  "l2: calc 2 cpu 65535\nl3: calc 3 cpu 44\n}\n" },
	{ "tags of up to 64 bits, as generators for NCCL have",
	  "num_ranks 2 rank 0 { send 8b to 1 tag 1002003004005\n"
	  "send 7b to 1 tag 18446744073709551615 send 6b to 1 tag 4294967295 }"
	  "\nrank 1 { recv 6b from 0 tag 4294967295\n"
	  "recv 7b from 0 tag 18446744073709551615 recv 8b from 0 tag -1 }",
	  "num_ranks 2\n\nrank 0 {\nl1: send 8b to 1 tag 1002003004005\n"
	  "l2: send 7b to 1 tag 18446744073709551615\n"
	  "l3: send 6b to 1 tag 4294967295\n}\n\nrank 1 {\n"
	  "l1: recv 6b from 0 tag 4294967295\n"
	  "l2: recv 7b from 0 tag 18446744073709551615\n"
	  "l3: recv 8b from 0 tag 1002003004005\n}\n" },
	{ "numbers that go on from rank to rank, or begin with 0, as generators "
	  "for NCCL write them",
	  "num_ranks 2\nrank 1 {\nl0: calc 1 cpu 2\n"
	  "l1: send 8b to 0 tag 0000010002 cpu 3 nic 1\nl1 requires l0\n}\n"
	  "rank 0 {\nl2: recv 8b from 1 tag 10002\nl3: calc 2\n"
	  "l3 irequires l2\nx: calc 3\nl5: calc 4\nl5 requires l3\n"
	  "l5 requires x\n}\n",
	  "num_ranks 2\n\nrank 0 {\nl1: recv 8b from 1 tag 10002\n"
	  "l2: calc 2\nl2 irequires l1\nl3: calc 3\nl4: calc 4\n"
	  "l4 requires l2\nl4 requires l3\n}\n\nrank 1 {\n"
	  "l1: calc 1 cpu 2\nl2: send 8b to 0 tag 10002 cpu 3 nic 1\n"
	  "l2 requires l1\n}\n" },
	{ "a number with zeros in front is another name",
	  "num_ranks 1\nrank 0 {\nl1: calc 1\nl01: calc 2\nl2: calc 3\n"
	  "l2 requires l01\n}\n",
	  "num_ranks 1\n\nrank 0 {\nl1: calc 1\nl2: calc 2\nl3: calc 3\n"
	  "l3 requires l2\n}\n" },
	{ "wildcards are written as the matched sender and tag",
	  "num_ranks 2 rank 0 { recv 8b from -1 tag -1 }\n"
	  "rank 1 { send 8b to 0 tag 9 }",
	  "num_ranks 2\n\nrank 0 {\nl1: recv 8b from 1 tag 9\n}\n\n"
	  "rank 1 {\nl1: send 8b to 0 tag 9\n}\n" },
	{ "names out of order, and words as names",
	  "num_ranks 1 rank 0 { l2: calc 1 l1: calc 2 x: calc 3 x requires l1"
	  " l1 requires l2 }",
	  "num_ranks 1\n\nrank 0 {\nl1: calc 1\nl2: calc 2\nl2 requires l1\n"
	  "l3: calc 3\nl3 requires l2\n}\n" },
};

T_TEST("text is read correctly")
{
	T_EACH(r, good) {
		struct np_err err = NP_ERR_INIT;
		struct np_graph *g = NULL;
		char *text = NULL;
		size_t len;

		if (!some_goal(r->text, strlen(r->text), &g, &err))
			text = written(g, &len);
		T_ROW(r->name, text && !strcmp(text, r->means));
		free(text);
		np_graph_free(g);
	}
}

/* Reads, writes, reads and writes: both texts are the same. */
T_TEST("a written graph is read back unchanged")
{
	size_t bad_ones = 0;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct np_graph *g = some_graph(seed, 3, 120), *again = NULL;
		size_t len = 0, len2 = 0;
		char *text = written(g, &len), *text2 = NULL;

		if (!some_goal(text, len, &again, NULL))
			text2 = written(again, &len2);
		bad_ones += !text2 || strcmp(text, text2) ||
			    np_graph_ops(again) != np_graph_ops(g);
		free(text);
		free(text2);
		np_graph_free(g);
		np_graph_free(again);
	}
	T_CHECK(!bad_ones);
}

/* Puts a blank at the end of each line. */
static char *with_blanks(const char *text, size_t len)
{
	char *wide = malloc(2 * len + 1), *to = wide;

	for (size_t i = 0; wide && i < len; *to++ = text[i++])
		if (text[i] == '\n')
			*to++ = ' ';
	if (wide)
		*to = '\0';
	return wide;
}

/*
 * Lines as they are written are read faster than others. The graph is larger
 * than a read, so that some of these lines cross a boundary.
 */
T_TEST("blanks at the end of lines change nothing")
{
	struct np_graph *g = some_loop(1, 3, 100, 60), *narrow = NULL;
	struct np_graph *wide = NULL;
	size_t len = 0, len_narrow = 0, len_wide = 0;
	char *text = written(g, &len), *blanks = with_blanks(text, len);
	char *a = NULL, *b = NULL;

	T_CHECK(len > 1 << 17 && blanks);
	if (!some_goal(text, len, &narrow, NULL))
		a = written(narrow, &len_narrow);
	if (!some_goal(blanks, strlen(blanks), &wide, NULL))
		b = written(wide, &len_wide);
	T_CHECK(a && b && !strcmp(a, b) && !strcmp(a, text));
	free(text);
	free(blanks);
	free(a);
	free(b);
	np_graph_free(g);
	np_graph_free(narrow);
	np_graph_free(wide);
}

/* Two contexts with equal tags: the tags are renumbered. */
T_TEST("other tools keep the messages of communicators apart")
{
	const struct np_graph_op op[] = {
		{ NP_OP_SEND, 1, .tag = 7, .context = 2 },
		{ NP_OP_SEND, 2, .tag = 7 },
		{ NP_OP_RECV, 2, .tag = NP_ANY },
		{ NP_OP_RECV, 1, .tag = 7, .context = 2 },
	};
	struct np_graph *g;
	size_t len;
	char *text;

	T_CHECK(!np_graph_new("x", 1, &g, NULL));
	T_CHECK(!np_graph_rank(g, 0, NULL, NULL));
	for (size_t i = 0; i < NP_ARRAY_SIZE(op); i++)
		T_CHECK(!np_graph_add(g, &op[i], NULL, NULL));
	T_CHECK(!np_graph_finish(g, NULL));
	text = written(g, &len);
	T_CHECK(!strcmp(text,
			"num_ranks 1\n\nrank 0 {\n"
			"l1: send 1b to 0 tag 1\nl2: send 2b to 0 tag 0\n"
			"l3: recv 2b from 0 tag 0\nl4: recv 1b from 0 tag 1\n"
			"}\n"));
	free(text);
	np_graph_free(g);
}

/* Larger than a read, with words that cross the boundary. */
T_TEST("long files")
{
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = NULL;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "num_ranks 1\nrank 0 {\n");
	for (int i = 0; i < 20000; i++)
		fprintf(f, "op_%d: calc %d // %d\n%s", i, i, i,
			i ? "" : "/* * */");
	for (int i = 1; i < 20000; i++)
		fprintf(f, "op_%d requires op_%d\n", i, i - 1);
	fprintf(f, "}\n");
	fclose(f);
	T_CHECK(!some_goal(text, len, &g, &err));
	T_CHECK(g && np_graph_ops(g) == 20000);
	np_graph_free(g);
	free(text);
}

struct bytes {
	unsigned char at[1 << 16];
	size_t n;
};

static void put(struct bytes *b, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->at[b->n++] = (unsigned char)(v >> 8 * i);
}

/*
 * Adds the operations that wait for operation i, in the format of GOAL binary;
 * n counts all so far.
 */
static void put_dependants(struct bytes *b, struct bytes *appendix,
			   const struct np_graph *g, uint32_t rank, uint32_t i,
			   enum np_dep_kind kind)
{
	size_t first = appendix->n / 4;

	for (uint32_t x = 0; x < np_graph_rank_ops(g, rank); x++) {
		enum np_dep_kind is;
		uint32_t y;

		for (size_t d = 0; np_graph_dep(g, rank, x, d, &y, &is); d++)
			if (y == i && is == kind)
				put(appendix, x, 4);
	}
	put(b, appendix->n / 4 - first, 4);
	put(b, first, 4);
}

static void put_rank(struct bytes *b, const struct np_graph *g, uint32_t rank)
{
	uint32_t n = np_graph_rank_ops(g, rank);
	struct bytes *appendix = calloc(1, sizeof(*appendix));

	put(b, n, 4);
	put(b, 1, 4); /* roots, which are not used */
	put(b, 0, 4);
	for (uint32_t i = 0; i < n; i++) {
		struct np_graph_op op;

		np_graph_op(g, rank, i, &op);
		put(b, 0, 4);
		put(b,
		    op.kind == NP_OP_SEND ? 1 :
		    op.kind == NP_OP_RECV ? 2 :
					    3,
		    1);
		put(b, op.peer, 4);
		put(b, op.size, 8);
		put(b, op.tag, 4);
		put(b, op.cpu, 1);
		put(b, op.nic, 1);
		put_dependants(b, appendix, g, rank, i, NP_REQUIRES);
		put_dependants(b, appendix, g, rank, i, NP_IREQUIRES);
	}
	memcpy(b->at + b->n, appendix->at, appendix->n);
	b->n += appendix->n;
	free(appendix);
}

static struct bytes *binary(const struct np_graph *g)
{
	struct bytes *b = calloc(1, sizeof(*b)), *all = calloc(1, sizeof(*b));
	uint32_t n = np_graph_ranks(g);
	size_t head = 6 + 16 * (size_t)n;

	put(all, 4223, 8);
	put(all, n, 4);
	put(all, 0, 2);
	for (uint32_t r = 0; r < n; r++) {
		put(all, head + b->n, 8);
		put_rank(b, g, r);
		put(all, head + b->n, 8);
	}
	memcpy(all->at + all->n, b->at, b->n);
	all->n += b->n;
	free(b);
	return all;
}

T_TEST("binary and text give the same graph")
{
	size_t bad_ones = 0;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct np_graph *g = some_graph(seed, 3, 120), *again = NULL;
		struct bytes *b = binary(g);
		size_t len, len2;
		char *text = written(g, &len), *text2 = NULL;

		if (!some_goal((char *)b->at, b->n, &again, NULL))
			text2 = written(again, &len2);
		/* The dependencies of an operation may be in another order. */
		bad_ones += !text2 || len != len2 ||
			    np_graph_ops(again) != np_graph_ops(g);
		free(text);
		free(text2);
		free(b);
		np_graph_free(g);
		np_graph_free(again);
	}
	T_CHECK(!bad_ones);
}

/* Offset of the first operation of the first rank in the output of binary(). */
#define FIRST_OP(n_ranks) (8 + 6 + 16 * (n_ranks) + 12)

T_TEST("damaged binary files are rejected")
{
	static const struct {
		const char *name;
		size_t at;
		uint64_t v;
		size_t n;
		const char *says;
	} damage[] = {
		{ "no ranks", 8, 0, 4, "0 ranks, expected 1 to" },
		{ "many ranks", 8, 4000000, 4, "the file ends, expected" },
		{ "a rank before the others", 14, 1, 8, "rank 0 from byte 1" },
		{ "a rank of exabytes", 22, UINT64_MAX / 2, 8,
		  "the file ends, expected" },
		{ "many operations", FIRST_OP(2) - 12, UINT32_MAX, 4,
		  "rank 0: operations up to byte" },
		{ "many roots", FIRST_OP(2) - 8, UINT32_MAX, 4,
		  "rank 0: operations up to byte" },
		{ "an operation of no kind", FIRST_OP(2) + 4, 4, 1,
		  "operation 0 of type 4, expected 1 to 3" },
		{ "many that wait for it", FIRST_OP(2) + 23, UINT32_MAX, 4,
		  "rank 0: dependencies of number" },
		{ "an appendix beyond", FIRST_OP(2) + 35, UINT32_MAX, 4, NULL },
	};
	struct np_graph *g = some_graph(2, 2, 40), *again = NULL;
	struct bytes *b = binary(g);

	T_EACH(r, damage) {
		struct bytes *d = calloc(1, sizeof(*d));
		struct np_err err = NP_ERR_INIT;

		memcpy(d, b, sizeof(*b));
		d->n = r->at;
		put(d, r->v, r->n);
		d->n = b->n;
		if (r->says)
			T_ROW(r->name,
			      some_goal((char *)d->at, d->n, &again, &err) &&
				      strstr(err.text, r->says));
		else if (!some_goal((char *)d->at, d->n, &again, &err))
			np_graph_free(again);
		free(d);
	}
	for (size_t n = 8; n < b->n; n++) /* truncated anywhere */
		if (!some_goal((char *)b->at, n, &again, NULL)) {
			T_ROW("truncated", false);
			np_graph_free(again);
		}
	free(b);
	np_graph_free(g);
}
