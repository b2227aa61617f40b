#include "np_sideenv.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * SLURM_NTASKS, the binding variables and their kin shape every nested srun;
 * the others are the user's wishes for the program, not for the probes.
 */
static const char *const dropped[] = {
	"SLURM_", "SLURMD_", "SRUN_", "SBATCH_", "SALLOC_", "_SLURM_SPANK_",
	"SPANK_", "PMI_", "PMI2_", "PMIX_", "OMPI_", "PRTE_", "UCX_",
	"LD_PRELOAD=", "NETPROF_APP=", NP_SIDE_ENV "=",
};

static bool keep(const char *var)
{
	if (!strncmp(var, "SLURM_CONF=", 11)) /* which cluster this is */
		return true;
	for (size_t i = 0; i < NP_ARRAY_SIZE(dropped); i++)
		if (!strncmp(var, dropped[i], strlen(dropped[i])))
			return false;
	return true;
}

char **np_sideenv_make(char *const env[], const struct np_conf *conf)
{
	size_t n = 0, len = 3 * 160, room;
	char **out, *text;

	while (env[n])
		n++;
	out = malloc((n + 4) * sizeof(*out) + len);
	if (!out)
		return NULL;
	text = (char *)(out + n + 4);
	room = len;
	n = 0;
	for (size_t i = 0; env[i]; i++)
		if (keep(env[i]))
			out[n++] = env[i];
	out[n++] = (char *)NP_SIDE_ENV "=1";
	if (conf->net_devices[0]) {
		int put = snprintf(text, room, "UCX_NET_DEVICES=%s",
				   conf->net_devices) + 1;

		out[n++] = text;
		text += put;
		room -= (size_t)put;
	}
	if (conf->transports[0]) {
		snprintf(text, room, "UCX_TLS=%s", conf->transports);
		out[n++] = text;
	}
	out[n] = NULL;
	return out;
}
