/* What status, explain and check say, without a store. */
#include "t.h"
#include "cli_check.h"
#include "cli_diagnosis.h"
#include "cli_recommend.h"
#include "cli_state.h"

#define NOT_PREDICTED (-1.0)

static const struct {
	const char *name;
	double run_sec;
	uint32_t n;
	double mean, sd, predicted;
	const char *want;
} runs[] = {
	{ "neighbours account for a part", 35, 5, 25, 0.2, 0.33,
	  "It took 35.0 s, 40 % longer than alone (25.0 s, 5 runs); its "
	  "neighbours account for 33 of those 40 percentage points." },
	{ "neighbours account for all", 35, 5, 25, 0.2, 0.6,
	  "It took 35.0 s, 40 % longer than alone (25.0 s, 5 runs); its "
	  "neighbours account for all of that (60 % was predicted)." },
	{ "neighbours account for nothing", 35, 5, 25, 0.2, 0.001,
	  "It took 35.0 s, 40 % longer than alone (25.0 s, 5 runs); its "
	  "neighbours account for none of that." },
	{ "there is no prediction", 35, 5, 25, 0.2, NOT_PREDICTED,
	  "It took 35.0 s, 40 % longer than alone (25.0 s, 5 runs); the effect "
	  "of its neighbours is not known." },
	{ "as long as alone", 25.2, 5, 25, 0.2, 0.3,
	  "It took 25.2 s, as long as alone (25.0 s, 5 runs)." },
	{ "within the scatter", 30, 5, 25, 4, 0.3,
	  "It took 30.0 s, 20 % longer than alone (25.0 s, 5 runs), which may be "
	  "chance." },
	{ "a single run alone scatters, too", 26, 1, 25, NAN, 0.3,
	  "It took 26.0 s, 4 % longer than alone (25.0 s, 1 run), which may be "
	  "chance." },
	{ "faster than alone", 20, 5, 25, 0.2, 0.3,
	  "It took 20.0 s, 20 % less than alone (25.0 s, 5 runs)." },
	{ "never alone", 35, 0, 0, NAN, 0.3,
	  "It took 35.0 s. How long it takes alone is not known: no other run "
	  "of this command had its leaf switches to itself." },
	{ "a mean run time of zero", 35, 3, 0, 0, 0.3,
	  "It took 35.0 s. How long it takes alone is not known: no other run "
	  "of this command had its leaf switches to itself." },
};

T_TEST("what a measured run cost")
{
	T_EACH(r, runs) {
		const struct np_mean alone = {
			.n = r->n,
			.mean = r->mean,
			.sd = r->sd,
		};
		const char *text = cli_run_time_text(
			r->run_sec, &alone,
			r->predicted == NOT_PREDICTED ? NULL : &r->predicted);

		T_ROW(r->name, !strcmp(text, r->want));
	}
}

static const struct {
	const char *name;
	double age, interval;
	bool stale;
} ages[] = {
	{ "fresh", 1, 2, false },
	{ "just in time", 30, 2, false },
	{ "too old", 30.5, 2, true },
	{ "rare decisions may be older", 599, 60, false },
	{ "but not for ever", 601, 60, true },
	{ "frequent ones are given time, too", 29, 0.1, false },
	{ "from the future", -100, 2, false },
};

T_TEST("when a decision is too old")
{
	T_EACH(r, ages) {
		const struct np_state s = { .date = 1e9,
					    .interval_sec = r->interval };

		T_ROW(r->name, cli_state_stale(&s, 1e9 + r->age) == r->stale);
	}
}

static const struct {
	const char *mode;
	double age;
	bool places;
	const char *want;
} modes[] = {
	{ "enforce", 1, true,
	  "Placement enforces: jobs that would slow each "
	  "other by more than 10 % are kept apart, and held for up to 60 min "
	  "if necessary." },
	{ "prefer", 1, true,
	  "Placement prefers: jobs that would slow each "
	  "other by more than 10 % are kept apart if that delays none of them." },
	{ "advise", 1, true,
	  "Placement advises: it reports what it would do and changes no job." },
	{ "off", 1, true, "Placement is off." },
	{ "", 1, true, "Placement is off." },
	{ "other", 1, true, "Placement is in mode other." },
	{ "enforce", 60, true,
	  "Placement does not act: its last decision is "
	  "60.0 s old, more than 30 s. Is slurmctld running? Try netprof "
	  "check." },
	{ "enforce", 60, false,
	  "Placement does not act: its last decision is "
	  "60.0 s old, more than 30 s. It is off in netprof.conf." },
};

