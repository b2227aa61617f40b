/*
 * Messages in slurmctld's log. They may contain texts of users, in which
 * np_text_print() replaces control characters.
 */
#include "np_ctl.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

#define MAX_LINE (PATH_MAX + 1024) /* a path and a message about it */

/* Only spank.h, which is not for this plugin, declares these functions. */
extern void slurm_info(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
extern int slurm_error(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Lines of the threads that defer theirs, in the order in which they came. */
static struct {
	pthread_mutex_t lock;
	struct deferred {
		bool is_error;
		char *text;
	} line[NP_CTL_DEFERRED];
	size_t n, n_more;
} deferred = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local bool defers;

void np_ctl_defer_lines(void)
{
	defers = true;
}

static void defer(bool is_error, const char *line)
{
	char *copy = strdup(line);

	pthread_mutex_lock(&deferred.lock);
	if (copy && deferred.n < NP_CTL_DEFERRED) {
		deferred.line[deferred.n++] =
			(struct deferred){ is_error, copy };
		copy = NULL;
	} else {
		deferred.n_more++;
	}
	pthread_mutex_unlock(&deferred.lock);
	free(copy);
}

static void log_line(bool is_error, const char *line)
{
	if (defers)
		defer(is_error, line);
	else if (is_error)
		slurm_error("netprof: %s", line);
	else
		slurm_info("netprof: %s", line);
}

void np_ctl_log_deferred(void)
{
	pthread_mutex_lock(&deferred.lock);
	for (size_t i = 0; i < deferred.n; i++) {
		log_line(deferred.line[i].is_error, deferred.line[i].text);
		free(deferred.line[i].text);
	}
	if (deferred.n_more)
		np_ctl_info("%zu more lines about the store were not logged",
			    deferred.n_more);
	deferred.n = deferred.n_more = 0;
	pthread_mutex_unlock(&deferred.lock);
}

void np_ctl_info(const char *fmt, ...)
{
	char line[MAX_LINE];
	va_list args;

	va_start(args, fmt);
	np_text_print(line, sizeof(line), fmt, args);
	va_end(args);
	log_line(false, line);
}

void np_ctl_error(const char *fmt, ...)
{
	char line[MAX_LINE];
	va_list args;

	va_start(args, fmt);
	np_text_print(line, sizeof(line), fmt, args);
	va_end(args);
	log_line(true, line);
}
