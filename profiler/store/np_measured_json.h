/*
 * What files of pairs and calibrations share, for np_measured.c, np_pairs.c and
 * np_calibration.c alone.
 */
#ifndef NP_MEASURED_JSON_H
#define NP_MEASURED_JSON_H

#include "np_fields.h"
#include "np_measured.h"

/* Slowdowns beyond this are no measurement; -1 is no time at all. */
#define NP_SLOWDOWN_LEAST (-1 + 0x1p-53)
#define NP_SLOWDOWN_MAX 1e6

/* Which format and schema; programs; what is measured of the fabric alone. */
extern const struct np_fields np_measured_head, np_measured_programs,
	np_measured_fabric;

/*
 * The object that text[len] is (json_object_put() it), of bounded size, and of
 * this format and schema.  in may be used while room, of
 * NP_MEASURED_MAX_MEMORY, lasts.
 */
int np_measured_open(struct np_jat *in, const char *text, size_t len,
		     json_object **out);

/*
 * Its name, programs and levels, by name, with what probes saw; in->n_bins is
 * set.
 */
int np_measured_get(struct np_jat *in, json_object *from,
		    struct np_measured_set *s);

/* The member "probes". */
void np_measured_put_probes(struct np_jput *o, json_object *in,
			    const struct np_measured_set *s);

#endif
