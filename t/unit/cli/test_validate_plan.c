/* What netprof validate runs, where, and in which order. */
#include "t.h"
#include "cmd_validate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_list(struct cli_program_list *l, const char *text)
{
	T_CHECK(!cli_program_list_parse(text, strlen(text), "t", l, NULL));
}

/* ---- roles ---- */

#define MAX_NODES 24

static const struct {
	const char *name, *nodes, *victim, *corunner, *apart;
	uint32_t want; /* nodes of the program */
	int rc;
} places[] = {
	{ "two halves of a leaf, as calibrate has them", "l/a l/b l/c l/d",
	  "a,b", "c,d", "-", 2, 0 },
	{ "the control has its place under the other leaf",
	  "l/a l/b l/c l/d m/e m/f m/g m/h", "a,b", "c,d", "g,h", 2, 0 },
	{ "or all of it, if that is small", "l/a l/b l/c l/d m/e m/f",
	  "a,b", "c,d", "e,f", 2, 0 },
	{ "too few nodes there: no control", "l/a l/b l/c l/d m/e", "a,b",
	  "c,d", "-", 2, 0 },
	{ "a program that does not fit into half a leaf", "l/a l/b l/c l/d",
	  NULL, NULL, NULL, 3, -ENODEV },
	{ "a leaf of two has no halves", "l/a l/b", NULL, NULL, NULL, 1,
	  -ENODEV },
};

static const char *list_of(const struct np_cal_hosts *h)
{
	return h->n ? h->list : "-";
}

static void test_roles(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(places); i++) {
		char text[256], program[64], *save = NULL;
		struct np_cal_node node[MAX_NODES];
		struct np_validate_roles s;
		struct cli_program_list l;
		struct np_err err;
		size_t n = 0;

		snprintf(program, sizeof(program), "program p\nnodes %u\n"
			 "run x\n", places[i].want);
		make_list(&l, program);
		snprintf(text, sizeof(text), "%s", places[i].nodes);
		for (char *w = strtok_r(text, " ", &save); w;
		     w = strtok_r(NULL, " ", &save)) {
			char *slash = strchr(w, '/');

			*slash = '\0';
			node[n++] = (struct np_cal_node){ slash + 1, w };
		}
		T_ROW(places[i].name, np_validate_roles_make(node, n, &l, &s,
							     &err) ==
				      places[i].rc);
		if (!places[i].rc) {
			T_ROW(places[i].name, !strcmp(list_of(&s.victim),
						      places[i].victim));
			T_ROW(places[i].name, !strcmp(list_of(&s.corunner),
						      places[i].corunner));
			T_ROW(places[i].name, !strcmp(list_of(&s.apart),
						      places[i].apart));
			np_validate_roles_free(&s);
		}
		cli_program_list_free(&l);
	}
}

static void test_the_first_nodes_of_a_role(void)
{
	const struct np_cal_hosts h = { (char *)"n0,n1,n2", 3 };
	static const char *const want[] = { "", "n0", "n0,n1", "n0,n1,n2",
					    "n0,n1,n2" };

	for (size_t i = 0; i < NP_ARRAY_SIZE(want); i++) {
		char *got = np_validate_hosts(&h, i);

		T_CHECK(!strcmp(got, want[i]));
		free(got);
	}
}

/* ---- plans ---- */

static const char three[] = "program a\nnodes 2\nrun x\nlonger y\n"
	"program b\nnodes 2\ntakes 10s\nrun x\nprogram c\nnodes 2\nrun x\n";

/* "la0 pa aa0 ba-b0 ca-b0": launch, profile, alone, with, control. */
static char *say(const struct cli_program_list *l,
		 const struct np_validate_task *t, size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < n; i++) {
		fprintf(f, "%s%c%s", i ? " " : "", "lapbc"[t[i].kind],
			l->program[t[i].victim].name);
		if (t[i].corunner != NP_CAL_NONE)
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
		.kind = kind, .victim = strdup(victim), .repeat = repeat,
		.corunner = corunner ? strdup(corunner) : NULL, .sec = 20,
	};

	T_CHECK(!np_pairs_add(p, &r));
}

static void check_plan(const char *name, const struct cli_program_list *l,
		       uint32_t repeats, bool apart,
		       const struct np_pairs *done, const char *want)
{
	struct np_validate_task *t;
	size_t n;
	char *got;

	T_CHECK(!np_validate_plan(l, repeats, apart, done, &t, &n));
	got = say(l, t, n);
	T_ROW(name, !strcmp(got, want));
	free(got);
	free(t);
}

static void test_runs_alone_stand_between_pairs_and_controls(void)
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

static void test_what_is_done_is_not_run_again(void)
{
	struct np_pairs done = { .n_runs = 0 };
	struct cli_program_list l;

	make_list(&l, "program a\nnodes 2\nrun x\n");
	for (uint32_t r = 0; r < NP_VALIDATE_LAUNCHES; r++)
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

static void test_time_is_estimated_from_what_is_known(void)
{
	struct np_pairs done = { .n_runs = 0 };
	struct cli_program_list l;
	const struct np_validate_task alone[] = {
		{ NP_PAIRS_ALONE, 0, NP_CAL_NONE, 0 },
		{ NP_PAIRS_ALONE, 1, NP_CAL_NONE, 0 },
	}, profile[] = {
		{ NP_PAIRS_PROFILE, 0, NP_CAL_NONE, 0 },
		{ NP_PAIRS_PROFILE, 1, NP_CAL_NONE, 0 },
	};

	make_list(&l, three);
	T_CHECK(np_validate_cost_sec(&l, &done, &alone[0]) == 31);
	T_CHECK(np_validate_cost_sec(&l, &done, &alone[1]) == 11);
	T_CHECK(np_validate_cost_sec(&l, &done, &profile[0]) == 151);
	T_CHECK(np_validate_cost_sec(&l, &done, &profile[1]) == 14);
	add_done(&done, NP_PAIRS_ALONE, "b", NULL, 0);
	T_CHECK(np_validate_cost_sec(&l, &done, &alone[1]) == 21);
	np_pairs_free(&done);
	cli_program_list_free(&l);
}

static const struct t_case cases[] = {
	{ "victims, co-runners and controls have their places", test_roles },
	{ "a program takes the first nodes of its role",
	  test_the_first_nodes_of_a_role },
	{ "runs alone stand between pairs and controls",
	  test_runs_alone_stand_between_pairs_and_controls },
	{ "what is done is not run again", test_what_is_done_is_not_run_again },
	{ "the time is estimated from what is known",
	  test_time_is_estimated_from_what_is_known },
	{ NULL, NULL }
};

T_SUITE(validate_plan, cases)
