/*
 * Parser of the output of sacct, for all readers of Slurm's accounting: of
 * `sacct --parsable2`, which is a line with the names of the columns and then a
 * line per record, and of `sacct --json`.
 *
 * Columns are found by name, because releases of Slurm add columns, omit some
 * or print them in another order. sacct does not escape text that users
 * control, such as the name of a job, so a row may have more fields than there
 * are columns. Callers that run sacct should set a delimiter that no user can
 * guess.
 */
#ifndef NP_SACCT_H
#define NP_SACCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_SACCT_MAX_COLUMNS 256
#define NP_SACCT_NONE NP_SACCT_MAX_COLUMNS

/*
 * The first line. A caller lists the names of the columns that it reads; an
 * index into that list identifies a column.
 */
struct np_sacct_head {
	size_t n; /* columns of the text, at most NP_SACCT_MAX_COLUMNS */
	/* For each column of the text, the index of its name, or NP_SACCT_NONE
	 * if the caller does not read it. */
	size_t column[NP_SACCT_MAX_COLUMNS];
	bool has[NP_SACCT_MAX_COLUMNS]; /* by index: whether it is present */
	size_t twice;	  /* index of one present twice, or NP_SACCT_NONE */
	bool more;	  /* the text has more columns, which are ignored */
	char unused[256]; /* columns that the caller does not read: "A, B" */
};

/*
 * Find the columns names[n_names] in the first line, which is changed; n_names
 * is at most NP_SACCT_MAX_COLUMNS, and the case of letters is ignored.
 * delimiter: between fields, not empty; "|" with --parsable2.
 */
void np_sacct_read_head(char *line, const char *delimiter,
			const char *const *names, size_t n_names,
			struct np_sacct_head *out);

/*
 * Split another line, which is changed. value[] gets the text of each of the
 * n_names columns, "" for a missing one. Returns the number of fields, which
 * differs from head->n if a field contains the delimiter.
 */
size_t np_sacct_read_row(char *line, const char *delimiter,
			 const struct np_sacct_head *head, char **value,
			 size_t n_names);

/*
 * Receives a job of sacct --json. value[] and has[] are in the order of the
 * caller's names, with the text that sacct --parsable2 prints; line is where
 * the job begins. Returns 0, or an error, after which no more jobs are read.
 */
typedef int np_sacct_row_f(void *arg, char *const *value, const bool *has,
			   size_t line);

/*
 * Call row() for each job of sacct --json, in the layouts of Slurm 21.08 to
 * 25.11 (openapi/dbv0.0.37, data_parser/v0.0.39 to v0.0.44). Steps are
 * skipped, except that NTasks, which sacct prints for steps only, is that of
 * the job's largest step.
 * Returns 0, what row() returned, -ENOMEM, or -EINVAL with err (source and
 * line).
 */
int np_sacct_read_json(const char *text, const char *source,
		       const char *const *names, size_t n_names,
		       np_sacct_row_f *row, void *arg, struct np_err *err);

/*
 * Parse a date as sacct prints it: "2026-11-25T10:00:00", in local time or UTC,
 * or seconds since 1970, as with SLURM_TIME_FORMAT=%s. *date: seconds since
 * 1970; NaN for "Unknown", "None" and "". Returns the text after the date, or
 * NULL if text does not begin with one.
 */
const char *np_sacct_date(const char *text, bool utc, double *date);

/*
 * Parse a number of nodes or processors as sacct and sinfo print it. Without
 * --noconvert, AllocNodes and ReqNodes are "4K" for 4096 and "1.50K" for 1536.
 * Returns 0, or -EINVAL, also for more than 2^32 - 1.
 */
int np_sacct_count(const char *text, uint32_t *count);

/*
 * Parse a duration as sacct prints it: "1-02:03:04", "02:03:04", "03:04.123",
 * or "90" (minutes, for a time limit). "UNLIMITED" and "Partition_Limit" are
 * infinite, "" is NaN. Returns 0 or -EINVAL.
 */
int np_sacct_duration(const char *text, double *sec);

#endif
