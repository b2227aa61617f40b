#include "t.h"
#include "np_fabric.h"

#include <math.h>

T_TEST("no effect is claimed only where it was shown")
{
	static const struct {
		const char *name;
		struct np_mean k;
		bool none;
	} rows[] = {
		{ "near zero", { 8, 0.01, 0.03 }, true },
		{ "exactly zero", { 3, 0, 0 }, true },
		{ "small, but surely not zero", { 50, 0.05, 0.01 }, false },
		{ "perhaps zero, perhaps much", { 3, 0.1, 0.2 }, false },
		{ "measured once", { 1, 0, NAN }, false },
		{ "not measured", { 0, 0, 0 }, false },
		{ "full", { 8, 1, 0.01 }, false },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++)
		T_ROW(rows[i].name,
		      np_sharing_coef_none(&rows[i].k) == rows[i].none);
}
