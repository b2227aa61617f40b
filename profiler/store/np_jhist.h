/*
 * Histograms of latencies, and latencies over time, in JSON.
 *
 * key: of the member.  samples: how many there are, as the moments beside it
 * say; other numbers are refused, written and read.
 */
#ifndef NP_JHIST_H
#define NP_JHIST_H

#include "np_hist.h"
#include "np_jvalue.h"
#include "np_series.h"

/* What the bins of all histograms are; there are only our own so far. */
void np_jput_bins(struct np_jput *o, json_object *in, const char *key);
int np_jget_bins(const struct np_jat *in, json_object *from, const char *key);

/* [[bin, count], ...]; missing if h is NULL or empty. */
void np_jput_hist(struct np_jput *o, json_object *in, const char *key,
		  const struct np_hist *h, uint64_t samples);
int np_jget_hist(const struct np_jat *in, json_object *from, const char *key,
		 uint64_t samples, struct np_hist **out);

/*
 * {"width_sec", "w": [[n, mean, sd, max], ...]} with 6 digits and without the
 * minimum; missing if s is NULL or empty.  o->merge windows become one.
 */
void np_jput_series(struct np_jput *o, json_object *in, const char *key,
		    const struct np_series *s, uint64_t samples);
int np_jget_series(const struct np_jat *in, json_object *from, const char *key,
		   uint64_t samples, struct np_series **out);

#endif
