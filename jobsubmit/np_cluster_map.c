/*
 * The cluster map. The sections are:
 *
 *	Node index		how names of nodes are stored
 *	Writing host lists
 *	Reading host lists
 *	Queries			lists of names; which nodes match a job
 *	Making the map		nodes and partitions; leaf switches; the whole
 *
 * Placement writes host lists that can name most of a cluster into many jobs,
 * and slurmctld waits while some of them are read or written. Lists are
 * therefore handled range by range, not name by name.
 */
#include "np_cluster_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_hostlist.h"
#include "np_text.h"
#include "np_topo.h"

/* ---- Node index ---- */

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

/* The part of a span that is on one leaf switch, or on none (NP_NO_LEAF). */
struct leaf_span {
	uint32_t group, number, n; /* as in struct name_span */
	uint32_t leaf;
};

struct np_node_index {
	struct name_group *group; /* sorted; group[n_groups] is a sentinel whose
				     first_span is n_spans */
	size_t n_groups;
	struct name_span *span; /* sorted by group and number */
	size_t n_spans;
	struct leaf_span *leaf_span; /* the spans, split at leaf switches */
	size_t n_leaf_spans;
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

/* Make the groups and spans from sorted names. Returns 0 or -ENOMEM. */
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
	free(index->leaf_span);
	free(index);
}

