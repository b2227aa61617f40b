/*
 * Who may claim a published name, whose profile keeps the jobs of others away:
 * the lines Claim=PATTERN:WHO,... of netprof.conf.  No I/O, but names of users
 * and groups are looked up when they are set.
 *
 * A name that no line's pattern matches may be claimed by those whose own runs
 * agree with it, see np_catalog.h; of others it counts for their own jobs only.
 * Where lines match, those whom one of them names may claim it, and nobody else.
 */
#ifndef NP_CLAIM_H
#define NP_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_CLAIM_MAX_RULES 64 /* a bit each in what is known of a user */
#define NP_CLAIM_PATTERN_MAX 127
#define NP_CLAIM_NAME_MAX 63

/* One WHO of a line. */
struct np_claim_rule {
	enum np_claim_by {
		NP_CLAIM_BY_ALL,     /* "all" */
		NP_CLAIM_BY_DEFAULT, /* "default": as where no line is */
		NP_CLAIM_BY_USER,
		NP_CLAIM_BY_GROUP,
		NP_CLAIM_BY_ACCOUNT,
		NP_CLAIM_BY_PARTITION,
	} by;
	uint32_t id; /* of a user or group */
	char pattern[NP_CLAIM_PATTERN_MAX + 1]; /* of names, fnmatch(3) */
	char name[NP_CLAIM_NAME_MAX + 1]; /* the same, of accounts and so on */
};

/*
 * Add what PATTERN:WHO,... says to rule[*n], of NP_CLAIM_MAX_RULES.  Returns 0;
 * or -EINVAL with why, and nothing is added.
 */
int np_claim_parse(const char *text, struct np_claim_rule *rule, size_t *n,
		   struct np_err *why);

/* Whose job it is; texts are borrowed. */
struct np_claimant {
	uint32_t uid;
	const char *account;   /* NULL: not known */
	const char *partition; /* NULL: none */
};

/* What is known of a user's groups: bit i: in that of rule i. */
struct np_claim_user {
	uint32_t uid;
	uint64_t groups;
};

enum np_claim_says {
	NP_CLAIM_SILENT, /* as where no line is about that name */
	NP_CLAIM_YES,
	NP_CLAIM_NO,
	NP_CLAIM_MAYBE, /* it depends on what is not known */
};

/* user: NULL: not looked up yet.  No look-up, no allocation. */
enum np_claim_says np_claim_ask(const struct np_claim_rule *rule, size_t n,
				const char *app, const struct np_claimant *who,
				const struct np_claim_user *user);

/* Bits of the rules that name one of these groups. */
uint64_t np_claim_groups(const struct np_claim_rule *rule, size_t n,
			 const uint32_t *gid, size_t n_gids);

/* Does what they say depend on groups? */
bool np_claim_needs_groups(const struct np_claim_rule *rule, size_t n);

#endif
