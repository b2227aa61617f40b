/*
 * netprof simulate: what placement would have done to a queue of jobs.
 *
 * Jobs, cluster, profiles and policies are read first.  Then every policy is
 * simulated (np_simulate.h) with every seed, which draws the profiles of the
 * jobs anew; the first policy is the one that all others are compared with.
 * Results are means over the seeds.  Two of them keep single jobs, those of the
 * first seed under the first and the last policy, to show which users and sizes
 * of jobs gain or lose.
 *
 * Times are seconds of the log; node-hours are kept as node-seconds.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_json_put.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_predictions.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_slurm.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_bits.h"
#include "np_catalog.h"
#include "np_conf.h"
#include "np_fabric_store.h"
#include "np_figure.h"
#include "np_hostlist.h"
#include "np_queue_log.h"
#include "np_read.h"
#include "np_rng.h"
#include "np_sacct.h"
#include "np_simulate.h"
#include "np_slurm_file.h"
#include "np_topo.h"

/*
 * Results of simulations: a summary of one, and the difference that a placement
 * policy makes to the same queue.
 */

#define NP_SIM_LONG_HOLD_SEC 600 /* held longer than this is a long hold */
#define NP_SIM_SHORT_SEC 10 /* shorter run times count as this in slowdowns */
#define NP_SIM_WEEK_SEC (7 * 86400)
#define NP_SIM_MAX_UNITS 65536 /* weeks of all seeds */

struct np_sim_summary {
	size_t jobs, started, ended, cancelled, too_large;
	double wait_mean_sec, wait_median_sec, wait_p95_sec;
	double slowdown_mean; /* (wait + run time) / run time alone, bounded */
	double used_node_sec, lost_node_sec; /* lost: to interference */
	double utilisation; /* of all nodes, first submission to last end */
	double makespan_sec;
	/* Numbers of jobs: held by placement, held long, released as MaxDefer
	   was reached, restricted to leaves, slowed beyond their time limit,
	   and slowed at all. */
	size_t held, held_long, released, was_restricted, limits, slowed;
	double held_longest_sec;
	size_t decisions, main_starts, backfill_starts;
};

/*
 * Sums over the jobs submitted in one week with one seed that ended both
 * without and with the policy.
 */
struct np_sim_unit {
	double used, lost_without, lost_with; /* node-seconds */
	double wait_without, wait_with;	      /* seconds */
	double jobs;
};

struct np_sim_units {
	struct np_sim_unit *at;
	size_t n;
};

/* A ratio with its 95 % interval, which is NaN for a single week. */
struct np_sim_share {
	double value, low, high;
};

struct np_sim_gain {
	struct np_sim_share recovered; /* node-seconds no longer lost, over
					  those used without the policy */
	struct np_sim_share delay;     /* change of the wait, over that without
					  the policy */
	double wait_change_sec;	       /* per job, mean */
};

#define REPLICATES 1000 /* bootstrap samples */

/* Whether a job has run to its end. */
static bool has_ended(const struct np_sim_outcome *f)
{
	return f->start_sec >= 0 && f->end_sec >= 0;
}

/* Wait from when it was eligible, seconds. */
static double wait_sec(const struct np_sim_outcome *f)
{
	return (double)(f->start_sec - f->eligible_sec);
}

/*
 * Run time lost to interference: what the run took longer than alone. A job
 * that was ended by its time limit has lost only up to that limit.
 */
static double lost_sec(const struct np_sim_job *j, const struct np_sim_outcome *f)
{
	double ran = (double)(f->end_sec - f->start_sec);

	return f->slowed && ran > j->run_sec ? ran - j->run_sec : 0;
}

/* Add a job that ended to the summary. */
static void add_job(struct np_sim_summary *s, const struct np_sim_job *j,
		    const struct np_sim_outcome *f)
{
	double ran = (double)(f->end_sec - f->start_sec);
	double alone = j->run_sec > NP_SIM_SHORT_SEC ? j->run_sec :
						       NP_SIM_SHORT_SEC;

	s->ended++;
	s->slowdown_mean += fmax(1, (wait_sec(f) + ran) / alone);
	s->used_node_sec += j->nodes * ran;
	s->lost_node_sec += j->nodes * lost_sec(j, f);
	s->limits += f->limit && f->slowed && j->run_sec < j->limit_sec;
	s->slowed += f->slowed;
}

/* Add what placement did to a job. */
static void add_hold(struct np_sim_summary *s, const struct np_sim_outcome *f)
{
	s->was_restricted += f->was_restricted;
	s->held += f->held_sec > 0;
	s->held_long += f->held_sec > NP_SIM_LONG_HOLD_SEC;
	s->released += f->released;
	s->held_longest_sec = fmax(s->held_longest_sec, f->held_sec);
}

/* Quantile of sorted values: the nearest of them. */
static double quantile(const double *sorted, size_t n, double q)
{
	return n ? sorted[(size_t)(q * (double)(n - 1) + .5)] : 0;
}

/* Returns 0 or -ENOMEM. */
static int sim_summarise(const struct np_sim_input *input,
			 const struct np_sim_outcome *outcome,
			 const struct np_sim_counts *counts,
			 struct np_sim_summary *out)
{
	double *wait = malloc((input->n + 1) * sizeof(*wait)), sum = 0;
	struct np_sim_summary s = {
		.jobs = input->n, .decisions = counts->decisions,
		.main_starts = counts->main_starts,
		.backfill_starts = counts->backfill_starts,
		.makespan_sec = (double)(counts->last_sec - counts->first_sec),
	};

	if (!wait)
		return -ENOMEM;
	for (size_t i = 0; i < input->n; i++) {
		const struct np_sim_outcome *f = &outcome[i];

		s.cancelled += f->how == NP_SIM_CANCELLED;
		s.too_large += f->how == NP_SIM_TOO_LARGE;
		add_hold(&s, f);
		if (f->start_sec < 0)
			continue;
		wait[s.started++] = wait_sec(f);
		sum += wait_sec(f);
		if (has_ended(f))
			add_job(&s, &input->job[i], f);
	}
	qsort(wait, s.started, sizeof(*wait), np_order_double);
	s.wait_mean_sec = s.started ? sum / (double)s.started : 0;
	s.wait_median_sec = quantile(wait, s.started, .5);
	s.wait_p95_sec = quantile(wait, s.started, .95);
	s.slowdown_mean = s.ended ? s.slowdown_mean / (double)s.ended : 0;
	s.utilisation = s.makespan_sec > 0 ? s.used_node_sec / s.makespan_sec /
		(double)input->cluster->leaves->n_nodes : 0;
	free(wait);
	*out = s;
	return 0;
}

/* Append the weeks of one seed. Returns 0 or -ENOMEM. */
static int sim_compare(const struct np_sim_input *input,
		       const struct np_sim_outcome *without,
		       const struct np_sim_outcome *with,
		       struct np_sim_units *units)
{
	int64_t first = input->n ? input->job[0].submit_sec : 0;
	int64_t last = input->n ? input->job[input->n - 1].submit_sec : 0;
	size_t weeks = (size_t)((last - first) / NP_SIM_WEEK_SEC) + 1;
	struct np_sim_unit *u;

	if (units->n + weeks > NP_SIM_MAX_UNITS)
		weeks = 1;
	if (np_array_resize(&units->at, units->n + weeks, sizeof(*u)))
		return -ENOMEM;
	u = units->at + units->n;
	units->n += weeks;
	for (size_t i = 0; i < weeks; i++)
		u[i] = (struct np_sim_unit){ .jobs = 0 };
	for (size_t i = 0; i < input->n; i++) {
		const struct np_sim_job *j = &input->job[i];
		size_t week = (size_t)((j->submit_sec - first) /
				       NP_SIM_WEEK_SEC);
		struct np_sim_unit *w = &u[week < weeks ? week : 0];

		if (!has_ended(&without[i]) || !has_ended(&with[i]))
			continue;
		w->jobs++;
		w->used += j->nodes * (double)(without[i].end_sec -
					       without[i].start_sec);
		w->lost_without += j->nodes * lost_sec(j, &without[i]);
		w->lost_with += j->nodes * lost_sec(j, &with[i]);
		w->wait_without += wait_sec(&without[i]);
		w->wait_with += wait_sec(&with[i]);
	}
	return 0;
}

/* Add the sums of one week to others. */
static void add(struct np_sim_unit *to, const struct np_sim_unit *u)
{
	to->used += u->used;
	to->lost_without += u->lost_without;
	to->lost_with += u->lost_with;
	to->wait_without += u->wait_without;
	to->wait_with += u->wait_with;
	to->jobs += u->jobs;
}

/* Node-seconds no longer lost, relative to those used without the policy. */
static double recovered(const struct np_sim_unit *u)
{
	return u->used > 0 ? (u->lost_without - u->lost_with) / u->used : 0;
}

/* Relative change of the total wait; NaN if only the policy makes jobs wait. */
static double delay(const struct np_sim_unit *u)
{
	if (u->wait_without > 0)
		return u->wait_with / u->wait_without - 1;
	return u->wait_with > 0 ? NAN : 0;
}

/*
 * Intervals are from a bootstrap over weeks and seeds. Returns 0 or -ENOMEM.
 */
static int sim_gain(const struct np_sim_units *units, struct np_sim_gain *out)
{
	struct np_rng *rng = np_rng_new(1, "weeks");
	double *a = malloc(2 * REPLICATES * sizeof(*a)), *b = a + REPLICATES;
	struct np_sim_unit all = { .jobs = 0 };
	struct np_sim_gain g;

	if (!rng || !a) {
		np_rng_free(rng);
		free(a);
		return -ENOMEM;
	}
	for (size_t i = 0; i < units->n; i++)
		add(&all, &units->at[i]);
	for (int r = 0; r < REPLICATES; r++) {
		struct np_sim_unit u = { .jobs = 0 };

		for (size_t i = 0; i < units->n; i++)
			add(&u, &units->at[np_rng_below(rng, units->n)]);
		a[r] = recovered(&u);
		b[r] = delay(&u);
	}
	qsort(a, REPLICATES, sizeof(*a), np_order_double);
	qsort(b, REPLICATES, sizeof(*b), np_order_double);
	g.recovered = (struct np_sim_share){ recovered(&all), NAN, NAN };
	g.delay = (struct np_sim_share){ delay(&all), NAN, NAN };
	if (units->n > 1) {
		g.recovered.low = quantile(a, REPLICATES, .025);
		g.recovered.high = quantile(a, REPLICATES, .975);
	}
	if (units->n > 1 && !isnan(g.delay.value)) {
		g.delay.low = quantile(b, REPLICATES, .025);
		g.delay.high = quantile(b, REPLICATES, .975);
	}
	g.wait_change_sec = all.jobs > 0 ?
		(all.wait_with - all.wait_without) / all.jobs : 0;
	np_rng_free(rng);
	free(a);
	*out = g;
	return 0;
}

/* The inputs and results of `netprof simulate`. */

#define CLI_SIM_POLICIES 16
#define CLI_SIM_SEEDS 100
#define CLI_SIM_SETTINGS 16
#define CLI_SIM_NAME 64 /* bytes of the name of a policy or profile */

/* Names of profiles; the index of a name is the handle of its profile. */
struct cli_sim_profiles {
	char (*name)[CLI_SIM_NAME];
	size_t n;
};

struct cli_sim_policy {
	char name[CLI_SIM_NAME]; /* "enforce", "enforce:MaxSlowdown=20%" */
	struct np_sim_policy p;
	struct np_sim_summary sum; /* means over seeds */
	struct np_sim_units units; /* differences from the first policy */
	struct np_sim_gain gain;
};

