#include "np_trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_saver_proto.h"
#include "np_trace_dir.h"
#include "np_trace_ring.h"

#define WINDOW (1u << 20) /* bytes mapped at a time */
#define RESERVE 64	  /* bytes reserved for the last record, FULL */
#define HEAD_BYTES 32 /* upper bound on bytes of a record without its numbers */
#define VARINT_BYTES 10 /* bytes of the longest number */
#define RING NP_TRACE_RING_BYTES
#define CHUNK (RING / 4) /* the saver gets the position this often, in bytes */
/*
 * A program waits this long for the file to be created, when all ranks of the
 * node ask at the same time, and this long in all its life for the saver to
 * copy. A file system that is busy is waited for; one whose server is lost
 * costs the trace.
 */
#define OPEN_MS 3000
#define WAIT_MS 1000

/*
 * ---- Protection against SIGBUS ----
 *
 * If another process truncates the file, or its file server fails, an access to
 * the mapping raises SIGBUS. The handler then replaces the mapping by anonymous
 * memory, so that the record can be completed; it is the last one.
 */
static struct np_trace_out *guarded;
static struct sigaction bus_before;

/* Handler of SIGBUS. It may run in the middle of a record. */
static void on_bus(int sig, siginfo_t *info, void *context)
{
	struct np_trace_out *o = guarded;
	const uint8_t *at = info->si_addr;
	int saved = errno;

	if (o && o->map && at >= o->map && at < o->map + o->map_bytes &&
	    mmap(o->map, o->map_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		o->lost = true;
		errno = saved;
		return;
	}
	errno = saved;
	if (bus_before.sa_flags & SA_SIGINFO) {
		bus_before.sa_sigaction(sig, info, context);
	} else if (bus_before.sa_handler != SIG_DFL &&
		   bus_before.sa_handler != SIG_IGN) {
		bus_before.sa_handler(sig);
	} else { /* a real fault occurs again; a sent signal is repeated */
		sigaction(SIGBUS, &bus_before, NULL);
		if (info->si_code <= 0)
			raise(SIGBUS);
	}
}

void np_trace_guard(struct np_trace_out *o)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigemptyset(&act.sa_mask);
	act.sa_sigaction = on_bus;
	guarded = o;
	if (sigaction(SIGBUS, &act, &bus_before))
		guarded = NULL;
}

/*
 * Restores the previous handler, unless the program has installed another one.
 */
static void unguard(const struct np_trace_out *o)
{
	struct sigaction now;

	if (guarded != o)
		return;
	if (!sigaction(SIGBUS, NULL, &now) && (now.sa_flags & SA_SIGINFO) &&
	    now.sa_sigaction == on_bus)
		sigaction(SIGBUS, &bus_before, NULL);
	guarded = NULL;
}

/*
 * The smaller of most and RLIMIT_FSIZE, which the program may change. Writing
 * beyond that would end the program with SIGXFSZ.
 */
static uint64_t within_limit(uint64_t most)
{
	struct rlimit size;

	if (!getrlimit(RLIMIT_FSIZE, &size) && size.rlim_cur != RLIM_INFINITY &&
	    size.rlim_cur < most)
		most = size.rlim_cur;
	return most;
}

/* Maximum length of the file, in whole pages. */
static uint64_t limit_of(const struct np_trace_out *o)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t most = within_limit(o->max_bytes);

	return most - most % page;
}

/* Remembers which file fd is. Returns 0 or -errno. */
static int identify(struct np_trace_out *o)
{
	struct stat st;

	if (fstat(o->fd, &st))
		return -errno;
	o->device = st.st_dev;
	o->inode = st.st_ino;
	return 0;
}

/*
 * The program may have closed the descriptor, and opened a file of its own that
 * got the same number.
 */
static bool is_open(const struct np_trace_out *o)
{
	struct stat st;

	return !fstat(o->fd, &st) && st.st_dev == o->device &&
	       st.st_ino == o->inode;
}

