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

/*
 * ---- fits over the number of processes P, and predictions with intervals ----
 *
 * Three quantities are fitted: the mean message size, as a power of P, and the
 * totals over all processes of messages and of active time in MPI, as quadratic
 * polynomials. Compute time is interpolated between the runs, because it
 * depends on caches and partition in ways that no simple curve follows. The
 * interval of a prediction comes from predictions with random values of all
 * fits, each from the distribution that its residuals suggest.
 */

#define REPLICATES 200 /* random predictions for an interval */
#define MAX_TERMS 3

/* y = sum_j c[j] x(P)^j, fitted with weights 1 / y^2. */
struct fit {
	size_t terms, n; /* number of coefficients and of points */
	bool in_logs;	 /* x = log P, y = log value; otherwise x = P / scale */
	double scale;
	double c[MAX_TERMS], cov[MAX_TERMS][MAX_TERMS];
	double sd; /* standard deviation of a point, relative to its value */
};

/* A point of compute time: the mean over runs with the same P. */
struct knot {
	double processes, sec; /* sorted by the first */
};

/* The quantities that are fitted. */
enum { SIZE, MESSAGES, ACTIVE, N_FITS };

struct np_scaling {
	struct np_link link;
	double least, most; /* number of processes */
	struct fit fit[N_FITS];
	struct knot *knot; /* ascending */
	size_t n_knots;
	double knot_sd;	   /* relative error of an interpolated point */
};

/* Points of a fit. */
struct points {
	double *processes, *y;
	size_t n;
};

/* The variable of a fit at P processes. */
static double x_of(const struct fit *f, double processes)
{
	return f->in_logs ? log(processes) : processes / f->scale;
}

/* Limits the weight of values near 0, which would be infinite. */
static double weight_of(const struct fit *f, double y, double most)
{
	double v = fmax(y, 1e-3 * most);

	return !f->in_logs && v > 0 ? 1 / (v * v) : 1;
}

/* The largest value of a set of points. */
static double max_y(const struct points *p)
{
	double most = 0;

	for (size_t i = 0; i < p->n; i++)
		most = fmax(most, p->y[i]);
	return most;
}

/*
 * Fits f, of which terms, in_logs and scale are set, to the points. Returns 0
 * or -ENOMEM. Without more points than terms, sd is NaN.
 */
static int fit_points(struct fit *f, const struct points *p)
{
	double *x = calloc(p->n * (f->terms + 2), sizeof(*x));
	double *y = x + p->n * f->terms, *w = y + p->n, chisq;
	double free_points = (double)p->n - (double)f->terms, most = max_y(p);
	gsl_multifit_linear_workspace *space =
		gsl_multifit_linear_alloc(p->n, f->terms);
	gsl_matrix_view cov = gsl_matrix_view_array_with_tda(
		f->cov[0], f->terms, f->terms, MAX_TERMS), xs;
	gsl_vector_view c = gsl_vector_view_array(f->c, f->terms), ys, ws;
	int rc = x && space ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < p->n; i++) {
		double *row = x + i * f->terms;

		row[0] = 1;
		for (size_t j = 1; j < f->terms; j++)
			row[j] = row[j - 1] * x_of(f, p->processes[i]);
		y[i] = f->in_logs ? log(p->y[i]) : p->y[i];
		w[i] = weight_of(f, p->y[i], most);
	}
	if (!rc) {
		xs = gsl_matrix_view_array(x, p->n, f->terms);
		ys = gsl_vector_view_array(y, p->n);
		ws = gsl_vector_view_array(w, p->n);
		if (gsl_multifit_wlinear(&xs.matrix, &ws.vector, &ys.vector,
					 &c.vector, &cov.matrix, &chisq, space))
			rc = -ENOMEM; /* the only possible failure */
	}
	f->n = p->n;
	if (!rc)
		f->sd = free_points > 0 ? sqrt(chisq / free_points) : NAN;
	gsl_multifit_linear_free(space);
	free(x);
	return rc;
}

/*
 * Value at P. *var: the variance of the fitted value there, plus that of a
 * single run around it, both relative to sd^2.
 */
static double value_of(const struct fit *f, double processes, double *var)
{
	double x[MAX_TERMS] = { 1 }, y = 0, own;

	for (size_t j = 1; j < f->terms; j++)
		x[j] = x[j - 1] * x_of(f, processes);
	for (size_t j = 0; j < f->terms; j++)
		y += f->c[j] * x[j];
	own = f->in_logs ? 1 : y; /* weights are relative */
	*var = own * own;
	for (size_t i = 0; i < f->terms; i++)
		for (size_t j = 0; j < f->terms; j++)
			*var += x[i] * f->cov[i][j] * x[j];
	return y;
}

