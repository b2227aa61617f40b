/* The decision as state.json has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_bits.h"
#include "np_ctl.h"
#include "np_loader.h"
#include "np_state.h"
#include "np_tell.h"

#define MAX_LINE 512

static char *leaf_list(const struct np_view *v, const uint64_t *bits,
		       const uint32_t *leaf, size_t n)
{
	const struct np_leaves *l = np_site_leaves(v->site);
	np_hostlist_t list = slurm_hostlist_create(NULL);
	char *text;

	if (bits)
		NP_BITS_EACH(i, bits, np_leaves_words(l))
			slurm_hostlist_push_host(list, np_leaves_name(l, i));
	for (size_t i = 0; i < n; i++)
		slurm_hostlist_push_host(list, np_leaves_name(l, leaf[i]));
	text = np_ranged_string(list);
	slurm_hostlist_destroy(list);
	return text;
}

struct causes {
	const struct np_view *v;
	const struct np_seen **seen; /* by id */
	struct np_state_job *to;
};

static int by_id(const void *a, const void *b)
{
	uint32_t x = (*(const struct np_seen *const *)a)->id;
	uint32_t y = (*(const struct np_seen *const *)b)->id;

	return x < y ? -1 : x > y;
}

static const struct np_seen **sorted(const struct np_view *v)
{
	const struct np_seen **s = calloc(v->n_jobs + 1, sizeof(*s));

	for (size_t i = 0; s && i < v->n_jobs; i++)
		s[i] = &v->job[i];
	if (s)
		qsort(s, v->n_jobs, sizeof(*s), by_id);
	return s;
}

static const char *app_of(const struct causes *c, uint32_t id)
{
	const struct np_seen key = { .id = id }, *find = &key;
	const struct np_seen **at = bsearch(&find, c->seen, c->v->n_jobs,
					    sizeof(*c->seen), by_id);

	return at ? (*at)->app : "";
}

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
		.leaf = strdup(np_leaves_name(np_site_leaves(a->v->site),
					      c->leaf)),
		.other = c->other, .other_app = strdup(app_of(a, c->other)),
		.victim = c->victim_self ? j->id : c->victim,
		.slowdown = c->slowdown,
	};
}

static const char *const actions[] = {
	[NP_ACT_NONE] = "none", [NP_ACT_ANYWHERE] = "anywhere",
	[NP_ACT_CONFINE] = "confine", [NP_ACT_DEFER] = "defer",
};

static void fill_pending(struct causes *causes, const struct np_placement *p,
			 size_t i, struct np_state_job *to)
{
	const struct np_outcome *o = np_placement_at(p, i);
	const struct np_view *v = causes->v;
	char line[MAX_LINE];

	causes->to = to;
	to->action = strdup(actions[o->action]);
	to->applied = o->applied;
	to->until = (double)o->until_sec;
	to->held_sec = o->held_sec;
	to->text = strdup(v->job[i].claim != NP_CLAIM_HOLDS ?
		"left alone: its user may not claim that name, see netprof "
		"status" : np_placement_text(p,
		np_snapshot_job_at(v->snapshot, i), o, line, sizeof(line)));
	if (o->action == NP_ACT_CONFINE)
		to->leaves = leaf_list(v, o->leaves, NULL, 0);
	if (o->action == NP_ACT_CONFINE || o->action == NP_ACT_DEFER)
		np_placement_causes(p, i, add_cause, causes);
}

static void fill_job(struct causes *causes, const struct np_placement *p,
		     size_t i, struct np_state_job *to)
{
	const struct np_view *v = causes->v;
	const struct np_seen *seen = &v->job[i];
	size_t n;
	const uint32_t *leaf;

	*to = (struct np_state_job){
		.id = seen->id, .array = seen->array, .task = seen->task,
		.uid = seen->uid, .app = strdup(seen->app),
		.known = seen->profile >= 0,
		.partition = strdup(seen->partition < 0 ? "" :
			np_site_partition_name(v->site, seen->partition)),
		.mode = strdup(np_mode_name(seen->mode)),
		.pending = seen->state != NP_JOB_RUNNING,
		.n_nodes = seen->n_nodes, .held_sec = seen->held_sec,
	};
	if (to->pending) {
		fill_pending(causes, p, i, to);
		return;
	}
	to->start = (double)seen->start_sec;
	leaf = np_snapshot_job_leaves(v->snapshot, i, &n);
	to->leaves = leaf_list(v, NULL, leaf, n);
}

static int fill_jobs(const struct np_view *v, const struct np_placement *p,
		     struct np_state *s)
{
	struct causes causes = { .v = v, .seen = sorted(v) };

	s->job = calloc(v->n_jobs + 1, sizeof(*s->job));
	if (!s->job || !causes.seen) {
		free(causes.seen);
		return -ENOMEM;
	}
	for (size_t i = 0; i < v->n_jobs; i++)
		if (v->job[i].app[0])
			fill_job(&causes, p, i, &s->job[s->n_jobs++]);
	free(causes.seen);
	return 0;
}

static void count_jobs(const struct np_view *v, struct np_state *s)
{
	for (size_t i = 0; i < v->n_jobs; i++) {
		const uint32_t *leaf;
		size_t n;

		if (v->job[i].state != NP_JOB_RUNNING)
			continue;
		leaf = np_snapshot_job_leaves(v->snapshot, i, &n);
		for (size_t k = 0; k < n; k++) {
			s->leaf[leaf[k]].n_jobs++;
			s->leaf[leaf[k]].n_known += v->job[i].profile >= 0;
		}
	}
}

static int fill_leaves(const struct np_view *v, const struct np_placement *p,
		       struct np_state *s)
{
	const struct np_leaves *l = np_site_leaves(v->site);

	s->leaf = calloc(np_leaves_n(l) + 1, sizeof(*s->leaf));
	if (!s->leaf)
		return -ENOMEM;
	s->n_leaves = np_leaves_n(l);
	for (size_t i = 0; i < s->n_leaves; i++) {
		size_t n;
		const uint32_t *node = np_leaves_nodes(l, i, &n);

		s->leaf[i].name = strdup(np_leaves_name(l, i));
		s->leaf[i].n_nodes = (uint32_t)n;
		s->leaf[i].strain = np_placement_strain(p, i);
		for (size_t k = 0; k < n; k++) {
			s->leaf[i].n_idle += v->node[node[k]] == NP_NODE_IDLE;
			s->leaf[i].n_away += v->node[node[k]] == NP_NODE_AWAY;
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

int np_tell_make(const struct np_tell *t, const struct np_view *v,
		 const struct np_placement *p, struct np_state *out)
{
	const struct np_place_conf *conf = &t->settings->conf.place;
	char version[NP_LOADER_TEXT];
	struct np_state s = {
		.date = (double)v->now_sec, .interval_sec = conf->interval_sec,
		.cluster = strdup(t->role->cluster),
		.slurm_version = strdup(np_loader_text(SLURM_VERSION_NUMBER,
						       version)),
		.netprof_version = strdup(NP_VERSION),
		.controller = strdup(t->role->host),
		.mode = strdup(np_mode_name(conf->mode)),
		.fabric = strdup(t->fabric), .trouble = strdup(t->trouble),
		.max_slowdown = conf->max_slowdown,
		.max_defer_sec = conf->max_defer_sec,
		.n_profiles = (uint32_t)np_press_n(t->table),
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
