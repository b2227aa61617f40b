/*
 * The components of a run. Active time and contention depend on each other;
 * both directions use the same recursion for contention.
 */
#include "np_four.h"

#include <errno.h>
#include <math.h>

/* halvings of an interval that is half as wide as its upper end */
#define BISECTIONS 60

/* Rejects a negative or infinite number. */
static int check_number(const char *what, double v, struct np_err *err)
{
	return v >= 0 && isfinite(v) ? 0 :
	       np_errf(err, -EINVAL, "%s %g, expected 0 or more", what, v);
}

/* Checks bandwidth and latency. */
static int check_link(const struct np_link *link, struct np_err *err)
{
	if (!(link->bytes_per_sec > 0 && isfinite(link->bytes_per_sec)))
		return np_errf(err, -EINVAL, "bandwidth %g, expected more than "
			       "0", link->bytes_per_sec);
	return check_number("latency", link->latency_sec, err);
}

/* Checks the number of processes, the messages and the link. */
static int check(const struct np_run *run, const struct np_link *link,
		 struct np_err *err)
{
	double p = run->processes;
	int rc = check_link(link, err);

	if (!rc && !(p >= 1 && p <= NP_FOUR_MAX_PROCESSES && p == floor(p)))
		rc = np_errf(err, -EINVAL, "%g processes, expected 1 to %d", p,
			     NP_FOUR_MAX_PROCESSES);
	if (!rc)
		rc = check_number("messages", run->messages, err);
	if (!rc)
		rc = check_number("mean size", run->mean_bytes, err);
	return rc;
}

/* Checks the measured times. */
static int check_times(const struct np_run *run, struct np_err *err)
{
	int rc = check_number("time", run->app_sec, err);

	if (!rc)
		rc = check_number("time in MPI", run->mpi_sec, err);
	if (!rc && run->mpi_sec > run->app_sec)
		rc = np_errf(err, -EINVAL, "%g s in MPI, of %g s in all",
			     run->mpi_sec, run->app_sec);
	return rc;
}

/*
 * Contention per message. Mean value analysis of P identical stations is one
 * recursion over their common queue length.
 */
static double contention(double processes, double active_sec, double other_sec)
{
	double queue = 0, r = active_sec;

	for (double n = 1; n <= processes; n++) {
		r = active_sec * (1 + queue / processes);
		queue = r > 0 ? n * r / (other_sec + r) : 0;
	}
	return r - active_sec;
}

/*
 * Solves active + contention(active) = tau. The queue is shorter than P, so
 * active is at least tau / 2.
 */
static double solve_active(double processes, double tau_sec, double other_sec)
{
	double low = tau_sec / 2, high = tau_sec;

	for (int i = 0; i < BISECTIONS; i++) {
		double mid = low + (high - low) / 2;

		if (mid + contention(processes, mid, other_sec) > tau_sec)
			high = mid;
		else
			low = mid;
	}
	return low + (high - low) / 2;
}

/* Time of all messages on the link. */
static double switch_of(const struct np_run *run, const struct np_link *link)
{
	return run->messages *
	       (run->mean_bytes / link->bytes_per_sec + link->latency_sec);
}

/* Sets the wall-clock time to the sum of the components. */
static void add_up(struct np_four *f)
{
	f->wall_sec = f->switch_sec + f->contention_sec + f->active_sec +
		      f->compute_sec;
}

int np_four(const struct np_run *run, const struct np_link *link,
	    enum np_four_variant variant, struct np_four *out,
	    struct np_err *err)
{
	struct np_four f = { 0 };
	double m = run->messages, mpi_sec = run->mpi_sec, other_sec, active;
	int rc = check(run, link, err);

	if (!rc)
		rc = check_times(run, err);
	if (rc)
		return rc;
	f.switch_sec = switch_of(run, link);
	f.compute_sec = run->app_sec - run->mpi_sec;
	if (variant == NP_FOUR_CONSISTENT)
		mpi_sec = fmax(0, mpi_sec - f.switch_sec);
	f.active_sec = mpi_sec;
	/* A single process waits for nobody. */
	if (m > 0 && run->processes > 1) {
		other_sec = (f.compute_sec + f.switch_sec) / m;
		active = m * solve_active(run->processes, mpi_sec / m,
					  other_sec);
		f.active_sec = fmin(active, mpi_sec);
		f.contention_sec = mpi_sec - f.active_sec;
	}
	add_up(&f);
	*out = f;
	return 0;
}

int np_four_forward(const struct np_run *run, const struct np_link *link,
		    double active_sec, double compute_sec,
		    struct np_four *out, struct np_err *err)
{
	struct np_four f = { 0 };
	double m = run->messages;
	int rc = check(run, link, err);

	if (!rc)
		rc = check_number("active time", active_sec, err);
	if (!rc)
		rc = check_number("compute time", compute_sec, err);
	if (rc)
		return rc;
	f.switch_sec = switch_of(run, link);
	f.active_sec = active_sec;
	f.compute_sec = compute_sec;
	if (m > 0)
		f.contention_sec = m * contention(run->processes,
			active_sec / m, (compute_sec + f.switch_sec) / m);
	add_up(&f);
	*out = f;
	return 0;
}
