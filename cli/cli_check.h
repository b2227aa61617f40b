/* netprof check: what is looked at, and what came of it. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli_options.h"
#include "cli_text.h"
#include "np_conf.h"

enum cli_result { CLI_OK, CLI_WARNING, CLI_PROBLEM };

#define CLI_CHECK_MAX 96
#define CLI_CHECK_TEXT 1024

struct cli_finding {
	enum cli_result result;
	char about[64];
	char text[CLI_CHECK_TEXT];
	char remedy[CLI_CHECK_TEXT]; /* what to type or to change; "" */
};

/* What the installed Slurm says. */
struct cli_slurm {
	bool answers; /* slurmctld did: all of this is from it */
	char conf[PATH_MAX], plugstack[PATH_MAX];
	char plugin_dirs[PATH_MAX]; /* separated by colons */
	char job_submit[512];	    /* JobSubmitPlugins */
	char user[64];		    /* SlurmUser */
	char cluster[128], controller[256];
	char parameters[1024]; /* SlurmctldParameters */
	char conf_error[NP_ERR_LEN]; /* why conf is "", for people */
	uint32_t running;   /* version of slurmctld that runs; 0: not known */
	uint32_t installed; /* version of the programs here; 0: not known */
	char installed_of[64]; /* "slurmctld" or "scontrol" */
};

struct cli_check {
	struct np_conf conf;
	bool places; /* some partition is placed: its mode is not off */
	struct cli_slurm slurm;
	double now;
	struct cli_finding *found; /* CLI_CHECK_MAX; more are dropped */
	size_t n;
	bool dropped; /* the last one was */
};

const char *cli_result_name(enum cli_result r); /* "warning" */

/* A finding; its remedy is added by the second. */
void cli_found(struct cli_check *c, enum cli_result result, const char *about,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void cli_remedy(struct cli_check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * cli_check_fabric.c: measure what is particular to the network of a site, into
 * that file; sec: of each measurement.  Returns the exit status.
 */
int cli_check_fabric(const char *path, double sec);

/* cli_slurm.c: ask scontrol and slurmctld; each for 5 s at most. */
void cli_slurm_ask(struct cli_slurm *s);
/* The versions of the installed programs alone. */
void cli_slurm_installed(struct cli_slurm *s);
/* Is netprof in a list of plugins, "lua,netprof"? */
bool cli_slurm_lists(const char *list, const char *name);
/* Does slurmctld send nodes the files that they have not of their own? */
bool cli_slurm_configless(const struct cli_slurm *s);
/*
 * The version in "slurm-wlm 22.05.8" or "24.05.0-0rc1", as Slurm numbers it:
 * major << 16 | minor << 8 | micro.
 */
bool cli_version_parse(const char *text, uint32_t *out);
/*
 * Run argv (argv[0] is looked up in PATH), standard input and error being
 * /dev/null.  buf: its output, cut at len - 1 bytes and terminated.
 * Returns its exit status (128 + signal if one ended it), or -ENOENT (no such
 * program), -ETIMEDOUT (it was killed after sec) or another -errno.
 */
int cli_spawn(char *const argv[], double sec, char *buf, size_t len);

/* Each looks at one thing. */
void cli_check_conf(struct cli_check *c);
void cli_check_programs(struct cli_check *c);
void cli_check_slurm(struct cli_check *c);
void cli_check_plugins(struct cli_check *c);
void cli_check_plugstack(struct cli_check *c);
void cli_check_store(struct cli_check *c);
void cli_check_knowledge(struct cli_check *c); /* calibration, profiles */
void cli_check_placement(struct cli_check *c);

/* All that netprof check looks at. */
void cli_check_all(struct cli_check *c);

/* A plugin against the installed Slurm; used: slurm.conf asks for it. */
void cli_check_plugin(struct cli_check *c, const char *path, bool used);

/* netprof check --make-users: directories that nobody can take any more. */

/* For these users, names or numbers; n 0: for all.  Returns the exit status. */
int cli_make_users(char *const users[], size_t n);

/*
 * netprof check --make-store: the store and the directories in it that are
 * missing, as root.  Returns the exit status.
 */
int cli_make_store(void);

#endif