T_TEST("what each mode does, in a sentence")
{
	T_EACH(r, modes) {
		const struct np_state s = {
			.date = 1e9,
			.interval_sec = 2,
			.max_slowdown = 0.1,
			.max_hold_sec = 3600,
			.mode = (char *)r->mode,
		};

		T_ROW(r->want, !strcmp(r->want, cli_mode_text(&s, 1e9 + r->age,
							      r->places)));
	}
}

static const struct {
	uint32_t id, array, task;
	const char *want;
} names[] = {
	{ 123, 0, 0, "123" },
	{ 127, 123, 4, "123_4" },
	{ 123, 123, 0, "123_0" },
	{ 123, 123, UINT32_MAX, "123" },     /* of the rest */
	{ 123, 123, UINT32_MAX - 1, "123" }, /* NO_VAL */
};

T_TEST("jobs are named as squeue names them")
{
	T_EACH(r, names)
		T_ROW(r->want,
		      !strcmp(r->want, cli_job_name(r->id, r->array, r->task)));
}

static const struct {
	const char *list;
	bool has;
} lists[] = {
	{ "netprof", true },
	{ "lua,netprof", true },
	{ "netprof,lua", true },
	{ "lua, netprof ,x", true },
	{ "job_submit/netprof", true },
	{ "", false },
	{ "lua", false },
	{ "netprof2", false },
	{ "mynetprof", false },
	{ ",,", false },
	{ "job_submit/", false },
};

T_TEST("plugins in a list")
{
	T_EACH(r, lists)
		T_ROW(r->list, cli_slurm_lists(r->list, "netprof") == r->has);
}

#define TO_DO_SO "To do so: sbatch --exclude=NODES."

static const struct {
	const char *name;
	double by[CLI_PAIRS_MAX]; /* of fft, NPmpi and another halo */
	size_t n;
	const char *want;
} neighbours[] = {
	{ "no other application has a profile", { 0 }, 0, "" },
	{ "no application exceeds the limit",
	  { 0.1, 0.02 },
	  2,
	  "none: no application with a reliable prediction slows halo by more than 10 %." },
	{ "one application exceeds it",
	  { 0.11, 0.02 },
	  2,
	  "sharing a leaf switch with fft, which slows halo by more than "
	  "10 %. " TO_DO_SO },
	{ "two applications exceed it",
	  { 0.4, 0.11, 0.1 },
	  3,
	  "sharing a leaf switch with fft or NPmpi: each slows halo by "
	  "more than 10 %. " TO_DO_SO },
	{ "all exceed it, a second job of its own among them",
	  { 0.4, 0.3, 0.2 },
	  3,
	  "sharing a leaf switch with fft, NPmpi or a second halo job: "
	  "each slows halo by more than 10 %. " TO_DO_SO },
};

T_TEST("which neighbours to avoid")
{
	const struct np_runs halo = { .app = "halo" };
	const struct np_run_summary p = {
		.runs = &halo, .is_idle = true, /* nothing is to be measured */
	};
	const struct cli_known none = { .n = 0 };

	T_EACH(r, neighbours) {
		struct cli_pair_list pairs = { .n = r->n,
					       .pair = {
						       { .app = "fft" },
						       { .app = "NPmpi" },
						       { .app = "halo" },
					       } };
		struct cli_recommendation a;

		for (size_t k = 0; k < CLI_PAIRS_MAX; k++)
			pairs.pair[k].prediction.slowdown = r->by[k];
		cli_recommend(&p, &none, NP_SCOPE_LEAF, &pairs, 0.1, &a);
		T_ROW(r->name, !strcmp(cli_avoid_text(&a), r->want));
	}
}
