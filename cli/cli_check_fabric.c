/*
 * netprof check --fabric: what no machine of the project can measure, in one
 * file that a site can send.
 */
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_check.h"
#include "cli_text.h"
#include "np_clock.h"

#define MAX_OUTPUT (1u << 20) /* of a part, bytes */
#define LONGEST_SEC 1800.0    /* of a part */

/* To try it: with measurements shorter than that, fewer of them. */
#define BRIEF_SEC 10
#define BRIEF_LEVELS "--levels=c4,c7 --repeats=1 --seconds=0.5 --probe-seconds=1"
#define BRIEF_PAIRS "--times=10 --repeats=1"

/*
 * Each is a line for the shell; $S is the length of a measurement, s; $LEVELS and
 * $PAIRS what is asked of a calibration and of pairs of nodes.
 */
static const struct part {
	const char *title, *command;
} parts[] = {
	{ "versions",
	  "netprof version; sinfo -V; uname -srm; netprof-impactb --version; "
	  "netprof-compressionb --version" },
	{ "settings of Slurm",
	  "scontrol show config | grep -E '^(Topology|Switch|Mpi|Select|Proctrack"
	  "|PlugStack|SLURM_VERSION)'" },
	{ "processors of a node",
	  "srun -Q -N1 -n1 sh -c 'lscpu | grep -E \"^(Model name|CPU\\(s\\)|Socket|"
	  "NUMA node\\(s\\))\"'" },
	{ "network adapters of a node",
	  "srun -Q -N1 -n1 sh -c 'cd /sys/class; ls -d infiniband/* cxi/* net/*/device "
	  "2>/dev/null; head -n1 infiniband/*/ports/*/rate infiniband/*/ports/*/"
	  "link_layer infiniband/*/fw_ver net/*/speed 2>/dev/null; true'" },
	{ "counters of network adapters",
	  "srun -Q -N1 -n1 sh -c 'cd /sys/class; ls infiniband/*/ports/*/counters "
	  "infiniband/*/ports/*/hw_counters cxi/cxi0/device/telemetry 2>/dev/null; true'" },
	{ "libraries of the network on a node",
	  "srun -Q -N1 -n1 sh -c 'ls -d /opt/cray/libfabric/* /opt/amazon/efa "
	  "2>/dev/null; fi_info -l 2>/dev/null; ucx_info -v 2>/dev/null | head -n 3; true'" },
	{ "idle latencies and the cost of probes",
	  "srun -Q --ntasks-per-node=1 --mpi=pmix netprof-impactb --period=20ms "
	  "--report-every=10 --duration=${S}s" },
	{ "the same over UCX",
	  "NETPROF_TRANSPORT=ucx srun -Q --ntasks-per-node=1 --mpi=pmix "
	  "netprof-impactb --period=20ms --report-every=10 --duration=${S}s" },
	/* It exits with 1 where Slurm's topology differs. */
	{ "which nodes share a leaf switch",
	  "netprof topology $PAIRS --save=\"$TMP/latencies\"; cat \"$TMP/latencies\"" },
	{ "levels, how they slow each other, and the sharing coefficient",
	  "netprof calibrate --fresh $LEVELS --output=\"$TMP/calibration.json\"; "
	  "cat \"$TMP/calibration.json\"" },
};

/* What could tell who ran it, longest first; and what stands there instead. */
struct names {
	char name[4][256];
	size_t n;
};

static void add_name(struct names *n, const char *name)
{
	if (name && strlen(name) > 1 && strlen(name) < sizeof(n->name[0]) &&
	    n->n < NP_ARRAY_SIZE(n->name))
		strcpy(n->name[n->n++], name);
}

