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

#include "np_option.h"

#define PREFIX "np1 "
/* the limit of np_series_add(), too */
#define TEN_YEARS_SEC (10 * 366 * 86400.0)

static const char *const kinds[] = {
	[NP_REPORT_HANDSHAKE] = "hello", [NP_REPORT_LATENCY] = "lat",
	[NP_REPORT_ROUND] = "round",	 [NP_REPORT_PRTT] = "prtt",
	[NP_REPORT_COST] = "cost",	 [NP_REPORT_TRANSFERRED] = "moved",
	[NP_REPORT_LINK] = "link",	 [NP_REPORT_NIC] = "nic",
	[NP_REPORT_CALLS] = "calls",	 [NP_REPORT_SKIP] = "skip",
	[NP_REPORT_PAIR] = "pair",	 [NP_REPORT_NOTE] = "note",
	[NP_REPORT_BYE] = "bye",
};

#define OF(kind) (1u << NP_REPORT_##kind)

/* Fields after the rank, in this order. The bins follow a latency window. */
static const struct field {
	unsigned of; /* bits of the kinds of reports that have it */
	/* SEC: seconds; EXACT: seconds with all digits; SQUARES: unlimited */
	enum { U32, U64, SEC, EXACT, SQUARES, WORD, TEXT } type;
	size_t at;
} fields[] = {
#define AT(member) offsetof(struct np_report, member)
	{ OF(HANDSHAKE), U32, AT(handshake.n_ranks) },
	{ OF(HANDSHAKE), WORD, AT(handshake.node) },
	{ OF(HANDSHAKE), WORD, AT(handshake.leaf) },
	{ OF(HANDSHAKE), WORD, AT(handshake.peer_node) },
	{ OF(HANDSHAKE), WORD, AT(handshake.transport) },
	{ OF(HANDSHAKE), WORD, AT(handshake.version) },
	/* 17 digits, so that the reader gets exactly these moments. */
	{ OF(LATENCY) | OF(ROUND), SEC, AT(window.at_sec) },
	{ OF(LATENCY) | OF(ROUND), U64, AT(window.sec.n) },
	{ OF(LATENCY) | OF(ROUND), EXACT, AT(window.sec.mean) },
	{ OF(LATENCY) | OF(ROUND), SQUARES, AT(window.sec.m2) },
	{ OF(LATENCY) | OF(ROUND), EXACT, AT(window.sec.min) },
	{ OF(LATENCY) | OF(ROUND), EXACT, AT(window.sec.max) },
	{ OF(PRTT), U32, AT(prtt.block) },
	{ OF(PRTT), U32, AT(prtt.n) },
	{ OF(PRTT), U32, AT(prtt.bytes) },
	{ OF(PRTT), EXACT, AT(prtt.delay_sec) },
	{ OF(PRTT), EXACT, AT(prtt.sec) },
	{ OF(PAIR), U32, AT(pair.peer) },
	{ OF(PAIR), EXACT, AT(pair.sec) },
	{ OF(COST), SEC, AT(cost.cpu_sec) },
	{ OF(COST), SEC, AT(cost.elapsed_sec) },
	{ OF(COST), U64, AT(cost.messages) },
	{ OF(COST), U64, AT(cost.rss_bytes) },
	{ OF(LINK), U64, AT(link) },
	{ OF(TRANSFERRED) | OF(CALLS), SEC, AT(transferred.elapsed_sec) },
	{ OF(TRANSFERRED) | OF(CALLS), U64, AT(transferred.n) },
	{ OF(NIC), WORD, AT(nic.device) },
	{ OF(NIC), SEC, AT(nic.elapsed_sec) },
	{ OF(NIC), U32, AT(nic.counts.has) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_SENT]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_RECEIVED]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_WAIT]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_PAUSE]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_ECN]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_CNP]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_DISCARD]) },
	{ OF(NIC), U64, AT(nic.counts.n[NP_NIC_RETRY]) },
	{ OF(SKIP), WORD, AT(skip.node) },
	{ OF(SKIP), WORD, AT(skip.leaf) },
	{ OF(SKIP), TEXT, AT(skip.reason) },
	{ OF(NOTE), TEXT, AT(note) },
#undef AT
};

static bool has_field(const struct field *field, const struct np_report *report)
{
	return field->of & 1u << report->kind;
}

/* A window must have samples, and consistent moments. */
static bool is_empty(const struct np_report *report)
{
	const struct np_moments *moments = &report->window.sec;

	return (report->kind == NP_REPORT_LATENCY ||
		report->kind == NP_REPORT_ROUND) &&
	       (!moments->n || !np_moments_valid(moments));
}

