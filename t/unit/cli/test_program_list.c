/* Lists of programs that netprof validate measures, as people write them. */
#include "t.h"
#include "cli_program_list.h"

T_TEST("a list is read")
{
	static const char text[] =
		"# two\nprogram halo\n nodes 4\n per-node 2\n"
		" directory /home/alice\n srun --mpi=pmix -c2\n begins 2s\n"
		" takes 12s\n run ./halo -n 4\n longer ./halo -n 40\n"
		"program fft\n nodes 2\n run fft\n";
	struct cli_program_list l;
	const struct cli_program *p;

	T_CHECK(!cli_program_list_parse(text, strlen(text), "t", &l, NULL));
	T_CHECK(l.n == 2);
	p = &l.program[0];
	T_CHECK(!strcmp(p->name, "halo") && p->nodes == 4 &&
		p->tasks_per_node == 2);
	T_CHECK(!strcmp(p->directory, "/home/alice") &&
		!strcmp(p->srun_options, "--mpi=pmix -c2"));
	T_CHECK(p->begins_sec == 2 && p->takes_sec == 12);
	T_CHECK(!strcmp(p->command, "./halo -n 4"));
	T_CHECK(cli_longer_command(p) == p->longer_command &&
		!strcmp(p->longer_command, "./halo -n 40"));
	p = &l.program[1];
	T_CHECK(p->tasks_per_node == 1 && !p->directory && !p->srun_options &&
		p->begins_sec == CLI_BEGINS_SEC);
	T_CHECK(cli_longer_command(p) == p->command);
	cli_program_list_free(&l);
}

T_TEST("other commands and layouts are distinguished")
{
	static const char *const text[] = {
		"program a\nnodes 2\nrun x y\n",
		"program a\nnodes 2\nrun x z\n",
		"program a\nnodes 2\nper-node 2\nrun x y\n",
	};
	struct cli_program_list list[3];

	for (size_t i = 0; i < NP_ARRAY_SIZE(text); i++)
		T_CHECK(!cli_program_list_parse(text[i], strlen(text[i]), "t",
						&list[i], NULL));
	T_CHECK(strcmp(list[0].setup, list[1].setup) &&
		strcmp(list[0].setup, list[2].setup));
	for (size_t i = 0; i < NP_ARRAY_SIZE(text); i++)
		cli_program_list_free(&list[i]);
}

#define A "program a\nnodes 2\nrun x\n"

static const struct {
	const char *name, *text, *why;
} refused[] = {
	{ "nothing", "", "t:1: expected a line with program" },
	{ "no program first", "nodes 4\n", "t:1: \"nodes\": expected program" },
	{ "no name", "program\n", "t:1: \"program\": expected one name" },
	{ "a name that profiles cannot have", "program a/b\n", "t:1: " },
	{ "the name of idle", "program idle\n", "t:1: \"idle\"" },
	{ "the name of a level", "program c3\n", "t:1: \"c3\"" },
	{ "a name twice", A "program a\n",
	  "t:4: \"a\": expected another name" },
	{ "no command", "\nprogram a\nnodes 2\n",
	  "t:2: \"a\": expected a "
	  "line with run" },
	{ "no nodes",
	  A "program b\nrun x\n"
	    "program c\nnodes 2\nrun x\n",
	  "t:4: \"b\": expected a line with nodes" },
	{ "zero nodes", "program a\nnodes 0\n", "t:2: \"nodes\": expected" },
	{ "nodes beyond any", "program a\nnodes 70000\n", "t:2: \"70000\"" },
	{ "two commands", A "run y\n", "t:4: \"run\": expected once" },
	{ "two numbers of nodes", "program a\nnodes 2\nnodes 4\n",
	  "t:3: \"nodes\": expected once in a program" },
	{ "two numbers of tasks", A "per-node 1\nper-node 2\n",
	  "t:5: \"per-node\": expected once in a program" },
	{ "two expected times", A "takes 0s\ntakes 5s\n",
	  "t:5: \"takes\": expected once in a program" },
	{ "two delays", A "begins 5s\nbegins 5s\n",
	  "t:5: \"begins\": expected once in a program" },
	{ "JSON", "{\"a\": 1}\n", "t:1: expected " },
	{ "an empty command", "program a\nrun\n",
	  "t:2: \"run\": expected 1 to" },
	{ "a directory that depends", "program a\ndirectory x\n",
	  "t:2: \"x\": expected an absolute path" },
	{ "a time without a unit", "program a\nbegins 5\n", "t:2: \"5\"" },
	{ "an unknown word", "program a\ncores 5\n", "t:2: \"cores\"" },
	{ "more words than srun takes",
	  "program a\nrun 1 2 3 4 5 6 7 8 9 10 "
	  "11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 "
	  "33\n",
	  "t:2: \"run\": expected 1 to 32 words" },
};

T_TEST("mistakes are refused with their line")
{
	T_EACH(r, refused) {
		struct cli_program_list l = { .n = 0 };
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name,
		      cli_program_list_parse(r->text, strlen(r->text), "t", &l,
					     &err) == -EINVAL);
		T_ROW(r->name, !strncmp(err.text, r->why, strlen(r->why)));
	}
}
