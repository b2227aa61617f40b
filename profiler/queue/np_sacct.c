#include "np_sacct.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "np_option.h"

#define LATEST 1e11 /* the year 5138 */

/* ---- rows ---- */

/* Cut the next field off *line, which becomes NULL after the last one. */
static char *next_field(char **line, const char *delimiter)
{
	char *field = *line, *end = strstr(field, delimiter);

	*line = end ? end + strlen(delimiter) : NULL;
	if (end)
		*end = '\0';
	return field;
}

/* The caller's column of that name, or NP_SACCT_NONE. */
static size_t find_column(const char *const *name, size_t n_names,
			  const char *field)
{
	for (size_t i = 0; i < n_names; i++)
		if (!strcasecmp(name[i], field))
			return i;
	return NP_SACCT_NONE;
}

/* Append a name to a list, unless it has no room for it. */
static void add_name(char *list, size_t size, const char *name)
{
	size_t len = strlen(list);

	if (*name && len + strlen(name) + 3 < size)
		sprintf(list + len, "%s%s", len ? ", " : "", name);
}

void np_sacct_read_head(char *line, const char *delimiter,
			const char *const *name, size_t n_names,
			struct np_sacct_head *out)
{
	*out = (struct np_sacct_head){ .twice = NP_SACCT_NONE };
	while (line && out->n < NP_SACCT_MAX_COLUMNS) {
		const char *field = next_field(&line, delimiter);
		size_t at = find_column(name, n_names, field);

		if (at == NP_SACCT_NONE)
			add_name(out->unused, sizeof(out->unused), field);
		else if (out->has[at])
			out->twice = at;
		else
			out->has[at] = true;
		out->column[out->n++] = at;
	}
	out->more = line != NULL;
}

size_t np_sacct_read_row(char *line, const char *delimiter,
			 const struct np_sacct_head *h, char **value,
			 size_t n_names)
{
	static char none[1];
	size_t n = 0;

	for (size_t i = 0; i < n_names; i++)
		value[i] = none;
	for (; line; n++) {
		char *field = next_field(&line, delimiter);

		if (n < h->n && h->column[n] != NP_SACCT_NONE)
			value[h->column[n]] = field;
	}
	return n;
}

/* ---- times ---- */

const char *np_sacct_date(const char *text, bool utc, double *date)
{
	struct tm tm = { .tm_isdst = utc ? 0 : -1 };
	const char *end = text + strlen(text);
	uint64_t sec;

	if (!*text || !strcasecmp(text, "Unknown") ||
	    !strcasecmp(text, "None")) {
		*date = NAN;
		return end;
	}
	if (!np_whole_parse(text, (uint64_t)LATEST, &sec)) {
		*date = (double)sec;
		return end;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		return NULL;
	*date = (double)(utc ? timegm(&tm) : mktime(&tm));
	return fabs(*date) < LATEST ? end : NULL;
}

/* Take a part of a duration: digits, the last one with a fraction. */
static bool take_part(const char **p, double *out)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*out = strtod(*p, &end);
	*p = end;
	return *out < LATEST;
}

int np_sacct_duration(const char *text, double *sec)
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
	/* Exclude what strtod() would accept: signs, exponents, "0x". */
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
