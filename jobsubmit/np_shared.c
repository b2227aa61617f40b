#include "np_shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_clock.h"
#include "np_ctl.h"

/* ---- Changes ---- */

#define MAX_FRESH 64

struct np_changes {
	struct np_change change[NP_CHANGES_MAX];
	size_t n, bytes; /* changes; total length of their texts */
	uint64_t order;	 /* of the last change */
	struct np_owner *owner; /* sorted by id */
	size_t n_owners;
	/* Users with a missed change, of a job that is not in owner[]. */
	uint32_t fresh[MAX_FRESH];
	size_t n_fresh;	  /* MAX_FRESH: there may be further users */
	unsigned missed;  /* changes since np_changes_missed() */
	uint32_t misser;  /* uid of the first of them */
};

int np_changes_new(struct np_changes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_texts(struct np_change *c)
{
	free(c->exc_nodes);
	free(c->put);
	c->exc_nodes = c->put = NULL;
}

void np_changes_free(struct np_changes *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free_texts(&t->change[i]);
	free(t->owner);
	free(t);
}

/* The plugin runs as SlurmUser. */
static bool is_administrator(uint32_t uid)
{
	return !uid || uid == geteuid();
}

bool np_may_change(uint32_t uid, uint32_t owner)
{
	return uid == owner || is_administrator(uid);
}

static struct np_owner *find_owner(const struct np_changes *t, uint32_t id)
{
	const struct np_owner key = { .id = id };

	return t->n_owners ? bsearch(&key, t->owner, t->n_owners, sizeof(key),
				     np_order_u32) : NULL;
}

/* Whether a change of a new job of this owner may have been missed. */
static bool missed_fresh(const struct np_changes *t, uint32_t owner)
{
	for (size_t i = 0; i < t->n_fresh; i++)
		if (np_may_change(t->fresh[i], owner))
			return true;
	return t->n_fresh == MAX_FRESH;
}

/* Mark that a change by uid was missed, of an unknown job. */
static void miss_fresh(struct np_changes *t, uint32_t uid)
{
	for (size_t i = 0; i < t->n_fresh; i++)
		if (t->fresh[i] == uid)
			return;
	if (t->n_fresh < MAX_FRESH)
		t->fresh[t->n_fresh++] = uid;
}

/* Keeps the marks of changes missed since the last np_changes_take(). */
void np_changes_set_owners(struct np_changes *t, struct np_owner *owner,
			   size_t n)
{
	if (n)
		qsort(owner, n, sizeof(*owner), np_order_u32);
	for (size_t i = 0; i < n; i++) {
		const struct np_owner *old = find_owner(t, owner[i].id);

		owner[i].missed = old ? old->missed :
				  missed_fresh(t, owner[i].uid);
	}
	free(t->owner);
	t->owner = owner;
	t->n_owners = n;
}

bool np_changes_forbidden(const struct np_changes *t, uint32_t id, uint32_t uid)
{
	const struct np_owner *o = find_owner(t, id);

	return o && !np_may_change(uid, o->uid);
}

void np_changes_miss(struct np_changes *t, uint32_t id, uint32_t uid)
{
	struct np_owner *o = find_owner(t, id);

	if (!o)
		miss_fresh(t, uid);
	else if (np_may_change(uid, o->uid))
		o->missed = true;
	if (!t->missed++)
		t->misser = uid;
}

unsigned np_changes_missed(struct np_changes *t, uint32_t *misser)
{
	unsigned n = t->missed;

	*misser = t->misser;
	t->missed = 0;
	return n;
}

static size_t size_of(const struct np_change *c)
{
	return (c->exc_nodes ? strlen(c->exc_nodes) + 1 : 0) +
	       (c->put ? strlen(c->put) + 1 : 0);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_job(const struct np_change *a, const struct np_change *b)
{
	return a->id == b->id && a->task == b->task && a->uid == b->uid;
}

static bool same(const struct np_change *a, const struct np_change *b)
{
	return same_job(a, b) && a->begin_sec == b->begin_sec &&
	       a->put_begin_sec == b->put_begin_sec &&
	       same_text(a->exc_nodes, b->exc_nodes) &&
	       same_text(a->put, b->put);
}

static void drop(struct np_changes *t, size_t i)
{
	t->bytes -= t->change[i].bytes;
	free_texts(&t->change[i]);
	t->change[i] = t->change[--t->n];
}

/* Drop what a new change replaces: the same one, or the oldest of too many. */
static void replace(struct np_changes *t, const struct np_change *c)
{
	size_t oldest = t->n, n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (same(&t->change[i], c)) {
			drop(t, i);
			return;
		}
		if (!same_job(&t->change[i], c))
			continue;
		n++;
		if (oldest == t->n ||
		    t->change[i].order < t->change[oldest].order)
			oldest = i;
	}
	if (n >= NP_CHANGES_OF_JOB)
		drop(t, oldest);
}

/* Whether a change is within the limits. */
static bool has_room(const struct np_changes *t, const struct np_change *c)
{
	size_t n = 0, bytes = c->bytes;

	if (t->n == NP_CHANGES_MAX || t->bytes + bytes > NP_CHANGES_BYTES)
		return false;
	if (is_administrator(c->uid))
		return true;
	for (size_t i = 0; i < t->n; i++)
		if (t->change[i].uid == c->uid) {
			n++;
			bytes += t->change[i].bytes;
		}
	return n < NP_CHANGES_OF_USER && bytes <= NP_CHANGES_USER_BYTES;
}

bool np_changes_put(struct np_changes *t, const struct np_change *c)
{
	struct np_change new = *c;

	replace(t, c);
	new.order = ++t->order;
	new.bytes = size_of(c);
	if (!has_room(t, &new)) {
		np_changes_miss(t, c->id, c->uid);
		free_texts(&new);
		return false;
	}
	t->change[t->n++] = new;
	t->bytes += new.bytes;
	return true;
}

static bool is_missed(const struct np_changes *t, uint32_t id)
{
	const struct np_owner *o = find_owner(t, id);

	return o && o->missed;
}

bool np_changes_overtake(const struct np_changes *t, const struct np_sending *s)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct np_change *c = &t->change[i];

		if ((c->id == s->id || (s->array && c->id == s->array)) &&
		    (c->task == NP_CHANGE_ALL || s->task == NP_CHANGE_ALL ||
		     c->task == s->task) && np_may_change(c->uid, s->owner))
			return true;
	}
	return is_missed(t, s->id) || (s->array && is_missed(t, s->array));
}

