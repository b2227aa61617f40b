#include "np_probe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "np_calls.h"
#include "np_stop.h"

/* As in linux/sched/types.h, whose name clashes with that of glibc. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#define SLICE_NS 100000 /* the shortest there is */

/*
 * Not ru_maxrss: it survives exec() and would show what slurmstepd used
 * before it became this program.
 */
static uint64_t peak_rss_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[128];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lu kB", &kib) == 1)
			break;
	fclose(f);
	return (uint64_t)kib << 10;
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + 1e-6 * (double)tv->tv_usec;
}

void np_cost_now(struct np_cost *c)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	c->cpu_sec = seconds(&u.ru_utime) + seconds(&u.ru_stime);
	c->rss_bytes = peak_rss_bytes();
}

void np_cost_prompt(void)
{
	struct attr a = { .size = sizeof(a) };

	prctl(PR_SET_TIMERSLACK, 1);
	/*
	 * Since Linux 6.12 the runtime of an ordinary task is its slice: who
	 * asks for a short one is scheduled soon after it wakes.  Older
	 * kernels ignore it.
	 */
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy)
		return;
	a.runtime_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

/* While the program runs, and when everybody waits for us to end. */
#define SAY_WAIT_MS 1000
#define SAY_LAST_WAIT_MS 30

static void say(struct np_probe *p, const struct np_report *r)
{
	int rc = np_say(&p->say, r);

	/* Nobody reads: there is nothing left to measure for. */
	if (rc && rc != -EAGAIN && rc != -EINVAL)
		np_stop_ask();
}

static void say_window(const struct np_report *r, void *probe)
{
	say(probe, r);
}

/* What a process puts: its node, its leaf, its kind of network, its address. */
static int put_self(struct np_probe *p, struct np_err *err)
{
	const struct np_net *net = p->conf.net;
	const char *const word[] = { p->conf.node, p->conf.leaf, net->kind };
	size_t len = net->address_len;
	char *blob, *at;
	int rc;

	for (size_t i = 0; i < NP_ARRAY_SIZE(word); i++)
		len += strlen(word[i]) + 1;
	blob = at = malloc(len);
	if (!blob)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < NP_ARRAY_SIZE(word); i++)
		at = stpcpy(at, word[i]) + 1;
	memcpy(at, net->address, net->address_len);
	rc = p->conf.wire->ops->put(p->conf.wire, blob, len, err);
	free(blob);
	return rc;
}

/* Where word i of a blob begins, the address after them; 0 if it is damaged. */
static size_t word_at(const struct np_probe_blob *b, size_t i)
{
	size_t at = 0;

	while (i-- && at < b->len)
		at += strnlen((char *)b->data + at, b->len - at) + 1;
	return at < b->len ? at : 0;
}

enum { LEAF = 1, KIND, ADDRESS };

static int get_place(struct np_probe *p, uint32_t rank, struct np_err *err)
{
	struct np_place *at = &p->place[rank];
	struct np_probe_blob *b = &p->blob[rank];
	int rc = p->conf.wire->ops->get(p->conf.wire, rank, &b->data, &b->len,
					err);

	if (rc)
		return rc;
	if (!word_at(b, ADDRESS))
		return np_errf(err, -EPROTO, "process %u says where it runs "
			       "in %zu bytes that make no sense (another "
			       "version of this program?)", rank, b->len);
	at->node = b->data;
	at->leaf = at->node + word_at(b, LEAF);
	return 0;
}

int np_probe_open(struct np_probe *p, const struct np_probe_conf *conf,
		  struct np_err *err)
{
	int rc;

	*p = (struct np_probe){
		.conf = *conf,
		.rank = conf->wire->rank,
		.size = conf->wire->size,
		.say = { .fd = STDOUT_FILENO, .wait_ms = SAY_WAIT_MS },
		.last_cost_sec = conf->born_sec,
	};
	np_window_init(&p->window, conf->kind, p->rank,
		       conf->report_every_sec, say_window, p);
	p->place = calloc(p->size, sizeof(*p->place));
	p->blob = calloc(p->size, sizeof(*p->blob));
	if (!p->place || !p->blob)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = put_self(p, err);
	if (!rc)
		rc = conf->wire->ops->fence(conf->wire, NP_PROBE_FENCE_SEC,
					    err);
	for (uint32_t i = 0; i < p->size && !rc; i++)
		rc = get_place(p, i, err);
	return rc;
}

