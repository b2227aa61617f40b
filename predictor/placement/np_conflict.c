/* Slowdowns of pairs of profiles: their table, and a cache of predictions. */
#include "np_conflict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

uint16_t np_slowdowns_to_load(double slowdown)
{
	double load = 0;

	if (slowdown > 0)
		load = rint(NP_SLOWDOWNS_UNIT * log1p(slowdown));
	return (uint16_t)fmin(load, NP_SLOWDOWNS_MAX - 1);
}

double np_slowdowns_from_load(uint32_t load)
{
	return expm1(load / NP_SLOWDOWNS_UNIT);
}

uint32_t np_slowdowns_limit(double max_slowdown)
{
	/* Rounded like all loads: a pair exactly at the limit passes. */
	return (uint32_t)rint(NP_SLOWDOWNS_UNIT * log1p(max_slowdown));
}

struct np_slowdowns *np_slowdowns_ref(struct np_slowdowns *t)
{
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void np_slowdowns_unref(struct np_slowdowns *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(t->profile);
	free(t->suffered);
	free(t->caused);
	free(t->most);
	free(t);
}

struct np_slowdowns *np_slowdowns_new(size_t n)
{
	struct np_slowdowns *t = calloc(1, sizeof(*t));
	size_t n_loads = n * n * NP_N_TOUCH + 1; /* one more: not malloc(0) */

	if (!t)
		return NULL;
	t->refs = 1;
	t->n = n;
	t->profile = calloc(n + 1, sizeof(*t->profile));
	t->suffered = malloc(n_loads * sizeof(*t->suffered));
	t->caused = malloc(n_loads * sizeof(*t->caused));
	t->most = calloc(n + 1, sizeof(*t->most));
	if (t->profile && t->suffered && t->caused && t->most)
		return t;
	np_slowdowns_unref(t);
	return NULL;
}

double np_slowdowns_between(const struct np_slowdowns *t, uint32_t victim,
			    uint32_t co, bool both_share_nodes, bool both_span)
{
	unsigned touch = (both_share_nodes ? NP_TOUCH_NODE : 0) |
			 (both_span ? NP_TOUCH_UPLINK : 0);

	if (victim >= t->n || co >= t->n)
		return 0;
	return np_slowdowns_from_load(
		np_slowdowns_at(np_slowdowns_suffered(t, victim), co, touch));
}

/* Marks a load that was not predicted yet; none is that large. */
#define NOT_PREDICTED UINT16_MAX

struct np_conflict {
	struct np_oracle oracle;
	size_t n, capacity; /* profiles */
	struct np_slowdowns_profile *profile;
	/* Loads, at [(victim * capacity + co) * NP_N_CONTACTS + contact]. */
	uint16_t *predicted;
	struct np_slowdowns *table; /* made from these; NULL: out of date */
	struct np_slowdowns_rails rails;
};

struct np_conflict *np_conflict_new(const struct np_oracle *oracle)
{
	struct np_conflict *c = calloc(1, sizeof(*c));

