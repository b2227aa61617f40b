#include "t.h"
#include "np_catalog.h"
#include "np_evidence.h"
#include "np_predict.h"
#include "np_press_impl.h"
#include "some_store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAL "20240523T100000Z.json"

/* A store made of t/data/store, a catalog on it, and a clock by hand. */
static struct {
	struct np_clock clock;
	double now, tick_sec; /* tick: at each reading of the clock */
	char dir[512];
	struct np_place_conf conf;
	struct np_catalog *c;
	/* Of the last refresh. */
	int rc;
	bool changed, more;
	struct np_err err;
	unsigned n_warned;
	char warned[512]; /* the last line */
	unsigned n_sums;  /* lines that tell how many more there were */
} w;

static double now_sec(const struct np_clock *c)
{
	(void)c;
	w.now += w.tick_sec;
	return w.now;
}

/* A command in the store. */
#define sh(...) t_sh(w.dir, __VA_ARGS__)

/* A command beside the store S. */
static void sh_above(const char *cmd)
{
	char line[2048];

	snprintf(line, sizeof(line), "cd '%s' && S='%s' && %s", t_tmpdir(),
		 w.dir, cmd);
	T_ROW(cmd, system(line) == 0);
}

/* A profile of the test data as the caller's own, as uid's, or published. */
static void put_own(const char *from, const char *app)
{
	sh("mkdir -p users/%u && cp -r $D/own/%s users/%u/%s && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/%s/*", geteuid(),
	   from, geteuid(), app, geteuid(), geteuid(), app);
}

static void put_of(unsigned uid, const char *from, const char *app)
{
	sh("mkdir -p users/%u && cp -r $D/own/%s users/%u/%s && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/%s/* && "
	   "chown -R %u users/%u", uid, from, uid, app, uid, uid, app, uid,
	   uid);
}

static void put_published(const char *from, const char *app)
{
	sh("mkdir -p published && cp -r $D/own/%s published/%s", from, app);
}

static void new_catalog(const char *cluster)
{
	np_catalog_free(w.c);
	T_CHECK(np_catalog_new(w.dir, cluster, &w.conf, &w.c, NULL) == 0);
	np_catalog_set_clock(w.c, &w.clock);
}

static void start(const char *cluster)
{
	static int count;

	w.clock.now_sec = now_sec;
	w.now = 1000;
	w.tick_sec = 0;
	w.c = NULL;
	snprintf(w.dir, sizeof(w.dir), "%s/catalog%d", t_tmpdir(), count++);
	T_CHECK(mkdir(w.dir, 0755) == 0);
	sh("mkdir -p fabric && cp -r $D/fabric/%s fabric", cluster);
	np_place_conf_init(&w.conf);
	new_catalog(cluster);
}

static void stop(void)
{
	np_catalog_free(w.c);
	w.c = NULL;
}

static void on_warn(const char *line, void *arg)
{
	T_CHECK(arg == &w);
	w.n_warned++;
	w.n_sums += !!strstr(line, "more files or directories were skipped");
	snprintf(w.warned, sizeof(w.warned), "%s", line);
}

static int refresh_for(double budget_sec)
{
	w.n_warned = 0;
	w.err.text[0] = w.warned[0] = '\0';
	w.rc = np_catalog_refresh(w.c, budget_sec, on_warn, &w, &w.changed,
				  &w.more, &w.err);
	T_ROW("an error comes with a line", !w.rc == !w.err.text[0]);
	return w.rc;
}

/* All there is to do, some time later. */
static int refresh(void)
{
	w.now += 10;
	return refresh_for(1e9);
}

static int32_t find(const char *app, uint32_t uid)
{
	struct np_app_index *x = NULL;
	int32_t h;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	h = np_app_index_find(x, app, uid);
	np_app_index_unref(x);
	return h;
}

static size_t n_known(void)
{
	struct np_app_index *x = NULL;
	size_t n;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	n = np_app_index_n(x);
	np_app_index_unref(x);
	return n;
}

static struct np_press *table(void)
{
	struct np_press *t = NULL;

	T_CHECK(np_catalog_table(w.c, &t, NULL) == 0);
	return t;
}

/* Of the own or published victim beside co, on a leaf. */
static double slowdown(const char *victim, const char *co)
{
	int32_t v = find(victim, geteuid()), x = find(co, geteuid());
	struct np_press *t = table();
	double d = v < 0 || x < 0 ? -1 :
		   np_press_slowdown(t, (uint32_t)v, (uint32_t)x, false, false);

	np_press_unref(t);
	return d;
}

static bool is_trusted(int32_t handle)
{
	struct np_press *t = table();
	bool trusted = handle >= 0 && t->profile[handle].trusted;

	np_press_unref(t);
	return trusted;
}

