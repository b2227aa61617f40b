/*
 * Functions that slurmctld offers to its plugins and no installed header
 * declares.  They resolve from libslurmfull, seen with Slurm 22.05.
 */
#ifndef NP_CTL_H
#define NP_CTL_H

#include "np_slurm_compat.h"

/*
 * Lines "netprof: ..." in its log, plain (np_text.h) as hostile text may be in
 * them.  What Slurm itself has for this is declared nowhere else.
 */
void np_ctl_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void np_ctl_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Of slurmctld alone; never looked into. */
typedef struct job_record job_record_t;

/* Strings in a job description are of this allocator: slurm_xfree() frees. */
extern char *slurm_xstrdup(const char *text);

/* Replace such a string; text is copied. */
static inline void np_ctl_set(char **where, const char *text)
{
	char *copy = slurm_xstrdup(text);

	slurm_xfree((void **)where);
	*where = copy;
}

/* Bits of an array's tasks: the first one, or -1; how many. */
extern int64_t slurm_bit_ffs(bitstr_t *b);
extern int32_t slurm_bit_set_count(bitstr_t *b);
extern int slurm_bit_test(bitstr_t *b, int64_t bit);
extern int64_t slurm_bit_size(bitstr_t *b);

#endif
