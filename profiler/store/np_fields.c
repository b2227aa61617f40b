#include "np_fields.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_app.h"
#include "np_array.h"
#include "np_record.h"
#include "np_text.h"

static void jpull_close(struct np_jpull *p);

/* JSON as text: made fit for every parser. */

#define ESCAPED 6 /* bytes of "\u20ac"; twice that beyond U+FFFF */
#define MOST_DIGITS 20 /* of 64 bits */

/* n: of a character beyond ASCII. */
static size_t escaped_len(int n)
{
	return n == 4 ? 2 * ESCAPED : ESCAPED;
}

static void escape(const char *p, int n, char *out)
{
	uint32_t c = np_text_code(p);
	char text[4 * ESCAPED]; /* more than it takes */

	if (n < 4)
		snprintf(text, sizeof(text), "\\u%04x", c);
	else
		snprintf(text, sizeof(text), "\\u%04x\\u%04x",
			 0xd800 + ((c - 0x10000) >> 10),
			 0xdc00 + ((c - 0x10000) & 0x3ff));
	memcpy(out, text, escaped_len(n));
}

/* Digits, perhaps with a sign: are they beyond 64 bits? */
static bool is_beyond(const char *p, size_t n)
{
	char text[MOST_DIGITS + 2];

	if (n < MOST_DIGITS - 1 || n >= sizeof(text))
		return n >= sizeof(text);
	memcpy(text, p, n);
	text[n] = '\0';
	errno = 0;
	if (*p == '-')
		strtoll(text, NULL, 10);
	else
		strtoull(text, NULL, 10);
	return errno == ERANGE;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of the number at p, or 0 for a whole one that is too large. */
static size_t number_len(const char *p, size_t len)
{
	size_t n = 1;

	while (n < len && is_digit(p[n]))
		n++;
	if ((n == len || !memchr(".eE", p[n], 3)) && is_beyond(p, n))
		return 0;
	while (n < len && (is_digit(p[n]) || memchr(".eE+-", p[n], 5)))
		n++;
	return n;
}

/* Bytes that stay as they are, at least one; 0: a number that is too large. */
static size_t plain_len(const char *p, size_t len, bool *in_string)
{
	if (*p == '"')
		*in_string = !*in_string;
	else if (*in_string && *p == '\\')
		return len > 1 && !(p[1] & 0x80) ? 2 : 1;
	else if (!*in_string && (*p == '-' || is_digit(*p)))
		return number_len(p, len);
	return 1;
}

static int make(const char *text, size_t len, char *out, size_t *out_len,
		struct np_jtext_damage *d)
{
	bool in_string = false;
	size_t n = 0, used;

	for (size_t at = 0; at < len; at += used) {
		int c = np_text_char(text + at, len - at);

		if (c > 1) {
			escape(text + at, c, out + n);
			n += escaped_len(c);
			used = (size_t)c;
			continue;
		}
		used = c == 1 ? plain_len(text + at, len - at, &in_string) : 0;
		if (!used) {
			*d = (struct np_jtext_damage){ at, c == 1 ?
				"a whole number beyond 64 bits" : "no UTF-8" };
			return -EINVAL;
		}
		memcpy(out + n, text + at, used);
		n += used;
	}
	*out_len = n;
	return 0;
}

/*
 * Returns 0 (*out is malloc'ed and has *out_len bytes), -ENOMEM, or -EINVAL
 * with the damage.
 */
static int jtext_make(const char *text, size_t len, char **out,
		      size_t *out_len, struct np_jtext_damage *d)
{
	size_t room = 1;
	char *made;
	int rc;

	for (size_t i = 0; i < len; i++) /* 2 bytes become 6, 4 become 12 */
		room += text[i] & 0x80 ? 3 : 1;
	made = malloc(room);
	if (!made)
		return -ENOMEM;
	rc = make(text, len, made, out_len, d);
	if (rc)
		free(made);
	else
		*out = made;
	return rc;
}

/* The byte of text that became byte at of what was made of it. */
static size_t jtext_source(const char *text, size_t len, size_t at)
{
	size_t from = 0, to = 0;

	while (from < len && to < at) {
		int c = np_text_char(text + from, len - from);

		to += c > 1 ? escaped_len(c) : 1;
		from += c > 1 ? (size_t)c : 1;
	}
	return from;
}

bool np_jtext_within(const char *text, size_t len,
		     const struct np_jlimits *max)
{
	struct np_jlimits n = { 0 };

	for (size_t i = 0; i < len; i++) {
		n.objects += text[i] == '{';
		n.arrays += text[i] == '[';
		n.elements += text[i] == ',';
	}
	return n.objects <= max->objects && n.arrays <= max->arrays &&
	       n.elements <= max->elements;
}

/* Values of JSON; what is read may be hostile, every byte of it. */

int np_jat_take(const struct np_jat *at, size_t n, size_t size, void *out)
{
	void *all;

	if (at->room && n * size > *at->room)
		return np_errf(at->err, -EFBIG, "%s: expected what takes fewer "
			       "bytes of memory", at->where);
	if (at->room)
		*at->room -= n * size;
	all = calloc(n, size);
	if (!all)
		return -ENOMEM;
	memcpy(out, &all, sizeof(all));
	return 0;
}

struct np_jat np_jat_member(const struct np_jat *at, const char *key)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.64s.", at->at, key);
	return sub;
}

struct np_jat np_jat_element(const struct np_jat *at, const char *key,
			     size_t i)
{
	struct np_jat sub = *at;

	snprintf(sub.at, sizeof(sub.at), "%.60s%.40s[%zu].", at->at, key, i);
	return sub;
}

/* What at ends with: the dot before a member, if there is one. */
static int len_of(const struct np_jat *at, const char *key)
{
	int len = (int)strlen(at->at);

	return !*key && len && at->at[len - 1] == '.' ? len - 1 : len;
}

int np_jat_refuse(const struct np_jat *at, const char *key,
		  const char *expected)
{
	return np_errf(at->err, -EINVAL, "%s: %.*s%s: expected %s", at->where,
		       len_of(at, key), at->at, key, expected);
}

int np_jat_range(const struct np_jat *at, const char *key, double got,
		 double min, double max)
{
	char least[32];

	/* A bound just above a number, as -1, would be printed as that. */
	snprintf(least, sizeof(least), "%.6g", min);
	return np_errf(at->err, -EINVAL, strtod(least, NULL) < min ?
		       "%s: %.*s%s: got %.6g, expected more than %s, at most "
		       "%.6g" : "%s: %.*s%s: got %.6g, expected %s to %.6g",
		       at->where, len_of(at, key), at->at, key, got, least,
		       max);
}

#define MAX_DEPTH 32

/* A whole number of 0 .. max. */
int np_jget_count(const struct np_jat *in, const char *key, json_object *j,
		  double max, uint64_t *out)
{
	int64_t v;

	if (!json_object_is_type(j, json_type_int))
		return np_jat_refuse(in, key, "a whole number");
	v = json_object_get_int64(j);
	if (v < 0 || (double)v > max)
		return np_jat_range(in, key, (double)v, 0, max);
	*out = (uint64_t)v;
	return 0;
}

