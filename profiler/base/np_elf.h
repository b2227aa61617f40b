/*
 * Facts about programs, read from their files: symbols of a shared object, and
 * the MPI library of a process.
 *
 * A shared object is not loaded, because that would run its code, and the
 * process is not stopped. The files may be anything; reading is bounded.
 */
#ifndef NP_ELF_H
#define NP_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "np_err.h"

/* ---- shared objects ---- */

/*
 * Read at most max bytes of a data symbol of a shared object for this
 * machine. Returns their number, or with err -errno: -ENOENT (no such file),
 * -EINVAL (not a shared object for this machine, or damaged), -ENODATA (no such
 * symbol, or it is not initialised).
 */
long np_elf_symbol(const char *path, const char *name, void *buf, size_t max,
		   struct np_err *err);

#define NP_ELF_CONSTANTS_MAX (16u << 20) /* bytes of a section; else skipped */

/*
 * Call each() for every section of constants until it returns true. data: the
 * bytes of the section in the file, valid during the call and not
 * NUL-terminated. Returns 0 (each() returned true), -ENODATA (it never did), or
 * -ENOENT or -EINVAL as above. Exported for the unit tests.
 */
int np_elf_constants(const char *path,
		     bool (*each)(const char *data, size_t len, void *arg),
		     void *arg);

/* ---- the MPI library of a process ---- */

#define NP_MPI_TEXT 64
#define NP_MPI_NONE "none"

/*
 * Finds out about a file of a process by its path: which MPI a library is or, if
 * the path ends in /exe, whether a program has none (NP_MPI_NONE). False: not
 * known.
 */
typedef bool np_mpi_identify_f(const char *path, char buf[NP_MPI_TEXT]);

/*
 * The MPI library that a process, or one that it started, has mapped: "Open MPI
 * 4.1.4", or "MPICH 4.0.2", which also stands for libraries derived from MPICH;
 * NP_MPI_NONE if all these processes could be read, and none has an MPI or a
 * client of PMI or PMIx. False: not known, for example because a process is
 * linked statically, may not be read, or has a library that is not known here.
 * Opens no library and no program; only identify() does.
 */
bool np_mpi_find(pid_t pid, np_mpi_identify_f *identify, char buf[NP_MPI_TEXT]);

/* An np_mpi_identify_f that reads the file. */
bool np_mpi_of_file(const char *path, char buf[NP_MPI_TEXT]);

#endif
