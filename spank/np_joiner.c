#include "np_joiner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_args.h"
#include "np_attach.h"

#ifdef __SANITIZE_ADDRESS__ /* its vfork() remembers one caller, and not two */
#define vfork fork
#endif

static void make_command(const struct np_joiner *j, struct np_args *a)
{
	*a = (struct np_args){ .n = 0 };
	np_args_add(a, "%s", j->invite->join);
	np_args_add(a, "--host=%s", j->host);
	np_args_add(a, "--port=%u", j->invite->port);
	np_args_add(a, "--node=%u", j->node);
	np_args_add(a, "--after=%.3f", j->after_sec);
	np_args_add(a, "--task=%ld", (long)j->task);
	np_args_add(a, "--parent=%ld", (long)j->parent);
}

/*
 * In the task's child; the grandchild is nobody's but init's.  Both by vfork():
 * the task is a copy of slurmstepd, and to copy that twice more would take
 * longer than all the rest.
 */
static void child(char *const argv[], char *const env[], pid_t *joiner)
{
	static const int keep[] = { -1, -1, -1 };
	pid_t pid = vfork();

	if (pid == 0) {
		if (!np_detach(keep, 3))
			execve(argv[0], argv, env);
		_exit(127);
	}
	if (pid > 0 && joiner)
		*joiner = pid;
	_exit(pid < 0 ? errno : 0);
}

void np_joiner_tokens(const struct np_invite *v, char text[NP_JOINER_TOKENS])
{
	snprintf(text, NP_JOINER_TOKENS, NP_TOKENS_ENV "=%s %s", v->member,
		 v->host);
}

int np_joiner_start(const struct np_joiner *j, char *const env[])
{
	/* Not an argument: those are for everybody to see. */
	char tokens[NP_JOINER_TOKENS];
	const char *more[] = { tokens, NULL };
	int status = 0, rc = 0;
	struct np_args args;
	char **ours;
	pid_t pid;

	np_joiner_tokens(j->invite, tokens);
	make_command(j, &args);
	ours = np_sideenv_make(env, more);
	if (!ours || args.rc) {
		rc = -ENOMEM;
		goto out;
	}
	pid = vfork();
	if (pid == 0)
		child(args.argv, ours, j->pid);
	if (pid < 0)
		rc = -errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status))
		rc = -WEXITSTATUS(status);
out:
	np_args_free(&args);
	free(ours);
	return rc;
}
