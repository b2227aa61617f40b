#include "np_joiner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_attach.h"
#include "np_sideenv.h"

#ifdef __SANITIZE_ADDRESS__ /* its vfork() remembers one caller, and not two */
#define vfork fork
#endif

#define N_ARGS 8
#define ARG_SIZE 320 /* the longest is a path or a host name */

struct command {
	char *argv[N_ARGS];
	char text[N_ARGS][ARG_SIZE];
	char tokens[sizeof(NP_TOKENS_ENV) + 2 * NP_INVITE_TOKEN + 2];
};

static void make_command(const struct np_joiner *j, struct command *c)
{
	const struct np_invite *v = j->invite;
	size_t n = 0;

#define ARG(...) do { \
	snprintf(c->text[n], ARG_SIZE, __VA_ARGS__); \
	c->argv[n] = c->text[n]; \
	n++; \
} while (0)
	ARG("%s", v->join);
	ARG("--host=%s", j->host);
	ARG("--port=%u", v->port);
	ARG("--node=%u", j->node);
	ARG("--after=%.3f", j->after_sec);
	ARG("--task=%ld", (long)j->task);
	ARG("--parent=%ld", (long)j->parent);
#undef ARG
	c->argv[n] = NULL;
	/* Not an argument: those are for everybody to see. */
	snprintf(c->tokens, sizeof(c->tokens), NP_TOKENS_ENV "=%s %s",
		 v->member, v->host);
}

/*
 * In the task's child; the grandchild is nobody's but init's.  Both by vfork():
 * the task is a copy of slurmstepd, and to copy that twice more would take
 * longer than all the rest.
 */
static void child(const struct command *c, char *const env[], pid_t *joiner)
{
	static const int keep[] = { -1, -1, -1 };
	pid_t pid = vfork();

	if (pid == 0) {
		if (!np_detach(keep, 3))
			execve(c->argv[0], c->argv, env);
		_exit(127);
	}
	if (pid > 0 && joiner)
		*joiner = pid;
	_exit(pid < 0 ? errno : 0);
}

int np_joiner_start(const struct np_joiner *j, char *const env[])
{
	struct command c;
	const char *more[] = { c.tokens, NULL };
	int status = 0, rc = 0;
	char **ours;
	pid_t pid;

	make_command(j, &c);
	ours = np_sideenv_make(env, more);
	if (!ours)
		return -ENOMEM;
	pid = vfork();
	if (pid == 0)
		child(&c, ours, j->pid);
	if (pid < 0)
		rc = -errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status))
		rc = -WEXITSTATUS(status);
	free(ours);
	return rc;
}
