/* netprof scale --json */
#include <math.h>

#include "cli_json_put.h"
#include "cli_scale.h"

static void put_four(json_object *in, const struct np_four *f)
{
	cli_put_real(in, "switch_sec", f->switch_sec);
	cli_put_real(in, "contention_sec", f->contention_sec);
	cli_put_real(in, "active_sec", f->active_sec);
	cli_put_real(in, "compute_sec", f->compute_sec);
	cli_put_real(in, "sum_sec", f->wall_sec);
}

static void put_predicted(json_object *in, const struct np_scaled_run *p)
{
	char flags[64];

	cli_put_real(in, "predicted_sec", p->four.wall_sec);
	cli_put_real(in, "low_sec", p->low_sec);
	cli_put_real(in, "high_sec", p->high_sec);
	cli_put_text(in, "flags", cli_scale_flags(p->flags, flags,
						  sizeof(flags)));
}

static void put_notes(json_object *in, unsigned notes)
{
	json_object *list = cli_put_array(in, "notes");

	for (unsigned n = 1; n <= NP_MPIP_NO_VERSION; n <<= 1)
		if (notes & n)
			json_object_array_add(list, json_object_new_string(
				np_mpip_note_words((enum np_mpip_note)n)));
}

static void put_run(json_object *list, const struct cli_scale *s,
		    const struct cli_scale_run *r)
{
	json_object *j = cli_append_object(list), *other;

	cli_put_text(j, "file", r->path);
	cli_put_text(j, "program", r->report.program);
	cli_put_text(j, "mpip_version", r->report.version);
	cli_put_count(j, "processes", r->report.n_tasks);
	cli_put_real(j, "measured_sec", r->run.app_sec);
	cli_put_real(j, "slowest_sec", r->report.max_app_sec);
	cli_put_real(j, "mpi_sec", r->run.mpi_sec);
	cli_put_real(j, "messages", r->run.messages);
	cli_put_real(j, "mean_bytes", r->run.mean_bytes);
	put_four(j, &r->four);
	put_notes(j, r->report.notes);
	if (*s->why)
		return;
	other = cli_put_object(j, "from_other_sizes");
	if (!isnan(r->others.four.wall_sec))
		put_predicted(other, &r->others);
	for (int b = 0; b < CLI_SCALE_BASELINES; b++)
		cli_put_real(other, cli_scale_baselines[b],
			     r->baseline_sec[b]);
}

static void put_errors(json_object *in, const struct cli_scale *s)
{
	json_object *j = cli_put_object(in, "mean_error");

	for (int b = CLI_SCALE_MODEL; b < CLI_SCALE_BASELINES; b++) {
		size_t n;
		double mean = cli_scale_error(s, b, &n);

		cli_put_real(j, b == CLI_SCALE_MODEL ? "model" :
			     cli_scale_baselines[b], n ? mean : NAN);
	}
}

int cli_scale_json(const struct cli_scale *s)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_real(j, "bandwidth_bytes_per_sec", s->link.bytes_per_sec);
	cli_put_real(j, "latency_sec", s->link.latency_sec);
	cli_put_text(j, "variant", s->variant == NP_FOUR_CONSISTENT ?
		     "consistent" : "published");
	list = cli_put_array(j, "runs");
	for (size_t i = 0; i < s->n_runs; i++)
		put_run(list, s, &s->run[i]);
	list = cli_put_array(j, "at");
	for (size_t i = 0; i < s->n_at; i++) {
		json_object *at = cli_append_object(list);

		cli_put_real(at, "processes", s->at[i]);
		put_four(at, &s->answer[i].four);
		put_predicted(at, &s->answer[i]);
	}
	if (*s->why)
		cli_put_text(j, "why_no_predictions", s->why);
	else
		put_errors(j, s);
	return cli_print_json("scale", j);
}
