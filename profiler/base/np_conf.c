#include "np_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_option.h"
#include "np_read.h"
#include "np_text.h"

#ifndef NP_BINDIR
#define NP_BINDIR "/usr/local/bin"
#endif
#ifndef NP_LIBEXECDIR
#define NP_LIBEXECDIR "/usr/local/libexec/netprof"
#endif

#define MAX_FILE 65536 /* bytes of a file; the sample has about 3000 */
#define MAX_KEY 32     /* characters of an unknown key in a message */
#define MAX_VALUE 80   /* characters of a value in a message */
#define MAX_USER 64    /* longest name of a user */

/* ---- placement ---- */

static const char *const mode_names[] = {
	[NP_MODE_OFF] = "off",
	[NP_MODE_ADVISE] = "advise",
	[NP_MODE_PREFER] = "prefer",
	[NP_MODE_ENFORCE] = "enforce",
};

const char *np_mode_name(enum np_mode mode)
{
	return mode_names[mode];
}

void np_place_conf_init(struct np_place_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->mode = NP_MODE_OFF;
	conf->max_slowdown = 0.1;
	conf->max_hold_sec = 3600;
	conf->interval_sec = 2;
}

enum np_mode np_place_conf_mode(const struct np_place_conf *conf,
				const char *partition)
{
	for (size_t i = 0; partition && i < conf->n_partitions; i++)
		if (!strcmp(conf->partition[i].name, partition))
			return conf->partition[i].mode;
	return conf->mode;
}

bool np_place_conf_enabled(const struct np_place_conf *conf)
{
	if (conf->mode != NP_MODE_OFF)
		return true;
	for (size_t i = 0; i < conf->n_partitions; i++)
		if (conf->partition[i].mode != NP_MODE_OFF)
			return true;
	return false;
}

static bool rule_matches(const struct np_place_rule *rule, const char *text)
{
	return text && *text &&
	       strnlen(text, NP_PLACE_TEXT_MAX + 1) <= NP_PLACE_TEXT_MAX &&
	       !fnmatch(rule->pattern, text, 0);
}

const char *np_place_conf_app(const struct np_place_conf *conf,
			      const char *job_name, const char *comment)
{
	for (size_t i = 0; i < conf->n_rules; i++)
		if (rule_matches(&conf->rule[i],
				 conf->rule[i].what == NP_PLACE_JOB_NAME ?
					 job_name :
					 comment))
			return conf->rule[i].app;
	return NULL;
}

/* ---- users and groups ---- */

/* Buffers for entries of users and of groups, which list their members. */
#define PASSWD_BYTES 16384
#define GROUP_BYTES 65536
#define MAX_GROUP_BYTES (16u << 20)

static int parse_id(const char *text, uint32_t *id)
{
	uint64_t value;

	if (np_whole_parse(text, UINT32_MAX - 1, &value))
		return -EINVAL;
	*id = (uint32_t)value;
	return 0;
}

/*
 * Find the uid of a user. Digits are taken as the uid itself. Returns 0,
 * -EINVAL (invalid number) or -ENOENT (no such name, or no database).
 */
static int find_uid(const char *user, uint32_t *uid)
{
	char buf[PASSWD_BYTES];
	struct passwd entry, *found = NULL;

	if (isdigit((unsigned char)*user))
		return parse_id(user, uid);
	if (!*user || getpwnam_r(user, &entry, buf, sizeof(buf), &found) ||
	    !found)
		return -ENOENT;
	*uid = entry.pw_uid;
	return 0;
}

/* Find the gid of a group, like find_uid(). */
static int find_gid(const char *group, uint32_t *gid)
{
	struct group entry, *found = NULL;
	int rc = isdigit((unsigned char)*group) ? parse_id(group, gid) : ERANGE;

	if (rc <= 0)
		return rc;
	for (size_t size = GROUP_BYTES;
	     *group && rc == ERANGE && size <= MAX_GROUP_BYTES; size *= 4) {
		char *buf = malloc(size);

		rc = buf ? getgrnam_r(group, &entry, buf, size, &found) :
			   ENOMEM;
		if (!rc && found)
			*gid = found->gr_gid;
		free(buf);
	}
	return !rc && found ? 0 : -ENOENT;
}

/* ---- who may use a published name ---- */

#define MAX_WHO 128 /* characters of one WHO, such as "group=chem" */

static int fail_bad_who(struct np_err *why, const char *who)
{
	return np_errf(why, -EINVAL,
		       "\"%.40s\": expected all, default, user=USER, "
		       "group=GROUP, account=PATTERN or partition=PATTERN",
		       who);
}

static int set_name(struct np_auth_rule *rule, const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NP_AUTH_NAME_MAX)
		return -EINVAL;
	memcpy(rule->name, name, len + 1);
	return 0;
}

