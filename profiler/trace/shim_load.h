/*
 * Between libnetprof-mpi.so, which knows no MPI, and the part that knows the
 * one that the program has.
 */
#ifndef SHIM_LOAD_H
#define SHIM_LOAD_H

/* A function of the MPI by its name, or NULL. */
typedef void *shim_find_f(const char *name);

struct shim_wrapper {
	const char *name; /* without "MPI_" */
	void *function;
};

/*
 * Takes the MPI's own functions by find, and gives those that stand in for
 * them; the last has no name.
 */
typedef const struct shim_wrapper *shim_bind_f(shim_find_f *find);
#define SHIM_BIND "np_shim_bind"

#endif
