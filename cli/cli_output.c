/*
 * Output files that the user names.
 *
 * Files are replaced atomically, so that a web server or a collector of metrics
 * never reads half a file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_output.h"
#include "np_picture.h"
#include "np_store.h"

/*
 * The umask can only be read by setting it; no other thread creates files
 * here.
 */
static int write_bytes(const char *path, const void *data, size_t len,
		       mode_t mode, struct np_err *err)
{
	mode_t mask = umask(0);

	umask(mask);
	return np_file_write_path(path, data, len, mode ? mode : 0666 & ~mask,
				  err);
}

int cli_write_file(const char *path, const char *text, mode_t mode,
		   struct np_err *err)
{
	return write_bytes(path, text, strlen(text), mode, err);
}

int cli_write_over(const char *path, const char *text, const char *end,
		   struct np_err *err)
{
	FILE *f = fopen(path, "we");
	int rc = f ? 0 : -errno;

	if (f && (fputs(text, f) < 0 || fputs(end, f) < 0))
		rc = -EIO;
	if (f && fclose(f) && !rc)
		rc = -errno;
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) : 0;
}

int cli_figure_save(struct np_figure *f, const char *path)
{
	struct np_err err = NP_ERR_INIT;
	enum np_picture_kind kind;
	char *data = NULL;
	size_t len;
	int rc;

	if (!f)
		return cli_fail("out of memory");
	rc = np_picture_kind(path, &kind, &err);
	if (!rc)
		rc = np_picture_make(f, kind, &data, &len, &err);
	if (!rc)
		rc = write_bytes(path, data, len, 0, &err);
	free(data);
	np_figure_free(f);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}

/* An axis of names also lists them; points then have indices into that list. */
static void put_axis(json_object *in, const char *key, const struct np_axis *a)
{
	static const char *const kind[] = {
		[NP_AXIS_LINEAR] = "linear", [NP_AXIS_LOG] = "log",
		[NP_AXIS_SECONDS] = "log", [NP_AXIS_NAMES] = "names",
	};
	json_object *j = cli_put_object(in, key), *names;

	cli_put_text(j, "label", a->label);
	cli_put_text(j, "scale", kind[a->kind]);
	if (a->kind != NP_AXIS_NAMES)
		return;
	names = cli_put_array(j, "names");
	for (size_t i = 0; i < a->n_names; i++)
		cli_append_text(names, a->name[i]);
}

/* Members that this kind of shape does not have are omitted. */
static void put_point(json_object *list, const struct np_shape *s, size_t i)
{
	const struct np_datum *d = &s->at[i];
	json_object *j = cli_append_object(list);

	if (!isnan(d->x))
		cli_put_real(j, "x", d->x);
	if (!isnan(d->y))
		cli_put_real(j, "y", d->y);
	if (!isnan(d->low))
		cli_put_real(j, s->kind == NP_SHAPE_CELLS ? "value" : "low",
			     d->low);
	if (!isnan(d->high))
		cli_put_real(j, "high", d->high);
	if (d->text)
		cli_put_text(j, "text", d->text);
}

static void put_shape(json_object *list, const struct np_shape *s)
{
	static const char *const kind[] = {
		[NP_SHAPE_BAND] = "band", [NP_SHAPE_ZONE] = "zone",
		[NP_SHAPE_STEP] = "step", [NP_SHAPE_LINE] = "line",
		[NP_SHAPE_POINTS] = "points", [NP_SHAPE_BARS] = "bars",
		[NP_SHAPE_SPANS] = "spans", [NP_SHAPE_CELLS] = "cells",
	};
	json_object *j = cli_append_object(list), *points;

	cli_put_text(j, "shape", kind[s->kind]);
	cli_put_text(j, "name", s->name);
	points = cli_put_array(j, "points");
	for (size_t i = 0; i < s->n; i++)
		put_point(points, s, i);
}

int cli_figure_json(const struct np_figure *f)
{
	json_object *j = json_object_new_object(), *panels, *panel, *shapes;

	if (f->no_memory) {
		json_object_put(j);
		return cli_fail("out of memory");
	}
	cli_put_text(j, "title", f->title);
	cli_put_text(j, "caption", f->caption);
	panels = cli_put_array(j, "panels");
	for (size_t i = 0; i < f->n_panels; i++) {
		const struct np_panel *p = f->panel[i];

		panel = cli_append_object(panels);
		cli_put_text(panel, "title", p->title);
		put_axis(panel, "x", &p->x);
		put_axis(panel, "y", &p->y);
		shapes = cli_put_array(panel, "shapes");
		for (size_t k = 0; k < p->n_shapes; k++)
			put_shape(shapes, &p->shape[k]);
	}
	return cli_print_json("plot", j);
}
