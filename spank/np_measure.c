#include "np_measure.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_joiner.h"
#include "np_pick.h"
#include "np_pingpong.h"
#include "np_sideenv.h"

#define TOGETHER_SEC 0.5	/* members come within this, and ... */
#define TOGETHER_PER_NODE_SEC 0.02 /* ... as tasks come up one by one */
#define NOBODY_SEC 30.0		/* then nobody will come */
#define LEVEL_UP_SEC 3.0	/* for the level's steps to start ... */
#define LEVEL_PER_NODE_SEC 0.05
#define OVERHEAD_BYTES 132 /* of a message: headers, and an acknowledgement */
#define LOST_SEC 3.0 /* the step's end may be seen a little later */

extern char **environ;

int np_measure_init(struct np_measure *m, int listen_fd)
{
	m->first_sec = m->level_sec = m->lost_sec = NAN;
	m->members = np_membership_new(listen_fd, &m->invite);
	m->aggregate = np_aggregate_new(m->r);
	m->counters = np_counters_new(m->r);
	return m->members && m->aggregate && m->counters ? 0 : -ENOMEM;
}

/* ---- reports ---- */

/* Ranks and sizes are those of a pair; the record counts all together. */
static void number(const struct np_measure *m, const struct np_member_facts *g,
		   struct np_report *rep)
{
	rep->rank = g->rank;
	if (rep->kind == NP_REPORT_HELLO)
		rep->hello.n_ranks = (uint32_t)
			np_membership_count(m->members, g->kind).called;
}

/* No level runs beside the program. */
static bool is_alone(const struct np_measure *m)
{
	return m->course ? np_course_is_alone(m->course, m->now_sec) :
			   !m->r->level;
}

/*
 * Bytes less what the probe itself sends and hears in an exchange: two rounds,
 * each a message and its answer, and what carries them.
 */
static void hear_moved(struct np_measure *m, const struct np_member_facts *g,
		       const struct np_report *rep)
{
	double own = 2.0 * (NP_PINGPONG_MIN_BYTES + m->conf->message_bytes +
			    2 * OVERHEAD_BYTES) *
		     rep->moved.elapsed_sec / m->conf->period_sec;

	if (g->kind == NP_MEMBER_PROBE && is_alone(m))
		np_counters_report(m->counters, rep, m->now_sec);
	if (m->course && rep->kind == NP_REPORT_CALLS)
		np_course_called(m->course, rep->rank, m->now_sec,
				 rep->moved.elapsed_sec,
				 (double)rep->moved.n);
	else if (m->course)
		np_course_moved(m->course, rep->rank, m->now_sec,
				rep->moved.elapsed_sec,
				fmax((double)rep->moved.n - own, 0));
}

/*
 * Latencies are the program's own: in a run with blocks, none of those beside
 * a level.
 */
static void hear_probe(struct np_measure *m, const struct np_report *rep)
{
	bool counts = rep->kind != NP_REPORT_LATENCY &&
		      rep->kind != NP_REPORT_NIC;

	if (counts || !m->course || np_course_is_alone(m->course, m->now_sec))
		np_aggregate_impact(m->aggregate, rep);
	if (counts || is_alone(m))
		np_counters_report(m->counters, rep, m->now_sec);
}

static void hear_block(struct np_measure *m, const struct np_report *rep)
{
	if (rep->kind == NP_REPORT_HELLO)
		np_course_level_up(m->course, m->now_sec);
	else if (rep->kind == NP_REPORT_ROUND)
		np_course_rounds(m->course, m->now_sec, &rep->window.sec);
}

static void on_report(size_t member, char *line, void *arg)
{
	struct np_measure *m = arg;
	const struct np_member_facts *g = np_membership_of(m->members, member);
	struct np_report rep;

	if (np_report_parse(line, &rep))
		return;
	number(m, g, &rep);
	if (m->course && g->kind == NP_MEMBER_LEVEL)
		hear_block(m, &rep);
	else if (rep.kind == NP_REPORT_MOVED || rep.kind == NP_REPORT_CALLS)
		hear_moved(m, g, &rep);
	else if (g->kind == NP_MEMBER_PROBE)
		hear_probe(m, &rep);
	else if (m->r->level)
		np_aggregate_level_report(m->aggregate, &rep, m->now_sec,
					  m->program_start_sec,
					  m->program_end_sec);
}

