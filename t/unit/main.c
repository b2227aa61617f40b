/* Runs every registered suite, or those named on the command line. */
#include "t.h"

#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CUnit/Basic.h>

#ifndef T_DATA_DIR
#define T_DATA_DIR "t/data"
#endif

static struct t_suite *suites;
static char tmpdir[256];

void t_register(struct t_suite *s)
{
	struct t_suite **at = &suites;

	while (*at && strcmp((*at)->name, s->name) < 0)
		at = &(*at)->next;
	s->next = *at;
	*at = s;
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
	T_CHECK(asprintf(&line, "cd '%s' && D='%s' && %s", dir,
			 t_data("store"), cmd) > 0);
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

static int wanted(const struct t_suite *s, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], s->name))
			return 1;
	return argc < 2;
}

/* Names of no suite, which would run nothing: says so. */
static int unknown(int argc, char **argv)
{
	const struct t_suite *s;

	for (int i = 1; i < argc; i++) {
		for (s = suites; s && strcmp(s->name, argv[i]); s = s->next)
			;
		if (s)
			continue;
		fprintf(stderr, "unit: no suite \"%s\"; there are:", argv[i]);
		for (s = suites; s; s = s->next)
			fprintf(stderr, " %s", s->name);
		fputc('\n', stderr);
		return 1;
	}
	return 0;
}

static void add_suite(const struct t_suite *s)
{
	CU_pSuite suite = CU_add_suite(s->name, NULL, NULL);

	for (const struct t_case *c = s->cases; suite && c->name; c++)
		CU_add_test(suite, c->name, c->run);
}

int main(int argc, char **argv)
{
	unsigned failed, ran;

	if (unknown(argc, argv))
		return 2;
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	for (struct t_suite *s = suites; s; s = s->next)
		if (wanted(s, argc, argv))
			add_suite(s);
	/* Whatever terminal the tests run in. */
	setenv("COLUMNS", "80", 1);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	/* CU_get_error() is 0 even when assertions fail. */
	failed = CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	CU_cleanup_registry();
	printf("unit: %u passed, %u failed\n", ran - failed, failed);
	return failed || !ran;
}
