/* Programs into which no library can be preloaded. */
#include "t.h"
#include "np_tracing.h"

#include <elf.h>
#include <sys/stat.h>

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* A program of one part of that type. */
static const char *some_program(const char *name, uint32_t type, size_t cut)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr part;
	} elf = {
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
			.e_type = ET_EXEC, .e_machine = MACHINE,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		},
		.part = { .p_type = type },
	};
	const char *path = t_write(name, &elf, sizeof(elf) - cut);

	T_CHECK(!chmod(path, 0755));
	return path;
}

T_TEST("what cannot be traced is distinguished from what can")
{
	T_CHECK(!np_tracing_obstacle("/proc/self/exe", NULL));
	T_CHECK(!np_tracing_obstacle(some_program("moves", PT_INTERP, 0),
				     NULL));
	T_CHECK(!np_tracing_obstacle(some_program("cut", PT_LOAD, 8), NULL));
	T_CHECK(!np_tracing_obstacle("/nonexistent/x", "/bin"));
	T_CHECK(!np_tracing_obstacle("no-such-program", "/bin:/usr/bin"));
	T_CHECK(!np_tracing_obstacle("/dev/null", NULL));
	T_CHECK(!np_tracing_obstacle("sh", "/nonexistent::/bin"));
	T_CHECK(!strcmp(np_tracing_obstacle(some_program("stays", PT_LOAD, 0),
					    NULL),
			"is not dynamically linked"));
	T_CHECK(!!np_tracing_obstacle("stays",
				      t_text("/nonexistent:%s", t_tmpdir())));
	T_CHECK(!np_tracing_obstacle("stays", NULL));
}

static void take(const char *name, const char *value, void *arg)
{
	snprintf((char *)arg + strlen(arg), 512 - strlen(arg), "%s=%s\n", name,
		 value);
}

/*
 * The user may give a container the library, which then needs to know where its
 * files go.
 */
T_TEST("a container is not given the library and knows where traces go")
{
	char *argv[] = { "/opt/bin/apptainer", NULL };
	struct np_step_context f = { .argc = 1, .argv = argv };
	struct np_tracing_task task = { .context = &f, .uid = 7, .job_id = 2 };
	struct np_tracing t = { .library = "/proc/self/exe",
				.dir = "/d",
				.bytes = 1,
				.keep = 1,
				.app = "a" };
	struct np_err err = NP_ERR_INIT;
	char text[NP_TRACING_TEXT], set[512] = "";

	T_CHECK(!np_tracing_put(&t, text, NULL));
	T_CHECK(np_tracing_apply(text, &task, take, set, &err) < 0);
	T_CHECK(!!strstr(err.text, "apptainer starts a container"));
	T_CHECK(!strcmp(set, "NETPROF_TRACE=/d\nNETPROF_TRACE_SIZE=1\n"
			     "NETPROF_TRACE_KEEP=1\n"
			     "NETPROF_TRACE_SUB=7/a/2.0.trace\n"));
	argv[0] = "/proc/self/exe";
	set[0] = '\0';
	task.in_container = true;
	T_CHECK(np_tracing_apply(text, &task, take, set, &err) < 0);
	T_CHECK(!!strstr(err.text, "the container of srun --container"));
	T_CHECK(strstr(set, "NETPROF_TRACE=/d\n") &&
		!strstr(set, "LD_PRELOAD"));
	task.in_container = false;
	set[0] = '\0';
	T_CHECK(!np_tracing_apply(text, &task, take, set, &err) &&
		!!strstr(set, "LD_PRELOAD=/proc/self/exe\n"));
}
