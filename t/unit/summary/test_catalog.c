/* The catalog: what it reads of a store, and what it says of that. */
#include "np_predict.h"
#include "np_run_summary.h"
#include "some_catalog.h"

#define CAL "20240523T100000Z.json"

/* A command next to the store S. */
static void sh_above(const char *cmd)
{
	T_ROW(cmd, system(t_text("cd '%s' && S='%s' && %s", t_tmpdir(), w.dir,
				 cmd)) == 0);
}

static bool is_complete(const char *app)
{
	int32_t h = find(app, geteuid());
	struct np_slowdowns *t = table();
	bool complete = h >= 0 && (size_t)h < t->n && t->profile[h].complete;

	np_slowdowns_unref(t);
	return complete;
}

/* What the models say, without the catalog. */
static double model_says(const char *victim, const char *co,
			 enum np_scope scope)
{
	const struct np_predict_opt opt = { .seed = 1 };
	const char *const app[2] = { victim, co };
	struct np_run_summary s[2];
	struct np_runs runs[2];
	struct np_calibration cal;
	const struct np_run_summary_opt on = { .calibration = &cal };
	struct np_predictor *p;
	struct np_prediction out = { .slowdown = NAN };
	const struct np_program *with = &s[1].program;
	struct np_store *store;

	T_CHECK(!np_store_open(w.dir, &store, NULL));
	T_CHECK(!np_fabric_store_load(store, "hpc", NULL, &cal, NULL));
	T_CHECK(!np_predictor_new(cal.fabric,
				  np_model_find(NP_MODEL_DEFAULT, NULL), &opt,
				  &p, NULL));
	for (int i = 0; i < 2; i++) {
		T_CHECK(!np_store_load(store, NP_STORE_USER, geteuid(), app[i],
				       NULL, NULL, &runs[i], NULL));
		T_CHECK(!np_run_summary_make(&runs[i], &on, &s[i]));
	}
	T_CHECK(!np_predict(p, &s[0].program, &with, 1, scope, &out, NULL));
	for (int i = 0; i < 2; i++) {
		np_run_summary_free(&s[i]);
		np_runs_free(&runs[i]);
	}
	np_predictor_free(p);
	np_calibration_free(&cal);
	np_store_close(store);
	return out.slowdown;
}

T_FIXTURE(start, stop);

T_TEST("the table says what the models say")
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
	struct np_slowdowns *t;
	int32_t fft, halo;

	put_own("fft", "fft");
	put_own("halo", "halo");
	T_CHECK(refresh() == 0 && w.changed && !w.more && !w.n_warned);
	fft = find("fft", geteuid());
	halo = find("halo", geteuid());
	T_CHECK(fft >= 0 && halo >= 0 && fft != halo && n_known() == 2);
	t = table();
	for (size_t i = 0; fft >= 0 && halo >= 0 && i < NP_ARRAY_SIZE(rows);
	     i++)
		T_ROW(rows[i].name,
		      fabs(np_slowdowns_between(t, (uint32_t)fft,
						(uint32_t)halo, rows[i].nodes,
						rows[i].span) -
			   model_says("fft", "halo", rows[i].scope)) < 2e-4);
	T_ROW("the profile of netprof predict",
	      fabs(slowdown("fft", "halo") - 0.130771) < 2e-4);
	np_slowdowns_unref(t);
	T_CHECK(is_complete("fft") && is_complete("halo"));
	T_ROW("a second look changes nothing", refresh() == 0 && !w.more);
	T_ROW("nor does a third", refresh() == 0 && !w.changed && !w.more);
}

/* Profiles of programs that load one rail each. */
T_TEST("programs that load different rails are no conflict")
{
	static const char *const rail[] = { "a", "b" };

	for (size_t i = 0; i < NP_ARRAY_SIZE(rail); i++) {
		start();
		put_own("fft", "fft");
		put_own("halo", "halo");
		sh("sed -i "
		   "'s/\"leaves\":\\[{\"name\":\"[^\"]*\",/&\"rail\":\"a\","
		   "\"traffic\":{\"n_nodes\":2,\"node_sec\":100,\"bytes\":1e9},"
		   "/' users/%u/*/*",
		   geteuid());
		sh("sed -i 's/\"rail\":\"a\"/\"rail\":\"%s\"/' users/%u/halo/*",
		   rail[i], geteuid());
		refresh();
		T_ROW(rail[i],
		      i ? slowdown("fft", "halo") == 0 :
			  fabs(slowdown("fft", "halo") - 0.130771) < 2e-4);
		T_ROW(rail[i], slowdown("halo", "halo") > 0);
		T_CHECK(is_complete("fft") && !w.n_warned);
	}
}

