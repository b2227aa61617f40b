/* The page of `netprof show`: the verdict, then the numbers. */
#include "cli_show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_text.h"
#include "np_level.h"

/* Who slows it, and whom it slows, on the page of `netprof show`. */

#define NAME 20 /* columns of an application's name */
#define ROOM (CLI_COLUMNS - CLI_LABEL)

/* "fft +49 % (46 to 55)" */
static void say_tie(const struct cli_ties *t, const struct cli_tie *tie,
		    char *buf, size_t len)
{
	bool itself = tie->app == t->k.app[0]->r.runs.app;
	char name[4 * NAME], change[CLI_NUMBER];

	snprintf(buf, len, "%s%s %s%s", itself ? "another " : "",
		 cli_cut(tie->app, NAME, name, sizeof(name)),
		 cli_change(tie->p.slowdown, change),
		 cli_say_doubt(&tie->p) ? "?" : "");
	if (!isnan(tie->p.low))
		cli_add(buf, len, " (%.0f to %.0f)", 100 * tie->p.low + 0.0,
			100 * tie->p.high);
}

static void say_list(FILE *f, const struct cli_ties *t, const char *label,
		     const struct cli_tie_list *list, bool brief)
{
	char line[512] = "", one[160];

	for (size_t i = 0; i < list->n; i++) {
		say_tie(t, &list->tie[i], one, sizeof(one));
		if (brief && i && strlen(line) + 2 + strlen(one) > ROOM)
			break;
		cli_add(line, sizeof(line), "%s%s", i ? ", " : "", one);
	}
	cli_labelled(f, label, "%s", line);
}

static bool has_doubt(const struct cli_tie_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (cli_say_doubt(&list->tie[i].p))
			return true;
	return false;
}

/* Who slows it and whom it slows.  brief: one line each, as many as fit. */
static void ties(FILE *f, const struct cli_show *s, bool brief)
{
	const struct cli_ties *t = &s->t;
	char line[512];

	if (!t->asked) {
		/* Nothing to predict from yet is said in the verdict. */
		if (s->p.profile.ev.n_levels)
			cli_labelled(f, "Hurt by", "not known, as this "
				     "fabric is not calibrated");
		return;
	}
	if (cli_no_effect(&t->k, t->scope)) {
		cli_labelled(f, "No effect", "%s", cli_say_no_effect(
				     &t->k, t->scope, line, sizeof(line)));
		return;
	}
	say_list(f, t, "Hurt by", &t->hurt_by, brief);
	say_list(f, t, "Hurts", &t->hurts, brief);
	if (has_doubt(&t->hurt_by) || has_doubt(&t->hurts))
		cli_labelled(f, "", "(?: not known yet; netprof predict says "
			     "why)");
}

/* In two sentences; the first alone where there is little room. */
static void say_advice(FILE *f, const struct cli_advice *a, bool brief)
{
	char avoid[512], measure[600];

	cli_say_avoid(a, avoid, sizeof(avoid));
	cli_say_measure(a, measure, sizeof(measure));
	if (brief && *avoid)
		measure[0] = '\0';
	cli_labelled(f, "Advice", "%s%s%s", avoid, *avoid && *measure ? " " :
		     "", measure);
}

#define LEVEL_LABEL 20
#define LEVEL_WIDEST 20

static enum cli_colour colour_of(const struct np_profile *p)
{
	switch (p->verdict.use) {
	case NP_USE_LIGHT: return CLI_GREEN;
	case NP_USE_MODERATE: return CLI_YELLOW;
	case NP_USE_HEAVY: case NP_USE_SATURATED: return CLI_RED;
	default: return CLI_BOLD;
	}
}

static void say_verdict(FILE *f, const struct np_profile *p)
{
	char said[CLI_SENTENCE];

	for (int i = 0; i < CLI_SENTENCES; i++) {
		if (!*cli_say_verdict(p, i, said))
			continue;
		fputs(i ? "" : cli_colour(colour_of(p)), f);
		cli_wrap(f, said, 0);
		fputs(i ? "" : cli_colour(CLI_PLAIN), f);
	}
	fputc('\n', f);
}

static void say_runs(FILE *f, const struct cli_profile *p)
{
	const struct np_profile *pr = &p->profile;
	char first[CLI_NUMBER], last[CLI_NUMBER], owner[CLI_NUMBER + 16];
	char line[512] = "";

	if (pr->ev.count[NP_RUN_BESIDE])
		cli_add(line, sizeof(line), " (%zu beside a level)",
			pr->ev.count[NP_RUN_BESIDE]);
	if (pr->ev.count[NP_RUN_BLOCKS])
		cli_add(line, sizeof(line), " (%zu with blocks)",
			pr->ev.count[NP_RUN_BLOCKS]);
	if (pr->ev.latency.n_runs) {
		cli_day(pr->ev.latency.first, first);
		cli_day(pr->ev.latency.last, last);
		cli_add(line, sizeof(line), ", %s%s%s", first,
			strcmp(first, last) ? " to " : "",
			strcmp(first, last) ? last : "");
	}
	cli_labelled(f, "Runs", "%zu of %zu used%s, %s%s",
		     pr->ev.latency.n_runs, p->r.runs.n, line,
		     p->r.owner == NP_STORE_USER ? "of " : "",
		     cli_owner_name(p->r.owner, p->r.uid, owner,
				    sizeof(owner)));
}

