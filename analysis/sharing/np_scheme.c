/*
 * Reads schemes, netprof-scheme(5): transfers at the same time and, if they
 * were measured, how long each took. Files are untrusted input; the first error
 * ends the reading.
 *
 * Lines are read one after the other into the current scheme. Settings before
 * the first scheme are copied to all of them.
 */
#include "np_scheme.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_read.h"
#include "np_words.h"

/* Settings for the transfers that follow, or for a whole scheme. */
struct settings {
	uint64_t bytes, reference_bytes; /* of the reference; 0: not given */
	double reference_sec, latency_sec;
};

/* State of the reader of one file. */
struct reader {
	struct np_words w;
	struct settings common, now; /* of all schemes; of the current one */
	struct np_scheme_set set;
	bool begun; /* the first scheme has begun: common is complete */
};

/* The scheme that lines belong to; NULL before the first one. */
static struct np_scheme *current_scheme(struct reader *r)
{
	return r->set.n ? &r->set.scheme[r->set.n - 1] : NULL;
}

/* Record the first error, with the number of the current line. */
#define BAD(r, ...) np_words_fail(&(r)->w, -EINVAL, __VA_ARGS__)
#define TOO_BIG(r, ...) np_words_fail(&(r)->w, -E2BIG, __VA_ARGS__)

/* Checks and copies a name. */
static int take_name(struct reader *r, const char *what, const char *text,
		     np_scheme_name out)
{
	size_t len = strlen(text);
	bool good = len && len < NP_SCHEME_NAME;

	for (size_t i = 0; good && i < len; i++)
		good = isalnum((unsigned char)text[i]) ||
		       strchr("_.-+", text[i]);
	if (!good)
		return BAD(r,
			   "%s \"%.40s\": expected 1 to %d letters, digits and "
			   "any of _.-+",
			   what, text, NP_SCHEME_NAME - 1);
	memcpy(out, text, len + 1);
	return 0;
}

/* ---- Schemes ---- */

/*
 * Completes the current scheme. The time that a transfer takes alone is the
 * latency plus a part proportional to its size, by the time of the reference;
 * without such a time it is the size relative to that of the reference.
 */
static int finish_scheme(struct reader *r)
{
	struct np_scheme *s = current_scheme(r);
	const struct settings *v = &r->now;
	double rest = v->reference_sec - v->latency_sec;
	bool timed = !isnan(v->reference_sec);

	if (!s)
		return 0;
	if (!s->n)
		return BAD(r, "scheme %s has no transfer", s->name);
	if (timed ? rest <= 0 : v->latency_sec > 0)
		return BAD(r,
			   "scheme %s: its latency needs a reference that took "
			   "longer",
			   s->name);
	s->reference_sec = v->reference_sec;
	s->latency_sec = v->latency_sec;
	s->reference_bytes = v->reference_bytes;
	for (size_t i = 0; i < s->n && !s->reference_bytes; i++)
		s->reference_bytes = s->bytes[i];
	if (!s->reference_bytes)
		s->reference_bytes = NP_SCHEME_BYTES;
	for (size_t i = 0; i < s->n; i++) {
		double share = (double)s->bytes[i] / (double)s->reference_bytes;

		s->alone[i] = timed ? v->latency_sec + share * rest : share;
		if (!isnan(s->took_sec[i]) && !timed)
			return BAD(r,
				   "scheme %s: %s has a measured time, but the "
				   "reference has none",
				   s->name, s->label[i]);
	}
	return 0;
}

/* Ends the current scheme and begins another one. */
static int begin_scheme(struct reader *r, const char *name)
{
	struct np_scheme *s;
	int rc = finish_scheme(r);

	if (rc)
		return rc;
	if (r->set.n == NP_SCHEME_MAX_SCHEMES)
		return TOO_BIG(r, "more than %d schemes",
			       NP_SCHEME_MAX_SCHEMES);
	if (np_array_grow(&r->set.scheme, r->set.n, sizeof(*r->set.scheme)))
		return np_words_no_memory(&r->w);
	s = &r->set.scheme[r->set.n++];
	*s = (struct np_scheme){ .n = 0 };
	if (!r->begun)
		r->common = r->now;
	r->begun = true;
	r->now = r->common;
	rc = take_name(r, "scheme", name, s->name);
	for (size_t i = 0; !rc && i + 1 < r->set.n; i++)
		if (!strcmp(r->set.scheme[i].name, s->name))
			rc = BAD(r, "scheme %s is defined twice", s->name);
	return rc;
}

