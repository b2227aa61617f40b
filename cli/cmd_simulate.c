/*
 * netprof simulate: what placement would have done to a queue of jobs.
 *
 * cli_simulate_setup.c reads jobs, cluster, profiles and policies.  Here every
 * policy is simulated (np_simulate.h) with every seed, which draws the profiles
 * of the jobs anew; the first policy is the one that all others are compared
 * with.  Results are means over the seeds.  Two of them keep single jobs, those
 * of the first seed under the first and the last policy, to show which users
 * and sizes of jobs gain or lose.
 *
 * Times are seconds of the log; node-hours are kept as node-seconds.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_json_put.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_simulate.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_figure.h"

/* ---- text ---- */

#define NAME 26	    /* columns of a row's name */
#define COLUMN 13   /* columns of a policy */
#define PER_TABLE 4 /* policies side by side in one table */
#define GROUPS 3    /* users or partitions that are listed */

/* "12.3 %" */
static const char *share(double v, char buf[CLI_NUMBER])
{
	snprintf(buf, CLI_NUMBER, "%.1f %%", fabs(100 * v) < .05 ? 0 : 100 * v);
	return buf;
}

/* " [low, high]" in percent; "" if the interval is not known. */
static const char *interval(const struct np_sim_share *s, char *buf, size_t len)
{
	buf[0] = '\0';
	if (isfinite(s->low))
		snprintf(buf, len, " [%.1f, %.1f]", 100 * s->low,
			 100 * s->high);
	return buf;
}

/* The policy that the verdict is about: the last one that changes jobs. */
static const struct cli_sim_policy *acting(const struct cli_simulate *s)
{
	/* The first policy is what others are compared with. */
	for (size_t i = s->n_policies; i-- > 1;)
		if (s->policy[i].p.mode > NP_MODE_ADVISE)
			return &s->policy[i];
	return NULL;
}

/* Time from the first to the last submission. */
static double span_days(const struct cli_simulate *s)
{
	return (double)(s->job[s->log.n - 1].submit_sec -
			s->job[0].submit_sec) / 86400;
}

/* "30 days", "3 hours" */
static const char *span_text(const struct cli_simulate *s, char buf[CLI_NUMBER])
{
	double days = span_days(s);

	if (days >= 2)
		snprintf(buf, CLI_NUMBER, "%.0f days", days);
	else if (days >= 2 / 24.0)
		snprintf(buf, CLI_NUMBER, "%.0f hours", 24 * days);
	else
		snprintf(buf, CLI_NUMBER, "%.0f minutes", 1440 * days);
	return buf;
}

/* Why the policy did nothing; NULL: it did something. */
static const char *nothing_text(const struct cli_simulate *s, char *buf,
				size_t len)
{
	const struct cli_sim_policy *p = acting(s);
	double limit = p ? p->p.policy.max_slowdown : NAN;
	char text[CLI_NUMBER], other[CLI_NUMBER];

	if (!p || p->sum.held || p->sum.confined)
		return NULL;
	if (!s->known_jobs)
		snprintf(buf, len, "Placement would have changed nothing: no "
			 "job of the log has a profile.");
	else if (s->worst <= limit)
		snprintf(buf, len, "Placement would have changed nothing: no "
			 "application is predicted to slow another on its leaf "
			 "switch by more than %s (MaxSlowdown); the largest "
			 "predicted slowdown is %s.", share(limit, text),
			 share(s->worst, other));
	else
		snprintf(buf, len, "Placement would have changed nothing: "
			 "conflicting jobs never needed nodes at the same "
			 "time.");
	return buf;
}

/* Its size: the opposite of a share below 0. */
static struct np_sim_share size_of(const struct np_sim_share *s)
{
	return s->value < 0 ? (struct np_sim_share){ -s->value, -s->high,
						     -s->low } : *s;
}

