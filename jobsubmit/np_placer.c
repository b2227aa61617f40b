/*
 * Makes a scheduling pass: reads Slurm's state and the store, decides, writes
 * the decision into the jobs, publishes it to the callbacks, and saves it.
 */
#include "np_placer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "np_apply.h"
#include "np_array.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_loader.h"
#include "np_store_reader.h"
#include "np_text.h"
#include "np_topo.h"

#include <slurm/slurmdb.h>

/* ---- Is this slurmctld the active controller? ---- */

#define REREAD_SEC 60 /* how often slurm.conf is read, in case it changes */
#define KEEP_SEC 600  /* how long it is used if reading it fails */

/* Whether two names, with or without a domain, are of the same host. */
static bool is_same_host(const char *a, const char *b)
{
	size_t len_a = strcspn(a, "."), len_b = strcspn(b, ".");

	return len_a == len_b && !memcmp(a, b, len_a) &&
	       (!a[len_a] || !b[len_b] || !strcmp(a + len_a, b + len_b));
}

int np_controller_read_conf(struct np_controller *controller,
			    const slurm_conf_t *conf, struct np_err *err)
{
	controller->index = -1;
	for (uint32_t i = 0; i < conf->control_cnt; i++)
		if (conf->control_machine[i] &&
		    is_same_host(conf->control_machine[i], controller->host))
			controller->index = (int)i;
	controller->alone = conf->control_cnt <= 1;
	if (controller->alone)
		controller->index = 0;
	controller->whole_nodes = conf->select_type &&
				  !strcmp(conf->select_type, "select/linear");
	controller->private_jobs = conf->private_data & PRIVATE_DATA_JOBS;
	snprintf(controller->cluster, sizeof(controller->cluster), "%s",
		 conf->cluster_name ? conf->cluster_name : "");
	if (controller->index < 0)
		return np_errf(err, -EAGAIN,
			       "SlurmctldHost in slurm.conf does not name this "
			       "host, %s",
			       controller->host);
	return 0;
}

/*
 * Whether this cluster is in a federation. There Slurm passes what job_submit
 * writes into a job, and every update of a pending job, on to other clusters,
 * whose nodes have other names, or are other nodes with the same names.
 */
static bool is_federated(void)
{
	slurmdb_federation_rec_t *federation = NULL;
	bool found = !slurm_load_federation((void **)&federation) &&
		     federation && federation->name;

	slurm_destroy_federation_rec(federation);
	return found;
}

/* Whether slurm.conf was read less than sec seconds before now_sec. */
static bool was_read(const struct np_controller *controller, double now_sec,
		     double sec)
{
	return controller->conf_read_sec &&
	       now_sec - controller->conf_read_sec < sec;
}

/*
 * Ask slurmctld for slurm.conf. If that fails, *conf remains NULL, and the last
 * answer is used for up to KEEP_SEC.
 */
static int load_slurm_conf(struct np_controller *controller, double now_sec,
			   slurm_conf_t **conf, struct np_err *err)
{
	if (!slurm_load_ctl_conf(0, conf)) {
		controller->failing = false;
		return 0;
	}
	np_errf(err, -EAGAIN, "slurm_load_ctl_conf: %s", slurm_strerror(errno));
	if (!was_read(controller, now_sec, KEEP_SEC))
		return -EAGAIN;
	if (!controller->failing)
		np_ctl_info("%s: the settings of slurm.conf read before stay "
			    "in use",
			    err->text);
	controller->failing = true;
	err->text[0] = '\0';
	return 0;
}

int np_controller_refresh(struct np_controller *controller, double now_sec,
			  struct np_err *err)
{
	slurm_conf_t *conf = NULL;
	int rc;

	if (was_read(controller, now_sec, REREAD_SEC))
		return 0;
	if (gethostname(controller->host, sizeof(controller->host) - 1))
		return np_errf(err, -EAGAIN, "gethostname: %s",
			       strerror(errno));
	rc = load_slurm_conf(controller, now_sec, &conf, err);
	if (!conf)
		return rc;
	rc = np_controller_read_conf(controller, conf, err);
	np_free_conf(conf);
	if (!rc && is_federated())
		rc = np_errf(
			err, -EAGAIN,
			"this cluster is in a federation: placement is off");
	if (!rc)
		controller->conf_read_sec = now_sec;
	return rc;
}

/*
 * Check by RPCs whether this is the active controller. Returns 0, or -EAGAIN
 * with err if it is not or does not answer.
 */
static int check_controller(struct np_controller *controller,
			    struct np_err *err)
{
	int rc = np_controller_refresh(controller, np_mono_sec(), err);

	if (rc || controller->alone)
		return rc;
	if (slurm_ping(controller->index))
		return np_errf(err, -EAGAIN,
			       "this controller does not answer yet");
	for (int i = 0; i < controller->index; i++)
		if (!slurm_ping(i)) {
			controller->other_active = true;
			return np_errf(err, -EAGAIN,
				       "standby: controller %d answers", i);
		}
	return 0;
}

/* ---- Settings of netprof.conf ---- */

/* One hold lasts the longer of these times. See np_policy.hold_step_sec. */
#define MIN_STEP_SEC 30
#define STEP_INTERVALS 10 /* multiples of PlacementInterval */
/*
 * A file in error is read again after RETRY_SEC, or after RETRY_TIMES times as
 * long as it took to parse it, if that is longer.
 */
#define RETRY_SEC 60
#define RETRY_TIMES 20

void np_settings_init(struct np_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	np_conf_init(&settings->conf);
}

void np_settings_free(struct np_settings *settings)
{
	if (settings->worker)
		np_worker_free(settings->worker, NULL, NULL);
	settings->worker = NULL;
}

/*
 * A read of netprof.conf, which is skipped if the file has not changed. The
 * worker frees it if the caller gives up.
 */
struct conf_reading {
	bool read;  /* the file was read before */
	bool again; /* read it also if it has not changed */
	/*
	 * Modification time and size: of the file read before, then of this
	 * one.
	 */
	struct timespec changed;
	off_t size;
	bool is_new; /* the members below are set */
	char *text;  /* as np_conf_read() */
	ssize_t len;
	struct np_err err;
};

/*
 * Get the modification time and size of netprof.conf; 0: there is none. Returns
 * whether they have changed.
 */
