#include "t.h"
#include "np_clock.h"
#include "np_store_reader.h"

#include <dirent.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define LONG_SEC 60.0

/* A store of t/data/store, and a proxy that loses its patience soon. */
static struct {
	struct np_store_reader *reader;
	struct np_conf conf;
	sem_t go_on; /* what hangs does */
	atomic_bool hang;
	struct np_known known;
	struct np_err trouble, err;
} w;

/* A file is skipped: here the store hangs, if it is to. */
static void warn(const char *line, void *arg)
{
	(void)line, (void)arg;
	if (!atomic_load(&w.hang))
		return;
	sem_wait(&w.go_on);
	atomic_store(&w.hang, false);
}

#define sh(...) t_sh(w.conf.store, __VA_ARGS__)

static int find(const char *app)
{
	return np_app_index_find(w.known.index, app, geteuid());
}

static int look(void)
{
	np_known_free(&w.known);
	w.trouble.text[0] = w.err.text[0] = '\0';
	return np_store_reader_read(w.reader, .5, warn, &w.known, &w.trouble,
				    &w.err);
}

static void start(double say_sec, double forget_sec)
{
	const struct np_deadlines p = { .1, say_sec, forget_sec };
	static int count;

	memset(&w, 0, sizeof(w));
	sem_init(&w.go_on, 0, 0);
	np_conf_init(&w.conf);
	snprintf(w.conf.store, sizeof(w.conf.store), "%s/proxy%d", t_tmpdir(),
		 count++);
	T_CHECK(!mkdir(w.conf.store, 0755));
	sh("mkdir published fabric placement && cp -r $D/fabric/hpc fabric && "
	   "cp -r $D/own/fft published");
	T_CHECK(!np_store_reader_new(&p, &w.reader));
	T_CHECK(np_store_reader_is_new(w.reader) &&
		!np_store_reader_open(w.reader, &w.conf, "hpc", NULL));
}

static void stop(void)
{
	np_known_free(&w.known);
	np_store_reader_free(w.reader);
	w.reader = NULL;
}

/* The next reading hangs, at a file that is none. */
static void hang(void)
{
	atomic_store(&w.hang, true);
	sh("echo x >published/fft/20300101T000000Z-x.json");
	np_store_reader_renew(w.reader);
	T_CHECK(np_store_reader_is_new(w.reader) &&
		!np_store_reader_open(w.reader, &w.conf, "hpc", NULL));
}

/* All is read, however slow the machine. */
static bool settles(void)
{
	double end = np_mono_sec() + LONG_SEC;

	while (np_mono_sec() < end) {
		if (!atomic_load(&w.hang) && !look() && !w.trouble.text[0] &&
		    find("fft") >= 0)
			return true;
		usleep(10000);
	}
	return false;
}

static bool gets_well(void)
{
	sem_post(&w.go_on);
	return settles();
}

T_TEST("what was read holds while the store hangs")
{
	start(LONG_SEC, LONG_SEC);
	T_CHECK(settles());
	hang();
	for (int i = 0; i < 3; i++)
		T_CHECK(!look() && find("fft") >= 0 && !w.trouble.text[0]);
	T_CHECK(!np_store_reader_expect_job(w.reader, "fft", 1) &&
		!np_store_reader_has_more(w.reader));
	T_CHECK(gets_well());
	stop();
}

/* NULL: none. */
static bool has_rails(const char *text)
{
	double end = np_mono_sec() + LONG_SEC;

	do {
		if (!look() &&
		    (text ? w.known.rails && !strcmp(w.known.rails, text) :
			    !w.known.rails))
			return true;
		usleep(10000);
	} while (np_mono_sec() < end);
	return false;
}

T_TEST("the file of Rails, also while the store hangs")
{
	start(LONG_SEC, LONG_SEC);
	snprintf(w.conf.rails, sizeof(w.conf.rails), "%.900s/rails",
		 w.conf.store);
	sh("echo one >rails");
	np_store_reader_renew(w.reader);
	T_CHECK(np_store_reader_is_new(w.reader) &&
		!np_store_reader_open(w.reader, &w.conf, "hpc", NULL));
	T_CHECK(has_rails("one\n"));
	hang();
	sh("echo two >rails");
	for (int i = 0; i < 2; i++)
		T_CHECK(!look() && w.known.rails &&
			!strcmp(w.known.rails, "one\n"));
	T_CHECK(gets_well() && has_rails("two\n") &&
		!w.known.rails_error->text[0]);
	sh("rm rails");
	T_CHECK(has_rails(NULL) && w.known.rails_error->text[0]);
	stop();
}

T_TEST("that it hangs is reported after a while")
{
	start(.01, LONG_SEC);
	T_CHECK(settles());
	hang();
	T_CHECK(!look() && find("fft") >= 0);
	T_ROW(w.trouble.text,
	      strstr(w.trouble.text, "has not answered for ") &&
		      strstr(w.trouble.text,
			     " s: decisions use the profiles read before"));
	T_CHECK(gets_well());
	stop();
}

T_TEST("and in the end nothing counts as known")
{
	start(.01, .02);
	T_CHECK(settles());
	hang();
	for (int i = 0; i < 2; i++)
		T_CHECK(!look() && find("fft") < 0 && w.known.table);
	T_ROW(w.trouble.text,
	      strstr(w.trouble.text, "all applications count as unknown"));
	T_ROW("until it is back", gets_well());
	stop();
}

T_TEST("a store that hangs from the beginning")
{
	start(LONG_SEC, LONG_SEC);
	hang();
	T_CHECK(look() == -EAGAIN && strstr(w.err.text, "does not answer"));
	T_CHECK(gets_well());
	stop();
}

T_TEST("nobody waits to write into it")
{
	struct np_pass_output l = { .mode = 0640,
				    .has_state = true,
				    .state = { .date = 1.7e9 } };
	struct np_pass_output other = l;
	struct np_state state;

	start(LONG_SEC, LONG_SEC);
	strcpy(l.store, w.conf.store);
	other = l;
	T_CHECK(settles());
	hang();
	T_CHECK(!look());
	T_ROW("nothing is left while it hangs",
	      !np_store_reader_write(w.reader, &other, &w.err));
	T_CHECK(gets_well());
	T_CHECK(np_state_load(w.conf.store, &state, NULL) == -ENOENT);
	stop();
}

static unsigned n_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* The leak sanitizer sees that nothing is lost then. */
T_TEST("a proxy whose store hangs is freed when that answers")
{
	double end = np_mono_sec() + LONG_SEC;
	unsigned n;

	start(LONG_SEC, LONG_SEC);
	T_CHECK(settles());
	hang();
	T_CHECK(!look());
	stop();
	T_ROW("nobody waits for it", atomic_load(&w.hang));
	n = n_threads();
	sem_post(&w.go_on);
	/* That of an earlier test may end as well. */
	while ((n_threads() >= n || atomic_load(&w.hang)) &&
	       np_mono_sec() < end)
		usleep(1000);
	T_ROW("its thread ends", n_threads() < n && !atomic_load(&w.hang));
}