int np_node_index_set_leaves(struct np_node_index *index, const uint32_t *leaf)
{
	size_t n_names = 0;

	for (size_t i = 0; i < index->n_spans; i++)
		n_names += index->span[i].n;
	/* There is at most one leaf span per name. The + 1 avoids calloc(0). */
	index->leaf_span = calloc(n_names + 1, sizeof(*index->leaf_span));
	if (!index->leaf_span)
		return -ENOMEM;
	for (size_t i = 0; i < index->n_spans; i++)
		for (uint32_t k = 0; k < index->span[i].n; k++) {
			const struct name_span *span = &index->span[i];
			uint32_t node_leaf = leaf[span->node + k];
			struct leaf_span *last =
				k ? &index->leaf_span[index->n_leaf_spans - 1] :
				    NULL;

			if (last && last->leaf == node_leaf)
				last->n++;
			else
				index->leaf_span[index->n_leaf_spans++] =
					(struct leaf_span){
						.group = span->group,
						.n = 1,
						.number = span->number + k,
						.leaf = node_leaf,
					};
		}
	return 0;
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

char *np_node_index_format_closed(const struct np_node_index *index,
				  const uint64_t *open)
{
	struct list_writer writer = { .index = index };

	for (size_t i = 0; i < index->n_leaf_spans; i++) {
		const struct leaf_span *span = &index->leaf_span[i];

		if (span->leaf != NP_NO_LEAF && !np_bits_test(open, span->leaf))
			append_names(&writer, span->group, span->number,
				     span->n);
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

/* Set the bit of the node with this name, if there is one. */
static void set_by_name(const struct np_node_index *index, const char *name,
			uint64_t *nodes)
{
	struct parsed_name parsed = parse_name(name, 0);
	const struct name_group *group =
		find_group(index, name, parsed.key.len, parsed.key.digits);
	size_t no_limit = SIZE_MAX;

	if (!group && parsed.key.digits && !parsed.leading_zero)
		group = find_group(index, name, parsed.key.len, ANY_DIGITS);
	if (group)
		set_range(index, group, parsed.number, parsed.number, nodes,
			  &no_limit);
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

/* ---- Queries: references, and lists of names ---- */

struct np_cluster_map *np_cluster_map_ref(struct np_cluster_map *map)
{
	if (map)
		atomic_fetch_add(&map->refs, 1);
	return map;
}

void np_cluster_map_unref(struct np_cluster_map *map)
{
	if (!map || atomic_fetch_sub(&map->refs, 1) > 1)
		return;
	np_node_index_free(map->node_index);
	np_leaves_unref(map->leaves);
	for (size_t i = 0; map->name && i < map->n_nodes; i++)
		free(map->name[i]);
	for (size_t i = 0; i < map->n_kinds; i++) {
		free(map->kind[i].features);
		free(map->kind[i].nodes);
	}
	for (size_t i = 0; i < map->n_parts; i++) {
		free(map->part[i].name);
		free(map->part[i].nodes);
	}
	free(map->kind);
	free(map->part);
	free(map->name);
	free(map);
}

int np_cluster_map_partition(const struct np_cluster_map *map,
			     const char *names)
{
	size_t len = names ? strcspn(names, ",") : 0;

	for (size_t i = 0; i < map->n_parts; i++)
		if (names ? !strncmp(map->part[i].name, names, len) &&
				    !map->part[i].name[len] :
			    map->part[i].is_default)
			return (int)i;
	return -1;
}

/* State of reading a host list name by name. */
struct name_reader {
	const struct np_cluster_map *map;
	uint64_t *nodes;   /* bitmap, in which the bits are set */
	size_t names_left; /* that are still allowed */
};

/* Callback of np_hostlist_walk(). */
static int set_named_node(void *arg, const char *name)
{
	struct name_reader *reader = arg;

	if (!reader->names_left--)
		return -EINVAL;
	set_by_name(reader->map->node_index, name, reader->nodes);
	return 0;
}

/*
 * Read a host list with at most max_names names, where a span counts as one.
 * Items that the index cannot read are read name by name. Slurm's parser is not
 * used, because it allocates every name and leaks some of them. Returns 0 or
 * -EINVAL.
 */
static int parse_list(const struct np_cluster_map *map, const char *hosts,
		      size_t max_names, uint64_t *nodes)
{
	struct name_reader reader = { map, nodes, max_names };
	int rc = 0;

	memset(nodes, 0, map->words * sizeof(*nodes));
	for (size_t len; !rc && hosts && (len = np_hostlist_word(&hosts));
	     hosts += len) {
		rc = np_node_index_parse(map->node_index, hosts, len, nodes,
					 &reader.names_left);
		if (rc == -ENOENT)
			rc = np_hostlist_walk(hosts, len, set_named_node,
					      &reader);
	}
	return rc ? -EINVAL : 0;
}

int np_cluster_map_parse_hostlist(const struct np_cluster_map *map,
				  const char *hosts, uint64_t *nodes)
{
	if (hosts && strpbrk(hosts, "{}"))
		return -EINVAL;
	return parse_list(map, hosts, 4 * map->n_nodes, nodes);
}

/*
 * Read a host list from Slurm's configuration. Unlike a user's list, it may
 * contain up to NP_HOSTLIST_MAX names, because it may name nodes that do not
 * exist yet.
 */
static int parse_conf_list(const struct np_cluster_map *map, const char *hosts,
			   uint64_t *nodes)
{
	return parse_list(map, hosts, NP_HOSTLIST_MAX, nodes);
}

/* Return the text, or if it is empty, free it and return NULL. */
static char *null_if_empty(char *text)
{
	if (text && *text)
		return text;
	free(text);
	return NULL;
}

char *np_cluster_map_format_hostlist(const struct np_cluster_map *map,
				     const uint64_t *nodes)
{
	return null_if_empty(np_node_index_format(map->node_index, nodes));
}

char *np_cluster_map_format_closed(const struct np_cluster_map *map,
				   const uint64_t *open)
{
	return null_if_empty(
		np_node_index_format_closed(map->node_index, open));
}

/* Return the text of a Slurm hostlist, and destroy the list. */
static char *finish_hostlist(np_hostlist_t list)
{
	char *text = np_ranged_string(list);

	slurm_hostlist_destroy(list);
	return text;
}

char *np_cluster_map_leaf_names(const struct np_cluster_map *map,
				const uint64_t *leaves)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);

	NP_BITS_EACH(i, leaves, map->leaves->words)
		slurm_hostlist_push_host(list, map->leaves->name[i]);
	return finish_hostlist(list);
}

char *np_cluster_map_switch_names(const struct np_cluster_map *map,
				  const uint32_t *number, size_t n)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);

	for (size_t i = 0; i < n; i++)
		slurm_hostlist_push_host(list,
					 map->leaves->switch_name[number[i]]);
	return finish_hostlist(list);
}