static bool stamp_changed(struct conf_reading *reading)
{
	struct stat st = { 0 };
	bool changed;

	if (stat(np_conf_path(), &st))
		memset(&st, 0, sizeof(st));
	changed = st.st_size != reading->size ||
		  st.st_mtim.tv_sec != reading->changed.tv_sec ||
		  st.st_mtim.tv_nsec != reading->changed.tv_nsec;
	reading->size = st.st_size;
	reading->changed = st.st_mtim;
	return changed;
}

/* Whether somebody may still be writing the file. */
static bool is_unsettled(const struct conf_reading *reading)
{
	double changed_sec = (double)reading->changed.tv_sec +
			     1e-9 * (double)reading->changed.tv_nsec;

	return fabs(np_date_sec() - changed_sec) < NP_SETTINGS_SETTLE_SEC;
}

/* Runs in the worker's thread. */
static void read_conf(void *arg)
{
	struct conf_reading *reading = arg;
	bool changed = stamp_changed(reading);

	if (reading->read &&
	    ((!changed && !reading->again) || is_unsettled(reading)))
		return;
	reading->len = np_conf_read(&reading->text, &reading->err);
	reading->is_new = !reading->read || !stamp_changed(reading);
}

static void drop_conf(void *arg)
{
	struct conf_reading *reading = arg;

	free(reading->text);
	free(reading);
}

/* Make the settings from what was read. Returns whether they were replaced. */
static bool adopt_conf(struct np_settings *settings,
		       struct conf_reading *reading)
{
	double begin_sec = np_mono_sec(), took_sec;
	struct np_conf conf;

	settings->read = true;
	settings->hangs = false;
	settings->size = reading->size;
	settings->changed = reading->changed;
	settings->trouble = reading->err;
	np_conf_init(&conf);
	conf.for_step = settings->conf.for_step;
	if (reading->len < 0 ||
	    np_conf_from_text(&conf, reading->text, (size_t)reading->len,
			      &settings->trouble)) {
		took_sec = np_mono_sec() - begin_sec;
		settings->retry_sec = begin_sec + took_sec +
				      fmax(RETRY_SEC, RETRY_TIMES * took_sec);
		return false;
	}
	settings->conf = conf;
	settings->valid = true;
	return true;
}

/* Report a file system that has not answered for a long time. */
static void check_hanging(struct np_settings *settings,
			  const struct np_deadlines *deadlines)
{
	if (np_worker_busy_sec(settings->worker) < deadlines->report_sec)
		return;
	settings->hangs = true;
	np_errf(&settings->trouble, -ETIMEDOUT,
		"%s: its file system has not answered for %.0f s: %s",
		np_conf_path(), deadlines->report_sec,
		settings->read ? "the settings read before stay in use" :
				 "placement is off");
}

bool np_settings_refresh(struct np_settings *settings,
			 const struct np_deadlines *deadlines)
{
	struct conf_reading *reading;
	bool replaced = false;

	if (!settings->worker && np_worker_new(true, &settings->worker)) {
		np_errf(&settings->trouble, -ENOMEM,
			"the thread that reads netprof.conf cannot be started");
		return false;
	}
	if (np_worker_busy_sec(settings->worker) > 0) {
		check_hanging(settings, deadlines);
		return false;
	}
	reading = calloc(1, sizeof(*reading));
	if (!reading)
		return false;
	reading->read = settings->read && !settings->hangs;
	reading->again = settings->trouble.text[0] &&
			 np_mono_sec() >= settings->retry_sec;
	reading->size = settings->size;
	reading->changed = settings->changed;
	if (!np_worker_do(settings->worker,
			  &(struct np_work){ read_conf, drop_conf, reading },
			  deadlines->wait_sec))
		return false;
	if (reading->is_new)
		replaced = adopt_conf(settings, reading);
	drop_conf(reading);
	return replaced;
}

void np_settings_share(const struct np_settings *settings,
		       struct np_shared *shared)
{
	np_shared_configure(shared, settings->valid ? &settings->conf : NULL);
}

void np_settings_policy(const struct np_settings *settings,
			const struct np_app_index *index,
			struct np_policy *policy)
{
	const struct np_place_conf *conf = &settings->conf.place;
	double step = STEP_INTERVALS * conf->interval_sec;

	np_policy_init(policy);
	policy->max_slowdown = conf->max_slowdown;
	policy->max_hold_sec = conf->max_hold_sec;
	policy->hold_step_sec = step > MIN_STEP_SEC ? step : MIN_STEP_SEC;
	policy->modes = 1u << conf->mode;
	for (size_t i = 0; i < conf->n_partitions; i++)
		policy->modes |= 1u << conf->partition[i].mode;
	policy->unknown_as = np_app_index_unknown(index);
}

/* ---- Log lines ---- */

#define MAX_LINE_BYTES 512
#define MAX_LINES_PER_HOUR 5 /* about one job */
#define HOUR_SEC 3600

/*
 * Compute a digest of a decision, without the times of a hold. It is never 0,
 * which means that no decision was logged.
 */
static uint64_t hash_decision(const struct np_job_snapshot *jobs,
			      const struct np_outcome *outcome)
{
	const uint64_t parts[] = { outcome->action, outcome->cause.why,
				   outcome->cause.other, outcome->cause.leaf,
				   outcome->tasks };
	uint64_t hash = np_hash(NP_HASH, parts, sizeof(parts));

	if (outcome->action == NP_ACT_RESTRICT)
		hash = np_hash(hash, outcome->leaves,
			       sizeof(*outcome->leaves) *
				       jobs->map->leaves->words);
	return hash ? hash : 1;
}

/*
 * Count one more line about a job. Returns whether it exceeds the limit per
 * hour, which exists because the decision about a job may keep changing.
 */
static bool exceeds_line_limit(struct np_cached_job *cached, int64_t now_sec)
{
	int64_t hour = now_sec / HOUR_SEC;

	if (cached->logged_hour != hour)
		cached->n_logged = 0;
	cached->logged_hour = hour;
	return ++cached->n_logged > MAX_LINES_PER_HOUR;
}

