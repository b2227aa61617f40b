#include "np_elf.h"

#include <errno.h>
#include <fcntl.h>
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
	if (gelf_getclass(e->elf) !=
		    (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
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
		const char *its =
			elf_strptr(e->elf, head.sh_link, out->st_name);

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
		     void *arg)
{
	struct elf e = { .path = path };
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
	return found ? 0 : -ENODATA;
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

static bool mpi_of_library(const char *path, char buf[NP_MPI_TEXT])
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
		np_elf_constants(path, find_mpich_version, version);
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
static bool may_be_mpi(const char *name)
{
	return (!strncmp(name, "libmpi", 6) ||
		!strncmp(name, "libopen_mpi", 11)) &&
	       strstr(name, ".so");
}

/* A client of a process manager: libpmix.so.2, libpmi.so.0, libpmi2.so.0 */
static bool is_pmi(const char *name)
{
	return !strncmp(name, "libpmi", 6) && strstr(name, ".so");
}

/* These have a daemon start the program, which is then no descendant. */
static bool starts_elsewhere(const char *name)
{
	static const char *const known[] = { "podman", "docker", "nerdctl" };

	for (size_t i = 0; i < NP_ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

/* Does a symbol table, of whichever kind, have the start of an MPI program? */
static bool has_mpi_symbol(Elf *elf, Elf_Scn *s)
{
	Elf_Data *d = elf_getdata(s, NULL);
	GElf_Shdr head;
	GElf_Sym sym;

	for (int i = 0; d && gelf_getshdr(s, &head) && gelf_getsym(d, i, &sym);
	     i++) {
		const char *name = elf_strptr(elf, head.sh_link, sym.st_name);

		if (name &&
		    (!strcmp(name, "MPI_Init") || !strcmp(name, "PMPI_Init")))
			return true;
	}
	return false;
}

/*
 * Whether the mapped libraries of a program show which MPI it uses. They do not
 * if the program is linked statically, entirely or with its MPI.
 */
static bool is_shown_by_libraries(Elf *elf)
{
	bool interpreter = false;
	Elf_Scn *s = NULL;
	GElf_Phdr part;
	GElf_Shdr head;

	for (int i = 0; gelf_getphdr(elf, i, &part); i++)
		interpreter = interpreter || part.p_type == PT_INTERP;
	while (interpreter && (s = elf_nextscn(elf, s)))
		if (gelf_getshdr(s, &head) &&
		    (head.sh_type == SHT_SYMTAB ||
		     head.sh_type == SHT_DYNSYM) &&
		    has_mpi_symbol(elf, s))
			return false;
	return interpreter;
}

static bool no_mpi_of_program(const char *path, char buf[NP_MPI_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf) {
		found = elf_kind(elf) == ELF_K_ELF &&
			is_shown_by_libraries(elf);
		elf_end(elf);
	}
	if (fd >= 0)
		close(fd);
	if (found)
		strcpy(buf, NP_MPI_NONE);
	return found;
}

bool np_mpi_of_file(const char *path, char buf[NP_MPI_TEXT])
{
	return strcmp(basename(path), "exe") ? mpi_of_library(path, buf) :
					       no_mpi_of_program(path, buf);
}

struct look {
	np_mpi_identify_f *identify;
	char *version;
	int n;		/* processes that were seen */
	bool uncertain; /* one of them may have an MPI that is not known */
};

/* Paths are those of the process's own mounts, as it may run in a container. */
static bool look_at_file(struct look *l, pid_t pid, const char *file)
{
	char path[PATH_MAX + 32];

	if (is_pmi(basename(file)))
		l->uncertain = true;
	if (!may_be_mpi(basename(file)))
		return false;
	l->uncertain = true; /* unless its version is found */
	snprintf(path, sizeof(path), "/proc/%ld/root%s", (long)pid, file);
	return l->identify(path, l->version);
}

static bool is_dynamic_program(struct look *l, pid_t pid)
{
	char path[64], exe[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	if (len <= 0)
		return false;
	exe[len] = '\0';
	return !starts_elsewhere(basename(exe)) &&
	       l->identify(path, l->version);
}

static bool look_at_process(pid_t pid, void *arg)
{
	char path[64], line[PATH_MAX + 128], last[PATH_MAX] = "";
	struct look *l = arg;
	bool found = false;
	int i = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	f = fopen(path, "re");
	for (; f && !found && i < MAX_MAPS && fgets(line, sizeof(line), f);
	     i++) {
		char *file = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!file || !strcmp(file, last))
			continue;
		snprintf(last, sizeof(last), "%s", file);
		found = look_at_file(l, pid, file);
	}
	if (f)
		fclose(f);
	l->n++;
	l->uncertain = l->uncertain || !i || i == MAX_MAPS ||
		       (!found && !is_dynamic_program(l, pid));
	return found;
}

bool np_mpi_find(pid_t first, np_mpi_identify_f *identify,
		 char buf[NP_MPI_TEXT])
{
	struct look l = { .identify = identify, .version = buf };
	char path[64];

	if (np_children_all(first, look_at_process, &l))
		return true;
	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)first,
		 (long)first);
	if (l.uncertain || l.n == NP_CHILDREN_MOST || access(path, R_OK))
		return false;
	strcpy(buf, NP_MPI_NONE);
	return true;
}
