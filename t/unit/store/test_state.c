#include "t.h"
#include "some_state.h"
#include "some_store.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static void check_job(const struct np_state_job *a,
		      const struct np_state_job *b)
{
	T_CHECK(a->id == b->id && a->array == b->array && a->task == b->task);
	T_CHECK(a->uid == b->uid && a->known == b->known);
	T_CHECK(same(a->app, b->app) && same(a->partition, b->partition));
	T_CHECK(same(a->mode, b->mode) && same(a->leaves, b->leaves));
	T_CHECK(same(a->action, b->action) && same(a->text, b->text));
	T_CHECK(a->pending == b->pending && a->applied == b->applied);
	T_CHECK(a->n_nodes == b->n_nodes && a->until == b->until);
	T_CHECK(a->held_sec == b->held_sec && a->start == b->start);
	T_CHECK(a->n_causes == b->n_causes);
}

T_FIXTURE(fresh_store, NULL);

T_TEST("what was saved is loaded")
{
	struct np_state want = some_state(), s;
	struct np_err err;

	T_CHECK(save() == 0);
	T_CHECK(load(&s, &err) == 0);
	T_CHECK(s.date == want.date && s.interval_sec == 2);
	T_CHECK(same(s.cluster, "hpc") && same(s.controller, "ctl0"));
	T_CHECK(same(s.slurm_version, "22.05.8") && same(s.mode, "enforce"));
	T_CHECK(same(s.netprof_version, "0.1.0") && same(s.trouble, ""));
	T_CHECK(same(s.fabric, "of today") && s.n_profiles == 7);
	T_CHECK(s.max_slowdown == 0.1 && s.max_hold_sec == 3600);
	T_CHECK(s.decide_sec == 0.001 && s.n_leaves == 2 && s.n_jobs == 2);
	for (size_t i = 0; i < 2 && i < s.n_leaves; i++) {
		T_CHECK(same(s.leaf[i].name, leaves[i].name));
		T_CHECK(s.leaf[i].n_nodes == leaves[i].n_nodes);
		T_CHECK(s.leaf[i].n_idle == leaves[i].n_idle);
		T_CHECK(s.leaf[i].n_unavailable == leaves[i].n_unavailable);
		T_CHECK(s.leaf[i].n_jobs == leaves[i].n_jobs);
		T_CHECK(s.leaf[i].n_known == leaves[i].n_known);
		T_CHECK(s.leaf[i].worst_slowdown == leaves[i].worst_slowdown);
	}
	for (size_t i = 0; i < 2 && i < s.n_jobs; i++)
		check_job(&s.job[i], &jobs[i]);
	T_CHECK(same(s.job[0].cause[0].leaf, "leaf1"));
	T_CHECK(s.job[0].cause[0].other == 17);
	T_CHECK(same(s.job[0].cause[0].other_app, "lmp"));
	T_CHECK(s.job[0].cause[0].victim == 17);
	T_CHECK(s.job[0].cause[0].slowdown == 0.4);
	T_CHECK(s.n_denials == 2 && s.more_denied == 5);
	for (size_t i = 0; i < 2 && i < s.n_denials; i++) {
		T_CHECK(s.denial[i].uid == denials[i].uid);
		T_CHECK(s.denial[i].n_jobs == denials[i].n_jobs);
		T_CHECK(s.denial[i].refuted == denials[i].refuted);
		T_CHECK(same(s.denial[i].app, denials[i].app));
		T_CHECK(same(s.denial[i].why, denials[i].why));
	}
	np_state_free(&s);
}

T_TEST("its mode is as requested, whatever the umask")
{
	struct np_state s = some_state();
	mode_t old = umask(0077);
	struct stat st;

	T_CHECK(np_state_save(store, &s, 0640, NULL) == 0);
	T_CHECK(!stat(path("state.json"), &st) && (st.st_mode & 0777) == 0640);
	T_CHECK(!stat(path(""), &st) && (st.st_mode & 07777) == 0755);
	T_CHECK(np_state_save(store, &s, 0644, NULL) == 0);
	T_CHECK(!stat(path("state.json"), &st) && (st.st_mode & 0777) == 0644);
	umask(old);
}

T_TEST("a state that was never written is distinguished")
{
	T_CHECK(load_rc() == -ENOENT);
	mkdir(path(""), 0755);
	T_CHECK(load_rc() == -ENOENT);
	snprintf(store, sizeof(store), "/nonexistent");
	T_CHECK(load_rc() == -ENOENT);
}

/* What a number can be is the writer's concern, too. */
T_TEST("numbers without limit can be read again")
{
	struct np_state s = some_state(), got;
	struct np_state_leaf crowd = { .name = "leaf0",
				       .worst_slowdown = INFINITY };
	struct np_err err = NP_ERR_INIT;

	s.leaf = &crowd;
	s.n_leaves = 1;
	T_CHECK(np_state_save(store, &s, 0644, NULL) == 0);
	T_CHECK(load(&got, &err) == 0 && got.leaf[0].worst_slowdown == 1e6);
	np_state_free(&got);
	crowd.worst_slowdown = NAN;
	T_CHECK(np_state_save(store, &s, 0644, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "not finite"));
	T_ROW("the earlier state stays", load(&got, &err) == 0);
	np_state_free(&got);
}

