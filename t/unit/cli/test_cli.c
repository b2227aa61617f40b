/* The parts of the command line that need no store. */
#include "t.h"
#include "cli.h"
#include "cli_check.h"
#include "cli_text.h"

#include <locale.h>

static const struct {
	double sec;
	const char *want;
} times[] = {
	{ 0, "0 s" },
	{ -1, "0 s" },
	{ NAN, "0 s" },
	{ 1e-9, "1.00 ns" },
	{ 45.12e-9, "45.1 ns" },
	{ 999.4e-9, "999 ns" },
	{ 999.6e-9, "1.00 us" },
	{ 9.994e-6, "9.99 us" },
	{ 9.996e-6, "10.0 us" },
	{ 99.96e-6, "100 us" },
	{ 210e-6, "210 us" },
	{ 1.2e-3, "1.20 ms" },
	{ 0.9996, "1.00 s" },
	{ 60, "60.0 s" },
	{ 599, "599 s" },
	{ 600, "10.0 min" },
	{ 7200, "2.00 h" },
	{ 1e9, "277778 h" },
	{ 1e12, "2.78e+08 h" },
	{ 1e300, "2.78e+296 h" },
};

T_TEST("times have three digits and a unit")
{
	T_EACH(r, times)
		T_ROW(r->want, !strcmp(cli_sec(r->sec), r->want));
}

static const struct {
	double low, high;
	const char *want;
} ranges[] = {
	{ 595, 936, "9.92 to 15.6 min" },
	{ 154, 174, "154 to 174 s" },
	{ 3.79, 22.5, "3.79 to 22.5 s" },
	{ 0.95, 1.2, "0.95 to 1.20 s" },
	{ 999.6e-9, 1.5e-6, "1.00 to 1.50 us" },
	{ 0, 18.7, "0 to 18.7 s" },
	{ 5997, 7200, "1.67 to 2.00 h" },
	{ 1e-6, 0.2, "0.001 to 200 ms" },
	{ 0, 0, "0 to 0 s" },
	{ 1, INFINITY, "0.00028 to inf h" },
};

T_TEST("both ends of a range have one unit")
{
	T_EACH(r, ranges)
		T_ROW(r->want,
		      !strcmp(cli_sec_range(r->low, r->high), r->want));
}

static const struct {
	double sec;
	const char *want;
} settings[] = {
	{ 0.1, "100 ms" },     { 0.02, "20 ms" },     { 0.0015, "1.5 ms" },
	{ 1, "1 s" },	       { 1.25, "1.25 s" },    { 3600, "60 min" },
	{ 0, "0 s" },	       { 1e-12, "0.001 ns" }, { 3e-23, "3e-14 ns" },
	{ 3.6e13, "1e+10 h" },
};

T_TEST("chosen times have no needless zeros")
{
	T_EACH(r, settings)
		T_ROW(r->want, !strcmp(cli_setting_sec(r->sec), r->want));
}

T_TEST("the micro sign only where the terminal knows it")
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return;
	T_CHECK(!strcmp(cli_sec(45e-6), "45.0 \302\265s"));
	T_CHECK(cli_width(cli_sec(45e-6)) == 7);
	setlocale(LC_CTYPE, "C");
	T_CHECK(!strcmp(cli_sec(45e-6), "45.0 us"));
}

static const struct {
	uint64_t bytes;
	const char *want;
} sizes[] = {
	{ 0, "0 B" },
	{ 8, "8 B" },
	{ 1000, "1000 B" },
	{ 1024, "1 KiB" },
	{ 1500, "1500 B" },
	{ 40960, "40 KiB" },
	{ 20000, "20 KiB" },
	{ 1 << 20, "1 MiB" },
	{ 9138176, "8.7 MiB" },
	{ 32000000, "31 MiB" },
	{ 1 << 30, "1 GiB" },
	{ 3 << 29, "1.5 GiB" },
	{ (1 << 20) - 1, "1.0 MiB" },
	{ (10 << 20) - 1, "10 MiB" },
	{ UINT64_MAX, "16777216 TiB" },
	{ UINT64_C(50000000000), "47 GiB" },
	{ UINT64_C(1) << 42, "4 TiB" },
};

T_TEST("sizes")
{
	T_EACH(r, sizes)
		T_ROW(r->want, !strcmp(cli_bytes(r->bytes), r->want));
}

static const struct {
	double rate;
	const char *want, *chosen;
} rates[] = {
	{ 1e9, "1 GB/s", "1 GB/s" },
	{ 999.6e6, "1 GB/s", "0.9996 GB/s" },
	{ 1234567890, "1.23 GB/s", "1.235 GB/s" },
	{ 593e6, "593 MB/s", "593 MB/s" },
	{ 12.5e9, "12.5 GB/s", "12.5 GB/s" },
	{ 1e15, "1 PB/s", "1 PB/s" },
	{ 0.5, "0.5 B/s", "0.5 B/s" },
	{ 1e18, "1 EB/s", "1 EB/s" },
};

