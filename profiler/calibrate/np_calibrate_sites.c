/* Which nodes play which part in a calibration. */
#include "np_calibrate_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t count_leaf(const struct np_cal_node *node, size_t n,
			 const char *leaf)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += !strcmp(node[i].leaf, leaf);
	return found;
}

/* The leaf with most nodes, but for `other`; the first of several. */
static const char *largest(const struct np_cal_node *node, size_t n,
			   const char *other)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t here = count_leaf(node, n, node[i].leaf);

		if (here > most && !(other && !strcmp(node[i].leaf, other))) {
			most = here;
			best = node[i].leaf;
		}
	}
	return best;
}

/* Add `want` nodes of a leaf, after the first `skip`, to a list. */
static int take(const struct np_cal_node *node, size_t n, const char *leaf,
		size_t skip, size_t want, struct np_cal_hosts *out)
{
	for (size_t i = 0; i < n && want; i++) {
		size_t len = out->list ? strlen(out->list) : 0;
		char *more;

		if (strcmp(node[i].leaf, leaf))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		more = realloc(out->list, len + strlen(node[i].name) + 2);
		if (!more)
			return -ENOMEM;
		out->list = more;
		more += len;
		if (len)
			*more++ = ',';
		strcpy(more, node[i].name);
		out->n++;
		want--;
	}
	return 0;
}

static int take_across(const struct np_cal_node *node, size_t n,
		       struct np_cal_sites *s, size_t half)
{
	const char *other = largest(node, n, s->leaf);
	size_t there = other ? count_leaf(node, n, other) / 2 : 0;
	size_t each = half / 2 < there ? half / 2 : there;
	int rc;

	if (!each)
		return 0;
	rc = take(node, n, s->leaf, 0, each, &s->victim_across);
	if (!rc)
		rc = take(node, n, other, 0, each, &s->victim_across);
	if (!rc)
		rc = take(node, n, s->leaf, half, each, &s->aggressor_across);
	if (!rc)
		rc = take(node, n, other, each, each, &s->aggressor_across);
	return rc;
}

static int fill(const struct np_cal_node *node, size_t n,
		struct np_cal_sites *s)
{
	size_t here = count_leaf(node, n, s->leaf);
	size_t half = here / 2;
	int rc;

	if (here < 4)
		return take(node, n, s->leaf, 0, here, &s->victim);
	rc = take(node, n, s->leaf, 0, half, &s->victim);
	if (!rc)
		rc = take(node, n, s->leaf, half, half, &s->aggressor);
	return rc ? rc : take_across(node, n, s, half);
}

int np_cal_sites_make(const struct np_cal_node *node, size_t n,
		      struct np_cal_sites *out, struct np_err *err)
{
	const char *leaf = largest(node, n, NULL);
	struct np_cal_sites s = { .leaf = NULL };
	int rc;

	if (!leaf || count_leaf(node, n, leaf) < 2)
		return np_errf(err, -ENODEV, "no two of the %zu nodes share a "
			       "leaf switch: there is nothing to measure", n);
	s.leaf = strdup(leaf);
	rc = s.leaf ? fill(node, n, &s) : -ENOMEM;
	if (rc) {
		np_cal_sites_free(&s);
		return np_errf(err, rc, "out of memory");
	}
	*out = s;
	return 0;
}

void np_cal_sites_free(struct np_cal_sites *s)
{
	free(s->leaf);
	free(s->victim.list);
	free(s->aggressor.list);
	free(s->victim_across.list);
	free(s->aggressor_across.list);
	*s = (struct np_cal_sites){ .leaf = NULL };
}

bool np_cal_sites_have(const struct np_cal_sites *s, enum np_scope scope)
{
	switch (scope) {
	case NP_SCOPE_NODE:
		return true;
	case NP_SCOPE_LEAF:
		return s->aggressor.n > 0;
	case NP_SCOPE_UPLINK:
		return s->aggressor_across.n > 0;
	default:
		return false;
	}
}
