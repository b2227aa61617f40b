/* Calibrations of a fabric that is made up: time is ours, and so are steps. */
#include "t.h"
#include "np_calibrate.h"
#include "np_fabric_store.h"
#include "np_read.h"

#include <sys/stat.h>

#define RANKS 4

/*
 * Level i alone takes ROUND_SEC a round; under level j (0 the mildest)
 * 1 + FELT[scope] * (j + 1) times that. Probes likewise.
 */
#define ROUND_SEC 0.05
#define PROBE_SEC 50e-6

struct world {
	double now_sec;
	double felt[NP_N_SCOPES];
	double scatter; /* by so much more and less is felt on the leaf */
	struct np_cal_step step[NP_CAL_SLOTS];
	bool running[NP_CAL_SLOTS];
	bool handshake_due[NP_CAL_SLOTS];
	double zero_sec[NP_CAL_SLOTS], said_sec[NP_CAL_SLOTS];
	unsigned starts[NP_CAL_SLOTS];
	/* Mishaps: 0 for none. */
	double stop_at_sec, die_at_sec;
	bool silent, floods;
	const struct np_cal_setup *setup;
	const struct np_cal_roles *roles;
	/* What the calibration was seen to do. */
	unsigned saves, reports;
	double last_left_sec;
};

static double w_now(void *ctx)
{
	return ((struct world *)ctx)->now_sec;
}

static int w_start(void *ctx, int slot, const struct np_cal_step *step,
		   struct np_err *err)
{
	struct world *w = ctx;

	(void)err;
	T_CHECK(!w->running[slot] && step->n_nodes > 0 && step->nodes);
	w->step[slot] = *step;
	w->running[slot] = w->handshake_due[slot] = true;
	w->starts[slot]++;
	w->now_sec += 0.3;
	return 0;
}

static enum np_scope scope_now(const struct world *w)
{
	if (w->step[NP_CAL_AGGRESSOR].across)
		return NP_SCOPE_UPLINK;
	return !strcmp(w->step[NP_CAL_AGGRESSOR].nodes,
		       w->step[NP_CAL_BASE].nodes) ?
		       NP_SCOPE_NODE :
		       NP_SCOPE_LEAF;
}

static double factor(const struct world *w)
{
	const struct np_level *l = w->step[NP_CAL_AGGRESSOR].level;
	double felt;

	if (!w->running[NP_CAL_AGGRESSOR] || w->handshake_due[NP_CAL_AGGRESSOR])
		return 1;
	felt = w->felt[scope_now(w)];
	if (scope_now(w) == NP_SCOPE_LEAF)
		felt += w->starts[NP_CAL_AGGRESSOR] % 2 ? w->scatter :
							  -w->scatter;
	return 1 + felt * (double)(l - w->setup->level + 1);
}

static void say_handshake(struct world *w, int slot, np_cal_report_f *f,
			  void *arg)
{
	uint32_t n = w->step[slot].level ? RANKS : 8;

	w->handshake_due[slot] = false;
	w->zero_sec[slot] = w->said_sec[slot] = w->now_sec;
	/* The first to answer need not be the first rank. */
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = n - 1 - k;
		struct np_report r = { .kind = NP_REPORT_HANDSHAKE, .rank = i };

		r.handshake.n_ranks = n;
		snprintf(r.handshake.node, sizeof(r.handshake.node), "n%u", i);
		strcpy(r.handshake.leaf, i < 4 ? "leaf0" : "leaf1");
		strcpy(r.handshake.transport, i ? "tcp/eth1" : "tcp/eth0");
		f(slot, &r, arg);
	}
}

/* The window that has just ended. */
static void say_window(struct world *w, np_cal_report_f *f, void *arg)
{
	bool probes = !w->step[NP_CAL_BASE].level;
	double sec = (probes ? PROBE_SEC : ROUND_SEC) * factor(w);

	for (uint32_t i = 0; i < RANKS; i++) {
		struct np_report r = {
			.kind = probes ? NP_REPORT_LATENCY : NP_REPORT_ROUND,
			.rank = i,
		};

		r.window.at_sec =
			w->said_sec[NP_CAL_BASE] - w->zero_sec[NP_CAL_BASE];
		for (int k = 0; k < 5; k++)
			np_moments_add(&r.window.sec, sec);
		if (probes) {
			r.window.n_bins = 1;
			r.window.bins[0].bin = (uint16_t)np_hist_bin_of(sec);
			r.window.bins[0].count = 5;
		}
		f(NP_CAL_BASE, &r, arg);
	}
	if (!w->floods)
		w->said_sec[NP_CAL_BASE] += NP_CAL_WINDOW_SEC;
}

