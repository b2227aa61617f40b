#include "t.h"
#include "np_slurm_file.h"

static char got[4096];
static char cluster[64];

static void add(const char *text)
{
	strncat(got, text, sizeof(got) - strlen(got) - 1);
}

/* "SwitchName=s0 Nodes=a, b|": the pairs of a line, "!" and what is left. */
static int take(void *arg, const struct np_slurm_line *line, struct np_err *err)
{
	char *text = line->text;
	struct np_slurm_pair p;

	(void)err;
	*(unsigned *)arg = line->number;
	for (int i = 0; np_slurm_pair(&text, &p); i++) {
		add(i ? " " : "");
		add(p.key);
		add("=");
		add(p.value);
		if (!strcmp(p.key, "ClusterName"))
			snprintf(cluster, sizeof(cluster), "%s", p.value);
	}
	if (!np_slurm_is_blank(text)) {
		add("!");
		add(text);
	}
	add("|");
	return 0;
}

static int read_file(const char *name, unsigned *number, struct np_err *err)
{
	got[0] = cluster[0] = '\0';
	*number = 0;
	return np_slurm_file(t_path(name), cluster, take, number, err);
}

/* Each as slurmctld 22.05 takes it. */
static const struct {
	const char *name, *text, *want;
	unsigned number; /* of the last line that is not blank */
} lines[] = {
	{ "a key", "Key=value\n", "Key=value|", 1 },
	{ "the last line may lack its end", "a=1\nb=2", "a=1|b=2|", 2 },
	{ "an empty file", "", "", 0 },
	{ "blank lines and comments", "\n  \n# a=1\n\t# b\na=1\n", "a=1|", 5 },
	{ "a comment behind a value", "a=1 # b=2\n", "a=1|", 1 },
	{ "a comment right behind a value", "a=1#b=2\n", "a=1|", 1 },
	{ "a comment in quotes is one", "a=\"1 # 2\"\n", "a=\"1|", 1 },
	{ "an escaped number sign", "a=1\\#2\n", "a=1#2|", 1 },
	{ "an escaped backslash", "a=1\\\\2\n", "a=1\\2|", 1 },
	{ "an escaped backslash and a comment", "a=1\\\\#2\n", "a=1\\|", 1 },
	{ "several keys", "a=1 b=2\tc=3\n", "a=1 b=2 c=3|", 1 },
	{ "blanks around the equals sign", "a = 1 b= 2 c =3\n", "a=1 b=2 c=3|",
	  1 },
	{ "blanks before the line", "   a=1\n", "a=1|", 1 },
	{ "an operator", "a+=1 b -= 2\n", "a=1 b=2|", 1 },
	{ "quotes", "a=\"n[0-1], n[2-3]\" b=\"\"\n", "a=n[0-1], n[2-3] b=|",
	  1 },
	{ "quotes that are not the whole value", "a=\"1\"2 b=1\"2\"\n",
	  "a=\"1\"2 b=1\"2\"|", 1 },
	{ "quotes without an end", "a=\"1 2\n", "a=\"1!2|", 1 },
	{ "no value", "a=\n", "!a=|", 1 },
	{ "no value takes the next word", "a= b\n", "a=b|", 1 },
	{ "no key", "=1\n", "!=1|", 1 },
	{ "words that are no keys", "a=1 and more\n", "a=1!and more|", 1 },
	{ "a continued line", "a=1 \\\n  b=2\nc=3\n", "a=1 b=2|c=3|", 3 },
	{ "a continued list", "a=n0,\\\nn1,\\\nn2\n", "a=n0,n1,n2|", 1 },
	{ "blanks behind a backslash", "a=1 \\  \nb=2\n", "a=1 b=2|", 1 },
	{ "a comment behind a backslash", "a=1 \\ # c\nb=2\n", "a=1 b=2|", 1 },
	{ "two backslashes continue nothing", "a=1\\\\\nb=2\n", "a=1\\|b=2|",
	  2 },
	{ "a backslash at the end", "a=1 \\", "a=1|", 1 },
	{ "a continued comment is over", "# a \\\nb=1\n", "b=1|", 2 },
	{ "carriage returns", "a=1\r\nb=\"2 3\"\r\n\r\n", "a=1|b=2 3|", 2 },
	{ "carriage returns of continued lines", "a=1 \\\r\nb=2\r\n",
	  "a=1 b=2|", 1 },
	{ "an included file at its place", "a=1\nInclude one\nb=2\n",
	  "a=1|one=1|b=2|", 3 },
	{ "an included directory is empty", "a=1\nInclude /\nb=2\n", "a=1|b=2|",
	  3 },
	{ "an included device is empty", "a=1\nInclude /dev/zero\nb=2\n",
	  "a=1|b=2|", 3 },
	{ "an included FIFO is empty", "a=1\nInclude fifo.inc\nb=2\n",
	  "a=1|b=2|", 3 },
	{ "letters of Include", "iNCLUDE   one  # more\n", "one=1|", 1 },
	{ "a key that begins so", "IncludeMe=1\n", "IncludeMe=1|", 1 },
	{ "an include that is not at the beginning", " include one\n",
	  "! include one|", 1 },
	{ "a file of the cluster", "ClusterName=HPC\nInclude %c.inc\n",
	  "ClusterName=HPC|hpc=1|", 1 },
	{ "an included file's own is next to it", "Include sub/deep\n",
	  "deep=1|", 1 },
	{ "or next to the first file", "Include sub/up\n", "one=1|", 1 },
};