void np_cluster_map_from_ranges(const struct np_cluster_map *map,
				const int32_t *ranges, uint64_t *nodes)
{
	memset(nodes, 0, map->words * sizeof(*nodes));
	for (; ranges && ranges[0] >= 0 && ranges[1] >= ranges[0]; ranges += 2)
		for (int32_t i = ranges[0]; i <= ranges[1]; i++)
			if ((size_t)i < map->n_nodes && map->name[i][0])
				np_bits_set(nodes, (size_t)i);
}

/* ---- Queries: which nodes match a job, and how many it needs ---- */

void np_job_requirements_set_memory(struct np_job_requirements *required,
				    uint64_t memory)
{
	if (memory == NO_VAL64 || memory == INFINITE64)
		return;
	if (memory & MEM_PER_CPU)
		required->memory_per_cpu_mb = memory & ~MEM_PER_CPU;
	else
		required->memory_mb = memory;
}

/* Whether an expression only combines features by "and". */
static bool is_plain_and(const char *features)
{
	return !strpbrk(features, "|()[]*!");
}

/*
 * Whether a list has all features of an expression that is_plain_and() accepts.
 */
static bool has_all_features(const char *list, const char *features)
{
	while (*features) {
		size_t n = strcspn(features, "&,");

		if (n && !np_list_has(list, features, n))
			return false;
		features += n + (features[n] != '\0');
	}
	return true;
}

/* Whether a kind of node has what a job needs of each node. */
static bool kind_matches(const struct np_node_kind *kind,
			 const struct np_job_requirements *required)
{
	uint64_t cpus = required->cpus_per_node ? required->cpus_per_node : 1;

	return kind->cpus >= cpus && kind->memory_mb >= required->memory_mb &&
	       kind->memory_mb >= cpus * required->memory_per_cpu_mb &&
	       (!required->features ||
		has_all_features(kind->features, required->features));
}