	if (c)
		c->oracle = *oracle;
	return c;
}

/* Drop the table, as something changed. */
static void invalidate_table(struct np_conflict *c)
{
	np_slowdowns_unref(c->table);
	c->table = NULL;
}

void np_conflict_free(struct np_conflict *c)
{
	if (!c)
		return;
	invalidate_table(c);
	free(c->profile);
	free(c->predicted);
	free(c);
}

/* The predicted loads of a pair, NP_N_CONTACTS of them. */
static uint16_t *loads_of(const struct np_conflict *c, size_t victim, size_t co)
{
	return c->predicted + (victim * c->capacity + co) * NP_N_CONTACTS;
}

/* Double the capacity. 0 or -ENOMEM. */
static int grow(struct np_conflict *c)
{
	size_t capacity = c->capacity ? 2 * c->capacity : 32;
	size_t n = capacity * capacity * NP_N_CONTACTS;
	uint16_t *larger;

	if (np_array_resize(&c->profile, capacity, sizeof(*c->profile)))
		return -ENOMEM;
	larger = malloc(n * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	memset(larger, 0xff, n * sizeof(*larger)); /* NOT_PREDICTED */
	for (size_t v = 0; v < c->n; v++)
		memcpy(larger + v * capacity * NP_N_CONTACTS, loads_of(c, v, 0),
		       c->n * NP_N_CONTACTS * sizeof(*larger));
	free(c->predicted);
	c->predicted = larger;
	c->capacity = capacity;
	return 0;
}

int np_conflict_add(struct np_conflict *c, uint32_t owner, bool trusted,
		    uint32_t *profile, struct np_err *err)
{
	if (c->n == NP_CONFLICT_MAX_PROFILES)
		return np_errf(err, -E2BIG, "more than %d profiles",
			       NP_CONFLICT_MAX_PROFILES);
	if (c->n == c->capacity && grow(c))
		return np_errf(err, -ENOMEM, "conflicts: out of memory");
	invalidate_table(c);
	c->profile[c->n] = (struct np_slowdowns_profile){
		.owner = owner, .trusted = trusted,
	};
	*profile = (uint32_t)c->n++;
	return 0;
}

/* The bit of a rail; 0: there are too many, or the name is too long. */
static uint8_t rail_bit(struct np_slowdowns_rails *r, const char *name,
			size_t len)
{
	unsigned i = 0;

	if (len >= sizeof(r->name[0]))
		return 0;
	while (i < r->n && (strlen(r->name[i]) != len ||
			    memcmp(r->name[i], name, len)))
		i++;
	if (i == NP_SLOWDOWNS_MAX_RAILS)
		return 0;
	if (i == r->n) {
		memcpy(r->name[i], name, len);
		r->name[r->n++][len] = '\0';
	}
	return (uint8_t)(1u << i);
}

void np_conflict_set_rails(struct np_conflict *c, uint32_t profile,
			   const char *rails)
{
	uint8_t bits = 0;

	for (; rails && *rails; rails += strcspn(rails, ","),
			       rails += *rails == ',') {
		uint8_t bit = rail_bit(&c->rails, rails, strcspn(rails, ","));

		if (!bit) {
			bits = 0;
			break;
		}
		bits |= bit;
	}
	if (profile >= c->n)
		return;
	c->profile[profile].rails = bits;
	invalidate_table(c);
}

void np_conflict_forget(struct np_conflict *c, uint32_t profile)
{
	size_t bytes = NP_N_CONTACTS * sizeof(*c->predicted);

	for (size_t i = 0; profile < c->n && i < c->n; i++) {
		memset(loads_of(c, profile, i), 0xff, bytes);
		memset(loads_of(c, i, profile), 0xff, bytes);
	}
	invalidate_table(c);
}

int np_conflict_replace(struct np_conflict *c, uint32_t profile,
			uint32_t owner, bool trusted, struct np_err *err)
{
	if (profile >= c->n)
		return np_errf(err, -EINVAL, "no profile %u", profile);
	c->profile[profile] = (struct np_slowdowns_profile){
		.owner = owner, .trusted = trusted,
	};
	np_conflict_forget(c, profile);
	return 0;
}

/* Ask the model. A pair that it cannot predict counts as harmless. */
static uint16_t predict_one(struct np_conflict *c, uint32_t victim, uint32_t co,
			    enum np_contact contact)
{
	double slowdown;

	if (c->oracle.slowdown(c->oracle.arg, victim, co, contact, &slowdown))
		return 0;
	return np_slowdowns_to_load(slowdown); /* NaN becomes 0 */
}

/*
 * Predict the missing loads of one pair, but at most *left of them, and lower
 * *left. Returns how many are still missing.
 */
static size_t predict_pair(struct np_conflict *c, uint32_t victim, uint32_t co,
			   size_t *left)
{
	uint16_t *load = loads_of(c, victim, co);
	size_t missing = 0;

	for (int k = 0; k < NP_N_CONTACTS; k++) {
		if (load[k] != NOT_PREDICTED)
			continue;
		if (!*left) {
			missing++;
			continue;
		}
		--*left;
		load[k] = predict_one(c, victim, co, (enum np_contact)k);
		invalidate_table(c);
	}
	return missing;
}

size_t np_conflict_predict(struct np_conflict *c, const uint32_t *profile,
			   size_t n, size_t max_predictions)
{
	size_t missing = 0;

	if (!profile)
		n = c->n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			uint32_t victim = profile ? profile[i] : (uint32_t)i;
			uint32_t co = profile ? profile[k] : (uint32_t)k;

			if (victim < c->n && co < c->n)
				missing += predict_pair(c, victim, co,
							&max_predictions);
		}
	return missing;
}

/*
 * Fill in load[] for each combination of NP_TOUCH_ bits: the largest one over
 * the contacts that it allows. *complete is cleared if a load is missing.
 */
static void worst_of(const uint16_t *predicted, uint16_t negligible,
		     uint16_t load[NP_N_TOUCH], bool *complete)
{
	uint16_t at[NP_N_CONTACTS];

	for (int k = 0; k < NP_N_CONTACTS; k++) {
		*complete &= predicted[k] != NOT_PREDICTED;
		at[k] = predicted[k];
		if (at[k] == NOT_PREDICTED || at[k] <= negligible)
			at[k] = 0;
	}
	for (unsigned touch = 0; touch < NP_N_TOUCH; touch++) {
		uint16_t worst = at[NP_CONTACT_LEAF];

		if (touch & NP_TOUCH_NODE && at[NP_CONTACT_NODE] > worst)
			worst = at[NP_CONTACT_NODE];
		if (touch & NP_TOUCH_UPLINK && at[NP_CONTACT_UPLINK] > worst)
			worst = at[NP_CONTACT_UPLINK];
		load[touch] = worst;
	}
}

/* Fill in the loads of one pair, and what follows from them for both. */
static void fill_pair(const struct np_conflict *c, uint16_t negligible,
		      struct np_slowdowns *t, size_t v, size_t co)
{
	struct np_slowdowns_profile *victim = &t->profile[v];
	struct np_slowdowns_profile *aggressor = &t->profile[co];
	uint16_t *suffered = t->suffered + (v * t->n + co) * NP_N_TOUCH;
	uint16_t *caused = t->caused + (co * t->n + v) * NP_N_TOUCH;
	bool complete = true;
	uint16_t most;

