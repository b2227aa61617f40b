/* The store: its directories, who owns what in it, and what is known in it. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_check.h"
#include "np_evidence.h"
#include "np_fabric_store.h"
#include "np_self_check.h"
#include "np_store.h"

#define MOST_SQUATTERS 8 /* that are told one by one */

static void say_cut(struct cli_check *c, bool squatters)
{
	cli_found(c, CLI_PROBLEM, "users/", "%s/users: more than %d entries: "
		  "slurmctld does not look at the rest", c->conf.store,
		  NP_STORE_MAX_SCAN);
	cli_remedy(c, squatters ? "remove what is no directory of its own "
		   "user, as told below" : "remove the directories of users "
		   "that are gone");
}

/* Root's own mistake takes no squatter to mend. */
static void say_of_root(struct cli_check *c, const struct np_store_squatter *q)
{
	cli_found(c, CLI_PROBLEM, "users/", "root owns %zu of other users, "
		  "such as %s/users/%u: these cannot keep a record",
		  q->n_taken, c->conf.store, q->taken);
	cli_remedy(c, "netprof check --make-users %u", q->taken);
}

static void say_squatter(struct cli_check *c,
			 const struct np_store_squatter *q)
{
	const char *store = c->conf.store;
	char who[CLI_NUMBER];

	cli_user(q->uid, who);
	if (q->n_taken)
		cli_found(c, CLI_PROBLEM, "users/", "%s owns %zu of other "
			  "users, such as %s/users/%u: these cannot keep a "
			  "record", who, q->n_taken, store, q->taken);
	else
		cli_found(c, CLI_WARNING, "users/", "%s owns %zu in %s/users "
			  "with a name that is no user's", who, q->n, store);
	cli_remedy(c, "find %s/users -mindepth 1 -maxdepth 1 -uid %u ! -name "
		   "%u -exec rm -r {} +; netprof check --make-users", store,
		   q->uid, q->uid);
}

static void say_closed(struct cli_check *c, const struct np_store_census *s)
{
	cli_found(c, CLI_WARNING, "users/", "the mode of %zu keeps slurmctld "
		  "out, such as %s/users/%u", s->n_closed, c->conf.store,
		  s->closed);
	cli_remedy(c, "netprof check --make-users; or wait for the next runs "
		   "of their users");
}

/* users/: what is there and belongs to somebody else. */
static void check_census(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_census s;
	struct np_store *store;
	int rc = np_store_open(c->conf.store, &store, &err);

	if (!rc) {
		rc = np_store_census(store, &s, &err);
		np_store_close(store);
	}
	if (rc) {
		cli_found(c, CLI_WARNING, "users/", "%s", err.text);
		return;
	}
	if (s.cut)
		say_cut(c, s.n);
	for (size_t i = 0; i < s.n && i < MOST_SQUATTERS; i++)
		if (s.squatter[i].uid)
			say_squatter(c, &s.squatter[i]);
		else
			say_of_root(c, &s.squatter[i]);
	if (s.n > MOST_SQUATTERS)
		cli_found(c, CLI_WARNING, "users/", "%zu more users own such "
			  "entries", s.n - MOST_SQUATTERS);
	if (s.n_closed)
		say_closed(c, &s);
	np_store_census_free(&s);
}

#define OLD_CALIBRATION_SEC (365 * 86400.0)
#define CALIBRATE "salloc -N8 --exclusive netprof calibrate"

/* SlurmUser, or -1. */
static uid_t slurm_uid(const struct cli_check *c, gid_t *gid)
{
	const struct passwd *pw = getpwnam(c->slurm.user);

	*gid = pw ? pw->pw_gid : (gid_t)-1;
	return pw ? pw->pw_uid : (uid_t)-1;
}

/* May somebody else than its owner and root write there? */
static bool open_to_others(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH) && !(st->st_mode & S_ISVTX);
}

static bool check_top(struct cli_check *c)
{
	const char *dir = c->conf.store;
	struct stat st;

	if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		cli_found(c, CLI_PROBLEM, "store", "%s: %s", dir, errno ?
			  strerror(errno) : "expected a directory");
		cli_remedy(c, "install -d -m 755 %s; netprof-profile(5) tells "
			   "what is in it", dir);
		return false;
	}
	if (open_to_others(&st)) {
		cli_found(c, CLI_PROBLEM, "store", "%s: mode %o: others than "
			  "its owner can write there", dir, st.st_mode & 07777);
		cli_remedy(c, "chmod go-w %s", dir);
	} else {
		cli_found(c, CLI_OK, "store", "%s", dir);
	}
	return true;
}

