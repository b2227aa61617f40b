/*
 * Untrusted traces, binary or of liballprof depending on the first bytes: reads
 * those of two ranks and makes their graph.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_trace.h"
#include "np_trace_format.h"

#define RANKS 2

/*
 * The file of a rank, in memory; the header of a binary one contains the rank.
 */
static int file_of(uint32_t rank, const uint8_t *data, size_t size)
{
	int fd = memfd_create("rank", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		_exit(1);
	if (size >= NP_TRACE_HEADER) {
		uint32_t numbers[] = { rank, RANKS };

		if (!memcmp(data, NP_TRACE_MAGIC, 8) &&
		    pwrite(fd, numbers, sizeof(numbers), 8) !=
			    (ssize_t)sizeof(numbers))
			_exit(1);
	}
	return fd;
}

/*
 * The second rank begins at a second header or a line "#2"; without one, both
 * ranks have the same data.
 */
static size_t middle(const uint8_t *data, size_t size)
{
	for (size_t i = 1; i + 8 < size; i++)
		if (!memcmp(data + i, NP_TRACE_MAGIC, 8) ||
		    !memcmp(data + i, "#2\n", 3))
			return i;
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct np_trace_options o = { .choices = NULL };
	struct np_err err = NP_ERR_INIT;
	size_t cut = middle(data, size);
	char name[RANKS][64];
	char *path[] = { name[0], name[1] };
	struct np_trace_files f = { path, RANKS };
	struct np_graph *g = NULL;
	int fd[RANKS];
	int rc;

	fd[0] = file_of(0, data, cut);
	fd[1] = cut < size ? file_of(1, data + cut, size - cut) :
			     file_of(1, data, size);
	for (int i = 0; i < RANKS; i++)
		snprintf(name[i], sizeof(name[i]), "/proc/self/fd/%d", fd[i]);
	rc = np_trace_graph(&f, &o, &g, &err);
	if (rc ? !err.text[0] || g : !g)
		abort();
	np_graph_free(g);
	for (int i = 0; i < RANKS; i++)
		close(fd[i]);
	return 0;
}
