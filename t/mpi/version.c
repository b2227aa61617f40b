/*
 * What its MPI says of itself; then a few seconds, in which it has it loaded, and until a
 * file exists.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	if (MPI_Get_library_version(text, &len)) /* needs no MPI_Init() */
		return 1;
	puts(text);
	fflush(stdout);
	sleep(4);
	for (int i = 0; i < 600 && argc > 1 && access(argv[1], F_OK); i++)
		usleep(100000);
	return 0;
}
