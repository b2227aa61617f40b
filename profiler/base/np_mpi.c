#include "np_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "np_children.h"
#include "np_elf.h"

#define MAX_MAPS 8192 /* lines of a process's that are looked at */
#define VERSION_TEXT 32

static bool is_made_of(const char *text, size_t len, const char *letters)
{
	return len && strspn(text, letters) == len;
}

/* As libtool has the versions of interfaces: "16:1:4". */
static bool is_interface(const char *text)
{
	const char *colon = strchr(text, ':');

	return is_made_of(text, strlen(text), "0123456789:") && colon &&
	       strchr(colon + 1, ':');
}

/*
 * Three texts in a row: its interface, a date and its version, as MPICH has
 * them; since 4.2 without names that others can see.
 */
static bool look_for_mpich(const char *data, size_t len, void *version)
{
	const char *interface = "", *date = "";

	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *text = data + at;

		n = strnlen(text, len - at);
		if (!n)
			continue;
		if (n <= VERSION_TEXT && at + n < len && is_interface(interface) &&
		    is_made_of(text, n, "0123456789.abcr")) {
			memcpy(version, text, n + 1);
			return true;
		}
		interface = date;
		date = text;
	}
	return false;
}

bool np_mpi_of_library(const char *path, char buf[NP_MPI_TEXT])
{
	static const struct {
		const char *name, *symbol;
	} known[] = {
		{ "Open MPI", "ompi_version_string" },
		{ "MPICH", "MPII_Version_string" },
	};
	char version[VERSION_TEXT + 1] = "";
	const char *name = "MPICH";
	size_t i = 0;

	while (i < NP_ARRAY_SIZE(known) &&
	       np_elf_symbol(path, known[i].symbol, version, VERSION_TEXT,
			     NULL) < 0)
		i++;
	if (i < NP_ARRAY_SIZE(known))
		name = known[i].name;
	else
		np_elf_constants(path, look_for_mpich, version, NULL);
	for (const char *c = version; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	if (!*version)
		return false;
	snprintf(buf, NP_MPI_TEXT, "%s %s", name, version);
	return true;
}

/* libmpi.so.40 (of Open MPI 6: libopen_mpi), libmpich.so.12, libmpi_cray.so.12 */
static bool may_be_mpi(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (!strncmp(slash + 1, "libmpi", 6) ||
			 !strncmp(slash + 1, "libopen_mpi", 11)) &&
	       strstr(slash + 1, ".so");
}

/* Paths are those of its own mounts: it may be in a container. */
static bool has_mpi(pid_t pid, void *buf)
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

bool np_mpi_find(pid_t first, char buf[NP_MPI_TEXT])
{
	return np_children_all(first, has_mpi, buf);
}
