#include "np_saver_queue.h"

#include <errno.h>
#include <stdlib.h>

void np_saver_who_put(struct np_saver_who *w)
{
	if (w && !--w->users)
		free(w);
}

/* Where r replaces what waits; NULL: nowhere. */
static struct np_saver_request *find_older(struct np_saver_queue *q,
					   const struct np_saver_request *r)
{
	for (struct np_saver_request *o = q->first; o; o = o->next)
		if (!o->starts && o->kind == NP_SAVER_SAVE &&
		    r->kind == NP_SAVER_SAVE && o->from == r->from)
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
