/* What the queue and the windows model share, for these two alone. */
#ifndef NP_QUEUE_IMPL_H
#define NP_QUEUE_IMPL_H

#include "np_model.h"

/* Utilisation at a mean latency; -EINVAL with v->err if there is none. */
int np_queue_rho_of(const struct np_data *v, bool from_min, double mean,
		    double *rho);

/* The slowdown at rho of a victim prepared by np_queue_respond(). */
double np_queue_read(const double *y, double rho, bool *outside);

#endif
