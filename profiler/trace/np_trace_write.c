#include "np_trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW (1u << 20) /* mapped at a time */
#define RESERVE 64	  /* kept for the last record, FULL */

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

/* FULL has its room; nothing comes after it. */
static void give_up(struct np_trace_out *o)
{
	uint8_t *p = np_varint_put(np_varint_put(o->at + 1, 0), 0);

	np_trace_out_end(o, NP_TRACE_FULL, p);
	np_trace_out_close(o);
}

bool np_trace_out_grow(struct np_trace_out *o, size_t bytes)
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
	p = np_trace_out_begin(o, start_ns, start_ns, 0);
	if (!p)
		return;
	o->poll = --p;
	o->poll_ns = o->end_ns; /* by now the beginning of this one */
	length = end_ns > o->poll_ns ? end_ns - o->poll_ns : 0;
	memcpy(p, &length, sizeof(length));
	o->end_ns = end_ns;
	np_trace_out_end(o, NP_TRACE_POLL, p + sizeof(length));
}