/* A file without a scheme line: the scheme is named after the file. */
static int begin_unnamed(struct reader *r)
{
	np_scheme_name name;
	size_t n = 0;

	for (const char *p = basename(r->w.source); *p && n + 1 < sizeof(name);
	     p++)
		name[n++] = isalnum((unsigned char)*p) || strchr("_.-+", *p) ?
				  *p :
				  '_';
	name[n] = '\0';
	return begin_scheme(r, n ? name : "scheme");
}

/* ---- Nodes ---- */

/* Adds a node to the current scheme. */
static int add_node(struct reader *r, const char *text, uint32_t *number)
{
	struct np_scheme *s = current_scheme(r);
	np_scheme_name name;

	if (take_name(r, "node", text, name))
		return r->w.rc;
	if (s->n_nodes == NP_SCHEME_MAX_NODES)
		return TOO_BIG(r, "more than %d nodes", NP_SCHEME_MAX_NODES);
	if (np_array_grow(&s->node, s->n_nodes, sizeof(*s->node)))
		return np_words_no_memory(&r->w);
	memcpy(s->node[s->n_nodes], name, sizeof(name));
	*number = (uint32_t)s->n_nodes++;
	return 0;
}

/* Finds a node of a scheme by its name. */
static bool find_node(const struct np_scheme *s, const char *name,
		      uint32_t *number)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (!strcmp(s->node[i], name)) {
			*number = (uint32_t)i;
			return true;
		}
	return false;
}

/*
 * The number of a node; a new one is added unless the scheme lists its nodes.
 */
static int find_or_add_node(struct reader *r, const char *name,
			    uint32_t *number)
{
	struct np_scheme *s = current_scheme(r);

	if (find_node(s, name, number))
		return 0;
	if (s->fixed)
		return BAD(
			r,
			"node \"%.40s\" is none of those that scheme %s names",
			name, s->name);
	return add_node(r, name, number);
}

/* Reads "nodes NAME...". */
static void line_nodes(struct reader *r)
{
	uint32_t number;

	if (!current_scheme(r) && begin_unnamed(r))
		return;
	if (current_scheme(r)->n)
		BAD(r, "nodes: expected before the first transfer");
	for (size_t i = 1; !r->w.rc && i < r->w.n; i++)
		if (find_node(current_scheme(r), r->w.word[i], &number))
			BAD(r, "node %.40s is listed twice", r->w.word[i]);
		else
			add_node(r, r->w.word[i], &number);
	current_scheme(r)->fixed = true;
}

/* ---- Transfers ---- */

/* Makes room for another transfer. */
static int make_room(struct reader *r)
{
	struct np_scheme *s = current_scheme(r);

	if (s->n == NP_SCHEME_MAX_COMMS)
		return TOO_BIG(r, "more than %d transfers",
			       NP_SCHEME_MAX_COMMS);
	if (np_array_grow(&s->label, s->n, sizeof(*s->label)) ||
	    np_array_grow(&s->c, s->n, sizeof(*s->c)) ||
	    np_array_grow(&s->bytes, s->n, sizeof(*s->bytes)) ||
	    np_array_grow(&s->start_sec, s->n, sizeof(*s->start_sec)) ||
	    np_array_grow(&s->took_sec, s->n, sizeof(*s->took_sec)) ||
	    np_array_grow(&s->alone, s->n, sizeof(*s->alone)))
		return np_words_no_memory(&r->w);
	return 0;
}

/* Parses a time above 0. */
static double parse_took(struct reader *r, size_t i)
{
	double sec = np_words_time(&r->w, i);

	if (sec <= 0)
		BAD(r, "took %.40s: expected more than 0",
		    np_words_at(&r->w, i));
	return sec;
}

/* Parses [SIZE] [at TIME] [took TIME] after "LABEL: FROM -> TO". */
static int read_details(struct reader *r)
{
	struct np_scheme *s = current_scheme(r);
	struct np_words *w = &r->w;
	size_t i = 4;

	s->bytes[s->n] = r->now.bytes;
	s->start_sec[s->n] = 0;
	s->took_sec[s->n] = NAN;
	if (isdigit((unsigned char)*np_words_at(w, i)))
		s->bytes[s->n] = np_words_bytes(w, i++, NP_SCHEME_MAX_BYTES);
	if (np_words_is(w, i, "at")) {
		s->start_sec[s->n] = np_words_time(w, i + 1);
		i += 2;
	}
	if (np_words_is(w, i, "took")) {
		s->took_sec[s->n] = parse_took(r, i + 1);
		i += 2;
	}
	if (i < w->n)
		BAD(r, "\"%.40s\": expected [SIZE] [at TIME] [took TIME]",
		    w->word[i]);
	return w->rc;
}

