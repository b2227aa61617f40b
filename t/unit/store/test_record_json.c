#include "t.h"
#include "np_record.h"
#include "some_record.h"

static int same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static int same_moments(const struct np_moments *a, const struct np_moments *b)
{
	return a->n == b->n && (!a->n || !memcmp(a, b, sizeof(*a)));
}

static int same_hist(const struct np_hist *a, const struct np_hist *b)
{
	if (!a || !b)
		return a == b;
	for (size_t i = 0; i < NP_HIST_BINS; i++)
		if (np_hist_count(a, i) != np_hist_count(b, i))
			return 0;
	return 1;
}

/* Windows are stored with six digits and without their minimum. */
static int same_windows(const struct np_series *a, const struct np_series *b)
{
	if (!a || !b)
		return a == b;
	for (size_t i = 0; i < a->n; i++) {
		const struct np_moments *x = &a->w[i], *y = &b->w[i];

		if (x->n != y->n || !t_close(x->mean, y->mean, 1e-5) ||
		    !t_close(x->max, y->max, 1e-5) ||
		    !t_close(np_moments_sd(x), np_moments_sd(y), 1e-5))
			return 0;
	}
	return a->n == b->n && a->width_sec == b->width_sec;
}

static int same_leaf(const struct np_leaf_run *a, const struct np_leaf_run *b)
{
	return same_text(a->name, b->name) && same_text(a->nodes, b->nodes) &&
	       a->n_nodes == b->n_nodes && a->n_pairs == b->n_pairs &&
	       same_text(a->skipped, b->skipped) &&
	       same_moments(&a->latency, &b->latency) &&
	       same_hist(a->hist, b->hist) &&
	       same_windows(a->windows, b->windows);
}

static int same_probe(const struct np_probe_run *a,
		      const struct np_probe_run *b)
{
	return a->message_bytes == b->message_bytes &&
	       a->period_sec == b->period_sec && a->per_node == b->per_node &&
	       a->n_processes == b->n_processes &&
	       same_text(a->transport, b->transport) &&
	       a->messages == b->messages && a->cpu_sec_max == b->cpu_sec_max &&
	       a->cpu_sec_sum == b->cpu_sec_sum &&
	       a->elapsed_sec == b->elapsed_sec &&
	       a->rss_bytes_max == b->rss_bytes_max;
}

static int same_traffic(const struct np_traffic_run *a,
			const struct np_traffic_run *b)
{
	return a->n_nodes == b->n_nodes && a->node_sec == b->node_sec &&
	       a->bytes == b->bytes && a->link == b->link;
}

static int same_level(const struct np_level_run *a,
		      const struct np_level_run *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->name, b->name) && a->peers == b->peers &&
	       a->messages == b->messages && a->bytes == b->bytes &&
	       a->pause_sec == b->pause_sec && same_text(a->scope, b->scope) &&
	       same_text(a->nodes, b->nodes) &&
	       a->n_processes == b->n_processes &&
	       same_moments(&a->alone_round_sec, &b->alone_round_sec) &&
	       same_moments(&a->loaded_round_sec, &b->loaded_round_sec);
}

static int same_intervals(const struct np_run_interval *a, size_t n_a,
			  const struct np_run_interval *b, size_t n_b)
{
	int same = n_a == n_b;

	for (size_t i = 0; same && i < n_a; i++)
		same = same_text(a[i].level, b[i].level) &&
		       a[i].at_sec == b[i].at_sec && a[i].sec == b[i].sec &&
		       a[i].rate == b[i].rate &&
		       (a[i].calls == b[i].calls ||
			(isnan(a[i].calls) && isnan(b[i].calls))) &&
		       same_moments(&a[i].round_sec, &b[i].round_sec);
	return same;
}

static int same_nics(const struct np_record *a, const struct np_record *b)
{
	int same = a->n_nics == b->n_nics;

	for (size_t i = 0; same && i < a->n_nics; i++) {
		const struct np_nic_run *x = &a->nics[i], *y = &b->nics[i];

		same = same_text(x->device, y->device) &&
		       x->n_nodes == y->n_nodes && x->node_sec == y->node_sec;
		for (size_t k = 0; same && k < NP_NIC_KINDS; k++)
			same = x->n[k] == y->n[k] ||
			       (isnan(x->n[k]) && isnan(y->n[k]));
	}
	return same;
}

static int same_lists(const struct np_record *a, const struct np_record *b)
{
	int same = same_nics(a, b) && a->n_leaves == b->n_leaves &&
		   a->n_notes == b->n_notes &&
		   a->n_neighbours == b->n_neighbours &&
		   same_text(a->intervals_scope, b->intervals_scope) &&
		   a->intervals_nodes == b->intervals_nodes &&
		   same_intervals(a->intervals, a->n_intervals, b->intervals,
				  b->n_intervals) &&
		   same_intervals(a->intervals_alone, a->n_intervals_alone,
				  b->intervals_alone, b->n_intervals_alone);

	for (size_t i = 0; same && i < a->n_leaves; i++)
		same = same_leaf(&a->leaves[i], &b->leaves[i]);
	for (size_t i = 0; same && i < a->n_notes; i++)
		same = same_text(a->notes[i], b->notes[i]);
	for (size_t i = 0; same && i < a->n_neighbours; i++) {
		struct np_neighbour *x = &a->neighbours[i];
		struct np_neighbour *y = &b->neighbours[i];

		same = x->job_id == y->job_id && same_text(x->leaf, y->leaf) &&
		       same_text(x->nodes, y->nodes) &&
		       x->overlap_sec == y->overlap_sec;
	}
	return same;
}

