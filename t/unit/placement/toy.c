#include "toy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

static void die(const char *what, const char *text)
{
	fprintf(stderr, "world: %s: %s\n", what, text);
	abort();
}

void w_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	np_policy_init(&w->policy);
	w->now_sec = 1000;
	w->last_sec = 990;
}

uint32_t w_random(uint64_t *seed, uint32_t below)
{
	return (uint32_t)(np_rng_next(seed) >> 32) % below;
}

uint32_t w_leaf_of(const struct world *w, uint32_t node)
{
	for (uint32_t i = 0; i < w->n_leaves; i++)
		if (node < w->leaf_first[i + 1])
			return i;
	return NP_NO_LEAF;
}

size_t w_find(const struct world *w, uint32_t id)
{
	for (size_t i = 0; i < w->n_jobs; i++)
		if (w->job[i].in.id == id)
			return i;
	die("no such job", "");
	return 0;
}

static uint32_t leaf_named(const struct world *w, const char *name)
{
	for (uint32_t i = 0; i < w->n_leaves; i++)
		if (!strcmp(w->leaf_name[i], name))
			return i;
	die("no such leaf", name);
	return 0;
}

static uint32_t app_named(const struct world *w, const char *name)
{
	for (uint32_t i = 0; i < w->n_apps; i++)
		if (!strcmp(w->app_name[i], name))
			return i;
	die("no such application", name);
	return 0;
}

static void add_leaf(struct world *w, const char *name, unsigned nodes)
{
	snprintf(w->leaf_name[w->n_leaves], 8, "%s", name);
	w->n_leaves++;
	w->n_nodes += nodes;
	w->leaf_first[w->n_leaves] = (uint32_t)w->n_nodes;
}

static bool in_use(const struct world *w, uint32_t node)
{
	for (size_t i = 0; i < w->n_jobs; i++)
		for (size_t k = 0; k < w->job[i].in.n_nodes; k++)
			if (w->job[i].node[k] == node)
				return true;
	return false;
}

/* "a:2": the first two nodes of a in nobody's use. */
static void run_on(struct world *w, struct w_job *j, char *where)
{
	char *colon = strchr(where, ':');
	unsigned n = colon ? (unsigned)atoi(colon + 1) : 1;
	uint32_t leaf;

	if (colon)
		*colon = '\0';
	leaf = leaf_named(w, where);
	for (uint32_t i = w->leaf_first[leaf]; i < w->leaf_first[leaf + 1] && n;
	     i++) {
		if (in_use(w, i) && !(j->in.flags & NP_JOB_SHARES_NODES))
			continue;
		j->node[j->in.n_nodes++] = i;
		n--;
	}
	if (n)
		die("not so many free nodes", where);
}

static uint64_t leaf_list(const struct world *w, char *list)
{
	uint64_t bits = 0;
	char *at;

	for (char *one = strtok_r(list, ",", &at); one;
	     one = strtok_r(NULL, ",", &at))
		if (strcmp(one, "loose"))
			bits |= UINT64_C(1) << leaf_named(w, one);
	return bits;
}

static void only_on(const struct world *w, struct w_job *j, uint64_t leaves)
{
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		uint32_t leaf = w_leaf_of(w, i);

		if (leaf == NP_NO_LEAF ? leaves != 0 : !(leaves >> leaf & 1))
			np_bits_clear(j->candidates, i);
	}
}

static void set_prior(const struct world *w, struct w_job *j, char *what)
{
	j->in.prior = NP_PRIOR_RESTRICTED;
	if (!strcmp(what, "any")) {
		j->in.prior = NP_PRIOR_UNRESTRICTED;
	} else if (!strncmp(what, "hold:", 5)) {
		j->in.prior = NP_PRIOR_HELD;
		j->in.prior_until_sec = atoll(what + 5);
	} else {
		j->prior[0] = leaf_list(w, what);
	}
}

