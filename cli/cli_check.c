/*
 * The checks of netprof check: the configuration and the programs that it
 * names, Slurm and its plugins, the store, and placement.
 *
 * A check adds a finding for each object, even if there is no problem, so that
 * the output shows everything that was checked.
 */
#include <errno.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli_check.h"
#include "cli_state.h"
#include "np_elf.h"
#include "np_fabric_store.h"
#include "np_loader.h"
#include "np_nics.h"
#include "np_run_summary.h"
#include "np_self_check.h"
#include "np_slurm_file.h"
#include "np_store.h"
#include "np_topo.h"

/* ---- findings ---- */

/*
 * If the list is full, the finding is dropped, and so is the remedy that
 * follows, which would otherwise replace that of the last finding.
 */
void cli_check_add(struct cli_check *c, enum cli_result result,
		   const char *about, const char *fmt, ...)
{
	struct cli_finding *finding = &c->found[c->n];
	va_list args;

	c->dropped = c->n == CLI_CHECK_MAX;
	if (c->dropped)
		return;
	*finding = (struct cli_finding){ .result = result };
	snprintf(finding->about, sizeof(finding->about), "%s", about);
	va_start(args, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, args);
	va_end(args);
	c->n++;
}

void cli_check_remedy(struct cli_check *c, const char *fmt, ...)
{
	va_list args;

	if (c->dropped)
		return;
	va_start(args, fmt);
	vsnprintf(c->found[c->n - 1].remedy, CLI_CHECK_TEXT, fmt, args);
	va_end(args);
}

const char *cli_result_name(enum cli_result result)
{
	static const char *const names[] = {
		[CLI_OK] = "ok",
		[CLI_WARNING] = "warning",
		[CLI_PROBLEM] = "problem",
	};

	return names[result];
}

/* cli_check_add() with each result, and a short name for what follows it. */
#define ok(c, ...) cli_check_add(c, CLI_OK, __VA_ARGS__)
#define warning(c, ...) cli_check_add(c, CLI_WARNING, __VA_ARGS__)
#define problem(c, ...) cli_check_add(c, CLI_PROBLEM, __VA_ARGS__)
#define remedy(...) cli_check_remedy(__VA_ARGS__)

/* ---- configuration and programs ---- */

struct rail {
	const char *name, *nic;
	double link; /* bytes/s of the adapter; 0: this host does not have it */
};

/* List the rails, each with its first adapter. Returns their number. */
static size_t list_rails(const struct np_topo *topo, struct rail rail[])
{
	size_t n = 0;

	for (size_t i = 0; i < topo->n && n < NP_RAILS_MAX; i++) {
		const struct np_topo_leaf *leaf = &topo->leaf[i];
		char name[NP_DEVICE_PATH];
		struct np_device device;
		size_t k = 0;

		while (k < n && strcmp(rail[k].name, leaf->rail))
			k++;
		if (k < n)
			continue;
		snprintf(name, sizeof(name), "any/%s", leaf->nic);
		rail[n++] = (struct rail){
			.name = leaf->rail,
			.nic = leaf->nic,
			.link = !np_device_find("/sys", name, &device) ?
					device.link :
					0,
		};
	}
	return n;
}

/* Check the rails file, and count the rails in it. */
static void check_rails(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct rail rail[NP_RAILS_MAX];
	struct np_topo topo;
	size_t n_rails;

	if (!c->conf.rails[0])
		return;
	if (np_rails_load(c->conf.rails, &topo, &err)) {
		problem(c, "rails", "%s", err.text);
		remedy(c,
		       "correct it, see Rails in netprof.conf(5); until then "
		       "only the first leaf switch of a node is measured");
		return;
	}
	n_rails = list_rails(&topo, rail);
	cli_check_add(c, n_rails ? CLI_OK : CLI_WARNING, "rails",
		      "%s: %zu rail%s", c->conf.rails, n_rails,
		      cli_plural_s(n_rails));
	if (!n_rails)
		remedy(c, "write a line for each leaf switch of "
			  "each rail, or remove Rails");
	np_topo_free(&topo);
}

/* Read netprof.conf. A damaged file is a problem, a missing one is not. */
static void check_conf(struct cli_check *c)
{
	const char *path = np_conf_path();
	struct np_err err = NP_ERR_INIT;
	struct np_conf step;

	if (np_conf_from_environment(&c->conf, &err)) {
		problem(c, "configuration", "%s", err.text);
		remedy(c,
		       "correct it, see netprof.conf(5); until then "
		       "%sslurmctld keeps the configuration that it "
		       "read before",
		       np_conf_for_step(&step, NULL) ?
			       "nothing is measured, and " :
			       "");
	} else if (access(path, F_OK)) {
		ok(c, "configuration", "there is no %s; the defaults are used",
		   path);
	} else {
		ok(c, "configuration", "%s: Placement=%s", path,
		   np_mode_name(c->conf.place.mode));
	}
	check_rails(c);
	c->placement_on = np_place_conf_enabled(&c->conf.place);
	if (c->conf.enabled)
		return;
	warning(c, "configuration", "Enabled=no: nothing is measured");
	remedy(c, "write Enabled=yes in %s", path);
}

/* Check that a program is installed which job steps start. */
static void check_program(struct cli_check *c, const char *dir,
			  const char *name, bool *missing)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!access(path, X_OK))
		return;
	*missing = true;
	problem(c, "programs", "%s: %s", path, strerror(errno));
	remedy(c, "make install, or correct BinDir and "
		  "LibexecDir in netprof.conf");
}

