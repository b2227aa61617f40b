/* Reports of netprof replay: text, JSON and tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_replay.h"
#include "cli_text.h"

#define BAR 66
#define ROWS 40 /* maximum number of tasks in the timeline */

static const char *three_decimals(double v, char buf[CLI_NUMBER])
{
	snprintf(buf, CLI_NUMBER, "%.3f", v);
	return buf;
}

static void print_tasks(const struct cli_replay_program *p,
		  const struct np_replay_job *j)
{
	printf("%s%6s%6s%10s%10s%10s%10s%10s%9s%9s%s\n", cli_colour(CLI_BOLD),
	       "task", "node", "ends", "computes", "waits", "messages", "bytes",
	       "penalty", "conflict", cli_colour(CLI_PLAIN));
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		const struct np_replay_task *k = &j->task[t];
		char size[CLI_NUMBER];

		printf("%6u%6u", t, p->node_of[t]);
		cli_right_sec(k->end_sec, 10);
		cli_right_sec(k->compute_sec, 10);
		cli_right_sec(k->wait_sec, 10);
		printf("%10llu", (unsigned long long)k->messages);
		cli_right(stdout, cli_bytes(k->bytes, size), 10);
		cli_right_as(three_decimals, k->mean_penalty, 9);
		cli_right_as(three_decimals, k->mean_conflicts, 9);
		putchar('\n');
	}
}

void cli_replay_look(const struct np_replay_job *j, uint32_t n, double end,
		     size_t bins, unsigned char *what)
{
	for (size_t i = 0; i < np_replay_ops(j->app); i++) {
		const struct np_replay_op *op = np_replay_op_at(j->app, i);
		const struct np_replay_span *s = &j->span[i];
		unsigned char kind = op->kind == NP_REPLAY_COMPUTE ?
				     CLI_REPLAY_COMPUTES : CLI_REPLAY_TALKS;
		size_t from = (size_t)(s->start_sec / end * (double)bins);
		size_t to = (size_t)ceil(s->end_sec / end * (double)bins);

		if (op->task >= n || !(s->end_sec > s->start_sec))
			continue;
		for (size_t b = from; b < to && b < bins; b++)
			if (what[op->task * bins + b] < kind)
				what[op->task * bins + b] = kind;
	}
}

static void print_timeline(const struct cli_replay_program *p,
		     const struct np_replay_job *j, const char *model)
{
	unsigned char *what;
	char text[CLI_NUMBER];

	if (p->n_tasks > ROWS || !(j->end_sec > 0))
		return;
	what = calloc(p->n_tasks, BAR);
	if (!what)
		return;
	cli_replay_look(j, p->n_tasks, j->end_sec, BAR, what);
	cli_head("0 .. %s, %s: # computes, - sends or receives",
		 cli_sec(j->end_sec, text), model);
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		const unsigned char *row = what + t * BAR;
		int n = BAR;

		while (n && row[n - 1] == CLI_REPLAY_IDLE)
			n--;
		printf("%6u  ", t);
		for (int c = 0; c < n; c++)
			putchar(" -#"[row[c]]);
		putchar('\n');
	}
	free(what);
}

/* Prints the run times under all models. */
static void print_ends(const struct cli_replay *r, size_t k)
{
	const struct cli_replay_program *p = &r->p[k];

	printf("%s%-12s%12s", cli_colour(CLI_BOLD), "model", "alone");
	if (r->n > 1)
		printf("%12s%10s", "together", "slowdown");
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t m = 0; m < r->net.n; m++) {
		double alone = p->alone[m].end_sec, with;

		printf("%-12s", r->net.model[m]->name);
		cli_right_sec(alone, 12);
		if (r->n > 1) {
			with = p->together[m].end_sec;
			cli_right_sec(with, 12);
			cli_right_as(cli_change, alone > 0 ? with / alone - 1 :
				     NAN, 10);
		}
		putchar('\n');
	}
}

int cli_replay_text(const struct cli_replay *r)
{
	for (size_t k = 0; k < r->n; k++) {
		const struct cli_replay_program *p = &r->p[k];
		const struct np_replay_job *j = r->n > 1 ? &p->together[0] :
							   &p->alone[0];

		printf("%s%s: %u tasks, %zu operations\n\n", k ? "\n" : "",
		       basename(p->path), p->n_tasks, np_replay_ops(p->app));
		print_ends(r, k);
		cli_head("%s%s", r->net.model[0]->name,
			 r->n > 1 ? ", together" : "");
		print_tasks(p, j);
		print_timeline(p, j, r->net.model[0]->name);
	}
	return CLI_DONE;
}

#define MAX_OPS 100000 /* limit above which operations are not listed */

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
	cli_put_computed(o, "end_sec", k->end_sec);
	cli_put_computed(o, "compute_sec", k->compute_sec);
	cli_put_computed(o, "wait_sec", k->wait_sec);
	cli_put_count(o, "messages", k->messages);
	cli_put_count(o, "bytes", k->bytes);
	cli_put_computed(o, "mean_penalty", k->mean_penalty);
	cli_put_computed(o, "mean_conflicts", k->mean_conflicts);
}

static void put_op(json_object *list, const struct cli_replay_program *p,
		   const struct np_replay_job *j, size_t i)
{
	const struct np_replay_op *op = np_replay_op_at(p->app, i);
	json_object *o = cli_append_object(list);

	cli_put_count(o, "task", op->task);
	cli_put_text(o, "kind", kind[op->kind]);
	cli_put_computed(o, "start_sec", j->span[i].start_sec);
	cli_put_computed(o, "end_sec", j->span[i].end_sec);
	if (op->kind == NP_REPLAY_COMPUTE)
		return;
	cli_put_count(o, "peer", np_replay_op_at(p->app, op->match)->task);
	if (op->kind == NP_REPLAY_RECV)
		return;
	cli_put_count(o, "bytes", op->bytes);
	cli_put_computed(o, "penalty", j->span[i].penalty);
	cli_put_count(o, "conflicts", j->span[i].conflicts);
}

static void put_job(json_object *in, const char *key,
		    const struct cli_replay_program *p,
		    const struct np_replay_job *j)
{
	json_object *o = cli_put_object(in, key), *list;

	cli_put_computed(o, "end_sec", j->end_sec);
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

	cli_put_text(o, "file", p->path);
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
		cli_put_computed(one, "slowdown", alone > 0 ?
			     p->together[m].end_sec / alone - 1 : NAN);
	}
}

#define TASK "task|node|end_sec|compute_sec|wait_sec|messages|bytes|" \
	"mean_penalty|mean_conflicts"

static const struct cli_table table = {
	"Program|Model|Run|Task|Node|End|Computes|Waits|Messages|Bytes|Penalty|"
	"Conflicts",
	{
		{ "programs models alone/tasks",
		  "../../file|../%|=alone|" TASK },
		{ "programs models together/tasks",
		  "../../file|../%|=together|" TASK },
	},
};

int cli_replay_data(const struct cli_replay *r, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_count(j, "n_nodes", r->play.n_nodes);
	cli_put_computed(j, "bytes_per_sec", r->play.bytes_per_sec);
	cli_put_computed(j, "latency_sec", r->play.latency_sec);
	cli_put_count(j, "eager_bytes", r->play.eager_bytes);
	list = cli_put_array(j, "programs");
	for (size_t k = 0; k < r->n; k++)
		put_program(list, r, k);
	return cli_print_page(format, "replay", j, &table);
}
