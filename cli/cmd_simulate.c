/*
 * netprof simulate: what placement would have done to a queue of jobs.
 *
 * Jobs, cluster, profiles and policies are read first. Then each policy is
 * simulated (np_simulate.h) once per seed. A seed draws the profiles of the
 * jobs anew, the same for all policies. All policies are compared with the
 * first one, and results are means over the seeds. To show which users and
 * sizes of jobs gain or lose, the single jobs are kept for the first seed,
 * under the first policy and the last one that changes jobs.
 *
 * The file follows that order: reading of the inputs, which are half of it,
 * results of one simulation and of the comparison, simulation, output, and
 * the options of the command.
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
#include "np_app.h"
#include "np_array.h"
#include "np_bits.h"
#include "np_catalog.h"
#include "np_conf.h"
#include "np_fabric_store.h"
#include "np_figure.h"
#include "np_hostlist.h"
#include "np_moments.h"
#include "np_option.h"
#include "np_queue_log.h"
#include "np_read.h"
#include "np_rng.h"
#include "np_sacct.h"
#include "np_simulate.h"
#include "np_slurm_file.h"
#include "np_topo.h"

/*
 * ---- Inputs and results of the command ----
 */

#define MAX_POLICIES 16
#define MAX_SEEDS 100
#define MAX_SETTINGS 16
#define MAX_MIX 64		    /* names in --mix */
#define NAME_BYTES (NP_APP_MAX + 1) /* name of a profile, NUL too */
#define POLICY_BYTES 1024	    /* a policy with all its settings */
#define N_VALUES 16		    /* of a summary that are printed */

/* A simulation, or the means of several ones with different seeds. */
struct summary {
	size_t started, ended, too_large; /* jobs */
	double wait_mean_sec, wait_median_sec, wait_p95_sec;
	double slowdown_mean; /* (wait + run time) / run time alone, bounded */
	double used_node_sec, lost_node_sec; /* lost: to interference */
	double utilisation; /* of all nodes, first submission to last end */
	double makespan_sec;
	/* Numbers of jobs: held by placement; held long; released at MaxDefer;
	   restricted to leaves; slowed beyond their time limit; slowed. */
	size_t held, held_long, released, was_restricted, limits, slowed;
	double held_longest_sec;
	size_t backfill_starts;
};

/* Sums over some of the jobs that ended both without and with the policy. */
struct comparison {
	double used_without, used_with; /* node-seconds */
	double lost_without, lost_with; /* node-seconds */
	double wait_without, wait_with; /* seconds */
	size_t jobs;
};

/*
 * The jobs of each week of the log, by their submission, with each seed: week w
 * with seed s is at[s * n + w].
 */
struct weeks {
	struct comparison *at;
	size_t n, n_seeds;
};

/*
 * A ratio with its 95 % interval, which is NaN for a single week with a single
 * seed.
 */
struct estimate {
	double value, low, high;
};

struct gain {
	struct estimate saved;	/* node-seconds no longer lost, relative to
				      those used without the policy */
	struct estimate delay;	/* change of the wait, relative to that
				      without the policy */
	double wait_change_sec; /* per job, mean */
};

struct policy {
	char name[POLICY_BYTES]; /* "enforce", "enforce:MaxSlowdown=20%" */
	struct np_sim_policy sim;
	struct summary sum;	/* means over seeds */
	double total[N_VALUES]; /* sums over seeds, by row of the table */
	struct weeks weeks;	/* differences from the first policy */
	struct gain gain;
};

/* The options of the command. */
struct sim_options {
	const char *swf, *sacct, *last; /* source of the jobs: one of them */
	const char *topology;		/* source of the cluster, or --leaves */
	unsigned groups, leaves, nodes; /* --leaves; leaves 0: not given */
	uint32_t cpus;			/* --cpus-per-node; 0: not given */
	const char *rules, *pairs, *policies, *events, *shares; /* as given */
	struct {
		const char *name[MAX_MIX];
		double share[MAX_MIX], sum;
		size_t n; /* 0: not given */
	} mix;
	char *setting[MAX_SETTINGS];
	size_t n_settings;
	uint32_t seeds;
	bool by_submission; /* --order=submit */
	bool fair;	    /* --order=fairshare */
	bool fixed_run_times;
	struct np_sim_scheduler scheduler;
};

/* Everything that is read and computed, in the order in which that happens. */
struct sim {
	const struct sim_options *opt;

	/* Jobs: read_jobs(). */
	struct np_queue_log log;
	char source[256]; /* where the jobs are from, in words */

	/* Cluster: read_cluster(). */
	struct np_leaves *leaves;
	struct np_sim_cluster cluster;
	struct np_sim_switch *above; /* above leaf switches */
	uint64_t *above_leaves;	     /* bitmaps of the leaves below each */
	uint64_t *all_nodes;	     /* bitmap of the nodes of each partition */
	const uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t *partition_of; /* by text of the log: its partition, from 1 */
	uint32_t merged; /* partitions too many, merged into the last one */
	char cluster_text[160];

	/* Associations of accounts and users, by "ACCOUNT" and "ACCOUNT|USER";
	   none: all users have equal shares. read_shares(). */
	struct np_sim_assoc *assoc;
	struct np_index associations;

	/* The log's jobs on this cluster: make_queue(). */
	struct np_sim_job *job; /* log.n */

	/* Profiles, and how they slow each other, by all predictions and by
	   those that are not uncertain, as placement knows it:
	   make_profiles(). */
	char (*profile_name)[NAME_BYTES]; /* by handle of the profile */
	size_t n_profiles;
	struct np_slowdowns *slowdowns, *known;
	char models_text[200]; /* where the predictions are from, in words */

	/* The profiles that occur, with the current seed: sample_profiles(). */
	double known_node_sec, all_node_sec; /* jobs with a profile; all jobs */
	size_t known_jobs;
	double worst;	    /* largest slowdown that placement knows */
	size_t n_uncertain; /* pairs of victim and co-runner */

	/* Policies and their results: make_policies(), simulate_all(). */
	struct policy policy[MAX_POLICIES];
	size_t n_policies, seeds_done;
	bool stopped;	   /* by the user */
	double share_done; /* of the whole work */
	/* Jobs of the present seed under the first policy, and copies of those
	   of the first seed under the first and the acting policy; these are
	   NULL if the acting policy was not simulated. */
	struct np_sim_outcome *reference, *without, *with;
	FILE *events; /* --events, or NULL */
};

/*
 * ---- Reading the inputs ----
 *
 *	jobs		a log in the Standard Workload Format, or of sacct
 *	cluster		--leaves, a topology file, or scontrol
 *	shares		of accounts and users, from sshare
 *	queue		the jobs of the log on this cluster
 *	profiles	which application each job is, and the slowdown matrix
 *	policies	modes of placement with their settings
 *
 * They are read in this order, because each needs the ones before it. The
 * functions that read them return -1, or the exit status after printing why.
 *
 * Slowdowns come from a table of pairs or from the same catalog of profiles
 * that the placement plugin uses, so that the simulation decides as it would.
 */

#define MAX_RESPONSE (16u << 20)  /* output of Slurm's commands, bytes */
#define MAX_RULES_FILE (1u << 20) /* bytes */
#define MAX_NEGLIGIBLE 0.01	  /* slowdowns up to this count as none */
#define MAX_LEVELS 16		  /* of switches above leaf switches */
#define MAX_LISTED (16u * NP_LEAVES_MAX_NODES) /* names of nodes in lists */
#define SCONTROL_SEC 20			       /* timeout */
#define CATALOG_SEC 120			       /* timeout for all predictions */

/* ---- jobs ---- */

/*
 * The unit of --last=30d as sacct spells it, and the length of the number.
 * Returns NULL if it is no such time.
 */
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
 * Wait for sacct to end. A failure means that jobs are missing, except that a
 * signal ends sacct where the reader has stopped with an error of its own.
 */
static int close_accounting(FILE *pipe, int rc, struct np_err *err)
{
	int status = pclose(pipe);
	bool failed = !WIFEXITED(status) || WEXITSTATUS(status);

	if (!failed || (rc && WIFSIGNALED(status)))
		return rc;
	return rc ? np_errf(err, rc,
			    "sacct failed and printed no jobs: is accounting "
			    "enabled (AccountingStorageType in slurm.conf)?") :
		    np_errf(err, -EIO,
			    "sacct failed before it had printed all jobs; run "
			    "it by hand to see why");
}

/* The output of sacct may be long, so it is read from a pipe. */
static int read_accounting(struct sim *sim, struct np_err *err)
{
	const char *last = sim->opt->last;
	size_t digits;
	const char *unit = unit_of_last(last, &digits);
	char command[512], delimiter[32];
	FILE *pipe;
	int rc;

	cli_sacct_delimiter(delimiter, sizeof(delimiter));
	snprintf(
		command, sizeof(command),
		"SLURM_TIME_FORMAT=%%s exec sacct --local -a -X -P -S now-%.*s%s "
		"--delimiter='%s' -o JobID,User,"
		"Account,JobName,Partition,Submit,Eligible,Start,End,"
		"ElapsedRaw,TimelimitRaw,NNodes,NCPUS,State,Priority,"
		"Reservation,SubmitLine </dev/null",
		(int)digits, last, unit, delimiter);
	/* The command begins with exec: pclose() waits for sacct itself. */
	pipe = popen(command, "re");
	if (!pipe)
		return np_errf(err, -errno, "sacct: %s", strerror(errno));
	/* The reader closes its descriptor, and pclose() the other one. */
	rc = np_queue_log_read_fd(dup(fileno(pipe)), "sacct", delimiter,
				  cli_warn_line, NULL, &sim->log, err);
	return close_accounting(pipe, rc, err);
}

/* Read the log, or the accounting, into sim->log. */
static int read_jobs(struct sim *sim)
{
	const char *path = sim->opt->swf ? sim->opt->swf : sim->opt->sacct;
	struct np_err err = NP_ERR_INIT;
	int rc = path ? np_queue_log_read(path, cli_warn_line, NULL, &sim->log,
					  &err) :
			read_accounting(sim, &err);

	if (rc)
		return cli_fail("%s", err.text);
	snprintf(sim->source, sizeof(sim->source), "%s%s",
		 path ? path : "accounting, last ", path ? "" : sim->opt->last);
	return -1;
}

/* ---- the cluster ---- */

/* Leaf switches and the numbers of their nodes, and the switches above them. */
struct topology {
	struct np_index nodes;
	struct leaf {
		char name[64];
		uint32_t *node;
		size_t n;
		size_t number; /* in sim.leaves */
	} * leaf;
	size_t n;
	struct upper_switch {
		char name[64];
		char *where;	/* "FILE:LINE", or what else describes it */
		char *children; /* list of switches, of either kind */
		uint32_t level; /* 0: its leaves are not known yet */
		uint64_t *leaves;
	} * upper;
	size_t n_upper;
	size_t words;	   /* of a bitmap of leaves */
	size_t n_listed;   /* names of nodes in lists so far */
	uint32_t *leaf_of; /* by node: index of its leaf */
	/* Names in lists of nodes that are on an earlier leaf, and the first. */
	size_t n_again;
	struct np_err again;
	/* Of a topology.yaml: topologies so far, and how many came before the
	   one whose switches are read. */
	size_t n_topologies, before_ours;
	struct np_index defined; /* names of switches that lines define */
};

/* Free what the readers of topologies collected. */
static void topology_free(struct topology *topology)
{
	for (size_t i = 0; i < topology->n; i++)
		free(topology->leaf[i].node);
	for (size_t i = 0; i < topology->n_upper; i++) {
		free(topology->upper[i].where);
		free(topology->upper[i].children);
	}
	free(topology->leaf);
	free(topology->leaf_of);
	free(topology->upper);
	np_index_free(&topology->nodes);
	np_index_free(&topology->defined);
}

/* The number of a name, which is added if it is new. */
static uint32_t add_index(struct np_index *index, const char *name)
{
	uint32_t at = np_index_add(index, name, strlen(name));

	if (at == NP_NO_INDEX)
		cli_no_memory();
	return at;
}

/* A node that is listed under several leaves is put on the first. */
static int add_node(void *arg, const char *name)
{
	struct topology *topology = arg;
	struct leaf *leaf = &topology->leaf[topology->n - 1];
	size_t before = topology->nodes.n;
	uint32_t node;

	/* A short list may have many names, which are on an earlier leaf. */
	if (topology->n_listed++ == MAX_LISTED)
		return -E2BIG;
	node = add_index(&topology->nodes, name);
	if (topology->nodes.n == before) {
		struct leaf *first = &topology->leaf[topology->leaf_of[node]];

		if (first != leaf && !topology->n_again++)
			np_errf(&topology->again, 0,
				"node %.64s is on leaf switches %s and %s: the "
				"first is used",
				name, first->name, leaf->name);
		return 0;
	}
	if (topology->nodes.n > NP_LEAVES_MAX_NODES)
		return -E2BIG;
	cli_array_grow(&topology->leaf_of, node, sizeof(*topology->leaf_of));
	topology->leaf_of[node] = (uint32_t)(topology->n - 1);
	cli_array_grow(&leaf->node, leaf->n, sizeof(*leaf->node));
	leaf->node[leaf->n++] = node;
	return 0;
}

/* Append a leaf switch with its nodes. */
static int add_leaf(struct topology *topology, const char *name,
		    const char *nodes)
{
	cli_array_grow(&topology->leaf, topology->n, sizeof(*topology->leaf));
	topology->leaf[topology->n] = (struct leaf){ .n = 0 };
	snprintf(topology->leaf[topology->n++].name,
		 sizeof(topology->leaf->name), "%s", name);
	return np_hostlist_each(nodes, add_node, topology);
}

/* Append a switch above other switches. */
static int add_upper_switch(struct topology *topology, const char *where,
			    const char *name, const char *children)
{
	int rc = np_hostlist_each(children, NULL, NULL);
	struct upper_switch *above;

	if (rc)
		return rc;
	cli_array_grow(&topology->upper, topology->n_upper,
		       sizeof(*topology->upper));
	above = &topology->upper[topology->n_upper++];
	*above = (struct upper_switch){
		.where = cli_strdup(where),
		.children = cli_strdup(children),
	};
	snprintf(above->name, sizeof(above->name), "%s", name);
	return 0;
}

