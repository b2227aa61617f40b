/* Files of pairs that are being measured. */
#include "t.h"
#include "np_measured.h"

static struct np_pairs_run run(enum np_pairs_kind kind, const char *victim,
			       const char *corunner, double sec)
{
	return (struct np_pairs_run){
		.kind = kind,
		.victim = strdup(victim),
		.corunner = corunner ? strdup(corunner) : NULL,
		.repeat = 3,
		.start = 1.7e9,
		.sec = sec,
	};
}

static void add(struct np_pairs *p, struct np_pairs_run r)
{
	T_CHECK(!np_pairs_add(p, &r));
}

/* Of halo and fft, with three runs and two results. */
static void fill(struct np_pairs *p)
{
	*p = (struct np_pairs){
		.name = strdup("mine"),
		.setup = strdup("halo; fft"),
		.date = 1.7e9,
		.n_programs = 2,
		.place = { .leaf = strdup("leaf0"),
			   .victim_nodes = strdup("n0,n1") },
		.program = calloc(2, sizeof(*p->program)),
		.together = calloc(4, sizeof(*p->together)),
	};
	strcpy(p->program[0].name, "halo");
	p->program[0].command = strdup("halo -n 4");
	p->program[0].nodes = 2;
	p->program[0].tasks_per_node = 1;
	strcpy(p->program[1].name, "fft");
	p->together[1] = (struct np_mean){ .n = 2, .mean = 0.25, .sd = 0.01 };
	add(p, run(NP_PAIRS_ALONE, "halo", NULL, 10));
	add(p, run(NP_PAIRS_LEAF, "halo", "fft", 12.5));
	add(p, run(NP_PAIRS_APART, "halo", "fft", 10.1));
}

T_TEST("what is written is read")
{
	struct np_pairs p, q;
	char *text;

	fill(&p);
	T_CHECK(!np_pairs_format(&p, &text, NULL));
	T_CHECK(!np_pairs_parse(text, strlen(text), "t", &q, NULL));
	T_CHECK(q.n_programs == 2 && q.n_runs == 3 && q.date == 1.7e9);
	T_CHECK(!strcmp(q.setup, "halo; fft") &&
		!strcmp(q.program[0].command, "halo -n 4") &&
		q.program[0].nodes == 2);
	T_CHECK(!strcmp(q.place.leaf, "leaf0") && !q.place.apart_nodes);
	T_CHECK(q.run[0].kind == NP_PAIRS_ALONE && !q.run[0].corunner);
	T_CHECK(q.run[1].sec == 12.5 && q.run[1].repeat == 3 &&
		!strcmp(q.run[1].corunner, "fft"));
	np_pairs_free(&q);
	np_pairs_free(&p);
	free(text);
}

T_TEST("descriptions of many programs with long commands are kept")
{
	struct np_pairs p, q;
	char *text, *setup = calloc(1, 100001);

	fill(&p);
	memset(setup, 'x', 100000);
	free(p.setup);
	p.setup = setup;
	T_CHECK(!np_pairs_format(&p, &text, NULL));
	T_CHECK(!np_pairs_parse(text, strlen(text), "t", &q, NULL));
	T_CHECK(!strcmp(q.setup, setup));
	np_pairs_free(&q);
	np_pairs_free(&p);
	free(text);
}

T_TEST("runs are added to those of a file")
{
	struct np_pairs p, q;
	char *text;

	fill(&p);
	for (int round = 0; round < 3; round++) {
		T_CHECK(!np_pairs_format(&p, &text, NULL));
		T_CHECK(!np_pairs_parse(text, strlen(text), "t", &q, NULL));
		np_pairs_free(&p);
		free(text);
		p = q;
		for (int i = 0; i < 40; i++)
			add(&p, run(NP_PAIRS_ALONE, "fft", NULL, i));
	}
	T_CHECK(p.n_runs == 123 && p.run[122].sec == 39 &&
		!strcmp(p.run[0].victim, "halo"));
	np_pairs_free(&p);
}

T_TEST("netprof accuracy reads the results")
{
	struct np_measured m;
	struct np_pairs p;
	char *text;

	fill(&p);
	T_CHECK(!np_pairs_format(&p, &text, NULL));
	T_CHECK(!np_measured_parse(text, strlen(text), "t", &m, NULL));
	T_CHECK(m.n_sets == 1 && m.set[0].n_rows == 1 &&
		m.set[0].row[0].victim == 0 && m.set[0].row[0].co[0] == 1 &&
		m.set[0].row[0].slowdown.mean == 0.25);
	np_measured_free(&m);
	np_pairs_free(&p);
	free(text);
}

