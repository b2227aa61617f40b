/* Messages in slurmctld's log; control characters from users are replaced. */
#include "np_ctl.h"

#include <limits.h>
#include <stdarg.h>

#include "np_text.h"

#define MAX_LINE (PATH_MAX + 1024) /* a path and a message about it */

extern void slurm_info(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
extern int slurm_error(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

void np_ctl_info(const char *fmt, ...)
{
	char line[MAX_LINE];
	va_list args;

	va_start(args, fmt);
	np_text_print(line, sizeof(line), fmt, args);
	va_end(args);
	slurm_info("netprof: %s", line);
}

void np_ctl_error(const char *fmt, ...)
{
	char line[MAX_LINE];
	va_list args;

	va_start(args, fmt);
	np_text_print(line, sizeof(line), fmt, args);
	va_end(args);
	slurm_error("netprof: %s", line);
}
