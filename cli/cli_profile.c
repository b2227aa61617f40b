/*
 * Profiles: finding one in the store, and describing it in sentences.
 *
 * A name means the user's own profile or, if the user has none that can be
 * used, the published one. A profile is computed from its runs on each call and
 * is not stored, so that a better model also improves old profiles.
 *
 * The verdict is in sentences, because it is what most users read. Where
 * something is not known, the sentence names the command that measures it.
 */
#include "cli_profile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_text.h"
#include "np_conf.h"
#include "np_log.h"
#include "np_text.h"

/* ---- the profile store ---- */

/*
 * Users cannot correct the file, so only users who can write it are warned,
 * once, however often a command reads it.
 */
int cli_conf_read(struct np_conf *conf)
{
	static bool warned;
	struct np_err err = NP_ERR_INIT;
	struct np_conf step;
	int rc = np_conf_from_environment(conf, &err);

	if (rc && rc != -EINVAL)
		return cli_fail("%s", err.text);
	if (rc && !warned && !access(np_conf_path(), W_OK)) {
		cli_fail(
			"%s%s", err.text,
			np_conf_for_step(&step, NULL) ?
				"; until this is corrected no job is measured" :
				"");
		warned = true;
	}
	return -1;
}

/* Which setting named this directory. */
static const char *describe_setting(const char *store)
{
	const char *env = getenv("NETPROF_STORE");

	if (env && *env)
		return "NETPROF_STORE in the environment";
	if (!strcmp(store, NP_CONF_STORE))
		return "the default, because netprof.conf sets no Store=";
	return cli_text("Store= in %s", np_conf_path());
}

/* Report why there is no store, which setting named it, and what to do. */
static int fail_no_store(const char *store, int rc, const char *why)
{
	return cli_fail("%s (%s); %s", why, describe_setting(store),
			rc == -EACCES ?
				"ask its administrator for access, or set "
				"NETPROF_STORE to another store" :
				"create it with netprof check --make-store (as "
				"root), or set NETPROF_STORE to another store");
}

/* A store has at least one of these directories. */
static bool is_store(const char *dir)
{
	static const char *const parts[] = { "users", "published", "fabric" };
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < NP_ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* np_store_open(), plus checks of access and of the layout. */
static int open_checked_store(const char *dir, struct np_store **store,
			      struct np_err *err)
{
	int rc = np_store_open(dir, store, err);

	if (rc)
		return rc;
	/* np_store_open() does not check the directory itself. */
	if (access(dir, X_OK))
		rc = np_errf(err, -errno, "profile store %s: %s", dir,
			     strerror(errno));
	else if (!is_store(dir))
		rc = np_errf(err, -EINVAL,
			     "%s: not a profile store: it has none of the "
			     "directories users, published and fabric",
			     dir);
	if (rc)
		np_store_close(*store);
	return rc;
}

/*
 * Errors say which setting named the directory, because NETPROF_STORE is
 * easily forgotten in an environment.
 */
int cli_store_open(struct cli_store *store)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;
	int rc = cli_conf_read(&conf);

	if (rc >= 0)
		return rc;
	*store = (struct cli_store){ .store = NULL };
	rc = open_checked_store(conf.store, &store->store, &err);
	if (rc)
		return fail_no_store(conf.store, rc, err.text);
	np_store_set_max_runs(store->store, conf.max_runs);
	store->max_slowdown = conf.place.max_slowdown;
	return -1;
}

static void free_calibration(struct cli_calibration *calibration)
{
	if (calibration->found)
		np_calibration_free(&calibration->calibration);
	free(calibration->fabric);
}

void cli_store_close(struct cli_store *store)
{
	for (size_t i = 0; i < CLI_CALIBRATIONS; i++)
		free_calibration(&store->calibration[i]);
	np_runs_free(&store->idle[0]);
	np_runs_free(&store->idle[1]);
	np_store_close(store->store);
}

/* ---- runs and profiles ---- */

#define MAX_SKIPPED_WARNINGS 10 /* warnings about files of one application */

