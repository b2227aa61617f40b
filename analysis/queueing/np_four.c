#include "np_four.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_multifit.h>
#include <gsl/gsl_sort.h>

#include "np_array.h"
#include "np_rng.h"

/*
 * ---- the components of a run ----
 *
 * Active time and contention depend on each other; both directions use the same
 * recursion for contention.
 */

/* Halvings of an interval [x / 2, x], down to the precision of a double. */
#define BISECTIONS 60

/* Rejects a negative or infinite number. */
static int check_number(const char *what, double v, struct np_err *err)
{
	return v >= 0 && isfinite(v) ?
		       0 :
		       np_errf(err, -EINVAL, "%s %g, expected 0 or more", what,
			       v);
}

static int check_link(const struct np_link *link, struct np_err *err)
{
	if (!(link->bytes_per_sec > 0 && isfinite(link->bytes_per_sec)))
		return np_errf(err, -EINVAL,
			       "bandwidth %g, expected more than 0",
			       link->bytes_per_sec);
	return check_number("latency", link->latency_sec, err);
}

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
 * Contention per message, from the active time and the rest of a cycle. As the
 * P stations are identical, exact mean value analysis needs only one recursion,
 * over the number of processes at all stations together.
 */
static double contention(double processes, double active_sec, double other_sec)
{
	double at_stations = 0, response_sec = active_sec;

	for (double n = 1; n <= processes; n++) {
		response_sec = active_sec * (1 + at_stations / processes);
		at_stations =
			response_sec > 0 ?
				n * response_sec / (other_sec + response_sec) :
				0;
	}
	return response_sec - active_sec;
}

/*
 * Solves active + contention(active) = tau. Fewer than P processes are at the P
 * stations when another one arrives, so contention is less than active, and
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
static double switch_time(const struct np_run *run, const struct np_link *link)
{
	return run->messages *
	       (run->mean_bytes / link->bytes_per_sec + link->latency_sec);
}

/* Sets the wall-clock time to the sum of the components. */
static void add_up(struct np_four *four)
{
	four->wall_sec = four->switch_sec + four->contention_sec +
			 four->active_sec + four->compute_sec;
}

int np_four(const struct np_run *run, const struct np_link *link,
	    enum np_four_variant variant, struct np_four *out,
	    struct np_err *err)
{
	struct np_four four = { 0 };
	double messages = run->messages, mpi_sec = run->mpi_sec;
	double other_sec, active_sec;
	int rc = check(run, link, err);

	if (!rc)
		rc = check_times(run, err);
	if (rc)
		return rc;
	four.switch_sec = switch_time(run, link);
	four.compute_sec = run->app_sec - run->mpi_sec;
	if (variant == NP_FOUR_CONSISTENT)
		mpi_sec = fmax(0, mpi_sec - four.switch_sec);
	four.active_sec = mpi_sec;
	/* A single process waits for nobody. */
	if (messages > 0 && run->processes > 1) {
		other_sec = (four.compute_sec + four.switch_sec) / messages;
		active_sec = messages * solve_active(run->processes,
						     mpi_sec / messages,
						     other_sec);
		four.active_sec = fmin(active_sec, mpi_sec);
		four.contention_sec = mpi_sec - four.active_sec;
	}
	add_up(&four);
	*out = four;
	return 0;
}

int np_four_forward(const struct np_run *run, const struct np_link *link,
		    double active_sec, double compute_sec, struct np_four *out,
		    struct np_err *err)
{
	struct np_four four = { 0 };
	double messages = run->messages;
	int rc = check(run, link, err);

	if (!rc)
		rc = check_number("active time", active_sec, err);
	if (!rc)
		rc = check_number("compute time", compute_sec, err);
	if (rc)
		return rc;
	four.switch_sec = switch_time(run, link);
	four.active_sec = active_sec;
	four.compute_sec = compute_sec;
	if (messages > 0)
		four.contention_sec =
			messages *
			contention(run->processes, active_sec / messages,
				   (compute_sec + four.switch_sec) / messages);
	add_up(&four);
	*out = four;
	return 0;
}

