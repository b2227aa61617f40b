/* Gathering what accounting and metrics tell about a job. */
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

/* Bounds of what Slurm's programs print, in bytes, and of their time. */
#define MAX_ACCOUNTING ((size_t)256 << 20)
#define MAX_TOPOLOGY ((size_t)64 << 20)
#define MAX_CONFIG ((size_t)1 << 20)
#define SACCT_SEC 60.0
#define SCONTROL_SEC 5.0
#define MAX_ARGUMENT 100000 /* bytes; Linux accepts 128 KiB in one argument */

/* Bounds of what a metrics server is asked for one job. */
#define MAX_QUERIES 600
#define MAX_QUERY_SEC 30.0 /* for all queries together */
#define LEAST_SAMPLES 2.0  /* that a run must have for a rate */
#define TASK_RUNS 96	   /* runs whose steps sacct is asked for, at most */
/* Comparable runs that signals from NP_SIGNAL_SHOWN on are queried of. */
#define SHOWN_RUNS 8

/* ---- Slurm's programs ---- */

/* Run a program of Slurm; *out: its whole output, malloc'ed. */
static int run(char *const argv[], double sec, size_t max, char **out,
	       struct np_err *err)
{
	/* max may be large; pages that are never written take no memory. */
	char *text = malloc(max);
	int rc = text ? cli_spawn(argv, sec, text, max) : -ENOMEM;

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
		       rc == -ENOMEM	? "out of memory for the output of %s" :
					  "%s failed; run it by hand to see why",
		       argv[0]);
}

/*
 * An option with a date in the format that Slurm's programs accept, in local
 * time.
 */
static char *date_argument(const char *option, double date, char *buf,
			   size_t len)
{
	time_t t = (time_t)date;
	struct tm tm;
	int n = snprintf(buf, len, "%s", option);

	localtime_r(&t, &tm);
	strftime(buf + n, len - (size_t)n, "%Y-%m-%dT%H:%M:%S", &tm);
	return buf;
}

#define MAX_EXTRA 8

/*
 * Add jobs from sacct. extra: arguments that select them, NULL-terminated; with
 * "--allocations" among them, steps are left out.
 */
static int sacct(struct np_acct *h, char *const extra[], struct np_err *err)
{
	static bool lacks_columns;
	char mark[32], delimiter[64], *text;
	char *argv[8 + MAX_EXTRA] = {
		"sacct", "--duplicates", "--parsable2", delimiter, NULL,
	};
	int rc;

	cli_sacct_delimiter(mark, sizeof(mark));
	snprintf(delimiter, sizeof(delimiter), "--delimiter=%s", mark);
	for (size_t i = 0; extra[i]; i++)
		argv[5 + i] = extra[i];
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	argv[4] = lacks_columns ? "--format=" NP_ACCT_FORMAT :
				  "--format=" NP_ACCT_FORMAT_MORE;
	rc = run(argv, SACCT_SEC, MAX_ACCOUNTING, &text, err);
	if (rc == -EIO && !lacks_columns) {
		/* Slurm before 21.08 has no column SubmitLine. */
		argv[4] = "--format=" NP_ACCT_FORMAT;
		rc = run(argv, SACCT_SEC, MAX_ACCOUNTING, &text, err);
		lacks_columns = !rc;
	}
	if (rc)
		return rc;
	rc = np_acct_read(h, text, "sacct", mark, err);
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
 * The leaf switches: from a file, or from scontrol. With accounting from a
 * file, scontrol would describe another cluster, so it is not asked.
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

/* The same, put into h. */
static int take_topology(struct np_acct *h, const struct cli_diagnosis_opt *opt,
			 struct np_topo *t, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = read_topology(opt, t, err);

	if (rc)
		return rc;
	rc = np_acct_topology(h, t, &why);
	return rc ? np_errf(err, rc, "%s: %s",
			    opt->topology ? opt->topology :
					    "scontrol show topology",
			    why.text) :
		    0;
}

/* Output of sacct that was saved in a file, with its default delimiter. */
static int read_accounting(struct np_acct *h, const char *path,
			   struct np_err *err)
{
	char *text;
	size_t len;
	int rc = np_read_file(path, MAX_ACCOUNTING, &text, &len, err);

	if (rc)
		return rc;
	/* The file of a sacct that failed; without jobs it prints a head. */
	rc = len ? np_acct_read(h, text, path, "|", err) :
		   np_errf(err, -EINVAL,
			   "%s:1: the file ends, expected the columns of sacct "
			   "--parsable2 or JSON",
			   path);
	free(text);
	return rc;
}

/* Is this user an operator of Slurm, who sees private jobs as well? */
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
 * Are the jobs of other users hidden from this user, as squeue hides them with
 * PrivateData=jobs? Jobs that sacct hides do not reach us in the first place.
 * path: a file with the accounting, whose owner may see all of it; or NULL. If
 * slurmctld does not answer, they are hidden; why says so.
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
	double v = 0;

	if (len && text[len - 1] == 'd') {
		text[len - 1] = '\0';
		if (!np_whole_parse(text, 3660, &days))
			v = 86400.0 * (double)days;
		text[len - 1] = 'd';
	} else if (np_duration_parse(text, &v)) {
		v = 0;
	}
	if (v < 60 || v > 3660 * 86400.0)
		return np_errf(err, -EINVAL,
			       "--since=%.40s: expected an age from 1m to "
			       "3660d, such as 7d or 36h",
			       text);
	*(double *)sec = v;
	return 0;
}

