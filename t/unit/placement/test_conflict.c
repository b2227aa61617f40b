#include "t.h"
#include "np_conflict.h"

struct model {
	unsigned n;
	double slow[NP_N_CONTACTS]; /* of any pair */
	int rc;
};

static int slowdown_of(void *arg, uint32_t victim, uint32_t co,
		       enum np_contact contact, double *slowdown)
{
	struct model *a = arg;

	(void)victim, (void)co;
	a->n++;
	*slowdown = a->slow[contact];
	return a->rc;
}

static struct np_conflict *with_two(struct model *a)
{
	struct np_oracle o = { slowdown_of, a };
	struct np_conflict *c = np_conflict_new(&o);
	uint32_t p;

	T_CHECK(!np_conflict_add(c, 1, true, &p, NULL) && p == 0);
	T_CHECK(!np_conflict_add(c, 2, false, &p, NULL) && p == 1);
	return c;
}

static struct np_slowdowns *table(struct np_conflict *c, double negligible)
{
	struct np_slowdowns *t = NULL;

	T_CHECK(!np_conflict_table(c, negligible, &t, NULL));
	return t;
}

/* clang-format off */
static const struct {
	const char *name;
	double node, leaf, uplink;
	bool share, span;
	double want;
} rows[] = {
	{ "on a leaf",                 .5, .2, .3, false, false, .2 },
	{ "on a leaf and its nodes",   .5, .2, .3, true,  false, .5 },
	{ "on a leaf and its uplink",  .5, .2, .3, false, true,  .3 },
	{ "the worst of all",          .5, .2, .3, true,  true,  .5 },
	{ "also if that is the leaf",  .1, .4, .3, true,  true,  .4 },
	{ "a gain counts as nothing",  0, -.3, 0,  false, false, 0 },
	{ "nor does what is negligible", 0, .01, 0, false, false, 0 },
	{ "what is more does",         0, .011, 0, false, false, .011 },
	{ "no number counts as nothing", 0, NAN, 0, false, false, 0 },
	{ "without end is very much",  0, INFINITY, 0, false, false, 700 },
};
/* clang-format on */

T_TEST("two jobs meet where they touch, at the worst place")
{
	T_EACH(r, rows) {
		struct model a = { .slow = { r->node, r->leaf, r->uplink } };
		struct np_conflict *c = with_two(&a);
		struct np_slowdowns *t;

		np_conflict_predict(c, NULL, 0, SIZE_MAX);
		t = table(c, .01);
		T_ROW(r->name,
		      t_close(np_slowdowns_between(t, 0, 1, r->share, r->span),
			      r->want, .01));
		np_slowdowns_unref(t);
		np_conflict_free(c);
	}
}

T_TEST("each pair is predicted once, and no more than allowed")
{
	struct model a = { .slow = { .1, .1, .1 } };
	struct np_conflict *c = with_two(&a);
	const uint32_t second = 1;
	struct np_slowdowns *t;

	T_CHECK(np_conflict_predict(c, NULL, 0, 5) == 12 - 5 && a.n == 5);
	t = table(c, .01);
	T_CHECK(!t->profile[0].complete && !t->profile[1].complete);
	np_slowdowns_unref(t);
	T_CHECK(np_conflict_predict(c, &second, 1, SIZE_MAX) == 0 && a.n == 8);
	T_CHECK(np_conflict_predict(c, NULL, 0, SIZE_MAX) == 0 && a.n == 12);
	T_CHECK(np_conflict_predict(c, NULL, 0, SIZE_MAX) == 0 && a.n == 12);
	t = table(c, .01);
	T_CHECK(t->profile[0].complete && t->profile[1].complete);
	np_slowdowns_unref(t);
	np_conflict_forget(c, 1); /* with 0 both ways, and with itself */
	T_CHECK(np_conflict_predict(c, NULL, 0, SIZE_MAX) == 0 && a.n == 21);
	np_conflict_free(c);
}

T_TEST("a table that was handed out never changes")
{
	struct model a = { .slow = { .1, .1, .1 } };
	struct np_conflict *c = with_two(&a);
	struct np_slowdowns *old, *same, *new;
	uint32_t p;

	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	old = table(c, .01);
	same = table(c, .01);
	T_CHECK(same == old); /* nothing changed: no copy */
	T_CHECK(!np_conflict_replace(c, 1, 2, true, NULL));
	T_CHECK(!np_conflict_add(c, 3, true, &p, NULL));
	a.slow[NP_CONTACT_LEAF] = .4;
	np_conflict_forget(c, 0);
	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	new = table(c, .01);
	np_conflict_free(c);
	T_CHECK(old->n == 2 && new->n == 3);
	T_CHECK(!old->profile[1].trusted && new->profile[1].trusted);
	T_CHECK(t_close(np_slowdowns_between(old, 0, 1, 0, 0), .1, .01));
	T_CHECK(t_close(np_slowdowns_between(new, 0, 1, 0, 0), .4, .01));
	np_slowdowns_unref(old);
	np_slowdowns_unref(same);
	np_slowdowns_unref(new);
}

