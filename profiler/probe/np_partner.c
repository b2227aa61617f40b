#include "np_partner.h"

#include <math.h>
#include <stdio.h>

static void note(struct np_partner *p, const char *what)
{
	const struct np_engine_env *env = p->env;
	char text[NP_ERR_LEN];

	snprintf(text, sizeof(text), "partner on %s %s",
		 env->place[p->rank].node, what);
	env->note(text, env->arg);
}

void np_partner_lost(struct np_partner *p, double now_sec)
{
	if (p->state == NP_PARTNER_LOST)
		return;
	p->state = NP_PARTNER_LOST;
	p->lost_sec = now_sec;
	p->noted = false;
}

static double check_lost(struct np_partner *p, double now_sec)
{
	if (p->noted)
		return INFINITY;
	if (now_sec < p->lost_sec + NP_PARTNER_GRACE_SEC)
		return p->lost_sec + NP_PARTNER_GRACE_SEC;
	note(p, "lost");
	p->noted = true;
	return INFINITY;
}

static double check_silent(struct np_partner *p, double now_sec,
			   double since_sec)
{
	char what[48];

	if (p->state == NP_PARTNER_SILENT)
		return INFINITY;
	if (now_sec < since_sec + p->patience_sec)
		return since_sec + p->patience_sec;
	p->state = NP_PARTNER_SILENT;
	snprintf(what, sizeof(what), "silent for %g s", p->patience_sec);
	note(p, what);
	return INFINITY;
}

enum np_partner_state np_partner_check(struct np_partner *p, double now_sec,
				       double since_sec, double *until_sec)
{
	if (p->env->net->ops->lost(p->env->net, p->rank))
		np_partner_lost(p, now_sec);
	*until_sec = p->state == NP_PARTNER_LOST ?
			     check_lost(p, now_sec) :
			     check_silent(p, now_sec, since_sec);
	return p->state;
}

bool np_partner_heard(struct np_partner *p)
{
	if (p->state != NP_PARTNER_SILENT)
		return false;
	p->state = NP_PARTNER_THERE;
	note(p, "is back");
	return true;
}