/* Add a finding for each missing program, or a single one if none is. */
static void check_programs(struct cli_check *c)
{
	bool missing = false;

	check_program(c, c->conf.bindir, "netprof-impactb", &missing);
	check_program(c, c->conf.bindir, "netprof-compressionb", &missing);
	check_program(c, c->conf.libexecdir, "netprof-collector", &missing);
	check_program(c, c->conf.libexecdir, "netprof-agent", &missing);
	check_program(c, c->conf.libexecdir, "netprof-mpi", &missing);
	check_program(c, c->conf.libexecdir, "netprof-saver", &missing);
	if (!missing)
		ok(c, "programs", "in %s and %s", c->conf.bindir,
		   c->conf.libexecdir);
}

/* ---- Slurm and the plugins ---- */

#define JOB_SUBMIT "job_submit_netprof.so"
#define PLACEMENT "netprof_placement.so"
#define SPANK "spank_netprof.so"
#define REBUILD \
	"install netprof-slurm for it, or in the source of netprof: " \
	"make clean && make install"
#define SNIPPET NP_SYSCONFDIR "/plugstack.conf.d/netprof.conf"

static const char *version_text(uint32_t version)
{
	return np_loader_text(version, cli_text_buffer());
}

/*
 * A difference between the running and the installed version means that Slurm
 * was upgraded but not restarted.
 */
static void check_slurm(struct cli_check *c)
{
	const struct cli_slurm *slurm = &c->slurm;

	if (!slurm->installed) {
		warning(c, "Slurm",
			"the versions of slurmctld and scontrol are "
			"unknown: neither answers");
		remedy(c, "run netprof check where slurmctld "
			  "runs, with Slurm's programs in PATH");
	} else if (slurm->running && slurm->running != slurm->installed) {
		warning(c, "Slurm",
			"slurmctld %s runs, %s %s is installed here",
			version_text(slurm->running), slurm->installed_of,
			version_text(slurm->installed));
		remedy(c, "before slurmctld is restarted, look "
			  "at the plugins below");
	} else {
		ok(c, "Slurm", "%s %s", slurm->installed_of,
		   version_text(slurm->installed));
	}
	if (slurm->responds)
		return;
	warning(c, "Slurm", "slurmctld does not answer scontrol%s%s",
		*slurm->conf ? "; what follows is from " :
			       ", and slurm.conf cannot be read: ",
		*slurm->conf ? slurm->conf : slurm->conf_error);
	remedy(c, "see slurmctld.log, or journalctl -u slurmctld");
	if (*slurm->conf && *slurm->conf_error) {
		warning(c, "slurm.conf", "%s", slurm->conf_error);
		remedy(c, "correct the line");
	}
}

/* Search "DIR:DIR" for a file, and set its path. Returns whether it exists. */
static bool find_in_dirs(const char *dirs, const char *name, char *path,
			 size_t len)
{
	for (const char *dir = dirs; *dir; dir += !!*dir) {
		size_t dir_len = strcspn(dir, ":");

		snprintf(path, len, "%.*s/%s", (int)dir_len, dir, name);
		if (dir_len && !access(path, F_OK))
			return true;
		dir += dir_len;
	}
	return false;
}

/*
 * Slurm's loader accepts our plugins in any release, because they report the
 * loader's own version. A plugin that was built for another release then
 * disables itself.
 */
static void report_mismatch(struct cli_check *c, const char *path, bool in_ctld,
			    uint32_t built, bool used)
{
	cli_check_add(c, used ? CLI_PROBLEM : CLI_WARNING, basename(path),
		      "was built for Slurm %s, but %s is installed: %s",
		      version_text(built), version_text(c->slurm.installed),
		      in_ctld ?
			      "slurmctld starts with it, and placement is off" :
			      "sbatch, srun and slurmstepd load it, and "
			      "nothing is measured");
	remedy(c, in_ctld ? REBUILD ", then restart slurmctld" : REBUILD);
}

/* Check for PLACEMENT, which job_submit_netprof.so loads from its directory. */
static void check_placement_plugin(struct cli_check *c, const char *path,
				   bool used)
{
	char placement[PATH_MAX + 64 + sizeof(PLACEMENT)];

	snprintf(placement, PATH_MAX + 64, "%s", path);
	strcpy(basename(placement), PLACEMENT);
	if (!access(placement, R_OK))
		return;
	cli_check_add(
		c, used ? CLI_PROBLEM : CLI_WARNING, basename(path),
		"%s: %s: slurmctld starts without it, and placement is off",
		placement, strerror(errno));
	remedy(c, REBUILD ", then restart slurmctld");
}

/*
 * Check whether a plugin file fits the installed Slurm. used is true if
 * slurm.conf or plugstack.conf is expected to load it.
 */
static void check_plugin(struct cli_check *c, const char *path, bool used)
{
	struct np_err err = NP_ERR_INIT;
	char type[64] = "";
	uint32_t built = 0;
	bool in_ctld;

	if (np_elf_symbol(path, "plugin_version", &built, sizeof(built),
			  &err) != sizeof(built) ||
	    np_elf_symbol(path, "plugin_type", type, sizeof(type) - 1, &err) <
		    0) {
		cli_check_add(c, used ? CLI_PROBLEM : CLI_WARNING,
			      basename(path), "cannot be used: %s", err.text);
		remedy(c, REBUILD);
		return;
	}
	in_ctld = !strncmp(type, "job_submit/", 11);
	if (!c->slurm.installed)
		warning(c, basename(path),
			"was built for Slurm %s; the installed version "
			"is unknown",
			version_text(built));
	else if (!np_loader_fits(built, c->slurm.installed))
		report_mismatch(c, path, in_ctld, built, used);
	else
		ok(c, basename(path), "was built for Slurm %s: works in %s %s",
		   version_text(built),
		   in_ctld ? "slurmctld" : "sbatch, srun and slurmstepd",
		   version_text(c->slurm.installed));
	if (in_ctld)
		check_placement_plugin(c, path, used);
}

/*
 * Whether slurmctld, or its backup, may run on this host: slurm.conf names the
 * host, whose domain is ignored, or no host at all.
 */