/* One sentence: what the acting policy would have saved and cost. */
static void verdict_text(const struct cli_simulate *s, char *buf, size_t len)
{
	const struct cli_sim_policy *p = acting(s);
	char a[CLI_NUMBER], b[CLI_NUMBER], c[64], d[64], span[CLI_NUMBER];
	struct np_sim_share saved, delay;

	if (!p || !s->seeds_done) {
		snprintf(buf, len, p ? "Stopped before there was anything to "
			 "compare." : "None of the simulated policies changes "
			 "jobs.");
		return;
	}
	if (nothing_text(s, buf, len))
		return;
	saved = size_of(&p->gain.recovered);
	delay = size_of(&p->gain.delay);
	snprintf(buf, len, "Over these %s, %s would have %s %s of the "
		 "node-hours%s and %s waiting times by %s%s; %zu of %zu jobs "
		 "would have been held longer than %d minutes.",
		 span_text(s, span), p->name,
		 p->gain.recovered.value < 0 ? "lost" : "saved",
		 share(saved.value, a), interval(&saved, c, sizeof(c)),
		 p->gain.delay.value < 0 ? "shortened" : "lengthened",
		 share(delay.value, b), interval(&delay, d, sizeof(d)),
		 p->sum.held_long, p->sum.started, NP_SIM_LONG_HOLD_SEC / 60);
}

/* Rows of the table, with a value for each policy. */
enum unit { U_COUNT, U_SEC, U_SHARE, U_HOURS, U_NUMBER };
#define AT(member) offsetof(struct np_sim_summary, member)
static const struct row {
	const char *name, *key;
	enum unit unit;
	size_t at;
} rows[] = {
	{ "Wait, mean", "wait_mean_sec", U_SEC, AT(wait_mean_sec) },
	{ "Wait, median", "wait_median_sec", U_SEC, AT(wait_median_sec) },
	{ "Wait, 95th percentile", "wait_p95_sec", U_SEC, AT(wait_p95_sec) },
	{ "Bounded slowdown, mean", "bounded_slowdown", U_NUMBER,
	  AT(slowdown_mean) },
	{ "Utilisation", "utilisation", U_SHARE, AT(utilisation) },
	{ "Makespan", "makespan_sec", U_SEC, AT(makespan_sec) },
	{ "Node-hours used", "used_node_sec", U_HOURS, AT(used_node_sec) },
	{ "Lost to interference", "lost_node_sec", U_HOURS,
	  AT(lost_node_sec) },
	{ "Jobs slowed", "jobs_slowed", U_COUNT, AT(slowed) },
	{ "Ended by their time limit", "limits_reached", U_COUNT, AT(limits) },
	{ "Jobs confined", "jobs_confined", U_COUNT, AT(confined) },
	{ "Jobs held", "jobs_held", U_COUNT, AT(held) },
	{ "Held over 10 min", "jobs_held_long", U_COUNT, AT(held_long) },
	{ "Held longest", "held_longest_sec", U_SEC, AT(held_longest_sec) },
	{ "Released at MaxDefer", "jobs_let_go", U_COUNT, AT(let_go) },
	{ "Started by backfill", "backfill_starts", U_COUNT,
	  AT(backfill_starts) },
};
#undef AT

/*
 * The value of a row; counts are stored as size_t, everything else as double.
 */
static double value_of(const struct row *r, const struct cli_sim_policy *p)
{
	const char *at = (const char *)&p->sum + r->at;

	return r->unit == U_COUNT ? (double)*(const size_t *)at :
				    *(const double *)at;
}

/* A value with its unit. */
static const char *value_text(const struct row *r, double v,
			      char buf[CLI_NUMBER])
{
	switch (r->unit) {
	case U_SEC:
		return v < 1 ? strcpy(buf, "0 s") : cli_sec(v, buf);
	case U_SHARE:
		return share(v, buf);
	case U_HOURS:
		snprintf(buf, CLI_NUMBER, "%.0f h", v / 3600);
		return buf;
	case U_NUMBER:
		snprintf(buf, CLI_NUMBER, "%.2f", v);
		return buf;
	default:
		snprintf(buf, CLI_NUMBER, "%.0f", v);
		return buf;
	}
}

/* Print the policies from <= i < to, side by side. */
static void table(const struct cli_simulate *s, size_t from, size_t to)
{
	char text[CLI_NUMBER];

	printf("\n%s%-*s", cli_colour(CLI_BOLD), NAME, "");
	for (size_t i = from; i < to; i++) {
		char name[4 * COLUMN];
		const char *p = s->policy[i].name;

		/* The settings tell policies of one mode apart. */
		if (strchr(p, ':'))
			p = strchr(p, ':') + 1;
		cli_right(stdout, cli_cut(p, COLUMN - 1, name, sizeof(name)),
			  COLUMN);
	}
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t r = 0; r < NP_ARRAY_SIZE(rows); r++) {
		printf("%-*s", NAME, rows[r].name);
		for (size_t i = from; i < to; i++)
			cli_right(stdout, value_text(&rows[r], value_of(
				&rows[r], &s->policy[i]), text), COLUMN);
		putchar('\n');
	}
}

