/* Reading the state of placement: every byte of it may be hostile. */
#include "np_state_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_jspan.h"

/* A list that put_list() wrote; *of is set as soon as there is any. */
static int get_list(const struct np_jat *in, json_object *from, const char *key,
		    size_t max, void **of, size_t *n, size_t size,
		    const struct np_fields *fs)
{
	json_object *list;
	size_t count;
	char *all;
	int rc = np_jget_list(in, from, key, max, &list, &count);

	if (rc || !count)
		return rc;
	all = calloc(count, size);
	if (!all)
		return -ENOMEM;
	*of = all;
	for (size_t i = 0; !rc && i < count; i++) {
		json_object *j = json_object_array_get_idx(list, i);
		struct np_jat sub = *in;

		snprintf(sub.at, sizeof(sub.at), "%.30s%s[%zu].", in->at, key,
			 i);
		*n = i + 1;
		rc = json_object_is_type(j, json_type_object) ?
		     np_jget_fields(&sub, j, all + i * size, fs) :
		     np_jat_refuse(&sub, "", "an object");
	}
	return rc;
}

static int damaged(const struct np_jat *in, const char *what)
{
	return np_errf(in->err, -EINVAL, "%s: damaged: %s", in->where, what);
}

static int get_job(const struct np_jat *in, json_object *j, struct np_state *s)
{
	struct np_state_job *job = &s->job[s->n_jobs++];
	int rc = np_jget_fields(in, j, job, &np_state_job_table);

	return rc ? rc : get_list(in, j, "causes", NP_STATE_MAX_CAUSES,
				  (void **)&job->cause, &job->n_causes,
				  sizeof(*job->cause), &np_state_cause_table);
}

static int get_leaf(const struct np_jat *in, json_object *j, struct np_state *s)
{
	return np_jget_fields(in, j, &s->leaf[s->n_leaves++],
			      &np_state_leaf_table);
}

static int get_claim(const struct np_jat *in, json_object *j, struct np_state *s)
{
	return np_jget_fields(in, j, &s->claim[s->n_claims++],
			      &np_state_claim_table);
}

/* How many elements an array has; -EINVAL: it is none. */
static int count_of(const struct np_jat *in, const char *key,
		    struct np_jspan list, size_t max, size_t *n)
{
	struct np_jwalk w = { .rest = list };
	struct np_jspan value;
	int more;

	*n = 0;
	while ((more = np_jspan_next(&w, NULL, &value)) > 0)
		if (++*n > max)
			return np_errf(in->err, -EINVAL, "%s: %s: more than "
				       "%zu", in->where, key, max);
	return more < 0 ? np_errf(in->err, -EINVAL, "%s: %s: expected a whole "
				  "array", in->where, key) : 0;
}

/* One element after the other, each parsed alone. */
static int get_each(const struct np_jat *in, const char *key, struct np_jspan list,
		    struct np_state *s,
		    int (*get)(const struct np_jat *, json_object *,
			       struct np_state *))
{
	struct np_jwalk w = { .rest = list };
	struct np_jspan value;
	int rc = 0;

	for (size_t i = 0; !rc && np_jspan_next(&w, NULL, &value) > 0; i++) {
		struct np_jat sub = *in;
		json_object *j;

		snprintf(sub.at, sizeof(sub.at), "%s[%zu].", key, i);
		rc = *value.text == '{' ?
		     np_jget_parse(&sub, value.text, value.len, &j) :
		     np_jat_refuse(&sub, "", "an object");
		if (rc)
			break;
		rc = get(&sub, j, s);
		json_object_put(j);
	}
	return rc;
}

/* The text of a state in its parts: the short members, and the lists. */
struct parts {
	json_object *head;
	struct np_jspan leaves, jobs, claims;
};

static bool is_key(const struct np_jspan *key, const char *name)
{
	return key->len == strlen(name) && !memcmp(key->text, name, key->len);
}

