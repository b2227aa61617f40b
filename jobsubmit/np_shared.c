/*
 * The state that the placement thread and slurmctld's callbacks share, i.e. the
 * changes that users requested and the current decision; and the callbacks
 * job_modify and job_submit themselves.
 */
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

#define USER_BITS 65536

struct np_changes {
	struct np_change change[NP_CHANGES_MAX];
	size_t n, bytes; /* number of changes, and bytes of all their texts */
	uint64_t order;	 /* of the last change */
	struct np_owner *owner; /* sorted by id */
	size_t n_owners;
	/*
	 * The users whose changes of jobs that are not in owner[] were missed,
	 * as bits by uid modulo USER_BITS, and whether root or SlurmUser is
	 * among them. Users with the same bit are treated alike; all others are
	 * unaffected, however many changes are missed.
	 */
	uint64_t new_job_user[USER_BITS / NP_BITS_WORD];
	bool new_job_administrator;
	unsigned n_missed;   /* since np_changes_take_missed() */
	uint32_t missed_uid; /* user of the first of these */
};

int np_changes_new(struct np_changes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_texts(struct np_change *change)
{
	free(change->exc_nodes);
	free(change->passed_on);
	change->exc_nodes = change->passed_on = NULL;
}

void np_changes_free(struct np_changes *changes)
{
	if (!changes)
		return;
	for (size_t i = 0; i < changes->n; i++)
		free_texts(&changes->change[i]);
	free(changes->owner);
	free(changes);
}

/* Is uid root or SlurmUser, as whom the plugin runs? */
static bool is_administrator(uint32_t uid)
{
	return !uid || uid == geteuid();
}

bool np_may_change(uint32_t uid, uint32_t owner)
{
	return uid == owner || is_administrator(uid);
}

static struct np_owner *find_owner(const struct np_changes *changes,
				   uint32_t id)
{
	const struct np_owner key = { .id = id };

	if (!changes->n_owners)
		return NULL;
	return bsearch(&key, changes->owner, changes->n_owners, sizeof(key),
		       np_order_u32);
}

/* Whether a change of a new job of this owner may have been missed. */
static bool may_have_missed(const struct np_changes *changes, uint32_t owner)
{
	return changes->new_job_administrator ||
	       np_bits_test(changes->new_job_user, owner % USER_BITS);
}

void np_changes_mark_new_job_missed(struct np_changes *changes, uint32_t uid)
{
	np_bits_set(changes->new_job_user, uid % USER_BITS);
	changes->new_job_administrator |= is_administrator(uid);
}

/*
 * Sort owners by id, and keep one for each, with its SLUID if any of them has
 * one. Returns how many there are.
 */
static size_t sort_owners(struct np_owner *owner, size_t n)
{
	size_t n_unique = 0;

	if (n)
		qsort(owner, n, sizeof(*owner), np_order_u32);
	for (size_t i = 0; i < n; i++)
		if (!n_unique || owner[n_unique - 1].id != owner[i].id)
			owner[n_unique++] = owner[i];
		else if (owner[i].sluid)
			owner[n_unique - 1].sluid = owner[i].sluid;
	return n_unique;
}

/* Marks set since the last np_changes_take() are kept. */
struct np_owner *np_changes_set_owners(struct np_changes *changes,
				       struct np_owner *owner, size_t n)
{
	struct np_owner *former = changes->owner;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		bool known;

		while (k < changes->n_owners && former[k].id < owner[i].id)
			k++;
		known = k < changes->n_owners && former[k].id == owner[i].id;
		owner[i].missed =
			known ? former[k].missed :
				may_have_missed(changes, owner[i].uid);
		owner[i].doubt = known ? former[k].doubt : 0;
	}
	changes->owner = owner;
	changes->n_owners = n;
	return former;
}

uint32_t np_changes_id_of(const struct np_changes *changes, uint64_t sluid)
{
	for (size_t i = 0; sluid && i < changes->n_owners; i++)
		if (changes->owner[i].sluid == sluid)
			return changes->owner[i].id;
	return 0;
}

bool np_changes_forbidden(const struct np_changes *changes, uint32_t id,
			  uint32_t uid)
{
	const struct np_owner *owner = find_owner(changes, id);

	return owner && !np_may_change(uid, owner->uid);
}

void np_changes_mark_missed(struct np_changes *changes, uint32_t id,
			    uint32_t uid)
{
	struct np_owner *owner = find_owner(changes, id);

	if (!owner)
		np_changes_mark_new_job_missed(changes, uid);
	else if (np_may_change(uid, owner->uid))
		owner->missed = true;
	if (!changes->n_missed++)
		changes->missed_uid = uid;
}

unsigned np_changes_take_missed(struct np_changes *changes, uint32_t *uid)
{
	unsigned n = changes->n_missed;

	*uid = changes->missed_uid;
	changes->n_missed = 0;
	return n;
}

