#include "np_measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_measured_json.h"
#include "np_read.h"

#define SET(type, key, name, ...) \
	{ key, type, offsetof(struct np_measured_set, name), __VA_ARGS__ }
#define TABLE(key, name, rows, columns_) \
	SET(NP_F_MEANS, key, name, NP_SLOWDOWN_MAX, .min = NP_SLOWDOWN_LEAST, \
	    .count = offsetof(struct np_measured_set, rows), \
	    .columns = offsetof(struct np_measured_set, columns_))

static const struct np_field group_fields[] = {
	NP_FIELD(np_measured_group, NP_F_TEXT, victim, NP_MEASURED_NAME,
		 NP_F_NEEDED),
	{ "co", NP_F_TEXTS, offsetof(struct np_measured_group, co),
	  .max = NP_MEASURED_MAX_CO,
	  .count = offsetof(struct np_measured_group, n_co),
	  .text_max = NP_MEASURED_NAME },
	NP_FIELD(np_measured_group, NP_F_MEAN, slowdown, NP_SLOWDOWN_MAX, 0,
		 -0.999),
};
static const struct np_fields group_table =
	NP_FIELDS(group_fields, np_measured_group);

static const struct np_field pair_fields[] = {
	TABLE("program_beside_program", pair, n_apps, n_apps),
	TABLE("program_beside_level", curve, n_apps, fabric.n_levels),
	TABLE("level_beside_program", pressure, fabric.n_levels, n_apps),
	SET(NP_F_MEANS, "alone_sec", alone_sec, 1e9,
	    .count = offsetof(struct np_measured_set, n_apps)),
	NP_FIELD_LIST(np_measured_set, "groups", group, n_groups,
		      NP_MEASURED_MAX_GROUPS, 0, &group_table),
};
static const struct np_fields pair_table =
	NP_FIELDS(pair_fields, np_measured_set);

static void free_set(struct np_measured_set *s)
{
	for (size_t i = 0; s->app && i < s->n_apps; i++) {
		free((void *)s->app[i].latency.count);
		free((void *)s->app[i].window);
	}
	for (size_t i = 0; s->level && i < s->fabric.n_levels; i++)
		free((void *)s->level[i].latency.count);
	free((void *)s->fabric.idle.count);
	free(s->name);
	free(s->app);
	free(s->level);
	free(s->row);
	free(s->level_name);
	np_fields_free(s, &pair_table);
	np_fields_free(s, &np_measured_fabric);
	np_fields_free(s, &np_measured_programs);
}

void np_measured_free(struct np_measured *m)
{
	for (size_t i = 0; i < m->n_sets; i++)
		free_set(&m->set[i]);
	free(m->set);
	*m = (struct np_measured){ 0 };
}

/* A file has a row a level, a program its own of each. */
static int give_tables(const struct np_jat *in, struct np_measured_set *s)
{
	size_t n = s->fabric.n_levels;
	struct np_mean *of = NULL;
	int rc = s->pressure ?
		 np_jat_take(in, n * s->n_apps + 1, sizeof(*of), &of) : 0;

	if (rc)
		return rc;
	for (size_t i = 0; of && i < n * s->n_apps; i++)
		of[i % s->n_apps * n + i / s->n_apps] = s->pressure[i];
	free(s->pressure);
	s->pressure = of;
	for (size_t a = 0; a < s->n_apps; a++) {
		s->app[a].curve = s->curve ? s->curve + a * n : NULL;
		s->app[a].pressure = of ? of + a * n : NULL;
	}
	return 0;
}

static int find_program(const struct np_jat *in,
			const struct np_measured_set *s, const char *key,
			const char *name, size_t *out)
{
	for (*out = 0; *out < s->n_apps; ++*out)
		if (!strcmp(s->app[*out].name, name))
			return 0;
	return np_errf(in->err, -EINVAL, "%s: %s%s: \"%s\", expected the name "
		       "of a program in the file", in->where, in->at, key,
		       name);
}

static int add_group(const struct np_jat *in, struct np_measured_set *s,
		     const struct np_measured_group *g)
{
	struct np_measured_case *c = &s->row[s->n_rows];
	int rc = find_program(in, s, "victim", g->victim, &c->victim);

	for (size_t i = 0; !rc && i < g->n_co; i++)
		rc = find_program(in, s, "co", g->co[i], &c->co[i]);
	c->n_co = g->n_co;
	c->slowdown = g->slowdown;
	s->n_rows += !rc && np_mean_known(&g->slowdown);
	return rc;
}

/* The pairs that were measured, and the victims beside several at once. */
static int give_rows(const struct np_jat *in, struct np_measured_set *s)
{
	size_t n = s->n_apps;
	int rc = np_jat_take(in, n * n + s->n_groups + 1, sizeof(*s->row),
			     &s->row);

	for (size_t i = 0; !rc && i < n * n; i++)
		if (np_mean_known(&s->pair[i]))
			s->row[s->n_rows++] = (struct np_measured_case){
				.victim = i / n, .n_co = 1, .co = { i % n },
				.slowdown = s->pair[i],
			};
	for (size_t i = 0; !rc && i < s->n_groups; i++) {
		struct np_jat sub = np_jat_element(in, "groups", i);

		rc = add_group(&sub, s, &s->group[i]);
	}
	return rc;
}

static int read_set(const struct np_jat *file, json_object *from,
		    struct np_measured_set *s)
{
	struct np_jat in = *file;
	int rc = np_measured_get(&in, from, s);

	if (!rc)
		rc = np_jget_fields(&in, from, s, &pair_table);
	if (!rc && s->n_apps && !s->pair) /* a fabric alone has none */
		rc = np_jat_refuse(&in, "program_beside_program",
				   "a value: it is missing");
	if (!rc)
		rc = give_tables(&in, s);
	return rc ? rc : give_rows(&in, s);
}

static int read_all(const struct np_jat *in, json_object *root,
		    struct np_measured *m)
{
	struct np_measured_set head = { .name = NULL };
	json_object *sets;
	size_t n = 1;
	int rc = np_measured_get_head(in, root, &head);

	if (!rc)
		rc = np_jget_list(in, root, "sets", NP_MEASURED_MAX_SETS,
				  &sets, &n);
	if (!rc && sets && !n)
		rc = np_jat_refuse(in, "sets", "one or more");
	if (rc)
		return rc;
	m->n_sets = sets ? n : 1;
	m->set = calloc(m->n_sets, sizeof(*m->set));
	if (!m->set) {
		m->n_sets = 0;
		return -ENOMEM;
	}
	if (!sets)
		return read_set(in, root, m->set);
	for (size_t i = 0; !rc && i < n; i++) {
		struct np_jat sub = np_jat_element(in, "sets", i);
		json_object *one = json_object_array_get_idx(sets, i);

		rc = json_object_is_type(one, json_type_object) ?
		     read_set(&sub, one, &m->set[i]) :
		     np_jat_refuse(&sub, "", "an object");
	}
	return rc;
}

int np_measured_parse(const char *text, size_t len, const char *where,
		      struct np_measured *out, struct np_err *err)
{
	size_t room = NP_MEASURED_MAX_MEMORY;
	struct np_jat in = { .where = where, .err = err, .room = &room };
	struct np_measured m = { 0 };
	json_object *root;
	int rc = np_measured_open(&in, text, len, &root);

	if (!rc) {
		rc = read_all(&in, root, &m);
		json_object_put(root);
	}
	if (rc)
		np_measured_free(&m);
	else
		*out = m;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: no memory", where) : rc;
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
