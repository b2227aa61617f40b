/* netprof show APP: what is known of one application. */
#include <stdio.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_show.h"
#include "cli_text.h"

static void put_verdict(json_object *in, const struct np_profile *p)
{
	static const char *const against[] = {
		[NP_AGAINST_NOTHING] = "nothing", [NP_AGAINST_IDLE] = "idle",
	};
	static const char *const doubt[] = {
		[NP_DOUBT_PROBES] = "probes",
		[NP_DOUBT_BASELINE] = "baseline",
		[NP_DOUBT_SILENT] = "silent", [NP_DOUBT_FULL] = "full",
	};
	json_object *j = cli_put_object(in, "verdict");
	json_object *text = cli_put_array(j, "text");
	const struct np_verdict *v = &p->verdict;
	char said[CLI_SENTENCE];

	for (int i = 0; i < CLI_SENTENCES; i++)
		if (*cli_say_verdict(p, i, said))
			cli_append_text(text, said);
	cli_put_text(j, "use", cli_use_name(p));
	cli_put_text(j, "doubt", doubt[v->doubt]);
	cli_put_bool(j, "guess", v->guess);
	cli_put_text(j, "against", against[v->against]);
	cli_put_text(j, "baseline", p->idle.n_runs ?
		     np_sample_source_name(p->idle.source) : NULL);
	cli_put_real(j, "node_bytes_per_sec", v->rate);
	cli_put_real(j, "delayed_sec", v->delayed_sec);
	cli_put_real(j, "delayed_share", v->delayed_share);
	cli_put_real(j, "beyond_idle_p95", v->beyond_p95);
	cli_put_real(j, "beyond_idle_p99", v->beyond_p99);
	cli_put_real(j, "excess", v->excess);
	cli_put_real(j, "rho", v->rho);
	cli_put_text(j, "phases", cli_phase_name(v->phases));
	cli_put_real(j, "busy_share", v->busy_share);
	cli_put_real(j, "busy_period_sec", p->phases.busy_period_sec);
	cli_put_bool(j, "interference", v->interference);
}

static void put_runs(json_object *in, const struct cli_profile *p)
{
	static const enum np_run_use other[] = {
		NP_RUN_BESIDE, NP_RUN_BLOCKS, NP_RUN_NEIGHBOURS,
		NP_RUN_FABRIC, NP_RUN_TIME, NP_RUN_FAILED, NP_RUN_SUSPENDED,
		NP_RUN_UNDER_WAY, NP_RUN_WORKLOAD, NP_RUN_KEPT,
	};
	json_object *j = cli_put_object(in, "runs");

	cli_put_count(j, "used", p->profile.ev.latency.n_runs);
	for (size_t i = 0; i < NP_ARRAY_SIZE(other); i++)
		cli_put_count(j, np_run_use_name(other[i]),
			      p->profile.ev.count[other[i]]);
	cli_put_count(j, "unreadable", p->r.n_skipped);
}

static void put_fabric(json_object *in, const struct np_record *r)
{
	json_object *j = cli_put_if(in, "fabric", r), *leaves;

	if (!j)
		return;
	cli_put_text(j, "cluster", r->cluster);
	cli_put_text(j, "transport", r->probe.transport);
	cli_put_count(j, "message_bytes", r->probe.message_bytes);
	cli_put_real(j, "period_sec", r->probe.period_sec);
	cli_put_text(j, "mpi_version", r->mpi_version);
	leaves = cli_put_array(j, "leaves");
	for (size_t i = 0; i < r->n_leaves; i++) {
		json_object *leaf = cli_append_object(leaves);

		cli_put_text(leaf, "name", r->leaves[i].name);
		cli_put_text(leaf, "nodes", r->leaves[i].nodes);
		cli_put_count(leaf, "pairs", r->leaves[i].n_pairs);
		cli_put_text(leaf, "skipped", r->leaves[i].skipped);
	}
}

static void put_adapters(json_object *in, const struct np_sample *s)
{
	json_object *list = cli_put_array(in, "adapters");

	for (size_t i = 0; i < s->n_nics; i++) {
		const struct np_sample_nic *nic = &s->nic[i];
		json_object *j = cli_append_object(list);

		cli_put_text(j, "device", nic->device);
		cli_put_real(j, "node_sec", nic->node_sec);
		for (size_t k = 0; k < NP_NIC_KINDS; k++)
			cli_put_real(j, np_nic_kinds[k], nic->n[k]);
	}
}

