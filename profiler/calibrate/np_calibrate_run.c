#include "np_calibrate_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_read.h"
#include "np_store.h"

/*
 * Lines, with tabs between the fields:
 *
 *	netprof-calibration 1 BEGUN
 *	SETUP
 *	KEY	SAMPLE alone	SAMPLE beside
 *
 * A sample is "N MEAN M2 MIN MAX", and for latencies " BIN:COUNT ..." more.
 */
#define HEAD "netprof-calibration 1 "
#define MAX_RESULTS 100000
#define MAX_BYTES (64 << 20) /* of a file */

int np_cal_state_init(struct np_cal_state *s, const char *setup, double begun)
{
	*s = (struct np_cal_state){ .setup = strdup(setup), .begun = begun };
	return s->setup ? 0 : -ENOMEM;
}

void np_cal_sample_free(struct np_cal_sample *s)
{
	free(s->bins);
	*s = (struct np_cal_sample){ .bins = NULL };
}

static void result_free(struct np_cal_result *r)
{
	np_cal_sample_free(&r->alone);
	np_cal_sample_free(&r->beside);
}

void np_cal_state_free(struct np_cal_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		result_free(&s->result[i]);
	free(s->result);
	free(s->setup);
	*s = (struct np_cal_state){ .setup = NULL };
}

const struct np_cal_result *np_cal_state_find(const struct np_cal_state *s,
					      const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->result[i].key, key))
			return &s->result[i];
	return NULL;
}

/* Takes over r's bins, also on failure.  Returns 0 or -ENOMEM. */
static int cal_state_add(struct np_cal_state *s, struct np_cal_result *r)
{
	if (np_array_more(&s->result, s->n, sizeof(*s->result))) {
		result_free(r);
		return -ENOMEM;
	}
	s->result[s->n++] = *r;
	return 0;
}

int np_cal_sample_merge(struct np_cal_sample *to,
			const struct np_cal_sample *from)
{
	if (from->bins && !to->bins) {
		to->bins = calloc(NP_HIST_BINS, sizeof(*to->bins));
		if (!to->bins)
			return -ENOMEM;
	}
	for (size_t i = 0; from->bins && i < NP_HIST_BINS; i++)
		to->bins[i] += from->bins[i];
	np_moments_merge(&to->sec, &from->sec);
	return 0;
}

/* ---- writing ---- */

static void put_sample(FILE *f, const struct np_cal_sample *s)
{
	const struct np_moments *m = &s->sec;

	fprintf(f, "\t%" PRIu64 " %.17g %.17g %.17g %.17g", m->n, m->mean,
		m->m2, m->n ? m->min : 0, m->n ? m->max : 0);
	for (size_t i = 0; s->bins && i < NP_HIST_BINS; i++)
		if (s->bins[i])
			fprintf(f, " %zu:%" PRIu64, i, s->bins[i]);
}

