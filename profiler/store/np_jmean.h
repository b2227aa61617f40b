/*
 * What is measured of pairs in JSON, netprof-pairs(5): means, tables of them,
 * and latencies with their histograms.  in->n_bins says how many bins these
 * have, and what a table or histogram takes comes out of in->room.
 */
#ifndef NP_JMEAN_H
#define NP_JMEAN_H

#include "np_fields.h"
#include "np_latency.h"
#include "np_mean.h"

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