/* np_store_warn_f: print the line, but only a few about skipped files. */
static void warn_skipped(const char *line, void *arg)
{
	size_t *n_skipped = arg;

	/* Lines on other subjects, such as surplus runs, are always printed. */
	if (!strstr(line, ": skipped: ") ||
	    (*n_skipped)++ < MAX_SKIPPED_WARNINGS)
		fprintf(stderr, "netprof: %s\n", line);
	else if (*n_skipped == MAX_SKIPPED_WARNINGS + 1)
		fprintf(stderr, "netprof: more files were skipped\n");
}

const char *cli_owner_name(enum np_store_owner owner, uid_t uid)
{
	return owner == NP_STORE_PUBLISHED ? "published" : cli_user(uid);
}

/*
 * Read the idle runs of a user and the published ones. Errors are ignored here:
 * idle runs may be missing, and `netprof show idle` reports damaged ones.
 */
static void read_idle(struct cli_store *store, uid_t uid)
{
	if (store->idle_read && store->idle_uid == uid)
		return;
	for (int i = 0; i < 2; i++) {
		np_runs_free(&store->idle[i]);
		np_store_load(store->store, (enum np_store_owner)i, uid,
			      NP_IDLE_APP, NULL, NULL, &store->idle[i], NULL);
	}
	store->idle_uid = uid;
	store->idle_read = true;
}

int cli_runs_load(struct cli_store *store, enum np_store_owner owner, uid_t uid,
		  const char *app, struct np_runs *out, struct np_err *err)
{
	size_t n_skipped = 0;

	return np_store_load(store->store, owner, uid, app, warn_skipped,
			     &n_skipped, out, err);
}

/* A profile without usable runs is reported like one that does not exist. */
int cli_runs_load_quiet(struct cli_store *store, enum np_store_owner owner,
			uid_t uid, const char *app, struct np_runs *out)
{
	if (cli_check_memory(np_store_load(store->store, owner, uid, app, NULL,
					   NULL, out, NULL)))
		return -ENOENT;
	if (out->n)
		return 0;
	np_runs_free(out);
	return -ENOENT;
}

/* A key for the choice of a calibration. NULL: out of memory. */
static char *fabric_text(const char *cluster, const struct np_fabric_of *of)
{
	const char *kind = of->rail ? "rail" : of->transport ? "transport" : "";
	const char *name = of->rail ? of->rail : of->transport;
	char *text;
	int rc = asprintf(&text, "%zu %s %s %s", strlen(cluster), cluster, kind,
			  name ? name : "");

	return rc < 0 ? NULL : text;
}

/* Find a calibration among those that were looked up before, or load it. */
static const struct cli_calibration *
find_calibration(struct cli_store *store, const char *cluster,
		 const struct np_fabric_of *of)
{
	char *fabric = fabric_text(cluster, of);
	struct cli_calibration *oldest = &store->calibration[store->oldest];

	for (size_t i = 0; fabric && i < CLI_CALIBRATIONS; i++)
		if (store->calibration[i].fabric &&
		    !strcmp(store->calibration[i].fabric, fabric)) {
			free(fabric);
			return &store->calibration[i];
		}
	free_calibration(oldest);
	oldest->fabric = fabric;
	oldest->found = !np_fabric_store_load_of(
		store->store, cluster, NULL, of, &oldest->calibration, NULL);
	store->oldest = (store->oldest + 1) % CLI_CALIBRATIONS;
	return oldest;
}

const struct np_calibration *cli_calibration_of(struct cli_store *store,
						const struct np_runs *runs)
{
	const struct cli_calibration *calibration;
	const struct np_record *run = NULL;
	struct np_fabric_of of;

	if (!strcmp(runs->app, NP_IDLE_APP))
		return NULL;
	for (size_t i = 0; i < runs->n && !run; i++)
		if (np_run_latency(runs->run[i]).n)
			run = runs->run[i];
	if (!run || !run->cluster || !*run->cluster)
		return NULL;
	of = (struct np_fabric_of){
		.rail = np_run_rail(run),
		.transport = run->probe.transport,
	};
	calibration = find_calibration(store, run->cluster, &of);
	return calibration->found ? &calibration->calibration : NULL;
}

void cli_profile_make(struct cli_store *store, const struct np_runs *runs,
		      const struct np_runs *all, struct np_run_summary *out)
{
	const struct np_runs *const idle[] = {
		&store->idle[runs->owner],
		&store->idle[!runs->owner],
	};

	if (strcmp(runs->app, NP_IDLE_APP))
		read_idle(store, runs->uid);
	cli_check_memory(np_profile_make(
		runs, idle, 2, all ? cli_calibration_of(store, all) : NULL,
		(double)time(NULL), out));
}

