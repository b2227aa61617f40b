/*
 * The probe agents that serve one job step.
 *
 * An agent (netprof-agent) connects to the collector, authenticates with the
 * cookie from its rendezvous, reports the node it runs on, and waits. The
 * collector dispatches agents in groups, each with one measurement to make, and
 * releases the rest. The processes of a group exchange network addresses
 * through the collector (np_wire.h) and then report, one line each:
 *
 *	np1 ...		   a report (np_report.h)
 *	mpi NAME VERSION   MPI library used by the step's tasks on that node;
 *			   "none": they use none; empty: no longer known
 *	short REASON       the agent leaves because memory is short
 *
 * On a node with several rails there is one agent for each: the first agent of
 * a node is asked for copies of itself ("more"), which connect like others.
 *
 * An agent ends when its connection closes, so a collector that dies leaves no
 * process behind.
 *
 * Agents for probes are started on the step's nodes, with its tasks. Those for
 * a load level are started here, as steps of one node each.
 */
#ifndef NP_AGENTS_H
#define NP_AGENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_alloc_query.h"
#include "np_conf.h"
#include "np_elf.h"
#include "np_err.h"
#include "np_helper.h"
#include "np_launch.h"
#include "np_memory.h"
#include "np_rendezvous.h"
#include "np_reports.h"
#include "np_wire.h"

/* ---- the helper steps that start the agents of a load level ---- */

/*
 * One step for each node: if a job ends while a step of several nodes starts,
 * that step keeps its nodes for a minute, because Slurm's slurmstepds then wait
 * for those that never started.
 */
struct np_level_steps {
	struct np_helper_step *step;
	size_t n;
};

/* ---- what the collector does with agents ---- */

/* Waiting for agents to connect. */
struct np_gathering {
	size_t n;	   /* agents that have connected */
	double waited_sec; /* since the last one connected */
	double tick_sec;   /* CLOCK_MONOTONIC, when waited_sec was updated */
};

struct np_agents {
	const struct np_launch_request *request; /* borrowed */
	const struct np_step_nodes *nodes;	 /* borrowed */
	struct np_rendezvous_entry rendezvous;	 /* the step's rendezvous */
	double after_sec; /* age of the step when agents connect, seconds */
	struct np_reports reports;

	struct np_registry *registry;
	struct np_level_steps level_steps;
	const char *next_level; /* to start for an interval; NULL: none */
	double level_run_sec;	/* how long it is to run */
	size_t expected;	/* number of agents expected for probes */
	bool probes_dispatched, level_dispatched;
	struct np_gathering probes, level;
	/* Times of CLOCK_MONOTONIC; NaN: not yet. */
	double now_sec;
	double first_loss_sec; /* when a probe ended without a last report */
	bool lost_midway;      /* the step went on after that */
	/* Whether np_agents_tick() has reported this loss. */
	bool probes_reported, memory_reported, level_reported;
};

/*
 * Take over NP_COLLECTOR_LISTEN_FD. request, nodes, rendezvous, after_sec and
 * the inputs of reports must be set. Returns 0 or -ENOMEM.
 */
int np_agents_init(struct np_agents *agents);

/*
 * Call this once *nodes is known. Starts an agent on this host, if mpirun runs
 * ranks here, and the steps of the level, if there is one. Returns 0 or -errno
 * with err.
 */
int np_agents_begin(struct np_agents *agents, struct np_err *err);

/* Read what has arrived on the descriptors of np_registry_poll(). */
void np_agents_serve(struct np_agents *agents, double now_sec);

/*
 * Do what is due, such as dispatching agents. Returns true, with *what and
 * cause set, if the probes or the level will not report any more although the
 * step goes on; at most once for each.
 */
bool np_agents_tick(struct np_agents *agents, double now_sec, const char **what,
		    char *cause, size_t len);

/*
 * Return whether every probe that was dispatched has started, and has sent its
 * last report or ended with the step: Slurm kills what is left in a step's
 * cgroup as soon as its last task has ended.
 */
