#include "np_elf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>

#include "np_read.h"

struct elf {
	const char *path;
	struct np_err *err;
	Elf *elf;
};

static int bad(const struct elf *e, const char *what)
{
	return np_errf(e->err, -EINVAL, "%s: %s", e->path, what);
}

static int check_head(const struct elf *e)
{
	static const int one = 1;
	bool little = *(const char *)&one;
	GElf_Ehdr head;

	if (elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &head) ||
	    head.e_type != ET_DYN)
		return bad(e, "no shared object");
	if (gelf_getclass(e->elf) != (sizeof(void *) == 8 ? ELFCLASS64 :
							    ELFCLASS32) ||
	    head.e_ident[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB))
		return bad(e, "a shared object of another machine");
	return 0;
}

/* Returns 0, -EINVAL or -ENODATA. */
static int find(const struct elf *e, const char *name, GElf_Sym *out)
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
	long rc = find(e, name, &sym);

	if (!rc)
		rc = read_value(e, &sym, buf, max);
	if (rc == -EINVAL)
		return bad(e, "damaged: its symbols");
	if (rc < 0)
		return np_errf(e->err, (int)rc, "%s: it has no %s", e->path,
			       name);
	return rc;
}

static void close_elf(struct elf *e, int fd)
{
	elf_end(e->elf);
	close(fd);
}

/* Its descriptor, to be closed by close_elf(), or -errno. */
static int open_elf(struct elf *e)
{
	struct stat st;
	int fd = np_read_open(e->path, 0, &st), rc;

	if (fd == -EINVAL)
		return bad(e, "expected a regular file");
	if (fd < 0)
		return np_errf(e->err, fd, "%s: %s", e->path, strerror(-fd));
	elf_version(EV_CURRENT);
	/* Not mapped: a file that shrinks meanwhile would end us. */
	e->elf = elf_begin(fd, ELF_C_READ, NULL);
	rc = check_head(e);
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
		     bool (*look)(const char *data, size_t len, void *arg),
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
			look(d->d_buf, d->d_size, arg);
	close_elf(&e, fd);
	return found ? 0 : np_errf(err, -ENODATA, "%s: it has no such "
				   "constants", path);
}