/* Parse one WHO, such as "group=chem". */
static int parse_who(const char *who, struct np_auth_rule *rule,
		     struct np_err *why)
{
	static const struct {
		const char *key;
		enum np_auth_by by;
	} keys[] = {
		{ "user=", NP_AUTH_BY_USER },
		{ "group=", NP_AUTH_BY_GROUP },
		{ "account=", NP_AUTH_BY_ACCOUNT },
		{ "partition=", NP_AUTH_BY_PARTITION },
	};
	const char *name;
	size_t i = 0;

	rule->by = !strcmp(who, "all") ? NP_AUTH_BY_ALL : NP_AUTH_BY_DEFAULT;
	if (rule->by == NP_AUTH_BY_ALL || !strcmp(who, "default"))
		return 0;
	while (i < NP_ARRAY_SIZE(keys) &&
	       strncmp(who, keys[i].key, strlen(keys[i].key)))
		i++;
	if (i == NP_ARRAY_SIZE(keys))
		return fail_bad_who(why, who);
	name = who + strlen(keys[i].key);
	rule->by = keys[i].by;
	if (rule->by == NP_AUTH_BY_USER)
		return find_uid(name, &rule->id) ?
			       np_errf(why, -EINVAL,
				       "unknown user \"%.40s\", expected a uid "
				       "or the name of a user",
				       name) :
			       0;
	if (rule->by == NP_AUTH_BY_GROUP)
		return find_gid(name, &rule->id) ?
			       np_errf(why, -EINVAL,
				       "unknown group \"%.40s\", expected a "
				       "gid or the name of a group",
				       name) :
			       0;
	return set_name(rule, name) ? fail_bad_who(why, who) : 0;
}

/*
 * Add a rule for one WHO, of len characters, and for the pattern, the first
 * pattern_len characters of text. *n_rules counts it even if it is incomplete,
 * so that the caller clears it.
 */
static int add_who(const char *who, size_t len, const char *text,
		   size_t pattern_len, struct np_auth_rule *rule,
		   size_t *n_rules, struct np_err *why)
{
	char copy[MAX_WHO + 1];
	int rc;

	/* No valid WHO is longer than this. */
	len = len <= MAX_WHO ? len : MAX_WHO;
	memcpy(copy, who, len);
	copy[len] = '\0';
	if (*n_rules == NP_AUTH_MAX_RULES)
		return np_errf(why, -EINVAL,
			       "too many at \"%.40s\", expected at most %d in "
			       "all lines of Claim",
			       copy, NP_AUTH_MAX_RULES);
	memcpy(rule[*n_rules].pattern, text, pattern_len);
	rc = parse_who(copy, &rule[*n_rules], why);
	++*n_rules;
	return rc;
}

int np_auth_parse(const char *text, struct np_auth_rule *rule, size_t *n_rules,
		  struct np_err *why)
{
	const char *colon = strrchr(text, ':');
	size_t pattern_len = colon ? (size_t)(colon - text) : 0,
	       n_new = *n_rules;
	int rc = 0;

	if (!pattern_len || pattern_len > NP_AUTH_PATTERN_MAX)
		return np_errf(why, -EINVAL,
			       "expected PATTERN:WHO,..., a pattern of 1 to %d "
			       "characters",
			       NP_AUTH_PATTERN_MAX);
	for (const char *who = colon + 1; !rc;) {
		size_t len = strcspn(who, ",");

		rc = add_who(who, len, text, pattern_len, rule, &n_new, why);
		who += len;
		if (!*who++)
			break;
	}
	if (rc)
		memset(rule + *n_rules, 0, (n_new - *n_rules) * sizeof(*rule));
	else
		*n_rules = n_new;
	return rc;
}

/* ---- metrics ---- */

static const char *const signal_names[NP_N_SIGNALS] = {
	"traffic",     "cpu_wait",   "steal",	   "clock",	 "memory_wait",
	"swap",	       "io_wait",    "nfs",	   "nic_errors", "link_speed",
	"retransmits", "congestion", "clock_skew", "throttling", "disk",
	"nfs_calls",   "load",
};

const char *np_signal_name(enum np_signal signal)
{
	return signal_names[signal];
}

#define RATE(metric) "sum by ($label) (rate(" metric "{$nodes}[$window]))"
#define MAX_RATE(metric) "max by ($label) (rate(" metric "{$nodes}[$window]))"
/* Excludes devices that are not links of the node to a switch. */
#define NIC_RATE(metric) \
	"sum by ($label) (rate(" metric "{$nodes,device!~\"lo|bond.*|br.*|" \
	"docker.*|veth.*|virbr.*\"}[$window]))"

/* Excludes devices whose traffic is also counted for others. */
#define DISK_RATE(metric) \
	"sum by ($label) (rate(" metric "{$nodes,device!~\"dm-.*|md.*\"}" \
	"[$window]))"

