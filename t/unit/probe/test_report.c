#include "t.h"
#include "np_report.h"

static const struct np_report handshake = {
	.kind = NP_REPORT_HANDSHAKE,
	.rank = 3,
	.handshake = { 8, "n3", "leaf0", "n4", "tcp/eth0", "1.13.1" },
};
static const struct np_report quiet_handshake = {
	.kind = NP_REPORT_HANDSHAKE,
	.rank = 0,
	.handshake = { 1, "n0", "", "", "", "" },
};
static const struct np_report latency = {
	.kind = NP_REPORT_LATENCY, .rank = 1,
	.window = {
		.at_sec = 12, .sec = { 3, 2e-5, 3e-10, 1e-5, 3e-5 },
		.n_bins = 2, .bins = { { 51, 1 }, { 62, 2 } },
	},
};
static const struct np_report round_ = {
	.kind = NP_REPORT_ROUND,
	.rank = 1,
	.window = { .at_sec = 0.25, .sec = { 2, 0.25, 0.005, 0.2, 0.3 } },
};
static const struct np_report prtt = {
	.kind = NP_REPORT_PRTT,
	.rank = 1,
	.prtt = { 29, 16, 4096, 0.5e-6, 0.25 },
};
static const struct np_report pair = {
	.kind = NP_REPORT_PAIR,
	.rank = 1,
	.pair = { 5, 0.5e-6 },
};
static const struct np_report carries = {
	.kind = NP_REPORT_LINK,
	.rank = 4,
	.link = 12500000000,
};
static const struct np_report transferred = {
	.kind = NP_REPORT_TRANSFERRED,
	.rank = 4,
	.transferred = { 0.25, 123456789012 },
};
static const struct np_report nic = {
	.kind = NP_REPORT_NIC,
	.rank = 4,
	.nic = { "mlx5_0:1", 1.5, { 0x7f, { 4000, 8000, 7, 0, 3, 2, 1 } } },
};
static const struct np_report calls = {
	.kind = NP_REPORT_CALLS,
	.rank = 4,
	.transferred = { 0.25, 4242 },
};
static const struct np_report cost = {
	.kind = NP_REPORT_COST,
	.rank = 4,
	.cost = { 0.25, 100.5, 4000, 9437184 },
};
static const struct np_report skip = {
	.kind = NP_REPORT_SKIP,
	.rank = 2,
	.skip = { "n2", "", "no peer: one node" },
};
static const struct np_report note = {
	.kind = NP_REPORT_NOTE,
	.rank = 4294967295u,
	.note = "a peer left",
};
static const struct np_report bye = { .kind = NP_REPORT_BYE, .rank = 0 };

static const struct {
	const char *name;
	const struct np_report *r;
	const char *line;
} lines[] = {
	{ "hello", &handshake, "np1 hello 3 8 n3 leaf0 n4 tcp/eth0 1.13.1\n" },
	{ "hello with nothing known", &quiet_handshake,
	  "np1 hello 0 1 n0 - - - -\n" },
	{ "latency", &latency,
	  "np1 lat 1 12.000000 3 2.0000000000000002e-05 "
	  "3e-10 1.0000000000000001e-05 "
	  "3.0000000000000001e-05 51:1,62:2\n" },
	{ "round", &round_,
	  "np1 round 1 0.250000 2 0.25 0.0050000000000000001 "
	  "0.20000000000000001 0.29999999999999999\n" },
	{ "round trips", &prtt,
	  "np1 prtt 1 29 16 4096 4.9999999999999998e-07 0.25\n" },
	{ "a pair", &pair, "np1 pair 1 5 4.9999999999999998e-07\n" },
	{ "link", &carries, "np1 link 4 12500000000\n" },
	{ "moved", &transferred, "np1 moved 4 0.250000 123456789012\n" },
	{ "adapters", &nic,
	  "np1 nic 4 mlx5_0:1 1.500000 127 4000 8000 7 0 3 2 1 0\n" },
	{ "calls", &calls, "np1 calls 4 0.250000 4242\n" },
	{ "cost", &cost, "np1 cost 4 0.250000 100.500000 4000 9437184\n" },
	{ "skip", &skip, "np1 skip 2 n2 - no peer: one node\n" },
	{ "note", &note, "np1 note 4294967295 a peer left\n" },
	{ "bye", &bye, "np1 bye 0\n" },
};

T_TEST("every report can be written and read back")
{
	T_EACH(row, lines) {
		char buf[NP_REPORT_LINE];
		struct np_report back;
		int len = np_report_format(row->r, buf);

		T_ROW(row->name, len == (int)strlen(row->line));
		T_ROW(row->name, !strcmp(buf, row->line));
		memset(&back, 0xff, sizeof(back));
		T_ROW(row->name, np_report_parse(buf, &back) == 0);
		/* parse() clears what it does not set */
		T_ROW(row->name, !memcmp(&back, row->r, sizeof(back)));
		buf[len - 1] = '\0'; /* the newline is optional */
		T_ROW(row->name, np_report_parse(buf, &back) == 0);
	}
}

