#include "t.h"
#include "np_loggps_store.h"
#include "some_store.h"

#include <sys/stat.h>

#define DATE 1732158000.0 /* 20241121T030000Z */

static struct np_loggps_record some(double date, double latency)
{
	return (struct np_loggps_record){
		.date = date, .cluster = "hpc", .from = "n0", .to = "n1",
		.leaf = "leaf0", .transport = "tcp/eth0",
		.ucx_version = "1.13.1", .netprof_version = "0.1.0",
		.fit = {
			.n_blocks = 30, .n_sizes = 22, .bytes_min = 1,
			.bytes_max = 1 << 20,
			.L = { latency, latency / 2, latency * 2 },
			.o_send = { 1e-7, 1e-7, 1e-7 },
			.o_recv = { 2e-7, 1e-7, 3e-7 },
			.g = { 5e-7, 4e-7, 6e-7 },
			.G = { 1e-10, -1e-12, 2e-10 }, .S = 8192,
			.S_above = 11585, .step = { 2e-6, 1e-6, 3e-6 },
			.O = { 5e-11, 4e-11, 6e-11 },
		},
	};
}

static void save(struct np_store *s, const char *cluster, double date,
		 double latency, bool across)
{
	struct np_loggps_record r = some(date, latency);
	struct np_err err = NP_ERR_INIT;

	r.across = across;
	T_CHECK(np_loggps_store_save(s, cluster, &r, &err) == 0);
}

T_FIXTURE(t_store_begin, t_store_end);

T_TEST("saved is loaded")
{
	struct np_loggps_record want = some(DATE, 1.5e-6), r;
	struct stat st;

	T_CHECK(np_loggps_store_check(t_store, "hpc", NULL) == 0);
	save(t_store, "hpc", DATE, 1.5e-6, false);
	T_CHECK(np_loggps_store_load(t_store, "hpc", false, &r, NULL) == 0);
	T_CHECK(r.date == DATE && !strcmp(r.cluster, "hpc") && !r.across &&
		!strcmp(r.from, "n0") && !strcmp(r.to, "n1") &&
		!strcmp(r.leaf, "leaf0") && !strcmp(r.transport, "tcp/eth0"));
	T_CHECK(!memcmp(&r.fit, &want.fit, sizeof(r.fit)));
	T_CHECK(!stat(t_text("%s/fabric/hpc/20241121T030000Z.loggps",
			     t_store_dir),
		      &st) &&
		(st.st_mode & 07777) == 0644);
	np_loggps_record_free(&r);
}

static const struct {
	const char *name, *cluster;
	bool across;
	double want; /* its latency; 0: none */
} newest[] = {
	{ "the newest of a cluster", "hpc", false, 3 },
	{ "the newest of another", "b", false, 5 },
	{ "across leaves", "hpc", true, 4 },
	{ "the newest of all clusters", NULL, false, 5 },
	{ "of all clusters, too: no name", "", true, 4 },
	{ "none across leaves", "b", true, 0 },
	{ "no such cluster", "c", false, 0 },
};

T_TEST("the newest counts")
{
	save(t_store, "hpc", DATE + 1, 3, false);
	save(t_store, "hpc", DATE, 2, false);
	save(t_store, "hpc", DATE + 2, 4, true);
	save(t_store, "b", DATE + 9, 5, false);
	T_EACH(row, newest) {
		struct np_err err = NP_ERR_INIT;
		struct np_loggps_record r = { 0 };
		int rc = np_loggps_store_load(t_store, row->cluster,
					      row->across, &r, &err);

		T_ROW(row->name, rc == (row->want ? 0 : -ENOENT));
		T_ROW(row->name, r.fit.L.value == row->want);
		T_ROW(row->name, !rc == !err.text[0]);
		np_loggps_record_free(&r);
	}
}

