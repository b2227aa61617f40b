#include "np_membership.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_peer.h"
#include "np_report.h"
#include "np_sideenv.h"
#include "np_text.h"

#define GREETING_SEC 5.0
#define REST_SEC 1.0 /* until there may be descriptors again */
#define ADMIT_TURN 64 /* connections accepted before members are heard again */
#define SILENT_SEC 0.2 /* then one that says nothing makes way for another */
#define REFUSALS 100   /* a second; connections wait beyond, so that a flood of
			* them does not use the processor of the job */

/* Processes that were called together. */
struct group {
	size_t n;
	size_t *member; /* member of each rank */
	struct np_wire_host *wire;
};

struct member {
	struct np_peer link;
	struct np_member_facts facts;
	struct group *group;
	uint32_t rank;
	const char *leaf; /* borrowed; NULL or "": not known */
	bool is_free; /* nobody: the next who comes takes the place */
};

struct stranger {
	struct np_peer link;
	double since_sec;
};

struct np_membership {
	int fd;
	struct np_invite invite;
	int full; /* why somebody was not let in: EMFILE; 0 */
	double rest_until_sec; /* 0: whoever comes is let in */
	unsigned refusals;     /* since that time: */
	double counted_since_sec;
	struct stranger stranger[NP_MEMBERSHIP_STRANGERS];
	struct member *member[NP_MEMBERSHIP_MAX];
	size_t n;
	struct group *group[NP_MEMBERSHIP_MAX];
	size_t n_groups;
	size_t n_greeted; /* that have said the token, ever */
	uint32_t n_called[NP_N_MEMBER_KINDS];
};

static const char *const kind_name[NP_N_MEMBER_KINDS] = {
	[NP_MEMBER_PROBE] = "probe", [NP_MEMBER_LEVEL] = "level",
};

struct np_membership *np_membership_new(int fd, const struct np_invite *v)
{
	struct np_membership *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = fd;
	p->invite = *v;
	for (size_t i = 0; i < NP_MEMBERSHIP_STRANGERS; i++)
		p->stranger[i].link.fd = -1;
	return p;
}

static void group_free(struct group *g)
{
	if (!g)
		return;
	free(g->member);
	np_wire_host_free(g->wire);
	free(g);
}

void np_membership_free(struct np_membership *p)
{
	if (!p)
		return;
	close(p->fd);
	for (size_t i = 0; i < NP_MEMBERSHIP_STRANGERS; i++)
		np_peer_close(&p->stranger[i].link);
	for (size_t i = 0; i < p->n; i++) {
		np_peer_close(&p->member[i]->link);
		free(p->member[i]);
	}
	for (size_t i = 0; i < p->n_groups; i++)
		group_free(p->group[i]);
	free(p);
}

static struct pollfd to_poll(const struct np_peer *g)
{
	return (struct pollfd){
		.fd = g->fd, .events = g->out_len ? POLLIN | POLLOUT : POLLIN,
	};
}

size_t np_membership_poll(const struct np_membership *p, struct pollfd out[])
{
	size_t n = 1;

	for (size_t i = 0; i < NP_MEMBERSHIP_STRANGERS; i++)
		if (p->stranger[i].link.fd >= 0)
			out[n++] = to_poll(&p->stranger[i].link);
	/* Who cannot be let in must not wake the caller all the time. */
	out[0] = (struct pollfd){
		.fd = p->rest_until_sec ? -1 : p->fd, .events = POLLIN,
	};
	for (size_t i = 0; i < p->n; i++)
		if (p->member[i]->link.fd >= 0)
			out[n++] = to_poll(&p->member[i]->link);
	return n;
}

/* ---- strangers ---- */

/* Who comes waits at the socket. */
static void rest(struct np_membership *p, int why, double now_sec)
{
	if (why != EMFILE && why != ENFILE && why != ENOBUFS && why != ENOMEM)
		return;
	p->full = why;
	p->rest_until_sec = now_sec + REST_SEC;
}

struct greeting {
	struct np_membership *p;
	struct stranger *s;
};

/*
 * Levels come again and again: the places of a group all of whose members have
 * gone are free.
 */
static void free_group(struct np_membership *p, size_t i)
{
	struct group *g = p->group[i];

	for (size_t k = 0; k < g->n; k++) {
		struct member *m = p->member[g->member[k]];

		np_peer_close(&m->link);
		m->group = NULL;
		m->is_free = true;
		m->facts = (struct np_member_facts){ .kind = m->facts.kind,
						     .gone = true };
	}
	group_free(g);
	p->group[i] = p->group[--p->n_groups];
}

static void free_places(struct np_membership *p)
{
	for (size_t i = p->n_groups; i-- > 0;) {
		const struct group *g = p->group[i];
		bool gone = true;

		for (size_t k = 0; k < g->n; k++) {
			const struct np_member_facts *f =
				&p->member[g->member[k]]->facts;

			gone &= f->kind == NP_MEMBER_LEVEL && f->gone;
		}
		if (gone)
			free_group(p, i);
	}
}

