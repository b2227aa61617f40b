/* Hierarchies of cgroups as files of the test's. */
#include "t.h"
#include "np_memory.h"

#include <limits.h>

#define MIB 1048576L
#define NO_LIMIT 9223372036854771712L /* as version 1 says it */

struct group {
	const char *dir; /* "": where the hierarchy is mounted */
	long limit_mib, used_mib, files_mib; /* limit 0: none; used -1: memory
						is not a matter of this one */
};

/* clang-format off */
static const struct {
	const char *name;
	bool v2;
	const char *mounts, *cgroup; /* $: the test's directory */
	struct group group[3];
	const char *why; /* NULL: there is enough */
} rows[] = {
	{ "a limit with room", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 1000, 800, 0 } }, NULL },
	{ "less than a 16th is left", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 1000, 940, 0 } }, "its cgroup uses 940 of 1000 MiB" },
	{ "exactly a sixteenth is left", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 1600, 1500, 0 } }, NULL },
	{ "of a small limit 16 MiB are left", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 64, 49, 0 } }, "its cgroup uses 49 of 64 MiB" },
	{ "of a large one 256 MiB are enough", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 100000, 99700, 0 } }, NULL },
	{ "files in memory do not count", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 1000, 999, 500 } }, NULL },
	{ "the limit of the job, above the step's", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n",
	  "4:cpu,memory:/a/b\n",
	  { { "/a", 1000, 990, 0 }, { "/a/b", 0, 10, 0 } },
	  "its cgroup uses 990 of 1000 MiB" },
	{ "the limit of where it is mounted, as in a container", false,
	  "1 0 0:1 /box $/m rw - cgroup cgroup rw,memory\n",
	  "4:memory:/box/a\n",
	  { { "", 1000, 990, 0 }, { "/a", 0, 10, 0 } },
	  "its cgroup uses 990 of 1000 MiB" },
	{ "a part of the hierarchy is mounted", false,
	  "1 0 0:1 /box $/m rw - cgroup cgroup rw,memory\n",
	  "4:memory:/box/a\n", { { "/a", 100, 99, 0 } },
	  "its cgroup uses 99 of 100 MiB" },
	{ "a mount that another hides", false,
	  "1 0 0:1 / $/hidden rw - cgroup cgroup rw,memory\n"
	  "1 0 0:1 /box $/m rw shared:1 - cgroup memory rw,cpu,memory\n",
	  "4:memory:/box/a\n", { { "/a", 100, 99, 0 } },
	  "its cgroup uses 99 of 100 MiB" },
	{ "another namespace's cgroup", false,
	  "1 0 0:1 /box $/m rw - cgroup cgroup rw,memory\n",
	  "4:memory:/other/a\n", { { "/a", 100, 99, 0 } }, NULL },
	{ "other hierarchies of version 1", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,cpu\n",
	  "4:memory:/a\n5:cpu:/a\n", { { "/a", 100, 99, 0 } }, NULL },
	{ "no limit at all", false,
	  "1 0 0:1 / $/m rw - cgroup cgroup rw,memory\n", "4:memory:/a\n",
	  { { "/a", 0, 999, 0 } }, NULL },
	{ "version 2", true, "1 0 0:1 / $/m rw - cgroup2 cgroup rw\n",
	  "4:cpu:/x\n0::/a/b\n",
	  { { "/a", 1000, 990, 20 }, { "/a/b", 0, 10, 0 } },
	  "its cgroup uses 970 of 1000 MiB" },
	{ "version 2, where tasks have no memory of their own", true,
	  "1 0 0:1 / $/m rw - cgroup2 cgroup rw\n", "0::/a/b\n",
	  { { "/a", 1000, 990, 0 }, { "/a/b", 0, -1, 0 } },
	  "its cgroup uses 990 of 1000 MiB" },
	{ "version 2, with room", true,
	  "1 0 0:1 / $/m rw - cgroup2 cgroup rw\n", "0::/a\n",
	  { { "/a", 1000, 900, 0 } }, NULL },
	{ "files of another kind", false, "memory\n - cgroup\n\n", "memory\n::\n",
	  { { NULL } }, NULL },
	{ "no files", false, NULL, NULL, { { NULL } }, NULL },
};
/* clang-format on */

