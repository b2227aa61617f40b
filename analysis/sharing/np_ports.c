/*
 * Ports are numbered in the order of their nodes. Connected components come
 * from a union-find structure over all ports.
 */
#include "np_ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct key {
	uint32_t node, comm;
};

static int by_node(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

/* Numbers the nodes in key[n]; returns how many different ones there are. */
static size_t number(struct key *key, size_t n, uint32_t *port,
		     uint32_t *count)
{
	size_t ports = 0;

	qsort(key, n, sizeof(*key), by_node);
	for (size_t i = 0; i < n; i++) {
		if (!i || key[i].node != key[i - 1].node)
			count[ports++] = 0;
		port[key[i].comm] = (uint32_t)(ports - 1);
		count[ports - 1]++;
	}
	return ports;
}

int np_ports_new(const struct np_comm *c, size_t n, struct np_ports *out,
		 struct np_err *err)
{
	struct np_ports p = { .c = c, .n = n };
	struct key *key = calloc(n + 1, sizeof(*key));

	p.out = calloc(4 * n + 1, sizeof(*p.out));
	if (!key || !p.out) {
		free(key);
		free(p.out);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	p.in = p.out + n;
	p.n_of_out = p.in + n;
	p.n_of_in = p.n_of_out + n;
	for (size_t i = 0; i < n; i++)
		key[i] = (struct key){ c[i].from, (uint32_t)i };
	p.n_out = number(key, n, p.out, p.n_of_out);
	for (size_t i = 0; i < n; i++)
		key[i] = (struct key){ c[i].to, (uint32_t)i };
	p.n_in = number(key, n, p.in, p.n_of_in);
	free(key);
	*out = p;
	return 0;
}

void np_ports_free(struct np_ports *p)
{
	free(p->out);
	memset(p, 0, sizeof(*p));
}

/* By output port, then by input port. */
static int by_ends(const void *a, const void *b, void *arg)
{
	const struct np_ports *p = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (p->out[x] != p->out[y])
		return p->out[x] < p->out[y] ? -1 : 1;
	return (p->in[x] > p->in[y]) - (p->in[x] < p->in[y]);
}

void np_ports_sort(const struct np_ports *p, uint32_t *order)
{
	for (size_t i = 0; i < p->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, p->n, sizeof(*order), by_ends, (void *)p);
}

/* Root of the set that contains a port (union-find with path halving). */
static uint32_t root_of(uint32_t *parent, uint32_t port)
{
	while (parent[port] != port)
		port = parent[port] = parent[parent[port]];
	return port;
}

long np_ports_parts(const struct np_ports *p, uint32_t *part)
{
	size_t n_ports = p->n_out + p->n_in;
	uint32_t *parent = calloc(2 * n_ports + 1, sizeof(*parent));
	uint32_t *name = parent + n_ports;
	long parts = 0;

	if (!parent)
		return -ENOMEM;
	for (size_t i = 0; i < n_ports; i++)
		parent[i] = (uint32_t)i;
	for (size_t i = 0; i < p->n; i++)
		parent[root_of(parent, p->out[i])] =
			root_of(parent, (uint32_t)p->n_out + p->in[i]);
	for (size_t i = 0; i < p->n; i++) {
		uint32_t r = root_of(parent, p->out[i]);

		if (!name[r])
			name[r] = (uint32_t)++parts;
		part[i] = name[r] - 1;
	}
	free(parent);
	return parts;
}
