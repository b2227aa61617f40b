/*
 * libFuzzer target: `make fuzz`. Whatever the bytes, the reader of job logs
 * refuses them with a line or takes them; the jobs it takes are in order and
 * can be replayed.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_queue_log.h"

static void check(const struct np_queue_log *q)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct np_queue_job *j = &q->job[i];

		if (j->submit_sec < 0 || !j->run_sec || !j->limit_sec ||
		    j->run_sec > j->limit_sec || (!j->nodes && !j->cpus) ||
		    (i && j->submit_sec < j[-1].submit_sec) ||
		    (j->after != NP_QUEUE_NONE && j->after >= i))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_queue_log q;
	int fd = memfd_create("queue", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET))
		abort();
	if (np_queue_log_read_fd(fd, "fuzz", "|", NULL, NULL, &q, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	check(&q);
	np_queue_log_free(&q);
	return 0;
}
