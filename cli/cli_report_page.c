/* The page of `netprof report`: its head, the list, and all parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_html.h"
#include "cli_report.h"
#include "cli_text.h"

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

		if (p->n_hurt_by && (!most || p->hurt_by[0].p.slowdown >
						      most->hurt_by[0].p.slowdown))
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
		cli_html_printf(f, "%zu of %zu applications slow by more than "
				"%.0f %% beside another; most of all %s beside "
				"%s: %s.", suffer, r->n, 100 * r->limit,
				most->profile.runs->app, most->hurt_by[0].app,
				cli_change(most->hurt_by[0].p.slowdown,
					   change));
	else
		cli_html_printf(f, "%zu applications; how they slow each other "
				"is not known.", r->n);
	fprintf(f, "</strong></p>\n<p class=\"dim\">netprof %s, %s</p>\n",
		NP_VERSION, cli_date(r->date, date));
}

static void list_row(FILE *f, const struct cli_report *r, size_t number)
{
	const struct cli_part *part = &r->part[number];
	const struct np_profile *p = &part->profile;
	bool known = part->n_hurt_by;

	fprintf(f, "<tr><th scope=\"row\"><a href=\"#a%zu\">", number);
	cli_html(f, p->runs->app);
	fprintf(f, "</a></th><td class=\"word\">%s</td><td data-v=\"%zu\">%zu"
		"</td>", cli_use_name(p), p->runs->n, p->runs->n);
	if (p->verdict.use) {
		char share[CLI_NUMBER];

		fprintf(f, "<td data-v=\"%.6g\">%s</td>",
			p->verdict.delayed_share,
			cli_percent(p->verdict.delayed_share, share));
	} else {
		fputs("<td data-v=\"\">-</td>", f);
	}
	cli_report_change(f, known ? part->hurt_by[0].p.slowdown : NAN,
			  r->limit, "");
	fputs("<td class=\"word\">", f);
	cli_html(f, known ? part->hurt_by[0].app : "-");
	fputs("</td></tr>\n", f);
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
	cli_report_matrix(f, r);
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
