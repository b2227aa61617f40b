#include "t.h"
#include "np_clock.h"
#include "np_ctl.h"
#include "np_placer.h"
#include "np_store_reader.h"
#include "some_clock.h"
#include "some_slurm.h"

#include <slurm/slurmdb.h>
#include <sys/stat.h>
#include <time.h>

/* Slurm's answers, a store made of t/data/store, and a thread's passes. */
static struct {
	struct some_slurm slurm;
	slurm_conf_t conf;
	struct np_shared *shared;
	struct np_placer *placer;
	struct np_placer_next next;
	char store[512];
	unsigned n_skipped, n_busy; /* lines about files; while others waited */
	double loaded_sec;	    /* when it looked at the jobs; monotonic */
	long slow_sec;		    /* that Slurm takes for its answer */
	bool conf_fails;	    /* it has no answer about slurm.conf */
	bool other_answers;	    /* the first of two controllers */
	slurmdb_federation_rec_t federation;
} w;

/* In place of Slurm's, which would ask slurmctld. */
int slurm_load_jobs(time_t since, job_info_msg_t **out, uint16_t flags)
{
	(void)since, (void)flags;
	*out = some_answer(&w.slurm.jobs);
	t_ahead_sec += w.slow_sec;
	w.loaded_sec = np_mono_sec();
	return 0;
}

int slurm_load_node(time_t since, node_info_msg_t **out, uint16_t flags)
{
	(void)since, (void)flags;
	*out = &w.slurm.nodes;
	return 0;
}

int slurm_load_partitions(time_t since, partition_info_msg_t **out,
			  uint16_t flags)
{
	(void)since, (void)flags;
	*out = &w.slurm.parts;
	return 0;
}

int slurm_load_ctl_conf(time_t since, slurm_conf_t **out)
{
	(void)since;
	if (w.conf_fails) {
		errno = EIO;
		return -1;
	}
	*out = &w.conf;
	return 0;
}

int slurm_ping(int controller)
{
	return controller || w.other_answers ? 0 : -1;
}

int slurm_load_federation(void **out)
{
	*out = w.federation.name ? &w.federation : NULL;
	return 0;
}

void slurm_destroy_federation_rec(void *federation)
{
	(void)federation;
}

/* As 22.05 does it: what it leaves behind, somebody else must have freed. */
void slurm_free_job_info_msg(job_info_msg_t *m)
{
	for (uint32_t i = 0; m && i < m->record_count; i++)
		T_CHECK(!m->job_array[i].admin_comment);
	if (m)
		free(m->job_array);
	free(m);
}
void slurm_free_node_info_msg(node_info_msg_t *m)
{
	(void)m;
}
void slurm_free_partition_info_msg(partition_info_msg_t *m)
{
	(void)m;
}

/* One is before 26.05, one since. */
void some_free_ctl_conf(void *c) __asm__("slurm_free_ctl_conf");
void some_free_ctl_conf(void *c)
{
	(void)c;
}
void some_free_conf(void *c) __asm__("slurm_free_conf");
void some_free_conf(void *c)
{
	(void)c;
}

/* Their other arguments differ from release to release. */
int some_load_topo(void **out) __asm__("slurm_load_topo");
int some_load_topo(void **out)
{
	static void *answer[] = { &w, &w, &w, &w }; /* all of it is there */

	*out = answer;
	return 0;
}

void some_print_topo(FILE *out) __asm__("slurm_print_topo_info_msg");
void some_print_topo(FILE *out)
{
	fputs(w.slurm.info.topology, out);
}

void some_free_topo(void *m) __asm__("slurm_free_topo_info_msg");
void some_free_topo(void *m)
{
	(void)m;
}

/* A file is skipped: somebody submits in this moment. */
static void on_said(const char *line)
{
	if (!strstr(line, "skipped:"))
		return;
	w.n_skipped++;
	pthread_mutex_lock(&w.shared->lock);
	w.n_busy += w.shared->busy;
	pthread_mutex_unlock(&w.shared->lock);
}

#define sh(...) t_sh(w.store, __VA_ARGS__)

static void put_own(const char *from, const char *app)
{
	sh("mkdir -p users/%u && cp -r $D/own/%s users/%u/%s && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/%s/*",
	   geteuid(), from, geteuid(), app, geteuid(), geteuid(), app);
}

static bool go_on(void *arg)
{
	(void)arg;
	return true;
}

static void look(void)
{
	np_placer_run(w.placer, go_on, NULL, &w.next);
}

/* With a slow disk a pass is over when all is read and written. */
static void new_cycle(void)
{
	static const struct np_deadlines patient = { 60, 60, 600 };

	np_placer_free(w.placer);
	T_CHECK(!np_placer_new(w.shared, &patient, &w.placer));
}

