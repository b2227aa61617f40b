#include "np_program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_err.h"

#define MAX_HEADERS 64 /* of a program, that are looked at */

/* Of what they start the files are others: the library may not be there. */
static const char *const runtimes[] = {
	"apptainer", "singularity", "podman", "docker", "nerdctl", "enroot",
	"shifter", "ch-run", "sarus", "bwrap", "runc", "crun", "chroot",
	"proot",
};

static bool is_runtime(const char *program)
{
	const char *slash = strrchr(program, '/');

	for (size_t i = 0; i < NP_ARRAY_SIZE(runtimes); i++)
		if (!strcmp(slash ? slash + 1 : program, runtimes[i]))
			return true;
	return false;
}

/* A program, as the shell finds it; -1: none is there. */
static int open_program(const char *program, const char *path)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char try[PATH_MAX];

	if (strchr(program, '/'))
		return open(program, flags);
	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (len && snprintf(try, sizeof(try), "%.*s/%s", (int)len, path,
				    program) < (int)sizeof(try) &&
		    !access(try, X_OK))
			return open(try, flags);
		path += len + (path[len] == ':');
	}
	return -1;
}

/* No loader is asked for, as static programs, position-independent or not. */
static bool is_static(int fd)
{
	Elf64_Phdr part[MAX_HEADERS];
	Elf64_Ehdr head;
	ssize_t want;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(*part) || !head.e_phnum ||
	    head.e_phnum > MAX_HEADERS || head.e_phoff > INT_MAX)
		return false;
	want = (ssize_t)(head.e_phnum * sizeof(*part));
	if (pread(fd, part, (size_t)want, (off_t)head.e_phoff) != want)
		return false;
	for (int i = 0; i < head.e_phnum; i++)
		if (part[i].p_type == PT_INTERP)
			return false;
	return true;
}

const char *np_program_refuses(const char *program, const char *path)
{
	bool refuses;
	struct stat st;
	int fd;

	if (is_runtime(program))
		return "starts a container, where the library may not be";
	fd = open_program(program, path);
	if (fd < 0)
		return NULL;
	refuses = !fstat(fd, &st) && S_ISREG(st.st_mode) && is_static(fd);
	close(fd);
	return refuses ? "is not dynamically linked" : NULL;
}