int np_jget_real(const struct np_jat *in, const char *key, json_object *j,
		 double min, double max, double *out)
{
	double v;

	if (!json_object_is_type(j, json_type_int) &&
	    !json_object_is_type(j, json_type_double))
		return np_jat_refuse(in, key, "a number");
	v = json_object_get_double(j);
	if (!(v >= min && v <= max))
		return np_jat_range(in, key, v, min, max);
	*out = v;
	return 0;
}

int np_jget_text(const struct np_jat *in, const char *key, json_object *j,
		 size_t max, char **out)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(j, json_type_string))
		return np_jat_refuse(in, key, "a text");
	text = json_object_get_string(j);
	len = (size_t)json_object_get_string_len(j);
	if (len > max || strlen(text) != len)
		return np_jat_refuse(in, key, "a shorter text without NUL");
	/* Escapes can spell what would play tricks on a terminal. */
	*out = np_text_clean(text, max);
	return *out ? 0 : -ENOMEM;
}

int np_jget_list(const struct np_jat *in, json_object *from, const char *key,
		 size_t max, json_object **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	if (!json_object_object_get_ex(from, key, list))
		return 0;
	if (!json_object_is_type(*list, json_type_array))
		return np_jat_refuse(in, key, "an array");
	*n = json_object_array_length(*list);
	if (*n > max)
		return np_jat_range(in, key, (double)*n, 0, (double)max);
	return 0;
}

/* ---- parsing ---- */

static int damaged(const struct np_jat *in, size_t at, const char *why)
{
	return np_errf(in->err, -EINVAL, "%s: damaged at byte %zu: %s",
		       in->where, at, why);
}

/* -EINVAL: damaged here. */
static int jpull_damaged(const struct np_jpull *p, const char *why)
{
	return damaged(p->in, jtext_source(p->source, p->source_len, p->at),
		       why);
}

static int open_text(struct np_jpull *p, const struct np_jat *in,
		     const char *text, size_t len, int flags)
{
	struct np_jtext_damage d;
	int rc;

	*p = (struct np_jpull){ .in = in, .source = text, .source_len = len };
	rc = jtext_make(text, len, &p->text, &p->len, &d);
	if (rc)
		return rc == -EINVAL ? damaged(in, d.at, d.why) : rc;
	p->tok = json_tokener_new_ex(MAX_DEPTH);
	if (p->tok) {
		json_tokener_set_flags(p->tok, flags);
		return 0;
	}
	jpull_close(p);
	return -ENOMEM;
}

static int jpull_open(struct np_jpull *p, const struct np_jat *in,
		      const char *text, size_t len)
{
	return open_text(p, in, text, len, JSON_TOKENER_STRICT |
			 JSON_TOKENER_ALLOW_TRAILING_CHARS);
}

static void jpull_close(struct np_jpull *p)
{
	if (p->tok)
		json_tokener_free(p->tok);
	free(p->text);
	*p = (struct np_jpull){ .text = NULL };
}

/* The next value: json_object_put(*out). */
static int jpull_value(struct np_jpull *p, json_object **out)
{
	enum json_tokener_error why;
	json_object *j;

	json_tokener_reset(p->tok);
	j = json_tokener_parse_ex(p->tok, p->text + p->at,
				  (int)(p->len - p->at));
	why = json_tokener_get_error(p->tok);
	p->at += json_tokener_get_parse_end(p->tok);
	if (why == json_tokener_success && j) {
		*out = j;
		return 0;
	}
	json_object_put(j);
	return jpull_damaged(p, why == json_tokener_continue ?
			     "it ends too early" :
			     json_tokener_error_desc(why));
}

