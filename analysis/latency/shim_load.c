/*
 * libnetprof-mpi.so. When preloaded, it replaces the calls listed in
 * shim_calls.h under both their MPI_ and PMPI_ names, because Fortran bindings
 * use either. It depends on no MPI and does not touch arguments: each call
 * jumps to the address in its slot. That is the wrapper for the program's MPI,
 * which is looked up when the program starts or makes its first call, or the
 * MPI itself if there is no wrapper. Programs without MPI are unaffected. Programs
 * that start containers do not pass the library on.
 */
#include "old_glibc.h"
#include "shim_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FROM_LIBDL(dladdr);
FROM_LIBDL(dlclose);
FROM_LIBDL(dlopen);
FROM_LIBDL(dlsym);

/* All of them; an MPI may lack some. */
#define ALL_BUT_INIT(X) \
	SHIM_COUNTED(X) \
	SHIM_REST(X) SHIM_COUNTED_4(X) SHIM_PLAIN_4(X) SHIM_LARGE(X)

#if defined(__x86_64__)
#define JUMP(name) "endbr64\n\tjmp *np_slot_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name) \
	"hint 34\n\tadrp x16, np_slot_" #name "\n" \
	"\tldr x16, [x16, :lo12:np_slot_" #name "]\n\tbr x16\n"
#else
#error "libnetprof-mpi: this processor is not known here"
#endif

#define SLOT(name, value) \
	extern void *np_slot_##name; \
	__attribute__((visibility("hidden"))) void *np_slot_##name = value;
#define INIT_SLOT(name) SLOT(name, NULL)
SHIM_INIT(INIT_SLOT)

/* MPI_ERR_OTHER is 15 or 16, depending on the MPI. */
#define NO_MPI 16

static void resolve(void);

/*
 * In each slot until the MPI has been looked up: a program that loads an MPI
 * library later may start it without MPI_Init(), by MPI_Session_init(). Twelve
 * words cover the arguments of each call; surplus ones are passed on unread.
 */