static bool is_complete(const char *app)
{
	int32_t h = find(app, geteuid());
	struct np_press *t = table();
	bool complete = h >= 0 && np_press_complete(t, (uint32_t)h);

	np_press_unref(t);
	return complete;
}

/* What the models say, without the catalog. */
static double model_says(const char *victim, const char *co,
			 enum np_scope scope)
{
	const struct np_predict_opt opt = { .seed = 1 };
	const char *const app[2] = { victim, co };
	struct np_evidence s[2];
	struct np_runs runs[2];
	struct np_calibration cal;
	const struct np_evidence_opt on = { .calibration = &cal };
	struct np_predictor *p;
	struct np_prediction out = { .slowdown = NAN };
	const struct np_program *with = &s[1].program;
	struct np_store *store;

	T_CHECK(!np_store_open(w.dir, &store, NULL));
	T_CHECK(!np_fabric_store_load(store, "hpc", NULL, &cal, NULL));
	T_CHECK(!np_predictor_new(cal.fabric, np_model_find(NP_MODEL_DEFAULT,
							    NULL),
				  &opt, &p, NULL));
	for (int i = 0; i < 2; i++) {
		T_CHECK(!np_store_load(store, NP_STORE_USER, geteuid(), app[i],
				       NULL, NULL, &runs[i], NULL));
		T_CHECK(!np_evidence_make(&runs[i], &on, &s[i]));
	}
	T_CHECK(!np_predict(p, &s[0].program, &with, 1, scope, &out, NULL));
	for (int i = 0; i < 2; i++) {
		np_evidence_free(&s[i]);
		np_runs_free(&runs[i]);
	}
	np_predictor_free(p);
	np_calibration_free(&cal);
	np_store_close(store);
	return out.slowdown;
}

static void test_says_what_the_models_say(void)
{
	static const struct {
		const char *name;
		bool nodes, span;
		enum np_scope scope;
	} rows[] = {
		{ "on a leaf", false, false, NP_SCOPE_LEAF },
		{ "on common nodes", true, false, NP_SCOPE_NODE },
		{ "on a leaf where the uplink matters less", false, true,
		  NP_SCOPE_LEAF },
	};
	struct np_press *t;
	int32_t fft, halo;

	start("hpc");
	put_own("fft", "fft");
	put_own("halo", "halo");
	T_CHECK(refresh() == 0 && w.changed && !w.more && !w.n_warned);
	fft = find("fft", geteuid());
	halo = find("halo", geteuid());
	T_CHECK(fft >= 0 && halo >= 0 && fft != halo && n_known() == 2);
	t = table();
	for (size_t i = 0; fft >= 0 && halo >= 0 && i < NP_ARRAY_SIZE(rows);
	     i++)
		T_ROW(rows[i].name, fabs(np_press_slowdown(t, (uint32_t)fft,
			(uint32_t)halo, rows[i].nodes, rows[i].span) -
			model_says("fft", "halo", rows[i].scope)) < 2e-4);
	T_ROW("the profile of netprof predict",
	      fabs(slowdown("fft", "halo") - 0.151653) < 2e-4);
	np_press_unref(t);
	T_CHECK(is_complete("fft") && is_complete("halo"));
	T_ROW("a second look changes nothing", refresh() == 0 && !w.more);
	T_ROW("nor does a third", refresh() == 0 && !w.changed && !w.more);
	stop();
}

static void test_the_calibration_is_described(void)
{
	start("hpc");
	T_CHECK(!strcmp(np_catalog_fabric(w.c), "not read yet"));
	refresh();
	T_CHECK(!strcmp(np_catalog_fabric(w.c), "of 2024-05-23T10:00:00Z, "
			"cluster hpc, 8 levels at scope node; coupling: node "
			"1.00, leaf 0.91, uplink 0.35"));
	stop();
}

static void test_published_wins(void)
{
	int32_t own, h;

	start("hpc");
	put_own("halo", "app");
	put_own("fft", "fft");
	refresh();
	own = find("app", geteuid());
	T_CHECK(own >= 0 && !is_trusted(own));
	put_published("fft", "app");
	refresh();
	h = find("app", geteuid());
	T_CHECK(h >= 0 && h != own && is_trusted(h));
	T_ROW("for everybody", find("app", geteuid() + 1) == h);
	T_ROW("and it is what counts", slowdown("app", "fft") > 0 &&
	      slowdown("app", "fft") == slowdown("fft", "fft"));
	sh("rm -r published/app");
	refresh();
	T_ROW("then the own one, as before", find("app", geteuid()) == own);
	stop();
}

/* A job of the caller in the partition main: what it counts as, and why. */
static enum np_claim claim(const char *app, int32_t *profile, char why[128])
{
	const struct np_claimant who = { .uid = geteuid(),
					 .partition = "main" };
	struct np_app_index *x = NULL;
	enum np_claim c;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	*profile = np_app_index_of_job(x, app, &who, &c);
	snprintf(why, 128, "%s", np_app_index_why(x, app, geteuid(), c));
	np_app_index_unref(x);
	return c;
}

