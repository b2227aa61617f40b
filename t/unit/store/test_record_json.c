#include "t.h"
#include "np_record.h"
#include "some_record.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct np_record *parse(const char *text, size_t len, int *rc,
			       struct np_err *err)
{
	struct np_record *r = NULL;

	*rc = np_record_from_json(text, len, "some.json", &r, err);
	return r;
}

static int same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static int same_moments(const struct np_moments *a, const struct np_moments *b)
{
	return a->n == b->n && (!a->n || !memcmp(a, b, sizeof(*a)));
}

static int same_hist(const struct np_hist *a, const struct np_hist *b)
{
	if (!a || !b)
		return a == b;
	for (size_t i = 0; i < NP_HIST_BINS; i++)
		if (np_hist_count(a, i) != np_hist_count(b, i))
			return 0;
	return 1;
}

/* Windows are stored with six digits and without their minimum. */
static int same_windows(const struct np_series *a, const struct np_series *b)
{
	if (!a || !b)
		return a == b;
	for (size_t i = 0; i < a->n; i++) {
		const struct np_moments *x = &a->w[i], *y = &b->w[i];

		if (x->n != y->n || !t_close(x->mean, y->mean, 1e-5) ||
		    !t_close(x->max, y->max, 1e-5) ||
		    !t_close(np_moments_sd(x), np_moments_sd(y), 1e-5))
			return 0;
	}
	return a->n == b->n && a->width_sec == b->width_sec;
}

static int same_leaf(const struct np_leaf_run *a, const struct np_leaf_run *b)
{
	return same_text(a->name, b->name) && same_text(a->nodes, b->nodes) &&
	       a->n_nodes == b->n_nodes && a->n_pairs == b->n_pairs &&
	       same_text(a->skipped, b->skipped) &&
	       same_moments(&a->latency, &b->latency) &&
	       same_hist(a->hist, b->hist) &&
	       same_windows(a->windows, b->windows);
}

static int same_probe(const struct np_probe_run *a,
		      const struct np_probe_run *b)
{
	return a->message_bytes == b->message_bytes &&
	       a->period_sec == b->period_sec && a->per_node == b->per_node &&
	       a->n_processes == b->n_processes &&
	       same_text(a->transport, b->transport) &&
	       a->messages == b->messages &&
	       a->cpu_sec_max == b->cpu_sec_max &&
	       a->cpu_sec_sum == b->cpu_sec_sum &&
	       a->elapsed_sec == b->elapsed_sec &&
	       a->rss_bytes_max == b->rss_bytes_max;
}

static int same_level(const struct np_level_run *a,
		      const struct np_level_run *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->name, b->name) && a->partners == b->partners &&
	       a->messages == b->messages && a->bytes == b->bytes &&
	       a->pause_sec == b->pause_sec && same_text(a->scope, b->scope) &&
	       same_text(a->nodes, b->nodes) &&
	       a->n_processes == b->n_processes &&
	       same_moments(&a->alone_round_sec, &b->alone_round_sec) &&
	       same_moments(&a->beside_round_sec, &b->beside_round_sec);
}

static int same_blocks(const struct np_block_run *a, size_t n_a,
		       const struct np_block_run *b, size_t n_b)
{
	int same = n_a == n_b;

	for (size_t i = 0; same && i < n_a; i++)
		same = same_text(a[i].level, b[i].level) &&
		       a[i].at_sec == b[i].at_sec && a[i].sec == b[i].sec &&
		       a[i].rate == b[i].rate &&
		       same_moments(&a[i].round_sec, &b[i].round_sec);
	return same;
}

static int same_lists(const struct np_record *a, const struct np_record *b)
{
	int same = a->n_leaves == b->n_leaves && a->n_notes == b->n_notes &&
		   a->n_neighbours == b->n_neighbours &&
		   same_text(a->blocks_scope, b->blocks_scope) &&
		   a->blocks_nodes == b->blocks_nodes &&
		   same_blocks(a->blocks, a->n_blocks, b->blocks,
			       b->n_blocks) &&
		   same_blocks(a->blocks_alone, a->n_blocks_alone,
			       b->blocks_alone, b->n_blocks_alone);

	for (size_t i = 0; same && i < a->n_leaves; i++)
		same = same_leaf(&a->leaves[i], &b->leaves[i]);
	for (size_t i = 0; same && i < a->n_notes; i++)
		same = same_text(a->notes[i], b->notes[i]);
	for (size_t i = 0; same && i < a->n_neighbours; i++) {
		struct np_neighbour *x = &a->neighbours[i];
		struct np_neighbour *y = &b->neighbours[i];

		same = x->job_id == y->job_id && same_text(x->leaf, y->leaf) &&
		       same_text(x->nodes, y->nodes) &&
		       x->overlap_sec == y->overlap_sec;
	}
	return same;
}

