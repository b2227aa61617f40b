/* Records as others may write them: damaged, impossible, hostile. */
#include "t.h"
#include "np_record.h"
#include "some_record.h"

#define HEAD \
	"{\"schema\":1,\"app\":\"a\",\"uid\":1,\"job_id\":2," \
	"\"step_id\":0,\"start\":1,\"end\":2,\"state\":\"complete\""
#define SCHEME \
	",\"hist\":{\"first_edge_sec\":1e-07,\"per_decade\":25," \
	"\"bins\":177}"
#define LEAF(x) HEAD SCHEME ",\"leaves\":[{" x "}]}"
#define MOMENTS(n) \
	"\"latency\":{\"n\":" n ",\"mean\":2e-5,\"m2\":1e-10," \
	"\"min\":1e-5,\"max\":3e-5}"
#define WINDOWS(w) LEAF(MOMENTS("3") ",\"hist\":[[60,3]],\"windows\":{" w "}")

/* clang-format off */
static const struct {
	const char *name, *text;
	int rc;
	const char *says;
} texts[] = {
	{ "the least there is", HEAD "}", 0, "" },
	{ "white space around", " \n" HEAD "}\n\n ", 0, "" },
	{ "unknown members are ignored", HEAD ",\"new\":{\"x\":[[[1]]]}}", 0, "" },
	{ "a leaf with samples", LEAF(MOMENTS("3") ",\"hist\":[[60,1],[61,2]]"),
	  0, "" },
	{ "windows, one empty",
	  WINDOWS("\"width_sec\":1,\"w\":[[2,1e-5,0,1e-5],[0],[1,2,0,2]]"),
	  0, "" },

	{ "empty", "", -EINVAL, "ends too early" },
	{ "no object", "[1]", -EINVAL, "a JSON object" },
	{ "null", "null", -EINVAL, "some.json" },
	{ "cut short", HEAD, -EINVAL, "ends too early" },
	{ "rubbish behind", HEAD "} x", -EINVAL, "damaged at byte" },
	{ "two records", HEAD "}" HEAD "}", -EINVAL, "damaged at byte" },
	{ "a value without quotes", "{\"schema\":one}", -EINVAL,
	  "damaged at byte" },
	{ "not UTF-8", HEAD ",\"host\":\"\xff\"}", -EINVAL, "damaged at byte" },
	{ "comment", "/* x */" HEAD "}", -EINVAL, "damaged at byte" },

	{ "a newer schema", "{\"schema\":2}", -EPROTONOSUPPORT,
	  "schema 2 is newer than 1" },
	{ "schema missing", "{}", -EINVAL, "schema: expected" },
	{ "schema zero", "{\"schema\":0}", -EINVAL, "schema: got 0, expected 1 to" },
	{ "schema as text", "{\"schema\":\"1\"}", -EINVAL, "whole number" },
	{ "schema beyond all bounds", "{\"schema\":99999999999999999999999}",
	  -EINVAL, "damaged at byte 10: a whole number beyond 64 bits" },
	{ "application missing", "{\"schema\":1,\"uid\":1,\"job_id\":2,"
	  "\"step_id\":0,\"start\":1,\"end\":2,\"state\":\"cut\"}", -EINVAL,
	  "app: expected a value" },
	{ "user missing", "{\"schema\":1,\"app\":\"a\"}", -EINVAL,
	  "uid: expected a value" },

	{ "negative count", HEAD ",\"n_tasks\":-1}", -EINVAL,
	  "n_tasks: got -1, expected 0 to" },
	{ "too many nodes", HEAD ",\"n_nodes\":65537}", -EINVAL, "n_nodes" },
	{ "count with a fraction", HEAD ",\"n_tasks\":1.5}", -EINVAL,
	  "n_tasks: expected a whole number" },
	{ "count beyond 64 bits", HEAD ",\"n_tasks\":18446744073709551616}",
	  -EINVAL, "beyond 64 bits" },
	{ "the last count of 64 bits", HEAD ",\"n_tasks\":18446744073709551615}",
	  -EINVAL, "n_tasks: got 9.223372037e+18, expected 0 to" },
	{ "below 64 bits", HEAD ",\"n_tasks\":-9223372036854775809}", -EINVAL,
	  "beyond 64 bits" },
	{ "beyond 64 bits where nobody looks",
	  HEAD ",\"new\":[99999999999999999999]}", -EINVAL, "beyond 64 bits" },
	{ "digits in a text are no number",
	  HEAD ",\"host\":\"\\\"99999999999999999999\"}", 0, "" },
	{ "a fraction may have many digits",
	  HEAD ",\"alone_sec\":0.123456789012345678901234567890}", 0, "" },
	{ "letters beyond ASCII", HEAD ",\"host\":\"\u00e9\u20ac\U0001f600\"}", 0,
	  "" },
	{ "damage behind letters beyond ASCII",
	  "{\"host\":\"\u00e9\u20ac\U0001f600\",}", -EINVAL, "damaged at byte 20" },
	{ "half a letter", HEAD ",\"host\":\"\xe2\x82\"}", -EINVAL, "no UTF-8" },
	{ "letters beyond ASCII where none can be", "{\u00e9:1}", -EINVAL,
	  "damaged at byte 1" },
	{ "number as text", HEAD ",\"alone_sec\":\"1\"}", -EINVAL,
	  "alone_sec: expected a number" },
	{ "number null", HEAD ",\"alone_sec\":null}", -EINVAL, "alone_sec" },
	{ "infinite number", HEAD ",\"alone_sec\":1e999}", -EINVAL,
	  "alone_sec: got inf" },
	{ "NaN", HEAD ",\"alone_sec\":NaN}", -EINVAL, "some.json" },
	{ "a date of the far future", HEAD ",\"alone_sec\":1e10}", -EINVAL,
	  "alone_sec: got 1e+10" },
	{ "text as number", HEAD ",\"host\":5}", -EINVAL, "host: expected a text" },
	{ "text with NUL", HEAD ",\"host\":\"a\\u0000b\"}", -EINVAL, "host" },
	{ "probe as array", HEAD ",\"probe\":[]}", -EINVAL,
	  "probe: expected an object" },
	{ "inside the probe", HEAD ",\"probe\":{\"period_sec\":-1}}", -EINVAL,
	  "probe.period_sec: got -1" },
	{ "inside the level", HEAD ",\"level\":{\"alone_round_sec\":5}}",
	  -EINVAL, "level.alone_round_sec: expected an object" },
	{ "a neighbour", HEAD ",\"neighbours\":[{},{\"job_id\":true}]}",
	  -EINVAL, "neighbours[1].job_id" },
	{ "neighbour as number", HEAD ",\"neighbours\":[7]}", -EINVAL,
	  "neighbours[0]" },
	{ "notes as text", HEAD ",\"notes\":\"x\"}", -EINVAL,
	  "notes: expected an array" },

	{ "leaves without bins", HEAD ",\"leaves\":[{}]}", -EINVAL, "hist" },
	{ "other bins", HEAD ",\"hist\":{\"first_edge_sec\":1e-07,"
	  "\"per_decade\":20,\"bins\":177},\"leaves\":[{}]}", -EINVAL,
	  "the bins of this netprof" },
	{ "leaf as number", HEAD SCHEME ",\"leaves\":[{},3]}", -EINVAL,
	  "leaves[1]: expected an object" },
	{ "moments without n", LEAF("\"latency\":{\"mean\":1}"), -EINVAL,
	  "leaves[0].latency.n: expected a value" },
	{ "mean below the minimum", LEAF("\"latency\":{\"n\":2,\"mean\":1e-6,"
	  "\"m2\":0,\"min\":1e-5,\"max\":2e-5},\"hist\":[[60,2]]"), -EINVAL,
	  "latency: expected n, mean, m2, min and max of samples" },
	{ "samples without histogram", LEAF(MOMENTS("3")), -EINVAL,
	  "as many samples as latency.n" },
	{ "histogram without samples", LEAF("\"hist\":[[60,3]]"), -EINVAL,
	  "as many samples as latency.n" },
	{ "histogram of another total", LEAF(MOMENTS("3") ",\"hist\":[[60,4]]"),
	  -EINVAL, "as many samples as latency.n" },
	{ "no such bin", LEAF(MOMENTS("3") ",\"hist\":[[177,3]]"), -EINVAL,
	  "hist: got 177, expected 0 to 176" },
	{ "negative bin", LEAF(MOMENTS("3") ",\"hist\":[[-1,3]]"), -EINVAL,
	  "hist: got -1" },
	{ "a bin twice", LEAF(MOMENTS("3") ",\"hist\":[[60,1],[60,2]]"), -EINVAL,
	  "ascending order" },
	{ "bin alone", LEAF(MOMENTS("3") ",\"hist\":[[60]]"), -EINVAL, "pairs" },
	{ "negative in the bin", LEAF(MOMENTS("3") ",\"hist\":[[60,4],[61,-1]]"),
	  -EINVAL, "hist: got -1" },
	{ "window without width", WINDOWS("\"w\":[[0]]"), -EINVAL, "width_sec" },
	{ "window of no width", WINDOWS("\"width_sec\":0,\"w\":[[0]]"), -EINVAL,
	  "width_sec" },
	{ "window too short", WINDOWS("\"width_sec\":1,\"w\":[[1,2]]"), -EINVAL,
	  "[n, mean, sd, max]" },
	{ "window empty", WINDOWS("\"width_sec\":1,\"w\":[[]]"), -EINVAL, "w:" },
	{ "mean above the maximum",
	  WINDOWS("\"width_sec\":1,\"w\":[[1,2,0,1]]"), -EINVAL, "w:" },
	{ "more in windows than there is",
	  WINDOWS("\"width_sec\":1,\"w\":[[4,1e-5,0,1e-5]]"), -EINVAL,
	  "at most latency.n" },
};
/* clang-format on */

