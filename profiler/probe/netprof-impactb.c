/* ImpactB: measures the latency between the nodes of a running job step. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "np_conf.h"
#include "np_engine.h"
#include "np_probe.h"

#define NAME "netprof-impactb"

static const char usage[] =
	"usage: srun --mpi=pmix [srun options] " NAME " [options]\n"
	"\n"
	"Measures the latency between the nodes of a job step: processes on two nodes\n"
	"under one leaf switch exchange a short message from time to time. srun starts\n"
	"one or more processes per node. They end on SIGUSR1, SIGTERM or SIGINT.\n"
	"\n"
	"  --bytes=SIZE        size of a message, 8 to 1M bytes (default 1K)\n"
	"  --period=TIME       mean time between exchanges, 1ms to 1h (default 100ms)\n"
	"  --report-every=SEC  width of a reported window, 0.1 to 60 s (default 1)\n"
	"  --duration=SEC      end after this time, up to 366 days (default: never)\n"
	"  --matrix=N          instead, measure the lowest of N latencies between every\n"
	"                      two nodes, one pair at a time, and end\n"
	"  --join=RANK/SIZE    find the other processes over standard input and output;\n"
	"                      netprof-agent sets this, and netprof calibrate sets\n"
	"                      --join=srun\n"
	"  --version           print the version\n"
	"  --help              print this help\n"
	"\n"
	"SIZE is in bytes, or with K or M. TIME needs a unit: us, ms, s, m, h. SEC is\n"
	"in seconds, or with a unit. UCX_TLS and UCX_NET_DEVICES select the network.\n"
	"Reports are written to standard output, one per line.\n";

/* ---- the latency matrix: the lowest latency of every two processes ---- */

/*
 * One pair is measured at a time, so that a latency shows the network and the
 * load of other jobs, and never the other pairs of the matrix.
 *
 * A token travels from the first process to the last. The holder of the token
 * exchanges messages with each process of a higher rank, which answers at
 * once. The last process returns the end of the measurement to the first.
 */

/*
 * Of a message and of its reply: few, so that a shaped or slow link has no
 * share in the latency even if one exchange follows the other.
 */
#define MATRIX_BYTES 8

struct matrix_conf {
	struct np_engine_env env;
	uint32_t n_ranks;    /* all are connected to all others */
	uint32_t times;	     /* round trips per pair, 1 or more */
	double patience_sec; /* without progress for this long, give up */
	/* Report half the shortest round trip to a process of higher rank. */
	void (*pair)(uint32_t peer, double sec, void *arg);
	void (*done)(void *arg); /* called once, at the end */
};

#define TAG_PING (4ull << 32) /* plus the rank of the sender */
#define TAG_PONG (5ull << 32)
#define TAG_TOKEN (6ull << 32)
#define TAG_END (7ull << 32)

/*
 * For the first eighth of the round trips the process sleeps until the message
 * wakes it; for the others it polls, at most this long. Polling is faster,
 * except where both processes share a core, and only the fastest round trip
 * counts. The two do not alternate, because the wake-up of a process that
 * sleeps would delay the message that the other polls for.
 */
#define SLEEPING_SHARE 8
#define POLL_SEC 100e-6

struct matrix {
	struct np_engine engine;
	struct matrix_conf conf;
	enum {
		ANSWERING,
		AWAITING_TOKEN,
		MEASURING,
		PASSING_TOKEN,
		LEAVING,
		DONE
	} state;
	uint32_t peer; /* the other process of the current pair */
	uint32_t n;    /* round trips of this pair so far */
	double best_sec, sent_sec, progress_sec;
	struct np_op received, sent, token, end;
	char out[MATRIX_BYTES], in[MATRIX_BYTES], word[1];
};

static uint32_t self(const struct matrix *matrix)
{
	return matrix->conf.env.rank;
}

static void recv(struct matrix *matrix, uint64_t tag, void *buf, size_t len,
		 struct np_op *op)
{
	struct np_net *net = matrix->conf.env.net;

	net->ops->recv(net, tag, buf, len, op);
}

static void send(struct matrix *matrix, uint32_t to, uint64_t tag,
		 const void *buf, size_t len, struct np_op *op)
{
	struct np_net *net = matrix->conf.env.net;

	matrix->engine.messages++;
	net->ops->send(net, to, tag | self(matrix), buf, len, op);
}

static void post_ping(struct matrix *matrix)
{
	recv(matrix, TAG_PING | matrix->peer, matrix->in, sizeof(matrix->in),
	     &matrix->received);
}

static void send_ping(struct matrix *matrix)
{
	const struct np_clock *clock = matrix->conf.env.clock;

	recv(matrix, TAG_PONG | matrix->peer, matrix->in, sizeof(matrix->in),
	     &matrix->received);
	matrix->sent_sec = clock->now_sec(clock);
	send(matrix, matrix->peer, TAG_PING, matrix->out, sizeof(matrix->out),
	     &matrix->sent);
}

