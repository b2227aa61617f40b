#include "t.h"
#include "np_fabric_store.h"
#include "some_store.h"

#include <json-c/json.h>
#include <sys/stat.h>

#define DAY 86400.0
#define DATE 1732158000.0 /* 20241121T030000Z */

#define HEAD "{\"format\":\"netprof-pairs\",\"schema\":1,\"programs\":[]"
#define LEVELS \
	HEAD ",\"levels\":[{\"name\":\"c1\",\"partners\":1," \
	     "\"messages\":2,\"pause_sec\":0.06,\"bytes\":40960},\"c4\",\"odd\"]"

/* A whole calibration; free() it. */
static char *some_json(const char *scope, double date)
{
	char *text;

	if (asprintf(&text,
		     LEVELS
		     ",\"cluster\":\"hpc\",\"date\":%.0f,"
		     "\"transport\":\"tcp/eth0\",\"message_bytes\":1024,"
		     "\"period_sec\":0.1,\"scope\":\"%s\",\"netprof_version\":"
		     "\"0.1.0\",\"victim_nodes\":\"n[0-3]\","
		     "\"level_alone_round_sec\":[{\"n\":3,\"mean\":0.002,"
		     "\"sd\":1e-5},null,0.1],\"level_beside_level\":[[0.1,{\"n\":3,\"mean\":0.2,"
		     "\"sd\":0.01},null],[0.3,0.4,0.5],[0.6,0.7,0.8]],"
		     "\"leaves\":[{\"name\":\"leaf0\",\"idle\":{\"n\":2,"
		     "\"mean_sec\":1.1e-5,\"sd_sec\":1e-6,\"min_sec\":1e-5,"
		     "\"max_sec\":1.2e-5,\"bins\":[[51,1],[53,1]]}},"
		     "{\"name\":\"leaf1\"}],\"coupling\":{\"uplink\":0.25},"
		     "\"probes\":{\"idle\":{\"n\":1,\"mean_sec\":1e-5,"
		     "\"min_sec\":1e-5,\"bins\":[[51,1]]}},\"unknown\":[7]}",
		     date, scope) < 0)
		abort();
	return text;
}

static int save(struct np_store *s, const char *cluster, const char *scope,
		double date)
{
	char *text = some_json(scope, date);
	struct np_err err = NP_ERR_INIT;
	int rc = np_fabric_store_save(s, cluster, date, text, &err);

	if (rc)
		printf("\n    %s\n", err.text);
	free(text);
	return rc;
}

T_FIXTURE(t_store_begin, t_store_end);

T_TEST("what is saved is loaded again")
{
	struct np_calibration c;
	char path[1024];
	struct stat st;

	T_CHECK(save(t_store, "hpc", "node", DATE) == 0);
	T_CHECK(np_fabric_store_load(t_store, "hpc", NULL, &c, NULL) == 0);
	T_CHECK(c.date == DATE && !strcmp(c.cluster, "hpc") &&
		!strcmp(c.transport, "tcp/eth0") && c.message_bytes == 1024 &&
		c.period_sec == 0.1 && !strcmp(c.netprof_version, "0.1.0"));
	T_CHECK(c.scope == NP_SCOPE_NODE &&
		!strcmp(np_scope_name(c.scope), "node"));
	T_CHECK(c.fabric->n_levels == 3 && c.fabric->pairs[1].n == 3 &&
		!c.fabric->pairs[2].n && c.fabric->pairs[5].mean == 0.5);
	T_ROW("how long each level's round takes alone, and on how many nodes",
	      c.n_alone_nodes == 4 && c.alone_round_sec[0].n == 3 &&
		      c.alone_round_sec[0].mean == 0.002 &&
		      !c.alone_round_sec[1].n &&
		      c.alone_round_sec[2].mean == 0.1);
	T_CHECK(c.fabric->idle.all.n == 1 &&
		c.fabric->bins == &c.measured.set->bins);
	T_ROW("the scope of the curves has sharing coefficient 1",
	      c.fabric->sharing[NP_SCOPE_NODE].mean == 1 &&
		      !c.fabric->sharing[NP_SCOPE_LEAF].n &&
		      c.fabric->sharing[NP_SCOPE_UPLINK].mean == 0.25);
	T_CHECK(c.level[0].messages == 2 && c.level[0].pause_sec == 0.06);
	T_ROW("a level without numbers is what its name says",
	      c.level[1].peers == np_levels[4].peers && c.level[2].peers == 0 &&
		      !strcmp(c.level[2].name, "odd"));
	T_CHECK(c.n_leaves == 2 && !strcmp(c.leaf[1].name, "leaf1") &&
		c.leaf[0].idle.count[53] == 1 && !c.leaf[1].idle.all.n);
	snprintf(path, sizeof(path), "%s/fabric/hpc/20241121T030000Z.json",
		 t_store_dir);
	T_CHECK(!strcmp(c.path, path));
	T_CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0644);
	snprintf(path, sizeof(path), "%s/fabric/hpc", t_store_dir);
	T_CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0755);
	np_calibration_free(&c);
}

