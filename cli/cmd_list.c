/*
 * netprof list: the profiles in the store.
 *
 * To make a profile, all its runs must be read, so the few facts that are
 * listed are cached (np_cache.h) until the runs or the idle baseline change.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_cache.h"
#include "np_text.h"

/* One line of the list. */
struct row {
	enum np_store_owner owner;
	uid_t uid; /* the user, if owner is NP_STORE_USER */
	char app[NP_APP_MAX + 1];
	size_t n_runs;
	double last; /* end of the newest run, seconds since 1970; 0: none */
	/*
	 * Only these members are valid: is_idle, verdict.use, phases.kind,
	 * phases.busy_share, alone_sec and the levels.
	 */
	struct np_run_summary profile;
};

/* Pack or unpack a profile's measurements under one load level. */
static void pack_level(struct np_pack *pack, struct np_run_summary_level *level)
{
	level->name = np_pack_text(pack, level->name);
	level->scope = np_pack_text(pack, level->scope);
	level->utilisation = np_pack_real(pack, level->utilisation);
	level->run_sec = np_pack_mean(pack, level->run_sec);
	level->slowdown = np_pack_mean(pack, level->slowdown);
	level->low = np_pack_real(pack, level->low);
	level->high = np_pack_real(pack, level->high);
	level->of_intervals = np_pack_count(pack, level->of_intervals, 1);
	level->impact = np_pack_mean(pack, level->impact);
}

/*
 * Pack a row if pack->f is set, and unpack it otherwise. Returns 0 or -EINVAL.
 */
static int pack_row(struct np_pack *pack, struct row *row)
{
	struct np_run_summary *profile = &row->profile;

	row->n_runs = np_pack_count(pack, row->n_runs, SIZE_MAX);
	row->last = np_pack_real(pack, row->last);
	profile->is_idle = np_pack_count(pack, profile->is_idle, 1);
	profile->verdict.use = (enum np_use)np_pack_count(
		pack, profile->verdict.use, NP_USE_SATURATED);
	profile->phases.kind = (enum np_phase_kind)np_pack_count(
		pack, profile->phases.kind, NP_PHASE_PHASES);
	profile->phases.busy_share =
		np_pack_real(pack, profile->phases.busy_share);
	profile->alone_sec = np_pack_mean(pack, profile->alone_sec);
	profile->n_levels = np_pack_count(pack, profile->n_levels, pack->left);
	if (!pack->f)
		profile->level =
			cli_calloc(profile->n_levels, sizeof(*profile->level));
	for (size_t i = 0; !pack->bad && i < profile->n_levels; i++)
		pack_level(pack, &profile->level[i]);
	return pack->bad || pack->left ? -EINVAL : 0;
}

/* Read a row from the cache. */
static int unpack_row(const char *data, size_t len, struct row *row)
{
	struct np_pack pack = { .at = data, .left = len };

	return pack_row(&pack, row);
}

/*
 * Write the row of a profile into the cache. *data is set to the packed row,
 * which the cache owns.
 */
static void write_to_cache(struct np_cache *cache, const char *name,
			   uint64_t state, const struct np_run_summary *profile,
			   char **data, size_t *len)
{
	struct np_pack pack = { .f = cli_stream_open(data, len) };
	struct row row = {
		.n_runs = profile->runs->n,
		.profile = *profile,
		.last = profile->runs->n ? profile->runs->run[0]->end : 0,
	};

	pack_row(&pack, &row);
	cli_stream_close(pack.f, data);
	cli_check_memory(np_cache_put(cache, name, state, *data, *len));
}

/*
 * Make the profile from its runs. The row is then unpacked again, so that it is
 * the same whether or not it comes from the cache.
 */
static int make_row(struct cli_store *store, struct np_cache *cache,
		    const char *name, uint64_t state, struct row *row,
		    struct np_err *err)
{
	struct np_run_summary profile = { .n_used = 0 };
	struct np_runs runs;
	int rc = cli_runs_load(store, row->owner, row->uid, row->app, &runs,
			       err);
	size_t len;
	char *data;

	if (rc)
		return rc;
	cli_profile_make(store, &runs, &runs, &profile);
	/* Do not cache if files were skipped: the next call must warn, too. */
	write_to_cache(cache, name, runs.n_skipped ? 0 : state, &profile, &data,
		       &len);
	np_run_summary_free(&profile);
	np_runs_free(&runs);
	return unpack_row(data, len, row);
}

/* The list that is being made. */
struct profiles {
	struct np_cache *cache;
	uint64_t fabric; /* state of the calibrations; 0: do not cache */
	struct row *row;
	size_t n;
};

/*
 * Append the row of one application, from the cache if it is still valid.
 * idle[] has the stamps of the user's and the published idle runs, on which the
 * verdict depends, as it does on the calibrations. An unreadable profile is
 * reported, and does not hide the others.
 */
