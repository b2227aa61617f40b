#include "np_denied.h"

#include <stdio.h>
#include <string.h>

#include "np_ctl.h"

static struct np_denied *find(struct np_denials *d, uint32_t uid,
			      const char *app)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->at[i].uid == uid && !strcmp(d->at[i].app, app))
			return &d->at[i];
	return NULL;
}

void np_denied_gather(const struct np_view *v, const struct np_app_index *index,
		      struct np_denials *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct np_seen *seen = &v->job[i];
		struct np_denied *d;

		if (seen->claim == NP_CLAIM_HOLDS)
			continue;
		d = find(out, seen->uid, seen->app);
		if (!d && out->n == NP_DENIED_MAX) {
			out->n_more++;
			continue;
		}
		if (!d) {
			d = &out->at[out->n++];
			d->uid = seen->uid;
			d->claim = seen->claim;
			strcpy(d->app, seen->app);
			snprintf(d->why, sizeof(d->why), "%s%s", d->claim ==
				 NP_CLAIM_REFUTED ? "own runs contradict it: " :
				 "", np_app_index_why(index, d->app, d->uid,
						      d->claim));
		}
		d->n_jobs++;
	}
}

/* Index of what was told of a user and name; told->n: nothing was. */
static size_t told_at(const struct np_denied_told *told, uint32_t uid,
		      const char *app)
{
	size_t i = 0;

	while (i < told->n && (told->at[i].uid != uid ||
			       strcmp(told->at[i].app, app)))
		i++;
	return i;
}

static void remember(struct np_denied_told *told, size_t at,
		     const struct np_denied *d)
{
	if (at == told->n && told->n < NP_DENIED_KEEP) {
		told->n++;
	} else if (at == told->n) {
		at = told->next;
		told->next = (at + 1) % NP_DENIED_KEEP;
	}
	told->at[at].uid = d->uid;
	told->at[at].claim = d->claim;
	strcpy(told->at[at].app, d->app);
}

/* A claim that holds again is news, should it ever not. */
static void forget_good(const struct np_view *v, const struct np_denials *d,
			struct np_denied_told *told)
{
	for (size_t i = 0; told->n && i < v->n_jobs; i++) {
		const struct np_seen *seen = &v->job[i];
		size_t at;

		if (seen->claim != NP_CLAIM_HOLDS || !seen->app[0])
			continue;
		at = told_at(told, seen->uid, seen->app);
		/* By account or partition, one job's may and another's not. */
		if (at < told->n &&
		    !find((struct np_denials *)d, seen->uid, seen->app)) {
			told->at[at] = told->at[--told->n];
			told->next = 0;
		}
	}
}

size_t np_denied_log(const struct np_view *v, const struct np_denials *d,
		     struct np_denied_told *told)
{
	size_t n = 0;

	forget_good(v, d, told);
	for (size_t i = 0; i < d->n; i++) {
		const struct np_denied *one = &d->at[i];
		size_t at = told_at(told, one->uid, one->app);

		if (at < told->n && told->at[at].claim == one->claim)
			continue;
		remember(told, at, one);
		np_ctl_info("uid %u may not claim \"%s\": %s; its jobs "
			    "of that name count as unknown", one->uid, one->app,
			    one->why);
		n++;
	}
	return n;
}