#define MAX_MIX 64 /* names in --mix */

/* The options of the command. */
struct cli_sim_options {
	const char *swf, *sacct, *last; /* source of the jobs: one of them */
	const char *topology;		/* source of the cluster, or --leaves */
	unsigned groups, leaves, nodes; /* --leaves; leaves 0: not given */
	uint32_t cpus;			/* --cpus-per-node; 0: not given */
	const char *rules, *pairs, *policies, *events;
	struct {
		const char *name[MAX_MIX];
		double share[MAX_MIX], sum;
		size_t n; /* 0: not given */
	} mix;
	const char *shares; /* output of sshare */
	char *setting[CLI_SIM_SETTINGS];
	size_t n_settings;
	uint32_t seeds;
	bool by_submission; /* --order=submit */
	bool fair;	    /* --order=fairshare */
	bool rigid;	    /* --fixed-run-times */
	struct np_sim_scheduler scheduler;
};

struct cli_simulate {
	const struct cli_sim_options *o;
	struct np_queue_log log;
	char source[256]; /* where the jobs are from, in words */

	struct np_leaves *leaves;
	struct np_sim_cluster cluster;
	struct np_sim_switch *above; /* above leaf switches */
	uint64_t *above_leaves;	     /* bitmaps of the leaves below each */
	uint64_t *sets; /* nodes of the partitions, as bitmaps */
	const uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t *partition_of; /* by text of the log: its partition, from 1 */
	char cluster_text[160];

	/* Associations of accounts and users, by "ACCOUNT" and "ACCOUNT|USER";
	   none: all users have equal shares. */
	struct np_sim_assoc *assoc;
	struct np_index associations;
	struct np_sim_job *job; /* log.n */
	struct cli_sim_profiles profiles;
	/* How profiles slow each other, and without uncertain predictions,
	   on which placement does not act. */
	struct np_slowdowns *slowdowns, *known;
	size_t n_uncertain; /* pairs of victim and co-runner */
	char models_text[200];	/* where the predictions are from, in words */
	double known_node_sec, all_node_sec; /* jobs with a profile; all jobs */
	size_t known_jobs;
	double worst; /* largest slowdown among the profiles that occur */
	uint32_t merged; /* partitions beyond the limit, merged into the last */

	struct cli_sim_policy policy[CLI_SIM_POLICIES];
	size_t n_policies, seeds_done;
	bool stopped;	   /* by the user */
	double share_done; /* of the whole work */
	/* Jobs under the first and the last policy, of the first seed. */
	struct np_sim_outcome *without, *with;
	FILE *events; /* --events, or NULL */
};
/*
 * The inputs of netprof simulate.
 *
 *	jobs		a log in the Standard Workload Format, or of sacct
 *	cluster		--leaves, a topology file, or scontrol
 *	shares		of accounts and users, from sshare
 *	queue		the jobs of the log on this cluster
 *	profiles	which application each job is, and the slowdown matrix
 *	policies	modes of placement with their settings
 *
 * They are read in this order, because each needs the ones before it.  The
 * readers return -1 to go on, or the exit status after printing why.
 *
 * Slowdowns come from a table of pairs or from the same catalogue of profiles
 * that the placement plugin uses, so that the simulation decides as it would.
 */

#define MAX_RESPONSE (16u << 20) /* output of Slurm's commands, bytes */
#define MAX_RULES_FILE (1u << 20) /* bytes */
#define MAX_NEGLIGIBLE 0.01	  /* slowdowns up to this count as none */
#define MAX_LEVELS 16		  /* of switches above leaf switches */
#define MAX_LISTED (16u * NP_LEAVES_MAX_NODES) /* names of nodes in lists */
#define SCONTROL_SEC 20		  /* timeout */
#define CATALOG_SEC 120		  /* timeout for all predictions */

/* ---- jobs ---- */

/* The unit of --last=30d in the words of sacct; NULL: it is no such time. */
static const char *unit_of_last(const char *last, size_t *digits)
{
	static const char letters[] = "dhmw";
	static const char *const units[] = { "days", "hours", "minutes",
					     "weeks" };
	const char *letter;

	*digits = strspn(last, "0123456789");
	if (!*digits || *digits > 5 || !last[*digits] || last[*digits + 1])
		return NULL;
	letter = strchr(letters, last[*digits]);
	return letter ? units[letter - letters] : NULL;
}

/*
 * The end of sacct. If it failed, what it printed is not all; but the reader may
 * have ended it, too, after an error of its own.
 */
static int close_accounting(FILE *f, int rc, struct np_err *err)
{
	int status = pclose(f);
	bool failed = !WIFEXITED(status) || WEXITSTATUS(status);

	if (!failed || (rc && WIFSIGNALED(status)))
		return rc;
	return rc ? np_errf(err, rc, "sacct returned no jobs: is accounting "
			    "enabled?  (netprof check)") :
		    np_errf(err, -EIO, "sacct failed before it had printed "
			    "all jobs; run it by hand to see why");
}

/* The output of sacct may be long, so it is read from a pipe. */
static int read_accounting(struct cli_simulate *s, struct np_err *err)
{
	const char *last = s->o->last;
	size_t digits;
	const char *unit = unit_of_last(last, &digits);
	char command[512], delimiter[32];
	FILE *f;
	int rc;

	cli_sacct_delimiter(delimiter, sizeof(delimiter));
	snprintf(command, sizeof(command), "SLURM_TIME_FORMAT=%%s exec sacct -a "
		 "-X -P -S now-%.*s%s --delimiter='%s' -o JobID,User,Account,"
		 "JobName,Partition,Submit,Eligible,Start,End,ElapsedRaw,"
		 "TimelimitRaw,NNodes,NCPUS,State,Priority,Reservation,"
		 "SubmitLine </dev/null", (int)digits, last, unit, delimiter);
	/* The command begins with exec: pclose() waits for sacct itself. */
	f = popen(command, "re");
	if (!f)
		return np_errf(err, -errno, "sacct: %s", strerror(errno));
	/* The reader closes its descriptor, and pclose() the other one. */
	rc = np_queue_log_read_fd(dup(fileno(f)), "sacct", delimiter,
				  cli_warn_line, NULL, &s->log, err);
	return close_accounting(f, rc, err);
}

/* Read the log, or the accounting, into s->log. */
static int read_jobs(struct cli_simulate *s)
{
	const char *path = s->o->swf ? s->o->swf : s->o->sacct;
	struct np_err err = NP_ERR_INIT;
	int rc = path ? np_queue_log_read(path, cli_warn_line, NULL, &s->log,
					  &err) :
			read_accounting(s, &err);

	if (rc)
		return cli_fail("%s", err.text);
	snprintf(s->source, sizeof(s->source), "%s%s",
		 path ? path : "accounting, last ", path ? "" : s->o->last);
	return -1;
}

/* ---- the cluster ---- */

/* Leaf switches and the numbers of their nodes, and the switches above them. */
struct map {
	struct np_index nodes;
	struct leaf {
		char name[64];
		uint32_t *node;
		size_t n;
		size_t number; /* in the form of the placement decision */
	} *leaf;
	size_t n;
	struct above {
		char name[64];
		char *children; /* list of switches, of either kind */
		uint32_t level; /* 0: its leaves are not known yet */
		uint64_t *leaves;
	} *above;
	size_t n_above;
	size_t words; /* of a bitmap of leaves */
	size_t n_listed; /* names of nodes in lists so far */
	struct np_index defined; /* names of switches that lines define */
};

/* Free what the readers of topologies collected. */
static void map_free(struct map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->leaf[i].node);
	for (size_t i = 0; i < m->n_above; i++)
		free(m->above[i].children);
	free(m->leaf);
	free(m->above);
	np_index_free(&m->nodes);
	np_index_free(&m->defined);
}

/* A node that is listed under several leaves is put on the first. */
static int add_node(void *arg, const char *name)
{
	struct map *m = arg;
	struct leaf *l = &m->leaf[m->n - 1];
	size_t before = m->nodes.n;
	uint32_t node;

	/* A short list may have many names, which are on an earlier leaf. */
	if (m->n_listed++ == MAX_LISTED)
		return -E2BIG;
	node = np_index_add(&m->nodes, name, strlen(name));
	/* Known already: the node is under an earlier leaf. */
	if (m->nodes.n == before)
		return node == NP_NO_INDEX ? -ENOMEM : 0;
	if (m->nodes.n > NP_LEAVES_MAX_NODES)
		return -E2BIG;
	if (np_array_grow(&l->node, l->n, sizeof(*l->node)))
		return -ENOMEM;
	l->node[l->n++] = node;
	return 0;
}

/* Append a leaf switch with its nodes. */
static int add_leaf(struct map *m, const char *name, const char *nodes)
{
	if (np_array_grow(&m->leaf, m->n, sizeof(*m->leaf)))
		return -ENOMEM;
	m->leaf[m->n] = (struct leaf){ .n = 0 };
	snprintf(m->leaf[m->n++].name, sizeof(m->leaf->name), "%s", name);
	return np_hostlist_each(nodes, add_node, m);
}

static int ignore_name(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return 0;
}

/* Append a switch above other switches. */
static int add_above(struct map *m, const char *name, const char *children)
{
	int rc = np_hostlist_each(children, ignore_name, NULL);
	struct above *w;

	if (rc)
		return rc;
	if (np_array_grow(&m->above, m->n_above, sizeof(*m->above)))
		return -ENOMEM;
	w = &m->above[m->n_above];
	*w = (struct above){ .children = strdup(children) };
	snprintf(w->name, sizeof(w->name), "%s", name);
	m->n_above += w->children != NULL;
	return w->children ? 0 : -ENOMEM;
}

/* A line of topology/block: a base block with its nodes, or none. */
static int take_block(struct map *m, const struct np_slurm_line *line,
		      struct np_err *err)
{
	const char *name = NULL, *nodes = NULL;
	struct np_slurm_pair p;
	char *text = line->text;
	int rc = 0;

	/* Other keys of the line, such as BlockSizes=, do not matter here. */
	while (np_slurm_pair(&text, &p)) {
		if (!strcasecmp(p.key, "BlockName"))
			name = p.value;
		else if (!strcasecmp(p.key, "Nodes"))
			nodes = p.value;
	}
	if (name && nodes)
		rc = add_leaf(m, name, nodes);
	return rc ? np_errf(err, rc, "%s:%u: not a node list, or too long: "
			    "%.64s", line->path, line->number, nodes) : 0;
}

/* Handle one line of topology.conf, or of scontrol. */
static int take_switch(void *arg, const struct np_slurm_line *line,
		       struct np_err *err)
{
	const char *text = line->text + strspn(line->text, " \t");
	struct np_topo_switch s;
	struct map *m = arg;
	size_t known = m->defined.n;
	int rc;

	if (!strncasecmp(text, "Block", 5) ||
	    !strncasecmp(text, "AggregatedBlock", 15))
		return take_block(m, line, err);
	rc = np_topo_switch(line, &s, err);
	if (rc)
		return rc;
	if (strlen(s.name) >= sizeof(m->leaf->name))
		return np_errf(err, -EINVAL, "%s:%u: %.64s...: expected a name "
			       "of at most %zu characters", line->path,
			       line->number, s.name, sizeof(m->leaf->name) - 1);
	if (np_index_add(&m->defined, s.name, strlen(s.name)) < known)
		return np_errf(err, -EINVAL, "%s:%u: %s is defined twice",
			       line->path, line->number, s.name);
	if (m->defined.n == known)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = s.below ? add_above(m, s.name, s.below) :
	     s.nodes ? add_leaf(m, s.name, s.nodes) : 0;
	return rc ? np_errf(err, rc, "%s:%u: not a node list, or too long: "
			    "%.64s", line->path, line->number,
			    s.below ? s.below : s.nodes) : 0;
}

