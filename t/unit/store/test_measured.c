#include "t.h"
#include "np_measured.h"
#include "np_read.h"

#include <sys/stat.h>

T_TEST("measurements of the shaped leaf are read")
{
	struct np_measured m;
	const struct np_measured_set *s;

	T_CHECK(!np_measured_load(t_data("real-switch.json"), &m, NULL));
	s = &m.set[0];
	T_CHECK(m.n_sets == 1 && s->n_apps == 7 && s->fabric.n_levels == 7 &&
		s->n_rows == 49);
	T_CHECK(!strcmp(s->app[3].name, "bt.S") &&
		!strcmp(s->level[6].name, "c6"));
	/* bt.S with is.W, under c1; c1 with bt.S; c1 under c5 */
	T_CHECK(s->row[21].victim == 3 && s->row[21].co[0] == 0 &&
		s->row[21].slowdown.mean == 2.3434);
	T_CHECK(s->app[3].curve[1].mean == 0.2902);
	T_CHECK(s->app[3].impact[1].mean == 0.0821);
	T_CHECK(s->fabric.pairs[1 * 7 + 5].mean == 0.1237);
	T_CHECK(s->app[3].curve[1].n == 1 && isnan(s->app[3].curve[1].sd));
	/* half round trips */
	T_CHECK(t_close(s->fabric.idle.all.mean, 13.11e-6, 1e-12) &&
		s->fabric.idle.all.n == 800 && s->fabric.bins->n == 60 &&
		t_close(s->fabric.bins->edge[60], 6e-3, 1e-12));
	T_CHECK(s->fabric.idle.count[5] == 99);
	np_measured_free(&m);
}

T_TEST("simulated sets are read")
{
	struct np_measured m;

	T_CHECK(!np_measured_load(t_data("simulated-switch.json"), &m, NULL));
	T_CHECK(m.n_sets == 2 && m.set[0].n_rows == 36 + 126 &&
		m.set[1].n_rows == 36);
	T_CHECK(!strcmp(m.set[1].name, "ports4_seed1"));
	T_CHECK(m.set[0].row[36].n_co == 2 && m.set[0].fabric.pairs == NULL &&
		m.set[0].app[0].impact == NULL);
	T_CHECK(m.set[0].row[1].slowdown.mean == 0.01212);
	np_measured_free(&m);
}

T_TEST("our own layout is read")
{
	const struct np_measured_set *s;
	struct np_measured m;

	T_CHECK(!np_measured_load(t_data("pairs.json"), &m, NULL));
	s = &m.set[0];
	T_CHECK(!strcmp(s->name, "two-and-two") && s->n_apps == 2 &&
		s->fabric.n_levels == 3);
	T_CHECK(s->alone_sec[0].n == 3 && s->alone_sec[0].mean == 10 &&
		!s->alone_sec[1].n);
	T_CHECK(s->app[0].curve[1].n == 3 && s->app[0].curve[1].sd == 0.01);
	T_CHECK(!s->app[1].curve[1].n && s->app[1].curve[2].mean == 0.2);
	T_CHECK(!s->app[0].impact[2].n && s->app[1].impact[2].mean == 0.3);
	T_CHECK(s->fabric.sharing[NP_SCOPE_NODE].n == 0 &&
		s->fabric.sharing[NP_SCOPE_LEAF].n == 4 &&
		s->fabric.sharing[NP_SCOPE_UPLINK].mean == 0.2);
	T_CHECK(s->n_rows == 4 && s->row[3].n_co == 2 &&
		s->row[3].slowdown.mean == 0.6);
	T_CHECK(s->fabric.bins->n == NP_HIST_BINS &&
		s->fabric.idle.count[58] == 3 &&
		t_close(s->fabric.idle.all.max, 2.4e-5, 1e-12));
	T_CHECK(!s->level[0].latency.all.n && !s->level[1].latency.all.n);
	np_measured_free(&m);
}