static void test_own_runs_that_contradict_a_name_void_the_claim(void)
{
	char why[128];
	int32_t h;

	start("hpc");
	put_published("fft", "app");
	refresh();
	T_ROW("without own runs it holds",
	      claim("app", &h, why) == NP_CLAIM_HOLDS && h >= 0);
	put_own("fft", "app");
	refresh();
	T_ROW("nor do runs that agree void it",
	      claim("app", &h, why) == NP_CLAIM_HOLDS && h >= 0);
	sh("rm -r users/%u/app", geteuid());
	put_own("halo", "app");
	refresh();
	T_CHECK(claim("app", &h, why) == NP_CLAIM_REFUTED);
	T_CHECK(h == NP_PROFILE_UNKNOWN);
	T_ROW(why, strstr(why, "mean latency 33.3 us, published 147 us"));
	sh("rm users/%u/app/*", geteuid());
	sh("cp $D/own/fft/* users/%u/app && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/app/*", geteuid(),
	   geteuid(), geteuid());
	refresh();
	T_ROW("other runs are looked at anew",
	      claim("app", &h, why) == NP_CLAIM_HOLDS && h >= 0);
	sh("rm -r published/app && cp -r $D/own/halo published/app");
	refresh();
	T_ROW("and so is another published profile",
	      claim("app", &h, why) == NP_CLAIM_REFUTED);
	sh("rm -r published/app");
	refresh();
	T_ROW("a name that is not published is the user's",
	      claim("app", &h, why) == NP_CLAIM_HOLDS && h >= 0);
	stop();
}

static void test_lines_of_claim_decide_before_runs(void)
{
	static const struct {
		const char *name, *who; /* with the caller's uid */
		enum np_claim claim;
	} lines[] = {
		{ "named", "app:user=%u", NP_CLAIM_HOLDS },
		{ "others are", "app:user=1%u", NP_CLAIM_BARRED },
		{ "in the group", "app:group=0", NP_CLAIM_HOLDS },
		{ "in the partition", "a*:partition=ma*", NP_CLAIM_HOLDS },
		{ "another name", "b*:user=1%u", NP_CLAIM_REFUTED },
	};
	char why[128], text[64];
	int32_t h;

	if (t_skip_unless_root("a user who is in group 0"))
		return;
	start("hpc");
	put_published("fft", "app");
	put_own("halo", "app");
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++) {
		/* The format is one of those above. */
		snprintf(text, sizeof(text), lines[i].who, geteuid());
		w.conf.n_claims = 0;
		memset(w.conf.claim, 0, sizeof(w.conf.claim));
		T_ROW(text, !np_claim_parse(text, w.conf.claim,
					    &w.conf.n_claims, NULL));
		new_catalog("hpc");
		np_catalog_want(w.c, "app", geteuid());
		refresh();
		T_ROW(lines[i].name, claim("app", &h, why) == lines[i].claim);
	}
	stop();
}

static void test_own_is_seen_by_its_owner_only(void)
{
	start("hpc");
	put_own("halo", "app");
	refresh();
	T_CHECK(find("app", geteuid()) >= 0);
	T_CHECK(find("app", geteuid() + 1) == NP_PROFILE_UNKNOWN);
	T_CHECK(find("ap", geteuid()) == NP_PROFILE_UNKNOWN);
	T_CHECK(find("", geteuid()) == NP_PROFILE_UNKNOWN);
	T_ROW("a name longer than any", find("01234567890123456789012345678901"
		"23456789012345678901234567890123456789", geteuid()) ==
	      NP_PROFILE_UNKNOWN);
	stop();
}

static void test_trusted_users(void)
{
	start("hpc");
	put_own("halo", "app");
	w.conf.trusted[w.conf.n_trusted++] = geteuid();
	new_catalog("hpc");
	refresh();
	T_CHECK(is_trusted(find("app", geteuid())));
	T_ROW("others do not use it", find("app", geteuid() + 1) ==
	      NP_PROFILE_UNKNOWN);
	stop();
}

static int32_t unknown(void)
{
	struct np_app_index *x = NULL;
	int32_t h;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	h = np_app_index_unknown(x);
	np_app_index_unref(x);
	return h;
}

static void test_unknown_as(void)
{
	start("hpc");
	put_published("fft", "usual");
	refresh();
	T_ROW("none", unknown() == NP_PROFILE_UNKNOWN);
	strcpy(w.conf.unknown_as, "usual");
	new_catalog("hpc");
	T_ROW("not read yet", unknown() == NP_PROFILE_UNKNOWN);
	refresh();
	T_CHECK(unknown() >= 0 && unknown() == find("usual", 0));
	sh("mkdir -p users/%u && mv published/usual users/%u", geteuid(),
	   geteuid());
	refresh();
	T_ROW("an own one does not count", unknown() == NP_PROFILE_UNKNOWN);
	stop();
}