/* The last process has no pair left to measure, and returns the end instead. */
static void pass_token(struct matrix *matrix)
{
	matrix->state = PASSING_TOKEN;
	if (self(matrix) + 1 == matrix->conf.n_ranks)
		return;
	recv(matrix, TAG_END | (self(matrix) + 1), matrix->word, 1,
	     &matrix->end);
	send(matrix, self(matrix) + 1, TAG_TOKEN, matrix->word, 1,
	     &matrix->sent);
}

static void pass_end(struct matrix *matrix)
{
	matrix->state = LEAVING;
	if (self(matrix))
		send(matrix, self(matrix) - 1, TAG_END, matrix->word, 1,
		     &matrix->sent);
}

static void start_measuring(struct matrix *matrix)
{
	matrix->peer = self(matrix) + 1;
	matrix->n = 0;
	matrix->best_sec = INFINITY;
	if (matrix->peer == matrix->conf.n_ranks) {
		pass_token(matrix);
		return;
	}
	matrix->state = MEASURING;
	send_ping(matrix);
}

static void serve_next(struct matrix *matrix)
{
	matrix->n = 0;
	if (++matrix->peer < self(matrix)) {
		post_ping(matrix);
		return;
	}
	matrix->state = AWAITING_TOKEN;
	recv(matrix, TAG_TOKEN | (self(matrix) - 1), matrix->word, 1,
	     &matrix->token);
}

static void reply(struct matrix *matrix)
{
	send(matrix, matrix->peer, TAG_PONG, matrix->out, sizeof(matrix->out),
	     &matrix->sent);
	if (++matrix->n <= matrix->conf.times)
		post_ping(matrix);
	else
		serve_next(matrix);
}

/* The first round trip of a pair connects it, and is not counted. */
static void on_reply(struct matrix *matrix, double now_sec)
{
	if (matrix->n)
		matrix->best_sec = fmin(matrix->best_sec,
					(now_sec - matrix->sent_sec) / 2);
	if (++matrix->n <= matrix->conf.times) {
		send_ping(matrix);
		return;
	}
	matrix->conf.pair(matrix->peer, matrix->best_sec, matrix->conf.env.arg);
	matrix->n = 0;
	matrix->best_sec = INFINITY;
	if (++matrix->peer < matrix->conf.n_ranks)
		send_ping(matrix);
	else
		pass_token(matrix);
}

static void finish(struct matrix *matrix, const char *note)
{
	matrix->state = DONE;
	if (note)
		matrix->conf.env.note(note, matrix->conf.env.arg);
	matrix->conf.done(matrix->conf.env.arg);
}

/* Has what the state waits for not arrived yet, or a message not been sent? */
static bool must_wait(const struct matrix *matrix)
{
	const struct np_op *op =
		matrix->state == AWAITING_TOKEN ? &matrix->token :
		matrix->state == PASSING_TOKEN	? &matrix->end :
						  &matrix->received;

	return matrix->sent.status > 0 ||
	       (matrix->state != LEAVING && op->status > 0);
}

/* Make the next transition; false: it has to wait for a message. */
static bool advance(struct matrix *matrix, double now_sec)
{
	if (must_wait(matrix))
		return false;
	if (matrix->state == ANSWERING)
		reply(matrix);
	else if (matrix->state == AWAITING_TOKEN)
		start_measuring(matrix);
	else if (matrix->state == MEASURING)
		on_reply(matrix, now_sec);
	else if (matrix->state == PASSING_TOKEN)
		pass_end(matrix);
	else
		finish(matrix, NULL);
	return true;
}

static bool failed(const struct matrix *matrix)
{
	return matrix->received.status < 0 || matrix->sent.status < 0 ||
	       matrix->token.status < 0 || matrix->end.status < 0;
}

/*
 * Is the process lost whose message the state waits for? To receive from it does
 * not fail. Its last messages arrive before that is known.
 */
static bool awaits_lost(const struct matrix *matrix)
{
	struct np_net *net = matrix->conf.env.net;
	uint32_t from = matrix->state == AWAITING_TOKEN ? self(matrix) - 1 :
			matrix->state == PASSING_TOKEN	? self(matrix) + 1 :
							  matrix->peer;

	return matrix->state != LEAVING && from < matrix->conf.n_ranks &&
	       net->ops->lost(net, from);
}

static void matrix_step(struct np_engine *engine, double now_sec,
			struct np_next *next)
{
	struct matrix *matrix = (struct matrix *)engine;

	if (matrix->state != DONE && failed(matrix))
		finish(matrix, "a message failed");
	while (matrix->state != DONE && advance(matrix, now_sec))
		matrix->progress_sec = now_sec;
	if (matrix->state != DONE && awaits_lost(matrix))
		finish(matrix, "a process was lost");
	if (matrix->state != DONE &&
	    now_sec > matrix->progress_sec + matrix->conf.patience_sec)
		finish(matrix, "no answer");
	if (matrix->state == DONE)
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	else if (matrix->n > matrix->conf.times / SLEEPING_SHARE &&
		 now_sec < matrix->progress_sec + POLL_SEC)
		*next = (struct np_next){ NP_WAIT_POLL, now_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET,
					  matrix->progress_sec +
						  matrix->conf.patience_sec };
}