static void add_row(struct profiles *profiles, struct cli_store *store,
		    enum np_store_owner owner, uid_t uid,
		    const struct np_store_app *app,
		    const struct np_store_stamp idle[2])
{
	const struct np_store_stamp stamp[] = { app->stamp, idle[0], idle[1] };
	struct np_cache *cache = profiles->cache;
	struct row row = { .owner = owner, .uid = uid };
	uint64_t seed = np_hash(profiles->fabric, &uid, sizeof(uid));
	uint64_t state =
		profiles->fabric ?
			np_cache_state(seed, stamp, NP_ARRAY_SIZE(stamp)) :
			0;
	const char *name = cli_text(
		"%u %s", owner == NP_STORE_PUBLISHED ? UINT32_MAX : uid,
		app->name);
	struct np_err err = NP_ERR_INIT;
	const char *data;
	size_t len;
	int rc = -EINVAL;

	strcpy(row.app, app->name);
	data = np_cache_find(cache, name, state, &len);
	if (data)
		rc = unpack_row(data, len, &row);
	if (rc) {
		np_run_summary_free(&row.profile);
		rc = cli_check_memory(
			make_row(store, cache, name, state, &row, &err));
	}
	if (!rc) {
		profiles->row[profiles->n++] = row;
		return;
	}
	np_run_summary_free(&row.profile);
	if (rc != -ENOENT)
		cli_fail("%s", err.text);
}

/*
 * Append all profiles of one owner. If may_be_private is true, as for --all,
 * an unreadable directory is not an error.
 */
static int add_owner(struct profiles *profiles, struct cli_store *store,
		     enum np_store_owner owner, uid_t uid, bool may_be_private)
{
	const struct np_store_stamp idle[] = {
		np_store_stamp(store->store, NP_STORE_USER, uid, NP_IDLE_APP),
		np_store_stamp(store->store, NP_STORE_PUBLISHED, 0,
			       NP_IDLE_APP),
	};
	struct np_err err = NP_ERR_INIT;
	struct np_store_app *apps;
	size_t n;
	int rc = np_store_list_apps(store->store, owner, uid, &apps, &n, &err);

	/* The idle runs must not be older than their stamps. */
	store->idle_read = false;
	/* Other users may keep their profiles private. */
	if (rc == -EACCES && may_be_private)
		return CLI_DONE;
	if (rc)
		return cli_fail("%s", err.text);
	profiles->row = reallocarray(profiles->row, profiles->n + n + 1,
				     sizeof(*profiles->row));
	if (!profiles->row)
		cli_no_memory();
	for (size_t i = 0; i < n; i++)
		add_row(profiles, store, owner, uid, &apps[i], idle);
	free(apps);
	return CLI_DONE;
}

/* Append the profiles of all users. */
static int add_all_users(struct profiles *profiles, struct cli_store *store)
{
	struct np_err err = NP_ERR_INIT;
	int rc = CLI_DONE;
	uid_t *uids;
	size_t n;

	if (np_store_uids(store->store, &uids, &n, cli_warn_line, NULL, &err))
		return cli_fail("%s", err.text);
	for (size_t i = 0; i < n; i++)
		if (add_owner(profiles, store, NP_STORE_USER, uids[i], true))
			rc = CLI_FAILED;
	free(uids);
	return rc;
}

/* Append the profiles that the options select. */
static int load_rows(struct profiles *profiles, struct cli_store *store,
		     const struct cli_options *options)
{
	int rc = CLI_DONE, published;

	if (options->all)
		rc = add_all_users(profiles, store);
	else if (!options->published)
		rc = add_owner(profiles, store, NP_STORE_USER, options->uid,
			       false);
	published = add_owner(profiles, store, NP_STORE_PUBLISHED, options->uid,
			      false);
	return rc ? rc : published;
}

/* Print one line of the list. */
static void print_row(const struct row *row, int name_width, int owner_width)
{
	const struct np_run_summary *profile = &row->profile;
	const char *use = cli_use_name(profile), *levels = "-";

	if (profile->phases.kind == NP_PHASE_PHASES && !profile->is_idle)
		use = cli_text("%s, busy %.0f %%", use,
			       100 * profile->phases.busy_share);
	if (profile->n_levels)
		levels = cli_text("%zu level%s", profile->n_levels,
				  cli_plural_s(profile->n_levels));
	cli_print_left(stdout, row->app, name_width);
	putchar(' ');
	cli_print_left(stdout, cli_owner_name(row->owner, row->uid),
		       owner_width);
	printf(" %4zu %-10s %-19s %s\n", row->n_runs,
	       row->n_runs ? cli_day(row->last) : "-", use, levels);
}

/*
 * An empty list is not an error. For a user who has not made a profile, a hint
 * is printed on standard error; NULL: none, because profiles may exist that
 * could not be read.
 */