size_t np_state_log_decisions(const struct np_job_snapshot *jobs,
			      const struct np_placement *placement,
			      struct np_job_cache *cache)
{
	size_t n_changed = 0;

	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		const struct np_outcome *outcome = np_outcome_of(placement, i);
		struct np_cached_job *cached;
		char line[MAX_LINE_BYTES];
		uint64_t digest;

		if (entry->in->state == NP_JOB_RUNNING ||
		    entry->in->mode == NP_MODE_OFF || !entry->app[0])
			continue;
		cached = np_job_cache_find(cache, entry->id);
		digest = hash_decision(jobs, outcome);
		if (!cached || cached->logged == digest)
			continue;
		cached->logged = digest;
		n_changed++;
		if (exceeds_line_limit(cached, jobs->now_sec))
			continue;
		np_placement_text(placement, entry->in, outcome, line,
				  sizeof(line));
		np_ctl_info("JobId=%u (%s): %s%s", entry->id, entry->app, line,
			    cached->n_logged == MAX_LINES_PER_HOUR ?
				    " (no more lines about it in this hour)" :
				    "");
	}
	return n_changed;
}

void np_state_set_trouble(int rc, const struct np_err *why,
			  struct np_err *trouble)
{
	if (rc && why->text[0])
		*trouble = *why;
	else if (rc)
		np_errf(trouble, rc, "no decision: %s", strerror(-rc));
}

void np_state_log_trouble(struct np_err *logged, const struct np_err *trouble)
{
	if (!strcmp(logged->text, trouble->text))
		return;
	if (trouble->text[0])
		np_ctl_error("%s", trouble->text);
	else
		np_ctl_info("placement works fully again");
	*logged = *trouble;
}

/* ---- Denied names ---- */

/* Find the index of a denial. Returns denials->n if there is none. */
static size_t find_denied(const struct np_denials *denials, uint32_t uid,
			  const char *app)
{
	size_t i = 0;

	while (i < denials->n && (denials->entry[i].uid != uid ||
				  strcmp(denials->entry[i].app, app)))
		i++;
	return i;
}

/*
 * Whether the list has room for one more denial of a user, who may not have more
 * entries than are left for others.
 */
static bool has_room_for_denial(const struct np_denials *denials, uint32_t uid)
{
	size_t n_own = 0;

	for (size_t i = 0; i < denials->n; i++)
		n_own += denials->entry[i].uid == uid;
	return n_own < NP_DENIED_MAX - denials->n;
}

/* Make the denial of a job's profile name to its user. */
static struct np_denied make_denial(const struct np_job_entry *entry,
				    const struct np_app_index *index)
{
	struct np_denied denied = { .uid = entry->in->owner,
				    .auth = entry->auth };

	strcpy(denied.app, entry->app);
	snprintf(denied.why, sizeof(denied.why), "%s%s",
		 denied.auth == NP_AUTH_CONTRADICTED ?
			 "own runs contradict it: " :
			 "",
		 np_app_index_why(index, denied.app, denied.uid, denied.auth));
	return denied;
}

void np_denials_collect(const struct np_job_snapshot *jobs,
			const struct np_app_index *index,
			struct np_denials *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		size_t i_denial;

		if (np_auth_counts(entry->auth))
			continue;
		i_denial = find_denied(out, entry->in->owner, entry->app);
		if (i_denial == out->n &&
		    !has_room_for_denial(out, entry->in->owner)) {
			out->n_more++;
			continue;
		}
		if (i_denial == out->n)
			out->entry[out->n++] = make_denial(entry, index);
		out->entry[i_denial].n_jobs++;
	}
}

/* Find a denial among the logged ones. Returns logged->n if there is none. */
static size_t find_logged(const struct np_logged_denials *logged, uint32_t uid,
			  const char *app)
{
	size_t i = 0;

	while (i < logged->n && (logged->entry[i].uid != uid ||
				 strcmp(logged->entry[i].app, app)))
		i++;
	return i;
}

/*
 * Record that a denial was logged, at the index i that find_logged() returned.
 * If the list is full, a new denial replaces the oldest one.
 */
static void record_logged(struct np_logged_denials *logged, size_t i,
			  const struct np_denied *denied)
{
	bool is_new = i == logged->n;

	if (is_new && logged->n < NP_DENIED_KEEP) {
		logged->n++;
	} else if (is_new) {
		i = logged->next;
		logged->next = (i + 1) % NP_DENIED_KEEP;
	}
	logged->entry[i].uid = denied->uid;
	logged->entry[i].auth = denied->auth;
	strcpy(logged->entry[i].app, denied->app);
}

/*
 * Forget logged denials of names that are authorised now, so that they are
 * logged again if they recur.
 */
static void forget_authorised(const struct np_job_snapshot *jobs,
			      const struct np_denials *denials,
			      struct np_logged_denials *logged)
{
	for (size_t i = 0; logged->n && i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		size_t i_logged;

		if (!np_auth_counts(entry->auth) || !entry->app[0])
			continue;
		i_logged = find_logged(logged, entry->in->owner, entry->app);
		/* Authorisation may depend on account or partition, so that
		   one job of a user is denied and another is not. */
		if (i_logged < logged->n &&
		    find_denied(denials, entry->in->owner, entry->app) ==
			    denials->n) {
			logged->entry[i_logged] = logged->entry[--logged->n];
			logged->next = 0;
		}
	}
}

size_t np_denials_log(const struct np_job_snapshot *jobs,
		      const struct np_denials *denials,
		      struct np_logged_denials *logged)
{
	size_t n_logged = 0;

	forget_authorised(jobs, denials, logged);
	for (size_t i = 0; i < denials->n; i++) {
		const struct np_denied *denial = &denials->entry[i];
		size_t i_logged = find_logged(logged, denial->uid, denial->app);

		if (i_logged < logged->n &&
		    logged->entry[i_logged].auth == denial->auth)
			continue;
		record_logged(logged, i_logged, denial);
		np_ctl_info("uid %u may not use the profile name \"%s\": %s; "
			    "its jobs of that name count as unknown",
			    denial->uid, denial->app, denial->why);
		n_logged++;
	}
	return n_logged;
}

/* ---- state.json ---- */

/* Arguments of add_cause(). */
struct causes {
	const struct np_job_snapshot *jobs;
	const struct np_job_entry **sorted; /* jobs->job[], sorted by id */
	struct np_state_job *out;
};