struct np_store_app *cli_list_apps(struct cli_store *store,
				   const struct cli_options *options,
				   size_t *n_own, size_t *n)
{
	struct np_store_app *apps = NULL, *published = NULL;
	size_t n_published = 0;

	*n_own = 0;
	if (!options->published)
		np_store_list_apps(store->store, NP_STORE_USER, options->uid,
				   &apps, n_own, NULL);
	np_store_list_apps(store->store, NP_STORE_PUBLISHED, 0, &published,
			   &n_published, NULL);
	*n = *n_own;
	apps = reallocarray(apps, *n_own + n_published + 1, sizeof(*apps));
	if (!apps)
		cli_no_memory();
	/* Both lists are sorted. */
	for (size_t i = 0, k = 0; i < n_published; i++) {
		while (k < *n_own &&
		       strcmp(apps[k].name, published[i].name) < 0)
			k++;
		if (k == *n_own || strcmp(apps[k].name, published[i].name))
			apps[(*n)++] = published[i];
	}
	free(published);
	return apps;
}

#define NAMES_BYTES 256 /* of a list of names in an error */

static const char none_yet[] = "; there are no profiles yet: sbatch "
			       "--netprofile=NAME job.sh makes one";

const char *cli_similar_apps(struct cli_store *store,
			     const struct cli_options *options, const char *app)
{
	size_t n_own, n;
	struct np_store_app *apps = cli_list_apps(store, options, &n_own, &n);
	const char **name = cli_calloc(n, sizeof(*name));
	char *buf = cli_text_buffer();

	for (size_t i = 0; i < n; i++)
		name[i] = apps[i].name;
	np_suggest(app, name, n, buf, NAMES_BYTES);
	free(name);
	free(apps);
	return n ? buf : none_yet;
}

/* A missing store is reported before the usage error. */
const char *cli_known_apps(const struct cli_options *options)
{
	char *buf = cli_text_buffer();
	struct cli_store store;
	struct np_store_app *apps;
	size_t n_own, n;

	if (cli_store_open(&store) >= 0)
		return buf;
	apps = cli_list_apps(&store, options, &n_own, &n);
	for (size_t i = 0; i < n && strlen(buf) + 80 < NAMES_BYTES; i++)
		cli_appendf(buf, NAMES_BYTES, "%s%s", i ? ", " : "; there are ",
			    apps[i].name);
	free(apps);
	cli_store_close(&store);
	return n ? buf : none_yet;
}

const char *cli_unmeasured(const struct cli_store *store, uid_t uid)
{
	const char *path = cli_text("%s/users/%u/" NP_LOG_NAME,
				    np_store_dir(store->store), (unsigned)uid);

	return access(path, R_OK) ?
		       "" :
		       cli_text("; why steps were not measured: %s", path);
}

/*
 * Report which profiles were searched, and suggest similar names or, if there
 * are none, the log of steps that were not measured.
 */
static int fail_not_found(struct cli_store *store,
			  const struct cli_options *options, const char *app)
{
	const char *similar = cli_similar_apps(store, options, app);
	bool none = !*similar || !strcmp(similar, none_yet);

	if (options->published)
		return cli_fail("no published profile of \"%.64s\"%s", app,
				similar);
	return cli_fail("no profile of \"%.64s\", neither %s's own nor a "
			"published one%s%s",
			app, cli_user(options->uid), similar,
			none ? cli_unmeasured(store, options->uid) : "");
}

/* An owner whose runs are all unusable does not hide the published profile. */
int cli_runs_find(struct cli_store *store, const struct cli_options *options,
		  const char *app, struct np_runs *out)
{
	struct np_err err = NP_ERR_INIT;
	size_t empty = 0;
	int rc;

	for (int i = options->published; i < 2; i++) {
		enum np_store_owner owner = i ? NP_STORE_PUBLISHED :
						NP_STORE_USER;

		rc = cli_runs_load(store, owner, options->uid, app, out, &err);
		if (!rc && out->n)
			return -1;
		if (!rc) {
			np_runs_free(out);
			empty++;
		} else if (rc != -ENOENT) {
			return cli_fail("%s", err.text);
		}
	}
	if (empty)
		return cli_fail("no usable run of \"%.64s\"", app);
	/* A name that cannot exist gets an error of its own. */
	if (np_app_check(app, &err))
		return cli_fail("%s", err.text);
	return fail_not_found(store, options, app);
}

