/* Runs every registered suite, or those named on the command line. */
#include "t.h"

#include <ftw.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <CUnit/Basic.h>

#ifndef T_DATA_DIR
#define T_DATA_DIR "t/data"
#endif

static struct t_test *last;   /* the test that was registered last */
static struct t_test **tests; /* all, by suite and line */
static size_t n_tests;
static struct t_fixture *fixtures;
static char tmpdir[256];

void t_register(struct t_test *test)
{
	const char *name = strstr(test->file, "/test_") + strlen("/test_");

	snprintf(test->suite, sizeof(test->suite), "%.*s",
		 (int)strcspn(name, "."), name);
	test->next = last;
	last = test;
	n_tests++;
}

void t_register_fixture(struct t_fixture *fixture)
{
	fixture->next = fixtures;
	fixtures = fixture;
}

static int by_line(const void *a, const void *b)
{
	const struct t_test *x = *(struct t_test *const *)a;
	const struct t_test *y = *(struct t_test *const *)b;
	int rc = strcmp(x->suite, y->suite);

	return rc ? rc : x->line - y->line;
}

/* Returns 0 or -1. */
static int sort_tests(void)
{
	size_t n = 0;

	tests = calloc(n_tests, sizeof(*tests));
	if (!tests)
		return -1;
	for (; last; last = last->next)
		tests[n++] = last;
	qsort(tests, n, sizeof(*tests), by_line);
	return 0;
}

int t_close(double got, double want, double rel)
{
	double scale = fmax(fabs(got), fabs(want));

	return fabs(got - want) <= rel * fmax(scale, 1e-12);
}

static int unlink_one(const char *path, const struct stat *st, int flag,
		      struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void remove_tmpdir(void)
{
	nftw(tmpdir, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *t_tmpdir(void)
{
	const char *base = getenv("TMPDIR");

	if (tmpdir[0])
		return tmpdir;
	snprintf(tmpdir, sizeof(tmpdir), "%s/netprof-unit.XXXXXX",
		 base ? base : "/tmp");
	if (!mkdtemp(tmpdir)) {
		perror(tmpdir);
		exit(1);
	}
	atexit(remove_tmpdir);
	return tmpdir;
}

char *t_text(const char *fmt, ...)
{
	static _Thread_local char texts[16][4096];
	static _Thread_local unsigned next;
	char *text = texts[next++ % NP_ARRAY_SIZE(texts)];
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(texts[0]), fmt, ap) >= (int)sizeof(texts[0]))
		abort(); /* not what the test says */
	va_end(ap);
	return text;
}

char *t_path(const char *name)
{
	return t_text("%s/%s", t_tmpdir(), name);
}

const char *t_write(const char *name, const void *data, size_t len)
{
	static char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : t_tmpdir(),
		 *name == '/' ? "" : "/", name);
	f = fopen(path, "we");
	T_ROW(path, f && fwrite(data, 1, len, f) == len && !fclose(f));
	return path;
}

const char *t_write_text(const char *name, const char *text)
{
	return t_write(name, text, strlen(text));
}

const char *t_data(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", T_DATA_DIR, name);
	return path;
}

void t_sh(const char *dir, const char *fmt, ...)
{
	char cmd[2048], *line;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	T_CHECK(asprintf(&line, "cd '%s' && D='%s' && %s", dir, t_data("store"),
			 cmd) > 0);
	T_ROW(cmd, system(line) == 0);
	free(line);
}

int t_in_child(int (*run)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(run());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static bool wanted(const struct t_test *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], t->suite))
			return true;
	return argc < 2;
}

/* Is test i the first one of its suite? */
static bool is_first(size_t i)
{
	return !i || strcmp(tests[i - 1]->suite, tests[i]->suite);
}

/* Names of no suite, which would run nothing: says so. */
static bool unknown(int argc, char **argv)
{
	size_t k;

	for (int i = 1; i < argc; i++) {
		for (k = 0; k < n_tests && strcmp(tests[k]->suite, argv[i]);
		     k++)
			;
		if (k < n_tests)
			continue;
		fprintf(stderr, "unit: no suite \"%s\"; there are:", argv[i]);
		for (k = 0; k < n_tests; k++)
			if (is_first(k))
				fprintf(stderr, " %s", tests[k]->suite);
		fputc('\n', stderr);
		return true;
	}
	return false;
}

static void add_test(size_t i)
{
	static const struct t_fixture none;
	const struct t_fixture *f = fixtures;
	static CU_pSuite suite;

	while (f && strcmp(f->file, tests[i]->file))
		f = f->next;
	f = f ? f : &none;
	if (is_first(i))
		suite = CU_add_suite_with_setup_and_teardown(
			tests[i]->suite, NULL, NULL, f->set_up, f->tear_down);
	CU_add_test(suite, tests[i]->name, tests[i]->run);
}

int main(int argc, char **argv)
{
	unsigned failed, ran;

	if (sort_tests() || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	if (unknown(argc, argv))
		return 2;
	for (size_t i = 0; i < n_tests; i++)
		if (wanted(tests[i], argc, argv))
			add_test(i);
	/* Whatever terminal the tests run in. */
	setenv("COLUMNS", "80", 1);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	/* CU_get_error() is 0 even when assertions fail. */
	failed = CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	CU_cleanup_registry();
	free(tests);
	printf("unit: %u passed, %u failed\n", ran - failed, failed);
	return failed || !ran;
}