static void find_names(struct names *n)
{
	const struct passwd *pw = getpwuid(getuid());

	*n = (struct names){ .n = 0 };
	add_name(n, getenv("HOME"));
	add_name(n, pw ? pw->pw_dir : NULL);
	add_name(n, pw ? pw->pw_name : NULL);
	add_name(n, getenv("SLURM_JOB_ACCOUNT"));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Text without these names, where they stand as words of their own. */
static void put(FILE *f, const char *text, const struct names *n)
{
	char before = ' ';

	while (*text) {
		size_t len = 0;

		for (size_t i = 0; !len && i < n->n; i++) {
			len = strlen(n->name[i]);
			if (strncmp(text, n->name[i], len) ||
			    is_word(text[len]) ||
			    (is_word(before) && is_word(*text)))
				len = 0;
		}
		if (len) {
			fputs("USER", f);
			before = 'R';
			text += len;
		} else {
			fputc(before = *text++, f);
		}
	}
}

static int run_part(FILE *f, const struct part *p, char *buf,
		    const struct names *names)
{
	char line[2048];
	char *argv[] = { "sh", "-c", line, NULL };
	double begun_sec = np_mono_sec();
	int rc;

	snprintf(line, sizeof(line), "exec 2>&1; %s", p->command);
	rc = cli_spawn(argv, LONGEST_SEC, buf, MAX_OUTPUT);
	fprintf(f, "\n== %s\n$ %s\n", p->title, p->command);
	put(f, buf, names);
	fprintf(f, "-- %s %d, after %.1f s\n", rc < 0 ? "error" : "exit", rc,
		np_mono_sec() - begun_sec);
	fflush(f); /* an allocation may end before all is done */
	return rc;
}

/* What the parts write goes there, and away with it. */
static int make_room(char dir[32])
{
	strcpy(dir, "/tmp/netprof.XXXXXX");
	return mkdtemp(dir) && !setenv("TMP", dir, 1) ? 0 : -errno;
}

static void leave_room(const char *dir)
{
	static const char *const file[] = { "calibration.json", "latencies" };
	char path[64];

	for (size_t i = 0; i < NP_ARRAY_SIZE(file); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, file[i]);
		unlink(path);
	}
	rmdir(dir);
}

static int run_all(FILE *f, const char *path)
{
	char *buf = malloc(MAX_OUTPUT);
	struct names names;
	int failed = 0;

	if (!buf)
		return cli_fail("out of memory");
	find_names(&names);
	fprintf(f, "netprof %s, check --fabric, %s nodes\n", NP_VERSION,
		getenv("SLURM_JOB_NUM_NODES"));
	for (size_t i = 0; i < NP_ARRAY_SIZE(parts); i++) {
		fprintf(stderr, "%zu of %zu: %s\n", i + 1,
			NP_ARRAY_SIZE(parts), parts[i].title);
		failed += run_part(f, &parts[i], buf, &names) != 0;
	}
	free(buf);
	fprintf(f, "\n== end, %d of %zu failed\n", failed,
		NP_ARRAY_SIZE(parts));
	printf("%s: %zu parts, %d failed; it names no users, but the nodes.  "
	       "Read it before you send it.\n", path, NP_ARRAY_SIZE(parts),
	       failed);
	return failed ? CLI_FAILED : CLI_DONE;
}

int cli_check_fabric(const char *path, double sec)
{
	char text[32], dir[32];
	FILE *f;
	int rc;

	if (!getenv("SLURM_JOB_ID"))
		return cli_fail("not inside an allocation: salloc -N8 "
				"--exclusive netprof check --fabric=FILE");
	snprintf(text, sizeof(text), "%g", sec);
	rc = make_room(dir);
	if (rc)
		return cli_fail("/tmp: %s", strerror(-rc));
	setenv("S", text, 1);
	setenv("PAIRS", sec < BRIEF_SEC ? BRIEF_PAIRS : "", 1);
	setenv("LEVELS", sec < BRIEF_SEC ? BRIEF_LEVELS : "", 1);
	f = fopen(path, "we");
	if (!f)
		rc = cli_fail("%s: %s", path, strerror(errno));
	else
		rc = run_all(f, path);
	if (f && fclose(f))
		rc = cli_fail("%s: cannot be written", path);
	leave_room(dir);
	return rc;
}
