#include "t.h"
#include "np_loggps.h"

#include "np_rng.h"
#include "np_tolerance.h"
#include "some_goal.h"
#include "some_graph.h"

/* T = 2000 + L + 1000 G. */
static const char one_message[] =
	"num_ranks 2\n"
	"rank 0 {\na: calc 1000\nb: send 1000b to 1\nb requires a\n}\n"
	"rank 1 {\na: recv 1000b from 0\nb: calc 1000\nb requires a\n}\n";

static const struct np_loggps net = {
	.L_ns = 1000,
	.G_ns = 1,
	.S = NP_LOGGPS_NO_RENDEZVOUS,
};

static const struct {
	const char *name;
	double added_sec, gap_times;
} linear[] = {
	{ "the network as it is", 0, 1 },
	{ "less latency than any point", 1e-7, 1 },
	{ "a point", 1e-6, 1 },
	{ "between points", 3.3e-4, 1 },
	{ "more than the last point", 60, 1 },
	{ "a byte takes longer", 0, 1.2 },
	{ "both", 7e-5, 3 },
	{ "both beyond the table", 9, 50 },
};

T_TEST("a program with one path is known exactly")
{
	struct np_response r;
	struct np_graph *g;

	T_CHECK(!some_goal(one_message, strlen(one_message), &g, NULL));
	T_CHECK(!np_response_make(g, &net, &r, NULL));
	np_graph_free(g);
	T_EACH(row, linear)
		T_ROW(row->name, t_close(np_response_at(&r, row->added_sec,
							row->gap_times),
					 (3000 + 1e9 * row->added_sec +
					  1000 * row->gap_times) /
						 4000,
					 1e-9));
}

static double uniform(struct np_rng *rng)
{
	return (double)np_rng_below(rng, 1000000) / 1e6;
}

/* The result of the graph itself, in a network that is this much slower. */
static double exact(const struct np_graph *g, double added_sec,
		    double gap_times)
{
	struct np_tolerance_opt opt = { .net = net, .x = NP_LOGGPS_L };
	double x = net.L_ns + 1e9 * added_sec, ns = NAN;
	struct np_tolerance *t;

	opt.net.G_ns *= gap_times;
	if (np_tolerance_new(g, &opt, &t, NULL))
		return NAN;
	np_tolerance_times(t, &x, 1, &ns);
	np_tolerance_free(t);
	return ns;
}

T_TEST("other programs are never predicted faster than they are, and hardly "
       "slower")
{
	struct np_rng *rng = np_rng_new(7, "response");
	double worst = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct np_graph *g = some_graph(seed, 6, 200);
		struct np_response r;
		double alone = exact(g, 0, 1);

		T_CHECK(!np_response_make(g, &net, &r, NULL));
		for (int i = 0; i < 20; i++) {
			double a = pow(10, -8 + 8 * uniform(rng));
			double k = 1 + 9 * uniform(rng);
			double got = np_response_at(&r, a, k);
			double want = exact(g, a, k) / alone;

			T_CHECK(got >= want * (1 - 1e-9) || k > 8);
			worst = fmax(worst, fabs(got / want - 1));
		}
		np_graph_free(g);
	}
	np_rng_free(rng);
	T_CHECK(worst < 0.03);
}

T_TEST("a program without time, and an impossible network, are rejected")
{
	static const char nothing[] = "num_ranks 1\nrank 0 {\na: calc 0\n}\n";
	struct np_err err = NP_ERR_INIT;
	struct np_loggps wrong = net;
	struct np_response r;
	struct np_graph *g;

	T_CHECK(!some_goal(nothing, strlen(nothing), &g, NULL));
	T_CHECK(np_response_make(g, &net, &r, &err) == -EINVAL &&
		!strcmp(err.text, "the program takes no time"));
	wrong.G_ns = -1;
	T_CHECK(np_response_make(g, &wrong, &r, &err) == -EINVAL &&
		strstr(err.text, "G of -1"));
	np_graph_free(g);
}
