#include "np_gap.h"

#include <math.h>

#define REST_TO_WORK 19

double np_gap_sec(double took_sec, double interval_sec)
{
	double sec = fmin(REST_TO_WORK * took_sec, interval_sec);

	return fmax(fmax(sec, took_sec), NP_GAP_LEAST_SEC);
}