static int compare_ids(const void *a, const void *b)
{
	const struct np_job_entry *const *x = a, *const *y = b;

	return np_order_u32(&(*x)->id, &(*y)->id);
}

/* Return pointers to the jobs, sorted by id, or NULL when out of memory. */
static const struct np_job_entry **
sort_jobs_by_id(const struct np_job_snapshot *jobs)
{
	const struct np_job_entry **entry =
		calloc(jobs->n_jobs + 1, sizeof(*entry));

	for (size_t i = 0; entry && i < jobs->n_jobs; i++)
		entry[i] = &jobs->job[i];
	if (entry)
		qsort(entry, jobs->n_jobs, sizeof(*entry), compare_ids);
	return entry;
}

/* Find the application of a job by its id. Returns "" if it is unknown. */
static const char *find_app(const struct causes *causes, uint32_t id)
{
	const struct np_job_entry job = { .id = id }, *key = &job;
	const struct np_job_entry **found =
		bsearch(&key, causes->sorted, causes->jobs->n_jobs,
			sizeof(*causes->sorted), compare_ids);

	return found ? (*found)->app : "";
}

/* A np_placement_cause_fn: append a cause to a job. */
static void add_cause(void *arg, const struct np_cause *cause)
{
	struct causes *causes = arg;
	struct np_state_job *job = causes->out;

	if (job->n_causes == NP_STATE_MAX_CAUSES || cause->leaf == NP_NO_LEAF)
		return;
	if (!job->cause)
		job->cause = calloc(NP_STATE_MAX_CAUSES, sizeof(*job->cause));
	if (!job->cause)
		return;
	job->cause[job->n_causes++] = (struct np_state_cause){
		.leaf = strdup(
			causes->jobs->map->leaves->switch_name[cause->leaf]),
		.other = cause->other,
		.other_app = strdup(find_app(causes, cause->other)),
		.victim = cause->victim_self ? job->id : cause->victim,
		.slowdown = cause->slowdown,
	};
}

static const char *const action_names[] = {
	[NP_ACT_NONE] = "none",
	[NP_ACT_UNRESTRICTED] = "unrestricted",
	[NP_ACT_RESTRICT] = "restricted",
	[NP_ACT_HOLD] = "held",
};

/* Fill in the decision about a pending job. */
static void fill_pending(struct causes *causes,
			 const struct np_placement *placement, size_t i,
			 struct np_state_job *out)
{
	const struct np_outcome *outcome = np_outcome_of(placement, i);
	const struct np_job_snapshot *jobs = causes->jobs;
	char line[MAX_LINE_BYTES];

	causes->out = out;
	out->action = strdup(action_names[outcome->action]);
	out->applied = outcome->applied;
	out->until = (double)outcome->until_sec;
	out->held_sec = outcome->held_sec;
	out->text =
		strdup(!np_auth_counts(jobs->job[i].auth) ?
			       "ignored: its user is not authorised to use "
			       "that profile name; see netprof status" :
			       np_placement_text(placement, jobs->job[i].in,
						 outcome, line, sizeof(line)));
	if (outcome->action == NP_ACT_RESTRICT)
		out->leaves =
			np_cluster_map_leaf_names(jobs->map, outcome->leaves);
	if (outcome->action == NP_ACT_RESTRICT ||
	    outcome->action == NP_ACT_HOLD)
		np_placement_causes(placement, i, add_cause, causes);
}

/* Fill in one job, pending or running. */
static void fill_job(struct causes *causes,
		     const struct np_placement *placement, size_t i,
		     struct np_state_job *out)
{
	const struct np_job_snapshot *jobs = causes->jobs;
	const struct np_job_entry *entry = &jobs->job[i];
	const struct np_job *job = entry->in;
	uint32_t *switches;
	size_t n_switches = 0;

	*out = (struct np_state_job){
		.id = entry->id,
		.array = entry->array,
		.task = entry->task,
		.uid = job->owner,
		.app = strdup(entry->app),
		.known = job->profile >= 0,
		.partition =
			strdup(entry->partition < 0 ?
				       "" :
				       jobs->map->part[entry->partition].name),
		.mode = strdup(np_mode_name(job->mode)),
		.pending = job->state != NP_JOB_RUNNING,
		.n_nodes = entry->n_nodes,
		.held_sec = entry->annotation.held_sec,
	};
	if (out->pending) {
		fill_pending(causes, placement, i, out);
		return;
	}
	out->start = (double)job->start_sec;
	switches = calloc(jobs->map->leaves->n_switches + 1, sizeof(*switches));
	if (switches)
		n_switches = np_leaves_switches(jobs->map->leaves, job->leaf,
						job->n_leaves, switches);
	out->leaves =
		np_cluster_map_switch_names(jobs->map, switches, n_switches);
	free(switches);
}

static int fill_jobs(const struct np_job_snapshot *jobs,
		     const struct np_placement *placement,
		     struct np_state *state)
{
	struct causes causes = { .jobs = jobs,
				 .sorted = sort_jobs_by_id(jobs) };

	state->job = calloc(jobs->n_jobs + 1, sizeof(*state->job));
	if (!state->job || !causes.sorted) {
		free(causes.sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < jobs->n_jobs; i++)
		if (jobs->job[i].app[0])
			fill_job(&causes, placement, i,
				 &state->job[state->n_jobs++]);
	free(causes.sorted);
	return 0;
}

/* Count the jobs running on each leaf. */
static void count_jobs(const struct np_job_snapshot *jobs,
		       struct np_state *state)
{
	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job *job = jobs->job[i].in;

		for (size_t k = 0; k < job->n_leaves; k++) {
			state->leaf[job->leaf[k]].n_jobs++;
			state->leaf[job->leaf[k]].n_known += job->profile >= 0;
		}
	}
}

static int fill_leaves(const struct np_job_snapshot *jobs,
		       const struct np_placement *placement,
		       struct np_state *state)
{
	const struct np_leaves *leaves = jobs->map->leaves;

