/*
 * The node index. The sections are:
 *
 *	Names			how names of nodes are stored
 *	Writing host lists
 *	Reading host lists
 *
 * Placement writes host lists that can name most of a cluster into many jobs,
 * and slurmctld waits while some of them are read or written. Lists are
 * therefore handled range by range, not name by name.
 */
#include "np_node_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"

/* ---- Names ---- */

#define MAX_DIGITS 9   /* of a number, which then fits into a uint32_t */
#define NO_DIGITS 0    /* a name without a number */
#define ANY_DIGITS 255 /* as many as needed, no leading zeros */

/* Names with the same prefix and the same format of their numbers. */
struct name_group {
	const char *prefix; /* not terminated */
	uint32_t len;	    /* of the prefix, bytes */
	uint32_t digits;    /* of the number, or NO_DIGITS or ANY_DIGITS */
	size_t first_span;  /* its spans end at the next group's first_span */
};

/* A name split into prefix and number. */
struct parsed_name {
	struct name_group key; /* by which the name is sorted */
	uint32_t number;
	uint32_t node; /* index of the node */
	bool leading_zero;
};

/* A span: n names of one group with consecutive numbers and node indices. */
struct name_span {
	uint32_t group;	       /* index */
	uint32_t number, node; /* of the first name */
	uint32_t n;
};

struct np_node_index {
	struct name_group *group; /* sorted; group[n_groups] is a sentinel whose
				     first_span is n_spans */
	size_t n_groups;
	struct name_span *span; /* sorted by group and number */
	size_t n_spans;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Length of a name without the number at its end. A name without a number, or
 * with one of more than MAX_DIGITS digits, consists only of a prefix.
 */
static size_t prefix_len(const char *name, size_t len)
{
	size_t prefix = len;

	while (prefix && is_digit(name[prefix - 1]) &&
	       len - prefix < MAX_DIGITS)
		prefix--;
	return prefix && is_digit(name[prefix - 1]) ? len : prefix;
}

/*
 * Split a name. The number of digits in its key is that in the name;
 * merge_digits() may replace it by ANY_DIGITS.
 */
static struct parsed_name parse_name(const char *name, uint32_t node)
{
	size_t len = strlen(name), prefix = prefix_len(name, len);
	const char *number = name + prefix;
	size_t digits = len - prefix;

	return (struct parsed_name){
		.key = { name, (uint32_t)prefix, (uint32_t)digits },
		.node = node,
		.number = digits ? (uint32_t)strtoul(number, NULL, 10) : 0,
		.leading_zero = digits > 1 && number[0] == '0',
	};
}

static int by_prefix(const void *a, const void *b)
{
	const struct name_group *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->prefix, y->prefix, n);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int by_name_group(const void *a, const void *b)
{
	const struct name_group *x = a, *y = b;
	int order = by_prefix(x, y);

	return order ? order :
		       (x->digits > y->digits) - (x->digits < y->digits);
}

static int by_name(const void *a, const void *b)
{
	const struct parsed_name *x = a, *y = b;
	int order = by_name_group(&x->key, &y->key);

	if (!order)
		order = (x->number > y->number) - (x->number < y->number);
	return order ? order : (x->node > y->node) - (x->node < y->node);
}

/*
 * Merge the groups of a prefix into one with ANY_DIGITS, unless one of its
 * names has a leading zero: "n8" and "n10" can be in one range of a list, "n08"
 * and "n8" cannot. The names are sorted by prefix.
 */
static void merge_digits(struct parsed_name *name, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		bool has_zeros = false;

		for (end = i;
		     end < n && !by_prefix(&name[i].key, &name[end].key); end++)
			has_zeros |= name[end].leading_zero;
		for (size_t k = i; !has_zeros && k < end; k++)
			if (name[k].key.digits != NO_DIGITS)
				name[k].key.digits = ANY_DIGITS;
	}
}

static bool is_same_name(const struct parsed_name *a,
			 const struct parsed_name *b)
{
	return !by_name_group(&a->key, &b->key) && a->number == b->number;
}

/*
 * Make the groups and spans from sorted names. Of several nodes with one name
 * the first has it. Returns 0 or -ENOMEM.
 */
