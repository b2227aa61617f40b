#include "t.h"
#include "np_array.h"

T_TEST("all stay where they were put")
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

T_TEST("what is there stays without memory")
{
	char *list = NULL, *had;

	T_CHECK(np_array_grow(&list, 0, 1) == 0);
	had = list;
	T_CHECK(np_array_grow(&list, 16, SIZE_MAX / 4) == -ENOMEM);
	T_CHECK(np_array_resize(&list, SIZE_MAX / 2, 4) == -ENOMEM);
	T_CHECK(list == had);
	free(list);
}
