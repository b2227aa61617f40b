/* What netprof validate runs, and in which order. */
#include "t.h"
#include "cli_pair_plan.h"

static void make_list(struct cli_program_list *l, const char *text)
{
	T_CHECK(!cli_program_list_parse(text, strlen(text), "t", l, NULL));
}

static const char three[] =
	"program a\nnodes 2\nrun x\nlonger y\n"
	"program b\nnodes 2\ntakes 10s\nrun x\nprogram c\nnodes 2\nrun x\n";

/* "la0 pa aa0 ba-b0 ca-b0": launch, profile, alone, with, control. */
static char *say(const struct cli_program_list *l,
		 const struct cli_pair_plan *plan)
{
	const struct cli_planned_run *t = plan->run;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < plan->n; i++) {
		fprintf(f, "%s%c%s", i ? " " : "", "lapbc"[t[i].kind],
			l -> program[t[i].victim].name);
		if (t[i].corunner != CLI_NO_PROGRAM)
			fprintf(f, "-%s", l->program[t[i].corunner].name);
		fprintf(f, "%u", t[i].repeat);
	}
	fclose(f);
	return text;
}

static void add_done(struct np_pairs *p, enum np_pairs_kind kind,
		     const char *victim, const char *corunner, uint32_t repeat)
{
	const struct np_pairs_run r = {
		.kind = kind,
		.victim = strdup(victim),
		.repeat = repeat,
		.corunner = corunner ? strdup(corunner) : NULL,
		.sec = 20,
	};

	T_CHECK(!np_pairs_add(p, &r));
}

static void check_plan(const char *name, const struct cli_program_list *l,
		       uint32_t repeats, bool apart,
		       const struct np_pairs *done, const char *want)
{
	struct cli_pair_plan plan = cli_pair_plan_make(l, repeats, apart, done);
	char *got = say(l, &plan);

	T_ROW(name, !strcmp(got, want));
	free(got);
	free(plan.run);
}

T_TEST("runs alone stand between pairs and controls")
{
	struct np_pairs none = { .n_runs = 0 };
	struct cli_program_list l;

	make_list(&l, "program a\nnodes 2\nrun x\n"
		      "program b\nnodes 2\nrun x\n");
	check_plan("with controls, which are not repeated", &l, 2, true, &none,
		   "la0 la1 la2 lb0 lb1 lb2 pa0 pb0 "
		   "aa0 ba-a0 ca-a0 ba-b0 ca-b0 aa1 "
		   "ab0 bb-a0 cb-a0 bb-b0 cb-b0 ab1 "
		   "aa2 ba-a1 ba-b1 aa3 ab2 bb-a1 bb-b1 ab3");
	check_plan("without a second leaf", &l, 1, false, &none,
		   "la0 la1 la2 lb0 lb1 lb2 pa0 pb0 "
		   "aa0 ba-a0 ba-b0 aa1 ab0 bb-a0 bb-b0 ab1");
	cli_program_list_free(&l);
}

T_TEST("what is done is not run again")
{
	struct np_pairs done = { .n_runs = 0 };
	struct cli_program_list l;

	make_list(&l, "program a\nnodes 2\nrun x\n");
	for (uint32_t r = 0; r < CLI_LAUNCHES; r++)
		add_done(&done, NP_PAIRS_LAUNCH, "a", NULL, r);
	add_done(&done, NP_PAIRS_PROFILE, "a", NULL, 0);
	add_done(&done, NP_PAIRS_ALONE, "a", NULL, 0);
	check_plan("a pair has a run alone of its own day", &l, 1, true, &done,
		   "aa1000000 ba-a0 ca-a0 aa1");
	add_done(&done, NP_PAIRS_ALONE, "a", NULL, 1000000);
	add_done(&done, NP_PAIRS_LEAF, "a", "a", 0);
	check_plan("and once more, when it is stopped again", &l, 1, true,
		   &done, "aa1000001 ca-a0 aa1");
	add_done(&done, NP_PAIRS_APART, "a", "a", 0);
	add_done(&done, NP_PAIRS_ALONE, "a", NULL, 1);
	check_plan("all is done", &l, 1, true, &done, "");
	check_plan("more repeats go on", &l, 2, true, &done, "aa2 ba-a1 aa3");
	np_pairs_free(&done);
	cli_program_list_free(&l);
}

T_TEST("the time is estimated from what is known")
{
	struct np_pairs done = { .n_runs = 0 };
	struct cli_program_list l;
	const struct cli_planned_run alone[] = {
		{ NP_PAIRS_ALONE, 0, CLI_NO_PROGRAM, 0 },
		{ NP_PAIRS_ALONE, 1, CLI_NO_PROGRAM, 0 },
	}, profile[] = {
		{ NP_PAIRS_PROFILE, 0, CLI_NO_PROGRAM, 0 },
		{ NP_PAIRS_PROFILE, 1, CLI_NO_PROGRAM, 0 },
	};

	make_list(&l, three);
	T_CHECK(cli_planned_run_sec(&l, &done, &alone[0]) == 31);
	T_CHECK(cli_planned_run_sec(&l, &done, &alone[1]) == 11);
	T_CHECK(cli_planned_run_sec(&l, &done, &profile[0]) == 151);
	T_CHECK(cli_planned_run_sec(&l, &done, &profile[1]) == 14);
	add_done(&done, NP_PAIRS_ALONE, "b", NULL, 0);
	T_CHECK(cli_planned_run_sec(&l, &done, &alone[1]) == 21);
	np_pairs_free(&done);
	cli_program_list_free(&l);
}
