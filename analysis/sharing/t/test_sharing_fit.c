#include "t.h"
#include "published.h"

#include "np_rng.h"
#include "np_sharing_fit.h"

#define RANDOM_CASES 8

static double zero[T_COMMS];
static double one[T_COMMS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

static const struct t_published *find(const char *name)
{
	const struct t_published *p = t_published;

	while (strcmp(p->name, name))
		p++;
	return p;
}

static struct np_scheme scheme_of(struct np_comm *c, size_t n, size_t n_nodes,
				  double *took)
{
	return (struct np_scheme){
		.c = c,
		.n = n,
		.n_nodes = n_nodes,
		.start_sec = zero,
		.alone = one,
		.took_sec = took,
	};
}

static struct np_scheme case_of(const char *name, double *took)
{
	const struct t_published *p = find(name);

	return scheme_of((struct np_comm *)p->c, p->n, 16, took);
}

/*
 * The published method: penalties 1.5 and 2.25 of two and three from one node.
 */
T_TEST("beta as it was published")
{
	double two[2] = { 1.5, 1.5 }, three[3] = { 2.25, 2.25, 2.25 };
	const struct np_scheme s[2] = { case_of("out2", two),
					case_of("out3", three) };
	struct np_sharing_param p = NP_SHARING_DEFAULTS;
	struct np_sharing_fit f;

	p.beta = 0.9;
	T_CHECK(!np_sharing_fit(np_sharing_find("gige", NULL), s, 2, &p, &f,
				NULL));
	T_CHECK(t_close(p.beta, 0.75, 1e-7) && f.fitted[0] && f.n == 5);
	T_CHECK(!strcmp(f.name[0], "beta") && f.value[0] == p.beta);
	T_CHECK(f.mean_error < 1e-7 && t_close(f.mean_before, 0.2, 1e-9));
	/* the other parameters have no effect if all are alike */
	T_CHECK(f.n_param == 3 && !f.fitted[1] && !f.fitted[2]);
	T_CHECK(p.gamma_out == 0.115 && p.gamma_in == 0.036);
}

/* clang-format off */
static const struct {
	const char *model;
	struct np_sharing_param truth;
} known[] = {
	{ "gige", { .beta = 0.8, .gamma_out = 0.07, .gamma_in = 0.12,
		    .ib_in = .965, .ib_out = .925, .ib_many = 1.35,
		    .fabric = INFINITY } },
	{ "infiniband", { .beta = 0.75, .gamma_out = 0.115, .gamma_in = 0.036,
			  .ib_in = .9, .ib_out = .8, .ib_many = 1.6,
			  .fabric = INFINITY } },
};
/* clang-format on */

/* A fit to the times of a model recovers its parameters. */
T_TEST("parameters are recovered")
{
	static const char *const graph[] = { "out2", "in2", "out3", "in3",
					     "fig5" };

	T_EACH(r, known) {
		const struct np_sharing_model *m =
			np_sharing_find(r->model, NULL);
		struct np_sharing_param p = NP_SHARING_DEFAULTS;
		struct np_scheme s[NP_ARRAY_SIZE(graph)];
		double took[NP_ARRAY_SIZE(graph)][T_COMMS];
		struct np_sharing_fit f;

		for (size_t i = 0; i < NP_ARRAY_SIZE(graph); i++) {
			s[i] = case_of(graph[i], took[i]);
			np_sharing_dynamic(m, &r->truth, s[i].c, zero, one,
					   s[i].n, 16, took[i], NULL);
		}
		took[0][0] = NAN; /* not measured */
		T_ROW(r->model,
		      !np_sharing_fit(m, s, NP_ARRAY_SIZE(s), &p, &f, NULL));
		T_ROW(r->model, f.n == 15 && f.mean_error < 1e-6);
		for (size_t i = 0; i < 3; i++)
			T_ROW(f.name[i], f.fitted[i]);
		T_ROW(r->model,
		      t_close(p.beta, r->truth.beta, 1e-5) &&
			      t_close(p.gamma_out, r->truth.gamma_out, 1e-4) &&
			      t_close(p.gamma_in, r->truth.gamma_in, 1e-4));
		T_ROW(r->model,
		      t_close(p.ib_in, r->truth.ib_in, 1e-5) &&
			      t_close(p.ib_out, r->truth.ib_out, 1e-5) &&
			      t_close(p.ib_many, r->truth.ib_many, 1e-5));
	}
}

/*
 * Sixty sets of random schemes with times of the model, each with other
 * parameters: the search finds parameters that give exactly these times.
 */
T_TEST("exact times are met: 60 of 60")
{
	static const char *const models[] = { "gige", "infiniband" };
	size_t met = 0, runs = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		const struct np_sharing_model *m =
			np_sharing_find(models[seed % 2], NULL);
		struct np_rng *rng = np_rng_new(seed, "fit");
		struct np_sharing_param truth = NP_SHARING_DEFAULTS;
		struct np_sharing_param p = NP_SHARING_DEFAULTS;
		struct np_comm c[RANDOM_CASES][T_COMMS];
		double took[RANDOM_CASES][T_COMMS];
		struct np_scheme s[RANDOM_CASES];
		struct np_sharing_fit f = { .mean_error = 1 };

		for (size_t i = 0; i < np_sharing_n_members; i++) {
			const struct np_sharing_member *of =
				&np_sharing_members[i];

			if (*of->model)
				*np_sharing_value(&truth, of) *=
					0.7 +
					6e-3 * (double)np_rng_below(rng, 100);
		}
		for (size_t k = 0; k < RANDOM_CASES; k++) {
			size_t n = 3 + np_rng_below(rng, T_COMMS - 3);

			for (size_t i = 0; i < n; i++) {
				c[k][i].from = (uint32_t)np_rng_below(rng, 6);
				c[k][i].to = (c[k][i].from + 1 +
					      (uint32_t)np_rng_below(rng, 5)) %
					     6;
			}
			s[k] = scheme_of(c[k], n, 6, took[k]);
			np_sharing_dynamic(m, &truth, c[k], zero, one, n, 6,
					   took[k], NULL);
		}
		np_rng_free(rng);
		runs++;
		met += !np_sharing_fit(m, s, RANDOM_CASES, &p, &f, NULL) &&
		       f.mean_error < 1e-6;
	}
	T_CHECK(met == runs && runs == 60);
}