/* Bytes of the texts of a change. */
static size_t count_text_bytes(const struct np_change *change)
{
	return (change->exc_nodes ? strlen(change->exc_nodes) + 1 : 0) +
	       (change->passed_on ? strlen(change->passed_on) + 1 : 0);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_job(const struct np_change *a, const struct np_change *b)
{
	return a->id == b->id && a->task == b->task && a->uid == b->uid;
}

static bool is_same_change(const struct np_change *a, const struct np_change *b)
{
	return is_same_job(a, b) && a->begin_sec == b->begin_sec &&
	       a->passed_on_begin_sec == b->passed_on_begin_sec &&
	       is_same_text(a->exc_nodes, b->exc_nodes) &&
	       is_same_text(a->passed_on, b->passed_on);
}

static void drop_change(struct np_changes *changes, size_t i)
{
	changes->bytes -= changes->change[i].bytes;
	free_texts(&changes->change[i]);
	changes->change[i] = changes->change[--changes->n];
}

/*
 * Drop the change that a new one replaces: an equal one, or else the oldest of
 * the same job and user if there are too many.
 */
static void drop_replaced(struct np_changes *changes,
			  const struct np_change *change)
{
	size_t oldest = changes->n, n = 0;

	for (size_t i = 0; i < changes->n; i++) {
		if (is_same_change(&changes->change[i], change)) {
			drop_change(changes, i);
			return;
		}
		if (!is_same_job(&changes->change[i], change))
			continue;
		n++;
		if (oldest == changes->n ||
		    changes->change[i].order < changes->change[oldest].order)
			oldest = i;
	}
	if (n >= NP_CHANGES_OF_JOB)
		drop_change(changes, oldest);
}

/* Whether a change is within the limits. */
static bool is_within_limits(const struct np_changes *changes,
			     const struct np_change *change)
{
	size_t n = 0, bytes = 0;

	if (changes->n == NP_CHANGES_MAX ||
	    changes->bytes + change->bytes > NP_CHANGES_BYTES)
		return false;
	if (is_administrator(change->uid))
		return true;
	for (size_t i = 0; i < changes->n; i++)
		if (changes->change[i].uid == change->uid) {
			n++;
			bytes += changes->change[i].bytes;
		}
	return n < NP_CHANGES_OF_USER &&
	       bytes + change->bytes <= NP_CHANGES_USER_BYTES &&
	       np_share_allows(NP_CHANGES_MAX - changes->n, n, 1) &&
	       np_share_allows(NP_CHANGES_BYTES - changes->bytes, bytes,
			       change->bytes);
}

bool np_changes_put(struct np_changes *changes, const struct np_change *change)
{
	struct np_change copy = *change;

	drop_replaced(changes, change);
	copy.order = ++changes->order;
	copy.bytes = count_text_bytes(change);
	if (!is_within_limits(changes, &copy)) {
		np_changes_mark_missed(changes, change->id, change->uid);
		free_texts(&copy);
		return false;
	}
	changes->change[changes->n++] = copy;
	changes->bytes += copy.bytes;
	return true;
}

static bool has_missed_change(const struct np_changes *changes, uint32_t id)
{
	const struct np_owner *owner = find_owner(changes, id);

	return owner && owner->missed;
}

/* Whether a change is of the job, the array or the task that is updated. */
static bool concerns_update(const struct np_change *change,
			    const struct np_sending *sending)
{
	return (change->id == sending->id ||
		(sending->array && change->id == sending->array)) &&
	       (change->task == NP_CHANGE_ALL ||
		sending->task == NP_CHANGE_ALL ||
		change->task == sending->task);
}

bool np_changes_overtake(const struct np_changes *changes,
			 const struct np_sending *sending)
{
	for (size_t i = 0; i < changes->n; i++) {
		const struct np_change *change = &changes->change[i];

		if (concerns_update(change, sending) &&
		    np_may_change(change->uid, sending->owner))
			return true;
	}
	return has_missed_change(changes, sending->id) ||
	       (sending->array && has_missed_change(changes, sending->array));
}

void np_changes_mark_doubtful(struct np_changes *changes, uint32_t id)
{
	struct np_owner *owner = find_owner(changes, id);

	if (owner)
		owner->doubt = ++changes->order;
}

static uint64_t doubt_of(const struct np_changes *changes, uint32_t id)
{
	const struct np_owner *owner = find_owner(changes, id);

	return owner ? owner->doubt : 0;
}

uint64_t np_changes_doubt(const struct np_changes *changes,
			  const struct np_sending *sending)
{
	uint64_t last = doubt_of(changes, sending->id);
	uint64_t of_array = sending->array ? doubt_of(changes, sending->array) :
					     0;

	if (of_array > last)
		last = of_array;
	/* Changes by others were recorded while the job was not known. */
	for (size_t i = 0; i < changes->n; i++) {
		const struct np_change *change = &changes->change[i];

		if (concerns_update(change, sending) && change->order > last)
			last = change->order;
	}
	return last;
}

static int by_order(const void *a, const void *b)
{
	const struct np_change *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

struct np_change *np_changes_take(struct np_changes *changes, size_t *n)
{
	struct np_change *change = calloc(changes->n + 1, sizeof(*change));

	*n = change ? changes->n : 0;
	if (!change)
		return NULL;
	for (size_t i = 0; i < changes->n_owners; i++) {
		changes->owner[i].missed = false;
		changes->owner[i].doubt = 0;
	}
	memset(changes->new_job_user, 0, sizeof(changes->new_job_user));
	changes->new_job_administrator = false;
	memcpy(change, changes->change, changes->n * sizeof(*change));
	qsort(change, *n, sizeof(*change), by_order);
	changes->n = changes->bytes = 0;
	return change;
}

void np_changes_return(struct np_changes *changes, struct np_change *change,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (changes->n == NP_CHANGES_MAX ||
		    changes->bytes + change[i].bytes > NP_CHANGES_BYTES) {
			np_changes_mark_missed(changes, change[i].id,
					       change[i].uid);
			free_texts(&change[i]);
			continue;
		}
		changes->change[changes->n++] = change[i];
		changes->bytes += change[i].bytes;
	}
	free(change);
}

void np_change_list_free(struct np_change *change, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free_texts(&change[i]);
	free(change);
}

/* Whether a change is of this job, of its whole array, or of its array task. */
static bool concerns_job(const struct np_change *change, uint32_t id,
			 uint32_t array, uint32_t task)
{
	return (change->task == NP_CHANGE_ALL && change->id == id) ||
	       (array && change->id == array &&
		(change->task == NP_CHANGE_ALL || change->task == task));
}

size_t np_changes_find(const struct np_change *change, size_t n, uint32_t id,
		       uint32_t array, uint32_t task, uint32_t owner,
		       const struct np_change **found, size_t max)
{
	size_t n_found = 0;

	for (size_t i = n; i-- > 0 && n_found < max;)
		if (concerns_job(&change[i], id, array, task) &&
		    np_may_change(change[i].uid, owner))
			found[n_found++] = &change[i];
	return n_found;
}

/* ---- Shared state ---- */

int np_shared_new(const struct np_conf *conf, struct np_shared **out)
{
	struct np_shared *shared = calloc(1, sizeof(*shared));

	if (!shared || np_changes_new(&shared->changes)) {
		free(shared);
		return -ENOMEM;
	}
	pthread_mutex_init(&shared->lock, NULL);
	pthread_cond_init(&shared->cond, NULL);
	shared->admitted_sec = -NP_SHARED_IN_FLIGHT_SEC;
	shared->conf = *conf;
	shared->has_conf = true;
	*out = shared;
	return 0;
}

void np_shared_configure(struct np_shared *shared, const struct np_conf *conf)
{
	pthread_mutex_lock(&shared->lock);
	shared->has_conf = conf != NULL;
	if (conf)
		shared->conf = *conf;
	else
		np_conf_init(&shared->conf);
	pthread_mutex_unlock(&shared->lock);
}

bool np_shared_is_starting(struct np_shared *shared, double now_sec)
{
	bool starting;

	pthread_mutex_lock(&shared->lock);
	if (!shared->first_submit_sec)
		shared->first_submit_sec = now_sec;
	starting = now_sec - shared->first_submit_sec < NP_SHARED_STARTING_SEC;
	pthread_mutex_unlock(&shared->lock);
	return starting;
}

void np_shared_restart(struct np_shared *shared)
{
	pthread_mutex_lock(&shared->lock);
	shared->first_submit_sec = 0;
	pthread_mutex_unlock(&shared->lock);
}

void np_shared_set_busy(struct np_shared *shared, bool busy)
{
	pthread_mutex_lock(&shared->lock);
	shared->busy = busy;
	pthread_mutex_unlock(&shared->lock);
}

void np_shared_wait_in_flight(struct np_shared *shared)
{
	double left;

	pthread_mutex_lock(&shared->lock);
	left = shared->admitted_sec + NP_SHARED_IN_FLIGHT_SEC - np_mono_sec();
	pthread_mutex_unlock(&shared->lock);
	if (left > 0)
		usleep((useconds_t)(left * 1e6));
}

/* Find the record of one task of an array, or NULL. */
static const struct np_written *find_task(const struct np_written *written,
					  size_t n, uint32_t id, uint32_t task)
{
	for (size_t i = 0; task != NP_CHANGE_ALL && i < n; i++)
		if (written[i].array == id && written[i].task == task)
			return &written[i];
	return NULL;
}

/* Find a job among those that were updated recently, or NULL. */
static struct np_written *find_recent(const struct np_shared *shared,
				      uint32_t id)
{
	for (size_t i = 0; i < shared->n_recent; i++)
		if (shared->recent[i].id == id)
			return &shared->recent[i];
	return NULL;
}

const struct np_written *np_shared_find_written(const struct np_shared *shared,
						uint32_t id, uint32_t task)
{
	const struct np_written key = { .id = id };
	const struct np_written *found =
		find_task(shared->recent, shared->n_recent, id, task);

	if (!found)
		found = find_task(shared->written, shared->n_written, id, task);
	/* A task without a record of its own is part of the array's record. */
	if (!found)
		found = find_recent(shared, id);
	if (!found && shared->n_written)
		found = bsearch(&key, shared->written, shared->n_written,
				sizeof(key), np_order_u32);
	return found;
}

/*
 * Record what a job contains once Slurm has made an update, so that a user who
 * changes the job before the pass is over does not remove it.
 */
static void record_recent(struct np_shared *shared,
			  const struct np_written *written)
{
	struct np_written *recent =
		written->id ? find_recent(shared, written->id) : NULL;
	char *ours = written->ours ? strdup(written->ours) : NULL;

	if (!recent && !np_array_grow(&shared->recent, shared->n_recent,
				      sizeof(*recent))) {
		recent = &shared->recent[shared->n_recent++];
		recent->ours = NULL;
	}
	if (!recent) {
		free(ours);
		return;
	}
	free(recent->ours);
	*recent = *written;
	recent->ours = ours;
}

void np_shared_set_sending(struct np_shared *shared,
			   const struct np_sending *sending)
{
	pthread_mutex_lock(&shared->lock);
	shared->sending = sending;
	pthread_mutex_unlock(&shared->lock);
}

void np_shared_expect_late(struct np_shared *shared)
{
	pthread_mutex_lock(&shared->lock);
	shared->late_until_sec = np_mono_sec() + NP_SHARED_LATE_SEC;
	pthread_mutex_unlock(&shared->lock);
}

uint64_t np_shared_doubt(struct np_shared *shared,
			 const struct np_sending *sending)
{
	uint64_t doubt = 0;

	pthread_mutex_lock(&shared->lock);
	if (!np_changes_overtake(shared->changes, sending))
		doubt = np_changes_doubt(shared->changes, sending);
	pthread_mutex_unlock(&shared->lock);
	return doubt;
}

static void wake_locked(struct np_shared *shared)
{
	shared->woken = true;
	pthread_cond_signal(&shared->cond);
}

void np_shared_wake(struct np_shared *shared)
{
	pthread_mutex_lock(&shared->lock);
	wake_locked(shared);
	pthread_mutex_unlock(&shared->lock);
}

bool np_shared_wait(struct np_shared *shared, double sec)
{
	struct timespec until = np_mono_after(sec);
	bool woken;

	pthread_mutex_lock(&shared->lock);
	while (!shared->woken &&
	       !pthread_cond_clockwait(&shared->cond, &shared->lock,
				       CLOCK_MONOTONIC, &until))
		;
	woken = shared->woken;
	shared->woken = false;
	pthread_mutex_unlock(&shared->lock);
	return woken;
}

static void free_decision(struct np_decision *decision)
{
	if (!decision)
		return;
	np_placement_free(decision->placement);
	np_cluster_map_unref(decision->map);
	np_app_index_unref(decision->index);
	free(decision->set);
	free(decision);
}

void np_shared_publish(struct np_shared *shared, struct np_decision *decision,
		       struct np_arrivals *arrivals)
{
	struct np_decision *old;

	pthread_mutex_lock(&shared->lock);
	old = shared->decision;
	if (decision && old && old->map == decision->map)
		np_placement_carry(decision->placement, old->placement,
				   arrivals);
	shared->decision = decision;
	pthread_mutex_unlock(&shared->lock);
	free_decision(old);
}

void np_shared_withdraw(struct np_shared *shared)
{
	np_shared_publish(shared, NULL, NULL);
}

static void free_written(struct np_written *written, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(written[i].ours);
	free(written);
}

void np_shared_set_written(struct np_shared *shared, struct np_written *written,
			   size_t n)
{
	struct np_written *old, *recent;
	size_t n_old, n_recent;

	if (n)
		qsort(written, n, sizeof(*written), np_order_u32);
	pthread_mutex_lock(&shared->lock);
	old = shared->written;
	n_old = shared->n_written;
	recent = shared->recent;
	n_recent = shared->n_recent;
	shared->written = written;
	shared->n_written = n;
	shared->recent = NULL;
	shared->n_recent = 0;
	pthread_mutex_unlock(&shared->lock);
	free_written(old, n_old);
	free_written(recent, n_recent);
}

void np_shared_set_owners(struct np_shared *shared, struct np_owner *owner,
			  size_t n)
{
	struct np_owner *former;

	n = sort_owners(owner, n); /* while callbacks need not wait */
	pthread_mutex_lock(&shared->lock);
	former = np_changes_set_owners(shared->changes, owner, n);
	pthread_mutex_unlock(&shared->lock);
	free(former);
}

struct np_change *np_shared_take_changes(struct np_shared *shared, size_t *n)
{
	struct np_change *change;

	pthread_mutex_lock(&shared->lock);
	change = np_changes_take(shared->changes, n);
	pthread_mutex_unlock(&shared->lock);
	return change;
}

void np_shared_return_changes(struct np_shared *shared,
			      struct np_change *change, size_t n)
{
	pthread_mutex_lock(&shared->lock);
	np_changes_return(shared->changes, change, n);
	pthread_mutex_unlock(&shared->lock);
}

unsigned np_shared_take_missed(struct np_shared *shared, uint32_t *uid)
{
	unsigned n;

	pthread_mutex_lock(&shared->lock);
	n = np_changes_take_missed(shared->changes, uid);
	pthread_mutex_unlock(&shared->lock);
	return n;
}

void np_shared_free(struct np_shared *shared)
{
	if (!shared)
		return;
	free_decision(shared->decision);
	free_written(shared->written, shared->n_written);
	free_written(shared->recent, shared->n_recent);
	np_changes_free(shared->changes);
	pthread_cond_destroy(&shared->cond);
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

/* ---- job_modify: changes by users and administrators, and our own ---- */

/*
 * Return the id of the job or array in "12", "12_3" or "12_[1-3]", or 0 if
 * there is none. Sets *task to the array task, or NP_CHANGE_ALL, and *single to
 * whether the text names one task, job or whole array.
 */
static uint32_t parse_id(const job_desc_msg_t *desc, uint32_t *task,
			 bool *single)
{
	char *end, *index_end;
	unsigned long id, index;

	*single = true;
	*task = NP_CHANGE_ALL;
	if (!desc->job_id_str)
		return np_job_desc_id(desc) < NO_VAL ? np_job_desc_id(desc) : 0;
	id = strtoul(desc->job_id_str, &end, 10);
	*single = !*end;
	if (*end == '_') {
		index = strtoul(end + 1, &index_end, 10);
		*single = index_end > end + 1 && !*index_end && index < NO_VAL;
		if (*single)
			*task = (uint32_t)index;
	}
	return id < NO_VAL ? (uint32_t)id : 0;
}

#define SLUID_DIGITS 13

/*
 * Parse a SLUID, which is an "s" and digits of base 32. As in Slurm, O counts
 * as 0, and I and L count as 1. Returns 0 if the text is none.
 */
static uint64_t parse_sluid(const char *text)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint64_t sluid = 0;

	if (*text != 's' || strlen(text) != SLUID_DIGITS + 1)
		return 0;
	while (*++text) {
		int c = *text >= 'a' ? *text - 'a' + 'A' : *text;
		const char *digit;

		if (c == 'O')
			c = '0';
		else if (c == 'I' || c == 'L')
			c = '1';
		digit = strchr(digits, c);
		if (!digit)
			return 0;
		sluid = sluid << 5 | (uint64_t)(digit - digits);
	}
	return sluid;
}

/*
 * Return the SLUID that names the job in place of its id, as users may do since
 * Slurm 26.05, or 0.
 */
static uint64_t find_sluid(const job_desc_msg_t *desc)
{
	uint64_t sluid = desc->job_id_str ? parse_sluid(desc->job_id_str) : 0;

	return sluid ? sluid : NP_SLUID(desc);
}

/*
 * Whether a change is the update that the thread is sending. Another plugin may
 * have changed its texts before, but not the annotation.
 */
static bool is_own_update(const struct np_sending *sending,
			  const job_desc_msg_t *desc, uint32_t id,
			  uint32_t task, uint32_t uid)
{
	return sending && sending->id == id && sending->task == task &&
	       uid == geteuid() &&
	       (np_annotation_is_same(desc->admin_comment, sending->comment) ||
		(is_same_text(sending->exc_nodes, desc->exc_nodes) &&
		 is_same_text(sending->comment, desc->admin_comment)));
}

/*
 * Copy the user's part of a list, which ends before ours. Slurm calls
 * job_modify for every record of an array, each time with the list as the
 * previous call left it.
 */
static char *copy_user_part(const char *list, const char *ours)
{
	size_t list_len = strlen(list), ours_len = ours ? strlen(ours) : 0;

	if (!ours_len || list_len < ours_len ||
	    strcmp(list + list_len - ours_len, ours) ||
	    (list_len > ours_len && list[list_len - ours_len - 1] != ','))
		return strdup(list);
	return strndup(list, list_len > ours_len ? list_len - ours_len - 1 : 0);
}

/*
 * Add our excluded nodes to the user's, so that the restriction remains until
 * the next pass has decided.
 */
static void append_our_list(job_desc_msg_t *desc, const char *user_list,
			    const char *ours)
{
	char *joined;

	if (!ours || !user_list)
		return;
	joined = np_annotation_join_lists(*user_list ? user_list : NULL, ours);
	if (joined)
		np_ctl_set_string(&desc->exc_nodes, joined);
	free(joined);
}

/* Record a change of excluded nodes, and add ours to the list. */
static void record_exclusions(job_desc_msg_t *desc,
			      const struct np_written *written,
			      struct np_change *change)
{
	change->exc_nodes =
		copy_user_part(desc->exc_nodes, written ? written->ours : NULL);
	append_our_list(desc, change->exc_nodes,
			written ? written->ours : NULL);
	change->passed_on = strdup(desc->exc_nodes);
}

/* Record a change of the begin time, and keep our hold if it ends later. */
static void record_begin_time(job_desc_msg_t *desc,
			      const struct np_written *written,
			      struct np_change *change)
{
	/* It is unchanged, or was set for another record of the array. */
	if (written && desc->begin_time == written->until_sec)
		return;
	change->begin_sec = desc->begin_time;
	if (written && desc->begin_time < written->until_sec)
		desc->begin_time = written->until_sec;
	change->passed_on_begin_sec = desc->begin_time;
}

/* Whether a text, which may be NULL, is longer than max bytes. */
static bool is_longer_than(const char *text, size_t max)
{
	return text && strnlen(text, max + 1) > max;
}

/*
 * Handle a requested change. A change that Slurm will probably refuse is not
 * recorded as such, but our exclusions are added even then, as the user may be
 * an operator, whose change Slurm accepts.
 */
static void handle_change(struct np_shared *shared, job_desc_msg_t *desc,
			  bool single, struct np_change *change)
{
	const struct np_written *written =
		single ? np_shared_find_written(shared, change->id,
						change->task) :
			 NULL;
	struct np_changes *changes = shared->changes;
	bool forbidden = np_changes_forbidden(changes, change->id, change->uid);
	bool too_long = is_longer_than(desc->exc_nodes, NP_CHANGES_MAX_LIST);

	if (desc->exc_nodes && !too_long)
		record_exclusions(desc, written, change);
	if (desc->begin_time)
		record_begin_time(desc, written, change);
	if (too_long && !forbidden)
		np_changes_mark_missed(changes, change->id, change->uid);
	if (forbidden || desc->admin_comment)
		np_changes_mark_doubtful(changes, change->id);
	if ((change->exc_nodes || change->begin_sec) && !forbidden) {
		np_changes_put(changes, change);
	} else {
		free(change->exc_nodes);
		free(change->passed_on);
	}
	if (!forbidden)
		wake_locked(shared);
}

/* Handle an update of the thread, unless others changed the job before it. */
static int handle_own_update(struct np_shared *shared,
			     const struct np_sending *sending)
{
	if (np_changes_overtake(shared->changes, sending) ||
	    np_changes_doubt(shared->changes, sending) > sending->checked)
		return EAGAIN;
	if (sending->written)
		record_recent(shared, sending->written);
	return SLURM_SUCCESS;
}

int np_modify(struct np_shared *shared, job_desc_msg_t *desc, uint32_t uid)
{
	const struct np_sending *sending;
	struct np_change change = { .uid = uid };
	uint64_t sluid = 0;
	int rc = SLURM_SUCCESS;
	bool single;

	if (!desc->exc_nodes && !desc->begin_time && !desc->admin_comment)
		return rc;
	change.id = parse_id(desc, &change.task, &single);
	if (!change.id) {
		sluid = find_sluid(desc);
		single = true;
		if (!sluid)
			return rc;
	}
	pthread_mutex_lock(&shared->lock);
	if (sluid)
		change.id = np_changes_id_of(shared->changes, sluid);
	sending = shared->sending;
	if (!change.id) /* the thread has not seen the job yet */
		np_changes_mark_new_job_missed(shared->changes, uid);
	else if (is_own_update(sending, desc, change.id, change.task, uid))
		rc = handle_own_update(shared, sending);
	else if (uid == geteuid() && np_mono_sec() < shared->late_until_sec &&
		 np_annotation_exists(desc->admin_comment))
		rc = EAGAIN; /* a late update, abandoned by the thread */
	else
		handle_change(shared, desc, single, &change);
	pthread_mutex_unlock(&shared->lock);
	return rc;
}

/* ---- job_submit ---- */

#define HOLD_SEC 10 /* how long a job is held for the next decision */
/* A decision is out of date after the longer of these two times. */
#define STALE_INTERVALS 30 /* multiples of PlacementInterval */
#define STALE_SEC 60
#define MAX_MESSAGE 512	     /* bytes of a line in the log */
#define MAX_LOGGED_NAME 64   /* bytes of a job's name in such a line */
#define MAX_FIELD_BYTES 1024 /* longest text that Slurm accepts later on */
#define MAX_ARRAY_BYTES 4096 /* longest list of array tasks */

/* SPANK passes --netprofile to slurmctld in the job's environment. */
#define SPANK_OPTION "_SLURM_SPANK_OPTION_netprof_netprofile="
#define APP_VARIABLE "NETPROF_APP="
#define MAX_ENV_SEARCHED 65536 /* variables of an environment */

/* Flags of jobs that placement ignores, whatever their application. */
#define IGNORED_FLAGS \
	(NP_JOB_NODELIST | NP_JOB_RESERVATION | NP_JOB_HETEROGENEOUS | \
	 NP_JOB_CONSTRAINT | NP_JOB_URGENT)

/* A submission about which netprof decides. */
struct submission {
	struct np_shared *shared;
	job_desc_msg_t *desc; /* Slurm's description, which we change */
	const struct np_conf *conf;
	const struct np_decision *decision; /* the current one, or NULL */
	int64_t now_sec;
	enum np_mode mode; /* of the partition */
	char app[NP_APP_MAX + 1];
	bool has_name; /* app comes from the submission, not from a rule */
	enum np_auth auth;
	struct np_job job; /* set by describe_job() */
	/* Bitmaps of nodes: those that the user excludes; and those that the
	   job cannot use, because they do not match it or are excluded. */
	uint64_t *user, *excluded;
	char message[MAX_MESSAGE]; /* to log after unlocking; "": none */
	bool wake;		   /* the thread is to be woken */
};

/* ---- job_submit: finding the application ---- */

static const char *find_variable(char **env, uint32_t n, const char *name)
{
	size_t len = strlen(name);

	for (uint32_t i = 0; env && i < n && i < MAX_ENV_SEARCHED; i++)
		if (env[i] && !strncmp(env[i], name, len))
			return env[i] + len;
	return NULL;
}

bool np_submit_app(const job_desc_msg_t *desc, char app[NP_APP_MAX + 1])
{
	const char *option = find_variable(
		desc->spank_job_env, desc->spank_job_env_size, SPANK_OPTION);
	const char *named = option && strcmp(option, "(null)") ? option : NULL;

	if (!named)
		named = find_variable(desc->spank_job_env,
				      desc->spank_job_env_size, APP_VARIABLE);
	if (!named)
		named = find_variable(desc->environment, desc->env_size,
				      APP_VARIABLE);
	if (named && *named)
		return !np_app_check(named, NULL) && strcpy(app, named);
	return option && desc->name && !np_app_from_text(desc->name, app);
}

/* ---- job_submit: reading the description ---- */

/*
 * Whether Slurm will refuse the job because a text is too long. Such a text can
 * be megabytes long, so it must not be parsed here.
 */
static bool will_be_refused(const job_desc_msg_t *desc)
{
	return is_longer_than(desc->name, MAX_FIELD_BYTES) ||
	       is_longer_than(desc->comment, MAX_FIELD_BYTES) ||
	       is_longer_than(desc->features, MAX_FIELD_BYTES) ||
	       is_longer_than(desc->partition, MAX_FIELD_BYTES) ||
	       is_longer_than(desc->array_inx, MAX_ARRAY_BYTES);
}

/* Collect the requirements of a job from its description. */
static struct np_job_requirements
submission_requirements(const job_desc_msg_t *desc)
{
	uint32_t cpus_per_task = np_zero_if_unset16(desc->cpus_per_task);
	struct np_job_requirements required;
	uint64_t cpus;

	required = NP_JOB_REQUIREMENTS(desc, NP_DESC_SEGMENT(desc),
				       desc->min_cpus, desc->min_nodes);
	cpus = required.tasks * (cpus_per_task ? cpus_per_task : 1);
	if (cpus > required.cpus)
		required.cpus = cpus;
	np_job_requirements_set_memory(&required, desc->pn_min_memory);
	return required;
}

/* strtoul(), limited to 32 bits. */
static uint64_t read_number(const char *text, char **end)
{
	unsigned long n = strtoul(text, end, 10);

	return n < UINT32_MAX ? n : UINT32_MAX;
}

/*
 * Count the tasks in a list such as "0-3,8,10-20:2%4"; at least 1. Counting
 * ends at the first error, as Slurm checks the list later.
 */
static uint32_t count_tasks(const char *list)
{
	uint64_t n = 0;

	while (*list && *list != '%') {
		char *end;
		uint64_t from = read_number(list, &end), to = from, step = 1;

		if (end == list)
			break;
		if (*end == '-')
			to = read_number(end + 1, &end);
		if (*end == ':')
			step = read_number(end + 1, &end);
		if (to >= from && step)
			n += (to - from) / step + 1;
		if (*end != ',')
			break;
		list = end + 1;
	}
	return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Whether the job fails if it does not start in time, or at once. */
static bool is_urgent(const job_desc_msg_t *desc)
{
	return (desc->deadline && desc->deadline != NO_VAL) ||
	       np_zero_if_unset16(desc->immediate);
}

/* Derive flags of struct np_job from the description alone. */
static unsigned request_flags(const job_desc_msg_t *desc)
{
	unsigned flags = 0;

	if (desc->req_nodes && *desc->req_nodes)
		flags |= NP_JOB_NODELIST;
	if (desc->reservation && *desc->reservation)
		flags |= NP_JOB_RESERVATION;
	if (desc->het_job_offset != NO_VAL)
		flags |= NP_JOB_HETEROGENEOUS;
	if (is_urgent(desc))
		flags |= NP_JOB_URGENT;
	return flags;
}

/* Derive the flags for the snapshot. */
static unsigned snapshot_flags(const job_desc_msg_t *desc,
			       const struct np_cluster_map *map, int partition)
{
	bool shares = desc->shared != JOB_SHARED_NONE &&
		      desc->shared != JOB_SHARED_TOPO &&
		      map->part[partition].shares_nodes;

	return request_flags(desc) | (shares ? NP_JOB_SHARES_NODES : 0);
}

/*
 * Find the index of the job's profile, and set submission->auth. The account is
 * unknown (NULL) if the user gave none: Slurm sets the default one only later.
 */
static int32_t find_profile(struct submission *submission, int partition)
{
	const struct np_auth_request who = {
		.uid = submission->desc->user_id,
		.account = submission->desc->account &&
					 *submission->desc->account ?
				   submission->desc->account :
				   NULL,
		.partition = submission->decision->map->part[partition].name,
	};

	return np_app_index_of_job(submission->decision->index, submission->app,
				   &who, &submission->auth);
}

/* Set submission->job. Returns 0, or -errno if the job is to be ignored. */
static int describe_job(struct submission *submission)
{
	const struct np_cluster_map *map = submission->decision->map;
	const job_desc_msg_t *desc = submission->desc;
	size_t words = map->words;
	struct np_job_requirements required = submission_requirements(desc);
	struct np_job_fit fit;
	int rc = np_cluster_map_fit(map, &required, submission->excluded, &fit);

	if (rc)
		return rc;
	submission->job = (struct np_job){
		.owner = desc->user_id,
		.state = NP_JOB_READY,
		.mode = submission->mode,
		.partition = (uint16_t)fit.partition,
		.flags = snapshot_flags(desc, map, fit.partition),
		.profile = find_profile(submission, fit.partition),
		.tasks = desc->array_inx ? count_tasks(desc->array_inx) : 1,
		.array = desc->array_inx ? 1 : 0,
		.nodes_min = fit.min_nodes,
		.switches = np_zero_if_unset(desc->req_switch),
		.submit_sec = submission->now_sec,
		.eligible_sec = desc->begin_time > submission->now_sec ?
					desc->begin_time :
					0,
		.candidates = submission->decision->set[fit.partition],
	};
	if (submission->auth == NP_AUTH_OWN_JOBS)
		submission->job.flags |= NP_JOB_UNPROVED;
	if (!desc->priority)
		submission->job.state = NP_JOB_WAITING; /* held */
	if (fit.undetermined ||
	    is_longer_than(desc->exc_nodes, NP_ANNOTATION_MAX_USER) ||
	    np_cluster_map_parse_hostlist(map, desc->exc_nodes,
					  submission->user))
		submission->job.flags |= NP_JOB_CONSTRAINT;
	/* So far, excluded[] contains the nodes that match. */
	for (size_t w = 0; w < words; w++)
		submission->excluded[w] = submission->user[w] |
					  ~submission->excluded[w];
	np_bits_trim(submission->excluded, map->n_nodes);
	return 0;
}

/* ---- job_submit: writing into the description ---- */

/* Write the annotation into the description, unless it would be empty. */
static void write_annotation(struct submission *submission,
			     struct np_annotation *annotation)
{
	char *text;

	if (submission->has_name)
		strcpy(annotation->app, submission->app);
	if (!annotation->app[0] && !annotation->decided)
		return;
	text = np_annotation_write(submission->desc->admin_comment, annotation);
	if (text)
		np_ctl_set_string(&submission->desc->admin_comment, text);
	free(text);
}

/* Hold the job until until_sec, or the user's begin time if that is later. */
static void hold_until(struct submission *submission,
		       struct np_annotation *annotation, int64_t until_sec)
{
	int64_t begin = submission->desc->begin_time > submission->now_sec ?
				submission->desc->begin_time :
				0;

	annotation->begin_sec = begin;
	annotation->until_sec = until_sec > begin ? until_sec : begin;
	submission->desc->begin_time = annotation->until_sec;
}

/* Copy the user's excluded nodes to the annotation. Returns 0 or -ENOMEM. */
static int annotate_user_list(const struct submission *submission,
			      struct np_annotation *annotation)
{
	if (!submission->desc->exc_nodes || !*submission->desc->exc_nodes)
		return 0;
	annotation->user = strdup(submission->desc->exc_nodes);
	return annotation->user ? 0 : -ENOMEM;
}

/* Exclude all nodes of leaves that are not open. Returns 0 or -ENOMEM. */
static int exclude_leaves(struct submission *submission,
			  struct np_annotation *annotation,
			  const uint64_t *open)
{
	char *joined;

	annotation->ours =
		np_cluster_map_format_closed(submission->decision->map, open);
	if (!annotation->ours)
		return -ENOMEM;
	joined = np_annotation_join_lists(annotation->user, annotation->ours);
	if (!joined)
		return -ENOMEM;
	np_ctl_set_string(&submission->desc->exc_nodes, joined);
	free(joined);
	return 0;
}

/*
 * Write an outcome into the description. When out of memory, only the name of
 * the application is written.
 */
static void write_outcome(struct submission *submission,
			  const struct np_outcome *outcome)
{
	struct np_annotation annotation = { .decided = outcome->action !=
						       NP_ACT_NONE };
	int rc = annotation.decided ?
			 annotate_user_list(submission, &annotation) :
			 0;

	if (!rc && outcome->action == NP_ACT_RESTRICT)
		rc = exclude_leaves(submission, &annotation, outcome->leaves);
	if (!rc && outcome->action == NP_ACT_HOLD)
		hold_until(submission, &annotation, outcome->until_sec);
	if (rc)
		np_annotation_clear(&annotation);
	write_annotation(submission, &annotation);
	np_annotation_clear(&annotation);
}

/* ---- job_submit: making the decision ---- */

static void set_message(struct submission *submission, const char *message)
{
	snprintf(submission->message, sizeof(submission->message), "%s",
		 message);
}

/* Whether the job may start now and is one that others may have to avoid. */
static bool is_admitted(const struct submission *submission,
			const struct np_outcome *outcome)
{
	return submission->mode == NP_MODE_ENFORCE &&
	       (outcome->action == NP_ACT_RESTRICT ||
		(outcome->action == NP_ACT_UNRESTRICTED &&
		 outcome->cause.why != NP_WHY_HARMLESS));
}

/*
 * Handle a user who is not authorised to use the profile name, or not known to
 * be yet. The application counts as unknown, or the job is held until the
 * authorisation is known.
 */
static void deny_name(struct submission *submission, struct np_outcome *outcome)
{
	if (submission->auth != NP_AUTH_PENDING) {
		set_message(submission, "ignored: this user is not authorised "
					"to use that profile name");
	} else if (submission->mode == NP_MODE_ENFORCE &&
		   !(submission->job.flags & IGNORED_FLAGS)) {
		outcome->action = NP_ACT_HOLD;
		outcome->until_sec = submission->now_sec + HOLD_SEC;
		set_message(submission,
			    "held until it is known whether this user is "
			    "authorised to use that profile name");
	} else {
		set_message(submission,
			    "ignored: not known yet whether this user is "
			    "authorised to use that profile name");
	}
}

/*
 * Derive the outcome from the current decision, and set submission->message.
 * Returns 0 or -errno.
 */
static int make_outcome(struct submission *submission,
			struct np_outcome *outcome)
{
	struct np_placement *placement = submission->decision->placement;
	struct np_err err = NP_ERR_INIT;
	int rc = submission->user ? describe_job(submission) : -ENOMEM;

	*outcome = (struct np_outcome){ .action = NP_ACT_NONE };
	if (!rc)
		rc = np_placement_submit(placement, &submission->job,
					 submission->excluded,
					 submission->now_sec, outcome, &err);
	if (rc)
		snprintf(submission->message, sizeof(submission->message),
			 "ignored: %s",
			 err.text[0]   ? err.text :
			 rc == -ENOENT ? "no such partition" :
					 strerror(-rc));
	else
		np_placement_text(placement, &submission->job, outcome,
				  submission->message,
				  sizeof(submission->message));
	if (submission->mode == NP_MODE_ADVISE || !outcome->applied)
		*outcome = (struct np_outcome){ .action = NP_ACT_NONE };
	return rc;
}

/*
 * Decide by the current decision and write the outcome. While the thread is
 * busy, a job that others may have to avoid is held until its pass ends.
 */
static void decide_submission(struct submission *submission)
{
	struct np_outcome outcome;
	int rc = make_outcome(submission, &outcome);

	if (is_admitted(submission, &outcome) && !submission->shared->busy) {
		submission->shared->admitted_sec = np_mono_sec();
	} else if (is_admitted(submission, &outcome)) {
		/* The thread does not know this job, and may be about to give
		   its leaves to another one. */
		outcome.action = NP_ACT_HOLD;
		outcome.until_sec = submission->now_sec + HOLD_SEC;
		set_message(submission,
			    "held for the decision that is being made");
	}
	if (!rc && !np_auth_counts(submission->auth))
		deny_name(submission, &outcome);
	write_outcome(submission, &outcome);
	submission->wake = outcome.action == NP_ACT_HOLD;
}

static bool is_stale(const struct submission *submission)
{
	double limit = STALE_INTERVALS * submission->conf->place.interval_sec;

	return (double)(submission->now_sec - submission->decision->now_sec) >
	       (limit > STALE_SEC ? limit : STALE_SEC);
}

/* Whether an annotation can contain the nodes that the user excludes. */
static bool can_annotate(const job_desc_msg_t *desc)
{
	return !is_longer_than(desc->exc_nodes, NP_ANNOTATION_MAX_USER) &&
	       !(desc->exc_nodes && strpbrk(desc->exc_nodes, "{}"));
}

/*
 * Without a valid decision, hold the job if one is expected soon, unless that
 * would ignore it.
 */
static void submit_without_decision(struct submission *submission,
				    bool starting)
{
	struct np_outcome outcome = { .action = NP_ACT_NONE };

	if (starting && submission->mode == NP_MODE_ENFORCE &&
	    !(request_flags(submission->desc) & IGNORED_FLAGS) &&
	    !submission_requirements(submission->desc).undetermined &&
	    can_annotate(submission->desc)) {
		outcome.action = NP_ACT_HOLD;
		outcome.until_sec = submission->now_sec + HOLD_SEC;
		set_message(
			submission,
			"held for the first decision since slurmctld started");
	} else {
		set_message(submission, "ignored: there is no recent decision");
	}
	write_outcome(submission, &outcome);
	submission->wake = starting;
}

/*
 * Set submission->app and submission->mode. Returns whether the job matters to
 * placement. In a partition with mode off, a job matters if placement is on in
 * another partition: it loads the network once it runs, so its annotation must
 * contain its application. The same applies to jobs submitted before there are
 * settings, because the thread decides about them later and finds the name
 * nowhere else.
 */
static bool is_relevant(struct submission *submission)
{
	const struct np_place_conf *conf = &submission->conf->place;
	const char *partition = submission->desc->partition;
	const char *by_rule;

	if (submission->decision) {
		int i = np_cluster_map_partition(submission->decision->map,
						 partition);

		if (i >= 0)
			partition = submission->decision->map->part[i].name;
	}
	submission->mode = np_place_conf_mode(conf, partition);
	/* Jobs of scrontab cannot be updated later. */
	if ((submission->mode == NP_MODE_OFF && !np_place_conf_enabled(conf) &&
	     submission->shared->has_conf) ||
	    submission->desc->bitflags & CRON_JOB)
		return false;
	submission->has_name = np_submit_app(submission->desc, submission->app);
	by_rule = submission->has_name ?
			  NULL :
			  np_place_conf_app(conf, submission->desc->name,
					    submission->desc->comment);
	if (!submission->has_name)
		snprintf(submission->app, sizeof(submission->app), "%s",
			 by_rule ? by_rule : "");
	return submission->app[0];
}

/* Write only the name of the application. */
static void annotate_name(struct submission *submission)
{
	const struct np_outcome outcome = { .action = NP_ACT_NONE };

	write_outcome(submission, &outcome);
}

static void log_decision(const struct submission *submission)
{
	np_ctl_info("submission by uid %u of \"%.*s\" (%s): %s",
		    submission->desc->user_id, MAX_LOGGED_NAME,
		    submission->desc->name ? submission->desc->name : "",
		    submission->app, submission->message);
}

/* Decide if there is a recent decision; otherwise hold or ignore the job. */
static void decide_or_wait(struct submission *submission, bool starting)
{
	size_t words; /* of a bitmap of nodes */

	if (!submission->decision || is_stale(submission)) {
		submit_without_decision(submission,
					starting && !submission->decision);
		return;
	}
	words = submission->decision->map->words;
	submission->user = calloc(2 * words, sizeof(*submission->user));
	if (submission->user)
		submission->excluded = submission->user + words;
	decide_submission(submission);
	free(submission->user);
}

void np_submit(struct np_shared *shared, job_desc_msg_t *desc, int64_t now_sec,
	       bool starting)
{
	struct submission submission = { .shared = shared,
					 .desc = desc,
					 .now_sec = now_sec };

	if (will_be_refused(desc))
		return;
	pthread_mutex_lock(&shared->lock);
	submission.conf = &shared->conf;
	submission.decision = shared->decision;
	if (is_relevant(&submission)) {
		if (submission.mode == NP_MODE_OFF)
			annotate_name(&submission);
		else
			decide_or_wait(&submission, starting);
	}
	if (submission.wake)
		wake_locked(shared);
	pthread_mutex_unlock(&shared->lock);
	if (submission.message[0])
		log_decision(&submission);
}
