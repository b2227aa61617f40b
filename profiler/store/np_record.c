#include "np_record.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_text.h"

#define NOTE_MAX 256 /* characters */

struct np_record *np_record_new(void)
{
	struct np_record *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->array_job_id = r->array_task_id = NP_NO_VALUE;
	r->het_component = r->exit_code = NP_NO_VALUE;
	return r;
}

double np_record_run_sec(const struct np_record *r)
{
	double sec = r->end - r->start - r->alone_sec;

	return sec > 0 ? sec : 0;
}

struct np_leaf_run *np_record_leaf(struct np_record *r, const char *name)
{
	struct np_leaf_run *leaf;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (!strcmp(r->leaves[i].name, name))
			return &r->leaves[i];
	if (r->n_leaves >= NP_RECORD_MAX_LEAVES ||
	    np_array_resize(&r->leaves, r->n_leaves + 1, sizeof(*leaf)))
		return NULL;
	leaf = &r->leaves[r->n_leaves];
	memset(leaf, 0, sizeof(*leaf));
	leaf->name = strdup(name);
	if (!leaf->name)
		return NULL;
	r->n_leaves++;
	return leaf;
}

struct np_nic_run *np_record_nic(struct np_record *r, const char *device)
{
	struct np_nic_run *nic;

	for (size_t i = 0; i < r->n_nics; i++)
		if (!strcmp(r->nics[i].device, device))
			return &r->nics[i];
	if (r->n_nics >= NP_RECORD_MAX_NICS ||
	    np_array_resize(&r->nics, r->n_nics + 1, sizeof(*nic)))
		return NULL;
	nic = &r->nics[r->n_nics];
	*nic = (struct np_nic_run){ .device = strdup(device) };
	for (size_t k = 0; k < NP_NIC_KINDS; k++)
		nic->n[k] = NAN;
	if (!nic->device)
		return NULL;
	r->n_nics++;
	return nic;
}

static bool has_note(const struct np_record *r, const char *line)
{
	for (size_t i = 0; i < r->n_notes; i++)
		if (!strcmp(r->notes[i], line))
			return true;
	return false;
}

void np_record_note(struct np_record *r, const char *fmt, ...)
{
	char line[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	np_text_print(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (has_note(r, line) || r->n_notes >= NP_RECORD_MAX_NOTES ||
	    np_array_resize(&r->notes, r->n_notes + 1, sizeof(*r->notes)))
		return;
	r->notes[r->n_notes] = strdup(line);
	if (r->notes[r->n_notes])
		r->n_notes++;
}

/* A record without what is nobody else's business. */

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
