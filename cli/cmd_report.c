/*
 * netprof report: one HTML page of all profiles and predictions.
 *
 * The page has a summary, a list of the applications, the matrix of
 * predictions, and a section for each application with its verdict, advice and
 * curve.  On request it has sections with what netprof blame, netprof explain
 * and netprof simulate say; the last one from a file, as a simulation has
 * options of its own and may take long.
 *
 * It needs no network and loads nothing: it contains its style, its script and
 * its pictures, and a content security policy enforces that.  All names in it,
 * of applications, leaf switches or hosts, come from users; they are written by
 * cli_html() or put_html() alone, and never become markup.
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

#include "cli_diagnosis.h"
#include "cli_recommend.h"
#include "cli_matrix.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "cli_state.h"
#include "cli_text.h"
#include "cli_analysis.h"
#include "np_job_cost.h"
#include "np_picture.h"
#include "np_read.h"

#define MAX_COSTS 50 /* rows of a table of costs */
#define MAX_SIMULATION (64u << 20) /* output of netprof simulate, bytes */

/* One application, which has a section of its own. */
struct section {
	const struct cli_known_app *app; /* borrowed */
	struct np_profile profile;
	struct cli_pair_list slowed_by, slows;
	struct cli_recommendation recommendation;
};

struct report {
	char owner[CLI_NUMBER + 32]; /* whose profiles, in words */
	struct cli_known k;
	struct np_runs idle[2]; /* the user's and the published idle runs */
	struct section *section; /* sorted by name */
	size_t n;
	struct cli_matrix m; /* predictions; n 0: none, and no_matrix says why */
	struct np_err no_matrix;
	double date;  /* of the report, seconds since 1970 */
	double limit; /* MaxSlowdown of placement, a fraction */
	bool have_blame; /* acct and cost are valid */
	double since_sec; /* length of their period */
	struct np_acct acct;
	struct np_job_cost cost;
	bool have_job; /* job is valid */
	struct cli_diagnosis job;
	struct json_object *simulation; /* or NULL */
};

/* The options of the command. */
struct report_opt {
	struct cli_diagnosis_opt diagnosis; /* since_sec 0: not given */
	bool blame;
	const char *explain; /* a job, or NULL */
	const char *simulate; /* output of netprof simulate --json, or NULL */
};

/* ---- HTML ---- */

/* Escape a formatted text, of up to 2 KiB, and put it between markup. */
__attribute__((format(printf, 4, 5)))
static void put_html(FILE *f, const char *before, const char *after,
		     const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs(before, f);
	cli_html(f, text);
	fputs(after, f);
}

static const char style[] =
	":root{color-scheme:light dark;--back:#fff;--text:#1a1a1a;--dim:#595959;"
	"--line:#c8c8c8;--head:#f2f2f2;--much:#fbd5d0;--some:#fdf0c4;"
	"--link:#0b5fa5}\n"
	"@media (prefers-color-scheme:dark){:root{--back:#161616;--text:#e6e6e6;"
	"--dim:#a8a8a8;--line:#4a4a4a;--head:#262626;--much:#6d241c;--some:#574806;"
	"--link:#8cc2f2}}\n"
	"body{font:15px/1.45 system-ui,sans-serif;color:var(--text);"
	"background:var(--back);max-width:75rem;margin:0 auto;padding:1rem}\n"
	"a{color:var(--link)}h1{font-size:1.5rem;margin:.2rem 0}"
	"h2{font-size:1.2rem;margin:1.6rem 0 .4rem;border-bottom:1px solid "
	"var(--line)}p{margin:.4rem 0}.dim{color:var(--dim)}\n"
	".scroll{overflow:auto;max-height:85vh}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
	"th,td{border:1px solid var(--line);padding:.15rem .45rem;text-align:right;"
	"white-space:nowrap}th{background:var(--head);font-weight:600}"
	"thead th{position:sticky;top:0;z-index:1}"
	"tbody th,.word,thead th:first-child{text-align:left}"
	"tbody th{position:sticky;left:0}\n"
	"th button{font:inherit;color:inherit;background:none;border:0;padding:0;"
	"cursor:pointer}"
	"th button:focus-visible{outline:2px solid var(--link);outline-offset:2px}"
	"th[aria-sort=ascending] button::after{content:' \\25B2'}"
	"th[aria-sort=descending] button::after{content:' \\25BC'}\n"
	".much{background:var(--much)}.some{background:var(--some)}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;"
	"margin:.5rem 0}dt{color:var(--dim)}dd{margin:0}\n"
	"td small{display:block;color:var(--dim);font-size:.75em}"
	"td .dim{font-size:.85em}"
	"svg{max-width:100%;height:auto}pre{overflow:auto;font-size:.85rem}\n"
	"@media print{:root{--back:#fff;--text:#000;--dim:#444;--line:#999;"
	"--head:#eee;--much:#f3b8b0;--some:#fbe9a8;--link:#000}"
	"body{max-width:none;padding:0;font-size:10pt}section{break-inside:avoid}"
	".scroll{overflow:visible;max-height:none}thead th,tbody th{position:static}"
	"th button::after{content:none!important}a{text-decoration:none}"
	"*{print-color-adjust:exact}}\n";

/* A second click reverses the order; cells without a value stay at the end. */
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

/* ---- the section of one application ---- */

/* The next definition or use of an id in the picture, or its end. */
static const char *next_id(const char *svg)
{
	const char *id = strstr(svg, "id=\"c"), *use = strstr(svg, "url(#c");

	if (id && (!use || id < use))
		return id + strlen("id=\"");
	return use ? use + strlen("url(#") : svg + strlen(svg);
}

/*
 * Write an SVG file as an element of the page: without the XML name space,
 * which HTML does not need, and with ids that are unique in the page.
 */
static void put_inline(FILE *f, const char *svg, const char *label,
		       size_t number)
{
	const char *body = strstr(svg, " version=\"1.1\""), *name;

	if (!body)
		return;
	put_html(f, "<svg role=\"img\" aria-label=\"", "\"", "%s", label);
	for (; *body; body = name) {
		/* Copy up to the next id, then put a prefix before it. */
		name = next_id(body + 1);
		fwrite(body, 1, (size_t)(name - body), f);
		if (*name)
			fprintf(f, "a%zu-", number);
	}
}

