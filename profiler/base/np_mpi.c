#include "np_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "np_children.h"
#include "np_elf.h"

#define MAX_MAPS 8192 /* lines of a process's that are looked at */
#define MAX_PIDS 64   /* processes: a script's, or those of mpirun's daemon */
#define VERSION_TEXT 32

bool np_mpi_of_library(const char *path, char buf[NP_MPI_TEXT])
{
	static const struct {
		const char *name, *symbol;
	} known[] = {
		{ "Open MPI", "ompi_version_string" },
		{ "MPICH", "MPII_Version_string" },
	};
	char version[VERSION_TEXT + 1] = "";
	size_t i = 0;

	while (i < NP_ARRAY_SIZE(known) &&
	       np_elf_symbol(path, known[i].symbol, version, VERSION_TEXT,
			     NULL) < 0)
		i++;
	for (const char *c = version; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	if (!*version)
		return false;
	snprintf(buf, NP_MPI_TEXT, "%s %s", known[i].name, version);
	return true;
}

/* libmpi.so.40, libmpich.so.12, libmpi_cray.so.12 */
static bool may_be_mpi(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash + 1, "libmpi", 6) &&
	       strstr(slash + 1, ".so");
}

/* Paths are those of its own mounts: it may be in a container. */
static bool has_mpi(pid_t pid, char buf[NP_MPI_TEXT])
{
	char path[PATH_MAX + 32], line[PATH_MAX + 128], last[PATH_MAX] = "";
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	f = fopen(path, "re");
	for (int i = 0; f && !found && i < MAX_MAPS &&
	     fgets(line, sizeof(line), f); i++) {
		char *file = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!file || !may_be_mpi(file) || !strcmp(file, last))
			continue;
		snprintf(last, sizeof(last), "%s", file);
		snprintf(path, sizeof(path), "/proc/%ld/root%s", (long)pid,
			 file);
		found = np_mpi_of_library(path, buf);
	}
	if (f)
		fclose(f);
	return found;
}

struct processes {
	pid_t pid[MAX_PIDS];
	size_t n;
};

static bool is_one_too_many(pid_t child, void *arg)
{
	struct processes *p = arg;

	if (p->n == MAX_PIDS)
		return true;
	p->pid[p->n++] = child;
	return false;
}

bool np_mpi_find(pid_t first, char buf[NP_MPI_TEXT])
{
	struct processes p = { { first }, 1 };

	for (size_t i = 0; i < p.n; i++) {
		if (has_mpi(p.pid[i], buf))
			return true;
		np_children_find(p.pid[i], is_one_too_many, &p);
	}
	return false;
}
