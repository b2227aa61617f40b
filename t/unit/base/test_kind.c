/* Files that are of another kind than what a reader expects. */
#include "t.h"
#include "np_read.h"

#include <sys/stat.h>

#define T(text) text, sizeof(text) - 1

static const struct {
	const char *name, *text;
	size_t len;
	enum np_kind expected;
	const char *says; /* NULL: it may be that */
} rows[] = {
	{ "a byte-order mark before GOAL", T("\xef\xbb\xbfnum_ranks 1\n"),
	  NP_KIND_GOAL,
	  "x:1: begins with a byte-order mark (UTF-8), expected "
	  "text in UTF-8 without one" },
	{ "a byte-order mark before JSON", T("\xef\xbb\xbf{}"), NP_KIND_JSON,
	  "x:1: begins with a byte-order mark (UTF-8)" },
	{ "UTF-16", T("\xff\xfen\0u\0m\0"), NP_KIND_GOAL,
	  "x:1: begins with a byte-order mark (UTF-16)" },
	{ "GOAL for mpiP", T("num_ranks 1\nrank 0 {}\n"), NP_KIND_MPIP,
	  "x:1: expected a report of mpiP, got an execution graph in GOAL" },
	{ "mpiP for GOAL", T("@ mpiP\n@ Command : a\n"), NP_KIND_GOAL,
	  "x:1: expected an execution graph in GOAL, got a report of mpiP" },
	{ "binary GOAL for mpiP", T("\x7f\x10\0\0\0\0\0\0\1\0\0\0"),
	  NP_KIND_MPIP,
	  "x:1: expected a report of mpiP, got an execution "
	  "graph in binary GOAL" },
	{ "a topology.yaml for GOAL", T("- topology: default\n"), NP_KIND_GOAL,
	  "x:1: expected an execution graph in GOAL, got a topology.yaml of "
	  "Slurm" },
	{ "YAML for GOAL", T("---\n- topology: default\n"), NP_KIND_GOAL,
	  "x:1: expected an execution graph in GOAL, got YAML" },
	{ "JSON for a scheme", T("{\"format\": 1}"), NP_KIND_WORDS,
	  "x:1: expected lines of words, got JSON" },
	{ "a program",
	  T("\x7f"
	    "ELF\2\1\1"),
	  NP_KIND_GOAL,
	  "x:1: expected an execution graph in GOAL, got a "
	  "program or library (ELF)" },
	{ "gzip", T("\x1f\x8b\x08\0"), NP_KIND_MPIP,
	  "x:1: expected a report of mpiP, got gzip data" },
	{ "a page of the web", T("<html>"), NP_KIND_JSON,
	  "x:1: expected JSON, got XML or HTML" },
	{ "words for JSON", T(" \nqueue 1\nthink 2\n"), NP_KIND_JSON,
	  "x:1: expected JSON, got \"queue 1\"" },
	{ "a long line for JSON", T("0123456789012345678901234567890123"),
	  NP_KIND_JSON,
	  "x:1: expected JSON, got "
	  "\"012345678901234567890123456789\" ..." },
	{ "bytes for JSON", T("\0\1"), NP_KIND_JSON,
	  "x:1: expected JSON, got binary data" },
	{ "JSON behind blanks", T(" \n{}"), NP_KIND_JSON, NULL },
	{ "blanks alone", T(" \n"), NP_KIND_JSON, NULL },
	{ "GOAL in text", T("num_ranks 1\n"), NP_KIND_GOAL, NULL },
	{ "GOAL in binary", T("\x7f\x10\0\0\0\0\0\0"), NP_KIND_GOAL, NULL },
	{ "a topology", T("SwitchName=s0\n"), NP_KIND_TOPOLOGY, NULL },
	{ "any text", T("num_ranks 1\n"), NP_KIND_TEXT, NULL },
	{ "a comment", T("# one\n"), NP_KIND_WORDS, NULL },
	{ "less than a kind has", T("@ m"), NP_KIND_GOAL, NULL },
	{ "nothing", T(""), NP_KIND_MPIP, NULL },
};

T_TEST("what is of another kind is named")
{
	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		/* Of just that size, so that what reads on is seen. */
		char *copy = malloc(r->len ? r->len : 1);
		int rc;

		memcpy(copy, r->text, r->len);
		rc = np_kind_check(copy, r->len, r->expected, "x", &err);
		T_ROW(r->name, rc == (r->says ? -EINVAL : 0));
		T_ROW(r->name, !strncmp(err.text, r->says ? r->says : "",
					r->says ? strlen(r->says) : 1));
		free(copy);
	}
}

/* What np_read_file() of a file of this text says. */
T_TEST("files that are no text are named as what they are")
{
	struct np_err err = NP_ERR_INIT;
	const char *path = t_write_text("kind", "\x7f"
						"ELF and more");
	char fifo[512], *text = NULL;
	size_t len;

	T_CHECK(np_read_file(path, 4096, &text, &len, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "a program or library (ELF)"));
	T_CHECK(np_read_file(path, 2, &text, &len, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "a program or library (ELF)"));
	t_write("kind", "a\nb\0c\n", 6);
	T_CHECK(np_read_file(path, 4096, &text, &len, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "kind:2: a NUL character, expected text"));
	T_CHECK(np_read_file(t_tmpdir(), 2, &text, &len, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "a directory, not a regular file"));
	snprintf(fifo, sizeof(fifo), "%s/fifo", t_tmpdir());
	T_CHECK(!mkfifo(fifo, 0600));
	T_CHECK(np_read_file(fifo, 2, &text, &len, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "a FIFO, not a regular file"));
	T_CHECK(!unlink(fifo) && !unlink(path) && !text);
}
