/* The catalog: how much is read, logged and known, and in which order. */
#include "some_catalog.h"

T_FIXTURE(start, stop);

T_TEST("hostile files are skipped and logged once")
{
	unsigned uid = geteuid();

	put_own("fft", "fft");
	put_own("halo", "halo");
	sh("echo '{' >users/%u/fft/20250101T000000Z-bad.json && "
	   "ln -s /etc/passwd users/%u/fft/20250102T000000Z-link.json && "
	   "mkfifo users/%u/fft/20250103T000000Z-fifo.json && "
	   "ln -s fft users/%u/link",
	   uid, uid, uid, uid);
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
	T_ROW("one that occurs again is logged again",
	      refresh() == 0 && w.n_warned == 1);
}

/* Three files of many names: an inode has not room for all. */
T_TEST("more entries in users/ than are read are logged once")
{
	sh("mkdir users && cd users && for k in a b c; do : >../$k && "
	   "seq -f $k%%g 22000 | xargs perl -e 'link \"../'$k'\", $_ or die "
	   "for @ARGV'; done");
	T_CHECK(refresh() == 0 && w.n_warned == 1);
	T_ROW(w.warned, strstr(w.warned, "users: more than 65536 entries"));
	T_CHECK(refresh() == 0 && !w.n_warned);
}

/*
 * Makes n directories TO1, TO2, ..., each with links to the files of a profile.
 * One process makes all, because a process for each takes seconds.
 */
static void link_profile(const char *profile, const char *to, unsigned n)
{
	sh("perl -e 'my ($from, $to, $n) = @ARGV; for my $dir (map $to.$_, "
	   "1 .. $n) { mkdir $dir or die; for (glob \"$from/*\") { "
	   "link $_, $dir.substr($_, rindex $_, \"/\") or die } }' %s %s %u",
	   profile, to, n);
}

/* More bad files than there may be lines about. */
static void put_bad(unsigned uid)
{
	sh("mkdir -p users/%u && perl -e 'for my $dir (map $ARGV[0].$_, "
	   "1 .. 120) { mkdir $dir or die; "
	   "open my $f, \">\", \"$dir/20250101T000000Z-a.json\" or die; "
	   "print $f \"x\\n\" }' users/%u/a && chown -R %u users/%u",
	   uid, uid, uid, uid);
}

T_TEST("hostile users do not fill the log")
{
	put_bad(geteuid());
	T_CHECK(refresh() == 0 && !w.more);
	T_CHECK(w.n_warned == NP_CATALOG_MAX_LINES + 1 &&
		strstr(w.warned, "the others are counted"));
	for (int i = 0; i < 300; i++)
		T_CHECK(refresh() == 0 && !w.n_warned);
	w.now += 700;
	T_ROW("their number is logged when the hour is over",
	      refresh() == 0 && w.n_warned == 1 &&
		      strstr(w.warned, ": 100 more files"));
	T_CHECK(refresh() == 0 && !w.n_warned);
	if (geteuid() != 0)
		return; /* chown */
	start();
	for (unsigned i = 0; i < 7; i++)
		put_bad(12340 + i);
	T_CHECK(refresh() == 0 && !w.more);
	T_ROW("of many users", w.n_warned == NP_CATALOG_MAX_WARNINGS + 1 &&
				       strstr(w.warned, "more files"));
}