/* A figure, which is released; nothing if it cannot be drawn. */
static void put_figure(FILE *f, struct np_figure *figure, const char *label,
		       size_t number)
{
	char *svg = NULL;
	size_t len;

	if (figure &&
	    !np_picture_make(figure, NP_PICTURE_SVG, &svg, &len, NULL))
		put_inline(f, svg, label, number);
	free(svg);
	np_figure_free(figure);
}

/* The sensitivity curve that netprof plot draws; nothing without data. */
static void put_curve(FILE *f, const struct report *r,
		      const struct section *section)
{
	struct np_figure *figure = np_figure_new("");
	char missing[256], label[NAME_MAX + 64];

	if (figure && cli_plot_add(figure, CLI_PLOT_CURVE, &section->profile,
				   &section->app->summary,
				   r->k.calibrated ? r->k.cal.fabric : NULL,
				   missing, sizeof(missing))) {
		np_figure_free(figure);
		return;
	}
	snprintf(label, sizeof(label), "Slowdown of %s under synthetic load",
		 section->profile.runs->app);
	put_figure(f, figure, label, (size_t)(section - r->section));
}

/* A label and its text, escaped; nothing if the text is empty. */
__attribute__((format(printf, 3, 4)))
static void put_labelled(FILE *f, const char *label, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!*text)
		return;
	fprintf(f, "<dt>%s</dt>", label);
	put_html(f, "<dd>", "</dd>\n", "%s", text);
}

/* The verdict in words; the first sentence is emphasised. */
static void put_app_verdict(FILE *f, const struct np_profile *p)
{
	char sentence[CLI_SENTENCE];

	for (int i = 0; i < CLI_SENTENCES; i++)
		if (*cli_verdict_text(p, i, sentence))
			put_html(f, i ? "<p>" : "<p><strong>", i ?
				 "</p>\n" : "</strong></p>\n", "%s", sentence);
}

/* Which applications to keep away, and the most useful measurement. */
static void put_recommendation(FILE *f,
			       const struct cli_recommendation *recommendation)
{
	char avoid[512], measure[600];

	cli_avoid_text(recommendation, avoid, sizeof(avoid));
	cli_measure_text(recommendation, measure, sizeof(measure));
	put_labelled(f, "Advice", "%s%s%s", avoid,
		     *avoid && *measure ? " " : "", measure);
}

/* A list of interference pairs, with their intervals in percent. */
static void put_pairs(FILE *f, const char *label,
		      const struct cli_pair_list *list, const char *self)
{
	char line[1024] = "", change[CLI_NUMBER];

	for (size_t i = 0; i < list->n; i++) {
		const struct cli_pair *pair = &list->pair[i];
		bool itself = !strcmp(pair->app, self);

		cli_add(line, sizeof(line), "%s%s%s%s %s%s", i ? ", " : "",
			itself ? "a second " : "", pair->app,
			itself ? " job" : "",
			cli_change(pair->p.slowdown, change),
			cli_doubt_text(&pair->p) ? "?" : "");
		if (!isnan(pair->p.low))
			cli_add(line, sizeof(line), " (%.0f to %.0f)",
				cli_whole_percent(pair->p.low),
				cli_whole_percent(pair->p.high));
	}
	put_labelled(f, label, "%s", line);
}

/* How many runs count, and why others do not. */
static void put_runs(FILE *f, const struct section *section)
{
	const struct np_run_summary *summary = &section->profile.summary;
	const struct cli_runs *r = &section->app->r;
	char owner[CLI_NUMBER + 16], day[CLI_NUMBER], excluded[256];

	put_labelled(f, "Runs", "%zu of %zu used, %s%s%s%s",
		     summary->latency.n_runs, r->runs.n,
		     r->owner == NP_STORE_USER ? "of " : "",
		     cli_owner_name(r->owner, r->uid, owner, sizeof(owner)),
		     r->runs.n ? ", the last " : "",
		     r->runs.n ? cli_day(r->runs.run[0]->end, day) : "");
	cli_excluded_text(summary, excluded, sizeof(excluded));
	put_labelled(f, "Excluded", "%s", excluded);
}

/* One line for a sample of latencies; nothing if there is none. */
static void put_latency(FILE *f, const char *label, const struct np_sample *s)
{
	char p50[CLI_NUMBER], p99[CLI_NUMBER], mean[CLI_NUMBER];

	if (s->n_runs && s->hist)
		put_labelled(f, label, "p50 %s, p99 %s, mean %s, %llu probes",
			     cli_sec(np_sample_quantile(s, 0.5), p50),
			     cli_sec(np_sample_quantile(s, 0.99), p99),
			     cli_sec(s->moments.mean, mean),
			     (unsigned long long)s->moments.n);
}

/* Cluster, transport and the first leaf switches of the newest run. */
static void put_fabric(FILE *f, const struct np_record *r)
{
	char leaves[1024] = "";

	for (size_t i = 0; i < r->n_leaves && i < 4; i++)
		cli_add(leaves, sizeof(leaves), ", leaf %s",
			*r->leaves[i].name ? r->leaves[i].name :
			"without a name");
	put_labelled(f, "Fabric", "cluster %s, %s%s", r->cluster ? r->cluster :
		     "unknown", r->probe.transport ? r->probe.transport :
		     "transport unknown", leaves);
}

/* The section of one application, with an anchor that the list links to. */
static void put_app(FILE *f, const struct report *r, size_t number)
{
	const struct section *section = &r->section[number];
	const struct np_profile *p = &section->profile;
	const char *app = p->runs->app;

	fprintf(f, "<section><h2 id=\"a%zu\"", number);
	put_html(f, ">", "</h2>\n", "%s", app);
	put_app_verdict(f, p);
	fputs("<dl>\n", f);
	put_recommendation(f, &section->recommendation);
	put_pairs(f, "Slowed by", &section->slowed_by, app);
	put_pairs(f, "Slows", &section->slows, app);
	put_runs(f, section);
	if (p->summary.fabric)
		put_fabric(f, p->summary.fabric);
	put_latency(f, "Latency", &p->summary.latency);
	put_latency(f, "Idle", &p->idle);
	fputs("</dl>\n", f);
	put_curve(f, r, section);
	fputs("</section>\n", f);
}

