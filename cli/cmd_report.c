/*
 * netprof report: one HTML page of all profiles and predictions.
 *
 * The page has these sections, each written by a function put_...(): a summary,
 * a list of the applications, the matrix of predictions, on request the results
 * of netprof blame, netprof explain and netprof simulate, a section for each
 * application with its verdict, recommendations and curve, and the terms. A
 * simulation has options of its own and may take long, so its result is read
 * from a file.
 *
 * The page contains its style, its script and its pictures, and loads nothing
 * else, which a content security policy enforces. The names of applications,
 * leaf switches and hosts come from users: only cli_print_html() and put_text()
 * write them, so that they never become markup.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli_analysis.h"
#include "cli_diagnosis.h"
#include "cli_matrix.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "cli_print.h"
#include "cli_recommend.h"
#include "cli_state.h"
#include "cli_text.h"
#include "np_job_cost.h"
#include "np_picture.h"
#include "np_text.h"

/* One application, with a section of its own. */
struct report_app {
	const struct cli_known_app *known; /* borrowed */
	struct np_run_summary profile;
	struct cli_pair_list slowed_by, slows;
	struct cli_recommendation recommendation;
};

/* The contents of the page. */
struct report {
	char owner[CLI_NUMBER_LEN + 32]; /* "applications of alice" */
	double date;			 /* of the page, seconds since 1970 */
	double max_slowdown; /* MaxSlowdown of placement, a fraction */
	struct cli_known known;
	struct report_app *app; /* sorted by name */
	size_t n_apps;
	struct cli_matrix matrix; /* n 0: there are no predictions, */
	struct np_err no_matrix;  /* for this reason */
	bool have_blame;	  /* the next three are valid */
	double blame_sec;	  /* length of the period; NaN: a file */
	struct np_acct accounting;
	struct np_job_cost cost;
	bool have_diagnosis; /* diagnosis is valid */
	struct cli_diagnosis diagnosis;
	struct json_object *simulation; /* or NULL */
};

/* The options of the command, besides those that commands share. */
struct report_opt {
	struct cli_diagnosis_opt diagnosis; /* since_sec 0: not given */
	bool blame;
	const char *explain;  /* a job, or NULL */
	const char *simulate; /* output of netprof simulate --json, or NULL */
};

/* ---- HTML ---- */

/* Write a formatted text, of up to 2 KiB and escaped, between markup. */
__attribute__((format(printf, 4, 5))) static void
put_text(FILE *f, const char *before, const char *after, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs(before, f);
	cli_print_html(f, text);
	fputs(after, f);
}

/* Write a label and its text, escaped; nothing if the text is empty. */
__attribute__((format(printf, 3, 4))) static void
put_labelled(FILE *f, const char *label, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!*text)
		return;
	fprintf(f, "<dt>%s</dt>", label);
	put_text(f, "<dd>", "</dd>\n", "%s", text);
}

/*
 * A column of a table. The last column in a list is followed by a name NULL.
 */
struct column {
	const char *name;
	bool number;
	const char *sorted; /* "ascending" or "descending"; NULL: neither */
};

/*
 * Begin a table, with buttons in its head that sort it. id: the id of the
 * heading that names the table.
 */
static void begin_table(FILE *f, const char *id, const struct column *column)
{
	fprintf(f,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		"aria-labelledby=\"%s\"><table><thead><tr>",
		id);
	for (; column->name; column++) {
		fprintf(f, "<th scope=\"col\" class=\"%s\"%s",
			column->number ? "" : "word",
			column->number ? " data-sort=\"number\"" : "");
		if (column->sorted)
			fprintf(f, " aria-sort=\"%s\"", column->sorted);
		fprintf(f, "><button>%s</button></th>", column->name);
	}
	fputs("</tr></thead><tbody>\n", f);
}

/* End a table. */
static void end_table(FILE *f)
{
	fputs("</tbody></table></div>\n", f);
}

/* Write a cell with a number and, unless low is NaN, its interval. */
static void put_range(FILE *f, double value, int digits, double low,
		      double high)
{
	fprintf(f, "<td data-v=\"%.6g\">%.*f", value, digits, value);
	/* Adding zero turns -0 into 0. */
	if (isfinite(low))
		fprintf(f, " (%.1f to %.1f)", round(10 * low) / 10 + 0.0,
			round(10 * high) / 10 + 0.0);
	fputs("</td>", f);
}

/* Write a cell that says why it has no value, and which sorts last. */
static void put_missing(FILE *f, const char *why)
{
	put_text(f, "<td data-v=\"\"><span class=\"dim\">", "</span></td>",
		 "%s", why);
}

/*
 * Write a cell with a predicted slowdown, by which it sorts, and the 90 %
 * interval. Cells above MaxSlowdown, and above half of it, are highlighted.
 */
static void put_prediction(FILE *f, const struct np_prediction *prediction,
			   double max_slowdown)
{
	const char *doubt = cli_doubt_text(prediction);

	fprintf(f, "<td data-v=\"%.6g\"%s", prediction->slowdown,
		prediction->slowdown > max_slowdown	? " class=\"much\"" :
		prediction->slowdown > max_slowdown / 2 ? " class=\"some\"" :
							  "");
	put_text(f, " title=\"", "\">", "%s%s", prediction->model->name,
		 doubt ? ", uncertain" : "");
	fprintf(f, "%s%s", cli_change(prediction->slowdown), doubt ? "?" : "");
	if (!isnan(prediction->low))
		fprintf(f, "<small>%.0f to %.0f</small>",
			cli_whole_percent(prediction->low),
			cli_whole_percent(prediction->high));
	fputs("</td>", f);
}

/* ---- figures ---- */

/* Find the next definition or use of an id in a picture, or else its end. */
static const char *next_id(const char *svg)
{
	const char *id = strstr(svg, "id=\"c"), *use = strstr(svg, "url(#c");

	if (id && (!use || id < use))
		return id + strlen("id=\"");
	return use ? use + strlen("url(#") : svg + strlen(svg);
}

/*
 * Write an SVG file as an element of the page. The XML name space is left out,
 * as HTML does not need it. The picture's number is put before each id, so
 * that ids are unique in the page.
 */
static void put_svg(FILE *f, const char *svg, const char *label, size_t number)
{
	const char *body = strstr(svg, " version=\"1.1\""), *id;

	if (!body)
		return;
	put_text(f, "<svg role=\"img\" aria-label=\"", "\"", "%s", label);
	for (; *body; body = id) {
		id = next_id(body + 1);
		fwrite(body, 1, (size_t)(id - body), f);
		if (*id)
			fprintf(f, "a%zu-", number);
	}
}

