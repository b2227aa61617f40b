#include "np_submit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_bits.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_note.h"

/* Changes by users and administrators, and the thread's own. */

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

#define WAIT_SEC 10 /* until the decision that is awaited is there */
#define STALE_INTERVALS 30
#define STALE_SEC 60
#define MAX_LINE 512
#define MAX_NAME 64
#define MAX_TEXT 1024	    /* Slurm refuses longer ones, but only later */
#define MAX_ARRAY_TEXT 4096 /* the same for a list of tasks */

#define OPTION "_SLURM_SPANK_OPTION_netprof_netprofile="
#define VARIABLE "NETPROF_APP="
#define MAX_VARIABLES 65536

/* What is left alone whatever it runs. */
#define ASIDE (NP_JOB_NODELIST | NP_JOB_RESERVATION | NP_JOB_HETEROGENEOUS | \
	       NP_JOB_CONSTRAINT)

/* All that belongs to one submission. */
struct submission {
	struct np_shared *shared;
	job_desc_msg_t *d;
	const struct np_conf *conf;
	const struct np_standing *standing;
	int64_t now_sec;
	enum np_mode mode;
	char app[NP_APP_MAX + 1];
	bool told; /* the job says so itself; else by a rule */
	enum np_claim claim;
	struct np_job job;
	uint64_t *user, *minus; /* bitmaps of nodes */
	char line[MAX_LINE];	/* for the log, after unlocking */
	bool wake;
};

/* ---- which application a description names ---- */

static const char *find(char **env, uint32_t n, const char *name)
{
	size_t len = strlen(name);

	for (uint32_t i = 0; env && i < n && i < MAX_VARIABLES; i++)
		if (env[i] && !strncmp(env[i], name, len))
			return env[i] + len;
	return NULL;
}

bool np_submit_told(const job_desc_msg_t *d, char app[NP_APP_MAX + 1])
{
	const char *option = find(d->spank_job_env, d->spank_job_env_size,
				  OPTION);
	const char *named = option && strcmp(option, "(null)") ? option : NULL;

	if (!named)
		named = find(d->spank_job_env, d->spank_job_env_size, VARIABLE);
	if (!named)
		named = find(d->environment, d->env_size, VARIABLE);
	if (named && *named)
		return !np_app_check(named, NULL) && strcpy(app, named);
	return option && d->name && !np_app_from_text(d->name, app);
}

/* ---- what it asks for ---- */

static bool is_longer(const char *text, size_t max)
{
	return text && strnlen(text, max + 1) > max;
}

/* Nobody waits for a text of megabytes that is refused in the end. */
static bool will_be_refused(const job_desc_msg_t *d)
{
	return is_longer(d->name, MAX_TEXT) || is_longer(d->comment,
							 MAX_TEXT) ||
	       is_longer(d->features, MAX_TEXT) ||
	       is_longer(d->partition, MAX_TEXT) ||
	       is_longer(d->array_inx, MAX_ARRAY_TEXT);
}

