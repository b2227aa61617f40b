#include "np_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "np_conf_key.h"
#include "np_read.h"

#ifndef NP_BINDIR
#define NP_BINDIR "/usr/local/bin"
#endif
#ifndef NP_LIBEXECDIR
#define NP_LIBEXECDIR "/usr/local/libexec/netprof"
#endif

#define MAX_KEY 32 /* shown of a name that is none */
#define MAX_FILE 65536 /* bytes; the sample has three thousand */

static int set_yesno(const struct np_conf_key *k, const char *v, void *field)
{
	(void)k;
	if (strcasecmp(v, "yes") && strcasecmp(v, "no"))
		return -EINVAL;
	*(bool *)field = !strcasecmp(v, "yes");
	return 0;
}

static int set_dir(const struct np_conf_key *k, const char *v, void *field)
{
	(void)k;
	if (v[0] != '/' || strlen(v) >= PATH_MAX)
		return -EINVAL;
	strcpy(field, v);
	return 0;
}

static int set_message(const struct np_conf_key *k, const char *v, void *field)
{
	uint64_t n;

	if (np_conf_set_bytes(k, v, &n))
		return -EINVAL;
	*(uint32_t *)field = (uint32_t)n;
	return 0;
}

/* Goes into the environment of the probes as it stands. */
static int set_ucx(const struct np_conf_key *k, const char *v, void *field)
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

static const struct np_conf_key keys[] = {
#define KEY(name, set, field, ...) \
	{ name, set, offsetof(struct np_conf, field), __VA_ARGS__ }
	KEY("Enabled", set_yesno, enabled, "yes or no"),
	KEY("Store", set_dir, store, "an absolute directory"),
	KEY("BinDir", set_dir, bindir, "an absolute directory"),
	KEY("LibexecDir", set_dir, libexecdir, "an absolute directory"),
	KEY("Period", np_conf_set_time, period_sec,
	    "a time from 1ms to 1h with its unit, such as 100ms", 1e-3, 3600),
	KEY("MessageSize", set_message, message_bytes,
	    "bytes from 8 to 1M, such as 1K", 8, 1 << 20),
	KEY("ProcessesPerNode", np_conf_set_count, per_node, "1 or 2", 1, 2),
	KEY("ProbeAfter", np_conf_set_time, probe_after_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("ProbePairs", np_conf_set_count, probe_pairs,
	    "a number from 1 to 128", 1, 128),
	KEY("ProbeNodes", np_conf_set_count, probe_nodes,
	    "a number from 2 to 256", 2, 256),
	KEY("LevelLeadIn", np_conf_set_time, lead_in_sec,
	    "a time from 0s to 1h with its unit, such as 2s", 0, 3600),
	KEY("CalibrateShare", np_conf_set_share, calibrate_share,
	    "a share from 0% to 100%, such as 20%", 0, 1),
	KEY("NetDevices", set_ucx, net_devices,
	    "a list as for UCX_NET_DEVICES, such as eth0, without spaces"),
	KEY("Transports", set_ucx, transports,
	    "a list as for UCX_TLS, such as tcp,self, without spaces"),
	KEY("MaxRuns", np_conf_set_count, max_runs, "a number from 1 to 1000",
	    1, NP_CONF_MAX_RUNS),
	KEY("TraceSize", np_conf_set_bytes, trace_bytes,
	    "bytes from 1M to 1024G, such as 4G", 1 << 20, 1ull << 40),
	KEY("MaxTraces", np_conf_set_count, max_traces,
	    "a number from 1 to 1000", 1, NP_CONF_MAX_RUNS),
#undef KEY
};

_Static_assert(NP_CONF_MAX_RUNS == 1000, "the text for MaxRuns says 1000");

void np_conf_init(struct np_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->enabled = true;
	strcpy(c->store, NP_CONF_STORE);
	strcpy(c->bindir, NP_BINDIR);
	strcpy(c->libexecdir, NP_LIBEXECDIR);
	c->period_sec = 0.1;
	c->message_bytes = 1024;
	c->per_node = 1;
	c->probe_after_sec = 2;
	c->probe_pairs = 2;
	c->probe_nodes = 32;
	c->lead_in_sec = 2;
	c->calibrate_share = 0.2;
	c->max_runs = NP_CONF_MAX_RUNS;
	c->trace_bytes = 4ull << 30;
	c->max_traces = 4;
	np_place_conf_init(&c->place);
}

/* The piece of text without the white space around it. */
static const char *trim(const char *text, size_t *len)
{
	while (*len && isspace((unsigned char)text[0]))
		text++, --*len;
	while (*len && isspace((unsigned char)text[*len - 1]))
		--*len;
	return text;
}

int np_conf_set(struct np_conf *c, const char *assignment, struct np_err *err)
{
	const char *eq = strchr(assignment, '=');
	char value[PATH_MAX + 1];
	const char *name, *v;
	size_t nlen, vlen;
	int shown, rc;

	if (!eq)
		return np_errf(err, -EINVAL, "\"%.80s\": expected Key=Value",
			       assignment);
	nlen = (size_t)(eq - assignment);
	name = trim(assignment, &nlen);
	shown = nlen < MAX_KEY ? (int)nlen : MAX_KEY;
	vlen = strlen(eq + 1);
	v = trim(eq + 1, &vlen);
	if (vlen >= sizeof(value))
		return np_errf(err, -EINVAL, "%.*s=%.40s...: expected at most "
			       "%zu characters", shown, name, v,
			       sizeof(value) - 1);
	memcpy(value, v, vlen);
	value[vlen] = '\0';
	rc = np_conf_key_set(keys, NP_ARRAY_SIZE(keys), c, name, nlen, value,
			     err);
	if (rc == -ENOENT)
		rc = np_conf_key_set(np_place_keys, np_n_place_keys, &c->place,
				     name, nlen, value, err);
	if (rc != -ENOENT)
		return rc;
	return np_errf(err, -EINVAL,
		       "%.*s=%.80s: no such key, see netprof.conf(5)", shown,
		       name, value);
}

/* One line of a file: cut the comment, skip what is empty. */
static int apply_line(struct np_conf *c, char *line, size_t len,
		      struct np_err *err)
{
	char *hash;
	size_t n;

	if (strlen(line) != len)
		return np_errf(err, -EINVAL,
			       "a NUL character: expected Key=Value");
	hash = strchr(line, '#');
	if (hash)
		*hash = '\0';
	n = strlen(line);
	trim(line, &n);
	return n ? np_conf_set(c, line, err) : 0;
}

/* text[len] is followed by a NUL and is cut into lines. */
static int apply_text(struct np_conf *c, char *text, size_t len,
		      const char *path, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	char *end = text + len;
	unsigned line_no = 0;

	for (char *next; text < end; text = next) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *stop = newline ? newline : end;
		int rc;

		next = stop + 1;
		*stop = '\0';
		line_no++;
		rc = apply_line(c, text, (size_t)(stop - text), &why);
		if (rc)
			return np_errf(err, rc, "%s:%u: %s", path, line_no,
				       why.text);
	}
	return 0;
}

