/*
 * Messages in slurmctld's log. They may contain texts of users, in which
 * np_text_print() replaces control characters.
 */
#include "np_ctl.h"

#include <limits.h>
#include <stdarg.h>

#include "np_text.h"

#define MAX_LINE (PATH_MAX + 1024) /* a path and a message about it */

/* Only spank.h, which is not for this plugin, declares these functions. */
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
