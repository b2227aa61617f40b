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

struct np_slowdowns *np_slowdowns_ref(struct np_slowdowns *slowdowns)
{
	__atomic_add_fetch(&slowdowns->refs, 1, __ATOMIC_RELAXED);
	return slowdowns;
}

void np_slowdowns_unref(struct np_slowdowns *slowdowns)
{
	if (!slowdowns ||
	    __atomic_sub_fetch(&slowdowns->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(slowdowns->profile);
	free(slowdowns->suffered);
	free(slowdowns->caused);
	free(slowdowns->most);
	free(slowdowns);
}

struct np_slowdowns *np_slowdowns_new(size_t n)
{
	struct np_slowdowns *slowdowns = calloc(1, sizeof(*slowdowns));
	size_t n_loads = n * n * NP_N_TOUCH + 1; /* one more: not malloc(0) */

	if (!slowdowns)
		return NULL;
	slowdowns->refs = 1;
	slowdowns->n = n;
	slowdowns->profile = calloc(n + 1, sizeof(*slowdowns->profile));
	slowdowns->suffered = malloc(n_loads * sizeof(*slowdowns->suffered));
	slowdowns->caused = malloc(n_loads * sizeof(*slowdowns->caused));
	slowdowns->most = calloc(n + 1, sizeof(*slowdowns->most));
	if (slowdowns->profile && slowdowns->suffered && slowdowns->caused &&
	    slowdowns->most)
		return slowdowns;
	np_slowdowns_unref(slowdowns);
	return NULL;
}

double np_slowdowns_between(const struct np_slowdowns *slowdowns,
			    uint32_t victim, uint32_t co, bool both_share_nodes,
			    bool both_span)
{
	unsigned touch = (both_share_nodes ? NP_TOUCH_NODE : 0) |
			 (both_span ? NP_TOUCH_UPLINK : 0);

	if (victim >= slowdowns->n || co >= slowdowns->n)
		return 0;
	return np_slowdowns_from_load(np_slowdowns_at(
		np_slowdowns_suffered(slowdowns, victim), co, touch));
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
	uint8_t trusted_rails; /* bits of those that trusted profiles load */
};

struct np_conflict *np_conflict_new(const struct np_oracle *oracle)
{
	struct np_conflict *conflict = calloc(1, sizeof(*conflict));

	if (conflict)
		conflict->oracle = *oracle;
	return conflict;
}

/* Drop the table, as something changed. */
static void invalidate_table(struct np_conflict *conflict)
{
	np_slowdowns_unref(conflict->table);
	conflict->table = NULL;
}

void np_conflict_free(struct np_conflict *conflict)
{
	if (!conflict)
		return;
	invalidate_table(conflict);
	free(conflict->profile);
	free(conflict->predicted);
	free(conflict);
}

/* The predicted loads of a pair, NP_N_CONTACTS of them. */
static uint16_t *loads_of(const struct np_conflict *conflict, size_t victim,
			  size_t co)
{
	return conflict->predicted +
	       (victim * conflict->capacity + co) * NP_N_CONTACTS;
}

/* Double the capacity. 0 or -ENOMEM. */
static int grow(struct np_conflict *conflict)
{
	size_t capacity = conflict->capacity ? 2 * conflict->capacity : 32;
	size_t n = capacity * capacity * NP_N_CONTACTS;
	uint16_t *larger;

	if (np_array_resize(&conflict->profile, capacity,
			    sizeof(*conflict->profile)))
		return -ENOMEM;
	larger = malloc(n * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	memset(larger, 0xff, n * sizeof(*larger)); /* NOT_PREDICTED */
	for (size_t v = 0; v < conflict->n; v++)
		memcpy(larger + v * capacity * NP_N_CONTACTS,
		       loads_of(conflict, v, 0),
		       conflict->n * NP_N_CONTACTS * sizeof(*larger));
	free(conflict->predicted);
	conflict->predicted = larger;
	conflict->capacity = capacity;
	return 0;
}

int np_conflict_add(struct np_conflict *conflict, uint32_t owner, bool trusted,
		    uint32_t *profile, struct np_err *err)
{
	if (conflict->n == NP_CONFLICT_MAX_PROFILES)
		return np_errf(err, -E2BIG, "more than %d profiles",
			       NP_CONFLICT_MAX_PROFILES);
	if (conflict->n == conflict->capacity && grow(conflict))
		return np_errf(err, -ENOMEM, "conflicts: out of memory");
	invalidate_table(conflict);
	conflict->profile[conflict->n] = (struct np_slowdowns_profile){
		.owner = owner,
		.trusted = trusted,
	};
	*profile = (uint32_t)conflict->n++;
	return 0;
}

/*
 * Find the number of a new rail: an unused one, or for a trusted profile that
 * of a rail that only untrusted profiles load, which then may load any. Returns
 * NP_SLOWDOWNS_MAX_RAILS if there is none.
 */
static unsigned number_rail(struct np_conflict *conflict, bool trusted)
{
	unsigned i = 0;

	if (conflict->rails.n < NP_SLOWDOWNS_MAX_RAILS)
		return conflict->rails.n++;
	while (i < NP_SLOWDOWNS_MAX_RAILS &&
	       (!trusted || conflict->trusted_rails & 1u << i))
		i++;
	for (size_t p = 0; i < NP_SLOWDOWNS_MAX_RAILS && p < conflict->n; p++)
		if (conflict->profile[p].rails & 1u << i)
			conflict->profile[p].rails = 0;
	return i;
}

/*
 * The bit of a rail that a profile loads; 0: there are too many, or the name is
 * too long.
 */
static uint8_t rail_bit(struct np_conflict *conflict, bool trusted,
			const char *name, size_t len)
{
	struct np_slowdowns_rails *rails = &conflict->rails;
	unsigned i = 0;

	if (len >= sizeof(rails->name[0]))
		return 0;
	while (i < rails->n && (strlen(rails->name[i]) != len ||
				memcmp(rails->name[i], name, len)))
		i++;
	if (i == rails->n) {
		i = number_rail(conflict, trusted);
		if (i == NP_SLOWDOWNS_MAX_RAILS)
			return 0;
		memcpy(rails->name[i], name, len);
		rails->name[i][len] = '\0';
	}
	if (trusted)
		conflict->trusted_rails |= (uint8_t)(1u << i);
	return (uint8_t)(1u << i);
}

void np_conflict_set_rails(struct np_conflict *conflict, uint32_t profile,
			   const char *rails)
{
	uint8_t bits = 0;

	if (profile >= conflict->n)
		return;
	for (; rails && *rails;
	     rails += strcspn(rails, ","), rails += *rails == ',') {
		uint8_t bit = rail_bit(conflict,
				       conflict->profile[profile].trusted,
				       rails, strcspn(rails, ","));

		if (!bit) {
			bits = 0;
			break;
		}
		bits |= bit;
	}
	conflict->profile[profile].rails = bits;
	invalidate_table(conflict);
}

void np_conflict_forget(struct np_conflict *conflict, uint32_t profile)
{
	size_t bytes = NP_N_CONTACTS * sizeof(*conflict->predicted);

	for (size_t i = 0; profile < conflict->n && i < conflict->n; i++) {
		memset(loads_of(conflict, profile, i), 0xff, bytes);
		memset(loads_of(conflict, i, profile), 0xff, bytes);
	}
	invalidate_table(conflict);
}

int np_conflict_replace(struct np_conflict *conflict, uint32_t profile,
			uint32_t owner, bool trusted, struct np_err *err)
{
	if (profile >= conflict->n)
		return np_errf(err, -EINVAL, "no profile %u", profile);
	conflict->profile[profile] = (struct np_slowdowns_profile){
		.owner = owner,
		.trusted = trusted,
	};
	np_conflict_forget(conflict, profile);
	return 0;
}

/* Ask the model. A pair that it cannot predict counts as harmless. */
static uint16_t predict_one(struct np_conflict *conflict, uint32_t victim,
			    uint32_t co, enum np_contact contact)
{
	double slowdown;

	if (conflict->oracle.slowdown(conflict->oracle.arg, victim, co, contact,
				      &slowdown))
		return 0;
	return np_slowdowns_to_load(slowdown); /* NaN becomes 0 */
}

/*
 * Predict the missing loads of one pair, but at most *left of them, and lower
 * *left. Returns how many are still missing.
 */
static size_t predict_pair(struct np_conflict *conflict, uint32_t victim,
			   uint32_t co, size_t *left)
{
	uint16_t *load = loads_of(conflict, victim, co);
	size_t missing = 0;

	for (int k = 0; k < NP_N_CONTACTS; k++) {
		if (load[k] != NOT_PREDICTED)
			continue;
		if (!*left) {
			missing++;
			continue;
		}
		--*left;
		load[k] = predict_one(conflict, victim, co, (enum np_contact)k);
		invalidate_table(conflict);
	}
	return missing;
}

size_t np_conflict_predict(struct np_conflict *conflict,
			   const uint32_t *profile, size_t n,
			   size_t max_predictions)
{
	size_t missing = 0;

	if (!profile)
		n = conflict->n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			uint32_t victim = profile ? profile[i] : (uint32_t)i;
			uint32_t co = profile ? profile[k] : (uint32_t)k;

			if (victim < conflict->n && co < conflict->n)
				missing += predict_pair(conflict, victim, co,
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
static void fill_pair(const struct np_conflict *conflict, uint16_t negligible,
		      struct np_slowdowns *slowdowns, size_t v, size_t co)
{
	struct np_slowdowns_profile *victim = &slowdowns->profile[v];
	struct np_slowdowns_profile *aggressor = &slowdowns->profile[co];
	uint16_t *suffered =
		slowdowns->suffered + (v * slowdowns->n + co) * NP_N_TOUCH;
	uint16_t *caused =
		slowdowns->caused + (co * slowdowns->n + v) * NP_N_TOUCH;
	bool complete = true;
	uint16_t most;

	worst_of(loads_of(conflict, v, co), negligible, suffered, &complete);
	memcpy(caused, suffered, NP_N_TOUCH * sizeof(*caused));
	most = suffered[NP_TOUCH_NODE | NP_TOUCH_UPLINK];
	if (most > slowdowns->most[v])
		slowdowns->most[v] = most;
	if (most) {
		aggressor->aggressor = true;
		victim->inert = aggressor->inert = false;
	}
	if (!complete)
		victim->complete = aggressor->complete = false;
}

static void fill_table(const struct np_conflict *conflict,
		       struct np_slowdowns *slowdowns)
{
	uint16_t negligible = np_slowdowns_to_load(slowdowns->negligible);

	for (size_t v = 0; v < slowdowns->n; v++)
		slowdowns->profile[v].complete = slowdowns->profile[v].inert =
			true;
	for (size_t v = 0; v < slowdowns->n; v++)
		for (size_t co = 0; co < slowdowns->n; co++)
			fill_pair(conflict, negligible, slowdowns, v, co);
}

int np_conflict_table(struct np_conflict *conflict, double negligible,
		      struct np_slowdowns **out, struct np_err *err)
{
	struct np_slowdowns *slowdowns;

	if (!(negligible >= 0 && negligible <= 1))
		return np_errf(err, -EINVAL,
			       "negligible slowdown %g; expected 0 to 1",
			       negligible);
	if (conflict->table && conflict->table->negligible != negligible)
		invalidate_table(conflict);
	if (conflict->table) {
		*out = np_slowdowns_ref(conflict->table);
		return 0;
	}
	slowdowns = np_slowdowns_new(conflict->n);
	if (!slowdowns)
		return np_errf(err, -ENOMEM, "conflicts: out of memory");
	slowdowns->negligible = negligible;
	slowdowns->rails = conflict->rails;
	for (size_t i = 0; i < conflict->n; i++)
		slowdowns->profile[i] = conflict->profile[i];
	fill_table(conflict, slowdowns);
	conflict->table = np_slowdowns_ref(slowdowns);
	*out = slowdowns;
	return 0;
}