static void say_left_out(FILE *f, const struct cli_profile *p)
{
	const struct np_evidence *e = &p->profile.ev;
	char line[256];

	cli_say_left_out(e, line, sizeof(line));
	if (e->count[NP_RUN_TIME])
		cli_add(line, sizeof(line), "%s%zu %s", *line ? ", " : "",
			e->count[NP_RUN_TIME], np_run_use_words(NP_RUN_TIME));
	if (p->r.n_skipped)
		cli_add(line, sizeof(line), "%s%zu unreadable", *line ? ", " :
			"", p->r.n_skipped);
	cli_labelled(f, "Left out", "%s", line);
}

static void say_fabric(FILE *f, const struct np_record *r)
{
	char line[1024] = "", name[40];

	for (size_t i = 0; i < r->n_leaves && i < 4; i++) {
		const struct np_leaf_run *l = &r->leaves[i];

		cli_add(line, sizeof(line), "%s%s%s", i ? ", " : *l->name ?
			", leaf " : ", one leaf",
			cli_cut(l->name, 24, name, sizeof(name)),
			l->n_pairs ? "" : " (not measured)");
	}
	if (r->n_leaves > 4)
		cli_add(line, sizeof(line), " and %zu more", r->n_leaves - 4);
	cli_labelled(f, "Fabric", "cluster %s, %s%s%s%s",
		     r->cluster ? r->cluster : "unknown", r->probe.transport ?
		     r->probe.transport : "transport unknown", line,
		     r->mpi_version ? ", " : "",
		     r->mpi_version ? r->mpi_version : "");
}

static void say_probes(FILE *f, const struct np_profile *p)
{
	const struct np_record *r = p->ev.fabric;
	char bytes[CLI_NUMBER], period[CLI_NUMBER], share[CLI_NUMBER];
	char rss[CLI_NUMBER], cost[128] = "what they cost was not measured";

	if (p->cost.elapsed_sec > 0 && p->cost.rss_bytes_max)
		snprintf(cost, sizeof(cost), "they cost %s of a core each, %s "
			 "of memory", cli_percent(p->cost.cpu_share, share),
			 cli_bytes(p->cost.rss_bytes_max, rss));
	cli_labelled(f, "Probes", "%s every %s; %s",
		     cli_bytes(r->probe.message_bytes, bytes),
		     cli_setting_sec(r->probe.period_sec, period), cost);
}

/* The other witness: bytes of the nodes' network devices. */
static void say_traffic(FILE *f, const struct np_profile *p)
{
	double rate = p->verdict.rate;
	char bytes[CLI_NUMBER];

	if (!isnan(rate))
		cli_labelled(f, "Traffic", "%seach measured node sent and "
			     "received %s/s", rate < NP_VERDICT_SILENT ?
			     "next to none: " : "",
			     cli_bytes((uint64_t)rate, bytes));
}

/* "12 ECN marks and 3.1 retries", or "no congestion"; "": it does not say. */
static const char *say_congestion(const struct np_sample_nic *nic, char *buf,
				  size_t size)
{
	static const char *const what[NP_NIC_KINDS] = {
		[NP_NIC_WAIT] = "ticks of waiting", [NP_NIC_PAUSE] = "pauses",
		[NP_NIC_ECN] = "ECN marks", [NP_NIC_CNP] = "notifications",
		[NP_NIC_DISCARD] = "discards", [NP_NIC_RETRY] = "retries",
	};
	bool known = false;
	size_t len = 0;

	for (size_t k = 0; k < NP_NIC_KINDS; k++) {
		if (!what[k] || isnan(nic->n[k]))
			continue;
		known = true;
		if (nic->n[k] > 0)
			len += (size_t)snprintf(buf + len, size - len,
						"%s%.3g %s", len ? ", " : "",
						nic->n[k] / nic->node_sec,
						what[k]);
	}
	if (!len)
		snprintf(buf, size, "%s", known ? "no congestion" : "");
	return buf;
}

