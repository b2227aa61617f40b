#include "t.h"
#include "np_text.h"

/* clang-format off */
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
	{ "C1, the first and last", "\xc2\x80\xc2\x9f", 99, "??" },
	{ "right to left from here", "a\xe2\x80\xae" "b", 99, "a?b" },
	{ "all that turn the line",
	  "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac"
	  "\xe2\x80\xad\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", 99,
	  "???????????" },
	{ "ends of lines",          "\xe2\x80\xa8x\xe2\x80\xa9", 99, "?x?" },
	{ "of no width",            "a\xe2\x80\x8b" "b\xe2\x80\x8d" "c\xc2\xad",
	  99, "a?b?c?" },
	{ "byte order marks",       "\xef\xbb\xbfx\xef\xbb\xbf", 99, "?x?" },
	{ "tags",                   "\xf3\xa0\x81\xa1", 99, "?" },
	{ "no characters", "\xef\xbf\xbe\xef\xbf\xbf\xef\xb7\x90\xf0\x9f\xbf\xbe",
	  99, "????" },
	{ "what is next to these", "\xef\xbf\xbd\xf0\x9f\xbf\xbd", 99,
	  "\xef\xbf\xbd\xf0\x9f\xbf\xbd" },
	{ "their neighbours are fine",
	  "\xd8\x9b\xd8\x9d\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf"
	  "\xe2\x81\x9f\xe2\x81\xb0\xc2\xae\xef\xbc\x81", 99,
	  "\xd8\x9b\xd8\x9d\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf"
	  "\xe2\x81\x9f\xe2\x81\xb0\xc2\xae\xef\xbc\x81" },
	{ "Arabic and Hebrew are fine", "\xd7\xa9\xd9\x84", 99, "\xd7\xa9\xd9\x84" },
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
/* clang-format on */

T_TEST("text from outside cannot play tricks on a terminal")
{
	T_EACH(r, rows) {
		char *got = np_text_plain_copy(r->in, r->max);

		T_ROW(r->name, got && !strcmp(got, r->want));
		free(got);
	}
}

T_TEST("the same in place")
{
	T_EACH(r, rows) {
		char text[128];

		if (strlen(r->in) > r->max)
			continue;
		strcpy(text, r->in);
		np_text_make_plain(text);
		T_ROW(r->name, !strcmp(text, r->want));
	}
}

/* As every line for people is made; what is cut apart is no character. */
T_TEST("nor can what an error quotes")
{
	struct np_err err = NP_ERR_INIT;
	char big[NP_ERR_LEN + 2];

	T_CHECK(np_errf(&err, -EINVAL, "%s: got %s",
			"x\xc2\x9b"
			"2J.json",
			"\xe2\x80\xae\n\xff\x7f") == -EINVAL);
	T_CHECK(!strcmp(err.text, "x?2J.json: got ????"));
	memset(big, 'a', sizeof(big));
	strcpy(big + NP_ERR_LEN - 2, "\xc3\xa9");
	np_errf(&err, -EINVAL, "%s", big);
	T_CHECK(strlen(err.text) == NP_ERR_LEN - 1 &&
		err.text[NP_ERR_LEN - 2] == '?');
}

T_TEST("a list has whole words")
{
	static const struct {
		const char *name, *list, *word;
		bool has;
	} words[] = {
		{ "the first", "rail0,rail1", "rail0", true },
		{ "the last", "rail0,rail1", "rail1", true },
		{ "the beginning of a word", "rail0,rail1", "rail", false },
		{ "longer than a word", "rail0,rail1", "rail01", false },
		{ "after an empty word", ",b", "b", true },
		{ "in an empty list", "", "a", false },
		{ "in no list", NULL, "a", false },
	};

	T_EACH(r, words)
		T_ROW(r->name,
		      np_list_has(r->list, r->word, strlen(r->word)) == r->has);
	T_CHECK(np_list_has("a,b", "b&c", 1));
}