	state->leaf = calloc(leaves->n + 1, sizeof(*state->leaf));
	if (!state->leaf)
		return -ENOMEM;
	state->n_leaves = leaves->n;
	for (size_t i = 0; i < leaves->n; i++) {
		struct np_state_leaf *out = &state->leaf[i];

		out->name = strdup(leaves->name[i]);
		out->n_nodes = leaves->first[i + 1] - leaves->first[i];
		out->worst_slowdown = np_placement_worst_slowdown(placement, i);
		for (uint32_t k = leaves->first[i]; k < leaves->first[i + 1];
		     k++) {
			out->n_idle += jobs->node[leaves->node[k]] ==
				       NP_NODE_IDLE;
			out->n_unavailable += jobs->node[leaves->node[k]] ==
					      NP_NODE_UNAVAILABLE;
		}
	}
	count_jobs(jobs, state);
	return 0;
}

static int fill_denials(const struct np_denials *denials,
			struct np_state *state)
{
	state->denial = calloc(denials->n + 1, sizeof(*state->denial));
	if (!state->denial)
		return -ENOMEM;
	for (size_t i = 0; i < denials->n; i++)
		state->denial[state->n_denials++] = (struct np_state_denial){
			.uid = denials->entry[i].uid,
			.app = strdup(denials->entry[i].app),
			.n_jobs = denials->entry[i].n_jobs,
			.refuted = denials->entry[i].auth ==
				   NP_AUTH_CONTRADICTED,
			.why = strdup(denials->entry[i].why),
		};
	state->more_denied = denials->n_more;
	return 0;
}

int np_state_make(const struct np_state_input *input,
		  const struct np_job_snapshot *jobs,
		  const struct np_placement *placement, struct np_state *out)
{
	const struct np_place_conf *conf = &input->settings->conf.place;
	char version[NP_LOADER_TEXT];
	struct np_state state = {
		.date = (double)jobs->now_sec,
		.interval_sec = conf->interval_sec,
		.cluster = strdup(input->controller->cluster),
		.slurm_version =
			strdup(np_loader_text(SLURM_VERSION_NUMBER, version)),
		.netprof_version = strdup(NP_VERSION),
		.controller = strdup(input->controller->host),
		.mode = strdup(np_mode_name(conf->mode)),
		.fabric = strdup(input->fabric),
		.trouble = strdup(input->trouble),
		.max_slowdown = conf->max_slowdown,
		.max_hold_sec = conf->max_hold_sec,
		.n_profiles = (uint32_t)input->table->n,
		.decide_sec = input->decide_sec,
	};
	int rc = fill_leaves(jobs, placement, &state);

	if (!rc)
		rc = fill_jobs(jobs, placement, &state);
	if (!rc && input->denied)
		rc = fill_denials(input->denied, &state);
	if (rc)
		np_state_free(&state);
	else
		*out = state;
	return rc;
}

/* Rest per time of work: the thread works a twentieth of the time. */
#define REST_TO_WORK 19
/*
 * Seconds from a submission to the end of the next pass: less than the 10 s for
 * which np_shared.c holds submissions that wait for it.
 */
#define MAX_WAIT_SEC 9

double np_placer_gap_sec(double took_sec, double interval_sec)
{
	double most_sec = fmin(interval_sec, MAX_WAIT_SEC - 2 * took_sec);
	double sec = fmin(REST_TO_WORK * took_sec, most_sec);

	return fmax(fmax(sec, took_sec), NP_PLACER_LEAST_GAP_SEC);
}

/* ---- The passes ---- */

#define MAX_UPDATES 500 /* of jobs, in one pass */
/* Seconds. */
#define READ_SEC 0.5	/* to read the store in one pass */
#define IDLE_SEC 5	/* between two checks of netprof.conf while off */
#define STATE_SEC 5	/* age of state.json at which it is rewritten */
#define OFF_SEC 60	/* between two full passes while placement is off */
#define MISSED_SEC 3600 /* between two lines about missed changes */
#define ARRIVAL_SEC 5	/* longest time from job_submit to a visible job */

/* Times are seconds of CLOCK_MONOTONIC unless noted otherwise. */
struct np_placer {
	struct np_shared *shared;
	struct np_deadlines deadlines;
	struct np_settings settings;
	struct np_controller controller;
	bool is_active;		   /* this is the active controller */
	struct np_err logged_role; /* what was logged about that last */
	struct np_store_reader *store;
	struct np_job_cache *cache;
	struct np_cluster_map *map;
	int64_t last_sec;      /* last decision, seconds since the epoch */
	uint32_t last_id;      /* highest job id in the current decision */
	double state_sec;      /* when state.json was last written */
	double missed_sec;     /* earliest next line about missed changes */
	double idle_until_sec; /* earliest full pass while placement is off */
	struct np_err state_trouble;  /* why state.json was not written */
	struct np_err logged_trouble; /* trouble that was logged last */
	struct np_err logged_warning; /* of the map */
	struct np_logged_denials denied_logged;
	uint64_t jobs_digest; /* of the jobs in the last pass */
};

/* Data of one pass. */
struct pass {
	struct np_ctld_info info;
	struct np_arrivals arrivals;
	uint32_t last_id;	  /* highest job id in info */
	struct np_change *change; /* that users requested since the last pass */
	size_t n_changes;
	bool written;		 /* updating jobs has begun */
	bool incomplete;	 /* not all restrictions were written */
	bool needs_another_pass; /* soon: there are more updates to make */
	struct np_known known;	 /* from the store */
	struct np_job_snapshot jobs;
	struct np_denials denied;
	struct np_placement *placement;
	bool changed; /* decisions or jobs differ from those of the last pass */
	double began_sec;      /* when the pass began */
	double save_sec;       /* when writing the store began; 0: not yet */
	struct np_err trouble; /* trouble that does not prevent a decision */
};

int np_placer_new(struct np_shared *shared,
		  const struct np_deadlines *deadlines, struct np_placer **out)
{
	struct np_placer *placer = calloc(1, sizeof(*placer));

	if (!placer)
		return -ENOMEM;
	placer->shared = shared;
	placer->deadlines = *deadlines;
	np_settings_init(&placer->settings);
	if (np_job_cache_new(&placer->cache) ||
	    np_store_reader_new(deadlines, &placer->store)) {
		np_placer_free(placer);
		return -ENOMEM;
	}
	*out = placer;
	return 0;
}

