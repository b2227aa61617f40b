/* What all fuzz targets have in common. */
#ifndef NP_T_FUZZ_H
#define NP_T_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

/* A target: libFuzzer or main.c calls it with any bytes. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