T_TEST("where there is no prediction there is no conflict")
{
	struct model a = { .slow = { .5, .5, .5 }, .rc = -ENODATA };
	struct np_conflict *c = with_two(&a);
	struct np_slowdowns *t;

	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	t = table(c, .01);
	T_CHECK(np_slowdowns_between(t, 0, 1, true, true) == 0);
	T_CHECK(t->profile[0].complete); /* predicted, and not again */
	T_CHECK(np_slowdowns_between(t, 0, 7, true, true) == 0); /* no such */
	np_slowdowns_unref(t);
	np_conflict_free(c);
}

T_TEST("a handle can be given to another profile")
{
	struct model a = { .slow = { .5, .5, .5 } };
	struct np_conflict *c = with_two(&a);
	struct np_err err = NP_ERR_INIT;
	struct np_slowdowns *before, *after;

	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	before = table(c, .01);
	T_CHECK(np_conflict_replace(c, 2, 3, true, &err) == -EINVAL &&
		err.text[0]);
	T_CHECK(np_conflict_replace(c, 1, 3, true, NULL) == 0);
	after = table(c, .01);
	T_CHECK(after->n == 2);
	T_CHECK(after->profile[1].owner == 3 && after->profile[1].trusted);
	T_ROW("nothing is known of it yet",
	      !after->profile[1].complete &&
		      np_slowdowns_between(after, 0, 1, true, true) == 0);
	T_ROW("what is known of others stays",
	      fabs(np_slowdowns_between(after, 0, 0, false, false) - .5) <
		      1e-4);
	T_ROW("who has the former table still has it",
	      before->profile[1].owner == 2 &&
		      np_slowdowns_between(before, 0, 1, true, true) > .4);
	T_CHECK(np_conflict_predict(c, NULL, 0, SIZE_MAX) == 0);
	T_ROW("three pairs with three contacts were predicted again",
	      a.n == 12 + 9);
	np_slowdowns_unref(before);
	np_slowdowns_unref(after);
	np_conflict_free(c);
}

T_TEST("there are so many profiles and not more")
{
	struct model a = { 0 };
	struct np_conflict *c = with_two(&a);
	struct np_err err = NP_ERR_INIT;
	struct np_slowdowns *t = NULL;
	uint32_t p = 99;

	T_CHECK(np_conflict_table(c, -1, &t, &err) == -EINVAL && !t);
	T_CHECK(np_conflict_table(c, NAN, &t, &err) == -EINVAL && !t);
	for (int i = 2; i < NP_CONFLICT_MAX_PROFILES; i++)
		T_CHECK(!np_conflict_add(c, 0, true, &p, NULL));
	T_CHECK(np_conflict_add(c, 0, true, &p, &err) == -E2BIG);
	np_conflict_free(c);
}

/* Records of users may name rails that do not exist. */
T_TEST("users who name many rails do not keep those of published profiles out")
{
	struct model a = { .slow = { .1, .1, .1 } };
	struct np_conflict *c = with_two(&a); /* the first one is trusted */
	struct np_slowdowns *t;
	const struct np_slowdowns_profile *p;

	np_conflict_set_rails(c, 1, "a,b,c,d,e,f,g,h");
	t = table(c, .01);
	T_ROW("a user's rails", t->profile[1].rails == 0xff);
	np_slowdowns_unref(t);
	np_conflict_set_rails(c, 0, "r0,r1");
	t = table(c, .01);
	p = t->profile;
	T_ROW("published ones", p[0].rails && p[0].rails != 0xff);
	T_ROW("the user's may load any", !p[1].rails);
	np_slowdowns_unref(t);
	np_conflict_set_rails(c, 1, "r1,x");
	np_conflict_set_rails(c, 1, "y,z,s,t,u,v,w");
	np_conflict_set_rails(c, 1, "r1");
	t = table(c, .01);
	p = t->profile;
	T_ROW("which stay", !strcmp(t->rails.name[0], "r0") &&
				    !strcmp(t->rails.name[1], "r1"));
	T_ROW("and are shared", p[1].rails && !(p[1].rails & ~p[0].rails));
	np_slowdowns_unref(t);
	np_conflict_free(c);
}
