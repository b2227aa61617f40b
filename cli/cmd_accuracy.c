/* netprof accuracy: every model against measured pairs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_accuracy.h"
#include "cli_loggps.h"
#include "cli_options.h"
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

static int take_models(char *text, void *ask, struct np_err *err)
{
	struct accuracy_opt *opt = ask;
	const char *name[ACCURACY_MAX_NAMES];
	size_t n = 0;

	if (split(text, name, &n))
		return np_errf(err, -EINVAL,
			       "--model: expected names, separated by commas");
	for (size_t i = 0; i < n; i++) {
		const struct np_model *m = np_model_find(name[i], err);

		if (!m)
			return -EINVAL;
		if (!strcmp(m->name, "zero"))
			continue; /* already there */
		if (opt->n_models == ACCURACY_MAX_NAMES)
			return np_errf(err, -EINVAL, "--model: too many");
		opt->model[opt->n_models++] = m;
	}
	return 0;
}

static int take_without(char *text, void *ask, struct np_err *err)
{
	struct accuracy_opt *opt = ask;

	return split(text, opt->without, &opt->n_without) ?
	       np_errf(err, -EINVAL, "--without: expected names") : 0;
}

static int take_only(char *text, void *ask, struct np_err *err)
{
	struct accuracy_opt *opt = ask;

	return split(text, opt->only, &opt->n_only) ?
	       np_errf(err, -EINVAL, "--only: expected names") : 0;
}

static int take_up_to(char *text, void *ask, struct np_err *err)
{
	struct accuracy_opt *opt = ask;

	return np_percent_parse(text, &opt->up_to) ?
	       np_errf(err, -EINVAL, "--up-to: got %.64s, expected percent, "
		       "such as 100%%", text) : 0;
}

static int take_seed(char *text, void *ask, struct np_err *err)
{
	struct accuracy_opt *opt = ask;
	char *end;

	opt->predict.seed = strtoull(text, &end, 10);
	return *text < '0' || *text > '9' || *end ?
	       np_errf(err, -EINVAL, "--seed: expected a number") : 0;
}

#define AT(member) offsetof(struct accuracy_opt, member)

static const struct np_option options[] = {
	{ "model", NP_OPTION_TAKE, .take = take_models },
	{ "without", NP_OPTION_TAKE, .take = take_without },
	{ "only", NP_OPTION_TAKE, .take = take_only },
	{ "up-to", NP_OPTION_TAKE, .take = take_up_to },
	{ "predictions", NP_OPTION_WORD, AT(predictions) },
	{ "cases", NP_OPTION_FLAG, AT(cases) },
	{ "seed", NP_OPTION_TAKE, .take = take_seed },
	{ "traces", NP_OPTION_WORD, AT(traces) },
	{ "latency", NP_OPTION_NS, AT(net.L_ns), .max = NP_LOGGPS_MAX },
	{ "per-byte", NP_OPTION_NS, AT(net.G_ns), .max = NP_LOGGPS_MAX },
	{ NULL },
};

/* Those of traces only if there are some. */
static void add_all(struct accuracy_opt *opt)
{
	for (size_t i = 1; i < np_n_models; i++)
		if (opt->traces || !(np_models[i].needs & NP_NEED_TRACE))
			opt->model[opt->n_models++] = &np_models[i];
}

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct accuracy_opt *opt, struct cli_options *o)
{
	int rc;

	opt->model[opt->n_models++] = np_model_find("zero", NULL);
	rc = cli_options_parse(self, argc, argv, opt, o);
	if (rc >= 0)
		return rc;
	if (opt->n_models == 1 && opt->predictions)
		opt->model[opt->n_models++] =
			np_model_find(NP_MODEL_DEFAULT, NULL);
	else if (opt->n_models == 1)
		add_all(opt);
	if (isnan(opt->net.L_ns) != (opt->net.G_ns < 0))
		return cli_usage(self, "--latency, --per-byte: expected both");
	if (opt->traces && opt->net.G_ns < 0)
		cli_loggps_net(&opt->net);
	return -1;
}

static void print(const struct accuracy_file *f, size_t n,
		  const struct accuracy_opt *opt, enum cli_format format)
{
	if (format)
		accuracy_print_data(f, n, opt, format);
	for (size_t i = 0; !format && i < n; i++) {
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
		.net = { .L_ns = NAN, .G_ns = -1,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
	};
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct accuracy_file *f;
	int rc = parse(self, argc, argv, &opt, &o);

	if (rc >= 0)
		return rc;
	f = calloc(o.n_apps, sizeof(*f));
	rc = f ? 0 : np_errf(&err, -ENOMEM, "no memory");
	if (!rc && opt.predictions)
		rc = cli_predictions_read(opt.predictions, &opt.others, &err);
	for (size_t i = 0; !rc && i < o.n_apps; i++)
		rc = accuracy_run(o.apps[i], &opt, &f[i], &err);
	if (rc)
		rc = cli_fail("%s", err.text);
	else
		print(f, o.n_apps, &opt, o.format);
	for (size_t i = 0; f && i < o.n_apps; i++)
		accuracy_free(&f[i]);
	free(f);
	cli_predictions_free(&opt.others);
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
"  --predictions=FILE  score these, too: a line for each pair, with victim,\n"
"                     co-runner, percent and, if known, two more for an\n"
"                     interval of 90 %; only beside " NP_MODEL_DEFAULT " unless\n"
"                     --model says more\n"
"  --cases            list each case and its predictions as well\n"
"  --traces=DIR       DIR/APP is a trace or a graph of each program, for\n"
"                     models that need one\n"
"  --latency=TIME, --per-byte=TIME\n"
"                     of the network where these ran, instead of what netprof\n"
"                     loggps measured\n"
"  --seed=N           of the bootstrap behind the intervals\n"
"  --json, --parsable for programs; --parsable separates by |\n\n"
"Errors are percentage points of slowdown: mean, median and largest absolute\n"
"error, and bias (predicted less measured).  <=10, >20: share of errors.\n"
"recall, prec.: of cases slowed by 10 % and more.  holds: share of the 90 %\n"
"intervals that hold the measured value; width: their median width, points.\n"
"In brackets, where not all could be predicted: how many.  \"constant\" is the\n"
"best constant for these cases, chosen with the answers in hand.",
	.examples =
"  netprof accuracy doc/validation/pairs/main.json\n"
"  netprof accuracy --model=mutual,queue --cases results.pairs.json\n",
	.takes = CLI_TAKES_FORMAT, .own = options,
	.missing = "a file of measured pairs, netprof-pairs(5)", .most = CLI_ANY,
	.run = run_accuracy,
};
