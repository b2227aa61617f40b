#include "np_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_quantity.h"
#include "np_read.h"

void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source)
{
	w->source = source;
	w->at = text;
	w->end = len ? text + len : text;
	w->line = 0;
	w->n = 0;
}

int np_words_errf(const struct np_words *w, struct np_err *err, int rc,
		  const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return np_errf(err, rc, "%s:%zu: %s", w->source, w->line, text);
}

/* Copy a line without its comment; no NUL and no control but blanks. */
static int copy(struct np_words *w, const char *from, size_t len,
		struct np_err *err)
{
	const char *comment = memchr(from, '#', len);

	if (comment)
		len = (size_t)(comment - from);
	if (len && from[len - 1] == '\r')
		len--;
	if (len >= sizeof(w->text))
		return np_words_errf(w, err, -EINVAL, "a line of %zu bytes, "
				     "expected at most %zu", len,
				     sizeof(w->text) - 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return np_words_errf(w, err, -EINVAL, "byte 0x%02x, "
					     "expected text", c);
		w->text[i] = c == '\t' ? ' ' : (char)c;
	}
	w->text[len] = '\0';
	return 0;
}

static int split(struct np_words *w, struct np_err *err)
{
	char *save = NULL;

	w->n = 0;
	for (char *p = strtok_r(w->text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save)) {
		if (w->n == NP_WORDS_MAX)
			return np_words_errf(w, err, -EINVAL, "more than %d "
					     "words", NP_WORDS_MAX);
		w->word[w->n++] = p;
	}
	return 0;
}

int np_words_next(struct np_words *w, struct np_err *err)
{
	while (w->at < w->end) {
		const char *end = memchr(w->at, '\n', (size_t)(w->end - w->at));
		size_t len = (size_t)((end ? end : w->end) - w->at);
		int rc;

		w->line++;
		rc = copy(w, w->at, len, err);
		if (!rc)
			rc = split(w, err);
		if (rc)
			return rc;
		w->at = end ? end + 1 : w->end;
		if (w->n)
			return 1;
	}
	return 0;
}

int np_words_time(const struct np_words *w, size_t i, double *sec,
		  struct np_err *err)
{
	if (i >= w->n || np_duration_parse(w->word[i], sec))
		return np_words_errf(w, err, -EINVAL, "\"%.40s\": expected a "
				     "time as 10ms or 1.5s",
				     i < w->n ? w->word[i] : "");
	return 0;
}

int np_words_bytes(const struct np_words *w, size_t i, uint64_t max,
		   uint64_t *bytes, struct np_err *err)
{
	if (i >= w->n || np_bytes_parse(w->word[i], bytes) || *bytes > max)
		return np_words_errf(w, err, -EINVAL, "\"%.40s\": expected "
				     "bytes as 512, 4K or 20M, at most %llu",
				     i < w->n ? w->word[i] : "",
				     (unsigned long long)max);
	return 0;
}

int np_words_count(const struct np_words *w, size_t i, uint64_t max,
		   uint64_t *n, struct np_err *err)
{
	const char *text = i < w->n ? w->word[i] : "";

	if (!*text || strspn(text, "0123456789") != strlen(text) ||
	    np_bytes_parse(text, n) || *n > max)
		return np_words_errf(w, err, -EINVAL, "\"%.40s\": expected a "
				     "whole number, at most %llu", text,
				     (unsigned long long)max);
	return 0;
}

static int check(int fd, const char *path, size_t max, struct stat *st,
		 struct np_err *err)
{
	if (fd < 0 || fstat(fd, st))
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return np_errf(err, -EINVAL, "%s: not a regular file", path);
	if (st->st_size > (off_t)max)
		return np_errf(err, -EFBIG, "%s: %lld bytes, expected at most "
			       "%zu", path, (long long)st->st_size, max);
	return 0;
}

int np_words_file(const char *path, size_t max, char **text, size_t *len,
		  struct np_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *buf = NULL;
	ssize_t got = 0;
	int rc = check(fd, path, max, &st, err);

	if (!rc) {
		buf = malloc((size_t)st.st_size + 1);
		if (!buf)
			rc = np_errf(err, -ENOMEM, "%s: out of memory", path);
	}
	if (!rc) {
		got = np_read_up_to(fd, buf, (size_t)st.st_size);
		if (got < 0)
			rc = np_errf(err, (int)got, "%s: %s", path,
				     strerror((int)-got));
	}
	if (fd >= 0)
		close(fd);
	if (rc) {
		free(buf);
		return rc;
	}
	*text = buf;
	*len = (size_t)got;
	return 0;
}