/* Maps the file from offset on. On failure the previous mapping remains. */
static bool map_at(struct np_trace_out *o, uint64_t offset, size_t bytes)
{
	int prot = PROT_READ | PROT_WRITE;
	uint8_t *map;

	if (!is_open(o) || posix_fallocate(o->fd, (off_t)offset, (off_t)bytes))
		return false;
	map = mmap(NULL, bytes, prot, MAP_SHARED | MAP_POPULATE, o->fd,
		   (off_t)offset);
	if (map == MAP_FAILED)
		return false;
	if (o->map)
		munmap(o->map, o->map_bytes);
	o->at = map +
		(o->at ? (uint64_t)(o->at - o->map) + o->offset - offset : 0);
	o->map = map;
	o->map_bytes = bytes;
	o->stop = map + bytes - RESERVE;
	o->offset = offset;
	return true;
}

static void write_header(struct np_trace_out *o,
			 const struct np_trace_header *h)
{
	memcpy(o->at, h, sizeof(*h));
	memcpy(o->at, NP_TRACE_MAGIC, sizeof(h->magic));
	o->at += sizeof(*h);
	*o->written = sizeof(*h);
}

int np_trace_out_open(struct np_trace_out *o, int dir,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns)
{
	uint64_t most;
	char name[32];

	*o = (struct np_trace_out){ .fd = -1,
				    .end_ns = now_ns,
				    .max_bytes = max_bytes };
	most = limit_of(o);
	if (!most)
		return -EFBIG;
	o->fd = np_trace_dir_create(dir, h->rank);
	if (o->fd < 0)
		return o->fd;
	if (identify(o) ||
	    !map_at(o, 0, most < WINDOW ? (size_t)most : WINDOW)) {
		close(o->fd);
		snprintf(name, sizeof(name), "rank.%u", h->rank);
		unlinkat(dir, name, 0);
		*o = (struct np_trace_out){ .fd = -1 };
		return -ENOSPC;
	}
	o->written = &o->unread;
	write_header(o, h);
	return 0;
}

/* ---- Handing the trace to netprof-saver ---- */