int np_probe_connect(struct np_probe *p, size_t rank, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	const struct np_probe_blob *b = &p->blob[rank];
	const char *kind = (char *)b->data + word_at(b, KIND);
	struct np_net *net = p->conf.net;
	size_t at = word_at(b, ADDRESS);
	int rc;

	if (strcmp(kind, net->kind))
		return np_errf(err, -EPROTO, "%s measures over %.60s and %s "
			       "over %s: expected the same (Transport in "
			       "netprof.conf)", p->place[rank].node, kind,
			       p->conf.node, net->kind);
	rc = net->ops->connect(net, (uint32_t)rank, (char *)b->data + at,
			       b->len - at, &why);
	return rc ? np_errf(err, rc, "%s: %s", p->place[rank].node, why.text) :
		    0;
}

/* Names come from outside; a report is made of words. */
static void set_word(char word[NP_REPORT_WORD], const char *text)
{
	snprintf(word, NP_REPORT_WORD, "%s", text);
	for (char *c = word; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '?';
}

static void say_hello(struct np_probe *p, const struct np_probe_plan *plan,
		      const char *version)
{
	struct np_report r = { .kind = NP_REPORT_HELLO, .rank = p->rank };
	const char *slash;

	r.hello.n_ranks = p->size;
	set_word(r.hello.node, p->place[p->rank].node);
	set_word(r.hello.leaf, p->place[p->rank].leaf);
	set_word(r.hello.partner, plan->partner);
	set_word(r.hello.version, version);
	if (plan->peer != NP_NOBODY) {
		p->conf.net->ops->transport(p->conf.net, (uint32_t)plan->peer,
					    r.hello.transport,
					    sizeof(r.hello.transport));
		np_device_find("/sys", r.hello.transport, &p->device);
		slash = strchr(r.hello.transport, '/');
		np_nics_open("/sys", slash ? slash + 1 : NULL, np_nics_ioctl,
			     &p->nics);
	}
	say(p, &r);
	if (p->device.link > 0)
		say(p, &(struct np_report){ .kind = NP_REPORT_LINK,
					    .rank = p->rank,
					    .link = (uint64_t)p->device.link });
}

static void say_skip(struct np_probe *p, const char *reason)
{
	struct np_report r = { .kind = NP_REPORT_SKIP, .rank = p->rank };

	set_word(r.skip.node, p->place[p->rank].node);
	set_word(r.skip.leaf, p->place[p->rank].leaf);
	snprintf(r.skip.reason, sizeof(r.skip.reason), "%s", reason);
	say(p, &r);
}

int np_probe_start(struct np_probe *p, const struct np_probe_plan *plan,
		   const char *version, struct np_err *err)
{
	struct np_wire *wire = p->conf.wire;
	int rc = wire->ops->fence(wire, NP_PROBE_FENCE_SEC, err);

	if (rc)
		return rc;
	p->start_sec = p->conf.clock->now_sec(p->conf.clock);
	p->next_cost_sec = p->start_sec;
	np_stop_defer();
	say_hello(p, plan, version);
	if (plan->skipped)
		say_skip(p, plan->skipped);
	return 0;
}

/* What was used since the last time; the first time, since the start. */
static void say_cost(struct np_probe *p, double now_sec)
{
	struct np_report r = { .kind = NP_REPORT_COST, .rank = p->rank };
	uint64_t messages = p->engine ? p->engine->messages : 0;
	struct np_cost cost;

	np_cost_now(&cost);
	r.cost.cpu_sec = cost.cpu_sec - p->last_cpu_sec;
	r.cost.elapsed_sec = now_sec - p->last_cost_sec;
	r.cost.messages = messages - p->last_messages;
	r.cost.rss_bytes = cost.rss_bytes;
	p->last_cpu_sec = cost.cpu_sec;
	p->last_cost_sec = now_sec;
	p->last_messages = messages;
	say(p, &r);
}

/* What a counter, which says n now, says since the last time. */
static void say_moved(struct np_probe *p, enum np_report_kind kind,
		      struct np_counter *last, double now_sec, uint64_t n)
{
	const struct np_report r = {
		.kind = kind, .rank = p->rank,
		.moved = { now_sec - last->sec, n - last->n },
	};

	/* Before the first look nothing is known; counters may start anew. */
	if (last->sec > 0 && n >= last->n)
		say(p, &r);
	*last = (struct np_counter){ now_sec, n };
}

/* What an adapter counted since the last time; a counter may start anew. */
static void say_nic(struct np_probe *p, const char *device, double elapsed_sec,
		    const struct np_nic_counts *last,
		    const struct np_nic_counts *now)
{
	struct np_report r = {
		.kind = NP_REPORT_NIC, .rank = p->rank,
		.nic = { .elapsed_sec = elapsed_sec },
	};

	for (unsigned k = 0; k < NP_NIC_KINDS; k++)
		if (last->has & now->has & 1u << k && now->n[k] >= last->n[k]) {
			r.nic.counts.has |= 1u << k;
			r.nic.counts.n[k] = now->n[k] - last->n[k];
		}
	set_word(r.nic.device, device);
	if (r.nic.counts.has)
		say(p, &r);
}

static void say_nics(struct np_probe *p, double now_sec)
{
	struct np_nic_counts now[NP_NICS_MAX];
	double pause_sec = np_nics_read(p->nics, now);

	for (size_t i = 0; i < np_nics_count(p->nics); i++) {
		if (p->nics_sec > 0)
			say_nic(p, np_nics_name(p->nics, i),
				now_sec - p->nics_sec, &p->nic[i], &now[i]);
		p->nic[i] = now[i];
	}
	p->nics_sec = now_sec;
	p->next_nics_sec = now_sec + pause_sec;
}

static void say_progress(struct np_probe *p, double now_sec)
{
	uint64_t n;

	if (p->device.unit && !np_device_bytes(&p->device, &n))
		say_moved(p, NP_REPORT_MOVED, &p->moved, now_sec, n);
	/* 0: nothing is counted any more. */
	if (p->conf.task && np_calls_find(p->conf.task, &n) && n)
		say_moved(p, NP_REPORT_CALLS, &p->calls, now_sec, n);
	if (p->nics && now_sec >= p->next_nics_sec)
		say_nics(p, now_sec);
}

static void idle(void *probe, double now_sec)
{
	struct np_probe *p = probe;

	np_window_tick(&p->window, now_sec - p->start_sec);
	if (now_sec < p->next_cost_sec)
		return;
	say_cost(p, now_sec);
	say_progress(p, now_sec);
	p->next_cost_sec += p->conf.report_every_sec;
	if (p->next_cost_sec <= now_sec) /* it was suspended meanwhile */
		p->next_cost_sec = now_sec + p->conf.report_every_sec;
}

void np_probe_run(struct np_probe *p, struct np_engine *engine,
		  double duration_sec)
{
	const struct np_idle between = { idle, p->conf.report_every_sec, p };

	p->engine = engine;
	np_loop_run(engine, &between, p->conf.net, p->conf.clock,
		    np_stop_asked, p->start_sec + duration_sec);
}

void np_probe_count(double at_sec, double value_sec, void *probe)
{
	struct np_probe *p = probe;

	np_window_add(&p->window, fmax(at_sec, 0), value_sec);
}

void np_probe_prtt(const struct np_prtt *prtt, void *probe)
{
	struct np_probe *p = probe;
	const struct np_report r = {
		.kind = NP_REPORT_PRTT, .rank = p->rank, .prtt = *prtt,
	};

	say(p, &r);
}

void np_probe_pair(uint32_t peer, double sec, void *probe)
{
	struct np_probe *p = probe;
	const struct np_report r = {
		.kind = NP_REPORT_PAIR, .rank = p->rank, .pair = { peer, sec },
	};

	say(p, &r);
}

void np_probe_note(const char *text, void *probe)
{
	struct np_probe *p = probe;
	struct np_report r = { .kind = NP_REPORT_NOTE, .rank = p->rank };

	snprintf(r.note, sizeof(r.note), "%s", text);
	say(p, &r);
}

struct np_engine_env np_probe_env(struct np_probe *p)
{
	return (struct np_engine_env){
		.net = p->conf.net, .clock = p->conf.clock,
		.rank = p->rank, .place = p->place, .start_sec = p->start_sec,
		.count = np_probe_count, .note = np_probe_note, .arg = p,
	};
}

void np_probe_finish(struct np_probe *p)
{
	const struct np_report bye = {
		.kind = NP_REPORT_BYE, .rank = p->rank,
	};
	char text[64];

	p->say.wait_ms = SAY_LAST_WAIT_MS;
	np_window_flush(&p->window);
	say_cost(p, p->conf.clock->now_sec(p->conf.clock));
	if (p->say.dropped) {
		snprintf(text, sizeof(text), "%llu reports found no reader",
			 (unsigned long long)p->say.dropped);
		np_probe_note(text, p);
	}
	say(p, &bye);
}

void np_probe_close(struct np_probe *p)
{
	for (uint32_t i = 0; p->blob && i < p->size; i++)
		free(p->blob[i].data);
	free(p->blob);
	free(p->place);
	np_nics_close(p->nics);
}
