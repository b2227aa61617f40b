#include "t.h"
#include "np_conf.h"
#include "np_option.h"

#include <sys/stat.h>

/* clang-format off */
static const struct {
	const char *name, *in;
	int rc;
	double sec;
} durations[] = {
	{ "microseconds",        "250us",    0, 250e-6 },
	{ "nanoseconds",         "1ns",      0, 1e-9 },
	{ "milliseconds",        "100ms",    0, 0.1 },
	{ "a fraction",          "1.5s",     0, 1.5 },
	{ "a tenth is exact",    "0.1s",     0, 0.1 },
	{ "minutes",             "2m",       0, 120 },
	{ "hours",               "1h",       0, 3600 },
	{ "nothing at all",      "0s",       0, 0 },
	{ "a unit is required",  "100",      -EINVAL, 0 },
	{ "zero needs a unit, too", "0",        -EINVAL, 0 },
	{ "empty",               "",         -EINVAL, 0 },
	{ "only a unit",         "ms",       -EINVAL, 0 },
	{ "only a point",        ".s",       -EINVAL, 0 },
	{ "point at the end",    "1.s",      -EINVAL, 0 },
	{ "two points",          "1.2.3s",   -EINVAL, 0 },
	{ "negative",            "-1s",      -EINVAL, 0 },
	{ "plus sign",           "+1s",      -EINVAL, 0 },
	{ "leading space",       " 1s",      -EINVAL, 0 },
	{ "unknown unit",        "1d",       -EINVAL, 0 },
	{ "rubbish behind",      "1sx",      -EINVAL, 0 },
	{ "hexadecimal",         "0x10s",    -EINVAL, 0 },
	{ "exponent",            "1e3s",     -EINVAL, 0 },
	{ "infinity",            "infs",     -EINVAL, 0 },
	{ "not a number",        "nans",     -EINVAL, 0 },
	{ "too many digits",     "1234567890123456s", -ERANGE, 0 },
	{ "longer than a life",  "999999999h", -ERANGE, 0 },
};
/* clang-format on */

T_TEST("times need a unit and are exact")
{
	T_EACH(r, durations) {
		double sec = -1;
		int rc = np_duration_parse(r->in, &sec);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, sec == (rc ? -1 : r->sec));
	}
}

/* clang-format off */
static const struct {
	const char *name, *in;
	int rc;
	uint64_t bytes;
} sizes[] = {
	{ "plain",          "512",   0, 512 },
	{ "kibi",           "4K",    0, 4096 },
	{ "small letter",   "4k",    0, 4096 },
	{ "mebi",           "1M",    0, 1 << 20 },
	{ "gibi",           "2G",    0, 2ull << 30 },
	{ "zero",           "0",     0, 0 },
	{ "largest",        "18446744073709551615", 0, UINT64_MAX },
	{ "empty",          "",      -EINVAL, 0 },
	{ "only a suffix",  "K",     -EINVAL, 0 },
	{ "negative",       "-1",    -EINVAL, 0 },
	{ "fraction",       "1.5K",  -EINVAL, 0 },
	{ "two suffixes",   "1KK",   -EINVAL, 0 },
	{ "unknown suffix", "1X",    -EINVAL, 0 },
	{ "space",          " 1",    -EINVAL, 0 },
	{ "digit too much", "18446744073709551616", -ERANGE, 0 },
	{ "suffix too much", "99999999999G", -ERANGE, 0 },
};
/* clang-format on */

T_TEST("sizes take K, M, G and overflow is an error")
{
	T_EACH(r, sizes) {
		uint64_t bytes = 77;
		int rc = np_bytes_parse(r->in, &bytes);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, bytes == (rc ? 77 : r->bytes));
	}
}

/* clang-format off */
static const struct {
	const char *name, *in;
	int rc;
	double fraction;
} shares[] = {
	{ "a tenth",             "10%",    0, 0.1 },
	{ "a fraction",          "2.5%",   0, 0.025 },
	{ "nothing",             "0%",     0, 0 },
	{ "more than all",       "250%",   0, 2.5 },
	{ "a % is required",     "10",     -EINVAL, 0 },
	{ "only a %",            "%",      -EINVAL, 0 },
	{ "empty",               "",       -EINVAL, 0 },
	{ "two percent signs",         "10%%",   -EINVAL, 0 },
	{ "a space before it",   "10 %",   -EINVAL, 0 },
	{ "negative",            "-10%",   -EINVAL, 0 },
	{ "not a number",        "nan%",   -EINVAL, 0 },
	{ "too many digits",     "1234567890123456%", -ERANGE, 0 },
};
/* clang-format on */