/* clang-format off */
static const struct {
	const char *name;
	const char *expression[NP_N_SIGNALS];
} tables[] = {
	{ "node_exporter", {
		[NP_SIGNAL_TRAFFIC] =
			NIC_RATE("node_network_receive_bytes_total") " + "
			NIC_RATE("node_network_transmit_bytes_total"),
		[NP_SIGNAL_CPU_WAIT] =
			MAX_RATE("node_pressure_cpu_waiting_seconds_total"),
		[NP_SIGNAL_STEAL] =
			"avg by ($label) (rate(node_cpu_seconds_total"
			"{$nodes,mode=\"steal\"}[$window]))",
		[NP_SIGNAL_CLOCK] = "avg by ($label) (avg_over_time("
			"node_cpu_scaling_frequency_hertz{$nodes}[$window]))",
		[NP_SIGNAL_MEMORY_WAIT] =
			MAX_RATE("node_pressure_memory_waiting_seconds_total"),
		[NP_SIGNAL_SWAP] = RATE("node_vmstat_pswpin") " + "
			RATE("node_vmstat_pswpout"),
		[NP_SIGNAL_IO_WAIT] =
			MAX_RATE("node_pressure_io_waiting_seconds_total"),
		[NP_SIGNAL_NFS] = RATE("node_nfs_rpc_retransmissions_total"),
		[NP_SIGNAL_NIC_ERRORS] =
			NIC_RATE("node_network_receive_errs_total") " + "
			NIC_RATE("node_network_transmit_errs_total") " + "
			NIC_RATE("node_network_receive_drop_total") " + "
			NIC_RATE("node_network_transmit_drop_total"),
		[NP_SIGNAL_LINK_SPEED] = "sum by ($label) (avg_over_time("
			"node_network_speed_bytes{$nodes,device!~\"lo|bond.*|"
			"br.*|docker.*|veth.*|virbr.*\"}[$window]))",
		[NP_SIGNAL_RETRANSMITS] = RATE("node_netstat_Tcp_RetransSegs"),
		[NP_SIGNAL_CLOCK_SKEW] =
			"max by ($label) (node_time_seconds{$nodes} - "
			"timestamp(node_time_seconds{$nodes}))",
		[NP_SIGNAL_THROTTLING] =
			RATE("node_cpu_core_throttles_total") " + "
			RATE("node_cpu_package_throttles_total"),
		[NP_SIGNAL_DISK] = DISK_RATE("node_disk_read_bytes_total") " + "
			DISK_RATE("node_disk_written_bytes_total"),
		[NP_SIGNAL_NFS_CALLS] = RATE("node_nfs_rpcs_total"),
		[NP_SIGNAL_LOAD] = "max by ($label) (avg_over_time("
			"node_load1{$nodes}[$window]))" } },
	{ "infiniband", { /* the collector of that name in node_exporter */
		[NP_SIGNAL_TRAFFIC] =
			RATE("node_infiniband_port_data_received_bytes_total") " + "
			RATE("node_infiniband_port_data_transmitted_bytes_total"),
		[NP_SIGNAL_NIC_ERRORS] =
			RATE("node_infiniband_port_errors_received_total") " + "
			RATE("node_infiniband_port_discards_transmitted_total") " + "
			RATE("node_infiniband_link_error_recovery_total"),
		[NP_SIGNAL_LINK_SPEED] = "sum by ($label) (avg_over_time("
			"node_infiniband_rate_bytes_per_second{$nodes}[$window]))",
		[NP_SIGNAL_CONGESTION] =
			RATE("node_infiniband_port_transmit_wait_total") } },
	{ "slingshot", { /* Omnistat's collector for cxi devices */
		[NP_SIGNAL_TRAFFIC] =
			RATE("omnistat_network_cxi_rx_ok_octets") " + "
			RATE("omnistat_network_cxi_tx_ok_octets"),
		[NP_SIGNAL_NIC_ERRORS] =
			RATE("omnistat_network_cxi_rx_bad_octets") " + "
			RATE("omnistat_network_cxi_tx_bad_octets") " + "
			RATE("omnistat_network_cxi_pcs_uncorrected_cw"),
		[NP_SIGNAL_CONGESTION] =
			RATE("omnistat_network_cxi_pause_recv") } },
	{ "omnistat", {
		[NP_SIGNAL_TRAFFIC] = RATE("omnistat_network_rx_bytes") " + "
			RATE("omnistat_network_tx_bytes") } },
};
/* clang-format on */

void np_metrics_conf_init(struct np_metrics_conf *conf)
{
	*conf = (struct np_metrics_conf){
		.label = "instance",
		.n_tables = 1,
		.interval_sec = 15,
		.timeout_sec = 5,
	};
}