static const char *fresh(void)
{
	const char *dir = t_tmpdir();

	t_sh(dir, "rm -rf m mountinfo cgroup");
	return dir;
}

static FILE *open_for(const char *dir, const char *name)
{
	FILE *f;

	f = fopen(t_text("%s/%s", dir, name), "we");
	T_CHECK(f != NULL);
	return f;
}

/* $ becomes dir. */
static void put(const char *dir, const char *name, const char *text)
{
	FILE *f = open_for(dir, name);

	for (; *text; text++)
		if (*text == '$')
			fputs(dir, f);
		else
			fputc(*text, f);
	fclose(f);
}

static void put_number(const char *dir, const char *name, long v)
{
	FILE *f = open_for(dir, name);

	fprintf(f, "%ld\n", v);
	fclose(f);
}

static void put_stat(const char *dir, bool v2, long files)
{
	FILE *f = open_for(dir, "memory.stat");

	/* Version 1 says first what is the group's own, without those below. */
	fprintf(f,
		v2 ? "anon 5\ninactive_file %ld\nactive_file %ld\n" :
		     "inactive_file 1\ntotal_rss 5\ntotal_inactive_file %ld\n"
		     "total_active_file %ld\n",
		files / 4, files - files / 4);
	fclose(f);
}

static void put_group(const char *dir, bool v2, const struct group *g)
{
	const char *path = t_text("%s/m%s", dir, g->dir);

	t_sh(dir, "mkdir -p %s && touch %s/cgroup.procs", path, path);
	if (g->used_mib < 0)
		return;
	if (v2 && !g->limit_mib)
		put(path, "memory.max", "max\n");
	else
		put_number(path, v2 ? "memory.max" : "memory.limit_in_bytes",
			   g->limit_mib ? g->limit_mib * MIB : NO_LIMIT);
	put_number(path, v2 ? "memory.current" : "memory.usage_in_bytes",
		   g->used_mib * MIB);
	put_stat(path, v2, g->files_mib * MIB);
}

T_TEST("a step that has nearly used its memory")
{
	T_EACH(r, rows) {
		const char *dir = fresh();
		char why[NP_MEMORY_TEXT] = "";
		struct np_memory m;

		if (r->mounts) {
			put(dir, "mountinfo", r->mounts);
			put(dir, "cgroup", r->cgroup);
		}
		for (const struct group *g = r->group; g->dir; g++)
			put_group(dir, r->v2, g);
		np_memory_open(&m, dir);
		T_ROW(r->name, np_memory_short(&m, 0, why) == !!r->why);
		T_ROW(r->name,
		      !r->why || !strncmp(why, r->why, strlen(r->why)));
	}
}

/* Nothing is looked at again and again that cannot change. */
T_TEST("without a limit nothing is watched")
{
	const char *dir = fresh();
	const struct group free = { "/a", 0, 10, 0 };
	struct np_memory m;

	put(dir, "mountinfo", rows[0].mounts);
	put(dir, "cgroup", rows[0].cgroup);
	put_group(dir, false, &free);
	np_memory_open(&m, dir);
	T_CHECK(!m.dir[0]);
}

T_TEST("memory that is used up later, or needed")
{
	const char *dir = fresh();
	struct group g = { "/a", 1000, 10, 0 };
	char why[NP_MEMORY_TEXT];
	struct np_memory m;

	put(dir, "mountinfo", rows[0].mounts);
	put(dir, "cgroup", rows[0].cgroup);
	put_group(dir, false, &g);
	np_memory_open(&m, dir);
	T_CHECK(!np_memory_short(&m, 0, why));
	T_CHECK(np_memory_short(&m, 991.0 * MIB, why));
	g.used_mib = 990;
	put_group(dir, false, &g);
	T_CHECK(np_memory_short(&m, 0, why));
}
