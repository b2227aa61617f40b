#include "np_site.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_site_impl.h"

struct np_site *np_site_ref(struct np_site *s)
{
	if (s)
		atomic_fetch_add(&s->refs, 1);
	return s;
}

void np_site_unref(struct np_site *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	for (size_t i = 0; s->leaf_hosts && i < np_leaves_n(s->leaves); i++)
		free(s->leaf_hosts[i]);
	free(s->leaf_hosts);
	np_leaves_unref(s->leaves);
	for (size_t i = 0; s->name && i < s->n_nodes; i++)
		free(s->name[i]);
	for (size_t i = 0; i < s->n_classes; i++) {
		free(s->class[i].features);
		free(s->class[i].nodes);
	}
	for (size_t i = 0; i < s->n_parts; i++) {
		free(s->part[i].name);
		free(s->part[i].nodes);
	}
	free(s->class);
	free(s->part);
	free(s->name);
	free(s->slot);
	free(s);
}

struct np_leaves *np_site_leaves(const struct np_site *s)
{
	return s->leaves;
}

size_t np_site_n_nodes(const struct np_site *s)
{
	return s->n_nodes;
}

size_t np_site_words(const struct np_site *s)
{
	return s->words;
}

size_t np_site_n_partitions(const struct np_site *s)
{
	return s->n_parts;
}

int np_site_partition(const struct np_site *s, const char *names)
{
	size_t len = names ? strcspn(names, ",") : 0;

	for (size_t i = 0; i < s->n_parts; i++)
		if (names ? !strncmp(s->part[i].name, names, len) &&
			    !s->part[i].name[len] : s->part[i].is_default)
			return (int)i;
	return -1;
}

const char *np_site_partition_name(const struct np_site *s, int partition)
{
	return s->part[partition].name;
}

const uint64_t *np_site_partition_nodes(const struct np_site *s, int partition)
{
	return s->part[partition].nodes;
}

bool np_site_partition_shares(const struct np_site *s, int partition)
{
	return s->part[partition].shares;
}

/* FNV-1a: of names, as an index. */
static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

int np_site_index(struct np_site *s)
{
	s->n_slots = 16;
	while (s->n_slots < 2 * s->n_nodes)
		s->n_slots *= 2;
	s->slot = malloc(s->n_slots * sizeof(*s->slot));
	if (!s->slot)
		return -ENOMEM;
	memset(s->slot, 0xff, s->n_slots * sizeof(*s->slot));
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		size_t at = hash(s->name[i]) & (s->n_slots - 1);

		if (!s->name[i][0])
			continue;
		while (s->slot[at] != NO_NODE)
			at = (at + 1) & (s->n_slots - 1);
		s->slot[at] = i;
	}
	return 0;
}

uint32_t np_site_find(const struct np_site *s, const char *name)
{
	size_t at = hash(name) & (s->n_slots - 1);

	while (s->slot[at] != NO_NODE) {
		if (!strcmp(s->name[s->slot[at]], name))
			return s->slot[at];
		at = (at + 1) & (s->n_slots - 1);
	}
	return NO_NODE;
}

int np_site_parse(const struct np_site *s, const char *hosts, uint64_t *nodes)
{
	np_hostlist_t list;
	size_t left = 2 * s->n_nodes + 1;
	char *name;

	memset(nodes, 0, s->words * sizeof(*nodes));
	if (!hosts || !*hosts)
		return 0;
	list = slurm_hostlist_create(hosts);
	if (!list)
		return -EINVAL;
	while (left && (name = slurm_hostlist_shift(list))) {
		uint32_t node = np_site_find(s, name);

		if (node != NO_NODE)
			np_bits_set(nodes, node);
		free(name);
		left--;
	}
	slurm_hostlist_destroy(list);
	return left ? 0 : -EINVAL;
}

char *np_site_format(const struct np_site *s, const uint64_t *nodes)
{
	np_hostlist_t list;
	char *text;

	if (!np_bits_any(nodes, s->words))
		return NULL;
	list = slurm_hostlist_create(NULL);
	if (!list)
		return NULL;
	NP_BITS_EACH(node, nodes, s->words)
		slurm_hostlist_push_host(list, s->name[node]);
	text = slurm_hostlist_ranged_string_malloc(list);
	slurm_hostlist_destroy(list);
	return text;
}

char *np_site_closed(const struct np_site *s, const uint64_t *open)
{
	size_t n = np_leaves_n(s->leaves), len = 0;
	char *text, *at;

	for (size_t i = 0; i < n; i++)
		if (!np_bits_test(open, i))
			len += strlen(s->leaf_hosts[i]) + 1;
	text = at = len ? malloc(len) : NULL;
	for (size_t i = 0; text && i < n; i++) {
		if (np_bits_test(open, i))
			continue;
		if (at > text)
			*at++ = ',';
		at = stpcpy(at, s->leaf_hosts[i]);
	}
	return text;
}

void np_site_pairs(const struct np_site *s, const int32_t *inx,
		   uint64_t *nodes)
{
	memset(nodes, 0, s->words * sizeof(*nodes));
	for (; inx && inx[0] >= 0 && inx[1] >= inx[0]; inx += 2)
		for (int32_t i = inx[0]; i <= inx[1]; i++)
			if ((size_t)i < s->n_nodes && s->name[i][0])
				np_bits_set(nodes, (size_t)i);
}
