/* What the installed Slurm says of itself. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_check.h"
#include "np_clock.h"
#include "np_read.h"

/* In a process group of its own, so that its children end with it. */
static int start(char *const argv[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int rc = -posix_spawn_file_actions_init(&files);

	if (rc)
		return rc;
	rc = -posix_spawnattr_init(&attr);
	if (!rc) {
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null",
						 O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&files, out, 1);
		posix_spawn_file_actions_addopen(&files, 2, "/dev/null",
						 O_WRONLY, 0);
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
		rc = -posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Until the end of its output; what does not fit is read and dropped. */
static int read_all(int fd, double until, char *buf, size_t len)
{
	size_t used = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double left = until - np_mono_sec();
		char rest[4096];
		bool room = used + 1 < len;
		ssize_t got;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(1000 * left) + 1) <= 0)
			continue;
		got = read(fd, room ? buf + used : rest, room ?
			   len - 1 - used : sizeof(rest));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			buf[used] = '\0';
			return (int)got;
		}
		used += room ? (size_t)got : 0;
		buf[used] = '\0';
	}
}

/* Some close their output long before they end. */
static int reap(pid_t pid, double until, int rc)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	int status;

	while (!rc && !waitpid(pid, &status, WNOHANG)) {
		if (np_mono_sec() > until)
			rc = -ETIMEDOUT;
		else
			nanosleep(&nap, NULL);
	}
	if (rc) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return rc;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

int cli_spawn(char *const argv[], double sec, char *buf, size_t len)
{
	double until = np_mono_sec() + sec;
	int fd[2], rc;
	pid_t pid;

	buf[0] = '\0';
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	rc = start(argv, fd[1], &pid);
	close(fd[1]);
	if (!rc) {
		rc = read_all(fd[0], until, buf, len);
		rc = reap(pid, until, rc);
	}
	close(fd[0]);
	return rc;
}

/* One part of a version; more than a byte is none. */
static bool part(const char **p, uint32_t *version)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	n = strtoul(*p, &end, 10);
	if (n > 255)
		return false;
	*p = end;
	*version = *version << 8 | (uint32_t)n;
	return true;
}

static bool parse_here(const char *p, uint32_t *out)
{
	uint32_t version = 0;

	if (!part(&p, &version) || *p++ != '.' || !part(&p, &version))
		return false;
	if (*p != '.')
		version <<= 8;
	else if (p++, !part(&p, &version))
		return false;
	*out = version;
	return true;
}

bool cli_version_parse(const char *text, uint32_t *out)
{
	unsigned char before = ' ';

	for (const char *p = text; *p; before = (unsigned char)*p++)
		if (isdigit((unsigned char)*p) && isspace(before))
			return parse_here(p, out);
	return false;
}

#ifndef NP_SLURM_PLUGINDIR
#define NP_SLURM_PLUGINDIR "/usr/lib64/slurm:/usr/local/lib/slurm"
#endif

#define PATIENCE_SEC 5
#define MAX_CONFIG (256 * 1024)

/* Of "Key = Value" the value, trimmed; a comment is none of it. */
static bool value_of(const char *line, size_t len, const char *key, char *buf,
		     size_t room)
{
	size_t n = strlen(key);
	const char *p = line, *end = line + len, *comment;

	while (p < end && isblank((unsigned char)*p))
		p++;
	if ((size_t)(end - p) <= n || strncasecmp(p, key, n))
		return false;
	for (p += n; p < end && isblank((unsigned char)*p); p++)
		;
	if (p == end || *p++ != '=')
		return false;
	comment = memchr(p, '#', (size_t)(end - p));
	end = comment ? comment : end;
	while (p < end && isspace((unsigned char)*p))
		p++;
	while (p < end && isspace((unsigned char)end[-1]))
		end--;
	snprintf(buf, room, "%.*s", (int)(end - p), p);
	return true;
}

bool cli_slurm_value(const char *text, const char *key, char *buf, size_t len)
{
	for (const char *p = text; *p; ) {
		size_t n = strcspn(p, "\n");

		if (value_of(p, n, key, buf, len))
			return true;
		p += n + !!p[n];
	}
	return false;
}

bool cli_slurm_lists(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; *p; p += !!*p) {
		size_t len = strcspn(p, ",");
		const char *word = p;

		p += len;
		while (len && isspace((unsigned char)*word))
			word++, len--;
		while (len && isspace((unsigned char)word[len - 1]))
			len--;
		/* Slurm takes "job_submit/netprof", too. */
		if (len > 11 && !strncmp(word, "job_submit/", 11))
			word += 11, len -= 11;
		if (len == n && !strncmp(word, name, n))
			return true;
	}
	return false;
}

