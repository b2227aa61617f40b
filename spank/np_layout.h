/*
 * How the tasks of a step are spread over its nodes.  Two runs of one command
 * on as many nodes with as many tasks are two workloads if 4, 2, 1 and 1 tasks
 * were on the nodes of one and 2 on each of the other's.
 */
#ifndef NP_LAYOUT_H
#define NP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct np_layout {
	char *tasks_per_node; /* "4,2,1(x2)", malloc'ed */
	const char *order;    /* of ranks: "block", "cyclic" or "other" */
	/*
	 * As many tasks on each node, one more on the first ones, ranks in
	 * blocks: what records without a layout are taken to have.
	 */
	bool usual;
	uint64_t digest;
};

/*
 * tasks: of each of n nodes; rank: those of each node's tasks.  Returns 0 or
 * -ENOMEM.  Free tasks_per_node.
 */
int np_layout_of(const uint16_t *tasks, uint32_t *const *rank, uint32_t n,
		 struct np_layout *out);

/* Make the digest of a command one of its workload; usual layouts keep it. */
void np_layout_fingerprint(const struct np_layout *l, char hex[20]);

#endif