/* Array tasks and components of heterogeneous jobs are named as in squeue. */
const char *cli_run_id(const struct np_record *record)
{
	if (record->array_job_id != NP_NO_VALUE &&
	    record->array_task_id != NP_NO_VALUE)
		return cli_text("%u_%u.%u", (unsigned)record->array_job_id,
				(unsigned)record->array_task_id,
				record->step_id);
	if (record->het_component != NP_NO_VALUE)
		return cli_text("%u+%u.%u", record->job_id,
				(unsigned)record->het_component,
				record->step_id);
	return cli_text("%u.%u", record->job_id, record->step_id);
}

/* "1234" matches all steps of job 1234, but not job 12345. */
bool cli_run_is(const struct np_record *record, const char *run)
{
	size_t len = strlen(run);
	const char *id = cli_run_id(record);

	return !strncmp(id, run, len) &&
	       (!id[len] || (id[len] == '.' && !strchr(run, '.')));
}

/* ---- facts in sentences ---- */

/*
 * Two standard errors of the difference. The relative scatter is the larger of
 * the two, but at least CLI_MIN_NOISE.
 */
double cli_noise_limit(const struct np_mean *a, const struct np_mean *b)
{
	double noise = CLI_MIN_NOISE;

	if (a->n > 1)
		noise = fmax(noise, a->sd / a->mean);
	if (b->n > 1)
		noise = fmax(noise, b->sd / b->mean);
	return 2 * noise * sqrt(1.0 / (double)a->n + 1.0 / (double)b->n);
}

const char *cli_use_name(const struct np_run_summary *profile)
{
	static const char *const names[] = {
		[NP_USE_UNKNOWN] = "unknown",	  [NP_USE_LIGHT] = "light",
		[NP_USE_MODERATE] = "moderate",	  [NP_USE_HEAVY] = "heavy",
		[NP_USE_SATURATED] = "saturated",
	};

	return profile->is_idle ? "idle" : names[profile->verdict.use];
}

const char *cli_phase_name(enum np_phase_kind kind)
{
	static const char *const names[] = {
		[NP_PHASE_UNKNOWN] = "unknown",
		[NP_PHASE_STEADY] = "steady",
		[NP_PHASE_PHASES] = "phases",
	};

	return names[kind];
}

const char *cli_excluded_text(const struct np_run_summary *summary)
{
	char *buf = cli_text_buffer();

	for (int use = NP_RUN_FABRIC; use < NP_RUN_USES; use++)
		if (summary->count[use])
			cli_appendf(buf, CLI_TEXT_BYTES, "%s%zu %s",
				    *buf ? ", " : "", summary->count[use],
				    np_run_use_words((enum np_run_use)use));
	return buf;
}

/*
 * Rates, as in "12 ECN marks, 3.1 retries per second and node", or "no
 * congestion"; "" without counters.
 */
static const char *congestion_text(const struct np_sample_nic *nic)
{
	static const char *const names[NP_NIC_KINDS] = {
		[NP_NIC_WAIT] = "ticks of waiting",
		[NP_NIC_PAUSE] = "pauses",
		[NP_NIC_ECN] = "ECN marks",
		[NP_NIC_CNP] = "notifications",
		[NP_NIC_DISCARD] = "discards",
		[NP_NIC_RETRY] = "retries",
	};
	char *buf = cli_text_buffer();
	bool known = false;

	for (size_t k = 0; k < NP_NIC_KINDS; k++) {
		if (!names[k] || isnan(nic->n[k]))
			continue;
		known = true;
		if (nic->n[k] > 0)
			cli_appendf(buf, CLI_TEXT_BYTES, "%s%.3g %s",
				    *buf ? ", " : "", nic->n[k] / nic->node_sec,
				    names[k]);
	}
	if (known && !*buf)
		return "no congestion";
	return known ? cli_text("%s per second and node", buf) : "";
}

