#include "np_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FRESH 64

struct np_changes {
	struct np_change change[NP_CHANGES_MAX];
	size_t n, bytes;
	uint64_t order;
	struct np_owner *owner; /* by_owner() */
	size_t n_owners;
	/* Who changed a job that is not among them, and was missed. */
	uint32_t fresh[MAX_FRESH];
	size_t n_fresh;	  /* MAX_FRESH: there may be others */
	unsigned missed;
	uint32_t misser;
};

int np_changes_new(struct np_changes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_texts(struct np_change *c)
{
	free(c->exc_nodes);
	free(c->put);
	c->exc_nodes = c->put = NULL;
}

void np_changes_free(struct np_changes *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free_texts(&t->change[i]);
	free(t->owner);
	free(t);
}

/* The plugin runs as SlurmUser. */
static bool is_administrator(uint32_t uid)
{
	return !uid || uid == geteuid();
}

bool np_may_change(uint32_t uid, uint32_t owner)
{
	return uid == owner || is_administrator(uid);
}

static int by_owner(const void *a, const void *b)
{
	uint32_t x = ((const struct np_owner *)a)->id;
	uint32_t y = ((const struct np_owner *)b)->id;

	return x < y ? -1 : x > y;
}

static struct np_owner *find_owner(const struct np_changes *t, uint32_t id)
{
	const struct np_owner key = { .id = id };

	return t->n_owners ? bsearch(&key, t->owner, t->n_owners, sizeof(key),
				     by_owner) : NULL;
}

/* Was a change missed of a job of this owner that was not known then? */
static bool missed_fresh(const struct np_changes *t, uint32_t owner)
{
	for (size_t i = 0; i < t->n_fresh; i++)
		if (np_may_change(t->fresh[i], owner))
			return true;
	return t->n_fresh == MAX_FRESH;
}

static void miss_fresh(struct np_changes *t, uint32_t uid)
{
	for (size_t i = 0; i < t->n_fresh; i++)
		if (t->fresh[i] == uid)
			return;
	if (t->n_fresh < MAX_FRESH)
		t->fresh[t->n_fresh++] = uid;
}

/* What was missed since the last take still counts. */
void np_changes_know(struct np_changes *t, struct np_owner *owner, size_t n)
{
	if (n)
		qsort(owner, n, sizeof(*owner), by_owner);
	for (size_t i = 0; i < n; i++) {
		const struct np_owner *old = find_owner(t, owner[i].id);

		owner[i].missed = old ? old->missed :
				  missed_fresh(t, owner[i].uid);
	}
	free(t->owner);
	t->owner = owner;
	t->n_owners = n;
}

bool np_changes_strange(const struct np_changes *t, uint32_t id, uint32_t uid)
{
	const struct np_owner *o = find_owner(t, id);

	return o && !np_may_change(uid, o->uid);
}

void np_changes_miss(struct np_changes *t, uint32_t id, uint32_t uid)
{
	struct np_owner *o = find_owner(t, id);

	if (!o)
		miss_fresh(t, uid);
	else if (np_may_change(uid, o->uid))
		o->missed = true;
	if (!t->missed++)
		t->misser = uid;
}

unsigned np_changes_missed(struct np_changes *t, uint32_t *misser)
{
	unsigned n = t->missed;

	*misser = t->misser;
	t->missed = 0;
	return n;
}

static size_t size_of(const struct np_change *c)
{
	return (c->exc_nodes ? strlen(c->exc_nodes) + 1 : 0) +
	       (c->put ? strlen(c->put) + 1 : 0);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_job(const struct np_change *a, const struct np_change *b)
{
	return a->id == b->id && a->task == b->task && a->uid == b->uid;
}

static bool same(const struct np_change *a, const struct np_change *b)
{
	return same_job(a, b) && a->begin_sec == b->begin_sec &&
	       a->put_begin_sec == b->put_begin_sec &&
	       same_text(a->exc_nodes, b->exc_nodes) &&
	       same_text(a->put, b->put);
}

static void drop(struct np_changes *t, size_t i)
{
	t->bytes -= t->change[i].bytes;
	free_texts(&t->change[i]);
	t->change[i] = t->change[--t->n];
}

/* The same again, and the oldest of too many, make room for the new one. */
static void replace(struct np_changes *t, const struct np_change *c)
{
	size_t oldest = t->n, n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (same(&t->change[i], c)) {
			drop(t, i);
			return;
		}
		if (!same_job(&t->change[i], c))
			continue;
		n++;
		if (oldest == t->n ||
		    t->change[i].order < t->change[oldest].order)
			oldest = i;
	}
	if (n >= NP_CHANGES_OF_JOB)
		drop(t, oldest);
}

static bool has_room(const struct np_changes *t, const struct np_change *c)
{
	size_t n = 0, bytes = c->bytes;

	if (t->n == NP_CHANGES_MAX || t->bytes + bytes > NP_CHANGES_BYTES)
		return false;
	if (is_administrator(c->uid))
		return true;
	for (size_t i = 0; i < t->n; i++)
		if (t->change[i].uid == c->uid) {
			n++;
			bytes += t->change[i].bytes;
		}
	return n < NP_CHANGES_OF_USER && bytes <= NP_CHANGES_USER_BYTES;
}

bool np_changes_put(struct np_changes *t, const struct np_change *c)
{
	struct np_change new = *c;

	replace(t, c);
	new.order = ++t->order;
	new.bytes = size_of(c);
	if (!has_room(t, &new)) {
		np_changes_miss(t, c->id, c->uid);
		free_texts(&new);
		return false;
	}
	t->change[t->n++] = new;
	t->bytes += new.bytes;
	return true;
}

static bool is_missed(const struct np_changes *t, uint32_t id)
{
	const struct np_owner *o = find_owner(t, id);

	return o && o->missed;
}

bool np_changes_overtake(const struct np_changes *t, const struct np_sending *s)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct np_change *c = &t->change[i];

		if ((c->id == s->id || (s->array && c->id == s->array)) &&
		    (c->task == NP_CHANGE_ALL || s->task == NP_CHANGE_ALL ||
		     c->task == s->task) && np_may_change(c->uid, s->owner))
			return true;
	}
	return is_missed(t, s->id) || (s->array && is_missed(t, s->array));
}

