#include "t.h"
#include "np_clock.h"
#include "np_nics.h"

#include <stdatomic.h>
#include <sys/stat.h>

/*
 * Machines that nobody here owns: files of t/data/sysfs, by the layouts that
 * vendors document. "PATH VALUE" is a file, "ethtool/DEV/NAME N" what a driver
 * says, and "= ADAPTER KIND=N..." what is to be read.
 */
static const struct {
	const char *name;
	const char *providers; /* of libfabric that auto tries */
	const char *transport; /* whose bytes are counted */
	uint64_t bytes;
} vendors[] = {
	{ "mlx5-infiniband", "", "rc_mlx5/mlx5_0:1", 12000 },
	{ "mlx5-roce", "", "ofi:verbs;ofi_rxm/mlx5_bond_0", 3000 },
	{ "bnxt_re", "", "rc_verbs/bnxt_re0:1", 7000 },
	{ "ionic", "", "rc_verbs/ionic_0:1", 15000 },
	{ "efa", "efa", "ofi:efa/rdmap0s6-rdm", 300 },
	{ "irdma", "", "tcp/ens801f0", 23 },
	{ "irdma", "", "rc_verbs/rocep1s0f0:1", 1250 },
	{ "mlx4", "", "ofi:verbs;ofi_rxm/mlx4_0", 1200 },
	{ "mlx4", "", "rc_verbs/mlx4_1:1", 0 },
	{ "hfi1", "opx psm2", "ofi:opx/hfi1_0", 2800 },
	/* As much is received as sent, on all nodes together. */
	{ "cxi", "cxi", "ofi:cxi/cxi0", 1800000 },
	{ "trouble", "cxi", "rc_verbs/bad_0:1", 0 },
};

#define MAX_EXPECTED 8

static struct {
	char root[512];
	char line[MAX_EXPECTED][256]; /* expected */
	size_t n;
} machine;

