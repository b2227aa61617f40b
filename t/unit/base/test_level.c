#include "t.h"
#include "np_level.h"

static const struct {
	const char *name, *text;
	uint32_t peers, messages;
	double pause_sec;
	uint32_t bytes;
} good[] = {
	{ "the mildest", "c0", 2, 1, 0, 64 },
	{ "one of small messages with a pause", "c1", 2, 1, 2e-3, 1024 },
	{ "parts", "P4:M10:B250us", 4, 10, 250e-6, 40960 },
	{ "parts with size", "P4:M10:B250us:S1024", 4, 10, 250e-6, 1024 },
	{ "parts in another order", "B2ms:S8:P1:M2", 1, 2, 2e-3, 8 },
	{ "nanoseconds", "P1:M1:B500ns", 1, 1, 500e-9, 40960 },
	{ "seconds", "P1:M1:B1.5s", 1, 1, 1.5, 40960 },
	{ "no pause", "P1:M1:B0s", 1, 1, 0, 40960 },
	{ "the largest", "P4:M1024:B60s:S16777216", 4, 1024, 60, 16777216 },
};

T_TEST("names and parts are understood")
{
	T_EACH(r, good) {
		struct np_level l = { 0 };
		struct np_err err = NP_ERR_INIT;
		int rc = np_level_parse(r->text, &l, &err);

		T_ROW(r->name, rc == 0 && !err.text[0]);
		T_ROW(r->name, !strcmp(l.name, r->text));
		T_ROW(r->name, l.peers == r->peers &&
				       l.messages == r->messages &&
				       l.bytes == r->bytes);
		T_ROW(r->name, t_close(l.pause_sec, r->pause_sec, 1e-12));
	}
}

static const struct {
	const char *name, *text, *says;
} bad[] = {
	{ "empty", "", "P, M and B are required" },
	{ "a level there is not", "c8", "no such level" },
	{ "another case", "C1", "no such level" },
	{ "no pause given", "P1:M1", "P, M and B are required" },
	{ "a pause without unit", "P1:M1:B250", "with its unit" },
	{ "a negative pause", "P1:M1:B-1us", "with its unit" },
	{ "a pause that is too long", "P1:M1:B61s", "up to 60s" },
	{ "no peers", "P0:M1:B1s", "P is 1 to 1024" },
	{ "too many peers", "P1025:M1:B1s", "P is 1 to 1024" },
	{ "a number that overflows", "P99999999999999999999:M1:B1s", "P is" },
	{ "a number with a sign", "P+1:M1:B1s", "P is 1 to 1024" },
	{ "a number with a tail", "P1:M1x:B1s", "M is 1 to 1024" },
	{ "a number in hexadecimal", "P1:M0x1:B1s", "M is 1 to 1024" },
	{ "too many in flight", "P1024:M1024:B1s", "at most 4096" },
	{ "a size of nothing", "P1:M1:B1s:S0", "S is 8 to" },
	{ "a huge size", "P1:M1:B1s:S16777217", "S is 8 to" },
	{ "a part twice", "P1:P2:M1:B1s", "given twice" },
	{ "the size twice", "P1:M1:B1s:S8:S8", "given twice" },
	{ "an unknown part", "P1:M1:B1s:X3", "unknown part" },
	{ "blanks", "P1: M1:B1s", "unknown part" },
	{ "longer than any level",
	  "P0000000000000000000000000000000000000000000000000000000001"
	  ":M1:B1s",
	  "longer" },
};

T_TEST("anything else is refused, with the reason")
{
	T_EACH(r, bad) {
		struct np_level l = { .peers = 77 };
		struct np_err err = NP_ERR_INIT;
		int rc = np_level_parse(r->text, &l, &err);

		T_ROW(r->name, rc == -EINVAL && l.peers == 77);
		T_ROW(r->name, strstr(err.text, r->says) != NULL);
	}
}

/* The share of a link on which 40 KB take 17.5 ms: see np_level.c. */
static double use(const struct np_level *l)
{
	double transfer_sec =
		l->peers * l->messages * 17.5e-3 * l->bytes / NP_LEVEL_BYTES;

	return transfer_sec / (l->pause_sec + transfer_sec);
}

static const struct {
	const char *name, *level;
	uint32_t bytes;
	double use;
} table[] = {
	{ "64 bytes at a time, no pause", "c0", 64, 1 },
	{ "1 KB at a time, pauses", "c1", 1024, 0.304 },
	{ "40 KB, mostly pauses", "c2", 40960, 0.41 },
	{ "40 KB, most of the link", "c3", 40960, 0.745 },
	{ "40 KB, nearly all of the link", "c4", 40960, 0.933 },
	{ "4 KB at a time, no pause", "c5", 4096, 1 },
	{ "16 KB at a time, no pause", "c6", 16384, 1 },
	{ "40 KB, saturates", "c7", 40960, 1 },
};

T_TEST("the levels' sizes and their use of a link are as documented")
{
	T_CHECK(np_n_levels == NP_ARRAY_SIZE(table));
	for (size_t i = 0; i < NP_ARRAY_SIZE(table); i++) {
		struct np_level l;

		T_ROW(table[i].name,
		      !strcmp(np_levels[i].name, table[i].level));
		T_ROW(table[i].name,
		      np_level_parse(table[i].level, &l, NULL) == 0);
		T_ROW(table[i].name, np_level_check(&l, NULL) == 0);
		T_ROW(table[i].name, l.bytes == table[i].bytes);
		T_ROW(table[i].name, t_close(use(&l), table[i].use, 0.01));
		T_ROW(table[i].name, (l.pause_sec == 0) == (table[i].use == 1));
	}
}
