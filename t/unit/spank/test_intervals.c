#include "t.h"
#include "np_launch.h"
#include "np_reports.h"

#define STEP_SEC 0.05
#define UP_SEC 0.2 /* after it was called */
#define ALONE_SEC 2.0
#define LOADED_SEC 3.0

/* A step of two nodes, 1 MB/s without levels, and half of it under one. */
struct world {
	struct np_record *r;
	struct np_intervals *c;
	double now_sec, start_sec; /* start: NaN before */
	double up_sec, level_end_sec, report_sec;
	bool deaf;	      /* levels do not come up */
	bool counted;	      /* MPI calls, 400 a second */
	double mute_sec[2];   /* from when on a node reports no more */
	double handshake_sec; /* a level that is up is reported so much later */
	double silent_sec;    /* the program sends nothing for so long */
	bool uneven;	 /* a program in bursts, reported late and seldom */
	double done_sec; /* its work: what it would have taken alone */
	double owed_sec[2], owed[2]; /* and how much is not reported yet */
	unsigned calls;
	bool overlapped;   /* a level was started during another */
	double unfair_sec; /* reported as alone during a level */
};

static struct np_earlier_intervals earlier = {
	.name = { "c0", "c3", "P4:M10:B250us:S40960" },
	.n_levels = 3,
	.share = 0.5,
};

static void level_runs(struct world *w)
{
	double round = isnan(w->start_sec) ? ALONE_SEC : LOADED_SEC;

	if (w->now_sec >= w->up_sec + w->handshake_sec) {
		np_intervals_level_started(w->c, w->now_sec);
		w->up_sec = INFINITY;
	}
	if (w->now_sec < w->report_sec || w->now_sec > w->level_end_sec + 0.1)
		return;
	w->report_sec += NP_INTERVALS_REPORT_SEC;
	np_intervals_add_rounds(w->c, w->now_sec,
				&(struct np_moments){ 10, round, 0, round,
						      round });
}

static void call(struct world *w, double sec)
{
	w->calls++;
	w->overlapped |= w->now_sec < w->level_end_sec;
	if (w->deaf)
		return;
	w->up_sec = w->now_sec + UP_SEC;
	w->level_end_sec = w->up_sec + sec;
	w->report_sec = w->up_sec + NP_INTERVALS_REPORT_SEC + 0.01;
}

/* Both nodes send in the first half of every 0.2 s of work. */
static double burst(double done_sec)
{
	return fmod(done_sec + 1e-9, 0.2) < 0.1 ? 1e6 : 0;
}

/* Every quarter of a second, and the second node more seldom. */
static void tell_late(struct world *w, double speed)
{
	static const double every_sec[] = { 0.25, 0.4 };

	for (int i = 0; i < 2; i++) {
		w->owed[i] += burst(w->done_sec) * speed * STEP_SEC;
		w->owed_sec[i] += STEP_SEC;
		if (w->owed_sec[i] < every_sec[i] - STEP_SEC / 2)
			continue;
		np_intervals_add_bytes(w->c, (size_t)i, w->now_sec,
				       w->owed_sec[i], w->owed[i]);
		w->owed[i] = w->owed_sec[i] = 0;
	}
	w->done_sec += speed * STEP_SEC;
}

static void step(struct world *w)
{
	bool loaded, silent;
	double sec = 0;

	w->now_sec += STEP_SEC;
	silent = w->now_sec < w->start_sec + w->silent_sec;
	loaded = w->now_sec >= w->up_sec ||
		 (isinf(w->up_sec) && w->now_sec < w->level_end_sec);
	if (w->uneven && !isnan(w->start_sec))
		tell_late(w, loaded ? 0.5 : 1);
	for (int i = 0; !w->uneven && i < 2; i++)
		if (!isnan(w->start_sec) && w->now_sec < w->mute_sec[i])
			np_intervals_add_bytes(
				w->c, (size_t)i, w->now_sec, STEP_SEC,
				silent ? 0 :
					 STEP_SEC * (loaded ? 0.25e6 : 0.5e6));
	if (w->counted && !isnan(w->start_sec))
		np_intervals_add_calls(w->c, 0, w->now_sec, STEP_SEC,
				       (loaded ? 200 : 400) * STEP_SEC);
	level_runs(w);
	if (loaded && np_intervals_is_alone(w->c, w->now_sec))
		w->unfair_sec += STEP_SEC;
	if (np_intervals_tick(w->c, w->now_sec, w->start_sec, &sec))
		call(w, sec);
	if (isnan(w->start_sec) && np_intervals_lead_in_done(w->c))
		w->start_sec = w->now_sec;
}

