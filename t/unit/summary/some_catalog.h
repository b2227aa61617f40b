/* A catalog on a store that is made of t/data/store, for tests. */
#ifndef NP_T_SOME_CATALOG_H
#define NP_T_SOME_CATALOG_H

#include "t.h"
#include "np_catalog.h"

#include <sys/stat.h>

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
	unsigned n_sums;  /* lines that say how many more there were */
} w;

static inline double now_sec(const struct np_clock *c)
{
	(void)c;
	w.now += w.tick_sec;
	return w.now;
}

/* A command in the store. */
#define sh(...) t_sh(w.dir, __VA_ARGS__)

/* A profile of the test data as the caller's own, as uid's, or published. */
static inline void put_own(const char *from, const char *app)
{
	sh("mkdir -p users/%u && cp -r $D/own/%s users/%u/%s && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/%s/*",
	   geteuid(), from, geteuid(), app, geteuid(), geteuid(), app);
}

static inline void put_of(unsigned uid, const char *from, const char *app)
{
	sh("mkdir -p users/%u && cp -r $D/own/%s users/%u/%s && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/%s/* && "
	   "chown -R %u users/%u",
	   uid, from, uid, app, uid, uid, app, uid, uid);
}

static inline void put_published(const char *from, const char *app)
{
	sh("mkdir -p published && cp -r $D/own/%s published/%s", from, app);
}

static inline void new_catalog(const char *cluster)
{
	np_catalog_free(w.c);
	T_CHECK(np_catalog_new(w.dir, cluster, &w.conf, &w.c, NULL) == 0);
	np_catalog_set_clock(w.c, &w.clock);
}

/* A store of cluster hpc, whatever an earlier one was. */
static inline void start(void)
{
	np_catalog_free(w.c);
	w.clock.now_sec = now_sec;
	w.now = 1000;
	w.tick_sec = 0;
	w.c = NULL;
	snprintf(w.dir, sizeof(w.dir), "%s/catalog.XXXXXX", t_tmpdir());
	T_CHECK(mkdtemp(w.dir) && !chmod(w.dir, 0755));
	sh("mkdir -p fabric && cp -r $D/fabric/hpc fabric");
	np_place_conf_init(&w.conf);
	new_catalog("hpc");
}

static inline void stop(void)
{
	np_catalog_free(w.c);
	w.c = NULL;
}

static inline void on_warn(const char *line, void *arg)
{
	T_CHECK(arg == &w);
	w.n_warned++;
	w.n_sums += !!strstr(line, "more files or directories were skipped");
	snprintf(w.warned, sizeof(w.warned), "%s", line);
}

static inline int refresh_for(double budget_sec)
{
	w.n_warned = 0;
	w.err.text[0] = w.warned[0] = '\0';
	np_catalog_refresh_groups(w.c, budget_sec);
	w.rc = np_catalog_refresh(w.c, budget_sec, on_warn, &w, &w.changed,
				  &w.more, &w.err);
	T_ROW("an error comes with a line", !w.rc == !w.err.text[0]);
	return w.rc;
}

/* All there is to do, some time later. */
static inline int refresh(void)
{
	w.now += 10;
	return refresh_for(1e9);
}

static inline int32_t find(const char *app, uint32_t uid)
{
	struct np_app_index *x = NULL;
	int32_t h;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	h = np_app_index_find(x, app, uid);
	np_app_index_unref(x);
	return h;
}

static inline size_t n_known(void)
{
	struct np_app_index *x = NULL;
	size_t n;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	n = np_app_index_n(x);
	np_app_index_unref(x);
	return n;
}

static inline struct np_slowdowns *table(void)
{
	struct np_slowdowns *t = NULL;

	T_CHECK(np_catalog_table(w.c, &t, NULL) == 0);
	return t;
}

/* Of the own or published victim with co, on a leaf. */
static inline double slowdown(const char *victim, const char *co)
{
	int32_t v = find(victim, geteuid()), x = find(co, geteuid());
	struct np_slowdowns *t = table();
	double d = v < 0 || x < 0 ?
			 -1 :
			 np_slowdowns_between(t, (uint32_t)v, (uint32_t)x,
					      false, false);

	np_slowdowns_unref(t);
	return d;
}

static inline bool is_trusted(int32_t handle)
{
	struct np_slowdowns *t = table();
	bool trusted = handle >= 0 && t->profile[handle].trusted;

	np_slowdowns_unref(t);
	return trusted;
}

#endif
