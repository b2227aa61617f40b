#include "np_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- descriptors ---- */

int np_read_open(const char *path, int flags, struct stat *st)
{
	int fd = open(path,
		      flags | O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
	    rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (!S_ISREG(st->st_mode))
		rc = -EINVAL;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* Read up to max bytes into buf: the length or -errno. */
static ssize_t read_up_to(int fd, char *buf, size_t max)
{
	size_t len = 0;

	while (len < max) {
		ssize_t got = read(fd, buf + len, max - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

ssize_t np_read_text(int fd, size_t size, char **text)
{
	char *buf = malloc(size + 1);
	ssize_t len = buf ? read_up_to(fd, buf, size) : -ENOMEM;

	if (len < 0) {
		free(buf);
		return len;
	}
	buf[len] = '\0';
	*text = buf;
	return len;
}

const char *np_read_irregular(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		return "a directory, not a regular file";
	case S_IFIFO:
		return "a FIFO, not a regular file";
	default:
		return "not a regular file";
	}
}

int np_write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t put = write(fd, text, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		len -= (size_t)put;
	}
	return 0;
}

/*
 * Whether a pipe is empty and has no writer. tee() copies without taking
 * anything out, so that nothing is lost if there is something.
 */
static bool is_dead(int pipe_fd)
{
	int to[2];
	ssize_t n;

	if (pipe2(to, O_CLOEXEC))
		return false;
	n = tee(pipe_fd, to[1], 1, SPLICE_F_NONBLOCK);
	close(to[0]);
	close(to[1]);
	return n == 0;
}

/*
 * Without O_NONBLOCK, opening a FIFO blocks until it has a writer, which may
 * never happen. A FIFO without a writer is rejected instead.
 */
int np_read_stream(const char *path, struct np_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode) && is_dead(fd)) {
		close(fd);
		return np_errf(err, -EPIPE, "%s: a FIFO without a writer",
			       path);
	}
	fcntl(fd, F_SETFL, O_RDONLY); /* wait for what a terminal is to send */
	return fd;
}

/* ---- kinds of files ---- */

static const char *const expectations[] = {
	[NP_KIND_TEXT] = "text",
	[NP_KIND_GOAL] = "an execution graph in GOAL",
	[NP_KIND_MPIP] = "a report of mpiP",
	[NP_KIND_JSON] = "JSON",
	[NP_KIND_TRACE] = "the trace of an MPI rank",
	[NP_KIND_TOPOLOGY] = "a topology.conf of Slurm",
	[NP_KIND_WORDS] = "lines of words",
	[NP_KIND_QUEUE] =
		("the columns of sacct --parsable2 or a Standard Workload Format"),
};

#define SHOWN 30 /* characters shown of a text of no known kind */

#define BEGINS(text) text, sizeof(text) - 1

static const struct begin {
	const char *bytes;
	size_t len;
	const char *what;
	/* not text */
	bool binary;
	/* the kind that it is; NP_KIND_TEXT: none that a reader expects */
	enum np_kind kind;
	bool is_mark; /* a byte-order mark */
} begins[] = {
	{ BEGINS("\xef\xbb\xbf"), "begins with a byte-order mark (UTF-8)", true,
	  NP_KIND_TEXT, true },
	{ BEGINS("\xff\xfe"), "begins with a byte-order mark (UTF-16)", true,
	  NP_KIND_TEXT, true },
	{ BEGINS("\xfe\xff"), "begins with a byte-order mark (UTF-16)", true,
	  NP_KIND_TEXT, true },
	{ BEGINS("\x7f"
		 "ELF"),
	  "a program or library (ELF)", true, NP_KIND_TEXT },
	{ BEGINS("\x1f\x8b"), "gzip data", true, NP_KIND_TEXT },
	{ BEGINS("BZh"), "bzip2 data", true, NP_KIND_TEXT },
	{ BEGINS("\xfd"
		 "7zXZ"),
	  "xz data", true, NP_KIND_TEXT },
	{ BEGINS("\x28\xb5\x2f\xfd"), "zstd data", true, NP_KIND_TEXT },
	{ BEGINS("PK\x03\x04"), "a zip archive", true, NP_KIND_TEXT },
	{ BEGINS("\x89PNG"), "a picture (PNG)", true, NP_KIND_TEXT },
	{ BEGINS("%PDF"), "a PDF document", true, NP_KIND_TEXT },
	{ BEGINS("\x89HDF"), "HDF5 data", true, NP_KIND_TEXT },
	{ BEGINS("\x7f\x10\0\0\0\0\0\0"), "an execution graph in binary GOAL",
	  true, NP_KIND_GOAL },
	{ BEGINS("nptrace\1"), "the trace of an MPI rank", true,
	  NP_KIND_TRACE },
	{ BEGINS("num_ranks"), "an execution graph in GOAL", false,
	  NP_KIND_GOAL },
	{ BEGINS("@ mpiP"), "a report of mpiP", false, NP_KIND_MPIP },
	{ BEGINS("MPI_Init:"), "the trace of an MPI rank", false,
	  NP_KIND_TRACE },
	{ BEGINS("SwitchName="), "a topology.conf of Slurm", false,
	  NP_KIND_TOPOLOGY },
	{ BEGINS("- topology"), "a topology.yaml of Slurm", false,
	  NP_KIND_TEXT },
	{ BEGINS("---"), "YAML", false, NP_KIND_TEXT },
	{ BEGINS("{"), "JSON", false, NP_KIND_JSON },
	{ BEGINS("<"), "XML or HTML", false, NP_KIND_TEXT },
	{ BEGINS("#!"), "a script", false, NP_KIND_WORDS },
};

/* Our JSON files are objects or arrays. What starts otherwise is other text. */
static int check_json(const char *text, size_t len, const char *source,
		      struct np_err *err)
{
	size_t n = 0;

	while (len && *text && strchr(" \t\r\n", *text)) {
		text++;
		len--;
	}
	if (!len || *text == '{' || *text == '[')
		return 0;
	while (n < len && n < SHOWN && text[n] >= ' ' && text[n] <= '~')
		n++;
	return n ? np_errf(err, -EINVAL, "%s:1: expected JSON, got \"%.*s\"%s",
			   source, (int)n, text, n == SHOWN ? " ..." : "") :
		   np_errf(err, -EINVAL, "%s:1: expected JSON, got binary data",
			   source);
}

int np_kind_check(const char *text, size_t len, enum np_kind expected,
		  const char *source, struct np_err *err)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(begins); i++) {
		const struct begin *b = &begins[i];

		if (len < b->len || memcmp(text, b->bytes, b->len))
			continue;
		if ((b->kind && b->kind == expected) ||
		    (expected == NP_KIND_TEXT && !b->binary))
			return 0;
		return b->is_mark ? np_errf(err, -EINVAL,
					    "%s:1: %s, expected text in UTF-8 "
					    "without one",
					    source, b->what) :
				    np_errf(err, -EINVAL,
					    "%s:1: expected %s, got %s", source,
					    expectations[expected], b->what);
	}
	return expected == NP_KIND_JSON ? check_json(text, len, source, err) :
					  0;
}

