/*
 * Load levels: the configurations of CompressionB.
 *
 * In each round every process sends M messages of S bytes to each of P peers
 * around the ring of nodes, receives as many, sleeps for B, waits for all of
 * them, and starts again.
 */
#ifndef NP_LEVEL_H
#define NP_LEVEL_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_LEVEL_NAME 64
#define NP_LEVEL_BYTES 40960 /* message size in the CompressionB paper */

#define NP_LEVEL_MAX_PEERS 1024
#define NP_LEVEL_MAX_MESSAGES 1024
#define NP_LEVEL_MAX_IN_FLIGHT 4096 /* most messages per round: P * M */
#define NP_LEVEL_MAX_PAUSE_SEC 60.0
#define NP_LEVEL_MIN_BYTES 8
#define NP_LEVEL_MAX_BYTES (16u << 20)

struct np_level {
	char name[NP_LEVEL_NAME]; /* as requested */
	uint32_t peers;		  /* P, at most the number of other nodes */
	uint32_t messages;	  /* M, per peer and round */
	double pause_sec;	  /* B */
	uint32_t bytes;		  /* S */
};

/*
 * The named levels, with messages of 64 bytes to 40 KB. Their numbers are not in
 * the order of the utilisation that they cause, which depends on the fabric.
 */
extern const struct np_level np_levels[];
extern const size_t np_n_levels;

/*
 * Check the limits that concern several parts. Returns 0 or -EINVAL with err.
 */
int np_level_check(const struct np_level *level, struct np_err *err);

/*
 * Parse a level: a name of the table, or "P4:M10:B250us[:S40960]" (B with a
 * unit of ns, us, ms or s). Returns 0, or -EINVAL with err: the value and what
 * was expected.
 */
int np_level_parse(const char *text, struct np_level *out, struct np_err *err);

#endif
