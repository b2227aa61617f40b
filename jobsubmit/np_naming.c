#include "np_naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"

#define MAX_DIGITS 9
#define NO_DIGITS 0    /* a name without a number */
#define ANY_DIGITS 255 /* as many as it takes, without zeros before */

/* Names with one prefix, and numbers written alike; by_kin(). */
struct kin {
	const char *prefix;
	uint32_t len, digits;
	size_t first; /* of its runs; those of the next kin are behind */
};

/* A name taken apart. */
struct named {
	struct kin kin;
	uint32_t number, node;
	bool zero; /* the number begins with one */
};

struct run {
	uint32_t kin, number, node, n;
};

/* A part of a run. */
struct piece {
	uint32_t kin, number, n, group;
};

struct np_naming {
	struct kin *kin; /* one more, to end the last */
	size_t n_kin;
	struct run *run; /* by kin and number */
	size_t n_runs;
	struct piece *piece; /* of the runs, by groups */
	size_t n_pieces;
};

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

static struct named named(const char *name, uint32_t node)
{
	size_t len = strlen(name), at = prefix_len(name, len);

	return (struct named){
		.kin = { name, (uint32_t)at, (uint32_t)(len - at) },
		.node = node,
		.number = at < len ? (uint32_t)strtoul(name + at, NULL, 10) :
				     0,
		.zero = len - at > 1 && name[at] == '0',
	};
}

static int by_prefix(const struct kin *x, const struct kin *y)
{
	size_t n = x->len < y->len ? x->len : y->len;
	int rc = memcmp(x->prefix, y->prefix, n);

	return rc ? rc : (x->len > y->len) - (x->len < y->len);
}

static int by_kin(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;
	int rc = by_prefix(x, y);

	return rc ? rc : (x->digits > y->digits) - (x->digits < y->digits);
}

static int in_order(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int rc = by_kin(&x->kin, &y->kin);

	if (!rc)
		rc = (x->number > y->number) - (x->number < y->number);
	return rc ? rc : (x->node > y->node) - (x->node < y->node);
}

/*
 * "8" and "10" are in one row, "08" and "8" are not: names of one prefix are
 * told apart by their digits only if some begin with zeros.
 */
static void settle_digits(struct named *at, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		bool zeros = false;

		for (end = i; end < n && !by_prefix(&at[i].kin, &at[end].kin);
		     end++)
			zeros |= at[end].zero;
		for (size_t k = i; !zeros && k < end; k++)
			at[k].kin.digits = at[k].kin.digits ? ANY_DIGITS :
							      NO_DIGITS;
	}
}

/* Names whose numbers and whose nodes both go up by one are one run. */
static int add_runs(struct np_naming *x, const struct named *at, size_t n)
{
	x->kin = calloc(n + 1, sizeof(*x->kin));
	x->run = calloc(n + 1, sizeof(*x->run));
	if (!x->kin || !x->run)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct run *last = x->n_runs ? &x->run[x->n_runs - 1] :
						  NULL;

		if (!i || by_kin(&at[i - 1].kin, &at[i].kin)) {
			x->kin[x->n_kin] = at[i].kin;
			x->kin[x->n_kin++].first = x->n_runs;
			last = NULL;
		}
		if (last && at[i].number == last->number + last->n &&
		    at[i].node == last->node + last->n) {
			last->n++;
			continue;
		}
		x->run[x->n_runs++] = (struct run){
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
	struct named *at = calloc(n + 1, sizeof(*at));
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
	free(x->piece);
	free(x);
}

int np_naming_cut(struct np_naming *x, const uint32_t *group)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n_runs; i++)
		n += x->run[i].n;
	x->piece = calloc(n + 1, sizeof(*x->piece));
	if (!x->piece)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_runs; i++)
		for (uint32_t k = 0; k < x->run[i].n; k++) {
			const struct run *r = &x->run[i];
			uint32_t g = group[r->node + k];
			struct piece *last = k ? &x->piece[x->n_pieces - 1] :
						 NULL;

			if (last && last->group == g)
				last->n++;
			else
				x->piece[x->n_pieces++] = (struct piece){
					.kin = r->kin, .n = 1, .group = g,
					.number = r->number + k,
				};
		}
	return 0;
}

/* ---- lists of names, written ---- */

#define MAX_RANGE 65536u /* Slurm takes no longer one */

/* A list in the making. */
struct list {
	const struct np_naming *x;
	char *text;
	size_t len, room;
	size_t begin;	 /* of the kin's part */
	size_t n_ranges; /* in it */
	const struct kin *kin;
	uint32_t from, to; /* the range that may still grow */
	bool failed;
};

