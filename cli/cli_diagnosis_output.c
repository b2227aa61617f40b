/* Printing what accounting and metrics tell about a job. */
#include "cli_diagnosis.h"

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_json_put.h"
#include "cli_plot.h"
#include "cli_text.h"
#include "np_job_cost.h"

#define LINE 1536
#define MAX_ROWS 12  /* of a table in text output */
#define LONG 1.1     /* of the median run time: less is not called long */
#define LITTLE 0.005 /* of the excess: a smaller cost has no row */
#define LEAST_EXPLAINED 0.005 /* smaller predicted slowdowns explain nothing */

/* ---- names and states ---- */

/* May the caller know whose job this is? */
static bool may_name(const struct cli_diagnosis *p, const struct np_acct_job *j)
{
	const struct passwd *pw;
	char user[256];

	if (!p->masked)
		return true;
	pw = getpwuid(geteuid());
	return pw && !strcmp(pw->pw_name, np_acct_text(&p->acct, j->user, user,
						       sizeof(user)));
}

/* The id of a job, "12" or "12_3". */
static const char *job_id(const struct np_acct_job *j, char *buf, size_t len)
{
	if (j->task != NP_ACCT_NO_TASK)
		snprintf(buf, len, "%u_%u", j->array, j->task);
	else
		snprintf(buf, len, "%u", j->id);
	return buf;
}

/* The same of a neighbour, or "another job" if it is private. */
static const char *job_name(const struct cli_diagnosis *p,
			    const struct np_acct_job *j, char *buf, size_t len)
{
	if (may_name(p, j))
		return job_id(j, buf, len);
	snprintf(buf, len, "another job");
	return buf;
}

/* Can the run time be judged, and if not, why? */
enum job_state { JOB_COMPARABLE, JOB_RUNNING, JOB_FAILED };

/*
 * A running job can be judged once it has taken longer than its comparable
 * runs usually do.
 */
static enum job_state job_state(const struct cli_diagnosis *p)
{
	switch (p->job->state) {
	case NP_ACCT_COMPLETED:
	case NP_ACCT_TIMEOUT:
		return JOB_COMPARABLE;
	case NP_ACCT_RUNNING:
		return p->examined &&
				       np_acct_job_sec(&p->acct, p->job) >
					       p->result.blame.usual_sec &&
				       p->result.blame.usual_sec > 0 ?
			       JOB_COMPARABLE :
			       JOB_RUNNING;
	default:
		return JOB_FAILED;
	}
}

/* Do the causes have costs? */
static bool is_judged(const struct cli_diagnosis *p)
{
	return p->examined && p->result.blame.verdict != NP_BLAME_TOO_FEW &&
	       job_state(p) == JOB_COMPARABLE;
}

/* ---- words ---- */

/* A cause as a noun phrase that follows "due to". */
static const char *cause_words(enum np_cause c)
{
	static const char *const words[NP_N_CAUSES] = {
		"other jobs on its leaf switches",
		"a slow or faulty link",
		"waiting for processors",
		"slower clocks of processors",
		"waiting for memory",
		"waiting for disks and file systems",
	};

	return words[c];
}

/* "network", "link" ..., for programs. */
static const char *cause_name(enum np_cause c)
{
	static const char *const names[NP_N_CAUSES] = {
		"network", "link", "cpu", "clock", "memory", "io",
	};

	return names[c];
}

/*
 * The verdict for programs: the name of the cause that cost most, or "none",
 * "unexplained", "too_few", "running", "failed".
 */
static const char *verdict_name(const struct cli_diagnosis *p)
{
	const struct np_blame *b = &p->result.blame;
	double most = 0;
	const char *word = "unexplained";

	switch (job_state(p)) {
	case JOB_RUNNING:
		return "running";
	case JOB_FAILED:
		return "failed";
	default:
		break;
	}
	if (!p->examined || b->verdict == NP_BLAME_TOO_FEW)
		return "too_few";
	if (b->verdict == NP_BLAME_NOT_SLOW)
		return "none";
	for (size_t c = 0; c < b->n_causes; c++)
		if (b->cause[c].blamed && b->cause[c].sec.mean > most) {
			most = b->cause[c].sec.mean;
			word = cause_name((enum np_cause)c);
		}
	return word;
}

/* The same in words, to follow "Verdict: ". */
static const char *verdict_words(const struct cli_diagnosis *p, char *buf,
				 size_t len)
{
	static const struct {
		const char *name, *words;
	} verdicts[] = {
		{ "running", "it is still running" },
		{ "failed", "it did not complete" },
		{ "too_few", "too few comparable runs" },
		{ "none", "not slow" },
		{ "unexplained", "slow for an unknown reason" },
	};
	const char *name = verdict_name(p);

	for (size_t i = 0; i < NP_ARRAY_SIZE(verdicts); i++)
		if (!strcmp(verdicts[i].name, name))
			return verdicts[i].words;
	for (int c = 0; c < NP_N_CAUSES; c++)
		if (!strcmp(cause_name((enum np_cause)c), name))
			snprintf(buf, len, "slow, mainly due to %s",
				 cause_words((enum np_cause)c));
	return buf;
}

/* List the blamed causes, the most costly first. Returns their number. */
static size_t list_blamed(const struct np_blame *b,
			  enum np_cause out[NP_N_CAUSES])
{
	size_t n = 0;

	for (int c = 0; c < NP_N_CAUSES; c++) {
		size_t i = n;

		if (!b->cause[c].blamed)
			continue;
		for (;
		     i && b->cause[out[i - 1]].sec.mean < b->cause[c].sec.mean;
		     i--)
			out[i] = out[i - 1];
		out[i] = (enum np_cause)c;
		n++;
	}
	return n;
}

/* Whole days from two days on, hours below. */
static void say_days(double sec, char *buf, size_t len)
{
	if (sec >= 2 * 86400)
		snprintf(buf, len, "%.0f days", sec / 86400);
	else
		snprintf(buf, len, "%.0f h", sec / 3600);
}

/* " on n3" if the cause is on a single node, or "" */
static const char *on_node(const struct cli_diagnosis *p, enum np_cause c,
			   char *buf, size_t len)
{
	char name[256];

	buf[0] = '\0';
	if (p->result.node[c] != NP_NO_INDEX && p->result.one_node[c])
		snprintf(buf, len, " on %s",
			 np_acct_node(&p->acct, p->result.node[c], name,
				      sizeof(name)));
	return buf;
}

/*
 * What a user or administrator can do about a cause. The node is named if it is
 * a single one.
 */
static const char *next_step(const struct cli_diagnosis *p, enum np_cause c,
			     char *buf, size_t len)
{
	char name[256];
	bool one = p->result.node[c] != NP_NO_INDEX && p->result.one_node[c];
	const char *node = one ? np_acct_node(&p->acct, p->result.node[c], name,
					      sizeof(name)) :
				 "NODE";
	const char *of = one ? node : "its nodes";

	buf[0] = '\0';
	switch (c) {
	case NP_CAUSE_NETWORK:
		/* Only steps on several nodes are measured. */
		if (p->job->n_nodes == 1)
			return "keep it away from such neighbours: sbatch "
			       "--exclude=NODES";
		return "measure it (sbatch --netprofile=NAME job.sh), so that "
		       "placement can keep it away from such neighbours; by "
		       "hand: sbatch --exclude=NODES or --switches=1";
	case NP_CAUSE_LINK:
		cli_appendf(buf, len,
			    "have the link of %s checked (ethtool, ibdiagnet, "
			    "cable); until then sbatch --exclude=%s",
			    of, node);
		break;
	case NP_CAUSE_CPU:
		cli_appendf(buf, len,
			    "see what else runs on %s (squeue -w %s, sacct -a "
			    "-N %s), ask for whole nodes (--exclusive), or "
			    "check the limits of the job's cgroup",
			    of, node, node);
		break;
	case NP_CAUSE_CLOCK:
		cli_appendf(
			buf, len,
			"have the cooling and the power limits of %s checked "
			"(dmesg, ipmitool); until then sbatch --exclude=%s",
			of, node);
		break;
	case NP_CAUSE_MEMORY:
		return "ask for more memory (--mem), or for whole nodes "
		       "(--exclusive)";
	default:
		return "see who else uses the file system, and whether the job "
		       "can write less often or to another one";
	}
	return buf;
}

/*
 * Append " (above all 126, bob's halo, on leaf0)" if a single neighbour caused
 * at least half of the cost.
 */
