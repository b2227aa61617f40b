#include "t.h"
#include "np_conf.h"

/* Apply lines, each ended by a newline; all of them must be good. */
static struct np_place_conf conf_of(const char *lines)
{
	static struct np_conf c;

	np_conf_init(&c);
	T_ROW(lines, !np_conf_load(&c, t_write_text("conf", lines), NULL));
	return c.place;
}

T_TEST("without a setting, nothing is placed")
{
	struct np_place_conf c = conf_of("");

	T_ROW("nothing is placed", c.mode == NP_MODE_OFF);
	T_CHECK(c.max_slowdown == 0.1 && c.max_hold_sec == 3600 &&
		c.interval_sec == 2 && !c.unknown_as[0] && !c.n_trusted &&
		!c.n_partitions && !c.n_rules && !c.n_auth_rules);
	T_CHECK(np_place_conf_mode(&c, "debug") == NP_MODE_OFF);
	T_CHECK(!np_place_conf_app(&c, "vasp", "vasp"));
}

T_TEST("limits and times")
{
	struct np_place_conf c =
		conf_of("MaxSlowdown=2.5%\nMaxDefer=90m\n"
			"PlacementInterval=500ms\nUnknownAs=idle\n");

	T_CHECK(c.max_slowdown == 0.025 && c.max_hold_sec == 5400 &&
		c.interval_sec == 0.5 && !strcmp(c.unknown_as, "idle"));
	c = conf_of("UnknownAs=idle\nUnknownAs=None\n");
	T_ROW("none takes it back", !c.unknown_as[0]);
}

/* clang-format off */
static const struct {
	const char *name, *lines, *partition;
	enum np_mode mode;
} modes[] = {
	{ "the default one", "Placement=prefer\n", NULL, NP_MODE_PREFER },
	{ "of a partition not named", "Placement=prefer\n"
	  "PlacementPartition=debug:off\n", "long", NP_MODE_PREFER },
	{ "of a partition named", "PlacementPartition=debug:off\n"
	  "PlacementPartition=long:enforce\n", "long", NP_MODE_ENFORCE },
	{ "whatever the order", "PlacementPartition=debug:off\n"
	  "Placement=enforce\n", "debug", NP_MODE_OFF },
	{ "the later of one partition", "PlacementPartition=long:enforce\n"
	  "PlacementPartition=long:advise\n", "long", NP_MODE_ADVISE },
	{ "a name is not a prefix", "PlacementPartition=long:enforce\n",
	  "lon", NP_MODE_OFF },
	{ "nor has one", "PlacementPartition=lon:enforce\n", "long",
	  NP_MODE_OFF },
	{ "small and capital letters differ", "PlacementPartition=Long:"
	  "enforce\n", "long", NP_MODE_OFF },
	{ "an empty value begins anew", "PlacementPartition=long:enforce\n"
	  "PlacementPartition=\n", "long", NP_MODE_OFF },
};
/* clang-format on */

T_TEST("each partition has its mode")
{
	T_EACH(r, modes) {
		struct np_place_conf c = conf_of(r->lines);

		T_ROW(r->name, np_place_conf_mode(&c, r->partition) == r->mode);
	}
	T_CHECK(!strcmp(np_mode_name(NP_MODE_OFF), "off") &&
		!strcmp(np_mode_name(NP_MODE_ADVISE), "advise") &&
		!strcmp(np_mode_name(NP_MODE_PREFER), "prefer") &&
		!strcmp(np_mode_name(NP_MODE_ENFORCE), "enforce"));
}

static const struct {
	const char *name, *lines, *job, *comment, *app; /* NULL: none */
} rules[] = {
	{ "a name as it is", "JobNameApp=vasp:v\n", "vasp", NULL, "v" },
	{ "the whole name counts", "JobNameApp=vasp:v\n", "vasp2", NULL, NULL },
	{ "a pattern", "JobNameApp=vasp*:v\n", "vasp2", NULL, "v" },
	{ "a set of letters", "JobNameApp=run[0-9]:v\n", "run7", NULL, "v" },
	{ "letters count as they are", "JobNameApp=vasp*:v\n", "VASP", NULL,
	  NULL },
	{ "split at the last colon", "JobNameApp=a:b*:v\n", "a:bc", NULL, "v" },
	{ "a space inside", "JobNameApp=my job:v\n", "my job", NULL, "v" },
	{ "an equals sign inside", "CommentApp=app=fft:v\n", NULL, "app=fft",
	  "v" },
	{ "the comment", "CommentApp=*fft*:fft\n", "vasp", "my fft run",
	  "fft" },
	{ "a name is no comment", "CommentApp=fft:fft\n", "fft", NULL, NULL },
	{ "a comment is no name", "JobNameApp=fft:fft\n", NULL, "fft", NULL },
	{ "the first that matches",
	  "CommentApp=b:one\nJobNameApp=a:two\n"
	  "JobNameApp=*:three\n",
	  "a", "b", "one" },
	{ "a later one where it does not",
	  "CommentApp=x:one\n"
	  "JobNameApp=a:two\nJobNameApp=*:three\n",
	  "a", "b", "two" },
	{ "no comment is not an empty one", "CommentApp=*:one\n", "a", "",
	  NULL },
	{ "an empty value forgets its own",
	  "JobNameApp=a:one\n"
	  "CommentApp=b:two\nJobNameApp=\nCommentApp=*:three\n",
	  "a", "b", "two" },
	{ "an empty value removes all of them",
	  "JobNameApp=a:one\nJobNameApp=b:two\n"
	  "JobNameApp=\n",
	  "b", NULL, NULL },
};

