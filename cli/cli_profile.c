#include "cli_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_text.h"
#include "np_conf.h"
#include "np_near.h"

/* The store that the configuration names. */

int cli_conf_read(struct np_conf *conf)
{
	struct np_err err = NP_ERR_INIT;
	int rc = np_conf_from_environment(conf, &err);

	if (rc && rc != -EINVAL)
		return cli_fail("%s", err.text);
	if (rc && !access(np_conf_path(), W_OK))
		cli_fail("%s; until it is mended jobs are not measured",
			 err.text);
	return -1;
}

/* What chose that directory. */
static const char *chosen_by(const char *store, char *buf, size_t len)
{
	const char *env = getenv("NETPROF_STORE");

	if (env && *env)
		return "NETPROF_STORE in the environment";
	if (!strcmp(store, NP_CONF_STORE))
		return "the default, as netprof.conf has no other Store=";
	snprintf(buf, len, "Store= in %s", np_conf_path());
	return buf;
}

static int no_store(const char *store, int rc, const char *why)
{
	char buf[PATH_MAX + 16];

	return cli_fail("%s (%s); %s", why, chosen_by(store, buf, sizeof(buf)),
			rc == -EACCES ? "ask its administrator, or name another "
			"by NETPROF_STORE" : "netprof check --make-store makes "
			"one (as root), and NETPROF_STORE names another");
}

/* What a directory has that is a store, if only one of them. */
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

/* np_store_open(), and what it does not see. */
static int open_store(const char *dir, struct np_store **store,
		      struct np_err *err)
{
	int rc = np_store_open(dir, store, err);

	if (rc)
		return rc;
	if (access(dir, X_OK))
		rc = np_errf(err, -errno, "profile store %s: %s", dir,
			     strerror(errno));
	else if (!is_store(dir))
		rc = np_errf(err, -EINVAL, "%s: not a profile store, as it has "
			     "none of the directories users, published and "
			     "fabric", dir);
	if (rc)
		np_store_close(*store);
	return rc;
}

int cli_store_open(struct cli_store *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;
	int rc = cli_conf_read(&conf);

	if (rc >= 0)
		return rc;
	rc = open_store(conf.store, &s->store, &err);
	if (rc)
		return no_store(conf.store, rc, err.text);
	np_store_set_max_runs(s->store, conf.max_runs);
	s->max_slowdown = conf.place.max_slowdown;
	return -1;
}

void cli_store_close(struct cli_store *s)
{
	np_store_close(s->store);
}

#define MAX_SAID 10 /* lines about skipped files of one application */

static void say_skipped(const char *line, void *arg)
{
	size_t *n = arg;

	/* That there are more runs than needed is no file that is skipped. */
	if (!strstr(line, ": skipped: ") || (*n)++ < MAX_SAID)
		fprintf(stderr, "netprof: %s\n", line);
	else if (*n == MAX_SAID + 1)
		fprintf(stderr, "netprof: more files are skipped\n");
}

const char *cli_owner_name(enum np_store_owner owner, uid_t uid, char *buf,
			   size_t len)
{
	char user[CLI_NUMBER];

	snprintf(buf, len, "%s", owner == NP_STORE_PUBLISHED ? "published" :
				 cli_user(uid, user));
	return buf;
}

void cli_profile_free(struct cli_profile *p)
{
	np_profile_free(&p->profile);
	np_runs_free(&p->r.runs);
	np_runs_free(&p->idle[0]);
	np_runs_free(&p->idle[1]);
}

/* The idle runs beside the profile first, then those of the other side. */
static void load_idle(struct cli_store *s, struct cli_profile *p)
{
	bool own_first = p->r.owner == NP_STORE_USER;

	for (int i = 0; i < 2; i++)
		/* None is fine, and what is wrong with them is said by their
		 * own `show`. */
		np_store_load(s->store, (i == 0) == own_first ? NP_STORE_USER :
			      NP_STORE_PUBLISHED, p->r.uid, NP_IDLE_APP, NULL,
			      NULL, &p->idle[i], NULL);
}

static int load(struct cli_store *s, enum np_store_owner owner, uid_t uid,
		const char *app, struct cli_runs *out, struct np_err *err)
{
	struct cli_runs r = { .owner = owner, .uid = uid };
	int rc = np_store_load(s->store, owner, uid, app, say_skipped,
			       &r.n_skipped, &r.runs, err);

	if (!rc)
		*out = r;
	return rc;
}

int cli_runs_look(struct cli_store *s, enum np_store_owner owner, uid_t uid,
		  const char *app, struct cli_runs *out)
{
	struct cli_runs r = { .owner = owner, .uid = uid };
	int rc = np_store_load(s->store, owner, uid, app, NULL, NULL, &r.runs,
			       NULL);

	if (rc)
		return rc == -ENOMEM ? rc : -ENOENT;
	if (!r.runs.n) {
		np_runs_free(&r.runs);
		return -ENOENT;
	}
	*out = r;
	return 0;
}

/* The profile takes the runs over, also when it fails. */
static int make(struct cli_store *s, const struct cli_runs *r,
		struct cli_profile *out, struct np_err *err)
{
	int rc;

