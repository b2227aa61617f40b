/*
 * Objects whose lists may be very long: all at once would need twenty times the
 * memory of the text, so there is one element at a time.
 */
#include "np_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LISTS 4

/* The members before the first list. */
static struct np_fields head_of(const struct np_fields *fs)
{
	struct np_fields head = { fs->field, 0, fs->size };

	while (head.n < fs->n && fs->field[head.n].type != NP_F_LIST)
		head.n++;
	return head;
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

int np_fields_write(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out)
{
	struct np_fields head = head_of(fs);
	locale_t before = np_jput_point();
	size_t len;
	FILE *f = open_memstream(out, &len);

	if (f)
		put_object(o, f, from, &head, true);
	for (size_t i = head.n; f && i < fs->n && !o->rc; i++)
		put_each(o, f, &fs->field[i], from);
	if (f)
		fputs("}\n", f);
	if (!f || fclose(f))
		np_jput_fail(o, -ENOMEM);
	uselocale(before);
	if (f && o->rc)
		free(*out);
	return o->rc;
}

/* How many elements an array has; -EINVAL: it is none. */
static int count_of(const struct np_jat *in, const struct np_field *list,
		    struct np_jspan text, size_t *n)
{
	struct np_jwalk w = { .rest = text };
	struct np_jspan value;
	int more;

	*n = 0;
	while ((more = np_jspan_next(&w, NULL, &value)) > 0)
		if ((double)++*n > list->max)
			return np_errf(in->err, -EINVAL, "%s: %s: more than "
				       "%.0f", in->where, list->key, list->max);
	return more < 0 ? np_errf(in->err, -EINVAL, "%s: %s: expected a whole "
				  "array", in->where, list->key) : 0;
}

static int get_element(const struct np_jat *in, struct np_jspan text, void *to,
		       const struct np_fields *of)
{
	return *text.text == '{' ?
	       np_fields_parse(in, text.text, text.len, to, of) :
	       np_jat_refuse(in, "", "an object");
}

static int get_each(const struct np_jat *in, const struct np_field *list,
		    struct np_jspan text, char *to)
{
	struct np_jwalk w = { .rest = text };
	struct np_jspan value;
	size_t *n = (size_t *)(to + list->count), count = 0;
	char *all;
	int rc = text.len ? count_of(in, list, text, &count) : 0;

	if (rc)
		return rc;
	all = calloc(count + 1, list->of->size);
	if (!all)
		return -ENOMEM;
	memcpy(to + list->offset, &all, sizeof(all));
	while (!rc && *n < count && np_jspan_next(&w, NULL, &value) > 0) {
		struct np_jat sub = np_jat_element(in, list->key, *n);

		rc = get_element(&sub, value, all + *n * list->of->size,
				 list->of);
		++*n;
	}
	return rc;
}

/* A text in its parts: the short members, and the lists. */
struct parts {
	json_object *head;
	struct np_jspan list[MOST_LISTS];
};

static int add_short(const struct np_jat *in, struct parts *p, const char *key,
		     const struct np_jspan *value)
{
	/* json-c wants to see where a number ends. */
	char text[8 * NP_JSON_WORD + 8192];
	json_object *j;
	int rc;

	if (value->len + 2 > sizeof(text))
		return np_jat_refuse(in, key, "a shorter value");
	snprintf(text, sizeof(text), "%.*s\n", (int)value->len, value->text);
	rc = np_jget_parse(in, text, strlen(text), &j);
	if (rc)
		return rc;
	if (json_object_object_add(p->head, key, j)) {
		json_object_put(j);
		return -ENOMEM;
	}
	return 0;
}

static size_t field_of(const struct np_fields *fs, const struct np_jspan *key)
{
	size_t i = 0;

	while (i < fs->n && (key->len != strlen(fs->field[i].key) ||
			     memcmp(key->text, fs->field[i].key, key->len)))
		i++;
	return i;
}

static int split(const struct np_jat *in, struct np_jspan all,
		 const struct np_fields *fs, size_t n_head, struct parts *p)
{
	struct np_jwalk w = { .rest = all };
	struct np_jspan key, value;
	int more, rc = 0;

	while (!rc && (more = np_jspan_next(&w, &key, &value)) > 0) {
		size_t i = field_of(fs, &key);

		if (i < n_head)
			rc = add_short(in, p, fs->field[i].key, &value);
		else if (i < fs->n)
			p->list[i - n_head] = value;
	}
	return rc || more >= 0 ? rc :
	       np_errf(in->err, -EINVAL, "%s: damaged: no whole JSON object",
		       in->where);
}

int np_fields_read(const struct np_jat *in, const char *text, size_t len,
		   void *to, const struct np_fields *fs)
{
	struct parts p = { .head = json_object_new_object() };
	struct np_fields head = head_of(fs);
	int rc = p.head && fs->n - head.n <= MOST_LISTS ?
		 split(in, (struct np_jspan){ text, len }, fs, head.n, &p) :
		 -ENOMEM;

	if (!rc)
		rc = np_jget_fields(in, p.head, to, &head);
	for (size_t i = head.n; !rc && i < fs->n; i++)
		rc = get_each(in, &fs->field[i], p.list[i - head.n], to);
	json_object_put(p.head);
	return rc;
}
