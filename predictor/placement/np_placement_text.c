/* The reason in words. */
#include <stdarg.h>
#include <stdio.h>

#include "np_placement_impl.h"

struct line {
	char *buf;
	size_t size, at;
};

__attribute__((format(printf, 2, 3)))
static void say(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (l->at + 1 >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->at, l->size - l->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->at += (size_t)n < l->size - l->at ? (size_t)n :
			 l->size - l->at - 1;
}

static const char *const plain[] = {
	[NP_WHY_RUNNING] = "it is running",
	[NP_WHY_OFF] = "placement is off in its partition",
	[NP_WHY_UNKNOWN] = "its application is not known, or its profile is "
			   "another user's and not trusted",
	[NP_WHY_NODELIST] = "it asks for nodes by name",
	[NP_WHY_RESERVATION] = "it runs in a reservation",
	[NP_WHY_HETEROGENEOUS] = "it is part of a heterogeneous job, whose "
				 "components have to start together",
	[NP_WHY_CONSTRAINT] = "it asks for partitions, features or nodes in "
			      "a way that placement does not follow",
	[NP_WHY_CHANGING] = "its user changes jobs faster than placement can "
			    "follow",
	[NP_WHY_NOT_YET] = "its begin time is far away",
	[NP_WHY_NO_LEAF] = "none of its nodes is on a leaf switch",
	[NP_WHY_TOO_MANY] = "there are too many kinds of jobs, or its user "
			    "submitted too many at once",
	[NP_WHY_HARMLESS] = "it harms nobody, and nobody harms it",
	[NP_WHY_NOT_PREDICTED] = "nothing speaks against it, but not all was "
				 "predicted yet",
	[NP_WHY_FITS] = "nobody it conflicts with is where it may go",
	[NP_WHY_HELD_LONG_ENOUGH] = "it was held back long enough",
	[NP_WHY_NO_ROOM_APART] = "too few nodes are free to keep it apart and "
				 "still start it now",
	[NP_WHY_TASKS_TOGETHER] = "the tasks of this array conflict with each "
				  "other, and waiting is not allowed",
	[NP_WHY_FROM_RUNNING] = "running jobs conflict with it",
	[NP_WHY_FROM_PENDING] = "leaf switches are kept for jobs that "
				"conflict with it",
	[NP_WHY_TASKS] = "its tasks conflict with each other, and each gets "
			 "leaf switches of its own in turn",
	[NP_WHY_TOO_FEW_NODES] = "too few of its nodes are usable, whatever "
				 "placement does",
};

/* A submission, and those since the last decision, have no number yet. */
static void say_job(struct line *l, const struct np_cause *c, uint32_t id)
{
	const char *state = c->why == NP_WHY_FROM_RUNNING ? "running" :
			    "pending";

	if (id)
		say(l, "%s job %u", state, id);
	else
		say(l, "a %s job", state);
}

static void say_cause(struct line *l, const struct np_placement *p,
		      const struct np_job *job, const struct np_cause *c)
{
	const char *leaf;

	if (c->leaf == NP_NO_LEAF || c->leaf >= p->s->leaves->n) {
		say(l, "%s", plain[c->why]);
		return;
	}
	leaf = p->s->leaves->name[c->leaf];
	say(l, "on leaf switch %s ", leaf);
	if (c->victim_self)
		say(l, "it");
	else if (c->victim == c->other)
		say_job(l, c, c->victim);
	else
		say(l, "running job %u", c->victim);
	say(l, " would be slowed by %.0f %% (limit %.0f %%)",
	    100 * c->slowdown, 100 * p->policy.max_slowdown);
	if (!c->victim_self && c->victim == c->other)
		return;
	if (c->other && c->other == job->id) {
		say(l, " beside another of its kind");
		return;
	}
	say(l, " with ");
	say_job(l, c, c->other);
}

static unsigned closed(const struct np_placement *p,
		       const struct np_outcome *v)
{
	return (unsigned)(p->s->leaves->n -
			  np_bits_count(v->leaves, p->s->leaves->words));
}

const char *np_placement_text(const struct np_placement *p,
			      const struct np_job *job,
			      const struct np_outcome *v, char *buf,
			      size_t size)
{
	struct line l = { buf, size, 0 };

	if (!size)
		return buf;
	buf[0] = '\0';
	if (job->mode == NP_MODE_ADVISE && v->action != NP_ACT_NONE)
		say(&l, "advice, not applied: ");
	switch (v->action) {
	case NP_ACT_NONE:
		say(&l, "left alone: ");
		break;
	case NP_ACT_ANYWHERE:
		say(&l, "may run anywhere: ");
		break;
	case NP_ACT_CONFINE:
		say(&l, "kept off %u of %zu leaf switches: ", closed(p, v),
		    p->s->leaves->n);
		break;
	case NP_ACT_DEFER:
		say(&l, "waits, for %lld s at first: ",
		    (long long)(v->until_sec > p->s->now_sec ?
				v->until_sec - p->s->now_sec : 0));
		break;
	}
	if (v->tasks)
		say(&l, "%u tasks get leaf switches of their own; ", v->tasks);
	say_cause(&l, p, job, &v->cause);
	if (v->held_sec >= 1)
		say(&l, "; held back for %.0f s so far, %.0f s at most",
		    v->held_sec, job->mode == NP_MODE_PREFER ?
		    NP_PLACEMENT_PATIENCE_SEC : p->policy.max_defer_sec);
	return buf;
}
