#include "np_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_quantity.h"

#define MARK "np1 "
#define TEN_YEARS_SEC (10 * 366 * 86400.0) /* as np_series_add() */

static const char *const kinds[] = {
	[NP_REPORT_HELLO] = "hello",   [NP_REPORT_LATENCY] = "lat",
	[NP_REPORT_ROUND] = "round",   [NP_REPORT_PRTT] = "prtt",
	[NP_REPORT_COST] = "cost",     [NP_REPORT_MOVED] = "moved",
	[NP_REPORT_CALLS] = "calls",   [NP_REPORT_SKIP] = "skip",
	[NP_REPORT_NOTE] = "note",     [NP_REPORT_BYE] = "bye",
};

#define OF(kind) (1u << NP_REPORT_##kind)

/* What stands behind the rank, in this order; bins come behind a window. */
static const struct field {
	unsigned of; /* kinds of reports */
	const char *name;
	/* seconds; the same to all digits; and without a limit */
	enum { U32, U64, SEC, EXACT, SQUARES, WORD, TEXT } type;
	size_t at;
} fields[] = {
#define AT(member) offsetof(struct np_report, member)
	{ OF(HELLO), "NRANKS", U32, AT(hello.n_ranks) },
	{ OF(HELLO), "NODE", WORD, AT(hello.node) },
	{ OF(HELLO), "LEAF", WORD, AT(hello.leaf) },
	{ OF(HELLO), "PARTNER", WORD, AT(hello.partner) },
	{ OF(HELLO), "TRANSPORT", WORD, AT(hello.transport) },
	{ OF(HELLO), "VERSION", WORD, AT(hello.version) },
	/* 17 digits: the reader gets exactly these moments back. */
	{ OF(LATENCY) | OF(ROUND), "AT_SEC", SEC, AT(window.at_sec) },
	{ OF(LATENCY) | OF(ROUND), "N", U64, AT(window.sec.n) },
	{ OF(LATENCY) | OF(ROUND), "MEAN", EXACT, AT(window.sec.mean) },
	{ OF(LATENCY) | OF(ROUND), "M2", SQUARES, AT(window.sec.m2) },
	{ OF(LATENCY) | OF(ROUND), "MIN", EXACT, AT(window.sec.min) },
	{ OF(LATENCY) | OF(ROUND), "MAX", EXACT, AT(window.sec.max) },
	{ OF(PRTT), "BLOCK", U32, AT(prtt.block) },
	{ OF(PRTT), "N", U32, AT(prtt.n) },
	{ OF(PRTT), "BYTES", U32, AT(prtt.bytes) },
	{ OF(PRTT), "DELAY_SEC", EXACT, AT(prtt.delay_sec) },
	{ OF(PRTT), "SEC", EXACT, AT(prtt.sec) },
	{ OF(COST), "CPU_SEC", SEC, AT(cost.cpu_sec) },
	{ OF(COST), "ELAPSED_SEC", SEC, AT(cost.elapsed_sec) },
	{ OF(COST), "MESSAGES", U64, AT(cost.messages) },
	{ OF(COST), "RSS_BYTES", U64, AT(cost.rss_bytes) },
	{ OF(MOVED) | OF(CALLS), "ELAPSED_SEC", SEC, AT(moved.elapsed_sec) },
	{ OF(MOVED), "BYTES", U64, AT(moved.n) },
	{ OF(CALLS), "CALLS", U64, AT(moved.n) },
	{ OF(SKIP), "NODE", WORD, AT(skip.node) },
	{ OF(SKIP), "LEAF", WORD, AT(skip.leaf) },
	{ OF(SKIP), "REASON", TEXT, AT(skip.reason) },
	{ OF(NOTE), "TEXT", TEXT, AT(note) },
#undef AT
};

static bool is_of(const struct field *f, const struct np_report *r)
{
	return f->of & 1u << r->kind;
}

/* A window has samples. */
static bool is_empty(const struct np_report *r)
{
	const struct np_moments *m = &r->window.sec;

	return (r->kind == NP_REPORT_LATENCY || r->kind == NP_REPORT_ROUND) &&
	       (!m->n || !np_moments_valid(m));
}

/* ---- writing ---- */

struct out {
	char *buf;
	size_t len;
	int bad;
};

__attribute__((format(printf, 2, 3)))
static void put(struct out *o, const char *fmt, ...)
{
	size_t room = NP_REPORT_LINE - o->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->buf + o->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		o->bad = 1;
	else
		o->len += (size_t)n;
}

static int is_graph(char c)
{
	return c > ' ' && c < 0x7f;
}

static void put_word(struct out *o, const char word[NP_REPORT_WORD])
{
	size_t len = strnlen(word, NP_REPORT_WORD);

	for (size_t i = 0; i < len; i++)
		if (!is_graph(word[i]))
			o->bad = 1;
	if (len == NP_REPORT_WORD)
		o->bad = 1;
	else
		put(o, " %s", len ? word : "-");
}

