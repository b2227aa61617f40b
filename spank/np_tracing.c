/*
 * What srun passes to the tasks of a traced step, and what a task makes of it
 * just before it becomes the user's program (np_tracing_apply()).
 *
 * Where a library cannot be preloaded, the loader prints a message in each
 * process, or ends it with some C libraries. So LD_PRELOAD is not set for
 * programs whose loader is known to refuse the library.
 */
#include "np_tracing.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_option.h"
#include "np_trace_dir.h"

/* ---- settings that srun passes to the tasks ---- */

int np_tracing_put(const struct np_tracing *tracing, char text[NP_TRACING_TEXT],
		   struct np_err *err)
{
	if (strchr(tracing->library, '\n') || strchr(tracing->dir, '\n'))
		return np_errf(err, -EINVAL,
			       "%.80s: expected a path without a newline",
			       strchr(tracing->dir, '\n') ? tracing->dir :
							    tracing->library);
	snprintf(text, NP_TRACING_TEXT, "%s\n%s\n%llu\n%u\n%s",
		 tracing->library, tracing->dir,
		 (unsigned long long)tracing->bytes, tracing->keep,
		 tracing->app);
	return 0;
}

/* Copy the next line of *text to buf, and advance *text; NULL: the end. */
static int read_line(const char **text, char *buf, size_t size)
{
	size_t len = *text ? strcspn(*text, "\n") : size;

	if (len >= size)
		return -EINVAL;
	memcpy(buf, *text, len);
	buf[len] = '\0';
	*text = (*text)[len] ? *text + len + 1 : NULL;
	return 0;
}

static int read_number(const char **text, uint64_t max, uint64_t *number)
{
	char line[24];

	return read_line(text, line, sizeof(line)) ?
		     -EINVAL :
		     np_whole_parse(line, max, number);
}

int np_tracing_get(const char *text, struct np_tracing *out)
{
	struct np_tracing tracing;
	uint64_t keep;

	if (read_line(&text, tracing.library, sizeof(tracing.library)) ||
	    read_line(&text, tracing.dir, sizeof(tracing.dir)) ||
	    read_number(&text, UINT64_MAX, &tracing.bytes) ||
	    read_number(&text, UINT32_MAX, &keep) ||
	    read_line(&text, tracing.app, sizeof(tracing.app)) || text ||
	    tracing.library[0] != '/' || !tracing.dir[0] ||
	    (tracing.app[0] && np_app_check(tracing.app, NULL)))
		return -EINVAL;
	tracing.keep = (uint32_t)keep;
	*out = tracing;
	return 0;
}

void np_tracing_subdir(const struct np_tracing *tracing, uid_t uid,
		       const char *app, uint32_t job_id, uint32_t step_id,
		       char *buf, size_t len)
{
	snprintf(buf, len, "%u/%s/%u.%u" NP_TRACE_SUFFIX, (unsigned)uid,
		 tracing->app[0] ? tracing->app : app, job_id, step_id);
}

/* Is path[len] an MPI library, by the name of its file? */
static bool is_mpi_library(const char *path, size_t len)
{
	static const char *const names[] = { "libmpi.so", "libmpi_",
					     "libmpich" };
	const char *slash = memrchr(path, '/', len);
	const char *file = slash ? slash + 1 : path;

	for (size_t i = 0; i < NP_ARRAY_SIZE(names); i++)
		if (!strncmp(file, names[i], strlen(names[i])))
			return true;
	return false;
}

int np_tracing_preload(const struct np_tracing *tracing, const char *preload,
		       char *buf, size_t len)
{
	/* rest: from the first MPI library on; blanks and ":" separate names. */
	const char *list = preload ? preload : "", *rest = list;
	size_t name_len = strcspn(list, ": ");
	int written;

	while (*rest && !is_mpi_library(rest, name_len)) {
		rest += name_len;
		rest += strspn(rest, ": ");
		name_len = strcspn(rest, ": ");
	}
	written = snprintf(buf, len, "%.*s%s%s%s%s", (int)(rest - list), list,
			   rest > list && !strchr(": ", rest[-1]) ? ":" : "",
			   tracing->library, *rest ? ":" : "", rest);
	return written < 0 || (size_t)written >= len ? -ENAMETOOLONG : 0;
}

/* ---- checking whether a library can be preloaded ---- */

#define MAX_HEADERS 64 /* program headers that are read */

/*
 * Container runtimes. The programs that they start see other files, and the
 * library may not be among them.
 */
static const char *const container_runtimes[] = {
	"apptainer", "singularity", "podman",  "docker",  "nerdctl", "enroot",
	"shifter",   "ch-run",	    "sarus",   "bwrap",	  "runc",    "crun",
	"chroot",    "proot",	    "unshare", "nsenter",
};

static bool is_container_runtime(const char *program)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(container_runtimes); i++)
		if (!strcmp(basename(program), container_runtimes[i]))
			return true;
	return false;
}