/* fft and halo on rail a, and copies on rail b, which was calibrated later. */
T_TEST("each rail has its own calibration")
{
	const unsigned me = geteuid();

	put_own("fft", "fft");
	put_own("halo", "halo");
	put_own("fft", "fft2");
	put_own("halo", "halo2");
	sh("sed -i 's/\"leaves\":\\[{\"name\":\"[^\"]*\",/&\"rail\":\"a\","
	   "\"traffic\":{\"n_nodes\":2,\"node_sec\":100,\"bytes\":1e9},/' "
	   "users/%u/*/* && sed -i 's/\"rail\":\"a\"/\"rail\":\"b\"/' "
	   "users/%u/fft2/* users/%u/halo2/* && sed -i "
	   "'s/\"app\":\"[a-z]*/&2/' users/%u/fft2/* users/%u/halo2/*",
	   me, me, me, me, me);
	sh("cd fabric/hpc && sed 's/\"mean\": 0.91/\"mean\": 0.5/;"
	   "1s/{/{\"rail\": \"b\", /;s/\"date\": [0-9]*/\"date\": 1719000000/'"
	   " " CAL " >20240601T100000Z.json && sed -i "
	   "'1s/{/{\"rail\": \"a\", /' " CAL);
	T_CHECK(refresh() == 0 && !w.n_warned);
	T_ROW("rail a", fabs(slowdown("fft", "halo") - 0.130771) < 2e-4);
	T_ROW("rail b", slowdown("fft2", "halo2") > 0.03 &&
				slowdown("fft2", "halo2") <
					0.7 * slowdown("fft", "halo"));
	T_ROW("between them",
	      slowdown("fft", "halo2") == 0 && slowdown("fft2", "halo") == 0);
	T_CHECK(!!strstr(np_catalog_fabric(w.c), "leaf 0.50"));
}

/* Runs may name any rail, also rails that do not exist. */
T_TEST("runs that name other rails hide no rail's calibration")
{
	const unsigned me = geteuid();

	sh("cd fabric/hpc && sed 's/\"mean\": 0.91/\"mean\": 0.5/;"
	   "1s/{/{\"rail\": \"b\", /;s/\"date\": [0-9]*/\"date\": 1719000000/'"
	   " " CAL " >20240601T100000Z.json && sed -i "
	   "'1s/{/{\"rail\": \"a\", /' " CAL);
	for (int i = 0; i < 20; i++) {
		const char *app = t_text("no%d", i);

		put_own("fft", app);
		sh("sed -i 's/\"leaves\":\\[{\"name\":\"[^\"]*\",/&\"rail\":"
		   "\"no%d\",/;s/\"app\":\"fft/\"app\":\"%s/' users/%u/%s/*",
		   i, app, me, app);
	}
	for (int i = 0; i < 20; i++) /* reading takes turns */
		T_CHECK(refresh() == 0 && !w.n_warned);
	put_own("fft", "fft");
	put_own("halo", "halo");
	sh("sed -i 's/\"leaves\":\\[{\"name\":\"[^\"]*\",/&\"rail\":\"a\",/' "
	   "users/%u/fft/* users/%u/halo/*",
	   me, me);
	T_CHECK(refresh() == 0 && !w.n_warned);
	T_CHECK(fabs(slowdown("fft", "halo") - 0.130771) < 2e-4);
}

T_TEST("the calibration is described")
{
	T_CHECK(!strcmp(np_catalog_fabric(w.c), "not read yet"));
	refresh();
	T_CHECK(!strcmp(np_catalog_fabric(w.c),
			"of 2024-05-23T10:00:00Z, "
			"cluster hpc, 8 levels at scope node; sharing "
			"coefficients: node 1.00, leaf 0.91, uplink 0.35"));
}

T_TEST("an application goes and comes again")
{
	struct np_slowdowns *t;
	int32_t h;

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
	T_ROW("who holds its handle sees no harm",
	      t->n == 2 &&
		      np_slowdowns_between(t, (uint32_t)find("fft", geteuid()),
					   (uint32_t)h, true, true) == 0);
	np_slowdowns_unref(t);
	sh("mv gone users/%u/halo", geteuid());
	T_CHECK(refresh() == 0 && w.changed);
	T_CHECK(find("halo", geteuid()) == h && slowdown("fft", "halo") > 0.1);
}