void np_placer_free(struct np_placer *placer)
{
	if (!placer)
		return;
	np_job_cache_free(placer->cache);
	np_store_reader_free(placer->store);
	np_settings_free(&placer->settings);
	np_cluster_map_unref(placer->map);
	free(placer);
}

/* Log missed changes, once per MISSED_SEC. */
static void log_missed_changes(struct np_placer *placer)
{
	uint32_t uid;
	unsigned n = np_shared_take_missed(placer->shared, &uid);

	if (!n || np_mono_sec() < placer->missed_sec)
		return;
	placer->missed_sec = np_mono_sec() + MISSED_SEC;
	np_ctl_info("update limit exceeded: %u job changes, the first by uid "
		    "%u, are reconstructed from the current job state; limits: "
		    "%d changes by a user between two passes, %d bytes per "
		    "list of nodes",
		    n, uid, NP_CHANGES_OF_USER, NP_CHANGES_MAX_LIST);
}

static void log_skipped(const char *line, void *arg)
{
	(void)arg;
	np_ctl_info("%s", line);
}

/*
 * Read netprof.conf if it has changed. If it is invalid, the last valid
 * settings stay in use. Returns whether the file has changed, even if it is
 * invalid.
 */
static bool read_settings(struct np_placer *placer)
{
	struct timespec before = placer->settings.changed;
	off_t size = placer->settings.size;

	if (np_settings_refresh(&placer->settings, &placer->deadlines)) {
		np_settings_share(&placer->settings, placer->shared);
		np_store_reader_renew(placer->store);
	} else if (placer->settings.trouble.text[0]) {
		/* init() has read the file without the users that it names. */
		np_settings_share(&placer->settings, placer->shared);
	}
	return before.tv_sec != placer->settings.changed.tv_sec ||
	       before.tv_nsec != placer->settings.changed.tv_nsec ||
	       size != placer->settings.size;
}

/*
 * Start over after another controller was active. slurmctld starts and stops
 * being active in one process as often as the other one fails and returns. What
 * is known from the last time is out of date: the time in between is not one
 * interval between two decisions, and the other controller has counted how long
 * jobs were held and has written that into them. When out of memory, the jobs
 * that are known from then are kept.
 */
static void start_over(struct np_placer *placer)
{
	struct np_job_cache *cache;

	placer->controller.other_active = false;
	placer->last_sec = 0;
	if (np_job_cache_new(&cache))
		return;
	np_job_cache_free(placer->cache);
	placer->cache = cache;
}

/* Check whether this is the active controller. Log that, or why not, once. */
static bool check_is_active(struct np_placer *placer)
{
	struct np_err why = NP_ERR_INIT;
	bool is_active = !check_controller(&placer->controller, &why);

	if (is_active)
		np_errf(&why, 0, "in control: placement is active");
	if (strcmp(why.text, placer->logged_role.text))
		np_ctl_info("%s", why.text);
	placer->logged_role = why;
	if (!is_active && placer->is_active)
		np_shared_withdraw(placer->shared);
	/* The first submission after the next takeover counts as the first. */
	if (!is_active && placer->controller.other_active)
		np_shared_restart(placer->shared);
	if (is_active && placer->controller.other_active)
		start_over(placer);
	placer->is_active = is_active;
	return is_active;
}

/* Request the profiles of all jobs. Returns whether any is a new request. */
static bool request_profiles(struct np_placer *placer,
			     const job_info_msg_t *jobs)
{
	bool any_new = false;

	for (uint32_t i = 0; i < jobs->record_count; i++) {
		const slurm_job_info_t *job = &jobs->job_array[i];
		char app[NP_APP_MAX + 1];

		if (np_job_snapshot_app(&placer->settings.conf.place, job, app))
			any_new |= np_store_reader_expect_job(
				placer->store, app, job->user_id);
	}
	return any_new;
}

/*
 * Open the store, and request the profiles that the first decision needs.
 * Returns 0 or -errno.
 */
static int open_store(struct np_placer *placer, struct np_err *err)
{
	struct np_ctld_info info;
	int rc = np_ctld_info_load(&info, err);

	if (rc)
		return rc;
	rc = np_store_reader_open(placer->store, &placer->settings.conf,
				  placer->controller.cluster, err);
	if (!rc)
		request_profiles(placer, info.jobs);
	np_ctld_info_free(&info);
	return rc;
}

/* Read the store. This may take long, but submissions do not wait for it. */
static int read_store(struct np_placer *placer, struct pass *pass,
		      struct np_err *err)
{
	int rc = 0;

	if (np_store_reader_is_new(placer->store))
		rc = open_store(placer, err);

	return rc ? rc :
		    np_store_reader_read(placer->store, READ_SEC, log_skipped,
					 &pass->known, &pass->trouble, err);
}

/* Give the callbacks the owners of all jobs and arrays. */
static void update_owners(struct np_placer *placer,
			  const struct np_job_snapshot *jobs)
{
	struct np_owner *owner = calloc(2 * jobs->n_jobs + 1, sizeof(*owner));
	size_t n = 0;

	for (size_t i = 0; owner && i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		const uint32_t uid = entry->in->owner;

		owner[n++] = (struct np_owner){
			.id = entry->id,
			.uid = uid,
			.sluid = entry->sluid,
		};
		if (entry->array && entry->array != entry->id)
			owner[n++] = (struct np_owner){ entry->array, uid };
	}
	if (owner) /* else the owners of the last pass remain valid */
		np_shared_set_owners(placer->shared, owner, n);
}

/* Log an inconsistency of the map, unless it was logged before. */
static void log_map_warning(struct np_placer *placer,
			    const struct np_cluster_map *map)
{
	if (!strcmp(placer->logged_warning.text, map->warning.text))
		return;
	placer->logged_warning = map->warning;
	if (*map->warning.text)
		np_ctl_info("%s", map->warning.text);
}

/*
 * Append the settings of netprof.conf about rails to the topology, as np_topo.h
 * describes. The rails file is parsed by np_cluster_map_make(), and only if
 * something has changed.
 */
static int append_rails(const struct np_conf *conf, const char *rails,
			char **topology)
{
	char *extended;

	if (asprintf(&extended, "%s" NP_TOPO_RAILS "%s\n%s\n%s",
		     *topology ? *topology : "", conf->net_devices, conf->rails,
		     rails ? rails : "") < 0)
		return -ENOMEM;
	free(*topology);
	*topology = extended;
	return 0;
}

