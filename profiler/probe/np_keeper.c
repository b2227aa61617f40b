#include "np_keeper.h"

#include <signal.h>

#define TERM_PATIENCE_SEC 2.0

static int start(struct np_keeper *k, double now_sec, struct np_err *err)
{
	k->started_sec = now_sec;
	k->starts++;
	k->stopping = false;
	return np_sidestep_start(&k->step, k->cmd.argv, k->env, err);
}

int np_keeper_start(struct np_keeper *k, struct np_sidecmd *cmd, char **env,
		    double patience_sec, double now_sec, struct np_err *err)
{
	*k = (struct np_keeper){
		.step = NP_SIDESTEP_INIT, .cmd = *cmd, .env = env,
		.patience_sec = patience_sec,
	};
	return start(k, now_sec, err);
}

/* The step is running and silent. */
static void lose_patience(struct np_keeper *k, double now_sec)
{
	double waited = now_sec - k->started_sec;

	if (k->starts >= NP_KEEPER_STARTS || waited < k->patience_sec)
		return;
	np_sidestep_signal(&k->step, waited < k->patience_sec +
			   TERM_PATIENCE_SEC ? SIGTERM : SIGKILL);
	k->stopping = true;
}

enum np_keeper_news np_keeper_tick(struct np_keeper *k, bool up,
				   double now_sec)
{
	if (!k->starts || k->lost)
		return NP_KEEPER_QUIET;
	if (!np_sidestep_reap(&k->step)) {
		if (!up || k->stopping)
			lose_patience(k, now_sec);
		return NP_KEEPER_QUIET;
	}
	if (k->stopping && !start(k, now_sec, NULL))
		return NP_KEEPER_AGAIN;
	k->lost = true;
	return NP_KEEPER_LOST;
}

void np_keeper_free(struct np_keeper *k)
{
	np_sidecmd_free(&k->cmd);
}
