/*
 * The work of `netprof accuracy`: cases of measured files, models run over
 * them, and reports.
 */
#ifndef CLI_ACCURACY_H
#define CLI_ACCURACY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli_predictions.h"
#include "cli_traced.h"
#include "np_accuracy.h"
#include "np_evaluate.h"
#include "np_measured.h"
#include "np_model.h"

#define ACCURACY_MAX_NAMES 64

struct accuracy_opt {
	const struct np_model *model[ACCURACY_MAX_NAMES];
	size_t n_models;
	const char *without[ACCURACY_MAX_NAMES]; /* programs left out */
	size_t n_without;
	const char *only[ACCURACY_MAX_NAMES]; /* cases with one of these */
	size_t n_only;
	double up_to; /* cases slowed by no more, a fraction; infinite: all */
	struct np_predict_opt predict;
	bool cases; /* list every case */
	const char *predictions; /* file of others; NULL: none */
	struct cli_predictions others; /* of that file */
	const char *traces; /* directory with one of each program; NULL: none */
	struct np_loggps net; /* where they ran; G_ns < 0: not known */
};

/* One model, or the best constant, over one kind of cases of one file. */
struct accuracy_line {
	const char *model;
	double constant; /* NaN for a model */
	struct np_score score;
	struct np_err why; /* of the first case without an answer, or "" */
};

/* Pairs, or groups of one victim beside several. */
struct accuracy_part {
	bool groups;
	size_t n_cases;
	struct accuracy_line line[ACCURACY_MAX_NAMES + 2];
	size_t n_lines;
};

/* A case that was asked for. */
struct accuracy_case {
	const struct np_measured_set *s;
	const struct np_measured_case *c;
	size_t at; /* of what models say of it */
};

/* Every prediction of a model, or of somebody else, over all sets of a file. */
struct accuracy_run {
	const char *name;
	struct np_prediction *out; /* of all rows of all sets */
	struct np_err why;
};

struct accuracy_file {
	const char *path;
	struct np_measured measured;
	struct cli_traced *traced; /* of all programs of all sets; or NULL */
	struct accuracy_case *one;
	size_t n_cases;
	struct accuracy_run run[ACCURACY_MAX_NAMES + 1];
	size_t n_runs;
	struct accuracy_part part[2];
	size_t n_parts;
};

/* Load, predict and score; 0 or -errno with err. */
int accuracy_run(const char *path, const struct accuracy_opt *opt,
		 struct accuracy_file *f, struct np_err *err);
void accuracy_free(struct accuracy_file *f);

/* cli_accuracy_pages.c */
void accuracy_print_table(const struct accuracy_file *f,
			  const struct accuracy_opt *opt);
int accuracy_print_data(const struct accuracy_file *f, size_t n,
			const struct accuracy_opt *opt, enum cli_format format);

#endif