static char *room_for(struct list *l, size_t n)
{
	char *grown = l->text;

	if (!l->text || l->len + n > l->room) {
		l->room = 2 * (l->len + n) + 64;
		grown = realloc(l->text, l->room);
	}
	if (!grown) {
		l->failed = true;
		return NULL;
	}
	l->text = grown;
	return l->text + l->len;
}

static void put(struct list *l, const char *text, size_t n)
{
	char *at = room_for(l, n);

	if (at) {
		memcpy(at, text, n);
		l->len += n;
	}
}

/* snprintf() would be most of the time that a list takes. */
static void put_number(struct list *l, uint32_t v)
{
	uint32_t least = l->kin->digits == ANY_DIGITS ? 1 : l->kin->digits;
	char buf[16], *at = buf + sizeof(buf);

	for (uint32_t i = 0; v || i < least; i++, v /= 10)
		*--at = (char)('0' + v % 10);
	put(l, at, (size_t)(buf + sizeof(buf) - at));
}

static void end_range(struct list *l)
{
	if (!l->kin || l->kin->digits == NO_DIGITS)
		return;
	put(l, l->n_ranges++ ? "," : "[", 1);
	put_number(l, l->from);
	if (l->to > l->from) {
		put(l, "-", 1);
		put_number(l, l->to);
	}
}

static void end_kin(struct list *l)
{
	if (!l->kin)
		return;
	end_range(l);
	if (l->kin->digits != NO_DIGITS && l->n_ranges == 1 &&
	    l->from == l->to) {
		/* One number needs no brackets. */
		l->len = l->begin + l->kin->len;
		put_number(l, l->from);
	} else if (l->kin->digits != NO_DIGITS) {
		put(l, "]", 1);
	}
}

static void add(struct list *l, uint32_t kin_index, uint32_t from, uint32_t n)
{
	const struct kin *kin = &l->x->kin[kin_index];

	for (; n > MAX_RANGE; from += MAX_RANGE, n -= MAX_RANGE)
		add(l, kin_index, from, MAX_RANGE);
	if (kin == l->kin && from == l->to + 1 && kin->digits != NO_DIGITS &&
	    from + n - l->from <= MAX_RANGE) {
		l->to += n;
		return;
	}
	if (kin != l->kin || kin->digits == NO_DIGITS) {
		end_kin(l);
		if (l->len)
			put(l, ",", 1);
		l->begin = l->len;
		l->n_ranges = 0;
		put(l, kin->prefix, kin->len);
	} else {
		end_range(l);
	}
	l->kin = kin;
	l->from = from;
	l->to = from + n - 1;
}

static char *finish(struct list *l)
{
	end_kin(l);
	put(l, "", 1);
	if (l->failed) {
		free(l->text);
		return NULL;
	}
	return l->text;
}

/* The first bit at or after i that is not set, up to end. */
static size_t next_clear(const uint64_t *bits, size_t i, size_t end)
{
	while (i < end && np_bits_test(bits, i))
		i += !(i % NP_BITS_WORD) && !~bits[i / NP_BITS_WORD] ?
		     NP_BITS_WORD : 1;
	return i < end ? i : end;
}

char *np_naming_format(const struct np_naming *x, const uint64_t *nodes)
{
	struct list l = { .x = x };

	for (size_t i = 0; i < x->n_runs; i++) {
		const struct run *r = &x->run[i];
		size_t end = (size_t)r->node + r->n;
		size_t words = np_bits_words(end);
		size_t at = np_bits_next(nodes, words, r->node);

		while (at < end) {
			size_t to = next_clear(nodes, at, end);

			add(&l, r->kin, r->number + (uint32_t)(at - r->node),
			    (uint32_t)(to - at));
			at = np_bits_next(nodes, words, to);
		}
	}
	return finish(&l);
}

char *np_naming_closed(const struct np_naming *x, const uint64_t *open)
{
	struct list l = { .x = x };

	for (size_t i = 0; i < x->n_pieces; i++) {
		const struct piece *p = &x->piece[i];

		if (p->group != UINT32_MAX && !np_bits_test(open, p->group))
			add(&l, p->kin, p->number, p->n);
	}
	return finish(&l);
}

/* ---- and read ---- */

/* "00017" */
struct number {
	uint32_t value, digits;
	bool zero;
};

