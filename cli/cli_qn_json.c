/* netprof qn --json */
#include <math.h>
#include <stdio.h>

#include "cli_json_put.h"
#include "cli_qn.h"
#include "cli_text.h"

/* More digits than elsewhere: these are computed, not measured. */
static void put(json_object *in, const char *key, double v)
{
	char text[CLI_NUMBER];

	snprintf(text, sizeof(text), "%.12g", v + 0.0);
	cli_put(in, key, isfinite(v) ? json_object_new_double_s(v, text) :
				       NULL);
}

static void put_place(json_object *list, const struct cli_qn *q, size_t row,
		      size_t c, size_t k)
{
	struct cli_qn_place p = cli_qn_place(q, row, c, k);
	json_object *j = cli_append_object(list);

	cli_put_text(j, "station", p.station);
	cli_put_text(j, "kind", cli_qn_kind(&q->n.net.station[k]));
	put(j, "throughput_per_sec", p.x_per_sec);
	put(j, "residence_sec", p.residence_sec);
	put(j, "per_visit_sec", p.per_visit_sec);
	put(j, "present", p.present);
	put(j, "utilisation", p.utilisation);
}

static void put_class(json_object *list, const struct cli_qn *q, size_t row,
		      size_t c)
{
	struct cli_qn_class k = cli_qn_class(q, row, c);
	json_object *j = cli_append_object(list), *at;

	cli_put_text(j, "class", k.name);
	cli_put_count(j, "customers", k.customers);
	put(j, "throughput_per_sec", k.x_per_sec);
	put(j, "response_sec", k.customers ? k.response_sec : NAN);
	put(j, "cycle_sec", k.customers ? k.response_sec + k.think_sec : NAN);
	at = cli_put_array(j, "stations");
	for (size_t i = 0; i < q->n.net.n_stations; i++)
		put_place(at, q, row, c, i);
}

static void put_row(json_object *list, const struct cli_qn *q, size_t row)
{
	const struct cli_qn_row *r = &q->row[row];
	json_object *j = cli_append_object(list), *classes;

	if (r->most > 0) {
		put(j, "least_throughput_per_sec", r->least);
		put(j, "most_throughput_per_sec", r->most);
	}
	if (r->s.iterations)
		cli_put_count(j, "iterations", r->s.iterations);
	classes = cli_put_array(j, "classes");
	for (size_t c = 0; c < q->n.net.n_classes; c++)
		put_class(classes, q, row, c);
}

int cli_qn_json(const struct cli_qn *q)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "file", q->path);
	cli_put_text(j, "name", q->n.name);
	cli_put_text(j, "method", q->method);
	cli_put_text(j, "how", q->how);
	list = cli_put_array(j, "populations");
	for (size_t i = 0; i < q->n_rows; i++)
		put_row(list, q, i);
	return cli_print_json("qn", j);
}
