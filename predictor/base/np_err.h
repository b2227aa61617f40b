/*
 * One line of text for the person who can fix the failure.
 *
 * Every function of this project that can fail returns 0 or -errno and takes an
 * optional struct np_err *, which it fills only when it fails: what failed,
 * where, on which value, and what was expected. A library never prints.
 */
#ifndef NP_ERR_H
#define NP_ERR_H

#define NP_ERR_LEN 256

struct np_err {
	char text[NP_ERR_LEN];
};

/* clang-format off */
#define NP_ERR_INIT { "" }
/* clang-format on */

#define NP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Format a line into err. It is ignored if NULL, cut at NP_ERR_LEN - 1 bytes,
 * and made plain (np_text.h), as it may contain hostile input. Returns rc, so
 * that a failure is one statement: return np_errf(err, -EINVAL, "...", ...);
 */
int np_errf(struct np_err *err, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
