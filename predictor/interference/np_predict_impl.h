/*
 * The parts of a prediction, for np_predict*.c alone.
 *
 * A question has two halves, one of each program, for all replicates: x of the
 * co-runners and y of the victim.  Both depend on which levels are in use.
 */
#ifndef NP_PREDICT_IMPL_H
#define NP_PREDICT_IMPL_H

#include "np_draw.h"
#include "np_predict.h"

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

/* One program made ready, and its halves of questions: np_ready.c. */
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

/*
 * np_predictor.c: the predictor of the model that answers where this one's
 * data is missing; *out is NULL if there is none.
 */
int np_predictor_fallback(struct np_predictor *p, struct np_predictor **out,
			  struct np_err *err);

/* np_basis.c: the levels that serve a question.  -ENODATA or -EDOM with err. */
int np_basis_choose(const struct np_predictor *p, const struct np_ready *a,
		    const struct np_ready *co, size_t n_co,
		    struct np_basis *use, struct np_err *err);
/* Rows and columns of the levels that were all run beside each other. */
void np_basis_levels(const struct np_predictor *p, struct np_basis *use);
bool np_basis_equal(const struct np_basis *a, const struct np_basis *b);
bool np_levels_equal(const struct np_levels *a, const struct np_levels *b);
void np_levels_drop(struct np_levels *l, size_t level);
/* What a model is given of them; the programs are to be added. */
void np_basis_data(const struct np_predictor *p, const struct np_basis *use,
		   size_t replicate, struct np_data *v);

/* np_model_ensemble.c: weights of its members, if it is asked. */
int np_ensemble_weigh(struct np_predictor *p, struct np_err *err);

/*
 * np_half.c: one half of a program that is drawn, with what leaving levels out
 * says about it; from memory if the levels are those of before.  n_co: of the
 * victim 1.
 */
int np_half_make(struct np_predictor *p, struct np_ready *a, enum np_side side,
		 size_t n_co, const struct np_basis *use, struct np_err *err);
void np_half_free(struct np_ready *a, enum np_side side);

/*
 * For one that np_program_check() takes; r is all 0 before.  Its numbers are
 * drawn when they are needed.  Free also after a failure.
 */
int np_ready_make(struct np_predictor *p, const struct np_program *a,
		  struct np_ready *r, struct np_err *err);
int np_ready_draw(struct np_predictor *p, struct np_ready *r,
		  struct np_err *err);
void np_ready_free(struct np_ready *r);

/* The answer for two that are ready; -ENODATA as np_basis_choose() says. */
int np_ready_pair(struct np_predictor *p, struct np_ready *a,
		  struct np_ready *co, size_t n_co, enum np_scope scope,
		  struct np_prediction *out, struct np_err *err);

/*
 * Both ways of a pair, each with its rc: out[0] is a beside b.  False if they
 * have to be asked one by one.
 */
bool np_ready_both(struct np_predictor *p, struct np_ready *a,
		   struct np_ready *b, enum np_scope scope,
		   struct np_prediction *const out[2], int rc[2]);

/* Join replicate s of the victim's half with replicate r of the co-runner's. */
int np_ready_join(struct np_predictor *p, const struct np_ready *a, size_t s,
		  const struct np_ready *co, size_t r, size_t n_co,
		  double *log_slow, unsigned *flags);

/* np_advice.c: fill in out->more, for an answer that is otherwise complete. */
void np_advise(struct np_predictor *p, const struct np_ready *a,
	       const struct np_ready *co, size_t n_co, enum np_scope scope,
	       struct np_prediction *out);

#endif
