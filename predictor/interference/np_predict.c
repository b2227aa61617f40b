#include "np_predict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "np_draw.h"
#include "np_model.h"
#include "np_nnls.h"
#include "np_rng.h"

/* The levels in use for one question; see struct np_data. */
struct np_basis {
	struct np_levels col, row, co_col;
};

/*
 * A model misses a heavy slowdown by more than a light one.  Its misses are
 * taken as growing with this much plus log(1 + slowdown): of the values tried,
 * that which makes the levels' own misses most likely (doc/validation/methods.md).
 */
#define NP_MISS_FLOOR 0.2

/*
 * An answer is asked for again with one part of the levels left out at a time;
 * up to so many levels, a part is one of them.  With fewer than NP_LESS_LEVELS
 * left there is nothing to compare an answer with.
 */
#define NP_LESS_PARTS 8
#define NP_LESS_LEVELS 3

/* Does it describe programs by what they and levels do to each other? */
static inline bool np_model_is_of_levels(const struct np_model *m)
{
	return m->needs & NP_NEED_PRESSURE && m->needs & NP_NEED_BESIDE;
}

/* A level that was left out, and by how much the model missed it. */
struct np_miss {
	double log_slow; /* as predicted */
	double error;	 /* measured - predicted, of log(1 + slowdown) */
	bool beyond;	 /* predicted with NP_PRED_BEYOND */
};

/* Of a question, as a co-runner or as the victim. */
enum np_side { NP_CO, NP_VICTIM, NP_SIDES };

struct np_half {
	bool ready;
	struct np_basis use;
	double *z; /* one row of np_model_dim() per view */
	unsigned flags; /* of view 0 */
	/* Row k: the first row of z without part k of the levels, if any. */
	double *less;
	bool has_less[NP_LESS_PARTS];
	struct np_miss *miss;
	size_t n_miss;
};

/* One program made ready, and its halves of questions: np_predict.c. */
struct np_ready {
	const struct np_program *app;
	struct np_draw_program draw;
	struct np_half half[NP_SIDES]; /* which share z where it is the same */
};

/* Each level as if it were a program, for one choice of levels in use. */
struct np_level_halves {
	bool ready;
	struct np_basis use;
	double *z[NP_SIDES]; /* one row of np_model_dim() per level */
	int *rc[NP_SIDES];   /* 0 where there is a row */
	unsigned *flags;     /* of NP_CO */
};

struct np_predictor {
	const struct np_fabric *f;
	const struct np_model *m;
	struct np_predict_opt opt;
	struct np_draw_opt draw;
	size_t n, dim; /* levels; np_model_dim() */
	struct np_draw_fabric fabric;
	struct np_data_program *level; /* the levels as programs, as measured */
	double *level_store;
	struct np_level_halves halves;
	struct np_nnls *nnls;
	double *work, *ensemble;
	double *sample; /* views */
	struct np_predictor *fallback; /* made when first asked */
};

/* Rows and columns of what the levels do to each other, being trimmed. */
struct table {
	const bool *known; /* n x n */
	size_t n;
	struct np_basis *use;
	bool mutual; /* it is asked both ways */
};

static bool hole(const struct table *t, size_t i, size_t j)
{
	return !t->known[i * t->n + j] ||
	       (t->mutual && !t->known[j * t->n + i]);
}

static void levels_drop(struct np_levels *l, size_t level)
{
	size_t to = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->at[i] != level)
			l->at[to++] = l->at[i];
	l->n = to;
}

static void basis_add(struct np_levels *l, size_t level)
{
	l->at[l->n++] = (uint16_t)level;
}

static bool levels_equal(const struct np_levels *a,
			 const struct np_levels *b)
{
	return a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof(*a->at));
}

static bool basis_equal(const struct np_basis *a, const struct np_basis *b)
{
	return levels_equal(&a->col, &b->col) &&
	       levels_equal(&a->row, &b->row) &&
	       levels_equal(&a->co_col, &b->co_col);
}

/* Those of level k, as a row of the columns in use or the other way. */
static size_t holes(const struct table *t, size_t k, bool is_row)
{
	const struct np_levels *l = is_row ? &t->use->col : &t->use->row;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += is_row ? hole(t, k, l->at[i]) : hole(t, l->at[i], k);
	return n;
}

/* Leave out the row or column with most holes, until there are none. */
static void trim(const struct np_predictor *p, struct np_basis *use)
{
	const struct table t = { p->fabric.has_beside, p->n, use,
				 p->m->needs & NP_NEED_OWN_PRESSURE };
	struct np_levels *from;

	if (p->fabric.whole)
		return;
	do {
		size_t worst = 0, at = 0;

		from = NULL;
		for (int is_row = 1; is_row >= 0; is_row--) {
			struct np_levels *l = is_row ? &use->row : &use->col;

			for (size_t i = 0; i < l->n; i++) {
				size_t n = holes(&t, l->at[i], is_row);

				if (n <= worst)
					continue;
				worst = n;
				at = l->at[i];
				from = l;
			}
		}
		if (from)
			levels_drop(from, at);
	} while (from);
}

enum whose { VICTIM, CO_RUNNER, FABRIC };

/* What a model may need, what somebody has then, and what is said if not. */
static const struct {
	unsigned need;
	enum whose whose;
	unsigned has;
	const char *what;
} lacks[] = {
	{ NP_NEED_CURVE, VICTIM, NP_NEED_CURVE,
	  "no slowdown beside any level" },
	{ NP_NEED_TRACE, VICTIM, NP_NEED_TRACE, "no trace" },
	{ NP_NEED_OWN_PRESSURE, VICTIM, NP_NEED_PRESSURE,
	  "how much it slows the levels was not measured" },
	{ NP_NEED_LATENCY, CO_RUNNER, NP_NEED_LATENCY, "no probe latencies" },
	{ NP_NEED_HIST, CO_RUNNER, NP_NEED_HIST, "no latency histogram" },
	{ NP_NEED_PRESSURE, CO_RUNNER, NP_NEED_PRESSURE,
	  "how much it slows the levels was not measured" },
	{ NP_NEED_CO_CURVE, CO_RUNNER, NP_NEED_CURVE,
	  "no slowdown beside any level" },
	{ NP_NEED_IDLE, FABRIC, NP_NEED_IDLE,
	  "no latency of the idle fabric" },
	{ NP_NEED_LATENCY, FABRIC, NP_NEED_LATENCY,
	  "no latency beside any level" },
	{ NP_NEED_HIST, FABRIC, NP_NEED_HIST,
	  "no latency histograms of the idle fabric and the levels" },
	{ NP_NEED_BESIDE, FABRIC, NP_NEED_BESIDE,
	  "slowdown of the levels beside each other was not measured" },
};

static int check(const struct np_predictor *p, unsigned needs,
		 const struct np_ready *a, const struct np_ready *co,
		 struct np_err *err)
{
	const unsigned has[] = { a->draw.has, co->draw.has, p->fabric.has };
	const char *const name[] = { a->app->name, co->app->name, p->f->name };

	for (size_t i = 0; i < NP_ARRAY_SIZE(lacks); i++) {
		const char *what = lacks[i].what;

		if (!(needs & lacks[i].need) ||
		    has[lacks[i].whose] & lacks[i].has)
			continue;
		if (lacks[i].need == NP_NEED_TRACE && a->app->untraced)
			what = a->app->untraced;
		return np_errf(err, -ENODATA, "%s: %s", name[lacks[i].whose],
			       what);
	}
	return 0;
}

