/*
 * Functions that glibc 2.17 lacks, or has under another version or name, so that
 * programs with an older glibc than that of the build are traced, too. The other
 * sources of the tracing library call these, as they have the same names.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "old_glibc.h"

#ifdef __GLIBC__

/* On 64-bit machines, the kernel has the structure that glibc has. */
int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int fstatat(int fd, const char *restrict path, struct stat *restrict st,
	    int flags)
{
	return (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

int memfd_create(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags);
}

/* In Linux, sigprocmask(2) is for the calling thread only. */
int pthread_sigmask(int how, const sigset_t *restrict set,
		    sigset_t *restrict old)
{
	return sigprocmask(how, set, old) ? errno : 0;
}

/* glibc 2.38 replaces these by functions that also read binary numbers. */
#if __GLIBC_PREREQ(2, 38)
extern unsigned long long plain_strtoull(const char *text, char **end,
					 int base) __asm__("strtoull");
extern int plain_vfscanf(FILE *f, const char *format,
			 va_list args) __asm__("__isoc99_vfscanf");
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
int __isoc23_fscanf(FILE *f, const char *format, ...);

unsigned long long __isoc23_strtoull(const char *text, char **end, int base)
{
	return plain_strtoull(text, end, base);
}

int __isoc23_fscanf(FILE *f, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = plain_vfscanf(f, format, args);
	va_end(args);
	return n;
}
#endif

#endif