char *np_cal_state_format(const struct np_cal_state *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, HEAD "%.3f\n%s\n", s->begun, s->setup);
	for (size_t i = 0; i < s->n; i++) {
		fputs(s->result[i].key, f);
		put_sample(f, &s->result[i].alone);
		put_sample(f, &s->result[i].beside);
		fputc('\n', f);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- reading ---- */

static int take_bins(char *text, struct np_cal_sample *s)
{
	char *save = NULL;
	uint64_t sum = 0;

	s->bins = calloc(NP_HIST_BINS, sizeof(*s->bins));
	if (!s->bins)
		return -ENOMEM;
	for (char *w = strtok_r(text, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		unsigned bin;
		uint64_t count;

		if (sscanf(w, "%u:%" SCNu64, &bin, &count) != 2 ||
		    bin >= NP_HIST_BINS || count > s->sec.n)
			return -EINVAL;
		s->bins[bin] += count;
		sum += count;
	}
	return sum == s->sec.n ? 0 : -EINVAL;
}

static int take_sample(char *text, struct np_cal_sample *s)
{
	struct np_moments *m = &s->sec;
	int used = 0;

	if (!text || sscanf(text, "%" SCNu64 " %lf %lf %lf %lf%n", &m->n,
			    &m->mean, &m->m2, &m->min, &m->max, &used) != 5 ||
	    m->n > UINT32_MAX || (m->n && !np_moments_valid(m)))
		return -EINVAL;
	if (!text[used])
		return 0;
	return take_bins(text + used, s);
}

static int take_line(struct np_cal_state *s, char *line)
{
	struct np_cal_result r = { .key = "" };
	char *save = NULL, *key = strtok_r(line, "\t", &save);
	int rc;

	if (!key || strlen(key) >= sizeof(r.key) || s->n >= MAX_RESULTS)
		return -EINVAL;
	strcpy(r.key, key);
	rc = take_sample(strtok_r(NULL, "\t", &save), &r.alone);
	if (!rc)
		rc = take_sample(strtok_r(NULL, "\t", &save), &r.beside);
	if (!rc && strtok_r(NULL, "\t", &save))
		rc = -EINVAL;
	if (rc) {
		result_free(&r);
		return rc;
	}
	return cal_state_add(s, &r);
}

static int take_all(char *copy, struct np_cal_state *s, struct np_err *err)
{
	char *save = NULL, *line = strtok_r(copy, "\n", &save), *end;
	unsigned at = 2;
	int rc = 0;

	if (!line || strncmp(line, HEAD, strlen(HEAD)))
		return np_errf(err, -EINVAL, "line 1: expected \"" HEAD
			       "DATE\"");
	s->begun = strtod(line + strlen(HEAD), &end);
	line = strtok_r(NULL, "\n", &save);
	if (*end || !(s->begun >= 0 && s->begun < 1e12) || !line)
		return np_errf(err, -EINVAL, "line 1 or 2: damaged");
	s->setup = strdup(line);
	if (!s->setup)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && (line = strtok_r(NULL, "\n", &save))) {
		at++;
		rc = take_line(s, line);
	}
	return rc ? np_errf(err, rc, "line %u: %s", at, rc == -EINVAL ?
			    "damaged" : "out of memory") : 0;
}

int np_cal_state_parse(const char *text, struct np_cal_state *out,
		       struct np_err *err)
{
	struct np_cal_state s = { .setup = NULL };
	char *copy = strdup(text);
	int rc = copy ? take_all(copy, &s, err) :
			np_errf(err, -ENOMEM, "out of memory");

	free(copy);
	if (rc)
		np_cal_state_free(&s);
	else
		*out = s;
	return rc;
}

/* ---- on disk ---- */

int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct stat st = { .st_uid = 0 };
	int fd = np_read_open(path, O_NOFOLLOW, &st), rc;
	char *text = NULL;
	ssize_t len;

	if (fd == -ENOENT)
		return fd;
	if (fd == -EINVAL || (fd >= 0 && st.st_uid != 0 &&
			      st.st_uid != geteuid()))
		len = np_errf(err, -EACCES, "%s: expected a file of yours or "
			      "of root; not trusted", path);
	else if (fd >= 0 && st.st_size > MAX_BYTES)
		len = np_errf(err, -EFBIG, "%s: larger than %d MiB", path,
			      MAX_BYTES >> 20);
	else
		len = fd < 0 ? fd : np_read_text(fd, (size_t)st.st_size, &text);
	if (fd >= 0)
		close(fd);
	if (len < 0)
		return len == -EACCES || len == -EFBIG ? (int)len :
		       np_errf(err, (int)len, "%s: %s", path,
			       strerror((int)-len));
	rc = np_cal_state_parse(text, out, &why);
	free(text);
	return rc ? np_errf(err, rc, "%s: %s", path, why.text) : 0;
}

int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err)
{
	char *text = np_cal_state_format(s);
	int rc =
		text ? np_file_write_path(path, text, strlen(text), 0644, err) :
		       np_errf(err, -ENOMEM, "cannot write %s: %s", path,
			       strerror(ENOMEM));

	free(text);
	return rc;
}

#define TICK_SEC 0.25

static double now_sec(void *ctx)
{
	(void)ctx;
	return np_mono_sec();
}

