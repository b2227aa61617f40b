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

#define WINDOW (1u << 20) /* mapped at a time */
#define RESERVE 64	  /* kept for the last record, FULL */
#define HEAD 32		  /* bytes of a record without its numbers, at most */
#define VARINT 10	  /* bytes of the longest number */

/*
 * The guard.  Where the file was cut by somebody else, or its server fails,
 * touching what is mapped of it raises SIGBUS.  Then memory takes the place of
 * the mapped part, the record goes on there, and it is the last one.
 */
static struct np_trace_out *guarded;
static struct sigaction bus_before;

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
	} else { /* what raised it does so again, or it was sent */
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

/* What the program has set since then stays. */
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
 * How long the file may become.  Beyond RLIMIT_FSIZE, which the program may
 * change, SIGXFSZ would end it.
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

/* The part of the file that begins at offset; false leaves what is mapped. */
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

/* Returns the byte after it. */
static inline uint8_t *varint(uint8_t *p, uint64_t v)
{
	while (v >= 128) {
		*p++ = (uint8_t)(v | 128);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Its kind comes last: a process that dies leaves whole records. */
static void finish(struct np_trace_out *o, enum np_trace_kind kind,
		   uint8_t *end)
{
	__atomic_store_n(o->at, (uint8_t)kind, __ATOMIC_RELEASE);
	o->at = end;
}

/* FULL has its room; nothing comes after it. */
static void give_up(struct np_trace_out *o)
{
	finish(o, NP_TRACE_FULL, varint(varint(o->at + 1, 0), 0));
	np_trace_out_close(o);
}

/* Room for a record of that size; false: there is none any more. */
static bool grow(struct np_trace_out *o, size_t bytes)
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
		give_up(o);
		return false;
	}
	return true;
}

/* A record's times; n numbers have room from there on.  NULL: it has none. */
static inline uint8_t *begin(struct np_trace_out *o, uint64_t start_ns,
			     uint64_t end_ns, size_t n)
{
	size_t need = HEAD + n * VARINT;
	uint8_t *p;

	if (o->lost)
		np_trace_out_close(o);
	if (!o->map)
		return NULL;
	if ((size_t)(o->stop - o->at) < need && !grow(o, need))
		return NULL;
	p = varint(o->at + 1, start_ns > o->end_ns ? start_ns - o->end_ns : 0);
	if (start_ns < o->end_ns)
		start_ns = o->end_ns;
	p = varint(p, end_ns > start_ns ? end_ns - start_ns : 0);
	if (end_ns > o->end_ns)
		o->end_ns = end_ns;
	o->poll = NULL;
	return p;
}

void np_trace_out_put(struct np_trace_out *o, enum np_trace_kind kind,
		      uint64_t start_ns, uint64_t end_ns,
		      const uint64_t *number, size_t n)
{
	uint8_t *p = begin(o, start_ns, end_ns, n);

	if (!p)
		return;
	for (size_t i = 0; i < n; i++)
		p = varint(p, number[i]);
	finish(o, kind, p);
}

void np_trace_out_close(struct np_trace_out *o)
{
	if (o->map) {
		off_t end = (off_t)(o->offset + (uint64_t)(o->at - o->map));
		struct stat st;

		unguard(o);
		munmap(o->map, o->map_bytes);
		/* Else it was cut by others; or it ends in zeroes, as good. */
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
	/* Its length is written in place: begin has written none. */
	p = begin(o, start_ns, start_ns, 0);
	if (!p)
		return;
	o->poll = --p;
	o->poll_ns = o->end_ns; /* by now the beginning of this one */
	length = end_ns > o->poll_ns ? end_ns - o->poll_ns : 0;
	memcpy(p, &length, sizeof(length));
	o->end_ns = end_ns;
	finish(o, NP_TRACE_POLL, p + sizeof(length));
}
