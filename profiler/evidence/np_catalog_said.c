/* Each trouble with a file is told once, as long as it is there. */
#include "np_catalog_impl.h"

#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_store_dir.h"
#include "np_text.h"

#define HOUR_SEC 3600.0
#define MAX_LINES 256 /* of one place; np_store.h tells of a hundred files */

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
	if (s->n_now == MAX_LINES ||
	    np_array_resize(&s->now, s->n_now + 1, sizeof(*s->now)))
		return; /* then it is told again */
	s->now[s->n_now++] = h;
}

void np_catalog_say_begin(struct np_catalog *c, struct np_said *place,
			  struct np_cat_owner *owner)
{
	c->saying = place;
	c->teller = owner;
	place->n_now = 0;
	place->now = NULL;
}

void np_catalog_say_end(struct np_catalog *c)
{
	struct np_said *s = c->saying;

	free(s->old);
	s->old = s->now;
	s->n_old = s->n_now;
	s->n_now = 0;
	s->now = NULL;
	c->saying = NULL;
	c->teller = NULL;
}

/* "/store/users/1000" */
static void path_of(const struct np_catalog *c, const struct np_cat_owner *o,
		    struct np_err *out)
{
	if (o->key.owner == NP_CAT_PUBLISHED)
		np_errf(out, 0, "%s/" NP_STORE_PUBLIC, c->store_dir);
	else
		np_errf(out, 0, "%s/" NP_STORE_USERS "/%u", c->store_dir,
			(uint32_t)o->key.owner);
}

/* Is there room for another line in this refresh? */
static bool tell(struct np_catalog *c, const char *line)
{
	if (c->n_warned > NP_CATALOG_MAX_WARNINGS)
		return false;
	if (c->warn)
		c->warn(c->n_warned == NP_CATALOG_MAX_WARNINGS ?
			"more files are skipped than are told" : line,
			c->warn_arg);
	return c->n_warned++ < NP_CATALOG_MAX_WARNINGS;
}

void np_catalog_sum_up(struct np_catalog *c, struct np_cat_owner *o)
{
	struct np_err path, line;

	if (!o->lines.until || np_catalog_now(c) < o->lines.until)
		return;
	path_of(c, o, &path);
	np_errf(&line, 0, "%.150s: %zu more files or directories were skipped "
		"in the last hour than were told", path.text, o->lines.untold);
	if (!o->lines.untold || tell(c, line.text))
		o->lines = (struct np_cat_lines){ .until = 0 };
}

/* Returns whether it is told now, or counted. */
static bool tell_of_owner(struct np_catalog *c, struct np_cat_owner *o,
			  const char *line)
{
	struct np_err path, last;

	np_catalog_sum_up(c, o);
	if (o->lines.told < NP_CATALOG_MAX_LINES) {
		if (!tell(c, line))
			return false;
		if (!o->lines.until)
			o->lines.until = np_catalog_now(c) + HOUR_SEC;
		o->lines.told++;
		return true;
	}
	if (!o->lines.untold) {
		path_of(c, o, &path);
		np_errf(&last, 0, "%.150s: no more than %d lines are told in "
			"an hour, the rest is counted", path.text,
			NP_CATALOG_MAX_LINES);
		if (!tell(c, last.text))
			return false;
	}
	o->lines.untold++;
	return true;
}

void np_catalog_say(const char *line, void *catalog)
{
	struct np_catalog *c = catalog;
	struct np_said *s = c->saying;
	uint64_t h = np_hash(NP_HASH, line, strlen(line));

	/* What is not told now is told when it is read again. */
	if (!is_in(s->old, s->n_old, h) &&
	    !(c->teller ? tell_of_owner(c, c->teller, line) : tell(c, line)))
		return;
	remember(s, h);
}