/* Is this next, but for blanks?  Then it is passed over.  0: the end. */
static bool jpull_take(struct np_jpull *p, char c)
{
	while (p->at < p->len && memchr(" \t\n\r", p->text[p->at], 4))
		p->at++;
	if (p->at == p->len || !c)
		return p->at == p->len && !c;
	if (p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

int np_jget_parse(const struct np_jat *in, const char *text, size_t len,
		  json_object **out)
{
	struct np_jpull p;
	int rc = open_text(&p, in, text, len, JSON_TOKENER_STRICT);

	if (rc)
		return rc;
	rc = jpull_value(&p, out);
	jpull_close(&p);
	return rc;
}

int np_jget_schema(const struct np_jat *in, json_object *from, int newest)
{
	uint64_t schema;
	json_object *j;
	int rc;

	if (!json_object_is_type(from, json_type_object))
		return np_jat_refuse(in, "", "a JSON object");
	if (!json_object_object_get_ex(from, "schema", &j))
		return np_jat_refuse(in, "schema", "a value: it is missing");
	rc = np_jget_count(in, "schema", j, INT32_MAX, &schema);
	if (rc)
		return rc;
	if (!schema)
		return np_jat_refuse(in, "schema", "1 or more");
	if (schema > (uint64_t)newest)
		return np_errf(in->err, -EPROTONOSUPPORT,
			       "%s: schema %d is newer than %d, the newest "
			       "that this netprof reads", in->where,
			       (int)schema, newest);
	return 0;
}

/* ---- writing ---- */

void np_jput_fail(struct np_jput *o, int rc)
{
	o->rc = o->rc ? o->rc : rc;
}

static void jput_refuse(struct np_jput *o, const char *key,
			const char *expected)
{
	if (!o->rc)
		o->rc = np_jat_refuse(&o->at, key, expected);
}

void np_jput(struct np_jput *o, json_object *in, const char *key,
	     json_object *value)
{
	if (value && !json_object_object_add(in, key, value))
		return;
	json_object_put(value);
	np_jput_fail(o, -ENOMEM);
}

void np_jput_append(struct np_jput *o, json_object *in, json_object *value)
{
	if (value && !json_object_array_add(in, value))
		return;
	json_object_put(value);
	np_jput_fail(o, -ENOMEM);
}

json_object *np_jput_new(struct np_jput *o, json_object *in, const char *key,
			 json_object *fresh)
{
	np_jput(o, in, key, fresh);
	return o->rc ? NULL : fresh;
}

static json_object *jput_append_new(struct np_jput *o, json_object *in,
				    json_object *fresh)
{
	np_jput_append(o, in, fresh);
	return o->rc ? NULL : fresh;
}

static bool is_within(struct np_jput *o, const char *key, double v, double min,
		      double max)
{
	if (v >= min && v <= max)
		return true;
	if (!o->rc)
		o->rc = np_jat_range(&o->at, key, v, min, max);
	return false;
}

/* NULL after keeping a failure if v, a whole number, is not 0 .. max. */
static json_object *jput_count(struct np_jput *o, const char *key, double v,
			       double max)
{
	return is_within(o, key, v, 0, max) ?
	       json_object_new_int64((int64_t)v) : NULL;
}

/* The shortest decimal of digits to enough digits that reads back. */
static json_object *jput_real(struct np_jput *o, const char *key, double v,
			      double min, double max, int digits, int enough)
{
	char text[32];

	if (!is_within(o, key, v, min, max))
		return NULL;
	do
		snprintf(text, sizeof(text), "%.*g", digits, v);
	while (digits++ < enough && strtod(text, NULL) != v);
	return json_object_new_double_s(v, text);
}

/* Cut at max bytes, and clean: np_text_clean(). */
static json_object *jput_text(const char *text, size_t max)
{
	char *clean = np_text_clean(text, max);
	json_object *j = clean ? json_object_new_string(clean) : NULL;

	free(clean);
	return j;
}

/* On one line, borrowed from j. */
static const char *jput_line(json_object *j)
{
	return json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
}

/*
 * Numbers have a point until uselocale() of what is returned, whatever locale
 * the program around us has set.
 */
static locale_t jput_point(void)
{
	/* That one is there: it is not made, and needs no freelocale(). */
	return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

#define LEAST_WIDTH_SEC 1e-6
#define TOO_MANY "at most latency.n samples"
#define NOT_AS_MANY "as many samples as latency.n"
#define NO_WINDOW "windows that samples can have"

/* What the bins of all histograms are; there are only our own so far. */
static void jput_bins(struct np_jput *o, json_object *in, const char *key)
{
	json_object *j = np_jput_new(o, in, key, json_object_new_object());

	if (!j)
		return;
	np_jput(o, j, "first_edge_sec",
		jput_real(o, key, NP_HIST_FIRST_EDGE_SEC, 0, 1, 1, 17));
	np_jput(o, j, "per_decade", json_object_new_int(NP_HIST_PER_DECADE));
	np_jput(o, j, "bins", json_object_new_int(NP_HIST_BINS));
}

static int jget_bins(const struct np_jat *in, json_object *from,
		     const char *key)
{
	static const char *expected =
		"the bins of this netprof (1e-07 s, 25 per decade, 177)";
	uint64_t per_decade = 0, bins = 0;
	json_object *j, *v;
	double edge = 0;

	if (!json_object_object_get_ex(from, key, &j) ||
	    !json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, key, expected);
	if (json_object_object_get_ex(j, "first_edge_sec", &v))
		edge = json_object_get_double(v);
	if (json_object_object_get_ex(j, "per_decade", &v))
		per_decade = json_object_get_uint64(v);
	if (json_object_object_get_ex(j, "bins", &v))
		bins = json_object_get_uint64(v);
	if (edge != NP_HIST_FIRST_EDGE_SEC ||
	    per_decade != NP_HIST_PER_DECADE || bins != NP_HIST_BINS)
		return np_jat_refuse(in, key, expected);
	return 0;
}

_Static_assert(NP_HIST_BINS == 177, "np_jget_bins() says 177");

/* Append [bin, count] to a list. */
static void jput_bin(struct np_jput *o, json_object *list, const char *key,
		     size_t bin, double n)
{
	json_object *pair = jput_append_new(o, list,
					    json_object_new_array_ext(2));

	if (!pair)
		return;
	np_jput_append(o, pair, json_object_new_int((int)bin));
	np_jput_append(o, pair, jput_count(o, key, n, NP_JSON_COUNT));
}

/* [[bin, count], ...]; missing if h is NULL or empty. */
static void jput_hist(struct np_jput *o, json_object *in, const char *key,
		      const struct np_hist *h, uint64_t samples)
{
	uint64_t total = h ? np_hist_total(h) : 0;
	json_object *list;

	if (total != samples)
		jput_refuse(o, key, NOT_AS_MANY);
	if (!total)
		return;
	list = np_jput_new(o, in, key, json_object_new_array());
	for (size_t i = 0; list && i < NP_HIST_BINS && !o->rc; i++)
		if (np_hist_count(h, i))
			jput_bin(o, list, key, i,
				 (double)np_hist_count(h, i));
}

static int get_pair(const struct np_jat *in, const char *key, json_object *pair,
		    struct np_hist *h, size_t *least_bin)
{
	uint64_t bin, n;
	int rc;

	if (!json_object_is_type(pair, json_type_array) ||
	    json_object_array_length(pair) != 2)
		return np_jat_refuse(in, key, "pairs of bin and count");
	rc = np_jget_count(in, key, json_object_array_get_idx(pair, 0),
			   NP_HIST_BINS - 1, &bin);
	if (!rc)
		rc = np_jget_count(in, key, json_object_array_get_idx(pair, 1),
				   NP_JSON_COUNT, &n);
	if (rc)
		return rc;
	if (bin < *least_bin)
		return np_jat_refuse(in, key, "bins in rising order");
	*least_bin = bin + 1;
	return np_hist_add_bin(h, bin, n);
}

static int jget_hist(const struct np_jat *in, json_object *from,
		     const char *key, uint64_t samples, struct np_hist **out)
{
	size_t n, least_bin = 0;
	json_object *list;
	int rc = np_jget_list(in, from, key, NP_HIST_BINS, &list, &n);

	if (rc)
		return rc;
	if (n) {
		*out = np_hist_new();
		if (!*out)
			return -ENOMEM;
	}
	for (size_t i = 0; !rc && i < n; i++)
		rc = get_pair(in, key, json_object_array_get_idx(list, i),
			      *out, &least_bin);
	if (!rc && (n ? np_hist_total(*out) : 0) != samples)
		rc = np_jat_refuse(in, key, NOT_AS_MANY);
	return rc;
}

static json_object *window_real(struct np_jput *o, double v)
{
	return jput_real(o, "w", v, 0, NP_JSON_LATENCY_SEC, 6, 6);
}

static void put_window(struct np_jput *o, json_object *list,
		       struct np_moments m)
{
	json_object *w =
		jput_append_new(o, list, json_object_new_array_ext(4));

	if (!w)
		return;
	np_jput_append(o, w, jput_count(o, "w", (double)m.n,
					NP_JSON_COUNT));
	if (!m.n)
		return;
	/* The mean of equal latencies may be a hair above, and round up. */
	np_jput_append(o, w, window_real(o, fmin(m.mean, m.max)));
	np_jput_append(o, w, window_real(o, np_moments_sd(&m)));
	np_jput_append(o, w, window_real(o, m.max));
	m.min = m.mean; /* as who reads it will have it */
	m.m2 = 0;
	if (!np_moments_valid(&m))
		jput_refuse(o, "w", NO_WINDOW);
}

/*
 * {"width_sec", "w": [[n, mean, sd, max], ...]} with 6 digits and without the
 * minimum; missing if s is NULL or empty.  o->merge windows become one.
 */
static void jput_series(struct np_jput *o, json_object *in, const char *key,
			const struct np_series *s, uint64_t samples)
{
	json_object *j, *list;
	uint64_t total = 0;

	if (!s || !s->n)
		return;
	j = np_jput_new(o, in, key, json_object_new_object());
	if (!j)
		return;
	np_jput(o, j, "width_sec",
		jput_real(o, "windows.width_sec",
			  s->width_sec * (double)o->merge, LEAST_WIDTH_SEC,
			  NP_JSON_ELAPSED_SEC, 1, 17));
	list = np_jput_new(o, j, "w", json_object_new_array());
	for (size_t i = 0; list && i < s->n && !o->rc; i += o->merge) {
		struct np_moments m = s->w[i];

		for (size_t k = 1; k < o->merge && i + k < s->n; k++)
			np_moments_merge(&m, &s->w[i + k]);
		put_window(o, list, m);
		total += m.n;
	}
	if (total > samples)
		jput_refuse(o, key, TOO_MANY);
}

/* The smallest latency of a window is not kept; the mean stands for it. */
static int get_numbers(const struct np_jat *in, json_object *j,
		       struct np_moments *m)
{
	double *const to[] = { &m->mean, &m->m2, &m->max }, sd;
	int rc = 0;

	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(to); i++)
		rc = np_jget_real(in, "w", json_object_array_get_idx(j, i + 1),
				  0, NP_JSON_LATENCY_SEC, to[i]);
	sd = m->m2;
	m->m2 = sd * sd * (double)(m->n - 1);
	m->min = m->mean;
	return rc;
}

/* [n, mean, sd, max], or [0]. */
static int get_window(const struct np_jat *in, json_object *j,
		      struct np_moments *out)
{
	struct np_moments m = { 0 };
	size_t len;
	int rc;

	if (!json_object_is_type(j, json_type_array))
		return np_jat_refuse(in, "w", "arrays [n, mean, sd, max]");
	len = json_object_array_length(j);
	rc = np_jget_count(in, "w", json_object_array_get_idx(j, 0),
			   NP_JSON_COUNT, &m.n);
	if (rc)
		return rc;
	if (len != (m.n ? 4 : 1))
		return np_jat_refuse(in, "w", "[n, mean, sd, max], or [0]");
	rc = m.n ? get_numbers(in, j, &m) : 0;
	if (rc)
		return rc;
	if (!np_moments_valid(&m))
		return np_jat_refuse(in, "w", NO_WINDOW);
	*out = m;
	return 0;
}

static int get_width(const struct np_jat *in, json_object *j, double *out)
{
	static const char key[] = "windows.width_sec";
	json_object *width;
	int rc;

	if (!json_object_object_get_ex(j, "width_sec", &width))
		return np_jat_refuse(in, key, "a value");
	rc = np_jget_real(in, key, width, 0, NP_JSON_ELAPSED_SEC, out);
	if (!rc && *out < LEAST_WIDTH_SEC)
		rc = np_jat_refuse(in, key, "1e-06 or more");
	return rc;
}

static int jget_series(const struct np_jat *in, json_object *from,
		       const char *key, uint64_t samples,
		       struct np_series **out)
{
	json_object *j, *list;
	struct np_series *s;
	uint64_t total = 0;
	size_t n;
	int rc;

	if (!json_object_object_get_ex(from, key, &j))
		return 0;
	if (!json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, key, "an object");
	rc = np_jget_list(in, j, "w", NP_SERIES_MAX, &list, &n);
	if (rc || !n)
		return rc;
	/* calloc(): pages that are never used are never there. */
	s = *out = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	rc = get_width(in, j, &s->width_sec);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = get_window(in, json_object_array_get_idx(list, i),
				&s->w[i]);
		total += s->w[i].n;
	}
	if (!rc && total > samples)
		rc = np_jat_refuse(in, key, TOO_MANY);
	s->n = n;
	return rc;
}

#define TIME_MAX 1e12 /* in whatever unit */

/* Nine digits say all that was measured. */
static json_object *measured(struct np_jput *o, const char *key, double v,
			     double min, double max)
{
	return jput_real(o, key, v, min, max, 9, 9);
}

static void put_null(struct np_jput *o, json_object *in, const char *key)
{
	if (json_object_object_add(in, key, NULL))
		np_jput_fail(o, -ENOMEM);
}

static int real(const struct np_jat *in, json_object *from, const char *key,
		double min, double max, double *out)
{
	json_object *j;

	return json_object_object_get_ex(from, key, &j) ?
	       np_jget_real(in, key, j, min, max, out) :
	       np_jat_refuse(in, key, "a value: it is missing");
}

/* null, a number, or {"n", "mean", "sd"}; min and max bound the mean. */
static int jget_mean(const struct np_jat *in, const char *key,
		     json_object *j, double min, double max,
		     struct np_mean *out)
{
	struct np_jat sub = np_jat_member(in, key);
	struct np_mean m = { .n = 1, .sd = NAN };
	double n = 1;
	int rc;

	*out = (struct np_mean){ 0 };
	if (!j)
		return 0;
	if (!json_object_is_type(j, json_type_object)) {
		rc = np_jget_real(in, key, j, min, max, &m.mean);
	} else {
		rc = real(&sub, j, "n", 1, UINT32_MAX, &n);
		if (!rc)
			rc = real(&sub, j, "mean", min, max, &m.mean);
		if (!rc && json_object_object_get_ex(j, "sd", NULL))
			rc = real(&sub, j, "sd", 0, max, &m.sd);
	}
	m.n = (uint32_t)n;
	if (!rc)
		*out = m;
	return rc;
}

static json_object *mean_of(struct np_jput *o, const char *key,
			    const struct np_mean *m)
{
	json_object *j = json_object_new_object();

	if (!j) {
		np_jput_fail(o, -ENOMEM);
		return NULL;
	}
	np_jput(o, j, "n", jput_count(o, key, m->n, UINT32_MAX));
	np_jput(o, j, "mean", measured(o, key, m->mean, -1, 1e300));
	if (!isnan(m->sd))
		np_jput(o, j, "sd", measured(o, key, m->sd, 0, 1e300));
	return j;
}

static void jput_mean(struct np_jput *o, json_object *in, const char *key,
		      const struct np_mean *m)
{
	if (np_mean_known(m))
		np_jput(o, in, key, mean_of(o, key, m));
	else
		put_null(o, in, key);
}

/* ---- tables ---- */

static size_t size_at(const char *of, size_t offset)
{
	return *(const size_t *)(of + offset);
}

/* An array of so many elements. */
static int array(const struct np_jat *in, const char *key, json_object *j,
		 size_t n)
{
	char expected[64];

	if (!json_object_is_type(j, json_type_array))
		return np_jat_refuse(in, key, "an array");
	if (json_object_array_length(j) == n)
		return 0;
	snprintf(expected, sizeof(expected), "%zu elements, not %zu", n,
		 json_object_array_length(j));
	return np_jat_refuse(in, key, expected);
}

static int get_row(const struct np_jat *in, const struct np_field *f,
		   const char *key, json_object *j, size_t n,
		   struct np_mean *out)
{
	int rc = array(in, key, j, n);

	for (size_t i = 0; !rc && i < n; i++) {
		char at[96];

		snprintf(at, sizeof(at), "%.63s[%zu]", key, i);
		rc = jget_mean(in, at, json_object_array_get_idx(j, i),
			       f->min, f->max, &out[i]);
	}
	return rc;
}

/* f, of type NP_F_MEANS or NP_F_NUMBERS, says which and of what size. */
static int jget_means(const struct np_jat *in, json_object *from,
		      const struct np_field *f, char *to)
{
	size_t rows = size_at(to, f->count);
	size_t columns = f->columns ? size_at(to, f->columns) : 1;
	struct np_mean **out = (void *)(to + f->offset);
	json_object *j;
	int rc;

	if (!json_object_object_get_ex(from, f->key, &j) || !j)
		return 0;
	rc = array(in, f->key, j, rows);
	if (!rc)
		rc = np_jat_take(in, rows * columns + 1, sizeof(**out), out);
	if (!f->columns)
		return rc ? rc : get_row(in, f, f->key, j, rows, *out);
	for (size_t r = 0; !rc && r < rows; r++) {
		char at[64];

		snprintf(at, sizeof(at), "%.40s[%zu]", f->key, r);
		rc = get_row(in, f, at, json_object_array_get_idx(j, r),
			     columns, *out + r * columns);
	}
	return rc;
}

static void jput_means(struct np_jput *o, json_object *in,
		       const struct np_field *f, const char *from)
{
	size_t rows = size_at(from, f->count);
	size_t columns = f->columns ? size_at(from, f->columns) : 1;
	const struct np_mean *m = *(struct np_mean *const *)(from + f->offset);
	json_object *list, *row;

	if (!m)
		return;
	list = np_jput_new(o, in, f->key, json_object_new_array());
	row = list;
	for (size_t i = 0; list && i < rows * columns && !o->rc; i++) {
		if (f->columns && i % columns == 0)
			row = jput_append_new(o, list,
					      json_object_new_array());
		if (row && json_object_array_add(row, np_mean_known(&m[i]) ?
					mean_of(o, f->key, &m[i]) : NULL))
			np_jput_fail(o, -ENOMEM);
	}
}

static int jget_numbers(const struct np_jat *in, json_object *from,
			const struct np_field *f, char *to)
{
	size_t *n = (size_t *)(to + f->count);
	double **out = (void *)(to + f->offset);
	json_object *list;
	int rc = np_jget_list(in, from, f->key, (size_t)f->max, &list, n);

	if (rc || !list)
		return rc;
	rc = np_jat_take(in, *n + 1, sizeof(**out), out);
	for (size_t i = 0; !rc && i < *n; i++) {
		json_object *j = json_object_array_get_idx(list, i);

		(*out)[i] = INFINITY;
		if (j || i + 1 < *n)
			rc = np_jget_real(in, f->key, j, 0, f->min > 0 ?
					  f->min : TIME_MAX, &(*out)[i]);
	}
	return rc;
}

/* ---- latencies ---- */

/* Where it is missing, *out stays. */
static int real_if(const struct np_jat *in, json_object *from, const char *key,
		   double min, double *out)
{
	return json_object_object_get_ex(from, key, NULL) ?
	       real(in, from, key, min, TIME_MAX, out) : 0;
}

static int jmean_get_moments(const struct np_jat *in, json_object *j,
			     struct np_moments *m)
{
	double n, sd = NAN;
	int rc = real(in, j, "n", 1, NP_JSON_COUNT, &n);

	if (!rc)
		rc = real(in, j, "mean_sec", 0, TIME_MAX, &m->mean);
	if (!rc && m->mean == 0)
		rc = np_jat_refuse(in, "mean_sec", "more than 0, not 0");
	if (!rc)
		rc = real(in, j, "min_sec", 0, m->mean, &m->min);
	m->max = m->mean; /* nothing better is known */
	if (!rc)
		rc = real_if(in, j, "max_sec", m->mean, &m->max);
	if (!rc)
		rc = real_if(in, j, "sd_sec", 0, &sd);
	if (!rc && n > 1 && isnan(sd))
		rc = np_jat_refuse(in, "sd_sec", "a value: it is missing");
	if (rc)
		return rc;
	m->n = (uint64_t)n;
	m->m2 = n > 1 ? sd * sd * (n - 1) : 0;
	return 0;
}

static int get_counts(const struct np_jat *in, json_object *list,
		      double *count)
{
	int rc = array(in, "counts", list, in->n_bins);

	for (size_t i = 0; !rc && i < in->n_bins; i++)
		rc = np_jget_real(in, "counts",
				  json_object_array_get_idx(list, i), 0,
				  NP_JSON_COUNT, &count[i]);
	return rc;
}

/* Most bins are empty. */
static int get_bins(const struct np_jat *in, json_object *from, double *count)
{
	json_object *list;
	size_t n;
	int rc = np_jget_list(in, from, "bins", in->n_bins, &list, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		json_object *pair = json_object_array_get_idx(list, i);
		uint64_t bin;
		double c;

		rc = array(in, "bins", pair, 2);
		if (!rc)
			rc = np_jget_count(in, "bins",
					   json_object_array_get_idx(pair, 0),
					   (double)(in->n_bins - 1), &bin);
		if (!rc)
			rc = np_jget_real(in, "bins",
					  json_object_array_get_idx(pair, 1), 0,
					  NP_JSON_COUNT, &c);
		if (!rc)
			count[bin] += c;
	}
	return rc;
}

static int get_histogram(const struct np_jat *in, json_object *j,
			 double **out)
{
	json_object *counts;
	bool dense = json_object_object_get_ex(j, "counts", &counts);
	int rc;

	if (!dense && !json_object_object_get_ex(j, "bins", NULL))
		return 0;
	rc = np_jat_take(in, in->n_bins, sizeof(**out), out);
	if (rc)
		return rc;
	return dense ? get_counts(in, counts, *out) : get_bins(in, j, *out);
}

int np_jget_latency(const struct np_jat *in, const char *key, json_object *j,
		    struct np_latency *out)
{
	struct np_jat sub = np_jat_member(in, key);
	const struct np_bins bins = { .n = in->n_bins };
	struct np_err why = NP_ERR_INIT;
	double *count = NULL;
	char what[160];
	int rc;

	*out = (struct np_latency){ .count = NULL };
	if (!j)
		return 0;
	if (!json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, key, "an object, or null");
	rc = jmean_get_moments(&sub, j, &out->all);
	if (rc)
		return rc;
	rc = get_histogram(&sub, j, &count);
	out->count = count; /* whoever frees it does after a failure, too */
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "%s%s", in->at, key);
	if (np_latency_check(out, &bins, what, &why))
		rc = np_errf(in->err, -EINVAL, "%s: %s", in->where, why.text);
	return rc;
}