static void command(const struct np_cal_srun *s,
		    const struct np_cal_step *step, struct np_args *args)
{
	if (step->level)
		np_sidecmd_level(args, &s->job, s->conf, step->level->name,
				 step->nodes, step->n_nodes);
	else
		np_sidecmd_impact(args, &s->job, s->conf, step->nodes,
				  step->n_nodes);
	np_args_add(args, "--report-every=%gs", NP_CAL_WINDOW_SEC);
	if (step->across)
		np_args_add(args, "--across");
}

static int srun_start(void *ctx, int slot, const struct np_cal_step *step,
		      struct np_err *err)
{
	struct np_cal_srun *s = ctx;
	uint32_t processes = (uint32_t)step->n_nodes *
			     (step->level ? 1 : s->conf->per_node);
	struct np_args args;
	int rc;

	command(s, step, &args);
	rc = np_sidestep_start(&s->step[slot], &args, s->env, processes, err);
	np_args_free(&args);
	s->running[slot] = !rc;
	return rc;
}

/* Reports of one slot on their way to the caller. */
struct carrier {
	int slot;
	np_cal_report_f *f;
	void *arg;
};

static void srun_on_report(const struct np_report *r, void *arg)
{
	const struct carrier *c = arg;

	c->f(c->slot, r, c->arg);
}

static void read_slots(struct np_cal_srun *s, np_cal_report_f *f, void *arg)
{
	for (int i = 0; i < NP_CAL_SLOTS; i++) {
		struct carrier c = { i, f, arg };

		if (s->running[i])
			np_sidestep_read(&s->step[i], srun_on_report, &c);
	}
}

static void poll_slots(const struct np_cal_srun *s, double sec)
{
	struct pollfd p[NP_CAL_SLOTS];

	for (int i = 0; i < NP_CAL_SLOTS; i++)
		p[i] = (struct pollfd){ s->running[i] ? s->step[i].fd : -1,
					POLLIN, 0 };
	poll(p, NP_CAL_SLOTS, (int)ceil(fmax(sec, 0) * 1000));
}

static int lost(const struct np_cal_srun *s, int slot, struct np_err *err)
{
	char cause[NP_ERR_LEN + 32];

	np_sidestep_cause(&s->step[slot], cause, sizeof(cause));
	return np_errf(err, -EPIPE, "a step of ours ended by itself: %s",
		       cause);
}

/*
 * Slurm 22.05 takes a minute for a job that ends while a step of it starts:
 * who is asked to stop lets that come up first.
 */
static bool none_is_starting(const struct np_cal_srun *s,
			     const bool up[NP_CAL_SLOTS])
{
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (s->running[i] && !up[i])
			return false;
	return true;
}

static int wait_slots(void *ctx, double until_sec,
		      const bool up[NP_CAL_SLOTS], np_cal_report_f *f,
		      void *arg, struct np_err *err)
{
	struct np_cal_srun *s = ctx;

	poll_slots(s, fmin(until_sec - now_sec(ctx), TICK_SEC));
	read_slots(s, f, arg);
	if (*s->stop && none_is_starting(s, up))
		return np_errf(err, -EINTR, "stopped");
	for (int i = 0; i < NP_CAL_SLOTS; i++)
		if (s->running[i] && np_sidestep_reap(&s->step[i]))
			return lost(s, i, err);
	return 0;
}

static void srun_stop(void *ctx, int slot, np_cal_report_f *f, void *arg)
{
	struct np_cal_srun *s = ctx;
	struct np_sidestep *step = &s->step[slot];
	struct np_sidestep_end end = { .asked_sec = now_sec(ctx) };
	int sig = SIGUSR1;

	while (!np_sidestep_reap(step) && sig >= 0) {
		if (sig)
			np_sidestep_signal(step, sig);
		poll_slots(s, 0.01);
		read_slots(s, f, arg);
		sig = np_sidestep_end_due(&end, now_sec(ctx));
	}
	read_slots(s, f, arg);
	np_sidestep_close(step);
	s->running[slot] = false;
}

const struct np_cal_ops np_cal_srun_ops = {
	.now_sec = now_sec,
	.start = srun_start,
	.stop = srun_stop,
	.wait = wait_slots,
};

