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

void np_cost_now(struct np_cost *cost)
{
	struct rusage rusage;

	getrusage(RUSAGE_SELF, &rusage);
	cost->cpu_sec = seconds(&rusage.ru_utime) + seconds(&rusage.ru_stime);
	cost->rss_bytes = peak_rss_bytes();
}

/* ---- windows ---- */

/* This many bins fit into one report line whatever their counts. */
#define BINS 44

void np_window_init(struct np_window *window, enum np_report_kind kind,
		    uint32_t rank, double width_sec, np_window_emit_f *emit,
		    void *arg)
{
	memset(window, 0, sizeof(*window));
	window->report.kind = kind;
	window->report.rank = rank;
	window->width_sec = width_sec;
	window->emit = emit;
	window->arg = arg;
}

void np_window_flush(struct np_window *window)
{
	struct np_report *report = &window->report;

	if (report->window.sec.n) {
		report->window.at_sec =
			(double)window->index * window->width_sec;
		window->emit(report, window->arg);
	}
	memset(&report->window, 0, sizeof(report->window));
}

void np_window_tick(struct np_window *window, double now_sec)
{
	uint64_t index = now_sec > 0 ? (uint64_t)(now_sec / window->width_sec) :
				       0;

	if (index <= window->index)
		return;
	np_window_flush(window);
	window->index = index;
}

/* Index of a bin, or of its place among the sorted bins. */
static size_t position_of(const struct np_report *report, uint16_t bin)
{
	size_t i = 0;

	while (i < report->window.n_bins && report->window.bins[i].bin < bin)
		i++;
	return i;
}

static int is_bin_at(const struct np_report *report, size_t i, uint16_t bin)
{
	return i < report->window.n_bins && report->window.bins[i].bin == bin;
}

static void count_bin(struct np_window *window, uint16_t bin)
{
	struct np_report *report = &window->report;
	size_t i = position_of(report, bin);

	if (is_bin_at(report, i, bin) ?
		    report->window.bins[i].count == UINT32_MAX :
		    report->window.n_bins == BINS) {
		np_window_flush(window);
		i = 0;
	}
	if (!is_bin_at(report, i, bin)) {
		memmove(&report->window.bins[i + 1], &report->window.bins[i],
			(report->window.n_bins - i) *
				sizeof(report->window.bins[0]));
		report->window.bins[i].bin = bin;
		report->window.bins[i].count = 0;
		report->window.n_bins++;
	}
	report->window.bins[i].count++;
}

void np_window_add(struct np_window *window, double at_sec, double value_sec)
{
	np_window_tick(window, at_sec);
	if (window->report.kind == NP_REPORT_LATENCY)
		count_bin(window, (uint16_t)np_hist_bin_of(value_sec));
	np_moments_add(&window->report.window.sec, value_sec);
}

/* ---- the probe ---- */

/*
 * How long to wait for the reader of a report: while the program runs, and at
 * the end, when other processes wait for this one.
 */
#define REPORT_WAIT_MS 1000
#define LAST_REPORT_WAIT_MS 30

void np_probe_report(struct np_probe *probe, const struct np_report *report)
{
	int rc = np_report_write(&probe->writer, report);

	/* Without a reader there is no point in measuring. */
	if (rc && rc != -EAGAIN && rc != -EINVAL)
		np_stop_request();
}

static void emit_report(const struct np_report *report, void *probe)
{
	np_probe_report(probe, report);
}

/* Publish the node, the leaf, the kind of network and the network address. */
static int publish_self(struct np_probe *probe, struct np_err *err)
{
	const struct np_net *net = probe->conf.net;
	const char *const word[] = { probe->conf.node, probe->conf.leaf,
				     net->kind };
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
	rc = probe->conf.wire->ops->put(probe->conf.wire, blob, len, err);
	free(blob);
	return rc;
}

/*
 * Offset of word i of a blob, and of the address after the words; 0 if the blob
 * is damaged.
 */