static bool is_controller(const struct cli_slurm *slurm)
{
	char host[256] = "";
	size_t len;

	gethostname(host, sizeof(host) - 1);
	len = strcspn(host, ".");
	for (const char *p = slurm->controllers; *p; p += !!*p) {
		if (len && strcspn(p, ".,") == len && !strncmp(p, host, len))
			return true;
		p += strcspn(p, ",");
	}
	return !*slurm->controllers;
}

/*
 * Check the placement plugin. Only the host of slurmctld needs it, even if
 * slurm.conf names it everywhere.
 */
static void check_job_submit(struct cli_check *c)
{
	bool used = cli_slurm_lists(c->slurm.job_submit, "netprof");
	char path[PATH_MAX + 64];

	if (find_in_dirs(c->slurm.plugin_dirs, JOB_SUBMIT, path, sizeof(path)))
		check_plugin(c, path, used);
	else if (used && is_controller(&c->slurm)) {
		problem(c, JOB_SUBMIT,
			"is not in %s, and JobSubmitPlugins names it: "
			"slurmctld will not start",
			c->slurm.plugin_dirs);
		remedy(c,
		       "%s; or remove netprof from JobSubmitPlugins "
		       "in slurm.conf",
		       REBUILD);
	} else if (used) {
		ok(c, JOB_SUBMIT, "is not on this host; slurmctld runs on %s",
		   c->slurm.controllers);
	}
	if (used && strpbrk(c->slurm.job_submit, " \t")) {
		problem(c, "slurm.conf",
			"JobSubmitPlugins=\"%s\" has a blank: slurmctld "
			"does not find the plugin and will not start",
			c->slurm.job_submit);
		remedy(c, "remove the blank");
	} else if (used && !c->placement_on) {
		ok(c, "slurm.conf",
		   "JobSubmitPlugins has netprof, but placement is "
		   "off in netprof.conf");
	} else if (used) {
		ok(c, "slurm.conf", "JobSubmitPlugins=%s", c->slurm.job_submit);
	} else if (c->placement_on) {
		problem(c, "slurm.conf",
			"placement is on in netprof.conf, but "
			"JobSubmitPlugins has no netprof");
		remedy(c,
		       "add netprof to JobSubmitPlugins in %s, then "
		       "scontrol reconfigure",
		       *c->slurm.conf ? c->slurm.conf : "slurm.conf");
	}
}

/* Slurm's daemons and commands do not start without one of the directories. */
static void check_plugin_dirs(struct cli_check *c)
{
	size_t len;

	if (!c->slurm.has_plugin_dirs)
		return;
	for (const char *dir = c->slurm.plugin_dirs; *dir; dir += len) {
		char path[PATH_MAX];
		struct stat st;

		dir += *dir == ':';
		len = strcspn(dir, ":");
		snprintf(path, sizeof(path), "%.*s", (int)len, dir);
		errno = ENOTDIR;
		if (!len || (!stat(path, &st) && S_ISDIR(st.st_mode)))
			continue;
		problem(c, "slurm.conf",
			"PluginDir names \"%s\": %s: Slurm does not start "
			"on this host",
			path, strerror(errno));
		remedy(c, "create the directory, or remove it from PluginDir");
	}
}

/* Every host with srun or slurmd needs the SPANK plugin. */
static void check_plugins(struct cli_check *c)
{
	char path[PATH_MAX + 64];

	check_plugin_dirs(c);
	check_job_submit(c);
	if (find_in_dirs(c->slurm.plugin_dirs, SPANK, path, sizeof(path))) {
		check_plugin(c, path, true);
		return;
	}
	problem(c, SPANK, "is not in %s", c->slurm.plugin_dirs);
	remedy(c, "%s", REBUILD);
}

#define PLACE_LEN (PATH_MAX + 16) /* of "FILE:LINE" */

/* State of our plugin in plugstack.conf. */
struct stack {
	bool sends_includes; /* slurmctld sends files included by name */
	const char *plugin_dirs;
	struct np_conf conf;	/* netprof.conf, and our plugin's arguments */
	struct np_err argument; /* FILE:LINE and what is wrong there; or "" */
	/* FILE:LINE, or "" if there is no such line: */
	char loaded_at[PLACE_LEN]; /* loads our plugin */
	char again_at[PLACE_LEN];  /* loads it again, which Slurm refuses */
	char pyxis_at[PLACE_LEN];  /* loads pyxis before it */
	char missing[PATH_MAX];	   /* path of a plugin that does not exist */
	char unsent[PATH_MAX]; /* its include, if that is not sent to nodes */
	bool required;
	bool carriage_return; /* a relevant line ends with one */
	/* The snippet of our packages is included: a missing line belongs in
	   that file. */
	bool has_snippet;
};

/*
 * Whether an included file is sent to nodes without a configuration of their
 * own. Slurm 23.11 and later send files in the same directory, but no patterns.
 */
static bool is_sent_to_nodes(const struct stack *stack,
			     const struct np_slurm_stack_line *include)
{
	return stack->sends_includes && !strpbrk(include->word, "/*?[");
}

/* Whether a plugin exists; without a directory, look in PluginDir. */
static bool plugin_exists(const char *plugin, const char *plugin_dirs)
{
	char path[PATH_MAX + 64];

	return *plugin == '/' ?
		       !access(plugin, F_OK) :
		       find_in_dirs(plugin_dirs, plugin, path, sizeof(path));
}

/* Set the arguments of our plugin as the plugin does. */
static void set_arguments(struct stack *stack,
			  const struct np_slurm_stack_line *line)
{
	struct np_err why = NP_ERR_INIT;
	char *save = NULL, *word = NULL;
	int rc = 0;

	if (line->arguments)
		word = strtok_r(line->arguments, NP_SLURM_BLANKS, &save);
	for (; word && !rc; word = strtok_r(NULL, NP_SLURM_BLANKS, &save))
		rc = np_conf_set(&stack->conf, word, &why);
	if (rc)
		np_errf(&stack->argument, rc, "%s:%u: %s", line->path,
			line->number, why.text);
}

