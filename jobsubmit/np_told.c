/* Which application a description names. */
#include <string.h>

#include "np_app.h"
#include "np_submit.h"

#define OPTION "_SLURM_SPANK_OPTION_netprof_netprofile="
#define VARIABLE "NETPROF_APP="
#define MAX_VARIABLES 65536

static const char *find(char **env, uint32_t n, const char *name)
{
	size_t len = strlen(name);

	for (uint32_t i = 0; env && i < n && i < MAX_VARIABLES; i++)
		if (env[i] && !strncmp(env[i], name, len))
			return env[i] + len;
	return NULL;
}

bool np_submit_told(const job_desc_msg_t *d, char app[NP_APP_MAX + 1])
{
	const char *option = find(d->spank_job_env, d->spank_job_env_size,
				  OPTION);
	const char *named = option && strcmp(option, "(null)") ? option : NULL;

	if (!named)
		named = find(d->spank_job_env, d->spank_job_env_size, VARIABLE);
	if (!named)
		named = find(d->environment, d->env_size, VARIABLE);
	if (named && *named)
		return !np_app_check(named, NULL) && strcpy(app, named);
	return option && d->name && !np_app_from_text(d->name, app);
}
