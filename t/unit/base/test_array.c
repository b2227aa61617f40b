#include "t.h"
#include "np_array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static void test_all_stay_where_they_were_put(void)
{
	uint16_t *list = NULL;
	size_t right = 0;

	for (size_t n = 0; n < 5000; n++) {
		T_CHECK(np_array_grow(&list, n, sizeof(*list)) == 0);
		list[n] = (uint16_t)n;
	}
	for (size_t n = 0; n < 5000; n++)
		right += list[n] == n;
	T_CHECK(right == 5000);
	T_ROW("fewer, and more again",
	      np_array_grow(&list, 16, sizeof(*list)) == 0 && list[15] == 15);
	free(list);
}

static void test_what_is_there_stays_without_memory(void)
{
	char *list = NULL, *had;

	T_CHECK(np_array_grow(&list, 0, 1) == 0);
	had = list;
	T_CHECK(np_array_grow(&list, 16, SIZE_MAX / 4) == -ENOMEM);
	T_CHECK(np_array_resize(&list, SIZE_MAX / 2, 4) == -ENOMEM);
	T_CHECK(list == had);
	free(list);
}

static const struct t_case cases[] = {
	{ "all stay where they were put", test_all_stay_where_they_were_put },
	{ "what is there stays without memory",
	  test_what_is_there_stays_without_memory },
	{ NULL, NULL },
};
T_SUITE(array, cases)
