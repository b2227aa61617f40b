/* Moved to cli_profile.h. */
#include "cli_profile.h"