/*
 * ---- fits over the number of processes P, and predictions with intervals ----
 *
 * Three quantities are fitted: the mean message size, as a power of P, and the
 * totals over all processes of messages and of active time in MPI, as quadratic
 * polynomials. Compute time, also a total, is interpolated between the runs,
 * because it depends on caches and on the division of the problem in ways that
 * no simple curve follows. The interval of a prediction comes from predictions
 * with random values of all fits, which scatter like the residuals.
 */

#define REPLICATES 200 /* random predictions for an interval */
#define MAX_TERMS 3

/*
 * y = sum_j c[j] x(P)^j, fitted to minimise relative errors: with weights
 * 1 / y^2, or in logarithms.
 */
struct fit {
	size_t terms, n; /* number of coefficients and of points */
	bool in_logs;	 /* x = log P, y = log value; otherwise x = P / scale */
	double scale;	 /* largest P, so that powers of x are of order 1 */
	double c[MAX_TERMS];
	double cov[MAX_TERMS][MAX_TERMS]; /* of c[], for sd = 1 */
	double sd; /* standard deviation of a point, relative to its value */
};

/*
 * A point of compute time, total over processes: the mean over runs with the
 * same P. The first member is the sort key of np_order_double().
 */
struct knot {
	double processes, sec;
};

/* The quantities that are fitted. */
enum { SIZE, MESSAGES, ACTIVE, N_FITS };

struct np_scaling {
	struct np_link link;
	double min_processes, max_processes; /* of the runs */
	struct fit fit[N_FITS];
	struct knot *knot; /* ascending */
	size_t n_knots;
	double knot_sd; /* of an interpolated point, relative to its value */
};

/* n points of a fit. */
struct points {
	double *processes, *y;
	size_t n;
};

/* The variable of a fit at P processes. */
static double x_of(const struct fit *fit, double processes)
{
	return fit->in_logs ? log(processes) : processes / fit->scale;
}

/* Weight of a point. That of values near 0 is limited; it would be infinite. */
static double weight_of(const struct fit *fit, double y, double max_y)
{
	double v = fmax(y, 1e-3 * max_y);

	return !fit->in_logs && v > 0 ? 1 / (v * v) : 1;
}

static double largest_y(const struct points *p)
{
	double most = 0;

	for (size_t i = 0; i < p->n; i++)
		most = fmax(most, p->y[i]);
	return most;
}

/*
 * Fits *fit, of which terms, in_logs and scale are set, to the points. Without
 * more points than terms, sd is NaN. Returns 0 or -ENOMEM.
 */
static int fit_points(struct fit *fit, const struct points *p)
{
	double *x = calloc(p->n * (fit->terms + 2), sizeof(*x));
	double *y = x + p->n * fit->terms, *w = y + p->n, chisq;
	double free_points = (double)p->n - (double)fit->terms;
	double max_y = largest_y(p);
	gsl_multifit_linear_workspace *space =
		gsl_multifit_linear_alloc(p->n, fit->terms);
	gsl_matrix_view cov = gsl_matrix_view_array_with_tda(
				fit->cov[0], fit->terms, fit->terms, MAX_TERMS),
			xs;
	gsl_vector_view c = gsl_vector_view_array(fit->c, fit->terms), ys, ws;
	int rc = x && space ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < p->n; i++) {
		double *row = x + i * fit->terms;

		row[0] = 1;
		for (size_t j = 1; j < fit->terms; j++)
			row[j] = row[j - 1] * x_of(fit, p->processes[i]);
		y[i] = fit->in_logs ? log(p->y[i]) : p->y[i];
		w[i] = weight_of(fit, p->y[i], max_y);
	}
	if (!rc) {
		xs = gsl_matrix_view_array(x, p->n, fit->terms);
		ys = gsl_vector_view_array(y, p->n);
		ws = gsl_vector_view_array(w, p->n);
		if (gsl_multifit_wlinear(&xs.matrix, &ws.vector, &ys.vector,
					 &c.vector, &cov.matrix, &chisq, space))
			rc = -ENOMEM; /* sizes agree, so nothing else fails */
	}
	fit->n = p->n;
	if (!rc)
		fit->sd = free_points > 0 ? sqrt(chisq / free_points) : NAN;
	gsl_multifit_linear_free(space);
	free(x);
	return rc;
}