bool np_agents_are_complete(const struct np_agents *agents);

/* Return what still runs: the probes if any of them does, else the level. */
enum np_agents_left { NP_LEFT_NONE, NP_LEFT_LEVEL, NP_LEFT_PROBES };
enum np_agents_left np_agents_left(struct np_agents *agents);

/* Let all agents end; sig > 0: also send this signal to the level's steps. */
void np_agents_end(struct np_agents *agents, int sig);

/* ---- the registry of agents ---- */

/*
 * All but np_registry_poll() is called by the functions above, by unit tests
 * and by the fuzzer.
 */

#define NP_REGISTRY_MAX (2 * NP_RENDEZVOUS_MAX_NODES) /* agents at a time */
#define NP_REGISTRY_PENDING 64 /* most unauthenticated connections */
#define NP_REGISTRY_FDS (NP_REGISTRY_MAX + NP_REGISTRY_PENDING + 1)
#define NP_REGISTRY_TEXT 256

enum np_agent_kind { NP_AGENT_PROBE, NP_AGENT_LEVEL, NP_N_AGENT_KINDS };

/* One agent. */
struct np_agent_info {
	enum np_agent_kind kind;
	uint32_t node; /* number of its node within the step, as it says */
	char name[NP_REGISTRY_TEXT]; /* of its node, as it says */
	char mpi[NP_MPI_TEXT]; /* of the tasks there, or NP_MPI_NONE; "": unknown */
	char memory[NP_MEMORY_TEXT]; /* why it left for want of memory, or "" */
	bool waiting;		     /* to be dispatched */
	bool dispatched;	     /* now or earlier */
	bool gone;		     /* its connection is closed */
	bool copies_requested;	     /* of this agent, on its node */
	bool other_rail; /* another agent of its node was dispatched first,
			    * for another rail */
	uint32_t rank;	 /* among the dispatched agents of its kind */
	char last_line[NP_REGISTRY_TEXT]; /* that was no report */
};

struct np_registry;

/* fd: a listening socket, taken over. NULL: out of memory. */
struct np_registry *np_registry_new(int fd,
				    const struct np_rendezvous_entry *v);
/* Ends all agents. NULL is allowed. */
void np_registry_free(struct np_registry *registry);

/* What to poll for; returns the number of entries, up to NP_REGISTRY_FDS. */
size_t np_registry_poll(const struct np_registry *registry,
			struct pollfd out[]);

/* line: a report of the agent with that number; it may be changed. */
typedef void np_registry_line_f(size_t agent, char *line, void *arg);

/*
 * Accept connections, read what has arrived, exchange addresses within groups.
 * now_sec: of a monotonic clock. A connection that does not authenticate
 * within seconds is closed.
 */
void np_registry_serve(struct np_registry *registry, double now_sec,
		       np_registry_line_f *on_report, void *arg);

/*
 * Why a connection could not be accepted, such as EMFILE; 0: all were. Such
 * connections wait in the listen backlog; accepting is tried once a second.
 */
int np_registry_accept_error(const struct np_registry *registry);

/*
 * Agents are numbered from 0 as they authenticate. An agent that has gone
 * keeps its number until its slot is needed.
 */
size_t np_registry_size(const struct np_registry *registry);
const struct np_agent_info *
np_registry_agent(const struct np_registry *registry, size_t agent);

/* Numbers of agents of one kind. */
struct np_registry_count {
	size_t waiting, dispatched;
	size_t gone; /* of those that were dispatched */
};
struct np_registry_count np_registry_count(const struct np_registry *registry,
					   enum np_agent_kind kind);

/*
 * Set the leaf switch of the agent's node, and the adapter that leads to it;
 * NULL: no rails. Both are borrowed, and the agent's probe gets both.
 */
void np_registry_set_leaf(struct np_registry *registry, size_t agent,
			  const char *leaf, const char *nic);