static int list_text(const struct profiles *profiles, const char *hint)
{
	int name_width = cli_name_column(20, 1), owner_width = 10;

	if (!profiles->n) {
		if (hint)
			fprintf(stderr,
				"netprof: no profiles yet: sbatch "
				"--netprofile=NAME job.sh makes one%s\n",
				hint);
		return CLI_DONE;
	}
	for (size_t i = 0; i < profiles->n; i++) {
		const struct row *row = &profiles->row[i];

		name_width = cli_widen(name_width, row->app);
		owner_width = cli_widen(owner_width,
					cli_owner_name(row->owner, row->uid));
	}
	printf("%s%-*s %-*s %4s %-10s %-19s %s%s\n", cli_colour(CLI_BOLD),
	       name_width, "Application", owner_width, "Owner", "Runs", "Last",
	       "Use", "Load levels", cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < profiles->n; i++)
		print_row(&profiles->row[i], name_width, owner_width);
	return CLI_DONE;
}

static const struct cli_table table = {
	"App|Owner|Runs|Last|Use|Phases|BusyShare|Levels",
	{ { "profiles", "app|owner|runs|last|use|phases|busy_share|#levels" } },
};

/* Print the list for programs. */
static int list_data(const struct profiles *profiles, enum cli_format format)
{
	json_object *output = json_object_new_object();
	json_object *list = cli_put_array(output, "profiles");

	for (size_t i = 0; i < profiles->n; i++) {
		const struct row *row = &profiles->row[i];
		const struct np_run_summary *profile = &row->profile;
		json_object *object = cli_append_object(list);

		cli_put_text(object, "app", row->app);
		cli_put_owner(object, row->owner, row->uid);
		cli_put_count(object, "runs", row->n_runs);
		cli_put_time(object, "last", row->last);
		cli_put_text(object, "use", cli_use_name(profile));
		cli_put_text(object, "phases",
			     cli_phase_name(profile->phases.kind));
		cli_put_real(object, "busy_share", profile->phases.busy_share);
		cli_put_levels(object, profile);
	}
	return cli_print_output(format, "list", output, &table);
}

/* Print names for shell completion. To be fast, it reads no runs. */
static int list_names(struct cli_store *store, enum np_store_owner owner,
		      uid_t uid)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_app *apps;
	size_t n;

	if (np_store_list_apps(store->store, owner, uid, &apps, &n, &err))
		return cli_fail("%s", err.text);
	for (size_t i = 0; i < n; i++)
		puts(apps[i].name);
	free(apps);
	return CLI_DONE;
}

/* Print the user's names, and then the published ones. */
static int list_all_names(struct cli_store *store,
			  const struct cli_options *options)
{
	int rc = options->published ?
			 CLI_DONE :
			 list_names(store, NP_STORE_USER, options->uid);
	int published = list_names(store, NP_STORE_PUBLISHED, options->uid);

	return rc ? rc : published;
}

static const struct np_option options[] = {
	{ "names", NP_OPTION_FLAG },
	{ NULL },
};

/*
 * Profiles that cannot be read are reported, and the exit status is 1, but the
 * others are listed.
 */
static int run_list(const struct cli_cmd *self, int argc, char **argv)
{
	struct profiles profiles = { .n = 0 };
	struct cli_options o;
	struct cli_store store;
	const char *unmeasured = "";
	bool names = false;
	int rc, shown;

	rc = cli_options_parse(self, argc, argv, &names, &o);
	if (rc < 0 && names && (o.all || o.format))
		rc = cli_usage(self, "--names: expected no option besides "
				     "--user or --published");
	if (rc < 0 && o.all && (o.user_given || o.published))
		rc = cli_usage(
			self,
			"expected only one of --all, --user and --published");
	if (rc < 0)
		rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	if (names) {
		rc = list_all_names(&store, &o);
		cli_store_close(&store);
		return rc;
	}
	profiles.fabric = np_fabric_store_state(store.store);
	profiles.cache = np_cache_open(store.store, "list", 0);
	rc = load_rows(&profiles, &store, &o);
	if (!o.published && !o.all)
		unmeasured = cli_unmeasured(&store, o.uid);
	shown = o.format ? list_data(&profiles, o.format) :
			   list_text(&profiles, rc ? NULL : unmeasured);
	for (size_t i = 0; i < profiles.n; i++)
		np_run_summary_free(&profiles.row[i].profile);
	free(profiles.row);
	np_cache_close(profiles.cache);
	cli_store_close(&store);
	return rc ? rc : shown;
}

const struct cli_cmd cmd_list = {
	.name = "list",
	.args = "[--json|--parsable|--names] [--user=NAME|--published|--all]",
	.help = "the profiles in the store",
	.text = "Lists your profiles and the published ones, each with its verdict.\n\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --names             only the names, one per line; reads no runs\n"
		"  --user=NAME         another user's profiles instead of yours\n"
		"  --published         only the published profiles\n"
		"  --all               all users' profiles that you may read",
	.examples = "  netprof list\n"
		    "  netprof list --published\n"
		    "  netprof list --parsable | cut -d\"|\" -f1\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER | CLI_TAKES_ALL,
	.own = options,
	.run = run_list,
};
