#include "np_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/*
 * The group of slurmctld must be able to read the directory whatever the umask.
 * Not by chmod(); np_store.c has the reason.
 */
static void make_user_dir(int users, const char *uid)
{
	mode_t old = umask(0027);

	mkdirat(users, uid, 0750);
	umask(old);
}

/* Open the calling user's directory in the store, creating it if needed. */
static int open_user_dir(const char *store)
{
	int users, dir, flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char uid[24];
	struct stat st;

	users = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (users < 0)
		return -1;
	dir = openat(users, "users", flags);
	close(users);
	if (dir < 0)
		return -1;
	users = dir;
	snprintf(uid, sizeof(uid), "%lu", (unsigned long)geteuid());
	dir = openat(users, uid, flags);
	if (dir < 0 && errno == ENOENT) {
		make_user_dir(users, uid);
		dir = openat(users, uid, flags);
	}
	close(users);
	if (dir >= 0 && (fstat(dir, &st) || st.st_uid != geteuid())) {
		close(dir);
		return -1;
	}
	return dir;
}

static int open_log(int dir)
{
	int fd = openat(dir, NP_LOG_NAME,
			O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
				O_NONBLOCK | O_CLOEXEC,
			0640);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	if (st.st_size > NP_LOG_MAX_BYTES)
		renameat(dir, NP_LOG_NAME, dir, NP_LOG_NAME ".1");
	return fd;
}

int np_log_append(const char *store, const char *line)
{
	int dir = open_user_dir(store), fd;
	size_t len = strlen(line);
	ssize_t put = -1;

	if (dir < 0)
		return -1;
	fd = open_log(dir);
	close(dir);
	if (fd >= 0) {
		put = write(fd, line, len);
		close(fd);
	}
	return put == (ssize_t)len ? 0 : -1;
}

void np_log_line(char line[NP_LOG_LINE], const char *text)
{
	char host[65] = "", when[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	gethostname(host, sizeof(host) - 1);
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(line, NP_LOG_LINE, "%s %s %.510s\n", when, host, text);
}

/* Not syslog(3), which would wait for a daemon that has stopped reading. */
void np_log_system(const char *text)
{
	static const struct sockaddr_un log = {
		.sun_family = AF_UNIX,
		.sun_path = "/dev/log",
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char line[NP_LOG_LINE];
	int len;

	if (fd < 0)
		return;
	len = snprintf(line, sizeof(line), "<%d>netprof[%ld]: %.510s",
		       LOG_USER | LOG_NOTICE, (long)getpid(), text);
	if (!connect(fd, (const struct sockaddr *)&log, sizeof(log)))
		send(fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}