int np_metrics_set_url(char *value, void *url, struct np_err *err)
{
	size_t len = strlen(value);

	(void)err;
	if (!strcmp(value, "none")) {
		*(char *)url = '\0';
		return 0;
	}
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)value[i]))
			return -EINVAL;
	if ((strncmp(value, "http://", 7) && strncmp(value, "https://", 8)) ||
	    len >= sizeof(((struct np_metrics_conf *)0)->url))
		return -EINVAL;
	while (len && value[len - 1] == '/')
		value[--len] = '\0';
	strcpy(url, value);
	return 0;
}

/* A label matches [a-zA-Z_][a-zA-Z0-9_]*. */
int np_metrics_set_label(char *value, void *label, struct np_err *err)
{
	size_t len = strlen(value);

	(void)err;
	if (!len || len >= NP_METRICS_LABEL || isdigit((unsigned char)*value))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)value[i]) && value[i] != '_')
			return -EINVAL;
	strcpy(label, value);
	return 0;
}

int np_metrics_set_tables(char *value, void *conf, struct np_err *err)
{
	struct np_metrics_conf *metrics = conf;
	uint8_t list[NP_METRICS_TABLES];
	uint32_t n = 0;

	for (char *word; (word = strsep(&value, ",")); n++) {
		size_t i = 0;

		while (i < NP_ARRAY_SIZE(tables) &&
		       strcmp(tables[i].name, word))
			i++;
		if (i == NP_ARRAY_SIZE(tables) || n == NP_METRICS_TABLES)
			return np_errf(err, -EINVAL,
				       "expected tables, separated by commas: "
				       "node_exporter, infiniband, slingshot, "
				       "omnistat");
		list[n] = (uint8_t)i;
	}
	memcpy(metrics->table, list, n);
	metrics->n_tables = n;
	return 0;
}

int np_metrics_add(char *value, void *conf, struct np_err *err)
{
	struct np_metrics_conf *metrics = conf;
	char *colon = strchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : 0, signal = 0;

	while (signal < NP_N_SIGNALS &&
	       (strlen(signal_names[signal]) != len ||
		strncmp(signal_names[signal], value, len)))
		signal++;
	if (signal == NP_N_SIGNALS)
		return np_errf(err, -EINVAL,
			       "expected SIGNAL:EXPRESSION, a signal of "
			       "netprof.conf(5) such as traffic");
	if (!strstr(colon, "$nodes") ||
	    strlen(colon + 1) >= NP_METRICS_EXPRESSION)
		return np_errf(err, -EINVAL,
			       "expected an expression of at most %d bytes "
			       "that has $nodes in it",
			       NP_METRICS_EXPRESSION - 1);
	strcpy(metrics->own[signal], colon + 1);
	return 0;
}

const char *np_metrics_expression(const struct np_metrics_conf *conf,
				  enum np_signal signal)
{
	if (conf->own[signal][0])
		return conf->own[signal];
	for (uint32_t i = 0; i < conf->n_tables; i++)
		if (tables[conf->table[i]].expression[signal])
			return tables[conf->table[i]].expression[signal];
	return NULL;
}

/* ---- values of keys ---- */

static int set_yes_no(char *value, void *field, struct np_err *err)
{
	(void)err;
	if (strcasecmp(value, "yes") && strcasecmp(value, "no"))
		return -EINVAL;
	*(bool *)field = !strcasecmp(value, "yes");
	return 0;
}

static int set_dir(char *value, void *field, struct np_err *err)
{
	(void)err;
	if (value[0] != '/' || strlen(value) >= PATH_MAX)
		return -EINVAL;
	strcpy(field, value);
	return 0;
}

/*
 * Agents get the path of a probe in a line of words, in which those before it
 * that have a "=" set variables.
 */
static int set_bindir(char *value, void *field, struct np_err *err)
{
	return strpbrk(value, " \t=") ? -EINVAL : set_dir(value, field, err);
}

static int set_trace_size(char *value, void *bytes, struct np_err *err)
{
	uint64_t size;

	(void)err;
	if (np_bytes_parse(value, &size) || size < 1 << 20 || size > 1ull << 40)
		return -EINVAL;
	*(uint64_t *)bytes = size;
	return 0;
}

/* The value is passed unchanged to the probes, in their environment. */
static int set_ucx(char *value, void *field, struct np_err *err)
{
	size_t len = strlen(value);

	(void)err;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)value[i]))
			return -EINVAL;
	if (len >= sizeof(((struct np_conf *)0)->transports))
		return -EINVAL;
	strcpy(field, value);
	return 0;
}

int np_transport_parse(const char *text, struct np_transport *out)
{
	for (const char *pos = text; *pos; pos++)
		if (!isgraph((unsigned char)*pos))
			return -EINVAL;
	*out = (struct np_transport){ NP_TRANSPORT_AUTO, "" };
	if (!strcmp(text, "auto"))
		return 0;
	out->library = strncmp(text, "ofi:", 4) ? NP_TRANSPORT_UCX :
						  NP_TRANSPORT_OFI;
	if (!strcmp(text, "ucx"))
		return 0;
	if (out->library == NP_TRANSPORT_UCX && strncmp(text, "ucx:", 4))
		return -EINVAL;
	out->of = text + 4;
	return *out->of && *out->of != '/' ? 0 : -EINVAL;
}