static int by_order(const void *a, const void *b)
{
	const struct np_change *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

struct np_change *np_changes_take(struct np_changes *t, size_t *n)
{
	struct np_change *c = calloc(t->n + 1, sizeof(*c));

	*n = c ? t->n : 0;
	if (!c)
		return NULL;
	for (size_t i = 0; i < t->n_owners; i++)
		t->owner[i].missed = false;
	t->n_fresh = 0;
	memcpy(c, t->change, t->n * sizeof(*c));
	qsort(c, *n, sizeof(*c), by_order);
	t->n = t->bytes = 0;
	return c;
}

void np_changes_return(struct np_changes *t, struct np_change *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (t->n == NP_CHANGES_MAX ||
		    t->bytes + c[i].bytes > NP_CHANGES_BYTES) {
			np_changes_miss(t, c[i].id, c[i].uid);
			free_texts(&c[i]);
			continue;
		}
		t->change[t->n++] = c[i];
		t->bytes += c[i].bytes;
	}
	free(c);
}

void np_change_list_free(struct np_change *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free_texts(&c[i]);
	free(c);
}

/*
 * Whether a change is of this job, its whole array, or its task of the array.
 */
static bool is_of(const struct np_change *c, uint32_t id, uint32_t array,
		  uint32_t task)
{
	return (c->task == NP_CHANGE_ALL && c->id == id) ||
	       (array && c->id == array &&
		(c->task == NP_CHANGE_ALL || c->task == task));
}