/* A decimal number below Slurm's special values; *p moves past it. */
static bool take_number(const char **p, uint32_t *out)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	n = strtoul(*p, &end, 10);
	if (errno || n >= UINT32_MAX - 1)
		return false;
	*p = end;
	*out = (uint32_t)n;
	return true;
}

int cli_job_parse(const struct cli_cmd *self, const char *word, uint32_t *id,
		  uint32_t *task)
{
	const char *p = word;
	bool good = take_number(&p, id) && *id;

	*task = NP_ACCT_NO_TASK;
	if (good && *p == '_') {
		p++;
		good = take_number(&p, task);
	}
	return good && !*p ?
		     -1 :
		     cli_usage(self,
			       "\"%.64s\": expected a job such as 123 or 123_4",
			       word);
}

int cli_diagnosis_conf(const struct cli_cmd *self,
		       const struct cli_diagnosis_opt *opt,
		       struct np_metrics_conf *out)
{
	struct np_conf c;
	char url[sizeof(out->url)];
	int rc;

	if (opt->topology && !opt->accounting)
		return cli_usage(self, "--topology=%.64s needs --accounting",
				 opt->topology);
	rc = cli_conf_read(&c);
	if (rc >= 0)
		return rc;
	*out = c.metrics;
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

/* Set p->job. Needed again after each read, because reading moves the jobs. */
static void find_job(struct cli_diagnosis *p, uint32_t id, uint32_t task)
{
	p->job = np_acct_find(&p->acct, id, task);
}

/*
 * Does the name of a job say what it runs? Slurm names a job without one after
 * sbatch, or after the program that srun was given.
 */
static bool is_named(const struct cli_diagnosis *p)
{
	static const char *const other[] = {
		"",	"sbatch", "wrap",   "interactive",
		"bash", "sh",	  "python", "python3",
	};
	char name[256];

	np_acct_text(&p->acct, p->job->name, name, sizeof(name));
	for (size_t i = 0; i < NP_ARRAY_SIZE(other); i++)
		if (!strcmp(name, other[i]))
			return false;
	return true;
}

/* Set the comparable runs, and note the range of their run times. */
static void find_comparable(struct cli_diagnosis *p, enum np_acct_same same)
{
	p->same = same;
	p->n_examined = np_acct_comparable(&p->acct, p->job, same,
					   p->comparable, CLI_DIAGNOSIS_RUNS,
					   &p->n_comparable);
	p->shortest = INFINITY;
	p->longest = 0;
	for (size_t i = 0; i < p->n_examined; i++) {
		double sec = np_acct_job_sec(&p->acct,
					     &p->acct.job[p->comparable[i]]);

		p->shortest = fmin(p->shortest, sec);
		p->longest = fmax(p->longest, sec);
	}
}

/*
 * Choose the comparable runs by name; or by command, if the name does not say
 * what the job runs, or if too few runs have it. Returns whether the command
 * matters, so that runs with other names are needed.
 */
static bool select_comparable(struct cli_diagnosis *p)
{
	char command[256];

	p->named = is_named(p);
	find_comparable(p, NP_ACCT_SAME_NAME);
	if ((p->named && p->n_comparable >= NP_BLAME_LEAST_RUNS) ||
	    !*np_acct_command(&p->acct, p->job, command, sizeof(command)))
		return false;
	find_comparable(p, NP_ACCT_SAME_COMMAND);
	if (p->named && p->n_comparable < NP_BLAME_LEAST_RUNS)
		find_comparable(p, NP_ACCT_SAME_NAME);
	return true;
}

/*
 * Read the job, and completed runs with the same name of the same user; if their
 * commands matter, those of any name with as many nodes, too.
 */
static int read_job(struct cli_diagnosis *p, uint32_t id, uint32_t task,
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
	rc = sacct(&p->acct, of_job, err);
	if (!rc)
		rc = np_acct_index(&p->acct);
	if (rc)
		return rc;
	find_job(p, id, task);
	if (!p->job)
		return 0;
	np_acct_text(&p->acct, p->job->user, user, sizeof(user));
	snprintf(name, sizeof(name), "--name=%s",
		 np_acct_text(&p->acct, p->job->name, text, sizeof(text)));
	snprintf(nodes, sizeof(nodes), "--nnodes=%u", p->job->n_nodes);
	date_argument("--starttime=", p->acct.now - p->since_sec, from,
		      sizeof(from));
	date_argument("--endtime=", p->acct.now, to, sizeof(to));
	rc = sacct(&p->acct, of_like, err);
	if (!rc)
		rc = np_acct_index(&p->acct);
	find_job(p, id, task);
	return !rc && select_comparable(p) ? sacct(&p->acct, of_user, err) : rc;
}

/*
 * Read the steps of the job and of the newest runs that may be comparable, for
 * their numbers of tasks. They are compared only as far as they are known, so
 * sacct may fail. Returns 0 or -ENOMEM.
 */
static int read_tasks(struct cli_diagnosis *p, uint32_t id, uint32_t task)
{
	char list[(TASK_RUNS + 1) * 24] = "";
	char *const of_steps[] = { "--jobs", list, NULL };
	uint32_t run[TASK_RUNS];
	size_t any, n = np_acct_comparable(&p->acct, p->job, p->same, run,
					   TASK_RUNS, &any);

	if (!n)
		return 0;
	for (size_t i = 0; i <= n; i++) {
		const struct np_acct_job *j = i ? &p->acct.job[run[i - 1]] :
						  p->job;

		cli_appendf(list, sizeof(list),
			    j->task == NP_ACCT_NO_TASK ? "%s%u" : "%s%u_%u",
			    i ? "," : "",
			    j->task == NP_ACCT_NO_TASK ? j->id : j->array,
			    j->task);
	}
	sacct(&p->acct, of_steps, NULL);
	if (np_acct_index(&p->acct))
		return -ENOMEM;
	find_job(p, id, task);
	if (p->job)
		select_comparable(p);
	return 0;
}

/* The leaf switches of a job, malloc'ed; NULL: out of memory. */
static struct np_acct_place *all_leaves(const struct np_acct *h,
					const struct np_acct_job *j, size_t *n)
{
	struct np_acct_place *leaf = calloc(j->n_listed + 1, sizeof(*leaf));

	*n = leaf ? np_acct_leaves(h, j, leaf, j->n_listed) : 0;
	return leaf;
}

/*
 * The nodes of the leaf switches of a job as a host list. Returns false if the
 * list is empty or would be too long for an argument.
 */
static bool list_leaves(const struct cli_diagnosis *p, const struct np_topo *t,
			const struct np_acct_job *j, char buf[MAX_ARGUMENT])
{
	size_t n;
	struct np_acct_place *leaf = all_leaves(&p->acct, j, &n);

	buf[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		char name[256];

		np_acct_leaf(&p->acct, leaf[i].leaf, name, sizeof(name));
		for (size_t k = 0; k < t->n; k++)
			if (!strcmp(t->leaf[k].name, name)) {
				cli_appendf(buf, MAX_ARGUMENT, "%s%s",
					    *buf ? "," : "", t->leaf[k].nodes);
				break;
			}
	}
	free(leaf);
	return *buf && strlen(buf) < MAX_ARGUMENT - 1;
}

/*
 * Read the jobs that ran on the leaf switches of j between two times. list: a
 * buffer of MAX_ARGUMENT bytes.
 */
static int read_neighbours(struct cli_diagnosis *p, const struct np_topo *t,
			   double start, double end,
			   const struct np_acct_job *j, char *list,
			   struct np_err *err)
{
	char from[64], to[64];
	bool known = list_leaves(p, t, j, list);
	char *const extra[] = { "--allocations",
				"--allusers",
				from,
				to,
				known ? "--nodelist" : NULL,
				list,
				NULL };

