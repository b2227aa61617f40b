/*
 * Rows as `sacct --parsable2` prints them: a line with the names of the
 * columns, then a line for each record.  For all readers of Slurm's accounting.
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
 * A date as sacct prints it: "2026-11-25T10:00:00", in local time or UTC; or
 * seconds since 1970, as with SLURM_TIME_FORMAT=%s.  "Unknown", "None" and ""
 * are NaN.  Returns what follows the date, or NULL if there is none.
 */
const char *np_sacct_date(const char *text, bool utc, double *date);

/*
 * A duration as sacct prints it, in seconds: "1-02:03:04", "02:03:04",
 * "03:04.123", or "90" (minutes, of a time limit); "UNLIMITED" and
 * "Partition_Limit" are infinite, "" is NaN.  Returns 0 or -EINVAL.
 */
int np_sacct_duration(const char *text, double *sec);

#endif
