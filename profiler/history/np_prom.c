#include "np_prom.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NP_NO_CURL
#include <curl/curl.h>
#endif

#include "np_array.h"
#include "np_fields.h"
#include "np_read.h"
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
static size_t put_nodes(FILE *f, const char *label, char *const *node, size_t n)
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
	for (const char *p = expression; *p;)
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

struct response {
	const char *where, *label;
	const struct np_prom_range *range;
	struct np_index node;
	double *value;
	char *other;
	struct np_err *err;
};

/* -EINVAL with err: not a response of the API. */
static int refuse(const struct response *a, const char *what)
{
	return np_errf(a->err, -EINVAL,
		       "%s: %s: expected a response of Prometheus' HTTP API",
		       a->where, what);
}

/* "n0.cluster:9100" is node n0, unless there is a node n0.cluster. */
static uint32_t find_node(const struct response *a, const char *name)
{
	size_t whole = strcspn(name, ":"), first = strcspn(name, ".:");
	uint32_t i = np_index_find(&a->node, name, whole);

	return i != NP_NO_INDEX ? i : np_index_find(&a->node, name, first);
}

/*
 * [1795600000.123, "1.5"]; the values "NaN" and "+Inf" are ignored, and so are
 * times out of the range.
 */
static int take_sample(const struct response *a, uint32_t node,
		       json_object *sample)
{
	const struct np_prom_range *r = a->range;
	json_object *time;
	double at, v;
	long step = 0;
	char *end;
	const char *text;

	if (!json_object_is_type(sample, json_type_array) ||
	    json_object_array_length(sample) != 2 ||
	    !json_object_is_type(json_object_array_get_idx(sample, 1),
				 json_type_string))
		return refuse(a, "a sample without a time and a value");
	time = json_object_array_get_idx(sample, 0);
	at = json_object_get_double(time);
	if ((!json_object_is_type(time, json_type_double) &&
	     !json_object_is_type(time, json_type_int)) ||
	    !isfinite(at))
		return refuse(a, "a time that is not a number");
	text = json_object_get_string(json_object_array_get_idx(sample, 1));
	v = strtod(text, &end);
	if (end == text || *end)
		return refuse(a, "a value that is not a number");
	if (r->step_sec > 0)
		step = lround(
			fmin(fmax((at - r->start) / r->step_sec, -1), 1e6));
	if (step >= 0 && (size_t)step < r->n_steps && isfinite(v))
		a->value[node * r->n_steps + (size_t)step] = v;
	return 0;
}

/* Store the values of one series, if it is of one of the nodes. */
static int take_series(const struct response *a, json_object *series)
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
		np_text_make_plain(a->other);
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

/* What went wrong on the server; NULL: nothing. */
static const char *error_of(json_object *j, json_object *status)
{
	json_object *error = json_object_object_get(j, "error");

	if (error && *json_object_get_string(error))
		return json_object_get_string(error);
	return json_object_is_type(status, json_type_string) &&
			       !strcmp(json_object_get_string(status),
				       "error") ?
		       "an error without a message" :
		       NULL;
}

/* Store the values of a whole answer. */
static int parse_response(const struct response *a, json_object *j)
{
	json_object *status, *data, *list;
	const char *error;
	int rc = 0;

	if (!json_object_object_get_ex(j, "status", &status))
		return refuse(a, "JSON without a status");
	error = error_of(j, status);
	if (error)
		return np_errf(a->err, -EINVAL,
			       "%s: the server reports: %.160s", a->where,
			       error);
	if (!json_object_object_get_ex(j, "data", &data) ||
	    !json_object_object_get_ex(data, "result", &list) ||
	    !json_object_is_type(list, json_type_array))
		return refuse(a, "JSON without a result");
	for (size_t i = 0; !rc && i < json_object_array_length(list); i++)
		rc = take_series(a, json_object_array_get_idx(list, i));
	return rc;
}

/* Number the nodes, so that a label is found quickly. */
static int name_nodes(struct response *a, char *const *node, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t k = np_index_add(&a->node, node[i], strlen(node[i]));

		if (k == NP_NO_INDEX)
			return np_errf(a->err, -ENOMEM, "out of memory");
		if (k != i)
			return np_errf(a->err, -EINVAL,
				       "node %.64s is listed twice", node[i]);
	}
	return 0;
}

