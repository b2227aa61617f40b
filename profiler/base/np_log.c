#include "np_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "np_text.h"

/*
 * Slurmctld's group is to read it whatever the umask, which belongs to all
 * threads of srun: a child has its own.  It makes plain system calls only.
 * Not by chmod(), see np_store_dir.c.
 */
static void make_user_dir(int users, const char *uid)
{
	pid_t pid = fork();

	if (!pid) {
		umask(0027);
		_exit(mkdirat(users, uid, 0750) != 0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The calling user's directory in the store, made if it is not there. */
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
	int fd = openat(dir, NP_LOG_NAME, O_WRONLY | O_APPEND | O_CREAT |
			O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
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

static int append(const char *store, const char *line, size_t len)
{
	int dir = open_user_dir(store), fd;
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

void np_log(const char *store, const char *fmt, ...)
{
	char text[512], line[640], host[65] = "", when[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	va_list ap;
	int len;

	va_start(ap, fmt);
	np_text_print(text, sizeof(text), fmt, ap);
	va_end(ap);
	gethostname(host, sizeof(host) - 1);
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	len = snprintf(line, sizeof(line), "%s %s %s\n", when, host, text);
	if (append(store, line, (size_t)len))
		syslog(LOG_USER | LOG_NOTICE, "netprof: %s", text);
}