static void put_sample(json_object *in, const char *key,
		       const struct np_sample *s)
{
	json_object *j = cli_put_if(in, key, s->n_runs);

	if (!j)
		return;
	cli_put_count(j, "runs", s->n_runs);
	cli_put_count(j, "n", s->moments.n);
	cli_put_real(j, "mean_sec", s->moments.mean);
	cli_put_real(j, "sd_sec", np_moments_sd(&s->moments));
	cli_put_real(j, "p50_sec", np_sample_quantile(s, 0.5));
	cli_put_real(j, "p90_sec", np_sample_quantile(s, 0.9));
	cli_put_real(j, "p99_sec", np_sample_quantile(s, 0.99));
	cli_put_real(j, "max_sec", s->moments.max);
	cli_put_time(j, "first", s->first);
	cli_put_time(j, "last", s->last);
	cli_put_bool(j, "beside_other_jobs", s->neighbours);
}

/* [from_sec, samples, idle samples] of each bin that holds any. */
static void put_hist(json_object *in, const struct np_profile *p)
{
	const struct np_hist *app = p->ev.latency.hist;
	json_object *list = cli_put_array(in, "histogram");

	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		uint64_t n = app ? np_hist_count(app, i) : 0;
		uint64_t idle = p->idle.hist ? np_hist_count(p->idle.hist, i) :
					       0;
		char edge[CLI_NUMBER];
		json_object *j;

		if (!n && !idle)
			continue;
		j = json_object_new_array();
		snprintf(edge, sizeof(edge), "%.6g", np_hist_edge(i));
		json_object_array_add(j, json_object_new_double_s(
						 np_hist_edge(i), edge));
		json_object_array_add(j, json_object_new_uint64(n));
		json_object_array_add(j, json_object_new_uint64(idle));
		json_object_array_add(list, j);
	}
}

/* Of the runs that were cut into blocks, if any was. */
static void put_blocks(json_object *in, const struct np_evidence *e)
{
	const struct np_blocks *b = &e->blocks;
	json_object *j = cli_put_if(in, "blocks", e->count[NP_RUN_BLOCKS]);

	if (!j)
		return;
	cli_put_bool(j, "usable", b->verdict == NP_BLOCKS_USABLE);
	cli_put_text(j, "text", np_blocks_words(b->verdict));
	cli_put_count(j, "runs", b->n_runs);
	cli_put_count(j, "loaded", b->n_loaded);
	cli_put_real(j, "sec", b->sec);
	cli_put_real(j, "lost_sec", b->lost_sec);
	cli_put_real(j, "longer", e->blocks_longer);
	cli_put_real(j, "between", b->between);
	cli_put_text(j, "by", b->by_calls ? "calls" : "bytes");
	cli_put_real(j, "apart", b->apart);
}

static void put_cost(json_object *in, const struct np_profile *p)
{
	json_object *j = cli_put_object(in, "probe_cost");

	if (!(p->cost.elapsed_sec > 0)) {
		cli_put(j, "cpu_share", NULL);
		cli_put(j, "cpu_share_max", NULL);
		cli_put(j, "rss_bytes_max", NULL);
		cli_put(j, "messages", NULL);
		return;
	}
	cli_put_real(j, "cpu_share", p->cost.cpu_share);
	cli_put_real(j, "cpu_share_max", p->cost.cpu_share_max);
	cli_put_count(j, "rss_bytes_max", p->cost.rss_bytes_max);
	cli_put_count(j, "messages", p->cost.messages);
}

static void put_ties(json_object *in, const char *key,
		     const struct cli_tie_list *list)
{
	json_object *j = cli_put_array(in, key);

	for (size_t i = 0; i < list->n; i++) {
		json_object *one = cli_append_object(j);

		cli_put_text(one, "app", list->tie[i].app);
		cli_put_interval(one, &list->tie[i].p);
	}
}

static void put_advice(json_object *in, const struct cli_advice *a)
{
	json_object *j = cli_put_object(in, "advice"), *list;

	cli_put_real(j, "limit", a->limit);
	list = cli_put_array(j, "avoid");
	for (size_t i = 0; i < a->n_avoid; i++)
		cli_append_text(list, a->tie[i].app);
	cli_put_text(j, "command", *a->command ? a->command : NULL);
	cli_put_text(j, "measures", *a->command ? a->what : NULL);
}

