#include "np_partner.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const char *node_of(const struct np_partner *p)
{
	return p->env->place[p->rank].node;
}

__attribute__((format(printf, 2, 3)))
static void note(struct np_partner *p, const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->env->note(text, p->env->arg);
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
	note(p, "partner on %s lost", node_of(p));
	p->noted = true;
	return INFINITY;
}

static double check_silent(struct np_partner *p, double now_sec,
			   double since_sec)
{
	if (p->state == NP_PARTNER_SILENT)
		return INFINITY;
	if (now_sec < since_sec + p->patience_sec)
		return since_sec + p->patience_sec;
	p->state = NP_PARTNER_SILENT;
	note(p, "partner on %s silent for %g s", node_of(p), p->patience_sec);
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
	note(p, "partner on %s is back", node_of(p));
	return true;
}
