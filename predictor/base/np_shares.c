#include "np_shares.h"

#include <stdlib.h>

#include "np_array.h"

static uint64_t held_by(const struct np_shares *s, uint32_t uid)
{
	uint32_t i = np_numbers_find(&s->user, &uid, sizeof(uid));

	return i == NP_NO_NUMBER ? 0 : s->held[i];
}

bool np_shares_left(const struct np_shares *s, uint32_t uid, uint64_t amount)
{
	uint64_t left = s->limit > s->used ? s->limit - s->used : 0;

	/* Afterwards the user holds no more than what is left then. */
	return amount <= left && held_by(s, uid) + amount <= left - amount;
}

void np_shares_add(struct np_shares *s, uint32_t uid, uint64_t amount)
{
	size_t known = s->user.n;
	uint32_t i;

	s->used += amount;
	/* A user without a place in held[] must get no number. */
	if (np_array_room(&s->held, &s->room, known + 1, sizeof(*s->held)))
		return;
	i = np_numbers_get(&s->user, &uid, sizeof(uid));
	if (i == NP_NO_NUMBER)
		return;
	if (s->user.n > known)
		s->held[i] = 0;
	s->held[i] += amount;
}

bool np_shares_take(struct np_shares *s, uint32_t uid, uint64_t amount)
{
	if (!np_shares_left(s, uid, amount))
		return false;
	np_shares_add(s, uid, amount);
	return true;
}

void np_shares_clear(struct np_shares *s)
{
	np_numbers_clear(&s->user);
	s->used = 0;
}

void np_shares_free(struct np_shares *s)
{
	np_numbers_free(&s->user);
	free(s->held);
	*s = (struct np_shares){ .limit = s->limit };
}