static void record_place(char at[PLACE_LEN],
			 const struct np_slurm_stack_line *line)
{
	snprintf(at, PLACE_LEN, "%s:%u", line->path, line->number);
}

/* Record one line of plugstack.conf or of a file that it includes. */
static int record_stack_line(void *arg, const struct np_slurm_stack_line *line,
			     struct np_err *err)
{
	const struct np_slurm_stack_line *include;
	struct stack *stack = arg;

	(void)err;
	if (line->kind == NP_SLURM_INCLUDE) {
		stack->carriage_return |= strchr(line->word, '\r') != NULL;
		if (line->pattern &&
		    !fnmatch(line->pattern, SNIPPET, FNM_PATHNAME))
			stack->has_snippet = true;
		return 0;
	}
	if (!*stack->loaded_at &&
	    !strcmp(basename(line->word), "spank_pyxis.so"))
		record_place(stack->pyxis_at, line);
	stack->carriage_return |= !strcmp(basename(line->word), SPANK "\r");
	if (strcmp(basename(line->word), SPANK))
		return 0;
	if (strchr(line->word, '/') &&
	    !plugin_exists(line->word, stack->plugin_dirs)) {
		snprintf(stack->missing, sizeof(stack->missing), "%s",
			 line->word);
		return 0;
	}
	if (*stack->loaded_at) {
		record_place(stack->again_at, line);
		return 0;
	}
	record_place(stack->loaded_at, line);
	stack->required = line->kind == NP_SLURM_REQUIRED;
	set_arguments(stack, line);
	for (include = line->from; include; include = include->from)
		if (!is_sent_to_nodes(stack, include))
			snprintf(stack->unsent, sizeof(stack->unsent), "%s",
				 include->word);
	return 0;
}

/* Whether slurmctld sends its files to the nodes; it searches likewise. */
static bool is_configless(const struct cli_check *c)
{
	return strcasestr(c->slurm.parameters, "enable_configless");
}

/* Report problems with the line that loads the plugin. */
static void check_loaded(struct cli_check *c, const struct stack *stack)
{
	if (*stack->argument.text) {
		problem(c, "plugstack.conf", "%s", stack->argument.text);
		remedy(c, "correct it, see netprof.conf(5); "
			  "until then nothing is measured");
	}
	if (stack->required) {
		warning(c, "plugstack.conf",
			SPANK
			" is required: if it cannot be loaded, jobs fail");
		remedy(c, "write \"optional\" instead of \"required\" in %s",
		       stack->loaded_at);
	}
	if (*stack->again_at) {
		warning(c, "plugstack.conf",
			SPANK " is loaded by %s and again by %s: srun "
			      "and sbatch print an error about it",
			stack->loaded_at, stack->again_at);
		remedy(c, "remove one of the two lines");
	}
	if (*stack->pyxis_at) {
		warning(c, "plugstack.conf",
			"%s loads spank_pyxis.so before " SPANK
			": steps with --container-image are not measured, "
			"because the probe agents would start in the container",
			stack->pyxis_at);
		remedy(c, "move the line of " SPANK " (%s) before it",
		       stack->loaded_at);
	}
	if (*stack->unsent && is_configless(c)) {
		warning(c, "plugstack.conf",
			"nodes that get it from slurmctld "
			"(enable_configless) do not get what it includes "
			"as %s: they do not load " SPANK,
			stack->unsent);
		remedy(c,
		       "write \"optional " SPANK
		       "\" into %s itself instead of the include, "
		       "then scontrol reconfigure",
		       c->slurm.plugstack);
	} else if (!stack->required && !*stack->again_at && !*stack->pyxis_at &&
		   !*stack->argument.text) {
		ok(c, "plugstack.conf", "loads " SPANK);
	}
}

/*
 * Report a file that could not be read, or that contains other data than text,
 * in which case Slurm may load the plugin nevertheless.
 */
static void report_unread(struct cli_check *c, const struct stack *stack,
			  int rc, const char *why)
{
	bool loaded = rc == -EILSEQ && *stack->loaded_at;

	cli_check_add(c, rc == -EACCES || loaded ? CLI_WARNING : CLI_PROBLEM,
		      "plugstack.conf", "%s", why);
	if (rc == -EACCES)
		remedy(c, "run netprof check as root");
	else if (loaded)
		remedy(c, "write the line anew: srun and sbatch "
			  "may print an error about it");
}

/*
 * Check whether plugstack.conf loads the plugin. If it does not, the remedy
 * depends on why: the file is unreadable, names a plugin that does not exist,
 * has DOS line ends, includes an empty snippet, or does not name the plugin.
 */