/* Number of nodes for a total of CPUs or tasks; 0 if per_node is 0. */
static uint32_t nodes_needed(uint64_t total, uint64_t per_node)
{
	uint64_t n = per_node ? (total + per_node - 1) / per_node : 0;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/*
 * CPUs of a node that a job can use, given the memory that it needs for each
 * and the number of threads that it uses of each core.
 */
static uint64_t usable_cpus(const struct np_node_kind *kind,
			    const struct np_job_requirements *required)
{
	uint32_t threads = required->threads_per_core;
	uint64_t cpus = kind->cpus, by_memory;

	if (threads && threads < kind->threads)
		cpus = cpus / kind->threads * threads;
	if (!required->memory_per_cpu_mb)
		return cpus;
	by_memory = kind->memory_mb / required->memory_per_cpu_mb;
	return by_memory < cpus ? by_memory : cpus;
}

/*
 * It is not known which nodes the job will get, so min_nodes is computed for
 * the matching kind with the fewest usable CPUs: that many nodes suffice,
 * whichever they are.
 */
int np_cluster_map_fit(const struct np_cluster_map *map,
		       const struct np_job_requirements *required,
		       uint64_t *nodes, struct np_job_fit *fit)
{
	const struct np_part *part;
	uint64_t least_cpus = UINT64_MAX; /* of the kinds that match */
	size_t n_matching = 0;		  /* kinds */

	*fit = (struct np_job_fit){
		.partition = np_cluster_map_partition(map, required->partition),
		.undetermined = required->wants_layout ||
				(required->partition &&
				 strchr(required->partition, ',')),
	};
	if (fit->partition < 0)
		return -ENOENT;
	part = &map->part[fit->partition];
	fit->undetermined |= part->no_leaves;
	memset(nodes, 0, map->words * sizeof(*nodes));
	for (size_t k = 0; k < map->n_kinds; k++) {
		const struct np_node_kind *kind = &map->kind[k];

		if (!np_bits_intersect(part->nodes, kind->nodes, map->words) ||
		    !kind_matches(kind, required))
			continue;
		n_matching++;
		for (size_t w = 0; w < map->words; w++)
			nodes[w] |= part->nodes[w] & kind->nodes[w];
		if (usable_cpus(kind, required) < least_cpus)
			least_cpus = usable_cpus(kind, required);
	}
	/*
	 * If all nodes of the partition are alike, all match, whatever devices
	 * the job requests and even if its features cannot be evaluated.
	 */
	fit->undetermined |=
		part->n_kinds > 1 &&
		(required->wants_devices ||
		 (required->features && !is_plain_and(required->features)));
	fit->min_nodes = max_u32(1, required->nodes);
	if (n_matching)
		fit->min_nodes =
			max_u32(fit->min_nodes,
				nodes_needed(required->cpus, least_cpus));
	fit->min_nodes =
		max_u32(fit->min_nodes, nodes_needed(required->tasks,
						     required->tasks_per_node));
	return 0;
}

/* ---- Making the map: nodes and partitions ---- */

/* The active features of a node, or the configured ones if it has none. */
static const char *node_features(const node_info_t *node)
{
	return node->features_act ? node->features_act :
	       node->features	  ? node->features :
				    "";
}

static int add_node_names(struct np_cluster_map *map,
			  const node_info_msg_t *nodes)
{
	map->name = calloc(map->n_nodes + 1, sizeof(*map->name));
	for (size_t i = 0; map->name && i < map->n_nodes; i++) {
		const char *name = nodes->node_array[i].name;

		map->name[i] = strdup(name ? name : "");
		if (!map->name[i])
			return -ENOMEM;
	}
	return map->name ? np_node_index_new(map->name, map->n_nodes,
					     &map->node_index) :
			   -ENOMEM;
}

static bool kind_equals(const struct np_node_kind *kind,
			const node_info_t *node)
{
	return kind->cpus == node->cpus && kind->threads == node->threads &&
	       kind->memory_mb == node->real_memory &&
	       !strcmp(kind->features, node_features(node));
}

static struct np_node_kind *add_kind(struct np_cluster_map *map,
				     const node_info_t *node)
{
	struct np_node_kind *kind = &map->kind[map->n_kinds];

	kind->cpus = node->cpus;
	kind->threads = node->threads;
	kind->memory_mb = node->real_memory;
	kind->features = strdup(node_features(node));
	kind->nodes = calloc(map->words, sizeof(*kind->nodes));
	map->n_kinds++;
	return kind->features && kind->nodes ? kind : NULL;
}

/*
 * Reduce a kind to the lesser of itself and this node, without features, so
 * that a job that fits the kind fits every node of it. Used when there are
 * NP_CLUSTER_MAP_MAX_KINDS kinds: the last one takes all further nodes.
 */
static void reduce_kind(struct np_node_kind *kind, const node_info_t *node)
{
	if (node->cpus < kind->cpus)
		kind->cpus = node->cpus;
	if (node->threads > kind->threads)
		kind->threads = node->threads;
	if (node->real_memory < kind->memory_mb)
		kind->memory_mb = node->real_memory;
	kind->features[0] = '\0';
}

/*
 * Divide the nodes into kinds. Adjacent nodes are often alike, so the kind of
 * the previous node is tried first.
 */
static int add_node_kinds(struct np_cluster_map *map,
			  const node_info_msg_t *nodes)
{
	struct np_node_kind *kind = NULL;

	map->kind = calloc(NP_CLUSTER_MAP_MAX_KINDS, sizeof(*map->kind));
	if (!map->kind)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_nodes; i++) {
		const node_info_t *node = &nodes->node_array[i];
		size_t k = 0;

		if (!kind || !kind_equals(kind, node)) {
			while (k < map->n_kinds &&
			       !kind_equals(&map->kind[k], node))
				k++;
			if (k < map->n_kinds) {
				kind = &map->kind[k];
			} else if (k < NP_CLUSTER_MAP_MAX_KINDS) {
				kind = add_kind(map, node);
			} else {
				kind = &map->kind[k - 1];
				reduce_kind(kind, node);
			}
		}
		if (!kind)
			return -ENOMEM;
		np_bits_set(kind->nodes, i);
	}
	return 0;
}