static bool level_serves(const struct np_predictor *p, size_t i,
			 unsigned needs)
{
	return (!(needs & NP_NEED_LATENCY) || p->fabric.has_latency[i]) &&
	       (!(needs & NP_NEED_HIST) || p->fabric.has_hist[i]);
}

/* Is the victim known beside level i, as far as it has to be? */
static bool serves_victim(const struct np_draw_program *va, size_t i,
			  unsigned needs)
{
	return va->has_curve[i] &&
	       (!(needs & NP_NEED_OWN_PRESSURE) || va->has_pressure[i]);
}

static bool serves_co(const struct np_draw_program *cb, size_t i,
		      unsigned needs)
{
	return cb->has_pressure[i] &&
	       (!(needs & NP_NEED_CO_CURVE) || cb->has_curve[i]);
}

static void fill(const struct np_predictor *p, const struct np_draw_program *va,
		 const struct np_draw_program *cb, unsigned needs,
		 struct np_basis *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (!level_serves(p, i, needs))
			continue;
		if (needs & NP_NEED_CURVE && serves_victim(va, i, needs))
			basis_add(&use->col, i);
		if (needs & NP_NEED_PRESSURE && serves_co(cb, i, needs))
			basis_add(&use->row, i);
		if (needs & NP_NEED_CO_CURVE && cb->has_curve[i])
			basis_add(&use->co_col, i);
	}
	if (needs & NP_NEED_BESIDE)
		trim(p, use);
}

/* Rows and columns of the levels that were all run beside each other. */
static void basis_levels(const struct np_predictor *p, struct np_basis *use)
{
	use->col.n = use->row.n = use->co_col.n = 0;
	for (size_t i = 0; i < p->n; i++) {
		basis_add(&use->col, i);
		basis_add(&use->row, i);
	}
	trim(p, use);
}

/* The levels that serve a question.  -ENODATA or -EDOM with err. */
static int basis_choose(const struct np_predictor *p,
			const struct np_ready *a, const struct np_ready *co,
			size_t n_co, struct np_basis *use,
			struct np_err *err)
{
	unsigned needs = p->m->needs;
	int rc;

	if (n_co > 1) /* the fixed point is for two; latencies add over idle */
		needs = (needs & ~(unsigned)NP_NEED_CO_CURVE) |
			(needs & NP_NEED_LATENCY ? NP_NEED_IDLE : 0);
	rc = check(p, needs, a, co, err);
	if (rc)
		return rc;
	fill(p, &a->draw, &co->draw, needs, use);
	if (needs & NP_NEED_CURVE && !use->col.n)
		return np_errf(err, -ENODATA, "%s: no level beside which it "
			       "ran has what model %s needs", a->app->name,
			       p->m->name);
	if (needs & NP_NEED_BESIDE && (use->col.n < 2 || use->row.n < 2))
		return np_errf(err, p->n < 2 ? -EDOM : -ENODATA,
			       "%s beside %s: %zu levels with its slowdown, "
			       "%zu with the pressure, expected at least 2 of "
			       "each that were run beside each other",
			       a->app->name, co->app->name, use->col.n,
			       use->row.n);
	return 0;
}

/* What a model is given of them; the programs are to be added. */
static void basis_data(const struct np_predictor *p,
		       const struct np_basis *use, size_t replicate,
		       struct np_data *v)
{
	*v = (struct np_data){
		.model = p->m,
		.fabric = &p->fabric.view[replicate], .n_co = 1,
		.col = &use->col, .row = &use->row, .co_col = &use->co_col,
		.nnls = p->nnls, .work = p->work, .ensemble = p->ensemble,
	};
}

/*
 * The weights of a model's members: each level beside each other is predicted
 * as if both were programs, and the weights are those, not negative and of sum
 * 1, under which the members together come nearest.  One set is for co-runners
 * within what the levels cover, another for those beyond.
 */

#define K NP_MODEL_MEMBERS
#define SUM 100.0 /* weight of "the weights sum to 1" */
#define RIDGE 0.3 /* pull towards equal weights, where levels are few */

/* Normal equations of one set of weights. */
struct stack {
	double gram[K * K], h[K];
};

static void start(struct stack *s)
{
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			s->gram[i * K + j] = SUM * SUM +
					     (i == j ? RIDGE * RIDGE : 0);
		s->h[i] = SUM * SUM + RIDGE * RIDGE / K;
	}
}

static void weigh_add(struct stack *s, const double member[K], double measured)
{
	double scale = 1 / (NP_MISS_FLOOR + fabs(measured));

	scale *= scale;
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			s->gram[i * K + j] += scale * member[i] * member[j];
		s->h[i] += scale * member[i] * measured;
	}
}

/* Level i beside level k, with neither in its own role among the levels. */
static void one_pair(struct np_predictor *p, const struct np_basis *all,
		     size_t i, size_t k, struct stack stack[2])
{
	double x[p->dim], y[p->dim], member[K];
	struct np_basis use = *all;
	struct np_data v;

	levels_drop(&use.row, i);
	levels_drop(&use.col, k);
	basis_data(p, &use, 0, &v);
	v.victim = &p->level[i];
	v.co = &p->level[k];
	memset(x, 0, sizeof(x));
	memset(y, 0, sizeof(y));
	if (p->m->describe(&v, x) || p->m->respond(&v, y))
		return;
	p->m->members(&v, x, y, member);
	weigh_add(&stack[v.flags & NP_PRED_BEYOND ? 1 : 0], member,
		  p->level[i].log_curve[k]);
}

static int solve(struct np_predictor *p, const struct stack *s, double *w,
		 struct np_err *err)
{
	double sum = 0;
	int rc = np_nnls_solve(p->nnls, s->gram, K, 0, s->h, K, w, false,
			       err);

	for (size_t i = 0; i < K; i++)
		sum += w[i];
	for (size_t i = 0; i < K; i++)
		w[i] /= sum;
	return rc;
}

/* np_model.c: weights of its members, if it is asked. */
static int ensemble_weigh(struct np_predictor *p, struct np_err *err)
{
	struct stack stack[2];
	struct np_basis all = { 0 };
	int rc;

	if (!p->m->members)
		return 0;
	p->ensemble = malloc(2 * K * sizeof(double));
	if (!p->ensemble)
		return np_errf(err, -ENOMEM, "no memory for the ensemble");
	basis_levels(p, &all);
	start(&stack[0]);
	start(&stack[1]);
	for (size_t i = 0; i < all.row.n && all.col.n > 2; i++)
		for (size_t k = 0; k < all.col.n; k++)
			one_pair(p, &all, all.row.at[i], all.col.at[k], stack);
	rc = solve(p, &stack[0], p->ensemble, err);
	return rc ? rc : solve(p, &stack[1], p->ensemble + K, err);
}

/* The levels as programs: rows of what they suffer, columns of what they do. */
static int predictor_make_levels(struct np_predictor *p)
{
	const struct np_data_fabric *f = &p->fabric.view[0];
	size_t n = p->n;
	double *column, *fit_column;

	p->level = calloc(n + 1, sizeof(*p->level));
	p->level_store = calloc(2 * n * n + 1, sizeof(double));
	if (!p->level || !p->level_store)
		return -ENOMEM;
	column = p->level_store;
	fit_column = column + n * n;
	for (size_t i = 0; i < n; i++) {
		const double *row = f->log_beside + i * n;
		const double *fit = f->fit_beside + i * n;

		for (size_t j = 0; j < n; j++) {
			column[j * n + i] = row[j];
			fit_column[j * n + i] = fit[j];
		}
		p->level[i] = (struct np_data_program){
			.latency = f->level[i],
			.log_curve = row,
			.log_pressure = column + i * n,
			.fit_curve = fit,
			.fit_pressure = fit_column + i * n,
		};
	}
	return 0;
}

