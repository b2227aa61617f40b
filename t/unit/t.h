/*
 * Unit tests: one suite per file, test_SUITE.c, of tests that register
 * themselves, so that adding one is adding it in one place. Suites get the C
 * library's usual headers from here.
 */
#ifndef NP_T_H
#define NP_T_H

#include <CUnit/CUnit.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_err.h"

struct t_test {
	const char *file;
	int line;
	const char *name;
	void (*run)(void);
	char suite[64]; /* set by t_register(), as is next */
	struct t_test *next;
};

void t_register(struct t_test *test);

struct t_fixture {
	const char *file;
	void (*set_up)(void), (*tear_down)(void);
	struct t_fixture *next;
};

void t_register_fixture(struct t_fixture *fixture);

/* What runs before and after each test of the file; NULL: nothing. */
#define T_FIXTURE(before, after) \
	__attribute__((constructor)) static void register_fixture(void) \
	{ \
		static struct t_fixture fixture_ = { .file = __FILE__, \
						     .set_up = before, \
						     .tear_down = after }; \
		t_register_fixture(&fixture_); \
	} \
	struct t_fixture /* for the semicolon */

/* A test: T_TEST("what a user relies on"), and then its body in braces. */
#define T_TEST(name) T_TEST_AT(name, __LINE__)
#define T_TEST_AT(name, line) T_TEST_AS(name, line)
#define T_TEST_AS(text, at) \
	static void test_##at(void); \
	__attribute__((constructor)) static void register_##at(void) \
	{ \
		static struct t_test test_ = { .file = __FILE__, \
					       .line = at, \
					       .name = text, \
					       .run = test_##at }; \
		t_register(&test_); \
	} \
	static void test_##at(void)

/* Like CU_ASSERT, but a failure prints the name of the table row. */
#define T_ROW(name, cond) \
	CU_assertImplementation(!!(cond), __LINE__, (name), __FILE__, "", \
				CU_FALSE)

#define T_CHECK(cond) T_ROW(#cond, cond)

/* For each row of a table: row points to it. */
#define T_EACH(row, table) \
	for (typeof(*(table)) *row = (table); \
	     row < (table) + NP_ARRAY_SIZE(table); row++)

/* Relative closeness; both near 0 counts as close. */
int t_close(double got, double want, double rel);

/* Formatted text, until the 16th next call of this thread. */
char *t_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A fresh directory under $TMPDIR, removed with all it holds at exit. */
const char *t_tmpdir(void);

/* The path of a file in that directory, as t_text(). */
char *t_path(const char *name);

/*
 * Write a file, in that directory unless the name is an absolute path. Returns
 * its path, until the next call.
 */
const char *t_write(const char *name, const void *data, size_t len);
const char *t_write_text(const char *name, const char *text);

/* A command in that directory; D is the store below t/data. */
void t_sh(const char *dir, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What it returns in a process of its own; -1: that crashed. */
int t_in_child(int (*run)(void));

/* Path of a file below t/data. */
const char *t_data(const char *name);

#endif