T_TEST("nothing conflicts while the store is gone")
{
	static const struct {
		const char *name, *hide, *restore;
		int rc;
		const char *says;
	} rows[] = {
		{ "the store", "mv $S $S.away", "mv $S.away $S", -ENOENT,
		  "profile store" },
		{ "what there is instead of it", "mv $S $S.away && : >$S",
		  "rm $S && mv $S.away $S", -ENOTDIR, "profile store" },
		{ "the calibration", "mv $S/fabric hidden",
		  "mv hidden $S/fabric", -ENOENT, "no calibration of cluster" },
		{ "a calibration that can be used",
		  "mv $S/fabric/hpc/" CAL
		  " hidden && echo '{' >$S/fabric/hpc/" CAL,
		  "mv hidden $S/fabric/hpc/" CAL, -ENOENT,
		  "no calibration can be used" },
		{ "the directory of what is published",
		  "mv $S/published "
		  "hidden && : >$S/published",
		  "rm $S/published && mv hidden $S/published", -EACCES,
		  "expected a directory" },
	};
	int32_t fft, halo;
	double d;

	put_own("fft", "fft");
	put_published("halo", "halo");
	T_CHECK(refresh() == 0);
	fft = find("fft", geteuid());
	halo = find("halo", geteuid());
	d = slowdown("fft", "halo");
	T_EACH(r, rows) {
		sh_above(r->hide);
		T_ROW(r->name, refresh() == r->rc);
		T_ROW(r->name, strstr(w.err.text, r->says));
		T_ROW(r->name, w.changed && !w.more && !n_known());
		T_ROW(r->name, !strcmp(np_catalog_fabric(w.c), w.err.text));
		T_ROW(r->name, refresh() == r->rc && !w.changed);
		sh_above(r->restore);
		T_ROW(r->name, refresh() == 0 && w.changed && !w.more);
		T_ROW(r->name, find("fft", geteuid()) == fft &&
				       find("halo", geteuid()) == halo &&
				       slowdown("fft", "halo") == d);
	}
}

T_TEST("changed records change the table")
{
	double before, alike;

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
}

/*
 * A file that is changed in place leaves the directory's stamp as it is. That
 * stands for two changes within one tick of the file system's clock.
 */
T_TEST("changes right after reading are seen")
{
	/* The same holds for the calibration, after which all is read. */
	refresh();
	refresh();
	put_own("fft", "fft");
	put_own("halo", "halo");
	/* However long this machine takes until it is read. */
	sh("touch -d '+1 hour' users/%u/fft", geteuid());
	refresh();
	T_CHECK(slowdown("fft", "halo") > 0.1);
	sh("for f in users/%u/fft/*; do : >$f; done", geteuid());
	T_CHECK(refresh() == 0 && w.changed);
	T_CHECK(find("fft", geteuid()) == NP_PROFILE_UNKNOWN);
}

T_TEST("another calibration judges all anew")
{
	double before;

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
}

/* Of two runs of fft under a load, one takes four times as long as the other. */
static void put_scattered(void)
{
	put_own("fft", "fft");
	put_own("halo", "halo");
	sh("k=0.4; for f in $(grep -l '\"name\":\"c' users/%u/fft/*); "
	   "do jq -c \".end = .start + $k * (.end - .start)\" $f "
	   ">$f.new && mv $f.new $f || exit; "
	   "[ $k = 0.4 ] && k=1.6 || k=0.4; done",
	   geteuid());
}

T_TEST("what is hardly known is no conflict")
{
	static const struct {
		const char *name;
		double max_slowdown;
		bool simulated, known;
	} rows[] = {
		{ "a slowdown below MaxSlowdown needs no interval", 100, false,
		  true },
		{ "a conflict with a wide interval restricts nobody", 0.1,
		  false, false },
		{ "a simulated job is slowed by it", 0.1, true, true },
	};

	T_EACH(r, rows) {
		start();
		put_scattered();
		w.conf.max_slowdown = r->max_slowdown;
		new_catalog("hpc");
		if (r->simulated)
			np_catalog_accept_doubtful(w.c);
		T_CHECK(refresh() == 0 && !w.n_warned);
		T_ROW(r->name, (slowdown("fft", "halo") > 0.1) == r->known);
	}
}

/* The profiles are removed in between, but are due only seconds later. */
T_TEST("one reading of the store serves decisions and simulations")
{
	struct np_slowdowns *decisions;
	uint32_t fft, halo;

	put_scattered();
	w.conf.max_slowdown = 0.1;
	new_catalog("hpc");
	T_CHECK(refresh() == 0 && !w.more);
	fft = (uint32_t)find("fft", geteuid());
	halo = (uint32_t)find("halo", geteuid());
	decisions = table();
	sh("rm -r users");
	np_catalog_accept_doubtful(w.c);
	T_CHECK(refresh_for(1e9) == 0 && w.changed && !w.more && !w.n_warned);
	T_CHECK(slowdown("fft", "halo") > 0.1 && is_complete("fft"));
	T_CHECK(np_slowdowns_between(decisions, fft, halo, false, false) == 0);
	np_slowdowns_unref(decisions);
}