/* Add the partitions, after the node kinds. Returns 0 or -ENOMEM. */
static int add_parts(struct np_cluster_map *map,
		     const partition_info_msg_t *parts, bool whole_nodes)
{
	map->part = calloc(parts->record_count + 1, sizeof(*map->part));
	if (!map->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *info = &parts->partition_array[i];
		struct np_part *part = &map->part[map->n_parts++];

		part->name = strdup(info->name ? info->name : "");
		part->nodes = calloc(map->words, sizeof(*part->nodes));
		if (!part->name || !part->nodes)
			return -ENOMEM;
		np_cluster_map_from_ranges(map, info->node_inx, part->nodes);
		part->is_default = info->flags & PART_FLAG_DEFAULT;
		/* max_share is 0 with OverSubscribe=EXCLUSIVE. */
		part->shares_nodes = !whole_nodes && info->max_share;
		for (size_t k = 0; k < map->n_kinds; k++)
			part->n_kinds += np_bits_intersect(
				part->nodes, map->kind[k].nodes, map->words);
	}
	return 0;
}

/* ---- Making the map: leaf switches ---- */

/*
 * The list of leaf switches under construction. A bitmap has map->words words.
 */
struct leaf_list {
	struct np_leaf *leaf;
	uint32_t **leaf_nodes; /* of each leaf, malloc'ed */
	size_t n;
	uint64_t *current_nodes; /* bitmap: nodes of the leaf being added */
	uint64_t *nodes_on_leaf; /* a bitmap for each rail: nodes with a leaf */
	uint64_t *topology_nodes; /* a bitmap for each topology: its nodes */
	uint64_t *rails_file_nodes; /* bitmap: nodes in the rails file */
	/* If Slurm's topology has rails: the device that leads to each. */
	const char *device[NP_RAILS_MAX];
	size_t n_devices;
	size_t n_duplicates; /* nodes that were found on a second leaf */
};

/*
 * Allocate the arrays of a leaf list. Returns 0 or -ENOMEM. Call
 * free_leaf_list() in either case.
 */
static int alloc_leaf_list(const struct np_cluster_map *map, size_t max_leaves,
			   size_t n_topologies, struct leaf_list *list)
{
	size_t words = map->words;

	*list = (struct leaf_list){
		.leaf = calloc(max_leaves + 1, sizeof(*list->leaf)),
		.leaf_nodes = calloc(max_leaves + 1, sizeof(*list->leaf_nodes)),
		.current_nodes = calloc(words, sizeof(*list->current_nodes)),
		.nodes_on_leaf = calloc(NP_RAILS_MAX * words,
					sizeof(*list->nodes_on_leaf)),
		.topology_nodes = calloc(n_topologies * words,
					 sizeof(*list->topology_nodes)),
		.rails_file_nodes =
			calloc(words, sizeof(*list->rails_file_nodes)),
	};
	return list->leaf && list->leaf_nodes && list->current_nodes &&
			       list->nodes_on_leaf && list->topology_nodes &&
			       list->rails_file_nodes ?
		       0 :
		       -ENOMEM;
}

static void free_leaf_list(struct leaf_list *list)
{
	for (size_t i = 0; list->leaf_nodes && i < list->n; i++)
		free(list->leaf_nodes[i]);
	free(list->rails_file_nodes);
	free(list->topology_nodes);
	free(list->nodes_on_leaf);
	free(list->current_nodes);
	free(list->leaf_nodes);
	free(list->leaf);
}

/*
 * Find the topology that lists a partition. Returns its index, or 0, the
 * cluster's own topology, if no other lists it.
 */
static size_t find_topology(const struct np_topo *topo, const char *partition)
{
	for (size_t i = 1; i < topo->n_topologies; i++)
		if (np_list_has(topo->partitions[i], partition,
				strlen(partition)))
			return i;
	return 0;
}

/* Whether any leaf switch belongs to this topology. */
static bool topo_has_leaves(const struct np_topo *topo, size_t topology)
{
	for (size_t i = 0; i < topo->n; i++)
		if (topo->leaf[i].topology == topology)
			return true;
	return false;
}

/* Set no_leaves of the partitions whose topology has no leaf switches. */
static void mark_parts_without_leaves(struct np_cluster_map *map,
				      const struct np_topo *topo)
{
	for (size_t i = 0; topo->n && i < map->n_parts; i++)
		map->part[i].no_leaves = !topo_has_leaves(
			topo, find_topology(topo, map->part[i].name));
}

/*
 * Set the nodes of each topology, which are those of its partitions. Nodes in
 * no partition belong to the cluster's topology.
 */