static void test_an_application_goes_and_comes(void)
{
	struct np_press *t;
	int32_t h;

	start("hpc");
	put_own("halo", "halo");
	put_own("fft", "fft");
	refresh();
	h = find("halo", geteuid());
	T_CHECK(slowdown("fft", "halo") > 0.1);
	sh("mv users/%u/halo gone", geteuid());
	T_CHECK(refresh() == 0 && w.changed && !w.more);
	T_CHECK(find("halo", geteuid()) == NP_PROFILE_UNKNOWN);
	T_CHECK(find("fft", geteuid()) >= 0 && is_complete("fft"));
	t = table();
	T_ROW("who holds its handle sees no harm", np_press_n(t) == 2 &&
	      np_press_slowdown(t, (uint32_t)find("fft", geteuid()),
				(uint32_t)h, true, true) == 0);
	np_press_unref(t);
	sh("mv gone users/%u/halo", geteuid());
	T_CHECK(refresh() == 0 && w.changed);
	T_CHECK(find("halo", geteuid()) == h && slowdown("fft", "halo") > 0.1);
	stop();
}

static void test_the_store_goes_and_comes(void)
{
	static const struct {
		const char *name, *hide, *restore;
		int rc;
		const char *says;
	} rows[] = {
		{ "the store", "mv $S $S.away", "mv $S.away $S",
		  -ENOENT, "profile store" },
		{ "what there is instead of it", "mv $S $S.away && : >$S",
		  "rm $S && mv $S.away $S", -ENOTDIR, "profile store" },
		{ "the calibration", "mv $S/fabric hidden",
		  "mv hidden $S/fabric", -ENOENT, "no calibration of cluster" },
		{ "a calibration that can be used", "mv $S/fabric/hpc/" CAL
		  " hidden && echo '{' >$S/fabric/hpc/" CAL,
		  "mv hidden $S/fabric/hpc/" CAL, -ENOENT,
		  "no calibration can be used" },
		{ "the directory of what is published", "mv $S/published "
		  "hidden && : >$S/published",
		  "rm $S/published && mv hidden $S/published",
		  -EACCES, "expected a directory" },
	};
	int32_t fft, halo;
	double d;

	start("hpc");
	put_own("fft", "fft");
	put_published("halo", "halo");
	T_CHECK(refresh() == 0);
	fft = find("fft", geteuid());
	halo = find("halo", geteuid());
	d = slowdown("fft", "halo");
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		sh_above(rows[i].hide);
		T_ROW(rows[i].name, refresh() == rows[i].rc);
		T_ROW(rows[i].name, strstr(w.err.text, rows[i].says));
		T_ROW(rows[i].name, w.changed && !w.more && !n_known());
		T_ROW(rows[i].name, !strcmp(np_catalog_fabric(w.c),
					    w.err.text));
		T_ROW(rows[i].name, refresh() == rows[i].rc && !w.changed);
		sh_above(rows[i].restore);
		T_ROW(rows[i].name, refresh() == 0 && w.changed && !w.more);
		T_ROW(rows[i].name, find("fft", geteuid()) == fft &&
		      find("halo", geteuid()) == halo &&
		      slowdown("fft", "halo") == d);
	}
	stop();
}

static void test_hostile_files_are_told_once(void)
{
	unsigned uid = geteuid();

	start("hpc");
	put_own("fft", "fft");
	put_own("halo", "halo");
	sh("echo '{' >users/%u/fft/20250101T000000Z-bad.json && "
	   "ln -s /etc/passwd users/%u/fft/20250102T000000Z-link.json && "
	   "mkfifo users/%u/fft/20250103T000000Z-fifo.json && "
	   "ln -s fft users/%u/link", uid, uid, uid, uid);
	T_CHECK(refresh() == 0 && w.n_warned == 3);
	T_ROW("the rest is used", slowdown("fft", "halo") > 0.1);
	T_ROW("a link is no profile", find("link", uid) == NP_PROFILE_UNKNOWN);
	for (int i = 0; i < 3; i++)
		T_CHECK(refresh() == 0 && !w.n_warned);
	sh("echo '[' >users/%u/fft/20250104T000000Z-new.json", uid);
	T_CHECK(refresh() == 0 && w.n_warned == 1 &&
		strstr(w.warned, "20250104T000000Z-new.json"));
	T_CHECK(refresh() == 0 && !w.n_warned);
	sh("rm users/%u/fft/20250104T000000Z-new.json", uid);
	T_CHECK(refresh() == 0 && !w.n_warned);
	sh("echo '[' >users/%u/fft/20250104T000000Z-new.json", uid);
	T_ROW("one that comes again is told again", refresh() == 0 &&
	      w.n_warned == 1);
	stop();
}

