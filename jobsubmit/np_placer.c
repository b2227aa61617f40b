/*
 * One pass of placement: read Slurm's state and the store, decide, write the
 * decision into the jobs, publish it to the callbacks, and save it.
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
#include "np_read.h"
#include "np_store_reader.h"
#include "np_text.h"
#include "np_topo.h"

/* ---- Is this slurmctld the active controller? ---- */

/* Seconds between two readings of slurm.conf, in case it was changed. */
#define CONF_SEC 60

/* Whether two names are of the same host, with or without a domain. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return n == m && !memcmp(a, b, n) &&
	       (!a[n] || !b[m] || !strcmp(a + n, b + m));
}

int np_controller_read_conf(struct np_controller *controller,
			    const slurm_conf_t *conf, struct np_err *err)
{
	controller->index = -1;
	for (uint32_t i = 0; i < conf->control_cnt; i++)
		if (conf->control_machine[i] &&
		    same_host(conf->control_machine[i], controller->host))
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
			       "SlurmctldHost in slurm.conf does "
			       "not name this host, %s",
			       controller->host);
	return 0;
}

/* Load slurm.conf, at most once per CONF_SEC. */
static int read_slurm_conf(struct np_controller *controller, struct np_err *err)
{
	slurm_conf_t *conf = NULL;
	int rc;

	if (controller->conf_read_sec &&
	    np_mono_sec() - controller->conf_read_sec < CONF_SEC)
		return 0;
	if (gethostname(controller->host, sizeof(controller->host) - 1))
		return np_errf(err, -EAGAIN, "gethostname: %s",
			       strerror(errno));
	if (slurm_load_ctl_conf(0, &conf))
		return np_errf(err, -EAGAIN, "slurm_load_ctl_conf: %s",
			       slurm_strerror(errno));
	rc = np_controller_read_conf(controller, conf, err);
	np_free_conf(conf);
	if (!rc)
		controller->conf_read_sec = np_mono_sec();
	return rc;
}

/*
 * Uses RPCs. Returns 0 if this is the active controller; -EAGAIN with err if it
 * is not, or if it does not answer.
 */
static int controller_check(struct np_controller *controller,
			    struct np_err *err)
{
	int rc = read_slurm_conf(controller, err);

	if (rc || controller->alone)
		return rc;
	if (slurm_ping(controller->index))
		return np_errf(err, -EAGAIN, "this controller does not answer "
			       "yet");
	for (int i = 0; i < controller->index; i++)
		if (!slurm_ping(i))
			return np_errf(err, -EAGAIN, "standby: controller %d "
				       "answers", i);
	return 0;
}

/* ---- Settings of netprof.conf ---- */

/* Length of one hold: the longer of these. See np_policy.hold_step_sec. */
#define LEAST_STEP_SEC 30
#define STEP_INTERVALS 10 /* times PlacementInterval */

void np_settings_init(struct np_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	np_conf_init(&settings->conf);
}

bool np_settings_refresh(struct np_settings *settings)
{
	struct stat st = { 0 };
	struct np_conf conf;

	if (stat(np_conf_path(), &st))
		memset(&st, 0, sizeof(st));
	if (settings->read && st.st_size == settings->size &&
	    st.st_mtim.tv_sec == settings->changed.tv_sec &&
	    st.st_mtim.tv_nsec == settings->changed.tv_nsec)
		return false;
	settings->read = true;
	settings->size = st.st_size;
	settings->changed = st.st_mtim;
	settings->trouble.text[0] = '\0';
	if (np_conf_from_environment(&conf, &settings->trouble))
		return false;
	settings->conf = conf;
	return true;
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
	policy->hold_step_sec = step > LEAST_STEP_SEC ? step : LEAST_STEP_SEC;
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
 * Digest of a decision, without how long or until when a job is held. Never 0,
 * which means that no decision was logged.
 */
static uint64_t hash_decision(const struct np_job_snapshot *jobs,
			      const struct np_outcome *outcome)
{
	const uint64_t parts[] = { outcome->action, outcome->cause.why,
				   outcome->cause.other, outcome->cause.leaf,
				   outcome->tasks };
	uint64_t h = np_hash(NP_HASH, parts, sizeof(parts));

	if (outcome->action == NP_ACT_RESTRICT)
		h = np_hash(h, outcome->leaves,
			    sizeof(*outcome->leaves) *
				    jobs->map->leaves->words);
	return h ? h : 1;
}

/*
 * Count one more line about a job. Returns whether that is too many in this
 * hour, as for a job whose decision keeps changing.
 */
static bool is_line_too_many(struct np_cached_job *cached, int64_t now_sec)
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
	size_t n = 0;

	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		const struct np_outcome *o = np_outcome_of(placement, i);
		struct np_cached_job *cached;
		char line[MAX_LINE_BYTES];
		uint64_t d;

		if (entry->in->state == NP_JOB_RUNNING ||
		    entry->in->mode == NP_MODE_OFF || !entry->app[0])
			continue;
		cached = np_job_cache_find(cache, entry->id);
		d = hash_decision(jobs, o);
		if (!cached || cached->logged == d)
			continue;
		cached->logged = d;
		n++;
		if (is_line_too_many(cached, jobs->now_sec))
			continue;
		np_placement_text(placement, entry->in, o, line, sizeof(line));
		np_ctl_info("JobId=%u (%s): %s%s", entry->id, entry->app, line,
			    cached->n_logged == MAX_LINES_PER_HOUR ?
			    " (no more lines about it in this hour)" : "");
	}
	return n;
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

