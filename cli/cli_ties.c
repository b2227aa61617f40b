#include "cli_ties.h"

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

static void ask(struct cli_ties *t, struct np_predictor *models, size_t victim,
		size_t co, struct cli_tie *list, size_t *n)
{
	struct cli_answer a = { .victim = victim, .n_co = 1, .co = { co },
				.scope = t->scope };
	struct cli_tie tie;

	if (t->k.app[victim]->unusable.text[0] ||
	    t->k.app[co]->unusable.text[0])
		return;
	cli_ask(models, &t->k, &a);
	if (a.rc)
		return;
	tie = (struct cli_tie){
		.app = t->k.app[victim ? victim : co]->r.runs.app,
		.victim = victim, .co = co, .p = a.p,
	};
	cli_tie_keep(list, n, &tie);
}

static void ask_all(struct cli_ties *t)
{
	const struct np_predict_opt opt = {
		.replicates = CLI_TIES_REPLICATES, .seed = 1,
	};
	struct np_predictor *models;

	if (np_predictor_new(t->k.cal.fabric,
			     np_model_find(NP_MODEL_DEFAULT, NULL), &opt,
			     &models, NULL))
		return;
	for (size_t i = 0; i < t->k.n; i++) {
		ask(t, models, 0, i, t->hurt_by, &t->n_hurt_by);
		if (i)
			ask(t, models, i, 0, t->hurts, &t->n_hurts);
	}
	np_predictor_free(models);
}

void cli_ties_find(struct cli_store *s, const struct cli_options *o,
		   const struct cli_profile *p, struct cli_ties *out)
{
	struct cli_ties t = { .scope = NP_SCOPE_LEAF };
	struct cli_runs own = { .owner = p->owner, .uid = p->uid,
				.runs = p->runs };

	if (!p->profile.is_idle && !cli_known_add(&t.k, &own, false) &&
	    !cli_known_add_all(&t.k, s, o) &&
	    !cli_known_judge(&t.k, s, 1, false)) {
		t.asked = true;
		ask_all(&t);
	}
	*out = t;
}

void cli_ties_free(struct cli_ties *t)
{
	cli_known_free(&t->k);
}