/* Three files of many names: an inode has not room for all. */
static void test_a_crowd_in_users_is_told_once(void)
{
	start("hpc");
	sh("mkdir users && cd users && for k in a b c; do : >../$k && "
	   "seq -f $k%%g 22000 | xargs perl -e 'link \"../'$k'\", $_ or die "
	   "for @ARGV'; done");
	T_CHECK(refresh() == 0 && w.n_warned == 1);
	T_ROW(w.warned, strstr(w.warned, "users: more than 65536 entries"));
	T_CHECK(refresh() == 0 && !w.n_warned);
	stop();
}

/* More bad files than there may be lines about. */
static void put_bad(unsigned uid)
{
	sh("mkdir -p users/%u && for i in $(seq 120); do mkdir users/%u/a$i && "
	   "echo x >users/%u/a$i/20250101T000000Z-a.json; done && "
	   "chown -R %u users/%u", uid, uid, uid, uid, uid);
}

static void test_warnings_are_bounded(void)
{
	start("hpc");
	put_bad(geteuid());
	T_CHECK(refresh() == 0 && !w.more);
	T_CHECK(w.n_warned == NP_CATALOG_MAX_LINES + 1 &&
		strstr(w.warned, "the rest is counted"));
	for (int i = 0; i < 300; i++)
		T_CHECK(refresh() == 0 && !w.n_warned);
	w.now += 700;
	T_ROW("how many there were is told when the hour is over",
	      refresh() == 0 && w.n_warned == 1 &&
	      strstr(w.warned, ": 100 more files"));
	T_CHECK(refresh() == 0 && !w.n_warned);
	stop();
	if (geteuid() != 0)
		return; /* chown */
	start("hpc");
	for (unsigned i = 0; i < 7; i++)
		put_bad(12340 + i);
	T_CHECK(refresh() == 0 && !w.more);
	T_ROW("of many users", w.n_warned == NP_CATALOG_MAX_WARNINGS + 1 &&
	      strstr(w.warned, "more files"));
	stop();
}

/* Bad files under new names, in each round of two hours. */
static void test_renaming_bad_files_does_not_fill_the_log(void)
{
	unsigned uid = geteuid(), lines = 0;

	start("hpc");
	w.n_sums = 0;
	sh("mkdir -p users/%u/app", uid);
	for (int i = 0; i < 240; i++, w.now += 20) {
		sh("rm -f users/%u/app/* && for k in 1 2 3 4 5; do "
		   "echo x >users/%u/app/$k-%d.json; done", uid, uid, i);
		/* To be gone for a moment does not help. */
		if (i % 30 == 20) {
			sh("mv users/%u away", uid);
			refresh();
			lines += w.n_warned;
			sh("mv away users/%u", uid);
		}
		T_CHECK(refresh() == 0);
		lines += w.n_warned;
	}
	T_CHECK(lines > NP_CATALOG_MAX_LINES &&
		lines <= 3 * (NP_CATALOG_MAX_LINES + 2));
	T_CHECK(w.n_sums == 2);
	stop();
}

/* So many links to one file that nothing can be read from, of 4 MB. */
static void put_junk(unsigned uid, const char *app)
{
	sh("head -c 4190000 /dev/zero | tr '\\0' '[' >junk && chown %u junk && "
	   "for i in $(seq 10 25); do "
	   "ln junk users/%u/%s/202501$i.json; done", uid, uid, app);
}

static void test_huge_files_of_one_do_not_keep_others_waiting(void)
{
	int i;

	if (geteuid() != 0)
		return; /* chown */
	start("hpc");
	put_of(12345, "fft", "huge");
	put_of(12345, "fft", "huge2");
	put_junk(12345, "huge");
	put_of(12346, "fft", "small");
	put_of(12346, "halo", "other");
	sh("touch -d 2020-01-01 users/12346/small");
	np_catalog_want(w.c, "huge", 12345);
	np_catalog_want(w.c, "huge2", 12345);
	np_catalog_want(w.c, "small", 12346);
	np_catalog_want(w.c, "other", 12346);
	for (i = 0; i < 100 && (find("other", 12346) < 0 ||
				find("small", 12346) < 0); i++) {
		sh("touch users/12345/huge users/12345/huge2");
		w.now += .3;
		T_CHECK(refresh_for(0) == 0);
	}
	T_ROW("one reading each, and questions", i <= 25);
	stop();
}

static void test_one_user_is_read_so_much_and_no_more(void)
{
	unsigned uid = geteuid(), n_read = 0;

	start("hpc");
	put_own("fft", "huge");
	put_own("halo", "halo");
	put_junk(uid, "huge");
	np_catalog_want(w.c, "huge", uid);
	refresh();
	T_CHECK(find("huge", uid) >= 0 && find("halo", uid) >= 0);
	for (int i = 0; i < 160; i++) {
		np_catalog_want(w.c, "huge", uid);
		sh("touch users/%u/huge", uid);
		w.now += 2;
		refresh_for(1e9);
		n_read += w.changed;
		T_CHECK(find("huge", uid) >= 0 && !w.more);
	}
	/* 16 links of 4 MB each time: four at once, then two a minute. */
	T_CHECK(n_read >= 10 && n_read <= 15);
	w.now += 200;
	refresh_for(1e9);
	T_ROW("the last change is read in the end", w.changed);
	stop();
}

