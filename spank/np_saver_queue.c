#include "np_saver_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void np_saver_who_put(struct np_saver_who *w)
{
	if (w && !--w->users)
		free(w);
}

/* The second field, RUN, of a request to save, with its length. */
static const char *run_of(const struct np_saver_request *r, size_t *len)
{
	const char *end = memchr(r->text, '\0', r->len), *run, *stop;

	*len = 0;
	if (r->kind != NP_SAVER_SAVE || !end)
		return NULL;
	run = end + 1;
	stop = memchr(run, '\0', r->len - (size_t)(run - r->text));
	*len = stop ? (size_t)(stop - run) : 0;
	return stop ? run : NULL;
}

static bool is_same_run(const struct np_saver_request *a,
			const struct np_saver_request *b)
{
	size_t len_a, len_b;
	const char *run_a = run_of(a, &len_a), *run_b = run_of(b, &len_b);

	return run_a && run_b && len_a == len_b && !memcmp(run_a, run_b, len_a);
}

/* A waiting request that r replaces; NULL: none. */
static struct np_saver_request *find_older(struct np_saver_queue *q,
					   const struct np_saver_request *r)
{
	for (struct np_saver_request *o = q->first; o; o = o->next)
		if (!o->starts && o->from == r->from && is_same_run(o, r))
			return o;
	return NULL;
}

static bool has_room(const struct np_saver_queue *q,
		     const struct np_saver_request *r)
{
	size_t n = 0, n_user = 0, bytes = r->len, bytes_user = r->len;

	for (const struct np_saver_request *o = q->first; o; o = o->next) {
		n++;
		bytes += o->len;
		n_user += o->who->uid == r->who->uid;
		bytes_user += o->who->uid == r->who->uid ? o->len : 0;
	}
	return n < NP_SAVER_WAITING && n_user < NP_SAVER_WAITING_USER &&
	       bytes <= NP_SAVER_WAITING_BYTES &&
	       bytes_user <= NP_SAVER_WAITING_USER_BYTES;
}

int np_saver_queue_add(struct np_saver_queue *q,
		       const struct np_saver_request *r)
{
	struct np_saver_request *older = find_older(q, r), **end = &q->first;
	struct np_saver_request *copy;

	if (older) {
		free(older->text);
		older->text = r->text;
		older->len = r->len;
		older->seq = r->seq;
		return 0;
	}
	copy = has_room(q, r) ? malloc(sizeof(*copy)) : NULL;
	if (!copy) {
		free(r->text);
		return has_room(q, r) ? -ENOMEM : -EBUSY;
	}
	*copy = *r;
	copy->next = NULL;
	copy->who->users++;
	copy->starts = false;
	while (*end)
		end = &(*end)->next;
	*end = copy;
	return 0;
}

static bool is_served(const struct np_saver_queue *q, uid_t uid)
{
	for (const struct np_saver_request *o = q->first; o; o = o->next)
		if (o->starts && o->who->uid == uid)
			return true;
	return false;
}

struct np_saver_request *np_saver_queue_next(struct np_saver_queue *q)
{
	if (q->n_workers == NP_SAVER_WORKERS)
		return NULL;
	for (struct np_saver_request *o = q->first; o; o = o->next)
		if (!o->starts && !is_served(q, o->who->uid)) {
			o->starts = true;
			q->n_workers++;
			return o;
		}
	return NULL;
}

void np_saver_queue_done(struct np_saver_queue *q,
			 struct np_saver_request *r)
{
	struct np_saver_request **at = &q->first;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	q->n_workers--;
	np_saver_who_put(r->who);
	free(r->text);
	free(r);
}
