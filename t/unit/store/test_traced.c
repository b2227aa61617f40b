/* The stored analysis of a trace: saved, loaded, and refused if it is damaged. */
#include "t.h"
#include "np_trace_analysis.h"

#include <sys/stat.h>

#include "np_array.h"

static struct np_trace_threshold thresholds[NP_TRACE_THRESHOLDS] = {
	{ 0.01, 1.25e-6 },
	{ 0.02, 3e-6 },
	{ 0.05, NAN },
};
static struct np_response response;

static struct np_trace_analysis some_analysis(void)
{
	for (size_t k = 0; k < NP_RESPONSE_GAPS; k++)
		for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
			response.times[k][i] = 1 + (double)(k + i) / 3;
	return (struct np_trace_analysis){
		.date = 1732158000,
		.netprof_version = "0.1.0",
		.why = "",
		.trace_bytes = 5,
		.net = { .L_ns = 1500.1,
			 .o_ns = 1. / 3,
			 .G_ns = 0.1,
			 .S = 8192,
			 .first_byte_free = true,
			 .O_ns = 0.01 },
		.threshold = thresholds,
		.n_thresholds = NP_TRACE_THRESHOLDS,
		.times = response.times[0],
		.n_times = sizeof(response.times) / sizeof(double),
	};
}

T_TEST("an analysis is loaded as it was saved")
{
	struct np_trace_analysis saved = some_analysis(), loaded;
	struct np_response back;
	const char *dir = t_path("7.0.trace");

	T_CHECK(np_trace_analysis_load(dir, geteuid(), &loaded) == -ENOENT);
	T_CHECK(np_trace_analysis_save(dir, &saved) == -EACCES); /* no trace */
	T_CHECK(!mkdir(dir, 0755) && !np_trace_analysis_save(dir, &saved));
	T_CHECK(np_trace_analysis_load(dir, geteuid() + 1, &loaded) == -EACCES);
	T_CHECK(!np_trace_analysis_load(dir, geteuid(), &loaded));
	T_CHECK(np_trace_analysis_fits(&loaded, 5, &saved.net) && !*loaded.why);
	T_CHECK(loaded.n_thresholds == NP_TRACE_THRESHOLDS &&
		loaded.threshold[1].added_sec == 3e-6 &&
		isnan(loaded.threshold[2].added_sec));
	T_CHECK(np_trace_analysis_response(&loaded, &back) &&
		!memcmp(&back, &response, sizeof(back)));
	np_trace_analysis_free(&loaded);
	T_CHECK(np_trace_analysis_save("/nowhere/7.0.trace", &saved) ==
		-EACCES);
	T_CHECK(np_trace_analysis_save("graph.goal", &saved) < 0);
}

T_TEST("a network without rendezvous is loaded as such")
{
	struct np_trace_analysis saved = some_analysis(), loaded;
	char *text;

	saved.net.S = NP_LOGGPS_NO_RENDEZVOUS;
	T_CHECK(!np_trace_analysis_put(&saved, &text, NULL));
	T_CHECK(!np_trace_analysis_get(text, strlen(text), "f", &loaded, NULL));
	T_CHECK(np_trace_analysis_fits(&loaded, 5, &saved.net));
	np_trace_analysis_free(&loaded);
	free(text);
}

static const struct {
	const char *name;
	double bytes;
	struct np_loggps net;
} others[] = {
	{ "a trace that has grown", 6, { 1, 1, 1, 1, true, 0 } },
	{ "another latency", 5, { 2, 1, 1, 1, true, 0 } },
	{ "another overhead", 5, { 1, 2, 1, 1, true, 0 } },
	{ "another bandwidth", 5, { 1, 1, 2, 1, true, 0 } },
	{ "another rendezvous", 5, { 1, 1, 1, 2, true, 0 } },
	{ "a first byte that costs", 5, { 1, 1, 1, 1, false, 0 } },
	{ "another gap", 5, { 1, 1, 1, 1, true, 1 } },
	{ "another overhead per byte", 5, { 1, 1, 1, 1, true, 0, 1 } },
};

T_TEST("an analysis of another trace or network is not used")
{
	struct np_trace_analysis t = { .trace_bytes = 5,
				       .net = { 1, 1, 1, 1, true, 0 } };

	T_CHECK(np_trace_analysis_fits(&t, 5, &t.net));
	T_EACH(r, others)
		T_ROW(r->name, !np_trace_analysis_fits(&t, r->bytes, &r->net));
}

static const struct {
	const char *name, *text, *message;
} bad[] = {
	{ "no JSON", "{", "" },
	{ "a newer schema", "{\"schema\":2}", "schema" },
	{ "no date", "{\"schema\":1,\"trace_bytes\":1}", "date" },
	{ "a negative latency",
	  "{\"schema\":1,\"date\":1,\"trace_bytes\":1,"
	  "\"net\":{\"L_ns\":-1,\"o_ns\":0,\"G_ns\":0}}",
	  "net.L_ns" },
	{ "two thresholds",
	  "{\"schema\":1,\"date\":1,\"trace_bytes\":1,"
	  "\"zones\":[{\"longer\":1},{\"longer\":2}]}",
	  "zones" },
	{ "an incomplete curve",
	  "{\"schema\":1,\"date\":1,\"trace_bytes\":1,"
	  "\"times\":[1,2]}",
	  "times" },
	{ "a time below 0",
	  "{\"schema\":1,\"date\":1,\"trace_bytes\":1,"
	  "\"times\":[-1]}",
	  "times" },
};

T_TEST("damaged text is rejected, and the message names the member")
{
	T_EACH(row, bad) {
		struct np_err err = NP_ERR_INIT;
		struct np_trace_analysis r;

		T_ROW(row->name,
		      np_trace_analysis_get(row->text, strlen(row->text), "f",
					    &r, &err) < 0);
		T_ROW(err.text, !strncmp(err.text, "f:", 2) &&
					strstr(err.text, row->message));
	}
}
