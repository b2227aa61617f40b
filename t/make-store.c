/*
 * Makes the run records of t/data/store: `make fixtures`. Seeded, so that the
 * same records come out; t/data/README says what they stand for.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "np_record.h"
#include "np_store.h"
#include "some_record.h"

#define START 1718186400.0 /* 2024-06-12 10:00 UTC */
#define DAY 86400.0

static const char *top;
static struct t_rng rng = { 2024 };

/* What the probes of a run meet. */
struct load {
	double idle_sec;   /* typical latency of the idle network */
	double busy;	   /* share of delayed probes while busy */
	double delay;	   /* how many idle latencies they wait on average */
	int period_sec;	   /* phases repeat; 0: steady */
	double busy_share; /* of a period */
	int sec;	   /* length of the run */
	int per_sec;	   /* probes */
};

static double latency(const struct load *l, int at_sec)
{
	double x = l->idle_sec * (0.9 - 0.15 * log(1 - t_uniform(&rng)));
	int busy = !l->period_sec ||
		   at_sec % l->period_sec < l->busy_share * l->period_sec;

	if (busy && t_uniform(&rng) < l->busy)
		x += -l->idle_sec * l->delay * log(1 - t_uniform(&rng));
	return x;
}

static void add_leaf(struct np_record *r, const char *name, const char *nodes,
		     const struct load *l)
{
	struct np_leaf_run *leaf = np_record_leaf(r, name);

	leaf->nodes = strdup(nodes);
	leaf->n_nodes = 4;
	leaf->n_pairs = 2;
	r->traffic.n_nodes = 4;
	r->traffic.node_sec = 4 * (r->end - r->start);
	r->traffic.bytes = l->delay > 1 ? r->traffic.node_sec * 1e8 * l->busy :
					  0;
	r->traffic.link = 1.25e9;
	for (int i = 0; i < l->sec * l->per_sec; i++) {
		double at = (double)i / l->per_sec;

		t_add_probe(leaf, at, latency(l, (int)at));
	}
}

static struct np_record *new_run(const char *app, uint32_t job, double days,
				 double sec)
{
	struct np_record *r = np_record_new();

	strcpy(r->app, app);
	r->uid = 1000;
	r->cluster = strdup("hpc");
	r->job_id = job;
	r->executable = strdup(app);
	r->fingerprint = strdup("00c0ffee00c0ffee");
	r->n_tasks = 16;
	r->n_nodes = 4;
	r->nodes = strdup("n[0-3]");
	r->start = START + days * DAY;
	r->end = r->start + sec;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	r->netprof_version = strdup("0.1.0");
	r->slurm_version = strdup("22.05.8");
	r->ucx_version = strdup("1.13.1");
	r->host = strdup("n0");
	r->probe.message_bytes = 1024;
	r->probe.period_sec = 0.1;
	r->probe.per_node = 1;
	r->probe.n_processes = 4;
	r->probe.transport = strdup("tcp/eth0");
	r->probe.messages = (uint64_t)(sec * 80);
	r->probe.cpu_sec_max = sec * 0.0016;
	r->probe.cpu_sec_sum = sec * 0.005;
	r->probe.elapsed_sec = sec;
	r->probe.rss_bytes_max = 31u << 20;
	return r;
}

static void add_level(struct np_record *r, const char *name, double pause_sec,
		      double slowed)
{
	struct np_level_run *l = calloc(1, sizeof(*l));

	l->name = strdup(name);
	l->peers = 2;
	l->messages = 2;
	l->bytes = 40960;
	l->pause_sec = pause_sec;
	l->scope = strdup("node");
	l->nodes = strdup("n[0-3]");
	l->n_processes = 4;
	for (int i = 0; i < 40; i++) {
		double sec = pause_sec + 0.01 * (1 + 0.1 * t_uniform(&rng));

		np_moments_add(&l->alone_round_sec, sec);
		np_moments_add(&l->loaded_round_sec, sec * (1 + slowed));
	}
	r->level = l;
	r->alone_sec = 2;
	r->end += 2;
}

