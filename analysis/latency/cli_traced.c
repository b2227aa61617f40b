/* Applications' traces, and who plays them. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli_graph.h"
#include "cli_traced.h"
#include "np_replay.h"
#include "np_store.h"

/* A larger trace, or graph, is not read: this takes some seconds. */
#define MAX_BYTES (256u << 20)
/* Of one playing together, all repetitions; then it is given up. */
#define MAX_EVENTS ((uint64_t)1 << 25)

/* Each task on a node, of all programs or of its own; how many there are. */
static uint32_t place(const struct np_play_ask *ask, struct np_replay_job *job,
		      uint32_t *node)
{
	uint32_t first = 0, most = 0;

	for (size_t k = 0; k < ask->n; k++) {
		uint32_t n = np_replay_tasks(ask->play[k]);

		job[k] = (struct np_replay_job){ .app = ask->play[k],
						 .node_of = node };
		for (uint32_t t = 0; t < n; t++)
			*node++ = first + t;
		most = first + n > most ? first + n : most;
		if (!ask->same_nodes)
			first += n;
	}
	return most;
}

static struct np_replay_net network(const struct np_loggps *net,
				    uint32_t n_nodes, double share)
{
	struct np_replay_net r = {
		.model = np_sharing_find("maxmin", NULL),
		.param = NP_SHARING_DEFAULTS,
		.latency_sec = 1e-9 * (net->L_ns + 2 * net->o_ns),
		.bytes_per_sec = 1e9 / net->G_ns, .eager_bytes = net->S,
		.n_nodes = n_nodes, .max_events = MAX_EVENTS,
	};

	r.param.fabric = share * n_nodes;
	return r;
}

/* The first alone on the same network, then with the others. */
static int play_both(const struct np_replay_net *net,
		     struct np_replay_job *job, size_t n, double *slowdown,
		     struct np_err *err)
{
	struct np_replay_job alone = job[0];
	int rc = np_replay_run(net, &alone, 1, false, NULL, err);

	if (!rc)
		rc = np_replay_run(net, job, n, true, NULL, err);
	if (!rc && !(alone.end_sec > 0))
		rc = np_errf(err, -EDOM, "a trace that takes no time");
	if (!rc)
		*slowdown = job[0].end_sec / alone.end_sec - 1;
	return rc;
}

static int play(const struct np_player *self, const struct np_play_ask *ask,
		double *slowdown, struct np_err *err)
{
	const struct cli_player *p = (const struct cli_player *)self;
	struct np_replay_job *job = calloc(ask->n, sizeof(*job));
	struct np_replay_net net;
	size_t tasks = 0;
	uint32_t *node;
	int rc = 0;

	for (size_t k = 0; k < ask->n; k++)
		tasks += np_replay_tasks(ask->play[k]);
	node = calloc(tasks, sizeof(*node));
	if (!job || !node)
		rc = np_errf(err, -ENOMEM, "no memory to play %zu tasks",
			     tasks);
	else if (!(p->net.G_ns > 0))
		rc = np_errf(err, -EDOM, "a network on which bytes take no "
			     "time");
	if (!rc) {
		net = network(&p->net, place(ask, job, node), ask->share);
		rc = play_both(&net, job, ask->n, slowdown, err);
	}
	free(job);
	free(node);
	return rc;
}

void cli_player_init(struct cli_player *p, const struct np_loggps *net)
{
	*p = (struct cli_player){ { play }, *net };
}

#define RECORDS "no trace; \"srun --netprofile-trace\" records one"
#define MEASURES "no LogGPS parameters of this network; \"salloc -N2 netprof " \
	"loggps\" measures them"

double cli_traced_bytes(const char *path)
{
	struct np_trace_files f;
	struct stat st;
	double sum = 0;

	if (stat(path, &st))
		return 0;
	if (!S_ISDIR(st.st_mode))
		return (double)st.st_size;
	if (np_trace_files_find(path, &f, NULL))
		return 0;
	for (uint32_t i = 0; i < f.n; i++)
		if (!stat(f.path[i], &st))
			sum += (double)st.st_size;
	np_trace_files_free(&f);
	return sum;
}

void cli_traced_read(const char *path, const struct np_loggps *net,
		     unsigned needs, struct cli_traced *out)
{
	double bytes = cli_traced_bytes(path);
	struct np_graph *g;
	int rc = 0;

	*out = (struct cli_traced){ .play = NULL };
	if (!net) {
		np_errf(&out->why, -ENODATA, MEASURES);
		return;
	}
	if (bytes > MAX_BYTES) {
		np_errf(&out->why, -E2BIG, "%s: %.0f MB, expected at most %u",
			path, bytes / (1 << 20), MAX_BYTES >> 20);
		return;
	}
	if (cli_graph_load(path, NULL, &g, &out->why))
		return;
	if (needs & NP_NEED_TRACE)
		rc = np_response_make(g, net, &out->response, &out->why);
	if (!rc && needs & NP_NEED_PLAY)
		np_replay_of_graph(g, &out->play, &out->why);
	np_graph_free(g);
}

void cli_traced_free(struct cli_traced *t)
{
	if (t)
		np_replay_app_free(t->play);
}

void cli_traced_give(const struct cli_traced *t, struct np_program *a)
{
	a->response = t->why.text[0] ? NULL : &t->response;
	a->play = t->play;
	a->untraced = t->why.text;
}

/* The newest trace of its owner; nobody publishes traces. */
static void of_store(const struct cli_runs *r, struct cli_store *s,
		     const struct np_loggps *net, unsigned needs,
		     struct cli_traced *out)
{
	char path[PATH_MAX + 2 * NAME_MAX];
	int rc = -ENOENT;

	*out = (struct cli_traced){ .play = NULL };
	if (r->owner == NP_STORE_USER)
		rc = np_store_trace(s->store, r->uid, r->runs.app, path,
				    sizeof(path), &out->why);
	if (!rc)
		cli_traced_read(path, net, needs, out);
	else if (!out->why.text[0])
		np_errf(&out->why, rc, RECORDS);
}

int cli_known_trace(struct cli_known *k, struct cli_store *s,
		    const struct np_model *m)
{
	struct np_loggps net;
	bool known;

	if (!(m->needs & NP_NEED_TRACES))
		return 0;
	k->player = calloc(1, sizeof(*k->player));
	if (!k->player)
		return -ENOMEM;
	known = cli_loggps_of(s->store, k->cal.cluster, &net);
	if (known)
		cli_player_init(k->player, &net);
	for (size_t i = 0; i < k->n; i++) {
		struct cli_known_app *a = k->app[i];

		a->traced = calloc(1, sizeof(*a->traced));
		if (!a->traced)
			return -ENOMEM;
		of_store(&a->r, s, known ? &net : NULL, m->needs, a->traced);
		cli_traced_give(a->traced, &a->evidence.program);
	}
	return 0;
}
