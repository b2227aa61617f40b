#include "np_probe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- what this process costs its node ---- */

/*
 * Not ru_maxrss, which survives exec() and would show the memory of the
 * slurmstepd that became this program.
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

/* ---- windows ---- */

/* This many bins fit into one report line whatever their counts. */
#define BINS 44

void np_window_init(struct np_window *w, enum np_report_kind kind,
		    uint32_t rank, double width_sec, np_window_emit_f *emit,
		    void *arg)
{
	memset(w, 0, sizeof(*w));
	w->report.kind = kind;
	w->report.rank = rank;
	w->width_sec = width_sec;
	w->emit = emit;
	w->arg = arg;
}

void np_window_flush(struct np_window *w)
{
	struct np_report *r = &w->report;

	if (r->window.sec.n) {
		r->window.at_sec = (double)w->index * w->width_sec;
		w->emit(r, w->arg);
	}
	memset(&r->window, 0, sizeof(r->window));
}

void np_window_tick(struct np_window *w, double now_sec)
{
	uint64_t index = now_sec > 0 ? (uint64_t)(now_sec / w->width_sec) : 0;

	if (index <= w->index)
		return;
	np_window_flush(w);
	w->index = index;
}

/* Index of a bin, or of its place among the sorted bins. */
static size_t position_of(const struct np_report *r, uint16_t bin)
{
	size_t i = 0;

	while (i < r->window.n_bins && r->window.bins[i].bin < bin)
		i++;
	return i;
}

static int is_bin_at(const struct np_report *r, size_t i, uint16_t bin)
{
	return i < r->window.n_bins && r->window.bins[i].bin == bin;
}

static void count_bin(struct np_window *w, uint16_t bin)
{
	struct np_report *r = &w->report;
	size_t i = position_of(r, bin);

	if (is_bin_at(r, i, bin) ? r->window.bins[i].count == UINT32_MAX :
			     r->window.n_bins == BINS) {
		np_window_flush(w);
		i = 0;
	}
	if (!is_bin_at(r, i, bin)) {
		memmove(&r->window.bins[i + 1], &r->window.bins[i],
			(r->window.n_bins - i) * sizeof(r->window.bins[0]));
		r->window.bins[i].bin = bin;
		r->window.bins[i].count = 0;
		r->window.n_bins++;
	}
	r->window.bins[i].count++;
}

void np_window_add(struct np_window *w, double at_sec, double value_sec)
{
	np_window_tick(w, at_sec);
	if (w->report.kind == NP_REPORT_LATENCY)
		count_bin(w, (uint16_t)np_hist_bin_of(value_sec));
	np_moments_add(&w->report.window.sec, value_sec);
}

/* ---- the probe ---- */

/*
 * How long to wait for the reader of a report: while the program runs, and at
 * the end, when other processes wait for this one.
 */
#define REPORT_WAIT_MS 1000
#define LAST_REPORT_WAIT_MS 30

void np_probe_report(struct np_probe *p, const struct np_report *r)
{
	int rc = np_report_write(&p->writer, r);

	/* Without a reader there is no point in measuring. */
	if (rc && rc != -EAGAIN && rc != -EINVAL)
		np_stop_request();
}

static void emit_report(const struct np_report *r, void *probe)
{
	np_probe_report(probe, r);
}

/* Publish the node, the leaf, the kind of network and the network address. */
static int publish_self(struct np_probe *p, struct np_err *err)
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

/*
 * Offset of word i of a blob, and of the address after the words; 0 if the blob
 * is damaged.
 */
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
		return np_errf(err, -EPROTO, "process %u published %zu "
			       "bytes that are not an address (is it another "
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
		.writer = { .fd = STDOUT_FILENO, .wait_ms = REPORT_WAIT_MS },
		.last_cost_sec = conf->born_sec,
		.progress = { .rank = conf->wire->rank, .task = conf->task },
	};
	np_window_init(&p->window, conf->kind, p->rank,
		       conf->report_every_sec, emit_report, p);
	p->place = calloc(p->size, sizeof(*p->place));
	p->blob = calloc(p->size, sizeof(*p->blob));
	if (!p->place || !p->blob)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = publish_self(p, err);
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

