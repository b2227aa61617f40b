/* Names of applications, under which profiles are kept. */
#ifndef NP_APP_H
#define NP_APP_H

#include "np_err.h"

#define NP_APP_MAX 64 /* longest application name */

/*
 * Application names: letters, digits, '.', '_', '+', '-', 1 to NP_APP_MAX
 * characters, not starting with '.' or '-'.  Returns 0 or -EINVAL with err.
 */
int np_app_check(const char *name, struct np_err *err);

/*
 * Make a valid application name out of any text (an executable's path, of
 * which the last component counts, or a job name): other characters become
 * '_'.  Returns 0, or -EINVAL if nothing usable is left.
 */
int np_app_from_text(const char *text, char app[NP_APP_MAX + 1]);

#endif
