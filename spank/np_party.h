/*
 * The processes of ours beside a step, as the attendant sees them: who has
 * come, who is called to measure with whom, and what they report.
 *
 * A guest (netprof-join) connects, says its token and where it is, and waits.
 * The attendant calls some of them, in groups, and dismisses the others.  The
 * processes of a group find each other through here (np_wire_join.h), and then
 * report.  When its connection ends, a guest ends.
 */
#ifndef NP_PARTY_H
#define NP_PARTY_H

#include <poll.h>

#include "np_err.h"
#include "np_invite.h"

#define NP_PARTY_MAX (2 * NP_INVITE_MAX_NODES) /* guests at a time */
#define NP_PARTY_STRANGERS 64 /* that have not said the token yet */
#define NP_PARTY_FDS (NP_PARTY_MAX + NP_PARTY_STRANGERS + 1)
#define NP_PARTY_TEXT 256

enum np_guest_kind { NP_GUEST_PROBE, NP_GUEST_LEVEL, NP_N_GUEST_KINDS };

/* Of one guest. */
struct np_guest_facts {
	enum np_guest_kind kind;
	uint32_t node;		   /* as it says; np_invite.h */
	char name[NP_PARTY_TEXT];  /* of its node, as it says */
	bool here;   /* waits to be called */
	bool called, gone;
	uint32_t seat; /* among those of its kind that were called */
	char last[NP_PARTY_TEXT];  /* its last word that was no report */
};

struct np_party;

/*
 * fd: a listening socket, taken over.  NULL: out of memory.
 */
struct np_party *np_party_new(int fd, const struct np_invite *v);
void np_party_free(struct np_party *p); /* NULL is allowed; all guests end */

/* What to poll for; the number of entries, at most NP_PARTY_FDS. */
size_t np_party_poll(const struct np_party *p, struct pollfd out[]);

/* line: a report of the guest with that number.  It may be changed. */
typedef void np_party_line_f(size_t guest, char *line, void *arg);

/*
 * Take in who comes, read what they say, wire up groups.  now_sec: of a
 * monotonic clock; who does not say the token within seconds is shut out.
 */
void np_party_serve(struct np_party *p, double now_sec, np_party_line_f *f,
		    void *arg);

/*
 * Why somebody who came could not be let in, such as EMFILE; 0: nobody.  They
 * wait and are let in when there is room, tried once a second.
 */
int np_party_full(const struct np_party *p);

/* Guests are numbered from 0 as they say the token; those gone keep theirs. */
size_t np_party_size(const struct np_party *p);
const struct np_guest_facts *np_party_guest(const struct np_party *p,
					    size_t guest);

/* How many of a kind wait, were called, and of these have gone. */
struct np_party_count {
	size_t here, called, gone;
};
struct np_party_count np_party_count(const struct np_party *p,
				     enum np_guest_kind kind);

/*
 * Call n waiting guests as one group to run command: variables, the path of a
 * program and its arguments, without spaces in any; --join=RANK/N is added.
 * Returns 0 or -ENOMEM.
 */
int np_party_call(struct np_party *p, const size_t guest[], size_t n,
		  const char *command);

/* Send all of a kind home, or those that wait. */
void np_party_end(struct np_party *p, enum np_guest_kind kind);
void np_party_dismiss(struct np_party *p, enum np_guest_kind kind);

#endif