T_TEST("damaged and impossible records are refused by name")
{
	T_EACH(row, texts) {
		struct np_err err = NP_ERR_INIT;
		struct np_record *r;
		int rc;

		r = t_parse_record(row->text, strlen(row->text), &rc, &err);
		T_ROW(row->name, rc == row->rc);
		T_ROW(row->name, !rc == !!r);
		T_ROW(row->name, strstr(err.text, row->says));
		T_ROW(row->name, !rc || strstr(err.text, "some.json"));
		np_record_free(r);
	}
}

T_TEST("missing members have their documented meaning")
{
	const char *text = LEAF("\"name\":\"x\"");
	int rc;
	struct np_record *r = t_parse_record(text, strlen(text), &rc, NULL);

	T_CHECK(rc == 0 && r->array_job_id == NP_NO_VALUE &&
		r->het_component == NP_NO_VALUE && r->exit_code == NP_NO_VALUE);
	T_CHECK(!r->cluster && !r->level && r->n_tasks == 0);
	T_CHECK(!strcmp(r->leaves[0].nodes, "") && !r->leaves[0].hist &&
		!r->leaves[0].windows && !r->leaves[0].skipped);
	np_record_free(r);
}

/* Small text, large tree: refused before the parser builds it. */
T_TEST("small texts cannot become large trees")
{
	static const struct {
		const char *name, *piece;
	} bombs[] = {
		{ "objects", "{}," },	       { "arrays", "[]," },
		{ "numbers", "0," },	       { "depth", "[" },
		{ "deep objects", "{\"a\":" },
	};
	size_t max = NP_RECORD_MAX_BYTES - 1000;
	char *text = malloc(max + 1000);

	T_EACH(r, bombs) {
		size_t len, piece = strlen(r->piece);
		struct np_err err = NP_ERR_INIT;
		int rc;

		strcpy(text, HEAD ",\"x\":[");
		len = strlen(text);
		for (; len + piece < max; len += piece)
			memcpy(text + len, r->piece, piece);
		T_ROW(r->name, !t_parse_record(text, len, &rc, &err));
		T_ROW(r->name, rc == -EINVAL && err.text[0]);
	}
	free(text);
}

