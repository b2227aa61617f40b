#include <stdio.h>
#include <string.h>

#include "np_measured_json.h"

#include <errno.h>

/* The pairs of the matrix that were measured. */
static int pairs(const struct np_mj *j, json_object *matrix, const char *path,
		 struct np_measured_case *row)
{
	struct np_measured_set *s = j->set;
	size_t n = s->n_apps;
	struct np_mean *m = np_mj_alloc(j, n * n, sizeof(*m));
	int rc = m ? np_mj_slowdowns(j, matrix, path, n, n, false, m) : -ENOMEM;

	for (size_t i = 0; !rc && i < n * n; i++)
		if (np_mean_known(&m[i]))
			row[s->n_rows++] = (struct np_measured_case){
				.victim = i / n, .n_co = 1, .co = { i % n },
				.slowdown = m[i],
			};
	return rc;
}

/* One victim beside several at once. */
static int group(const struct np_mj *j, json_object *o, const char *path,
		 struct np_measured_case *row)
{
	json_object *co;
	int rc;

	if (!json_object_is_type(o, json_type_object))
		return np_mj_bad(j, path, o, "an object");
	co = json_object_object_get(o, "co");
	rc = np_mj_program(j, json_object_object_get(o, "victim"), path,
		       &row->victim);
	if (!rc)
		rc = np_mj_array(j, co, path, 0, NP_MEASURED_MAX_CO);
	if (rc)
		return rc;
	row->n_co = json_object_array_length(co);
	for (size_t i = 0; !rc && i < row->n_co; i++)
		rc = np_mj_program(j, json_object_array_get_idx(co, i), path,
			       &row->co[i]);
	if (!rc)
		rc = np_mj_mean(j, json_object_object_get(o, "slowdown"), path,
				-0.999, 1e6, &row->slowdown);
	return rc;
}

int np_mj_rows(const struct np_mj *j, json_object *matrix, const char *path,
	       json_object *groups, const char *groups_path)
{
	struct np_measured_set *s = j->set;
	size_t n = s->n_apps * s->n_apps, extra = 0;
	char at[NP_MJ_PATH];
	int rc = 0;

	if (groups) {
		rc = np_mj_array(j, groups, groups_path, 0,
				 NP_MEASURED_MAX_GROUPS);
		extra = rc ? 0 : json_object_array_length(groups);
	}
	s->row = rc ? NULL : np_mj_alloc(j, n + extra, sizeof(*s->row));
	if (!rc && !s->row)
		rc = -ENOMEM;
	if (!rc && (matrix || s->n_apps)) /* a fabric alone has none */
		rc = pairs(j, matrix, path, s->row);
	for (size_t i = 0; !rc && i < extra; i++) {
		snprintf(at, sizeof(at), "%s[%zu]", groups_path, i);
		rc = group(j, json_object_array_get_idx(groups, i), at,
			   &s->row[s->n_rows]);
		if (!rc && np_mean_known(&s->row[s->n_rows].slowdown))
			s->n_rows++;
	}
	return rc;
}