T_TEST("rates have the unit that fits")
{
	T_EACH(r, rates) {
		T_ROW(r->want, !strcmp(cli_rate(r->rate), r->want));
		T_ROW(r->chosen, !strcmp(cli_setting_rate(r->rate), r->chosen));
	}
}

static const struct {
	double share;
	const char *percent, *change;
} shares[] = {
	{ 0, "0 %", "+0 %" },		{ 1, "100 %", "+100 %" },
	{ 0.61, "61 %", "+61 %" },	{ 0.0995, "10 %", "+10 %" },
	{ 0.0123, "1.2 %", "+1 %" },	{ 0.0012, "0.12 %", "+0 %" },
	{ 0.00001, "<0.01 %", "+0 %" }, { -0.2, "0 %", "-20 %" },
	{ -0.001, "0 %", "+0 %" },	{ 1e30, "1e+32 %", "+1e+32 %" },
};

T_TEST("shares and changes in percent")
{
	T_EACH(r, shares) {
		T_ROW(r->percent, !strcmp(cli_percent(r->share), r->percent));
		T_ROW(r->change, !strcmp(cli_change(r->share), r->change));
	}
}

T_TEST("a percentage that was set is not rounded")
{
	T_CHECK(!strcmp(cli_setting_percent(0.1), "10 %"));
	T_CHECK(!strcmp(cli_setting_percent(0.125), "12.5 %"));
	T_CHECK(!strcmp(cli_setting_percent(0.005), "0.5 %"));
	T_CHECK(!strcmp(cli_setting_percent(100), "10000 %"));
}

T_TEST("dates as sacct has them")
{
	char *old = getenv("TZ") ? strdup(getenv("TZ")) : NULL;

	setenv("TZ", "UTC", 1);
	T_CHECK(!strcmp(cli_date(1718201000), "2024-06-12T14:03:20"));
	T_CHECK(!strcmp(cli_day(1718201000), "2024-06-12"));
	T_CHECK(!strcmp(cli_date(0), "Unknown"));
	T_CHECK(!strcmp(cli_date(NAN), "Unknown"));
	if (old)
		setenv("TZ", old, 1);
	else
		unsetenv("TZ");
	free(old);
}

static const struct {
	const char *in;
	size_t width;
	const char *want;
} cuts[] = {
	{ "lammps", 10, "lammps" },
	{ "lammps", 6, "lammps" },
	{ "lammps", 5, "lamm~" },
	{ "", 5, "" },
	{ "caf\303\251 noir", 5, "caf\303\251~" },
};

T_TEST("long names are cut and marked")
{
	T_EACH(r, cuts)
		T_ROW(r->want, !strcmp(cli_truncate(r->in, r->width), r->want));
}

T_TEST("a text remains while others are made, and has a limit")
{
	const char *text = cli_text("%d", 123);

	for (int i = 1; i < CLI_TEXTS; i++)
		cli_text("%d", i);
	T_CHECK(!strcmp(text, "123"));
	T_CHECK(strlen(cli_text("%*s", 2 * CLI_TEXT_BYTES, "")) ==
		CLI_TEXT_BYTES - 1);
	T_CHECK(!*cli_text_buffer());
}

static char *printed(void (*print)(FILE *f, const void *arg), const void *arg)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	print(f, arg);
	fclose(f);
	return text;
}

static void print_wrapped(FILE *f, const void *arg)
{
	cli_wrap(f, arg, 2);
}

T_TEST("sentences wrap within the screen")
{
	char *text = printed(print_wrapped,
			     "one two three four five six seven eight nine ten "
			     "eleven twelve thirteen fourteen fifteen sixteen");
	size_t first = strcspn(text, "\n");

	T_CHECK(first > 60 && first <= 80);
	T_CHECK(!strcmp(text + first, "\n  fifteen sixteen\n"));
	free(text);
	text = printed(print_wrapped, "");
	T_CHECK(!strcmp(text, "\n"));
	free(text);
}

/* Each text has a blank in column 80, between a number and what follows. */
T_TEST("a number and its unit stay on one line, and so do the ends of an interval")
{
	static const struct {
		const char *end, *rest;
	} texts[] = {
		{ "15.6 min.", "\n  15.6 min.\n" },
		{ "(+19 %), mean", "\n  (+19 %), mean\n" },
		{ "12345 MB/s", "\n  12345 MB/s\n" },
		{ "12345 minutes", "\n  minutes\n" },
		{ "12345 runs", "\n  runs\n" },
		{ "(21 to 35), halo", "\n  (21 to 35), halo\n" },
		{ "(-1.5 to 2)", "\n  (-1.5 to 2)\n" },
		{ "(12 in all)", "\n  in all)\n" },
	};

	T_EACH(r, texts) {
		size_t first = 79 - strcspn(r->end, " ");
		char line[128], *text;

		memset(line, 'x', first - 1);
		snprintf(line + first - 1, sizeof(line) - first + 1, " %s",
			 r->end);
		text = printed(print_wrapped, line);
		first = strcspn(text, "\n");
		T_ROW(r->end, !strcmp(text + first, r->rest));
		free(text);
	}
}