static void add_neighbour(struct np_record *r)
{
	r->neighbours = calloc(1, sizeof(*r->neighbours));
	r->neighbours[0].job_id = 4711;
	r->neighbours[0].leaf = strdup("leaf0");
	r->neighbours[0].nodes = strdup("n[2-3]");
	r->neighbours[0].overlap_sec = 31.5;
	r->n_neighbours = 1;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void write_run(struct np_record *r, const char *owner)
{
	char path[1024], name[256], *text;
	FILE *f;

	must(!np_record_write(r, "", &text, NULL), "JSON");
	snprintf(path, sizeof(path), "%s/%s", top, owner);
	must(!mkdir(path, 0755) || errno == EEXIST, path);
	snprintf(path, sizeof(path), "%s/%s/%s", top, owner, r->app);
	must(!mkdir(path, 0755) || errno == EEXIST, path);
	np_store_run_name(r, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/%s/%s/%s", top, owner, r->app, name);
	f = fopen(path, "w");
	must(f && fputs(text, f) >= 0 && !fclose(f), path);
	free(text);
	np_record_free(r);
}

static const struct load idle = { 12e-6, 0.04, 1, 0, 0, 60, 10 };
static const struct load phased = { 12e-6, 0.9, 8, 20, 0.6, 60, 10 };
static const struct load full = { 12e-6, 1, 60, 0, 0, 60, 10 };
static const struct load medium = { 12e-6, 0.25, 4, 0, 0, 60, 10 };
static const struct load light = { 12e-6, 0.05, 2, 0, 0, 60, 10 };
static const struct load brief = { 12e-6, 0.5, 4, 0, 0, 2, 10 };
static const struct load gige = { 45e-6, 0.5, 4, 0, 0, 30, 10 };

static void make_lammps(void)
{
	static const struct {
		const char *level;
		double pause_sec, run_sec, slowed;
	} loaded[] = {
		{ "c1", 60e-3, 61.0, 0.04 },
		{ "c4", 24e-3, 74.5, 0.21 },
		{ "c6", 10e-3, 102.0, 0.48 },
	};
	struct np_record *r;

	for (int i = 0; i < 4; i++) {
		r = new_run("lammps", 1200 + 10 * (unsigned)i, i, 60 + 0.4 * i);
		add_leaf(r, "leaf0", "n[0-3]", &phased);
		write_run(r, "own");
	}
	for (int i = 0; i < 3; i++) {
		r = new_run("lammps", 1300 + (unsigned)i, 4 + 0.1 * i,
			    loaded[i].run_sec);
		add_leaf(r, "leaf0", "n[0-3]", &full);
		add_level(r, loaded[i].level, loaded[i].pause_sec,
			  loaded[i].slowed);
		write_run(r, "own");
	}
	r = new_run("lammps", 1400, 5, 66);
	add_leaf(r, "leaf0", "n[0-3]", &full);
	add_neighbour(r);
	write_run(r, "own");
	r = new_run("lammps", 1100, -3, 63);
	free(r->probe.transport);
	r->probe.transport = strdup("tcp/eth1");
	add_leaf(r, "leaf0", "n[0-3]", &gige);
	write_run(r, "own");
	r = new_run("lammps", 1410, 5.1, 60.6);
	np_record_leaf(r, "leaf0")->nodes = strdup("n0");
	r->leaves[0].n_nodes = 1;
	r->leaves[0].skipped =
		strdup("only one node of the step is on this leaf switch");
	write_run(r, "own");
}

static void make_others(void)
{
	struct np_record *r;

	for (int i = 0; i < 2; i++) {
		r = new_run("hpcc", 1500 + (unsigned)i, i, 60);
		add_leaf(r, "leaf0", "n[0-3]", &medium);
		add_leaf(r, "leaf1", "n[4-7]", &medium);
		write_run(r, "own");
	}
	r = new_run("NPmpi", 1600, 2, 60);
	r->array_job_id = 1590;
	r->array_task_id = 3;
	add_leaf(r, "leaf0", "n[0-3]", &full);
	write_run(r, "own");
	r = new_run("postprocess", 1700, 2, 60);
	add_leaf(r, "leaf0", "n[0-3]", &light);
	write_run(r, "own");
	r = new_run("hello", 1800, 3, 2);
	add_leaf(r, "leaf0", "n[0-3]", &brief);
	write_run(r, "own");
	r = new_run("serial", 1900, 3, 50);
	np_record_leaf(r, "leaf0")->nodes = strdup("n0");
	r->leaves[0].skipped =
		strdup("only one node of the step is on this leaf switch");
	write_run(r, "own");
	r = new_run("elsewhere", 2000, 4, 30);
	r->cluster[0] = 'x';
	add_leaf(r, "", "n[0-3]", &gige);
	write_run(r, "own");
}

/*
 * A calibrated fabric: how hard each level presses, and how much it suffers.
 * The slowdown of i with j is suffers[i] * presses[j], within a few percent.
 */
#define N_LEVELS 8
static const struct {
	const char *name;
	unsigned peers, messages;
	double pause_sec, slows, suffers;
	struct load load;
} levels[N_LEVELS] = {
	{ "c0", 1, 1, 250e-3, 0.02, 0.10, { 12e-6, 0.08, 3, 0, 0, 60, 10 } },
	{ "c1", 1, 1, 60e-3, 0.06, 0.20, { 12e-6, 0.15, 4, 0, 0, 60, 10 } },
	{ "c2", 1, 1, 25e-3, 0.13, 0.35, { 12e-6, 0.28, 6, 0, 0, 60, 10 } },
	{ "c3", 1, 2, 25e-3, 0.22, 0.50, { 12e-6, 0.42, 8, 0, 0, 60, 10 } },
	{ "c4", 2, 2, 24e-3, 0.34, 0.65, { 12e-6, 0.60, 10, 0, 0, 60, 10 } },
	{ "c5", 2, 3, 19e-3, 0.50, 0.80, { 12e-6, 0.75, 16, 0, 0, 60, 10 } },
	{ "c6", 2, 4, 10e-3, 0.72, 0.95, { 12e-6, 0.90, 28, 0, 0, 60, 10 } },
	{ "c7", 3, 4, 0, 1.00, 1.10, { 12e-6, 1.00, 60, 0, 0, 60, 10 } },
};

/* A measured value of about v. */
static double about(double v, double share)
{
	return v * (1 + share * (2 * t_uniform(&rng) - 1));
}

static void put_latencies(FILE *f, const char *name, const struct load *l)
{
	struct np_moments m = { 0 };
	struct np_hist *h = np_hist_new();
	const char *comma = "";

	for (int i = 0; i < l->sec * l->per_sec; i++) {
		double x = latency(l, i / l->per_sec);

		np_hist_add_bin(h, np_hist_bin_of(x), 1);
		np_moments_add(&m, x);
	}
	fprintf(f,
		"\"%s\": {\"n\": %d, \"mean_sec\": %.6g, "
		"\"sd_sec\": %.6g, \"min_sec\": %.6g, \"max_sec\": %.6g, "
		"\"bins\": [",
		name, (int)m.n, m.mean, np_moments_sd(&m), m.min, m.max);
	for (size_t b = 0; b < NP_HIST_BINS; b++)
		if (np_hist_count(h, b)) {
			fprintf(f, "%s[%zu, %d]", comma, b,
				(int)np_hist_count(h, b));
			comma = ", ";
		}
	fputs("]}", f);
	np_hist_free(h);
}

static void put_loaded(FILE *f)
{
	fputs("\"level_beside_level\": [", f);
	for (int i = 0; i < N_LEVELS; i++) {
		fputs(i ? ",\n  [" : "\n  [", f);
		for (int j = 0; j < N_LEVELS; j++)
			fprintf(f,
				"%s{\"n\": 3, \"mean\": %.4g, \"sd\": "
				"%.3g}",
				j ? ", " : "",
				about(levels[i].suffers * levels[j].slows,
				      0.03),
				0.008);
		fputs("]", f);
	}
	fputs("],\n", f);
}

/* sharing: what an interferer on other nodes of the leaf causes. */
static void make_fabric(const char *cluster, double days, const char *name,
			const char *sharing)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/fabric", top);
	must(!mkdir(path, 0755) || errno == EEXIST, path);
	snprintf(path, sizeof(path), "%s/fabric/%s", top, cluster);
	must(!mkdir(path, 0755) || errno == EEXIST, path);
	snprintf(path, sizeof(path), "%s/fabric/%s/%s", top, cluster, name);
	f = fopen(path, "w");
	must(f != NULL, path);
	fprintf(f,
		"{\"format\": \"netprof-pairs\", \"schema\": 1, "
		"\"netprof_version\": \"0.1.0\",\n\"cluster\": \"%s\", "
		"\"date\": %.0f, \"transport\": \"tcp/eth0\",\n"
		"\"message_bytes\": 1024, \"period_sec\": 0.1, \"scope\": "
		"\"node\",\n\"coupling\": %s,\n\"programs\": [], "
		"\"levels\": [",
		cluster, START + days * DAY, sharing);
	for (int i = 0; i < N_LEVELS; i++)
		fprintf(f,
			"%s\n  {\"name\": \"%s\", \"partners\": %u, "
			"\"messages\": %u, \"pause_sec\": %.3g, \"bytes\": "
			"40960}",
			i ? "," : "", levels[i].name, levels[i].peers,
			levels[i].messages, levels[i].pause_sec);
	fputs("],\n", f);
	put_loaded(f);
	fputs("\"leaves\": [{\"name\": \"leaf0\"}],\n\"probes\": {\n  ", f);
	put_latencies(f, "idle", &idle);
	for (int i = 0; i < N_LEVELS; i++) {
		fputs(",\n  ", f);
		put_latencies(f, levels[i].name, &levels[i].load);
	}
	fputs("}}\n", f);
	must(!fclose(f), path);
}

/*
 * An application with a curve: two runs alone, and under every level of the
 * mask as many as n_runs.
 */
static void make_curve(const char *app, const char *cluster, unsigned job,
		       const struct load *l, double suffers, double slows,
		       unsigned mask, int n_runs)
{
	static const struct load within = { 12e-6, 0.9, 12, 0, 0, 8, 10 };
	struct np_record *r;

	for (int k = 0; k < 2; k++) {
		r = new_run(app, job++, 0.1 * k, about(60, 0.005));
		free(r->cluster);
		r->cluster = strdup(cluster);
		add_leaf(r, "leaf0", "n[0-3]", l);
		write_run(r, "own");
	}
	for (int i = 0; i < N_LEVELS * n_runs; i++) {
		int level = i / n_runs;
		double slow = suffers * levels[level].slows;

		if (!(mask & 1u << level))
			continue;
		r = new_run(app, job++, 1 + 0.05 * i,
			    about(60, 0.01) * (1 + slow));
		free(r->cluster);
		r->cluster = strdup(cluster);
		add_leaf(r, "leaf0", "n[0-3]", &within);
		add_level(r, levels[level].name, levels[level].pause_sec,
			  about(levels[level].suffers * slows, 0.04));
		write_run(r, "own");
	}
}

static void make_calibrated(void)
{
	static const struct load small = { 12e-6, 0.3, 6, 0, 0, 20, 10 };
	static const struct load large = { 12e-6, 0.85, 14, 0, 0, 20, 10 };

	make_fabric("hpc", -20, "20240523T100000Z.json",
		    "{\"leaf\": {\"n\": 12, \"mean\": 0.91, \"sd\": 0.06}, "
		    "\"uplink\": {\"n\": 4, \"mean\": 0.35, \"sd\": 0.1}}");
	make_curve("fft", "hpc", 3000, &large, 0.95, 0.62, 0xff, 2);
	make_curve("halo", "hpc", 3100, &small, 0.30, 0.18, 0xff, 1);
	/* A leaf that does not block, and where it was calibrated again. */
	make_fabric("flat", -25, "20240518T100000Z.json", "{\"leaf\": 0.5}");
	make_fabric("flat", -20, "20240523T100000Z.json",
		    "{\"leaf\": {\"n\": 12, \"mean\": 0.008, \"sd\": 0.02}}");
	make_curve("spmv", "flat", 3200, &large, 0.80, 0.55, 0xd5, 1);
	make_curve("qmc", "flat", 3300, &small, 0.25, 0.15, 0xd5, 1);
}

int main(int argc, char **argv)
{
	struct np_record *r;

	if (argc != 2) {
		fprintf(stderr, "usage: make-store DIR\n");
		return 2;
	}
	top = argv[1];
	must(!mkdir(top, 0755) || errno == EEXIST, top);
	make_lammps();
	make_others();
	r = new_run("idle", 1000, -4, 60);
	add_leaf(r, "leaf0", "n[0-3]", &idle);
	write_run(r, "own");
	r = new_run("idle", 10, -30, 60);
	add_leaf(r, "leaf0", "n[0-3]", &idle);
	write_run(r, "published");
	r = new_run("cp2k", 20, -29, 60);
	add_leaf(r, "leaf0", "n[0-3]", &phased);
	write_run(r, "published");
	make_calibrated();
	return 0;
}