/* Write a figure and free it; write nothing if it cannot be drawn. */
static void put_figure(FILE *f, struct np_figure *figure, const char *label,
		       size_t number)
{
	char *svg = NULL;
	size_t len;

	if (!np_picture_make(figure, NP_PICTURE_SVG, &svg, &len, NULL))
		put_svg(f, svg, label, number);
	free(svg);
	np_figure_free(figure);
}

/* ---- head and summary ---- */

/* Colours follow the reader's setting; a printed page is black on white. */
/* clang-format off */
static const char style[] =
	":root{color-scheme:light dark;--back:#fff;--text:#1a1a1a;"
	"--dim:#595959;--line:#c8c8c8;--head:#f2f2f2;--much:#fbd5d0;"
	"--some:#fdf0c4;--link:#0b5fa5}\n"
	"@media (prefers-color-scheme:dark){"
	":root{--back:#161616;--text:#e6e6e6;--dim:#a8a8a8;--line:#4a4a4a;"
	"--head:#262626;--much:#6d241c;--some:#574806;--link:#8cc2f2}}\n"
	"body{font:15px/1.45 system-ui,sans-serif;color:var(--text);"
	"background:var(--back);max-width:75rem;margin:0 auto;padding:1rem}\n"
	"a{color:var(--link)}"
	"h1{font-size:1.5rem;margin:.2rem 0}"
	"h2{font-size:1.2rem;margin:1.6rem 0 .4rem;"
	"border-bottom:1px solid var(--line)}"
	"p{margin:.4rem 0}"
	".dim{color:var(--dim)}\n"
	".scroll{overflow:auto;max-height:85vh}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
	"th,td{border:1px solid var(--line);padding:.15rem .45rem;"
	"text-align:right;white-space:nowrap}"
	"th{background:var(--head);font-weight:600}"
	"thead th{position:sticky;top:0;z-index:1}"
	"tbody th,.word,thead th:first-child{text-align:left}"
	"tbody th{position:sticky;left:0}\n"
	"th button{font:inherit;color:inherit;background:none;border:0;"
	"padding:0;cursor:pointer}"
	"th button:focus-visible{outline:2px solid var(--link);"
	"outline-offset:2px}"
	"th[aria-sort=ascending] button::after{content:' \\25B2'}"
	"th[aria-sort=descending] button::after{content:' \\25BC'}\n"
	".much{background:var(--much)}"
	".some{background:var(--some)}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:.1rem 1rem;margin:.5rem 0}"
	"dt{color:var(--dim)}"
	"dd{margin:0}\n"
	"td small{display:block;color:var(--dim);font-size:.75em}"
	"td .dim{font-size:.85em}"
	"svg{max-width:100%;height:auto}"
	"pre{overflow:auto;font-size:.85rem}\n"
	"@media print{"
	":root{--back:#fff;--text:#000;--dim:#444;--line:#999;--head:#eee;"
	"--much:#f3b8b0;--some:#fbe9a8;--link:#000}"
	"body{max-width:none;padding:0;font-size:10pt}"
	"section{break-inside:avoid}"
	".scroll{overflow:visible;max-height:none}"
	"thead th,tbody th{position:static}"
	"th button::after{content:none!important}"
	"a{text-decoration:none}"
	"*{print-color-adjust:exact}}\n";
/* clang-format on */

/*
 * A click on a column's head sorts the table by it, and a second click reverses
 * the order. Cells without a value stay at the end.
 */
static const char script[] =
	"'use strict';\n"
	"function value(row,i){const c=row.cells[i],v=c.dataset.v;\n"
	" return v===undefined?c.textContent.toLowerCase():v===''?null:Number(v)}\n"
	"function sort(th){const table=th.closest('table'),body=table.tBodies[0];\n"
	" const i=th.cellIndex,number=th.dataset.sort==='number';\n"
	" const was=th.getAttribute('aria-sort');\n"
	" const up=was?was!=='ascending':!number,sign=up?1:-1;\n"
	" const rows=Array.from(body.rows,row=>[value(row,i),row]);\n"
	" rows.sort(([a],[b])=>a===b?0:a===null?1:b===null?-1:a<b?-sign:sign);\n"
	" body.append(...rows.map(r=>r[1]));\n"
	" for(const o of th.parentNode.cells)o.removeAttribute('aria-sort');\n"
	" th.setAttribute('aria-sort',up?'ascending':'descending')}\n"
	"for(const b of document.querySelectorAll('th button'))\n"
	" b.addEventListener('click',()=>sort(b.closest('th')));\n";

/* The browser loads nothing from elsewhere, whatever a name contains. */
#define CONTENT_POLICY \
	"default-src 'none'; style-src 'unsafe-inline'; " \
	"script-src 'unsafe-inline'"

/* Return the cluster of the profiles; "" if no run names one. */
static const char *cluster_of(const struct report *report)
{
	if (report->known.calibrated)
		return report->known.cal.cluster;
	for (size_t i = 0; i < report->n_apps; i++) {
		const struct np_record *run = report->app[i].profile.fabric;

		if (run && run->cluster)
			return run->cluster;
	}
	return "";
}

/* Write "netprof report: cluster hpc, applications of alice". */
static void put_title(FILE *f, const struct report *report)
{
	const char *cluster = cluster_of(report);

	put_text(f, "netprof report: ", "", "%s%s%s%s",
		 *cluster ? "cluster " : "", cluster, *cluster ? ", " : "",
		 report->owner);
}

/* Begin the page. */
static void put_head(FILE *f, const struct report *report)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "\n<meta http-equiv=\"Content-Security-Policy\" content=\"" CONTENT_POLICY
	      "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
	      "<title>",
	      f);
	put_title(f, report);
	fputs("</title>\n<style>\n", f);
	fputs(style, f);
	fputs("</style></head><body>\n", f);
}

/*
 * Whether the worst slowdown of an application precedes that of another one. As
 * in the list of each application, uncertain predictions are last: those above
 * MaxSlowdown are not counted among the applications that are slowed by more.
 */
static bool is_slowed_more(const struct report_app *app,
			   const struct report_app *other)
{
	const struct np_prediction *a = &app->slowed_by.pair->prediction;
	const struct np_prediction *b = &other->slowed_by.pair->prediction;
	bool uncertain = cli_doubt_text(a) != NULL;
	bool other_uncertain = cli_doubt_text(b) != NULL;

	if (uncertain != other_uncertain)
		return other_uncertain;
	return a->slowdown > b->slowdown;
}