void np_measure_serve(struct np_measure *m, double now_sec)
{
	m->now_sec = now_sec;
	np_membership_serve(m->members, now_sec, on_report, m);
	np_level_steps_read(&m->level_steps);
}

/* ---- who is called ---- */

/* Numbers of the members of a kind that wait; room for all members. */
static size_t list_here(const struct np_measure *m, enum np_member_kind kind,
			size_t *member)
{
	size_t n = 0;

	for (size_t i = 0; i < np_membership_size(m->members); i++) {
		const struct np_member_facts *g = np_membership_of(m->members,
								   i);

		if (g->here && g->kind == kind)
			member[n++] = i;
	}
	return n;
}

/*
 * To run a program, with its arguments and perhaps variables before it, and
 * what every process of ours is told of the network.
 */
__attribute__((format(printf, 4, 5)))
static int call(struct np_measure *m, const size_t member[], size_t n,
		const char *fmt, ...)
{
	char command[PATH_MAX + 1024] = "";
	struct np_sideenv_network net;
	size_t used = 0;
	va_list ap;

	np_sideenv_network(m->conf, &net);
	for (size_t i = 0; net.more[i]; i++)
		used += (size_t)snprintf(command + used, sizeof(command) - used,
					 "%s ", net.more[i]);
	va_start(ap, fmt);
	vsnprintf(command + used, sizeof(command) - used, fmt, ap);
	va_end(ap);
	/* Names with dots cannot be told from the address that a probe has. */
	for (size_t i = 0; i < n; i++)
		np_membership_set_leaf(m->members, member[i],
			np_leafmap_find(m->where->leaves,
				np_membership_of(m->members, member[i])->name));
	return np_membership_call(m->members, member, n, command);
}

static int call_pair(struct np_measure *m, const size_t member[], size_t n)
{
	return call(m, member, n, "%s/netprof-impactb --bytes=%u --period=%.9gs"
		    " --report-every=%g", m->conf->bindir,
		    m->conf->message_bytes, m->conf->period_sec,
		    m->course ? NP_COURSE_WINDOW_SEC : 1.0);
}

/* Those of the step's own nodes, each by the leaf that Slurm says it is on. */
static size_t pick_pairs(struct np_measure *m, const size_t member[], size_t n,
			 struct np_pick_group *group)
{
	const char *leaf[NP_MEMBERSHIP_MAX];

	for (size_t i = 0; i < n; i++) {
		const char *name = np_membership_of(m->members,
						    member[i])->name;

		leaf[i] = np_hosts_has(&m->where->step, name) ?
			np_leafmap_find(m->where->leaves, name) : NULL;
	}
	return np_pick(leaf, n, m->conf->probe_pairs, m->invite.seed, group);
}

static void call_probes(struct np_measure *m)
{
	struct np_pick_group group[NP_MEMBERSHIP_MAX / 2 + 1];
	size_t member[NP_MEMBERSHIP_MAX], n, groups;

	n = list_here(m, NP_MEMBER_PROBE, member);
	groups = pick_pairs(m, member, n, group);
	for (size_t i = 0; i < groups; i++) {
		size_t of[NP_PICK_MOST];

		for (size_t k = 0; k < group[i].n; k++)
			of[k] = member[group[i].node[k]];
		if (!call_pair(m, of, group[i].n))
			m->picked = true;
	}
	if (m->picked)
		np_membership_dismiss(m->members, NP_MEMBER_PROBE);
}

/* The first who knows says it. */
static void hear_mpi(struct np_measure *m)
{
	for (size_t i = 0; i < np_membership_size(m->members); i++) {
		const struct np_member_facts *g = np_membership_of(m->members,
								   i);

		if (!m->r->mpi_version && g->mpi[0])
			m->r->mpi_version = strdup(g->mpi);
	}
}