T_TEST("a new calibration of any cluster makes the state uncertain")
{
	T_CHECK(np_fabric_store_state(t_store) != 0);
	T_CHECK(save(t_store, "hpc", "leaf", DATE) == 0);
	T_CHECK(np_fabric_store_state(t_store) == 0);
}

T_TEST("the newest of the cluster and scope counts")
{
	static const struct {
		const char *name, *cluster, *scope;
		double want; /* days after DATE; -1: none */
	} rows[] = {
		{ "the newest", "hpc", "node", 3 },
		{ "of the scope asked for", "hpc", "leaf", 2 },
		{ "leaf before node", "hpc", NULL, 2 },
		{ "of another cluster", "xpc", NULL, 1 },
		{ "of any cluster", NULL, NULL, 2 },
		{ "of any cluster, by the empty name", "", "node", 3 },
		{ "no such cluster", "ypc", NULL, -1 },
		{ "no such scope", "xpc", "node", -1 },
	};
	struct np_calibration c;

	T_CHECK(np_fabric_store_load(t_store, NULL, NULL, &c, NULL) == -ENOENT);
	save(t_store, "hpc", "leaf", DATE);
	save(t_store, "hpc", "leaf", DATE + 2 * DAY);
	save(t_store, "hpc", "node", DATE + 3 * DAY);
	save(t_store, "xpc", "leaf", DATE + DAY);
	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		int rc = np_fabric_store_load(t_store, r->cluster, r->scope, &c,
					      &err);

		if (r->want < 0) {
			T_ROW(r->name, rc == -ENOENT && err.text[0]);
			continue;
		}
		T_ROW(r->name, rc == 0 && c.date == DATE + r->want * DAY &&
				       !c.n_skipped);
		np_calibration_free(&c);
	}
}

/* As some_json(), on this rail and device. */
static void save_of(struct np_store *s, const char *rail, char device,
		    const char *scope, double date)
{
	char *text = some_json(scope, date), with[2048];

	snprintf(with, sizeof(with), "{\"rail\":\"%s\",%s", rail, text + 1);
	free(text);
	strstr(with, "eth0")[3] = device;
	T_CHECK(!np_fabric_store_save(s, "hpc", date, with, NULL));
}

