/* netprof check --make-users: directories that nobody can take any more. */
#ifndef CLI_MAKE_USERS_H
#define CLI_MAKE_USERS_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* For these users, names or numbers; n 0: for all.  Returns the exit status. */
int cli_make_users(char *const users[], size_t n);

#endif
