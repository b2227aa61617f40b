/* netprof calibrate, the fabric: steps of its own in the allocation. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_alloc.h"
#include "cli_calibrate.h"
#include "cli_output.h"
#include "np_calibrate_run.h"
#include "np_clock.h"
#include "np_fabric_store.h"
#include "np_profile.h"
#include "np_store.h"
#include "np_text.h"

#define CALIBRATE_TIME 32

/* "about 12 min" */
static const char *calibrate_time(double sec, char buf[CALIBRATE_TIME])
{
	if (sec < 90)
		snprintf(buf, CALIBRATE_TIME, "%.0f s", sec);
	else if (sec < 90 * 60)
		snprintf(buf, CALIBRATE_TIME, "%.0f min", sec / 60);
	else
		snprintf(buf, CALIBRATE_TIME, "%.1f h", sec / 3600);
	return buf;
}

static void say_sites(const struct np_cal_sites *s)
{
	fprintf(stderr, "leaf %s: ", *s->leaf ? s->leaf : "(no topology)");
	if (s->aggressor.n)
		fprintf(stderr, "levels on %s press on %s\n",
			s->aggressor.list, s->victim.list);
	else
		fprintf(stderr, "levels share the nodes %s, as there are "
			"fewer than four\n", s->victim.list);
	if (s->aggressor_across.n)
		fprintf(stderr, "uplink: a ring of %s presses on one of %s\n",
			s->aggressor_across.list, s->victim_across.list);
	else
		fprintf(stderr, "uplink: not measured, as there are too few "
			"nodes on a second leaf\n");
}

static void say_plan(const struct np_calibrate *c,
			const struct np_cal_sites *sites,
			const struct np_cal_estimate *e)
{
	const struct np_cal_setup *s = &c->setup;
	size_t chosen = s->keep < s->n_levels ? s->keep : s->n_levels;
	char t[CALIBRATE_TIME];

	say_sites(sites);
	fprintf(stderr, "levels:");
	for (size_t i = 0; i < s->n_levels; i++)
		fprintf(stderr, " %s", s->level[i].name);
	fprintf(stderr, "\n%zu of them beside each other, %u times, %g s "
		"each\n", chosen, s->repeats, s->seconds);
	fprintf(stderr, "%zu measurements, about %s", e->n,
		calibrate_time(e->sec, t));
	if (e->n_done)
		fprintf(stderr, "; %zu of them are done, about %s left",
			e->n_done, calibrate_time(e->left_sec, t));
	fputc('\n', stderr);
}

static void show_progress(void *arg, const struct np_cal_progress *p)
{
	static int last = -1;
	unsigned percent = p->n ? (unsigned)(100 * p->n_done / p->n) : 100;
	char t[CALIBRATE_TIME];

	(void)arg;
	calibrate_time(p->left_sec, t);
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r%3u %%  %zu of %zu  about %s left  "
			"%.40s\033[K", percent, p->n_done, p->n, t,
			p->key ? p->key : "");
		if (!p->key)
			fputc('\n', stderr);
		fflush(stderr);
		return;
	}
	if ((int)percent / 10 == last)
		return;
	last = (int)percent / 10;
	fprintf(stderr, "%3u %%  %zu of %zu  about %s left\n", percent,
		p->n_done, p->n, t);
}

static void say_mean(const struct np_mean *m, double factor)
{
	if (!m->n)
		printf("%8s", "-");
	else
		printf("%8.*f", factor == 1 ? 2 : 1, factor * m->mean);
}

static void say_coupling(const struct np_calibrate *c)
{
	for (int i = 0; i < NP_N_SCOPES; i++) {
		enum np_scope scope = (enum np_scope)i;
		struct np_mean l = np_cal_loss(c, scope);
		struct np_mean k = np_cal_coupling(c, c->scope, scope);

		printf("%-8s", np_scope_name(scope));
		say_mean(&l, 100);
		say_mean(&k, 1);
		if (k.n > 1)
			printf(" +- %.2f (%u times)", k.sd / sqrt(k.n), k.n);
		putchar('\n');
	}
}

static void say_result(const struct np_calibrate *c)
{
	const struct np_cal_setup *s = &c->setup;

	printf("slowdown in %% of each level (row) beside each (column), "
	       "scope %s:\n\n%-20s", np_scope_name(c->scope), "");
	for (size_t p = 0; p < c->n_chosen; p++)
		printf("%8.7s", s->level[c->chosen[p]].name);
	putchar('\n');
	for (size_t v = 0; v < c->n_chosen; v++) {
		printf("%-20.20s", s->level[c->chosen[v]].name);
		for (size_t p = 0; p < c->n_chosen; p++) {
			struct np_mean m = np_cal_matrix(c, c->scope,
							 c->chosen[v],
							 c->chosen[p]);

			say_mean(&m, 100);
		}
		putchar('\n');
	}
	printf("\nlevel %s beside level %s:\n%-8s%8s%8s\n",
	       s->level[np_cal_middle(s)].name,
	       s->level[np_cal_strongest(s)].name, "scope", "loss %",
	       "coupling");
	say_coupling(c);
}

