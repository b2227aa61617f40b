/*
 * What a metrics server knows of nodes, by the HTTP API of Prometheus: one
 * question per signal and leaf switch, one value per node and step.  Answers
 * are hostile input.
 */
#ifndef NP_PROM_H
#define NP_PROM_H

#include <stddef.h>

#include "np_err.h"
#include "np_metrics_conf.h"

#define NP_PROM_MAX_STEPS 240

/* n_steps points in time, or with step_sec 0 the one that window_sec ends at. */
struct np_prom_range {
	double start, step_sec, window_sec;
	size_t n_steps;
};

/*
 * The question as a query of PromQL, with $nodes, $label and $window filled in;
 * names that no host has are left out.  free() it; NULL: out of memory, or no
 * name is left.
 */
char *np_prom_query(const struct np_metrics_conf *c, const char *expression,
		    char *const *node, size_t n, double window_sec);

/*
 * An answer.  value: n nodes times n_steps, NaN where the answer says nothing;
 * where: for messages.  *other: what the label says of one that is none of the
 * nodes, or "".  Returns 0, -EINVAL with err (no such answer, or what the
 * server says is wrong with the question), -EFBIG or -ENOMEM.
 */
int np_prom_parse(const char *text, size_t len, const char *where,
		  const char *label, char *const *node, size_t n,
		  const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err);

#endif
