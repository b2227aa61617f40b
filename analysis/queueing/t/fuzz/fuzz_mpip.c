/*
 * libFuzzer target: `make fuzz`. The reader of mpiP reports rejects any input
 * with a message or accepts it; what it accepts has components.
 */
#include <math.h>

#include "fuzz/fuzz.h"
#include "np_four.h"
#include "np_mpip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct np_link link = { 1e9, 1e-6 };
	struct np_err err = NP_ERR_INIT;
	struct np_run run;
	struct np_mpip m;
	struct np_four f;

	if (np_mpip_parse((const char *)data, size, "fuzz", &m, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	run = (struct np_run){ m.n_tasks, m.app_sec / m.n_tasks,
			       m.mpi_sec / m.n_tasks, m.messages / m.n_tasks,
			       m.messages > 0 ? m.bytes / m.messages : 0 };
	if (np_four(&run, &link, NP_FOUR_PUBLISHED, &f, &err) ||
	    !isfinite(f.wall_sec))
		abort();
	return 0;
}
