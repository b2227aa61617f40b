/*
 * Members of a step: sockets that the test speaks for, one word at a time.
 * All calls fail the test if they cannot.
 */
#ifndef SOME_REGISTRY_H
#define SOME_REGISTRY_H

#include "t.h"
#include "np_agents.h"

#define G "00112233445566778899aabbccddeeff"
#define H "ffeeddccbbaa99887766554433221100"
#define PATIENCE 30000 /* times 2 ms: a minute, on a busy machine */

struct some_registry {
	struct np_registry *p;
	uint16_t port;
	int listening;
	double now_sec;
	char reports[512]; /* "MEMBER:LINE|" */
	int client[512];   /* descriptors */
	size_t n_clients;
};
extern struct some_registry w;

/* Opens a rendezvous as srun does; *out: what it passes to the nodes. */
int some_rendezvous(const uint16_t range[2], struct np_rendezvous_entry *out,
		    struct np_err *err);
/* One for each test, without clients: T_FIXTURE(registry_begin, registry_end). */
void registry_begin(void);
void registry_end(void);

void serve(void);

/* Serve until it is true, or patience ends. */
#define UNTIL(cond) \
	do { \
		for (int i_ = 0; i_ < PATIENCE; i_++) { \
			serve(); \
			if (cond) \
				break; \
			usleep(2000); \
		} \
		T_CHECK(cond); \
	} while (0)

/* A socket that is connected, and what it says; who is there is no member. */
int connect_client(void);
void leave(int fd);
void send_text(int fd, const char *text);
bool is_shut(int fd);

/* The next member, of node n<number>. */
int connect_agent(const char *kind);
const struct np_agent_info *context(size_t member);
struct np_registry_count probes(void);

#endif
