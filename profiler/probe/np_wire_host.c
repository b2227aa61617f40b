#include "np_wire_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_wire_join.h"

#define HEX_MAX (2 * NP_WIRE_JOIN_MAX_BYTES)

struct member {
	char *hex; /* what it has put since the last fence; NULL: nothing */
	bool at_fence;
};

struct np_wire_host {
	uint32_t size, n_at_fence;
	struct member member[];
};

struct np_wire_host *np_wire_host_new(uint32_t size)
{
	struct np_wire_host *h = calloc(1, sizeof(*h) +
					   size * sizeof(h->member[0]));

	if (h)
		h->size = size;
	return h;
}

void np_wire_host_free(struct np_wire_host *h)
{
	for (uint32_t i = 0; h && i < h->size; i++)
		free(h->member[i].hex);
	free(h);
}

bool np_wire_host_is_for(const char *line)
{
	return !strncmp(line, NP_WIRE_SRUN_WORD " ",
			sizeof(NP_WIRE_SRUN_WORD));
}

/* One piece more of what it puts. */
static int put(struct member *m, const char *hex)
{
	size_t had = m->hex ? strlen(m->hex) : 0, len = strlen(hex);
	char *all;

	if (had + len > HEX_MAX || strspn(hex, "0123456789abcdef") != len)
		return -EPROTO;
	all = realloc(m->hex, had + len + 1);
	if (!all)
		return -ENOMEM;
	strcpy(all + had, hex);
	m->hex = all;
	return 0;
}

static int tell_all(struct np_wire_host *h, char **out)
{
	size_t len;
	FILE *f = open_memstream(out, &len);
	int failed;

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->size; i++) {
		struct member *m = &h->member[i];

		if (m->hex)
			fprintf(f, "place %u %s\n", i, m->hex);
		free(m->hex);
		*m = (struct member){ NULL };
	}
	h->n_at_fence = 0;
	fputs("go\n", f);
	failed = ferror(f);
	if (!fclose(f) && !failed)
		return 0;
	free(*out);
	*out = NULL;
	return -ENOMEM;
}

static int fence(struct np_wire_host *h, struct member *m, char **out)
{
	if (m->at_fence)
		return -EPROTO;
	m->at_fence = true;
	return ++h->n_at_fence == h->size ? tell_all(h, out) : 0;
}

int np_wire_host_take(struct np_wire_host *h, const char *line, char **out)
{
	uint32_t rank;
	int at = 0;

	*out = NULL;
	if (sscanf(line, NP_WIRE_SRUN_WORD " %u %n", &rank, &at) != 1 || !at ||
	    rank >= h->size)
		return -EPROTO;
	if (!strncmp(line + at, "put ", 4))
		return put(&h->member[rank], line + at + 4);
	if (!strcmp(line + at, "fence"))
		return fence(h, &h->member[rank], out);
	return -EPROTO;
}
