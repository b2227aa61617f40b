/*
 * Run time of a traced program, measured and under more latency:
 *
 *	trace_time TRACE L_NS O_NS G_NS [ADDED_NS...]
 *
 * Prints one line: measured seconds, messages, the seconds of the graph without
 * added latency, and then those for each added latency.
 * t/validate.d/tolerance.sh compares them with measurements.
 *
 *	trace_time --alike TRACE
 *
 * Prints "N of ALL": the number of operations of rank 0 in the longest stretch
 * of 16 or more iterations that are equal except for times and sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"
#include "np_tolerance.h"
#include "np_trace.h"
#include "np_trace_read.h"

/* From the end of MPI_Init() to the last event of the rank. */
static int rank_sec(const struct np_trace_files *f, uint32_t rank, double *sec,
		    struct np_err *err)
{
	struct np_trace_reader *r;
	struct np_trace_event ev;
	uint64_t ns = 0;
	int rc = np_trace_open(f->path[rank], rank, f->n, &r, err);

	if (rc)
		return rc;
	while ((rc = np_trace_next(r, &ev)) > 0)
		ns += ev.gap_ns + ev.length_ns;
	np_trace_close(r);
	*sec = 1e-9 * (double)ns;
	return rc;
}

static int measured_sec(const struct np_trace_files *f, double *most,
			struct np_err *err)
{
	double sec = 0;
	int rc = 0;

	*most = 0;
	for (uint32_t i = 0; !rc && i < f->n; i++) {
		rc = rank_sec(f, i, &sec, err);
		*most = sec > *most ? sec : *most;
	}
	return rc;
}

static int predict(const struct np_graph *g, char **number, int n,
		   struct np_err *err)
{
	const double L = atof(number[0]);
	const struct np_tolerance_opt opt = {
		.net = { .L_ns = L,
			 .o_ns = atof(number[1]),
			 .G_ns = atof(number[2]),
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
		.x = NP_LOGGPS_L,
	};
	struct np_tolerance *t;
	struct np_runtime run;
	int rc = np_tolerance_new(g, &opt, &t, err);

	for (int i = 2; !rc && i < n; i++) {
		np_tolerance_at(t, L + (i > 2 ? atof(number[i]) : 0), &run);
		printf(" %.9f", 1e-9 * run.ns);
	}
	if (!rc)
		np_tolerance_free(t);
	return rc;
}

#define ALIKE 16
#define MAX_PERIOD 3000

static uint64_t word_of(const struct np_graph *g, uint32_t i)
{
	enum np_dep_kind kind;
	struct np_graph_op op;
	uint64_t h;
	uint32_t y;

	np_graph_op(g, 0, i, &op);
	h = np_hash(NP_HASH,
		    (uint64_t[]){ op.kind, op.peer, op.tag, op.context },
		    4 * sizeof(h));
	for (size_t n = 0; np_graph_dep(g, 0, i, n, &y, &kind); n++)
		h = np_hash(h, (uint32_t[]){ i - y, kind }, 2 * sizeof(y));
	return h;
}

static int say_alike(const struct np_graph *g)
{
	uint32_t n = np_graph_rank_ops(g, 0), most = 0;
	uint64_t *word = malloc(((size_t)n + 1) * sizeof(*word));

	if (!word)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		word[i] = word_of(g, i);
	for (uint32_t p = 1; p <= MAX_PERIOD && ALIKE * p <= n; p++)
		for (uint32_t i = p, run = p; i < n; i++) {
			run = word[i] == word[i - p] ? run + 1 : p;
			if (run >= ALIKE * p && run > most)
				most = run;
		}
	printf("%u of %u", most, n);
	free(word);
	return 0;
}

int main(int argc, char **argv)
{
	const struct np_trace_options options = { NULL };
	bool alike = argc == 3 && !strcmp(argv[1], "--alike");
	struct np_err err = { "out of memory" };
	struct np_trace_files f;
	struct np_graph *g;
	double sec = 0;
	int rc;

	if (argc < 5 && !alike) {
		fprintf(stderr,
			"usage: trace_time TRACE L_NS O_NS G_NS "
			"[ADDED_NS...]\n       trace_time --alike TRACE\n");
		return 2;
	}
	rc = np_trace_files_find(argv[1 + alike], &f, &err);
	if (!rc && !alike)
		rc = measured_sec(&f, &sec, &err);
	if (!rc)
		rc = np_trace_graph(&f, &options, &g, &err);
	if (!rc && alike) {
		rc = say_alike(g);
	} else if (!rc) {
		printf("%.9f %zu", sec, np_graph_messages(g));
		rc = predict(g, argv + 2, argc - 2, &err);
	}
	if (rc) {
		fprintf(stderr, "trace_time: %s\n", err.text);
		return EXIT_FAILURE;
	}
	putchar('\n');
	np_graph_free(g);
	np_trace_files_free(&f);
	return EXIT_SUCCESS;
}