size_t np_changes_of(const struct np_change *c, size_t n, uint32_t id,
		     uint32_t array, uint32_t task, uint32_t owner,
		     const struct np_change **found, size_t max)
{
	size_t n_found = 0;

	for (size_t i = n; i-- > 0 && n_found < max;)
		if (is_of(&c[i], id, array, task) &&
		    np_may_change(c[i].uid, owner))
			found[n_found++] = &c[i];
	return n_found;
}

/* ---- Shared state ---- */

int np_shared_new(const struct np_conf *conf, struct np_shared **out)
{
	struct np_shared *d = calloc(1, sizeof(*d));

	if (!d || np_changes_new(&d->changes)) {
		free(d);
		return -ENOMEM;
	}
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->admitted_sec = -NP_SHARED_IN_FLIGHT_SEC;
	d->conf = *conf;
	*out = d;
	return 0;
}

void np_shared_configure(struct np_shared *d, const struct np_conf *conf)
{
	pthread_mutex_lock(&d->lock);
	d->conf = *conf;
	pthread_mutex_unlock(&d->lock);
}

void np_shared_busy(struct np_shared *d, bool busy)
{
	pthread_mutex_lock(&d->lock);
	d->busy = busy;
	pthread_mutex_unlock(&d->lock);
}

void np_shared_wait_in_flight(struct np_shared *d)
{
	double left;

	pthread_mutex_lock(&d->lock);
	left = d->admitted_sec + NP_SHARED_IN_FLIGHT_SEC - np_mono_sec();
	pthread_mutex_unlock(&d->lock);
	if (left > 0)
		usleep((useconds_t)(left * 1e6));
}

const struct np_written *np_shared_written(const struct np_shared *d,
					   uint32_t id,
					   uint32_t task)
{
	const struct np_written key = { .id = id };

	/* A task without a record of its own is part of the array's record. */
	for (size_t i = 0; task != NP_CHANGE_ALL && i < d->n_written; i++)
		if (d->written[i].array == id && d->written[i].task == task)
			return &d->written[i];
	return d->n_written ? bsearch(&key, d->written, d->n_written,
				      sizeof(key), np_order_u32) : NULL;
}

void np_shared_set_sending(struct np_shared *d, const struct np_sending *s)
{
	pthread_mutex_lock(&d->lock);
	d->sending = s;
	pthread_mutex_unlock(&d->lock);
}

static void wake_locked(struct np_shared *d)
{
	d->woken = true;
	pthread_cond_signal(&d->cond);
}

void np_shared_wake(struct np_shared *d)
{
	pthread_mutex_lock(&d->lock);
	wake_locked(d);
	pthread_mutex_unlock(&d->lock);
}

bool np_shared_wait(struct np_shared *d, double sec)
{
	struct timespec t = np_mono_after(sec);
	bool woken;

	pthread_mutex_lock(&d->lock);
	while (!d->woken && !pthread_cond_clockwait(&d->cond, &d->lock,
						    CLOCK_MONOTONIC, &t))
		;
	woken = d->woken;
	d->woken = false;
	pthread_mutex_unlock(&d->lock);
	return woken;
}

static void decision_free(struct np_decision *s)
{
	if (!s)
		return;
	np_placement_free(s->placement);
	np_cluster_map_unref(s->map);
	np_app_index_unref(s->index);
	free(s->set);
	free(s);
}

void np_shared_publish(struct np_shared *d, struct np_decision *s,
		       struct np_arrivals *arrivals)
{
	struct np_decision *old;

	pthread_mutex_lock(&d->lock);
	old = d->decision;
	if (s && old && old->map == s->map)
		np_placement_carry(s->placement, old->placement, arrivals);
	d->decision = s;
	pthread_mutex_unlock(&d->lock);
	decision_free(old);
}

