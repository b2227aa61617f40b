/*
 * Objects as text.  Where lists may be very long, all at once would need twenty
 * times the memory of the text, so there is one element at a time.
 */
#include "np_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* The members before the first list. */
static size_t n_head(const struct np_fields *fs)
{
	size_t n = 0;

	while (n < fs->n && fs->field[n].type != NP_F_LIST)
		n++;
	return n;
}

/* open: without its last brace. */
static void put_object(struct np_jput *o, FILE *f, const void *from,
		       const struct np_fields *fs, bool open)
{
	json_object *j = json_object_new_object();
	const char *text = NULL;

	if (j)
		np_jput_fields(o, j, from, fs);
	if (j && !o->rc)
		text = np_jput_line(j);
	if (text)
		fprintf(f, "%.*s", (int)strlen(text) - open, text);
	else
		np_jput_fail(o, -ENOMEM);
	json_object_put(j);
}

static void put_each(struct np_jput *o, FILE *f, const struct np_field *list,
		     const char *from)
{
	size_t n = *(const size_t *)(from + list->count);
	const char *all;

	memcpy(&all, from + list->offset, sizeof(all));
	if ((double)n > list->max)
		n = (size_t)list->max;
	fprintf(f, ",\n\"%s\":[", list->key);
	for (size_t i = 0; i < n && !o->rc; i++) {
		fputs(i ? ",\n" : "\n", f);
		put_object(o, f, all + i * list->of->size, list->of, false);
	}
	fputs("]", f);
}

/* The first n members on a line; the rest are lists. */
static int print(struct np_jput *o, const void *from,
		 const struct np_fields *fs, size_t n, char **out)
{
	const struct np_fields head = { fs->field, n, fs->size };
	locale_t before = np_jput_point();
	size_t len;
	FILE *f = open_memstream(out, &len);

	if (f)
		put_object(o, f, from, &head, n < fs->n);
	for (size_t i = n; f && i < fs->n && !o->rc; i++)
		put_each(o, f, &fs->field[i], from);
	if (f)
		fputs(n < fs->n ? "}\n" : "\n", f);
	if (!f || fclose(f))
		np_jput_fail(o, -ENOMEM);
	uselocale(before);
	if (o->rc) {
		free(f ? *out : NULL);
		*out = NULL;
	}
	return o->rc;
}

int np_fields_print(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out)
{
	return print(o, from, fs, fs->n, out);
}

int np_fields_write(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out)
{
	return print(o, from, fs, n_head(fs), out);
}

/* After a value: is there another one? */
static int next(struct np_jpull *p, char end, bool *more)
{
	*more = np_jpull_take(p, ',');
	return *more || np_jpull_take(p, end) ? 0 :
	       np_jpull_damaged(p, "expected a comma or an end");
}

static int get_element(struct np_jpull *p, const struct np_field *list,
		       size_t i, void *to)
{
	struct np_jat sub = np_jat_element(p->in, list->key, i);
	json_object *j;
	int rc = np_jpull_value(p, &j);

	if (rc)
		return rc;
	rc = json_object_is_type(j, json_type_object) ?
	     np_jget_fields(&sub, j, to, list->of) :
	     np_jat_refuse(&sub, "", "an object");
	json_object_put(j);
	return rc;
}

static int get_each(struct np_jpull *p, const struct np_field *list, char *to)
{
	size_t *n = (size_t *)(to + list->count), size = list->of->size;
	bool more;
	char *all;
	int rc = 0;

	if (!np_jpull_take(p, '['))
		return np_jat_refuse(p->in, list->key, "a whole array");
	for (more = !np_jpull_take(p, ']'); !rc && more;) {
		if ((double)*n == list->max)
			return np_errf(p->in->err, -EINVAL, "%s: %s: more than "
				       "%.0f", p->in->where, list->key,
				       list->max);
		if (np_array_more(to + list->offset, *n, size))
			return -ENOMEM;
		memcpy(&all, to + list->offset, sizeof(all));
		memset(all + *n * size, 0, size);
		++*n;
		rc = get_element(p, list, *n - 1, all + (*n - 1) * size);
		if (!rc)
			rc = next(p, ']', &more);
	}
	return rc;
}

/* What is short is kept until all of it is there. */
static int get_short(struct np_jpull *p, json_object *members, const char *key)
{
	json_object *j;
	int rc = np_jpull_value(p, &j);

	if (!rc && json_object_object_add(members, key, j)) {
		json_object_put(j);
		rc = -ENOMEM;
	}
	return rc;
}

static int get_member(struct np_jpull *p, json_object *members, const char *key,
		      const struct np_fields *fs, char *to)
{
	size_t i = 0;
	int rc = 0;

	while (i < fs->n && strcmp(key, fs->field[i].key))
		i++;
	if (i == fs->n || fs->field[i].type != NP_F_LIST)
		return get_short(p, members, key);
	/* Of a newer schema, which we write first, it may be anything. */
	if (json_object_object_get_ex(members, "schema", NULL))
		rc = np_jget_schema(p->in, members, (int)fs->field->max);
	return rc ? rc : get_each(p, &fs->field[i], to);
}

static int get_members(struct np_jpull *p, json_object *members,
		       const struct np_fields *fs, char *to)
{
	json_object *key;
	bool more;
	int rc = 0;

	if (!np_jpull_take(p, '{'))
		return np_jpull_damaged(p, "no JSON object");
	for (more = !np_jpull_take(p, '}'); !rc && more;) {
		rc = np_jpull_value(p, &key);
		if (rc)
			break;
		rc = json_object_is_type(key, json_type_string) &&
		     np_jpull_take(p, ':') ?
		     get_member(p, members, json_object_get_string(key), fs,
				to) :
		     np_jpull_damaged(p, "expected a name and a colon");
		json_object_put(key);
		if (!rc)
			rc = next(p, '}', &more);
	}
	return rc || np_jpull_take(p, '\0') ? rc :
	       np_jpull_damaged(p, "expected its end");
}

int np_fields_read(const struct np_jat *in, const char *text, size_t len,
		   void *to, const struct np_fields *fs)
{
	json_object *members = json_object_new_object();
	const struct np_fields head = { fs->field, n_head(fs), fs->size };
	struct np_jpull p;
	int rc = members ? np_jpull_open(&p, in, text, len) : -ENOMEM;

	if (!rc) {
		rc = get_members(&p, members, fs, to);
		np_jpull_close(&p);
	}
	if (!rc)
		rc = np_jget_fields(in, members, to, &head);
	json_object_put(members);
	return rc;
}
