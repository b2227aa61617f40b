/* The keys of netprof.conf: what each may be, and where it goes. */
#include "np_conf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "np_ids.h"
#include "np_quantity.h"

#define SHOWN 80 /* of a value, in messages */
#define MAX_USER 64

struct key {
	const char *name;
	/* One value: returns 0 or -EINVAL; what follows goes with it. */
	int (*set)(const struct key *k, const char *value, void *field);
	size_t offset; /* of the field */
	const char *expected;
	double min, max; /* where the value is a number */
	/* Instead, where a value adds to a list: returns 0, or -EINVAL with
	 * why: what was expected. */
	int (*add)(struct np_place_conf *c, const char *value,
		   struct np_err *why);
};

static bool is_within(const struct key *k, double value)
{
	return value >= k->min && value <= k->max;
}

static int set_time(const struct key *k, const char *value, void *sec)
{
	double t;

	if (np_duration_parse(value, &t) || !is_within(k, t))
		return -EINVAL;
	*(double *)sec = t;
	return 0;
}

static int set_share(const struct key *k, const char *value, void *share)
{
	double fraction;

	if (np_percent_parse(value, &fraction) || !is_within(k, fraction))
		return -EINVAL;
	*(double *)share = fraction;
	return 0;
}

static int set_bytes(const struct key *k, const char *value, void *bytes)
{
	uint64_t n;

	if (np_bytes_parse(value, &n) || !is_within(k, (double)n))
		return -EINVAL;
	*(uint64_t *)bytes = n;
	return 0;
}

static int set_count(const struct key *k, const char *value, void *n)
{
	uint64_t count;

	if (np_whole_parse(value, UINT32_MAX, &count) ||
	    !is_within(k, (double)count))
		return -EINVAL;
	*(uint32_t *)n = (uint32_t)count;
	return 0;
}

static int set_yesno(const struct key *k, const char *v, void *field)
{
	(void)k;
	if (strcasecmp(v, "yes") && strcasecmp(v, "no"))
		return -EINVAL;
	*(bool *)field = !strcasecmp(v, "yes");
	return 0;
}

static int set_dir(const struct key *k, const char *v, void *field)
{
	(void)k;
	if (v[0] != '/' || strlen(v) >= PATH_MAX)
		return -EINVAL;
	strcpy(field, v);
	return 0;
}

static int set_message(const struct key *k, const char *v, void *field)
{
	uint64_t n;

	if (set_bytes(k, v, &n))
		return -EINVAL;
	*(uint32_t *)field = (uint32_t)n;
	return 0;
}

/* Goes into the environment of the probes as it stands. */
static int set_ucx(const struct key *k, const char *v, void *field)
{
	size_t len = strlen(v);

	(void)k;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)v[i]))
			return -EINVAL;
	if (len >= sizeof(((struct np_conf *)0)->transports))
		return -EINVAL;
	strcpy(field, v);
	return 0;
}

static int set_mode(const struct key *k, const char *v, void *field)
{
	(void)k;
	for (enum np_mode mode = NP_MODE_OFF; mode <= NP_MODE_ENFORCE; mode++)
		if (!strcasecmp(v, np_mode_name(mode))) {
			*(enum np_mode *)field = mode;
			return 0;
		}
	return -EINVAL;
}

