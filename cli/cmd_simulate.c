/* netprof simulate: what placement would have done to a queue of jobs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_simulate.h"
#include "cli_text.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Where the whole work stands, for the progress bar. */
struct progress {
	struct cli_simulate *s;
	const char *policy;
	size_t part, parts; /* simulations done, and in all */
	int shown;	    /* percent; -1: nothing yet */
};

static void show(struct progress *p, int percent)
{
	if (percent == p->shown || !isatty(STDERR_FILENO))
		return;
	p->shown = percent;
	fprintf(stderr, "\r%3d %%  simulating %-40.40s", percent, p->policy);
	if (percent == 100)
		fprintf(stderr, "\r%60s\r", "");
}

static bool go_on(void *arg, size_t ended)
{
	struct progress *p = arg;

	p->s->share_done = ((double)p->part + (double)ended /
			    (double)p->s->log.n) / (double)p->parts;
	show(p, (int)(100 * p->s->share_done));
	return !interrupted;
}

/* --events: one line for each start. */
static void tell_start(void *arg, uint32_t job, const struct np_sim_fate *fate,
		       const uint32_t *node, size_t n)
{
	const struct progress *p = arg;
	const struct cli_simulate *s = p->s;

	fprintf(s->events, "%s|%llu|%lld|%lld|%lld|%s|%s|%u|", p->policy,
		(unsigned long long)s->log.job[job].id,
		(long long)s->job[job].submit_sec,
		(long long)fate->eligible_sec, (long long)fate->start_sec,
		fate->how == NP_SIM_MAIN ? "main" : "backfill",
		fate->let_go ? "let go at MaxDefer" :
		fate->confined ? "confined" :
		fate->deferred ? "held" : "-", fate->held_sec);
	for (size_t i = 0; i < n; i++)
		fprintf(s->events, "%s%u", i ? "," : "", node[i]);
	fputc('\n', s->events);
}

static void add_summary(struct np_sim_summary *to,
			const struct np_sim_summary *s, size_t n)
{
	double share = 1 / (double)(n + 1);
	const struct np_sim_summary was = *to;

	*to = *s;
	if (!n)
		return;
#define MEAN(member) to->member = was.member + (s->member - was.member) * share
#define COUNT(member) to->member = (size_t)((double)was.member + \
	((double)s->member - (double)was.member) * share + .5)
	MEAN(wait_mean_sec);
	MEAN(wait_median_sec);
	MEAN(wait_p95_sec);
	MEAN(slowdown_mean);
	MEAN(used_node_sec);
	MEAN(lost_node_sec);
	MEAN(utilisation);
	MEAN(makespan_sec);
	COUNT(held);
	COUNT(held_long);
	COUNT(let_go);
	COUNT(confined);
	COUNT(limits);
	COUNT(slowed);
	COUNT(backfill_starts);
	COUNT(main_starts);
	if (was.held_longest_sec > to->held_longest_sec)
		to->held_longest_sec = was.held_longest_sec;
#undef MEAN
#undef COUNT
}

/* One policy with one seed. */
static int simulate(struct cli_simulate *s, struct progress *p, size_t i,
		    uint32_t seed, struct np_sim_fate *fate)
{
	struct cli_sim_policy *policy = &s->policy[i];
	struct np_sim_ask ask = {
		.cluster = &s->cluster, .job = s->job, .n = s->log.n,
		.scheduler = &s->o->scheduler, .press = s->press,
		.policy = &policy->p, .rigid = s->o->rigid,
		.started = s->events ? tell_start : NULL,
		.go_on = go_on, .arg = p,
	};
	struct np_err err = NP_ERR_INIT;
	struct np_sim_summary sum;
	struct np_sim_counts counts;
	int rc;

	p->policy = policy->name;
	rc = np_simulate(&ask, fate, &counts, &err);
	if (rc)
		return cli_fail("%s", err.text);
	s->stopped |= counts.stopped;
	rc = np_sim_summarise(&ask, fate, &counts, &sum);
	if (!rc && i)
		rc = np_sim_compare(&ask, s->without, fate, &policy->units);
	if (rc)
		return cli_fail("out of memory");
	add_summary(&policy->sum, &sum, seed);
	p->part++;
	return -1;
}

