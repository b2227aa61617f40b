#include "t.h"
#include "np_state.h"
#include "np_store_reader.h"
#include "some_slurm.h"

#include <sys/stat.h>
#include <time.h>

static char store[512];

struct world {
	struct some_slurm slurm;
	struct np_accounting *history;
	struct np_slowdowns *table;
	struct np_app_index *index;
	int64_t begin_sec; /* of the first jobs */
};

static struct world world;

static void tear_down(void)
{
	np_accounting_free(world.history);
	np_slowdowns_unref(world.table);
	np_app_index_unref(world.index);
	some_slurm_free(&world.slurm);
	memset(&world, 0, sizeof(world));
}

static void set_up(void)
{
	static int count;

	tear_down();
	snprintf(store, sizeof(store), "%s/past%d", t_tmpdir(), count++);
	T_CHECK(!mkdir(store, 0755));
	some_slurm(&world.slurm);
	T_CHECK(!np_accounting_new(&world.history));
	world.table = some_slowdowns();
	world.index = some_index(NULL);
	world.begin_sec = time(NULL) - 1000;
}

static slurm_job_info_t *run(struct world *w, uint32_t id, const char *app,
			     const char *hosts, int64_t at_sec)
{
	slurm_job_info_t *j = some_job(&w->slurm, id, app);

	some_run(&w->slurm, j, hosts);
	j->start_time = w->begin_sec + at_sec;
	j->submit_time = j->start_time - 10;
	return j;
}

/* One pass of the thread, so many seconds after the beginning. */
static void look(struct world *w, int64_t at_sec)
{
	struct np_err err = NP_ERR_INIT;
	struct np_job_snapshot v;

	w->slurm.now_sec = w->begin_sec + at_sec;
	T_CHECK(!some_jobs(&w->slurm, NULL, NULL, 0, &v));
	T_CHECK(!np_accounting_update(w->history, &v, &w->slurm.info, w->table,
				      w->index, store, 0644, &err));
	np_job_snapshot_free(&v);
}

static void end(struct world *w, slurm_job_info_t *j, int64_t at_sec)
{
	j->job_state = JOB_COMPLETE;
	j->end_time = w->begin_sec + at_sec;
}

static bool found(uint32_t id, struct np_accounting_record *e)
{
	struct np_err err;

	memset(e, 0, sizeof(*e));
	return !np_accounting_find(store, id, NP_ACCOUNTING_NO_TASK, e, &err);
}

T_FIXTURE(set_up, tear_down);

/* 20 of its 100 seconds with a job that costs it half as much again. */
T_TEST("who was concurrent with whom, for how long, at what cost")
{
	slurm_job_info_t *soft, *loud;
	struct np_accounting_record e;

	soft = run(&world, 1, "soft", "n[0-1,4]", 0);
	soft->admin_comment = (char *)"netprof{app=soft held=30}";
	look(&world, 1);
	loud = run(&world, 2, "loud", "n[3,8]", 10);
	run(&world, 3, "quiet", "n[5-6]", 50);
	run(&world, 4, "loud", "n[12-13]", 50);
	look(&world, 60);
	T_ROW("runs on", !found(1, &e));
	end(&world, loud, 30);
	look(&world, 80);
	T_ROW("the neighbour ended", found(2, &e));
	T_CHECK(e.n_neighbours == 1 && e.neighbour[0].id == 1 &&
		!e.neighbour[0].slowdown && !e.slowdown);
	np_accounting_record_free(&e);
	end(&world, soft, 100);
	look(&world, 110);
	T_ROW("ended", found(1, &e));
	T_CHECK(!strcmp(e.app, "soft") && !strcmp(e.partition, "batch"));
	T_CHECK(!strcmp(e.leaves, "leaf[0-1]"));
	T_CHECK(e.start == (double)world.begin_sec);
	T_CHECK(e.end == (double)world.begin_sec + 100);
	T_CHECK(e.submit == (double)world.begin_sec - 10);
	T_CHECK(e.uid == SOME_UID && e.held_sec == 30);
	T_CHECK(e.n_neighbours == 2);
	if (e.n_neighbours == 2) { /* the longest first */
		T_CHECK(e.neighbour[1].id == 2);
		T_CHECK(!strcmp(e.neighbour[1].app, "loud"));
		T_CHECK(!strcmp(e.neighbour[1].leaves, "leaf0"));
		T_CHECK(e.neighbour[1].overlap_sec == 20);
		T_CHECK(t_close(e.neighbour[1].slowdown, .5, 1e-3));
		T_CHECK(e.neighbour[0].id == 3);
		T_CHECK(!strcmp(e.neighbour[0].leaves, "leaf1"));
		T_CHECK(e.neighbour[0].overlap_sec == 50);
		T_CHECK(!e.neighbour[0].slowdown);
	}
	T_CHECK(t_close(e.slowdown, pow(1.5, .2) - 1, 1e-3));
	np_accounting_record_free(&e);
	T_ROW("others run on", !found(3, &e) && !found(4, &e));
}

