#include "np_notice.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_attach.h"
#include "np_log.h"
#include "np_saver_find.h"
#include "np_saver_msg.h"
#include "np_text.h"
#include "np_turn.h"

/* The saver's socket has room for it, unless the saver stands still. */
static bool tell_saver(const char *store, const char *line)
{
	const char *field[] = { store, line };
	uid_t taken;
	int fd = np_saver_find(&taken);
	char *msg = NULL;
	long len, put = -1;

	if (fd < 0)
		return false;
	len = np_saver_pack(NP_SAVER_LOG, 0, field, NP_ARRAY_SIZE(field), &msg);
	if (len > 0) {
		put = send(fd, msg, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
		free(msg);
	}
	close(fd);
	return put > 0 && put == len;
}

/* Between fork and exit in a threaded program: plain system calls only. */
static void write_line(const char *store, const char *line, const char *text)
{
	static const int keep[] = { -1, -1, -1 };

	signal(SIGXFSZ, SIG_IGN);
	if (np_detach(keep, 3) || !np_turn_take() || np_log_append(store, line))
		np_log_system(text);
	_exit(0);
}

void np_notice(const char *store, const char *fmt, ...)
{
	char text[512], line[NP_LOG_LINE];
	va_list ap;
	pid_t pid;

	va_start(ap, fmt);
	np_text_print(text, sizeof(text), fmt, ap);
	va_end(ap);
	np_log_line(line, text);
	if (tell_saver(store, line))
		return;
	pid = np_saver_in_job() ? -1 : fork();
	if (!pid)
		write_line(store, line, text);
	if (pid < 0)
		np_log_system(text);
}
