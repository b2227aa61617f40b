/* Which nodes would do for a job, and how many it needs. */
#include <errno.h>
#include <string.h>

#include "np_bits.h"
#include "np_site_impl.h"

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

static bool suits(const struct np_class *c, const struct np_need *need)
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
static uint64_t usable_cpus(const struct np_class *c,
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
	memset(nodes, 0, s->words * sizeof(*nodes));
	for (size_t k = 0; k < s->n_classes; k++) {
		const struct np_class *c = &s->class[k];

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
	fit->constraint |= p->n_classes > 1 &&
			   (need->tres || (need->features &&
					   !is_plain(need->features)));
	fit->nodes = most(1, need->nodes);
	if (n)
		fit->nodes = most(fit->nodes, per(need->cpus, least));
	fit->nodes = most(fit->nodes, per(need->tasks, need->tasks_per_node));
	return 0;
}
