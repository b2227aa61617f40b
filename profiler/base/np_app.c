#include "np_app.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "np_option.h"

/* ---- application names ---- */

static int is_app_char(unsigned char c)
{
	/* Not isalnum(), which depends on the user's locale. */
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("._+-", c));
}

static int is_app_first_char(unsigned char c)
{
	return is_app_char(c) && c != '.' && c != '-';
}

int np_app_check(const char *name, struct np_err *err)
{
	static const char *expected = "expected 1 to 64 letters, digits or "
				      "\"._+-\", not starting with . or -";
	size_t len = strnlen(name, NP_APP_MAX + 1);
	int ok = len && len <= NP_APP_MAX && is_app_first_char(name[0]);

	for (size_t i = 0; ok && i < len; i++)
		ok = is_app_char(name[i]);
	if (!ok)
		return np_errf(err, -EINVAL, "application name \"%.80s\": %s",
			       name, expected);
	return 0;
}

int np_app_from_text(const char *text, char app[NP_APP_MAX + 1])
{
	int usable = 0;
	size_t i;

	text = basename(text);
	for (i = 0; i < NP_APP_MAX && text[i]; i++)
		usable |= is_app_char(text[i]) && !strchr("._+-", text[i]);
	if (!usable)
		return -EINVAL;
	for (i = 0; i < NP_APP_MAX && text[i]; i++)
		app[i] = is_app_char(text[i]) ? text[i] : '_';
	app[i] = '\0';
	if (!is_app_first_char(app[0]))
		app[0] = '_';
	return 0;
}

/* ---- users and groups ---- */

#define PW_BYTES 16384		/* bytes for one entry of the user database */
/* bytes for a group, at first; it lists its members */
#define GR_BYTES 65536
#define GR_MOST (16u << 20)
#define GROUPS 64		/* groups of one user, at first */

static int parse_id(const char *text, uint32_t *id)
{
	uint64_t n;

	if (np_whole_parse(text, UINT32_MAX - 1, &n))
		return -EINVAL;
	*id = (uint32_t)n;
	return 0;
}

int np_uid_of(const char *user, uint32_t *uid)
{
	char room[PW_BYTES];
	struct passwd pw, *found = NULL;

	if (isdigit((unsigned char)*user))
		return parse_id(user, uid);
	if (!*user ||
	    getpwnam_r(user, &pw, room, sizeof(room), &found) || !found)
		return -ENOENT;
	*uid = pw.pw_uid;
	return 0;
}

static int gid_of(const char *group, uint32_t *gid)
{
	struct group gr, *found = NULL;
	int rc = isdigit((unsigned char)*group) ? parse_id(group, gid) : ERANGE;

	if (rc <= 0)
		return rc;
	for (size_t n = GR_BYTES; *group && rc == ERANGE && n <= GR_MOST;
	     n *= 4) {
		char *room = malloc(n);

		rc = room ? getgrnam_r(group, &gr, room, n, &found) : ENOMEM;
		if (!rc && found)
			*gid = found->gr_gid;
		free(room);
	}
	return !rc && found ? 0 : -ENOENT;
}

static int groups_of_name(const char *user, gid_t own, uint32_t **gid,
			  size_t *n)
{
	gid_t *list = NULL;
	int count = GROUPS, room;

	do {
		gid_t *grown = reallocarray(list, (size_t)count,
					    sizeof(*grown));

		if (!grown) {
			free(list);
			return -ENOMEM;
		}
		list = grown;
		room = count;
		/* It returns the number of groups if they do not fit. */
	} while (getgrouplist(user, own, list, &count) < 0 && count > room);
	*n = (size_t)(count < room ? count : room);
	*gid = list;
	return 0;
}

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are handed over");

int np_groups_of(uint32_t uid, uint32_t **gid, size_t *n)
{
	char room[PW_BYTES];
	struct passwd pw, *found = NULL;
	int rc = getpwuid_r(uid, &pw, room, sizeof(room), &found);

	if (rc)
		return -rc;
	return found ? groups_of_name(pw.pw_name, pw.pw_gid, gid, n) : -ENOENT;
}

/* ---- who may use a published name ---- */

#define MAX_WHO 128   /* such as "partition=" and a name */
#define MAX_TEXT 1024 /* longest text matched; users choose it */

static int bad_who(struct np_err *why, const char *who)
{
	return np_errf(why, -EINVAL, "\"%.40s\": expected all, default, "
		       "user=USER, group=GROUP, account=PATTERN or "
		       "partition=PATTERN", who);
}

static int set_name(struct np_auth_rule *r, const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NP_AUTH_NAME_MAX)
		return -EINVAL;
	memcpy(r->name, name, len + 1);
	return 0;
}

/* Parse one WHO, such as "group=chem". */
static int parse_who(const char *who, struct np_auth_rule *r,
		     struct np_err *why)
{
	static const struct {
		const char *key;
		enum np_auth_by by;
	} keys[] = {
		{ "user=", NP_AUTH_BY_USER },
		{ "group=", NP_AUTH_BY_GROUP },
		{ "account=", NP_AUTH_BY_ACCOUNT },
		{ "partition=", NP_AUTH_BY_PARTITION },
	};
	const char *name;
	size_t i = 0;

