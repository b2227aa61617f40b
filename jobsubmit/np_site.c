#include "np_site.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_hostlist.h"

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
	np_naming_free(s->naming);
	np_leaves_unref(s->leaves);
	for (size_t i = 0; s->name && i < s->n_nodes; i++)
		free(s->name[i]);
	for (size_t i = 0; i < s->n_kinds; i++) {
		free(s->kind[i].features);
		free(s->kind[i].nodes);
	}
	for (size_t i = 0; i < s->n_parts; i++) {
		free(s->part[i].name);
		free(s->part[i].nodes);
	}
	free(s->kind);
	free(s->part);
	free(s->name);
	free(s);
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

struct parse {
	const struct np_site *site;
	uint64_t *nodes;
	size_t left; /* names, before it is nonsense */
};

static int parse_one(void *arg, const char *name)
{
	struct parse *p = arg;
	if (!p->left--)
		return -EINVAL;
	np_naming_set(p->site->naming, name, p->nodes);
	return 0;
}

/* Not Slurm's parser, which allocates each name, and leaks some. */
static int parse_list(const struct np_site *s, const char *hosts,
		      size_t most, uint64_t *nodes)
{
	struct parse p = { s, nodes, most };
	int rc = 0;

	memset(nodes, 0, s->words * sizeof(*nodes));
	for (size_t len; !rc && hosts && (len = np_hostlist_word(&hosts));
	     hosts += len) {
		rc = np_naming_parse(s->naming, hosts, len, nodes, &p.left);
		if (rc == -ENOENT)
			rc = np_hostlist_walk(hosts, len, parse_one, &p);
	}
	return rc ? -EINVAL : 0;
}

int np_site_parse(const struct np_site *s, const char *hosts, uint64_t *nodes)
{
	return parse_list(s, hosts, 4 * s->n_nodes, nodes);
}

int np_site_parse_long(const struct np_site *s, const char *hosts,
		       uint64_t *nodes)
{
	return parse_list(s, hosts, NP_HOSTLIST_MAX, nodes);
}

static char *or_null(char *text)
{
	if (text && *text)
		return text;
	free(text);
	return NULL;
}

char *np_site_format(const struct np_site *s, const uint64_t *nodes)
{
	return or_null(np_naming_format(s->naming, nodes));
}

char *np_site_closed(const struct np_site *s, const uint64_t *open)
{
	return or_null(np_naming_closed(s->naming, open));
}

char *np_site_leaf_list(const struct np_site *s, const uint64_t *leaves,
			const uint32_t *leaf, size_t n)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);
	const struct np_leaves *l = s->leaves;
	char *text;

	if (leaves)
		NP_BITS_EACH(i, leaves, l->words)
			slurm_hostlist_push_host(list, l->name[i]);
	for (size_t i = 0; i < n; i++)
		slurm_hostlist_push_host(list, l->name[leaf[i]]);
	text = np_ranged_string(list);
	slurm_hostlist_destroy(list);
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

/* ---- which nodes would do for a job, and how many it needs ---- */

void np_need_memory(struct np_need *need, uint64_t memory)
{
	if (memory == NO_VAL64 || memory == INFINITE64)
		return;
	if (memory & MEM_PER_CPU)
		need->memory_per_cpu_mb = memory & ~MEM_PER_CPU;
	else
		need->memory_mb = memory;
}

/* Is the name of len bytes one of "a,b,c"? */
static bool has_feature(const char *list, const char *name, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

/* Names joined by '&' or ','; anything else is beyond us. */
static bool is_plain(const char *features)
{
	return !strpbrk(features, "|()[]*!");
}

static bool has_all(const char *list, const char *features)
{
	while (*features) {
		size_t n = strcspn(features, "&,");

		if (n && !has_feature(list, features, n))
			return false;
		features += n + (features[n] != '\0');
	}
	return true;
}

static bool suits(const struct np_node_kind *c, const struct np_need *need)
{
	uint64_t cpus = need->cpus_per_node ? need->cpus_per_node : 1;

	return c->cpus >= cpus && c->memory_mb >= need->memory_mb &&
	       c->memory_mb >= cpus * need->memory_per_cpu_mb &&
	       (!need->features || has_all(c->features, need->features));
}

static uint32_t per(uint64_t what, uint64_t each)
{
	uint64_t n = each ? (what + each - 1) / each : 0;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* CPUs that its memory leaves a job on such a node. */
static uint64_t usable_cpus(const struct np_node_kind *c,
			    const struct np_need *need)
{
	uint64_t by_memory = need->memory_per_cpu_mb ?
			     c->memory_mb / need->memory_per_cpu_mb : c->cpus;

	return by_memory < c->cpus ? by_memory : c->cpus;
}

int np_site_fit(const struct np_site *s, const struct np_need *need,
		uint64_t *nodes, struct np_fit *fit)
{
	const struct np_part *p;
	uint64_t least = UINT64_MAX;
	size_t n = 0;

	*fit = (struct np_fit){
		.partition = np_site_partition(s, need->partition),
		.constraint = need->partition && strchr(need->partition, ','),
	};
	if (fit->partition < 0)
		return -ENOENT;
	p = &s->part[fit->partition];
	fit->constraint |= p->no_leaves;
	memset(nodes, 0, s->words * sizeof(*nodes));
	for (size_t k = 0; k < s->n_kinds; k++) {
		const struct np_node_kind *c = &s->kind[k];

		if (!np_bits_meet(p->nodes, c->nodes, s->words) ||
		    !suits(c, need))
			continue;
		n++;
		for (size_t w = 0; w < s->words; w++)
			nodes[w] |= p->nodes[w] & c->nodes[w];
		if (usable_cpus(c, need) < least)
			least = usable_cpus(c, need);
	}
	/* Where all nodes are alike, one is as good as another. */
	fit->constraint |= p->n_kinds > 1 &&
			   (need->tres || (need->features &&
					   !is_plain(need->features)));
	fit->nodes = most(1, need->nodes);
	if (n)
		fit->nodes = most(fit->nodes, per(need->cpus, least));
	fit->nodes = most(fit->nodes, per(need->tasks, need->tasks_per_node));
	return 0;
}
