/*
 * Prints the diagnosis of a job, made from Slurm's accounting and the site's
 * metrics: as text, as JSON and as a figure. Jobs of other users may be private
 * (PrivateData of Slurm); then their names are never printed.
 */
#include "cli_diagnosis.h"

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_json_put.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "cli_text.h"
#include "np_job_cost.h"

#define COMMAND_BYTES 1536 /* of a command that is compared */
#define NAME_BYTES 256	   /* of a name that is printed */
#define MAX_ROWS 12	   /* of a table in text output */
#define MIN_LONG 1.1 /* times the median run time: a shorter run is not long */
#define MIN_SHARE \
	0.005 /* of the excess: a cause with a smaller cost has no row */
#define MIN_EXPLAINED 0.005 /* a smaller predicted slowdown explains nothing */

/* ---- names and states ---- */

const char *cli_acct_text(const struct np_acct *acct, uint32_t number)
{
	return np_acct_text(&acct->text, number, cli_text_buffer(), NAME_BYTES);
}

const char *cli_acct_node(const struct np_acct *acct, uint32_t number)
{
	return np_acct_text(&acct->node_name, number, cli_text_buffer(),
			    NAME_BYTES);
}

const char *cli_acct_leaf(const struct np_acct *acct, uint32_t number)
{
	return np_acct_text(&acct->leaf_name, number, cli_text_buffer(),
			    NAME_BYTES);
}

/* Whether the user who runs this command may see whose job this is. */
static bool may_name(const struct cli_diagnosis *diag,
		     const struct np_acct_job *job)
{
	const struct passwd *pw;
	char user[NAME_BYTES];

	if (!diag->masked)
		return true;
	pw = getpwuid(geteuid());
	return pw &&
	       !strcmp(pw->pw_name, np_acct_text(&diag->acct.text, job->user,
						 user, sizeof(user)));
}

/* The id of a job, "12" or "12_3". */
static const char *job_id(const struct np_acct_job *job)
{
	return job->task != NP_ACCT_NO_TASK ?
		       cli_text("%u_%u", job->array, job->task) :
		       cli_text("%u", job->id);
}

/* The id of a neighbour, or "another job" if that job is private. */
static const char *job_name(const struct cli_diagnosis *diag,
			    const struct np_acct_job *job)
{
	return may_name(diag, job) ? job_id(job) : "another job";
}

/* Whether the run time can be judged, and if not, why. */
enum job_state { JOB_COMPARABLE, JOB_RUNNING, JOB_FAILED };

/*
 * A running job can be judged once it has taken longer than its comparable
 * runs usually do.
 */
static enum job_state job_state(const struct cli_diagnosis *diag)
{
	double usual_sec = diag->result.blame.usual_sec;
	double sec = np_acct_job_sec(&diag->acct, diag->job);

	switch (diag->job->state) {
	case NP_ACCT_COMPLETED:
	case NP_ACCT_TIMEOUT:
		return JOB_COMPARABLE;
	case NP_ACCT_RUNNING:
		return diag->examined && usual_sec > 0 && sec > usual_sec ?
			       JOB_COMPARABLE :
			       JOB_RUNNING;
	default:
		return JOB_FAILED;
	}
}

/* Whether the causes have costs. */
static bool is_judged(const struct cli_diagnosis *diag)
{
	return diag->examined &&
	       diag->result.blame.verdict != NP_BLAME_TOO_FEW &&
	       job_state(diag) == JOB_COMPARABLE;
}

/* ---- words ---- */

/* Causes as noun phrases that follow "due to". */
static const char *const cause_words[NP_N_CAUSES] = {
	"other jobs on its leaf switches",
	"a slow or faulty link",
	"waiting for processors",
	"slower clocks of processors",
	"waiting for memory",
	"waiting for disks and file systems",
};

/* Their names for programs. */
static const char *const cause_names[NP_N_CAUSES] = {
	"network", "link", "cpu", "clock", "memory", "io",
};

/*
 * The verdict for programs: the name of the cause that cost most, or "none",
 * "unexplained", "too_few", "running", "failed".
 */
static const char *verdict_name(const struct cli_diagnosis *diag)
{
	const struct np_blame *blame = &diag->result.blame;
	double most = 0;
	const char *word = "unexplained";

	switch (job_state(diag)) {
	case JOB_RUNNING:
		return "running";
	case JOB_FAILED:
		return "failed";
	default:
		break;
	}
	if (!diag->examined || blame->verdict == NP_BLAME_TOO_FEW)
		return "too_few";
	if (blame->verdict == NP_BLAME_NOT_SLOW)
		return "none";
	for (size_t c = 0; c < blame->n_causes; c++)
		if (blame->cause[c].blamed && blame->cause[c].sec.mean > most) {
			most = blame->cause[c].sec.mean;
			word = cause_names[c];
		}
	return word;
}

/* The verdict in words, to follow "Verdict: ". */
static const char *verdict_words(const struct cli_diagnosis *diag)
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
	const char *name = verdict_name(diag);
	int c = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(verdicts); i++)
		if (!strcmp(verdicts[i].name, name))
			return verdicts[i].words;
	while (strcmp(cause_names[c], name))
		c++;
	return cli_text("slow, mainly due to %s", cause_words[c]);
}

/* List the blamed causes, the most costly first. Returns their number. */
static size_t list_blamed(const struct np_blame *blame,
			  enum np_cause out[NP_N_CAUSES])
{
	size_t n = 0;

	for (int c = 0; c < NP_N_CAUSES; c++) {
		size_t i = n;

		if (!blame->cause[c].blamed)
			continue;
		for (; i && blame->cause[out[i - 1]].sec.mean <
				    blame->cause[c].sec.mean;
		     i--)
			out[i] = out[i - 1];
		out[i] = (enum np_cause)c;
		n++;
	}
	return n;
}

/* Whole days from two days on, hours below. */
static const char *days_text(double sec)
{
	return sec >= 2 * 86400 ? cli_text("%.0f days", sec / 86400) :
				  cli_text("%.0f h", sec / 3600);
}

/* In which runs comparable ones were looked for. */
static const char *period_text(const struct cli_diagnosis *diag)
{
	return isnan(diag->since_sec) ?
		       "in the file" :
		       cli_text("in the last %s", days_text(diag->since_sec));
}

/* The name of the node if the cause is on a single one, or NULL. */
static const char *node_of(const struct cli_diagnosis *diag,
			   enum np_cause cause)
{
	uint32_t node = diag->result.node[cause];

	return node != NP_NO_INDEX && diag->result.one_node[cause] ?
		       cli_acct_node(&diag->acct, node) :
		       NULL;
}

/* " on n3" if the cause is on a single node, or "" */
static const char *on_node(const struct cli_diagnosis *diag,
			   enum np_cause cause)
{
	const char *node = node_of(diag, cause);

	return node ? cli_text(" on %s", node) : "";
}

/*
 * What a user or administrator can do about a cause. The node is named if it is
 * a single one.
 */
static const char *advice_for(const struct cli_diagnosis *diag,
			      enum np_cause cause)
{
	const char *one = node_of(diag, cause);
	const char *node = one ? one : "NODE", *of = one ? one : "its nodes";

	switch (cause) {
	case NP_CAUSE_NETWORK:
		/* Only steps on several nodes are measured. */
		if (diag->job->n_nodes == 1)
			return "avoid such neighbours: sbatch --exclude=NODES";
		return "measure it (sbatch --netprofile=NAME job.sh), so that "
		       "placement can avoid such neighbours; by hand: "
		       "sbatch --exclude=NODES or --switches=1";
	case NP_CAUSE_LINK:
		return cli_text(
			"have the link of %s checked (ethtool, ibdiagnet, "
			"cable); until then sbatch --exclude=%s",
			of, node);
	case NP_CAUSE_CPU:
		return cli_text(
			"see what else runs on %s (squeue -w %s, sacct -a -N "
			"%s), ask for whole nodes (--exclusive), or check the "
			"limits of the job's cgroup",
			of, node, node);
	case NP_CAUSE_CLOCK:
		return cli_text("have the cooling and the power limits of %s "
				"checked (dmesg, ipmitool); until then sbatch "
				"--exclude=%s",
				of, node);
	case NP_CAUSE_MEMORY:
		return "ask for more memory (--mem), or for whole nodes "
		       "(--exclusive)";
	default:
		return "see who else uses the file system, and whether the job "
		       "can write less often or to another one";
	}
}

