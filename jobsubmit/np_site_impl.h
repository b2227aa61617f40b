/* Inside np_site: its fields. */
#ifndef NP_SITE_IMPL_H
#define NP_SITE_IMPL_H

#include <stdatomic.h>

#include "np_naming.h"
#include "np_site.h"

#define NO_NODE UINT32_MAX

/* Nodes that are the same to a job. */
struct np_class {
	uint32_t cpus;
	uint64_t memory_mb;
	char *features; /* "a,b" */
	uint64_t *nodes;
};

struct np_part {
	char *name;
	bool is_default, shares;
	uint64_t *nodes;
	size_t n_classes; /* that have nodes in it */
};

struct np_site {
	atomic_uint refs;
	uint64_t digest; /* of all it was made from */
	size_t n_nodes, words;
	char **name; /* "": no such node any more */
	uint32_t *slot;
	size_t n_slots;
	struct np_leaves *leaves;
	struct np_naming *naming;
	struct np_naming_cut *cut; /* by leaves */
	struct np_class *class;
	size_t n_classes;
	struct np_part *part;
	size_t n_parts;
};

/* Index the names.  Returns 0 or -ENOMEM. */
int np_site_index(struct np_site *s);

#endif
