/* The verdict in words: what a user is told first. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_profile.h"
#include "cli_text.h"

double cli_chance(const struct np_mean *a, const struct np_mean *b)
{
	double noise = CLI_LEAST_NOISE;

	if (a->n > 1)
		noise = fmax(noise, a->sd / a->mean);
	if (b->n > 1)
		noise = fmax(noise, b->sd / b->mean);
	return 2 * noise * sqrt(1.0 / (double)a->n + 1.0 / (double)b->n);
}

const char *cli_use_name(const struct np_profile *p)
{
	static const char *const names[] = {
		[NP_USE_UNKNOWN] = "unknown", [NP_USE_LIGHT] = "light",
		[NP_USE_MODERATE] = "moderate", [NP_USE_HEAVY] = "heavy",
		[NP_USE_SATURATED] = "saturated",
	};

	return p->is_idle ? "idle" : names[p->verdict.use];
}

const char *cli_phase_name(enum np_phase_kind kind)
{
	static const char *const names[] = {
		[NP_PHASE_UNKNOWN] = "unknown", [NP_PHASE_STEADY] = "steady",
		[NP_PHASE_PHASES] = "phases",
	};

	return names[kind];
}

bool cli_say_left_out(const struct np_evidence *e, char *buf, size_t len)
{
	buf[0] = '\0';
	for (int use = NP_RUN_FABRIC; use < NP_RUN_USES; use++)
		if (e->count[use])
			cli_add(buf, len, "%s%zu %s", *buf ? ", " : "",
				e->count[use],
				np_run_use_words((enum np_run_use)use));
	return *buf;
}

static void say_phases(const struct np_profile *p, char *buf, size_t len)
{
	switch (p->phases.kind) {
	case NP_PHASE_PHASES:
		snprintf(buf, len, ", in phases (busy %.0f %% of the time)",
			 100 * p->phases.busy_share);
		break;
	case NP_PHASE_STEADY:
		snprintf(buf, len, ", steadily");
		break;
	case NP_PHASE_UNKNOWN:
		snprintf(buf, len, "; its probes are too few to tell whether "
			 "steadily or in phases");
		break;
	}
}

/* Why the newest run has no latencies, or none that count. */
static void say_nothing_measured(const struct np_profile *p, char *buf)
{
	const struct np_record *r = p->runs->run[0];
	bool measured = np_run_latency(r).n > 0;
	const char *why = NULL;

	if (measured)
		why = np_run_use_words(p->ev.use[0]);
	for (size_t i = 0; i < r->n_leaves && !why; i++)
		why = r->leaves[i].skipped;
	if (!why && r->n_notes)
		why = r->notes[r->n_notes - 1];
	snprintf(buf, CLI_SENTENCE, "%s: no latency %s yet. Newest run %u.%u: "
		 "%s.", p->runs->app, measured ? "counts" : "has been measured",
		 r->job_id, r->step_id,
		 why ? why : "it says nothing about it");
}

/* "1.2 MB/s" */
static const char *rate(double bytes_per_sec, char buf[CLI_NUMBER])
{
	char bytes[CLI_NUMBER];

	snprintf(buf, CLI_NUMBER, "%.20s/s",
		 cli_bytes((uint64_t)bytes_per_sec, bytes));
	return buf;
}

static void say_no_baseline(const struct np_profile *p, char *buf)
{
	const char *cause = "no idle network was measured to compare with";

	if (p->verdict.against == NP_AGAINST_IDLE)
		cause = "other jobs shared the leaf switches of all runs that "
			"measured the network idle";
	else if (p->idle.moments.n >= NP_VERDICT_PROBES)
		cause = "the network was not idle in the runs that measured "
			"it idle: their nodes sent too much";
	else if (p->idle.n_runs)
		cause = "too few probes measured the idle network";
	snprintf(buf, CLI_SENTENCE, "%s: how it uses the network is not known "
		 "yet, as %s. This measures it: " CLI_MEASURE_IDLE,
		 p->runs->app, cause);
}

/* The latencies and the counters of the nodes' devices disagree. */
static void say_contradiction(const struct np_profile *p, char *buf)
{
	const struct np_verdict *v = &p->verdict;
	char moved[CLI_NUMBER], share[CLI_NUMBER];

	rate(v->rate, moved);
	if (v->doubt == NP_DOUBT_SILENT)
		snprintf(buf, CLI_SENTENCE, "%s: how it uses the network is "
			 "not known yet: %s of its probes were delayed, but "
			 "each measured node sent and received only %s. "
			 "Something else delayed them, or the idle network has "
			 "changed: "
			 CLI_MEASURE_IDLE, p->runs->app,
			 cli_percent(v->delayed_share, share), moved);
	else
		snprintf(buf, CLI_SENTENCE, "%s: how it uses the network is "
			 "not known yet: each measured node sent and received "
			 "%s, as much as its link carries, but probes were not "
			 "delayed. The idle network has to be measured anew: "
			 CLI_MEASURE_IDLE, p->runs->app, moved);
}