void cli_say_adapters(FILE *f, const struct np_sample *s)
{
	char line[2048] = "", one[512];
	size_t len = 0;

	for (size_t i = 0; i < s->n_nics && len < sizeof(line); i++) {
		const struct np_sample_nic *nic = &s->nic[i];

		if (nic->node_sec > 0 &&
		    *say_congestion(nic, one, sizeof(one)))
			len += (size_t)snprintf(line + len, sizeof(line) - len,
						"%s%s counted %s",
						len ? "; " : "", nic->device,
						one);
	}
	if (len)
		cli_labelled(f, "Adapters", "%s, a second and node", line);
}

static const double quantiles[] = { 0.5, 0.9, 0.99 };

static void latency_row(FILE *f, const char *label, const struct np_sample *s)
{
	char cell[CLI_NUMBER];

	cli_left(f, label, 17);
	fprintf(f, " %10llu", (unsigned long long)s->moments.n);
	for (size_t i = 0; i < NP_ARRAY_SIZE(quantiles); i++)
		cli_right(f, cli_sec(np_sample_quantile(s, quantiles[i]), cell),
		      10);
	cli_right(f, cli_sec(s->moments.max, cell), 10);
	cli_right(f, cli_sec(s->moments.mean, cell), 10);
	fputc('\n', f);
}

static void ratio(FILE *f, double a, double b)
{
	char cell[CLI_NUMBER];

	snprintf(cell, sizeof(cell), b > 0 ? "%.1f" : "-", b > 0 ? a / b : 0);
	cli_right(f, cell, 10);
}

/* "idle", or "idle, 20.0 ms" if its probes had another period. */
static void idle_label(const struct np_sample *idle, char *buf, size_t len)
{
	char period[CLI_NUMBER];

	snprintf(buf, len, "idle%s%s", idle->other_period ? ", " : "",
		 idle->other_period ? cli_sec(idle->period_sec, period) : "");
}

static void say_latency(FILE *f, const struct np_profile *p)
{
	const struct np_sample *app = &p->ev.latency, *idle = &p->idle;
	char label[32];

	fprintf(f, "\n%s%-18s%10s%10s%10s%10s%10s%10s%s\n",
		cli_colour(CLI_BOLD), "Latency", "probes", "p50", "p90", "p99",
		"max", "mean", cli_colour(CLI_PLAIN));
	latency_row(f, p->runs->app, app);
	if (!idle->n_runs)
		return;
	idle_label(idle, label, sizeof(label));
	latency_row(f, label, idle);
	fprintf(f, "%-28s", "times idle");
	for (size_t i = 0; i < NP_ARRAY_SIZE(quantiles); i++)
		ratio(f, np_sample_quantile(app, quantiles[i]),
		      np_sample_quantile(idle, quantiles[i]));
	ratio(f, app->moments.max, idle->moments.max);
	ratio(f, app->moments.mean, idle->moments.mean);
	fputc('\n', f);
}

static void say_delayed(FILE *f, const struct np_profile *p)
{
	const struct np_verdict *v = &p->verdict;
	char sec[CLI_NUMBER], share[CLI_NUMBER];

	if (!p->is_idle && v->against == NP_AGAINST_IDLE)
		cli_labelled(f, "Delayed", "%s of probes (idle's apart) took "
			     "over %s; load index %.2f",
			     cli_percent(v->delayed_share, share),
			     cli_sec(v->delayed_sec, sec), v->rho);
}

static const char *level_name(const struct np_evidence_level *l, char *buf,
			      size_t len)
{
	char name[NP_LEVEL_NAME];

	snprintf(buf, len, "%s (%u)",
		 cli_cut(l->name, LEVEL_WIDEST, name, sizeof(name)),
		 l->run_sec.n);
	return buf;
}

enum { RUN_TIME, LOW, HIGH, ROUNDS, LEVEL_ROWS };

/* A row of the table of levels: one column each. */
static void level_row(FILE *f, const struct np_profile *p, size_t n, int width,
		      int row)
{
	static const char *const label[LEVEL_ROWS] = {
		"its run time", "95 % interval from", "                to",
		"the level's rounds",
	};
	char buf[CLI_NUMBER];

	fprintf(f, "%-*s", LEVEL_LABEL, label[row]);
	for (size_t i = 0; i < n; i++) {
		const struct np_evidence_level *l = &p->ev.level[i];
		const double value[LEVEL_ROWS] = {
			l->slowdown.mean, l->low, l->high, l->pressure.mean,
		};
		uint32_t known = row == ROUNDS ? l->pressure.n : l->slowdown.n;

		cli_right(f, known ? cli_change(value[row], buf) : "-", width);
	}
	fputc('\n', f);
}

/* As many as a column is wide: "c4 (2)", "+123 %". */
static size_t level_width(const struct np_profile *p)
{
	size_t widest = 6;
	char buf[NP_LEVEL_NAME + CLI_NUMBER];

	for (size_t i = 0; i < p->ev.n_levels; i++) {
		size_t width = cli_width(level_name(&p->ev.level[i], buf,
						    sizeof(buf)));

		widest = width > widest ? width : widest;
	}
	return widest + 1;
}