/* ---- the page ---- */

/*
 * A table cell with a predicted slowdown, which also sorts it, and the 90 %
 * interval.  Cells above limit and above half of it are highlighted.
 */
static void put_prediction(FILE *f, const struct np_prediction *p, double limit)
{
	double v = p->slowdown;
	char text[CLI_NUMBER];

	fprintf(f, "<td data-v=\"%.6g\"%s", v,
		v > limit     ? " class=\"much\"" :
		v > limit / 2 ? " class=\"some\"" :
				"");
	put_html(f, " title=\"", "\">", "%s%s", p->model->name,
		 cli_doubt_text(p) ? ", uncertain" : "");
	fprintf(f, "%s%s", cli_change(v, text), cli_doubt_text(p) ? "?" : "");
	if (!isnan(p->low))
		fprintf(f, "<small>%.0f to %.0f</small>",
			cli_whole_percent(p->low), cli_whole_percent(p->high));
	fputs("</td>", f);
}

/* A cell without a value, which sorts last and says why it has none. */
static void put_empty(FILE *f, const char *why)
{
	put_html(f, "<td data-v=\"\"><span class=\"dim\">", "</span></td>",
		 "%s", why);
}

/* The head of the matrix; its buttons sort. */
static void put_matrix_head(FILE *f, const struct cli_matrix *m)
{
	fputs("<thead><tr><th scope=\"col\" aria-sort=\"ascending\"><button>"
	      "with</button></th>", f);
	for (size_t c = 0; c < m->n; c++)
		put_html(f, "<th scope=\"col\" data-sort=\"number\">"
			 "<button>", "</button></th>", "%s",
			 cli_matrix_name(m, c));
	fputs("</tr></thead>\n", f);
}

/* What the table shows, and whether sharing a leaf matters at all. */
static void put_matrix_intro(FILE *f, const struct report *r)
{
	const struct cli_matrix *m = &r->m;
	char day[CLI_NUMBER], line[512];

	put_html(f, "<p>", "", "How much longer the application of each "
		 "row runs while that of each column runs %s (model %s; fabric "
		 "%s, calibrated %s).",
		 cli_scope_text(m->scope), m->model->name,
		 m->k->cal.cluster, cli_day(m->k->cal.date, day));
	fprintf(f,
		"  Dark cells are above %.0f %%, light ones above half of "
		"that.  Below each prediction is its 90 %% interval, in "
		"percent.  Click on the head of a column to sort by it.</p>\n",
		100 * r->limit);
	if (cli_no_effect(m->k, m->scope))
		put_html(f, "<p><strong>", "</strong></p>\n", "%s",
			 cli_no_effect_text(m->k, m->scope, line,
					   sizeof(line)));
}

/* The predictions of all pairs, or why there are none. */
static void put_matrix(FILE *f, const struct report *r)
{
	const struct cli_matrix *m = &r->m;

	fputs("<section><h2 id=\"pairs\">Pairs</h2>\n", f);
	if (!m->n) {
		put_html(f, "<p>", "</p></section>\n", "%s",
			 r->no_matrix.text);
		return;
	}
	put_matrix_intro(f, r);
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	      "aria-labelledby=\"pairs\"><table id=\"matrix\">\n", f);
	put_matrix_head(f, m);
	fputs("<tbody>\n", f);
	for (size_t v = 0; v < m->n; v++) {
		put_html(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 cli_matrix_name(m, v));
		for (size_t c = 0; c < m->n; c++)
			if (m->rc[v * m->n + c])
				put_empty(f,
					  cli_matrix_why(m->rc[v * m->n + c]));
			else
				put_prediction(f, &m->p[v * m->n + c],
					       r->limit);
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table></div></section>\n", f);
}

/* The browser loads nothing from elsewhere, whatever a name contains. */
#define POLICY "default-src 'none'; style-src 'unsafe-inline'; " \
	"script-src 'unsafe-inline'"

/* The cluster of the profiles; "" if no run names one. */
static const char *cluster_of(const struct report *r)
{
	if (r->k.calibrated)
		return r->k.cal.cluster;
	for (size_t i = 0; i < r->n; i++) {
		const struct np_record *run =
			r->section[i].profile.summary.fabric;

		if (run && run->cluster)
			return run->cluster;
	}
	return "";
}

/* "netprof report: cluster hpc, applications of alice". */
static void put_title(FILE *f, const struct report *r)
{
	const char *cluster = cluster_of(r);

	put_html(f, "netprof report: ", "", "%s%s%s",
		 *cluster ? "cluster " : "", cluster, *cluster ? ", " : "");
	put_html(f, "", "", "%s", r->owner);
}

/* The head of the page, with its style. */
static void put_head(FILE *f, const struct report *r)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "\n<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY
	      "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
	      "<title>",
	      f);
	put_title(f, r);
	fputs("</title>\n<style>\n", f);
	fputs(style, f);
	fputs("</style></head><body>\n", f);
}

/* The application with the largest predicted slowdown; NULL: none is known. */
static const struct section *most_slowed(const struct report *r)
{
	const struct section *worst = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct section *section = &r->section[i];

		if (section->slowed_by.n &&
		    (!worst || section->slowed_by.pair->p.slowdown >
				       worst->slowed_by.pair->p.slowdown))
			worst = section;
	}
	return worst;
}