/* Merges the runs with the same P into one knot. */
static void merge_knots(struct np_scaling *s)
{
	size_t n = 0;

	qsort(s->knot, s->n_knots, sizeof(*s->knot), np_order_double);
	for (size_t i = 0; i < s->n_knots;) {
		struct knot k = { s->knot[i].processes, 0 };
		size_t first = i;

		while (i < s->n_knots && s->knot[i].processes == k.processes)
			k.sec += s->knot[i++].sec;
		k.sec /= (double)(i - first);
		s->knot[n++] = k;
	}
	s->n_knots = n;
	s->least = s->knot[0].processes;
	s->most = s->knot[n - 1].processes;
}

/* Linear interpolation between two knots, over the logarithm of P. */
static double interpolate(const struct knot *a, const struct knot *b,
		      double processes)
{
	double share = log(processes / a->processes) /
		       log(b->processes / a->processes);

	return a->sec + share * (b->sec - a->sec);
}

/* Compute time at P processes, constant beyond the runs. */
static double compute_at(const struct np_scaling *s, double processes)
{
	size_t i = 1;

	if (processes <= s->least)
		return s->knot[0].sec;
	if (processes >= s->most)
		return s->knot[s->n_knots - 1].sec;
	while (s->knot[i].processes < processes)
		i++;
	return interpolate(&s->knot[i - 1], &s->knot[i], processes);
}

/* Relative deviation of knots from interpolation between their neighbours. */
static double knot_error(const struct np_scaling *s)
{
	double sum = 0;

	for (size_t i = 1; i + 1 < s->n_knots; i++) {
		const struct knot *k = &s->knot[i];
		double miss = interpolate(k - 1, k + 1, k->processes) - k->sec;

		if (k->sec > 0)
			sum += miss * miss / (k->sec * k->sec);
	}
	return sqrt(sum / (double)(s->n_knots - 2));
}

/* Collects totals over processes; message sizes only of runs with messages. */
static int collect_points(struct np_scaling *s, const struct np_run *run,
		  const struct np_four *four, size_t n,
		  struct points p[N_FITS], struct np_err *err)
{
	for (size_t i = 0; i < n; i++) {
		double all = run[i].processes;

		for (int q = 0; q < N_FITS; q++)
			p[q].processes[p[q].n] = all;
		if (run[i].messages > 0 && run[i].mean_bytes > 0)
			p[SIZE].y[p[SIZE].n++] = run[i].mean_bytes;
		p[MESSAGES].y[p[MESSAGES].n++] = all * run[i].messages;
		p[ACTIVE].y[p[ACTIVE].n++] = all * four[i].active_sec;
		s->knot[s->n_knots++] = (struct knot){
			all, all * four[i].compute_sec };
	}
	merge_knots(s);
	return s->n_knots < 3 ? np_errf(err, -EDOM, "runs at 3 or more process "
					"counts are needed, got %zu",
					s->n_knots) : 0;
}

/* Whether all points have the same number of processes. */
static bool have_one_size(const struct points *p)
{
	for (size_t i = 1; i < p->n; i++)
		if (p->processes[i] != p->processes[0])
			return false;
	return true;
}

/* Fits all quantities. */
static int fit_all(struct np_scaling *s, const struct points p[N_FITS])
{
	int rc = 0;

	for (int q = 0; !rc && q < N_FITS; q++) {
		s->fit[q] = (struct fit){ .terms = q == SIZE ? 2 : 3,
					  .in_logs = q == SIZE,
					  .scale = s->most };
		/* Programs without messages have no message size. */
		if (q == SIZE && have_one_size(&p[q]))
			s->fit[q].terms = p[q].n ? 1 : 0;
		if (s->fit[q].terms)
			rc = fit_points(&s->fit[q], &p[q]);
	}
	s->knot_sd = knot_error(s);
	return rc;
}

int np_scaling_fit(const struct np_run *run, const struct np_four *four,
		   size_t n, const struct np_link *link,
		   struct np_scaling **out, struct np_err *err)
{
	struct np_scaling *s = calloc(1, sizeof(*s));
	double *room = calloc(2 * N_FITS * n + 1, sizeof(*room));
	struct points p[N_FITS];
	int rc = 0;

	if (!n || n > NP_SCALING_MAX_RUNS)
		rc = np_errf(err, n ? -EINVAL : -EDOM, "%zu runs, expected 3 "
			     "to %d", n, NP_SCALING_MAX_RUNS);
	if (s && !rc) {
		s->link = *link;
		s->knot = calloc(n, sizeof(*s->knot));
	}
	if (!rc && (!s || !room || !s->knot))
		rc = np_errf(err, -ENOMEM, "no memory");
	for (size_t q = 0; q < N_FITS && room; q++)
		p[q] = (struct points){ room + 2 * q * n,
					room + (2 * q + 1) * n, 0 };
	if (!rc)
		rc = collect_points(s, run, four, n, p, err);
	if (!rc && (rc = fit_all(s, p)))
		np_errf(err, rc, "no memory");
	free(room);
	if (rc)
		np_scaling_free(s);
	else
		*out = s;
	return rc;
}