static bool option(struct world *w, struct w_job *j, char *word)
{
	static const struct {
		const char *word;
		unsigned flag;
	} flags[] = {
		{ "shares", NP_JOB_SHARES_NODES },
		{ "spans", NP_JOB_SPANS },
		{ "nodelist", NP_JOB_NODELIST },
		{ "reserved", NP_JOB_RESERVATION },
		{ "het", NP_JOB_HETEROGENEOUS },
		{ "constraint", NP_JOB_CONSTRAINT },
		{ "changing", NP_JOB_CHANGING },
		{ "unproved", NP_JOB_UNPROVED },
		{ "urgent", NP_JOB_URGENT },
	};
	static const char *const modes[] = { "off", "advise", "prefer",
					     "enforce" };
	char *value = strchr(word, '=');

	for (size_t i = 0; i < NP_ARRAY_SIZE(flags); i++)
		if (!strcmp(word, flags[i].word)) {
			j->in.flags |= flags[i].flag;
			return true;
		}
	if (!strcmp(word, "waiting")) {
		j->in.state = NP_JOB_WAITING;
		return true;
	}
	if (!value)
		return false;
	*value++ = '\0';
	for (int i = 0; !strcmp(word, "mode") && i < 4; i++)
		if (!strcmp(value, modes[i]))
			j->in.mode = (enum np_mode)i;
	if (!strcmp(word, "prio"))
		j->in.priority = (uint32_t)atoi(value);
	else if (!strcmp(word, "own"))
		j->in.owner = (uint32_t)atoi(value);
	else if (!strcmp(word, "part"))
		j->in.partition = (uint16_t)atoi(value);
	else if (!strcmp(word, "tasks"))
		j->in.tasks = (uint32_t)atoi(value);
	else if (!strcmp(word, "switches"))
		j->in.switches = (uint32_t)atoi(value);
	else if (!strcmp(word, "submit"))
		j->in.submit_sec = atoll(value);
	else if (!strcmp(word, "begin"))
		j->in.eligible_sec = atoll(value);
	else if (!strcmp(word, "start"))
		j->in.start_sec = atoll(value);
	else if (!strcmp(word, "held"))
		j->in.held_sec = atof(value);
	else if (!strcmp(word, "on"))
		only_on(w, j, leaf_list(w, value));
	else if (!strcmp(word, "prior"))
		set_prior(w, j, value);
	else
		return !strcmp(word, "mode");
	return true;
}

/* "run 1 X a:2 ..." and "job 2 X 4 ...", after the first word. */
static void add_job(struct world *w, char **at, bool running)
{
	struct w_job *j = &w->job[w->n_jobs];
	const char *id = strtok_r(NULL, " ", at);
	const char *app = strtok_r(NULL, " ", at);
	char *word = running ? (char *)"" : strtok_r(NULL, " ", at);

	if (!id || !app || !word)
		die("a job needs number, application, nodes", id ? id : "");
	memset(j, 0, sizeof(*j));
	j->in.id = (uint32_t)atoi(id);
	j->in.mode = NP_MODE_ENFORCE;
	j->in.profile = strcmp(app, "-") ? (int32_t)app_named(w, app) :
					   NP_PROFILE_UNKNOWN;
	j->in.state = running ? NP_JOB_RUNNING : NP_JOB_READY;
	j->in.tasks = 1;
	j->in.submit_sec = 1;
	j->in.nodes_min = running ? 1 : (uint32_t)atoi(word);
	for (uint32_t i = 0; i < w->n_nodes; i++)
		np_bits_set(j->candidates, i);
	w->n_jobs++;
	while ((word = strtok_r(NULL, " ", at)))
		if (!option(w, j, word)) {
			if (!running)
				die("no such option", word);
			run_on(w, j, word);
		}
}

static void add_pair(struct world *w, char **at, bool both)
{
	uint32_t a = app_named(w, strtok_r(NULL, " ", at));
	uint32_t b = app_named(w, strtok_r(NULL, " ", at));
	double slow = atof(strtok_r(NULL, " ", at));
	const char *where = strtok_r(NULL, " ", at);
	static const char *const contacts[] = { "node", "leaf", "uplink" };

	for (int k = 0; k < NP_N_CONTACTS; k++) {
		if (where && strcmp(where, contacts[k]))
			continue;
		w->slow[k][a][b] = slow;
		if (both)
			w->slow[k][b][a] = slow;
	}
}

static void add_switch(struct world *w, char **at)
{
	size_t i = w->n_switches++;
	unsigned first, last;

	snprintf(w->switch_name[i], sizeof(w->switch_name[i]), "%s",
		 strtok_r(NULL, " ", at));
	snprintf(w->switch_rail[i], 8, "%s", strtok_r(NULL, " ", at));
	for (char *word; (word = strtok_r(NULL, " ", at));) {
		if (sscanf(word, "%u-%u", &first, &last) != 2)
			die("no nodes", word);
		for (; first <= last; first++)
			w->switch_node[i][w->switch_nodes[i]++] = first;
	}
}

