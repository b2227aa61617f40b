/*
 * What a calibration has measured so far, as text that outlives it: written
 * to a file after every measurement, so that one that was stopped, however,
 * goes on where it was.
 */
#ifndef NP_CALIBRATE_STATE_H
#define NP_CALIBRATE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "np_calibrate_plan.h"
#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"

/* Times of rounds, or latencies; seconds. */
struct np_cal_sample {
	struct np_moments sec;
	uint64_t *bins; /* NP_HIST_BINS, of latencies; NULL: none */
};

struct np_cal_result {
	char key[NP_CAL_KEY];
	struct np_cal_sample alone, beside; /* n 0: nothing was heard */
};

struct np_cal_state {
	char *setup;  /* one line: what must be equal to go on */
	double begun; /* date */
	struct np_cal_result *result;
	size_t n;
};

/* setup is copied.  Returns 0 or -ENOMEM. */
int np_cal_state_init(struct np_cal_state *s, const char *setup, double begun);
void np_cal_state_free(struct np_cal_state *s);

/* NULL: not measured yet.  The key is "idle LEAF" for what idle measured. */
const struct np_cal_result *np_cal_state_find(const struct np_cal_state *s,
					      const char *key);

/* Takes over r's bins, also on failure.  Returns 0 or -ENOMEM. */
int np_cal_state_add(struct np_cal_state *s, struct np_cal_result *r);

/* Merge a sample, with its bins if it has any.  Returns 0 or -ENOMEM. */
int np_cal_sample_merge(struct np_cal_sample *to,
			const struct np_cal_sample *from);
void np_cal_sample_free(struct np_cal_sample *s);

/*
 * malloc'ed text; NULL: out of memory.  The reverse returns 0, -EINVAL
 * with err naming the line, or -ENOMEM.  Text may be anything.
 */
char *np_cal_state_format(const struct np_cal_state *s);
int np_cal_state_parse(const char *text, struct np_cal_state *out,
		       struct np_err *err);

/*
 * Read and write a file; path is below a directory that only administrators
 * write.  Reading returns -ENOENT (without err) if there is none, -EACCES for
 * one that neither the caller nor root owns, or -EFBIG.  Writing: temporary
 * file, fsync, rename.
 */
int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err);
int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err);

#endif
