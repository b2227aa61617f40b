#include "np_measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_describe.h"
#include "np_joiner.h"
#include "np_pick.h"
#include "np_sideenv.h"

#define TOGETHER_SEC 0.5	/* guests come within this, and ... */
#define TOGETHER_PER_NODE_SEC 0.02 /* ... as tasks come up one by one */
#define NOBODY_SEC 30.0		/* then nobody will come */
#define LEVEL_UP_SEC 3.0	/* for the level's steps to start ... */
#define LEVEL_PER_NODE_SEC 0.05
#define LOST_SEC 3.0 /* the step's end may be seen a little later */

extern char **environ;

int np_measure_init(struct np_measure *m, int listen_fd)
{
	m->first_sec = m->level_sec = m->lost_sec = NAN;
	m->party = np_party_new(listen_fd, &m->invite);
	m->fold = np_fold_new(m->r);
	m->level_fold = np_fold_level_new(m->r);
	return m->party && m->fold && m->level_fold ? 0 : -ENOMEM;
}

/* ---- reports ---- */

struct hearing {
	struct np_measure *m;
	const struct np_measure_clock *c;
};

/* Ranks and sizes are those of a pair; the record counts all together. */
static void number(const struct np_measure *m, const struct np_guest_facts *g,
		   struct np_report *rep)
{
	rep->rank = g->seat;
	if (rep->kind == NP_REPORT_HELLO)
		rep->hello.n_ranks = (uint32_t)np_party_count(m->party,
							      g->kind).called;
}

static void on_report(size_t guest, char *line, void *arg)
{
	const struct hearing *h = arg;
	struct np_measure *m = h->m;
	const struct np_guest_facts *g = np_party_guest(m->party, guest);
	struct np_report rep;

	if (np_report_parse(line, &rep, NULL))
		return;
	number(m, g, &rep);
	if (g->kind == NP_GUEST_PROBE)
		np_fold_impact(m->fold, &rep);
	else if (m->r->level)
		np_fold_level_report(m->level_fold, &rep, h->c->now_sec,
				     h->c->program_start_sec,
				     h->c->program_end_sec);
}

void np_measure_serve(struct np_measure *m, const struct np_measure_clock *c)
{
	struct hearing h = { m, c };

	np_party_serve(m->party, c->now_sec, on_report, &h);
	np_crew_read(&m->crew);
}

size_t np_measure_fds(const struct np_measure *m)
{
	return NP_PARTY_FDS + m->crew.n;
}

size_t np_measure_poll(const struct np_measure *m, struct pollfd *out)
{
	size_t n = np_party_poll(m->party, out);

	return n + np_crew_poll(&m->crew, out + n);
}

/* ---- who is called ---- */

/* Numbers of the guests of a kind that wait; room for all guests. */
static size_t list_here(const struct np_measure *m, enum np_guest_kind kind,
			size_t *guest)
{
	size_t n = 0;

	for (size_t i = 0; i < np_party_size(m->party); i++) {
		const struct np_guest_facts *g = np_party_guest(m->party, i);

		if (g->here && g->kind == kind)
			guest[n++] = i;
	}
	return n;
}

/* What every process of ours is told of the network: "A=x B=y ". */
static void network_words(const struct np_conf *conf, char *buf, size_t len)
{
	struct np_sideenv_network net;
	int used = 0;

	np_sideenv_network(conf, &net);
	buf[0] = '\0';
	for (size_t i = 0; net.more[i]; i++)
		used += snprintf(buf + used, len - (size_t)used, "%s ",
				 net.more[i]);
}

static int call_pair(struct np_measure *m, const size_t guest[], size_t n)
{
	char net[400], command[PATH_MAX + 512];

	network_words(m->conf, net, sizeof(net));
	snprintf(command, sizeof(command),
		 "%s%s/netprof-impactb --bytes=%u --period=%.9gs", net,
		 m->conf->bindir, m->conf->message_bytes, m->conf->period_sec);
	return np_party_call(m->party, guest, n, command);
}

/* Guests of the step's own nodes, each by the leaf that Slurm says it is on. */
static size_t pick_pairs(struct np_measure *m, const size_t guest[], size_t n,
			 struct np_pick_group *group)
{
	const char *leaf[NP_PARTY_MAX];

	for (size_t i = 0; i < n; i++) {
		const char *name = np_party_guest(m->party, guest[i])->name;

		leaf[i] = np_hosts_has(&m->where->step, name) ?
			np_leafmap_find(m->where->leaves, name) : NULL;
	}
	return np_pick(leaf, n, m->conf->probe_pairs, m->invite.seed, group);
}

static void call_probes(struct np_measure *m)
{
	struct np_pick_group group[NP_PARTY_MAX / 2 + 1];
	size_t guest[NP_PARTY_MAX], n, groups;

	n = list_here(m, NP_GUEST_PROBE, guest);
	groups = pick_pairs(m, guest, n, group);
	for (size_t i = 0; i < groups; i++) {
		size_t of[NP_PICK_MOST];

		for (size_t k = 0; k < group[i].n; k++)
			of[k] = guest[group[i].node[k]];
		if (!call_pair(m, of, group[i].n))
			m->picked = true;
	}
	if (m->picked)
		np_party_dismiss(m->party, NP_GUEST_PROBE);
}

