/* What the pages of netprof scale have in common. */
#include "cli_scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const cli_scale_baselines[CLI_SCALE_BASELINES] = {
	[NP_BASELINE_NEAREST] = "nearest",
	[NP_BASELINE_IDEAL] = "ideal",
	[NP_BASELINE_AMDAHL] = "amdahl",
};

const char *cli_scale_flags(unsigned flags, char *buf, size_t len)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ NP_SCALING_BEYOND, "beyond" },
		{ NP_SCALING_NEGATIVE, "negative" },
		{ NP_SCALING_NO_INTERVAL, "no-interval" },
	};

	*buf = '\0';
	for (size_t i = 0; i < NP_ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			snprintf(buf + strlen(buf), len - strlen(buf), "%s%s",
				 *buf ? "," : "", names[i].name);
	return buf;
}

double cli_scale_miss(const struct cli_scale_run *r, int baseline)
{
	double sec = baseline == CLI_SCALE_MODEL ? r->others.four.wall_sec :
						   r->baseline_sec[baseline];

	return sec / r->run.app_sec - 1;
}

double cli_scale_error(const struct cli_scale *s, int baseline, size_t *n)
{
	double sum = 0;

	*n = 0;
	for (size_t i = 0; i < s->n_runs; i++) {
		double miss = cli_scale_miss(&s->run[i], baseline);

		if (isnan(miss))
			continue;
		sum += fabs(miss);
		(*n)++;
	}
	return sum / (double)*n;
}
