/*
 * Gathers data about a job from Slurm's accounting and topology and from the
 * site's metrics server, and has it examined (np_examine.h).
 */
#include "cli_diagnosis.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli_profile.h"
#include "cli_slurm.h"
#include "cli_text.h"
#include "np_clock.h"
#include "np_option.h"
#include "np_prom.h"
#include "np_read.h"
#include "np_slurm_file.h"

/* Most bytes that Slurm's programs may print, and most seconds they may take. */
#define MAX_ACCOUNTING ((size_t)256 << 20)
#define MAX_TOPOLOGY ((size_t)64 << 20)
#define MAX_CONFIG ((size_t)1 << 20)
#define SACCT_SEC 60.0
#define SCONTROL_SEC 5.0
#define MAX_ARGUMENT 100000 /* bytes; Linux accepts 128 KiB in one argument */

/* Limits of the queries to a metrics server for one job. */
#define MAX_QUERIES 600
#define MAX_QUERY_SEC 30.0 /* for all queries together */
#define MIN_SAMPLES 2.0	   /* a rate needs as many samples of a run */
#define MAX_TASK_RUNS 96   /* runs whose steps are read with sacct */
/*
 * Comparable runs for which the signals from NP_SIGNAL_SHOWN on are queried,
 * which are only shown.
 */
#define MAX_SHOWN_RUNS 8

/* ---- Slurm's programs ---- */

/* Run a program of Slurm; *out: its whole output, malloc'ed. */
static int run(char *const argv[], double sec, size_t max, char **out,
	       struct np_err *err)
{
	/* max may be large; pages that are never written take no memory. */
	char *text = cli_calloc(max, 1);
	int rc = cli_spawn(argv, sec, text, max);

	if (!rc && strlen(text) + 1 == max)
		rc = -EFBIG;
	if (!rc) {
		char *less = realloc(text, strlen(text) + 1);

		*out = less ? less : text;
		return 0;
	}
	free(text);
	return np_errf(err, rc < 0 ? rc : -EIO,
		       rc == -ENOENT	? "%s was not found" :
		       rc == -ETIMEDOUT ? "%s did not answer" :
		       rc == -EFBIG	? "the output of %s is too large" :
					  "%s failed; run it by hand to see why",
		       argv[0]);
}

/*
 * An option with a date, in seconds since 1970: an hour of local time occurs
 * twice when daylight saving time ends.
 */
static char *date_argument(const char *option, double date, char *buf,
			   size_t len)
{
	snprintf(buf, len, "%suts%.0f", option, floor(date));
	return buf;
}

#define MAX_EXTRA 8

/*
 * Add jobs from sacct. extra: arguments that select them, NULL-terminated; with
 * "--allocations" among them, steps are excluded.
 */
static int run_sacct(struct np_acct *acct, char *const extra[],
		     struct np_err *err)
{
	static bool lacks_columns;
	char mark[32], delimiter[64], *text;
	char *argv[8 + MAX_EXTRA] = {
		"sacct",       "--local", "--duplicates",
		"--parsable2", delimiter, NULL,
	};
	int rc;

	cli_sacct_delimiter(mark, sizeof(mark));
	snprintf(delimiter, sizeof(delimiter), "--delimiter=%s", mark);
	for (size_t i = 0; extra[i]; i++)
		argv[6 + i] = extra[i];
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	argv[5] = lacks_columns ? "--format=" NP_ACCT_FORMAT :
				  "--format=" NP_ACCT_FORMAT_MORE;
	rc = run(argv, SACCT_SEC, MAX_ACCOUNTING, &text, err);
	if (rc == -EIO && !lacks_columns) {
		/* Slurm before 21.08 has no column SubmitLine. */
		argv[5] = "--format=" NP_ACCT_FORMAT;
		rc = run(argv, SACCT_SEC, MAX_ACCOUNTING, &text, err);
		lacks_columns = !rc;
	}
	if (rc)
		return rc;
	rc = np_acct_read(acct, text, "sacct", mark, err);
	free(text);
	return rc;
}

/* The kind of a file without a leaf switch, for an error; "" if unknown. */
static const char *topology_kind(const char *text)
{
	while (*text == '#' || isspace((unsigned char)*text))
		text += *text == '#' ? strcspn(text, "\n") : 1;
	if (!strncmp(text, "SwitchName=", strlen("SwitchName=")))
		return ": a topology.conf";
	return *text == '-' || *text == '[' ? ": a topology.yaml" : "";
}

/*
 * Read the leaf switches from a file or from scontrol. If the accounting is
 * from a file, scontrol might describe another cluster, so it is not run.
 */
static int read_topology(const struct cli_diagnosis_opt *opt,
			 struct np_topo *out, struct np_err *err)
{
	static char *const argv[] = { "scontrol", "show", "topology", NULL };
	char *text;
	size_t len;
	int rc;

	*out = (struct np_topo){ NULL, 0 };
	if (opt->accounting && !opt->topology)
		return 0;
	if (!opt->topology &&
	    run(argv, SCONTROL_SEC, MAX_TOPOLOGY, &text, NULL))
		return 0; /* without topology all nodes are on one leaf */
	rc = opt->topology ? np_read_file(opt->topology, MAX_TOPOLOGY, &text,
					  &len, err) :
			     0;
	if (rc)
		return rc;
	rc = np_topo_parse(text, out, err);
	if (!rc && opt->topology && !out->n)
		rc = np_errf(err, -EINVAL,
			     "%s%s: no leaf switch: expected what scontrol "
			     "show topology prints",
			     opt->topology, topology_kind(text));
	free(text);
	return rc;
}

/* Read the leaf switches and put them into the accounting. */
static int take_topology(struct np_acct *acct,
			 const struct cli_diagnosis_opt *opt,
			 struct np_topo *topo, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = read_topology(opt, topo, err);

	if (rc)
		return rc;
	rc = np_acct_topology(acct, topo, &why);
	return rc ? np_errf(err, rc, "%s: %s",
			    opt->topology ? opt->topology :
					    "scontrol show topology",
			    why.text) :
		    0;
}

