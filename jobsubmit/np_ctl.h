/*
 * Functions that slurmctld offers to its plugins although no installed header
 * declares them, and lines in slurmctld's log. The functions resolve from
 * libslurmfull; seen with Slurm 22.05.
 */
#ifndef NP_CTL_H
#define NP_CTL_H

#include "np_slurm_compat.h"

/*
 * Log "netprof: ..." in slurmctld.log. Control characters are replaced
 * (np_text.h), as the arguments may come from users.
 */
void np_ctl_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void np_ctl_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Private to slurmctld in every release: we only pass it by. */
typedef struct job_record job_record_t;

/* Strings in job descriptions must be allocated with this; slurm_xfree(). */
extern char *slurm_xstrdup(const char *text);

/* Replace such a string by a copy of text. */
static inline void np_ctl_set(char **where, const char *text)
{
	char *copy = slurm_xstrdup(text);

	slurm_xfree((void **)where);
	*where = copy;
}

/* Bitmaps of array tasks: index of the first bit set, or -1; and others. */
extern int64_t slurm_bit_ffs(bitstr_t *b);
extern int32_t slurm_bit_set_count(bitstr_t *b);
extern int slurm_bit_test(bitstr_t *b, int64_t bit);
extern int64_t slurm_bit_size(bitstr_t *b);

#endif
