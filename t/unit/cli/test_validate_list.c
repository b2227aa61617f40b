/* Lists of programs to measure, as people write them. */
#include "t.h"
#include "cmd_validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void test_a_list_is_read(void)
{
	static const char text[] =
		"# two\nprogram halo\n nodes 4\n per-node 2\n"
		" directory /home/alice\n srun --mpi=pmix -c2\n begins 2s\n"
		" takes 12s\n run ./halo -n 4\n longer ./halo -n 40\n"
		"program fft\n nodes 2\n run fft\n";
	struct np_validate_list l;
	const struct np_validate_program *p;

	T_CHECK(!np_validate_list_parse(text, strlen(text), "t", &l, NULL));
	T_CHECK(l.n == 2);
	p = &l.program[0];
	T_CHECK(!strcmp(p->name, "halo") && p->nodes == 4 && p->per_node == 2);
	T_CHECK(!strcmp(p->directory, "/home/alice") && p->srun.n == 2 &&
		!strcmp(p->srun.word[1], "-c2"));
	T_CHECK(p->begins_sec == 2 && p->takes_sec == 12);
	T_CHECK(p->run.n == 3 && !strcmp(p->run.word[2], "4"));
	T_CHECK(np_validate_longer(p) == &p->longer && p->longer.n == 3);
	p = &l.program[1];
	T_CHECK(p->per_node == 1 && !p->directory && !p->srun.n &&
		p->begins_sec == NP_VALIDATE_BEGINS_SEC);
	T_CHECK(np_validate_longer(p) == &p->run);
	np_validate_list_free(&l);
}

static void test_other_commands_are_distinguished(void)
{
	static const char *const text[] = {
		"program a\nnodes 2\nrun x y\n", "program a\nnodes 2\nrun x z\n",
		"program a\nnodes 2\nper-node 2\nrun x y\n",
	};
	char *written[3];

	for (size_t i = 0; i < NP_ARRAY_SIZE(text); i++) {
		struct np_validate_list l;

		T_CHECK(!np_validate_list_parse(text[i], strlen(text[i]), "t",
						&l, NULL));
		written[i] = np_validate_list_text(&l);
		np_validate_list_free(&l);
	}
	T_CHECK(strcmp(written[0], written[1]) &&
		strcmp(written[0], written[2]));
	for (size_t i = 0; i < NP_ARRAY_SIZE(text); i++)
		free(written[i]);
}

#define A "program a\nnodes 2\nrun x\n"

static const struct {
	const char *name, *text, *why;
} refused[] = {
	{ "nothing", "", "t:0: expected a line with program" },
	{ "no program first", "nodes 4\n", "t:1: \"nodes\": expected program" },
	{ "no name", "program\n", "t:1: expected program and its name" },
	{ "a name that profiles cannot have", "program a/b\n", "t:1: " },
	{ "the name of idle", "program idle\n", "t:1: \"idle\"" },
	{ "the name of a level", "program c3\n", "t:1: \"c3\"" },
	{ "a name twice", A "program a\n", "t:4: a: a program" },
	{ "no command", "program a\nnodes 2\n", "t:2: program a: expected a "
	  "line with run" },
	{ "no nodes", "program a\nrun x\n", "t:2: program a: expected a line "
	  "with nodes" },
	{ "zero nodes", "program a\nnodes 0\n", "t:2: nodes: expected" },
	{ "nodes beyond any", "program a\nnodes 70000\n", "t:2: \"70000\"" },
	{ "two commands", A "run y\n", "t:4: run: given twice" },
	{ "an empty command", "program a\nrun\n", "t:2: run: expected 1 to" },
	{ "a directory that depends", "program a\ndirectory x\n",
	  "t:2: directory: expected" },
	{ "a time without a unit", "program a\nbegins 5\n", "t:2: \"5\"" },
	{ "an unknown word", "program a\ncores 5\n", "t:2: \"cores\"" },
	{ "more words than srun takes", "program a\nrun 1 2 3 4 5 6 7 8 9 10 "
	  "11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 "
	  "33\n", "t:2: run: expected 1 to 32 words" },
};

static void test_mistakes_are_refused_with_their_line(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(refused); i++) {
		struct np_validate_list l = { .n = 0 };
		struct np_err err = NP_ERR_INIT;

		T_ROW(refused[i].name,
		      np_validate_list_parse(refused[i].text,
					     strlen(refused[i].text), "t", &l,
					     &err) == -EINVAL);
		T_ROW(refused[i].name, !strncmp(err.text, refused[i].why,
						strlen(refused[i].why)));
	}
}

static const struct t_case cases[] = {
	{ "a list is read", test_a_list_is_read },
	{ "other commands and layouts are distinguished",
	  test_other_commands_are_distinguished },
	{ "mistakes are refused with their line",
	  test_mistakes_are_refused_with_their_line },
	{ NULL, NULL }
};

T_SUITE(validate_list, cases)