static const struct {
	const char *name, *app;
	int64_t end_sec; /* as Slurm says; -1: it does not know the job */
	bool found;
	int64_t want_sec;
} ends[] = {
	{ "as Slurm says", "soft", 95, true, 95 },
	{ "slurmctld no longer knows the job", "soft", -1, true, 100 },
	{ "an end time in the future", "soft", 500, true, 100 },
	{ "an end time before the start", "soft", -5, true, 100 },
	{ "a job that names no application", "ls", 95, false, 0 },
};

T_TEST("when a job ended")
{
	T_EACH(r, ends) {
		slurm_job_info_t *j;
		struct np_accounting_record e;

		set_up();
		j = run(&world, 1, r->app, "n0", 0);
		look(&world, 90);
		end(&world, j, r->end_sec);
		if (r->end_sec == -1)
			world.slurm.jobs.record_count = 0;
		look(&world, 100);
		T_ROW(r->name, found(1, &e) == r->found);
		T_ROW(r->name, !r->found || e.end == (double)(world.begin_sec +
							      r->want_sec));
		np_accounting_record_free(&e);
	}
}

T_TEST("the nodes of a job that is still completing on some of them")
{
	slurm_job_info_t *j, *other;
	struct np_accounting_record e;

	j = run(&world, 1, "soft", "n[0-1,4]", 0);
	other = run(&world, 2, "loud", "n5", 0);
	look(&world, 10);
	some_run(&world.slurm, j, "n0");
	j->start_time = world.begin_sec;
	end(&world, j, 90);
	j->job_state |= JOB_COMPLETING;
	look(&world, 91);
	T_ROW("it still holds a node", !found(1, &e));
	end(&world, j, 90);
	look(&world, 100);
	T_ROW("ended", found(1, &e));
	T_CHECK(!strcmp(e.leaves, "leaf[0-1]") && e.n_neighbours == 1 &&
		e.neighbour[0].id == 2);
	np_accounting_record_free(&e);
	end(&world, other, 110);
	look(&world, 120);
	T_ROW("its neighbour", found(2, &e));
	T_CHECK(e.n_neighbours == 1 && e.neighbour[0].id == 1);
	np_accounting_record_free(&e);
}

/* Requeued, and running again before anybody looked. */
T_TEST("each run of a requeued job")
{
	slurm_job_info_t *j, *other;
	struct np_accounting_record e;

	other = run(&world, 2, "soft", "n1", 0);
	j = run(&world, 1, "loud", "n0", 0);
	look(&world, 10);
	j->job_state = JOB_PENDING | JOB_COMPLETING;
	j->start_time = world.begin_sec + 999; /* when it might start */
	look(&world, 20);
	T_ROW("it still holds its nodes", !found(1, &e));
	j->job_state = JOB_RUNNING;
	j->start_time = world.begin_sec + 40;
	j->end_time = world.begin_sec + 9999; /* its limit */
	look(&world, 60);
	T_ROW("the first run", found(1, &e));
	T_CHECK(e.start == (double)world.begin_sec);
	T_CHECK(e.end == (double)world.begin_sec + 40);
	np_accounting_record_free(&e);
	end(&world, j, 70);
	look(&world, 80);
	T_ROW("the second run", found(1, &e));
	T_CHECK(e.start == (double)world.begin_sec + 40);
	T_CHECK(e.end == (double)world.begin_sec + 70);
	np_accounting_record_free(&e);
	end(&world, other, 100);
	look(&world, 110);
	T_ROW("who was concurrent with both", found(2, &e));
	T_CHECK(e.n_neighbours == 2);
	T_CHECK(t_close(e.slowdown, pow(1.5, .7) - 1, 1e-3));
	np_accounting_record_free(&e);
}