/* Record the name of a switch that a line defines. It must be new. */
static int define_switch(struct topology *topology, const char *where,
			 const char *name, struct np_err *err)
{
	size_t known = topology->defined.n;

	if (strlen(name) >= sizeof(topology->leaf->name))
		return np_errf(err, -EINVAL,
			       "%s: %.64s...: expected a name of at most "
			       "%zu characters",
			       where, name, sizeof(topology->leaf->name) - 1);
	if (add_index(&topology->defined, name) < known)
		return np_errf(err, -EINVAL, "%s: %s is defined twice", where,
			       name);
	return 0;
}

/* Handle one line of topology.conf, or of scontrol. */
static int parse_switch_line(void *arg, const struct np_slurm_line *line,
			     struct np_err *err)
{
	struct np_topo_switch sw;
	struct topology *topology = arg;
	const char *where = cli_text("%s:%u", line->path, line->number);
	int rc = np_topo_any(line, &sw, err);

	if (rc || !sw.name)
		return rc;
	rc = define_switch(topology, where, sw.name, err);
	if (rc)
		return rc;
	rc = sw.below ? add_upper_switch(topology, where, sw.name, sw.below) :
	     sw.nodes ? add_leaf(topology, sw.name, sw.nodes) :
			0;
	return rc ? np_errf(err, rc, "%s: %.64s: %s", where,
			    sw.below ? sw.below : sw.nodes,
			    rc == -E2BIG ? "too many names" :
					   "expected a list such as "
					   "n[0-3],n7") :
		    0;
}

/* Finds a child that no line defines. */
struct undefined {
	const struct np_index *defined;
	char name[64];
};

static int check_child(void *arg, const char *name)
{
	struct undefined *search = arg;

	if (np_index_find(search->defined, name, strlen(name)) != NP_NO_INDEX)
		return 0;
	snprintf(search->name, sizeof(search->name), "%s", name);
	return -ENOENT;
}

/* slurmctld does not start if a switch names one that does not exist. */
static int check_children(const struct topology *topology, struct np_err *err)
{
	struct undefined search = { .defined = &topology->defined };

	for (size_t i = 0; i < topology->n_upper; i++)
		if (np_hostlist_each(topology->upper[i].children, check_child,
				     &search) == -ENOENT)
			return np_errf(err, -EINVAL,
				       "%s: %s names %s, which no line defines",
				       topology->upper[i].where,
				       topology->upper[i].name, search.name);
	return 0;
}

/*
 * Blank out the comments of YAML, and carriage returns. A comment begins at the
 * beginning of a line, or behind white space, and not in quotes.
 */
static void blank_comments(char *text)
{
	char quote = '\0', before = '\n';

	for (char *at = text; *at; before = *at++) {
		if (*at == '\r') {
			*at = ' ';
		} else if (quote && (*at == quote || *at == '\n')) {
			quote = '\0';
		} else if (!quote && (*at == '"' || *at == '\'')) {
			quote = *at;
		} else if (!quote && *at == '#' &&
			   isspace((unsigned char)before)) {
			size_t n = strcspn(at, "\n");

			memset(at, ' ', n);
			at += n - 1;
		}
	}
}

/*
 * The "-" at the beginning of a line, or "{", of the next item of a list; NULL:
 * there is none. first: at is the beginning of a line.
 */
static char *next_item(char *at, bool first)
{
	for (; *at; at++, first = false) {
		char *start = at + (*at == '\n');

		if (*at == '{')
			return at;
		start += first || *at == '\n' ? strspn(start, " \t") : 0;
		if ((first || *at == '\n') && *start == '-' &&
		    isspace((unsigned char)start[1]))
			return start;
	}
	return NULL;
}

/*
 * The next key at or after a place, which ":" or "\":" follows, and its length
 * without that. NULL: there is none.
 */
