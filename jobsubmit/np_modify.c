/* Changes by users and administrators, and the thread's own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_ctl.h"
#include "np_note.h"
#include "np_submit.h"

/* The job or array of "12", "12_3", "12_[1-3]"; one: not the latter. */
static uint32_t id_of(const job_desc_msg_t *d, uint32_t *task, bool *one)
{
	char *end, *last;
	unsigned long id, index;

	*one = true;
	*task = NP_CHANGE_ALL;
	if (!d->job_id_str)
		return np_job_desc_id(d) < NO_VAL ? np_job_desc_id(d) : 0;
	id = strtoul(d->job_id_str, &end, 10);
	*one = !*end;
	if (*end == '_') {
		index = strtoul(end + 1, &last, 10);
		*one = last > end + 1 && !*last && index < NO_VAL;
		if (*one)
			*task = (uint32_t)index;
	}
	return id < NO_VAL ? (uint32_t)id : 0;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* slurmctld hands the thread's own updates to job_modify as well. */
static bool is_own(const struct np_sending *s, const job_desc_msg_t *d,
		   uint32_t id, uint32_t task, uint32_t uid)
{
	return s && s->id == id && s->task == task && uid == geteuid() &&
	       same(s->exc_nodes, d->exc_nodes) &&
	       same(s->comment, d->admin_comment);
}

/*
 * The list without ours at its end: there is a call for every record of an
 * array, with what the last one left behind.
 */
static char *his_part(const char *list, const char *ours)
{
	size_t n = strlen(list), m = ours ? strlen(ours) : 0;

	if (!m || n < m || strcmp(list + n - m, ours) ||
	    (n > m && list[n - m - 1] != ','))
		return strdup(list);
	return strndup(list, n > m ? n - m - 1 : 0);
}

/* Our exclusions stay until the thread has sorted it out. */
static void keep_ours(job_desc_msg_t *d, const char *his, const char *ours)
{
	char *both;

	if (!ours || !his)
		return;
	both = np_note_join(*his ? his : NULL, ours);
	if (both)
		np_ctl_set(&d->exc_nodes, both);
	free(both);
}

static void change_list(job_desc_msg_t *d, const struct np_written *w,
			struct np_change *c)
{
	c->exc_nodes = his_part(d->exc_nodes, w ? w->ours : NULL);
	keep_ours(d, c->exc_nodes, w ? w->ours : NULL);
	c->put = strdup(d->exc_nodes);
}

static void change_begin(job_desc_msg_t *d, const struct np_written *w,
			 struct np_change *c)
{
	/* As it stands, or the same call again. */
	if (w && d->begin_time == w->until_sec)
		return;
	c->begin_sec = d->begin_time;
	if (w && d->begin_time < w->until_sec)
		d->begin_time = w->until_sec;
	c->put_begin_sec = d->begin_time;
}

static bool is_too_long(const char *list)
{
	return list && strnlen(list, NP_CHANGES_MAX_LIST + 1) >
		       NP_CHANGES_MAX_LIST;
}

/*
 * What Slurm is going to refuse is not remembered; but an operator's change,
 * which it lets through, is not to take our exclusions out.
 */
static void change(struct np_shared *shared, job_desc_msg_t *d, bool one,
		   struct np_change *c)
{
	const struct np_written *w = one ? np_shared_written(shared, c->id,
							     c->task) : NULL;
	struct np_changes *changes = shared->changes;
	bool strange = np_changes_strange(changes, c->id, c->uid);
	bool too_long = is_too_long(d->exc_nodes);

	if (d->exc_nodes && !too_long)
		change_list(d, w, c);
	if (d->begin_time)
		change_begin(d, w, c);
	if (too_long && !strange)
		np_changes_miss(changes, c->id, c->uid);
	if ((c->exc_nodes || c->begin_sec) && !strange) {
		np_changes_put(changes, c);
	} else {
		free(c->exc_nodes);
		free(c->put);
	}
	if (!strange)
		np_shared_wake_locked(shared);
}

int np_modify(struct np_shared *shared, job_desc_msg_t *d, uint32_t uid)
{
	const struct np_sending *own;
	struct np_change c = { .uid = uid };
	int rc = SLURM_SUCCESS;
	bool one;

	if (!d->exc_nodes && !d->begin_time && !d->admin_comment)
		return rc;
	c.id = id_of(d, &c.task, &one);
	if (!c.id)
		return rc;
	pthread_mutex_lock(&shared->lock);
	own = shared->sending;
	if (is_own(own, d, c.id, c.task, uid))
		rc = np_changes_overtake(shared->changes, own) ? EAGAIN :
		     SLURM_SUCCESS;
	else if (uid == geteuid() && np_note_in(d->admin_comment))
		rc = EAGAIN; /* ours, but nobody waits for it any more */
	else
		change(shared, d, one, &c);
	pthread_mutex_unlock(&shared->lock);
	return rc;
}
