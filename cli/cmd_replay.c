/* netprof replay: programs played on a network. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli_replay.h"
#include "np_option.h"
#include "np_quantity.h"

static int take_time(const struct cli_cmd *self, const char *text, double *sec)
{
	return np_duration_parse(text, sec) ?
		       cli_usage(self, "--latency=%.40s: expected a time as "
				 "10us", text) : 0;
}

static int take_bytes(const struct cli_cmd *self, const char *option,
		      const char *text, uint64_t *bytes)
{
	return np_bytes_parse(text, bytes) ?
		       cli_usage(self, "--%s=%.40s: expected bytes as 64K",
				 option, text) : 0;
}

static int take_count(const struct cli_cmd *self, const char *option,
		      const char *text, uint32_t *n)
{
	struct np_err err = NP_ERR_INIT;

	return np_option_count(option, text, 1, 1u << 20, n, &err) ?
		       cli_usage(self, "%s", err.text) : 0;
}

static int take_map(const char *text, struct cli_replay *r)
{
	static const char *const name[] = {
		[NP_MAPPING_NODE] = "node", [NP_MAPPING_CORE] = "core",
		[NP_MAPPING_RANDOM] = "random",
	};

	r->map = text;
	for (size_t i = 0; i < NP_ARRAY_SIZE(name); i++)
		if (!strcmp(text, name[i])) {
			r->mapping = (enum np_mapping)i;
			r->map = NULL;
		}
	return 0;
}

static int take_bandwidth(const struct cli_cmd *self, const char *text,
			  struct cli_replay *r)
{
	uint64_t bytes = 0;
	int rc = take_bytes(self, "bandwidth", text, &bytes);

	if (!rc && !bytes)
		rc = cli_usage(self, "--bandwidth=%.40s: expected more than 0",
			       text);
	r->play.bytes_per_sec = (double)bytes;
	return rc;
}

static int take(const struct cli_cmd *self, int c, char *arg,
		struct cli_replay *r)
{
	uint32_t seed = 1;
	int rc;

	switch (c) {
	case 'm': return cli_network_models(self, arg, &r->net);
	case 'S': return cli_network_set(self, arg, &r->net);
	case 'l': return take_time(self, arg, &r->play.latency_sec);
	case 'b': return take_bandwidth(self, arg, r);
	case 'e': return take_bytes(self, "eager", arg,
				    &r->play.eager_bytes);
	case 'n': return take_count(self, "--nodes", arg, &r->n_nodes);
	case 'c': return take_count(self, "--cores", arg, &r->cores);
	case 'M': return take_map(arg, r);
	case 'd':
		rc = take_count(self, "--seed", arg, &seed);
		r->seed = seed;
		return rc;
	case 'j':
		r->format = CLI_JSON;
		return 0;
	case 'P':
		r->format = CLI_PARSABLE;
		return 0;
	case 'h':
		cli_print_help(self);
		return -1;
	case ':':
		return cli_usage(self, "%s: an argument is missing", arg);
	default:
		return cli_usage(self, "%.64s: no such option", arg);
	}
}

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_replay *r)
{
	static const struct option options[] = {
		{ "model", required_argument, NULL, 'm' },
		{ "set", required_argument, NULL, 'S' },
		{ "latency", required_argument, NULL, 'l' },
		{ "bandwidth", required_argument, NULL, 'b' },
		{ "eager", required_argument, NULL, 'e' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "cores", required_argument, NULL, 'c' },
		{ "map", required_argument, NULL, 'M' },
		{ "seed", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "parsable", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":hP", options, NULL)) != -1)
		rc = take(self, c, c == ':' || c == '?' ? argv[optind - 1] :
							  optarg, r);
	if (rc)
		return rc;
	if (optind == argc)
		return cli_usage(self, "a program is missing");
	if (argc - optind > CLI_REPLAY_PROGRAMS)
		return cli_usage(self, "more than %d programs",
				 CLI_REPLAY_PROGRAMS);
	return 0;
}

static int read_all(struct cli_replay *r, char **paths, int n)
{
	struct np_err err = NP_ERR_INIT;

	for (int k = 0; k < n; k++) {
		struct cli_replay_program *p = &r->p[r->n];

		p->path = paths[k];
		if (cli_replay_read(p->path, &p->app, &err))
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

/* Alone, and all together, those that end first again and again. */
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
	return r->format == CLI_JSON ? cli_replay_json(r) :
	       r->format == CLI_PARSABLE ? cli_replay_parsable(r) :
					   cli_replay_text(r);
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
	int rc;

	if (!r)
		return cli_fail("out of memory");
	cli_network_init(&r->net);
	r->play.bytes_per_sec = 125e6;
	r->cores = 1;
	r->seed = 1;
	rc = parse(self, argc, argv, r);
	if (!rc)
		rc = read_all(r, argv + optind, argc - optind);
	if (!rc)
		rc = cli_replay_place(self, r);
	if (!rc)
		rc = play_all(r);
	release(r);
	return rc < 0 ? CLI_DONE : rc;
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
"  --json, --parsable\n"
"                    for programs",
	.run = run_replay,
};
