/* Queueing networks in files. */
#include "t.h"
#include "alloc.h"
#include "np_network.h"

#define HEAD "{\"format\":\"netprof-qn\",\"schema\":1,"
#define ONE "\"classes\":[{\"name\":\"c\",\"customers\":3}],"
#define TWO \
	"\"classes\":[{\"name\":\"a\",\"customers\":3}," \
	"{\"name\":\"b\",\"customers\":4,\"think_sec\":2.5}],"
#define AT(members) "\"stations\":[{\"name\":\"s\"," members "}]}"

static const char whole[] = HEAD
	"\"name\":\"all\",\"note\":[1]," TWO
	"\"stations\":[{\"name\":\"q\",\"kind\":\"queueing\","
	"\"visits\":[1,2],\"service_sec\":[0.5,0.25],\"note\":\"x\"},"
	"{\"name\":\"m\",\"kind\":\"multi-server\",\"servers\":8,"
	"\"visits\":3,\"service_sec\":0.5},"
	"{\"name\":\"d\",\"kind\":\"delay\",\"demand_sec\":[0,1e-3]}]}";

T_TEST("all that a network has is read")
{
	struct np_network n;
	const struct np_qn_station *st;

	T_CHECK(!np_network_parse(whole, strlen(whole), "f", &n, NULL));
	st = n.net.station;
	T_CHECK(!strcmp(n.name, "all"));
	T_CHECK(n.net.n_classes == 2 && n.net.n_stations == 3);
	T_CHECK(n.net.class[1].customers == 4);
	T_CHECK(n.net.class[0].think_sec == 0);
	T_CHECK(n.net.class[1].think_sec == 2.5);
	T_CHECK(st[0].kind == NP_QN_QUEUE && st[0].servers == 1);
	T_CHECK(st[0].visits[1] == 2 && st[0].service_sec[1] == 0.25);
	T_CHECK(st[1].servers == 8 && st[1].visits[1] == 3);
	T_CHECK(st[1].service_sec[0] == 0.5 && st[1].service_sec[1] == 0.5);
	T_CHECK(st[2].kind == NP_QN_DELAY && st[2].visits[0] == 1);
	T_CHECK(st[2].service_sec[1] == 1e-3);
	np_network_free(&n);
}

T_TEST("service may depend on the load")
{
	static const char text[] =
		HEAD ONE AT("\"kind\":\"load-dependent\","
			    "\"visits\":2,\"service_sec\":[1,0.5,0.25]");
	struct np_network n;

	T_CHECK(!np_network_parse(text, strlen(text), "f", &n, NULL));
	T_CHECK(n.net.station[0].kind == NP_QN_LOADED);
	T_CHECK(n.net.station[0].n_loads == 3);
	T_CHECK(n.net.station[0].at_load_sec[2] == 0.25);
	T_CHECK(np_qn_demand(&n.net, 0, 0) == 2);
	T_CHECK(!n.name);
	np_network_free(&n);
}

