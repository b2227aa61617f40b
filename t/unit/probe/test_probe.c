/* A whole probe on real time, over the twins in memory. */
#include "t.h"

#include "np_clock.h"
#include "np_net_loop.h"
#include "np_probe.h"
#include "np_wire_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static struct np_clock real;
static struct np_net_loop *net;
static struct np_wire_loop *wire;
static struct np_probe probe[2];
static int out[2]; /* what the probes say: a pipe */

static int open_probe(uint32_t i, const char *node, const char *leaf,
		      struct np_err *err)
{
	const struct np_probe_conf conf = {
		.kind = NP_REPORT_LATENCY,
		.wire = np_wire_loop_end(wire, i),
		.net = np_net_loop_end(net, i),
		.clock = &real,
		.node = node,
		.leaf = leaf,
		.report_every_sec = 0.05,
		.born_sec = real.now_sec(&real) - 1,
	};
	int rc = np_probe_open(&probe[i], &conf, err);

	probe[i].writer.fd = out[1];
	return rc;
}

static void set_up(void)
{
	np_clock_init(&real, np_stop_fd());
	net = np_net_loop_new(2, &real);
	wire = np_wire_loop_new(2);
	T_CHECK(pipe(out) == 0);
	/* rank 0 does not find rank 1 yet: see the fence of the twin */
	T_CHECK(open_probe(0, "n0", "leaf0", NULL) == -ETIMEDOUT);
	np_probe_close(&probe[0]);
	T_CHECK(open_probe(1, "n1", "leaf0", NULL) == 0);
	T_CHECK(open_probe(0, "n0", "leaf0", NULL) == 0);
}

static void start(size_t rank, const char *peer_node, long peer,
		  const char *version, const char *skipped)
{
	const struct np_probe_plan plan = { peer_node, peer, skipped };

	T_CHECK(np_probe_start(&probe[rank], &plan, version, NULL) == 0);
}

static void tear_down(void)
{
	np_probe_close(&probe[0]);
	np_probe_close(&probe[1]);
	np_net_loop_free(net);
	np_wire_loop_free(wire);
	close(out[0]);
	close(out[1]);
}

/* The next report; kind -1 if there is none. */
static struct np_report received(void)
{
	struct np_report r = { .kind = (enum np_report_kind) - 1 };
	struct pollfd p = { .fd = out[0], .events = POLLIN };
	char line[NP_REPORT_LINE];
	size_t n = 0;

	while (n < sizeof(line) - 1 && poll(&p, 1, 0) == 1 &&
	       read(out[0], &line[n], 1) == 1)
		if (line[n++] == '\n')
			break;
	line[n] = '\0';
	if (n)
		T_CHECK(np_report_parse(line, &r) == 0);
	return r;
}

T_TEST("everybody learns where all run")
{
	set_up();
	for (size_t i = 0; i < 2; i++) {
		T_CHECK(!strcmp(probe[i].place[0].node, "n0"));
		T_CHECK(!strcmp(probe[i].place[1].node, "n1"));
		T_CHECK(!strcmp(probe[i].place[1].leaf, "leaf0"));
	}
	T_CHECK(np_probe_connect(&probe[0], 1, NULL) == 0);
	tear_down();
}

static const struct {
	const char *name, *blob;
	size_t len;
} damaged[] = {
	{ "a node without end", "n1", 2 },
	{ "a leaf without end", "n1\0leaf", 7 },
	{ "a kind of network without end", "n1\0leaf\0ucx", 11 },
	{ "no address", "n1\0leaf\0ucx\0", 12 },
	{ "one byte", "", 1 },
};

T_TEST("nonsense from another process is refused")
{
	set_up();
	T_EACH(r, damaged) {
		struct np_wire *w = np_wire_loop_end(wire, 1);
		struct np_err err = NP_ERR_INIT;

		w->ops->put(w, r->blob, r->len, NULL);
		np_probe_close(&probe[0]);
		T_ROW(r->name, open_probe(0, "n0", "leaf0", &err) == -EPROTO);
		T_ROW(r->name, strstr(err.text, "process 1") != NULL);
	}
	tear_down();
}

