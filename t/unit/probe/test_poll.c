#include "t.h"
#include "np_engine.h"

static const struct {
	const char *name;
	double caught_sec, want_sec; /* caught 0: none */
} rows[] = {
	{ "nothing caught", 0, 20e-6 },
	{ "a fast network", 2e-6, 20e-6 },
	{ "in between", 40e-6, 60e-6 },
	{ "caught by luck", 90e-6, 100e-6 },
};

T_TEST("polls last a little longer than what they caught")
{
	T_EACH(r, rows) {
		struct np_poll p = { 0 };

		if (r->caught_sec)
			np_poll_caught(&p, r->caught_sec);
		T_ROW(r->name, t_close(np_poll_sec(&p), r->want_sec, 1e-9));
	}
}

T_TEST("the fastest answer counts")
{
	struct np_poll p = { 0 };

	np_poll_caught(&p, 50e-6);
	np_poll_caught(&p, 30e-6);
	np_poll_caught(&p, 60e-6);
	T_CHECK(t_close(np_poll_sec(&p), 45e-6, 1e-9));
}

/* Where polls catch nothing they stay short, but for the tries. */
T_TEST("every 16th poll is a long one")
{
	struct np_poll p = { 0 };
	int most = 0;

	for (int i = 0; i < 1600; i++) {
		double sec = np_poll_try_sec(&p);

		T_CHECK(sec == NP_POLL_LEAST_SEC || sec == NP_POLL_MOST_SEC);
		most += sec == NP_POLL_MOST_SEC;
		T_CHECK(i || sec == NP_POLL_MOST_SEC);
	}
	T_CHECK(most >= 100 && most <= 104);
}
