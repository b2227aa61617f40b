#include "np_layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

#define MAX_TEXT 4000 /* bytes of a layout in words; what is longer is cut */

/* Equal neighbours together, as Slurm has it in SLURM_TASKS_PER_NODE. */
static int describe(const uint16_t *tasks, uint32_t n, char **out)
{
	FILE *f;
	size_t len = 0;

	*out = NULL;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && tasks[i + same] == tasks[i];)
			same++;
		if (ftell(f) > MAX_TEXT) {
			fputs(",...", f);
			break;
		}
		fprintf(f, "%s%u", i ? "," : "", tasks[i]);
		if (same > 1)
			fprintf(f, "(x%u)", same);
	}
	return fclose(f) ? -ENOMEM : 0;
}

static bool is_block(const uint16_t *tasks, uint32_t *const *rank, uint32_t n)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint16_t k = 0; k < tasks[i]; k++)
			if (rank[i][k] != next++)
				return false;
	return true;
}

/* One on each node that has room, and again. */
static bool is_cyclic(const uint16_t *tasks, uint32_t *const *rank, uint32_t n)
{
	uint32_t next = 0, before;
	uint16_t round = 0;

	do {
		before = next;
		for (uint32_t i = 0; i < n; i++)
			if (round < tasks[i] && rank[i][round] != next++)
				return false;
		round++;
	} while (next != before);
	return true;
}

static bool is_even(const uint16_t *tasks, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (tasks[i] > tasks[i - 1] || tasks[i] + 1 < tasks[0])
			return false;
	return true;
}

int np_layout_of(const uint16_t *tasks, uint32_t *const *rank, uint32_t n,
		 struct np_layout *out)
{
	struct np_layout l = { .digest = NP_HASH };
	int rc = describe(tasks, n, &l.tasks_per_node);

	if (rc) {
		free(l.tasks_per_node);
		return rc;
	}
	l.order = is_block(tasks, rank, n) ? "block" :
		  is_cyclic(tasks, rank, n) ? "cyclic" : "other";
	l.usual = *l.order == 'b' && is_even(tasks, n);
	l.digest = np_hash(l.digest, tasks, n * sizeof(*tasks));
	l.digest = np_hash(l.digest, l.order, strlen(l.order));
	for (uint32_t i = 0; *l.order == 'o' && i < n; i++)
		l.digest = np_hash(l.digest, rank[i],
				   tasks[i] * sizeof(*rank[i]));
	*out = l;
	return 0;
}

void np_layout_fingerprint(const struct np_layout *l, char hex[20])
{
	uint64_t h;

	if (l->usual)
		return;
	h = np_hash(NP_HASH, hex, strlen(hex));
	h = np_hash(h, &l->digest, sizeof(l->digest));
	snprintf(hex, 20, "%016llx", (unsigned long long)h);
}
