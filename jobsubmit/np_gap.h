/*
 * How long the thread rests between two rounds, however often it is woken.
 *
 * A round takes the longer the more jobs Slurm has, and part of it holds
 * Slurm's locks.  So it works for a twentieth of the time; but it does not rest
 * longer than PlacementInterval for that, as users wait for it, and never less
 * than it worked.  Work is what slurmctld may feel, not the writing of files
 * afterwards: decisions need not age because a disk is slow.
 */
#ifndef NP_GAP_H
#define NP_GAP_H

#define NP_GAP_LEAST_SEC 0.2

double np_gap_sec(double took_sec, double interval_sec);

#endif
