#include "np_cycle.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "np_apply.h"
#include "np_ctl.h"
#include "np_clock.h"
#include "np_proxy.h"
#include "np_state.h"
#include "np_tell.h"
#include "np_text.h"

#define REST_TO_WORK 19

double np_gap_sec(double took_sec, double interval_sec)
{
	double sec = fmin(REST_TO_WORK * took_sec, interval_sec);

	return fmax(fmax(sec, took_sec), NP_GAP_LEAST_SEC);
}

#define MAX_UPDATES 500	   /* of one round; the rest comes with the next */
#define READ_SEC 0.5	   /* for the store, in one round */
#define IDLE_SEC 5	   /* between two looks while there is nothing to do */
#define TELL_SEC 5	   /* between two files when nothing changed */
#define QUIET_SEC 60	   /* between two rounds where placement is off */
#define MISSED_SEC 3600	   /* between two lines about changes without room */
#define CARRY_SEC 5	   /* at most, from job_submit until the job is shown */

struct np_cycle {
	struct np_shared *shared;
	struct np_settings settings;
	struct np_role role;
	bool in_charge;
	struct np_proxy *proxy;
	struct np_job_cache *cache;
	struct np_site *site;
	int64_t last_sec;	/* of the last decision */
	uint32_t last_id;	/* the highest of a job in what is published */
	double told_sec;	/* monotonic */
	double missed_sec;	/* of the next line about them; monotonic */
	double quiet_sec;	/* until then nothing is to do; monotonic */
	struct np_err untold;	/* why state.json was not written last time */
	struct np_err said;	/* the trouble that was logged last */
	struct np_err noted;	/* what is odd about the site, the same */
	struct np_denied_told denied_said; /* the claims that were */
	uint64_t jobs;	/* digest of those of the last round */
};

/* What one round works with. */
struct round {
	struct np_answers answers;
	struct np_arrivals arrivals;
	uint32_t last_id; /* the highest of a job */
	struct np_change *change;
	size_t n_changes;
	bool written; /* it went as far as that */
	bool cut;     /* but not all of it: jobs stand as nobody decided */
	bool more;    /* there is more to write, and it is known what stands */
	struct np_known known; /* of the store */
	struct np_view view;
	struct np_denials denied;
	struct np_placement *placement;
	bool news; /* a decision is another one than before */
	double began_sec, save_sec; /* monotonic; 0: not that far */
	struct np_err trouble; /* what does not keep us from going on */
};

