#include "np_submit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_bits.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_annotation.h"

/* ---- job_modify: changes by users and administrators, and our own ---- */

/*
 * The id of the job or array in "12", "12_3" or "12_[1-3]", and the task; *one
 * is false for several tasks. 0: none.
 */
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

/* Whether a change is the update that the thread is sending. */
static bool is_own(const struct np_sending *s, const job_desc_msg_t *d,
		   uint32_t id, uint32_t task, uint32_t uid)
{
	return s && s->id == id && s->task == task && uid == geteuid() &&
	       same(s->exc_nodes, d->exc_nodes) &&
	       same(s->comment, d->admin_comment);
}

/*
 * The user's part of a list, without ours at its end. Slurm calls job_modify
 * for every record of an array, each time with the list that the last call
 * made.
 */
static char *user_part(const char *list, const char *ours)
{
	size_t n = strlen(list), m = ours ? strlen(ours) : 0;

	if (!m || n < m || strcmp(list + n - m, ours) ||
	    (n > m && list[n - m - 1] != ','))
		return strdup(list);
	return strndup(list, n > m ? n - m - 1 : 0);
}

/* Add our excluded nodes to the user's, until the next pass has decided. */
static void
keep_our_list(job_desc_msg_t *d, const char *user_list, const char *ours)
{
	char *both;

	if (!ours || !user_list)
		return;
	both = np_annotation_join(*user_list ? user_list : NULL, ours);
	if (both)
		np_ctl_set(&d->exc_nodes, both);
	free(both);
}

/* Record a change of excluded nodes, and keep ours in it. */
static void change_list(job_desc_msg_t *d, const struct np_written *w,
			struct np_change *c)
{
	c->exc_nodes = user_part(d->exc_nodes, w ? w->ours : NULL);
	keep_our_list(d, c->exc_nodes, w ? w->ours : NULL);
	c->put = strdup(d->exc_nodes);
}

/* Keep a hold of ours that ends later than the begin time requested. */
static void change_begin_time(job_desc_msg_t *d, const struct np_written *w,
			      struct np_change *c)
{
	/* No change, or the same call for another record of the array. */
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
 * Handle somebody's change. One that Slurm is going to refuse is not recorded.
 * Our exclusions are added even then: the user may be an operator, whose change
 * Slurm accepts.
 */
static void change(struct np_shared *shared, job_desc_msg_t *d, bool one,
		   struct np_change *c)
{
	const struct np_written *w = one ? np_shared_written(shared, c->id,
							     c->task) : NULL;
	struct np_changes *changes = shared->changes;
	bool forbidden = np_changes_forbidden(changes, c->id, c->uid);
	bool too_long = is_too_long(d->exc_nodes);

	if (d->exc_nodes && !too_long)
		change_list(d, w, c);
	if (d->begin_time)
		change_begin_time(d, w, c);
	if (too_long && !forbidden)
		np_changes_miss(changes, c->id, c->uid);
	if ((c->exc_nodes || c->begin_sec) && !forbidden) {
		np_changes_put(changes, c);
	} else {
		free(c->exc_nodes);
		free(c->put);
	}
	if (!forbidden)
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
	else if (uid == geteuid() && np_annotation_in(d->admin_comment))
		rc = EAGAIN; /* our update, but the thread gave it up */
	else
		change(shared, d, one, &c);
	pthread_mutex_unlock(&shared->lock);
	return rc;
}

/* ---- job_submit ---- */

#define WAIT_SEC 10 /* hold of a job until a pending decision is made */
/* A decision is out of date after the longer of these. */
#define STALE_INTERVALS 30
#define STALE_SEC 60
#define MAX_LINE 512
#define MAX_NAME 64
#define MAX_TEXT 1024	    /* longest text that Slurm accepts, later on */
#define MAX_ARRAY_TEXT 4096 /* longest list of array tasks */

#define OPTION "_SLURM_SPANK_OPTION_netprof_netprofile="
#define VARIABLE "NETPROF_APP="
#define MAX_VARIABLES 65536

/* Jobs that placement leaves alone whatever they run. */
#define ASIDE (NP_JOB_NODELIST | NP_JOB_RESERVATION | NP_JOB_HETEROGENEOUS | \
	       NP_JOB_CONSTRAINT)