/* Finds a child that no line defines. */
struct undefined {
	const struct map *m;
	char name[64];
};

static int check_child(void *arg, const char *name)
{
	struct undefined *u = arg;

	if (np_index_find(&u->m->defined, name, strlen(name)) != NP_NO_INDEX)
		return 0;
	snprintf(u->name, sizeof(u->name), "%s", name);
	return -ENOENT;
}

/* slurmctld does not start if a switch names one that does not exist. */
static int check_children(const struct map *m, const char *path,
			  struct np_err *err)
{
	struct undefined u = { .m = m };

	for (size_t i = 0; i < m->n_above; i++)
		if (np_hostlist_each(m->above[i].children, check_child, &u) ==
		    -ENOENT)
			return np_errf(err, -EINVAL, "%s: %s names %s, which "
				       "no line defines", path,
				       m->above[i].name, u.name);
	return 0;
}

/*
 * Blank out the comments of YAML, and carriage returns. A comment begins at the
 * beginning of a line, or behind white space, and not in quotes.
 */
static void blank_comments(char *text)
{
	char quote = '\0', before = '\n';

	for (char *p = text; *p; before = *p++) {
		if (*p == '\r') {
			*p = ' ';
		} else if (quote && (*p == quote || *p == '\n')) {
			quote = '\0';
		} else if (!quote && (*p == '"' || *p == '\'')) {
			quote = *p;
		} else if (!quote && *p == '#' &&
			   isspace((unsigned char)before)) {
			size_t n = strcspn(p, "\n");

			memset(p, ' ', n);
			p += n - 1;
		}
	}
}

/*
 * The "-" at the beginning of a line, or "{", of the next item of a list; NULL:
 * there is none.  first: p is the beginning of a line.
 */
static char *next_item(char *p, bool first)
{
	for (; *p; p++, first = false) {
		char *at = p + (*p == '\n');

		if (*p == '{')
			return p;
		at += first || *p == '\n' ? strspn(at, " \t") : 0;
		if ((first || *p == '\n') && *at == '-' &&
		    isspace((unsigned char)at[1]))
			return at;
	}
	return NULL;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * The next key at or behind p, which ":" or "\":" follows; *len: without that.
 * NULL: there is none.
 */
static const char *next_key(const char *p, size_t *len)
{
	for (; *p; p += *len + !*len) {
		*len = 0;
		while (is_word(p[*len]))
			++*len;
		if (*len && p[*len + (p[*len] == '"')] == ':')
			return p;
	}
	return NULL;
}

/*
 * Length of a value without quotes: up to the next key of "a: b, c: d", or the
 * end of the item or document. It may have several lines.
 */
static size_t plain_len(const char *value)
{
	size_t n = 0, len;
	const char *key = next_key(value, &len);

	while (value[n] && value[n] != '}' && value + n != key &&
	       (value[n] != '\n' || !strchr("-.", value[n + 1])))
		n++;
	while (n && (isspace((unsigned char)value[n - 1]) ||
		     strchr(",\"", value[n - 1])))
		n--;
	return n;
}

/* Copy the value of a key of an item; false: it is not there. */
static bool yaml_value(const char *item, const char *key, char *buf)
{
	const char *p = item;
	size_t len, n;

	while ((p = next_key(p, &len)) &&
	       (len != strlen(key) || memcmp(p, key, len)))
		p += len;
	if (!p)
		return false;
	p += len + (p[len] == '"') + 1;
	p += strspn(p, " \t\n");
	if (*p == '"' || *p == '\'') {
		const char end[] = { *p++, '\0' };

		n = strcspn(p, end);
	} else {
		n = plain_len(p);
	}
	memcpy(buf, p, n);
	buf[n] = '\0';
	return true;
}

/* An item without nodes and children: is there a key that was meant so? */
static int check_keys(const char *item, const char *path, unsigned line,
		      const char *name, struct np_err *err)
{
	static const char *const known[] = { "switch", "block", "topology",
					     "cluster_default" };
	size_t len, k;

	for (const char *p = item; (p = next_key(p, &len)); p += len) {
		for (k = 0; k < NP_ARRAY_SIZE(known); k++)
			if (len == strlen(known[k]) &&
			    !memcmp(p, known[k], len))
				break;
		if (k == NP_ARRAY_SIZE(known))
			return np_errf(err, -EINVAL, "%s:%u: %s: unknown key "
				       "\"%.*s\", expected nodes or children",
				       path, line, name, (int)len, p);
	}
	return 0;
}

/*
 * An item of a list, which begins in this line: a switch, a block, or something
 * else.
 */
static int take_item(struct map *m, const char *path, unsigned line,
		     const char *item, char *value, struct np_err *err)
{
	char name[sizeof(m->leaf->name)];
	bool nodes;
	int rc;

	if ((!yaml_value(item, "switch", value) &&
	     !yaml_value(item, "block", value)) || !*value)
		return 0;
	if (strlen(value) >= sizeof(name))
		return np_errf(err, -EINVAL, "%s:%u: %.64s...: expected a name "
			       "of at most %zu characters", path, line, value,
			       sizeof(name) - 1);
	strcpy(name, value);
	if (np_index_add(&m->defined, name, strlen(name)) == NP_NO_INDEX)
		return np_errf(err, -ENOMEM, "out of memory");
	nodes = yaml_value(item, "nodes", value);
	if (!nodes && !yaml_value(item, "children", value))
		return check_keys(item, path, line, name, err);
	/* No list is empty, begins as other forms of a text do, or has quotes. */
	rc = !*value || strchr("|>&*!", *value) || strpbrk(value, "\"';") ?
		-EINVAL :
	     nodes ? add_leaf(m, name, value) : add_above(m, name, value);
	return rc ? np_errf(err, rc, "%s:%u: %s: not a list such as n[0-3],n7, "
			    "or too long: \"%.64s\"", path, line, name,
			    value) : 0;
}

static unsigned count_lines(const char *text, const char *end)
{
	unsigned n = 0;

	for (; text < end; text++)
		n += *text == '\n';
	return n;
}

/* topology.yaml(5): lists of switches or blocks, in block or flow style. */
static int read_yaml(struct map *m, const char *path, struct np_err *err)
{
	char *text, *value, *item, *next;
	unsigned line = 1;
	size_t len;
	int rc = np_read_file(path, MAX_RESPONSE, &text, &len, err);

	if (rc)
		return rc;
	value = malloc(len + 1);
	if (!value)
		rc = np_errf(err, -ENOMEM, "out of memory");
	blank_comments(text);
	item = next_item(text, true);
	line += item ? count_lines(text, item) : 0;
	for (; !rc && item; item = next) {
		next = next_item(item + 1, false);
		if (next)
			*next = '\0';
		rc = take_item(m, path, line, item + 1, value, err);
		line += next ? count_lines(item, next) : 0;
	}
	free(value);
	free(text);
	return rc;
}

/* A topology file, in YAML if its name ends in .yaml. */
static int read_topology(struct map *m, const char *path, struct np_err *err)
{
	size_t len = strlen(path);
	int rc = len > 5 && !strcmp(path + len - 5, ".yaml") ?
		read_yaml(m, path, err) :
		np_slurm_file(path, NULL, take_switch, m, err);

	if (!rc)
		rc = check_children(m, path, err);
	if (!rc && !m->n)
		rc = np_errf(err, -EINVAL, "%s: no leaf switch with nodes",
			     path);
	return rc;
}

/* The switches above groups of leaves, and one above all. */
static int make_leaf_groups(struct map *m, unsigned groups, unsigned leaves)
{
	char name[64], list[64];
	int rc = 0;

	for (unsigned i = 0; !rc && i < groups; i++) {
		snprintf(name, sizeof(name), "group%u", i);
		snprintf(list, sizeof(list), "leaf[%u-%u]", i * leaves,
			 (i + 1) * leaves - 1);
		rc = add_above(m, name, list);
	}
	return rc;
}

/* --leaves */
static int make_leaves(struct map *m, const struct cli_sim_options *o,
		       struct np_err *err)
{
	unsigned groups = o->groups, leaves = o->leaves, nodes = o->nodes;
	char name[64], list[64];
	int rc = 0;

	/* Nodes are numbered through all leaves, as on a real cluster. */
	for (unsigned i = 0; !rc && i < leaves * (groups ? groups : 1); i++) {
		snprintf(name, sizeof(name), "leaf%u", i);
		snprintf(list, sizeof(list), "n[%u-%u]", i * nodes,
			 (i + 1) * nodes - 1);
		rc = add_leaf(m, name, list);
	}
	if (!rc)
		rc = make_leaf_groups(m, groups, leaves);
	return rc ? np_errf(err, rc, "out of memory") : 0;
}

/* Take the switches above leaves from what scontrol printed. */
static int take_above(struct map *m, char *text)
{
	char *save = NULL;
	int rc = 0;

	for (char *line = strtok_r(text, "\n", &save); !rc && line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *name = NULL, *below = NULL;
		struct np_slurm_pair p;

		while (np_slurm_printed_pair(&line, &p))
			if (!strcmp(p.key, "SwitchName"))
				name = p.value;
			else if (!strcmp(p.key, "Switches"))
				below = p.value;
		if (name && below)
			rc = add_above(m, name, below);
	}
	return rc;
}

/* The current topology, by scontrol. */
static int current_topology(struct map *m, struct np_err *err)
{
	static char *const argv[] = { "scontrol", "show", "topology", NULL };
	char *text = malloc(MAX_RESPONSE);
	struct np_topo t = { .n = 0 };
	int rc;

	if (!text)
		return np_errf(err, -ENOMEM, "out of memory");
	if (cli_spawn(argv, SCONTROL_SEC, text, MAX_RESPONSE))
		rc = np_errf(err, -ENODATA, "Slurm does not answer; describe "
			     "the cluster with --leaves=64x32 or "
			     "--topology=topology.conf");
	else
		rc = np_topo_parse(text, &t, err);
	for (size_t i = 0; !rc && i < t.n; i++) {
		rc = add_leaf(m, t.leaf[i].name, t.leaf[i].nodes);
		if (rc)
			np_errf(err, rc, "scontrol: %.64s: not a node list, "
				"or too long: %.64s", t.leaf[i].name,
				t.leaf[i].nodes);
	}
	if (!rc && !m->n)
		rc = np_errf(err, -ENODATA, "Slurm has no leaf switches; "
			     "describe the cluster with --leaves=64x32 or "
			     "--topology=topology.conf");
	if (!rc && (rc = take_above(m, text)))
		np_errf(err, rc, rc == -ENOMEM ? "out of memory" :
			"scontrol show topology: not a list of switches");
	np_topo_free(&t);
	free(text);
	return rc;
}

/* Processors of a node of this cluster, as most nodes have; 0: unknown. */
static uint32_t cluster_cpus(void)
{
	static char *const argv[] = { "sinfo", "-h", "-e", "-o", "%D %c",
				      NULL };
	char text[4096], count[2][16], *rest = text, *line;
	uint32_t nodes, cpus, most = 0, found = 0;

	if (cli_spawn(argv, SCONTROL_SEC, text, sizeof(text)))
		return 0;
	while ((line = strsep(&rest, "\n")) &&
	       sscanf(line, "%15s %15s", count[0], count[1]) == 2 &&
	       !np_sacct_count(count[0], &nodes) &&
	       !np_sacct_count(count[1], &cpus)) /* "1K" for 1024 */
		if (nodes > most) {
			most = nodes;
			found = cpus;
		}
	return found;
}

/*
 * Turn the map into the form of the placement decision, without empty leaves.
 */
static int build_leaves(struct cli_simulate *s, struct map *m,
			struct np_err *err)
{
	struct np_leaf *leaf = calloc(m->n + 1, sizeof(*leaf));
	size_t n = 0;
	int rc;

	if (!leaf)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->n; i++) {
		m->leaf[i].number = n;
		if (m->leaf[i].n)
			leaf[n++] = (struct np_leaf){ m->leaf[i].name,
						      m->leaf[i].node,
						      m->leaf[i].n };
	}
	rc = np_leaves_new(m->nodes.n, leaf, n, &s->leaves, err);
	free(leaf);
	return rc;
}

