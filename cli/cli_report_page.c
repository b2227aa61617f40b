/* The page of netprof report: its head, the list, the pairs, and all parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_report.h"
#include "cli_text.h"

/* A cell: v sorts it, NaN to the end; limit: more of a slowdown is much. */
static void put_change(FILE *f, double v, double limit, const char *title)
{
	char text[CLI_NUMBER];

	if (isnan(v))
		fputs("<td data-v=\"\"", f);
	else
		fprintf(f, "<td data-v=\"%.6g\"%s", v, v > limit ?
			" class=\"much\"" : v > limit / 2 ? " class=\"some\"" :
			"");
	if (*title)
		cli_html_put(f, " title=\"", "\"", "%s", title);
	cli_html_put(f, ">", "</td>", "%s", isnan(v) ? "-" :
		     cli_change(v, text));
}

static void put_columns(FILE *f, const struct cli_matrix *m)
{
	fputs("<thead><tr><th scope=\"col\" aria-sort=\"ascending\"><button>"
	      "beside</button></th>", f);
	for (size_t c = 0; c < m->n; c++)
		cli_html_put(f, "<th scope=\"col\" data-sort=\"number\">"
			     "<button>", "</button></th>", "%s",
			     cli_matrix_name(m, c));
	fputs("</tr></thead>\n", f);
}

static void put_cell(FILE *f, const struct cli_report *r, size_t at)
{
	const struct np_prediction *p = &r->m.p[at];
	char title[96];

	if (r->m.rc[at]) {
		put_change(f, NAN, r->limit, cli_matrix_why(r->m.rc[at]));
		return;
	}
	title[0] = '\0';
	if (!isnan(p->low))
		snprintf(title, sizeof(title), "%.0f to %.0f %%, %.20s",
			 100 * p->low + 0.0, 100 * p->high, p->model->name);
	if (cli_say_doubt(p))
		strcat(title, ", not known yet");
	put_change(f, p->slowdown, r->limit, title);
}

static void say_matrix(FILE *f, const struct cli_report *r)
{
	const struct cli_matrix *m = &r->m;
	char day[CLI_NUMBER], line[512];

	cli_html_put(f, "<p>", "", "How much longer each row runs beside each "
		     "column, %s (model %s; fabric %s, calibrated %s).",
		     cli_scope_words(m->scope), m->model->name,
		     m->k->cal.cluster, cli_day(m->k->cal.date, day));
	fprintf(f, "  Darker cells are above %.0f %%, lighter ones above half "
		"of that; each says its 90 %% interval and its model when it "
		"is pointed at.  The heads of columns sort.</p>\n",
		100 * r->limit);
	if (cli_no_effect(m->k, m->scope))
		cli_html_put(f, "<p><strong>", "</strong></p>\n", "%s",
			     cli_say_no_effect(m->k, m->scope, line,
					       sizeof(line)));
}

static void put_matrix(FILE *f, const struct cli_report *r)
{
	const struct cli_matrix *m = &r->m;

	fputs("<section><h2 id=\"pairs\">Pairs</h2>\n", f);
	if (!m->n) {
		cli_html_put(f, "<p>", "</p></section>\n", "%s",
			     r->m_why.text);
		return;
	}
	say_matrix(f, r);
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	      "aria-labelledby=\"pairs\"><table id=\"matrix\">\n", f);
	put_columns(f, m);
	fputs("<tbody>\n", f);
	for (size_t v = 0; v < m->n; v++) {
		cli_html_put(f, "<tr><th scope=\"row\">", "</th>", "%s",
			     cli_matrix_name(m, v));
		for (size_t c = 0; c < m->n; c++)
			put_cell(f, r, v * m->n + c);
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table></div></section>\n", f);
}

/* Nothing is loaded from anywhere, whatever a name says. */
#define POLICY "default-src 'none'; style-src 'unsafe-inline'; " \
	"script-src 'unsafe-inline'"

static void put_head(FILE *f)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "\n<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY
	      "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
	      "<title>netprof report</title>\n<style>\n", f);
	fputs(cli_report_style, f);
	fputs("</style></head><body>\n", f);
}

