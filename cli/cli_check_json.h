/* netprof check --json */
#ifndef CLI_CHECK_JSON_H
#define CLI_CHECK_JSON_H

#include "cli_check.h"

int cli_check_json(const struct cli_check *c);

#endif
