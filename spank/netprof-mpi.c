/*
 * netprof-mpi PID: reports which MPI library a process, or one that it started,
 * has loaded, or that there is none.
 *
 * netprof-agent starts it together with a probe, with the collector as its
 * standard output, and ends it with the probe. Scripts and mpirun start
 * programs later, so it looks again at growing intervals until there is an MPI
 * or the process ends, and reports what has changed.
 *
 * netprof-saver reads the files of libraries and programs: their file server
 * may be lost, and a process of the job that waits for it would keep the job
 * from ending. Where no netprof-saver runs, the MPI stays unknown.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_elf.h"
#include "np_saver_proto.h"
#include "np_watch.h"

#define LONGEST_MS (16384 * 1000) /* longest pause, after 9 hours */

/* Is it a reply with the name of an MPI? */
static bool read_reply(int fd, char mpi[NP_MPI_TEXT])
{
	char text[NP_ERR_LEN + 32], *field[NP_SAVER_MAX_FIELDS];
	struct np_saver_header h;

	return recv(fd, &h, sizeof(h), MSG_WAITALL) == sizeof(h) &&
	       np_saver_header_is_valid(&h) && h.len <= sizeof(text) &&
	       recv(fd, text, h.len, MSG_WAITALL) == (ssize_t)h.len &&
	       np_saver_unpack(text, h.len, field) >= 2 &&
	       !strcmp(field[0], "0") &&
	       snprintf(mpi, NP_MPI_TEXT, "%s", field[1]) < NP_MPI_TEXT;
}

/* Waits for the saver without limit: this process ends with the step. */
static bool identify_by_saver(const char *file, char mpi[NP_MPI_TEXT])
{
	int fd = np_saver_send(NP_SAVER_MPI, &file, 1);
	bool found = fd >= 0 && !fcntl(fd, F_SETFL, 0) && read_reply(fd, mpi);

	if (fd >= 0)
		close(fd);
	return found;
}

int main(int argc, char **argv)
{
	long pid = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	struct np_watch w;
	struct pollfd p;
	char mpi[NP_MPI_TEXT], reported[NP_MPI_TEXT] = "";

	if (pid <= 0) {
		fprintf(stderr, "usage: netprof-mpi PID\n");
		return 2;
	}
	np_watch_start(&w, (pid_t)pid, 0);
	p = (struct pollfd){ .fd = w.fd, .events = POLLIN };
	for (int ms = 0;
	     ms <= LONGEST_MS && !poll(&p, 1, ms) && !np_watch_poll(&w);
	     ms = ms ? 2 * ms : 1000) {
		if (!np_mpi_find((pid_t)pid, identify_by_saver, mpi))
			mpi[0] = '\0';
		if (strcmp(mpi, reported)) {
			/* A single write, because the probe writes there, too. */
			printf("mpi %s\n", mpi);
			fflush(stdout);
			strcpy(reported, mpi);
		}
		if (mpi[0] && strcmp(mpi, NP_MPI_NONE))
			break;
	}
	return 0;
}