/*
 * The fitted value at P. *var: its variance, plus that of a single run around
 * it, both as multiples of sd^2.
 */
static double value_of(const struct fit *fit, double processes, double *var)
{
	double x[MAX_TERMS] = { 1 }, y = 0, own;

	for (size_t j = 1; j < fit->terms; j++)
		x[j] = x[j - 1] * x_of(fit, processes);
	for (size_t j = 0; j < fit->terms; j++)
		y += fit->c[j] * x[j];
	own = fit->in_logs ? 1 : y; /* weights are relative */
	*var = own * own;
	for (size_t i = 0; i < fit->terms; i++)
		for (size_t j = 0; j < fit->terms; j++)
			*var += x[i] * fit->cov[i][j] * x[j];
	return y;
}

/* Sorts the knots, and merges those with the same P into one. */
static void merge_knots(struct np_scaling *scaling)
{
	size_t n = 0;

	qsort(scaling->knot, scaling->n_knots, sizeof(*scaling->knot),
	      np_order_double);
	for (size_t i = 0; i < scaling->n_knots;) {
		struct knot k = { scaling->knot[i].processes, 0 };
		size_t first = i;

		while (i < scaling->n_knots &&
		       scaling->knot[i].processes == k.processes)
			k.sec += scaling->knot[i++].sec;
		k.sec /= (double)(i - first);
		scaling->knot[n++] = k;
	}
	scaling->n_knots = n;
	scaling->min_processes = scaling->knot[0].processes;
	scaling->max_processes = scaling->knot[n - 1].processes;
}

/* Linear interpolation between two knots, over the logarithm of P. */
static double interpolate(const struct knot *a, const struct knot *b,
			  double processes)
{
	double share = log(processes / a->processes) /
		       log(b->processes / a->processes);

	return a->sec + share * (b->sec - a->sec);
}

/* Total compute time at P processes; that of the nearest run beyond them. */
static double compute_at(const struct np_scaling *scaling, double processes)
{
	size_t i = 1;

	if (processes <= scaling->min_processes)
		return scaling->knot[0].sec;
	if (processes >= scaling->max_processes)
		return scaling->knot[scaling->n_knots - 1].sec;
	while (scaling->knot[i].processes < processes)
		i++;
	return interpolate(&scaling->knot[i - 1], &scaling->knot[i], processes);
}

/*
 * Root mean square of the relative deviation of each knot from an interpolation
 * between the two next to it. There are at least three knots.
 */
static double knot_error(const struct np_scaling *scaling)
{
	double sum = 0;

	for (size_t i = 1; i + 1 < scaling->n_knots; i++) {
		const struct knot *k = &scaling->knot[i];
		double miss = interpolate(k - 1, k + 1, k->processes) - k->sec;

		if (k->sec > 0)
			sum += miss * miss / (k->sec * k->sec);
	}
	return sqrt(sum / (double)(scaling->n_knots - 2));
}

/*
 * Collects the points of each fit, and the knots. All are totals over processes
 * except message sizes, which only runs with messages have.
 */
static int collect_points(struct np_scaling *scaling, const struct np_run *run,
			  const struct np_four *four, size_t n,
			  struct points p[N_FITS], struct np_err *err)
{
	for (size_t i = 0; i < n; i++) {
		double processes = run[i].processes;

		for (int q = 0; q < N_FITS; q++)
			p[q].processes[p[q].n] = processes;
		if (run[i].messages > 0 && run[i].mean_bytes > 0)
			p[SIZE].y[p[SIZE].n++] = run[i].mean_bytes;
		p[MESSAGES].y[p[MESSAGES].n++] = processes * run[i].messages;
		p[ACTIVE].y[p[ACTIVE].n++] = processes * four[i].active_sec;
		scaling->knot[scaling->n_knots++] =
			(struct knot){ processes,
				       processes * four[i].compute_sec };
	}
	merge_knots(scaling);
	if (scaling->n_knots < 3)
		return np_errf(
			err, -EDOM,
			"runs at 3 or more process counts are needed, got %zu",
			scaling->n_knots);
	return 0;
}

/* Whether all points have the same number of processes. */
static bool have_same_processes(const struct points *p)
{
	for (size_t i = 1; i < p->n; i++)
		if (p->processes[i] != p->processes[0])
			return false;
	return true;
}

