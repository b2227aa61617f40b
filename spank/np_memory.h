/*
 * Is the memory that Slurm allows a step nearly used up? Where memory is
 * constrained (ConstrainRAMSpace in cgroup.conf), the next allocation makes
 * Linux kill a process, and Slurm reports the step as OUT_OF_MEMORY even if
 * that process was none of its tasks. Therefore our processes leave earlier.
 */
#ifndef NP_MEMORY_H
#define NP_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define NP_MEMORY_TEXT 96

struct np_memory {
	char dir[PATH_MAX]; /* cgroup of this process; "": no limit applies */
	size_t root_len;    /* length of the hierarchy's mount point in dir */
	bool v2;	    /* cgroup version 2 */
};

/* Make Linux prefer this process and its children if memory runs out anyway. */
void np_memory_yield(void);

/* proc: "/proc/self". A limit that cannot be read counts as none. */
void np_memory_open(struct np_memory *memory, const char *proc);

/*
 * Is less left of any limit than a 16th of it (but at least 16 MiB and at most
 * 256 MiB), or than need bytes? Cached files, which Linux drops first, do not
 * count as used. If so, why says it in words.
 */
bool np_memory_short(const struct np_memory *memory, double need,
		     char why[NP_MEMORY_TEXT]);

#endif