/* Read output of sacct from a file, with its default delimiter. */
static int read_accounting(struct np_acct *acct, const char *path,
			   struct np_err *err)
{
	char *text;
	size_t len;
	int rc = np_read_file(path, MAX_ACCOUNTING, &text, &len, err);

	if (rc)
		return rc;
	/* sacct prints a head even without jobs, so an empty file is an error. */
	rc = len ? np_acct_read(acct, text, path, "|", err) :
		   np_errf(err, -EINVAL,
			   "%s:1: the file ends, expected the columns of sacct "
			   "--parsable2 or JSON",
			   path);
	free(text);
	return rc;
}

/* Whether this user is an operator of Slurm, who may see private jobs, too. */
static bool is_operator(const char *user)
{
	char name[300], *text;
	char *const argv[] = {
		"sacctmgr", "--noheader", "--parsable2",       "show",
		"user",	    name,	  "format=AdminLevel", NULL
	};
	bool yes;

	snprintf(name, sizeof(name), "name=%s", user);
	if (run(argv, SCONTROL_SEC, MAX_CONFIG, &text, NULL))
		return false;
	text[strcspn(text, "\n")] = '\0';
	yes = !strcmp(text, "Operator") || !strcmp(text, "Administrator");
	free(text);
	return yes;
}

/*
 * Whether the jobs of other users must be hidden from this user, as squeue hides
 * them with PrivateData=jobs. (Jobs that sacct hides are not in its output.)
 * path: a file with the accounting, whose owner may see all of it; or NULL. If
 * slurmctld does not answer, jobs are hidden, and *why is set.
 */
static bool jobs_are_private(const char *path, struct np_err *why)
{
	static char *const argv[] = { "scontrol", "show", "config", NULL };
	char *text, list[256] = "", admin[64] = "";
	const struct passwd *pw = getpwuid(geteuid());
	struct stat st;
	bool known;

	if (!geteuid() || (path && !stat(path, &st) && st.st_uid == geteuid()))
		return false;
	if (run(argv, SCONTROL_SEC, MAX_CONFIG, &text, why))
		return true;
	known = np_slurm_setting(text, "PrivateData", list, sizeof(list));
	np_slurm_setting(text, "SlurmUser", admin, sizeof(admin));
	free(text);
	admin[strcspn(admin, "(")] = '\0';
	if (pw && !strcmp(pw->pw_name, admin))
		return false;
	if (!known)
		np_errf(why, -EINVAL, "scontrol does not print PrivateData");
	if (known && !cli_slurm_lists(list, "jobs") &&
	    !cli_slurm_lists(list, "all"))
		return false;
	return !known || !pw || !is_operator(pw->pw_name);
}

/* Days are not a unit of np_duration_parse(), so they are handled here. */
int cli_since_parse(char *text, void *sec, struct np_err *err)
{
	size_t len = strlen(text);
	uint64_t days;
	double age_sec = 0;

	if (len && text[len - 1] == 'd') {
		text[len - 1] = '\0';
		if (!np_whole_parse(text, 3660, &days))
			age_sec = 86400.0 * (double)days;
		text[len - 1] = 'd';
	} else if (np_duration_parse(text, &age_sec)) {
		age_sec = 0;
	}
	if (age_sec < 60 || age_sec > 3660 * 86400.0)
		return np_errf(err, -EINVAL,
			       "--since=%.40s: expected an age from 1m to "
			       "3660d, such as 7d or 36h",
			       text);
	*(double *)sec = age_sec;
	return 0;
}

int cli_since_default(const struct cli_cmd *self, struct cli_diagnosis_opt *opt,
		      double sec)
{
	if (opt->accounting && opt->since_sec)
		return cli_usage(self, "--since has no effect with "
				       "--accounting, all jobs of which are "
				       "compared");
	if (!opt->since_sec)
		opt->since_sec = opt->accounting ? NAN : sec;
	return -1;
}

int cli_job_parse(const struct cli_cmd *self, const char *word, uint32_t *id,
		  uint32_t *task)
{
	const char *rest = word;
	bool good = np_acct_take_id(&rest, id) && *id;

	*task = NP_ACCT_NO_TASK;
	if (good && *rest == '_') {
		rest++;
		good = np_acct_take_id(&rest, task);
	}
	return good && !*rest ?
		     -1 :
		     cli_usage(self,
			       "\"%.64s\": expected a job such as 123 or 123_4",
			       word);
}

int cli_diagnosis_conf(const struct cli_cmd *self,
		       const struct cli_diagnosis_opt *opt,
		       struct np_metrics_conf *out)
{
	struct np_conf conf;
	char url[sizeof(out->url)];
	int rc;

	if (opt->topology && !opt->accounting)
		return cli_usage(self, "--topology=%.64s needs --accounting",
				 opt->topology);
	rc = cli_conf_read(&conf);
	if (rc >= 0)
		return rc;
	*out = conf.metrics;
	if (!opt->metrics_url)
		return -1;
	snprintf(url, sizeof(url), "%s", opt->metrics_url);
	if (np_metrics_set_url(url, out->url, NULL))
		return cli_usage(
			self,
			"--metrics-url=%.64s: expected the address of a "
			"Prometheus server such as http://mon:9090, or none",
			url);
	return -1;
}

/* ---- the job, comparable runs and neighbours ---- */

/* Set diag->job, again after each read, because reading moves the jobs. */
static void find_job(struct cli_diagnosis *diag, uint32_t id, uint32_t task)
{
	diag->job = np_acct_find(&diag->acct, id, task);
}

/*
 * Whether the name of a job says what it runs. Slurm names a job without one
 * after sbatch, or after the program that srun was given.
 */
