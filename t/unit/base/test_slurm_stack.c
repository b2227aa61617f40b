#include "t.h"
#include "np_slurm_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char got[1024];

/* "optional a.so@1:7|": how many includes deep, and its line. */
static int take(void *arg, const struct np_slurm_stack_line *line,
		struct np_err *err)
{
	static const char *const kinds[] = { "optional", "required",
					     "include" };
	const struct np_slurm_stack_line *from = line->from;
	size_t used = strlen(got);
	int depth = 0;

	(void)arg;
	(void)err;
	for (; from; from = from->from)
		depth++;
	snprintf(got + used, sizeof(got) - used, "%s %s@%d:%u|",
		 kinds[line->kind], line->word, depth, line->number);
	return 0;
}

static int read_stack(const char *text, struct np_err *err)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/plugstack.conf", t_tmpdir());
	f = fopen(path, "w");
	T_CHECK(f && fputs(text, f) >= 0);
	if (f)
		fclose(f);
	got[0] = '\0';
	return np_slurm_stack(path, take, NULL, err);
}

static const struct {
	const char *name, *text, *want;
} rows[] = {
	{ "an optional plugin", "optional a.so x=1\n", "optional a.so@0:1|" },
	{ "a required one", "# c\n\nrequired /lib/a.so", "required "
	  "/lib/a.so@0:3|" },
	{ "a carriage return is a part of the name", "optional a.so\r\n", "optional a.so\r@0:1|" },
	{ "comments", "optional a.so # b\n#optional b.so\n",
	  "optional a.so@0:1|" },
	{ "lines of another form", "Optional a.so\noptional\n\"required\" a\n"
	  "optional b.so\n", "optional b.so@0:4|" },
	{ "a pattern next to the file", "include d/*.conf\noptional z.so\n",
	  "include d/*.conf@0:1|optional one.so@1:1|include two@1:1|"
	  "required three.so@2:1|optional z.so@0:2|" },
	{ "a pattern that nothing fits", "include none/*\n",
	  "include none/*@0:1|" },
	{ "a file that is missing", "include none\n", "include none@0:1|" },
};

static void test_rows(void)
{
	t_sh(t_tmpdir(), "mkdir d; echo optional one.so >d/a.conf; "
	     "echo include two >d/b.conf; echo required three.so >d/two");
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		T_ROW(rows[i].name, !read_stack(rows[i].text, NULL));
		T_ROW(rows[i].name, !strcmp(got, rows[i].want));
	}
}

static void test_bad(void)
{
	struct np_err err = NP_ERR_INIT;

	T_CHECK(read_stack("include plugstack.conf\n", &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "plugstack.conf:1: include: files include "
			 "each other"));
	T_CHECK(read_stack("include /\n", &err) == -EINVAL);
	T_CHECK(read_stack("\xef\xbb\xbfoptional a.so\n", &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "byte-order mark"));
	T_CHECK(!np_slurm_stack("/nonexistent", take, NULL, &err));
}

static const struct t_case cases[] = {
	{ "lines are read as Slurm reads them", test_rows },
	{ "what cannot be read is named", test_bad },
	{ NULL, NULL },
};

T_SUITE(slurm_stack, cases)