/* The switch whose children are collected. */
struct collect {
	struct map *m;
	struct above *to;
	unsigned depth; /* of switches above each other */
};

static int collect(struct map *m, struct above *w, unsigned depth);

/* Add the leaves of a child to a switch; unknown children have none. */
static int add_child(void *arg, const char *name)
{
	const struct collect *c = arg;
	struct map *m = c->m;
	int rc;

	for (size_t i = 0; i < m->n; i++)
		if (m->leaf[i].n && !strcmp(m->leaf[i].name, name))
			np_bits_set(c->to->leaves, m->leaf[i].number);
	for (size_t i = 0; i < m->n_above; i++) {
		struct above *w = &m->above[i];

		if (strcmp(w->name, name))
			continue;
		rc = collect(m, w, c->depth + 1);
		if (rc)
			return rc;
		np_bits_or(c->to->leaves, w->leaves, m->words);
		if (c->to->level <= w->level)
			c->to->level = w->level + 1;
	}
	return 0;
}

/* Find out which leaves are below a switch, and its level. */
static int collect(struct map *m, struct above *w, unsigned depth)
{
	struct collect c = { m, w, depth };
	int rc;

	if (w->level)
		return 0;
	if (depth > MAX_LEVELS)
		return -EINVAL;
	rc = np_hostlist_each(w->children, add_child, &c);
	if (!w->level)
		w->level = 1;
	return rc;
}

/* The switches above leaves, as the simulation has them. */
static int build_switches(struct cli_simulate *s, struct map *m,
			  struct np_err *err)
{
	struct np_sim_switch *to = calloc(m->n_above + 1, sizeof(*to));
	int rc = 0;

	m->words = s->leaves->words;
	s->above = to;
	s->above_leaves = calloc(m->n_above * m->words + 1, sizeof(uint64_t));
	if (!to || !s->above_leaves)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->n_above; i++)
		m->above[i].leaves = s->above_leaves + i * m->words;
	for (size_t i = 0; !rc && i < m->n_above; i++) {
		rc = collect(m, &m->above[i], 1);
		if (rc)
			return np_errf(err, rc, "%s: switch %s: not a list of "
				       "switches, or more than %d levels: "
				       "%.64s", s->o->topology ?
				       s->o->topology : "scontrol show "
				       "topology", m->above[i].name,
				       MAX_LEVELS, m->above[i].children);
		to[i] = (struct np_sim_switch){ m->above[i].level,
						m->above[i].leaves };
	}
	s->cluster.above = to;
	s->cluster.n_switches = m->n_above;
	return 0;
}

/* A log does not say which nodes a partition has, so each has all of them. */
static int make_partitions(struct cli_simulate *s)
{
	size_t words = s->leaves->node_words;

	s->sets = calloc(words, sizeof(*s->sets));
	s->partition_of = calloc(s->log.text.n + 1, sizeof(uint32_t));
	if (!s->sets || !s->partition_of)
		return cli_fail("out of memory");
	/* One set of all nodes serves for every partition. */
	for (size_t i = 0; i < s->leaves->n_nodes; i++)
		np_bits_set(s->sets, i);
	for (size_t i = 0; i < s->log.n; i++) {
		uint32_t text = s->log.job[i].partition;

		if (text == NP_QUEUE_NONE || s->partition_of[text])
			continue;
		/* The last partition takes all that are beyond the limit. */
		if (s->cluster.n_partitions + 1 < NP_SIM_MAX_PARTITIONS)
			s->cluster.n_partitions++;
		else
			s->merged++;
		s->partition_of[text] = (uint32_t)s->cluster.n_partitions;
	}
	if (!s->cluster.n_partitions)
		s->cluster.n_partitions = 1;
	for (size_t i = 0; i < s->cluster.n_partitions; i++)
		s->partition[i] = s->sets;
	s->cluster.partition = s->partition;
	return -1;
}

/*
 * The cluster from --leaves, --topology or Slurm, with the processors of each
 * node.
 */
static int read_cluster(struct cli_simulate *s)
{
	const struct cli_sim_options *o = s->o;
	struct np_err err = NP_ERR_INIT;
	struct map m = { .n = 0 };
	int rc = o->leaves ? make_leaves(&m, o, &err) :
		 o->topology ? read_topology(&m, o->topology, &err) :
			       current_topology(&m, &err);

	if (!rc)
		rc = build_leaves(s, &m, &err);
	if (!rc)
		rc = build_switches(s, &m, &err);
	map_free(&m);
	if (rc)
		return cli_fail("%s", err.text);
	s->cluster.leaves = s->leaves;
	s->cluster.cpus = o->cpus;
	/* A Standard Workload Format log has the machine in its header. */
	if (!o->cpus && s->log.max_nodes && s->log.max_procs)
		s->cluster.cpus = s->log.max_procs / s->log.max_nodes;
	if (!s->cluster.cpus && (o->last || (!o->leaves && !o->topology)))
		s->cluster.cpus = cluster_cpus();
	if (!s->cluster.cpus)
		s->cluster.cpus = 1;
	if (s->cluster.cpus > NP_SIM_MAX_CPUS)
		s->cluster.cpus = NP_SIM_MAX_CPUS;
	snprintf(s->cluster_text, sizeof(s->cluster_text),
		 "%zu nodes with %u processor%s each, on %zu leaf switches",
		 s->leaves->n_nodes, s->cluster.cpus,
		 cli_s(s->cluster.cpus), s->leaves->n);
	if (s->cluster.n_switches)
		cli_add(s->cluster_text, sizeof(s->cluster_text), " below %zu "
			"other%s", s->cluster.n_switches,
			cli_s(s->cluster.n_switches));
	return make_partitions(s);
}

/* ---- shares, for --order=fairshare ---- */

#define MAX_ASSOCIATION 512 /* bytes of "ACCOUNT|USER" */

/*
 * The number of an association, added if new. user "": of an account. Returns
 * NP_NO_INDEX if there is no memory.
 */
static uint32_t association(struct cli_simulate *s, const char *account,
			    const char *user, uint32_t parent, uint32_t shares)
{
	char key[MAX_ASSOCIATION];
	size_t before = s->associations.n;
	uint32_t at;

	snprintf(key, sizeof(key), "%s%s%s", account, *user ? "|" : "", user);
	at = np_index_add(&s->associations, key, strlen(key));
	if (at != before || at == NP_NO_INDEX)
		return at;
	if (np_array_grow(&s->assoc, at, sizeof(*s->assoc)))
		return NP_NO_INDEX;
	s->assoc[at] = (struct np_sim_assoc){ parent, shares };
	return at;
}

/* The number of an account. Unknown ones are below the root, with one share. */
static uint32_t account_of(struct cli_simulate *s, const char *name)
{
	uint32_t root = np_index_find(&s->associations, "root", 4);

	return association(s, name, "", root == NP_NO_INDEX ?
			   NP_SIM_NO_PARENT : root, 1);
}

/* The accounts from the root to the last one that was read. */
struct accounts {
	uint32_t at[NP_SIM_MAX_DEPTH];
	size_t depth;
};

