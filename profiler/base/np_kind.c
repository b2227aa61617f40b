#include "np_kind.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const expectations[] = {
	[NP_KIND_TEXT] = "text",
	[NP_KIND_GOAL] = "an execution graph in GOAL",
	[NP_KIND_MPIP] = "a report of mpiP",
	[NP_KIND_JSON] = "JSON",
	[NP_KIND_TRACE] = "the trace of an MPI rank",
	[NP_KIND_WORDS] = "lines of words",
};

#define SHOWN 30 /* characters of a text that is none of these */

#define BEGINS(text) text, sizeof(text) - 1

static const struct begin {
	const char *bytes;
	size_t len;
	const char *what;
	bool binary;	   /* no text of any kind */
	enum np_kind kind; /* what it is right for; NP_KIND_TEXT: for nothing */
	bool is_mark;	   /* a byte-order mark */
} begins[] = {
	{ BEGINS("\xef\xbb\xbf"), "begins with a byte-order mark (UTF-8)",
	  true, NP_KIND_TEXT, true },
	{ BEGINS("\xff\xfe"), "begins with a byte-order mark (UTF-16)", true,
	  NP_KIND_TEXT, true },
	{ BEGINS("\xfe\xff"), "begins with a byte-order mark (UTF-16)", true,
	  NP_KIND_TEXT, true },
	{ BEGINS("\x7f" "ELF"), "a program or library (ELF)", true,
	  NP_KIND_TEXT },
	{ BEGINS("\x1f\x8b"), "gzip data", true, NP_KIND_TEXT },
	{ BEGINS("BZh"), "bzip2 data", true, NP_KIND_TEXT },
	{ BEGINS("\xfd" "7zXZ"), "xz data", true, NP_KIND_TEXT },
	{ BEGINS("\x28\xb5\x2f\xfd"), "zstd data", true, NP_KIND_TEXT },
	{ BEGINS("PK\x03\x04"), "a zip archive", true, NP_KIND_TEXT },
	{ BEGINS("\x89PNG"), "a picture (PNG)", true, NP_KIND_TEXT },
	{ BEGINS("%PDF"), "a PDF document", true, NP_KIND_TEXT },
	{ BEGINS("\x89HDF"), "HDF5 data", true, NP_KIND_TEXT },
	{ BEGINS("\x7f\x10\0\0\0\0\0\0"), "an execution graph in binary GOAL",
	  true, NP_KIND_GOAL },
	{ BEGINS("nptrace\1"), "the trace of an MPI rank", true,
	  NP_KIND_TRACE },
	{ BEGINS("num_ranks"), "an execution graph in GOAL", false,
	  NP_KIND_GOAL },
	{ BEGINS("@ mpiP"), "a report of mpiP", false, NP_KIND_MPIP },
	{ BEGINS("MPI_Init:"), "the trace of an MPI rank", false,
	  NP_KIND_TRACE },
	{ BEGINS("SwitchName="), "a topology.conf of Slurm", false,
	  NP_KIND_TEXT },
	{ BEGINS("{"), "JSON", false, NP_KIND_JSON },
	{ BEGINS("<"), "XML or HTML", false, NP_KIND_TEXT },
	{ BEGINS("#!"), "a script", false, NP_KIND_WORDS },
};

/* JSON of ours is an object: what begins otherwise is some other text. */
static int check_json(const char *text, size_t len, const char *source,
		      struct np_err *err)
{
	size_t n = 0;

	while (len && *text && strchr(" \t\r\n", *text)) {
		text++;
		len--;
	}
	if (!len || *text == '{' || *text == '[')
		return 0;
	while (n < len && n < SHOWN && text[n] >= ' ' && text[n] <= '~')
		n++;
	return n ? np_errf(err, -EINVAL, "%s:1: expected JSON, got \"%.*s\"%s",
			   source, (int)n, text, n == SHOWN ? " ..." : "") :
		   np_errf(err, -EINVAL, "%s:1: expected JSON, got something "
			   "that is no text", source);
}

int np_kind_check(const char *text, size_t len, enum np_kind expected,
		  const char *source, struct np_err *err)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(begins); i++) {
		const struct begin *b = &begins[i];

		if (len < b->len || memcmp(text, b->bytes, b->len))
			continue;
		if ((b->kind && b->kind == expected) ||
		    (expected == NP_KIND_TEXT && !b->binary))
			return 0;
		return b->is_mark ?
			np_errf(err, -EINVAL, "%s:1: %s, expected text in "
				"UTF-8 without one", source, b->what) :
			np_errf(err, -EINVAL, "%s:1: expected %s, got %s",
				source, expectations[expected], b->what);
	}
	return expected == NP_KIND_JSON ? check_json(text, len, source, err) :
					  0;
}
