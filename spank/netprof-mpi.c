/*
 * netprof-mpi PID: tells which MPI library a process has, or one that it
 * started.
 *
 * netprof-agent starts it beside a probe, with the collector as its standard
 * output, and ends it with the probe.  Scripts and mpirun start programs later,
 * so it looks again at growing intervals until there is an MPI or the process
 * ends.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "np_elf.h"
#include "np_watch.h"

#define LONGEST_MS (16384 * 1000) /* longest pause, after 9 hours */

int main(int argc, char **argv)
{
	long pid = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	struct np_watch w;
	struct pollfd p;
	char mpi[NP_MPI_TEXT];

	if (pid <= 0) {
		fprintf(stderr, "usage: netprof-mpi PID\n");
		return 2;
	}
	np_watch_open(&w, (pid_t)pid, 0);
	p = (struct pollfd){ .fd = w.fd, .events = POLLIN };
	for (int ms = 0; ms <= LONGEST_MS && !poll(&p, 1, ms) &&
	     !np_watch_over(&w); ms = ms ? 2 * ms : 1000)
		if (np_mpi_find((pid_t)pid, mpi)) {
			/*
			 * A single write, because the probe writes there, too.
			 */
			printf("mpi %s\n", mpi);
			break;
		}
	return 0;
}
