#include "np_describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *np_describe_scope(const struct np_survey *where)
{
	return where->scope == NP_SCOPE_LEAF ? "leaf" : "node";
}

int np_describe_level(struct np_record *r, const struct np_level *level,
		      const struct np_survey *where)
{
	struct np_level_run *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	r->level = l;
	l->name = strdup(level->name);
	l->partners = level->partners;
	l->messages = level->messages;
	l->bytes = level->bytes;
	l->pause_sec = level->pause_sec;
	l->scope = strdup(np_describe_scope(where));
	l->nodes = np_hosts_compress(&where->level);
	return l->name && l->scope && l->nodes ? 0 : -ENOMEM;
}

int np_describe_step(struct np_record *r, const struct np_order *o,
		     const struct np_conf *conf, double start_date,
		     struct np_err *err)
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	strcpy(r->app, o->app);
	r->uid = geteuid();
	r->job_id = o->job_id;
	r->step_id = o->step_id;
	r->array_job_id = o->array_job_id;
	r->array_task_id = o->array_task_id;
	r->het_component = o->het_component;
	r->n_tasks = o->n_tasks;
	r->executable = strdup(o->executable);
	r->fingerprint = strdup(o->fingerprint);
	r->netprof_version = strdup(NP_VERSION);
	r->host = strdup(host);
	r->start = start_date;
	r->probe.message_bytes = conf->message_bytes;
	r->probe.period_sec = conf->period_sec;
	r->probe.per_node = 1;
	if (!r->executable || !r->fingerprint || !r->netprof_version ||
	    !r->host)
		return -ENOMEM;
	return np_cluster_identity(r, err);
}
