/* netprof matrix --json */
#include "cli_json_put.h"
#include "cli_matrix.h"

int cli_matrix_json(const struct cli_matrix *m)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "scope", np_scope_name(m->scope));
	cli_put_text(j, "model", m->model->name);
	cli_put_calibration(j, m->k, m->scope);
	list = cli_put_array(j, "applications");
	for (size_t i = 0; i < m->n; i++)
		cli_append_text(list, m->k->app[m->at[i]]->r.runs.app);
	list = cli_put_array(j, "pairs");
	for (size_t i = 0; i < m->n * m->n; i++) {
		json_object *pair = cli_append_object(list);

		cli_put_text(pair, "victim",
			     m->k->app[m->at[i / m->n]]->r.runs.app);
		cli_put_text(pair, "corunner",
			     m->k->app[m->at[i % m->n]]->r.runs.app);
		if (m->rc[i]) {
			cli_put(pair, "slowdown", NULL);
			cli_put_text(pair, "why", cli_matrix_why(m->rc[i]));
		} else {
			cli_put_interval(pair, &m->p[i]);
		}
	}
	return cli_print_json("matrix", j);
}
