#include "np_state_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_ctl.h"
#include "np_loader.h"
#include "np_text.h"

/* ---- Is this slurmctld the active controller? ---- */

#define ASK_EVERY_SEC 60 /* slurm.conf may change, by scontrol reconfigure */

/* Whether two names are of the same host, with or without a domain. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return n == m && !memcmp(a, b, n) &&
	       (!a[n] || !b[m] || !strcmp(a + n, b + m));
}

int np_controller_read_conf(struct np_controller *c, const slurm_conf_t *conf,
			    struct np_err *err)
{
	c->index = -1;
	for (uint32_t i = 0; i < conf->control_cnt; i++)
		if (conf->control_machine[i] &&
		    same_host(conf->control_machine[i], c->host))
			c->index = (int)i;
	c->alone = conf->control_cnt <= 1;
	if (c->alone)
		c->index = 0;
	c->whole_nodes = conf->select_type &&
			 !strcmp(conf->select_type, "select/linear");
	c->private_jobs = conf->private_data & PRIVATE_DATA_JOBS;
	snprintf(c->cluster, sizeof(c->cluster), "%s",
		 conf->cluster_name ? conf->cluster_name : "");
	if (c->index < 0)
		return np_errf(err, -EAGAIN, "SlurmctldHost in slurm.conf does "
			       "not name this host, %s", c->host);
	return 0;
}

/* Load slurm.conf, at most once per ASK_EVERY_SEC. */
static int read_slurm_conf(struct np_controller *c, struct np_err *err)
{
	slurm_conf_t *conf = NULL;
	int rc;

	if (c->asked_sec && np_mono_sec() - c->asked_sec < ASK_EVERY_SEC)
		return 0;
	if (gethostname(c->host, sizeof(c->host) - 1))
		return np_errf(err, -EAGAIN, "gethostname: %s",
			       strerror(errno));
	if (slurm_load_ctl_conf(0, &conf))
		return np_errf(err, -EAGAIN, "slurm_load_ctl_conf: %s",
			       slurm_strerror(errno));
	rc = np_controller_read_conf(c, conf, err);
	np_free_conf(conf);
	if (!rc)
		c->asked_sec = np_mono_sec();
	return rc;
}

int np_controller_check(struct np_controller *c, struct np_err *err)
{
	int rc = read_slurm_conf(c, err);

	if (rc || c->alone)
		return rc;
	if (slurm_ping(c->index))
		return np_errf(err, -EAGAIN, "this controller does not answer "
			       "yet");
	for (int i = 0; i < c->index; i++)
		if (!slurm_ping(i))
			return np_errf(err, -EAGAIN, "standby: controller %d "
				       "answers", i);
	return 0;
}

/* ---- Settings of netprof.conf ---- */

/* One hold lasts several intervals: it ends only if no decisions are made. */
#define LEAST_STEP_SEC 30
#define STEP_INTERVALS 10

void np_settings_init(struct np_settings *s)
{
	memset(s, 0, sizeof(*s));
	np_conf_init(&s->conf);
}

/* Path of netprof.conf. */
static const char *path(void)
{
	const char *p = getenv("NETPROF_CONF");

	return p && *p ? p : NP_CONF_DEFAULT_PATH;
}

bool np_settings_refresh(struct np_settings *s)
{
	struct stat st = { 0 };
	struct np_conf conf;

	if (stat(path(), &st))
		memset(&st, 0, sizeof(st));
	if (s->read && st.st_size == s->size &&
	    st.st_mtim.tv_sec == s->changed.tv_sec &&
	    st.st_mtim.tv_nsec == s->changed.tv_nsec)
		return false;
	s->read = true;
	s->size = st.st_size;
	s->changed = st.st_mtim;
	s->trouble.text[0] = '\0';
	if (np_conf_from_environment(&conf, &s->trouble))
		return false;
	s->conf = conf;
	return true;
}

void np_settings_policy(const struct np_settings *s,
			const struct np_app_index *index,
			struct np_policy *policy)
{
	const struct np_place_conf *c = &s->conf.place;
	double step = STEP_INTERVALS * c->interval_sec;

	np_policy_init(policy);
	policy->max_slowdown = c->max_slowdown;
	policy->max_defer_sec = c->max_defer_sec;
	policy->defer_step_sec = step > LEAST_STEP_SEC ? step : LEAST_STEP_SEC;
	policy->modes = 1u << c->mode;
	for (size_t i = 0; i < c->n_partitions; i++)
		policy->modes |= 1u << c->partition[i].mode;
	policy->unknown_as = np_app_index_unknown(index);
}