	date_argument("--starttime=", start, from, sizeof(from));
	date_argument("--endtime=", end + 1, to, sizeof(to));
	return sacct(&p->acct, extra, err);
}

/* Read the neighbours of the job and of each comparable run. */
static int read_all_neighbours(struct cli_diagnosis *p, const struct np_topo *t,
			       uint32_t id, uint32_t task, struct np_err *err)
{
	struct np_acct_job job[CLI_DIAGNOSIS_RUNS + 1];
	char *list = malloc(MAX_ARGUMENT);
	size_t n;
	int rc = list ? 0 : -ENOMEM;

	for (n = 0; n < p->n_examined; n++)
		job[n] = p->acct.job[p->comparable[n]];
	job[n++] = *p->job;
	for (size_t i = 0; !rc && i < n; i++) {
		/* Reading moves the jobs, but not their lists of nodes. */
		rc = read_neighbours(p, t, job[i].start,
				     np_acct_job_end(&p->acct, &job[i]),
				     &job[i], list, err);
	}
	free(list);
	if (!rc)
		rc = np_acct_index(&p->acct);
	find_job(p, id, task);
	return rc;
}

/* Load everything from the accounting. Returns 0 or -errno with err. */
static int load_accounting(struct cli_diagnosis *p,
			   const struct cli_diagnosis_opt *opt, uint32_t id,
			   uint32_t task, struct np_err *err)
{
	struct np_topo t;
	int rc = take_topology(&p->acct, opt, &t, err);

	if (!rc)
		rc = opt->accounting ?
			     read_accounting(&p->acct, opt->accounting, err) :
			     read_job(p, id, task, err);
	if (!rc)
		rc = np_acct_index(&p->acct);
	if (!rc)
		find_job(p, id, task);
	if (!rc && p->job)
		select_comparable(p);
	if (!rc && p->job && !opt->accounting)
		rc = read_tasks(p, id, task);
	if (!rc && p->job && !opt->accounting) {
		rc = read_all_neighbours(p, &t, id, task, err);
		if (!rc && p->job)
			select_comparable(p);
	}
	np_topo_free(&t);
	if (!rc && p->job)
		rc = np_acct_neighbours(&p->acct, p->job, &p->neighbour,
					&p->n_neighbours);
	if (rc == -ENOMEM)
		np_errf(err, rc, "out of memory");
	return rc;
}

/*
 * One query for everything: the pairs of applications are only known
 * afterwards.
 */
int cli_accounting_load(struct np_acct *h, const struct cli_diagnosis_opt *opt,
			double now, struct np_err *err)
{
	char from[64], to[64];
	char *const extra[] = { "--allocations", "--allusers", from, to, NULL };
	struct np_err why = NP_ERR_INIT;
	struct np_topo t;
	int rc;

	*h = (struct np_acct){ .now = now };
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
	rc = take_topology(h, opt, &t, err);
	np_topo_free(&t);
	date_argument("--starttime=", now - opt->since_sec, from, sizeof(from));
	date_argument("--endtime=", now, to, sizeof(to));
	if (!rc)
		rc = opt->accounting ?
			     read_accounting(h, opt->accounting, err) :
			     sacct(h, extra, err);
	if (!rc)
		rc = np_acct_index(h);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* ---- metrics: queries ---- */

/* State of the queries for the job and its comparable runs. */
struct querier {
	struct cli_diagnosis *p;
	const struct np_metrics_conf *conf;
	struct np_http *http; /* NULL: there is no server to ask */
	double until;	      /* time limit, np_mono_sec() */
	bool stopped;	      /* limit reached, or the server does not answer */
	bool has_values;      /* of one of the job's nodes */
	bool silent[NP_N_SIGNALS]; /* signals the job's nodes do not have */
	size_t run; /* 0: the job; else of the comparable runs, from 1 */
	/* The nodes of the next query: names, and indices into p->acct. */
	char **name;
	uint32_t *number;
	size_t n;
	size_t n_skipped; /* nodes beyond CLI_DIAGNOSIS_LEAF_NODES */
};

/* The arrays keep their size of CLI_DIAGNOSIS_LEAF_NODES. */
static void clear_names(struct querier *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->name[i]);
	a->n = a->n_skipped = 0;
}

/* Nodes beyond CLI_DIAGNOSIS_LEAF_NODES are not queried, only counted. */
static int add_name(struct querier *a, uint32_t node)
{
	char name[256];

	if (a->n == CLI_DIAGNOSIS_LEAF_NODES) {
		a->n_skipped++;
		return 0;
	}
	np_acct_node(&a->p->acct, node, name, sizeof(name));
	a->name[a->n] = strdup(name);
	a->number[a->n] = node;
	return a->name[a->n] ? (a->n++, 0) : -ENOMEM;
}

/* Does the job have this node? */
static bool has_node(const struct cli_diagnosis *p, const struct np_acct_job *j,
		     uint32_t node)
{
	for (size_t i = 0; i < j->n_listed; i++)
		if (p->acct.node[j->first_node + i] == node)
			return true;
	return false;
}

/*
 * Select the nodes of the next query: those of the job on a leaf switch and,
 * with others, the remaining nodes of that leaf switch after them.
 */
static int select_nodes(struct querier *a, const struct np_acct_job *j,
			uint32_t leaf, bool others)
{
	const struct np_acct *h = &a->p->acct;
	int rc = 0;

	clear_names(a);
	for (size_t i = 0; !rc && i < j->n_listed; i++)
		if (h->leaf_of[h->node[j->first_node + i]] == leaf)
			rc = add_name(a, h->node[j->first_node + i]);
	for (uint32_t i = 0; others && !rc && i < h->node_name.n; i++)
		if (h->leaf_of[i] == leaf && !has_node(a->p, j, i))
			rc = add_name(a, i);
	return rc;
}

/*
 * Query one signal of the selected nodes, r->n_steps values for each. Values
 * that the server does not have are NaN; the first reason for missing ones is
 * kept in p->no_metrics.
 */
static void query(struct querier *a, enum np_signal s,
		  const struct np_prom_range *r, double *value)
{
	const char *expression = np_metrics_expression(a->conf, s);
	char other[NP_METRICS_LABEL] = "";
	struct np_err err = NP_ERR_INIT;
	struct cli_diagnosis *p = a->p;
	int rc = 0;

	for (size_t i = 0; i < a->n * r->n_steps; i++)
		value[i] = NAN;
	if (!expression || a->stopped || a->silent[s] ||
	    (s >= NP_SIGNAL_SHOWN && a->run > SHOWN_RUNS))
		return;
	if (p->n_queries == MAX_QUERIES || np_mono_sec() > a->until) {
		a->stopped = true;
		np_errf(&p->no_metrics, 0,
			"not all comparable runs were examined: limit of "
			"queries or time reached after %zu queries",
			p->n_queries);
		return;
	}
	p->n_queries++;
	rc = np_http_query(a->http, expression, a->name, a->n, r, value, other,
			   &err);
	p->metrics |= !rc;
	if (rc == -EINVAL && !p->no_metrics.text[0])
		np_errf(&p->no_metrics, rc, "%s: %.200s", np_signal_name(s),
			err.text);
	else if (rc && rc != -EINVAL)
		p->no_metrics = err;
	a->stopped |= rc && (rc != -EINVAL || !p->metrics);
	if (!rc && *other && !p->no_metrics.text[0])
		np_errf(&p->no_metrics, 0,
			"the label %s also has the value \"%s\", which is not "
			"one of the nodes (MetricsLabel)",
			a->conf->label, other);
}

/*
 * Query all signals for one leaf switch of a run: traffic, and what is compared
 * for the nodes of other jobs as well, of all its nodes; the other signals only of
 * the run's nodes, which come first.
 */
static int query_leaf(struct querier *a, const struct np_acct_job *j,
		      uint32_t leaf, const struct np_prom_range *r,
		      struct np_examine_run *seen)
{
	size_t n, own = 0;
	double value[CLI_DIAGNOSIS_LEAF_NODES];
	struct np_examine_node *more;
	int rc = select_nodes(a, j, leaf, true);

