/* What to say of a job, in sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_explain.h"

#define LITTLE 0.005	 /* half a point */

static const char *name_of(const struct np_state_job *j, char buf[CLI_NUMBER])
{
	return cli_job_name(j->id, j->array, j->task, buf);
}

void cli_say_pending(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;
	char id[CLI_NUMBER], who[160], date[CLI_NUMBER];

	snprintf(who, sizeof(who), "Job %s%s%s%s ", name_of(j, id),
		 *j->app ? " (" : "", j->app, *j->app ? ")" : "");
	if (!strcmp(j->action, "defer"))
		cli_say(CLI_BOLD, 0, "%s%s held back by placement until %s at "
			"first, so that it does not meet a job it conflicts "
			"with.", who, j->applied ? "is" : "would be",
			cli_date(j->until, date));
	else if (!strcmp(j->action, "confine"))
		cli_say(CLI_BOLD, 0, "%s%s only on %s.", who, j->applied ?
			"may run" : "would be allowed to run", j->leaves);
	else if (!strcmp(j->action, "anywhere"))
		cli_say(CLI_BOLD, 0, "%smay run anywhere: it waits for Slurm, "
			"not for placement (squeue tells why).", who);
	else
		cli_say(CLI_BOLD, 0, "%sis left alone by placement: it waits "
			"for Slurm (squeue tells why).", who);
}

static const struct np_state_claim *void_claim(const struct np_state *s,
					       const struct np_state_job *j)
{
	for (size_t i = 0; i < s->n_claims; i++)
		if (s->claim[i].uid == j->uid && !strcmp(s->claim[i].app,
							 j->app))
			return &s->claim[i];
	return NULL;
}

void cli_say_unknown(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;
	const struct np_state_claim *claim = void_claim(&e->state, j);
	char line[1536];

	if (j->known)
		return;
	if (claim)
		cli_labelled(stdout, "Not known", "%s",
			     cli_say_claim(claim, line, sizeof(line)));
	else if (!*j->app)
		cli_labelled(stdout, "Not known", "It does not say which "
			     "application it is. \"sbatch --netprofile=NAME "
			     "job.sh\" measures one and names it; later jobs "
			     "name it by --netprofile=NAME, or "
			     "NETPROF_APP=NAME in the environment.");
	else
		cli_labelled(stdout, "Not known", "There is no profile of %s "
			     "that placement can use. \"sbatch --netprofile=%s "
			     "--netprofile-calibrate job.sh\" measures it.",
			     j->app, j->app);
}

static void say_explained(double measured, double predicted, char *buf,
			  size_t len)
{
	if (predicted < LITTLE)
		snprintf(buf, len, "; its neighbours explain none of that.");
	else if (predicted >= measured)
		snprintf(buf, len, "; its neighbours explain all of that (%.0f "
			 "%% was predicted).", 100 * predicted);
	else
		snprintf(buf, len, "; its neighbours explain %.0f points of "
			 "that.", 100 * predicted);
}

void cli_say_took(double run_sec, const struct np_mean *alone,
		  const double *predicted, char *buf, size_t len)
{
	char took[CLI_NUMBER], mean[CLI_NUMBER], how[64], why[160];
	const struct np_mean one = { .n = 1, .mean = run_sec };
	double d;

	cli_sec(run_sec, took);
	if (!np_mean_known(alone) || !(alone->mean > 0)) {
		snprintf(buf, len, "It took %s. How long it takes alone is not "
			 "known: no other run of this command had its leaf "
			 "switches to itself.", took);
		return;
	}
	d = run_sec / alone->mean - 1;
	cli_sec(alone->mean, mean);
	if (fabs(d) < CLI_LEAST_NOISE)
		snprintf(how, sizeof(how), "as long as");
	else
		snprintf(how, sizeof(how), "%.0f %% %s than", 100 * fabs(d),
			 d < 0 ? "less" : "longer");
	if (fabs(d) < CLI_LEAST_NOISE || d < -cli_chance(&one, alone))
		snprintf(why, sizeof(why), ".");
	else if (fabs(d) < cli_chance(&one, alone))
		snprintf(why, sizeof(why), ", which may be chance.");
	else if (predicted)
		say_explained(d, *predicted, why, sizeof(why));
	else
		snprintf(why, sizeof(why), "; what its neighbours cost it is "
			 "not known.");
	snprintf(buf, len, "It took %s, %s alone (%s, n %u)%s", took, how, mean,
		 alone->n, why);
}

void cli_say_costliest(const struct cli_explain *e)
{
	const char *app = e->job ? e->job->app : e->ended.app;
	char id[CLI_NUMBER], sec[CLI_NUMBER], part[96];
	double share;
	const struct cli_beside *b = cli_explain_costliest(e, &share);

	if (!b)
		return;
	if (e->job)
		snprintf(part, sizeof(part), "+%.0f %% beside it alone",
			 100 * share);
	else
		snprintf(part, sizeof(part), "%.0f points, as it was beside it "
			 "for %s", 100 * share, cli_sec(b->overlap_sec, sec));
	cli_labelled(stdout, "Costliest", "%s (%s) on %.64s: %s; netprof "
		     "predict %s %s says more",
		     cli_job_name(b->id, b->array, b->task, id), b->app,
		     b->leaves, part, app, b->app);
}