static void add_worst_neighbour(const struct cli_diagnosis *p, char *buf,
				size_t len)
{
	double half = p->result.blame.cause[NP_CAUSE_NETWORK].sec.mean / 2;

	for (size_t i = 0; i < p->n_neighbours; i++) {
		const struct np_acct_neighbour *b = &p->neighbour[i];
		const struct np_acct_job *o = &p->acct.job[b->job];
		char id[64], user[256], name[256], leaf[256];

		if (!(p->neighbour[i].cost_sec >= half))
			continue;
		job_name(p, o, id, sizeof(id));
		np_acct_leaf(&p->acct, b->leaf, leaf, sizeof(leaf));
		if (may_name(p, o))
			cli_appendf(buf, len, " (above all %s, %s's %s, on %s)",
				    id,
				    np_acct_text(&p->acct, o->user, user,
						 sizeof(user)),
				    np_acct_text(&p->acct, o->name, name,
						 sizeof(name)),
				    leaf);
		else
			cli_appendf(buf, len, " (above all %s on %s)", id,
				    leaf);
		return;
	}
}

/* Append "6.9 s (90 % interval 5.1 to 8.2 s) due to waiting for memory". */
static void add_cause(const struct cli_diagnosis *p, enum np_cause c, char *buf,
		      size_t len)
{
	const struct np_blame_range *r = &p->result.blame.cause[c].sec;
	char mean[CLI_NUMBER_LEN], range[CLI_NUMBER_LEN], node[300];

	cli_appendf(buf, len, "%s%s (90 %% interval %s) due to %s%s",
		    *buf ? ", and " : "", cli_sec(r->mean, mean),
		    cli_sec_range(fmax(r->low, 0), r->high, range),
		    cause_words(c), on_node(p, c, node, sizeof(node)));
	if (c == NP_CAUSE_NETWORK)
		add_worst_neighbour(p, buf, len);
}

/* "took 12.9 min", or "has run for 12.9 min so far". */
static const char *took_text(const struct cli_diagnosis *p, char *buf,
			     size_t len)
{
	bool running = p->job->state == NP_ACCT_RUNNING;
	char sec[CLI_NUMBER_LEN];

	snprintf(buf, len, "%s %s%s", running ? "has run for" : "took",
		 cli_sec(np_acct_job_sec(&p->acct, p->job), sec),
		 running ? " so far" : "");
	return buf;
}

/* Confidence below 95 % is put in words as well as in a number. */
static const char *certainly(double confidence)
{
	return confidence >= 0.95 ? "" : "probably ";
}

/*
 * The verdict on a slow job: how much time it lost, and the blamed causes with
 * the share of each. The network is named first, as that is the question.
 */
static void say_slow(FILE *f, const struct cli_diagnosis *p, const char *job)
{
	const struct np_blame *b = &p->result.blame;
	enum np_cause list[NP_N_CAUSES];
	size_t n = list_blamed(b, list);
	char took[64], more[CLI_NUMBER_LEN], why[LINE] = "", head[256];

	for (size_t i = 0; i < n; i++)
		add_cause(p, list[i], why, sizeof(why));
	snprintf(head, sizeof(head),
		 "Job %s %s, %s (%.0f %%) longer than undisturbed.", job,
		 took_text(p, took, sizeof(took)),
		 cli_sec(b->excess_sec.mean, more),
		 100 * b->excess_sec.mean / b->alone_sec.mean);
	if (n)
		cli_fprintf(f, CLI_BOLD, 0,
			    "%s It was %s%s (confidence %.0f %%): %s.", head,
			    certainly(b->confidence),
			    list[0] == NP_CAUSE_NETWORK ? "the network" :
							  "not the network",
			    fmin(100 * b->confidence, 99), why);
	else if (!b->cause[NP_CAUSE_NETWORK].examined)
		cli_fprintf(f, CLI_BOLD, 0,
			    "%s There is not enough data to tell whether it "
			    "was the network.",
			    head);
	else
		cli_fprintf(
			f, CLI_BOLD, 0,
			"%s None of the examined causes accounts for that%s.",
			head,
			p->metrics ? "; it was probably not the network" : "");
}

/*
 * The first sentence. Before a job is called slow, it must be finished,
 * successful and comparable with enough other runs.
 */
static void say_verdict(FILE *f, const struct cli_diagnosis *p)
{
	char job[64], took[64], sec[CLI_NUMBER_LEN], range[CLI_NUMBER_LEN];
	char days[32], usual[CLI_NUMBER_LEN];
	const struct np_blame *b = &p->result.blame;

	job_id(p->job, job, sizeof(job));
	took_text(p, took, sizeof(took));
	cli_sec_range(p->shortest, p->longest, range);
	say_days(p->since_sec, days, sizeof(days));
	switch (job_state(p)) {
	case JOB_RUNNING:
		if (p->n_examined)
			cli_fprintf(f, CLI_BOLD, 0,
				    "Job %s %s; comparable runs took %s. Ask "
				    "again when it has ended.",
				    job, took, range);
		else
			cli_fprintf(f, CLI_BOLD, 0,
				    "Job %s %s; there is no comparable run.",
				    job, took);
		return;
	case JOB_FAILED:
		cli_fprintf(f, CLI_BOLD, 0,
			    "Job %s did not complete: after %s it failed, was "
			    "cancelled or was requeued, so its run time cannot "
			    "be compared.",
			    job,
			    cli_sec(np_acct_job_sec(&p->acct, p->job), sec));
		return;
	default:
		break;
	}
	if (!p->examined || b->verdict == NP_BLAME_TOO_FEW)
		cli_fprintf(f, CLI_BOLD, 0,
			    "Too few comparable runs to say whether job %s was "
			    "slow: it %s, and there %s %zu in the last %s (%d "
			    "are needed).",
			    job, took, p->n_comparable == 1 ? "is" : "are",
			    p->n_comparable, days, NP_BLAME_LEAST_RUNS);
	else if (b->verdict == NP_BLAME_NOT_SLOW &&
		 np_acct_job_sec(&p->acct, p->job) > LONG * b->usual_sec)
		cli_fprintf(f, CLI_BOLD, 0,
			    "Job %s %s, longer than most comparable runs "
			    "(median %s), but they vary from %s (%zu runs) and "
			    "no cause was found: it may be chance.",
			    job, took, cli_sec(b->usual_sec, usual), range,
			    p->n_examined);
	else if (b->verdict == NP_BLAME_NOT_SLOW)
		cli_fprintf(f, CLI_BOLD, 0,
			    "Job %s was not slow: it %s, and comparable runs "
			    "took %s (%zu runs).",
			    job, took, range, p->n_examined);
	else
		say_slow(f, p, job);
}

/* ---- sections ---- */

/*
 * What comparable runs have in common: "alice's fft", or "alice's "sbatch run.sh"";
 * without names if the job is private.
 */
static const char *common_text(const struct cli_diagnosis *p, char *buf,
			       size_t len)
{
	bool by_name = p->same == NP_ACCT_SAME_NAME;
	char user[256], of[256];

	if (by_name)
		np_acct_text(&p->acct, p->job->name, of, sizeof(of));
	else
		np_acct_command(&p->acct, p->job, of, sizeof(of));
	if (may_name(p, p->job))
		snprintf(buf, len, "%s's %s%s%s",
			 np_acct_text(&p->acct, p->job->user, user,
				      sizeof(user)),
			 by_name ? "" : "\"", of, by_name ? "" : "\"");
	else
		snprintf(buf, len, "the same user and %s",
			 by_name ? "name" : "command");
	return buf;
}

/* Which runs the job was compared with, and on what grounds. */
static void say_compared(FILE *f, const struct cli_diagnosis *p)
{
	const struct np_acct_job *j = p->job;
	char days[32], text[CLI_NUMBER_LEN], limit[64] = "", of[600], why[64];
	char tasks[64] = "";

	snprintf(why, sizeof(why), "fewer than %d have its name",
		 NP_BLAME_LEAST_RUNS);
	say_days(p->since_sec, days, sizeof(days));
	if (isfinite(j->limit_sec) && j->limit_sec > 0)
		snprintf(limit, sizeof(limit), ", limit %s",
			 cli_setting_sec(j->limit_sec, text));
	if (j->tasks)
		snprintf(tasks, sizeof(tasks), ", %u task%s", j->tasks,
			 cli_plural_s(j->tasks));
	cli_print_labelled(
		f, "Compared",
		"%zu of %zu completed runs of %s on %u node%s (%u "
		"processor%s%s%s) in the last %s%s%s%s%s",
		p->n_examined, p->n_comparable, common_text(p, of, sizeof(of)),
		j->n_nodes, cli_plural_s(j->n_nodes), j->cpus,
		cli_plural_s(j->cpus), tasks, limit, days,
		p->n_examined ? ", which took " : "",
		p->n_examined ? cli_sec_range(p->shortest, p->longest, text) :
				"",
		p->same == NP_ACCT_SAME_NAME ? "" : "; chosen by command, as ",
		p->same == NP_ACCT_SAME_NAME ? "" :
		p->named		     ? why :
			   "its name does not say what it runs");
}

