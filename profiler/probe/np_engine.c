#include "np_engine.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who measures with whom ---- */

/* A process with the keys by which it is sorted. */
struct process {
	const struct np_place *place;
	size_t rank;
	size_t local; /* index among the processes of its node */
	size_t first; /* lowest rank on its node */
};

static int by_node(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int c = strcmp(x->place->leaf, y->place->leaf);

	if (!c)
		c = strcmp(x->place->node, y->place->node);
	return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

/* By leaf, then local rank, then node in the order of lowest ranks. */
static int by_group(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int c = strcmp(x->place->leaf, y->place->leaf);

	if (!c)
		c = (x->local > y->local) - (x->local < y->local);
	return c ? c : (x->first > y->first) - (x->first < y->first);
}

static int same_node(const struct process *x, const struct process *y)
{
	return !strcmp(x->place->leaf, y->place->leaf) &&
	       !strcmp(x->place->node, y->place->node);
}

static int same_group(const struct process *x, const struct process *y)
{
	return x->local == y->local && !strcmp(x->place->leaf, y->place->leaf);
}

/* All processes, sorted so that the members of each group are adjacent. */
static struct process *processes_new(const struct np_place *place, size_t n)
{
	struct process *process = calloc(n ? n : 1, sizeof(*process));

	if (!process)
		return NULL;
	for (size_t i = 0; i < n; i++)
		process[i] = (struct process){ .place = &place[i], .rank = i };
	qsort(process, n, sizeof(*process), by_node);
	for (size_t i = 0; i < n; i++) {
		int again = i && same_node(&process[i - 1], &process[i]);

		process[i].local = again ? process[i - 1].local + 1 : 0;
		process[i].first = again ? process[i - 1].first :
					   process[i].rank;
	}
	qsort(process, n, sizeof(*process), by_group);
	return process;
}

static size_t group_end(const struct process *process, size_t n, size_t start)
{
	size_t end = start + 1;

	while (end < n && same_group(&process[start], &process[end]))
		end++;
	return end;
}

static void set_pair(struct np_peers *out, const struct process *from,
		     const struct process *to)
{
	out[from->rank].server = (long)to->rank;
	out[to->rank].client = (long)from->rank;
}

/* Pair one process on each of k nodes of a leaf, all of one local rank. */
static void pair_group(const struct process *process, size_t k,
		       struct np_peers *out)
{
	size_t turn = process->local, left = k;
#define AT(i) (&process[(turn + (i)) % k])

	if (k == 1) {
		out[process->rank].skipped =
			process->local ?
				"no peer: the other nodes of the step on this "
				"leaf switch run fewer probes" :
				"no peer: the step has one node on this leaf "
				"switch";
		return;
	}
	for (; left > 3 || left == 2; left -= 2)
		set_pair(out, AT(k - left), AT(k - left + 1));
	if (left == 3) {
		set_pair(out, AT(k - 3), AT(k - 2));
		set_pair(out, AT(k - 2), AT(k - 1));
		set_pair(out, AT(k - 1), AT(k - 3));
	}
#undef AT
}

int np_pairing_make(const struct np_place *place, size_t n,
		    struct np_peers *out)
{
	struct process *m = processes_new(place, n);

	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct np_peers){ NP_NO_RANK, NP_NO_RANK, NULL };
	for (size_t i = 0, end; i < n; i = end) {
		end = group_end(m, n, i);
		pair_group(&m[i], end - i, out);
	}
	free(m);
	return 0;
}

/* By local rank, then the position of the node in its leaf, then leaf. */
static int by_ring_order(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	if (x->local != y->local)
		return x->local > y->local ? 1 : -1;
	if (x->first != y->first)
		return x->first > y->first ? 1 : -1;
	return strcmp(x->place->leaf, y->place->leaf);
}

/*
 * Merge the groups of each local rank, taking a node of each leaf in turn.
 * `first` becomes the position of the node in its leaf.
 */
static void interleave_leaves(struct process *process, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		end = group_end(process, n, i);
		for (size_t k = i; k < end; k++)
			process[k].first = k - i;
	}
	qsort(process, n, sizeof(*process), by_ring_order);
}

static bool in_same_ring(const struct process *x, const struct process *y,
			 bool across)
{
	return across ? x->local == y->local : same_group(x, y);
}

int np_pairing_ring(const struct np_place *place, size_t n, bool across,
		    size_t rank, size_t want, size_t *to, size_t *from,
		    size_t *got)
{
	struct process *m = processes_new(place, n);
	size_t at = 0, start, end, k;

	if (!m)
		return -ENOMEM;
	if (across)
		interleave_leaves(m, n);
	while (m[at].rank != rank)
		at++;
	for (start = at; start && in_same_ring(&m[start - 1], &m[at], across);)
		start--;
	for (end = at; end < n && in_same_ring(&m[end], &m[at], across);)
		end++;
	k = end - start;
	*got = want > k - 1 ? k - 1 : want;
	for (size_t i = 0; i < *got; i++) {
		to[i] = m[start + (at - start + i + 1) % k].rank;
		from[i] = m[start + (at - start + k - 1 - i) % k].rank;
	}
	free(m);
	return 0;
}

/* ---- the loop ---- */