/* Bad files under new names, in each round of two hours. */
T_TEST("renaming bad files does not fill the log")
{
	unsigned uid = geteuid(), lines = 0;

	w.n_sums = 0;
	sh("mkdir -p users/%u/app", uid);
	for (int i = 0; i < 240; i++, w.now += 20) {
		sh("rm -f users/%u/app/* && for k in 1 2 3 4 5; do "
		   "echo x >users/%u/app/$k-%d.json; done",
		   uid, uid, i);
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
}

/* So many links to one file that nothing can be read from, of 4 MB. */
static void put_junk(unsigned uid, const char *app)
{
	sh("head -c 4190000 /dev/zero | tr '\\0' '[' >junk && chown %u junk && "
	   "for i in $(seq 10 25); do "
	   "ln junk users/%u/%s/202501$i.json; done",
	   uid, uid, app);
}

T_TEST("huge files of one user do not keep others waiting")
{
	int i;

	if (geteuid() != 0)
		return; /* chown */
	put_of(12345, "fft", "huge");
	put_of(12345, "fft", "huge2");
	put_junk(12345, "huge");
	put_of(12346, "fft", "small");
	put_of(12346, "halo", "other");
	sh("touch -d 2020-01-01 users/12346/small");
	np_catalog_expect_job(w.c, "huge", 12345);
	np_catalog_expect_job(w.c, "huge2", 12345);
	np_catalog_expect_job(w.c, "small", 12346);
	np_catalog_expect_job(w.c, "other", 12346);
	for (i = 0;
	     i < 100 && (find("other", 12346) < 0 || find("small", 12346) < 0);
	     i++) {
		sh("touch users/12345/huge users/12345/huge2");
		w.now += .3;
		T_CHECK(refresh_for(0) == 0);
	}
	T_ROW("one reading each, and questions", i <= 25);
}

T_TEST("of one user so much is read, and no more")
{
	unsigned uid = geteuid(), n_read = 0;

	put_own("fft", "huge");
	put_own("halo", "halo");
	put_junk(uid, "huge");
	np_catalog_expect_job(w.c, "huge", uid);
	refresh();
	T_CHECK(find("huge", uid) >= 0 && find("halo", uid) >= 0);
	for (int i = 0; i < 160; i++) {
		np_catalog_expect_job(w.c, "huge", uid);
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
}

T_TEST("the budget stops the work, the next call goes on")
{
	double whole[2];
	unsigned calls = 0;

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
}

T_TEST("what jobs wait for comes first")
{
	for (int i = 0; i < 20; i++) {
		const char *name = t_text("p%d", i);

		put_published("postprocess", name);
		put_own("postprocess", name + 1);
	}
	put_own("fft", "fft");
	put_own("halo", "halo");
	np_catalog_expect_job(w.c, "fft", geteuid());
	np_catalog_expect_job(w.c, "halo", geteuid());
	np_catalog_expect_job(w.c, "never-measured", geteuid());
	np_catalog_expect_job(w.c, "not/a name", geteuid());
	/* Two directories, two applications, questions after each. */
	for (int i = 0; i < 6; i++)
		T_CHECK(refresh_for(0) == 0 && w.more);
	T_CHECK(n_known() == 2 && slowdown("fft", "halo") > 0.1);
}

T_TEST("what jobs wait for is looked at every second")
{
	refresh();
	w.now += 1.5;
	put_own("fft", "fft");
	np_catalog_expect_job(w.c, "fft", geteuid());
	refresh_for(1e9);
	T_CHECK(find("fft", geteuid()) >= 0);
	w.now += 1.5;
	put_own("halo", "fft2");
	refresh_for(1e9);
	T_ROW("and what else the user has", find("fft2", geteuid()) >= 0);
}

T_TEST("one user gets a share of what can be known")
{
	put_own("fft", "fft");
	put_own("postprocess", "last-of-all");
	sh("touch -d 2001-01-01 users/%u/fft", geteuid());
	link_profile(t_text("users/%u/last-of-all", geteuid()),
		     t_text("users/%u/a", geteuid()), 200);
	np_catalog_expect_job(w.c, "fft", geteuid());
	refresh();
	T_CHECK(n_known() == NP_CATALOG_MAX_OF_USER);
	T_ROW("the oldest, as it is wanted", find("fft", geteuid()) >= 0);
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

T_TEST("few handles go to those who need them")
{
	unsigned uid = geteuid();
	char mine[64];

	put_own("postprocess", "mine");
	sh("mkdir published");
	snprintf(mine, sizeof(mine), "users/%u/mine", uid);
	link_profile(mine, "published/p", NP_CONFLICT_MAX_PROFILES - 1);
	read_all();
	T_CHECK(n_known() == NP_CONFLICT_MAX_PROFILES &&
		find("mine", uid) >= 0);
	sh("mkdir published/new && ln users/%u/mine/* published/new", uid);
	read_all();
	T_ROW("a published one rather than one's own",
	      find("new", uid) >= 0 && find("mine", uid) == NP_PROFILE_UNKNOWN);
	T_CHECK(n_known() == NP_CONFLICT_MAX_PROFILES);
	np_catalog_expect_job(w.c, "mine", uid);
	read_all();
	T_ROW("whoever wants it",
	      find("mine", uid) == NP_PROFILE_UNKNOWN &&
		      n_known() == NP_CONFLICT_MAX_PROFILES);
	sh("rm -r published/p7");
	read_all();
	read_all();
	T_ROW("when there is room again",
	      find("mine", uid) >= 0 && find("p7", uid) == NP_PROFILE_UNKNOWN);
	T_CHECK(!is_trusted(find("mine", uid)) && is_trusted(find("new", uid)));
}
