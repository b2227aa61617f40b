#include "np_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_clock.h"

int np_shared_new(const struct np_conf *conf, struct np_shared **out)
{
	struct np_shared *d = calloc(1, sizeof(*d));

	if (!d || np_changes_new(&d->changes)) {
		free(d);
		return -ENOMEM;
	}
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->let_in_sec = -NP_SHARED_IN_FLIGHT_SEC;
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

void np_shared_settle(struct np_shared *d)
{
	double left;

	pthread_mutex_lock(&d->lock);
	left = d->let_in_sec + NP_SHARED_IN_FLIGHT_SEC - np_mono_sec();
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

	/* A task without a record of its own is in that of the array. */
	for (size_t i = 0; task != NP_CHANGE_ALL && i < d->n_written; i++)
		if (d->written[i].array == id && d->written[i].task == task)
			return &d->written[i];
	return d->n_written ? bsearch(&key, d->written, d->n_written,
				      sizeof(key), by_id) : NULL;
}

void np_shared_sends(struct np_shared *d, const struct np_sending *s)
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

static void standing_free(struct np_standing *s)
{
	if (!s)
		return;
	np_placement_free(s->placement);
	np_site_unref(s->site);
	np_app_index_unref(s->index);
	free(s->set);
	free(s);
}

void np_shared_publish(struct np_shared *d, struct np_standing *s,
		       struct np_arrivals *arrivals)
{
	struct np_standing *old;

	pthread_mutex_lock(&d->lock);
	old = d->standing;
	if (s && old && old->site == s->site)
		np_placement_carry(s->placement, old->placement, arrivals);
	d->standing = s;
	pthread_mutex_unlock(&d->lock);
	standing_free(old);
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

void np_shared_know(struct np_shared *d, struct np_owner *owner, size_t n)
{
	pthread_mutex_lock(&d->lock);
	np_changes_know(d->changes, owner, n);
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
	standing_free(d->standing);
	np_written_free(d->written, d->n_written);
	np_changes_free(d->changes);
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
