/* A calibration as JSON text: netprof-pairs(5) with what it says besides. */
#ifndef NP_CALIBRATION_JSON_H
#define NP_CALIBRATION_JSON_H

#include "np_calibrate.h"

struct np_calibration_facts {
	const struct np_calibrate *c; /* that has gone through */
	const struct np_cal_sites *sites;
	const char *cluster, *transport, *ucx_version;
	double date;
	uint32_t message_bytes;
	double period_sec;
};

/*
 * *out: malloc'ed.  Returns 0, -ENOMEM, or -ENODATA with err where something
 * that must be there was not heard at all.
 */
int np_calibration_to_json(const struct np_calibration_facts *f, char **out,
			   struct np_err *err);

#endif