#define UP_SEC 40.0	/* for all processes of a step to come up */
#define SETTLE_SEC 0.4	/* until rounds are as they will be, at least */
#define SETTLE_MAX_SEC 5.0
#define LATE_SEC 0.3	/* for the last window to be reported */
#define MIN_ROUNDS 6	/* per process of the base; listen longer for them */
#define LONGER 4.0	/* ... but not more than so many times as long */
#define SLACK_SEC 0.02	/* of the clocks of windows */
#define MAX_WINDOWS 131072 /* of one measurement */

struct slot {
	bool running;
	struct np_cal_step step;
	double zero_sec; /* its common start; NaN: nobody said hello */
	uint32_t n_ranks, hellos;
};

/* A report with the time when its window began on our clock. */
struct window {
	double from_sec;
	struct np_report report;
};

/* A process of the survey as it describes itself. */
struct rank {
	char node[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
};

struct np_cal_run {
	const struct np_cal_ops *ops;
	void *ctx;
	const struct np_cal_setup *setup;
	const struct np_cal_sites *sites;
	struct slot slot[NP_CAL_SLOTS];
	struct window *window; /* of the base, since it was forgotten */
	size_t n_windows;
	/* From the survey. */
	bool surveys;
	const char *all; /* borrowed */
	size_t n_all;
	struct rank *rank;
	uint32_t n_ranks;
	struct np_cal_node *node;
	size_t n_nodes;
	char transport[NP_REPORT_WORD], version[NP_REPORT_WORD];
	int failed; /* -ENOMEM or -E2BIG while reports came in */
};

struct np_cal_run *np_cal_run_new(const struct np_cal_ops *ops, void *ctx,
				  const struct np_cal_setup *setup)
{
	struct np_cal_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ops = ops;
	r->ctx = ctx;
	r->setup = setup;
	return r;
}

/* ---- what the steps say ---- */

static void keep_seen(struct np_cal_run *r, const struct np_report *rep)
{
	if (!r->rank) {
		if (rep->hello.n_ranks > 1u << 18)
			return;
		r->rank = calloc(rep->hello.n_ranks, sizeof(*r->rank));
		if (!r->rank) {
			r->failed = -ENOMEM;
			return;
		}
		r->n_ranks = rep->hello.n_ranks;
	}
	if (rep->rank >= r->n_ranks)
		return;
	strcpy(r->rank[rep->rank].node, rep->hello.node);
	strcpy(r->rank[rep->rank].leaf, rep->hello.leaf);
	if (!r->transport[0])
		strcpy(r->transport, rep->hello.transport);
	strcpy(r->version, rep->hello.version);
}

static void keep_window(struct np_cal_run *r, const struct np_report *rep)
{
	int rc = r->n_windows == MAX_WINDOWS ? -E2BIG :
		 np_array_more(&r->window, r->n_windows, sizeof(*r->window));

	if (rc) {
		r->failed = rc;
		return;
	}
	r->window[r->n_windows].from_sec = r->slot[NP_CAL_BASE].zero_sec +
					   rep->window.at_sec;
	r->window[r->n_windows++].report = *rep;
}

static void run_on_report(int slot, const struct np_report *rep, void *arg)
{
	struct np_cal_run *r = arg;
	struct slot *s = &r->slot[slot];

	switch (rep->kind) {
	case NP_REPORT_HELLO:
		if (isnan(s->zero_sec))
			s->zero_sec = r->ops->now_sec(r->ctx);
		s->n_ranks = rep->hello.n_ranks;
		s->hellos++;
		if (r->surveys)
			keep_seen(r, rep);
		break;
	case NP_REPORT_ROUND:
	case NP_REPORT_LATENCY:
		if (slot == NP_CAL_BASE && !isnan(s->zero_sec) &&
		    (rep->kind == NP_REPORT_LATENCY) == !s->step.level)
			keep_window(r, rep);
		break;
	default:
		break;
	}
}

static bool is_up(const struct slot *s)
{
	return s->hellos && s->hellos >= s->n_ranks;
}

/* ---- steps ---- */

static int say_failed(const struct np_cal_run *r, struct np_err *err)
{
	if (r->failed != -E2BIG)
		return np_errf(err, r->failed, "out of memory");
	return np_errf(err, r->failed, "%s on %s: more than %d reports of one "
		       "measurement, expected fewer nodes or fewer --seconds",
		       r->slot[NP_CAL_BASE].step.level ?
		       r->slot[NP_CAL_BASE].step.level->name : "the probes",
		       r->slot[NP_CAL_BASE].step.nodes, MAX_WINDOWS);
}

static int wait_until(struct np_cal_run *r, double until_sec,
		      struct np_err *err)
{
	while (r->ops->now_sec(r->ctx) < until_sec) {
		const bool up[] = { is_up(&r->slot[0]), is_up(&r->slot[1]) };
		int rc = r->ops->wait(r->ctx, until_sec, up, run_on_report, r,
				      err);

		if (!rc && r->failed)
			rc = say_failed(r, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int wait_for(struct np_cal_run *r, double sec, struct np_err *err)
{
	return wait_until(r, r->ops->now_sec(r->ctx) + sec, err);
}

static int wait_up(struct np_cal_run *r, int slot, struct np_err *err)
{
	double late_sec = r->ops->now_sec(r->ctx) + UP_SEC;
	const struct slot *s = &r->slot[slot];
	int rc = 0;

	while (!rc && !is_up(s) && r->ops->now_sec(r->ctx) < late_sec)
		rc = wait_for(r, 0.05, err);
	if (rc || is_up(s))
		return rc;
	return np_errf(err, -ETIMEDOUT, "%s on %s: %u of its processes came up "
		       "within %g s", s->step.level ? s->step.level->name :
		       "the probes", s->step.nodes, s->hellos, UP_SEC);
}

static void run_stop(struct np_cal_run *r, int slot)
{
	if (!r->slot[slot].running)
		return;
	r->ops->stop(r->ctx, slot, run_on_report, r);
	r->slot[slot] = (struct slot){ .running = false };
}

static int run_start(struct np_cal_run *r, int slot,
		     const struct np_cal_step *step, struct np_err *err)
{
	int rc;

	run_stop(r, slot);
	r->slot[slot] = (struct slot){ .step = *step, .zero_sec = NAN };
	rc = r->ops->start(r->ctx, slot, step, err);
	if (rc)
		return rc;
	r->slot[slot].running = true;
	return wait_up(r, slot, err);
}

static bool same_step(const struct np_cal_step *a, const struct np_cal_step *b)
{
	return a->level == b->level && a->across == b->across &&
	       !strcmp(a->nodes, b->nodes);
}

static int ensure_base(struct np_cal_run *r, const struct np_cal_step *step,
		       struct np_err *err)
{
	int rc;

	if (r->slot[NP_CAL_BASE].running &&
	    same_step(&r->slot[NP_CAL_BASE].step, step))
		return 0;
	rc = run_start(r, NP_CAL_BASE, step, err);
	return rc ? rc : wait_for(r, SETTLE_SEC, err);
}

static struct np_cal_step step_of(const struct np_cal_run *r, size_t level,
				  const struct np_cal_hosts *hosts,
				  bool across)
{
	return (struct np_cal_step){
		.level = level == NP_CAL_NONE ? NULL : &r->setup->level[level],
		.nodes = hosts->list, .n_nodes = hosts->n, .across = across,
	};
}

static struct np_cal_step base_of(const struct np_cal_run *r,
				  const struct np_cal_task *t)
{
	bool across = t->scope == NP_SCOPE_UPLINK;

	if (t->kind == NP_CAL_IDLE)
		return (struct np_cal_step){ .nodes = r->all,
					     .n_nodes = r->n_all };
	return step_of(r, t->victim, across ? &r->sites->victim_across :
					      &r->sites->victim, across);
}

static struct np_cal_step press_of(const struct np_cal_run *r,
				   const struct np_cal_task *t)
{
	const struct np_cal_hosts *where = &r->sites->victim;

	if (t->scope == NP_SCOPE_LEAF)
		where = &r->sites->aggressor;
	else if (t->scope == NP_SCOPE_UPLINK)
		where = &r->sites->aggressor_across;
	return step_of(r, t->aggressor, where, t->scope == NP_SCOPE_UPLINK);
}

/* ---- what was heard between two moments ---- */

/* NULL leaf: of all. */
static int gather(const struct np_cal_run *r, double from_sec, double to_sec,
		  const char *leaf, struct np_cal_sample *out)
{
	*out = (struct np_cal_sample){ .bins = NULL };
	for (size_t i = 0; i < r->n_windows; i++) {
		const struct window *w = &r->window[i];
		const struct np_report *rep = &w->report;

		if (w->from_sec < from_sec - SLACK_SEC ||
		    w->from_sec + NP_CAL_WINDOW_SEC > to_sec + SLACK_SEC ||
		    !np_moments_valid(&rep->window.sec))
			continue;
		if (leaf && (rep->rank >= r->n_ranks ||
			     strcmp(r->rank[rep->rank].leaf, leaf)))
			continue;
		if (rep->window.n_bins && !out->bins) {
			out->bins = calloc(NP_HIST_BINS, sizeof(*out->bins));
			if (!out->bins)
				return -ENOMEM;
		}
		for (size_t b = 0; b < rep->window.n_bins; b++)
			out->bins[rep->window.bins[b].bin] +=
				rep->window.bins[b].count;
		np_moments_merge(&out->sec, &rep->window.sec);
	}
	return 0;
}

static double settle_sec(const struct np_cal_run *r, double from_sec,
			 double to_sec)
{
	struct np_cal_sample s;
	double sec = 0;

	if (r->slot[NP_CAL_BASE].step.level &&
	    !gather(r, from_sec, to_sec, NULL, &s)) {
		sec = 2 * s.sec.mean;
		np_cal_sample_free(&s);
	}
	return fmin(fmax(sec, SETTLE_SEC), SETTLE_MAX_SEC);
}

/*
 * Listen for sec, and longer while a victim's rounds are so slow that few were
 * over.  *to_sec: when it ended.
 */
static int listen(struct np_cal_run *r, double from_sec, double sec,
		  double *to_sec, struct np_err *err)
{
	uint64_t want = MIN_ROUNDS * (uint64_t)r->slot[NP_CAL_BASE].n_ranks;
	double until_sec = from_sec + sec, last_sec = from_sec + LONGER * sec;
	int rc;

	for (;;) {
		struct np_cal_sample s;
		uint64_t n;

		rc = wait_until(r, until_sec, err);
		if (rc)
			return rc;
		*to_sec = until_sec;
		rc = gather(r, from_sec, until_sec, NULL, &s);
		if (rc)
			return np_errf(err, rc, "out of memory");
		n = s.sec.n;
		np_cal_sample_free(&s);
		if (!r->slot[NP_CAL_BASE].step.level || n >= want ||
		    until_sec >= last_sec)
			return 0;
		until_sec = fmin(until_sec + sec / 2, last_sec);
	}
}

/* ---- measurements ---- */

static int press(struct np_cal_run *r, const struct np_cal_task *t,
		 double settle, double *from_sec, double *to_sec,
		 struct np_err *err)
{
	const struct np_cal_step step = press_of(r, t);
	int rc = run_start(r, NP_CAL_PRESS, &step, err);

	if (!rc)
		rc = wait_for(r, settle, err);
	*from_sec = r->ops->now_sec(r->ctx);
	if (!rc)
		rc = listen(r, *from_sec, np_cal_beside_sec(r->setup, t),
			    to_sec, err);
	run_stop(r, NP_CAL_PRESS);
	return rc;
}

static int add(struct np_cal_state *s, struct np_cal_result *res,
	       struct np_err *err)
{
	return cal_state_add(s, res) ? np_errf(err, -ENOMEM,
					       "out of memory") : 0;
}

static int run_idle(struct np_cal_run *r, const struct np_cal_task *t,
		    struct np_cal_state *s, struct np_err *err)
{
	struct np_cal_result whole = { .key = "idle" };
	double from_sec = r->ops->now_sec(r->ctx), to_sec;
	int rc = listen(r, from_sec, np_cal_alone_sec(r->setup, t), &to_sec,
			err);

	if (!rc)
		rc = wait_for(r, LATE_SEC, err);
	for (size_t i = 0; !rc && i < r->n_nodes; i++) {
		struct np_cal_result one = { .key = "" };
		const char *leaf = r->node[i].leaf;

		snprintf(one.key, sizeof(one.key), "idle %s",
			 *leaf ? leaf : "-");
		if (np_cal_state_find(s, one.key))
			continue;
		rc = gather(r, from_sec, to_sec, leaf, &one.alone);
		if (rc)
			return np_errf(err, rc, "out of memory");
		rc = add(s, &one, err);
	}
	return rc ? rc : add(s, &whole, err);
}

static int run_pressed(struct np_cal_run *r, const struct np_cal_task *t,
		       struct np_cal_state *s, struct np_err *err)
{
	double alone_from = r->ops->now_sec(r->ctx), alone_to;
	double from, to, settle;
	struct np_cal_result res;
	int rc = listen(r, alone_from, np_cal_alone_sec(r->setup, t),
			&alone_to, err);

	if (rc)
		return rc;
	settle = settle_sec(r, alone_from, alone_to);
	rc = press(r, t, settle, &from, &to, err);
	/* Also lets rounds that began under pressure come to their end. */
	if (!rc)
		rc = wait_until(r, to + fmax(LATE_SEC,
				settle_sec(r, from, to) / 2), err);
	if (rc)
		return rc;
	memset(&res, 0, sizeof(res));
	np_cal_key(r->setup, t, res.key);
	if (gather(r, alone_from, alone_to, NULL, &res.alone) ||
	    gather(r, from, to, NULL, &res.beside)) {
		np_cal_sample_free(&res.alone);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	return add(s, &res, err);
}

int np_cal_run_task(struct np_cal_run *r, const struct np_cal_task *t,
		    struct np_cal_state *s, struct np_err *err)
{
	const struct np_cal_step base = base_of(r, t);
	int rc = ensure_base(r, &base, err);

	r->n_windows = 0;
	if (!rc)
		rc = t->kind == NP_CAL_IDLE ? run_idle(r, t, s, err) :
					      run_pressed(r, t, s, err);
	if (rc)
		run_stop(r, NP_CAL_PRESS);
	return rc;
}

/* ---- the survey ---- */

static int each_once(struct np_cal_run *r, struct np_err *err)
{
	r->node = calloc(r->n_ranks ? r->n_ranks : 1, sizeof(*r->node));
	if (!r->node)
		return np_errf(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < r->n_ranks; i++) {
		const struct rank *at = &r->rank[i];
		size_t k = 0;

		while (k < r->n_nodes && strcmp(r->node[k].name, at->node))
			k++;
		if (k == r->n_nodes)
			r->node[r->n_nodes++] = (struct np_cal_node){
				at->node, at->leaf,
			};
	}
	return 0;
}

int np_cal_run_survey(struct np_cal_run *r, const char *nodes, size_t n_nodes,
		      struct np_cal_survey *out, struct np_err *err)
{
	const struct np_cal_step step = { .nodes = nodes, .n_nodes = n_nodes };
	int rc;

	r->all = nodes;
	r->n_all = n_nodes;
	r->surveys = true;
	rc = run_start(r, NP_CAL_BASE, &step, err);
	r->surveys = false;
	if (!rc)
		rc = each_once(r, err);
	if (!rc)
		rc = wait_for(r, SETTLE_SEC, err);
	if (rc)
		return rc;
	*out = (struct np_cal_survey){
		r->node, r->n_nodes, r->transport, r->version,
	};
	return 0;
}

double np_cal_run_now_sec(const struct np_cal_run *r)
{
	return r->ops->now_sec(r->ctx);
}

void np_cal_run_set_sites(struct np_cal_run *r,
			  const struct np_cal_sites *sites)
{
	r->sites = sites;
}

void np_cal_run_free(struct np_cal_run *r)
{
	if (!r)
		return;
	run_stop(r, NP_CAL_PRESS);
	run_stop(r, NP_CAL_BASE);
	free(r->window);
	free(r->rank);
	free(r->node);
	free(r);
}