static bool is_named(const struct cli_diagnosis *diag)
{
	static const char *const other[] = {
		"",	"sbatch", "wrap",   "interactive",
		"bash", "sh",	  "python", "python3",
	};
	const char *name = cli_acct_text(&diag->acct, diag->job->name);

	for (size_t i = 0; i < NP_ARRAY_SIZE(other); i++)
		if (!strcmp(name, other[i]))
			return false;
	return true;
}

/* Set the comparable runs, and note the range of their run times. */
static void find_comparable(struct cli_diagnosis *diag, enum np_acct_same same)
{
	diag->same = same;
	diag->n_examined = np_acct_comparable(&diag->acct, diag->job, same,
					      diag->comparable,
					      CLI_DIAGNOSIS_RUNS,
					      &diag->n_comparable);
	diag->shortest = INFINITY;
	diag->longest = 0;
	for (size_t i = 0; i < diag->n_examined; i++) {
		double sec = np_acct_job_sec(
			&diag->acct, &diag->acct.job[diag->comparable[i]]);

		diag->shortest = fmin(diag->shortest, sec);
		diag->longest = fmax(diag->longest, sec);
	}
}

/*
 * Select the comparable runs by name, or by command if the name does not say
 * what the job runs or too few runs have it. Returns whether commands are
 * compared, so that runs with other names must be read.
 */
static bool select_comparable(struct cli_diagnosis *diag)
{
	char command[256];

	diag->named = is_named(diag);
	find_comparable(diag, NP_ACCT_SAME_NAME);
	if ((diag->named && diag->n_comparable >= NP_BLAME_LEAST_RUNS) ||
	    !*np_acct_command(&diag->acct, diag->job, command, sizeof(command)))
		return false;
	find_comparable(diag, NP_ACCT_SAME_COMMAND);
	if (diag->named && diag->n_comparable < NP_BLAME_LEAST_RUNS)
		find_comparable(diag, NP_ACCT_SAME_NAME);
	return true;
}

/*
 * Read the job and its user's completed runs with the same name. If commands are
 * compared, also read those of any name with as many nodes.
 */
static int read_job(struct cli_diagnosis *diag, uint32_t id, uint32_t task,
		    struct np_err *err)
{
	char job[64], user[300], name[1100], from[64], to[64], text[1024];
	char *const of_job[] = { "--allocations", "--jobs", job, NULL };
	char nodes[64];
	char *const of_like[] = { "--allocations",     "--user", user, from, to,
				  "--state=COMPLETED", name,	 NULL };
	char *const of_user[] = { "--allocations",     "--user", user, from, to,
				  "--state=COMPLETED", nodes,	 NULL };
	int rc;

	snprintf(job, sizeof(job), task == NP_ACCT_NO_TASK ? "%u" : "%u_%u", id,
		 task);
	rc = run_sacct(&diag->acct, of_job, err);
	if (!rc)
		rc = np_acct_index(&diag->acct);
	if (rc)
		return rc;
	find_job(diag, id, task);
	if (!diag->job)
		return 0;
	np_acct_text(&diag->acct.text, diag->job->user, user, sizeof(user));
	snprintf(name, sizeof(name), "--name=%s",
		 np_acct_text(&diag->acct.text, diag->job->name, text,
			      sizeof(text)));
	snprintf(nodes, sizeof(nodes), "--nnodes=%u", diag->job->n_nodes);
	date_argument("--starttime=", diag->acct.now - diag->since_sec, from,
		      sizeof(from));
	date_argument("--endtime=", diag->acct.now, to, sizeof(to));
	rc = run_sacct(&diag->acct, of_like, err);
	if (!rc)
		rc = np_acct_index(&diag->acct);
	find_job(diag, id, task);
	return !rc && select_comparable(diag) ?
		       run_sacct(&diag->acct, of_user, err) :
		       rc;
}

/*
 * Read the steps of the job and of the newest runs that may be comparable, for
 * their numbers of tasks. Numbers that are not known are not compared, so sacct
 * may fail.
 */
static void read_tasks(struct cli_diagnosis *diag, uint32_t id, uint32_t task)
{
	char list[(MAX_TASK_RUNS + 1) * 24] = "";
	char *const of_steps[] = { "--jobs", list, NULL };
	uint32_t run[MAX_TASK_RUNS];
	size_t any, n = np_acct_comparable(&diag->acct, diag->job, diag->same,
					   run, MAX_TASK_RUNS, &any);

	if (!n)
		return;
	for (size_t i = 0; i <= n; i++) {
		const struct np_acct_job *job =
			i ? &diag->acct.job[run[i - 1]] : diag->job;

		cli_appendf(list, sizeof(list),
			    job->task == NP_ACCT_NO_TASK ? "%s%u" : "%s%u_%u",
			    i ? "," : "",
			    job->task == NP_ACCT_NO_TASK ? job->id : job->array,
			    job->task);
	}
	run_sacct(&diag->acct, of_steps, NULL);
	cli_check_memory(np_acct_index(&diag->acct));
	find_job(diag, id, task);
	if (diag->job)
		select_comparable(diag);
}

/* List the leaf switches of a job, malloc'ed. */
static struct np_acct_place *
all_leaves(const struct np_acct *acct, const struct np_acct_job *job, size_t *n)
{
	struct np_acct_place *leaf = cli_calloc(job->n_listed, sizeof(*leaf));

	*n = np_acct_leaves(acct, job, leaf, job->n_listed);
	return leaf;
}

/*
 * Write the nodes of a job's leaf switches as a host list. Returns false if the
 * list is empty or would be too long for an argument.
 */
