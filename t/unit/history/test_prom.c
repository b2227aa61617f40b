#include "t.h"
#include "np_prom.h"

static char *nodes[] = { "n0", "n1.rack", "n2" };
#define N 3

T_TEST("names cannot change what a query asks")
{
	static char *evil[] = { "n0", "x\"} or vector(1) #", "n1.rack" };
	struct np_metrics_conf c;
	char *q;

	np_metrics_conf_init(&c);
	q = np_prom_query(&c, "sum by ($label) (rate(m{$nodes}[$window]))",
			  evil, N, 12.5);
	T_CHECK(q && !strcmp(q, "sum by (instance) (rate(m{instance=~\"(n0|"
				"n1\\\\.rack)([.:].*)?\"}[12500ms]))"));
	free(q);
	T_CHECK(!np_prom_query(&c, "m{$nodes}", evil + 1, 1, 1));
}

#define RESULT(type, list) \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\"," \
	"\"result\":[" list "]}}"
#define SERIES(name, values) \
	"{\"metric\":{\"instance\":\"" name "\"}," values "}"

/* clang-format off */
static const struct {
	const char *name, *text;
	int rc;
	double want[N]; /* of the first step */
	const char *message; /* of the message, or the other name */
} responses[] = {
	{ "a value for each node", RESULT("vector",
	  SERIES("n0:9100", "\"value\":[10,\"1.5\"]") ","
	  SERIES("n1.rack:9100", "\"value\":[10,\"2\"]") ","
	  SERIES("n2.cluster:9100", "\"value\":[10,\"3e3\"]")), 0,
	  { 1.5, 2, 3000 }, "" },
	{ "no answer about any", RESULT("vector", ""), 0, { NAN, NAN, NAN },
	  "" },
	{ "values that are none", RESULT("vector",
	  SERIES("n0", "\"value\":[10,\"NaN\"]") ","
	  SERIES("n2", "\"value\":[10,\"+Inf\"]")), 0, { NAN, NAN, NAN },
	  "" },
	{ "nodes that have other names there", RESULT("vector",
	  SERIES("mgmt-n0:9100", "\"value\":[10,\"1\"]")), 0,
	  { NAN, NAN, NAN }, "mgmt-n0:9100" },
	{ "several steps, with gaps", RESULT("matrix", SERIES("n0",
	  "\"values\":[[10,\"1\"],[30,\"3\"],[99,\"9\"],[-5,\"7\"]]")), 0,
	  { 1, NAN, NAN }, "" },
	{ "HTML", "<!DOCTYPE html>", -EINVAL, { 0 }, "s: expected JSON of "
	  "Prometheus' HTTP API, got \"<!DOCTYPE html>\"" },
	{ "a byte-order mark", "\xef\xbb\xbf" RESULT("vector", ""), -EINVAL,
	  { 0 }, "s:1: begins with a byte-order mark (UTF-8), expected text in "
	  "UTF-8 without one" },
	{ "what a proxy packed", "\x1f\x8b\x08", -EINVAL, { 0 },
	  "s:1: expected text, got gzip data" },
	{ "nothing", "", -EINVAL, { 0 }, "s: expected JSON of Prometheus' "
	  "HTTP API, got \"\"" },
	{ "JSON of somebody else", "{\"a\":1}", -EINVAL, { 0 }, "s: JSON "
	  "without a status: expected a response of Prometheus' HTTP "
	  "API" },
	{ "an error that the server names",
	  "{\"status\":\"error\",\"error\":\"bad query\"}", -EINVAL, { 0 },
	  "s: the server reports: bad query" },
	{ "an error without a message",
	  "{\"status\":\"error\",\"error\":null}", -EINVAL, { 0 },
	  "s: the server reports: an error without a message" },
	{ "no error", "{\"status\":\"success\",\"error\":null,\"data\":{"
	  "\"result\":[" SERIES("n0", "\"value\":[10,\"1\"]") "]}}", 0,
	  { 1, NAN, NAN }, "" },
	{ "a time that is none", RESULT("matrix", SERIES("n0",
	  "\"values\":[[10,\"1\"],[\"20\",\"2\"]]")), -EINVAL, { 0 },
	  "s: a time that is not a number: expected a response of "
	  "Prometheus' HTTP API" },
	{ "no time", RESULT("vector", SERIES("n0",
	  "\"value\":[null,\"1\"]")), -EINVAL, { 0 }, "s: a time that is not a "
	  "number: expected a response of Prometheus' HTTP API" },
	{ "damaged JSON", "{\"status\":", -EINVAL, { 0 }, NULL },
	{ "a sample that is none", RESULT("vector",
	  SERIES("n0", "\"value\":[10]")), -EINVAL, { 0 }, NULL },
	{ "a number that is none", RESULT("vector",
	  SERIES("n0", "\"value\":[10,\"x\"]")), -EINVAL, { 0 }, NULL },
	{ "no labels", RESULT("vector", "{\"value\":[10,\"1\"]}"), -EINVAL,
	  { 0 }, NULL },
	{ "another label", RESULT("vector",
	  "{\"metric\":{\"host\":\"n0\"},\"value\":[10,\"1\"]}"), 0,
	  { NAN, NAN, NAN }, "" },
};
/* clang-format on */