static int add_spans(struct np_node_index *index,
		     const struct parsed_name *name, size_t n)
{
	index->group = calloc(n + 1, sizeof(*index->group));
	index->span = calloc(n + 1, sizeof(*index->span));
	if (!index->group || !index->span)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct name_span *last =
			index->n_spans ? &index->span[index->n_spans - 1] :
					 NULL;

		if (i && is_same_name(&name[i - 1], &name[i]))
			continue;
		if (!i || by_name_group(&name[i - 1].key, &name[i].key)) {
			index->group[index->n_groups] = name[i].key;
			index->group[index->n_groups++].first_span =
				index->n_spans;
			last = NULL;
		}
		if (last && name[i].number == last->number + last->n &&
		    name[i].node == last->node + last->n) {
			last->n++;
			continue;
		}
		index->span[index->n_spans++] = (struct name_span){
			.group = (uint32_t)index->n_groups - 1,
			.number = name[i].number,
			.node = name[i].node,
			.n = 1,
		};
	}
	index->group[index->n_groups].first_span = index->n_spans;
	return 0;
}

int np_node_index_new(char *const *name, size_t n, struct np_node_index **out)
{
	struct np_node_index *index = calloc(1, sizeof(*index));
	struct parsed_name *parsed = calloc(n + 1, sizeof(*parsed));
	size_t n_named = 0;
	int rc = index && parsed ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		if (name[i][0])
			parsed[n_named++] = parse_name(name[i], (uint32_t)i);
	if (!rc) {
		qsort(parsed, n_named, sizeof(*parsed), by_name);
		merge_digits(parsed, n_named);
		/* Merging changed the sort keys, so sort again. */
		qsort(parsed, n_named, sizeof(*parsed), by_name);
		rc = add_spans(index, parsed, n_named);
	}
	free(parsed);
	if (rc)
		np_node_index_free(index);
	else
		*out = index;
	return rc;
}

void np_node_index_free(struct np_node_index *index)
{
	if (!index)
		return;
	free(index->group);
	free(index->span);
	free(index);
}

/* ---- Writing host lists ---- */

#define MAX_RANGE 65536u /* names in the longest range that Slurm accepts */

/*
 * A host list that is being written. Consecutive names of one group form one
 * item, such as "n[0-3,7]".
 */
struct list_writer {
	const struct np_node_index *index;
	char *text;
	size_t len, allocated;		/* bytes */
	const struct name_group *group; /* of the current item, or NULL */
	size_t item_begin;		/* offset of that item in text */
	size_t n_ranges;		/* written to that item */
	uint32_t first, last; /* numbers of the current range, which may still
				 grow and is not written yet */
	bool failed;	      /* out of memory */
};

/* Append n bytes to the list. */
static void append_text(struct list_writer *writer, const char *text, size_t n)
{
	if (!n)
		return;
	if (np_array_reserve(&writer->text, &writer->allocated, writer->len + n,
			     1)) {
		writer->failed = true;
		return;
	}
	memcpy(writer->text + writer->len, text, n);
	writer->len += n;
}

/* Append a number. snprintf() would take most of the time needed for a list. */
static void append_number(struct list_writer *writer, uint32_t number)
{
	uint32_t min_digits =
		writer->group->digits == ANY_DIGITS ? 1 : writer->group->digits;
	char buf[16], *begin = buf + sizeof(buf);

	for (uint32_t i = 0; number || i < min_digits; i++, number /= 10)
		*--begin = (char)('0' + number % 10);
	append_text(writer, begin, (size_t)(buf + sizeof(buf) - begin));
}

/* Complete the current range by writing it. */
static void end_range(struct list_writer *writer)
{
	if (!writer->group || writer->group->digits == NO_DIGITS)
		return;
	append_text(writer, writer->n_ranges++ ? "," : "[", 1);
	append_number(writer, writer->first);
	if (writer->last > writer->first) {
		append_text(writer, "-", 1);
		append_number(writer, writer->last);
	}
}

/* Complete the current item. */
static void end_item(struct list_writer *writer)
{
	if (!writer->group)
		return;
	end_range(writer);
	if (writer->group->digits != NO_DIGITS && writer->n_ranges == 1 &&
	    writer->first == writer->last) {
		/* A single number needs no brackets. */
		writer->len = writer->item_begin + writer->group->len;
		append_number(writer, writer->first);
	} else if (writer->group->digits != NO_DIGITS) {
		append_text(writer, "]", 1);
	}
}

/*
 * Append n names of a group, with consecutive numbers from `first` on: to the
 * current range if they continue it, or else as a range of their own.
 */
