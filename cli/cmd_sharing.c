/* netprof sharing: how concurrent transfers share a network. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_sharing.h"

struct wishes {
	struct cli_network net;
	enum cli_format format;
	bool constant, summary;
	const char *fit; /* file, or NULL */
};

static int take(const struct cli_cmd *self, int c, char *arg,
		struct wishes *w)
{
	switch (c) {
	case 'm':
		return cli_network_models(self, arg, &w->net);
	case 'S':
		return cli_network_set(self, arg, &w->net);
	case 's': case 'd':
		w->constant = c == 's';
		return 0;
	case 'y':
		w->summary = true;
		return 0;
	case 'f':
		w->fit = arg;
		return 0;
	case 'j':
		w->format = CLI_JSON;
		return 0;
	case 'P':
		w->format = CLI_PARSABLE;
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
		 struct wishes *w)
{
	static const struct option options[] = {
		{ "model", required_argument, NULL, 'm' },
		{ "set", required_argument, NULL, 'S' },
		{ "static", no_argument, NULL, 's' },
		{ "dynamic", no_argument, NULL, 'd' },
		{ "fit", required_argument, NULL, 'f' },
		{ "summary", no_argument, NULL, 'y' },
		{ "json", no_argument, NULL, 'j' },
		{ "parsable", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":hP", options, NULL)) != -1)
		rc = take(self, c, c == ':' || c == '?' ? argv[optind - 1] :
							  optarg, w);
	if (rc)
		return rc;
	if (optind == argc && !w->fit)
		return cli_usage(self, "a file with schemes is missing");
	if (optind + 1 < argc)
		return cli_usage(self, "%.64s: not expected here",
				 argv[optind + 1]);
	return 0;
}

static int alloc_answer(struct cli_sharing_model *m, size_t n)
{
	m->penalty = calloc(3 * n + 1, sizeof(*m->penalty));
	if (!m->penalty)
		return -ENOMEM;
	m->time = m->penalty + n;
	m->end = m->time + n;
	return 0;
}

static int ask_static(const struct np_scheme *s,
		      const struct np_sharing_model *model,
		      const struct np_sharing_param *p,
		      struct cli_sharing_model *out)
{
	int rc = np_sharing_static(model, p, s->c, s->n, s->n_nodes,
				   out->penalty, &out->why);

	for (size_t i = 0; !rc && i < s->n; i++) {
		out->time[i] = out->penalty[i] * s->alone[i];
		out->end[i] = s->start_sec[i] + out->time[i];
	}
	return rc;
}

/* A time that is no longer than alone, but for rounding, has penalty 1. */
static int ask_dynamic(const struct np_scheme *s,
		       const struct np_sharing_model *model,
		       const struct np_sharing_param *p,
		       struct cli_sharing_model *out)
{
	int rc = np_sharing_dynamic(model, p, s->c, s->start_sec, s->alone,
				    s->n, s->n_nodes, out->end, &out->why);

	for (size_t i = 0; !rc && i < s->n; i++) {
		out->time[i] = out->end[i] - s->start_sec[i];
		out->penalty[i] = s->alone[i] > 0 ?
				  fmax(1, out->time[i] / s->alone[i]) : 1;
	}
	return rc;
}

static void compare(const struct np_scheme *s, struct cli_sharing_model *out)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->took_sec[i])) {
			sum += fabs(out->time[i] / s->took_sec[i] - 1);
			out->n_measured++;
		}
	out->error = out->n_measured ? sum / (double)out->n_measured : NAN;
}

/* What one model cannot do the others may. */
static int ask(struct cli_sharing *a, struct np_err *err)
{
	const struct cli_network *net = a->net;
	size_t n_answers = 0;

	a->answer = calloc(a->set->n * net->n + 1, sizeof(*a->answer));
	if (!a->answer)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t k = 0; k < a->set->n * net->n; k++) {
		const struct np_scheme *s = &a->set->scheme[k / net->n];
		const struct np_sharing_model *m = net->model[k % net->n];
		struct cli_sharing_model *out = &a->answer[k];
		int rc = alloc_answer(out, s->n);

		if (rc)
			return np_errf(err, rc, "out of memory");
		rc = (a->constant ? ask_static : ask_dynamic)(s, m,
							      &net->param, out);
		if (rc && rc != -E2BIG)
			return np_errf(err, rc, "scheme %s: %s", s->name,
				       out->why.text);
		if (rc)
			*err = out->why;
		else
			compare(s, out);
		n_answers += !rc;
	}
	return n_answers ? 0 : -E2BIG;
}

static int print(const struct cli_sharing *a, enum cli_format format)
{
	return format == CLI_JSON ? cli_sharing_json(a) :
	       format == CLI_PARSABLE ? cli_sharing_parsable(a) :
					cli_sharing_text(a);
}

static int answer(struct wishes *w, const struct np_scheme_set *set)
{
	struct cli_sharing a = { .set = set, .net = &w->net,
				 .constant = w->constant,
				 .summary = w->summary };
	struct np_err err = NP_ERR_INIT;
	int rc = ask(&a, &err);

	rc = rc ? cli_fail("%s", err.text) : print(&a, w->format);
	for (size_t k = 0; a.answer && k < set->n * w->net.n; k++)
		free(a.answer[k].penalty);
	free(a.answer);
	return rc;
}

static int run_sharing(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_scheme_set set = { .n = 0 }, measured = { .n = 0 };
	struct np_err err = NP_ERR_INIT;
	struct wishes w = { .format = CLI_TEXT };
	int rc;

	cli_network_init(&w.net);
	rc = parse(self, argc, argv, &w);
	if (rc)
		return rc < 0 ? CLI_DONE : rc;
	if (w.fit)
		rc = np_scheme_read(w.fit, &measured, &err);
	if (!rc && w.fit)
		rc = cli_network_fit(&w.net, &measured, &err);
	if (!rc)
		rc = np_scheme_read(optind < argc ? argv[optind] : w.fit, &set,
				    &err);
	rc = rc ? cli_fail("%s", err.text) : answer(&w, &set);
	np_scheme_free(&set);
	np_scheme_free(&measured);
	return rc;
}

const struct cli_cmd cmd_sharing = {
	.name = "sharing",
	.args = "[OPTION]... [--fit=FILE] SCHEME",
	.help = "how concurrent transfers share a network",
	.text =
"Penalties (time over time alone) and times of the transfers in SCHEME,\n"
"netprof-scheme(5), as models of networks have them, and measured times\n"
"beside them where the scheme has some.\n\n"
"  --model=M,...   of gige, myrinet, infiniband, maxmin (these, if not\n"
"                  given), conflicts and none\n"
"  --static        penalties of all transfers at once; else they change\n"
"                  whenever one starts or ends (--dynamic)\n"
"  --fit=FILE      first find the models' parameters from times measured\n"
"                  in FILE, schemes as well; it is SCHEME if there is none\n"
"  --summary       of measured schemes, the mean errors of the models alone\n"
"  --set=P=V,...   parameters: beta, gamma_o, gamma_i of gige; be, bs, gs\n"
"                  of infiniband; fabric: transfers that the switch\n"
"                  carries at once (without limit)\n"
"  --json, --parsable\n"
"                  for programs; --parsable separates by |",
	.run = run_sharing,
};