T_TEST("a share needs its % and is exact")
{
	T_EACH(r, shares) {
		double fraction = -1;
		int rc = np_percent_parse(r->in, &fraction);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, fraction == (rc ? -1 : r->fraction));
	}
}

static const char *const good[] = {
	"Enabled=no",
	"enabled=YES",
	"Store=/a/b",
	"  Store  =  /a b/c  ",
	"BinDir=/x",
	"LibexecDir=/x",
	"Period=1ms",
	"Period=1h",
	"MessageSize=8",
	"MessageSize=1M",
	"ProcessesPerNode=2",
	"ProbeAfter=0s",
	"ProbeAfter=1h",
	"ProbePairs=1",
	"ProbePairs=128",
	"ProbeNodes=2",
	"ProbeNodes=256",
	"CalibrateShare=0%",
	"CalibrateShare=100%",
	"LevelLeadIn=0s",
	"NetDevices=mlx5_0:1,eth0",
	"Transport=auto",
	"Transport=ucx",
	"Transport=ucx:rc,self",
	"Transport=ofi:cxi/cxi0",
	"Transport=ofi:tcp;ofi_rxm",
	"Transports=",
	"Rails=/etc/slurm/rails.conf",
	"Rails=",
	"MaxRuns=1",
	"MAXRUNS=1000",
	"TraceSize=1M",
	"TraceSize=1024G",
	"MaxTraces=1",
	"MaxTraces=1000",
	"Placement=enforce",
	"placement=Advise",
	"PlacementPartition=debug:off",
	"PlacementPartition=",
	"PlacementPartition=a:b:prefer",
	"MaxSlowdown=0%",
	"MaxSlowdown=10000%",
	"MaxDefer=1s",
	"MaxDefer=8760h",
	"PlacementInterval=100ms",
	"PlacementInterval=1h",
	"UnknownAs=none",
	"UnknownAs=idle",
	"TrustedUsers=",
	"TrustedUsers=root,1000,0",
	"TrustedUsers=4294967294",
	"JobNameApp=",
	"JobNameApp=vasp*:vasp",
	"JobNameApp=a:b?[0-9]:c",
	"CommentApp=*app\\=fft*:fft",
	"CommentApp=",
	"Claim=",
	"Claim=*:all",
	"claim=vasp*:user=root,user=7,group=root",
	"Claim=fft:group=0,account=ph?s*,partition=debug,default",
};

T_TEST("every key takes its good values")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(good); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_conf c;

		np_conf_init(&c);
		T_ROW(good[i], np_conf_set(&c, good[i], &err) == 0);
		T_ROW(good[i], err.text[0] == '\0');
	}
}