static const char *next_key(const char *at, size_t *len)
{
	for (; *at; at += *len + !*len) {
		*len = 0;
		while (isalnum((unsigned char)at[*len]) || at[*len] == '_')
			++*len;
		if (*len && at[*len + (at[*len] == '"')] == ':')
			return at;
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

/*
 * Copy the value of a key to buf, which has room for the whole file. Returns
 * false if the item has no such key.
 */
static bool yaml_value(const char *item, const char *key, char *buf)
{
	const char *at = item;
	size_t len, n;

	while ((at = next_key(at, &len)) &&
	       (len != strlen(key) || memcmp(at, key, len)))
		at += len;
	if (!at)
		return false;
	at += len + (at[len] == '"') + 1;
	at += strspn(at, " \t\n");
	if (*at == '"' || *at == '\'') {
		const char end[] = { *at++, '\0' };

		n = strcspn(at, end);
	} else {
		n = plain_len(at);
	}
	memcpy(buf, at, n);
	buf[n] = '\0';
	return true;
}

/* Number of lists of nodes and of children that an item has. */
static size_t count_lists(const char *item)
{
	size_t n = 0, len;

	for (const char *at = item; (at = next_key(at, &len)); at += len)
		n += (len == 5 && !memcmp(at, "nodes", len)) ||
		     (len == 8 && !memcmp(at, "children", len));
	return n;
}

/* Refuse an unknown key, maybe a misspelled one, of an item without lists. */
static int check_keys(const char *item, const char *where, const char *name,
		      struct np_err *err)
{
	static const char *const known[] = { "switch", "block", "topology",
					     "cluster_default" };
	size_t len, k;

	for (const char *at = item; (at = next_key(at, &len)); at += len) {
		for (k = 0; k < NP_ARRAY_SIZE(known); k++)
			if (len == strlen(known[k]) &&
			    !memcmp(at, known[k], len))
				break;
		if (k == NP_ARRAY_SIZE(known))
			return np_errf(err, -EINVAL,
				       "%s: %s: unknown key \"%.*s\", "
				       "expected nodes or children",
				       where, name, (int)len, at);
	}
	return 0;
}

/*
 * Refuse an item with nodes or children that names no switch or block, perhaps
 * by a misspelled key. Items of rings and toruses have one of the other keys.
 */
static int check_unnamed(const char *item, const char *where, char *value,
			 struct np_err *err)
{
	static const char *const other[] = { "ring", "dims", "anchor", "z" };

	for (size_t k = 0; k < NP_ARRAY_SIZE(other); k++)
		if (yaml_value(item, other[k], value))
			return 0;
	return !yaml_value(item, "nodes", value) &&
			       !yaml_value(item, "children", value) ?
		       0 :
		       np_errf(err, -EINVAL,
			       "%s: expected a switch or block with these "
			       "nodes or children: \"%.64s\"",
			       where, value);
}

/*
 * Handle an item of a list. Items other than switches and blocks are ignored.
 */
static int parse_yaml_item(struct topology *topology, const char *where,
			   const char *item, char *value, struct np_err *err)
{
	char name[sizeof(topology->leaf->name)];
	bool nodes;
	int rc;

	if ((!yaml_value(item, "switch", value) &&
	     !yaml_value(item, "block", value)) ||
	    !*value) {
		topology->n_topologies += yaml_value(item, "topology", value);
		return check_unnamed(item, where, value, err);
	}
	if (!topology->defined.n)
		topology->before_ours = topology->n_topologies;
	if (topology->n_topologies != topology->before_ours)
		return np_errf(
			err, -EINVAL,
			"%s: %.64s belongs to a second topology: expected "
			"the switches of one, or what \"scontrol show "
			"topology NAME\" prints",
			where, value);
	rc = define_switch(topology, where, value, err);
	if (rc)
		return rc;
	if (count_lists(item) > 1)
		return np_errf(err, -EINVAL,
			       "%s: %s: expected nodes or children, and only "
			       "one of them",
			       where, value);
	strcpy(name, value);
	/* With sorted keys, the name of the topology follows its blocks. */
	topology->n_topologies += yaml_value(item, "topology", value);
	nodes = yaml_value(item, "nodes", value);
	if (!nodes && !yaml_value(item, "children", value))
		return check_keys(item, where, name, err);
	/* A list is not empty, has no quotes and is no other form of YAML. */
	rc = !*value || strchr("|>&*!", *value) || strpbrk(value, "\"';") ?
		   -EINVAL :
	     nodes ? add_leaf(topology, name, value) :
		     add_upper_switch(topology, where, name, value);
	return rc ? np_errf(err, rc,
			    "%s: %s: not a list such as n[0-3],n7, or too "
			    "long: \"%.64s\"",
			    where, name, value) :
		    0;
}

static unsigned count_lines(const char *text, const char *end)
{
	unsigned n = 0;

	for (; text < end; text++)
		n += *text == '\n';
	return n;
}

/* topology.yaml(5): lists of switches or blocks, in block or flow style. */
static int read_yaml(struct topology *topology, const char *path,
		     struct np_err *err)
{
	char *text, *value, *item, *next;
	unsigned line = 1;
	size_t len;
	int rc = np_read_file(path, MAX_RESPONSE, &text, &len, err);

	if (rc)
		return rc;
	value = cli_calloc(len + 1, 1);
	blank_comments(text);
	item = next_item(text, true);
	line += item ? count_lines(text, item) : 0;
	for (; !rc && item; item = next) {
		next = next_item(item + 1, false);
		if (next)
			*next = '\0';
		rc = parse_yaml_item(topology, cli_text("%s:%u", path, line),
				     item + 1, value, err);
		line += next ? count_lines(item, next) : 0;
	}
	free(value);
	free(text);
	return rc;
}

/*
 * Read a topology.conf. Lines that Slurm may interpret differently only cause a
 * warning.
 */
static int read_conf(struct topology *topology, const char *path,
		     struct np_err *err)
{
	int rc = np_slurm_file(path, NULL, parse_switch_line, topology, err);

	if (!np_slurm_was_read(rc))
		return rc;
	if (rc)
		cli_warn_line(err->text, NULL);
	return 0;
}

/* A topology file, in YAML if its name ends in .yaml. */
static int read_topology(struct topology *topology, const char *path,
			 struct np_err *err)
{
	size_t len = strlen(path);
	int rc = len > 5 && !strcmp(path + len - 5, ".yaml") ?
			 read_yaml(topology, path, err) :
			 read_conf(topology, path, err);

	if (!rc)
		rc = check_children(topology, err);
	if (!rc && !topology->n)
		rc = np_errf(err, -EINVAL, "%s: no leaf switch with nodes",
			     path);
	if (!rc && topology->n_again)
		cli_warn_line(cli_text("%s: %s%s", path, topology->again.text,
				       topology->n_again == 1 ?
					       "" :
					       cli_text(" (%zu more like it)",
							topology->n_again - 1)),
			      NULL);
	return rc;
}

/* --leaves */
static int make_leaves(struct topology *topology, const struct sim_options *opt,
		       struct np_err *err)
{
	unsigned groups = opt->groups, leaves = opt->leaves, nodes = opt->nodes;
	int rc = 0;

	/* Nodes are numbered through all leaves, as on a real cluster. */
	for (unsigned i = 0; !rc && i < leaves * (groups ? groups : 1); i++)
		rc = add_leaf(topology, cli_text("leaf%u", i),
			      cli_text("n[%u-%u]", i * nodes,
				       (i + 1) * nodes - 1));
	/* A switch above each group of leaves. */
	for (unsigned i = 0; !rc && i < groups; i++)
		rc = add_upper_switch(topology, "--leaves",
				      cli_text("group%u", i),
				      cli_text("leaf[%u-%u]", i * leaves,
					       (i + 1) * leaves - 1));
	return rc ? np_errf(err, rc, "out of memory") : 0;
}

/* Read the switches above leaves from what scontrol printed. */
static int parse_upper_switches(struct topology *topology, char *text)
{
	char *save = NULL;
	int rc = 0;

	for (char *line = strtok_r(text, "\n", &save); !rc && line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *name = NULL, *below = NULL;
		struct np_slurm_pair pair;

		while (np_slurm_printed_pair(&line, &pair))
			if (!strcmp(pair.key, "SwitchName"))
				name = pair.value;
			else if (!strcmp(pair.key, "Switches"))
				below = pair.value;
		if (name && below)
			rc = add_upper_switch(topology,
					      "scontrol show topology", name,
					      below);
	}
	return rc;
}

/* The current topology, by scontrol. */
static int current_topology(struct topology *topology, struct np_err *err)
{
	static char *const argv[] = { "scontrol", "show", "topology", NULL };
	char *text = cli_calloc(MAX_RESPONSE, 1);
	struct np_topo topo = { .n = 0 };
	int rc;

	if (cli_spawn(argv, SCONTROL_SEC, text, MAX_RESPONSE))
		rc = np_errf(err, -ENODATA,
			     "Slurm does not answer; describe the cluster with "
			     "--leaves=64x32 or --topology=topology.conf");
	else
		rc = np_topo_parse(text, &topo, err);
	for (size_t i = 0; !rc && i < topo.n; i++) {
		rc = add_leaf(topology, topo.leaf[i].name, topo.leaf[i].nodes);
		if (rc)
			np_errf(err, rc,
				"scontrol: %.64s: not a node list, or too "
				"long: %.64s",
				topo.leaf[i].name, topo.leaf[i].nodes);
	}
	if (!rc && !topology->n)
		rc = np_errf(err, -ENODATA,
			     "Slurm has no leaf switches; describe the cluster "
			     "with --leaves=64x32 or --topology=topology.conf");
	if (!rc && (rc = parse_upper_switches(topology, text)))
		np_errf(err, rc,
			"scontrol show topology: not a list of switches");
	np_topo_free(&topo);
	free(text);
	return rc;
}

/* Processors of a node of this cluster, as most nodes have; 0: unknown. */
static uint32_t cluster_cpus(void)
{
	static char *const argv[] = { "sinfo", "-h", "-e", "-o", "%D %c", NULL };
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

/* Make sim->leaves from the topology, without empty leaves. */
static int build_leaves(struct sim *sim, struct topology *topology,
			struct np_err *err)
{
	struct np_leaf *leaf = cli_calloc(topology->n, sizeof(*leaf));
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < topology->n; i++) {
		topology->leaf[i].number = n;
		if (topology->leaf[i].n)
			leaf[n++] = (struct np_leaf){ topology->leaf[i].name,
						      topology->leaf[i].node,
						      topology->leaf[i].n };
	}
	rc = np_leaves_new(topology->nodes.n, leaf, n, &sim->leaves, err);
	free(leaf);
	return rc;
}

/* The switch whose children are added to it. */
struct parent {
	struct topology *topology;
	struct upper_switch *above;
	unsigned depth; /* of switches above each other */
};

static int find_leaves(struct topology *topology, struct upper_switch *above,
		       unsigned depth);

/* Add the leaves of a child to a switch; unknown children have none. */
static int add_child(void *arg, const char *name)
{
	const struct parent *parent = arg;
	struct topology *topology = parent->topology;
	struct upper_switch *to = parent->above;
	int rc;

	for (size_t i = 0; i < topology->n; i++)
		if (topology->leaf[i].n &&
		    !strcmp(topology->leaf[i].name, name))
			np_bits_set(to->leaves, topology->leaf[i].number);
	for (size_t i = 0; i < topology->n_upper; i++) {
		struct upper_switch *child = &topology->upper[i];

		if (strcmp(child->name, name))
			continue;
		rc = find_leaves(topology, child, parent->depth + 1);
		if (rc)
			return rc;
		np_bits_or(to->leaves, child->leaves, topology->words);
		if (to->level <= child->level)
			to->level = child->level + 1;
	}
	return 0;
}

/* Find out which leaves are below a switch, and its level. */
static int find_leaves(struct topology *topology, struct upper_switch *above,
		       unsigned depth)
{
	struct parent parent = { topology, above, depth };
	int rc;

	if (above->level)
		return 0;
	if (depth > MAX_LEVELS)
		return -EINVAL;
	rc = np_hostlist_each(above->children, add_child, &parent);
	if (!above->level)
		above->level = 1;
	return rc;
}

/* The switches above leaves, as the simulation has them. */
static int build_switches(struct sim *sim, struct topology *topology,
			  struct np_err *err)
{
	struct np_sim_switch *above =
		cli_calloc(topology->n_upper, sizeof(*above));
	size_t n = topology->n_upper, words = sim->leaves->words;

	topology->words = words;
	sim->above = above;
	sim->above_leaves = cli_calloc(n * words, sizeof(uint64_t));
	for (size_t i = 0; i < n; i++)
		topology->upper[i].leaves = sim->above_leaves + i * words;
	for (size_t i = 0; i < n; i++) {
		int rc = find_leaves(topology, &topology->upper[i], 1);

		if (rc)
			return np_errf(err, rc,
				       "%s: switch %s is above itself, or "
				       "above more than %d levels of switches",
				       topology->upper[i].where,
				       topology->upper[i].name, MAX_LEVELS);
		above[i] = (struct np_sim_switch){ topology->upper[i].level,
						   topology->upper[i].leaves };
	}
	sim->cluster.above = above;
	sim->cluster.n_above = n;
	return 0;
}

/* A log does not say which nodes a partition has, so each has all of them. */
static void make_partitions(struct sim *sim)
{
	struct np_sim_cluster *cluster = &sim->cluster;

	sim->all_nodes =
		cli_calloc(sim->leaves->node_words, sizeof(*sim->all_nodes));
	sim->partition_of = cli_calloc(sim->log.text.n, sizeof(uint32_t));
	/* One set of all nodes serves for every partition. */
	for (size_t i = 0; i < sim->leaves->n_nodes; i++)
		np_bits_set(sim->all_nodes, i);
	for (size_t i = 0; i < sim->log.n; i++) {
		uint32_t text = sim->log.job[i].partition;

		if (text == NP_QUEUE_NONE || sim->partition_of[text])
			continue;
		/* The last partition takes all that are beyond the limit. */
		if (cluster->n_partitions + 1 < NP_SIM_MAX_PARTITIONS)
			cluster->n_partitions++;
		else
			sim->merged++;
		sim->partition_of[text] = (uint32_t)cluster->n_partitions;
	}
	if (!cluster->n_partitions)
		cluster->n_partitions = 1;
	for (size_t i = 0; i < cluster->n_partitions; i++)
		sim->partition[i] = sim->all_nodes;
	cluster->partition = sim->partition;
}

/*
 * The cluster from --leaves, --topology or Slurm, with the processors of each
 * node.
 */
static int read_cluster(struct sim *sim)
{
	const struct sim_options *opt = sim->opt;
	struct np_sim_cluster *cluster = &sim->cluster;
	uint32_t cpus = opt->cpus;
	struct np_err err = NP_ERR_INIT;
	struct topology topology = { .n = 0 };
	int rc = opt->leaves   ? make_leaves(&topology, opt, &err) :
		 opt->topology ? read_topology(&topology, opt->topology, &err) :
				 current_topology(&topology, &err);

	if (!rc)
		rc = build_leaves(sim, &topology, &err);
	if (!rc)
		rc = build_switches(sim, &topology, &err);
	topology_free(&topology);
	if (rc)
		return cli_fail("%s", err.text);
	/* A Standard Workload Format log has the machine in its header. */
	if (!cpus && sim->log.max_nodes)
		cpus = sim->log.max_procs / sim->log.max_nodes;
	if (!cpus && (opt->last || (!opt->leaves && !opt->topology)))
		cpus = cluster_cpus();
	cpus = !cpus ? 1 : cpus > NP_SIM_MAX_CPUS ? NP_SIM_MAX_CPUS : cpus;
	cluster->leaves = sim->leaves;
	cluster->cpus = cpus;
	snprintf(sim->cluster_text, sizeof(sim->cluster_text),
		 "%zu nodes with %u processor%s each, on %zu leaf switches",
		 sim->leaves->n_nodes, cpus, cli_plural_s(cpus),
		 sim->leaves->n);
	if (cluster->n_above)
		cli_appendf(sim->cluster_text, sizeof(sim->cluster_text),
			    " below %zu other%s", cluster->n_above,
			    cli_plural_s(cluster->n_above));
	make_partitions(sim);
	return -1;
}

/* ---- shares, for --order=fairshare ---- */

#define MAX_ASSOCIATION 512 /* bytes of "ACCOUNT|USER" */

/* The number of an association, added if new. user "": of an account. */
static uint32_t association(struct sim *sim, const char *account,
			    const char *user, uint32_t parent, uint32_t shares)
{
	char key[MAX_ASSOCIATION];
	size_t before = sim->associations.n;
	uint32_t at;

	snprintf(key, sizeof(key), "%s%s%s", account, *user ? "|" : "", user);
	at = add_index(&sim->associations, key);
	if (at != before)
		return at;
	cli_array_grow(&sim->assoc, at, sizeof(*sim->assoc));
	sim->assoc[at] = (struct np_sim_assoc){ parent, shares };
	return at;
}

/* The number of an account. Unknown ones are below the root, with one share. */
static uint32_t account_of(struct sim *sim, const char *name)
{
	uint32_t root = np_index_find(&sim->associations, "root", 4);

	return association(sim, name, "",
			   root == NP_NO_INDEX ? NP_SIM_NO_PARENT : root, 1);
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
static int add_share(struct sim *sim, struct accounts *accounts,
		     char *const value[])
{
	const char *account = value[SHARE_ACCOUNT];
	size_t depth = strspn(account, " ");
	uint32_t shares;

	account += depth;
	if (!*account || parse_shares(value[SHARE_RAW], &shares))
		return -EINVAL;
	if (*value[SHARE_USER]) {
		association(sim, account, value[SHARE_USER],
			    account_of(sim, account), shares);
		return 0;
	}
	if (depth > accounts->depth)
		depth = accounts->depth;
	if (depth + 1 >= NP_SIM_MAX_DEPTH)
		return -EINVAL;
	accounts->at[depth] = association(
		sim, account, "",
		depth ? accounts->at[depth - 1] : NP_SIM_NO_PARENT, shares);
	accounts->depth = depth + 1;
	return 0;
}

static void cut_return(char *line)
{
	size_t len = strlen(line);

	if (len && line[len - 1] == '\r')
		line[len - 1] = '\0';
}

/* The output of sshare --parsable2, which is changed. */
static int parse_sshare(struct sim *sim, char *text, const char *source,
			struct np_err *err)
{
	char *line = strsep(&text, "\n");
	struct accounts accounts = { .depth = 0 };
	struct np_sacct_head head;

	cut_return(line);
	np_sacct_read_head(line, "|", share_columns, N_SHARE_COLUMNS, &head);
	if (head.twice != NP_SACCT_NONE)
		return np_errf(err, -EINVAL, "%s:1: column %s given twice",
			       source, share_columns[head.twice]);
	for (size_t i = 0; i < N_SHARE_COLUMNS; i++)
		if (!head.has[i])
			return np_errf(err, -EINVAL,
				       "%s:1: no column %s: expected the "
				       "output of sshare -a --parsable2",
				       source, share_columns[i]);
	for (unsigned n = 2; (line = strsep(&text, "\n")); n++) {
		char *value[N_SHARE_COLUMNS], shown[41];

		cut_return(line);
		if (!*line)
			continue;
		snprintf(shown, sizeof(shown), "%s", line);
		if (np_sacct_read_row(line, "|", &head, value,
				      N_SHARE_COLUMNS) != head.n ||
		    add_share(sim, &accounts, value))
			return np_errf(err, -EINVAL,
				       "%s:%u: \"%s\": expected an account, a "
				       "user or none, and shares",
				       source, n, shown);
	}
	return sim->associations.n ?
		       0 :
		       np_errf(err, -EINVAL, "%s: no account", source);
}

/* The shares as they are now, or none if this Slurm has no fair share. */
static int run_sshare(struct sim *sim, struct np_err *err)
{
	static char *const argv[] = { "sshare", "-a", "--parsable2",
				      "--format=Account,User,RawShares", NULL };
	char *text = cli_calloc(MAX_RESPONSE, 1);
	int rc = 0;

	if (cli_spawn(argv, SCONTROL_SEC, text, MAX_RESPONSE))
		cli_warn_line("sshare does not answer: all users count as "
			      "having equal shares",
			      NULL);
	else
		rc = parse_sshare(sim, text, "sshare", err);
	free(text);
	return rc;
}

static int read_shares(struct sim *sim)
{
	struct np_err err = NP_ERR_INIT;
	const char *path = sim->opt->shares;
	size_t len;
	char *text;
	int rc = 0;

	if (path) {
		rc = np_read_file(path, MAX_RESPONSE, &text, &len, &err);
		if (!rc) {
			rc = parse_sshare(sim, text, path, &err);
			free(text);
		}
	} else if (sim->opt->fair && sim->opt->last) {
		rc = run_sshare(sim, &err);
	}
	return rc ? cli_fail("%s", err.text) : -1;
}

/*
 * The user of a job for the simulation: with shares, its association. One
 * without shares, such as a user who has left, has one share.
 */
static uint32_t user_of(struct sim *sim, const struct np_queue_job *from)
{
	char account[MAX_ASSOCIATION / 2] = "", user[MAX_ASSOCIATION / 2] = "";

	/* Jobs without a user count as those of one user. */
	if (!sim->associations.n)
		return from->user == NP_QUEUE_NONE ? (uint32_t)sim->log.text.n :
						     from->user;
	np_queue_text(&sim->log, from->account, account, sizeof(account));
	np_queue_text(&sim->log, from->user, user, sizeof(user));
	return association(sim, account, *user ? user : "-",
			   account_of(sim, *account ? account : "root"), 1);
}

/* ---- the queue: jobs of the log on this cluster ---- */

/*
 * Nodes and processors of a job. Jobs that need less than a node share nodes.
 */
static void set_size(const struct sim *sim, const struct np_queue_job *from,
		     struct np_sim_job *job)
{
	uint32_t per = sim->cluster.cpus;

	/* A log may have only processors; then whole nodes are filled. */
	job->nodes = from->nodes ? from->nodes : (from->cpus + per - 1) / per;
	if (from->cpus && job->nodes == 1 && from->cpus < per)
		job->cpus = from->cpus;
	else if (from->nodes && from->cpus &&
		 (from->cpus + job->nodes - 1) / job->nodes < per)
		job->cpus = (from->cpus + job->nodes - 1) / job->nodes;
}

/*
 * Nodes that a job takes. Of nodes that it shares with others, it takes the
 * share of its processors, so that the time of a node is not counted several
 * times.
 */
static double nodes_of(const struct np_sim_cluster *cluster,
		       const struct np_sim_job *job)
{
	double share = job->cpus && job->cpus < cluster->cpus ?
			       (double)job->cpus / cluster->cpus :
			       1;

	return job->nodes * share;
}

/* Translate the jobs of the log into jobs of the simulation. */
static int make_queue(struct sim *sim)
{
	bool priorities = sim->log.priorities && !sim->opt->by_submission &&
			  !sim->opt->fair;

	sim->job = cli_calloc(sim->log.n, sizeof(*sim->job));
	for (size_t i = 0; i < sim->log.n; i++) {
		const struct np_queue_job *from = &sim->log.job[i];
		struct np_sim_job *job = &sim->job[i];

		*job = (struct np_sim_job){
			.submit_sec = from->submit_sec,
			.cancel_sec = from->cancel_sec,
			.run_sec = from->run_sec,
			.limit_sec = from->limit_sec,
			/* Without priorities, in order of submission. */
			.priority = priorities ? from->priority : 0,
			.after = from->after == NP_QUEUE_NONE ? NP_SIM_NO_JOB :
								from->after,
			.think_sec = from->think_sec,
			.user = user_of(sim, from),
			.profile = NP_PROFILE_UNKNOWN,
		};
		if (from->partition != NP_QUEUE_NONE)
			job->partition =
				(uint16_t)(sim->partition_of[from->partition] -
					   1);
		set_size(sim, from, job);
	}
	return -1;
}

/* ---- which profile each job has ---- */

/* The handle of a profile, or NP_PROFILE_UNKNOWN. */
static int32_t profile_of(const struct sim *sim, const char *name)
{
	for (size_t i = 0; i < sim->n_profiles; i++)
		if (!strcmp(sim->profile_name[i], name))
			return (int32_t)i;
	return NP_PROFILE_UNKNOWN;
}

/* Handle of the profile of that name, which is added if it is new. */
static int add_profile(struct sim *sim, const char *name, int32_t *out)
{
	size_t n = sim->n_profiles;

	*out = profile_of(sim, name);
	if (*out >= 0 || !strcmp(name, "unknown"))
		return 0;
	if (n >= NP_CONFLICT_MAX_PROFILES)
		return -E2BIG;
	cli_array_grow(&sim->profile_name, n, NAME_BYTES);
	snprintf(sim->profile_name[n], NAME_BYTES, "%s", name);
	*out = (int32_t)sim->n_profiles++;
	return 0;
}

/*
 * A line of --rules, such as "lammps user=alice name=lmp*". All its patterns
 * must match; the first matching line of the file decides.
 */
static const char *const rule_keys[] = { "user", "account", "name", "command",
					 "partition" };
#define N_RULE_KEYS NP_ARRAY_SIZE(rule_keys)

struct rule {
	char *pattern[N_RULE_KEYS]; /* NULL matches anything */
	int32_t profile;
};

struct rules {
	struct rule *rule;
	size_t n;
	char *text;
};

/* "user=alice": store the pattern of one key. */
static int parse_pattern(struct rule *rule, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	for (size_t k = 0; k < N_RULE_KEYS; k++)
		if (!strcmp(word, rule_keys[k])) {
			if (rule->pattern[k])
				return -EEXIST;
			rule->pattern[k] = value;
			return 0;
		}
	return -EINVAL;
}

/* Parse one line of --rules; comments and empty lines are ignored. */
static int parse_rule(struct sim *sim, struct rules *rules, char *line,
		      unsigned number)
{
	struct rule rule = { .profile = NP_PROFILE_UNKNOWN };
	char *save = NULL, *word;
	int rc;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (!word)
		return -1;
	/* The first word is the profile, so a pattern here is a mistake. */
	if (strlen(word) >= NAME_BYTES || strchr(word, '='))
		return cli_fail(
			"%s:%u: \"%.64s\": expected the name of a profile",
			sim->opt->rules, number, word);
	if (add_profile(sim, word, &rule.profile))
		return cli_fail("%s:%u: \"%.64s\": more than %d profiles",
				sim->opt->rules, number, word,
				NP_CONFLICT_MAX_PROFILES);
	while ((word = strtok_r(NULL, " \t\r", &save)))
		if ((rc = parse_pattern(&rule, word)) == -EEXIST)
			return cli_fail("%s:%u: \"%.64s=\" is given twice",
					sim->opt->rules, number, word);
		else if (rc)
			return cli_fail(
				"%s:%u: \"%.64s\": expected user=, account=, "
				"name=, command= or partition= with a pattern",
				sim->opt->rules, number, word);
	cli_array_grow(&rules->rule, rules->n, sizeof(rule));
	rules->rule[rules->n++] = rule;
	return -1;
}

/* Read the file of --rules; the patterns point into its text. */
static int read_rules(struct sim *sim, struct rules *rules)
{
	struct np_err err = NP_ERR_INIT;
	unsigned number = 0;
	char *save, *line;
	size_t len;
	int rc = -1;

	if (np_read_file(sim->opt->rules, MAX_RULES_FILE, &rules->text, &len,
			 &err) ||
	    np_kind_check(rules->text, len, NP_KIND_WORDS, sim->opt->rules,
			  &err))
		return cli_fail("%s", err.text);
	/* strsep(), unlike strtok_r(), also counts empty lines. */
	save = rules->text;
	while (rc < 0 && (line = strsep(&save, "\n")))
		rc = parse_rule(sim, rules, line, ++number);
	return rc;
}

/* Whether a job matches all patterns of a rule. */
static bool matches(const struct rule *rule, const struct sim *sim, size_t i)
{
	const struct np_queue_job *job = &sim->log.job[i];
	/* In the order of rule_keys[]. */
	const uint32_t of[N_RULE_KEYS] = { job->user, job->account, job->name,
					   job->command, job->partition };
	char text[1024];

	for (size_t k = 0; k < N_RULE_KEYS; k++)
		if (rule->pattern[k] &&
		    fnmatch(rule->pattern[k],
			    np_queue_text(&sim->log, of[k], text, sizeof(text)),
			    0))
			return false;
	return true;
}

/* Give every job the profile of the first rule that matches. */
static void apply_rules(struct sim *sim, const struct rules *rules)
{
	for (size_t i = 0; i < sim->log.n; i++)
		for (size_t k = 0; k < rules->n; k++)
			if (matches(&rules->rule[k], sim, i)) {
				sim->job[i].profile = rules->rule[k].profile;
				break;
			}
}

/* Without rules, a job has the profile with its name. */
static void names_are_profiles(struct sim *sim)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < sim->log.n; i++) {
		np_queue_text(&sim->log, sim->log.job[i].name, name,
			      sizeof(name));
		sim->job[i].profile = profile_of(sim, name);
	}
}

/* --mix: names that are not profiles yet are added. */
static int add_mix(struct sim *sim)
{
	int32_t profile;

	for (size_t i = 0; i < sim->opt->mix.n; i++)
		if (add_profile(sim, sim->opt->mix.name[i], &profile))
			return cli_fail("--mix: more than %d profiles, or out "
					"of memory",
					NP_CONFLICT_MAX_PROFILES);
	return -1;
}

/*
 * Of the profiles that are used: the largest slowdown that placement knows, and
 * the number of pairs with an uncertain prediction.
 */
static void summarise_predictions(struct sim *sim, const bool *used)
{
	sim->worst = 0;
	sim->n_uncertain = 0;
	for (uint32_t victim = 0; victim < sim->n_profiles; victim++)
		for (uint32_t co = 0; co < sim->n_profiles; co++) {
			double known;

			if (!used[victim] || !used[co])
				continue;
			known = np_slowdowns_between(sim->known, victim, co,
						     true, true);
			sim->worst = fmax(sim->worst, known);
			sim->n_uncertain += known !=
					    np_slowdowns_between(sim->slowdowns,
								 victim, co,
								 true, true);
		}
}

/* Which profiles occur, and how much of the log has one. */
static void summarise_profiles(struct sim *sim)
{
	bool used[NP_CONFLICT_MAX_PROFILES] = { false };

	sim->known_node_sec = sim->all_node_sec = 0;
	sim->known_jobs = 0;
	for (size_t i = 0; i < sim->log.n; i++) {
		double sec = nodes_of(&sim->cluster, &sim->job[i]) *
			     sim->job[i].run_sec;

		sim->all_node_sec += sec;
		if (sim->job[i].profile < 0)
			continue;
		sim->known_node_sec += sec;
		sim->known_jobs++;
		used[sim->job[i].profile] = true;
	}
	summarise_predictions(sim, used);
}

/* Assign profiles to jobs for one seed: drawn by --mix, or else unchanged. */
static void sample_profiles(struct sim *sim, uint32_t seed)
{
	const double *share = sim->opt->mix.share;
	int32_t profile[MAX_MIX];

	for (size_t k = 0; k < sim->opt->mix.n; k++)
		profile[k] = profile_of(sim, sim->opt->mix.name[k]);
	for (size_t i = 0; sim->opt->mix.n && i < sim->log.n; i++) {
		/*
		 * A number below the sum of the weights, which depends on the
		 * job's id and the seed alone.
		 */
		uint64_t bits = np_rng_mix(sim->log.job[i].id * 1000003 + seed);
		double at = np_rng_unit(bits) * sim->opt->mix.sum;
		size_t k = 0;

		while (k + 1 < sim->opt->mix.n && at >= share[k])
			at -= share[k++];
		sim->job[i].profile = profile[k];
	}
	summarise_profiles(sim);
}

/* ---- predicted slowdowns ---- */

/* Where the slowdowns of pairs are from. */
struct source {
	const struct sim *sim;
	const struct cli_predictions *pairs; /* --pairs */
	/* Or a catalog, which has other handles of profiles. */
	const struct np_slowdowns *table;
	const struct np_app_index *index;
};

/*
 * struct np_oracle, by --pairs: each slowdown holds on a common leaf, whatever
 * else is shared.
 */
static int find_pair(void *arg, uint32_t victim, uint32_t co,
		     enum np_contact contact, double *slowdown)
{
	const struct source *from = arg;
	char(*const name)[NAME_BYTES] = from->sim->profile_name;
	const struct cli_predicted *found =
		contact == NP_CONTACT_LEAF ?
			cli_predictions_find(from->pairs, name[victim],
					     name[co]) :
			NULL;

	*slowdown = found ? found->slowdown : 0;
	return *slowdown > MAX_NEGLIGIBLE ? 0 : -ENOENT;
}

/* struct np_oracle, by the catalog; 0 for profiles that it does not have. */
static int find_in_catalog(void *arg, uint32_t victim, uint32_t co,
			   enum np_contact contact, double *slowdown)
{
	const struct source *from = arg;
	char(*const name)[NAME_BYTES] = from->sim->profile_name;
	int32_t a = np_app_index_find(from->index, name[victim], geteuid());
	int32_t b = np_app_index_find(from->index, name[co], geteuid());

	*slowdown = np_slowdowns_between(from->table, (uint32_t)a, (uint32_t)b,
					 contact == NP_CONTACT_NODE,
					 contact == NP_CONTACT_UPLINK);
	return *slowdown > MAX_NEGLIGIBLE ? 0 : -ENOENT;
}

/* The slowdown matrix of all profiles. */
static struct np_slowdowns *make_slowdowns(const struct np_oracle *oracle,
					   size_t n_profiles)
{
	struct np_conflict *conflict = np_conflict_new(oracle);
	struct np_slowdowns *table = NULL;
	uint32_t profile;

	if (!conflict)
		cli_no_memory();
	for (size_t i = 0; i < n_profiles; i++)
		cli_check_memory(
			np_conflict_add(conflict, 0, true, &profile, NULL));
	np_conflict_predict(conflict, NULL, 0, SIZE_MAX);
	cli_check_memory(np_conflict_table(conflict, 0, &table, NULL));
	np_conflict_free(conflict);
	return table;
}

static int read_pairs(struct sim *sim)
{
	struct cli_predictions pairs;
	struct source source = { .sim = sim, .pairs = &pairs };
	const struct np_oracle oracle = { find_pair, &source };
	struct np_err err = NP_ERR_INIT;
	int32_t victim, co;
	int rc = -1;

	if (cli_predictions_read(sim->opt->pairs, &pairs, &err))
		return cli_fail("%s", err.text);
	/* All profiles must be known before the matrix is made. */
	for (size_t i = 0; i < pairs.n; i++)
		if (add_profile(sim, pairs.row[i].victim, &victim) ||
		    add_profile(sim, pairs.row[i].corunner, &co))
			rc = cli_fail("%s: more than %d profiles",
				      sim->opt->pairs,
				      NP_CONFLICT_MAX_PROFILES);
	sim->slowdowns = make_slowdowns(&oracle, sim->n_profiles);
	sim->known = np_slowdowns_ref(sim->slowdowns);
	snprintf(sim->models_text, sizeof(sim->models_text),
		 "%zu pair%s from %s", pairs.n, cli_plural_s(pairs.n),
		 sim->opt->pairs);
	cli_predictions_free(&pairs);
	return rc;
}

/*
 * Add the names of all profiles that the caller may use. A name of --rules or
 * --mix that is none of them is refused: it is probably mistyped, and its jobs
 * would count as having a profile. Returns -1, or the exit status.
 */
static int add_all(struct np_store *store, struct sim *sim)
{
	bool exists[NP_CONFLICT_MAX_PROFILES] = { false };
	size_t n_named = sim->n_profiles;

	for (int i = 0; i < 2; i++) {
		struct np_store_app *apps = NULL;
		size_t n = 0;
		int32_t profile;

		if (np_store_list_apps(store,
				       i ? NP_STORE_USER : NP_STORE_PUBLISHED,
				       geteuid(), &apps, &n, NULL))
			continue;
		for (size_t k = 0; k < n; k++)
			if (strcmp(apps[k].name, NP_IDLE_APP) &&
			    !add_profile(sim, apps[k].name, &profile) &&
			    profile >= 0)
				exists[profile] = true;
		free(apps);
	}
	for (size_t i = 0; i < n_named; i++)
		if (!exists[i])
			return cli_fail(
				"%s: no profile of \"%s\", neither your own "
				"nor a published one, and no --pairs=FILE",
				sim->opt->rules ? sim->opt->rules : "--mix",
				sim->profile_name[i]);
	return -1;
}

/* Refresh the catalog until all predictions are made, and make the matrix. */
static int load_predictions(const struct sim *sim, struct np_catalog *catalog,
			    struct np_slowdowns **to, struct np_err *err)
{
	struct np_app_index *index = NULL;
	struct np_slowdowns *table = NULL;
	bool changed, more = true;
	int rc = 0;

	np_catalog_refresh_groups(catalog, CATALOG_SEC);
	while (!rc && more)
		rc = np_catalog_refresh(catalog, CATALOG_SEC, NULL, NULL,
					&changed, &more, err);
	if (!rc)
		rc = np_catalog_table(catalog, &table, err);
	if (!rc)
		rc = np_catalog_index(catalog, &index);
	if (!rc) {
		struct source source = { .sim = sim,
					 .table = table,
					 .index = index };
		const struct np_oracle oracle = { find_in_catalog, &source };

		*to = make_slowdowns(&oracle, sim->n_profiles);
	}
	np_app_index_unref(index);
	np_slowdowns_unref(table);
	return rc;
}

/*
 * Predict as the placement plugin does, with its checks of each profile, and
 * then once more with the uncertain predictions, on which it does not act.
 */
static int predict_from_catalog(struct sim *sim, const struct np_conf *conf,
				const char *cluster)
{
	struct np_catalog *catalog = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = np_catalog_new(conf->store, cluster, &conf->place, &catalog,
				&err);

	for (size_t i = 0; !rc && i < sim->n_profiles; i++)
		np_catalog_expect_job(catalog, sim->profile_name[i], geteuid());
	if (!rc)
		rc = load_predictions(sim, catalog, &sim->known, &err);
	if (!rc) {
		np_catalog_accept_doubtful(catalog);
		rc = load_predictions(sim, catalog, &sim->slowdowns, &err);
	}
	if (!rc)
		snprintf(sim->models_text, sizeof(sim->models_text),
			 "calibration %s", np_catalog_fabric(catalog));
	np_catalog_free(catalog);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* Predictions from the profiles in the store, on the newest calibration. */
static int predict_from_store(struct sim *sim)
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
	rc = add_all(store.store, sim);
	if (rc >= 0) {
		cli_store_close(&store);
		return rc;
	}
	if (np_fabric_store_load(store.store, NULL, NULL, &cal, &err)) {
		cli_store_close(&store);
		return cli_fail("%s; or use --pairs=FILE for predictions",
				err.text);
	}
	snprintf(cluster, sizeof(cluster), "%s", cal.cluster);
	np_calibration_free(&cal);
	cli_store_close(&store);
	return predict_from_catalog(sim, &conf, cluster);
}

/* Profiles of jobs: by rules, by --mix, or by the names of the jobs. */
static int make_profiles(struct sim *sim)
{
	struct rules rules = { .n = 0 };
	int rc = sim->opt->rules ? read_rules(sim, &rules) : -1;

	if (rc < 0)
		rc = add_mix(sim);
	if (rc < 0)
		rc = sim->opt->pairs ? read_pairs(sim) :
				       predict_from_store(sim);
	if (rc < 0 && sim->opt->rules)
		apply_rules(sim, &rules);
	else if (rc < 0 && !sim->opt->mix.n)
		names_are_profiles(sim);
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
	/* The settings that add_policy() uses. */
	static const char *const used[] = { "MaxSlowdown", "MaxDefer",
					    "PlacementInterval", "UnknownAs" };
	const char *equal = strchr(text, '=');
	char value[128];
	int rc;

	if (!equal)
		return np_errf(err, -EINVAL,
			       "--set=%.64s: expected KEY=VALUE of "
			       "netprof.conf(5), such as MaxSlowdown=20%%",
			       text);
	snprintf(value, sizeof(value), "%s%s", equal + 1,
		 !strncasecmp(text, "MaxSlowdown", (size_t)(equal - text)) &&
				 equal[1] && !strchr(equal, '%') ?
			 "%" :
			 "");
	rc = np_conf_set_key(conf, text, (size_t)(equal - text), value, err);
	if (rc == -ENOENT)
		return np_errf(err, -EINVAL,
			       "--set=%.64s: netprof.conf(5) has no such key",
			       text);
	for (size_t i = 0; i < NP_ARRAY_SIZE(used); i++)
		if (strlen(used[i]) == (size_t)(equal - text) &&
		    !strncasecmp(used[i], text, strlen(used[i])))
			return rc;
	return np_errf(err, -EINVAL,
		       "--set=%.64s: has no effect here, expected MaxSlowdown, "
		       "MaxDefer, PlacementInterval or UnknownAs",
		       text);
}

/* Parse the mode of a policy. */
static int parse_mode(const char *word, enum np_mode *mode, struct np_err *err)
{
	for (int m = NP_MODE_OFF; m <= NP_MODE_ENFORCE; m++)
		if (!strcmp(word, np_mode_name((enum np_mode)m))) {
			*mode = (enum np_mode)m;
			return 0;
		}
	return np_errf(
		err, -EINVAL,
		"--policy: \"%.64s\": expected off, advise, prefer or enforce, "
		"with settings such as enforce:MaxSlowdown=20%%",
		word);
}

/* Parse "enforce:MaxSlowdown=20%"; conf is what it changes. */
static int parse_policy(char *word, struct np_conf *conf, enum np_mode *mode,
			struct np_err *err)
{
	char *save = NULL, *part = strtok_r(word, ":", &save);
	int rc = parse_mode(part ? part : "", mode, err);

	while (!rc && (part = strtok_r(NULL, ":", &save)))
		rc = set_key(conf, part, err);
	return rc;
}

/*
 * Parse one policy, such as "enforce:MaxSlowdown=20%". It starts from
 * netprof.conf, then --set applies, then its own settings.
 */
static int add_policy(struct sim *sim, char *word)
{
	struct policy *policy = &sim->policy[sim->n_policies];
	struct np_policy *limits = &policy->sim.policy;
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;
	int rc;

	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	snprintf(policy->name, sizeof(policy->name), "%s", word);
	for (size_t i = rc = 0; !rc && i < sim->opt->n_settings; i++)
		rc = set_key(&conf, sim->opt->setting[i], &err);
	if (!rc)
		rc = parse_policy(word, &conf, &policy->sim.mode, &err);
	if (rc)
		return cli_fail("%s", err.text);
	np_policy_init(limits);
	limits->max_slowdown = conf.place.max_slowdown;
	limits->max_hold_sec = conf.place.max_hold_sec;
	/* As in the plugin. */
	limits->hold_step_sec = fmax(30, 10 * conf.place.interval_sec);
	if (*conf.place.unknown_as)
		limits->unknown_as = profile_of(sim, conf.place.unknown_as);
	policy->sim.interval_sec = (uint32_t)ceil(conf.place.interval_sec);
	sim->n_policies++;
	return -1;
}

/* Parse --policy; the default compares off with enforce. */
static int make_policies(struct sim *sim)
{
	char *text = cli_strdup(sim->opt->policies ? sim->opt->policies :
						     "off,enforce");
	char *save = NULL, *word;
	int rc = -1;

	for (word = strtok_r(text, ",", &save); rc < 0 && word;
	     word = strtok_r(NULL, ",", &save))
		rc = add_policy(sim, word);
	free(text);
	return rc;
}

/* Read all inputs, each of which may refer to those before it. */
static int read_inputs(struct sim *sim)
{
	int (*const reader[])(struct sim *) = {
		read_jobs,  read_cluster,  read_shares,
		make_queue, make_profiles, make_policies,
	};
	int rc = -1;

	for (size_t i = 0; rc < 0 && i < NP_ARRAY_SIZE(reader); i++)
		rc = reader[i](sim);
	return rc;
}

/*
 * ---- Results: a summary of a simulation, and what a policy changes ----
 */

#define LONG_HOLD_SEC 600 /* a longer hold counts as long */
#define SHORT_RUN_SEC 10  /* shorter run times count as this in slowdowns */
#define WEEK_SEC (7 * 86400)
#define MAX_WEEKS 4096	/* of a log; a longer one counts as one week */
#define REPLICATES 1000 /* bootstrap samples */

/* Whether a job has run to its end. */
static bool has_ended(const struct np_sim_outcome *outcome)
{
	return outcome->start_sec >= 0 && outcome->end_sec >= 0;
}

/* From when a job was eligible to its start. */
static double wait_sec(const struct np_sim_outcome *outcome)
{
	return (double)(outcome->start_sec - outcome->eligible_sec);
}

static double ran_sec(const struct np_sim_outcome *outcome)
{
	return (double)(outcome->end_sec - outcome->start_sec);
}

/*
 * Run time lost to interference: what the run took longer than alone. A job
 * that its time limit ended has lost only up to that limit.
 */
static double lost_sec(const struct np_sim_job *job,
		       const struct np_sim_outcome *outcome)
{
	return outcome->slowed ? fmax(0, ran_sec(outcome) - job->run_sec) : 0;
}

/* Add a job that ended to the summary. */
static void add_job(struct summary *sum, const struct np_sim_cluster *cluster,
		    const struct np_sim_job *job,
		    const struct np_sim_outcome *outcome)
{
	double nodes = nodes_of(cluster, job);
	double alone = fmax(job->run_sec, SHORT_RUN_SEC);
	double ran = ran_sec(outcome);

	sum->ended++;
	sum->slowdown_mean += fmax(1, (wait_sec(outcome) + ran) / alone);
	sum->used_node_sec += nodes * ran;
	sum->lost_node_sec += nodes * lost_sec(job, outcome);
	sum->limits += outcome->over_limit && outcome->slowed &&
		       job->run_sec < job->limit_sec;
	sum->slowed += outcome->slowed;
}

/* Add what placement did to a job. */
static void add_hold(struct summary *sum, const struct np_sim_outcome *outcome)
{
	sum->was_restricted += outcome->was_restricted;
	sum->held += outcome->held_sec > 0;
	sum->held_long += outcome->held_sec > LONG_HOLD_SEC;
	sum->released += outcome->released;
	sum->held_longest_sec = fmax(sum->held_longest_sec, outcome->held_sec);
}

static void summarise(const struct np_sim_input *input,
		      const struct np_sim_outcome *outcome,
		      const struct np_sim_counts *counts, struct summary *out)
{
	double *wait = cli_calloc(input->n, sizeof(*wait)), sum = 0;
	struct summary result = {
		.backfill_starts = counts->backfill_starts,
		.makespan_sec = (double)(counts->last_sec - counts->first_sec),
	};

	for (size_t i = 0; i < input->n; i++) {
		const struct np_sim_outcome *one = &outcome[i];

		result.too_large += one->how == NP_SIM_TOO_LARGE;
		add_hold(&result, one);
		if (one->start_sec < 0)
			continue;
		wait[result.started++] = wait_sec(one);
		sum += wait_sec(one);
		if (has_ended(one))
			add_job(&result, input->cluster, &input->job[i], one);
	}
	if (result.started) {
		result.wait_mean_sec = sum / (double)result.started;
		result.wait_median_sec = np_quantile(wait, result.started, .5);
		result.wait_p95_sec = np_quantile(wait, result.started, .95);
	}
	if (result.ended)
		result.slowdown_mean /= (double)result.ended;
	if (result.makespan_sec > 0)
		result.utilisation = result.used_node_sec /
				     result.makespan_sec /
				     (double)input->cluster->leaves->n_nodes;
	free(wait);
	*out = result;
}

/* Add a job, unless it has not ended without or with the policy. */
static void compare_job(struct comparison *to,
			const struct np_sim_cluster *cluster,
			const struct np_sim_job *job,
			const struct np_sim_outcome *without,
			const struct np_sim_outcome *with)
{
	double nodes = nodes_of(cluster, job);

	if (!has_ended(without) || !has_ended(with))
		return;
	to->jobs++;
	to->used_without += nodes * ran_sec(without);
	to->used_with += nodes * ran_sec(with);
	to->lost_without += nodes * lost_sec(job, without);
	to->lost_with += nodes * lost_sec(job, with);
	to->wait_without += wait_sec(without);
	to->wait_with += wait_sec(with);
}

/* Append the sums of each week with one more seed. */
static void compare_by_week(const struct np_sim_input *input,
			    const struct np_sim_outcome *without,
			    const struct np_sim_outcome *with,
			    struct weeks *weeks)
{
	int64_t first = input->n ? input->job[0].submit_sec : 0;
	int64_t last = input->n ? input->job[input->n - 1].submit_sec : 0;
	size_t n = (size_t)((last - first) / WEEK_SEC) + 1;
	size_t before = weeks->n_seeds * weeks->n;

	if (n > MAX_WEEKS)
		n = 1;
	cli_check_memory(
		np_array_resize(&weeks->at, before + n, sizeof(*weeks->at)));
	weeks->n = n;
	weeks->n_seeds++;
	memset(weeks->at + before, 0, n * sizeof(*weeks->at));
	for (size_t i = 0; i < input->n; i++) {
		const struct np_sim_job *job = &input->job[i];
		size_t number = (size_t)((job->submit_sec - first) / WEEK_SEC);

		compare_job(&weeks->at[before + (number < n ? number : 0)],
			    input->cluster, job, &without[i], &with[i]);
	}
}

/* Add the sums of one week to others. */
static void add_week(struct comparison *to, const struct comparison *week)
{
	to->used_without += week->used_without;
	to->used_with += week->used_with;
	to->lost_without += week->lost_without;
	to->lost_with += week->lost_with;
	to->wait_without += week->wait_without;
	to->wait_with += week->wait_with;
	to->jobs += week->jobs;
}

/* Node-seconds no longer lost, relative to those used without the policy. */
static double saved_share(const struct comparison *week)
{
	return week->used_without > 0 ? (week->lost_without - week->lost_with) /
						week->used_without :
					0;
}

/* Relative change of the total wait; NaN if only the policy makes jobs wait. */
static double wait_change(const struct comparison *week)
{
	if (week->wait_without > 0)
		return week->wait_with / week->wait_without - 1;
	return week->wait_with > 0 ? NAN : 0;
}

/* Change of the mean wait, seconds. */
static double mean_wait_change(const struct comparison *of)
{
	return (of->wait_with - of->wait_without) / (double)of->jobs;
}

/*
 * Set the 95 % interval of an estimate to that of its bootstrap samples. A
 * sample that is NaN has waits under the policy only, and counts as infinite.
 * If an end is infinite, the interval stays unknown.
 */
static void set_interval(struct estimate *estimate, double sample[REPLICATES])
{
	double low, high;

	for (int k = 0; k < REPLICATES; k++)
		if (isnan(sample[k]))
			sample[k] = INFINITY;
	low = np_quantile(sample, REPLICATES, .025);
	high = np_quantile(sample, REPLICATES, .975);
	if (!isfinite(high))
		return;
	estimate->low = low;
	estimate->high = high;
}

/* Draw n of n with replacement: how often each was drawn. */
static void draw(struct np_rng *rng, size_t n, unsigned *times)
{
	memset(times, 0, n * sizeof(*times));
	for (size_t i = 0; i < n; i++)
		times[n > 1 ? np_rng_below(rng, n) : 0]++;
}

/* Sum up the weeks, each as often as its week and its seed were drawn. */
static struct comparison sum_weeks(const struct weeks *weeks,
				   const unsigned *seed_times,
				   const unsigned *week_times)
{
	struct comparison sums = { .jobs = 0 };

	for (size_t s = 0; s < weeks->n_seeds; s++)
		for (size_t w = 0; w < weeks->n; w++)
			for (unsigned k = seed_times[s] * week_times[w]; k; k--)
				add_week(&sums, &weeks->at[s * weeks->n + w]);
	return sums;
}

/*
 * The bootstrap draws seeds and weeks of the log independently of each other.
 * A week has the same jobs with every seed, so its results with several seeds
 * are not independent samples, and drawing from all of them together would
 * make intervals too narrow (Owen 2007, "The pigeonhole bootstrap").
 */
static void estimate_gain(const struct weeks *weeks, struct gain *out)
{
	struct np_rng *rng = np_rng_new(1, "weeks");
	double *saved = cli_calloc(REPLICATES, sizeof(*saved));
	double *delay = cli_calloc(REPLICATES, sizeof(*delay));
	unsigned *seeds = cli_calloc(weeks->n_seeds, sizeof(*seeds));
	unsigned *in_log = cli_calloc(weeks->n, sizeof(*in_log));
	bool has_interval = weeks->n_seeds * weeks->n > 1;
	struct comparison all = { .jobs = 0 };

	if (!rng)
		cli_no_memory();
	for (size_t i = 0; i < weeks->n_seeds * weeks->n; i++)
		add_week(&all, &weeks->at[i]);
	for (int k = 0; k < REPLICATES; k++) {
		struct comparison sums;

		draw(rng, weeks->n_seeds, seeds);
		draw(rng, weeks->n, in_log);
		sums = sum_weeks(weeks, seeds, in_log);
		saved[k] = saved_share(&sums);
		delay[k] = wait_change(&sums);
	}
	out->saved = (struct estimate){ saved_share(&all), NAN, NAN };
	out->delay = (struct estimate){ wait_change(&all), NAN, NAN };
	if (has_interval)
		set_interval(&out->saved, saved);
	if (has_interval && !isnan(out->delay.value))
		set_interval(&out->delay, delay);
	out->wait_change_sec = all.jobs ? mean_wait_change(&all) : 0;
	np_rng_free(rng);
	free(saved);
	free(delay);
	free(seeds);
	free(in_log);
}

/* The values of a summary, which are the rows of the table of policies. */
enum unit { U_COUNT, U_SEC, U_SHARE, U_HOURS, U_NUMBER };
#define AT(member) offsetof(struct summary, member)
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
_Static_assert(NP_ARRAY_SIZE(rows) == N_VALUES, "a total for each row");

/*
 * The value of a row; counts are stored as size_t, everything else as double.
 */
static double value_of(const struct row *row, const struct summary *sum)
{
	const char *at = (const char *)sum + row->at;

	return row->unit == U_COUNT ? (double)*(const size_t *)at :
				      *(const double *)at;
}

/*
 * Update the means of a policy that has n seeds already with another seed.
 * Counts are rounded here, and not added up as rounded means.
 */
static void add_summary(struct policy *policy, const struct summary *sum,
			size_t n)
{
	double longest_sec = policy->sum.held_longest_sec;
	char *to = (char *)&policy->sum;

	/* Members that are in no row are those of the last seed. */
	policy->sum = *sum;
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		double mean;

		policy->total[i] += value_of(&rows[i], sum);
		mean = policy->total[i] / (double)(n + 1);
		if (rows[i].unit == U_COUNT)
			*(size_t *)(to + rows[i].at) = (size_t)(mean + .5);
		else
			*(double *)(to + rows[i].at) = mean;
	}
	policy->sum.held_longest_sec = fmax(longest_sec, sum->held_longest_sec);
}

