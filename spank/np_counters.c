#include "np_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_evidence.h"
#include "np_pingpong.h"
#include "np_traffic.h"

/* Of a message: headers, and an acknowledgement. */
#define OVERHEAD_BYTES 132
#define WINDOW_SEC 1.0 /* of latencies, at most */
#define N_HELD 256 /* latency windows whose counters are awaited */

struct node {
	char *leaf;	   /* NULL: no probe there has said hello */
	uint64_t messages; /* that its probe sent since the last count */
	bool counted;
	uint32_t nics; /* 1 << place in the record, of those that were read */
};

/* A window of latencies, until the counters of its time are known. */
struct held {
	double heard_sec; /* 0: none */
	struct np_report report;
};

struct np_counters {
	struct np_record *r;
	struct node node[NP_INVITE_MAX_NODES];
	struct np_traffic traffic;
	struct held held[N_HELD];
	size_t next_held;
	struct np_record *idle; /* its leaves have the quiet latencies */
};

struct np_counters *np_counters_new(struct np_record *r)
{
	struct np_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->r = r;
	c->idle = np_record_new();
	if (c->idle)
		return c;
	free(c);
	return NULL;
}

void np_counters_free(struct np_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < NP_INVITE_MAX_NODES; i++)
		free(c->node[i].leaf);
	np_record_free(c->idle);
	free(c);
}

/* The slowest counts. */
static void add_link(double *link, double one)
{
	if (one > 0 && !(*link > 0 && *link < one))
		*link = one;
}

/* Each message has an answer of its size; half are of the full one. */
static double own_bytes(const struct np_counters *c, const struct node *n)
{
	return (double)n->messages *
	       (NP_PINGPONG_MIN_BYTES + c->r->probe.message_bytes +
		2 * OVERHEAD_BYTES);
}

static void add_bytes(struct np_counters *c, const struct np_report *rep,
		      double now_sec)
{
	struct np_traffic_run *t = &c->r->traffic;
	struct node *n = &c->node[rep->rank];
	double bytes = fmax((double)rep->moved.n - own_bytes(c, n), 0);

	n->messages = 0;
	if (!(rep->moved.elapsed_sec > 0))
		return;
	t->n_nodes += !n->counted;
	n->counted = true;
	t->node_sec += rep->moved.elapsed_sec;
	t->bytes += bytes;
	np_traffic_add(&c->traffic, rep->rank, now_sec,
		       rep->moved.elapsed_sec, bytes);
}

static void add_nic(struct np_counters *c, const struct np_report *rep)
{
	struct np_nic_run *nic = np_record_nic(c->r, rep->nic.device);
	struct node *n = &c->node[rep->rank];
	uint32_t bit;

	if (!nic || !(rep->nic.elapsed_sec > 0))
		return;
	bit = 1u << (nic - c->r->nics);
	nic->n_nodes += !(n->nics & bit);
	n->nics |= bit;
	nic->node_sec += rep->nic.elapsed_sec;
	for (unsigned k = 0; k < NP_NIC_KINDS; k++)
		if (rep->nic.counts.has & 1u << k)
			nic->n[k] = (isnan(nic->n[k]) ? 0 : nic->n[k]) +
				    (double)rep->nic.counts.n[k];
}

/* ---- quiet moments ---- */

static bool is_quiet(const struct np_counters *c, double from_sec,
		     double to_sec)
{
	/* NaN, where the counters are not known, is not less. */
	return np_traffic_rate(&c->traffic, from_sec, to_sec) <
	       NP_COUNTERS_QUIET * c->r->traffic.n_nodes;
}

static void keep(struct np_counters *c, const struct np_report *rep)
{
	const char *leaf = c->node[rep->rank].leaf;
	struct np_leaf_run *run = leaf ? np_record_leaf(c->idle, leaf) : NULL;

	if (!run)
		return;
	if (!run->hist)
		run->hist = np_hist_new();
	if (!run->hist)
		return;
	for (size_t i = 0; i < rep->window.n_bins; i++)
		np_hist_add_bin(run->hist, rep->window.bins[i].bin,
				rep->window.bins[i].count);
	np_moments_merge(&run->latency, &rep->window.sec);
}

