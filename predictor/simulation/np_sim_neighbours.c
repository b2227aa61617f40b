/* How running jobs slow each other. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_simulate_impl.h"

static uint32_t speed_of(uint32_t load)
{
	double speed = rint(NP_SIM_SPEED * exp(-(double)load / NP_PRESS_UNIT));

	return speed < 1 ? 1 : (uint32_t)speed;
}

/* Its worst load is another one from now on. */
static void set_load(struct np_sim *s, uint32_t job, uint32_t load)
{
	struct np_running *r = s->running[job];

	if (load == r->load)
		return;
	r->left -= r->speed * (s->now - r->since_sec);
	r->since_sec = s->now;
	r->load = load;
	r->speed = speed_of(load);
	s->fate[job].slowed |= load > 0;
	np_sim_end_at(s, job);
}

static uint32_t worst_load(const struct np_running *r)
{
	uint32_t worst = 0;

	for (size_t i = 0; i < r->n_sites; i++)
		if (r->site[i].load > worst)
			worst = r->site[i].load;
	return np_press_clamp(worst);
}

/* The load of one of its sites changes by that of a neighbour. */
static void change(struct np_sim *s, uint32_t job, uint32_t site,
		   uint32_t load, bool comes)
{
	struct np_running *r = s->running[job];

	if (!load)
		return;
	if (comes)
		r->site[site].load += load;
	else
		r->site[site].load -= load;
	set_load(s, job, worst_load(r));
}

static uint32_t load_beside(const struct np_sim *s, uint32_t victim,
			    uint32_t co)
{
	return np_press_pair(s->ask->press, (uint32_t)s->job[victim].profile,
			     s->running[victim]->touch,
			     (uint32_t)s->job[co].profile,
			     s->running[co]->touch);
}

static int make_sites(struct np_sim *s, struct np_running *r)
{
	uint32_t last = NP_NO_LEAF;
	size_t n = 0;

	/* Places are in order of leaves. */
	for (uint32_t i = 0; i < r->n_places; i++) {
		uint32_t leaf = s->leaves->leaf[s->leaves->node[r->place[i]]];

		n += leaf != NP_NO_LEAF && leaf != last;
		last = leaf;
	}
	r->site = calloc(n + 1, sizeof(*r->site));
	if (!r->site)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_places; i++) {
		uint32_t leaf = s->leaves->leaf[s->leaves->node[r->place[i]]];

		if (leaf == NP_NO_LEAF || (r->n_sites &&
		    r->site[r->n_sites - 1].leaf == leaf))
			continue;
		r->site[r->n_sites++].leaf = leaf;
	}
	if (r->n_sites > 1)
		r->touch |= NP_TOUCH_UPLINK;
	return 0;
}

int np_sim_enter(struct np_sim *s, uint32_t job)
{
	struct np_running *r = s->running[job];

	if (s->ask->rigid || np_sim_inert(s, job))
		return 0;
	if (make_sites(s, r))
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_sites; i++) {
		struct np_sim_tenants *t = &s->tenants[r->site[i].leaf];

		if (np_array_room(&t->at, &t->room, t->n + 1, sizeof(*t->at)))
			return -ENOMEM;
		for (size_t k = 0; k < t->n; k++) {
			uint32_t other = t->at[k].job;

			change(s, other, t->at[k].site,
			       load_beside(s, other, job), true);
			r->site[i].load += load_beside(s, job, other);
		}
		t->at[t->n++] = (struct np_sim_tenant){ job, i };
	}
	set_load(s, job, worst_load(r));
	return 0;
}

void np_sim_leave(struct np_sim *s, uint32_t job)
{
	const struct np_running *r = s->running[job];

	for (size_t i = 0; i < r->n_sites; i++) {
		struct np_sim_tenants *t = &s->tenants[r->site[i].leaf];
		size_t k = 0;

		while (t->at[k].job != job)
			k++;
		t->at[k] = t->at[--t->n];
		for (k = 0; k < t->n; k++)
			change(s, t->at[k].job, t->at[k].site,
			       load_beside(s, t->at[k].job, job), false);
	}
}
