/* How well a mean of few values is known. */
#ifndef NP_STUDENT_H
#define NP_STUDENT_H

#include "np_moments.h"

/*
 * Half the width of the 95 % interval of the mean, by Student's t; INFINITY
 * while n < 2.
 */
double np_student_half(const struct np_moments *m);

#endif
