/*
 * Rows as `sacct --parsable2` prints them: a line with the names of the
 * columns, then a line for each record; or the same as `sacct --json` prints
 * it.  For all readers of Slurm's accounting.
 *
 * Columns are found by their names, so that releases of Slurm may add columns,
 * leave some out or print them in another order.  sacct does not escape what
 * users choose, such as the name of a job, so a row may have more fields than
 * the head has columns; whoever runs sacct should choose a delimiter that no
 * user can guess.
 */
#ifndef NP_SACCT_H
#define NP_SACCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_SACCT_MAX_COLUMNS 256
#define NP_SACCT_NONE NP_SACCT_MAX_COLUMNS

/* The first line.  Columns of the caller are indices into its list of names. */
struct np_sacct_head {
	size_t n; /* columns of the text, at most NP_SACCT_MAX_COLUMNS */
	size_t column[NP_SACCT_MAX_COLUMNS]; /* of each, the caller's or NONE */
	bool has[NP_SACCT_MAX_COLUMNS]; /* which of the caller's are present */
	size_t twice;	  /* one that is present twice, or NP_SACCT_NONE */
	bool more;	  /* the text has more columns, which are ignored */
	char unused[256]; /* names that are not the caller's: "Foo, Bar" */
};

/*
 * Find the caller's n_names columns in the first line, which is changed;
 * n_names is at most NP_SACCT_MAX_COLUMNS.  name: in any case of letters.
 * delimiter: between fields, not empty; "|" with --parsable2.
 */
void np_sacct_read_head(char *line, const char *delimiter,
			const char *const *name, size_t n_names,
			struct np_sacct_head *out);

/*
 * Split another line, which is changed: value[] gets the text of each of the
 * caller's n_names columns, "" for a missing one.  Returns the number of
 * fields; it should be h->n.
 */
size_t np_sacct_read_row(char *line, const char *delimiter,
			 const struct np_sacct_head *h, char **value,
			 size_t n_names);

/*
 * A job of sacct --json: value[] and has[] are for the caller's columns, as
 * np_sacct_read_row() would find them; line: where the job begins.  Returns 0,
 * or an error that ends the reading.
 */
typedef int np_sacct_row_f(void *arg, char *const *value, const bool *has,
			   size_t line);

/*
 * Call row() for each job of sacct --json, in the layouts of Slurm 21.08 to
 * 25.11 (openapi/dbv0.0.37, data_parser/v0.0.39 to v0.0.44).  Members that are
 * no column of the caller are skipped, and so are steps; but NTasks, which sacct
 * prints of steps only, is that of the job's largest step.
 * Returns 0, what row() returned, -ENOMEM, or -EINVAL with err (source and
 * line).
 */
int np_sacct_read_json(const char *text, const char *source,
		       const char *const *name, size_t n_names,
		       np_sacct_row_f *row, void *arg, struct np_err *err);

/*
 * A date as sacct prints it: "2026-11-25T10:00:00", in local time or UTC; or
 * seconds since 1970, as with SLURM_TIME_FORMAT=%s.  "Unknown", "None" and ""
 * are NaN.  Returns what follows the date, or NULL if there is none.
 */
const char *np_sacct_date(const char *text, bool utc, double *date);

/*
 * A number of nodes or processors as sacct and sinfo print it.  Without
 * --noconvert AllocNodes and ReqNodes are "4K" for 4096 and "1.50K" for 1536.  Returns 0 or
 * -EINVAL, also for more than 2^32 - 1.
 */
int np_sacct_count(const char *text, uint32_t *n);

/*
 * A duration as sacct prints it, in seconds: "1-02:03:04", "02:03:04",
 * "03:04.123", or "90" (minutes, of a time limit); "UNLIMITED" and
 * "Partition_Limit" are infinite, "" is NaN.  Returns 0 or -EINVAL.
 */
int np_sacct_duration(const char *text, double *sec);

#endif