T_TEST("a huge record is not even parsed")
{
	size_t len = NP_RECORD_MAX_BYTES + 1;
	char *text = malloc(len);
	struct np_err err = NP_ERR_INIT;
	int rc;

	memset(text, ' ', len);
	memcpy(text, HEAD "}", strlen(HEAD "}"));
	T_CHECK(!t_parse_record(text, len, &rc, &err) && rc == -EINVAL);
	T_CHECK(!!strstr(err.text, "expected at most"));
	np_record_free(t_parse_record(text, len - 1, &rc, &err));
	T_CHECK(rc == 0);
	free(text);
}

/* The same record as it is after some bytes went wrong. */
static size_t mutate(struct t_rng *g, char *text, size_t len)
{
	static const char *const words[] = {
		"-1",
		"1e999",
		"null",
		"[",
		"{",
		"\"",
		"99999999999999999999",
		"\\u0000",
		"0",
		"nan",
		",",
		"}",
		"]",
		"0.5",
		"true",
	};

	for (size_t n = 1 + t_rand(g) % 4; n && len; n--) {
		size_t at = t_rand(g) % len;
		const char *w = words[t_rand(g) % NP_ARRAY_SIZE(words)];
		size_t wlen = strlen(w);

		switch (t_rand(g) % 4) {
		case 0:
			text[at] = (char)t_rand(g);
			break;
		case 1: /* overwrite */
			if (at + wlen <= len)
				memcpy(text + at, w, wlen);
			break;
		case 2: /* a piece is lost */
			wlen = 1 + t_rand(g) % 20;
			wlen = wlen < len - at ? wlen : len - at;
			memmove(text + at, text + at + wlen, len - at - wlen);
			len -= wlen;
			break;
		default: /* cut short */
			if (!(t_rand(g) % 8))
				len = at;
		}
	}
	return len;
}

T_TEST("no mutation of a record crashes or hangs")
{
	struct t_rng g = { 20240612 };
	unsigned refused = 0, taken = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct np_record *r = t_some_record(seed);
		char *text = NULL, *copy;
		size_t len;

		T_CHECK(np_record_write(r, "", &text, NULL) == 0);
		len = strlen(text);
		copy = malloc(len + 1);
		for (int i = 0; i < 60; i++) {
			struct np_err err = NP_ERR_INIT;
			struct np_record *m;
			int rc;

			memcpy(copy, text, len);
			m = t_parse_record(copy, mutate(&g, copy, len), &rc,
					   &err);
			T_CHECK(!rc == !!m && !rc == !err.text[0]);
			taken += !rc;
			refused += !!rc;
			np_record_free(m);
		}
		free(copy);
		free(text);
		np_record_free(r);
	}
	T_CHECK(refused > 1000);
	T_CHECK(taken > 50);
}
