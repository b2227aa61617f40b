/* netprof list: the profiles there are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json.h"
#include "cli_text.h"

struct profiles {
	struct np_kept *kept;
	struct cli_row *row;
	size_t n;
};

static int add(struct profiles *all, struct cli_store *s,
	       enum np_store_owner owner, uid_t uid,
	       const struct np_store_app *app,
	       const struct np_store_stamp idle[2])
{
	struct np_err err = NP_ERR_INIT;
	int rc = cli_row_load(s, all->kept, owner, uid, app, idle,
			      &all->row[all->n], &err);

	all->n += !rc;
	/* One that cannot be read does not hide the others. */
	if (rc && rc != -ENOENT)
		cli_fail("%s", err.text);
	return rc == -ENOMEM ? rc : 0;
}

static int make_room(struct profiles *all, size_t n)
{
	struct cli_row *grown = reallocarray(all->row, all->n + n + 1,
					     sizeof(*grown));

	if (grown)
		all->row = grown;
	return grown ? 0 : -ENOMEM;
}

static int add_owner(struct profiles *all, struct cli_store *s,
		     enum np_store_owner owner, uid_t uid, bool may_be_private)
{
	const struct np_store_stamp idle[] = {
		np_store_stamp(s->store, NP_STORE_USER, uid, NP_IDLE_APP),
		np_store_stamp(s->store, NP_STORE_PUBLISHED, 0, NP_IDLE_APP),
	};
	struct np_err err = NP_ERR_INIT;
	struct np_store_app *apps;
	size_t n;
	int rc = np_store_look(s->store, owner, uid, &apps, &n, &err);

	if (rc == -EACCES && may_be_private)
		return CLI_DONE;
	if (rc)
		return cli_fail("%s", err.text);
	rc = make_room(all, n);
	for (size_t i = 0; !rc && i < n; i++)
		rc = add(all, s, owner, uid, &apps[i], idle);
	free(apps);
	return rc ? cli_fail("out of memory") : CLI_DONE;
}

static int add_everybody(struct profiles *all, struct cli_store *s)
{
	struct np_err err = NP_ERR_INIT;
	int rc = CLI_DONE;
	uid_t *uids;
	size_t n;

	if (np_store_uids(s->store, &uids, &n, cli_pass_on, NULL, &err))
		return cli_fail("%s", err.text);
	for (size_t i = 0; i < n; i++)
		if (add_owner(all, s, NP_STORE_USER, uids[i], true))
			rc = CLI_FAILED;
	free(uids);
	return rc;
}

static int gather(struct profiles *all, struct cli_store *s,
		  const struct cli_options *o)
{
	int rc = CLI_DONE, site;

	if (o->all)
		rc = add_everybody(all, s);
	else if (!o->published)
		rc = add_owner(all, s, NP_STORE_USER, o->uid, false);
	site = add_owner(all, s, NP_STORE_PUBLISHED, o->uid, false);
	return rc ? rc : site;
}

static void text_row(const struct cli_row *r)
{
	const struct np_profile *pr = &r->profile;
	char name[96], owner[64], buf[CLI_NUMBER], use[64], levels[24];

	cli_owner_name(r->owner, r->uid, owner, sizeof(owner));
	if (pr->phases.kind == NP_PHASE_PHASES && !pr->is_idle)
		snprintf(use, sizeof(use), "%s, busy %.0f %%", cli_use_name(pr),
			 100 * pr->phases.busy_share);
	else
		snprintf(use, sizeof(use), "%s", cli_use_name(pr));
	snprintf(levels, sizeof(levels), pr->ev.n_levels == 1 ? "%zu level" :
		 pr->ev.n_levels ? "%zu levels" : "-", pr->ev.n_levels);
	printf("%-20s %-10s%5zu %-10s ", cli_cut(r->app, 20, name,
						 sizeof(name)),
	       owner, r->n_runs, r->n_runs ? cli_day(r->last, buf) : "-");
	printf("%-19s %s\n", use, levels);
}

