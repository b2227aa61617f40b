#include "np_trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW (1u << 20) /* mapped at a time */
#define RESERVE 64	  /* kept for the last record, FULL */
#define HEAD 32		  /* bytes of a record without its numbers, at most */
#define VARINT 10	  /* bytes of the longest number */

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
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char name[32];

	*o = (struct np_trace_out){ .fd = -1, .end_ns = now_ns };
	o->max_bytes = max_bytes - max_bytes % page;
	if (!o->max_bytes)
		return -EINVAL;
	snprintf(name, sizeof(name), "rank.%u", h->rank);
	unlinkat(dir, name, 0);
	o->fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC |
		       O_NOFOLLOW, 0640);
	if (o->fd < 0)
		return -errno;
	if (!map_at(o, 0, o->max_bytes < WINDOW ? (size_t)o->max_bytes :
			WINDOW)) {
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
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from, left;
	size_t want;

	if (!o->map)
		return false;
	from = o->offset + (uint64_t)(o->at - o->map);
	from -= from % page;
	left = o->max_bytes - from;
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

		munmap(o->map, o->map_bytes);
		if (ftruncate(o->fd, end))
			end = 0; /* it ends in zeroes then, as good */
		close(o->fd);
	}
	*o = (struct np_trace_out){ .fd = -1 };
}

void np_trace_out_forget(struct np_trace_out *o)
{
	if (o->map) {
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