static void put_bins(struct np_jput *o, json_object *in, const double *count)
{
	json_object *list = np_jput_new(o, in, "bins",
					json_object_new_array());

	for (size_t i = 0; list && i < NP_HIST_BINS && !o->rc; i++)
		if (count[i] > 0)
			jput_bin(o, list, "bins", i, count[i]);
}

void np_jput_latency(struct np_jput *o, json_object *in, const char *key,
		     const struct np_latency *l)
{
	const struct {
		const char *key;
		double value;
	} time[] = {
		{ "mean_sec", l->all.mean },
		{ "sd_sec", np_moments_sd(&l->all) },
		{ "min_sec", l->all.min }, { "max_sec", l->all.max },
	};
	json_object *j;

	if (!l->all.n) {
		put_null(o, in, key);
		return;
	}
	j = np_jput_new(o, in, key, json_object_new_object());
	if (!j)
		return;
	np_jput(o, j, "n", jput_count(o, key, (double)l->all.n,
				      NP_JSON_COUNT));
	for (size_t i = 0; i < NP_ARRAY_SIZE(time); i++)
		np_jput(o, j, time[i].key, measured(o, key, time[i].value, 0,
						    TIME_MAX));
	if (l->count)
		put_bins(o, j, l->count);
}

/* Reading JSON by tables, every byte of which may be hostile; and freeing. */

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