/* Fits all quantities. Returns 0 or -ENOMEM. */
static int fit_all(struct np_scaling *scaling, const struct points p[N_FITS])
{
	int rc = 0;

	for (int q = 0; !rc && q < N_FITS; q++) {
		struct fit *fit = &scaling->fit[q];

		*fit = (struct fit){ .terms = q == SIZE ? 2 : 3,
				     .in_logs = q == SIZE,
				     .scale = scaling->max_processes };
		/*
		 * A slope needs two numbers of processes; a program without
		 * messages has no message size at all.
		 */
		if (q == SIZE && have_same_processes(&p[q]))
			fit->terms = p[q].n ? 1 : 0;
		if (fit->terms)
			rc = fit_points(fit, &p[q]);
	}
	scaling->knot_sd = knot_error(scaling);
	return rc;
}

int np_scaling_fit(const struct np_run *run, const struct np_four *four,
		   size_t n, const struct np_link *link,
		   struct np_scaling **out, struct np_err *err)
{
	struct np_scaling *scaling = calloc(1, sizeof(*scaling));
	double *values = calloc(2 * N_FITS * n + 1, sizeof(*values));
	struct points p[N_FITS];
	int rc = 0;

	if (!n || n > NP_SCALING_MAX_RUNS)
		rc = np_errf(err, n ? -EINVAL : -EDOM,
			     "%zu runs, expected 3 to %d", n,
			     NP_SCALING_MAX_RUNS);
	if (scaling && !rc) {
		scaling->link = *link;
		scaling->knot = calloc(n, sizeof(*scaling->knot));
	}
	if (!rc && (!scaling || !values || !scaling->knot))
		rc = np_errf(err, -ENOMEM, "no memory");
	for (size_t q = 0; q < N_FITS && values; q++)
		p[q] = (struct points){ values + 2 * q * n,
					values + (2 * q + 1) * n, 0 };
	if (!rc)
		rc = collect_points(scaling, run, four, n, p, err);
	if (!rc && (rc = fit_all(scaling, p)))
		np_errf(err, rc, "no memory");
	free(values);
	if (rc)
		np_scaling_free(scaling);
	else
		*out = scaling;
	return rc;
}

void np_scaling_free(struct np_scaling *scaling)
{
	if (!scaling)
		return;
	free(scaling->knot);
	free(scaling);
}

/*
 * A random value of Student's t distribution: a normal variate over the root of
 * the mean of the squares of free_points others.
 */
static double student_t(struct np_rng *rng, size_t free_points)
{
	double squares = 0, z = np_rng_normal(rng);

	for (size_t i = 0; i < free_points; i++) {
		double v = np_rng_normal(rng);

		squares += v * v;
	}
	return z / sqrt(squares / (double)free_points);
}

/* The fitted value; with rng, a random value from its distribution. */
static double sample_fit(const struct fit *fit, double processes,
			 struct np_rng *rng, unsigned *flags)
{
	double var, y;

	if (!fit->terms)
		return 0;
	y = value_of(fit, processes, &var);
	if (rng && fit->sd > 0)
		y += student_t(rng, fit->n - fit->terms) * fit->sd * sqrt(var);
	if (fit->in_logs)
		return exp(fmin(y, 60)); /* finite, and beyond any message */
	if (y < 0)
		*flags |= NP_SCALING_NEGATIVE;
	return fmax(0, y);
}

/* Predicts a run; with rng, one with random deviations of all fits. */
static int run_at(const struct np_scaling *scaling, double processes,
		  double speed, struct np_rng *rng, struct np_scaled_run *out,
		  struct np_err *err)
{
	unsigned *flags = &out->flags;
	struct np_run run = {
		.processes = processes,
		.mean_bytes =
			sample_fit(&scaling->fit[SIZE], processes, rng, flags),
		.messages = sample_fit(&scaling->fit[MESSAGES], processes, rng,
				       flags) /
			    processes,
	};
	double active =
		sample_fit(&scaling->fit[ACTIVE], processes, rng, flags);
	double compute = compute_at(scaling, processes);