static void set_topology_nodes(const struct np_cluster_map *map,
			       const struct np_topo *topo,
			       uint64_t *topology_nodes)
{
	for (size_t i = 0; i < map->n_nodes; i++)
		np_bits_set(topology_nodes, i);
	if (topo->n_topologies == 1)
		return;
	for (size_t i = 0; i < map->n_parts; i++)
		for (size_t w = 0; w < map->words; w++)
			topology_nodes[w] &= ~map->part[i].nodes[w];
	for (size_t i = 0; i < map->n_parts; i++) {
		size_t topology = find_topology(topo, map->part[i].name);

		for (size_t w = 0; w < map->words; w++)
			topology_nodes[topology * map->words + w] |=
				map->part[i].nodes[w];
	}
}

/*
 * Parse the value of NetDevices, which lists one device for each leaf switch of
 * a node. A single device means that there are no rails. devices is modified.
 */
static void parse_devices(struct leaf_list *list, char *devices)
{
	for (char *device; (device = strsep(&devices, ","));)
		if (*device && list->n_devices < NP_RAILS_MAX)
			list->device[list->n_devices++] = device;
	if (list->n_devices < 2) {
		list->device[0] = NULL;
		list->n_devices = 0;
	}
}

/*
 * Set the nodes that the rails file lists. Invalid lists are skipped. Overwrites
 * current_nodes.
 */
static void set_rails_file_nodes(const struct np_cluster_map *map,
				 struct leaf_list *list,
				 const struct np_topo *rails)
{
	for (size_t i = 0; i < rails->n; i++)
		if (!parse_conf_list(map, rails->leaf[i].nodes,
				     list->current_nodes))
			np_bits_or(list->rails_file_nodes, list->current_nodes,
				   map->words);
}

/* Return the name of the first leaf added so far that a node is on, or "". */
static const char *find_leaf_name(const struct leaf_list *list, uint32_t node)
{
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->leaf[i].n_nodes; k++)
			if (list->leaf_nodes[i][k] == node)
				return list->leaf[i].name;
	return "";
}

/* Warn about a node on two leaves. Only the first such node is named. */
static void warn_duplicate(struct np_cluster_map *map, struct leaf_list *list,
			   uint32_t node, const char *leaf)
{
	if (!list->n_duplicates++)
		np_errf(&map->warning, 0,
			"topology: node %.64s is on leaf "
			"switches %.64s and %.64s: the first is used",
			map->name[node], find_leaf_name(list, node), leaf);
}

/* Append to the warning how many more nodes are on two leaves. */
static void add_count_to_warning(struct np_cluster_map *map,
				 const struct leaf_list *list)
{
	size_t len = strlen(map->warning.text);

	if (list->n_duplicates > 1)
		snprintf(map->warning.text + len,
			 sizeof(map->warning.text) - len,
			 " (and %zu more node%s)", list->n_duplicates - 1,
			 list->n_duplicates > 2 ? "s" : "");
}

/*
 * Remove from the current leaf all nodes that are on an earlier leaf. Slurm
 * accepts a node on two leaves, with a warning.
 */
static void keep_on_first_leaf(struct np_cluster_map *map,
			       struct leaf_list *list, uint64_t *nodes_on_leaf,
			       const char *leaf)
{
	for (size_t w = 0; w < map->words; w++) {
		uint64_t duplicates = list->current_nodes[w] & nodes_on_leaf[w];

		list->current_nodes[w] &= ~duplicates;
		nodes_on_leaf[w] |= list->current_nodes[w];
		NP_BITS_EACH(i, &duplicates, 1)
			warn_duplicate(map, list,
				       (uint32_t)(w * NP_BITS_WORD + i), leaf);
	}
}

/* Append a leaf with the current nodes, if any. Returns 0 or -ENOMEM. */
static int append_leaf(const struct np_cluster_map *map, struct leaf_list *list,
		       const char *name, const char *rail)
{
	struct np_leaf *leaf = &list->leaf[list->n];
	uint32_t *node;

	if (!np_bits_any(list->current_nodes, map->words))
		return 0;
	node = calloc(np_bits_count(list->current_nodes, map->words),
		      sizeof(*node));
	if (!node)
		return -ENOMEM;
	*leaf = (struct np_leaf){ .name = name, .node = node, .rail = rail };
	NP_BITS_EACH(i, list->current_nodes, map->words)
		node[leaf->n_nodes++] = (uint32_t)i;
	list->leaf_nodes[list->n++] = node;
	return 0;
}

