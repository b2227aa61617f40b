/*
 * Names of operations.  Schedgen names them l1, l2, l3 ... in each rank: as
 * long as that is so nothing is kept of them but how many there are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_goal_text.h"
#include "np_text.h"

struct entry {
	uint32_t op, len; /* len 0: free */
	size_t at;	  /* where its name begins */
};

struct np_goal_labels {
	uint32_t in_order; /* the first of them are l1, l2, ... */
	struct entry *entry; /* a hash table */
	size_t size, n;
	char *text;
	size_t len, max;
};

struct np_goal_labels *np_goal_labels_new(void)
{
	return calloc(1, sizeof(struct np_goal_labels));
}

void np_goal_labels_clear(struct np_goal_labels *l)
{
	free(l->entry);
	free(l->text);
	*l = (struct np_goal_labels){ .n = 0 };
}

void np_goal_labels_free(struct np_goal_labels *l)
{
	if (l)
		np_goal_labels_clear(l);
	free(l);
}

/* The number of l7: 7; of all else 0. */
static uint32_t number_of(const char *name, size_t len)
{
	uint32_t n = 0;

	if (len < 2 || len > 10 || name[0] != 'l' || name[1] == '0')
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		n = 10 * n + (uint32_t)(name[i] - '0');
	}
	return n;
}

static struct entry *place(const struct np_goal_labels *l, const char *name,
			   size_t len)
{
	uint64_t h = np_hash(NP_HASH, name, len);
	size_t at = (size_t)(h ^ h >> 29) & (l->size - 1);

	while (l->entry[at].len &&
	       (l->entry[at].len != len ||
		memcmp(l->text + l->entry[at].at, name, len)))
		at = (at + 1) & (l->size - 1);
	return &l->entry[at];
}

static int grow(struct np_goal_labels *l)
{
	struct np_goal_labels more = *l;

	if (2 * l->n < l->size)
		return 0;
	more.size = l->size ? 2 * l->size : 64;
	more.entry = calloc(more.size, sizeof(*more.entry));
	if (!more.entry)
		return -ENOMEM;
	for (size_t i = 0; i < l->size; i++)
		if (l->entry[i].len)
			*place(&more, l->text + l->entry[i].at,
			       l->entry[i].len) = l->entry[i];
	free(l->entry);
	*l = more;
	return 0;
}

static int keep(struct np_goal_labels *l, const char *name, size_t len)
{
	if (np_array_room(&l->text, &l->max, l->len + len, 1))
		return -ENOMEM;
	memcpy(l->text + l->len, name, len);
	l->len += len;
	return 0;
}

int np_goal_labels_add(struct np_goal_labels *l, const char *name, size_t len,
		       uint32_t op)
{
	uint32_t n = number_of(name, len), there;
	struct entry *e;

	if (n && n == op + 1 && l->in_order == op && !l->n) {
		l->in_order++;
		return 0;
	}
	if (!np_goal_labels_find(l, name, len, &there))
		return -EEXIST;
	if (grow(l) || keep(l, name, len))
		return -ENOMEM;
	e = place(l, name, len);
	*e = (struct entry){ op, (uint32_t)len, l->len - len };
	l->n++;
	return 0;
}

int np_goal_labels_find(const struct np_goal_labels *l, const char *name,
			size_t len, uint32_t *op)
{
	uint32_t n = number_of(name, len);
	const struct entry *e;

	if (n && n <= l->in_order) {
		*op = n - 1;
		return 0;
	}
	if (!l->n)
		return -ENOENT;
	e = place(l, name, len);
	if (!e->len)
		return -ENOENT;
	*op = e->op;
	return 0;
}