static const struct {
	const char *name, *text, *said;
	int rc;
} refused[] = {
	{ "nothing", "", "f: damaged at byte 0", -EINVAL },
	{ "damage in the third line", "{\n \"schema\": 1,\n}\n",
	  "f:3: damaged at byte", -EINVAL },
	{ "an end in the second line", "{\n \"schema\": 1,\n",
	  "f:2: damaged at byte 16: it ends too early", -EINVAL },
	{ "half a file", HEAD "\"classes\":[", "it ends too early", -EINVAL },
	{ "no object", "[1]", "f: expected a JSON object", -EINVAL },
	{ "another format", "{\"schema\":1,\"format\":\"x\"}",
	  "f: format: expected \"netprof-qn\"", -EINVAL },
	{ "no schema", "{}", "schema: expected a value", -EINVAL },
	{ "a newer schema", "{\"schema\":2}", "schema 2 is newer than 1",
	  -EPROTONOSUPPORT },
	{ "no classes", HEAD AT(""), "damaged", -EINVAL },
	{ "classes are missing", HEAD "\"stations\":[]}",
	  "classes: expected an array of one or more", -EINVAL },
	{ "classes are no array", HEAD "\"classes\":3}",
	  "classes: expected an array", -EINVAL },
	{ "a class that is no object", HEAD "\"classes\":[3]}",
	  "classes[0]: expected an object", -EINVAL },
	{ "a class without name", HEAD "\"classes\":[{\"customers\":1}]}",
	  "classes[0].name: expected a text, got none", -EINVAL },
	{ "a name that is empty", HEAD "\"classes\":[{\"name\":\"\"}]}",
	  "classes[0].name: expected a text that is not empty", -EINVAL },
	{ "customers are missing", HEAD "\"classes\":[{\"name\":\"c\"}]}",
	  "classes[0].customers: expected a whole number", -EINVAL },
	{ "half a customer",
	  HEAD "\"classes\":[{\"name\":\"c\","
	       "\"customers\":2.5}]}",
	  "customers: expected a whole number", -EINVAL },
	{ "a negative number of customers",
	  HEAD "\"classes\":[{\"name\":\"c\","
	       "\"customers\":-1}]}",
	  "customers: got -1, expected 0 to 1000000000", -EINVAL },
	{ "negative think time",
	  HEAD "\"classes\":[{\"name\":\"c\","
	       "\"customers\":1,\"think_sec\":-2}]}",
	  "think_sec: got -2", -EINVAL },
	{ "an unknown member of a station",
	  HEAD "\"classes\":[{\"name\":\"c\","
	       "\"costumers\":1}]}",
	  "classes[0].costumers: expected one of name, customers, think_sec",
	  -EINVAL },
	{ "an unknown member of the network", HEAD "\"nodes\":3}",
	  "nodes: expected one of format", -EINVAL },
	{ "an unknown kind", HEAD ONE AT("\"kind\":\"queue\""),
	  "stations[0].kind: expected queueing, multi-server, delay or load",
	  -EINVAL },
	{ "no kind", HEAD ONE AT("\"demand_sec\":1"),
	  "stations[0].kind: expected", -EINVAL },
	{ "servers are missing",
	  HEAD ONE AT("\"kind\":\"multi-server\","
		      "\"demand_sec\":1"),
	  "stations[0].servers: expected a whole number", -EINVAL },
	{ "no server",
	  HEAD ONE AT("\"kind\":\"multi-server\",\"servers\":0,"
		      "\"demand_sec\":1"),
	  "servers: got 0, expected 1 to 1000000", -EINVAL },
	{ "too many servers",
	  HEAD ONE AT("\"kind\":\"multi-server\",\"servers\":1000001,"
		      "\"demand_sec\":1"),
	  "servers: got 1000001, expected 1 to 1000000", -EINVAL },
	{ "servers of a delay",
	  HEAD ONE AT("\"kind\":\"delay\",\"servers\":2,"
		      "\"demand_sec\":1"),
	  "servers: expected only with the kind multi", -EINVAL },
	{ "no service", HEAD ONE AT("\"kind\":\"delay\""),
	  "service_sec: expected this or demand_sec, got neither", -EINVAL },
	{ "demand and service",
	  HEAD ONE AT("\"kind\":\"delay\","
		      "\"demand_sec\":1,\"service_sec\":1"),
	  "demand_sec: expected no service_sec with it", -EINVAL },
	{ "demand and visits",
	  HEAD ONE AT("\"kind\":\"delay\","
		      "\"demand_sec\":1,\"visits\":1"),
	  "demand_sec: expected no visits with it", -EINVAL },
	{ "one service too many",
	  HEAD TWO AT("\"kind\":\"delay\","
		      "\"demand_sec\":[1,2,3]"),
	  "stations[0].demand_sec: expected a "
	  "number, or an array with one for each class",
	  -EINVAL },
	{ "a negative one among them",
	  HEAD TWO AT("\"kind\":\"delay\","
		      "\"demand_sec\":[1,-2]"),
	  "stations[0].demand_sec[1]: got -2", -EINVAL },
	{ "a word among them",
	  HEAD TWO AT("\"kind\":\"delay\","
		      "\"visits\":\"x\",\"service_sec\":1"),
	  "stations[0].visits: expected a number", -EINVAL },
	{ "no loads",
	  HEAD ONE AT("\"kind\":\"load-dependent\","
		      "\"demand_sec\":[]"),
	  "demand_sec: got 0, expected 1 to 100000", -EINVAL },
	{ "service of 0 at a load",
	  HEAD ONE AT("\"kind\":\"load-dependent\","
		      "\"demand_sec\":[1,0]"),
	  "f: s: service time 0 with 2 customers", -EINVAL },
	{ "infinite throughput", HEAD ONE "\"stations\":[]}",
	  "f: c: neither demand nor think time", -EINVAL },
	{ "two of one name",
	  HEAD "\"classes\":[{\"name\":\"c\","
	       "\"customers\":1},{\"name\":\"c\",\"customers\":1}]}",
	  "two classes \"c\"", -EINVAL },
	{ "two stations of one name",
	  HEAD ONE "\"stations\":["
		   "{\"name\":\"s\",\"kind\":\"delay\",\"demand_sec\":1},"
		   "{\"name\":\"s\",\"kind\":\"delay\",\"demand_sec\":1}]}",
	  "two stations \"s\"", -EINVAL },
};