/*
 * Add a leaf switch of Slurm's topology, without the nodes that the rails file
 * lists. The k-th leaf switch of nodes with several devices is on the k-th
 * rail. Returns 0 or -ENOMEM.
 */
static int add_slurm_leaf(struct np_cluster_map *map, struct leaf_list *list,
			  const struct np_topo_leaf *topo_leaf)
{
	const uint64_t *own_topology_nodes =
		list->topology_nodes + topo_leaf->topology * map->words;
	size_t rail = 0;

	if (parse_conf_list(map, topo_leaf->nodes, list->current_nodes)) {
		np_errf(&map->warning, 0,
			"topology: leaf switch %.64s is "
			"ignored: \"%.80s\" is not a list of nodes",
			topo_leaf->name, topo_leaf->nodes);
		return 0;
	}
	for (size_t w = 0; w < map->words; w++)
		list->current_nodes[w] &= own_topology_nodes[w] &
					  ~list->rails_file_nodes[w];
	while (rail < list->n_devices &&
	       np_bits_intersect(list->current_nodes,
				 list->nodes_on_leaf + rail * map->words,
				 map->words))
		rail++;
	if (rail >= list->n_devices)
		rail = 0;
	keep_on_first_leaf(map, list, list->nodes_on_leaf + rail * map->words,
			   topo_leaf->name);
	return append_leaf(map, list, topo_leaf->name, list->device[rail]);
}

/*
 * Add the leaf switch that a line of the rails file names, with the nodes of
 * all lines that name it, unless an earlier line has added it. Returns 0 or
 * -ENOMEM.
 */
static int add_rails_file_leaf(struct np_cluster_map *map,
			       struct leaf_list *list,
			       const struct np_topo *rails, size_t line)
{
	const struct np_topo_leaf *topo_leaf = &rails->leaf[line];
	/*
	 * Reused as scratch memory: all leaves of Slurm's topologies have been
	 * added.
	 */
	uint64_t *line_nodes = list->topology_nodes;

	memset(list->current_nodes, 0,
	       map->words * sizeof(*list->current_nodes));
	for (size_t i = 0; i < rails->n; i++) {
		if (strcmp(rails->leaf[i].name, topo_leaf->name))
			continue;
		if (i < line)
			return 0;
		if (!parse_conf_list(map, rails->leaf[i].nodes, line_nodes))
			np_bits_or(list->current_nodes, line_nodes, map->words);
	}
	return append_leaf(map, list, topo_leaf->name, topo_leaf->rail);
}

/*
 * Make the leaves from Slurm's topologies and from the rails file, which takes
 * precedence for the nodes that it lists. devices is modified. Returns 0 or
 * -errno with err.
 */
static int make_leaves(struct np_cluster_map *map, const struct np_topo *topo,
		       const struct np_topo *rails, char *devices,
		       struct np_err *err)
{
	struct leaf_list list;
	int rc = alloc_leaf_list(map, topo->n + rails->n, topo->n_topologies,
				 &list);

	if (!rc) {
		mark_parts_without_leaves(map, topo);
		set_topology_nodes(map, topo, list.topology_nodes);
		set_rails_file_nodes(map, &list, rails);
		if (topo->n_topologies == 1)
			parse_devices(&list, devices);
	}
	for (size_t i = 0; !rc && i < topo->n; i++)
		rc = add_slurm_leaf(map, &list, &topo->leaf[i]);
	for (size_t i = 0; !rc && i < rails->n; i++)
		rc = add_rails_file_leaf(map, &list, rails, i);
	add_count_to_warning(map, &list);
	if (!rc)
		rc = np_leaves_new(map->n_nodes, list.leaf, list.n,
				   &map->leaves, err);
	free_leaf_list(&list);
	return rc;
}

/* The parts of a site's topology text, whose format np_topo.h describes. */
struct topology_text {
	char *topologies;
	char *devices;	  /* value of NetDevices; NULL: none given */
	char *rails;	  /* text of the rails file; NULL: there is none */
	char *rails_path; /* of that file */
};