/* A number of nodes, processors or tasks, or the name of a partition. */
static const char *trait_text(const struct cli_diagnosis *p,
			      enum np_acct_trait trait, uint32_t value,
			      char *buf, size_t len)
{
	if (trait == NP_ACCT_PARTITION)
		return np_acct_text(&p->acct, value, buf, len);
	snprintf(buf, len, "%u", value);
	return buf;
}

/*
 * Does the job differ from its usual runs? Another number of nodes brings
 * another number of processors with it, and that one another number of tasks.
 */
static bool differs(const struct cli_diagnosis *p, enum np_acct_trait trait,
		    struct np_acct_usual *out)
{
	struct np_acct_usual u;

	if (!p->named || !np_acct_differs(&p->acct, p->job, trait, out))
		return false;
	return (trait != NP_ACCT_CPUS && trait != NP_ACCT_TASKS) ||
	       (!np_acct_differs(&p->acct, p->job, NP_ACCT_NODES, &u) &&
		(trait == NP_ACCT_CPUS ||
		 !np_acct_differs(&p->acct, p->job, NP_ACCT_CPUS, &u)));
}

/*
 * Are the commands known, and has no comparable run that of the job? other: the
 * command of the newest one. Both buffers have LINE bytes.
 */
static bool has_new_command(const struct cli_diagnosis *p, char *own,
			    char *other)
{
	if (!*np_acct_command(&p->acct, p->job, own, LINE) || !p->n_examined)
		return false;
	for (size_t i = p->n_examined; i-- > 0;) {
		np_acct_command(&p->acct, &p->acct.job[p->comparable[i]], other,
				LINE);
		if (!*other || !strcmp(own, other))
			return false;
	}
	return true;
}

/* Why the run time may not be comparable after all. */
static void say_different(FILE *f, const struct cli_diagnosis *p)
{
	static const char *const words[NP_ACCT_N_TRAITS] = {
		"number of nodes",
		"number of processors",
		"number of tasks",
		"partition",
	};
	const struct np_acct_job *j = p->job;
	char own[LINE], other[LINE];

	for (int t = 0; t < NP_ACCT_N_TRAITS; t++) {
		enum np_acct_trait trait = (enum np_acct_trait)t;
		struct np_acct_usual u;

		if (differs(p, trait, &u))
			cli_print_labelled(
				f, "Different",
				"another %s than in its usual runs: %s, "
				"usually %s (%zu of %zu runs of its name)",
				words[t],
				trait_text(p, trait, u.own, own, LINE),
				trait_text(p, trait, u.usual, other, LINE),
				u.runs, u.of);
	}
	if (has_new_command(p, own, other)) {
		bool named = may_name(p, j);

		cli_print_labelled(f, "Different",
				   "it was submitted with another command than "
				   "all comparable runs, perhaps for another "
				   "program or input%s%.300s%s%.300s%s",
				   named ? ": \"" : "", named ? own : "",
				   named ? "\", the newest of them with \"" :
					   "",
				   named ? other : "", named ? "\"" : "");
	}
	if (j->requeues)
		cli_print_labelled(f, "Requeued",
				   "it was started %u time%s before; only the "
				   "last start counts here",
				   j->requeues, cli_plural_s(j->requeues));
	if (j->suspended_sec > 0)
		cli_print_labelled(
			f, "Suspended",
			"for %.0f s, which are excluded from its run time",
			j->suspended_sec);
}

/*
 * One cause with its cost, its share of the excess and its interval. A
 * negative end of an interval is printed as 0: a cause cannot save time.
 */
static void cause_row(FILE *f, const char *name, const struct np_blame_range *r,
		      double excess, const char *node)
{
	char range[CLI_NUMBER_LEN];

	cli_print_left(f, name, cli_name_column(35, 1));
	cli_fprint_number(f, cli_sec, r->mean, 10);
	if (excess > 0)
		fprintf(f, "%6.0f %%  ", 100 * r->mean / excess);
	else
		fprintf(f, "%10s", "");
	cli_sec_range(fmax(r->low, 0), fmax(r->high, 0), range);
	if (*node)
		cli_print_left(f, range, 20);
	else
		fputs(range, f);
	fprintf(f, "%s\n", node);
}

/*
 * Only for a slow job. Causes that could not be examined have no row, so that
 * a missing row does not read as "no cost".
 */
static void say_causes(FILE *f, const struct cli_diagnosis *p)
{
	const struct np_blame *b = &p->result.blame;
	double excess = b->excess_sec.mean;

	if (!is_judged(p) || b->verdict == NP_BLAME_NOT_SLOW)
		return;
	cli_fheading(f, "%-*s%10s%8s  %s", cli_name_column(35, 1), "Cause",
		     "Cost", "Share", "90 % interval");
	for (int c = 0; c < NP_N_CAUSES; c++) {
		char node[300];

		if (b->cause[c].examined &&
		    b->cause[c].sec.mean > LITTLE * excess)
			cause_row(f, cause_words((enum np_cause)c),
				  &b->cause[c].sec, excess,
				  on_node(p, (enum np_cause)c, node,
					  sizeof(node)));
	}
	cause_row(f, "unexplained", &b->unexplained_sec, excess, "");
}

/* The value of a signal with its unit. */
static void signal_text(enum np_signal s, double v, char buf[CLI_NUMBER_LEN])
{
	switch (s) {
	case NP_SIGNAL_CPU_WAIT:
	case NP_SIGNAL_STEAL:
	case NP_SIGNAL_MEMORY_WAIT:
	case NP_SIGNAL_IO_WAIT:
		cli_percent(v, buf);
		break;
	case NP_SIGNAL_TRAFFIC:
	case NP_SIGNAL_LINK_SPEED:
	case NP_SIGNAL_DISK:
		cli_rate(v, buf);
		break;
	case NP_SIGNAL_LOAD:
		snprintf(buf, CLI_NUMBER_LEN, "%.3g", v);
		break;
	case NP_SIGNAL_CLOCK:
		snprintf(buf, CLI_NUMBER_LEN, "%.2f GHz", v / 1e9);
		break;
	case NP_SIGNAL_CLOCK_SKEW:
		snprintf(buf, CLI_NUMBER_LEN, "%.0f s", v);
		break;
	default:
		snprintf(buf, CLI_NUMBER_LEN, "%.3g/s", v);
	}
}

/* The cause whose cost includes that of a signal; NP_N_CAUSES: none. */
static const enum np_cause cause_of[NP_N_SIGNALS] = {
	[NP_SIGNAL_TRAFFIC] = NP_N_CAUSES,
	[NP_SIGNAL_CPU_WAIT] = NP_CAUSE_CPU,
	[NP_SIGNAL_STEAL] = NP_CAUSE_CPU,
	[NP_SIGNAL_CLOCK] = NP_CAUSE_CLOCK,
	[NP_SIGNAL_MEMORY_WAIT] = NP_CAUSE_MEMORY,
	[NP_SIGNAL_SWAP] = NP_CAUSE_MEMORY,
	[NP_SIGNAL_IO_WAIT] = NP_CAUSE_IO,
	[NP_SIGNAL_NFS] = NP_CAUSE_IO,
	[NP_SIGNAL_NIC_ERRORS] = NP_CAUSE_LINK,
	[NP_SIGNAL_LINK_SPEED] = NP_CAUSE_LINK,
	[NP_SIGNAL_RETRANSMITS] = NP_CAUSE_NETWORK,
	[NP_SIGNAL_CONGESTION] = NP_CAUSE_NETWORK,
	[NP_SIGNAL_CLOCK_SKEW] = NP_N_CAUSES,
	[NP_SIGNAL_THROTTLING] = NP_N_CAUSES,
	[NP_SIGNAL_DISK] = NP_N_CAUSES,
	[NP_SIGNAL_NFS_CALLS] = NP_N_CAUSES,
	[NP_SIGNAL_LOAD] = NP_N_CAUSES,
};

/*
 * The cause whose share includes the cost of a signal; NULL: none. If no such cause
 * was examined, its cost is unexplained.
 */
static const char *share_name(const struct cli_diagnosis *p, enum np_signal s)
{
	enum np_cause c = cause_of[s];

	if (c == NP_N_CAUSES)
		return NULL;
	return is_judged(p) && !p->result.blame.cause[c].examined ?
		       "unexplained" :
		       cause_name(c);
}