/* Check the size of an answer, parse it, and store its values. */
static int parse(const struct response *a, const char *text, size_t len)
{
	const struct np_jlimits most = {
		.objects = 262144,
		.arrays = 1048576,
		.elements = 4194304,
	};
	const struct np_jat at = { .where = a->where, .err = a->err };
	size_t blank = strspn(text, " \t\r\n");
	json_object *j;
	int rc;

	if (np_kind_check(text, len, NP_KIND_TEXT, a->where, a->err))
		return -EINVAL;
	if (text[blank] != '{')
		return np_errf(a->err, -EINVAL,
			       "%s: expected JSON of Prometheus' HTTP API, got "
			       "\"%.40s\"",
			       a->where, text + blank);
	if (!np_jtext_within(text, len, &most))
		return np_errf(a->err, -EFBIG,
			       "%s: a response of more than a million samples",
			       a->where);
	rc = np_jget_parse(&at, text, len, &j);
	if (rc)
		return rc;
	rc = json_object_is_type(j, json_type_object) ? parse_response(a, j) :
							refuse(a, "JSON");
	json_object_put(j);
	return rc;
}

int np_prom_parse(const char *text, size_t len, const char *where,
		  const char *label, char *const *node, size_t n,
		  const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err)
{
	struct response a = {
		.where = where,
		.label = label,
		.range = r,
		.value = value,
		.other = other,
		.err = err,
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

/*
 * ---- requests ----
 *
 * One form is posted, and a response of limited size is read within limited
 * time. Redirections are not followed, so the token goes to no other server.
 */

#ifndef NP_NO_CURL
#define MAX_TOKEN 16384

struct np_http {
	CURL *curl;
	const struct np_metrics_conf *conf;
	struct curl_slist *headers;
	char *token; /* "Authorization: Bearer ...", or NULL */
	char error[CURL_ERROR_SIZE];
};

struct reply {
	char *text;
	size_t len, room;
	int rc;
};

/* Append a piece of the answer, for libcurl; 0 ends the transfer. */
static size_t take(char *data, size_t one, size_t n, void *arg)
{
	struct reply *a = arg;
	size_t len = one * n;

	if (a->len + len > NP_HTTP_MAX) {
		a->rc = -EFBIG;
		return 0;
	}
	a->rc = np_array_reserve(&a->text, &a->room, a->len + len + 1, 1);
	if (a->rc)
		return 0;
	memcpy(a->text + a->len, data, len);
	a->len += len;
	a->text[a->len] = '\0';
	return len;
}

/* Read the token, the first line of its file, as a header. */
static int read_token(struct np_http *h, struct np_err *err)
{
	const char *path = h->conf->token_file;
	char *text;
	size_t len;
	int rc = np_read_file(path, MAX_TOKEN, &text, &len, err);

	if (rc)
		return rc;
	text[strcspn(text, "\r\n")] = '\0';
	if (!*text)
		rc = np_errf(err, -EINVAL, "%s: expected a token", path);
	else if (asprintf(&h->token, "Authorization: Bearer %s", text) < 0)
		rc = np_errf(err, -ENOMEM, "out of memory");
	memset(text, 0, len);
	free(text);
	return rc;
}

/* Set what is equal for all queries of a connection. */
static void set_options(struct np_http *h)
{
	const struct np_metrics_conf *c = h->conf;
	CURL *curl = h->curl;

	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
			 (long)(1000 * c->timeout_sec));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, h->error);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "netprof/" NP_VERSION);
	if (h->headers)
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, h->headers);
	if (c->cert_file[0])
		curl_easy_setopt(curl, CURLOPT_SSLCERT, c->cert_file);
	if (c->key_file[0])
		curl_easy_setopt(curl, CURLOPT_SSLKEY, c->key_file);
	if (c->ca_file[0])
		curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca_file);
}

int np_http_new(const struct np_metrics_conf *c, struct np_http **out,
		struct np_err *err)
{
	struct np_http *h = calloc(1, sizeof(*h));
	int rc = 0;

	if (h) {
		h->conf = c;
		h->curl = curl_easy_init();
	}
	if (!h || !h->curl)
		rc = np_errf(err, -ENOMEM, "out of memory");
	if (!rc && c->token_file[0])
		rc = read_token(h, err);
	if (!rc && h->token) {
		h->headers = curl_slist_append(NULL, h->token);
		rc = h->headers ? 0 : np_errf(err, -ENOMEM, "out of memory");
	}
	if (rc) {
		np_http_free(h);
		return rc;
	}
	set_options(h);
	*out = h;
	return 0;
}

void np_http_free(struct np_http *h)
{
	if (!h)
		return;
	curl_slist_free_all(h->headers);
	if (h->curl)
		curl_easy_cleanup(h->curl);
	if (h->token)
		memset(h->token, 0, strlen(h->token));
	free(h->token);
	free(h);
}

/* A field of a form, not escaped. */
struct field {
	const char *name, *value;
};

/* The form as text, malloc'ed: "query=sum%20by..." */
static char *form(struct np_http *h, const struct field *field, size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; f && i < n; i++) {
		char *v = curl_easy_escape(h->curl, field[i].value, 0);

		fprintf(f, "%s%s=%s", i ? "&" : "", field[i].name, v ? v : "");
		curl_free(v);
	}
	return f ? np_text_close(f, &text) : NULL;
}