/* Reads "NAME: FROM -> TO ...". */
static void line_transfer(struct reader *r)
{
	struct np_words *w = &r->w;
	char *label = w->word[0];
	struct np_scheme *s;

	if ((!current_scheme(r) && begin_unnamed(r)) || make_room(r))
		return;
	s = current_scheme(r);
	label[strlen(label) - 1] = '\0';
	take_name(r, "transfer", label, s->label[s->n]);
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->label[i], label))
			BAD(r, "transfer %s is defined twice", label);
	if (w->n < 4 || strcmp(w->word[2], "->"))
		BAD(r, "transfer %s: expected NAME: FROM -> TO", label);
	if (w->rc || find_or_add_node(r, w->word[1], &s->c[s->n].from) ||
	    find_or_add_node(r, w->word[3], &s->c[s->n].to))
		return;
	if (s->c[s->n].from == s->c[s->n].to)
		BAD(r, "transfer %s: from %.40s to itself, expected two nodes",
		    label, w->word[1]);
	s->n += !read_details(r);
}

/* ---- Settings ---- */

static void line_scheme(struct reader *r)
{
	begin_scheme(r, r->w.word[1]);
}

static void line_size(struct reader *r)
{
	r->now.bytes = np_words_bytes(&r->w, 1, NP_SCHEME_MAX_BYTES);
}

static void line_latency(struct reader *r)
{
	r->now.latency_sec = np_words_time(&r->w, 1);
}

/* Reads "reference SIZE [took TIME]". */
static void line_reference(struct reader *r)
{
	struct settings *v = &r->now;

	if (r->w.n != 2 && (r->w.n != 4 || !np_words_is(&r->w, 2, "took"))) {
		BAD(r, "expected reference SIZE [took TIME]");
		return;
	}
	v->reference_bytes = np_words_bytes(&r->w, 1, NP_SCHEME_MAX_BYTES);
	if (!v->reference_bytes)
		BAD(r, "reference %.40s: expected more than 0 bytes",
		    r->w.word[1]);
	if (r->w.n == 4)
		v->reference_sec = parse_took(r, 3);
}

/* The lines other than transfers, by their first word. */
static const struct {
	const char *word;
	void (*read)(struct reader *r);
	const char *two; /* syntax, if the line always has two words */
} lines[] = {
	{ "scheme", line_scheme, "scheme NAME" },
	{ "size", line_size, "size SIZE" },
	{ "latency", line_latency, "latency TIME" },
	{ "reference", line_reference, NULL },
	{ "nodes", line_nodes, NULL },
};

/* Reads a line by its first word. */
static void read_line(struct reader *r)
{
	const char *word = r->w.word[0];

	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++)
		if (!strcmp(word, lines[i].word)) {
			if (lines[i].two && r->w.n != 2)
				BAD(r, "expected %s", lines[i].two);
			else
				lines[i].read(r);
			return;
		}
	if (word[strlen(word) - 1] == ':')
		line_transfer(r);
	else
		BAD(r,
		    "\"%.40s\": expected scheme, size, latency, reference, "
		    "nodes or NAME: FROM -> TO",
		    word);
}

int np_scheme_parse(const char *text, size_t len, const char *source,
		    struct np_scheme_set *out, struct np_err *err)
{
	struct reader r = { .now = { .bytes = NP_SCHEME_BYTES,
				     .reference_sec = NAN } };
	int rc;

	np_words_open(&r.w, text, len, source, err);
	while (np_words_next(&r.w))
		read_line(&r);
	if (!r.w.rc && !r.set.n)
		r.w.rc = np_errf(err, -EINVAL, "%s: contains no transfer",
				 source);
	rc = r.w.rc ? r.w.rc : finish_scheme(&r);
	if (rc)
		np_scheme_free(&r.set);
	else
		*out = r.set;
	return rc;
}

int np_scheme_read(const char *path, struct np_scheme_set *out,
		   struct np_err *err)
{
	return NP_READ_PARSED(path, NP_SCHEME_MAX_FILE_BYTES, np_scheme_parse,
			      out, err);
}

void np_scheme_free(struct np_scheme_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct np_scheme *s = &set->scheme[i];

		free(s->node);
		free(s->label);
		free(s->c);
		free(s->bytes);
		free(s->start_sec);
		free(s->took_sec);
		free(s->alone);
	}
	free(set->scheme);
	*set = (struct np_scheme_set){ .n = 0 };
}