static void test_changed_records_change_the_table(void)
{
	double before, alike;

	start("hpc");
	put_own("fft", "fft");
	put_own("halo", "halo");
	refresh();
	before = slowdown("fft", "fft");
	alike = slowdown("halo", "halo");
	T_CHECK(before > 0.2 && alike < 0.1);
	/* The other program under the name of this one. */
	sh("rm users/%u/fft/* && cp users/%u/halo/* users/%u/fft", geteuid(),
	   geteuid(), geteuid());
	T_CHECK(refresh() == 0 && w.changed && !w.more);
	T_CHECK(slowdown("fft", "fft") == alike && is_complete("fft"));
	T_CHECK(slowdown("halo", "fft") == alike);
	/* Nothing that can be compared is left. */
	sh("rm users/%u/fft/*", geteuid());
	T_CHECK(refresh() == 0 && w.changed && !w.more);
	T_CHECK(find("fft", geteuid()) == NP_PROFILE_UNKNOWN);
	stop();
}

/*
 * A file that is changed in place leaves the directory's stamp as it is.  That
 * stands for two changes within one tick of the file system's clock.
 */
static void test_changes_right_after_reading_are_seen(void)
{
	start("hpc");
	/* The same holds for the calibration, after which all is read. */
	refresh();
	refresh();
	put_own("fft", "fft");
	put_own("halo", "halo");
	refresh();
	T_CHECK(slowdown("fft", "halo") > 0.1);
	sh("for f in users/%u/fft/*; do : >$f; done", geteuid());
	T_CHECK(refresh() == 0 && w.changed);
	T_CHECK(find("fft", geteuid()) == NP_PROFILE_UNKNOWN);
	stop();
}

static void test_another_calibration_judges_anew(void)
{
	double before;

	start("hpc");
	put_own("fft", "fft");
	put_own("halo", "halo");
	refresh();
	before = slowdown("fft", "halo");
	sh("sed 's/\"mean\": 0.91/\"mean\": 0.5/' fabric/hpc/" CAL
	   " >fabric/hpc/20240601T100000Z.json && sed -i 's/\"date\": [0-9]*/"
	   "\"date\": 1719000000/' fabric/hpc/20240601T100000Z.json");
	w.now += 10;
	T_CHECK(refresh_for(0) == 0 && w.changed && w.more);
	T_ROW("until then they are known, but nothing of them",
	      slowdown("fft", "halo") == 0 && !is_complete("fft"));
	T_CHECK(refresh() == 0 && w.changed && !w.more);
	T_CHECK(slowdown("fft", "halo") > 0.03 &&
		slowdown("fft", "halo") < 0.7 * before);
	T_CHECK(!!strstr(np_catalog_fabric(w.c), "leaf 0.50"));
	sh("echo '{' >fabric/hpc/20240602T100000Z.json");
	T_CHECK(refresh() == 0 && w.n_warned == 1 &&
		strstr(w.warned, "20240602T100000Z.json"));
	T_CHECK(refresh() == 0 && !w.n_warned);
	stop();
}

static void test_no_effect_is_no_conflict(void)
{
	static const struct {
		const char *name, *coupling; /* of the leaf */
		bool harmful;
	} rows[] = {
		{ "nothing is felt", "{\"n\":12,\"mean\":0.04,\"sd\":0.08}",
		  false },
		{ "not measured", "{\"n\":0,\"mean\":0}", false },
		{ "half of it is felt", "{\"n\":12,\"mean\":0.5,\"sd\":0.05}",
		  true },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		start("hpc");
		put_own("fft", "fft");
		if (strstr(rows[i].coupling, "\"n\":0"))
			sh("sed -i 's/^\"coupling\".*/\"coupling\": "
			   "{\"uplink\":0.3},/' fabric/hpc/" CAL);
		else
			sh("sed -i 's/^\"coupling\".*/\"coupling\": "
			   "{\"leaf\":%s},/' fabric/hpc/" CAL,
			   rows[i].coupling);
		T_ROW(rows[i].name, refresh() == 0 && is_complete("fft"));
		T_ROW(rows[i].name, rows[i].harmful ?
		      slowdown("fft", "fft") > 0.1 :
		      slowdown("fft", "fft") == 0);
		stop();
	}
}

static void test_idle_is_no_application(void)
{
	start("hpc");
	put_own("idle", "idle");
	put_published("idle", "idle");
	np_catalog_want(w.c, "idle", geteuid());
	refresh();
	T_CHECK(find("idle", geteuid()) == NP_PROFILE_UNKNOWN);
	T_CHECK(n_known() == 0);
	stop();
}

