#include "t.h"

#include "np_student.h"

#include <math.h>

/* Tables of t, 97.5 %: 12.706 with 1 degree of freedom, 2.262 with 9. */
static void test_intervals(void)
{
	struct np_moments m = { .n = 0 };

	T_CHECK(isinf(np_student_half(&m)));
	np_moments_add(&m, 1);
	T_CHECK(isinf(np_student_half(&m)));
	np_moments_add(&m, 3);
	T_CHECK(t_close(np_student_half(&m), 12.706, 1e-4));
	m = (struct np_moments){ .n = 0 };
	for (int i = 0; i < 10; i++)
		np_moments_add(&m, i);
	T_CHECK(t_close(np_student_half(&m),
			2.2622 * sqrt(55.0 / 6) / sqrt(10), 1e-4));
}

static const struct t_case cases[] = {
	{ "the interval of a mean is that of Student's t", test_intervals },
	{ NULL, NULL },
};
T_SUITE(student, cases)
