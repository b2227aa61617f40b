/* Tables of predictions that somebody made outside of netprof. */
#include "t.h"
#include "cli_predictions.h"

T_TEST("a table of predictions is read")
{
	static const char text[] = "# victim co-runner percent\n"
				   "halo fft +12.5 8 20%\n\nfft\thalo -3%\n";
	struct cli_predictions p;
	const struct cli_predicted *r;

	T_CHECK(!cli_predictions_parse(text, strlen(text), "t", &p, NULL));
	T_CHECK(p.n == 2);
	r = cli_predictions_find(&p, "halo", "fft");
	T_CHECK(r && r->slowdown == 0.125 && r->low == 0.08 && r->high == 0.2);
	r = cli_predictions_find(&p, "fft", "halo");
	T_CHECK(r && r->slowdown == -0.03 && isnan(r->low) && isnan(r->high));
	T_CHECK(!cli_predictions_find(&p, "halo", "halo"));
	cli_predictions_free(&p);
}

static const struct {
	const char *name, *text, *why;
} refused[] = {
	{ "nothing", "# only this\n", "t:1: expected a line" },
	{ "too few words", "halo fft\n", "t:1: 2 words" },
	{ "a single word", "halo\n", "t:1: 1 word, expected" },
	{ "JSON", "{\"a\": 1}\n", "t:1: expected lines of words, got JSON" },
	{ "hexadecimal", "halo fft 0x10\n", "t:1: \"0x10\"" },
	{ "half of an interval", "halo fft 1 0\n", "t:1: 4 words" },
	{ "no number", "halo fft much\n",
	  "t:1: \"much\": expected a percentage" },
	{ "not a number", "halo fft nan\n", "t:1: \"nan\"" },
	{ "infinity", "halo fft inf\n", "t:1: \"inf\"" },
	{ "beyond all numbers", "halo fft 1e400\n", "t:1: \"1e400\"" },
	{ "two signs", "halo fft +-5\n", "t:1: \"+-5\"" },
	{ "less than no time", "halo fft -100\n", "t:1: \"-100\"" },
	{ "more behind the number", "halo fft 3x\n", "t:1: \"3x\"" },
	{ "ends of an interval turned", "a b 3 4 2\n", "t:1: an interval" },
	{ "a pair twice", "a b 3\nb a 3\na b 4\n", "t:3: a with b" },
	{ "a long name",
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b 3\n",
	  "t:1: \"aaa" },
};

T_TEST("mistakes in it are refused with their line")
{
	T_EACH(r, refused) {
		struct cli_predictions p = { .n = 0 };
		struct np_err err = NP_ERR_INIT;
		int rc = cli_predictions_parse(r->text, strlen(r->text), "t",
					       &p, &err);

		T_ROW(r->name, rc == -EINVAL && !p.row);
		T_ROW(r->name, !strncmp(err.text, r->why, strlen(r->why)));
	}
}