/* The name of a member that is read, or NULL. */
static const char *known_key(const struct np_jspan *key)
{
	if (is_key(key, "schema"))
		return "schema";
	for (size_t i = 0; i < np_state_table.n; i++)
		if (is_key(key, np_state_table.field[i].key))
			return np_state_table.field[i].key;
	return NULL;
}

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

static int split(const struct np_jat *in, struct np_jspan all, struct parts *p)
{
	struct np_jwalk w = { .rest = all };
	struct np_jspan key, value;
	int more, rc = 0;

	while (!rc && (more = np_jspan_next(&w, &key, &value)) > 0) {
		const char *name = known_key(&key);

		if (is_key(&key, "leaves"))
			p->leaves = value;
		else if (is_key(&key, "jobs"))
			p->jobs = value;
		else if (is_key(&key, "claims"))
			p->claims = value;
		else if (name)
			rc = add_short(in, p, name, &value);
	}
	return rc ? rc : more < 0 ? damaged(in, "no whole JSON object") : 0;
}

/* One of the lists; *all: room for its elements, malloc'ed. */
static int get_part(const struct np_jat *in, const char *key, struct np_jspan list,
		    size_t max, size_t size, void **all, struct np_state *s,
		    int (*get)(const struct np_jat *, json_object *,
			       struct np_state *))
{
	size_t n = 0;
	int rc = list.len ? count_of(in, key, list, max, &n) : 0;

	if (rc)
		return rc;
	*all = calloc(n + 1, size);
	if (!*all)
		return -ENOMEM;
	return n ? get_each(in, key, list, s, get) : 0;
}

static int get_lists(const struct np_jat *in, const struct parts *p,
		     struct np_state *s)
{
	int rc = get_part(in, "leaves", p->leaves, NP_STATE_MAX_LEAVES,
			  sizeof(*s->leaf), (void **)&s->leaf, s, get_leaf);

	if (!rc)
		rc = get_part(in, "jobs", p->jobs, NP_STATE_MAX_JOBS,
			      sizeof(*s->job), (void **)&s->job, s, get_job);
	if (!rc)
		rc = get_part(in, "claims", p->claims, NP_STATE_MAX_CLAIMS,
			      sizeof(*s->claim), (void **)&s->claim, s,
			      get_claim);
	return rc;
}

int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err)
{
	struct np_jat in = { .where = where, .err = err };
	struct parts p = { .head = json_object_new_object() };
	struct np_state s = { 0 };
	int rc = p.head ? split(&in, (struct np_jspan){ text, len }, &p) :
			  -ENOMEM;

	if (!rc)
		rc = np_jget_schema(&in, p.head, NP_STATE_SCHEMA);
	if (!rc)
		rc = np_jget_fields(&in, p.head, &s, &np_state_table);
	if (!rc)
		rc = get_lists(&in, &p, &s);
	json_object_put(p.head);
	if (!rc) {
		*out = s;
		return 0;
	}
	np_state_free(&s);
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s: out of memory", where);
	return -EINVAL;
}

int np_ended_get(const char *text, size_t len, struct np_ended *out)
{
	struct np_jat in = { .where = "" };
	struct np_ended e = { 0 };
	json_object *j;
	int rc = np_jget_parse(&in, text, len, &j);

	if (rc)
		return rc;
	rc = np_jget_schema(&in, j, NP_STATE_SCHEMA);
	if (!rc)
		rc = np_jget_fields(&in, j, &e, &np_ended_table);
	if (!rc)
		rc = get_list(&in, j, "neighbours", NP_ENDED_MAX_NEIGHBOURS,
			      (void **)&e.neighbour, &e.n_neighbours,
			      sizeof(*e.neighbour), &np_ended_neighbour_table);
	json_object_put(j);
	if (rc)
		np_ended_free(&e);
	else
		*out = e;
	return rc;
}
