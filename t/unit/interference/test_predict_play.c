/* Answers of those who play traces. */
#include "some_answer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* --- programs played together --- */

/* Each that plays is a number; the first is slowed by those of the others. */
static struct np_play_ask played;

static int play(const struct np_player *self, const struct np_play_ask *ask,
		double *slowdown, struct np_err *err)
{
	(void)self, (void)err;
	played = *ask;
	*slowdown = 0;
	for (size_t i = 1; i < ask->n; i++)
		*slowdown += *(const double *)ask->play[i];
	return 0;
}

static int ask_player(size_t n_co, enum np_scope scope,
		      const struct np_player *player,
		      struct np_prediction *out, struct np_err *err)
{
	const struct np_predict_opt opt = { 50, 1, false, player };
	const struct np_program *co[] = { &s.a[1], &s.a[2], &s.a[1] };
	struct np_predictor *p;
	int rc = np_predictor_new(&s.f, np_model_find("replay", NULL), &opt,
				  &p, err);

	if (rc)
		return rc;
	rc = np_predict(p, &s.a[0], co, n_co, scope, out, err);
	np_predictor_free(p);
	return rc;
}

static void give_traces(void)
{
	static const double slows[SF_PROGRAMS] = { 0.1, 0.2, 0.4, 0.8 };

	some_fabric(&s);
	for (size_t i = 0; i < SF_PROGRAMS; i++)
		s.a[i].play = &slows[i];
}

static void test_replay_asks_the_player(void)
{
	const struct np_player player = { play };
	struct np_prediction p;
	double full;

	give_traces();
	full = 1 + s.beside[SF_LEVELS * SF_LEVELS - 1].mean;
	T_CHECK(!ask_player(3, NP_SCOPE_LEAF, &player, &p, NULL));
	T_CHECK(t_close(p.slowdown, 0.8, 1e-12) && isnan(p.low) &&
		p.flags == NP_PRED_NO_INTERVAL);
	T_CHECK(played.n == 4 && !played.same_nodes &&
		t_close(played.share, 1 / full, 1e-12));
	/* Of a leaf that is felt by half, the network carries more. */
	s.f.coupling[NP_SCOPE_LEAF] = (struct np_mean){ 1, 0.5, NAN };
	T_CHECK(!ask_player(1, NP_SCOPE_LEAF, &player, &p, NULL) &&
		t_close(played.share, 0.5 + 0.5 / full, 1e-12));
	T_CHECK(!ask_player(1, NP_SCOPE_NODE, &player, &p, NULL) &&
		played.same_nodes && isinf(played.share));
}

static void no_play(void) { s.a[1].play = NULL; }
static void no_self(void)
{
	s.beside[SF_LEVELS * SF_LEVELS - 1] = some_mean(NAN);
}

static const struct {
	const char *name;
	void (*spoil)(void);
	enum np_scope scope;
	const char *says;
} not_played[] = {
	{ "no trace of a co-runner", no_play, NP_SCOPE_LEAF, "p1: no trace" },
	{ "how much the network carries is not known", no_self, NP_SCOPE_LEAF,
	  "lab: the level that sends most was not measured beside itself" },
	{ "an uplink", nothing, NP_SCOPE_UPLINK,
	  "lab: what an uplink carries is not known" },
};

static void test_replay_says_what_is_missing(void)
{
	const struct np_player player = { play };

	for (size_t i = 0; i < NP_ARRAY_SIZE(not_played); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_prediction p;

		give_traces();
		not_played[i].spoil();
		T_ROW(not_played[i].name,
		      ask_player(1, not_played[i].scope, &player, &p, &err) ==
		      -ENODATA && !strcmp(err.text, not_played[i].says));
	}
	give_traces();
	T_CHECK(ask_player(1, NP_SCOPE_LEAF, NULL, &(struct np_prediction){ 0 },
			   NULL) == -ENODATA);
}

static void test_replay_fills_a_matrix(void)
{
	const struct np_player player = { play };
	const struct np_predict_opt opt = { 0, 0, true, &player };
	const struct np_program *app[] = { &s.a[0], &s.a[1] };
	struct np_prediction all[4];
	struct np_predictor *p;
	int rc[4];

	give_traces();
	s.a[0].play = NULL;
	T_CHECK(!np_predictor_new(&s.f, np_model_find("replay", NULL), &opt,
				  &p, NULL));
	T_CHECK(!np_predict_matrix(p, app, 2, NP_SCOPE_LEAF, all, rc, NULL));
	T_CHECK(rc[0] == -ENODATA && rc[1] == -ENODATA && rc[2] == -ENODATA &&
		!rc[3] && isnan(all[1].slowdown) && all[3].slowdown == 0.2);
	np_predictor_free(p);
}

static const struct t_case cases[] = {
	{ "replay is what a player of traces says", test_replay_asks_the_player },
	{ "replay says what is missing", test_replay_says_what_is_missing },
	{ "replay has holes where traces are missing",
	  test_replay_fills_a_matrix },
	{ NULL, NULL },
};
T_SUITE(predict_play, cases)