/*
 * Which cause includes the cost of a signal that has none of its own: the seconds
 * that pages and packets take are already in the exposure to that cause.
 */
static const char *counted_as(const struct cli_diagnosis *p, enum np_signal s)
{
	const struct np_blame *b = &p->result.blame;

	if (cause_of[s] == NP_N_CAUSES)
		return "";
	if (!b->cause[cause_of[s]].examined)
		return is_judged(p) ? "; what it costs is unexplained" : "";
	switch (s) {
	case NP_SIGNAL_SWAP:
		return "; it costs time in which processes wait for memory";
	case NP_SIGNAL_NFS:
		return "; it costs time in which processes wait for file "
		       "systems";
	case NP_SIGNAL_RETRANSMITS:
	case NP_SIGNAL_CONGESTION:
		return "; its cost is in that of other jobs on the leaf "
		       "switches, or of a link";
	default:
		return "";
	}
}

static const char *const signal_words[NP_N_SIGNALS] = {
	"traffic of other jobs",
	"time that a process waited for a processor",
	"processor time taken by the hypervisor",
	"processor clock",
	"time that a process waited for memory",
	"pages swapped",
	"time that a process waited for a disk or file system",
	"NFS requests repeated",
	"errors and discards of the link",
	"speed of the link",
	"TCP segments repeated",
	"congestion counter of the link",
	"clock that differs from the metrics server's",
	"throttling of processors",
	"traffic of disks",
	"NFS requests",
	"processes that run or wait (load)",
};

/* The neighbour that had the worst node of others; NULL: no job is known. */
static const struct np_acct_job *neighbour_at(const struct cli_diagnosis *p,
					      enum np_signal s)
{
	uint32_t i = p->neighbour_value ? p->near_neighbour[s] : NP_NO_INDEX;

	return i == NP_NO_INDEX ? NULL : &p->acct.job[p->neighbour[i].job];
}

/* The same on nodes of other jobs, with the job. */
static void say_unusual_near(FILE *f, const struct cli_diagnosis *p)
{
	for (int s = 0; s < NP_N_SIGNALS; s++) {
		const struct np_examine_signal *g = &p->result.near[s];
		const struct np_acct_job *o =
			neighbour_at(p, (enum np_signal)s);
		char v[CLI_NUMBER_LEN], usual[CLI_NUMBER_LEN], node[256],
			id[64];

		if (!p->examined || !g->unusual)
			continue;
		signal_text((enum np_signal)s, g->value, v);
		signal_text((enum np_signal)s, g->usual, usual);
		cli_print_labelled(
			f, "Unusual",
			"%s on other nodes: %s on %s%s%s%s, usually %s",
			signal_words[s], v,
			np_acct_node(&p->acct, g->node, node, sizeof(node)),
			o ? " (" : "", o ? job_name(p, o, id, sizeof(id)) : "",
			o ? ")" : "", usual);
	}
}

/* Signals that are outside the range of comparable runs. */
static void say_unusual(FILE *f, const struct cli_diagnosis *p)
{
	for (int s = 0; s < NP_N_SIGNALS; s++) {
		const struct np_examine_signal *g = &p->result.sign[s];
		char v[CLI_NUMBER_LEN], usual[CLI_NUMBER_LEN], node[256];

		if (!p->examined || !g->unusual)
			continue;
		signal_text((enum np_signal)s, g->value, v);
		signal_text((enum np_signal)s, g->usual, usual);
		cli_print_labelled(f, "Unusual", "%s: %s on %s, usually %s%s",
				   signal_words[s], v,
				   np_acct_node(&p->acct, g->node, node,
						sizeof(node)),
				   usual, counted_as(p, (enum np_signal)s));
	}
	say_unusual_near(f, p);
}

/* ---- unusual intervals ---- */

#define MAX_WHEN 8 /* intervals in text output */
#define PROBES NP_N_SIGNALS
#define NEAR (PROBES + 1) /* and from it on the signals of other nodes */
#define N_ROWS (NEAR + NP_N_SIGNALS)

/* Steps of the timeline, [from, to), in which a signal was unusual. */
struct interval {
	/* PROBES: the job's own probes were delayed; NEAR + a signal: that of
	   nodes on its leaf switches that are not its own */
	int row;
	size_t from, to;
	double worst;
	uint32_t place; /* a node; of traffic, a leaf switch; of probes, none */
};

static enum np_signal signal_of(int row)
{
	return (enum np_signal)(row < NEAR ? row : row - NEAR);
}

/* The value of a row other than PROBES. */
static double value_at(const struct cli_diagnosis *p, int row, size_t step)
{
	return row < NEAR ? p->timeline.value[row][step] :
			    p->timeline.near[row - NEAR][step];
}

/* What is known of a signal in comparable runs. */
static const struct np_examine_signal *usual_of(const struct cli_diagnosis *p,
						int row)
{
	return row == NP_SIGNAL_TRAFFIC ? &p->result.others_traffic :
	       row < NEAR		? &p->result.sign[row] :
					  &p->result.near[row - NEAR];
}

/*
 * A signal of the job's nodes must be unusual in the whole run, too: for a part
 * of it even an undisturbed program waits more than in the mean, such as when it
 * writes a checkpoint. So must those of other nodes, for their programs. The traffic
 * of others does not depend on the program.
 */
static bool is_unusual_at(const struct cli_diagnosis *p, int row, size_t step)
{
	const struct cli_timeline *t = &p->timeline;

	if (row == PROBES)
		return t->has_probes && t->delayed[step] >= NP_EXAMINE_DELAYED;
	return p->examined && t->has_metrics &&
	       (row == NP_SIGNAL_TRAFFIC || usual_of(p, row)->unusual) &&
	       np_examine_is_unusual(signal_of(row), usual_of(p, row),
				     value_at(p, row, step));
}

/* Add a step to an interval; the worst value and its place remain. */
static void add_step(const struct cli_diagnosis *p, struct interval *i)
{
	const struct cli_timeline *t = &p->timeline;
	enum np_signal s = signal_of(i->row);
	size_t step = i->to++;

	if (i->row == PROBES) {
		i->worst = fmax(i->worst, t->delayed[step]);
	} else if (np_examine_is_worse(s, value_at(p, i->row, step),
				       i->worst)) {
		i->worst = value_at(p, i->row, step);
		i->place = (i->row < NEAR ? t->place : t->near_place)[s][step];
	}
}

/*
 * The next interval, by signal and then by time; false: there is none. The first
 * one follows a zeroed one.
 */
static bool next_interval(const struct cli_diagnosis *p, struct interval *i)
{
	size_t n = p->timeline.n;

	for (; i->row < N_ROWS; i->row++, i->to = 0) {
		i->from = i->to;
		while (i->from < n && !is_unusual_at(p, i->row, i->from))
			i->from++;
		if (i->from == n)
			continue;
		i->worst = NAN;
		i->to = i->from;
		while (i->to < n && is_unusual_at(p, i->row, i->to))
			add_step(p, i);
		return true;
	}
	return false;
}

/* Dates of the begin and the end of an interval. */
static double begin_of(const struct cli_diagnosis *p, const struct interval *i)
{
	return p->timeline.start + p->timeline.step_sec * (double)i->from;
}

static double end_of(const struct cli_diagnosis *p, const struct interval *i)
{
	return p->timeline.start + p->timeline.step_sec * (double)i->to;
}

/* Append the neighbours at some time, the first three by name. */
static void add_neighbours_at(const struct cli_diagnosis *p, double from,
			      double to, const char *before, char *buf,
			      size_t len)
{
	size_t more = 0;

	for (size_t i = 0; i < p->n_neighbours; i++) {
		const struct np_acct_neighbour *b = &p->neighbour[i];
		char text[64];

		if (b->to <= from || b->from >= to)
			continue;
		if (more++ < 3)
			cli_appendf(buf, len, "%s%s", more == 1 ? before : " ",
				    job_name(p, &p->acct.job[b->job], text,
					     sizeof(text)));
	}
	if (more > 3)
		cli_appendf(buf, len, " +%zu", more - 3);
}

/* "traffic of other jobs: up to 16 GB/s on leaf0, usually 4 MB/s" */
static void value_text(const struct cli_diagnosis *p, const struct interval *i,
		       char *buf, size_t len)
{
	char v[CLI_NUMBER_LEN], usual[CLI_NUMBER_LEN], place[256];
	enum np_signal s = signal_of(i->row);

	signal_text(s, i->worst, v);
	signal_text(s, usual_of(p, i->row)->usual, usual);
	if (s == NP_SIGNAL_TRAFFIC)
		np_acct_leaf(&p->acct, i->place, place, sizeof(place));
	else
		np_acct_node(&p->acct, i->place, place, sizeof(place));
	snprintf(buf, len, "%s%s: %s to %s on %s, usually %s", signal_words[s],
		 i->row < NEAR ? "" : " on other nodes",
		 np_examine_is_worse(s, 0, 1) ? "down" : "up", v, place, usual);
}

