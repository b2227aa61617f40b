#include "cli_compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool is_time(const struct cli_side *s, size_t i, bool beside)
{
	const struct np_record *r = s->runs.run[i];
	enum np_run_use use = s->profile.ev.use[i];

	if (s->run)
		return !r->exit_code && r->state != NP_RUN_RUNNING;
	if (r->level)
		return false;
	return beside ? use == NP_RUN_NEIGHBOURS || use == NP_RUN_LATENCY :
			use == NP_RUN_ALONE || use == NP_RUN_TIME;
}

bool cli_side_counts(const struct cli_side *s, size_t i)
{
	return s->run || is_time(s, i, s->beside);
}

static void take_times(struct cli_side *s, bool beside)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < s->runs.n; i++)
		if (is_time(s, i, beside))
			np_moments_add(&m, np_record_run_sec(s->runs.run[i]));
	if (!m.n)
		return;
	s->run_sec = np_mean_of(&m);
	s->shortest_sec = m.min;
	s->longest_sec = m.max;
	s->beside = beside;
}

int cli_side_make(struct cli_side *s, double now)
{
	const struct np_runs *const idle[] = {
		&s->found.idle[0], &s->found.idle[1],
	};
	int rc = np_profile_make(&s->runs, idle, 2, now, &s->profile);

	if (rc)
		return rc;
	take_times(s, false);
	if (!s->run_sec.n)
		take_times(s, true);
	if (!s->run)
		s->latency = s->profile.ev.latency;
	else if (np_run_latency(s->run).n)
		rc = np_sample_add(&s->latency, s->run);
	return rc;
}

void cli_side_free(struct cli_side *s)
{
	if (s->run)
		np_hist_free(s->latency.hist);
	np_profile_free(&s->profile);
	free(s->runs.run);
	cli_profile_free(&s->found);
}