int np_cycle_new(struct np_shared *shared, struct np_cycle **out)
{
	struct np_cycle *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->shared = shared;
	np_settings_init(&c->settings);
	if (np_job_cache_new(&c->cache) || np_proxy_new(&NP_PATIENCE,
							&c->proxy)) {
		np_cycle_free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void np_cycle_free(struct np_cycle *c)
{
	if (!c)
		return;
	np_job_cache_free(c->cache);
	np_proxy_free(c->proxy);
	np_site_unref(c->site);
	free(c);
}

/* Somebody changes jobs faster than there is room for: once an hour. */
static void tell_missed(struct np_cycle *c)
{
	uint32_t uid;
	unsigned n = np_shared_take_missed(c->shared, &uid);

	if (!n || np_mono_sec() < c->missed_sec)
		return;
	c->missed_sec = np_mono_sec() + MISSED_SEC;
	np_ctl_info("%u changes of jobs, the first by uid %u, are worked out "
		    "from what stands there: more than %d of a user between "
		    "two rounds, or a list of over %d bytes", n, uid,
		    NP_CHANGES_OF_USER, NP_CHANGES_MAX_LIST);
}

static void skipped(const char *line, void *arg)
{
	(void)arg;
	np_ctl_info("%s", line);
}

/*
 * netprof.conf may have changed; what is broken leaves the last good one.
 * Returns whether it is another file than before, good or not.
 */
static bool configure(struct np_cycle *c)
{
	struct timespec before = c->settings.changed;
	off_t size = c->settings.size;

	if (np_settings_refresh(&c->settings)) {
		np_shared_configure(c->shared, &c->settings.conf);
		np_proxy_renew(c->proxy);
	}
	return before.tv_sec != c->settings.changed.tv_sec ||
	       before.tv_nsec != c->settings.changed.tv_nsec ||
	       size != c->settings.size;
}

static bool take_charge(struct np_cycle *c)
{
	struct np_err why = NP_ERR_INIT;
	bool in_charge = !np_role_check(&c->role, &why);

	if (in_charge != c->in_charge)
		np_ctl_info("%s", in_charge ?
			    "in control: placement is at work" : why.text);
	if (!in_charge && c->in_charge)
		np_shared_withdraw(c->shared);
	c->in_charge = in_charge;
	return in_charge;
}

/* Their profiles are read before others.  Is that news? */
static bool want_all(struct np_cycle *c, const job_info_msg_t *jobs)
{
	bool news = false;

	for (uint32_t i = 0; i < jobs->record_count; i++) {
		const slurm_job_info_t *j = &jobs->job_array[i];
		char app[NP_APP_MAX + 1];

		if (np_view_app(&c->settings.conf.place, j, app))
			news |= np_proxy_want(c->proxy, app, j->user_id);
	}
	return news;
}

/* Nothing is known yet: the first decision needs to know what is wanted. */
static int begin_store(struct np_cycle *c, struct np_err *err)
{
	struct np_answers answers;
	int rc = np_answers_load(&answers, err);

	if (rc)
		return rc;
	rc = np_proxy_open(c->proxy, &c->settings.conf, c->role.cluster, err);
	if (!rc)
		want_all(c, answers.jobs);
	np_answers_free(&answers);
	return rc;
}

/* Users' files may take their time: no submission waits meanwhile. */
static int read_store(struct np_cycle *c, struct round *r, struct np_err *err)
{
	int rc = np_proxy_is_new(c->proxy) ? begin_store(c, err) : 0;

	return rc ? rc : np_proxy_read(c->proxy, READ_SEC, skipped, &r->known,
				       &r->trouble, err);
}

/* A job and the array it belongs to are the same user's. */
static void know_owners(struct np_cycle *c, const struct np_view *v)
{
	struct np_owner *owner = calloc(2 * v->n_jobs + 1, sizeof(*owner));
	size_t n = 0;

	for (size_t i = 0; owner && i < v->n_jobs; i++) {
		const struct np_seen *s = &v->job[i];
		const uint32_t uid = s->in->owner;

		owner[n++] = (struct np_owner){ s->id, uid };
		if (s->array && s->array != s->id)
			owner[n++] = (struct np_owner){ s->array, uid };
	}
	if (owner) /* else those of the last time are still right */
		np_shared_know(c->shared, owner, n);
}

/* One line for as long as it is so. */
static void tell_oddity(struct np_cycle *c, const struct np_site *site)
{
	if (!strcmp(c->noted.text, site->note.text))
		return;
	c->noted = site->note;
	if (*site->note.text)
		np_ctl_info("%s", site->note.text);
}

static int look(struct np_cycle *c, struct round *r, struct np_err *err)
{
	const struct np_conf *conf = &c->settings.conf;
	int64_t now_sec = time(NULL);
	/* Clocks are set back now and then. */
	int64_t last_sec = c->last_sec <= now_sec ? c->last_sec : 0;
	struct np_site *site;
	int rc = np_answers_load(&r->answers, err);

	if (rc)
		return rc;
	rc = np_site_make(c->site, r->answers.nodes, r->answers.parts,
			  r->answers.topology, c->role.whole_nodes, &site,
			  err);
	if (rc)
		return rc;
	np_site_unref(c->site);
	c->site = site;
	tell_oddity(c, site);
	if (!site->leaves->n && !r->trouble.text[0])
		np_errf(&r->trouble, -ENODATA, "Slurm knows no leaf switches: "
			"placement needs topology/tree or topology/block");
	r->last_id = c->last_id;
	rc = np_answers_arrivals(&r->answers, now_sec - CARRY_SEC, &r->last_id,
				 &r->arrivals);
	if (rc)
		return rc;
	/* What the store has of new ones, the next round knows. */
	r->known.more |= want_all(c, r->answers.jobs);
	rc = np_view_make(&r->answers, site, r->known.index, &conf->place,
			  c->cache, r->change, r->n_changes, now_sec, last_sec,
			  &r->view, err);
	if (!rc)
		know_owners(c, &r->view);
	return rc;
}

static int decide(struct np_cycle *c, struct round *r, struct np_err *err)
{
	struct np_policy policy;

	np_settings_policy(&c->settings, r->known.index, &policy);
	return np_placement_decide(r->view.snapshot, r->known.table, &policy,
				   &r->placement, err);
}

static void keep_held(struct np_cycle *c, const struct round *r)
{
	for (size_t i = 0; i < r->view.n_jobs; i++) {
		struct np_cached_job *cached =
			np_job_cache_find(c->cache, r->view.job[i].id);

		if (cached)
			cached->held_sec =
				np_placement_at(r->placement, i)->held_sec;
	}
	np_job_cache_sweep(c->cache);
}

/* Hand the decision to the callbacks. */
static int publish(struct np_cycle *c, struct round *r)
{
	struct np_standing *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->placement = r->placement;
	s->site = np_site_ref(r->view.site);
	s->index = np_app_index_ref(r->known.index);
	s->set = r->view.set;
	s->now_sec = r->view.now_sec;
	r->placement = NULL;
	r->view.set = NULL;
	np_shared_publish(c->shared, s, &r->arrivals);
	c->last_id = r->last_id;
	return 0;
}

/* Jobs came, started or ended since the last time. */
static bool jobs_changed(struct np_cycle *c, const struct np_view *v)
{
	uint64_t h = NP_HASH;
	bool changed;

	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct np_job *in = v->job[i].in;
		const uint32_t job[] = { in->id, in->state == NP_JOB_RUNNING };

		h = np_hash(h, job, sizeof(job));
	}
	changed = h != c->jobs;
	c->jobs = h;
	return changed;
}

static int write_all(struct np_cycle *c, struct round *r,
		     bool (*go_on)(void *arg), void *arg)
{
	struct np_applied a;
	int rc;

	np_denied_gather(&r->view, r->known.index, &r->denied);
	r->news = np_denied_log(&r->view, &r->denied, &c->denied_said) > 0;
	r->news |= np_tell_log(&r->view, r->placement, c->cache) > 0;
	r->news |= jobs_changed(c, &r->view);
	rc = np_apply(&r->view, r->placement, c->cache, c->shared, MAX_UPDATES,
		      go_on, arg, &a);
	np_shared_note_written(c->shared, a.written, a.n_written);
	r->cut = a.cut;
	r->more = a.more;
	return rc;
}

static mode_t file_mode(const struct np_cycle *c)
{
	return c->role.private_jobs ? 0640 : 0644;
}

static int describe(struct np_cycle *c, struct round *r,
		    struct np_state *state)
{
	struct np_tell t = {
		.role = &c->role, .settings = &c->settings,
		.fabric = np_proxy_fabric(c->proxy), .table = r->known.table,
		.denied = &r->denied,
		.trouble = r->trouble.text[0] ? r->trouble.text :
						c->settings.trouble.text,
		.decide_sec = np_mono_sec() - r->began_sec,
	};

	return np_tell_make(&t, &r->view, r->placement, state);
}

/*
 * A slow disk is for when submissions do not wait for us any more.  All that
 * the round knows goes with it.
 */
static void save(struct np_cycle *c, struct round *r, struct np_state *state)
{
	struct np_left l = {
		.mode = file_mode(c), .view = r->view, .answers = r->answers,
		.known = r->known, .has_state = state,
	};
	struct np_err err = NP_ERR_INIT;

	strcpy(l.store, c->settings.conf.store);
	if (state) {
		l.state = *state;
		*state = (struct np_state){ .date = 0 };
	}
	r->view = (struct np_view){ .site = NULL };
	r->answers = (struct np_answers){ NULL };
	r->known = (struct np_known){ .more = r->known.more };
	if (!np_proxy_leave(c->proxy, &l, &err))
		return; /* the next round tells, if it stays so */
	if (state)
		c->told_sec = np_mono_sec();
	/* It is no better in the rounds that need not write. */
	if (state || (err.text[0] && !c->untold.text[0]))
		c->untold = err;
	if (!r->trouble.text[0])
		r->trouble = c->untold;
}

static void clean_up(struct round *r)
{
	np_placement_free(r->placement);
	np_view_free(&r->view);
	np_known_free(&r->known);
	np_answers_free(&r->answers);
	free(r->arrivals.of);
	np_change_list_free(r->change, r->n_changes);
}

static int work(struct np_cycle *c, struct round *r, bool (*go_on)(void *arg),
		void *arg, bool *again, struct np_err *err)
{
	struct np_state state = { .date = 0 };
	bool due;
	int rc = look(c, r, err);

	if (!rc)
		rc = decide(c, r, err);
	if (rc || !go_on(arg))
		return rc;
	r->written = true;
	rc = write_all(c, r, go_on, arg);
	if (rc)
		return rc;
	keep_held(c, r);
	c->last_sec = r->view.now_sec;
	due = r->more || r->news || r->n_changes || c->untold.text[0] ||
	      np_mono_sec() - c->told_sec >= TELL_SEC;
	rc = due ? describe(c, r, &state) : 0;
	if (!rc && go_on(arg))
		rc = publish(c, r);
	np_shared_busy(c->shared, r->cut);
	r->save_sec = np_mono_sec();
	if (!rc)
		save(c, r, due ? &state : NULL);
	np_state_free(&state);
	*again = r->more || r->known.more || np_proxy_has_more(c->proxy);
	return rc;
}

/* What slurmctld may have felt of the round: not the disk. */
static double worked_sec(const struct round *r)
{
	return (r->save_sec > 0 ? r->save_sec : np_mono_sec()) - r->began_sec;
}

void np_cycle_run(struct np_cycle *c, bool (*go_on)(void *arg), void *arg,
		  struct np_cycle_next *next)
{
	struct round r = { .began_sec = np_mono_sec() };
	const struct np_place_conf *place = &c->settings.conf.place;
	struct np_err why = NP_ERR_INIT;
	bool again = false, at_work;
	int rc;

	*next = (struct np_cycle_next){ NP_GAP_LEAST_SEC, IDLE_SEC };
	if (!configure(c) && np_mono_sec() < c->quiet_sec)
		return;
	if (!take_charge(c))
		return;
	rc = read_store(c, &r, &why);
	np_shared_busy(c->shared, true);
	np_shared_settle(c->shared);
	r.change = np_shared_take_changes(c->shared, &r.n_changes);
	if (!rc)
		rc = work(c, &r, go_on, arg, &again, &why);
	np_tell_why(rc, &why, &r.trouble);
	np_shared_busy(c->shared, r.cut && !rc);
	if (!r.written) {
		/* The last decision still is what stands in the jobs. */
		np_shared_return_changes(c->shared, r.change, r.n_changes);
		r.change = NULL;
		r.n_changes = 0;
	} else if (rc) {
		np_shared_withdraw(c->shared);
	}
	if (!r.trouble.text[0])
		r.trouble = c->settings.trouble;
	np_tell_trouble(&c->said, &r.trouble);
	tell_missed(c);
	clean_up(&r);
	at_work = np_place_conf_at_work(place);
	c->quiet_sec = at_work || again || rc ? 0 : np_mono_sec() + QUIET_SEC;
	next->rest_sec = np_gap_sec(worked_sec(&r), place->interval_sec);
	next->wait_sec = again ? 0 : at_work ? place->interval_sec : IDLE_SEC;
}
