#include "t.h"

#include "np_catalog.h"
#include "np_placer.h"
#include "np_store_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static const struct np_deadlines patient = { 60, 60, 60 };

static char file[512];

/* As if it had been written so long ago. */
static void set_age(double sec)
{
	struct timespec now, times[2];

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec -= (time_t)sec;
	times[0] = times[1] = now;
	T_CHECK(!utimensat(AT_FDCWD, file, times, 0));
}

/* NULL: there is none. */
static void put(const char *text)
{
	if (!text) {
		unlink(file);
		return;
	}
	t_write_text(file, text);
	set_age(2 * NP_SETTINGS_SETTLE_SEC);
}

/* One after the other, as an administrator edits. */
static const struct {
	const char *name, *text;
	bool news;
	double max_slowdown; /* in force afterwards */
	const char *trouble;
} edits[] = {
	{ "the first", "MaxSlowdown=5%\n", true, 0.05, "" },
	{ "the same is no news", NULL, false, 0.05, "" },
	{ "a change", "MaxSlowdown=20%\n", true, 0.2, "" },
	{ "a broken one changes nothing", "Store=/s\nMaxSlowdown=much\n", false,
	  0.2, ":2: MaxSlowdown=much" },
	{ "and is reported again at the next look", NULL, false, 0.2,
	  ":2: MaxSlowdown=much" },
	{ "corrected", "Store=/s\nMaxSlowdown=7%\n", true, 0.07, "" },
};

T_TEST("edits are followed, and broken ones reported")
{
	struct np_settings s;

	snprintf(file, sizeof(file), "%s/settings.conf", t_tmpdir());
	setenv("NETPROF_CONF", file, 1);
	unsetenv("NETPROF_STORE");
	np_settings_init(&s);
	T_CHECK(s.conf.place.mode == NP_MODE_OFF);
	T_EACH(r, edits) {
		const char *name = r->name;

		if (r->text)
			put(r->text);
		T_ROW(name, np_settings_refresh(&s, &patient) == r->news);
		T_ROW(name, t_close(s.conf.place.max_slowdown, r->max_slowdown,
				    1e-9));
		T_ROW(name, *r->trouble ? !!strstr(s.trouble.text, r->trouble) :
					  !s.trouble.text[0]);
	}
	put(NULL);
	T_CHECK(!np_settings_refresh(&s, &patient));
	T_CHECK(strstr(s.trouble.text, file) != NULL);
	T_CHECK(t_close(s.conf.place.max_slowdown, 0.07, 1e-9));
	np_settings_free(&s);
	unsetenv("NETPROF_CONF");
}

T_TEST("a file that may be half-written is read when it is complete")
{
	struct np_settings s;

	snprintf(file, sizeof(file), "%s/half.conf", t_tmpdir());
	setenv("NETPROF_CONF", file, 1);
	np_settings_init(&s);
	t_write_text(file, "MaxSlowdown=5%\nPlacement=enforce\n");
	T_ROW("except the first", np_settings_refresh(&s, &patient));
	T_CHECK(s.conf.place.mode == NP_MODE_ENFORCE);
	t_write_text(file, "MaxSlowdown=1");
	set_age(-.5 * NP_SETTINGS_SETTLE_SEC); /* the server's clock is ahead */
	T_CHECK(!np_settings_refresh(&s, &patient));
	T_ROW("what was read before stays in use",
	      s.conf.place.mode == NP_MODE_ENFORCE && !s.trouble.text[0]);
	t_write_text(file, "MaxSlowdown=12%\nPlacement=advise\n");
	T_CHECK(!np_settings_refresh(&s, &patient));
	set_age(NP_SETTINGS_SETTLE_SEC + 1);
	T_CHECK(np_settings_refresh(&s, &patient));
	T_CHECK(s.conf.place.mode == NP_MODE_ADVISE &&
		t_close(s.conf.place.max_slowdown, 0.12, 1e-9));
	np_settings_free(&s);
	unsetenv("NETPROF_CONF");
}

/* As when the users that it names exist again: the file has not changed. */
T_TEST("a file in error is read again later")
{
	struct np_settings s;
	struct timespec times[2];
	struct stat st;

	snprintf(file, sizeof(file), "%s/again.conf", t_tmpdir());
	setenv("NETPROF_CONF", file, 1);
	np_settings_init(&s);
	put("TrustedUsers=no-such-user\n");
	T_CHECK(!np_settings_refresh(&s, &patient) && s.trouble.text[0]);
	T_CHECK(!stat(file, &st));
	times[0] = times[1] = st.st_mtim;
	put("TrustedUsers=000000000000\n");
	T_CHECK(!utimensat(AT_FDCWD, file, times, 0));
	T_ROW("not at once",
	      !np_settings_refresh(&s, &patient) && s.trouble.text[0]);
	s.retry_sec = 0;
	T_CHECK(np_settings_refresh(&s, &patient) && !s.trouble.text[0] &&
		s.conf.place.n_trusted == 1);
	T_ROW("and then no more", !np_settings_refresh(&s, &patient));
	np_settings_free(&s);
	put(NULL);
	unsetenv("NETPROF_CONF");
}

static const struct {
	const char *name, *text;
	double hold_step_sec;
	unsigned modes;
} policies[] = {
	{ "nothing set", "", 30, 1u << NP_MODE_OFF },
	{ "a hold outlasts several passes", "PlacementInterval=60s\n", 600,
	  1u << NP_MODE_OFF },
	{ "modes of partitions count",
	  "Placement=enforce\nPlacementPartition=debug:advise\n", 30,
	  1u << NP_MODE_ENFORCE | 1u << NP_MODE_ADVISE },
};

T_TEST("settings make a policy")
{
	struct np_app_index *index = NULL;

	T_CHECK(np_app_index_new(NULL, 0, NP_PROFILE_UNKNOWN, NULL, &index) ==
		0);
	snprintf(file, sizeof(file), "%s/policy.conf", t_tmpdir());
	setenv("NETPROF_CONF", file, 1);
	T_EACH(r, policies) {
		const char *name = r->name;
		struct np_settings s;
		struct np_policy p;

		np_settings_init(&s);
		put(r->text);
		T_ROW(name, np_settings_refresh(&s, &patient));
		np_settings_policy(&s, index, &p);
		T_ROW(name, t_close(p.hold_step_sec, r->hold_step_sec, 1e-9));
		T_ROW(name, p.modes == r->modes);
		T_ROW(name,
		      p.max_slowdown == s.conf.place.max_slowdown &&
			      p.max_hold_sec == s.conf.place.max_hold_sec);
		np_settings_free(&s);
	}
	np_app_index_unref(index);
	unsetenv("NETPROF_CONF");
}
