#include "cli_ties.h"

#include <errno.h>
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

static bool ask(struct cli_ties *t, struct np_predictor *models, size_t victim,
		size_t co, struct cli_tie *out)
{
	struct cli_answer a = { .victim = victim, .n_co = 1, .co = { co },
				.scope = t->scope };

	if (t->k.app[victim]->unusable.text[0] ||
	    t->k.app[co]->unusable.text[0])
		return false;
	cli_ask(models, &t->k, &a);
	*out = (struct cli_tie){
		.app = t->k.app[victim ? victim : co]->r.runs.app,
		.victim = victim, .co = co, .p = a.p,
	};
	return !a.rc;
}

/* Without an interval, who they are: most are not kept. */
static void ask_all(struct cli_ties *t, struct np_predictor *models)
{
	struct cli_tie tie;

	for (size_t i = 0; i < t->k.n; i++) {
		if (ask(t, models, 0, i, &tie))
			cli_tie_keep(t->hurt_by, &t->n_hurt_by, &tie);
		if (i && ask(t, models, i, 0, &tie))
			cli_tie_keep(t->hurts, &t->n_hurts, &tie);
	}
}

/* Those that are kept again, as precisely as they are shown. */
static void ask_again(struct cli_ties *t, struct np_predictor *models)
{
	for (size_t i = 0; i < t->n_hurt_by; i++)
		ask(t, models, 0, t->hurt_by[i].co, &t->hurt_by[i]);
	for (size_t i = 0; i < t->n_hurts; i++)
		ask(t, models, t->hurts[i].victim, 0, &t->hurts[i]);
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
