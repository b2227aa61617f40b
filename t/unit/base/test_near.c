/* Names that somebody may have meant. */
#include "t.h"
#include "np_text.h"

#include <string.h>

static const struct {
	const char *a, *b;
	size_t distance;
} pairs[] = {
	{ "", "", 0 },
	{ "abc", "abc", 0 },
	{ "", "abc", 3 },
	{ "kitten", "sitting", 3 },
	{ "show", "shwo", 1 },
	{ "ab", "ba", 1 },
	{ "lammps", "lamps", 1 },
	{ "lammps", "LAMMPS", 0 },
};

T_TEST("letters between two names")
{
	char big[300];

	for (size_t i = 0; i < NP_ARRAY_SIZE(pairs); i++) {
		T_ROW(pairs[i].b,
		      np_distance(pairs[i].a, pairs[i].b) == pairs[i].distance);
		T_ROW(pairs[i].b,
		      np_distance(pairs[i].b, pairs[i].a) == pairs[i].distance);
	}
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	T_CHECK(np_distance(big, "") == 64); /* cut, not overrun */
}

static const struct {
	const char *name, *want;
} typed[] = {
	{ "lamps", "; did you mean lammps?" },
	{ "hpc", "; did you mean hpcc or hpcg?" },
	{ "cp", "; did you mean cp2k?" },
	{ "lammps-melt", "; did you mean lammps?" },
	{ "LAMMPS", "; did you mean lammps?" },
	{ "hpcg", "; did you mean hpcc?" }, /* not itself */
	{ "e", "" },
	{ "quantum", "" },
	{ "", "" },
};

T_TEST("names that were perhaps meant")
{
	const char *names[] = { "lammps", "hpcc", "hpcg", "cp2k", "x" };
	char buf[128];

	for (size_t i = 0; i < NP_ARRAY_SIZE(typed); i++) {
		np_suggest(typed[i].name, names, NP_ARRAY_SIZE(names), buf,
			   sizeof(buf));
		T_ROW(typed[i].name, !strcmp(buf, typed[i].want));
	}
	np_suggest("lamps", names, 5, buf, 10);
	T_CHECK(strlen(buf) == 9);
}
