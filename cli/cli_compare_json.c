/* netprof compare --json */
#include "cli_compare.h"
#include "cli_json_put.h"

static void put_latency(json_object *in, const struct np_sample *s)
{
	json_object *j;

	if (!s->hist) {
		cli_put(in, "latency", NULL);
		return;
	}
	j = cli_put_object(in, "latency");
	cli_put_count(j, "n", s->moments.n);
	cli_put_real(j, "mean_sec", s->moments.mean);
	cli_put_real(j, "p50_sec", np_sample_quantile(s, 0.5));
	cli_put_real(j, "p99_sec", np_sample_quantile(s, 0.99));
	cli_put_real(j, "max_sec", s->moments.max);
}

static void put_time(json_object *in, const struct cli_side *s)
{
	json_object *j;

	if (!np_mean_known(&s->run_sec)) {
		cli_put(in, "run_time", NULL);
		return;
	}
	j = cli_put_object(in, "run_time");
	cli_put_count(j, "n", s->run_sec.n);
	cli_put_real(j, "mean_sec", s->run_sec.mean);
	cli_put_real(j, "sd_sec", s->run_sec.sd);
	cli_put_real(j, "shortest_sec", s->shortest_sec);
	cli_put_real(j, "longest_sec", s->longest_sec);
	cli_put_bool(j, "beside_other_jobs", s->beside);
}

static void put_side(json_object *j, const struct cli_side *s)
{
	const struct np_verdict *v = &s->profile.verdict;
	json_object *facts;
	char text[CLI_FACT];

	cli_put_text(j, "name", s->name);
	cli_put_text(j, "app", s->runs.app);
	cli_put(j, "job_id", s->run ? json_object_new_uint64(s->run->job_id) :
				      NULL);
	put_time(j, s);
	put_latency(j, &s->latency);
	cli_put_text(j, "use", cli_use_name(&s->profile));
	cli_put_real(j, "delayed_share", v->use ? v->delayed_share : NAN);
	cli_put_real(j, "rho", v->use ? v->rho : NAN);
	facts = cli_put_object(j, "conditions");
	for (size_t i = 0; i < cli_n_facts; i++) {
		cli_fact_of(s, &cli_facts[i], text);
		cli_put_text(facts, cli_facts[i].key, *text ? text : NULL);
	}
}

int cli_compare_json(const struct cli_compare *c)
{
	json_object *j = json_object_new_object(), *list;
	char verdict[2048];

	cli_compare_verdict(c, verdict, sizeof(verdict));
	cli_put_text(j, "verdict", verdict);
	list = cli_put_array(j, "different");
	for (size_t i = 0; i < cli_n_facts; i++)
		if (cli_fact_differs(c, &cli_facts[i]))
			cli_append_text(list, cli_facts[i].key);
	list = cli_put_array(j, "compared");
	for (size_t i = 0; i < c->n; i++)
		put_side(cli_append_object(list), &c->side[i]);
	return cli_print_json("compare", j);
}
