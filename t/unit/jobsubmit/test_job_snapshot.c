#include "t.h"
#include "some_slurm.h"

/* What a job is like, for a table. */
#define SET(name, ...) \
	static void name(struct some_slurm *s, slurm_job_info_t *j) \
	{ \
		(void)s; \
		__VA_ARGS__; \
	}

SET(left_alone, (void)j)
SET(runs, some_run(s, j, "n[4-5]"))
SET(completes, some_run(s, j, "n4");
    j->job_state = JOB_COMPLETE | JOB_COMPLETING)
SET(suspended, some_run(s, j, "n4"); j->job_state = JOB_SUSPENDED)
SET(requeued, some_run(s, j, "n4"); j->job_state = JOB_PENDING | JOB_COMPLETING)
SET(ended, some_run(s, j, "n4"); j->job_state = JOB_COMPLETE)
SET(nowhere, runs(s, j); j->node_inx = NULL)
SET(held, j->priority = 0; j->state_reason = WAIT_HELD_USER)
SET(dependent, j->state_reason = WAIT_DEPENDENCY)
SET(limited, j->state_reason = WAIT_ASSOC_GRP_CPU)
SET(impossible, j->priority = 0; j->state_reason = FAIL_BAD_CONSTRAINTS)
SET(reserved, j->resv_name = (char *)"maint")
SET(listed, j->req_nodes = (char *)"n1")
SET(het, j->het_job_id = j->job_id)
SET(cron, j->bitflags = CRON_JOB)
SET(due, j->deadline = SOME_NOW + 9000)
SET(alone, j->shared = JOB_SHARED_NONE)
SET(contiguous, j->contiguous = 1)
SET(tasks_of_a_core, j->ntasks_per_core = 1)
SET(revoked, j->job_state = JOB_PENDING | JOB_REVOKED)
SET(alone_on_switch, j->shared = JOB_SHARED_TOPO)
#if NP_SLURM_AT_LEAST(25, 5)
SET(in_segments, j->segment_size = 2)
#endif
SET(exclusive_partition, j->partition = (char *)"alone")
SET(two_partitions, j->partition = (char *)"alone,debug")
SET(no_partition, j->partition = (char *)"gone")
SET(bare, j->name = j->partition = NULL)
SET(named_in_note, j->admin_comment = (char *)"netprof{app=quiet}")
SET(unproved, j->user_id = SOME_UID + 9)
SET(private_app, j->admin_comment = (char *)"netprof{app=mine}")

/* A list of so many bytes, of which the last ones may be ours. */
static char *long_list(size_t len, const char *ours)
{
	static char list[2 * NP_ANNOTATION_MAX_USER];

	memset(list, ',', len);
	memcpy(list, "n1", 2);
	strcpy(list + len - strlen(ours), ours);
	return list;
}

SET(long_enough, j->exc_nodes = long_list(NP_ANNOTATION_MAX_USER, ""))
SET(too_long, j->exc_nodes = long_list(NP_ANNOTATION_MAX_USER + 1, ""))
SET(long_with_ours,
    j->exc_nodes = long_list(NP_ANNOTATION_MAX_USER + 7, ",n[4-7]");
    j->admin_comment = (char *)"netprof{user=n1 ours=n[4-7] held=0}")

#define SHARES NP_JOB_SHARES_NODES