static bool moments_fit(const struct np_moments *m, double max)
{
	return !m->n || (np_moments_valid(m) && m->max <= max);
}

static bool is_plain(const struct np_field *f)
{
	return f->type <= NP_F_MOMENTS;
}

/* at: of the structure. */
static int get_object(const struct np_jat *in, const char *key, json_object *j,
		      void *at, const struct np_fields *of)
{
	struct np_jat sub = np_jat_member(in, key);

	return json_object_is_type(j, json_type_object) ?
	       np_jget_fields(&sub, j, at, of) :
	       np_jat_refuse(in, key, "an object");
}

static int get_get_moments(const struct np_jat *in, const struct np_field *f,
			   json_object *j, struct np_moments *m)
{
	int rc = get_object(in, f->key, j, m, &np_moments_fields);

	return rc || moments_fit(m, f->max) ? rc :
	       np_jat_refuse(in, f->key, NP_NO_MOMENTS);
}

static int get_plain(const struct np_jat *in, const struct np_field *f,
		     json_object *j, void *at)
{
	uint64_t n = 0;
	int rc = 0;

	switch (f->type) {
	case NP_F_U32:
		rc = np_jget_count(in, f->key, j, f->max, &n);
		if (!rc && (double)n < f->min)
			rc = np_jat_range(in, f->key, (double)n, f->min,
					  f->max);
		*(uint32_t *)at = (uint32_t)n;
		break;
	case NP_F_U64:
		rc = np_jget_count(in, f->key, j, f->max, at);
		break;
	case NP_F_LONG:
		rc = np_jget_count(in, f->key, j, f->max, &n);
		*(long *)at = (long)n;
		break;
	case NP_F_REAL:
		rc = np_jget_real(in, f->key, j, f->min, f->max, at);
		break;
	case NP_F_BOOL:
		if (!json_object_is_type(j, json_type_boolean))
			return np_jat_refuse(in, f->key, "true or false");
		*(bool *)at = json_object_get_boolean(j);
		break;
	case NP_F_TEXT:
		rc = np_jget_text(in, f->key, j, (size_t)f->max, at);
		break;
	default:
		rc = get_get_moments(in, f, j, at);
	}
	return rc;
}

