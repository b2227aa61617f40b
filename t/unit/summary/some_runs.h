/* Runs of one application, a calibration, and the summary that they make. */
#ifndef NP_T_SOME_RUNS_H
#define NP_T_SOME_RUNS_H

#include "t.h"
#include "np_run_summary.h"
#include "some_record.h"

#define NOW 1.71e9
#define MOST 32

struct some {
	struct np_runs runs;
	struct np_record *run[MOST];
	struct np_calibration c;
	struct np_run_summary e;
};
static struct some some; /* of each test */

static inline void stop(struct some *a)
{
	np_run_summary_free(&a->e);
	np_calibration_free(&a->c);
	for (size_t i = 0; i < a->runs.n; i++)
		np_record_free(a->run[i]);
	a->runs.n = 0;
}

/* levels: of the calibration, "\"c1\",\"c4\"". */
static inline void start(struct some *a, const char *levels)
{
	char text[512];

	stop(a);
	*a = (struct some){ .runs = { .app = "lmp" } };
	a->runs.run = a->run;
	snprintf(text, sizeof(text),
		 "{\"format\":\"netprof-pairs\",\"schema\":1,\"programs\":[],"
		 "\"levels\":[%s],\"scope\":\"leaf\",\"cluster\":\"hpc\","
		 "\"transport\":\"tcp/eth0\",\"message_bytes\":1024,"
		 "\"period_sec\":0.1}",
		 levels);
	T_CHECK(np_calibration_parse(text, strlen(text), "f", &a->c, NULL) ==
		0);
}

static inline struct np_record *add_run(struct some *a, struct np_record *r)
{
	return a->run[a->runs.n++] = r;
}

static inline void make(struct some *a, bool calibrated)
{
	const struct np_run_summary_opt opt = {
		.calibration = calibrated ? &a->c : NULL,
		.now = NOW,
	};

	T_CHECK(np_run_summary_make(&a->runs, &opt, &a->e) == 0);
}

#endif
