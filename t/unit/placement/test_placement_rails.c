/*
 * Nodes with two rails: a leaf switch of each. Every rail by itself is a world
 * of oracle.h, whose leaves are the switches of that rail and whose jobs are
 * those that load it.
 */
#include "t.h"
#include "random_toy.h"

static struct world world, of_rail[2];

/* Switches of rail r1: rows of nodes that end elsewhere than the leaves do. */
static void add_rail(struct world *w, uint64_t *seed)
{
	static const char *const loads[] = { "", "r0", "r1" };
	uint32_t node = 0;

	while (node < w->n_nodes) {
		size_t i = w->n_switches++;
		uint32_t n = 1 + w_random(seed, 6);

		snprintf(w->switch_name[i], sizeof(w->switch_name[i]), "x%zu",
			 i);
		snprintf(w->switch_rail[i], 8, "r1");
		while (n-- && node < w->n_nodes)
			w->switch_node[i][w->switch_nodes[i]++] = node++;
	}
	for (size_t i = 0; i < w->n_apps; i++)
		snprintf(w->app_rails[i], 8, "%s", loads[w_random(seed, 3)]);
	w->policy.unknown_as = NP_PROFILE_UNKNOWN;
}

/* The world of one rail; jobs that do not load it are of unknown kind. */
static void project(const struct world *w, int rail, struct world *to)
{
	*to = *w;
	to->n_switches = 0;
	for (size_t i = 0; rail && i < w->n_switches; i++)
		to->leaf_first[i + 1] =
			w->switch_node[i][0] + (uint32_t)w->switch_nodes[i];
	if (rail)
		to->n_leaves = w->n_switches;
	for (size_t i = 0; i < w->n_jobs; i++) {
		int32_t app = w->job[i].in.profile;

		if (app >= 0 && *w->app_rails[app] &&
		    strcmp(w->app_rails[app], t_text("r%d", rail)))
			to->job[i].in.profile = NP_PROFILE_UNKNOWN;
	}
}

/* The switches of a rail on which a job may run; 0 if it does not load it. */
static uint64_t switches_of(const struct world *w, const struct np_snapshot *s,
			    size_t job, const struct np_outcome *v)
{
	uint64_t on = 0;

	if (w->job[job].in.profile < 0 || v->action == NP_ACT_HOLD)
		return 0;
	for (uint32_t node = 0; node < w->n_nodes; node++) {
		uint32_t leaf = s->leaves->leaf[node];

		if (np_bits_test(w->job[job].candidates, node) &&
		    w_leaf_of(w, node) != NP_NO_LEAF && leaf != NP_NO_LEAF &&
		    (v->action == NP_ACT_UNRESTRICTED ||
		     np_bits_test(v->leaves, leaf)))
			on |= UINT64_C(1) << w_leaf_of(w, node);
	}
	return on;
}

static bool apart_on(const struct world *w, const struct np_placement *p,
		     const struct np_snapshot *s)
{
	for (size_t i = 0; i < w->n_jobs; i++) {
		const struct np_outcome *v = np_outcome_of(p, i);
		uint64_t on = rw_bound(&world, i, v) ? switches_of(w, s, i, v) :
						       0;

		NP_BITS_EACH(leaf, &on, 1) {
			if (o_avoids(w, i, -1, (uint32_t)leaf))
				return false;
			for (size_t k = 0; k < i; k++) {
				const struct np_outcome *u =
					np_outcome_of(p, k);

				if (rw_bound(&world, k, u) &&
				    switches_of(w, s, k, u) >> leaf & 1 &&
				    o_conflict(w, i, k, (uint32_t)leaf))
					return false;
			}
		}
	}
	return true;
}

/* Usable candidate nodes that an outcome leaves to a job. */
static unsigned left(const struct world *w, const struct np_snapshot *s,
		     size_t job, const struct np_outcome *v)
{
	unsigned n = 0;

	for (uint32_t node = 0; node < w->n_nodes; node++)
		n += np_bits_test(w->job[job].candidates, node) &&
		     !w->unavailable[node] &&
		     (v->action == NP_ACT_UNRESTRICTED ||
		      s->leaves->leaf[node] == NP_NO_LEAF ||
		      np_bits_test(v->leaves, s->leaves->leaf[node]));
	return n;
}

T_TEST("jobs that conflict are apart on each rail that both load")
{
	unsigned restricted = 0, held = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		uint64_t seed = k;
		struct np_snapshot *s;
		struct np_placement *p;

		rw_make(&world, k, k % 2);
		add_rail(&world, &seed);
		s = w_snapshot(&world);
		p = w_decide(&world);
		for (int rail = 0; rail < 2; rail++) {
			project(&world, rail, &of_rail[rail]);
			if (!apart_on(&of_rail[rail], p, s))
				T_ROW(rw_row("conflicting jobs may meet", k),
				      0);
		}
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_outcome *v = np_outcome_of(p, i);

			restricted += v->action == NP_ACT_RESTRICT;
			held += v->action == NP_ACT_HOLD;
			if (v->action == NP_ACT_RESTRICT &&
			    left(&world, s, i, v) < world.job[i].in.nodes_min)
				T_ROW(rw_row("too few nodes", k), 0);
		}
		np_placement_free(p);
		np_snapshot_unref(s);
	}
	T_CHECK(restricted > 1000 && held > 500); /* else nothing is shown */
}

/* A second rail with the same switches changes no decision. */
T_TEST("rails that are alike count once")
{
	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p, *q;

		rw_make(&world, k, true);
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_leaves; i++) {
			world.n_switches++;
			snprintf(world.switch_name[i],
				 sizeof(world.switch_name[i]), "x%zu", i);
			snprintf(world.switch_rail[i], 8, "r1");
			for (uint32_t n = world.leaf_first[i];
			     n < world.leaf_first[i + 1]; n++)
				world.switch_node[i][world.switch_nodes[i]++] =
					n;
		}
		q = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_outcome *v = np_outcome_of(p, i);
			const struct np_outcome *u = np_outcome_of(q, i);

			if (v->action != u->action || v->tasks != u->tasks ||
			    v->held_sec != u->held_sec ||
			    o_open(&world, i, v) != o_open(&world, i, u))
				T_ROW(rw_row("a second rail matters", k), 0);
		}
		np_placement_free(p);
		np_placement_free(q);
	}
}
