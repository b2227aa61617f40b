/* netprof predict --json, and what predictions have in common as JSON. */
#include "cli_json_put.h"
#include "cli_predict.h"

void cli_put_interval(json_object *in, const struct np_prediction *p)
{
	char flags[256];

	cli_put_real(in, "slowdown", p->slowdown);
	cli_put_real(in, "low", p->low);
	cli_put_real(in, "high", p->high);
	cli_put_text(in, "model", p->model->name);
	cli_put_bool(in, "fell_back", !!(p->flags & NP_PRED_FELL_BACK));
	cli_put_text(in, "flags", cli_flag_names(p->flags, flags,
						 sizeof(flags)));
}

void cli_put_calibration(json_object *in, const struct cli_known *k,
			 enum np_scope scope)
{
	const struct np_calibration *c = &k->cal;
	const struct np_mean *m;
	json_object *j;
	double low, high;

	if (!k->calibrated) {
		cli_put(in, "calibration", NULL);
		cli_put(in, "coupling", NULL);
		return;
	}
	j = cli_put_object(in, "calibration");
	cli_put_text(j, "path", c->path);
	cli_put_time(j, "date", c->date);
	cli_put_text(j, "cluster", c->cluster);
	cli_put_text(j, "transport", c->transport);
	cli_put_text(j, "scope", np_scope_name(c->scope));
	cli_put_count(j, "levels", c->fabric->n_levels);
	m = &c->fabric->coupling[scope];
	j = cli_put_object(in, "coupling");
	cli_put_text(j, "scope", np_scope_name(scope));
	cli_put_count(j, "n", m->n);
	if (np_mean_known(m))
		cli_put_real(j, "mean", m->mean);
	if (np_coupling_interval(m, &low, &high)) {
		cli_put_real(j, "low", low);
		cli_put_real(j, "high", high);
	}
	cli_put_bool(j, "no_effect", cli_no_effect(k, scope));
}

static void put_used(json_object *list, const struct cli_known_app *a)
{
	const struct np_evidence *s = &a->evidence;
	json_object *j = cli_append_object(list), *left;

	cli_put_text(j, "app", s->program.name);
	cli_put_bool(j, "published", a->r.owner == NP_STORE_PUBLISHED);
	cli_put_text(j, "fingerprint", s->fingerprint);
	cli_put_count(j, "runs_alone", s->alone_sec.n);
	cli_put_count(j, "runs_beside_levels", s->count[NP_RUN_BESIDE]);
	cli_put_count(j, "curve_levels", s->n_curve);
	cli_put_count(j, "pressure_levels", s->n_pressure);
	cli_put_count(j, "probes", s->program.latency.all.n);
	left = cli_put_object(j, "left_out");
	for (int use = NP_RUN_FABRIC; use < NP_RUN_USES; use++)
		if (s->count[use])
			cli_put_count(left, np_run_use_words(
					      (enum np_run_use)use),
				      s->count[use]);
}

static void put_answer(json_object *list, const struct cli_prediction *p,
		       const struct cli_answer *a)
{
	json_object *j = cli_append_object(list), *co;
	char command[256], what[256];

	cli_put_text(j, "victim", p->k->app[a->victim]->r.runs.app);
	co = cli_put_array(j, "corunners");
	for (size_t i = 0; i < a->n_co; i++)
		cli_append_text(co, p->k->app[a->co[i]]->r.runs.app);
	if (a->rc) {
		cli_put(j, "slowdown", NULL);
		cli_put_text(j, "why", a->why.text);
		return;
	}
	cli_put_interval(j, &a->p);
	cli_put_real(j, "coupling", a->p.coupling);
	cli_put_count(j, "curve_levels", a->p.n_curve);
	cli_put_count(j, "pressure_levels", a->p.n_pressure);
	cli_put_count(j, "probes", a->p.n_probes);
	cli_say_narrower(p->k, a, command, what, sizeof(what));
	cli_put_text(j, "narrower", *command ? command : NULL);
}

int cli_predict_json(const struct cli_prediction *p)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "scope", np_scope_name(p->scope));
	cli_put_text(j, "model", p->model->name);
	list = cli_put_array(j, "predictions");
	for (size_t i = 0; i < p->n; i++)
		put_answer(list, p, &p->answer[i]);
	cli_put_calibration(j, p->k, p->scope);
	list = cli_put_array(j, "applications");
	for (size_t i = 0; i < p->k->n; i++)
		put_used(list, p->k->app[i]);
	return cli_print_json("predict", j);
}