/* When something was unusual, what, where, and which jobs were there then. */
static void say_when(FILE *f, const struct cli_diagnosis *p)
{
	const struct cli_timeline *t = &p->timeline;
	struct interval i = { .row = 0 };
	size_t more = 0;

	while (next_interval(p, &i)) {
		double from = begin_of(p, &i), sec = end_of(p, &i) - from;
		char when[96] = "all the time", what[700], with[300] = "";
		char text[CLI_NUMBER_LEN], date[CLI_NUMBER_LEN];
		bool part = i.to - i.from < t->n;

		/* Of other nodes, the lines "Unusual" say as much. */
		if ((i.row >= NEAR && !part) || more++ >= MAX_WHEN)
			continue;
		if (part)
			snprintf(when, sizeof(when), "for %s from %s",
				 cli_sec(sec, text), cli_date(from, date));
		if (i.row == PROBES)
			snprintf(what, sizeof(what),
				 "its probes: up to %.0f %% were delayed",
				 100 * i.worst);
		else
			value_text(p, &i, what, sizeof(what));
		add_neighbours_at(p, from, from + sec, "; with ", with,
				  sizeof(with));
		cli_print_labelled(f, "When", "%s: %s%s", when, what, with);
	}
	if (more > MAX_WHEN)
		cli_print_labelled(f, "When", "%zu more intervals (--json)",
				   more - MAX_WHEN);
}

/* When the probes were delayed, if only in parts of the run. */
static void say_slow_parts(FILE *f, const struct cli_diagnosis *p)
{
	const struct cli_timeline *t = &p->timeline;
	char first[CLI_NUMBER_LEN], slow[CLI_NUMBER_LEN], all[CLI_NUMBER_LEN];
	double worst = 0;
	size_t from = t->n;

	for (size_t i = t->n; i-- > 0;)
		if (t->delayed[i] >= NP_EXAMINE_DELAYED) {
			worst = fmax(worst, t->delayed[i]);
			from = i;
		}
	cli_print_labelled(
		f, "Its probes",
		"the network was slower than usual for %s of %s, first at %s: "
		"up to %.0f %% took longer than in its undisturbed runs, "
		"beyond what is usual",
		cli_sec(p->result.slow_part * np_acct_job_sec(&p->acct, p->job),
			slow),
		cli_sec(np_acct_job_sec(&p->acct, p->job), all),
		cli_date(t->start + t->step_sec * (double)from, first),
		100 * worst);
}

/* What the job's own probes say, if it was measured. */
static void say_probes(FILE *f, const struct cli_diagnosis *p)
{
	if (!p->examined || p->result.probes == NP_WITNESS_NONE)
		return;
	if (p->result.slow_part > 0 && p->result.slow_part < 1)
		say_slow_parts(f, p);
	else
		cli_print_labelled(f, "Its probes",
				   "%s: %.0f %% took longer than in its "
				   "undisturbed runs, beyond what is usual",
				   p->result.probes == NP_WITNESS_AGAINST ?
					   "the network was as fast as usual" :
					   "the network was slower than usual",
				   100 * p->result.delayed);
}

/* The columns of a neighbour that are names. */
enum { JOB, NAME, USER, LEAF, N_NAMES };

/* Names are "" if the neighbour's job is private. */
static void neighbour_names(const struct cli_diagnosis *p, size_t i,
			    char name[N_NAMES][256])
{
	const struct np_acct_neighbour *b = &p->neighbour[i];
	const struct np_acct_job *o = &p->acct.job[b->job];
	char text[256];

	snprintf(name[JOB], 256, "%s", job_name(p, o, text, sizeof(text)));
	snprintf(name[LEAF], 256, "%s",
		 np_acct_leaf(&p->acct, b->leaf, text, sizeof(text)));
	name[NAME][0] = name[USER][0] = '\0';
	if (!may_name(p, o))
		return;
	snprintf(name[NAME], 256, "%s",
		 np_acct_text(&p->acct, o->name, text, sizeof(text)));
	snprintf(name[USER], 256, "%s",
		 np_acct_text(&p->acct, o->user, text, sizeof(text)));
}

/* One neighbour; a star marks those that shared a node with the job. */
static void neighbour_row(FILE *f, const struct cli_diagnosis *p, size_t i,
			  const int width[N_NAMES])
{
	const struct np_acct_neighbour *b = &p->neighbour[i];
	char name[N_NAMES][256];

	neighbour_names(p, i, name);
	for (int c = 0; c < N_NAMES; c++) {
		cli_print_left(f, name[c], width[c]);
		putc(' ', f);
	}
	fprintf(f, "%5u", b->nodes);
	cli_fprint_number(f, cli_sec, b->to - b->from, 9);
	cli_fprint_number(f, cli_rate, b->rate, 11);
	cli_fprint_number(f, cli_sec, b->cost_sec, 9);
	fprintf(f, "%s\n", b->same_node ? " *" : "");
}

/* The neighbours, those with the most node-seconds during the job first. */
static void say_neighbours(FILE *f, const struct cli_diagnosis *p)
{
	size_t shown = p->n_neighbours < MAX_ROWS ? p->n_neighbours : MAX_ROWS;
	int width[N_NAMES] = { 11, cli_name_column(13, 1), 8, 10 };
	char name[N_NAMES][256];
	bool same = false;

	if (!p->n_neighbours) {
		cli_print_labelled(f, "Neighbours",
				   "none in the accounting: no other job was "
				   "on its leaf switches");
		return;
	}
	for (size_t i = 0; i < shown; i++) {
		neighbour_names(p, i, name);
		for (int c = 0; c < N_NAMES; c++)
			width[c] = cli_widen(width[c], name[c]);
	}
	cli_fheading(f, "%-*s %-*s %-*s %-*s %5s%9s%11s%9s", width[JOB],
		     "Neighbour", width[NAME], "Name", width[USER], "User",
		     width[LEAF], "Leaf", "Nodes", "Overlap", "Traffic",
		     "Cost");
	for (size_t i = 0; i < shown; i++) {
		neighbour_row(f, p, i, width);
		same |= p->neighbour[i].same_node;
	}
	if (p->n_neighbours > MAX_ROWS)
		fprintf(f, "%zu more (--json)\n", p->n_neighbours - MAX_ROWS);
	if (same)
		fprintf(f, "* on a node of the job\n");
}

/* Mean of the known values among the steps [from, to); NaN: none is known. */
static double mean_of(const double *v, size_t from, size_t to)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		if (!isnan(v[i])) {
			sum += v[i];
			n++;
		}
	return n ? sum / (double)n : NAN;
}

/* The largest of the known values among the steps [from, to), or NaN. */
static double most_of(const double *v, size_t from, size_t to)
{
	double most = NAN;

	for (size_t i = from; i < to; i++)
		most = fmax(most, v[i]); /* which ignores NaN */
	return most;
}

/* The values of the steps [from, to), without neighbours. */
static void timeline_row(FILE *f, const struct cli_timeline *t, size_t from,
			 size_t to)
{
	if (t->has_metrics) {
		cli_fprint_number(f, cli_rate, mean_of(t->own, from, to), 12);
		cli_fprint_number(f, cli_rate, mean_of(t->others, from, to),
				  12);
		cli_fprint_number(
			f, cli_percent,
			mean_of(t->value[NP_SIGNAL_CPU_WAIT], from, to), 10);
		cli_fprint_number(
			f, cli_percent,
			mean_of(t->value[NP_SIGNAL_IO_WAIT], from, to), 10);
	}
	if (t->has_probes)
		cli_fprint_number(f, cli_percent, most_of(t->delayed, from, to),
				  10);
	putc(' ', f);
}

/*
 * Neighbouring steps are combined until the table has at most MAX_ROWS rows.
 */
