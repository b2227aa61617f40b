#include "np_sidecmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE (PATH_MAX + 2048)

void np_sidecmd_add(struct np_sidecmd *c, const char *fmt, ...)
{
	size_t room = (size_t)(c->end - c->at);
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(c->at, room, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= room ||
	    c->argc + 1 >= NP_ARRAY_SIZE(c->argv))
		return;
	c->argv[c->argc++] = c->at;
	c->argv[c->argc] = NULL;
	c->at += len + 1;
}

/*
 * A step that takes nothing from the user's: it overlaps cores, asks for no
 * memory, binds nowhere, and outlives the loss of one of its nodes.
 */
static int begin(struct np_sidecmd *c, const struct np_sidejob *job,
		 const char *nodes, size_t n_nodes, unsigned per_node,
		 const char *input)
{
	size_t size = TEXT_SIZE + strlen(nodes);

	*c = (struct np_sidecmd){ .text = malloc(size) };
	if (!c->text)
		return -ENOMEM;
	c->at = c->text;
	c->end = c->text + size;
	np_sidecmd_add(c, "%s", job->srun);
	np_sidecmd_add(c, "--jobid=%u", job->het_job_id ? job->het_job_id :
							  job->job_id);
	if (job->het_component >= 0)
		np_sidecmd_add(c, "--het-group=%ld", job->het_component);
	np_sidecmd_add(c, "--job-name=netprof");
	np_sidecmd_add(c, "--overlap");
	np_sidecmd_add(c, "--mem=0"); /* else the step waits for memory */
	np_sidecmd_add(c, "--mpi=none");
	np_sidecmd_add(c, "--nodelist=%s", nodes);
	np_sidecmd_add(c, "--nodes=%zu", n_nodes);
	np_sidecmd_add(c, "--ntasks=%zu", n_nodes * per_node);
	np_sidecmd_add(c, "--ntasks-per-node=%u", per_node);
	np_sidecmd_add(c, "--distribution=block");
	np_sidecmd_add(c, "--cpu-bind=none");
	np_sidecmd_add(c, "--no-kill");
	np_sidecmd_add(c, "--kill-on-bad-exit=0");
	np_sidecmd_add(c, "--wait=0");
	np_sidecmd_add(c, "--input=%s", input);
	np_sidecmd_add(c, "--quiet");
	np_sidecmd_add(c, "--propagate=NONE");
	np_sidecmd_add(c, "--chdir=/");
	return 0;
}

int np_sidecmd_impact(struct np_sidecmd *c, const struct np_sidejob *job,
		      const struct np_conf *conf, const char *nodes,
		      size_t n_nodes)
{
	if (begin(c, job, nodes, n_nodes, conf->per_node, "all"))
		return -ENOMEM;
	np_sidecmd_add(c, "%s/netprof-impactb", conf->bindir);
	np_sidecmd_add(c, "--join=srun");
	np_sidecmd_add(c, "--bytes=%u", conf->message_bytes);
	np_sidecmd_add(c, "--period=%.9gs", conf->period_sec);
	return 0;
}

int np_sidecmd_level(struct np_sidecmd *c, const struct np_sidejob *job,
		     const struct np_conf *conf, const char *level,
		     const char *nodes, size_t n_nodes)
{
	if (begin(c, job, nodes, n_nodes, 1, "all"))
		return -ENOMEM;
	np_sidecmd_add(c, "%s/netprof-compressionb", conf->bindir);
	np_sidecmd_add(c, "--join=srun");
	np_sidecmd_add(c, "--level=%s", level);
	return 0;
}

int np_sidecmd_prtt(struct np_sidecmd *c, const struct np_sidejob *job,
		    const struct np_conf *conf, const char *nodes,
		    size_t n_nodes)
{
	if (begin(c, job, nodes, n_nodes, 1, "all"))
		return -ENOMEM;
	np_sidecmd_add(c, "%s/netprof-prtt", conf->bindir);
	np_sidecmd_add(c, "--join=srun");
	return 0;
}

int np_sidecmd_join(struct np_sidecmd *c, const struct np_sidejob *job,
		    const struct np_conf *conf, const char *node,
		    uint16_t port, bool again)
{
	if (begin(c, job, node, 1, 1, "none"))
		return -ENOMEM;
	np_sidecmd_add(c, "%s/netprof-join", conf->libexecdir);
	np_sidecmd_add(c, "--port=%u", port);
	np_sidecmd_add(c, "--kind=level");
	if (again)
		np_sidecmd_add(c, "--again");
	return 0;
}

void np_sidecmd_free(struct np_sidecmd *c)
{
	free(c->text);
	*c = (struct np_sidecmd){ .text = NULL };
}