/* Index of a denial; d->n: there is none. */
static size_t find_denied(const struct np_denials *denials, uint32_t uid,
			  const char *app)
{
	size_t i = 0;

	while (i < denials->n &&
	       (denials->at[i].uid != uid || strcmp(denials->at[i].app, app)))
		i++;
	return i;
}

/* The first denial of a job's name to its user. */
static struct np_denied new_denied(const struct np_job_entry *entry,
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

void np_denied_gather(const struct np_job_snapshot *jobs,
		      const struct np_app_index *index, struct np_denials *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		size_t k;

		if (np_auth_counts(entry->auth))
			continue;
		k = find_denied(out, entry->in->owner, entry->app);
		if (k == NP_DENIED_MAX) {
			out->n_more++;
			continue;
		}
		if (k == out->n)
			out->at[out->n++] = new_denied(entry, index);
		out->at[k].n_jobs++;
	}
}

/* Index of a denial among the logged ones; logged->n: it was not logged. */
static size_t find_logged(const struct np_denied_logged *logged, uint32_t uid,
			  const char *app)
{
	size_t i = 0;

	while (i < logged->n &&
	       (logged->at[i].uid != uid || strcmp(logged->at[i].app, app)))
		i++;
	return i;
}

/*
 * Record that a denial was logged, at the index that find_logged() returned. If
 * there is no room for another one, it replaces the oldest.
 */
static void record_logged(struct np_denied_logged *logged, size_t at,
			  const struct np_denied *denied)
{
	bool is_new = at == logged->n;

	if (is_new && logged->n < NP_DENIED_KEEP) {
		logged->n++;
	} else if (is_new) {
		at = logged->next;
		logged->next = (at + 1) % NP_DENIED_KEEP;
	}
	logged->at[at].uid = denied->uid;
	logged->at[at].auth = denied->auth;
	strcpy(logged->at[at].app, denied->app);
}

/*
 * Forget logged denials of names that are authorised now, to log them if they
 * recur.
 */
static void forget_authorised(const struct np_job_snapshot *jobs,
			      const struct np_denials *denials,
			      struct np_denied_logged *logged)
{
	for (size_t i = 0; logged->n && i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		size_t at;

		if (!np_auth_counts(entry->auth) || !entry->app[0])
			continue;
		at = find_logged(logged, entry->in->owner, entry->app);
		/* Authorisation may depend on account or partition, so that
		   one job of a user is denied and another is not. */
		if (at < logged->n && find_denied(denials, entry->in->owner,
						  entry->app) == denials->n) {
			logged->at[at] = logged->at[--logged->n];
			logged->next = 0;
		}
	}
}

size_t np_denied_log(const struct np_job_snapshot *jobs,
		     const struct np_denials *denials,
		     struct np_denied_logged *logged)
{
	size_t n = 0;

	forget_authorised(jobs, denials, logged);
	for (size_t i = 0; i < denials->n; i++) {
		const struct np_denied *one = &denials->at[i];
		size_t at = find_logged(logged, one->uid, one->app);

		if (at < logged->n && logged->at[at].auth == one->auth)
			continue;
		record_logged(logged, at, one);
		np_ctl_info("uid %u may not use the profile name \"%s\": %s; "
			    "its jobs of that name count as unknown", one->uid,
			    one->app, one->why);
		n++;
	}
	return n;
}

