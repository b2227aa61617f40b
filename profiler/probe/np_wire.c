#include "np_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_read.h"
#include "np_text.h"

#define LINE_SIZE (2 * NP_WIRE_MAX_BYTES + 64)
#define SRUN_PIECE 256 /* bytes per line; srun forwards 1024 chars at once */

/* ---- the process ---- */

struct blob {
	void *data;
	size_t len;
};

struct stream {
	struct np_wire wire;
	int in, out;
	struct blob *place;   /* of each rank */
	char head[24];	      /* prefix of each line written */
	size_t piece;	      /* most bytes in one put line */
	size_t used;	      /* bytes of line, while one is read */
	char line[LINE_SIZE]; /* last line written or read */
};

/* Write the line WORD HEX for these bytes. */
static int write_line(struct stream *stream, const char *word,
		      const unsigned char *byte, size_t len, struct np_err *err)
{
	int at = sprintf(stream->line, "%s%s", stream->head, word), rc;

	for (size_t i = 0; i < len; i++)
		at += sprintf(stream->line + at, "%02x", byte[i]);
	strcpy(stream->line + at, "\n");
	rc = np_write_all(stream->out, stream->line, (size_t)at + 1);
	return rc ? np_errf(err, rc, "the collector: %s", strerror(-rc)) : 0;
}

static int stream_put(struct np_wire *wire, const void *data, size_t len,
		      struct np_err *err)
{
	struct stream *stream = (struct stream *)wire;
	size_t at = 0;
	int rc;

	if (len > NP_WIRE_MAX_BYTES)
		return np_errf(err, -EMSGSIZE,
			       "an address of %zu bytes: expected at most %u",
			       len, NP_WIRE_MAX_BYTES);
	do {
		size_t n = len - at < stream->piece ? len - at : stream->piece;

		rc = write_line(stream, "put ",
				(const unsigned char *)data + at, n, err);
		at += n;
	} while (!rc && at < len);
	return rc;
}

static int hex_digit(char c)
{
	const char *const digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static int parse_hex(const char *hex, struct blob *out)
{
	size_t len = strlen(hex) / 2;
	unsigned char *data;

	if (hex[2 * len])
		return -EPROTO;
	data = malloc(len + 1);
	if (!data)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);

		if (hi < 0 || lo < 0) {
			free(data);
			return -EPROTO;
		}
		data[i] = (unsigned char)(hi << 4 | lo);
	}
	free(out->data);
	*out = (struct blob){ data, len };
	return 0;
}

static int read_place(struct stream *stream, const char *line,
		      struct np_err *err)
{
	uint32_t rank;
	int at = 0, rc = -EPROTO;

	if (sscanf(line, "place %u %n", &rank, &at) == 1 && at &&
	    rank < stream->wire.size)
		rc = parse_hex(line + at, &stream->place[rank]);
	return rc ? np_errf(err, rc,
			    "unexpected line \"%.40s\" from the collector: "
			    "expected \"place RANK HEX\"",
			    line) :
		    0;
}

/*
 * Read what there is of a line, and nothing beyond it, which is for the next
 * reader of the connection. Returns like recv(2).
 */
static ssize_t read_some(struct stream *stream)
{
	char *to = stream->line + stream->used, *end;
	ssize_t got = recv(stream->in, to,
			   sizeof(stream->line) - 1 - stream->used,
			   MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && errno == ENOTSOCK) /* srun may use a pipe */
		return read(stream->in, to, 1);
	if (got <= 0)
		return got;
	end = memchr(to, '\n', (size_t)got);
	return recv(stream->in, to, end ? (size_t)(end - to) + 1 : (size_t)got,
		    0);
}

/* Read one line before until_sec. It stays in s->line until the next call. */
static int read_line(struct stream *stream, double until_sec,
		     struct np_err *err)
{
	for (stream->used = 0; stream->used < sizeof(stream->line) - 1;) {
		ssize_t got;

		if (!np_fd_wait(stream->in, POLLIN, until_sec))
			return np_errf(
				err, -ETIMEDOUT,
				"timed out waiting for the other processes");
		got = read_some(stream);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return np_errf(err, -EPIPE,
				       "connection to the collector closed");
		stream->used += (size_t)got;
		if (stream->line[stream->used - 1] == '\n') {
			stream->line[stream->used - 1] = '\0';
			return 0;
		}
	}
	return np_errf(err, -EPROTO,
		       "the collector sent a line of over %zu bytes",
		       sizeof(stream->line));
}

static int stream_fence(struct np_wire *wire, double timeout_sec,
			struct np_err *err)
{
	struct stream *stream = (struct stream *)wire;
	double until = np_mono_sec() + timeout_sec;
	int rc = write_line(stream, "fence", NULL, 0, err);

	while (!rc) {
		rc = read_line(stream, until, err);
		if (!rc && !strcmp(stream->line, "go"))
			return 0;
		if (!rc)
			rc = read_place(stream, stream->line, err);
	}
	return rc;
}

static int stream_get(struct np_wire *wire, uint32_t rank, void **data,
		      size_t *len, struct np_err *err)
{
	struct stream *stream = (struct stream *)wire;

	if (rank >= wire->size || !stream->place[rank].data)
		return np_errf(err, -ENOENT, "process %u has published nothing",
			       rank);
	*data = stream->place[rank].data;
	*len = stream->place[rank].len;
	stream->place[rank] = (struct blob){ NULL, 0 };
	return 0;
}

static void stream_close(struct np_wire *wire)
{
	struct stream *stream = (struct stream *)wire;

	for (uint32_t i = 0; stream->place && i < wire->size; i++)
		free(stream->place[i].data);
	free(stream->place);
	free(stream);
}

