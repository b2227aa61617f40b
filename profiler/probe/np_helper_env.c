/*
 * The environment of helper steps: that of the user, without what harms them;
 * and the name of their node.
 */
#include "np_helper.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * SLURM_NTASKS, the variables for binding and the like shape every nested srun.
 * The others are the user's settings for the program, not for the probes.
 */
static const char *const dropped[] = {
	"SLURM_",
	"SLURMD_",
	"SRUN_",
	"SBATCH_",
	"SALLOC_",
	"_SLURM_SPANK_",
	"SPANK_",
	"PMI_",
	"PMI2_",
	"PMIX_",
	"OMPI_",
	"PRTE_",
	"UCX_",
	"FI_",
	"PSM2_",
	"PSM3_",
	"HFI_",
	NP_TRANSPORT_ENV "=",
	"LD_PRELOAD=",
	"LD_AUDIT=",
	"LD_LIBRARY_PATH=", /* it may have another UCX */
	"NETPROF_APP=",
	NP_COOKIES_ENV "=",
	NP_HELPER_ENV "=",
	NP_LEAF_ENV "=",
	NP_LEAVES_ENV "=",
	"HOME=",
	"XDG_",
};

/* The cluster, and the place of the node in it; slurmd sets the latter anew. */
static const char *const allowed[] = {
	"SLURM_CONF=",		 "SLURMD_NODENAME=",
	"SLURM_TOPOLOGY_ADDR=",	 "SLURM_TOPOLOGY_ADDR_PATTERN=",
	"SLURM_SRUN_COMM_HOST=",
};

static bool is_among(const char *var, const char *const prefix[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(var, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

static bool keep(const char *var)
{
	return is_among(var, allowed, NP_ARRAY_SIZE(allowed)) ||
	       !is_among(var, dropped, NP_ARRAY_SIZE(dropped));
}

static size_t count(char *const env[])
{
	size_t n = 0;

	while (env && env[n])
		n++;
	return n;
}

char **np_helper_env(char *const env[], const char *const more[])
{
	size_t room = count(env) + count((char *const *)more) + 3, n = 0;
	char **out = malloc(room * sizeof(*out));

	if (!out)
		return NULL;
	for (size_t i = 0; env && env[i]; i++)
		if (keep(env[i]))
			out[n++] = env[i];
	out[n++] = (char *)NP_HELPER_ENV "=1";
	/* Libraries look for settings in HOME, whose file server may hang. */
	out[n++] = (char *)"HOME=/";
	for (size_t i = 0; more && more[i]; i++)
		out[n++] = (char *)more[i];
	out[n] = NULL;
	return out;
}

void np_helper_env_network(const struct np_conf *conf,
			   struct np_helper_env_network *out)
{
	const char *const value[] = {
		conf->net_devices,
		conf->transports,
		conf->transport,
	};
	static const char *const name[] = {
		"UCX_NET_DEVICES",
		"UCX_TLS",
		NP_TRANSPORT_ENV,
	};
	size_t n = 0;

	for (size_t i = 0; i < NP_HELPER_ENV_NETWORK; i++) {
		if (!value[i][0])
			continue;
		snprintf(out->text[n], sizeof(out->text[n]), "%s=%s", name[i],
			 value[i]);
		out->more[n] = out->text[n];
		n++;
	}
	out->more[n] = NULL;
}

const char *np_node_name(void)
{
	static char host[NP_REPORT_WORD];
	const char *node = getenv("SLURMD_NODENAME");

	if (node && *node)
		return node;
	if (gethostname(host, sizeof(host) - 1))
		strcpy(host, "unknown");
	return host;
}
