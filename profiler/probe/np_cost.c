#include "np_cost.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in linux/sched/types.h, whose name clashes with that of glibc. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#define SLICE_NS 100000 /* the shortest there is */

/*
 * Not ru_maxrss: it survives exec() and would show what slurmstepd used
 * before it became this program.
 */
static uint64_t peak_rss_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[128];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lu kB", &kib) == 1)
			break;
	fclose(f);
	return (uint64_t)kib << 10;
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + 1e-6 * (double)tv->tv_usec;
}

void np_cost_now(struct np_cost *c)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	c->cpu_sec = seconds(&u.ru_utime) + seconds(&u.ru_stime);
	c->rss_bytes = peak_rss_bytes();
}

void np_cost_prompt(void)
{
	struct attr a = { .size = sizeof(a) };

	prctl(PR_SET_TIMERSLACK, 1);
	/*
	 * Since Linux 6.12 the runtime of an ordinary task is its slice: who
	 * asks for a short one is scheduled soon after it wakes.  Older
	 * kernels ignore it.
	 */
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy)
		return;
	a.runtime_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
