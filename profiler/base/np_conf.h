/*
 * netprof.conf: "Key=Value" lines as in slurm.conf; '#' starts a comment. The
 * same keys can be given to the SPANK plugin in plugstack.conf, where they
 * override those of the file. netprof.conf(5) describes them.
 *
 * np_conf.c has one table of all keys, with the limits of each and the member
 * that it sets. That table is the only place where the value of a key is
 * parsed. No other file is read, but the names of users and groups in
 * TrustedUsers and Claim are looked up when these keys are set.
 */
#ifndef NP_CONF_H
#define NP_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_err.h"
#include "np_snapshot.h"

#ifndef NP_SYSCONFDIR
#define NP_SYSCONFDIR "/etc/slurm"
#endif
#define NP_CONF_DEFAULT_PATH NP_SYSCONFDIR "/netprof.conf"
#define NP_CONF_STORE "/var/lib/netprof"
#define NP_CONF_MAX_RUNS 1000 /* most runs kept and read per application */
#define NP_CONF_PERIOD_MIN_SEC 1e-3
#define NP_CONF_PERIOD_MAX_SEC 3600.0

/* ---- placement ---- */

#define NP_PLACE_MAX_PARTITIONS 64
#define NP_PLACE_MAX_RULES 64
#define NP_PLACE_MAX_TRUSTED 64
#define NP_PLACE_NAME_MAX 63	 /* longest partition name */
#define NP_PLACE_PATTERN_MAX 127 /* longest pattern */
#define NP_PLACE_TEXT_MAX 1024	 /* longest job name or comment matched */

/* Jobs whose name or comment matches pattern (fnmatch(3)) run app. */
struct np_place_rule {
	enum np_place_what { NP_PLACE_JOB_NAME, NP_PLACE_COMMENT } what;
	char pattern[NP_PLACE_PATTERN_MAX + 1];
	char app[NP_APP_MAX + 1];
};

/*
 * A published profile can move the jobs of other users, so sites restrict who
 * may run jobs under its name: Claim=PATTERN:WHO,... in netprof.conf.
 *
 * A name that matches no pattern may be used by the users whose own runs agree
 * with its profile (np_catalog.h); for other users it counts for their own jobs
 * only. A name that matches a pattern may be used by those who are named in a
 * matching line, and by nobody else.
 */

#define NP_AUTH_MAX_RULES 64 /* one bit each in np_auth_user.groups */
#define NP_AUTH_PATTERN_MAX 127
#define NP_AUTH_NAME_MAX 63

/* One WHO of a Claim line, with the pattern of the line. */
struct np_auth_rule {
	enum np_auth_by {
		NP_AUTH_BY_ALL,	    /* "all" */
		NP_AUTH_BY_DEFAULT, /* "default": as if no line matched */
		NP_AUTH_BY_USER,
		NP_AUTH_BY_GROUP,
		NP_AUTH_BY_ACCOUNT,
		NP_AUTH_BY_PARTITION,
	} by;
	uint32_t id;			       /* uid or gid */
	char pattern[NP_AUTH_PATTERN_MAX + 1]; /* of names, fnmatch(3) */
	char name[NP_AUTH_NAME_MAX + 1];       /* of accounts, partitions */
};

/*
 * Parse PATTERN:WHO,... and append its rules to rule[], which has *n rules and
 * space for NP_AUTH_MAX_RULES. Names of users and groups are looked up. Returns
 * 0, or -EINVAL with why, and then nothing is added.
 */
int np_auth_parse(const char *text, struct np_auth_rule *rule, size_t *n,
		  struct np_err *why);

/*
 * The keys of placement. If a key may be repeated, each line adds to the
 * earlier ones, and an empty value removes them.
 */
struct np_place_conf {
	enum np_mode mode; /* Placement=off|advise|prefer|enforce */
	/* PlacementPartition=NAME:MODE; may be repeated */
	struct {
		char name[NP_PLACE_NAME_MAX + 1];
		enum np_mode mode;
	} partition[NP_PLACE_MAX_PARTITIONS];
	size_t n_partitions;
	double max_slowdown; /* MaxSlowdown=10%, 0 to 100; a fraction */
	double max_hold_sec; /* MaxDefer=1h, 1 s to 365 days */
	/* PlacementInterval=2s, 100 ms to 1 h: between two decisions */
	double interval_sec;
	/* UnknownAs=APP, a published profile; "" (UnknownAs=none): no load */
	char unknown_as[NP_APP_MAX + 1];
	/*
	 * TrustedUsers=USER,...: uids or names; may be repeated. Their own
	 * profiles may move the jobs of other users, like published ones.
	 */
	uint32_t trusted[NP_PLACE_MAX_TRUSTED];
	size_t n_trusted;
	/*
	 * JobNameApp=PATTERN:APP, CommentApp=PATTERN:APP; may be repeated. The
	 * first rule that matches counts.
	 */
	struct np_place_rule rule[NP_PLACE_MAX_RULES];
	size_t n_rules;
	/* Claim=PATTERN:WHO,...; may be repeated */
	struct np_auth_rule auth_rule[NP_AUTH_MAX_RULES];
	size_t n_auth_rules;
};