static bool list_leaves(const struct cli_diagnosis *diag,
			const struct np_topo *topo,
			const struct np_acct_job *job, char buf[MAX_ARGUMENT])
{
	size_t n;
	struct np_acct_place *leaf = all_leaves(&diag->acct, job, &n);

	buf[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const char *name = cli_acct_leaf(&diag->acct, leaf[i].leaf);

		for (size_t k = 0; k < topo->n; k++)
			if (!strcmp(topo->leaf[k].name, name)) {
				cli_appendf(buf, MAX_ARGUMENT, "%s%s",
					    *buf ? "," : "",
					    topo->leaf[k].nodes);
				break;
			}
	}
	free(leaf);
	return *buf && strlen(buf) < MAX_ARGUMENT - 1;
}

/*
 * Read the jobs that ran on the leaf switches of a job between two dates. list:
 * a buffer of MAX_ARGUMENT bytes.
 */
static int read_neighbours(struct cli_diagnosis *diag,
			   const struct np_topo *topo, double start, double end,
			   const struct np_acct_job *job, char *list,
			   struct np_err *err)
{
	char from[64], to[64];
	bool known = list_leaves(diag, topo, job, list);
	char *const extra[] = { "--allocations",
				"--allusers",
				from,
				to,
				known ? "--nodelist" : NULL,
				list,
				NULL };

	date_argument("--starttime=", start, from, sizeof(from));
	date_argument("--endtime=", end + 1, to, sizeof(to));
	return run_sacct(&diag->acct, extra, err);
}

/* Read the neighbours of the job and of each comparable run. */
static int read_all_neighbours(struct cli_diagnosis *diag,
			       const struct np_topo *topo, uint32_t id,
			       uint32_t task, struct np_err *err)
{
	struct np_acct_job job[CLI_DIAGNOSIS_RUNS + 1];
	char *list = cli_calloc(MAX_ARGUMENT, 1);
	size_t n;
	int rc = 0;

	for (n = 0; n < diag->n_examined; n++)
		job[n] = diag->acct.job[diag->comparable[n]];
	job[n++] = *diag->job;
	for (size_t i = 0; !rc && i < n; i++) {
		/* Reading moves the jobs, but not their lists of nodes. */
		rc = read_neighbours(diag, topo, job[i].start,
				     np_acct_job_end(&diag->acct, &job[i]),
				     &job[i], list, err);
	}
	free(list);
	if (!rc)
		cli_check_memory(np_acct_index(&diag->acct));
	find_job(diag, id, task);
	return rc;
}

/* Load everything from the accounting. Returns 0 or -errno with err. */
static int load_accounting(struct cli_diagnosis *diag,
			   const struct cli_diagnosis_opt *opt, uint32_t id,
			   uint32_t task, struct np_err *err)
{
	struct np_topo topo;
	int rc = take_topology(&diag->acct, opt, &topo, err);

	if (!rc)
		rc = opt->accounting ? read_accounting(&diag->acct,
						       opt->accounting, err) :
				       read_job(diag, id, task, err);
	if (!rc) {
		cli_check_memory(np_acct_index(&diag->acct));
		find_job(diag, id, task);
	}
	if (!rc && diag->job)
		select_comparable(diag);
	if (!rc && diag->job && !opt->accounting)
		read_tasks(diag, id, task);
	if (!rc && diag->job && !opt->accounting) {
		rc = read_all_neighbours(diag, &topo, id, task, err);
		if (!rc && diag->job)
			select_comparable(diag);
	}
	np_topo_free(&topo);
	if (!rc && diag->job)
		cli_check_memory(np_acct_neighbours(&diag->acct, diag->job,
						    &diag->neighbour,
						    &diag->n_neighbours));
	return cli_check_memory(rc);
}

/*
 * All jobs are read with one query, because which pairs of applications shared
 * leaf switches is only known afterwards.
 */
int cli_accounting_load(struct np_acct *acct,
			const struct cli_diagnosis_opt *opt, double now,
			struct np_err *err)
{
	char from[64], to[64];
	char *const extra[] = { "--allocations", "--allusers", from, to, NULL };
	struct np_err why = NP_ERR_INIT;
	struct np_topo topo;
	int rc;

	*acct = (struct np_acct){ .now = now };
	if (!opt->accounting && opt->since_sec > CLI_BLAME_MOST)
		return np_errf(err, -ERANGE,
			       "the jobs of %.0f days are too many to ask "
			       "slurmdbd for at once: --since is at most %.0fd",
			       opt->since_sec / 86400, CLI_BLAME_MOST / 86400);
	if (jobs_are_private(opt->accounting, &why))
		return np_errf(err, -EACCES,
			       "this lists the jobs of all users, %s%s: it "
			       "needs root, SlurmUser or an operator of Slurm",
			       why.text[0] ?
				       "which may be private (PrivateData): " :
				       "which are private (PrivateData)",
			       why.text);
	rc = take_topology(acct, opt, &topo, err);
	np_topo_free(&topo);
	if (!rc && opt->accounting) {
		rc = read_accounting(acct, opt->accounting, err);
	} else if (!rc) {
		date_argument("--starttime=", now - opt->since_sec, from,
			      sizeof(from));
		date_argument("--endtime=", now, to, sizeof(to));
		rc = run_sacct(acct, extra, err);
	}
	if (!rc)
		rc = np_acct_index(acct);
	return cli_check_memory(rc);
}

/* ---- metrics: queries ---- */

/* State of the queries for the job and its comparable runs. */
struct querier {
	struct cli_diagnosis *diag;
	const struct np_metrics_conf *conf;
	struct np_http *http; /* NULL: there is no server to query */
	double until;	      /* time limit, np_mono_sec() */
	bool stopped;	      /* limit reached, or the server does not answer */
	bool has_values;      /* a node of the job has some */
	bool silent[NP_N_SIGNALS]; /* signals the job's nodes do not have */
	size_t run; /* 0: the job; else of the comparable runs, from 1 */
	/* The nodes of the next query: names, and numbers in the accounting. */
	char **name;
	uint32_t *number;
	size_t n;
	size_t n_skipped; /* nodes beyond CLI_DIAGNOSIS_LEAF_NODES */
};

