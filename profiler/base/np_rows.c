#include "np_rows.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "np_quantity.h"

#define LATEST 1e11 /* the year 5138 */
#define NO_COLUMN NP_ROWS_COLUMNS

struct head {
	size_t n;			/* columns of the text */
	size_t wanted[NP_ROWS_COLUMNS]; /* which wanted one each is */
};

/* Cut the next line off *text; NULL: there is none. */
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

/* Cut the next field off *line, which becomes NULL behind the last one. */
static char *next_field(char **line, const char *delimiter)
{
	char *field = *line, *end = strstr(field, delimiter);

	*line = end ? end + strlen(delimiter) : NULL;
	if (end)
		*end = '\0';
	return field;
}

static size_t find(const struct np_rows_column *column, size_t n,
		   const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(column[i].name, name))
			return i;
	return NO_COLUMN;
}

static int read_head(char *line, const char *name, const char *delimiter,
		     const struct np_rows_column *column, size_t n,
		     struct head *h, struct np_err *err)
{
	bool there[NP_ROWS_COLUMNS] = { false };

	h->n = 0;
	while (line) {
		const char *field = next_field(&line, delimiter);
		size_t at = find(column, n, field);

		if (h->n == NP_ROWS_COLUMNS)
			return np_errf(err, -EINVAL, "%s:1: more than %d "
				       "columns", name, NP_ROWS_COLUMNS);
		if (at != NO_COLUMN && there[at])
			return np_errf(err, -EINVAL, "%s:1: the column %s is "
				       "there twice", name, column[at].name);
		if (at != NO_COLUMN)
			there[at] = true;
		h->wanted[h->n++] = at;
	}
	for (size_t i = 0; i < n; i++)
		if (column[i].needed && !there[i])
			return np_errf(err, -EINVAL, "%s:1: expected a line "
				       "that names the columns, %s among them, "
				       "as sacct --parsable2 prints it", name,
				       column[i].name);
	return 0;
}

/* false: it has another number of fields. */
static bool read_row(char *line, const char *delimiter, const struct head *h,
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
	struct head h;
	int rc;

	*count = (struct np_rows_count){ 0 };
	if (!line)
		return 0;
	if (n > NP_ROWS_COLUMNS || !*delimiter)
		return np_errf(err, -EINVAL, "%s: too many columns", name);
	rc = read_head(line, name, delimiter, column, n, &h, err);
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
	if (!np_whole_parse(text, (uint64_t)LATEST, &sec)) {
		*date = (double)sec;
		return 0;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || *end)
		return -EINVAL;
	*date = (double)mktime(&tm);
	return fabs(*date) < LATEST ? 0 : -EINVAL;
}

/* A part of a time, of digits and for the last one a fraction. */
static bool take_part(const char **p, double *out)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*out = strtod(*p, &end);
	*p = end;
	return *out < LATEST;
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
	/* No sign, exponent or "0x" gets past this. */
	if (text[strspn(text, "0123456789:-.")] || !take_part(&p, &part[n++]))
		return -EINVAL;
	if (*p == '-') {
		days = part[0];
		p++;
		if (!take_part(&p, &part[0]))
			return -EINVAL;
	}
	for (; *p == ':' && n < 3; n++) {
		p++;
		if (!take_part(&p, &part[n]))
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
