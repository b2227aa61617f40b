/* What shared objects say of themselves. */
#include "t.h"
#include "np_elf.h"

#include <link.h>

/* A shared object as small as it can be. */
struct object {
	ElfW(Ehdr) head;
	ElfW(Shdr) section[4]; /* null, symbols, names, data */
	ElfW(Sym) sym[3];
	char names[32];
	uint32_t version;
	char type[20];
};

static struct object some_object(void)
{
	const int one = 1;
	struct object o = {
		.head = {
			.e_type = ET_DYN, .e_version = EV_CURRENT,
			.e_ehsize = sizeof(o.head), .e_shoff = offsetof(struct object,
							      section),
			.e_shentsize = sizeof(o.section[0]), .e_shnum = 4,
		},
		.names = "\0plugin_version\0plugin_type",
		.version = 0x160508, .type = "job_submit/netprof",
	};

	memcpy(o.head.e_ident, ELFMAG, SELFMAG);
	o.head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 :
							 ELFCLASS32;
	o.head.e_ident[EI_VERSION] = EV_CURRENT;
	o.head.e_ident[EI_DATA] = *(const char *)&one ? ELFDATA2LSB :
							ELFDATA2MSB;
	o.section[1] = (ElfW(Shdr)){
		.sh_type = SHT_DYNSYM,
		.sh_offset = offsetof(struct object, sym),
		.sh_size = sizeof(o.sym),
		.sh_entsize = sizeof(o.sym[0]),
		.sh_link = 2,
	};
	o.section[2] = (ElfW(Shdr)){
		.sh_type = SHT_STRTAB,
		.sh_size = sizeof(o.names),
		.sh_offset = offsetof(struct object, names),
	};
	o.section[3] = (ElfW(Shdr)){
		.sh_type = SHT_PROGBITS,
		.sh_addr = 0x1000,
		.sh_offset = offsetof(struct object, version),
		.sh_size = 24,
	};
	o.sym[1] = (ElfW(Sym)){
		.st_name = 1, .st_shndx = 3, .st_value = 0x1000, .st_size = 4
	};
	o.sym[2] = (ElfW(Sym)){
		.st_name = 16, .st_shndx = 3, .st_value = 0x1004, .st_size = 20
	};
	return o;
}

T_TEST("a plugin says its version")
{
	struct object o = some_object();
	const char *path = t_write("object.so", &o, sizeof(o));
	struct np_err err = NP_ERR_INIT;
	char type[64] = "";
	uint32_t v = 0;

	T_CHECK(np_elf_symbol(path, "plugin_version", &v, sizeof(v), &err) ==
		4);
	T_CHECK(v == 0x160508);
	T_CHECK(np_elf_symbol(path, "plugin_type", type, sizeof(type), &err) ==
		20);
	T_CHECK(!strcmp(type, "job_submit/netprof"));
	T_CHECK(np_elf_symbol(path, "plugin_name", &v, sizeof(v), &err) ==
		-ENODATA);
	T_CHECK(strstr(err.text, "has no symbol plugin_name"));
	T_CHECK(np_elf_symbol("/nonexistent", "x", &v, sizeof(v), &err) ==
		-ENOENT);
	T_CHECK(np_elf_symbol("/dev/null", "x", &v, sizeof(v), &err) ==
		-EINVAL);
	T_CHECK(np_elf_symbol("/etc/passwd", "x", &v, sizeof(v), &err) ==
		-EINVAL);
}

struct looked {
	size_t sections, bytes;
};

static bool look_at_all(const char *data, size_t len, void *arg)
{
	struct looked *l = arg;

	l->sections++;
	for (size_t i = 0; i < len; i++)
		l->bytes += data[i] != 0;
	return false;
}

static bool look_once(const char *data, size_t len, void *arg)
{
	look_at_all(data, len, arg);
	return true;
}

T_TEST("sections of constants are looked at, until one is enough")
{
	struct object o = some_object();
	struct looked l = { 0, 0 };
	const char *path = t_write("object.so", &o, sizeof(o));

	T_CHECK(np_elf_constants(path, look_once, &l) == -ENODATA);
	T_CHECK(!l.sections);
	o.section[3].sh_flags = SHF_ALLOC;
	path = t_write("object.so", &o, sizeof(o));
	T_CHECK(!np_elf_constants(path, look_once, &l));
	T_CHECK(l.sections == 1 && l.bytes == strlen(o.type) + 3);
	T_CHECK(np_elf_constants(path, look_at_all, &l) == -ENODATA);
	o.section[3].sh_flags = SHF_ALLOC | SHF_WRITE;
	path = t_write("object.so", &o, sizeof(o));
	T_CHECK(np_elf_constants(path, look_once, &l) == -ENODATA);
	T_CHECK(np_elf_constants("/nonexistent", look_once, &l) == -ENOENT);
}

/* The loader itself is a shared object of this machine. */
T_TEST("real objects are read")
{
	struct np_err err = NP_ERR_INIT;
	uint64_t v;

	T_CHECK(np_elf_symbol("/proc/self/exe", "no_such_symbol", &v, sizeof(v),
			      &err) < 0);
	T_CHECK(err.text[0]);
}

/* No byte of it makes the reader go beyond; a sanitizer would report it. */
T_TEST("damaged objects are reported")
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct object good = some_object();
	const char *path = t_write("object.so", &good, sizeof(good));
	struct looked l = { 0, 0 };
	size_t named = 0, n = 0;

	for (size_t at = 0; at < sizeof(good); at++)
		for (size_t i = 0; i < NP_ARRAY_SIZE(values); i++) {
			struct object o = good;
			struct np_err err = NP_ERR_INIT;
			unsigned char buf[20];
			long rc;

			((unsigned char *)&o)[at] = values[i];
			o.section[3].sh_flags |= SHF_ALLOC;
			t_write("object.so", &o, sizeof(o));
			np_elf_constants(path, look_at_all, &l);
			rc = np_elf_symbol(path, "plugin_type", buf,
					   sizeof(buf), &err);
			n++;
			named += (rc < 0) == !!err.text[0] &&
				 rc <= (long)sizeof(buf);
		}
	T_CHECK(named == n);
	for (size_t len = 0; len < offsetof(struct object, type); len += 7) {
		uint32_t v;
		char type[20];

		T_CHECK(np_elf_symbol(t_write("object.so", &good, len),
				      "plugin_type", type, sizeof(type),
				      NULL) < 0);
		T_CHECK(len > offsetof(struct object, version) ||
			np_elf_symbol(t_write("object.so", &good, len),
				      "plugin_version", &v, 4, NULL) < 0);
	}
}
