/*
 * What a flagged step of many nodes starts, sends and keeps: the collector's
 * own planning, on layouts of 1,000 and 10,000 nodes in two orders.
 *
 *   bench_wide
 *
 * One line per layout. Exit 1 if a goal is missed: more processes than
 * ProbeNodes allows, more than 50 ms of CPU time to plan, or a record of more
 * than 1 MB after a day's run whose every leaf has neighbours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_big.h"
#include "np_agents.h"
#include "np_alloc_query.h"
#include "np_conf.h"
#include "np_record.h"
#include "np_rendezvous.h"

#define LEAF_NODES 40
#define MOST_PLAN_SEC 0.05
#define MOST_RECORD_BYTES (1u << 20)
#define DAY_SEC 86400

struct layout {
	const char *name;
	uint32_t nodes;
	bool dealt; /* neighbours in number are on different leaves */
};

static uint32_t leaves_of(const struct layout *l)
{
	return (l->nodes + LEAF_NODES - 1) / LEAF_NODES;
}

/* As slurmctld prints its topology. */
static char *topology(const struct layout *l)
{
	uint32_t leaves = leaves_of(l);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (uint32_t i = 0; out && i < leaves; i++) {
		fprintf(out, "SwitchName=leaf%u Level=0 LinkSpeed=1 Nodes=n[",
			i);
		for (uint32_t k = l->dealt ? i : i * LEAF_NODES, first = 1;
		     k < l->nodes && (l->dealt || k < (i + 1) * LEAF_NODES);
		     k += l->dealt ? leaves : 1, first = 0)
			fprintf(out, "%s%u", first ? "" : ",", k);
		fputs("]\n", out);
	}
	if (!out || fclose(out))
		exit(1);
	return text;
}

static void list_nodes(struct np_hosts *h, uint32_t first, uint32_t n)
{
	char name[16];

	for (uint32_t i = first; i < first + n; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		bench_must(np_hosts_add(h, name), NULL);
	}
}

/* Those that come, and the pairs they make. */
static size_t processes(const struct layout *l, const struct np_step_nodes *s,
			const struct np_conf *conf, size_t *members)
{
	const struct np_rendezvous_entry v = { .max_nodes = conf->probe_nodes,
					       .seed = 7 };
	const char *leaf[NP_RENDEZVOUS_MAX_NODES];
	struct np_pair_group group[NP_RENDEZVOUS_MAX_NODES];
	size_t n = 0, groups, all = 0;

	for (uint32_t i = 0; i < l->nodes; i++)
		if (np_rendezvous_takes_part(&v, i, l->nodes))
			leaf[n++] =
				np_leaf_index_find(s->leaves, s->step.name[i]);
	groups = np_select_pairs(leaf, n, conf->probe_pairs, v.seed, group);
	for (size_t i = 0; i < groups; i++)
		all += group[i].n;
	*members = n;
	return all;
}

/* A day's windows on the leaves that were measured, neighbours on all. */
static size_t record_bytes(struct np_record *r, size_t measured)
{
	struct np_err err = NP_ERR_INIT;
	char *text;
	size_t len;

	for (size_t i = 0; i < r->n_leaves && i < measured; i++) {
		struct np_leaf_run *leaf = &r->leaves[i];

		leaf->hist = np_hist_new();
		leaf->windows = malloc(sizeof(*leaf->windows));
		if (!leaf->hist || !leaf->windows)
			exit(1);
		np_series_init(leaf->windows, 1);
		for (int t = 0; t < DAY_SEC; t += 2) {
			struct np_moments m = { 0 };

			for (int k = 0; k < 20; k++) {
				double sec = 1e-6 * (1 + 9 * bench_random());

				np_moments_add(&m, sec);
				np_hist_add_bin(leaf->hist, np_hist_bin_of(sec),
						1);
			}
			np_series_add(leaf->windows, t, &m);
			np_moments_merge(&leaf->latency, &m);
		}
	}
	r->neighbours = calloc(r->n_leaves, sizeof(*r->neighbours));
	for (size_t i = 0; r->neighbours && i < r->n_leaves; i++)
		r->neighbours[r->n_neighbours++] = (struct np_neighbour){
			.job_id = 1234567 + (uint32_t)i,
			.step_id = NP_NO_VALUE,
			.leaf = strdup(r->leaves[i].name),
			.nodes = strdup("n[10000-10019]"),
			.overlap_sec = 1234.5,
		};
	bench_must(np_record_write(r, "", &text, &err), &err);
	len = strlen(text);
	free(text);
	return len;
}

static int run(const struct layout *l, bool level)
{
	struct np_record *r = np_record_new();
	struct np_step_nodes s = { .leaves = NULL };
	struct np_hosts job = { NULL, 0 }, busy = { NULL, 0 };
	struct np_conf conf;
	struct np_err err = NP_ERR_INIT;
	struct bench_span begin, plan;
	size_t members, all, bytes;
	char *text = topology(l);

	np_conf_init(&conf);
	list_nodes(&s.step, 0, l->nodes);
	if (level)
		list_nodes(&job, 0, l->nodes);
	begin = bench_now();
	bench_must(np_leaf_index_parse(text, &s.leaves, &err), &err);
	bench_must(np_step_nodes_plan(&s, &job, &busy, conf.probe_nodes, r,
				      &err),
		   &err);
	all = processes(l, &s, &conf, &members);
	plan = bench_since(begin);
	bytes = record_bytes(r, members / 2);
	printf("%-28s plan %5.1f ms CPU, wait %zu, measure %zu, level %zu, "
	       "begin after %.1f s, record %zu KB\n",
	       l->name, plan.cpu_sec * 1e3, members, all, s.level.n,
	       np_rendezvous_after_sec(
		       &(struct np_rendezvous_entry){
			       .after_sec = conf.probe_after_sec },
		       l->nodes),
	       bytes >> 10);
	free(text);
	return plan.cpu_sec > MOST_PLAN_SEC || bytes > MOST_RECORD_BYTES ||
	       members > conf.probe_nodes || s.level.n > conf.probe_nodes;
}

int main(void)
{
	static const struct layout layouts[] = {
		{ "1,000 nodes", 1000, false },
		{ "1,000, dealt over leaves", 1000, true },
		{ "10,000 nodes", 10000, false },
		{ "10,000, dealt over leaves", 10000, true },
	};
	int missed = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(layouts); i++)
		missed |= run(&layouts[i], false) | run(&layouts[i], true);
	puts("requests to slurmctld: 3 to plan, 4 with a level, and two a look "
	     "at the neighbours: at 3 s, then each minute, then each time the "
	     "run is a quarter longer");
	return missed;
}