/* ---- Log lines ---- */

#define MAX_LINE 512
#define MAX_LINES 5 /* about one job in an hour */
#define HOUR_SEC 3600

/* Of a decision. How long or until when a job is held makes no difference. */
static uint64_t
digest(const struct np_job_snapshot *v, const struct np_outcome *o)
{
	const uint64_t what[] = { o->action, o->cause.why, o->cause.other,
				  o->cause.leaf, o->tasks };
	uint64_t h = np_hash(NP_HASH, what, sizeof(what));

	if (o->action == NP_ACT_RESTRICT)
		h = np_hash(h, o->leaves, sizeof(*o->leaves) *
			    v->map->leaves->words);
	return h ? h : 1;
}

/*
 * Whether a job has had its lines of this hour; its decision may keep changing.
 */
static bool is_over_limit(struct np_cached_job *cached, int64_t now_sec)
{
	int64_t hour = now_sec / HOUR_SEC;

	if (cached->said_hour != hour)
		cached->n_said = 0;
	cached->said_hour = hour;
	return ++cached->n_said > MAX_LINES;
}

size_t np_state_log_decisions(const struct np_job_snapshot *v,
			      const struct np_placement *p,
			      struct np_job_cache *cache)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct np_job_entry *entry = &v->job[i];
		const struct np_outcome *o = np_placement_at(p, i);
		struct np_cached_job *cached;
		char line[MAX_LINE];
		uint64_t d;

		if (entry->in->state == NP_JOB_RUNNING ||
		    entry->in->mode == NP_MODE_OFF || !entry->app[0])
			continue;
		cached = np_job_cache_find(cache, entry->id);
		d = digest(v, o);
		if (!cached || cached->said == d)
			continue;
		cached->said = d;
		n++;
		if (is_over_limit(cached, v->now_sec))
			continue;
		np_placement_text(p, entry->in, o,
				  line, sizeof(line));
		np_ctl_info("JobId=%u (%s): %s%s", entry->id, entry->app, line,
			    cached->n_said == MAX_LINES ?
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

void np_state_log_trouble(struct np_err *said, const struct np_err *trouble)
{
	if (!strcmp(said->text, trouble->text))
		return;
	if (trouble->text[0])
		np_ctl_error("%s", trouble->text);
	else
		np_ctl_info("no more trouble");
	*said = *trouble;
}

/* ---- Denied claims ---- */

static struct np_denied *find(struct np_denials *d, uint32_t uid,
			      const char *app)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->at[i].uid == uid && !strcmp(d->at[i].app, app))
			return &d->at[i];
	return NULL;
}

void np_denied_gather(const struct np_job_snapshot *v,
		      const struct np_app_index *index, struct np_denials *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct np_job_entry *entry = &v->job[i];
		struct np_denied *d;

		if (np_claim_counts(entry->claim))
			continue;
		d = find(out, entry->in->owner, entry->app);
		if (!d && out->n == NP_DENIED_MAX) {
			out->n_more++;
			continue;
		}
		if (!d) {
			d = &out->at[out->n++];
			d->uid = entry->in->owner;
			d->claim = entry->claim;
			strcpy(d->app, entry->app);
			snprintf(d->why, sizeof(d->why), "%s%s", d->claim ==
				 NP_CLAIM_REFUTED ? "own runs contradict it: " :
				 "", np_app_index_why(index, d->app, d->uid,
						      d->claim));
		}
		d->n_jobs++;
	}
}

/* Index of a logged denial; told->n: it was not logged. */
static size_t find_told(const struct np_denied_logged *told, uint32_t uid,
			const char *app)
{
	size_t i = 0;

	while (i < told->n && (told->at[i].uid != uid ||
			       strcmp(told->at[i].app, app)))
		i++;
	return i;
}

/* Enter a denial as logged, at its index or in place of the oldest. */
static void remember(struct np_denied_logged *told, size_t at,
		     const struct np_denied *d)
{
	if (at == told->n && told->n < NP_DENIED_KEEP) {
		told->n++;
	} else if (at == told->n) {
		at = told->next;
		told->next = (at + 1) % NP_DENIED_KEEP;
	}
	told->at[at].uid = d->uid;
	told->at[at].claim = d->claim;
	strcpy(told->at[at].app, d->app);
}

/*
 * Forget logged denials whose claims are valid now, to log them if they recur.
 */
