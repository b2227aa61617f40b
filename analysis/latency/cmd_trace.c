/*
 * netprof trace: summarises the trace of an MPI program, or converts it to GOAL
 * or to the text format of liballprof, for other tools.
 *
 * A summary needs only the events of each rank (np_trace_sum()). GOAL has no
 * collectives and the text has those of all ranks only, so that the others
 * become messages there, by the algorithms of --collective.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_graph.h"
#include "cli_json_put.h"
#include "cli_options.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_goal.h"

/* The request, from the command line. */
struct options {
	enum cli_format format;
	bool goal;
	const char *liballprof; /* directory, or NULL */
	struct np_choices choices;
};

/* Prints the totals of a trace as text. */
static void print_text(const char *path, const struct np_trace_sum *s)
{
	const char *comma = "";

	printf("Trace         %s\n", path);
	printf("Ranks         %u", s->ranks);
	if (s->cut)
		printf(", of which %u ended before MPI_Finalize()", s->cut);
	printf("\nTime          %s", cli_sec(s->sec));
	if (s->sec > 0) /* there is no percentage of nothing */
		printf(", %.0f %% of it in MPI calls",
		       100 * s->calls_sec / s->sec);
	putchar('\n');
	printf("Messages      %llu sent, %llu received, %s\n",
	       (unsigned long long)s->sent, (unsigned long long)s->received,
	       cli_bytes(s->sent_bytes));
	printf("Collectives   ");
	for (int i = 0; i < NP_N_COLLECTIVES; i++) {
		double each = (double)s->collectives[i] / s->ranks;

		if (!s->collectives[i])
			continue;
		printf(each < 100 ? "%s%s %.3g" : "%s%s %.0f", comma,
		       np_collective_name(i), each);
		comma = ", ";
	}
	printf("%s\n", *comma ? " per rank" : "none");
	if (s->not_followed)
		printf("Unsupported   %llu call%s, whose messages are missing\n",
		       (unsigned long long)s->not_followed,
		       cli_plural_s(s->not_followed));
}

static const struct cli_table table = {
	"Trace|Ranks|Cut|Records|Sec|CallsSec|Sent|Received|Bytes|NotFollowed",
	{ { "", "file|ranks|ranks_cut|records|sec|calls_sec|messages_sent|"
		"messages_received|bytes_sent|not_followed" } },
};

/* Prints the totals of a trace as JSON or as a table. */
static int print_data(const char *path, const struct np_trace_sum *s,
		      enum cli_format format)
{
	json_object *j = json_object_new_object(), *c;

	cli_put_text(j, "file", path);
	cli_put_count(j, "ranks", s->ranks);
	cli_put_count(j, "ranks_cut", s->cut);
	cli_put_count(j, "records", s->records);
	cli_put_computed(j, "sec", s->sec);
	cli_put_computed(j, "calls_sec", s->calls_sec);
	cli_put_count(j, "messages_sent", s->sent);
	cli_put_count(j, "messages_received", s->received);
	cli_put_count(j, "bytes_sent", s->sent_bytes);
	cli_put_count(j, "communicators", s->communicators);
	cli_put_count(j, "not_followed", s->not_followed);
	c = cli_put_object(j, "collectives");
	for (int i = 0; i < NP_N_COLLECTIVES; i++)
		if (s->collectives[i])
			cli_put_count(c, np_collective_name(i),
				      s->collectives[i]);
	return cli_print_output(format, "trace", j, &table);
}

/* Computes and prints the totals of a trace. */
static int print_trace(const char *path, const struct np_trace_files *f,
		       const struct options *opt)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_sum s;

	if (np_trace_sum(f, &s, &err))
		return cli_fail("%s", err.text);
	if (opt->format)
		return print_data(path, &s, opt->format);
	print_text(path, &s);
	return CLI_DONE;
}

/* Prints the execution graph of a trace as GOAL text. */
static int print_goal(const char *path, const struct options *opt)
{
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = NULL;
	int rc = cli_graph_read(path, &opt->choices, &g);

	if (rc >= 0)
		return rc;
	rc = np_goal_write(g, stdout, &err);
	np_graph_free(g);
	/* cli_run() reports errors of standard output. */
	return rc && rc != -EIO ? cli_fail("%s", err.text) : CLI_DONE;
}

/* Finds the files of a trace and prints or converts them. */
static int read_trace(const char *path, const struct options *opt)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_files f;
	int rc = np_trace_files_find(path, &f, &err);

	if (rc)
		return cli_fail("%s", err.text);
	if (!opt->liballprof)
		rc = print_trace(path, &f, opt);
	else
		rc = np_trace_allprof(&f, &opt->choices, opt->liballprof,
				      &err) ?
			     cli_fail("%s", err.text) :
			     CLI_DONE;
	np_trace_files_free(&f);
	return rc;
}

#define AT(member) offsetof(struct options, member)

static const struct np_option options[] = {
	{ "goal", NP_OPTION_FLAG, AT(goal) },
	{ "liballprof", NP_OPTION_WORD, AT(liballprof) },
	{ "collective", NP_OPTION_TAKE, AT(choices), .take = np_choices_add },
	{ NULL },
};

static int run_trace(const struct cli_cmd *self, int argc, char **argv)
{
	struct options opt = { .goal = false };
	struct cli_options o;
	char *path;
	int rc = cli_options_parse(self, argc, argv, &opt, &o);

	if (rc >= 0)
		return rc;
	opt.format = o.format;
	if (o.n_apps > 1)
		return cli_usage(self, "expected one trace");
	if (opt.goal && opt.liballprof)
		return cli_usage(
			self, "expected only one of --goal and --liballprof");
	if ((opt.goal || opt.liballprof) && o.format)
		return cli_usage(self, "--json and --parsable have no effect "
				       "with --goal and --liballprof");
	if (opt.choices.n && !opt.goal && !opt.liballprof)
		return cli_usage(self, "--collective has no effect without "
				       "--goal or --liballprof");
	rc = cli_trace_path(o.app, &path);
	if (rc >= 0)
		return rc;
	rc = opt.goal ? print_goal(path, &opt) : read_trace(path, &opt);
	free(path);
	return rc;
}

const struct cli_cmd cmd_trace = {
	.name = "trace",
	.args = "[--json|--parsable|--goal|--liballprof=DIR] APP|PATH",
	.help = "summarise the trace of an MPI program, or convert it",
	.text = "Summarises the newest trace of APP, or the trace in a directory: ranks, time,\n"
		"messages and collectives. srun --netprofile-trace records traces, and so\n"
		"does LD_PRELOAD=libnetprof-mpi.so; traces of liballprof can be read too.\n\n"
		"  --goal            print its execution graph as GOAL text\n"
		"  --liballprof=DIR  write it as text files of liballprof into DIR\n"
		"  --collective=NAME[:BYTES]=ALGORITHM\n"
		"                    messages of a collective: linear, binomial, ring,\n"
		"                    recursive-doubling or dissemination\n"
		"  --json, --parsable  output for programs",
	.examples = "  netprof trace lammps\n"
		    "  netprof trace ./netprof-trace\n"
		    "  netprof trace --goal lammps >lammps.goal\n",
	.takes = CLI_TAKES_FORMAT,
	.own = options,
	.required_arg = "an application or the directory of a trace",
	.max_args = CLI_ANY,
	.run = run_trace,
};