void cli_print_rails(FILE *f, const struct np_record *record)
{
	const char *busiest = np_run_rail(record);
	char line[1024] = "";

	for (size_t i = 0; busiest && i < record->n_leaves; i++) {
		const char *rail = record->leaves[i].rail;
		struct np_moments moments;
		size_t k = 0;

		while (k < i && (!rail || !record->leaves[k].rail ||
				 strcmp(rail, record->leaves[k].rail)))
			k++;
		if (!rail || k < i)
			continue; /* listed already */
		moments = np_run_rail_latency(record, rail);
		cli_appendf(line, sizeof(line), "%s%s: %s%s", *line ? ", " : "",
			    rail,
			    moments.n ? cli_sec(moments.mean) : "not measured",
			    np_run_loads_rail(record, rail) ? "" :
							      " (hardly used)");
	}
	if (busiest)
		cli_flabel(f, "Rails",
			   "%s; %s is the busiest, and its latencies count",
			   line, busiest);
}

void cli_print_adapters(FILE *f, const struct np_sample *sample)
{
	char line[2048] = "";

	for (size_t i = 0; i < sample->n_nics; i++) {
		const struct np_sample_nic *nic = &sample->nic[i];
		const char *counts = nic->node_sec > 0 ? congestion_text(nic) :
							 "";

		if (*counts)
			cli_appendf(line, sizeof(line), "%s%s counted %s",
				    *line ? "; " : "", nic->device, counts);
	}
	cli_flabel(f, "Adapters", "%s", line);
}

/* ---- the verdict ---- */

/* How the load varies over time, as the end of a sentence. */
static const char *phases_text(const struct np_run_summary *profile)
{
	if (profile->phases.kind == NP_PHASE_PHASES)
		return cli_text(", in phases (busy %.0f %% of the time)",
				100 * profile->phases.busy_share);
	return profile->phases.kind == NP_PHASE_STEADY ?
		       ", steadily" :
		       "; there are too few probes to say whether steadily or "
		       "in phases";
}

/*
 * Why a leaf switch was not measured, as the record says it, usually because
 * the step had only one node there; NULL: all were measured.
 */
static const char *why_leaf_skipped(const struct np_record *record)
{
	for (size_t i = 0; i < record->n_leaves; i++)
		if (record->leaves[i].skipped)
			return record->leaves[i].skipped;
	return NULL;
}

/* The newest run was not measured because it had too few nodes. */
static bool had_too_few_nodes(const struct np_run_summary *profile)
{
	const struct np_record *record =
		profile->runs->n ? profile->runs->run[0] : NULL;

	return record && !profile->latency.n_runs &&
	       !np_run_latency(record).n && why_leaf_skipped(record);
}

/* There are no usable latencies: say why the newest run has none. */
static const char *
describe_nothing_measured(const struct np_run_summary *profile)
{
	const struct np_record *record = profile->runs->run[0];
	const char *app = profile->runs->app;
	bool measured = np_run_latency(record).n > 0;
	const char *why = NULL, *text;

	if (measured)
		why = np_run_use_words(profile->use[0]);
	if (!why)
		why = why_leaf_skipped(record);
	if (!why && record->n_notes)
		why = record->notes[record->n_notes - 1];
	text = cli_text("%s: no %slatencies yet. Newest run %u.%u: %s.", app,
			measured ? "usable " : "", record->job_id,
			record->step_id, why ? why : "no reason was recorded");
	return had_too_few_nodes(profile) ?
		       cli_text("%s Two are needed: sbatch -N2 --switches=1 "
				"--netprofile=%s job.sh",
				text, app) :
		       text;
}

/* The idle network is not known: say how to measure it. */
static const char *describe_no_baseline(const struct np_run_summary *profile)
{
	const char *cause = "no idle baseline for this fabric";

	if (profile->verdict.against == NP_AGAINST_IDLE)
		cause = "other jobs shared the leaf switches of every idle run";
	else if (profile->idle.moments.n >= NP_VERDICT_PROBES)
		cause = "the network was not idle in the idle runs, their "
			"nodes sent too much";
	else if (profile->idle.n_runs)
		cause = "the idle baseline has too few probes";
	return cli_text("%s: network use not known yet: %s. To measure "
			"one: " CLI_IDLE_COMMAND,
			profile->runs->app, cause);
}

/*
 * The level that slows the program most or, with impact, the one on other nodes
 * that it slows most; NULL: no such slowdown is known.
 */
