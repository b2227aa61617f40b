/*
 * Application names, under which profiles are stored, and who may use a
 * published one.
 */
#ifndef NP_APP_H
#define NP_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/* ---- application names ---- */

#define NP_APP_MAX 64 /* longest application name */

/*
 * A name has 1 to NP_APP_MAX letters, digits, '.', '_', '+' or '-', and does
 * not start with '.' or '-'. Returns 0, or -EINVAL with err.
 */
int np_app_check(const char *name, struct np_err *err);

/*
 * Make a valid name from any text: the path of an executable, of which the
 * last component counts, or a job name. Other characters become '_'. Returns 0,
 * or -EINVAL if nothing usable is left.
 */
int np_app_from_text(const char *text, char app[NP_APP_MAX + 1]);

/* ---- users and groups ---- */

/*
 * These functions ask the user database, which may be a remote server. Never
 * call them in a callback of slurmctld.
 */

/*
 * Uid of a user: a name, or digits, which need no look-up. Returns 0, -EINVAL
 * (not a valid number) or -ENOENT (no such name, or no database).
 */
int np_uid_of(const char *user, uint32_t *uid);

/*
 * All groups of a user; the caller frees *gid. Returns 0, -ENOENT (no such
 * user) or another -errno: the database does not answer.
 */
int np_groups_of(uint32_t uid, uint32_t **gid, size_t *n);

/* ---- who may use a published name ---- */

/*
 * A published profile can move the jobs of other users, so sites restrict who
 * may run jobs under its name: Claim=PATTERN:WHO,... in netprof.conf.
 *
 * A name that matches no pattern may be used by the users whose own runs agree
 * with its profile (np_catalog.h); for other users it counts for their own jobs
 * only. A name that matches a pattern may be used by those who are named in a
 * matching line, and by nobody else.
 */

#define NP_AUTH_MAX_RULES 64 /* one bit each in np_auth_user.groups */
#define NP_AUTH_PATTERN_MAX 127
#define NP_AUTH_NAME_MAX 63

/* One WHO of a line. */
struct np_auth_rule {
	enum np_auth_by {
		NP_AUTH_BY_ALL,	    /* "all" */
		NP_AUTH_BY_DEFAULT, /* "default": as if no line matched */
		NP_AUTH_BY_USER,
		NP_AUTH_BY_GROUP,
		NP_AUTH_BY_ACCOUNT,
		NP_AUTH_BY_PARTITION,
	} by;
	uint32_t id; /* of the user or group */
	char pattern[NP_AUTH_PATTERN_MAX + 1]; /* of names, fnmatch(3) */
	char name[NP_AUTH_NAME_MAX + 1];       /* of accounts, partitions */
};

/*
 * Parse PATTERN:WHO,... and append its rules to rule[*n], an array of
 * NP_AUTH_MAX_RULES. Names of users and groups are looked up. Returns 0, or
 * -EINVAL with why, and then nothing is added.
 */
int np_auth_parse(const char *text, struct np_auth_rule *rule, size_t *n,
		  struct np_err *why);

/* Whose job it is; strings are borrowed. */
struct np_auth_request {
	uint32_t uid;
	const char *account;   /* NULL: not known */
	const char *partition; /* NULL: none */
};

/* Groups of a user: bit i is set for a member of the group of rule i. */
struct np_auth_user {
	uint32_t uid; /* first: np_order_u32() */
	uint64_t groups;
};

enum np_auth_match {
	NP_AUTH_NO_RULE, /* as if no line matched */
	NP_AUTH_ALLOWED,
	NP_AUTH_FORBIDDEN,
	NP_AUTH_UNKNOWN, /* depends on something that is not known */
};

/*
 * May this job use the name app? user: NULL if its groups are not known. Does
 * no look-up and no allocation.
 */
enum np_auth_match np_auth_check(const struct np_auth_rule *rule, size_t n,
				 const char *app,
				 const struct np_auth_request *who,
				 const struct np_auth_user *user);

/* The bits of the rules that name one of these groups. */
uint64_t np_auth_groups(const struct np_auth_rule *rule, size_t n,
			const uint32_t *gid, size_t n_gids);

/* True if a rule names a group. */
bool np_auth_needs_groups(const struct np_auth_rule *rule, size_t n);

#endif