/* Split a topology text in place. What it does not have is NULL. */
static struct topology_text split_topology_text(char *text)
{
	struct topology_text split = { .topologies = text };

	split.devices = strstr(text, NP_TOPO_RAILS);
	if (!split.devices)
		return split;
	*split.devices = '\0';
	split.devices += strlen(NP_TOPO_RAILS);
	split.rails_path = strchr(split.devices, '\n');
	split.rails = split.rails_path ? strchr(split.rails_path + 1, '\n') :
					 NULL;
	if (split.rails)
		*split.rails_path++ = *split.rails++ = '\0';
	return split;
}

/*
 * Make the leaves of the map from the topology text. Returns 0 or -errno;
 * -ENOMEM may come without err.
 */
static int add_leaves(struct np_cluster_map *map, const char *topology,
		      struct np_err *err)
{
	struct np_topo topo = { .n = 0 }, rails = { .n = 0 };
	char *copy = strdup(topology);
	struct topology_text split;
	int rc;

	if (!copy)
		return -ENOMEM;
	split = split_topology_text(copy);
	rc = np_topo_parse(split.topologies, &topo, err);
	/* A damaged rails file is ignored, as if there were none. */
	if (!rc && split.rails &&
	    np_rails_parse(split.rails, split.rails_path, &rails,
			   &map->rails_error) == -ENOMEM)
		rc = -ENOMEM;
	if (!rc)
		rc = make_leaves(map, &topo, &rails, split.devices, err);
	np_topo_free(&topo);
	np_topo_free(&rails);
	free(copy);
	return rc ? rc :
		    np_node_index_set_leaves(map->node_index,
					     map->leaves->leaf);
}

/* ---- Making the map ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return np_hash(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Compute a digest of everything from which a map is made. */
static uint64_t compute_digest(const node_info_msg_t *nodes,
			       const partition_info_msg_t *parts,
			       const char *topology, bool whole_nodes)
{
	uint64_t hash = NP_HASH;

	for (uint32_t i = 0; i < nodes->record_count; i++) {
		const node_info_t *node = &nodes->node_array[i];

		hash = hash_text(hash, node->name);
		hash = hash_text(hash, node_features(node));
		hash = np_hash(hash, &node->cpus, sizeof(node->cpus));
		hash = np_hash(hash, &node->threads, sizeof(node->threads));
		hash = np_hash(hash, &node->real_memory,
			       sizeof(node->real_memory));
	}
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *part = &parts->partition_array[i];

		hash = hash_text(hash, part->name);
		hash = hash_text(hash, part->nodes);
		hash = np_hash(hash, &part->flags, sizeof(part->flags));
		hash = np_hash(hash, &part->max_share, sizeof(part->max_share));
	}
	hash = np_hash(hash, &whole_nodes, sizeof(whole_nodes));
	return hash_text(hash, topology);
}

int np_cluster_map_make(struct np_cluster_map *old,
			const node_info_msg_t *nodes,
			const partition_info_msg_t *parts, const char *topology,
			bool whole_nodes, struct np_cluster_map **out,
			struct np_err *err)
{
	uint64_t digest = compute_digest(nodes, parts, topology, whole_nodes);
	struct np_cluster_map *map;
	int rc;

	if (old && old->digest == digest) {
		*out = np_cluster_map_ref(old);
		return 0;
	}
	if (!nodes->record_count || nodes->record_count > NP_LEAVES_MAX_NODES)
		return np_errf(err, -EINVAL,
			       "the cluster has %u nodes; 1 to %d are "
			       "supported",
			       nodes->record_count, NP_LEAVES_MAX_NODES);
	map = calloc(1, sizeof(*map));
	if (!map)
		return np_errf(err, -ENOMEM, "out of memory");
	map->refs = 1;
	map->digest = digest;
	map->n_nodes = nodes->record_count;
	map->words = np_bits_words(map->n_nodes);
	rc = add_node_names(map, nodes);
	if (!rc)
		rc = add_node_kinds(map, nodes);
	if (!rc)
		rc = add_parts(map, parts, whole_nodes);
	if (!rc)
		rc = add_leaves(map, topology, err);
	if (rc) {
		np_cluster_map_unref(map);
		return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
	}
	*out = map;
	return 0;
}
