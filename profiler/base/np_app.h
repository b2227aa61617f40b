/* Application names, under which profiles are stored. */
#ifndef NP_APP_H
#define NP_APP_H

#include "np_err.h"

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

#endif
