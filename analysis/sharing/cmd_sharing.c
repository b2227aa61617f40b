/* netprof sharing: how concurrent transfers share a network. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_sharing.h"

/* The last of --static and --dynamic applies. */
static int take_dynamic(char *text, void *evaluate_all, struct np_err *err)
{
	struct cli_sharing *a = evaluate_all;

	(void)text;
	(void)err;
	a->constant = false;
	return 0;
}

#define AT(member) offsetof(struct cli_sharing, member)

static const struct np_option options[] = {
	{ "model", NP_OPTION_TAKE, AT(net), .take = cli_network_models },
	{ "set", NP_OPTION_TAKE, AT(net), .take = cli_network_set },
	{ "static", NP_OPTION_FLAG, AT(constant) },
	{ "dynamic", NP_OPTION_CALL, .take = take_dynamic },
	{ "fit", NP_OPTION_WORD, AT(fit) },
	{ "summary", NP_OPTION_FLAG, AT(summary) },
	{ NULL },
};

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_sharing *a, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, a, o);

	if (rc < 0 && !o->n_apps && !a->fit)
		return cli_usage(self, "a file with schemes is missing");
	return rc < 0 ? cli_network_check(&a->net, self) : rc;
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

static int evaluate_static(const struct np_scheme *s,
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

/* fmax() removes rounding below a penalty of 1. */
static int evaluate_dynamic(const struct np_scheme *s,
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

/* Evaluates all models. One that has no result does not affect the others. */
static int evaluate_all(struct cli_sharing *a, struct np_err *err)
{
	const struct cli_network *net = &a->net;
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
		rc = (a->constant ? evaluate_static : evaluate_dynamic)(s, m,
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

static int print_report(const struct cli_sharing *a,
			const struct cli_options *o)
{
	return o->plot ? cli_sharing_plot(a, o->plot) :
	       o->format ? cli_sharing_data(a, o->format) : cli_sharing_text(a);
}

static int report_all(struct cli_sharing *a, const struct cli_options *o)
{
	struct np_err err = NP_ERR_INIT;
	int rc = evaluate_all(a, &err) ? cli_fail("%s", err.text) :
					 print_report(a, o);

	for (size_t k = 0; a->answer && k < a->set->n * a->net.n; k++)
		free(a->answer[k].penalty);
	free(a->answer);
	return rc;
}

static int run_sharing(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_scheme_set set = { .n = 0 }, measured = { .n = 0 };
	struct cli_sharing a = { .set = &set };
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	int rc;

	cli_network_init(&a.net);
	rc = parse(self, argc, argv, &a, &o);
	if (rc >= 0)
		return rc;
	rc = a.fit ? np_scheme_read(a.fit, &measured, &err) : 0;
	if (!rc && a.fit)
		rc = cli_network_fit(&a.net, &measured, &err);
	if (!rc)
		rc = np_scheme_read(o.app ? o.app : a.fit, &set, &err);
	rc = rc ? cli_fail("%s", err.text) : report_all(&a, &o);
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
"  --plot=FILE     transfers over time as a picture: .svg, .png or .pdf\n"
"  --json, --parsable\n"
"                  for programs; --parsable separates by |",
	.examples =
"  netprof sharing two.scheme\n"
"  netprof sharing --model=maxmin --plot=two.svg two.scheme\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT, .own = options,
	.most = 1,
	.run = run_sharing,
};