static void forget_valid(const struct np_job_snapshot *v,
			 const struct np_denials *d,
			 struct np_denied_logged *told)
{
	for (size_t i = 0; told->n && i < v->n_jobs; i++) {
		const struct np_job_entry *entry = &v->job[i];
		size_t at;

		if (!np_claim_counts(entry->claim) || !entry->app[0])
			continue;
		at = find_told(told, entry->in->owner, entry->app);
		/* Claims may depend on the job's account or partition, so that
		   one job of a user is denied and another is not. */
		if (at < told->n && !find((struct np_denials *)d,
					  entry->in->owner, entry->app)) {
			told->at[at] = told->at[--told->n];
			told->next = 0;
		}
	}
}

size_t np_denied_log(const struct np_job_snapshot *v,
		     const struct np_denials *d, struct np_denied_logged *told)
{
	size_t n = 0;

	forget_valid(v, d, told);
	for (size_t i = 0; i < d->n; i++) {
		const struct np_denied *one = &d->at[i];
		size_t at = find_told(told, one->uid, one->app);

		if (at < told->n && told->at[at].claim == one->claim)
			continue;
		remember(told, at, one);
		np_ctl_info("uid %u may not use the profile name \"%s\": %s; "
			    "its jobs of that name count as unknown", one->uid,
			    one->app, one->why);
		n++;
	}
	return n;
}

/* ---- state.json ---- */

/* Argument of add_cause(). */
struct causes {
	const struct np_job_snapshot *v;
	const struct np_job_entry **entry; /* by id */
	struct np_state_job *to;
};

static int by_id(const void *a, const void *b)
{
	uint32_t x = (*(const struct np_job_entry *const *)a)->id;
	uint32_t y = (*(const struct np_job_entry *const *)b)->id;

	return x < y ? -1 : x > y;
}

/* The jobs of a snapshot by id, as pointers. NULL: out of memory. */
static const struct np_job_entry **sorted(const struct np_job_snapshot *v)
{
	const struct np_job_entry **s = calloc(v->n_jobs + 1, sizeof(*s));

	for (size_t i = 0; s && i < v->n_jobs; i++)
		s[i] = &v->job[i];
	if (s)
		qsort(s, v->n_jobs, sizeof(*s), by_id);
	return s;
}

/* Name of the application of a job; "": unknown. */
static const char *app_of(const struct causes *c, uint32_t id)
{
	const struct np_job_entry key = { .id = id }, *find = &key;
	const struct np_job_entry **at = bsearch(&find, c->entry, c->v->n_jobs,
						 sizeof(*c->entry), by_id);

	return at ? (*at)->app : "";
}

/* np_placement_cause_fn: append a cause to a job. */
static void add_cause(void *arg, const struct np_cause *c)
{
	struct causes *a = arg;
	struct np_state_job *j = a->to;

	if (j->n_causes == NP_STATE_MAX_CAUSES || c->leaf == NP_NO_LEAF)
		return;
	if (!j->cause)
		j->cause = calloc(NP_STATE_MAX_CAUSES, sizeof(*j->cause));
	if (!j->cause)
		return;
	j->cause[j->n_causes++] = (struct np_state_cause){
		.leaf = strdup(a->v->map->leaves->name[c->leaf]),
		.other = c->other, .other_app = strdup(app_of(a, c->other)),
		.victim = c->victim_self ? j->id : c->victim,
		.slowdown = c->slowdown,
	};
}

static const char *const actions[] = {
	[NP_ACT_NONE] = "none", [NP_ACT_UNRESTRICTED] = "anywhere",
	[NP_ACT_RESTRICT] = "confine", [NP_ACT_HOLD] = "defer",
};

/* Fill in the decision about a pending job. */
static void fill_pending(struct causes *causes, const struct np_placement *p,
			 size_t i, struct np_state_job *to)
{
	const struct np_outcome *o = np_placement_at(p, i);
	const struct np_job_snapshot *v = causes->v;
	char line[MAX_LINE];

	causes->to = to;
	to->action = strdup(actions[o->action]);
	to->applied = o->applied;
	to->until = (double)o->until_sec;
	to->held_sec = o->held_sec;
	to->text = strdup(!np_claim_counts(v->job[i].claim)
			  ? "ignored: its user is not authorised to "
			  "use that profile name; see netprof status"
			  : np_placement_text(p, v->job[i].in, o, line,
					      sizeof(line)));
	if (o->action == NP_ACT_RESTRICT)
		to->leaves =
			np_cluster_map_leaf_list(v->map, o->leaves, NULL, 0);
	if (o->action == NP_ACT_RESTRICT || o->action == NP_ACT_HOLD)
		np_placement_causes(p, i, add_cause, causes);
}

