/* Changes by users and administrators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_ctl.h"
#include "np_note.h"
#include "np_submit.h"

/* The job or array of "12", "12_3", "12_[1-3]"; plain: neither of the latter. */
static uint32_t id_of(const job_desc_msg_t *d, bool *plain)
{
	char *end;
	unsigned long id;

	*plain = true;
	if (!d->job_id_str)
		return d->job_id;
	id = strtoul(d->job_id_str, &end, 10);
	*plain = !*end;
	return id && id < NO_VAL ? (uint32_t)id : 0;
}

static void set_text(char **where, const char *text)
{
	char *copy = slurm_xstrdup(text);

	slurm_xfree((void **)where);
	*where = copy;
}

/* Our exclusions stay until the thread has sorted it out. */
static void keep_ours(job_desc_msg_t *d, const struct np_written *w)
{
	char *both;

	if (!w->ours)
		return;
	if (!*d->exc_nodes) {
		set_text(&d->exc_nodes, w->ours);
	} else if (asprintf(&both, "%s,%s", d->exc_nodes, w->ours) >= 0) {
		set_text(&d->exc_nodes, both);
		free(both);
	}
}

void np_modify(struct np_desk *desk, job_desc_msg_t *d)
{
	const struct np_conf *conf;
	const struct np_written *w;
	struct np_change c = { 0 };
	bool plain;

	/* Our own update carries the note, and only that. */
	if (np_note_in(d->admin_comment))
		return;
	if (!d->exc_nodes && !d->begin_time && !d->admin_comment)
		return;
	c.id = id_of(d, &plain);
	if (!c.id)
		return;
	if (d->exc_nodes)
		c.exc_nodes = strdup(d->exc_nodes);
	c.begin_sec = d->begin_time;
	np_desk_lock(desk, &conf);
	w = plain ? np_desk_written(desk, c.id) : NULL;
	if (w && d->exc_nodes)
		keep_ours(d, w);
	if (w && d->begin_time && d->begin_time < w->until_sec)
		d->begin_time = w->until_sec;
	np_desk_changed(desk, &c);
	np_desk_unlock(desk);
	np_desk_wake(desk);
}