static int by_order(const void *a, const void *b)
{
	const struct np_change *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

struct np_change *np_changes_take(struct np_changes *t, size_t *n)
{
	struct np_change *c = calloc(t->n + 1, sizeof(*c));

	*n = c ? t->n : 0;
	if (!c) /* for the next time */
		return NULL;
	for (size_t i = 0; i < t->n_owners; i++)
		t->owner[i].missed = false;
	t->n_fresh = 0;
	memcpy(c, t->change, t->n * sizeof(*c));
	qsort(c, *n, sizeof(*c), by_order);
	t->n = t->bytes = 0;
	return c;
}

void np_changes_return(struct np_changes *t, struct np_change *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (t->n == NP_CHANGES_MAX ||
		    t->bytes + c[i].bytes > NP_CHANGES_BYTES) {
			np_changes_miss(t, c[i].id, c[i].uid);
			free_texts(&c[i]);
			continue;
		}
		t->change[t->n++] = c[i];
		t->bytes += c[i].bytes;
	}
	free(c);
}

void np_change_list_free(struct np_change *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free_texts(&c[i]);
	free(c);
}

/* Is it of the job, of all of its array or of its task there? */
static bool is_of(const struct np_change *c, uint32_t id, uint32_t array,
		  uint32_t task)
{
	return (c->task == NP_CHANGE_ALL && c->id == id) ||
	       (array && c->id == array &&
		(c->task == NP_CHANGE_ALL || c->task == task));
}

size_t np_changes_of(const struct np_change *c, size_t n, uint32_t id,
		     uint32_t array, uint32_t task, uint32_t owner,
		     const struct np_change **found, size_t max)
{
	size_t n_found = 0;

	for (size_t i = n; i-- > 0 && n_found < max;)
		if (is_of(&c[i], id, array, task) &&
		    np_may_change(c[i].uid, owner))
			found[n_found++] = &c[i];
	return n_found;
}