/* Request that a waiting agent makes n copies of itself. */
void np_registry_request_copies(struct np_registry *registry, size_t agent,
				size_t n);

/*
 * Dispatch n waiting agents as one group to run command: variables, the path of
 * a program and its arguments, without spaces in any of them; --join=RANK/N is
 * added. Returns 0 or -ENOMEM.
 */
int np_registry_dispatch(struct np_registry *registry, const size_t agent[],
			 size_t n, const char *command);

/* Let all agents of a kind end, or only those that still wait. */
void np_registry_end(struct np_registry *registry, enum np_agent_kind kind);
void np_registry_release(struct np_registry *registry, enum np_agent_kind kind);

/* ---- one connection; for the registry, unit tests and the fuzzer ---- */

#define NP_PEER_LINE (2 * NP_WIRE_MAX_BYTES + 64) /* longest line, bytes */
#define NP_PEER_OUT (4u << 20) /* most bytes that may be left unread */

/*
 * A connection that reads lines and sends text without waiting. The other end
 * may be anybody until it has sent the cookie.
 */
struct np_peer {
	int fd;				  /* -1: closed */
	char *out;			  /* text still to be sent, malloc'ed */
	size_t in_len, out_len, out_size; /* bytes in in[] and out[]; room */
	char in[NP_PEER_LINE + 1];	  /* a line that has not ended yet */
};

typedef void np_peer_line_f(char *line, void *arg);

/* fd, which is taken over, must not block. */
void np_peer_open(struct np_peer *peer, int fd);
void np_peer_close(struct np_peer *peer);

/*
 * Read what there is, about 64 KB at most, and hand each whole line to on_line,
 * which may close the connection. It is closed at end of file, and if a line
 * is longer than NP_PEER_LINE bytes.
 */
void np_peer_read(struct np_peer *peer, np_peer_line_f *on_line, void *arg);

/*
 * Send text, now or when there is room. If more than NP_PEER_OUT is left
 * unread the connection is closed. If the other end does not read any more,
 * only its end of file closes it.
 */
void np_peer_say(struct np_peer *peer, const char *text);
void np_peer_flush(struct np_peer *peer);

/* ---- steps of a load level; for np_agents_begin() and unit tests ---- */

/*
 * Start one step on each of the hosts. again: its agent connects again after
 * each dispatch, for one level after the other. Returns 0, or -errno with err;
 * free in either case.
 */
int np_level_steps_start(struct np_level_steps *steps,
			 const struct np_helper_job *job,
			 const struct np_conf *conf,
			 const struct np_hosts *hosts, uint16_t port,
			 bool again, char *const env[], struct np_err *err);

/* Read their output, from time to time: these are messages of srun. */
void np_level_steps_read(struct np_level_steps *steps);

/* Return how many steps still run. */
size_t np_level_steps_running(struct np_level_steps *steps);
void np_level_steps_signal(const struct np_level_steps *steps, int sig);

/* Say how the first step that failed ended; if none did, buf stays as it is. */
void np_level_steps_cause(const struct np_level_steps *steps, char *buf,
			  size_t len);

void np_level_steps_free(struct np_level_steps *steps);

/* ---- which agents measure, in which groups ---- */

#define NP_PAIR_GROUP_MAX 3 /* in a group */

struct np_pair_group {
	size_t n; /* 2; or 3, in which each measures the next */
	size_t node[NP_PAIR_GROUP_MAX]; /* indices into leaf[] */
};

/*
 * A leaf switch is one shared server, so a few pairs of nodes show how busy it
 * is. leaf[i]: switch of node i ("" without a topology); NULL: not to be used.
 * Chooses at most max_pairs pairs on each leaf, others with another seed; three
 * nodes of a leaf make one group. out: room for n / 2. Returns the number of
 * groups; 0 also if out of memory. For np_agents_tick(), tests and benchmarks.
 */
size_t np_select_pairs(const char *const leaf[], size_t n, uint32_t max_pairs,
		       uint64_t seed, struct np_pair_group *out);

#endif
