/* The pairs on the page of `netprof report`. */
#include <math.h>

#include "cli_html.h"
#include "cli_report.h"
#include "cli_text.h"

void cli_report_change(FILE *f, double v, double limit, const char *title)
{
	char text[CLI_NUMBER];

	if (isnan(v)) {
		fputs("<td data-v=\"\"", f);
	} else {
		fprintf(f, "<td data-v=\"%.6g\"%s", v, v > limit ?
			" class=\"much\"" : v > limit / 2 ? " class=\"some\"" :
			"");
	}
	if (title && *title) {
		fputs(" title=\"", f);
		cli_html(f, title);
		fputs("\"", f);
	}
	fputs(">", f);
	cli_html(f, isnan(v) ? "-" : cli_change(v, text));
	fputs("</td>", f);
}

static const char *name_of(const struct cli_matrix *m, size_t i)
{
	return m->k->app[m->at[i]]->r.runs.app;
}

static void put_head(FILE *f, const struct cli_matrix *m)
{
	fputs("<thead><tr><th scope=\"col\" aria-sort=\"ascending\"><button>"
	      "beside</button></th>", f);
	for (size_t c = 0; c < m->n; c++) {
		fputs("<th scope=\"col\" data-sort=\"number\"><button>", f);
		cli_html(f, name_of(m, c));
		fputs("</button></th>", f);
	}
	fputs("</tr></thead>\n", f);
}

static void put_cell(FILE *f, const struct cli_report *r, size_t at)
{
	const struct np_prediction *p = &r->m.p[at];
	char title[64];

	if (r->m.rc[at]) {
		cli_report_change(f, NAN, r->limit,
				  cli_matrix_why(r->m.rc[at]));
		return;
	}
	title[0] = '\0';
	if (!isnan(p->low))
		snprintf(title, sizeof(title), "%.0f to %.0f %%, %.20s",
			 100 * p->low + 0.0, 100 * p->high, p->model->name);
	cli_report_change(f, p->slowdown, r->limit, title);
}

static void say_matrix(FILE *f, const struct cli_report *r)
{
	const struct cli_matrix *m = &r->m;
	char day[CLI_NUMBER], line[512];

	fputs("<p>", f);
	cli_html_printf(f, "How much longer each row runs beside each column, "
			"%s (model %s; fabric %s, calibrated %s).",
			cli_scope_words(m->scope), m->model->name,
			m->k->cal.cluster, cli_day(m->k->cal.date, day));
	fprintf(f, "  Darker cells are above %.0f %%, lighter ones above half "
		"of that; each says its 90 %% interval and its model when it "
		"is pointed at.  The heads of columns sort.</p>\n",
		100 * r->limit);
	if (!cli_no_effect(m->k, m->scope))
		return;
	fputs("<p><strong>", f);
	cli_html(f, cli_say_no_effect(m->k, m->scope, line, sizeof(line)));
	fputs("</strong></p>\n", f);
}

void cli_report_matrix(FILE *f, const struct cli_report *r)
{
	const struct cli_matrix *m = &r->m;

	fputs("<section><h2 id=\"pairs\">Pairs</h2>\n", f);
	if (!m->n) {
		fputs("<p>", f);
		cli_html(f, r->m_why.text);
		fputs("</p></section>\n", f);
		return;
	}
	say_matrix(f, r);
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	      "aria-labelledby=\"pairs\"><table id=\"matrix\">\n", f);
	put_head(f, m);
	fputs("<tbody>\n", f);
	for (size_t v = 0; v < m->n; v++) {
		fputs("<tr><th scope=\"row\">", f);
		cli_html(f, name_of(m, v));
		fputs("</th>", f);
		for (size_t c = 0; c < m->n; c++)
			put_cell(f, r, v * m->n + c);
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table></div></section>\n", f);
}
