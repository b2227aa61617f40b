/*
 * netprof check: prints the findings of cli_check.h, and does three things that
 * belong to setting netprof up: it makes the directories of the store
 * (--make-store, --make-users), compares plugin files with the installed Slurm
 * (--versions), and measures a network into a file that a site can send to the
 * project (--fabric).
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_alloc.h"
#include "cli_check.h"
#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_state.h"
#include "np_array.h"
#include "np_clock.h"
#include "np_helper.h"
#include "np_measured.h"
#include "np_option.h"
#include "np_read.h"
#include "np_self_check.h"

/* ---- --fabric: measure a network for the project ---- */

#define MAX_OUTPUT (1u << 20) /* most output of one part, bytes */
#define LIMIT_SEC 1800.0      /* time limit of one part */
#define START_SEC 90.0	      /* until all probes have started */

/*
 * If measurements are shorter than BRIEF_SEC, the user is only trying the
 * command, so there are fewer of them as well.
 */
#define BRIEF_SEC 10
#define BRIEF_LEVELS \
	"--levels=c4,c7 --repeats=1 --seconds=0.5 --probe-seconds=1"
#define BRIEF_PAIRS "--times=10 --repeats=1"

/*
 * Slurm drops the output of a task that ends before srun has closed its input.
 */
#define ON_NODE(commands) "srun -Q -N1 -n1 sh -c 'cat; " commands "' </dev/null"

/*
 * The parts of the file, each a command line for the shell, probes on all
 * nodes, or what the calibration of the part before predicts. $LEVELS and
 * $PAIRS are the options of netprof calibrate and netprof topology, $TMP is a
 * scratch directory.
 */
static const struct part {
	const char *title;
	const char *command;   /* NULL: none */
	const char *transport; /* of probes; "": netprof.conf's; NULL: none */
} parts[] = {
	{ "versions",
	  "netprof version; sinfo -V; uname -srm; netprof-impactb --version; "
	  "netprof-compressionb --version" },
	{ "settings of Slurm",
	  "scontrol show config | grep -E '^(Topology|Switch|Mpi|Select|Proctrack"
	  "|PlugStack|SLURM_VERSION)'" },
	{ "processors of a node",
	  ON_NODE("lscpu | grep -E \"^(Model name|CPU\\(s\\)|Socket|"
		  "NUMA node\\(s\\))\"") },
	{ "network adapters of a node",
	  ON_NODE("cd /sys/class; ls -d infiniband/* cxi/* net/*/device "
		  "2>/dev/null; head -n1 infiniband/*/ports/*/rate infiniband/*/ports/*/"
		  "state infiniband/*/ports/*/link_layer infiniband/*/fw_ver net/*/speed 2>/dev/null; true") },
	{ "counters of network adapters",
	  ON_NODE("cd /sys/class; ls infiniband/*/ports/*/counters "
		  "infiniband/*/ports/*/hw_counters infiniband/*/hw_counters cxi/cxi0/device/telemetry 2>/dev/null; true") },
	{ "libraries of the network on a node",
	  ON_NODE("ls -d /opt/cray/libfabric/* /opt/amazon/efa "
		  "2>/dev/null; fi_info -l 2>/dev/null; ucx_info -v 2>/dev/null | head -n 3; true") },
	{ "idle latencies and the cost of probes", .transport = "" },
	{ "the same over UCX", .transport = "ucx" },
	/* A topology that is different in Slurm does not fail this part. */
	{ "which nodes share a leaf switch",
	  "netprof topology $PAIRS --save=\"$TMP/latencies\"; cat \"$TMP/latencies\"" },
	{ "load levels, how they slow each other, and the sharing coefficients",
	  "netprof calibrate --fresh $LEVELS --output=\"$TMP/calibration.json\"; "
	  "cat \"$TMP/calibration.json\"" },
	{ "load levels, each predicted from the others" },
};

/*
 * Words that identify the user; put_anonymous() replaces them.
 */