/* ---- writing ---- */

struct out {
	char *buf;
	size_t len;
	int bad;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out,
						      const char *fmt, ...)
{
	size_t room = NP_REPORT_LINE - out->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out->buf + out->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		out->bad = 1;
	else
		out->len += (size_t)n;
}

static int is_graph(char c)
{
	return c > ' ' && c < 0x7f;
}

void np_report_word(char word[NP_REPORT_WORD], const char *text)
{
	snprintf(word, NP_REPORT_WORD, "%s", text);
	for (char *c = word; *c; c++)
		if (!is_graph(*c))
			*c = '?';
}

static void put_word(struct out *out, const char word[NP_REPORT_WORD])
{
	size_t len = strnlen(word, NP_REPORT_WORD);

	for (size_t i = 0; i < len; i++)
		if (!is_graph(word[i]))
			out->bad = 1;
	if (len == NP_REPORT_WORD)
		out->bad = 1;
	else
		put(out, " %s", len ? word : "-");
}

/* Text may come from another library: '?' stands for what is not printable. */
static void put_text(struct out *out, const char text[NP_REPORT_TEXT])
{
	size_t len = strnlen(text, NP_REPORT_TEXT);

	if (!len || len == NP_REPORT_TEXT) {
		out->bad = 1;
		return;
	}
	put(out, " ");
	for (size_t i = 0; i < len; i++)
		put(out, "%c",
		    text[i] == ' ' || is_graph(text[i]) ? text[i] : '?');
}

static void put_field(struct out *out, const struct field *field, const void *v)
{
	switch (field->type) {
	case U32:
		put(out, " %" PRIu32, *(const uint32_t *)v);
		break;
	case U64:
		put(out, " %" PRIu64, *(const uint64_t *)v);
		break;
	case SEC:
		put(out, " %.6f", *(const double *)v);
		break;
	case EXACT:
	case SQUARES:
		put(out, " %.17g", *(const double *)v);
		break;
	case WORD:
		put_word(out, v);
		break;
	case TEXT:
		put_text(out, v);
		break;
	}
}

static void put_bins(struct out *out, const struct np_report *report)
{
	if (!report->window.n_bins || report->window.n_bins > NP_REPORT_BINS)
		out->bad = 1;
	for (size_t i = 0; !out->bad && i < report->window.n_bins; i++)
		put(out, "%c%u:%" PRIu32, i ? ',' : ' ',
		    report->window.bins[i].bin, report->window.bins[i].count);
}

int np_report_format(const struct np_report *report, char buf[NP_REPORT_LINE])
{
	struct out out = { buf, 0, 0 };

	if ((size_t)report->kind >= NP_ARRAY_SIZE(kinds))
		return -EINVAL;
	put(&out, PREFIX "%s %" PRIu32, kinds[report->kind], report->rank);
	for (size_t i = 0; i < NP_ARRAY_SIZE(fields); i++)
		if (has_field(&fields[i], report))
			put_field(&out, &fields[i],
				  (const char *)report + fields[i].at);
	if (report->kind == NP_REPORT_LATENCY)
		put_bins(&out, report);
	put(&out, "\n");
	return out.bad || is_empty(report) ? -EINVAL : (int)out.len;
}

/* ---- reading; a line may come from any program ---- */

/* Copy the next word, up to a blank or the end. */
static bool read_word(const char **at, char *out, size_t size)
{
	size_t n = 0;

	*at += strspn(*at, " ");
	while (is_graph((*at)[n]))
		n++;
	if (!n || n >= size || ((*at)[n] && (*at)[n] != ' '))
		return false;
	memcpy(out, *at, n);
	out[n] = '\0';
	*at += n;
	return true;
}

static bool read_name(const char **at, char out[NP_REPORT_WORD])
{
	if (!read_word(at, out, NP_REPORT_WORD))
		return false;
	if (!strcmp(out, "-"))
		out[0] = '\0';
	return true;
}

static bool read_number(const char **at, uint64_t max, uint64_t *out)
{
	char text[24];

	return read_word(at, text, sizeof(text)) &&
	       !np_whole_parse(text, max, out);
}

