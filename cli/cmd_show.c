/* netprof show APP: the page of one application. */
#include <stdio.h>

#include "cli_show.h"
#include "cli_text.h"

static void fields_sample(const struct np_sample *s)
{
	printf("%llu|", (unsigned long long)s->moments.n);
	if (!s->hist) {
		fputs("|||||", stdout);
		return;
	}
	printf("%.6g|%.6g|%.6g|%.6g|%.6g|", s->moments.mean,
	       np_sample_quantile(s, 0.5), np_sample_quantile(s, 0.9),
	       np_sample_quantile(s, 0.99), s->moments.max);
}

static void field_leaves(const struct np_record *r)
{
	for (size_t i = 0; r && i < r->n_leaves; i++)
		cli_field(r->leaves[i].name, i + 1 < r->n_leaves ? ',' : '|');
	if (!r || !r->n_leaves)
		putchar('|');
}

/* NAME/SCOPE:RUNS:COMPARED:SLOWDOWN:LEVEL_SLOWDOWN:LOW:HIGH,... */
static void field_levels(const struct np_profile *p)
{
	for (size_t i = 0; i < p->ev.n_levels; i++) {
		const struct np_evidence_level *l = &p->ev.level[i];
		bool compared = np_mean_known(&l->slowdown);

		printf("%s%s/%s:%u:%u:", i ? "," : "", l->name, l->scope,
		       l->run_sec.n, l->slowdown.n);
		if (compared)
			printf("%.6g", l->slowdown.mean);
		putchar(':');
		if (np_mean_known(&l->pressure))
			printf("%.6g", l->pressure.mean);
		if (compared)
			printf(":%.6g:%.6g", l->low, l->high);
		else
			fputs("::", stdout);
	}
	putchar('|');
}

static uint64_t bin_count(const struct np_hist *h, size_t bin)
{
	return h ? np_hist_count(h, bin) : 0;
}

/* FROM_SEC:SAMPLES:IDLE_SAMPLES,... */
static void field_hist(const struct np_profile *p)
{
	bool any = false;

	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		uint64_t n = bin_count(p->ev.latency.hist, i);
		uint64_t idle = bin_count(p->idle.hist, i);

		if (!n && !idle)
			continue;
		printf("%s%.6g:%llu:%llu", any ? "," : "", np_hist_edge(i),
		       (unsigned long long)n, (unsigned long long)idle);
		any = true;
	}
	putchar('|');
}

/* APP:SLOWDOWN:LOW:HIGH:MODEL,... */
static void field_ties(const struct cli_tie *list, size_t n, char separator)
{
	for (size_t i = 0; i < n; i++)
		printf("%s%s:%.6g:%.6g:%.6g:%s", i ? "," : "", list[i].app,
		       list[i].p.slowdown, list[i].p.low + 0.0,
		       list[i].p.high, list[i].p.model->name);
	putchar(separator);
}

static void field_avoid(const struct cli_advice *a)
{
	for (size_t i = 0; i < a->n_avoid; i++)
		printf("%s%s", i ? "," : "", a->tie[i].app);
	putchar('|');
}

/* LONGER:ADDED_SEC,... */
static void field_zones(const struct cli_zones *z, char separator)
{
	for (size_t i = 0; z->traced && !z->why.text[0] &&
			   i < TOLERANCE_ZONES; i++)
		printf("%s%.6g:%.6g", i ? "," : "", z->zone[i].share,
		       cli_zones_added_sec(z, i));
	putchar(separator);
}