static void add_file(const char *path, const char *value)
{
	char *slash;
	FILE *f;
	const char *full = t_text("%s/%s", machine.root, path);

	for (slash = strchr(full + strlen(machine.root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	if (!strcmp(value, "FIFO")) {
		T_CHECK(!mkfifo(full, 0644));
		return;
	}
	f = fopen(full, "w");
	T_CHECK(f != NULL);
	if (f) {
		fprintf(f, *value ? "%s\n" : "%s", value);
		fclose(f);
	}
}

static void build(const char *name)
{
	char line[512];
	FILE *f;

	snprintf(machine.root, sizeof(machine.root), "%s/%s", t_tmpdir(), name);
	mkdir(machine.root, 0755);
	machine.n = 0;
	f = fopen(t_text("%s/sysfs/%s.txt", T_DATA_DIR, name), "r");
	T_CHECK(f != NULL);
	while (f && fgets(line, sizeof(line), f)) {
		char *value;

		line[strcspn(line, "\n")] = '\0';
		value = strchr(line, ' ');
		if (line[0] == '=')
			strcpy(machine.line[machine.n++], line + 2);
		else if (line[0] != '#') {
			if (value)
				*value++ = '\0';
			add_file(line, value ? value : "");
		}
	}
	if (f)
		fclose(f);
}

/* In place of the driver: files below ethtool/. */
static bool driver(const char *dev,
		   void (*each)(const char *name, uint64_t n, void *arg),
		   void *arg)
{
	char name[128];
	unsigned long long n;
	FILE *f;

	f = popen(
		t_text("cd %s/ethtool/%s 2>/dev/null && for f in *; do echo \"$f "
		       "$(cat $f)\"; done",
		       machine.root, dev),
		"r");
	while (f && fscanf(f, "%127s %llu", name, &n) == 2)
		each(name, n, arg);
	return f && !pclose(f);
}

static void print(const char *name, const struct np_nic_counts *c, char *buf)
{
	buf += sprintf(buf, "%s", name);
	for (unsigned k = 0; k < NP_NIC_KINDS; k++)
		if (c->has & 1u << k)
			buf += sprintf(buf, " %s=%llu", np_nic_kinds[k],
				       (unsigned long long)c->n[k]);
}

T_TEST("counters of each vendor's adapters")
{
	T_EACH(r, vendors) {
		struct np_nic_counts counts[NP_NICS_MAX];
		struct np_nics *nics = NULL;
		char line[512];

		build(r->name);
		T_CHECK(!np_nics_open(machine.root, "eth0", driver, &nics));
		np_nics_read(nics, counts);
		T_ROW(r->name, np_nics_count(nics) == machine.n);
		for (size_t k = 0; k < np_nics_count(nics); k++) {
			print(np_nics_name(nics, k), &counts[k], line);
			T_ROW(line, !strcmp(line, machine.line[k]));
		}
		np_nics_close(nics);
	}
}

/* An adapter for each of many GPUs, and one for everything else. */
T_TEST("all adapters of a large node")
{
	struct np_nics *nics = NULL;

	snprintf(machine.root, sizeof(machine.root), "%s/large", t_tmpdir());
	mkdir(machine.root, 0755);
	for (int i = 0; i < 24; i++)
		add_file(t_text("class/infiniband/mlx5_%d/ports/1/"
				"counters/port_xmit_data",
				i),
			 "1");
	add_file("class/net/eno1/device/vendor", "0x8086");
	add_file("class/net/eno1/statistics/tx_bytes", "1");
	T_CHECK(!np_nics_open(machine.root, NULL, driver, &nics));
	T_CHECK(np_nics_count(nics) == 25);
	T_CHECK(!strcmp(np_nics_name(nics, 24), "eno1"));
	np_nics_close(nics);
}

T_TEST("bytes and providers of each")
{
	T_EACH(r, vendors) {
		char providers[64] = "";
		const char *const *p;
		struct np_device d;
		uint64_t bytes = 0;
		int rc;
		const char *root = t_path(r->name);

		rc = np_device_find(root, r->transport, &d);
		if (!rc)
			np_device_bytes(&d, &bytes);
		T_ROW(r->name, bytes == r->bytes);
		for (p = np_device_providers(root); *p; p++)
			sprintf(providers + strlen(providers), "%s%s",
				*providers ? " " : "", *p);
		T_ROW(r->name, !strcmp(providers, r->providers));
	}
}

/* A kind of which a part is gone would seem to fall. */
T_TEST("a counter that disappears")
{
	struct np_nic_counts counts[NP_NICS_MAX];
	struct np_nics *nics = NULL;

	build("cxi");
	T_CHECK(!np_nics_open(machine.root, NULL, driver, &nics));
	unlink(t_text("%s/class/cxi/cxi0/device/telemetry/"
		      "hni_tx_paused_7",
		      machine.root));
	np_nics_read(nics, counts);
	T_CHECK(!(counts[0].has & 1u << NP_NIC_PAUSE));
	T_CHECK(counts[0].n[NP_NIC_SENT] == 900000);
	np_nics_close(nics);
}

static int calls, n_slow;

/* Counts what files count as well; it does not answer the third call. */
static bool resets(const char *dev,
		   void (*each)(const char *name, uint64_t n, void *arg),
		   void *arg)
{
	if (strcmp(dev, "ens801f0") || ++calls == 3)
		return false;
	each("rx_out_of_buffer", 1000, arg);
	return true;
}

T_TEST("a driver that once does not answer has no new discards then")
{
	struct np_nic_counts counts[4][NP_NICS_MAX];
	struct np_nics *nics = NULL;
	size_t at = 0;

	build("irdma");
	add_file("class/net/ens801f0/statistics/tx_dropped", "5");
	add_file("class/net/ens801f0/statistics/rx_missed_errors", "0");
	calls = 0;
	T_CHECK(!np_nics_open(machine.root, NULL, resets, &nics));
	while (strcmp(np_nics_name(nics, at), "ens801f0"))
		at++;
	for (int i = 0; i < 4; i++) {
		bool known;

		np_nics_read(nics, counts[i]);
		known = counts[i][at].has & 1u << NP_NIC_DISCARD;
		T_CHECK(known == (calls != 3));
		T_CHECK(!known || counts[i][at].n[NP_NIC_DISCARD] == 1005);
	}
	np_nics_close(nics);
}

/* So many calls take too long. */
static bool slow(const char *dev,
		 void (*each)(const char *name, uint64_t n, void *arg),
		 void *arg)
{
	(void)dev, (void)each, (void)arg;
	if (calls++ < n_slow)
		usleep((useconds_t)(1.2e6 * NP_NICS_SLOW_SEC));
	return false;
}

/*
 * Read three times. Returns whether the adapter without a driver was counted
 * each time, which on a busy machine may be slow, too.
 */
static bool read_slow(struct np_nic_counts counts[3][NP_NICS_MAX])
{
	struct np_nics *nics = NULL;
	double pause_sec;

	calls = 0;
	build("bnxt_re");
	T_CHECK(!np_nics_open(machine.root, NULL, slow, &nics));
	pause_sec = np_nics_read(nics, counts[0]);
	T_CHECK(pause_sec > NP_NICS_SLOW_SEC / NP_NICS_SHARE);
	np_nics_read(nics, counts[1]);
	np_nics_read(nics, counts[2]);
	np_nics_close(nics);
	return counts[0][0].has && counts[1][0].has && counts[2][0].has;
}

T_TEST("an adapter that is slow twice is given up")
{
	struct np_nic_counts counts[3][NP_NICS_MAX];
	bool counted = false;

	n_slow = 3;
	for (int i = 0; i < 20 && !counted; i++) {
		counted = read_slow(counts);
		T_CHECK(counts[0][1].has && counts[1][1].has);
		T_CHECK(!counts[2][1].has && calls == 2);
	}
	T_CHECK(counted);
}

T_TEST("an adapter that is slow once is not")
{
	struct np_nic_counts counts[3][NP_NICS_MAX];
	bool counted = false;

	n_slow = 1;
	for (int i = 0; i < 20 && !counted; i++)
		counted = read_slow(counts) && counts[2][1].has;
	T_CHECK(counted && calls == 3);
}

/* ---- progress reports ---- */

struct reported {
	unsigned transferred, nics;
	uint64_t bytes;
	double elapsed_sec;
};

static void count_report(const struct np_report *r, void *arg)
{
	struct reported *h = arg;

	if (r->kind == NP_REPORT_TRANSFERRED) {
		h->transferred++;
		h->bytes = r->transferred.n;
		h->elapsed_sec = r->transferred.elapsed_sec;
	}
	h->nics += r->kind == NP_REPORT_NIC;
}

/* Ask for a reading, and wait until it was reported. */
static void read_at(struct np_progress *p, double now_sec, struct reported *h)
{
	double before_sec = p->transferred.sec;

	do { /* once more only if the thread was not ready within a second */
		np_progress_report(p, now_sec, count_report, h);
		for (int i = 0; i < 1000 && p->transferred.sec == before_sec;
		     i++) {
			usleep(1000);
			np_progress_collect(p, count_report, h);
		}
	} while (p->transferred.sec == before_sec);
}

/* Without a driver, which costs little time. */
static bool says_nothing(const char *dev,
			 void (*each)(const char *name, uint64_t n, void *arg),
			 void *arg)
{
	(void)dev, (void)each, (void)arg;
	return false;
}

/* Returns whether counts of adapters were reported, too. */
static bool report_progress(void)
{
	struct np_progress p = { .rank = 3 };
	struct reported h = { 0 };
	double now_sec = 100, end;

	build("bnxt_re");
	np_progress_open(&p, machine.root, "rc_verbs/bnxt_re0:1", says_nothing);
	read_at(&p, now_sec, &h);
	T_CHECK(!h.transferred && !h.nics);
	add_file("class/infiniband/bnxt_re0/ports/1/hw_counters/tx_bytes",
		 "3500");
	read_at(&p, 200, &h);
	T_CHECK(h.transferred == 1 && h.bytes == 500);
	/* The reading may be late, and says so. */
	T_CHECK(h.elapsed_sec > 90 && h.elapsed_sec < 200);
	/* They are read again after a thousand times as long as it took. */
	end = np_mono_sec() + 5;
	now_sec = 300;
	do {
		read_at(&p, now_sec, &h);
		now_sec += 100;
	} while (!h.nics && np_mono_sec() < end);
	T_CHECK(h.bytes == 0);
	np_progress_close(&p);
	T_CHECK(!p.reader);
	return h.nics;
}

T_TEST("progress is what was added since the last reading")
{
	bool reported = false;

	/* On a busy machine all adapters may be slow, and are given up. */
	for (int i = 0; i < 20 && !reported; i++)
		reported = report_progress();
	T_CHECK(reported);
}

static atomic_bool gate_is_open;

static bool hangs(const char *dev,
		  void (*each)(const char *name, uint64_t n, void *arg),
		  void *arg)
{
	(void)dev, (void)each, (void)arg;
	while (!atomic_load(&gate_is_open))
		usleep(1000);
	return false;
}

/* As a driver whose firmware is gone. Here a probe that hangs never ends. */
T_TEST("an adapter that hangs does not stop the probe")
{
	struct np_progress p = { .rank = 3 };
	struct reported h = { 0 };

	build("bnxt_re");
	atomic_store(&gate_is_open, false);
	np_progress_open(&p, machine.root, "rc_verbs/bnxt_re0:1", hangs);
	for (int i = 1; i < 5; i++)
		np_progress_report(&p, 100 * i, count_report, &h);
	T_CHECK(!h.transferred && !h.nics && p.reader);
	atomic_store(&gate_is_open, true);
	while (!(p.transferred.sec > 0)) {
		usleep(1000);
		np_progress_collect(&p, count_report, &h);
	}
	read_at(&p, 500, &h);
	read_at(&p, 1e6, &h);
	T_CHECK(h.transferred == 2 && h.bytes == 0);
	np_progress_close(&p);
}

/* The thread is left behind, and frees what it has when its read returns. */
T_TEST("a probe ends while an adapter hangs")
{
	struct np_progress p = { .rank = 3 };
	struct reported h = { 0 };

	build("bnxt_re");
	atomic_store(&gate_is_open, false);
	np_progress_open(&p, machine.root, "rc_verbs/bnxt_re0:1", hangs);
	np_progress_report(&p, 100, count_report, &h);
	np_progress_close(&p);
	T_CHECK(!p.reader && !h.transferred);
	atomic_store(&gate_is_open, true);
}

static void count_one(const char *name, uint64_t n, void *arg)
{
	(void)name, (void)n;
	++*(unsigned *)arg;
}

/* Of a device that there is not; t/integration asks a real driver. */
T_TEST("a device without a driver says nothing")
{
	unsigned n = 0;

	T_CHECK(!np_nics_ioctl("np-none0", count_one, &n) && n == 0);
	T_CHECK(!np_nics_ioctl("a name that is far too long for any device",
			       count_one, &n));
}