static void add_app(struct world *w, char **at)
{
	const char *name = strtok_r(NULL, " ", at);
	const char *own = strtok_r(NULL, " ", at);

	snprintf(w->app_name[w->n_apps], 8, "%s", name);
	w->app_trusted[w->n_apps] = !own;
	w->app_owner[w->n_apps] = own ? (uint32_t)atoi(own + 4) : 0;
	w->n_apps++;
}

static void statement(struct world *w, char *text)
{
	char *at, *verb = strtok_r(text, " ", &at), *a, *b;

	if (!verb)
		return;
	if (!strcmp(verb, "run") || !strcmp(verb, "job")) {
		add_job(w, &at, verb[0] == 'r');
		return;
	}
	if (!strcmp(verb, "pair") || !strcmp(verb, "both")) {
		add_pair(w, &at, verb[0] == 'b');
		return;
	}
	if (!strcmp(verb, "app")) {
		add_app(w, &at);
		return;
	}
	if (!strcmp(verb, "switch")) {
		add_switch(w, &at);
		return;
	}
	a = strtok_r(NULL, " ", &at);
	b = strtok_r(NULL, " ", &at);
	if (!a)
		die("incomplete", verb);
	if (!strcmp(verb, "leaf") && b)
		add_leaf(w, a, (unsigned)atoi(b));
	else if (!strcmp(verb, "loads") && b)
		snprintf(w->app_rails[app_named(w, a)], 8, "%s", b);
	else if (!strcmp(verb, "loose"))
		w->n_nodes += (size_t)atoi(a);
	else if (!strcmp(verb, "down") && b)
		for (int i = 0; i < atoi(b); i++)
			w->unavailable[w->leaf_first[leaf_named(w, a) + 1] - 1 -
				       (unsigned)i] = true;
	else if (!strcmp(verb, "now"))
		w->now_sec = atoll(a);
	else if (!strcmp(verb, "last"))
		w->last_sec = atoll(a);
	else if (!strcmp(verb, "max"))
		w->policy.max_slowdown = atof(a);
	else if (!strcmp(verb, "hold"))
		w->policy.max_hold_sec = atof(a);
	else if (!strcmp(verb, "as"))
		w->policy.unknown_as = (int32_t)app_named(w, a);
	else
		die("no such statement", verb);
}

void w_parse(struct world *w, const char *text)
{
	char *copy = strdup(text), *at;

	for (char *s = strtok_r(copy, ";\n", &at); s;
	     s = strtok_r(NULL, ";\n", &at))
		statement(w, s);
	free(copy);
}

static void must(int rc, const struct np_err *err)
{
	if (rc)
		die("refused", err->text);
}

static struct np_leaves *make_leaves(const struct world *w)
{
	struct np_leaf leaf[2 * W_MAX_LEAVES];
	uint32_t node[W_MAX_NODES];
	struct np_leaves *l;
	struct np_err err;

	for (uint32_t i = 0; i < w->n_nodes; i++)
		node[i] = i;
	for (size_t i = 0; i < w->n_leaves; i++)
		leaf[i] = (struct np_leaf){
			w->leaf_name[i],
			node + w->leaf_first[i],
			w->leaf_first[i + 1] - w->leaf_first[i],
			w->n_switches ? "r0" : NULL,
		};
	for (size_t i = 0; i < w->n_switches; i++)
		leaf[w->n_leaves + i] = (struct np_leaf){
			w->switch_name[i],
			w->switch_node[i],
			w->switch_nodes[i],
			w->switch_rail[i],
		};
	must(np_leaves_new(w->n_nodes, leaf, w->n_leaves + w->n_switches, &l,
			   &err),
	     &err);
	return l;
}

