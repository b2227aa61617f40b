#include "np_words.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "np_option.h"

/* ---- lines of words ---- */

void np_words_open(struct np_words *w, const char *text, size_t len,
		   const char *source, struct np_err *err)
{
	w->source = source;
	w->err = err;
	w->at = text;
	w->end = len ? text + len : text;
	w->line = w->n = 0;
	w->rc = 0;
}

int np_words_fail(struct np_words *w, int rc, const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	if (w->rc)
		return w->rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->rc = np_errf(w->err, rc, "%s:%zu: %s", w->source, w->line, text);
	return w->rc;
}

int np_words_no_memory(struct np_words *w)
{
	if (!w->rc)
		w->rc = np_errf(w->err, -ENOMEM, "%s: out of memory",
				w->source);
	return w->rc;
}

/*
 * Copy a line without its comment. NUL and control characters are errors; tabs
 * become blanks.
 */
static int copy_line(struct np_words *w, const char *from, size_t len)
{
	const char *comment = memchr(from, '#', len);

	if (comment)
		len = (size_t)(comment - from);
	if (len && from[len - 1] == '\r')
		len--;
	if (len >= sizeof(w->text))
		return np_words_fail(w, -EINVAL, "a line of %zu bytes, "
				     "expected at most %zu", len,
				     sizeof(w->text) - 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return np_words_fail(w, -EINVAL, "byte 0x%02x, "
					     "expected text", c);
		w->text[i] = c == '\t' ? ' ' : (char)c;
	}
	w->text[len] = '\0';
	return 0;
}

static void split_line(struct np_words *w)
{
	char *save = NULL;

	for (char *p = strtok_r(w->text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save)) {
		if (w->n == NP_WORDS_MAX) {
			np_words_fail(w, -EINVAL, "more than %d words",
				      NP_WORDS_MAX);
			return;
		}
		w->word[w->n++] = p;
	}
}

bool np_words_next(struct np_words *w)
{
	w->n = 0;
	while (!w->rc && !w->n && w->at < w->end) {
		const char *end = memchr(w->at, '\n', (size_t)(w->end - w->at));
		size_t len = (size_t)((end ? end : w->end) - w->at);

		w->line++;
		if (!copy_line(w, w->at, len))
			split_line(w);
		w->at = end ? end + 1 : w->end;
	}
	return !w->rc && w->n;
}

const char *np_words_at(const struct np_words *w, size_t i)
{
	return i < w->n ? w->word[i] : "";
}

bool np_words_is(const struct np_words *w, size_t i, const char *text)
{
	return !strcmp(np_words_at(w, i), text);
}

double np_words_time(struct np_words *w, size_t i)
{
	const char *text = np_words_at(w, i);
	double sec;

	if (!np_duration_parse(text, &sec))
		return sec;
	np_words_fail(w, -EINVAL, "\"%.40s\": expected a time such as 10ms or "
		      "1.5s", text);
	return 0;
}

uint64_t np_words_bytes(struct np_words *w, size_t i, uint64_t max)
{
	const char *text = np_words_at(w, i);
	uint64_t n;

	if (!np_bytes_parse(text, &n) && n <= max)
		return n;
	np_words_fail(w, -EINVAL, "\"%.40s\": expected bytes such as 512, 4K "
		      "or 20M, at most %llu", text, (unsigned long long)max);
	return 0;
}

uint64_t np_words_count(struct np_words *w, size_t i, uint64_t max)
{
	const char *text = np_words_at(w, i);
	uint64_t n;

	if (strspn(text, "0123456789") == strlen(text) &&
	    !np_bytes_parse(text, &n) && n <= max)
		return n;
	np_words_fail(w, -EINVAL, "\"%.40s\": expected a whole number, at most "
		      "%llu", text, (unsigned long long)max);
	return 0;
}

/* ---- rows of named columns ---- */

#define MAX_DATE_SEC 1e11 /* seconds since 1970: the year 5138 */
#define NO_COLUMN NP_ROWS_COLUMNS

struct header {
	size_t n;			/* columns in the text */
	/* index of each in the caller's list, or NO_COLUMN */
	size_t wanted[NP_ROWS_COLUMNS];
};

/* Take the next line off *text; NULL: there is none. */
static char *next_line(char **text)
{
	char *line = *text;
	size_t len = strcspn(line, "\n");

	if (!*line)
		return NULL;
	*text = line + len + (line[len] == '\n');
	line[len] = '\0';
	if (len && line[len - 1] == '\r')
		line[len - 1] = '\0';
	return line;
}

/* Take the next field off *line, which becomes NULL after the last one. */
static char *next_field(char **line, const char *delimiter)
{
	char *field = *line, *end = strstr(field, delimiter);

	*line = end ? end + strlen(delimiter) : NULL;
	if (end)
		*end = '\0';
	return field;
}

