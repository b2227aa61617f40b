/* netprof trace: what an MPI program's trace holds, and that in other forms. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_graph.h"
#include "cli_options.h"
#include "cli_text.h"
#include "cli_trace.h"
#include "np_goal.h"
#include "np_trace_allprof.h"

struct ask {
	enum cli_format format;
	bool goal;
	const char *liballprof; /* directory, or NULL */
	struct np_choices choices;
};

static void text(const char *path, const struct np_trace_sum *s)
{
	char a[CLI_NUMBER];
	const char *comma = "";

	printf("Trace         %s\n", path);
	printf("Ranks         %u", s->ranks);
	if (s->cut)
		printf(", %u of them ended before MPI_Finalize()", s->cut);
	printf("\nTime          %s", cli_sec(s->sec, a));
	printf(", of that %.0f %% in MPI calls\n",
	       s->sec > 0 ? 100 * s->calls_sec / s->sec : 0);
	printf("Messages      %llu sent, %llu received, %s\n",
	       (unsigned long long)s->sent, (unsigned long long)s->received,
	       cli_bytes(s->sent_bytes, a));
	printf("Collectives   ");
	for (int i = 0; i < NP_N_COLLECTIVES; i++) {
		if (!s->collectives[i])
			continue;
		printf("%s%s %llu", comma, np_collective_name(i),
		       (unsigned long long)s->collectives[i] / s->ranks);
		comma = ", ";
	}
	printf("%s\n", *comma ? "; of each rank" : "none");
	if (s->not_followed)
		printf("Not followed  %llu calls: what they send is missing\n",
		       (unsigned long long)s->not_followed);
}

static void parsable(const char *path, const struct np_trace_sum *s)
{
	puts("Trace|Ranks|Cut|Records|Sec|CallsSec|Sent|Received|Bytes|"
	     "NotFollowed");
	cli_field(path, '|');
	printf("%u|%u|%llu|%.9g|%.9g|%llu|%llu|%llu|%llu\n", s->ranks, s->cut,
	       (unsigned long long)s->records, s->sec, s->calls_sec,
	       (unsigned long long)s->sent, (unsigned long long)s->received,
	       (unsigned long long)s->sent_bytes,
	       (unsigned long long)s->not_followed);
}

static int show(const char *path, const struct np_trace_files *f,
		const struct ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_sum s;

	if (np_trace_sum(f, &s, &err))
		return cli_fail("%s", err.text);
	if (ask->format == CLI_JSON)
		return cli_trace_json(path, &s);
	if (ask->format == CLI_PARSABLE)
		parsable(path, &s);
	else
		text(path, &s);
	return CLI_DONE;
}

static int goal(const char *path, const struct ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = NULL;
	int rc = cli_graph_read(path, &ask->choices, &g);

	if (rc >= 0)
		return rc;
	rc = np_goal_write(g, stdout, &err);
	np_graph_free(g);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}

static int files(const char *path, const struct ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_files f;
	int rc = np_trace_files_find(path, &f, &err);

	if (rc)
		return cli_fail("%s", err.text);
	if (!ask->liballprof)
		rc = show(path, &f, ask);
	else
		rc = np_trace_allprof(&f, &ask->choices, ask->liballprof, &err)
		     ? cli_fail("%s", err.text) : CLI_DONE;
	np_trace_files_free(&f);
	return rc;
}

static int take(const struct cli_cmd *self, int c, char *arg, struct ask *ask)
{
	struct np_err err = NP_ERR_INIT;

	switch (c) {
	case 'g':
		ask->goal = true;
		return 0;
	case 'l':
		ask->liballprof = arg;
		return 0;
	case 'C':
		return np_choices_add(&ask->choices, arg, &err) ?
		       cli_usage(self, "--collective: %s", err.text) : 0;
	case 'j':
		ask->format = CLI_JSON;
		return 0;
	case 'P':
		ask->format = CLI_PARSABLE;
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

static int run_trace(const struct cli_cmd *self, int argc, char **argv)
{
	static const struct option options[] = {
		{ "goal", no_argument, NULL, 'g' },
		{ "liballprof", required_argument, NULL, 'l' },
		{ "collective", required_argument, NULL, 'C' },
		{ "json", no_argument, NULL, 'j' },
		{ "parsable", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct ask ask = { .format = CLI_TEXT };
	char *path;
	int c, rc = 0;

	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":hP", options, NULL)) != -1)
		rc = take(self, c, c == ':' || c == '?' ? argv[optind - 1] :
							 optarg, &ask);
	if (rc)
		return rc < 0 ? CLI_DONE : rc;
	if (optind + 1 != argc)
		return cli_usage(self, optind == argc ? "a trace is missing" :
				 "expected one trace");
	if (ask.goal && ask.liballprof)
		return cli_usage(self, "--goal and --liballprof: expected one "
				 "of them");
	rc = cli_trace_path(argv[optind], &path);
	if (rc >= 0)
		return rc;
	rc = ask.goal ? goal(path, &ask) : files(path, &ask);
	free(path);
	return rc;
}

const struct cli_cmd cmd_trace = {
	.name = "trace",
	.args = "[--json|--parsable|--goal|--liballprof=DIR] APP|PATH",
	.help = "what the trace of an MPI program holds, and in other forms",
	.text =
"Tells of the newest trace of APP, or of the one in a directory: ranks, time,\n"
"messages and collectives.  srun --netprofile-trace records traces, and so\n"
"does LD_PRELOAD=libnetprof-mpi.so; those of liballprof are read, too.\n\n"
"  --goal            its execution graph as GOAL text\n"
"  --liballprof=DIR  as text files of liballprof, into DIR\n"
"  --collective=NAME[:BYTES]=ALGORITHM\n"
"                    with which messages: linear, binomial, ring,\n"
"                    recursive-doubling or dissemination\n"
"  --json, --parsable  for programs",
	.run = run_trace,
};
