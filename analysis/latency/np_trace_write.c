#include "np_trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW (1u << 20) /* bytes mapped at a time */
#define RESERVE 64	  /* bytes reserved for the last record, FULL */
#define HEAD_BYTES 32 /* upper bound on bytes of a record without its numbers */
#define VARINT_BYTES 10	  /* bytes of the longest number */

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
	    mmap(o->map, o->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
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
 * Maximum length of the file. Writing beyond RLIMIT_FSIZE, which the program
 * may change, would end the program with SIGXFSZ.
 */
static uint64_t limit_of(const struct np_trace_out *o)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = o->max_bytes;
	struct rlimit size;

	if (!getrlimit(RLIMIT_FSIZE, &size) &&
	    size.rlim_cur != RLIM_INFINITY && size.rlim_cur < most)
		most = size.rlim_cur;
	return most - most % page;
}

/* Maps the file from offset on. On failure the previous mapping remains. */
static bool map_at(struct np_trace_out *o, uint64_t offset, size_t bytes)
{
	int prot = PROT_READ | PROT_WRITE;
	uint8_t *map;

	if (posix_fallocate(o->fd, (off_t)offset, (off_t)bytes))
		return false;
	map = mmap(NULL, bytes, prot, MAP_SHARED | MAP_POPULATE, o->fd,
		   (off_t)offset);
	if (map == MAP_FAILED)
		return false;
	if (o->map)
		munmap(o->map, o->map_bytes);
	o->at = map + (o->at ? (uint64_t)(o->at - o->map) + o->offset - offset :
		       0);
	o->map = map;
	o->map_bytes = bytes;
	o->stop = map + bytes - RESERVE;
	o->offset = offset;
	return true;
}

int np_trace_out_open(struct np_trace_out *o, int dir,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns)
{
	uint64_t most;
	char name[32];

	*o = (struct np_trace_out){ .fd = -1, .end_ns = now_ns,
				    .max_bytes = max_bytes };
	most = limit_of(o);
	if (!most)
		return -EFBIG;
	snprintf(name, sizeof(name), "rank.%u", h->rank);
	unlinkat(dir, name, 0);
	o->fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC |
		       O_NOFOLLOW, 0640);
	if (o->fd < 0)
		return -errno;
	if (!map_at(o, 0, most < WINDOW ? (size_t)most : WINDOW)) {
		close(o->fd);
		unlinkat(dir, name, 0);
		*o = (struct np_trace_out){ .fd = -1 };
		return -ENOSPC;
	}
	memcpy(o->at, h, sizeof(*h));
	memcpy(o->at, NP_TRACE_MAGIC, sizeof(h->magic));
	o->at += sizeof(*h);
	return 0;
}

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
}

/* There is always room for FULL, after which nothing is written. */
static void end_full(struct np_trace_out *o)
{
	finish_record(o, NP_TRACE_FULL,
		      write_varint(write_varint(o->at + 1, 0), 0));
	np_trace_out_close(o);
}

/* Makes room for a record of this size; false if there is none. */
static bool make_room(struct np_trace_out *o, size_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from, left, most;
	size_t want;

	if (!o->map)
		return false;
	most = limit_of(o);
	from = o->offset + (uint64_t)(o->at - o->map);
	from -= from % page;
	left = most > from ? most - from : 0;
	want = bytes + RESERVE + page;
	want = want < WINDOW ? WINDOW : want + page - want % page;
	if (want > left)
		want = (size_t)left;
	if (want < bytes + RESERVE + page || !map_at(o, from, want)) {
		end_full(o);
		return false;
	}
	return true;
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

void np_trace_out_close(struct np_trace_out *o)
{
	if (o->map) {
		off_t end = (off_t)(o->offset + (uint64_t)(o->at - o->map));
		struct stat st;

		unguard(o);
		munmap(o->map, o->map_bytes);
		/*
		 * Otherwise others truncated it, or it ends in zeros, which is
		 * valid too.
		 */
		if (!o->lost && !fstat(o->fd, &st) && st.st_size > end &&
		    ftruncate(o->fd, end))
			end = 0;
		close(o->fd);
	}
	*o = (struct np_trace_out){ .fd = -1 };
}

void np_trace_out_forget(struct np_trace_out *o)
{
	if (o->map) {
		unguard(o);
		munmap(o->map, o->map_bytes);
		close(o->fd);
	}
	*o = (struct np_trace_out){ .fd = -1 };
}

void np_trace_out_poll(struct np_trace_out *o, uint64_t start_ns,
		       uint64_t end_ns)
{
	uint64_t length;
	uint8_t *p;

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
	length = end_ns > o->poll_ns ? end_ns - o->poll_ns : 0;
	memcpy(p, &length, sizeof(length));
	o->end_ns = end_ns;
	finish_record(o, NP_TRACE_POLL, p + sizeof(length));
}