static const struct {
	const char *name;
	void (*set)(struct some_slurm *s, slurm_job_info_t *j);
	bool there;
	enum np_job_state state;
	unsigned flags;
	size_t n_leaves; /* it runs on */
	int32_t profile;
	const char *app;
	bool ours;
} jobs[] = {
	{ "pending", left_alone, true, NP_JOB_READY, SHARES, 0, 0, "loud",
	  true },
	{ "running", runs, true, NP_JOB_RUNNING, SHARES, 1, 0, "loud", false },
	{ "completing", completes, true, NP_JOB_RUNNING, SHARES, 1, 0, "loud",
	  false },
	{ "suspended", suspended, true, NP_JOB_RUNNING, SHARES, 1, 0, "loud",
	  false },
	{ "requeued, still on its nodes", requeued, true, NP_JOB_RUNNING,
	  SHARES, 1, 0, "loud", false },
	{ "ended", ended, false },
	{ "running nowhere", nowhere, false },
	{ "held", held, true, NP_JOB_WAITING, SHARES, 0, 0, "loud", true },
	{ "dependent", dependent, true, NP_JOB_WAITING, SHARES, 0, 0, "loud",
	  true },
	{ "over a limit", limited, true, NP_JOB_WAITING, SHARES, 0, 0, "loud",
	  true },
	{ "impossible, perhaps by what we wrote", impossible, true,
	  NP_JOB_READY, SHARES, 0, 0, "loud", true },
	{ "in a reservation", reserved, true, NP_JOB_READY,
	  SHARES | NP_JOB_RESERVATION, 0, 0, "loud", true },
	{ "with a list of nodes", listed, true, NP_JOB_READY,
	  SHARES | NP_JOB_NODELIST, 0, 0, "loud", true },
	{ "heterogeneous", het, true, NP_JOB_READY,
	  SHARES | NP_JOB_HETEROGENEOUS, 0, 0, "loud", true },
	{ "with a deadline", due, true, NP_JOB_READY, SHARES | NP_JOB_URGENT, 0,
	  0, "loud", true },
	{ "of scrontab", cron, true, NP_JOB_READY, SHARES | NP_JOB_CONSTRAINT,
	  0, 0, "loud", false },
	{ "alone on its nodes", alone, true, NP_JOB_READY, 0, 0, 0, "loud",
	  true },
	{ "with nodes next to each other", contiguous, true, NP_JOB_READY,
	  SHARES | NP_JOB_CONSTRAINT, 0, 0, "loud", true },
	{ "with tasks counted in cores", tasks_of_a_core, true, NP_JOB_READY,
	  SHARES | NP_JOB_CONSTRAINT, 0, 0, "loud", true },
	{ "running on another cluster of a federation", revoked, false },
	{ "alone on its leaf switches", alone_on_switch, true, NP_JOB_READY,
	  NP_JOB_CONSTRAINT, 0, 0, "loud", true },
#if NP_SLURM_AT_LEAST(25, 5)
	{ "in segments", in_segments, true, NP_JOB_READY,
	  SHARES | NP_JOB_CONSTRAINT, 0, 0, "loud", true },
#endif
	{ "alone by its partition", exclusive_partition, true, NP_JOB_READY, 0,
	  0, 0, "loud", true },
	{ "two partitions", two_partitions, true, NP_JOB_READY,
	  NP_JOB_CONSTRAINT, 0, 0, "loud", true },
	{ "with as long a list as is followed", long_enough, true, NP_JOB_READY,
	  SHARES, 0, 0, "loud", true },
	{ "with that and what we put behind it", long_with_ours, true,
	  NP_JOB_READY, SHARES, 0, 0, "loud", true },
	{ "with a longer list, which stays as it is", too_long, true,
	  NP_JOB_READY, SHARES | NP_JOB_CONSTRAINT, 0, 0, "loud", false },
	{ "a partition that is gone", no_partition, false },
	{ "without a name, in the default partition", bare, true, NP_JOB_READY,
	  SHARES, 0, -1, "", true },
	{ "an application named in the annotation", named_in_note, true,
	  NP_JOB_READY, SHARES, 0, 2, "quiet", true },
	{ "a name that its user is not authorised to use", unproved, true,
	  NP_JOB_READY, SHARES | NP_JOB_UNPROVED, 0, 0, "loud", true },
	{ "an application without profile", private_app, true, NP_JOB_READY,
	  SHARES, 0, -1, "mine", true },
};

T_FIXTURE(some_slurm_begin, some_slurm_end);

