/* netprof replay: simulates programs on a network. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_graph.h"
#include "cli_replay.h"
#include "np_goal.h"
#include "np_quantity.h"
#include "np_workload.h"

/*
 * Program descriptions begin with the word "tasks", after blanks and comments.
 */
static bool is_workload(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text;

	text[n < 0 ? 0 : n] = '\0';
	for (;;) {
		at += strspn(at, " \t\r\n");
		if (*at != '#')
			break;
		at += strcspn(at, "\n");
	}
	return !strncmp(at, "tasks", 5) && isspace((unsigned char)at[5]);
}

static int read_graph(int fd, const char *path, struct np_replay_app **out,
		      struct np_err *err)
{
	struct np_graph *g;
	struct stat st;
	int rc = !fstat(fd, &st) && S_ISDIR(st.st_mode) ?
		 cli_graph_load(path, NULL, &g, err) :
		 np_goal_read(fd, path, &g, err);

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
	int fd = cli_graph_open(path, err), rc;

	if (fd < 0)
		return fd;
	rc = is_workload(fd) ? np_workload_read(path, out, err) :
			       read_graph(fd, path, out, err);
	close(fd);
	return rc;
}

/* "0,0,1,1": nodes of all tasks of all programs. */
static int place_list(const struct cli_cmd *cmd, struct cli_replay *r)
{
	const char *at = r->map;
	uint32_t most = 0;

	for (size_t k = 0; k < r->n; k++)
		for (uint32_t t = 0; t < r->p[k].n_tasks; t++) {
			char *end;
			unsigned long v = strtoul(at, &end, 10);

			if (!isdigit((unsigned char)*at) || v >= 1u << 20 ||
			    (*end && *end != ','))
				return cli_usage(cmd, "--map: expected one of "
						 "node, core, random or the "
						 "nodes of all tasks as "
						 "0,0,1");
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
static int place(const struct cli_cmd *cmd, struct cli_replay *r)
{
	struct np_err err = NP_ERR_INIT;
	uint32_t first = 0;

	if (r->map)
		return place_list(cmd, r);
	for (size_t k = 0; k < r->n; k++) {
		struct cli_replay_program *p = &r->p[k];
		uint32_t n = r->n_nodes ? r->n_nodes :
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

static int take_latency(char *text, void *ask, struct np_err *err)
{
	struct cli_replay *r = ask;

	return np_duration_parse(text, &r->play.latency_sec) ?
	       np_errf(err, -EINVAL, "--latency=%.40s: expected a time as 10us",
		       text) : 0;
}

static int take_bandwidth(char *text, void *ask, struct np_err *err)
{
	struct cli_replay *r = ask;
	uint64_t bytes;

	if (np_bytes_parse(text, &bytes))
		return np_errf(err, -EINVAL, "--bandwidth=%.40s: expected "
			       "bytes as 64K", text);
	if (!bytes)
		return np_errf(err, -EINVAL, "--bandwidth=%.40s: expected more "
			       "than 0", text);
	r->play.bytes_per_sec = (double)bytes;
	return 0;
}

static int take_eager(char *text, void *ask, struct np_err *err)
{
	struct cli_replay *r = ask;

	return np_bytes_parse(text, &r->play.eager_bytes) ?
	       np_errf(err, -EINVAL, "--eager=%.40s: expected bytes as 64K",
		       text) : 0;
}

static int take_map(char *text, void *ask, struct np_err *err)
{
	struct cli_replay *r = ask;
	static const char *const name[] = {
		[NP_MAPPING_NODE] = "node", [NP_MAPPING_CORE] = "core",
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

#define AT(member) offsetof(struct cli_replay, member)

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

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_replay *r, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, r, o);

	if (rc < 0 && o->n_apps > CLI_REPLAY_PROGRAMS)
		return cli_usage(self, "more than %d programs",
				 CLI_REPLAY_PROGRAMS);
	if (rc < 0 && r->seed && (r->map || r->mapping != NP_MAPPING_RANDOM))
		return cli_usage(self, "--seed has no effect without "
				 "--map=random");
	if (rc < 0 && r->cores && r->map)
		return cli_usage(self, "--cores has no effect with a list of "
				 "--map");
	r->cores = r->cores ? r->cores : 1;
	r->seed = r->seed ? r->seed : 1;
	return rc < 0 ? cli_network_check(&r->net, self) : rc;
}

static int read_all(struct cli_replay *r, char **paths, size_t n)
{
	struct np_err err = NP_ERR_INIT;

	for (size_t k = 0; k < n; k++) {
		struct cli_replay_program *p = &r->p[r->n];

		p->path = paths[k];
		if (read_program(p->path, &p->app, &err))
			return cli_fail("%s", err.text);
		r->n++;
		p->n_tasks = np_replay_tasks(p->app);
		p->node_of = calloc(p->n_tasks, sizeof(*p->node_of));
		if (!p->node_of)
			return cli_fail("out of memory");
	}
	return 0;
}

static int alloc_job(const struct cli_replay_program *p,
		     struct np_replay_job *j)
{
	*j = (struct np_replay_job){
		.app = p->app, .node_of = p->node_of,
		.task = calloc(p->n_tasks, sizeof(*j->task)),
		.span = calloc(np_replay_ops(p->app) + 1, sizeof(*j->span)),
	};
	return j->task && j->span ? 0 : -ENOMEM;
}

/* Runs each program alone, and all together, repeating those that end early. */
static int play(struct cli_replay *r, size_t m, struct np_err *err)
{
	struct np_replay_job all[CLI_REPLAY_PROGRAMS];
	int rc = 0;

	r->play.model = r->net.model[m];
	for (size_t k = 0; !rc && k < r->n; k++) {
		struct cli_replay_program *p = &r->p[k];

		if (alloc_job(p, &p->alone[m]) ||
		    (r->n > 1 && alloc_job(p, &p->together[m])))
			return np_errf(err, -ENOMEM, "out of memory");
		all[k] = p->together[m];
		rc = np_replay_run(&r->play, &p->alone[m], 1, false, NULL,
				   err);
	}
	if (!rc && r->n > 1)
		rc = np_replay_run(&r->play, all, r->n, true, NULL, err);
	for (size_t k = 0; !rc && r->n > 1 && k < r->n; k++)
		r->p[k].together[m] = all[k];
	return rc;
}

static int play_all(struct cli_replay *r)
{
	struct np_err err = NP_ERR_INIT;

	r->play.param = r->net.param;
	for (size_t m = 0; m < r->net.n; m++)
		if (play(r, m, &err))
			return cli_fail("model %s: %s", r->net.model[m]->name,
					err.text);
	return 0;
}

static void release(struct cli_replay *r)
{
	for (size_t k = 0; k < CLI_REPLAY_PROGRAMS; k++) {
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

static int run_replay(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_replay *r = calloc(1, sizeof(*r));
	struct cli_options o;
	int rc;

	if (!r)
		return cli_fail("out of memory");
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
			rc = o.plot ? cli_replay_plot(r, o.plot) :
			     o.format ? cli_replay_data(r, o.format) :
					cli_replay_text(r);
	}
	release(r);
	return rc;
}

const struct cli_cmd cmd_replay = {
	.name = "replay",
	.args = "[OPTION]... PROGRAM...",
	.help = "programs played on a network, alone and together",
	.text =
"Plays each PROGRAM on nodes whose network is shared as models have it: when\n"
"each task ends, what its messages suffer.  A program is netprof-workload(5),\n"
"an execution graph in GOAL, or the directory of a recorded run.  Several are\n"
"played alone, each on nodes of its own, and together: their slowdowns.\n\n"
"  --model=M,...     as for netprof sharing\n"
"  --set=P=V,...     parameters; fabric=N: the switch carries N transfers\n"
"  --bandwidth=SIZE  bytes a second of a link (125 MB: 1 Gbit/s)\n"
"  --latency=TIME    of each message (0s)\n"
"  --eager=SIZE      up to it a send does not wait for its receive (0)\n"
"  --nodes=N         of each program (as many as it needs)\n"
"  --cores=N         tasks on a node (1)\n"
"  --map=HOW         node: round robin (this); core: node by node; random;\n"
"                    or the node of each task, 0,0,1,...\n"
"  --seed=N          of random\n"
"  --plot=FILE       tasks over time as a picture: .svg, .png or .pdf\n"
"  --json, --parsable\n"
"                    for programs",
	.examples =
"  netprof replay stencil.workload\n"
"  netprof replay --set=fabric=2 first.goal second.goal\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT, .own = options,
	.missing = "a program: a file or a directory of traces", .most = CLI_ANY,
	.run = run_replay,
};
