/*
 * What a shared object says of itself, read from its file: loading it would run
 * its code.  The file may be anything; reading is bounded.
 */
#ifndef NP_ELF_H
#define NP_ELF_H

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

#endif
