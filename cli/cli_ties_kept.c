/* Ties, kept since they were found out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_ties.h"
#include "np_pack.h"

static void pack_prediction(FILE *f, const struct np_prediction *p)
{
	np_pack_real(f, p->slowdown);
	np_pack_real(f, p->low);
	np_pack_real(f, p->high);
	np_pack_count(f, p->flags);
	np_pack_text(f, p->model->name);
	np_pack_count(f, p->used);
	np_pack_count(f, p->n_curve);
	np_pack_count(f, p->n_pressure);
	np_pack_count(f, p->n_probes);
	np_pack_count(f, p->n_left_out);
	np_pack_real(f, p->coupling);
	np_pack_count(f, p->more);
	np_pack_count(f, p->more_level);
}

/* One co-runner is asked about, hence more_co is 0. */
static struct np_prediction unpack_prediction(struct np_unpack *u,
					      size_t n_levels)
{
	struct np_prediction p = { .more_co = 0 };

	p.slowdown = np_unpack_real(u);
	p.low = np_unpack_real(u);
	p.high = np_unpack_real(u);
	p.flags = (unsigned)np_unpack_count(u, UINT_MAX);
	p.model = np_model_find(np_unpack_text(u), NULL);
	p.used = (unsigned)np_unpack_count(u, UINT_MAX);
	p.n_curve = np_unpack_count(u, n_levels);
	p.n_pressure = np_unpack_count(u, n_levels);
	p.n_probes = np_unpack_count(u, UINT64_MAX);
	p.n_left_out = np_unpack_count(u, 2 * n_levels);
	p.coupling = np_unpack_real(u);
	p.more = (enum np_more)np_unpack_count(u, NP_MORE_COUPLING);
	p.more_level = np_unpack_count(u, n_levels ? n_levels - 1 : 0);
	u->bad |= !p.model;
	return p;
}

/* In the list of others, from 1 on; 0: the one that is shown. */
static size_t place_of(const struct cli_others *all, const struct cli_known *k,
		       size_t app)
{
	size_t i = 0;

	while (app && strcmp(all->app[i].name, k->app[app]->r.runs.app))
		i++;
	return app ? i + 1 : 0;
}

/* And the reverse, added if it is not yet known; bad: it cannot be. */
static size_t known_of(struct cli_others *all, struct cli_known *k,
		       struct np_unpack *u)
{
	size_t place = np_unpack_count(u, all->n), i;

	if (!place)
		return 0;
	for (i = 1; i < k->n; i++)
		if (!strcmp(k->app[i]->r.runs.app, all->app[place - 1].name))
			return i;
	u->bad |= cli_others_add(all, place - 1, k) != 0;
	return u->bad ? 0 : k->n - 1;
}

static void pack_list(FILE *f, const struct cli_ties *t,
		      const struct cli_others *all, const struct cli_tie *list,
		      size_t n)
{
	np_pack_count(f, n);
	for (size_t i = 0; i < n; i++) {
		np_pack_count(f, place_of(all, &t->k, list[i].victim));
		np_pack_count(f, place_of(all, &t->k, list[i].co));
		pack_prediction(f, &list[i].p);
	}
}

static size_t unpack_list(struct np_unpack *u, struct cli_ties *t,
			  struct cli_others *all, struct cli_tie *list)
{
	size_t n = np_unpack_count(u, CLI_TIES_MAX);

	for (size_t i = 0; i < n && !u->bad; i++) {
		struct cli_tie *one = &list[i];

		one->victim = known_of(all, &t->k, u);
		one->co = known_of(all, &t->k, u);
		one->p = unpack_prediction(u, t->k.cal.fabric->n_levels);
		one->app = t->k.app[one->victim ? one->victim : one->co]
				   ->r.runs.app;
	}
	return n;
}

#define NAME_LEN (NP_APP_MAX + 32)

/* Of the one that is shown. */
static void name_of(const struct cli_ties *t, char name[NAME_LEN])
{
	const struct cli_runs *r = &t->k.app[0]->r;

	snprintf(name, NAME_LEN, "%u %s=%s", r->owner == NP_STORE_USER ?
		 r->uid : UINT32_MAX, r->runs.app, np_scope_name(t->scope));
}

bool cli_ties_recall(struct cli_ties *t, struct cli_others *all)
{
	struct np_unpack u = { .bad = false };
	struct cli_tie hurt_by[CLI_TIES_MAX], hurts[CLI_TIES_MAX];
	size_t n_hurt_by, n_hurts;
	char name[NAME_LEN];

	name_of(t, name);
	u.at = np_kept_find(all->ties, name, cli_others_state(all), &u.left);
	if (!u.at)
		return false;
	n_hurt_by = unpack_list(&u, t, all, hurt_by);
	n_hurts = unpack_list(&u, t, all, hurts);
	if (u.bad || u.left)
		return false;
	memcpy(t->hurt_by, hurt_by, n_hurt_by * sizeof(*hurt_by));
	memcpy(t->hurts, hurts, n_hurts * sizeof(*hurts));
	t->n_hurt_by = n_hurt_by;
	t->n_hurts = n_hurts;
	return true;
}

void cli_ties_remember(const struct cli_ties *t, struct cli_others *all)
{
	uint64_t state = cli_others_state(all);
	char name[NAME_LEN], *data;
	size_t len;
	FILE *f = state ? open_memstream(&data, &len) : NULL;

	if (!f)
		return;
	pack_list(f, t, all, t->hurt_by, t->n_hurt_by);
	pack_list(f, t, all, t->hurts, t->n_hurts);
	name_of(t, name);
	if (fclose(f))
		free(data);
	else
		np_kept_put(all->ties, name, state, data, len);
}
