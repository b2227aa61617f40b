#include "np_level.h"

#include <errno.h>
#include <string.h>

#include "np_option.h"

/*
 * The size of its messages determines how a program loads a leaf, and how much
 * it is slowed by other load. The levels therefore use different sizes.
 *
 * c0, c5 and c6 send one message at a time to either neighbour, of 64 bytes, 4
 * KB and 16 KB, without a pause, as most programs do that wait for each answer.
 * c1 does the same with small messages and a pause.
 *
 * c2, c3, c4 and c7 send 1, 4, 8 and 12 messages of 40 KB in a round, as in the
 * paper.
 * With T = P * M * (time of one message through the bottleneck), such a level
 * uses about T / (B + T) of it: 41, 75, 93 and 100 % of links on which 40 KB
 * take some 17 ms (8 nodes share a leaf of 80 Mbit/s, or 20 Mbit/s per node).
 * On a fabric N times as fast the levels with a pause cause N times less load;
 * for loads in between use levels such as "P4:M10:B20us".
 *
 * The table is in the order of nominal load (np_calibrate.c).
 */
const struct np_level np_levels[] = {
	{ "c0", 2, 1, 0, 64 },
	{ "c1", 2, 1, 2e-3, 1024 },
	{ "c2", 1, 1, 25e-3, NP_LEVEL_BYTES },
	{ "c3", 2, 2, 24e-3, NP_LEVEL_BYTES },
	{ "c4", 2, 4, 10e-3, NP_LEVEL_BYTES },
	{ "c5", 2, 1, 0, 4096 },
	{ "c6", 2, 1, 0, 16384 },
	{ "c7", 3, 4, 0, NP_LEVEL_BYTES },
};
const size_t np_n_levels = NP_ARRAY_SIZE(np_levels);

static int fail_invalid(const char *text, struct np_err *err, const char *why)
{
	return np_errf(err, -EINVAL,
		       "level \"%s\": %s; expected %s to %s, or "
		       "P4:M10:B250us[:S40960]",
		       text, why, np_levels[0].name,
		       np_levels[np_n_levels - 1].name);
}

/* Parse one part, such as "P4". Returns NULL, or what is wrong with it. */
static const char *set_part(struct np_level *level, const char *part)
{
	const struct {
		char letter;
		uint32_t min, max, *to;
		const char *expected;
	} whole[] = {
		{ 'P', 1, NP_LEVEL_MAX_PEERS, &level->peers,
		  "P is 1 to 1024 peers" },
		{ 'M', 1, NP_LEVEL_MAX_MESSAGES, &level->messages,
		  "M is 1 to 1024 messages" },
		{ 'S', NP_LEVEL_MIN_BYTES, NP_LEVEL_MAX_BYTES, &level->bytes,
		  "S is 8 to 16777216 bytes" },
	};
	uint64_t n;

	if (*part == 'B')
		return np_duration_parse(part + 1, &level->pause_sec) ||
				       level->pause_sec >
					       NP_LEVEL_MAX_PAUSE_SEC ?
			       "B is a pause up to 60s, with its unit" :
			       NULL;
	for (size_t i = 0; i < NP_ARRAY_SIZE(whole); i++) {
		if (*part != whole[i].letter)
			continue;
		if (np_whole_parse(part + 1, whole[i].max, &n) ||
		    n < whole[i].min)
			return whole[i].expected;
		*whole[i].to = (uint32_t)n;
		return NULL;
	}
	return "unknown part";
}

int np_level_check(const struct np_level *level, struct np_err *err)
{
	if ((uint64_t)level->peers * level->messages <= NP_LEVEL_MAX_IN_FLIGHT)
		return 0;
	return np_errf(err, -EINVAL,
		       "level with %u peers and %u messages to each: expected "
		       "at most %u messages a round",
		       level->peers, level->messages, NP_LEVEL_MAX_IN_FLIGHT);
}

/* Parse "P4:M10:B250us:S40960": parts in any order, each at most once. */
static int parse_parts(const char *text, struct np_level *level,
		       struct np_err *err)
{
	char copy[NP_LEVEL_NAME], *rest = NULL;
	char seen[5] = ""; /* letters of "PMBS" seen so far */

	strcpy(copy, text);
	for (char *part = strtok_r(copy, ":", &rest); part;
	     part = strtok_r(NULL, ":", &rest)) {
		const char *why = set_part(level, part);

		if (why)
			return fail_invalid(text, err, why);
		if (strchr(seen, part[0]))
			return fail_invalid(text, err, "a part is given twice");
		strncat(seen, part, 1);
	}
	if (!strchr(seen, 'P') || !strchr(seen, 'M') || !strchr(seen, 'B'))
		return fail_invalid(text, err, "P, M and B are required");
	return np_level_check(level, err);
}

int np_level_parse(const char *text, struct np_level *out, struct np_err *err)
{
	struct np_level level = { .bytes = NP_LEVEL_BYTES };
	int rc;

	for (size_t i = 0; i < np_n_levels; i++)
		if (!strcmp(np_levels[i].name, text)) {
			*out = np_levels[i];
			return 0;
		}
	if (strlen(text) >= sizeof(level.name))
		return fail_invalid("...", err, "longer than 63 characters");
	if (*text && !strchr(text, ':') && !strchr("PMBS", *text))
		return fail_invalid(text, err, "no such level");
	rc = parse_parts(text, &level, err);
	if (rc)
		return rc;
	strcpy(level.name, text);
	*out = level;
	return 0;
}
