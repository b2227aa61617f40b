/*
 * Reads networks member by member. Names are copied. Visits and service times
 * of a station become arrays with one entry per class.
 *
 * Each reader gets the JSON value that it reads, and a place (struct np_jat)
 * with which its error messages begin, such as "FILE: stations[2].kind". It
 * returns 0 or -errno, with err unless that is -ENOMEM. np_network_free() frees
 * what it has allocated until then. Values that are wrong only in combination,
 * as in a class that spends no time at any station, are left to np_qn_check().
 */
#include "np_network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_fields.h"
#include "np_read.h"

void np_network_free(struct np_network *network)
{
	for (size_t k = 0; k < network->net.n_stations; k++) {
		free((char *)network->station[k].name);
		free((double *)network->station[k].visits);
		free((double *)network->station[k].service_sec);
		free((double *)network->station[k].at_load_sec);
	}
	for (size_t c = 0; c < network->net.n_classes; c++)
		free((char *)network->class[c].name);
	free(network->station);
	free(network->class);
	free(network->name);
	*network = (struct np_network){ 0 };
}

/*
 * Rejects what is not an object, and unknown members, which are probably typing
 * errors; "note" is allowed. known: a list that ends with NULL.
 */
static int reject_unknown(const struct np_jat *in, json_object *from,
			  const char *const *known, const char *expected)
{
	if (!json_object_is_type(from, json_type_object))
		return np_jat_refuse(in, "", "an object");
	json_object_object_foreach(from, key, value) {
		const char *const *match = known;
		char shown[NP_NETWORK_NAME];

		(void)value;
		while (*match && strcmp(*match, key))
			match++;
		if (*match || !strcmp(key, "note"))
			continue;
		snprintf(shown, sizeof(shown), "%s", key);
		return np_jat_refuse(in, shown, expected);
	}
	return 0;
}

/* Reads a name that must be there: 1 to NP_NETWORK_NAME bytes. */
static int read_name(const struct np_jat *in, json_object *from, char **out)
{
	json_object *j = json_object_object_get(from, "name");
	int rc;

	if (!j)
		return np_jat_refuse(in, "name", "a text, got none");
	rc = np_jget_text(in, "name", j, NP_NETWORK_NAME, out);
	if (!rc && !**out)
		rc = np_jat_refuse(in, "name", "a text that is not empty");
	return rc;
}

/*
 * Reads the arrival rate j of an open class, which has neither customers nor a
 * think time.
 */
static int read_arrivals(const struct np_jat *in, json_object *from,
			 json_object *j, struct np_qn_class *c)
{
	if (json_object_object_get(from, "customers") ||
	    json_object_object_get(from, "think_sec"))
		return np_jat_refuse(in, "arrivals_per_sec",
				     "no customers and no think_sec with it");
	return np_jget_real(in, "arrivals_per_sec", j, NP_QN_LEAST_SEC,
			    NP_QN_MOST_SEC, &c->arrivals_per_sec);
}

/* Reads a class, closed or open. */
static int read_class(const struct np_jat *in, json_object *from,
		      struct np_qn_class *c)
{
	static const char *const known[] = { "name", "customers", "think_sec",
					     "arrivals_per_sec", NULL };
	json_object *j;
	char *name = NULL;
	int rc = reject_unknown(
		in, from, known,
		"one of name, customers, think_sec, arrivals_per_sec and note");

	if (!rc)
		rc = read_name(in, from, &name);
	c->name = name;
	if (rc)
		return rc;
	if (json_object_object_get_ex(from, "arrivals_per_sec", &j))
		return read_arrivals(in, from, j, c);
	if (!json_object_object_get_ex(from, "customers", &j))
		return np_jat_refuse(in, "customers",
				     "a whole number, got none");
	rc = np_jget_count(in, "customers", j, 0, NP_QN_MAX_CUSTOMERS,
			   &c->customers);
	if (!rc && json_object_object_get_ex(from, "think_sec", &j))
		rc = np_jget_real(in, "think_sec", j, 0, NP_QN_MOST_SEC,
				  &c->think_sec);
	return rc;
}

/* Reads one number, which then counts n times, or an array of n numbers. */
static int read_numbers(const struct np_jat *in, const char *key,
			json_object *j, size_t n, double *out)
{
	bool is_list = json_object_is_type(j, json_type_array);
	struct np_jat sub;
	int rc = 0;

	if (is_list && json_object_array_length(j) != n)
		return np_jat_refuse(
			in, key,
			"a number, or an array with one for each class");
	for (size_t i = 0; !rc && i < n; i++) {
		sub = np_jat_element(in, key, i);
		rc = np_jget_real(is_list ? &sub : in, is_list ? "" : key,
				  is_list ? json_object_array_get_idx(j, i) : j,
				  0, NP_QN_MOST_SEC, &out[i]);
	}
	return rc;
}

