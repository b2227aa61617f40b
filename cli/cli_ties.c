#include "cli_ties.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void cli_tie_keep(struct cli_tie *list, size_t *n, const struct cli_tie *t)
{
	size_t at = *n;

	while (at && list[at - 1].p.slowdown < t->p.slowdown)
		at--;
	if (at == CLI_TIES_MAX)
		return;
	if (*n < CLI_TIES_MAX)
		(*n)++;
	memmove(list + at + 1, list + at, (*n - 1 - at) * sizeof(*list));
	list[at] = *t;
}

static bool can_ask(const struct cli_known_app *a)
{
	return !a->unusable.text[0] && a->evidence.n_used;
}

static struct cli_tie tie_of(const struct cli_ties *t, size_t victim, size_t co,
			     const struct np_prediction *p)
{
	return (struct cli_tie){
		.app = t->k.app[victim ? victim : co]->r.runs.app,
		.victim = victim, .co = co, .p = *p,
	};
}

/* All that can be asked about, and the answers of np_predict_around(). */
struct around {
	size_t n, *at; /* of the known ones */
	const struct np_program **app;
	struct np_prediction *p;
	int *rc;
};

static bool list(const struct cli_known *k, struct around *a)
{
	a->at = calloc(k->n, sizeof(*a->at));
	a->app = calloc(k->n, sizeof(*a->app));
	a->p = calloc(2 * k->n, sizeof(*a->p));
	a->rc = calloc(2 * k->n, sizeof(*a->rc));
	if (!a->at || !a->app || !a->p || !a->rc || !can_ask(k->app[0]))
		return false;
	for (size_t i = 0; i < k->n; i++)
		if (can_ask(k->app[i])) {
			a->at[a->n] = i;
			a->app[a->n++] = &k->app[i]->evidence.program;
		}
	return true;
}

static void keep(struct cli_ties *t, const struct around *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct cli_tie beside = tie_of(t, 0, a->at[i], &a->p[i]);
		struct cli_tie to = tie_of(t, a->at[i], 0, &a->p[a->n - 1 + i]);

		if (!a->rc[i])
			cli_tie_keep(t->hurt_by, &t->n_hurt_by, &beside);
		if (i && !a->rc[a->n - 1 + i])
			cli_tie_keep(t->hurts, &t->n_hurts, &to);
	}
}

/* Without an interval, who they are: most are not kept. */
static void ask_all(struct cli_ties *t, struct np_predictor *models)
{
	struct around a = { .n = 0 };

	if (list(&t->k, &a) && !np_predict_around(models, a.app, a.n, t->scope,
						  a.p, a.rc, NULL))
		keep(t, &a);
	free(a.at);
	free(a.app);
	free(a.p);
	free(a.rc);
}

static void ask_one(const struct cli_ties *t, struct np_predictor *models,
		    struct cli_tie *tie)
{
	struct cli_answer a = { .victim = tie->victim, .n_co = 1,
				.co = { tie->co }, .scope = t->scope };

	cli_ask(models, &t->k, &a);
	tie->p = a.p;
}

/* Those that are kept again, as precisely as they are shown. */
static void ask_again(struct cli_ties *t, struct np_predictor *models)
{
	for (size_t i = 0; i < t->n_hurt_by; i++)
		ask_one(t, models, &t->hurt_by[i]);
	for (size_t i = 0; i < t->n_hurts; i++)
		ask_one(t, models, &t->hurts[i]);
}

static void ask_models(struct cli_ties *t, size_t replicates,
		       void (*how)(struct cli_ties *, struct np_predictor *))
{
	const struct np_predict_opt opt = {
		.replicates = replicates, .seed = 1,
	};
	struct np_predictor *models;

	if (np_predictor_new(t->k.cal.fabric,
			     np_model_find(NP_MODEL_DEFAULT, NULL), &opt,
			     &models, NULL))
		return;
	how(t, models);
	np_predictor_free(models);
}

static bool is_among(const struct cli_known *k, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(k->app[i]->r.runs.app, app))
			return true;
	return false;
}

/* All but those that there are. */
static int add_all(struct cli_ties *t, struct cli_others *all)
{
	size_t n = t->k.n;
	int rc = 0;

	for (size_t i = 0; rc != -ENOMEM && i < all->n; i++)
		if (!is_among(&t->k, n, all->app[i].name))
			rc = cli_others_add(all, i, &t->k);
	return rc == -ENOMEM ? rc : 0;
}

static void find(struct cli_ties *t, struct cli_others *all)
{
	cli_others_judge(all, &t->k);
	t->asked = cli_ties_recall(t, all);
	if (t->asked || add_all(t, all))
		return;
	t->asked = true;
	ask_models(t, 0, ask_all);
	ask_models(t, CLI_TIES_REPLICATES, ask_again);
	cli_ties_remember(t, all);
}

void cli_ties_find(struct cli_others *all, const struct cli_profile *p,
		   struct cli_ties *out)
{
	struct cli_ties t = { .scope = NP_SCOPE_LEAF };
	struct cli_runs own = { .owner = p->owner, .uid = p->uid,
				.runs = p->runs };

	if (!p->profile.is_idle && !cli_known_add(&t.k, &own, false) &&
	    !cli_known_judge(&t.k, all->s, 1, false))
		find(&t, all);
	*out = t;
}

void cli_ties_free(struct cli_ties *t)
{
	cli_known_free(&t->k);
}
