/* Leaf switch of every node. */
#include "np_cluster.h"
#include "np_slurm_compat.h"
#include "np_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_numbers.h"

struct np_leafmap {
	struct np_topo topo;
	struct np_numbers nodes;
	const char **leaf; /* of each of them */
	size_t room;
};

static int add_leaf(struct np_leafmap *l, const struct np_topo_leaf *leaf)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc = np_hosts_expand(leaf->nodes, &hosts);

	if (!rc)
		rc = np_array_room(&l->leaf, &l->room, l->nodes.n + hosts.n,
				   sizeof(*l->leaf));
	for (size_t i = 0; !rc && i < hosts.n; i++) {
		size_t n = l->nodes.n;
		uint32_t at = np_numbers_get(&l->nodes, hosts.name[i],
					     strlen(hosts.name[i]));

		if (at == NP_NO_NUMBER)
			rc = -ENOMEM;
		else if (at == n) /* of several leaves the first counts */
			l->leaf[at] = leaf->name;
	}
	np_hosts_free(&hosts);
	return rc;
}

/*
 * The same words by scontrol, none for a flat network.  From 25.11 on, what
 * reads a topology of blocks loads into no program but Slurm's own: it wants
 * more than libslurm gives.
 */
static int ask_scontrol(char **text)
{
	FILE *in = popen("exec scontrol show topology 2>/dev/null", "r");
	size_t size = 0;
	ssize_t got;

	if (!in)
		return -errno;
	got = getdelim(text, &size, '\0', in);
	if (got < 0 && *text)
		**text = '\0';
	return pclose(in) == 0 && *text ? 0 : -EIO;
}

static int load_text(char **text, struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;

	errno = ELIBACC;
	if (NP_TOPO_ENDS_CLIENTS || np_load_topo(&msg)) {
		int error = errno;

		return !ask_scontrol(text) ? 0 :
		       np_errf(err, -EIO, "slurmctld does not tell the "
			       "topology: %s", slurm_strerror(error));
	}
	return np_topo_text(msg, text);
}

int np_leafmap_load(struct np_leafmap **out, struct np_err *err)
{
	char *text = NULL;
	int rc = load_text(&text, err);

	if (!rc)
		rc = np_leafmap_parse(text, out, err);
	free(text);
	return rc;
}

int np_leafmap_parse(const char *text, struct np_leafmap **out,
		     struct np_err *err)
{
	struct np_leafmap *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	rc = np_topo_parse(text, &l->topo, err);
	for (size_t i = 0; !rc && i < l->topo.n; i++)
		rc = add_leaf(l, &l->topo.leaf[i]);
	if (rc) {
		np_leafmap_free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void np_leafmap_free(struct np_leafmap *l)
{
	if (!l)
		return;
	np_numbers_free(&l->nodes);
	free(l->leaf);
	np_topo_free(&l->topo);
	free(l);
}

const char *np_leafmap_find(const struct np_leafmap *l, const char *node)
{
	uint32_t at = np_numbers_find(&l->nodes, node, strlen(node));

	return at == NP_NO_NUMBER ? "" : l->leaf[at];
}
