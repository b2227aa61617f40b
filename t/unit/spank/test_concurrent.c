#include "t.h"
#include "np_alloc_query.h"

#define TWO_LEAVES \
	"SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-7]\n" \
	"SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[8-15]\n"

/* A step on n[0-1] of leaf0, before it learns of others. */
struct rig {
	struct np_leaf_index *leaves;
	struct np_record *r;
	struct np_neighbours b;
};

static struct rig g; /* of the test */

static void end(void)
{
	np_neighbours_free(&g.b);
	np_leaf_index_free(g.leaves);
	np_record_free(g.r);
	g = (struct rig){ .r = NULL };
}

static void begin(void)
{
	struct np_hosts nodes = { NULL, 0 };

	end();
	g.r = np_record_new();
	T_CHECK(np_leaf_index_parse(TWO_LEAVES, &g.leaves, NULL) == 0);
	T_CHECK(np_hosts_expand("n[0-1]", &nodes) == 0);
	T_CHECK(np_neighbours_init(&g.b, g.leaves, &nodes, g.r, NULL) == 0);
	np_hosts_free(&nodes);
}

/* The last of them, as "LEAF:NODES:OVERLAP"; want "": it is none. */
static const struct {
	const char *name, *nodes;
	double overlap_sec;
	const char *want;
} rows[] = {
	{ "on the step's leaf", "n[2-3]", 70, "leaf0:n[2-3]:70" },
	{ "on its very nodes", "n0", 5, "leaf0:n0:5" },
	{ "partly elsewhere", "n[6-9]", 9, "leaf0:n[6-7]:9" },
	{ "on another leaf", "n[8-9]", 70, "" },
	{ "on a node that nobody knows", "x", 70, "" },
	{ "for no more than a second", "n2", 1, "" },
	{ "a job that ended before the step", "n2", -30, "" },
};

T_FIXTURE(begin, end);

/* A job that shares only the switch of the second rail. */
T_TEST("a job that shares the switch of another rail is a neighbour")
{
	struct np_candidate c = { 7, NP_NO_VALUE, "n5", 70 };
	struct np_hosts nodes = { NULL, 0 };

	end();
	g.r = np_record_new();
	T_CHECK(!np_leaf_index_parse("SwitchName=a Level=0 Nodes=n[0-3]\n"
				     "SwitchName=b Level=0 Nodes=n[4-7]\n"
				     "SwitchName=x Level=0 Nodes=n[0-7]\n",
				     &g.leaves, NULL));
	T_CHECK(!np_leaf_index_set_devices(g.leaves, "ib0,ib1"));
	T_CHECK(!np_hosts_expand("n[0-1]", &nodes));
	T_CHECK(!np_neighbours_init(&g.b, g.leaves, &nodes, g.r, NULL));
	T_CHECK(!np_neighbours_add(&g.b, &c, NULL));
	T_CHECK(g.r->n_neighbours == 1 &&
		!strcmp(g.r->neighbours[0].leaf, "x") &&
		!strcmp(g.r->neighbours[0].nodes, "n5"));
	np_hosts_free(&nodes);
}

T_TEST("who shared a leaf with the step, and for how long")
{
	T_EACH(row, rows) {
		struct np_candidate c = { 7, NP_NO_VALUE, row->nodes,
					  row->overlap_sec };
		char text[128] = "";

		begin();
		T_ROW(row->name, np_neighbours_add(&g.b, &c, NULL) == 0);
		c.overlap_sec -= 1; /* seen again, the longest counts */
		T_ROW(row->name, np_neighbours_add(&g.b, &c, NULL) == 0);
		for (size_t k = 0; k < g.r->n_neighbours; k++) {
			const struct np_neighbour *n = &g.r->neighbours[k];

			T_ROW(row->name, !k && n->job_id == 7);
			snprintf(text, sizeof(text), "%s:%s:%g", n->leaf,
				 n->nodes, n->overlap_sec);
		}
		T_ROW(row->name, !strcmp(text, row->want));
	}
}

