/* netprof check --make-users: directories that nobody can take any more. */
#ifndef CLI_MAKE_USERS_H
#define CLI_MAKE_USERS_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* For these users, names or numbers; n 0: for all.  Returns the exit status. */
int cli_make_users(char *const users[], size_t n);

/* The uids of people, by UID_MIN and UID_MAX of login.defs(5); NULL: as built
 * in there. */
void cli_login_range(FILE *login_defs, uid_t *first, uid_t *last);

#endif
