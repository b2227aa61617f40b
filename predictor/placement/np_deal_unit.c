/* Who takes part: jobs in order of precedence, and which share their leaves. */
#include <errno.h>

#include "np_deal_impl.h"

/* Of all tasks of all arrays, so many have seats beyond the first. */
#define EXTRA_SEATS 4096

static int gather_private(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	uint32_t *o = np_deal_alloc(p, p->s->job.n, sizeof(*o));
	size_t n = 0;

	if (!o)
		return -ENOMEM;
	for (size_t i = 0; i < p->s->job.n; i++)
		if (np_deal_known(p, &job[i].in) &&
		    !p->t->profile[job[i].in.profile].trusted)
			o[n++] = job[i].in.owner;
	p->n_private = np_deal_unique(o, n);
	p->private_owner = o;
	return 0;
}

bool np_deal_enough(const struct np_deal *p, const struct np_job *j,
		    const struct np_counts *c)
{
	return np_deal_sum(j->switches, c->usable, c->loose_usable, c->reach,
			   p->lw) >= j->nodes_min;
}

/* The first seat of a job, and one for each further task. */
static void seat(struct np_deal *p, uint32_t job, size_t *extra)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[job].in;
	uint32_t n = j->tasks;

	if (n > NP_PLACEMENT_MAX_TASKS)
		n = NP_PLACEMENT_MAX_TASKS;
	if (n - 1 > *extra)
		n = (uint32_t)*extra + 1;
	*extra -= n - 1;
	p->seat_of[job] = (uint32_t)p->n_seats;
	for (uint32_t k = 0; k < n; k++)
		p->seat[p->n_seats++] = (struct np_seat){
			.job = job, .kind = p->job_kind[job],
			.unit = NP_NONE, .cohort = NP_NONE, .task = k,
			.need = j->nodes_min, .ready = np_deal_ready(p->s, j),
		};
}

/* Pending jobs that are ours. */
static bool ours(const struct np_deal *p, uint32_t i)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[i].in;

	return j->state != NP_JOB_RUNNING &&
	       !np_deal_aside(p, j, p->s->now_sec) &&
	       !np_deal_held_enough(p, j, p->held_sec[i]) &&
	       (np_deal_enforced(p, j) || j->mode == NP_MODE_PREFER);
}

/* Jobs that may start before those that cannot by themselves. */
static int gather_order(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	size_t n = p->s->job.n, pass[2] = { 0 };
	uint32_t *all = np_deal_alloc(p, n, sizeof(*all));

	p->order = np_deal_alloc(p, n, sizeof(*p->order));
	p->job_kind = np_deal_alloc(p, n, sizeof(*p->job_kind));
	p->seat_of = np_deal_alloc(p, n, sizeof(*p->seat_of));
	if (!all || !p->order || !p->job_kind || !p->seat_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		p->job_kind[i] = p->seat_of[i] = NP_NONE;
		if (!ours(p, i))
			continue;
		all[p->n_order++] = i;
		pass[1] += np_deal_ready(p->s, &job[i].in);
	}
	np_deal_sort(p->s, all, p->n_order);
	for (size_t i = 0; i < p->n_order; i++)
		p->order[pass[!np_deal_ready(p->s, &job[all[i]].in)]++] =
			all[i];
	return 0;
}

int np_deal_seats(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	size_t extra = EXTRA_SEATS;

	if (gather_private(p) || gather_order(p))
		return -ENOMEM;
	p->seat = np_deal_alloc(p, p->n_order + EXTRA_SEATS, sizeof(*p->seat));
	if (!p->seat)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_order; i++) {
		uint32_t j = p->order[i];
		const struct np_counts *c =
			np_deal_counts(p, job[j].in.candidates);

		if (!c)
			return -ENOMEM;
		if (!np_bits_any(c->reach, p->lw) ||
		    !np_deal_enough(p, &job[j].in, c))
			continue;
		p->job_kind[j] = np_deal_kind_of(p, &job[j].in,
						 NP_PLACEMENT_MAX_KINDS);
		if (p->job_kind[j] == NP_NONE)
			continue;
		p->kind[p->job_kind[j]].n += job[j].in.tasks;
		if (np_deal_enforced(p, &job[j].in))
			seat(p, j, &extra);
	}
	return 0;
}