T_TEST("errors say what is wrong and where")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_network n;

		T_ROW(r->name, np_network_parse(r->text, strlen(r->text), "f",
						&n, &err) == r->rc);
		if (!strstr(err.text, r->said))
			printf("\n%s: %s", r->name, err.text);
		T_ROW(r->name, strstr(err.text, r->said));
	}
}

/* Each with %s in place of a number. */
static const struct {
	const char *key, *text;
} numbers[] = {
	{ "schema", "{\"format\":\"netprof-qn\",\"schema\":%s," ONE AT(
			    "\"kind\":\"delay\",\"demand_sec\":1") },
	{ "customers",
	  HEAD "\"classes\":[{\"name\":\"c\",\"customers\":%s}]," AT(
		  "\"kind\":\"delay\",\"demand_sec\":1") },
	{ "think_sec", HEAD
	  "\"classes\":[{\"name\":\"c\",\"customers\":3,"
	  "\"think_sec\":%s}]," AT("\"kind\":\"delay\",\"demand_sec\":1") },
	{ "arrivals_per_sec",
	  HEAD "\"classes\":[{\"name\":\"c\","
	       "\"arrivals_per_sec\":%s}]," AT(
		       "\"kind\":\"delay\",\"demand_sec\":1") },
	{ "servers", HEAD ONE AT("\"kind\":\"multi-server\",\"servers\":%s,"
				 "\"demand_sec\":1") },
	{ "visits", HEAD ONE AT("\"kind\":\"delay\",\"visits\":%s,"
				"\"service_sec\":1") },
	{ "service_sec", HEAD ONE AT("\"kind\":\"delay\",\"service_sec\":%s") },
	{ "demand_sec", HEAD ONE AT("\"kind\":\"delay\",\"demand_sec\":%s") },
	{ "demand_sec[1]", HEAD TWO AT("\"kind\":\"delay\","
				       "\"demand_sec\":[1,%s]") },
	{ "service_sec[2]", HEAD ONE AT("\"kind\":\"load-dependent\","
					"\"service_sec\":[1,2,%s]") },
};

T_TEST("what is no number is refused in every field")
{
	static const char *const values[] = {
		"-1", "0x10", "1e400", "nan",  "NaN",  "Infinity", "-Infinity",
		"",   "5x",   "\"5\"", "true", "null", "[]",	   "{}",
	};

	T_EACH(r, numbers)
		for (size_t k = 0; k < NP_ARRAY_SIZE(values); k++) {
			struct np_err err = NP_ERR_INIT;
			struct np_network n;
			const char *row = t_text("%s: %s", r->key, values[k]);
			const char *text = t_text(r->text, values[k]);

			T_ROW(row, np_network_parse(text, strlen(text), "f", &n,
						    &err) == -EINVAL);
			T_ROW(row,
			      !strncmp(err.text, "f: ", 3) &&
				      (strstr(err.text, r->key) ||
				       strstr(err.text, "damaged at byte")));
		}
}

T_TEST("files are bounded, and only files are read")
{
	struct np_err err = NP_ERR_INIT;
	size_t len = NP_NETWORK_MAX_ELEMENTS + 100;
	char *commas = malloc(len);
	struct np_network n;

	memset(commas, ',', len);
	commas[0] = '[';
	T_CHECK(np_network_parse(commas, len, "f", &n, &err) == -EFBIG);
	T_CHECK(strstr(err.text, "262144 commas"));
	T_CHECK(np_network_load("/dev/zero", &n, &err) == -EINVAL);
	T_CHECK(!strcmp(err.text, "/dev/zero: not a regular file"));
	T_CHECK(np_network_load("/nonexistent", &n, &err) == -ENOENT);
	T_CHECK(strstr(err.text, "/nonexistent: No such file"));
	free(commas);
}

T_TEST("failed allocations are reported")
{
	for (long nth = 0;; nth++) {
		struct np_network n = { 0 };
		int rc;

		t_alloc_fail(nth);
		rc = np_network_parse(whole, strlen(whole), "f", &n, NULL);
		if (!t_alloc_failed()) {
			T_CHECK(!rc && nth > 10);
			np_network_free(&n);
			return;
		}
		T_CHECK(rc);
		np_network_free(&n);
	}
}