T_TEST("only regular files of the owner are read")
{
	char target[1024];

	T_CHECK(save() == 0);
	snprintf(target, sizeof(target), "%s/elsewhere", store);
	T_CHECK(!rename(path("state.json"), target));
	T_CHECK(!symlink(target, path("state.json")));
	T_ROW("a symbolic link", load_rc() == -EACCES);
	T_CHECK(!unlink(path("state.json")));
	T_CHECK(!mkfifo(path("state.json"), 0644));
	T_ROW("a FIFO", load_rc() == -EACCES);
	T_CHECK(!unlink(path("state.json")));
	T_CHECK(!mkdir(path("state.json"), 0755));
	T_ROW("a directory", load_rc() == -EACCES);
	T_CHECK(!rmdir(path("state.json")));
	T_CHECK(!rename(target, path("state.json")));
	T_CHECK(load_rc() == 0);
	if (geteuid())
		return;
	T_CHECK(!chown(path("state.json"), 12345, (gid_t)-1));
	T_ROW("a foreign owner", load_rc() == -EACCES);
	T_CHECK(!chown(path(""), 12345, (gid_t)-1));
	T_ROW("of the directory's owner", load_rc() == 0);
}

T_TEST("a link for placement/ is not followed")
{
	char elsewhere[1024];

	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", store);
	T_CHECK(!mkdir(elsewhere, 0755));
	snprintf(elsewhere, sizeof(elsewhere), "%s/placement", store);
	T_CHECK(!symlink("elsewhere", elsewhere));
	T_CHECK(save() == -EACCES);
	T_CHECK(load_rc() == -EACCES);
}

T_TEST("a killed writer leaves a whole state")
{
	int whole = 0;

	T_CHECK(save() == 0);
	for (int i = 0; i < 20; i++) {
		const struct timespec nap = { .tv_nsec = 1000000 + i * 137000 };
		struct np_state s = some_state();
		pid_t pid = fork();

		if (!pid)
			for (;;)
				np_state_save(store, &s, 0644, NULL);
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		whole += !load_rc();
	}
	T_CHECK(whole == 20);
}

T_TEST("what killed writers left goes in time")
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	write_text(".tmp-00000000deadbeef", "{\"schema\":1,\"da");
	write_text(".tmp-00000000cafecafe", "{\"sche");
	T_CHECK(!utimensat(AT_FDCWD, path(".tmp-00000000deadbeef"), old, 0));
	T_CHECK(save() == 0);
	T_CHECK(t_count_files(store, ".tmp-*deadbeef") == 0);
	T_ROW("one that may be in use stays",
	      t_count_files(store, ".tmp-*cafe") == 1);
	T_CHECK(load_rc() == 0);
}

T_TEST("numbers are the same in every locale")
{
	struct np_state s;
	struct np_err err;

	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		setlocale(LC_NUMERIC, "C");
	T_CHECK(save() == 0);
	setlocale(LC_NUMERIC, "C");
	T_CHECK(load(&s, &err) == 0 && s.leaf[0].worst_slowdown == 0.125);
	np_state_free(&s);
}

T_TEST("a big cluster is written and read")
{
	enum { JOBS = 20000, LEAVES = 600 };
	struct np_state s = some_state(), got;
	struct np_err err;

	s.job = calloc(JOBS, sizeof(*s.job));
	s.leaf = calloc(LEAVES, sizeof(*s.leaf));
	s.n_jobs = JOBS;
	s.n_leaves = LEAVES;
	for (uint32_t i = 0; i < JOBS; i++) {
		s.job[i] = jobs[0];
		s.job[i].id = i + 1;
	}
	for (size_t i = 0; i < LEAVES; i++)
		s.leaf[i] = leaves[0];
	T_CHECK(np_state_save(store, &s, 0644, NULL) == 0);
	T_CHECK(load(&got, &err) == 0);
	T_CHECK(got.n_jobs == JOBS && got.n_leaves == LEAVES);
	T_CHECK(got.job[JOBS - 1].id == JOBS);
	np_state_free(&got);
	free(s.job);
	free(s.leaf);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(path(name), &st) ? 0 : st.st_mode & 0777;
}

T_TEST("what was written before gets the new mode")
{
	static const struct {
		const char *name;
		bool ours;
	} rows[] = {
		{ "state.json", true },
		{ "ended-20200101.jsonl", true },
		{ "ended-20261122.jsonl", true },
		{ "ended-notes", false },
		{ "notes", false },
	};
	struct np_err err = NP_ERR_INIT;

	T_ROW("nothing was", !np_state_set_mode(store, 0640, &err));
	T_EACH(r, rows) {
		write_text(r->name, "{}");
		T_CHECK(!chmod(path(r->name), 0644));
	}
	T_CHECK(!symlink("notes", path("ended-20260101.jsonl")));
	T_CHECK(!mkfifo(path("ended-20260102.jsonl"), 0644));
	T_CHECK(!np_state_set_mode(store, 0640, &err));
	T_EACH(r, rows)
		T_ROW(r->name, mode_of(r->name) == (r->ours ? 0640 : 0644));
	T_CHECK(!np_state_set_mode(store, 0644, &err) && !err.text[0]);
	T_CHECK(mode_of("ended-20200101.jsonl") == 0644);
	T_ROW("no store", np_state_set_mode("/nonexistent", 0640, &err) == 0);
}