/* The arrays keep their size of CLI_DIAGNOSIS_LEAF_NODES. */
static void clear_names(struct querier *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->name[i]);
	q->n = q->n_skipped = 0;
}

/* Nodes beyond CLI_DIAGNOSIS_LEAF_NODES are not queried, only counted. */
static void add_name(struct querier *q, uint32_t node)
{
	if (q->n == CLI_DIAGNOSIS_LEAF_NODES) {
		q->n_skipped++;
		return;
	}
	q->name[q->n] = cli_strdup(cli_acct_node(&q->diag->acct, node));
	q->number[q->n++] = node;
}

/* Whether the job has this node. */
static bool has_node(const struct cli_diagnosis *diag,
		     const struct np_acct_job *job, uint32_t node)
{
	for (size_t i = 0; i < job->n_listed; i++)
		if (diag->acct.node[job->first_node + i] == node)
			return true;
	return false;
}

/*
 * Select the nodes of the next query: those of the job on a leaf switch and,
 * with others, the remaining nodes of that leaf switch after them.
 */
static void select_nodes(struct querier *q, const struct np_acct_job *job,
			 uint32_t leaf, bool others)
{
	const struct np_acct *acct = &q->diag->acct;

	clear_names(q);
	for (size_t i = 0; i < job->n_listed; i++)
		if (acct->leaf_of[acct->node[job->first_node + i]] == leaf)
			add_name(q, acct->node[job->first_node + i]);
	for (uint32_t i = 0; others && i < acct->node_name.n; i++)
		if (acct->leaf_of[i] == leaf && !has_node(q->diag, job, i))
			add_name(q, i);
}

/*
 * Query one signal of the selected nodes, range->n_steps values for each. Values
 * that the server does not have are NaN; diag->no_metrics is the first
 * reason for missing ones.
 */
static void query(struct querier *q, enum np_signal signal,
		  const struct np_prom_range *range, double *value)
{
	const char *expression = np_metrics_expression(q->conf, signal);
	char other[NP_METRICS_LABEL] = "";
	struct np_err err = NP_ERR_INIT;
	struct cli_diagnosis *diag = q->diag;
	int rc = 0;

	for (size_t i = 0; i < q->n * range->n_steps; i++)
		value[i] = NAN;
	if (!expression || q->stopped || q->silent[signal] ||
	    (signal >= NP_SIGNAL_SHOWN && q->run > MAX_SHOWN_RUNS))
		return;
	if (diag->n_queries == MAX_QUERIES || np_mono_sec() > q->until) {
		q->stopped = true;
		np_errf(&diag->no_metrics, 0,
			"not all comparable runs were examined: limit of "
			"queries or time reached after %zu queries",
			diag->n_queries);
		return;
	}
	diag->n_queries++;
	rc = np_http_query(q->http, expression, q->name, q->n, range, value,
			   other, &err);
	diag->metrics |= !rc;
	if (rc == -EINVAL && !diag->no_metrics.text[0])
		np_errf(&diag->no_metrics, rc, "%s: %.200s",
			np_signal_name(signal), err.text);
	else if (rc && rc != -EINVAL)
		diag->no_metrics = err;
	q->stopped |= rc && (rc != -EINVAL || !diag->metrics);
	if (!rc && *other && !diag->no_metrics.text[0])
		np_errf(&diag->no_metrics, 0,
			"the label %s also has the value \"%s\", which is not "
			"one of the nodes (MetricsLabel)",
			q->conf->label, other);
}

/*
 * Query all signals for one leaf switch of a run. Traffic and the signals of
 * np_examine_is_near() are queried for all nodes, and the others only for those
 * of the run, which come first.
 */
static void query_leaf(struct querier *q, const struct np_acct_job *job,
		       uint32_t leaf, const struct np_prom_range *range,
		       struct np_examine_run *seen)
{
	size_t n, own = 0;
	double value[CLI_DIAGNOSIS_LEAF_NODES];
	struct np_examine_node *more;

	select_nodes(q, job, leaf, true);
	n = q->n;
	if (job == q->diag->job)
		q->diag->n_nodes_skipped += q->n_skipped;
	more = reallocarray(seen->node, seen->n + q->n, sizeof(*more));
	if (!more)
		cli_no_memory();
	seen->node = more;
	more += seen->n;
	seen->n += n;
	for (size_t i = 0; i < n; i++) {
		more[i].node = q->number[i];
		more[i].leaf = leaf;
		more[i].own = has_node(q->diag, job, q->number[i]);
		own += more[i].own;
		for (int s = 0; s < NP_N_SIGNALS; s++)
			more[i].value[s] = NAN;
	}
	for (int s = 0; s < NP_N_SIGNALS; s++) {
		q->n = s == NP_SIGNAL_TRAFFIC ||
				       np_examine_is_near((enum np_signal)s) ?
			       n :
			       own;
		query(q, (enum np_signal)s, range, value);
		for (size_t i = 0; i < q->n; i++)
			more[i].value[s] = value[i];
	}
	q->n = n;
}

/* Query all signals for a whole run. */
static void query_run(struct querier *q, const struct np_acct_job *job,
		      struct np_examine_run *seen)
{
	struct cli_diagnosis *diag = q->diag;
	double end = np_acct_job_end(&diag->acct, job), sec = end - job->start;
	const struct np_prom_range range = {
		.start = end,
		.window_sec = sec,
		.n_steps = 1,
	};
	struct np_acct_place *leaf;
	size_t n;