	if (rc)
		return rc;
	n = a->n;
	if (j == a->p->job)
		a->p->n_nodes_skipped += a->n_skipped;
	more = reallocarray(seen->node, seen->n + a->n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	seen->node = more;
	more += seen->n;
	seen->n += n;
	for (size_t i = 0; i < n; i++) {
		more[i].node = a->number[i];
		more[i].leaf = leaf;
		more[i].own = has_node(a->p, j, a->number[i]);
		own += more[i].own;
		for (int s = 0; s < NP_N_SIGNALS; s++)
			more[i].value[s] = NAN;
	}
	for (int s = 0; s < NP_N_SIGNALS; s++) {
		a->n = s == NP_SIGNAL_TRAFFIC ||
				       np_examine_is_near((enum np_signal)s) ?
			       n :
			       own;
		query(a, (enum np_signal)s, r, value);
		for (size_t i = 0; i < a->n; i++)
			more[i].value[s] = value[i];
	}
	a->n = n;
	return 0;
}

/* Query all signals for a whole run. */
static int query_run(struct querier *a, const struct np_acct_job *j,
		     struct np_examine_run *seen)
{
	struct cli_diagnosis *p = a->p;
	double end = np_acct_job_end(&p->acct, j), sec = end - j->start;
	const struct np_prom_range r = {
		.start = end,
		.window_sec = sec,
		.n_steps = 1,
	};
	struct np_acct_place *leaf;
	size_t n;
	int rc = 0;