/* NULL: there is no such kind, or no place. */
static struct member *new_member(struct np_membership *p, const char *kind,
				 uint32_t node, const char *name)
{
	struct member *m = NULL;
	size_t at = 0;
	int k = 0;

	while (k < NP_N_MEMBER_KINDS && strcmp(kind_name[k], kind))
		k++;
	if (p->n == NP_MEMBERSHIP_MAX)
		free_places(p);
	while (at < p->n && !p->member[at]->is_free)
		at++;
	if (k < NP_N_MEMBER_KINDS && at < NP_MEMBERSHIP_MAX)
		m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->facts.kind = (enum np_member_kind)k;
	m->facts.node = node;
	m->facts.here = true;
	snprintf(m->facts.name, sizeof(m->facts.name), "%s", name);
	if (at < p->n)
		free(p->member[at]);
	else
		p->n++;
	p->member[at] = m;
	return m;
}

static void leaves_for_memory(struct member *m, const char *why)
{
	snprintf(m->facts.memory, sizeof(m->facts.memory), "%s", why);
	np_text_plain(m->facts.memory);
	np_peer_close(&m->link);
}

/*
 * "MEMBER KIND NODE NAME", and nothing more until it is called; or why it leaves
 * at once.
 */
static void on_greeting(char *line, void *arg)
{
	struct greeting *g = arg;
	char token[NP_INVITE_TOKEN], kind[16], name[NP_MEMBERSHIP_TEXT];
	struct member *m = NULL;
	uint32_t node;
	int end = 0;

	if (sscanf(line, "%32s %15s %u %255s %n", token, kind, &node, name,
		   &end) == 4 && !strcmp(token, g->p->invite.member))
		m = new_member(g->p, kind, node, name);
	if (m) {
		g->p->n_greeted++;
		np_peer_open(&m->link, g->s->link.fd);
		g->s->link.fd = -1; /* its own now */
		if (line[end])
			leaves_for_memory(m, line + end);
	}
	np_peer_close(&g->s->link);
}

/* Counts those that came and did not say the token. */
static void refuse(struct np_membership *p, struct stranger *s)
{
	np_peer_close(&s->link);
	p->refusals++;
}

/* It leaves its place when it has said the token, or something else. */
static void hear_stranger(struct np_membership *p, struct stranger *s)
{
	struct greeting g = { p, s };
	size_t members = p->n_greeted;

	np_peer_read(&s->link, on_greeting, &g);
	if (s->link.fd < 0 && members == p->n_greeted)
		p->refusals++;
}

/*
 * A place for one more, maybe of one that has been silent for long enough; NULL:
 * all are taken by others as fresh as it.
 */
static struct stranger *find_place(struct np_membership *p, double now_sec)
{
	struct stranger *oldest = &p->stranger[0];

	for (size_t i = 0; i < NP_MEMBERSHIP_STRANGERS; i++) {
		struct stranger *s = &p->stranger[i];

		if (s->link.fd < 0)
			return s;
		if (s->since_sec < oldest->since_sec)
			oldest = s;
	}
	return now_sec - oldest->since_sec < SILENT_SEC ? NULL : oldest;
}

/* A second after another; true: there were too many refusals in this one. */
static bool is_flooded(struct np_membership *p, double now_sec)
{
	if (now_sec - p->counted_since_sec >= 1) {
		p->counted_since_sec = now_sec;
		p->refusals = 0;
	}
	return p->refusals >= REFUSALS;
}

/*
 * A member says the token as soon as it is connected, so that it is let in at
 * once, whoever else is here and says nothing.
 */
static void admit(struct np_membership *p, double now_sec)
{
	if (now_sec < p->rest_until_sec)
		return;
	p->rest_until_sec = 0;
	for (int i = 0; i < ADMIT_TURN; i++) {
		struct stranger *s = is_flooded(p, now_sec) ? NULL :
				     find_place(p, now_sec);
		int fd;

		if (!s) {
			p->rest_until_sec = now_sec + SILENT_SEC;
			return;
		}
		fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			rest(p, errno, now_sec);
			return;
		}
		if (s->link.fd >= 0)
			refuse(p, s);
		np_peer_open(&s->link, fd);
		s->since_sec = now_sec;
		hear_stranger(p, s);
	}
}

static void greet(struct np_membership *p, double now_sec)
{
	for (size_t i = 0; i < NP_MEMBERSHIP_STRANGERS; i++) {
		struct stranger *s = &p->stranger[i];

		if (s->link.fd >= 0)
			hear_stranger(p, s);
		if (s->link.fd >= 0 && now_sec - s->since_sec > GREETING_SEC)
			refuse(p, s);
	}
	admit(p, now_sec);
}

/* ---- groups ---- */

static void tell_all(struct np_membership *p, const struct group *g,
		     const char *text)
{
	for (size_t i = 0; i < g->n; i++)
		np_peer_say(&p->member[g->member[i]]->link, text);
}

