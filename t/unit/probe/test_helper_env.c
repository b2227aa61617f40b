#include "t.h"
#include "np_helper.h"

static const struct {
	const char *name, *var;
	int kept;
} rows[] = {
	{ "PATH is the user's", "PATH=/bin", 1 },
	{ "which cluster this is stays known", "SLURM_CONF=/etc/slurm.conf",
	  1 },
	{ "a munge socket of the site", "MUNGE_SOCKET=/run/x", 1 },
	{ "the step's layout is its own", "SLURM_NTASKS=64", 0 },
	{ "binding is not inherited", "SLURM_CPU_BIND=cores", 0 },
	{ "sbatch's wishes are not", "SBATCH_EXCLUSIVE=1", 0 },
	{ "the node is known by its name", "SLURMD_NODENAME=n1", 1 },
	{ "and by its leaf", "SLURM_TOPOLOGY_ADDR=spine.leaf0.n1", 1 },
	{ "and how that is put together",
	  "SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node", 1 },
	{ "not by the leaf of another step", "NETPROF_LEAF=leaf7", 0 },
	{ "nor by its leaf switches", "NETPROF_LEAVES=SwitchName=a", 0 },
	{ "secrets of another step", "NETPROF_COOKIES=a b", 0 },
	{ "the rendezvous of another step", "SLURM_NETPROF_RENDEZVOUS=1", 0 },
	{ "the option does not recur",
	  "_SLURM_SPANK_OPTION_netprof_netprofile=x", 0 },
	{ "nor does NETPROF_APP", "NETPROF_APP=x", 0 },
	{ "the program's preloads are its own", "LD_PRELOAD=/x.so", 0 },
	{ "and its libraries", "LD_LIBRARY_PATH=/home/u/lib", 0 },
	{ "and what audits them", "LD_AUDIT=/x.so", 0 },
	{ "the program's MPI settings, too", "OMPI_MCA_btl=tcp", 0 },
	{ "and its transport", "UCX_TLS=rc", 0 },
	{ "settings of libfabric", "FI_PROVIDER=sockets", 0 },
	{ "and of the libraries below it", "PSM2_DEVICES=self,shm", 0 },
	{ "which process uses which adapter", "HFI_UNIT=1", 0 },
	{ "networks that the switch gave the step", "SLINGSHOT_VNIS=1", 1 },
	{ "and that of a probe of its own", "NETPROF_TRANSPORT=ucx", 0 },
	{ "a PMIx server of the outer step", "PMIX_RANK=0", 0 },
};

static int has(char **env, const char *var)
{
	for (; *env; env++)
		if (!strcmp(*env, var))
			return 1;
	return 0;
}

T_TEST("the probes inherit what they need and no more")
{
	char *env[NP_ARRAY_SIZE(rows) + 1] = { NULL };
	char **out;

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++)
		env[i] = (char *)rows[i].var;
	out = np_helper_env(env, NULL);
	T_EACH(r, rows)
		T_ROW(r->name, has(out, r->var) == r->kept);
	T_ROW("our steps are marked", has(out, "NETPROF_SIDE=1"));
	free(out);
}

T_TEST("the site chooses the probes' transport")
{
	struct np_conf conf = {
		.net_devices = "eth0",
		.transports = "tcp,self",
		.transport = "ofi:tcp",
	};
	char *env[] = { "UCX_NET_DEVICES=lo", "NETPROF_SIDE=1", NULL };
	struct np_helper_env_network net;
	char **out;
	size_t n = 0;

	np_helper_env_network(&conf, &net);
	out = np_helper_env(env, net.more);
	T_CHECK(has(out, "UCX_NET_DEVICES=eth0") &&
		has(out, "UCX_TLS=tcp,self"));
	T_CHECK(has(out, "NETPROF_TRANSPORT=ofi:tcp"));
	T_CHECK(!has(out, "UCX_NET_DEVICES=lo"));
	while (out[n])
		n++;
	T_CHECK(n == 5); /* NETPROF_SIDE once */
	free(out);
}
