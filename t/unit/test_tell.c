#include "t.h"
#include "np_tell.h"
#include "some_slurm.h"

#include <stdlib.h>
#include <string.h>

static struct np_state state_of(struct some_slurm *s)
{
	static struct np_settings settings;
	static const struct np_charge charge = { .cluster = "c",
						 .host = "ctl" };
	struct np_press *table = some_press();
	struct np_state state = { .date = 0 };
	struct np_placement *p;
	struct np_view v;
	struct np_tell t = {
		.charge = &charge, .settings = &settings, .table = table,
		.fabric = "as of today", .trouble = "none", .decide_sec = .5,
	};

	np_settings_init(&settings);
	T_CHECK(!some_view(s, NULL, NULL, 0, &v));
	p = some_decision(&v);
	T_CHECK(!np_tell_make(&t, &v, p, &state));
	np_placement_free(p);
	np_view_free(&v);
	np_press_unref(table);
	return state;
}

static const struct np_state_job *job(const struct np_state *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->job[i].id == id)
			return &s->job[i];
	return NULL;
}

static void test_state(void)
{
	const struct np_state_job *j;
	struct some_slurm s;
	struct np_state state;

	some_slurm(&s);
	s.node[2].node_state = NODE_STATE_DOWN;
	s.node[0].node_state = s.node[1].node_state = NODE_STATE_ALLOCATED;
	some_run(&s, some_job(&s, 30, "loud"), "n[0-1]");
	some_run(&s, some_job(&s, 20, "nameless"), "n[1,4]");
	some_job(&s, 10, "soft");
	some_job(&s, 5, "quiet");
	some_job(&s, 4, "unknown");
	state = state_of(&s);
	T_CHECK(state.date == SOME_NOW && state.decide_sec == .5);
	T_CHECK(!strcmp(state.cluster, "c") && !strcmp(state.controller,
						       "ctl"));
	T_CHECK(state.n_profiles == 3);
	T_CHECK(state.n_leaves == SOME_LEAVES);
	T_CHECK(!strcmp(state.leaf[0].name, "leaf0"));
	T_CHECK(state.leaf[0].n_nodes == 4 && state.leaf[0].n_idle == 1 &&
		state.leaf[0].n_away == 1);
	T_CHECK(state.leaf[0].n_jobs == 2 && state.leaf[0].n_known == 1);
	T_CHECK(state.leaf[1].n_jobs == 1 && !state.leaf[1].n_known);
	T_ROW("those without application are not told of",
	      state.n_jobs == 3 && !job(&state, 4) && !job(&state, 20));
	j = job(&state, 30);
	T_ROW("one that runs", j && !j->pending && j->known &&
	      some_same(j->leaves, "leaf0") && j->start == SOME_NOW - 50);
	j = job(&state, 5);
	T_ROW("one that harms nobody", j && j->pending &&
	      some_same(j->action, "anywhere") && !j->n_causes);
	j = job(&state, 10);
	T_ROW("one that is kept off", j && some_same(j->action, "confine") &&
	      some_same(j->leaves, "leaf[1-3]"));
	T_CHECK(j && j->text && strstr(j->text, "running job 30"));
	T_CHECK(j && j->n_causes == 1);
	if (j && j->n_causes == 1) {
		T_CHECK(!strcmp(j->cause[0].leaf, "leaf0"));
		T_CHECK(j->cause[0].other == 30);
		T_CHECK(!strcmp(j->cause[0].other_app, "loud"));
		T_CHECK(j->cause[0].victim == 10);
		T_CHECK(t_close(j->cause[0].slowdown, .5, 1e-3));
	}
	np_state_free(&state);
	some_slurm_free(&s);
}

static void test_empty(void)
{
	struct some_slurm s;
	struct np_state state;

	some_slurm(&s);
	state = state_of(&s);
	T_CHECK(!state.n_jobs && state.n_leaves == SOME_LEAVES);
	np_state_free(&state);
	some_slurm_free(&s);
}

static unsigned lines(const struct np_view *v, struct np_memos *memos)
{
	struct np_placement *p = some_decision(v);
	unsigned before = some_n_said(), n;

	np_tell_log(v, p, memos);
	n = some_n_said() - before;
	np_placement_free(p);
	return n;
}

/* A decision is said once, until it is another one. */
static void test_log(void)
{
	struct np_memos *memos;
	struct some_slurm s;
	struct np_view v;

	some_slurm(&s);
	T_CHECK(!np_memos_new(&memos));
	some_run(&s, some_job(&s, 30, "loud"), "n0");
	some_job(&s, 10, "soft");
	some_job(&s, 11, "unknown");
	T_CHECK(!some_view(&s, memos, NULL, 0, &v));
	T_CHECK(lines(&v, memos) == 1);
	T_CHECK(!strncmp(some_said(), "netprof: JobId=10 (soft): kept off 1 "
			 "of 4 leaf switches: ", 55));
	T_ROW("again", !lines(&v, memos));
	np_view_free(&v);
	some_run(&s, &s.job[0], "n4");
	T_CHECK(!some_view(&s, memos, NULL, 0, &v));
	T_ROW("another leaf", lines(&v, memos) == 1);
	np_view_free(&v);
	np_memos_free(memos);
	some_slurm_free(&s);
}

static const struct t_case cases[] = {
	{ "the state of placement", test_state },
	{ "the state of nothing", test_empty },
	{ "a decision is said once", test_log },
	{ NULL, NULL },
};
T_SUITE(tell, cases)
