#include "np_run_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct levels {
	const char *const *name, *const *scope;
	size_t n;
};

/* l->n: not among them. */
static size_t find_level(const struct levels *l, const char *name,
			 const char *scope)
{
	size_t i = 0;

	while (i < l->n && (strcmp(l->name[i], name) ||
			    (l->scope && scope && strcmp(l->scope[i], scope))))
		i++;
	return i;
}

/* False: of a level that is not among them, or damaged. */
static bool convert(const struct np_record *r, size_t i, uint32_t run,
		    const struct levels *l, struct np_block *out)
{
	const struct np_block_run *b = &r->blocks[i];
	size_t level = b->level ? find_level(l, b->level, r->blocks_scope) :
				  NP_BLOCKS_NO_LEVEL;

	*out = (struct np_block){ run, level, b->sec, b->rate, b->calls };
	return b->sec > 0 && b->rate >= 0 && level != l->n;
}

int np_run_blocks(const struct np_runs *runs, const enum np_run_use *use,
		  const char *const *name, const char *const *scope,
		  size_t n_names, struct np_block **out, size_t *n)
{
	const struct levels l = { name, scope, n_names };
	struct np_block *b;
	size_t total = 0, used = 0;
	uint32_t run = 0;

	for (size_t i = 0; i < runs->n; i++)
		if (use[i] == NP_RUN_BLOCKS)
			total += runs->run[i]->n_blocks;
	b = calloc(total + 1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	for (size_t i = runs->n; i-- > 0;) {
		const struct np_record *r = runs->run[i];

		if (use[i] != NP_RUN_BLOCKS)
			continue;
		for (size_t k = 0; k < r->n_blocks; k++)
			used += convert(r, k, run, &l, &b[used]);
		run++;
	}
	*out = b;
	*n = used;
	return 0;
}

static const struct np_moments *alone_in(const struct np_record *r,
					 const char *level, uint32_t n_nodes)
{
	for (size_t i = 0; r->blocks_nodes == n_nodes &&
	     i < r->n_blocks_alone; i++) {
		const struct np_block_run *b = &r->blocks_alone[i];

		if (b->level && !strcmp(b->level, level) && b->round_sec.n &&
		    b->round_sec.mean > 0)
			return &b->round_sec;
	}
	return NULL;
}

const struct np_moments *np_run_blocks_alone(const struct np_runs *runs,
					     const enum np_run_use *use,
					     const struct np_record *r,
					     const char *level,
					     uint32_t n_nodes)
{
	const struct np_moments *m = r ? alone_in(r, level, n_nodes) : NULL;

	for (size_t i = 0; !m && i < runs->n; i++)
		if (use[i] == NP_RUN_BLOCKS)
			m = alone_in(runs->run[i], level, n_nodes);
	return m;
}

struct np_moments np_run_blocks_beside(const struct np_record *r,
				       const char *level)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < r->n_blocks; i++)
		if (r->blocks[i].level && !strcmp(r->blocks[i].level, level) &&
		    r->blocks[i].round_sec.n)
			np_moments_merge(&m, &r->blocks[i].round_sec);
	return m;
}
