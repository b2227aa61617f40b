/*
 * The cluster's fixed parts: names of nodes, leaf switches, partitions, and
 * which nodes would do for a job.  Immutable once made; shared between threads
 * by counting references.  Loading is a few RPCs: never in a callback.
 */
#ifndef NP_SITE_H
#define NP_SITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_slurm_compat.h"
#include "np_snapshot.h"

/*
 * Nodes by their names' prefix and number, so that lists like "n[0-3,8-15]" are
 * written and read by the range and not by the name: a list of all nodes but a
 * few is as short as one of a few.  Immutable once made.
 */

struct np_naming;

/*
 * name[n]: of nodes 0 .. n-1, "": there is none; borrowed as long as *out.
 * Returns 0 or -ENOMEM.
 */
int np_naming_new(char *const *name, size_t n, struct np_naming **out);
void np_naming_free(struct np_naming *x); /* NULL is allowed */

/* The list of a bitmap of nodes, malloc'ed; "": none.  NULL: out of memory. */
char *np_naming_format(const struct np_naming *x, const uint64_t *nodes);

/*
 * Set the bits of a word such as "n[0-3,7]", names that no node has left out;
 * its cost grows with the runs of nodes that follow each other as their numbers
 * do, not with the names.  *left: so many runs may be met, and so many less
 * afterwards.  Returns 0; -ENOENT: it is of another form, and nothing is set;
 * -E2BIG: more than *left.
 */
int np_naming_parse(const struct np_naming *x, const char *word, size_t len,
		    uint64_t *nodes, size_t *left);

/*
 * Cut the nodes into groups: leaf switches.  group[n]: of each node;
 * UINT32_MAX: of none.  Once.  Returns 0 or -ENOMEM.
 */
int np_naming_cut(struct np_naming *x, const uint32_t *group);

/* The list of all nodes in groups that are not in open[]; as above. */
char *np_naming_closed(const struct np_naming *x, const uint64_t *open);

#define NP_SITE_MAX_KINDS 256

/* Nodes that are the same to a job. */
struct np_node_kind {
	uint32_t cpus;
	uint64_t memory_mb;
	char *features; /* "a,b" */
	uint64_t *nodes;
};

struct np_part {
	char *name;
	bool is_default;
	bool shares; /* jobs that do not ask to be alone share nodes there */
	bool no_leaves; /* its topology has none, but another one of the site */
	uint64_t *nodes;
	size_t n_kinds; /* that have nodes in it */
};

struct np_site {
	atomic_uint refs;
	uint64_t digest; /* of all it was made from */
	size_t n_nodes, words; /* words: of a bitmap of nodes */
	char **name; /* "": no such node any more */
	struct np_leaves *leaves;
	struct np_naming *naming; /* cut by leaves */
	struct np_node_kind *kind;
	size_t n_kinds;
	struct np_part *part;
	size_t n_parts;
	struct np_err note; /* what is odd about its leaf switches; "" */
};

/* What a job asks of its nodes, out of its description or its record. */
struct np_need {
	const char *partition; /* NULL: the default one; "a,b" */
	const char *features;  /* NULL: none */
	bool tres;	       /* asks for devices */
	uint32_t cpus_per_node;
	uint64_t memory_mb;    /* per node */
	uint64_t memory_per_cpu_mb;
	uint64_t cpus, tasks;  /* in total; 0: not said */
	uint32_t tasks_per_node;
	uint32_t nodes;	       /* 0: not said */
};

/* What Slurm leaves open is 0 there. */
static inline uint32_t np_said(uint32_t v)
{
	return v == NO_VAL || v == INFINITE ? 0 : v;
}

static inline uint32_t np_said16(uint16_t v)
{
	return v == NO_VAL16 || v == INFINITE16 ? 0 : v;
}

/* Of its nodes or its CPUs, in Slurm's one number. */
void np_need_memory(struct np_need *need, uint64_t memory);

/* What follows from it. */
struct np_fit {
	int partition;	  /* index of the (first) partition */
	uint32_t nodes;	  /* it needs at least */
	bool constraint;  /* which nodes would do is not known */
};

/*
 * Without a topology there are no leaves, and nothing is ever closed.
 *
 * Nodes of the site as slurm_load_node() gives them, with partitions and the
 * text of the site's topologies, np_topo.h.  A node is on a leaf switch of a
 * topology that one of its partitions has; of several leaf switches the first
 * counts.  A list that is none and names without a node are left out.  old:
 * returned again, with a further reference, where nothing changed; may be NULL.  Returns 0, or -errno with err.
 */
int np_site_make(struct np_site *old, const node_info_msg_t *nodes,
		 const partition_info_msg_t *parts, const char *topology,
		 bool whole_nodes, struct np_site **out, struct np_err *err);
struct np_site *np_site_ref(struct np_site *s);
void np_site_unref(struct np_site *s); /* NULL is allowed */

/* Of "a,b" the first.  -1: there is no such partition.  NULL: the default. */
int np_site_partition(const struct np_site *s, const char *names);

/*
 * nodes[]: those of the partition that would do.  Returns 0, or -ENOENT where
 * the partition is not known.  No allocation; at most kinds times words.
 */
int np_site_fit(const struct np_site *s, const struct np_need *need,
		uint64_t *nodes, struct np_fit *fit);

/*
 * Nodes of a hostlist expression, unknown names left out; NULL: none.
 * Returns 0, or -EINVAL: not a hostlist, or one that would take too long, as it
 * has more names than four times the nodes; of a range, nodes whose numbers and
 * indices go up together count as one name.  No allocation.
 */
int np_site_parse(const struct np_site *s, const char *hosts, uint64_t *nodes);

/* And back, malloc'ed; NULL: no node, or out of memory. */
char *np_site_format(const struct np_site *s, const uint64_t *nodes);

/*
 * A hostlist of all nodes on the leaves that are not in open[], malloc'ed, in
 * time that grows with the leaves alone where the names of their nodes are in a
 * row.  NULL: none is closed, or out of memory.
 */
char *np_site_closed(const struct np_site *s, const uint64_t *open);

/* The names of leaves, a bitmap or n numbers, as a list; malloc'ed. */
char *np_site_leaf_list(const struct np_site *s, const uint64_t *leaves,
			const uint32_t *leaf, size_t n);

/*
 * Bits from Slurm's pairs of first and last index; -1 ends; NULL: none.
 * Nodes that Slurm deleted are left out.
 */
void np_site_pairs(const struct np_site *s, const int32_t *inx,
		   uint64_t *nodes);

#endif