uint64_t np_deal_sum(uint32_t switches, const uint16_t *column, uint32_t loose,
		     const uint64_t *leaves, size_t lw)
{
	uint32_t best[NP_DEAL_MAX_SWITCHES] = { loose };
	uint64_t sum = 0;

	if (!switches || switches > NP_DEAL_MAX_SWITCHES) {
		NP_BITS_EACH(leaf, leaves, lw)
			sum += column[leaf];
		return sum + loose;
	}
	NP_BITS_EACH(leaf, leaves, lw) {
		uint32_t n = column[leaf];

		for (uint32_t k = 0; k < switches && n; k++)
			if (n > best[k]) {
				uint32_t less = best[k];

				best[k] = n;
				n = less;
			}
	}
	for (uint32_t k = 0; k < switches; k++)
		sum += best[k];
	return sum;
}

uint64_t np_deal_free_in(const struct np_deal *p, const struct np_cohort *q)
{
	return q->switches ?
	       np_deal_sum(q->switches, q->free, q->loose_free,
			   p->unit[q->unit].set, p->lw) :
	       q->in_free + q->loose_free;
}

uint64_t np_deal_usable_in(const struct np_deal *p, const struct np_cohort *q)
{
	return q->switches ?
	       np_deal_sum(q->switches, q->counts->usable,
			   q->counts->loose_usable, p->unit[q->unit].set,
			   p->lw) :
	       q->in_usable + q->counts->loose_usable;
}

bool np_deal_together(const struct np_deal *p, const struct np_job *j,
		      uint32_t kind, const struct np_counts *c, uint64_t *bits)
{
	const struct np_kind *k = &p->kind[kind];

	for (size_t w = 0; w < p->lw; w++)
		bits[w] = c->reach[w] & k->open[w] & ~k->self_apart[w];
	return np_deal_sum(j->switches, c->usable, c->loose_usable, bits,
			   p->lw) >= j->nodes_min;
}

static uint32_t new_unit(struct np_deal *p, uint32_t rank, bool together)
{
	uint32_t u = (uint32_t)p->n_units++, kind = p->seat[rank].kind;
	struct np_kind *k = &p->kind[kind];

	p->unit[u] = (struct np_unit){
		.kind = kind, .cohort = NP_NONE, .rank = rank,
		.together = together, .next = NP_NONE,
		.set = p->unit_bits + 2 * u * p->lw,
		.reach = p->unit_bits + (2 * u + 1) * p->lw,
	};
	if (k->unit == NP_NONE)
		k->unit = u;
	else
		p->unit[k->last_unit].next = u;
	k->last_unit = u;
	return u;
}

/* The unit of a seat: the kind's, or its own, or that of its array. */
static uint32_t unit_of(struct np_deal *p, uint32_t rank)
{
	const struct np_seat *s = &p->seat[rank];
	const struct np_job *j = &np_snapshot_jobs(p->s)[s->job].in;
	bool alone = p->kind[s->kind].self;
	bool together = alone && j->tasks > 1 &&
			np_deal_together(p, j, s->kind,
					 p->counts[j->candidates],
					 p->scratch);
	uint32_t u = alone ? NP_NONE : p->kind[s->kind].unit;

	if (together && s->task)
		u = p->seat[rank - 1].unit;
	if (u == NP_NONE)
		u = new_unit(p, rank, together);
	p->unit[u].ready |= s->ready;
	return u;
}

static bool is_like(const struct np_cohort *q, const struct np_job *j)
{
	return q->set == j->candidates && q->switches == j->switches &&
	       q->shares == !!(j->flags & NP_JOB_SHARES_NODES);
}