static void fill_job(struct causes *causes, const struct np_placement *p,
		     size_t i, struct np_state_job *to)
{
	const struct np_job_snapshot *v = causes->v;
	const struct np_job_entry *entry = &v->job[i];
	const struct np_job *in = entry->in;

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
				       v->map->part[entry->partition].name),
		.mode = strdup(np_mode_name(in->mode)),
		.pending = in->state != NP_JOB_RUNNING,
		.n_nodes = entry->n_nodes,
		.held_sec = entry->annotation.held_sec,
	};
	if (to->pending) {
		fill_pending(causes, p, i, to);
		return;
	}
	to->start = (double)in->start_sec;
	to->leaves =
		np_cluster_map_leaf_list(v->map, NULL, in->leaf, in->n_leaves);
}

static int fill_jobs(const struct np_job_snapshot *v,
		     const struct np_placement *p, struct np_state *s)
{
	struct causes causes = { .v = v, .entry = sorted(v) };

	s->job = calloc(v->n_jobs + 1, sizeof(*s->job));
	if (!s->job || !causes.entry) {
		free(causes.entry);
		return -ENOMEM;
	}
	for (size_t i = 0; i < v->n_jobs; i++)
		if (v->job[i].app[0])
			fill_job(&causes, p, i, &s->job[s->n_jobs++]);
	free(causes.entry);
	return 0;
}

/* Count the jobs running on each leaf. */
static void count_jobs(const struct np_job_snapshot *v, struct np_state *s)
{
	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct np_job *in = v->job[i].in;

		for (size_t k = 0; k < in->n_leaves; k++) {
			s->leaf[in->leaf[k]].n_jobs++;
			s->leaf[in->leaf[k]].n_known += in->profile >= 0;
		}
	}
}

static int fill_leaves(const struct np_job_snapshot *v,
		       const struct np_placement *p, struct np_state *s)
{
	const struct np_leaves *l = v->map->leaves;

	s->leaf = calloc(l->n + 1, sizeof(*s->leaf));
	if (!s->leaf)
		return -ENOMEM;
	s->n_leaves = l->n;
	for (size_t i = 0; i < l->n; i++) {
		struct np_state_leaf *to = &s->leaf[i];

		to->name = strdup(l->name[i]);
		to->n_nodes = l->first[i + 1] - l->first[i];
		to->worst_slowdown = np_placement_worst_slowdown(p, i);
		for (uint32_t k = l->first[i]; k < l->first[i + 1]; k++) {
			to->n_idle += v->node[l->node[k]] == NP_NODE_IDLE;
			to->n_unavailable += v->node[l->node[k]] ==
					     NP_NODE_UNAVAILABLE;
		}
	}
	count_jobs(v, s);
	return 0;
}

static int fill_claims(const struct np_denials *d, struct np_state *s)
{
	s->claim = calloc(d->n + 1, sizeof(*s->claim));
	if (!s->claim)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		s->claim[s->n_claims++] = (struct np_state_claim){
			.uid = d->at[i].uid, .app = strdup(d->at[i].app),
			.n_jobs = d->at[i].n_jobs,
			.refuted = d->at[i].claim == NP_CLAIM_REFUTED,
			.why = strdup(d->at[i].why),
		};
	s->more_denied = d->n_more;
	return 0;
}

int np_state_make(const struct np_state_input *t,
		  const struct np_job_snapshot *v, const struct np_placement *p,
		  struct np_state *out)
{
	const struct np_place_conf *conf = &t->settings->conf.place;
	char version[NP_LOADER_TEXT];
	struct np_state s = {
		.date = (double)v->now_sec, .interval_sec = conf->interval_sec,
		.cluster = strdup(t->controller->cluster),
		.slurm_version = strdup(np_loader_text(SLURM_VERSION_NUMBER,
						       version)),
		.netprof_version = strdup(NP_VERSION),
		.controller = strdup(t->controller->host),
		.mode = strdup(np_mode_name(conf->mode)),
		.fabric = strdup(t->fabric), .trouble = strdup(t->trouble),
		.max_slowdown = conf->max_slowdown,
		.max_defer_sec = conf->max_defer_sec,
		.n_profiles = (uint32_t)t->table->n,
		.decide_sec = t->decide_sec,
	};
	int rc = fill_leaves(v, p, &s);

	if (!rc)
		rc = fill_jobs(v, p, &s);
	if (!rc && t->denied)
		rc = fill_claims(t->denied, &s);
	if (rc)
		np_state_free(&s);
	else
		*out = s;
	return rc;
}