static void check_plugstack(struct cli_check *c)
{
	uint32_t version = c->slurm.running ? c->slurm.running :
					      c->slurm.installed;
	struct stack stack = { .sends_includes = version >= 0x170b00,
			       .plugin_dirs = c->slurm.plugin_dirs,
			       .conf = c->conf };
	const char *path = c->slurm.plugstack;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!*path)
		return;
	rc = np_slurm_stack(path, record_stack_line, &stack, &err);
	if (*stack.loaded_at)
		check_loaded(c, &stack);
	if (rc) {
		report_unread(c, &stack, rc, err.text);
	} else if (*stack.loaded_at) {
		return;
	} else if (*stack.missing) {
		problem(c, "plugstack.conf",
			"%s names %s, which does not exist: there is no "
			"--netprofile",
			path, stack.missing);
		remedy(c, "write " SPANK " without a directory: Slurm "
			  "searches for it in PluginDir");
	} else if (stack.carriage_return) {
		problem(c, "plugstack.conf",
			"%s does not load " SPANK
			": the line ends with a carriage return, which "
			"Slurm takes as part of the name",
			path);
		remedy(c, "convert the file to Unix line ends");
	} else if (stack.has_snippet) {
		problem(c, "plugstack.conf",
			"%s includes %s, which does not load " SPANK
			": there is no --netprofile",
			path, SNIPPET);
		remedy(c, "echo 'optional " SPANK "' >>%s", SNIPPET);
	} else if (access(path, F_OK) && is_configless(c) &&
		   !is_controller(&c->slurm)) {
		ok(c, "plugstack.conf",
		   "is not on this host, which gets it from slurmctld on %s: "
		   "netprof check there says whether it loads " SPANK,
		   c->slurm.controllers);
	} else {
		if (access(path, F_OK))
			problem(c, "plugstack.conf",
				"%s: %s: there is no --netprofile", path,
				strerror(errno));
		else
			problem(c, "plugstack.conf",
				"%s does not load " SPANK
				": there is no --netprofile",
				path);
		if (is_configless(c)) /* includes are not sent */
			remedy(c, "echo 'optional " SPANK "' >>%s", path);
		else
			remedy(c,
			       "echo 'include %s/plugstack.conf.d/*.conf' >>%s",
			       NP_SYSCONFDIR, path);
	}
}

/* ---- the store ---- */

#define MAX_SQUATTERS 8 /* reported one by one */

/*
 * Report too many entries. slurmctld reads a limited number of them, so it may
 * miss those of some users.
 */
static void report_excess_entries(struct cli_check *c, bool squatters)
{
	problem(c, "users/",
		"%s/users: more than %d entries: slurmctld ignores the rest",
		c->conf.store, NP_STORE_MAX_SCAN);
	remedy(c,
	       squatters ?
		       "remove the entries that do not belong to the user "
		       "they are named for, listed below" :
		       "remove the directories of users that no longer exist");
}

/* Report a user who owns entries with names of other users or of nobody. */
static void report_squatter(struct cli_check *c,
			    const struct np_store_squatter *squatter)
{
	const char *store = c->conf.store;
	const char *user = squatter->uid ? cli_user(squatter->uid) : "root";

	if (squatter->n_taken)
		problem(c, "users/",
			"%s owns %zu director%s of other users, such as "
			"%s/users/%u: their runs are not recorded",
			user, squatter->n_taken,
			squatter->n_taken == 1 ? "y" : "ies", store,
			squatter->taken);
	else
		warning(c, "users/",
			"%s owns %zu entr%s in %s/users that are named "
			"for no user",
			user, squatter->n, squatter->n == 1 ? "y" : "ies",
			store);
	/* Directories that root made for users only need a new owner. */
	if (!squatter->uid && squatter->n_taken > 1)
		remedy(c,
		       "netprof check --make-users $(find %s/users -mindepth 1 "
		       "-maxdepth 1 -type d -uid 0 -name '[1-9]*' -printf '%%f "
		       "')",
		       store);
	else if (!squatter->uid)
		remedy(c, "netprof check --make-users %u", squatter->taken);
	else
		remedy(c,
		       "find %s/users -mindepth 1 -maxdepth 1 -uid %u ! -name %u "
		       "-exec rm -r {} +; netprof check --make-users",
		       store, squatter->uid, squatter->uid);
}

/* Report directories that the group of slurmctld cannot read. */
static void report_unreadable(struct cli_check *c,
			      const struct np_store_census *census)
{
	warning(c, "users/",
		"slurmctld cannot read %zu director%s because of the "
		"mode, such as %s/users/%u",
		census->n_closed, census->n_closed == 1 ? "y" : "ies",
		c->conf.store, census->closed);
	remedy(c, "netprof check --make-users, or wait for the "
		  "next runs of these users");
}

/* Check that each entry of users/ belongs to the user whose name it has. */
static void check_owners(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_census census;
	struct np_store *store;
	int rc = np_store_open(c->conf.store, &store, &err);

	if (!rc) {
		rc = np_store_census(store, &census, &err);
		np_store_close(store);
	}
	if (rc) {
		warning(c, "users/", "%s", err.text);
		return;
	}
	if (census.cut)
		report_excess_entries(c, census.n);
	for (size_t i = 0; i < census.n && i < MAX_SQUATTERS; i++)
		report_squatter(c, &census.squatter[i]);
	if (census.n > MAX_SQUATTERS)
		warning(c, "users/", "%zu more users own such entries",
			census.n - MAX_SQUATTERS);
	if (census.n_closed)
		report_unreadable(c, &census);
	np_store_census_free(&census);
}

#define OLD_CALIBRATION_SEC (365 * 86400.0)
#define ZFS_SUPER_MAGIC 0x2fc12fc1 /* not in linux/magic.h */
#define CALIBRATE "salloc -N8 --exclusive netprof calibrate"

/* Find the uid and the group of SlurmUser; both are -1 if it does not exist. */
static uid_t slurm_uid(const struct cli_check *c, gid_t *gid)
{
	const struct passwd *user = getpwnam(c->slurm.user);

	*gid = user ? user->pw_gid : (gid_t)-1;
	return user ? user->pw_uid : (uid_t)-1;
}

/* Whether users other than the owner and root may write there. */
static bool others_may_write(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH) && !(st->st_mode & S_ISVTX);
}

/* Whether a directory is on a disk, or in the memory, of this host. */
static bool is_local(const char *dir)
{
	static const unsigned long local[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC, TMPFS_MAGIC,	   OVERLAYFS_SUPER_MAGIC,
		ZFS_SUPER_MAGIC,
	};
	struct statfs fs;

	if (statfs(dir, &fs))
		return false;
	for (size_t i = 0; i < NP_ARRAY_SIZE(local); i++)
		if ((unsigned long)fs.f_type == local[i])
			return true;
	return false;
}

