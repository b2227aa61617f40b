#include "np_tracing.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_trace_dir.h"

/* ---- what srun passes to the tasks ---- */

int np_tracing_put(const struct np_tracing *tracing, char text[NP_TRACING_TEXT],
		   struct np_err *err)
{
	if (strchr(tracing->library, '\n') || strchr(tracing->dir, '\n'))
		return np_errf(err, -EINVAL,
			       "%.80s: expected a path without "
			       "a newline",
			       strchr(tracing->dir, '\n') ? tracing->dir :
							    tracing->library);
	snprintf(text, NP_TRACING_TEXT, "%s\n%s\n%llu\n%u\n%s",
		 tracing->library, tracing->dir,
		 (unsigned long long)tracing->bytes, tracing->keep,
		 tracing->app);
	return 0;
}

/* Copy the next line of *at to buf. */
static int take_line(const char **at, char *buf, size_t size)
{
	size_t n = *at ? strcspn(*at, "\n") : size;

	if (n >= size)
		return -EINVAL;
	memcpy(buf, *at, n);
	buf[n] = '\0';
	*at = (*at)[n] ? *at + n + 1 : NULL;
	return 0;
}

static int take_number(const char **at, uint64_t max, uint64_t *number)
{
	char text[24], *end;

	if (take_line(at, text, sizeof(text)))
		return -EINVAL;
	*number = strtoull(text, &end, 10);
	return end == text || *end || *number > max ? -EINVAL : 0;
}

int np_tracing_get(const char *text, struct np_tracing *out)
{
	struct np_tracing tracing;
	uint64_t keep;

	if (take_line(&text, tracing.library, sizeof(tracing.library)) ||
	    take_line(&text, tracing.dir, sizeof(tracing.dir)) ||
	    take_number(&text, UINT64_MAX, &tracing.bytes) ||
	    take_number(&text, UINT32_MAX, &keep) ||
	    take_line(&text, tracing.app, sizeof(tracing.app)) || text ||
	    tracing.library[0] != '/' || !tracing.dir[0] ||
	    (tracing.app[0] && np_app_check(tracing.app, NULL)))
		return -EINVAL;
	tracing.keep = (uint32_t)keep;
	*out = tracing;
	return 0;
}

void np_tracing_sub(const struct np_tracing *tracing, uid_t uid,
		    const char *app, uint32_t job_id, uint32_t step_id,
		    char *buf, size_t len)
{
	snprintf(buf, len, "%u/%s/%u.%u" NP_TRACE_SUFFIX, (unsigned)uid,
		 tracing->app[0] ? tracing->app : app, job_id, step_id);
}

int np_tracing_preload(const struct np_tracing *tracing, const char *was,
		       char *buf, size_t len)
{
	int n = was && *was ?
			snprintf(buf, len, "%s:%s", tracing->library, was) :
			snprintf(buf, len, "%s", tracing->library);

	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

/* ---- can a library be preloaded? ---- */

#define MAX_HEADERS 64 /* most program headers that are read */

/*
 * Container runtimes: what they start has other files, and the library may not
 * be there.
 */
static const char *const runtimes[] = {
	"apptainer", "singularity", "podman", "docker", "nerdctl", "enroot",
	"shifter", "ch-run", "sarus", "bwrap", "runc", "crun", "chroot",
	"proot", "unshare", "nsenter",
};

/* Return whether a program is a container runtime. */
static bool is_runtime(const char *program)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(runtimes); i++)
		if (!strcmp(basename(program), runtimes[i]))
			return true;
	return false;
}

/* Open a program found as the shell finds it; -1: there is none. */
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

/*
 * Return whether a program is static: such programs, position-independent or
 * not, name no loader.
 */
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

const char *np_tracing_refuses(const char *program, const char *path)
{
	bool refuses;
	struct stat st;
	int fd;

	fd = open_program(program, path);
	if (fd < 0)
		return NULL;
	refuses = !fstat(fd, &st) && S_ISREG(st.st_mode) && is_static(fd);
	close(fd);
	return refuses ? "is not dynamically linked" : NULL;
}

/* ---- tracing a task ---- */

/*
 * Leave programs alone that cannot load the library, and those whose processes
 * would each have the loader complain that it is missing: -EXDEV, for those
 * that start a container, to which the user may give the library.
 */
static int check_preload(const struct np_tracing *tracing,
			 const struct np_tracing_task *task, struct np_err *err)
{
	const char *program = task->context->argc > 0 ? task->context->argv[0] :
							NULL;
	const char *why;

	if (access(tracing->library, R_OK))
		return np_errf(err, -ENOENT,
			       "%.200s does not exist: install "
			       "the package netprof-analysis",
			       tracing->library);
	if (task->in_container)
		return np_errf(err, -EXDEV, "the container of srun "
			       "--container may not have the library");
	if (program && is_runtime(program))
		return np_errf(err, -EXDEV, "%.200s starts a container, which "
			       "may be given the library: see spank_netprof(8)",
			       program);
	why = program ? np_tracing_refuses(program, task->path) : NULL;
	return why ? np_errf(err, -ENOTSUP, "%.200s %s", program, why) : 0;
}

static void set_number(const char *name, uint64_t number, np_tracing_set_f *set,
		       void *arg)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	set(name, text, arg);
}

/* Set the variables that tell the library where its files go, and how much. */
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
	np_tracing_sub(tracing, task->uid, app, task->job_id, task->step_id,
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