/*
 * ---- Simulation: each policy with each seed ----
 */

static volatile sig_atomic_t interrupted;

/* The simulation stops at its next event. */
static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Progress of the whole work. */
struct progress {
	struct sim *sim;
	const char *policy;
	size_t part, parts; /* simulations done, and their total */
	int shown;	    /* percent that are displayed; -1: none yet */
};

/* Update the progress bar, on a terminal only. */
static void show_progress(struct progress *progress, int percent)
{
	if (percent == progress->shown || !isatty(STDERR_FILENO))
		return;
	progress->shown = percent;
	fprintf(stderr, "\r%3d %%  simulating %-40.40s", percent,
		progress->policy);
	if (percent == 100)
		fprintf(stderr, "\r%60s\r", "");
}

/*
 * Called by the simulation now and then: update the progress, and stop after
 * ^C.
 */
static bool may_continue(void *arg, size_t ended)
{
	struct progress *progress = arg;
	double done = (double)progress->part +
		      (double)ended / (double)progress->sim->log.n;

	progress->sim->share_done = done / (double)progress->parts;
	show_progress(progress, (int)(100 * progress->sim->share_done));
	return !interrupted;
}

/* --events: print one line for each start. */
static void write_event(void *arg, uint32_t job,
			const struct np_sim_outcome *outcome,
			const uint32_t *node, size_t n)
{
	const struct progress *progress = arg;
	const struct sim *sim = progress->sim;
	const struct np_queue_job *from = &sim->log.job[job];

	fprintf(sim->events, "%s|%llu", progress->policy,
		(unsigned long long)from->id);
	if (from->task != NP_QUEUE_NONE)
		fprintf(sim->events, "_%u", from->task);
	fprintf(sim->events, "|%lld|%lld|%lld|%s|%s|%u|",
		(long long)from->submit_sec, (long long)outcome->eligible_sec,
		(long long)outcome->start_sec,
		outcome->how == NP_SIM_MAIN ? "main" : "backfill",
		outcome->released	? "released at MaxDefer" :
		outcome->was_restricted ? "restricted" :
		outcome->was_held	? "held" :
					  "-",
		outcome->held_sec);
	for (size_t i = 0; i < n; i++)
		fprintf(sim->events, "%s%u", i ? "," : "", node[i]);
	fputc('\n', sim->events);
}