static int set_transport(char *value, void *field, struct np_err *err)
{
	struct np_transport parsed;

	return np_transport_parse(value, &parsed) ? -EINVAL :
						    set_ucx(value, field, err);
}

static int set_mode(char *value, void *field, struct np_err *err)
{
	(void)err;
	for (enum np_mode mode = NP_MODE_OFF; mode <= NP_MODE_ENFORCE; mode++)
		if (!strcasecmp(value, np_mode_name(mode))) {
			*(enum np_mode *)field = mode;
			return 0;
		}
	return -EINVAL;
}

static int set_unknown_as(char *value, void *field, struct np_err *err)
{
	bool none = !strcasecmp(value, "none");

	(void)err;
	if (!none && np_app_check(value, NULL))
		return -EINVAL;
	strcpy(field, none ? "" : value);
	return 0;
}

static bool is_partition_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)name[i]) || name[i] == ',')
			return false;
	return len && len <= NP_PLACE_NAME_MAX;
}

/* Parse PARTITION:MODE, which replaces earlier values for the partition. */
static int add_partition(char *value, void *conf, struct np_err *why)
{
	struct np_place_conf *place = conf;
	char *colon = strrchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : 0, i = 0;
	enum np_mode mode;

	if (!*value) {
		memset(place->partition, 0, sizeof(place->partition));
		place->n_partitions = 0;
		return 0;
	}
	if (!is_partition_name(value, len) || set_mode(colon + 1, &mode, NULL))
		return np_errf(why, -EINVAL,
			       "expected PARTITION:MODE, with mode off, "
			       "advise, prefer or enforce");
	while (i < place->n_partitions &&
	       (strlen(place->partition[i].name) != len ||
		memcmp(place->partition[i].name, value, len)))
		i++;
	if (i == NP_PLACE_MAX_PARTITIONS)
		return np_errf(why, -EINVAL,
			       "too many, expected at most %d partitions",
			       NP_PLACE_MAX_PARTITIONS);
	memcpy(place->partition[i].name, value, len);
	place->partition[i].mode = mode;
	if (i == place->n_partitions)
		place->n_partitions++;
	return 0;
}

static int add_trusted(struct np_place_conf *conf, const char *user,
		       struct np_err *why)
{
	uint32_t uid;

	if (find_uid(user, &uid))
		return np_errf(why, -EINVAL,
			       "unknown user \"%s\", expected uids or names of "
			       "users, separated by commas",
			       user);
	for (size_t i = 0; i < conf->n_trusted; i++)
		if (conf->trusted[i] == uid)
			return 0;
	if (conf->n_trusted == NP_PLACE_MAX_TRUSTED)
		return np_errf(why, -EINVAL,
			       "too many at \"%s\", expected at most %d users",
			       user, NP_PLACE_MAX_TRUSTED);
	conf->trusted[conf->n_trusted++] = uid;
	return 0;
}

/* On an error, none of the users is added. */
static int add_trusted_users(char *value, void *conf, struct np_err *why)
{
	struct np_place_conf *place = conf;
	size_t n_before = *value ? place->n_trusted : 0;
	char user[MAX_USER + 1];
	int rc = 0;

	place->n_trusted = n_before;
	for (char *next = value; !rc && *value; value = next) {
		size_t len = strcspn(value, ",");

		next = value + len + (value[len] == ',');
		/* A truncated name might be that of another user. */
		if (len > MAX_USER) {
			rc = np_errf(why, -EINVAL,
				     "\"%.16s...\" has %zu characters, "
				     "expected uids or names of at most %d",
				     value, len, MAX_USER);
			break;
		}
		memcpy(user, value, len);
		user[len] = '\0';
		rc = add_trusted(place, user, why);
	}
	while (place->n_trusted > n_before && rc)
		place->trusted[--place->n_trusted] = 0;
	return rc;
}

static void remove_rules(struct np_place_conf *conf, enum np_place_what what)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < conf->n_rules; i++)
		if (conf->rule[i].what != what)
			conf->rule[n_kept++] = conf->rule[i];
	conf->n_rules = n_kept;
}