/* The first lines: how many applications are slowed, and the worst pair. */
static void put_summary(FILE *f, const struct report *r)
{
	const struct section *worst = most_slowed(r);
	char change[CLI_NUMBER], date[CLI_NUMBER] = "";
	size_t n_slowed = 0;
	time_t t = (time_t)r->date;
	struct tm tm;

	for (size_t i = 0; i < r->n; i++)
		n_slowed += r->section[i].recommendation.n_avoid > 0;
	fputs("<h1>", f);
	put_title(f, r);
	fputs("</h1>\n<p><strong>", f);
	if (worst)
		put_html(f, "", "",
			 "%zu of %zu applications would be slowed "
			 "by more than %.0f %% by another; worst: %s by "
			 "%s, %s.",
			 n_slowed, r->n, 100 * r->limit,
			 worst->profile.runs->app,
			 worst->slowed_by.pair->app,
			 cli_change(worst->slowed_by.pair->p.slowdown, change));
	else
		put_html(f, "", "", "%zu application%s; how they slow each "
			 "other is not known.", r->n, cli_s(r->n));
	if (localtime_r(&t, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M %z", &tm);
	fprintf(f,
		"</strong></p>\n<p class=\"dim\">netprof %s, %s.  The words "
		"are explained at the <a href=\"#terms\">end</a>.</p>\n",
		NP_VERSION, date);
}

/* Why the share of delayed probes is not known. */
static const char *why_no_share(const struct np_profile *p)
{
	if (!p->summary.latency.n_runs)
		return "no probes";
	return p->verdict.doubt == NP_DOUBT_PROBES ? "too few probes" :
						     "no idle baseline";
}

/* Why no slowdown of the application is predicted. */
static const char *why_not_predicted(const struct report *r,
				     const struct section *section)
{
	const struct np_record *run = section->profile.summary.fabric;

	if (!r->k.calibrated)
		return "no calibration";
	if (section->app->summary.n_curve)
		return "not predicted";
	if (run && run->cluster && strcmp(run->cluster, r->k.cal.cluster))
		return "other cluster";
	return "not run under load";
}

/* One line of the list of applications. */
static void put_list_row(FILE *f, const struct report *r, size_t number)
{
	const struct section *section = &r->section[number];
	const struct np_profile *p = &section->profile;
	const struct cli_pair *by =
		section->slowed_by.n ? section->slowed_by.pair : NULL;

	fprintf(f, "<tr><th scope=\"row\"><a href=\"#a%zu\"", number);
	put_html(f, ">", "</a></th>", "%s", p->runs->app);
	fprintf(f, "<td class=\"word\">%s</td><td data-v=\"%zu\">%zu"
		"</td>", cli_use_name(p), p->runs->n, p->runs->n);
	if (p->verdict.against) {
		char share[CLI_NUMBER];

		fprintf(f, "<td data-v=\"%.6g\">%s</td>",
			p->verdict.delayed_share,
			cli_percent(p->verdict.delayed_share, share));
	} else {
		put_empty(f, why_no_share(p));
	}
	if (by) {
		put_prediction(f, &by->p, r->limit);
		put_html(f, "<td class=\"word\">", "</td></tr>\n", "%s",
			 by->app);
	} else {
		put_empty(f, why_not_predicted(r, section));
		fputs("<td class=\"word dim\">unknown</td></tr>\n", f);
	}
}

struct column {
	const char *name; /* NULL: the last one */
	bool number;
	const char *sorted; /* "ascending" or "descending"; NULL: neither */
};

#define END_TABLE "</tbody></table></div>\n"

/* The head of a table, with buttons that sort; id: of its title. */
static void begin_table(FILE *f, const char *id, const struct column *c)
{
	fprintf(f, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		"aria-labelledby=\"%s\"><table><thead><tr>", id);
	for (; c->name; c++) {
		fprintf(f, "<th scope=\"col\" class=\"%s\"%s", c->number ? "" :
			"word", c->number ? " data-sort=\"number\"" : "");
		if (c->sorted)
			fprintf(f, " aria-sort=\"%s\"", c->sorted);
		fprintf(f, "><button>%s</button></th>", c->name);
	}
	fputs("</tr></thead><tbody>\n", f);
}

/* The list of applications; every column can be sorted. */
static void put_list(FILE *f, const struct report *r)
{
	static const struct column columns[] = {
		{ "Application", false, "ascending" }, { "Use", false, NULL },
		{ "Runs", true, NULL }, { "Delayed probes", true, NULL },
		{ "Worst slowdown", true, NULL }, { "By", false, NULL },
		{ NULL, false, NULL },
	};

	fputs("<section><h2 id=\"list\">Applications</h2>\n", f);
	begin_table(f, "list", columns);
	for (size_t i = 0; i < r->n; i++)
		put_list_row(f, r, i);
	fputs(END_TABLE "</section>\n", f);
}

/* ---- the sections from the accounting ---- */

/* A cell with a number, and its interval unless that is NULL. */
static void put_number(FILE *f, double v, int digits,
		       const struct np_blame_range *interval, double scale)
{
	fprintf(f, "<td data-v=\"%.6g\">%.*f", v, digits, v);
	if (interval)
		fprintf(f, " (%.1f to %.1f)",
			round(10 * scale * interval->low) / 10 + 0.0,
			round(10 * scale * interval->high) / 10 + 0.0);
	fputs("</td>", f);
}

/* Pairs of applications, the most costly first. */
static void put_cost_pairs(FILE *f, const struct np_acct *acct,
			   const struct np_job_cost *cost)
{
	static const struct column columns[] = {
		{ "Slowed", false, NULL }, { "By", false, NULL },
		{ "Runs", true, NULL },
		{ "Node-hours (90 %)", true, "descending" },
		{ NULL, false, NULL },
	};
	char text[400];

	if (!cost->n_pairs)
		return;
	begin_table(f, "blame", columns);
	for (size_t i = 0; i < cost->n_pairs && i < MAX_COSTS; i++) {
		const struct np_job_cost_pair *p = &cost->pair[i];

		put_html(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 cli_blame_app(acct, p->user, p->name, text,
				       sizeof(text)));
		put_html(f, "<td class=\"word\">", "</td>", "%s",
			 cli_blame_app(acct, p->by_user, p->by_name, text,
				       sizeof(text)));
		put_number(f, p->runs, 0, NULL, 1);
		put_number(f, p->node_hours.mean, 1, &p->node_hours, 1);
		fputs("</tr>\n", f);
	}
	fputs(END_TABLE, f);
}

/*
 * Leaf switches, the most costly first.  Not shown without a topology, as there
 * is only one leaf switch then.
 */
static void put_cost_leaves(FILE *f, const struct np_acct *acct,
			    const struct np_job_cost *cost)
{
	static const struct column columns[] = {
		{ "Leaf switch", false, NULL },
		{ "Node-hours", true, "descending" }, { NULL, false, NULL },
	};
	char text[256];

	if (!cost->n_leaves || acct->one_leaf)
		return;
	begin_table(f, "blame", columns);
	for (size_t i = 0; i < cost->n_leaves && i < MAX_COSTS; i++) {
		put_html(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 np_acct_leaf(acct, cost->leaf[i].leaf, text,
				      sizeof(text)));
		put_number(f, cost->leaf[i].node_hours, 1, NULL, 1);
		fputs("</tr>\n", f);
	}
	fputs(END_TABLE, f);
}

/* Nodes on which the same jobs take longer than elsewhere. */
static void put_cost_nodes(FILE *f, const struct np_acct *acct,
			   const struct np_job_cost *cost)
{
	static const struct column columns[] = {
		{ "Node", false, NULL }, { "Runs", true, NULL },
		{ "Slower by % (95 %)", true, NULL },
		{ "Node-hours", true, "descending" }, { NULL, false, NULL },
	};
	char text[256];

	if (!cost->n_nodes)
		return;
	begin_table(f, "blame", columns);
	for (size_t i = 0; i < cost->n_nodes && i < MAX_COSTS; i++) {
		const struct np_job_cost_node *n = &cost->node[i];

		put_html(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 np_acct_node(acct, n->node, text, sizeof(text)));
		put_number(f, n->runs, 0, NULL, 1);
		put_number(f, 100 * n->slower.mean, 1, &n->slower, 100);
		put_number(f, n->node_hours, 1, NULL, 1);
		fputs("</tr>\n", f);
	}
	fputs(END_TABLE, f);
}

/* What netprof blame prints. */
static void put_blame(FILE *f, const struct report *r)
{
	const struct np_job_cost *cost = &r->cost;
	char text[128];

	if (!r->have_blame)
		return;
	fputs("<section><h2 id=\"blame\">Node-hours lost to neighbours</h2>\n",
	      f);
	put_html(f, "<p><strong>", "</strong></p>\n", "%s",
		 cli_blame_verdict(cost, text, sizeof(text)));
	put_html(f, "<p>", "</p>\n",
		 "From Slurm's accounting of %.3g days, of "
		 "measured and other jobs: %zu of %zu jobs are compared with "
		 "runs of the same work.  Each table has at most %d rows.%s",
		 r->since_sec / 86400, cost->n_used, cost->n_jobs, MAX_COSTS,
		 r->acct.one_leaf ? "  Slurm has no topology, so "
				    "all nodes count as one leaf switch." :
				    "");
	put_cost_pairs(f, &r->acct, cost);
	put_cost_leaves(f, &r->acct, cost);
	put_cost_nodes(f, &r->acct, cost);
	fputs("</section>\n", f);
}

/* The text that netprof explain prints; NULL: out of memory. */
static char *job_text(const struct cli_diagnosis *job)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	cli_diagnosis_text(f, job);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* What netprof explain prints about a job, and its figure. */
static void put_job(FILE *f, const struct report *r, const char *job)
{
	char *text = r->have_job ? job_text(&r->job) : NULL, *rest = text;

	if (!text)
		return;
	put_html(f, "<section><h2 id=\"job\">", "</h2>\n<pre>", "Job %s", job);
	for (char *line; (line = strsep(&rest, "\n")) && (*line || rest);) {
		cli_html(f, line); /* which escapes line feeds, too */
		putc('\n', f);
	}
	fputs("</pre>\n", f);
	put_figure(f, cli_diagnosis_figure(&r->job),
		   "The job and its neighbours", r->n);
	fputs("</section>\n", f);
	free(text);
}

/* The terms of the page, for readers who do not know netprof. */
static void put_terms(FILE *f, const struct report *r)
{
	static const char *const terms[][2] = {
		{ "Slowdown",
		  "how much longer the application runs because "
		  "of a concurrent job, in percent of its run time alone" },
		{ "Interval",
		  "the two numbers below or after a prediction; the "
		  "slowdown is between them with a probability of 90 %. A "
		  "question mark: the interval is too wide for a decision" },
		{ "Probe", "a small message that netprof sends between nodes "
			   "of a job while it runs, to time it" },
		{ "Delayed probes",
		  "the share that took longer than nearly "
		  "all probes of the idle network; it tells how busy the "
		  "application keeps the network" },
		{ "Use", "how much of the network the application uses: "
			 "light, moderate, heavy or saturated; unknown without "
			 "probes or without an idle baseline" },
		{ "Idle baseline", "latencies of the same network while no "
				   "job used it" },
		{ "p50, p99", "half, or 99 %, of the probes took less" },
		{ "Load level",
		  "a synthetic load, c0, c1, ..., that netprof "
		  "runs on the same leaf switch as the application, to see "
		  "how it slows down" },
		{ "Estimated utilisation",
		  "how full a load or a program "
		  "keeps the leaf switch, from 0 (idle) to 1 (full)" },
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
		     "%.0f %%, the slowdown above which placement "
		     "keeps jobs apart (MaxSlowdown)",
		     100 * r->limit);
	fputs("</dl></section>\n", f);
}

/* ---- the section on a simulation ---- */

/* A member as text; "" if it is missing. */
static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v = json_object_object_get(o, key);

	return json_object_is_type(v, json_type_string) ?
		json_object_get_string(v) : "";
}

/* A member as a number; not finite if it is missing or unknown. */
static double number_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v) || !v)
		return NAN;
	return json_object_get_double(v);
}

