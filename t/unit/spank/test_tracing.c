#include "t.h"
#include "np_tracing.h"

#include <elf.h>

static const struct np_tracing some = {
	.library = "/usr/lib/x.so",
	.dir = "/store/users",
	.bytes = 4096,
	.keep = 4,
	.app = "lammps",
};

T_TEST("what srun says arrives")
{
	struct np_tracing got, odd = some;
	char text[NP_TRACING_TEXT];

	T_CHECK(!np_tracing_put(&some, text, NULL));
	T_CHECK(!np_tracing_get(text, &got));
	T_CHECK(!strcmp(got.library, some.library) &&
		!strcmp(got.dir, some.dir) && got.bytes == 4096 &&
		got.keep == 4 && !strcmp(got.app, "lammps"));
	odd.app[0] = '\0';
	T_CHECK(!np_tracing_put(&odd, text, NULL));
	T_CHECK(!np_tracing_get(text, &got) && !got.app[0]);
	strcpy(odd.dir, "/a\nb");
	T_CHECK(np_tracing_put(&odd, text, NULL) < 0);
}

static const struct {
	const char *name, *text;
} damaged[] = {
	{ "nothing", "" },
	{ "a line too few", "/x.so\n/d\n1\n0" },
	{ "a line too many", "/x.so\n/d\n1\n0\na\nb" },
	{ "no path of a library", "x.so\n/d\n1\n0\na" },
	{ "no directory", "/x.so\n\n1\n0\na" },
	{ "no number", "/x.so\n/d\nmany\n0\na" },
	{ "a number too large", "/x.so\n/d\n1\n99999999999\na" },
	{ "a name that leaves the directory", "/x.so\n/d\n1\n0\n../x" },
};

T_TEST("what is damaged is refused")
{
	struct np_tracing t;

	T_EACH(r, damaged)
		T_ROW(r->name, np_tracing_get(r->text, &t) < 0);
}

T_TEST("a trace lies below the user and the application")
{
	struct np_tracing bare = some;
	char buf[128];

	np_tracing_subdir(&some, 1000, "other", 7, 2, buf, sizeof(buf));
	T_CHECK(!strcmp(buf, "1000/lammps/7.2.trace"));
	bare.app[0] = '\0';
	np_tracing_subdir(&bare, 1000, "other", 7, 2, buf, sizeof(buf));
	T_CHECK(!strcmp(buf, "1000/other/7.2.trace"));
}

static const struct {
	const char *name, *before, *after;
} preloads[] = {
	{ "nothing", NULL, "/usr/lib/x.so" },
	{ "an empty value", "", "/usr/lib/x.so" },
	{ "tools", "/my.so:/b.so", "/my.so:/b.so:/usr/lib/x.so" },
	{ "a blank at the end", "/my.so ", "/my.so /usr/lib/x.so" },
	{ "an MPI library", "/d/libmpi.so.40",
	  "/usr/lib/x.so:/d/libmpi.so.40" },
	{ "a tool, an MPI library and another",
	  "/libmpiP.so /libmpich.so:/b.so",
	  "/libmpiP.so /usr/lib/x.so:/libmpich.so:/b.so" },
};

T_TEST("what was preloaded still is")
{
	char buf[64];

	T_EACH(r, preloads)
		T_ROW(r->name,
		      !np_tracing_preload(&some, r->before, buf, sizeof(buf)) &&
			      !strcmp(buf, r->after));
	T_CHECK(np_tracing_preload(&some, "/a/path/that/is/too/long.so", buf,
				   40) < 0);
}

#define LOADER "/lib64/ld-linux-x86-64.so.2"

static const struct {
	const char *name, *interpreter; /* NULL: none */
	unsigned char class;
	uint16_t machine; /* 0: that of the processor */
	const char *why;
} programs[] = {
	{ "glibc", LOADER, ELFCLASS64, 0, NULL },
	{ "glibc of Guix", "/gnu/store/x-glibc-2.35" LOADER, ELFCLASS64, 0,
	  NULL },
	{ "musl", "/lib/ld-musl-x86_64.so.1", ELFCLASS64, 0,
	  "is linked with a C library other than glibc" },
	{ "static", NULL, ELFCLASS64, 0, "is not dynamically linked" },
	{ "32 bits", "/lib/ld-linux.so.2", ELFCLASS32, EM_386,
	  "is built for another processor" },
	{ "x32", "/libx32/ld-linux-x32.so.2", ELFCLASS32, 0,
	  "is built for another processor" },
	{ "POWER", "/lib64/ld64.so.2", ELFCLASS64, EM_PPC64,
	  "is built for another processor" },
};

/* Returns the machine of this program. */
static uint16_t own_machine(void)
{
	FILE *self = fopen("/proc/self/exe", "r");
	Elf64_Ehdr header = { .e_machine = EM_NONE };

	T_CHECK(self && fread(&header, sizeof(header), 1, self) == 1);
	if (self)
		fclose(self);
	return header.e_machine;
}

static void write_program(const char *path, size_t row)
{
	const char *interpreter = programs[row].interpreter;
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr program_header;
		char text[64];
	} file = {
		.header = { .e_ident = ELFMAG,
			    .e_phoff = sizeof(file.header),
			    .e_phentsize = sizeof(file.program_header),
			    .e_phnum = 1 },
		.program_header = { .p_type = interpreter ? PT_INTERP : PT_LOAD,
				    .p_offset =
					    offsetof(__typeof__(file), text),
				    .p_filesz = sizeof(file.text) },
	};
	FILE *out = fopen(path, "w");

	file.header.e_ident[EI_CLASS] = programs[row].class;
	file.header.e_machine = programs[row].machine ? programs[row].machine :
							own_machine();
	strcpy(file.text, interpreter ? interpreter : "");
	T_CHECK(out && fwrite(&file, sizeof(file), 1, out) == 1 &&
		!fclose(out));
}

T_TEST("programs whose loader cannot take the library are not traced")
{
	const char *path = t_path("program");

	for (size_t i = 0; i < NP_ARRAY_SIZE(programs); i++) {
		const char *why;

		write_program(path, i);
		why = np_tracing_obstacle(path, NULL);
		T_ROW(programs[i].name,
		      why == programs[i].why ||
			      (why && programs[i].why &&
			       !strcmp(why, programs[i].why)));
	}
	T_ROW("this program", !np_tracing_obstacle("/proc/self/exe", NULL));
}
