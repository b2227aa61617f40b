#include "some_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

uint32_t t_rand(struct t_rng *g)
{
	return (uint32_t)(np_rng_next(&g->state) >> 32);
}

double t_uniform(struct t_rng *g)
{
	return t_rand(g) / 4294967296.0;
}

/* A leaf with a histogram and windows. */
static void begin_latency(struct np_leaf_run *leaf)
{
	if (!leaf->hist)
		leaf->hist = np_hist_new();
	if (!leaf->windows) {
		leaf->windows = malloc(sizeof(*leaf->windows));
		np_series_init(leaf->windows, 1.0);
	}
}

void t_add_probe(struct np_leaf_run *leaf, double at_sec, double sec)
{
	struct np_moments one = { 1, sec, 0, sec, sec };

	begin_latency(leaf);
	np_hist_add_bin(leaf->hist, np_hist_bin_of(sec), 1);
	np_moments_merge(&leaf->latency, &one);
	np_series_add(leaf->windows, at_sec, &one);
}

void t_add_latency(struct np_leaf_run *leaf, struct t_rng *g, size_t n,
		   double base_sec, double run_sec)
{
	begin_latency(leaf);
	for (size_t i = 0; i < n; i++)
		t_add_probe(leaf, run_sec * (double)i / (double)n,
			    base_sec * (1 - 0.2 * log(1 - t_uniform(g))));
}

static char *text(struct t_rng *g, const char *what)
{
	char *s;

	return t_rand(g) % 8 && asprintf(&s, "%s%u", what, t_rand(g) % 99) > 0 ?
		       s :
		       NULL;
}

static struct np_moments moments(struct t_rng *g, double base_sec)
{
	struct np_moments m = { 0 };

	for (size_t n = t_rand(g) % 20; n; n--)
		np_moments_add(&m, base_sec * (1 + t_uniform(g)));
	return m;
}

static void add_leaf(struct np_record *r, struct t_rng *g, size_t i)
{
	static const size_t sizes[] = { 0, 1, 50, 3000 };
	struct np_leaf_run *leaf;
	char name[32];
	size_t n = sizes[t_rand(g) % NP_ARRAY_SIZE(sizes)];

	snprintf(name, sizeof(name), "leaf%zu", i);
	leaf = np_record_leaf(r, i ? name : "");
	leaf->nodes = strdup("n[0-3]");
	leaf->n_nodes = 4;
	leaf->n_pairs = n ? 2 : 0;
	if (i % 2) {
		leaf->rail = strdup("rail1");
		leaf->traffic = calloc(1, sizeof(*leaf->traffic));
		leaf->traffic->n_nodes = 4;
		leaf->traffic->node_sec = 40;
		leaf->traffic->bytes = 1e7;
	}
	if (n)
		t_add_latency(leaf, g, n, pow(10, -7 + 6 * t_uniform(g)),
			      1 + 5000 * t_uniform(g));
	else
		leaf->skipped = strdup(
			"only one node of the step is on this leaf switch");
}

static void add_level(struct np_record *r, struct t_rng *g)
{
	struct np_level_run *l = calloc(1, sizeof(*l));

	l->name = strdup("P4:M10:B250us:S40960");
	l->peers = 4;
	l->messages = 10;
	l->bytes = 40960;
	l->pause_sec = 250e-6;
	l->scope = strdup("node");
	l->nodes = strdup("n[0-3]");
	l->rails = strdup("rail0,rail1");
	l->n_processes = 8;
	l->alone_round_sec = moments(g, 1e-3);
	l->loaded_round_sec = moments(g, 2e-3);
	r->level = l;
}

static struct np_run_interval *some_intervals(struct t_rng *g, size_t *n)
{
	struct np_run_interval *b = calloc(5, sizeof(*b));

	*n = t_rand(g) % 5;
	for (size_t i = 0; i < *n; i++)
		b[i] = (struct np_run_interval){
			i % 2 ? strdup("c3") : NULL,
			3.0 * (double)i,
			2.5,
			1e6 * t_uniform(g),
			i % 3 ? 1e3 * t_uniform(g) : NAN,
			moments(g, 1e-3),
		};
	return b;
}

static void add_intervals(struct np_record *r, struct t_rng *g)
{
	r->intervals_scope = strdup("leaf");
	r->intervals_nodes = 4;
	r->intervals_alone = some_intervals(g, &r->n_intervals_alone);
	r->intervals = some_intervals(g, &r->n_intervals);
}

