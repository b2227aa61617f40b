/*
 * The keys of netprof.conf that say how jobs are placed; see netprof.conf(5).
 * Part of struct np_conf.  No I/O, but names of TrustedUsers and Claim are
 * looked up when they are set.  Of a key that may be repeated, each adds to
 * what was given before, and an empty value begins anew.
 */
#ifndef NP_PLACE_CONF_H
#define NP_PLACE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_claim.h"
#include "np_err.h"
#include "np_snapshot.h"

#define NP_PLACE_MAX_PARTITIONS 64
#define NP_PLACE_MAX_RULES 64
#define NP_PLACE_MAX_TRUSTED 64
#define NP_PLACE_NAME_MAX 63	 /* of a partition */
#define NP_PLACE_PATTERN_MAX 127 /* of a pattern */
#define NP_PLACE_TEXT_MAX 1024	 /* of a job name or comment that is matched */

/* Jobs whose name or comment matches a pattern (fnmatch(3)) run app. */
struct np_place_rule {
	enum np_place_what { NP_PLACE_JOB_NAME, NP_PLACE_COMMENT } what;
	char pattern[NP_PLACE_PATTERN_MAX + 1];
	char app[NP_APP_MAX + 1];
};

struct np_place_conf {
	enum np_mode mode;  /* Placement=off|advise|prefer|enforce */
	struct {	    /* PlacementPartition=NAME:MODE; may be repeated */
		char name[NP_PLACE_NAME_MAX + 1];
		enum np_mode mode;
	} partition[NP_PLACE_MAX_PARTITIONS];
	size_t n_partitions;
	double max_slowdown;  /* MaxSlowdown=10%, 0% to 10000%; a fraction */
	double max_defer_sec; /* MaxDefer=1h, 1s to 365 days */
	double interval_sec;  /* PlacementInterval=2s, 100ms to 1h: between two
				 decisions */
	char unknown_as[NP_APP_MAX + 1]; /* UnknownAs=APP: a published profile;
					    "" (UnknownAs=none): no load */
	uint32_t trusted[NP_PLACE_MAX_TRUSTED]; /* TrustedUsers=USER,...: uids
			or names; their profiles keep others away as published
			ones do; may be repeated */
	size_t n_trusted;
	struct np_place_rule rule[NP_PLACE_MAX_RULES]; /* JobNameApp=PATTERN:APP,
			CommentApp=PATTERN:APP; may be repeated, the first that
			matches counts */
	size_t n_rules;
	struct np_claim_rule claim[NP_CLAIM_MAX_RULES]; /* Claim=PATTERN:WHO,...
			may be repeated */
	size_t n_claims;
};

void np_place_conf_init(struct np_place_conf *c); /* Placement=off */

/* The mode of a partition; NULL: the default one. */
enum np_mode np_place_conf_mode(const struct np_place_conf *c,
				const char *partition);

/* Is there a partition whose mode is not off? */
bool np_place_conf_at_work(const struct np_place_conf *c);

/* "enforce" */
const char *np_mode_name(enum np_mode mode);

/*
 * The application of a job whose name and comment these are (NULL or "":
 * none), by the rules; NULL: no rule matches.  A text of more than
 * NP_PLACE_TEXT_MAX characters matches none: users choose them, and what it
 * costs is to be bounded.
 */
const char *np_place_conf_app(const struct np_place_conf *c,
			      const char *job_name, const char *comment);

#endif
