/* How things are when a job is submitted, for tests. */
#ifndef NP_T_SOME_STAGE_H
#define NP_T_SOME_STAGE_H

#include "t.h"
#include "np_shared.h"
#include "some_slurm.h"

/* A newcomer gets one leaf where that is enough. */
#define BUT1 "n[0-3,8-15]"
/* How things are when the job comes. */
static struct stage {
	struct some_slurm slurm;
	struct np_job_snapshot jobs;
	struct np_shared *shared;
} stage;

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

static inline void publish(unsigned how)
{
	struct np_decision *st = calloc(1, sizeof(*st));
	struct np_arrivals none = { .since_sec = SOME_NOW };

	T_CHECK(!some_jobs(&stage.slurm, NULL, NULL, 0, &stage.jobs));
	st->placement = some_decision(&stage.jobs);
	st->map = np_cluster_map_ref(stage.slurm.map);
	st->index = some_index(stage.slurm.auth);
	st->set = stage.jobs.set;
	stage.jobs.set = NULL;
	st->now_sec = how & STALE ? SOME_NOW - 61 : SOME_NOW;
	np_shared_publish(stage.shared, st, &none);
}

static inline void tear_down(void)
{
	if (stage.jobs.map)
		np_job_snapshot_free(&stage.jobs);
	np_shared_free(stage.shared);
	some_slurm_free(&stage.slurm);
	memset(&stage, 0, sizeof(stage));
}

static inline void set_up_auth(unsigned how, const struct np_auth_rules *auth)
{
	struct np_conf conf;

	tear_down();
	some_slurm(&stage.slurm);
	stage.slurm.auth = auth;
	np_conf_init(&conf);
	some_place_conf(&conf.place);
	conf.place.mode = NP_MODE_OFF;
	strcpy(conf.place.partition[0].name, "batch");
	conf.place.partition[0].mode = mode_of(how);
	conf.place.n_partitions = 1;
	T_CHECK(!np_shared_new(&conf, &stage.shared));
	if (how & (LEAF0 | EVERYWHERE))
		some_run(&stage.slurm, some_job(&stage.slurm, 1, "loud"),
			 how & LEAF0 ? "n[0-1]" : "n[0,4,8,12]");
	if (!(how & EMPTY))
		publish(how);
	np_shared_set_busy(stage.shared, how & BUSY);
}

static inline void set_up(unsigned how)
{
	set_up_auth(how, NULL);
}

#endif
