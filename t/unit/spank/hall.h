/*
 * Members of a step: sockets that the test speaks for, one word at a time.
 * All calls fail the test if they cannot.
 */
#ifndef HALL_H
#define HALL_H

#include "t.h"
#include "np_agents.h"

#include <time.h>

#define G "00112233445566778899aabbccddeeff"
#define H "ffeeddccbbaa99887766554433221100"
#define PATIENCE 2500 /* naps: 5 s, on a busy machine */

struct hall {
	struct np_registry *p;
	uint16_t port;
	int listening;
	double now_sec;
	char reports[512]; /* "MEMBER:LINE|" */
};

void open_hall(struct hall *w);
void serve(struct hall *w);
void nap(void);

/* Serve until it is true, or patience ends. */
#define UNTIL(w, cond) do { \
	for (int i_ = 0; i_ < PATIENCE; i_++) { \
		serve(w); \
		if (cond) \
			break; \
		nap(); \
	} \
	T_CHECK(cond); \
} while (0)

/* A socket that is connected, and what it says; who is there is no member. */
int come(const struct hall *w);
void say(int fd, const char *text);
bool is_shut(int fd);

/* The next member, of node n<number>. */
int join(struct hall *w, const char *kind);
const struct np_agent_info *context(const struct hall *w, size_t member);
struct np_registry_count probes(const struct hall *w);

#endif
