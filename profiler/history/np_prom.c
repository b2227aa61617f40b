#include "np_prom.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_fields.h"
#include "np_array.h"
#include "np_text.h"

/* ---- queries ---- */

/* Only characters that have no meaning in a regular expression. */
static bool is_name(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return false;
	return true;
}

/* instance=~"(n0|n1)([.:].*)?": with any domain and port. */
static size_t put_nodes(FILE *f, const char *label, char *const *node,
			size_t n)
{
	size_t any = 0;

	fprintf(f, "%s=~\"(", label);
	for (size_t i = 0; i < n; i++) {
		if (!is_name(node[i]))
			continue;
		if (any++)
			putc('|', f);
		for (const char *c = node[i]; *c; c++)
			fprintf(f, "%s%c", *c == '.' ? "\\\\" : "", *c);
	}
	fputs(")([.:].*)?\"", f);
	return any;
}

/* Skip a word at *p; false: it is not there. */
static bool takes(const char **p, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*p, word, len))
		return false;
	*p += len;
	return true;
}

char *np_prom_query(const struct np_metrics_conf *c, const char *expression,
		    char *const *node, size_t n, double window_sec)
{
	char *text = NULL;
	size_t len, any = 1;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (const char *p = expression; *p; )
		if (takes(&p, "$nodes"))
			any = put_nodes(f, c->label, node, n);
		else if (takes(&p, "$label"))
			fputs(c->label, f);
		else if (takes(&p, "$window"))
			fprintf(f, "%.0fms", fmax(1000 * window_sec, 1));
		else
			putc(*p++, f);
	if (fclose(f) || !any) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- answers ---- */

struct answer {
	const char *where, *label;
	const struct np_prom_range *range;
	struct np_index node;
	double *value;
	char *other;
	struct np_err *err;
};

/* -EINVAL with err: not an answer of the API. */
static int refuse(const struct answer *a, const char *what)
{
	return np_errf(a->err, -EINVAL, "%s: %s: expected an answer as "
		       "Prometheus' HTTP API gives it", a->where, what);
}

/* "n0.cluster:9100" is node n0, unless there is a node n0.cluster. */
static uint32_t find_node(const struct answer *a, const char *name)
{
	size_t whole = strcspn(name, ":"), first = strcspn(name, ".:");
	uint32_t i = np_index_find(&a->node, name, whole);

	return i != NP_NO_INDEX ? i : np_index_find(&a->node, name, first);
}

/* [1795600000.123, "1.5"]; the values "NaN" and "+Inf" are ignored. */
static int take_sample(const struct answer *a, uint32_t node,
		       json_object *sample)
{
	const struct np_prom_range *r = a->range;
	double at, v;
	long step = 0;
	char *end;
	const char *text;

	if (!json_object_is_type(sample, json_type_array) ||
	    json_object_array_length(sample) != 2 ||
	    !json_object_is_type(json_object_array_get_idx(sample, 1),
				 json_type_string))
		return refuse(a, "a sample that is none");
	at = json_object_get_double(json_object_array_get_idx(sample, 0));
	text = json_object_get_string(json_object_array_get_idx(sample, 1));
	v = strtod(text, &end);
	if (end == text || *end)
		return refuse(a, "a value that is no number");
	if (r->step_sec > 0)
		step = lround(fmin(fmax((at - r->start) / r->step_sec, -1),
				   1e6));
	if (step >= 0 && (size_t)step < r->n_steps && isfinite(v))
		a->value[node * r->n_steps + (size_t)step] = v;
	return 0;
}

/* Store the values of one series, if it is of one of the nodes. */
static int take_series(const struct answer *a, json_object *series)
{
	json_object *metric, *name, *samples;
	uint32_t node;
	int rc = 0;

	if (!json_object_object_get_ex(series, "metric", &metric) ||
	    !json_object_is_type(metric, json_type_object))
		return refuse(a, "a series without labels");
	if (!json_object_object_get_ex(metric, a->label, &name) ||
	    !json_object_is_type(name, json_type_string))
		return 0; /* an aggregate, not of a node */
	node = find_node(a, json_object_get_string(name));
	if (node == NP_NO_INDEX) {
		snprintf(a->other, NP_METRICS_LABEL, "%.*s",
			 NP_METRICS_LABEL - 1, json_object_get_string(name));
		np_text_plain(a->other);
		return 0;
	}
	if (json_object_object_get_ex(series, "value", &samples))
		return take_sample(a, node, samples);
	if (!json_object_object_get_ex(series, "values", &samples) ||
	    !json_object_is_type(samples, json_type_array))
		return refuse(a, "a series without values");
	for (size_t i = 0; !rc && i < json_object_array_length(samples); i++)
		rc = take_sample(a, node,
				 json_object_array_get_idx(samples, i));
	return rc;
}

/* Store the values of a whole answer. */
static int take_answer(const struct answer *a, json_object *j)
{
	json_object *status, *data, *list, *error;
	int rc = 0;

	if (!json_object_object_get_ex(j, "status", &status))
		return refuse(a, "JSON without a status");
	if (json_object_object_get_ex(j, "error", &error))
		return np_errf(a->err, -EINVAL, "%s: the server says: %.160s",
			       a->where, json_object_get_string(error));
	if (!json_object_object_get_ex(j, "data", &data) ||
	    !json_object_object_get_ex(data, "result", &list) ||
	    !json_object_is_type(list, json_type_array))
		return refuse(a, "JSON without a result");
	for (size_t i = 0; !rc && i < json_object_array_length(list); i++)
		rc = take_series(a, json_object_array_get_idx(list, i));
	return rc;
}

/* Number the nodes, so that a label is found quickly. */
static int name_nodes(struct answer *a, char *const *node, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t k = np_index_get(&a->node, node[i],
					    strlen(node[i]));

		if (k == NP_NO_INDEX)
			return np_errf(a->err, -ENOMEM, "out of memory");
		if (k != i)
			return np_errf(a->err, -EINVAL, "node %.64s is asked "
				       "about twice", node[i]);
	}
	return 0;
}

/* Check the size of an answer, parse it, and store its values. */
static int parse(const struct answer *a, const char *text, size_t len)
{
	const struct np_jlimits most = {
		.objects = 262144, .arrays = 1048576, .elements = 4194304,
	};
	const struct np_jat at = { .where = a->where, .err = a->err };
	size_t blank = strspn(text, " \t\r\n");
	json_object *j;
	int rc;

	if (text[blank] != '{')
		return np_errf(a->err, -EINVAL, "%s: expected JSON as "
			       "Prometheus' HTTP API answers, got \"%.40s\"",
			       a->where, text + blank);
	if (!np_jtext_within(text, len, &most))
		return np_errf(a->err, -EFBIG, "%s: an answer of more than a "
			       "million samples", a->where);
	rc = np_jget_parse(&at, text, len, &j);
	if (rc)
		return rc;
	rc = json_object_is_type(j, json_type_object) ? take_answer(a, j) :
							refuse(a, "JSON");
	json_object_put(j);
	return rc;
}

int np_prom_parse(const char *text, size_t len, const char *where,
		  const char *label, char *const *node, size_t n,
		  const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err)
{
	struct answer a = {
		.where = where, .label = label, .range = r, .value = value,
		.other = other, .err = err,
	};
	int rc;

	for (size_t i = 0; i < n * r->n_steps; i++)
		value[i] = NAN;
	other[0] = '\0';
	rc = name_nodes(&a, node, n);
	if (!rc)
		rc = parse(&a, text, len);
	np_index_free(&a.node);
	return rc;
}
