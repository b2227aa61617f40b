#include "t.h"
#include "np_array.h"

T_TEST("what comes again has the number it had")
{
	static const char *const text[] = { "", "a", "b", "", "ab", "a", "b" };
	static const uint32_t number[] = { 0, 1, 2, 0, 3, 1, 2 };
	struct np_index x = { .n = 0 };

	T_CHECK(np_index_find(&x, "a", 1) == NP_NO_INDEX);
	for (size_t i = 0; i < NP_ARRAY_SIZE(text); i++) {
		T_ROW(text[i],
		      np_index_add(&x, text[i], strlen(text[i])) == number[i]);
		T_ROW(text[i],
		      np_index_find(&x, text[i], strlen(text[i])) == number[i]);
	}
	T_CHECK(x.n == 4 && np_index_find(&x, "c", 1) == NP_NO_INDEX);
	np_index_clear(&x);
	T_CHECK(np_index_find(&x, "a", 1) == NP_NO_INDEX);
	T_CHECK(np_index_add(&x, "b", 1) == 0);
	np_index_free(&x);
}

T_TEST("many things")
{
	struct np_index x = { .n = 0 };

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 10000; i++) {
			const uint64_t thing = UINT64_C(1) << 40 | i * 256;

			T_CHECK(np_index_add(&x, &thing, sizeof(thing)) == i);
		}
	np_index_free(&x);
}