static void add_nodes(const struct world *w, struct np_snapshot *s)
{
	bool used[W_MAX_NODES] = { 0 }, whole[W_MAX_NODES] = { 0 };
	struct np_err err;

	for (size_t i = 0; i < w->n_jobs; i++)
		for (size_t k = 0; k < w->job[i].in.n_nodes; k++) {
			used[w->job[i].node[k]] = true;
			whole[w->job[i].node[k]] |=
				!(w->job[i].in.flags & NP_JOB_SHARES_NODES);
		}
	for (size_t i = 0; i < w->n_nodes; i++)
		must(np_snapshot_node(s, i,
				      w->unavailable[i] ? NP_NODE_UNAVAILABLE :
				      whole[i]		? NP_NODE_FULL :
				      used[i]		? NP_NODE_MIXED :
							  NP_NODE_IDLE,
				      &err),
		     &err);
}

struct np_snapshot *w_snapshot(const struct world *w)
{
	struct np_leaves *l = make_leaves(w);
	struct np_snapshot *s;
	struct np_err err;

	must(np_snapshot_new(l, w->now_sec, w->last_sec, &s, &err), &err);
	np_leaves_unref(l);
	add_nodes(w, s);
	for (size_t i = 0; i < w->n_jobs; i++) {
		struct np_job j = w->job[i].in;

		j.node = w->job[i].node;
		j.prior_leaves = w->job[i].prior;
		if (j.state != NP_JOB_RUNNING)
			must(np_snapshot_nodes(s, w->job[i].candidates,
					       &j.candidates, &err),
			     &err);
		must(np_snapshot_job(s, &j, &err), &err);
	}
	np_snapshot_seal(s);
	return s;
}

static int slowdown_of(void *arg, uint32_t victim, uint32_t co,
		       enum np_contact contact, double *slowdown)
{
	const struct world *w = arg;

	*slowdown = w->slow[contact][victim][co];
	return 0;
}

struct np_slowdowns *w_slowdowns(const struct world *w)
{
	struct np_oracle o = { slowdown_of, (void *)w };
	struct np_conflict *c = np_conflict_new(&o);
	struct np_slowdowns *t;
	struct np_err err;
	uint32_t handle;

	for (size_t i = 0; i < w->n_apps; i++) {
		must(np_conflict_add(c, w->app_owner[i], w->app_trusted[i],
				     &handle, &err),
		     &err);
		np_conflict_set_rails(c, handle, w->app_rails[i]);
	}
	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	must(np_conflict_table(c, 0.01, &t, &err), &err);
	np_conflict_free(c);
	return t;
}

struct np_placement *w_decide(const struct world *w)
{
	struct np_snapshot *s = w_snapshot(w);
	struct np_slowdowns *t = w_slowdowns(w);
	struct np_placement *p;
	struct np_err err;

	must(np_placement_decide(s, t, &w->policy, &p, &err), &err);
	np_snapshot_unref(s);
	np_slowdowns_unref(t);
	return p;
}

uint32_t w_candidates(const struct world *w, size_t job)
{
	struct np_snapshot *s = w_snapshot(w);
	uint32_t set = s->job[job].candidates;

	np_snapshot_unref(s);
	return set;
}

const char *w_opens(const struct world *w, const struct np_outcome *v)
{
	static const char *const words[] = { "none", "any", NULL, "hold" };
	static char buf[W_MAX_LEAVES * 40];
	struct np_leaves *l;
	size_t at = 0;

	if (v->action != NP_ACT_RESTRICT)
		return words[v->action];
	buf[0] = '\0';
	l = make_leaves(w);
	for (size_t i = 0; i < l->n; i++)
		if (np_bits_test(v->leaves, i))
			at += (size_t)sprintf(buf + at, "%s%s", at ? "," : "",
					      l->name[i]);
	np_leaves_unref(l);
	return buf;
}

void w_apply(struct world *w, size_t job, const struct np_outcome *v)
{
	struct w_job *j = &w->job[job];

	j->in.held_sec = v->held_sec;
	switch (v->action) {
	case NP_ACT_NONE:
		j->in.prior = NP_PRIOR_NONE;
		break;
	case NP_ACT_UNRESTRICTED:
		j->in.prior = NP_PRIOR_UNRESTRICTED;
		break;
	case NP_ACT_RESTRICT:
		j->in.prior = NP_PRIOR_RESTRICTED;
		j->prior[0] = v->leaves[0];
		break;
	case NP_ACT_HOLD:
		j->in.prior = NP_PRIOR_HELD;
		j->in.prior_until_sec = v->until_sec;
		break;
	}
}
