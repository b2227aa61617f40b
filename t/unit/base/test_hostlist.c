#include "t.h"
#include "np_hostlist.h"

static const struct {
	const char *name, *text;
	int rc;
	const char *want;
} lists[] = {
	{ "nothing", "", 0, "" },
	{ "one", "leaf0", 0, "leaf0" },
	{ "several", "a,b,c", 0, "a b c" },
	{ "a range", "leaf[0-2]", 0, "leaf0 leaf1 leaf2" },
	{ "ranges and numbers", "n[0-1,5,8-9]", 0, "n0 n1 n5 n8 n9" },
	{ "zeros are kept", "n[08-11]", 0, "n08 n09 n10 n11" },
	{ "two brackets", "r[0-1]s[2-3]", 0, "r0s2 r0s3 r1s2 r1s3" },
	{ "words after brackets", "n[0-1]-ib,x", 0, "n0-ib n1-ib x" },
	{ "no end of brackets", "n[0-1", -EINVAL, "" },
	{ "no beginning of brackets", "n0]", -EINVAL, "" },
	{ "an end before the beginning", "n[3-1]", -EINVAL, "" },
	{ "an empty word", "a,,b", -EINVAL, "" },
	{ "a comma at the end", "a,", -EINVAL, "" },
	{ "a comma and a blank at the end", "a, ", -EINVAL, "" },
	{ "blanks between names", " n[0-1], a\tb ", 0, "n0 n1 a b" },
	{ "nothing but blanks", "  ", -EINVAL, "" },
	{ "empty brackets", "n[]", -EINVAL, "" },
	{ "letters in brackets", "n[a-b]", -EINVAL, "" },
	{ "an open range", "n[1-]", 0, "n1" },
	{ "a blank, which counts as a digit", "n[0-1, 2-3]", 0,
	  "n0 n1 n02 n03" },
	{ "a blank at the beginning", "n[ 8-10]", 0, "n08 n09 n10" },
	{ "a blank before the last number", "n[0-\t1]", 0, "n0 n1" },
	{ "a blank behind a number", "n[0 ,1]", -EINVAL, "" },
	{ "a blank before a comma", "n[0-1 ,2]", -EINVAL, "" },
	{ "nothing but a blank", "n[0, ]", -EINVAL, "" },
	{ "a number below 0", "n[-1]", -EINVAL, "" },
	{ "an end below 0", "n[0--1]", -EINVAL, "" },
	{ "three numbers", "n[0-1-2]", -EINVAL, "" },
	{ "ten digits", "n[2024010009-2024010010]", 0,
	  "n2024010009 n2024010010" },
	{ "zeros without end", "n[00000000000000000000001]", 0,
	  "n00000000000000000000001" },
	{ "more than a number holds", "n[1-18446744073709551616]", -EINVAL,
	  "" },
	{ "the largest number", "n[18446744073709551615]", 0,
	  "n18446744073709551615" },
	{ "more digits than any cluster", "n[1-1234567890]", -E2BIG, "" },
	{ "more names than any cluster", "n[0-99999999]", -E2BIG, "" },
	{ "brackets that multiply", "n[0-999][0-999]", -E2BIG, "" },
	{ "brackets without end", "[1][1][1][1][1][1][1][1][1]", -EINVAL, "" },
};

T_TEST("names come out as Slurm would write them")
{
	T_EACH(r, lists) {
		struct np_err err = NP_ERR_INIT;
		char got[256] = "", **names = NULL;
		size_t n = 0;
		int rc = np_hostlist_expand(r->text, &names, &n, &err);

		for (size_t k = 0; k < n; k++) {
			strcat(got, k ? " " : "");
			strcat(got, names[k]);
		}
		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, !strcmp(got, r->want));
		T_ROW(r->name, !rc == !err.text[0]);
		np_names_free(names, n);
	}
}

static const struct {
	const char *name, *text;
	int rc;
	const char *want; /* up to four names */
} walks[] = {
	{ "nothing", "", 0, "" },
	{ "nothing but separators", " ,\t, \n", 0, "" },
	{ "one", "n1", 0, "n1 " },
	{ "commas and spaces", " n1, n2\tn3,,n4,", 0, "n1 n2 n3 n4 " },
	{ "brackets with commas", "n[0-1,3],x", 0, "n0 n1 n3 x " },
	{ "it says when it has enough", "n[0-65535]", -EINTR, "n0 n1 n2 n3 " },
	{ "a range that Slurm refuses", "n[0-65536]", -E2BIG, "" },
	{ "spaces in brackets", "n[0, 1],x", 0, "n0 n01 x " },
	{ "no end", "n1,n[2", -EINVAL, "n1 " },
};

static int take(void *arg, const char *name)
{
	char *got = arg;

	if (strlen(got) >= strlen("n1 n2 n3 n4 "))
		return -EINTR;
	strcat(strcat(got, name), " ");
	return 0;
}

T_TEST("lists as users write them")
{
	T_EACH(r, walks) {
		const char *at = r->text;
		char got[64] = "";
		int rc = 0;

		for (size_t len; !rc && (len = np_hostlist_word(&at));
		     at += len)
			rc = np_hostlist_walk(at, len, take, got);
		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, !strcmp(got, r->want));
		rc = np_hostlist_each(r->text, NULL, NULL);
		T_ROW(r->name, rc == (r->rc == -EINTR ? 0 : r->rc));
	}
}

static const struct {
	const char *name, *a, *b;
	size_t room, n;
	const char *want;
} pairs[] = {
	{ "none", "leaf[0-1]", "leaf[2-3]", 80, 0, "" },
	{ "one", "leaf[0-2]", "leaf[2-3]", 80, 1, "leaf2" },
	{ "in order", "leaf[0-3]", "leaf3,leaf1", 80, 2, "leaf1,leaf3" },
	{ "blanks in a quoted list of topology.conf", "n[0-1], n[2-3] n5",
	  "n3,n5", 80, 2, "n3,n5" },
	{ "10 is not 1", "leaf10", "leaf1", 80, 0, "" },
	{ "anywhere is nowhere in particular", "", "leaf1", 80, 0, "" },
	{ "a list that is none", "leaf[", "leaf0", 80, 0, "" },
	{ "too many for the room", "leaf[0-9]", "leaf[0-9]", 40, 10,
	  "leaf0,leaf1 and 8 more" },
	{ "no room for a single one", "leaf[0-9]", "leaf[0-9]", 26, 10,
	  "10 more" },
};

T_TEST("what two lists share")
{
	T_EACH(r, pairs) {
		char buf[80];
		size_t n = np_hostlist_shared(r->a, r->b, buf, r->room);

		T_ROW(r->name, n == r->n);
		T_ROW(r->name, !strcmp(buf, r->want));
	}
}
