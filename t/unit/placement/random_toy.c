#include "random_toy.h"

#include <stdio.h>
#include <string.h>

static uint32_t pick(uint64_t *seed, const uint32_t *of, uint32_t n)
{
	return of[w_random(seed, n)];
}

static void make_apps(struct world *w, uint64_t *seed)
{
	static const double slow[] = { 0, 0, 0, .04, .06, .08, .3, -.1 };

	w->n_apps = 2 + w_random(seed, 6);
	for (size_t i = 0; i < w->n_apps; i++) {
		snprintf(w->app_name[i], 8, "A%u", (unsigned)i % 100);
		w->app_trusted[i] = w_random(seed, 4) != 0;
		w->app_owner[i] = w_random(seed, 3);
	}
	for (int k = 0; k < NP_N_CONTACTS; k++)
		for (size_t a = 0; a < w->n_apps; a++)
			for (size_t b = 0; b < w->n_apps; b++)
				w->slow[k][a][b] = slow[w_random(seed, 8)];
}

static void make_leaves(struct world *w, uint64_t *seed)
{
	w->n_leaves = 1 + w_random(seed, 9);
	for (size_t i = 0; i < w->n_leaves; i++) {
		snprintf(w->leaf_name[i], 8, "l%u", (unsigned)i % 100);
		w->n_nodes += 1 + w_random(seed, 6);
		w->leaf_first[i + 1] = (uint32_t)w->n_nodes;
	}
	w->n_nodes += w_random(seed, 4) ? 0 : w_random(seed, 4);
	for (size_t i = 0; i < w->n_nodes; i++)
		w->unavailable[i] = !w_random(seed, 12);
}

static void make_running(struct world *w, uint64_t *seed, struct w_job *j,
			 uint8_t *use)
{
	uint32_t want = 1 + w_random(seed, 4);
	uint32_t at = w_random(seed, (uint32_t)w->n_nodes);
	bool shares = j->in.flags & NP_JOB_SHARES_NODES;

	j->in.state = NP_JOB_RUNNING;
	j->in.start_sec = 980 + w_random(seed, 20);
	for (size_t i = 0; i < w->n_nodes && j->in.n_nodes < want; i++) {
		uint32_t node = (at + (uint32_t)i) % (uint32_t)w->n_nodes;

		if (w->unavailable[node] ||
		    (shares ? use[node] == 2 : use[node]))
			continue;
		use[node] = shares ? 1 : 2;
		j->node[j->in.n_nodes++] = node;
	}
}

static void make_pending(struct world *w, uint64_t *seed, struct w_job *j)
{
	static const uint32_t flags[] = {
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		NP_JOB_SPANS,
		NP_JOB_NODELIST,
		NP_JOB_RESERVATION,
		NP_JOB_HETEROGENEOUS,
		NP_JOB_CONSTRAINT,
		NP_JOB_CHANGING,
	};

	j->in.flags |= pick(seed, flags, NP_ARRAY_SIZE(flags));
	j->in.state = w_random(seed, 6) ? NP_JOB_READY : NP_JOB_WAITING;
	j->in.nodes_min = 1 + w_random(seed, w_random(seed, 4) ? 4 : 12);
	j->in.tasks = w_random(seed, 6) ? 1 : 1 + w_random(seed, 40);
	j->in.switches = w_random(seed, 6) ? 0 : 1 + w_random(seed, 2);
	j->in.priority = w_random(seed, 4);
	j->in.partition = (uint16_t)w_random(seed, 2);
	j->in.eligible_sec =
		w_random(seed, 8) ? 0 : 1000 + (int64_t)w_random(seed, 100);
	j->in.held_sec = w_random(seed, 10) ? w_random(seed, 3000) : 4000;
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (j->in.partition == 0 || i % 7)
			np_bits_set(j->candidates, i);
	if (!w_random(seed, 5))
		for (uint32_t i = 0; i < w->n_nodes; i++)
			if (!w_random(seed, 3))
				np_bits_clear(j->candidates, i);
	j->in.prior = (enum np_prior)w_random(seed, 4);
	j->in.prior_until_sec = 990 + w_random(seed, 100);
	j->prior[0] = w_random(seed, 1u << w->n_leaves);
}

void rw_make(struct world *w, uint64_t number, bool modes)
{
	uint64_t seed = number * 7919 + 1;
	uint8_t use[W_MAX_NODES] = { 0 };
	size_t running, n;

	w_init(w);
	make_apps(w, &seed);
	make_leaves(w, &seed);
	if (!w_random(&seed, 8))
		w->policy.unknown_as =
			(int32_t)w_random(&seed, (uint32_t)w->n_apps);
	running = w_random(&seed, 10);
	n = running + 1 + w_random(&seed, 14);
	for (size_t i = 0; i < n; i++) {
		struct w_job *j = &w->job[i];

		memset(j, 0, sizeof(*j));
		j->in.id = (uint32_t)(100 + i);
		j->in.owner = w_random(&seed, 3);
		j->in.mode = modes ? (enum np_mode)w_random(&seed, 4) :
				     NP_MODE_ENFORCE;
		j->in.submit_sec = 900 + w_random(&seed, 90);
		j->in.profile =
			w_random(&seed, 10) ?
				(int32_t)w_random(&seed, (uint32_t)w->n_apps) :
				NP_PROFILE_UNKNOWN;
		j->in.flags = w_random(&seed, 3) ? 0 : NP_JOB_SHARES_NODES;
		if (!w_random(&seed, 4))
			j->in.flags |= NP_JOB_UNPROVED;
		if (i < running)
			make_running(w, &seed, j, use);
		else
			make_pending(w, &seed, j);
	}
	w->n_jobs = n;
}

bool rw_bound(const struct world *w, size_t job, const struct np_outcome *v)
{
	return o_ours(w, job) && w->job[job].in.mode == NP_MODE_ENFORCE &&
	       v->action != NP_ACT_NONE && v->cause.why != NP_WHY_HOLD_EXPIRED;
}

const char *rw_row(const char *what, uint64_t number)
{
	static char name[96];

	snprintf(name, sizeof(name), "world %llu: %s",
		 (unsigned long long)number, what);
	return name;
}