T_TEST("models without parameters have an error too")
{
	double took[2] = { 2, 2.5 };
	const struct np_scheme s = case_of("out2", took);
	struct np_sharing_param p = NP_SHARING_DEFAULTS;
	struct np_sharing_fit f;

	T_CHECK(!np_sharing_fit(np_sharing_find("maxmin", NULL), &s, 1, &p, &f,
				NULL));
	T_CHECK(!f.n_param && t_close(f.mean_error, 0.1, 1e-9));
}

T_TEST("impossible fits are rejected with a message")
{
	const struct np_sharing_model *m = np_sharing_find("gige", NULL);
	double never[2] = { NAN, NAN }, zero_took[2] = { 1, 0 };
	struct np_scheme s = case_of("out2", never);
	struct np_sharing_param p = NP_SHARING_DEFAULTS;
	struct np_err err = NP_ERR_INIT;
	struct np_sharing_fit f;

	T_CHECK(np_sharing_fit(m, &s, 1, &p, &f, &err) == -ENODATA);
	T_CHECK(strstr(err.text, "no measured time"));
	s = case_of("out2", zero_took);
	T_CHECK(np_sharing_fit(m, &s, 1, &p, &f, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "measured time 0 s, expected more than 0"));
	s.n_nodes = 1;
	s.took_sec = one;
	T_CHECK(np_sharing_fit(m, &s, 1, &p, &f, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "node 1: expected 0 to 0"));
	T_CHECK(p.beta == 0.75);
}