/* Column RawShares: a number, "parent", or nothing for the root. */
static int parse_shares(const char *text, uint32_t *out)
{
	uint64_t n = 1;

	*out = NP_SIM_SHARES_OF_PARENT;
	if (!strcmp(text, "parent"))
		return 0;
	if (*text && np_whole_parse(text, NP_SIM_SHARES_OF_PARENT - 1, &n))
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

enum { SHARE_ACCOUNT, SHARE_USER, SHARE_RAW, N_SHARE_COLUMNS };
static const char *const share_columns[] = { "Account", "User", "RawShares" };

/* A row of sshare, which indents accounts by their depth in the tree. */
static int add_share(struct cli_simulate *s, struct accounts *a,
		     char *const value[])
{
	const char *account = value[SHARE_ACCOUNT];
	size_t depth = strspn(account, " ");
	uint32_t shares, at;

	account += depth;
	if (!*account || parse_shares(value[SHARE_RAW], &shares))
		return -EINVAL;
	if (*value[SHARE_USER]) {
		at = account_of(s, account);
		if (at != NP_NO_INDEX)
			at = association(s, account, value[SHARE_USER], at,
					 shares);
		return at == NP_NO_INDEX ? -ENOMEM : 0;
	}
	if (depth > a->depth)
		depth = a->depth;
	if (depth + 1 >= NP_SIM_MAX_DEPTH)
		return -EINVAL;
	at = association(s, account, "", depth ? a->at[depth - 1] :
			 NP_SIM_NO_PARENT, shares);
	a->at[depth] = at;
	a->depth = depth + 1;
	return at == NP_NO_INDEX ? -ENOMEM : 0;
}

static void cut_return(char *line)
{
	size_t len = strlen(line);

	if (len && line[len - 1] == '\r')
		line[len - 1] = '\0';
}

/* The output of sshare --parsable2, which is changed. */
static int parse_sshare(struct cli_simulate *s, char *text, const char *source,
			struct np_err *err)
{
	char *value[N_SHARE_COLUMNS], *line = strsep(&text, "\n");
	struct accounts a = { .depth = 0 };
	struct np_sacct_head h;

	cut_return(line);
	np_sacct_read_head(line, "|", share_columns, N_SHARE_COLUMNS, &h);
	if (h.twice != NP_SACCT_NONE)
		return np_errf(err, -EINVAL, "%s:1: column %s given twice",
			       source, share_columns[h.twice]);
	for (size_t i = 0; i < N_SHARE_COLUMNS; i++)
		if (!h.has[i])
			return np_errf(err, -EINVAL, "%s:1: no column %s: "
				       "expected the output of sshare -a "
				       "--parsable2", source, share_columns[i]);
	for (unsigned n = 2; (line = strsep(&text, "\n")); n++) {
		char shown[41];
		int rc = 0;

		cut_return(line);
		if (!*line)
			continue;
		snprintf(shown, sizeof(shown), "%s", line);
		if (np_sacct_read_row(line, "|", &h, value, N_SHARE_COLUMNS) !=
		    h.n)
			rc = -EINVAL;
		if (!rc)
			rc = add_share(s, &a, value);
		if (rc)
			return rc == -ENOMEM ?
				np_errf(err, rc, "out of memory") :
				np_errf(err, rc, "%s:%u: \"%s\": expected an "
					"account, a user or none, and shares",
					source, n, shown);
	}
	return s->associations.n ? 0 :
	       np_errf(err, -EINVAL, "%s: no account", source);
}

/* The shares as they are now, or none if this Slurm has no fair share. */
static int run_sshare(struct cli_simulate *s, struct np_err *err)
{
	static char *const argv[] = { "sshare", "-a", "--parsable2",
				      "--format=Account,User,RawShares", NULL };
	char *text = malloc(MAX_RESPONSE);
	int rc = 0;

	if (!text)
		return np_errf(err, -ENOMEM, "out of memory");
	if (cli_spawn(argv, SCONTROL_SEC, text, MAX_RESPONSE))
		cli_warn_line("sshare does not answer: all users count as "
			      "having equal shares", NULL);
	else
		rc = parse_sshare(s, text, "sshare", err);
	free(text);
	return rc;
}

static int read_shares(struct cli_simulate *s)
{
	struct np_err err = NP_ERR_INIT;
	const char *path = s->o->shares;
	size_t len;
	char *text;
	int rc = 0;

	if (path) {
		rc = np_read_file(path, MAX_RESPONSE, &text, &len, &err);
		if (!rc) {
			rc = parse_sshare(s, text, path, &err);
			free(text);
		}
	} else if (s->o->fair && s->o->last) {
		rc = run_sshare(s, &err);
	}
	return rc ? cli_fail("%s", err.text) : -1;
}

/*
 * The user of a job for the simulation: with shares, its association. One
 * without shares, such as a user who has left, has one share.
 */
static uint32_t user_of(struct cli_simulate *s, const struct np_queue_job *from)
{
	char account[MAX_ASSOCIATION / 2] = "", user[MAX_ASSOCIATION / 2] = "";
	uint32_t at;

	/* Jobs without a user count as those of one user. */
	if (!s->associations.n)
		return from->user == NP_QUEUE_NONE ? (uint32_t)s->log.text.n :
						     from->user;
	np_queue_text(&s->log, from->account, account, sizeof(account));
	np_queue_text(&s->log, from->user, user, sizeof(user));
	at = account_of(s, *account ? account : "root");
	return at == NP_NO_INDEX ? at :
	       association(s, account, *user ? user : "-", at, 1);
}

/* ---- the queue: jobs of the log on this cluster ---- */

/*
 * Nodes and processors of a job. Jobs that need less than a node share nodes.
 */
static void set_size(const struct cli_simulate *s,
		     const struct np_queue_job *from, struct np_sim_job *j)
{
	uint32_t per = s->cluster.cpus;

	/* A log may have only processors; then whole nodes are filled. */
	j->nodes = from->nodes ? from->nodes : (from->cpus + per - 1) / per;
	if (from->cpus && j->nodes == 1 && from->cpus < per)
		j->cpus = from->cpus;
	else if (from->nodes && from->cpus &&
		 (from->cpus + j->nodes - 1) / j->nodes < per)
		j->cpus = (from->cpus + j->nodes - 1) / j->nodes;
}

/* Translate the jobs of the log into jobs of the simulation. */
static int make_queue(struct cli_simulate *s)
{
	bool priorities = s->log.priorities && !s->o->by_submission &&
			  !s->o->fair;

	s->job = calloc(s->log.n + 1, sizeof(*s->job));
	if (!s->job)
		return cli_fail("out of memory");
	for (size_t i = 0; i < s->log.n; i++) {
		const struct np_queue_job *from = &s->log.job[i];
		struct np_sim_job *j = &s->job[i];

		*j = (struct np_sim_job){
			.submit_sec = from->submit_sec,
			.cancel_sec = from->cancel_sec,
			.run_sec = from->run_sec, .limit_sec = from->limit_sec,
			/*
			 * Without priorities, the order is that of submission.
			 */
			.priority = priorities ? from->priority : 0,
			.after = from->after == NP_QUEUE_NONE ? NP_SIM_NO_JOB :
								from->after,
			.think_sec = from->think_sec,
			.user = user_of(s, from),
			.profile = NP_PROFILE_UNKNOWN,
		};
		if (j->user == NP_NO_INDEX)
			return cli_fail("out of memory");
		if (from->partition != NP_QUEUE_NONE)
			j->partition = (uint16_t)
				(s->partition_of[from->partition] - 1);
		set_size(s, from, j);
	}
	return -1;
}

/* ---- which profile each job has ---- */

/* The handle of a profile, or NP_PROFILE_UNKNOWN. */
static int32_t profile_of(const struct cli_simulate *s, const char *name)
{
	for (size_t i = 0; i < s->profiles.n; i++)
		if (!strcmp(s->profiles.name[i], name))
			return (int32_t)i;
	return NP_PROFILE_UNKNOWN;
}

/* Handle of the profile of that name, which is added if it is new. */
static int add_profile(struct cli_simulate *s, const char *name, int32_t *out)
{
	struct cli_sim_profiles *p = &s->profiles;

	*out = profile_of(s, name);
	if (*out >= 0 || !strcmp(name, "unknown"))
		return 0;
	if (p->n >= NP_CONFLICT_MAX_PROFILES)
		return -E2BIG;
	if (np_array_grow(&p->name, p->n, sizeof(*p->name)))
		return -ENOMEM;
	snprintf(p->name[p->n], sizeof(*p->name), "%s", name);
	*out = (int32_t)p->n++;
	return 0;
}

/*
 * A line of --rules, such as "lammps user=alice name=lmp*".  All its patterns
 * must match; the first matching line of the file decides.
 */
enum key { K_USER, K_ACCOUNT, K_NAME, K_COMMAND, K_PARTITION, N_KEYS };
static const char *const keys[N_KEYS] = { "user", "account", "name", "command",
					  "partition" };

struct rule {
	char *pattern[N_KEYS]; /* NULL matches anything */
	int32_t profile;
};

struct rules {
	struct rule *rule;
	size_t n;
	char *text;
};

/* "user=alice": store the pattern of one key. */
static int take_pattern(struct rule *r, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	for (int k = 0; k < N_KEYS; k++)
		if (!strcmp(word, keys[k])) {
			if (r->pattern[k])
				return -EEXIST;
			r->pattern[k] = value;
			return 0;
		}
	return -EINVAL;
}

/* Parse one line of --rules; comments and empty lines are ignored. */
static int take_rule(struct cli_simulate *s, struct rules *rules, char *line,
		     unsigned number)
{
	struct rule r = { .profile = NP_PROFILE_UNKNOWN };
	char *save = NULL, *word;
	int rc;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (!word)
		return -1;
	/* The first word is the profile, so a pattern here is a mistake. */
	if (strlen(word) >= CLI_SIM_NAME || strchr(word, '='))
		return cli_fail("%s:%u: \"%.64s\": expected the name of a "
				"profile", s->o->rules, number, word);
	rc = add_profile(s, word, &r.profile);
	if (rc)
		return rc == -ENOMEM ? cli_fail("out of memory") :
		       cli_fail("%s:%u: \"%.64s\": more than %d profiles",
				s->o->rules, number, word,
				NP_CONFLICT_MAX_PROFILES);
	while ((word = strtok_r(NULL, " \t\r", &save)))
		if ((rc = take_pattern(&r, word)) == -EEXIST)
			return cli_fail("%s:%u: \"%.64s=\" is given twice",
					s->o->rules, number, word);
		else if (rc)
			return cli_fail("%s:%u: \"%.64s\": expected user=, "
					"account=, name=, command= or "
					"partition= with a pattern",
					s->o->rules, number, word);
	if (np_array_grow(&rules->rule, rules->n, sizeof(r)))
		return cli_fail("out of memory");
	rules->rule[rules->n++] = r;
	return -1;
}

/* Read the file of --rules; the patterns point into its text. */
static int read_rules(struct cli_simulate *s, struct rules *rules)
{
	struct np_err err = NP_ERR_INIT;
	unsigned number = 0;
	char *save, *line;
	size_t len;
	int rc = -1;

	if (np_read_file(s->o->rules, MAX_RULES_FILE, &rules->text, &len, &err))
		return cli_fail("%s", err.text);
	/* strsep(), unlike strtok_r(), also counts empty lines. */
	save = rules->text;
	while (rc < 0 && (line = strsep(&save, "\n")))
		rc = take_rule(s, rules, line, ++number);
	return rc;
}

/* Does a job match all patterns of a rule? */
static bool matches(const struct rule *r, const struct np_queue_log *q,
		    const struct np_queue_job *j)
{
	const uint32_t of[N_KEYS] = { j->user, j->account, j->name, j->command,
				      j->partition };
	char text[1024];

	for (int k = 0; k < N_KEYS; k++)
		if (r->pattern[k] && fnmatch(r->pattern[k], np_queue_text(q,
			of[k], text, sizeof(text)), 0))
			return false;
	return true;
}

/* Give every job the profile of the first rule that matches. */
static void apply_rules(struct cli_simulate *s, const struct rules *rules)
{
	for (size_t i = 0; i < s->log.n; i++)
		for (size_t k = 0; k < rules->n; k++)
			if (matches(&rules->rule[k], &s->log, &s->log.job[i])) {
				s->job[i].profile = rules->rule[k].profile;
				break;
			}
}

/* Without rules, a job's name is the name of its profile. */
static int names_are_profiles(struct cli_simulate *s)
{
	char name[CLI_SIM_NAME];

	for (size_t i = 0; i < s->log.n; i++) {
		np_queue_text(&s->log, s->log.job[i].name, name, sizeof(name));
		s->job[i].profile = profile_of(s, name);
	}
	return -1;
}

/* --mix: names that are not profiles yet are added. */
static int add_mix(struct cli_simulate *s)
{
	int32_t profile;

	for (size_t i = 0; i < s->o->mix.n; i++)
		if (add_profile(s, s->o->mix.name[i], &profile))
			return cli_fail("--mix: more than %d profiles, or out "
					"of memory", NP_CONFLICT_MAX_PROFILES);
	return -1;
}

/*
 * A hash, so that what is drawn depends on the job and the seed alone, not on
 * the other jobs.
 */
static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/*
 * The largest slowdown that placement knows among the profiles that occur, for the
 * verdict, and how many pairs of them are uncertain.
 */
static void find_worst(struct cli_simulate *s, const bool *used)
{
	s->worst = 0;
	s->n_uncertain = 0;
	for (uint32_t a = 0; a < s->profiles.n; a++)
		for (uint32_t b = 0; b < s->profiles.n; b++) {
			double v;

			if (!used[a] || !used[b])
				continue;
			v = np_slowdowns_between(s->known, a, b, true, true);
			if (v > s->worst)
				s->worst = v;
			s->n_uncertain += v != np_slowdowns_between(
				s->slowdowns, a, b, true, true);
		}
}

/* How much of the log has a profile: jobs and node-seconds. */
static void count_known(struct cli_simulate *s)
{
	bool used[NP_CONFLICT_MAX_PROFILES] = { false };

	s->known_node_sec = s->all_node_sec = 0;
	s->known_jobs = 0;
	for (size_t i = 0; i < s->log.n; i++) {
		double sec = (double)s->job[i].nodes * s->job[i].run_sec;

		s->all_node_sec += sec;
		if (s->job[i].profile < 0)
			continue;
		s->known_node_sec += sec;
		s->known_jobs++;
		used[s->job[i].profile] = true;
	}
	find_worst(s, used);
}

/* Assign profiles to jobs for one seed: drawn by --mix, or else unchanged. */
static void sim_draw(struct cli_simulate *s, uint32_t seed)
{
	const double *share = s->o->mix.share;
	int32_t profile[MAX_MIX];

	for (size_t k = 0; k < s->o->mix.n; k++)
		profile[k] = profile_of(s, s->o->mix.name[k]);
	for (size_t i = 0; s->o->mix.n && i < s->log.n; i++) {
		/* 53 random bits, as a number below the sum of the weights. */
		double at = (double)(scramble(s->log.job[i].id * 1000003 +
					      seed) >> 11) * 0x1p-53 *
			    s->o->mix.sum;
		size_t k = 0;

		while (k + 1 < s->o->mix.n && at >= share[k])
			at -= share[k++];
		s->job[i].profile = profile[k];
	}
	count_known(s);
}

/* ---- predicted slowdowns ---- */

/*
 * Set how much co slows victim with this or a closer contact.  Both directions
 * are stored: what a victim feels, and what a co-runner does to others.
 */
static void set_pair(struct np_slowdowns *t, size_t victim, size_t co,
		     enum np_contact contact, double slowdown)
{
	size_t n = t->n;
	uint16_t load = slowdown > MAX_NEGLIGIBLE ? np_slowdowns_to_load(slowdown) : 0;

	for (uint32_t touch = 0; touch < NP_N_TOUCH; touch++) {
		/* A slowdown on a common leaf also holds for closer jobs. */
		bool counts = contact == NP_CONTACT_LEAF ||
			(contact == NP_CONTACT_NODE && touch & NP_TOUCH_NODE) ||
			(contact == NP_CONTACT_UPLINK &&
			 touch & NP_TOUCH_UPLINK);
		uint16_t *feels = &t->suffered[(victim * n + co) * NP_N_TOUCH +
					    touch];

		/* The largest effect counts. */
		if (!counts || load <= *feels)
			continue;
		*feels = load;
		t->caused[(co * n + victim) * NP_N_TOUCH + touch] = load;
		if (load > t->most[victim])
			t->most[victim] = load;
		t->profile[victim].inert = t->profile[co].inert = false;
		t->profile[co].aggressor = true;
	}
}

/* A slowdown matrix of all profiles in which nobody slows anybody. */
static int new_slowdowns(const struct cli_simulate *s, struct np_slowdowns **out)
{
	size_t n = s->profiles.n, cells = n * n * NP_N_TOUCH;
	struct np_slowdowns *t = np_slowdowns_new(n);

	*out = t;
	if (!t)
		return cli_fail("out of memory");
	memset(t->suffered, 0, cells * sizeof(*t->suffered));
	memset(t->caused, 0, cells * sizeof(*t->caused));
	for (size_t i = 0; i < n; i++)
		t->profile[i] = (struct np_slowdowns_profile){
			.trusted = true, .complete = true, .inert = true,
		};
	return -1;
}

/* --pairs: each slowdown holds on a common leaf and on common nodes. */
static int read_pairs(struct cli_simulate *s)
{
	struct cli_predictions p;
	struct np_err err = NP_ERR_INIT;
	int32_t v, c;
	int rc = -1;

	if (cli_predictions_read(s->o->pairs, &p, &err))
		return cli_fail("%s", err.text);
	/* All profiles must be known before the matrix is made. */
	for (size_t i = 0; i < p.n; i++)
		if (add_profile(s, p.row[i].victim, &v) ||
		    add_profile(s, p.row[i].co, &c))
			rc = cli_fail("%s: more than %d profiles", s->o->pairs,
				      NP_CONFLICT_MAX_PROFILES);
	if (rc < 0)
		rc = new_slowdowns(s, &s->slowdowns);
	if (rc < 0)
		s->known = np_slowdowns_ref(s->slowdowns);
	for (size_t i = 0; rc < 0 && i < p.n; i++) {
		v = profile_of(s, p.row[i].victim);
		c = profile_of(s, p.row[i].co);
		if (v >= 0 && c >= 0)
			set_pair(s->slowdowns, (size_t)v, (size_t)c,
				 NP_CONTACT_LEAF, p.row[i].slowdown);
	}
	snprintf(s->models_text, sizeof(s->models_text), "%zu pair%s from %s",
		 p.n, cli_s(p.n), s->o->pairs);
	cli_predictions_free(&p);
	return rc;
}

/* Add the names of all profiles that the caller may use. */
static void add_all(struct np_store *store, struct cli_simulate *s)
{
	for (int i = 0; i < 2; i++) {
		struct np_store_app *apps = NULL;
		size_t n = 0;
		int32_t profile;

		if (np_store_list_apps(store, i ? NP_STORE_USER : NP_STORE_PUBLISHED,
				  geteuid(), &apps, &n, NULL))
			continue;
		for (size_t k = 0; k < n; k++)
			if (strcmp(apps[k].name, NP_IDLE_APP))
				add_profile(s, apps[k].name, &profile);
		free(apps);
	}
}

/* Copy the slowdowns, translating the catalogue's handles into those here. */
static void take_table(const struct cli_simulate *s, struct np_slowdowns *to,
		       const struct np_slowdowns *t,
		       const struct np_app_index *index)
{
	static const enum np_contact contact[] = {
		[0] = NP_CONTACT_LEAF, [NP_TOUCH_NODE] = NP_CONTACT_NODE,
		[NP_TOUCH_UPLINK] = NP_CONTACT_UPLINK,
	};

	for (size_t a = 0; a < s->profiles.n; a++)
		for (size_t b = 0; b < s->profiles.n; b++) {
			int32_t v = np_app_index_find(index, s->profiles.name[a],
						      geteuid());
			int32_t c = np_app_index_find(index, s->profiles.name[b],
						      geteuid());

			for (uint32_t touch = 0; v >= 0 && c >= 0 &&
			     touch <= NP_TOUCH_UPLINK; touch++)
				set_pair(to, a, b, contact[touch],
					 np_slowdowns_from_load(np_slowdowns_pair(t,
						(uint32_t)v, touch,
						(uint32_t)c, touch)));
		}
}

/* Let the catalog read and predict until nothing is left; take its answers. */
static int take_predictions(const struct cli_simulate *s, struct np_catalog *c,
			    struct np_slowdowns *to, struct np_err *err)
{
	struct np_app_index *index = NULL;
	struct np_slowdowns *t = NULL;
	bool changed, more = true;
	int rc = 0;

	while (!rc && more)
		rc = np_catalog_refresh(c, CATALOG_SEC, NULL, NULL, &changed,
					&more, err);
	if (!rc)
		rc = np_catalog_table(c, &t, err);
	if (!rc)
		rc = np_catalog_index(c, &index);
	if (!rc)
		take_table(s, to, t, index);
	np_app_index_unref(index);
	np_slowdowns_unref(t);
	return rc;
}

/*
 * Predict as the placement plugin does, with its checks of each profile, and then
 * also with the predictions that it does not act on because they are uncertain.
 */
static int predict_from_catalog(struct cli_simulate *s,
				const struct np_conf *conf, const char *cluster)
{
	struct np_catalog *c = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = np_catalog_new(conf->store, cluster, &conf->place, &c, &err);

	for (size_t i = 0; !rc && i < s->profiles.n; i++)
		np_catalog_note_job(c, s->profiles.name[i], geteuid());
	if (!rc)
		rc = take_predictions(s, c, s->known, &err);
	if (!rc) {
		np_catalog_accept_doubtful(c);
		rc = take_predictions(s, c, s->slowdowns, &err);
	}
	if (!rc)
		snprintf(s->models_text, sizeof(s->models_text),
			 "calibration %s", np_catalog_fabric(c));
	np_catalog_free(c);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* Predictions from the profiles in the store, on the newest calibration. */
static int predict_from_store(struct cli_simulate *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_calibration cal;
	struct cli_store store;
	char cluster[128] = "";
	struct np_conf conf;
	int rc;

	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	add_all(store.store, s);
	if (np_fabric_store_load(store.store, NULL, NULL, &cal, &err)) {
		cli_store_close(&store);
		return cli_fail("%s; or use --pairs=FILE for predictions",
				err.text);
	}
	snprintf(cluster, sizeof(cluster), "%s", cal.cluster);
	np_calibration_free(&cal);
	cli_store_close(&store);
	rc = new_slowdowns(s, &s->known);
	if (rc < 0)
		rc = new_slowdowns(s, &s->slowdowns);
	return rc < 0 ? predict_from_catalog(s, &conf, cluster) : rc;
}

/* Profiles of jobs: by rules, by --mix, or by the names of the jobs. */
static int make_profiles(struct cli_simulate *s)
{
	struct rules rules = { .n = 0 };
	int rc = s->o->rules ? read_rules(s, &rules) : -1;

	if (rc < 0)
		rc = add_mix(s);
	if (rc < 0)
		rc = s->o->pairs ? read_pairs(s) : predict_from_store(s);
	if (rc < 0 && s->o->rules)
		apply_rules(s, &rules);
	else if (rc < 0 && !s->o->mix.n)
		rc = names_are_profiles(s);
	free(rules.rule);
	free(rules.text);
	return rc;
}

/* ---- policies ---- */

/*
 * A setting of netprof.conf, such as "MaxSlowdown=20%"; without a unit a
 * MaxSlowdown is in percent.
 */
static int set_key(struct np_conf *conf, const char *text, struct np_err *err)
{
	const char *equal = strchr(text, '=');
	char value[128];
	int rc;

	if (!equal)
		return np_errf(err, -EINVAL, "--set=%.64s: expected KEY=VALUE "
			       "of netprof.conf(5), such as MaxSlowdown=20%%",
			       text);
	snprintf(value, sizeof(value), "%s%s", equal + 1,
		 !strncasecmp(text, "MaxSlowdown", (size_t)(equal - text)) &&
		 equal[1] && !strchr(equal, '%') ? "%" : "");
	rc = np_conf_set_key(conf, text, (size_t)(equal - text), value, err);
	return rc == -ENOENT ? np_errf(err, -EINVAL, "--set=%.64s: "
				       "netprof.conf(5) has no such key", text) :
			       rc;
}

/* Parse the mode of a policy. */
static int take_mode(const char *word, enum np_mode *mode, struct np_err *err)
{
	for (int m = NP_MODE_OFF; m <= NP_MODE_ENFORCE; m++)
		if (!strcmp(word, np_mode_name((enum np_mode)m))) {
			*mode = (enum np_mode)m;
			return 0;
		}
	return np_errf(err, -EINVAL, "--policy: \"%.64s\": expected off, "
		       "advise, prefer or enforce, with settings such as "
		       "enforce:MaxSlowdown=20%%", word);
}

/* Parse "enforce:MaxSlowdown=20%"; conf is what it changes. */
static int parse_policy(char *word, struct np_conf *conf, enum np_mode *mode,
			struct np_err *err)
{
	char *save = NULL, *part = strtok_r(word, ":", &save);
	int rc = take_mode(part ? part : "", mode, err);

	while (!rc && (part = strtok_r(NULL, ":", &save)))
		rc = set_key(conf, part, err);
	return rc;
}

/*
 * Parse one policy, such as "enforce:MaxSlowdown=20%". It starts from
 * netprof.conf, then --set applies, then its own settings.
 */
static int take_policy(struct cli_simulate *s, char *word)
{
	struct cli_sim_policy *p = &s->policy[s->n_policies];
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;
	double step;
	int rc;

	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	snprintf(p->name, sizeof(p->name), "%s", word);
	for (size_t i = rc = 0; !rc && i < s->o->n_settings; i++)
		rc = set_key(&conf, s->o->setting[i], &err);
	if (!rc)
		rc = parse_policy(word, &conf, &p->p.mode, &err);
	if (rc)
		return cli_fail("%s", err.text);
	np_policy_init(&p->p.policy);
	p->p.policy.max_slowdown = conf.place.max_slowdown;
	p->p.policy.max_hold_sec = conf.place.max_hold_sec;
	step = 10 * conf.place.interval_sec; /* as in the plugin */
	p->p.policy.hold_step_sec = step > 30 ? step : 30;
	p->p.interval_sec = (uint32_t)ceil(conf.place.interval_sec);
	if (*conf.place.unknown_as)
		p->p.policy.unknown_as = profile_of(s, conf.place.unknown_as);
	s->n_policies++;
	return -1;
}

/* Parse --policy; the default compares off with enforce. */
static int make_policies(struct cli_simulate *s)
{
	char *text = strdup(s->o->policies ? s->o->policies : "off,enforce");
	char *save = NULL, *word;
	int rc = text ? -1 : cli_fail("out of memory");

	for (word = text ? strtok_r(text, ",", &save) : NULL; rc < 0 && word;
	     word = strtok_r(NULL, ",", &save))
		rc = take_policy(s, word);
	free(text);
	return rc;
}

/*
 * Read jobs, cluster, profiles and policies as s->o asks, in this order: jobs
 * refer to partitions of the cluster, and policies to profiles.  Returns -1 to
 * go on, or the exit status after printing why.
 */
static int sim_prepare(struct cli_simulate *s)
{
	int rc = read_jobs(s);

	if (rc < 0)
		rc = read_cluster(s);
	if (rc < 0)
		rc = read_shares(s);
	if (rc < 0)
		rc = make_queue(s);
	if (rc < 0)
		rc = make_profiles(s);
	if (rc < 0)
		rc = make_policies(s);
	return rc;
}
/* ---- text ---- */

#define NAME 26	    /* columns of a row's name */
#define COLUMN 13   /* columns of a policy at least */
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

/* Append how many conflicts may have been missed, and what to do about it. */
static void add_uncertain(const struct cli_simulate *s, char *buf, size_t len)
{
	size_t at = strlen(buf);

	if (s->n_uncertain)
		snprintf(buf + at, len - at, " %zu pair%s of applications %s "
			 "only an uncertain prediction, on which placement does "
			 "not act: netprof matrix marks such pairs, and netprof "
			 "predict says what to measure.", s->n_uncertain,
			 cli_s(s->n_uncertain),
			 s->n_uncertain == 1 ? "has" : "have");
}

/* Why the policy did nothing; NULL: it did something. */
static const char *nothing_text(const struct cli_simulate *s, char *buf,
				size_t len)
{
	const struct cli_sim_policy *p = acting(s);
	double limit = p ? p->p.policy.max_slowdown : NAN;
	char text[CLI_NUMBER], other[CLI_NUMBER];

	if (!p || p->sum.held || p->sum.was_restricted)
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
	if (s->known_jobs)
		add_uncertain(s, buf, len);
	return buf;
}

/* Its size: the opposite of a share below 0. */
static struct np_sim_share size_of(const struct np_sim_share *s)
{
	return s->value < 0 ? (struct np_sim_share){ -s->value, -s->high,
						     -s->low } : *s;
}

/* "lengthened waiting times by 3.0 % [1.0, 5.0]" */
static const char *delay_text(const struct np_sim_gain *g, char *buf, size_t len)
{
	struct np_sim_share delay = size_of(&g->delay);
	char a[CLI_NUMBER], b[64];

	if (isnan(delay.value))
		snprintf(buf, len, "made jobs wait %.0f s on average, which did "
			 "not wait before", g->wait_change_sec);
	else
		snprintf(buf, len, "%s waiting times by %s%s",
			 g->delay.value < 0 ? "shortened" : "lengthened",
			 share(delay.value, a), interval(&delay, b, sizeof(b)));
	return buf;
}

/* One sentence: what the acting policy would have saved and cost. */
static void verdict_text(const struct cli_simulate *s, char *buf, size_t len)
{
	const struct cli_sim_policy *p = acting(s);
	char a[CLI_NUMBER], b[64], c[128], span[CLI_NUMBER];
	struct np_sim_share saved;

	if (!p || !s->seeds_done) {
		snprintf(buf, len, "%s", p ? "Stopped before there was anything "
			 "to compare." : s->n_policies == 1 ?
			 "Only one policy was simulated: there is nothing to "
			 "compare it with." :
			 "None of the simulated policies changes jobs.");
		return;
	}
	if (nothing_text(s, buf, len))
		return;
	saved = size_of(&p->gain.recovered);
	snprintf(buf, len, "Over these %s, %s would have %s %s of the "
		 "node-hours%s and %s; %zu of %zu jobs would have been held "
		 "longer than %d minutes.",
		 span_text(s, span), p->name,
		 p->gain.recovered.value < 0 ? "lost" : "saved",
		 share(saved.value, a), interval(&saved, b, sizeof(b)),
		 delay_text(&p->gain, c, sizeof(c)), p->sum.held_long, p->sum.started, NP_SIM_LONG_HOLD_SEC / 60);
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
	{ "Node-hours lost", "lost_node_sec", U_HOURS, AT(lost_node_sec) },
	{ "Jobs slowed", "jobs_slowed", U_COUNT, AT(slowed) },
	{ "Ended by their time limit", "limits_reached", U_COUNT, AT(limits) },
	{ "Jobs restricted", "jobs_restricted", U_COUNT, AT(was_restricted) },
	{ "Jobs held", "jobs_held", U_COUNT, AT(held) },
	{ "Held over 10 min", "jobs_held_long", U_COUNT, AT(held_long) },
	{ "Held longest", "held_longest_sec", U_SEC, AT(held_longest_sec) },
	{ "Released at MaxDefer", "jobs_released", U_COUNT, AT(released) },
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

/* The settings tell policies of one mode apart. */
static const char *policy_label(const struct cli_simulate *s, size_t i)
{
	const char *settings = strchr(s->policy[i].name, ':');

	return settings ? settings + 1 : s->policy[i].name;
}

/* Columns of a policy: no label is cut, so that no two become equal. */
static int policy_width(const struct cli_simulate *s)
{
	size_t widest = COLUMN;

	for (size_t i = 0; i < s->n_policies; i++)
		if (cli_width(policy_label(s, i)) + 1 > widest)
			widest = cli_width(policy_label(s, i)) + 1;
	return (int)widest;
}

/* Print the policies from <= i < to, side by side. */
static void table(const struct cli_simulate *s, size_t from, size_t to,
		  int width)
{
	char text[CLI_NUMBER];

	printf("\n%s%-*s", cli_colour(CLI_BOLD), NAME, "");
	for (size_t i = from; i < to; i++)
		cli_right(stdout, policy_label(s, i), width);
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t r = 0; r < NP_ARRAY_SIZE(rows); r++) {
		printf("%-*s", NAME, rows[r].name);
		for (size_t i = from; i < to; i++)
			cli_right(stdout, value_text(&rows[r], value_of(
				&rows[r], &s->policy[i]), text), width);
		putchar('\n');
	}
}

/* The effect on groups of jobs, by the first seed. */

struct group {
	uint32_t key; /* user, class of size, or partition; first, as
			 np_order_u32() expects */
	size_t jobs;
	double before, after; /* wait without and with the policy, seconds */
	double recovered;     /* node-seconds */
};

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
	qsort(p, k, sizeof(*p), np_order_u32);
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
	double node_sec; /* of its jobs; the first, for np_order_desc() */
	uint32_t text;
};

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
	qsort(all, s->log.text.n, sizeof(*all), np_order_desc);
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
	all = s->o->mix.n || known > .9 ? NULL : unprofiled(s, &n);
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
	if (s->n_uncertain)
		cli_say(CLI_YELLOW, 2, "Uncertain predictions: %zu. Here jobs "
			"slow each other by them, but placement does not act "
			"on them; netprof matrix marks such pairs.",
			s->n_uncertain);
	for (int i = 0; i < NP_QUEUE_N_ISSUES; i++)
		if (s->log.issues[i])
			cli_say(CLI_PLAIN, 2, "%s: %zu.", np_queue_issue_text[i],
				s->log.issues[i]);
	if (*s->log.unused)
		cli_say(CLI_PLAIN, 2, "Ignored columns: %s.", s->log.unused);
	if (s->policy[0].sum.too_large)
		cli_say(CLI_YELLOW, 2, "Excluded, larger than the cluster: %zu "
			"job%s.", s->policy[0].sum.too_large,
			cli_s(s->policy[0].sum.too_large));
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
	int width = policy_width(s);
	size_t room;

	if (s->stopped)
		cli_say(CLI_YELLOW, 0, "Stopped after %s: the results are of "
			"the jobs that had ended by then.",
			share(s->share_done, text));
	verdict_text(s, line, sizeof(line));
	cli_say(CLI_BOLD, 0, "%s", line);
	room = cli_columns() < NAME + width ? 1 :
	       (size_t)((cli_columns() - NAME) / width);
	for (size_t from = 0; from < s->n_policies; from += room)
		table(s, from, from + room < s->n_policies ? from + room :
		      s->n_policies, width);
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
	cli_put_computed(o, "max_defer_sec", p->p.policy.max_hold_sec);
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
	put_share(o, "saved_share", &p->gain.recovered);
	put_share(o, "wait_change_share", &p->gain.delay);
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
		cli_put_computed(o, "saved_node_sec", p[i].recovered);
	}
	free(p);
}