/*
 * " (above all 126, bob's halo, on leaf0)" if a single neighbour caused at least
 * half of the cost, or "".
 */
static const char *worst_neighbour(const struct cli_diagnosis *diag)
{
	const struct np_acct *acct = &diag->acct;
	double half = diag->result.blame.cause[NP_CAUSE_NETWORK].sec.mean / 2;

	for (size_t i = 0; i < diag->n_neighbours; i++) {
		const struct np_acct_neighbour *neighbour = &diag->neighbour[i];
		const struct np_acct_job *other = &acct->job[neighbour->job];
		const char *leaf;

		if (!(neighbour->cost_sec >= half))
			continue;
		leaf = cli_acct_leaf(acct, neighbour->leaf);
		if (!may_name(diag, other))
			return cli_text(" (above all another job on %s)", leaf);
		return cli_text(" (above all %s, %s's %s, on %s)",
				job_id(other), cli_acct_text(acct, other->user),
				cli_acct_text(acct, other->name), leaf);
	}
	return "";
}

/* "6.9 s (90 % interval 5.1 to 8.2 s) due to waiting for memory" */
static const char *cause_text(const struct cli_diagnosis *diag,
			      enum np_cause cause)
{
	const struct np_blame_range *cost =
		&diag->result.blame.cause[cause].sec;

	return cli_text("%s (90 %% interval %s) due to %s%s%s",
			cli_sec(cost->mean),
			cli_sec_range(fmax(cost->low, 0), cost->high),
			cause_words[cause], on_node(diag, cause),
			cause == NP_CAUSE_NETWORK ? worst_neighbour(diag) : "");
}

static double job_sec(const struct cli_diagnosis *diag)
{
	return np_acct_job_sec(&diag->acct, diag->job);
}

/* "took 12.9 min", or "has run for 12.9 min so far". */
static const char *took_text(const struct cli_diagnosis *diag)
{
	bool running = diag->job->state == NP_ACCT_RUNNING;

	return cli_text("%s %s%s", running ? "has run for" : "took",
			cli_sec(job_sec(diag)), running ? " so far" : "");
}

/*
 * The verdict on a slow job: how much time it lost, whether the network was the
 * main cause, which is what the user asks, and the cost of each blamed cause. A
 * confidence below 95 % is printed as a word, too, not only as a number.
 */
static void print_slow(FILE *f, const struct cli_diagnosis *diag)
{
	const struct np_blame *blame = &diag->result.blame;
	enum np_cause list[NP_N_CAUSES];
	size_t n = list_blamed(blame, list);
	char why[CLI_TEXT_BYTES] = "";
	const char *head;

	for (size_t i = 0; i < n; i++)
		cli_appendf(why, sizeof(why), "%s%s", i ? ", and " : "",
			    cause_text(diag, list[i]));
	head = cli_text("Job %s %s, %s (%.0f %%) longer than undisturbed.",
			job_id(diag->job), took_text(diag),
			cli_sec(blame->excess_sec.mean),
			100 * blame->excess_sec.mean / blame->alone_sec.mean);
	if (n)
		cli_fprintf(f, CLI_BOLD, 0,
			    "%s It was %s%s (confidence %.0f %%): %s.", head,
			    blame->confidence >= 0.95 ? "" : "probably ",
			    list[0] == NP_CAUSE_NETWORK ? "the network" :
							  "not the network",
			    fmin(100 * blame->confidence, 99), why);
	else if (!blame->cause[NP_CAUSE_NETWORK].examined)
		cli_fprintf(f, CLI_BOLD, 0,
			    "%s There is not enough data to decide whether it "
			    "was the network.",
			    head);
	else
		cli_fprintf(
			f, CLI_BOLD, 0,
			"%s None of the examined causes accounts for that%s.",
			head,
			diag->metrics ? "; it was probably not the network" :
					"");
}

/*
 * The first sentence. Before a job is called slow, it must be finished,
 * successful and comparable with enough other runs.
 */
static void print_verdict(FILE *f, const struct cli_diagnosis *diag)
{
	const struct np_blame *blame = &diag->result.blame;
	const char *job = job_id(diag->job), *took = took_text(diag);
	const char *range = cli_sec_range(diag->shortest, diag->longest);

	switch (job_state(diag)) {
	case JOB_RUNNING:
		if (diag->n_examined)
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
			    job, cli_sec(job_sec(diag)));
		return;
	default:
		break;
	}
	if (!diag->examined || blame->verdict == NP_BLAME_TOO_FEW)
		cli_fprintf(f, CLI_BOLD, 0,
			    "Too few comparable runs to say whether job %s was "
			    "slow: it %s, and there %s %zu %s (%d are needed).",
			    job, took, diag->n_comparable == 1 ? "is" : "are",
			    diag->n_comparable, period_text(diag),
			    NP_BLAME_LEAST_RUNS);
	else if (blame->verdict == NP_BLAME_NOT_SLOW &&
		 job_sec(diag) > MIN_LONG * blame->usual_sec)
		cli_fprintf(f, CLI_BOLD, 0,
			    "Job %s %s, longer than most comparable runs "
			    "(median %s), but they vary from %s (%zu runs) and "
			    "no cause was found: it may be chance.",
			    job, took, cli_sec(blame->usual_sec), range,
			    diag->n_examined);
	else if (blame->verdict == NP_BLAME_NOT_SLOW)
		cli_fprintf(f, CLI_BOLD, 0,
			    "Job %s was not slow: it %s, and comparable runs "
			    "took %s (%zu runs).",
			    job, took, range, diag->n_examined);
	else
		print_slow(f, diag);
}

/* ---- sections ---- */

/*
 * What comparable runs have in common: alice's fft, or alice's "sbatch run.sh";
 * without names if the job is private.
 */
static const char *common_text(const struct cli_diagnosis *diag)
{
	const struct np_acct *acct = &diag->acct;
	const struct np_acct_job *job = diag->job;
	bool by_name = diag->same == NP_ACCT_SAME_NAME;
	char command[NAME_BYTES];

	if (!may_name(diag, job))
		return by_name ? "the same user and name" :
				 "the same user and command";
	if (by_name)
		return cli_text("%s's %s", cli_acct_text(acct, job->user),
				cli_acct_text(acct, job->name));
	return cli_text("%s's \"%s\"", cli_acct_text(acct, job->user),
			np_acct_command(acct, job, command, sizeof(command)));
}

/* Which runs the job was compared with, and why these. */
static void print_compared(FILE *f, const struct cli_diagnosis *diag)
{
	const struct np_acct_job *job = diag->job;
	const char *limit = "", *tasks = "", *took = "", *why = "";

	if (isfinite(job->limit_sec) && job->limit_sec > 0)
		limit = cli_text(", limit %s", cli_setting_sec(job->limit_sec));
	if (job->tasks)
		tasks = cli_text(", %u task%s", job->tasks,
				 cli_plural_s(job->tasks));
	if (diag->n_examined)
		took = cli_text(", which took %s",
				cli_sec_range(diag->shortest, diag->longest));
	if (diag->same != NP_ACCT_SAME_NAME)
		why = diag->named ?
			      cli_text("; chosen by command, as fewer than %d "
				       "have its name",
				       NP_BLAME_LEAST_RUNS) :
			      "; chosen by command, as its name does not say "
			      "what it runs";
	cli_flabel(f, "Compared",
		   "%zu of %zu completed runs of %s on %u node%s (%u "
		   "processor%s%s%s) %s%s%s",
		   diag->n_examined, diag->n_comparable, common_text(diag),
		   job->n_nodes, cli_plural_s(job->n_nodes), job->cpus,
		   cli_plural_s(job->cpus), tasks, limit, period_text(diag),
		   took, why);
}