static struct np_need need_of(const job_desc_msg_t *d)
{
	uint32_t each = np_said16(d->cpus_per_task);
	uint32_t tasks = np_said(d->num_tasks);
	struct np_need need = {
		.partition = d->partition,
		.features = d->features && *d->features ? d->features : NULL,
		.tres = d->tres_per_job || d->tres_per_node ||
			d->tres_per_socket || d->tres_per_task,
		.cpus_per_node = np_said16(d->pn_min_cpus),
		.cpus = np_said(d->min_cpus), .tasks = tasks,
		.tasks_per_node = np_said16(d->ntasks_per_node),
		.nodes = np_said(d->min_nodes),
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

/* "0-3,8,10-20:2%4": how many tasks. */
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

static unsigned flags_of(const job_desc_msg_t *d, const struct np_site *site,
			 int partition)
{
	unsigned flags = 0;

	if (d->shared != JOB_SHARED_NONE &&
	    site->part[partition].shares)
		flags |= NP_JOB_SHARES_NODES;
	if (d->req_nodes && *d->req_nodes)
		flags |= NP_JOB_NODELIST;
	if (d->reservation && *d->reservation)
		flags |= NP_JOB_RESERVATION;
	if (d->het_job_offset != NO_VAL)
		flags |= NP_JOB_HETEROGENEOUS;
	return flags;
}

/* Who does not say his account gets one later, by Slurm. */
static int32_t profile_of(struct submission *s, int partition)
{
	const struct np_claimant who = {
		.uid = s->d->user_id,
		.account = s->d->account && *s->d->account ? s->d->account :
							     NULL,
		.partition = s->standing->site->part[partition].name,
	};

	return np_app_index_of_job(s->standing->index, s->app, &who, &s->claim);
}

/* Fill in the job; returns 0 or why it is left alone. */
static int describe(struct submission *s)
{
	const struct np_site *site = s->standing->site;
	const job_desc_msg_t *d = s->d;
	size_t words = site->words;
	struct np_need need = need_of(d);
	struct np_fit fit;
	int rc = np_site_fit(site, &need, s->minus, &fit);

	if (rc)
		return rc;
	s->job = (struct np_job){
		.owner = d->user_id, .state = NP_JOB_READY, .mode = s->mode,
		.partition = (uint16_t)fit.partition,
		.flags = flags_of(d, site, fit.partition),
		.profile = profile_of(s, fit.partition),
		.tasks = d->array_inx ? count_tasks(d->array_inx) : 1,
		.array = d->array_inx ? 1 : 0,
		.nodes_min = fit.nodes, .switches = np_said(d->req_switch),
		.submit_sec = s->now_sec,
		.eligible_sec = d->begin_time > s->now_sec ? d->begin_time : 0,
		.candidates = s->standing->set[fit.partition],
	};
	if (s->claim == NP_CLAIM_UNPROVED)
		s->job.flags |= NP_JOB_UNPROVED;
	if (!d->priority)
		s->job.state = NP_JOB_WAITING; /* held */
	if (fit.constraint || is_longer(d->exc_nodes, NP_NOTE_MAX_USER) ||
	    np_site_parse(site, d->exc_nodes, s->user))
		s->job.flags |= NP_JOB_CONSTRAINT;
	/* From "would do" to "would not": the partition's other nodes. */
	for (size_t w = 0; w < words; w++)
		s->minus[w] = s->user[w] | ~s->minus[w];
	np_bits_end(s->minus, site->n_nodes);
	return 0;
}

/* ---- what is written into it ---- */

static void put_note(struct submission *s, struct np_note *n)
{
	char *text;

	if (s->told)
		strcpy(n->app, s->app);
	if (!n->app[0] && !n->decided)
		return;
	text = np_note_write(s->d->admin_comment, n);
	if (text)
		np_ctl_set(&s->d->admin_comment, text);
	free(text);
}

/* Not before until_sec; the user's own begin time is kept if it is later. */
static void defer(struct submission *s, struct np_note *n, int64_t until_sec)
{
	int64_t begin = s->d->begin_time > s->now_sec ? s->d->begin_time : 0;

	n->begin_sec = begin;
	n->until_sec = until_sec > begin ? until_sec : begin;
	s->d->begin_time = n->until_sec;
}

/* The user's own exclusions, which ours are added to. */
static int keep_user(const struct submission *s, struct np_note *n)
{
	if (!s->d->exc_nodes || !*s->d->exc_nodes)
		return 0;
	n->user = strdup(s->d->exc_nodes);
	return n->user ? 0 : -ENOMEM;
}

static int exclude(struct submission *s, struct np_note *n,
		   const uint64_t *open)
{
	char *both;

	n->ours = np_site_closed(s->standing->site, open);
	if (!n->ours)
		return -ENOMEM;
	both = np_note_join(n->user, n->ours);
	if (!both)
		return -ENOMEM;
	np_ctl_set(&s->d->exc_nodes, both);
	free(both);
	return 0;
}

/* Without memory nothing is written but, perhaps, the application. */
static void apply(struct submission *s, const struct np_outcome *o)
{
	struct np_note n = { .decided = o->action != NP_ACT_NONE };
	int rc = n.decided ? keep_user(s, &n) : 0;

	if (!rc && o->action == NP_ACT_CONFINE)
		rc = exclude(s, &n, o->leaves);
	if (!rc && o->action == NP_ACT_DEFER)
		defer(s, &n, o->until_sec);
	if (rc)
		np_note_clear(&n);
	put_note(s, &n);
	np_note_clear(&n);
}

/* ---- what is decided ---- */

static void say(struct submission *s, const char *line)
{
	snprintf(s->line, sizeof(s->line), "%s", line);
}

/* It may start, and others may have to be kept away from it. */
static bool is_let_in(const struct submission *s, const struct np_outcome *o)
{
	return s->mode == NP_MODE_ENFORCE &&
	       (o->action == NP_ACT_CONFINE ||
		(o->action == NP_ACT_ANYWHERE &&
		 o->cause.why != NP_WHY_HARMLESS));
}

/* Its application is not known as the claim does not hold, or may not. */
static void deny(struct submission *s, struct np_outcome *o)
{
	if (s->claim != NP_CLAIM_UNCLEAR) {
		say(s, "left alone: this user may not claim that name");
	} else if (s->mode == NP_MODE_ENFORCE && !(s->job.flags & ASIDE)) {
		o->action = NP_ACT_DEFER;
		o->until_sec = s->now_sec + WAIT_SEC;
		say(s, "waits until it is known whether this user may claim "
		    "that name");
	} else {
		say(s, "left alone: it is not known yet whether this user may "
		    "claim that name");
	}
}

static void decide(struct submission *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_outcome o = { .action = NP_ACT_NONE };
	int rc = s->user ? describe(s) : -ENOMEM;

	if (!rc)
		rc = np_placement_one(s->standing->placement, &s->job,
				      s->minus, s->now_sec, &o, &err);
	if (rc)
		snprintf(s->line, sizeof(s->line), "left alone: %s",
			 err.text[0] ? err.text : rc == -ENOENT ?
			 "no such partition" : strerror(-rc));
	else
		np_placement_text(s->standing->placement, &s->job, &o, s->line,
				  sizeof(s->line));
	if (s->mode == NP_MODE_ADVISE || !o.applied)
		o = (struct np_outcome){ .action = NP_ACT_NONE };
	if (is_let_in(s, &o) && !s->shared->busy) {
		s->shared->let_in_sec = np_mono_sec();
	} else if (is_let_in(s, &o)) { /* not while the thread decides */
		o.action = NP_ACT_DEFER;
		o.until_sec = s->now_sec + WAIT_SEC;
		say(s, "waits for the decision that is being made");
	}
	if (!rc && !np_claim_counts(s->claim))
		deny(s, &o);
	apply(s, &o);
	s->wake = o.action == NP_ACT_DEFER;
}

static bool is_stale(const struct submission *s)
{
	double limit = STALE_INTERVALS * s->conf->place.interval_sec;

	return (double)(s->now_sec - s->standing->now_sec) >
	       (limit > STALE_SEC ? limit : STALE_SEC);
}

/* Nothing is known yet: wait for the first decision, if waiting is allowed. */
static void without_decision(struct submission *s, bool starting)
{
	struct np_outcome o = { .action = NP_ACT_NONE };

	if (starting && s->mode == NP_MODE_ENFORCE) {
		o.action = NP_ACT_DEFER;
		o.until_sec = s->now_sec + WAIT_SEC;
		say(s, "waits for the first decision since slurmctld started");
	} else {
		say(s, "left alone: there is no recent decision");
	}
	apply(s, &o);
	s->wake = starting;
}

/*
 * The application, and the mode of the partition.  Where placement is off, a
 * job still is a load for others once it runs, and has to be known by name.
 */
static bool concerns_us(struct submission *s)
{
	const struct np_place_conf *c = &s->conf->place;
	const char *partition = s->d->partition;
	const char *by_rule;

	if (s->standing) {
		int i = np_site_partition(s->standing->site, partition);

		if (i >= 0)
			partition = s->standing->site->part[i].name;
	}
	s->mode = np_place_conf_mode(c, partition);
	/* scrontab's jobs cannot be changed later. */
	if ((s->mode == NP_MODE_OFF && !np_place_conf_at_work(c)) ||
	    s->d->bitflags & CRON_JOB)
		return false;
	s->told = np_submit_told(s->d, s->app);
	by_rule = s->told ? NULL :
		  np_place_conf_app(c, s->d->name, s->d->comment);
	if (!s->told)
		snprintf(s->app, sizeof(s->app), "%s", by_rule ? by_rule : "");
	return s->app[0];
}

/* Only its name is noted: it is a load for others. */
static void only_name(struct submission *s)
{
	const struct np_outcome o = { .action = NP_ACT_NONE };

	apply(s, &o);
}

static void log_decision(const struct submission *s)
{
	np_ctl_info("submission by uid %u of \"%.*s\" (%s): %s", s->d->user_id,
		    MAX_NAME, s->d->name ? s->d->name : "", s->app, s->line);
}

static void consider(struct submission *s, bool starting)
{
	size_t words;

	if (!s->standing || is_stale(s)) {
		without_decision(s, starting && !s->standing);
		return;
	}
	words = s->standing->site->words;
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
	s.standing = shared->standing;
	if (concerns_us(&s)) {
		if (s.mode == NP_MODE_OFF)
			only_name(&s);
		else
			consider(&s, starting);
	}
	if (s.wake)
		np_shared_wake_locked(shared);
	pthread_mutex_unlock(&shared->lock);
	if (s.line[0])
		log_decision(&s);
}