/* Text may come from another library: what is not printable becomes '?'. */
static void put_text(struct out *o, const char text[NP_REPORT_TEXT])
{
	size_t len = strnlen(text, NP_REPORT_TEXT);

	if (!len || len == NP_REPORT_TEXT) {
		o->bad = 1;
		return;
	}
	put(o, " ");
	for (size_t i = 0; i < len; i++)
		put(o, "%c", text[i] == ' ' || is_graph(text[i]) ?
			     text[i] : '?');
}

static void put_field(struct out *o, const struct field *f, const void *v)
{
	switch (f->type) {
	case U32:
		put(o, " %" PRIu32, *(const uint32_t *)v);
		break;
	case U64:
		put(o, " %" PRIu64, *(const uint64_t *)v);
		break;
	case SEC:
		put(o, " %.6f", *(const double *)v);
		break;
	case EXACT:
	case SQUARES:
		put(o, " %.17g", *(const double *)v);
		break;
	case WORD:
		put_word(o, v);
		break;
	case TEXT:
		put_text(o, v);
		break;
	}
}

static void put_bins(struct out *o, const struct np_report *r)
{
	if (!r->window.n_bins || r->window.n_bins > NP_REPORT_BINS)
		o->bad = 1;
	for (size_t i = 0; !o->bad && i < r->window.n_bins; i++)
		put(o, "%c%u:%" PRIu32, i ? ',' : ' ', r->window.bins[i].bin,
		    r->window.bins[i].count);
}

int np_report_format(const struct np_report *r, char buf[NP_REPORT_LINE])
{
	struct out o = { buf, 0, 0 };

	if ((size_t)r->kind >= NP_ARRAY_SIZE(kinds))
		return -EINVAL;
	put(&o, MARK "%s %" PRIu32, kinds[r->kind], r->rank);
	for (size_t i = 0; i < NP_ARRAY_SIZE(fields); i++)
		if (is_of(&fields[i], r))
			put_field(&o, &fields[i],
				  (const char *)r + fields[i].at);
	if (r->kind == NP_REPORT_LATENCY)
		put_bins(&o, r);
	put(&o, "\n");
	return o.bad || is_empty(r) ? -EINVAL : (int)o.len;
}

/* ---- reading: the line may come from anybody ---- */

struct in {
	const char *p;
	const char *kind;
	struct np_err *err;
};

static int damaged(struct in *in, const char *field, const char *expected)
{
	return np_errf(in->err, -EINVAL,
		       "probe report \"%s\": %s: expected %s at \"%.20s\"",
		       in->kind, field, expected, in->p);
}

/* The next word, up to a blank or the end, copied. */
static int word(struct in *in, const char *field, char *out, size_t size)
{
	size_t n = 0;

	while (*in->p == ' ')
		in->p++;
	while (is_graph(in->p[n]))
		n++;
	if (!n || n >= size || (in->p[n] && in->p[n] != ' '))
		return damaged(in, field, "a word");
	memcpy(out, in->p, n);
	out[n] = '\0';
	in->p += n;
	return 0;
}

static int name(struct in *in, const char *field, char out[NP_REPORT_WORD])
{
	int rc = word(in, field, out, NP_REPORT_WORD);

	if (!rc && !strcmp(out, "-"))
		out[0] = '\0';
	return rc;
}

static int number(struct in *in, const char *field, uint64_t max,
		  uint64_t *out)
{
	const char *start = in->p;
	char text[24];

	if (word(in, field, text, sizeof(text)))
		return -EINVAL;
	if (!np_whole_parse(text, max, out))
		return 0;
	in->p = start;
	return damaged(in, field, "a whole number in range");
}

/* Finite, not negative, decimal. */
static int quantity(struct in *in, const char *field, double max, double *out)
{
	const char *start = in->p;
	char text[40], *end;

	if (word(in, field, text, sizeof(text)))
		return -EINVAL;
	/* strtod() would also take "inf", "nan" and "0x1p3" */
	if (strspn(text, "0123456789.e+-") == strlen(text)) {
		*out = strtod(text, &end);
		if (!*end && *out >= 0 && *out <= max)
			return 0;
	}
	in->p = start;
	return damaged(in, field, "a number in range");
}

static int text(struct in *in, const char *field, char out[NP_REPORT_TEXT])
{
	size_t n;

	while (*in->p == ' ')
		in->p++;
	n = strlen(in->p);
	if (!n || n >= NP_REPORT_TEXT)
		return damaged(in, field, "text");
	for (size_t i = 0; i <= n; i++)
		out[i] = !in->p[i] || in->p[i] == ' ' || is_graph(in->p[i]) ?
				 in->p[i] : '?';
	in->p += n;
	return 0;
}

