/*
 * Which MPI a process has. An MPI is a file of a few symbols here, which a
 * process of the test's maps as the loader does.
 */
#include "t.h"
#include "np_elf.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A shared object that has one symbol: a text, in which '|' ends one of several. */
struct library {
	ElfW(Ehdr) head;
	ElfW(Shdr) section[4]; /* null, symbols, names, data */
	ElfW(Sym) sym[2];
	char names[32], text[64];
};

static struct library library(const char *symbol, const char *text)
{
	const int one = 1;
	struct library l = {
		.head = {
			.e_type = ET_DYN, .e_version = EV_CURRENT,
			.e_ehsize = sizeof(l.head),
			.e_shoff = offsetof(struct library, section),
			.e_shentsize = sizeof(l.section[0]), .e_shnum = 4,
			.e_ident = {
				[EI_VERSION] = EV_CURRENT,
				[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 :
								   ELFCLASS32,
				[EI_DATA] = *(const char *)&one ? ELFDATA2LSB :
								  ELFDATA2MSB,
			},
		},
		.section = {
			[1] = { .sh_type = SHT_DYNSYM, .sh_link = 2,
				.sh_offset = offsetof(struct library, sym),
				.sh_size = sizeof(l.sym),
				.sh_entsize = sizeof(l.sym[0]) },
			[2] = { .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct library, names),
				.sh_size = sizeof(l.names) },
			[3] = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
				.sh_offset = offsetof(struct library, text),
				.sh_size = sizeof(l.text) },
		},
		.sym[1] = { .st_name = 1, .st_shndx = 3,
			    .st_size = strlen(text) + 1 },
	};

	memcpy(l.head.e_ident, ELFMAG, SELFMAG);
	snprintf(l.names + 1, sizeof(l.names) - 1, "%s", symbol);
	snprintf(l.text, sizeof(l.text), "%s", text);
	for (char *c = l.text; *c; c++)
		if (*c == '|')
			*c = '\0';
	return l;
}

/* The path of a file of that name that holds it. */
static const char *make(const char *name, const char *symbol, const char *text)
{
	struct library l = library(symbol, text);

	return t_write(name, &l, sizeof(l));
}

#define OPEN_MPI "ompi_version_string"
#define MPICH "MPII_Version_string"
#define HIDDEN "MPI_Init"
#define LONG "4.1.4-and-more-than-anybody-calls-a-version-of-an-mpi"

static const struct {
	const char *name, *symbol, *text;
	const char *want; /* NULL: none */
} libraries[] = {
	{ "Open MPI", OPEN_MPI, "4.1.4", "Open MPI 4.1.4" },
	{ "a release candidate of Open MPI", OPEN_MPI, "5.0.0rc2",
	  "Open MPI 5.0.0rc2" },
	{ "MPICH", MPICH, "4.0.2", "MPICH 4.0.2" },
	{ "MPICH that hides its names", HIDDEN,
	  "ch4:ucx|16:1:4|Wed Apr 17 15:30:02 CDT 2024|4.2.1|x",
	  "MPICH 4.2.1" },
	{ "a date of the release", HIDDEN, "16:1:4|unreleased|5.0.0a1|x",
	  "MPICH 5.0.0a1" },
	{ "versions of something else", HIDDEN, "16:1|a date|4.2.1|x", NULL },
	{ "a version further on", HIDDEN, "16:1:4|a date|and|4.2.1|x", NULL },
	{ "no version behind a date", HIDDEN, "16:1:4|a date|gcc -O2|x", NULL },
	{ "another library", "version_string", "4.0.2", NULL },
	{ "no version", OPEN_MPI, "", NULL },
	{ "one that is not to reach a terminal", MPICH, "4\033[2J", NULL },
	{ "a sentence", MPICH, "not yet known", NULL },
	{ "one that is too long is cut", OPEN_MPI, LONG,
	  "Open MPI 4.1.4-and-more-than-anybody-call" },
};

T_TEST("a library says which MPI it is")
{
	T_EACH(r, libraries) {
		const char *want = r->want;
		char got[NP_MPI_TEXT] = "";
		bool any = np_mpi_of_file(
			make("libmpi.so.40", r->symbol, r->text), got);

		T_ROW(r->name, any == !!want);
		T_ROW(r->name, !want || !strcmp(got, want));
	}
	T_CHECK(!np_mpi_of_file("/nonexistent/libmpi.so", (char[64]){ 0 }));
}

/* Maps the file, if there is one, says so and waits for its end. */
static void be_program(const char *path, int ready)
{
	int fd = path ? open(path, O_RDONLY) : -1;

	if (path &&
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* As a child that ends with its parent. */
static pid_t make_child(void)
{
	pid_t me = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != me)
			_exit(1);
	}
	return pid;
}

/* A program, or one whose child is it; it runs when this returns. */
static pid_t start(const char *path, bool child)
{
	int ready[2];
	pid_t pid;
	char c;

	T_CHECK(!pipe(ready));
	pid = make_child();
	if (!pid) {
		if (!child || !make_child())
			be_program(path, ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	T_CHECK(pid > 0 && read(ready[0], &c, 1) == 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const struct {
	const char *name, *file, *symbol;
	bool child;
	const char *want; /* NULL: none */
} processes[] = {
	{ "a program has it", "libmpi.so.40", OPEN_MPI, false,
	  "Open MPI 4.0.2" },
	{ "its library is next to that of the interface", "libopen_mpi.so.40",
	  OPEN_MPI, false, "Open MPI 4.0.2" },
	{ "a script has started one", "libmpich.so.12", MPICH, true,
	  "MPICH 4.0.2" },
	{ "a vendor's name of it", "libmpi_cray.so.12", MPICH, false,
	  "MPICH 4.0.2" },
	{ "a part of it that does not say", "libmpi_mpifh.so.40", "mpi_init_",
	  false, NULL },
	{ "a client of PMIx may have an MPI that is linked statically",
	  "libpmix.so.2", "PMIx_Init", false, NULL },
	{ "so may a child's client of PMI", "libpmi2.so.0", "PMI2_Init", true,
	  NULL },
	{ "a library that is called otherwise is none", "libm.so.6", MPICH,
	  false, NP_MPI_NONE },
	{ "nor is our own", "libnetprof-mpi.so", MPICH, true, NP_MPI_NONE },
};

T_TEST("a process has the MPI that it or its child has mapped")
{
	T_EACH(r, processes) {
		const char *want = r->want;
		char got[NP_MPI_TEXT] = "";
		pid_t pid = start(make(r->file, r->symbol, "4.0.2"), r->child);
		bool any = np_mpi_find(pid, np_mpi_of_file, got);

		T_ROW(r->name, any == !!want);
		T_ROW(r->name, !want || !strcmp(got, want));
		end(pid);
	}
}

T_TEST("without an MPI there is none")
{
	char got[NP_MPI_TEXT] = "";
	pid_t pid = start(NULL, true);

	T_ROW("a program without", np_mpi_find(pid, np_mpi_of_file, got) &&
					   !strcmp(got, NP_MPI_NONE));
	end(pid);
	got[0] = '\0';
	T_ROW("of one that has ended nothing is known",
	      !np_mpi_find(pid, np_mpi_of_file, got));
	pid = start(make("libmpi.so.40", OPEN_MPI, "4.1.4"), false);
	unlink(make("libmpi.so.40", OPEN_MPI, "4.1.4"));
	T_ROW("a file that is gone by now",
	      !np_mpi_find(pid, np_mpi_of_file, got));
	end(pid);
	T_CHECK(!*got);
}
