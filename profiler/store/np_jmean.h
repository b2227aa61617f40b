/*
 * What is measured, in JSON; key: of the member.
 *
 * Of records: histograms of latencies, and latencies over time.  samples: how
 * many there are, as the moments beside it say; other numbers are refused,
 * written and read.
 *
 * Of pairs, netprof-pairs(5): means, tables of them, and latencies with their
 * histograms.  in->n_bins says how many bins these have, and what a table or
 * histogram takes comes out of in->room.
 */
#ifndef NP_JMEAN_H
#define NP_JMEAN_H

#include "np_fields.h"
#include "np_hist.h"
#include "np_latency.h"
#include "np_mean.h"
#include "np_series.h"

/* Append [bin, count] to a list. */
void np_jput_bin(struct np_jput *o, json_object *list, const char *key,
		 size_t bin, double n);

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

/* null, a number, or {"n", "mean", "sd"}; min and max bound the mean. */
int np_jget_mean(const struct np_jat *in, const char *key, json_object *j,
		 double min, double max, struct np_mean *out);
void np_jput_mean(struct np_jput *o, json_object *in, const char *key,
		  const struct np_mean *m);

/* f, of type NP_F_MEANS or NP_F_NUMBERS, says which and of what size. */
int np_jget_means(const struct np_jat *in, json_object *from,
		  const struct np_field *f, char *to);
void np_jput_means(struct np_jput *o, json_object *in,
		   const struct np_field *f, const char *from);
int np_jget_numbers(const struct np_jat *in, json_object *from,
		    const struct np_field *f, char *to);

/*
 * null, or {"n", "mean_sec", "sd_sec", "min_sec", "max_sec", and as histogram
 * "counts" or "bins", [[bin, count], ...]}.
 */
int np_jget_latency(const struct np_jat *in, const char *key, json_object *j,
		    struct np_latency *out);
void np_jput_latency(struct np_jput *o, json_object *in, const char *key,
		     const struct np_latency *l);

#endif