T_TEST("each fabric of a cluster has its own calibration")
{
	static const struct {
		const char *name, *rail, *transport, *scope;
		double want; /* days after DATE */
	} rows[] = {
		{ "of a rail", "r0", "tcp/eth1", NULL, 1 },
		{ "of a rail, leaf before node", "r1", NULL, NULL, 2 },
		{ "of a rail and scope", "r1", NULL, "node", 3 },
		{ "a rail without one", "r2", "tcp/eth0", NULL, 2 },
		{ "of a transport", NULL, "tcp/eth0", NULL, 1 },
		{ "a transport without one", NULL, "tcp/eth7", NULL, 2 },
		{ "of any", NULL, NULL, NULL, 2 },
	};

	save_of(t_store, "r0", '0', "leaf", DATE + DAY);
	save_of(t_store, "r1", '1', "leaf", DATE + 2 * DAY);
	save_of(t_store, "r1", '1', "node", DATE + 3 * DAY);
	T_EACH(r, rows) {
		const struct np_fabric_of of = { r->rail, r->transport };
		struct np_calibration c;

		T_ROW(r->name,
		      !np_fabric_store_load_of(t_store, "hpc", r->scope, &of,
					       &c, NULL) &&
			      c.date == DATE + r->want * DAY);
		np_calibration_free(&c);
	}
}

T_TEST("files that cannot be used are skipped and reported")
{
	struct np_err err = NP_ERR_INIT;
	struct np_calibration c;
	char *text;

	save(t_store, "hpc", "leaf", DATE);
	t_fabric_write("20250101T000000Z.json", "{\"format\":");
	text = some_json("leaf", DATE + 9 * DAY);
	text[0] = '[';
	t_fabric_write("20250102T000000Z.json", text);
	free(text);
	t_fabric_write(".hidden.json", "x");
	t_fabric_write("notes.txt", "x");
	t_sh(t_store_dir,
	     "cd fabric/hpc && "
	     "ln -s 20241121T030000Z.json 20250103T000000Z.json && "
	     "mkfifo 20250104T000000Z.json && "
	     "mkdir 20250105T000000Z.json && "
	     "truncate -s 40M 20250106T000000Z.json");
	T_CHECK(np_fabric_store_load(t_store, "hpc", NULL, &c, NULL) == 0);
	T_CHECK(c.date == DATE && c.n_skipped == 6);
	T_ROW("it says why the newest is no use",
	      strstr(c.skipped.text, "20250106T000000Z.json: skipped: 4"));
	np_calibration_free(&c);
	t_sh(t_store_dir, "rm fabric/hpc/20241121*");
	T_CHECK(np_fabric_store_load(t_store, "hpc", NULL, &c, &err) ==
			-ENOENT &&
		strstr(err.text, "no calibration can be used: "));
}

T_TEST("only the owner of the store is trusted")
{
	struct np_store *s = t_store_fresh();
	struct np_err err = NP_ERR_INIT;
	struct np_calibration c;

	if (geteuid() != 0)
		return (void)np_store_close(s); /* chown */
	save(s, "hpc", "leaf", DATE);
	save(s, "hpc", "leaf", DATE + DAY);
	T_CHECK(chown(t_text("%s/fabric/hpc/20241122T030000Z.json",
			     t_store_dir),
		      12345, -1) == 0);
	T_CHECK(np_fabric_store_load(s, "hpc", NULL, &c, &err) == 0 &&
		c.date == DATE && strstr(c.skipped.text, "not trusted here"));
	np_calibration_free(&c);
	T_CHECK(chown(t_text("%s/fabric/hpc", t_store_dir), 12345, -1) == 0);
	T_CHECK(np_fabric_store_load(s, "hpc", NULL, &c, &err) == -EACCES &&
		strstr(err.text, "not trusted"));
	T_CHECK(np_fabric_store_load(s, NULL, NULL, &c, &err) == -ENOENT &&
		strstr(err.text, "not trusted"));
	np_store_close(s);
}