/* ---- state.json ---- */

/* Where add_cause() looks up applications, and what it fills in. */
struct causes {
	const struct np_job_snapshot *jobs;
	const struct np_job_entry **by_id; /* sorted pointers to its jobs */
	struct np_state_job *to;
};

static int by_id(const void *a, const void *b)
{
	const struct np_job_entry *const *x = a, *const *y = b;

	return np_order_u32(&(*x)->id, &(*y)->id);
}

/* Pointers to the jobs of a snapshot, sorted by id. NULL: out of memory. */
static const struct np_job_entry **
jobs_by_id(const struct np_job_snapshot *jobs)
{
	const struct np_job_entry **entry =
		calloc(jobs->n_jobs + 1, sizeof(*entry));

	for (size_t i = 0; entry && i < jobs->n_jobs; i++)
		entry[i] = &jobs->job[i];
	if (entry)
		qsort(entry, jobs->n_jobs, sizeof(*entry), by_id);
	return entry;
}

/* Name of the application of a job; "": unknown. */
static const char *app_of_job(const struct causes *causes, uint32_t id)
{
	const struct np_job_entry job = { .id = id }, *key = &job;
	const struct np_job_entry **found =
		bsearch(&key, causes->by_id, causes->jobs->n_jobs,
			sizeof(*causes->by_id), by_id);

	return found ? (*found)->app : "";
}

/* np_placement_cause_fn: append a cause to a job. */
static void add_cause(void *arg, const struct np_cause *cause)
{
	struct causes *causes = arg;
	struct np_state_job *job = causes->to;

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
		.other_app = strdup(app_of_job(causes, cause->other)),
		.victim = cause->victim_self ? job->id : cause->victim,
		.slowdown = cause->slowdown,
	};
}

static const char *const actions[] = {
	[NP_ACT_NONE] = "none",
	[NP_ACT_UNRESTRICTED] = "unrestricted",
	[NP_ACT_RESTRICT] = "restricted",
	[NP_ACT_HOLD] = "held",
};

/* Fill in the decision about a pending job. */
static void fill_pending_job(struct causes *causes,
			     const struct np_placement *placement, size_t i,
			     struct np_state_job *to)
{
	const struct np_outcome *o = np_outcome_of(placement, i);
	const struct np_job_snapshot *jobs = causes->jobs;
	char line[MAX_LINE_BYTES];

	causes->to = to;
	to->action = strdup(actions[o->action]);
	to->applied = o->applied;
	to->until = (double)o->until_sec;
	to->held_sec = o->held_sec;
	to->text = strdup(!np_auth_counts(jobs->job[i].auth) ?
				  "ignored: its user is not authorised to "
				  "use that profile name; see netprof status" :
				  np_placement_text(placement, jobs->job[i].in,
						    o, line, sizeof(line)));
	if (o->action == NP_ACT_RESTRICT)
		to->leaves = np_cluster_map_leaf_names(jobs->map, o->leaves);
	if (o->action == NP_ACT_RESTRICT || o->action == NP_ACT_HOLD)
		np_placement_causes(placement, i, add_cause, causes);
}

/* Fill in one job, pending or running. */
static void fill_job(struct causes *causes,
		     const struct np_placement *placement, size_t i,
		     struct np_state_job *to)
{
	const struct np_job_snapshot *jobs = causes->jobs;
	const struct np_job_entry *entry = &jobs->job[i];
	const struct np_job *in = entry->in;
	uint32_t *sw;
	size_t n = 0;

	*to = (struct np_state_job){
		.id = entry->id,
		.array = entry->array,
		.task = entry->task,
		.uid = in->owner,
		.app = strdup(entry->app),
		.known = in->profile >= 0,
		.partition =
			strdup(entry->partition < 0 ?
				       "" :
				       jobs->map->part[entry->partition].name),
		.mode = strdup(np_mode_name(in->mode)),
		.pending = in->state != NP_JOB_RUNNING,
		.n_nodes = entry->n_nodes,
		.held_sec = entry->annotation.held_sec,
	};
	if (to->pending) {
		fill_pending_job(causes, placement, i, to);
		return;
	}
	to->start = (double)in->start_sec;
	sw = calloc(jobs->map->leaves->n_switches + 1, sizeof(*sw));
	if (sw)
		n = np_leaves_switches(jobs->map->leaves, in->leaf,
				       in->n_leaves, sw);
	to->leaves = np_cluster_map_switch_names(jobs->map, sw, n);
	free(sw);
}

