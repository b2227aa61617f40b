/* The installed Slurm: its programs, versions and settings. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_slurm.h"
#include "np_clock.h"

/* ---- running programs ---- */

/* Start in a new process group, so that reap() can end all descendants. */
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

/*
 * Read until the end of the output, or until a time of np_mono_sec(). What does
 * not fit is read and dropped, so that the program does not block on the pipe.
 */
static int read_all(int fd, double until, char *buf, size_t len)
{
	size_t used = 0;

	for (;;) {
		char rest[4096];
		bool room = used + 1 < len;
		ssize_t got;

		if (!np_fd_wait(fd, POLLIN, until))
			return -ETIMEDOUT;
		got = read(fd, room ? buf + used : rest,
			   room ? len - 1 - used : sizeof(rest));
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

/*
 * Wait for the end of a program, which may be long after the end of its output.
 * rc: an error of reading it; then, or when time is up, the group is killed.
 */
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
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The time limit is for the whole run, output and exit together. */
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

void cli_sacct_delimiter(char *buf, size_t len)
{
	uint32_t secret = 0;

	if (getrandom(&secret, sizeof(secret), 0) < 0)
		secret = (uint32_t)getpid();
	snprintf(buf, len, "|%08x|", secret);
}

/* ---- versions ---- */

/* Append one part of a version to its number; false if it exceeds a byte. */
static bool take_part(const char **p, uint32_t *version)
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

/* MAJOR.MINOR or MAJOR.MINOR.MICRO at the beginning of p. */
static bool parse_version(const char *p, uint32_t *out)
{
	uint32_t version = 0;

	if (!take_part(&p, &version) || *p++ != '.' || !take_part(&p, &version))
		return false;
	if (*p != '.')
		version <<= 8;
	else if (p++, !take_part(&p, &version))
		return false;
	*out = version;
	return true;
}

/* The version begins at the first digit after a blank, or at the beginning. */
bool cli_version_parse(const char *text, uint32_t *out)
{
	unsigned char before = ' ';

	for (const char *p = text; *p; before = (unsigned char)*p++)
		if (isdigit((unsigned char)*p) && isspace(before))
			return parse_version(p, out);
	return false;
}

#ifndef NP_SLURM_PLUGINDIR
#define NP_SLURM_PLUGINDIR "/usr/lib64/slurm:/usr/local/lib/slurm"
#endif

#define TIMEOUT_SEC 5		/* for a program of Slurm to answer */
#define MAX_CONFIG (256 * 1024) /* bytes of scontrol show config */

/* ---- settings ---- */

/* Blanks around names are skipped; slurmctld does not start with them. */
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
		/* Slurm accepts the full plugin name as well. */
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

	if (cli_spawn((char *[]){ program, (char *)option, NULL }, TIMEOUT_SEC,
		      text, sizeof(text)))
		return 0;
	return cli_version_parse(text, &version) ? version : 0;
}

/* slurmctld is often not in the PATH of a user. */
void cli_slurm_installed(struct cli_slurm *s)
{
	static const char *const ways[][2] = {
		{ "slurmctld", "-V" },
		{ "/usr/sbin/slurmctld", "-V" },
		{ "/usr/local/sbin/slurmctld", "-V" },
		{ "scontrol", "--version" },
	};

	for (size_t i = 0; !s->installed && i < NP_ARRAY_SIZE(ways); i++) {
		s->installed = version_of((char *)ways[i][0], ways[i][1]);
		snprintf(s->installed_of, sizeof(s->installed_of), "%s",
			 basename(ways[i][0]));
	}
}

/* The settings that are used, by their names in slurm.conf. */
static const struct setting {
	const char *key;
	size_t at, len;
} settings[] = {
#define AT(member) \
	offsetof(struct cli_slurm, member), \
		sizeof(((struct cli_slurm *)0)->member)
	{ "PluginDir", AT(plugin_dirs) },
	{ "JobSubmitPlugins", AT(job_submit) },
	{ "SlurmUser", AT(user) },
	{ "ClusterName", AT(cluster) },
	{ "PlugStackConfig", AT(plugstack) },
	{ "SlurmctldParameters", AT(parameters) },
#undef AT
};

/*
 * scontrol prints "(null)" for settings that are not set, and the uid after a
 * user and the address after a host.
 */
static void clean_up(struct cli_slurm *s)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(settings); i++) {
		char *value = (char *)s + settings[i].at;

		if (!strcmp(value, "(null)"))
			*value = '\0';
	}
	s->user[strcspn(s->user, "(")] = '\0'; /* "slurm(64030)" */
	for (char *c = s->cluster; *c; c++)    /* as slurmctld does */
		*c = (char)tolower((unsigned char)*c);
}

/* host: "ctl", or "ctl(10.0.0.1)" with its address. */
static void add_controller(struct cli_slurm *s, const char *host)
{
	size_t len = strlen(s->controllers);

	snprintf(s->controllers + len, sizeof(s->controllers) - len, "%s%.*s",
		 len ? "," : "", (int)strcspn(host, "("), host);
}

