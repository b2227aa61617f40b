/* netprof replay --json */
#include <math.h>

#include "cli_json_put.h"
#include "cli_replay.h"

#define MAX_OPS 100000 /* of a program whose operations are listed */

static const char *const kind[] = {
	[NP_REPLAY_COMPUTE] = "compute", [NP_REPLAY_SEND] = "send",
	[NP_REPLAY_RECV] = "recv",
};

static void put_task(json_object *list, const struct cli_replay_program *p,
		     const struct np_replay_job *j, uint32_t t)
{
	const struct np_replay_task *k = &j->task[t];
	json_object *o = cli_append_object(list);

	cli_put_count(o, "task", t);
	cli_put_count(o, "node", p->node_of[t]);
	cli_put_real(o, "end_sec", k->end_sec);
	cli_put_real(o, "compute_sec", k->compute_sec);
	cli_put_real(o, "wait_sec", k->wait_sec);
	cli_put_count(o, "messages", k->messages);
	cli_put_count(o, "bytes", k->bytes);
	cli_put_real(o, "mean_penalty", k->mean_penalty);
	cli_put_real(o, "mean_conflicts", k->mean_conflicts);
}

static void put_op(json_object *list, const struct cli_replay_program *p,
		   const struct np_replay_job *j, size_t i)
{
	const struct np_replay_op *op = np_replay_op_at(p->app, i);
	json_object *o = cli_append_object(list);

	cli_put_count(o, "task", op->task);
	cli_put_text(o, "kind", kind[op->kind]);
	cli_put_real(o, "start_sec", j->span[i].start_sec);
	cli_put_real(o, "end_sec", j->span[i].end_sec);
	if (op->kind == NP_REPLAY_COMPUTE)
		return;
	cli_put_count(o, "peer", np_replay_op_at(p->app, op->match)->task);
	if (op->kind == NP_REPLAY_RECV)
		return;
	cli_put_count(o, "bytes", op->bytes);
	cli_put_real(o, "penalty", j->span[i].penalty);
	cli_put_count(o, "conflicts", j->span[i].conflicts);
}

static void put_job(json_object *in, const char *key,
		    const struct cli_replay_program *p,
		    const struct np_replay_job *j)
{
	json_object *o = cli_put_object(in, key), *list;

	cli_put_real(o, "end_sec", j->end_sec);
	list = cli_put_array(o, "tasks");
	for (uint32_t t = 0; t < p->n_tasks; t++)
		put_task(list, p, j, t);
	if (np_replay_ops(p->app) > MAX_OPS)
		return;
	list = cli_put_array(o, "operations");
	for (size_t i = 0; i < np_replay_ops(p->app); i++)
		put_op(list, p, j, i);
}

static void put_program(json_object *list, const struct cli_replay *r,
			size_t k)
{
	const struct cli_replay_program *p = &r->p[k];
	json_object *o = cli_append_object(list), *models;

	cli_put_text(o, "program", p->path);
	cli_put_count(o, "tasks", p->n_tasks);
	cli_put_count(o, "operations", np_replay_ops(p->app));
	models = cli_put_object(o, "models");
	for (size_t m = 0; m < r->net.n; m++) {
		json_object *one = cli_put_object(models,
						  r->net.model[m]->name);
		double alone = p->alone[m].end_sec;

		put_job(one, "alone", p, &p->alone[m]);
		if (r->n < 2)
			continue;
		put_job(one, "together", p, &p->together[m]);
		cli_put_real(one, "slowdown", alone > 0 ?
			     p->together[m].end_sec / alone - 1 : NAN);
	}
}

int cli_replay_json(const struct cli_replay *r)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_count(j, "nodes", r->play.n_nodes);
	cli_put_real(j, "bytes_per_sec", r->play.bytes_per_sec);
	cli_put_real(j, "latency_sec", r->play.latency_sec);
	cli_put_count(j, "eager_bytes", r->play.eager_bytes);
	list = cli_put_array(j, "programs");
	for (size_t k = 0; k < r->n; k++)
		put_program(list, r, k);
	return cli_print_json("replay", j);
}
