/*
 * The scale on which model mutual compares slowdowns.
 *
 * Two programs beside each other slow each other's traffic, too: what slows
 * the one half presses less on the other.  Of a pair that take d and e longer,
 *	p = d sqrt(1 + e),  q = e sqrt(1 + d)
 * is what each would suffer if the other kept its pace, were its traffic to
 * fall with the square root of its speed.  (p, q) and (d, e) determine each
 * other.  On the scale,
 *	z = 2 (sqrt(1 + p) - 1)
 * which is p where it is small and grows as its root.  Own derivation; both
 * exponents were chosen with measured pairs (doc/validation/methods.md).
 */
#ifndef NP_PACE_H
#define NP_PACE_H

/* Both z of a pair from log(1 + slowdown) of either; finite. */
void np_pace_of(double log_slow, double log_other, double *z, double *z_other);

/* log(1 + slowdown) of a program and of the other from both z; finite. */
void np_pace_both(double z, double z_other, double log_slow[2]);

#endif