/*
 * If a library says this often in a row that there is work when there is none,
 * it is asked again after a part of the time since it last had any, as in
 * np_ofi.c. UCX over TCP says so while a peer that has accepted a connection
 * does not answer.
 */
#define MOST_IDLE_WAKEUPS 64
#define CHECK_PART 0.125
#define CHECK_LEAST_SEC 50e-6
#define CHECK_MOST_SEC 2e-3

struct wakeups {
	unsigned n_idle;   /* in a row, without sleep or work */
	double worked_sec; /* when there last was work */
};

/*
 * UCX offers no simpler way to sleep until a message arrives: arm, and wait
 * only if nothing arrived in between.
 */
static void wait_net(struct np_net *net, const struct np_clock *clock,
		     double until_sec, struct wakeups *wakeups)
{
	double now_sec = clock->now_sec(clock), check_sec;

	if (net->ops->progress(net)) {
		*wakeups = (struct wakeups){ 0, now_sec };
		return; /* let the engine handle it first */
	}
	if (wakeups->n_idle >= MOST_IDLE_WAKEUPS) {
		check_sec =
			fmin(fmax((now_sec - wakeups->worked_sec) * CHECK_PART,
				  CHECK_LEAST_SEC),
			     CHECK_MOST_SEC);
		clock->wait(clock, -1, fmin(until_sec, now_sec + check_sec));
		return;
	}
	wakeups->n_idle++;
	if (net->ops->arm(net))
		return;
	clock->wait(clock, net->fd, until_sec);
	if (clock->now_sec(clock) > now_sec + CHECK_MOST_SEC)
		wakeups->n_idle = 0; /* it has slept */
}

void np_loop_run(struct np_engine *engine, const struct np_idle *idle,
		 struct np_net *net, const struct np_clock *clock,
		 bool (*stop)(void), double end_sec)
{
	double idle_sec = clock->now_sec(clock);
	struct wakeups wakeups = { 0, idle_sec };
	struct np_next next;

	while (!stop()) {
		bool worked = net->ops->progress(net);
		double now = clock->now_sec(clock);

		if (worked)
			wakeups = (struct wakeups){ 0, now };
		if (now >= end_sec)
			break;
		engine->ops->step(engine, now, &next);
		/*
		 * Do background work when the engine sleeps until a fixed time.
		 * While it waits for a message, do it only when it is overdue.
		 */
		if (next.how == NP_WAIT_SLEEP ||
		    now >= idle_sec + idle->every_sec) {
			idle->f(idle->arg, now);
			idle_sec = now;
		}
		if (next.how == NP_WAIT_POLL)
			continue;
		next.until_sec = fmin(next.until_sec, end_sec);
		next.until_sec =
			fmin(next.until_sec, idle_sec + idle->every_sec);
		if (next.how == NP_WAIT_SLEEP)
			clock->wait(clock, -1, next.until_sec);
		else
			wait_net(net, clock, next.until_sec, &wakeups);
	}
}

/* ---- liveness of a peer ---- */

static const char *node_of(const struct np_liveness *liveness)
{
	return liveness->env->place[liveness->rank].node;
}

__attribute__((format(printf, 2, 3))) static void
note(struct np_liveness *liveness, const char *fmt, ...)
{
	char text[NP_ERR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	liveness->env->note(text, liveness->env->arg);
}

void np_liveness_lost(struct np_liveness *liveness, double now_sec)
{
	if (liveness->state == NP_PEER_LOST)
		return;
	liveness->state = NP_PEER_LOST;
	liveness->lost_sec = now_sec;
	liveness->noted = false;
}

static double check_lost(struct np_liveness *liveness, double now_sec)
{
	if (liveness->noted)
		return INFINITY;
	if (now_sec < liveness->lost_sec + NP_LIVENESS_GRACE_SEC)
		return liveness->lost_sec + NP_LIVENESS_GRACE_SEC;
	note(liveness, "peer on %s lost", node_of(liveness));
	liveness->noted = true;
	return INFINITY;
}

static double check_silent(struct np_liveness *liveness, double now_sec,
			   double since_sec)
{
	if (liveness->state == NP_PEER_SILENT)
		return INFINITY;
	if (now_sec < since_sec + liveness->patience_sec)
		return since_sec + liveness->patience_sec;
	liveness->state = NP_PEER_SILENT;
	note(liveness, "peer on %s silent for %g s", node_of(liveness),
	     liveness->patience_sec);
	return INFINITY;
}

enum np_liveness_state np_liveness_check(struct np_liveness *liveness,
					 double now_sec, double since_sec,
					 double *until_sec)
{
	if (liveness->env->net->ops->lost(liveness->env->net, liveness->rank))
		np_liveness_lost(liveness, now_sec);
	*until_sec = liveness->state == NP_PEER_LOST ?
			     check_lost(liveness, now_sec) :
			     check_silent(liveness, now_sec, since_sec);
	return liveness->state;
}

bool np_liveness_received(struct np_liveness *liveness)
{
	if (liveness->state != NP_PEER_SILENT)
		return false;
	liveness->state = NP_PEER_ALIVE;
	note(liveness, "peer on %s is back", node_of(liveness));
	return true;
}
