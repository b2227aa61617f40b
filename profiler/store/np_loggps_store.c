/* LogGPS parameters as JSON text; their files are in np_fabric_store.c. */
#include "np_loggps_store.h"

#include <errno.h>

#include "np_fields.h"

#define MAX_SEC 3600.0

#define U32(s, name, max) NP_FIELD(s, NP_F_U32, name, max, NP_F_NEEDED)
#define TEXT(name) \
	NP_FIELD(np_loggps_record, NP_F_TEXT, name, NP_JSON_WORD, \
		 NP_F_NEVER_NULL)
#define SEC(name, least) \
	NP_FIELD(np_loggps_value, NP_F_REAL, name, MAX_SEC, NP_F_NEEDED, least)
#define VALUE(name) \
	{ #name, NP_F_OBJECT, offsetof(struct np_loggps_fit, name), 0, \
	  NP_F_NEEDED, 0, &value_table }

static const struct np_field value_fields[] = {
	SEC(value, 0),
	/* An interval may reach below what can be. */
	SEC(low, -MAX_SEC),
	SEC(high, 0),
};
static const struct np_fields value_table =
	NP_FIELDS(value_fields, np_loggps_value);

static const struct np_field fit_fields[] = {
	U32(np_loggps_fit, n_blocks, NP_LOGGPS_MAX_BLOCKS),
	U32(np_loggps_fit, n_sizes, NP_LOGGPS_MAX_SIZES),
	U32(np_loggps_fit, bytes_min, UINT32_MAX),
	U32(np_loggps_fit, bytes_max, UINT32_MAX),
	VALUE(L),
	VALUE(o_send),
	VALUE(o_recv),
	VALUE(g),
	VALUE(G),
	U32(np_loggps_fit, S, UINT32_MAX),
	U32(np_loggps_fit, S_above, UINT32_MAX),
	VALUE(step),
};
static const struct np_fields fit_table = NP_FIELDS(fit_fields, np_loggps_fit);

static const struct np_field record_fields[] = {
	{ "schema", NP_F_SCHEMA, .max = NP_LOGGPS_SCHEMA },
	NP_FIELD(np_loggps_record, NP_F_REAL, date, NP_JSON_DATE, NP_F_NEEDED),
	TEXT(cluster),
	TEXT(from),
	TEXT(to),
	TEXT(leaf),
	NP_FIELD(np_loggps_record, NP_F_BOOL, across, 1, 0),
	TEXT(transport),
	TEXT(ucx_version),
	TEXT(netprof_version),
	NP_FIELD_OF(np_loggps_record, NP_F_OBJECT, fit, &fit_table),
};
static const struct np_fields record_table =
	NP_FIELDS(record_fields, np_loggps_record);

int np_loggps_record_put(const struct np_loggps_record *r, char **out,
			 struct np_err *err)
{
	struct np_jput o = { .at = { .where = "LogGPS parameters",
				     .err = err } };
	int rc = np_fields_print(&o, r, &record_table, out);

	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* What a table cannot say. */
static int check(const struct np_jat *in, const struct np_loggps_fit *f)
{
	const struct {
		const char *key;
		const struct np_loggps_value *v;
	} all[] = {
		{ "fit.L", &f->L }, { "fit.o_send", &f->o_send },
		{ "fit.o_recv", &f->o_recv }, { "fit.g", &f->g },
		{ "fit.G", &f->G }, { "fit.step", &f->step },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(all); i++)
		if (all[i].v->low > all[i].v->value ||
		    all[i].v->value > all[i].v->high)
			return np_jat_refuse(in, all[i].key,
					     "low <= value <= high");
	if (!f->n_blocks)
		return np_jat_refuse(in, "fit.n_blocks", "1 or more");
	if (f->S ? f->S >= f->S_above : f->S_above != 0)
		return np_jat_refuse(in, "fit.S_above", "more than S, or 0 "
				     "and 0");
	return 0;
}

static int get(const struct np_jat *in, const char *text, size_t len,
	       struct np_loggps_record *out)
{
	int rc = len > NP_LOGGPS_MAX_BYTES ?
		 np_jat_refuse(in, "", "64 KiB at most") :
		 np_fields_parse(in, text, len, out, &record_table);

	return rc ? rc : check(in, &out->fit);
}

int np_loggps_record_get(const char *text, size_t len, const char *where,
			 struct np_loggps_record *out, struct np_err *err)
{
	const struct np_jat in = { .where = where, .err = err };
	struct np_loggps_record r = { 0 };
	int rc = get(&in, text, len, &r);

	if (rc)
		np_loggps_record_free(&r);
	else
		*out = r;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: out of memory", where) :
			       rc;
}

void np_loggps_record_free(struct np_loggps_record *r)
{
	np_fields_free(r, &record_table);
	*r = (struct np_loggps_record){ 0 };
}

void np_loggps_of_fit(const struct np_loggps_fit *f, struct np_loggps *out)
{
	*out = (struct np_loggps){
		.L_ns = 1e9 * f->L.value,
		.o_ns = 1e9 * (f->o_send.value + f->o_recv.value) / 2,
		.G_ns = 1e9 * f->G.value,
		.S = f->S ? f->S : NP_LOGGPS_NO_RENDEZVOUS,
		.first_byte_free = true,
	};
}