/* The effect on groups of jobs, by the first seed. */

struct group {
	uint32_t key; /* user, class of size, or partition */
	size_t jobs;
	double before, after; /* wait without and with the policy, seconds */
	double recovered;     /* node-seconds */
};

/* Order by group, so that jobs of one group are adjacent. */
static int by_key(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Change of the mean wait of a group, seconds. */
static double change_of(const struct group *p)
{
	return p->jobs ? (p->after - p->before) / (double)p->jobs : 0;
}

/* Order by the change of the wait, the largest increase first. */
static int by_change(const void *a, const void *b)
{
	double x = change_of(a), y = change_of(b);

	return x > y ? -1 : x < y;
}

enum kind { BY_USER, BY_SIZE, BY_PARTITION, N_KINDS };
static const char *const kind_name[N_KINDS] = { "user", "size", "partition" };
static const char *const size_name[] = { "1 node", "2 to 8 nodes",
					 "9 to 64 nodes", "over 64 nodes" };

/* The group of a job. */
static uint32_t key_of(const struct cli_simulate *s, size_t i, enum kind kind)
{
	uint32_t nodes = s->job[i].nodes;

	if (kind == BY_SIZE)
		return nodes == 1 ? 0 : nodes <= 8 ? 1 : nodes <= 64 ? 2 : 3;
	return kind == BY_USER ? s->log.job[i].user : s->log.job[i].partition;
}

/*
 * Groups of one kind, the largest increase of the mean wait first; the caller
 * frees them.  NULL: out of memory.
 */
static struct group *make_groups(const struct cli_simulate *s, enum kind kind,
				 size_t *n)
{
	struct group *p = calloc(s->log.n + 1, sizeof(*p));
	size_t k = 0;

	for (size_t i = 0; p && i < s->log.n; i++) {
		const struct np_sim_outcome *a = &s->without[i], *b = &s->with[i];

		/* Only jobs that ended under both policies are compared. */
		if (a->end_sec < 0 || b->end_sec < 0 || a->start_sec < 0 ||
		    b->start_sec < 0)
			continue;
		p[k++] = (struct group){
			.key = key_of(s, i, kind), .jobs = 1,
			.before = (double)(a->start_sec - a->eligible_sec),
			.after = (double)(b->start_sec - b->eligible_sec),
			.recovered = s->job[i].nodes * (double)
				((a->end_sec - a->start_sec) -
				 (b->end_sec - b->start_sec)),
		};
	}
	*n = 0;
	if (!p)
		return NULL;
	/* Sort by group, then add up the jobs of each group in place. */
	qsort(p, k, sizeof(*p), by_key);
	for (size_t i = 0; i < k; i++) {
		struct group *to = *n ? &p[*n - 1] : NULL;

		if (!to || to->key != p[i].key) {
			p[(*n)++] = p[i];
			continue;
		}
		to->jobs++;
		to->before += p[i].before;
		to->after += p[i].after;
		to->recovered += p[i].recovered;
	}
	qsort(p, *n, sizeof(*p), by_change);
	return p;
}

/* Name of a group, from the log or by its size. */
static const char *group_name(const struct cli_simulate *s, enum kind kind,
			      uint32_t key, char *buf, size_t len)
{
	if (kind == BY_SIZE)
		return size_name[key];
	np_queue_text(&s->log, key, buf, len);
	return *buf ? buf : "-";
}

/* The groups whose mean wait grew most. */
static void print_groups(const struct cli_simulate *s)
{
	char name[64], wait[CLI_NUMBER];

	printf("\n%s%-10s %-18s %8s %14s %18s%s\n", cli_colour(CLI_BOLD),
	       "Effect by", "", "Jobs", "Change of wait", "Node-hours saved",
	       cli_colour(CLI_PLAIN));
	for (enum kind kind = BY_USER; kind < N_KINDS; kind++) {
		size_t n;
		struct group *p = make_groups(s, kind, &n);

		for (size_t i = 0; p && i < n &&
		     i < GROUPS + (kind == BY_SIZE); i++) {
			double change = change_of(&p[i]);

			printf("%-10s ", i ? "" : kind_name[kind]);
			cli_left(stdout, group_name(s, kind, p[i].key, name,
						    sizeof(name)), 18);
			printf(" %8zu ", p[i].jobs);
			snprintf(wait, sizeof(wait), "%+.0f s",
				 fabs(change) < .5 ? 0 : change);
			cli_right(stdout, wait, 14);
			printf("%16.1f h\n", fabs(p[i].recovered) < 180 ? 0 :
			       p[i].recovered / 3600);
		}
		free(p);
	}
}

/* Job names without a profile, and what profiling them might save. */

struct name {
	uint32_t text;
	double node_sec;
};

/* Order of names by the node-seconds of their jobs. */
static int by_node_sec(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->node_sec > y->node_sec ? -1 : x->node_sec < y->node_sec;
}

/* Names of jobs without a profile, those with most node-seconds first. */
static struct name *unprofiled(const struct cli_simulate *s, size_t *n)
{
	struct name *all = calloc(s->log.text.n + 1, sizeof(*all));

	*n = 0;
	if (!all)
		return NULL;
	for (size_t i = 0; i < s->log.text.n; i++)
		all[i].text = (uint32_t)i;
	for (size_t i = 0; i < s->log.n; i++)
		if (s->job[i].profile < 0 &&
		    s->log.job[i].name != NP_QUEUE_NONE)
			all[s->log.job[i].name].node_sec +=
				(double)s->job[i].nodes * s->job[i].run_sec;
	qsort(all, s->log.text.n, sizeof(*all), by_node_sec);
	while (*n < s->log.text.n && all[*n].node_sec > 0)
		++*n;
	return all;
}

/* Share of the node-seconds that jobs with a profile have. */
static double known_share(const struct cli_simulate *s)
{
	return s->all_node_sec > 0 ? s->known_node_sec / s->all_node_sec : 0;
}

/* How much of the log has profiles, and what profiling more would bring. */
static void print_profiling(const struct cli_simulate *s)
{
	const struct cli_sim_policy *p = acting(s);
	double known = known_share(s), sum = 0;
	char line[512] = "", text[CLI_NUMBER], name[48];
	struct name *all;
	size_t n, few;

	cli_say(CLI_PLAIN, 2, "With a profile: %zu of %zu jobs, %s of the "
		"node-hours.", s->known_jobs, s->log.n, share(known, text));
	all = s->o->mix || known > .9 ? NULL : unprofiled(s, &n);
	if (!all || !n) {
		free(all);
		return;
	}
	few = n < GROUPS ? n : GROUPS;
	for (size_t i = 0; i < few; i++) {
		sum += all[i].node_sec / s->all_node_sec;
		cli_add(line, sizeof(line), "%s%s", i ? ", " : "",
			np_queue_text(&s->log, all[i].text, name,
				      sizeof(name)));
	}
	cli_say(CLI_PLAIN, 2, "Most node-hours without one: %s (%s of all). "
		"To measure one: sbatch --netprofile=NAME "
		"--netprofile-calibrate job.sh", line, share(sum, text));
	/* A loss is only predicted if both jobs have a profile. */
	if (p && known > 0 && p->gain.recovered.value > 0)
		cli_say(CLI_PLAIN, 2, "If they behave like the profiled jobs, "
			"placement would save about %s of the node-hours with "
			"their profiles.", share(p->gain.recovered.value *
				fmin(1, known + sum) * fmin(1, known + sum) /
				(known * known), text));
	free(all);
}

/* Where the inputs are from, what was excluded, and what is not simulated. */
static void print_source(const struct cli_simulate *s)
{
	char line[256];

	cli_say(CLI_PLAIN, 2, "Jobs: %zu from %s. Cluster: %s.", s->log.n,
		s->source, s->cluster_text);
	cli_say(CLI_PLAIN, 2, "Predictions: %s. Seeds: %zu.", s->models_text,
		s->seeds_done);
	for (int i = 0; i < NP_QUEUE_N_ODD; i++)
		if (s->log.odd[i])
			cli_say(CLI_PLAIN, 2, "%s: %zu.", np_queue_issue_text[i],
				s->log.odd[i]);
	if (*s->log.unused)
		cli_say(CLI_PLAIN, 2, "Ignored columns: %s.", s->log.unused);
	if (s->policy[0].sum.too_large)
		cli_say(CLI_YELLOW, 2, "Excluded, larger than the cluster: %zu "
			"job%s.", s->policy[0].sum.too_large,
			s->policy[0].sum.too_large == 1 ? "" : "s");
	if (s->merged)
		cli_say(CLI_PLAIN, 2, "Partitions beyond the first %d, merged "
			"into one: %u.", NP_SIM_MAX_PARTITIONS - 1, s->merged);
	snprintf(line, sizeof(line), "Not simulated: memory, generic "
		 "resources, licences, preemption, QOS and association limits, "
		 "and run times other than the log's.");
	cli_wrap(stdout, line, 2);
}

/* The verdict, the table, the effect on groups, and the sources. */
static int sim_text(const struct cli_simulate *s)
{
	char line[1024], text[CLI_NUMBER];

	if (s->stopped)
		cli_say(CLI_YELLOW, 0, "Stopped after %s: the results are of "
			"the jobs that had ended by then.",
			share(s->share_done, text));
	verdict_text(s, line, sizeof(line));
	cli_say(CLI_BOLD, 0, "%s", line);
	for (size_t from = 0; from < s->n_policies; from += PER_TABLE)
		table(s, from, from + PER_TABLE < s->n_policies ?
		      from + PER_TABLE : s->n_policies);
	if (acting(s) && s->with && !nothing_text(s, line, sizeof(line)))
		print_groups(s);
	putchar('\n');
	print_profiling(s);
	print_source(s);
	return CLI_DONE;
}

/* ---- output for programs ---- */

/* A share with its interval. */
static void put_share(json_object *in, const char *key,
		      const struct np_sim_share *v)
{
	json_object *o = cli_put_object(in, key);

	cli_put_computed(o, "value", v->value);
	cli_put_computed(o, "low", v->low);
	cli_put_computed(o, "high", v->high);
}

/* All values of one policy, compared with the first one. */
static void put_policy(json_object *list, const struct cli_simulate *s,
		       size_t i)
{
	const struct cli_sim_policy *p = &s->policy[i];
	json_object *o = cli_append_object(list);

	cli_put_text(o, "policy", p->name);
	cli_put_text(o, "mode", np_mode_name(p->p.mode));
	cli_put_computed(o, "max_slowdown", p->p.policy.max_slowdown);
	cli_put_computed(o, "max_defer_sec", p->p.policy.max_defer_sec);
	for (size_t r = 0; r < NP_ARRAY_SIZE(rows); r++)
		if (rows[r].unit == U_COUNT)
			cli_put_count(o, rows[r].key,
				      (uint64_t)value_of(&rows[r], p));
		else
			cli_put_computed(o, rows[r].key,
					 value_of(&rows[r], p));
	if (!cli_put_if(o, "against_first", i && s->seeds_done))
		return;
	o = cli_put_object(o, "against_first");
	put_share(o, "recovered", &p->gain.recovered);
	put_share(o, "delay", &p->gain.delay);
	cli_put_computed(o, "wait_change_sec", p->gain.wait_change_sec);
}

/* All groups of one kind; the text shows only the first ones. */
static void put_groups(json_object *list, const struct cli_simulate *s,
		       enum kind kind)
{
	size_t n;
	struct group *p = make_groups(s, kind, &n);
	char name[128];

	for (size_t i = 0; p && i < n; i++) {
		json_object *o = cli_append_object(list);

		cli_put_text(o, "by", kind_name[kind]);
		cli_put_text(o, "who", group_name(s, kind, p[i].key, name,
						  sizeof(name)));
		cli_put_count(o, "jobs", p[i].jobs);
		cli_put_computed(o, "wait_change_sec", change_of(&p[i]));
		cli_put_computed(o, "recovered_node_sec", p[i].recovered);
	}
	free(p);
}

static const struct cli_table parsable = {
	"what|policy|mode|wait_mean_sec|wait_median_sec|wait_p95_sec|"
	"bounded_slowdown|utilisation|makespan_sec|used_node_sec|"
	"lost_node_sec|jobs_slowed|limits_reached|jobs_confined|jobs_held|"
	"jobs_held_long|held_longest_sec|jobs_let_go|recovered|"
	"recovered_low|recovered_high|delay|delay_low|delay_high",
	{ { "policies", "=policy|policy|mode|wait_mean_sec|wait_median_sec|"
	    "wait_p95_sec|bounded_slowdown|utilisation|makespan_sec|"
	    "used_node_sec|lost_node_sec|jobs_slowed|limits_reached|"
	    "jobs_confined|jobs_held|jobs_held_long|held_longest_sec|"
	    "jobs_let_go|against_first/recovered/value|"
	    "against_first/recovered/low|against_first/recovered/high|"
	    "against_first/delay/value|against_first/delay/low|"
	    "against_first/delay/high" } },
};

/* Numbers have twelve digits, because they are computed, not measured. */
static int sim_data(const struct cli_simulate *s, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;
	char line[1024];

	verdict_text(s, line, sizeof(line));
	cli_put_text(j, "verdict", line);
	cli_put_bool(j, "stopped", s->stopped);
	cli_put_text(j, "source", s->source);
	cli_put_count(j, "jobs", s->log.n);
	cli_put_count(j, "jobs_with_profile", s->known_jobs);
	cli_put_computed(j, "node_sec_with_profile", known_share(s));
	cli_put_count(j, "jobs_too_large", s->policy[0].sum.too_large);
	cli_put_count(j, "nodes", s->leaves->n_nodes);
	cli_put_count(j, "leaves", s->leaves->n);
	cli_put_count(j, "seeds", s->seeds_done);
	cli_put_text(j, "predictions", s->models_text);
	list = cli_put_array(j, "changed_or_left_out");
	for (int i = 0; i < NP_QUEUE_N_ODD; i++)
		if (s->log.odd[i]) {
			json_object *o = cli_append_object(list);

			cli_put_text(o, "what", np_queue_issue_text[i]);
			cli_put_count(o, "count", s->log.odd[i]);
		}
	list = cli_put_array(j, "policies");
	for (size_t i = 0; i < s->n_policies; i++)
		put_policy(list, s, i);
	list = cli_put_array(j, "who_paid");
	for (int kind = 0; s->with && kind < N_KINDS; kind++)
		put_groups(list, s, (enum kind)kind);
	return cli_print_page(format, "simulate", j, &parsable);
}

/* ---- plot ---- */

/* The node-hours that each policy saves, and the change of the wait. */
static int sim_plot(const struct cli_simulate *s, const char *path)
{
	struct np_figure *f = np_figure_new("What each policy would have done");
	struct np_panel *p[2] = {
		f ? np_figure_panel(f, "Node-hours saved") : NULL,
		f ? np_figure_panel(f, "Change of the wait") : NULL,
	};

	for (int k = 0; p[0] && p[1] && k < 2; k++) {
		struct np_shape *shape;

		np_figure_axis(f, &p[k]->x, NP_AXIS_NAMES, "policy");
		np_figure_axis(f, &p[k]->y, NP_AXIS_LINEAR, k ?
			       "of the wait under the first policy (%)" :
			       "of node-hours used under the first policy (%)");
		shape = np_figure_shape(f, p[k], NP_SHAPE_POINTS, (unsigned)k,
					NULL);
		for (size_t i = 1; i < s->n_policies; i++) {
			const struct np_sim_share *v = k ?
				&s->policy[i].gain.delay :
				&s->policy[i].gain.recovered;

			np_figure_name(f, &p[k]->x, s->policy[i].name);
			np_figure_add(f, shape, (double)(i - 1),
				      100 * v->value, 100 * v->low,
				      100 * v->high);
		}
	}
	if (f)
		np_figure_caption(f, "Compared with %s; %zu jobs from %s on "
				  "%s; %zu seed%s; 95 %% intervals over weeks "
				  "and seeds. Predictions: %s.",
				  s->policy[0].name, s->log.n, s->source,
				  s->cluster_text, s->seeds_done,
				  s->seeds_done == 1 ? "" : "s",
				  s->models_text);
	return cli_figure_save(f, path);
}

/* ---- simulation ---- */

static volatile sig_atomic_t interrupted;

/* The simulation stops at its next event. */
static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Progress of the whole work. */
struct progress {
	struct cli_simulate *s;
	const char *policy;
	size_t part, parts; /* simulations done, and their total */
	int shown;	    /* percent that are displayed; -1: none yet */
};

/* Update the progress bar, on a terminal only. */
static void show(struct progress *p, int percent)
{
	if (percent == p->shown || !isatty(STDERR_FILENO))
		return;
	p->shown = percent;
	fprintf(stderr, "\r%3d %%  simulating %-40.40s", percent, p->policy);
	if (percent == 100)
		fprintf(stderr, "\r%60s\r", "");
}

/*
 * Called by the simulation now and then: update the progress, and stop after
 * ^C.
 */
static bool go_on(void *arg, size_t ended)
{
	struct progress *p = arg;

	p->s->share_done = ((double)p->part + (double)ended /
			    (double)p->s->log.n) / (double)p->parts;
	show(p, (int)(100 * p->s->share_done));
	return !interrupted;
}

/* --events: print one line for each start. */
static void log_start(void *arg, uint32_t job, const struct np_sim_outcome *fate,
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

/* Update the means in *to, which has n seeds already, with another seed. */
static void add_summary(struct np_sim_summary *to,
			const struct np_sim_summary *s, size_t n)
{
	double share = 1 / (double)(n + 1);
	const struct np_sim_summary was = *to;

	/*
	 * Members that are neither mean nor count are those of the last seed.
	 */
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
		    uint32_t seed, struct np_sim_outcome *fate)
{
	struct cli_sim_policy *policy = &s->policy[i];
	struct np_sim_input ask = {
		.cluster = &s->cluster, .job = s->job, .n = s->log.n,
		.scheduler = &s->o->scheduler, .slowdowns = s->slowdowns,
		.policy = &policy->p, .rigid = s->o->rigid,
		.started = s->events ? log_start : NULL,
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
	/* Interrupted simulations still have results of the jobs that ended. */
	s->stopped |= counts.stopped;
	/* The same jobs under the first policy are the reference. */
	rc = np_sim_summarise(&ask, fate, &counts, &sum);
	if (!rc && i)
		rc = np_sim_compare(&ask, s->without, fate, &policy->units);
	if (rc)
		return cli_fail("out of memory");
	add_summary(&policy->sum, &sum, seed);
	p->part++;
	return -1;
}

/* Keeps the first seed's jobs under the last policy, for print_groups(). */
static int simulate_all(struct cli_simulate *s)
{
	struct progress p = {
		.s = s, .parts = s->n_policies * s->o->seeds, .shown = -1,
	};
	struct np_sim_outcome *fate = calloc(s->log.n + 1, sizeof(*fate));
	int rc = -1;

	s->without = calloc(s->log.n + 1, sizeof(*fate));
	s->with = calloc(s->log.n + 1, sizeof(*fate));
	if (!fate || !s->without || !s->with)
		rc = cli_fail("out of memory");
	for (uint32_t seed = 0; rc < 0 && !s->stopped && seed < s->o->seeds;
	     seed++) {
		/* All policies see the same profiles in one seed. */
		cli_sim_draw(s, seed);
		for (size_t i = 0; rc < 0 && !interrupted &&
		     i < s->n_policies; i++) {
			rc = simulate(s, &p, i, seed, i ? fate : s->without);
			/* The last policy overwrites the ones before it. */
			if (!seed && i)
				memcpy(s->with, fate, s->log.n *
				       sizeof(*fate));
		}
		s->stopped |= interrupted && p.part < p.parts;
		s->seeds_done += rc < 0 && p.part >= s->n_policies;
	}
	for (size_t i = 1; rc < 0 && i < s->n_policies; i++)
		/* Intervals need the units (weeks) of all seeds. */
		if (s->policy[i].units.n &&
		    np_sim_gain(&s->policy[i].units, &s->policy[i].gain))
			rc = cli_fail("out of memory");
	show(&p, 100);
	free(fate);
	return rc;
}

/* ---- the command ---- */

#define FAIR_PERIOD_SEC 300	 /* PriorityCalcPeriod, Slurm's default */
#define HALF_LIFE_SEC (7 * 86400) /* PriorityDecayHalfLife, Slurm's default */

/* Read the inputs and open the file of events. */
static int prepare(struct cli_simulate *s)
{
	int rc = cli_sim_prepare(s);

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
	free(s->above);
	free(s->above_leaves);
	free(s->partition_of);
	free(s->profiles.name);
	np_slowdowns_unref(s->slowdowns);
	np_leaves_unref(s->leaves);
	np_queue_log_free(&s->log);
}

/* --set may be given several times. */
static int add_setting(char *text, void *at, struct np_err *err)
{
	struct cli_sim_ask *o = at;

	if (o->n_settings == CLI_SIM_SETTINGS)
		return np_errf(err, -EINVAL, "--set: more than %d",
			       CLI_SIM_SETTINGS);
	o->setting[o->n_settings++] = text;
	return 0;
}

/* --order=priority, submit or fairshare. */
static int take_order(char *text, void *at, struct np_err *err)
{
	struct cli_sim_ask *o = at;

	o->by_submission = !strcmp(text, "submit");
	o->fair = !strcmp(text, "fairshare");
	o->scheduler.fair_period_sec = o->fair ? FAIR_PERIOD_SEC : 0;
	if (!o->by_submission && !o->fair && strcmp(text, "priority"))
		return np_errf(err, -EINVAL, "--order=%.64s: expected priority, "
			       "submit or fairshare", text);
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
	{ "half-life", NP_OPTION_COUNT, AT(scheduler.fair_half_life_sec), 0,
	  1e9 },
	{ "completing", NP_OPTION_COUNT, AT(scheduler.completing_sec), 0,
	  86400 },
	{ NULL },
};

/* Options that exclude or need each other. */
static int check(const struct cli_cmd *self, const struct cli_sim_ask *o)
{
	if (!!o->swf + !!o->sacct + !!o->last != 1)
		return cli_usage(self, "simulate needs jobs: one of "
				 "--swf=FILE, --sacct=FILE and --last=30d");
	if (o->leaves && o->topology)
		return cli_usage(self, "expected only one of --leaves and "
				 "--topology");
	return -1;
}

/*
 * Policies are compared in memory; only --events writes while the simulation
 * runs.
 */
static int run_simulate(const struct cli_cmd *self, int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = (int)SA_RESETHAND };
	struct cli_sim_ask ask = { .seeds = 0 };
	struct cli_simulate s = { .o = &ask };
	struct cli_options o;
	int rc;

	/* Defaults, which the options then change. */
	np_sim_scheduler_init(&ask.scheduler);
	ask.scheduler.fair_half_life_sec = HALF_LIFE_SEC;
	rc = cli_options_parse(self, argc, argv, &ask, &o);
	if (rc < 0)
		rc = check(self, &ask);
	if (rc >= 0)
		return rc;
	/* Without --mix nothing is random, so one seed is enough. */
	if (!ask.seeds)
		ask.seeds = ask.mix ? 5 : 1;
	rc = prepare(&s);
	if (rc < 0) {
		sigaction(SIGINT, &act, NULL); /* a second one ends us */
		rc = simulate_all(&s);
	}
	if (s.events && fclose(s.events) && rc < 0)
		rc = cli_fail("%s: %s", ask.events, strerror(errno));
	if (rc < 0)
		rc = o.plot ? sim_plot(&s, o.plot) :
		     o.format ? sim_data(&s, o.format) : sim_text(&s);
	release(&s);
	return rc;
}

const struct cli_cmd cmd_simulate = {
	.name = "simulate",
	.args = "[--json|--parsable] --swf=FILE|--sacct=FILE|--last=30d "
		"[OPTION]...",
	.help = "what placement would have done to a queue of jobs",
	.text =
"Replays a queue of jobs through Slurm's scheduling rules and the placement\n"
"decision, with placement off and on, and prints what each policy would have\n"
"cost and saved.\n\n"
"Jobs (- is standard input; gzip is unpacked):\n"
"  --swf=FILE          a log in the Standard Workload Format\n"
"  --sacct=FILE        output of sacct --parsable2\n"
"  --last=30d          the last 30 days of this cluster's accounting\n"
"Cluster (default: Slurm is asked):\n"
"  --leaves=64x32      64 leaf switches with 32 nodes each; 4x16x32: in 4\n"
"                      groups with a switch above each\n"
"  --topology=FILE     a topology.conf or topology.yaml\n"
"  --cpus-per-node=N   processors of each node\n"
"Applications (default: the name of a job is the name of its profile):\n"
"  --rules=FILE        lines such as: lammps user=alice name=lmp*\n"
"  --mix=fft:20,unknown:80\n"
"                      draw the profile of each job, for several --seeds=N\n"
"  --pairs=FILE        predictions as victim, co-runner, percent (default:\n"
"                      those of the profiles in the store)\n"
"Policies:\n"
"  --policy=off,enforce:MaxSlowdown=20%\n"
"                      policies to simulate; all are compared with the first\n"
"  --set=KEY=VALUE     setting of netprof.conf(5) for all policies\n"
"  --order=submit      ignore the priorities of the log\n"
"  --order=fairshare   users who used less come first; --half-life=SEC (7 days)\n"
"  --fixed-run-times   jobs are never slowed\n"
"  --queue-depth=, --bf-interval=, --bf-window=, --bf-resolution=,\n"
"  --bf-max-job-test=  as in slurm.conf(5); times in seconds\n"
"  --completing=SEC    time until the nodes of an ended job are free\n"
"Output:\n"
"  --events=FILE       write each start with its reason\n"
"  --json, --parsable, --plot=FILE",
	.examples =
"  netprof simulate --last=30d --rules=rules --policy=off,prefer,enforce\n"
"  netprof simulate --swf=log.gz --leaves=64x32 --mix=fft:20,unknown:80\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = own, .most = 0,
	.run = run_simulate,
};