/* "BIN:COUNT,BIN:COUNT,...", bins ascending, counts adding up to N. */
static int read_bins(struct in *in, struct np_report *r)
{
	char list[NP_REPORT_LINE], *at = list, *end;
	uint64_t sum = 0;

	if (word(in, "BINS", list, sizeof(list)))
		return -EINVAL;
	for (long last = -1;; at = end + 1) {
		size_t i = r->window.n_bins;
		unsigned long bin, count = 0;

		errno = 0;
		bin = strtoul(at, &end, 10);
		if (*end == ':' && end[1] >= '0' && end[1] <= '9')
			count = strtoul(end + 1, &end, 10);
		if (*at < '0' || *at > '9' || errno || !count ||
		    count > UINT32_MAX || bin >= NP_HIST_BINS ||
		    (long)bin <= last || i == NP_REPORT_BINS)
			return damaged(in, "BINS", "ascending BIN:COUNT");
		r->window.bins[i].bin = (uint16_t)bin;
		r->window.bins[i].count = (uint32_t)count;
		r->window.n_bins++;
		last = (long)bin;
		sum += count;
		if (*end != ',')
			break;
	}
	if (*end || sum != r->window.sec.n)
		return damaged(in, "BINS", "BIN:COUNT adding up to N");
	return 0;
}

static int read_field(struct in *in, const struct field *f, void *to)
{
	uint64_t v;
	int rc;

	switch (f->type) {
	case U32:
		rc = number(in, f->name, UINT32_MAX, &v);
		if (!rc)
			*(uint32_t *)to = (uint32_t)v;
		return rc;
	case U64:
		return number(in, f->name, UINT64_MAX, to);
	case SEC:
	case EXACT:
		return quantity(in, f->name, TEN_YEARS_SEC, to);
	case SQUARES:
		return quantity(in, f->name, HUGE_VAL, to);
	case WORD:
		return name(in, f->name, to);
	case TEXT:
		return text(in, f->name, to);
	}
	return -EINVAL;
}

static int read_fields(struct in *in, struct np_report *r)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(fields); i++)
		if (is_of(&fields[i], r))
			rc = read_field(in, &fields[i],
					(char *)r + fields[i].at);
	if (rc)
		return rc;
	if (r->kind == NP_REPORT_HELLO && r->rank >= r->hello.n_ranks)
		return damaged(in, "NRANKS", "more than RANK");
	if (is_empty(r))
		return damaged(in, "N MEAN M2 MIN MAX", "moments of samples");
	return r->kind == NP_REPORT_LATENCY ? read_bins(in, r) : 0;
}

static int kind_of(const char *word_, enum np_report_kind *kind)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], word_)) {
			*kind = (enum np_report_kind)i;
			return 0;
		}
	return -EINVAL;
}

int np_report_parse(const char *line, struct np_report *out,
		    struct np_err *err)
{
	char copy[NP_REPORT_LINE], kind[16] = "?";
	struct np_report r;
	size_t len = strnlen(line, NP_REPORT_LINE);
	struct in in = { copy, kind, err };
	uint64_t rank;

	if (strncmp(line, MARK, strlen(MARK)))
		return -ENOMSG;
	if (len == NP_REPORT_LINE)
		return np_errf(err, -EINVAL, "probe report: longer than %d "
			       "bytes: \"%.20s...\"", NP_REPORT_LINE - 1, line);
	memset(&r, 0, sizeof(r)); /* all of the union */
	memcpy(copy, line, len + 1);
	if (len && copy[len - 1] == '\n')
		copy[len - 1] = '\0';
	in.p += strlen(MARK);
	if (word(&in, "KIND", kind, sizeof(kind)))
		return -EINVAL;
	if (kind_of(kind, &r.kind))
		return damaged(&in, "KIND", "hello, lat, round, prtt, "
					    "cost, moved, calls, skip, "
					    "note or bye");
	if (number(&in, "RANK", UINT32_MAX, &rank))
		return -EINVAL;
	r.rank = (uint32_t)rank;
	if (read_fields(&in, &r))
		return -EINVAL;
	if (*in.p)
		return damaged(&in, "end", "nothing more");
	*out = r;
	return 0;
}

/* A pipe that poll() calls writable takes PIPE_BUF bytes, more than a line. */
static int has_room(const struct np_say *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };
	int rc;

	do
		rc = poll(&p, 1, s->wait_ms);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

int np_say(struct np_say *s, const struct np_report *r)
{
	char line[NP_REPORT_LINE];
	int len = np_report_format(r, line);
	ssize_t put;

	if (len < 0)
		return len;
	if (!has_room(s)) {
		s->dropped++;
		return -EAGAIN;
	}
	do
		put = write(s->fd, line, (size_t)len);
	while (put < 0 && errno == EINTR);
	return put < 0 ? -errno : 0;
}