T_TEST("the largest window fits a line")
{
	struct np_report r = { .kind = NP_REPORT_LATENCY, .rank = UINT32_MAX };
	char buf[NP_REPORT_LINE];
	struct np_report back;

	r.window.at_sec = 123456789.123456;
	r.window.n_bins = 44;
	for (size_t i = 0; i < 44; i++) {
		r.window.bins[i].bin = (uint16_t)(NP_HIST_BINS - 44 + i);
		r.window.bins[i].count = UINT32_MAX;
		r.window.sec.n += UINT32_MAX;
	}
	r.window.sec.mean = 1.2345678901234567e-05;
	r.window.sec.m2 = 1.2345678901234567e-105;
	r.window.sec.min = 1.2345678901234567e-105;
	r.window.sec.max = 1.2345678901234567e+05;
	T_CHECK(np_report_format(&r, buf) > 0);
	T_CHECK(np_report_parse(buf, &back) == 0);
	T_CHECK(!memcmp(&back.window, &r.window, sizeof(r.window)));
}

static void spoil_space(struct np_report *r)
{
	strcpy(r->handshake.node, "a b");
}
static void spoil_long(struct np_report *r)
{
	memset(r->handshake.leaf, 'x', sizeof(r->handshake.leaf));
}
static void spoil_newline(struct np_report *r)
{
	strcpy(r->handshake.peer_node, "x\nnp1");
}
static void spoil_kind(struct np_report *r)
{
	r->kind = 99;
}
static void spoil_bins(struct np_report *r)
{
	*r = latency;
	r->window.n_bins = NP_REPORT_BINS + 1;
}
static void spoil_empty(struct np_report *r)
{
	*r = latency;
	r->window.sec.n = 0;
}
static void spoil_moments(struct np_report *r)
{
	*r = round_;
	r->window.sec.m2 = -1;
}
static void spoil_note(struct np_report *r)
{
	*r = note;
	r->note[0] = '\0';
}

static const struct {
	const char *name;
	void (*spoil)(struct np_report *r);
} unfit[] = {
	{ "a name with a blank", spoil_space },
	{ "a name that is too long", spoil_long },
	{ "a name with a newline", spoil_newline },
	{ "no such kind", spoil_kind },
	{ "too many bins", spoil_bins },
	{ "an empty window", spoil_empty },
	{ "impossible moments", spoil_moments },
	{ "an empty note", spoil_note },
};

T_TEST("what does not fit a report is not written")
{
	T_EACH(row, unfit) {
		struct np_report r = handshake;
		char buf[NP_REPORT_LINE];

		row->spoil(&r);
		T_ROW(row->name, np_report_format(&r, buf) == -EINVAL);
	}
}

T_TEST("text is made printable")
{
	struct np_report r = note, back;
	char buf[NP_REPORT_LINE];

	strcpy(r.note, "a\tb\nc\x1b[31m \xc3\xa4");
	T_CHECK(np_report_format(&r, buf) > 0);
	T_CHECK(np_report_parse(buf, &back) == 0);
	T_CHECK(!strcmp(back.note, "a?b?c?[31m ??"));
}

#define M "1e-5 0 1e-5 1e-5"