/* Check the directory of the store. Returns false if it does not exist. */
static bool check_store_dir(struct cli_check *c)
{
	const char *dir = c->conf.store;
	struct stat st;

	if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		problem(c, "store", "%s: %s", dir,
			errno ? strerror(errno) : "expected a directory");
		remedy(c, "netprof check --make-store, as root; "
			  "see netprof-profile(5)");
		return false;
	}
	if (others_may_write(&st)) {
		problem(c, "store",
			"%s: mode %o: users other than its owner can "
			"write there",
			dir, st.st_mode & 07777);
		remedy(c, "chmod go-w %s", dir);
	} else if (!(st.st_mode & S_IXOTH)) {
		warning(c, "store",
			"%s: mode %o: users outside its group cannot use it",
			dir, st.st_mode & 07777);
		remedy(c, "chmod o+x %s", dir);
	} else {
		ok(c, "store", "%s%s", dir,
		   is_local(dir) ? ", on a disk of this host: the other hosts "
				   "have to mount it" :
				   "");
	}
	return true;
}

/* Check the directory users/. Returns false if it does not exist. */
static bool check_users(struct cli_check *c)
{
	char path[PATH_MAX + 32];
	struct stat st;
	gid_t group;
	uid_t uid = slurm_uid(c, &group);
	bool exists;

	snprintf(path, sizeof(path), "%s/users", c->conf.store);
	exists = !lstat(path, &st);
	if (!exists) {
		problem(c, "users/", "%s: %s", path, strerror(errno));
	} else if ((st.st_mode & 07777) != 03777 || !S_ISDIR(st.st_mode)) {
		problem(c, "users/", "%s: mode %o, expected 3777", path,
			st.st_mode & 07777);
	} else if (uid != (uid_t)-1 && uid && st.st_gid != group) {
		problem(c, "users/",
			"%s: group %u, expected that of %s, %u: "
			"slurmctld cannot read profiles there",
			path, st.st_gid, c->slurm.user, group);
	} else {
		ok(c, "users/",
		   "users may write their profiles, slurmctld may read them");
		return true;
	}
	if (uid == (uid_t)-1)
		remedy(c, "install -d -m 3777 -g %s %s", c->slurm.user, path);
	else /* the group of a user may have another name */
		remedy(c, "install -d -m 3777 -g %u %s", group, path);
	return exists && S_ISDIR(st.st_mode);
}

/* Published profiles are trusted if only root can write them. */
static void check_published_dir(struct cli_check *c)
{
	static const char about[] = "published/";
	char path[PATH_MAX + 32];
	struct stat st, store_st;

	snprintf(path, sizeof(path), "%s/published", c->conf.store);
	if (lstat(path, &st)) {
		cli_check_add(c, errno == ENOENT ? CLI_WARNING : CLI_PROBLEM,
			      about, "%s: %s", path, strerror(errno));
		remedy(c, "install -d -m 755 %s", path);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		problem(c, about,
			"%s: not a directory; a symbolic link is not allowed",
			path);
		remedy(c, "rm %s; install -d -m 755 %s", path, path);
	} else if (st.st_uid && !stat(c->conf.store, &store_st) &&
		   st.st_uid != store_st.st_uid) {
		problem(c, about, "%s: owned by %s, therefore not trusted",
			path, cli_user(st.st_uid));
		remedy(c, "check its contents, then chown -R root %s", path);
	} else if (others_may_write(&st) || (st.st_mode & 0555) != 0555) {
		problem(c, about, "%s: mode %o, expected 755", path,
			st.st_mode & 07777);
		remedy(c, "chmod 755 %s", path);
	} else {
		ok(c, about, "%s", path);
	}
}

/* Whether the mode bits allow writing; ACLs and further groups are ignored. */
static bool may_write(const struct stat *st, uid_t uid, gid_t gid)
{
	if (!uid)
		return true;
	return st->st_mode & (st->st_uid == uid ? S_IWUSR :
			      st->st_gid == gid ? S_IWGRP :
						  S_IWOTH);
}

/* Check the directory of slurmctld's state, which slurmctld can create. */
static void check_placement_dir(struct cli_check *c)
{
	char path[PATH_MAX + 32];
	gid_t gid;
	uid_t uid = slurm_uid(c, &gid);
	struct stat st;
	bool exists;

	snprintf(path, sizeof(path), "%s/placement", c->conf.store);
	exists = !lstat(path, &st);
	if (uid == (uid_t)-1)
		warning(c, "placement/", "this host has no user %s",
			c->slurm.user);
	else if (exists && S_ISDIR(st.st_mode) && may_write(&st, uid, gid) &&
		 !others_may_write(&st))
		ok(c, "placement/", "%s belongs to %s", path,
		   cli_user(st.st_uid));
	else if (!exists && !stat(c->conf.store, &st) &&
		 may_write(&st, uid, gid))
		ok(c, "placement/", "slurmctld will create %s", path);
	else {
		cli_check_add(
			c, c->placement_on ? CLI_PROBLEM : CLI_WARNING,
			"placement/", "%s: %s", path,
			!exists ? "it is missing, and SlurmUser cannot create "
				  "it" :
			others_may_write(&st) ?
				  "users other than its owner can write there" :
				  "SlurmUser cannot write there");
		remedy(c, "install -d -m 755 -o %s %s", c->slurm.user, path);
	}
}

/* Check the directories of the store. */
static void check_store(struct cli_check *c)
{
	errno = 0;
	if (!check_store_dir(c))
		return;
	if (check_users(c))
		check_owners(c);
	check_published_dir(c);
	if (c->placement_on)
		check_placement_dir(c);
}