T_TEST("lines are read as Slurm reads them")
{
	t_sh(t_tmpdir(),
	     "mkdir sub; echo one=1 >one; echo hpc=1 >hpc.inc; echo Include "
	     "beside >sub/deep; echo deep=1 >sub/beside; "
	     "echo Include one >sub/up; mkfifo fifo.inc");
	T_EACH(r, lines) {
		struct np_err err = NP_ERR_INIT;
		unsigned number;

		t_write("conf", r->text, strlen(r->text));
		T_ROW(r->name, !read_file("conf", &number, &err));
		T_ROW(r->name, !strcmp(got, r->want));
		T_ROW(r->name, number == r->number);
	}
}

static const struct {
	const char *name, *text;
	const char *says;
} bad[] = {
	{ "a byte-order mark",
	  "\xef\xbb\xbf"
	  "a=1\n",
	  "conf:1: begins with a byte-order mark" },
	{ "an included file that is missing", "\nInclude missing\n",
	  "conf:2: Include: " },
	{ "no name", "Include \n", "conf:1: Include \"\": expected" },
	{ "more than a name", "Include one two\n",
	  "conf:1: unexpected \"two\" after the name" },
	{ "a cluster without a name", "Include %c.inc\n",
	  "conf:1: Include \"%c.inc\": the cluster's name is not known" },
	{ "a file that includes itself", "Include conf\n",
	  "files include each other" },
};

T_TEST("what cannot be read is named by file and line")
{
	T_EACH(r, bad) {
		struct np_err err = NP_ERR_INIT;
		unsigned number;

		t_write("conf", r->text, strlen(r->text));
		T_ROW(r->name, read_file("conf", &number, &err) < 0);
		T_ROW(r->name, !!strstr(err.text, r->says));
	}
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
	const char *name, *text;
	size_t len;
	const char *want, *says;
} nuls[] = {
	{ "behind a value", BYTES("a=1\0b=2\nc=3\n"), "a=1|c=3|", "conf:1: " },
	{ "before a key", BYTES("a=1\n\0b=2\nc=3"), "a=1|c=3|", "conf:2: " },
	{ "in a comment", BYTES("a=1\n\n# x\0y\nb=2\n"), "a=1|b=2|",
	  "conf:3: " },
	{ "in a line that continues another",
	  BYTES("a=1 \\\nb=2\0c=3 \\\nd=4\n"), "a=1 b=2|d=4|", "conf:2: " },
	{ "behind a backslash, which continues the line",
	  BYTES("a=1 \\\0x\nb=2\n"), "a=1 b=2|", "conf:1: " },
	{ "the last byte", BYTES("a=1\n\0"), "a=1|", "conf:2: " },
	{ "nothing else, as after a crash", BYTES("\0\0\0\0"), "", "conf:1: " },
	{ "in two lines, of which the first is named",
	  BYTES("a=1\nb=2\0\nc=3\0\n"), "a=1|b=2|c=3|", "conf:2: " },
	{ "in an included file", BYTES("a=1\nInclude nul\nb=2\n"),
	  "a=1|n=1|b=2|", "nul:2: " },
};

/* fgets() reads the whole line; all else that Slurm does stops at the NUL. */
T_TEST("a line ends at a NUL, as for Slurm")
{
	t_write("nul", BYTES("n=1\n\0n=2\n"));
	T_EACH(r, nuls) {
		struct np_err err = NP_ERR_INIT;
		unsigned number;

		t_write("conf", r->text, r->len);
		T_ROW(r->name, read_file("conf", &number, &err) == -EILSEQ);
		T_ROW(r->name, !strcmp(got, r->want));
		T_ROW(r->name, !!strstr(err.text, r->says));
		T_ROW(r->name,
		      !!strstr(err.text,
			       "a NUL character: like Slurm, this skips"));
	}
}

