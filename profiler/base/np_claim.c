#include "np_claim.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "np_ids.h"

#define MAX_WHO 128   /* such as "partition=" and a name */
#define MAX_TEXT 1024 /* that is matched: users choose it */

static int bad(struct np_err *why, const char *who)
{
	return np_errf(why, -EINVAL, "\"%.40s\": expected all, default, "
		       "user=USER, group=GROUP, account=PATTERN or "
		       "partition=PATTERN", who);
}

static int set_name(struct np_claim_rule *r, const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NP_CLAIM_NAME_MAX)
		return -EINVAL;
	memcpy(r->name, name, len + 1);
	return 0;
}

/* "group=chem" */
static int parse_who(const char *who, struct np_claim_rule *r,
		     struct np_err *why)
{
	static const struct {
		const char *key;
		enum np_claim_by by;
	} keys[] = {
		{ "user=", NP_CLAIM_BY_USER }, { "group=", NP_CLAIM_BY_GROUP },
		{ "account=", NP_CLAIM_BY_ACCOUNT },
		{ "partition=", NP_CLAIM_BY_PARTITION },
	};
	const char *name;
	size_t i = 0;

	r->by = !strcmp(who, "all") ? NP_CLAIM_BY_ALL : NP_CLAIM_BY_DEFAULT;
	if (r->by == NP_CLAIM_BY_ALL || !strcmp(who, "default"))
		return 0;
	while (i < NP_ARRAY_SIZE(keys) &&
	       strncmp(who, keys[i].key, strlen(keys[i].key)))
		i++;
	if (i == NP_ARRAY_SIZE(keys))
		return bad(why, who);
	name = who + strlen(keys[i].key);
	r->by = keys[i].by;
	if (r->by == NP_CLAIM_BY_USER)
		return np_uid_of(name, &r->id) ?
		       np_errf(why, -EINVAL, "\"%.40s\" is no user, expected a "
			       "uid or the name of a user", name) : 0;
	if (r->by == NP_CLAIM_BY_GROUP)
		return np_gid_of(name, &r->id) ?
		       np_errf(why, -EINVAL, "\"%.40s\" is no group, expected "
			       "a gid or the name of a group", name) : 0;
	return set_name(r, name) ? bad(why, who) : 0;
}

static int add(const char *who, size_t len, const char *text, size_t pattern,
	       struct np_claim_rule *rule, size_t *n, struct np_err *why)
{
	char one[MAX_WHO + 1];
	int rc;

	/* Not a part of it that fits. */
	len = len <= MAX_WHO ? len : MAX_WHO;
	memcpy(one, who, len);
	one[len] = '\0';
	if (*n == NP_CLAIM_MAX_RULES)
		return np_errf(why, -EINVAL, "\"%.40s\" is one too many, "
			       "expected at most %d in all lines of Claim",
			       one, NP_CLAIM_MAX_RULES);
	memcpy(rule[*n].pattern, text, pattern);
	rc = parse_who(one, &rule[*n], why);
	++*n; /* what was begun is taken back as well */
	return rc;
}

int np_claim_parse(const char *text, struct np_claim_rule *rule, size_t *n,
		   struct np_err *why)
{
	const char *colon = strrchr(text, ':');
	size_t pattern = colon ? (size_t)(colon - text) : 0, now = *n;
	int rc = 0;

	if (!pattern || pattern > NP_CLAIM_PATTERN_MAX)
		return np_errf(why, -EINVAL, "expected PATTERN:WHO,..., a "
			       "pattern of 1 to %d characters",
			       NP_CLAIM_PATTERN_MAX);
	for (const char *at = colon + 1; !rc;) {
		size_t len = strcspn(at, ",");

		rc = add(at, len, text, pattern, rule, &now, why);
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

static enum np_claim_says ask_one(const struct np_claim_rule *r, size_t i,
				  const struct np_claimant *who,
				  const struct np_claim_user *user)
{
	bool yes = false;

	switch (r->by) {
	case NP_CLAIM_BY_ALL:
		yes = true;
		break;
	case NP_CLAIM_BY_DEFAULT:
		return NP_CLAIM_SILENT;
	case NP_CLAIM_BY_USER:
		yes = r->id == who->uid;
		break;
	case NP_CLAIM_BY_GROUP:
		if (!user)
			return NP_CLAIM_MAYBE;
		yes = user->groups >> i & 1;
		break;
	case NP_CLAIM_BY_ACCOUNT:
		if (!who->account)
			return NP_CLAIM_MAYBE;
		yes = matches(r->name, who->account);
		break;
	case NP_CLAIM_BY_PARTITION:
		yes = matches(r->name, who->partition);
		break;
	}
	return yes ? NP_CLAIM_YES : NP_CLAIM_NO;
}

enum np_claim_says np_claim_ask(const struct np_claim_rule *rule, size_t n,
				const char *app, const struct np_claimant *who,
				const struct np_claim_user *user)
{
	size_t found[] = { [NP_CLAIM_MAYBE] = 0 }; /* of each answer */

	for (size_t i = 0; i < n; i++)
		if (matches(rule[i].pattern, app))
			found[ask_one(&rule[i], i, who, user)]++;
	if (found[NP_CLAIM_YES])
		return NP_CLAIM_YES;
	if (found[NP_CLAIM_SILENT])
		return NP_CLAIM_SILENT;
	return found[NP_CLAIM_MAYBE] ? NP_CLAIM_MAYBE :
	       found[NP_CLAIM_NO] ? NP_CLAIM_NO : NP_CLAIM_SILENT;
}

uint64_t np_claim_groups(const struct np_claim_rule *rule, size_t n,
			 const uint32_t *gid, size_t n_gids)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; rule[i].by == NP_CLAIM_BY_GROUP &&
				   k < n_gids; k++)
			if (rule[i].id == gid[k])
				bits |= UINT64_C(1) << i;
	return bits;
}

bool np_claim_needs_groups(const struct np_claim_rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rule[i].by == NP_CLAIM_BY_GROUP)
			return true;
	return false;
}
