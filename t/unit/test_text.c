#include "t.h"
#include "np_text.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *in;
	size_t max;
	const char *want;
} rows[] = {
	{ "plain text",             "lmp -in x",        99, "lmp -in x" },
	{ "UTF-8",                  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 99,
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "escape sequences",       "a\x1b[2Jb\n",      99, "a?[2Jb?" },
	{ "delete",                 "a\x7f",            99, "a?" },
	{ "C1 controls",            "a\xc2\x9b" "2J",   99, "a?2J" },
	{ "no-break space is fine", "a\xc2\xa0" "b",    99, "a\xc2\xa0" "b" },
	{ "Latin-1",                "caf\xe9",          99, "caf?" },
	{ "stray continuation",     "\x80x",            99, "?x" },
	{ "overlong",               "\xc0\xaf",         99, "??" },
	{ "surrogate",              "\xed\xa0\x80",     99, "???" },
	{ "beyond Unicode",         "\xf4\x90\x80\x80", 99, "????" },
	{ "cut short",              "x\xe2\x82",        99, "x??" },
	{ "cut between characters", "ab\xc3\xa9" "d",   3,  "ab" },
	{ "cut to nothing",         "abc",              0,  "" },
	{ "empty",                  "",                 9,  "" },
};

static void test_clean(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		char *got = np_text_clean(rows[i].in, rows[i].max);

		T_ROW(rows[i].name, got && !strcmp(got, rows[i].want));
		free(got);
	}
}

static const struct t_case cases[] = {
	{ "text from outside cannot play tricks on a terminal", test_clean },
	{ NULL, NULL },
};
T_SUITE(text, cases)
