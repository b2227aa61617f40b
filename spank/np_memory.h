/*
 * Whether the memory that Slurm allows a step is nearly used.  Where it is
 * constrained (ConstrainRAMSpace in cgroup.conf), whoever asks for a page more
 * has Linux kill a process, and Slurm counts the step as OUT_OF_MEMORY even if
 * that was none of its tasks; so processes of ours leave before.
 */
#ifndef NP_MEMORY_H
#define NP_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define NP_MEMORY_TEXT 96

struct np_memory {
	char dir[PATH_MAX]; /* cgroup of this process; "": none has a limit */
	size_t root_len;    /* up to where its hierarchy is mounted */
	bool v2;
};

/* Should it run out nevertheless, this process and its children go first. */
void np_memory_yield(void);

/* proc: "/proc/self".  What cannot be read has no limit. */
void np_memory_open(struct np_memory *m, const char *proc);

/*
 * Is less left of any limit than a 16th of it, or than 16 MiB, but no more than
 * 256 MiB; or than need bytes?  Files in memory, which Linux would drop first,
 * do not count.  If so, why is a word for people.
 */
bool np_memory_short(const struct np_memory *m, double need,
		     char why[NP_MEMORY_TEXT]);

#endif
