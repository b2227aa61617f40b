/*
 * Libraries that are loaded into programs: a program may have an older glibc
 * than the machine that builds them, in a container or next to the program, and
 * its loader ends a program if a library that it preloads needs a newer one.
 */
#ifndef OLD_GLIBC_H
#define OLD_GLIBC_H

#include <features.h>

#if defined(__x86_64__)
#define FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_GLIBC "GLIBC_2.17"
#endif

/*
 * Take a function of libdl in its first version. Before glibc 2.34 it is in a
 * library of its own; in a program without that, the function is NULL.
 */
#if defined(__GLIBC__) && defined(FIRST_GLIBC)
#define FROM_LIBDL(name) \
	__asm__(".symver " #name ", " #name "@" FIRST_GLIBC); \
	extern __typeof__(name) name __attribute__((weak))
#else
#define FROM_LIBDL(name) extern __typeof__(name) name
#endif

#endif