static int make_halves(struct np_predictor *p)
{
	struct np_level_halves *s = &p->halves;

	s->flags = calloc(p->n + 1, sizeof(*s->flags));
	for (int side = 0; side < NP_SIDES; side++) {
		s->z[side] = calloc(p->n * p->dim + 1, sizeof(*s->z[side]));
		s->rc[side] = calloc(p->n + 1, sizeof(*s->rc[side]));
		if (!s->z[side] || !s->rc[side])
			return -ENOMEM;
	}
	return s->flags ? 0 : -ENOMEM;
}

static int make(struct np_predictor *p, struct np_err *err)
{
	int rc = np_draw_fabric(p->f, &p->draw, &p->fabric, err);

	if (rc)
		return rc;
	p->nnls = np_nnls_new(p->n + 1 > NP_MODEL_MEMBERS ? p->n + 1 :
			      NP_MODEL_MEMBERS);
	p->work = malloc(NP_MODEL_WORK(p->n) * sizeof(double));
	p->sample = malloc(3 * p->fabric.n * sizeof(double));
	if (!p->nnls || !p->work || !p->sample || predictor_make_levels(p) ||
	    make_halves(p))
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       p->f->name);
	return ensemble_weigh(p, err);
}

int np_predictor_new(const struct np_fabric *f, const struct np_model *m,
		     const struct np_predict_opt *opt,
		     struct np_predictor **out, struct np_err *err)
{
	struct np_predictor *p;
	int rc = np_fabric_check(f, err);

	if (rc)
		return rc;
	if (opt->replicates > NP_PREDICT_MAX_REPLICATES)
		return np_errf(err, -EINVAL, "%zu bootstrap samples, expected "
			       "at most %d", opt->replicates,
			       NP_PREDICT_MAX_REPLICATES);
	p = calloc(1, sizeof(*p));
	if (!p)
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       f->name);
	p->f = f;
	p->m = m;
	p->opt = *opt;
	p->n = f->n_levels;
	p->dim = np_model_dim(m, p->n);
	p->draw = (struct np_draw_opt){
		.replicates = opt->replicates,
		.seed = opt->seed,
		.needs = m->needs,
	};
	rc = make(p, err);
	if (rc) {
		np_predictor_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

/*
 * The predictor of the model that answers where this one's
 * data is missing; *out is NULL if there is none.
 */
static int predictor_fallback(struct np_predictor *p,
			      struct np_predictor **out, struct np_err *err)
{
	const struct np_model *m;

	*out = NULL;
	if (!p->m->fallback || p->opt.strict)
		return 0;
	m = np_model_find(p->m->fallback, err);
	if (!p->fallback) {
		int rc = np_predictor_new(p->f, m, &p->opt, &p->fallback, err);

		if (rc)
			return rc;
	}
	*out = p->fallback;
	return 0;
}

void np_predictor_free(struct np_predictor *p)
{
	if (!p)
		return;
	np_predictor_free(p->fallback);
	np_draw_fabric_free(&p->fabric);
	np_nnls_free(p->nnls);
	free(p->level);
	free(p->level_store);
	for (int side = 0; side < NP_SIDES; side++) {
		free(p->halves.z[side]);
		free(p->halves.rc[side]);
	}
	free(p->halves.flags);
	free(p->work);
	free(p->sample);
	free(p->ensemble);
	free(p);
}

/*
 * One program's half of a question, for all replicates, and by how much the
 * model misses what is known of that program when one level at a time is left
 * out.  A level is itself a program whose slowdowns are known: the victim's
 * beside it, and its own beside the co-runner.  So each shows by how much the
 * model would have missed it, with neither the level nor any pair of programs
 * among what the model was given.
 */

/* The levels that tell of a program on that side. */
static struct np_levels *levels_of(struct np_basis *use, enum np_side side)
{
	return side == NP_VICTIM ? &use->col : &use->row;
}

/* What a model is given where level k tells nothing of that side. */
static void data_without(const struct np_predictor *p,
			 const struct np_basis *use, enum np_side side,
			 size_t k, struct np_basis *less, struct np_data *v)
{
	*less = *use;
	levels_drop(levels_of(less, side), k);
	basis_data(p, less, 0, v);
}

static int half_ask(const struct np_predictor *p, enum np_side side,
		    const struct np_data_program *a, struct np_data *v, double *z,
		    bool warm)
{
	v->warm = warm;
	if (side == NP_VICTIM) {
		v->victim = a;
		return p->m->respond(v, z);
	}
	v->co = a;
	return p->m->describe(v, z);
}

static bool all_known(const bool *known, size_t stride,
		      const struct np_levels *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!known[l->at[i] * stride])
			return false;
	return true;
}

/* Can level k stand for a program on that side, with the levels in use? */
static bool can_stand(const struct np_predictor *p, const struct np_basis *use,
		      enum np_side side, size_t k)
{
	const struct np_draw_fabric *d = &p->fabric;
	const bool *row = d->has_beside + k * p->n;
	unsigned needs = p->m->needs;

	if (side == NP_VICTIM)
		return all_known(row, 1, &use->col);
	return (!(needs & NP_NEED_LATENCY) || d->has_latency[k]) &&
	       (!(needs & NP_NEED_HIST) || d->has_hist[k]) &&
	       all_known(d->has_beside + k, p->n, &use->row) &&
	       all_known(row, 1, &use->co_col);
}

/* Level k as that side of a question, were it not among the other's levels. */
static int level_half(struct np_predictor *p, const struct np_basis *use,
		      enum np_side side, size_t k)
{
	struct np_level_halves *h = &p->halves;
	struct np_basis less;
	struct np_data v;
	int rc;

	if (!can_stand(p, use, side, k))
		return -1;
	data_without(p, use, !side, k, &less, &v);
	if (!less.col.n)
		return -1;
	rc = half_ask(p, side, &p->level[k], &v, h->z[side] + k * p->dim, false);
	if (side == NP_CO)
		h->flags[k] = v.flags;
	return rc;
}

static void half_make_levels(struct np_predictor *p, const struct np_basis *use)
{
	struct np_level_halves *h = &p->halves;

	if (h->ready && basis_equal(&h->use, use))
		return;
	h->use = *use;
	for (size_t k = 0; k < p->n; k++)
		for (int side = 0; side < NP_SIDES; side++)
			h->rc[side][k] = level_half(p, use, side, k);
	h->ready = true;
}

static void half_note(struct np_half *s, double measured, double predicted,
		      unsigned flags)
{
	struct np_miss *m = &s->miss[s->n_miss];

	if (!isfinite(predicted))
		return;
	m->log_slow = predicted;
	m->error = measured - predicted;
	m->beyond = flags & NP_PRED_BEYOND;
	s->n_miss++;
}

/* The program beside each level that it was measured beside, or it beside. */
static void leave_out(struct np_predictor *p, enum np_side side,
		      const struct np_draw_program *d, size_t n_co,
		      struct np_half *s)
{
	const struct np_data_program *a = &d->view[0];
	const struct np_level_halves *h = &p->halves;