T_TEST("what cannot be read is passed over")
{
	struct np_loggps_record r = { 0 };
	struct np_err err = NP_ERR_INIT;

	save(t_store, "hpc", DATE, 2, false);
	t_fabric_write("20991121T030000Z.loggps", "{");
	t_fabric_write("20991121T030001Z.json", "{"); /* a calibration, maybe */
	T_CHECK(symlink("/dev/zero",
			t_text("%s/fabric/hpc/20991121T030002Z.loggps",
			       t_store_dir)) == 0);
	T_CHECK(np_loggps_store_load(t_store, "hpc", false, &r, &err) == 0);
	T_CHECK(r.fit.L.value == 2);
	np_loggps_record_free(&r);
	T_CHECK(unlink(t_text("%s/fabric/hpc/20241121T030000Z.loggps",
			      t_store_dir)) == 0);
	T_CHECK(np_loggps_store_load(t_store, "hpc", false, &r, &err) ==
		-ENOENT);
	T_ROW(err.text, strstr(err.text, "20991121T030002Z") != NULL);
}

static const struct {
	const char *name, *from, *to; /* this text becomes that one */
	const char *message;
} bad[] = {
	{ "a time below zero", "\"value\":1.5e-06", "\"value\":-1", "fit.L" },
	{ "a time of hours", "\"value\":1.5e-06", "\"value\":1e9", "fit.L" },
	{ "no time at all", "\"value\":1.5e-06", "\"value\":null", "fit.L" },
	{ "a value outside of its interval", "\"value\":1.5e-06",
	  "\"value\":1e-3", "fit.L" },
	{ "no latency", "\"L\":", "\"M\":", "fit.L" },
	{ "a word where a number is", "\"n_blocks\":30", "\"n_blocks\":\"x\"",
	  "n_blocks" },
	{ "no blocks", "\"n_blocks\":30", "\"n_blocks\":0", "n_blocks" },
	{ "rendezvous from nowhere on", "\"S\":8192", "\"S\":0", "S_above" },
	{ "rendezvous below S", "\"S\":8192", "\"S\":20000", "S_above" },
	{ "a newer schema", "\"schema\":1", "\"schema\":2", "schema" },
	{ "no date", "\"date\"", "\"data\"", "date" },
};

/* A copy of text with from replaced; free() it. */
static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *out = NULL;

	if (at && asprintf(&out, "%.*s%s%s", (int)(at - text), text, to,
			   at + strlen(from)) < 0)
		out = NULL;
	return out;
}

T_TEST("each error is reported")
{
	const struct np_loggps_record good = some(DATE, 1.5e-6);
	struct np_loggps_record r;
	char *text;

	T_CHECK(np_loggps_record_put(&good, &text, NULL) == 0);
	T_EACH(row, bad) {
		char *spoiled = replaced(text, row->from, row->to);
		struct np_err err = NP_ERR_INIT;

		T_ROW(row->name, spoiled != NULL);
		T_ROW(row->name,
		      spoiled && np_loggps_record_get(spoiled, strlen(spoiled),
						      "f", &r, &err) < 0);
		T_ROW(err.text, strstr(err.text, row->message) &&
					strstr(err.text, "f: "));
		free(spoiled);
	}
	for (size_t len = 0; len + 1 < strlen(text); len++)
		T_CHECK(np_loggps_record_get(text, len, "f", &r, NULL) < 0);
	free(text);
}

T_TEST("records of earlier releases have no overhead per byte")
{
	const struct np_loggps_record good = some(DATE, 1.5e-6);
	struct np_loggps_record r = { 0 };
	char *text, *old;

	T_CHECK(np_loggps_record_put(&good, &text, NULL) == 0);
	old = replaced(text,
		       ",\"O\":{\"value\":5e-11,\"low\":4e-11,"
		       "\"high\":6e-11}",
		       "");
	T_CHECK(old && !np_loggps_record_get(old, strlen(old), "f", &r, NULL));
	T_CHECK(r.fit.O.value == 0 && r.fit.L.value == 1.5e-6);
	np_loggps_record_free(&r);
	free(old);
	free(text);
}

T_TEST("what no reader takes is not written")
{
	struct np_loggps_record r = some(DATE, -1);
	struct np_err err = NP_ERR_INIT;

	T_CHECK(np_loggps_store_save(t_store, "hpc", &r, &err) == -EINVAL);
	r = some(-1, 1);
	T_CHECK(np_loggps_store_save(t_store, "hpc", &r, &err) == -EINVAL);
}
