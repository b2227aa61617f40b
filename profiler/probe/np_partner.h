/*
 * Whether the process at the other end is still there.  A partner that falls
 * silent or is lost is noted once, and never a reason to end.
 */
#ifndef NP_PARTNER_H
#define NP_PARTNER_H

#include <stdbool.h>

#include "np_loop.h"

/*
 * When a step ends, one process ends first.  So a loss is noted only after
 * this time, which nobody sees who is about to end as well.
 */
#define NP_PARTNER_GRACE_SEC 2.0

enum np_partner_state {
	NP_PARTNER_THERE,
	NP_PARTNER_SILENT, /* overdue; may still come back */
	NP_PARTNER_LOST,   /* for good */
};

/* All public; set up by hand, the last part zero. */
struct np_partner {
	const struct np_engine_env *env;
	uint32_t rank;
	double patience_sec;

	enum np_partner_state state;
	double lost_sec; /* when it was found lost */
	bool noted;
};

/*
 * Look after the partner, from whom something has been expected since
 * since_sec (INFINITY: nothing is).  *until_sec, if not INFINITY, is when to
 * look again although nothing happens.
 */
enum np_partner_state np_partner_check(struct np_partner *p, double now_sec,
				       double since_sec, double *until_sec);

/*
 * It was heard from.  Returns true if that ends a silence, which is noted:
 * a time measured across it says nothing about the network.
 */
bool np_partner_heard(struct np_partner *p);

/* An operation with it failed for good. */
void np_partner_lost(struct np_partner *p, double now_sec);

#endif
