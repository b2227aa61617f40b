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

#define MARK "np1 "
#define TEN_YEARS_SEC (10 * 366 * 86400.0) /* as np_series_add() */

static const char *const kinds[] = {
	[NP_REPORT_HELLO] = "hello",   [NP_REPORT_LATENCY] = "lat",
	[NP_REPORT_ROUND] = "round",   [NP_REPORT_PRTT] = "prtt",
	[NP_REPORT_COST] = "cost",     [NP_REPORT_MOVED] = "moved",
	[NP_REPORT_CALLS] = "calls",   [NP_REPORT_SKIP] = "skip",
	[NP_REPORT_NOTE] = "note",     [NP_REPORT_BYE] = "bye",
};

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

static void put_window(struct out *o, const struct np_report *r)
{
	const struct np_moments *m = &r->window.sec;

	/* 17 digits: the reader gets exactly these moments back. */
	put(o, " %.6f %" PRIu64 " %.17g %.17g %.17g %.17g", r->window.at_sec,
	    m->n, m->mean, m->m2, m->min, m->max);
	if (!m->n || !np_moments_valid(m) || r->window.n_bins > NP_REPORT_BINS)
		o->bad = 1;
	if (o->bad || r->kind == NP_REPORT_ROUND)
		return;
	o->bad = r->window.n_bins == 0;
	for (size_t i = 0; i < r->window.n_bins; i++)
		put(o, "%c%u:%" PRIu32, i ? ',' : ' ', r->window.bins[i].bin,
		    r->window.bins[i].count);
}

int np_report_format(const struct np_report *r, char buf[NP_REPORT_LINE])
{
	struct out o = { buf, 0, 0 };

	if ((size_t)r->kind >= NP_ARRAY_SIZE(kinds))
		return -EINVAL;
	put(&o, MARK "%s %" PRIu32, kinds[r->kind], r->rank);
	switch (r->kind) {
	case NP_REPORT_HELLO:
		put(&o, " %" PRIu32, r->hello.n_ranks);
		put_word(&o, r->hello.node);
		put_word(&o, r->hello.leaf);
		put_word(&o, r->hello.partner);
		put_word(&o, r->hello.transport);
		put_word(&o, r->hello.version);
		break;
	case NP_REPORT_LATENCY:
	case NP_REPORT_ROUND:
		put_window(&o, r);
		break;
	case NP_REPORT_PRTT:
		put(&o, " %" PRIu32 " %" PRIu32 " %" PRIu32 " %.17g %.17g",
		    r->prtt.block, r->prtt.n, r->prtt.bytes,
		    r->prtt.delay_sec, r->prtt.sec);
		break;
	case NP_REPORT_COST:
		put(&o, " %.6f %.6f %" PRIu64 " %" PRIu64, r->cost.cpu_sec,
		    r->cost.elapsed_sec, r->cost.messages, r->cost.rss_bytes);
		break;
	case NP_REPORT_MOVED:
	case NP_REPORT_CALLS:
		put(&o, " %.6f %" PRIu64, r->moved.elapsed_sec, r->moved.n);
		break;
	case NP_REPORT_SKIP:
		put_word(&o, r->skip.node);
		put_word(&o, r->skip.leaf);
		put_text(&o, r->skip.reason);
		break;
	case NP_REPORT_NOTE:
		put_text(&o, r->note);
		break;
	case NP_REPORT_BYE:
		break;
	}
	put(&o, "\n");
	return o.bad ? -EINVAL : (int)o.len;
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
	char text[24], *end;

	if (word(in, field, text, sizeof(text)))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out <= max)
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

static int read_hello(struct in *in, struct np_report *r)
{
	uint64_t n;

	if (number(in, "NRANKS", UINT32_MAX, &n) ||
	    name(in, "NODE", r->hello.node) ||
	    name(in, "LEAF", r->hello.leaf) ||
	    name(in, "PARTNER", r->hello.partner) ||
	    name(in, "TRANSPORT", r->hello.transport) ||
	    name(in, "VERSION", r->hello.version))
		return -EINVAL;
	if (r->rank >= n)
		return damaged(in, "NRANKS", "more than RANK");
	r->hello.n_ranks = (uint32_t)n;
	return 0;
}

static int read_moments(struct in *in, struct np_report *r)
{
	struct np_moments *m = &r->window.sec;

	if (quantity(in, "AT_SEC", TEN_YEARS_SEC, &r->window.at_sec) ||
	    number(in, "N", UINT64_MAX, &m->n) ||
	    quantity(in, "MEAN", TEN_YEARS_SEC, &m->mean) ||
	    quantity(in, "M2", HUGE_VAL, &m->m2) ||
	    quantity(in, "MIN", TEN_YEARS_SEC, &m->min) ||
	    quantity(in, "MAX", TEN_YEARS_SEC, &m->max))
		return -EINVAL;
	if (!m->n || !np_moments_valid(m))
		return damaged(in, "N MEAN M2 MIN MAX", "moments of samples");
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

static int number32(struct in *in, const char *field, uint32_t *out)
{
	uint64_t v;

	if (number(in, field, UINT32_MAX, &v))
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

static int read_prtt(struct in *in, struct np_prtt *p)
{
	if (number32(in, "BLOCK", &p->block) || number32(in, "N", &p->n) ||
	    number32(in, "BYTES", &p->bytes) ||
	    quantity(in, "DELAY_SEC", TEN_YEARS_SEC, &p->delay_sec) ||
	    quantity(in, "SEC", TEN_YEARS_SEC, &p->sec))
		return -EINVAL;
	return 0;
}

static int read_cost(struct in *in, struct np_report *r)
{
	if (quantity(in, "CPU_SEC", TEN_YEARS_SEC, &r->cost.cpu_sec) ||
	    quantity(in, "ELAPSED_SEC", TEN_YEARS_SEC, &r->cost.elapsed_sec) ||
	    number(in, "MESSAGES", UINT64_MAX, &r->cost.messages) ||
	    number(in, "RSS_BYTES", UINT64_MAX, &r->cost.rss_bytes))
		return -EINVAL;
	return 0;
}

static int read_moved(struct in *in, struct np_report *r)
{
	if (quantity(in, "ELAPSED_SEC", TEN_YEARS_SEC,
		     &r->moved.elapsed_sec) ||
	    number(in, r->kind == NP_REPORT_CALLS ? "CALLS" : "BYTES",
		   UINT64_MAX, &r->moved.n))
		return -EINVAL;
	return 0;
}

static int read_fields(struct in *in, struct np_report *r)
{
	switch (r->kind) {
	case NP_REPORT_HELLO:
		return read_hello(in, r);
	case NP_REPORT_LATENCY:
		return read_moments(in, r) ? -EINVAL : read_bins(in, r);
	case NP_REPORT_ROUND:
		return read_moments(in, r);
	case NP_REPORT_PRTT:
		return read_prtt(in, &r->prtt);
	case NP_REPORT_COST:
		return read_cost(in, r);
	case NP_REPORT_MOVED:
	case NP_REPORT_CALLS:
		return read_moved(in, r);
	case NP_REPORT_SKIP:
		if (name(in, "NODE", r->skip.node) ||
		    name(in, "LEAF", r->skip.leaf))
			return -EINVAL;
		return text(in, "REASON", r->skip.reason);
	case NP_REPORT_NOTE:
		return text(in, "TEXT", r->note);
	case NP_REPORT_BYE:
		break;
	}
	return 0;
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