static int w_wait(void *ctx, double until_sec, const bool up[NP_CAL_SLOTS],
		  np_cal_report_f *f, void *arg, struct np_err *err)
{
	struct world *w = ctx;

	(void)up;
	w->now_sec = fmin(until_sec, w->now_sec + 0.05);
	for (int i = 0; i < NP_CAL_SLOTS && !w->silent; i++)
		if (w->running[i] && w->handshake_due[i])
			say_handshake(w, i, f, arg);
	if (w->running[NP_CAL_BASE] && !w->handshake_due[NP_CAL_BASE] &&
	    w->now_sec >= w->said_sec[NP_CAL_BASE] + NP_CAL_WINDOW_SEC)
		for (int i = 0; i < (w->floods ? 33000 : 1); i++)
			say_window(w, f, arg);
	if (w->stop_at_sec && w->now_sec >= w->stop_at_sec)
		return np_errf(err, -EINTR, "stopped");
	if (w->die_at_sec && w->now_sec >= w->die_at_sec)
		return np_errf(err, -EPIPE, "died");
	return 0;
}

static void w_stop(void *ctx, int slot, np_cal_report_f *f, void *arg)
{
	struct world *w = ctx;

	(void)f, (void)arg;
	T_CHECK(w->running[slot]);
	w->running[slot] = false;
	w->now_sec += 0.1;
}

static const struct np_cal_ops ops = { w_now, w_start, w_stop, w_wait };

static int w_save(void *arg, const struct np_cal_state *s, struct np_err *err)
{
	(void)s, (void)err;
	((struct world *)arg)->saves++;
	return 0;
}

static void w_progress(void *arg, const struct np_cal_estimate *p,
		       const char *key)
{
	struct world *w = arg;

	T_CHECK(p->n_done <= p->n && p->left_sec >= 0);
	T_CHECK(!key == (p->n_done == p->n));
	w->reports++;
	w->last_left_sec = p->left_sec;
}

/* A calibration ready to go. */
struct rig {
	struct world w;
	struct np_calibrate c;
	struct np_cal_state state;
	struct np_cal_roles roles;
};

static const struct np_cal_node nodes[] = {
	{ "n0", "leaf0" }, { "n1", "leaf0" }, { "n2", "leaf0" },
	{ "n3", "leaf0" }, { "n4", "leaf1" }, { "n5", "leaf1" },
	{ "n6", "leaf1" }, { "n7", "leaf1" },
};

static void rig_attach(struct rig *r)
{
	struct np_cal_query seen;

	r->c.run = np_cal_run_new(&ops, &r->w, &r->c.setup);
	T_CHECK(!np_cal_run_query(r->c.run, "n[0-7]", 8, &seen, NULL));
	T_CHECK(seen.n == 8 && !strcmp(seen.node[7].name, "n7") &&
		!strcmp(seen.node[7].leaf, "leaf1") &&
		!strcmp(seen.transport, "tcp/eth0"));
	r->c.roles = &r->roles;
}

static struct rig rig;

static void rig_free(void)
{
	np_cal_run_free(rig.c.run);
	np_cal_state_free(&rig.state);
	np_cal_roles_free(&rig.roles);
	memset(&rig, 0, sizeof(rig));
}

static void rig_make(const char *levels, size_t keep)
{
	struct np_cal_setup *s = &rig.c.setup;

	rig_free();
	rig = (struct rig){ .w = { .now_sec = 100,
				   .felt = { 0.4, 0.2, 0.1 } } };
	T_CHECK(!np_cal_roles_make(nodes, 8, &rig.roles, NULL));
	T_CHECK(!np_cal_levels_parse(levels, 4, s->level, &s->n_levels, NULL));
	s->keep = keep;
	s->repeats = 2;
	s->seconds = 2;
	s->probe_seconds = 4;
	s->has[0] = s->has[1] = s->has[2] = true;
	T_CHECK(!np_cal_state_init(&rig.state, "setup", 1e9));
	rig.w.setup = s;
	rig.w.roles = &rig.roles;
	rig.c.state = &rig.state;
	rig.c.save = w_save;
	rig.c.progress = w_progress;
	rig.c.arg = &rig.w;
	rig_attach(&rig);
}

T_FIXTURE(NULL, rig_free);

