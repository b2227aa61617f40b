/*
 * A program that is not linked with an MPI, and loads a plugin that is: loaded
 * PLUGIN. It starts the MPI by the address of its function. With -DPLUGIN this
 * is the plugin.
 */
#ifdef PLUGIN
#include <mpi.h>

int use_mpi(void);

int use_mpi(void)
{
	return MPI_Barrier(MPI_COMM_WORLD) || MPI_Finalize();
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
	int (*init)(int *, char ***), (*use)(void);

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(plugin, "MPI_Init");
	*(void **)&use = dlsym(plugin, "use_mpi");
	if (init(NULL, NULL) || use())
		return 1;
	puts("done");
	return 0;
}
#endif
