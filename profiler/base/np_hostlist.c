#include "np_hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

#define NAME 255  /* longest name, in bytes; switch names are shorter */
#define DEEPEST 8 /* most brackets in one word */
#define BLANKS " \t\n"
#define SEPARATORS "," BLANKS /* Slurm's */

struct list {
	char **names;
	size_t n;
};

static int add_name(void *arg, const char *name)
{
	struct list *l = arg;

	return l->n == NP_HOSTLIST_MAX ? -E2BIG :
					 np_names_add(&l->names, &l->n, name);
}

struct walk {
	np_hostlist_f *each;
	void *arg;
	char name[NAME + 1]; /* the name under construction */
};

static int expand(struct walk *l, size_t at, const char *word, size_t len,
		  int depth);

/* Expand the numbers of a range, each followed by the rest of the word. */
static int expand_range(struct walk *l, size_t at, unsigned long from,
			unsigned long to, int digits, const char *rest,
			size_t rest_len, int depth)
{
	int rc = 0;

	if (to < from)
		return -EINVAL;
	if (to - from >= NP_HOSTLIST_MAX)
		return -E2BIG;
	for (unsigned long i = from; !rc && i - from <= to - from; i++) {
		int n = snprintf(l->name + at, sizeof(l->name) - at, "%0*lu",
				 digits, i);

		if (n < 0 || (size_t)n >= sizeof(l->name) - at)
			return -EINVAL;
		rc = expand(l, at + (size_t)n, rest, rest_len, depth + 1);
	}
	return rc;
}

/* A number, which blanks or "+" may precede, as Slurm reads it. */
static int parse_number(const char *p, const char *end, unsigned long *out)
{
	unsigned long n = 0;

	while (p < end && isspace((unsigned char)*p))
		p++;
	if (p < end && *p == '+')
		p++;
	if (p == end)
		return -EINVAL;
	for (; p < end; p++)
		if (!isdigit((unsigned char)*p) ||
		    __builtin_mul_overflow(n, 10ul, &n) ||
		    __builtin_add_overflow(n, (unsigned long)(*p - '0'), &n))
			return -EINVAL;
	*out = n;
	return 0;
}

/*
 * Parse "0" or "00-15". The first number sets the width of all; as in Slurm, a
 * blank before it counts, and "3-" is 3.
 */
static int parse_range(const char *p, const char *end, unsigned long *from,
		       unsigned long *to, int *digits)
{
	const char *dash = memchr(p, '-', (size_t)(end - p));
	int rc = parse_number(p, dash ? dash : end, from);

	*digits = (int)((dash ? dash : end) - p);
	*to = *from;
	if (!rc && dash && dash + 1 < end)
		rc = parse_number(dash + 1, end, to);
	return rc;
}

/* word starts after a bracket. */
static int expand_bracket(struct walk *l, size_t at, const char *word,
			  size_t len, int depth)
{
	const char *close = memchr(word, ']', len);
	size_t rest;

	if (!close || depth == DEEPEST)
		return -EINVAL;
	rest = len - (size_t)(close + 1 - word);
	for (const char *p = word; p <= close;) {
		size_t n = strcspn(p, ",]");
		unsigned long from, to;
		int digits, rc = parse_range(p, p + n, &from, &to, &digits);

		if (!rc)
			rc = expand_range(l, at, from, to, digits, close + 1,
					  rest, depth);
		if (rc)
			return rc;
		p += n + 1;
	}
	return 0;
}

static int expand(struct walk *l, size_t at, const char *word, size_t len,
		  int depth)
{
	const char *open = memchr(word, '[', len);
	size_t plain = open ? (size_t)(open - word) : len;

	if (at + plain > NAME || memchr(word, ']', plain))
		return -EINVAL;
	memcpy(l->name + at, word, plain);
	l->name[at + plain] = '\0';
	if (open)
		return expand_bracket(l, at + plain, open + 1, len - plain - 1,
				      depth);
	if (!(at + plain))
		return -EINVAL;
	return l->each ? l->each(l->arg, l->name) : 0;
}

/* Length up to the first of these characters outside brackets. */
static size_t word_len(const char *text, const char *ends)
{
	bool inside = false;
	size_t i;

	for (i = 0; text[i] && (inside || !strchr(ends, text[i])); i++)
		inside = text[i] == '[' || (inside && text[i] != ']');
	return i;
}

size_t np_hostlist_word(const char **text)
{
	*text += strspn(*text, SEPARATORS);
	return word_len(*text, SEPARATORS);
}

int np_hostlist_walk(const char *word, size_t len, np_hostlist_f *each,
		     void *arg)
{
	struct walk w = { .each = each, .arg = arg };

	return expand(&w, 0, word, len, 0);
}

int np_hostlist_each(const char *list, np_hostlist_f *each, void *arg)
{
	int rc = 0;

	for (size_t len; !rc && (len = np_hostlist_word(&list)); list += len)
		rc = np_hostlist_walk(list, len, each, arg);
	return rc;
}

int np_names_add(char ***names, size_t *n, const char *name)
{
	char *copy = strdup(name);

	if (!copy || np_array_grow(names, *n, sizeof(**names))) {
		free(copy);
		return -ENOMEM;
	}
	(*names)[(*n)++] = copy;
	return 0;
}

void np_names_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

int np_hostlist_expand(const char *text, char ***names, size_t *n,
		       struct np_err *err)
{
	struct list l = { .n = 0 };
	struct walk w = { .each = add_name, .arg = &l };
	int rc = 0;

	for (const char *p = text; !rc && p && *p;) {
		size_t len;

		p += strspn(p, BLANKS);
		len = word_len(p, SEPARATORS);
		rc = expand(&w, 0, p, len, 0);
		p += len + strspn(p + len, BLANKS);
		if (*p == ',' && !*++p)
			rc = -EINVAL;
	}
	if (rc) {
		np_names_free(l.names, l.n);
		return np_errf(err, rc, "\"%.64s\": %s", text,
			       rc == -E2BIG  ? "more names than 65536" :
			       rc == -ENOMEM ? "out of memory" :
					       "expected a list of names such "
					       "as leaf[0-3],leaf7");
	}
	*names = l.names;
	*n = l.n;
	return 0;
}

static void write_shared(size_t i, const char *name, char *buf, size_t len,
			 size_t *used, size_t *cut)
{
	/* Keep room for " and N more". */
	const size_t tail = 24, need = strlen(name) + !!i;

	if (*cut || *used + need + tail >= len) {
		++*cut;
		return;
	}
	*used += (size_t)snprintf(buf + *used, len - *used, "%s%s",
				  i ? "," : "", name);
}

size_t np_hostlist_shared(const char *a, const char *b, char *buf, size_t len)
{
	struct list x = { .n = 0 }, y = { .n = 0 };
	size_t count = 0, used = 0, cut = 0;

	buf[0] = '\0';
	if (a && b && !np_hostlist_each(a, add_name, &x) &&
	    !np_hostlist_each(b, add_name, &y) && y.n) {
		qsort(y.names, y.n, sizeof(*y.names), np_order_text);
		for (size_t i = 0; i < x.n; i++)
			if (bsearch(&x.names[i], y.names, y.n, sizeof(*y.names),
				    np_order_text))
				write_shared(count++, x.names[i], buf, len,
					     &used, &cut);
	}
	if (cut)
		snprintf(buf + used, len - used, "%s%zu more",
			 used ? " and " : "", cut);
	np_names_free(x.names, x.n);
	np_names_free(y.names, y.n);
	return count;
}
