#include "np_sidecmd.h"

/*
 * A step that takes nothing from the user's: it overlaps cores, asks for no
 * memory, binds nowhere, and outlives the loss of one of its nodes.
 */
static void begin(struct np_args *c, const struct np_sidejob *job,
		  const char *nodes, size_t n_nodes, unsigned per_node,
		  const char *input)
{
	*c = (struct np_args){ .n = 0 };
	np_args_add(c, "%s", job->srun);
	np_args_add(c, "--jobid=%u", job->het_job_id ? job->het_job_id :
							  job->job_id);
	if (job->het_component >= 0)
		np_args_add(c, "--het-group=%ld", job->het_component);
	np_args_add(c, "--job-name=netprof");
	np_args_add(c, "--overlap");
	np_args_add(c, "--mem=0"); /* else the step waits for memory */
	np_args_add(c, "--mpi=none");
	np_args_add(c, "--nodelist=%s", nodes);
	np_args_add(c, "--nodes=%zu", n_nodes);
	np_args_add(c, "--ntasks=%zu", n_nodes * per_node);
	np_args_add(c, "--ntasks-per-node=%u", per_node);
	np_args_add(c, "--distribution=block");
	np_args_add(c, "--cpu-bind=none");
	np_args_add(c, "--no-kill");
	np_args_add(c, "--kill-on-bad-exit=0");
	np_args_add(c, "--wait=0");
	np_args_add(c, "--input=%s", input);
	np_args_add(c, "--quiet");
	np_args_add(c, "--propagate=NONE");
	np_args_add(c, "--chdir=/");
}

static void begin_probe(struct np_args *c, const struct np_sidejob *job,
			const struct np_conf *conf, const char *program,
			const char *nodes, size_t n_nodes, unsigned per_node)
{
	begin(c, job, nodes, n_nodes, per_node, "all");
	np_args_add(c, "%s/%s", conf->bindir, program);
	np_args_add(c, "--join=srun");
}

void np_sidecmd_impact(struct np_args *c, const struct np_sidejob *job,
		       const struct np_conf *conf, const char *nodes,
		       size_t n_nodes)
{
	begin_probe(c, job, conf, "netprof-impactb", nodes, n_nodes,
		    conf->per_node);
	np_args_add(c, "--bytes=%u", conf->message_bytes);
	np_args_add(c, "--period=%.9gs", conf->period_sec);
}

void np_sidecmd_level(struct np_args *c, const struct np_sidejob *job,
		      const struct np_conf *conf, const char *level,
		      const char *nodes, size_t n_nodes)
{
	begin_probe(c, job, conf, "netprof-compressionb", nodes, n_nodes, 1);
	np_args_add(c, "--level=%s", level);
}

void np_sidecmd_prtt(struct np_args *c, const struct np_sidejob *job,
		     const struct np_conf *conf, const char *nodes,
		     size_t n_nodes)
{
	begin_probe(c, job, conf, "netprof-prtt", nodes, n_nodes, 1);
}

void np_sidecmd_join(struct np_args *c, const struct np_sidejob *job,
		     const struct np_conf *conf, const char *node,
		     uint16_t port, bool again)
{
	begin(c, job, node, 1, 1, "none");
	np_args_add(c, "%s/netprof-join", conf->libexecdir);
	np_args_add(c, "--port=%u", port);
	np_args_add(c, "--kind=level");
	if (again)
		np_args_add(c, "--again");
}
