/* Questions to the models about known applications, and what to say of them. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "cli_known.h"

#define CLI_ASK_MAX_CO 16

/* One question and its answer; indices into the known applications. */
struct cli_answer {
	size_t victim, n_co, co[CLI_ASK_MAX_CO];
	enum np_scope scope;
	int rc; /* of np_predict() */
	struct np_err why;
	struct np_prediction p; /* where rc is 0 */
};

/*
 * All that is needed to ask about those that are known: the calibration, and
 * traces where the model wants them.  Returns -1 to go on, or the exit status
 * after saying why.
 */
int cli_ask_prepare(struct cli_known *k, struct cli_store *s,
		    const struct cli_options *o);

/* Fill in the answer to the question that is in a. */
void cli_ask(struct np_predictor *p, const struct cli_known *k,
	     struct cli_answer *a);

/* "halo", "halo and fft", "halo, fft and qmc" */
const char *cli_say_co(const struct cli_known *k, const struct cli_answer *a,
		       char *buf, size_t len);

/* "slows markedly", "hardly slows" ... */
const char *cli_say_slow(const struct np_prediction *p);

/* Why nothing is to be decided by this answer, in a sentence; NULL: it is. */
const char *cli_say_doubt(const struct np_prediction *p);

/* What should be known about the answer, each in a sentence; how many. */
#define CLI_ASK_NOTES 12
size_t cli_say_notes(const struct cli_known *k, const struct cli_answer *a,
		     const char *notes[CLI_ASK_NOTES]);

/*
 * The measurement that would narrow the interval most: a command to type, and
 * what it measures.  Both "" if there is nothing to gain.
 */
void cli_say_narrower(const struct cli_known *k, const struct cli_answer *a,
		      char *command, char *what, size_t len);

/* The command that makes an answer possible where there is none. */
void cli_say_missing(const struct cli_known *k, const struct cli_answer *a,
		     char *command, size_t len);

/* Does the coupling say that an interferer there makes no difference? */
bool cli_no_effect(const struct cli_known *k, enum np_scope scope);

/* That it does, in a sentence; only where cli_no_effect(). */
const char *cli_say_no_effect(const struct cli_known *k, enum np_scope scope,
			      char *buf, size_t len);

/* "on other nodes of the same leaf" */
const char *cli_scope_words(enum np_scope scope);

/* "0.91 (95 % interval 0.87 to 0.95)" and what that means */
const char *cli_say_coupling(const struct cli_known *k, enum np_scope scope,
			     char *buf, size_t len);

/* Names of the flags, for programs: "beyond,partial". */
const char *cli_flag_names(unsigned flags, char *buf, size_t len);

#define CLI_CALIBRATE "salloc -N8 netprof calibrate"

#endif