/* Handles of another table: the names count. */
T_TEST("profiles are found by name")
{
	static const struct np_app_entry entry[] = {
		{ "soft", true, 0, 0 },
		{ "loud", true, 0, 1 },
	};
	struct np_app_index *other;
	slurm_job_info_t *j;
	struct np_accounting_record e;

	T_CHECK(!np_app_index_new(entry, 2, NP_PROFILE_UNKNOWN, NULL, &other));
	j = run(&world, 1, "soft", "n0", 0);
	run(&world, 2, "quiet", "n1", 0);
	look(&world, 10);
	np_app_index_unref(world.index);
	world.index = other;
	end(&world, j, 20);
	look(&world, 30);
	T_CHECK(found(1, &e) && e.n_neighbours == 1);
	T_CHECK(!e.slowdown); /* quiet has no profile any more */
	np_accounting_record_free(&e);
}

/* Jobs that may not use the name loud slowed nobody by that name. */
T_TEST("a neighbour that may not use its name")
{
	struct np_auth_rule rule[NP_AUTH_MAX_RULES] = { { 0 } };
	struct np_auth_rules who = { .rule = rule };
	slurm_job_info_t *j;
	struct np_accounting_record e;

	T_CHECK(!np_auth_parse("loud:user=0", rule, &who.n_rules, NULL));
	world.slurm.auth = &who;
	j = run(&world, 1, "soft", "n0", 0);
	run(&world, 2, "loud", "n1", 0);
	look(&world, 10);
	end(&world, j, 20);
	look(&world, 30);
	T_CHECK(found(1, &e) && e.n_neighbours == 1 && !e.slowdown);
	np_accounting_record_free(&e);
}

/* What cannot be written is logged, and forgotten. */
T_TEST("a store that cannot be written to")
{
	struct np_err err = NP_ERR_INIT;
	slurm_job_info_t *j;
	struct np_job_snapshot v;

	j = run(&world, 1, "soft", "n0", 0);
	look(&world, 10);
	end(&world, j, 20);
	world.slurm.now_sec = world.begin_sec + 30;
	T_CHECK(!some_jobs(&world.slurm, NULL, NULL, 0, &v));
	T_CHECK(np_accounting_update(world.history, &v, &world.slurm.info,
				     world.table, world.index,
				     "/nonexistent/store", 0644, &err) < 0);
	T_CHECK(err.text[0]);
	T_CHECK(!np_accounting_update(world.history, &v, &world.slurm.info,
				      world.table, world.index,
				      "/nonexistent/store", 0644, &err));
	np_job_snapshot_free(&v);
}

/* A line for the log, and no trouble in state.json. */
T_TEST("a day that is full is logged once")
{
	const unsigned before = some_n_logged();
	struct np_accounting_record e;

	for (uint32_t id = 1; id <= 2; id++)
		run(&world, id, "soft", "n0", 0);
	look(&world, 10);
	t_sh(store,
	     "mkdir placement && "
	     "truncate -s 64M placement/ended-$(date -u +%%Y%%m%%d).jsonl");
	for (uint32_t id = 1; id <= 2; id++)
		end(&world, &world.slurm.job[id - 1], 20);
	look(&world, 30);
	T_CHECK(!found(1, &e) && !found(2, &e));
	T_CHECK(!np_accounting_has_more(world.history));
	T_CHECK(some_n_logged() == before + 1 &&
		strstr(some_logged(), "no more ended jobs"));
}

/* The same nodes, but leaf0 and leaf3 have other numbers than before. */
static const char other_topology[] =
	"SwitchName=aisle Level=0 LinkSpeed=1 Nodes=n[12-15]\n"
	"SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[8-11]\n"
	"SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[4-7]\n"
	"SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
	"SwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-15] "
	"Switches=aisle,leaf[0-2]\n";

