/* How things are when a job is submitted, for tests. */
#ifndef NP_T_SOME_STAGE_H
#define NP_T_SOME_STAGE_H

#include "t.h"
#include "np_shared.h"
#include "some_slurm.h"

/* A newcomer gets one leaf where that is enough. */
#define BUT1 "n[0-3,8-15]"
/* How things are when the job comes. */
struct stage {
	struct some_slurm slurm;
	struct np_job_snapshot jobs;
	struct np_shared *shared;
};

enum how {
	LEAF0 = 1 << 0,	     /* a loud job runs on leaf0 */
	EVERYWHERE = 1 << 1, /* one runs on every leaf */
	EMPTY = 1 << 2,	     /* no decision */
	STALE = 1 << 3,	     /* an old one */
	BUSY = 1 << 4,	     /* the thread decides */
	STARTING = 1 << 5,
	ADVISE = 1 << 6, /* mode of partition batch */
	PREFER = 1 << 7,
	OFF = 1 << 8,
};

static inline enum np_mode mode_of(unsigned how)
{
	return how & ADVISE ? NP_MODE_ADVISE :
	       how & PREFER ? NP_MODE_PREFER :
	       how & OFF    ? NP_MODE_OFF :
			      NP_MODE_ENFORCE;
}

static inline void publish(struct stage *s, unsigned how)
{
	struct np_decision *st = calloc(1, sizeof(*st));
	struct np_arrivals none = { .since_sec = SOME_NOW };

	T_CHECK(!some_jobs(&s->slurm, NULL, NULL, 0, &s->jobs));
	st->placement = some_decision(&s->jobs);
	st->map = np_cluster_map_ref(s->slurm.map);
	st->index = some_index(s->slurm.auth);
	st->set = s->jobs.set;
	s->jobs.set = NULL;
	st->now_sec = how & STALE ? SOME_NOW - 61 : SOME_NOW;
	np_shared_publish(s->shared, st, &none);
}

static inline void set_up_auth(struct stage *s, unsigned how,
			       const struct np_auth_rules *auth)
{
	struct np_conf conf;

	some_slurm(&s->slurm);
	s->slurm.auth = auth;
	np_conf_init(&conf);
	some_place_conf(&conf.place);
	conf.place.mode = NP_MODE_OFF;
	strcpy(conf.place.partition[0].name, "batch");
	conf.place.partition[0].mode = mode_of(how);
	conf.place.n_partitions = 1;
	T_CHECK(!np_shared_new(&conf, &s->shared));
	memset(&s->jobs, 0, sizeof(s->jobs));
	if (how & (LEAF0 | EVERYWHERE))
		some_run(&s->slurm, some_job(&s->slurm, 1, "loud"),
			 how & LEAF0 ? "n[0-1]" : "n[0,4,8,12]");
	if (!(how & EMPTY))
		publish(s, how);
	np_shared_set_busy(s->shared, how & BUSY);
}

static inline void set_up(struct stage *s, unsigned how)
{
	set_up_auth(s, how, NULL);
}

static inline void tear_down(struct stage *s)
{
	if (s->jobs.map)
		np_job_snapshot_free(&s->jobs);
	np_shared_free(s->shared);
	some_slurm_free(&s->slurm);
}

#endif
