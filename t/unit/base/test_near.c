/* Names that somebody may have meant. */
#include "t.h"
#include "np_text.h"

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

	T_EACH(r, pairs) {
		T_ROW(r->b, np_distance(r->a, r->b) == r->distance);
		T_ROW(r->b, np_distance(r->b, r->a) == r->distance);
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

	T_EACH(r, typed) {
		np_suggest(r->name, names, NP_ARRAY_SIZE(names), buf,
			   sizeof(buf));
		T_ROW(r->name, !strcmp(buf, r->want));
	}
	np_suggest("lamps", names, 5, buf, 10);
	T_CHECK(strlen(buf) == 9);
}