static void report_handshake(struct np_probe *p,
			     const struct np_probe_plan *plan,
			     const char *version)
{
	struct np_report r = { .kind = NP_REPORT_HANDSHAKE, .rank = p->rank };
	double link = 0;

	r.handshake.n_ranks = p->size;
	np_report_word(r.handshake.node, p->place[p->rank].node);
	np_report_word(r.handshake.leaf, p->place[p->rank].leaf);
	np_report_word(r.handshake.peer_node, plan->peer_node);
	np_report_word(r.handshake.version, version);
	if (plan->peer != NP_NO_RANK) {
		p->conf.net->ops->transport(p->conf.net, (uint32_t)plan->peer,
					    r.handshake.transport,
					    sizeof(r.handshake.transport));
		link = np_progress_open(&p->progress, "/sys",
					r.handshake.transport, np_nics_ioctl);
	}
	np_probe_report(p, &r);
	if (link > 0)
		np_probe_report(p, &(struct np_report){
			.kind = NP_REPORT_LINK, .rank = p->rank,
			.link = (uint64_t)link });
}

static void report_skip(struct np_probe *p, const char *reason)
{
	struct np_report r = { .kind = NP_REPORT_SKIP, .rank = p->rank };

	np_report_word(r.skip.node, p->place[p->rank].node);
	np_report_word(r.skip.leaf, p->place[p->rank].leaf);
	snprintf(r.skip.reason, sizeof(r.skip.reason), "%s", reason);
	np_probe_report(p, &r);
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
	np_stop_on_signal();
	report_handshake(p, plan, version);
	if (plan->skipped)
		report_skip(p, plan->skipped);
	return 0;
}

/* Report the cost since the last report, or since the process started. */
static void report_cost(struct np_probe *p, double now_sec)
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
	np_probe_report(p, &r);
}

/* Background work of the loop: reports that are due. */
static void on_idle(void *probe, double now_sec)
{
	struct np_probe *p = probe;

	np_window_tick(&p->window, now_sec - p->start_sec);
	np_progress_collect(&p->progress, emit_report, p);
	if (now_sec < p->next_cost_sec)
		return;
	report_cost(p, now_sec);
	np_progress_report(&p->progress, now_sec, emit_report, p);
	p->next_cost_sec += p->conf.report_every_sec;
	if (p->next_cost_sec <= now_sec) /* the process was suspended */
		p->next_cost_sec = now_sec + p->conf.report_every_sec;
}

void np_probe_run(struct np_probe *p, struct np_engine *engine,
		  double duration_sec)
{
	const struct np_idle between = { on_idle, p->conf.report_every_sec, p };

	p->engine = engine;
	np_loop_run(engine, &between, p->conf.net, p->conf.clock,
		    np_stop_requested, p->start_sec + duration_sec);
}

void np_probe_count(double at_sec, double value_sec, void *probe)
{
	struct np_probe *p = probe;

	np_window_add(&p->window, fmax(at_sec, 0), value_sec);
}

void np_probe_note(const char *text, void *probe)
{
	struct np_probe *p = probe;
	struct np_report r = { .kind = NP_REPORT_NOTE, .rank = p->rank };

	snprintf(r.note, sizeof(r.note), "%s", text);
	np_probe_report(p, &r);
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

	p->writer.wait_ms = LAST_REPORT_WAIT_MS;
	np_window_flush(&p->window);
	report_cost(p, p->conf.clock->now_sec(p->conf.clock));
	np_progress_collect(&p->progress, emit_report, p);
	if (p->writer.dropped) {
		snprintf(text, sizeof(text),
			 "%llu reports dropped: nobody read them",
			 (unsigned long long)p->writer.dropped);
		np_probe_note(text, p);
	}
	np_probe_report(p, &bye);
}

void np_probe_close(struct np_probe *p)
{
	for (uint32_t i = 0; p->blob && i < p->size; i++)
		free(p->blob[i].data);
	free(p->blob);
	free(p->place);
	np_progress_close(&p->progress);
}