static void say_timeline(FILE *f, const struct cli_diagnosis *p)
{
	const struct cli_timeline *t = &p->timeline;
	size_t rows = t->n < MAX_ROWS ? t->n : MAX_ROWS;
	char leaf[256], date[CLI_NUMBER_LEN], with[300];

	if (!rows)
		return;
	cli_fheading(f, "%-20s%s%s  %s", "Timeline",
		     t->has_metrics ?
			     " Own traffic     Others'  CPU wait  I/O wait" :
			     "",
		     t->has_probes ? "   Delayed" : "", "Neighbours");
	for (size_t r = 0; r < rows; r++) {
		size_t from = r * t->n / rows, to = (r + 1) * t->n / rows;
		double at = t->start + t->step_sec * (double)from;

		cli_print_left(f, cli_date(at, date), 20);
		timeline_row(f, t, from, to);
		with[0] = '\0';
		add_neighbours_at(p, at, t->start + t->step_sec * (double)to,
				  " ", with, sizeof(with));
		fprintf(f, "%s\n", with);
	}
	if (t->has_metrics)
		fprintf(f,
			"Traffic on %s; waiting times are of the worst of the "
			"job's nodes.\n",
			np_acct_leaf(&p->acct, t->leaf, leaf, sizeof(leaf)));
	if (t->has_probes)
		fprintf(f, "Delayed: its own probes, in the worst part of the "
			   "time.\n");
}

/*
 * What the verdict could not take into account, each with what to do about it.
 */
static void say_missing(FILE *f, const struct cli_diagnosis *p)
{
	if (!p->metrics)
		cli_print_labelled(
			f, "Missing",
			"%s: only Slurm's accounting was used, and neighbours "
			"are weighted by their number of nodes",
			p->no_metrics.text);
	else if (p->no_metrics.text[0])
		cli_print_labelled(f, "Missing", "%s", p->no_metrics.text);
	if (p->metrics && p->n_without)
		cli_print_labelled(
			f, "Missing",
			"%zu of its nodes %s no samples on the metrics server; "
			"do nodes have other names there (MetricsLabel)?",
			p->n_without, p->n_without == 1 ? "has" : "have");
	if (p->n_runs_without)
		cli_print_labelled(f, "Missing",
				   "%zu of the %zu comparable runs %s no "
				   "samples on the metrics server; does it "
				   "keep them for as long (--since)?",
				   p->n_runs_without, p->n_examined,
				   p->n_runs_without == 1 ? "has" : "have");
	if (p->not_named.text[0])
		cli_print_labelled(f, "Missing",
				   "whether jobs of other users are private "
				   "(PrivateData), so they have no names: %s",
				   p->not_named.text);
	if (p->n_leaves_skipped || p->n_nodes_skipped)
		cli_print_labelled(f, "Missing",
				   "the metrics server is asked about at most "
				   "%d leaf switches and %d nodes on each: %zu "
				   "switch%s and %zu node%s were not queried",
				   CLI_DIAGNOSIS_LEAVES,
				   CLI_DIAGNOSIS_LEAF_NODES,
				   p->n_leaves_skipped,
				   p->n_leaves_skipped == 1 ? "" : "es",
				   p->n_nodes_skipped,
				   cli_plural_s(p->n_nodes_skipped));
	if (p->acct.one_leaf)
		cli_print_labelled(f, "Note",
				   "no topology is known, so all nodes count "
				   "as one leaf switch");
	if (p->acct.damaged)
		cli_print_labelled(
			f, "Missing",
			"%zu row%s of the accounting could not be read",
			p->acct.damaged, cli_plural_s(p->acct.damaged));
}

/* What to do next; "" if there is nothing to do. */
static const char *next_of(const struct cli_diagnosis *p, char *buf, size_t len)
{
	const struct np_blame *b = &p->result.blame;
	enum np_cause list[NP_N_CAUSES];
	bool one_node;

	if (!p->examined || job_state(p) != JOB_COMPARABLE)
		return "";
	if (list_blamed(b, list))
		return next_step(p, list[0], buf, len);
	/* Only steps on several nodes are measured. */
	one_node = p->job->n_nodes == 1;
	if (b->verdict == NP_BLAME_TOO_FEW)
		return one_node ? "give later runs the same job name, so that "
				  "they can be compared" :
				  "measure how the job reacts to its "
				  "neighbours (sbatch --netprofile=NAME "
				  "job.sh); give later runs the same job name, "
				  "so that they can be compared";
	if (b->verdict == NP_BLAME_UNEXPLAINED)
		return one_node ? "check what the job itself did (its output "
				  "and input)" :
				  "check what the job itself did (its output "
				  "and input), and measure the next run "
				  "(sbatch --netprofile=NAME job.sh)";
	return "";
}

/*
 * The verdict first, then the details in the order in which a reader doubts
 * it.
 */
void cli_diagnosis_text(FILE *f, const struct cli_diagnosis *p)
{
	char next[LINE];

	say_verdict(f, p);
	say_compared(f, p);
	say_different(f, p);
	say_unusual(f, p);
	say_probes(f, p);
	say_when(f, p);
	say_missing(f, p);
	cli_print_labelled(f, "Next", "%s", next_of(p, next, sizeof(next)));
	say_causes(f, p);
	say_neighbours(f, p);
	say_timeline(f, p);
}

/* ---- for programs ---- */

/* An estimate with its interval, in seconds. */
static void put_range(json_object *in, const char *key,
		      const struct np_blame_range *r)
{
	json_object *j = cli_put_object(in, key);

	cli_put_real(j, "mean", r->mean);
	cli_put_real(j, "low", r->low);
	cli_put_real(j, "high", r->high);
}

/* The node of a cause or signal; null: not a single one. */
static void put_node(json_object *in, const struct cli_diagnosis *p,
		     uint32_t node)
{
	char name[256];

	cli_put_text(in, "node",
		     node == NP_NO_INDEX ?
			     NULL :
			     np_acct_node(&p->acct, node, name, sizeof(name)));
}

/* One cause, also those that were examined and not blamed. */
static void put_cause(json_object *list, const struct cli_diagnosis *p,
		      enum np_cause c)
{
	const struct np_blame *b = &p->result.blame;
	json_object *j = cli_append_object(list);

	cli_put_text(j, "cause", cause_name(c));
	cli_put_bool(j, "examined", b->cause[c].examined);
	cli_put_bool(j, "blamed", b->cause[c].blamed);
	cli_put_real(j, "confidence", b->cause[c].confidence);
	put_range(j, "sec", &b->cause[c].sec);
	cli_put_real(j, "share",
		     b->excess_sec.mean > 0 ?
			     b->cause[c].sec.mean / b->excess_sec.mean :
			     NAN);
	cli_put_real(j, "exposure_sec", p->result.exposure[c]);
	put_node(j, p, p->result.node[c]);
	cli_put_bool(j, "one_node", p->result.one_node[c]);
}

/*
 * The verdict and its numbers. Without a judgement only the run time is there,
 * and the list of causes is empty.
 */
static void put_blame(json_object *in, const struct cli_diagnosis *p)
{
	const struct np_blame *b = &p->result.blame;
	bool judged = is_judged(p);
	enum np_cause most[NP_N_CAUSES];
	json_object *list;

	cli_put_text(in, "verdict", verdict_name(p));
	cli_put_real(in, "confidence", judged ? b->confidence : NAN);
	cli_put_real(in, "run_sec", np_acct_job_sec(&p->acct, p->job));
	cli_put_real(in, "usual_sec", p->n_examined ? b->usual_sec : NAN);
	cli_put_text(in, "network_by",
		     !p->examined	  ? NULL :
		     p->result.by_traffic ? "traffic" :
					    "nodes");
	cli_put_real(in, "probes_delayed",
		     p->examined ? p->result.delayed : NAN);
	cli_put_real(in, "probes_slow_part",
		     p->examined && p->timeline.has_probes ?
			     p->result.slow_part :
			     NAN);
	list = cli_put_array(in, "causes");
	if (!judged)
		return;
	put_range(in, "alone_sec", &b->alone_sec);
	put_range(in, "excess_sec", &b->excess_sec);
	put_range(in, "unexplained_sec", &b->unexplained_sec);
	cli_put_real(in, "noise", b->noise);
	if (list_blamed(b, most)) {
		cli_put_text(in, "cause", cause_name(most[0]));
		cli_put_real(in, "cause_sec", b->cause[most[0]].sec.mean);
	}
	for (int c = 0; c < NP_N_CAUSES; c++)
		put_cause(list, p, (enum np_cause)c);
}

/* In what the job differs from its usual runs. */
static void put_differences(json_object *in, const struct cli_diagnosis *p)
{
	static const char *const names[NP_ACCT_N_TRAITS] = {
		"nodes",
		"processors",
		"tasks",
		"partition",
	};
	json_object *list = cli_put_array(in, "differences"), *j;
	char own[LINE], other[LINE];
	bool named = may_name(p, p->job);

	for (int t = 0; t < NP_ACCT_N_TRAITS; t++) {
		enum np_acct_trait trait = (enum np_acct_trait)t;
		struct np_acct_usual u;

		if (!differs(p, trait, &u))
			continue;
		j = cli_append_object(list);
		cli_put_text(j, "what", names[t]);
		cli_put_text(j, "value",
			     trait_text(p, trait, u.own, own, LINE));
		cli_put_text(j, "usual",
			     trait_text(p, trait, u.usual, other, LINE));
	}
	if (!has_new_command(p, own, other))
		return;
	j = cli_append_object(list);
	cli_put_text(j, "what", "command");
	cli_put_text(j, "value", named ? own : NULL);
	cli_put_text(j, "usual", named ? other : NULL);
}

