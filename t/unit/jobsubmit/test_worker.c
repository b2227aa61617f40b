#include "t.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_store_reader.h"
#include "some_slurm.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>

#define SHORT_SEC 0.05
#define LONG_SEC 60.0

/* What hangs until somebody lets it go on. */
struct work {
	sem_t go;
	atomic_int begun, ended, dropped, left;
};

static void work(void *arg)
{
	struct work *w = arg;

	atomic_fetch_add(&w->begun, 1);
	sem_wait(&w->go);
	atomic_fetch_add(&w->ended, 1);
}

static void drop(void *arg)
{
	struct work *w = arg;

	atomic_fetch_add(&w->dropped, 1);
}

/* Nothing of it is used any more. */
static void leave(void *arg)
{
	struct work *w = arg;

	atomic_store(&w->left, w->begun == w->ended ? 1 : -1);
}

static bool is_left(struct work *w)
{
	double end = np_mono_sec() + LONG_SEC;

	while (!w->left && np_mono_sec() < end)
		usleep(1000);
	return w->left == 1;
}

static bool gets_idle(struct np_worker *c)
{
	double end = np_mono_sec() + LONG_SEC;

	while (np_worker_busy_sec(c) > 0 && np_mono_sec() < end)
		usleep(1000);
	return !(np_worker_busy_sec(c) > 0);
}

T_TEST("what is done in time is waited for")
{
	struct work w = { .begun = 0 }, none = { .begun = 0 };
	const struct np_work e = { work, drop, &w };
	struct np_worker *c = NULL;

	sem_init(&w.go, 0, 3);
	T_CHECK(!np_worker_new(false, &c));
	for (int i = 0; i < 3; i++)
		T_CHECK(np_worker_do(c, &e, LONG_SEC) && w.ended == i + 1);
	T_CHECK(!w.dropped && np_worker_busy_sec(c) == 0);
	np_worker_free(c, leave, &w);
	T_CHECK(is_left(&w));
	np_worker_free(NULL, leave, &none);
	T_CHECK(none.left == 1);
}

T_TEST("what hangs is not")
{
	struct work w = { .begun = 0 };
	const struct np_work e = { work, drop, &w };
	struct np_worker *c = NULL;

	sem_init(&w.go, 0, 0);
	T_CHECK(!np_worker_new(false, &c));
	T_CHECK(!np_worker_do(c, &e, SHORT_SEC));
	T_CHECK(np_worker_busy_sec(c) >= SHORT_SEC && !w.dropped);
	sem_post(&w.go);
	T_CHECK(gets_idle(c) && w.ended == 1);
	T_ROW("what nobody waited for is dropped", w.dropped == 1);
	sem_post(&w.go);
	T_ROW("and it can be used again", np_worker_do(c, &e, LONG_SEC));
	T_CHECK(w.ended == 2 && w.dropped == 1);
	np_worker_free(c, leave, &w);
	T_CHECK(is_left(&w));
}

T_TEST("a worker that hangs is left behind")
{
	static struct work w; /* the thread outlives this function */
	const struct np_work e = { work, drop, &w };
	struct np_worker *c = NULL;

	sem_init(&w.go, 0, 0);
	T_CHECK(!np_worker_new(false, &c));
	T_CHECK(!np_worker_do(c, &e, SHORT_SEC));
	np_worker_free(c, leave, &w);
	T_ROW("what it uses stays as long as it hangs", !w.left);
	sem_post(&w.go);
	T_ROW("and is freed by the thread", is_left(&w) && w.dropped == 1);
}

/* What the worker sees of a descriptor of its program. */
struct look {
	int fd;
	bool is_open;
};

static void look(void *arg)
{
	struct look *l = arg;

	l->is_open = fcntl(l->fd, F_GETFD) >= 0;
	np_ctl_info("the first line");
	for (int i = 0; i < NP_CTL_DEFERRED + 2; i++)
		np_ctl_error("line %d", i);
}

T_TEST("a worker with files of its own leaves slurmctld's log to the others")
{
	struct work w = { .begun = 0 };
	struct look l = { .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	const struct np_work e = { look, NULL, &l };
	unsigned n_infos = some_n_logged(), n_errors = some_n_errors();
	struct np_worker *c = NULL;

	T_CHECK(!np_worker_new(true, &c) && np_worker_do(c, &e, LONG_SEC));
	T_CHECK(!l.is_open && fcntl(l.fd, F_GETFD) >= 0);
	T_ROW("nothing is logged yet",
	      some_n_logged() == n_infos && some_n_errors() == n_errors);
	np_ctl_log_deferred();
	T_ROW("as many lines as are deferred, and how many more there were",
	      some_n_errors() == n_errors + NP_CTL_DEFERRED - 1 &&
		      some_n_logged() == n_infos + 2 &&
		      strstr(some_logged(), "3 more lines"));
	np_ctl_log_deferred();
	T_ROW("and once only", some_n_logged() == n_infos + 2);
	close(l.fd);
	np_worker_free(c, leave, &w);
	T_CHECK(is_left(&w));
}
