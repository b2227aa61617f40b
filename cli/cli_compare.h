/* Runs and applications side by side: the work of `netprof compare`. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli_profile.h"

#define CLI_COMPARE_MAX 16 /* sides */
#define CLI_COMPARE_NAME (NP_APP_MAX + 64)

/* One run, or what the runs of an application say together. */
struct cli_side {
	char name[CLI_COMPARE_NAME]; /* "fft" or "fft:4000.0" */
	struct cli_profile found;    /* of the application; owns the runs */
	const struct np_record *run; /* the one; NULL: the application */
	struct np_runs runs;	     /* that it is made of; borrowed records */
	struct np_profile profile;   /* of these alone */
	struct np_sample latency;    /* borrowed from there, or of the one */
	/*
	 * Of successful runs without a level, alone where there are any; of
	 * the one, if it was successful.
	 */
	struct np_mean run_sec;
	double shortest_sec, longest_sec;
	bool beside; /* there were none alone, so beside other jobs */
};

struct cli_compare {
	struct cli_side *side;
	size_t n;
};

/*
 * Fill in what the runs of the side say; now: a date.  The side
 * stays where it is from then on.  Returns 0 or -ENOMEM, and is released by
 * cli_side_free() then, too.
 */
int cli_side_make(struct cli_side *s, double now);
void cli_side_free(struct cli_side *s);

/* Does this run of the side's count for what it says? */
bool cli_side_counts(const struct cli_side *s, size_t i);

/*
 * Under which conditions the runs were.  A text, "varies"
 * where they differ, and "" if it is not known.
 */
#define CLI_FACT 256
extern const struct cli_fact {
	const char *key, *label, *words; /* for programs, tables, sentences */
	void (*say)(const struct np_record *r, char *buf, size_t len);
	size_t text; /* say NULL: a text of the record, and where it is */
} cli_facts[];
extern const size_t cli_n_facts;
void cli_fact_of(const struct cli_side *s, const struct cli_fact *f,
		 char buf[CLI_FACT]);
/* Is it known to be another for some side than for another? */
bool cli_fact_differs(const struct cli_compare *c, const struct cli_fact *f);

/* Which is slower, and what was different. */
void cli_compare_verdict(const struct cli_compare *c, char *buf, size_t len);
void cli_compare_differs(const struct cli_compare *c, char *buf, size_t len);

/* Each prints it and returns the exit status. */
int cli_compare_text(const struct cli_compare *c);
int cli_compare_data(const struct cli_compare *c, enum cli_format format);

#endif