static const struct {
	const char *in;
	const char *says[3]; /* key, value, expectation */
} bad[] = {
	{ "Enabled=maybe", { "Enabled", "maybe", "yes or no" } },
	{ "Enabled=", { "Enabled=", "expected", "yes or no" } },
	{ "store=relative/dir", { "Store", "relative/dir", "absolute" } },
	{ "Store=", { "Store=", "expected", "absolute" } },
	{ "BinDir=/a b", { "BinDir", "/a b", "without spaces" } },
	{ "BinDir=/a=b", { "BinDir", "/a=b", "without spaces" } },
	{ "Period=100", { "Period", "100", "with its unit" } },
	{ "Period=999us", { "Period", "999us", "from 1ms" } },
	{ "Period=61m", { "Period", "61m", "to 1h" } },
	{ "Period=-1s", { "Period", "-1s", "100ms" } },
	{ "MessageSize=7", { "MessageSize", "7", "from 8" } },
	{ "MessageSize=1048577", { "MessageSize", "1048577", "to 1M" } },
	{ "ProcessesPerNode=0", { "ProcessesPerNode", "0", "1 or 2" } },
	{ "ProcessesPerNode=3", { "ProcessesPerNode", "3", "1 or 2" } },
	{ "ProcessesPerNode=1K", { "ProcessesPerNode", "1K", "1 or 2" } },
	{ "ProbeAfter=2", { "ProbeAfter", "2", "0s to 1h" } },
	{ "ProbePairs=0", { "ProbePairs", "0", "1 to 128" } },
	{ "ProbePairs=129", { "ProbePairs", "129", "1 to 128" } },
	{ "ProbeNodes=1", { "ProbeNodes", "1", "2 to 256" } },
	{ "ProbeNodes=257", { "ProbeNodes", "257", "2 to 256" } },
	{ "CalibrateShare=101%", { "CalibrateShare", "101%", "100%" } },
	{ "CalibrateShare=20", { "CalibrateShare", "20", "20%" } },
	{ "CalibrateShare=-1%", { "CalibrateShare", "-1%", "0%" } },
	{ "LevelLeadIn=2h", { "LevelLeadIn", "2h", "to 1h" } },
	{ "Transport=tcp", { "Transport", "tcp", "ofi:PROVIDER" } },
	{ "Transport=ofi:", { "Transport", "ofi:", "ofi:PROVIDER" } },
	{ "Transport=ofi:/cxi0", { "Transport", "/cxi0", "ofi:PROVIDER" } },
	{ "NetDevices=eth 0", { "NetDevices", "eth 0", "without spaces" } },
	{ "Rails=rails.conf", { "Rails", "rails.conf", "absolute path" } },
	{ "MaxRuns=0", { "MaxRuns", "0", "1 to 1000" } },
	{ "MaxRuns=1001", { "MaxRuns", "1001", "1 to 1000" } },
	{ "TraceSize=1K", { "TraceSize", "1K", "from 1M" } },
	{ "TraceSize=1025G", { "TraceSize", "1025G", "to 1024G" } },
	{ "MaxTraces=0", { "MaxTraces", "0", "1 to 1000" } },
	{ "Placement=on", { "Placement", "on", "off, advise, prefer or enf" } },
	{ "Placement=", { "Placement=", "expected", "enforce" } },
	{ "PlacementPartition=debug",
	  { "PlacementPartition", "debug", "expected PARTITION:MODE" } },
	{ "PlacementPartition=debug:on",
	  { "PlacementPartition", "debug:on",
	    "off, advise, prefer or enforce" } },
	{ "PlacementPartition=:off",
	  { "PlacementPartition", ":off", "expected PARTITION:MODE" } },
	{ "PlacementPartition=a,b:off",
	  { "PlacementPartition", "a,b:off", "expected PARTITION:MODE" } },
	{ "MaxSlowdown=10", { "MaxSlowdown", "10", "such as 10%" } },
	{ "MaxSlowdown=10001%", { "MaxSlowdown", "10001%", "to 10000%" } },
	{ "MaxSlowdown=0.1", { "MaxSlowdown", "0.1", "such as 10%" } },
	{ "MaxDefer=0s", { "MaxDefer", "0s", "from 1s" } },
	{ "MaxDefer=8761h", { "MaxDefer", "8761h", "to 8760h" } },
	{ "PlacementInterval=99ms",
	  { "PlacementInterval", "99ms", "from 100ms" } },
	{ "PlacementInterval=61m", { "PlacementInterval", "61m", "to 1h" } },
	{ "UnknownAs=", { "UnknownAs=", "application", "or none" } },
	{ "UnknownAs=a/b", { "UnknownAs", "a/b", "application" } },
	{ "TrustedUsers=0,no-such-user,1",
	  { "TrustedUsers", "unknown user \"no-such-user\"",
	    "expected uids or names" } },
	{ "TrustedUsers=4294967295",
	  { "TrustedUsers", "\"4294967295\"", "expected uids" } },
	{ "TrustedUsers=12x", { "TrustedUsers", "\"12x\"", "expected uids" } },
	{ "TrustedUsers=-1", { "TrustedUsers", "\"-1\"", "expected uids" } },
	{ "TrustedUsers=0,,1",
	  { "TrustedUsers", "unknown user \"\"", "expected uids" } },
	{ "JobNameApp=vasp", { "JobNameApp", "vasp", "expected PATTERN:APP" } },
	{ "JobNameApp=:vasp", { "JobNameApp", ":vasp", "1 to 127" } },
	{ "JobNameApp=vasp:", { "JobNameApp", "vasp:", "expected 1 to 64" } },
	{ "CommentApp=x:../y", { "CommentApp", "x:../y", "\"../y\"" } },
	{ "Claim=fft", { "Claim", "fft", "expected PATTERN:WHO" } },
	{ "Claim=:all", { "Claim", ":all", "1 to 127" } },
	{ "Claim=fft:",
	  { "Claim", "\"\": expected all, default, user=USER",
	    "partition=PATTERN" } },
	{ "Claim=fft:alice", { "Claim", "\"alice\"", "expected all" } },
	{ "Claim=fft:All", { "Claim", "\"All\"", "expected all" } },
	{ "Claim=fft:user=0,,all", { "Claim", "\"\"", "expected all" } },
	{ "Claim=fft:user=0,", { "Claim", "\"\"", "expected all" } },
	{ "Claim=fft:usr=alice", { "Claim", "\"usr=alice\"", "user=USER" } },
	{ "Claim=fft:user=no-such-user",
	  { "Claim", "unknown user \"no-such-user\"",
	    "expected a uid or the name of a user" } },
	{ "Claim=fft:user=",
	  { "Claim", "unknown user \"\"", "expected a uid" } },
	{ "Claim=fft:user=4294967295",
	  { "Claim", "unknown user \"4294967295\"", "expected a uid" } },
	{ "Claim=fft:group=no-such-group",
	  { "Claim", "unknown group \"no-such-group\"",
	    "expected a gid or the name of a group" } },
	{ "Claim=fft:group=-1", { "Claim", "unknown group \"-1\"", "a gid" } },
	{ "Claim=fft:account=", { "Claim", "\"account=\"", "expected all" } },
	{ "Colour=red", { "Colour", "red", "no such key" } },
	{ "maxrun=5", { "maxrun", "no such key", "did you mean MaxRuns?" } },
	{ "=yes", { "=yes", "no such key", "netprof.conf" } },
	{ "Period", { "Period", "expected", "Key=Value" } },
	{ "", { "\"\"", "expected", "Key=Value" } },
};

