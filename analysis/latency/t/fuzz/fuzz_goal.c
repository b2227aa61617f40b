/*
 * Graphs from untrusted files, and what is computed from them. A graph that was
 * read can be written, and is unchanged when read again.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_goal.h"
#include "np_tolerance.h"

static struct np_graph *read_graph(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = NULL;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET)) {
		perror("fuzz_goal");
		_exit(1);
	}
	if (np_goal_read(fd, "fuzz", &g, &err) && !err.text[0])
		abort(); /* an error without a message */
	close(fd);
	return g;
}

static void compute(const struct np_graph *g, enum np_loggps_param x,
		    uint64_t S)
{
	const struct np_tolerance_opt opt = {
		.net = { .L_ns = 100, .o_ns = 10, .G_ns = 0.5, .S = S },
		.x = x,
	};
	struct np_critical *critical = NULL;
	struct np_runtime low, high;
	struct np_tolerance *t;
	size_t n = 0;

	if (np_tolerance_new(g, &opt, &t, NULL))
		return;
	np_tolerance_at(t, 10, &low);
	np_tolerance_at(t, 1000, &high);
	if (!(low.ns <= high.ns) || !(low.right <= high.left) ||
	    np_tolerance_limit(t, 10, 0.01) < 10 * (1 - 1e-9))
		abort();
	if (np_tolerance_critical(t, 10, 1000, &critical, &n, NULL))
		abort();
	for (size_t i = 1; i < n; i++)
		if (!(critical[i - 1].slope < critical[i].slope))
			abort();
	free(critical);
	np_tolerance_free(t);
}

static char *text_of(const struct np_graph *g, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f || np_goal_write(g, f, NULL) || fclose(f))
		abort();
	return text;
}

static void again(const struct np_graph *g)
{
	size_t len, len2;
	char *text = text_of(g, &len), *text2;
	struct np_graph *same = read_graph(text, len);

	if (!same)
		abort();
	text2 = text_of(same, &len2);
	if (len != len2 || memcmp(text, text2, len))
		abort();
	np_graph_free(same);
	free(text);
	free(text2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_graph *g = read_graph(data, size);

	/*
	 * A rank without operations takes few bytes in a file but many when
	 * written.
	 */
	if (!g)
		return 0;
	if (np_graph_ranks(g) <= 1000)
		again(g);
	compute(g, NP_LOGGPS_L, NP_LOGGPS_NO_RENDEZVOUS);
	compute(g, NP_LOGGPS_L, 100);
	compute(g, NP_LOGGPS_o, 5000);
	compute(g, NP_LOGGPS_G, 0);
	np_graph_free(g);
	return 0;
}
