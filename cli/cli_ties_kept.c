/* Ties, kept since they were found out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_ties.h"

/* One co-runner is asked about, hence more_co is 0. */
static void pack_prediction(struct np_pack *to, struct np_prediction *p,
			    size_t n_levels)
{
	p->slowdown = np_pack_real(to, p->slowdown);
	p->low = np_pack_real(to, p->low);
	p->high = np_pack_real(to, p->high);
	p->flags = (unsigned)np_pack_count(to, p->flags, UINT_MAX);
	p->model = np_model_find(np_pack_text(to, p->model ? p->model->name :
					      NULL), NULL);
	p->used = (unsigned)np_pack_count(to, p->used, UINT_MAX);
	p->n_curve = np_pack_count(to, p->n_curve, n_levels);
	p->n_pressure = np_pack_count(to, p->n_pressure, n_levels);
	p->n_probes = np_pack_count(to, p->n_probes, UINT64_MAX);
	p->n_left_out = np_pack_count(to, p->n_left_out, 2 * n_levels);
	p->coupling = np_pack_real(to, p->coupling);
	p->more = (enum np_more)np_pack_count(to, p->more, NP_MORE_COUPLING);
	p->more_level = np_pack_count(to, p->more_level,
				      n_levels ? n_levels - 1 : 0);
	to->bad |= !p->model;
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
		       struct np_pack *from, size_t place)
{
	size_t i;

	if (!place)
		return 0;
	for (i = 1; i < k->n; i++)
		if (!strcmp(k->app[i]->r.runs.app, all->app[place - 1].name))
			return i;
	from->bad |= cli_others_add(all, place - 1, k) != 0;
	return from->bad ? 0 : k->n - 1;
}

static size_t pack_app(struct np_pack *p, struct cli_ties *t,
		       struct cli_others *all, size_t app)
{
	size_t place = np_pack_count(p, p->f ? place_of(all, &t->k, app) : 0,
				     all->n);

	return p->f ? app : known_of(all, &t->k, p, place);
}

static size_t pack_list(struct np_pack *p, struct cli_ties *t,
			struct cli_others *all, struct cli_tie *list, size_t n)
{
	n = np_pack_count(p, n, CLI_TIES_MAX);
	for (size_t i = 0; i < n && !p->bad; i++) {
		struct cli_tie *one = &list[i];

		one->victim = pack_app(p, t, all, one->victim);
		one->co = pack_app(p, t, all, one->co);
		pack_prediction(p, &one->p, t->k.cal.fabric->n_levels);
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
	struct np_pack p = { .bad = false };
	struct cli_tie hurt_by[CLI_TIES_MAX] = { 0 };
	struct cli_tie hurts[CLI_TIES_MAX] = { 0 };
	size_t n_hurt_by, n_hurts;
	char name[NAME_LEN];

	name_of(t, name);
	p.at = np_kept_find(all->ties, name, cli_others_state(all), &p.left);
	if (!p.at)
		return false;
	n_hurt_by = pack_list(&p, t, all, hurt_by, 0);
	n_hurts = pack_list(&p, t, all, hurts, 0);
	if (p.bad || p.left)
		return false;
	memcpy(t->hurt_by, hurt_by, n_hurt_by * sizeof(*hurt_by));
	memcpy(t->hurts, hurts, n_hurts * sizeof(*hurts));
	t->n_hurt_by = n_hurt_by;
	t->n_hurts = n_hurts;
	return true;
}

void cli_ties_remember(struct cli_ties *t, struct cli_others *all)
{
	uint64_t state = cli_others_state(all);
	char name[NAME_LEN], *data;
	size_t len;
	struct np_pack p = { .f = state ? open_memstream(&data, &len) : NULL };

	if (!p.f)
		return;
	pack_list(&p, t, all, t->hurt_by, t->n_hurt_by);
	pack_list(&p, t, all, t->hurts, t->n_hurts);
	name_of(t, name);
	if (fclose(p.f))
		free(data);
	else
		np_kept_put(all->ties, name, state, data, len);
}