T_TEST("a bad value is named with what was expected")
{
	T_EACH(r, bad) {
		struct np_conf c, before;
		struct np_err err = NP_ERR_INIT;

		np_conf_init(&c);
		before = c;
		T_ROW(r->in, np_conf_set(&c, r->in, &err) == -EINVAL);
		T_ROW(r->in, !memcmp(&c, &before, sizeof(c)));
		for (size_t k = 0; k < 3; k++)
			T_ROW(r->in, strstr(err.text, r->says[k]));
	}
}

T_TEST("values too long are refused")
{
	char line[2 * PATH_MAX];
	struct np_conf c;

	np_conf_init(&c);
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "Store=/", 7);
	T_CHECK(np_conf_set(&c, line, NULL) == -EINVAL);
	line[7 + PATH_MAX - 2] = '\0'; /* the longest that fits */
	T_CHECK(np_conf_set(&c, line, NULL) == 0);
	T_CHECK(strlen(c.store) == PATH_MAX - 1);
	memcpy(line, "Transports=", 11);
	line[11 + 128] = '\0';
	T_CHECK(np_conf_set(&c, line, NULL) == -EINVAL);
	line[11 + 127] = '\0';
	T_CHECK(np_conf_set(&c, line, NULL) == 0);
}

#define FILE_OF(text) t_write("netprof.conf", text, sizeof(text) - 1)

T_TEST("a file with comments is applied")
{
	struct np_conf c;

	np_conf_init(&c);
	T_CHECK(np_conf_load(
			&c,
			FILE_OF("# a comment\n\n  \t\r\n"
				"Store = /srv/np   # where\r\nperiod=20ms\nPeriod=30ms\n"
				"MaxRuns=7"),
			NULL) == 0);
	T_CHECK(!strcmp(c.store, "/srv/np"));
	T_CHECK(c.period_sec == 0.03);
	T_CHECK(c.max_runs == 7);
	T_CHECK(c.message_bytes == 1024);
}

