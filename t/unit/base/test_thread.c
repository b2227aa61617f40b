#include "t.h"
#include "np_thread.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define CLOSE_RANGE 436 /* the number of the system call */

/* A thread, and the descriptors of a pipe of its program. */
static struct {
	pthread_barrier_t changed;
	int pipe[2], opened; /* by the thread */
	int rc;
	bool is_refused; /* close_range(2), as before Linux 5.9 */
	bool has_pipe, has_null;
} w;

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool is_null(int fd)
{
	struct stat null, st;

	return !stat("/dev/null", &null) && !fstat(fd, &st) &&
	       S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev;
}

/* The calling thread has no close_range(2) from now on. */
static void refuse_close_range(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOSE_RANGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { NP_ARRAY_SIZE(filter), filter };

	T_CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	T_CHECK(syscall(CLOSE_RANGE, 3000, 3000, 0) && errno == ENOSYS);
}

static void *own_files(void *arg)
{
	(void)arg;
	if (w.is_refused)
		refuse_close_range();
	w.rc = np_thread_own_files();
	w.has_pipe = is_open(w.pipe[0]) || is_open(w.pipe[1]);
	w.has_null = is_null(0) && is_null(1) && is_null(2);
	w.opened = fcntl(0, F_DUPFD_CLOEXEC, 900);
	pthread_barrier_wait(&w.changed);
	pthread_barrier_wait(&w.changed);
	close(w.opened);
	return NULL;
}

static void check(bool is_refused)
{
	struct pollfd end = { .events = POLLIN };
	pthread_t thread;

	memset(&w, 0, sizeof(w));
	w.is_refused = is_refused;
	T_CHECK(!pipe2(w.pipe, O_CLOEXEC));
	pthread_barrier_init(&w.changed, NULL, 2);
	T_CHECK(!np_thread_start(own_files, NULL, 0, &thread));
	pthread_barrier_wait(&w.changed);
	/* Some containers forbid unshare(2). */
	T_CHECK(!w.rc || (is_refused && w.rc == -EPERM));
	T_ROW("the thread has no descriptor of the program",
	      w.has_pipe == (w.rc != 0));
	T_ROW("it has the standard ones, on /dev/null", w.has_null || w.rc);
	T_ROW("the program has none of its",
	      w.opened >= 900 && (!is_open(w.opened) || w.rc));
	T_ROW("the program keeps its own", is_open(w.pipe[0]));
	close(w.pipe[1]);
	end.fd = w.pipe[0];
	T_ROW("what the program closes is closed, though the thread lives",
	      poll(&end, 1, 0) == 1 && end.revents == POLLHUP);
	close(w.pipe[0]);
	pthread_barrier_wait(&w.changed);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&w.changed);
}

T_TEST("a thread with file descriptors of its own")
{
	check(false);
}

T_TEST("the same on a kernel without close_range")
{
	check(true);
}