	half_make_levels(p, &s->use);
	for (size_t k = 0; k < p->n; k++) {
		const double *level = h->z[!side] + k * p->dim;
		struct np_basis less;
		struct np_data v;
		double z[p->dim], log_slow;

		if (h->rc[!side][k])
			continue;
		data_without(p, &s->use, side, k, &less, &v);
		if (side == NP_VICTIM ? less.col.n == s->use.col.n :
					!d->has_pressure[k])
			continue; /* was not measured */
		v.n_co = n_co;
		memcpy(z, s->z, sizeof(z)); /* that of all levels is near */
		if (half_ask(p, side, a, &v, z, true) ||
		    p->m->join(&v, side == NP_VICTIM ? level : z,
			       side == NP_VICTIM ? z : level, &log_slow))
			continue;
		if (side == NP_VICTIM)
			half_note(s, a->log_curve[k], log_slow, h->flags[k]);
		else
			half_note(s, a->log_pressure[k], log_slow, v.flags);
	}
}

static void drop_part(struct np_basis *use, size_t n_levels, size_t part)
{
	size_t parts = n_levels < NP_LESS_PARTS ? n_levels : NP_LESS_PARTS;

	for (size_t i = 0; i < n_levels; i++)
		if (i * parts / n_levels == part) {
			levels_drop(&use->col, i);
			levels_drop(&use->row, i);
			levels_drop(&use->co_col, i);
		}
}

/*
 * The half once more without each part of the levels, as if that had never
 * been measured, for np_predict.c to see what rests on it.  What a level tells
 * of the victim and of the co-runner is left out together.
 */
static void make_less(struct np_predictor *p, enum np_side side,
		      const struct np_data_program *a, size_t n_co,
		      struct np_half *s)
{
	for (size_t k = 0; k < NP_LESS_PARTS; k++) {
		double *z = s->less + k * p->dim;
		struct np_basis less = s->use;
		struct np_data v;

		drop_part(&less, p->n, k);
		basis_data(p, &less, 0, &v);
		v.n_co = n_co;
		memcpy(z, s->z, p->dim * sizeof(*z)); /* which is near */
		s->has_less[k] = less.col.n >= NP_LESS_LEVELS &&
				 less.row.n >= NP_LESS_LEVELS &&
				 !basis_equal(&less, &s->use) &&
				 !half_ask(p, side, a, &v, z, true);
	}
}

/*
 * The two halves of a program are the same numbers, with these levels in use
 * and a model that answers both ways at once.
 */
static bool same(const struct np_predictor *p, const struct np_half *other,
		 const struct np_basis *use)
{
	return p->m->join_both && other->ready &&
	       basis_equal(&other->use, use) &&
	       levels_equal(&use->row, &use->col);
}

/* *n: how many views are to be done; one alone tells the flags. */
static int begin(struct np_predictor *p, const struct np_basis *use,
		 const struct np_half *other, struct np_half *s, size_t *n,
		 struct np_err *err)
{
	*n = p->fabric.n;
	if (s->z == other->z)
		s->z = s->less = NULL;
	if (same(p, other, use)) {
		free(s->z);
		free(s->less);
		s->z = other->z;
		s->less = other->less;
		*n = 1;
	}
	if (!s->z)
		s->z = calloc(p->fabric.n * p->dim, sizeof(*s->z));
	if (!s->less)
		s->less = calloc(NP_LESS_PARTS * p->dim, sizeof(*s->less));
	if (!s->miss)
		s->miss = calloc(p->n + 1, sizeof(*s->miss));
	if (!s->z || !s->less || !s->miss)
		return np_errf(err, -ENOMEM, "no memory for %zu bootstrap "
			       "samples", p->opt.replicates);
	s->use = *use;
	s->ready = false;
	s->flags = 0;
	s->n_miss = 0;
	return 0;
}

/* A replicate starts from the measured one's answer, which is near. */
static double *row(const struct np_predictor *p, struct np_half *s, size_t r)
{
	double *z = s->z + r * p->dim;

	if (r)
		memcpy(z, s->z, p->dim * sizeof(*z));
	return z;
}

/*
 * One half of a program that is drawn, with what leaving levels out
 * says about it; from memory if the levels are those of before.  n_co: of the
 * victim 1.
 */
