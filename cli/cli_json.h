/* --json of show and runs: the same as the text, for programs. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "cli_profile.h"
#include "cli_advice.h"
#include "cli_zones.h"

/* Each prints one JSON object and returns the exit status. */
int cli_json_show(const struct cli_profile *p, const struct cli_ties *t,
		  const struct cli_advice *a, const struct cli_zones *z);
int cli_json_runs(const struct cli_profile *p);

/* "1234.0", "1234_7.0" of an array, "1234+1.0" of a heterogeneous job */
const char *cli_run_id(const struct np_record *r, char *buf, size_t len);

#endif
