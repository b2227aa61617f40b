/*
 * Makes the plan of netprof validate: the order of the runs and their duration.
 */
#include "cli_pair_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- order ---- */

/*
 * Pairs, with their controls, between two runs alone. They are few, so that a
 * pair and the runs alone before and after it are made soon after each other.
 */
#define PAIRS_IN_A_ROW 2

/* Repeat numbers of additional runs alone begin here; all others are lower. */
#define FIRST_ADDITIONAL 1000000u

/* A plan that is being made. */
struct builder {
	const struct cli_program_list *list;
	const struct np_pairs *done; /* earlier runs */
	struct cli_pair_plan plan;
	/* The plan has a run of the current victim alone in this repeat. */
	bool has_baseline;
};

/* Return the name of a program; NULL for CLI_NO_PROGRAM. */
static const char *program_name(const struct builder *builder, size_t program)
{
	return program == CLI_NO_PROGRAM ? NULL :
					   builder->list->program[program].name;
}

/* Whether two names are equal; both may be NULL. */
static bool is_same_name(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_done(const struct builder *builder,
		    const struct cli_planned_run *run)
{
	for (size_t i = 0; i < builder->done->n_runs; i++) {
		const struct np_pairs_run *earlier = &builder->done->run[i];

		if (earlier->kind == run->kind &&
		    earlier->repeat == run->repeat &&
		    is_same_name(earlier->victim,
				 program_name(builder, run->victim)) &&
		    is_same_name(earlier->corunner,
				 program_name(builder, run->corunner)))
			return true;
	}
	return false;
}

static void append_run(struct builder *builder, struct cli_planned_run run)
{
	struct cli_pair_plan *plan = &builder->plan;

	cli_array_grow(&plan->run, plan->n, sizeof(*plan->run));
	plan->run[plan->n++] = run;
}

/* Return a repeat number that no earlier run of the victim alone has. */
static uint32_t next_repeat(const struct np_pairs *done, const char *victim)
{
	uint32_t next = FIRST_ADDITIONAL;

	for (size_t i = 0; i < done->n_runs; i++)
		if (done->run[i].kind == NP_PAIRS_ALONE &&
		    !strcmp(done->run[i].victim, victim) &&
		    done->run[i].repeat >= next)
			next = done->run[i].repeat + 1;
	return next;
}

/* Append an additional run of the victim alone. */
static void append_baseline(struct builder *builder, size_t victim)
{
	uint32_t repeat =
		next_repeat(builder->done, program_name(builder, victim));

	append_run(builder, (struct cli_planned_run){ NP_PAIRS_ALONE, victim,
						      CLI_NO_PROGRAM, repeat });
	builder->has_baseline = true;
}

/*
 * Append a run unless it is done. Before the first run of a pair in this repeat
 * that is not done, the plan needs a run of the victim alone. If all of those
 * are done, an additional one is planned, because they may be days old.
 */
static void plan_run(struct builder *builder, enum np_pairs_kind kind,
		     size_t victim, size_t corunner, uint32_t repeat)
{
	const struct cli_planned_run run = { kind, victim, corunner, repeat };

	if (is_done(builder, &run))
		return;
	if (corunner != CLI_NO_PROGRAM && !builder->has_baseline)
		append_baseline(builder, victim);
	append_run(builder, run);
	if (kind == NP_PAIRS_ALONE)
		builder->has_baseline = true;
}

/* Append what is missing in one repeat of a victim with all co-runners. */
static void plan_victim(struct builder *builder, size_t victim, uint32_t repeat,
			bool controls)
{
	size_t n = builder->list->n;
	size_t n_rows = (n + PAIRS_IN_A_ROW - 1) / PAIRS_IN_A_ROW;
	/* There is a run alone before the first row, and one after each row. */
	uint32_t alone = repeat * (uint32_t)(1 + n_rows);

	builder->has_baseline = false;
	plan_run(builder, NP_PAIRS_ALONE, victim, CLI_NO_PROGRAM, alone++);
	for (size_t corunner = 0; corunner < n; corunner++) {
		bool ends_row = (corunner + 1) % PAIRS_IN_A_ROW == 0 ||
				corunner + 1 == n;

		plan_run(builder, NP_PAIRS_LEAF, victim, corunner, repeat);
		if (controls && repeat == 0)
			plan_run(builder, NP_PAIRS_APART, victim, corunner, 0);
		if (ends_row)
			plan_run(builder, NP_PAIRS_ALONE, victim,
				 CLI_NO_PROGRAM, alone++);
	}
}

struct cli_pair_plan cli_pair_plan_make(const struct cli_program_list *list,
					uint32_t repeats, bool controls,
					const struct np_pairs *done)
{
	struct builder builder = { .list = list, .done = done };

	for (size_t i = 0; i < list->n; i++)
		for (uint32_t repeat = 0; repeat < CLI_LAUNCHES; repeat++)
			plan_run(&builder, NP_PAIRS_LAUNCH, i, CLI_NO_PROGRAM,
				 repeat);
	for (size_t i = 0; i < list->n; i++)
		plan_run(&builder, NP_PAIRS_PROFILE, i, CLI_NO_PROGRAM, 0);
	for (uint32_t repeat = 0; repeat < repeats; repeat++)
		for (size_t i = 0; i < list->n; i++)
			plan_victim(&builder, i, repeat, controls);
	return builder.plan;
}

/* ---- duration ---- */

#define SRUN_SEC 1.0	     /* srun itself, before and after its step */
#define DEFAULT_TAKES_SEC 30 /* of a program without "takes" in the list */
#define PROFILE_SEC 150	     /* least of a longer run, measured under load */
#define TYPICAL_SLOWDOWN 1.3 /* run time with a co-runner over that alone */

/* Return the newest measured run time alone, or else that in the list. */
static double expected_alone_sec(const struct cli_program *program,
				 const struct np_pairs *done)
{
	double sec = program->takes_sec > 0 ? program->takes_sec :
					      DEFAULT_TAKES_SEC;

	for (size_t i = 0; i < done->n_runs; i++)
		if (done->run[i].kind == NP_PAIRS_ALONE &&
		    !strcmp(done->run[i].victim, program->name))
			sec = done->run[i].sec;
	return sec;
}

double cli_planned_run_sec(const struct cli_program_list *list,
			   const struct np_pairs *done,
			   const struct cli_planned_run *run)
{
	const struct cli_program *victim = &list->program[run->victim];
	double sec = expected_alone_sec(victim, done);

	switch (run->kind) {
	case NP_PAIRS_LAUNCH:
		return SRUN_SEC;
	case NP_PAIRS_PROFILE:
		return SRUN_SEC + (victim->longer_command ?
					   fmax(PROFILE_SEC, sec) :
					   TYPICAL_SLOWDOWN * sec);
	case NP_PAIRS_ALONE:
		return SRUN_SEC + sec;
	case NP_PAIRS_LEAF:
		sec *= TYPICAL_SLOWDOWN;
		break;
	case NP_PAIRS_APART:
		break;
	}
	/* Both programs of a pair are launched, the co-runner first. */
	return 2 * SRUN_SEC + list->program[run->corunner].begins_sec + sec;
}