static const struct {
	const char *name, *text;
	size_t len;
	const char *says;
} bad_files[] = {
#define TEXT(t) t, sizeof(t) - 1
	{ "a wrong value names its line", TEXT("\nMaxRuns=5\n# x\nPeriod=9\n"),
	  "netprof.conf:4: Period=9: expected a time" },
	{ "a word alone", TEXT("Store\n"), "netprof.conf:1: \"Store\"" },
	{ "a NUL in the middle", TEXT("Max\0Runs=5\n"),
	  "netprof.conf:1: a NUL" },
	{ "a byte-order mark", TEXT("\xef\xbb\xbf# ours\nMaxRuns=5\n"),
	  "netprof.conf:1: begins with a byte-order mark (UTF-8)" },
	{ "a NUL at the end", TEXT("MaxRuns=5\0"), "netprof.conf:1: a NUL" },
#undef TEXT
};

T_TEST("an error names file and line")
{
	T_EACH(r, bad_files) {
		struct np_err err = NP_ERR_INIT;
		struct np_conf c;

		np_conf_init(&c);
		T_ROW(r->name,
		      np_conf_load(&c, t_write("netprof.conf", r->text, r->len),
				   &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->says));
	}
}

T_TEST("the lines around an error hold")
{
	struct np_conf c;

	np_conf_init(&c);
	T_CHECK(np_conf_load(&c, FILE_OF("MaxRuns=5\nPeriod=9\nMaxTraces=7\n"),
			     NULL) == -EINVAL);
	T_CHECK(c.max_runs == 5 && c.period_sec == 0.1 && c.max_traces == 7);
}

T_TEST("no kind of file hangs or floods")
{
	static char big[100000];
	char path[512];
	struct np_conf c;

	np_conf_init(&c);
	T_CHECK(np_conf_load(&c, "/nonexistent/netprof.conf", NULL) == 0);
	T_CHECK(np_conf_load(&c, "/dev/null", NULL) == 0);
	T_CHECK(np_conf_load(&c, "/dev/zero", NULL) == -EFBIG);
	T_CHECK(np_conf_load(&c, "/", NULL) == -EISDIR);
	memset(big, '#', sizeof(big));
	T_CHECK(np_conf_load(&c, t_write("big", big, sizeof(big)), NULL) ==
		-EFBIG);
	snprintf(path, sizeof(path), "%s/conf.fifo", t_tmpdir());
	T_CHECK(mkfifo(path, 0600) == 0);
	T_CHECK(np_conf_load(&c, path, NULL) == -ESPIPE);
}

T_TEST("the environment names file and store")
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf c;

	setenv("NETPROF_CONF", FILE_OF("Store=/from/file\nMaxRuns=9\n"), 1);
	unsetenv("NETPROF_STORE");
	T_CHECK(np_conf_from_environment(&c, NULL) == 0);
	T_CHECK(!strcmp(c.store, "/from/file") && c.max_runs == 9);
	setenv("NETPROF_STORE", "/from/environment", 1);
	T_CHECK(np_conf_from_environment(&c, NULL) == 0);
	T_CHECK(!strcmp(c.store, "/from/environment") && c.max_runs == 9);
	setenv("NETPROF_STORE", "", 1); /* empty is unset */
	T_CHECK(np_conf_from_environment(&c, NULL) == 0);
	T_CHECK(!strcmp(c.store, "/from/file"));
	setenv("NETPROF_CONF",
	       FILE_OF("Claim=*:user=no-such-user\nTrustedUsers=no-such-user\n"
		       "MaxRuns=7\n"),
	       1);
	T_CHECK(np_conf_from_environment(&c, NULL) == -EINVAL);
	T_ROW("for steps no users are looked up",
	      !np_conf_for_step(&c, NULL) && c.max_runs == 7 &&
		      !np_conf_set(&c, "Claim=fft:group=no-such-group", NULL));
	setenv("NETPROF_STORE", "here", 1);
	T_CHECK(np_conf_from_environment(&c, &err) == -ENOTDIR);
	T_CHECK(!!strstr(err.text, "NETPROF_STORE=here"));
	setenv("NETPROF_CONF", "/nonexistent/typo.conf", 1);
	T_CHECK(np_conf_from_environment(&c, &err) == -ENOENT);
	T_CHECK(!!strstr(err.text, "NETPROF_CONF=/nonexistent/typo.conf"));
	unsetenv("NETPROF_CONF");
	unsetenv("NETPROF_STORE");
}