/* "From blocks: 52 s of 1 run, ...": where a curve comes from. */
static void say_blocks(FILE *f, const struct np_profile *p)
{
	const struct np_blocks *b = &p->ev.blocks;
	char share[CLI_NUMBER], longer[CLI_NUMBER], took[80] = "";
	char calls[80] = "";
	size_t n = 0;

	for (size_t i = 0; i < p->ev.n_levels; i++)
		n += p->ev.level[i].of_blocks;
	if (!isnan(p->ev.blocks_longer))
		snprintf(took, sizeof(took), " (beside runs alone %s)",
			 cli_change(p->ev.blocks_longer, longer));
	if (!isnan(b->apart))
		snprintf(calls, sizeof(calls), "; by its %s %.1f %% apart",
			 b->by_calls ? "traffic" : "MPI calls",
			 100 * expm1(b->apart));
	cli_labelled(f, "Blocks", "%zu levels, from blocks in %.0f s of %zu "
		     "%s, which these made longer by %s at most%s: %s%s%s", n,
		     b->sec, b->n_runs, b->n_runs == 1 ? "run" : "runs",
		     cli_percent(b->lost_sec / fmax(b->sec - b->lost_sec, 1),
				 share), took, np_blocks_words(b->verdict),
		     b->by_calls ? ", by its MPI calls" : "", calls);
}

static void say_levels(FILE *f, const struct np_profile *p)
{
	char buf[NP_LEVEL_NAME + CLI_NUMBER];
	int width = (int)level_width(p);
	size_t n = p->ev.n_levels, room;

	if (!n)
		return;
	room = (size_t)((CLI_COLUMNS - LEVEL_LABEL) / width);
	n = n < room ? n : room;
	fprintf(f, "\n%s%-*s", cli_colour(CLI_BOLD), LEVEL_LABEL,
		p->ev.n_levels > n ? "Beside level (more)" :
				     "Beside level (runs)");
	for (size_t i = 0; i < n; i++)
		cli_right(f, level_name(&p->ev.level[i], buf, sizeof(buf)),
			  width);
	fprintf(f, "\n%s", cli_colour(CLI_PLAIN));
	for (int row = 0; row < LEVEL_ROWS; row++)
		level_row(f, p, n, width, row);
	if (p->ev.count[NP_RUN_BLOCKS])
		say_blocks(f, p);
}

static int count_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void say_zones(FILE *f, const struct cli_zones *z)
{
	char line[NP_ERR_LEN + 40];

	cli_zones_say(z, line, sizeof(line));
	cli_labelled(f, "Tolerance", "%s", line);
}

/* How much of it, where a screen is too small for all. */
enum brevity { WHOLE, SHORT_LISTS, SHORT_ADVICE };

static void say_head(FILE *f, const struct cli_show *s, enum brevity brief)
{
	const struct np_profile *pr = &s->p.profile;

	say_verdict(f, pr);
	say_runs(f, &s->p);
	say_left_out(f, &s->p);
	if (pr->ev.fabric)
		say_fabric(f, pr->ev.fabric);
	if (pr->ev.latency.n_runs) {
		say_probes(f, pr);
		say_traffic(f, pr);
		cli_say_adapters(f, &pr->ev.latency);
		say_delayed(f, pr);
	}
	ties(f, s, brief >= SHORT_LISTS);
	say_advice(f, &s->a, brief >= SHORT_ADVICE);
	say_zones(f, &s->z);
	if (pr->ev.latency.n_runs)
		say_latency(f, pr);
}

/*
 * What stands above the histogram, of *head bytes, and below it: text to be
 * counted before it is printed; free() it.  NULL: no memory.
 */
static char *make_text(const struct cli_show *s, enum brevity brief,
		       size_t *head)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	say_head(f, s, brief);
	fflush(f);
	*head = len;
	say_levels(f, &s->p.profile);
	fclose(f);
	return text;
}

/* The histogram takes the lines that the rest leaves. */
int cli_show_text(const struct cli_show *s)
{
	int brief = WHOLE, rows;
	char *text = NULL;
	size_t head;

	do {
		free(text);
		text = make_text(s, (enum brevity)brief, &head);
		if (!text)
			return cli_fail("out of memory");
	} while (count_lines(text) > CLI_LINES && brief++ < SHORT_ADVICE);
	fwrite(text, 1, head, stdout);
	rows = CLI_LINES - count_lines(text) - 2;
	cli_page_histogram(stdout, &s->p.profile, rows < 8 ? rows : 8);
	fputs(text + head, stdout);
	free(text);
	return CLI_DONE;
}
