/* Who plays recorded programs together, for the model replay. */
#ifndef CLI_PLAYER_H
#define CLI_PLAYER_H

#include "np_loggps.h"
#include "np_predict.h"

/* Of one playing together, all repetitions; then it is given up. */
#define CLI_PLAYER_MAX_EVENTS ((uint64_t)1 << 25)

/*
 * On links of that network, each of which is shared fairly, one task on a node.
 * np_program's play is a struct np_replay_app.
 */
struct cli_player {
	struct np_player player;
	struct np_loggps net;
};

void cli_player_init(struct cli_player *p, const struct np_loggps *net);

#endif
