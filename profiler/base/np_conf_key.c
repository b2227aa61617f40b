/* The keys of netprof.conf: what each may be, and where it goes. */
#include "np_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "np_ids.h"
#include "np_near.h"
#include "np_option.h"
#include "np_quantity.h"

#define SHOWN 80 /* of a value, in messages */
#define MAX_USER 64

struct key {
	struct np_option o; /* take() says what was expected, or: */
	const char *expected;
};

static int set_yesno(char *v, void *field, struct np_err *err)
{
	(void)err;
	if (strcasecmp(v, "yes") && strcasecmp(v, "no"))
		return -EINVAL;
	*(bool *)field = !strcasecmp(v, "yes");
	return 0;
}

static int set_dir(char *v, void *field, struct np_err *err)
{
	(void)err;
	if (v[0] != '/' || strlen(v) >= PATH_MAX)
		return -EINVAL;
	strcpy(field, v);
	return 0;
}

static int set_trace_size(char *v, void *bytes, struct np_err *err)
{
	uint64_t n;

	(void)err;
	if (np_bytes_parse(v, &n) || n < 1 << 20 || n > 1ull << 40)
		return -EINVAL;
	*(uint64_t *)bytes = n;
	return 0;
}

/* Goes into the environment of the probes as it stands. */
static int set_ucx(char *v, void *field, struct np_err *err)
{
	size_t len = strlen(v);

	(void)err;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)v[i]))
			return -EINVAL;
	if (len >= sizeof(((struct np_conf *)0)->transports))
		return -EINVAL;
	strcpy(field, v);
	return 0;
}

int np_transport_parse(const char *text, struct np_transport *out)
{
	for (const char *c = text; *c; c++)
		if (!isgraph((unsigned char)*c))
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

static int set_transport(char *v, void *field, struct np_err *err)
{
	struct np_transport how;

	return np_transport_parse(v, &how) ? -EINVAL : set_ucx(v, field, err);
}

static int set_mode(char *v, void *field, struct np_err *err)
{
	(void)err;
	for (enum np_mode mode = NP_MODE_OFF; mode <= NP_MODE_ENFORCE; mode++)
		if (!strcasecmp(v, np_mode_name(mode))) {
			*(enum np_mode *)field = mode;
			return 0;
		}
	return -EINVAL;
}

static int set_unknown(char *v, void *field, struct np_err *err)
{
	bool none = !strcasecmp(v, "none");

	(void)err;
	if (!none && np_app_check(v, NULL))
		return -EINVAL;
	strcpy(field, none ? "" : v);
	return 0;
}

static bool is_partition(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)name[i]) || name[i] == ',')
			return false;
	return len && len <= NP_PLACE_NAME_MAX;
}

static int add_partition(char *v, void *conf, struct np_err *why)
{
	struct np_place_conf *c = conf;
	char *colon = strrchr(v, ':');
	size_t len = colon ? (size_t)(colon - v) : 0, i = 0;
	enum np_mode mode;

	if (!*v) {
		memset(c->partition, 0, sizeof(c->partition));
		c->n_partitions = 0;
		return 0;
	}
	if (!is_partition(v, len) || set_mode(colon + 1, &mode, NULL))
		return np_errf(why, -EINVAL, "expected PARTITION:MODE, a mode "
			       "being off, advise, prefer or enforce");
	while (i < c->n_partitions &&
	       (strlen(c->partition[i].name) != len ||
		memcmp(c->partition[i].name, v, len)))
		i++;
	if (i == NP_PLACE_MAX_PARTITIONS)
		return np_errf(why, -EINVAL, "one too many, expected at most "
			       "%d partitions", NP_PLACE_MAX_PARTITIONS);
	memcpy(c->partition[i].name, v, len);
	c->partition[i].mode = mode;
	if (i == c->n_partitions)
		c->n_partitions++;
	return 0;
}

static int add_user(struct np_place_conf *c, const char *user,
		    struct np_err *why)
{
	uint32_t uid;

	if (np_uid_of(user, &uid))
		return np_errf(why, -EINVAL, "\"%s\" is no user, expected uids "
			       "or names of users, with commas", user);
	for (size_t i = 0; i < c->n_trusted; i++)
		if (c->trusted[i] == uid)
			return 0;
	if (c->n_trusted == NP_PLACE_MAX_TRUSTED)
		return np_errf(why, -EINVAL, "\"%s\" is one too many, expected "
			       "at most %d users", user, NP_PLACE_MAX_TRUSTED);
	c->trusted[c->n_trusted++] = uid;
	return 0;
}

