#include "cli_slurm.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ElfW(Ehdr) ehdr_t;
typedef ElfW(Shdr) shdr_t;
typedef ElfW(Sym) sym_t;

#define MAX_SECTIONS 4096
#define MAX_TABLE (16u << 20) /* bytes of symbols, and of their names */

struct elf {
	const char *path;
	int fd;
	struct np_err *err;
	ehdr_t head;
	shdr_t *section;
	size_t n;
};

static int bad(const struct elf *e, const char *what)
{
	return np_errf(e->err, -EINVAL, "%s: %s", e->path, what);
}

static bool get(const struct elf *e, void *buf, size_t len, uint64_t at)
{
	return at <= INT64_MAX - len &&
	       pread(e->fd, buf, len, (off_t)at) == (ssize_t)len;
}

static int read_head(struct elf *e)
{
	const unsigned char *id = e->head.e_ident;
	const int one = 1;
	bool little = *(const char *)&one;

	if (!get(e, &e->head, sizeof(e->head), 0) ||
	    memcmp(id, ELFMAG, SELFMAG) || e->head.e_type != ET_DYN)
		return bad(e, "no shared object");
	if (id[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    id[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB))
		return bad(e, "a shared object of another machine");
	if (e->head.e_shentsize != sizeof(shdr_t) || !e->head.e_shnum ||
	    e->head.e_shnum > MAX_SECTIONS)
		return bad(e, "damaged, or without sections");
	return 0;
}

static int read_sections(struct elf *e)
{
	e->n = e->head.e_shnum;
	e->section = calloc(e->n, sizeof(*e->section));
	if (!e->section)
		return np_errf(e->err, -ENOMEM, "%s: out of memory", e->path);
	return get(e, e->section, e->n * sizeof(*e->section),
		   e->head.e_shoff) ? 0 : bad(e, "damaged: its sections");
}

/* A section as it stands in the file, with a NUL behind it. */
static void *read_table(const struct elf *e, const shdr_t *s)
{
	char *table;

	if (s->sh_type == SHT_NOBITS || s->sh_size > MAX_TABLE)
		return NULL;
	table = calloc(1, s->sh_size + 1);
	if (table && !get(e, table, s->sh_size, s->sh_offset)) {
		free(table);
		table = NULL;
	}
	return table;
}

/* Returns 0, -EINVAL or -ENODATA. */
static int find(const struct elf *e, const char *name, sym_t *out)
{
	const shdr_t *syms = NULL, *strs;
	char *names;
	sym_t *sym;
	size_t n;
	int rc = -ENODATA;

	for (size_t i = 0; !syms && i < e->n; i++)
		if (e->section[i].sh_type == SHT_DYNSYM)
			syms = &e->section[i];
	if (!syms || syms->sh_entsize != sizeof(*sym) || syms->sh_link >= e->n)
		return -EINVAL;
	strs = &e->section[syms->sh_link];
	sym = read_table(e, syms);
	names = read_table(e, strs);
	n = syms->sh_size / sizeof(*sym);
	if (!sym || !names)
		rc = -EINVAL;
	for (size_t i = 0; rc == -ENODATA && i < n; i++)
		if (sym[i].st_name < strs->sh_size &&
		    !strcmp(names + sym[i].st_name, name)) {
			*out = sym[i];
			rc = 0;
		}
	free(names);
	free(sym);
	return rc;
}

static long read_value(const struct elf *e, const sym_t *sym, void *buf,
		       size_t max)
{
	const shdr_t *s;
	size_t len = sym->st_size < max ? sym->st_size : max;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= e->n)
		return -ENODATA;
	s = &e->section[sym->st_shndx];
	if (s->sh_type != SHT_PROGBITS || sym->st_value < s->sh_addr ||
	    sym->st_value - s->sh_addr > s->sh_size ||
	    s->sh_size - (sym->st_value - s->sh_addr) < len || !len)
		return -ENODATA;
	return get(e, buf, len, s->sh_offset + (sym->st_value - s->sh_addr)) ?
	       (long)len : -EINVAL;
}

static long read_symbol(struct elf *e, const char *name, void *buf, size_t max)
{
	sym_t sym;
	long rc = read_head(e);

	if (!rc)
		rc = read_sections(e);
	if (rc)
		return rc;
	rc = find(e, name, &sym);
	if (!rc)
		rc = read_value(e, &sym, buf, max);
	if (rc == -EINVAL)
		return bad(e, "damaged: its symbols");
	if (rc < 0)
		return np_errf(e->err, (int)rc, "%s: it has no %s", e->path,
			       name);
	return rc;
}

long cli_elf_symbol(const char *path, const char *name, void *buf, size_t max,
		    struct np_err *err)
{
	struct elf e = { .path = path, .err = err };
	struct stat st;
	long rc;

	/* O_NONBLOCK: a FIFO must not hang. */
	e.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e.fd < 0 || fstat(e.fd, &st)) {
		rc = np_errf(err, -errno, "%s: %s", path, strerror(errno));
		if (e.fd >= 0)
			close(e.fd);
		return rc;
	}
	rc = S_ISREG(st.st_mode) ? read_symbol(&e, name, buf, max) :
				   bad(&e, "expected a regular file");
	free(e.section);
	close(e.fd);
	return rc;
}