static void add_neighbours(struct np_record *r, struct t_rng *g)
{
	size_t n = t_rand(g) % 3;

	r->neighbours = calloc(n + 1, sizeof(*r->neighbours));
	for (size_t i = 0; i < n; i++) {
		r->neighbours[i].job_id = t_rand(g);
		r->neighbours[i].step_id = i ? 3 : NP_NO_VALUE;
		r->neighbours[i].leaf = strdup("leaf0");
		r->neighbours[i].nodes = strdup("n[8,11-12]");
		r->neighbours[i].overlap_sec = 100 * t_uniform(g);
	}
	r->n_neighbours = n;
}

static void add_probe(struct np_probe_run *p, struct t_rng *g)
{
	p->message_bytes = 1024;
	p->period_sec = 0.1;
	p->per_node = 1 + t_rand(g) % 2;
	p->n_processes = 8;
	p->transport = text(g, "tcp/eth");
	p->messages = t_rand(g);
	p->cpu_sec_max = t_uniform(g);
	p->cpu_sec_sum = 8 * t_uniform(g);
	p->elapsed_sec = 3600 * t_uniform(g);
	p->rss_bytes_max = t_rand(g);
}

struct np_record *t_some_record(uint64_t seed)
{
	struct t_rng g = { seed };
	struct np_record *r = np_record_new();

	snprintf(r->app, sizeof(r->app), "app-%u", t_rand(&g) % 10);
	r->uid = t_rand(&g);
	r->cluster = text(&g, "cluster");
	r->job_id = t_rand(&g);
	r->array_job_id = t_rand(&g) % 2 ? (long)t_rand(&g) : NP_NO_VALUE;
	r->array_task_id = r->array_job_id < 0 ? NP_NO_VALUE : 7;
	r->het_component = t_rand(&g) % 2 ? 1 : NP_NO_VALUE;
	r->step_id = t_rand(&g) % 5;
	r->executable = text(&g, "/opt/\"quoted\\ \xc3\xa9t\xc3\xa9/lmp");
	r->fingerprint = text(&g, "0123456789abcdef");
	r->n_tasks = 8;
	r->n_nodes = 8;
	r->nodes = text(&g, "n[0-7],m");
	r->start = 1.7e9 + 1e8 * t_uniform(&g);
	r->end = r->start + 1e4 * t_uniform(&g);
	r->state = (enum np_run_state)(t_rand(&g) % 3);
	r->exit_code = t_rand(&g) % 2 ? (long)(t_rand(&g) % 256) : NP_NO_VALUE;
	r->alone_sec = t_uniform(&g);
	r->netprof_version = text(&g, "0.1.");
	r->slurm_version = text(&g, "22.05.");
	r->ucx_version = text(&g, "1.13.");
	r->mpi_version = text(&g, "Open MPI 4.1.");
	r->host = text(&g, "n");
	add_probe(&r->probe, &g);
	if (t_rand(&g) % 2)
		add_level(r, &g);
	for (size_t i = 0, n = t_rand(&g) % 4; i < n; i++)
		add_leaf(r, &g, i);
	add_neighbours(r, &g);
	r->source = text(&g, "quiet");
	r->traffic = (struct np_traffic_run){
		2,
		100 * t_uniform(&g),
		1e9 * t_uniform(&g),
		1.25e9,
	};
	for (size_t i = t_rand(&g) % 3; i; i--) {
		struct np_nic_run *nic =
			np_record_nic(r, i == 1 ? "eth0" : "mlx5_0:1");

		nic->n_nodes = 2;
		nic->node_sec = 100 * t_uniform(&g);
		nic->n[NP_NIC_SENT] = 1e9 * t_uniform(&g);
		nic->n[NP_NIC_ECN] = (double)(t_rand(&g) % 100);
	}
	for (size_t n = t_rand(&g) % 3; n; n--)
		np_record_note(r, "note %zu", n);
	if (!r->level && t_rand(&g) % 2)
		add_intervals(r, &g);
	r->tasks_per_node = text(&g, "4,2,1(x2)");
	r->task_order = text(&g, "cyclic");
	r->cpu_bind = text(&g, "map_cpu:0,2");
	r->cpus_per_task = (uint32_t)(t_rand(&g) % 3);
	return r;
}

struct np_record *t_run_alone(double sec)
{
	struct np_record *r = np_record_new();
	struct t_rng g = { 7 };

	r->cluster = strdup("hpc");
	r->fingerprint = strdup("aa");
	r->start = 1.7e9;
	r->end = r->start + sec;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	r->probe.transport = strdup("tcp/eth0");
	r->probe.message_bytes = 1024;
	r->probe.period_sec = 0.1;
	t_add_latency(np_record_leaf(r, "leaf0"), &g, 100, 1e-5, sec);
	return r;
}

struct np_record *t_parse_record(const char *text, size_t len, int *rc,
				 struct np_err *err)
{
	struct np_record *r = NULL;

	*rc = np_record_from_json(text, len, "some.json", &r, err);
	return r;
}