/* Find the application with the largest predicted slowdown; NULL: none. */
static const struct report_app *most_slowed(const struct report *report)
{
	const struct report_app *worst = NULL;

	for (size_t i = 0; i < report->n_apps; i++) {
		const struct report_app *app = &report->app[i];

		if (app->slowed_by.n && (!worst || is_slowed_more(app, worst)))
			worst = app;
	}
	return worst;
}

/* Write how many applications are slowed, and the worst pair. */
static void put_verdict(FILE *f, const struct report *report)
{
	const struct report_app *worst = most_slowed(report);
	const struct np_prediction *prediction =
		worst ? &worst->slowed_by.pair->prediction : NULL;
	size_t n_slowed = 0;

	for (size_t i = 0; i < report->n_apps; i++)
		n_slowed += report->app[i].recommendation.n_avoid > 0;
	if (worst)
		put_text(f, "<p><strong>", "</strong></p>\n",
			 "%zu of %zu applications would be slowed by more than "
			 "%s by another; worst: %s by %s, %s%s.",
			 n_slowed, report->n_apps,
			 cli_setting_percent(report->max_slowdown),
			 worst->profile.runs->app, worst->slowed_by.pair->app,
			 cli_change(prediction->slowdown),
			 cli_doubt_text(prediction) ? " (uncertain)" : "");
	else
		put_text(f, "<p><strong>", "</strong></p>\n",
			 "%zu application%s; how they slow each other is not "
			 "known.",
			 report->n_apps, cli_plural_s(report->n_apps));
}

/* Write the title, the verdict, and when the page was made. */
static void put_summary(FILE *f, const struct report *report)
{
	char date[CLI_NUMBER_LEN] = "";
	time_t t = (time_t)report->date;
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M %z", &tm);
	fputs("<h1>", f);
	put_title(f, report);
	fputs("</h1>\n", f);
	put_verdict(f, report);
	fprintf(f,
		"<p class=\"dim\">netprof %s, %s. The terms are explained at "
		"the <a href=\"#terms\">end</a>.</p>\n",
		NP_VERSION, date);
}

/* ---- list of applications ---- */

/* Say why the share of delayed probes is not known. */
static const char *why_no_share(const struct np_run_summary *summary)
{
	if (!summary->latency.n_runs)
		return "no probes";
	return summary->verdict.doubt == NP_DOUBT_PROBES ? "too few probes" :
							   "no idle baseline";
}

/* Say why no slowdown of the application is predicted. */
static const char *why_not_predicted(const struct report *report,
				     const struct report_app *app)
{
	const struct np_record *run = app->profile.fabric;

	if (!report->known.calibrated)
		return "no calibration";
	if (app->known->summary.n_curve)
		return "not predicted";
	if (run && run->cluster &&
	    strcmp(run->cluster, report->known.cal.cluster))
		return "other cluster";
	return "not run under load";
}

/* Write the share of delayed probes, or why it is not known. */
static void put_delayed(FILE *f, const struct np_run_summary *summary)
{
	if (summary->verdict.against)
		fprintf(f, "<td data-v=\"%.6g\">%s</td>",
			summary->verdict.delayed_share,
			cli_percent(summary->verdict.delayed_share));
	else
		put_missing(f, why_no_share(summary));
}

/* Write the row of one application. Its name links to its section. */
static void put_app_row(FILE *f, const struct report *report, size_t number)
{
	const struct report_app *app = &report->app[number];
	const struct np_run_summary *summary = &app->profile;

	fprintf(f, "<tr><th scope=\"row\"><a href=\"#a%zu\"", number);
	put_text(f, ">", "</a></th>", "%s", summary->runs->app);
	fprintf(f, "<td class=\"word\">%s</td><td data-v=\"%zu\">%zu</td>",
		cli_use_name(summary), summary->runs->n, summary->runs->n);
	put_delayed(f, summary);
	if (app->slowed_by.n) {
		put_prediction(f, &app->slowed_by.pair->prediction,
			       report->max_slowdown);
		put_text(f, "<td class=\"word\">", "</td></tr>\n", "%s",
			 app->slowed_by.pair->app);
	} else {
		put_missing(f, why_not_predicted(report, app));
		fputs("<td class=\"word dim\">unknown</td></tr>\n", f);
	}
}

/* Write the list of applications; every column can be sorted. */
static void put_app_list(FILE *f, const struct report *report)
{
	static const struct column columns[] = {
		{ "Application", false, "ascending" },
		{ "Use" },
		{ "Runs", true },
		{ "Delayed probes", true },
		{ "Worst slowdown", true },
		{ "By" },
		{ NULL },
	};

	fputs("<section><h2 id=\"list\">Applications</h2>\n", f);
	begin_table(f, "list", columns);
	for (size_t i = 0; i < report->n_apps; i++)
		put_app_row(f, report, i);
	end_table(f);
	fputs("</section>\n", f);
}

/* ---- matrix of predictions ---- */

/* Write the head of the matrix, whose buttons sort it. */
static void put_matrix_head(FILE *f, const struct cli_matrix *matrix)
{
	fputs("<thead><tr><th scope=\"col\" aria-sort=\"ascending\"><button>"
	      "with</button></th>",
	      f);
	for (size_t co = 0; co < matrix->n; co++)
		put_text(f, "<th scope=\"col\" data-sort=\"number\"><button>",
			 "</button></th>", "%s", cli_matrix_name(matrix, co));
	fputs("</tr></thead>\n", f);
}

/* Write what the matrix shows, and whether sharing a leaf switch matters. */
static void put_matrix_intro(FILE *f, const struct report *report)
{
	const struct cli_matrix *matrix = &report->matrix;
	const struct np_calibration *cal = &matrix->known->cal;

	put_text(f, "<p>", "",
		 "How much longer the application of each row runs while that "
		 "of each column runs %s (model %s; fabric %s, calibrated %s).",
		 cli_scope_text(matrix->scope), matrix->model->name,
		 cal->cluster, cli_day(cal->date));
	fprintf(f,
		" Dark cells are above %s, light ones above half of that. "
		"Below each prediction is its 90 %% interval, in percent. "
		"Click on the head of a column to sort by it.</p>\n",
		cli_setting_percent(report->max_slowdown));
	if (cli_has_no_effect(matrix->known, matrix->scope))
		put_text(f, "<p><strong>", "</strong></p>\n", "%s",
			 cli_no_effect_text(matrix->known, matrix->scope));
}