void np_place_conf_init(struct np_place_conf *conf); /* Placement=off */

/* Mode of a partition; partition NULL: the default mode. */
enum np_mode np_place_conf_mode(const struct np_place_conf *conf,
				const char *partition);

/* Whether the mode of any partition is not off. */
bool np_place_conf_enabled(const struct np_place_conf *conf);

/* "enforce" */
const char *np_mode_name(enum np_mode mode);

/*
 * The application that the rules give a job with this name and comment (NULL or
 * "": none); NULL: no rule matches. Texts longer than NP_PLACE_TEXT_MAX match
 * no rule: users choose them, and the cost of matching must be bounded.
 */
const char *np_place_conf_app(const struct np_place_conf *conf,
			      const char *job_name, const char *comment);

/* ---- metrics ---- */

/*
 * The keys that start with "Metric": where the site's metrics are, and what
 * they are called there.
 *
 * A signal is a quantity of a node, such as its traffic. A table has a row for
 * each signal with an expression in PromQL in which
 *
 *	$nodes	is the matcher of the nodes in question
 *	$label	is the label that holds their names (MetricsLabel)
 *	$window	is a duration: the run, or one step of a timeline
 *
 * and which returns one value per node. There are tables for common exporters,
 * and sites can add rows of their own (Metric=SIGNAL:EXPRESSION).
 */

enum np_signal {
	NP_SIGNAL_TRAFFIC,     /* bytes per second, sent and received */
	NP_SIGNAL_CPU_WAIT,    /* share of time a process waited for a CPU */
	NP_SIGNAL_STEAL,       /* share of CPU time taken by the hypervisor */
	NP_SIGNAL_CLOCK,       /* frequency of the CPUs, Hz */
	NP_SIGNAL_MEMORY_WAIT, /* share of time a process waited for memory */
	NP_SIGNAL_SWAP,	       /* pages per second */
	NP_SIGNAL_IO_WAIT,     /* share of time a process waited for I/O */
	NP_SIGNAL_NFS,	       /* retransmitted requests per second */
	NP_SIGNAL_NIC_ERRORS,  /* errors and discards per second */
	NP_SIGNAL_LINK_SPEED,  /* capacity of the links, bytes per second */
	NP_SIGNAL_RETRANSMITS, /* TCP segments per second */
	NP_SIGNAL_CONGESTION,  /* rate of a congestion counter of the adapter */
	NP_SIGNAL_CLOCK_SKEW,  /* the node's date minus the server's, seconds */
	/* Not used to judge a cause; shown if they are unusual. */
	NP_SIGNAL_THROTTLING, /* times per second that CPUs were throttled */
	NP_SIGNAL_DISK,	      /* bytes per second, read and written */
	NP_SIGNAL_NFS_CALLS,  /* requests per second */
	NP_SIGNAL_LOAD,	      /* processes that run or wait */
	NP_N_SIGNALS
};

#define NP_SIGNAL_SHOWN NP_SIGNAL_THROTTLING /* the first of these */

/* "traffic", "cpu_wait" ... */
const char *np_signal_name(enum np_signal signal);

#define NP_METRICS_EXPRESSION 1024 /* bytes of an expression, with its NUL */
#define NP_METRICS_TABLES 8
#define NP_METRICS_LABEL 64

struct np_metrics_conf {
	char url[1024];		      /* MetricsURL; "": no metrics server */
	char label[NP_METRICS_LABEL]; /* MetricsLabel=instance */
	uint8_t table[NP_METRICS_TABLES]; /* MetricsTable, in that order */
	uint32_t n_tables;
	char own[NP_N_SIGNALS][NP_METRICS_EXPRESSION]; /* Metric=; "": none */
	double interval_sec; /* MetricsInterval=15s between two samples */
	double timeout_sec;  /* MetricsTimeout=5s for a response */
	/* MetricsTokenFile, MetricsCertFile, MetricsKeyFile, MetricsCAFile */
	char token_file[PATH_MAX], cert_file[PATH_MAX], key_file[PATH_MAX],
		ca_file[PATH_MAX];
};

void np_metrics_conf_init(struct np_metrics_conf *conf);

/*
 * Set the values of these keys; value is changed. The second argument is the
 * member of struct np_metrics_conf, for the last two the structure. Each
 * returns 0 or -EINVAL; the last two with err, the others without, as
 * np_conf_set_key() says what is expected. The last three are exported for the
 * unit tests.
 */
int np_metrics_set_url(char *value, void *url, struct np_err *err);
int np_metrics_set_label(char *value, void *label, struct np_err *err);
int np_metrics_set_tables(char *value, void *conf, struct np_err *err);
int np_metrics_add(char *value, void *conf, struct np_err *err);