/* ---- whole files ---- */

/* The file is larger than the reader accepts; it may not be text at all. */
static int too_large(int fd, const char *path, off_t size, size_t max,
		     struct np_err *err)
{
	char begin[NP_KIND_BYTES];
	ssize_t got = read_up_to(fd, begin, sizeof(begin));

	if (got > 0 &&
	    np_kind_check(begin, (size_t)got, NP_KIND_TEXT, path, err))
		return -EINVAL;
	return np_errf(err, -EFBIG, "%s: %lld bytes, expected at most %zu",
		       path, (long long)size, max);
}

int np_read_check_text(const char *text, size_t len, const char *path,
		       struct np_err *err)
{
	size_t line = 1;

	if (np_kind_check(text, len, NP_KIND_TEXT, path, err))
		return -EINVAL;
	if (strlen(text) == len)
		return 0;
	for (; *text; text++)
		line += *text == '\n';
	return np_errf(err, -EINVAL, "%s:%zu: a NUL character, expected text",
		       path, line);
}

int np_read_bytes(const char *path, size_t max, char **bytes, size_t *len,
		  struct np_err *err)
{
	struct stat st;
	int fd = np_read_open(path, 0, &st);
	ssize_t got = fd;

	if (fd == -EINVAL)
		return np_errf(err, fd, "%s: %s", path, np_read_irregular(&st));
	if (fd >= 0 && st.st_size > (off_t)max) {
		int rc = too_large(fd, path, st.st_size, max, err);

		close(fd);
		return rc;
	}
	if (fd >= 0) {
		got = np_read_text(fd, (size_t)st.st_size, bytes);
		close(fd);
	}
	if (got < 0)
		return np_errf(err, (int)got, "%s: %s", path,
			       strerror((int)-got));
	*len = (size_t)got;
	return 0;
}

int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err)
{
	int rc = np_read_bytes(path, max, text, len, err);

	if (rc)
		return rc;
	if (!np_read_check_text(*text, *len, path, err))
		return 0;
	free(*text);
	*text = NULL;
	return -EINVAL;
}
