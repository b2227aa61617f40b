/*
 * What the installed Slurm says about itself, and how its programs are run.
 *
 * scontrol is asked first; where slurmctld does not answer, slurm.conf and the
 * files it includes are read instead.
 */
#ifndef CLI_SLURM_H
#define CLI_SLURM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_slurm_file.h"

struct cli_slurm {
	bool responds; /* slurmctld answered, and the settings are from it */
	char conf[PATH_MAX]; /* slurm.conf; "": it cannot be read */
	char plugstack[PATH_MAX];
	char plugin_dirs[PATH_MAX]; /* separated by colons */
	bool has_plugin_dirs;	    /* slurm.conf, or slurmctld, names them */
	char job_submit[512];	    /* JobSubmitPlugins */
	char user[64];		    /* SlurmUser */
	char cluster[128];	    /* in lower case */
	char controllers[1024];	    /* "a,b": the primary, then its backups */
	char parameters[1024];	    /* SlurmctldParameters */
	/* why slurm.conf cannot be read, or what is wrong with a line of it */
	char conf_error[NP_ERR_LEN];
	uint32_t running;   /* version of the running slurmctld; 0: unknown */
	uint32_t installed; /* version of the programs here; 0: unknown */
	char installed_of[64]; /* which program that is: "slurmctld" ... */
};

/*
 * Ask scontrol and slurmctld, each for at most 5 s, or read slurm.conf. What
 * cannot be learnt has its default.
 */
void cli_slurm_read(struct cli_slurm *s);

/* Fill in only the versions of the installed programs. */
void cli_slurm_installed(struct cli_slurm *s);

/* Is a plugin in a list such as "lua,netprof"? */
bool cli_slurm_lists(const char *list, const char *name);

/*
 * Find the version in "slurm-wlm 22.05.8" or "24.05.0-0rc1", encoded as Slurm
 * does: major << 16 | minor << 8 | micro. Exported for the unit tests.
 */
bool cli_version_parse(const char *text, uint32_t *out);

/*
 * Run argv without a shell; argv[0] is looked up in PATH. Standard input and
 * error are /dev/null. buf: its output, cut at len - 1 bytes and terminated.
 * Returns its exit status (128 + the signal that ended it), or -ENOENT (no such
 * program), -ETIMEDOUT (killed after sec seconds) or another -errno.
 */
int cli_spawn(char *const argv[], double sec, char *buf, size_t len);

/*
 * Make a delimiter for the fields of sacct that cannot occur in the name of a
 * job: users choose names, and would have to guess 32 random bits.
 */
void cli_sacct_delimiter(char *buf, size_t len);

#endif