/* Write the predictions for one victim, with each co-runner. */
static void put_matrix_row(FILE *f, const struct report *report, size_t victim)
{
	const struct cli_matrix *matrix = &report->matrix;

	put_text(f, "<tr><th scope=\"row\">", "</th>", "%s",
		 cli_matrix_name(matrix, victim));
	for (size_t co = 0; co < matrix->n; co++) {
		size_t at = victim * matrix->n + co;

		if (matrix->rc[at])
			put_missing(f, cli_matrix_why(matrix->rc[at]));
		else
			put_prediction(f, &matrix->prediction[at],
				       report->max_slowdown);
	}
	fputs("</tr>\n", f);
}

/* Write the predictions of all pairs, or why there are none. */
static void put_matrix(FILE *f, const struct report *report)
{
	fputs("<section><h2 id=\"pairs\">Pairs</h2>\n", f);
	if (!report->matrix.n) {
		put_text(f, "<p>", "</p></section>\n", "%s",
			 report->no_matrix.text);
		return;
	}
	put_matrix_intro(f, report);
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	      "aria-labelledby=\"pairs\"><table id=\"matrix\">\n",
	      f);
	put_matrix_head(f, &report->matrix);
	fputs("<tbody>\n", f);
	for (size_t victim = 0; victim < report->matrix.n; victim++)
		put_matrix_row(f, report, victim);
	end_table(f);
	fputs("</section>\n", f);
}

/* ---- node-hours lost to neighbours: netprof blame ---- */

#define MAX_COSTS 50 /* most rows of a table */

/*
 * If --blame was given, compute what netprof blame computes. Returns -1 to go
 * on, or the exit status.
 */
static int load_blame(struct report *report, const struct cli_cmd *self,
		      const struct report_opt *opt)
{
	struct cli_diagnosis_opt source = opt->diagnosis;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!opt->blame)
		return -1;
	rc = cli_since_default(self, &source, CLI_BLAME_SINCE);
	if (rc >= 0)
		return rc;
	report->blame_sec = source.since_sec;
	rc = cli_accounting_load(&report->accounting, &source, report->date,
				 &err);
	if (rc)
		return rc == -ERANGE ? cli_usage(self, "%s", err.text) :
				       cli_fail("%s", err.text);
	cli_check_memory(np_job_cost_make(&report->accounting, &report->cost));
	report->have_blame = true;
	return -1;
}

/* Write a list of netprof blame, the most costly rows first. */
static void put_costs(FILE *f, const struct report *report,
		      enum cli_blame_list list)
{
	/* One more than any list has, which ends it. */
	static const struct column columns[][5] = {
		[CLI_BLAME_PAIRS] = {
			{ "Slowed" },
			{ "By" },
			{ "Runs", true },
			{ "Node-hours (90 %)", true, "descending" },
		},
		[CLI_BLAME_LEAVES] = {
			{ "Leaf switch" },
			{ "Node-hours (90 %)", true, "descending" },
		},
		[CLI_BLAME_NODES] = {
			{ "Node" },
			{ "Runs", true },
			{ "Slower by % (95 %)", true },
			{ "Node-hours (95 %)", true, "descending" },
		},
	};
	struct cli_blame_row row;

	if (!cli_blame_row(&report->accounting, &report->cost, list, 0, &row))
		return;
	begin_table(f, "blame", columns[list]);
	for (size_t i = 0;
	     i < MAX_COSTS &&
	     cli_blame_row(&report->accounting, &report->cost, list, i, &row);
	     i++) {
		put_text(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 row.names[0]);
		if (row.names[1])
			put_text(f, "<td class=\"word\">", "</td>", "%s",
				 row.names[1]);
		if (row.runs)
			put_range(f, row.runs, 0, NAN, NAN);
		if (row.slower)
			put_range(f, 100 * row.slower->mean, 1,
				  100 * row.slower->low,
				  100 * row.slower->high);
		put_range(f, row.node_hours->mean, 1, row.node_hours->low,
			  row.node_hours->high);
		fputs("</tr>\n", f);
	}
	end_table(f);
}

/* Write the section of --blame. */
static void put_blame(FILE *f, const struct report *report)
{
	const struct np_acct *accounting = &report->accounting;
	const struct np_job_cost *cost = &report->cost;

	if (!report->have_blame)
		return;
	fputs("<section><h2 id=\"blame\">Node-hours lost to neighbours</h2>\n",
	      f);
	put_text(f, "<p><strong>", "</strong></p>\n", "%s",
		 cli_blame_verdict(cost));
	put_text(f, "<p>", "</p>\n",
		 "From %s, of measured and other jobs: %zu of %zu jobs are "
		 "compared with runs of the same work. Each table has at most "
		 "%d rows.%s",
		 isnan(report->blame_sec) ?
			 "a file of Slurm's accounting" :
			 cli_text("Slurm's accounting of %.3g days",
				  report->blame_sec / 86400),
		 cost->n_compared, cost->n_jobs, MAX_COSTS,
		 accounting->one_leaf ? " No topology is known, so all nodes "
					"count as one leaf switch." :
					"");
	put_costs(f, report, CLI_BLAME_PAIRS);
	/* Without a topology there is only one leaf switch. */
	if (!accounting->one_leaf)
		put_costs(f, report, CLI_BLAME_LEAVES);
	put_costs(f, report, CLI_BLAME_NODES);
	fputs("</section>\n", f);
}

/* ---- why a job was slow: netprof explain ---- */

/*
 * If --explain was given, examine its job as netprof explain does. Returns -1
 * to go on, or the exit status.
 */
static int load_explain(struct report *report, const struct cli_cmd *self,
			const struct report_opt *opt,
			const struct np_metrics_conf *conf, uint32_t id,
			uint32_t task)
{
	struct cli_diagnosis_opt source = opt->diagnosis;
	int rc;

	if (!opt->explain)
		return -1;
	rc = cli_since_default(self, &source, CLI_DIAGNOSIS_SINCE);
	if (rc >= 0)
		return rc;
	cli_diagnosis_make(&report->diagnosis, &source, conf, id, task,
			   report->date);
	report->have_diagnosis = report->diagnosis.job;
	if (report->have_diagnosis)
		return -1;
	if (report->diagnosis.why.text[0])
		return cli_fail("%s", report->diagnosis.why.text);
	return cli_fail(
		"job %.64s is not in %s, or never started", opt->explain,
		source.accounting ? source.accounting : "Slurm's accounting");
}