static const struct np_run_summary_level *
worst_level(const struct np_run_summary *profile, bool impact)
{
	const struct np_run_summary_level *worst = NULL;
	double most = -INFINITY;

	for (size_t i = 0; i < profile->n_levels; i++) {
		const struct np_run_summary_level *level = &profile->level[i];
		const struct np_mean *mean = impact ? &level->impact :
						      &level->slowdown;

		if (!np_mean_known(mean) || !(mean->mean > most) ||
		    (impact &&
		     !strcmp(level->scope, np_scope_name(NP_SCOPE_NODE))))
			continue;
		worst = level;
		most = mean->mean;
	}
	return worst;
}

/* What is known, or how to learn it, about how it slows other nodes. */
static const char *describe_impact(const struct np_run_summary *profile)
{
	const struct np_run_summary_level *most = worst_level(profile, true);

	if (most)
		return cli_text("It slows load on other nodes by at most %s "
				"(%s).",
				cli_change(fmax(0, most->impact.mean)),
				most->name);
	if (profile->n_levels)
		return cli_text("To measure how it slows load on other nodes: "
				"sbatch --netprofile=%s --netprofile-calibrate "
				"job.sh",
				profile->runs->app);
	/* describe_interference() names the command */
	return "Runs under load measure how it slows other nodes.";
}

/*
 * More probes were delayed than the traffic of the nodes can delay. The load's
 * rounds can decide: they run on other nodes, where the program uses no
 * processors.
 */
static const char *
describe_too_little_traffic(const struct np_run_summary *profile)
{
	const struct np_verdict *verdict = &profile->verdict;

	return cli_text(
		"%s: network use not known yet: %s of its probes were "
		"delayed, but its traffic can delay %s at most: each measured "
		"node sent and received %s, %s of what a node does under load "
		"%s. Busy processors delay probes, too. %s",
		profile->runs->app, cli_percent(verdict->delayed_share),
		cli_percent(verdict->traffic_share), cli_rate(verdict->rate),
		cli_percent(verdict->rate / (2 * profile->sent)),
		profile->strongest, describe_impact(profile));
}

/* The latencies contradict the byte counters of the nodes. */
static const char *describe_contradiction(const struct np_run_summary *profile)
{
	const struct np_verdict *verdict = &profile->verdict;

	if (verdict->doubt == NP_DOUBT_TRAFFIC)
		return describe_too_little_traffic(profile);
	if (verdict->doubt == NP_DOUBT_SILENT)
		return cli_text(
			"%s: network use not known yet: %s of its probes were "
			"delayed, but each measured node sent and received "
			"only %s. Something else delayed them, or the idle "
			"baseline is out of date. To measure a new "
			"one: " CLI_IDLE_COMMAND,
			profile->runs->app, cli_percent(verdict->delayed_share),
			cli_rate(verdict->rate));
	return cli_text("%s: network use not known yet: each measured node "
			"sent and received %s, as much as its link carries in "
			"one direction, but no probes were delayed. The idle "
			"baseline is out of date. To measure a new "
			"one: " CLI_IDLE_COMMAND,
			profile->runs->app, cli_rate(verdict->rate));
}

/* The network use is not known: say why, and what to do about it. */
static const char *describe_unknown(const struct np_run_summary *profile)
{
	unsigned long long probes = profile->latency.moments.n;
	const char *app = profile->runs->app;

	if (profile->verdict.doubt == NP_DOUBT_BASELINE)
		return describe_no_baseline(profile);
	if (profile->verdict.doubt != NP_DOUBT_PROBES)
		return describe_contradiction(profile);
	if (profile->latency.n_runs)
		return cli_text("%s: network use not known yet: %llu probe%s, "
				"%d are needed. Run it longer, or with "
				"--netprofile-period=20ms.",
				app, probes, cli_plural_s(probes),
				NP_VERDICT_PROBES);
	if (profile->n_levels)
		return cli_text("%s was measured only under synthetic load. To "
				"learn how it uses the network, run it once "
				"without load: sbatch --netprofile=%s job.sh",
				app, app);
	return describe_nothing_measured(profile);
}