static int fill_jobs(const struct np_job_snapshot *jobs,
		     const struct np_placement *placement,
		     struct np_state *state)
{
	struct causes causes = { .jobs = jobs, .by_id = jobs_by_id(jobs) };

	state->job = calloc(jobs->n_jobs + 1, sizeof(*state->job));
	if (!state->job || !causes.by_id) {
		free(causes.by_id);
		return -ENOMEM;
	}
	for (size_t i = 0; i < jobs->n_jobs; i++)
		if (jobs->job[i].app[0])
			fill_job(&causes, placement, i,
				 &state->job[state->n_jobs++]);
	free(causes.by_id);
	return 0;
}

/* Count the jobs running on each leaf. */
static void count_jobs(const struct np_job_snapshot *jobs,
		       struct np_state *state)
{
	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job *in = jobs->job[i].in;

		for (size_t k = 0; k < in->n_leaves; k++) {
			state->leaf[in->leaf[k]].n_jobs++;
			state->leaf[in->leaf[k]].n_known += in->profile >= 0;
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
		struct np_state_leaf *to = &state->leaf[i];

		to->name = strdup(leaves->name[i]);
		to->n_nodes = leaves->first[i + 1] - leaves->first[i];
		to->worst_slowdown = np_placement_worst_slowdown(placement, i);
		for (uint32_t k = leaves->first[i]; k < leaves->first[i + 1];
		     k++) {
			to->n_idle += jobs->node[leaves->node[k]] ==
				      NP_NODE_IDLE;
			to->n_unavailable += jobs->node[leaves->node[k]] ==
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
			.uid = denials->at[i].uid,
			.app = strdup(denials->at[i].app),
			.n_jobs = denials->at[i].n_jobs,
			.refuted = denials->at[i].auth == NP_AUTH_CONTRADICTED,
			.why = strdup(denials->at[i].why),
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

/*
 * The thread rests 19 times as long as a pass took, and so works a twentieth of
 * the time.
 */
#define REST_TO_WORK 19

double np_placer_gap_sec(double took_sec, double interval_sec)
{
	double sec = fmin(REST_TO_WORK * took_sec, interval_sec);

	return fmax(fmax(sec, took_sec), NP_PLACER_LEAST_GAP_SEC);
}

/* ---- The passes ---- */

#define MAX_UPDATES 500	   /* of jobs, in one pass */
/* Seconds. */
#define READ_SEC 0.5	   /* to read the store in one pass */
#define IDLE_SEC 5	   /* between two looks at netprof.conf while off */
#define STATE_SEC 5	   /* between two state.json if nothing changed */
#define OFF_SEC 60	   /* between two full passes while placement is off */
#define MISSED_SEC 3600	   /* between two lines about missed changes */
#define ARRIVAL_SEC 5	   /* longest time from job_submit to a visible job */

/* Times are seconds of CLOCK_MONOTONIC unless noted otherwise. */
struct np_placer {
	struct np_shared *shared;
	struct np_settings settings;
	struct np_controller controller;
	bool is_active;		/* this is the active controller */
	struct np_store_reader *store;
	struct np_job_cache *cache;
	struct np_cluster_map *map;
	int64_t last_sec;	/* last decision, seconds since the epoch */
	uint32_t last_id;	/* highest job id in the current decision */
	double state_sec;	/* when state.json was last written */
	double missed_sec;	/* earliest next line about missed changes */
	double idle_until_sec;	/* no full pass before, as placement is off */
	struct np_err state_trouble; /* why state.json was not written */
	struct np_err logged_trouble; /* trouble that was logged last */
	struct np_err logged_warning; /* of the map */
	struct np_denied_logged denied_logged;
	uint64_t jobs_digest;	/* of the jobs in the last pass */
};

/* What one pass works on. */
struct pass {
	struct np_ctld_info info;
	struct np_arrivals arrivals;
	uint32_t last_id; /* highest job id in info */
	struct np_change *change; /* that users requested since the last pass */
	size_t n_changes;
	bool written; /* updates of jobs were begun */
	bool cut;     /* but not completed: jobs contain no valid decision */
	bool more;    /* there are more updates to make in the next pass */
	struct np_known known; /* from the store */
	struct np_job_snapshot jobs;
	struct np_denials denied;
	struct np_placement *placement;
	bool changed; /* a decision or the list of jobs differs from the last */
	double began_sec;      /* when the pass began */
	double save_sec;       /* when writing the store began; 0: not yet */
	struct np_err trouble; /* one that does not prevent a decision */
};

int np_placer_new(struct np_shared *shared, struct np_placer **out)
{
	struct np_placer *placer = calloc(1, sizeof(*placer));

	if (!placer)
		return -ENOMEM;
	placer->shared = shared;
	np_settings_init(&placer->settings);
	if (np_job_cache_new(&placer->cache) ||
	    np_store_reader_new(&NP_DEADLINES, &placer->store)) {
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
		    "list of nodes", n, uid, NP_CHANGES_OF_USER,
		    NP_CHANGES_MAX_LIST);
}

static void log_skipped(const char *line, void *arg)
{
	(void)arg;
	np_ctl_info("%s", line);
}

/*
 * Read netprof.conf if it changed; an invalid file leaves the last valid
 * settings. Returns whether the file changed, valid or not.
 */
static bool read_settings(struct np_placer *placer)
{
	struct timespec before = placer->settings.changed;
	off_t size = placer->settings.size;

	if (np_settings_refresh(&placer->settings)) {
		np_shared_configure(placer->shared, &placer->settings.conf);
		np_store_reader_renew(placer->store);
	}
	return before.tv_sec != placer->settings.changed.tv_sec ||
	       before.tv_nsec != placer->settings.changed.tv_nsec ||
	       size != placer->settings.size;
}

/* Whether this is the active controller; logs when that changes. */
static bool check_is_active(struct np_placer *placer)
{
	struct np_err why = NP_ERR_INIT;
	bool is_active = !controller_check(&placer->controller, &why);

	if (is_active != placer->is_active)
		np_ctl_info("%s", is_active ?
			    "in control: placement is active" : why.text);
	if (!is_active && placer->is_active)
		np_shared_withdraw(placer->shared);
	placer->is_active = is_active;
	return is_active;
}

/* Request the profiles of all jobs. Returns whether any is a new request. */
static bool
request_profiles(struct np_placer *placer, const job_info_msg_t *jobs)
{
	bool any_new = false;

	for (uint32_t i = 0; i < jobs->record_count; i++) {
		const slurm_job_info_t *j = &jobs->job_array[i];
		char app[NP_APP_MAX + 1];

		if (np_job_snapshot_app(&placer->settings.conf.place, j, app))
			any_new |= np_store_reader_expect_job(placer->store,
							      app, j->user_id);
	}
	return any_new;
}

/*
 * Open the store, and request the profiles that the first decision needs. 0 or
 * -errno.
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

/* Read the store. This may take long, and holds up no submission. */
static int
read_store(struct np_placer *placer, struct pass *pass, struct np_err *err)
{
	int rc = 0;

	if (np_store_reader_is_new(placer->store))
		rc = open_store(placer, err);

	return rc ? rc
		  : np_store_reader_read(placer->store, READ_SEC, log_skipped,
					 &pass->known, &pass->trouble, err);
}

/* Tell the callbacks who owns each job and its array. */
static void
update_owners(struct np_placer *placer, const struct np_job_snapshot *jobs)
{
	struct np_owner *owner = calloc(2 * jobs->n_jobs + 1, sizeof(*owner));
	size_t n = 0;

	for (size_t i = 0; owner && i < jobs->n_jobs; i++) {
		const struct np_job_entry *entry = &jobs->job[i];
		const uint32_t uid = entry->in->owner;

		owner[n++] = (struct np_owner){ entry->id, uid };
		if (entry->array && entry->array != entry->id)
			owner[n++] = (struct np_owner){ entry->array, uid };
	}
	if (owner) /* else the owners of the last pass remain valid */
		np_shared_set_owners(placer->shared, owner, n);
}

/* Log an inconsistency of the map once, until it changes. */
static void
log_map_warning(struct np_placer *placer, const struct np_cluster_map *map)
{
	if (!strcmp(placer->logged_warning.text, map->warning.text))
		return;
	placer->logged_warning = map->warning;
	if (*map->warning.text)
		np_ctl_info("%s", map->warning.text);
}

/*
 * Append to the topology what netprof.conf says of rails; see np_topo.h. Only
 * np_cluster_map_make() parses the file, when anything has changed.
 */
static int append_rails(const struct np_conf *conf, char **topology,
			struct np_err *err)
{
	char *rails = NULL, *all;
	size_t len;
	int rc = 0;

	if (*conf->rails)
		np_read_file(conf->rails, NP_RAILS_MAX_BYTES, &rails, &len,
			     err);
	if (asprintf(&all, "%s" NP_TOPO_RAILS "%s\n%s\n%s",
		     *topology ? *topology : "", conf->net_devices,
		     conf->rails, rails ? rails : "") < 0)
		rc = -ENOMEM;
	free(rails);
	if (rc)
		return rc;
	free(*topology);
	*topology = all;
	return 0;
}

/* Report why the file of rails is not used; err is empty if it is. */
static void report_rails(const struct np_err *err, struct np_err *trouble)
{
	if (err->text[0] && !trouble->text[0])
		np_errf(trouble, -EINVAL, "only the first leaf switch of each "
			"node is used: Rails=%s", err->text);
}

/* Make the job snapshot from what was loaded. 0 or -errno. */
static int make_snapshot(struct np_placer *placer, struct pass *pass,
			 int64_t now_sec, struct np_err *err)
{
	const struct np_job_snapshot_input in = {
		.info = &pass->info, .map = placer->map,
		.index = pass->known.index,
		.conf = &placer->settings.conf.place, .cache = placer->cache,
		.change = pass->change, .n_changes = pass->n_changes,
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
 * the job snapshot from it. 0 or -errno.
 */
static int
read_cluster(struct np_placer *placer, struct pass *pass, struct np_err *err)
{
	const struct np_conf *conf = &placer->settings.conf;
	int64_t now_sec = time(NULL);
	struct np_err rails = NP_ERR_INIT;
	struct np_cluster_map *map;
	int rc = np_ctld_info_load(&pass->info, err);

	if (!rc)
		rc = append_rails(conf, &pass->info.topology, &rails);
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
	report_rails(&rails, &pass->trouble);
	report_rails(&map->rails_error, &pass->trouble);
	if (!map->leaves->n && !pass->trouble.text[0])
		np_errf(&pass->trouble, -ENODATA, "Slurm knows no leaf "
			"switches: placement needs topology/tree or "
			"topology/block");
	pass->last_id = placer->last_id;
	rc = np_ctld_info_arrivals(&pass->info, now_sec - ARRIVAL_SEC,
				   &pass->last_id, &pass->arrivals);
	if (rc)
		return rc;
	/* Profiles of new applications are read before the next pass. */
	pass->known.more |= request_profiles(placer, pass->info.jobs);
	return make_snapshot(placer, pass, now_sec, err);
}

static int
decide(struct np_placer *placer, struct pass *pass, struct np_err *err)
{
	struct np_policy policy;

	np_settings_policy(&placer->settings, pass->known.index, &policy);
	return np_placement_decide(pass->jobs.snapshot, pass->known.table,
				   &policy, &pass->placement, err);
}

/*
 * Keep the exact hold times for the next pass; annotations have rounded ones.
 */
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

/* Make this pass's decision the current one. 0 or -ENOMEM. */
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
static bool
have_jobs_changed(struct np_placer *placer, const struct np_job_snapshot *jobs)
{
	uint64_t h = NP_HASH;
	bool changed;

	for (size_t i = 0; i < jobs->n_jobs; i++) {
		const struct np_job *in = jobs->job[i].in;
		const uint32_t job[] = { in->id, in->state == NP_JOB_RUNNING };

		h = np_hash(h, job, sizeof(job));
	}
	changed = h != placer->jobs_digest;
	placer->jobs_digest = h;
	return changed;
}

/* Log what is new, and write the decision into the jobs. 0 or -errno. */
static int update_jobs(struct np_placer *placer, struct pass *pass,
		       bool (*go_on)(void *arg), void *arg)
{
	struct np_applied applied;
	int rc;

	np_denied_gather(&pass->jobs, pass->known.index, &pass->denied);
	pass->changed = np_denied_log(&pass->jobs, &pass->denied,
				      &placer->denied_logged) > 0;
	pass->changed |= np_state_log_decisions(&pass->jobs, pass->placement,
						placer->cache) > 0;
	pass->changed |= have_jobs_changed(placer, &pass->jobs);
	rc = np_apply(&pass->jobs, pass->placement, placer->cache,
		      placer->shared, MAX_UPDATES, go_on, arg, &applied);
	np_shared_set_written(placer->shared, applied.written,
			      applied.n_written);
	pass->cut = applied.cut;
	pass->more = applied.more;
	return rc;
}

/* Make the contents of state.json. 0 or -ENOMEM. */
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
 * Write accounting records and state.json. Comes last in a pass, when no
 * submission has to wait for it, as the disk may be slow. The store reader
 * takes the data of the pass.
 */
static void
write_store(struct np_placer *placer, struct pass *pass, struct np_state *state)
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
		return; /* the next pass reports it, if it persists */
	if (state)
		placer->state_sec = np_mono_sec();
	/* The trouble is not over in a pass that need not write state.json. */
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
 * The part of a pass that callbacks must not interfere with, in four steps:
 * read, decide, update jobs, publish. After it, submissions no longer wait, and
 * the store is written.
 */
static int do_pass(struct np_placer *placer, struct pass *pass,
		   bool (*go_on)(void *arg), void *arg, bool *again,
		   struct np_err *err)
{
	struct np_state state = { .date = 0 };
	bool due;
	int rc = read_cluster(placer, pass, err);

	if (!rc)
		rc = decide(placer, pass, err);
	if (rc || !go_on(arg))
		return rc;
	pass->written = true;
	rc = update_jobs(placer, pass, go_on, arg);
	if (rc)
		return rc;
	cache_hold_times(placer, pass);
	placer->last_sec = pass->jobs.now_sec;
	due = pass->more || pass->changed || pass->n_changes ||
	      placer->state_trouble.text[0] ||
	      np_mono_sec() - placer->state_sec >= STATE_SEC;
	rc = due ? make_state(placer, pass, &state) : 0;
	if (!rc && go_on(arg))
		rc = publish(placer, pass);
	np_shared_set_busy(placer->shared, pass->cut);
	pass->save_sec = np_mono_sec();
	if (!rc)
		write_store(placer, pass, due ? &state : NULL);
	np_state_free(&state);
	*again = pass->more || pass->known.more ||
		 np_store_reader_has_more(placer->store);
	return rc;
}

/* Time for which slurmctld may have waited: all but writing the store. */
static double working_sec(const struct pass *pass)
{
	double end_sec = pass->save_sec > 0 ? pass->save_sec : np_mono_sec();

	return end_sec - pass->began_sec;
}

/*
 * A pass may have ended early. If it updated no job, the last decision remains
 * valid, and the users' changes are for the next pass. If it failed after that,
 * jobs contain parts of two decisions, and neither is valid.
 */
static void end_pass(struct np_placer *placer, struct pass *pass, int rc)
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

void np_placer_run(struct np_placer *placer, bool (*go_on)(void *arg),
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
	if (!check_is_active(placer))
		return;
	rc = read_store(placer, &pass, &why);
	np_shared_set_busy(placer->shared, true);
	np_shared_wait_in_flight(placer->shared);
	pass.change = np_shared_take_changes(placer->shared, &pass.n_changes);
	if (!rc)
		rc = do_pass(placer, &pass, go_on, arg, &again, &why);
	np_state_set_trouble(rc, &why, &pass.trouble);
	np_shared_set_busy(placer->shared, pass.cut && !rc);
	end_pass(placer, &pass, rc);
	if (!pass.trouble.text[0])
		pass.trouble = placer->settings.trouble;
	np_state_log_trouble(&placer->logged_trouble, &pass.trouble);
	log_missed_changes(placer);
	release_pass(&pass);
	enabled = np_place_conf_enabled(place);
	placer->idle_until_sec =
		enabled || again || rc ? 0 : np_mono_sec() + OFF_SEC;
	next->rest_sec = np_placer_gap_sec(working_sec(&pass),
					   place->interval_sec);
	next->wait_sec = again ? 0 : enabled ? place->interval_sec : IDLE_SEC;
}
