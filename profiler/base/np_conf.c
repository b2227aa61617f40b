#include "np_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_read.h"

#ifndef NP_BINDIR
#define NP_BINDIR "/usr/local/bin"
#endif
#ifndef NP_LIBEXECDIR
#define NP_LIBEXECDIR "/usr/local/libexec/netprof"
#endif

#define MAX_KEY 32 /* shown of a name that is none */
#define MAX_FILE 65536 /* bytes; the sample has three thousand */

void np_conf_init(struct np_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->enabled = true;
	strcpy(c->store, NP_CONF_STORE);
	strcpy(c->bindir, NP_BINDIR);
	strcpy(c->libexecdir, NP_LIBEXECDIR);
	strcpy(c->transport, "auto");
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
	np_metrics_conf_init(&c->metrics);
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
	char value[PATH_MAX + 1], like[128];
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
	rc = np_conf_set_key(c, name, nlen, value, err);
	if (rc != -ENOENT)
		return rc;
	np_conf_suggest(name, nlen, like, sizeof(like));
	return np_errf(err, -EINVAL,
		       "%.*s=%.80s: no such key, see netprof.conf(5)%s", shown,
		       name, value, like);
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
	int failed = 0;

	for (char *next; text < end; text = next) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *stop = newline ? newline : end;
		int rc;

		next = stop + 1;
		*stop = '\0';
		line_no++;
		rc = apply_line(c, text, (size_t)(stop - text), &why);
		if (rc && !failed)
			failed = np_errf(err, rc, "%s:%u: %s", path, line_no,
					 why.text);
	}
	return failed;
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

const char *np_conf_path(void)
{
	const char *path = getenv("NETPROF_CONF");

	return path && *path ? path : NP_CONF_DEFAULT_PATH;
}

int np_conf_from_environment(struct np_conf *c, struct np_err *err)
{
	const char *path = np_conf_path();
	char *store = getenv("NETPROF_STORE");
	int rc;

	np_conf_init(c);
	if (strcmp(path, NP_CONF_DEFAULT_PATH) && access(path, F_OK) &&
	    errno == ENOENT)
		return np_errf(err, -ENOENT, "NETPROF_CONF=%s: %s", path,
			       strerror(ENOENT));
	rc = np_conf_load(c, path, err);
	if (rc && rc != -EINVAL)
		return rc;
	if (store && *store &&
	    np_conf_set_key(c, "Store", strlen("Store"), store, NULL))
		return np_errf(err, -ENOTDIR, "NETPROF_STORE=%s: expected an "
			       "absolute directory", store);
	return rc;
}