T_TEST("what kind of job it is")
{
	T_EACH(r, jobs) {
		const struct np_job *in;
		struct np_job_snapshot v;

		some_slurm_begin();
		r->set(&ctld, some_job(&ctld, 7, "loud"));
		T_ROW(r->name, !some_jobs(&ctld, NULL, NULL, 0, &v));
		T_ROW(r->name, v.n_jobs == r->there);
		T_ROW(r->name, v.snapshot->n_jobs == v.n_jobs);
		if (v.n_jobs) {
			in = &v.snapshot->job[0];
			T_ROW(r->name, v.job[0].id == 7 && in->id == 7);
			T_ROW(r->name, in->state == r->state);
			T_ROW(r->name, in->flags == r->flags);
			T_ROW(r->name, in->mode == NP_MODE_ENFORCE);
			T_ROW(r->name, in->n_leaves == r->n_leaves);
			T_ROW(r->name, in->profile == r->profile);
			T_ROW(r->name, v.job[0].managed == r->ours);
			T_ROW(r->name, !strcmp(v.job[0].app, r->app));
		}
		np_job_snapshot_free(&v);
	}
}

T_TEST("arrays and their tasks")
{
	bitstr_t *bits = some_bits(3, 64);
	const struct np_job *in;
	slurm_job_info_t *j;
	struct np_job_snapshot v;

	j = some_job(&ctld, 7, "loud");
	j->array_job_id = 7;
	j->array_bitmap = bits;
	j = some_job(&ctld, 9, "loud");
	j->array_job_id = 7;
	j->array_task_id = 2;
	T_CHECK(!some_jobs(&ctld, NULL, NULL, 0, &v));
	T_CHECK(v.n_jobs == 2);
	in = &v.snapshot->job[0];
	T_ROW("the record", in->array == 7 && in->task == 3 && in->tasks == 61);
	T_ROW("the record",
	      v.job[0].task == NP_JOB_ENTRY_NO_TASK &&
		      v.job[0].n_tasks == NP_PLACEMENT_MAX_TASKS &&
		      v.job[0].tasks[0] == 3 && v.job[0].tasks[31] == 34);
	in = &v.snapshot->job[1];
	T_ROW("a task", in->array == 7 && in->task == 2 && in->tasks == 1);
	T_ROW("a task", v.job[1].task == 2 && !v.job[1].n_tasks);
	np_job_snapshot_free(&v);
	some_bits_free(bits);
}

static const struct {
	const char *name;
	uint32_t state;
	enum np_node_state want;
} nodes[] = {
	{ "idle", NODE_STATE_IDLE, NP_NODE_IDLE },
	{ "mixed", NODE_STATE_MIXED, NP_NODE_MIXED },
	{ "allocated", NODE_STATE_ALLOCATED, NP_NODE_FULL },
	{ "down", NODE_STATE_DOWN, NP_NODE_UNAVAILABLE },
	{ "drained", NODE_STATE_IDLE | NODE_STATE_DRAIN, NP_NODE_UNAVAILABLE },
	{ "draining", NODE_STATE_ALLOCATED | NODE_STATE_DRAIN,
	  NP_NODE_UNAVAILABLE },
	{ "reserved for maintenance", NODE_STATE_IDLE | NODE_STATE_MAINT,
	  NP_NODE_UNAVAILABLE },
	{ "completing", NODE_STATE_IDLE | NODE_STATE_COMPLETING, NP_NODE_FULL },
	{ "not answering for now", NODE_STATE_IDLE | NODE_STATE_NO_RESPOND,
	  NP_NODE_FULL },
	{ "asleep, but can be woken", NODE_STATE_IDLE | NODE_STATE_POWERED_DOWN,
	  NP_NODE_IDLE },
	{ "of the future", NODE_STATE_FUTURE, NP_NODE_UNAVAILABLE },
};