static const struct np_wire_ops ops = {
	.put = stream_put,
	.fence = stream_fence,
	.get = stream_get,
	.close = stream_close,
};

int np_wire_agent_open(int fd_in, int fd_out, uint32_t rank, uint32_t size,
		       struct np_wire **out, struct np_err *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (stream)
		stream->place = calloc(size, sizeof(*stream->place));
	if (!stream || !stream->place) {
		free(stream);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	stream->wire = (struct np_wire){ &ops, rank, size };
	stream->in = fd_in;
	stream->out = fd_out;
	stream->piece = NP_WIRE_MAX_BYTES;
	*out = &stream->wire;
	return 0;
}

/* Read "RANK/SIZE". */
static int parse_rank(const char *text, uint32_t *rank, uint32_t *size)
{
	int end = 0;

	if (sscanf(text, "%u/%u%n", rank, size, &end) != 2 || text[end] ||
	    !*size || *size > NP_WIRE_MAX_SIZE || *rank >= *size)
		return -EINVAL;
	return 0;
}

/* The place of a process that srun started is in the environment. */
static int open_srun(struct np_wire **out, struct np_err *err)
{
	const char *proc = getenv("SLURM_PROCID"), *n = getenv("SLURM_NTASKS");
	char place[32];
	uint32_t rank, size;
	struct stream *stream;
	int rc;

	snprintf(place, sizeof(place), "%s/%s", proc ? proc : "", n ? n : "");
	if (parse_rank(place, &rank, &size))
		return np_errf(err, -EINVAL,
			       "SLURM_PROCID/SLURM_NTASKS \"%s\": expected a "
			       "process of at most %u that srun started",
			       place, NP_WIRE_MAX_SIZE);
	rc = np_wire_agent_open(STDIN_FILENO, STDOUT_FILENO, rank, size, out,
				err);
	if (rc)
		return rc;
	stream = (struct stream *)*out;
	snprintf(stream->head, sizeof(stream->head), NP_WIRE_SRUN_WORD " %u ",
		 rank);
	stream->piece = SRUN_PIECE;
	return 0;
}

int np_wire_open(const char *how, struct np_wire **out, struct np_err *err)
{
	uint32_t rank, size;

	if (!strcmp(how, "srun"))
		return open_srun(out, err);
	if (parse_rank(how, &rank, &size))
		return np_errf(err, -EINVAL,
			       "--join \"%.40s\": expected srun or RANK/SIZE",
			       how);
	return np_wire_agent_open(STDIN_FILENO, STDOUT_FILENO, rank, size, out,
				  err);
}

/* ---- the host ---- */

#define HEX_MAX (2 * NP_WIRE_MAX_BYTES)

struct process {
	char *hex; /* published since the last fence; NULL: nothing */
	bool at_fence;
};

struct np_wire_host {
	uint32_t size, n_at_fence;
	struct process process[];
};

struct np_wire_host *np_wire_host_new(uint32_t size)
{
	struct np_wire_host *host =
		calloc(1, sizeof(*host) + size * sizeof(host->process[0]));

	if (host)
		host->size = size;
	return host;
}

void np_wire_host_free(struct np_wire_host *host)
{
	for (uint32_t i = 0; host && i < host->size; i++)
		free(host->process[i].hex);
	free(host);
}

/*
 * Take what a process publishes; more: append it to what the process published
 * before, instead of replacing that.
 */
static int put_value(struct np_wire_host *host, uint32_t rank, const char *hex,
		     bool more)
{
	struct process *process = &host->process[rank];
	size_t had = process->hex && more ? strlen(process->hex) : 0,
	       len = strlen(hex);
	char *all;

	if (had + len > HEX_MAX || strspn(hex, "0123456789abcdef") != len)
		return -EPROTO;
	all = realloc(process->hex, had + len + 1);
	if (!all)
		return -ENOMEM;
	strcpy(all + had, hex);
	process->hex = all;
	return 0;
}

static int release_all(struct np_wire_host *host, char **out)
{
	size_t len;
	FILE *f = open_memstream(out, &len);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < host->size; i++) {
		struct process *process = &host->process[i];

		if (process->hex)
			fprintf(f, "place %u %s\n", i, process->hex);
		free(process->hex);
		*process = (struct process){ NULL };
	}
	host->n_at_fence = 0;
	fputs("go\n", f);
	*out = np_text_close(f, out);
	return *out ? 0 : -ENOMEM;
}

/* A process waits at the fence. */
static int wait_at_fence(struct np_wire_host *host, uint32_t rank, char **out)
{
	struct process *process = &host->process[rank];

	if (process->at_fence)
		return -EPROTO;
	process->at_fence = true;
	return ++host->n_at_fence == host->size ? release_all(host, out) : 0;
}

/* Find who wrote a line of srun's output; *line moves to what it says. */
static int find_writer(const struct np_wire_host *host, const char **line,
		       uint32_t *rank)
{
	int at = 0;

	if (strncmp(*line, NP_WIRE_SRUN_WORD " ", sizeof(NP_WIRE_SRUN_WORD)))
		return -ENOMSG;
	if (sscanf(*line, NP_WIRE_SRUN_WORD " %u %n", rank, &at) != 1 || !at ||
	    *rank >= host->size)
		return -EPROTO;
	*line += at;
	return 0;
}

int np_wire_host_take(struct np_wire_host *host, const uint32_t *rank,
		      const char *line, char **out)
{
	uint32_t from = rank ? *rank : 0;
	int rc = rank ? 0 : find_writer(host, &line, &from);

	*out = NULL;
	if (rc)
		return rc;
	if (!strncmp(line, "put ", 4))
		return put_value(host, from, line + 4, !rank);
	if (!strcmp(line, "fence"))
		return wait_at_fence(host, from, out);
	return rank ? -ENOMSG : -EPROTO;
}
