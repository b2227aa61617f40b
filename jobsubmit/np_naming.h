/*
 * Nodes by their names' prefix and number, so that lists like "n[0-3,8-15]" are
 * written and read by the range and not by the name: a list of all nodes but a
 * few is as short as one of a few.  Immutable once made.
 */
#ifndef NP_NAMING_H
#define NP_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Set the bit of the node of that name, if there is one. */
void np_naming_set(const struct np_naming *x, const char *name,
		   uint64_t *nodes);

/*
 * Cut the nodes into groups: leaf switches.  group[n]: of each node;
 * UINT32_MAX: of none.  Once.  Returns 0 or -ENOMEM.
 */
int np_naming_cut(struct np_naming *x, const uint32_t *group);

/* The list of all nodes in groups that are not in open[]; as above. */
char *np_naming_closed(const struct np_naming *x, const uint64_t *open);

#endif
