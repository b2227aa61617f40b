#include "cli_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_text.h"
#include "np_conf.h"

/* The store that the configuration names. */

int cli_store_open(struct cli_store *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;

	if (np_conf_from_environment(&conf, &err) ||
	    np_store_open(conf.store, &s->store, &err))
		return cli_fail("%s", err.text);
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

/* Names of applications that the search would have found. */
static void near_names(struct cli_store *s, const struct cli_options *o,
		       const char *app, char *buf, size_t len)
{
	struct np_store_app *own = NULL, *site = NULL;
	size_t n_own = 0, n_site = 0;
	char **all;

	if (!o->published)
		np_store_look(s->store, NP_STORE_USER, o->uid, &own, &n_own,
			      NULL);
	np_store_look(s->store, NP_STORE_PUBLISHED, 0, &site, &n_site, NULL);
	all = calloc(n_own + n_site + 1, sizeof(*all));
	buf[0] = '\0';
	if (all) {
		size_t n = 0;

		while (n < n_own) {
			all[n] = own[n].name;
			n++;
		}
		for (size_t i = 0; i < n_site; i++) {
			size_t k = 0;

			while (k < n_own && strcmp(all[k], site[i].name))
				k++;
			if (k == n_own)
				all[n++] = site[i].name;
		}
		cli_suggest(app, all, n, buf, len);
		if (!n)
			snprintf(buf, len, "; there is none at all yet: "
				 "sbatch --netprofile=NAME job.sh makes one");
	}
	free(all);
	free(own);
	free(site);
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