#define HEAD "{\"format\":\"netprof-pairs\",\"schema\":1,"
#define NAMES HEAD "\"programs\":[\"a\",\"b\"],\"levels\":[\"c\"],"
#define PAIRS "\"program_beside_program\":[[1,2],[3,4]]"

/* clang-format off */
static const struct {
	const char *name, *json;
	int rc;
	const char *text;
} rows[] = {
	{ "least that is accepted", NAMES PAIRS "}", 0, "" },
	{ "a fabric without programs", HEAD "\"programs\":[],"
	  "\"levels\":[\"c\"],\"level_beside_level\":[[0.5]]}", 0, "" },
	{ "no format", "{\"programs\":[],\"levels\":[]}", -EINVAL,
	  "format: expected netprof-pairs" },
	{ "empty", "", -EINVAL, "f.json: damaged at byte 0" },
	{ "no JSON", "hello", -EINVAL, "f.json:1: expected JSON, got \"hello\"" },
	{ "cut off", "{\"programs\":[", -EINVAL, "f.json" },
	{ "an array", "[]", -EINVAL, "expected an object" },
	{ "an empty object", "{}", -EINVAL, "format: expected netprof-pairs" },
	{ "nested too deeply", "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", -EINVAL,
	  "f.json" },
	{ "another format", "{\"format\":\"elf\"}", -EINVAL,
	  "format: expected netprof-pairs" },
	{ "a schema that is no number",
	  "{\"format\":\"netprof-pairs\",\"schema\":\"x\"}", -EINVAL,
	  "schema" },
	{ "a schema below 1",
	  "{\"format\":\"netprof-pairs\",\"schema\":-1}", -EINVAL,
	  "schema: got -1, expected 1 to 2147483647" },
	{ "a newer schema", "{\"format\":\"netprof-pairs\",\"schema\":2}",
	  -EPROTONOSUPPORT, "schema 2 is newer than 1" },
	{ "programs that are a number", HEAD "\"programs\":7}", -EINVAL,
	  "programs: expected an array" },
	{ "a program without a name", HEAD "\"programs\":[{}]}", -EINVAL,
	  "programs[0]" },
	{ "an empty name", HEAD "\"programs\":[\"\"]}", -EINVAL,
	  "programs[0]" },
	{ "a name with a bar", HEAD "\"programs\":[\"a|b\"]}", -EINVAL,
	  "programs[0]" },
	{ "a name with an escape", HEAD "\"programs\":[\"a\\u001b[2J\"]}",
	  -EINVAL, "programs[0]" },
	{ "a name with a zero byte", HEAD "\"programs\":[\"a\\u0000b\"]}",
	  -EINVAL, "programs[0]" },
	{ "a name of 65 characters", HEAD "\"programs\":[\"aaaaaaaaaaaaaaaaaaaa"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}", -EINVAL,
	  "programs[0]" },
	{ "one name twice", HEAD "\"programs\":[\"a\",\"a\"],\"levels\":[],"
	  PAIRS "}", -EINVAL, "a: expected a name of its own" },
	{ "a program called as a level", HEAD "\"programs\":[\"a\",\"c\"],"
	  "\"levels\":[\"c\"]," PAIRS "}", -EINVAL, "a name of its own" },
	{ "a level called idle", HEAD "\"programs\":[\"a\",\"b\"],"
	  "\"levels\":[\"idle\"]," PAIRS "}", -EINVAL, "a name of its own" },
	{ "no pairs", NAMES "\"x\":1}", -EINVAL,
	  "program_beside_program: expected a value" },
	{ "too few rows", NAMES "\"program_beside_program\":[[1,2]]}",
	  -EINVAL, "2 elements, not 1" },
	{ "too many columns",
	  NAMES "\"program_beside_program\":[[1,2,3],[1,2]]}", -EINVAL,
	  "program_beside_program[0]" },
	{ "a slowdown of -1", NAMES "\"program_beside_program\":[[1,-1],"
	  "[1,2]]}", -EINVAL, "program_beside_program[0][1]: got -1, expected "
	  "more than -1, at most 1000000" },
	{ "a slowdown that is text", NAMES "\"program_beside_program\":"
	  "[[1,\"2\"],[1,2]]}", -EINVAL, "program_beside_program[0][1]" },
	{ "a slowdown that is infinite", NAMES "\"program_beside_program\":"
	  "[[1,1e999],[1,2]]}", -EINVAL, "program_beside_program[0][1]" },
	{ "a slowdown that is no number", NAMES "\"program_beside_program\":"
	  "[[1,NaN],[1,2]]}", -EINVAL, "program_beside_program[0][1]" },
	{ "a mean of no runs", NAMES "\"program_beside_program\":[[1,"
	  "{\"n\":0,\"mean\":1}],[1,2]]}", -EINVAL, "[0][1].n: got 0" },
	{ "a mean without n", NAMES "\"program_beside_program\":[[1,"
	  "{\"mean\":1}],[1,2]]}", -EINVAL, "[0][1]" },
	{ "a negative sd", NAMES "\"program_beside_program\":[[1,"
	  "{\"n\":2,\"mean\":1,\"sd\":-1}],[1,2]]}", -EINVAL, "[0][1].sd: got -1" },
	{ "a curve of another length", NAMES "\"program_beside_level\":"
	  "[[1],[1,2]]," PAIRS "}", -EINVAL, "program_beside_level[1]" },
	{ "an unknown program in a group", NAMES PAIRS ",\"groups\":[{"
	  "\"victim\":\"z\"}]}", -EINVAL, "groups[0].victim: \"z\"" },
	{ "a group of none", NAMES PAIRS ",\"groups\":[{\"victim\":\"a\","
	  "\"co\":[],\"slowdown\":1}]}", -EINVAL,
	  "groups[0].co: got 0, expected 1 to 8" },
	{ "a group of nine", NAMES PAIRS ",\"groups\":[{\"victim\":\"a\","
	  "\"co\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"],"
	  "\"slowdown\":1}]}", -EINVAL, "groups[0]" },
	{ "a coupling below zero", NAMES PAIRS ",\"coupling\":{\"leaf\":-1}}",
	  -EINVAL, "coupling.leaf: got -1" },
	{ "probes that are an array", NAMES PAIRS ",\"probes\":[]}", -EINVAL,
	  "probes" },
	{ "probes without a mean", NAMES PAIRS ",\"probes\":{\"c\":{\"n\":1}}}",
	  -EINVAL, "probes.c.mean_sec: expected a value" },
	{ "a latency of zero", NAMES PAIRS ",\"probes\":{\"c\":{\"n\":1,"
	  "\"mean_sec\":1,\"min_sec\":0}}}", -EINVAL, "probes.c: latency" },
	{ "a mean of zero", NAMES PAIRS ",\"probes\":{\"idle\":{\"n\":100,"
	  "\"mean_sec\":0,\"min_sec\":0.7}}}", -EINVAL,
	  "probes.idle.mean_sec: expected more than 0, not 0" },
	{ "a minimum above the mean", NAMES PAIRS ",\"probes\":{\"c\":{"
	  "\"n\":1,\"mean_sec\":1,\"min_sec\":2}}}", -EINVAL, "probes.c.min_sec: got 2" },
	{ "no sd though n is 2", NAMES PAIRS ",\"probes\":{\"c\":{\"n\":2,"
	  "\"mean_sec\":1,\"min_sec\":1}}}", -EINVAL, "probes.c" },
	{ "a bin that is not there", NAMES PAIRS ",\"probes\":{\"c\":{\"n\":1,"
	  "\"mean_sec\":1,\"min_sec\":1,\"bins\":[[177,1]]}}}", -EINVAL,
	  "probes.c.bins: got 177" },
	{ "counts of another length", NAMES PAIRS ",\"probes\":{\"c\":{"
	  "\"n\":1,\"mean_sec\":1,\"min_sec\":1,\"counts\":[1]}}}", -EINVAL,
	  "177 elements" },
	{ "an empty histogram", NAMES PAIRS ",\"probes\":{\"c\":{\"n\":1,"
	  "\"mean_sec\":1,\"min_sec\":1,\"bins\":[]}}}", -EINVAL,
	  "histogram without samples" },
	{ "edges that fall", NAMES PAIRS ",\"latency_bin_edges_sec\":[0,2,1]}",
	  -EINVAL, "bin edge 2" },
	{ "one edge", NAMES PAIRS ",\"latency_bin_edges_sec\":[0]}", -EINVAL,
	  "at least 2" },
	{ "an open last bin", NAMES PAIRS ",\"latency_bin_edges_sec\":"
	  "[0,1,null]}", 0, "" },
	{ "no sets", HEAD "\"sets\":[]}", -EINVAL, "sets" },
	{ "a set that is a number", HEAD "\"sets\":[1]}", -EINVAL,
	  "sets[0]: expected an object" },
	{ "a set without its names", HEAD "\"sets\":[{}]}", -EINVAL,
	  "sets[0].programs" },
};
/* clang-format on */

