/* What its MPI says of itself; then a few seconds, in which it has it loaded. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	if (MPI_Get_library_version(text, &len)) /* needs no MPI_Init() */
		return 1;
	puts(text);
	fflush(stdout);
	sleep(4);
	return 0;
}