static int same_record(const struct np_record *a, const struct np_record *b)
{
	return !strcmp(a->app, b->app) && a->uid == b->uid &&
	       same_text(a->cluster, b->cluster) && a->job_id == b->job_id &&
	       a->array_job_id == b->array_job_id &&
	       a->array_task_id == b->array_task_id &&
	       a->het_component == b->het_component &&
	       a->step_id == b->step_id &&
	       same_text(a->executable, b->executable) &&
	       same_text(a->fingerprint, b->fingerprint) &&
	       a->n_tasks == b->n_tasks && a->n_nodes == b->n_nodes &&
	       same_text(a->nodes, b->nodes) && a->start == b->start &&
	       a->end == b->end && a->state == b->state &&
	       a->exit_code == b->exit_code && a->alone_sec == b->alone_sec &&
	       same_text(a->netprof_version, b->netprof_version) &&
	       same_text(a->slurm_version, b->slurm_version) &&
	       same_text(a->ucx_version, b->ucx_version) &&
	       same_text(a->host, b->host) &&
	       same_probe(&a->probe, &b->probe) &&
	       same_level(a->level, b->level) && same_lists(a, b);
}

static void test_round_trip(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct np_record *r = t_some_record(seed), *again;
		struct np_err err = NP_ERR_INIT;
		char *text = NULL;
		int rc;

		T_CHECK(np_record_write(r, "", &text, NULL) == 0);
		again = parse(text, strlen(text), &rc, &err);
		T_ROW(err.text, rc == 0);
		T_CHECK(again && same_record(r, again));
		np_record_free(again);
		np_record_free(r);
		free(text);
	}
}

static void test_a_changed_record_is_not_the_same(void)
{
	struct np_record *a = t_some_record(5), *b = t_some_record(5);

	T_CHECK(same_record(a, b));
	b->leaves[0].n_pairs++;
	T_CHECK(!same_record(a, b));
	np_record_free(a);
	np_record_free(b);
}

static void test_what_cannot_be_stored(void)
{
	struct np_record *r = t_some_record(1);
	char *text = NULL;

	r->end = NAN;
	T_CHECK(np_record_write(r, "", &text, NULL) == -EINVAL);
	r->end = INFINITY;
	T_CHECK(np_record_write(r, "", &text, NULL) == -EINVAL);
	T_CHECK(!text);
	np_record_free(r);
}

static void test_strange_text_is_made_harmless(void)
{
	struct np_record *r = t_some_record(1), *again;
	char *text = NULL;
	int rc;

	free(r->executable);
	r->executable = strdup("/opt/caf\xe9/\x1b[2J");
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	again = parse(text, strlen(text), &rc, NULL);
	T_CHECK(rc == 0 && !strcmp(again->executable, "/opt/caf?/?[2J"));
	np_record_free(again);
	np_record_free(r);
	free(text);
}

/* Whichever json-c wrote it, whichever reads it. */
static void test_letters_of_all_kinds(void)
{
	static const char name[] = "/opt/\u00e9t\u00e9/\u20ac/\U0001f600 \\ \"x\"";
	struct np_record *r = t_some_record(1), *again;
	char *text = NULL;
	int rc;

	free(r->executable);
	r->executable = strdup(name);
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	again = parse(text, strlen(text), &rc, NULL);
	T_CHECK(rc == 0 && !strcmp(again->executable, name));
	np_record_free(again);
	np_record_free(r);
	free(text);
}

/* 1500 nodes behind 80 leaves for an hour: every leaf has 2048 windows. */
static void test_a_big_job_still_fits(void)
{
	struct np_record *r = np_record_new(), *again;
	struct t_rng g = { 7 };
	uint64_t n = 0;
	char *text = NULL;
	int rc;

	strcpy(r->app, "big");
	for (int i = 0; i < 80; i++) {
		char name[] = { 'a' + (char)(i / 26), 'a' + (char)(i % 26), 0 };

		t_add_latency(np_record_leaf(r, name), &g, 20000, 1e-5, 2040);
	}
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	T_CHECK(strlen(text) < 1 << 20);
	again = parse(text, strlen(text), &rc, NULL);
	T_CHECK(rc == 0 && again->n_leaves == 80);
	T_CHECK(again->leaves[79].windows->width_sec == 16);
	for (size_t i = 0; i < again->leaves[79].windows->n; i++)
		n += again->leaves[79].windows->w[i].n;
	T_CHECK(n == 20000);
	np_record_free(again);
	np_record_free(r);
	free(text);
}

#define HEAD "{\"schema\":1,\"app\":\"a\",\"uid\":1,\"job_id\":2," \
	"\"step_id\":0,\"start\":1,\"end\":2,\"state\":\"complete\""
#define SCHEME ",\"hist\":{\"first_edge_sec\":1e-07,\"per_decade\":25," \
	"\"bins\":177}"
