#include "np_near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 64 /* of the names compared; more is cut */
#define MOST 3	   /* suggestions */
#define FAR ((size_t)-1)

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/* Optimal string alignment: as Levenshtein, and two letters may swap. */
size_t np_distance(const char *a, const char *b)
{
	size_t na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);
	unsigned char d[LONGEST + 1][LONGEST + 1];

	for (size_t i = 0; i <= na; i++)
		d[i][0] = (unsigned char)i;
	for (size_t k = 0; k <= nb; k++)
		d[0][k] = (unsigned char)k;
	for (size_t i = 1; i <= na; i++)
		for (size_t k = 1; k <= nb; k++) {
			size_t n = d[i - 1][k - 1] +
				   (size_t)(lower(a[i - 1]) != lower(b[k - 1]));

			n = least(n, least(d[i - 1][k], d[i][k - 1]) + 1u);
			if (i > 1 && k > 1 &&
			    lower(a[i - 1]) == lower(b[k - 2]) &&
			    lower(a[i - 2]) == lower(b[k - 1]))
				n = least(n, d[i - 2][k - 2] + 1u);
			d[i][k] = (unsigned char)n;
		}
	return d[na][nb];
}

/* How unlike two names are; FAR: not worth a suggestion. */
static size_t unlike(const char *name, const char *other)
{
	size_t len = strlen(name), d = np_distance(name, other);

	if (d <= (len < 6 ? 1 : len / 3) && d < len)
		return d;
	/* The beginning or a part of a longer name, and the reverse. */
	if (len >= 2 && strlen(other) >= 2 &&
	    (strstr(other, name) || strstr(name, other)))
		return LONGEST + d;
	return FAR;
}

struct like {
	const char *name;
	size_t unlike;
};

static int before(const struct like *a, const struct like *b)
{
	return a->unlike != b->unlike ? a->unlike < b->unlike :
					strcmp(a->name, b->name) < 0;
}

void np_suggest(const char *name, const char *const *names, size_t n,
		char *buf, size_t len)
{
	struct like best[MOST + 1];
	size_t found = 0, used = 0;

	for (size_t i = 0; i < n; i++) {
		struct like l = { names[i], unlike(name, names[i]) };
		size_t at = found;

		if (l.unlike == FAR)
			continue;
		for (; at && before(&l, &best[at - 1]); at--)
			best[at] = best[at - 1];
		best[at] = l;
		found = least(found + 1, MOST);
	}
	buf[0] = '\0';
	for (size_t i = 0; i < found && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s%s",
			i == 0 ? "; did you mean " : i + 1 == found ? " or " :
			", ", best[i].name, i + 1 == found ? "?" : "");
}
