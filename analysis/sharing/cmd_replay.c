/*
 * netprof replay: simulates programs on a network (np_replay.h), under one or
 * more models of how messages share it. Several programs run alone and
 * together, and the ratio of the two times is the slowdown of each.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_graph.h"
#include "cli_json_put.h"
#include "cli_network.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_figure.h"
#include "np_option.h"
#include "np_read.h"
#include "np_replay.h"

#define MAX_PROGRAMS 8

/* A program, where its tasks are, and the results of its runs. */
struct program {
	const char *path;
	struct np_replay_app *app;
	uint32_t n_tasks;
	uint32_t *node_of; /* by task */
	/* by model: alone, and together with the others */
	struct np_replay_job alone[CLI_NETWORK_MODELS];
	struct np_replay_job together[CLI_NETWORK_MODELS];
};

/* The request, from the command line, and all programs. */
struct replay {
	struct cli_network net;
	struct np_replay_net play; /* all except the model */
	enum np_mapping mapping;
	/* list of nodes of all tasks, instead of mapping; or NULL */
	const char *map;
	uint32_t seed;
	uint32_t n_nodes, cores; /* n_nodes 0: as many as needed */
	size_t n;
	struct program p[MAX_PROGRAMS];
};

/* Activity of a task in a bin of time. */
enum { IDLE, TALKS, COMPUTES };

/* ---- Reports of netprof replay: text, JSON and tables ---- */

#define BAR 66	/* columns of the timeline */
#define ROWS 40 /* maximum number of tasks in the timeline */

/* A number as text, for cli_print_number(). */
static const char *three_decimals(double v)
{
	return cli_text("%.3f", v);
}

/* Prints the table of tasks. */
static void print_tasks(const struct program *p, const struct np_replay_job *j)
{
	printf("%s%6s%6s%10s%10s%10s%10s%10s%9s%9s%s\n", cli_colour(CLI_BOLD),
	       "task", "node", "ends", "computes", "waits", "messages", "bytes",
	       "penalty", "conflict", cli_colour(CLI_PLAIN));
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		const struct np_replay_task *k = &j->task[t];

		printf("%6u%6u", t, p->node_of[t]);
		cli_print_sec(k->end_sec, 10);
		cli_print_sec(k->compute_sec, 10);
		cli_print_sec(k->wait_sec, 10);
		printf("%10llu", (unsigned long long)k->messages);
		cli_print_right(stdout, cli_bytes(k->bytes), 10);
		cli_print_number(three_decimals, k->mean_penalty, 9);
		cli_print_number(three_decimals, k->mean_conflicts, 9);
		putchar('\n');
	}
}

/*
 * Determines what the first n tasks do in each bin of the time up to end;
 * computation takes precedence over messages, because a nonblocking message
 * that is hidden behind it costs the task nothing. what: n times bins entries,
 * initially idle.
 */
static void classify_bins(const struct np_replay_job *j, uint32_t n, double end,
			  size_t bins, unsigned char *what)
{
	for (size_t i = 0; i < j->app->n_ops; i++) {
		const struct np_replay_op *op = &j->app->op[i];
		const struct np_replay_span *s = &j->span[i];
		unsigned char kind = op->kind == NP_REPLAY_COMPUTE ? COMPUTES :
								     TALKS;
		size_t from = (size_t)(s->start_sec / end * (double)bins);
		size_t to = (size_t)ceil(s->end_sec / end * (double)bins);

		if (op->task >= n || !(s->end_sec > s->start_sec))
			continue;
		for (size_t b = from; b < to && b < bins; b++)
			if (what[op->task * bins + b] < kind)
				what[op->task * bins + b] = kind;
	}
}

/* Prints what each task does over time, a line per task. */
static void print_timeline(const struct program *p,
			   const struct np_replay_job *j, const char *model)
{
	unsigned char *what;

	if (p->n_tasks > ROWS || !(j->end_sec > 0))
		return;
	what = cli_calloc(p->n_tasks, BAR);
	classify_bins(j, p->n_tasks, j->end_sec, BAR, what);
	cli_heading("0 .. %s, %s: # computing, - sending or receiving",
		    cli_sec(j->end_sec), model);
	for (uint32_t t = 0; t < p->n_tasks; t++) {
		const unsigned char *row = what + t * BAR;
		int n = BAR;

		while (n && row[n - 1] == IDLE)
			n--;
		printf("%6u  ", t);
		for (int c = 0; c < n; c++)
			putchar(" -#"[row[c]]);
		putchar('\n');
	}
	free(what);
}