static int add_users(char *v, void *conf, struct np_err *why)
{
	struct np_place_conf *c = conf;
	size_t before = *v ? c->n_trusted : 0;
	char user[MAX_USER + 1];
	int rc = 0;

	c->n_trusted = before;
	for (char *next = v; !rc && *v; v = next) {
		size_t len = strcspn(v, ",");

		next = v + len + (v[len] == ',');
		if (len > MAX_USER) { /* the part that fits is another user */
			rc = np_errf(why, -EINVAL, "\"%.16s...\" has %zu "
				     "characters, expected uids or names of at "
				     "most %d", v, len, MAX_USER);
			break;
		}
		memcpy(user, v, len);
		user[len] = '\0';
		rc = add_user(c, user, why);
	}
	while (c->n_trusted > before && rc)
		c->trusted[--c->n_trusted] = 0;
	return rc;
}

static void forget_rules(struct np_place_conf *c, enum np_place_what what)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_rules; i++)
		if (c->rule[i].what != what)
			c->rule[n++] = c->rule[i];
	c->n_rules = n;
}

static int add_rule(struct np_place_conf *c, enum np_place_what what,
		    const char *v, struct np_err *why)
{
	struct np_place_rule *r = &c->rule[c->n_rules];
	const char *colon = strrchr(v, ':');
	size_t len = colon ? (size_t)(colon - v) : 0;

	if (!*v) {
		forget_rules(c, what);
		return 0;
	}
	if (!len || len > NP_PLACE_PATTERN_MAX)
		return np_errf(why, -EINVAL, "expected PATTERN:APP, a pattern "
			       "of 1 to %d characters", NP_PLACE_PATTERN_MAX);
	if (np_app_check(colon + 1, why))
		return -EINVAL;
	if (c->n_rules == NP_PLACE_MAX_RULES)
		return np_errf(why, -EINVAL, "one too many, expected at most "
			       "%d of JobNameApp and CommentApp together",
			       NP_PLACE_MAX_RULES);
	memset(r, 0, sizeof(*r));
	r->what = what;
	memcpy(r->pattern, v, len);
	strcpy(r->app, colon + 1);
	c->n_rules++;
	return 0;
}

static int add_job_name(char *v, void *conf, struct np_err *why)
{
	return add_rule(conf, NP_PLACE_JOB_NAME, v, why);
}

static int add_comment(char *v, void *conf, struct np_err *why)
{
	return add_rule(conf, NP_PLACE_COMMENT, v, why);
}

static int add_claim(char *v, void *conf, struct np_err *why)
{
	struct np_place_conf *c = conf;

	if (*v)
		return np_claim_parse(v, c->claim, &c->n_claims, why);
	memset(c->claim, 0, sizeof(c->claim));
	c->n_claims = 0;
	return 0;
}

static int set_path(char *v, void *field, struct np_err *err)
{
	if (!*v) {
		*(char *)field = '\0';
		return 0;
	}
	return set_dir(v, field, err);
}