static size_t word_at(const struct np_probe_blob *blob, size_t i)
{
	size_t at = 0;

	while (i-- && at < blob->len)
		at += strnlen((char *)blob->data + at, blob->len - at) + 1;
	return at < blob->len ? at : 0;
}

enum { LEAF = 1, KIND, ADDRESS };

static int get_place(struct np_probe *probe, uint32_t rank, struct np_err *err)
{
	struct np_place *at = &probe->place[rank];
	struct np_probe_blob *blob = &probe->blob[rank];
	int rc = probe->conf.wire->ops->get(probe->conf.wire, rank, &blob->data,
					    &blob->len, err);

	if (rc)
		return rc;
	if (!word_at(blob, ADDRESS))
		return np_errf(
			err, -EPROTO,
			"process %u published %zu bytes that are not an "
			"address (is it another version of this program?)",
			rank, blob->len);
	at->node = blob->data;
	at->leaf = at->node + word_at(blob, LEAF);
	return 0;
}

int np_probe_open(struct np_probe *probe, const struct np_probe_conf *conf,
		  struct np_err *err)
{
	int rc;

	*probe = (struct np_probe){
		.conf = *conf,
		.rank = conf->wire->rank,
		.size = conf->wire->size,
		.writer = { .fd = STDOUT_FILENO, .wait_ms = REPORT_WAIT_MS },
		.last_cost_sec = conf->born_sec,
		.progress = { .rank = conf->wire->rank, .task = conf->task },
	};
	np_window_init(&probe->window, conf->kind, probe->rank,
		       conf->report_every_sec, emit_report, probe);
	probe->place = calloc(probe->size, sizeof(*probe->place));
	probe->blob = calloc(probe->size, sizeof(*probe->blob));
	if (!probe->place || !probe->blob)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = publish_self(probe, err);
	if (!rc)
		rc = conf->wire->ops->fence(conf->wire, NP_PROBE_FENCE_SEC,
					    err);
	for (uint32_t i = 0; i < probe->size && !rc; i++)
		rc = get_place(probe, i, err);
	return rc;
}

int np_probe_connect(struct np_probe *probe, size_t rank, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	const struct np_probe_blob *blob = &probe->blob[rank];
	const char *kind = (char *)blob->data + word_at(blob, KIND);
	struct np_net *net = probe->conf.net;
	size_t at = word_at(blob, ADDRESS);
	int rc;

	if (strcmp(kind, net->kind))
		return np_errf(err, -EPROTO,
			       "%s measures over %.60s and %s over %s: "
			       "expected the same (Transport in netprof.conf)",
			       probe->place[rank].node, kind, probe->conf.node,
			       net->kind);
	rc = net->ops->connect(net, (uint32_t)rank, (char *)blob->data + at,
			       blob->len - at, &why);
	return rc ? np_errf(err, rc, "%s: %s", probe->place[rank].node,
			    why.text) :
		    0;
}

static void report_handshake(struct np_probe *probe,
			     const struct np_probe_plan *plan,
			     const char *version)
{
	struct np_report report = { .kind = NP_REPORT_HANDSHAKE,
				    .rank = probe->rank };
	double link = 0;

	report.handshake.n_ranks = probe->size;
	np_report_word(report.handshake.node, probe->place[probe->rank].node);
	np_report_word(report.handshake.leaf, probe->place[probe->rank].leaf);
	np_report_word(report.handshake.peer_node, plan->peer_node);
	np_report_word(report.handshake.version, version);
	if (plan->peer != NP_NO_RANK) {
		probe->conf.net->ops->transport(
			probe->conf.net, (uint32_t)plan->peer,
			report.handshake.transport,
			sizeof(report.handshake.transport));
		link = np_progress_open(&probe->progress, "/sys",
					report.handshake.transport,
					np_nics_ioctl);
	}
	np_probe_report(probe, &report);
	if (link > 0)
		np_probe_report(probe,
				&(struct np_report){ .kind = NP_REPORT_LINK,
						     .rank = probe->rank,
						     .link = (uint64_t)link });
}

