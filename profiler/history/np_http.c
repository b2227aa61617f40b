#include "np_http.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_read.h"

#ifndef NP_NO_CURL
#include <curl/curl.h>

#define MAX_TOKEN 16384

struct np_http {
	CURL *curl;
	const struct np_metrics_conf *conf;
	struct curl_slist *headers;
	char *token; /* "Authorization: Bearer ...", or NULL */
	char error[CURL_ERROR_SIZE];
};

struct answer {
	char *text;
	size_t len, room;
	int rc;
};

/* Append a piece of the answer, for libcurl; 0 ends the transfer. */
static size_t take(char *data, size_t one, size_t n, void *arg)
{
	struct answer *a = arg;
	size_t len = one * n, room = a->room ? a->room : 65536;
	char *more;

	if (a->len + len > NP_HTTP_MAX) {
		a->rc = -EFBIG;
		return 0;
	}
	while (room < a->len + len + 1)
		room *= 2;
	more = room == a->room ? a->text : realloc(a->text, room);
	if (!more) {
		a->rc = -ENOMEM;
		return 0;
	}
	a->text = more;
	a->room = room;
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
	int rc = h ? 0 : -ENOMEM;

	if (h) {
		h->conf = c;
		h->curl = curl_easy_init();
		rc = h->curl ? 0 : -ENOMEM;
	}
	if (rc)
		np_errf(err, rc, "out of memory");
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
static char *form(struct np_http *h, const struct field *field,
		  size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; f && i < n; i++) {
		char *v = curl_easy_escape(h->curl, field[i].value, 0);

		fprintf(f, "%s%s=%s", i ? "&" : "", field[i].name,
			v ? v : "");
		curl_free(v);
	}
	if (f)
		fclose(f);
	return text;
}

/* Turn the result of a transfer, or its HTTP status, into an error. */
static int judge(struct np_http *h, CURLcode code, const struct answer *a,
		 struct np_err *err)
{
	const char *url = h->conf->url;
	long status = 0;

	if (a->rc == -EFBIG)
		return np_errf(err, -EFBIG, "%s: an answer of more than %zu "
			       "MiB", url, NP_HTTP_MAX >> 20);
	if (a->rc)
		return np_errf(err, a->rc, "out of memory");
	if (code == CURLE_OPERATION_TIMEDOUT)
		return np_errf(err, -ETIMEDOUT, "%s: no answer within %g s "
			       "(MetricsTimeout)", url, h->conf->timeout_sec);
	if (code)
		return np_errf(err, -EIO, "%s: %s", url, h->error[0] ?
			       h->error : curl_easy_strerror(code));
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 401 || status == 403)
		return np_errf(err, -EACCES, "%s: the server refuses (%ld): "
			       "does it need a token (MetricsTokenFile) or a "
			       "certificate (MetricsCertFile)?", url, status);
	if (status == 404)
		return np_errf(err, -ENOENT, "%s: no /api/v1/query there "
			       "(404): expected the address of a Prometheus "
			       "server, without a path of its pages", url);
	if (status >= 300 && status < 400)
		return np_errf(err, -EIO, "%s: the server redirects (%ld): "
			       "give its own address", url, status);
	if (status / 100 != 2 && status != 400 && status != 422)
		return np_errf(err, -EIO, "%s: the server answers with status "
			       "%ld", url, status);
	return 0;
}

/* *text is also set if the server answers 400 and gives the reason. */
static int post(struct np_http *h, const char *path,
		const struct field *field, size_t n, char **text, size_t *len,
		struct np_err *err)
{
	struct answer a = { NULL };
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

int np_http_ask(struct np_http *h, const char *expression, char *const *node,
		size_t n, const struct np_prom_range *r, double *value,
		char other[NP_METRICS_LABEL], struct np_err *err)
{
	const struct np_metrics_conf *c = h->conf;
	bool range = r->step_sec > 0;
	char *query = np_prom_query(c, expression, node, n, r->window_sec);
	char start[32], end[32], step[32], wait[32], *text = NULL;
	const struct field field[] = {
		{ "query", query }, { "timeout", wait },
		{ range ? "start" : "time", start }, { "end", end },
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
	snprintf(end, sizeof(end), "%.3f", r->start + r->step_sec *
		 ((double)r->n_steps - 1));
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
	return np_errf(err, -ENOSYS, "%s: this netprof was built without "
		       "libcurl, and asks no metrics server", c->url);
}

void np_http_free(struct np_http *h)
{
	(void)h;
}

int np_http_ask(struct np_http *h, const char *expression, char *const *node,
		size_t n, const struct np_prom_range *r, double *value,
		char other[NP_METRICS_LABEL], struct np_err *err)
{
	(void)h, (void)expression, (void)node, (void)n, (void)r, (void)value;
	other[0] = '\0';
	return np_errf(err, -ENOSYS, "built without libcurl");
}

#endif
