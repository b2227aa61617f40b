#include "np_naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_naming_impl.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Where the number begins; a name without one, or a long one, is all prefix. */
static size_t prefix_len(const char *name, size_t len)
{
	size_t at = len;

	while (at && is_digit(name[at - 1]) && len - at < MAX_DIGITS)
		at--;
	return at && is_digit(name[at - 1]) ? len : at;
}

static struct np_named named(const char *name, uint32_t node)
{
	size_t len = strlen(name), at = prefix_len(name, len);

	return (struct np_named){
		.prefix = name, .len = (uint32_t)at,
		.digits = (uint32_t)(len - at), .node = node,
		.number = at < len ? (uint32_t)strtoul(name + at, NULL, 10) :
				     0,
		.zero = len - at > 1 && name[at] == '0',
	};
}

static int by_prefix(const struct np_named *x, const struct np_named *y)
{
	size_t n = x->len < y->len ? x->len : y->len;
	int rc = memcmp(x->prefix, y->prefix, n);

	return rc ? rc : (x->len > y->len) - (x->len < y->len);
}

static int in_order(const void *a, const void *b)
{
	const struct np_named *x = a, *y = b;
	int rc = by_prefix(x, y);

	if (!rc)
		rc = (x->digits > y->digits) - (x->digits < y->digits);
	if (!rc)
		rc = (x->number > y->number) - (x->number < y->number);
	return rc ? rc : (x->node > y->node) - (x->node < y->node);
}

/*
 * "8" and "10" are in one row, "08" and "8" are not: names of one prefix are
 * told apart by their digits only if some begin with zeros.
 */
static void settle_digits(struct np_named *at, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		bool zeros = false;

		for (end = i; end < n && !by_prefix(&at[i], &at[end]); end++)
			zeros |= at[end].zero;
		for (size_t k = i; !zeros && k < end; k++)
			at[k].digits = at[k].digits ? ANY_DIGITS : NO_DIGITS;
	}
}

static bool same_kin(const struct np_named *x, const struct np_named *y)
{
	return x->digits == y->digits && !by_prefix(x, y);
}

/* Names whose numbers and whose nodes both go up by one are one run. */
static int add_runs(struct np_naming *x, const struct np_named *at, size_t n)
{
	x->kin = calloc(n + 1, sizeof(*x->kin));
	x->run = calloc(n + 1, sizeof(*x->run));
	if (!x->kin || !x->run)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct np_run *last = x->n_runs ? &x->run[x->n_runs - 1] :
						  NULL;

		if (!i || !same_kin(&at[i - 1], &at[i])) {
			x->kin[x->n_kin++] = (struct np_kin){
				.prefix = at[i].prefix, .len = at[i].len,
				.digits = at[i].digits, .first = x->n_runs,
			};
			last = NULL;
		}
		if (last && at[i].number == last->number + last->n &&
		    at[i].node == last->node + last->n) {
			last->n++;
			continue;
		}
		x->run[x->n_runs++] = (struct np_run){
			.kin = (uint32_t)x->n_kin - 1, .number = at[i].number,
			.node = at[i].node, .n = 1,
		};
	}
	x->kin[x->n_kin].first = x->n_runs;
	return 0;
}

int np_naming_new(char *const *name, size_t n, struct np_naming **out)
{
	struct np_naming *x = calloc(1, sizeof(*x));
	struct np_named *at = calloc(n + 1, sizeof(*at));
	size_t n_named = 0;
	int rc = x && at ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		if (name[i][0])
			at[n_named++] = named(name[i], (uint32_t)i);
	if (!rc) {
		qsort(at, n_named, sizeof(*at), in_order);
		settle_digits(at, n_named);
		/* Those of one kin now are in another order. */
		qsort(at, n_named, sizeof(*at), in_order);
		rc = add_runs(x, at, n_named);
	}
	free(at);
	if (rc)
		np_naming_free(x);
	else
		*out = x;
	return rc;
}

void np_naming_free(struct np_naming *x)
{
	if (!x)
		return;
	free(x->kin);
	free(x->run);
	free(x);
}

int np_naming_cut_new(const struct np_naming *x, const uint32_t *group,
		      struct np_naming_cut **out)
{
	struct np_naming_cut *c = calloc(1, sizeof(*c));
	size_t n = 0;

	for (size_t i = 0; i < x->n_runs; i++)
		n += x->run[i].n;
	if (c)
		c->piece = calloc(n + 1, sizeof(*c->piece));
	if (!c || !c->piece) {
		free(c);
		return -ENOMEM;
	}
	c->naming = x;
	for (size_t i = 0; i < x->n_runs; i++)
		for (uint32_t k = 0; k < x->run[i].n; k++) {
			const struct np_run *r = &x->run[i];
			uint32_t g = group[r->node + k];
			struct np_piece *last = k ? &c->piece[c->n - 1] : NULL;

			if (last && last->group == g)
				last->n++;
			else
				c->piece[c->n++] = (struct np_piece){
					.kin = r->kin, .n = 1, .group = g,
					.number = r->number + k,
				};
		}
	*out = c;
	return 0;
}

void np_naming_cut_free(struct np_naming_cut *c)
{
	if (!c)
		return;
	free(c->piece);
	free(c);
}
