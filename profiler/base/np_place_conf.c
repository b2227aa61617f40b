#include "np_place_conf.h"

#include <errno.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "np_conf_key.h"
#include "np_ids.h"

#define MAX_USER 64

static const char *const mode_names[] = {
	[NP_MODE_OFF] = "off",
	[NP_MODE_ADVISE] = "advise",
	[NP_MODE_PREFER] = "prefer",
	[NP_MODE_ENFORCE] = "enforce",
};

const char *np_mode_name(enum np_mode mode)
{
	return mode_names[mode];
}

void np_place_conf_init(struct np_place_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->mode = NP_MODE_OFF;
	c->max_slowdown = 0.1;
	c->max_defer_sec = 3600;
	c->interval_sec = 2;
}

enum np_mode np_place_conf_mode(const struct np_place_conf *c,
				const char *partition)
{
	for (size_t i = 0; partition && i < c->n_partitions; i++)
		if (!strcmp(c->partition[i].name, partition))
			return c->partition[i].mode;
	return c->mode;
}

bool np_place_conf_at_work(const struct np_place_conf *c)
{
	if (c->mode != NP_MODE_OFF)
		return true;
	for (size_t i = 0; i < c->n_partitions; i++)
		if (c->partition[i].mode != NP_MODE_OFF)
			return true;
	return false;
}

static bool matches(const struct np_place_rule *r, const char *text)
{
	return text && *text &&
	       strnlen(text, NP_PLACE_TEXT_MAX + 1) <= NP_PLACE_TEXT_MAX &&
	       !fnmatch(r->pattern, text, 0);
}

const char *np_place_conf_app(const struct np_place_conf *c,
			      const char *job_name, const char *comment)
{
	for (size_t i = 0; i < c->n_rules; i++)
		if (matches(&c->rule[i], c->rule[i].what == NP_PLACE_JOB_NAME ?
			    job_name : comment))
			return c->rule[i].app;
	return NULL;
}

static int set_mode(const struct np_conf_key *k, const char *v, void *field)
{
	(void)k;
	for (size_t i = 0; i < NP_ARRAY_SIZE(mode_names); i++)
		if (!strcasecmp(v, mode_names[i])) {
			*(enum np_mode *)field = (enum np_mode)i;
			return 0;
		}
	return -EINVAL;
}

static int set_unknown(const struct np_conf_key *k, const char *v, void *field)
{
	bool none = !strcasecmp(v, "none");

	(void)k;
	if (!none && np_app_check(v, NULL))
		return -EINVAL;
	strcpy(field, none ? "" : v);
	return 0;
}

static bool is_partition(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)name[i]) || name[i] == ',')
			return false;
	return len && len <= NP_PLACE_NAME_MAX;
}

static int add_partition(void *conf, const char *v, struct np_err *why)
{
	struct np_place_conf *c = conf;
	const char *colon = strrchr(v, ':');
	size_t len = colon ? (size_t)(colon - v) : 0, i = 0;
	enum np_mode mode;

	if (!*v) {
		memset(c->partition, 0, sizeof(c->partition));
		c->n_partitions = 0;
		return 0;
	}
	if (!is_partition(v, len) || set_mode(NULL, colon + 1, &mode))
		return np_errf(why, -EINVAL, "expected PARTITION:MODE, a mode "
			       "being off, advise, prefer or enforce");
	while (i < c->n_partitions &&
	       (strlen(c->partition[i].name) != len ||
		memcmp(c->partition[i].name, v, len)))
		i++;
	if (i == NP_PLACE_MAX_PARTITIONS)
		return np_errf(why, -EINVAL, "one too many, expected at most "
			       "%d partitions", NP_PLACE_MAX_PARTITIONS);
	memcpy(c->partition[i].name, v, len);
	c->partition[i].mode = mode;
	if (i == c->n_partitions)
		c->n_partitions++;
	return 0;
}

static int add_user(struct np_place_conf *c, const char *user,
		    struct np_err *why)
{
	uint32_t uid;

	if (np_uid_of(user, &uid))
		return np_errf(why, -EINVAL, "\"%s\" is no user, expected uids "
			       "or names of users, with commas", user);
	for (size_t i = 0; i < c->n_trusted; i++)
		if (c->trusted[i] == uid)
			return 0;
	if (c->n_trusted == NP_PLACE_MAX_TRUSTED)
		return np_errf(why, -EINVAL, "\"%s\" is one too many, expected "
			       "at most %d users", user, NP_PLACE_MAX_TRUSTED);
	c->trusted[c->n_trusted++] = uid;
	return 0;
}