#define LEAF(x) HEAD SCHEME ",\"leaves\":[{" x "}]}"
#define MOMENTS(n) "\"latency\":{\"n\":" n ",\"mean\":2e-5,\"m2\":1e-10," \
	"\"min\":1e-5,\"max\":3e-5}"
#define WINDOWS(w) LEAF(MOMENTS("3") ",\"hist\":[[60,3]],\"windows\":{" w "}")

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
	{ "schema zero", "{\"schema\":0}", -EINVAL, "schema: expected 1" },
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
	  -EINVAL, "n_tasks: got 9.22337e+18, expected 0 to" },
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
	  "latency: expected moments that samples can have" },
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
	  "rising order" },
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

static void test_texts(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(texts); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_record *r;
		int rc;

		r = parse(texts[i].text, strlen(texts[i].text), &rc, &err);
		T_ROW(texts[i].name, rc == texts[i].rc);
		T_ROW(texts[i].name, !rc == !!r);
		T_ROW(texts[i].name, strstr(err.text, texts[i].says));
		T_ROW(texts[i].name, !rc || strstr(err.text, "some.json"));
		np_record_free(r);
	}
}

static void test_missing_members_have_their_meaning(void)
{
	const char *text = LEAF("\"name\":\"x\"");
	int rc;
	struct np_record *r = parse(text, strlen(text), &rc, NULL);

	T_CHECK(rc == 0 && r->array_job_id == NP_NO_VALUE &&
		r->het_component == NP_NO_VALUE && r->exit_code == NP_NO_VALUE);
	T_CHECK(!r->cluster && !r->level && r->n_tasks == 0);
	T_CHECK(!strcmp(r->leaves[0].nodes, "") && !r->leaves[0].hist &&
		!r->leaves[0].windows && !r->leaves[0].skipped);
	np_record_free(r);
}

/* Small text, large tree: refused before the parser builds it. */
static void test_bombs(void)
{
	static const struct {
		const char *name, *piece;
	} bombs[] = {
		{ "objects", "{}," }, { "arrays", "[]," }, { "numbers", "0," },
		{ "depth", "[" }, { "deep objects", "{\"a\":" },
	};
	size_t max = NP_RECORD_MAX_BYTES - 1000;
	char *text = malloc(max + 1000);

	for (size_t i = 0; i < NP_ARRAY_SIZE(bombs); i++) {
		size_t len, piece = strlen(bombs[i].piece);
		struct np_err err = NP_ERR_INIT;
		int rc;

		strcpy(text, HEAD ",\"x\":[");
		len = strlen(text);
		for (; len + piece < max; len += piece)
			memcpy(text + len, bombs[i].piece, piece);
		T_ROW(bombs[i].name, !parse(text, len, &rc, &err));
		T_ROW(bombs[i].name, rc == -EINVAL && err.text[0]);
	}
	free(text);
}

static void test_too_large_is_not_even_parsed(void)
{
	size_t len = NP_RECORD_MAX_BYTES + 1;
	char *text = malloc(len);
	struct np_err err = NP_ERR_INIT;
	int rc;

	memset(text, ' ', len);
	memcpy(text, HEAD "}", strlen(HEAD "}"));
	T_CHECK(!parse(text, len, &rc, &err) && rc == -EINVAL);
	T_CHECK(!!strstr(err.text, "expected at most"));
	np_record_free(parse(text, len - 1, &rc, &err));
	T_CHECK(rc == 0);
	free(text);
}

/* The same record as it is after some bytes went wrong. */
static size_t mutate(struct t_rng *g, char *text, size_t len)
{
	static const char *const words[] = {
		"-1", "1e999", "null", "[", "{", "\"", "99999999999999999999",
		"\\u0000", "0", "nan", ",", "}", "]", "0.5", "true",
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

static void test_mutations(void)
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
			m = parse(copy, mutate(&g, copy, len), &rc, &err);
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

static const struct t_case cases[] = {
	{ "what was written is read back", test_round_trip },
	{ "the comparison of these tests sees a change",
	  test_a_changed_record_is_not_the_same },
	{ "numbers that are none are not written", test_what_cannot_be_stored },
	{ "strange text becomes harmless", test_strange_text_is_made_harmless },
	{ "names beyond ASCII are read back", test_letters_of_all_kinds },
	{ "the record of a big job still fits", test_a_big_job_still_fits },
	{ "damaged and impossible records are refused by name", test_texts },
	{ "missing members have their documented meaning",
	  test_missing_members_have_their_meaning },
	{ "small texts cannot become large trees", test_bombs },
	{ "a huge record is not even parsed", test_too_large_is_not_even_parsed },
	{ "no mutation of a record crashes or hangs", test_mutations },
	{ NULL, NULL },
};
T_SUITE(record_json, cases)