/* Of what the group finds each other by; false: it makes no sense. */
static bool take_wire(struct np_membership *p, struct member *m,
		      const char *line)
{
	struct group *g = m->group;
	char *text = NULL;
	int rc = strcmp(line, "fence") ?
		 np_wire_host_put(g->wire, m->rank, line + 4, false) :
		 np_wire_host_fence(g->wire, m->rank, &text);

	if (text)
		tell_all(p, g, text);
	free(text);
	return !rc;
}

struct saying {
	struct np_membership *p;
	size_t member;
	np_membership_line_f *f;
	void *arg;
};

static void on_line(char *line, void *arg)
{
	struct saying *s = arg;
	struct member *m = s->p->member[s->member];

	if (!strncmp(line, "np1 ", 4)) {
		if (m->group)
			s->f(s->member, line, s->arg);
	} else if (!strncmp(line, "short ", 6)) {
		leaves_for_memory(m, line + 6);
	} else if (!m->group) {
		np_peer_close(&m->link); /* nobody asked it */
	} else if (!strcmp(line, "fence") || !strncmp(line, "put ", 4)) {
		if (!take_wire(s->p, m, line))
			np_peer_close(&m->link);
	} else if (!strncmp(line, "mpi ", 4)) {
		snprintf(m->facts.mpi, sizeof(m->facts.mpi), "%s", line + 4);
		np_text_plain(m->facts.mpi);
	} else {
		snprintf(m->facts.last, sizeof(m->facts.last), "%s", line);
	}
}

void np_membership_serve(struct np_membership *p, double now_sec,
			 np_membership_line_f *f,
			 void *arg)
{
	greet(p, now_sec);
	for (size_t i = 0; i < p->n; i++) {
		struct saying s = { p, i, f, arg };
		struct member *m = p->member[i];

		np_peer_flush(&m->link);
		if (m->link.fd >= 0)
			np_peer_read(&m->link, on_line, &s);
		m->facts.gone = m->link.fd < 0;
		m->facts.here = m->facts.here && !m->facts.gone;
	}
}

int np_membership_full(const struct np_membership *p)
{
	return p->full;
}

size_t np_membership_size(const struct np_membership *p)
{
	return p->n;
}

const struct np_member_facts *np_membership_of(const struct np_membership *p,
					       size_t member)
{
	return &p->member[member]->facts;
}

struct np_membership_count np_membership_count(const struct np_membership *p,
					       enum np_member_kind kind)
{
	struct np_membership_count c = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct np_member_facts *f = &p->member[i]->facts;

		if (f->kind != kind)
			continue;
		c.here += f->here;
		c.called += f->called;
		c.gone += f->called && f->gone;
	}
	return c;
}

static struct group *new_group(const size_t member[], size_t n)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->member = calloc(n, sizeof(*g->member));
	g->wire = np_wire_host_new((uint32_t)n);
	if (!g->member || !g->wire) {
		group_free(g);
		return NULL;
	}
	g->n = n;
	memcpy(g->member, member, n * sizeof(*member));
	return g;
}

/* One that fits into a report, and is one word. */
static bool has_leaf(const struct member *m)
{
	return m->leaf && *m->leaf && strlen(m->leaf) < NP_REPORT_WORD &&
	       !strpbrk(m->leaf, " \t\n");
}

void np_membership_set_leaf(struct np_membership *p, size_t member,
			    const char *leaf)
{
	p->member[member]->leaf = leaf;
}

int np_membership_call(struct np_membership *p, const size_t member[], size_t n,
		       const char *command)
{
	size_t size = strlen(command) + NP_REPORT_WORD + 128;
	char *line = malloc(size);
	struct group *g = new_group(member, n);

	if (!line || !g) {
		free(line);
		group_free(g);
		return -ENOMEM;
	}
	p->group[p->n_groups++] = g; /* there are no more than members */
	for (size_t i = 0; i < n; i++) {
		struct member *m = p->member[member[i]];

		m->group = g;
		m->rank = (uint32_t)i;
		m->facts.here = false;
		m->facts.called = true;
		m->facts.rank = p->n_called[m->facts.kind]++;
		snprintf(line, size, "%s %s%s%s%s --join=%zu/%zu\n",
			 p->invite.host, has_leaf(m) ? NP_LEAF_ENV "=" : "",
			 has_leaf(m) ? m->leaf : "", has_leaf(m) ? " " : "",
			 command, i, n);
		np_peer_say(&m->link, line);
	}
	free(line);
	return 0;
}

void np_membership_end(struct np_membership *p, enum np_member_kind kind)
{
	/* Half open: the member sees the end and still says its last. */
	for (size_t i = 0; i < p->n; i++)
		if (p->member[i]->facts.kind == kind &&
		    p->member[i]->facts.called && p->member[i]->link.fd >= 0)
			shutdown(p->member[i]->link.fd, SHUT_WR);
	np_membership_dismiss(p, kind);
}

void np_membership_dismiss(struct np_membership *p, enum np_member_kind kind)
{
	for (size_t i = 0; i < p->n; i++) {
		struct member *m = p->member[i];

		if (m->facts.kind != kind || m->facts.called)
			continue;
		np_peer_close(&m->link);
		m->facts.gone = true;
		m->facts.here = false;
	}
}
