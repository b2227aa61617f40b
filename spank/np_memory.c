#include "np_memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB 1048576.0
/* Memory that must be left: a part of the limit, within bounds in bytes. */
#define MARGIN_PART (1.0 / 16)
#define MARGIN_MIN (16 * MIB)
#define MARGIN_MAX (256 * MIB)
/* Bytes; cgroups of version 1 write a larger number for "no limit". */
#define UNLIMITED 1e15
#define NAME 256

/* A mounted hierarchy of cgroups. */
struct mount {
	char root[NAME]; /* the part of it that is mounted */
	char at[NAME];	 /* where that is mounted */
	bool v2;
};

/* Return whether "memory" is in a list. */
static bool has_memory(const char *list)
{
	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, "memory", 6) && strchr(",\n", list[6]))
			return true; /* strchr() finds the NUL, too */
	}
	return false;
}

/*
 * Parse a line of mountinfo, see proc(5). Returns false if it is no hierarchy
 * for memory.
 */
static bool parse_mount(const char *line, struct mount *mount)
{
	const char *type_at = strstr(line, " - ");
	char type[16], options[NAME];

	if (!type_at ||
	    sscanf(line, "%*s %*s %*s %255s %255s", mount->root, mount->at) !=
		    2 ||
	    sscanf(type_at, " - %15s %*s %255s", type, options) != 2)
		return false;
	mount->v2 = !strcmp(type, "cgroup2");
	return mount->v2 || (!strcmp(type, "cgroup") && has_memory(options));
}

static FILE *open_in(const char *dir, size_t len, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, name);
	return fopen(path, "re");
}

/* Find the line "ID:CONTROLLERS:PATH"; version 2 names no controllers. */
static bool find_path(const char *proc, bool v2, char path[PATH_MAX])
{
	FILE *f = open_in(proc, strlen(proc), "cgroup");
	bool found = false;
	char *list, *at;

	while (f && !found && fgets(path, PATH_MAX, f)) {
		path[strcspn(path, "\n")] = '\0';
		list = strchr(path, ':');
		at = list ? strchr(list + 1, ':') : NULL;
		if (!at)
			continue;
		*at++ = '\0';
		found = v2 ? !list[1] : has_memory(list + 1);
		if (found)
			memmove(path, at, strlen(at) + 1);
	}
	if (f)
		fclose(f);
	return found;
}

/* Read the first number in a file. Returns false if it has none, as "max". */
static bool read_number(const char *dir, size_t len, const char *name,
			double *number)
{
	FILE *f = open_in(dir, len, name);
	bool found = f && fscanf(f, "%lf", number) == 1;

	if (f)
		fclose(f);
	return found;
}

/*
 * Return the bytes of the page cache, which Linux drops when memory is short.
 */
static double cache_bytes(const struct np_memory *memory, size_t len)
{
	/* These counters include child cgroups. */
	const char *prefix = memory->v2 ? "" : "total_";
	FILE *f = open_in(memory->dir, len, "memory.stat");
	char line[128], active[32], inactive[32], name[64];
	double sum = 0, v;

	snprintf(active, sizeof(active), "%sactive_file", prefix);
	snprintf(inactive, sizeof(inactive), "%sinactive_file", prefix);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lf", name, &v) == 2 &&
		    (!strcmp(name, active) || !strcmp(name, inactive)))
			sum += v;
	if (f)
		fclose(f);
	return sum;
}

static bool get_limit(const struct np_memory *memory, size_t len, double *limit)
{
	return read_number(memory->dir, len,
			   memory->v2 ? "memory.max" : "memory.limit_in_bytes",
			   limit) &&
	     *limit < UNLIMITED;
}

/* Check one cgroup, whose path is the first len characters of dir. */
static bool is_short(const struct np_memory *memory, size_t len, double need,
		     char why[NP_MEMORY_TEXT])
{
	double limit, used, margin;

	if (!get_limit(memory, len, &limit) ||
	    !read_number(memory->dir, len,
			 memory->v2 ? "memory.current" :
				      "memory.usage_in_bytes",
			 &used))
		return false;
	margin = limit * MARGIN_PART > MARGIN_MAX ? MARGIN_MAX :
						    limit * MARGIN_PART;
	if (margin < MARGIN_MIN)
		margin = MARGIN_MIN;
	if (margin < need)
		margin = need;
	if (limit - used >= margin)
		return false;
	used -= cache_bytes(memory, len);
	if (limit - used >= margin)
		return false;
	snprintf(why, NP_MEMORY_TEXT,
		 "its cgroup uses %.0f of %.0f MiB of memory", used / MIB,
		 limit / MIB);
	return true;
}

/* Return the length of the parent's path; 0: the parent is not mounted. */
static size_t parent_len(const struct np_memory *memory, size_t len)
{
	if (len <= memory->root_len)
		return 0;
	while (memory->dir[--len] != '/')
		;
	return len;
}

void np_memory_yield(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "we");

	if (!f)
		return; /* then this process is killed no sooner than others */
	fputs("1000", f);
	fclose(f);
}

/*
 * Enter the cgroup of this process, if it is visible: below the part that is
 * mounted, under a mount that no other one hides.
 */
static bool enter(struct np_memory *memory, const struct mount *at,
		  const char *path)
{
	size_t root = strcmp(at->root, "/") ? strlen(at->root) : 0;
	char here[PATH_MAX + 32];
	size_t len;

	if (strncmp(path, at->root, root))
		return false;
	memory->v2 = at->v2;
	memory->root_len = strlen(at->at);
	len = (size_t)snprintf(memory->dir, sizeof(memory->dir), "%s%s", at->at,
			       path + root);
	snprintf(here, sizeof(here), "%s/cgroup.procs", memory->dir);
	return len < sizeof(memory->dir) && !access(here, F_OK);
}

static bool has_limit(const struct np_memory *memory)
{
	double limit;

	for (size_t len = strlen(memory->dir); len;
	     len = parent_len(memory, len))
		if (get_limit(memory, len, &limit))
			return true;
	return false;
}

void np_memory_open(struct np_memory *memory, const char *proc)
{
	FILE *f = open_in(proc, strlen(proc), "mountinfo");
	char line[4096], path[PATH_MAX];
	bool found = false;
	struct mount at;

	*memory = (struct np_memory){ 0 };
	while (f && !found && fgets(line, sizeof(line), f))
		found = parse_mount(line, &at) &&
			find_path(proc, at.v2, path) &&
			enter(memory, &at, path);
	if (f)
		fclose(f);
	if (!found || !has_limit(memory))
		memory->dir[0] = '\0';
}

bool np_memory_short(const struct np_memory *memory, double need,
		     char why[NP_MEMORY_TEXT])
{
	for (size_t len = strlen(memory->dir); len;
	     len = parent_len(memory, len))
		if (is_short(memory, len, need, why))
			return true;
	return false;
}