/* Prints the run times under all models. */
static void print_ends(const struct replay *r, size_t k)
{
	const struct program *p = &r->p[k];

	printf("%s%-12s%12s", cli_colour(CLI_BOLD), "model", "alone");
	if (r->n > 1)
		printf("%12s%10s", "together", "slowdown");
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t m = 0; m < r->net.n; m++) {
		double alone = p->alone[m].end_sec, with;

		printf("%-12s", r->net.model[m]->name);
		cli_print_sec(alone, 12);
		if (r->n > 1) {
			with = p->together[m].end_sec;
			cli_print_sec(with, 12);
			cli_print_number(cli_change,
					 alone > 0 ? with / alone - 1 : NAN,
					 10);
		}
		putchar('\n');
	}
}

/* Prints the whole report as text, in detail for the first model. */
static int print_text(const struct replay *r)
{
	for (size_t k = 0; k < r->n; k++) {
		const struct program *p = &r->p[k];
		const struct np_replay_job *j = r->n > 1 ? &p->together[0] :
							   &p->alone[0];

		printf("%s%s: %u task%s, %zu operation%s\n\n", k ? "\n" : "",
		       basename(p->path), p->n_tasks, cli_plural_s(p->n_tasks),
		       p->app->n_ops, cli_plural_s(p->app->n_ops));
		print_ends(r, k);
		cli_heading("%s%s", r->net.model[0]->name,
			    r->n > 1 ? ", together" : "");
		print_tasks(p, j);
		print_timeline(p, j, r->net.model[0]->name);
	}
	return CLI_DONE;
}

#define MAX_OPS 100000 /* limit above which operations are not listed */

static const char *const kind_names[] = {
	[NP_REPLAY_COMPUTE] = "compute",
	[NP_REPLAY_SEND] = "send",
	[NP_REPLAY_RECV] = "recv",
};