void np_scaling_free(struct np_scaling *s)
{
	if (!s)
		return;
	free(s->knot);
	free(s);
}

/* Student's t: a normal variate over the root of a mean of squares. */
static double student_t(struct np_rng *r, size_t free_points)
{
	double squares = 0, z = np_rng_normal(r);

	for (size_t i = 0; i < free_points; i++) {
		double v = np_rng_normal(r);

		squares += v * v;
	}
	return z / sqrt(squares / (double)free_points);
}

/* The fitted value; with r, a random value from its distribution. */
static double sample_fit(const struct fit *f, double processes,
			 struct np_rng *r, unsigned *flags)
{
	double var, y;

	if (!f->terms)
		return 0;
	y = value_of(f, processes, &var);
	if (r && f->sd > 0)
		y += student_t(r, f->n - f->terms) * f->sd * sqrt(var);
	if (f->in_logs)
		return exp(fmin(y, 60));
	if (y < 0)
		*flags |= NP_SCALING_NEGATIVE;
	return fmax(0, y);
}

/* Predicts a run; with r, one with random deviations of all fits. */
static int run_at(const struct np_scaling *s, double processes, double speed,
		  struct np_rng *r, struct np_scaled_run *out,
		  struct np_err *err)
{
	unsigned *flags = &out->flags;
	struct np_run run = {
		.processes = processes,
		.mean_bytes = sample_fit(&s->fit[SIZE], processes, r, flags),
		.messages = sample_fit(&s->fit[MESSAGES], processes, r, flags) /
			    processes,
	};
	double active = sample_fit(&s->fit[ACTIVE], processes, r, flags);
	double compute = compute_at(s, processes);

	if (r)
		compute *= fmax(0, 1 + s->knot_sd * np_rng_normal(r));
	return np_four_forward(&run, &s->link, active / processes / speed,
			       compute / processes / speed, &out->four, err);
}

/* Computes the interval from REPLICATES random runs. */
static int compute_interval(const struct np_scaling *s, double processes,
			    double speed, struct np_scaled_run *out,
			    struct np_err *err)
{
	struct np_rng *r = np_rng_new(1, "scaling");
	double *wall = malloc(REPLICATES * sizeof(*wall));
	int rc = r && wall ? 0 : np_errf(err, -ENOMEM, "no memory");

	for (size_t i = 0; !rc && i < REPLICATES; i++) {
		struct np_scaled_run one = { .flags = 0 };

		rc = run_at(s, processes, speed, r, &one, err);
		wall[i] = one.four.wall_sec;
	}
	if (!rc) {
		gsl_sort(wall, 1, REPLICATES);
		out->low_sec = wall[REPLICATES / 20];
		out->high_sec = wall[REPLICATES - 1 - REPLICATES / 20];
	}
	free(wall);
	np_rng_free(r);
	return rc;
}

int np_scaling_at(const struct np_scaling *s, double processes, double speed,
		  struct np_scaled_run *out, struct np_err *err)
{
	struct np_scaled_run made = { .low_sec = NAN, .high_sec = NAN };
	int rc;

	if (!(processes >= 1 && processes <= NP_FOUR_MAX_PROCESSES &&
	      processes == floor(processes)))
		return np_errf(err, -EINVAL, "%g processes, expected 1 to %d",
			       processes, NP_FOUR_MAX_PROCESSES);
	rc = run_at(s, processes, speed, NULL, &made, err);
	if (rc)
		return rc;
	if (processes < s->least || processes > s->most)
		made.flags |= NP_SCALING_BEYOND;
	/* With as many coefficients as points, a fit has no residual. */
	if (s->fit[MESSAGES].n <= s->fit[MESSAGES].terms)
		made.flags |= NP_SCALING_NO_INTERVAL;
	else
		rc = compute_interval(s, processes, speed, &made, err);
	if (!rc)
		*out = made;
	return rc;
}

/* ---- Predictions without a model ---- */

/*
 * The time of the run with the nearest P by ratio, or the mean of several; with
 * ideal, as if it scaled perfectly to P processes.
 */
static double nearest(const struct np_run *run, size_t n, double processes,
		      bool ideal)
{
	double best = INFINITY, sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		double far = fabs(log(run[i].processes / processes));
		double sec = run[i].app_sec *
			     (ideal ? run[i].processes / processes : 1);

		if (far > best * (1 + 1e-12))
			continue;
		if (far < best * (1 - 1e-12)) {
			best = far;
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
 * would be negative it is 0, and the other is fitted alone.
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
			   const struct np_run *run, size_t n,
			   double processes)
{
	return which == NP_BASELINE_AMDAHL ? amdahl(run, n, processes) :
	       nearest(run, n, processes, which == NP_BASELINE_IDEAL);
}