	if (!q->http || sec < MIN_SAMPLES * q->conf->interval_sec)
		return;
	leaf = all_leaves(&diag->acct, job, &n);
	if (job == diag->job && n > CLI_DIAGNOSIS_LEAVES)
		diag->n_leaves_skipped = n - CLI_DIAGNOSIS_LEAVES;
	for (size_t i = 0; i < n && i < CLI_DIAGNOSIS_LEAVES; i++)
		query_leaf(q, job, leaf[i].leaf, &range, seen);
	free(leaf);
}

/*
 * Compute how long other jobs occupied the leaf switches of a job, in seconds:
 * their node-seconds divided by the number of nodes that the job does not have.
 */
static double occupied_sec(const struct cli_diagnosis *diag,
			   const struct np_acct_job *job)
{
	size_t n_leaves, n;
	struct np_acct_place *leaf = all_leaves(&diag->acct, job, &n_leaves);
	struct np_acct_neighbour *jobs;
	double node_sec = 0, other_nodes = 0;

	cli_check_memory(np_acct_neighbours(&diag->acct, job, &jobs, &n));
	for (size_t i = 0; i < n_leaves; i++)
		other_nodes += diag->acct.one_leaf ?
				       diag->acct.node_name.n :
				       diag->acct.leaf_size[leaf[i].leaf];
	free(leaf);
	for (size_t i = 0; i < n; i++)
		node_sec += jobs[i].nodes * (jobs[i].to - jobs[i].from);
	free(jobs);
	other_nodes -= job->n_listed;
	return other_nodes > 0 ? fmin(node_sec / other_nodes,
				      np_acct_job_sec(&diag->acct, job)) :
				 0;
}

/* ---- metrics: timeline and neighbours ---- */

/* The sum of the values of n nodes in one step; NaN: there is none. */
static double sum_of(const double *value, size_t n, size_t n_steps, size_t step)
{
	double sum = NAN;

	for (size_t i = 0; i < n; i++) {
		double x = value[i * n_steps + step];

		if (!isnan(x))
			sum = isnan(sum) ? x : sum + x;
	}
	return sum;
}

/* The leaf switch with the most traffic of other jobs. */
static uint32_t busiest_leaf(const struct np_examine_run *seen)
{
	uint32_t leaf = seen->node[0].leaf;
	double most = -1;

	for (size_t i = 0; i < seen->n; i++) {
		double sum = 0;

		for (size_t k = 0; k < seen->n; k++)
			if (seen->node[k].leaf == seen->node[i].leaf &&
			    !seen->node[k].own &&
			    seen->node[k].value[NP_SIGNAL_TRAFFIC] > 0)
				sum += seen->node[k].value[NP_SIGNAL_TRAFFIC];
		if (sum > most) {
			most = sum;
			leaf = seen->node[i].leaf;
		}
	}
	return leaf;
}

/* Divide the time of a job into the steps of its timeline. */
static void divide_time(const struct querier *q, const struct np_acct_job *job,
			struct cli_timeline *timeline)
{
	double sec = np_acct_job_end(&q->diag->acct, job) - job->start;

	timeline->step_sec =
		fmax(sec / CLI_DIAGNOSIS_STEPS, q->conf->interval_sec);
	timeline->n = (size_t)fmin(floor(sec / timeline->step_sec),
				   CLI_DIAGNOSIS_STEPS);
	timeline->start = job->start;
}

/* Summarise the probes of a job, if it was measured. */
static void summarise_probes(const struct querier *q,
			     const struct cli_diagnosis_opt *opt,
			     const struct np_acct_job *job,
			     struct np_examine_probes *out)
{
	struct cli_timeline timeline;

	*out = (struct np_examine_probes){ .delayed = NAN };
	if (!opt->probes)
		return;
	divide_time(q, job, &timeline);
	out->n = timeline.n;
	opt->probes(opt->probes_arg, job->id, timeline.start, timeline.step_sec,
		    out);
}

/*
 * Set a value in one step of the timeline if it is worse than the values of
 * other places. near: of other jobs, instead of the job.
 */
static void set_worst(struct cli_timeline *timeline, bool near,
		      enum np_signal signal, size_t step, double value,
		      uint32_t place)
{
	double *worst = near ? &timeline->near[signal][step] :
			       &timeline->value[signal][step];

	/* A clock may be wrong in both directions. */
	value = signal == NP_SIGNAL_CLOCK_SKEW ? fabs(value) : value;
	if (!np_examine_is_worse(signal, value, *worst))
		return;
	*worst = value;
	(near ? timeline->near_place : timeline->place)[signal][step] = place;
}

/*
 * Query a signal on one leaf switch in the steps of the job's timeline: traffic
 * of all nodes; other signals of the job's nodes or, with near, of the others.
 * value: scratch memory for CLI_DIAGNOSIS_LEAF_NODES nodes. The window of a step
 * has at least three samples, so that a rate can be computed from it.
 */
static void query_steps(struct querier *q, bool near, uint32_t leaf,
			enum np_signal signal, double *value)
{
	struct cli_timeline *timeline = &q->diag->timeline;
	const struct np_prom_range range = {
		.start = timeline->start + timeline->step_sec,
		.step_sec = timeline->step_sec,
		.window_sec =
			fmax(timeline->step_sec, 3 * q->conf->interval_sec),
		.n_steps = timeline->n,
	};
	size_t own;

	select_nodes(q, q->diag->job, leaf, false);
	own = q->n;
	if (near || signal == NP_SIGNAL_TRAFFIC)
		select_nodes(q, q->diag->job, leaf, true);
	query(q, signal, &range, value);
	for (size_t step = 0; signal == NP_SIGNAL_TRAFFIC && step < timeline->n;
	     step++) {
		double others = sum_of(value + own * timeline->n, q->n - own,
				       timeline->n, step);

		set_worst(timeline, false, signal, step, others, leaf);
		if (leaf != timeline->leaf)
			continue;
		timeline->own[step] = sum_of(value, own, timeline->n, step);
		timeline->others[step] = others;
	}
	for (size_t i = near ? own : 0; signal != NP_SIGNAL_TRAFFIC && i < q->n;
	     i++)
		for (size_t step = 0; step < timeline->n; step++)
			set_worst(timeline, near, signal, step,
				  value[i * timeline->n + step], q->number[i]);
}

