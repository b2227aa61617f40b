#include "np_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* The value of "key=value" in a line of words, malloc'ed; NULL if not there. */
static char *value_of(const char *line, size_t len, const char *key)
{
	size_t klen = strlen(key);
	const char *end = line + len;

	for (const char *w = line; w < end; w += strcspn(w, " \n"), w++) {
		if ((size_t)(end - w) > klen && !strncmp(w, key, klen) &&
		    w[klen] == '=')
			return strndup(w + klen + 1,
				       strcspn(w + klen + 1, " \n"));
	}
	return NULL;
}

/* The name of the leaf that a line tells of; NULL: of something else. */
static char *leaf_name(const char *line, size_t len)
{
	char *level = value_of(line, len, "Level");
	char *name = NULL;

	if (!level)
		name = value_of(line, len, "BlockName");
	else if (!strcmp(level, "0"))
		name = value_of(line, len, "SwitchName");
	free(level);
	return name;
}

static int add_leaf(struct np_topo *t, const char *line, size_t len)
{
	struct np_topo_leaf leaf = {
		.name = leaf_name(line, len),
		.nodes = value_of(line, len, "Nodes"),
	};

	if (!leaf.name || !leaf.nodes || !*leaf.nodes) {
		free(leaf.name);
		free(leaf.nodes);
		return 0;
	}
	if (np_array_more(&t->leaf, t->n, sizeof(*t->leaf))) {
		free(leaf.name);
		free(leaf.nodes);
		return -ENOMEM;
	}
	t->leaf[t->n++] = leaf;
	return 0;
}

int np_topo_parse(const char *text, struct np_topo *out, struct np_err *err)
{
	struct np_topo t = { NULL, 0 };

	while (*text) {
		size_t len = strcspn(text, "\n");
		int rc = 0;

		if (t.n >= NP_TOPO_MAX_LEAVES)
			rc = np_errf(err, -E2BIG, "topology: more than %d leaf "
				     "switches", NP_TOPO_MAX_LEAVES);
		else
			rc = add_leaf(&t, text, len);
		if (rc) {
			np_topo_free(&t);
			return rc;
		}
		text += len + (text[len] == '\n');
	}
	*out = t;
	return 0;
}

void np_topo_free(struct np_topo *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->leaf[i].name);
		free(t->leaf[i].nodes);
	}
	free(t->leaf);
	*t = (struct np_topo){ NULL, 0 };
}

/* Where the node's own name begins in address. */
static const char *node_part(const char *address, const char *node)
{
	size_t all = strlen(address), own = node ? strlen(node) : 0;
	const char *dot = strrchr(address, '.');

	if (node && !strcmp(address, node))
		return address;
	if (own && own < all && address[all - own - 1] == '.' &&
	    !strcmp(address + all - own, node))
		return address + all - own;
	return dot ? dot + 1 : address;
}

void np_leaf_from_address(const char *address, const char *node, char *leaf,
			  size_t size)
{
	const char *end, *start;
	size_t len;

	leaf[0] = '\0';
	if (!address)
		return;
	end = node_part(address, node);
	if (end == address)
		return;
	end--; /* the dot */
	for (start = end; start > address && start[-1] != '.'; start--)
		if (start[-1] == ':')
			return; /* a place on a ring or torus is no switch */
	len = (size_t)(end - start);
	if (len >= size)
		return;
	memcpy(leaf, start, len);
	leaf[len] = '\0';
}
