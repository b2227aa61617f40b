#include "np_thread.h"

#include <signal.h>

int np_thread_start(void *(*run)(void *arg), void *arg, size_t stack_bytes,
		    pthread_t *thread)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t detached;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	if (!thread)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread ? thread : &detached, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}
