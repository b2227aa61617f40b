/*
 * A list in the order of arrival. It is short, and searched from its beginning
 * each time, so that the limits and the order need no further bookkeeping.
 */
#include "np_saver_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

void np_saver_client_put(struct np_saver_client *client)
{
	if (client && !--client->refs)
		free(client);
}

/*
 * Return the second field, RUN, of a request to save, with its length. NULL:
 * the request is of another kind, or malformed.
 */
static const char *run_of(const struct np_saver_request *request, size_t *len)
{
	const char *store_end = memchr(request->text, '\0', request->len);
	const char *run, *run_end;

	*len = 0;
	if (request->kind != NP_SAVER_SAVE || !store_end)
		return NULL;
	run = store_end + 1;
	run_end =
		memchr(run, '\0', request->len - (size_t)(run - request->text));
	*len = run_end ? (size_t)(run_end - run) : 0;
	return run_end ? run : NULL;
}

static bool is_same_run(const struct np_saver_request *a,
			const struct np_saver_request *b)
{
	size_t len_a, len_b;
	const char *run_a = run_of(a, &len_a), *run_b = run_of(b, &len_b);

	return run_a && run_b && len_a == len_b && !memcmp(run_a, run_b, len_a);
}

/*
 * Find the waiting request that a new one replaces; NULL: none. The connection
 * must be the same, because users are free to give any RUN.
 */
static struct np_saver_request *
find_older(struct np_saver_queue *queue, const struct np_saver_request *request)
{
	for (struct np_saver_request *other = queue->first; other;
	     other = other->next)
		if (!other->running &&
		    other->connection == request->connection &&
		    is_same_run(other, request))
			return other;
	return NULL;
}

/*
 * Whether the queue stays within its limits with one more request, which may
 * replace an older one.
 */
static bool is_within_limits(const struct np_saver_queue *queue,
			     const struct np_saver_request *request,
			     const struct np_saver_request *older)
{
	size_t n = 0, n_user = 0, bytes = 0, bytes_user = 0;

	for (const struct np_saver_request *other = queue->first; other;
	     other = other->next) {
		if (other == older)
			continue;
		n++;
		bytes += other->len;
		if (other->client->uid != request->client->uid)
			continue;
		n_user++;
		bytes_user += other->len;
	}
	return n_user < NP_SAVER_WAITING_USER &&
	       bytes_user + request->len <= NP_SAVER_WAITING_USER_BYTES &&
	       np_share_allows(NP_SAVER_WAITING - n, n_user, 1) &&
	       np_share_allows(NP_SAVER_WAITING_BYTES - bytes, bytes_user,
			       request->len);
}

int np_saver_queue_add(struct np_saver_queue *queue,
		       const struct np_saver_request *request)
{
	struct np_saver_request *older = find_older(queue, request),
				**end = &queue->first;
	struct np_saver_request *copy;

	if (!is_within_limits(queue, request, older)) {
		free(request->text);
		return -EBUSY;
	}
	if (older) {
		free(older->text);
		older->text = request->text;
		older->len = request->len;
		older->seq = request->seq;
		return 0;
	}
	copy = malloc(sizeof(*copy));
	if (!copy) {
		free(request->text);
		return -ENOMEM;
	}
	*copy = *request;
	copy->next = NULL;
	copy->client->refs++;
	copy->running = false;
	while (*end)
		end = &(*end)->next;
	*end = copy;
	return 0;
}

/* Whether a request of this user is being worked on. */
static bool is_user_served(const struct np_saver_queue *queue, uid_t uid)
{
	for (const struct np_saver_request *other = queue->first; other;
	     other = other->next)
		if (other->running && other->client->uid == uid)
			return true;
	return false;
}

struct np_saver_request *np_saver_queue_next(struct np_saver_queue *queue)
{
	if (queue->n_workers == NP_SAVER_WORKERS)
		return NULL;
	for (struct np_saver_request *request = queue->first; request;
	     request = request->next)
		if (!request->running &&
		    !is_user_served(queue, request->client->uid)) {
			request->running = true;
			queue->n_workers++;
			return request;
		}
	return NULL;
}

void np_saver_queue_done(struct np_saver_queue *queue,
			 struct np_saver_request *request)
{
	struct np_saver_request **link = &queue->first;

	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
	queue->n_workers--;
	np_saver_client_put(request->client);
	free(request->text);
	free(request);
}