/* One policy with one seed. */
static int simulate_policy(struct sim *sim, struct progress *progress, size_t i,
			   uint32_t seed, struct np_sim_outcome *outcome)
{
	struct policy *policy = &sim->policy[i];
	struct np_sim_input input = {
		.cluster = &sim->cluster,
		.job = sim->job,
		.n = sim->log.n,
		.scheduler = &sim->opt->scheduler,
		.slowdowns = sim->slowdowns,
		.known = sim->known,
		.assoc = sim->assoc,
		.n_assocs = sim->associations.n,
		.policy = &policy->sim,
		.rigid = sim->opt->fixed_run_times,
		.started = sim->events ? write_event : NULL,
		.go_on = may_continue,
		.arg = progress,
	};
	struct np_err err = NP_ERR_INIT;
	struct summary sum;
	struct np_sim_counts counts;
	int rc;

	progress->policy = policy->name;
	rc = np_simulate(&input, outcome, &counts, &err);
	if (rc)
		return cli_fail("%s", err.text);
	/* Interrupted simulations still have results of the jobs that ended. */
	sim->stopped |= counts.stopped;
	summarise(&input, outcome, &counts, &sum);
	/* The same jobs under the first policy are the reference. */
	if (i)
		compare_by_week(&input, sim->reference, outcome,
				&policy->weeks);
	add_summary(policy, &sum, seed);
	progress->part++;
	return -1;
}