static int get_app(const struct np_jat *in, const struct np_field *f,
		   json_object *j, char *out)
{
	char *text;
	int rc = np_jget_text(in, f->key, j, NP_APP_MAX, &text);

	if (rc)
		return rc;
	if (np_app_check(text, NULL))
		rc = np_jat_refuse(in, f->key, "an application name");
	else
		strcpy(out, text);
	free(text);
	return rc;
}

static int get_name(const struct np_jat *in, const struct np_field *f,
		    json_object *j, char *out)
{
	bool is_text = json_object_is_type(j, json_type_string);
	size_t len = is_text ? (size_t)json_object_get_string_len(j) : 0;
	const char *s = is_text ? json_object_get_string(j) : "";
	bool good = len && len <= f->max;
	char expected[80];

	for (size_t i = 0; good && i < len; i++)
		good = (unsigned char)s[i] > ' ' && s[i] != 0x7f &&
		       s[i] != '|';
	snprintf(expected, sizeof(expected), "a name of 1 to %.0f characters "
		 "without spaces and '|'", f->max);
	if (!good)
		return np_jat_refuse(in, f->key, expected);
	memcpy(out, s, len + 1);
	return 0;
}

static int get_word(const struct np_jat *in, const struct np_field *f,
		    json_object *j, unsigned *out)
{
	bool is_text = json_object_is_type(j, json_type_string);
	const char *word = is_text ? json_object_get_string(j) : "";
	char all[128] = "";

	for (unsigned i = 0; f->words[i]; i++) {
		if (!strcmp(word, f->words[i])) {
			*out = i;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 !i ? "" : f->words[i + 1] ? ", " : " or ",
			 f->words[i]);
	}
	return np_jat_refuse(in, f->key, all);
}

static int get_part(const struct np_jat *in, const struct np_field *f,
		    json_object *j, void *at)
{
	void *part = calloc(1, f->of->size);

	memcpy(at, &part, sizeof(part));
	return part ? get_object(in, f->key, j, part, f->of) : -ENOMEM;
}

static int get_value(const struct np_jat *in, const struct np_field *f,
		     json_object *j, char *at);

static int get_elements(const struct np_jat *in, const struct np_field *f,
			json_object *list, size_t count, char *all, size_t *n)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		json_object *j = json_object_array_get_idx(list, i);
		struct np_jat sub = np_jat_element(in, f->key, i);

		*n = i + 1;
		if (f->type == NP_F_TEXTS)
			rc = np_jget_text(in, f->key, j, f->text_max,
					  &((char **)all)[i]);
		else if (json_object_is_type(j, json_type_object))
			rc = np_jget_fields(&sub, j, all + i * f->of->size,
					    f->of);
		else if (f->flags & NP_F_NAMED)
			rc = get_value(&sub, f->of->field, j,
				       all + i * f->of->size);
		else
			rc = np_jat_refuse(&sub, "", "an object");
	}
	return rc;
}

/* What a missing member stands for; the target is all zero. */
static int get_missing(const struct np_jat *in, const struct np_field *f,
		       char *at)
{
	if (f->flags & NP_F_NEEDED)
		return np_jat_refuse(in, f->key, "a value: it is missing");
	if (f->flags & NP_F_NEVER_NULL) {
		*(char **)at = strdup("");
		return *(char **)at ? 0 : -ENOMEM;
	}
	if (f->type == NP_F_LONG)
		*(long *)at = NP_NO_VALUE;
	if (f->flags & NP_F_NAN)
		*(double *)at = NAN;
	return f->type == NP_F_WORD && !(f->flags & NP_F_KEPT) ?
	       get_word(in, f, NULL, NULL) : 0;
}

/* What was allocated is in the structure as soon as there is any. */
static int get_list(const struct np_jat *in, const struct np_field *f,
		    json_object *from, char *to)
{
	size_t size = f->type == NP_F_TEXTS ? sizeof(char *) : f->of->size;
	json_object *list;
	size_t count;
	void *all = NULL;
	int rc = np_jget_list(in, from, f->key, (size_t)f->max, &list, &count);

	if (!rc && !list && f->flags & NP_F_NEEDED)
		return get_missing(in, f, NULL);

	if (!rc && count && f->bins)
		rc = jget_bins(in, from, f->bins);
	if (!rc && count)
		rc = np_jat_take(in, count, size, &all);
	if (rc || !count)
		return rc;
	memcpy(to + f->offset, &all, sizeof(all));
	return get_elements(in, f, list, count, all,
			    (size_t *)(to + f->count));
}

/* j: the member, which is there. */
static int get_value(const struct np_jat *in, const struct np_field *f,
		     json_object *j, char *at)
{
	switch (f->type) {
	case NP_F_APP:
		return get_app(in, f, j, at);
	case NP_F_NAME:
		return get_name(in, f, j, at);
	case NP_F_WORD:
		return get_word(in, f, j, (void *)at);
	case NP_F_OBJECT:
		return get_object(in, f->key, j, at, f->of);
	case NP_F_PART:
		return get_part(in, f, j, at);
	case NP_F_MEAN:
		return jget_mean(in, f->key, j, f->min, f->max, (void *)at);
	case NP_F_LATENCY:
		return np_jget_latency(in, f->key, j, (void *)at);
	default:
		return get_plain(in, f, j, at);
	}
}