static int same_record(const struct np_record *a, const struct np_record *b)
{
	return !strcmp(a->app, b->app) && a->uid == b->uid &&
	       same_text(a->cluster, b->cluster) && a->job_id == b->job_id &&
	       a->array_job_id == b->array_job_id &&
	       a->array_task_id == b->array_task_id &&
	       a->het_component == b->het_component &&
	       a->step_id == b->step_id &&
	       same_text(a->executable, b->executable) &&
	       same_text(a->fingerprint, b->fingerprint) &&
	       a->n_tasks == b->n_tasks && a->n_nodes == b->n_nodes &&
	       same_text(a->tasks_per_node, b->tasks_per_node) &&
	       same_text(a->task_order, b->task_order) &&
	       same_text(a->cpu_bind, b->cpu_bind) &&
	       a->cpus_per_task == b->cpus_per_task &&
	       same_text(a->nodes, b->nodes) && a->start == b->start &&
	       a->end == b->end && a->state == b->state &&
	       a->exit_code == b->exit_code && a->alone_sec == b->alone_sec &&
	       same_text(a->netprof_version, b->netprof_version) &&
	       same_text(a->slurm_version, b->slurm_version) &&
	       same_text(a->ucx_version, b->ucx_version) &&
	       same_text(a->mpi_version, b->mpi_version) &&
	       same_text(a->host, b->host) && same_text(a->source, b->source) &&
	       same_probe(&a->probe, &b->probe) &&
	       same_traffic(&a->traffic, &b->traffic) &&
	       same_level(a->level, b->level) && same_lists(a, b);
}

T_TEST("what was written is read back")
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct np_record *r = t_some_record(seed), *again;
		struct np_err err = NP_ERR_INIT;
		char *text = NULL;
		int rc;

		T_CHECK(np_record_write(r, "", &text, NULL) == 0);
		again = t_parse_record(text, strlen(text), &rc, &err);
		T_ROW(err.text, rc == 0);
		T_CHECK(again && same_record(r, again));
		np_record_free(again);
		np_record_free(r);
		free(text);
	}
}

T_TEST("the comparison of these tests sees a change")
{
	struct np_record *a = t_some_record(5), *b = t_some_record(5);

	T_CHECK(same_record(a, b));
	b->leaves[0].n_pairs++;
	T_CHECK(!same_record(a, b));
	np_record_free(a);
	np_record_free(b);
}

T_TEST("numbers that are none are not written")
{
	struct np_record *r = t_some_record(1);
	char *text = NULL;

	r->end = NAN;
	T_CHECK(np_record_write(r, "", &text, NULL) == -EINVAL);
	r->end = INFINITY;
	T_CHECK(np_record_write(r, "", &text, NULL) == -EINVAL);
	T_CHECK(!text);
	np_record_free(r);
}

T_TEST("strange text becomes harmless")
{
	struct np_record *r = t_some_record(1), *again;
	char *text = NULL;
	int rc;

	free(r->executable);
	r->executable = strdup("/opt/caf\xe9/\x1b[2J");
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	again = t_parse_record(text, strlen(text), &rc, NULL);
	T_CHECK(rc == 0 && !strcmp(again->executable, "/opt/caf?/?[2J"));
	np_record_free(again);
	np_record_free(r);
	free(text);
}

/* Whichever json-c wrote it, whichever reads it. */
T_TEST("names beyond ASCII are read back")
{
	static const char name[] =
		"/opt/\u00e9t\u00e9/\u20ac/\U0001f600 \\ \"x\"";
	struct np_record *r = t_some_record(1), *again;
	char *text = NULL;
	int rc;

	free(r->executable);
	r->executable = strdup(name);
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	again = t_parse_record(text, strlen(text), &rc, NULL);
	T_CHECK(rc == 0 && !strcmp(again->executable, name));
	np_record_free(again);
	np_record_free(r);
	free(text);
}

/* 1500 nodes behind 80 leaves for an hour: every leaf has 2048 windows. */
T_TEST("the record of a big job still fits")
{
	struct np_record *r = np_record_new(), *again;
	struct t_rng g = { 7 };
	uint64_t n = 0;
	char *text = NULL;
	int rc;

	strcpy(r->app, "big");
	for (int i = 0; i < 80; i++) {
		char name[] = { 'a' + (char)(i / 26), 'a' + (char)(i % 26), 0 };

		t_add_latency(np_record_leaf(r, name), &g, 20000, 1e-5, 2040);
	}
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	T_CHECK(strlen(text) < 1 << 20);
	again = t_parse_record(text, strlen(text), &rc, NULL);
	T_CHECK(rc == 0 && again->n_leaves == 80);
	T_CHECK(again->leaves[79].windows->width_sec == 16);
	for (size_t i = 0; i < again->leaves[79].windows->n; i++)
		n += again->leaves[79].windows->w[i].n;
	T_CHECK(n == 20000);
	np_record_free(again);
	np_record_free(r);
	free(text);
}