/*
 * Write the section of --explain: the text and the figure. The text is written
 * line by line, because cli_print_html() would escape line feeds.
 */
static void put_explain(FILE *f, const struct report *report, const char *job)
{
	const struct cli_diagnosis *diagnosis = &report->diagnosis;
	char *text = NULL, *rest, *line;
	size_t len;
	FILE *explained;

	if (!report->have_diagnosis)
		return;
	explained = cli_stream_open(&text, &len);
	cli_diagnosis_text(explained, diagnosis);
	rest = cli_stream_close(explained, &text);
	put_text(f, "<section><h2 id=\"job\">", "</h2>\n<pre>", "Job %s", job);
	while ((line = strsep(&rest, "\n")) && (*line || rest)) {
		cli_print_html(f, line);
		putc('\n', f);
	}
	fputs("</pre>\n", f);
	put_figure(f, cli_diagnosis_figure(diagnosis),
		   "The job and its neighbours", report->n_apps);
	fputs("</section>\n", f);
	free(text);
}

/*
 * Load what the sections of --blame and --explain need. Returns -1 to go on,
 * or the exit status.
 */
static int load_accounting(struct report *report, const struct cli_cmd *self,
			   const struct report_opt *opt)
{
	const struct cli_diagnosis_opt *source = &opt->diagnosis;
	struct np_metrics_conf conf;
	uint32_t id = 0, task = 0;
	int rc = -1;

	if (!opt->blame && !opt->explain &&
	    (source->accounting || source->since_sec || source->metrics_url))
		return cli_usage(self,
				 "--since, --accounting and --metrics-url need "
				 "--blame or --explain=JOB");
	if (opt->explain)
		rc = cli_job_parse(self, opt->explain, &id, &task);
	if (rc < 0)
		rc = cli_diagnosis_conf(self, source, &conf);
	if (rc < 0)
		rc = load_blame(report, self, opt);
	return rc < 0 ? load_explain(report, self, opt, &conf, id, task) : rc;
}

/* ---- placement on a recorded queue: netprof simulate ---- */

#define MAX_SIMULATION (64u << 20) /* output of netprof simulate, bytes */
#define HOURS (1 / 3600.0)	   /* per second */

/* Return a member of an object as text; "" if it is missing. */
static const char *member_text(struct json_object *object, const char *key)
{
	struct json_object *value = json_object_object_get(object, key);

	return json_object_is_type(value, json_type_string) ?
		       json_object_get_string(value) :
		       "";
}

/* Return a member of an object as a number; NaN if it is none. */
static double member_number(struct json_object *object, const char *key)
{
	struct json_object *value = json_object_object_get(object, key);

	return json_object_is_type(value, json_type_int) ||
			       json_object_is_type(value, json_type_double) ?
		       json_object_get_double(value) :
		       NAN;
}

/* Whether a simulation has the numbers that the first sentence prints. */
static bool has_totals(struct json_object *simulation)
{
	static const char *const key[] = { "jobs", "jobs_with_profile", "nodes",
					   "leaves" };

	for (size_t i = 0; i < NP_ARRAY_SIZE(key); i++)
		if (!isfinite(member_number(simulation, key[i])))
			return false;
	return true;
}

/* Whether this member is a list. */
static bool has_list(struct json_object *object, const char *key)
{
	return json_object_is_type(json_object_object_get(object, key),
				   json_type_array);
}

/*
 * If --simulate was given, read its file. Returns -1 to go on, or the exit
 * status.
 */
static int load_simulation(struct report *report, const char *path)
{
	struct np_err err = NP_ERR_INIT;

	if (!path)
		return -1;
	if (cli_json_read(path, MAX_SIMULATION, &report->simulation, &err))
		return cli_fail("%s", err.text);
	if (member_number(report->simulation, "schema") != CLI_JSON_SCHEMA)
		return cli_fail("%s: schema: expected %d, as this version of "
				"netprof writes",
				path, CLI_JSON_SCHEMA);
	if (strcmp(member_text(report->simulation, "command"), "simulate") ||
	    !has_totals(report->simulation) ||
	    !has_list(report->simulation, "policies") ||
	    !has_list(report->simulation, "groups"))
		return cli_fail("%s: expected the output of \"netprof simulate "
				"--json\"",
				path);
	return -1;
}

/*
 * Write a cell with a number and its interval, or "-" if the number is not
 * finite. It is rounded here, because printf() would print -0.3 as "-0".
 */
static void put_rounded(FILE *f, double value, int digits, double low,
			double high)
{
	const double step = pow(10, -digits);

	if (isfinite(value))
		put_range(f, step * round(value / step) + 0.0, digits, low,
			  high);
	else
		fputs("<td data-v=\"\">-</td>", f);
}

/* Write a policy's change relative to the first policy, in percent. */
static void put_policy_change(FILE *f, struct json_object *policy,
			      const char *key)
{
	struct json_object *changes =
		json_object_object_get(policy, "against_first");
	struct json_object *change = json_object_object_get(changes, key);

	put_rounded(f, 100 * member_number(change, "value"), 1,
		    100 * member_number(change, "low"),
		    100 * member_number(change, "high"));
}

/* Write the policies, one per row. */
static void put_policies(FILE *f, struct json_object *list)
{
	static const struct column columns[] = {
		{ "Policy" },
		{ "Wait, mean (h)", true },
		{ "Wait, 95th percentile (h)", true },
		{ "Utilisation %", true },
		{ "Node-hours used", true },
		{ "Node-hours lost", true },
		{ "Jobs held", true },
		{ "Held over 10 min", true },
		{ "Node-hours saved % (95 %)", true },
		{ "Waits lengthened % (95 %)", true },
		{ NULL },
	};
	/* The cells of a row without an interval. */
	static const struct {
		const char *key;
		double scale;
		int digits;
	} cell[] = {
		{ "wait_mean_sec", HOURS, 2 }, { "wait_p95_sec", HOURS, 2 },
		{ "utilisation", 100, 1 },     { "used_node_sec", HOURS, 0 },
		{ "lost_node_sec", HOURS, 0 }, { "jobs_held", 1, 0 },
		{ "jobs_held_long", 1, 0 },
	};

	begin_table(f, "simulate", columns);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *policy = json_object_array_get_idx(list, i);

		put_text(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 member_text(policy, "policy"));
		for (size_t c = 0; c < NP_ARRAY_SIZE(cell); c++)
			put_rounded(f,
				    cell[c].scale *
					    member_number(policy, cell[c].key),
				    cell[c].digits, NAN, NAN);
		put_policy_change(f, policy, "saved_share");
		put_policy_change(f, policy, "wait_change_share");
		fputs("</tr>\n", f);
	}
	end_table(f);
}

