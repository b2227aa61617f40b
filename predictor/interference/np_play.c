/*
 * The model replay: all programs played together.  It answers whole questions
 * at once and has no halves that could be kept for the next one.
 */
#include <errno.h>
#include <math.h>

#include "np_predict_impl.h"

#define MAX_PROGRAMS 32

/*
 * Of what the links of all nodes carry together, the share that the network
 * between them does: a level that sends all it can, beside itself, is slowed by
 * what is missing.  NaN: not known.
 */
static double share_of(const struct np_predictor *p, enum np_scope scope)
{
	const struct np_fabric *f = p->f;
	const struct np_mean *k = &f->coupling[scope];
	size_t at = p->fabric.view[0].bulk_level;
	double coupling = np_mean_known(k) ? k->mean : 1, slow;

	if (scope == NP_SCOPE_NODE)
		return INFINITY; /* they share links, and that is narrower */
	if (at >= f->n_levels || !f->beside ||
	    !np_mean_known(&f->beside[at * f->n_levels + at]))
		return NAN;
	slow = fmax(0, f->beside[at * f->n_levels + at].mean);
	return fmax(0.01, 1 - coupling + coupling / (1 + slow));
}

static int check(const struct np_predictor *p, const struct np_program *a,
		 struct np_err *err)
{
	int rc = np_program_check(a, p->f, err);

	if (!rc && (!p->opt.player || !a->play))
		rc = np_errf(err, -ENODATA, "%s: %s", a->name,
			     a->untraced ? a->untraced : "no trace");
	return rc;
}

int np_play(struct np_predictor *p, const struct np_program *victim,
	    const struct np_program *const *co, size_t n_co,
	    enum np_scope scope, struct np_prediction *out, struct np_err *err)
{
	struct np_play_ask ask = { .n = n_co + 1, .same_nodes =
				   scope == NP_SCOPE_NODE };
	const void *play[MAX_PROGRAMS];
	double slowdown;
	int rc = check(p, victim, err);

	if (!rc && n_co >= MAX_PROGRAMS)
		rc = np_errf(err, -EINVAL, "%zu co-runners, expected at most "
			     "%d", n_co, MAX_PROGRAMS - 1);
	for (size_t i = 0; !rc && i < n_co; i++) {
		rc = check(p, co[i], err);
		play[i + 1] = co[i]->play;
	}
	if (rc)
		return rc;
	play[0] = victim->play;
	ask.play = play;
	ask.share = share_of(p, scope);
	if (scope == NP_SCOPE_UPLINK || isnan(ask.share))
		return np_errf(err, -ENODATA, "%s: %s", p->f->name,
			       scope == NP_SCOPE_UPLINK ?
			       "what an uplink carries is not known" :
			       "the level that sends most was not measured "
			       "beside itself");
	rc = p->opt.player->play(p->opt.player, &ask, &slowdown, err);
	if (rc)
		return rc;
	*out = (struct np_prediction){
		.slowdown = slowdown, .low = NAN, .high = NAN, .model = p->m,
		.flags = NP_PRED_NO_INTERVAL, .used = p->m->needs,
		.coupling = 1,
	};
	return 0;
}
