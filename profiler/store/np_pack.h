/*
 * Numbers and texts one behind the other, for np_kept.h: as this machine has
 * them, as nobody else reads them.
 */
#ifndef NP_PACK_H
#define NP_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "np_mean.h"

/* Failures are the stream's: ferror(), fclose(). */
void np_pack_count(FILE *f, uint64_t n);
void np_pack_real(FILE *f, double x);
void np_pack_mean(FILE *f, const struct np_mean *m);
void np_pack_text(FILE *f, const char *text); /* NULL as "" */

/* What is left to read; bad: it ended too early, or held what cannot be. */
struct np_unpack {
	const char *at;
	size_t left;
	bool bad;
};

/* 0 where it is bad, as is a count above max; a text is borrowed, else "". */
uint64_t np_unpack_count(struct np_unpack *u, uint64_t max);
double np_unpack_real(struct np_unpack *u);
struct np_mean np_unpack_mean(struct np_unpack *u);
const char *np_unpack_text(struct np_unpack *u);

#endif
