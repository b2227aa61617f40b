#include "np_wire_join.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_read.h"

#define LINE_SIZE (2 * NP_WIRE_JOIN_MAX_BYTES + 64)
#define SRUN_PIECE 256 /* bytes; srun passes on 1024 letters at once */

struct blob {
	void *data;
	size_t len;
};

struct join {
	struct np_wire wire;
	int in, out;
	struct blob *place; /* of each rank */
	char head[24];	    /* of each line that is said */
	size_t piece;	    /* bytes that one line puts */
	size_t used;	    /* of line, while one is read */
	char line[LINE_SIZE]; /* the last one that was said or read */
};

/* The line WORD HEX, of so many bytes. */
static int say(struct join *j, const char *word, const unsigned char *byte,
	       size_t len, struct np_err *err)
{
	int at = sprintf(j->line, "%s%s", j->head, word), rc;

	for (size_t i = 0; i < len; i++)
		at += sprintf(j->line + at, "%02x", byte[i]);
	strcpy(j->line + at, "\n");
	rc = np_write_all(j->out, j->line, (size_t)at + 1);
	return rc ? np_errf(err, rc, "the attendant: %s", strerror(-rc)) : 0;
}

static int join_put(struct np_wire *w, const void *data, size_t len,
		    struct np_err *err)
{
	struct join *j = (struct join *)w;
	size_t at = 0;
	int rc;

