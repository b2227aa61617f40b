#include "t.h"

#include "np_scheme.h"

static int parse(const char *text, struct np_scheme_set *s, struct np_err *err)
{
	return np_scheme_parse(text, strlen(text), "dir/fan.scheme", s, err);
}

static const char two[] = "# a fan, and the way back\n"
			  "reference 20M took 2s\r\n"
			  "latency 500ms\n"
			  "size 40M\n"
			  "scheme fan-out\n"
			  "\ta: n0 -> n1          # as large as the size says\n"
			  "b:\tn0 -> n2 4M at 10ms took 1.5s\n"
			  "\n"
			  "scheme back\n"
			  "nodes n2 n1 n0\n"
			  "size 0\n"
			  "a: n1 -> n0 took 3s\n"
			  "latency 0s\n"
			  "b: n2 -> n0 10M\n";

T_TEST("schemes of a file with common settings")
{
	struct np_scheme_set set;
	const struct np_scheme *s;

	T_CHECK(!parse(two, &set, NULL));
	T_CHECK(set.n == 2);
	s = &set.scheme[0];
	T_CHECK(!strcmp(s->name, "fan-out") && s->n == 2 && s->n_nodes == 3);
	T_CHECK(!strcmp(s->node[2], "n2") && !strcmp(s->label[1], "b"));
	T_CHECK(s->c[1].from == 0 && s->c[1].to == 2 && !s->fixed);
	T_CHECK(s->bytes[0] == 40u << 20 && s->bytes[1] == 4u << 20);
	T_CHECK(s->start_sec[0] == 0 && s->start_sec[1] == 0.01);
	T_CHECK(isnan(s->took_sec[0]) && s->took_sec[1] == 1.5);
	T_CHECK(t_close(s->alone[0], 0.5 + 2 * 1.5, 1e-12));
	T_CHECK(t_close(s->alone[1], 0.5 + 0.2 * 1.5, 1e-12));
	s = &set.scheme[1];
	T_CHECK(s->n == 2 && s->n_nodes == 3 && s->fixed);
	T_CHECK(s->c[0].from == 1 && s->c[0].to == 2 && s->c[1].from == 0);
	T_CHECK(s->latency_sec == 0 && s->reference_sec == 2);
	T_CHECK(s->bytes[0] == 0 && s->alone[0] == 0);
	T_CHECK(s->bytes[1] == 10u << 20 && s->alone[1] == 1);
	np_scheme_free(&set);
	T_CHECK(set.n == 0);
}

T_TEST("without a time the reference is the unit")
{
	struct np_scheme_set set;

	T_CHECK(!parse("x: a -> b 0\ny: a -> c 8M\nz: a -> c 2M", &set, NULL));
	T_CHECK(set.n == 1 && !strcmp(set.scheme[0].name, "fan.scheme"));
	T_CHECK(isnan(set.scheme[0].reference_sec));
	T_CHECK(set.scheme[0].reference_bytes == 8u << 20);
	T_CHECK(set.scheme[0].alone[0] == 0 && set.scheme[0].alone[1] == 1 &&
		set.scheme[0].alone[2] == 0.25);
	np_scheme_free(&set);
	T_CHECK(!parse("reference 1M\nx: a -> b", &set, NULL));
	T_CHECK(set.scheme[0].alone[0] == 20);
	np_scheme_free(&set);
}

#define LONG_NAME "a123456789012345678901234567890x"

static const struct {
	const char *name, *text, *says;
} refused[] = {
	{ "an empty file", "", "fan.scheme: contains no transfer" },
	{ "comments only", "# a: b -> c\n\n", "contains no transfer" },
	{ "an unknown word", "x: a -> b\ntransfer a b\n",
	  "dir/fan.scheme:2: \"transfer\": expected scheme, size," },
	{ "a transfer without its arrow", "x: a b",
	  "expected NAME: FROM -> T" },
	{ "another arrow", "x: a => b", "transfer x: expected NAME:" },
	{ "a transfer without a name", ": a -> b",
	  "transfer \"\": expected 1" },
	{ "a name of strange letters", "a/b: a -> b", "transfer \"a/b\"" },
	{ "a name that is too long", LONG_NAME ": a -> b", "expected 1 to 31" },
	{ "a node of strange letters", "x: a -> b;c", "node \"b;c\"" },
	{ "a node to itself", "x: a -> a", "from a to itself, expected two" },
	{ "a transfer twice", "x: a -> b\nx: b -> c",
	  ":2: transfer x is defined twice" },
	{ "a size that is no number", "x: a -> b 4Q",
	  "\"4Q\": expected bytes" },
	{ "a size that is too large", "x: a -> b 2048G",
	  "at most 1099511627776" },
	{ "a size that overflows", "size 99999999999999999999",
	  "expected byt" },
	{ "a size below 0", "x: a -> b -4", "\"-4\": expected [SIZE] [at" },
	{ "a time without a unit", "x: a -> b at 4", "\"4\": expected a time" },
	{ "a time that is missing", "x: a -> b at", "\"\": expected a time" },
	{ "words after the end", "x: a -> b 4K at 1s took 1s now",
	  "\"now\": e" },
	{ "it took no time", "x: a -> b took 0s", "took 0s: expected more" },
	{ "it took a time, the reference did not", "x: a -> b took 1s",
	  "scheme fan.scheme: x has a measured time, but the reference" },
	{ "a reference of nothing", "reference 0\n",
	  "expected more than 0 byt" },
	{ "a reference that took none", "reference 1M took 0s", "more than 0" },
	{ "a reference of three words", "reference 1M took",
	  "expected refere" },
	{ "a latency without a reference", "latency 1us\nx: a -> b",
	  "its latency needs a reference that took longer" },
	{ "a latency as long as the reference",
	  "latency 1s\nreference 1M took 1s\nx: a -> b", "needs a reference" },
	{ "latency of what", "latency", "expected latency TIME" },
	{ "size of what", "size 1 2", "expected size SIZE" },
	{ "a scheme without a name", "scheme", "expected scheme NAME" },
	{ "a scheme with two names", "scheme a b", "expected scheme NAME" },
	{ "a scheme with a strange name", "scheme a:b", "scheme \"a:b\"" },
	{ "a scheme twice", "scheme a\nx: a -> b\nscheme a\n",
	  ":3: scheme a is defined twice" },
	{ "a scheme of nothing", "scheme a\nscheme b\nx: a -> b",
	  ":2: scheme a has no transfer" },
	{ "a last scheme of nothing", "scheme a\nx: a -> b\nscheme b",
	  ":3: scheme b has no transfer" },
	{ "a node that is not named", "nodes a b\nx: a -> c",
	  "node \"c\" is none of those that scheme fan.scheme names" },
	{ "a node named twice", "nodes a b a\n", "node a is listed twice" },
	{ "nodes after the first transfer", "x: a -> b\nnodes c",
	  "before the f" },
	{ "a control character", "x: a -> b\033[1m",
	  "byte 0x1b, expected text" },
};

