/* netprof predict: how much an application slows beside others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli_predict.h"
#include "cli_traced.h"

/* Find all; returns -1 to go on, or the exit status. */
static int find(struct cli_known *k, struct cli_store *s,
		const struct cli_options *o)
{
	int rc = cli_known_find(k, s, o);

	if (rc >= 0)
		return rc;
	rc = cli_known_judge(k, s, k->n, false);
	if (rc == -ENOENT)
		return cli_fail("%s; an administrator makes one by: %s",
				k->why.text, CLI_CALIBRATE);
	if (!rc && cli_known_trace(k, s, o->model))
		return cli_fail("out of memory");
	if (rc)
		return cli_fail("%s", k->why.text);
	for (size_t i = 0; i < k->n; i++)
		if (k->app[i]->unusable.text[0])
			return cli_fail("%s", k->app[i]->unusable.text);
	return -1;
}

static void ask_all(struct cli_prediction *p, struct np_predictor *models)
{
	size_t n_co = p->k->n - 1;

	p->n = 1 + n_co;
	for (size_t i = 0; i < p->n; i++) {
		struct cli_answer *a = &p->answer[i];

		*a = (struct cli_answer){ .victim = i, .scope = p->scope,
					  .n_co = i ? 1 : n_co };
		for (size_t c = 0; !i && c < n_co; c++)
			a->co[c] = c + 1;
		cli_ask(models, p->k, a);
	}
}

/* The one that was asked for has no answer. */
static int no_answer(const struct cli_prediction *p)
{
	char command[256];

	if (p->model->needs & NP_NEED_TRACES)
		return cli_fail("%s", p->answer[0].why.text);
	cli_say_missing(p->k, &p->answer[0], command, sizeof(command));
	return cli_fail("%s%s%s", p->answer[0].why.text,
			*command ? "; this measures it: " : "", command);
}

static int predict(const struct cli_known *k, const struct cli_options *o)
{
	const struct np_predict_opt opt = {
		.replicates = CLI_ASK_REPLICATES, .seed = 1,
		.player = k->player ? &k->player->player : NULL,
	};
	struct cli_prediction p = { .k = k, .model = o->model,
				    .scope = o->scope };
	struct np_err err = NP_ERR_INIT;
	struct np_predictor *models;

	if (np_predictor_new(k->cal.fabric, o->model, &opt, &models, &err))
		return cli_fail("%s", err.text);
	ask_all(&p, models);
	np_predictor_free(models);
	if (p.answer[0].rc)
		return no_answer(&p);
	return o->format == CLI_JSON ? cli_predict_json(&p) :
	       o->format == CLI_PARSABLE ? cli_predict_parsable(&p) :
					   cli_predict_text(&p);
}

static int run_predict(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_known k = { .n = 0 };
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc >= 0)
		return rc;
	if (o.n_apps < 2)
		return cli_usage(self, "a co-runner is missing");
	if (o.n_apps > 1 + CLI_ASK_MAX_CO)
		return cli_usage(self, "%zu co-runners, expected at most %d",
				 o.n_apps - 1, CLI_ASK_MAX_CO);
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = find(&k, &s, &o);
	cli_store_close(&s);
	if (rc < 0)
		rc = predict(&k, &o);
	cli_known_free(&k);
	return rc;
}

const struct cli_cmd cmd_predict = {
	.name = "predict",
	.args = "[OPTION]... VICTIM CORUNNER...",
	.help = "how much an application slows beside others",
	.text =
"Predicts how much longer VICTIM runs beside all the CORUNNERs at once, and\n"
"each of them beside VICTIM, with a 90 % interval; says which model answered,\n"
"from which data, and which measurement would narrow the interval most.\n"
"The applications need never have run together.\n\n"
"  --scope=SCOPE       where the others are: on the same nodes (node), on\n"
"                      others of the same leaf (leaf, as without the option),\n"
"                      or across its uplink (uplink)\n"
"  --model=M           another model than " NP_MODEL_DEFAULT "; see netprof accuracy\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --user=NAME, --published\n"
"                      whose profiles, as for netprof show",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER | CLI_TAKES_MODEL,
	.missing = "the victim is missing", .most = CLI_ANY,
	.run = run_predict,
};
