/*
 * Users and groups by name.  Asks the user database, which may be a server far
 * away: never in a callback of slurmctld.
 */
#ifndef NP_IDS_H
#define NP_IDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A name, or digits, which need no look-up.  Return 0, -EINVAL (no such
 * number) or -ENOENT (no such name, or nobody to ask).
 */
int np_uid_of(const char *user, uint32_t *uid);
int np_gid_of(const char *group, uint32_t *gid);

/*
 * All groups of a user, *gid to be freed.  Returns 0, -ENOENT (no such user)
 * or another -errno: the database does not answer.
 */
int np_groups_of(uint32_t uid, uint32_t **gid, size_t *n);

#endif