T_TEST("each refusal says where and why")
{
	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		struct np_measured m = { 0 };
		int rc = np_measured_parse(r->json, strlen(r->json), "f.json",
					   &m, &err);
		int ok = rc == r->rc && strstr(err.text, r->text);

		T_ROW(r->name, ok);
		if (!ok)
			printf("\n    %s: %d %s\n", r->name, rc, err.text);
		np_measured_free(&m);
	}
}

/* Any cut and any flipped byte: an answer or a reason, never a crash. */
T_TEST("damaged files do no harm")
{
	size_t len = 0, failed = 0, silent = 0;
	char *text = NULL;

	T_CHECK(!np_read_file(t_data("pairs.json"), 65536, &text, &len, NULL));
	for (size_t i = 0; i < 2 * len; i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_measured m = { 0 };
		size_t at = i / 2, n = i % 2 ? len : at;
		char was = text[at];
		int rc;

		if (i % 2)
			text[at] ^= (char)(1 + i * 7 % 255);
		rc = np_measured_parse(text, n, "f.json", &m, &err);
		failed += rc != 0;
		silent += rc && !err.text[0];
		text[at] = was;
		np_measured_free(&m);
	}
	T_CHECK(failed > len && silent == 0);
	free(text);
}

T_TEST("only regular files of sane size are read")
{
	struct np_err err = NP_ERR_INIT;
	struct np_measured m;
	char path[300];
	FILE *f;

	T_CHECK(np_measured_load("/nonexistent", &m, &err) == -ENOENT &&
		strstr(err.text, "/nonexistent"));
	T_CHECK(np_measured_load(t_tmpdir(), &m, &err) == -EINVAL &&
		strstr(err.text, "not a regular file"));
	snprintf(path, sizeof(path), "%s/fifo", t_tmpdir());
	T_CHECK(!mkfifo(path, 0600));
	T_CHECK(np_measured_load(path, &m, &err) == -EINVAL); /* no hang */
	snprintf(path, sizeof(path), "%s/huge", t_tmpdir());
	f = fopen(path, "w");
	T_CHECK(f && !ftruncate(fileno(f), NP_MEASURED_MAX_BYTES + 1));
	fclose(f);
	T_CHECK(np_measured_load(path, &m, &err) == -EFBIG);
}