/* The policy that the verdict is about: the last one that changes jobs. */
static const struct policy *acting_policy(const struct sim *sim)
{
	/* The first policy is what others are compared with. */
	for (size_t i = sim->n_policies; i-- > 1;)
		if (sim->policy[i].sim.mode > NP_MODE_ADVISE)
			return &sim->policy[i];
	return NULL;
}

/* Whether the effect on groups of jobs is that of policy i. */
static bool shows_groups(const struct sim *sim, size_t i)
{
	const struct policy *acting = acting_policy(sim);

	return acting ? acting == &sim->policy[i] : i + 1 == sim->n_policies;
}

/* A copy of the outcomes of all jobs. */
static struct np_sim_outcome *copy_outcomes(const struct sim *sim,
					    const struct np_sim_outcome *from)
{
	struct np_sim_outcome *to = cli_calloc(sim->log.n, sizeof(*to));

	memcpy(to, from, sim->log.n * sizeof(*to));
	return to;
}

/* Simulate all policies with one seed, i.e. with the same profiles. */
static int simulate_seed(struct sim *sim, struct progress *progress,
			 uint32_t seed, struct np_sim_outcome *outcome)
{
	int rc = -1;

	sample_profiles(sim, seed);
	for (size_t i = 0; rc < 0 && !interrupted && i < sim->n_policies; i++) {
		rc = simulate_policy(sim, progress, i, seed,
				     i ? outcome : sim->reference);
		/* Keep the first seed's jobs under both policies. */
		if (!seed && i && shows_groups(sim, i)) {
			sim->without = copy_outcomes(sim, sim->reference);
			sim->with = copy_outcomes(sim, outcome);
		}
	}
	sim->stopped |= interrupted && progress->part < progress->parts;
	sim->seeds_done += rc < 0 && progress->part >= sim->n_policies;
	return rc;
}

static int simulate_all(struct sim *sim)
{
	uint32_t seeds = sim->opt->seeds;
	struct progress progress = {
		.sim = sim,
		.parts = sim->n_policies * seeds,
		.shown = -1,
	};
	struct np_sim_outcome *outcome =
		cli_calloc(sim->log.n, sizeof(*outcome));
	int rc = -1;

	sim->reference = cli_calloc(sim->log.n, sizeof(*outcome));
	for (uint32_t i = 0; rc < 0 && !sim->stopped && i < seeds; i++)
		rc = simulate_seed(sim, &progress, i, outcome);
	for (size_t i = 1; rc < 0 && i < sim->n_policies; i++)
		if (sim->policy[i].weeks.n_seeds)
			estimate_gain(&sim->policy[i].weeks,
				      &sim->policy[i].gain);
	show_progress(&progress, 100);
	free(outcome);
	return rc;
}

/*
 * ---- Output as text ----
 */

#define NAME_COLUMNS 26	  /* columns of a row's name */
#define POLICY_COLUMNS 13 /* columns of a policy, at least */
#define N_SHOWN 3	  /* users, partitions or names that are listed */

/* "12.3 %" */
static const char *percent(double ratio)
{
	return cli_text("%.1f %%", fabs(100 * ratio) < .05 ? 0 : 100 * ratio);
}

/* " (95 % interval 1.1 % to 3.0 %)"; "" if the interval is not known. */
static const char *interval_text(const struct estimate *range)
{
	return isfinite(range->low) ?
		       cli_text(" (95 %% interval %s to %s)",
				percent(range->low), percent(range->high)) :
		       "";
}

/* Time from the first to the last submission: "30 days", "3 hours". */
static const char *span_text(const struct sim *sim)
{
	double days = (double)(sim->job[sim->log.n - 1].submit_sec -
			       sim->job[0].submit_sec) /
		      86400;

	return days >= 2	? cli_text("%.0f days", days) :
	       days >= 2 / 24.0 ? cli_text("%.0f hours", 24 * days) :
				  cli_text("%.0f minutes", 1440 * days);
}

/* How many conflicts may have been missed, and what to do about it; or "". */
static const char *uncertain_text(const struct sim *sim)
{
	return sim->n_uncertain ?
		       cli_text(" %zu pair%s of applications %s only an "
				"uncertain prediction, on which placement does "
				"not act: netprof matrix marks such pairs, and "
				"netprof predict says what to measure.",
				sim->n_uncertain,
				cli_plural_s(sim->n_uncertain),
				sim->n_uncertain == 1 ? "has" : "have") :
		       "";
}

/* Why the policy did nothing; NULL: it did something. */
static const char *nothing_text(const struct sim *sim)
{
	const struct policy *policy = acting_policy(sim);
	double limit = policy ? policy->sim.policy.max_slowdown : NAN;

	if (!policy || policy->sum.held || policy->sum.was_restricted)
		return NULL;
	if (!sim->known_jobs)
		return "Placement would have changed nothing: no job of the "
		       "log has a profile.";
	if (sim->worst <= limit)
		return cli_text(
			"Placement would have changed nothing: no application "
			"is predicted to slow another on its leaf switch by "
			"more than %s (MaxSlowdown); the largest predicted "
			"slowdown is %s.%s",
			percent(limit), percent(sim->worst),
			uncertain_text(sim));
	return cli_text("Placement would have changed nothing: conflicting "
			"jobs never needed nodes at the same time.%s",
			uncertain_text(sim));
}

/* The size of a change: an estimate below 0 gets the opposite sign. */
static struct estimate absolute(const struct estimate *change)
{
	if (!(change->value < 0))
		return *change;
	return (struct estimate){ -change->value, -change->high, -change->low };
}

/* "lengthened waiting times by 3.0 % (95 % interval 1.0 % to 5.0 %)" */
static const char *delay_text(const struct gain *gain)
{
	struct estimate delay = absolute(&gain->delay);

	if (isnan(delay.value))
		return cli_text("lengthened the mean wait from 0 to %.0f s",
				gain->wait_change_sec);
	if (delay.value == 0)
		return "left waiting times as they were";
	return cli_text("%s waiting times by %s%s",
			gain->delay.value < 0 ? "shortened" : "lengthened",
			percent(delay.value), interval_text(&delay));
}

