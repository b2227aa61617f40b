#include "np_measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_jspan.h"
#include "np_measured_json.h"
#include "np_read.h"

#define DEPTH 12 /* of nested arrays and objects */

void np_measured_free(struct np_measured *m)
{
	for (size_t i = 0; i < m->n_sets; i++)
		np_mj_free(&m->set[i]);
	free(m->set);
	*m = (struct np_measured){ 0 };
}

/* The last part of a path, as the name of a set that has none. */
static const char *basename_of(const char *where)
{
	const char *slash = strrchr(where, '/');

	return slash && slash[1] ? slash + 1 : where;
}

static int name_set(const struct np_mj *j, json_object *o)
{
	json_object *name = json_object_object_get(o, "name");
	const char *base = basename_of(j->where);
	int rc = 0;

	if (name) {
		rc = np_mj_name(j, name, "name", &j->set->name);
	} else {
		j->set->name = np_mj_alloc(j, strlen(base) + 1, 1);
		if (!j->set->name)
			return -ENOMEM;
		strcpy(j->set->name, base);
	}
	j->set->fabric.name = j->set->name;
	return rc;
}

static void finish(struct np_measured_set *s)
{
	if (s->bins.n)
		s->fabric.bins = &s->bins;
}

static int read_one(json_object *root, json_object *set, const char *where,
		    struct np_measured_set *s, struct np_err *err)
{
	const struct np_mj j = { where, s, err, 1 };
	int rc = name_set(&j, set ? set : root);

	if (!rc)
		rc = set ? np_measured_read_simulated(&j, root, set) :
			   np_measured_read_pairs(&j, root);
	if (!rc)
		finish(s);
	return np_mj_result(&j, rc);
}

static int check_schema(json_object *root, const char *where,
			struct np_err *err)
{
	json_object *format = json_object_object_get(root, "format");
	json_object *schema = json_object_object_get(root, "schema");
	int64_t v;

	if (!format)
		return 0;
	if (!json_object_is_type(format, json_type_string) ||
	    strcmp(json_object_get_string(format), "netprof-pairs"))
		return np_errf(err, -EINVAL, "%s: format: %.40s, expected "
			       "\"netprof-pairs\"", where,
			       json_object_to_json_string(format));
	v = json_object_is_type(schema, json_type_int) ?
		    json_object_get_int64(schema) : 0;
	if (v < 1)
		return np_errf(err, -EINVAL, "%s: schema: expected %d", where,
			       NP_MEASURED_SCHEMA);
	if (v > NP_MEASURED_SCHEMA)
		return np_errf(err, -EPROTONOSUPPORT, "%s: schema: %lld, this "
			       "version reads up to %d", where, (long long)v,
			       NP_MEASURED_SCHEMA);
	return 0;
}

static int read_root(json_object *root, const char *where,
		     struct np_measured *m, struct np_err *err)
{
	json_object *sets = json_object_object_get(root, "sets");
	size_t n = 1;
	int rc = check_schema(root, where, err);

	if (rc)
		return rc;
	if (sets) {
		if (!json_object_is_type(sets, json_type_array) ||
		    json_object_array_length(sets) < 1 ||
		    json_object_array_length(sets) > NP_MEASURED_MAX_SETS)
			return np_errf(err, -EINVAL, "%s: sets: expected an "
				       "array of 1 to %d", where,
				       NP_MEASURED_MAX_SETS);
		n = json_object_array_length(sets);
	}
	m->set = calloc(n, sizeof(*m->set));
	if (!m->set)
		return np_errf(err, -ENOMEM, "%s: no memory", where);
	for (size_t i = 0; !rc && i < n; i++) {
		json_object *one = sets ? json_object_array_get_idx(sets, i) :
					  NULL;

		if (sets && !json_object_is_type(one, json_type_object))
			return np_errf(err, -EINVAL, "%s: sets[%zu]: expected "
				       "an object", where, i);
		m->set[i].n_memory = i ? m->set[i - 1].n_memory : 0;
		m->n_sets++;
		rc = read_one(root, one, where, &m->set[i], err);
	}
	return rc;
}

static const char *why(json_tokener *tok, json_object *root)
{
	enum json_tokener_error e = json_tokener_get_error(tok);

	return root ? "expected an object" :
	       e == json_tokener_continue ? "the text ends early" :
					    json_tokener_error_desc(e);
}

int np_mj_root(const char *text, size_t len, const char *where,
	       json_object **out, struct np_err *err)
{
	static const struct np_jlimits limits = {
		NP_MEASURED_MAX_OBJECTS, NP_MEASURED_MAX_ARRAYS,
		NP_MEASURED_MAX_ELEMENTS,
	};
	json_tokener *tok;
	json_object *root;
	int rc = 0;

	if (len > NP_MEASURED_MAX_BYTES)
		return np_errf(err, -EFBIG, "%s: %zu bytes, expected at most "
			       "%u", where, len, NP_MEASURED_MAX_BYTES);
	if (!np_jspan_within(text, len, &limits))
		return np_errf(err, -EFBIG, "%s: expected at most %zu objects, "
			       "%zu arrays and %zu commas", where,
			       limits.objects, limits.arrays, limits.elements);
	tok = json_tokener_new_ex(DEPTH);
	if (!tok)
		return np_errf(err, -ENOMEM, "%s: no memory", where);
	root = json_tokener_parse_ex(tok, text, (int)len);
	if (!json_object_is_type(root, json_type_object))
		rc = np_errf(err, -EINVAL, "%s: byte %zu: %s", where,
			     json_tokener_get_parse_end(tok), why(tok, root));
	json_tokener_free(tok);
	if (rc)
		json_object_put(root);
	else
		*out = root;
	return rc;
}

int np_measured_read(json_object *root, const char *where,
		     struct np_measured *out, struct np_err *err)
{
	struct np_measured m = { 0 };
	int rc = read_root(root, where, &m, err);

	if (rc)
		np_measured_free(&m);
	else
		*out = m;
	return rc;
}

int np_measured_parse(const char *text, size_t len, const char *where,
		      struct np_measured *out, struct np_err *err)
{
	json_object *root;
	int rc = np_mj_root(text, len, where, &root, err);

	if (rc)
		return rc;
	rc = np_measured_read(root, where, out, err);
	json_object_put(root);
	return rc;
}

int np_measured_load(const char *path, struct np_measured *out,
		     struct np_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = np_read_file(path, NP_MEASURED_MAX_BYTES, &text, &len, err);

	if (!rc)
		rc = np_measured_parse(text, len, path, out, err);
	free(text);
	return rc;
}
