/*
 * Which MPI a process has, told from outside: by the libraries that it has
 * mapped, and what these say in their files.  Reading is bounded; the process
 * is not stopped, and nothing of it is run.
 */
#ifndef NP_MPI_H
#define NP_MPI_H

#include <stdbool.h>
#include <sys/types.h>

#define NP_MPI_TEXT 64

/*
 * "Open MPI 4.1.4" or "MPICH 4.0.2", which stands for what is made of MPICH,
 * too: of the process, or of one that it has started.  False: it has no MPI,
 * or one that is linked statically, is not known here or must not be looked at.
 */
bool np_mpi_find(pid_t pid, char buf[NP_MPI_TEXT]);

/* The same of a library, by its path. */
bool np_mpi_of_library(const char *path, char buf[NP_MPI_TEXT]);

#endif