static int half_make(struct np_predictor *p, struct np_ready *a,
		     enum np_side side, size_t n_co,
		     const struct np_basis *use, struct np_err *err)
{
	struct np_half *s = &a->half[side];
	struct np_data v;
	size_t n;
	int rc;

	if (s->ready && basis_equal(&s->use, use))
		return 0;
	rc = begin(p, use, &a->half[!side], s, &n, err);
	for (size_t r = 0; !rc && r < n; r++) {
		basis_data(p, use, r, &v);
		v.n_co = n_co;
		v.err = err;
		rc = half_ask(p, side, &a->draw.view[r], &v, row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	if (s->less == a->half[!side].less)
		memcpy(s->has_less, a->half[!side].has_less,
		       sizeof(s->has_less));
	else if (np_model_is_of_levels(p->m))
		make_less(p, side, &a->draw.view[0], n_co, s);
	if (p->opt.replicates)
		leave_out(p, side, &a->draw, n_co, s);
	s->ready = true;
	return 0;
}

static void half_free(struct np_ready *a, enum np_side side)
{
	struct np_half *s = &a->half[side];

	if (s->z != a->half[!side].z) {
		free(s->z);
		free(s->less);
	}
	free(s->miss);
	s->z = s->less = NULL;
	s->miss = NULL;
	s->ready = false;
}

/* Programs made ready for questions, and one question answered from them. */

/* Below this speed an answer says "stands still", not how still. */
#define SPEED_MIN 1e-3

static void ready_free(struct np_ready *r)
{
	np_draw_program_free(&r->draw);
	half_free(r, NP_CO);
	half_free(r, NP_VICTIM);
}

/*
 * For one that np_program_check() takes; r is all 0 before.  Its numbers are
 * drawn when they are needed.  Free also after a failure.
 */
static int ready_make(struct np_predictor *p, const struct np_program *a,
		      struct np_ready *r, struct np_err *err)
{
	r->app = a;
	return np_draw_known(a, p->f, &r->draw, err);
}

static int ready_draw(struct np_predictor *p, struct np_ready *r,
		      struct np_err *err)
{
	return r->draw.view ? 0 : np_draw_views(r->app, p->f, &p->draw,
						&r->draw, err);
}

/* The effect of the scope on log(1 + slowdown). */
static double couple(double log_slow, double k, unsigned *flags)
{
	double speed = 1 - k + k * exp(-log_slow);

	if (!(speed > SPEED_MIN)) {
		speed = SPEED_MIN;
		*flags |= NP_PRED_CLAMPED;
	}
	return -log(speed);
}

/* Replicate s of the victim beside replicate r of the co-runner. */
static void question(const struct np_predictor *p, const struct np_ready *a,
		     size_t s, const struct np_ready *co, size_t r, size_t n_co,
		     struct np_data *v)
{
	basis_data(p, &co->half[NP_CO].use, r, v);
	v->victim = &a->draw.view[s];
	v->co = &co->draw.view[r];
	v->n_co = n_co;
}

/* Of slowdowns; NaN: there are none. */
struct range {
	double low, high;
};

/*
 * What the answer would be if a part of the levels had not been measured, for
 * each: an answer that rests on one of them is as wrong as that may be.
 */
static void leave_levels_out(struct np_predictor *p, const struct np_ready *a,
			     const struct np_ready *co, size_t n_co,
			     enum np_scope scope, struct range *out)
{
	const struct np_half *x = &co->half[NP_CO], *y = &a->half[NP_VICTIM];
	const struct np_mean *k = &p->f->coupling[scope];
	double kappa = np_mean_known(k) ? k->mean : 1;

	for (size_t i = 0; i < NP_LESS_PARTS; i++) {
		unsigned ignored = 0;
		struct np_data v;
		double z;

		if (!x->has_less[i] || !y->has_less[i])
			continue;
		question(p, a, 0, co, 0, n_co, &v);
		if (p->m->join(&v, x->less + i * p->dim, y->less + i * p->dim,
			       &z) || !isfinite(z))
			continue;
		z = expm1(couple(z, kappa, &ignored));
		out->low = fmin(out->low, z); /* a number beside NaN */
		out->high = fmax(out->high, z);
	}
}

static void couple_all(struct np_predictor *p, enum np_scope scope,
		       double *log_slow, struct np_prediction *out)
{
	const struct np_mean *k = &p->f->coupling[scope];
	double sd = isfinite(k->sd) && k->n ? k->sd / sqrt(k->n) : 0;
	struct np_rng *rng;

	out->coupling = np_mean_known(k) ? k->mean : 1;
	if (!np_mean_known(k)) {
		out->flags |= NP_PRED_NO_COUPLING;
		return;
	}
	rng = sd > 0 ? np_rng_new(p->opt.seed, "coupling") : NULL;
	for (size_t r = 0; r < p->fabric.n; r++) {
		unsigned ignored = 0, *flags = r ? &ignored : &out->flags;
		double kr = k->mean;

		if (r && rng)
			kr = fmax(0, kr + sd * np_rng_normal(rng));
		log_slow[r] = couple(log_slow[r], kr, flags);
	}
	np_rng_free(rng);
}

/* Join replicate s of the victim's half with replicate r of the co-runner's. */
static int ready_join(struct np_predictor *p, const struct np_ready *a,
		      size_t s, const struct np_ready *co, size_t r,
		      size_t n_co, double *log_slow, unsigned *flags)
{
	struct np_data v;
	int rc;

	question(p, a, s, co, r, n_co, &v);
	v.flags = *flags;
	rc = p->m->join(&v, co->half[NP_CO].z + r * p->dim,
			a->half[NP_VICTIM].z + s * p->dim, log_slow);
	*flags = v.flags;
	return rc;
}

static void describe_use(const struct np_predictor *p, const struct np_ready *a,
			 const struct np_ready *co, struct np_prediction *out)
{
	const struct np_basis *use = &co->half[NP_CO].use;

	out->model = p->m;
	out->used = p->m->needs;
	out->n_curve = use->col.n;
	out->n_pressure = use->row.n;
	out->n_left_out = co->half[NP_CO].n_miss + a->half[NP_VICTIM].n_miss;
	if (p->m->needs & NP_NEED_LATENCY)
		out->n_probes = co->app->latency.all.n;
	if ((p->m->needs & NP_NEED_CURVE && use->col.n < p->n) ||
	    (p->m->needs & NP_NEED_PRESSURE && use->row.n < p->n))
		out->flags |= NP_PRED_PARTIAL;
}

/* A model that looks at nothing has nothing to be uncertain about. */
static bool with_interval(const struct np_predictor *p)
{
	return p->opt.replicates && p->m->needs;
}

static double scale_of(double log_slow)
{
	return NP_MISS_FLOOR + fabs(log_slow);
}

/* Misses of predictions of the same kind, scaled. */
static size_t collect(const struct np_half *s, bool beyond, double *to)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_miss; i++)
		if (beyond || !s->miss[i].beyond)
			to[n++] = s->miss[i].error /
				  scale_of(s->miss[i].log_slow);
	return n;
}

/* Add the model's own error to the replicates of n views, the point first. */
static void widen(const struct np_half *x, const struct np_half *y,
		  double *log_slow, size_t n, unsigned *flags)
{
	double miss[2 * NP_FABRIC_MAX_LEVELS], scale = scale_of(log_slow[0]);
	bool beyond = *flags & NP_PRED_BEYOND;
	size_t n_miss = collect(x, beyond, miss);

	n_miss += collect(y, beyond, miss + n_miss);
	if (!n_miss) {
		*flags |= NP_PRED_NOISE_ONLY;
		return;
	}
	for (size_t r = 1; r < n; r++) {
		/* The golden ratio spreads the misses over replicates. */
		double u = fmod((double)r * 0.6180339887498949, 1);

		log_slow[r] += scale * miss[(size_t)(u * (double)n_miss)];
	}
}

/* Sorts the replicates. */
static void interval(double *log_slow, size_t n, double *low, double *high)
{
	const double tail = (1 - NP_PREDICT_COVERAGE) / 2;
	double point = log_slow[0], *z = log_slow + 1;

	gsl_sort(z, 1, n - 1);
	*low = expm1(fmin(point, gsl_stats_quantile_from_sorted_data(
					 z, 1, n - 1, tail)));
	*high = expm1(fmax(point, gsl_stats_quantile_from_sorted_data(
					  z, 1, n - 1, 1 - tail)));
}

static unsigned flags_of(const struct np_predictor *p, const struct np_ready *a,
			 const struct np_ready *co)
{
	return co->half[NP_CO].flags | a->half[NP_VICTIM].flags |
	       a->draw.flags | co->draw.flags | p->fabric.flags;
}

/*
 * Does the co-runner slow a level more than every level does?  Then the answer
 * lies outside of all that was measured.
 */
static bool is_past_levels(const struct np_predictor *p,
			   const struct np_ready *co)
{
	const struct np_levels *row = &co->half[NP_CO].use.row;
	const double *pressure = co->draw.view[0].log_pressure;

	for (size_t i = 0; i < row->n; i++) {
		const double *beside = p->fabric.view[0].log_beside +
				       row->at[i] * p->n;

		if (pressure[row->at[i]] > gsl_stats_max(beside, 1, p->n) +
					   NP_PREDICT_DOUBT_PAST)
			return true;
	}
	return false;
}

/*
 * What the answer itself shows to be wrong with it.  *less: as answered with
 * a part of the levels left out.
 */
static unsigned doubts(struct np_predictor *p, const struct np_ready *a,
		       const struct np_ready *co, size_t n_co,
		       enum np_scope scope, double log_slow, struct range *less)
{
	unsigned flags = 0;

	*less = (struct range){ NAN, NAN };
	if (!np_model_is_of_levels(p->m))
		return 0;
	leave_levels_out(p, a, co, n_co, scope, less);
	if (less->high - less->low > NP_PREDICT_DOUBT_POINTS &&
	    fmax(log1p(less->high) - log_slow, log_slow - log1p(less->low)) >
		    NP_PREDICT_DOUBT_SHARE * scale_of(log_slow))
		flags |= NP_PRED_ONE_LEVEL;
	if (n_co == 1 && is_past_levels(p, co))
		flags |= NP_PRED_PAST_LEVELS;
	return flags;
}

/* The answer from what the model said of each view, or its rc. */
static int ready_answer(struct np_predictor *p, const struct np_ready *a,
			const struct np_ready *co, size_t n_co, enum np_scope scope,
			int rc, double *z, struct np_prediction *out,
			struct np_err *err)
{
	struct range less;