T_TEST("responses, right and wrong")
{
	const struct np_prom_range r = {
		.start = 10,
		.step_sec = 10,
		.n_steps = 3,
	};

	T_EACH(row, responses) {
		char other[NP_METRICS_LABEL];
		struct np_err err = NP_ERR_INIT;
		double v[N * 3];
		int rc = np_prom_parse(row->text, strlen(row->text), "s",
				       "instance", nodes, N, &r, v, other,
				       &err);

		T_ROW(row->name, rc == row->rc);
		T_ROW(row->name, !rc == !err.text[0]);
		T_ROW(row->name, !row->message || !strcmp(rc ? err.text : other,
							  row->message));
		for (size_t k = 0; !rc && k < N; k++)
			T_ROW(row->name, isnan(row->want[k]) ?
						 isnan(v[3 * k]) :
						 v[3 * k] == row->want[k]);
		if (!strcmp(row->name, "several steps, with gaps"))
			T_ROW(row->name, isnan(v[1]) && v[2] == 3);
	}
}

T_TEST("a node that is asked about twice")
{
	static char *same[] = { "n0", "n0" };
	const struct np_prom_range r = { .n_steps = 1 };
	struct np_err err = NP_ERR_INIT;
	char other[NP_METRICS_LABEL];
	double v[2];

	T_CHECK(np_prom_parse("{}", 2, "s", "instance", same, 2, &r, v, other,
			      &err) == -EINVAL);
}

static const struct {
	const char *name, *key, *value;
	int rc;
} keys[] = {
	{ "an address", "url", "http://mon:9090/", 0 },
	{ "with TLS", "url", "https://mon.example.org/prom", 0 },
	{ "no server", "url", "none", 0 },
	{ "no address", "url", "mon:9090", -EINVAL },
	{ "another protocol", "url", "file:///etc/passwd", -EINVAL },
	{ "a blank in it", "url", "http://mon 9090", -EINVAL },
	{ "a label", "label", "nodename", 0 },
	{ "a label that would end the query", "label", "a\"}", -EINVAL },
	{ "tables in an order", "table", "infiniband,node_exporter", 0 },
	{ "a table that is none", "table", "ganglia", -EINVAL },
	{ "a metric of the site", "metric",
	  "traffic:sum by ($label) (rate(x{$nodes}[$window]))", 0 },
	{ "a signal that is none", "metric", "temper:x{$nodes}", -EINVAL },
	{ "an expression about all nodes", "metric", "traffic:rate(x[1m])",
	  -EINVAL },
	{ "no expression", "metric", "traffic", -EINVAL },
};

T_TEST("the keys of netprof.conf")
{
	T_EACH(r, keys) {
		struct np_metrics_conf c;
		char v[128];
		int rc;

		np_metrics_conf_init(&c);
		strcpy(v, r->value);
		rc = !strcmp(r->key, "url") ?
			     np_metrics_set_url(v, c.url, NULL) :
		     !strcmp(r->key, "label") ?
			     np_metrics_set_label(v, c.label, NULL) :
		     !strcmp(r->key, "table") ?
			     np_metrics_set_tables(v, &c, NULL) :
			     np_metrics_add(v, &c, NULL);
		T_ROW(r->name, rc == r->rc);
	}
}

T_TEST("tables for exporters")
{
	struct np_metrics_conf c;
	char ib[] = "infiniband,node_exporter";

	np_metrics_conf_init(&c);
	T_CHECK(strstr(np_metrics_expression(&c, NP_SIGNAL_TRAFFIC),
		       "node_network_receive_bytes_total"));
	T_CHECK(!np_metrics_expression(&c, NP_SIGNAL_CONGESTION));
	T_CHECK(!np_metrics_set_tables(ib, &c, NULL));
	T_CHECK(strstr(np_metrics_expression(&c, NP_SIGNAL_TRAFFIC),
		       "node_infiniband_port_data_received"));
	T_CHECK(strstr(np_metrics_expression(&c, NP_SIGNAL_CPU_WAIT),
		       "node_pressure_cpu"));
	for (int s = 0; s < NP_N_SIGNALS; s++)
		T_CHECK(!np_metrics_expression(&c, (enum np_signal)s) ||
			strstr(np_metrics_expression(&c, (enum np_signal)s),
			       "$nodes"));
}
