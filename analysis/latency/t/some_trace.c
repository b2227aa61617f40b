#include "some_trace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "t.h"
#include "np_trace_write.h"

const char *some_trace_dir(void)
{
	static char dir[320];
	static int n;

	snprintf(dir, sizeof(dir), "%s/trace%d", t_tmpdir(), n++);
	T_CHECK(!mkdir(dir, 0755));
	return dir;
}

static void put(struct np_trace_out *o, const struct some_record *r)
{
	uint64_t begin = o->end_ns + r->gap_ns, end = begin + r->length_ns;

	if (r->kind == NP_TRACE_POLL)
		np_trace_out_poll(o, begin, end);
	else
		np_trace_out_put(o, r->kind, begin, end, r->number, r->n);
}

const char *some_trace(const char *dir, uint32_t rank, uint32_t size,
		       const struct some_record *r, size_t n)
{
	const struct some_record both[] = {
		{ NP_TRACE_COMM, 0, 0, 7, { 0, rank, size, 1, 0, 2, size } },
		{ NP_TRACE_COMM, 0, 0, 7, { 1, 0, 1, 1, rank, 2, 1 } },
	};
	struct np_trace_header h = { .rank = rank, .size = size };
	struct np_trace_out o;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	T_CHECK(!np_trace_out_open(&o, fd, &h, 16 << 20, 1000));
	close(fd);
	put(&o, &both[0]);
	put(&o, &both[1]);
	for (size_t i = 0; i < n; i++)
		put(&o, &r[i]);
	np_trace_out_close(&o);
	return t_text("%s/rank.%u", dir, rank);
}

const char *some_lines(const char *dir, const char *name, const char *text)
{
	return t_write_text(t_text("%s/%s", dir, name), text);
}
