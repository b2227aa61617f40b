#include "t.h"
#include "np_reports.h"

T_TEST("a rate is bytes by the time between two readings")
{
	struct np_traffic *t = calloc(1, sizeof(*t));

	for (int i = 1; t && i <= 400; i++) /* 1000 bytes/s, then 4000 */
		np_traffic_add(t, 0, 100 + i * 0.25, 0.25,
			       i <= 200 ? 250 : 1000);
	T_CHECK(t && t_close(np_traffic_rate(t, 140, 142), 1000, 1e-9));
	T_CHECK(t && t_close(np_traffic_rate(t, 160, 162), 4000, 1e-9));
	T_CHECK(t && t_close(np_traffic_rate(t, 149, 151), 2500, 1e-9));
	T_CHECK(t && isnan(np_traffic_rate(t, 300, 302))); /* not known yet */
	T_CHECK(t && isnan(np_traffic_rate(t, 151, 151)));
	free(t);
}

/* Nodes report when they like, and all are added up. */
T_TEST("nodes report in their own time")
{
	struct np_traffic *t = calloc(1, sizeof(*t));

	for (int i = 0; t && i < 100; i++) {
		np_traffic_add(t, 0, 10.07 + i * 0.25, 0.25, 250);
		np_traffic_add(t, 1, 10.19 + i * 0.25, 0.25, 500);
	}
	T_CHECK(t && t_close(np_traffic_rate(t, 20, 25), 3000, 1e-6));
	free(t);
}

/* A late report is no silence: of two nodes one has reported half of the time. */
T_TEST("what comes late is not taken for silence")
{
	struct np_traffic *t = calloc(1, sizeof(*t));

	for (int i = 0; t && i < 100; i++) {
		np_traffic_add(t, 0, 10.25 + i * 0.25, 0.25, 250);
		if (i < 44)
			np_traffic_add(t, 1, 10.25 + i * 0.25, 0.25, 250);
	}
	T_CHECK(t && t_close(np_traffic_rate(t, 18, 20), 2000, 1e-6));
	T_CHECK(t && t_close(np_traffic_rate(t, 20, 22), 2000, 1e-6));
	T_CHECK(t && t_close(np_traffic_rate(t, 30, 34), 2000, 1e-6));
	T_CHECK(t && isnan(np_traffic_rate(t, 34, 38)));
	free(t);
}

/* 1000 bytes/s, then 4000; reported late, and then all at once. */
T_TEST("what arrives at once is of one time after the other")
{
	struct np_traffic *t = calloc(1, sizeof(*t));

	for (int i = 1; t && i <= 80; i++) {
		double heard = i <= 20 ? 10 + 0.25 * i :
					 10 + 2 * ceil(i / 8.0) + 0.1;

		np_traffic_add(t, 0, heard, 0.25, i <= 44 ? 250 : 1000);
	}
	T_CHECK(t && t_close(np_traffic_rate(t, 19, 21), 1000, 0.01));
	T_CHECK(t && t_close(np_traffic_rate(t, 21, 23), 4000, 0.01));
	T_CHECK(t && t_close(np_traffic_rate(t, 20, 22), 2500, 0.01));
	free(t);
}

T_TEST("odd times do no harm")
{
	struct np_traffic *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	np_traffic_add(t, 0, 10, 0, 1e9); /* in no time */
	np_traffic_add(t, 0, 10, -1, 1e9);
	np_traffic_add(t, 0, 10, 1e9, 1e9); /* since long ago */
	T_CHECK(isnan(np_traffic_rate(t, 0, 20)));
	np_traffic_add(t, 0, 1e6, 1, 100); /* after a long silence */
	np_traffic_add(t, 0, 10, 1, 1e9);  /* far too late */
	T_CHECK(t_close(np_traffic_rate(t, 1e6 - 1, 1e6), 100, 1e-6));
	free(t);
}

/* Without end if it took time for each bin since the machine was started. */
T_TEST("the first report is quick on a machine that has run for years")
{
	struct np_traffic *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	np_traffic_add(t, 0, 1e11, 1, 100);
	T_CHECK(t_close(np_traffic_rate(t, 1e11 - 1, 1e11), 100, 0.1));
	free(t);
}