/* A signal with the range of comparable runs, and one more member. */
static void put_sign(json_object *list, const struct cli_diagnosis *p,
		     enum np_signal s, const struct np_examine_signal *g,
		     const char *key, const char *text)
{
	json_object *j = cli_append_object(list);

	cli_put_text(j, "signal", np_signal_name(s));
	cli_put_bool(j, "unusual", g->unusual);
	cli_put_text(j, key, text);
	put_node(j, p, g->node);
	cli_put_real(j, "value", g->value);
	cli_put_real(j, "usual", g->known ? g->usual : NAN);
	cli_put_real(j, "most", g->known ? g->most : NAN);
}

/* The signals that have a value for this job, and those of other nodes. */
static void put_signs(json_object *in, const struct cli_diagnosis *p)
{
	json_object *list = cli_put_array(in, "signals");
	char text[64];

	for (int i = 0; p->examined && i < NP_N_SIGNALS; i++) {
		enum np_signal s = (enum np_signal)i;

		if (!isnan(p->result.sign[s].value))
			put_sign(list, p, s, &p->result.sign[s], "cause",
				 share_name(p, s));
	}
	list = cli_put_array(in, "others_signals");
	for (int i = 0; p->examined && i < NP_N_SIGNALS; i++) {
		enum np_signal s = (enum np_signal)i;
		const struct np_acct_job *o = neighbour_at(p, s);

		if (np_examine_is_near(s) && !isnan(p->result.near[s].value))
			put_sign(list, p, s, &p->result.near[s], "job",
				 !o || !may_name(p, o) ?
					 NULL :
					 job_name(p, o, text, sizeof(text)));
	}
}

/* What a neighbour did besides sending; null: not known. */
static void put_neighbour_signals(json_object *in,
				  const struct cli_diagnosis *p, size_t i)
{
	json_object *j = cli_put_object(in, "signals");

	for (int s = 0; s < NP_N_SIGNALS; s++)
		if (np_examine_is_near((enum np_signal)s))
			cli_put_real(j, np_signal_name((enum np_signal)s),
				     p->neighbour_value ?
					     p->neighbour_value[i][s] :
					     NAN);
}

/* Names and users of private jobs are null. */
static void put_neighbours(json_object *in, const struct cli_diagnosis *p)
{
	json_object *list = cli_put_array(in, "neighbours");

	for (size_t i = 0; i < p->n_neighbours; i++) {
		const struct np_acct_neighbour *b = &p->neighbour[i];
		const struct np_acct_job *o = &p->acct.job[b->job];
		bool named = may_name(p, o);
		json_object *j = cli_append_object(list);
		char text[256];

		cli_put_text(j, "job",
			     named ? job_name(p, o, text, sizeof(text)) : NULL);
		cli_put_text(j, "name",
			     named ? np_acct_text(&p->acct, o->name, text,
						  sizeof(text)) :
				     NULL);
		cli_put_text(j, "user",
			     named ? np_acct_text(&p->acct, o->user, text,
						  sizeof(text)) :
				     NULL);
		cli_put_text(j, "leaf",
			     np_acct_leaf(&p->acct, b->leaf, text,
					  sizeof(text)));
		cli_put_count(j, "nodes", b->nodes);
		cli_put_time(j, "from", b->from);
		cli_put_time(j, "to", b->to);
		cli_put_bool(j, "same_node", b->same_node);
		cli_put_real(j, "bytes_per_sec", b->rate);
		put_neighbour_signals(j, p, i);
		cli_put_real(j, "cost_sec", b->cost_sec);
	}
}

/*
 * The intervals in which something was unusual. The jobs are those among the
 * neighbours that may be named.
 */
static void put_intervals(json_object *in, const struct cli_diagnosis *p)
{
	json_object *list = cli_put_array(in, "unusual");
	struct interval i = { .row = 0 };
	char text[256];

	while (next_interval(p, &i)) {
		json_object *j = cli_append_object(list), *jobs;
		bool leaf = i.row == NP_SIGNAL_TRAFFIC;
		bool probes = i.row == PROBES;

		snprintf(text, sizeof(text), "%s%s",
			 leaf || i.row >= NEAR ? "others_" : "",
			 np_signal_name(signal_of(probes ? NP_SIGNAL_TRAFFIC :
							   i.row)));
		cli_put_text(j, "signal", probes ? "probes_delayed" : text);
		cli_put_time(j, "from", begin_of(p, &i));
		cli_put_time(j, "to", end_of(p, &i));
		put_node(j, p, leaf || probes ? NP_NO_INDEX : i.place);
		cli_put_text(j, "leaf",
			     !leaf ? NULL :
				     np_acct_leaf(&p->acct, i.place, text,
						  sizeof(text)));
		cli_put_real(j, "worst", i.worst);
		cli_put_real(j, "usual",
			     probes ? NAN : usual_of(p, i.row)->usual);
		jobs = cli_put_array(j, "jobs");
		for (size_t k = 0; k < p->n_neighbours; k++) {
			const struct np_acct_neighbour *b = &p->neighbour[k];
			const struct np_acct_job *o = &p->acct.job[b->job];

			if (b->to > begin_of(p, &i) &&
			    b->from < end_of(p, &i) && may_name(p, o))
				cli_append_text(jobs, job_name(p, o, text,
							       sizeof(text)));
		}
	}
}

/* The timeline of the job; missing without metrics and probes. */
static void put_timeline(json_object *in, const struct cli_diagnosis *p)
{
	const struct cli_timeline *t = &p->timeline;
	json_object *j = cli_put_if(in, "timeline", t->n), *list;
	char leaf[256];

	if (!j)
		return;
	cli_put_text(j, "leaf",
		     !t->has_metrics ? NULL :
				       np_acct_leaf(&p->acct, t->leaf, leaf,
						    sizeof(leaf)));
	cli_put_time(j, "start", t->start);
	cli_put_real(j, "step_sec", t->step_sec);
	put_intervals(j, p);
	list = cli_put_array(j, "steps");
	for (size_t i = 0; i < t->n; i++) {
		json_object *s = cli_append_object(list);

		cli_put_real(s, "own", t->has_metrics ? t->own[i] : NAN);
		cli_put_real(s, "others", t->has_metrics ? t->others[i] : NAN);
		cli_put_real(s, "cpu_wait",
			     t->has_metrics ? t->value[NP_SIGNAL_CPU_WAIT][i] :
					      NAN);
		cli_put_real(s, "io_wait",
			     t->has_metrics ? t->value[NP_SIGNAL_IO_WAIT][i] :
					      NAN);
		cli_put_real(s, "probes_delayed",
			     t->has_probes ? t->delayed[i] : NAN);
	}
}

void cli_diagnosis_json(json_object *in, const struct cli_diagnosis *p)
{
	json_object *j = cli_put_if(in, "accounting", p->job), *like;
	char text[256], next[LINE];
	bool named;

	if (!j)
		return;
	put_blame(j, p);
	named = may_name(p, p->job);
	cli_put_text(j, "user",
		     !named ? NULL :
			      np_acct_text(&p->acct, p->job->user, text,
					   sizeof(text)));
	cli_put_text(j, "name",
		     !named ? NULL :
			      np_acct_text(&p->acct, p->job->name, text,
					   sizeof(text)));
	cli_put_count(j, "n_nodes", p->job->n_nodes);
	cli_put_real(j, "n_tasks", p->job->tasks ? p->job->tasks : NAN);
	cli_put_time(j, "start", p->job->start);
	cli_put_time(j, "end", np_acct_job_end(&p->acct, p->job));
	cli_put_count(j, "requeues", p->job->requeues);
	like = cli_put_object(j, "comparable");
	cli_put_count(like, "runs", p->n_examined);
	cli_put_count(like, "found", p->n_comparable);
	cli_put_text(like, "same",
		     p->same == NP_ACCT_SAME_NAME ? "name" : "command");
	cli_put_real(like, "since_sec", p->since_sec);
	cli_put_real(like, "shortest_sec", p->n_examined ? p->shortest : NAN);
	cli_put_real(like, "longest_sec", p->n_examined ? p->longest : NAN);
	put_differences(j, p);
	put_signs(j, p);
	put_neighbours(j, p);
	put_timeline(j, p);
	cli_put_bool(j, "metrics", p->metrics);
	cli_put_text(j, "missing", p->no_metrics.text);
	cli_put_count(j, "queries", p->n_queries);
	cli_put_count(j, "leaves_not_queried", p->n_leaves_skipped);
	cli_put_count(j, "nodes_not_queried", p->n_nodes_skipped);
	cli_put_count(j, "runs_without_samples", p->n_runs_without);
	cli_put_text(j, "next", next_of(p, next, sizeof(next)));
}

