/* Names that somebody may have meant. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_text.h"

#define LONGEST 64 /* of the names compared; more is cut */
#define MOST 3	   /* suggestions */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: as Levenshtein, and two letters may swap. */
size_t cli_distance(const char *a, const char *b)
{
	size_t na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);
	size_t d[LONGEST + 1][LONGEST + 1];

	for (size_t i = 0; i <= na; i++)
		d[i][0] = i;
	for (size_t k = 0; k <= nb; k++)
		d[0][k] = k;
	for (size_t i = 1; i <= na; i++)
		for (size_t k = 1; k <= nb; k++) {
			size_t replace = d[i - 1][k - 1] +
					 (a[i - 1] != b[k - 1]);

			d[i][k] = least(replace, least(d[i - 1][k],
						       d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[na][nb];
}

/* How unlike; SIZE_MAX: not worth a suggestion. */
static size_t unlike(const char *name, const char *other)
{
	size_t len = strlen(name), d = cli_distance(name, other);

	if (d <= (len < 6 ? 1 : len / 3) && d < len)
		return d;
	/* The beginning or a part of a longer name, and the reverse. */
	if (len >= 2 && strlen(other) >= 2 &&
	    (strstr(other, name) || strstr(name, other)))
		return LONGEST + d;
	return (size_t)-1;
}

struct like {
	const char *name;
	size_t unlike;
};

static int by_likeness(const void *a, const void *b)
{
	const struct like *x = a, *y = b;

	if (x->unlike != y->unlike)
		return x->unlike < y->unlike ? -1 : 1;
	return strcmp(x->name, y->name);
}

void cli_suggest(const char *name, char *const *names, size_t n, char *buf,
		 size_t len)
{
	struct like *like = calloc(n + 1, sizeof(*like));
	size_t found = 0;

	buf[0] = '\0';
	if (!like)
		return;
	for (size_t i = 0; i < n; i++) {
		struct like l = { names[i], unlike(name, names[i]) };

		if (l.unlike != (size_t)-1)
			like[found++] = l;
	}
	qsort(like, found, sizeof(*like), by_likeness);
	found = least(found, MOST);
	for (size_t i = 0; i < found; i++)
		cli_add(buf, len, "%s%s%s", i == 0 ? "; did you mean " :
			i + 1 == found ? " or " : ", ", like[i].name,
			i + 1 == found ? "?" : "");
	free(like);
}
