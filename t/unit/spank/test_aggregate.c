#include "t.h"
#include "np_reports.h"

static struct np_record *r;
static struct np_aggregate *f;

static int impact(const char *line)
{
	struct np_report rep;

	T_ROW(line, np_report_parse(line, &rep) == 0);
	return np_aggregate_probe_report(f, &rep);
}

static void begin(void)
{
	r = np_record_new();
	f = np_aggregate_new(r);
}

static void end(void)
{
	np_aggregate_free(f);
	np_record_free(r);
}

T_TEST("reports of two leaves become one record")
{
	begin();
	T_CHECK(!np_aggregate_probes_state(f).all_started);
	T_CHECK(impact("np1 hello 0 4 n0 leaf0 n1 tcp/eth0 1.13.1") == 0);
	T_CHECK(!np_aggregate_probes_state(f).all_started);
	T_CHECK(impact("np1 hello 1 4 n1 leaf0 - tcp/eth0 1.13.1") == 0);
	T_CHECK(impact("np1 hello 2 4 n4 leaf1 n5 tcp/eth0 1.13.1") == 0);
	T_CHECK(impact("np1 lat 0 1.0 2 1.5e-05 5e-11 1e-05 2e-05 "
		       "51:1,58:1") == 0);
	T_CHECK(impact("np1 lat 2 3.0 1 1e-05 0 1e-05 1e-05 51:1") == 0);
	T_CHECK(impact("np1 cost 0 0.25 10 40 1000") == 0);
	T_CHECK(impact("np1 cost 1 0.5 10 20 3000") == 0);
	T_CHECK(impact("np1 cost 1 0.25 10 10 2000") == 0);
	T_CHECK(impact("np1 bye 0") == 0);
	T_CHECK(r->n_leaves == 2 && r->leaves[0].n_pairs == 1 &&
		r->leaves[1].n_pairs == 1);
	T_CHECK(r->leaves[0].latency.n == 2 && r->leaves[1].latency.n == 1);
	T_CHECK(np_hist_count(r->leaves[0].hist, 58) == 1);
	T_CHECK(r->leaves[1].windows->n == 4 &&
		r->leaves[1].windows->w[3].n == 1);
	T_CHECK(r->probe.n_processes == 3 && r->probe.messages == 70);
	T_CHECK(r->probe.cpu_sec_max == 0.75 && r->probe.cpu_sec_sum == 1.0);
	T_CHECK(r->probe.rss_bytes_max == 3000);
	T_CHECK(r->probe.elapsed_sec == 20);
	T_CHECK(!strcmp(r->probe.transport, "tcp/eth0"));
	T_CHECK(np_aggregate_probes_state(f).n_finished == 1);
	T_CHECK(!np_aggregate_probes_state(f).all_started);
	T_CHECK(impact("np1 hello 3 4 n5 leaf1 - tcp/eth0 1.13.1") == 0);
	T_CHECK(np_aggregate_probes_state(f).all_started);
	end();
}

static const struct {
	const char *name, *line;
} dropped[] = {
	{ "a report from a rank that sent no hello",
	  "np1 lat 1 0 1 1e-5 0 1e-5 1e-5 51:1" },
	{ "a rank out of range", "np1 bye 9" },
	{ "a second hello", "np1 hello 0 2 n0 leaf0 n1 tcp/eth0 1.13.1" },
	{ "rounds from a probe", "np1 round 0 0 1 1e-5 0 1e-5 1e-5" },
};

T_TEST("reports that do not fit are dropped")
{
	begin();
	T_CHECK(impact("np1 hello 0 2 n0 leaf0 n1 tcp/eth0 1.13.1") == 0);
	T_EACH(row, dropped)
		T_ROW(row->name, impact(row->line) < 0);
	T_CHECK(r->leaves[0].latency.n == 0);
	end();
}

/* A process that has no path yet to its peer knows no transport. */
T_TEST("the transport is that of the first process that knows it")
{
	begin();
	T_CHECK(impact("np1 hello 0 3 n0 leaf0 n1 - -") == 0);
	T_CHECK(!r->probe.transport && !r->ucx_version);
	T_CHECK(impact("np1 hello 1 3 n1 leaf0 - tcp/eth0 1.13.1") == 0);
	T_CHECK(impact("np1 hello 2 3 n2 leaf0 - - -") == 0);
	T_CHECK(r->probe.transport && !strcmp(r->probe.transport, "tcp/eth0"));
	T_CHECK(r->ucx_version && !strcmp(r->ucx_version, "1.13.1"));
	end();
}
