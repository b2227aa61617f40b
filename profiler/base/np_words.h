/*
 * Small text formats: lines of words that people write by hand, and rows of
 * named columns as sacct prints them.
 */
#ifndef NP_WORDS_H
#define NP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/* ---- lines of words ---- */

#define NP_WORDS_LINE 4096 /* most bytes in a line, with its NUL */
#define NP_WORDS_MAX 256   /* most words in a line */

struct np_words {
	const char *source; /* for messages; borrowed */
	struct np_err *err;
	int rc; /* the first error, after which no line is read */
	const char *at, *end;
	size_t line;		  /* number of the line, from 1 */
	char text[NP_WORDS_LINE]; /* the line; each word ends with NUL */
	size_t n;
	char *word[NP_WORDS_MAX];
};

/* Read len bytes of text; text and err are borrowed. */
void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source, struct np_err *err);

/*
 * Advance to the next line that has words; '#' starts a comment. False: there
 * is none, or the line is too long, has too many words or is not text
 * (-EINVAL in w->rc).
 */
bool np_words_next(struct np_words *w);

/*
 * Set err to "SOURCE:LINE: ..." and w->rc to rc, unless there was an error
 * before. Returns w->rc.
 */
int np_words_fail(struct np_words *w, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int np_words_no_memory(struct np_words *w);

/* True if word i is this text. */
bool np_words_is(const struct np_words *w, size_t i, const char *text);

/*
 * Word i, "" if there is none. As a time ("10ms", seconds), as bytes ("4M"), or
 * as a whole number of at most max; these fail and return 0 for other words.
 */
const char *np_words_at(const struct np_words *w, size_t i);
double np_words_time(struct np_words *w, size_t i);
uint64_t np_words_bytes(struct np_words *w, size_t i, uint64_t max);
uint64_t np_words_count(struct np_words *w, size_t i, uint64_t max);

/* ---- rows of named columns ---- */

/*
 * Text as `sacct --parsable2` prints it: a line with the names of the columns,
 * then a line for each record.
 *
 * Columns are found by name, so that releases of Slurm may add, omit or reorder
 * columns. sacct does not escape text that users choose, such as the name of a
 * job. A row with more or fewer fields than the header is therefore skipped and
 * counted, and callers of sacct should choose a delimiter that users cannot
 * guess.
 */

#define NP_ROWS_COLUMNS 256	/* most columns in a header */
#define NP_ROWS_LINE 1048576	/* bytes of the longest row */

/* A column that the caller wants. */
struct np_rows_column {
	const char *name; /* upper or lower case */
	bool needed;	  /* without this column the text is rejected */
};

/* What was read. */
struct np_rows_count {
	size_t taken;	/* rows passed to each() */
	size_t damaged; /* rows skipped */
};

/*
 * value: the text of each wanted column, in the order of the caller's list;
 * NULL for a column that is missing. line: its number, from 1. Returns 0, or
 * -errno with err, which ends the reading.
 */
typedef int np_rows_f(void *arg, char *const *value, size_t line,
		      struct np_err *err);

/*
 * Call each() for every row of text, which is modified. name: the file or
 * command, for messages. delimiter: between fields, "|" for --parsable2.
 * column: n wanted columns, at most NP_ROWS_COLUMNS. An empty text has no rows.
 * Returns 0, -EINVAL with err (name, line and column), or what each()
 * returned.
 */
int np_rows_read(char *text, const char *name, const char *delimiter,
		 const struct np_rows_column *column, size_t n,
		 np_rows_f *each, void *arg, struct np_rows_count *count,
		 struct np_err *err);

/*
 * Dates as sacct prints them: "2026-11-25T10:00:00" in local time, or seconds
 * since 1970 with SLURM_TIME_FORMAT=%s; "Unknown", "None" and "" give NaN.
 * Returns 0 or -EINVAL.
 */
int np_rows_date(const char *text, double *date);

/*
 * Durations as sacct prints them: "1-02:03:04", "02:03:04", "03:04.123", "90"
 * (minutes, of a time limit); "UNLIMITED" and "Partition_Limit" give INFINITY,
 * "" gives NaN. Returns 0 or -EINVAL.
 */
int np_rows_duration(const char *text, double *sec);

#endif