/* Sentence 0: how the application uses the network. */
static const char *describe_use(const struct np_run_summary *profile)
{
	static const char *const words[][2] = {
		[NP_USE_LIGHT] = { "use", " lightly" },
		[NP_USE_MODERATE] = { "use", " moderately" },
		[NP_USE_HEAVY] = { "use", " heavily" },
		[NP_USE_SATURATED] = { "saturate", "" },
	};
	const char *const *word = words[profile->verdict.use];
	bool guess = profile->verdict.guess;

	/* The idle runs themselves were disturbed. */
	if (profile->is_idle && profile->verdict.doubt == NP_DOUBT_BASELINE)
		return cli_text("idle: the network was not idle: each measured "
				"node sent and received %s.",
				cli_rate(profile->verdict.rate));
	if (profile->verdict.use == NP_USE_UNKNOWN)
		return describe_unknown(profile);
	if (profile->is_idle)
		return "idle is the network at rest, the baseline of all other "
		       "profiles.";
	return cli_text("%s %s%s%s the network%s%s.", profile->runs->app,
			guess ? "seems to " : "", word[0], guess ? "" : "s",
			word[1], phases_text(profile));
}

/* Sentence 1: what makes the verdict less certain. */
static const char *describe_reference(const struct np_run_summary *profile)
{
	const struct np_sample *idle = profile->is_idle ? &profile->latency :
							  &profile->idle;
	bool known = profile->verdict.use != NP_USE_UNKNOWN;
	char *buf = cli_text_buffer();

	if (known && profile->verdict.guess && !profile->is_idle)
		cli_appendf(buf, CLI_TEXT_BYTES,
			    "Based on latencies alone: the traffic of its "
			    "nodes was not counted. ");
	if (known && idle->source == NP_SOURCE_QUIET)
		cli_appendf(buf, CLI_TEXT_BYTES,
			    "The idle baseline comes from quiet moments of "
			    "flagged runs; " CLI_IDLE_COMMAND
			    " measures a better one. ");
	if (profile->latency.neighbours)
		cli_appendf(buf, CLI_TEXT_BYTES,
			    "Other jobs shared a leaf switch with every run "
			    "and may have caused some of the delay. ");
	if (profile->idle.neighbours)
		cli_appendf(buf, CLI_TEXT_BYTES,
			    "Other jobs shared a leaf switch with every idle "
			    "run. ");
	if (*buf)
		buf[strlen(buf) - 1] = '\0';
	return buf;
}

/* Sentence 2: the worst slowdown under synthetic load. */
static const char *describe_interference(const struct np_run_summary *profile)
{
	const struct np_run_summary_level *worst = worst_level(profile, false);
	const char *source;

	/* With too few nodes it cannot be measured under load either. */
	if (profile->is_idle ||
	    (!profile->n_levels && had_too_few_nodes(profile)))
		return "";
	if (!profile->n_levels)
		return cli_text("Not measured under synthetic load yet. To "
				"measure: sbatch --netprofile=%s "
				"--netprofile-calibrate job.sh",
				profile->runs->app);
	if (!worst && profile->intervals.n_runs)
		return cli_text(
			"Its slowdown under synthetic load is not known yet: "
			"%s. Run it again, or for longer, with "
			"--netprofile-calibrate.",
			profile->intervals.verdict == NP_ONE_RUN_USABLE ?
				"no load has run in every phase of it" :
				np_one_run_words(profile->intervals.verdict));
	if (!worst)
		return "Its slowdown under synthetic load is not known: there "
		       "is no successful run without load of the same command, "
		       "nodes and tasks.";
	source = cli_text("%u %s%s", worst->slowdown.n,
			  worst->of_intervals ? "interval" : "run",
			  cli_plural_s(worst->slowdown.n));
	if (worst->slowdown.mean < 0.02)
		return cli_text(
			"Synthetic load does not slow it: %s at most, under "
			"load %s (%s).",
			cli_change(worst->slowdown.mean), worst->name, source);
	return cli_text("Under synthetic load it ran up to %.0f %% longer "
			"(load %s, %s).",
			100 * worst->slowdown.mean, worst->name, source);
}

const char *cli_verdict_text(const struct np_run_summary *profile, int i)
{
	static const char *(*const describe[CLI_SENTENCES])(
		const struct np_run_summary *profile) = {
		describe_use,
		describe_reference,
		describe_interference,
	};

	return describe[i](profile);
}