/* Adds a task to the JSON output. */
static void put_task(json_object *list, const struct program *p,
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

/* Adds an operation with its times to the JSON output. */
static void put_op(json_object *list, const struct program *p,
		   const struct np_replay_job *j, size_t i)
{
	const struct np_replay_op *op = &p->app->op[i];
	json_object *o = cli_append_object(list);

	cli_put_count(o, "task", op->task);
	cli_put_text(o, "kind", kind_names[op->kind]);
	cli_put_computed(o, "start_sec", j->span[i].start_sec);
	cli_put_computed(o, "end_sec", j->span[i].end_sec);
	if (op->kind == NP_REPLAY_COMPUTE)
		return;
	cli_put_count(o, "peer", p->app->op[op->match].task);
	if (op->kind == NP_REPLAY_RECV)
		return;
	cli_put_count(o, "bytes", op->bytes);
	cli_put_computed(o, "penalty", j->span[i].penalty);
	cli_put_count(o, "conflicts", j->span[i].conflicts);
}

/*
 * Adds a run of a program to the JSON output. Operations are omitted if there
 * are too many.
 */
static void put_job(json_object *in, const char *key, const struct program *p,
		    const struct np_replay_job *j)
{
	json_object *o = cli_put_object(in, key), *list;

	cli_put_computed(o, "end_sec", j->end_sec);
	list = cli_put_array(o, "tasks");
	for (uint32_t t = 0; t < p->n_tasks; t++)
		put_task(list, p, j, t);
	if (p->app->n_ops > MAX_OPS)
		return;
	list = cli_put_array(o, "operations");
	for (size_t i = 0; i < p->app->n_ops; i++)
		put_op(list, p, j, i);
}

/* Adds a program under all models to the JSON output. */
static void put_program(json_object *list, const struct replay *r, size_t k)
{
	const struct program *p = &r->p[k];
	json_object *o = cli_append_object(list), *models;

	cli_put_text(o, "file", p->path);
	cli_put_count(o, "tasks", p->n_tasks);
	cli_put_count(o, "operations", p->app->n_ops);
	models = cli_put_object(o, "models");
	for (size_t m = 0; m < r->net.n; m++) {
		json_object *one =
			cli_put_object(models, r->net.model[m]->name);
		double alone = p->alone[m].end_sec;

		put_job(one, "alone", p, &p->alone[m]);
		if (r->n < 2)
			continue;
		put_job(one, "together", p, &p->together[m]);
		cli_put_computed(
			one, "slowdown",
			alone > 0 ? p->together[m].end_sec / alone - 1 : NAN);
	}
}

#define TASK \
	"task|node|end_sec|compute_sec|wait_sec|messages|bytes|" \
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

/* Prints everything as JSON or as a table. */
static int print_data(const struct replay *r, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_count(j, "n_nodes", r->play.n_nodes);
	cli_put_computed(j, "bytes_per_sec", r->play.bytes_per_sec);
	cli_put_computed(j, "latency_sec", r->play.latency_sec);
	cli_put_count(j, "eager_bytes", r->play.eager_bytes);
	list = cli_put_array(j, "programs");
	for (size_t k = 0; k < r->n; k++)
		put_program(list, r, k);
	return cli_print_output(format, "replay", j, &table);
}

/* ---- netprof replay --plot: activity of each task over time ---- */

#define TASKS 48  /* rows for one program */
#define BINS 2000 /* of the time axis: finer than can be seen */

/* Adds the intervals of one kind of activity to the figure. */
static void add_spans(struct np_figure *f, struct np_panel *p, uint32_t n_tasks,
		      double end, const unsigned char *what, unsigned char kind)
{
	bool computes = kind == COMPUTES;
	struct np_shape *s = np_figure_add_shape(
		f, p, NP_SHAPE_SPANS, !computes,
		computes ? "computing" : "sending or receiving");

	for (uint32_t task = 0; task < n_tasks; task++) {
		const unsigned char *row = what + task * BINS;
		size_t from, to;

		for (from = 0; from < BINS; from = to + 1) {
			for (to = from; to < BINS && row[to] == kind; to++)
				;
			if (to > from)
				np_figure_add_datum(f, s, NAN, task,
						    (double)from / BINS * end,
						    (double)to / BINS * end);
		}
	}
}

/* Adds the panel of one program. */
static void add_program(struct np_figure *f, const struct program *p,
			const struct np_replay_job *j, double end)
{
	uint32_t n = p->n_tasks < TASKS ? p->n_tasks : TASKS;
	struct np_panel *panel = cli_figure_add_panel(
		f, p->path, NP_AXIS_LINEAR, "Time (s)", NP_AXIS_NAMES, "Task");
	unsigned char *what = cli_calloc(n, BINS);
	char name[CLI_NUMBER_LEN];

	panel->x.lo = 0;
	panel->x.hi = end;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		np_figure_add_name(f, &panel->y, name);
	}
	classify_bins(j, n, end, BINS, what);
	add_spans(f, panel, n, end, what, COMPUTES);
	add_spans(f, panel, n, end, what, TALKS);
	free(what);
}

/* Draws all programs, together if there are several. */
static int draw_figure(const struct replay *r, const char *path)
{
	struct np_figure *f;
	uint32_t most = 0;
	double end = 0;

	for (size_t k = 0; k < r->n; k++)
		end = fmax(end, r->n > 1 ? r->p[k].together[0].end_sec :
					   r->p[k].alone[0].end_sec);
	if (!(end > 0))
		return cli_fail("all programs take 0 s: nothing to draw");
	f = cli_figure_new(r->n > 1 ? "Run together" : "Run alone");
	for (size_t k = 0; k < r->n; k++) {
		add_program(f, &r->p[k],
			    r->n > 1 ? &r->p[k].together[0] : &r->p[k].alone[0],
			    end);
		most = r->p[k].n_tasks > most ? r->p[k].n_tasks : most;
	}
	np_figure_set_caption(
		f,
		"Model %s, links of %s and %s; n = %zu program%s, the "
		"first run of each%s.",
		r->net.model[0]->name, cli_setting_rate(r->play.bytes_per_sec),
		cli_setting_sec(r->play.latency_sec), r->n, cli_plural_s(r->n),
		most > TASKS ? "; at most 48 tasks of each are drawn" : "");
	return cli_figure_save_and_free(f, path);
}