/* The last policy's fates of the first seed stay, to tell who paid. */
static int simulate_all(struct cli_simulate *s)
{
	struct progress p = {
		.s = s, .parts = s->n_policies * s->o->seeds, .shown = -1,
	};
	struct np_sim_fate *fate = calloc(s->log.n + 1, sizeof(*fate));
	int rc = -1;

	s->without = calloc(s->log.n + 1, sizeof(*fate));
	s->with = calloc(s->log.n + 1, sizeof(*fate));
	if (!fate || !s->without || !s->with)
		rc = cli_fail("out of memory");
	for (uint32_t seed = 0; rc < 0 && !s->stopped && seed < s->o->seeds;
	     seed++) {
		cli_sim_draw(s, seed);
		for (size_t i = 0; rc < 0 && !interrupted &&
		     i < s->n_policies; i++) {
			rc = simulate(s, &p, i, seed, i ? fate : s->without);
			if (!seed && i)
				memcpy(s->with, fate, s->log.n *
				       sizeof(*fate));
		}
		s->stopped |= interrupted && p.part < p.parts;
		s->seeds_done += rc < 0 && p.part >= s->n_policies;
	}
	for (size_t i = 1; rc < 0 && i < s->n_policies; i++)
		if (s->policy[i].units.n &&
		    np_sim_gain(&s->policy[i].units, &s->policy[i].gain))
			rc = cli_fail("out of memory");
	show(&p, 100);
	free(fate);
	return rc;
}

static int prepare(struct cli_simulate *s)
{
	int rc = cli_sim_jobs(s);

	if (rc < 0)
		rc = cli_sim_cluster(s);
	if (rc < 0)
		rc = cli_sim_queue(s);
	if (rc < 0)
		rc = cli_sim_profiles(s);
	if (rc < 0)
		rc = cli_sim_policies(s);
	if (rc < 0 && s->o->events) {
		s->events = fopen(s->o->events, "we");
		if (!s->events)
			rc = cli_fail("%s: %s", s->o->events, strerror(errno));
		else
			fputs("policy|job|submit|eligible|start|pass|placement|"
			      "held_sec|nodes\n", s->events);
	}
	return rc;
}

static void release(struct cli_simulate *s)
{
	for (size_t i = 0; i < s->n_policies; i++)
		free(s->policy[i].units.at);
	free(s->without);
	free(s->with);
	free(s->job);
	free(s->sets);
	free(s->partition_of);
	free(s->profiles.name);
	np_press_unref(s->press);
	np_leaves_unref(s->leaves);
	np_queue_log_free(&s->log);
}

static int add_setting(char *text, void *at, struct np_err *err)
{
	struct cli_sim_ask *o = at;

	if (o->n_settings == CLI_SIM_SETTINGS)
		return np_errf(err, -EINVAL, "--set: more than %d",
			       CLI_SIM_SETTINGS);
	o->setting[o->n_settings++] = text;
	return 0;
}

static int take_order(char *text, void *at, struct np_err *err)
{
	struct cli_sim_ask *o = at;

	o->by_submission = !strcmp(text, "submit");
	if (!o->by_submission && strcmp(text, "priority"))
		return np_errf(err, -EINVAL, "--order=%.64s: expected priority "
			       "or submit", text);
	return 0;
}

#define AT(member) offsetof(struct cli_sim_ask, member)
static const struct np_option own[] = {
	{ "swf", NP_OPTION_WORD, AT(swf) },
	{ "sacct", NP_OPTION_WORD, AT(sacct) },
	{ "last", NP_OPTION_WORD, AT(last) },
	{ "leaves", NP_OPTION_WORD, AT(leaves) },
	{ "topology", NP_OPTION_WORD, AT(topology) },
	{ "cpus-per-node", NP_OPTION_COUNT, AT(cpus), 1, NP_SIM_MAX_CPUS },
	{ "rules", NP_OPTION_WORD, AT(rules) },
	{ "mix", NP_OPTION_WORD, AT(mix) },
	{ "pairs", NP_OPTION_WORD, AT(pairs) },
	{ "policy", NP_OPTION_WORD, AT(policies) },
	{ "set", NP_OPTION_TAKE, 0, .take = add_setting },
	{ "seeds", NP_OPTION_COUNT, AT(seeds), 1, CLI_SIM_SEEDS },
	{ "events", NP_OPTION_WORD, AT(events) },
	{ "order", NP_OPTION_TAKE, 0, .take = take_order },
	{ "fixed-run-times", NP_OPTION_FLAG, AT(rigid) },
	{ "queue-depth", NP_OPTION_COUNT, AT(scheduler.queue_depth), 1, 1e9 },
	{ "bf-interval", NP_OPTION_COUNT, AT(scheduler.bf_interval_sec), 0,
	  86400 },
	{ "bf-window", NP_OPTION_COUNT, AT(scheduler.bf_window_sec), 1, 1e9 },
	{ "bf-resolution", NP_OPTION_COUNT, AT(scheduler.bf_resolution_sec), 1,
	  86400 },
	{ "bf-max-job-test", NP_OPTION_COUNT, AT(scheduler.bf_max_job_test), 1,
	  1e9 },
	{ "completing", NP_OPTION_COUNT, AT(scheduler.completing_sec), 0,
	  86400 },
	{ NULL },
};

