#include "np_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_clock.h"

/* ---- Changes ---- */

#define MAX_FRESH 64

struct np_changes {
	struct np_change change[NP_CHANGES_MAX];
	size_t n, bytes; /* changes; total length of their texts */
	uint64_t order;	 /* of the last change */
	struct np_owner *owner; /* sorted by id */
	size_t n_owners;
	/* Users who had a change of a job missed that is not in owner[]. */
	uint32_t fresh[MAX_FRESH];
	size_t n_fresh;	  /* MAX_FRESH: there may be further users */
	unsigned missed;  /* changes since np_changes_missed() */
	uint32_t misser;  /* uid of the first of them */
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

/* Whether a change may have been missed of a new job of this owner. */
static bool missed_fresh(const struct np_changes *t, uint32_t owner)
{
	for (size_t i = 0; i < t->n_fresh; i++)
		if (np_may_change(t->fresh[i], owner))
			return true;
	return t->n_fresh == MAX_FRESH;
}

/* Mark that a change by uid of an unknown job was missed. */
static void miss_fresh(struct np_changes *t, uint32_t uid)
{
	for (size_t i = 0; i < t->n_fresh; i++)
		if (t->fresh[i] == uid)
			return;
	if (t->n_fresh < MAX_FRESH)
		t->fresh[t->n_fresh++] = uid;
}

/* Keeps the marks of changes missed since the last np_changes_take(). */
void np_changes_set_owners(struct np_changes *t, struct np_owner *owner,
			   size_t n)
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

bool np_changes_forbidden(const struct np_changes *t, uint32_t id, uint32_t uid)
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

/* Drop what a new change replaces: the same one, or the oldest of too many. */
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

/* Whether a change is within the limits. */
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
	if (!c)
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

/*
 * Whether a change is of this job, its whole array, or its task of the array.
 */
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

/* ---- Shared state ---- */

int np_shared_new(const struct np_conf *conf, struct np_shared **out)
{
	struct np_shared *d = calloc(1, sizeof(*d));

	if (!d || np_changes_new(&d->changes)) {
		free(d);
		return -ENOMEM;
	}
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->admitted_sec = -NP_SHARED_IN_FLIGHT_SEC;
	d->conf = *conf;
	*out = d;
	return 0;
}

void np_shared_configure(struct np_shared *d, const struct np_conf *conf)
{
	pthread_mutex_lock(&d->lock);
	d->conf = *conf;
	pthread_mutex_unlock(&d->lock);
}

void np_shared_busy(struct np_shared *d, bool busy)
{
	pthread_mutex_lock(&d->lock);
	d->busy = busy;
	pthread_mutex_unlock(&d->lock);
}

void np_shared_wait_in_flight(struct np_shared *d)
{
	double left;

	pthread_mutex_lock(&d->lock);
	left = d->admitted_sec + NP_SHARED_IN_FLIGHT_SEC - np_mono_sec();
	pthread_mutex_unlock(&d->lock);
	if (left > 0)
		usleep((useconds_t)(left * 1e6));
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct np_written *)a)->id;
	uint32_t y = ((const struct np_written *)b)->id;

	return x < y ? -1 : x > y;
}

const struct np_written *np_shared_written(const struct np_shared *d,
					   uint32_t id,
					   uint32_t task)
{
	const struct np_written key = { .id = id };

	/* A task without a record of its own is part of the array's record. */
	for (size_t i = 0; task != NP_CHANGE_ALL && i < d->n_written; i++)
		if (d->written[i].array == id && d->written[i].task == task)
			return &d->written[i];
	return d->n_written ? bsearch(&key, d->written, d->n_written,
				      sizeof(key), by_id) : NULL;
}

void np_shared_set_sending(struct np_shared *d, const struct np_sending *s)
{
	pthread_mutex_lock(&d->lock);
	d->sending = s;
	pthread_mutex_unlock(&d->lock);
}

void np_shared_wake_locked(struct np_shared *d)
{
	d->woken = true;
	pthread_cond_signal(&d->cond);
}

void np_shared_wake(struct np_shared *d)
{
	pthread_mutex_lock(&d->lock);
	np_shared_wake_locked(d);
	pthread_mutex_unlock(&d->lock);
}

bool np_shared_wait(struct np_shared *d, double sec)
{
	struct timespec t = np_mono_after(sec);
	bool woken;

	pthread_mutex_lock(&d->lock);
	while (!d->woken && !pthread_cond_clockwait(&d->cond, &d->lock,
						    CLOCK_MONOTONIC, &t))
		;
	woken = d->woken;
	d->woken = false;
	pthread_mutex_unlock(&d->lock);
	return woken;
}

static void decision_free(struct np_decision *s)
{
	if (!s)
		return;
	np_placement_free(s->placement);
	np_cluster_map_unref(s->map);
	np_app_index_unref(s->index);
	free(s->set);
	free(s);
}

void np_shared_publish(struct np_shared *d, struct np_decision *s,
		       struct np_arrivals *arrivals)
{
	struct np_decision *old;

	pthread_mutex_lock(&d->lock);
	old = d->decision;
	if (s && old && old->map == s->map)
		np_placement_carry(s->placement, old->placement, arrivals);
	d->decision = s;
	pthread_mutex_unlock(&d->lock);
	decision_free(old);
}

void np_shared_withdraw(struct np_shared *d)
{
	np_shared_publish(d, NULL, NULL);
}

static void np_written_free(struct np_written *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(w[i].ours);
	free(w);
}

void np_shared_note_written(struct np_shared *d, struct np_written *w, size_t n)
{
	struct np_written *old;
	size_t n_old;

	if (n)
		qsort(w, n, sizeof(*w), by_id);
	pthread_mutex_lock(&d->lock);
	old = d->written;
	n_old = d->n_written;
	d->written = w;
	d->n_written = n;
	pthread_mutex_unlock(&d->lock);
	np_written_free(old, n_old);
}

void np_shared_set_owners(struct np_shared *d, struct np_owner *owner, size_t n)
{
	pthread_mutex_lock(&d->lock);
	np_changes_set_owners(d->changes, owner, n);
	pthread_mutex_unlock(&d->lock);
}

struct np_change *np_shared_take_changes(struct np_shared *d, size_t *n)
{
	struct np_change *c;

	pthread_mutex_lock(&d->lock);
	c = np_changes_take(d->changes, n);
	pthread_mutex_unlock(&d->lock);
	return c;
}

void np_shared_return_changes(struct np_shared *d, struct np_change *c,
			      size_t n)
{
	pthread_mutex_lock(&d->lock);
	np_changes_return(d->changes, c, n);
	pthread_mutex_unlock(&d->lock);
}

unsigned np_shared_take_missed(struct np_shared *d, uint32_t *misser)
{
	unsigned n;

	pthread_mutex_lock(&d->lock);
	n = np_changes_missed(d->changes, misser);
	pthread_mutex_unlock(&d->lock);
	return n;
}

void np_shared_free(struct np_shared *d)
{
	if (!d)
		return;
	decision_free(d->decision);
	np_written_free(d->written, d->n_written);
	np_changes_free(d->changes);
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