static const struct {
	const char *name, *text, *want;
	const char *says; /* NULL: nothing */
} opens[] = {
	{ "a last line without its end", "a=1\nInclude one", "a=1|one=1|",
	  "conf:2: Include: no blank or line break follows \"one\"" },
	{ "the only line", "Include one", "one=1|", "conf:1: Include: " },
	{ "a last line in an included file", "Include open\n", "one=1|",
	  "open:1: Include: " },
	{ "a last line that continues another", "Include \\\none", "one=1|",
	  "conf:2: Include: " },
	{ "a last line that is continued", "Include one\\\n", "one=1|", NULL },
	{ "a comment without a blank", "Include one#x\na=1\n", "one=1|a=1|",
	  "conf:1: Include: " },
	{ "a comment behind a blank", "Include one #x", "one=1|", NULL },
	{ "a blank at the end", "Include one ", "one=1|", NULL },
	{ "a carriage return at the end", "Include one\r", "one=1|", NULL },
	{ "a line end", "Include one\n", "one=1|", NULL },
	{ "another last line", "Include one\na=1", "one=1|a=1|", NULL },
	{ "a continued last line", "Include \\\none\n", "one=1|", NULL },
};

/* slurmctld searches for the blank behind the end of the line, too. */
T_TEST("an Include that nothing follows is read and named")
{
	t_write("one", BYTES("one=1\n"));
	t_write("open", BYTES("Include one"));
	T_EACH(r, opens) {
		struct np_err err = NP_ERR_INIT;
		unsigned number;
		int rc;

		t_write("conf", r->text, strlen(r->text));
		rc = read_file("conf", &number, &err);
		T_ROW(r->name, rc == (r->says ? -ENOMSG : 0));
		T_ROW(r->name, np_slurm_was_read(rc));
		T_ROW(r->name, !strcmp(got, r->want));
		T_ROW(r->name, !r->says || strstr(err.text, r->says));
	}
}

/* Two files that include each other twice each would never end. */
T_TEST("files that include each other come to an end")
{
	struct np_err err = NP_ERR_INIT;
	unsigned number;

	for (int i = 0; i < 12; i++) {
		const char *text =
			t_text("Include f%d\nInclude f%d\n", i + 1, i + 1);

		t_write(t_text("f%d", i), text, strlen(text));
	}
	t_write("f12", "a=1\n", 4);
	T_CHECK(read_file("f0", &number, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "f0: includes more than 255 files"));
}

static const struct {
	const char *name, *text, *want;
} printed[] = {
	{ "a switch", "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-3]",
	  "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-3]" },
	{ "a list with blanks", "SwitchName=s0 Nodes=n[0-3], n[4-7] Switches=a",
	  "SwitchName=s0 Nodes=n[0-3], n[4-7] Switches=a" },
	{ "an empty value", "a= b=1", "a= b=1" },
	{ "blanks at the end", "a=1 2  ", "a=1 2" },
	{ "words that are no record", "No topology", "" },
	{ "nothing", "", "" },
};

T_TEST("records that scontrol prints")
{
	T_EACH(r, printed) {
		char buf[128], *text = buf;
		struct np_slurm_pair p;

		got[0] = '\0';
		strcpy(buf, r->text);
		while (np_slurm_printed_pair(&text, &p)) {
			add(got[0] ? " " : "");
			add(p.key);
			add("=");
			add(p.value);
		}
		T_ROW(r->name, !strcmp(got, r->want));
	}
}

static const char config[] =
	"Configuration data as of 2026-11-21T05:00:00\n"
	"JobSubmitPlugins        = lua,netprof\n"
	"SchedulerParameters     = (null)\n"
	"SlurmUser               = slurm(64030)\n"
	"Comment                 = two words \n"
	"Empty                   = \n"
	"SlurmctldHost[0]        = ctl0(10.0.0.1)\n"
	"\nCgroup Support Configuration:\nslurmuser = other\n"
	"Last=1";

static const struct {
	const char *key, *want; /* NULL: it is not there */
} settings[] = {
	{ "JobSubmitPlugins", "lua,netprof" },
	{ "SlurmUser", "slurm(64030)" },
	{ "slurmuser", "slurm(64030)" },
	{ "Comment", "two words" },
	{ "Empty", "" },
	{ "SlurmctldHost[0]", "ctl0(10.0.0.1)" },
	{ "Last", "1" },
	{ "SlurmctldHost", NULL },
	{ "Plugins", NULL },
	{ "Slurm", NULL },
	{ "Longer", NULL },
};

T_TEST("settings that scontrol prints")
{
	T_EACH(r, settings) {
		char buf[64];
		bool found = np_slurm_setting(config, r->key, buf, sizeof(buf));

		T_ROW(r->key, found == !!r->want);
		T_ROW(r->key, !found || !strcmp(buf, r->want));
	}
}