static int set_unknown(const struct key *k, const char *v, void *field)
{
	bool none = !strcasecmp(v, "none");

	(void)k;
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

static int add_partition(struct np_place_conf *c, const char *v,
			 struct np_err *why)
{
	const char *colon = strrchr(v, ':');
	size_t len = colon ? (size_t)(colon - v) : 0, i = 0;
	enum np_mode mode;

	if (!*v) {
		memset(c->partition, 0, sizeof(c->partition));
		c->n_partitions = 0;
		return 0;
	}
	if (!is_partition(v, len) || set_mode(NULL, colon + 1, &mode))
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

static int add_users(struct np_place_conf *c, const char *v, struct np_err *why)
{
	size_t before = *v ? c->n_trusted : 0;
	char user[MAX_USER + 1];
	int rc = 0;

	c->n_trusted = before;
	for (const char *next = v; !rc && *v; v = next) {
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

static int add_job_name(struct np_place_conf *c, const char *v,
			struct np_err *why)
{
	return add_rule(c, NP_PLACE_JOB_NAME, v, why);
}

static int add_comment(struct np_place_conf *c, const char *v,
		       struct np_err *why)
{
	return add_rule(c, NP_PLACE_COMMENT, v, why);
}

static int add_claim(struct np_place_conf *c, const char *v, struct np_err *why)
{
	if (*v)
		return np_claim_parse(v, c->claim, &c->n_claims, why);
	memset(c->claim, 0, sizeof(c->claim));
	c->n_claims = 0;
	return 0;
}

static const struct key keys[] = {
#define KEY(name, set, field, ...) \
	{ name, set, offsetof(struct np_conf, field), __VA_ARGS__ }
#define PLACE(name, set, field, ...) KEY(name, set, place.field, __VA_ARGS__)
#define ADD(name, adds) { name, .add = adds }
	KEY("Enabled", set_yesno, enabled, "yes or no"),
	KEY("Store", set_dir, store, "an absolute directory"),
	KEY("BinDir", set_dir, bindir, "an absolute directory"),
	KEY("LibexecDir", set_dir, libexecdir, "an absolute directory"),
	KEY("Period", set_time, period_sec,
	    "a time from 1ms to 1h with its unit, such as 100ms", 1e-3, 3600),
	KEY("MessageSize", set_message, message_bytes,
	    "bytes from 8 to 1M, such as 1K", 8, 1 << 20),
	KEY("ProcessesPerNode", set_count, per_node, "1 or 2", 1, 2),
	KEY("ProbeAfter", set_time, probe_after_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("ProbePairs", set_count, probe_pairs, "a number from 1 to 128",
	    1, 128),
	KEY("ProbeNodes", set_count, probe_nodes, "a number from 2 to 256",
	    2, 256),
	KEY("LevelLeadIn", set_time, lead_in_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("CalibrateShare", set_share, calibrate_share,
	    "a share from 0% to 100%, such as 20%", 0, 1),
	KEY("NetDevices", set_ucx, net_devices,
	    "a list as for UCX_NET_DEVICES, such as eth0, without spaces"),
	KEY("Transports", set_ucx, transports,
	    "a list as for UCX_TLS, such as tcp,self, without spaces"),
	KEY("MaxRuns", set_count, max_runs, "a number from 1 to 1000",
	    1, NP_CONF_MAX_RUNS),
	KEY("TraceSize", set_bytes, trace_bytes,
	    "bytes from 1M to 1024G, such as 4G", 1 << 20, 1ull << 40),
	KEY("MaxTraces", set_count, max_traces,
	    "a number from 1 to 1000", 1, NP_CONF_MAX_RUNS),
	PLACE("Placement", set_mode, mode, "off, advise, prefer or enforce"),
	ADD("PlacementPartition", add_partition),
	PLACE("MaxSlowdown", set_share, max_slowdown,
	    "a share from 0% to 10000%, such as 10%", 0, 100),
	PLACE("MaxDefer", set_time, max_defer_sec,
	    "a time from 1s to 8760h with its unit, such as 1h", 1,
	    365 * 86400.0),
	PLACE("PlacementInterval", set_time, interval_sec,
	    "a time from 100ms to 1h with its unit, such as 2s", 0.1, 3600),
	PLACE("UnknownAs", set_unknown, unknown_as,
	    "the name of a published application, or none"),
	ADD("TrustedUsers", add_users),
	ADD("JobNameApp", add_job_name),
	ADD("CommentApp", add_comment),
	ADD("Claim", add_claim),
#undef KEY
#undef PLACE
#undef ADD
};

_Static_assert(NP_CONF_MAX_RUNS == 1000, "the text for MaxRuns says 1000");

static int apply(const struct key *k, struct np_conf *c, const char *value,
		 struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = k->add ? k->add(&c->place, value, &why) :
			  k->set(k, value, (char *)c + k->offset);

	if (!rc)
		return 0;
	return np_errf(err, -EINVAL, "%s=%.*s: %s%s", k->name, SHOWN, value,
		       k->add ? "" : "expected ",
		       k->add ? why.text : k->expected);
}

int np_conf_set_key(struct np_conf *c, const char *name, size_t nlen,
		    const char *value, struct np_err *err)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == nlen &&
		    !strncasecmp(keys[i].name, name, nlen))
			return apply(&keys[i], c, value, err);
	return -ENOENT;
}
