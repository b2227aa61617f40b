/* Pairs of programs as they are being measured. */
#include "np_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_jmean.h"
#include "np_measured_json.h"
#include "np_read.h"
#include "np_store_file.h"

#define COMMAND_MAX 4096
#define SETUP_MAX 65536

#define PLACE(type_max, name) \
	NP_FIELD(np_pairs_place, NP_F_TEXT, name, type_max)

static const struct np_field place_fields[] = {
	PLACE(NP_JSON_WORD, cluster),
	PLACE(NP_JSON_WORD, leaf),
	PLACE(NP_JSON_WORD, transport),
	PLACE(NP_JSON_HOSTLIST, victim_nodes),
	PLACE(NP_JSON_HOSTLIST, corunner_nodes),
	PLACE(NP_JSON_HOSTLIST, apart_nodes),
};
static const struct np_fields place_table =
	NP_FIELDS(place_fields, np_pairs_place);

static const struct np_field program_fields[] = {
	NP_FIELD(np_pairs_program, NP_F_NAME, name, NP_MEASURED_NAME,
		 NP_F_NEEDED),
	NP_FIELD(np_pairs_program, NP_F_TEXT, command, COMMAND_MAX),
	NP_FIELD(np_pairs_program, NP_F_U32, nodes, UINT32_MAX),
	NP_FIELD(np_pairs_program, NP_F_U32, tasks_per_node, UINT32_MAX),
};
static const struct np_fields program_table =
	NP_FIELDS(program_fields, np_pairs_program);

/* By enum np_pairs_kind. */
static const char *const kinds[] = {
	"launch", "alone", "profile", "leaf", "apart", NULL
};

static const struct np_field run_fields[] = {
	{ "kind", NP_F_WORD, offsetof(struct np_pairs_run, kind),
	  .flags = NP_F_NEEDED, .words = kinds },
	NP_FIELD(np_pairs_run, NP_F_TEXT, victim, NP_MEASURED_NAME,
		 NP_F_NEEDED),
	NP_FIELD(np_pairs_run, NP_F_TEXT, corunner, NP_MEASURED_NAME),
	NP_FIELD(np_pairs_run, NP_F_U32, repeat, UINT32_MAX),
	NP_FIELD(np_pairs_run, NP_F_REAL, start, NP_JSON_DATE, NP_F_NEEDED),
	NP_FIELD(np_pairs_run, NP_F_REAL, sec, NP_JSON_ELAPSED_SEC,
		 NP_F_NEEDED | NP_F_NINE),
};
static const struct np_fields run_table = NP_FIELDS(run_fields, np_pairs_run);

static const struct np_field own_fields[] = {
	NP_FIELD(np_pairs, NP_F_TEXT, name, NP_JSON_WORD),
	NP_FIELD(np_pairs, NP_F_REAL, date, NP_JSON_DATE),
	NP_FIELD(np_pairs, NP_F_TEXT, setup, SETUP_MAX, NP_F_NEVER_NULL),
	{ "fabric", NP_F_OBJECT, offsetof(struct np_pairs, place),
	  .of = &place_table },
	NP_FIELD_LIST(np_pairs, "programs", program, n_programs,
		      NP_PAIRS_MAX_PROGRAMS, NP_F_NEEDED | NP_F_NAMED,
		      &program_table),
	NP_FIELD_LIST(np_pairs, "runs", run, n_runs, NP_PAIRS_MAX_RUNS, 0,
		      &run_table),
};
static const struct np_fields own_table = NP_FIELDS(own_fields, np_pairs);

#define MEANS(s, key, name, most, least, rows, columns_) \
	{ key, NP_F_MEANS, offsetof(struct s, name), most, .min = least, \
	  .count = offsetof(struct s, rows), .columns = columns_ }
#define SLOWDOWNS(s, key, name, rows, columns) \
	MEANS(s, key, name, NP_SLOWDOWN_MAX, NP_SLOWDOWN_LEAST, rows, \
	      offsetof(struct s, columns))

static const struct np_field result_fields[] = {
	MEANS(np_pairs, "alone_sec", alone_sec, 1e9, 0, n_programs, 0),
	SLOWDOWNS(np_pairs, "program_beside_program", beside, n_programs,
		  n_programs),
	SLOWDOWNS(np_pairs, "program_beside_program_apart", apart, n_programs,
		  n_programs),
};
static const struct np_fields result_table =
	NP_FIELDS(result_fields, np_pairs);

int np_pairs_add(struct np_pairs *p, const struct np_pairs_run *run)
{
	if (np_array_more(&p->run, p->n_runs, sizeof(*p->run))) {
		free(run->victim);
		free(run->corunner);
		return -ENOMEM;
	}
	p->run[p->n_runs++] = *run;
	return 0;
}

void np_pairs_free(struct np_pairs *p)
{
	np_fields_free(p, &own_table);
	np_fields_free(p, &result_table);
	*p = (struct np_pairs){ .n_runs = 0 };
}

/* ---- writing ---- */

/* What is known of programs beside levels, and of these beside programs. */
struct tables {
	struct np_mean *curve, *pressure;
	size_t n_programs, n_levels;
};

static const struct np_field table_fields[] = {
	SLOWDOWNS(tables, "program_beside_level", curve, n_programs, n_levels),
	SLOWDOWNS(tables, "level_beside_program", pressure, n_levels,
		  n_programs),
};
static const struct np_fields table_table = NP_FIELDS(table_fields, tables);

