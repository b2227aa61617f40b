/* The parts of a GOAL reader, for np_goal*.c. */
#ifndef NP_GOAL_TEXT_H
#define NP_GOAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_graph.h"

#define NP_GOAL_WORD 64 /* bytes of the longest word, and one */

/* Input, of which some is in memory. */
struct np_goal_in {
	int fd;
	const char *name;
	char *buf; /* what was read and not yet used: [at, end), and a NUL */
	size_t at, end;
	bool over; /* no more can be read */
	uint64_t base; /* bytes before buf */
};

int np_goal_in_open(struct np_goal_in *in, int fd, const char *name,
		    struct np_err *err);
void np_goal_in_close(struct np_goal_in *in);

/* At least n bytes (<= 64 KiB) from at on, or all.  0 or -errno. */
int np_goal_in_fill(struct np_goal_in *in, size_t n, struct np_err *err);

/* Names of a rank's operations. */
struct np_goal_labels;

struct np_goal_labels *np_goal_labels_new(void);
void np_goal_labels_free(struct np_goal_labels *l); /* NULL is allowed */
void np_goal_labels_clear(struct np_goal_labels *l);

/* -EEXIST: there is one of that name; -ENOMEM. */
int np_goal_labels_add(struct np_goal_labels *l, const char *name, size_t len,
		       uint32_t op);
/* -ENOENT */
int np_goal_labels_find(const struct np_goal_labels *l, const char *name,
			size_t len, uint32_t *op);

int np_goal_read_text(struct np_goal_in *in, struct np_graph **out,
		      struct np_err *err);
int np_goal_read_binary(struct np_goal_in *in, struct np_graph **out,
			struct np_err *err);

#endif