/* Write the effect of a policy on users, sizes and partitions. */
static void put_groups(FILE *f, struct json_object *list)
{
	static const struct column columns[] = {
		{ "Effect by" },
		{ "" },
		{ "Jobs", true },
		{ "Change of mean wait (s)", true },
		{ "Node-hours saved", true },
		{ NULL },
	};
	size_t n = json_object_array_length(list);

	if (!n)
		return;
	begin_table(f, "simulate", columns);
	for (size_t i = 0; i < n && i < MAX_COSTS; i++) {
		struct json_object *group = json_object_array_get_idx(list, i);

		put_text(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 member_text(group, "by"));
		put_text(f, "<td class=\"word\">", "</td>", "%s",
			 member_text(group, "who"));
		put_rounded(f, member_number(group, "jobs"), 0, NAN, NAN);
		put_rounded(f, member_number(group, "wait_change_sec"), 0, NAN,
			    NAN);
		put_rounded(f, HOURS * member_number(group, "saved_node_sec"),
			    1, NAN, NAN);
		fputs("</tr>\n", f);
	}
	end_table(f);
}

/* Write the section of --simulate. */
static void put_simulation(FILE *f, struct json_object *simulation)
{
	if (!simulation)
		return;
	fputs("<section><h2 id=\"simulate\">Placement on a recorded "
	      "queue</h2>\n",
	      f);
	put_text(f, "<p><strong>", "</strong></p>\n", "%s",
		 member_text(simulation, "verdict"));
	put_text(f, "<p>", "</p>\n",
		 "Simulated, not measured: %.0f jobs from %s, of which %.0f "
		 "have a profile, on %.0f nodes with %.0f leaf switches. "
		 "Predictions: %s. The other policies are compared with the "
		 "first; the lower table compares the last that changes "
		 "jobs.%s",
		 member_number(simulation, "jobs"),
		 member_text(simulation, "source"),
		 member_number(simulation, "jobs_with_profile"),
		 member_number(simulation, "nodes"),
		 member_number(simulation, "leaves"),
		 member_text(simulation, "predictions"),
		 json_object_get_boolean(
			 json_object_object_get(simulation, "stopped")) ?
			 " The simulation was stopped before its end." :
			 "");
	put_policies(f, json_object_object_get(simulation, "policies"));
	put_groups(f, json_object_object_get(simulation, "groups"));
	fputs("</section>\n", f);
}

/* ---- the section of one application ---- */

/* Write the verdict in words, with emphasis on the first sentence. */
static void put_app_verdict(FILE *f, const struct np_run_summary *summary)
{
	for (int i = 0; i < CLI_SENTENCES; i++) {
		const char *sentence = cli_verdict_text(summary, i);

		if (*sentence)
			put_text(f, i ? "<p>" : "<p><strong>",
				 i ? "</p>\n" : "</strong></p>\n", "%s",
				 sentence);
	}
}

/* Write a list of interference pairs, with their intervals in percent. */
static void put_pairs(FILE *f, const char *label,
		      const struct cli_pair_list *list, const char *self)
{
	char line[1024] = "";

	for (size_t i = 0; i < list->n; i++)
		cli_appendf(line, sizeof(line), "%s%s", *line ? ", " : "",
			    cli_pair_text(&list->pair[i], self, NP_APP_MAX));
	put_labelled(f, label, "%s", line);
}

/* Write how many runs count, and why the others do not. */
static void put_runs(FILE *f, const struct np_run_summary *summary)
{
	const struct np_runs *runs = summary->runs;

	put_labelled(f, "Runs", "%zu of %zu used, %s%s%s%s",
		     summary->latency.n_runs, runs->n,
		     runs->owner == NP_STORE_USER ? "of " : "",
		     cli_owner_name(runs->owner, runs->uid),
		     runs->n ? ", the last " : "",
		     runs->n ? cli_day(runs->run[0]->end) : "");
	put_labelled(f, "Excluded", "%s", cli_excluded_text(summary));
}

/* Write one line for a sample of latencies; nothing if there is none. */
static void put_latency(FILE *f, const char *label,
			const struct np_sample *sample)
{
	if (sample->n_runs && sample->hist)
		put_labelled(f, label, "p50 %s, p99 %s, mean %s, %llu probes",
			     cli_sec(np_sample_quantile(sample, 0.5)),
			     cli_sec(np_sample_quantile(sample, 0.99)),
			     cli_sec(sample->moments.mean),
			     (unsigned long long)sample->moments.n);
}

/* Write cluster, transport and the first leaf switches of the newest run. */
static void put_fabric(FILE *f, const struct np_record *run)
{
	char leaves[1024] = "";

	for (size_t i = 0; i < run->n_leaves && i < 4; i++)
		cli_appendf(leaves, sizeof(leaves), "%s%s",
			    *run->leaves[i].name ? ", leaf " : ", no topology",
			    run->leaves[i].name);
	put_labelled(f, "Fabric", "cluster %s, %s%s",
		     run->cluster ? run->cluster : "unknown",
		     run->probe.transport ? run->probe.transport :
					    "transport unknown",
		     leaves);
}

/* Write the sensitivity curve that netprof plot draws; nothing without data. */
static void put_curve(FILE *f, const struct report *report, size_t number)
{
	const struct report_app *app = &report->app[number];
	const struct cli_known *known = &report->known;
	struct np_figure *figure = cli_figure_new("");
	char label[NAME_MAX + 64];

	if (cli_plot_add(figure, CLI_PLOT_CURVE, &app->profile,
			 &app->known->summary,
			 known->calibrated ? known->cal.fabric : NULL)) {
		np_figure_free(figure);
		return;
	}
	snprintf(label, sizeof(label), "Slowdown of %s under synthetic load",
		 app->profile.runs->app);
	put_figure(f, figure, label, number);
}