static void start(void)
{
	static char *host = (char *)"ctl0";
	static int count;
	struct np_conf conf;

	memset(&w, 0, sizeof(w));
	snprintf(w.store, sizeof(w.store), "%s/cycle%d", t_tmpdir(), count++);
	T_CHECK(!mkdir(w.store, 0755));
	sh("mkdir fabric && cp -r $D/fabric/hpc fabric && "
	   "echo 'Store=%s' >netprof.conf && "
	   "echo 'Placement=enforce' >>netprof.conf",
	   w.store);
	some_slurm(&w.slurm);
	w.conf.control_cnt = 1;
	w.conf.control_machine = &host;
	w.conf.cluster_name = (char *)"hpc";
	np_conf_init(&conf);
	T_CHECK(!np_shared_new(&conf, &w.shared));
	new_cycle();
	unsetenv("NETPROF_STORE");
	setenv("NETPROF_CONF", t_text("%s/netprof.conf", w.store), 1);
	some_on_log = on_said;
}

static void stop(void)
{
	some_on_log = NULL;
	unsetenv("NETPROF_CONF");
	np_placer_free(w.placer);
	np_shared_free(w.shared);
	some_slurm_free(&w.slurm);
}

static void add_job(uint32_t id, const char *app)
{
	slurm_job_info_t *j = some_job(&w.slurm, id, app);
	static char annotation[4][64];

	snprintf(annotation[id], sizeof(annotation[id]), "netprof{app=%s}",
		 app);
	j->admin_comment = annotation[id];
	j->user_id = geteuid();
	some_run(&w.slurm, j, "n0"); /* nothing is written into it */
}

static bool is_known(const char *app)
{
	const struct np_decision *s;
	bool known;

	pthread_mutex_lock(&w.shared->lock);
	s = w.shared->decision;
	known = s && np_app_index_find(s->index, app, geteuid()) >= 0;
	pthread_mutex_unlock(&w.shared->lock);
	return known;
}

T_FIXTURE(start, stop);

T_TEST("nobody waits while the store is read")
{
	unsigned uid = geteuid();

	put_own("fft", "fft");
	sh("echo '{' >users/%u/fft/20250101T000000Z-bad.json", uid);
	add_job(1, "fft");
	/* On a busy machine there may be no time left for it in the first. */
	for (int i = 0; i < 600 && !w.n_skipped; i++)
		look();
	T_CHECK(w.n_skipped == 1 && !w.n_busy);
	T_ROW("the first decision knows what is wanted", is_known("fft"));
	put_own("halo", "halo");
	sh("echo '{' >users/%u/halo/20250101T000000Z-bad.json", uid);
	for (int i = 0; i < 600 && !is_known("halo"); i++) {
		usleep(100000);
		look();
	}
	T_CHECK(is_known("halo") && w.n_skipped == 2 && !w.n_busy);
}

/* On a busy machine there may be no time left to read in one pass or more. */
static void look_until_it_waits(void)
{
	int i = 0;

	do
		look();
	while (w.next.wait_sec == 0 && ++i < 600);
	T_CHECK(w.next.wait_sec > 0);
}

T_TEST("what a newcomer needs is read at once")
{
	sh("mkdir -p published && cp -r $D/own/fft published/fft");
	look_until_it_waits();
	put_own("halo", "halo");
	add_job(1, "halo");
	look();
	T_CHECK(is_known("halo") || w.next.wait_sec == 0);
	look_until_it_waits();
	T_CHECK(is_known("halo"));
}

/* Not when it comes to writing into a job. */
static bool go_on_but_once(void *arg)
{
	unsigned *calls = arg;

	return ++*calls != 2;
}

static bool is_busy(void)
{
	bool busy;

	pthread_mutex_lock(&w.shared->lock);
	busy = w.shared->busy;
	pthread_mutex_unlock(&w.shared->lock);
	return busy;
}

T_TEST("newcomers wait while not all is written")
{
	slurm_job_info_t *j;
	unsigned calls = 0;

	put_own("fft", "fft");
	add_job(1, "fft");
	j = some_job(&w.slurm, 2, "fft");
	j->admin_comment = (char *)"netprof{app=fft}";
	j->user_id = geteuid();
	np_placer_run(w.placer, go_on_but_once, &calls, &w.next);
	T_CHECK(calls > 2 && is_busy() && w.next.wait_sec == 0);
	w.slurm.jobs.record_count--;
	look();
	T_CHECK(!is_busy());
}

/* slurmctld has not made a job of it yet when its callback returns. */
T_TEST("what was just let in is seen")
{
	double begin, least = INFINITY;

	look();
	pthread_mutex_lock(&w.shared->lock);
	begin = w.shared->admitted_sec = np_mono_sec();
	pthread_mutex_unlock(&w.shared->lock);
	look();
	T_CHECK(w.loaded_sec - begin > 0.9 * NP_SHARED_IN_FLIGHT_SEC);
	/* On a busy machine one may come late for another reason. */
	for (int i = 0; i < 10; i++) {
		begin = np_mono_sec();
		look();
		least = fmin(least, w.loaded_sec - begin);
	}
	T_CHECK(least < 0.5 * NP_SHARED_IN_FLIGHT_SEC);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(t_text("%s/placement/%s", w.store, name), &st) ?
		       0 :
		       st.st_mode & 0777;
}