static struct world world;

static void end(void)
{
	np_intervals_free(world.c);
	np_record_free(world.r);
	world = (struct world){ .r = NULL };
}

static void begin(struct world *w)
{
	end();
	*w = (struct world){ .r = np_record_new(),
			     .now_sec = 100,
			     .start_sec = NAN,
			     .up_sec = INFINITY,
			     .mute_sec = { INFINITY, INFINITY } };
	w->c = w->r ? np_intervals_new(w->r, &earlier) : NULL;
	T_CHECK(w->c != NULL);
}

static void run(struct world *w, double sec, bool deaf)
{
	begin(w);
	w->deaf = deaf;
	while (w->c && w->now_sec < 100 + sec)
		step(w);
}

T_FIXTURE(NULL, end);

T_TEST("a run is cut into intervals that say what happened")
{
	size_t loaded = 0;

	run(&world, 120, false);
	/* Each of the three levels alone, then at least once under it. */
	T_CHECK(!world.overlapped && world.calls >= 6 && world.unfair_sec == 0);
	T_CHECK(world.r->n_intervals > 6);
	for (size_t i = 0; i < world.r->n_intervals; i++) {
		const struct np_run_interval *b = &world.r->intervals[i];

		T_CHECK(t_close(b->rate, b->level ? 0.5e6 : 1e6, 0.01));
		T_CHECK(b->sec > 0 && b->at_sec > 0 && b->at_sec < 120);
		T_CHECK(b->level ? b->round_sec.n >= 40 &&
					   b->round_sec.mean == LOADED_SEC :
				   b->round_sec.n == 0);
		loaded += b->level != NULL;
	}
	T_CHECK(loaded >= 3 && loaded == world.calls - 3);
}

T_TEST("levels run alone before the program starts")
{
	run(&world, 30, false);
	T_CHECK(world.start_sec < 100 + 5);
	T_CHECK(world.r->n_intervals_alone == 3);
	for (size_t i = 0; i < world.r->n_intervals_alone; i++) {
		const struct np_run_interval *b = &world.r->intervals_alone[i];

		T_CHECK(!strcmp(b->level, earlier.name[i]));
		T_CHECK(b->round_sec.n >= 10 && b->round_sec.mean == ALONE_SEC);
	}
}

/* Each at most twice is enough where nothing scatters. */
T_TEST("when all is known the run goes on alone")
{
	unsigned calls;
	size_t n;

	run(&world, 120, false);
	n = world.r->n_intervals;
	calls = world.calls;
	T_CHECK(calls >= 6 && calls <= 9);
	T_CHECK(isinf(np_intervals_due_sec(world.c)) && !world.r->n_notes);
	while (world.now_sec < 300)
		step(&world);
	T_CHECK(world.r->n_intervals == n && world.calls == calls &&
		np_intervals_is_alone(world.c, world.now_sec));
}

/* The intervals of a record as np_one_run_estimate() takes them. */
static size_t intervals_of(const struct np_record *r, struct np_interval *b)
{
	for (size_t i = 0; i < r->n_intervals; i++) {
		const struct np_run_interval *k = &r->intervals[i];
		size_t level = NP_INTERVAL_NO_LEVEL;

		for (size_t m = 0; k->level && m < earlier.n_levels; m++)
			if (!strcmp(k->level, earlier.name[m]))
				level = m;
		b[i] = (struct np_interval){ 0, level, k->sec, k->rate };
	}
	return r->n_intervals;
}