/* Write the section of one application, to which the list links. */
static void put_app(FILE *f, const struct report *report, size_t number)
{
	const struct report_app *app = &report->app[number];
	const struct np_run_summary *summary = &app->profile;
	const char *name = summary->runs->app;

	fprintf(f, "<section><h2 id=\"a%zu\"", number);
	put_text(f, ">", "</h2>\n", "%s", name);
	put_app_verdict(f, summary);
	fputs("<dl>\n", f);
	put_labelled(f, "Avoid", "%s", cli_avoid_text(&app->recommendation));
	put_labelled(f, "To improve", "%s",
		     cli_improve_text(&app->recommendation));
	put_pairs(f, "Slowed by", &app->slowed_by, name);
	put_pairs(f, "Slows", &app->slows, name);
	put_runs(f, summary);
	if (summary->fabric)
		put_fabric(f, summary->fabric);
	put_latency(f, "Latency", &summary->latency);
	put_latency(f, "Idle", &summary->idle);
	fputs("</dl>\n", f);
	put_curve(f, report, number);
	fputs("</section>\n", f);
}

/* ---- terms ---- */

/* Explain the terms, for readers who do not know netprof. */
static void put_terms(FILE *f, double max_slowdown)
{
	static const char *const terms[][2] = {
		{ "Slowdown",
		  "how much longer the application runs because "
		  "of a concurrent job, in percent of its run time alone" },
		{ "Interval",
		  "the two numbers below or after a prediction; the "
		  "slowdown is between them with a probability of 90 %. A "
		  "question mark: the prediction is uncertain, and no "
		  "decision should be based on it" },
		{ "Probe", "a small message that netprof sends between the "
			   "nodes of a running job, and times" },
		{ "Delayed probes",
		  "the share of probes that took longer than nearly all "
		  "probes of the idle network; it shows how busy the "
		  "application keeps the network" },
		{ "Use", "how much of the network the application uses: "
			 "light, moderate, heavy or saturated; unknown without "
			 "probes or without an idle baseline" },
		{ "Idle baseline",
		  "latencies of the same network while no job used it" },
		{ "p50, p99", "half, or 99 %, of the probes took less time" },
		{ "Load level",
		  "a synthetic load, c0, c1, ..., that netprof "
		  "runs on the same leaf switch as the application, to "
		  "measure how much it slows the application" },
		{ "Estimated utilisation",
		  "how much of the leaf switch a load or a program "
		  "uses, from 0 (idle) to 1 (full)" },
		{ "Leaf switch",
		  "the switch that the nodes of a job are "
		  "connected to; jobs under one leaf switch share it" },
		{ "Calibration",
		  "measurement of how the load levels slow "
		  "each other on this network; predictions need it" },
	};

	fputs("<section><h2 id=\"terms\">Terms</h2>\n<dl>\n", f);
	for (size_t i = 0; i < NP_ARRAY_SIZE(terms); i++)
		put_labelled(f, terms[i][0], "%s", terms[i][1]);
	put_labelled(f, "Threshold",
		     "%s, the slowdown above which placement keeps jobs apart "
		     "(MaxSlowdown)",
		     cli_setting_percent(max_slowdown));
	fputs("</dl></section>\n", f);
}

/* ---- the page ---- */

/* Make the whole page; the caller frees it. */
static char *make_report(const struct report *report,
			 const struct report_opt *opt)
{
	char *text = NULL;
	size_t len;
	FILE *f = cli_stream_open(&text, &len);

	cli_text_for_file();
	put_head(f, report);
	put_summary(f, report);
	put_app_list(f, report);
	put_matrix(f, report);
	put_blame(f, report);
	put_explain(f, report, opt->explain);
	put_simulation(f, report->simulation);
	for (size_t i = 0; i < report->n_apps; i++)
		put_app(f, report, i);
	put_terms(f, report->max_slowdown);
	fputs("<script>\n", f);
	fputs(script, f);
	fputs("</script></body></html>\n", f);
	return cli_stream_close(f, &text);
}

/*
 * Write the page to output: to a file, or to index.html in a directory. The
 * page is made in memory and written at once, so that an error leaves the old
 * page. Returns the exit status.
 */
static int write_report(const struct report *report,
			const struct report_opt *opt, const char *output)
{
	size_t n_pairs = report->matrix.n * report->matrix.n;
	struct np_err err = NP_ERR_INIT;
	char path[PATH_MAX], *text;
	struct stat st;
	int rc = snprintf(
		path, sizeof(path), "%s%s", output,
		!stat(output, &st) && S_ISDIR(st.st_mode) ? "/index.html" : "");

	if (rc >= (int)sizeof(path))
		return cli_fail("%.64s...: path too long", output);
	text = make_report(report, opt);
	rc = cli_replace_file(path, text, 0, &err);
	free(text);
	if (rc)
		return cli_fail("%s", err.text);
	printf("wrote %s: %zu application%s, %zu pair%s\n", path,
	       report->n_apps, cli_plural_s(report->n_apps), n_pairs,
	       cli_plural_s(n_pairs));
	return CLI_DONE;
}

/* ---- profiles and predictions ---- */

/*
 * Load what predictions need. Without a calibration, the page says that there
 * is none and shows the rest. Returns -1 to go on, or the exit status.
 */
static int load_calibration(struct report *report, struct cli_store *store,
			    const struct cli_options *options)
{
	struct cli_known *known = &report->known;
	int rc = cli_known_load_calibration(known, store, known->n,
					    !options->n_apps);

	if (rc == -ENOENT) {
		np_errf(&report->no_matrix, rc,
			"%.400s; an administrator measures it with: %s",
			known->why.text, CLI_CALIBRATE);
		return -1;
	}
	if (rc)
		return cli_fail("%s", known->why.text);
	cli_known_attach_traces(known, store, options->model);
	/* This is shown only if the matrix is empty. */
	np_errf(&report->no_matrix, 0,
		"No application has been measured on cluster %s yet.",
		known->cal.cluster);
	return -1;
}

/* Compare the names of two applications, for qsort(). */
static int by_name(const void *a, const void *b)
{
	const struct report_app *x = a, *y = b;

	return strcmp(x->known->runs.app, y->known->runs.app);
}

/* Make the profiles of all applications, sorted by name. */
static void make_profiles(struct report *report, struct cli_store *store)
{
	size_t n = report->known.n;

	report->app = cli_calloc(n, sizeof(*report->app));
	for (size_t i = 0; i < n; i++)
		report->app[i].known = report->known.app[i];
	qsort(report->app, n, sizeof(*report->app), by_name);
	for (; report->n_apps < n; report->n_apps++) {
		struct report_app *app = &report->app[report->n_apps];
		const struct np_runs *runs = &app->known->runs;

		cli_profile_make(store, runs, runs, &app->profile);
	}
}

/*
 * Add the prediction for a victim with a co-runner, both indices into the
 * matrix, to a list. other: the one of the two that the list names.
 */