static size_t find_column(const struct np_rows_column *column, size_t n,
			  const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(column[i].name, name))
			return i;
	return NO_COLUMN;
}

static int read_header(char *line, const char *name, const char *delimiter,
		       const struct np_rows_column *column, size_t n,
		       struct header *h, struct np_err *err)
{
	bool present[NP_ROWS_COLUMNS] = { false };

	h->n = 0;
	while (line) {
		const char *field = next_field(&line, delimiter);
		size_t at = find_column(column, n, field);

		if (h->n == NP_ROWS_COLUMNS)
			return np_errf(err, -EINVAL, "%s:1: more than %d "
				       "columns", name, NP_ROWS_COLUMNS);
		if (at != NO_COLUMN && present[at])
			return np_errf(err, -EINVAL, "%s:1: column %s appears "
				       "twice", name, column[at].name);
		if (at != NO_COLUMN)
			present[at] = true;
		h->wanted[h->n++] = at;
	}
	for (size_t i = 0; i < n; i++)
		if (column[i].needed && !present[i])
			return np_errf(err, -EINVAL, "%s:1: expected a line "
				       "that names the columns, %s among them, "
				       "as sacct --parsable2 prints it", name,
				       column[i].name);
	return 0;
}

/* false: the row has another number of fields than the header. */
static bool read_row(char *line, const char *delimiter, const struct header *h,
		     char **value)
{
	size_t i = 0;

	for (; line && i < h->n; i++) {
		char *field = next_field(&line, delimiter);

		if (h->wanted[i] != NO_COLUMN)
			value[h->wanted[i]] = field;
	}
	return i == h->n && !line;
}

int np_rows_read(char *text, const char *name, const char *delimiter,
		 const struct np_rows_column *column, size_t n,
		 np_rows_f *each, void *arg, struct np_rows_count *count,
		 struct np_err *err)
{
	char *line = next_line(&text), *value[NP_ROWS_COLUMNS];
	struct header h;
	int rc;

	*count = (struct np_rows_count){ 0 };
	if (!line)
		return 0;
	if (n > NP_ROWS_COLUMNS || !*delimiter)
		return np_errf(err, -EINVAL, "%s: too many columns", name);
	rc = read_header(line, name, delimiter, column, n, &h, err);
	for (size_t at = 2; !rc && (line = next_line(&text)); at++) {
		if (!*line)
			continue;
		for (size_t i = 0; i < n; i++)
			value[i] = NULL;
		if (strlen(line) > NP_ROWS_LINE ||
		    !read_row(line, delimiter, &h, value)) {
			count->damaged++;
			continue;
		}
		rc = each(arg, value, at, err);
		count->taken += !rc;
	}
	return rc;
}

/* ---- times ---- */

int np_rows_date(const char *text, double *date)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *end;
	uint64_t sec;

	if (!*text || !strcasecmp(text, "Unknown") ||
	    !strcasecmp(text, "None")) {
		*date = NAN;
		return 0;
	}
	if (!np_whole_parse(text, (uint64_t)MAX_DATE_SEC, &sec)) {
		*date = (double)sec;
		return 0;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || *end)
		return -EINVAL;
	*date = (double)mktime(&tm);
	return fabs(*date) < MAX_DATE_SEC ? 0 : -EINVAL;
}

/* Read one part of a time: digits, and for the last part a fraction. */
static bool read_part(const char **p, double *out)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*out = strtod(*p, &end);
	*p = end;
	return *out < MAX_DATE_SEC;
}

int np_rows_duration(const char *text, double *sec)
{
	double part[3] = { 0 }, days = 0;
	const char *p = text;
	size_t n = 0;

	if (!*text) {
		*sec = NAN;
		return 0;
	}
	if (!strcasecmp(text, "UNLIMITED") ||
	    !strcasecmp(text, "Partition_Limit")) {
		*sec = INFINITY;
		return 0;
	}
	/* Reject signs, exponents and "0x", which strtod() would accept. */
	if (text[strspn(text, "0123456789:-.")] || !read_part(&p, &part[n++]))
		return -EINVAL;
	if (*p == '-') {
		days = part[0];
		p++;
		if (!read_part(&p, &part[0]))
			return -EINVAL;
	}
	for (; *p == ':' && n < 3; n++) {
		p++;
		if (!read_part(&p, &part[n]))
			return -EINVAL;
	}
	if (*p || (days > 0 && n == 1 && part[0] >= 24))
		return -EINVAL;
	*sec = n == 3 ? 3600 * part[0] + 60 * part[1] + part[2] :
	       days > 0 ? 3600 * part[0] + (n == 2 ? 60 * part[1] : 0) :
	       n == 2 ? 60 * part[0] + part[1] : 60 * part[0];
	*sec += 86400 * days;
	return 0;
}