static const char *read_number(const char *p, const char *end,
			       struct number *out)
{
	*out = (struct number){ .zero = p < end && *p == '0' };
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (++out->digits > MAX_DIGITS)
			return NULL;
		out->value = 10 * out->value + (uint32_t)(*p - '0');
	}
	out->zero &= out->digits > 1;
	return out->digits ? p : NULL;
}

static const struct kin *find_kin(const struct np_naming *x,
				  const char *prefix, size_t len,
				  uint32_t digits)
{
	const struct kin key = { prefix, (uint32_t)len, digits };

	return bsearch(&key, x->kin, x->n_kin, sizeof(key), by_kin);
}

static int by_prefix_alone(const void *a, const void *b)
{
	return by_prefix(a, b);
}

/* Does any node's name begin so, and go on with a number or not at all? */
static bool has_prefix(const struct np_naming *x, const char *prefix,
		       size_t len)
{
	const struct kin key = { prefix, (uint32_t)len, 0 };

	return bsearch(&key, x->kin, x->n_kin, sizeof(key), by_prefix_alone);
}

static void set_bits(uint64_t *bits, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; ) {
		if (i % NP_BITS_WORD || from + n - i < NP_BITS_WORD) {
			np_bits_set(bits, i++);
		} else {
			bits[i / NP_BITS_WORD] = ~UINT64_C(0);
			i += NP_BITS_WORD;
		}
	}
}

/* A run of more nodes than this counts as several. */
#define RUN_NODES 1024

/* Returns 0, or -E2BIG: that is more than *left runs. */
static int set_range(const struct np_naming *x, const struct kin *kin,
		     uint32_t from, uint32_t to, uint64_t *nodes, size_t *left)
{
	size_t lo = kin->first, hi = kin[1].first;

	while (lo < hi) { /* the first run that ends behind from */
		size_t mid = (lo + hi) / 2;

		if (x->run[mid].number + x->run[mid].n <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < kin[1].first && x->run[lo].number <= to; lo++) {
		const struct run *r = &x->run[lo];
		uint32_t a = from > r->number ? from - r->number : 0;
		uint32_t b = to - r->number < r->n ? to - r->number + 1 : r->n;
		size_t cost = 1 + (b - a) / RUN_NODES;

		if (*left < cost)
			return -E2BIG;
		*left -= cost;
		set_bits(nodes, r->node + a, b - a);
	}
	return 0;
}

void np_naming_set(const struct np_naming *x, const char *name,
		   uint64_t *nodes)
{
	struct named n = named(name, 0);
	const struct kin *kin = find_kin(x, name, n.kin.len, n.kin.digits);
	size_t left = SIZE_MAX;

	if (!kin && n.kin.digits && !n.zero)
		kin = find_kin(x, name, n.kin.len, ANY_DIGITS);
	if (kin)
		set_range(x, kin, n.number, n.number, nodes, &left);
}

/* One range behind another; nodes NULL: only look whether they are ranges. */
static int ranges(const struct np_naming *x, const char *word, size_t len,
		  const char *p, uint64_t *nodes, size_t *left)
{
	const char *end = word + len;
	size_t prefix = (size_t)(p - word) - 1;
	const struct kin *any = find_kin(x, word, prefix, ANY_DIGITS);
	bool others = !has_prefix(x, word, prefix);

	for (;;) {
		const struct kin *kin = any;
		struct number a, b;

		p = read_number(p, end, &a);
		b = a;
		if (p && p < end && *p == '-')
			p = read_number(p + 1, end, &b);
		if (!p || p == end || b.value < a.value ||
		    ((a.zero || b.zero) && a.digits != b.digits))
			return -ENOENT;
		if (!kin && !others && a.digits != b.digits)
			return -ENOENT;
		if (kin && a.zero)
			return -ENOENT;
		if (!kin)
			kin = find_kin(x, word, prefix, a.digits);
		if (kin && nodes &&
		    set_range(x, kin, a.value, b.value, nodes, left))
			return -E2BIG;
		if (*p == ']' && p + 1 == end)
			return 0;
		if (*p++ != ',')
			return -ENOENT;
	}
}

int np_naming_parse(const struct np_naming *x, const char *word, size_t len,
		    uint64_t *nodes, size_t *left)
{
	const char *open = memchr(word, '[', len);
	int rc;

	if (!open || memchr(word, ']', (size_t)(open - word)))
		return -ENOENT;
	/* "n1[0-3]": the number of such a name begins before the bracket. */
	if (open > word && is_digit(open[-1]))
		return -ENOENT;
	rc = ranges(x, word, len, open + 1, NULL, NULL);
	return rc ? rc : ranges(x, word, len, open + 1, nodes, left);
}
