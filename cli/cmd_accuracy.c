/* netprof accuracy: every model against measured pairs. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_accuracy.h"
#include "np_quantity.h"

/* More than elsewhere: nobody waits for it, and shares need few percent. */
#define REPLICATES 200

/* Cut a list at its commas, in place. */
static int split(char *text, const char **list, size_t *n)
{
	char *save = NULL;

	for (char *w = strtok_r(text, ",", &save); w;
	     w = strtok_r(NULL, ",", &save)) {
		if (*n == ACCURACY_MAX_NAMES)
			return -1;
		list[(*n)++] = w;
	}
	return *n ? 0 : -1;
}

static int add_models(const struct cli_cmd *self, char *text,
		      struct accuracy_opt *opt)
{
	const char *name[ACCURACY_MAX_NAMES];
	struct np_err err = NP_ERR_INIT;
	size_t n = 0;

	if (split(text, name, &n))
		return cli_usage(self, "--model: expected names, separated by commas");
	for (size_t i = 0; i < n; i++) {
		const struct np_model *m = np_model_find(name[i], &err);

		if (!m)
			return cli_usage(self, "%s", err.text);
		if (!strcmp(m->name, "zero"))
			continue; /* already there */
		if (opt->n_models == ACCURACY_MAX_NAMES)
			return cli_usage(self, "--model: too many");
		opt->model[opt->n_models++] = m;
	}
	return 0;
}

static int parse_seed(const struct cli_cmd *self, const char *text,
		      struct accuracy_opt *opt)
{
	char *end;

	opt->predict.seed = strtoull(text, &end, 10);
	return *text < '0' || *text > '9' || *end ?
		       cli_usage(self, "--seed: expected a number") : 0;
}

static int parse_up_to(const struct cli_cmd *self, const char *text,
		       struct accuracy_opt *opt)
{
	return np_percent_parse(text, &opt->up_to) ?
		       cli_usage(self, "--up-to: got %.64s, expected percent, "
				 "such as 100%%", text) : 0;
}

static int parse_one(const struct cli_cmd *self, int c, char *arg,
		     struct accuracy_opt *opt)
{
	switch (c) {
	case 'm':
		return add_models(self, arg, opt);
	case 'w':
		return split(arg, opt->without, &opt->n_without) ?
			       cli_usage(self, "--without: expected names") : 0;
	case 'o':
		return split(arg, opt->only, &opt->n_only) ?
			       cli_usage(self, "--only: expected names") : 0;
	case 'u':
		return parse_up_to(self, arg, opt);
	case 'c':
		opt->cases = true;
		return 0;
	case 's':
		return parse_seed(self, arg, opt);
	case 'j':
		opt->format = ACCURACY_JSON;
		return 0;
	case 'P':
		opt->format = ACCURACY_PARSABLE;
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
		 struct accuracy_opt *opt)
{
	static const struct option options[] = {
		{ "model", required_argument, NULL, 'm' },
		{ "without", required_argument, NULL, 'w' },
		{ "only", required_argument, NULL, 'o' },
		{ "up-to", required_argument, NULL, 'u' },
		{ "cases", no_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "parsable", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	opt->model[opt->n_models++] = np_model_find("zero", NULL);
	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":hP", options, NULL)) != -1)
		rc = parse_one(self, c, c == ':' || c == '?' ?
			       argv[optind - 1] : optarg, opt);
	if (rc)
		return rc;
	for (size_t i = 1; opt->n_models == 1 && i < np_n_models; i++)
		opt->model[i] = &np_models[i];
	if (opt->n_models == 1)
		opt->n_models = np_n_models;
	return optind < argc ? 0 : cli_usage(self, "a file is missing");
}

static void print(const struct accuracy_file *f, size_t n,
		  const struct accuracy_opt *opt)
{
	if (opt->format == ACCURACY_JSON) {
		accuracy_print_json(f, n, opt);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (opt->format == ACCURACY_PARSABLE) {
			accuracy_print_parsable(&f[i], opt, i == 0);
			continue;
		}
		if (i)
			printf("\n");
		accuracy_print_table(&f[i], opt);
	}
}

static int run_accuracy(const struct cli_cmd *self, int argc, char **argv)
{
	/* The model's own answer or none: a fallback has its own line. */
	struct accuracy_opt opt = {
		.predict = { .replicates = REPLICATES, .seed = 1,
			     .strict = true },
		.up_to = INFINITY,
	};
	struct np_err err = NP_ERR_INIT;
	struct accuracy_file *f;
	size_t n;
	int rc = parse(self, argc, argv, &opt);

	if (rc)
		return rc < 0 ? CLI_DONE : rc;
	n = (size_t)(argc - optind);
	f = calloc(n, sizeof(*f));
	if (!f)
		return cli_fail("no memory");
	for (size_t i = 0; !rc && i < n; i++)
		rc = accuracy_run(argv[optind + (int)i], &opt, &f[i], &err);
	if (rc)
		rc = cli_fail("%s", err.text);
	else
		print(f, n, &opt);
	for (size_t i = 0; i < n; i++)
		accuracy_free(&f[i]);
	free(f);
	return rc;
}

const struct cli_cmd cmd_accuracy = {
	.name = "accuracy",
	.args = "[OPTION]... FILE...",
	.help = "the models against measured pairs",
	.text =
"Predicts every pair of programs in FILE, netprof-pairs(5), with each model,\n"
"and compares with what was measured.\n\n"
"  --model=M,...      these models only; zero is always there\n"
"  --without=APP,...  leave out cases with one of these programs\n"
"  --only=APP,...     only cases with one of these programs\n"
"  --up-to=PERCENT    only cases that were slowed by no more\n"
"  --cases            list each case and its predictions as well\n"
"  --seed=N           of the bootstrap behind the intervals\n"
"  --json, --parsable for programs; --parsable separates by |\n\n"
"Errors are percentage points of slowdown: mean, median and largest absolute\n"
"error, and bias (predicted less measured).  <=10, >20: share of errors.\n"
"recall, prec.: of cases slowed by 10 % and more.  holds: share of the 90 %\n"
"intervals that hold the measured value; width: their median width, points.\n"
"In brackets, where not all could be predicted: how many.  \"constant\" is the\n"
"best constant for these cases, chosen with the answers in hand.",
	.run = run_accuracy,
};
