/*
 * An application on the page of netprof report, with its curve: the panel that
 * netprof plot draws, as SVG within HTML.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli_plot.h"
#include "cli_report.h"
#include "cli_text.h"
#include "np_picture.h"

/* The next name of a part of the picture, or the end. */
static const char *next_name(const char *svg)
{
	const char *id = strstr(svg, "id=\"c"), *use = strstr(svg, "url(#c");

	if (id && (!use || id < use))
		return id + strlen("id=\"");
	return use ? use + strlen("url(#") : svg + strlen(svg);
}

/*
 * Of a file: the element, without its name space, which HTML knows, and with
 * names that no other picture of the page has.
 */
static void put_inline(FILE *f, const char *svg, const char *app,
		       size_t number)
{
	const char *body = strstr(svg, " version=\"1.1\""), *name;

	if (!body)
		return;
	cli_html_put(f, "<svg role=\"img\" aria-label=\"", "\"",
		     "Slowdown of %s beside interference levels", app);
	for (; *body; body = name) {
		name = next_name(body + 1);
		fwrite(body, 1, (size_t)(name - body), f);
		if (*name)
			fprintf(f, "a%zu-", number);
	}
}

/* Slowdowns beside levels, as a figure; or nothing. */
static void put_curve(FILE *f, const struct cli_report *r,
		      const struct cli_part *part)
{
	struct np_figure *figure = np_figure_new("");
	char missing[256], *svg = NULL;
	size_t len;

	if (figure &&
	    !cli_plot_add(figure, CLI_PLOT_CURVE, &part->profile,
			  &part->app->evidence, r->k.calibrated ?
			  r->k.cal.fabric : NULL, missing, sizeof(missing)) &&
	    !np_picture_make(figure, NP_PICTURE_SVG, &svg, &len, NULL))
		put_inline(f, svg, part->profile.runs->app,
			   (size_t)(part - r->part));
	free(svg);
	np_figure_free(figure);
}

__attribute__((format(printf, 3, 4)))
static void put_fact(FILE *f, const char *label, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!*text)
		return;
	fprintf(f, "<dt>%s</dt>", label);
	cli_html_put(f, "<dd>", "</dd>\n", "%s", text);
}

static void put_verdict(FILE *f, const struct np_profile *p)
{
	char said[CLI_SENTENCE];

	for (int i = 0; i < CLI_SENTENCES; i++)
		if (*cli_say_verdict(p, i, said))
			cli_html_put(f, i ? "<p>" : "<p><strong>", i ?
				     "</p>\n" : "</strong></p>\n", "%s", said);
}

static void put_advice(FILE *f, const struct cli_advice *a)
{
	char avoid[512], measure[600];

	cli_say_avoid(a, avoid, sizeof(avoid));
	cli_say_measure(a, measure, sizeof(measure));
	put_fact(f, "Advice", "%s%s%s", avoid, *avoid && *measure ? " " : "",
		 measure);
}

static void put_ties(FILE *f, const char *label,
		     const struct cli_tie_list *list, const char *self)
{
	char line[1024] = "", change[CLI_NUMBER];

	for (size_t i = 0; i < list->n; i++) {
		const struct cli_tie *t = &list->tie[i];

		cli_add(line, sizeof(line), "%s%s%s %s%s", i ? ", " : "",
			strcmp(t->app, self) ? "" : "another ", t->app,
			cli_change(t->p.slowdown, change),
			cli_say_doubt(&t->p) ? "?" : "");
		if (!isnan(t->p.low))
			cli_add(line, sizeof(line), " (%.0f to %.0f)",
				100 * t->p.low + 0.0, 100 * t->p.high);
	}
	put_fact(f, label, "%s", line);
}

static void put_runs(FILE *f, const struct cli_part *part)
{
	const struct np_evidence *ev = &part->profile.ev;
	const struct cli_runs *r = &part->app->r;
	char owner[CLI_NUMBER + 16], day[CLI_NUMBER], left_out[256];

	put_fact(f, "Runs", "%zu of %zu used, %s%s%s%s", ev->latency.n_runs,
		 r->runs.n, r->owner == NP_STORE_USER ? "of " : "",
		 cli_owner_name(r->owner, r->uid, owner, sizeof(owner)),
		 r->runs.n ? ", the last " : "",
		 r->runs.n ? cli_day(r->runs.run[0]->end, day) : "");
	cli_say_left_out(ev, left_out, sizeof(left_out));
	put_fact(f, "Left out", "%s", left_out);
}

static void put_latency(FILE *f, const char *label, const struct np_sample *s)
{
	char p50[CLI_NUMBER], p99[CLI_NUMBER], mean[CLI_NUMBER];

	if (s->n_runs && s->hist)
		put_fact(f, label, "p50 %s, p99 %s, mean %s, %llu probes",
			 cli_sec(np_sample_quantile(s, 0.5), p50),
			 cli_sec(np_sample_quantile(s, 0.99), p99),
			 cli_sec(s->moments.mean, mean),
			 (unsigned long long)s->moments.n);
}

static void put_fabric(FILE *f, const struct np_record *r)
{
	char leaves[1024] = "";

	for (size_t i = 0; i < r->n_leaves && i < 4; i++)
		cli_add(leaves, sizeof(leaves), ", leaf %s",
			*r->leaves[i].name ? r->leaves[i].name :
			"without a name");
	put_fact(f, "Fabric", "cluster %s, %s%s", r->cluster ? r->cluster :
		 "unknown", r->probe.transport ? r->probe.transport :
		 "transport unknown", leaves);
}

void cli_report_app(FILE *f, const struct cli_report *r, size_t number)
{
	const struct cli_part *part = &r->part[number];
	const struct np_profile *p = &part->profile;
	const char *app = p->runs->app;

	fprintf(f, "<section><h2 id=\"a%zu\"", number);
	cli_html_put(f, ">", "</h2>\n", "%s", app);
	put_verdict(f, p);
	fputs("<dl>\n", f);
	put_advice(f, &part->advice);
	put_ties(f, "Hurt by", &part->slowed_by, app);
	put_ties(f, "Hurts", &part->slows, app);
	put_runs(f, part);
	if (p->ev.fabric)
		put_fabric(f, p->ev.fabric);
	put_latency(f, "Latency", &p->ev.latency);
	put_latency(f, "Idle", &p->idle);
	fputs("</dl>\n", f);
	put_curve(f, r, part);
	fputs("</section>\n", f);
}