static const struct cli_table parsable = {
	"What|Policy|Mode|WaitMeanSec|WaitMedianSec|WaitP95Sec|BoundedSlowdown|"
	"Utilisation|MakespanSec|UsedNodeSec|LostNodeSec|JobsSlowed|"
	"LimitsReached|JobsRestricted|JobsHeld|JobsHeldLong|HeldLongestSec|"
	"JobsReleased|SavedShare|SavedLow|SavedHigh|WaitChangeShare|"
	"WaitChangeLow|WaitChangeHigh",
	{ { "policies",
	    "=policy|policy|mode|wait_mean_sec|wait_median_sec|"
	    "wait_p95_sec|bounded_slowdown|utilisation|makespan_sec|"
	    "used_node_sec|lost_node_sec|jobs_slowed|limits_reached|"
	    "jobs_restricted|jobs_held|jobs_held_long|held_longest_sec|"
	    "jobs_released|against_first/saved_share/value|"
	    "against_first/saved_share/low|against_first/saved_share/high|"
	    "against_first/wait_change_share/value|against_first/wait_change_share/low|"
	    "against_first/wait_change_share/high" } },
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
	cli_put_count(j, "uncertain_predictions", s->n_uncertain);
	list = cli_put_array(j, "changed_or_excluded");
	for (int i = 0; i < NP_QUEUE_N_ISSUES; i++)
		if (s->log.issues[i]) {
			json_object *o = cli_append_object(list);

			cli_put_text(o, "what", np_queue_issue_text[i]);
			cli_put_count(o, "count", s->log.issues[i]);
		}
	list = cli_put_array(j, "policies");
	for (size_t i = 0; i < s->n_policies; i++)
		put_policy(list, s, i);
	list = cli_put_array(j, "groups");
	for (int kind = 0; s->with && kind < N_KINDS; kind++)
		put_groups(list, s, (enum kind)kind);
	return cli_print_output(format, "simulate", j, &parsable);
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

		np_figure_axis(f, &p[k]->x, NP_AXIS_NAMES, "Policy");
		np_figure_axis(f, &p[k]->y, NP_AXIS_LINEAR, k ?
			       "Change of the wait (%)" :
			       "Node-hours saved (%)");
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
				  cli_s(s->seeds_done),
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
static void log_start(void *arg, uint32_t job, const struct np_sim_outcome *outcome,
		      const uint32_t *node, size_t n)
{
	const struct progress *p = arg;
	const struct cli_simulate *s = p->s;

	fprintf(s->events, "%s|%llu", p->policy,
		(unsigned long long)s->log.job[job].id);
	if (s->log.job[job].task != NP_QUEUE_NONE)
		fprintf(s->events, "_%u", s->log.job[job].task);
	fprintf(s->events, "|%lld|%lld|%lld|%s|%s|%u|",
		(long long)s->job[job].submit_sec,
		(long long)outcome->eligible_sec, (long long)outcome->start_sec,
		outcome->how == NP_SIM_MAIN ? "main" : "backfill",
		outcome->released	     ? "released at MaxDefer" :
		outcome->was_restricted ? "restricted" :
		outcome->was_held	     ? "held" :
				       "-",
		outcome->held_sec);
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
	COUNT(released);
	COUNT(was_restricted);
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
		    uint32_t seed, struct np_sim_outcome *outcome)
{
	struct cli_sim_policy *policy = &s->policy[i];
	struct np_sim_input input = {
		.cluster = &s->cluster, .job = s->job, .n = s->log.n,
		.scheduler = &s->o->scheduler, .slowdowns = s->slowdowns,
		.known = s->known,
		.assoc = s->assoc, .n_assocs = s->associations.n,
		.policy = &policy->p, .rigid = s->o->rigid,
		.started = s->events ? log_start : NULL,
		.go_on = go_on, .arg = p,
	};
	struct np_err err = NP_ERR_INIT;
	struct np_sim_summary sum;
	struct np_sim_counts counts;
	int rc;

	p->policy = policy->name;
	rc = np_simulate(&input, outcome, &counts, &err);
	if (rc)
		return cli_fail("%s", err.text);
	/* Interrupted simulations still have results of the jobs that ended. */
	s->stopped |= counts.stopped;
	/* The same jobs under the first policy are the reference. */
	rc = sim_summarise(&input, outcome, &counts, &sum);
	if (!rc && i)
		rc = sim_compare(&input, s->without, outcome, &policy->units);
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
	struct np_sim_outcome *outcome = calloc(s->log.n + 1, sizeof(*outcome));
	int rc = -1;

	s->without = calloc(s->log.n + 1, sizeof(*outcome));
	s->with = calloc(s->log.n + 1, sizeof(*outcome));
	if (!outcome || !s->without || !s->with)
		rc = cli_fail("out of memory");
	for (uint32_t seed = 0; rc < 0 && !s->stopped && seed < s->o->seeds;
	     seed++) {
		/* All policies see the same profiles in one seed. */
		sim_draw(s, seed);
		for (size_t i = 0; rc < 0 && !interrupted &&
		     i < s->n_policies; i++) {
			rc = simulate(s, &p, i, seed, i ? outcome : s->without);
			/* The last policy overwrites the ones before it. */
			if (!seed && i)
				memcpy(s->with, outcome, s->log.n *
				       sizeof(*outcome));
		}
		s->stopped |= interrupted && p.part < p.parts;
		s->seeds_done += rc < 0 && p.part >= s->n_policies;
	}
	for (size_t i = 1; rc < 0 && i < s->n_policies; i++)
		/* Intervals need the units (weeks) of all seeds. */
		if (s->policy[i].units.n &&
		    sim_gain(&s->policy[i].units, &s->policy[i].gain))
			rc = cli_fail("out of memory");
	show(&p, 100);
	free(outcome);
	return rc;
}

/* ---- the command ---- */

#define FAIR_PERIOD_SEC 300	 /* PriorityCalcPeriod, Slurm's default */
#define HALF_LIFE_SEC (7 * 86400) /* PriorityDecayHalfLife, Slurm's default */

/* Read the inputs and open the file of events. */
static int prepare(struct cli_simulate *s)
{
	int rc = sim_prepare(s);

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
	free(s->assoc);
	np_index_free(&s->associations);
	free(s->sets);
	free(s->above);
	free(s->above_leaves);
	free(s->partition_of);
	free(s->profiles.name);
	np_slowdowns_unref(s->slowdowns);
	np_slowdowns_unref(s->known);
	np_leaves_unref(s->leaves);
	np_queue_log_free(&s->log);
}

/* --set may be given several times. */
static int add_setting(char *text, void *at, struct np_err *err)
{
	struct cli_sim_options *o = at;
	struct np_conf conf;

	if (o->n_settings == CLI_SIM_SETTINGS)
		return np_errf(err, -EINVAL, "--set: more than %d",
			       CLI_SIM_SETTINGS);
	o->setting[o->n_settings++] = text;
	np_conf_init(&conf);
	return set_key(&conf, text, err);
}

/* --policy=off,enforce:MaxSlowdown=20% is checked here, and kept as it is. */
static int take_policies(char *text, void *at, struct np_err *err)
{
	struct cli_sim_options *o = at;
	char *copy = strdup(text), *save = NULL, *word;
	int rc = copy ? 0 : np_errf(err, -ENOMEM, "out of memory");
	struct np_conf conf;
	enum np_mode mode;
	size_t n = 0;

	np_conf_init(&conf);
	for (word = copy ? strtok_r(copy, ",", &save) : NULL; !rc && word;
	     word = strtok_r(NULL, ",", &save))
		rc = n++ == CLI_SIM_POLICIES ?
		     np_errf(err, -EINVAL, "--policy: more than %d policies",
			     CLI_SIM_POLICIES) :
		     parse_policy(word, &conf, &mode, err);
	if (!rc && !n)
		rc = np_errf(err, -EINVAL, "--policy: expected off, advise, "
			     "prefer or enforce");
	free(copy);
	o->policies = text;
	return rc;
}

static int take_last(char *text, void *at, struct np_err *err)
{
	size_t digits;

	*(const char **)at = text;
	return unit_of_last(text, &digits) ? 0 :
	       np_errf(err, -EINVAL, "--last=%.40s: expected a time such as "
		       "30d, 12h or 4w", text);
}

/*
 * --leaves: leaves and nodes of each, "64x32", or groups of these, "4x16x32".
 */
static int take_leaves(char *text, void *at, struct np_err *err)
{
	struct cli_sim_options *o = at;
	unsigned groups = 0, leaves = 0, nodes = 0;
	bool plain = !text[strspn(text, "0123456789x")];
	int end = 0;

	sscanf(text, "%5ux%5ux%5u%n", &groups, &leaves, &nodes, &end);
	if (!end) {
		groups = 0;
		sscanf(text, "%5ux%5u%n", &leaves, &nodes, &end);
	} else if (!groups) {
		end = 0;
	}
	if (!plain || !end || text[end] || !leaves || !nodes || nodes > NP_LEAF_MAX_NODES ||
	    (uint64_t)leaves * (groups ? groups : 1) > NP_LEAVES_MAX ||
	    (uint64_t)leaves * (groups ? groups : 1) * nodes >
	    NP_LEAVES_MAX_NODES)
		return np_errf(err, -EINVAL, "--leaves=%.40s: expected leaves "
			       "and nodes on each, such as 64x32, or groups of "
			       "leaves, such as 4x16x32", text);
	o->groups = groups;
	o->leaves = leaves;
	o->nodes = nodes;
	return 0;
}

/* --mix=fft:20,unknown:80 */
static int take_mix(char *text, void *at, struct np_err *err)
{
	struct cli_sim_options *o = at;
	char *save = NULL, *word;

	o->mix.n = 0;
	o->mix.sum = 0;
	for (word = strtok_r(text, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		char *colon = strrchr(word, ':'), *end = NULL;
		double share = colon ? strtod(colon + 1, &end) : -1;

		if (!colon || colon == word || *end || strpbrk(colon, "xX") ||
		    !(share > 0) || share > 1e6 || o->mix.n == MAX_MIX ||
		    colon - word >= CLI_SIM_NAME)
			return np_errf(err, -EINVAL, "--mix: \"%.64s\": "
				       "expected a name and a weight, such as "
				       "fft:20", word);
		*colon = '\0';
		o->mix.name[o->mix.n] = word;
		o->mix.share[o->mix.n++] = share;
		o->mix.sum += share;
	}
	return o->mix.n ? 0 : np_errf(err, -EINVAL, "--mix: expected names and "
				      "weights, such as fft:20");
}

/* --order=priority, submit or fairshare. */
static int take_order(char *text, void *at, struct np_err *err)
{
	struct cli_sim_options *o = at;

	o->by_submission = !strcmp(text, "submit");
	o->fair = !strcmp(text, "fairshare");
	o->scheduler.fair_period_sec = o->fair ? FAIR_PERIOD_SEC : 0;
	if (!o->by_submission && !o->fair && strcmp(text, "priority"))
		return np_errf(err, -EINVAL, "--order=%.64s: expected priority, "
			       "submit or fairshare", text);
	return 0;
}

#define AT(member) offsetof(struct cli_sim_options, member)
static const struct np_option own[] = {
	{ "swf", NP_OPTION_WORD, AT(swf) },
	{ "sacct", NP_OPTION_WORD, AT(sacct) },
	{ "last", NP_OPTION_TAKE, AT(last), .take = take_last },
	{ "leaves", NP_OPTION_TAKE, 0, .take = take_leaves },
	{ "topology", NP_OPTION_WORD, AT(topology) },
	{ "cpus-per-node", NP_OPTION_COUNT, AT(cpus), 1, NP_SIM_MAX_CPUS },
	{ "rules", NP_OPTION_WORD, AT(rules) },
	{ "mix", NP_OPTION_TAKE, 0, .take = take_mix },
	{ "pairs", NP_OPTION_WORD, AT(pairs) },
	{ "policy", NP_OPTION_TAKE, 0, .take = take_policies },
	{ "set", NP_OPTION_TAKE, 0, .take = add_setting },
	{ "seeds", NP_OPTION_COUNT, AT(seeds), 1, CLI_SIM_SEEDS },
	{ "events", NP_OPTION_WORD, AT(events) },
	{ "order", NP_OPTION_TAKE, 0, .take = take_order },
	{ "shares", NP_OPTION_WORD, AT(shares) },
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

#define NOT_GIVEN UINT32_MAX /* an option with a number */

/* Options that exclude or need each other. */
static int check(const struct cli_cmd *self, const struct cli_sim_options *o)
{
	if (!!o->swf + !!o->sacct + !!o->last != 1)
		return cli_usage(self, "simulate needs jobs: one of "
				 "--swf=FILE, --sacct=FILE and --last=30d");
	if (o->leaves && o->topology)
		return cli_usage(self, "expected only one of --leaves and "
				 "--topology");
	if (o->shares && !o->fair)
		return cli_usage(self, "--shares needs --order=fairshare");
	if (o->scheduler.fair_half_life_sec != NOT_GIVEN && !o->fair)
		return cli_usage(self, "--half-life has no effect without "
				 "--order=fairshare");
	if (o->rules && o->mix.n)
		return cli_usage(self, "expected only one of --rules and "
				 "--mix");
	if (o->seeds && !o->mix.n)
		return cli_usage(self, "--seeds has no effect without --mix");
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
	struct cli_sim_options opt = { .seeds = 0 };
	struct cli_simulate s = { .o = &opt };
	struct cli_options o;
	int rc;

	/* Defaults, which the options then change. */
	np_sim_scheduler_init(&opt.scheduler);
	opt.scheduler.fair_half_life_sec = NOT_GIVEN;
	rc = cli_options_parse(self, argc, argv, &opt, &o);
	if (rc < 0)
		rc = check(self, &opt);
	if (rc >= 0)
		return rc;
	if (opt.scheduler.fair_half_life_sec == NOT_GIVEN)
		opt.scheduler.fair_half_life_sec = HALF_LIFE_SEC;
	/* Without --mix nothing is random, so one seed is enough. */
	if (!opt.seeds)
		opt.seeds = opt.mix.n ? 5 : 1;
	rc = prepare(&s);
	if (rc < 0) {
		sigaction(SIGINT, &act, NULL); /* a second one ends us */
		rc = simulate_all(&s);
	}
	if (s.events && fclose(s.events) && rc < 0)
		rc = cli_fail("%s: %s", opt.events, strerror(errno));
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
"  --shares=FILE       output of sshare -a --parsable2 (with --last, it is asked)\n"
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