/*
 * Reads the times of a load-dependent station: a number, or an array of 1 to
 * NP_NETWORK_MAX_LOADS.
 */
static int read_loads(const struct np_jat *in, const char *key, json_object *j,
		      struct np_qn_station *st)
{
	size_t n = json_object_is_type(j, json_type_array) ?
			   json_object_array_length(j) :
			   1;
	double *sec;

	if (!n || n > NP_NETWORK_MAX_LOADS)
		return np_jat_range(in, key, (double)n, 1,
				    NP_NETWORK_MAX_LOADS);
	st->at_load_sec = sec = calloc(n, sizeof(*sec));
	st->n_loads = n;
	return sec ? read_numbers(in, key, j, n, sec) : -ENOMEM;
}

/* Indices into kinds[]. */
enum { QUEUEING, MULTI_SERVER, DELAY, LOAD_DEPENDENT };

static const char *const kinds[] = { "queueing", "multi-server", "delay",
				     "load-dependent", NULL };

/* Reads the kind of a station, and how many servers it has. */
static int read_kind(const struct np_jat *in, json_object *from,
		     struct np_qn_station *st)
{
	json_object *j = json_object_object_get(from, "kind"), *servers;
	const char *word = json_object_is_type(j, json_type_string) ?
				   json_object_get_string(j) :
				   "";
	uint64_t n = 1;
	size_t kind = 0;
	int rc;

	while (kinds[kind] && strcmp(kinds[kind], word))
		kind++;
	if (!kinds[kind])
		return np_jat_refuse(
			in, "kind",
			"queueing, multi-server, delay or load-dependent");
	st->kind = kind == DELAY	  ? NP_QN_DELAY :
		   kind == LOAD_DEPENDENT ? NP_QN_LOADED :
					    NP_QN_QUEUE;
	if (!json_object_object_get_ex(from, "servers", &servers))
		return kind != MULTI_SERVER ?
			       0 :
			       np_jat_refuse(in, "servers",
					     "a whole number, got none");
	if (kind != MULTI_SERVER)
		return np_jat_refuse(in, "servers",
				     "only with the kind multi-server");
	rc = np_jget_count(in, "servers", servers, 1, NP_QN_MAX_SERVERS, &n);
	st->servers = (uint32_t)n;
	return rc;
}

/*
 * Reads visits and service times, or their product, the demand. Visits are 1
 * unless they are given. A load-dependent station has one time per number of
 * customers instead of one per class, so that its service_sec[] stays 0.
 */
static int read_demand(const struct np_jat *in, json_object *from, size_t n,
		       struct np_qn_station *st)
{
	json_object *demand, *service = NULL, *visits;
	double *visit_counts = calloc(n, sizeof(*visit_counts));
	double *sec = calloc(n, sizeof(*sec));
	bool has_demand =
		json_object_object_get_ex(from, "demand_sec", &demand);
	bool has_service;
	const char *key = has_demand ? "demand_sec" : "service_sec";
	int rc = 0;

	st->visits = visit_counts;
	st->service_sec = sec;
	if (!visit_counts || !sec)
		return -ENOMEM;
	for (size_t c = 0; c < n; c++)
		visit_counts[c] = 1;
	has_service = json_object_object_get_ex(from, "service_sec", &service);
	if (has_service == has_demand)
		return np_jat_refuse(in, key,
				     has_demand ?
					     "no service_sec with it" :
					     "this or demand_sec, got neither");
	if (json_object_object_get_ex(from, "visits", &visits)) {
		if (has_demand)
			return np_jat_refuse(in, key, "no visits with it");
		rc = read_numbers(in, "visits", visits, n, visit_counts);
	}
	if (rc)
		return rc;
	return st->kind == NP_QN_LOADED ?
		       read_loads(in, key, has_demand ? demand : service, st) :
		       read_numbers(in, key, has_demand ? demand : service, n,
				    sec);
}

static int read_station(const struct np_jat *in, json_object *from,
			size_t n_classes, struct np_qn_station *st)
{
	static const char *const known[] = {
		"name",	       "kind",	     "servers", "visits",
		"service_sec", "demand_sec", NULL,
	};
	char *name = NULL;
	int rc = reject_unknown(in, from, known,
				"one of name, kind, servers, visits, "
				"service_sec, demand_sec and note");

	if (!rc)
		rc = read_name(in, from, &name);
	st->name = name;
	st->servers = 1;
	if (!rc)
		rc = read_kind(in, from, st);
	return rc ? rc : read_demand(in, from, n_classes, st);
}