/* Names of applications may be long: tables are as wide as the terminal. */
T_TEST("tables are as wide as the terminal, or a pipe")
{
	static const struct {
		const char *name, *columns;
		int all, page, name_column;
	} cases[] = {
		{ "of an average terminal", "80", 80, 80, 20 },
		{ "a wide one has room for names", "90", 90, 80, 25 },
		{ "but not for emptiness", "300", 300, 80, 40 },
		{ "a narrow one cuts names", "72", 72, 72, 16 },
		{ "there is a least width", "5", 40, 40, 11 },
		{ "nonsense is no width", "wide", CLI_UNLIMITED, 80, 20 },
		{ "nor is zero", "0", CLI_UNLIMITED, 80, 20 },
		{ "a pipe has no limit", NULL, CLI_UNLIMITED, 80, 20 },
	};
	int was = dup(STDOUT_FILENO), ends[2];

	T_CHECK(!pipe(ends) && dup2(ends[1], STDOUT_FILENO) >= 0);
	T_EACH(r, cases) {
		if (r->columns)
			setenv("COLUMNS", r->columns, 1);
		else
			unsetenv("COLUMNS");
		T_ROW(r->name, cli_columns() == r->all);
		T_ROW(r->name, cli_output_columns() == r->page);
		T_ROW(r->name, cli_name_column(20, 2) == r->name_column);
	}
	setenv("COLUMNS", "80", 1); /* as for all tests */
	dup2(was, STDOUT_FILENO);
	close(was);
	close(ends[0]);
	close(ends[1]);
}

static void print_labelled(FILE *f, const void *arg)
{
	cli_flabel(f, "Label", "%s", (const char *)arg);
}

T_TEST("so they do after a label")
{
	char line[100] = "\302\265\302\265", *text;

	/* 69 columns are left, which these fill up to the x. */
	memset(line + 4, '-', 65);
	strcpy(line + 69, " x y");
	text = printed(print_labelled, line);
	T_CHECK(!strcmp(text + strcspn(text, "\n"), "\n           y\n"));
	free(text);
	text = printed(print_labelled, "");
	T_CHECK(!*text);
	free(text);
}

static void print_bar(FILE *f, const void *arg)
{
	cli_print_bar(f, *(const double *)arg, 10);
}

static const struct {
	double share;
	const char *want;
} bars[] = {
	{ 0, "          " },	 { 1, "##########" },	 { 0.5, "#####     " },
	{ 0.001, "#         " }, { 0.25, "###       " },
};

T_TEST("bars show what is there")
{
	T_EACH(r, bars) {
		char *text = printed(print_bar, &r->share);

		T_ROW(r->want, !strcmp(text, r->want));
		free(text);
	}
}

T_TEST("a full list of findings stays as it is")
{
	static struct cli_finding found[CLI_CHECK_MAX];
	struct cli_check c = { .found = found };

	for (int i = 0; i < CLI_CHECK_MAX; i++)
		cli_check_add(&c, CLI_WARNING, "store", "%d", i);
	cli_check_remedy(&c, "the last one's");
	cli_check_add(&c, CLI_PROBLEM, "plugin", "of none");
	cli_check_remedy(&c, "of none");
	T_CHECK(c.n == CLI_CHECK_MAX);
	T_CHECK(!strcmp(found[CLI_CHECK_MAX - 1].remedy, "the last one's"));
}

static const struct {
	const char *name, *text, *want;
} pages[] = {
	{ "text", "lammps-melt_2.0+x", "lammps-melt_2.0+x" },
	{ "markup", "<script>alert(1)</script>",
	  "&lt;script&gt;alert(1)&lt;/script&gt;" },
	{ "the end of an attribute", "\" onload='x()'",
	  "&quot; onload=&#39;x()&#39;" },
	{ "an entity", "&lt;b&gt;", "&amp;lt;b&amp;gt;" },
	{ "what turns the writing", "a\342\200\256b", "a?b" },
	{ "a control", "a\033[2Jb\nc", "a?[2Jb?c" },
	{ "no UTF-8", "a\377b", "a?b" },
	{ "letters of others", "\303\244\342\202\254", "\303\244\342\202\254" },
	{ "nothing", "", "" },
};

T_TEST("names in pages of HTML are only text")
{
	T_EACH(r, pages) {
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		cli_print_html(f, r->text);
		fclose(f);
		T_ROW(r->name, !strcmp(text, r->want));
		free(text);
	}
}