	if (rng)
		compute *= fmax(0, 1 + scaling->knot_sd * np_rng_normal(rng));
	return np_four_forward(&run, &scaling->link, active / processes / speed,
			       compute / processes / speed, &out->four, err);
}

/* Computes the 90 % interval from REPLICATES random runs. */
static int compute_interval(const struct np_scaling *scaling, double processes,
			    double speed, struct np_scaled_run *out,
			    struct np_err *err)
{
	struct np_rng *rng = np_rng_new(1, "scaling");
	double *wall = malloc(REPLICATES * sizeof(*wall));
	int rc = rng && wall ? 0 : np_errf(err, -ENOMEM, "no memory");

	for (size_t i = 0; !rc && i < REPLICATES; i++) {
		struct np_scaled_run one = { .flags = 0 };

		rc = run_at(scaling, processes, speed, rng, &one, err);
		wall[i] = one.four.wall_sec;
	}
	if (!rc) {
		gsl_sort(wall, 1, REPLICATES);
		out->low_sec = wall[REPLICATES / 20];
		out->high_sec = wall[REPLICATES - 1 - REPLICATES / 20];
	}
	free(wall);
	np_rng_free(rng);
	return rc;
}

int np_scaling_at(const struct np_scaling *scaling, double processes,
		  double speed, struct np_scaled_run *out, struct np_err *err)
{
	struct np_scaled_run made = { .low_sec = NAN, .high_sec = NAN };
	int rc;

	if (!(processes >= 1 && processes <= NP_FOUR_MAX_PROCESSES &&
	      processes == floor(processes)))
		return np_errf(err, -EINVAL, "%g processes, expected 1 to %d",
			       processes, NP_FOUR_MAX_PROCESSES);
	rc = run_at(scaling, processes, speed, NULL, &made, err);
	if (rc)
		return rc;
	if (processes < scaling->min_processes ||
	    processes > scaling->max_processes)
		made.flags |= NP_SCALING_BEYOND;
	/* With as many coefficients as points, a fit has no residual. */
	if (scaling->fit[MESSAGES].n <= scaling->fit[MESSAGES].terms)
		made.flags |= NP_SCALING_NO_INTERVAL;
	else
		rc = compute_interval(scaling, processes, speed, &made, err);
	if (!rc)
		*out = made;
	return rc;
}

/* ---- Predictions without a model ---- */

/*
 * The time of the run with the nearest P by ratio, or the mean of several that
 * are equally near (to 1e-12, for rounding); with ideal, as if it scaled
 * perfectly to P processes.
 */
static double nearest(const struct np_run *run, size_t n, double processes,
		      bool ideal)
{
	double best = INFINITY, sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		double distance = fabs(log(run[i].processes / processes));
		double sec = run[i].app_sec *
			     (ideal ? run[i].processes / processes : 1);

		if (distance > best * (1 + 1e-12))
			continue;
		if (distance < best * (1 - 1e-12)) {
			best = distance;
			sum = 0;
			count = 0;
		}
		sum += sec;
		count++;
	}
	return sum / (double)count;
}

/*
 * Amdahl's law: the serial time s and the parallel time p of T = s + p / P, by
 * least squares of the relative error, 1 = (s + p / P) / T. If one of them
 * would be negative it is 0, and the other is fitted alone. If all runs have
 * the same P, p is 0, too.
 */
static double amdahl(const struct np_run *run, size_t n, double processes)
{
	double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0, det, s, p;

	for (size_t i = 0; i < n; i++) {
		double a = 1 / run[i].app_sec, b = a / run[i].processes;

		aa += a * a;
		ab += a * b;
		bb += b * b;
		a1 += a;
		b1 += b;
	}
	det = aa * bb - ab * ab;
	s = (a1 * bb - b1 * ab) / det;
	p = (b1 * aa - a1 * ab) / det;
	if (!(det > 1e-12 * aa * bb) || p < 0)
		return a1 / aa;
	if (s < 0)
		return b1 / bb / processes;
	return s + p / processes;
}

double np_scaling_baseline(enum np_scaling_baseline which,
			   const struct np_run *run, size_t n, double processes)
{
	return which == NP_BASELINE_AMDAHL ?
		       amdahl(run, n, processes) :
		       nearest(run, n, processes, which == NP_BASELINE_IDEAL);
}
