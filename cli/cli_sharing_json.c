/* netprof sharing --json */
#include <math.h>

#include "cli_json_put.h"
#include "cli_sharing.h"

static void put_transfer(json_object *list, const struct cli_sharing *a,
			 size_t k, size_t i)
{
	const struct np_scheme *s = &a->set->scheme[k];
	json_object *t = cli_append_object(list), *models;

	cli_put_text(t, "name", s->label[i]);
	cli_put_text(t, "from", s->node[s->c[i].from]);
	cli_put_text(t, "to", s->node[s->c[i].to]);
	cli_put_count(t, "bytes", s->bytes[i]);
	cli_put_real(t, "start_sec", s->start_sec[i]);
	cli_put_real(t, "alone", s->alone[i]);
	cli_put_real(t, "measured_sec", s->took_sec[i]);
	models = cli_put_object(t, "models");
	for (size_t m = 0; m < a->net->n; m++) {
		const struct cli_sharing_model *g = cli_sharing_at(a, k, m);
		json_object *o;

		if (*g->why.text)
			continue;
		o = cli_put_object(models, a->net->model[m]->name);
		cli_put_real(o, "penalty", g->penalty[i]);
		cli_put_real(o, "time", g->time[i]);
		cli_put_real(o, "end", g->end[i]);
	}
}

static void put_models(json_object *in, const struct cli_sharing *a, size_t k)
{
	json_object *list = cli_put_array(in, "models");

	for (size_t m = 0; m < a->net->n; m++) {
		const struct cli_sharing_model *g = cli_sharing_at(a, k, m);
		json_object *o = cli_append_object(list);

		cli_put_text(o, "model", a->net->model[m]->name);
		if (*g->why.text)
			cli_put_text(o, "unanswered", g->why.text);
		else
			cli_put_real(o, "mean_error", g->error);
		cli_put_count(o, "measured", g->n_measured);
	}
}

static void put_scheme(json_object *list, const struct cli_sharing *a,
		       size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	json_object *o = cli_append_object(list), *transfers;

	cli_put_text(o, "name", s->name);
	cli_put_count(o, "nodes", s->n_nodes);
	cli_put_count(o, "reference_bytes", s->reference_bytes);
	cli_put_real(o, "reference_sec", s->reference_sec);
	cli_put_real(o, "latency_sec", s->latency_sec);
	cli_put_text(o, "unit", isnan(s->reference_sec) ? "reference" : "s");
	transfers = cli_put_array(o, "transfers");
	for (size_t i = 0; i < s->n; i++)
		put_transfer(transfers, a, k, i);
	put_models(o, a, k);
}

static void put_fit(json_object *in, const struct cli_network *net)
{
	json_object *list = cli_put_array(in, "fit");

	for (size_t m = 0; m < net->n; m++) {
		const struct np_sharing_fit *f = &net->fit[m];
		json_object *o = cli_append_object(list), *parameters;

		cli_put_text(o, "model", net->model[m]->name);
		parameters = cli_put_object(o, "parameters");
		for (size_t i = 0; i < f->n_param; i++) {
			json_object *p = cli_put_object(parameters,
							f->name[i]);

			cli_put_real(p, "value", f->value[i]);
			cli_put_bool(p, "fitted", f->fitted[i]);
		}
		cli_put_count(o, "measured", f->n);
		cli_put_real(o, "mean_error_before", f->mean_before);
		cli_put_real(o, "mean_error", f->mean_error);
	}
}

int cli_sharing_json(const struct cli_sharing *a)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "evaluation", a->constant ? "static" : "dynamic");
	if (a->net->fitted)
		put_fit(j, a->net);
	list = cli_put_array(j, "schemes");
	for (size_t k = 0; k < a->set->n; k++)
		put_scheme(list, a, k);
	return cli_print_json("sharing", j);
}