/* Twice the time under every level, whatever makes measuring it hard. */
T_TEST("bursts, late reports and late levels do not change a slowdown")
{
	static const double handshake_sec[] = { 0, 0.25 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(handshake_sec); i++) {
		static struct np_interval b[NP_RECORD_MAX_INTERVALS];
		struct np_one_run_level level[3];
		struct np_one_run o;

		begin(&world);
		world.uneven = true;
		world.handshake_sec = handshake_sec[i];
		while (world.now_sec < 400)
			step(&world);
		T_CHECK(!np_one_run_estimate(b, intervals_of(world.r, b), NULL,
					     level, 3, &o));
		T_CHECK(o.verdict == NP_ONE_RUN_USABLE);
		for (size_t k = 0; k < 3; k++)
			T_CHECK(fabs(level[k].slowdown.mean - 1) < 0.05);
		T_CHECK(world.unfair_sec == 0 && !world.overlapped);
	}
}

/* Of an earlier run: the program does not wait for it again. */
T_TEST("levels known alone do not make the program wait")
{
	earlier.alone_known[0] = earlier.alone_known[2] = true;
	run(&world, 30, false);
	T_CHECK(world.r->n_intervals_alone == 1 &&
		!strcmp(world.r->intervals_alone[0].level, "c3"));
	earlier.alone_known[1] = true;
	run(&world, 30, false);
	T_CHECK(!world.r->n_intervals_alone && world.start_sec < 100.1);
	memset(earlier.alone_known, 0, sizeof(earlier.alone_known));
}

/* srun waits no longer; and levels that take their time are cut off. */
T_TEST("the program does not wait longer than srun would")
{
	double sec;

	begin(&world);
	T_CHECK(np_intervals_tick(world.c, 100, NAN, &sec) != NULL);
	T_CHECK(!np_intervals_lead_in_done(world.c));
	T_CHECK(!np_intervals_tick(world.c, 101, 100.9, &sec));
	T_CHECK(np_intervals_lead_in_done(world.c) &&
		!np_intervals_wants_level(world.c));

	begin(&world);
	for (double t = 100; !np_intervals_lead_in_done(world.c) && t < 200;
	     t += 4)
		if (np_intervals_tick(world.c, world.now_sec = t, NAN, &sec))
			np_intervals_level_started(world.c, t + 3);
	T_CHECK(world.now_sec - 100 <= NP_LAUNCH_LEAD_IN_SEC);
	T_CHECK(world.r->n_intervals_alone > 0);

	begin(&world);
	T_CHECK(np_intervals_tick(world.c, 100, NAN, &sec) != NULL);
	np_intervals_level_started(world.c, 100.2);
	T_CHECK(!np_intervals_tick(world.c, 100.4, 100.3, &sec));
	T_ROW("the program starts while a level runs",
	      !np_intervals_is_alone(world.c, 100.9) &&
		      np_intervals_is_alone(world.c, 102));
}

/* Levels that do not come up are tried thrice, and the run goes on without. */
T_TEST("levels that do not come up are given up")
{
	run(&world, 120, true);
	T_CHECK(world.calls == 3 && world.r->n_notes > 0);
	T_CHECK(!world.r->n_intervals_alone && world.start_sec < 106);
	for (size_t i = 0; i < world.r->n_intervals; i++)
		T_CHECK(!world.r->intervals[i].level);
	T_CHECK(world.r->n_intervals > 20);
}

/* A level that comes up when nobody waits for it any more. */
T_TEST("a level that comes too late spoils no interval")
{
	size_t before;

	memset(earlier.alone_known, true, sizeof(earlier.alone_known));
	run(&world, 40, true);
	while (np_intervals_wants_level(world.c))
		step(&world);
	before = world.r->n_intervals;
	np_intervals_level_started(world.c, world.now_sec);
	world.level_end_sec = world.now_sec + 2.5;
	for (double until = world.now_sec + 7; world.now_sec < until;)
		step(&world);
	T_CHECK(world.r->n_intervals == before + 1 && world.unfair_sec == 0);
	T_CHECK(t_close(world.r->intervals[before].rate, 1e6, 0.01));
	memset(earlier.alone_known, false, sizeof(earlier.alone_known));
}