static uint32_t version_of(char *program, const char *option)
{
	char text[1024];
	uint32_t version = 0;

	if (cli_spawn((char *[]){ program, (char *)option, NULL },
		      PATIENCE_SEC, text, sizeof(text)))
		return 0;
	return cli_version_parse(text, &version) ? version : 0;
}

/* A user's PATH often lacks the administrator's programs. */
void cli_slurm_installed(struct cli_slurm *s)
{
	static const struct {
		const char *program, *option, *name;
	} ways[] = {
		{ "slurmctld", "-V", "slurmctld" },
		{ "/usr/sbin/slurmctld", "-V", "slurmctld" },
		{ "/usr/local/sbin/slurmctld", "-V", "slurmctld" },
		{ "scontrol", "--version", "scontrol" },
	};

	for (size_t i = 0; !s->installed && i < NP_ARRAY_SIZE(ways); i++) {
		s->installed = version_of((char *)ways[i].program,
					  ways[i].option);
		snprintf(s->installed_of, sizeof(s->installed_of), "%s",
			 ways[i].name);
	}
}

/* "slurm(64030)" */
static void name_alone(char *user)
{
	user[strcspn(user, "(")] = '\0';
}

static void take(struct cli_slurm *s, const char *text)
{
	char version[64];

	cli_slurm_value(text, "PluginDir", s->plugin_dirs,
			sizeof(s->plugin_dirs));
	cli_slurm_value(text, "JobSubmitPlugins", s->job_submit,
			sizeof(s->job_submit));
	cli_slurm_value(text, "SlurmUser", s->user, sizeof(s->user));
	cli_slurm_value(text, "ClusterName", s->cluster, sizeof(s->cluster));
	cli_slurm_value(text, "PlugStackConfig", s->plugstack,
			sizeof(s->plugstack));
	if (!cli_slurm_value(text, "SlurmctldHost[0]", s->controller,
			     sizeof(s->controller)))
		cli_slurm_value(text, "SlurmctldHost", s->controller,
				sizeof(s->controller));
	if (cli_slurm_value(text, "SLURM_VERSION", version, sizeof(version)))
		cli_version_parse(version, &s->running);
	name_alone(s->user);
	name_alone(s->controller);
	if (!strcmp(s->job_submit, "(null)"))
		s->job_submit[0] = '\0';
}

/* Where slurmctld does not answer, perhaps because of its plugins. */
static bool read_conf(struct cli_slurm *s, char *text)
{
	int fd = open(s->conf, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len = fd < 0 ? -1 : np_read_up_to(fd, text, MAX_CONFIG - 1);

	if (fd >= 0)
		close(fd);
	if (len < 0)
		return false;
	text[len] = '\0';
	take(s, text);
	return true;
}

static void set_defaults(struct cli_slurm *s)
{
	char *slash;

	if (!*s->plugin_dirs)
		strcpy(s->plugin_dirs, NP_SLURM_PLUGINDIR);
	if (!*s->user)
		strcpy(s->user, "root");
	if (*s->plugstack || !*s->conf)
		return;
	snprintf(s->plugstack, sizeof(s->plugstack), "%s", s->conf);
	slash = strrchr(s->plugstack, '/');
	if (slash)
		snprintf(slash, sizeof(s->plugstack) -
			 (size_t)(slash - s->plugstack), "/plugstack.conf");
}

void cli_slurm_ask(struct cli_slurm *s)
{
	static char *const argv[] = { "scontrol", "show", "config", NULL };
	const char *conf = getenv("SLURM_CONF");
	char *text = malloc(MAX_CONFIG);

	*s = (struct cli_slurm){ .answers = false };
	snprintf(s->conf, sizeof(s->conf), "%s", conf && *conf ? conf :
		 NP_SYSCONFDIR "/slurm.conf");
	cli_slurm_installed(s);
	if (text && !cli_spawn(argv, PATIENCE_SEC, text, MAX_CONFIG)) {
		s->answers = true;
		cli_slurm_value(text, "SLURM_CONF", s->conf, sizeof(s->conf));
		take(s, text);
	} else if (text && !read_conf(s, text)) {
		s->conf[0] = '\0';
	}
	free(text);
	set_defaults(s);
}