/* ---- The command ---- */

/*
 * Program descriptions begin with the word "tasks", after blanks and comments.
 * A file with such a comment is one even if that word is wrong, as GOAL has
 * other comments.
 */
static bool is_workload(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text;

	text[n < 0 ? 0 : n] = '\0';
	at += strspn(at, " \t\r\n");
	return *at == '#' ||
	       (!strncmp(at, "tasks", 5) && isspace((unsigned char)at[5]));
}

/* Reads a graph in GOAL, or the traces in a directory, as a program. */
static int read_graph(int fd, const char *path, struct np_replay_app **out,
		      struct np_err *err)
{
	struct np_graph *g;
	struct stat st;
	int rc = !fstat(fd, &st) && S_ISDIR(st.st_mode) ?
			 cli_graph_load(path, NULL, &g, err) :
			 cli_goal_read(fd, path, &g, err);

	if (rc)
		return rc;
	rc = np_replay_of_graph(g, out, err);
	np_graph_free(g);
	return rc;
}

/* Reads a program description, a graph in GOAL, or a directory with traces. */
static int read_program(const char *path, struct np_replay_app **out,
			struct np_err *err)
{
	int fd = np_read_stream(path, err), rc;

	if (fd < 0)
		return fd;
	rc = is_workload(fd) ? np_workload_read(path, out, err) :
			       read_graph(fd, path, out, err);
	close(fd);
	return rc;
}

/* Places all tasks of all programs by the list of --map, such as "0,0,1,1". */
static int place_list(const struct cli_cmd *cmd, struct replay *r)
{
	const char *at = r->map;
	uint32_t most = 0;

	for (size_t k = 0; k < r->n; k++)
		for (uint32_t t = 0; t < r->p[k].n_tasks; t++) {
			char *end;
			unsigned long v = strtoul(at, &end, 10);

			if (!isdigit((unsigned char)*at) || v >= 1u << 20 ||
			    (*end && *end != ','))
				return cli_usage(cmd,
						 "--map: expected one of node, "
						 "core, random or the nodes of "
						 "all tasks as 0,0,1");
			r->p[k].node_of[t] = (uint32_t)v;
			most = v > most ? (uint32_t)v : most;
			at = end + (*end == ',');
		}
	if (*at)
		return cli_usage(cmd, "--map: more nodes than tasks");
	if (r->n_nodes && most >= r->n_nodes)
		return cli_usage(cmd, "--map: node %u, but --nodes=%u", most,
				 r->n_nodes);
	r->play.n_nodes = r->n_nodes ? r->n_nodes : most + 1;
	return 0;
}

/*
 * Gives each program nodes of its own, consecutively. Returns 0, or the exit
 * status.
 */
static int place(const struct cli_cmd *cmd, struct replay *r)
{
	struct np_err err = NP_ERR_INIT;
	uint32_t first = 0;

	if (r->map)
		return place_list(cmd, r);
	for (size_t k = 0; k < r->n; k++) {
		struct program *p = &r->p[k];
		uint32_t n = r->n_nodes ?
				     r->n_nodes :
				     (p->n_tasks + r->cores - 1) / r->cores;

		if (np_mapping_make(r->mapping, p->n_tasks, n, r->cores,
				    r->seed, p->node_of, &err))
			return cli_fail("%s: %s", p->path, err.text);
		for (uint32_t t = 0; t < p->n_tasks; t++)
			p->node_of[t] += first;
		first += n;
	}
	r->play.n_nodes = first;
	return 0;
}

/* Parses --latency. */
static int take_latency(char *text, void *own, struct np_err *err)
{
	struct replay *r = own;

	return np_duration_parse(text, &r->play.latency_sec) ?
		       np_errf(err, -EINVAL,
			       "--latency=%.40s: expected a time, such as 10us",
			       text) :
		       0;
}