	if (!a->http || sec < LEAST_SAMPLES * a->conf->interval_sec)
		return 0;
	leaf = all_leaves(&p->acct, j, &n);
	if (!leaf)
		return -ENOMEM;
	if (j == p->job && n > CLI_DIAGNOSIS_LEAVES)
		p->n_leaves_skipped = n - CLI_DIAGNOSIS_LEAVES;
	for (size_t i = 0; !rc && i < n && i < CLI_DIAGNOSIS_LEAVES; i++)
		rc = query_leaf(a, j, leaf[i].leaf, &r, seen);
	free(leaf);
	return rc;
}

/*
 * How long its leaf switches were occupied by other jobs, in seconds: their
 * node-seconds divided by the nodes that the job leaves them.
 */
static int occupied_time(const struct cli_diagnosis *p,
			 const struct np_acct_job *j, double *sec)
{
	size_t n_leaves, n;
	struct np_acct_place *leaf = all_leaves(&p->acct, j, &n_leaves);
	struct np_acct_neighbour *jobs;
	double node_sec = 0, other_nodes = 0;
	int rc = leaf ? np_acct_neighbours(&p->acct, j, &jobs, &n) : -ENOMEM;

	for (size_t i = 0; !rc && i < n_leaves; i++)
		other_nodes += p->acct.one_leaf ?
				       p->acct.node_name.n :
				       p->acct.leaf_size[leaf[i].leaf];
	free(leaf);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		node_sec += jobs[i].nodes * (jobs[i].to - jobs[i].from);
	free(jobs);
	other_nodes -= j->n_listed;
	*sec = other_nodes > 0 ? fmin(node_sec / other_nodes,
				      np_acct_job_sec(&p->acct, j)) :
				 0;
	return 0;
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
static uint32_t busiest_leaf(const struct np_examine_run *s)
{
	uint32_t leaf = s->node[0].leaf;
	double most = -1;

	for (size_t i = 0; i < s->n; i++) {
		double sum = 0;

		for (size_t k = 0; k < s->n; k++)
			if (s->node[k].leaf == s->node[i].leaf &&
			    !s->node[k].own &&
			    s->node[k].value[NP_SIGNAL_TRAFFIC] > 0)
				sum += s->node[k].value[NP_SIGNAL_TRAFFIC];
		if (sum > most) {
			most = sum;
			leaf = s->node[i].leaf;
		}
	}
	return leaf;
}

/* The steps of a job's timeline. */
static void divide_time(const struct querier *a, const struct np_acct_job *j,
			struct cli_timeline *t)
{
	double sec = np_acct_job_end(&a->p->acct, j) - j->start;

	t->step_sec = fmax(sec / CLI_DIAGNOSIS_STEPS, a->conf->interval_sec);
	t->n = (size_t)fmin(floor(sec / t->step_sec), CLI_DIAGNOSIS_STEPS);
	t->start = j->start;
}

/* What the probes of a job say, if it was measured. */
static void summarise_probes(const struct querier *a,
			     const struct cli_diagnosis_opt *opt,
			     const struct np_acct_job *j,
			     struct np_examine_probes *out)
{
	struct cli_timeline t;

	*out = (struct np_examine_probes){ .delayed = NAN };
	if (!opt->probes)
		return;
	divide_time(a, j, &t);
	out->n = t.n;
	opt->probes(opt->probes_arg, j->id, t.start, t.step_sec, out);
}

/*
 * A value in one step of the timeline, of the job or (near) of others; the worst one
 * of all places remains.
 */
static void set_worst(struct cli_timeline *t, bool near, enum np_signal s,
		      size_t step, double v, uint32_t place)
{
	double *worst = near ? &t->near[s][step] : &t->value[s][step];

	/* A clock may be wrong in both directions. */
	v = s == NP_SIGNAL_CLOCK_SKEW ? fabs(v) : v;
	if (!np_examine_is_worse(s, v, *worst))
		return;
	*worst = v;
	(near ? t->near_place : t->place)[s][step] = place;
}

/*
 * Query a signal of the job on one leaf switch in the steps of its timeline; near:
 * of the other nodes there instead; of both, if it is traffic. value: for
 * CLI_DIAGNOSIS_LEAF_NODES nodes. The window of a step has at least three samples, so
 * that a rate can be computed from it.
 */
static int query_steps(struct querier *a, bool near, uint32_t leaf,
		       enum np_signal s, double *value)
{
	struct cli_timeline *t = &a->p->timeline;
	const struct np_prom_range r = {
		.start = t->start + t->step_sec,
		.step_sec = t->step_sec,
		.window_sec = fmax(t->step_sec, 3 * a->conf->interval_sec),
		.n_steps = t->n,
	};
	int rc = select_nodes(a, a->p->job, leaf, false);
	size_t own = a->n;

	if (!rc && (near || s == NP_SIGNAL_TRAFFIC))
		rc = select_nodes(a, a->p->job, leaf, true);
	if (rc)
		return rc;
	query(a, s, &r, value);
	for (size_t step = 0; s == NP_SIGNAL_TRAFFIC && step < t->n; step++) {
		double others =
			sum_of(value + own * t->n, a->n - own, t->n, step);

		set_worst(t, false, s, step, others, leaf);
		if (leaf != t->leaf)
			continue;
		t->own[step] = sum_of(value, own, t->n, step);
		t->others[step] = others;
	}
	for (size_t i = near ? own : 0; s != NP_SIGNAL_TRAFFIC && i < a->n; i++)
		for (size_t step = 0; step < t->n; step++)
			set_worst(t, near, s, step, value[i * t->n + step],
				  a->number[i]);
	return 0;
}

/* A second query over the same time, in steps. */
static int make_timeline(struct querier *a, const struct np_examine_run *seen)
{
	static const enum np_signal of_every_job[] = {
		NP_SIGNAL_TRAFFIC,
		NP_SIGNAL_CPU_WAIT,
		NP_SIGNAL_IO_WAIT,
	};
	struct cli_diagnosis *p = a->p;
	struct cli_timeline *t = &p->timeline;
	struct np_acct_place leaf[CLI_DIAGNOSIS_LEAVES];
	size_t n = np_acct_leaves(&p->acct, p->job, leaf, CLI_DIAGNOSIS_LEAVES);
	double *value;
	int rc;

	t->has_probes = seen->probes.n > 0;
	t->has_metrics = p->metrics && !a->stopped && seen->n;
	if (t->has_probes || t->has_metrics)
		divide_time(a, p->job, t);
	memcpy(t->delayed, seen->probes.window, sizeof(t->delayed));
	for (int s = 0; s < NP_N_SIGNALS; s++)
		for (size_t step = 0; step < t->n; step++)
			t->value[s][step] = t->near[s][step] = NAN;
	if (!t->has_metrics)
		return 0;
	t->leaf = busiest_leaf(seen);
	value = malloc(CLI_DIAGNOSIS_LEAF_NODES * CLI_DIAGNOSIS_STEPS *
		       sizeof(*value));
	rc = value ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		for (size_t k = 0; !rc && k < NP_ARRAY_SIZE(of_every_job); k++)
			rc = query_steps(a, false, leaf[i].leaf,
					 of_every_job[k], value);
	free(value);
	return rc;
}

/*
 * Add the other signals that were unusual in the whole run, of the job and then of
 * others, each of the leaf switch of the worst node.
 */
static int extend_timeline(struct querier *a)
{
	struct cli_diagnosis *p = a->p;
	double *value = NULL;
	int rc = 0;

	a->run = 0;
	for (int i = 0; !rc && p->timeline.has_metrics && !a->stopped &&
			i < 2 * NP_N_SIGNALS;
	     i++) {
		bool near = i >= NP_N_SIGNALS;
		enum np_signal s = (enum np_signal)(i % NP_N_SIGNALS);
		const struct np_examine_signal *g = near ? &p->result.near[s] :
							   &p->result.sign[s];

		if (!g->unusual || s == NP_SIGNAL_CPU_WAIT ||
		    s == NP_SIGNAL_IO_WAIT || p->n_queries == MAX_QUERIES)
			continue;
		if (!value)
			value = malloc(CLI_DIAGNOSIS_LEAF_NODES *
				       CLI_DIAGNOSIS_STEPS * sizeof(*value));
		rc = value ? query_steps(a, near, p->acct.leaf_of[g->node], s,
					 value) :
			     -ENOMEM;
	}
	free(value);
	return rc;
}

/*
 * Divide the cost of the network among the neighbours, by their traffic or, if
 * that is unknown, by their nodes.
 */
static void share_cost(struct cli_diagnosis *p)
{
	double sum = 0, sec = p->result.blame.cause[NP_CAUSE_NETWORK].sec.mean;
	bool slow = p->result.blame.verdict >= NP_BLAME_CAUSE;

	for (size_t i = 0; i < p->n_neighbours; i++) {
		struct np_acct_neighbour *b = &p->neighbour[i];

		b->cost_sec = (b->to - b->from) * (!p->result.by_traffic ?
							   b->nodes :
						   isnan(b->rate) ? 0 :
								    b->rate);
		sum += b->cost_sec;
	}
	for (size_t i = 0; i < p->n_neighbours; i++)
		p->neighbour[i].cost_sec =
			slow && sum > 0 ? p->neighbour[i].cost_sec / sum * sec :
					  NAN;
}

/* Add the value of a node of a neighbour; of the load the largest counts. */
static void add_value(double *sum, enum np_signal s, double v)
{
	if (s == NP_SIGNAL_LOAD)
		*sum = fmax(*sum, v);
	else if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

/*
 * Record that a neighbour ran on the node with the worst value. Of several, the
 * one that overlapped with the job for longest is kept.
 */
static void set_near(struct cli_diagnosis *p, enum np_signal s, size_t i)
{
	const struct np_acct_neighbour *b = p->neighbour;
	uint32_t *at = &p->near_neighbour[s];

	if (*at == NP_NO_INDEX || b[i].to - b[i].from > b[*at].to - b[*at].from)
		*at = (uint32_t)i;
}

/*
 * What each neighbour did on nodes for which there are values, and which of them
 * had the nodes with the worst ones. Returns 0 or -ENOMEM.
 */
static int measure_neighbours(struct cli_diagnosis *p,
			      const struct np_examine_run *seen)
{
	p->neighbour_value =
		calloc(p->n_neighbours + 1, sizeof(*p->neighbour_value));
	if (!p->neighbour_value)
		return -ENOMEM;
	for (int s = 0; s < NP_N_SIGNALS; s++)
		p->near_neighbour[s] = NP_NO_INDEX;
	for (size_t i = 0; i < p->n_neighbours; i++) {
		const struct np_acct_job *o = &p->acct.job[p->neighbour[i].job];
		double *value = p->neighbour_value[i];

		for (int s = 0; s < NP_N_SIGNALS; s++)
			value[s] = NAN;
		for (size_t k = 0; k < seen->n; k++) {
			const struct np_examine_node *n = &seen->node[k];

			if (n->own || !has_node(p, o, n->node))
				continue;
			for (int s = 0; s < NP_N_SIGNALS; s++) {
				add_value(&value[s], (enum np_signal)s,
					  n->value[s]);
				if (np_examine_is_near((enum np_signal)s) &&
				    p->result.near[s].node == n->node)
					set_near(p, (enum np_signal)s, i);
			}
		}
		p->neighbour[i].rate = value[NP_SIGNAL_TRAFFIC];
	}
	return 0;
}

/* ---- metrics: examination ---- */

/* Signals that the site does not measure need not be queried again. */
static void find_silent(struct querier *a, const struct np_examine_run *s)
{
	for (int k = 0; k < NP_N_SIGNALS; k++) {
		a->silent[k] = true;
		for (size_t i = 0; i < s->n; i++)
			a->silent[k] &= isnan(s->node[i].value[k]);
	}
}

/* The nodes of a run, and how many of them have no value. */
static size_t nodes_without(const struct np_examine_run *s, size_t *own)
{
	size_t n = 0;

	*own = 0;
	for (size_t i = 0; i < s->n; i++) {
		bool any = false;

		for (int k = 0; k < NP_N_SIGNALS; k++)
			any |= !isnan(s->node[i].value[k]);
		*own += s->node[i].own;
		n += s->node[i].own && !any;
	}
	return n;
}

/*
 * Nodes of the job that the metrics server does not know are a sign that it knows
 * them by other names; comparable runs without any value, where the job has some,
 * that it does not keep samples for as long.
 */
static void count_without(struct querier *a, const struct np_examine_run *s)
{
	struct cli_diagnosis *p = a->p;
	size_t own, n = nodes_without(s, &own);

	if (!a->run) {
		p->n_without = n;
		a->has_values = n < own;
	} else if (a->has_values && !a->stopped && own && n == own) {
		p->n_runs_without++;
	}
}

/*
 * Query the job and its comparable runs, and attribute the excess of the job to
 * causes. p->examined is set if there is a result. Returns 0 or -ENOMEM.
 */
static int examine(struct querier *a, const struct cli_diagnosis_opt *opt)
{
	struct cli_diagnosis *p = a->p;
	struct np_examine_run seen[CLI_DIAGNOSIS_RUNS + 1] = { { .n = 0 } };
	struct np_err err = NP_ERR_INIT;
	size_t n = p->n_examined;
	int rc = 0;

	/* The job comes first: without values of it, no others are needed. */
	for (size_t i = 0; !rc && i <= n; i++) {
		const struct np_acct_job *j =
			i ? &p->acct.job[p->comparable[i - 1]] : p->job;
		struct np_examine_run *s = &seen[i ? i - 1 : n];

		a->run = i;
		s->sec = fmax(np_acct_job_sec(&p->acct, j), 1e-3);
		summarise_probes(a, opt, j, &s->probes);
		rc = occupied_time(p, j, &s->occupied_sec);
		if (!rc)
			rc = query_run(a, j, s);
		if (!rc)
			count_without(a, s);
		if (!rc && !i) {
			find_silent(a, s);
			rc = make_timeline(a, s);
		}
	}
	if (!rc)
		rc = np_examine(seen, n, &p->result, &err);
	p->examined = !rc;
	if (!rc) {
		rc = measure_neighbours(p, &seen[n]);
		share_cost(p);
		if (!rc)
			rc = extend_timeline(a);
	}
	for (size_t i = 0; i <= n; i++)
		free(seen[i].node);
	return rc == -ENOMEM ? rc : 0;
}

/* Set a->http, or p->no_metrics to why there is no server to ask. */
static void connect_server(struct querier *a)
{
	struct cli_diagnosis *p = a->p;
	double sec = np_acct_job_end(&p->acct, p->job) - p->job->start;

	if (!a->conf->url[0])
		np_errf(&p->no_metrics, 0,
			"no metrics server is configured (MetricsURL in "
			"netprof.conf, --metrics-url)");
	else if (sec < LEAST_SAMPLES * a->conf->interval_sec)
		np_errf(&p->no_metrics, 0,
			"the job ran for %.0f s, too short for samples every "
			"%g s (MetricsInterval)",
			sec, a->conf->interval_sec);
	else
		np_http_new(a->conf, &a->http, &p->no_metrics);
}

/*
 * Without a metrics server the examination goes on with the accounting alone.
 */
static int examine_job(struct cli_diagnosis *p,
		       const struct cli_diagnosis_opt *opt,
		       const struct np_metrics_conf *conf)
{
	struct querier a = {
		.p = p,
		.conf = conf,
		.until = np_mono_sec() + MAX_QUERY_SEC,
		.name = calloc(CLI_DIAGNOSIS_LEAF_NODES, sizeof(*a.name)),
		.number = calloc(CLI_DIAGNOSIS_LEAF_NODES, sizeof(*a.number)),
	};
	int rc = a.name && a.number ? 0 : -ENOMEM;

	if (!rc) {
		connect_server(&a);
		rc = examine(&a, opt);
		clear_names(&a);
	}
	np_http_free(a.http);
	free(a.name);
	free(a.number);
	return rc;
}

/*
 * The accounting comes first: without the job in it there is nothing to
 * examine.
 */
int cli_diagnosis_make(struct cli_diagnosis *p,
		       const struct cli_diagnosis_opt *opt,
		       const struct np_metrics_conf *conf, uint32_t id,
		       uint32_t task, double now)
{
	int rc;

	*p = (struct cli_diagnosis){ .since_sec = opt->since_sec,
				     .acct.now = now };
	rc = load_accounting(p, opt, id, task, &p->why);
	if (rc || !p->job) {
		p->job = NULL;
		return rc == -ENOMEM ? rc : 0;
	}
	p->masked = jobs_are_private(opt->accounting, &p->not_named);
	return examine_job(p, opt, conf);
}

/* Harmless if cli_diagnosis_make() was never called on a zeroed structure. */
void cli_diagnosis_free(struct cli_diagnosis *p)
{
	np_acct_free(&p->acct);
	free(p->neighbour);
	free(p->neighbour_value);
	p->neighbour = NULL;
	p->neighbour_value = NULL;
}