/* ---- figure ---- */

/*
 * One line of a panel as a staircase; scale converts to the unit of the axis.
 */
static void add_steps(struct np_figure *f, struct np_panel *panel,
		      unsigned style, const char *name, const double *v,
		      const struct cli_timeline *t, double scale)
{
	struct np_shape *s =
		np_figure_add_shape(f, panel, NP_SHAPE_STEP, style, name);

	for (size_t i = 0; i <= t->n; i++)
		np_figure_add_datum(f, s, t->step_sec * (double)i / 60,
				    i < t->n ? v[i] * scale :
					       v[t->n - 1] * scale,
				    NAN, NAN);
}

/*
 * One bar for the job and each neighbour, over the time of the job, and the
 * excess of the job as a shaded region.
 */
static void add_neighbour_bars(struct np_figure *f,
			       const struct cli_diagnosis *p)
{
	struct np_panel *panel =
		np_figure_add_panel(f, "Jobs on its leaf switches");
	double length =
		(np_acct_job_end(&p->acct, p->job) - p->job->start) / 60;
	struct np_shape *s;
	size_t n = p->n_neighbours < MAX_ROWS ? p->n_neighbours : MAX_ROWS;
	char id[64], name[256], text[400];

	if (!panel)
		return;
	np_figure_set_axis(f, &panel->x, NP_AXIS_LINEAR,
			   "Minutes since its start");
	np_figure_set_axis(f, &panel->y, NP_AXIS_NAMES, "Job");
	panel->x.lo = 0;
	panel->x.hi = length;
	s = np_figure_add_shape(f, panel, NP_SHAPE_SPANS, 0, "the job");
	job_id(p->job, id, sizeof(id));
	np_figure_add_name(f, &panel->y, id);
	np_figure_add_datum(f, s, NAN, 0, 0, length);
	if (p->examined && p->result.blame.verdict >= NP_BLAME_CAUSE) {
		s = np_figure_add_shape(f, panel, NP_SHAPE_REGION,
					NP_STYLE_GREY, "excess");
		np_figure_add_datum(f, s, NAN, NAN,
				    p->result.blame.alone_sec.mean / 60,
				    length);
	}
	s = np_figure_add_shape(f, panel, NP_SHAPE_SPANS, 1, "other jobs");
	for (size_t i = 0; i < n; i++) {
		const struct np_acct_job *o = &p->acct.job[p->neighbour[i].job];

		job_name(p, o, id, sizeof(id));
		snprintf(text, sizeof(text), "%s%s%s", id,
			 may_name(p, o) ? " " : "",
			 may_name(p, o) ? np_acct_text(&p->acct, o->name, name,
						       sizeof(name)) :
					  "");
		np_figure_add_name(f, &panel->y, text);
		np_figure_add_datum(f, s, NAN, (double)i + 1,
				    (p->neighbour[i].from - p->job->start) / 60,
				    (p->neighbour[i].to - p->job->start) / 60);
	}
}

/* A panel over the time of the job; NULL: out of memory. */
static struct np_panel *time_panel(struct np_figure *f, const char *title,
				   const char *axis)
{
	struct np_panel *panel = np_figure_add_panel(f, title);

	if (!panel)
		return NULL;
	np_figure_set_axis(f, &panel->x, NP_AXIS_LINEAR,
			   "Minutes since its start");
	np_figure_set_axis(f, &panel->y, NP_AXIS_LINEAR, axis);
	panel->y.lo = 0;
	return panel;
}

/* Without metrics and probes the figure has only the bars. */
struct np_figure *cli_diagnosis_figure(const struct cli_diagnosis *p)
{
	const struct cli_timeline *t = &p->timeline;
	char job[64], title[512], leaf[256];
	struct np_figure *f;
	struct np_panel *panel;

	snprintf(title, sizeof(title), "Job %s and its neighbours",
		 job_id(p->job, job, sizeof(job)));
	f = np_figure_new(title);
	if (!f)
		return NULL;
	f->date = np_acct_job_end(&p->acct, p->job);
	if (t->has_metrics) {
		snprintf(title, sizeof(title), "Traffic of leaf switch %s",
			 np_acct_leaf(&p->acct, t->leaf, leaf, sizeof(leaf)));
		panel = time_panel(f, title, "Traffic (MB/s)");
		add_steps(f, panel, 0, "the job's nodes", t->own, t, 1e-6);
		add_steps(f, panel, 1, "other nodes", t->others, t, 1e-6);
	}
	if (t->has_probes) {
		panel = time_panel(f, "Delayed probes of the job",
				   "Delayed (%)");
		add_steps(f, panel, 0, "probes", t->delayed, t, 100);
	}
	add_neighbour_bars(f, p);
	np_figure_set_caption(f,
			      "Verdict: %s. Excess: time beyond the run time "
			      "of the undisturbed job.",
			      verdict_words(p, title, sizeof(title)));
	return f;
}

/* ---- all jobs ---- */

const char *cli_blame_app(const struct np_acct *h, uint32_t user, uint32_t name,
			  char *buf, size_t len)
{
	char a[128], b[256];

	snprintf(buf, len, "%s/%s", np_acct_text(h, user, a, sizeof(a)),
		 np_acct_text(h, name, b, sizeof(b)));
	return buf;
}

const char *cli_blame_verdict(const struct np_job_cost *t, char *buf,
			      size_t len)
{
	double lost = 0;

	for (size_t i = 0; i < t->n_pairs; i++)
		lost += t->pair[i].node_hours.mean;
	if (t->n_pairs)
		snprintf(buf, len,
			 "Jobs lost %.0f of %.0f node-hours (%.1f %%) to "
			 "neighbours on their leaf switches.",
			 lost, t->node_hours,
			 100 * lost / fmax(t->node_hours, 1e-9));
	else
		snprintf(buf, len,
			 "No application was found to slow another one.");
	return buf;
}

/* ---- measured runs ---- */

/* measured, predicted: slowdowns, fractions. */
static void say_explained(double measured, double predicted, char *buf,
			  size_t len)
{
	if (predicted < LEAST_EXPLAINED)
		snprintf(buf, len,
			 "; its neighbours account for none of that.");
	else if (predicted >= measured)
		snprintf(buf, len,
			 "; its neighbours account for all of that (%.0f %% "
			 "was predicted).",
			 100 * predicted);
	else
		snprintf(buf, len,
			 "; its neighbours account for %.0f of those %.0f "
			 "percentage points.",
			 100 * predicted, 100 * measured);
}

/*
 * Differences below CLI_MIN_NOISE are called equal, and those within the
 * scatter of the other runs chance. Only a slowdown beyond both is compared
 * with the prediction.
 */
void cli_run_time_text(double run_sec, const struct np_mean *alone,
		       const double *predicted, char *buf, size_t len)
{
	char took[CLI_NUMBER_LEN], mean[CLI_NUMBER_LEN], how[64], why[160];
	const struct np_mean one = { .n = 1, .mean = run_sec };
	double d;

	cli_sec(run_sec, took);
	if (!np_mean_known(alone) || !(alone->mean > 0)) {
		snprintf(buf, len,
			 "It took %s. How long it takes alone is not known: no "
			 "other run of this command had its leaf switches to "
			 "itself.",
			 took);
		return;
	}
	d = run_sec / alone->mean - 1;
	cli_sec(alone->mean, mean);
	if (fabs(d) < CLI_MIN_NOISE)
		snprintf(how, sizeof(how), "as long as");
	else
		snprintf(how, sizeof(how), "%.0f %% %s than", 100 * fabs(d),
			 d < 0 ? "less" : "longer");
	if (fabs(d) < CLI_MIN_NOISE || d < -cli_noise_limit(&one, alone))
		snprintf(why, sizeof(why), ".");
	else if (fabs(d) < cli_noise_limit(&one, alone))
		snprintf(why, sizeof(why), ", which may be chance.");
	else if (predicted)
		say_explained(d, *predicted, why, sizeof(why));
	else
		snprintf(why, sizeof(why),
			 "; the effect of its neighbours is not known.");
	snprintf(buf, len, "It took %s, %s alone (%s, %u run%s)%s", took, how,
		 mean, alone->n, cli_plural_s(alone->n), why);
}