static void add_pair(const struct cli_matrix *matrix, size_t victim, size_t co,
		     size_t other, struct cli_pair_list *list)
{
	size_t at = victim * matrix->n + co;

	if (!matrix->rc[at])
		cli_pair_list_insert(list, cli_matrix_name(matrix, other),
				     matrix->app[victim], matrix->app[co],
				     &matrix->prediction[at]);
}

/* Find the application's worst pairs in the matrix. */
static void find_pairs(const struct cli_matrix *matrix, struct report_app *app)
{
	size_t self = 0;

	while (self < matrix->n &&
	       matrix->known->app[matrix->app[self]] != app->known)
		self++;
	if (self == matrix->n)
		return;
	for (size_t i = 0; i < matrix->n; i++) {
		add_pair(matrix, self, i, i, &app->slowed_by);
		if (i != self)
			add_pair(matrix, i, self, i, &app->slows);
	}
}

/*
 * Make the recommendation for an application. A prediction in the matrix does
 * not say which measurement would narrow its interval, so the worst pair is
 * predicted again.
 */
static void recommend(const struct report *report, struct report_app *app,
		      struct np_predictor *models)
{
	if (app->slowed_by.n && models)
		cli_pair_predict(models, &report->known, report->matrix.scope,
				 app->slowed_by.pair);
	cli_recommend(&app->profile, &report->known, report->matrix.scope,
		      &app->slowed_by, report->max_slowdown,
		      &app->recommendation);
}

/*
 * Predict all pairs, and make the recommendations. Without a calibration,
 * nothing is predicted, and the recommendations say what to measure. Returns
 * -1 to go on, or the exit status.
 */
static int predict(struct report *report, const struct cli_options *options)
{
	struct np_predictor *models = NULL;
	int rc = -1;

	report->matrix.scope = options->scope;
	if (report->known.calibrated)
		rc = cli_matrix_make(&report->known, options, &report->matrix);
	if (rc >= 0)
		return rc;
	if (report->matrix.n)
		cli_known_predictor(&report->known, options->model, true,
				    &models, NULL);
	for (size_t i = 0; i < report->n_apps; i++) {
		find_pairs(&report->matrix, &report->app[i]);
		recommend(report, &report->app[i], models);
	}
	np_predictor_free(models);
	return rc;
}

/*
 * Load the applications that the page is about, and predict their pairs.
 * Returns -1 to go on, or the exit status.
 */
static int load_apps(struct report *report, const struct cli_options *options)
{
	struct cli_store store;
	int rc = cli_store_open(&store);

	if (rc >= 0)
		return rc;
	report->max_slowdown = store.max_slowdown;
	rc = cli_matrix_find(&report->known, &store, options);
	if (rc < 0)
		rc = load_calibration(report, &store, options);
	if (rc < 0)
		make_profiles(report, &store);
	cli_store_close(&store);
	return rc < 0 ? predict(report, options) : rc;
}

/* ---- the command ---- */

/* Free what the report owns. */
static void free_report(struct report *report)
{
	json_object_put(report->simulation);
	if (report->have_blame)
		np_job_cost_free(&report->cost);
	np_acct_free(&report->accounting);
	cli_diagnosis_free(&report->diagnosis);
	for (size_t i = 0; i < report->n_apps; i++)
		np_run_summary_free(&report->app[i].profile);
	free(report->app);
	cli_matrix_free(&report->matrix);
	cli_known_free(&report->known);
}

static int run_report(const struct cli_cmd *self, int argc, char **argv)
{
	struct report report = { .date = cli_now() };
	struct report_opt opt = { .blame = false };
	struct cli_options options;
	int rc = cli_options_parse(self, argc, argv, &opt, &options);

	if (rc < 0 && !options.output)
		rc = cli_usage(self, "report needs an output file: -o FILE");
	if (rc >= 0)
		return rc;
	snprintf(report.owner, sizeof(report.owner), "%s%s",
		 options.published ? "published applications" :
				     "applications of ",
		 options.published ? "" : cli_user(options.uid));
	rc = load_accounting(&report, self, &opt);
	if (rc < 0)
		rc = load_simulation(&report, opt.simulate);
	if (rc < 0)
		rc = load_apps(&report, &options);
	if (rc < 0)
		rc = write_report(&report, &opt, options.output);
	free_report(&report);
	return rc;
}

static const struct np_option own_options[] = {
#define AT(field) offsetof(struct report_opt, field)
	{ "blame", NP_OPTION_FLAG, AT(blame) },
	{ "explain", NP_OPTION_WORD, AT(explain) },
	{ "simulate", NP_OPTION_WORD, AT(simulate) },
	{ "since", NP_OPTION_TAKE, AT(diagnosis.since_sec),
	  .take = cli_since_parse },
	{ "accounting", NP_OPTION_WORD, AT(diagnosis.accounting) },
	{ "topology", NP_OPTION_WORD, AT(diagnosis.topology) },
	{ "metrics-url", NP_OPTION_WORD, AT(diagnosis.metrics_url) },
#undef AT
	{ NULL },
};

const struct cli_cmd cmd_report = {
	.name = "report",
	.args = "[OPTION]... [APP]... -o FILE.html|DIR",
	.help = "an HTML page of all profiles and predictions",
	.text = "Writes one HTML page that needs no network connection: a list of applications,\n"
		"a section for each with its verdict, recommendations and sensitivity curve,\n"
		"and a table of predictions for every pair, which can be sorted.\n"
		"Without APP: your own applications and the published ones.\n\n"
		"  -o FILE, --output=FILE  output file, or a directory for an index.html\n"
		"  --blame                 add the results of netprof blame\n"
		"  --explain=JOB           add what netprof explain says about a job\n"
		"  --simulate=FILE         add the results of netprof simulate in FILE (JSON)\n"
		"  --since=AGE, --accounting=FILE, --topology=FILE, --metrics-url=URL\n"
		"                          as for netprof blame and explain\n"
		"  --scope=SCOPE, --model=M, --user=NAME, --published\n"
		"                          as for netprof matrix",
	.examples = "  netprof report -o page.html\n"
		    "  netprof report fft halo lammps -o /var/www/netprof\n"
		    "  netprof report --blame --explain=4711 -o page.html\n"
		    "  netprof report --simulate=queue.json -o page.html\n",
	.takes = CLI_TAKES_OUTPUT | CLI_TAKES_USER | CLI_TAKES_MODEL |
		 CLI_TAKES_SCOPE,
	.max_args = CLI_ANY,
	.own = own_options,
	.run = run_report,
};