/* halo slows the levels far more than any calibrated level does. */
T_TEST("what is beyond all levels is no conflict")
{
	put_own("fft", "fft");
	put_own("halo", "halo");
	refresh();
	T_CHECK(slowdown("fft", "halo") > 0.1);
	sh("for f in $(grep -l '\"name\":\"c' users/%u/halo/*); do "
	   "jq -c '.level.beside_round_sec |= (.mean *= 20 | .min *= 20 | .max "
	   "*= 20 | .m2 *= 400)' $f >$f.new && mv $f.new $f || exit; done",
	   geteuid());
	T_CHECK(refresh() == 0 && !w.n_warned);
	T_CHECK(slowdown("fft", "halo") == 0);
}

/* Slowdowns of the levels by each other are random numbers. */
T_TEST("what a calibration that contradicts itself predicts is no conflict")
{
	static const struct {
		const char *name;
		bool simulated, known;
	} rows[] = {
		{ "such a calibration restricts nobody, which is logged", false,
		  false },
		{ "a simulated job is slowed by it", true, true },
	};

	T_EACH(r, rows) {
		start();
		put_own("fft", "fft");
		put_own("halo", "halo");
		sh("cd fabric/hpc && jq -c '(.levels | length) as $n | "
		   ".level_beside_level = [range($n) as $i | [range($n) as $j "
		   "| ($i * $n + $j + 1) * 0.6180339887 | . - floor]]' " CAL
		   " >new && mv new " CAL);
		if (r->simulated)
			np_catalog_accept_doubtful(w.c);
		T_ROW(r->name, refresh() == 0 && w.n_warned == 1);
		T_ROW(r->name, (slowdown("fft", "halo") > 0.01) == r->known);
	}
}

/* Of the co-runner, a second fft, there are no runs under levels. */
T_TEST("what latencies alone say is no conflict")
{
	static const struct {
		const char *name;
		bool simulated, known;
	} rows[] = {
		{ "a co-runner of which only latencies are known restricts nobody",
		  false, false },
		{ "a simulated job is slowed by it", true, true },
	};

	T_EACH(r, rows) {
		start();
		put_own("fft", "fft");
		put_own("fft", "twin");
		sh("rm $(grep -l '\"name\":\"c' users/%u/twin/*)", geteuid());
		if (r->simulated)
			np_catalog_accept_doubtful(w.c);
		T_CHECK(refresh() == 0 && !w.n_warned);
		T_ROW(r->name, (slowdown("fft", "twin") > 0.1) == r->known);
	}
}

T_TEST("where nothing is felt, nothing conflicts")
{
	static const struct {
		const char *name, *sharing; /* of the leaf */
		bool harmful;
	} rows[] = {
		{ "nothing is felt", "{\"n\":12,\"mean\":0.04,\"sd\":0.08}",
		  false },
		{ "not measured", "{\"n\":0,\"mean\":0}", false },
		{ "half of it is felt", "{\"n\":12,\"mean\":0.5,\"sd\":0.05}",
		  true },
	};

	T_EACH(r, rows) {
		start();
		put_own("fft", "fft");
		if (strstr(r->sharing, "\"n\":0"))
			sh("sed -i 's/^\"coupling\".*/\"coupling\": "
			   "{\"uplink\":0.3},/' fabric/hpc/" CAL);
		else
			sh("sed -i 's/^\"coupling\".*/\"coupling\": "
			   "{\"leaf\":%s},/' fabric/hpc/" CAL,
			   r->sharing);
		T_ROW(r->name, refresh() == 0 && is_complete("fft"));
		T_ROW(r->name, r->harmful ? slowdown("fft", "fft") > 0.1 :
					    slowdown("fft", "fft") == 0);
	}
}

T_TEST("idle is no application")
{
	put_own("idle", "idle");
	put_published("idle", "idle");
	np_catalog_expect_job(w.c, "idle", geteuid());
	refresh();
	T_CHECK(find("idle", geteuid()) == NP_PROFILE_UNKNOWN);
	T_CHECK(n_known() == 0);
}

T_TEST("table and index outlive the catalog")
{
	struct np_app_index *x = NULL, *y;
	struct np_slowdowns *t;
	int32_t fft, halo;

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
		np_slowdowns_between(t, (uint32_t)fft, (uint32_t)halo, false,
				     false) > 0.1);
	np_app_index_unref(y);
	np_app_index_unref(NULL);
	np_slowdowns_unref(t);
}

T_TEST("an empty store is no trouble")
{
	bool changed, more;

	T_ROW("before the first look",
	      n_known() == 0 && find("fft", 0) == NP_PROFILE_UNKNOWN);
	T_ROW("nobody listens to warnings",
	      np_catalog_refresh(w.c, 1e9, NULL, NULL, &changed, &more, NULL) ==
		      0);
	T_CHECK(n_known() == 0);
	np_catalog_free(NULL);
}