	/* The profile borrows what is in it, hence not to be copied later. */
	*out = (struct cli_profile){ .r = *r };
	if (strcmp(r->runs.app, NP_IDLE_APP))
		load_idle(s, out);
	rc = np_profile_make(&out->r.runs, (const struct np_runs *[]){
			     &out->idle[0], &out->idle[1] }, 2,
			     (double)time(NULL), &out->profile);
	if (!rc)
		return 0;
	np_errf(err, rc, "%s: out of memory", r->runs.app);
	cli_profile_free(out);
	return rc;
}

int cli_profile_load(struct cli_store *s, enum np_store_owner owner, uid_t uid,
		     const char *app, struct cli_profile *out,
		     struct np_err *err)
{
	struct cli_runs r;
	int rc = load(s, owner, uid, app, &r, err);

	return rc ? rc : make(s, &r, out, err);
}

/*
 * Names of applications that a search finds, each once: free() the list and,
 * of what it borrows from, own and site.
 */
struct names {
	const char **name;
	size_t n;
	struct np_store_app *own, *site;
};

static void known_names(struct cli_store *s, bool published, uid_t uid,
			struct names *out)
{
	size_t n_own = 0, n_site = 0;

	*out = (struct names){ .n = 0 };
	if (!published)
		np_store_look(s->store, NP_STORE_USER, uid, &out->own, &n_own,
			      NULL);
	np_store_look(s->store, NP_STORE_PUBLISHED, 0, &out->site, &n_site,
		      NULL);
	out->name = calloc(n_own + n_site + 1, sizeof(*out->name));
	for (size_t i = 0; out->name && i < n_own; i++)
		out->name[out->n++] = out->own[i].name;
	for (size_t i = 0; out->name && i < n_site; i++) {
		size_t k = 0;

		while (k < n_own && strcmp(out->name[k], out->site[i].name))
			k++;
		if (k == n_own)
			out->name[out->n++] = out->site[i].name;
	}
}

static void names_free(struct names *n)
{
	free(n->name);
	free(n->own);
	free(n->site);
}

static const char none_yet[] = "; there is none at all yet: sbatch "
			       "--netprofile=NAME job.sh makes one";

static void near_names(struct cli_store *s, const struct cli_options *o,
		       const char *app, char *buf, size_t len)
{
	struct names n;

	known_names(s, o->published, o->uid, &n);
	np_suggest(app, n.name, n.n, buf, len);
	if (!n.n)
		snprintf(buf, len, "%s", none_yet);
	names_free(&n);
}

const char *cli_known_apps(const struct cli_options *o, char *buf, size_t len)
{
	struct cli_store s;
	struct names n;

	buf[0] = '\0';
	if (cli_store_open(&s) >= 0)
		return buf;
	known_names(&s, o->published, o->uid, &n);
	for (size_t i = 0; i < n.n && strlen(buf) + 80 < len; i++)
		cli_add(buf, len, "%s%s", i ? ", " : "; known are ", n.name[i]);
	if (!n.n)
		cli_add(buf, len, "%s", none_yet);
	names_free(&n);
	cli_store_close(&s);
	return buf;
}

static int not_found(struct cli_store *s, const struct cli_options *o,
		     const char *app)
{
	char near[256], user[CLI_NUMBER];

	near_names(s, o, app, near, sizeof(near));
	if (o->published)
		return cli_fail("no published profile of \"%.64s\"%s", app,
				near);
	return cli_fail("no profile of \"%.64s\", neither of %s nor "
			"published%s", app, cli_user(o->uid, user), near);
}

int cli_runs_find(struct cli_store *s, const struct cli_options *o,
		  const char *app, struct cli_runs *out)
{
	struct np_err err = NP_ERR_INIT;
	size_t empty = 0;
	int rc;

	for (int i = o->published; i < 2; i++) {
		enum np_store_owner owner = i ? NP_STORE_PUBLISHED :
						NP_STORE_USER;

		rc = load(s, owner, o->uid, app, out, &err);
		if (!rc && out->runs.n)
			return -1;
		if (!rc) {
			np_runs_free(&out->runs);
			empty++;
		} else if (rc != -ENOENT) {
			return cli_fail("%s", err.text);
		}
	}
	if (empty)
		return cli_fail("no run of \"%.64s\" can be used", app);
	if (np_app_check(app, &err))
		return cli_fail("%s", err.text);
	return not_found(s, o, app);
}

int cli_profile_find(struct cli_store *s, const struct cli_options *o,
		     const char *app, struct cli_profile *out)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_runs r;
	int rc = cli_runs_find(s, o, app, &r);

	if (rc >= 0)
		return rc;
	return make(s, &r, out, &err) ? cli_fail("%s", err.text) : -1;
}

const char *cli_run_id(const struct np_record *r, char *buf, size_t len)
{
	char job[CLI_NUMBER];

	if (r->array_job_id != NP_NO_VALUE && r->array_task_id != NP_NO_VALUE)
		snprintf(job, sizeof(job), "%u_%u", (unsigned)r->array_job_id,
			 (unsigned)r->array_task_id);
	else if (r->het_component != NP_NO_VALUE)
		snprintf(job, sizeof(job), "%u+%u", r->job_id,
			 (unsigned)r->het_component);
	else
		snprintf(job, sizeof(job), "%u", r->job_id);
	snprintf(buf, len, "%s.%u", job, r->step_id);
	return buf;
}

bool cli_run_is(const struct np_record *r, const char *run)
{
	size_t len = strlen(run);
	char id[64];

	cli_run_id(r, id, sizeof(id));
	return !strncmp(id, run, len) &&
	       (!id[len] || (id[len] == '.' && !strchr(run, '.')));
}