	if (rc || !isfinite(z[0]))
		return np_errf(err, rc ? rc : -EDOM, "%s beside %s: model %s "
			       "has no answer", a->app->name, co->app->name,
			       p->m->name);
	describe_use(p, a, co, out);
	if (with_interval(p))
		widen(&co->half[NP_CO], &a->half[NP_VICTIM], z, p->fabric.n,
		      &out->flags);
	couple_all(p, scope, z, out);
	out->flags |= doubts(p, a, co, n_co, scope, z[0], &less);
	out->slowdown = expm1(z[0]);
	if (!with_interval(p)) {
		out->flags |= NP_PRED_NO_INTERVAL;
		return 0;
	}
	interval(z, p->fabric.n, &out->low, &out->high);
	out->low = fmin(out->low, less.low); /* a number beside NaN */
	out->high = fmax(out->high, less.high);
	return 0;
}

/* Both sides of a question. */
static int make_sides(struct np_predictor *p, struct np_ready *a,
		      struct np_ready *co, size_t n_co, struct np_err *err)
{
	struct np_basis use;
	int rc = basis_choose(p, a, co, n_co, &use, err);

	if (!rc)
		rc = ready_draw(p, a, err);
	if (!rc)
		rc = ready_draw(p, co, err);
	if (!rc)
		rc = half_make(p, co, NP_CO, n_co, &use, err);
	return rc ? rc : half_make(p, a, NP_VICTIM, 1, &use, err);
}

/* The answer for two that are ready; -ENODATA as basis_choose() says. */
static int ready_pair(struct np_predictor *p, struct np_ready *a,
		      struct np_ready *co, size_t n_co, enum np_scope scope,
		      struct np_prediction *out, struct np_err *err)
{
	int rc = make_sides(p, a, co, n_co, err);
	double *z = p->sample;

	if (rc)
		return rc;
	*out = (struct np_prediction){ .low = NAN, .high = NAN };
	out->flags = flags_of(p, a, co);
	for (size_t r = 0; !rc && r < p->fabric.n; r++) {
		unsigned ignored = out->flags;

		rc = ready_join(p, a, r, co, r, n_co, &z[r],
				r ? &ignored : &out->flags);
	}
	return ready_answer(p, a, co, n_co, scope, rc, z, out, err);
}

/*
 * Both ways of a pair, each with its rc: out[0] is a beside b.  False if they
 * have to be asked one by one.
 */
static bool ready_both(struct np_predictor *p, struct np_ready *a,
		       struct np_ready *b, enum np_scope scope,
		       struct np_prediction *const out[2], int rc[2])
{
	const struct np_half *x = &b->half[NP_CO], *y = &a->half[NP_VICTIM];
	const struct np_basis *back = &a->half[NP_CO].use;
	double *z = p->sample, *z_back = z + p->fabric.n;
	int joined = 0;

	if (!p->m->join_both || make_sides(p, a, b, 1, NULL) ||
	    make_sides(p, b, a, 1, NULL) ||
	    !levels_equal(&x->use.row, &back->col) ||
	    !levels_equal(&x->use.col, &back->row))
		return false;
	for (size_t r = 0; !joined && r < p->fabric.n; r++) {
		double both[2];
		struct np_data v;

		question(p, a, r, b, r, 1, &v);
		joined = p->m->join_both(&v, x->z + r * p->dim,
					 y->z + r * p->dim, both);
		z[r] = both[0];
		z_back[r] = both[1];
	}
	*out[0] = *out[1] =
		(struct np_prediction){ .low = NAN, .high = NAN };
	out[0]->flags = flags_of(p, a, b);
	out[1]->flags = flags_of(p, b, a);
	rc[0] = ready_answer(p, a, b, 1, scope, joined, z, out[0], NULL);
	rc[1] = ready_answer(p, b, a, 1, scope, joined, z_back, out[1], NULL);
	return true;
}

/*
 * Which measurement would narrow the interval most?  The variance of the
 * answer is taken apart by redrawing one half at a time.
 */

/* One question, answered and now taken apart. */
struct advice_task {
	struct np_predictor *p;
	const struct np_ready *a, *co;
	size_t n_co, n; /* co-runners; replicates */
	double *z;	/* n answers */
};

/* Answers while only one half is redrawn; their variance. */
static double redraw(struct advice_task *t, bool victim)
{
	unsigned ignored = 0;

	for (size_t r = 0; r < t->n; r++)
		if (ready_join(t->p, t->a, victim ? r + 1 : 0, t->co,
			       victim ? 0 : r + 1, t->n_co, &t->z[r],
			       &ignored))
			return 0;
	return gsl_stats_variance(t->z, 1, t->n);
}

static const double *input(const struct advice_task *t, size_t r, bool victim)
{
	return victim ? t->a->draw.view[r + 1].log_curve :
			t->co->draw.view[r + 1].log_pressure;
}

/* Variance of the answers in t->z that goes along with level i's number. */
static double explained(const struct advice_task *t, bool victim, size_t i,
			double *work)
{
	double var;

	for (size_t r = 0; r < t->n; r++)
		work[r] = input(t, r, victim)[i];
	var = gsl_stats_variance(work, 1, t->n);
	if (!(var > 0))
		return 0;
	var = gsl_stats_covariance(work, 1, t->z, 1, t->n) / sqrt(var);
	return var * var;
}

/* The level whose number moves the answer most; *sum: what all explain. */
static size_t strongest(const struct advice_task *t, bool victim, double *sum)
{
	const struct np_basis *use = &t->co->half[NP_CO].use;
	const struct np_levels *list = victim ? &use->col : &use->row;
	size_t at = 0;
	double top = -1, *work = t->z + t->n, e;

	*sum = 0;
	for (size_t i = 0; i < list->n; i++) {
		e = explained(t, victim, list->at[i], work);
		*sum += e;
		if (e > top) {
			top = e;
			at = list->at[i];
		}
	}
	return at;
}

/* Variance of what the model misses when levels are left out. */
static double missed(const struct np_half *x, const struct np_half *y)
{
	double sum = 0;
	size_t n = x->n_miss + y->n_miss;

	for (size_t i = 0; i < x->n_miss; i++)
		sum += x->miss[i].error * x->miss[i].error;
	for (size_t i = 0; i < y->n_miss; i++)
		sum += y->miss[i].error * y->miss[i].error;
	return n ? sum / (double)n : 0;
}

/* How far level i is from the co-runners, on the model's own scale. */
static double distance(const struct advice_task *t, size_t i)
{
	const struct np_data_fabric *f = &t->p->fabric.view[0];
	const struct np_data_program *co = &t->co->draw.view[0];
	const struct np_basis *use = &t->co->half[NP_CO].use;
	double sum = 0;

	if (!(t->p->m->needs & NP_NEED_PRESSURE))
		return fabs(f->level[i].mean - co->latency.mean);
	for (size_t r = 0; r < use->row.n; r++)
		sum += f->fit_beside[use->row.at[r] * f->n_levels + i] -
		       co->fit_pressure[use->row.at[r]];
	return fabs(sum);
}

/* The level most like the co-runners, among all or those of the curve. */
static size_t nearest(const struct advice_task *t, bool of_curve)
{
	const struct np_basis *use = &t->co->half[NP_CO].use;
	size_t n = of_curve ? use->col.n : t->p->n, at = 0;
	double best = INFINITY;

	for (size_t c = 0; c < n; c++) {
		size_t i = of_curve ? use->col.at[c] : c;
		double d = distance(t, i);

		if (d < best) {
			best = d;
			at = i;
		}
	}
	return at;
}

static double coupling_var(const struct np_predictor *p, enum np_scope scope,
			   double log_slow)
{
	const struct np_mean *k = &p->f->coupling[scope];
	double loss = 1 - exp(-log_slow);

	/* One that was never measured has its own flag. */
	return k->n && isfinite(k->sd) ? loss * loss * k->sd * k->sd / k->n : 0;
}