/* Take the settings from the output of scontrol show config. */
static void take_printed(struct cli_slurm *s, const char *text)
{
	char version[64], key[32], host[256];

	for (size_t i = 0; i < NP_ARRAY_SIZE(settings); i++)
		np_slurm_setting(text, settings[i].key,
				 (char *)s + settings[i].at, settings[i].len);
	for (unsigned i = 0;; i++) {
		snprintf(key, sizeof(key), "SlurmctldHost[%u]", i);
		if (!np_slurm_setting(text, key, host, sizeof(host)))
			break;
		add_controller(s, host);
	}
	np_slurm_setting(text, "SLURM_CONF", s->conf, sizeof(s->conf));
	if (np_slurm_setting(text, "SLURM_VERSION", version, sizeof(version)))
		cli_version_parse(version, &s->running);
}

/* May more pairs follow this key on its line? Slurm takes one otherwise. */
static bool begins_record(const char *key)
{
	static const char *const keys[] = { "NodeName",	    "PartitionName",
					    "DownNodes",    "NodeSet",
					    "FrontendName", "PowerAction" };

	for (size_t i = 0; i < NP_ARRAY_SIZE(keys); i++)
		if (!strcasecmp(key, keys[i]))
			return true;
	return false;
}

/* Of a key that occurs twice, the last value counts, as in Slurm. */
static void take_setting(struct cli_slurm *s, const struct np_slurm_pair *p)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(settings); i++) {
		char *value = (char *)s + settings[i].at;

		if (!strcasecmp(p->key, settings[i].key))
			snprintf(value, settings[i].len, "%s", p->value);
	}
	/* One line for each. The other keys are older names. */
	if (!strcasecmp(p->key, "SlurmctldHost") ||
	    !strcasecmp(p->key, "ControlMachine") ||
	    !strcasecmp(p->key, "BackupController"))
		add_controller(s, p->value);
}

/* slurmctld does not start with a wrong line, which may be why it is down. */
static int take_line(void *arg, const struct np_slurm_line *line,
		     struct np_err *err)
{
	struct np_err wrong = NP_ERR_INIT;
	struct cli_slurm *s = arg;
	char *text = line->text;
	struct np_slurm_pair p;
	bool record = false;

	(void)err;
	for (bool first = true; np_slurm_pair(&text, &p); first = false) {
		take_setting(s, &p);
		if (first)
			record = begins_record(p.key);
		else if (!record && !*wrong.text)
			np_errf(&wrong, 0,
				"%s:%u: %.64s: expected one Key=Value in a line",
				line->path, line->number, p.key);
	}
	if (!np_slurm_is_blank(text) && !*wrong.text)
		np_errf(&wrong, 0,
			"%s:%u: %.64s: expected Key=Value, and quotes around a "
			"value with blanks",
			line->path, line->number, text + strspn(text, " \t"));
	if (!*s->conf_error)
		strcpy(s->conf_error, wrong.text);
	return 0;
}

/* The defaults of Slurm, for what neither scontrol nor slurm.conf says. */
static void set_defaults(struct cli_slurm *s)
{
	const char *slash;

	s->has_plugin_dirs = *s->plugin_dirs;
	if (!s->has_plugin_dirs)
		strcpy(s->plugin_dirs, NP_SLURM_PLUGINDIR);
	if (!*s->user)
		strcpy(s->user, "root");
	if (*s->plugstack || !*s->conf)
		return;
	/* SLURM_CONF may have no directory, as for Slurm. */
	slash = strrchr(s->conf, '/');
	snprintf(s->plugstack, sizeof(s->plugstack), "%.*splugstack.conf",
		 slash ? (int)(slash + 1 - s->conf) : 0, s->conf);
}

/*
 * The file is read if slurmctld does not answer. Its path is that of
 * SLURM_CONF, or the default that netprof was built with.
 */
void cli_slurm_read(struct cli_slurm *s)
{
	static char *const argv[] = { "scontrol", "show", "config", NULL };
	const char *conf = getenv("SLURM_CONF");
	char *text = malloc(MAX_CONFIG);
	struct np_err err = NP_ERR_INIT;
	int rc;

	*s = (struct cli_slurm){ .responds = false };
	snprintf(s->conf, sizeof(s->conf), "%s",
		 conf && *conf ? conf : NP_SYSCONFDIR "/slurm.conf");
	cli_slurm_installed(s);
	if (text && !cli_spawn(argv, TIMEOUT_SEC, text, MAX_CONFIG)) {
		s->responds = true;
		take_printed(s, text);
	} else {
		/* slurmctld may be down because of a plugin, hence the file. */
		rc = np_slurm_file(s->conf, s->cluster, take_line, s, &err);
		if (rc)
			strcpy(s->conf_error, err.text);
		if (!np_slurm_was_read(rc))
			s->conf[0] = '\0';
	}
	free(text);
	clean_up(s);
	set_defaults(s);
}