struct names {
	char name[6][256];
	size_t n;
};

/* A name of one letter would be replaced everywhere, so it is not added. */
static void add_name(struct names *n, const char *name)
{
	if (name && strlen(name) > 1 && strlen(name) < sizeof(n->name[0]) &&
	    n->n < NP_ARRAY_SIZE(n->name))
		strcpy(n->name[n->n++], name);
}

/* The home directory comes before the user name that it contains. */
static void find_names(struct names *n)
{
	const struct passwd *pw = getpwuid(getuid());

	*n = (struct names){ .n = 0 };
	add_name(n, getenv("HOME"));
	add_name(n, pw ? pw->pw_dir : NULL);
	add_name(n, pw ? pw->pw_name : NULL);
	add_name(n, getenv("USER"));
	add_name(n, getenv("SUDO_USER")); /* of an administrator */
	add_name(n, getenv("SLURM_JOB_ACCOUNT"));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Write text with each of these names replaced, where it is a whole word. */
static void put_anonymous(FILE *f, const char *text, const struct names *n)
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

static int run_command(const char *command, char *buf)
{
	char line[2048];
	char *argv[] = { "sh", "-c", line, NULL };

	snprintf(line, sizeof(line), "exec 2>&1; %s", command);
	return cli_spawn(argv, LIMIT_SEC, buf, MAX_OUTPUT);
}

/* Append a line; lines that do not fit are dropped. */
static void add_line(char *buf, const char *line)
{
	size_t used = strlen(buf);

	if (used + strlen(line) < MAX_OUTPUT)
		strcpy(buf + used, line);
}

static void add_report(const struct np_report *report, void *buf)
{
	char line[NP_REPORT_LINE];

	if (np_report_format(report, line) > 0)
		add_line(buf, line);
}

static int start_probes(struct np_helper_step *step, struct cli_alloc *alloc,
			double sec, struct np_err *err)
{
	struct np_args args;
	int rc;

	np_helper_cmd_probe(&args, &alloc->job, &alloc->conf, "netprof-impactb",
			    alloc->nodes, alloc->n_nodes);
	np_args_add(&args, "--period=20ms");
	np_args_add(&args, "--report-every=10");
	np_args_add(&args, "--duration=%gs", sec);
	rc = np_helper_start(step, &args, alloc->env, (uint32_t)alloc->n_nodes,
			     err);
	np_args_free(&args);
	return rc;
}

/*
 * Read the reports until the step ends; stop it when time is up. Returns its
 * exit status, or -ETIMEDOUT.
 */
static int await_probes(struct np_helper_step *step, double sec, char *buf)
{
	double until_sec = np_mono_sec() + START_SEC + sec;
	bool late;

	while (step->fd >= 0 && np_fd_wait(step->fd, POLLIN, until_sec))
		np_helper_read(step, add_report, buf);
	late = step->fd >= 0;
	np_helper_stop(step, 0, add_report, buf);
	if (late || !step->ended)
		return -ETIMEDOUT;
	return WIFEXITED(step->status) ? WEXITSTATUS(step->status) :
					 128 + WTERMSIG(step->status);
}

/*
 * Run a probe on each node of the allocation. The probes find each other
 * through this process (np_wire.h): PMIx would need a Slurm that has it, and
 * nodes that start a step at the same time (np_pmix.c). buf: their reports, and
 * why they failed.
 */
static int run_probes(const char *transport, double sec, char *buf)
{
	struct cli_alloc alloc = { .env = NULL };
	struct np_helper_step step = NP_HELPER_INIT;
	struct np_err err = NP_ERR_INIT;
	char cause[NP_ERR_LEN + 32];
	int rc = cli_alloc_find(&alloc, 8, "check --fabric=FILE", &err);

	*buf = '\0';
	if (*transport)
		snprintf(alloc.conf.transport, sizeof(alloc.conf.transport),
			 "%s", transport);
	if (!rc)
		rc = cli_alloc_env(&alloc, &err);
	if (!rc)
		rc = start_probes(&step, &alloc, sec, &err);
	snprintf(cause, sizeof(cause), "%s", err.text);
	if (!rc) {
		rc = await_probes(&step, sec, buf);
		np_helper_cause(&step, cause, sizeof(cause));
	}
	if (rc) {
		add_line(buf, cause);
		add_line(buf, "\n");
	}
	cli_alloc_free(&alloc);
	return rc;
}

static int read_calibration(struct np_calibration *cal, struct np_err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/calibration.json", getenv("TMP"));
	return NP_READ_PARSED(path, MAX_OUTPUT, np_calibration_parse, cal, err);
}

/*
 * Compare the measured slowdowns of load levels by each other with those that
 * are predicted from the other levels, as netprof check does.
 */
static int predict_levels(char *buf)
{
	struct np_err err = NP_ERR_INIT;
	struct np_self_check levels = { .n = 0 };
	struct np_calibration cal;
	int rc = read_calibration(&cal, &err);

	if (rc) {
		snprintf(buf, MAX_OUTPUT, "%s\n", err.text);
		return rc;
	}
	rc = np_self_check(cal.fabric, &levels, &err);
	if (rc)
		snprintf(buf, MAX_OUTPUT, "%s\n", err.text);
	else if (!levels.n)
		snprintf(buf, MAX_OUTPUT, "too few load levels\n");
	else
		snprintf(buf, MAX_OUTPUT,
			 "%zu pairs of load levels: mean error %.1f percentage "
			 "points (of the best constant: %.1f; largest: %s, "
			 "%.1f)\n",
			 levels.n, levels.mean_points, levels.constant_points,
			 cal.level[levels.worst].name, levels.worst_points);
	np_calibration_free(&cal);
	return rc;
}

/*
 * A part that fails does not stop the others: its output and exit status are
 * in the file.
 */
static int run_part(FILE *f, const struct part *p, double sec, char *buf,
		    const struct names *names)
{
	double begun_sec = np_mono_sec();
	int rc;

	if (p->command)
		rc = run_command(p->command, buf);
	else if (p->transport)
		rc = run_probes(p->transport, sec, buf);
	else
		rc = predict_levels(buf);
	fprintf(f, "\n== %s\n", p->title);
	if (p->command)
		fprintf(f, "$ %s\n", p->command);
	put_anonymous(f, buf, names);
	fprintf(f, "-- %s %d, after %.1f s\n", rc < 0 ? "error" : "exit", rc,
		np_mono_sec() - begun_sec);
	fflush(f); /* the allocation may end before the last part */
	return rc;
}

static void remove_scratch(const char *dir)
{
	static const char *const file[] = { "calibration.json", "latencies" };
	char path[64];

	for (size_t i = 0; i < NP_ARRAY_SIZE(file); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, file[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* Run all parts into the file. Returns CLI_FAILED if one of them failed. */
static int run_all(FILE *f, const char *path, double sec)
{
	char *buf = cli_calloc(MAX_OUTPUT, 1);
	struct names names;
	int failed = 0;

	find_names(&names);
	fprintf(f, "netprof %s, check --fabric, %s nodes\n", NP_VERSION,
		getenv("SLURM_JOB_NUM_NODES"));
	for (size_t i = 0; i < NP_ARRAY_SIZE(parts); i++) {
		fprintf(stderr, "%zu of %zu: %s\n", i + 1, NP_ARRAY_SIZE(parts),
			parts[i].title);
		failed += run_part(f, &parts[i], sec, buf, &names) != 0;
	}
	free(buf);
	fprintf(f, "\n== end, %d of %zu failed\n", failed,
		NP_ARRAY_SIZE(parts));
	printf("%s: %zu parts, %d failed. It contains names of nodes, but not "
	       "of users; read it before you send it.\n",
	       path, NP_ARRAY_SIZE(parts), failed);
	return failed ? CLI_FAILED : CLI_DONE;
}

/* sec: length of each measurement. Returns the exit status. */
static int measure_fabric(const char *path, double sec)
{
	char dir[] = "/tmp/netprof.XXXXXX"; /* of the parts, which have $TMP */
	FILE *f;
	int rc;

	if (!getenv("SLURM_JOB_ID"))
		return cli_fail("not inside an allocation; run: salloc -N8 "
				"--exclusive netprof check --fabric=FILE");
	if (!mkdtemp(dir) || setenv("TMP", dir, 1))
		return cli_fail("/tmp: %s", strerror(errno));
	setenv("PAIRS", sec < BRIEF_SEC ? BRIEF_PAIRS : "", 1);
	setenv("LEVELS", sec < BRIEF_SEC ? BRIEF_LEVELS : "", 1);
	f = fopen(path, "we");
	if (!f)
		rc = cli_fail("%s: %s", path, strerror(errno));
	else
		rc = run_all(f, path, sec);
	if (f && fclose(f))
		rc = cli_fail("cannot write %s", path);
	remove_scratch(dir);
	return rc;
}

/* ---- --make-store and --make-users ---- */

/* A directory of the store with the owner and mode that slurmctld expects. */
struct store_dir {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

static int fail_to_make(const char *dir, const char *slash, const char *name)
{
	return cli_fail("cannot create %s%s%s: %s", dir, slash, name,
			strerror(errno));
}

/* By the descriptor, as somebody may replace the path in between. */
static int set_owner_and_mode(int fd, const struct store_dir *p)
{
	return fd < 0 || fchown(fd, p->uid, p->gid) || fchmod(fd, p->mode) ?
		     -errno :
		     0;
}

/*
 * Make a directory if it is missing. An existing one is left as it is: its
 * administrator may have reasons. Opened without following links, so that
 * nobody can redirect root.
 */
static int make_dir(int at, const char *store, const struct store_dir *p)
{
	int fd, rc;

	if (mkdirat(at, p->name, 0700))
		return errno == EEXIST ? CLI_DONE :
					 fail_to_make(store, "/", p->name);
	fd = openat(at, p->name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = set_owner_and_mode(fd, p) ? fail_to_make(store, "/", p->name) :
					 CLI_DONE;
	if (fd >= 0)
		close(fd);
	if (rc == CLI_DONE)
		printf("made %s/%s\n", store, p->name);
	return rc;
}

/*
 * Make or open the store itself. Returns its descriptor, or -1 after printing
 * why not: in a directory that others can write, they could replace the
 * directories made here.
 */
static int open_store_dir(const char *store, const struct store_dir *p)
{
	bool made = !mkdir(store, 0700);
	int fd = made || errno == EEXIST ?
			 open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
			 -1;
	struct stat st;

	if (fd < 0 || (made && set_owner_and_mode(fd, p)) || fstat(fd, &st)) {
		fail_to_make(store, "", "");
	} else if (st.st_uid || st.st_mode & 022) {
		cli_fail("%s: owned by uid %u, mode %o; it must belong to root "
			 "and nobody else may write there",
			 store, st.st_uid, st.st_mode & 07777);
	} else {
		if (made)
			printf("made %s\n", store);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * SlurmUser or, if there is no slurm.conf yet, the user slurm or root. Returns
 * NULL after printing that SlurmUser does not exist.
 */
static const struct passwd *slurm_user(void)
{
	const struct passwd *pw;
	struct cli_slurm slurm;

	cli_slurm_read(&slurm);
	pw = getpwnam(*slurm.conf ? slurm.user : "slurm");
	if (!pw && *slurm.conf)
		cli_fail("SlurmUser=%s: no such user", slurm.user);
	return pw || *slurm.conf ? pw : getpwnam("root");
}

/* Make the missing directories of the store. Returns the exit status. */
static int make_store(void)
{
	struct np_err err = NP_ERR_INIT;
	const struct passwd *pw;
	struct np_conf conf;
	int at, rc = CLI_DONE;

	if (geteuid())
		return cli_fail("--make-store: only root can make directories "
				"for SlurmUser");
	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	pw = slurm_user();
	if (!pw)
		return CLI_FAILED;
	const struct store_dir top = { "", 0755, 0, pw->pw_gid }, dirs[] = {
		{ "users", 03777, 0, pw->pw_gid },
		{ "published", 0755, 0, 0 },
		{ "placement", 0755, pw->pw_uid, pw->pw_gid },
	};
	at = open_store_dir(conf.store, &top);
	if (at < 0)
		return CLI_FAILED;
	for (size_t i = 0; i < NP_ARRAY_SIZE(dirs); i++)
		if (make_dir(at, conf.store, &dirs[i]))
			rc = CLI_FAILED;
	close(at);
	return rc;
}

#define LOGIN_DEFS "/etc/login.defs"

struct uids {
	uid_t *uid;
	size_t n;
};

/* The range of uids of people, as login.defs says, or else its defaults. */
static void login_range(FILE *f, uid_t *first, uid_t *last)
{
	char line[256];
	unsigned n;

	*first = 1000;
	*last = 60000;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " UID_MIN %u", &n) == 1)
			*first = n;
		else if (sscanf(line, " UID_MAX %u", &n) == 1)
			*last = n;
}

/* Returns -1 to go on, or the exit status. */
static int add_uid(struct uids *u, uid_t uid)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->uid[i] == uid)
			return -1;
	if (u->n == NP_STORE_MAX_SCAN)
		return cli_fail(
			"more than %d users; name those that use the cluster",
			NP_STORE_MAX_SCAN);
	cli_array_grow(&u->uid, u->n, sizeof(*u->uid));
	u->uid[u->n++] = uid;
	return -1;
}

/* Add the people that the system lists. Returns -1 to go on. */
static int add_listed(struct uids *u)
{
	FILE *f = fopen(LOGIN_DEFS, "re");
	const struct passwd *pw;
	uid_t first, last;
	int rc = -1;

	login_range(f, &first, &last);
	if (f)
		fclose(f);
	setpwent();
	while (rc < 0 && (pw = getpwent()))
		if (pw->pw_uid >= first && pw->pw_uid <= last)
			rc = add_uid(u, pw->pw_uid);
	endpwent();
	return rc;
}

/* Add users with a directory: its mode may keep slurmctld out. */
static int add_existing(struct uids *u, struct cli_store *s)
{
	struct np_err err = NP_ERR_INIT;
	uid_t *found = NULL;
	size_t n = 0;
	int rc = -1;

	if (np_store_uids(s->store, &found, &n, cli_warn_line, NULL, &err))
		return cli_fail("%s", err.text);
	for (size_t i = 0; rc < 0 && i < n; i++)
		rc = add_uid(u, found[i]);
	free(found);
	return rc;
}

/* Add users by name or number, as given on the command line. */
static int add_named(struct uids *u, char *const users[], size_t n)
{
	int rc = -1;
	uid_t uid;

	for (size_t i = 0; rc < 0 && i < n; i++)
		rc = cli_uid_of(users[i], &uid) ?
			     cli_fail("%.64s: no such user", users[i]) :
			     add_uid(u, uid);
	return rc;
}

/* Make the directories of these users. One failure does not stop the others. */
static int make_user_dirs(const struct uids *u, struct cli_store *s)
{
	size_t n_made = 0, n_failed = 0;

	for (size_t i = 0; i < u->n; i++) {
		struct np_err err = NP_ERR_INIT;
		bool made = false;

		if (np_store_make_user(s->store, u->uid[i], &made, &err)) {
			cli_fail("%s", err.text);
			n_failed++;
		} else {
			n_made += made;
		}
	}
	printf("directories of users: %zu made, %zu existed, %zu failed\n",
	       n_made, u->n - n_made - n_failed, n_failed);
	return n_failed ? CLI_FAILED : CLI_DONE;
}

/* users: names or numbers; n 0: all users. Returns the exit status. */
static int make_users(char *const users[], size_t n)
{
	struct uids u = { .n = 0 };
	struct cli_store s;
	int rc = -1;

	if (geteuid())
		return cli_fail("--make-users: only root can make directories "
				"for users");
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = n ? add_named(&u, users, n) : add_listed(&u);
	if (rc < 0 && !n)
		rc = add_existing(&u, &s);
	if (rc < 0)
		rc = make_user_dirs(&u, &s);
	cli_store_close(&s);
	free(u.uid);
	return rc;
}

/* ---- the command ---- */

/* One finding; what to do about it is on a line of its own, after an arrow. */
static void print_finding(const struct cli_finding *f)
{
	static const enum cli_colour colours[] = {
		[CLI_OK] = CLI_GREEN,
		[CLI_WARNING] = CLI_YELLOW,
		[CLI_PROBLEM] = CLI_RED,
	};
	char line[2 * CLI_CHECK_TEXT];

	snprintf(line, sizeof(line), "%s: %s", f->about, f->text);
	printf("%s%-9s%s", cli_colour(colours[f->result]),
	       cli_result_name(f->result), cli_colour(CLI_PLAIN));
	cli_wrap_after(stdout, line, 9, 9);
	/* Not wrapped, so that it can be copied. */
	if (*f->remedy)
		printf("         -> %s\n", f->remedy);
}

static int count(const struct cli_check *c, enum cli_result r)
{
	int n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->found[i].result == r;
	return n;
}

static void print_text(const struct cli_check *c)
{
	int problems = count(c, CLI_PROBLEM);
	int warnings = count(c, CLI_WARNING);

	for (size_t i = 0; i < c->n; i++)
		print_finding(&c->found[i]);
	printf("%d problem%s, %d warning%s\n", problems, cli_plural_s(problems),
	       warnings, cli_plural_s(warnings));
}

static const struct cli_table table = {
	"Result|About|Text|Remedy",
	{ { "checks", "result|about|text|remedy" } },
};

static int print_data(const struct cli_check *c, enum cli_format format)
{
	json_object *j = json_object_new_object();
	json_object *list = cli_put_array(j, "checks");

	for (size_t i = 0; i < c->n; i++) {
		const struct cli_finding *f = &c->found[i];
		json_object *one = cli_append_object(list);

		cli_put_text(one, "result", cli_result_name(f->result));
		cli_put_text(one, "about", f->about);
		cli_put_text(one, "text", f->text);
		cli_put_text(one, "remedy", f->remedy);
	}
	cli_put_bool(j, "problem", count(c, CLI_PROBLEM) > 0);
	return cli_print_output(format, "check", j, &table);
}

/* Returns the exit status: warnings do not fail the command, problems do. */
static int print_findings(const struct cli_check *c, enum cli_format format)
{
	int rc = CLI_DONE;

	if (format)
		rc = print_data(c, format);
	else
		print_text(c);
	return rc ? rc : count(c, CLI_PROBLEM) ? CLI_FAILED : CLI_DONE;
}

/*
 * --versions [PLUGIN.so...]. For plugins that are named, only problems are
 * printed, as make install needs it.
 */
static int print_versions(struct cli_check *c, char **paths, size_t n)
{
	int rc = CLI_DONE;

	cli_check_versions(c, paths, n);
	for (size_t i = 0; i < c->n; i++) {
		if (n && c->found[i].result == CLI_OK)
			continue;
		print_finding(&c->found[i]);
		rc = c->found[i].result == CLI_PROBLEM ? CLI_FAILED : rc;
	}
	return rc;
}

/* --make-users [USER...] */
static int run_make_users(const struct cli_cmd *self, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (*argv[i] == '-')
			return cli_usage(self, "unexpected argument \"%.64s\"",
					 argv[i]);
	return make_users(argv + 2, (size_t)argc - 2);
}

/* --fabric=FILE [--seconds=SEC] */
static int run_fabric(const struct cli_cmd *self, int argc, char **argv)
{
	static const struct np_option seconds = { "seconds", NP_OPTION_SECONDS,
						  0, 1, 3600 };
	const char *path = argv[1] + strlen("--fabric=");
	const size_t n = strlen("--seconds=");
	struct np_err err = NP_ERR_INIT;
	double sec = 30;

	if (!*path)
		return cli_usage(self, "--fabric=: expected a file");
	if (argc > 3)
		return cli_usage(self, "unexpected argument \"%.64s\"",
				 argv[3]);
	if (argc == 3 && strncmp(argv[2], "--seconds=", n))
		return cli_usage(self, "%.64s: expected --seconds=SEC",
				 argv[2]);
	if (argc == 3 && np_option_set(&seconds, argv[2] + n, &sec, &err))
		return cli_usage(self, "%s", err.text);
	return measure_fabric(path, sec);
}

/*
 * The alternatives of the command are recognised by their first word, as they
 * have arguments of their own.
 */
static int run_check(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_check c = { .now = cli_now() };
	bool versions = argc > 1 && !strcmp(argv[1], "--versions");
	bool store = argc > 1 && !strcmp(argv[1], "--make-store");
	struct cli_options o;
	int rc;

	if (argc > 1 && !strncmp(argv[1], "--fabric=", strlen("--fabric=")))
		return run_fabric(self, argc, argv);
	if (argc > 1 && !strcmp(argv[1], "--make-users"))
		return run_make_users(self, argc, argv);
	if (store)
		return argc == 2 ?
			       make_store() :
			       cli_usage(self, "unexpected argument \"%.64s\"",
					 argv[2]);
	if (versions && argc > 2 && *argv[2] == '-')
		return cli_usage(self, "unexpected argument \"%.64s\"",
				 argv[2]);
	rc = versions ? -1 : cli_options_parse(self, argc, argv, NULL, &o);
	if (rc >= 0)
		return rc;
	c.found = cli_calloc(CLI_CHECK_MAX, sizeof(*c.found));
	if (versions) {
		rc = print_versions(&c, argv + 2, (size_t)argc - 2);
	} else {
		cli_check_all(&c);
		rc = print_findings(&c, o.format);
	}
	free(c.found);
	return rc;
}

const struct cli_cmd cmd_check = {
	.name = "check",
	.args = "[--json|--parsable] | --versions [PLUGIN.so...] |\n"
		"        --make-store | --make-users [USER...] |\n"
		"        --fabric=FILE [--seconds=SEC]",
	.help = "check the installation, and say what to correct",
	.text = "Checks the configuration, the versions of Slurm and of the plugins, the\n"
		"permissions of the store, the calibration, the profiles, and whether placement\n"
		"works. Each line says ok, warning or problem, and what to do. Any user may\n"
		"run it and sees what that user may read; it sees most as root on the host of\n"
		"slurmctld. Exits with 1 if there is a problem.\n\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --versions          only check whether the installed plugins, or these, fit\n"
		"                      the installed Slurm\n"
		"  --make-store        as root: make the store and its missing directories, for\n"
		"                      the installed Slurm\n"
		"  --make-users        as root: make the directories of these users in the store\n"
		"                      (of all users if none are named), before somebody else\n"
		"                      can take their names\n"
		"  --fabric=FILE       inside an allocation (salloc -N8 --exclusive): measure\n"
		"                      this network for half an hour, and write the results\n"
		"                      to a file that names no user and can be sent to the\n"
		"                      project\n"
		"  --seconds=SEC       length of each of these measurements (default 30)",
	.examples =
		"  netprof check\n"
		"  netprof check --make-store        # as root\n"
		"  netprof check --versions\n"
		"  salloc -N8 --exclusive netprof check --fabric=fabric.txt\n",
	.takes = CLI_TAKES_FORMAT,
	.run = run_check,
};
