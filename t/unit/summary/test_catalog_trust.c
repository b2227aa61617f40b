/* The catalog: whose profiles count, and for whom. */
#include "some_catalog.h"
#include "some_store.h"

T_FIXTURE(start, stop);

T_TEST("a published profile wins over an own one")
{
	int32_t own, h;

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
	T_ROW("and it is what counts",
	      slowdown("app", "fft") > 0 &&
		      slowdown("app", "fft") == slowdown("fft", "fft"));
	sh("rm -r published/app");
	refresh();
	T_ROW("then the own one, as before", find("app", geteuid()) == own);
}

/* A job of the caller in the partition main: what it counts as, and why. */
static enum np_auth auth_of(const char *app, int32_t *profile, char why[128])
{
	const struct np_auth_request who = { .uid = geteuid(),
					     .partition = "main" };
	struct np_app_index *x = NULL;
	enum np_auth c;

	T_CHECK(np_catalog_index(w.c, &x) == 0);
	*profile = np_app_index_of_job(x, app, &who, &c);
	snprintf(why, 128, "%s", np_app_index_why(x, app, geteuid(), c));
	np_app_index_unref(x);
	return c;
}

T_TEST("own runs that contradict a published name deny it")
{
	char why[128];
	int32_t h;

	put_published("fft", "app");
	refresh();
	T_ROW("without own runs nothing but the name speaks for it",
	      auth_of("app", &h, why) == NP_AUTH_OWN_JOBS && h >= 0);
	put_own("fft", "app");
	refresh();
	T_ROW("runs that agree do",
	      auth_of("app", &h, why) == NP_AUTH_GRANTED && h >= 0);
	sh("rm -r users/%u/app", geteuid());
	put_own("halo", "app");
	refresh();
	T_CHECK(auth_of("app", &h, why) == NP_AUTH_CONTRADICTED);
	T_CHECK(h == NP_PROFILE_UNKNOWN);
	T_ROW(why, strstr(why, "mean latency 33.3 us, published 147 us"));
	sh("rm users/%u/app/*", geteuid());
	sh("cp $D/own/fft/* users/%u/app && "
	   "sed -i 's/\"uid\":1000,/\"uid\":%u,/' users/%u/app/*",
	   geteuid(), geteuid(), geteuid());
	refresh();
	T_ROW("other runs are looked at anew",
	      auth_of("app", &h, why) == NP_AUTH_GRANTED && h >= 0);
	sh("rm -r published/app && cp -r $D/own/halo published/app");
	refresh();
	T_ROW("and so is another published profile",
	      auth_of("app", &h, why) == NP_AUTH_CONTRADICTED);
	sh("rm -r published/app");
	refresh();
	T_ROW("a name that is not published is the user's",
	      auth_of("app", &h, why) == NP_AUTH_GRANTED && h >= 0);
}

T_TEST("lines of Claim decide before own runs do")
{
	static const struct {
		const char *name, *who; /* with the caller's uid */
		enum np_auth auth;
	} lines[] = {
		{ "named", "app:user=%u", NP_AUTH_GRANTED },
		{ "others are", "app:user=1%u", NP_AUTH_DENIED },
		{ "in the group", "app:group=0", NP_AUTH_GRANTED },
		{ "in the partition", "a*:partition=ma*", NP_AUTH_GRANTED },
		{ "another name", "b*:user=1%u", NP_AUTH_CONTRADICTED },
	};
	char why[128], text[64];
	int32_t h;

	if (t_skip_unless_root("a user who is in group 0"))
		return;
	put_published("fft", "app");
	put_own("halo", "app");
	T_EACH(r, lines) {
		/* The format is one of those above. */
		snprintf(text, sizeof(text), r->who, geteuid());
		w.conf.n_auth_rules = 0;
		memset(w.conf.auth_rule, 0, sizeof(w.conf.auth_rule));
		T_ROW(text, !np_auth_parse(text, w.conf.auth_rule,
					   &w.conf.n_auth_rules, NULL));
		new_catalog("hpc");
		np_catalog_expect_job(w.c, "app", geteuid());
		refresh();
		T_ROW(r->name, auth_of("app", &h, why) == r->auth);
	}
}

T_TEST("an own profile is seen by its owner only")
{
	put_own("halo", "app");
	refresh();
	T_CHECK(find("app", geteuid()) >= 0);
	T_CHECK(find("app", geteuid() + 1) == NP_PROFILE_UNKNOWN);
	T_CHECK(find("ap", geteuid()) == NP_PROFILE_UNKNOWN);
	T_CHECK(find("", geteuid()) == NP_PROFILE_UNKNOWN);
	T_ROW("a name longer than any",
	      find("01234567890123456789012345678901"
		   "23456789012345678901234567890123456789",
		   geteuid()) == NP_PROFILE_UNKNOWN);
}

T_TEST("a trusted user's own profile is trusted")
{
	put_own("halo", "app");
	w.conf.trusted[w.conf.n_trusted++] = geteuid();
	new_catalog("hpc");
	refresh();
	T_CHECK(is_trusted(find("app", geteuid())));
	T_ROW("others do not use it",
	      find("app", geteuid() + 1) == NP_PROFILE_UNKNOWN);
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

T_TEST("unknown jobs count as the published one named")
{
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
}

T_TEST("all users are looked at, each only if trusted")
{
	if (geteuid() != 0)
		return; /* chown */
	put_of(12345, "fft", "fft");
	put_of(12346, "halo", "fft");
	put_of(12347, "halo", "halo");
	sh("chown 12348 users/12347"); /* not whose it says it is */
	refresh();
	T_CHECK(find("fft", 12345) >= 0 && find("fft", 12346) >= 0 &&
		find("fft", 12345) != find("fft", 12346));
	T_CHECK(find("halo", 12347) == NP_PROFILE_UNKNOWN && n_known() == 2);
	np_catalog_expect_job(w.c, "halo", 12347);
	refresh();
	T_ROW("why one cannot be used is logged once",
	      w.n_warned == 1 && strstr(w.warned, "not trusted"));
	refresh();
	T_CHECK(w.rc == 0 && !w.n_warned && n_known() == 2);
	sh("rm -r users/12345");
	refresh();
	T_CHECK(find("fft", 12345) == NP_PROFILE_UNKNOWN && n_known() == 1);
}