T_TEST("the state of nodes")
{
	struct np_job_snapshot v;

	for (size_t i = 0; i < NP_ARRAY_SIZE(nodes); i++)
		ctld.node[i].node_state = nodes[i].state;
	T_CHECK(!some_jobs(&ctld, NULL, NULL, 0, &v));
	for (size_t i = 0; i < NP_ARRAY_SIZE(nodes); i++)
		T_ROW(nodes[i].name, v.node[i] == nodes[i].want);
	np_job_snapshot_free(&v);
}

#define LATER (SOME_NOW + 60)
#define PAST (SOME_NOW - 60)

/* What stands in a job, and what follows. */
static const struct {
	const char *name, *comment, *exc;
	int64_t eligible; /* 0: past */
	const char *user, *written;
	bool in_effect;
	int64_t begin_sec, eligible_sec; /* the user's own */
	enum np_prior prior;
	int64_t until;
} notes[] = {
	{ "nothing", NULL, "", 0, "", "", false, 0, 0, NP_PRIOR_NONE, 0 },
	{ "a user's list", NULL, "n[0-4]", 0, "n[0-4]", "", false, 0, 0,
	  NP_PRIOR_NONE, 0 },
	{ "a user's begin time", NULL, "", LATER, "", "", false, LATER, LATER,
	  NP_PRIOR_NONE, 0 },
	{ "named only", "netprof{app=loud}", "n1", 0, "n1", "", true, 0, 0,
	  NP_PRIOR_NONE, 0 },
	{ "decided, anywhere", "netprof{held=0}", "", 0, "", "", true, 0, 0,
	  NP_PRIOR_UNRESTRICTED, 0 },
	{ "our exclusions are in place", "netprof{ours=n[0-3] held=0}",
	  "n[0-3]", 0, "", "n[0-3]", true, 0, 0, NP_PRIOR_RESTRICTED, 0 },
	{ "ours and the user's", "netprof{user=n[3,8] ours=n[0-3] held=0}",
	  "n[0-3,8]", 0, "n[3,8]", "n[0-3]", true, 0, 0, NP_PRIOR_RESTRICTED,
	  0 },
	{ "somebody removed our exclusions", "netprof{ours=n[0-3] held=0}", "",
	  0, "", "n[0-3]", false, 0, 0, NP_PRIOR_NONE, 0 },
	{ "somebody removed some of our exclusions",
	  "netprof{ours=n[0-3] held=0}", "n[0-2]", 0, "", "n[0-3]", false, 0, 0,
	  NP_PRIOR_NONE, 0 },
	{ "somebody added nodes", "netprof{ours=n[0-3] held=0}", "n[0-4]", 0,
	  "n4", "n[0-3]", true, 0, 0, NP_PRIOR_RESTRICTED, 0 },
	{ "somebody removed the user's exclusions",
	  "netprof{user=n8 ours=n[0-3] held=0}", "n[0-3]", 0, "", "n[0-3]",
	  true, 0, 0, NP_PRIOR_RESTRICTED, 0 },
	{ "held", "netprof{until=1000060 held=0}", "", LATER, "", "", true,
	  LATER, 0, NP_PRIOR_HELD, LATER },
	{ "held, to his own begin time",
	  "netprof{until=1000060 begin=1000060 held=0}", "", LATER, "", "",
	  true, LATER, LATER, NP_PRIOR_HELD, LATER },
	{ "held, and his begin time is past",
	  "netprof{until=1000060 begin=999990 held=0}", "", LATER, "", "", true,
	  LATER, 0, NP_PRIOR_HELD, LATER },
	{ "the hold is over", "netprof{until=999940 held=0}", "", PAST, "", "",
	  true, 0, 0, NP_PRIOR_HELD, PAST },
	{ "held, but the begin time is another",
	  "netprof{until=1000060 held=0}", "", LATER + 5, "", "", false,
	  LATER + 5, LATER + 5, NP_PRIOR_NONE, 0 },
	{ "held, but may begin now", "netprof{until=1000060 held=0}", "", 0, "",
	  "", false, 0, 0, NP_PRIOR_NONE, 0 },
	{ "a damaged note", "netprof{ours=n[0-3] what}", "n[0-3]", 0, "n[0-3]",
	  "", false, 0, 0, NP_PRIOR_NONE, 0 },
	{ "a list in it that is none", "netprof{ours=n[3-1] held=0}", "n[0-3]",
	  0, "n[0-3]", "", false, 0, 0, NP_PRIOR_NONE, 0 },
	{ "names that are gone", "netprof{user=m1,n8 ours=n[0-3] held=0}",
	  "n[0-3,8]", 0, "n8", "n[0-3]", true, 0, 0, NP_PRIOR_RESTRICTED, 0 },
};

