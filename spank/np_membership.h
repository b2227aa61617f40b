/*
 * The processes of ours beside a step, as the attendant sees them: who has
 * come, who is called to measure with whom, and what they report.
 *
 * A member (netprof-join) connects, says its token and where it is, and waits.
 * The attendant calls some of them, in groups, and dismisses the others.  The
 * processes of a group find each other through here (np_wire_join.h), and then
 * report; "mpi NAME VERSION" says which MPI the step's tasks there have, and
 * "short WHY", or WHY with the token, that a member leaves for want of memory.
 * When its connection ends, a member ends.
 */
#ifndef NP_MEMBERSHIP_H
#define NP_MEMBERSHIP_H

#include <poll.h>

#include "np_err.h"
#include "np_invite.h"
#include "np_memory.h"
#include "np_mpi.h"

#define NP_MEMBERSHIP_MAX (2 * NP_INVITE_MAX_NODES) /* members at a time */
#define NP_MEMBERSHIP_STRANGERS 64 /* that have not said the token yet */
#define NP_MEMBERSHIP_FDS (NP_MEMBERSHIP_MAX + NP_MEMBERSHIP_STRANGERS + 1)
#define NP_MEMBERSHIP_TEXT 256

enum np_member_kind { NP_MEMBER_PROBE, NP_MEMBER_LEVEL, NP_N_MEMBER_KINDS };

/* Of one member. */
struct np_member_facts {
	enum np_member_kind kind;
	uint32_t node;		   /* as it says; np_invite.h */
	char name[NP_MEMBERSHIP_TEXT];  /* of its node, as it says */
	char mpi[NP_MPI_TEXT]; /* of the tasks there, as it says; "" */
	char memory[NP_MEMORY_TEXT]; /* why it was too short for it; "" */
	bool here;   /* waits to be called */
	bool called, gone;
	uint32_t rank; /* among those of its kind that were called */
	char last[NP_MEMBERSHIP_TEXT];  /* its last word that was no report */
};

struct np_membership;

/*
 * fd: a listening socket, taken over.  NULL: out of memory.
 */
struct np_membership *np_membership_new(int fd, const struct np_invite *v);
/* NULL is allowed; all members end. */
void np_membership_free(struct np_membership *p);

/* What to poll for; the number of entries, at most NP_MEMBERSHIP_FDS. */
size_t np_membership_poll(const struct np_membership *p, struct pollfd out[]);

/* line: a report of the member with that number.  It may be changed. */
typedef void np_membership_line_f(size_t member, char *line, void *arg);

/*
 * Take in who comes, read what they say, wire up groups.  now_sec: of a
 * monotonic clock; who does not say the token within seconds is shut out.
 */
void np_membership_serve(struct np_membership *p, double now_sec,
			 np_membership_line_f *f,
			 void *arg);

/*
 * Why somebody who came could not be let in, such as EMFILE; 0: nobody.  They
 * wait and are let in when there is room, tried once a second.
 */
int np_membership_full(const struct np_membership *p);

/* Members are numbered from 0 as they say the token; those gone keep theirs. */
size_t np_membership_size(const struct np_membership *p);
const struct np_member_facts *np_membership_of(const struct np_membership *p,
					       size_t member);

/* How many of a kind wait, were called, and of these have gone. */
struct np_membership_count {
	size_t here, called, gone;
};
struct np_membership_count np_membership_count(const struct np_membership *p,
					       enum np_member_kind kind);

/* The leaf switch of its node, borrowed, which it is told when it is called. */
void np_membership_set_leaf(struct np_membership *p, size_t member,
			    const char *leaf);

/*
 * Call n waiting members as one group to run command: variables, the path of a
 * program and its arguments, without spaces in any; --join=RANK/N is added.
 * Returns 0 or -ENOMEM.
 */
int np_membership_call(struct np_membership *p, const size_t member[], size_t n,
		       const char *command);

/* Send all of a kind home, or those that wait. */
void np_membership_end(struct np_membership *p, enum np_member_kind kind);
void np_membership_dismiss(struct np_membership *p, enum np_member_kind kind);

#endif