/* A cell with v * scale, and its interval unless that is NULL. */
static void put_scaled(FILE *f, double v, double scale, int digits,
		       const struct np_blame_range *interval)
{
	const double step = pow(10, -digits);

	if (!isfinite(v))
		fputs("<td data-v=\"\">-</td>", f);
	else /* rounded here, as -0.3 would be printed as "-0" */
		put_number(f, step * round(scale * v / step) + 0.0, digits,
			   interval && isfinite(interval->low) ? interval :
								 NULL,
			   scale);
}

/* A change relative to the first policy, in percent, with its interval. */
static void put_relative_change(FILE *f, struct json_object *policy,
				const char *key)
{
	struct json_object *o = NULL, *v = NULL;
	struct np_blame_range range = { NAN, NAN, NAN };

	if (json_object_object_get_ex(policy, "against_first", &o) &&
	    json_object_object_get_ex(o, key, &v))
		range = (struct np_blame_range){ number_of(v, "value"),
						 number_of(v, "low"),
						 number_of(v, "high") };
	put_scaled(f, range.mean, 100, 1, &range);
}

/* The policies, one in each row. */
static void put_policies(FILE *f, struct json_object *list)
{
	static const struct column columns[] = {
		{ "Policy", false, NULL }, { "Wait, mean (h)", true, NULL },
		{ "Wait, 95th percentile (h)", true, NULL },
		{ "Utilisation %", true, NULL },
		{ "Node-hours used", true, NULL },
		{ "Node-hours lost", true, NULL },
		{ "Jobs held", true, NULL }, { "Held over 10 min", true, NULL },
		{ "Node-hours saved % (95 %)", true, NULL },
		{ "Waits lengthened % (95 %)", true, NULL },
		{ NULL, false, NULL },
	};
	static const struct {
		const char *key;
		double scale;
		int digits;
	} cell[] = {
		{ "wait_mean_sec", 1 / 3600.0, 2 },
		{ "wait_p95_sec", 1 / 3600.0, 2 }, { "utilisation", 100, 1 },
		{ "used_node_sec", 1 / 3600.0, 0 },
		{ "lost_node_sec", 1 / 3600.0, 0 }, { "jobs_held", 1, 0 },
		{ "jobs_held_long", 1, 0 },
	};

	begin_table(f, "simulate", columns);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *p = json_object_array_get_idx(list, i);

		put_html(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 text_of(p, "policy"));
		for (size_t k = 0; k < NP_ARRAY_SIZE(cell); k++)
			put_scaled(f, number_of(p, cell[k].key),
				   cell[k].scale, cell[k].digits, NULL);
		put_relative_change(f, p, "saved_share");
		put_relative_change(f, p, "wait_change_share");
		fputs("</tr>\n", f);
	}
	fputs(END_TABLE, f);
}

