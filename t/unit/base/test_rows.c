#include "t.h"
#include "np_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct np_rows_column columns[] = {
	{ "JobID", true }, { "NodeList", true }, { "JobName", false },
};

static const struct {
	const char *name, *text, *delimiter;
	int rc;
	const char *want;
	size_t damaged;
} texts[] = {
	{ "no text has no rows", "", "|", 0, "", 0 },
	{ "a head alone", "JobID|NodeList|JobName\n", "|", 0, "", 0 },
	{ "two rows", "JobID|NodeList|JobName\n1|n[0-1]|a\n2|n2|b\n", "|", 0,
	  "2:1/n[0-1]/a;3:2/n2/b;", 0 },
	{ "columns in another order, and more of them",
	  "State|JobName|x|nodelist|JOBID\nCD|a||n0|7\n", "|", 0,
	  "2:7/n0/a;", 0 },
	{ "a column that this release does not have", "JobID|NodeList\n1|n0\n",
	  "|", 0, "2:1/n0/-;", 0 },
	{ "lines that end as on Windows", "JobID|NodeList\r\n1|n0\r\n", "|", 0,
	  "2:1/n0/-;", 0 },
	{ "no end of the last line", "JobID|NodeList\n1|n0", "|", 0,
	  "2:1/n0/-;", 0 },
	{ "empty fields and lines", "JobID|NodeList|JobName\n\n||\n", "|", 0,
	  "3://;", 0 },
	{ "a job's name with a delimiter costs its row alone",
	  "JobID|NodeList|JobName\n1|n0|a|b\n2|n1|c\n", "|", 0, "3:2/n1/c;",
	  1 },
	{ "a row that is cut off", "JobID|NodeList|JobName\n1|n0\n", "|", 0,
	  "", 1 },
	{ "a name cannot forge rows behind a secret delimiter",
	  "JobID!x!NodeList!x!JobName\n1!x!n0!x!a\n9|n9|evil\n", "!x!", 0,
	  "2:1/n0/a;", 1 },
	{ "a needed column is missing", "JobID|JobName\n1|a\n", "|", -EINVAL,
	  "t:1: expected a line that names the columns, NodeList among them, "
	  "as sacct --parsable2 prints it", 0 },
	{ "a column twice", "JobID|NodeList|JobID\n1|n0|2\n", "|", -EINVAL,
	  "t:1: the column JobID is there twice", 0 },
	{ "a message in place of a table", "sacct: error: no\n", "|", -EINVAL,
	  "t:1: expected a line that names the columns, JobID among them, as "
	  "sacct --parsable2 prints it", 0 },
};

static int take(void *arg, char *const *value, size_t line,
		struct np_err *err)
{
	char *got = arg;

	(void)err;
	sprintf(got + strlen(got), "%zu:%s/%s/%s;", line, value[0], value[1],
		value[2] ? value[2] : "-");
	return 0;
}

static void test_read(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(texts); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_rows_count n;
		char text[256], got[256] = "";
		int rc;

		strcpy(text, texts[i].text);
		rc = np_rows_read(text, "t", texts[i].delimiter, columns,
				  NP_ARRAY_SIZE(columns), take, got, &n, &err);
		T_ROW(texts[i].name, rc == texts[i].rc);
		T_ROW(texts[i].name, !strcmp(rc ? err.text : got,
					     texts[i].want));
		T_ROW(texts[i].name, n.damaged == texts[i].damaged);
	}
}

static int refuse(void *arg, char *const *value, size_t line,
		  struct np_err *err)
{
	(void)arg;
	return np_errf(err, -ERANGE, "%zu %s", line, value[0]);
}

static void test_refuse(void)
{
	char text[] = "JobID|NodeList\n1|n0\n2|n1\n";
	struct np_err err = NP_ERR_INIT;
	struct np_rows_count n;

	T_CHECK(np_rows_read(text, "t", "|", columns, 3, refuse, NULL, &n,
			     &err) == -ERANGE);
	T_CHECK(!strcmp(err.text, "2 1") && n.taken == 0);
}

static const struct {
	const char *name, *text;
	int rc;
	double sec;
} times[] = {
	{ "hours, minutes and seconds", "02:03:04", 0, 7384 },
	{ "days", "1-02:03:04", 0, 93784 },
	{ "minutes and seconds with a fraction", "03:04.500", 0, 184.5 },
	{ "a number of minutes", "90", 0, 5400 },
	{ "days and hours", "2-12", 0, 216000 },
	{ "days, hours and minutes", "2-12:30", 0, 217800 },
	{ "no limit", "UNLIMITED", 0, INFINITY },
	{ "the limit of the partition", "Partition_Limit", 0, INFINITY },
	{ "not known", "", 0, NAN },
	{ "a word", "soon", -EINVAL, 0 },
	{ "a negative time", "-3", -EINVAL, 0 },
	{ "two days", "1-2-3", -EINVAL, 0 },
	{ "too many parts", "1:2:3:4", -EINVAL, 0 },
	{ "an exponent", "1e9", -EINVAL, 0 },
	{ "half of a time", "1:", -EINVAL, 0 },
	{ "a number beyond all dates", "99999999999999", -EINVAL, 0 },
}, dates[] = {
	{ "seconds since 1970", "1795600000", 0, 1795600000 },
	{ "not yet", "Unknown", 0, NAN },
	{ "none", "None", 0, NAN },
	{ "a date without a time", "2026-11-25", -EINVAL, 0 },
	{ "something behind it", "2026-11-25T10:00:00Z", -EINVAL, 0 },
	{ "a day that is none", "2026-13-25T10:00:00", -EINVAL, 0 },
};

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

static void test_times(void)
{
	double got, later;

	for (size_t i = 0; i < NP_ARRAY_SIZE(times); i++) {
		int rc = np_rows_duration(times[i].text, &got);

		T_ROW(times[i].name, rc == times[i].rc);
		T_ROW(times[i].name, rc || same(got, times[i].sec));
	}
	for (size_t i = 0; i < NP_ARRAY_SIZE(dates); i++) {
		int rc = np_rows_date(dates[i].text, &got);

		T_ROW(dates[i].name, rc == dates[i].rc);
		T_ROW(dates[i].name, rc || same(got, dates[i].sec));
	}
	T_CHECK(!np_rows_date("2026-11-25T10:00:00", &got));
	T_CHECK(!np_rows_date("2026-11-25T10:01:05", &later));
	T_CHECK(later - got == 65);
}

static const struct t_case cases[] = {
	{ "columns are found by name; damaged rows are counted", test_read },
	{ "who takes rows can refuse one", test_refuse },
	{ "times as sacct prints them", test_times },
	{ NULL, NULL },
};

T_SUITE(rows, cases)