typedef int call_f(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
		   intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

#define FIRST_CALL(name) \
	static call_f first_##name; \
	SLOT(name, (void *)first_##name) \
	static int first_##name(intptr_t a, intptr_t b, intptr_t c, \
				intptr_t d, intptr_t e, intptr_t f, \
				intptr_t g, intptr_t h, intptr_t i, \
				intptr_t j, intptr_t k, intptr_t l) \
	{ \
		resolve(); \
		return np_slot_##name == (void *)first_##name ? \
			       NO_MPI : \
			       ((call_f *)np_slot_##name)(a, b, c, d, e, f, g, \
							  h, i, j, k, l); \
	}
ALL_BUT_INIT(FIRST_CALL)

/* In the slot of a call that the MPI lacks. */
static int no_call(void)
{
	return NO_MPI;
}

#define STUB(name) \
	__asm__(".text\n.globl MPI_" #name "\n.globl PMPI_" #name "\n" \
		".type MPI_" #name ", %function\n" \
		".type PMPI_" #name ", %function\n" \
		"MPI_" #name ":\nPMPI_" #name \
		":\n\t" JUMP(name) ".size MPI_" #name ", . - MPI_" #name \
				   "\n");
ALL_BUT_INIT(STUB)

static const struct {
	const char *name; /* without "MPI_" */
	void **slot;
} calls[] = {
#define CALL(name) { #name, &np_slot_##name },
	ALL_BUT_INIT(CALL)
		SHIM_INIT(CALL) /* resolve() is done when these are filled in */
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static void *mpi; /* MPI library, if the program is not linked with it */

/* Looks up a function of the MPI. */
static void *find(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	return f || !mpi ? f : dlsym(mpi, name);
}

#define MAX_FOUND 8

struct found {
	char *path[MAX_FOUND];
	size_t n;
};

/*
 * Finds MPI libraries by file name, such as libmpi.so.40, libmpich.so.12 or
 * libmpi_cray.so.12. Python programs open them themselves.
 */
static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;
	struct found *found = arg;

	(void)size;
	if (!strncmp(file, "libmpi", 6) && strstr(file, ".so") &&
	    found->n < MAX_FOUND)
		found->path[found->n++] = strdup(info->dlpi_name);
	return 0;
}

/*
 * Opens the MPI library that the program has loaded. Not in the callback, where
 * dlopen() and that of another thread would wait for each other.
 */
static void open_mpi(void)
{
	struct found found = { .n = 0 };

	dl_iterate_phdr(find_library, &found);
	for (size_t i = 0; i < found.n; i++) {
		/* Make its symbols global, as the wrappers need them. */
		if (!mpi && found.path[i])
			mpi = dlopen(found.path[i],
				     RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
		if (mpi && !dlsym(mpi, "PMPI_Get_library_version")) {
			dlclose(mpi);
			mpi = NULL;
		}
		free(found.path[i]);
	}
}

/* The library with the wrappers for an MPI, by its version text; or NULL. */
static const char *wrappers_for(const char *version)
{
	static const char *const mpich[] = {
		"MPICH",
		"MVAPICH",
		"Intel(R) MPI",
		"CRAY MPICH",
	};

	if (!strncmp(version, "Open MPI", 8))
		return "libnetprof-mpi-openmpi.so";
	for (size_t i = 0; i < sizeof(mpich) / sizeof(mpich[0]); i++)
		if (!strncmp(version, mpich[i], strlen(mpich[i])))
			return "libnetprof-mpi-mpich.so";
	return NULL;
}

/* Loads a library from the directory of this one. */
static shim_bind_f *load_wrappers(const char *part)
{
	char path[PATH_MAX];
	const char *slash;
	void *so;
	Dl_info self;

	if (!part || !dladdr(&mpi, &self) || !self.dli_fname)
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	if (snprintf(path, sizeof(path), "%.*s%s",
		     slash ? (int)(slash + 1 - self.dli_fname) : 0,
		     self.dli_fname, part) >= (int)sizeof(path))
		return NULL;
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return so ? (shim_bind_f *)dlsym(so, SHIM_BIND) : NULL;
}

/* Replaces the MPI's functions by their wrappers, where both exist. */
static void install_wrappers(const struct shim_wrapper *w)
{
	for (; w->name; w++)
		for (size_t i = 0; i < N_CALLS; i++)
			if (*calls[i].slot != (void *)no_call &&
			    !strcmp(calls[i].name, w->name))
				*calls[i].slot = w->function;
}

__attribute__((constructor)) static void resolve(void)
{
	int (*get_version)(char *text, int *len);
	char version[8192], name[64]; /* MPICH's version text is long */
	shim_bind_f *bind;
	void *function;
	int len;

	if (np_slot_Init || !dlsym)
		return;
	if (!dlsym(RTLD_NEXT, "PMPI_Get_library_version"))
		open_mpi();
	*(void **)&get_version = find("PMPI_Get_library_version");
	if (!get_version || get_version(version, &len))
		return;
	for (size_t i = 0; i < N_CALLS; i++) {
		snprintf(name, sizeof(name), "PMPI_%s", calls[i].name);
		function = find(name);
		*calls[i].slot = function ? function : (void *)no_call;
	}
	bind = load_wrappers(wrappers_for(version));
	if (bind)
		install_wrappers(bind(find));
}

/* Removes this library from the text of LD_PRELOAD, in place. */
static void remove_self(char *list)
{
	char *to = list, *at = list;

	while (*at) {
		size_t len = strcspn(at, ": ");
		const char *own = "/libnetprof-mpi.so";
		size_t n = strlen(own);
		bool ours = len >= n && !strncmp(at + len - n, own, n);

		if (!ours) {
			if (to != list)
				*to++ = ':';
			memmove(to, at, len);
			to += len;
		}
		at += len + (at[len] != '\0');
	}
	*to = '\0';
}

/*
 * Programs that start containers or change the root directory pass their
 * environment to programs whose loader may not find this library and would
 * complain on the user's standard error. Therefore they do not pass it on. The
 * environment is changed in place, because Go programs read it from where the
 * kernel has put it.
 */
__attribute__((constructor)) static void leave_containers(void)
{
	static const char *const container_starters[] = {
		"apptainer", "singularity", "starter",	  "podman", "docker",
		"nerdctl",   "enroot",	    "shifter",	  "ch-run", "sarus",
		"bwrap",     "runc",	    "crun",	  "chroot", "unshare",
		"nsenter",   "proot",	    "slurmstepd",
	};
	const char *name = program_invocation_short_name;
	char *list = getenv("LD_PRELOAD");

	for (size_t i = 0;
	     list &&
	     i < sizeof(container_starters) / sizeof(container_starters[0]);
	     i++) {
		if (strcmp(name, container_starters[i]))
			continue;
		remove_self(list);
		if (!*list)
			unsetenv("LD_PRELOAD");
		return;
	}
}

#define PUBLIC __attribute__((visibility("default")))
PUBLIC int MPI_Init(int *argc, char ***argv);
PUBLIC int PMPI_Init(int *argc, char ***argv)
	__attribute__((alias("MPI_Init")));
PUBLIC int MPI_Init_thread(int *argc, char ***argv, int want, int *got);
PUBLIC int PMPI_Init_thread(int *argc, char ***argv, int want, int *got)
	__attribute__((alias("MPI_Init_thread")));

int MPI_Init(int *argc, char ***argv)
{
	int (*f)(int *argc, char ***argv);

	resolve();
	*(void **)&f = np_slot_Init;
	return f ? f(argc, argv) : NO_MPI;
}

int MPI_Init_thread(int *argc, char ***argv, int want, int *got)
{
	int (*f)(int *argc, char ***argv, int want, int *got);

	resolve();
	*(void **)&f = np_slot_Init_thread;
	return f ? f(argc, argv, want, got) : NO_MPI;
}