static int get_field(const struct np_jat *in, const struct np_field *f,
		     json_object *from, char *to)
{
	char *at = to + f->offset;
	const uint64_t *samples = (const uint64_t *)(to + f->count);
	json_object *j;

	switch (f->type) { /* these know what it means to be missing */
	case NP_F_SCHEMA:
		return np_jget_schema(in, from, (int)f->max);
	case NP_F_LIST:
	case NP_F_TEXTS:
		return get_list(in, f, from, to);
	case NP_F_HIST:
		return jget_hist(in, from, f->key, *samples, (void *)at);
	case NP_F_SERIES:
		return jget_series(in, from, f->key, *samples, (void *)at);
	case NP_F_NUMBERS:
		return jget_numbers(in, from, f, to);
	case NP_F_MEANS:
		return jget_means(in, from, f, to);
	default:
		break;
	}
	return json_object_object_get_ex(from, f->key, &j) ?
	       get_value(in, f, j, at) : get_missing(in, f, at);
}

int np_jget_fields(const struct np_jat *in, json_object *from, void *to,
		   const struct np_fields *fs)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < fs->n; i++)
		if (is_plain(&fs->field[i]))
			rc = get_field(in, &fs->field[i], from, to);
	for (size_t i = 0; !rc && i < fs->n; i++)
		if (!is_plain(&fs->field[i]))
			rc = get_field(in, &fs->field[i], from, to);
	return rc;
}

int np_fields_parse(const struct np_jat *in, const char *text, size_t len,
		    void *to, const struct np_fields *fs)
{
	json_object *j;
	int rc = np_jget_parse(in, text, len, &j);

	if (rc)
		return rc;
	rc = np_jget_fields(in, j, to, fs);
	json_object_put(j);
	return rc;
}

/* ---- freeing ---- */

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

/*
 * Writing JSON by tables.  What a reader would refuse is refused here: better
 * told to its writer than to each reader.
 */

/* o is inside of a member while it is written. */
static void put_inside(struct np_jput *o, const struct np_jat *inside,
		       json_object *j, const void *from,
		       const struct np_fields *fs)
{
	struct np_jat outside = o->at;

	o->at = *inside;
	if (j)
		np_jput_fields(o, j, from, fs);
	o->at = outside;
}

static void put_put_object(struct np_jput *o, json_object *in,
			   const struct np_field *f, const void *from,
			   const struct np_fields *of)
{
	struct np_jat inside = np_jat_member(&o->at, f->key);

	put_inside(o, &inside, np_jput_new(o, in, f->key,
					   json_object_new_object()), from, of);
}

static void put_moments(struct np_jput *o, json_object *in,
			const struct np_field *f, const struct np_moments *m)
{
	static const struct np_moments empty;

	/* The range of an empty set is not defined. */
	put_put_object(o, in, f, m->n ? m : &empty, &np_moments_fields);
	if (!moments_fit(m, f->max))
		jput_refuse(o, f->key, NP_NO_MOMENTS);
}

/* Forecasts of crowds grow without limit; readers have one. */
static double real_of(const struct np_field *f, double v)
{
	if (!(f->flags & NP_F_CLAMP))
		return v;
	return v > f->max ? f->max : v < f->min ? f->min : v;
}

static json_object *count_of(struct np_jput *o, const struct np_field *f,
			     double v)
{
	return jput_count(o, f->key, v, f->max);
}

static void put_list(struct np_jput *o, json_object *in,
		     const struct np_field *f, const void *from,
		     const char *all)
{
	size_t n = *(const size_t *)((const char *)from + f->count);
	json_object *list;

	if (!n && f->flags & NP_F_NOT_EMPTY)
		return;
	if (f->bins)
		jput_bins(o, in, f->bins);
	list = np_jput_new(o, in, f->key, json_object_new_array());
	if ((double)n > f->max && f->flags & NP_F_CLAMP)
		n = (size_t)f->max;
	else
		json_object_put(count_of(o, f, (double)n));
	for (size_t i = 0; list && i < n && !o->rc; i++) {
		struct np_jat inside = np_jat_element(&o->at, f->key, i);

		if (f->type == NP_F_TEXTS)
			np_jput_append(o, list, jput_text(
				((char *const *)all)[i], f->text_max));
		else
			put_inside(o, &inside, jput_append_new(o, list,
				   json_object_new_object()),
				   all + i * f->of->size, f->of);
	}
}

static void put_text(struct np_jput *o, json_object *in,
		     const struct np_field *f, const char *text)
{
	if (text)
		np_jput(o, in, f->key, jput_text(text, (size_t)f->max));
}

static void put_plain(struct np_jput *o, json_object *in,
		      const struct np_field *f, const void *at)
{
	json_object *j = NULL;

	switch (f->type) {
	case NP_F_SCHEMA:
		j = json_object_new_int((int)f->max);
		break;
	case NP_F_U32:
		j = count_of(o, f, *(const uint32_t *)at);
		break;
	case NP_F_U64:
		j = count_of(o, f, (double)*(const uint64_t *)at);
		break;
	case NP_F_LONG:
		if (*(const long *)at == NP_NO_VALUE)
			return;
		j = count_of(o, f, (double)*(const long *)at);
		break;
	case NP_F_REAL:
		if (f->flags & NP_F_NAN && isnan(*(const double *)at))
			return;
		j = jput_real(o, f->key, real_of(f, *(const double *)at),
			      f->min, f->max,
			      f->flags & NP_F_NINE ? 9 : 15,
			      f->flags & NP_F_NINE ? 9 : 17);
		break;
	case NP_F_BOOL:
		j = json_object_new_boolean(*(const bool *)at);
		break;
	case NP_F_APP:
	case NP_F_NAME:
		j = json_object_new_string((const char *)at);
		break;
	default:
		j = json_object_new_string(f->words[*(const unsigned *)at]);
	}
	np_jput(o, in, f->key, j);
}

static const void *pointer_at(const char *at)
{
	const void *points;

	memcpy(&points, at, sizeof(points));
	return points;
}

/* Those with no limit of their own are bins, which nobody writes. */
static void put_numbers(struct np_jput *o, json_object *in,
			const struct np_field *f, const char *from)
{
	size_t n = *(const size_t *)(from + f->count);
	const double *v = pointer_at(from + f->offset);
	json_object *list;

	if (!n || !(f->min > 0))
		return;
	json_object_put(count_of(o, f, (double)n));
	list = np_jput_new(o, in, f->key, json_object_new_array());
	for (size_t i = 0; list && i < n && !o->rc; i++)
		np_jput_append(o, list, jput_real(o, f->key, v[i], 0,
						  f->min, 15, 17));
}

static void put_field(struct np_jput *o, json_object *in,
		      const struct np_field *f, const char *from)
{
	const uint64_t *samples = (const uint64_t *)(from + f->count);
	const char *at = from + f->offset;

	switch (f->type) {
	case NP_F_TEXT:
		put_text(o, in, f, *(char *const *)at);
		break;
	case NP_F_MOMENTS:
		put_moments(o, in, f, (const void *)at);
		break;
	case NP_F_OBJECT:
		put_put_object(o, in, f, at, f->of);
		break;
	case NP_F_PART:
		if (pointer_at(at))
			put_put_object(o, in, f, pointer_at(at), f->of);
		break;
	case NP_F_LIST:
	case NP_F_TEXTS:
		put_list(o, in, f, from, pointer_at(at));
		break;
	case NP_F_HIST:
		jput_hist(o, in, f->key, pointer_at(at), *samples);
		break;
	case NP_F_SERIES:
		jput_series(o, in, f->key, pointer_at(at), *samples);
		break;
	case NP_F_MEAN:
		jput_mean(o, in, f->key, (const void *)at);
		break;
	case NP_F_MEANS:
		jput_means(o, in, f, from);
		break;
	case NP_F_LATENCY:
		np_jput_latency(o, in, f->key, (const void *)at);
		break;
	case NP_F_NUMBERS:
		put_numbers(o, in, f, from);
		break;
	default:
		put_plain(o, in, f, at);
	}
}