/* Who suffers most, and from whom. */
static const struct cli_part *worst(const struct cli_report *r)
{
	const struct cli_part *most = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct cli_part *p = &r->part[i];

		if (p->slowed_by.n &&
		    (!most || p->slowed_by.tie->p.slowdown >
			      most->slowed_by.tie->p.slowdown))
			most = p;
	}
	return most;
}

static void put_verdict(FILE *f, const struct cli_report *r)
{
	const struct cli_part *most = worst(r);
	char change[CLI_NUMBER], date[CLI_NUMBER];
	size_t suffer = 0;

	for (size_t i = 0; i < r->n; i++)
		suffer += r->part[i].advice.n_avoid > 0;
	fputs("<h1>netprof report</h1>\n<p><strong>", f);
	if (most)
		cli_html_put(f, "", "", "%zu of %zu applications slow by more "
			     "than %.0f %% beside another; most of all %s "
			     "beside %s: %s.", suffer, r->n, 100 * r->limit,
			     most->profile.runs->app, most->slowed_by.tie->app,
			     cli_change(most->slowed_by.tie->p.slowdown, change));
	else
		cli_html_put(f, "", "", "%zu applications; how they slow each "
			     "other is not known.", r->n);
	fprintf(f, "</strong></p>\n<p class=\"dim\">netprof %s, %s</p>\n",
		NP_VERSION, cli_date(r->date, date));
}

static void list_row(FILE *f, const struct cli_report *r, size_t number)
{
	const struct cli_part *part = &r->part[number];
	const struct np_profile *p = &part->profile;
	const struct cli_tie *by = part->slowed_by.n ? part->slowed_by.tie : NULL;

	fprintf(f, "<tr><th scope=\"row\"><a href=\"#a%zu\"", number);
	cli_html_put(f, ">", "</a></th>", "%s", p->runs->app);
	fprintf(f, "<td class=\"word\">%s</td><td data-v=\"%zu\">%zu"
		"</td>", cli_use_name(p), p->runs->n, p->runs->n);
	if (p->verdict.against) {
		char share[CLI_NUMBER];

		fprintf(f, "<td data-v=\"%.6g\">%s</td>",
			p->verdict.delayed_share,
			cli_percent(p->verdict.delayed_share, share));
	} else {
		fputs("<td data-v=\"\">-</td>", f);
	}
	put_change(f, by ? by->p.slowdown : NAN, r->limit, "");
	cli_html_put(f, "<td class=\"word\">", "</td></tr>\n", "%s",
		     by ? by->app : "-");
}

static void put_list(FILE *f, const struct cli_report *r)
{
	static const struct {
		const char *name;
		bool number;
	} column[] = {
		{ "Application", false }, { "Use", false }, { "Runs", true },
		{ "Delayed probes", true }, { "Slowed at most", true },
		{ "by", false },
	};

	fputs("<section><h2 id=\"list\">Applications</h2>\n<div class=\"scroll\""
	      " tabindex=\"0\" role=\"region\" aria-labelledby=\"list\"><table>"
	      "<thead><tr>", f);
	for (size_t i = 0; i < NP_ARRAY_SIZE(column); i++)
		fprintf(f, "<th scope=\"col\" class=\"%s\"%s%s><button>%s</button></th>",
			column[i].number ? "" : "word", column[i].number ?
			" data-sort=\"number\"" : "",
			i ? "" : " aria-sort=\"ascending\"", column[i].name);
	fputs("</tr></thead><tbody>\n", f);
	for (size_t i = 0; i < r->n; i++)
		list_row(f, r, i);
	fputs("</tbody></table></div></section>\n", f);
}

char *cli_report_page(const struct cli_report *r)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool bad;

	if (!f)
		return NULL;
	put_head(f);
	put_verdict(f, r);
	put_list(f, r);
	put_matrix(f, r);
	for (size_t i = 0; i < r->n; i++)
		cli_report_app(f, r, i);
	fputs("<script>\n", f);
	fputs(cli_report_script, f);
	fputs("</script></body></html>\n", f);
	bad = ferror(f);
	if (!fclose(f) && !bad)
		return text;
	free(text);
	return NULL;
}