/* Rejects equal names, which would be indistinguishable in the output. */
static int reject_duplicates(const struct np_jat *in,
			     const struct np_network *network)
{
	const struct np_qn *q = &network->net;

	for (size_t k = 1; k < q->n_stations; k++)
		for (size_t i = 0; i < k; i++)
			if (!strcmp(q->station[i].name, q->station[k].name))
				return np_errf(in->err, -EINVAL,
					       "%s: two stations \"%s\"",
					       in->where, q->station[k].name);
	for (size_t c = 1; c < q->n_classes; c++)
		for (size_t i = 0; i < c; i++)
			if (!strcmp(q->class[i].name, q->class[c].name))
				return np_errf(in->err, -EINVAL,
					       "%s: two classes \"%s\"",
					       in->where, q->class[c].name);
	return 0;
}

/*
 * Reads all classes, then all stations, whose arrays have one entry per class.
 * Each is counted before it is read, so that a partly read one is freed, too.
 */
static int read_lists(const struct np_jat *in, json_object *classes,
		      json_object *stations, size_t n_classes,
		      size_t n_stations, struct np_network *out)
{
	int rc = 0;

	out->class = calloc(n_classes + 1, sizeof(*out->class));
	out->station = calloc(n_stations + 1, sizeof(*out->station));
	out->net.class = out->class;
	out->net.station = out->station;
	if (!out->class || !out->station)
		return -ENOMEM;
	for (size_t c = 0; !rc && c < n_classes; c++) {
		struct np_jat sub = np_jat_element(in, "classes", c);

		out->net.n_classes++;
		rc = read_class(&sub, json_object_array_get_idx(classes, c),
				&out->class[c]);
	}
	for (size_t k = 0; !rc && k < n_stations; k++) {
		struct np_jat sub = np_jat_element(in, "stations", k);

		out->net.n_stations++;
		rc = read_station(&sub, json_object_array_get_idx(stations, k),
				  n_classes, &out->station[k]);
	}
	return rc ? rc : reject_duplicates(in, out);
}

static const struct np_fields schema_table = NP_FIELDS(
	np_network, { "schema", NP_F_SCHEMA, .max = NP_NETWORK_SCHEMA });

/* Reads a whole file: its schema and format, and then the network. */
static int read_network(const struct np_jat *in, json_object *root,
			struct np_network *out)
{
	static const char *const known[] = { "format",	"schema",   "name",
					     "classes", "stations", NULL };
	json_object *name, *classes, *stations, *format;
	size_t n_classes, n_stations;
	int rc = np_jget_fields(in, root, out, &schema_table);

	format = json_object_object_get(root, "format");
	if (!rc && (!json_object_is_type(format, json_type_string) ||
		    strcmp(json_object_get_string(format), "netprof-qn")))
		rc = np_jat_refuse(in, "format", "\"netprof-qn\"");
	if (!rc)
		rc = reject_unknown(in, root, known,
				    "one of format, schema, name, classes, "
				    "stations and note");
	if (!rc && json_object_object_get_ex(root, "name", &name))
		rc = read_name(in, root, &out->name);
	if (!rc)
		rc = np_jget_list(in, root, "classes", NP_QN_MAX_CLASSES,
				  &classes, &n_classes);
	if (!rc && !n_classes)
		rc = np_jat_refuse(in, "classes", "an array of one or more");
	if (!rc)
		rc = np_jget_list(in, root, "stations", NP_QN_MAX_STATIONS,
				  &stations, &n_stations);
	return rc ? rc :
		    read_lists(in, classes, stations, n_classes, n_stations,
			       out);
}

/* Checks the network as a whole, and adds the file name to errors. */
static int check(const char *where, const struct np_qn *net, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = np_qn_check(net, &why);

	return rc ? np_errf(err, rc, "%s: %s", where, why.text) : 0;
}

int np_network_parse(const char *text, size_t len, const char *where,
		     struct np_network *out, struct np_err *err)
{
	static const struct np_jlimits limits = {
		NP_NETWORK_MAX_OBJECTS,
		NP_NETWORK_MAX_ARRAYS,
		NP_NETWORK_MAX_ELEMENTS,
	};
	struct np_jat in = { .where = where, .err = err };
	struct np_network network = { 0 };
	json_object *root = NULL;
	int rc = np_kind_check(text, len, NP_KIND_JSON, where, err);

	if (rc)
		return rc;
	if (len > NP_NETWORK_MAX_BYTES || !np_jtext_within(text, len, &limits))
		return np_errf(err, -EFBIG,
			       "%s: expected at most %u bytes, %zu objects, "
			       "%zu arrays and %zu commas",
			       where, NP_NETWORK_MAX_BYTES, limits.objects,
			       limits.arrays, limits.elements);
	rc = np_jget_parse(&in, text, len, &root);
	if (!rc)
		rc = read_network(&in, root, &network);
	json_object_put(root);
	if (!rc)
		rc = check(where, &network.net, err);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: no memory", where);
	if (rc)
		np_network_free(&network);
	else
		*out = network;
	return rc;
}

int np_network_load(const char *path, struct np_network *out,
		    struct np_err *err)
{
	return NP_READ_PARSED(path, NP_NETWORK_MAX_BYTES, np_network_parse, out,
			      err);
}