struct work {
	const struct calibrate_opt *opt;
	struct np_store *store; /* NULL with --output */
	struct cli_alloc at;
	struct np_cal_srun steps;
	struct np_cal_survey seen;
	struct np_cal_sites sites;
	struct np_cal_state state;
	struct np_calibrate c;
	char *dir; /* of the store, for this cluster; NULL with --output */
	char *state_path;
	double date;
};

/* ---- where the result goes ---- */

/* Not to find out after an hour that it cannot be written. */
static int check_store(struct work *w, struct np_err *err)
{
	const char *store = w->at.conf.store;
	char name[NP_APP_MAX + 1];
	struct np_dir d;
	int rc = np_store_open(store, &w->store, err);

	if (rc)
		return rc;
	if (!w->at.cluster || np_app_from_text(w->at.cluster, name))
		strcpy(name, "cluster");
	rc = np_dir_open_fabric(w->store, name, !w->opt->dry_run, &d, err);
	if (rc == -ENOENT && w->opt->dry_run) {
		w->dir = strdup(store);
		return w->dir ? 0 : -ENOMEM;
	}
	if (rc)
		return rc == -ENOENT ? np_errf(err, rc, "%s: %s", store,
					       strerror(-rc)) : rc;
	if (!w->opt->dry_run && faccessat(d.fd, ".", W_OK, AT_EACCESS))
		rc = np_errf(err, -errno, "%s: %s; calibrations are written by "
			     "administrators, or into a file by --output=FILE",
			     d.path, strerror(errno));
	w->dir = strdup(d.path);
	np_dir_close(&d);
	return rc || w->dir ? rc : -ENOMEM;
}

/* What was measured goes together only if all of this is equal. */
static char *describe(const struct work *w)
{
	const struct np_cal_setup *s = &w->c.setup;
	const struct np_cal_sites *at = &w->sites;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "cluster=%s nodes=%s leaf=%s victim=%s aggressor=%s "
		"across=%s/%s", w->at.cluster ? w->at.cluster : "", w->at.nodes,
		at->leaf, at->victim.list,
		at->aggressor.n ? at->aggressor.list : "",
		at->victim_across.n ? at->victim_across.list : "",
		at->aggressor_across.n ? at->aggressor_across.list : "");
	fprintf(f, " transport=%s bytes=%u period=%g per_node=%u seconds=%g "
		"probe_seconds=%g levels=", w->seen.transport,
		w->at.conf.message_bytes, w->at.conf.period_sec,
		w->at.conf.per_node,
		s->seconds, s->probe_seconds);
	for (size_t i = 0; i < s->n_levels; i++)
		fprintf(f, "%s%s", i ? "," : "", s->level[i].name);
	return fclose(f) ? NULL : text;
}