T_TEST("a full list ends the search, with one note")
{
	struct np_candidate c = { 0, NP_NO_VALUE, "n2", 70 };
	struct np_err err = NP_ERR_INIT;

	for (c.job_id = 1; c.job_id <= NP_RECORD_MAX_NEIGHBOURS; c.job_id++)
		T_CHECK(np_neighbours_add(&g.b, &c, &err) == 0);
	T_CHECK(g.r->n_notes == 0);
	for (int minute = 0; minute < 3; minute++)
		T_CHECK(np_neighbours_add(&g.b, &c, &err) ==
			NP_NEIGHBOURS_FULL);
	T_CHECK(g.r->n_neighbours == NP_RECORD_MAX_NEIGHBOURS && !*err.text);
	T_CHECK(g.r->n_notes == 1 &&
		!strcmp(g.r->notes[0],
			"more than 4096 neighbours: the others are not recorded"));
	c.job_id = 1; /* one that is known has its place */
	c.overlap_sec = 80;
	T_CHECK(np_neighbours_add(&g.b, &c, &err) == 0);
	T_CHECK(g.r->neighbours[0].overlap_sec == 80);
}

static const struct {
	const char *name;
	double run_sec, took_sec, pause_sec;
} pauses[] = {
	{ "at first", 3, 0.01, 60 },
	{ "of a long run", 3600, 0.01, 900 },
	{ "where slurmctld takes long", 3, 2, 600 },
	{ "and the run is long", 7200, 2, 1800 },
};

T_TEST("the pause until neighbours are queried again")
{
	T_EACH(r, pauses)
		T_ROW(r->name,
		      t_close(np_neighbours_pause_sec(r->run_sec, r->took_sec),
			      r->pause_sec, 1e-9));
}

T_TEST("nodes that cannot be distinguished are reported")
{
	struct np_candidate c = { 7, NP_NO_VALUE, "n[0-40000],m[0-40000]", 70 };
	struct np_err err = NP_ERR_INIT;

	T_CHECK(np_neighbours_add(&g.b, &c, &err) == -EINVAL);
	T_ROW(err.text,
	      strstr(err.text, "job 7 on n[0-40000],m[0-40000]: Invalid"));
}

/* ---- the list of all jobs ---- */

static size_t text_bytes; /* of each job, in a field that is not needed */

/* A pending job, the step's own, and one on its leaf, 200 times. */
static int load_some(job_info_msg_t **out)
{
	static job_info_msg_t msg;
	static slurm_job_info_t job[3 * 200];

	msg = (job_info_msg_t){ .record_count = NP_ARRAY_SIZE(job),
				.job_array = job };
	for (uint32_t i = 0; i < NP_ARRAY_SIZE(job); i++) {
		job[i] = (slurm_job_info_t){
			.job_id = i % 3 == 1 ? 1 : 100 + i,
			.job_state = i % 3 ? JOB_RUNNING : JOB_PENDING,
			.nodes = (char *[]){ "n[4-5]", "n[0-1]", "n2" }[i % 3],
			.start_time = 1000,
			.suspend_time = i % 3 == 1 ? 1050 : 0,
			.exc_nodes = malloc(text_bytes),
		};
		if (!job[i].exc_nodes)
			abort(); /* as Slurm's library does */
		memset(job[i].exc_nodes, 'n', text_bytes);
	}
	*out = &msg;
	return 0;
}

static int load_none(job_info_msg_t **out)
{
	*out = NULL;
	errno = ETIMEDOUT;
	return -1;
}

T_TEST("jobs whose users wrote much take no memory from a step")
{
	struct np_err err = NP_ERR_INIT;

	g.r->job_id = 1;
	g.r->start = 1000;
	text_bytes = 60000;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* Sanitizers reserve address space beforehand, so no limit applies. */
	T_ROW("12 MB for 4", np_neighbours_merge_jobs(&g.b, 1100, 0, load_some,
						      4 << 20, &err) == -EPIPE);
	T_CHECK(!g.r->n_neighbours && !!strstr(err.text, "4 MiB"));
#endif
	T_ROW("and for 1024", !np_neighbours_merge_jobs(
				      &g.b, 1100, 0, load_some, 1 << 30, &err));
	T_CHECK(g.r->n_neighbours == 200 && g.r->suspended &&
		g.r->neighbours[0].overlap_sec == 100);
	T_CHECK(np_neighbours_merge_jobs(&g.b, 1100, 0, load_none, 1 << 30,
					 &err) == -EIO &&
		!!strstr(err.text, "did not report the jobs: "));
}