T_TEST("whose exclusions are whose, and whose begin time")
{
	T_EACH(r, notes) {
		const struct np_job_entry *entry;
		const struct np_job *in;
		slurm_job_info_t *j;
		struct np_job_snapshot v;

		some_slurm_begin();
		j = some_job(&ctld, 7, "loud");
		j->admin_comment = (char *)r->comment;
		some_exclude(&ctld, j, r->exc);
		if (r->eligible)
			j->eligible_time = r->eligible;
		T_ROW(r->name, !some_jobs(&ctld, NULL, NULL, 0, &v));
		entry = &v.job[0];
		in = &v.snapshot->job[0];
		T_ROW(r->name,
		      some_same(some_hosts(ctld.map, entry->user), r->user));
		T_ROW(r->name, some_same(some_hosts(ctld.map, entry->written),
					 r->written));
		T_ROW(r->name, entry->in_effect == r->in_effect);
		T_ROW(r->name, entry->begin_sec == r->begin_sec);
		T_ROW(r->name, in->eligible_sec == r->eligible_sec);
		T_ROW(r->name, in->prior == r->prior);
		T_ROW(r->name, in->prior_until_sec == r->until);
		if (in->prior == NP_PRIOR_RESTRICTED)
			T_ROW(r->name, in->prior_leaves[0] == 0xe);
		np_job_snapshot_free(&v);
	}
}

/* Job 7 of an answer, after one whose highest id was 6. */
#define NOTED(text) j->admin_comment = (char *)"netprof{app=loud " text "}"

SET(just_named, NOTED())
SET(restricted, NOTED("ours=n[0-3] held=0"))
SET(over_already, NOTED("held=0"); j->job_state = JOB_COMPLETE)
SET(put_off, NOTED("until=1000031 begin=0 held=0"))
SET(unflagged, j->admin_comment = NULL)
SET(shown_before, NOTED("held=0"); j->job_id = 6)
SET(long_ago, NOTED("held=0"); j->submit_time = SOME_NOW - 6)
SET(whole_array, NOTED("held=0"); j->array_job_id = 7)
SET(its_task, NOTED("held=0"); j->array_job_id = 5)

static const struct {
	const char *name;
	void (*set)(struct some_slurm *s, slurm_job_info_t *j);
	bool arrived;
} arrivals[] = {
	{ "only named", just_named, true },
	{ "restricted", restricted, true },
	{ "it has ended since", over_already, true },
	{ "held: nothing was admitted", put_off, false },
	{ "not ours", unflagged, false },
	{ "the answer before had it", shown_before, false },
	{ "requeued after long", long_ago, false },
	{ "an array is one submission", whole_array, true },
	{ "a task of it is none", its_task, false },
};

T_TEST("which jobs are new ones")
{
	T_EACH(r, arrivals) {
		struct np_arrivals a;
		uint32_t last_id = 6;
		slurm_job_info_t *j;

		some_slurm_begin();
		j = some_job(&ctld, 7, "loud");
		j->submit_time = SOME_NOW;
		r->set(&ctld, j);
		T_ROW(r->name, !np_ctld_info_arrivals(&ctld.info, SOME_NOW - 5,
						      &last_id, &a));
		T_ROW(r->name, last_id == j->job_id);
		T_ROW(r->name, np_arrivals_take(&a, SOME_UID) == r->arrived);
		free(a.of);
	}
}