/* One sentence: what the acting policy would have saved and cost. */
static const char *verdict_text(const struct sim *sim)
{
	const struct policy *policy = acting_policy(sim);
	const char *nothing = nothing_text(sim);
	struct estimate saved;

	if (!policy && sim->n_policies == 1)
		return "Only one policy was simulated: there is nothing to "
		       "compare it with.";
	if (!policy && sim->policy[0].sim.mode > NP_MODE_ADVISE)
		return cli_text("Only the first policy, %s, changes jobs, and "
				"the others are compared with it. To see what "
				"it costs and saves, name off first: "
				"--policy=off,%s",
				sim->policy[0].name, sim->policy[0].name);
	if (!policy)
		return "None of the simulated policies changes jobs.";
	if (!sim->seeds_done)
		return "Stopped before there was anything to compare.";
	if (nothing)
		return nothing;
	saved = absolute(&policy->gain.saved);
	return cli_text(
		"Over these %s, %s would have %s %s of the node-hours%s and "
		"%s; %zu of %zu jobs would have been held longer than %d "
		"minutes.",
		span_text(sim), policy->name,
		policy->gain.saved.value < 0 ? "cost" : "saved",
		percent(saved.value), interval_text(&saved),
		delay_text(&policy->gain), policy->sum.held_long,
		policy->sum.started, LONG_HOLD_SEC / 60);
}

/* A value with its unit. */
static const char *value_text(const struct row *row, double value)
{
	switch (row->unit) {
	case U_SEC:
		return value < 1 ? "0 s" : cli_sec(value);
	case U_SHARE:
		return percent(value);
	case U_HOURS:
		return cli_text("%.0f h", value / 3600);
	default:
		return cli_text("%.*f", row->unit == U_NUMBER ? 2 : 0, value);
	}
}

/* The settings of a policy distinguish it from others in the same mode. */
static const char *policy_label(const struct sim *sim, size_t i)
{
	const char *settings = strchr(sim->policy[i].name, ':');

	return settings ? settings + 1 : sim->policy[i].name;
}

/* Columns of a policy: no label is cut, so that no two become equal. */
static int policy_width(const struct sim *sim)
{
	size_t widest = POLICY_COLUMNS;

	for (size_t i = 0; i < sim->n_policies; i++)
		if (cli_width(policy_label(sim, i)) + 1 > widest)
			widest = cli_width(policy_label(sim, i)) + 1;
	return (int)widest;
}

/* Print the policies from <= i < to, side by side. */
static void print_table(const struct sim *sim, size_t from, size_t to,
			int width)
{
	printf("\n%s%-*s", cli_colour(CLI_BOLD), NAME_COLUMNS, "");
	for (size_t i = from; i < to; i++)
		cli_print_right(stdout, policy_label(sim, i), width);
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (const struct row *row = rows; row < rows + NP_ARRAY_SIZE(rows);
	     row++) {
		printf("%-*s", NAME_COLUMNS, row->name);
		for (size_t i = from; i < to; i++)
			cli_print_right(
				stdout,
				value_text(row,
					   value_of(row, &sim->policy[i].sum)),
				width);
		putchar('\n');
	}
}

/* ---- the effect on groups of jobs, with the first seed ---- */

struct group {
	uint32_t key; /* user, class of size, or partition */
	struct comparison of;
};

/* Order by the change of the wait, the largest increase first. */
static int by_change(const void *a, const void *b)
{
	const struct group *group = a, *other = b;
	double x = mean_wait_change(&group->of);
	double y = mean_wait_change(&other->of);

	return x > y ? -1 : x < y;
}

enum grouping { BY_USER, BY_SIZE, BY_PARTITION, N_GROUPINGS };
static const char *const grouping_name[N_GROUPINGS] = { "user", "size",
							"partition" };
static const char *const size_name[] = { "1 node", "2 to 8 nodes",
					 "9 to 64 nodes", "over 64 nodes" };

/* The group of a job. */
static uint32_t group_key(const struct sim *sim, size_t i,
			  enum grouping grouping)
{
	uint32_t nodes = sim->job[i].nodes;

	if (grouping == BY_SIZE)
		return nodes == 1 ? 0 : nodes <= 8 ? 1 : nodes <= 64 ? 2 : 3;
	return grouping == BY_USER ? sim->log.job[i].user :
				     sim->log.job[i].partition;
}

/*
 * The groups of one grouping, the largest increase of the mean wait first. The
 * caller frees them.
 */
static struct group *make_groups(const struct sim *sim, enum grouping grouping,
				 size_t *n)
{
	/* Jobs without a user or partition are the last group. */
	size_t n_keys = grouping == BY_SIZE ? NP_ARRAY_SIZE(size_name) :
					      sim->log.text.n + 1;
	struct group *groups = cli_calloc(n_keys, sizeof(*groups));

	for (size_t i = 0; i < sim->log.n; i++) {
		uint32_t key = group_key(sim, i, grouping);

		compare_job(&groups[key < n_keys ? key : n_keys - 1].of,
			    &sim->cluster, &sim->job[i], &sim->without[i],
			    &sim->with[i]);
	}
	*n = 0;
	for (size_t key = 0; key < n_keys; key++)
		if (groups[key].of.jobs)
			groups[(*n)++] =
				(struct group){ (uint32_t)key, groups[key].of };
	qsort(groups, *n, sizeof(*groups), by_change);
	return groups;
}

/* Name of a group, from the log or by its size. */
static const char *group_name(const struct sim *sim, enum grouping grouping,
			      uint32_t key, char *buf, size_t len)
{
	if (grouping == BY_SIZE)
		return size_name[key];
	np_queue_text(&sim->log, key, buf, len);
	return *buf ? buf : "-";
}

static void print_group(const struct sim *sim, enum grouping grouping,
			const struct group *group, bool first)
{
	double change = mean_wait_change(&group->of);
	double saved_node_sec = group->of.used_without - group->of.used_with;
	char name[64];

	printf("%-10s ", first ? grouping_name[grouping] : "");
	cli_print_left(
		stdout,
		group_name(sim, grouping, group->key, name, sizeof(name)), 18);
	printf(" %8zu ", group->of.jobs);
	cli_print_right(stdout,
			cli_text("%+.0f s", fabs(change) < .5 ? 0 : change),
			14);
	printf("%16.1f h\n",
	       fabs(saved_node_sec) < 180 ? 0 : saved_node_sec / 3600);
}

/* The groups whose mean wait grew most. */
static void print_groups(const struct sim *sim)
{
	printf("\n%s%-10s %-18s %8s %14s %18s%s\n", cli_colour(CLI_BOLD),
	       "Effect by", "", "Jobs", "Change of wait", "Node-hours saved",
	       cli_colour(CLI_PLAIN));
	for (enum grouping grouping = BY_USER; grouping < N_GROUPINGS;
	     grouping++) {
		size_t n, most = N_SHOWN + (grouping == BY_SIZE);
		struct group *groups = make_groups(sim, grouping, &n);

		for (size_t i = 0; i < n && i < most; i++)
			print_group(sim, grouping, &groups[i], !i);
		free(groups);
	}
}

/* ---- job names without a profile, and what profiling them might save ---- */

struct job_name {
	double node_sec; /* of its jobs; the first, for np_order_desc() */
	uint32_t text;
};

/* Names of jobs without a profile, those with most node-seconds first. */
static struct job_name *unprofiled(const struct sim *sim, size_t *n)
{
	struct job_name *all = cli_calloc(sim->log.text.n, sizeof(*all));

	*n = 0;
	for (size_t i = 0; i < sim->log.text.n; i++)
		all[i].text = (uint32_t)i;
	for (size_t i = 0; i < sim->log.n; i++)
		if (sim->job[i].profile < 0 &&
		    sim->log.job[i].name != NP_QUEUE_NONE)
			all[sim->log.job[i].name].node_sec +=
				nodes_of(&sim->cluster, &sim->job[i]) *
				sim->job[i].run_sec;
	qsort(all, sim->log.text.n, sizeof(*all), np_order_desc);
	while (*n < sim->log.text.n && all[*n].node_sec > 0)
		++*n;
	return all;
}

/* Share of the node-seconds that jobs with a profile have. */
static double known_share(const struct sim *sim)
{
	return sim->all_node_sec > 0 ? sim->known_node_sec / sim->all_node_sec :
				       0;
}

/* How much of the log has profiles, and what profiling more would bring. */
static void print_profiling(const struct sim *sim)
{
	const struct policy *policy = acting_policy(sim);
	double known = known_share(sim), sum = 0, factor;
	char line[512] = "", name[48];
	struct job_name *all;
	size_t n, few;

	cli_printf(CLI_PLAIN, 2,
		   "With a profile: %zu of %zu jobs, %s of the node-hours.",
		   sim->known_jobs, sim->log.n, percent(known));
	all = sim->opt->mix.n || known > .9 ? NULL : unprofiled(sim, &n);
	if (!all || !n) {
		free(all);
		return;
	}
	few = n < N_SHOWN ? n : N_SHOWN;
	for (size_t i = 0; i < few; i++) {
		sum += all[i].node_sec / sim->all_node_sec;
		cli_appendf(line, sizeof(line), "%s%s", *line ? ", " : "",
			    np_queue_text(&sim->log, all[i].text, name,
					  sizeof(name)));
	}
	cli_printf(
		CLI_PLAIN, 2,
		"Most node-hours without one: %s (%s of all). To measure one: "
		"sbatch --netprofile=NAME --netprofile-calibrate job.sh",
		line, percent(sum));
	/* A loss is only predicted if both jobs have a profile. */
	factor = fmin(1, known + sum) * fmin(1, known + sum) / (known * known);
	if (policy && known > 0 && policy->gain.saved.value > 0)
		cli_printf(CLI_PLAIN, 2,
			   "If they behave like the profiled jobs, placement "
			   "would save about %s of the node-hours with their "
			   "profiles.",
			   percent(policy->gain.saved.value * factor));
	free(all);
}

/* Where the inputs are from, what was excluded, and what is not simulated. */
static void print_source(const struct sim *sim)
{
	cli_printf(CLI_PLAIN, 2, "Jobs: %zu from %s. Cluster: %s.", sim->log.n,
		   sim->source, sim->cluster_text);
	cli_printf(CLI_PLAIN, 2, "Predictions: %s. Seeds: %zu.",
		   sim->models_text, sim->seeds_done);
	if (sim->n_uncertain)
		cli_printf(CLI_YELLOW, 2,
			   "Uncertain predictions: %zu. Here jobs slow each "
			   "other by them, but placement does not act on them; "
			   "netprof matrix marks such pairs.",
			   sim->n_uncertain);
	for (int i = 0; i < NP_QUEUE_N_ISSUES; i++)
		if (sim->log.issues[i])
			cli_printf(CLI_PLAIN, 2, "%s: %zu.",
				   np_queue_issue_text[i], sim->log.issues[i]);
	if (*sim->log.unused)
		cli_printf(CLI_PLAIN, 2, "Ignored columns: %s.",
			   sim->log.unused);
	if (sim->policy[0].sum.too_large)
		cli_printf(CLI_YELLOW, 2,
			   "Excluded, larger than the cluster: %zu job%s.",
			   sim->policy[0].sum.too_large,
			   cli_plural_s(sim->policy[0].sum.too_large));
	if (sim->merged)
		cli_printf(
			CLI_PLAIN, 2,
			"Partitions beyond the first %d, merged into one: %u.",
			NP_SIM_MAX_PARTITIONS - 1, sim->merged);
	cli_wrap(stdout,
		 "Not simulated: memory, generic resources, licences, "
		 "preemption, QOS and association limits, and run times other "
		 "than the log's.",
		 2);
}

/* The verdict, the table, the effect on groups, and the sources. */
static int print_text(const struct sim *sim)
{
	int width = policy_width(sim);
	size_t room;

	if (sim->stopped)
		cli_printf(CLI_YELLOW, 0,
			   "Stopped after %s: the results are of the jobs that "
			   "had ended by then.",
			   percent(sim->share_done));
	cli_printf(CLI_BOLD, 0, "%s", verdict_text(sim));
	room = cli_columns() < NAME_COLUMNS + width ?
		       1 :
		       (size_t)((cli_columns() - NAME_COLUMNS) / width);
	for (size_t from = 0; from < sim->n_policies; from += room)
		print_table(sim, from,
			    from + room < sim->n_policies ? from + room :
							    sim->n_policies,
			    width);
	if (acting_policy(sim) && sim->with && !nothing_text(sim))
		print_groups(sim);
	putchar('\n');
	print_profiling(sim);
	print_source(sim);
	return CLI_DONE;
}

/*
 * ---- Output for programs, and as a picture ----
 */

/* A share with its interval. */
static void put_share(json_object *in, const char *key,
		      const struct estimate *range)
{
	json_object *object = cli_put_object(in, key);

	cli_put_computed(object, "value", range->value);
	cli_put_computed(object, "low", range->low);
	cli_put_computed(object, "high", range->high);
}

/* All values of one policy, compared with the first one. */
static void put_policy(json_object *list, const struct sim *sim, size_t i)
{
	const struct policy *policy = &sim->policy[i];
	const struct np_policy *limits = &policy->sim.policy;
	json_object *to = cli_append_object(list);

	cli_put_text(to, "policy", policy->name);
	cli_put_text(to, "mode", np_mode_name(policy->sim.mode));
	cli_put_computed(to, "max_slowdown", limits->max_slowdown);
	cli_put_computed(to, "max_defer_sec", limits->max_hold_sec);
	for (size_t k = 0; k < NP_ARRAY_SIZE(rows); k++) {
		double value = value_of(&rows[k], &policy->sum);

		if (rows[k].unit == U_COUNT)
			cli_put_count(to, rows[k].key, (uint64_t)value);
		else
			cli_put_computed(to, rows[k].key, value);
	}
	if (!cli_put_if(to, "against_first", i && sim->seeds_done))
		return;
	to = cli_put_object(to, "against_first");
	put_share(to, "saved_share", &policy->gain.saved);
	put_share(to, "wait_change_share", &policy->gain.delay);
	cli_put_computed(to, "wait_change_sec", policy->gain.wait_change_sec);
}

/* All groups of one grouping; the text shows only the first ones. */
static void put_groups(json_object *list, const struct sim *sim,
		       enum grouping grouping)
{
	size_t n;
	struct group *groups = make_groups(sim, grouping, &n);
	char name[128];

