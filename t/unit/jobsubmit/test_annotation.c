#include "t.h"
#include "np_annotation.h"

#define HUGE_LIST ((1 << 20) + 1)

/* clang-format off */
static const struct {
	const char *name, *comment;
	int rc;
	struct np_annotation want;
} reads[] = {
	{ "no comment", NULL, -ENOENT, { "" } },
	{ "a comment without a note", "asked by phone", -ENOENT, { "" } },
	{ "an empty note", "netprof{}", 0, { "" } },
	{ "an application", "netprof{app=melt}", 0, { "melt" } },
	{ "every member",
	  "netprof{app=melt user=n7 ours=n[0-3] until=1795 begin=90 held=12}",
	  0, { "melt", "n7", "n[0-3]", 1795, 90, 12, true } },
	{ "held, though not at all, is decided", "netprof{held=0}", 0,
	  { "", NULL, NULL, 0, 0, 0, true } },
	{ "between other text", "a b netprof{app=x} c }", 0, { "x" } },
	{ "several spaces", "netprof{  app=x  held=1 }", 0,
	  { "x", NULL, NULL, 0, 0, 1, true } },
	{ "words of a later release", "netprof{new=1 app=x two=a=b}", 0,
	  { "x" } },
	{ "no end", "netprof{app=x", -EINVAL, { "" } },
	{ "no end, and braces of others", "netprof{app=x {y}", -EINVAL,
	  { "" } },
	{ "braces in a word", "netprof{a={}}", -EINVAL, { "" } },
	{ "a brace at once", "netprof{{}", -EINVAL, { "" } },
	{ "cut, and behind it what somebody else wrote",
	  "netprof{app=a x={\"y\":{\"z\":1}}", -EINVAL, { "" } },
	{ "another line", "netprof{app=x\ny}", -EINVAL, { "" } },
	{ "a word without a value", "netprof{app=x melt}", -EINVAL, { "" } },
	{ "a bad application", "netprof{app=../x}", -EINVAL, { "" } },
	{ "an application without name", "netprof{app=}", -EINVAL, { "" } },
	{ "a list without nodes", "netprof{user=}", -EINVAL, { "" } },
	{ "two lists", "netprof{user=n1 user=n2}", -EINVAL, { "" } },
	{ "a date that is none", "netprof{until=soon}", -EINVAL, { "" } },
	{ "a date before time", "netprof{until=-1}", -EINVAL, { "" } },
	{ "a date after time", "netprof{begin=1e300}", -EINVAL, { "" } },
	{ "not a number", "netprof{held=nan}", -EINVAL, { "" } },
	{ "a number without digits", "netprof{held=}", -EINVAL, { "" } },
	{ "a number without end",
	  "netprof{held=1111111111111111111111111111111111}", -EINVAL,
	  { "" } },
};
/* clang-format on */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct np_annotation *a, const struct np_annotation *b)
{
	return !strcmp(a->app, b->app) && same_text(a->user, b->user) &&
	       same_text(a->ours, b->ours) && a->until_sec == b->until_sec &&
	       a->begin_sec == b->begin_sec && a->held_sec == b->held_sec &&
	       a->decided == b->decided;
}

T_TEST("what a comment says, and nothing of a damaged note")
{
	T_EACH(r, reads) {
		struct np_annotation n = { .app = "before" };
		int rc = np_annotation_read(r->comment, &n);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, same(&n, &r->want));
		T_ROW(r->name,
		      np_annotation_exists(r->comment) == (rc != -ENOENT));
		np_annotation_clear(&n);
	}
}

T_TEST("a list that no cluster has")
{
	char *text = malloc(HUGE_LIST + 32);
	struct np_annotation n;

	memset(text, 'n', HUGE_LIST + 31);
	memcpy(text, "netprof{ours=", 13);
	text[13 + HUGE_LIST] = '}';
	text[14 + HUGE_LIST] = '\0';
	T_CHECK(np_annotation_read(text, &n) == -EINVAL);
	text[12 + HUGE_LIST] = '}'; /* one less */
	T_CHECK(np_annotation_read(text, &n) == 0);
	T_CHECK(n.ours && strlen(n.ours) == HUGE_LIST - 1);
	np_annotation_clear(&n);
	free(text);
}