static const struct {
	const char *name, *json;
	int rc;
	const char *text;
} rows[] = {
	{ "least that is accepted", LEVELS "}", 0, "" },
	{ "no levels", HEAD ",\"levels\":[]}", 0, "" },
	{ "empty", "", -EINVAL, "f.json: damaged at byte 0" },
	{ "no format", "{\"programs\":[],\"levels\":[]}", -EINVAL, "format" },
	{ "a newer schema", "{\"format\":\"netprof-pairs\",\"schema\":2}",
	  -EPROTONOSUPPORT, "schema 2 is newer than 1" },
	{ "programs",
	  "{\"format\":\"netprof-pairs\",\"schema\":1,\"programs\":"
	  "[\"a\"],\"levels\":[],\"program_beside_program\":[[1]]}",
	  -EINVAL, "programs" },
	{ "a scope that is not", LEVELS ",\"scope\":\"rack\"}", -EINVAL,
	  "scope: expected node, leaf or uplink" },
	{ "a scope that is null", LEVELS ",\"scope\":[1]}", -EINVAL, "scope" },
	{ "a cluster that is a number", LEVELS ",\"cluster\":1}", -EINVAL,
	  "cluster: expected a text" },
	{ "a date that is text", LEVELS ",\"date\":\"now\"}", -EINVAL, "date" },
	{ "a negative period", LEVELS ",\"period_sec\":-1}", -EINVAL,
	  "period_sec: got -1" },
	{ "messages beyond all", LEVELS ",\"message_bytes\":1e12}", -EINVAL,
	  "message_bytes" },
	{ "leaves that are an object", LEVELS ",\"leaves\":{}}", -EINVAL,
	  "leaves" },
	{ "a leaf that is text", LEVELS ",\"leaves\":[\"leaf0\"]}", -EINVAL,
	  "leaves[0]" },
	{ "a leaf without latencies that are",
	  LEVELS ",\"leaves\":[{\"name\":"
		 "\"l\",\"idle\":{\"n\":0}}]}",
	  -EINVAL, "leaves[0].idle.n: got 0" },
	{ "a level of no peers",
	  HEAD ",\"levels\":[{\"name\":\"x\","
	       "\"partners\":0}]}",
	  -EINVAL, "levels[0].partners: got 0" },
	{ "a level with half its numbers",
	  HEAD ",\"levels\":[{\"name\":\"x\","
	       "\"partners\":1}]}",
	  -EINVAL, "levels[0]: expected partners, messages" },
	{ "a level that cannot be run",
	  HEAD
	  ",\"levels\":[{\"name\":\"x\","
	  "\"partners\":1024,\"messages\":1024,\"bytes\":8,\"pause_sec\":0}]}",
	  -EINVAL, "levels[0]: " },
	{ "a level of a pause without end",
	  HEAD ",\"levels\":[{\"name\":\"x\","
	       "\"partners\":1,\"messages\":1,\"bytes\":8,\"pause_sec\":1e9}]}",
	  -EINVAL, "levels[0].pause_sec: got 1000000000" },
	{ "a table of level pairs that is too small",
	  LEVELS ",\"level_beside_level\":[[1]]}", -EINVAL,
	  "level_beside_level" },
	{ "a loss that noise made a gain",
	  LEVELS ",\"loss\":{\"leaf\":{\"n\":3,"
		 "\"mean\":-0.0003,\"sd\":0.01}}}",
	  0, "" },
	{ "a loss of more than all",
	  LEVELS ",\"loss\":{\"leaf\":{\"n\":3,"
		 "\"mean\":1.5,\"sd\":0.01}}}",
	  -EINVAL, "loss.leaf.mean: got 1.5" },
	{ "a coupling that is no number",
	  LEVELS ",\"coupling\":{\"leaf\":"
		 "NaN}}",
	  -EINVAL, "coupling" },
};

T_TEST("each refusal says where and why")
{
	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		struct np_calibration c = { .path = "" };
		int rc = np_calibration_parse(r->json, strlen(r->json),
					      "f.json", &c, &err);
		int ok = rc == r->rc && strstr(err.text, r->text);

		T_ROW(r->name, ok);
		if (!ok)
			printf("\n    %s: %d %s\n", r->name, rc, err.text);
		if (!rc)
			np_calibration_free(&c);
	}
}