/* The effect on users, sizes of jobs and partitions, as the file has them. */
static void put_groups(FILE *f, struct json_object *list)
{
	static const struct column columns[] = {
		{ "Effect by", false, NULL }, { "", false, NULL },
		{ "Jobs", true, NULL }, { "Change of mean wait (s)", true, NULL },
		{ "Node-hours saved", true, NULL }, { NULL, false, NULL },
	};
	size_t n = json_object_array_length(list);

	if (!n)
		return;
	begin_table(f, "simulate", columns);
	for (size_t i = 0; i < n && i < MAX_COSTS; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		put_html(f, "<tr><th scope=\"row\">", "</th>", "%s",
			 text_of(o, "by"));
		put_html(f, "<td class=\"word\">", "</td>", "%s",
			 text_of(o, "who"));
		put_scaled(f, number_of(o, "jobs"), 1, 0, NULL);
		put_scaled(f, number_of(o, "wait_change_sec"), 1, 0, NULL);
		put_scaled(f, number_of(o, "saved_node_sec"), 1 / 3600.0,
			   1, NULL);
		fputs("</tr>\n", f);
	}
	fputs(END_TABLE, f);
}

/* What netprof simulate found. */
static void put_simulation(FILE *f, struct json_object *j)
{
	if (!j)
		return;
	fputs("<section><h2 id=\"simulate\">Placement on a recorded "
	      "queue</h2>\n", f);
	put_html(f, "<p><strong>", "</strong></p>\n", "%s",
		 text_of(j, "verdict"));
	put_html(f, "<p>", "</p>\n", "Simulated, not measured: %.0f jobs from "
		 "%s, of which %.0f have a profile, on %.0f nodes with %.0f "
		 "leaf switches.  Predictions: %s.  The other policies are "
		 "compared with the first; the lower table compares the last "
		 "one.%s", number_of(j, "jobs"), text_of(j, "source"),
		 number_of(j, "jobs_with_profile"), number_of(j, "nodes"),
		 number_of(j, "leaves"), text_of(j, "predictions"),
		 json_object_get_boolean(json_object_object_get(j, "stopped")) ?
		 "  The simulation was stopped before its end." : "");
	put_policies(f, json_object_object_get(j, "policies"));
	put_groups(f, json_object_object_get(j, "groups"));
	fputs("</section>\n", f);
}

/* The whole page; the caller frees it.  NULL: out of memory. */
static char *make_report(const struct report *r, const struct report_opt *opt)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool bad;

	if (!f)
		return NULL;
	cli_text_for_file();
	put_head(f, r);
	put_summary(f, r);
	put_list(f, r);
	put_matrix(f, r);
	put_blame(f, r);
	put_job(f, r, opt->explain);
	put_simulation(f, r->simulation);
	for (size_t i = 0; i < r->n; i++)
		put_app(f, r, i);
	put_terms(f, r);
	fputs("<script>\n", f);
	fputs(script, f);
	fputs("</script></body></html>\n", f);
	bad = ferror(f);
	if (!fclose(f) && !bad)
		return text;
	free(text);
	return NULL;
}

/* ---- the command ---- */

static int by_name(const void *a, const void *b)
{
	const struct section *x = a, *y = b;

	return strcmp(x->app->r.runs.app, y->app->r.runs.app);
}

/*
 * Load what predictions need.  Without a calibration the page says so and shows
 * the rest.  Returns -1 to go on, or the exit status.
 */
