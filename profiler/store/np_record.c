#include "np_record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void free_leaves(struct np_record *r)
{
	for (size_t i = 0; i < r->n_leaves; i++) {
		free(r->leaves[i].name);
		free(r->leaves[i].nodes);
		free(r->leaves[i].skipped);
		free(r->leaves[i].windows);
		np_hist_free(r->leaves[i].hist);
	}
	free(r->leaves);
}

static void free_level(struct np_level_run *l)
{
	if (!l)
		return;
	free(l->name);
	free(l->scope);
	free(l->nodes);
	free(l);
}

void np_record_free(struct np_record *r)
{
	if (!r)
		return;
	free_leaves(r);
	free_level(r->level);
	for (size_t i = 0; i < r->n_neighbours; i++) {
		free(r->neighbours[i].leaf);
		free(r->neighbours[i].nodes);
	}
	free(r->neighbours);
	for (size_t i = 0; i < r->n_notes; i++)
		free(r->notes[i]);
	free(r->notes);
	free(r->cluster);
	free(r->executable);
	free(r->fingerprint);
	free(r->nodes);
	free(r->netprof_version);
	free(r->slurm_version);
	free(r->ucx_version);
	free(r->host);
	free(r->probe.transport);
	free(r);
}

double np_record_run_sec(const struct np_record *r)
{
	double sec = r->end - r->start - r->alone_sec;

	return sec > 0 ? sec : 0;
}

struct np_leaf_run *np_record_leaf(struct np_record *r, const char *name)
{
	struct np_leaf_run *leaves, *leaf;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (!strcmp(r->leaves[i].name, name))
			return &r->leaves[i];
	if (r->n_leaves >= NP_RECORD_MAX_LEAVES)
		return NULL;
	leaves = reallocarray(r->leaves, r->n_leaves + 1, sizeof(*leaves));
	if (!leaves)
		return NULL;
	r->leaves = leaves;
	leaf = &leaves[r->n_leaves];
	memset(leaf, 0, sizeof(*leaf));
	leaf->name = strdup(name);
	if (!leaf->name)
		return NULL;
	r->n_leaves++;
	return leaf;
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
	char line[NOTE_MAX], **notes;
	va_list ap;

	va_start(ap, fmt);
	np_text_print(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (has_note(r, line) || r->n_notes >= NP_RECORD_MAX_NOTES)
		return;
	notes = reallocarray(r->notes, r->n_notes + 1, sizeof(*notes));
	if (!notes)
		return;
	r->notes = notes;
	notes[r->n_notes] = strdup(line);
	if (notes[r->n_notes])
		r->n_notes++;
}