/* Open a program, searching for it as a shell does. Returns -1 on failure. */
static int open_program(const char *program, const char *path)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char candidate[PATH_MAX];

	if (strchr(program, '/'))
		return open(program, flags);
	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (len &&
		    snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)len,
			     path, program) < (int)sizeof(candidate) &&
		    !access(candidate, X_OK))
			return open(candidate, flags);
		path += len + (path[len] == ':');
	}
	return -1;
}

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

/*
 * Whether a program has the loader of another C library than glibc. That of
 * musl ends a program for which it cannot preload a library.
 */
static bool has_other_loader(int fd, const Elf64_Phdr *interpreter)
{
	char loader[256] = "";
	size_t size = interpreter->p_filesz < sizeof(loader) ?
			      interpreter->p_filesz :
			      sizeof(loader) - 1;

	return pread(fd, loader, size, (off_t)interpreter->p_offset) > 0 &&
	       !strstr(loader, "/ld-linux");
}

/*
 * What keeps the loader of a program from preloading the library, or NULL. A
 * file that is no ELF program, such as a script, is not judged. Static
 * programs, position-independent or not, name no loader.
 */
static const char *find_obstacle(int fd)
{
	Elf64_Phdr program_header[MAX_HEADERS];
	Elf64_Ehdr header;
	ssize_t size;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (OWN_MACHINE != EM_NONE && header.e_machine != OWN_MACHINE))
		return "is built for another processor";
	if (header.e_phentsize != sizeof(*program_header) || !header.e_phnum ||
	    header.e_phnum > MAX_HEADERS || header.e_phoff > INT_MAX)
		return NULL;
	size = (ssize_t)(header.e_phnum * sizeof(*program_header));
	if (pread(fd, program_header, (size_t)size, (off_t)header.e_phoff) !=
	    size)
		return NULL;
	for (int i = 0; i < header.e_phnum; i++)
		if (program_header[i].p_type == PT_INTERP)
			return has_other_loader(fd, &program_header[i]) ?
				       "is linked with a C library other than "
				       "glibc" :
				       NULL;
	return "is not dynamically linked";
}

const char *np_tracing_obstacle(const char *program, const char *path)
{
	const char *why;
	struct stat st;
	int fd;

	fd = open_program(program, path);
	if (fd < 0)
		return NULL;
	why = !fstat(fd, &st) && S_ISREG(st.st_mode) ? find_obstacle(fd) : NULL;
	close(fd);
	return why;
}

/* ---- tracing a task ---- */

/*
 * Refuse programs that cannot load the library, and those in whose processes
 * the loader would report that it is missing. Returns 0, -ENOENT, -ENOTSUP, or
 * -EXDEV for containers, to which the user may give the library.
 */
static int check_preload(const struct np_tracing *tracing,
			 const struct np_tracing_task *task, struct np_err *err)
{
	const char *program = task->context->argc > 0 ? task->context->argv[0] :
							NULL;
	const char *why;

	if (access(tracing->library, R_OK))
		return np_errf(err, -ENOENT,
			       "%.200s does not exist: install the package "
			       "netprof-analysis",
			       tracing->library);
	if (task->in_container)
		return np_errf(err, -EXDEV,
			       "the container of srun --container may not have "
			       "the library");
	if (program && is_container_runtime(program))
		return np_errf(err, -EXDEV,
			       "%.200s starts a container, which may be given "
			       "the library: see spank_netprof(8)",
			       program);
	why = program ? np_tracing_obstacle(program, task->path) : NULL;
	return why ? np_errf(err, -ENOTSUP, "%.200s %s", program, why) : 0;
}

static void set_number(const char *name, uint64_t number, np_tracing_set_f *set,
		       void *arg)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	set(name, text, arg);
}

/* Set the variables that give the library the directory and size of traces. */
static void set_destination(const struct np_tracing *tracing,
			    const struct np_tracing_task *task,
			    np_tracing_set_f *set, void *arg)
{
	char app[NP_APP_MAX + 1], buf[2 * PATH_MAX];

	set("NETPROF_TRACE", tracing->dir, arg);
	set_number("NETPROF_TRACE_SIZE", tracing->bytes, set, arg);
	if (!tracing->keep)
		return;
	set_number("NETPROF_TRACE_KEEP", tracing->keep, set, arg);
	if (np_launch_app_name(task->context, app, NULL))
		strcpy(app, "unnamed");
	np_tracing_subdir(tracing, task->uid, app, task->job_id, task->step_id,
			  buf, sizeof(buf));
	set("NETPROF_TRACE_SUB", buf, arg);
}

int np_tracing_apply(const char *text, const struct np_tracing_task *task,
		     np_tracing_set_f *set, void *arg, struct np_err *err)
{
	char buf[2 * PATH_MAX];
	struct np_tracing tracing;
	int rc;

	if (np_tracing_get(text, &tracing))
		return 0;
	rc = check_preload(&tracing, task, err);
	if (!rc || rc == -EXDEV)
		set_destination(&tracing, task, set, arg);
	if (rc)
		return rc;
	if (task->preload_too_long ||
	    np_tracing_preload(&tracing, task->preload, buf, sizeof(buf)))
		return np_errf(err, -ENAMETOOLONG, "LD_PRELOAD is too long");
	set("LD_PRELOAD", buf, arg);
	return 0;
}