/*
 * Check how well the levels of a calibration predict each other. Levels are
 * programs like any other, so large errors here imply large errors of other
 * predictions.
 */
static void check_levels(struct cli_check *c, const struct np_calibration *cal)
{
	struct np_err err = NP_ERR_INIT;
	struct np_self_check levels;
	char rail[128] = "";

	if (np_self_check(cal->fabric, &levels, &err)) {
		warning(c, "calibration", "%s", err.text);
		return;
	}
	if (!levels.n)
		return;
	if (cal->rail)
		snprintf(rail, sizeof(rail), " of rail %s", cal->rail);
	cli_check_add(
		c, levels.doubtful ? CLI_WARNING : CLI_OK, "calibration",
		"each load level%s predicted from the others: mean error %.1f "
		"percentage points (of the best constant: %.1f; largest: %s, "
		"%.1f)%s",
		rail, levels.mean_points, levels.constant_points,
		cal->level[levels.worst].name, levels.worst_points,
		levels.doubtful ? "; predictions here cannot be trusted, and "
				  "placement ignores them" :
				  "");
	if (levels.doubtful)
		remedy(c, CALIBRATE "%s%s", cal->rail ? " --rail=" : "",
		       cal->rail ? cal->rail : "");
}

/* ---- rails that differ ---- */

/* Length of the prefix of an adapter's name that denotes its kind. */
static size_t kind_length(const char *nic)
{
	size_t len =
		strcspn(nic, "_"); /* mlx4_0 is of another kind than mlx5_0 */

	/* eth0, ens1 and enp65s0 are Ethernet. */
	return *nic == 'e' ? 1 : nic[len] ? len : strcspn(nic, "0123456789");
}

static bool are_rails_different(const struct rail *a, const struct rail *b)
{
	size_t len = kind_length(a->nic);

	return len != kind_length(b->nic) || memcmp(a->nic, b->nic, len) ||
	       (a->link > 0 && b->link > 0 && a->link != b->link);
}

/* Append "rail0 (eth0, 10 Gbit/s)" to a list. */
static void append_rail(const struct rail *rail, char *text, size_t len)
{
	cli_appendf(text, len, "%s%s (%s", *text ? ", " : "", rail->name,
		    rail->nic);
	if (rail->link > 0)
		cli_appendf(text, len, ", %g Gbit/s", rail->link * 8e-9);
	cli_appendf(text, len, ")");
}

/*
 * Check that each of several different rails has a calibration, as that of one
 * rail is valid for others only if they are alike.
 */
static void check_rail_calibrations(struct cli_check *c, struct np_store *store,
				    const char *cluster,
				    const struct np_calibration *newest)
{
	char all_rails[512] = "", uncalibrated[512] = "";
	struct rail rail[NP_RAILS_MAX];
	const struct rail *first = NULL;
	bool differ = false;
	struct np_topo topo;
	size_t n_rails;

	if (!c->conf.rails[0] || np_rails_load(c->conf.rails, &topo, NULL))
		return; /* reported by check_rails() */
	n_rails = list_rails(&topo, rail);
	for (size_t i = 0; i < n_rails; i++) {
		const struct np_fabric_of fabric = { .rail = rail[i].name };
		struct np_calibration own;
		bool calibrated = false;

		differ |= are_rails_different(&rail[i], &rail[0]);
		append_rail(&rail[i], all_rails, sizeof(all_rails));
		if (!np_fabric_store_load_of(store, cluster, NULL, &fabric,
					     &own, NULL)) {
			calibrated = own.rail &&
				     !strcmp(own.rail, rail[i].name);
			if (calibrated && strcmp(own.path, newest->path))
				check_levels(c, &own);
			np_calibration_free(&own);
		}
		if (calibrated)
			continue;
		first = first ? first : &rail[i];
		cli_appendf(uncalibrated, sizeof(uncalibrated), "%s%s",
			    *uncalibrated ? ", " : "", rail[i].name);
	}
	if (differ && first) {
		warning(c, "calibration",
			"the rails of the nodes differ: %s; no calibration of "
			"%s: programs that load it are compared with %s%s",
			all_rails, uncalibrated,
			newest->rail ? "that of " :
				       "one that does not say its rail",
			newest->rail ? newest->rail : "");
		remedy(c, CALIBRATE " --rail=%s", first->name);
	} else if (differ) {
		ok(c, "calibration",
		   "the rails of the nodes differ, and each has its own: %s",
		   all_rails);
	}
	np_topo_free(&topo);
}

/*
 * Check the newest calibration. Without one there are no predictions and
 * placement cannot act, which is a problem if placement is on, and a warning
 * otherwise.
 */
static void check_calibration(struct cli_check *c, struct np_store *store)
{
	enum cli_result missing = c->placement_on ? CLI_PROBLEM : CLI_WARNING;
	const char *cluster = *c->slurm.cluster ? c->slurm.cluster : NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_calibration cal;
	double days;

	if (np_fabric_store_load(store, cluster, NULL, &cal, &err)) {
		cli_check_add(c, missing, "calibration", "%s", err.text);
		remedy(c, CALIBRATE);
		return;
	}
	days = (c->now - cal.date) / 86400;
	cli_check_add(
		c,
		c->now - cal.date > OLD_CALIBRATION_SEC ? CLI_WARNING : CLI_OK,
		"calibration", "of %s%s%s, %.0f day%s old, scope %s",
		cli_day(cal.date), *cal.cluster ? " on " : "", cal.cluster,
		days > 0 ? days : 0, days >= 0.5 && days < 1.5 ? "" : "s",
		np_scope_name(cal.scope));
	if (c->now - cal.date > OLD_CALIBRATION_SEC)
		remedy(c, CALIBRATE);
	if (cal.n_skipped) {
		warning(c, "calibration",
			"%zu newer calibration%s cannot be used: %s",
			cal.n_skipped, cli_plural_s(cal.n_skipped),
			cal.skipped.text);
		remedy(c, CALIBRATE);
	}
	check_levels(c, &cal);
	check_rail_calibrations(c, store, cluster, &cal);
	np_calibration_free(&cal);
}