/* One submission while it is decided. */
struct submission {
	struct np_shared *shared;
	job_desc_msg_t *d;
	const struct np_conf *conf;
	const struct np_decision *decision;
	int64_t now_sec;
	enum np_mode mode;
	char app[NP_APP_MAX + 1];
	bool has_name; /* the submission names app; else a rule does */
	enum np_auth auth;
	struct np_job job;
	uint64_t *user, *minus; /* bitmaps of nodes */
	char line[MAX_LINE];	/* to log after unlocking */
	bool wake;		/* wake the thread */
};

/* Which application a description names. */

static const char *find_variable(char **env, uint32_t n, const char *name)
{
	size_t len = strlen(name);

	for (uint32_t i = 0; env && i < n && i < MAX_VARIABLES; i++)
		if (env[i] && !strncmp(env[i], name, len))
			return env[i] + len;
	return NULL;
}

bool np_submit_app(const job_desc_msg_t *d, char app[NP_APP_MAX + 1])
{
	const char *option =
		find_variable(d->spank_job_env, d->spank_job_env_size, OPTION);
	const char *named = option && strcmp(option, "(null)") ? option : NULL;

	if (!named)
		named = find_variable(d->spank_job_env, d->spank_job_env_size,
				      VARIABLE);
	if (!named)
		named = find_variable(d->environment, d->env_size, VARIABLE);
	if (named && *named)
		return !np_app_check(named, NULL) && strcpy(app, named);
	return option && d->name && !np_app_from_text(d->name, app);
}

/* What a description requires. */

static bool is_longer(const char *text, size_t max)
{
	return text && strnlen(text, max + 1) > max;
}

/*
 * Whether Slurm will refuse the job for a text that is too long, which may be
 * megabytes and must not take our time.
 */
static bool will_be_refused(const job_desc_msg_t *d)
{
	return is_longer(d->name, MAX_TEXT) || is_longer(d->comment,
							 MAX_TEXT) ||
	       is_longer(d->features, MAX_TEXT) ||
	       is_longer(d->partition, MAX_TEXT) ||
	       is_longer(d->array_inx, MAX_ARRAY_TEXT);
}

/* What a job requires of its nodes, as its description says. */
static struct np_need need_of(const job_desc_msg_t *d)
{
	uint32_t each = np_or_zero16(d->cpus_per_task);
	uint32_t tasks = np_or_zero(d->num_tasks);
	struct np_need need = {
		.partition = d->partition,
		.features = d->features && *d->features ? d->features : NULL,
		.tres = d->tres_per_job || d->tres_per_node ||
			d->tres_per_socket || d->tres_per_task,
		.cpus_per_node = np_or_zero16(d->pn_min_cpus),
		.cpus = np_or_zero(d->min_cpus), .tasks = tasks,
		.tasks_per_node = np_or_zero16(d->ntasks_per_node),
		.nodes = np_or_zero(d->min_nodes),
	};

	if ((uint64_t)tasks * (each ? each : 1) > need.cpus)
		need.cpus = (uint64_t)tasks * (each ? each : 1);
	np_need_memory(&need, d->pn_min_memory);
	return need;
}

static uint64_t number(const char *text, char **end)
{
	unsigned long n = strtoul(text, end, 10);

	return n < UINT32_MAX ? n : UINT32_MAX;
}

