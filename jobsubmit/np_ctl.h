/*
 * Messages in slurmctld's log, and functions of slurmctld that no installed
 * header declares. They are in libslurmfull, with which slurmctld is linked,
 * and are the same in all releases tested (doc/validation/releases.md).
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

/*
 * For a thread with file descriptors of its own (np_thread.h), in which the
 * descriptor of slurmctld's log may be that of another file: defer the lines of
 * the calling thread, until another one calls np_ctl_log_deferred(). Beyond
 * NP_CTL_DEFERRED lines, the others are only counted.
 */
#define NP_CTL_DEFERRED 256
void np_ctl_defer_lines(void);
void np_ctl_log_deferred(void);

/* Private to slurmctld in every release; we only pass pointers to it. */
typedef struct job_record job_record_t;

/*
 * slurmctld frees the strings of a job description with slurm_xfree(), so they
 * must be allocated by this function.
 */
extern char *slurm_xstrdup(const char *text);

/* Replace a string of a job description (NULL: none) by a copy of text. */
static inline void np_ctl_set_string(char **string, const char *text)
{
	char *copy = slurm_xstrdup(text);

	slurm_xfree((void **)string);
	*string = copy;
}

/* Bitmaps of array tasks; slurm_bit_ffs() returns the first bit set, or -1. */
extern int64_t slurm_bit_ffs(bitstr_t *bitmap);
extern int32_t slurm_bit_set_count(bitstr_t *bitmap);
extern int slurm_bit_test(bitstr_t *bitmap, int64_t bit);
extern int64_t slurm_bit_size(bitstr_t *bitmap);

#endif