/*
 * A window was heard of when it was over.  The counters of its time come with
 * it or half a window later, as every node counts in its own rhythm.
 */
static void settle(struct np_counters *c, double now_sec)
{
	double half = WINDOW_SEC / 2;

	for (size_t i = 0; i < N_HELD; i++) {
		struct held *h = &c->held[i];

		if (!(h->heard_sec > 0) || now_sec < h->heard_sec + 4 * half)
			continue;
		if (is_quiet(c, h->heard_sec - 3 * half, h->heard_sec - half) &&
		    is_quiet(c, h->heard_sec - half, h->heard_sec + half))
			keep(c, &h->report);
		h->heard_sec = 0;
	}
}

static void hold(struct np_counters *c, const struct np_report *rep,
		 double now_sec)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rep->window.n_bins; i++)
		n += rep->window.bins[i].count;
	if (n != rep->window.sec.n || !np_moments_valid(&rep->window.sec))
		return;
	/* With more than there is room for, the oldest is lost. */
	c->held[c->next_held++ % N_HELD] = (struct held){ now_sec, *rep };
}

void np_counters_report(struct np_counters *c, const struct np_report *rep,
			double now_sec)
{
	struct node *n = c->node + rep->rank;

	if (rep->rank >= NP_INVITE_MAX_NODES)
		return;
	settle(c, now_sec);
	switch (rep->kind) {
	case NP_REPORT_HELLO:
		if (!n->leaf)
			n->leaf = strdup(rep->hello.leaf);
		break;
	case NP_REPORT_COST:
		n->messages = rep->cost.messages;
		break;
	case NP_REPORT_LINK:
		add_link(&c->r->traffic.link, (double)rep->link);
		break;
	case NP_REPORT_MOVED:
		add_bytes(c, rep, now_sec);
		break;
	case NP_REPORT_NIC:
		add_nic(c, rep);
		break;
	case NP_REPORT_LATENCY:
		hold(c, rep, now_sec);
		break;
	default:
		break;
	}
}

/* ---- the record ---- */

static void copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
}

struct np_record *np_counters_idle(const struct np_counters *c)
{
	const struct np_record *r = c->r;
	struct np_record *idle = np_record_new();
	uint64_t n = 0;

	for (size_t i = 0; idle && i < c->idle->n_leaves; i++) {
		const struct np_leaf_run *from = &c->idle->leaves[i];
		struct np_leaf_run *to = np_record_leaf(idle, from->name);

		if (!to)
			continue;
		to->hist = np_hist_new();
		if (!to->hist)
			continue;
		np_hist_merge(to->hist, from->hist);
		to->latency = from->latency;
		to->n_pairs = 1;
		n += from->latency.n;
	}
	if (n < NP_COUNTERS_LEAST) {
		np_record_free(idle);
		return NULL;
	}
	strcpy(idle->app, NP_IDLE_APP);
	idle->uid = r->uid;
	idle->job_id = r->job_id;
	idle->step_id = r->step_id;
	idle->n_nodes = r->n_nodes;
	idle->start = r->start;
	idle->end = r->end;
	idle->state = NP_RUN_COMPLETE;
	idle->exit_code = 0;
	idle->probe.message_bytes = r->probe.message_bytes;
	idle->probe.period_sec = r->probe.period_sec;
	idle->probe.per_node = r->probe.per_node;
	copy(&idle->source, np_sample_source_name(NP_SOURCE_QUIET));
	copy(&idle->cluster, r->cluster);
	copy(&idle->probe.transport, r->probe.transport);
	copy(&idle->netprof_version, r->netprof_version);
	copy(&idle->slurm_version, r->slurm_version);
	copy(&idle->ucx_version, r->ucx_version);
	copy(&idle->host, r->host);
	return idle;
}