static int add_users(void *conf, const char *v, struct np_err *why)
{
	struct np_place_conf *c = conf;
	size_t before = *v ? c->n_trusted : 0;
	char user[MAX_USER + 1];
	int rc = 0;

	c->n_trusted = before;
	for (const char *next = v; !rc && *v; v = next) {
		size_t len = strcspn(v, ",");

		next = v + len + (v[len] == ',');
		if (len > MAX_USER) { /* the part that fits is another user */
			rc = np_errf(why, -EINVAL, "\"%.16s...\" has %zu "
				     "characters, expected uids or names of at "
				     "most %d", v, len, MAX_USER);
			break;
		}
		memcpy(user, v, len);
		user[len] = '\0';
		rc = add_user(c, user, why);
	}
	while (c->n_trusted > before && rc)
		c->trusted[--c->n_trusted] = 0;
	return rc;
}

static void forget_rules(struct np_place_conf *c, enum np_place_what what)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_rules; i++)
		if (c->rule[i].what != what)
			c->rule[n++] = c->rule[i];
	c->n_rules = n;
}

static int add_rule(struct np_place_conf *c, enum np_place_what what,
		    const char *v, struct np_err *why)
{
	struct np_place_rule *r = &c->rule[c->n_rules];
	const char *colon = strrchr(v, ':');
	size_t len = colon ? (size_t)(colon - v) : 0;

	if (!*v) {
		forget_rules(c, what);
		return 0;
	}
	if (!len || len > NP_PLACE_PATTERN_MAX)
		return np_errf(why, -EINVAL, "expected PATTERN:APP, a pattern "
			       "of 1 to %d characters", NP_PLACE_PATTERN_MAX);
	if (np_app_check(colon + 1, why))
		return -EINVAL;
	if (c->n_rules == NP_PLACE_MAX_RULES)
		return np_errf(why, -EINVAL, "one too many, expected at most "
			       "%d of JobNameApp and CommentApp together",
			       NP_PLACE_MAX_RULES);
	memset(r, 0, sizeof(*r));
	r->what = what;
	memcpy(r->pattern, v, len);
	strcpy(r->app, colon + 1);
	c->n_rules++;
	return 0;
}

static int add_job_name(void *conf, const char *v, struct np_err *why)
{
	return add_rule(conf, NP_PLACE_JOB_NAME, v, why);
}

static int add_comment(void *conf, const char *v, struct np_err *why)
{
	return add_rule(conf, NP_PLACE_COMMENT, v, why);
}

static int add_claim(void *conf, const char *v, struct np_err *why)
{
	struct np_place_conf *c = conf;

	if (*v)
		return np_claim_parse(v, c->claim, &c->n_claims, why);
	memset(c->claim, 0, sizeof(c->claim));
	c->n_claims = 0;
	return 0;
}

const struct np_conf_key np_place_keys[] = {
#define SET(name, set, field, ...) \
	{ name, set, offsetof(struct np_place_conf, field), __VA_ARGS__ }
#define ADD(name, adds) { name, .add = adds }
	SET("Placement", set_mode, mode, "off, advise, prefer or enforce"),
	ADD("PlacementPartition", add_partition),
	SET("MaxSlowdown", np_conf_set_share, max_slowdown,
	    "a share from 0% to 10000%, such as 10%", 0, 100),
	SET("MaxDefer", np_conf_set_time, max_defer_sec,
	    "a time from 1s to 8760h with its unit, such as 1h", 1,
	    365 * 86400.0),
	SET("PlacementInterval", np_conf_set_time, interval_sec,
	    "a time from 100ms to 1h with its unit, such as 2s", 0.1, 3600),
	SET("UnknownAs", set_unknown, unknown_as,
	    "the name of a published application, or none"),
	ADD("TrustedUsers", add_users),
	ADD("JobNameApp", add_job_name),
	ADD("CommentApp", add_comment),
	ADD("Claim", add_claim),
#undef SET
#undef ADD
};

const size_t np_n_place_keys = NP_ARRAY_SIZE(np_place_keys);