static void append_names(struct list_writer *writer, uint32_t group_index,
			 uint32_t first, uint32_t n)
{
	const struct name_group *group = &writer->index->group[group_index];

	for (; n > MAX_RANGE; first += MAX_RANGE, n -= MAX_RANGE)
		append_names(writer, group_index, first, MAX_RANGE);
	if (group == writer->group && first == writer->last + 1 &&
	    group->digits != NO_DIGITS &&
	    first + n - writer->first <= MAX_RANGE) {
		writer->last += n;
		return;
	}
	if (group != writer->group || group->digits == NO_DIGITS) {
		end_item(writer);
		if (writer->len)
			append_text(writer, ",", 1);
		writer->item_begin = writer->len;
		writer->n_ranges = 0;
		append_text(writer, group->prefix, group->len);
	} else {
		end_range(writer);
	}
	writer->group = group;
	writer->first = first;
	writer->last = first + n - 1;
}

/* End the list. Returns its text, or NULL when out of memory. */
static char *finish_list(struct list_writer *writer)
{
	end_item(writer);
	append_text(writer, "", 1);
	if (writer->failed) {
		free(writer->text);
		return NULL;
	}
	return writer->text;
}

/*
 * Find the first clear bit at or after i. Returns its index, or end if there is
 * none. Words without a clear bit are skipped at once.
 */
static size_t next_clear(const uint64_t *bits, size_t i, size_t end)
{
	while (i < end && np_bits_test(bits, i)) {
		bool word_is_full = !(i % NP_BITS_WORD) &&
				    !~bits[i / NP_BITS_WORD];

		i += word_is_full ? NP_BITS_WORD : 1;
	}
	return i < end ? i : end;
}

char *np_node_index_format(const struct np_node_index *index,
			   const uint64_t *nodes)
{
	struct list_writer writer = { .index = index };

	for (size_t i = 0; i < index->n_spans; i++) {
		const struct name_span *span = &index->span[i];
		size_t span_end = (size_t)span->node + span->n;
		size_t words = np_bits_words(span_end);
		size_t begin = np_bits_next(nodes, words, span->node);

		/* Each sequence of set bits is one range. */
		while (begin < span_end) {
			size_t end = next_clear(nodes, begin, span_end);

			append_names(&writer, span->group,
				     span->number +
					     (uint32_t)(begin - span->node),
				     (uint32_t)(end - begin));
			begin = np_bits_next(nodes, words, end);
		}
	}
	return finish_list(&writer);
}

/* ---- Reading host lists ---- */

/* A number such as "00017". */
struct parsed_number {
	uint32_t value, digits;
	bool leading_zero;
};

/*
 * Read a number of at most MAX_DIGITS digits. Returns what follows it, or NULL
 * if there is no such number.
 */
static const char *read_number(const char *text, const char *end,
			       struct parsed_number *out)
{
	*out = (struct parsed_number){ .leading_zero = text < end &&
						     *text == '0' };
	for (; text < end && is_digit(*text); text++) {
		if (++out->digits > MAX_DIGITS)
			return NULL;
		out->value = 10 * out->value + (uint32_t)(*text - '0');
	}
	out->leading_zero &= out->digits > 1;
	return out->digits ? text : NULL;
}

/* Find the group of names with this prefix and digits; NULL: none. */
static const struct name_group *find_group(const struct np_node_index *index,
					   const char *prefix, size_t len,
					   uint32_t digits)
{
	const struct name_group key = { prefix, (uint32_t)len, digits };

	return bsearch(&key, index->group, index->n_groups, sizeof(key),
		       by_name_group);
}

/* Whether there are nodes with this prefix, with or without a number. */
static bool has_prefix(const struct np_node_index *index, const char *prefix,
		       size_t len)
{
	const struct name_group key = { prefix, (uint32_t)len, 0 };

	return bsearch(&key, index->group, index->n_groups, sizeof(key),
		       by_prefix);
}

/* Set n bits, a whole word at a time where possible. */
static void set_bits(uint64_t *bits, size_t from, size_t n)
{
	for (size_t i = from; i < from + n;) {
		if (i % NP_BITS_WORD || from + n - i < NP_BITS_WORD) {
			np_bits_set(bits, i++);
		} else {
			bits[i / NP_BITS_WORD] = ~UINT64_C(0);
			i += NP_BITS_WORD;
		}
	}
}

/*
 * Find the first span of a group with this number or a higher one. Returns its
 * index, or that of the next group's first span if there is none.
 */