static void test_budget_stops_and_continues(void)
{
	double whole[2];
	unsigned calls = 0;

	start("hpc");
	put_own("fft", "fft");
	put_own("halo", "halo");
	put_own("lammps", "lammps");
	put_published("hpcc", "hpcc");
	refresh();
	whole[0] = slowdown("fft", "halo");
	whole[1] = slowdown("halo", "lammps");
	new_catalog("hpc");
	T_CHECK(refresh_for(0) == 0 && w.more && n_known() == 0);
	while (!w.rc && w.more && calls++ < 100)
		refresh_for(0);
	T_CHECK(calls > 5 && calls < 20);
	T_CHECK(n_known() == 4 && slowdown("fft", "halo") == whole[0] &&
		slowdown("halo", "lammps") == whole[1]);
	stop();
}

static void test_wanted_come_first(void)
{
	start("hpc");
	for (int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		put_published("postprocess", name);
		put_own("postprocess", name + 1);
	}
	put_own("fft", "fft");
	put_own("halo", "halo");
	np_catalog_want(w.c, "fft", geteuid());
	np_catalog_want(w.c, "halo", geteuid());
	np_catalog_want(w.c, "never-measured", geteuid());
	np_catalog_want(w.c, "not/a name", geteuid());
	/* Two directories, two applications, questions after each. */
	for (int i = 0; i < 6; i++)
		T_CHECK(refresh_for(0) == 0 && w.more);
	T_CHECK(n_known() == 2 && slowdown("fft", "halo") > 0.1);
	stop();
}

static void test_wanted_are_seen_at_once(void)
{
	start("hpc");
	refresh();
	w.now += 1.5;
	put_own("fft", "fft");
	np_catalog_want(w.c, "fft", geteuid());
	refresh_for(1e9);
	T_CHECK(find("fft", geteuid()) >= 0);
	w.now += 1.5;
	put_own("halo", "fft2");
	refresh_for(1e9);
	T_ROW("and what else the user has", find("fft2", geteuid()) >= 0);
	stop();
}

static void test_one_user_has_a_share(void)
{
	start("hpc");
	put_own("fft", "fft");
	put_own("postprocess", "last-of-all");
	sh("touch -d 2001-01-01 users/%u/fft && "
	   "for i in $(seq 200); do mkdir users/%u/a$i && "
	   "ln users/%u/last-of-all/* users/%u/a$i; done", geteuid(), geteuid(),
	   geteuid(), geteuid());
	np_catalog_want(w.c, "fft", geteuid());
	refresh();
	T_CHECK(n_known() == NP_CATALOG_MAX_OF_USER);
	T_ROW("the oldest, as it is wanted", find("fft", geteuid()) >= 0);
	stop();
}

/* Until nothing but questions is left: a million of them take too long. */
static void read_all(void)
{
	size_t before;
	int same = 0;

	w.now += 10;
	do {
		before = n_known();
		T_CHECK(refresh_for(0) == 0);
		same = n_known() == before ? same + 1 : 0;
	} while (w.more && same < 50);
}

static void test_handles_are_given_to_those_who_need_them(void)
{
	unsigned uid = geteuid();

	start("hpc");
	put_own("postprocess", "mine");
	sh("mkdir published; for i in $(seq %d); do mkdir published/p$i && "
	   "ln users/%u/mine/* published/p$i; done",
	   NP_CONFLICT_MAX_PROFILES - 1, uid);
	read_all();
	T_CHECK(n_known() == NP_CONFLICT_MAX_PROFILES &&
		find("mine", uid) >= 0);
	sh("mkdir published/new && ln users/%u/mine/* published/new", uid);
	read_all();
	T_ROW("a published one rather than one's own",
	      find("new", uid) >= 0 && find("mine", uid) == NP_PROFILE_UNKNOWN);
	T_CHECK(n_known() == NP_CONFLICT_MAX_PROFILES);
	np_catalog_want(w.c, "mine", uid);
	read_all();
	T_ROW("whoever wants it", find("mine", uid) == NP_PROFILE_UNKNOWN &&
	      n_known() == NP_CONFLICT_MAX_PROFILES);
	sh("rm -r published/p7");
	read_all();
	read_all();
	T_ROW("when there is room again", find("mine", uid) >= 0 &&
	      find("p7", uid) == NP_PROFILE_UNKNOWN);
	T_CHECK(!is_trusted(find("mine", uid)) && is_trusted(find("new", uid)));
	stop();
}