static int check(const struct cli_cmd *self, const struct cli_sim_ask *o)
{
	if (!!o->swf + !!o->sacct + !!o->last != 1)
		return cli_usage(self, "expected jobs: one of --swf=FILE, "
				 "--sacct=FILE and --last=30d");
	if (o->leaves && o->topology)
		return cli_usage(self, "--leaves and --topology: expected one");
	return -1;
}

static int run_simulate(const struct cli_cmd *self, int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = (int)SA_RESETHAND };
	struct cli_sim_ask ask = { .seeds = 0 };
	struct cli_simulate s = { .o = &ask };
	struct cli_options o;
	int rc;

	np_sim_scheduler_init(&ask.scheduler);
	rc = cli_options_parse(self, argc, argv, &ask, &o);
	if (rc < 0)
		rc = check(self, &ask);
	if (rc >= 0)
		return rc;
	if (!ask.seeds)
		ask.seeds = ask.mix ? 5 : 1;
	rc = prepare(&s);
	if (rc < 0) {
		sigaction(SIGINT, &act, NULL); /* twice ends it at once */
		rc = simulate_all(&s);
	}
	if (s.events && fclose(s.events) && rc < 0)
		rc = cli_fail("%s: %s", ask.events, strerror(errno));
	if (rc < 0)
		rc = o.plot ? cli_sim_plot(&s, o.plot) :
		     o.format ? cli_sim_data(&s, o.format) : cli_sim_text(&s);
	release(&s);
	return rc;
}

const struct cli_cmd cmd_simulate = {
	.name = "simulate",
	.args = "[--json|--parsable] --swf=FILE|--sacct=FILE|--last=30d "
		"[OPTION]...",
	.help = "what placement would have done to a queue of jobs",
	.text =
"Replays a queue through Slurm's scheduling rules and the placement decision,\n"
"with the policy off and on: what each would have cost and saved.\n\n"
"Jobs (- is standard input; gzip is unpacked):\n"
"  --swf=FILE          a log in the Standard Workload Format\n"
"  --sacct=FILE        what sacct --parsable2 printed\n"
"  --last=30d          of the live accounting\n"
"Cluster (without these, as Slurm tells it):\n"
"  --leaves=64x32      so many leaf switches with so many nodes\n"
"  --topology=FILE     topology.conf or topology.yaml\n"
"  --cpus-per-node=N   processors of a node\n"
"Applications (without these, the name of a job is its profile):\n"
"  --rules=FILE        lines such as: lammps user=alice name=lmp*\n"
"  --mix=fft:20,unknown:80\n"
"                      drawn for each job, with several --seeds=N\n"
"  --pairs=FILE        predictions as victim, co-runner, percent; else those\n"
"                      of the profiles in the store\n"
"Policies:\n"
"  --policy=off,enforce:MaxSlowdown=20%\n"
"                      side by side; the first is what others are compared to\n"
"  --set=KEY=VALUE     of netprof.conf(5), for all of them\n"
"  --order=submit      not by the log's priorities\n"
"  --fixed-run-times   as in the log, whatever runs beside\n"
"  --queue-depth=, --bf-interval=, --bf-window=, --bf-resolution=,\n"
"  --bf-max-job-test=  as in slurm.conf(5); times in seconds\n"
"  --completing=SEC    until the nodes of a job that ended are free\n"
"Output:\n"
"  --events=FILE       each start with its reason\n"
"  --json, --parsable, --plot=FILE",
	.examples =
"  netprof simulate --last=30d --rules=rules --policy=off,prefer,enforce\n"
"  netprof simulate --swf=log.gz --leaves=64x32 --mix=fft:20,unknown:80\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = own, .most = 0,
	.run = run_simulate,
};