T_TEST("slowdowns and sharing coefficients come out as they are")
{
	struct np_cal_estimate e;
	struct np_mean m;

	rig_make("c0,c4,c7", 8);
	e = np_calibrate_estimate(&rig.c);
	T_CHECK(e.n == 10 + 3 + 18 && !e.n_done && e.left_sec == e.sec);
	T_CHECK(!np_calibrate_measure(&rig.c, NULL));
	T_CHECK(rig.w.saves == 31 && rig.w.reports == 32 &&
		rig.w.last_left_sec == 0);
	T_CHECK(rig.c.scope == NP_SCOPE_LEAF && rig.c.n_selected == 3);
	for (size_t v = 0; v < 3; v++)
		for (size_t p = 0; p < 3; p++) {
			m = np_cal_matrix(&rig.c, NP_SCOPE_LEAF, v, p);
			T_CHECK(m.n == 2 &&
				t_close(m.mean, 0.2 * (double)(p + 1), 1e-9));
		}
	m = np_cal_sharing(&rig.c, NP_SCOPE_LEAF, NP_SCOPE_NODE);
	/* (1 - 1/2.2) / (1 - 1/1.6) */
	T_CHECK(m.n == 3 && t_close(m.mean, (1.2 / 2.2) / (0.6 / 1.6), 1e-9));
	m = np_cal_sharing(&rig.c, NP_SCOPE_LEAF, NP_SCOPE_UPLINK);
	T_CHECK(m.n == 3 && t_close(m.mean, (0.3 / 1.3) / (0.6 / 1.6), 1e-9));
	/* estimated and taken time agree */
	T_CHECK(t_close(rig.w.now_sec - 100, e.sec, 0.35));
}

T_TEST("the result can be read")
{
	struct np_calibration_conditions f = {
		.cluster = "np",
		.transport = "tcp/eth0",
		.date = 1.7e9,
		.message_bytes = 1024,
		.period_sec = 0.1,
	};
	struct np_calibration c;
	struct np_err err = NP_ERR_INIT;
	char *text;

	rig_make("c0,c4,c7", 8);
	T_CHECK(!np_calibrate_measure(&rig.c, NULL));
	f.c = &rig.c;
	T_CHECK(!np_calibrate_result(&f, &text, NULL));
	T_ROW(err.text,
	      !np_calibration_parse(text, strlen(text), "x", &c, &err));
	T_CHECK(c.date == 1.7e9 && !strcmp(c.cluster, "np") &&
		!strcmp(np_scope_name(c.scope), "leaf") &&
		c.message_bytes == 1024);
	T_CHECK(c.fabric->n_levels == 3 && c.level[2].peers == 3);
	T_CHECK(t_close(c.fabric->pairs[2].mean, 0.6, 1e-9));
	T_ROW("rounds alone are kept",
	      c.alone_round_sec && c.alone_round_sec[2].n >= 2 &&
		      t_close(c.alone_round_sec[2].mean, ROUND_SEC, 1e-9));
	T_CHECK(c.fabric->pairs[2].n == 2);
	T_CHECK(c.fabric->sharing[NP_SCOPE_LEAF].mean == 1);
	T_CHECK(t_close(c.fabric->idle.all.mean, PROBE_SEC, 1e-9));
	T_CHECK(t_close(c.fabric->level[1].latency.all.mean, 1.4 * PROBE_SEC,
			1e-6));
	T_CHECK(c.n_leaves == 2 && c.leaf[0].idle.all.n > 0 &&
		!strcmp(c.leaf[1].name, "leaf1"));
	np_calibration_free(&c);
	free(text);
}

static const struct {
	const char *name;
	double felt, scatter; /* of the strongest of two: 2 * felt */
	unsigned repeats, want;
	enum np_scope scope;
} couples[] = {
	{ "nothing is felt: three times", 0, 0, 2, 3, NP_SCOPE_NODE },
	{ "much is felt: three times", 0.2, 0.01, 2, 3, NP_SCOPE_LEAF },
	{ "as often as asked for", 0.2, 0.01, 5, 5, NP_SCOPE_LEAF },
	{ "little, which scatters: until it is clear", 0.01, 0.025, 2, 7,
	  NP_SCOPE_NODE },
	{ "on the edge: not for ever, and not felt for certain", 0.028, 0.02, 2,
	  NP_CAL_COUPLE_MOST, NP_SCOPE_NODE },
};

T_TEST("sharing coefficients are measured until the scope is clear")
{
	T_EACH(row, couples) {
		struct np_cal_estimate e;

		rig_make("c0,c7", 8);
		rig.w.felt[NP_SCOPE_LEAF] = row->felt;
		rig.w.scatter = row->scatter;
		rig.c.setup.repeats = row->repeats;
		T_ROW(row->name, !np_calibrate_measure(&rig.c, NULL));
		T_ROW(row->name,
		      row->want == np_cal_loss(&rig.c, NP_SCOPE_LEAF).n);
		T_ROW(row->name, rig.c.scope == row->scope);
		e = np_calibrate_estimate(&rig.c);
		T_ROW(row->name, e.n == e.n_done);
	}
}

