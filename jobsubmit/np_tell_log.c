#include "np_tell.h"

#include <string.h>

#include "np_bits.h"
#include "np_ctl.h"

#define MAX_LINE 512
#define MAX_SAID 5 /* lines about a job in an hour */
#define HOUR_SEC 3600

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * UINT64_C(0x100000001b3);
}

/* Not how long it is held or until when: that is no other decision. */
static uint64_t digest(const struct np_view *v, const struct np_outcome *o)
{
	size_t words = np_leaves_words(np_site_leaves(v->site));
	uint64_t h = mix(UINT64_C(0xcbf29ce484222325), o->action);

	h = mix(mix(h, o->cause.why), o->cause.other);
	h = mix(mix(h, o->cause.leaf), o->tasks);
	for (size_t k = 0; o->action == NP_ACT_CONFINE && k < words; k++)
		h = mix(h, o->leaves[k]);
	return h ? h : 1;
}

/* A decision may change with every round. */
static bool is_too_much(struct np_cached_job *cached, int64_t now_sec)
{
	int64_t hour = now_sec / HOUR_SEC;

	if (cached->said_hour != hour)
		cached->n_said = 0;
	cached->said_hour = hour;
	return ++cached->n_said > MAX_SAID;
}

size_t np_tell_log(const struct np_view *v, const struct np_placement *p,
		   struct np_job_cache *cache)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct np_seen *seen = &v->job[i];
		const struct np_outcome *o = np_placement_at(p, i);
		struct np_cached_job *cached;
		char line[MAX_LINE];
		uint64_t d;

		if (seen->state == NP_JOB_RUNNING ||
		    seen->mode == NP_MODE_OFF || !seen->app[0])
			continue;
		cached = np_job_cache_find(cache, seen->id);
		d = digest(v, o);
		if (!cached || cached->said == d)
			continue;
		cached->said = d;
		n++;
		if (is_too_much(cached, v->now_sec))
			continue;
		np_placement_text(p, np_snapshot_job_at(v->snapshot, i), o,
				  line, sizeof(line));
		np_ctl_info("JobId=%u (%s): %s%s", seen->id, seen->app, line,
			    cached->n_said == MAX_SAID ?
			    " (the last line about it in this hour)" : "");
	}
	return n;
}

void np_tell_why(int rc, const struct np_err *why, struct np_err *trouble)
{
	if (rc && why->text[0])
		*trouble = *why;
	else if (rc)
		np_errf(trouble, rc, "no decision: %s", strerror(-rc));
}

void np_tell_trouble(struct np_err *said, const struct np_err *trouble)
{
	if (!strcmp(said->text, trouble->text))
		return;
	if (trouble->text[0])
		np_ctl_error("%s", trouble->text);
	else
		np_ctl_info("in order again");
	*said = *trouble;
}