/* A number of nodes, processors or tasks, or the name of a partition. */
static const char *trait_text(const struct cli_diagnosis *diag,
			      enum np_acct_trait trait, uint32_t value)
{
	return trait == NP_ACCT_PARTITION ? cli_acct_text(&diag->acct, value) :
					    cli_text("%u", value);
}

/*
 * Whether the job differs from its usual runs. A job with another number of
 * nodes usually has another number of processors, too, and one with another
 * number of processors another number of tasks. Only the first is reported.
 */
static bool differs(const struct cli_diagnosis *diag, enum np_acct_trait trait,
		    struct np_acct_usual *out)
{
	struct np_acct_usual usual;

	if (!diag->named ||
	    !np_acct_differs(&diag->acct, diag->job, trait, out))
		return false;
	return (trait != NP_ACCT_CPUS && trait != NP_ACCT_TASKS) ||
	       (!np_acct_differs(&diag->acct, diag->job, NP_ACCT_NODES,
				 &usual) &&
		(trait == NP_ACCT_CPUS ||
		 !np_acct_differs(&diag->acct, diag->job, NP_ACCT_CPUS,
				  &usual)));
}

/*
 * Whether the commands of all comparable runs are known, and none of them is
 * that of the job. own: the job's command; other: that of the newest comparable
 * run. Both buffers have COMMAND_BYTES bytes.
 */
static bool has_new_command(const struct cli_diagnosis *diag, char *own,
			    char *other)
{
	if (!*np_acct_command(&diag->acct, diag->job, own, COMMAND_BYTES) ||
	    !diag->n_examined)
		return false;
	for (size_t i = diag->n_examined; i-- > 0;) {
		np_acct_command(&diag->acct,
				&diag->acct.job[diag->comparable[i]], other,
				COMMAND_BYTES);
		if (!*other || !strcmp(own, other))
			return false;
	}
	return true;
}

/* Why the run time may not be comparable after all. */
static void print_different(FILE *f, const struct cli_diagnosis *diag)
{
	static const char *const words[NP_ACCT_N_TRAITS] = {
		"number of nodes",
		"number of processors",
		"number of tasks",
		"partition",
	};
	const struct np_acct_job *job = diag->job;
	char own[COMMAND_BYTES], other[COMMAND_BYTES];

	for (int t = 0; t < NP_ACCT_N_TRAITS; t++) {
		enum np_acct_trait trait = (enum np_acct_trait)t;
		struct np_acct_usual usual;

		if (differs(diag, trait, &usual))
			cli_flabel(f, "Different",
				   "another %s than in its usual runs: %s, "
				   "usually %s (%zu of %zu runs of its name)",
				   words[t], trait_text(diag, trait, usual.own),
				   trait_text(diag, trait, usual.usual),
				   usual.runs, usual.of);
	}
	if (has_new_command(diag, own, other)) {
		bool named = may_name(diag, job);

		cli_flabel(f, "Different",
			   "it was submitted with another command than "
			   "all comparable runs, perhaps for another "
			   "program or input%s%.300s%s%.300s%s",
			   named ? ": \"" : "", named ? own : "",
			   named ? "\", the newest of them with \"" : "",
			   named ? other : "", named ? "\"" : "");
	}
	if (job->requeues)
		cli_flabel(f, "Requeued",
			   "it was started %u time%s before; only the "
			   "last start counts here",
			   job->requeues, cli_plural_s(job->requeues));
	if (job->resized)
		cli_flabel(f, "Resized",
			   "its number of nodes changed while it ran; only the "
			   "last part counts here, and is not compared");
	if (job->suspended_sec > 0)
		cli_flabel(f, "Suspended",
			   "for %.0f s, which are excluded from its run time",
			   job->suspended_sec);
}

/*
 * One cause with its cost, its share of the excess and its interval. A
 * negative end of an interval is printed as 0: a cause cannot save time.
 */
static void cause_row(FILE *f, const char *name,
		      const struct np_blame_range *cost, double excess,
		      const char *node)
{
	const char *range =
		cli_sec_range(fmax(cost->low, 0), fmax(cost->high, 0));

	cli_print_left(f, name, cli_name_column(35, 1));
	cli_fprint_number(f, cli_sec, cost->mean, 10);
	if (excess > 0)
		fprintf(f, "%6.0f %%  ", 100 * cost->mean / excess);
	else
		fprintf(f, "%10s", "");
	if (*node)
		cli_print_left(f, range, 20);
	else
		fputs(range, f);
	fprintf(f, "%s\n", node);
}

/*
 * The costs of the causes, only of a slow job. A cause that could not be
 * examined has no row, because its cost is unknown, not 0.
 */
static void print_causes(FILE *f, const struct cli_diagnosis *diag)
{
	const struct np_blame *blame = &diag->result.blame;
	double excess = blame->excess_sec.mean;

	if (!is_judged(diag) || blame->verdict == NP_BLAME_NOT_SLOW)
		return;
	cli_fheading(f, "%-*s%10s%8s  %s", cli_name_column(35, 1), "Cause",
		     "Cost", "Share", "90 % interval");
	for (int c = 0; c < NP_N_CAUSES; c++)
		if (blame->cause[c].examined &&
		    blame->cause[c].sec.mean > MIN_SHARE * excess)
			cause_row(f, cause_words[c], &blame->cause[c].sec,
				  excess, on_node(diag, (enum np_cause)c));
	cause_row(f, "unexplained", &blame->unexplained_sec, excess, "");
}

