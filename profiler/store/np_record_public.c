/* A record without what is nobody else's business. */
#include "np_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void drop(char **text)
{
	free(*text);
	*text = NULL;
}

/* For what may be empty but not missing. */
static void clear(char *text)
{
	if (text)
		*text = '\0';
}

/* That somebody was there, and for how long, is all that is asked later. */
static void strip_neighbours(struct np_record *r)
{
	double most = 0;

	for (size_t i = 0; i < r->n_neighbours; i++)
		most = fmax(most, r->neighbours[i].overlap_sec);
	while (r->n_neighbours > (most > 0)) {
		struct np_neighbour *n = &r->neighbours[--r->n_neighbours];

		free(n->leaf);
		free(n->nodes);
	}
	if (!r->n_neighbours)
		return;
	clear(r->neighbours->leaf);
	clear(r->neighbours->nodes);
	r->neighbours->job_id = 0;
	r->neighbours->step_id = NP_NO_VALUE;
	r->neighbours->overlap_sec = most;
}

/* Directories tell of homes and projects. */
static void strip_directory(char *path)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		memmove(path, slash + 1, strlen(slash));
}

void np_record_make_public(struct np_record *r, uid_t by)
{
	r->uid = by;
	strip_directory(r->executable);
	drop(&r->nodes);
	drop(&r->host);
	for (size_t i = 0; i < r->n_leaves; i++)
		clear(r->leaves[i].nodes);
	if (r->level)
		clear(r->level->nodes);
	strip_neighbours(r);
	while (r->n_notes) /* free text, of hosts and paths */
		free(r->notes[--r->n_notes]);
}