static void put_tables(struct np_jput *o, json_object *j,
		       const struct np_pairs *p)
{
	size_t n = p->n_programs, n_levels = p->fabric->n_levels;
	struct tables t = { .n_programs = n, .n_levels = n_levels };

	t.curve = calloc(n * n_levels + 1, sizeof(*t.curve));
	t.pressure = calloc(n * n_levels + 1, sizeof(*t.pressure));
	if (!t.curve || !t.pressure) {
		np_jput_fail(o, -ENOMEM);
	} else {
		for (size_t a = 0; a < n; a++)
			for (size_t i = 0; p->app[a] && i < n_levels; i++) {
				if (p->app[a]->curve)
					t.curve[a * n_levels + i] =
						p->app[a]->curve[i];
				if (p->app[a]->pressure)
					t.pressure[i * n + a] =
						p->app[a]->pressure[i];
			}
		np_jput_fields(o, j, &t, &table_table);
	}
	np_fields_free(&t, &table_table);
}

static void put_models(struct np_jput *o, json_object *j,
		       const struct np_pairs *p)
{
	struct np_measured_set s = { .fabric = *p->fabric };
	struct np_jat probes_at = np_jat_member(&o->at, "probes");
	struct np_jat outside = o->at;
	json_object *probes;

	s.level = (struct np_fabric_level *)p->fabric->level;
	np_jput_fields(o, j, &s, &np_measured_fabric);
	put_tables(o, j, p);
	np_measured_put_probes(o, j, &s);
	if (!json_object_object_get_ex(j, "probes", &probes))
		return;
	o->at = probes_at;
	for (size_t a = 0; a < p->n_programs; a++)
		if (p->app[a] && p->app[a]->latency.all.n)
			np_jput_latency(o, probes, p->program[a].name,
					&p->app[a]->latency);
	o->at = outside;
}

static json_object *level_names(struct np_jput *o, const struct np_pairs *p)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; list && p->fabric && i < p->fabric->n_levels; i++)
		np_jput_append(o, list, json_object_new_string(
				       p->fabric->level[i].name));
	return list;
}

int np_pairs_format(const struct np_pairs *p, char **out, struct np_err *err)
{
	const struct np_measured_set head = { .format = 0 };
	struct np_jput o = { { .where = "pairs", .err = err }, 1, 0 };
	json_object *j = json_object_new_object();

	if (!j)
		return np_errf(err, -ENOMEM, "out of memory");
	np_jput_fields(&o, j, &head, &np_measured_head);
	np_jput(&o, j, "levels", level_names(&o, p));
	np_jput_fields(&o, j, p, &result_table);
	if (p->fabric && p->app)
		put_models(&o, j, p);
	np_jput_fields(&o, j, p, &own_table);
	if (!o.rc) {
		*out = strdup(json_object_to_json_string_ext(j,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
		o.rc = *out ? 0 : -ENOMEM;
	}
	json_object_put(j);
	return o.rc == -ENOMEM ? np_errf(err, o.rc, "out of memory") : o.rc;
}

int np_pairs_save(const char *path, const struct np_pairs *p,
		  struct np_err *err)
{
	char *text = NULL;
	int rc = np_pairs_format(p, &text, err);

	if (!rc)
		rc = np_file_write_path(path, text, strlen(text), 0644, err);
	free(text);
	return rc;
}

/* ---- reading ---- */

static bool is_program(const struct np_pairs *p, const char *name)
{
	for (size_t i = 0; i < p->n_programs; i++)
		if (!strcmp(p->program[i].name, name))
			return true;
	return false;
}

static int check_runs(const struct np_jat *in, const struct np_pairs *p)
{
	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i];
		bool pair = r->kind == NP_PAIRS_LEAF ||
			    r->kind == NP_PAIRS_APART;
		struct np_jat sub = np_jat_element(in, "runs", i);

		if (!is_program(p, r->victim))
			return np_jat_refuse(&sub, "victim", "the name of a "
					     "program in the file");
		if (pair ? !r->corunner || !is_program(p, r->corunner) :
			   r->corunner != NULL)
			return np_jat_refuse(&sub, "corunner", "the name of a "
					     "program in the file, of pairs "
					     "alone");
	}
	return 0;
}

/* The reader made room for these only; np_pairs_add() grows its own array. */
static int make_room(struct np_pairs *p)
{
	struct np_pairs_run *run = p->run;
	size_t n = p->n_runs;
	int rc = 0;

	p->run = NULL;
	p->n_runs = 0;
	for (size_t i = 0; i < n; i++)
		if (np_pairs_add(p, &run[i]))
			rc = -ENOMEM;
	free(run);
	return rc;
}

int np_pairs_parse(const char *text, size_t len, const char *where,
		   struct np_pairs *out, struct np_err *err)
{
	size_t room = NP_MEASURED_MAX_MEMORY;
	struct np_jat in = { .where = where, .err = err, .room = &room };
	struct np_pairs p = { .n_runs = 0 };
	json_object *root;
	int rc = np_measured_open(&in, text, len, &root);

	if (rc)
		return rc;
	rc = np_jget_fields(&in, root, &p, &own_table);
	if (!rc)
		rc = check_runs(&in, &p);
	if (!rc)
		rc = make_room(&p);
	json_object_put(root);
	if (rc)
		np_pairs_free(&p);
	else
		*out = p;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: no memory", where) : rc;
}

int np_pairs_load(const char *path, struct np_pairs *out, struct np_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = np_read_file(path, NP_PAIRS_MAX_BYTES, &text, &len, err);

	if (!rc)
		rc = np_pairs_parse(text, len, path, out, err);
	free(text);
	return rc;
}