/* Small text, large tree: refused before the parser builds it. */
T_TEST("small files that become large trees are refused at once")
{
	static const struct {
		const char *name, *head, *piece;
	} bombs[] = {
		{ "objects", NAMES PAIRS ",\"x\":[", "{}," },
		{ "arrays", NAMES PAIRS ",\"x\":[", "[]," },
		{ "numbers", NAMES PAIRS ",\"x\":[", "0," },
		{ "members", NAMES PAIRS ",\"x\":{", "\"a\":1," },
		{ "depth", NAMES PAIRS ",\"x\":[", "[" },
		{ "deep objects", NAMES PAIRS ",\"x\":[", "{\"a\":" },
	};
	size_t max = NP_MEASURED_MAX_BYTES;
	char *text = malloc(max);

	T_EACH(r, bombs) {
		size_t len = strlen(r->head);
		size_t piece = strlen(r->piece);
		struct np_err err = NP_ERR_INIT;
		struct np_calibration c;
		struct np_measured m;

		memcpy(text, r->head, len);
		for (; len + piece < max; len += piece)
			memcpy(text + len, r->piece, piece);
		T_ROW(r->name, np_measured_parse(text, len, "f.json", &m,
						 &err) == -EFBIG);
		T_ROW(r->name,
		      strstr(err.text,
			     "f.json: expected at most 131072 objects"));
		T_ROW(r->name, np_calibration_parse(text, len, "f.json", &c,
						    &err) == -EFBIG);
	}
	free(text);
}