static void tick_probes(struct np_measure *m)
{
	size_t here = np_membership_count(m->members, NP_MEMBER_PROBE).here;

	if (m->picked || here < 2)
		return;
	if (isnan(m->first_sec))
		m->first_sec = m->now_sec;
	if (here >= m->expected ||
	    m->now_sec - m->first_sec >= TOGETHER_SEC +
				      TOGETHER_PER_NODE_SEC * m->r->n_nodes)
		call_probes(m);
}

/* ---- the level ---- */

int np_measure_start_level(struct np_measure *m, double now_sec,
			   struct np_err *err)
{
	const struct np_order *o = m->order;
	struct np_sidejob job = { o->srun, o->job_id, o->het_component,
				  o->het_job_id };
	char tokens[NP_JOINER_TOKENS];
	const char *more[] = { tokens, NULL };
	char **env;
	int rc;

	np_joiner_tokens(&m->invite, tokens);
	env = np_sideenv_make(environ, more);
	if (!env)
		return np_errf(err, -ENOMEM, "out of memory");
	m->level_sec = now_sec;
	rc = np_level_steps_start(&m->level_steps, &job, m->conf,
				  &m->where->level, m->invite.port,
				  m->course != NULL, env, err);
	free(env);
	return rc;
}

/* more: further arguments, each with a space before it. */
static int call_compress(struct np_measure *m, const size_t member[], size_t n,
			 const char *level, const char *more)
{
	return call(m, member, n, "SLURM_JOB_ID=%u SLURM_STEP_ID=%u "
		    "%s/netprof-compressionb --level=%s%s", m->order->job_id,
		    m->order->step_id, m->conf->bindir, level, more);
}

static void call_level(struct np_measure *m, const size_t member[], size_t n)
{
	m->level_called = !call_compress(m, member, n, m->order->level, "");
	if (n < m->where->level.n)
		np_record_note(m->r, "the level came up on %zu of its %zu "
			       "nodes", n, m->where->level.n);
}

/* A block of a few seconds, on all nodes: the processes end by themselves. */
static void call_block(struct np_measure *m)
{
	size_t member[NP_MEMBERSHIP_MAX];
	size_t n = list_here(m, NP_MEMBER_LEVEL, member);
	char more[64];

	if (!n || n < m->level_steps.n)
		return; /* they come */
	snprintf(more, sizeof(more), " --duration=%.3fs --report-every=%g",
		 m->block_sec, NP_COURSE_WINDOW_SEC);
	call_compress(m, member, n, m->block, more);
	m->block = NULL;
}

static void tick_course(struct np_measure *m)
{
	const char *level;

	if (!m->course || !isnan(m->program_end_sec))
		return;
	level = np_course_tick(m->course, m->now_sec, m->program_start_sec,
			       &m->block_sec);
	if (level || !np_course_wants_level(m->course))
		m->block = level;
	if (m->block)
		call_block(m);
}

static void tick_level(struct np_measure *m)
{
	double patience = LEVEL_UP_SEC +
			  LEVEL_PER_NODE_SEC * (double)m->level_steps.n;
	size_t member[NP_MEMBERSHIP_MAX], n;

	if (!m->level_steps.n || m->level_called || m->course)
		return;
	n = list_here(m, NP_MEMBER_LEVEL, member);
	if (n == m->level_steps.n ||
	    (n > 1 && m->now_sec - m->level_sec > patience))
		call_level(m, member, n);
}

/* ---- how they fare ---- */

bool np_measure_complete(const struct np_measure *m)
{
	return np_aggregate_impact_is_up(m->aggregate) &&
	       (np_aggregate_byes(m->aggregate) ==
		m->r->probe.n_processes ||
		(np_measure_probes_gone(m) && !m->cut));
}

bool np_measure_probes_gone(const struct np_measure *m)
{
	struct np_membership_count c = np_membership_count(m->members,
							   NP_MEMBER_PROBE);

	return c.gone == c.called;
}

bool np_measure_all_gone(struct np_measure *m)
{
	struct np_membership_count c = np_membership_count(m->members,
							   NP_MEMBER_LEVEL);

	return np_measure_probes_gone(m) && c.gone == c.called &&
	       !np_level_steps_running(&m->level_steps);
}

