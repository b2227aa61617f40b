#include "np_ids.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "np_quantity.h"

#define PW_BYTES 16384		/* for one entry of the user database */
#define GR_BYTES 65536		/* for a group; it lists its members */
#define GR_MOST (16u << 20)
#define GROUPS 64		/* of one user, at first */

static int number(const char *text, uint32_t *id)
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
		return number(user, uid);
	if (!*user ||
	    getpwnam_r(user, &pw, room, sizeof(room), &found) || !found)
		return -ENOENT;
	*uid = pw.pw_uid;
	return 0;
}

int np_gid_of(const char *group, uint32_t *gid)
{
	struct group gr, *found = NULL;
	int rc = isdigit((unsigned char)*group) ? number(group, gid) : ERANGE;

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
		/* It says how many there are where they do not fit. */
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