/* The first cohort of the kind that is like the new one, maybe itself. */
static void find_like(struct np_deal *p, uint32_t cohort,
		      const struct np_job *j)
{
	struct np_cohort *q = np_deal_cohort(p, cohort);
	struct np_kind *k = &p->kind[p->unit[q->unit].kind];
	uint32_t i = k->cohort;

	while (i != NP_NONE && !is_like(np_deal_cohort(p, i), j))
		i = np_deal_cohort(p, i)->next_like;
	q->like = i;
	if (i != NP_NONE)
		return;
	q->like = cohort;
	q->next_like = k->cohort;
	k->cohort = cohort;
}

static uint32_t cohort_of(struct np_deal *p, uint32_t unit,
			  const struct np_job *j)
{
	bool shares = j->flags & NP_JOB_SHARES_NODES;
	const struct np_counts *c = p->counts[j->candidates];
	struct np_cohort *q;
	uint32_t i;

	for (i = p->unit[unit].cohort; i != NP_NONE; i = q->next) {
		q = np_deal_cohort(p, i);
		if (is_like(q, j))
			return i;
	}
	q = np_pool_add(&p->cohort, 1);
	if (!q)
		return NP_NONE;
	i = (uint32_t)p->cohort.n - 1;
	*q = (struct np_cohort){
		.counts = c, .unit = unit, .next = p->unit[unit].cohort,
		.set = j->candidates, .switches = j->switches,
		.shares = shares,
		.free = shares ? c->free_shared : c->free_alone,
		.loose_free = shares ? c->loose_free_shared :
				       c->loose_free_alone,
	};
	np_bits_or(p->unit[unit].reach, c->reach, p->lw);
	p->unit[unit].cohort = i;
	find_like(p, i, j);
	return i;
}

/* Seats of a job share its wants evenly. */
static void join(struct np_deal *p, struct np_seat *s, struct np_cohort *q,
		 const struct np_job *j)
{
	uint32_t seats = j->tasks < NP_PLACEMENT_MAX_TASKS ?
			 j->tasks : NP_PLACEMENT_MAX_TASKS;
	uint64_t wants = p->kind[s->kind].self &&
			 !p->unit[q->unit].together ? s->need :
			 (uint64_t)s->need * j->tasks / seats;

	q->n_seats++;
	if (s->need > q->max_need)
		q->max_need = s->need;
	if (!s->ready)
		return;
	q->n_ready++;
	q->wanted += wants;
	p->unit[q->unit].demand += wants;
	s->cum = q->switches ? s->need : q->wanted;
}

static int lay_out(struct np_deal *p)
{
	uint32_t at = 0;

	p->by_cohort = np_deal_alloc(p, p->n_seats, sizeof(uint32_t));
	if (!p->by_cohort)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->cohort.n; i++) {
		struct np_cohort *q = np_deal_cohort(p, i);

		q->first_seat = at;
		at += q->n_seats;
		q->n_seats = 0;
	}
	for (uint32_t i = 0; i < p->n_seats; i++) {
		struct np_cohort *q;

		if (p->seat[i].cohort == NP_NONE)
			continue;
		q = np_deal_cohort(p, p->seat[i].cohort);
		p->by_cohort[q->first_seat + q->n_seats++] = i;
	}
	return 0;
}

static size_t count_units(const struct np_deal *p)
{
	size_t n = p->n_kinds;

	for (size_t i = 0; i < p->n_seats; i++)
		n += p->kind[p->seat[i].kind].self;
	return n;
}

int np_deal_units(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	size_t units = count_units(p);

	p->unit = np_deal_alloc(p, units, sizeof(*p->unit));
	p->unit_bits = np_deal_alloc(p, 2 * units * p->lw, sizeof(uint64_t));
	if (!p->unit || !p->unit_bits)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_seats; i++) {
		struct np_seat *s = &p->seat[i];
		const struct np_job *j = &job[s->job].in;

		if (p->kind[s->kind].quiet)
			continue;
		s->unit = unit_of(p, i);
		s->cohort = cohort_of(p, s->unit, j);
		if (s->cohort == NP_NONE)
			return -ENOMEM;
		join(p, s, np_deal_cohort(p, s->cohort), j);
	}
	return lay_out(p);
}