static int show_parsable(const struct cli_profile *p, const struct cli_ties *t,
			 const struct cli_advice *a, const struct cli_zones *z)
{
	const struct np_profile *pr = &p->profile;
	const struct np_record *r = pr->ev.fabric;
	const size_t *count = pr->ev.count;
	char buf[CLI_NUMBER + 16], first[CLI_NUMBER], last[CLI_NUMBER];

	puts("App|Owner|Use|Phases|BusyShare|DelayedShare|DelayedSec|Rho|"
	     "Cluster|Leaves|Transport|MessageBytes|PeriodSec|First|Last|"
	     "RunsUsed|RunsLevel|RunsNeighbours|RunsFabric|RunsEmpty|"
	     "RunsUnreadable|Probes|Mean|P50|P90|P99|Max|IdleProbes|IdleMean|"
	     "IdleP50|IdleP90|IdleP99|IdleMax|ProbeCpuShare|Levels|Histogram|"
	     "NoEffect|HurtBy|Hurts|RunsFailed|RunsRunning|RunsWorkload|"
	     "Avoid|Measure|Tolerance|Mpi");
	cli_field(p->runs.app, '|');
	cli_field(cli_owner_name(p->owner, p->uid, buf, sizeof(buf)), '|');
	cli_field(cli_use_name(pr), '|');
	cli_field(cli_phase_name(pr->phases.kind), '|');
	printf("%.6g|%.6g|%.6g|%.6g|", pr->phases.busy_share,
	       pr->verdict.delayed_share, pr->verdict.delayed_sec,
	       pr->verdict.rho);
	cli_field(r && r->cluster ? r->cluster : "", '|');
	field_leaves(r);
	cli_field(r && r->probe.transport ? r->probe.transport : "", '|');
	printf("%u|%.6g|%s|%s|", r ? r->probe.message_bytes : 0,
	       r ? r->probe.period_sec : 0,
	       cli_date(pr->ev.latency.first, first),
	       cli_date(pr->ev.latency.last, last));
	printf("%zu|%zu|%zu|%zu|%zu|%zu|", pr->ev.latency.n_runs,
	       count[NP_RUN_BESIDE], count[NP_RUN_NEIGHBOURS],
	       count[NP_RUN_FABRIC], count[NP_RUN_TIME], p->n_skipped);
	fields_sample(&pr->ev.latency);
	fields_sample(&pr->idle);
	printf("%.6g|", pr->cost.cpu_share);
	field_levels(pr);
	field_hist(pr);
	printf("%s|", !t->asked ? "" : cli_no_effect(&t->k, t->scope) ? "yes" :
									"no");
	field_ties(t->hurt_by, t->n_hurt_by, '|');
	field_ties(t->hurts, t->n_hurts, '|');
	printf("%zu|%zu|%zu|", count[NP_RUN_FAILED],
	       count[NP_RUN_UNDER_WAY], count[NP_RUN_WORKLOAD]);
	field_avoid(a);
	cli_field(a->command, '|');
	field_zones(z, '|');
	cli_field(r && r->mpi_version ? r->mpi_version : "", '\n');
	return CLI_DONE;
}

static int run_show(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_others all;
	struct cli_advice a;
	struct cli_zones z;
	struct cli_profile p;
	struct cli_options o;
	struct cli_ties t;
	struct cli_store s;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &o);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	cli_others_look(&all, &s, &o);
	rc = cli_profile_find(&s, &o, o.app, &p);
	if (rc < 0) {
		cli_ties_find(&all, &p, &t);
		cli_zones_find(&s, &p, &z);
	}
	cli_others_free(&all);
	cli_store_close(&s);
	if (rc >= 0)
		return rc;
	cli_advise(&p.profile, &t.k, t.scope, t.hurt_by, t.n_hurt_by,
		   s.max_slowdown, &a);
	rc = o.format == CLI_JSON ? cli_show_json(&p, &t, &a, &z) :
	     o.format == CLI_PARSABLE ? show_parsable(&p, &t, &a, &z) :
					cli_show_text(&p, &t, &a, &z);
	cli_ties_free(&t);
	cli_profile_free(&p);
	return rc;
}

const struct cli_cmd cmd_show = {
	.name = "show",
	.args = "[--json|--parsable] [--user=NAME|--published] APP",
	.help = "what an application does to the network",
	.text =
"Prints the profile of APP on one screen: first in words how it uses the\n"
"network, then the numbers behind them: latencies, its slowdown beside\n"
"interference levels, and which of the known applications would slow it most,\n"
"and it them, on other nodes of the same leaf.\n\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --user=NAME         the profile of another user, as far as you may read it\n"
"  --published         the one that an administrator published\n\n"
"Without these: your own profile, or else the published one.",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.missing = "the application is missing", .most = 1,
	.run = run_show,
};