T_TEST("damaged files do no harm")
{
	char *text = some_json("leaf", DATE);
	size_t len = strlen(text), whole = 0;

	for (size_t i = 0; i < len; i++) {
		struct np_calibration c;
		char *bad = malloc(len);
		char was = text[i];

		/* As a buffer of its own, so that a sanitizer sees its end. */
		memcpy(bad, text, i);
		whole += np_calibration_parse(bad, i, "f", &c, NULL) == 0;
		free(bad);
		text[i] = (char)(was ^ 1);
		if (!np_calibration_parse(text, len, "f", &c, NULL))
			np_calibration_free(&c);
		text[i] = was;
	}
	T_ROW("no part is taken for the whole", whole == 0);
	free(text);
}

/* Seeds of what is drawn come from it. */
T_TEST("a fabric is called as its file, wherever that lies")
{
	static const struct {
		const char *name, *json, *path, *want;
	} names[] = {
		{ "its file", LEVELS "}", "/here/f.json", "f.json" },
		{ "a file in the working directory", LEVELS "}", "f.json",
		  "f.json" },
		{ "a name in the file", LEVELS ",\"name\":\"a\"}", "f.json",
		  "a" },
	};

	T_EACH(r, names) {
		struct np_calibration c;

		T_CHECK(!np_calibration_parse(r->json, strlen(r->json), r->path,
					      &c, NULL));
		T_ROW(r->name, !strcmp(c.fabric->name, r->want));
		np_calibration_free(&c);
	}
}

/* Numbers and names to the letter; lines end where json-c's release wants. */
static bool same_json(const char *a, const char *b)
{
	struct json_object *x = json_tokener_parse(a);
	struct json_object *y = json_tokener_parse(b);
	bool same = x && y &&
		    !strcmp(json_object_to_json_string(x),
			    json_object_to_json_string(y));

	json_object_put(x);
	json_object_put(y);
	return same;
}

T_TEST("what is read is written again, to the letter")
{
	char was[4096] = "", *text = NULL;
	FILE *f = fopen(t_data("calibration.json"), "r");
	struct np_calibration c;
	size_t len;

	T_CHECK(f != NULL);
	if (!f)
		return;
	len = fread(was, 1, sizeof(was) - 1, f);
	fclose(f);
	T_CHECK(len > 2000 && len < sizeof(was) - 1);
	T_CHECK(!np_calibration_parse(was, len, "f", &c, NULL));
	T_CHECK(c.n_leaves == 2 && c.n_others == 1 &&
		!strcmp(c.level_nodes, "n2,n3") && c.loss[0].n == 3);
	T_CHECK(!np_calibration_write(&c, &text, NULL));
	T_CHECK(text && same_json(text, was));
	free(text);
	np_calibration_free(&c);
}

T_TEST("what cannot be read is not written")
{
	struct np_err err = NP_ERR_INIT;
	struct np_calibration c;
	char *text = some_json("leaf", DATE);

	T_CHECK(np_fabric_store_save(t_store, "hpc", DATE, "{}", &err) ==
			-EINVAL &&
		err.text[0]);
	T_CHECK(np_fabric_store_save(t_store, "hpc", -1, text, &err) ==
		-EINVAL);
	T_CHECK(np_fabric_store_save(t_store, "hpc", NAN, text, &err) ==
		-EINVAL);
	T_CHECK(np_fabric_store_load(t_store, NULL, NULL, &c, NULL) == -ENOENT);
	/* A cluster's name may hold anything. */
	T_CHECK(np_fabric_store_save(t_store, "../x y", DATE, text, &err) == 0);
	T_CHECK(np_fabric_store_load(t_store, "../x y", NULL, &c, NULL) == 0);
	np_calibration_free(&c);
	T_CHECK(np_fabric_store_save(t_store, NULL, DATE, text, &err) == 0);
	T_CHECK(np_fabric_store_load(t_store, "cluster", NULL, &c, NULL) == 0);
	np_calibration_free(&c);
	free(text);
}