void np_jput_fields(struct np_jput *o, json_object *in, const void *from,
		    const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n && !o->rc; i++)
		put_field(o, in, &fs->field[i], from);
}

/*
 * Objects as text.  Where lists may be very long, all at once would need twenty
 * times the memory of the text, so there is one element at a time.
 */

/* The members before the first list. */
static size_t n_head(const struct np_fields *fs)
{
	size_t n = 0;

	while (n < fs->n && fs->field[n].type != NP_F_LIST)
		n++;
	return n;
}

/* open: without its last brace. */
static void stream_put_object(struct np_jput *o, FILE *f, const void *from,
			      const struct np_fields *fs, bool open)
{
	json_object *j = json_object_new_object();
	const char *text = NULL;

	if (j)
		np_jput_fields(o, j, from, fs);
	if (j && !o->rc)
		text = jput_line(j);
	if (text)
		fprintf(f, "%.*s", (int)strlen(text) - open, text);
	else
		np_jput_fail(o, -ENOMEM);
	json_object_put(j);
}

static void put_each(struct np_jput *o, FILE *f, const struct np_field *list,
		     const char *from)
{
	size_t n = *(const size_t *)(from + list->count);
	const char *all;

	memcpy(&all, from + list->offset, sizeof(all));
	if ((double)n > list->max)
		n = (size_t)list->max;
	fprintf(f, ",\n\"%s\":[", list->key);
	for (size_t i = 0; i < n && !o->rc; i++) {
		fputs(i ? ",\n" : "\n", f);
		stream_put_object(o, f, all + i * list->of->size, list->of,
				  false);
	}
	fputs("]", f);
}

/* The first n members on a line; the rest are lists. */
static int print(struct np_jput *o, const void *from,
		 const struct np_fields *fs, size_t n, char **out)
{
	const struct np_fields head = { fs->field, n, fs->size };
	locale_t before = jput_point();
	size_t len;
	FILE *f = open_memstream(out, &len);

	if (f)
		stream_put_object(o, f, from, &head, n < fs->n);
	for (size_t i = n; f && i < fs->n && !o->rc; i++)
		put_each(o, f, &fs->field[i], from);
	if (f)
		fputs(n < fs->n ? "}\n" : "\n", f);
	if (!f || fclose(f))
		np_jput_fail(o, -ENOMEM);
	uselocale(before);
	if (o->rc) {
		free(f ? *out : NULL);
		*out = NULL;
	}
	return o->rc;
}

int np_fields_print(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out)
{
	return print(o, from, fs, fs->n, out);
}

int np_fields_write(struct np_jput *o, const void *from,
		    const struct np_fields *fs, char **out)
{
	return print(o, from, fs, n_head(fs), out);
}

/* After a value: is there another one? */
static int next(struct np_jpull *p, char end, bool *more)
{
	*more = jpull_take(p, ',');
	return *more || jpull_take(p, end) ? 0 :
	       jpull_damaged(p, "expected a comma or an end");
}

static int get_element(struct np_jpull *p, const struct np_field *list,
		       size_t i, void *to)
{
	struct np_jat sub = np_jat_element(p->in, list->key, i);
	json_object *j;
	int rc = jpull_value(p, &j);

	if (rc)
		return rc;
	rc = json_object_is_type(j, json_type_object) ?
	     np_jget_fields(&sub, j, to, list->of) :
	     np_jat_refuse(&sub, "", "an object");
	json_object_put(j);
	return rc;
}

static int get_each(struct np_jpull *p, const struct np_field *list, char *to)
{
	size_t *n = (size_t *)(to + list->count), size = list->of->size;
	bool more;
	char *all;
	int rc = 0;

	if (!jpull_take(p, '['))
		return np_jat_refuse(p->in, list->key, "a whole array");
	for (more = !jpull_take(p, ']'); !rc && more;) {
		if ((double)*n == list->max)
			return np_errf(p->in->err, -EINVAL, "%s: %s: more than "
				       "%.0f", p->in->where, list->key,
				       list->max);
		if (np_array_more(to + list->offset, *n, size))
			return -ENOMEM;
		memcpy(&all, to + list->offset, sizeof(all));
		memset(all + *n * size, 0, size);
		++*n;
		rc = get_element(p, list, *n - 1, all + (*n - 1) * size);
		if (!rc)
			rc = next(p, ']', &more);
	}
	return rc;
}

/* What is short is kept until all of it is there. */
static int get_short(struct np_jpull *p, json_object *members, const char *key)
{
	json_object *j;
	int rc = jpull_value(p, &j);

	if (!rc && json_object_object_add(members, key, j)) {
		json_object_put(j);
		rc = -ENOMEM;
	}
	return rc;
}

static int get_member(struct np_jpull *p, json_object *members, const char *key,
		      const struct np_fields *fs, char *to)
{
	size_t i = 0;
	int rc = 0;

	while (i < fs->n && strcmp(key, fs->field[i].key))
		i++;
	if (i == fs->n || fs->field[i].type != NP_F_LIST)
		return get_short(p, members, key);
	/* Of a newer schema, which we write first, it may be anything. */
	if (json_object_object_get_ex(members, "schema", NULL))
		rc = np_jget_schema(p->in, members, (int)fs->field->max);
	return rc ? rc : get_each(p, &fs->field[i], to);
}

static int get_members(struct np_jpull *p, json_object *members,
		       const struct np_fields *fs, char *to)
{
	json_object *key;
	bool more;
	int rc = 0;

	if (!jpull_take(p, '{'))
		return jpull_damaged(p, "no JSON object");
	for (more = !jpull_take(p, '}'); !rc && more;) {
		rc = jpull_value(p, &key);
		if (rc)
			break;
		rc = json_object_is_type(key, json_type_string) &&
		     jpull_take(p, ':') ?
		     get_member(p, members, json_object_get_string(key), fs,
				to) :
		     jpull_damaged(p, "expected a name and a colon");
		json_object_put(key);
		if (!rc)
			rc = next(p, '}', &more);
	}
	return rc || jpull_take(p, '\0') ? rc :
	       jpull_damaged(p, "expected its end");
}

int np_fields_read(const struct np_jat *in, const char *text, size_t len,
		   void *to, const struct np_fields *fs)
{
	json_object *members = json_object_new_object();
	const struct np_fields head = { fs->field, n_head(fs), fs->size };
	struct np_jpull p;
	int rc = members ? jpull_open(&p, in, text, len) : -ENOMEM;

	if (!rc) {
		rc = get_members(&p, members, fs, to);
		jpull_close(&p);
	}
	if (!rc)
		rc = np_jget_fields(in, members, to, &head);
	json_object_put(members);
	return rc;
}
