#include "np_leaf.h"

#include <string.h>

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