/* UCX would read the address of a process of libfabric as one of its own. */
T_TEST("nodes measure over one kind of network")
{
	struct np_err err = NP_ERR_INIT;
	struct np_wire *w;

	set_up();
	w = np_wire_loop_end(wire, 1);
	w->ops->put(w, "n1\0leaf0\0ofi:cxi\0\1\2\3\4", 20, NULL);
	np_probe_close(&probe[0]);
	T_CHECK(open_probe(0, "n0", "leaf0", &err) == 0);
	T_CHECK(np_probe_connect(&probe[0], 1, &err) == -EPROTO);
	T_CHECK(!strcmp(err.text,
			"n1 measures over ofi:cxi and n0 over loop: expected "
			"the same (Transport in netprof.conf)"));
	tear_down();
}

T_TEST("hello and skip say who and why")
{
	struct np_report r;

	set_up();
	np_probe_connect(&probe[0], 1, NULL);
	start(0, "n1", 1, "1.2.3", NULL);
	r = received();
	T_CHECK(r.kind == NP_REPORT_HANDSHAKE && r.rank == 0);
	T_CHECK(r.handshake.n_ranks == 2);
	T_CHECK(!strcmp(r.handshake.node, "n0") &&
		!strcmp(r.handshake.leaf, "leaf0"));
	T_CHECK(!strcmp(r.handshake.peer_node, "n1"));
	T_CHECK(!strcmp(r.handshake.transport, "loop/memory"));
	T_CHECK(!strcmp(r.handshake.version, "1.2.3"));
	start(1, "", NP_NO_RANK, "1.2.3", "nobody there");
	r = received();
	T_CHECK(r.kind == NP_REPORT_HANDSHAKE && !r.handshake.peer_node[0]);
	r = received();
	T_CHECK(r.kind == NP_REPORT_SKIP && r.rank == 1);
	T_CHECK(!strcmp(r.skip.node, "n1") && !strcmp(r.skip.leaf, "leaf0"));
	T_CHECK(!strcmp(r.skip.reason, "nobody there"));
	tear_down();
}

/* Counts its steps as messages, and asks to be woken every 5 ms. */
static void step(struct np_engine *e, double now_sec, struct np_next *next)
{
	e->messages++;
	*next = (struct np_next){ NP_WAIT_SLEEP, now_sec + 5e-3 };
}

static struct np_engine stepper = { &(struct np_engine_ops){ .step = step } };

/* From then on time passes while somebody waits, and only then. */
static double own_sec;

static double own_now(const struct np_clock *c)
{
	(void)c;
	return own_sec;
}

static void own_wait(const struct np_clock *c, int fd, double until_sec)
{
	(void)c, (void)fd;
	own_sec = until_sec;
}

static void take_own_clock(double from_sec)
{
	own_sec = from_sec;
	real = (struct np_clock){ own_now, own_wait, -1 };
}

/* Sums over all cost reports must be the whole, however it was cut. */
T_TEST("costs are deltas that add up")
{
	double elapsed_sec = 0, cpu_sec = 0;
	uint64_t messages = 0, n = 0;
	struct np_report r;
	struct np_cost all;

	set_up();
	take_own_clock(probe[0].last_cost_sec + 1); /* born 1 s ago */
	start(0, "", NP_NO_RANK, "", NULL);
	received();
	stepper.messages = 0;
	np_probe_run(&probe[0], &stepper, 0.22);
	np_probe_finish(&probe[0]);
	np_cost_now(&all);
	while ((r = received()).kind == NP_REPORT_COST) {
		n++;
		elapsed_sec += r.cost.elapsed_sec;
		cpu_sec += r.cost.cpu_sec;
		messages += r.cost.messages;
		T_CHECK(r.cost.rss_bytes > 1 << 16);
	}
	T_CHECK(r.kind == NP_REPORT_BYE);
	T_CHECK(n >= 4 && n <= 7);
	T_CHECK(messages == stepper.messages && messages > 10);
	T_CHECK(fabs(elapsed_sec - 1.22) < 0.01);
	T_CHECK(cpu_sec > 0 && cpu_sec < all.cpu_sec + 1e-3);
	tear_down();
}

