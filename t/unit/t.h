/*
 * Unit tests: one file per source file, each a table of named rows.
 * A file registers itself, so that adding one is adding one file.
 */
#ifndef NP_T_H
#define NP_T_H

#include <CUnit/CUnit.h>
#include <stddef.h>

#include "np_err.h"

struct t_case {
	const char *name; /* what a user relies on */
	void (*run)(void);
};

struct t_suite {
	const char *name;
	const struct t_case *cases; /* ends with a NULL name */
	struct t_suite *next;
};

void t_register(struct t_suite *s);

#define T_SUITE(id, table) \
	__attribute__((constructor)) static void t_register_##id(void) \
	{ \
		static struct t_suite suite_ = { #id, table, NULL }; \
		t_register(&suite_); \
	}

/* Like CU_ASSERT, but a failure prints the name of the table row. */
#define T_ROW(name, cond) \
	CU_assertImplementation(!!(cond), __LINE__, (name), __FILE__, "", \
				CU_FALSE)

#define T_CHECK(cond) T_ROW(#cond, cond)

/* Relative closeness; both near 0 counts as close. */
int t_close(double got, double want, double rel);

/* A fresh directory under $TMPDIR, removed with all it holds at exit. */
const char *t_tmpdir(void);

/* A command in that directory; D is the store below t/data. */
void t_sh(const char *dir, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What it returns in a process of its own; -1: that crashed. */
int t_in_child(int (*run)(void));

/* Path of a file below t/data. */
const char *t_data(const char *name);

#endif