static const struct {
	const char *name;
	double after_sec; /* the start of the program */
} late_lead_ins[] = {
	{ "as soon as it is given up", 0 },
	{ "while the program sets up", 2.9 },
	{ "in the first interval", 4 },
};

/* The same before the program: its level, too, runs with the program then. */
T_TEST("nor does one that is too late for the lead-in")
{
	T_EACH(row, late_lead_ins) {
		const char *name = row->name;

		begin(&world);
		world.deaf = true;
		while (isnan(world.start_sec))
			step(&world);
		while (world.now_sec < world.start_sec + row->after_sec)
			step(&world);
		np_intervals_level_started(world.c, world.now_sec);
		world.level_end_sec = world.now_sec + 0.75;
		while (world.now_sec < world.start_sec + 15)
			step(&world);
		T_ROW(name, world.unfair_sec == 0);
		T_ROW(name,
		      world.r->n_intervals > 0 &&
			      t_close(world.r->intervals[0].rate, 1e6, 0.01));
	}
}

T_TEST("calls of MPI are reported where they are counted")
{
	for (int counted = 0; counted < 2; counted++) {
		begin(&world);
		world.counted = counted;
		while (world.now_sec < 150)
			step(&world);
		T_CHECK(world.r->n_intervals > 3);
		for (size_t i = 0; i < world.r->n_intervals; i++) {
			const struct np_run_interval *b =
				&world.r->intervals[i];

			T_CHECK(counted ? t_close(b->calls,
						  b->level ? 200 : 400, 0.01) :
					  isnan(b->calls));
		}
	}
}

/* The program goes on: no interval is slower, and none is made up. */
T_TEST("a node that falls silent makes no interval slower")
{
	size_t n;

	begin(&world);
	world.mute_sec[0] = 118;
	world.mute_sec[1] = 128;
	while (world.now_sec < 128)
		step(&world);
	n = world.r->n_intervals;
	for (size_t i = 0; i < n; i++)
		T_CHECK(t_close(world.r->intervals[i].rate,
				world.r->intervals[i].level ? 0.5e6 : 1e6,
				0.01));
	T_CHECK(n >= 5 && !world.r->n_notes);
	while (world.now_sec < 200)
		step(&world);
	T_CHECK(world.r->n_intervals <= n + 1 && world.r->n_notes == 1);
}

/* Until the step's nodes say what they move there is nothing to do. */
T_TEST("without counters there are no intervals")
{
	double sec;

	run(&world, 10, false);
	begin(&world);
	T_CHECK(np_intervals_tick(world.c, 100, NAN, &sec) != NULL);
	np_intervals_tick(world.c, 101, 101, &sec);
	T_CHECK(!np_intervals_tick(world.c, 2000, 101, &sec));
	T_CHECK(isinf(np_intervals_due_sec(world.c)) && !world.r->n_intervals);
}

/* Its silence is a phase of the run, in which no level runs. */
T_TEST("a program that is silent at first")
{
	size_t silent = 0, loaded = 0;

	begin(&world);
	world.silent_sec = 20;
	while (world.now_sec < 180)
		step(&world);
	for (size_t i = 0; i < world.r->n_intervals; i++) {
		const struct np_run_interval *b = &world.r->intervals[i];

		silent += b->rate == 0;
		loaded += b->level != NULL;
		T_CHECK(!b->level || b->at_sec > 20);
	}
	T_CHECK(silent > 3 && loaded > 3);
}

/* Its intervals are recorded as useless, so that later runs are whole runs. */
T_TEST("a program that is always silent")
{
	static struct np_interval b[NP_RECORD_MAX_INTERVALS];
	struct np_one_run_level level[3];
	struct np_one_run o;

	begin(&world);
	world.silent_sec = INFINITY;
	while (world.now_sec < 160)
		step(&world);
	T_CHECK(world.r->n_intervals > 10 && world.calls == 3);
	T_CHECK(!np_one_run_estimate(b, intervals_of(world.r, b), NULL, level,
				     3, &o));
	T_CHECK(o.verdict == NP_ONE_RUN_SILENT);
}