/* A last word of theirs that was no report says why; false: there is none. */
static bool last_word(const struct np_measure *m, enum np_member_kind kind,
		      char *buf, size_t len)
{
	bool found = false;

	snprintf(buf, len, "they ended");
	for (size_t i = 0; i < np_membership_size(m->members); i++) {
		const struct np_member_facts *g = np_membership_of(m->members,
								   i);

		if (g->kind != kind || !g->last[0])
			continue;
		snprintf(buf, len, "%s: %s", g->name, g->last);
		found = true;
	}
	return found;
}

/* Beside a step that goes on, not at its end. */
static void note_losses(struct np_measure *m)
{
	size_t gone = np_membership_count(m->members, NP_MEMBER_PROBE).gone;

	if (gone <= np_aggregate_byes(m->aggregate) ||
	    !isnan(m->program_end_sec))
		return;
	if (isnan(m->lost_sec))
		m->lost_sec = m->now_sec;
	m->cut |= m->now_sec - m->lost_sec > LOST_SEC;
}

static bool probes_are_lost(struct np_measure *m, char *cause, size_t len)
{
	double began = m->program_start_sec + m->after_sec;
	size_t here;

	if (m->picked && np_measure_probes_gone(m)) {
		bool why = last_word(m, NP_MEMBER_PROBE, cause, len);

		return m->cut || (why &&
				  !np_aggregate_impact_is_up(m->aggregate));
	}
	if (m->picked || isnan(began) || m->now_sec - began < NOBODY_SEC)
		return false;
	here = np_membership_count(m->members, NP_MEMBER_PROBE).here;
	if (here < m->expected && np_membership_full(m->members))
		snprintf(cause, len, "%zu of %zu nodes could be let in: %s",
			 here, m->expected,
			 strerror(np_membership_full(m->members)));
	else if (here < m->expected)
		snprintf(cause, len, "%zu of %zu nodes answered (expected the "
			 "plugin on the nodes, and TCP port %u of this host "
			 "open to them)", here, m->expected, m->invite.port);
	else
		snprintf(cause, len, "of %zu nodes that may measure no two "
			 "share a leaf switch (ProbeNodes=%u)", here,
			 m->conf->probe_nodes);
	return true;
}

/* Who leaves for want of memory; others may go on. */
static bool memory_is_short(const struct np_measure *m, char *cause, size_t len)
{
	for (size_t i = 0; i < np_membership_size(m->members); i++) {
		const struct np_member_facts *g = np_membership_of(m->members,
								   i);

		if (!g->memory[0])
			continue;
		snprintf(cause, len, "%s: left, as %s", g->name, g->memory);
		return true;
	}
	return false;
}

static bool level_is_lost(struct np_measure *m, char *cause, size_t len)
{
	struct np_membership_count c = np_membership_count(m->members,
							   NP_MEMBER_LEVEL);

	if (!m->level_steps.n || np_level_steps_running(&m->level_steps) ||
	    (c.called && c.gone < c.called))
		return false;
	last_word(m, NP_MEMBER_LEVEL, cause, len);
	np_level_steps_cause(&m->level_steps, cause, len);
	return true;
}

bool np_measure_tick(struct np_measure *m, double now_sec, const char **what,
		     char *cause, size_t len)
{
	m->now_sec = now_sec;
	tick_level(m);
	tick_course(m);
	tick_probes(m);
	hear_mpi(m);
	note_losses(m);
	if (!m->memory_told && memory_is_short(m, cause, len)) {
		*what = "a probe";
		return m->memory_told = true;
	}
	if (!m->probes_told && probes_are_lost(m, cause, len)) {
		*what = "the probes";
		return m->probes_told = true;
	}
	if (!m->level_told && level_is_lost(m, cause, len)) {
		*what = "the level";
		return m->level_told = true;
	}
	return false;
}

void np_measure_end(struct np_measure *m)
{
	np_membership_end(m->members, NP_MEMBER_PROBE);
	np_membership_end(m->members, NP_MEMBER_LEVEL);
}

void np_measure_join_here(struct np_measure *m)
{
	const struct np_joiner j = { .invite = &m->invite,
				     .host = "localhost" };

	np_joiner_start(&j, environ);
	m->expected++;
}