static int list_text(const struct profiles *all)
{
	if (!all->n) {
		fputs("netprof: no profile yet: sbatch --netprofile=NAME "
		      "job.sh makes one\n", stderr);
		return CLI_DONE;
	}
	printf("%s%-20s %-10s%5s %-10s %-19s %s%s\n", cli_colour(CLI_BOLD),
	       "Application", "Owner", "Runs", "Last", "Use", "Interference",
	       cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < all->n; i++)
		text_row(&all->row[i]);
	return CLI_DONE;
}

static int list_parsable(const struct profiles *all)
{
	char buf[CLI_NUMBER + 16];

	puts("App|Owner|Runs|Last|Use|Phases|BusyShare|Levels");
	for (size_t i = 0; i < all->n; i++) {
		const struct cli_row *r = &all->row[i];
		const struct np_profile *p = &r->profile;

		cli_field(r->app, '|');
		cli_field(cli_owner_name(r->owner, r->uid, buf, sizeof(buf)),
			  '|');
		printf("%zu|%s|", r->n_runs, cli_date(r->last, buf));
		printf("%s|%s|%.6g|%zu\n", cli_use_name(p),
		       cli_phase_name(p->phases.kind), p->phases.busy_share,
		       p->ev.n_levels);
	}
	return CLI_DONE;
}

/* What completion waits for: no run is read. */
static int list_names(struct cli_store *s, enum np_store_owner owner, uid_t uid)
{
	struct np_err err = NP_ERR_INIT;
	char **apps;
	size_t n;

	if (np_store_apps(s->store, owner, uid, &apps, &n, &err))
		return cli_fail("%s", err.text);
	for (size_t i = 0; i < n; i++)
		puts(apps[i]);
	np_names_free(apps, n);
	return CLI_DONE;
}

static int list_all_names(struct cli_store *s, const struct cli_options *o)
{
	int rc = o->published ? CLI_DONE :
		 list_names(s, NP_STORE_USER, o->uid);
	int site = list_names(s, NP_STORE_PUBLISHED, o->uid);

	return rc ? rc : site;
}

static const struct np_option options[] = {
	{ "names", NP_OPTION_FLAG },
	{ NULL },
};

static int run_list(const struct cli_cmd *self, int argc, char **argv)
{
	struct profiles all = { 0 };
	struct cli_options o;
	struct cli_store s;
	bool names = false;
	int rc, shown;

	rc = cli_options_parse(self, argc, argv, &names, &o);
	if (rc < 0 && names && (o.all || o.format))
		rc = cli_usage(self, "--names: expected at most --user or "
			       "--published, too");
	if (rc < 0 && o.all && (o.user_given || o.published))
		rc = cli_usage(self, "--all and --user or --published: "
			       "expected one");
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	if (names) {
		rc = list_all_names(&s, &o);
		cli_store_close(&s);
		return rc;
	}
	all.kept = np_kept_open(s.store, "list", 0);
	rc = gather(&all, &s, &o);
	shown = o.format == CLI_JSON ? cli_json_list(all.row, all.n) :
		o.format == CLI_PARSABLE ? list_parsable(&all) :
					   list_text(&all);
	for (size_t i = 0; i < all.n; i++)
		cli_row_free(&all.row[i]);
	free(all.row);
	np_kept_close(all.kept);
	cli_store_close(&s);
	return rc ? rc : shown;
}

const struct cli_cmd cmd_list = {
	.name = "list",
	.args = "[--json|--parsable|--names] [--user=NAME|--published|--all]",
	.help = "the profiles there are",
	.text =
"Lists your profiles and the published ones, each with its verdict.\n\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --names             only their names, one a line; no run is read\n"
"  --user=NAME         those of another user instead of yours\n"
"  --published         only the published ones\n"
"  --all               those of all users, as far as you may read them",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER | CLI_TAKES_ALL,
	.own = options,
	.run = run_list,
};