/* Parses --bandwidth. */
static int take_bandwidth(char *text, void *own, struct np_err *err)
{
	struct replay *r = own;
	uint64_t bytes;

	if (np_bytes_parse(text, &bytes))
		return np_errf(err, -EINVAL,
			       "--bandwidth=%.40s: expected bytes, such as 64K",
			       text);
	if (!bytes)
		return np_errf(err, -EINVAL,
			       "--bandwidth=%.40s: expected more than 0", text);
	r->play.bytes_per_sec = (double)bytes;
	return 0;
}

/* Parses --eager. */
static int take_eager(char *text, void *own, struct np_err *err)
{
	struct replay *r = own;

	return np_bytes_parse(text, &r->play.eager_bytes) ?
		       np_errf(err, -EINVAL,
			       "--eager=%.40s: expected bytes, such as 64K",
			       text) :
		       0;
}

/* Parses --map: a rule, or a list that is read once the tasks are known. */
static int take_map(char *text, void *own, struct np_err *err)
{
	struct replay *r = own;
	static const char *const name[] = {
		[NP_MAPPING_NODE] = "node",
		[NP_MAPPING_CORE] = "core",
		[NP_MAPPING_RANDOM] = "random",
	};

	(void)err;
	r->map = text;
	for (size_t i = 0; i < NP_ARRAY_SIZE(name); i++)
		if (!strcmp(text, name[i])) {
			r->mapping = (enum np_mapping)i;
			r->map = NULL;
		}
	return 0;
}

#define AT(member) offsetof(struct replay, member)

static const struct np_option options[] = {
	{ "model", NP_OPTION_TAKE, AT(net), .take = cli_network_models },
	{ "set", NP_OPTION_TAKE, AT(net), .take = cli_network_set },
	{ "latency", NP_OPTION_TAKE, .take = take_latency },
	{ "bandwidth", NP_OPTION_TAKE, .take = take_bandwidth },
	{ "eager", NP_OPTION_TAKE, .take = take_eager },
	{ "nodes", NP_OPTION_COUNT, AT(n_nodes), 1, 1 << 20 },
	{ "cores", NP_OPTION_COUNT, AT(cores), 1, 1 << 20 },
	{ "map", NP_OPTION_TAKE, .take = take_map },
	{ "seed", NP_OPTION_COUNT, AT(seed), 1, 1 << 20 },
	{ NULL },
};

/* Parses the command line and checks which options fit together. */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct replay *r, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, r, o);

	if (rc < 0 && o->n_apps > MAX_PROGRAMS)
		return cli_usage(self, "more than %d programs", MAX_PROGRAMS);
	if (rc < 0 && r->seed && (r->map || r->mapping != NP_MAPPING_RANDOM))
		return cli_usage(self,
				 "--seed has no effect without --map=random");
	if (rc < 0 && r->cores && r->map)
		return cli_usage(self,
				 "--cores has no effect with a list of --map");
	r->cores = r->cores ? r->cores : 1;
	r->seed = r->seed ? r->seed : 1;
	return rc < 0 ? cli_network_check(&r->net, self) : rc;
}

/* Reads all programs. */
static int read_all(struct replay *r, char **paths, size_t n)
{
	struct np_err err = NP_ERR_INIT;

	for (size_t k = 0; k < n; k++) {
		struct program *p = &r->p[r->n];

		p->path = paths[k];
		if (read_program(p->path, &p->app, &err))
			return cli_fail("%s", err.text);
		r->n++;
		p->n_tasks = p->app->n_tasks;
		p->node_of = cli_calloc(p->n_tasks, sizeof(*p->node_of));
	}
	return 0;
}

/* A run of a program on its nodes. */
static struct np_replay_job make_job(const struct program *p)
{
	return (struct np_replay_job){
		.app = p->app,
		.node_of = p->node_of,
		.task = cli_calloc(p->n_tasks, sizeof(struct np_replay_task)),
		.span = cli_calloc(p->app->n_ops,
				   sizeof(struct np_replay_span)),
	};
}