static void advise_curve(struct advice_task *t, struct np_prediction *out)
{
	double sum;

	out->more = NP_MORE_CURVE;
	redraw(t, true);
	out->more_level = strongest(t, true, &sum);
}

static void advise_co(struct advice_task *t, double var,
		      struct np_prediction *out)
{
	double sum;
	size_t level;

	redraw(t, false);
	if (t->p->m->needs & NP_NEED_LATENCY) {
		out->more = NP_MORE_LATENCY;
		return;
	}
	level = strongest(t, false, &sum);
	out->more = sum < var / 2 ? NP_MORE_CALIBRATION : NP_MORE_PRESSURE;
	out->more_level = level;
}

/* Fill in out->more, for an answer that is otherwise complete. */
static void advise(struct np_predictor *p, const struct np_ready *a,
		   const struct np_ready *co, size_t n_co,
		   enum np_scope scope, struct np_prediction *out)
{
	struct advice_task t = { p, a, co, n_co, p->opt.replicates, p->sample };
	double curve, press, model, k;
	size_t like;

	if (!(p->m->needs & NP_NEED_CURVE))
		return;
	like = nearest(&t, false);
	curve = redraw(&t, true);
	press = redraw(&t, false);
	model = missed(&co->half[NP_CO], &a->half[NP_VICTIM]);
	k = coupling_var(p, scope, log1p(out->slowdown));
	if (!a->draw.has_curve[like]) {
		out->more = NP_MORE_CURVE;
		out->more_level = like;
	} else if (k > fmax(curve, fmax(press, model))) {
		out->more = NP_MORE_COUPLING;
	} else if (model > fmax(curve, press)) {
		out->more = NP_MORE_LEVELS;
		out->more_level = nearest(&t, true);
	} else if (curve >= press) {
		advise_curve(&t, out);
	} else {
		advise_co(&t, press, out);
	}
}

/* Many pairs at once: what they have in common is computed once. */

/*
 * Co-runners asked about together: few enough that their sides stay in the
 * cache, while the victims' sides, which do not fit, pass by.
 */
#define BLOCK 8

struct matrix_task {
	struct np_predictor *p;
	const struct np_program *const *app;
	size_t n;
	enum np_scope scope;
	bool around;	/* only pairs that the first program is one of */
	bool fell_back;
	bool left;	/* some pairs had no answer for want of data */
	size_t *order;	/* in which programs are asked about */
	bool *known;	/* of each: beside which levels, and these beside it */
	struct np_prediction *out;
	int *rc;
};

/* Where the answer goes. */
static size_t place(const struct matrix_task *t, size_t v, size_t c)
{
	return t->around && v ? t->n - 1 + v : v * t->n + c;
}

static size_t pairs(const struct matrix_task *t)
{
	return t->around ? 2 * t->n - 1 : t->n * t->n;
}

/* What became of one pair.  Returns 0 or -ENOMEM. */
static int matrix_note(struct matrix_task *t, size_t at, int rc)
{
	if (!rc && t->fell_back)
		t->out[at].flags |= NP_PRED_FELL_BACK;
	t->left |= rc == -ENODATA;
	t->rc[at] = rc;
	return rc == -ENOMEM ? rc : 0;
}

/*
 * One pair, if it is still without an answer, and with it the other way round
 * if the model answers both at once.  Returns 0 or -ENOMEM.
 */
static int cell(struct matrix_task *t, size_t v, struct np_ready *victim,
		size_t c, struct np_ready *co)
{
	size_t at = place(t, v, c), back = place(t, c, v);
	struct np_prediction *const out[2] = { &t->out[at], &t->out[back] };
	int rc[2];

	if (t->rc[at] != -ENODATA)
		return 0;
	if (v == c || !ready_both(t->p, victim, co, t->scope, out, rc))
		return matrix_note(t, at, ready_pair(t->p, victim, co, 1, t->scope,
						     out[0], NULL));
	matrix_note(t, at, rc[0]);
	return matrix_note(t, back, rc[1]);
}

/*
 * Halves of a question serve the next one if that has the same levels in use:
 * programs that are known beside the same levels follow each other.
 */
static int by_levels(const void *x, const void *y, void *arg)
{
	const struct matrix_task *t = arg;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	size_t n = 2 * t->p->n;
	int diff = memcmp(t->known + i * n, t->known + j * n, n);

	return diff ? diff : (i > j) - (i < j);
}

static void know(const struct np_mean *m, size_t n, bool *known)
{
	for (size_t i = 0; m && i < n; i++)
		known[i] = np_mean_known(&m[i]);
}

static int make_order(struct matrix_task *t)
{
	size_t n = t->p->n;

	t->order = malloc(t->n * sizeof(*t->order));
	t->known = calloc(2 * n * t->n + 1, sizeof(*t->known));
	if (!t->order || !t->known)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		t->order[i] = i;
		know(t->app[i]->curve, n, t->known + 2 * n * i);
		know(t->app[i]->pressure, n, t->known + 2 * n * i + n);
	}
	qsort_r(t->order, t->n, sizeof(*t->order), by_levels, t);
	return 0;
}

/* Is there a pair with it that has no answer yet? */
static bool is_asked(const struct matrix_task *t, size_t i)
{
	for (size_t j = 0; j < t->n; j++)
		if (t->rc[place(t, i, j)] == -ENODATA ||
		    t->rc[place(t, j, i)] == -ENODATA)
			return true;
	return false;
}

static int matrix_pass(struct matrix_task *t, struct np_ready *ready,
		       struct np_err *err)
{
	const size_t *order = t->order;
	int rc = 0;

	for (size_t i = 0; !rc && i < t->n; i++)
		if (is_asked(t, i))
			rc = ready_make(t->p, t->app[i], &ready[i], err);
	for (size_t from = 0; !rc && from < t->n; from += BLOCK) {
		size_t n = from + BLOCK < t->n ? BLOCK : t->n - from;

		for (size_t at = 0; !rc && at < t->n * n; at++) {
			size_t v = order[at / n], c = order[from + at % n];

			rc = cell(t, v, &ready[v], c, &ready[c]);
		}
		for (size_t k = from; k < from + n; k++) /* not asked again */
			half_free(&ready[order[k]], NP_CO);
	}
	return rc;
}

/* Each other is needed once, for both ways. */
static int around_pass(struct matrix_task *t, struct np_ready *ready,
		       struct np_err *err)
{
	struct np_ready *first = &ready[0], *other = &ready[1];
	int rc = ready_make(t->p, t->app[0], first, err);

	if (!rc)
		rc = cell(t, 0, first, 0, first);
	for (size_t k = 0; !rc && k < t->n; k++) {
		size_t i = t->order[k];

		if (!i || (t->rc[place(t, 0, i)] != -ENODATA &&
			   t->rc[place(t, i, 0)] != -ENODATA))
			continue;
		rc = ready_make(t->p, t->app[i], other, err);
		if (!rc)
			rc = cell(t, 0, first, i, other);
		if (!rc)
			rc = cell(t, i, other, 0, first);
		ready_free(other);
	}
	return rc;
}

static int pass(struct matrix_task *t, struct np_err *err)
{
	size_t n = t->around ? 2 : t->n;
	struct np_ready *ready = calloc(n, sizeof(*ready));
	int rc = -ENOMEM;

	if (ready)
		rc = t->around ? around_pass(t, ready, err) :
				 matrix_pass(t, ready, err);
	for (size_t i = 0; ready && i < n; i++)
		ready_free(&ready[i]);
	free(ready);
	return rc;
}