static int add_rule(struct np_place_conf *conf, enum np_place_what what,
		    const char *value, struct np_err *why)
{
	struct np_place_rule *rule = &conf->rule[conf->n_rules];
	const char *colon = strrchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : 0;

	if (!*value) {
		remove_rules(conf, what);
		return 0;
	}
	if (!len || len > NP_PLACE_PATTERN_MAX)
		return np_errf(
			why, -EINVAL,
			"expected PATTERN:APP, a pattern of 1 to %d characters",
			NP_PLACE_PATTERN_MAX);
	if (np_app_check(colon + 1, why))
		return -EINVAL;
	if (conf->n_rules == NP_PLACE_MAX_RULES)
		return np_errf(why, -EINVAL,
			       "too many, expected at most %d of JobNameApp "
			       "and CommentApp together",
			       NP_PLACE_MAX_RULES);
	memset(rule, 0, sizeof(*rule));
	rule->what = what;
	memcpy(rule->pattern, value, len);
	strcpy(rule->app, colon + 1);
	conf->n_rules++;
	return 0;
}

static int add_job_name(char *value, void *conf, struct np_err *why)
{
	return add_rule(conf, NP_PLACE_JOB_NAME, value, why);
}

static int add_comment(char *value, void *conf, struct np_err *why)
{
	return add_rule(conf, NP_PLACE_COMMENT, value, why);
}

static int add_auth_rule(char *value, void *conf, struct np_err *why)
{
	struct np_place_conf *place = conf;

	if (*value)
		return np_auth_parse(value, place->auth_rule,
				     &place->n_auth_rules, why);
	memset(place->auth_rule, 0, sizeof(place->auth_rule));
	place->n_auth_rules = 0;
	return 0;
}

static int set_path(char *value, void *field, struct np_err *err)
{
	if (!*value) {
		*(char *)field = '\0';
		return 0;
	}
	return set_dir(value, field, err);
}

/* ---- the table of keys ---- */

struct key {
	struct np_option option;
	const char *expected; /* for messages; NULL: option.take() has one */
};

