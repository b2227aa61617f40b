#include "t.h"
#include "np_sacct.h"

static const char *const columns[] = { "JobID", "NodeList", "JobName" };

/* A head and a row; "" stands for a column that is missing. */
static const struct {
	const char *name, *head, *row, *delimiter, *want, *unused;
	size_t n_fields;
} texts[] = {
	{ "a row", "JobID|NodeList|JobName", "1|n[0-1]|a", "|", "1/n[0-1]/a",
	  "", 3 },
	{ "columns in another order, and more of them",
	  "State|JobName|x|nodelist|JOBID", "CD|a||n0|7", "|", "7/n0/a",
	  "State, x", 5 },
	{ "a column that this release does not have", "JobID|NodeList", "1|n0",
	  "|", "1/n0/", "", 2 },
	{ "empty fields", "JobID|NodeList|JobName", "||", "|", "//", "", 3 },
	{ "a job's name with a delimiter shows as one field more",
	  "JobID|NodeList|JobName", "1|n0|a|b", "|", "1/n0/a", "", 4 },
	{ "a row that is cut off has fewer fields", "JobID|NodeList|JobName",
	  "1|n0", "|", "1/n0/", "", 2 },
	{ "a name cannot forge fields of a secret delimiter",
	  "JobID!x!NodeList!x!JobName", "1!x!n0!x!9|n9|evil", "!x!",
	  "1/n0/9|n9|evil", "", 3 },
	{ "a message in place of a table", "sacct: error: no", "x", "|", "//",
	  "sacct: error: no", 1 },
};

T_TEST("columns are found by name; damaged rows are recognised")
{
	T_EACH(r, texts) {
		char head[128], row[128], *value[3];
		struct np_sacct_head h;
		size_t n;

		strcpy(head, r->head);
		strcpy(row, r->row);
		np_sacct_read_head(head, r->delimiter, columns, 3, &h);
		n = np_sacct_read_row(row, r->delimiter, &h, value, 3);
		T_ROW(r->name,
		      !strcmp(t_text("%s/%s/%s", value[0], value[1], value[2]),
			      r->want));
		T_ROW(r->name, n == r->n_fields);
		T_ROW(r->name, !strcmp(h.unused, r->unused));
	}
}

T_TEST("columns that are named twice, and too many of them")
{
	char twice[] = "JobID|NodeList|JobID", many[2 * 300] = "";
	struct np_sacct_head h;

	np_sacct_read_head(twice, "|", columns, 3, &h);
	T_CHECK(h.twice == 0 && h.has[0] && h.has[1] && !h.has[2]);
	T_CHECK(h.n == 3 && !h.more);
	memset(many, '|', sizeof(many) - 1);
	np_sacct_read_head(many, "|", columns, 3, &h);
	T_CHECK(h.twice == NP_SACCT_NONE && !h.has[0]);
	T_CHECK(h.n == NP_SACCT_MAX_COLUMNS && h.more);
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
	{ "30 February", "2026-02-30T10:00:00", -EINVAL, 0 },
	{ "29 February of another year than a leap year",
	  "2026-02-29T10:00:00", -EINVAL, 0 },
	{ "31 November", "2026-11-31T10:00:00", -EINVAL, 0 },
};

static const struct {
	const char *name, *text;
	int rc;
	uint32_t n;
} counts[] = {
	{ "a number", "12", 0, 12 },
	{ "none", "0", 0, 0 },
	{ "4096 without --noconvert", "4K", 0, 4096 },
	{ "1536 without --noconvert", "1.50K", 0, 1536 },
	{ "2^20", "1M", 0, 1 << 20 },
	{ "the largest", "4294967295", 0, UINT32_MAX },
	{ "more than that", "4294967296", -EINVAL, 0 },
	{ "more than that, with a unit", "4G", -EINVAL, 0 },
	{ "nothing", "", -EINVAL, 0 },
	{ "a unit alone", "K", -EINVAL, 0 },
	{ "two units", "4KK", -EINVAL, 0 },
	{ "a negative number", "-1", -EINVAL, 0 },
	{ "hexadecimal", "0x10", -EINVAL, 0 },
	{ "an exponent", "1e3", -EINVAL, 0 },
	{ "no number", "nan", -EINVAL, 0 },
	{ "without an end", "inf", -EINVAL, 0 },
};

T_TEST("numbers as sacct prints them")
{
	T_EACH(r, counts) {
		uint32_t n = 0;

		T_ROW(r->name, np_sacct_count(r->text, &n) == r->rc);
		T_ROW(r->name, n == r->n);
	}
}

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

T_TEST("times as sacct prints them")
{
	double got, later;

	T_EACH(r, times) {
		int rc = np_sacct_duration(r->text, &got);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, rc || same(got, r->sec));
	}
	T_EACH(r, dates) {
		const char *end = np_sacct_date(r->text, false, &got);
		int rc = end && !*end ? 0 : -EINVAL;

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, rc || same(got, r->sec));
	}
	T_CHECK(!!np_sacct_date("2026-11-25T10:00:00", false, &got));
	T_CHECK(!!np_sacct_date("2026-11-25T10:01:05", false, &later));
	T_CHECK(later - got == 65);
	T_CHECK(!!np_sacct_date("2026-11-25T10:00:00", true, &got));
	T_CHECK(got == 1795600800);
	T_CHECK(!!np_sacct_date("2028-02-29T10:00:00", true, &got));
	T_CHECK(got == 1835431200);
}