static void say_unknown(const struct np_profile *p, char *buf)
{
	unsigned long long probes = p->ev.latency.moments.n;

	if (p->verdict.doubt == NP_DOUBT_BASELINE)
		say_no_baseline(p, buf);
	else if (p->verdict.doubt != NP_DOUBT_PROBES)
		say_contradiction(p, buf);
	else if (p->ev.latency.n_runs)
		snprintf(buf, CLI_SENTENCE, "%s: %llu %s too few to tell how "
			 "it uses the network, %d are needed; longer runs or "
			 "--netprofile-period=20ms give more.", p->runs->app,
			 probes, probes == 1 ? "probe is" : "probes are",
			 NP_VERDICT_PROBES);
	else if (p->ev.n_levels)
		snprintf(buf, CLI_SENTENCE, "%s was measured only under "
			 "interference. How it uses the network says a run "
			 "without: sbatch --netprofile=%s job.sh", p->runs->app,
			 p->runs->app);
	else
		say_nothing_measured(p, buf);
}

static void say_use(const struct np_profile *p, char *buf)
{
	static const char *const words[] = {
		[NP_USE_LIGHT] = "uses the network lightly",
		[NP_USE_MODERATE] = "uses the network moderately",
		[NP_USE_HEAVY] = "uses the network heavily",
		[NP_USE_SATURATED] = "saturates the network",
	};
	static const char *const guesses[] = {
		[NP_USE_LIGHT] = "seems to use the network lightly",
		[NP_USE_MODERATE] = "seems to use the network moderately",
		[NP_USE_HEAVY] = "seems to use the network heavily",
		[NP_USE_SATURATED] = "seems to saturate the network",
	};
	char phases[128], moved[CLI_NUMBER];

	if (p->is_idle && p->verdict.doubt == NP_DOUBT_BASELINE) {
		snprintf(buf, CLI_SENTENCE, "idle was not idle: each measured "
			 "node sent and received %s.", rate(p->verdict.rate, moved));
		return;
	}
	if (p->verdict.use == NP_USE_UNKNOWN) {
		say_unknown(p, buf);
		return;
	}
	if (p->is_idle) {
		snprintf(buf, CLI_SENTENCE, "idle is the network at rest: what "
			 "other profiles are compared with.");
		return;
	}
	say_phases(p, phases, sizeof(phases));
	snprintf(buf, CLI_SENTENCE, "%s %s%s.", p->runs->app,
		 (p->verdict.guess ? guesses : words)[p->verdict.use], phases);
}

/* What the verdict rests on, where that is not two runs made for it. */
static void say_basis(const struct np_profile *p, char *buf)
{
	const struct np_sample *idle = p->is_idle ? &p->ev.latency : &p->idle;
	bool known = p->verdict.use != NP_USE_UNKNOWN;

	buf[0] = '\0';
	if (known && p->verdict.guess && !p->is_idle)
		cli_add(buf, CLI_SENTENCE, "This rests on latencies alone: the "
			"bytes that its nodes sent were not counted. ");
	if (known && idle->source == NP_SOURCE_QUIET)
		cli_add(buf, CLI_SENTENCE, "The idle network is known from "
			"quiet moments of flagged runs; " CLI_MEASURE_IDLE
			" measures it better. ");
	if (p->ev.latency.neighbours)
		cli_add(buf, CLI_SENTENCE, "All runs shared a leaf switch with "
			"other jobs: some of the delay may be theirs. ");
	if (p->idle.neighbours)
		cli_add(buf, CLI_SENTENCE, "All idle runs shared a leaf switch "
			"with other jobs. ");
	if (*buf)
		buf[strlen(buf) - 1] = '\0';
}

/* The level that slows it most; NULL if none can be compared. */
static const struct np_evidence_level *worst_level(const struct np_profile *p)
{
	const struct np_evidence_level *worst = NULL;

	for (size_t i = 0; i < p->ev.n_levels; i++) {
		const struct np_evidence_level *l = &p->ev.level[i];

		if (np_mean_known(&l->slowdown) &&
		    (!worst || l->slowdown.mean > worst->slowdown.mean))
			worst = l;
	}
	return worst;
}

/* "1 run", "3 blocks": what the level's slowdown is from. */
static const char *say_source(const struct np_evidence_level *l, char buf[32])
{
	uint32_t n = l->slowdown.n;

	snprintf(buf, 32, "%u %s%s", n, l->of_blocks ? "block" : "run",
		 n == 1 ? "" : "s");
	return buf;
}

static void say_interference(const struct np_profile *p, char *buf)
{
	const struct np_evidence_level *worst = worst_level(p);
	char change[CLI_NUMBER], source[32];

	if (p->is_idle)
		buf[0] = '\0';
	else if (!p->ev.n_levels)
		snprintf(buf, CLI_SENTENCE, "Not measured under interference "
			 "yet: sbatch --netprofile=%s --netprofile-calibrate "
			 "job.sh measures that.", p->runs->app);
	else if (!worst)
		snprintf(buf, CLI_SENTENCE, "Measured under interference, but "
			 "its slowdown is not known: a successful run alone "
			 "with the same command, nodes and tasks is missing.");
	else if (worst->slowdown.mean < 0.02)
		snprintf(buf, CLI_SENTENCE, "Interference does not slow it: "
			 "%s at most, beside level %s (%s).",
			 cli_change(worst->slowdown.mean, change), worst->name,
			 say_source(worst, source));
	else
		snprintf(buf, CLI_SENTENCE, "Interference slows it: %s run "
			 "time beside level %s (%s).",
			 cli_change(worst->slowdown.mean, change), worst->name,
			 say_source(worst, source));
}

const char *cli_say_verdict(const struct np_profile *p, int i,
			    char buf[CLI_SENTENCE])
{
	static void (*const say[CLI_SENTENCES])(const struct np_profile *p,
						char *buf) = {
		say_use, say_basis, say_interference,
	};

	say[i](p, buf);
	return buf;
}