static void test_all_users_are_looked_at(void)
{
	if (geteuid() != 0)
		return; /* chown */
	start("hpc");
	put_of(12345, "fft", "fft");
	put_of(12346, "halo", "fft");
	put_of(12347, "halo", "halo");
	sh("chown 12348 users/12347"); /* not whose it says it is */
	refresh();
	T_CHECK(find("fft", 12345) >= 0 && find("fft", 12346) >= 0 &&
		find("fft", 12345) != find("fft", 12346));
	T_CHECK(find("halo", 12347) == NP_PROFILE_UNKNOWN && n_known() == 2);
	np_catalog_want(w.c, "halo", 12347);
	refresh();
	T_ROW("why one is no use is told once", w.n_warned == 1 &&
	      strstr(w.warned, "not trusted"));
	refresh();
	T_CHECK(w.rc == 0 && !w.n_warned && n_known() == 2);
	sh("rm -r users/12345");
	refresh();
	T_CHECK(find("fft", 12345) == NP_PROFILE_UNKNOWN && n_known() == 1);
	stop();
}

static void test_what_was_handed_out_outlives_the_catalog(void)
{
	struct np_app_index *x = NULL, *y;
	struct np_press *t;
	int32_t fft, halo;

	start("hpc");
	put_own("fft", "fft");
	put_own("halo", "halo");
	refresh();
	T_CHECK(np_catalog_index(w.c, &x) == 0);
	t = table();
	y = np_app_index_ref(x);
	np_app_index_unref(x);
	sh("rm -r users");
	refresh();
	T_CHECK(n_known() == 0);
	stop();
	fft = np_app_index_find(y, "fft", geteuid());
	halo = np_app_index_find(y, "halo", geteuid());
	T_CHECK(np_app_index_n(y) == 2 && fft >= 0 && halo >= 0);
	T_CHECK(fft >= 0 && halo >= 0 &&
		np_press_slowdown(t, (uint32_t)fft, (uint32_t)halo, false,
				  false) > 0.1);
	np_app_index_unref(y);
	np_app_index_unref(NULL);
	np_press_unref(t);
}

static void test_without_anything(void)
{
	bool changed, more;

	start("hpc");
	T_ROW("before the first look", n_known() == 0 &&
	      find("fft", 0) == NP_PROFILE_UNKNOWN);
	T_ROW("nobody listens to warnings", np_catalog_refresh(w.c, 1e9, NULL,
		NULL, &changed, &more, NULL) == 0);
	T_CHECK(n_known() == 0);
	stop();
	np_catalog_free(NULL);
}

static const struct t_case cases[] = {
	{ "an empty store is no trouble", test_without_anything },
	{ "the table says what the models say", test_says_what_the_models_say },
	{ "the calibration is described", test_the_calibration_is_described },
	{ "a published profile wins over an own one", test_published_wins },
	{ "own runs that contradict a published name void the claim",
	  test_own_runs_that_contradict_a_name_void_the_claim },
	{ "lines of Claim decide before own runs do",
	  test_lines_of_claim_decide_before_runs },
	{ "an own profile is seen by its owner only",
	  test_own_is_seen_by_its_owner_only },
	{ "a trusted user's own profile is trusted", test_trusted_users },
	{ "unknown jobs count as the published one named", test_unknown_as },
	{ "an application goes and comes again",
	  test_an_application_goes_and_comes },
	{ "nothing conflicts while the store is gone",
	  test_the_store_goes_and_comes },
	{ "hostile files are skipped and told once",
	  test_hostile_files_are_told_once },
	{ "hostile users do not fill the log", test_warnings_are_bounded },
	{ "more entries in users/ than are looked at are told once",
	  test_a_crowd_in_users_is_told_once },
	{ "renaming bad files does not fill the log",
	  test_renaming_bad_files_does_not_fill_the_log },
	{ "huge files of one user do not keep others waiting",
	  test_huge_files_of_one_do_not_keep_others_waiting },
	{ "of one user so much is read, and no more",
	  test_one_user_is_read_so_much_and_no_more },
	{ "changed records change the table",
	  test_changed_records_change_the_table },
	{ "changes right after reading are seen",
	  test_changes_right_after_reading_are_seen },
	{ "another calibration judges all anew",
	  test_another_calibration_judges_anew },
	{ "where nothing is felt, nothing conflicts",
	  test_no_effect_is_no_conflict },
	{ "idle is no application", test_idle_is_no_application },
	{ "the budget stops the work, the next call goes on",
	  test_budget_stops_and_continues },
	{ "what jobs wait for comes first", test_wanted_come_first },
	{ "what jobs wait for is looked at every second",
	  test_wanted_are_seen_at_once },
	{ "one user gets a share of what can be known",
	  test_one_user_has_a_share },
	{ "few handles go to those who need them",
	  test_handles_are_given_to_those_who_need_them },
	{ "all users are looked at, each only if trusted",
	  test_all_users_are_looked_at },
	{ "table and index outlive the catalog",
	  test_what_was_handed_out_outlives_the_catalog },
	{ NULL, NULL },
};
T_SUITE(catalog, cases)