T_TEST("what was written before PrivateData becomes private")
{
	look();
	T_CHECK(mode_of("state.json") == 0644);
	sh("echo '{}' >placement/ended-20250101.jsonl && "
	   "chmod 644 placement/*");
	w.conf.private_data = PRIVATE_DATA_JOBS;
	new_cycle(); /* the old one asks once a minute */
	look();
	T_CHECK(mode_of("state.json") == 0640 &&
		mode_of("ended-20250101.jsonl") == 0640);
	sh("chmod 600 placement/ended*");
	look();
	T_ROW("once", mode_of("ended-20250101.jsonl") == 0600);
}

T_TEST("a controller that slurm.conf does not name is logged once")
{
	char *host[] = { (char *)"ctl0", (char *)"ctl1" };
	unsigned before;

	w.conf.control_cnt = 2;
	w.conf.control_machine = host;
	before = some_n_logged();
	look();
	look();
	T_CHECK(some_n_logged() == before + 1 &&
		strstr(some_logged(), "does not name this host"));
}

T_TEST("a second takeover is like the first")
{
	char host[256] = "";
	char *controllers[] = { (char *)"other", host };

	T_CHECK(!gethostname(host, sizeof(host) - 1));
	w.conf.control_cnt = 2;
	w.conf.control_machine = controllers;
	look();
	T_CHECK(np_shared_is_starting(w.shared, 1000));
	T_CHECK(!np_shared_is_starting(w.shared, 2000));
	w.other_answers = true;
	look();
	T_CHECK(np_shared_is_starting(w.shared, 3000));
}

T_TEST("a decision counts from when all is loaded")
{
	int64_t begin_sec, now_sec = 0;

	look();
	begin_sec = time(NULL);
	w.slow_sec = 20;
	look();
	pthread_mutex_lock(&w.shared->lock);
	if (w.shared->decision)
		now_sec = w.shared->decision->now_sec;
	pthread_mutex_unlock(&w.shared->lock);
	T_CHECK(now_sec >= begin_sec + w.slow_sec);
	t_ahead_sec = 0;
}

T_TEST("a store that is back is written at once")
{
	sh("touch placement");
	look();
	sh("rm placement");
	look();
	T_CHECK(mode_of("state.json") == 0644);
}

T_TEST("slurm.conf stays in use for a while when slurmctld does not give it")
{
	struct np_controller c = { .index = -1 };
	struct np_err err = NP_ERR_INIT;
	unsigned before;

	w.conf_fails = true;
	before = some_n_logged();
	T_CHECK(np_controller_refresh(&c, 1000, &err) == -EAGAIN &&
		strstr(err.text, "slurm_load_ctl_conf"));
	w.conf_fails = false;
	T_CHECK(!np_controller_refresh(&c, 1001, &err) &&
		!strcmp(c.cluster, "hpc"));
	w.conf_fails = true;
	T_ROW("not asked again within a minute",
	      !np_controller_refresh(&c, 1060, &err) &&
		      some_n_logged() == before);
	for (int sec = 1062; sec < 1600; sec += 60)
		T_CHECK(!np_controller_refresh(&c, sec, &err));
	T_ROW("one line says so", some_n_logged() == before + 1 &&
					  strstr(some_logged(), "stay in use"));
	T_CHECK(np_controller_refresh(&c, 1602, &err) == -EAGAIN);
	w.conf_fails = false;
	T_CHECK(!np_controller_refresh(&c, 1603, &err));
	w.conf_fails = true;
	T_CHECK(!np_controller_refresh(&c, 1700, &err));
	T_ROW("and again the next time", some_n_logged() == before + 2);
}

T_TEST("placement is off in a federation")
{
	struct np_controller c = { .index = -1 };
	struct np_err err = NP_ERR_INIT;

	w.federation.name = (char *)"all";
	T_CHECK(np_controller_refresh(&c, 1000, &err) == -EAGAIN);
	T_ROW(err.text, strstr(err.text, "in a federation: placement is off"));
	w.federation.name = NULL;
	T_CHECK(!np_controller_refresh(&c, 1001, &err));
}

/* When slurmctld starts, users are not looked up before the first pass. */
T_TEST("a user that does not exist leaves placement off from the start")
{
	w.shared->conf.place.mode = NP_MODE_ENFORCE;
	sh("echo 'TrustedUsers=no-such-user' >>netprof.conf;"
	   " touch -d '1 minute ago' netprof.conf");
	look();
	T_CHECK(w.shared->conf.place.mode == NP_MODE_OFF &&
		!w.shared->has_conf);
	sh("sed -i '/Trusted/d' netprof.conf;"
	   " touch -d '2 minutes ago' netprof.conf");
	look();
	T_CHECK(w.shared->conf.place.mode == NP_MODE_ENFORCE &&
		w.shared->has_conf);
}