/* Runs each program alone, and all together, repeating those that end early. */
static int play(struct replay *r, size_t m)
{
	const char *model = r->net.model[m]->name;
	struct np_replay_job all[MAX_PROGRAMS];
	struct np_err err = NP_ERR_INIT;

	r->play.model = r->net.model[m];
	for (size_t k = 0; k < r->n; k++) {
		struct program *p = &r->p[k];

		p->alone[m] = make_job(p);
		if (np_replay_run(&r->play, &p->alone[m], 1, false, NULL, &err))
			return cli_fail("%.120s: model %s: %s", p->path, model,
					err.text);
		if (r->n > 1)
			all[k] = p->together[m] = make_job(p);
	}
	if (r->n > 1 && np_replay_run(&r->play, all, r->n, true, NULL, &err))
		return cli_fail("all programs together: model %s: %s", model,
				err.text);
	for (size_t k = 0; r->n > 1 && k < r->n; k++)
		r->p[k].together[m] = all[k];
	return 0;
}

/* Simulates all programs under each model. */
static int play_all(struct replay *r)
{
	int rc = 0;

	r->play.param = r->net.param;
	for (size_t m = 0; !rc && m < r->net.n; m++)
		rc = play(r, m);
	return rc;
}

/* Frees everything. */
static void release(struct replay *r)
{
	for (size_t k = 0; k < MAX_PROGRAMS; k++) {
		np_replay_app_free(r->p[k].app);
		free(r->p[k].node_of);
		for (size_t m = 0; m < CLI_NETWORK_MODELS; m++) {
			free(r->p[k].alone[m].task);
			free(r->p[k].alone[m].span);
			free(r->p[k].together[m].task);
			free(r->p[k].together[m].span);
		}
	}
	free(r);
}

/* Reads, places, simulates and prints the programs. */
static int run_replay(const struct cli_cmd *self, int argc, char **argv)
{
	struct replay *r = cli_calloc(1, sizeof(*r));
	struct cli_options o;
	int rc;

	cli_network_init(&r->net);
	r->play.bytes_per_sec = 125e6;
	rc = parse(self, argc, argv, r, &o);
	if (rc < 0) {
		rc = read_all(r, o.apps, o.n_apps);
		if (!rc)
			rc = place(self, r);
		if (!rc)
			rc = play_all(r);
		if (!rc)
			rc = o.plot   ? draw_figure(r, o.plot) :
			     o.format ? print_data(r, o.format) :
					print_text(r);
	}
	release(r);
	return rc;
}

const struct cli_cmd cmd_replay = {
	.name = "replay",
	.args = "[OPTION]... PROGRAM...",
	.help = "simulate programs on a network, alone and together",
	.text = "Simulates each PROGRAM on nodes that share a network as a model describes, and\n"
		"prints when each task ends and the penalties of its messages. A program is a\n"
		"netprof-workload(5), an execution graph in GOAL, or the directory of a\n"
		"recorded run. Several programs run alone and together, each on nodes of its\n"
		"own; the output contains their slowdowns.\n\n"
		"  --model=M,...     network models, as for netprof sharing\n"
		"  --set=P=V,...     parameters; fabric=N: the switch carries N transfers\n"
		"  --bandwidth=SIZE  bytes per second of a link (125 MB: 1 Gbit/s)\n"
		"  --latency=TIME    latency of each message (0s)\n"
		"  --eager=SIZE      sends up to this size do not wait for the receive (0)\n"
		"  --nodes=N         nodes of each program (as many as it needs)\n"
		"  --cores=N         tasks per node (1)\n"
		"  --map=HOW         node: round robin (default); core: node by node; random;\n"
		"                    or the node of each task, 0,0,1,...\n"
		"  --seed=N          seed of --map=random\n"
		"  --plot=FILE       draw tasks over time: .svg, .png or .pdf\n"
		"  --json, --parsable\n"
		"                    output for programs",
	.examples = "  netprof replay stencil.workload\n"
		    "  netprof replay --set=fabric=2 first.goal second.goal\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = options,
	.required_arg = "a program: a file or a directory of traces",
	.max_args = CLI_ANY,
	.run = run_replay,
};