/* Report why the rails file is not used, if err has a text. */
static void report_rails(const struct np_err *err, struct np_err *trouble)
{
	if (err->text[0] && !trouble->text[0])
		np_errf(trouble, -EINVAL,
			"only the first leaf switch of each node is used: "
			"Rails=%s",
			err->text);
}

/* Make the job snapshot from pass->info. Returns 0 or -errno. */
static int make_snapshot(struct np_placer *placer, struct pass *pass,
			 int64_t now_sec, struct np_err *err)
{
	const struct np_job_snapshot_input in = {
		.info = &pass->info,
		.map = placer->map,
		.index = pass->known.index,
		.conf = &placer->settings.conf.place,
		.cache = placer->cache,
		.change = pass->change,
		.n_changes = pass->n_changes,
		.now_sec = now_sec,
		/* The clock may have been set back. */
		.last_sec = placer->last_sec <= now_sec ? placer->last_sec : 0,
	};
	int rc = np_job_snapshot_make(&in, &pass->jobs, err);

	if (!rc)
		update_owners(placer, &pass->jobs);
	return rc;
}

/*
 * Load the state of jobs and nodes from slurmctld, and make the cluster map and
 * the job snapshot from it. Returns 0 or -errno.
 */
static int read_cluster(struct np_placer *placer, struct pass *pass,
			struct np_err *err)
{
	const struct np_conf *conf = &placer->settings.conf;
	int64_t before_sec = time(NULL), now_sec;
	struct np_cluster_map *map;
	int rc = np_ctld_info_load(&pass->info, err);

	/*
	 * Loading takes long if a controller before this one in slurm.conf is
	 * lost: holds must not be over before they are written.
	 */
	now_sec = time(NULL);
	if (!rc)
		rc = append_rails(conf, pass->known.rails,
				  &pass->info.topology);
	if (rc)
		return rc;
	rc = np_cluster_map_make(placer->map, pass->info.nodes,
				 pass->info.parts, pass->info.topology,
				 placer->controller.whole_nodes, &map, err);
	if (rc)
		return rc;
	np_cluster_map_unref(placer->map);
	placer->map = map;
	log_map_warning(placer, map);
	report_rails(pass->known.rails_error, &pass->trouble);
	report_rails(&map->rails_error, &pass->trouble);
	if (!map->leaves->n && !pass->trouble.text[0])
		np_errf(&pass->trouble, -ENODATA,
			"Slurm knows no leaf switches: placement needs "
			"topology/tree or topology/block");
	pass->last_id = placer->last_id;
	rc = np_ctld_info_arrivals(&pass->info, before_sec - ARRIVAL_SEC,
				   &pass->last_id, &pass->arrivals);
	if (rc)
		return rc;
	/* Profiles of new applications are read before the next pass. */
	pass->known.more |= request_profiles(placer, pass->info.jobs);
	return make_snapshot(placer, pass, now_sec, err);
}

static int decide(struct np_placer *placer, struct pass *pass,
		  struct np_err *err)
{
	struct np_policy policy;

	np_settings_policy(&placer->settings, pass->known.index, &policy);
	return np_placement_decide(pass->jobs.snapshot, pass->known.table,
				   &policy, &pass->placement, err);
}

/* Cache the exact hold times for the next pass; annotations round them. */
static void cache_hold_times(struct np_placer *placer, const struct pass *pass)
{
	for (size_t i = 0; i < pass->jobs.n_jobs; i++) {
		struct np_cached_job *cached =
			np_job_cache_find(placer->cache, pass->jobs.job[i].id);

		if (cached)
			cached->held_sec =
				np_outcome_of(pass->placement, i)->held_sec;
	}
	np_job_cache_sweep(placer->cache);
}

/* Make this pass's decision the current one. Returns 0 or -ENOMEM. */
static int publish(struct np_placer *placer, struct pass *pass)
{
	struct np_decision *decision = calloc(1, sizeof(*decision));

	if (!decision)
		return -ENOMEM;
	decision->placement = pass->placement;
	decision->map = np_cluster_map_ref(pass->jobs.map);
	decision->index = np_app_index_ref(pass->known.index);
	decision->set = pass->jobs.set;
	decision->now_sec = pass->jobs.now_sec;
	pass->placement = NULL;
	pass->jobs.set = NULL;
	np_shared_publish(placer->shared, decision, &pass->arrivals);
	placer->last_id = pass->last_id;
	return 0;
}

/* Whether jobs were submitted, started or ended since the last pass. */
static bool have_jobs_changed(struct np_placer *placer,
			      const struct np_job_snapshot *jobs)
{
	uint64_t digest = NP_HASH;
	bool changed;

	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job *job = jobs->job[i].in;
		const uint32_t parts[] = { job->id,
					   job->state == NP_JOB_RUNNING };

		digest = np_hash(digest, parts, sizeof(parts));
	}
	changed = digest != placer->jobs_digest;
	placer->jobs_digest = digest;
	return changed;
}

/* Log changes, and write the decision into the jobs. Returns 0 or -errno. */
static int update_jobs(struct np_placer *placer, struct pass *pass,
		       bool (*may_continue)(void *arg), void *arg)
{
	struct np_applied applied;
	int rc;

	np_denials_collect(&pass->jobs, pass->known.index, &pass->denied);
	pass->changed = np_denials_log(&pass->jobs, &pass->denied,
				       &placer->denied_logged) > 0;
	pass->changed |= np_state_log_decisions(&pass->jobs, pass->placement,
						placer->cache) > 0;
	pass->changed |= have_jobs_changed(placer, &pass->jobs);
	rc = np_apply(&pass->jobs, pass->placement, placer->cache,
		      placer->shared, MAX_UPDATES, may_continue, arg, &applied);
	np_shared_set_written(placer->shared, applied.written,
			      applied.n_written);
	pass->incomplete = applied.incomplete;
	pass->needs_another_pass = applied.needs_another_pass;
	return rc;
}