static void free_matrix(struct np_engine *engine)
{
	free(engine);
}

static int matrix_new(const struct matrix_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { matrix_step, free_matrix };
	struct matrix *matrix = calloc(1, sizeof(*matrix));

	if (!matrix)
		return -ENOMEM;
	matrix->engine.ops = &ops;
	matrix->conf = *conf;
	matrix->progress_sec = conf->env.clock->now_sec(conf->env.clock);
	*out = &matrix->engine;
	if (self(matrix))
		post_ping(matrix);
	else
		start_measuring(matrix);
	return 0;
}

/* ---- the program ---- */

struct settings {
	struct np_probe_program program;
	struct np_pingpong_conf conf;
	uint32_t times; /* round trips per pair; 0: no matrix */
};

/* The first process waits until all others are done. */
#define MATRIX_PATIENCE_SEC 600

/* The matrix needs a connection between every two processes. */
static int plan_matrix(struct np_probe *probe, struct np_probe_plan *out,
		       struct np_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < probe->size; i++)
		if (i != probe->rank)
			rc = np_probe_connect(probe, i, err);
	if (probe->size > 1)
		out->peer = probe->rank ? 0 : 1;
	return rc;
}

static void on_done(void *probe)
{
	(void)probe;
	np_stop_request();
}

static int plan(struct np_probe *probe, void *arg, struct np_probe_plan *out,
		struct np_err *err)
{
	struct np_pingpong_conf *conf = &((struct settings *)arg)->conf;
	struct np_peers *all;
	int rc = 0;

	if (((struct settings *)arg)->times)
		return plan_matrix(probe, out, err);
	all = calloc(probe->size, sizeof(*all));
	if (!all || np_pairing_make(probe->place, probe->size, all)) {
		free(all);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	conf->peers = all[probe->rank];
	free(all);
	if (conf->peers.server != NP_NO_RANK) {
		out->peer_node = probe->place[conf->peers.server].node;
		rc = np_probe_connect(probe, (size_t)conf->peers.server, err);
	}
	if (!rc && conf->peers.client != NP_NO_RANK)
		rc = np_probe_connect(probe, (size_t)conf->peers.client, err);
	out->skipped = conf->peers.skipped;
	out->peer = conf->peers.server != NP_NO_RANK ? conf->peers.server :
						       conf->peers.client;
	return rc;
}

static void report_pair(uint32_t peer, double sec, void *arg)
{
	struct np_probe *probe = arg;

	np_probe_report(probe, &(struct np_report){
				       .kind = NP_REPORT_PAIR,
				       .rank = probe->rank,
				       .pair = { peer, sec },
			       });
}

static int engine(struct np_probe *probe, void *arg, struct np_engine **out)
{
	const struct settings *settings = arg;
	struct np_pingpong_conf *conf = &((struct settings *)arg)->conf;
	const struct matrix_conf matrix = {
		.env = np_probe_env(probe),
		.n_ranks = probe->size,
		.times = settings->times,
		.patience_sec = MATRIX_PATIENCE_SEC,
		.pair = report_pair,
		.done = on_done,
	};

	if (settings->times)
		return matrix_new(&matrix, out);
	conf->env = np_probe_env(probe);
	conf->seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	return np_pingpong_new(conf, out);
}

#define AT(member) offsetof(struct settings, member)

static const struct np_option options[] = {
	{ "bytes", NP_OPTION_BYTES, AT(conf.bytes), NP_PINGPONG_MIN_BYTES,
	  NP_PINGPONG_MAX_BYTES },
	{ "period", NP_OPTION_TIME, AT(conf.period_sec), NP_CONF_PERIOD_MIN_SEC,
	  NP_CONF_PERIOD_MAX_SEC },
	{ "report-every", NP_OPTION_SECONDS, AT(program.report_every_sec), 0.1,
	  60 },
	{ "duration", NP_OPTION_SECONDS, AT(program.duration_sec), 0,
	  366 * 86400.0 },
	{ "matrix", NP_OPTION_COUNT, AT(times), 1, 10000 },
	{ "join", NP_OPTION_WORD, AT(program.wire) },
	{ NULL },
};

int main(int argc, char **argv)
{
	struct settings settings = {
		.program = {
			.command = { NAME, usage, options },
			.kind = NP_REPORT_LATENCY, .n_peers = 2,
			.report_every_sec = 1, .duration_sec = INFINITY,
			.plan = plan, .engine = engine,
			.arg = &settings,
		},
		.conf = { .period_sec = 0.1, .bytes = 1024 },
	};

	return np_probe_main(&settings.program, argc, argv);
}