T_TEST("samples come out as windows")
{
	struct np_report r;

	set_up();
	start(0, "", NP_NO_RANK, "", NULL);
	received();
	np_probe_count(0.01, 1e-5, &probe[0]);
	np_probe_count(0.02, 3e-5, &probe[0]);
	np_probe_count(0.06, 1e-5, &probe[0]);
	r = received();
	T_CHECK(r.kind == NP_REPORT_LATENCY && r.window.sec.n == 2);
	np_probe_note("something", &probe[0]);
	r = received();
	T_CHECK(r.kind == NP_REPORT_NOTE && !strcmp(r.note, "something"));
	np_probe_finish(&probe[0]);
	r = received();
	T_CHECK(r.kind == NP_REPORT_LATENCY && r.window.sec.n == 1);
	T_CHECK(t_close(r.window.at_sec, 0.05, 1e-9));
	tear_down();
}

/* A reader that has stopped reading costs lines, and little time. */
T_TEST("a reader that does not read costs lines, not time")
{
	struct np_report bye = { .kind = NP_REPORT_BYE };
	struct np_report_writer s;
	double least = INFINITY;
	int ok = 0, rc;

	T_CHECK(pipe(out) == 0);
	fcntl(out[1], F_SETPIPE_SZ, 4096);
	alarm(60); /* should write(2) block after all */
	s = (struct np_report_writer){ .fd = out[1], .wait_ms = 20 };
	while ((rc = np_report_write(&s, &bye)) == 0 && ok < 100000)
		ok++;
	T_CHECK(rc == -EAGAIN && s.dropped == 1 && ok > 0);
	for (int i = 0; i < 5; i++) { /* other programs only add to the least */
		double start = np_mono_sec();

		T_CHECK(np_report_write(&s, &bye) == -EAGAIN);
		least = fmin(least, np_mono_sec() - start);
	}
	T_CHECK(least < 1);
	alarm(0);
	close(out[0]);
	signal(SIGPIPE, SIG_IGN);
	T_CHECK(np_report_write(&s, &bye) == -EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(out[1]);
}

/*
 * Signals belong to the process, so each of these runs in one of its own and
 * says with its exit code how it went.
 */
static int early_signal(void)
{
	np_stop_init(NULL);
	raise(SIGTERM);
	return 7;
}

static int late_signal(void)
{
	struct np_clock c;
	double start;

	np_stop_init(NULL);
	np_stop_on_signal();
	np_clock_init(&c, np_stop_fd());
	start = c.now_sec(&c);
	c.wait(&c, -1, start + 0.02);
	if (c.now_sec(&c) < start + 0.02 || np_stop_requested())
		return 1;
	raise(SIGUSR1);
	c.wait(&c, -1, INFINITY);
	return np_stop_requested() ? 0 : 2;
}

/* The loop ends although its engine would sleep for ever and no report is due:
   nothing but the signal can wake it, however busy the machine is. */
static void sleep_for_ever(struct np_engine *e, double now_sec,
			   struct np_next *next)
{
	(void)e, (void)now_sec;
	*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
}

static int signal_while_running(void)
{
	struct np_engine e = { &(struct np_engine_ops){
		.step = sleep_for_ever } };
	pid_t self = getpid();

	np_stop_init(NULL);
	set_up();
	probe[0].conf.report_every_sec = INFINITY;
	start(0, "", NP_NO_RANK, "", NULL);
	if (fork() == 0) {
		usleep(50000);
		kill(self, SIGUSR1);
		_exit(0);
	}
	alarm(60); /* the child ends where nothing else ends the wait */
	np_probe_run(&probe[0], &e, INFINITY);
	return np_stop_requested() ? 0 : 1;
}

static int reader_goes_away(void)
{
	np_stop_init(NULL);
	set_up();
	start(0, "", NP_NO_RANK, "", NULL);
	close(out[0]);
	np_probe_run(&probe[0], &stepper, 60);
	np_probe_finish(&probe[0]);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} ends[] = {
	{ "a signal before the start ends it at once", early_signal },
	{ "a signal after the start is only remembered", late_signal },
	{ "a signal ends the loop", signal_while_running },
	{ "a reader that goes away ends the loop", reader_goes_away },
};

T_TEST("it ends when asked to")
{
	T_EACH(r, ends)
		T_ROW(r->name, t_in_child(r->run) == 0);
}

/* An engine that waits for one message, without a time. */
static struct np_op got;
static bool is_got(void)
{
	return got.status == 0;
}

static size_t steps;

static void wait_for_message(struct np_engine *e, double now_sec,
			     struct np_next *next)
{
	(void)e, (void)now_sec;
	steps++;
	*next = (struct np_next){ is_got() ? NP_WAIT_POLL : NP_WAIT_NET,
				  INFINITY };
}

static void nothing(void *arg, double now_sec)
{
	(void)arg, (void)now_sec;
}

/* A network whose descriptor always says that there is work, and never is any. */
static unsigned no_work(struct np_net *n)
{
	(void)n;
	return 0;
}

static int always_ready(struct np_net *n)
{
	(void)n;
	return 0;
}

static int never_armed(struct np_net *n)
{
	(void)n;
	return -EAGAIN;
}

static void wait_for_ever(struct np_engine *engine, double now_sec,
			  struct np_next *next)
{
	(void)engine, (void)now_sec;
	steps++;
	*next = (struct np_next){ NP_WAIT_NET, INFINITY };
}

static bool never(void)
{
	return false;
}

T_TEST("a library that always has work to do, and does none, uses little time")
{
	static const struct {
		const char *name;
		int (*arm)(struct np_net *n);
	} nets[] = {
		{ "its descriptor is readable", always_ready },
		{ "it cannot be armed", never_armed },
	};
	struct np_engine e = { &(struct np_engine_ops){
		.step = wait_for_ever } };
	const struct np_idle idle = { nothing, 60, NULL };
	int fd[2];

	T_CHECK(!pipe(fd) && write(fd[1], "x", 1) == 1);
	T_EACH(r, nets) {
		const struct np_net_ops ops = { .progress = no_work,
						.arm = r->arm };
		struct np_net n = { .ops = &ops, .fd = fd[0] };

		steps = 0;
		np_loop_run(&e, &idle, &n, &real, never,
			    real.now_sec(&real) + 0.3);
		T_ROW(r->name, steps > 64 && steps < 1000);
	}
	close(fd[0]);
	close(fd[1]);
}

static void *send_late(void *peer)
{
	struct np_net *n = peer;
	struct np_op sent;

	usleep(20000);
	n->ops->send(n, 1, 1, "m", 2, &sent);
	return NULL;
}

T_TEST("a message wakes the loop")
{
	struct np_engine e = { &(struct np_engine_ops){
		.step = wait_for_message } };
	const struct np_idle idle = { nothing, 60, NULL };
	struct np_net *b;
	pthread_t sender;
	double start;
	char buf[2];

	set_up();
	b = np_net_loop_end(net, 1);
	np_probe_connect(&probe[0], 1, NULL);
	b->ops->recv(b, 1, buf, sizeof(buf), &got);
	steps = 0;
	start = real.now_sec(&real);
	T_CHECK(!pthread_create(&sender, NULL, send_late,
				np_net_loop_end(net, 0)));
	np_loop_run(&e, &idle, b, &real, is_got, start + 60);
	T_CHECK(is_got() && real.now_sec(&real) < start + 30);
	T_CHECK(steps < 5); /* it slept until then */
	pthread_join(sender, NULL);
	tear_down();
}