/* Number of tasks in a list such as "0-3,8,10-20:2%4". */
static uint32_t count_tasks(const char *inx)
{
	uint64_t n = 0;

	while (*inx && *inx != '%') {
		char *end;
		uint64_t from = number(inx, &end), to = from, step = 1;

		if (end == inx)
			break;
		if (*end == '-')
			to = number(end + 1, &end);
		if (*end == ':')
			step = number(end + 1, &end);
		if (to >= from && step)
			n += (to - from) / step + 1;
		inx = end + (*end == ',');
		if (*end != ',')
			break;
	}
	return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Flags for the snapshot, as far as the description tells. */
static unsigned flags_of(const job_desc_msg_t *d,
			 const struct np_cluster_map *map, int partition)
{
	unsigned flags = 0;

	if (d->shared != JOB_SHARED_NONE &&
	    map->part[partition].shares)
		flags |= NP_JOB_SHARES_NODES;
	if (d->req_nodes && *d->req_nodes)
		flags |= NP_JOB_NODELIST;
	if (d->reservation && *d->reservation)
		flags |= NP_JOB_RESERVATION;
	if (d->het_job_offset != NO_VAL)
		flags |= NP_JOB_HETEROGENEOUS;
	return flags;
}

/* Slurm sets the account only later, if the user gave none. */
static int32_t profile_of(struct submission *s, int partition)
{
	const struct np_auth_request who = {
		.uid = s->d->user_id,
		.account = s->d->account && *s->d->account ? s->d->account :
							     NULL,
		.partition = s->decision->map->part[partition].name,
	};

	return np_app_index_of_job(s->decision->index, s->app, &who, &s->auth);
}

/* Fill in s->job. Returns 0, or why it is left alone. */
static int describe(struct submission *s)
{
	const struct np_cluster_map *map = s->decision->map;
	const job_desc_msg_t *d = s->d;
	size_t words = map->words;
	struct np_need need = need_of(d);
	struct np_fit fit;
	int rc = np_cluster_map_fit(map, &need, s->minus, &fit);

	if (rc)
		return rc;
	s->job = (struct np_job){
		.owner = d->user_id, .state = NP_JOB_READY, .mode = s->mode,
		.partition = (uint16_t)fit.partition,
		.flags = flags_of(d, map, fit.partition),
		.profile = profile_of(s, fit.partition),
		.tasks = d->array_inx ? count_tasks(d->array_inx) : 1,
		.array = d->array_inx ? 1 : 0,
		.nodes_min = fit.nodes, .switches = np_or_zero(d->req_switch),
		.submit_sec = s->now_sec,
		.eligible_sec = d->begin_time > s->now_sec ? d->begin_time : 0,
		.candidates = s->decision->set[fit.partition],
	};
	if (s->auth == NP_AUTH_OWN_JOBS)
		s->job.flags |= NP_JOB_UNPROVED;
	if (!d->priority)
		s->job.state = NP_JOB_WAITING; /* held */
	if (fit.constraint || is_longer(d->exc_nodes, NP_ANNOTATION_MAX_USER) ||
	    np_cluster_map_parse(map, d->exc_nodes, s->user))
		s->job.flags |= NP_JOB_CONSTRAINT;
	/* minus: the nodes that do not match, and those the user excludes. */
	for (size_t w = 0; w < words; w++)
		s->minus[w] = s->user[w] | ~s->minus[w];
	np_bits_trim(s->minus, map->n_nodes);
	return 0;
}

/* What is written into a description. */

/* Write the annotation into the description, unless there is nothing to say. */
static void put_annotation(struct submission *s, struct np_annotation *n)
{
	char *text;

	if (s->has_name)
		strcpy(n->app, s->app);
	if (!n->app[0] && !n->decided)
		return;
	text = np_annotation_write(s->d->admin_comment, n);
	if (text)
		np_ctl_set(&s->d->admin_comment, text);
	free(text);
}

/* Hold the job until until_sec, or the user's begin time if that is later. */
static void hold(struct submission *s, struct np_annotation *n,
		 int64_t until_sec)
{
	int64_t begin = s->d->begin_time > s->now_sec ? s->d->begin_time : 0;

	n->begin_sec = begin;
	n->until_sec = until_sec > begin ? until_sec : begin;
	s->d->begin_time = n->until_sec;
}

/* Put the user's excluded nodes into the annotation. 0 or -ENOMEM. */
static int keep_user(const struct submission *s, struct np_annotation *n)
{
	if (!s->d->exc_nodes || !*s->d->exc_nodes)
		return 0;
	n->user = strdup(s->d->exc_nodes);
	return n->user ? 0 : -ENOMEM;
}

/* Exclude the nodes of all leaves that are not open. 0 or -ENOMEM. */
static int exclude(struct submission *s, struct np_annotation *n,
		   const uint64_t *open)
{
	char *both;

	n->ours = np_cluster_map_closed(s->decision->map, open);
	if (!n->ours)
		return -ENOMEM;
	both = np_annotation_join(n->user, n->ours);
	if (!both)
		return -ENOMEM;
	np_ctl_set(&s->d->exc_nodes, both);
	free(both);
	return 0;
}

/*
 * Write an outcome into the description. When out of memory, nothing but the
 * name of the application is written.
 */
static void apply(struct submission *s, const struct np_outcome *o)
{
	struct np_annotation n = { .decided = o->action != NP_ACT_NONE };
	int rc = n.decided ? keep_user(s, &n) : 0;

	if (!rc && o->action == NP_ACT_RESTRICT)
		rc = exclude(s, &n, o->leaves);
	if (!rc && o->action == NP_ACT_HOLD)
		hold(s, &n, o->until_sec);
	if (rc)
		np_annotation_clear(&n);
	put_annotation(s, &n);
	np_annotation_clear(&n);
}

/* What is decided. */

static void say(struct submission *s, const char *line)
{
	snprintf(s->line, sizeof(s->line), "%s", line);
}

/* Whether the job may start now, and others may have to avoid it. */
static bool is_admitted(const struct submission *s, const struct np_outcome *o)
{
	return s->mode == NP_MODE_ENFORCE &&
	       (o->action == NP_ACT_RESTRICT ||
		(o->action == NP_ACT_UNRESTRICTED &&
		 o->cause.why != NP_WHY_HARMLESS));
}

/*
 * The user is not, or perhaps not, authorised to use the profile name: the
 * application counts as unknown, or the job is held until that is known.
 */
static void deny_name(struct submission *s, struct np_outcome *o)
{
	if (s->auth != NP_AUTH_PENDING) {
		say(s, "ignored: this user is not authorised to use that "
		    "profile name");
	} else if (s->mode == NP_MODE_ENFORCE && !(s->job.flags & ASIDE)) {
		o->action = NP_ACT_HOLD;
		o->until_sec = s->now_sec + WAIT_SEC;
		say(s, "held until it is known whether this user is authorised "
		    "to use that profile name");
	} else {
		say(s, "ignored: not known yet whether this user is authorised "
		    "to use that profile name");
	}
}

/*
 * Decide by the current decision and write the outcome. While the thread is
 * busy, a job that others may have to avoid is held until its pass ends.
 */
static void decide(struct submission *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_outcome o = { .action = NP_ACT_NONE };
	int rc = s->user ? describe(s) : -ENOMEM;

	if (!rc)
		rc = np_placement_one(s->decision->placement, &s->job,
				      s->minus, s->now_sec, &o, &err);
	if (rc)
		snprintf(s->line, sizeof(s->line), "left alone: %s",
			 err.text[0] ? err.text : rc == -ENOENT ?
			 "no such partition" : strerror(-rc));
	else
		np_placement_text(s->decision->placement, &s->job, &o, s->line,
				  sizeof(s->line));
	if (s->mode == NP_MODE_ADVISE || !o.applied)
		o = (struct np_outcome){ .action = NP_ACT_NONE };
	if (is_admitted(s, &o) && !s->shared->busy) {
		s->shared->admitted_sec = np_mono_sec();
	} else if (is_admitted(s, &o)) { /* not while the thread decides */
		o.action = NP_ACT_HOLD;
		o.until_sec = s->now_sec + WAIT_SEC;
		say(s, "held for the decision that is being made");
	}
	if (!rc && !np_auth_counts(s->auth))
		deny_name(s, &o);
	apply(s, &o);
	s->wake = o.action == NP_ACT_HOLD;
}

static bool is_stale(const struct submission *s)
{
	double limit = STALE_INTERVALS * s->conf->place.interval_sec;

	return (double)(s->now_sec - s->decision->now_sec) >
	       (limit > STALE_SEC ? limit : STALE_SEC);
}

/* There is no valid decision: hold the job if one is expected soon. */
static void without_decision(struct submission *s, bool starting)
{
	struct np_outcome o = { .action = NP_ACT_NONE };

	if (starting && s->mode == NP_MODE_ENFORCE) {
		o.action = NP_ACT_HOLD;
		o.until_sec = s->now_sec + WAIT_SEC;
		say(s, "held for the first decision since slurmctld started");
	} else {
		say(s, "left alone: there is no recent decision");
	}
	apply(s, &o);
	s->wake = starting;
}

/*
 * Find out application and mode. Returns whether the job matters to placement.
 * In a partition in mode off it does, as it loads the network once it runs; its
 * name is therefore annotated.
 */
static bool is_relevant(struct submission *s)
{
	const struct np_place_conf *c = &s->conf->place;
	const char *partition = s->d->partition;
	const char *by_rule;

	if (s->decision) {
		int i = np_cluster_map_partition(s->decision->map, partition);

		if (i >= 0)
			partition = s->decision->map->part[i].name;
	}
	s->mode = np_place_conf_mode(c, partition);
	/* Jobs of scrontab cannot be updated later. */
	if ((s->mode == NP_MODE_OFF && !np_place_conf_enabled(c)) ||
	    s->d->bitflags & CRON_JOB)
		return false;
	s->has_name = np_submit_app(s->d, s->app);
	by_rule = s->has_name ? NULL :
				np_place_conf_app(c, s->d->name, s->d->comment);
	if (!s->has_name)
		snprintf(s->app, sizeof(s->app), "%s", by_rule ? by_rule : "");
	return s->app[0];
}

/* Write nothing but the name of the application. */
static void annotate_name(struct submission *s)
{
	const struct np_outcome o = { .action = NP_ACT_NONE };

	apply(s, &o);
}

static void log_decision(const struct submission *s)
{
	np_ctl_info("submission by uid %u of \"%.*s\" (%s): %s", s->d->user_id,
		    MAX_NAME, s->d->name ? s->d->name : "", s->app, s->line);
}

/* Decide, if there is a decision that is recent enough. */
static void decide_or_wait(struct submission *s, bool starting)
{
	size_t words;

	if (!s->decision || is_stale(s)) {
		without_decision(s, starting && !s->decision);
		return;
	}
	words = s->decision->map->words;
	s->user = calloc(2 * words, sizeof(*s->user));
	if (s->user)
		s->minus = s->user + words;
	decide(s);
	free(s->user);
}

void np_submit(struct np_shared *shared, job_desc_msg_t *d, int64_t now_sec,
	       bool starting)
{
	struct submission s = { .shared = shared, .d = d, .now_sec = now_sec };

	if (will_be_refused(d))
		return;
	pthread_mutex_lock(&shared->lock);
	s.conf = &shared->conf;
	s.decision = shared->decision;
	if (is_relevant(&s)) {
		if (s.mode == NP_MODE_OFF)
			annotate_name(&s);
		else
			decide_or_wait(&s, starting);
	}
	if (s.wake)
		np_shared_wake_locked(shared);
	pthread_mutex_unlock(&shared->lock);
	if (s.line[0])
		log_decision(&s);
}
