/*
 * Bitmaps of leaves, nodes and kinds of jobs: arrays of 64-bit words, with bit
 * i in word i / 64. Bits beyond the last index are 0.
 */
#ifndef NP_BITS_H
#define NP_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NP_BITS_WORD 64

/* Number of words for n bits. */
static inline size_t np_bits_words(size_t n)
{
	return (n + NP_BITS_WORD - 1) / NP_BITS_WORD;
}

static inline bool np_bits_test(const uint64_t *w, size_t i)
{
	return w[i / NP_BITS_WORD] >> (i % NP_BITS_WORD) & 1;
}

static inline void np_bits_set(uint64_t *w, size_t i)
{
	w[i / NP_BITS_WORD] |= UINT64_C(1) << (i % NP_BITS_WORD);
}

static inline void np_bits_clear(uint64_t *w, size_t i)
{
	w[i / NP_BITS_WORD] &= ~(UINT64_C(1) << (i % NP_BITS_WORD));
}

/*
 * Number of 1 bits in a word. Without the popcnt instruction the compiler would
 * call a function.
 */
static inline uint32_t np_bits_popcount(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) +
	    (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

static inline size_t np_bits_count(const uint64_t *w, size_t words)
{
	size_t n = 0;

	for (size_t k = 0; k < words; k++)
		n += np_bits_popcount(w[k]);
	return n;
}

static inline bool np_bits_any(const uint64_t *w, size_t words)
{
	for (size_t k = 0; k < words; k++)
		if (w[k])
			return true;
	return false;
}

static inline bool np_bits_intersect(const uint64_t *a, const uint64_t *b,
				     size_t words)
{
	for (size_t k = 0; k < words; k++)
		if (a[k] & b[k])
			return true;
	return false;
}

/* True if every bit of a is also in b. */
static inline bool np_bits_subset(const uint64_t *a, const uint64_t *b,
				  size_t words)
{
	for (size_t k = 0; k < words; k++)
		if (a[k] & ~b[k])
			return false;
	return true;
}

static inline void np_bits_or(uint64_t *to, const uint64_t *a, size_t words)
{
	for (size_t k = 0; k < words; k++)
		to[k] |= a[k];
}

/* Clear the bits beyond the last of n bits. */
static inline void np_bits_trim(uint64_t *w, size_t n)
{
	if (n % NP_BITS_WORD)
		w[n / NP_BITS_WORD] &= ~(~UINT64_C(0) << (n % NP_BITS_WORD));
}

/* Index of the first 1 bit at or after i; words * 64 if there is none. */
static inline size_t np_bits_next(const uint64_t *w, size_t words, size_t i)
{
	size_t k = i / NP_BITS_WORD;
	uint64_t word;

	if (k >= words)
		return words * NP_BITS_WORD;
	word = w[k] & ~UINT64_C(0) << (i % NP_BITS_WORD);
	while (!word)
		if (++k == words)
			return words * NP_BITS_WORD;
		else
			word = w[k];
	return k * NP_BITS_WORD + (size_t)__builtin_ctzll(word);
}

/* Index of the lowest 1 bit of w, which is word k of a bitmap and not 0. */
static inline uint32_t np_bits_lowest(size_t k, uint64_t w)
{
	return (uint32_t)(k * NP_BITS_WORD) + (uint32_t)__builtin_ctzll(w);
}

/* Loop over the 1 bits of w, with i as their index. */
#define NP_BITS_EACH(i, w, words) \
	for (size_t i = np_bits_next(w, words, 0); i < NP_BITS_WORD * (words); \
	     i = np_bits_next(w, words, i + 1))

#endif
