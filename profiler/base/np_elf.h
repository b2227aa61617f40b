/*
 * What a shared object says of itself, read from its file: loading it would run
 * its code.  The file may be anything; reading is bounded.
 */
#ifndef NP_ELF_H
#define NP_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

/*
 * The bytes of a data symbol of a shared object of this machine, at most max.
 * Returns how many, or with err -errno: -ENOENT (no such file), -EINVAL (no
 * shared object of this machine, damaged), -ENODATA (no such symbol, or it
 * is not initialized).
 */
long np_elf_symbol(const char *path, const char *name, void *buf, size_t max,
		   struct np_err *err);

#define NP_ELF_CONSTANTS_MAX (16u << 20) /* bytes; what is larger is left out */

/*
 * look() at each section of constants, until it returns true.  data is the
 * section's file bytes, which end anywhere, for that call.  Returns 0 (true
 * was returned), -ENODATA (it never was), or -ENOENT or -EINVAL as above.
 */
int np_elf_constants(const char *path,
		     bool (*look)(const char *data, size_t len, void *arg),
		     void *arg, struct np_err *err);

#endif