	worst_of(loads_of(c, v, co), negligible, suffered, &complete);
	memcpy(caused, suffered, NP_N_TOUCH * sizeof(*caused));
	most = suffered[NP_TOUCH_NODE | NP_TOUCH_UPLINK];
	if (most > t->most[v])
		t->most[v] = most;
	if (most) {
		aggressor->aggressor = true;
		victim->inert = aggressor->inert = false;
	}
	if (!complete)
		victim->complete = aggressor->complete = false;
}

static void fill_table(const struct np_conflict *c, struct np_slowdowns *t)
{
	uint16_t negligible = np_slowdowns_to_load(t->negligible);

	for (size_t v = 0; v < t->n; v++)
		t->profile[v].complete = t->profile[v].inert = true;
	for (size_t v = 0; v < t->n; v++)
		for (size_t co = 0; co < t->n; co++)
			fill_pair(c, negligible, t, v, co);
}

int np_conflict_table(struct np_conflict *c, double negligible,
		      struct np_slowdowns **out, struct np_err *err)
{
	struct np_slowdowns *t;

	if (!(negligible >= 0 && negligible <= 1))
		return np_errf(err, -EINVAL,
			       "negligible slowdown %g; expected 0 to 1",
			       negligible);
	if (c->table && c->table->negligible != negligible)
		invalidate_table(c);
	if (c->table) {
		*out = np_slowdowns_ref(c->table);
		return 0;
	}
	t = np_slowdowns_new(c->n);
	if (!t)
		return np_errf(err, -ENOMEM, "conflicts: out of memory");
	t->negligible = negligible;
	t->rails = c->rails;
	for (size_t i = 0; i < c->n; i++)
		t->profile[i] = c->profile[i];
	fill_table(c, t);
	c->table = np_slowdowns_ref(t);
	*out = t;
	return 0;
}