void np_shared_withdraw(struct np_shared *d)
{
	np_shared_publish(d, NULL, NULL);
}

static void np_written_free(struct np_written *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(w[i].ours);
	free(w);
}

void np_shared_note_written(struct np_shared *d, struct np_written *w, size_t n)
{
	struct np_written *old;
	size_t n_old;

	if (n)
		qsort(w, n, sizeof(*w), np_order_u32);
	pthread_mutex_lock(&d->lock);
	old = d->written;
	n_old = d->n_written;
	d->written = w;
	d->n_written = n;
	pthread_mutex_unlock(&d->lock);
	np_written_free(old, n_old);
}

void np_shared_set_owners(struct np_shared *d, struct np_owner *owner, size_t n)
{
	pthread_mutex_lock(&d->lock);
	np_changes_set_owners(d->changes, owner, n);
	pthread_mutex_unlock(&d->lock);
}

struct np_change *np_shared_take_changes(struct np_shared *d, size_t *n)
{
	struct np_change *c;

	pthread_mutex_lock(&d->lock);
	c = np_changes_take(d->changes, n);
	pthread_mutex_unlock(&d->lock);
	return c;
}

void np_shared_return_changes(struct np_shared *d, struct np_change *c,
			      size_t n)
{
	pthread_mutex_lock(&d->lock);
	np_changes_return(d->changes, c, n);
	pthread_mutex_unlock(&d->lock);
}

unsigned np_shared_take_missed(struct np_shared *d, uint32_t *misser)
{
	unsigned n;

	pthread_mutex_lock(&d->lock);
	n = np_changes_missed(d->changes, misser);
	pthread_mutex_unlock(&d->lock);
	return n;
}

void np_shared_free(struct np_shared *d)
{
	if (!d)
		return;
	decision_free(d->decision);
	np_written_free(d->written, d->n_written);
	np_changes_free(d->changes);
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

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

/* Whether a change is the update that the thread is sending. */
static bool is_own(const struct np_sending *s, const job_desc_msg_t *d,
		   uint32_t id, uint32_t task, uint32_t uid)
{
	return s && s->id == id && s->task == task && uid == geteuid() &&
	       same_text(s->exc_nodes, d->exc_nodes) &&
	       same_text(s->comment, d->admin_comment);
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

/* Record a change of excluded nodes, and add placement's own to it. */
static void change_list(job_desc_msg_t *d, const struct np_written *w,
			struct np_change *c)
{
	c->exc_nodes = user_part(d->exc_nodes, w ? w->ours : NULL);
	keep_our_list(d, c->exc_nodes, w ? w->ours : NULL);
	c->put = strdup(d->exc_nodes);
}

/* Keep a hold by placement that ends later than the requested begin time. */
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

static bool is_longer(const char *text, size_t max)
{
	return text && strnlen(text, max + 1) > max;
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
	bool too_long = is_longer(d->exc_nodes, NP_CHANGES_MAX_LIST);

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
		wake_locked(shared);
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

/* Kinds of jobs that placement ignores, whatever they run. */
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

/*
 * Whether Slurm will refuse the job for a text that is too long. Such a text
 * may be megabytes long and is not looked at further.
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
		.shape = np_or_zero16(d->contiguous) ||
			 d->shared == JOB_SHARED_TOPO ||
			 np_or_zero16(NP_DESC_SEGMENT(d)),
		.threads_per_core = np_or_zero16(d->threads_per_core),
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

	if (d->shared != JOB_SHARED_NONE && d->shared != JOB_SHARED_TOPO &&
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

/* Fill in s->job. Returns 0, or why it is ignored. */
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
		snprintf(s->line, sizeof(s->line), "ignored: %s",
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
		say(s, "ignored: there is no recent decision");
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
		wake_locked(shared);
	pthread_mutex_unlock(&shared->lock);
	if (s.line[0])
		log_decision(&s);
}