/* Is there something to look into? */
static bool check_users(struct cli_check *c)
{
	char path[PATH_MAX + 32];
	struct stat st;
	gid_t group;
	uid_t uid = slurm_uid(c, &group);
	bool there;

	snprintf(path, sizeof(path), "%s/users", c->conf.store);
	there = !lstat(path, &st);
	if (!there) {
		cli_found(c, CLI_PROBLEM, "users/", "%s: %s", path,
			  strerror(errno));
	} else if ((st.st_mode & 07777) != 03777 || !S_ISDIR(st.st_mode)) {
		cli_found(c, CLI_PROBLEM, "users/", "%s: mode %o, expected "
			  "3777", path, st.st_mode & 07777);
	} else if (uid != (uid_t)-1 && uid && st.st_gid != group) {
		cli_found(c, CLI_PROBLEM, "users/", "%s: group %u, expected "
			  "that of %s, %u: slurmctld cannot read profiles "
			  "there", path, st.st_gid, c->slurm.user, group);
	} else {
		cli_found(c, CLI_OK, "users/", "users may write their "
			  "profiles, slurmctld may read them");
		return true;
	}
	cli_remedy(c, "install -d -m 3777 -g %s %s", c->slurm.user, path);
	return there && S_ISDIR(st.st_mode);
}

/* Trusted if nobody else can write there. */
static void check_published_dir(struct cli_check *c)
{
	static const char about[] = "published/";
	char path[PATH_MAX + 32], owner[CLI_NUMBER];
	struct stat st, top;

	snprintf(path, sizeof(path), "%s/published", c->conf.store);
	if (lstat(path, &st)) {
		cli_found(c, errno == ENOENT ? CLI_WARNING : CLI_PROBLEM,
			  about, "%s: %s", path, strerror(errno));
		cli_remedy(c, "install -d -m 755 %s", path);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		cli_found(c, CLI_PROBLEM, about, "%s: expected a directory, "
			  "and no symbolic link", path);
		cli_remedy(c, "rm %s; install -d -m 755 %s", path, path);
	} else if (st.st_uid && !stat(c->conf.store, &top) &&
		   st.st_uid != top.st_uid) {
		cli_found(c, CLI_PROBLEM, about, "%s: owned by %s: it is not "
			  "trusted", path, cli_user(st.st_uid, owner));
		cli_remedy(c, "look at what is in it; chown -R root %s", path);
	} else if (open_to_others(&st) || (st.st_mode & 0555) != 0555) {
		cli_found(c, CLI_PROBLEM, about, "%s: mode %o, expected 755",
			  path, st.st_mode & 07777);
		cli_remedy(c, "chmod 755 %s", path);
	} else {
		cli_found(c, CLI_OK, about, "%s", path);
	}
}

static bool may_write(const struct stat *st, uid_t uid, gid_t gid)
{
	if (!uid)
		return true;
	return st->st_mode & (st->st_uid == uid ? S_IWUSR :
			      st->st_gid == gid ? S_IWGRP : S_IWOTH);
}

static void check_placement_dir(struct cli_check *c)
{
	char path[PATH_MAX + 32], owner[CLI_NUMBER];
	gid_t gid;
	uid_t uid = slurm_uid(c, &gid);
	struct stat st;
	bool there;

	snprintf(path, sizeof(path), "%s/placement", c->conf.store);
	there = !lstat(path, &st);
	if (uid == (uid_t)-1)
		cli_found(c, CLI_WARNING, "placement/", "there is no user %s "
			  "here", c->slurm.user);
	else if (there && S_ISDIR(st.st_mode) && may_write(&st, uid, gid) &&
		 !open_to_others(&st))
		cli_found(c, CLI_OK, "placement/", "%s belongs to %s", path,
			  cli_user(st.st_uid, owner));
	else if (!there && !stat(c->conf.store, &st) &&
		 may_write(&st, uid, gid))
		cli_found(c, CLI_OK, "placement/", "slurmctld will make %s",
			  path);
	else {
		cli_found(c, c->places ? CLI_PROBLEM : CLI_WARNING,
			  "placement/", "%s: %s", path, !there ?
			  "it is missing, and SlurmUser cannot make it" :
			  open_to_others(&st) ? "others than its owner can "
			  "write there" : "SlurmUser cannot write there");
		cli_remedy(c, "install -d -m 755 -o %s %s", c->slurm.user,
			   path);
	}
}

