#include "np_sidecmd.h"
#include "np_plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE (PATH_MAX + 2048)

struct builder {
	struct np_sidecmd *c;
	char *at, *end;
};

static void add(struct builder *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct builder *b, const char *fmt, ...)
{
	size_t room = (size_t)(b->end - b->at);
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(b->at, room, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= room)
		return;
	b->c->argv[b->c->argc++] = b->at;
	b->c->argv[b->c->argc] = NULL;
	b->at += len + 1;
}

/*
 * A step that takes nothing from the user's: it overlaps cores, asks for no
 * memory, binds nowhere, and outlives the loss of one of its nodes.
 */
static int begin(struct builder *b, struct np_sidecmd *c,
		 const struct np_order *o, const char *nodes, size_t n_nodes,
		 unsigned per_node)
{
	size_t size = TEXT_SIZE + strlen(nodes);

	*c = (struct np_sidecmd){ .text = malloc(size) };
	if (!c->text)
		return -ENOMEM;
	*b = (struct builder){ c, c->text, c->text + size };
	add(b, "%s", o->srun);
	add(b, "--jobid=%u", o->het_job_id ? o->het_job_id : o->job_id);
	if (o->het_component >= 0)
		add(b, "--het-group=%ld", o->het_component);
	add(b, "--job-name=netprof");
	add(b, "--overlap");
	add(b, "--mem=0"); /* without it the step waits for memory */
	add(b, "--mpi=pmix");
	add(b, "--nodelist=%s", nodes);
	add(b, "--nodes=%zu", n_nodes);
	add(b, "--ntasks=%zu", n_nodes * per_node);
	add(b, "--ntasks-per-node=%u", per_node);
	add(b, "--distribution=block");
	add(b, "--cpu-bind=none");
	add(b, "--no-kill");
	add(b, "--kill-on-bad-exit=0");
	add(b, "--wait=0");
	add(b, "--input=none");
	add(b, "--quiet");
	add(b, "--propagate=NONE");
	add(b, "--chdir=/");
	return 0;
}

int np_sidecmd_impact(struct np_sidecmd *c, const struct np_order *o,
		      const struct np_conf *conf, const char *nodes,
		      size_t n_nodes)
{
	struct builder b;

	if (begin(&b, c, o, nodes, n_nodes, conf->per_node))
		return -ENOMEM;
	add(&b, "%s/netprof-impactb", conf->bindir);
	add(&b, "--bytes=%u", conf->message_bytes);
	add(&b, "--period=%.9gs", conf->period_sec);
	return 0;
}

int np_sidecmd_level(struct np_sidecmd *c, const struct np_order *o,
		     const struct np_conf *conf, const char *nodes,
		     size_t n_nodes)
{
	struct builder b;

	if (begin(&b, c, o, nodes, n_nodes, 1))
		return -ENOMEM;
	add(&b, "%s/netprof-compressionb", conf->bindir);
	add(&b, "--level=%s", o->level);
	return 0;
}

void np_sidecmd_free(struct np_sidecmd *c)
{
	free(c->text);
	*c = (struct np_sidecmd){ .text = NULL };
}
