#include "t.h"
#include "np_rendezvous.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define G "00112233445566778899aabbccddeeff"
#define H "ffeeddccbbaa99887766554433221100"
#define PATIENCE 30000 /* naps: a minute, on a busy machine */

/* In place of netprof-agent: it writes down how it was started, and ends. */
static const char script[] =
	"#!/bin/sh\n"
	"{\n"
	"echo \"pid=$$\"\n"
	"echo \"ppid=$PPID\"\n"
	"echo \"sid=$(ps -o sid= -p $$ | tr -d ' ')\"\n"
	"echo \"dir=$(pwd)\"\n"
	"for a; do echo \"arg $a\"; done\n"
	"tr '\\0' '\\n' </proc/$$/environ | sed 's/^/env /'\n"
	"[ -e /proc/$$/fd/20 ] && echo 'stray descriptor'\n"
	"echo end\n"
	"} >\"$0.part\"\n"
	"mv \"$0.part\" \"$0.said\"\n";

static void write_script(char path[NP_RENDEZVOUS_PATH])
{
	snprintf(path, NP_RENDEZVOUS_PATH, "%s", t_write_text("join", script));
	T_CHECK(chmod(path, 0700) == 0);
}

/* What it has said, each line between two line ends. */
static const char *output_of(const char *path)
{
	static char text[65536];
	FILE *f = NULL;
	size_t got = 0;
	const char *name = t_text("%s.said", path);

	for (int i = 0; i < PATIENCE && !(f = fopen(name, "re")); i++)
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	text[0] = '\n';
	if (f) {
		got = fread(text + 1, 1, sizeof(text) - 2, f);
		fclose(f);
		unlink(name);
	}
	text[1 + got] = '\0';
	return text;
}

static long number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static struct np_rendezvous_entry rendezvous = {
	.port = 4711,
	.agent_cookie = G,
	.collector_cookie = H,
	.max_nodes = 8,
	.seed = 1,
};

static const struct np_agent_params some = {
	.rendezvous = &rendezvous,
	.host = "login1.site",
	.node = 12,
	.sleep_sec = 2.24,
	.task = 4000000,
	.parent = 3999999,
};

static char *env[] = {
	"PATH=/usr/bin:/bin",
	"SLURM_NTASKS=64",
	"SLURMD_NODENAME=n12",
	"NETPROF_COOKIES=of another step",
	"LD_PRELOAD=/x.so",
	"HOME=/home/u",
	NULL,
};

static const struct {
	const char *name, *line;
	int there;
} rows[] = {
	{ "where srun runs", "\narg --host=login1.site\n", 1 },
	{ "the collector's port", "\narg --port=4711\n", 1 },
	{ "the number of the node", "\narg --node=12\n", 1 },
	{ "how long it sleeps", "\narg --after=2.240\n", 1 },
	{ "the task that it watches", "\narg --task=4000000\n", 1 },
	{ "the parent of that task", "\narg --parent=3999999\n", 1 },
	{ "the secrets, for nobody else to see",
	  "\nenv NETPROF_COOKIES=" G " " H "\n", 1 },
	{ "no secrets of another step", "of another step", 0 },
	{ "our processes are marked", "\nenv NETPROF_SIDE=1\n", 1 },
	{ "the user's PATH", "\nenv PATH=/usr/bin:/bin\n", 1 },
	{ "the name of the node", "\nenv SLURMD_NODENAME=n12\n", 1 },
	{ "the step's layout is the program's", "SLURM_NTASKS", 0 },
	{ "and so are its preloads", "LD_PRELOAD", 0 },
	{ "the root directory", "\ndir=/\n", 1 },
	{ "no stray descriptors", "stray", 0 },
	{ "it came to its end", "\nend\n", 1 },
};

T_TEST("no child of the program, its secrets in its environment alone")
{
	pid_t *parent_pid = mmap(NULL, sizeof(*parent_pid),
				 PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct np_agent_params params = some;
	const char *text, *args, *end;
	long pid;

	write_script(rendezvous.path);
	T_CHECK(dup2(1, 20) == 20); /* inherited by a careless exec */
	T_CHECK(parent_pid != MAP_FAILED);
	params.pid = parent_pid;
	T_CHECK(np_agent_start(&params, env) == 0);
	close(20);
	text = output_of(rendezvous.path);
	T_EACH(r, rows)
		T_ROW(r->name, (strstr(text, r->line) != NULL) == r->there);
	args = strstr(text, "\narg ");
	end = strstr(text, "\nenv ");
	T_CHECK(args && end && !memmem(args, (size_t)(end - args), G, 32) &&
		!memmem(args, (size_t)(end - args), H, 32));
	pid = number(text, "\npid=");
	T_CHECK(pid > 0 && *parent_pid == pid && number(text, "\nsid=") == pid);
	T_CHECK(number(text, "\nppid=") != (long)getpid());
	errno = 0;
	T_CHECK(waitpid((pid_t)pid, NULL, WNOHANG) < 0 && errno == ECHILD);
	munmap(parent_pid, sizeof(*parent_pid));
}

T_TEST("a program that is not there does no harm")
{
	strcpy(rendezvous.path, "/no/such/netprof-agent");
	T_CHECK(np_agent_start(&some, env) == 0);
}

/* A launcher may have said that it does not want to know of its children. */
T_TEST("started by who ignores its children")
{
	void (*old)(int) = signal(SIGCHLD, SIG_IGN);

	write_script(rendezvous.path);
	T_CHECK(np_agent_start(&some, env) == 0);
	signal(SIGCHLD, old);
	T_CHECK(strstr(output_of(rendezvous.path), "\nend\n"));
}