static const struct key keys[] = {
#define AT(field) offsetof(struct np_conf, field)
#define KEY(name, kind, field, expected, min, max) \
	{ { name, NP_OPTION_##kind, AT(field), min, max }, expected }
#define SET(name, set, field, expected) \
	{ { name, NP_OPTION_TAKE, AT(field), .take = set }, expected }
#define ADD(name, add) { { name, NP_OPTION_TAKE, AT(place), .take = add } }
	SET("Enabled", set_yesno, enabled, "yes or no"),
	SET("Store", set_dir, store, "an absolute directory"),
	SET("BinDir", set_dir, bindir, "an absolute directory"),
	SET("LibexecDir", set_dir, libexecdir, "an absolute directory"),
	KEY("Period", TIME, period_sec,
	    "a time from 1ms to 1h with its unit, such as 100ms", 1e-3, 3600),
	KEY("MessageSize", BYTES, message_bytes,
	    "bytes from 8 to 1M, such as 1K", 8, 1 << 20),
	KEY("ProcessesPerNode", COUNT, per_node, "1 or 2", 1, 2),
	KEY("ProbeAfter", TIME, probe_after_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("ProbePairs", COUNT, probe_pairs, "a number from 1 to 128",
	    1, 128),
	KEY("ProbeNodes", COUNT, probe_nodes, "a number from 2 to 256",
	    2, 256),
	KEY("LevelLeadIn", TIME, lead_in_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("CalibrateShare", SHARE, calibrate_share,
	    "a share from 0% to 100%, such as 20%", 0, 1),
	SET("Transport", set_transport, transport, NP_TRANSPORT_EXPECTED),
	SET("NetDevices", set_ucx, net_devices,
	    "a list as for UCX_NET_DEVICES, such as eth0, without spaces"),
	SET("Transports", set_ucx, transports,
	    "a list as for UCX_TLS, such as tcp,self, without spaces"),
	KEY("MaxRuns", COUNT, max_runs, "a number from 1 to 1000",
	    1, NP_CONF_MAX_RUNS),
	SET("TraceSize", set_trace_size, trace_bytes,
	    "bytes from 1M to 1024G, such as 4G"),
	KEY("MaxTraces", COUNT, max_traces, "a number from 1 to 1000",
	    1, NP_CONF_MAX_RUNS),
	SET("Placement", set_mode, place.mode,
	    "off, advise, prefer or enforce"),
	ADD("PlacementPartition", add_partition),
	KEY("MaxSlowdown", SHARE, place.max_slowdown,
	    "a share from 0% to 10000%, such as 10%", 0, 100),
	KEY("MaxDefer", TIME, place.max_defer_sec,
	    "a time from 1s to 8760h with its unit, such as 1h", 1,
	    365 * 86400.0),
	KEY("PlacementInterval", TIME, place.interval_sec,
	    "a time from 100ms to 1h with its unit, such as 2s", 0.1, 3600),
	SET("UnknownAs", set_unknown, place.unknown_as,
	    "the name of a published application, or none"),
	ADD("TrustedUsers", add_users),
	ADD("JobNameApp", add_job_name),
	ADD("CommentApp", add_comment),
	ADD("Claim", add_claim),
	SET("MetricsURL", np_metrics_set_url, metrics.url,
	    "the address of a Prometheus server such as http://mon:9090, or "
	    "none"),
	SET("MetricsLabel", np_metrics_set_label, metrics.label,
	    "the name of a label, such as instance"),
	{ { "MetricsTable", NP_OPTION_TAKE, AT(metrics),
	    .take = np_metrics_set_tables } },
	{ { "Metric", NP_OPTION_TAKE, AT(metrics), .take = np_metrics_add } },
	KEY("MetricsInterval", TIME, metrics.interval_sec,
	    "a time from 1s to 1h with its unit, such as 15s", 1, 3600),
	KEY("MetricsTimeout", TIME, metrics.timeout_sec,
	    "a time from 100ms to 1m with its unit, such as 5s", 0.1, 60),
	SET("MetricsTokenFile", set_path, metrics.token_file,
	    "the absolute path of a file"),
	SET("MetricsCertFile", set_path, metrics.cert_file,
	    "the absolute path of a file"),
	SET("MetricsKeyFile", set_path, metrics.key_file,
	    "the absolute path of a file"),
	SET("MetricsCAFile", set_path, metrics.ca_file,
	    "the absolute path of a file"),
#undef AT
#undef KEY
#undef SET
#undef ADD
};

_Static_assert(NP_CONF_MAX_RUNS == 1000, "the text for MaxRuns says 1000");

int np_conf_set_key(struct np_conf *c, const char *name, size_t nlen,
		    char *value, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	const struct key *k = keys;

	while (k < keys + NP_ARRAY_SIZE(keys) &&
	       (strlen(k->o.name) != nlen ||
		strncasecmp(k->o.name, name, nlen)))
		k++;
	if (k == keys + NP_ARRAY_SIZE(keys))
		return -ENOENT;
	if (!np_option_set(&k->o, value, c, &why))
		return 0;
	return np_errf(err, -EINVAL, "%s=%.*s: %s%s", k->o.name, SHOWN, value,
		       k->expected ? "expected " : "",
		       k->expected ? k->expected : why.text);
}

void np_conf_suggest(const char *name, size_t nlen, char *buf, size_t len)
{
	const char *names[NP_ARRAY_SIZE(keys)];
	char typed[64];

	for (size_t i = 0; i < NP_ARRAY_SIZE(keys); i++)
		names[i] = keys[i].o.name;
	snprintf(typed, sizeof(typed), "%.*s", nlen < 63 ? (int)nlen : 63,
		 name);
	np_suggest(typed, names, NP_ARRAY_SIZE(keys), buf, len);
}
