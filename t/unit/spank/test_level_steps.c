/* A shell script stands for srun. */
#include "t.h"
#include "np_agents.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#define PATIENCE 30000 /* times 2 ms: a minute, on a busy machine */

/* It says on which node it is, as what it does depends on that. */
static const char script[] =
	"#!/bin/sh\n"
	"for a; do case $a in --nodelist=*) node=${a#*=} ;; esac; done\n"
	"for a; do echo \"$a\"; done >\"${0%/*}/srun.$node\"\n"
	"echo \"cookie $NETPROF_COOKIES\" >>\"${0%/*}/srun.$node\"\n"
	"case $node in\n"
	"ok*) echo 'np1 not read here'; exit 0 ;;\n"
	"bad*) echo \"srun: error: $node is down\" >&2; exit 3 ;;\n"
	"*) exec sleep 60 ;;\n"
	"esac\n";

static char srun[256];
static struct np_conf conf = { .libexecdir = "/opt/netprof/libexec" };
static char *env[] = { "PATH=/usr/bin:/bin", "NETPROF_COOKIES=a b", NULL };

static void write_script(void)
{
	snprintf(srun, sizeof(srun), "%s", t_write_text("srun", script));
	T_CHECK(chmod(srun, 0700) == 0);
}

/* hosts: names with spaces between. */
static int start(struct np_level_steps *c, const char *hosts)
{
	const struct np_helper_job job = { srun, 12, -1, 0 };
	struct np_hosts h = { NULL, 0 };
	char names[128], *save = NULL;
	int rc;

	write_script();
	strcpy(names, hosts);
	for (char *w = strtok_r(names, " ", &save); w;
	     w = strtok_r(NULL, " ", &save))
		T_CHECK(np_hosts_add(&h, w) == 0);
	rc = np_level_steps_start(c, &job, &conf, &h, 4711, false, env, NULL);
	np_hosts_free(&h);
	return rc;
}

static size_t n_open(const struct np_level_steps *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->step[i].fd >= 0;
	return n;
}

/* Until so many still run, and all reports of the others were received. */
static size_t run_until(struct np_level_steps *c, size_t running)
{
	for (int i = 0; i < PATIENCE; i++) {
		np_level_steps_read(c);
		if (np_level_steps_running(c) <= running &&
		    n_open(c) <= running)
			break;
		usleep(2000);
	}
	return np_level_steps_running(c);
}

static int was_passed(const char *node, const char *word)
{
	char line[512];
	int found = 0;
	FILE *f;

	f = fopen(t_text("%s.%s", srun, node), "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strcmp(line, word);
	}
	if (f)
		fclose(f);
	return found;
}

T_TEST("a level's steps are started once a node")
{
	static const char *const node[] = { "ok1", "ok2", "ok3" };
	char cause[64] = "as before";
	struct np_level_steps c;

	T_CHECK(start(&c, "ok1 ok2 ok3") == 0 && c.n == 3);
	T_CHECK(run_until(&c, 0) == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(node); i++) {
		T_ROW(node[i],
		      was_passed(node[i], t_text("--nodelist=%s", node[i])));
		T_ROW(node[i], was_passed(node[i], "--nodes=1"));
		T_ROW(node[i], was_passed(node[i], "--jobid=12"));
		T_ROW(node[i], was_passed(node[i], "--port=4711"));
		T_ROW(node[i], was_passed(node[i], "/opt/netprof/libexec/"
						   "netprof-agent"));
		T_ROW(node[i], was_passed(node[i], "cookie a b"));
	}
	np_level_steps_cause(&c, cause, sizeof(cause));
	T_CHECK(!strcmp(cause, "as before"));
	np_level_steps_free(&c);
}

static const struct {
	const char *name, *hosts, *cause;
	size_t running; /* after all others have ended */
	int sig;	/* for these */
} rows[] = {
	{ "every step succeeds", "ok1 ok2", "-", 0, 0 },
	{ "one step fails", "ok1 bad1 ok2", "exit 3: srun: error: bad1 is down",
	  0, 0 },
	{ "the first that failed is named", "bad2 bad1",
	  "exit 3: srun: error: bad2 is down", 0, 0 },
	{ "who still runs has not failed", "on1 on2", "-", 2, 0 },
	{ "one failed while others run", "on1 bad1 on2",
	  "exit 3: srun: error: bad1 is down", 2, 0 },
	{ "all are asked to end", "on1 on2 on3", "signal 15", 3, SIGTERM },
	{ "all are ended", "ok1 on2", "signal 9", 1, SIGKILL },
	{ "no steps", "", "-", 0, SIGTERM },
};

T_TEST("how they end, in words")
{
	T_EACH(r, rows) {
		char cause[NP_ERR_LEN + 32] = "-";
		struct np_level_steps c;

		T_ROW(r->name, start(&c, r->hosts) == 0);
		T_ROW(r->name, n_open(&c) == c.n);
		T_ROW(r->name, run_until(&c, r->running) == r->running);
		if (r->sig) {
			np_level_steps_signal(&c, r->sig);
			T_ROW(r->name, run_until(&c, 0) == 0);
		}
		np_level_steps_cause(&c, cause, sizeof(cause));
		T_ROW(r->name, !strcmp(cause, r->cause));
		np_level_steps_signal(&c, SIGKILL);
		run_until(&c, 0);
		np_level_steps_free(&c);
	}
}

T_TEST("nothing of them stays open")
{
	struct np_level_steps c;
	int fd[2];

	T_CHECK(start(&c, "on1 on2") == 0 && n_open(&c) == 2);
	fd[0] = c.step[0].fd;
	fd[1] = c.step[1].fd;
	np_level_steps_signal(&c, SIGKILL);
	for (int i = 0; i < PATIENCE && np_level_steps_running(&c); i++)
		usleep(2000); /* and nobody reads what they said */
	np_level_steps_free(&c);
	T_CHECK(fcntl(fd[0], F_GETFD) < 0 && fcntl(fd[1], F_GETFD) < 0);
	np_level_steps_free(&c); /* twice is no harm */
	T_CHECK(np_level_steps_running(&c) == 0 && n_open(&c) == 0);
}