/* Make the timeline: query the same time again, in steps. */
static void make_timeline(struct querier *q, const struct np_examine_run *seen)
{
	static const enum np_signal of_every_job[] = {
		NP_SIGNAL_TRAFFIC,
		NP_SIGNAL_CPU_WAIT,
		NP_SIGNAL_IO_WAIT,
	};
	struct cli_diagnosis *diag = q->diag;
	struct cli_timeline *timeline = &diag->timeline;
	struct np_acct_place leaf[CLI_DIAGNOSIS_LEAVES];
	size_t n = np_acct_leaves(&diag->acct, diag->job, leaf,
				  CLI_DIAGNOSIS_LEAVES);
	double *value;

	timeline->has_probes = seen->probes.n > 0;
	timeline->has_metrics = diag->metrics && !q->stopped && seen->n;
	if (timeline->has_probes || timeline->has_metrics)
		divide_time(q, diag->job, timeline);
	memcpy(timeline->delayed, seen->probes.window,
	       sizeof(timeline->delayed));
	for (int s = 0; s < NP_N_SIGNALS; s++)
		for (size_t step = 0; step < timeline->n; step++)
			timeline->value[s][step] = timeline->near[s][step] =
				NAN;
	if (!timeline->has_metrics)
		return;
	timeline->leaf = busiest_leaf(seen);
	value = cli_calloc(CLI_DIAGNOSIS_LEAF_NODES * CLI_DIAGNOSIS_STEPS,
			   sizeof(*value));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < NP_ARRAY_SIZE(of_every_job); k++)
			query_steps(q, false, leaf[i].leaf, of_every_job[k],
				    value);
	free(value);
}

/*
 * Add the other signals that were unusual in the whole run, first of the job and
 * then of others, each on the leaf switch of the worst node.
 */
static void extend_timeline(struct querier *q)
{
	struct cli_diagnosis *diag = q->diag;
	double *value = cli_calloc(
		CLI_DIAGNOSIS_LEAF_NODES * CLI_DIAGNOSIS_STEPS, sizeof(*value));

	q->run = 0;
	for (int i = 0;
	     diag->timeline.has_metrics && !q->stopped && i < 2 * NP_N_SIGNALS;
	     i++) {
		bool near = i >= NP_N_SIGNALS;
		enum np_signal signal = (enum np_signal)(i % NP_N_SIGNALS);
		const struct np_examine_signal *reading =
			near ? &diag->result.near[signal] :
			       &diag->result.sign[signal];

		if (!reading->unusual || signal == NP_SIGNAL_CPU_WAIT ||
		    signal == NP_SIGNAL_IO_WAIT ||
		    diag->n_queries == MAX_QUERIES)
			continue;
		query_steps(q, near, diag->acct.leaf_of[reading->node], signal,
			    value);
	}
	free(value);
}

/*
 * Divide the cost of the network among the neighbours, by their traffic or, if
 * that is unknown, by their nodes.
 */
static void share_cost(struct cli_diagnosis *diag)
{
	double sum = 0,
	       sec = diag->result.blame.cause[NP_CAUSE_NETWORK].sec.mean;
	bool slow = diag->result.blame.verdict >= NP_BLAME_CAUSE;

	for (size_t i = 0; i < diag->n_neighbours; i++) {
		struct np_acct_neighbour *neighbour = &diag->neighbour[i];

		neighbour->cost_sec =
			(neighbour->to - neighbour->from) *
			(!diag->result.by_traffic ? neighbour->nodes :
			 isnan(neighbour->rate)	  ? 0 :
						    neighbour->rate);
		sum += neighbour->cost_sec;
	}
	for (size_t i = 0; i < diag->n_neighbours; i++)
		diag->neighbour[i].cost_sec =
			slow && sum > 0 ?
				diag->neighbour[i].cost_sec / sum * sec :
				NAN;
}