/* null: no trace, or none that tells it. */
static void put_zones(json_object *in, const struct cli_zones *z)
{
	json_object *list;

	if (!z->traced || z->why.text[0]) {
		cli_put(in, "latency_tolerance", NULL);
		return;
	}
	list = cli_put_array(in, "latency_tolerance");
	for (size_t i = 0; i < NP_TRACED_ZONES; i++) {
		json_object *one = cli_append_object(list);

		cli_put_real(one, "longer", z->zone[i].longer);
		cli_put_real(one, "added_sec", z->zone[i].added_sec);
	}
}

static const struct cli_table table = {
	"App|Owner|Use|Phases|BusyShare|DelayedShare|DelayedSec|Rho|Cluster|"
	"Leaves|Transport|MessageBytes|PeriodSec|First|Last|RunsUsed|RunsLevel|"
	"RunsNeighbours|RunsFabric|RunsEmpty|RunsUnreadable|Probes|Mean|P50|P90|"
	"P99|Max|IdleProbes|IdleMean|IdleP50|IdleP90|IdleP99|IdleMax|"
	"ProbeCpuShare|Levels|Histogram|NoEffect|HurtBy|Hurts|RunsFailed|"
	"RunsRunning|RunsWorkload|Avoid|Measure|Tolerance|Mpi|Doubt|Baseline|"
	"NodeBytesPerSec",
	{ { "", "app|owner|verdict/use|verdict/phases|verdict/busy_share|"
		"verdict/delayed_share|verdict/delayed_sec|verdict/rho|"
		"fabric/cluster|fabric/leaves:name|fabric/transport|"
		"fabric/message_bytes|fabric/period_sec|@latency/first|"
		"@latency/last|runs/used|runs/level|runs/neighbours|"
		"runs/fabric|runs/empty|runs/unreadable|"
		"latency/n|latency/mean_sec|latency/p50_sec|latency/p90_sec|"
		"latency/p99_sec|latency/max_sec|"
		"idle/n|idle/mean_sec|idle/p50_sec|idle/p90_sec|idle/p99_sec|"
		"idle/max_sec|probe_cost/cpu_share|"
		"levels:name:scope:runs:compared:slowdown:level_slowdown:low:"
		"high|histogram|coupling/no_effect|"
		"hurt_by:app:slowdown:low:high:model|"
		"hurts:app:slowdown:low:high:model|runs/failed|runs/running|"
		"runs/workload|advice/avoid|advice/command|"
		"latency_tolerance:longer:added_sec|fabric/mpi_version|"
		"verdict/doubt|verdict/baseline|verdict/node_bytes_per_sec" } },
};

static int show_data(const struct cli_show *s, enum cli_format format)
{
	json_object *j = json_object_new_object();
	const struct cli_profile *p = &s->p;
	const struct cli_ties *t = &s->t;

	cli_put_text(j, "app", p->r.runs.app);
	cli_put_owner(j, p->r.owner, p->r.uid);
	put_verdict(j, &p->profile);
	put_runs(j, p);
	put_fabric(j, p->profile.ev.fabric);
	put_adapters(j, &p->profile.ev.latency);
	put_sample(j, "latency", &p->profile.ev.latency);
	put_sample(j, "idle", &p->profile.idle);
	put_hist(j, &p->profile);
	cli_put_levels(j, &p->profile);
	put_blocks(j, &p->profile.ev);
	put_cost(j, &p->profile);
	cli_put_calibration(j, &t->k, t->scope);
	put_ties(j, "hurt_by", &t->hurt_by);
	put_ties(j, "hurts", &t->hurts);
	put_advice(j, &s->a);
	put_zones(j, &s->z);
	return cli_print_page(format, "show", j, &table);
}

/* Returns -1 to go on, or the exit status. */
static int find(struct cli_show *show, struct cli_store *s,
		const struct cli_options *o)
{
	int rc;

	cli_ties_look(&show->t, s, o);
	rc = cli_profile_find(s, o, o->app, &show->p);
	if (rc >= 0)
		return rc;
	cli_ties_find(&show->t, &show->p);
	cli_zones_find(s, &show->p, &show->z);
	cli_advise(&show->p.profile, &show->t.k, show->t.scope,
		   &show->t.hurt_by, s->max_slowdown, &show->a);
	return rc;
}

static int run_show(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_show show;
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = find(&show, &s, &o);
	cli_store_close(&s);
	if (rc < 0) {
		rc = o.format ? show_data(&show, o.format) :
				cli_show_text(&show);
		cli_profile_free(&show.p);
	}
	cli_ties_free(&show.t);
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
	.examples =
"  netprof show lammps\n"
"  netprof show --published cp2k\n"
"  netprof show --json lammps | jq .verdict\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.missing = "an application", .most = 1,
	.run = run_show,
};
