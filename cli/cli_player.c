#include "cli_player.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_replay.h"

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
		.n_nodes = n_nodes, .max_events = CLI_PLAYER_MAX_EVENTS,
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