static void change_topology(struct world *w)
{
	struct np_cluster_map *map;
	struct np_err err;

	w->slurm.info.topology = (char *)other_topology;
	T_CHECK(!np_cluster_map_make(w->slurm.map, &w->slurm.nodes,
				     &w->slurm.parts, other_topology, false,
				     &map, &err));
	T_CHECK(strcmp(map->leaves->switch_name[0],
		       w->slurm.map->leaves->switch_name[0]) != 0);
	np_cluster_map_unref(w->slurm.map);
	w->slurm.map = map;
}

/* Switches have other numbers: nothing is forgotten, and what runs goes on. */
T_TEST("jobs that end while the topology changes")
{
	slurm_job_info_t *before, *loud, *after;
	struct np_accounting_record e;

	before = run(&world, 1, "soft", "n[0,12]", 0);
	loud = run(&world, 2, "loud", "n1", 0);
	after = run(&world, 3, "soft", "n2", 0);
	look(&world, 10);
	end(&world, before, 15);
	change_topology(&world);
	look(&world, 20);
	T_ROW("it ended before the change was noticed", found(1, &e));
	T_CHECK(e.leaves && !strcmp(e.leaves, "leaf0"));
	T_CHECK(e.partition && !strcmp(e.partition, "batch"));
	T_CHECK(e.end == (double)world.begin_sec + 15 && e.n_neighbours == 2);
	T_CHECK(t_close(e.slowdown, .5, 1e-3));
	np_accounting_record_free(&e);
	end(&world, loud, 30);
	end(&world, after, 40);
	look(&world, 50);
	T_ROW("it ran on", found(3, &e));
	T_CHECK(e.leaves && !strcmp(e.leaves, "leaf0"));
	T_CHECK(e.n_neighbours == 2);
	T_CHECK(t_close(e.slowdown, pow(1.5, .75) - 1, 1e-3));
	np_accounting_record_free(&e);
}

/* More than one pass writes down, and one that ran with all of them. */
#define MANY 500

static slurm_job_info_t many[MANY];
static int32_t where[MANY][3];

static void run_many(struct world *w, job_info_msg_t *jobs)
{
	for (uint32_t i = 0; i < MANY; i++) {
		w->slurm.jobs.record_count = 0;
		many[i] = *run(w, i + 1, i ? "soft" : "loud", "n0", i ? 10 : 0);
		where[i][0] = where[i][1] = 0;
		where[i][2] = -1;
		many[i].node_inx = where[i];
	}
	*jobs = (job_info_msg_t){ .record_count = MANY, .job_array = many };
	w->slurm.info.jobs = jobs;
}

static int count_lines(void)
{
	int n = -1;
	FILE *f;

	f = popen(t_text("cat %s/placement/ended-* | wc -l", store), "r");
	T_CHECK(f && fscanf(f, "%d", &n) == 1 && !pclose(f));
	return n;
}

/*
 * Of thousands that end at once, a pass writes down some; none is lost, even if
 * the topology changes meanwhile.
 */
static void many_at_once(bool topology_changes)
{
	job_info_msg_t jobs;
	struct np_accounting_record e;
	int passes = 1;

	run_many(&world, &jobs);
	look(&world, 60);
	T_CHECK(!np_accounting_has_more(world.history));
	for (uint32_t i = 0; i < MANY; i++)
		end(&world, &many[i], 90);
	look(&world, 100);
	T_CHECK(np_accounting_has_more(world.history));
	T_CHECK(count_lines() == NP_ACCOUNTING_MAX_WRITTEN);
	jobs.record_count = 0; /* Slurm forgets them meanwhile */
	if (topology_changes)
		change_topology(&world);
	for (; np_accounting_has_more(world.history) && passes < 9; passes++)
		look(&world, 100 + passes);
	T_CHECK(passes == (MANY + NP_ACCOUNTING_MAX_WRITTEN - 1) /
				  NP_ACCOUNTING_MAX_WRITTEN);
	T_CHECK(count_lines() == MANY);
	T_ROW("the last one was concurrent with those written before",
	      found(MANY, &e) && e.slowdown > 0.4);
	T_CHECK(e.n_neighbours == NP_ACCOUNTING_PUT_NEIGHBOURS &&
		e.n_neighbours + e.more_neighbours == MANY - 1 &&
		e.end == e.start + 80);
	np_accounting_record_free(&e);
}

T_TEST("of many that end at once none is lost")
{
	many_at_once(false);
}

T_TEST("nor if the topology changes meanwhile")
{
	many_at_once(true);
}
