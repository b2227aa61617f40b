#include "t.h"
#include "np_array.h"

#include <string.h>

static void test_numbers(void)
{
	static const char *const text[] = { "", "a", "b", "", "ab", "a", "b" };
	static const uint32_t number[] = { 0, 1, 2, 0, 3, 1, 2 };
	struct np_numbers x = { .n = 0 };

	T_CHECK(np_numbers_find(&x, "a", 1) == NP_NO_NUMBER);
	for (size_t i = 0; i < NP_ARRAY_SIZE(text); i++) {
		T_ROW(text[i], np_numbers_get(&x, text[i], strlen(text[i])) ==
			       number[i]);
		T_ROW(text[i], np_numbers_find(&x, text[i], strlen(text[i])) ==
			       number[i]);
	}
	T_CHECK(x.n == 4 && np_numbers_find(&x, "c", 1) == NP_NO_NUMBER);
	np_numbers_clear(&x);
	T_CHECK(np_numbers_find(&x, "a", 1) == NP_NO_NUMBER);
	T_CHECK(np_numbers_get(&x, "b", 1) == 0);
	np_numbers_free(&x);
}

static void test_many(void)
{
	struct np_numbers x = { .n = 0 };

	for (int lap = 0; lap < 2; lap++)
		for (uint32_t i = 0; i < 10000; i++) {
			const uint64_t thing = UINT64_C(1) << 40 | i * 256;

			T_CHECK(np_numbers_get(&x, &thing, sizeof(thing)) == i);
		}
	np_numbers_free(&x);
}

static const struct t_case cases[] = {
	{ "what comes again has the number it had", test_numbers },
	{ "many things", test_many },
	{ NULL, NULL },
};
T_SUITE(numbers, cases)
