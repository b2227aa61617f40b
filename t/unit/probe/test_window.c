#include "t.h"
#include "np_probe.h"

#define MAX_GOT 64

static struct np_report got[MAX_GOT];
static size_t n_got;

static void emit(const struct np_report *r, void *arg)
{
	char line[NP_REPORT_LINE];

	(void)arg;
	T_CHECK(np_report_format(r, line) > 0); /* every one fits a line */
	if (n_got < MAX_GOT)
		got[n_got] = *r;
	n_got++;
}

static void set_up(struct np_window *w, enum np_report_kind kind,
		   double width_sec)
{
	n_got = 0;
	np_window_init(w, kind, 7, width_sec, emit, NULL);
}

T_TEST("windows are cut at full seconds")
{
	struct np_window w;

	set_up(&w, NP_REPORT_LATENCY, 1);
	np_window_add(&w, 0.2, 1e-6);
	np_window_add(&w, 0.999, 3e-6);
	T_CHECK(n_got == 0);
	np_window_add(&w, 1.0, 5e-6);
	T_CHECK(n_got == 1 && got[0].rank == 7);
	T_CHECK(got[0].kind == NP_REPORT_LATENCY);
	T_CHECK(got[0].window.at_sec == 0 && got[0].window.sec.n == 2);
	T_CHECK(t_close(got[0].window.sec.mean, 2e-6, 1e-12));
	T_CHECK(got[0].window.n_bins == 2);
	np_window_tick(&w, 1.9);
	T_CHECK(n_got == 1);
	np_window_tick(&w, 5.1);
	T_CHECK(n_got == 2 && got[1].window.at_sec == 1);
	np_window_add(&w, 7.5, 2e-6);
	np_window_flush(&w);
	np_window_flush(&w);
	T_CHECK(n_got == 3 && got[2].window.at_sec == 7);
}

T_TEST("empty windows are not reported")
{
	struct np_window w;

	set_up(&w, NP_REPORT_ROUND, 1);
	for (double t = 0; t < 10; t += 0.3)
		np_window_tick(&w, t);
	np_window_flush(&w);
	T_CHECK(n_got == 0);
}

T_TEST("windows can have another width")
{
	struct np_window w;

	set_up(&w, NP_REPORT_LATENCY, 0.25);
	np_window_add(&w, 0.6, 1e-6);
	np_window_add(&w, 0.8, 1e-6);
	np_window_flush(&w);
	T_CHECK(n_got == 2);
	T_CHECK(got[0].window.at_sec == 0.5 && got[1].window.at_sec == 0.75);
}

T_TEST("rounds are reported without bins")
{
	struct np_window w;

	set_up(&w, NP_REPORT_ROUND, 1);
	for (int i = 0; i < 200; i++)
		np_window_add(&w, 0.5, 1e-7 * i * i);
	np_window_flush(&w);
	T_CHECK(n_got == 1 && got[0].window.n_bins == 0);
	T_CHECK(got[0].window.sec.n == 200);
}

/* A hundred thousand latencies spread over all bins there are. */
T_TEST("a window with many bins is split without loss")
{
	static uint64_t sum[NP_HIST_BINS], want[NP_HIST_BINS];
	struct np_moments all = { 0 }, parts = { 0 };
	struct np_window w;

	memset(sum, 0, sizeof(sum));
	memset(want, 0, sizeof(want));
	set_up(&w, NP_REPORT_LATENCY, 60);
	for (size_t i = 0; i < 4 * NP_HIST_BINS; i++) {
		size_t bin = i * 67 % NP_HIST_BINS;
		double sec = bin ? np_hist_edge(bin) * 1.01 : 1e-8;

		np_window_add(&w, 0.1, sec);
		np_moments_add(&all, sec);
		want[bin]++;
	}
	np_window_flush(&w);
	T_CHECK(n_got > 4 && n_got < MAX_GOT);
	for (size_t i = 0; i < n_got; i++) {
		uint64_t n = 0;

		T_CHECK(got[i].window.at_sec == 0);
		for (size_t b = 0; b < got[i].window.n_bins; b++) {
			sum[got[i].window.bins[b].bin] +=
				got[i].window.bins[b].count;
			n += got[i].window.bins[b].count;
		}
		T_CHECK(n == got[i].window.sec.n);
		np_moments_merge(&parts, &got[i].window.sec);
	}
	T_CHECK(!memcmp(sum, want, sizeof(sum)));
	T_CHECK(parts.n == all.n && t_close(parts.mean, all.mean, 1e-9));
	T_CHECK(t_close(parts.m2, all.m2, 1e-9));
}