static const struct {
	const char *name, *line;
	int rc;
} hostile[] = {
	{ "empty", "", -ENOMSG },
	{ "output of somebody else", "Hello, world", -ENOMSG },
	{ "another version", "np2 bye 0", -ENOMSG },
	{ "the mark without a blank", "np1", -ENOMSG },
	{ "nothing but the mark", "np1 ", -EINVAL },
	{ "an unknown kind", "np1 latency 0", -EINVAL },
	{ "a very long kind", "np1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0", -EINVAL },
	{ "no rank", "np1 bye", -EINVAL },
	{ "a negative rank", "np1 bye -1", -EINVAL },
	{ "a rank beyond 32 bits", "np1 bye 4294967296", -EINVAL },
	{ "a rank beyond 64 bits", "np1 bye 99999999999999999999999", -EINVAL },
	{ "a rank with a sign", "np1 bye +1", -EINVAL },
	{ "something after the end", "np1 bye 0 1", -EINVAL },
	{ "two lines in one", "np1 bye 0\nnp1 bye 1\n", -EINVAL },
	{ "a tab", "np1\tbye 0", -ENOMSG },
	{ "a tab inside", "np1 bye\t0", -EINVAL },
	{ "a carriage return", "np1 bye 0\r\n", -EINVAL },
	{ "hello that ends early", "np1 hello 0 1 n0 - -", -EINVAL },
	{ "hello of no ranks", "np1 hello 0 0 n0 - - - -", -EINVAL },
	{ "hello of a rank there is not", "np1 hello 1 1 n0 - - - -", -EINVAL },
	{ "hello with bytes above 127", "np1 hello 0 1 n\xc3\xa4 - - - -",
	  -EINVAL },
	{ "a window without samples", "np1 round 0 1 0 0 0 0 0", -EINVAL },
	{ "a window before the start", "np1 round 0 -1 1 " M, -EINVAL },
	{ "a window in a million years", "np1 round 0 3e13 1 " M, -EINVAL },
	{ "NaN", "np1 round 0 0 1 nan 0 1e-5 1e-5", -EINVAL },
	{ "infinity", "np1 round 0 0 1 1e-5 0 1e-5 inf", -EINVAL },
	{ "overflow to infinity", "np1 round 0 0 1 1e-5 1e999 1e-5 1e-5",
	  -EINVAL },
	{ "hexadecimal", "np1 round 0 0 1 0x1p-3 0 0x1p-3 0x1p-3", -EINVAL },
	{ "minimum above maximum", "np1 round 0 0 2 1.5 1 2 1", -EINVAL },
	{ "mean outside the range", "np1 round 0 0 2 9 1 1 2", -EINVAL },
	{ "negative spread", "np1 round 0 0 2 1.5 -1 1 2", -EINVAL },
	{ "latency without bins", "np1 lat 0 0 1 " M, -EINVAL },
	{ "bins with a count of nothing", "np1 lat 0 0 1 " M " 51:0", -EINVAL },
	{ "bins that do not add up", "np1 lat 0 0 3 " M " 51:2", -EINVAL },
	{ "bins that overflow when added",
	  "np1 lat 0 0 1 " M " 51:18446744073709551615,52:2", -EINVAL },
	{ "a bin there is not", "np1 lat 0 0 1 " M " 177:1", -EINVAL },
	{ "a negative bin", "np1 lat 0 0 1 " M " -1:1", -EINVAL },
	{ "a bin twice", "np1 lat 0 0 2 " M " 51:1,51:1", -EINVAL },
	{ "bins in disorder", "np1 lat 0 0 2 " M " 52:1,51:1", -EINVAL },
	{ "a bin without count", "np1 lat 0 0 1 " M " 51", -EINVAL },
	{ "a comma too many", "np1 lat 0 0 1 " M " 51:1,", -EINVAL },
	{ "bins with blanks", "np1 lat 0 0 2 " M " 51:1, 52:1", -EINVAL },
	{ "moved without bytes", "np1 moved 0 1", -EINVAL },
	{ "moved in less than no time", "np1 moved 0 -1 5", -EINVAL },
	{ "a negative number of calls", "np1 calls 0 1 -5", -EINVAL },
	{ "a negative cost", "np1 cost 0 -1 1 1 1", -EINVAL },
	{ "skip without reason", "np1 skip 0 n0 -", -EINVAL },
	{ "note without text", "np1 note 0", -EINVAL },
};

T_TEST("hostile lines are refused and change nothing")
{
	T_EACH(row, hostile) {
		struct np_report r = bye;
		int rc = np_report_parse(row->line, &r);

		T_ROW(row->name, rc == row->rc);
		T_ROW(row->name, !memcmp(&r, &bye, sizeof(r)));
	}
}

T_TEST("long lines are refused")
{
	char line[3 * NP_REPORT_LINE];
	struct np_report r;

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	T_CHECK(np_report_parse(line, &r) == -ENOMSG);
	memcpy(line, "np1 note 0 ", 11);
	T_CHECK(np_report_parse(line, &r) == -EINVAL);
	line[11 + NP_REPORT_TEXT] = '\0';
	T_CHECK(np_report_parse(line, &r) == -EINVAL);
	line[11 + NP_REPORT_TEXT - 1] = '\0';
	T_CHECK(np_report_parse(line, &r) == 0);
	T_CHECK(strlen(r.note) == NP_REPORT_TEXT - 1);
}

/* Good lines with bytes changed: anything but a crash or a wild report. */
T_TEST("what is accepted can be written again")
{
	srand(1);
	for (int i = 0; i < 100000; i++) {
		char line[NP_REPORT_LINE], buf[NP_REPORT_LINE];
		struct np_report r;
		size_t len;

		strcpy(line, lines[i % NP_ARRAY_SIZE(lines)].line);
		len = strlen(line);
		for (int k = rand() % 4; k >= 0; k--)
			line[4 + (size_t)rand() % (len - 4)] =
				rand() % 2 ? (char)(rand() % 256) :
					     "0123456789:,-.e \n"[rand() % 17];
		if (np_report_parse(line, &r) == 0)
			T_CHECK(np_report_format(&r, buf) > 0);
	}
}