/* Turn the result of a transfer, or its HTTP status, into an error. */
static int judge(struct np_http *h, CURLcode code, const struct reply *a,
		 struct np_err *err)
{
	const char *url = h->conf->url;
	long status = 0;

	if (a->rc == -EFBIG)
		return np_errf(err, -EFBIG,
			       "%s: a response of more than %zu MiB", url,
			       NP_HTTP_MAX >> 20);
	if (a->rc)
		return np_errf(err, a->rc, "out of memory");
	if (code == CURLE_OPERATION_TIMEDOUT)
		return np_errf(err, -ETIMEDOUT,
			       "%s: no response within %g s (MetricsTimeout)",
			       url, h->conf->timeout_sec);
	if (code)
		return np_errf(err, -EIO, "%s: %s", url,
			       h->error[0] ? h->error :
					     curl_easy_strerror(code));
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 401 || status == 403)
		return np_errf(err, -EACCES,
			       "%s: the server refuses (%ld): does it need a "
			       "token (MetricsTokenFile) or a certificate "
			       "(MetricsCertFile)?",
			       url, status);
	if (status == 404)
		return np_errf(err, -ENOENT,
			       "%s: no /api/v1/query there (404): expected the "
			       "address of a Prometheus server, without the "
			       "path of a page",
			       url);
	if (status >= 300 && status < 400)
		return np_errf(
			err, -EIO,
			"%s: the server redirects (%ld): give its own address",
			url, status);
	if (status / 100 != 2 && status != 400 && status != 422)
		return np_errf(err, -EIO,
			       "%s: the server answers with status %ld", url,
			       status);
	return 0;
}

/* *text is also set if the server answers 400 and gives the reason. */
static int post(struct np_http *h, const char *path, const struct field *field,
		size_t n, char **text, size_t *len, struct np_err *err)
{
	struct reply a = { NULL };
	char url[sizeof(h->conf->url) + 64], *fields = form(h, field, n);
	int rc;

	if (!fields)
		return np_errf(err, -ENOMEM, "out of memory");
	snprintf(url, sizeof(url), "%s%s", h->conf->url, path);
	h->error[0] = '\0';
	curl_easy_setopt(h->curl, CURLOPT_URL, url);
	curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, fields);
	curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, &a);
	rc = judge(h, curl_easy_perform(h->curl), &a, err);
	free(fields);
	if (!rc && !a.text) {
		a.text = strdup("");
		rc = a.text ? 0 : np_errf(err, -ENOMEM, "out of memory");
	}
	if (rc) {
		free(a.text);
		return rc;
	}
	*text = a.text;
	*len = a.len;
	return 0;
}

int np_http_query(struct np_http *h, const char *expression, char *const *node,
		  size_t n, const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err)
{
	const struct np_metrics_conf *c = h->conf;
	bool range = r->step_sec > 0;
	char *query = np_prom_query(c, expression, node, n, r->window_sec);
	char start[32], end[32], step[32], wait[32], *text = NULL;
	const struct field field[] = {
		{ "query", query },
		{ "timeout", wait },
		{ range ? "start" : "time", start },
		{ "end", end },
		{ "step", step },
	};
	size_t len = 0;
	int rc;

	for (size_t i = 0; i < n * r->n_steps; i++)
		value[i] = NAN;
	other[0] = '\0';
	if (!query)
		return 0;
	snprintf(wait, sizeof(wait), "%.0fms", 1000 * c->timeout_sec);
	snprintf(start, sizeof(start), "%.3f", r->start);
	/* Half a step more, as start and step are rounded. */
	snprintf(end, sizeof(end), "%.3f",
		 r->start + r->step_sec * ((double)r->n_steps - 0.5));
	snprintf(step, sizeof(step), "%.3f", r->step_sec);
	rc = post(h, range ? "/api/v1/query_range" : "/api/v1/query", field,
		  range ? 5 : 3, &text, &len, err);
	free(query);
	if (rc)
		return rc;
	rc = np_prom_parse(text, len, c->url, c->label, node, n, r, value,
			   other, err);
	free(text);
	return rc;
}

#else /* built without libcurl */

int np_http_new(const struct np_metrics_conf *c, struct np_http **out,
		struct np_err *err)
{
	*out = NULL;
	return np_errf(err, -ENOSYS,
		       "%s: this netprof was built without libcurl and cannot "
		       "query a metrics server",
		       c->url);
}

void np_http_free(struct np_http *h)
{
	(void)h;
}

int np_http_query(struct np_http *h, const char *expression, char *const *node,
		  size_t n, const struct np_prom_range *r, double *value,
		  char other[NP_METRICS_LABEL], struct np_err *err)
{
	(void)h, (void)expression, (void)node, (void)n, (void)r, (void)value;
	other[0] = '\0';
	return np_errf(err, -ENOSYS, "built without libcurl");
}

#endif