static const struct key keys[] = {
#define AT(field) offsetof(struct np_conf, field)
/* clang-format off */
#define KEY(name, kind, field, expected, min, max) \
	{ { name, NP_OPTION_##kind, AT(field), min, max }, expected }
#define SET(name, set, field, expected) \
	{ { name, NP_OPTION_TAKE, AT(field), .take = set }, expected }
#define ADD(name, field, add) \
	{ { name, NP_OPTION_TAKE, AT(field), .take = add } }
#define PATH(name, field) \
	SET(name, set_path, field, "the absolute path of a file")
	/* clang-format on */
	SET("Enabled", set_yes_no, enabled, "yes or no"),
	SET("Store", set_dir, store, "an absolute directory"),
	SET("BinDir", set_bindir, bindir,
	    "an absolute directory without spaces or \"=\""),
	SET("LibexecDir", set_dir, libexecdir, "an absolute directory"),
	KEY("Period", TIME, period_sec,
	    "a time from 1ms to 1h with its unit, such as 100ms",
	    NP_CONF_PERIOD_MIN_SEC, NP_CONF_PERIOD_MAX_SEC),
	KEY("MessageSize", BYTES, message_bytes,
	    "bytes from 8 to 1M, such as 1K", 8, 1 << 20),
	KEY("ProcessesPerNode", COUNT, per_node, "1 or 2", 1, 2),
	KEY("ProbeAfter", TIME, probe_after_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("ProbePairs", COUNT, probe_pairs, "a number from 1 to 128", 1, 128),
	KEY("ProbeNodes", COUNT, probe_nodes, "a number from 2 to 256", 2, 256),
	KEY("LevelLeadIn", TIME, lead_in_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("CalibrateShare", SHARE, calibrate_share,
	    "a share from 0% to 100%, such as 20%", 0, 1),
	SET("Transport", set_transport, transport, NP_TRANSPORT_EXPECTED),
	SET("NetDevices", set_ucx, net_devices,
	    "a list as for UCX_NET_DEVICES, such as eth0, without spaces"),
	SET("Transports", set_ucx, transports,
	    "a list as for UCX_TLS, such as tcp,self, without spaces"),
	PATH("Rails", rails),
	KEY("MaxRuns", COUNT, max_runs, "a number from 1 to 1000", 1,
	    NP_CONF_MAX_RUNS),
	SET("TraceSize", set_trace_size, trace_bytes,
	    "bytes from 1M to 1024G, such as 4G"),
	KEY("MaxTraces", COUNT, max_traces, "a number from 1 to 1000", 1,
	    NP_CONF_MAX_RUNS),
	SET("Placement", set_mode, place.mode,
	    "off, advise, prefer or enforce"),
	ADD("PlacementPartition", place, add_partition),
	KEY("MaxSlowdown", SHARE, place.max_slowdown,
	    "a share from 0% to 10000%, such as 10%", 0, 100),
	KEY("MaxDefer", TIME, place.max_hold_sec,
	    "a time from 1s to 8760h with its unit, such as 1h", 1,
	    365 * 86400.0),
	KEY("PlacementInterval", TIME, place.interval_sec,
	    "a time from 100ms to 1h with its unit, such as 2s", 0.1, 3600),
	SET("UnknownAs", set_unknown_as, place.unknown_as,
	    "the name of a published application, or none"),
	ADD("TrustedUsers", place, add_trusted_users),
	ADD("JobNameApp", place, add_job_name),
	ADD("CommentApp", place, add_comment),
	ADD("Claim", place, add_auth_rule),
	SET("MetricsURL", np_metrics_set_url, metrics.url,
	    "the address of a Prometheus server such as http://mon:9090, or "
	    "none"),
	SET("MetricsLabel", np_metrics_set_label, metrics.label,
	    "the name of a label, such as instance"),
	ADD("MetricsTable", metrics, np_metrics_set_tables),
	ADD("Metric", metrics, np_metrics_add),
	KEY("MetricsInterval", TIME, metrics.interval_sec,
	    "a time from 1s to 1h with its unit, such as 15s", 1, 3600),
	KEY("MetricsTimeout", TIME, metrics.timeout_sec,
	    "a time from 100ms to 1m with its unit, such as 5s", 0.1, 60),
	PATH("MetricsTokenFile", metrics.token_file),
	PATH("MetricsCertFile", metrics.cert_file),
	PATH("MetricsKeyFile", metrics.key_file),
	PATH("MetricsCAFile", metrics.ca_file),
#undef AT
#undef KEY
#undef SET
#undef ADD
#undef PATH
};

_Static_assert(NP_CONF_MAX_RUNS == 1000, "the text for MaxRuns says 1000");

int np_conf_set_key(struct np_conf *conf, const char *name, size_t name_len,
		    char *value, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	const struct key *key = keys;

	while (key < keys + NP_ARRAY_SIZE(keys) &&
	       (strlen(key->option.name) != name_len ||
		strncasecmp(key->option.name, name, name_len)))
		key++;
	if (key == keys + NP_ARRAY_SIZE(keys))
		return -ENOENT;
	/* These name users or groups, which are looked up. */
	if (conf->for_step && (key->option.take == add_trusted_users ||
			       key->option.take == add_auth_rule))
		return 0;
	if (!np_option_set(&key->option, value, conf, &why))
		return 0;
	return np_errf(err, -EINVAL, "%s=%.*s: %s%s", key->option.name,
		       MAX_VALUE, value, key->expected ? "expected " : "",
		       key->expected ? key->expected : why.text);
}

/* Write "; did you mean Period?" for an unknown key, or "", into buf. */
static void suggest_key(const char *name, size_t name_len, char *buf,
			size_t len)
{
	const char *names[NP_ARRAY_SIZE(keys)];
	char wanted[64];

	for (size_t i = 0; i < NP_ARRAY_SIZE(keys); i++)
		names[i] = keys[i].option.name;
	snprintf(wanted, sizeof(wanted), "%.*s",
		 name_len < 63 ? (int)name_len : 63, name);
	np_suggest(wanted, names, NP_ARRAY_SIZE(keys), buf, len);
}

/* ---- settings and files ---- */

void np_conf_init(struct np_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->enabled = true;
	strcpy(conf->store, NP_CONF_STORE);
	strcpy(conf->bindir, NP_BINDIR);
	strcpy(conf->libexecdir, NP_LIBEXECDIR);
	strcpy(conf->transport, "auto");
	conf->period_sec = 0.1;
	conf->message_bytes = 1024;
	conf->per_node = 1;
	conf->probe_after_sec = 2;
	conf->probe_pairs = 2;
	conf->probe_nodes = 32;
	conf->lead_in_sec = 2;
	conf->calibrate_share = 0.2;
	conf->max_runs = NP_CONF_MAX_RUNS;
	conf->trace_bytes = 4ull << 30;
	conf->max_traces = 4;
	np_place_conf_init(&conf->place);
	np_metrics_conf_init(&conf->metrics);
}

/* Skip white space at both ends. Returns the new start and adjusts *len. */
static const char *strip(const char *text, size_t *len)
{
	while (*len && isspace((unsigned char)text[0]))
		text++, --*len;
	while (*len && isspace((unsigned char)text[*len - 1]))
		--*len;
	return text;
}

int np_conf_set(struct np_conf *conf, const char *assignment,
		struct np_err *err)
{
	const char *equals = strchr(assignment, '=');
	char value[PATH_MAX + 1], suggestion[128];
	const char *name, *trimmed;
	size_t name_len, value_len;
	int shown, rc;

	if (!equals)
		return np_errf(err, -EINVAL, "\"%.80s\": expected Key=Value",
			       assignment);
	name_len = (size_t)(equals - assignment);
	name = strip(assignment, &name_len);
	shown = name_len < MAX_KEY ? (int)name_len : MAX_KEY;
	value_len = strlen(equals + 1);
	trimmed = strip(equals + 1, &value_len);
	if (value_len >= sizeof(value))
		return np_errf(err, -EINVAL,
			       "%.*s=%.40s...: expected at most %zu characters",
			       shown, name, trimmed, sizeof(value) - 1);
	memcpy(value, trimmed, value_len);
	value[value_len] = '\0';
	rc = np_conf_set_key(conf, name, name_len, value, err);
	if (rc != -ENOENT)
		return rc;
	suggest_key(name, name_len, suggestion, sizeof(suggestion));
	return np_errf(err, -EINVAL,
		       "%.*s=%.80s: no such key, see netprof.conf(5)%s", shown,
		       name, value, suggestion);
}

/* Apply one line of a file, without its comment; it may be empty. */
static int apply_line(struct np_conf *conf, char *line, size_t len,
		      struct np_err *err)
{
	char *hash;
	size_t stripped_len;

	if (strlen(line) != len)
		return np_errf(err, -EINVAL,
			       "a NUL character: expected Key=Value");
	hash = strchr(line, '#');
	if (hash)
		*hash = '\0';
	stripped_len = strlen(line);
	strip(line, &stripped_len);
	return stripped_len ? np_conf_set(conf, line, err) : 0;
}

/* Apply all lines of a text, which is modified. text[len] must be NUL. */
static int apply_text(struct np_conf *conf, char *text, size_t len,
		      const char *path, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	char *end = text + len;
	unsigned line_number = 0;
	int failed = np_kind_check(text, len, NP_KIND_TEXT, path, err);

	for (char *next; text < end; text = next) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *line_end = newline ? newline : end;
		int rc;

		next = line_end + 1;
		*line_end = '\0';
		line_number++;
		rc = apply_line(conf, text, (size_t)(line_end - text), &why);
		if (rc && !failed)
			failed = np_errf(err, rc, "%s:%u: %s", path,
					 line_number, why.text);
	}
	return failed;
}

/*
 * Read a file, which may be missing: *text is then NULL. Returns its length or
 * -errno.
 */
static ssize_t read_text(const char *path, char **text, struct np_err *err)
{
	struct stat st;
	ssize_t len;
	int fd;

	*text = NULL;
	/* O_NONBLOCK: a FIFO in place of the file must not block a daemon. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? 0 :
					 np_errf(err, -errno, "%s: %s", path,
						 strerror(errno));
	/* A FIFO without a writer would look like an empty file. */
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode)) {
		close(fd);
		return np_errf(err, -ESPIPE, "%s: %s", path,
			       np_read_irregular(&st));
	}
	len = np_read_text(fd, MAX_FILE + 1, text);
	close(fd);
	if (len < 0)
		return np_errf(err, (int)len, "%s: %s", path,
			       strerror((int)-len));
	if (len > MAX_FILE) {
		free(*text);
		*text = NULL;
		return np_errf(err, -EFBIG,
			       "%s: longer than %d bytes: expected a "
			       "netprof.conf",
			       path, MAX_FILE);
	}
	return len;
}

int np_conf_load(struct np_conf *conf, const char *path, struct np_err *err)
{
	char *text;
	ssize_t len = read_text(path, &text, err);
	int rc = len < 0 ? (int)len : 0;

	if (text)
		rc = apply_text(conf, text, (size_t)len, path, err);
	free(text);
	return rc;
}

const char *np_conf_path(void)
{
	const char *path = getenv("NETPROF_CONF");

	return path && *path ? path : NP_CONF_DEFAULT_PATH;
}

ssize_t np_conf_read(char **text, struct np_err *err)
{
	const char *path = np_conf_path();
	ssize_t len = read_text(path, text, err);

	if (!len && !*text && strcmp(path, NP_CONF_DEFAULT_PATH))
		return np_errf(err, -ENOENT, "NETPROF_CONF=%s: %s", path,
			       strerror(ENOENT));
	return len;
}

int np_conf_from_text(struct np_conf *conf, char *text, size_t len,
		      struct np_err *err)
{
	char *store = getenv("NETPROF_STORE");
	int rc = text ? apply_text(conf, text, len, np_conf_path(), err) : 0;

	if (rc && rc != -EINVAL)
		return rc;
	if (store && *store &&
	    np_conf_set_key(conf, "Store", strlen("Store"), store, NULL))
		return np_errf(
			err, -ENOTDIR,
			"NETPROF_STORE=%s: expected an absolute directory",
			store);
	return rc;
}

static int read_and_apply(struct np_conf *conf, bool for_step,
			  struct np_err *err)
{
	char *text;
	ssize_t len = np_conf_read(&text, err);
	int rc;

	np_conf_init(conf);
	conf->for_step = for_step;
	if (len < 0)
		return (int)len;
	rc = np_conf_from_text(conf, text, (size_t)len, err);
	free(text);
	return rc;
}

int np_conf_from_environment(struct np_conf *conf, struct np_err *err)
{
	return read_and_apply(conf, false, err);
}

int np_conf_for_step(struct np_conf *conf, struct np_err *err)
{
	return read_and_apply(conf, true, err);
}
