/* Host names, by Slurm's own hostlists. */
#include "np_cluster.h"
#include "np_slurm_compat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int np_hosts_add(struct np_hosts *h, const char *name)
{
	char **more, *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	more = realloc(h->name, (h->n + 1) * sizeof(*more));
	if (!more) {
		free(copy);
		return -ENOMEM;
	}
	h->name = more;
	h->name[h->n++] = copy;
	return 0;
}

int np_hosts_expand(const char *expression, struct np_hosts *out)
{
	np_hostlist_t list = slurm_hostlist_create(expression);
	struct np_hosts h = { NULL, 0 };
	char *name;
	int rc = 0;

	if (!list)
		return -EINVAL;
	while (!rc && (name = slurm_hostlist_shift(list))) {
		rc = h.n < NP_RECORD_MAX_NODES ? np_hosts_add(&h, name) :
						 -EINVAL;
		free(name);
	}
	slurm_hostlist_destroy(list);
	if (rc)
		np_hosts_free(&h);
	else
		*out = h;
	return rc;
}

int np_hosts_has(const struct np_hosts *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->name[i], name))
			return 1;
	return 0;
}

char *np_hosts_compress(const struct np_hosts *h)
{
	np_hostlist_t list = slurm_hostlist_create(NULL);
	char *text;

	if (!list)
		return NULL;
	for (size_t i = 0; i < h->n; i++)
		slurm_hostlist_push_host(list, h->name[i]);
	slurm_hostlist_uniq(list);
	text = np_ranged_string(list);
	slurm_hostlist_destroy(list);
	return text;
}

void np_hosts_free(struct np_hosts *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->name[i]);
	free(h->name);
	*h = (struct np_hosts){ NULL, 0 };
}