static int load_calibration(struct report *r, struct cli_store *s,
			    const struct cli_options *o)
{
	int rc = cli_known_load_calibration(&r->k, s, r->k.n, !o->n_apps);

	r->limit = s->max_slowdown;
	if (rc == -ENOENT)
		np_errf(&r->no_matrix, rc, "%.400s; an administrator measures "
			"it with: %s", r->k.why.text, CLI_CALIBRATE);
	else if (rc)
		return cli_fail("%s", r->k.why.text);
	else if (cli_known_attach_traces(&r->k, s, o->model))
		return cli_fail("out of memory");
	else
		np_errf(&r->no_matrix, 0, "No application has been measured on "
			"cluster %s yet.", r->k.cal.cluster);
	for (int i = 0; i < 2; i++) /* having none is no error */
		np_store_load(s->store, i ? NP_STORE_PUBLISHED : NP_STORE_USER,
			      o->uid, NP_IDLE_APP, NULL, NULL, &r->idle[i],
			      NULL);
	return -1;
}

/* Make the profile of one application; its own owner's idle runs come first. */
static int make_section(struct report *r, struct section *section)
{
	bool published = section->app->r.owner == NP_STORE_PUBLISHED;
	const struct np_runs *const idle[] = {
		&r->idle[published], &r->idle[!published],
	};

	return np_profile_make(&section->app->r.runs, idle, 2, r->date,
			       &section->profile);
}

/* Make the sections of all applications, sorted by name. */
static int make_sections(struct report *r)
{
	r->section = calloc(r->k.n + 1, sizeof(*r->section));
	if (!r->section)
		return -ENOMEM;
	for (size_t i = 0; i < r->k.n; i++)
		r->section[i].app = r->k.app[i];
	qsort(r->section, r->k.n, sizeof(*r->section), by_name);
	for (; r->n < r->k.n; r->n++)
		if (make_section(r, &r->section[r->n]))
			return -ENOMEM;
	return 0;
}

/*
 * Add the prediction of victim v with co-runner c to a list; other: the one of
 * the two that the list names.
 */
static void add_pair(const struct cli_matrix *m, size_t v, size_t c,
		      size_t other, struct cli_pair_list *list)
{
	struct cli_pair pair = {
		.app = cli_matrix_name(m, other),
		.victim = m->at[v], .co = m->at[c], .p = m->p[v * m->n + c],
	};

	if (!m->rc[v * m->n + c])
		cli_pair_insert(list, &pair);
}

/* Find the application's worst pairs in the matrix. */
static void add_pairs(struct report *r, struct section *section)
{
	const struct cli_matrix *m = &r->m;

	for (size_t v = 0; v < m->n; v++) {
		/* Only the row of this application. */
		if (m->k->app[m->at[v]] != section->app)
			continue;
		for (size_t c = 0; c < m->n; c++) {
			add_pair(m, v, c, c, &section->slowed_by);
			if (c != v)
				add_pair(m, c, v, c, &section->slows);
		}
	}
}

/*
 * The matrix does not say what would narrow the interval of a prediction, so
 * the worst pair is predicted once more, with that.
 */
static void recommend(struct report *r, struct section *section,
		      struct np_predictor *models)
{
	struct cli_prediction a = { .scope = r->m.scope, .n_co = 1 };
	struct cli_pair *worst = section->slowed_by.pair;

	if (section->slowed_by.n && models) {
		a.victim = worst->victim;
		a.co[0] = worst->co;
		cli_predict(models, &r->k, &a);
		if (!a.rc)
			worst->p = a.p;
	}
	cli_recommend(&section->profile, &r->k, r->m.scope, &section->slowed_by,
		      r->limit, &section->recommendation);
}

/*
 * Predict all pairs and distribute them to the sections. Without a calibration
 * there is nothing to predict, but advice all the same.
 */
static int predict(struct report *r, const struct cli_options *o)
{
	struct np_predictor *models = NULL;
	int rc = -1;

	r->m.scope = o->scope;
	if (r->k.calibrated)
		rc = cli_matrix_make(&r->k, o, &r->m);
	if (rc >= 0)
		return rc;
	if (r->m.n)
		cli_known_predictor(&r->k, o->model, true, &models, NULL);
	for (size_t i = 0; i < r->n; i++) {
		add_pairs(r, &r->section[i]);
		recommend(r, &r->section[i], models);
	}
	np_predictor_free(models);
	return rc;
}

/* output: a file, or a directory, which gets an index.html. */
static int write_report(const struct report *r, const struct report_opt *opt,
			const char *output)
{
	struct np_err err = NP_ERR_INIT;
	char path[PATH_MAX], *text;
	struct stat st;
	int rc = snprintf(path, sizeof(path), "%s%s", output,
			  !stat(output, &st) && S_ISDIR(st.st_mode) ?
			  "/index.html" : "");

	if (rc >= (int)sizeof(path))
		return cli_fail("%.64s...: path too long", output);
	text = make_report(r, opt);
	if (!text)
		return cli_fail("out of memory");
	rc = cli_write_file(path, text, 0, &err);
	free(text);
	if (rc)
		return cli_fail("%s", err.text);
	printf("wrote %s: %zu application%s, %zu pair%s\n", path, r->n,
	       cli_s(r->n), r->m.n * r->m.n,
	       cli_s(r->m.n));
	return CLI_DONE;
}

/*
 * What netprof blame computes, if --blame is given.  Returns -1 to go on, or
 * the exit status.
 */
static int load_blame(struct report *r, const struct report_opt *opt)
{
	struct cli_diagnosis_opt source = opt->diagnosis;
	struct np_err err = NP_ERR_INIT;

	if (!opt->blame)
		return -1;
	if (!source.since_sec)
		source.since_sec = CLI_BLAME_SINCE;
	r->since_sec = source.since_sec;
	if (cli_accounting_load(&r->acct, &source, r->date, &err))
		return cli_fail("%s", err.text);
	if (np_job_cost_make(&r->acct, &r->cost))
		return cli_fail("out of memory");
	r->have_blame = true;
	return -1;
}