/* The value of a signal with its unit. */
static const char *signal_text(enum np_signal signal, double v)
{
	switch (signal) {
	case NP_SIGNAL_CPU_WAIT:
	case NP_SIGNAL_STEAL:
	case NP_SIGNAL_MEMORY_WAIT:
	case NP_SIGNAL_IO_WAIT:
		return cli_percent(v);
	case NP_SIGNAL_TRAFFIC:
	case NP_SIGNAL_LINK_SPEED:
	case NP_SIGNAL_DISK:
		return cli_rate(v);
	case NP_SIGNAL_LOAD:
		return cli_text("%.3g", v);
	case NP_SIGNAL_CLOCK:
		return cli_text("%.2f GHz", v / 1e9);
	case NP_SIGNAL_CLOCK_SKEW:
		return cli_text("%.0f s", v);
	default:
		return cli_text("%.3g/s", v);
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
 * The cause whose share includes the cost of a signal; NULL: none. If that
 * cause was not examined, its cost is unexplained.
 */
static const char *share_name(const struct cli_diagnosis *diag,
			      enum np_signal signal)
{
	enum np_cause cause = cause_of[signal];

	if (cause == NP_N_CAUSES)
		return NULL;
	return is_judged(diag) && !diag->result.blame.cause[cause].examined ?
		       "unexplained" :
		       cause_names[cause];
}

/*
 * Which cause includes the cost of a signal that has none of its own: the
 * seconds that pages and packets take are already in the exposure to that
 * cause.
 */
static const char *counted_as(const struct cli_diagnosis *diag,
			      enum np_signal signal)
{
	const struct np_blame *blame = &diag->result.blame;

	if (cause_of[signal] == NP_N_CAUSES)
		return "";
	if (!blame->cause[cause_of[signal]].examined)
		return is_judged(diag) ? "; what it costs is unexplained" : "";
	switch (signal) {
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

/*
 * The neighbour that ran on the node of other jobs where a signal was worst;
 * NULL: none is known.
 */
static const struct np_acct_job *neighbour_at(const struct cli_diagnosis *diag,
					      enum np_signal signal)
{
	uint32_t i = diag->neighbour_value ? diag->near_neighbour[signal] :
					     NP_NO_INDEX;

	return i == NP_NO_INDEX ? NULL :
				  &diag->acct.job[diag->neighbour[i].job];
}

/* Signals that are outside the range of comparable runs. */
static void print_unusual(FILE *f, const struct cli_diagnosis *diag)
{
	for (int s = 0; diag->examined && s < NP_N_SIGNALS; s++) {
		const struct np_examine_signal *reading = &diag->result.sign[s];
		enum np_signal signal = (enum np_signal)s;

		if (reading->unusual)
			cli_flabel(f, "Unusual", "%s: %s on %s, usually %s%s",
				   signal_words[s],
				   signal_text(signal, reading->value),
				   cli_acct_node(&diag->acct, reading->node),
				   signal_text(signal, reading->usual),
				   counted_as(diag, signal));
	}
	/* Those on nodes of other jobs, with the job there. */
	for (int s = 0; diag->examined && s < NP_N_SIGNALS; s++) {
		const struct np_examine_signal *reading = &diag->result.near[s];
		enum np_signal signal = (enum np_signal)s;
		const struct np_acct_job *other = neighbour_at(diag, signal);

		if (reading->unusual)
			cli_flabel(f, "Unusual",
				   "%s on other nodes: %s on %s%s, usually %s",
				   signal_words[s],
				   signal_text(signal, reading->value),
				   cli_acct_node(&diag->acct, reading->node),
				   other ? cli_text(" (%s)",
						    job_name(diag, other)) :
					   "",
				   signal_text(signal, reading->usual));
	}
}

/* ---- unusual intervals ---- */

#define MAX_WHEN 8 /* intervals in text output */
#define PROBES NP_N_SIGNALS
#define NEAR (PROBES + 1) /* the first signal of other nodes */
#define N_ROWS (NEAR + NP_N_SIGNALS)

/* Steps of the timeline, [from, to), in which a signal was unusual. */
struct interval {
	/*
	 * A signal of the job's nodes; PROBES: its probes were delayed; or
	 * NEAR + a signal of other nodes on its leaf switches.
	 */
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
static double value_at(const struct cli_diagnosis *diag, int row, size_t step)
{
	return row < NEAR ? diag->timeline.value[row][step] :
			    diag->timeline.near[row - NEAR][step];
}

/* A signal of this job, and its range in comparable runs. */
static const struct np_examine_signal *
usual_of(const struct cli_diagnosis *diag, int row)
{
	return row == NP_SIGNAL_TRAFFIC ? &diag->result.others_traffic :
	       row < NEAR		? &diag->result.sign[row] :
					  &diag->result.near[row - NEAR];
}

/*
 * Whether a row is unusual in a step. A signal must be unusual in the whole run,
 * too, because an undisturbed program also waits more than usual for a part of
 * its run, such as when it writes a checkpoint. This holds for the programs on
 * other nodes as well. Only the traffic of other jobs does not depend on the
 * program.
 */
static bool is_unusual_at(const struct cli_diagnosis *diag, int row,
			  size_t step)
{
	const struct cli_timeline *timeline = &diag->timeline;

	if (row == PROBES)
		return timeline->has_probes &&
		       timeline->delayed[step] >= NP_EXAMINE_DELAYED;
	return diag->examined && timeline->has_metrics &&
	       (row == NP_SIGNAL_TRAFFIC || usual_of(diag, row)->unusual) &&
	       np_examine_is_unusual(signal_of(row), usual_of(diag, row),
				     value_at(diag, row, step));
}

/* Add a step to an interval, and update its worst value with the place. */
static void add_step(const struct cli_diagnosis *diag, struct interval *span)
{
	const struct cli_timeline *timeline = &diag->timeline;
	enum np_signal signal = signal_of(span->row);
	size_t step = span->to++;

	if (span->row == PROBES) {
		span->worst = fmax(span->worst, timeline->delayed[step]);
	} else if (np_examine_is_worse(signal, value_at(diag, span->row, step),
				       span->worst)) {
		span->worst = value_at(diag, span->row, step);
		span->place = (span->row < NEAR ?
				       timeline->place :
				       timeline->near_place)[signal][step];
	}
}

/*
 * Find the next interval, by signal and then by time; false: there is none.
 * Begin with a zeroed interval.
 */
static bool next_interval(const struct cli_diagnosis *diag,
			  struct interval *span)
{
	size_t n = diag->timeline.n;

	for (; span->row < N_ROWS; span->row++, span->to = 0) {
		span->from = span->to;
		while (span->from < n &&
		       !is_unusual_at(diag, span->row, span->from))
			span->from++;
		if (span->from == n)
			continue;
		span->worst = NAN;
		span->to = span->from;
		while (span->to < n && is_unusual_at(diag, span->row, span->to))
			add_step(diag, span);
		return true;
	}
	return false;
}

/* Dates of the begin and the end of an interval. */
static double begin_of(const struct cli_diagnosis *diag,
		       const struct interval *span)
{
	return diag->timeline.start +
	       diag->timeline.step_sec * (double)span->from;
}

static double end_of(const struct cli_diagnosis *diag,
		     const struct interval *span)
{
	return diag->timeline.start +
	       diag->timeline.step_sec * (double)span->to;
}

/* The neighbours between two dates, the first three by name. */
static const char *neighbours_at(const struct cli_diagnosis *diag, double from,
				 double to, const char *before)
{
	char *buf = cli_text_buffer();
	size_t n = 0;

	for (size_t i = 0; i < diag->n_neighbours; i++) {
		const struct np_acct_neighbour *neighbour = &diag->neighbour[i];
		const struct np_acct_job *job = &diag->acct.job[neighbour->job];

		if (neighbour->to <= from || neighbour->from >= to)
			continue;
		if (n++ < 3)
			cli_appendf(buf, CLI_TEXT_BYTES, "%s%s",
				    n == 1 ? before : " ", job_name(diag, job));
	}
	return n > 3 ? cli_text("%s +%zu", buf, n - 3) : buf;
}

/* "traffic of other jobs: up to 16 GB/s on leaf0, usually 4 MB/s" */
static const char *worst_text(const struct cli_diagnosis *diag,
			      const struct interval *span)
{
	enum np_signal signal = signal_of(span->row);

	if (span->row == PROBES)
		return cli_text("its probes: up to %.0f %% were delayed",
				100 * span->worst);
	return cli_text("%s%s: %s to %s on %s, usually %s",
			signal_words[signal],
			span->row < NEAR ? "" : " on other nodes",
			np_examine_is_worse(signal, 0, 1) ? "down" : "up",
			signal_text(signal, span->worst),
			(signal == NP_SIGNAL_TRAFFIC ?
				 cli_acct_leaf :
				 cli_acct_node)(&diag->acct, span->place),
			signal_text(signal, usual_of(diag, span->row)->usual));
}

/* When a signal was unusual, where, and which neighbours ran then. */
static void print_when(FILE *f, const struct cli_diagnosis *diag)
{
	const struct cli_timeline *timeline = &diag->timeline;
	struct interval span = { .row = 0 };
	size_t more = 0;

	while (next_interval(diag, &span)) {
		double from = begin_of(diag, &span),
		       sec = end_of(diag, &span) - from;
		const char *when = "all the time";
		bool part = span.to - span.from < timeline->n;

		/* For other nodes, the lines "Unusual" have this already. */
		if ((span.row >= NEAR && !part) || more++ >= MAX_WHEN)
			continue;
		if (part)
			when = cli_text("for %s from %s", cli_sec(sec),
					cli_date(from));
		cli_flabel(f, "When", "%s: %s%s", when, worst_text(diag, &span),
			   neighbours_at(diag, from, from + sec, "; with "));
	}
	if (more > MAX_WHEN)
		cli_flabel(f, "When", "%zu more intervals (--json)",
			   more - MAX_WHEN);
}

/* When the probes were delayed, if only in parts of the run. */
static void print_slow_parts(FILE *f, const struct cli_diagnosis *diag)
{
	const struct cli_timeline *timeline = &diag->timeline;
	double worst = 0;
	size_t from = timeline->n;

	for (size_t i = timeline->n; i-- > 0;)
		if (timeline->delayed[i] >= NP_EXAMINE_DELAYED) {
			worst = fmax(worst, timeline->delayed[i]);
			from = i;
		}
	cli_flabel(
		f, "Its probes",
		"the network was slower than usual for %s of %s, first at %s: "
		"up to %.0f %% took longer than in its undisturbed runs, "
		"beyond what is usual",
		cli_sec(diag->result.slow_part * job_sec(diag)),
		cli_sec(job_sec(diag)),
		cli_date(timeline->start + timeline->step_sec * (double)from),
		100 * worst);
}

/* What the job's own probes measured, if there were any. */
static void print_probes(FILE *f, const struct cli_diagnosis *diag)
{
	if (!diag->examined || diag->result.probes == NP_WITNESS_NONE)
		return;
	if (diag->result.slow_part > 0 && diag->result.slow_part < 1)
		print_slow_parts(f, diag);
	else
		cli_flabel(f, "Its probes",
			   "%s: %.0f %% took longer than in its "
			   "undisturbed runs, beyond what is usual",
			   diag->result.probes == NP_WITNESS_AGAINST ?
				   "the network was as fast as usual" :
				   "the network was slower than usual",
			   100 * diag->result.delayed);
}

/* The columns of a neighbour that are names. */
enum { JOB, NAME, USER, LEAF, N_NAMES };

/* Names are "" if the neighbour's job is private. */
static void neighbour_names(const struct cli_diagnosis *diag, size_t i,
			    const char *name[N_NAMES])
{
	const struct np_acct_neighbour *neighbour = &diag->neighbour[i];
	const struct np_acct *acct = &diag->acct;
	const struct np_acct_job *other = &acct->job[neighbour->job];
	bool named = may_name(diag, other);

	name[JOB] = job_name(diag, other);
	name[NAME] = named ? cli_acct_text(acct, other->name) : "";
	name[USER] = named ? cli_acct_text(acct, other->user) : "";
	name[LEAF] = cli_acct_leaf(acct, neighbour->leaf);
}

/* One neighbour; a star marks those that shared a node with the job. */
static void neighbour_row(FILE *f, const struct cli_diagnosis *diag, size_t i,
			  const int width[N_NAMES])
{
	const struct np_acct_neighbour *neighbour = &diag->neighbour[i];
	const char *name[N_NAMES];

	neighbour_names(diag, i, name);
	for (int c = 0; c < N_NAMES; c++) {
		cli_print_left(f, name[c], width[c]);
		putc(' ', f);
	}
	fprintf(f, "%5u", neighbour->nodes);
	cli_fprint_number(f, cli_sec, neighbour->to - neighbour->from, 9);
	cli_fprint_number(f, cli_rate, neighbour->rate, 11);
	cli_fprint_number(f, cli_sec, neighbour->cost_sec, 9);
	fprintf(f, "%s\n", neighbour->same_node ? " *" : "");
}

/* The neighbours, those with the most node-seconds during the job first. */
static void print_neighbours(FILE *f, const struct cli_diagnosis *diag)
{
	size_t shown = diag->n_neighbours < MAX_ROWS ? diag->n_neighbours :
						       MAX_ROWS;
	int width[N_NAMES] = { 11, cli_name_column(13, 1), 8, 10 };
	struct np_acct_place place;
	const char *name[N_NAMES];
	bool same = false;

	if (!diag->n_neighbours) {
		/* sacct does not print what is private; a file has all jobs. */
		bool hidden = diag->masked && !isnan(diag->since_sec);

		cli_flabel(
			f, "Neighbours",
			hidden ? "none that Slurm shows you: it may keep "
				 "jobs of others private (PrivateData)" :
			np_acct_leaves(&diag->acct, diag->job, &place, 1) ?
				 "none in the accounting: no other job was on "
				 "its leaf switches" :
				 "not known: the topology has none of its "
				 "nodes");
		return;
	}
	for (size_t i = 0; i < shown; i++) {
		neighbour_names(diag, i, name);
		for (int c = 0; c < N_NAMES; c++)
			width[c] = cli_widen(width[c], name[c]);
	}
	cli_fheading(f, "%-*s %-*s %-*s %-*s %5s%9s%11s%9s", width[JOB],
		     "Neighbour", width[NAME], "Name", width[USER], "User",
		     width[LEAF], "Leaf", "Nodes", "Overlap", "Traffic",
		     "Cost");
	for (size_t i = 0; i < shown; i++) {
		neighbour_row(f, diag, i, width);
		same |= diag->neighbour[i].same_node;
	}
	if (diag->n_neighbours > MAX_ROWS)
		fprintf(f, "%zu more (--json)\n",
			diag->n_neighbours - MAX_ROWS);
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
static void timeline_row(FILE *f, const struct cli_timeline *timeline,
			 size_t from, size_t to)
{
	if (timeline->has_metrics) {
		cli_fprint_number(f, cli_rate, mean_of(timeline->own, from, to),
				  12);
		cli_fprint_number(f, cli_rate,
				  mean_of(timeline->others, from, to), 12);
		cli_fprint_number(f, cli_percent,
				  mean_of(timeline->value[NP_SIGNAL_CPU_WAIT],
					  from, to),
				  10);
		cli_fprint_number(f, cli_percent,
				  mean_of(timeline->value[NP_SIGNAL_IO_WAIT],
					  from, to),
				  10);
	}
	if (timeline->has_probes)
		cli_fprint_number(f, cli_percent,
				  most_of(timeline->delayed, from, to), 10);
	putc(' ', f);
}

/*
 * Neighbouring steps are combined until the table has at most MAX_ROWS rows.
 */
static void print_timeline(FILE *f, const struct cli_diagnosis *diag)
{
	const struct cli_timeline *timeline = &diag->timeline;
	size_t rows = timeline->n < MAX_ROWS ? timeline->n : MAX_ROWS;

	if (!rows)
		return;
	cli_fheading(f, "%-20s%s%s  %s", "Timeline",
		     timeline->has_metrics ?
			     " Own traffic     Others'  CPU wait  I/O wait" :
			     "",
		     timeline->has_probes ? "   Delayed" : "", "Neighbours");
	for (size_t r = 0; r < rows; r++) {
		size_t from = r * timeline->n / rows,
		       to = (r + 1) * timeline->n / rows;
		double at = timeline->start + timeline->step_sec * (double)from;

		cli_print_left(f, cli_date(at), 20);
		timeline_row(f, timeline, from, to);
		fprintf(f, "%s\n",
			neighbours_at(diag, at,
				      timeline->start +
					      timeline->step_sec * (double)to,
				      " "));
	}
	if (timeline->has_metrics)
		fprintf(f,
			"Traffic on %s; waiting times are of the worst of the "
			"job's nodes.\n",
			cli_acct_leaf(&diag->acct, timeline->leaf));
	if (timeline->has_probes)
		fprintf(f, "Delayed: its own probes, in the worst part of the "
			   "time.\n");
}

void cli_print_off_leaves(FILE *f, const struct np_acct *acct)
{
	size_t n = np_acct_off_leaves(acct);

	if (n)
		cli_flabel(f, "Missing",
			   "%zu node%s of these jobs %s on no leaf switch of "
			   "the topology: who shared one with %s is not known",
			   n, cli_plural_s(n), n == 1 ? "is" : "are",
			   n == 1 ? "it" : "them");
}

/*
 * What the verdict could not take into account, each with what to do about it.
 */
static void print_missing(FILE *f, const struct cli_diagnosis *diag)
{
	if (!diag->metrics)
		cli_flabel(
			f, "Missing",
			"%s: only Slurm's accounting was used, and neighbours "
			"are weighted by their number of nodes",
			diag->no_metrics.text);
	else if (diag->no_metrics.text[0])
		cli_flabel(f, "Missing", "%s", diag->no_metrics.text);
	if (diag->metrics && diag->n_without)
		cli_flabel(
			f, "Missing",
			"%zu of its nodes %s no samples on the metrics server; "
			"do nodes have other names there (MetricsLabel)?",
			diag->n_without, diag->n_without == 1 ? "has" : "have");
	if (diag->n_runs_without)
		cli_flabel(f, "Missing",
			   "%zu of the %zu comparable runs %s no "
			   "samples on the metrics server; does it "
			   "keep them for as long (--since)?",
			   diag->n_runs_without, diag->n_examined,
			   diag->n_runs_without == 1 ? "has" : "have");
	if (diag->not_named.text[0])
		cli_flabel(f, "Missing",
			   "whether jobs of other users are private "
			   "(PrivateData), so they have no names: %s",
			   diag->not_named.text);
	if (diag->n_leaves_skipped || diag->n_nodes_skipped)
		cli_flabel(f, "Missing",
			   "the metrics server is asked about at most "
			   "%d leaf switches and %d nodes on each: %zu "
			   "switch%s and %zu node%s were not queried",
			   CLI_DIAGNOSIS_LEAVES, CLI_DIAGNOSIS_LEAF_NODES,
			   diag->n_leaves_skipped,
			   diag->n_leaves_skipped == 1 ? "" : "es",
			   diag->n_nodes_skipped,
			   cli_plural_s(diag->n_nodes_skipped));
	if (diag->acct.one_leaf)
		cli_flabel(f, "Note",
			   "no topology is known, so all nodes count "
			   "as one leaf switch");
	cli_print_off_leaves(f, &diag->acct);
	if (diag->acct.damaged)
		cli_flabel(f, "Missing",
			   "%zu row%s of the accounting could not be read",
			   diag->acct.damaged,
			   cli_plural_s(diag->acct.damaged));
}

/* What to do next; "" if there is nothing to do. */
static const char *next_advice(const struct cli_diagnosis *diag)
{
	const struct np_blame *blame = &diag->result.blame;
	enum np_cause list[NP_N_CAUSES];
	bool one_node;

	if (!diag->examined || job_state(diag) != JOB_COMPARABLE)
		return "";
	if (list_blamed(blame, list))
		return advice_for(diag, list[0]);
	/* Only steps on several nodes are measured. */
	one_node = diag->job->n_nodes == 1;
	if (blame->verdict == NP_BLAME_TOO_FEW)
		return one_node ? "give later runs the same job name, so that "
				  "they can be compared" :
				  "measure how the job reacts to its "
				  "neighbours (sbatch --netprofile=NAME "
				  "job.sh); give later runs the same job name, "
				  "so that they can be compared";
	if (blame->verdict == NP_BLAME_UNEXPLAINED)
		return one_node ? "check what the job itself did (its output "
				  "and input)" :
				  "check what the job itself did (its output "
				  "and input), and measure the next run "
				  "(sbatch --netprofile=NAME job.sh)";
	return "";
}

/* The verdict comes first, then what it is based on, then the tables. */
void cli_diagnosis_text(FILE *f, const struct cli_diagnosis *diag)
{
	print_verdict(f, diag);
	print_compared(f, diag);
	print_different(f, diag);
	print_unusual(f, diag);
	print_probes(f, diag);
	print_when(f, diag);
	print_missing(f, diag);
	cli_flabel(f, "Next", "%s", next_advice(diag));
	print_causes(f, diag);
	print_neighbours(f, diag);
	print_timeline(f, diag);
}

/* ---- for programs ---- */

/* The node of a cause or signal; null: not a single one. */
static void put_node(json_object *parent, const struct cli_diagnosis *diag,
		     uint32_t node)
{
	cli_put_text(parent, "node",
		     node == NP_NO_INDEX ? NULL :
					   cli_acct_node(&diag->acct, node));
}

/* One cause, also those that were examined and not blamed. */
static void put_cause(json_object *list, const struct cli_diagnosis *diag,
		      enum np_cause cause)
{
	const struct np_blame *blame = &diag->result.blame;
	json_object *object = cli_append_object(list);

	cli_put_text(object, "cause", cause_names[cause]);
	cli_put_bool(object, "examined", blame->cause[cause].examined);
	cli_put_bool(object, "blamed", blame->cause[cause].blamed);
	cli_put_real(object, "confidence", blame->cause[cause].confidence);
	cli_put_range(object, "sec", &blame->cause[cause].sec);
	cli_put_real(object, "share",
		     blame->excess_sec.mean > 0 ?
			     blame->cause[cause].sec.mean /
				     blame->excess_sec.mean :
			     NAN);
	cli_put_real(object, "exposure_sec", diag->result.exposure[cause]);
	put_node(object, diag, diag->result.node[cause]);
	cli_put_bool(object, "one_node", diag->result.one_node[cause]);
}

/*
 * The verdict and its numbers. If the job cannot be judged, the list of causes
 * is empty and the costs are missing.
 */
static void put_blame(json_object *parent, const struct cli_diagnosis *diag)
{
	const struct np_blame *blame = &diag->result.blame;
	bool judged = is_judged(diag);
	enum np_cause most[NP_N_CAUSES];
	json_object *list;

	cli_put_text(parent, "verdict", verdict_name(diag));
	cli_put_real(parent, "confidence", judged ? blame->confidence : NAN);
	cli_put_real(parent, "run_sec", job_sec(diag));
	cli_put_real(parent, "usual_sec",
		     diag->n_examined ? blame->usual_sec : NAN);
	cli_put_text(parent, "network_by",
		     !diag->examined	     ? NULL :
		     diag->result.by_traffic ? "traffic" :
					       "nodes");
	cli_put_real(parent, "probes_delayed",
		     diag->examined ? diag->result.delayed : NAN);
	cli_put_real(parent, "probes_slow_part",
		     diag->examined && diag->timeline.has_probes ?
			     diag->result.slow_part :
			     NAN);
	list = cli_put_array(parent, "causes");
	if (!judged)
		return;
	cli_put_range(parent, "alone_sec", &blame->alone_sec);
	cli_put_range(parent, "excess_sec", &blame->excess_sec);
	cli_put_range(parent, "unexplained_sec", &blame->unexplained_sec);
	cli_put_real(parent, "noise", blame->noise);
	if (list_blamed(blame, most)) {
		cli_put_text(parent, "cause", cause_names[most[0]]);
		cli_put_real(parent, "cause_sec",
			     blame->cause[most[0]].sec.mean);
	}
	for (int c = 0; c < NP_N_CAUSES; c++)
		put_cause(list, diag, (enum np_cause)c);
}

/* How the job differs from its usual runs. */
static void put_differences(json_object *parent,
			    const struct cli_diagnosis *diag)
{
	static const char *const names[NP_ACCT_N_TRAITS] = {
		"nodes",
		"processors",
		"tasks",
		"partition",
	};
	json_object *list = cli_put_array(parent, "differences"), *object;
	char own[COMMAND_BYTES], other[COMMAND_BYTES];
	bool named = may_name(diag, diag->job);

	for (int t = 0; t < NP_ACCT_N_TRAITS; t++) {
		enum np_acct_trait trait = (enum np_acct_trait)t;
		struct np_acct_usual usual;

		if (!differs(diag, trait, &usual))
			continue;
		object = cli_append_object(list);
		cli_put_text(object, "what", names[t]);
		cli_put_text(object, "value",
			     trait_text(diag, trait, usual.own));
		cli_put_text(object, "usual",
			     trait_text(diag, trait, usual.usual));
	}
	if (!has_new_command(diag, own, other))
		return;
	object = cli_append_object(list);
	cli_put_text(object, "what", "command");
	cli_put_text(object, "value", named ? own : NULL);
	cli_put_text(object, "usual", named ? other : NULL);
}

/* A signal with the range of comparable runs, and one more member. */
static void put_sign(json_object *list, const struct cli_diagnosis *diag,
		     enum np_signal signal,
		     const struct np_examine_signal *reading, const char *key,
		     const char *text)
{
	json_object *object = cli_append_object(list);

	cli_put_text(object, "signal", np_signal_name(signal));
	cli_put_bool(object, "unusual", reading->unusual);
	cli_put_text(object, key, text);
	put_node(object, diag, reading->node);
	cli_put_real(object, "value", reading->value);
	cli_put_real(object, "usual", reading->known ? reading->usual : NAN);
	cli_put_real(object, "most", reading->known ? reading->most : NAN);
}

/* The signals that have a value for this job, and those of other nodes. */
static void put_signs(json_object *parent, const struct cli_diagnosis *diag)
{
	json_object *list = cli_put_array(parent, "signals");

	for (int i = 0; diag->examined && i < NP_N_SIGNALS; i++) {
		enum np_signal signal = (enum np_signal)i;

		if (!isnan(diag->result.sign[signal].value))
			put_sign(list, diag, signal, &diag->result.sign[signal],
				 "cause", share_name(diag, signal));
	}
	list = cli_put_array(parent, "others_signals");
	for (int i = 0; diag->examined && i < NP_N_SIGNALS; i++) {
		enum np_signal signal = (enum np_signal)i;
		const struct np_acct_job *other = neighbour_at(diag, signal);

		if (np_examine_is_near(signal) &&
		    !isnan(diag->result.near[signal].value))
			put_sign(list, diag, signal, &diag->result.near[signal],
				 "job",
				 !other || !may_name(diag, other) ?
					 NULL :
					 job_id(other));
	}
}

/* The signals of a neighbour's nodes; null: not known. */
static void put_neighbour_signals(json_object *parent,
				  const struct cli_diagnosis *diag, size_t i)
{
	json_object *object = cli_put_object(parent, "signals");

	for (int s = 0; s < NP_N_SIGNALS; s++)
		if (np_examine_is_near((enum np_signal)s))
			cli_put_real(object, np_signal_name((enum np_signal)s),
				     diag->neighbour_value ?
					     diag->neighbour_value[i][s] :
					     NAN);
}

/* Names and users of private jobs are null. */
static void put_neighbours(json_object *parent,
			   const struct cli_diagnosis *diag)
{
	json_object *list = cli_put_array(parent, "neighbours");

	for (size_t i = 0; i < diag->n_neighbours; i++) {
		const struct np_acct_neighbour *neighbour = &diag->neighbour[i];
		const struct np_acct *acct = &diag->acct;
		const struct np_acct_job *other = &acct->job[neighbour->job];
		bool named = may_name(diag, other);
		json_object *object = cli_append_object(list);

		cli_put_text(object, "job", named ? job_id(other) : NULL);
		cli_put_text(object, "name",
			     named ? cli_acct_text(acct, other->name) : NULL);
		cli_put_text(object, "user",
			     named ? cli_acct_text(acct, other->user) : NULL);
		cli_put_text(object, "leaf",
			     cli_acct_leaf(acct, neighbour->leaf));
		cli_put_count(object, "nodes", neighbour->nodes);
		cli_put_time(object, "from", neighbour->from);
		cli_put_time(object, "to", neighbour->to);
		cli_put_bool(object, "same_node", neighbour->same_node);
		cli_put_real(object, "bytes_per_sec", neighbour->rate);
		put_neighbour_signals(object, diag, i);
		cli_put_real(object, "cost_sec", neighbour->cost_sec);
	}
}

/*
 * The intervals in which something was unusual. The jobs are those among the
 * neighbours that may be named.
 */
static void put_intervals(json_object *parent, const struct cli_diagnosis *diag)
{
	json_object *list = cli_put_array(parent, "unusual");
	struct interval span = { .row = 0 };

	while (next_interval(diag, &span)) {
		json_object *object = cli_append_object(list), *jobs;
		bool leaf = span.row == NP_SIGNAL_TRAFFIC;
		bool probes = span.row == PROBES;

		cli_put_text(
			object, "signal",
			probes ? "probes_delayed" :
				 cli_text("%s%s",
					  leaf || span.row >= NEAR ? "others_" :
								     "",
					  np_signal_name(signal_of(span.row))));
		cli_put_time(object, "from", begin_of(diag, &span));
		cli_put_time(object, "to", end_of(diag, &span));
		put_node(object, diag,
			 leaf || probes ? NP_NO_INDEX : span.place);
		cli_put_text(object, "leaf",
			     leaf ? cli_acct_leaf(&diag->acct, span.place) :
				    NULL);
		cli_put_real(object, "worst", span.worst);
		cli_put_real(object, "usual",
			     probes ? NAN : usual_of(diag, span.row)->usual);
		jobs = cli_put_array(object, "jobs");
		for (size_t k = 0; k < diag->n_neighbours; k++) {
			const struct np_acct_neighbour *neighbour =
				&diag->neighbour[k];
			const struct np_acct_job *other =
				&diag->acct.job[neighbour->job];

			if (neighbour->to > begin_of(diag, &span) &&
			    neighbour->from < end_of(diag, &span) &&
			    may_name(diag, other))
				cli_append_text(jobs, job_id(other));
		}
	}
}

/* The timeline of the job; missing without metrics and probes. */
static void put_timeline(json_object *parent, const struct cli_diagnosis *diag)
{
	const struct cli_timeline *timeline = &diag->timeline;
	json_object *object = cli_put_if(parent, "timeline", timeline->n),
		    *list;

	if (!object)
		return;
	cli_put_text(object, "leaf",
		     !timeline->has_metrics ?
			     NULL :
			     cli_acct_leaf(&diag->acct, timeline->leaf));
	cli_put_time(object, "start", timeline->start);
	cli_put_real(object, "step_sec", timeline->step_sec);
	put_intervals(object, diag);
	list = cli_put_array(object, "steps");
	for (size_t i = 0; i < timeline->n; i++) {
		json_object *step = cli_append_object(list);

		cli_put_real(step, "own",
			     timeline->has_metrics ? timeline->own[i] : NAN);
		cli_put_real(step, "others",
			     timeline->has_metrics ? timeline->others[i] : NAN);
		cli_put_real(step, "cpu_wait",
			     timeline->has_metrics ?
				     timeline->value[NP_SIGNAL_CPU_WAIT][i] :
				     NAN);
		cli_put_real(step, "io_wait",
			     timeline->has_metrics ?
				     timeline->value[NP_SIGNAL_IO_WAIT][i] :
				     NAN);
		cli_put_real(step, "probes_delayed",
			     timeline->has_probes ? timeline->delayed[i] : NAN);
	}
}

void cli_diagnosis_json(json_object *parent, const struct cli_diagnosis *diag)
{
	json_object *object = cli_put_if(parent, "accounting", diag->job),
		    *like;
	const struct np_acct *acct = &diag->acct;
	const struct np_acct_job *job = diag->job;
	bool named;

	if (!object)
		return;
	put_blame(object, diag);
	named = may_name(diag, job);
	cli_put_text(object, "user",
		     named ? cli_acct_text(acct, job->user) : NULL);
	cli_put_text(object, "name",
		     named ? cli_acct_text(acct, job->name) : NULL);
	cli_put_count(object, "n_nodes", job->n_nodes);
	cli_put_real(object, "n_tasks", job->tasks ? job->tasks : NAN);
	cli_put_time(object, "start", job->start);
	cli_put_time(object, "end", np_acct_job_end(acct, job));
	cli_put_count(object, "requeues", job->requeues);
	like = cli_put_object(object, "comparable");
	cli_put_count(like, "runs", diag->n_examined);
	cli_put_count(like, "found", diag->n_comparable);
	cli_put_text(like, "same",
		     diag->same == NP_ACCT_SAME_NAME ? "name" : "command");
	cli_put_real(like, "since_sec", diag->since_sec);
	cli_put_real(like, "shortest_sec",
		     diag->n_examined ? diag->shortest : NAN);
	cli_put_real(like, "longest_sec",
		     diag->n_examined ? diag->longest : NAN);
	put_differences(object, diag);
	put_signs(object, diag);
	put_neighbours(object, diag);
	put_timeline(object, diag);
	cli_put_bool(object, "metrics", diag->metrics);
	cli_put_text(object, "missing", diag->no_metrics.text);
	cli_put_count(object, "queries", diag->n_queries);
	cli_put_count(object, "leaves_not_queried", diag->n_leaves_skipped);
	cli_put_count(object, "nodes_not_queried", diag->n_nodes_skipped);
	cli_put_count(object, "runs_without_samples", diag->n_runs_without);
	cli_put_text(object, "next", next_advice(diag));
}

/* ---- figure ---- */

/*
 * One line of a panel as a staircase; scale converts to the unit of the axis.
 */
static void add_steps(struct np_figure *figure, struct np_panel *panel,
		      unsigned style, const char *name, const double *v,
		      const struct cli_timeline *timeline, double scale)
{
	struct np_shape *shape =
		np_figure_add_shape(figure, panel, NP_SHAPE_STEP, style, name);

	for (size_t i = 0; i <= timeline->n; i++)
		np_figure_add_datum(figure, shape,
				    timeline->step_sec * (double)i / 60,
				    i < timeline->n ?
					    v[i] * scale :
					    v[timeline->n - 1] * scale,
				    NAN, NAN);
}

/*
 * One bar for the job and each neighbour, over the time of the job, and the
 * excess of the job as a shaded region.
 */
static void add_neighbour_bars(struct np_figure *figure,
			       const struct cli_diagnosis *diag)
{
	struct np_panel *panel = cli_figure_add_panel(
		figure, "Jobs on its leaf switches", NP_AXIS_LINEAR,
		"Minutes since its start", NP_AXIS_NAMES, "Job");
	double length =
		(np_acct_job_end(&diag->acct, diag->job) - diag->job->start) /
		60;
	struct np_shape *shape;
	size_t n = diag->n_neighbours < MAX_ROWS ? diag->n_neighbours :
						   MAX_ROWS;

	panel->x.lo = 0;
	panel->x.hi = length;
	shape = np_figure_add_shape(figure, panel, NP_SHAPE_SPANS, 0,
				    "the job");
	np_figure_add_name(figure, &panel->y, job_id(diag->job));
	np_figure_add_datum(figure, shape, NAN, 0, 0, length);
	if (diag->examined && diag->result.blame.verdict >= NP_BLAME_CAUSE) {
		shape = np_figure_add_shape(figure, panel, NP_SHAPE_REGION,
					    NP_STYLE_GREY, "excess");
		np_figure_add_datum(figure, shape, NAN, NAN,
				    diag->result.blame.alone_sec.mean / 60,
				    length);
	}
	shape = np_figure_add_shape(figure, panel, NP_SHAPE_SPANS, 1,
				    "other jobs");
	for (size_t i = 0; i < n; i++) {
		const struct np_acct_job *other =
			&diag->acct.job[diag->neighbour[i].job];

		np_figure_add_name(
			figure, &panel->y,
			may_name(diag, other) ?
				cli_text("%s %s", job_id(other),
					 cli_acct_text(&diag->acct,
						       other->name)) :
				"another job");
		np_figure_add_datum(
			figure, shape, NAN, (double)i + 1,
			(diag->neighbour[i].from - diag->job->start) / 60,
			(diag->neighbour[i].to - diag->job->start) / 60);
	}
}

/* A panel over the time of the job. */
static struct np_panel *time_panel(struct np_figure *figure, const char *title,
				   const char *axis)
{
	struct np_panel *panel = cli_figure_add_panel(figure, title,
						      NP_AXIS_LINEAR,
						      "Minutes since its start",
						      NP_AXIS_LINEAR, axis);

	panel->y.lo = 0;
	return panel;
}

/* Without metrics and probes the figure has only the bars. */
struct np_figure *cli_diagnosis_figure(const struct cli_diagnosis *diag)
{
	const struct cli_timeline *timeline = &diag->timeline;
	struct np_figure *figure = cli_figure_new(
		cli_text("Job %s and its neighbours", job_id(diag->job)));
	struct np_panel *panel;

	figure->date = np_acct_job_end(&diag->acct, diag->job);
	if (timeline->has_metrics) {
		panel = time_panel(
			figure,
			cli_text("Traffic of leaf switch %s",
				 cli_acct_leaf(&diag->acct, timeline->leaf)),
			"Traffic (MB/s)");
		add_steps(figure, panel, 0, "the job's nodes", timeline->own,
			  timeline, 1e-6);
		add_steps(figure, panel, 1, "other nodes", timeline->others,
			  timeline, 1e-6);
	}
	if (timeline->has_probes) {
		panel = time_panel(figure, "Delayed probes of the job",
				   "Delayed (%)");
		add_steps(figure, panel, 0, "probes", timeline->delayed,
			  timeline, 100);
	}
	add_neighbour_bars(figure, diag);
	np_figure_set_caption(figure,
			      "Verdict: %s. Excess: time beyond the run time "
			      "of the undisturbed job.",
			      verdict_words(diag));
	return figure;
}

/* ---- all jobs ---- */

/* "USER/JOBNAME" */
static const char *app_name(const struct np_acct *acct, uint32_t user,
			    uint32_t name)
{
	char short_user[128];

	return cli_text("%s/%s",
			np_acct_text(&acct->text, user, short_user,
				     sizeof(short_user)),
			cli_acct_text(acct, name));
}

bool cli_blame_row(const struct np_acct *acct, const struct np_job_cost *cost,
		   enum cli_blame_list list, size_t i,
		   struct cli_blame_row *row)
{
	const struct np_job_cost_pair *pair = cost->pair;
	const struct np_job_cost_node *node = cost->node;

	if (list == CLI_BLAME_PAIRS && i < cost->n_pairs)
		*row = (struct cli_blame_row){
			.names = { app_name(acct, pair[i].user, pair[i].name),
				   app_name(acct, pair[i].by_user,
					    pair[i].by_name) },
			.runs = pair[i].runs,
			.node_hours = &pair[i].node_hours,
		};
	else if (list == CLI_BLAME_LEAVES && i < cost->n_leaves)
		*row = (struct cli_blame_row){
			.names = { cli_acct_leaf(acct, cost->leaf[i].leaf) },
			.node_hours = &cost->leaf[i].node_hours,
		};
	else if (list == CLI_BLAME_NODES && i < cost->n_nodes)
		*row = (struct cli_blame_row){
			.names = { cli_acct_node(acct, node[i].node) },
			.runs = node[i].runs,
			.node_hours = &node[i].node_hours,
			.slower = &node[i].excess_time,
		};
	else
		return false;
	return true;
}

const char *cli_blame_verdict(const struct np_job_cost *cost)
{
	double lost = 0;

	if (!cost->n_pairs)
		return "No application was found to slow another one.";
	for (size_t i = 0; i < cost->n_pairs; i++)
		lost += cost->pair[i].node_hours.mean;
	return cli_text("Jobs lost %.0f of %.0f node-hours (%.1f %%) to "
			"neighbours on their leaf switches.",
			lost, cost->node_hours,
			100 * lost / fmax(cost->node_hours, 1e-9));
}

/* ---- measured runs ---- */

/* How much of a measured slowdown was predicted; both are fractions. */
static const char *explain_slowdown(double measured, double predicted)
{
	if (predicted < MIN_EXPLAINED)
		return "; its neighbours account for none of that.";
	if (predicted >= measured)
		return cli_text("; its neighbours account for all of that "
				"(%.0f %% was predicted).",
				100 * predicted);
	return cli_text("; its neighbours account for %.0f of those %.0f "
			"percentage points.",
			100 * predicted, 100 * measured);
}

/*
 * Differences below CLI_MIN_NOISE are called equal, and those within the
 * scatter of the other runs chance. Only a slowdown beyond both is compared
 * with the prediction.
 */
const char *cli_run_time_text(double run_sec, const struct np_mean *alone,
			      const double *predicted)
{
	const struct np_mean one = { .n = 1, .mean = run_sec };
	const char *how = "as long as", *why;
	double d, noise;

	if (!np_mean_known(alone) || !(alone->mean > 0))
		return cli_text("It took %s. How long it takes alone is not "
				"known: no other run of this command had its "
				"leaf switches to itself.",
				cli_sec(run_sec));
	d = run_sec / alone->mean - 1;
	noise = cli_noise_limit(&one, alone);
	if (fabs(d) >= CLI_MIN_NOISE)
		how = cli_text("%.0f %% %s than", 100 * fabs(d),
			       d < 0 ? "less" : "longer");
	if (fabs(d) < CLI_MIN_NOISE || d < -noise)
		why = ".";
	else if (fabs(d) < noise)
		why = ", which may be chance.";
	else if (predicted)
		why = explain_slowdown(d, *predicted);
	else
		why = "; the effect of its neighbours is not known.";
	return cli_text("It took %s, %s alone (%s, %u run%s)%s",
			cli_sec(run_sec), how, cli_sec(alone->mean), alone->n,
			cli_plural_s(alone->n), why);
}
