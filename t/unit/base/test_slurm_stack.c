#include "t.h"
#include "np_slurm_file.h"

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

static int read_bytes(const char *bytes, size_t len, struct np_err *err)
{
	const char *path = t_write("plugstack.conf", bytes, len);

	got[0] = '\0';
	return np_slurm_stack(path, take, NULL, err);
}

static int read_stack(const char *text, struct np_err *err)
{
	return read_bytes(text, strlen(text), err);
}

static const struct {
	const char *name, *text, *want;
} rows[] = {
	{ "an optional plugin", "optional a.so x=1\n", "optional a.so@0:1|" },
	{ "a required one", "# c\n\nrequired /lib/a.so",
	  "required /lib/a.so@0:3|" },
	{ "a carriage return is a part of the name", "optional a.so\r\n",
	  "optional a.so\r@0:1|" },
	{ "comments", "optional a.so # b\n#optional b.so\n",
	  "optional a.so@0:1|" },
	{ "lines of another form",
	  "Optional a.so\noptional\n\"required\" a\n"
	  "optional b.so\n",
	  "optional b.so@0:4|" },
	{ "a pattern next to the file", "include d/*.conf\noptional z.so\n",
	  "include d/*.conf@0:1|optional one.so@1:1|include two@1:1|"
	  "required three.so@2:1|optional z.so@0:2|" },
	{ "a pattern that nothing fits", "include none/*\n",
	  "include none/*@0:1|" },
	{ "a file that is missing", "include none\n", "include none@0:1|" },
	{ "a directory", "include .\noptional a.so\n",
	  "include .@0:1|optional a.so@0:2|" },
	{ "a device", "include /dev/null\noptional a.so\n",
	  "include /dev/null@0:1|optional a.so@0:2|" },
};

T_TEST("lines are read as Slurm reads them")
{
	t_sh(t_tmpdir(),
	     "mkdir d; echo optional one.so >d/a.conf; "
	     "echo include two >d/b.conf; echo required three.so >d/two");
	T_EACH(r, rows) {
		T_ROW(r->name, !read_stack(r->text, NULL));
		T_ROW(r->name, !strcmp(got, r->want));
	}
}

static int take_arguments(void *arg, const struct np_slurm_stack_line *line,
			  struct np_err *err)
{
	(void)arg;
	(void)err;
	snprintf(got, sizeof(got), "%s",
		 line->arguments ? line->arguments : "none");
	return 0;
}

/* An argument has no quotes; the blanks between two are left to the caller. */
static const struct {
	const char *name, *text, *want;
} arguments[] = {
	{ "none", "optional a.so\n", "none" },
	{ "blanks alone", "optional a.so \t\n", "\t\n" },
	{ "two", "required a.so x=1\t y=\"2 3\"\n", "x=1\t y=\"2 3\"\n" },
	{ "without a line break", "optional a.so x=1", "x=1" },
	{ "before a comment", "optional a.so x=1 # y=2\n", "x=1 " },
};

T_TEST("a plugin's arguments are what follows its name")
{
	T_EACH(r, arguments) {
		const char *path =
			t_write("plugstack.conf", r->text, strlen(r->text));

		T_ROW(r->name,
		      !np_slurm_stack(path, take_arguments, NULL, NULL));
		T_ROW(r->name, !strcmp(got, r->want));
	}
}

T_TEST("what cannot be read is named")
{
	struct np_err err = NP_ERR_INIT;

	T_CHECK(read_stack("include plugstack.conf\n", &err) == -EINVAL);
	T_CHECK(!!strstr(err.text,
			 "plugstack.conf:1: include: files include each other"));
	T_CHECK(!np_slurm_stack("/nonexistent", take, NULL, &err));
}

#define TEXT(text) text, sizeof(text) - 1

/* What is not text, and the lines that Slurm finds in it. */
static const struct {
	const char *name, *bytes;
	size_t len;
	const char *want, *why;
} not_text[] = {
	{ "a mark before a plugin", TEXT("\xef\xbb\xbfoptional a.so\n"), "",
	  ":1: begins with a byte-order mark" },
	{ "a mark before a comment", TEXT("\xef\xbb\xbf# x\noptional a.so\n"),
	  "optional a.so@0:2|", ":1: begins with a byte-order mark" },
	{ "a NUL in a comment", TEXT("\n# x\0y\noptional a.so\n"),
	  "optional a.so@0:3|", ":2: a NUL character" },
	{ "a NUL behind a plugin", TEXT("optional a.so\0x y\n"),
	  "optional a.so@0:1|", ":1: a NUL character" },
	{ "a NUL before a plugin", TEXT("\0optional a.so\noptional b.so"),
	  "optional b.so@0:2|", ":1: a NUL character" },
	{ "UTF-16", TEXT("o\0p\0t\0i\0o\0n\0a\0l\0 \0a\0\n\0"), "",
	  ":1: a NUL character" },
};

T_TEST("what is not text is read as Slurm reads it")
{
	T_EACH(r, not_text) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, read_bytes(r->bytes, r->len, &err) == -EILSEQ);
		T_ROW(r->name, !strcmp(got, r->want));
		T_ROW(r->name, !!strstr(err.text, r->why));
	}
}

/* Slurm reads 4095 bytes at a time: what is behind them is a line of its own. */
T_TEST("long lines are cut as Slurm cuts them")
{
	char text[5000] = "#";

	memset(text + 1, ' ', 4094);
	strcpy(text + 4095, "optional a.so\noptional b.so\n");
	T_CHECK(!read_stack(text, NULL));
	T_CHECK(!strcmp(got, "optional a.so@0:1|optional b.so@0:2|"));
	memmove(text + 1, text + 2, strlen(text + 2) + 1);
	T_CHECK(!read_stack(text, NULL));
	T_CHECK(!strcmp(got, "optional b.so@0:2|"));
}
