/* Writing the state of placement, and jobs that ended, as JSON. */
#include "np_state_json.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* A list of equal structures, as member key of in. */
static void put_list(struct np_jput *o, json_object *in, const char *key,
		     const void *of, size_t n, size_t size,
		     const struct np_fields *fs)
{
	json_object *list = np_jput_new(o, in, key, json_object_new_array());

	for (size_t i = 0; list && i < n && !o->rc; i++) {
		json_object *j = np_jput_append_new(o, list,
						    json_object_new_object());

		if (j)
			np_jput_fields(o, j, (const char *)of + i * size, fs);
	}
}

static json_object *job_object(struct np_jput *o, const void *of)
{
	json_object *j = json_object_new_object();
	const struct np_state_job *job = of;
	size_t n = job->n_causes;

	if (!j) {
		o->rc = -ENOMEM;
		return NULL;
	}
	np_jput_fields(o, j, job, &np_state_job_table);
	if (n)
		put_list(o, j, "causes", job->cause,
			 n > NP_STATE_MAX_CAUSES ? NP_STATE_MAX_CAUSES : n,
			 sizeof(*job->cause), &np_state_cause_table);
	return j;
}

static json_object *object_of(struct np_jput *o, const void *of,
			      const struct np_fields *fs)
{
	json_object *j = json_object_new_object();

	if (j)
		np_jput_fields(o, j, of, fs);
	else
		o->rc = -ENOMEM;
	return j;
}

static json_object *leaf_object(struct np_jput *o, const void *of)
{
	return object_of(o, of, &np_state_leaf_table);
}

static json_object *claim_object(struct np_jput *o, const void *of)
{
	return object_of(o, of, &np_state_claim_table);
}

static const char *plain(json_object *j)
{
	return json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* All at once would need twenty times the memory of the text. */
static int put_each(FILE *f, const char *key, const void *of, size_t n,
		    size_t size, json_object *(*object)(struct np_jput *,
							const void *))
{
	struct np_jput o = { 0 };

	fprintf(f, ",\n\"%s\":[", key);
	for (size_t i = 0; i < n && !o.rc; i++) {
		json_object *j = object(&o, (const char *)of + i * size);
		const char *text = o.rc ? NULL : plain(j);

		if (text)
			fprintf(f, "%s\n%s", i ? "," : "", text);
		else if (!o.rc)
			o.rc = -ENOMEM;
		json_object_put(j);
	}
	fputs("]", f);
	return o.rc;
}

static int put_head(FILE *f, const struct np_state *s)
{
	json_object *j = json_object_new_object();
	struct np_jput o = { .rc = j ? 0 : -ENOMEM };
	const char *text = NULL;

	if (j) {
		np_jput(&o, j, "schema", json_object_new_int(NP_STATE_SCHEMA));
		np_jput_fields(&o, j, s, &np_state_table);
		text = o.rc ? NULL : plain(j);
	}
	if (text) /* open for what follows */
		fprintf(f, "%.*s", (int)strlen(text) - 1, text);
	else if (!o.rc)
		o.rc = -ENOMEM;
	json_object_put(j);
	return o.rc;
}

static size_t at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* The program around us may have set a locale with another decimal point. */
static locale_t begin_numbers(locale_t *c)
{
	*c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	return *c ? uselocale(*c) : (locale_t)0;
}

static void end_numbers(locale_t old, locale_t c)
{
	uselocale(old);
	freelocale(c);
}

static int cannot(struct np_err *err, int rc, const char *what)
{
	return np_errf(err, rc, "%s: %s", what, rc == -ENOMEM ?
		       "out of memory" : "a number that is not finite");
}

int np_state_put(FILE *f, const struct np_state *s, struct np_err *err)
{
	const char *what = "state of placement";
	locale_t c, old = begin_numbers(&c);
	int rc;

	if (!c)
		return cannot(err, -ENOMEM, what);
	rc = put_head(f, s);
	if (!rc)
		rc = put_each(f, "leaves", s->leaf,
			      at_most(s->n_leaves, NP_STATE_MAX_LEAVES),
			      sizeof(*s->leaf), leaf_object);
	if (!rc)
		rc = put_each(f, "jobs", s->job,
			      at_most(s->n_jobs, NP_STATE_MAX_JOBS),
			      sizeof(*s->job), job_object);
	if (!rc)
		rc = put_each(f, "claims", s->claim,
			      at_most(s->n_claims, NP_STATE_MAX_CLAIMS),
			      sizeof(*s->claim), claim_object);
	fputs("}\n", f);
	end_numbers(old, c);
	return rc ? cannot(err, rc, what) : 0;
}

static int put_ended(const struct np_ended *e, size_t n, char **out)
{
	json_object *j = json_object_new_object();
	struct np_jput o = { 0 };

	if (!j)
		return -ENOMEM;
	np_jput(&o, j, "schema", json_object_new_int(NP_STATE_SCHEMA));
	np_jput_fields(&o, j, e, &np_ended_table);
	if (!o.rc)
		put_list(&o, j, "neighbours", e->neighbour, n,
			 sizeof(*e->neighbour), &np_ended_neighbour_table);
	if (!o.rc)
		o.rc = asprintf(out, "%s\n", plain(j)) < 0 ? -ENOMEM : 0;
	json_object_put(j);
	return o.rc;
}

int np_ended_put(const struct np_ended *e, char **out, struct np_err *err)
{
	size_t n = at_most(e->n_neighbours, NP_ENDED_MAX_NEIGHBOURS);
	locale_t c, old = begin_numbers(&c);
	char *line = NULL;
	int rc = c ? 0 : -ENOMEM;

	while (!rc) {
		rc = put_ended(e, n, &line);
		if (rc || strlen(line) <= NP_ENDED_MAX_LINE || !n)
			break;
		free(line); /* long names of leaves: the first ones do */
		n /= 2;
	}
	if (c)
		end_numbers(old, c);
	if (rc)
		return cannot(err, rc, "job that ended");
	*out = line;
	return 0;
}