/* Sets a descriptor of a ring. RLIMIT_FSIZE holds for its memory, too. */
static int make_ring(struct np_trace_out *o, int *fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t most = limit_of(o);
	int prot = PROT_READ | PROT_WRITE;
	uint8_t *map;

	if (!most || within_limit(page + RING) < page + RING)
		return -EFBIG;
	*fd = memfd_create("netprof-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (posix_fallocate(*fd, 0, (off_t)(page + RING)) ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -ENOMEM;
	/* The ring is mapped twice in a row, so that no record is split. */
	o->map_bytes = page + 2 * RING;
	map = mmap(NULL, o->map_bytes, prot, MAP_SHARED | MAP_POPULATE, *fd, 0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	o->written = (uint64_t *)map;
	o->map = o->at = map + page;
	if (mmap(o->map + RING, RING, prot,
		 MAP_SHARED | MAP_FIXED | MAP_POPULATE, *fd,
		 (off_t)page) == MAP_FAILED)
		return -ENOMEM;
	o->stop = o->map + (most < CHUNK ? most : CHUNK) - RESERVE;
	return 0;
}

/* Sends the request, and with it the descriptor of the ring. */
static int send_request(const struct np_trace_out *o, const char *const field[],
			size_t n, int ring)
{
	union {
		struct cmsghdr head;
		char text[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec part;
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	char *text = NULL;
	long len = np_saver_pack(NP_SAVER_TRACE, 0, field, n, &text);
	int rc = 0;

	if (len < 0)
		return (int)len;
	memcpy(CMSG_DATA(&control.head), &ring, sizeof(ring));
	part = (struct iovec){ text, (size_t)len };
	if (sendmsg(o->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) != len)
		rc = -EPIPE;
	free(text);
	return rc;
}

/* Reads how far the saver has copied. Returns 0 or -errno. */
static int read_copied(struct np_trace_out *o)
{
	int64_t n = (int64_t)o->copied;
	ssize_t got;

	while ((got = recv(o->fd, &n, sizeof(n), MSG_DONTWAIT)) == sizeof(n))
		if (n < 0)
			return (int)n;
		else
			o->copied = (uint64_t)n;
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
}

static int64_t mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for the saver to say more. Returns 0 or -errno. */
static int wait_for_saver(struct np_trace_out *o)
{
	struct pollfd p = { .fd = o->fd, .events = POLLIN };
	int64_t begin = mono_ms();
	int n = o->wait_ms > 0 ? poll(&p, 1, o->wait_ms) : 0;

	o->wait_ms -= (int)(mono_ms() - begin);
	if (n < 0 && errno == EINTR)
		return 0;
	return n > 0 ? read_copied(o) : -ETIMEDOUT;
}

static int release_ring(struct np_trace_out *o, int ring, int rc)
{
	if (ring >= 0)
		close(ring);
	if (!rc)
		return 0;
	if (o->map)
		munmap(o->written, o->map_bytes);
	close(o->fd);
	*o = (struct np_trace_out){ .fd = -1 };
	return rc;
}

/* The first number is 0, when the file exists. */
static int wait_for_file(struct np_trace_out *o)
{
	int rc = 0;

	o->copied = UINT64_MAX;
	while (!rc && o->copied == UINT64_MAX)
		rc = wait_for_saver(o);
	return rc;
}

int np_trace_out_pass(struct np_trace_out *o, int socket, const char *dir,
		      const char *sub, const char *keep,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns)
{
	char rank[16], mask[16];
	const char *field[] = { dir, sub, rank, keep, mask };
	mode_t was = umask(077);
	int ring = -1, rc;

	umask(was);
	*o = (struct np_trace_out){ .fd = socket,
				    .ring = true,
				    .wait_ms = OPEN_MS,
				    .end_ns = now_ns,
				    .max_bytes = max_bytes };
	snprintf(rank, sizeof(rank), "%u", h->rank);
	snprintf(mask, sizeof(mask), "%o", (unsigned)was);
	rc = identify(o);
	if (!rc)
		rc = make_ring(o, &ring);
	if (!rc)
		rc = send_request(o, field, sizeof(field) / sizeof(*field),
				  ring);
	if (!rc)
		rc = wait_for_file(o);
	o->wait_ms = WAIT_MS;
	if (!rc)
		write_header(o, h);
	return release_ring(o, ring, rc);
}

/* Sends the saver the position up to which there are records. */
static int send_position(struct np_trace_out *o)
{
	uint64_t n = o->offset + (uint64_t)(o->at - o->map);

	return is_open(o) && send(o->fd, &n, sizeof(n),
				  MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(n) ?
		       read_copied(o) :
		       -EPIPE;
}

/* Makes room for a record of this size in the ring; false if there is none. */
static bool make_ring_room(struct np_trace_out *o, size_t bytes)
{
	uint64_t at = o->offset + (uint64_t)(o->at - o->map), room;
	uint64_t most = limit_of(o);
	int rc = send_position(o);

	while (!rc && o->copied + RING - at < bytes + RESERVE &&
	       bytes + RESERVE <= RING)
		rc = wait_for_saver(o);
	room = o->copied + RING - at;
	if (rc || most < at)
		return false;
	if (room > most - at)
		room = most - at;
	if (room < bytes + RESERVE)
		return false;
	if (o->at >= o->map + RING) {
		o->at -= RING;
		o->offset += RING;
	}
	o->stop =
		o->at + (room < bytes + CHUNK ? room : bytes + CHUNK) - RESERVE;
	return true;
}

/*
 * What the saver has not copied yet when this returns, it copies later. The
 * program waits, so that the trace is usually complete when it ends.
 */
static void finish_ring(struct np_trace_out *o)
{
	int rc = send_position(o);

	while (!rc && o->copied < *o->written)
		rc = wait_for_saver(o);
}

/* ---- Records ---- */

/* Writes a LEB128 number; returns the byte after it. */
static inline uint8_t *write_varint(uint8_t *p, uint64_t v)
{
	while (v >= 128) {
		*p++ = (uint8_t)(v | 128);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/*
 * Writes the kind last, so that a process that dies leaves only complete
 * records.
 */
static void finish_record(struct np_trace_out *o, enum np_trace_kind kind,
			  uint8_t *end)
{
	__atomic_store_n(o->at, (uint8_t)kind, __ATOMIC_RELEASE);
	o->at = end;
	__atomic_store_n(o->written, o->offset + (uint64_t)(end - o->map),
			 __ATOMIC_RELEASE);
}

/* There is always room for FULL, after which nothing is written. */
static void end_full(struct np_trace_out *o)
{
	finish_record(o, NP_TRACE_FULL,
		      write_varint(write_varint(o->at + 1, 0), 0));
	np_trace_out_close(o);
}

/* Maps the next part of the file, for a record of this size. */
static bool make_file_room(struct np_trace_out *o, size_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from, left, most;
	size_t want;

	most = limit_of(o);
	from = o->offset + (uint64_t)(o->at - o->map);
	from -= from % page;
	left = most > from ? most - from : 0;
	want = bytes + RESERVE + page;
	want = want < WINDOW ? WINDOW : want + page - want % page;
	if (want > left)
		want = (size_t)left;
	return want >= bytes + RESERVE + page && map_at(o, from, want);
}

/*
 * Makes room for a record of this size; false if there is none. The thread is
 * not cancelled meanwhile, as it would leave the trace locked.
 */
static bool make_room(struct np_trace_out *o, size_t bytes)
{
	bool made;
	int state;

	if (!o->map)
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	made = o->ring ? make_ring_room(o, bytes) : make_file_room(o, bytes);
	if (!made)
		end_full(o);
	pthread_setcancelstate(state, NULL);
	return made;
}

/* Writes the times of a record and makes room for n numbers. NULL: no room. */
static inline uint8_t *begin_record(struct np_trace_out *o, uint64_t start_ns,
				    uint64_t end_ns, size_t n)
{
	size_t need = HEAD_BYTES + n * VARINT_BYTES;
	uint8_t *p;

	if (o->lost)
		np_trace_out_close(o);
	if (!o->map)
		return NULL;
	if ((size_t)(o->stop - o->at) < need && !make_room(o, need))
		return NULL;
	p = write_varint(o->at + 1,
			 start_ns > o->end_ns ? start_ns - o->end_ns : 0);
	if (start_ns < o->end_ns)
		start_ns = o->end_ns;
	p = write_varint(p, end_ns > start_ns ? end_ns - start_ns : 0);
	if (end_ns > o->end_ns)
		o->end_ns = end_ns;
	o->poll = NULL;
	return p;
}

void np_trace_out_put(struct np_trace_out *o, enum np_trace_kind kind,
		      uint64_t start_ns, uint64_t end_ns,
		      const uint64_t *number, size_t n)
{
	uint8_t *p = begin_record(o, start_ns, end_ns, n);

	if (!p)
		return;
	for (size_t i = 0; i < n; i++)
		p = write_varint(p, number[i]);
	finish_record(o, kind, p);
}

/*
 * If others truncated the file, it is left alone. If it cannot be truncated, it
 * ends in zeros, which is valid, too.
 */
static void finish_file(const struct np_trace_out *o)
{
	off_t end = (off_t)(o->offset + (uint64_t)(o->at - o->map));
	struct stat st;

	if (!o->lost && is_open(o) && !fstat(o->fd, &st) && st.st_size > end &&
	    ftruncate(o->fd, end))
		return;
}

void np_trace_out_end(struct np_trace_out *o)
{
	if (o->map && o->ring)
		finish_ring(o);
	else if (o->map)
		finish_file(o);
}

void np_trace_out_close(struct np_trace_out *o)
{
	np_trace_out_end(o);
	np_trace_out_forget(o);
}

void np_trace_out_forget(struct np_trace_out *o)
{
	if (o->map && o->ring) {
		munmap(o->written, o->map_bytes);
	} else if (o->map) {
		unguard(o);
		munmap(o->map, o->map_bytes);
	}
	if (o->map && is_open(o))
		close(o->fd);
	*o = (struct np_trace_out){ .fd = -1 };
}

void np_trace_out_poll(struct np_trace_out *o, uint64_t start_ns,
		       uint64_t end_ns)
{
	uint64_t length;
	uint8_t *p;

	/* Threads may record their calls in another order than they ended. */
	if (end_ns < o->end_ns)
		end_ns = o->end_ns;
	if (o->poll && start_ns < o->end_ns + NP_TRACE_SPIN_NS) {
		length = end_ns - o->poll_ns;
		memcpy(o->poll, &length, sizeof(length));
		o->end_ns = end_ns;
		return;
	}
	/* The length is written below; begin_record() has written 0. */
	p = begin_record(o, start_ns, start_ns, 0);
	if (!p)
		return;
	o->poll = --p;
	/* begin_record() has advanced it to the start of this call */
	o->poll_ns = o->end_ns;
	length = end_ns - o->poll_ns;
	memcpy(p, &length, sizeof(length));
	o->end_ns = end_ns;
	finish_record(o, NP_TRACE_POLL, p + sizeof(length));
}