/* The expression of a signal; NULL: no table has one. */
const char *np_metrics_expression(const struct np_metrics_conf *conf,
				  enum np_signal signal);

/* ---- the transport of probes ---- */

/*
 * Network library that the probes use: "ucx" or "ucx:TLS", with TLS as in
 * UCX_TLS; "ofi:PROVIDER[/DEVICE]", of libfabric; "auto": by the networks of
 * the node.
 */
struct np_transport {
	enum { NP_TRANSPORT_AUTO, NP_TRANSPORT_UCX, NP_TRANSPORT_OFI } library;
	const char *of; /* TLS or PROVIDER[/DEVICE], part of the text; or "" */
};
#define NP_TRANSPORT_EXPECTED \
	"auto, ucx, ucx:TRANSPORTS or ofi:PROVIDER[/DEVICE], without spaces"

/* Returns 0 or -EINVAL. */
int np_transport_parse(const char *text, struct np_transport *out);

/* ---- all settings ---- */

struct np_conf {
	bool enabled;		   /* Enabled=yes|no */
	char store[PATH_MAX];	   /* Store=DIR */
	char bindir[PATH_MAX];	   /* BinDir=DIR, of the probes */
	char libexecdir[PATH_MAX]; /* LibexecDir=DIR */
	double period_sec;	   /* Period=100ms, 1 ms to 1 h */
	uint32_t message_bytes;	   /* MessageSize=1K, 8 to 1 MiB */
	uint32_t per_node;	   /* ProcessesPerNode=1 or 2; calibration */
	/* ProbeAfter=2s: age of a step when probing starts; np_rendezvous.h */
	double probe_after_sec;
	uint32_t probe_pairs;	/* ProbePairs=2 per leaf, 1 to 128 */
	uint32_t probe_nodes;	/* ProbeNodes=32 at most, 2 to 256 */
	double calibrate_share; /* CalibrateShare=20% of a run, 0 to 1 */
	/* LevelLeadIn=2s: time a level runs alone before the step */
	double lead_in_sec;
	char transport[128];   /* Transport=auto, see above */
	char net_devices[128]; /* NetDevices=eth0: UCX_NET_DEVICES */
	char transports[128];  /* Transports=tcp,self: UCX_TLS */
	char rails[PATH_MAX];  /* Rails=FILE (np_topo.h); "": none */
	uint32_t max_runs;     /* MaxRuns=1000 kept per application */
	uint64_t trace_bytes;  /* TraceSize=4G of a run, all ranks */
	uint32_t max_traces;   /* MaxTraces=4 kept per application */
	struct np_place_conf place;
	struct np_metrics_conf metrics;
	/*
	 * TrustedUsers and Claim are not read: see np_conf_for_step(). To be set
	 * before the file is applied.
	 */
	bool for_step;
};

/* Set the built-in defaults. */
void np_conf_init(struct np_conf *conf);

/*
 * Apply one "Key=Value" (keys in any case). Returns 0, or -EINVAL with err: the
 * key, the value and what was expected.
 */
int np_conf_set(struct np_conf *conf, const char *assignment,
		struct np_err *err);

/*
 * Likewise, for the key whose name is the first name_len characters of name.
 * Also returns -ENOENT, without err, if there is no such key.
 */
int np_conf_set_key(struct np_conf *conf, const char *name, size_t name_len,
		    char *value, struct np_err *err);

/*
 * Apply a file, which may be missing. Lines in error are skipped, and the first
 * of them is reported with file and line. Returns 0, -EINVAL (a line in error)
 * or another -errno. Exported for the unit tests.
 */
int np_conf_load(struct np_conf *conf, const char *path, struct np_err *err);

/* The file named by NETPROF_CONF, or the default path. */
const char *np_conf_path(void);

/*
 * Apply the defaults, then np_conf_path(), then NETPROF_STORE. Returns 0;
 * -EINVAL with err for a line in error, after all others were applied; or
 * another -errno.
 */
int np_conf_from_environment(struct np_conf *conf, struct np_err *err);

/*
 * Likewise, but without TrustedUsers and Claim, which name users and groups:
 * looking these up may take long, or fail, if the site's directory service does
 * not answer. For everything that a step or a daemon of Slurm waits for.
 */
int np_conf_for_step(struct np_conf *conf, struct np_err *err);

/*
 * np_conf_from_environment() in parts, for a program in which a thread that may
 * hang reads the file. np_conf_read() reads np_conf_path(); *text is malloc'ed,
 * or NULL if the default path does not exist. Returns its length, or -errno with
 * err. np_conf_from_text() applies the text, which it modifies, or NULL, and
 * then NETPROF_STORE, after np_conf_init().
 */
ssize_t np_conf_read(char **text, struct np_err *err);
int np_conf_from_text(struct np_conf *conf, char *text, size_t len,
		      struct np_err *err);

#endif
