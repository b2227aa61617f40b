/*
 * Rows with named columns, as `sacct --parsable2` prints them: a line with the
 * names of the columns, then a line for each record.
 *
 * Columns are found by their names, so that releases of Slurm may add columns,
 * leave some out or print them in another order.  sacct does not escape what
 * users choose, such as the name of a job: a row that has more or fewer fields
 * than the head is left out and counted, and whoever runs sacct should choose a
 * delimiter that no user can guess.
 */
#ifndef NP_ROWS_H
#define NP_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

#define NP_ROWS_COLUMNS 256	/* most in one head */
#define NP_ROWS_LINE 1048576	/* bytes of the longest row */

/* A column that the caller wants. */
struct np_rows_column {
	const char *name; /* in any case of letters */
	bool needed;	  /* without it the text is refused */
};

/* What was read. */
struct np_rows_count {
	size_t taken;	/* rows that each() got */
	size_t damaged; /* rows that were left out */
};

/*
 * value: a text for each wanted column, in the order of the caller's list; NULL
 * for a column that is not there.  line: its number, from 1.  Returns 0, or
 * -errno with err, which ends the reading.
 */
typedef int np_rows_f(void *arg, char *const *value, size_t line,
		      struct np_err *err);

/*
 * Call each() for every row of text, which is changed.  name: of the file or
 * command, for messages; delimiter: between fields, "|" with --parsable2.
 * column: n of them, at most NP_ROWS_COLUMNS.  An empty text has no rows.
 * Returns 0, -EINVAL with the name, line and column that are wrong, or what
 * each() returned.
 */
int np_rows_read(char *text, const char *name, const char *delimiter,
		 const struct np_rows_column *column, size_t n,
		 np_rows_f *each, void *arg, struct np_rows_count *count,
		 struct np_err *err);

/*
 * Times as sacct prints them.  Return 0 or -EINVAL.
 *
 * "2026-11-25T10:00:00" in local time, or seconds since 1970 as with
 * SLURM_TIME_FORMAT=%s; "Unknown", "None" and "" are NaN.
 */
int np_rows_date(const char *text, double *date);

/*
 * "1-02:03:04", "02:03:04", "03:04.123", "90" (minutes, as of a time limit);
 * "UNLIMITED" and "Partition_Limit" are infinite, "" is NaN.
 */
int np_rows_duration(const char *text, double *sec);

#endif
