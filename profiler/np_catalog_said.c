/* Each trouble with a file is told once, as long as it is there. */
#include "np_catalog_impl.h"

#include <stdlib.h>

#define MAX_LINES 256 /* of one place; np_store.h tells of a hundred files */

static uint64_t hash_of(const char *line)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	while (*line)
		h = (h ^ (unsigned char)*line++) * 0x100000001b3u;
	return h;
}

void np_said_begin(struct np_said *s)
{
	s->n_now = 0;
	s->now = NULL;
}

void np_said_end(struct np_said *s)
{
	free(s->old);
	s->old = s->now;
	s->n_old = s->n_now;
	np_said_begin(s);
}

void np_said_free(struct np_said *s)
{
	free(s->old);
	free(s->now);
	*s = (struct np_said){ .n_old = 0 };
}

static bool is_in(const uint64_t *set, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		if (set[i] == h)
			return true;
	return false;
}

static void remember(struct np_said *s, uint64_t h)
{
	uint64_t *grown;

	if (s->n_now == MAX_LINES)
		return;
	grown = reallocarray(s->now, s->n_now + 1, sizeof(*grown));
	if (!grown)
		return; /* then it is told again */
	s->now = grown;
	s->now[s->n_now++] = h;
}

void np_catalog_say(struct np_catalog *c, const char *line)
{
	struct np_said *s = c->saying;
	uint64_t h = hash_of(line);

	if (!is_in(s->old, s->n_old, h)) {
		/* What is not told now is told when it is read again. */
		if (c->n_warned > NP_CATALOG_MAX_WARNINGS)
			return;
		if (c->warn)
			c->warn(c->n_warned == NP_CATALOG_MAX_WARNINGS ?
				"more files are skipped than are told" : line,
				c->warn_arg);
		if (c->n_warned++ == NP_CATALOG_MAX_WARNINGS)
			return;
	}
	remember(s, h);
}