static void print_names(FILE *f, const char *key, const char *of, int n)
{
	fprintf(f, "\"%s\":[", key);
	for (int k = 0; k < n; k++)
		fprintf(f, "%s\"%s%d\"", k ? "," : "", of, k);
	fputs("],", f);
}

/* The time that predictions take grows with a power of this number. */
T_TEST("the number of levels is bounded, and the refusal says so")
{
	for (int n = NP_FABRIC_MAX_LEVELS; n < NP_FABRIC_MAX_LEVELS + 2; n++) {
		bool allowed = n == NP_FABRIC_MAX_LEVELS;
		struct np_err err = NP_ERR_INIT;
		struct np_measured m;
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		fputs(HEAD "\"programs\":[],", f);
		print_names(f, "levels", "l", n);
		fputs("\"x\":0}", f);
		T_CHECK(!fclose(f));
		T_CHECK(np_measured_parse(text, len, "f.json", &m, &err) ==
			(allowed ? 0 : -EINVAL));
		if (allowed)
			np_measured_free(&m);
		else
			T_ROW(err.text,
			      !strcmp(err.text, "f.json: levels: got 129, "
						"expected 0 to 128"));
		free(text);
	}
}

#define PROBED 100 /* programs */

static void print_probes(FILE *f, const char *of, int n)
{
	for (int k = 0; k < n; k++)
		fprintf(f,
			",\"%s%d\":{\"n\":1,\"mean_sec\":1,\"min_sec\":1,"
			"\"bins\":[[1,1]]}",
			of, k);
}

/* Each asks for more than the file has: a histogram of 1000 bins for one. */
T_TEST("what a file asks for is bounded")
{
	struct np_err err = NP_ERR_INIT;
	struct np_measured m;
	size_t len, limit;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	fputs(HEAD "\"sets\":[", f);
	for (int i = 0; i < NP_MEASURED_MAX_SETS; i++) {
		fputs(i ? ",{" : "{", f);
		print_names(f, "programs", "p", PROBED);
		print_names(f, "levels", "l", NP_FABRIC_MAX_LEVELS);
		fputs("\"latency_bin_edges_sec\":[0", f);
		for (int k = 1; k <= 1024; k++)
			fprintf(f, ",%d", k);
		fputs("],\"program_beside_program\":[", f);
		for (int k = 0; k < PROBED * PROBED; k++)
			fprintf(f, "%snull%s",
				k % PROBED ? "," :
				k	   ? ",[" :
					     "[",
				(k + 1) % PROBED ? "" : "]");
		fputs("],\"probes\":{\"x\":0", f);
		print_probes(f, "p", PROBED);
		print_probes(f, "l", NP_FABRIC_MAX_LEVELS);
		fputs("}}", f);
	}
	fputs("]}", f);
	limit = !fclose(f) && len < NP_MEASURED_MAX_BYTES;
	T_CHECK(limit &&
		np_measured_parse(text, len, "f.json", &m, &err) == -EFBIG);
	T_CHECK(!!strstr(err.text, "bytes of memory"));
	free(text);
}