static bool read_number32(const char **at, uint32_t *out)
{
	uint64_t v;

	if (!read_number(at, UINT32_MAX, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

/* A decimal number that is not negative. */
static bool read_quantity(const char **at, double max, double *out)
{
	char digits[40];
	const char *end;

	if (!read_word(at, digits, sizeof(digits)))
		return false;
	end = np_decimal_parse(digits, out);
	return end && !*end && *out >= 0 && *out <= max;
}

/* The rest of the line. */
static bool read_text(const char **at, char out[NP_REPORT_TEXT])
{
	size_t n;

	*at += strspn(*at, " ");
	n = strlen(*at);
	if (!n || n >= NP_REPORT_TEXT)
		return false;
	for (; **at; (*at)++)
		*out++ = **at == ' ' || is_graph(**at) ? **at : '?';
	*out = '\0';
	return true;
}

/*
 * "BIN:COUNT,BIN:COUNT,...": bins in ascending order, whose counts add up to N.
 */
static bool read_bins(const char **line, struct np_report *report)
{
	char list[NP_REPORT_LINE], *at = list, *end;
	uint64_t sum = 0;

	if (!read_word(line, list, sizeof(list)))
		return false;
	for (long last = -1;; at = end + 1) {
		size_t i = report->window.n_bins;
		unsigned long bin, count = 0;

		errno = 0;
		bin = strtoul(at, &end, 10);
		if (*end == ':' && end[1] >= '0' && end[1] <= '9')
			count = strtoul(end + 1, &end, 10);
		if (*at < '0' || *at > '9' || errno || !count ||
		    count > UINT32_MAX || bin >= NP_HIST_BINS ||
		    (long)bin <= last || i == NP_REPORT_BINS)
			return false;
		report->window.bins[i].bin = (uint16_t)bin;
		report->window.bins[i].count = (uint32_t)count;
		report->window.n_bins++;
		last = (long)bin;
		sum += count;
		if (*end != ',')
			break;
	}
	return !*end && sum == report->window.sec.n;
}

static bool read_field(const char **at, const struct field *field, void *to)
{
	switch (field->type) {
	case U32:
		return read_number32(at, to);
	case U64:
		return read_number(at, UINT64_MAX, to);
	case SEC:
	case EXACT:
		return read_quantity(at, TEN_YEARS_SEC, to);
	case SQUARES:
		return read_quantity(at, HUGE_VAL, to);
	case WORD:
		return read_name(at, to);
	case TEXT:
		return read_text(at, to);
	}
	return false;
}

static bool read_kind(const char **at, enum np_report_kind *kind)
{
	char kind_name[16];

	if (!read_word(at, kind_name, sizeof(kind_name)))
		return false;
	for (size_t i = 0; i < NP_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], kind_name)) {
			*kind = (enum np_report_kind)i;
			return true;
		}
	return false;
}

static bool read_report(const char *at, struct np_report *report)
{
	if (!read_kind(&at, &report->kind) ||
	    !read_number32(&at, &report->rank))
		return false;
	for (size_t i = 0; i < NP_ARRAY_SIZE(fields); i++)
		if (has_field(&fields[i], report) &&
		    !read_field(&at, &fields[i], (char *)report + fields[i].at))
			return false;
	if ((report->kind == NP_REPORT_HANDSHAKE &&
	     report->rank >= report->handshake.n_ranks) ||
	    is_empty(report) ||
	    (report->kind == NP_REPORT_LATENCY && !read_bins(&at, report)))
		return false;
	return !*at;
}

int np_report_parse(const char *line, struct np_report *out)
{
	size_t len = strnlen(line, NP_REPORT_LINE);
	char copy[NP_REPORT_LINE];
	struct np_report report;

	if (strncmp(line, PREFIX, strlen(PREFIX)))
		return -ENOMSG;
	if (len == NP_REPORT_LINE)
		return -EINVAL;
	memset(&report, 0, sizeof(report)); /* the whole union */
	memcpy(copy, line, len + 1);
	if (copy[len - 1] == '\n')
		copy[len - 1] = '\0';
	if (!read_report(copy + strlen(PREFIX), &report))
		return -EINVAL;
	*out = report;
	return 0;
}

/*
 * A pipe that poll() reports as writable takes PIPE_BUF bytes, which is more
 * than a line.
 */
static int has_room(const struct np_report_writer *writer)
{
	struct pollfd pollfd = { .fd = writer->fd, .events = POLLOUT };
	int rc;

	do
		rc = poll(&pollfd, 1, writer->wait_ms);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

int np_report_write(struct np_report_writer *writer,
		    const struct np_report *report)
{
	char line[NP_REPORT_LINE];
	int len = np_report_format(report, line);
	ssize_t put;

	if (len < 0)
		return len;
	if (!has_room(writer)) {
		writer->dropped++;
		return -EAGAIN;
	}
	do
		put = write(writer->fd, line, (size_t)len);
	while (put < 0 && errno == EINTR);
	return put < 0 ? -errno : 0;
}