T_TEST("invalid schemes are rejected with their line")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_scheme_set set;

		T_ROW(r->name, parse(r->text, &set, &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->says));
	}
}

/* Many lines of each kind. */
static const struct {
	const char *name, *format;
	int n, rc;
	const char *says;
} many[] = {
	{ "transfers", "x%d: a -> b\n", NP_SCHEME_MAX_COMMS, 0, "" },
	{ "too many transfers", "x%d: a -> b\n", NP_SCHEME_MAX_COMMS + 1,
	  -E2BIG, "more than 4096 transfers" },
	{ "nodes", "nodes n%d a%d\n", NP_SCHEME_MAX_NODES / 2, -EINVAL,
	  "has no transfer" },
	{ "too many nodes", "nodes n%d a%d\n", NP_SCHEME_MAX_NODES / 2 + 1,
	  -E2BIG, "more than 1024 nodes" },
	{ "schemes", "scheme s%d\na: b -> c\n", NP_SCHEME_MAX_SCHEMES, 0, "" },
	{ "too many schemes", "scheme s%d\na: b -> c\n",
	  NP_SCHEME_MAX_SCHEMES + 1, -E2BIG, "more than 64 schemes" },
};

T_TEST("files have limits")
{
	T_EACH(r, many) {
		struct np_err err = NP_ERR_INIT;
		struct np_scheme_set set;
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		for (int i = 0; i < r->n; i++)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			fprintf(f, r->format, i, i);
#pragma GCC diagnostic pop
		fclose(f);
		T_ROW(r->name,
		      np_scheme_parse(text, len, "x", &set, &err) == r->rc);
		T_ROW(r->name, strstr(err.text, r->says));
		if (!r->rc)
			np_scheme_free(&set);
		free(text);
	}
}

T_TEST("so have lines, and they are text")
{
	char text[6000];
	struct np_err err = NP_ERR_INIT;
	struct np_scheme_set set;

	memset(text, 'a', sizeof(text));
	T_CHECK(np_scheme_parse(text, sizeof(text), "x", &set, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "x:1: a line of 6000 bytes, expected at mos"));
	for (size_t i = 0; i < 600; i++)
		memcpy(text + 2 * i, "a ", 2);
	T_CHECK(np_scheme_parse(text, 1200, "x", &set, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "x:1: more than 256 words"));
	T_CHECK(np_scheme_parse("x: a -> b\0c", 11, "x", &set, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "byte 0x00"));
	T_CHECK(np_scheme_parse("x: a -> b", 8, "x", &set, &err) == -EINVAL);
	T_CHECK(np_scheme_parse(NULL, 0, "x", &set, &err) == -EINVAL);
}

T_TEST("only regular files of sane size are read")
{
	struct np_err err = NP_ERR_INIT;
	struct np_scheme_set set;

	T_CHECK(np_scheme_read("/nonexistent", &set, &err) == -ENOENT);
	T_CHECK(strstr(err.text, "/nonexistent: No such file"));
	T_CHECK(np_scheme_read("/dev/zero", &set, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "/dev/zero: not a regular file"));
	t_sh(t_tmpdir(), "echo 'x: a -> b' >one.scheme");
	t_sh(t_tmpdir(), "head -c 1048577 /dev/zero >large.scheme");
	T_CHECK(np_scheme_read(t_path("large.scheme"), &set, &err) == -EFBIG);
	T_CHECK(strstr(err.text, "1048577 bytes, expected at most 1048576"));
	T_CHECK(!np_scheme_read(t_path("one.scheme"), &set, &err));
	T_CHECK(set.n == 1 && !strcmp(set.scheme[0].name, "one.scheme"));
	np_scheme_free(&set);
}
