#include "np_elf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>

#include "np_children.h"
#include "np_read.h"

/* ---- shared objects ---- */

struct elf {
	const char *path;
	struct np_err *err;
	Elf *elf;
};

static int bad_file(const struct elf *e, const char *what)
{
	return np_errf(e->err, -EINVAL, "%s: %s", e->path, what);
}

static int check_header(const struct elf *e)
{
	static const int one = 1;
	bool little = *(const char *)&one;
	GElf_Ehdr head;

	if (elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &head) ||
	    head.e_type != ET_DYN)
		return bad_file(e, "not a shared object");
	if (gelf_getclass(e->elf) != (sizeof(void *) == 8 ? ELFCLASS64 :
							    ELFCLASS32) ||
	    head.e_ident[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB))
		return bad_file(e, "a shared object for another machine");
	return 0;
}

/* Returns 0, -EINVAL or -ENODATA. */
static int find_symbol(const struct elf *e, const char *name, GElf_Sym *out)
{
	Elf_Scn *s = NULL;
	Elf_Data *d = NULL;
	GElf_Shdr head;

	while (!d && (s = elf_nextscn(e->elf, s)))
		if (gelf_getshdr(s, &head) && head.sh_type == SHT_DYNSYM)
			d = elf_getdata(s, NULL);
	if (!d)
		return -EINVAL;
	for (int i = 0; gelf_getsym(d, i, out); i++) {
		const char *its = elf_strptr(e->elf, head.sh_link,
					     out->st_name);

		if (its && !strcmp(its, name))
			return 0;
	}
	return -ENODATA;
}

static long read_value(const struct elf *e, const GElf_Sym *sym, void *buf,
		       size_t max)
{
	Elf_Scn *s = elf_getscn(e->elf, sym->st_shndx);
	size_t len = sym->st_size < max ? sym->st_size : max;
	GElf_Shdr head;
	Elf_Data *d;

	if (!s || !gelf_getshdr(s, &head) || head.sh_type != SHT_PROGBITS ||
	    sym->st_value < head.sh_addr || !len)
		return -ENODATA;
	d = elf_rawdata(s, NULL);
	if (!d || !d->d_buf || sym->st_value - head.sh_addr > d->d_size ||
	    d->d_size - (sym->st_value - head.sh_addr) < len)
		return -ENODATA;
	memcpy(buf, (char *)d->d_buf + (sym->st_value - head.sh_addr), len);
	return (long)len;
}

static long read_symbol(const struct elf *e, const char *name, void *buf,
			size_t max)
{
	GElf_Sym sym;
	long rc = find_symbol(e, name, &sym);

	if (!rc)
		rc = read_value(e, &sym, buf, max);
	if (rc == -EINVAL)
		return bad_file(e, "damaged symbol table");
	if (rc < 0)
		return np_errf(e->err, (int)rc, "%s: has no symbol %s", e->path,
			       name);
	return rc;
}

static void close_elf(struct elf *e, int fd)
{
	elf_end(e->elf);
	close(fd);
}

/* Returns the descriptor, to be closed by close_elf(), or -errno. */
static int open_elf(struct elf *e)
{
	struct stat st;
	int fd = np_read_open(e->path, 0, &st), rc;

	if (fd == -EINVAL)
		return bad_file(e, "expected a regular file");
	if (fd < 0)
		return np_errf(e->err, fd, "%s: %s", e->path, strerror(-fd));
	elf_version(EV_CURRENT);
	/*
	 * Not mapped into memory: if the file shrank, this process would crash.
	 */
	e->elf = elf_begin(fd, ELF_C_READ, NULL);
	rc = check_header(e);
	if (rc)
		close_elf(e, fd);
	return rc ? rc : fd;
}

long np_elf_symbol(const char *path, const char *name, void *buf, size_t max,
		   struct np_err *err)
{
	struct elf e = { .path = path, .err = err };
	int fd = open_elf(&e);
	long rc = fd;

	if (fd >= 0) {
		rc = read_symbol(&e, name, buf, max);
		close_elf(&e, fd);
	}
	return rc;
}

static bool is_constants(const GElf_Shdr *h)
{
	return h->sh_type == SHT_PROGBITS &&
	       h->sh_size <= NP_ELF_CONSTANTS_MAX &&
	       (h->sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) ==
			SHF_ALLOC;
}

int np_elf_constants(const char *path,
		     bool (*each)(const char *data, size_t len, void *arg),
		     void *arg, struct np_err *err)
{
	struct elf e = { .path = path, .err = err };
	int fd = open_elf(&e);
	Elf_Scn *s = NULL;
	bool found = false;
	GElf_Shdr head;
	Elf_Data *d;

	if (fd < 0)
		return fd;
	while (!found && (s = elf_nextscn(e.elf, s)))
		found = gelf_getshdr(s, &head) && is_constants(&head) &&
			(d = elf_rawdata(s, NULL)) && d->d_buf &&
			each(d->d_buf, d->d_size, arg);
	close_elf(&e, fd);
	return found ? 0 : np_errf(err, -ENODATA, "%s: has no such "
				   "constants", path);
}

/* ---- the MPI library of a process ---- */

#define MAX_MAPS 8192 /* lines of a process that are read */
#define VERSION_TEXT 32

static bool is_made_of(const char *text, size_t len, const char *letters)
{
	return len && strspn(text, letters) == len;
}

/* The version of an interface as libtool writes it: "16:1:4". */
static bool is_interface(const char *text)
{
	const char *colon = strchr(text, ':');

	return is_made_of(text, strlen(text), "0123456789:") && colon &&
	       strchr(colon + 1, ':');
}

/*
 * MPICH has three strings in a row: the version of its interface, a date, and
 * its version. Since 4.2 they have no visible symbols.
 */
static bool find_mpich_version(const char *data, size_t len, void *version)
{
	const char *interface = "", *date = "";

	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *text = data + at;

		n = strnlen(text, len - at);
		if (!n)
			continue;
		if (n <= VERSION_TEXT && at + n < len &&
		    is_interface(interface) &&
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
		np_elf_constants(path, find_mpich_version, version, NULL);
	for (const char *c = version; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	if (!*version)
		return false;
	snprintf(buf, NP_MPI_TEXT, "%s %s", name, version);
	return true;
}

/*
 * libmpi.so.40 (libopen_mpi in Open MPI 6), libmpich.so.12, libmpi_cray.so.12
 */
static bool may_be_mpi(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (!strncmp(slash + 1, "libmpi", 6) ||
			 !strncmp(slash + 1, "libopen_mpi", 11)) &&
	       strstr(slash + 1, ".so");
}

struct mpi_search {
	np_mpi_ask_f *ask;
	char *buf;
};

/* Paths are those of the process's own mounts, as it may run in a container. */
static bool process_has_mpi(pid_t pid, void *arg)
{
	const struct mpi_search *s = arg;
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
		found = s->ask(path, s->buf);
	}
	if (f)
		fclose(f);
	return found;
}

bool np_mpi_find(pid_t first, np_mpi_ask_f *ask, char buf[NP_MPI_TEXT])
{
	struct mpi_search s = { ask, buf };

	return np_children_all(first, process_has_mpi, &s);
}