static void tick_probes(struct np_measure *m, double now_sec)
{
	size_t here = np_party_count(m->party, NP_GUEST_PROBE).here;

	if (m->picked || here < 2)
		return;
	if (isnan(m->first_sec))
		m->first_sec = now_sec;
	if (here >= m->expected ||
	    now_sec - m->first_sec >= TOGETHER_SEC +
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
	const char *more[] = { m->tokens, NULL };

	snprintf(m->tokens, sizeof(m->tokens), NP_TOKENS_ENV "=%s %s",
		 m->invite.guest, m->invite.host);
	m->env = np_sideenv_make(environ, more);
	if (!m->env)
		return np_errf(err, -ENOMEM, "out of memory");
	m->level_sec = now_sec;
	return np_crew_start(&m->crew, &job, m->conf, &m->where->level,
			     m->invite.port, m->env, err);
}

static void call_level(struct np_measure *m, const size_t guest[], size_t n)
{
	char net[400], command[PATH_MAX + 640];

	network_words(m->conf, net, sizeof(net));
	snprintf(command, sizeof(command), "%sSLURM_JOB_ID=%u SLURM_STEP_ID=%u "
		 "%s/netprof-compressionb --level=%s", net, m->order->job_id,
		 m->order->step_id, m->conf->bindir, m->order->level);
	m->level_called = !np_party_call(m->party, guest, n, command);
	if (n < m->where->level.n)
		np_record_note(m->r, "the level came up on %zu of its %zu "
			       "nodes", n, m->where->level.n);
}

static void tick_level(struct np_measure *m, double now_sec)
{
	double patience = LEVEL_UP_SEC +
			  LEVEL_PER_NODE_SEC * (double)m->crew.n;
	size_t guest[NP_PARTY_MAX], n;

	if (!m->crew.n || m->level_called)
		return;
	n = list_here(m, NP_GUEST_LEVEL, guest);
	if (n == m->crew.n || (n > 1 && now_sec - m->level_sec > patience))
		call_level(m, guest, n);
}

/* ---- how they fare ---- */

bool np_measure_complete(const struct np_measure *m)
{
	return np_fold_impact_is_up(m->fold) &&
	       (np_fold_byes(m->fold) == np_fold_hellos(m->fold) ||
		(np_measure_probes_gone(m) && !m->cut));
}

bool np_measure_probes_gone(const struct np_measure *m)
{
	struct np_party_count c = np_party_count(m->party, NP_GUEST_PROBE);

	return c.gone == c.called;
}

bool np_measure_all_gone(struct np_measure *m)
{
	struct np_party_count c = np_party_count(m->party, NP_GUEST_LEVEL);

	return np_measure_probes_gone(m) && c.gone == c.called &&
	       !np_crew_running(&m->crew);
}

/* A last word of theirs that was no report says why; false: there is none. */
static bool last_word(const struct np_measure *m, enum np_guest_kind kind,
		      char *buf, size_t len)
{
	bool found = false;

	snprintf(buf, len, "they ended");
	for (size_t i = 0; i < np_party_size(m->party); i++) {
		const struct np_guest_facts *g = np_party_guest(m->party, i);

		if (g->kind != kind || !g->last[0])
			continue;
		snprintf(buf, len, "%s: %s", g->name, g->last);
		found = true;
	}
	return found;
}

/* Beside a step that goes on, not at its end. */
static void note_losses(struct np_measure *m, const struct np_measure_clock *c)
{
	size_t gone = np_party_count(m->party, NP_GUEST_PROBE).gone;

	if (gone <= np_fold_byes(m->fold) || !isnan(c->program_end_sec))
		return;
	if (isnan(m->lost_sec))
		m->lost_sec = c->now_sec;
	m->cut |= c->now_sec - m->lost_sec > LOST_SEC;
}

static bool probes_are_lost(struct np_measure *m,
			    const struct np_measure_clock *c, char *cause,
			    size_t len)
{
	double began = c->program_start_sec + m->after_sec;
	size_t here;

	if (m->picked && np_measure_probes_gone(m)) {
		bool why = last_word(m, NP_GUEST_PROBE, cause, len);

		return m->cut || (why && !np_fold_impact_is_up(m->fold));
	}
	if (m->picked || isnan(began) || c->now_sec - began < NOBODY_SEC)
		return false;
	here = np_party_count(m->party, NP_GUEST_PROBE).here;
	if (here < m->expected && np_party_full(m->party))
		snprintf(cause, len, "%zu of %zu nodes could be let in: %s",
			 here, m->expected, strerror(np_party_full(m->party)));
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

static bool level_is_lost(struct np_measure *m, char *cause, size_t len)
{
	struct np_party_count c = np_party_count(m->party, NP_GUEST_LEVEL);

	if (!m->crew.n || np_crew_running(&m->crew) ||
	    (c.called && c.gone < c.called))
		return false;
	last_word(m, NP_GUEST_LEVEL, cause, len);
	np_crew_cause(&m->crew, cause, len);
	return true;
}

bool np_measure_tick(struct np_measure *m, const struct np_measure_clock *c,
		     const char **what, char *cause, size_t len)
{
	tick_level(m, c->now_sec);
	tick_probes(m, c->now_sec);
	note_losses(m, c);
	if (!m->probes_told && probes_are_lost(m, c, cause, len)) {
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
	np_party_end(m->party, NP_GUEST_PROBE);
	np_party_end(m->party, NP_GUEST_LEVEL);
}

void np_measure_join_here(struct np_measure *m)
{
	const struct np_joiner j = { .invite = &m->invite,
				     .host = "localhost" };

	np_joiner_start(&j, environ);
	m->expected++;
}
