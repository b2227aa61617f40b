/* Lists of names, written and read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_naming_impl.h"

#define MAX_RANGE 65536u /* Slurm takes no longer one */

/* A list in the making. */
struct list {
	const struct np_naming *x;
	char *text;
	size_t len, room;
	size_t begin;	 /* of the kin's part */
	size_t n_ranges; /* in it */
	const struct np_kin *kin;
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
	const struct np_kin *kin = &l->x->kin[kin_index];

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
		const struct np_run *r = &x->run[i];
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

char *np_naming_cut_format(const struct np_naming_cut *c,
			   const uint64_t *open)
{
	struct list l = { .x = c->naming };

	for (size_t i = 0; i < c->n; i++) {
		const struct np_piece *p = &c->piece[i];

		if (p->group != UINT32_MAX && !np_bits_test(open, p->group))
			add(&l, p->kin, p->number, p->n);
	}
	return finish(&l);
}

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

static const struct np_kin *find_kin(const struct np_naming *x,
				     const char *prefix, size_t len,
				     uint32_t digits)
{
	size_t lo = 0, hi = x->n_kin;

	while (lo < hi) {
		const struct np_kin *k = &x->kin[(lo + hi) / 2];
		size_t n = k->len < len ? k->len : len;
		int rc = memcmp(k->prefix, prefix, n);

		if (!rc)
			rc = (k->len > len) - (k->len < len);
		if (!rc)
			rc = (k->digits > digits) - (k->digits < digits);
		if (!rc)
			return k;
		if (rc < 0)
			lo = (lo + hi) / 2 + 1;
		else
			hi = (lo + hi) / 2;
	}
	return NULL;
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

static void set_range(const struct np_naming *x, const struct np_kin *kin,
		      uint32_t from, uint32_t to, uint64_t *nodes)
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
		const struct np_run *r = &x->run[lo];
		uint32_t a = from > r->number ? from - r->number : 0;
		uint32_t b = to - r->number < r->n ? to - r->number + 1 : r->n;

		set_bits(nodes, r->node + a, b - a);
	}
}

/* One range behind another; nodes NULL: only look whether they are ranges. */
static int ranges(const struct np_naming *x, const char *word, size_t len,
		  const char *p, uint64_t *nodes)
{
	const char *end = word + len;
	size_t prefix = (size_t)(p - word) - 1;

	for (;;) {
		const struct np_kin *kin;
		struct number a, b;

		p = read_number(p, end, &a);
		b = a;
		if (p && p < end && *p == '-')
			p = read_number(p + 1, end, &b);
		if (!p || p == end || b.value < a.value ||
		    ((a.zero || b.zero) && a.digits != b.digits))
			return -ENOENT;
		kin = find_kin(x, word, prefix, ANY_DIGITS);
		if (!kin && a.digits != b.digits)
			return -ENOENT;
		if (kin && a.zero)
			return -ENOENT;
		if (!kin)
			kin = find_kin(x, word, prefix, a.digits);
		if (kin && nodes)
			set_range(x, kin, a.value, b.value, nodes);
		if (*p == ']' && p + 1 == end)
			return 0;
		if (*p++ != ',')
			return -ENOENT;
	}
}

int np_naming_parse(const struct np_naming *x, const char *word, size_t len,
		    uint64_t *nodes)
{
	const char *open = memchr(word, '[', len);
	int rc = open && !memchr(word, ']', (size_t)(open - word)) ?
		 ranges(x, word, len, open + 1, NULL) : -ENOENT;

	return rc ? rc : ranges(x, word, len, open + 1, nodes);
}