/* clang-format off */
static const struct {
	const char *name, *comment;
	bool with;
	struct np_annotation annotation;
	const char *want;
} writes[] = {
	{ "into nothing", NULL, true, { "x" }, "netprof{app=x}" },
	{ "behind what others wrote", "asked by phone", true, { "x" },
	  "asked by phone netprof{app=x}" },
	{ "in place of the last one", "a  netprof{app=y} b ", true, { "x" },
	  "a  netprof{app=x} b " },
	{ "in place of one that is damaged", "a netprof{what?} b", true,
	  { "x" }, "a netprof{app=x} b" },
	{ "in place of one that was cut", "a netprof{app=y ours=n[0-", true,
	  { "x" }, "a netprof{app=x}" },
	{ "what was hidden behind a damaged one is no note",
	  "netprof{app=a x={\"y\" netprof{app=b user=n9} c", true, { "x" },
	  "netprof{app=x} x={\"y\"  c" },
	{ "nor what comes about as one between goes",
	  "netprof{app=a} netprnetprof{app=b}of{app=c user=n9} d", true,
	  { "x" }, "netprof{app=x}  d" },
	{ "what follows a cut one stays", "netprof{app=y see {ticket}", true,
	  { "x" }, "netprof{app=x} see {ticket}" },
	{ "every member", "", true,
	  { "melt", "n7", "n[0-3]", 1795, 90, 12, true },
	  "netprof{app=melt user=n7 ours=n[0-3] until=1795 begin=90 held=12}" },
	{ "a user's list with spaces", "", true,
	  { .user = "n1, n2\tn3" }, "netprof{user=n1,,n2,n3}" },
	{ "a user's list with spaces in brackets", "", true,
	  { .user = "n[0-3, 7] n[ +8-11]" },
	  "netprof{user=n[0-3,07],n[008-11]}" },
	{ "rounded", "", true, { .held_sec = 29.6, .decided = true },
	  "netprof{held=30}" },
	{ "without: alone", "netprof{app=x}", false, { "" }, "" },
	{ "without: others' text as it was", "a  b netprof{app=x} c ", false,
	  { "" }, "a  b c " },
	{ "without: at the beginning", "netprof{app=x} c", false, { "" },
	  "c" },
	{ "without: at the end", "c netprof{app=x}", false, { "" }, "c" },
	{ "without: several", "a netprof{app=x} netprof{app=y b=netprof{} c",
	  false, { "" }, "a  b= c" },
	{ "removing one must not create another",
	  "netprnetprof{app=b}of{app=c user=n9}d", false, { "" }, "d" },
	{ "without: a comment that never had one", " c  ", false, { "" },
	  " c  " },
	{ "without: no comment", NULL, false, { "" }, "" },
};
/* clang-format on */

T_TEST("the text of others stays to the letter")
{
	T_EACH(r, writes) {
		const struct np_annotation *n = r->with ? &r->annotation : NULL;
		char *got = np_annotation_write(r->comment, n);
		char *again = np_annotation_write(got, n);

		T_ROW(r->name, got && !strcmp(got, r->want));
		T_ROW(r->name, got && again && !strcmp(got, again));
		free(got);
		free(again);
	}
}

T_TEST("what was written is read again")
{
	struct np_annotation n = {
		"melt", (char *)"n7", (char *)"n[0-3],x[1-2]", 1795, 90,
		12,	true,
	};
	char *text = np_annotation_write("before", &n);
	struct np_annotation got;

	T_CHECK(np_annotation_read(text, &got) == 0);
	T_CHECK(same(&got, &n));
	np_annotation_clear(&got);
	free(text);
}