T_TEST("the application of a job by name or comment")
{
	T_EACH(r, rules) {
		struct np_place_conf c = conf_of(r->lines);
		const char *app = np_place_conf_app(&c, r->job, r->comment);

		T_ROW(r->name, r->app ? app && !strcmp(app, r->app) : !app);
	}
}

T_TEST("a text beyond bounds matches nothing")
{
	struct np_place_conf c = conf_of("CommentApp=*:v\n");
	char text[NP_PLACE_TEXT_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[NP_PLACE_TEXT_MAX + 1] = '\0';
	T_CHECK(!np_place_conf_app(&c, NULL, text));
	text[NP_PLACE_TEXT_MAX] = '\0';
	T_CHECK(!!np_place_conf_app(&c, NULL, text));
}

static const struct {
	const char *name, *lines;
	size_t n;
	uint32_t uid[3];
} trusted[] = {
	{ "numbers", "TrustedUsers=1000,7\n", 2, { 1000, 7 } },
	{ "names", "TrustedUsers=root\n", 1, { 0 } },
	{ "once each", "TrustedUsers=7,0,7,root\n", 2, { 7, 0 } },
	{ "a further line adds",
	  "TrustedUsers=7\nTrustedUsers=8,9\n",
	  3,
	  { 7, 8, 9 } },
	{ "an empty one begins anew",
	  "TrustedUsers=7\nTrustedUsers=\n"
	  "TrustedUsers=8\n",
	  1,
	  { 8 } },
};

T_TEST("trusted users by name and number")
{
	T_EACH(r, trusted) {
		struct np_place_conf c = conf_of(r->lines);

		T_ROW(r->name, c.n_trusted == r->n);
		T_ROW(r->name,
		      !memcmp(c.trusted, r->uid, r->n * sizeof(c.trusted[0])));
	}
}

static const struct {
	const char *format; /* of a number */
	int most;
	const char *says;
} too_many[] = {
	{ "PlacementPartition=p%d:off", NP_PLACE_MAX_PARTITIONS,
	  "PlacementPartition=p64:off: too many, expected at most 64" },
	{ "TrustedUsers=%d", NP_PLACE_MAX_TRUSTED,
	  "TrustedUsers=64: too many at \"64\", expected at most 64" },
	{ "JobNameApp=j%d:app", NP_PLACE_MAX_RULES,
	  "JobNameApp=j64:app: too many, expected at most 64" },
	{ "CommentApp=j%d:app", NP_PLACE_MAX_RULES,
	  "CommentApp=j64:app: too many, expected at most 64" },
};

T_TEST("one entry too many is reported")
{
	static struct np_conf c, before;

	T_EACH(r, too_many) {
		struct np_err err = NP_ERR_INIT;
		char line[64];

		np_conf_init(&c);
		for (int k = 0; k <= r->most; k++) {
			snprintf(line, sizeof(line), r->format, k);
			before = c;
			T_ROW(line, np_conf_set(&c, line, &err) ==
					    (k < r->most ? 0 : -EINVAL));
		}
		T_ROW(line, strstr(err.text, r->says));
		T_ROW(line, !memcmp(&c, &before, sizeof(c)));
	}
}

T_TEST("values too long are refused")
{
	static struct np_conf c, before;
	char line[2 * PATH_MAX];

	np_conf_init(&c);
	before = c;
	memset(line, 'x', sizeof(line));
	memcpy(line, "JobNameApp=", 11);
	strcpy(line + 11 + NP_PLACE_PATTERN_MAX + 1, ":app");
	T_CHECK(np_conf_set(&c, line, NULL) == -EINVAL);
	memset(line, 'x', sizeof(line));
	memcpy(line, "PlacementPartition=", 19);
	strcpy(line + 19 + NP_PLACE_NAME_MAX + 1, ":off");
	T_CHECK(np_conf_set(&c, line, NULL) == -EINVAL);
	/* Not the part of it that fits into a buffer. */
	memset(line, '1', sizeof(line));
	memcpy(line, "TrustedUsers=", 13);
	for (size_t i = 14; i < sizeof(line); i += 2)
		line[i] = ',';
	line[sizeof(line) - 1] = '\0';
	T_CHECK(np_conf_set(&c, line, NULL) == -EINVAL);
	T_CHECK(!memcmp(&c, &before, sizeof(c)));
}

/* 64 zeros are root; what follows must not be dropped. */
T_TEST("a name of a user that is too long is refused, not cut")
{
	static struct np_conf c, before;
	struct np_err err = NP_ERR_INIT;
	char line[128] = "TrustedUsers=7,";

	np_conf_init(&c);
	before = c;
	memset(line + 15, '0', 64);
	T_CHECK(np_conf_set(&c, line, NULL) == 0);
	T_CHECK(c.place.n_trusted == 2 && c.place.trusted[1] == 0);
	c = before;
	strcpy(line + 15 + 64, "8,9");
	T_CHECK(np_conf_set(&c, line, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text,
			 "\"0000000000000000...\" has 65 "
			 "characters, expected uids or names of at most 64"));
	T_CHECK(!memcmp(&c, &before, sizeof(c)));
}
