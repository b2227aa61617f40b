/* The members of the state of placement; see netprof-placement(5). */
#include "np_state_json.h"

#include <stdlib.h>

#include "np_app.h"

#define MAX_SLOWDOWN 1e6 /* a crowd's forecast may be anything */
#define MAX_TEXT 1023

#define U32(s, name, ...) NP_FIELD(s, NP_F_U32, name, UINT32_MAX, __VA_ARGS__)
#define BOOL(s, name) NP_FIELD(s, NP_F_BOOL, name, 1, 0)
#define TEXT(s, name, max) NP_FIELD(s, NP_F_TEXT, name, max, NP_F_NEVER_NULL)
#define REAL(s, name, max) NP_FIELD(s, NP_F_REAL, name, max, NP_F_CLAMP)
#define SLOWDOWN(s, name) \
	NP_FIELD(s, NP_F_REAL, name, MAX_SLOWDOWN, NP_F_CLAMP, -1)

static const struct np_field state_fields[] = {
	REAL(np_state, date, NP_JSON_DATE),
	REAL(np_state, interval_sec, NP_JSON_ELAPSED_SEC),
	TEXT(np_state, cluster, NP_JSON_WORD),
	TEXT(np_state, slurm_version, NP_JSON_WORD),
	TEXT(np_state, netprof_version, NP_JSON_WORD),
	TEXT(np_state, controller, NP_JSON_WORD),
	TEXT(np_state, mode, NP_JSON_WORD),
	TEXT(np_state, fabric, MAX_TEXT),
	TEXT(np_state, trouble, MAX_TEXT),
	REAL(np_state, max_slowdown, MAX_SLOWDOWN),
	REAL(np_state, max_defer_sec, NP_JSON_ELAPSED_SEC),
	U32(np_state, n_profiles, 0),
	REAL(np_state, decide_sec, NP_JSON_ELAPSED_SEC),
	U32(np_state, more_denied, 0),
};
const struct np_fields np_state_table = NP_FIELDS(state_fields, np_state);

static const struct np_field leaf_fields[] = {
	TEXT(np_state_leaf, name, NP_JSON_WORD),
	U32(np_state_leaf, n_nodes, 0),
	U32(np_state_leaf, n_idle, 0),
	U32(np_state_leaf, n_away, 0),
	U32(np_state_leaf, n_jobs, 0),
	U32(np_state_leaf, n_known, 0),
	SLOWDOWN(np_state_leaf, strain),
};
const struct np_fields np_state_leaf_table = NP_FIELDS(leaf_fields, np_state_leaf);

static const struct np_field job_fields[] = {
	U32(np_state_job, id, NP_F_NEEDED),
	U32(np_state_job, array, 0),
	U32(np_state_job, task, 0),
	U32(np_state_job, uid, NP_F_NEEDED),
	TEXT(np_state_job, app, NP_APP_MAX),
	BOOL(np_state_job, known),
	TEXT(np_state_job, partition, NP_JSON_WORD),
	TEXT(np_state_job, mode, NP_JSON_WORD),
	BOOL(np_state_job, pending),
	U32(np_state_job, n_nodes, 0),
	TEXT(np_state_job, leaves, NP_JSON_HOSTLIST),
	TEXT(np_state_job, action, NP_JSON_WORD),
	BOOL(np_state_job, applied),
	REAL(np_state_job, until, NP_JSON_DATE),
	REAL(np_state_job, held_sec, NP_JSON_ELAPSED_SEC),
	REAL(np_state_job, start, NP_JSON_DATE),
	TEXT(np_state_job, text, MAX_TEXT),
};
const struct np_fields np_state_job_table = NP_FIELDS(job_fields, np_state_job);

static const struct np_field claim_fields[] = {
	U32(np_state_claim, uid, NP_F_NEEDED),
	TEXT(np_state_claim, app, NP_APP_MAX),
	U32(np_state_claim, n_jobs, 0),
	BOOL(np_state_claim, refuted),
	TEXT(np_state_claim, why, NP_STATE_WHY_MAX),
};
const struct np_fields np_state_claim_table = NP_FIELDS(claim_fields, np_state_claim);

static const struct np_field cause_fields[] = {
	TEXT(np_state_cause, leaf, NP_JSON_WORD),
	U32(np_state_cause, other, 0),
	TEXT(np_state_cause, other_app, NP_APP_MAX),
	U32(np_state_cause, victim, 0),
	SLOWDOWN(np_state_cause, slowdown),
};
const struct np_fields np_state_cause_table = NP_FIELDS(cause_fields, np_state_cause);

static const struct np_field ended_fields[] = {
	U32(np_ended, id, NP_F_NEEDED),
	U32(np_ended, array, 0),
	U32(np_ended, task, 0),
	U32(np_ended, uid, NP_F_NEEDED),
	TEXT(np_ended, app, NP_APP_MAX),
	TEXT(np_ended, partition, NP_JSON_WORD),
	TEXT(np_ended, leaves, NP_JSON_HOSTLIST),
	U32(np_ended, n_nodes, 0),
	REAL(np_ended, submit, NP_JSON_DATE),
	REAL(np_ended, start, NP_JSON_DATE),
	REAL(np_ended, end, NP_JSON_DATE),
	REAL(np_ended, held_sec, NP_JSON_ELAPSED_SEC),
	SLOWDOWN(np_ended, slowdown),
};
const struct np_fields np_ended_table = NP_FIELDS(ended_fields, np_ended);

static const struct np_field neighbour_fields[] = {
	U32(np_ended_neighbour, id, NP_F_NEEDED),
	TEXT(np_ended_neighbour, app, NP_APP_MAX),
	TEXT(np_ended_neighbour, leaves, NP_JSON_PATH),
	REAL(np_ended_neighbour, overlap_sec, NP_JSON_ELAPSED_SEC),
	SLOWDOWN(np_ended_neighbour, slowdown),
};
const struct np_fields np_ended_neighbour_table = NP_FIELDS(neighbour_fields, np_ended_neighbour);

void np_state_free(struct np_state *s)
{
	for (size_t i = 0; i < s->n_leaves; i++)
		np_fields_free(&s->leaf[i], &np_state_leaf_table);
	for (size_t i = 0; i < s->n_jobs; i++) {
		struct np_state_job *job = &s->job[i];

		for (size_t k = 0; k < job->n_causes; k++)
			np_fields_free(&job->cause[k], &np_state_cause_table);
		free(job->cause);
		np_fields_free(job, &np_state_job_table);
	}
	for (size_t i = 0; i < s->n_claims; i++)
		np_fields_free(&s->claim[i], &np_state_claim_table);
	free(s->leaf);
	free(s->job);
	free(s->claim);
	np_fields_free(s, &np_state_table);
	*s = (struct np_state){ .n_jobs = 0 };
}

void np_ended_free(struct np_ended *e)
{
	for (size_t i = 0; i < e->n_neighbours; i++)
		np_fields_free(&e->neighbour[i], &np_ended_neighbour_table);
	free(e->neighbour);
	np_fields_free(e, &np_ended_table);
	*e = (struct np_ended){ .id = 0 };
}
