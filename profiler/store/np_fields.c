#include "np_fields.h"

#include <stdlib.h>
#include <string.h>

#include "np_hist.h"
#include "np_latency.h"

#define FIELD(type, name, max) \
	NP_FIELD(np_moments, type, name, max, NP_F_NEEDED)

static const struct np_field moments_fields[] = {
	FIELD(NP_F_U64, n, NP_JSON_COUNT),
	FIELD(NP_F_REAL, mean, NP_JSON_ELAPSED_SEC),
	FIELD(NP_F_REAL, m2, 1e300),
	FIELD(NP_F_REAL, min, NP_JSON_ELAPSED_SEC),
	FIELD(NP_F_REAL, max, NP_JSON_ELAPSED_SEC),
};
const struct np_fields np_moments_fields =
	NP_FIELDS(moments_fields, np_moments);

bool np_moments_fit(const struct np_moments *m, double max)
{
	return !m->n || (np_moments_valid(m) && m->max <= max);
}

static void free_list(void *of, const struct np_field *f, char *list)
{
	size_t *n = (size_t *)((char *)of + f->count);

	for (size_t i = 0; i < *n; i++) {
		if (f->type == NP_F_TEXTS)
			free(((char **)list)[i]);
		else
			np_fields_free(list + i * f->of->size, f->of);
	}
	*n = 0;
}

static bool is_pointer(enum np_field_type type)
{
	return type == NP_F_TEXT || type == NP_F_PART || type == NP_F_LIST ||
	       type == NP_F_TEXTS || type == NP_F_HIST ||
	       type == NP_F_SERIES || type == NP_F_MEANS ||
	       type == NP_F_NUMBERS || type == NP_F_LATENCY;
}

void np_fields_free(void *of, const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct np_field *f = &fs->field[i];
		char *at = (char *)of + f->offset;
		void *points = NULL;

		if (f->type == NP_F_LATENCY)
			at += offsetof(struct np_latency, count);
		if (f->type == NP_F_OBJECT)
			np_fields_free(at, f->of);
		if (!is_pointer(f->type))
			continue;
		memcpy(&points, at, sizeof(points));
		memset(at, 0, sizeof(points));
		if (f->type == NP_F_PART && points)
			np_fields_free(points, f->of);
		else if (f->type == NP_F_LIST || f->type == NP_F_TEXTS)
			free_list(of, f, points);
		if (f->type == NP_F_HIST)
			np_hist_free(points);
		else
			free(points);
	}
}