/* One model after the other, until nothing is left. */
static int matrix_ask(struct matrix_task *t, struct np_err *err)
{
	int rc = pass(t, err);

	while (!rc && t->left) {
		struct np_predictor *other;

		rc = predictor_fallback(t->p, &other, err);
		if (rc || !other)
			return rc;
		t->p = other;
		t->fell_back = true;
		t->left = false;
		rc = pass(t, err);
	}
	return rc;
}

static int check_and_ask(struct matrix_task *t, struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < t->n; i++)
		rc = np_program_check(t->app[i], t->p->f, err);
	if (!rc)
		rc = make_order(t);
	if (!rc)
		rc = matrix_ask(t, err);
	free(t->order);
	free(t->known);
	return rc == -ENOMEM ? np_errf(err, rc, "no memory for the pairs of "
				       "%zu programs", t->n) : rc;
}

static int matrix_answer(struct matrix_task *t, struct np_err *err)
{
	if (!t->n)
		return 0;
	for (size_t i = 0; i < pairs(t); i++) {
		t->out[i] = (struct np_prediction){
			.slowdown = NAN, .low = NAN, .high = NAN,
		};
		t->rc[i] = -ENODATA;
	}
	return check_and_ask(t, err);
}

int np_predict_matrix(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct matrix_task t = {
		.p = p, .app = app, .n = n, .scope = scope, .out = out,
		.rc = rc,
	};

	return matrix_answer(&t, err);
}

int np_predict_around(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err)
{
	struct matrix_task t = {
		.p = p, .app = app, .n = n, .scope = scope, .around = true,
		.out = out, .rc = rc,
	};

	return matrix_answer(&t, err);
}

/* Nobody beside it: no slowdown, and nothing uncertain about that. */
static void alone(const struct np_predictor *p, struct np_prediction *out)
{
	*out = (struct np_prediction){ .model = p->m, .coupling = 1 };
}

/* All co-runners as one program that is ready. */
static int make_sum(struct np_predictor *p, struct np_ready *one, size_t n_co,
		    struct np_program *app, struct np_ready *sum,
		    struct np_err *err)
{
	const struct np_draw_program *draw[n_co];
	int rc;

	*app = *one[0].app;
	for (size_t i = 0; i < n_co; i++) {
		rc = ready_draw(p, &one[i], err);
		if (rc)
			return rc;
		draw[i] = &one[i].draw;
		if (one[i].app->latency.all.n < app->latency.all.n)
			*app = *one[i].app;
	}
	*sum = (struct np_ready){ .app = app };
	return np_draw_sum(draw, n_co, &p->fabric, &sum->draw, err);
}

/* Of several co-runners, the one that least is known about. */
static size_t least_known(const struct np_ready *one, size_t n_co,
			  const struct np_prediction *out)
{
	uint64_t least = UINT64_MAX;
	size_t at = 0;

	for (size_t c = 0; c < n_co; c++) {
		const struct np_program *a = one[c].app;
		uint64_t n = out->more == NP_MORE_LATENCY ? a->latency.all.n :
				     a->pressure[out->more_level].n;

		if (n < least) {
			least = n;
			at = c;
		}
	}
	return at;
}

static int predict_ready(struct np_predictor *p, struct np_ready *a,
			 struct np_ready *co, size_t n_co, enum np_scope scope,
			 struct np_prediction *out, struct np_err *err)
{
	struct np_ready sum = { 0 };
	struct np_program app;
	int rc = 0;

	if (n_co > 1)
		rc = make_sum(p, co, n_co, &app, &sum, err);
	if (!rc)
		rc = ready_pair(p, a, n_co > 1 ? &sum : co, n_co, scope,
				out, err);
	if (!rc && p->opt.replicates)
		advise(p, a, n_co > 1 ? &sum : co, n_co, scope, out);
	if (!rc && (out->more == NP_MORE_LATENCY ||
		    out->more == NP_MORE_PRESSURE))
		out->more_co = least_known(co, n_co, out);
	ready_free(&sum);
	return rc;
}

static int check_all(const struct np_predictor *p,
		     const struct np_program *victim,
		     const struct np_program *const *co, size_t n_co,
		     struct np_err *err)
{
	int rc = np_program_check(victim, p->f, err);

	for (size_t i = 0; !rc && i < n_co; i++)
		rc = np_program_check(co[i], p->f, err);
	return rc;
}

/* Without fallback. */
static int predict_one(struct np_predictor *p, const struct np_program *victim,
		       const struct np_program *const *co, size_t n_co,
		       enum np_scope scope, struct np_prediction *out,
		       struct np_err *err)
{
	struct np_ready a = { 0 }, *ready = calloc(n_co, sizeof(*ready));
	int rc;

	if (!ready)
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	rc = check_all(p, victim, co, n_co, err);
	if (!rc)
		rc = ready_make(p, victim, &a, err);
	for (size_t i = 0; !rc && i < n_co; i++)
		rc = ready_make(p, co[i], &ready[i], err);
	if (!rc)
		rc = predict_ready(p, &a, ready, n_co, scope, out, err);
	for (size_t i = 0; i < n_co; i++)
		ready_free(&ready[i]);
	ready_free(&a);
	free(ready);
	return rc;
}

/* What the fallback's answer says about what is missing for a better one. */
static void say_fell_back(const struct np_predictor *p,
			  const struct np_program *victim,
			  const struct np_program *const *co, size_t n_co,
			  struct np_prediction *out)
{
	out->flags |= NP_PRED_FELL_BACK;
	if (!(p->fabric.has & NP_NEED_BESIDE)) {
		out->more = NP_MORE_CALIBRATION;
		return;
	}
	for (size_t c = 0; c < n_co; c++)
		for (size_t i = 0; i < p->n; i++) {
			if (co[c]->pressure && co[c]->pressure[i].n)
				continue;
			out->more = NP_MORE_PRESSURE;
			out->more_co = c;
			out->more_level = i;
			return;
		}
	for (size_t i = 0; p->m->needs & NP_NEED_OWN_PRESSURE && i < p->n; i++)
		if (!victim->pressure || !victim->pressure[i].n) {
			out->more = NP_MORE_CURVE; /* a run gives both */
			out->more_level = i;
			return;
		}
	/* Runs beside levels without one alone make no curve. */
	if (p->m->needs & NP_NEED_CO_CURVE) {
		out->more = NP_MORE_LATENCY;
		out->more_co = 0;
		for (size_t c = 0; c < n_co; c++)
			if (!co[c]->curve)
				out->more_co = c;
	}
}

int np_predict(struct np_predictor *p, const struct np_program *victim,
	       const struct np_program *const *co, size_t n_co,
	       enum np_scope scope, struct np_prediction *out,
	       struct np_err *err)
{
	struct np_predictor *other;
	struct np_prediction got;
	int rc, rc2;

	if (!n_co) {
		alone(p, out);
		return 0;
	}
	rc = predict_one(p, victim, co, n_co, scope, &got, err);
	if (rc == -ENODATA) {
		rc2 = predictor_fallback(p, &other, err);
		if (rc2)
			return rc2;
		if (other) {
			rc = np_predict(other, victim, co, n_co, scope, &got,
					err);
			if (!rc)
				say_fell_back(p, victim, co, n_co, &got);
		}
	}
	if (!rc)
		*out = got;
	return rc;
}
