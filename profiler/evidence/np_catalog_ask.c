/* Questions to the default model, without interval. */
#include "np_catalog_impl.h"

#include <errno.h>

#define SLICE 512 /* questions between two looks at the clock; some ms */

int np_catalog_answer(void *arg, uint32_t victim, uint32_t co,
		      enum np_contact contact, double *slowdown)
{
	struct np_catalog *c = arg;
	const struct np_cat_app *v = c->by_handle[victim];
	const struct np_cat_app *x = c->by_handle[co];
	enum np_scope scope = (enum np_scope)contact; /* same order */
	const struct np_mean *coupling = &c->cal.fabric->coupling[scope];
	const struct np_program *program;
	struct np_prediction p;
	int rc;

	c->changed = true;
	if (!v || !x || !v->usable || !x->usable)
		return -ENODATA;
	/* That others are felt there is measured, never assumed. */
	if (!np_mean_known(coupling))
		return -ENODATA;
	if (np_coupling_none(coupling)) {
		*slowdown = 0;
		return 0;
	}
	program = &x->evidence.program;
	rc = np_predict(c->models, &v->evidence.program, &program, 1, scope, &p,
			NULL);
	if (!rc)
		*slowdown = p.slowdown;
	return rc;
}

/*
 * Those whose answers can be had now.  That there is none for what is gone is
 * an answer; what is still to be read has to wait.
 */
static size_t askable(const struct np_catalog *c, bool wanted, uint32_t *list)
{
	size_t n = 0;

	for (uint32_t h = 0; h < c->n_handles; h++) {
		const struct np_cat_app *a = c->by_handle[h];

		if (wanted ? a && a->usable && a->there &&
			     np_catalog_is_wanted(c, a->wanted_until) :
			     !a || a->usable || !a->to_read)
			list[n++] = h;
	}
	return n;
}

void np_catalog_ask(struct np_catalog *c, bool wanted)
{
	uint32_t list[NP_CONFLICT_MAX_PROFILES];
	size_t n = askable(c, wanted, list);
	size_t missing = np_conflict_ask(c->conflict, list, n, SLICE);

	if (missing)
		return;
	c->asked_wanted = true;
	if (!wanted)
		c->asked_all = true;
}