/* Make the contents of state.json. Returns 0 or -ENOMEM. */
static int make_state(struct np_placer *placer, struct pass *pass,
		      struct np_state *state)
{
	struct np_state_input input = {
		.controller = &placer->controller,
		.settings = &placer->settings,
		.fabric = pass->known.fabric,
		.table = pass->known.table,
		.denied = &pass->denied,
		.trouble = pass->trouble.text[0] ?
				   pass->trouble.text :
				   placer->settings.trouble.text,
		.decide_sec = np_mono_sec() - pass->began_sec,
	};

	return np_state_make(&input, &pass->jobs, pass->placement, state);
}

/*
 * Write accounting records and state.json. As the disk may be slow, this is the
 * last step of a pass, for which no submission waits. The store reader takes
 * ownership of the data of the pass.
 */
static void write_store(struct np_placer *placer, struct pass *pass,
			struct np_state *state)
{
	struct np_pass_output output = {
		.mode = placer->controller.private_jobs ? 0640 : 0644,
		.jobs = pass->jobs,
		.info = pass->info,
		.known = pass->known,
		.has_state = state,
	};
	struct np_err err = NP_ERR_INIT;

	strcpy(output.store, placer->settings.conf.store);
	if (state) {
		output.state = *state;
		*state = (struct np_state){ .date = 0 };
	}
	pass->jobs = (struct np_job_snapshot){ .map = NULL };
	pass->info = (struct np_ctld_info){ NULL };
	pass->known = (struct np_known){ .more = pass->known.more };
	if (!np_store_reader_write(placer->store, &output, &err))
		return; /* if the store keeps hanging, the next pass says so */
	if (state)
		placer->state_sec = np_mono_sec();
	/* Without a write of state.json, earlier trouble is not over. */
	if (state || (err.text[0] && !placer->state_trouble.text[0]))
		placer->state_trouble = err;
	if (!pass->trouble.text[0])
		pass->trouble = placer->state_trouble;
}

static void release_pass(struct pass *pass)
{
	np_placement_free(pass->placement);
	np_job_snapshot_free(&pass->jobs);
	np_known_free(&pass->known);
	np_ctld_info_free(&pass->info);
	free(pass->arrivals.of);
	np_change_list_free(pass->change, pass->n_changes);
}

/*
 * Read Slurm's state, decide, update jobs, and publish the decision, while
 * submissions wait. Then write the store. *again is set if another pass is
 * needed soon. Returns 0 or -errno.
 */
static int decide_and_update(struct np_placer *placer, struct pass *pass,
			     bool (*may_continue)(void *arg), void *arg,
			     bool *again, struct np_err *err)
{
	struct np_state state = { .date = 0 };
	bool state_due;
	int rc = read_cluster(placer, pass, err);

	if (!rc)
		rc = decide(placer, pass, err);
	if (rc || !may_continue(arg))
		return rc;
	pass->written = true;
	rc = update_jobs(placer, pass, may_continue, arg);
	if (rc)
		return rc;
	cache_hold_times(placer, pass);
	placer->last_sec = pass->jobs.now_sec;
	state_due = pass->needs_another_pass || pass->changed ||
		    pass->n_changes || placer->state_trouble.text[0] ||
		    np_mono_sec() - placer->state_sec >= STATE_SEC;
	rc = state_due ? make_state(placer, pass, &state) : 0;
	if (!rc && may_continue(arg))
		rc = publish(placer, pass);
	np_shared_set_busy(placer->shared, pass->incomplete);
	pass->save_sec = np_mono_sec();
	if (!rc)
		write_store(placer, pass, state_due ? &state : NULL);
	np_state_free(&state);
	*again = pass->needs_another_pass || pass->known.more ||
		 np_store_reader_has_more(placer->store);
	return rc;
}

/* Duration of a pass without writing the store, which slurmctld may notice. */
static double time_at_work(const struct pass *pass)
{
	double end_sec = pass->save_sec > 0 ? pass->save_sec : np_mono_sec();

	return end_sec - pass->began_sec;
}

/*
 * Clean up after a pass that may have ended early. If it updated no jobs, the
 * last decision remains valid, and the next pass gets the users' changes. If it
 * failed later, jobs contain parts of two decisions, and neither is valid.
 */
static void handle_early_end(struct np_placer *placer, struct pass *pass,
			     int rc)
{
	if (!pass->written) {
		np_shared_return_changes(placer->shared, pass->change,
					 pass->n_changes);
		pass->change = NULL;
		pass->n_changes = 0;
	} else if (rc) {
		np_shared_withdraw(placer->shared);
	}
}

void np_placer_run(struct np_placer *placer, bool (*may_continue)(void *arg),
		   void *arg, struct np_placer_next *next)
{
	struct pass pass = { .began_sec = np_mono_sec() };
	const struct np_place_conf *place = &placer->settings.conf.place;
	struct np_err why = NP_ERR_INIT;
	bool again = false, enabled;
	int rc;

	*next = (struct np_placer_next){ NP_PLACER_LEAST_GAP_SEC, IDLE_SEC };
	if (!read_settings(placer) && np_mono_sec() < placer->idle_until_sec)
		return;
	if (!placer->settings.read) {
		np_state_log_trouble(&placer->logged_trouble,
				     &placer->settings.trouble);
		return;
	}
	if (!check_is_active(placer))
		return;
	rc = read_store(placer, &pass, &why);
	np_shared_set_busy(placer->shared, true);
	np_shared_wait_in_flight(placer->shared);
	pass.change = np_shared_take_changes(placer->shared, &pass.n_changes);
	if (!rc)
		rc = decide_and_update(placer, &pass, may_continue, arg, &again,
				       &why);
	np_state_set_trouble(rc, &why, &pass.trouble);
	np_shared_set_busy(placer->shared, pass.incomplete && !rc);
	handle_early_end(placer, &pass, rc);
	if (!pass.trouble.text[0])
		pass.trouble = placer->settings.trouble;
	np_state_log_trouble(&placer->logged_trouble, &pass.trouble);
	log_missed_changes(placer);
	release_pass(&pass);
	enabled = np_place_conf_enabled(place);
	placer->idle_until_sec =
		enabled || again || rc ? 0 : np_mono_sec() + OFF_SEC;
	next->rest_sec =
		np_placer_gap_sec(time_at_work(&pass), place->interval_sec);
	next->wait_sec = again ? 0 : enabled ? place->interval_sec : IDLE_SEC;
}