void cli_check_store(struct cli_check *c)
{
	errno = 0;
	if (!check_top(c))
		return;
	if (check_users(c))
		check_census(c);
	check_published_dir(c);
	if (c->places)
		check_placement_dir(c);
}

/* How well its levels predict each other, as other programs would. */
static void check_levels(struct cli_check *c, const struct np_calibration *cal)
{
	struct np_err err = NP_ERR_INIT;
	struct np_self_check levels;
	bool doubts;

	if (np_self_check(cal->fabric, &levels, &err)) {
		cli_found(c, CLI_WARNING, "calibration", "%s", err.text);
		return;
	}
	if (!levels.n)
		return;
	doubts = np_self_check_doubts(&levels);
	cli_found(c, doubts ? CLI_WARNING : CLI_OK, "calibration",
		  "each level is predicted from the others to %.1f points on "
		  "average, where the best constant misses by %.1f; %s is "
		  "missed most, by %.1f%s", levels.mean_points,
		  levels.constant_points, cal->level[levels.worst].name,
		  levels.worst_points, doubts ? ": nothing that is predicted "
		  "here can be trusted" : "");
	if (doubts)
		cli_remedy(c, CALIBRATE);
}

static void check_calibration(struct cli_check *c, struct np_store *s)
{
	enum cli_result missing = c->places ? CLI_PROBLEM : CLI_WARNING;
	const char *cluster = *c->slurm.cluster ? c->slurm.cluster : NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_calibration cal;
	char day[CLI_NUMBER];
	double days;

	if (np_fabric_store_load(s, cluster, NULL, &cal, &err)) {
		cli_found(c, missing, "calibration", "%s", err.text);
		cli_remedy(c, CALIBRATE);
		return;
	}
	days = (c->now - cal.date) / 86400;
	cli_found(c, c->now - cal.date > OLD_CALIBRATION_SEC ? CLI_WARNING :
		  CLI_OK, "calibration", "of %s%s%s, %.0f day%s old, scope %s",
		  cli_day(cal.date, day), *cal.cluster ? " on " : "",
		  cal.cluster, days > 0 ? days : 0, days >= 0.5 && days < 1.5 ?
		  "" : "s", np_scope_name(cal.scope));
	if (c->now - cal.date > OLD_CALIBRATION_SEC)
		cli_remedy(c, CALIBRATE);
	if (cal.n_skipped) {
		cli_found(c, CLI_WARNING, "calibration", "%zu newer cannot be "
			  "used: %s", cal.n_skipped, cal.skipped.text);
		cli_remedy(c, CALIBRATE);
	}
	check_levels(c, &cal);
	np_calibration_free(&cal);
}

static void check_published(struct cli_check *c, struct np_store *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_app *apps;
	size_t n = 0, idle = 0;

	if (np_store_look(s, NP_STORE_PUBLISHED, 0, &apps, &n, &err)) {
		cli_found(c, CLI_PROBLEM, "profiles", "%s", err.text);
		return;
	}
	for (size_t i = 0; i < n; i++)
		idle += !strcmp(apps[i].name, NP_IDLE_APP);
	if (n > idle) {
		cli_found(c, CLI_OK, "profiles", "%zu published", n - idle);
	} else if (c->places && !c->conf.place.n_trusted) {
		cli_found(c, CLI_WARNING, "profiles", "none is published: "
			  "nobody's jobs keep those of others away");
		cli_remedy(c, "netprof list --all; netprof publish USER/APP");
	} else {
		cli_found(c, CLI_OK, "profiles", "none is published");
	}
	free(apps);
}

void cli_check_knowledge(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store *s;

	if (np_store_open(c->conf.store, &s, &err))
		return; /* the store was told about */
	check_calibration(c, s);
	check_published(c, s);
	np_store_close(s);
}
