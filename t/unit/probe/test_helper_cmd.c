#include "t.h"
#include "np_helper.h"

static int has(const struct np_args *c, const char *arg)
{
	for (size_t i = 0; !c->rc && c->argv[i]; i++)
		if (!strcmp(c->argv[i], arg))
			return 1;
	return 0;
}

static const struct np_helper_job job = {
	.job_id = 12,
	.het_component = -1,
	.srun = "/usr/bin/srun",
};
static const struct np_conf conf = {
	.bindir = "/opt/netprof/bin",
	.message_bytes = 1024,
	.period_sec = 0.1,
	.per_node = 2,
};

static const char *const always[] = {
	"/usr/bin/srun", "--jobid=12",	    "--overlap",
	"--mem=0",	 "--mpi=none",	    "--nodelist=n[0-3]",
	"--nodes=4",	 "--cpu-bind=none", "--no-kill",
};

T_TEST("the probes' step takes nothing from the user's")
{
	struct np_args c;

	np_helper_cmd_impact(&c, &job, &conf, "n[0-3]", 4);
	for (size_t i = 0; i < NP_ARRAY_SIZE(always); i++)
		T_ROW(always[i], has(&c, always[i]));
	T_CHECK(has(&c, "--ntasks=8") && has(&c, "--ntasks-per-node=2"));
	T_CHECK(has(&c, "/opt/netprof/bin/netprof-impactb"));
	T_CHECK(has(&c, "--input=all") && has(&c, "--join=srun"));
	T_CHECK(has(&c, "--bytes=1024") && has(&c, "--period=0.1s"));
	np_args_free(&c);
}

T_TEST("a component is reached through the job's leader")
{
	struct np_helper_job o = job;
	struct np_args c;

	o.job_id = 13;
	o.het_job_id = 12;
	o.het_component = 1;
	np_helper_cmd_impact(&c, &o, &conf, "n[0-3]", 4);
	T_CHECK(has(&c, "--jobid=12") && has(&c, "--het-group=1"));
	np_args_free(&c);
}

T_TEST("nor does the step of another probe")
{
	struct np_args c;

	np_helper_cmd_probe(&c, &job, &conf, "netprof-compressionb", "n[0-3]",
			    4);
	for (size_t i = 0; i < NP_ARRAY_SIZE(always); i++)
		T_ROW(always[i], has(&c, always[i]));
	T_CHECK(has(&c, "--ntasks=4") && has(&c, "--ntasks-per-node=1"));
	T_CHECK(has(&c, "/opt/netprof/bin/netprof-compressionb"));
	T_CHECK(has(&c, "--join=srun"));
	np_args_add(&c, "--report-every=%gs", 0.25);
	T_CHECK(has(&c, "--report-every=0.25s"));
	np_args_free(&c);
}

T_TEST("a level for a step comes in steps of one node")
{
	struct np_conf c = conf;
	struct np_args cmd;

	strcpy(c.libexecdir, "/opt/netprof/libexec");
	np_helper_cmd_agent(&cmd, &job, &c, "n7", 4711, false);
	T_CHECK(has(&cmd, "--nodelist=n7") && has(&cmd, "--nodes=1") &&
		has(&cmd, "--ntasks=1"));
	T_CHECK(has(&cmd, "--input=none") && has(&cmd, "--overlap") &&
		has(&cmd, "--mem=0"));
	T_CHECK(!has(&cmd, "--again"));
	T_CHECK(has(&cmd, "/opt/netprof/libexec/netprof-agent") &&
		has(&cmd, "--port=4711") && has(&cmd, "--kind=level"));
	np_args_free(&cmd);
	np_helper_cmd_agent(&cmd, &job, &c, "n7", 4711, true);
	T_ROW("for one block after the other", has(&cmd, "--again"));
	np_args_free(&cmd);
}