int np_conf_load(struct np_conf *c, const char *path, struct np_err *err)
{
	char text[MAX_FILE + 1];
	ssize_t len;
	int fd;

	/* O_NONBLOCK: a FIFO in place of the file must not hang a daemon. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? 0 :
		       np_errf(err, -errno, "%s: %s", path, strerror(errno));
	len = np_read_up_to(fd, text, sizeof(text));
	close(fd);
	if (len < 0)
		return np_errf(err, (int)len, "%s: %s", path,
			       strerror((int)-len));
	if (len > MAX_FILE)
		return np_errf(err, -EFBIG, "%s: longer than %d bytes: "
			       "expected a netprof.conf", path, MAX_FILE);
	text[len] = '\0';
	return apply_text(c, text, (size_t)len, path, err);
}

int np_conf_from_environment(struct np_conf *c, struct np_err *err)
{
	const char *path = getenv("NETPROF_CONF");
	const char *store = getenv("NETPROF_STORE");
	int rc;

	np_conf_init(c);
	if (path && *path && access(path, F_OK) && errno == ENOENT)
		return np_errf(err, -ENOENT, "NETPROF_CONF=%s: %s", path,
			       strerror(ENOENT));
	rc = np_conf_load(c, path && *path ? path : NP_CONF_DEFAULT_PATH, err);
	if (rc)
		return rc;
	if (store && *store && set_dir(NULL, store, c->store))
		return np_errf(err, -EINVAL, "NETPROF_STORE=%s: expected an "
			       "absolute directory", store);
	return 0;
}