T_TEST("what the models go by is written")
{
	const struct np_fabric_level level[] = { { "c1" }, { "c5" } };
	const struct np_mean together[4] = { { 1, 0.1, NAN },
					     { 1, 0.2, NAN },
					     { 1, 0.3, NAN },
					     { 1, 0.4, NAN } };
	const struct np_mean curve[2] = { { 2, 0.5, 0.1 }, { 2, 0.6, 0.1 } };
	const struct np_mean slowdown[2] = { { 2, 0.7, 0.1 }, { 2, 0.8, 0.1 } };
	const struct np_fabric fabric = {
		.name = "f",
		.level = level,
		.n_levels = 2,
		.pairs = together,
	};
	const struct np_program halo = { .name = "halo",
					 .curve = curve,
					 .impact = slowdown };
	const struct np_program *app[] = { &halo, NULL };
	struct np_measured m;
	struct np_pairs p;
	char *text;

	fill(&p);
	p.fabric = &fabric;
	p.app = app;
	T_CHECK(!np_pairs_format(&p, &text, NULL));
	T_CHECK(!np_measured_parse(text, strlen(text), "t", &m, NULL));
	T_CHECK(m.set[0].fabric.n_levels == 2 &&
		m.set[0].fabric.pairs[1].mean == 0.2);
	T_CHECK(m.set[0].app[0].curve[1].mean == 0.6 &&
		m.set[0].app[0].impact[0].mean == 0.7);
	T_CHECK(!m.set[0].app[1].curve[0].n);
	np_measured_free(&m);
	np_pairs_free(&p);

	/* Without a calibration, what the file had is written again. */
	T_CHECK(!np_pairs_parse(text, strlen(text), "t", &p, NULL));
	free(text);
	p.together = calloc(4, sizeof(*p.together));
	T_CHECK(!np_pairs_format(&p, &text, NULL));
	T_CHECK(!np_measured_parse(text, strlen(text), "t", &m, NULL));
	T_CHECK(m.set[0].fabric.n_levels == 2 &&
		m.set[0].fabric.pairs[1].mean == 0.2 &&
		m.set[0].app[0].curve[1].mean == 0.6);
	np_measured_free(&m);
	np_pairs_free(&p);
	free(text);
}

#define HEAD "{\"format\": \"netprof-pairs\", \"schema\": 1, "
#define RUN HEAD "\"programs\": [\"a\"], \"runs\": [{\"start\": 1, \"sec\": 1, "

static const struct {
	const char *name, *text;
	int rc;
} refused[] = {
	{ "no JSON", "pairs", -EINVAL },
	{ "another format", "{\"format\": \"x\", \"schema\": 1}", -EINVAL },
	{ "a newer schema", "{\"format\": \"netprof-pairs\", \"schema\": 2}",
	  -EPROTONOSUPPORT },
	{ "no programs", HEAD "\"runs\": []}", -EINVAL },
	{ "a run of an unknown program",
	  RUN "\"kind\": \"alone\", \"victim\": \"b\"}]}", -EINVAL },
	{ "a pair without a co-runner",
	  RUN "\"kind\": \"leaf\", \"victim\": \"a\"}]}", -EINVAL },
	{ "an unknown co-runner",
	  RUN "\"kind\": \"leaf\", \"victim\": "
	      "\"a\", \"corunner\": \"b\"}]}",
	  -EINVAL },
	{ "a run alone that has a co-runner",
	  RUN "\"kind\": \"alone\", \"victim\": \"a\", "
	      "\"corunner\": \"a\"}]}",
	  -EINVAL },
	{ "an unknown kind", RUN "\"kind\": \"x\", \"victim\": \"a\"}]}",
	  -EINVAL },
	{ "a negative run time",
	  HEAD
	  "\"programs\": [\"a\"], \"runs\": [{"
	  "\"kind\": \"alone\", \"victim\": \"a\", \"start\": 1, \"sec\": -1"
	  "}]}",
	  -EINVAL },
};

T_TEST("damaged files are refused")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_pairs p = { .n_runs = 0 };

		T_ROW(r->name, np_pairs_parse(r->text, strlen(r->text), "t", &p,
					      &err) == r->rc);
		T_ROW(r->name, !strncmp(err.text, "t:", 2));
	}
}
