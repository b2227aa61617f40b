/* The tables and the timeline of `netprof replay`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_replay.h"
#include "cli_text.h"

#define BAR 66
#define ROWS 40 /* most tasks that are drawn */

static const char *name_of(const struct cli_replay_program *p)
{
	const char *slash = strrchr(p->path, '/');

	return slash ? slash + 1 : p->path;
}

static void cell(const char *text, int width)
{
	cli_right(stdout, text, width);
}

static void seconds(double sec, int width)
{
	char text[CLI_NUMBER];

	cell(cli_sec(sec, text), width);
}

static void number(double v, int width)
{
	char text[CLI_NUMBER] = "-";

	if (!isnan(v))
		snprintf(text, sizeof(text), "%.3f", v);
	cell(text, width);
}

static void tasks(const struct cli_replay_program *p,
		  const struct np_replay_job *j)
{
	printf("%s%6s%6s%10s%10s%10s%10s%10s%9s%9s%s\n", cli_colour(CLI_BOLD),
	       "task", "node", "ends", "computes", "waits", "messages", "bytes",
	       "penalty", "conflict", cli_colour(CLI_PLAIN));
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		const struct np_replay_task *k = &j->task[t];
		char size[CLI_NUMBER];

		printf("%6u%6u", t, p->node_of[t]);
		seconds(k->end_sec, 10);
		seconds(k->compute_sec, 10);
		seconds(k->wait_sec, 10);
		printf("%10llu", (unsigned long long)k->messages);
		cell(cli_bytes(k->bytes, size), 10);
		number(k->mean_penalty, 9);
		number(k->mean_conflicts, 9);
		putchar('\n');
	}
}

/* What a task does in each column: '#' computes, '-' sends or receives. */
static void draw(const struct cli_replay_program *p,
		 const struct np_replay_job *j, char (*row)[BAR + 1])
{
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		memset(row[t], ' ', BAR);
		row[t][BAR] = '\0';
	}
	for (size_t i = 0; i < np_replay_ops(p->app); i++) {
		const struct np_replay_op *op = np_replay_op_at(p->app, i);
		const struct np_replay_span *s = &j->span[i];
		int from = (int)(s->start_sec / j->end_sec * BAR);
		int to = (int)ceil(s->end_sec / j->end_sec * BAR);
		char mark = op->kind == NP_REPLAY_COMPUTE ? '#' : '-';

		if (s->end_sec <= s->start_sec)
			continue;
		for (int c = from; c < to && c < BAR; c++)
			if (mark == '#' || row[op->task][c] == ' ')
				row[op->task][c] = mark;
	}
}

static void timeline(const struct cli_replay_program *p,
		     const struct np_replay_job *j, const char *model)
{
	char (*row)[BAR + 1], text[CLI_NUMBER];

	if (p->n_tasks > ROWS || !(j->end_sec > 0))
		return;
	row = calloc(p->n_tasks, sizeof(*row));
	if (!row)
		return;
	draw(p, j, row);
	cli_head("0 .. %s, %s: # computes, - sends or receives",
		 cli_sec(j->end_sec, text), model);
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		for (int c = BAR; c && row[t][c - 1] == ' '; c--)
			row[t][c - 1] = '\0';
		printf("%6u  %s\n", t, row[t]);
	}
	free(row);
}

/* Run times by all models. */
static void ends(const struct cli_replay *r, size_t k)
{
	const struct cli_replay_program *p = &r->p[k];

	printf("%s%-12s%12s", cli_colour(CLI_BOLD), "model", "alone");
	if (r->n > 1)
		printf("%12s%10s", "together", "slowdown");
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t m = 0; m < r->net.n; m++) {
		double alone = p->alone[m].end_sec, with;
		char text[CLI_NUMBER];

		printf("%-12s", r->net.model[m]->name);
		seconds(alone, 12);
		if (r->n > 1) {
			with = p->together[m].end_sec;
			seconds(with, 12);
			cell(alone > 0 ? cli_change(with / alone - 1, text) :
					 "-", 10);
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
		       name_of(p), p->n_tasks, np_replay_ops(p->app));
		ends(r, k);
		cli_head("%s%s", r->net.model[0]->name,
			 r->n > 1 ? ", together" : "");
		tasks(p, j);
		timeline(p, j, r->net.model[0]->name);
	}
	return CLI_DONE;
}

int cli_replay_parsable(const struct cli_replay *r)
{
	puts("Program|Model|Task|Node|AloneEnd|TogetherEnd|Computes|Waits|"
	     "Messages|Bytes|Penalty|Conflicts");
	for (size_t k = 0; k < r->n; k++)
		for (size_t m = 0; m < r->net.n; m++)
			for (uint32_t t = 0; t < r->p[k].n_tasks; t++) {
				const struct cli_replay_program *p = &r->p[k];
				const struct np_replay_task *a =
					&p->alone[m].task[t];
				const struct np_replay_task *b = r->n > 1 ?
					&p->together[m].task[t] : a;

				cli_field(name_of(p), '|');
				printf("%s|%u|%u|", r->net.model[m]->name, t,
				       p->node_of[t]);
				cli_field_real(a->end_sec, 9, '|');
				cli_field_real(r->n > 1 ? b->end_sec : NAN, 9,
					       '|');
				cli_field_real(b->compute_sec, 9, '|');
				cli_field_real(b->wait_sec, 9, '|');
				printf("%llu|%llu|",
				       (unsigned long long)b->messages,
				       (unsigned long long)b->bytes);
				cli_field_real(b->mean_penalty, 9, '|');
				cli_field_real(b->mean_conflicts, 9, '\n');
			}
	return CLI_DONE;
}
