/* An application on the page of `netprof report`. */
#include <math.h>
#include <string.h>

#include "cli_html.h"
#include "cli_report.h"
#include "cli_text.h"

static void begin_fact(FILE *f, const char *label)
{
	fprintf(f, "<dt>%s</dt><dd>", label);
}

static void end_fact(FILE *f)
{
	fputs("</dd>\n", f);
}

static void put_verdict(FILE *f, const struct np_profile *p)
{
	static void (*const sentences[])(const struct np_profile *, char *) = {
		cli_say_use, cli_say_basis, cli_say_interference,
	};
	char said[CLI_SENTENCE];

	for (size_t i = 0; i < NP_ARRAY_SIZE(sentences); i++) {
		sentences[i](p, said);
		if (!*said)
			continue;
		fputs(i ? "<p>" : "<p><strong>", f);
		cli_html(f, said);
		fputs(i ? "</p>\n" : "</strong></p>\n", f);
	}
}

static void put_advice(FILE *f, const struct cli_advice *a)
{
	char avoid[512], measure[600];

	cli_say_avoid(a, avoid, sizeof(avoid));
	cli_say_measure(a, measure, sizeof(measure));
	if (!*avoid && !*measure)
		return;
	begin_fact(f, "Advice");
	cli_html_printf(f, "%s%s%s", avoid, *avoid && *measure ? " " : "",
			measure);
	end_fact(f);
}

static void put_ties(FILE *f, const char *label, const struct cli_tie *tie,
		     size_t n, const char *self)
{
	char change[CLI_NUMBER];

	if (!n)
		return;
	begin_fact(f, label);
	for (size_t i = 0; i < n; i++) {
		const struct np_prediction *p = &tie[i].p;

		cli_html_printf(f, "%s%s%s %s", i ? ", " : "",
				strcmp(tie[i].app, self) ? "" : "another ",
				tie[i].app, cli_change(p->slowdown, change));
		if (!isnan(p->low))
			fprintf(f, " (%.0f to %.0f)", 100 * p->low + 0.0,
				100 * p->high);
	}
	end_fact(f);
}

static void put_runs(FILE *f, const struct cli_part *part)
{
	const struct np_evidence *ev = &part->profile.ev;
	const struct cli_runs *r = &part->app->r;
	char owner[CLI_NUMBER + 16], day[CLI_NUMBER], left_out[256];

	begin_fact(f, "Runs");
	cli_html_printf(f, "%zu of %zu used, %s%s", ev->latency.n_runs,
			r->runs.n, r->owner == NP_STORE_USER ? "of " : "",
			cli_owner_name(r->owner, r->uid, owner,
				       sizeof(owner)));
	if (r->runs.n)
		cli_html_printf(f, ", the last %s", cli_day(r->runs.run[0]->end,
							   day));
	end_fact(f);
	if (!cli_say_left_out(ev, left_out, sizeof(left_out)))
		return;
	begin_fact(f, "Left out");
	cli_html(f, left_out);
	end_fact(f);
}

static void put_latency(FILE *f, const char *label, const struct np_sample *s)
{
	char p50[CLI_NUMBER], p99[CLI_NUMBER], mean[CLI_NUMBER];

	if (!s->n_runs || !s->hist)
		return;
	begin_fact(f, label);
	cli_html_printf(f, "p50 %s, p99 %s, mean %s, %llu probes",
			cli_sec(np_sample_quantile(s, 0.5), p50),
			cli_sec(np_sample_quantile(s, 0.99), p99),
			cli_sec(s->moments.mean, mean),
			(unsigned long long)s->moments.n);
	end_fact(f);
}

static void put_fabric(FILE *f, const struct np_record *r)
{
	if (!r)
		return;
	begin_fact(f, "Fabric");
	cli_html_printf(f, "cluster %s, %s", r->cluster ? r->cluster :
			"unknown", r->probe.transport ? r->probe.transport :
			"transport unknown");
	for (size_t i = 0; i < r->n_leaves && i < 4; i++)
		cli_html_printf(f, ", leaf %s", *r->leaves[i].name ?
				r->leaves[i].name : "without a name");
	end_fact(f);
}

void cli_report_app(FILE *f, const struct cli_report *r, size_t number)
{
	const struct cli_part *part = &r->part[number];
	const struct np_profile *p = &part->profile;
	const char *app = p->runs->app;

	fprintf(f, "<section><h2 id=\"a%zu\">", number);
	cli_html(f, app);
	fputs("</h2>\n", f);
	put_verdict(f, p);
	fputs("<dl>\n", f);
	put_advice(f, &part->advice);
	put_ties(f, "Hurt by", part->hurt_by, part->n_hurt_by, app);
	put_ties(f, "Hurts", part->hurts, part->n_hurts, app);
	put_runs(f, part);
	put_fabric(f, p->ev.fabric);
	put_latency(f, "Latency", &p->ev.latency);
	put_latency(f, "Idle", &p->idle);
	fputs("</dl>\n", f);
	cli_report_curve(f, r, part);
	fputs("</section>\n", f);
}