	if (len > NP_WIRE_JOIN_MAX_BYTES)
		return np_errf(err, -EMSGSIZE, "an address of %zu bytes: "
			       "expected at most %u", len,
			       NP_WIRE_JOIN_MAX_BYTES);
	do {
		size_t n = len - at < j->piece ? len - at : j->piece;

		rc = say(j, "put ", (const unsigned char *)data + at, n, err);
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

static int take_hex(const char *hex, struct blob *out)
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

static int take_place(struct join *j, const char *line, struct np_err *err)
{
	uint32_t rank;
	int at = 0, rc = -EPROTO;

	if (sscanf(line, "place %u %n", &rank, &at) == 1 && at &&
	    rank < j->wire.size)
		rc = take_hex(line + at, &j->place[rank]);
	return rc ? np_errf(err, rc, "the attendant says \"%.40s\": expected "
			    "\"place RANK HEX\"", line) : 0;
}

/*
 * What there is of a line, and nothing behind it: that is for whoever uses the
 * connection next.  Returns as recv(2) does.
 */
static ssize_t take_some(struct join *j)
{
	char *to = j->line + j->used, *end;
	ssize_t got = recv(j->in, to, sizeof(j->line) - 1 - j->used,
			   MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && errno == ENOTSOCK) /* under srun it may be a pipe */
		return read(j->in, to, 1);
	if (got <= 0)
		return got;
	end = memchr(to, '\n', (size_t)got);
	return recv(j->in, to, end ? (size_t)(end - to) + 1 : (size_t)got, 0);
}

/* One line within the time; it stands in j->line until the next call. */
static int read_line(struct join *j, double until_sec, struct np_err *err)
{
	struct pollfd p = { .fd = j->in, .events = POLLIN };

	for (j->used = 0; j->used < sizeof(j->line) - 1;) {
		double left = until_sec - np_mono_sec();
		ssize_t got;

		if (left <= 0)
			return np_errf(err, -ETIMEDOUT, "the others did not "
				       "come");
		if (poll(&p, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		got = take_some(j);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return np_errf(err, -EPIPE, "the attendant has gone");
		j->used += (size_t)got;
		if (j->line[j->used - 1] == '\n') {
			j->line[j->used - 1] = '\0';
			return 0;
		}
	}
	return np_errf(err, -EPROTO, "the attendant says a line of over %zu "
		       "bytes", sizeof(j->line));
}

static int join_fence(struct np_wire *w, double timeout_sec,
		      struct np_err *err)
{
	struct join *j = (struct join *)w;
	double until = np_mono_sec() + timeout_sec;
	int rc = say(j, "fence", NULL, 0, err);

	while (!rc) {
		rc = read_line(j, until, err);
		if (!rc && !strcmp(j->line, "go"))
			return 0;
		if (!rc)
			rc = take_place(j, j->line, err);
	}
	return rc;
}

static int join_get(struct np_wire *w, uint32_t rank, void **data, size_t *len,
		    struct np_err *err)
{
	struct join *j = (struct join *)w;

	if (rank >= w->size || !j->place[rank].data)
		return np_errf(err, -ENOENT, "process %u has published nothing",
			       rank);
	*data = j->place[rank].data;
	*len = j->place[rank].len;
	j->place[rank] = (struct blob){ NULL, 0 };
	return 0;
}

static void join_close(struct np_wire *w)
{
	struct join *j = (struct join *)w;

	for (uint32_t i = 0; j->place && i < w->size; i++)
		free(j->place[i].data);
	free(j->place);
	free(j);
}

static const struct np_wire_ops ops = {
	.put = join_put,
	.fence = join_fence,
	.get = join_get,
	.close = join_close,
};

int np_wire_join_open(int fd_in, int fd_out, uint32_t rank, uint32_t size,
		      struct np_wire **out, struct np_err *err)
{
	struct join *j = calloc(1, sizeof(*j));

	if (j)
		j->place = calloc(size, sizeof(*j->place));
	if (!j || !j->place) {
		free(j);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	j->wire = (struct np_wire){ &ops, rank, size };
	j->in = fd_in;
	j->out = fd_out;
	j->piece = NP_WIRE_JOIN_MAX_BYTES;
	*out = &j->wire;
	return 0;
}

int np_wire_srun_open(struct np_wire **out, struct np_err *err)
{
	const char *proc = getenv("SLURM_PROCID"), *n = getenv("SLURM_NTASKS");
	char place[32];
	uint32_t rank, size;
	struct join *j;
	int rc;

	snprintf(place, sizeof(place), "%s/%s", proc ? proc : "",
		 n ? n : "");
	if (np_wire_join_parse(place, &rank, &size))
		return np_errf(err, -EINVAL, "SLURM_PROCID/SLURM_NTASKS "
			       "\"%s\": expected a process of at most %u "
			       "that srun started", place,
			       NP_WIRE_JOIN_MAX_SIZE);
	rc = np_wire_join_open(STDIN_FILENO, STDOUT_FILENO, rank, size, out,
			       err);
	if (rc)
		return rc;
	j = (struct join *)*out;
	snprintf(j->head, sizeof(j->head), NP_WIRE_SRUN_WORD " %u ", rank);
	j->piece = SRUN_PIECE;
	return 0;
}

int np_wire_join_parse(const char *text, uint32_t *rank, uint32_t *size)
{
	int end = 0;

	if (sscanf(text, "%u/%u%n", rank, size, &end) != 2 || text[end] ||
	    !*size || *size > NP_WIRE_JOIN_MAX_SIZE || *rank >= *size)
		return -EINVAL;
	return 0;
}

/* ---- the other end ---- */

#define HEX_MAX (2 * NP_WIRE_JOIN_MAX_BYTES)

struct member {
	char *hex; /* what it has put since the last fence; NULL: nothing */
	bool at_fence;
};

struct np_wire_host {
	uint32_t size, n_at_fence;
	struct member member[];
};

struct np_wire_host *np_wire_host_new(uint32_t size)
{
	struct np_wire_host *h = calloc(1, sizeof(*h) +
					   size * sizeof(h->member[0]));

	if (h)
		h->size = size;
	return h;
}

void np_wire_host_free(struct np_wire_host *h)
{
	for (uint32_t i = 0; h && i < h->size; i++)
		free(h->member[i].hex);
	free(h);
}

bool np_wire_host_is_for(const char *line)
{
	return !strncmp(line, NP_WIRE_SRUN_WORD " ",
			sizeof(NP_WIRE_SRUN_WORD));
}

int np_wire_host_put(struct np_wire_host *h, uint32_t rank, const char *hex,
		     bool more)
{
	struct member *m = &h->member[rank];
	size_t had = m->hex && more ? strlen(m->hex) : 0, len = strlen(hex);
	char *all;

	if (had + len > HEX_MAX || strspn(hex, "0123456789abcdef") != len)
		return -EPROTO;
	all = realloc(m->hex, had + len + 1);
	if (!all)
		return -ENOMEM;
	strcpy(all + had, hex);
	m->hex = all;
	return 0;
}

static int tell_all(struct np_wire_host *h, char **out)
{
	size_t len;
	FILE *f = open_memstream(out, &len);
	int failed;

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->size; i++) {
		struct member *m = &h->member[i];

		if (m->hex)
			fprintf(f, "place %u %s\n", i, m->hex);
		free(m->hex);
		*m = (struct member){ NULL };
	}
	h->n_at_fence = 0;
	fputs("go\n", f);
	failed = ferror(f);
	if (!fclose(f) && !failed)
		return 0;
	free(*out);
	*out = NULL;
	return -ENOMEM;
}

int np_wire_host_fence(struct np_wire_host *h, uint32_t rank, char **out)
{
	struct member *m = &h->member[rank];

	*out = NULL;
	if (m->at_fence)
		return -EPROTO;
	m->at_fence = true;
	return ++h->n_at_fence == h->size ? tell_all(h, out) : 0;
}

int np_wire_host_take(struct np_wire_host *h, const char *line, char **out)
{
	uint32_t rank;
	int at = 0;

	*out = NULL;
	if (sscanf(line, NP_WIRE_SRUN_WORD " %u %n", &rank, &at) != 1 || !at ||
	    rank >= h->size)
		return -EPROTO;
	if (!strncmp(line + at, "put ", 4))
		return np_wire_host_put(h, rank, line + at + 4, true);
	if (!strcmp(line + at, "fence"))
		return np_wire_host_fence(h, rank, out);
	return -EPROTO;
}
