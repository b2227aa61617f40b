/* netprof replay: programs simulated on a shared network. */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "cli_network.h"
#include "cli_options.h"
#include "np_mapping.h"
#include "np_replay.h"

#define CLI_REPLAY_PROGRAMS 8

struct cli_replay_program {
	const char *path;
	struct np_replay_app *app;
	uint32_t n_tasks;
	uint32_t *node_of; /* by task */
	/* by model: alone, and together with the others */
	struct np_replay_job alone[CLI_NETWORK_MODELS];
	struct np_replay_job together[CLI_NETWORK_MODELS];
};

struct cli_replay {
	struct cli_network net;
	struct np_replay_net play; /* all except the model */
	enum np_mapping mapping;
	/* list of nodes of all tasks, instead of mapping; or NULL */
	const char *map;
	uint32_t seed;
	uint32_t n_nodes, cores; /* n_nodes 0: as many as needed */
	size_t n;
	struct cli_replay_program p[CLI_REPLAY_PROGRAMS];
};

/*
 * Determines what the first n tasks do in each bin of the time up to end;
 * computation takes precedence over messages. what: n times bins entries,
 * initially idle.
 */
enum { CLI_REPLAY_IDLE, CLI_REPLAY_TALKS, CLI_REPLAY_COMPUTES };
void cli_replay_look(const struct np_replay_job *j, uint32_t n, double end,
		     size_t bins, unsigned char *what);

/* Each prints the complete report and returns the exit status. */
int cli_replay_text(const struct cli_replay *r);
int cli_replay_data(const struct cli_replay *r, enum cli_format format);
int cli_replay_plot(const struct cli_replay *r, const char *path);

#endif
