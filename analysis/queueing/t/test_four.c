/* The four components of a run. */
#include "t.h"
#include "np_four.h"

static int next(FILE *f, char name[64], struct np_run *run,
		struct np_link *link, struct np_four want[2])
{
	char line[256];
	int ok;

	do
		if (!fgets(line, sizeof(line), f))
			return 0;
	while (sscanf(line, "run %63s %lf %lf %lf %lf %lf %lf %lf", name,
		      &run->processes, &run->app_sec, &run->mpi_sec,
		      &run->messages, &run->mean_bytes, &link->bytes_per_sec,
		      &link->latency_sec) != 8);
	ok = 1;
	for (int v = 0; ok && v < 2; v++)
		ok = fscanf(f, " %*s %lf %lf %lf %lf %lf", &want[v].switch_sec,
			    &want[v].contention_sec, &want[v].active_sec,
			    &want[v].compute_sec, &want[v].wall_sec) == 5;
	T_ROW(name, ok);
	return ok;
}

static int close_to(double got, double want, double scale)
{
	return fabs(got - want) <= 1e-9 * scale;
}

T_TEST("reference components agree to 1e-9")
{
	FILE *f = fopen(t_data("four-components.txt"), "r");
	struct np_four got, want[2];
	struct np_link link;
	struct np_run run;
	char name[64];
	int n = 0;

	for (; f && next(f, name, &run, &link, want); n++)
		for (int v = 0; v < 2; v++) {
			T_ROW(name,
			      !np_four(&run, &link, (enum np_four_variant)v,
				       &got, NULL));
			T_ROW(name, close_to(got.switch_sec, want[v].switch_sec,
					     want[v].switch_sec));
			T_ROW(name,
			      close_to(got.contention_sec,
				       want[v].contention_sec,
				       fmax(want[v].contention_sec, 1e-3)));
			T_ROW(name, close_to(got.active_sec, want[v].active_sec,
					     want[v].active_sec));
			T_ROW(name,
			      close_to(got.compute_sec, want[v].compute_sec,
				       want[v].compute_sec));
			T_ROW(name, close_to(got.wall_sec, want[v].wall_sec,
					     want[v].wall_sec));
		}
	T_CHECK(n == 4);
	if (f)
		fclose(f);
}

static const struct np_run usual = { 64, 20, 6, 200000, 4000 };
static const struct np_link a_link = { 3e8, 5e-6 };

/* The reverse computation gives the original values. */
T_TEST("forward and backward computation agree")
{
	for (double p = 1; p <= 1024; p *= 2)
		for (int v = 0; v < 2; v++) {
			struct np_run run = usual;
			struct np_four a, b;

			run.processes = p;
			T_CHECK(!np_four(&run, &a_link, (enum np_four_variant)v,
					 &a, NULL));
			T_CHECK(!np_four_forward(&run, &a_link, a.active_sec,
						 a.compute_sec, &b, NULL));
			T_CHECK(t_close(a.wall_sec, b.wall_sec, 1e-12));
			T_CHECK(close_to(a.contention_sec, b.contention_sec,
					 6));
		}
}

/*
 * The published wall-clock time is the measured one plus the switch; the other
 * is the measured one.
 */
T_TEST("each variant has the wall that it should")
{
	struct np_four a, b;

	T_CHECK(!np_four(&usual, &a_link, NP_FOUR_PUBLISHED, &a, NULL));
	T_CHECK(!np_four(&usual, &a_link, NP_FOUR_CONSISTENT, &b, NULL));
	T_CHECK(t_close(a.wall_sec, 20 + a.switch_sec, 1e-12));
	T_CHECK(t_close(b.wall_sec, 20, 1e-12));
	T_CHECK(a.contention_sec > b.contention_sec && b.contention_sec > 0);
}

/*
 * If the switch takes longer than all time in MPI, nothing is left for the
 * rest.
 */
T_TEST("a slow switch leaves nothing to contention")
{
	const struct np_link slow = { 1e6, 1 };
	struct np_four f;

	T_CHECK(!np_four(&usual, &slow, NP_FOUR_CONSISTENT, &f, NULL));
	T_CHECK(f.active_sec == 0 && f.contention_sec == 0);
	T_CHECK(f.wall_sec > 200000);
}

T_TEST("one process, no message, no time in MPI, no thinking")
{
	struct np_run run = usual;
	struct np_four f;

	run.processes = 1;
	T_CHECK(!np_four(&run, &a_link, NP_FOUR_PUBLISHED, &f, NULL));
	T_CHECK(f.contention_sec == 0 && f.active_sec == 6);
	run = usual;
	run.messages = 0;
	T_CHECK(!np_four(&run, &a_link, NP_FOUR_PUBLISHED, &f, NULL));
	T_CHECK(f.active_sec == 6 && f.contention_sec == 0);
	T_CHECK(f.switch_sec == 0 && f.wall_sec == 20);
	run.mpi_sec = 0;
	run.messages = 10;
	T_CHECK(!np_four(&run, &a_link, NP_FOUR_CONSISTENT, &f, NULL));
	T_CHECK(f.active_sec == 0 && f.contention_sec == 0);
	/* No think time: every process waits for all others. */
	run = (struct np_run){ 1000, 10, 10, 1000, 0 };
	T_CHECK(!np_four(&run, &(struct np_link){ 1, 0 }, NP_FOUR_PUBLISHED, &f,
			 NULL));
	T_CHECK(t_close(f.active_sec, 10 / 1.999, 1e-9));
}

static const struct {
	const char *name;
	struct np_run run;
	struct np_link link;
	const char *said;
} refused[] = {
	{ "nobody", { 0, 1, 1, 1, 1 }, { 1, 0 }, "0 processes, expected 1" },
	{ "half a process", { 1.5, 1, 1, 1, 1 }, { 1, 0 }, "1.5 processes" },
	{ "too many", { 1e8, 1, 1, 1, 1 }, { 1, 0 }, "1e+08 processes" },
	{ "negative time", { 1, -1, 1, 1, 1 }, { 1, 0 }, "time -1, expected" },
	{ "no number", { 1, 1, NAN, 1, 1 }, { 1, 0 }, "time in MPI nan" },
	{ "more in MPI than there was",
	  { 1, 1, 2, 1, 1 },
	  { 1, 0 },
	  "2 s in MPI, of 1 s in all" },
	{ "negative messages", { 1, 1, 1, -1, 1 }, { 1, 0 }, "messages -1" },
	{ "negative size", { 1, 1, 1, 1, -1 }, { 1, 0 }, "mean size -1" },
	{ "no bandwidth", { 1, 1, 1, 1, 1 }, { 0, 0 }, "bandwidth 0, exp" },
	{ "endless bandwidth",
	  { 1, 1, 1, 1, 1 },
	  { INFINITY, 0 },
	  "bandwidth inf" },
	{ "negative latency", { 1, 1, 1, 1, 1 }, { 1, -1 }, "latency -1" },
};

T_TEST("impossible runs and links are rejected")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_four f;

		T_ROW(r->name, np_four(&r->run, &r->link, NP_FOUR_PUBLISHED, &f,
				       &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->said));
	}
	T_CHECK(np_four_forward(&usual, &a_link, -1, 1, &(struct np_four){ 0 },
				NULL) == -EINVAL);
	T_CHECK(np_four_forward(&usual, &a_link, 1, NAN, &(struct np_four){ 0 },
				NULL) == -EINVAL);
}