T_TEST("where disjoint nodes feel nothing, levels share nodes")
{
	struct np_mean k;

	rig_make("c0,c7", 8);
	rig.w.felt[NP_SCOPE_LEAF] = 0;
	T_CHECK(!np_calibrate_measure(&rig.c, NULL));
	T_CHECK(rig.c.scope == NP_SCOPE_NODE);
	k = np_cal_sharing(&rig.c, rig.c.scope, NP_SCOPE_LEAF);
	T_CHECK(k.n == 3 && k.mean < 1e-9);
	T_CHECK(np_cal_matrix(&rig.c, NP_SCOPE_NODE, 0, 1).n);
	/* whoever insists on the leaf gets no sharing coefficient to compare with */
	k = np_cal_sharing(&rig.c, NP_SCOPE_LEAF, NP_SCOPE_NODE);
	T_CHECK(k.n == 0);
}

/* Stopped every few measurements, it ends with each measured once. */
T_TEST("stopped again and again, it measures everything once")
{
	struct np_err err = NP_ERR_INIT;
	struct np_cal_estimate e;
	unsigned stops = 0;
	int rc;

	rig_make("c0,c4,c7", 8);
	do {
		rig.w.stop_at_sec = rig.w.now_sec + 25;
		rc = np_calibrate_measure(&rig.c, &err);
		T_CHECK(rc == 0 || (rc == -EINTR && err.text[0]));
		e = np_calibrate_estimate(&rig.c);
		T_CHECK(e.n_done == rig.w.saves && !e.left_sec == !rc);
		np_cal_run_free(rig.c.run); /* as by the end of the process */
		T_CHECK(!rig.w.running[0] && !rig.w.running[1]);
		rig.w.stop_at_sec = 0;
		rig_attach(&rig);
	} while (rc && stops++ < 50);
	T_CHECK(stops > 3 && rig.w.saves == 31 && e.n == 31);
}

T_TEST("a step that dies or stays silent ends it, with the cause")
{
	struct np_err err = NP_ERR_INIT;

	rig_make("c0,c7", 8);
	rig.w.die_at_sec = rig.w.now_sec + 20;
	T_CHECK(np_calibrate_measure(&rig.c, &err) == -EPIPE &&
		!strcmp(err.text, "died"));
	T_CHECK(!rig.w.running[NP_CAL_AGGRESSOR]);
	rig.w.die_at_sec = 0;
	rig.w.silent = true;
	T_CHECK(np_calibrate_measure(&rig.c, &err) == -ETIMEDOUT &&
		strstr(err.text, "processes started"));
	rig.w.silent = false;
	T_CHECK(!np_calibrate_measure(&rig.c, &err));
}

/* Four of each of 33000 are more than it keeps. */
T_TEST("more reports than are kept are reported as that, not as lack of memory")
{
	struct np_err err = NP_ERR_INIT;

	rig_make("c0,c7", 8);
	rig.w.floods = true;
	T_CHECK(np_calibrate_measure(&rig.c, &err) == -E2BIG);
	T_ROW(err.text, strstr(err.text, "more than 131072 reports"));
	T_ROW(err.text, !strstr(err.text, "memory"));
}

T_TEST("of many levels some are chosen by their impact")
{
	rig_make("default", 3);
	T_CHECK(!np_calibrate_measure(&rig.c, NULL));
	T_CHECK(rig.c.n_selected == 3 && rig.c.selected[0] == 0 &&
		rig.c.selected[2] == 7);
	/* what measured the impact is not measured twice */
	T_CHECK(rig.w.saves ==
		10 + 8 + 8 + 18 -
			3 * (rig.c.selected[1] == np_cal_middle(&rig.c.setup)));
}

T_TEST("what was measured survives in a file")
{
	char path[256], *a = NULL, *b = NULL;
	size_t len;
	struct np_cal_state again;
	struct np_err err = NP_ERR_INIT;

	rig_make("c0,c7", 8);
	T_CHECK(!np_calibrate_measure(&rig.c, NULL));
	snprintf(path, sizeof(path), "%s/state", t_tmpdir());
	T_CHECK(np_cal_state_load(path, &again, &err) == -ENOENT);
	T_CHECK(!np_cal_state_save(path, &rig.state, &err));
	T_CHECK(!np_cal_state_save(path, &rig.state, &err)); /* replaced */
	T_ROW(err.text, !np_cal_state_load(path, &again, &err));
	T_CHECK(!np_read_file(path, 1 << 20, &a, &len, NULL));
	T_CHECK(!np_cal_state_save(path, &again, &err));
	T_CHECK(!np_read_file(path, 1 << 20, &b, &len, NULL));
	T_CHECK(a && b && !strcmp(a, b));
	T_CHECK(again.begun == 1e9 && !strcmp(again.setup, "setup"));
	free(a);
	free(b);
	np_cal_state_free(&again);
	unlink(path);
	T_CHECK(!mkfifo(path, 0600));
	T_CHECK(np_cal_state_load(path, &again, &err) == -EACCES);
	unlink(path);
}