/*
 * What netprof explain says about the job of --explain. Returns -1 to go on, or
 * the exit status.
 */
static int load_job(struct report *r, const struct report_opt *opt,
		    const struct np_metrics_conf *conf, uint32_t id,
		    uint32_t task)
{
	struct cli_diagnosis_opt source = opt->diagnosis;

	if (!opt->explain)
		return -1;
	if (!source.since_sec)
		source.since_sec = CLI_DIAGNOSIS_SINCE;
	if (cli_diagnosis_make(&r->job, &source, conf, id, task, r->date))
		return cli_fail("out of memory");
	r->have_job = r->job.job;
	if (r->have_job)
		return -1;
	if (r->job.why.text[0])
		return cli_fail("%s", r->job.why.text);
	return cli_fail(
		"job %.64s is not in %s, or never started", opt->explain,
		source.accounting ? source.accounting : "Slurm's accounting");
}

/* Both sections from the accounting. */
static int load_accounting(struct report *r, const struct cli_cmd *self,
			   const struct report_opt *opt)
{
	const struct cli_diagnosis_opt *h = &opt->diagnosis;
	struct np_metrics_conf conf;
	uint32_t id = 0, task = 0;
	int rc = -1;

	if (!opt->blame && !opt->explain && (h->accounting || h->since_sec ||
					     h->metrics_url))
		return cli_usage(self, "--since, --accounting and "
				 "--metrics-url need --blame or --explain=JOB");
	if (opt->explain)
		rc = cli_job_parse(self, opt->explain, &id, &task);
	if (rc < 0)
		rc = cli_diagnosis_conf(self, h, &conf);
	if (rc < 0)
		rc = load_blame(r, opt);
	return rc < 0 ? load_job(r, opt, &conf, id, task) : rc;
}

/* Is this member a list? */
static bool has_list(struct json_object *j, const char *key)
{
	struct json_object *list = NULL;

	return json_object_object_get_ex(j, key, &list) &&
	       json_object_is_type(list, json_type_array);
}

/* Read what netprof simulate printed. Returns -1 to go on, or the exit status. */
static int load_simulation(struct report *r, const char *path)
{
	struct np_err err = NP_ERR_INIT;
	size_t len;
	char *text;

	if (!path)
		return -1;
	if (np_read_file(path, MAX_SIMULATION, &text, &len, &err))
		return cli_fail("%s", err.text);
	r->simulation = json_tokener_parse(text);
	free(text);
	if (strcmp(text_of(r->simulation, "command"), "simulate") ||
	    !has_list(r->simulation, "policies") ||
	    !has_list(r->simulation, "groups"))
		return cli_fail("%s: expected the output of \"netprof simulate "
				"--json\"", path);
	return -1;
}

static void release(struct report *r)
{
	json_object_put(r->simulation);
	if (r->have_blame)
		np_job_cost_free(&r->cost);
	np_acct_free(&r->acct);
	cli_diagnosis_free(&r->job);
	for (size_t i = 0; i < r->n; i++)
		np_profile_free(&r->section[i].profile);
	free(r->section);
	cli_matrix_free(&r->m);
	np_runs_free(&r->idle[0]);
	np_runs_free(&r->idle[1]);
	cli_known_free(&r->k);
}

static void set_owner(struct report *r, const struct cli_options *o)
{
	char user[CLI_NUMBER];

	if (o->published)
		strcpy(r->owner, "published applications");
	else
		snprintf(r->owner, sizeof(r->owner), "applications of %s",
			 cli_user(o->uid, user));
}

/*
 * The page is made in memory and written at once, so that an error leaves the
 * old page.
 */
static int run_report(const struct cli_cmd *self, int argc, char **argv)
{
	struct report r = { .date = cli_now() };
	struct report_opt opt = { .blame = false };
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, &opt, &o);

	if (rc < 0 && !o.output)
		rc = cli_usage(self, "report needs an output file: -o FILE");
	if (rc < 0) {
		set_owner(&r, &o);
		rc = load_accounting(&r, self, &opt);
	}
	if (rc < 0)
		rc = load_simulation(&r, opt.simulate);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0) {
		release(&r);
		return rc;
	}
	rc = cli_matrix_find(&r.k, &s, &o);
	if (rc < 0)
		rc = load_calibration(&r, &s, &o);
	cli_store_close(&s);
	if (rc < 0 && make_sections(&r))
		rc = cli_fail("out of memory");
	if (rc < 0)
		rc = predict(&r, &o);
	if (rc < 0)
		rc = write_report(&r, &opt, o.output);
	release(&r);
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
	.name = "report", .args = "[OPTION]... [APP]... -o FILE.html|DIR",
	.help = "an HTML page of all profiles and predictions",
	.text =
"Writes one HTML page that needs no network connection: a list of applications,\n"
"a section for each with its verdict, advice and sensitivity curve, and a table\n"
"of predictions for every pair, which can be sorted.\n"
"Without APP: your own applications and the published ones.\n\n"
"  -o FILE, --output=FILE  output file, or a directory for an index.html\n"
"  --blame                 add what netprof blame says, from the accounting\n"
"  --explain=JOB           add what netprof explain says about a job\n"
"  --simulate=FILE         add what netprof simulate wrote to FILE, as JSON\n"
"  --since=AGE, --accounting=FILE, --topology=FILE, --metrics-url=URL\n"
"                          as for netprof blame and explain\n"
"  --scope=SCOPE, --model=M, --user=NAME, --published\n"
"                          as for netprof matrix",
	.examples =
"  netprof report -o page.html\n"
"  netprof report fft halo lammps -o /var/www/netprof\n"
"  netprof report --blame --explain=4711 -o page.html\n"
"  netprof report --simulate=queue.json -o page.html\n",
	.takes = CLI_TAKES_OUTPUT | CLI_TAKES_USER | CLI_TAKES_MODEL |
		 CLI_TAKES_SCOPE,
	.most = CLI_ANY,
	.own = own_options,
	.run = run_report,
};