static size_t find_span(const struct np_node_index *index,
			const struct name_group *group, uint32_t number)
{
	size_t low = group[0].first_span, high = group[1].first_span;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct name_span *span = &index->span[middle];

		if (span->number + span->n <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A span of more nodes than this counts as several. */
#define NODES_PER_SPAN 1024

/*
 * Set the bits of the nodes of a group whose numbers are from first to last. A
 * user's list may be hostile, so the work is limited. Returns 0, or -E2BIG:
 * more than *spans_left spans.
 */
static int set_range(const struct np_node_index *index,
		     const struct name_group *group, uint32_t first,
		     uint32_t last, uint64_t *nodes, size_t *spans_left)
{
	for (size_t i = find_span(index, group, first);
	     i < group[1].first_span && index->span[i].number <= last; i++) {
		const struct name_span *span = &index->span[i];
		/* The part of the span that is in the range. */
		uint32_t begin = first > span->number ? first - span->number :
							0;
		uint32_t end = last - span->number < span->n ?
				       last - span->number + 1 :
				       span->n;
		size_t cost = 1 + (end - begin) / NODES_PER_SPAN;

		if (*spans_left < cost)
			return -E2BIG;
		*spans_left -= cost;
		set_bits(nodes, span->node + begin, end - begin);
	}
	return 0;
}

/* Find the group of a name; NULL: none. */
static const struct name_group *find_group_of(const struct np_node_index *index,
					      const struct parsed_name *name)
{
	const struct name_group *key = &name->key;
	const struct name_group *group =
		find_group(index, key->prefix, key->len, key->digits);

	if (!group && key->digits && !name->leading_zero)
		group = find_group(index, key->prefix, key->len, ANY_DIGITS);
	return group;
}

bool np_node_index_find(const struct np_node_index *index, const char *name,
			uint64_t *nodes)
{
	struct parsed_name parsed = parse_name(name, 0);
	const struct name_group *group = find_group_of(index, &parsed);
	size_t i = group ? find_span(index, group, parsed.number) : 0;
	const struct name_span *span = &index->span[i];

	if (!group || i >= group[1].first_span || span->number > parsed.number)
		return false;
	if (nodes)
		set_bits(nodes, span->node + parsed.number - span->number, 1);
	return true;
}

/*
 * Read the ranges of an item such as "n[0-3,7]". ranges is the text after the
 * opening bracket; the closing bracket must end the item. If nodes is NULL,
 * only the syntax is checked. Returns 0; -ENOENT: this function cannot read the
 * item; -E2BIG: more than *spans_left spans.
 */
static int parse_ranges(const struct np_node_index *index, const char *item,
			size_t len, const char *ranges, uint64_t *nodes,
			size_t *spans_left)
{
	const char *next = ranges, *end = item + len;
	size_t prefix = (size_t)(ranges - item) - 1;
	const struct name_group *any_digits =
		find_group(index, item, prefix, ANY_DIGITS);
	bool is_known_prefix = has_prefix(index, item, prefix);

	for (;;) {
		const struct name_group *group = any_digits;
		struct parsed_number first, last;

		next = read_number(next, end, &first);
		last = first;
		if (next && next < end && *next == '-')
			next = read_number(next + 1, end, &last);
		if (!next || next == end || last.value < first.value ||
		    ((first.leading_zero || last.leading_zero) &&
		     first.digits != last.digits))
			return -ENOENT;
		/* Without ANY_DIGITS, 9 and 10 are in different groups. */
		if (!group && is_known_prefix && first.digits != last.digits)
			return -ENOENT;
		/* With ANY_DIGITS no name of this prefix has a leading zero. */
		if (group && first.leading_zero)
			return -ENOENT;
		if (!group)
			group = find_group(index, item, prefix, first.digits);
		if (group && nodes &&
		    set_range(index, group, first.value, last.value, nodes,
			      spans_left))
			return -E2BIG;
		if (*next == ']' && next + 1 == end)
			return 0;
		if (*next++ != ',')
			return -ENOENT;
	}
}

/* Checks the syntax first, so that an item sets all its bits or none. */
int np_node_index_parse(const struct np_node_index *index, const char *item,
			size_t len, uint64_t *nodes, size_t *spans_left)
{
	const char *bracket = memchr(item, '[', len);
	int rc;

	if (!bracket || memchr(item, ']', (size_t)(bracket - item)))
		return -ENOENT;
	/* In "n1[0-3]" the number begins before the bracket. */
	if (bracket > item && is_digit(bracket[-1]))
		return -ENOENT;
	rc = parse_ranges(index, item, len, bracket + 1, NULL, NULL);
	return rc ? rc :
		    parse_ranges(index, item, len, bracket + 1, nodes,
				 spans_left);
}