static void report_skip(struct np_probe *probe, const char *reason)
{
	struct np_report report = { .kind = NP_REPORT_SKIP,
				    .rank = probe->rank };

	np_report_word(report.skip.node, probe->place[probe->rank].node);
	np_report_word(report.skip.leaf, probe->place[probe->rank].leaf);
	snprintf(report.skip.reason, sizeof(report.skip.reason), "%s", reason);
	np_probe_report(probe, &report);
}

int np_probe_start(struct np_probe *probe, const struct np_probe_plan *plan,
		   const char *version, struct np_err *err)
{
	struct np_wire *wire = probe->conf.wire;
	int rc = wire->ops->fence(wire, NP_PROBE_FENCE_SEC, err);

	if (rc)
		return rc;
	probe->start_sec = probe->conf.clock->now_sec(probe->conf.clock);
	probe->next_cost_sec = probe->start_sec;
	np_stop_on_signal();
	report_handshake(probe, plan, version);
	if (plan->skipped)
		report_skip(probe, plan->skipped);
	return 0;
}

/* Report the cost since the last report, or since the process started. */
static void report_cost(struct np_probe *probe, double now_sec)
{
	struct np_report report = { .kind = NP_REPORT_COST,
				    .rank = probe->rank };
	uint64_t messages = probe->engine ? probe->engine->messages : 0;
	struct np_cost cost;

	np_cost_now(&cost);
	report.cost.cpu_sec = cost.cpu_sec - probe->last_cpu_sec;
	report.cost.elapsed_sec = now_sec - probe->last_cost_sec;
	report.cost.messages = messages - probe->last_messages;
	report.cost.rss_bytes = cost.rss_bytes;
	probe->last_cpu_sec = cost.cpu_sec;
	probe->last_cost_sec = now_sec;
	probe->last_messages = messages;
	np_probe_report(probe, &report);
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

void np_probe_run(struct np_probe *probe, struct np_engine *engine,
		  double duration_sec)
{
	const struct np_idle between = { on_idle, probe->conf.report_every_sec,
					 probe };

	probe->engine = engine;
	np_loop_run(engine, &between, probe->conf.net, probe->conf.clock,
		    np_stop_requested, probe->start_sec + duration_sec);
}

void np_probe_count(double at_sec, double value_sec, void *probe)
{
	struct np_probe *p = probe;

	np_window_add(&p->window, fmax(at_sec, 0), value_sec);
}

void np_probe_note(const char *text, void *probe)
{
	struct np_probe *p = probe;
	struct np_report report = { .kind = NP_REPORT_NOTE, .rank = p->rank };

	snprintf(report.note, sizeof(report.note), "%s", text);
	np_probe_report(p, &report);
}

struct np_engine_env np_probe_env(struct np_probe *probe)
{
	return (struct np_engine_env){
		.net = probe->conf.net,
		.clock = probe->conf.clock,
		.rank = probe->rank,
		.place = probe->place,
		.start_sec = probe->start_sec,
		.count = np_probe_count,
		.note = np_probe_note,
		.arg = probe,
	};
}

void np_probe_finish(struct np_probe *probe)
{
	const struct np_report bye = {
		.kind = NP_REPORT_BYE,
		.rank = probe->rank,
	};
	char text[64];

	probe->writer.wait_ms = LAST_REPORT_WAIT_MS;
	np_window_flush(&probe->window);
	report_cost(probe, probe->conf.clock->now_sec(probe->conf.clock));
	np_progress_collect(&probe->progress, emit_report, probe);
	if (probe->writer.dropped) {
		snprintf(text, sizeof(text),
			 "%llu reports dropped: nobody read them",
			 (unsigned long long)probe->writer.dropped);
		np_probe_note(text, probe);
	}
	np_probe_report(probe, &bye);
}

void np_probe_close(struct np_probe *probe)
{
	for (uint32_t i = 0; probe->blob && i < probe->size; i++)
		free(probe->blob[i].data);
	free(probe->blob);
	free(probe->place);
	np_progress_close(&probe->progress);
}