/*
 * Count the published profiles. Only these affect jobs of other users, so
 * without any, placement does not separate the jobs of different users.
 */
static void check_published(struct cli_check *c, struct np_store *store)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_app *apps;
	size_t n_apps = 0, n_idle = 0;

	if (np_store_list_apps(store, NP_STORE_PUBLISHED, 0, &apps, &n_apps,
			       &err)) {
		problem(c, "profiles", "%s", err.text);
		return;
	}
	for (size_t i = 0; i < n_apps; i++)
		n_idle += !strcmp(apps[i].name, NP_IDLE_APP);
	if (n_apps > n_idle) {
		ok(c, "profiles", "%zu published", n_apps - n_idle);
	} else if (c->placement_on && !c->conf.place.n_trusted) {
		warning(c, "profiles",
			"none are published: jobs of different users are "
			"not kept apart");
		remedy(c, "netprof list --all; netprof publish USER/APP");
	} else {
		ok(c, "profiles", "none are published");
	}
	free(apps);
}

/* Check what is in the store: the calibration and the published profiles. */
static void check_contents(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store *store;

	if (np_store_open(c->conf.store, &store, &err))
		return; /* reported by check_store() */
	check_calibration(c, store);
	check_published(c, store);
	np_store_close(store);
}

/* ---- placement ---- */

#define MAX_DENIALS 8 /* of denied names, reported one by one */
#define NOT_LOADED \
	"look for netprof in slurmctld.log; is JobSubmitPlugins=" \
	"netprof in slurm.conf, and was slurmctld reconfigured since?"

/*
 * Report users whose jobs have a published name that they are not authorised to
 * use. The administrator has to find out whether the jobs run that program. The
 * first Claim= line for a name excludes everybody else, unless it has the word
 * "default".
 */
static void report_denials(struct cli_check *c, const struct np_state *state)
{
	for (size_t i = 0; i < state->n_denials && i < MAX_DENIALS; i++) {
		const struct np_state_denial *denial = &state->denial[i];

		warning(c, "authorisation", "%s", cli_denied_text(denial));
		remedy(c,
		       "if these jobs do run it: Claim=%s:%suser=%u "
		       "in netprof.conf",
		       denial->app, denial->refuted ? "default," : "",
		       denial->uid);
	}
	if (state->n_denials > MAX_DENIALS) {
		warning(c, "authorisation", "%zu more are denied",
			state->n_denials - MAX_DENIALS);
		remedy(c, "netprof status --all");
	}
}

/* Report a state. If it is old, that is a problem only if placement is on. */
static void report_state(struct cli_check *c, const struct np_state *state)
{
	const char *age = cli_age(state->date, c->now);

	if (cli_state_stale(state, c->now)) {
		cli_check_add(
			c, c->placement_on ? CLI_PROBLEM : CLI_OK, "placement",
			"the last decision was %s: placement does not act",
			age);
		if (c->placement_on)
			remedy(c, NOT_LOADED);
		return;
	}
	ok(c, "placement", "mode %s, last decision %s on %s",
	   *state->mode ? state->mode : "off", age, state->controller);
	if (strcmp(state->mode, np_mode_name(c->conf.place.mode))) {
		warning(c, "placement",
			"slurmctld is in mode %s, netprof.conf here says %s",
			state->mode, np_mode_name(c->conf.place.mode));
		remedy(c, "is netprof.conf the same on all hosts? "
			  "slurmctld reads it again within a minute");
	}
	if (*state->trouble) {
		warning(c, "placement", "%s", state->trouble);
		remedy(c, "look for netprof in slurmctld.log");
	}
	if (strcmp(state->netprof_version, NP_VERSION)) {
		warning(c, "placement",
			"slurmctld has netprof %s loaded, %s is installed",
			state->netprof_version, NP_VERSION);
		remedy(c, "restart slurmctld");
	}
	report_denials(c, state);
}

/*
 * Check the state that slurmctld writes: it shows whether placement runs, and
 * with which configuration and version.
 */
static void check_placement(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_state state;
	int rc = np_state_load(c->conf.store, &state, &err);

	if (!rc) {
		report_state(c, &state);
		np_state_free(&state);
	} else if (rc == -ENOENT && !c->placement_on) {
		ok(c, "placement", "off");
	} else if (rc == -ENOENT) {
		problem(c, "placement", "%s", err.text);
		remedy(c, NOT_LOADED);
	} else if (rc == -EACCES) {
		warning(c, "placement", "%s", err.text);
	} else {
		problem(c, "placement", "%s", err.text);
		remedy(c, "look for netprof in slurmctld.log");
	}
}

/* ---- all checks ---- */

/*
 * Named files are checked without slurmctld, because make install checks them
 * before anything is started.
 */
void cli_check_versions(struct cli_check *c, char *const paths[], size_t n)
{
	if (n) {
		cli_slurm_installed(&c->slurm);
	} else {
		cli_slurm_read(&c->slurm);
		check_plugins(c);
	}
	for (size_t i = 0; i < n; i++)
		check_plugin(c, paths[i], true);
}

/* Reads the configuration and Slurm first, because other checks use them. */
void cli_check_all(struct cli_check *c)
{
	static void (*const checks[])(struct cli_check *) = {
		check_programs,	 check_slurm, check_plugins,
		check_plugstack, check_store, check_contents,
		check_placement,
	};

	check_conf(c);
	cli_slurm_read(&c->slurm);
	for (size_t i = 0; i < NP_ARRAY_SIZE(checks); i++)
		checks[i](c);
}