/* Add the value of a neighbour's node: the sum, or of the load the largest. */
static void add_value(double *sum, enum np_signal signal, double value)
{
	if (signal == NP_SIGNAL_LOAD)
		*sum = fmax(*sum, value);
	else if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

/*
 * Record that a neighbour ran on the node with the worst value. Of several, the
 * one with the longest overlap with the job is kept.
 */
static void set_near(struct cli_diagnosis *diag, enum np_signal signal,
		     size_t i)
{
	const struct np_acct_neighbour *neighbour = diag->neighbour;
	uint32_t *at = &diag->near_neighbour[signal];

	if (*at == NP_NO_INDEX ||
	    neighbour[i].to - neighbour[i].from >
		    neighbour[*at].to - neighbour[*at].from)
		*at = (uint32_t)i;
}

/*
 * Compute the signals of each neighbour, from the nodes that have values, and
 * find which neighbours had the nodes with the worst ones.
 */
static void measure_neighbours(struct cli_diagnosis *diag,
			       const struct np_examine_run *seen)
{
	diag->neighbour_value =
		cli_calloc(diag->n_neighbours, sizeof(*diag->neighbour_value));
	for (int s = 0; s < NP_N_SIGNALS; s++)
		diag->near_neighbour[s] = NP_NO_INDEX;
	for (size_t i = 0; i < diag->n_neighbours; i++) {
		const struct np_acct_job *other =
			&diag->acct.job[diag->neighbour[i].job];
		double *value = diag->neighbour_value[i];

		for (int s = 0; s < NP_N_SIGNALS; s++)
			value[s] = NAN;
		for (size_t k = 0; k < seen->n; k++) {
			const struct np_examine_node *node = &seen->node[k];

			if (node->own || !has_node(diag, other, node->node))
				continue;
			for (int s = 0; s < NP_N_SIGNALS; s++) {
				add_value(&value[s], (enum np_signal)s,
					  node->value[s]);
				if (np_examine_is_near((enum np_signal)s) &&
				    diag->result.near[s].node == node->node)
					set_near(diag, (enum np_signal)s, i);
			}
		}
		diag->neighbour[i].rate = value[NP_SIGNAL_TRAFFIC];
	}
}

/* ---- metrics: examination ---- */

/* Signals that the site does not measure need not be queried again. */
static void find_silent(struct querier *q, const struct np_examine_run *seen)
{
	for (int k = 0; k < NP_N_SIGNALS; k++) {
		q->silent[k] = true;
		for (size_t i = 0; i < seen->n; i++)
			q->silent[k] &= isnan(seen->node[i].value[k]);
	}
}

/* Return how many nodes of a run have no value. *own: number of its nodes. */
static size_t nodes_without(const struct np_examine_run *seen, size_t *own)
{
	size_t n = 0;

	*own = 0;
	for (size_t i = 0; i < seen->n; i++) {
		bool any = false;

		for (int k = 0; k < NP_N_SIGNALS; k++)
			any |= !isnan(seen->node[i].value[k]);
		*own += seen->node[i].own;
		n += seen->node[i].own && !any;
	}
	return n;
}

/*
 * Count nodes of the job, and comparable runs, without any value. Such nodes
 * probably have other names on the metrics server. Such runs, if the job has
 * values, are probably older than the samples that the server keeps.
 */
static void count_without(struct querier *q, const struct np_examine_run *seen)
{
	struct cli_diagnosis *diag = q->diag;
	size_t own, n = nodes_without(seen, &own);

	if (!q->run) {
		diag->n_without = n;
		q->has_values = n < own;
	} else if (q->has_values && !q->stopped && own && n == own) {
		diag->n_runs_without++;
	}
}

/*
 * Query the job and its comparable runs, and attribute the excess of the job to
 * causes. diag->examined is set if there is a result.
 */
static void examine(struct querier *q, const struct cli_diagnosis_opt *opt)
{
	struct cli_diagnosis *diag = q->diag;
	struct np_examine_run seen[CLI_DIAGNOSIS_RUNS + 1] = { { .n = 0 } };
	struct np_err err = NP_ERR_INIT;
	size_t n = diag->n_examined;

	/* The job comes first: without values for it, no others are needed. */
	for (size_t i = 0; i <= n; i++) {
		const struct np_acct_job *job =
			i ? &diag->acct.job[diag->comparable[i - 1]] :
			    diag->job;
		struct np_examine_run *run = &seen[i ? i - 1 : n];

		q->run = i;
		run->sec = fmax(np_acct_job_sec(&diag->acct, job), 1e-3);
		summarise_probes(q, opt, job, &run->probes);
		run->occupied_sec = occupied_sec(diag, job);
		query_run(q, job, run);
		count_without(q, run);
		if (!i) {
			find_silent(q, run);
			make_timeline(q, run);
		}
	}
	diag->examined =
		!cli_check_memory(np_examine(seen, n, &diag->result, &err));
	if (diag->examined) {
		measure_neighbours(diag, &seen[n]);
		share_cost(diag);
		extend_timeline(q);
	}
	for (size_t i = 0; i <= n; i++)
		free(seen[i].node);
}

/* Connect to the metrics server, or set diag->no_metrics to why not. */
static void connect_server(struct querier *q)
{
	struct cli_diagnosis *diag = q->diag;
	double sec = np_acct_job_end(&diag->acct, diag->job) - diag->job->start;

	if (!q->conf->url[0])
		np_errf(&diag->no_metrics, 0,
			"no metrics server is configured (MetricsURL in "
			"netprof.conf, --metrics-url)");
	else if (sec < MIN_SAMPLES * q->conf->interval_sec)
		np_errf(&diag->no_metrics, 0,
			"the job ran for %.0f s, too short for samples every "
			"%g s (MetricsInterval)",
			sec, q->conf->interval_sec);
	else
		np_http_new(q->conf, &q->http, &diag->no_metrics);
}

/* Without a metrics server, the accounting alone is examined. */
static void examine_job(struct cli_diagnosis *diag,
			const struct cli_diagnosis_opt *opt,
			const struct np_metrics_conf *conf)
{
	struct querier q = {
		.diag = diag,
		.conf = conf,
		.until = np_mono_sec() + MAX_QUERY_SEC,
		.name = cli_calloc(CLI_DIAGNOSIS_LEAF_NODES, sizeof(*q.name)),
		.number =
			cli_calloc(CLI_DIAGNOSIS_LEAF_NODES, sizeof(*q.number)),
	};

	connect_server(&q);
	examine(&q, opt);
	clear_names(&q);
	np_http_free(q.http);
	free(q.name);
	free(q.number);
}

/*
 * The accounting is read first: if the job is not in it, there is nothing to
 * examine.
 */
void cli_diagnosis_make(struct cli_diagnosis *diag,
			const struct cli_diagnosis_opt *opt,
			const struct np_metrics_conf *conf, uint32_t id,
			uint32_t task, double now)
{
	*diag = (struct cli_diagnosis){ .since_sec = opt->since_sec,
					.acct.now = now };
	if (load_accounting(diag, opt, id, task, &diag->why))
		diag->job = NULL;
	if (!diag->job)
		return;
	diag->masked = jobs_are_private(opt->accounting, &diag->not_named);
	examine_job(diag, opt, conf);
}

/* Harmless if cli_diagnosis_make() was never called on a zeroed structure. */
void cli_diagnosis_free(struct cli_diagnosis *diag)
{
	np_acct_free(&diag->acct);
	free(diag->neighbour);
	free(diag->neighbour_value);
	diag->neighbour = NULL;
	diag->neighbour_value = NULL;
}