/* The state of this very calibration, hidden beside the result. */
static int place_state(struct work *w, const char *setup, struct np_err *err)
{
	int len;

	if (w->opt->output)
		len = asprintf(&w->state_path, "%s.unfinished",
			       w->opt->output);
	else
		len = asprintf(&w->state_path, "%s/.unfinished-%016" PRIx64,
			       w->dir, np_hash(NP_HASH, setup, strlen(setup)));
	if (len < 0) {
		w->state_path = NULL;
		return np_errf(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int load_state(struct work *w, const char *setup, struct np_err *err)
{
	struct np_cal_state old;
	char date[40];
	time_t t;
	int rc = w->opt->fresh ? -ENOENT :
		 np_cal_state_load(w->state_path, &old, err);

	if (!rc && strcmp(old.setup, setup)) {
		np_cal_state_free(&old);
		return np_errf(err, -EEXIST, "%s is of another calibration: "
			       "--fresh begins anew", w->state_path);
	}
	if (!rc) {
		w->state = old;
		t = (time_t)old.begun;
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M",
			 localtime(&t));
		fprintf(stderr, "going on with what was begun on %s\n", date);
		return 0;
	}
	if (rc != -ENOENT)
		return rc;
	return np_cal_state_init(&w->state, setup, w->date) ?
		np_errf(err, -ENOMEM, "out of memory") : 0;
}

/* ---- the work ---- */

static int survey(struct work *w, struct np_err *err)
{
	struct np_cal_setup *s = &w->c.setup;
	int rc = np_cal_run_survey(w->c.run, w->at.nodes, w->at.n_nodes,
				   &w->seen, err);

	if (!rc)
		rc = np_cal_sites_make(w->seen.node, w->seen.n, &w->sites,
				       err);
	if (rc)
		return rc;
	for (int i = 0; i < NP_N_SCOPES; i++)
		s->has[i] = np_cal_sites_have(&w->sites, (enum np_scope)i);
	if (w->opt->scope_given && !s->has[w->opt->scope])
		return np_errf(err, -EINVAL, "--scope=%s: expected four nodes "
			       "or more on one leaf",
			       np_scope_name(w->opt->scope));
	np_cal_run_set_sites(w->c.run, &w->sites);
	return np_cal_levels_parse(w->opt->levels, w->sites.victim.n, s->level,
				   &s->n_levels, err);
}

static int save_state(void *arg, const struct np_cal_state *s,
		      struct np_err *err)
{
	const struct work *w = arg;

	return np_cal_state_save(w->state_path, s, err);
}

/*
 * Profiles are compared with the idle network: what was measured of it goes to
 * the published idle runs, too.  The calibration is good without.
 */
static void publish_idle(const struct work *w, const char *text)
{
	struct np_err err = NP_ERR_INIT;
	struct np_calibration cal;
	struct np_record *r;

	if (np_calibration_parse(text, strlen(text), "", &cal, NULL))
		return;
	r = np_idle_of_calibration(&cal, np_date_sec());
	np_calibration_free(&cal);
	if (!r)
		return;
	r->uid = geteuid();
	if (np_store_publish(w->store, r, &err))
		fprintf(stderr, "netprof: the idle network is not among the "
			"published profiles: %s\n", err.text);
	np_record_free(r);
}

static int save_result(struct work *w, struct np_err *err)
{
	const struct np_calibration_facts facts = {
		.c = &w->c, .sites = &w->sites, .cluster = w->at.cluster,
		.transport = w->seen.transport,
		.ucx_version = w->seen.version,
		.date = w->date, .message_bytes = w->at.conf.message_bytes,
		.period_sec = w->at.conf.period_sec,
	};
	char *text;
	int rc = np_calibrate_result(&facts, &text, err);

	if (rc)
		return rc;
	rc = w->opt->output ? cli_write_over(w->opt->output, text, "\n", err) :
	     np_fabric_store_save(w->store, w->at.cluster, w->date, text, err);
	if (!rc && !w->opt->output)
		publish_idle(w, text);
	free(text);
	if (!rc)
		unlink(w->state_path);
	return rc;
}

static int measure(struct work *w, struct np_err *err)
{
	struct np_cal_estimate e;
	int rc = np_calibrate_estimate(&w->c, &e);

	if (rc)
		return np_errf(err, rc, "out of memory");
	say_plan(&w->c, &w->sites, &e);
	if (w->opt->dry_run)
		return 0;
	rc = np_calibrate_go(&w->c, err);
	if (rc == -EINTR || rc == -EPIPE || rc == -ETIMEDOUT)
		fprintf(stderr, "%snetprof: what was measured is kept; the "
			"same command goes on\n",
			isatty(STDERR_FILENO) ? "\n" : "");
	if (rc)
		return rc;
	w->date = (double)time(NULL);
	rc = save_result(w, err);
	if (!rc)
		say_result(&w->c);
	return rc;
}

static int prepare(struct work *w, struct np_err *err)
{
	char *setup;
	int rc = survey(w, err);

	if (rc)
		return rc;
	setup = describe(w);
	if (!setup)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = place_state(w, setup, err);
	if (!rc)
		rc = load_state(w, setup, err);
	free(setup);
	return rc;
}

static void set_up(struct work *w)
{
	const struct calibrate_opt *o = w->opt;
	struct np_cal_setup *s = &w->c.setup;

	s->keep = o->keep;
	s->repeats = o->repeats ? o->repeats : 3;
	s->seconds = o->seconds;
	s->probe_seconds = o->probe_seconds ? o->probe_seconds :
			   NP_CAL_PROBE_FACTOR * o->seconds;
	w->c.state = &w->state;
	w->c.scope_given = o->scope_given;
	w->c.scope = o->scope;
	w->c.save = save_state;
	w->c.progress = show_progress;
	w->c.arg = w;
	w->date = (double)time(NULL);
}

static int work(struct work *w, struct np_err *err)
{
	int rc = cli_alloc_find(&w->at, 8, "calibrate", err);

	if (!rc && !w->opt->output)
		rc = check_store(w, err);
	if (!rc)
		rc = cli_alloc_env(&w->at, err);
	if (rc)
		return rc;
	w->steps.conf = &w->at.conf;
	w->steps.job = w->at.job;
	w->steps.stop = cli_alloc_stop();
	w->steps.env = w->at.env;
	w->c.run = np_cal_run_new(&np_cal_srun_ops, &w->steps, &w->c.setup);
	if (!w->c.run)
		return np_errf(err, -ENOMEM, "out of memory");
	set_up(w);
	rc = prepare(w, err);
	return rc ? rc : measure(w, err);
}

int calibrate_fabric(const struct calibrate_opt *opt)
{
	static struct work w;
	struct np_err err = NP_ERR_INIT;
	int rc;

	w.opt = opt;
	cli_alloc_stop();
	rc = work(&w, &err);
	np_cal_run_free(w.c.run);
	np_cal_state_free(&w.state);
	np_cal_sites_free(&w.sites);
	np_store_close(w.store);
	free(w.at.env);
	free(w.state_path);
	free(w.dir);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}