	r->by = !strcmp(who, "all") ? NP_AUTH_BY_ALL : NP_AUTH_BY_DEFAULT;
	if (r->by == NP_AUTH_BY_ALL || !strcmp(who, "default"))
		return 0;
	while (i < NP_ARRAY_SIZE(keys) &&
	       strncmp(who, keys[i].key, strlen(keys[i].key)))
		i++;
	if (i == NP_ARRAY_SIZE(keys))
		return bad_who(why, who);
	name = who + strlen(keys[i].key);
	r->by = keys[i].by;
	if (r->by == NP_AUTH_BY_USER)
		return np_uid_of(name, &r->id) ?
		       np_errf(why, -EINVAL, "unknown user \"%.40s\", expected "
			       "a uid or the name of a user", name) : 0;
	if (r->by == NP_AUTH_BY_GROUP)
		return gid_of(name, &r->id) ?
		       np_errf(why, -EINVAL, "unknown group \"%.40s\", "
			       "expected a gid or the name of a group", name) :
		       0;
	return set_name(r, name) ? bad_who(why, who) : 0;
}

static int add_rule(const char *who, size_t len, const char *text,
		    size_t pattern, struct np_auth_rule *rule, size_t *n,
		    struct np_err *why)
{
	char one[MAX_WHO + 1];
	int rc;

	/* Cut to a length that no valid WHO has. */
	len = len <= MAX_WHO ? len : MAX_WHO;
	memcpy(one, who, len);
	one[len] = '\0';
	if (*n == NP_AUTH_MAX_RULES)
		return np_errf(why, -EINVAL,
			       "too many at \"%.40s\", "
			       "expected at most %d in all lines of Claim",
			       one, NP_AUTH_MAX_RULES);
	memcpy(rule[*n].pattern, text, pattern);
	rc = parse_who(one, &rule[*n], why);
	++*n; /* also if it is incomplete, so that the caller clears it */
	return rc;
}

int np_auth_parse(const char *text, struct np_auth_rule *rule, size_t *n,
		  struct np_err *why)
{
	const char *colon = strrchr(text, ':');
	size_t pattern = colon ? (size_t)(colon - text) : 0, now = *n;
	int rc = 0;

	if (!pattern || pattern > NP_AUTH_PATTERN_MAX)
		return np_errf(why, -EINVAL,
			       "expected PATTERN:WHO,..., a "
			       "pattern of 1 to %d characters",
			       NP_AUTH_PATTERN_MAX);
	for (const char *at = colon + 1; !rc;) {
		size_t len = strcspn(at, ",");

		rc = add_rule(at, len, text, pattern, rule, &now, why);
		at += len;
		if (!*at++)
			break;
	}
	if (rc)
		memset(rule + *n, 0, (now - *n) * sizeof(*rule));
	else
		*n = now;
	return rc;
}

static bool matches(const char *pattern, const char *text)
{
	return text && *text && strnlen(text, MAX_TEXT + 1) <= MAX_TEXT &&
	       !fnmatch(pattern, text, 0);
}

static enum np_auth_match evaluate_rule(const struct np_auth_rule *r, size_t i,
					const struct np_auth_request *who,
					const struct np_auth_user *user)
{
	bool yes = false;

	switch (r->by) {
	case NP_AUTH_BY_ALL:
		yes = true;
		break;
	case NP_AUTH_BY_DEFAULT:
		return NP_AUTH_NO_RULE;
	case NP_AUTH_BY_USER:
		yes = r->id == who->uid;
		break;
	case NP_AUTH_BY_GROUP:
		if (!user)
			return NP_AUTH_UNKNOWN;
		yes = user->groups >> i & 1;
		break;
	case NP_AUTH_BY_ACCOUNT:
		if (!who->account)
			return NP_AUTH_UNKNOWN;
		yes = matches(r->name, who->account);
		break;
	case NP_AUTH_BY_PARTITION:
		yes = matches(r->name, who->partition);
		break;
	}
	return yes ? NP_AUTH_ALLOWED : NP_AUTH_FORBIDDEN;
}

enum np_auth_match np_auth_check(const struct np_auth_rule *rule, size_t n,
				 const char *app,
				 const struct np_auth_request *who,
				 const struct np_auth_user *user)
{
	/* number of rules by answer */
	size_t found[] = { [NP_AUTH_UNKNOWN] = 0 };

	for (size_t i = 0; i < n; i++)
		if (matches(rule[i].pattern, app))
			found[evaluate_rule(&rule[i], i, who, user)]++;
	if (found[NP_AUTH_ALLOWED])
		return NP_AUTH_ALLOWED;
	if (found[NP_AUTH_NO_RULE])
		return NP_AUTH_NO_RULE;
	return found[NP_AUTH_UNKNOWN]	? NP_AUTH_UNKNOWN :
	       found[NP_AUTH_FORBIDDEN] ? NP_AUTH_FORBIDDEN :
					  NP_AUTH_NO_RULE;
}

uint64_t np_auth_groups(const struct np_auth_rule *rule, size_t n,
			const uint32_t *gid, size_t n_gids)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; rule[i].by == NP_AUTH_BY_GROUP && k < n_gids;
		     k++)
			if (rule[i].id == gid[k])
				bits |= UINT64_C(1) << i;
	return bits;
}

bool np_auth_needs_groups(const struct np_auth_rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rule[i].by == NP_AUTH_BY_GROUP)
			return true;
	return false;
}