	for (size_t i = 0; i < n; i++) {
		const struct group *group = &groups[i];
		json_object *to = cli_append_object(list);

		cli_put_text(to, "by", grouping_name[grouping]);
		cli_put_text(to, "who",
			     group_name(sim, grouping, group->key, name,
					sizeof(name)));
		cli_put_count(to, "jobs", group->of.jobs);
		cli_put_computed(to, "wait_change_sec",
				 mean_wait_change(&group->of));
		cli_put_computed(to, "saved_node_sec",
				 group->of.used_without - group->of.used_with);
	}
	free(groups);
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
	    "against_first/wait_change_share/value|"
	    "against_first/wait_change_share/low|"
	    "against_first/wait_change_share/high" } },
};

/* Numbers have twelve digits, because they are computed, not measured. */
static int print_data(const struct sim *sim, enum cli_format format)
{
	json_object *root = json_object_new_object(), *list;

	cli_put_text(root, "verdict", verdict_text(sim));
	cli_put_bool(root, "stopped", sim->stopped);
	cli_put_text(root, "source", sim->source);
	cli_put_count(root, "jobs", sim->log.n);
	cli_put_count(root, "jobs_with_profile", sim->known_jobs);
	cli_put_computed(root, "with_profile_share", known_share(sim));
	cli_put_count(root, "jobs_too_large", sim->policy[0].sum.too_large);
	cli_put_count(root, "nodes", sim->leaves->n_nodes);
	cli_put_count(root, "leaves", sim->leaves->n);
	cli_put_count(root, "seeds", sim->seeds_done);
	cli_put_text(root, "predictions", sim->models_text);
	cli_put_count(root, "uncertain_predictions", sim->n_uncertain);
	list = cli_put_array(root, "changed_or_excluded");
	for (int i = 0; i < NP_QUEUE_N_ISSUES; i++)
		if (sim->log.issues[i]) {
			json_object *object = cli_append_object(list);

			cli_put_text(object, "what", np_queue_issue_text[i]);
			cli_put_count(object, "count", sim->log.issues[i]);
		}
	list = cli_put_array(root, "policies");
	for (size_t i = 0; i < sim->n_policies; i++)
		put_policy(list, sim, i);
	list = cli_put_array(root, "groups");
	for (int grouping = 0; sim->with && grouping < N_GROUPINGS; grouping++)
		put_groups(list, sim, (enum grouping)grouping);
	return cli_print_output(format, "simulate", root, &parsable);
}

/* The node-hours that each policy saves, and the change of the wait. */
static int plot(const struct sim *sim, const char *path)
{
	static const char *const title[] = { "Node-hours saved",
					     "Change of the wait" };
	static const char *const axis[] = { "Node-hours saved (%)",
					    "Change of the wait (%)" };
	struct np_figure *figure =
		cli_figure_new("What each policy would have done");

	for (unsigned k = 0; k < NP_ARRAY_SIZE(title); k++) {
		struct np_panel *panel =
			cli_figure_add_panel(figure, title[k], NP_AXIS_NAMES,
					     "Policy", NP_AXIS_LINEAR, axis[k]);
		struct np_shape *shape = np_figure_add_shape(
			figure, panel, NP_SHAPE_POINTS, k, NULL);

		for (size_t i = 1; i < sim->n_policies; i++) {
			const struct policy *policy = &sim->policy[i];
			const struct estimate *change =
				k ? &policy->gain.delay : &policy->gain.saved;

			np_figure_add_name(figure, &panel->x, policy->name);
			np_figure_add_datum(figure, shape, (double)(i - 1),
					    100 * change->value,
					    100 * change->low,
					    100 * change->high);
		}
	}
	np_figure_set_caption(figure,
			      "Compared with %s; %zu jobs from %s on "
			      "%s; %zu seed%s; 95 %% intervals over "
			      "weeks and seeds. Predictions: %s.",
			      sim->policy[0].name, sim->log.n, sim->source,
			      sim->cluster_text, sim->seeds_done,
			      cli_plural_s(sim->seeds_done), sim->models_text);
	return cli_figure_save_and_free(figure, path);
}

/*
 * ---- The command and its options ----
 */

#define FAIR_PERIOD_SEC 300	  /* PriorityCalcPeriod, Slurm's default */
#define HALF_LIFE_SEC (7 * 86400) /* PriorityDecayHalfLife, Slurm's default */

/* Read the inputs and open the file of events. */
static int open_inputs(struct sim *sim)
{
	int rc = read_inputs(sim);

	if (rc < 0 && sim->opt->events) {
		sim->events = fopen(sim->opt->events, "we");
		if (!sim->events)
			rc = cli_fail("%s: %s", sim->opt->events,
				      strerror(errno));
		else
			fputs("policy|job|submit|eligible|start|pass|placement|"
			      "held_sec|nodes\n",
			      sim->events);
	}
	return rc;
}

static void free_all(struct sim *sim)
{
	void *const arrays[] = {
		sim->reference,	   sim->without,      sim->with,
		sim->job,	   sim->assoc,	      sim->all_nodes,
		sim->above,	   sim->above_leaves, sim->partition_of,
		sim->profile_name,
	};

	for (size_t i = 0; i < sim->n_policies; i++)
		free(sim->policy[i].weeks.at);
	for (size_t i = 0; i < NP_ARRAY_SIZE(arrays); i++)
		free(arrays[i]);
	np_index_free(&sim->associations);
	np_slowdowns_unref(sim->slowdowns);
	np_slowdowns_unref(sim->known);
	np_leaves_unref(sim->leaves);
	np_queue_log_free(&sim->log);
}

/* --set may be given several times. */
static int add_setting(char *text, void *at, struct np_err *err)
{
	struct sim_options *opt = at;
	struct np_conf conf;

	if (opt->n_settings == MAX_SETTINGS)
		return np_errf(err, -EINVAL, "--set: more than %d",
			       MAX_SETTINGS);
	opt->setting[opt->n_settings++] = text;
	np_conf_init(&conf);
	return set_key(&conf, text, err);
}

/* --policy=off,enforce:MaxSlowdown=20% is checked here, and kept as it is. */
static int take_policies(char *text, void *at, struct np_err *err)
{
	struct sim_options *opt = at;
	char *copy = cli_strdup(text), *save = NULL, *word;
	int rc = 0;
	struct np_conf conf;
	enum np_mode mode;
	size_t n = 0;

	np_conf_init(&conf);
	for (word = strtok_r(copy, ",", &save); !rc && word;
	     word = strtok_r(NULL, ",", &save))
		rc = n++ == MAX_POLICIES ?
			     np_errf(err, -EINVAL,
				     "--policy: more than %d policies",
				     MAX_POLICIES) :
			     parse_policy(word, &conf, &mode, err);
	if (!rc && !n)
		rc = np_errf(
			err, -EINVAL,
			"--policy: expected off, advise, prefer or enforce");
	free(copy);
	opt->policies = text;
	return rc;
}

static int take_last(char *text, void *at, struct np_err *err)
{
	size_t digits;

	*(const char **)at = text;
	return unit_of_last(text, &digits) ?
		       0 :
		       np_errf(err, -EINVAL,
			       "--last=%.40s: expected a time such as 30d, 12h "
			       "or 4w",
			       text);
}

/*
 * --leaves: leaves and nodes of each, "64x32", or groups of these, "4x16x32".
 */
static int take_leaves(char *text, void *at, struct np_err *err)
{
	struct sim_options *opt = at;
	unsigned groups = 0, leaves = 0, nodes = 0;
	bool plain = !text[strspn(text, "0123456789x")];
	uint64_t all; /* leaves */
	int end = 0;

	sscanf(text, "%5ux%5ux%5u%n", &groups, &leaves, &nodes, &end);
	if (!end) {
		groups = 0;
		sscanf(text, "%5ux%5u%n", &leaves, &nodes, &end);
	} else if (!groups) {
		end = 0;
	}
	all = (uint64_t)leaves * (groups ? groups : 1);
	if (!plain || !end || text[end] || !leaves || !nodes ||
	    nodes > NP_LEAF_MAX_NODES || all > NP_LEAVES_MAX ||
	    all * nodes > NP_LEAVES_MAX_NODES)
		return np_errf(
			err, -EINVAL,
			"--leaves=%.40s: expected leaves and nodes on each, "
			"such as 64x32, or groups of leaves, such as 4x16x32",
			text);
	opt->groups = groups;
	opt->leaves = leaves;
	opt->nodes = nodes;
	return 0;
}

/* --mix=fft:20,unknown:80 */
static int take_mix(char *text, void *at, struct np_err *err)
{
	struct sim_options *opt = at;
	char *save = NULL, *word;

	opt->mix.n = 0;
	opt->mix.sum = 0;
	for (word = strtok_r(text, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		char *colon = strrchr(word, ':');
		const char *end = NULL;
		double share;

		if (colon)
			end = np_decimal_parse(colon + 1, &share);
		if (!end || *end || colon == word || !(share > 0) ||
		    share > 1e6 || opt->mix.n == MAX_MIX ||
		    colon - word >= NAME_BYTES)
			return np_errf(err, -EINVAL,
				       "--mix: \"%.64s\": expected a name and "
				       "a weight, such as fft:20",
				       word);
		*colon = '\0';
		opt->mix.name[opt->mix.n] = word;
		opt->mix.share[opt->mix.n++] = share;
		opt->mix.sum += share;
	}
	return opt->mix.n ? 0 :
			    np_errf(err, -EINVAL,
				    "--mix: expected names and weights, such "
				    "as fft:20");
}

/* --order=priority, submit or fairshare. */
static int take_order(char *text, void *at, struct np_err *err)
{
	struct sim_options *opt = at;

	opt->by_submission = !strcmp(text, "submit");
	opt->fair = !strcmp(text, "fairshare");
	opt->scheduler.fair_period_sec = opt->fair ? FAIR_PERIOD_SEC : 0;
	if (!opt->by_submission && !opt->fair && strcmp(text, "priority"))
		return np_errf(err, -EINVAL,
			       "--order=%.64s: expected priority,"
			       " submit or fairshare",
			       text);
	return 0;
}

#define AT(member) offsetof(struct sim_options, member)
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
	{ "seeds", NP_OPTION_COUNT, AT(seeds), 1, MAX_SEEDS },
	{ "events", NP_OPTION_WORD, AT(events) },
	{ "order", NP_OPTION_TAKE, 0, .take = take_order },
	{ "shares", NP_OPTION_WORD, AT(shares) },
	{ "fixed-run-times", NP_OPTION_FLAG, AT(fixed_run_times) },
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
static int check_options(const struct cli_cmd *self,
			 const struct sim_options *opt)
{
	bool half_life = opt->scheduler.fair_half_life_sec != NOT_GIVEN;
	const char *wrong =
		!!opt->swf + !!opt->sacct + !!opt->last != 1 ?
			"simulate needs jobs: one of --swf=FILE, --sacct=FILE "
			"and --last=30d" :
		opt->leaves && opt->topology ?
			"expected only one of --leaves and --topology" :
		opt->shares && !opt->fair ?
			"--shares needs --order=fairshare" :
		half_life && !opt->fair ?
			"--half-life has no effect without --order=fairshare" :
		opt->rules && opt->mix.n ?
			"expected only one of --rules and --mix" :
		opt->seeds && !opt->mix.n ?
			"--seeds has no effect without --mix" :
			NULL;

	return wrong ? cli_usage(self, "%s", wrong) : -1;
}

/*
 * Policies are compared in memory; only --events writes while the simulation
 * runs.
 */
static int run_simulate(const struct cli_cmd *self, int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = (int)SA_RESETHAND };
	struct sim_options opt = { .seeds = 0 };
	struct sim sim = { .opt = &opt };
	struct cli_options common;
	int rc;

	/* Defaults, which the options then change. */
	np_sim_scheduler_init(&opt.scheduler);
	opt.scheduler.fair_half_life_sec = NOT_GIVEN;
	rc = cli_options_parse(self, argc, argv, &opt, &common);
	if (rc < 0)
		rc = check_options(self, &opt);
	if (rc >= 0)
		return rc;
	if (opt.scheduler.fair_half_life_sec == NOT_GIVEN)
		opt.scheduler.fair_half_life_sec = HALF_LIFE_SEC;
	/* Without --mix nothing is random, so one seed is enough. */
	if (!opt.seeds)
		opt.seeds = opt.mix.n ? 5 : 1;
	rc = open_inputs(&sim);
	if (rc < 0) {
		sigaction(SIGINT, &act, NULL); /* a second one ends us */
		rc = simulate_all(&sim);
	}
	if (sim.events && fclose(sim.events) && rc < 0)
		rc = cli_fail("%s: %s", opt.events, strerror(errno));
	if (rc < 0)
		rc = common.plot   ? plot(&sim, common.plot) :
		     common.format ? print_data(&sim, common.format) :
				     print_text(&sim);
	free_all(&sim);
	return rc;
}

const struct cli_cmd cmd_simulate = {
	.name = "simulate",
	.args = "[--json|--parsable] --swf=FILE|--sacct=FILE|--last=30d\n"
		"        [OPTION]...",
	.help = "what placement would have done to a queue of jobs",
	.text = "Replays a queue of jobs through Slurm's scheduling rules and the placement\n"
		"decision, with placement off and on, and prints what each policy would have\n"
		"cost and saved.\n\n"
		"Jobs (FILE may be - for standard input, and compressed by gzip):\n"
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
		"  --shares=FILE       output of sshare -a --parsable2 (with --last, it is run)\n"
		"  --fixed-run-times   jobs are never slowed\n"
		"  --queue-depth=, --bf-interval=, --bf-window=, --bf-resolution=,\n"
		"  --bf-max-job-test=  as in slurm.conf(5); times in seconds\n"
		"  --completing=SEC    time until the nodes of an ended job are free\n"
		"Output:\n"
		"  --events=FILE       write a line for each start of a job\n"
		"  --json, --parsable, --plot=FILE",
	.examples =
		"  netprof simulate --last=30d --rules=rules --policy=off,prefer,enforce\n"
		"  netprof simulate --swf=log.gz --leaves=64x32 --mix=fft:20,unknown:80\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = own,
	.max_args = 0,
	.run = run_simulate,
};
