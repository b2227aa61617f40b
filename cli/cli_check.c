/*
 * The checks of netprof check: the configuration and the programs that it
 * names, Slurm and the plugins in it, the store, and placement.
 *
 * A check adds one finding for each object it looked at, "ok" included, so that
 * the output shows what was checked.
 */
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_check.h"
#include "cli_state.h"
#include "np_elf.h"
#include "np_run_summary.h"
#include "np_fabric_store.h"
#include "np_loader.h"
#include "np_nics.h"
#include "np_self_check.h"
#include "np_slurm_file.h"
#include "np_store.h"
#include "np_topo.h"

/* ---- findings ---- */

/*
 * A full list drops the finding and remembers that, so that the remedy that
 * follows does not overwrite another one.
 */
void cli_check_add(struct cli_check *c, enum cli_result result, const char *about,
	       const char *fmt, ...)
{
	struct cli_finding *f = &c->found[c->n];
	va_list ap;

	c->dropped = c->n == CLI_CHECK_MAX;
	if (c->dropped)
		return;
	*f = (struct cli_finding){ .result = result };
	snprintf(f->about, sizeof(f->about), "%s", about);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	c->n++;
}

void cli_check_remedy(struct cli_check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->dropped)
		return;
	va_start(ap, fmt);
	vsnprintf(c->found[c->n - 1].remedy, CLI_CHECK_TEXT, fmt, ap);
	va_end(ap);
}

const char *cli_result_name(enum cli_result r)
{
	static const char *const names[] = {
		[CLI_OK] = "ok", [CLI_WARNING] = "warning",
		[CLI_PROBLEM] = "problem",
	};

	return names[r];
}

/* ---- configuration and programs ---- */

/* The file of the rails, with how many there are. */
static void check_rails(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_topo t;
	size_t rails = 0;

	if (!c->conf.rails[0])
		return;
	if (np_rails_load(c->conf.rails, &t, &err)) {
		cli_check_add(c, CLI_PROBLEM, "rails", "%s", err.text);
		cli_check_remedy(c, "correct it, see Rails in "
			   "netprof.conf(5); until then only the first "
			   "leaf switch of a node is measured");
		return;
	}
	for (size_t i = 0; i < t.n; i++) {
		size_t k = 0;

		while (strcmp(t.leaf[k].rail, t.leaf[i].rail))
			k++;
		rails += k == i;
	}
	cli_check_add(c, CLI_OK, "rails", "%s: %zu rail%s", c->conf.rails,
		      rails, cli_s(rails));
	np_topo_free(&t);
}

/* netprof.conf: a damaged file is a problem, a missing one is not. */
static void check_conf(struct cli_check *c)
{
	const char *path = np_conf_path();
	struct np_err err = NP_ERR_INIT;

	if (np_conf_from_environment(&c->conf, &err)) {
		cli_check_add(c, CLI_PROBLEM, "configuration", "%s", err.text);
		cli_check_remedy(c, "correct it, see netprof.conf(5); until then "
			   "nothing is measured, and slurmctld keeps the "
			   "configuration that it read before");
	} else if (access(path, F_OK)) {
		cli_check_add(c, CLI_OK, "configuration", "there is no %s; the "
			  "defaults are used", path);
	} else {
		cli_check_add(c, CLI_OK, "configuration", "%s: Placement=%s", path,
			  np_mode_name(c->conf.place.mode));
	}
	check_rails(c);
	c->places = cli_placement_enabled(&c->conf.place);
	if (c->conf.enabled)
		return;
	cli_check_add(c, CLI_WARNING, "configuration", "Enabled=no: nothing is "
		  "measured");
	cli_check_remedy(c, "write Enabled=yes in %s", path);
}

/* One of the installed programs that job steps start. */
static void check_program(struct cli_check *c, const char *dir,
			  const char *name, bool *missing)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!access(path, X_OK))
		return;
	*missing = true;
	cli_check_add(c, CLI_PROBLEM, "programs", "%s: %s", path, strerror(errno));
	cli_check_remedy(c, "make install, or correct BinDir and LibexecDir in "
		   "netprof.conf");
}

/* One finding for each missing program, or a single one if all are there. */
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
		cli_check_add(c, CLI_OK, "programs", "in %s and %s",
			  c->conf.bindir, c->conf.libexecdir);
}

/* ---- Slurm and the plugins ---- */

#define JOB_SUBMIT "job_submit_netprof.so"
#define PLACEMENT "netprof_placement.so"
#define SPANK "spank_netprof.so"
#define REBUILD "install netprof-slurm for it, or in the source of netprof: " \
	"make clean && make install"
#define SNIPPET NP_SYSCONFDIR "/plugstack.conf.d/netprof.conf"

/*
 * A difference between the running and the installed version means that Slurm
 * was upgraded but not restarted.
 */
static void check_slurm(struct cli_check *c)
{
	const struct cli_slurm *s = &c->slurm;
	char running[NP_LOADER_TEXT], here[NP_LOADER_TEXT];

	if (!s->installed) {
		cli_check_add(c, CLI_WARNING, "Slurm", "neither slurmctld nor "
			  "scontrol could be asked for its version");
		cli_check_remedy(c, "run netprof check where slurmctld runs, with "
			   "Slurm's programs in PATH");
	} else if (s->running && s->running != s->installed) {
		cli_check_add(c, CLI_WARNING, "Slurm", "slurmctld %s runs, %s %s "
			  "is installed here", np_loader_text(s->running,
			  running), s->installed_of,
			  np_loader_text(s->installed, here));
		cli_check_remedy(c, "before slurmctld is restarted, look at the "
			   "plugins below");
	} else {
		cli_check_add(c, CLI_OK, "Slurm", "%s %s", s->installed_of,
			  np_loader_text(s->installed, here));
	}
	if (s->responds)
		return;
	cli_check_add(c, CLI_WARNING, "Slurm", "slurmctld does not answer "
		  "scontrol%s%s", *s->conf ? "; what follows is from " :
		  ", and slurm.conf cannot be read: ", *s->conf ? s->conf :
		  s->conf_error);
	cli_check_remedy(c, "see slurmctld.log, or journalctl -u slurmctld");
}

/* Search a list of directories for a file; path is set if it is found. */
static bool find_plugin(const char *dirs, const char *name, char *path,
			size_t len)
{
	for (const char *p = dirs; *p; p += !!*p) {
		size_t n = strcspn(p, ":");

		snprintf(path, len, "%.*s/%s", (int)n, p, name);
		if (n && !access(path, F_OK))
			return true;
		p += n;
	}
	return false;
}

/*
 * The loader of Slurm accepts our plugins in any version, because they claim
 * its own version; a plugin that was built for another release then switches
 * itself off.
 */
static void report_mismatch(struct cli_check *c, const char *path,
			    bool in_ctld, uint32_t built, bool used)
{
	char was[NP_LOADER_TEXT], is[NP_LOADER_TEXT];

	cli_check_add(c, used ? CLI_PROBLEM : CLI_WARNING, basename(path),
		  "was built for Slurm %s, but %s is installed: %s",
		  np_loader_text(built, was),
		  np_loader_text(c->slurm.installed, is),
		  in_ctld ? "slurmctld starts with it, and placement is off" :
			    "sbatch, srun and slurmstepd load it, and nothing "
			    "is measured");
	cli_check_remedy(c, in_ctld ? REBUILD ", then restart slurmctld" : REBUILD);
}

/*
 * job_submit_netprof.so loads PLACEMENT, which does the work, from its own
 * directory.
 */
static void check_placement_plugin(struct cli_check *c, const char *path,
				   bool used)
{
	char placement[PATH_MAX + 64];

	snprintf(placement, sizeof(placement), "%.*s" PLACEMENT,
		 (int)(basename(path) - path), path);
	if (!access(placement, R_OK))
		return;
	cli_check_add(c, used ? CLI_PROBLEM : CLI_WARNING, basename(path),
		  "%s: %s: slurmctld starts without it, and placement is off",
		  placement, strerror(errno));
	cli_check_remedy(c, REBUILD ", then restart slurmctld");
}

/* One plugin file and the installed Slurm; used: slurm.conf names it. */
static void check_plugin(struct cli_check *c, const char *path, bool used)
{
	struct np_err err = NP_ERR_INIT;
	char type[64] = "", was[NP_LOADER_TEXT], is[NP_LOADER_TEXT];
	uint32_t built = 0;
	bool in_ctld;

	if (np_elf_symbol(path, "plugin_version", &built, sizeof(built),
			  &err) != sizeof(built) ||
	    np_elf_symbol(path, "plugin_type", type, sizeof(type) - 1,
			  &err) < 0) {
		cli_check_add(c, used ? CLI_PROBLEM : CLI_WARNING,
			  basename(path), "cannot be used: %s", err.text);
		cli_check_remedy(c, REBUILD);
		return;
	}
	in_ctld = !strncmp(type, "job_submit/", 11);
	if (!c->slurm.installed)
		cli_check_add(c, CLI_WARNING, basename(path), "was built for "
			  "Slurm %s; the installed version is unknown",
			  np_loader_text(built, was));
	else if (!np_loader_fits(built, c->slurm.installed))
		report_mismatch(c, path, in_ctld, built, used);
	else
		cli_check_add(c, CLI_OK, basename(path), "was built for Slurm "
			  "%s: works in %s %s", np_loader_text(built, was),
			  in_ctld ? "slurmctld" : "sbatch, srun and slurmstepd",
			  np_loader_text(c->slurm.installed, is));
	if (in_ctld)
		check_placement_plugin(c, path, used);
}

/* Is this the host of SlurmctldHost? Compares names up to the first dot. */
static bool is_controller(const struct cli_slurm *s)
{
	char host[256] = "";
	size_t n = strcspn(s->controller, ".");

	gethostname(host, sizeof(host) - 1);
	return n && !strncmp(host, s->controller, n) &&
	       (!host[n] || host[n] == '.');
}

/*
 * The placement plugin belongs on the host of slurmctld only. Elsewhere it may
 * be missing, even if slurm.conf names it.
 */
static void check_job_submit(struct cli_check *c)
{
	bool used = cli_slurm_lists(c->slurm.job_submit, "netprof");
	char path[PATH_MAX + 64];

	if (find_plugin(c->slurm.plugin_dirs, JOB_SUBMIT, path, sizeof(path)))
		check_plugin(c, path, used);
	else if (used && is_controller(&c->slurm)) {
		cli_check_add(c, CLI_PROBLEM, JOB_SUBMIT, "is not in %s, and "
			  "JobSubmitPlugins names it: slurmctld will not "
			  "start", c->slurm.plugin_dirs);
		cli_check_remedy(c, "%s; or remove netprof from JobSubmitPlugins in "
			   "slurm.conf", REBUILD);
	} else if (used) {
		cli_check_add(c, CLI_OK, JOB_SUBMIT, "is not here; slurmctld runs "
			  "on %s", *c->slurm.controller ? c->slurm.controller :
			  "another host");
	}
	if (used && !c->places) {
		cli_check_add(c, CLI_OK, "slurm.conf", "JobSubmitPlugins has "
			  "netprof, but placement is off in netprof.conf");
	} else if (used) {
		cli_check_add(c, CLI_OK, "slurm.conf", "JobSubmitPlugins=%s",
			  c->slurm.job_submit);
	} else if (c->places) {
		cli_check_add(c, CLI_PROBLEM, "slurm.conf", "placement is on in "
			  "netprof.conf, but JobSubmitPlugins has no "
			  "netprof");
		cli_check_remedy(c, "add netprof to JobSubmitPlugins in %s, then "
			   "scontrol reconfigure", *c->slurm.conf ?
			   c->slurm.conf : "slurm.conf");
	}
}

/* The SPANK plugin is needed on every host with srun or slurmd. */
static void check_plugins(struct cli_check *c)
{
	char path[PATH_MAX + 64];

	check_job_submit(c);
	if (find_plugin(c->slurm.plugin_dirs, SPANK, path, sizeof(path))) {
		check_plugin(c, path, true);
		return;
	}
	cli_check_add(c, CLI_PROBLEM, SPANK, "is not in %s",
		  c->slurm.plugin_dirs);
	cli_check_remedy(c, "%s", REBUILD);
}

/* What plugstack.conf says about our plugin. */
struct stack {
	bool sends_includes;	/* slurmctld sends files included by name */
	const char *plugin_dirs;
	char at[PATH_MAX + 16]; /* FILE:LINE that loads it; "": none */
	char again[PATH_MAX + 16]; /* a second one, which Slurm refuses */
	char pyxis[PATH_MAX + 16]; /* loads pyxis before it; or "" */
	char missing[PATH_MAX]; /* path of it that does not exist; or "" */
	char unsent[PATH_MAX]; /* its include, which no node is sent; or "" */
	bool required;
	bool carriage_return; /* of a line with an include, or with the plugin */
	bool has_snippet; /* the snippet of our packages is included */
};

/*
 * Is an included file sent to nodes without a configuration of their own?
 * Slurm 23.11 and later send files in the same directory, but no patterns.
 */
static bool is_sent(const struct stack *s,
		    const struct np_slurm_stack_line *include)
{
	return s->sends_includes && !strpbrk(include->word, "/*?[");
}

/*
 * Remember whether the snippet of our packages is included, since then a
 * missing line belongs into that file.
 */
static void take_include(struct stack *s,
			 const struct np_slurm_stack_line *line)
{
	if (line->pattern && !fnmatch(line->pattern, SNIPPET, FNM_PATHNAME))
		s->has_snippet = true;
}

/* A plugin with a directory; Slurm searches for others in PluginDir. */
static bool exists(const char *plugin, const char *plugin_dirs)
{
	char path[PATH_MAX + 64];

	return *plugin == '/' ? !access(plugin, F_OK) :
	       find_plugin(plugin_dirs, plugin, path, sizeof(path));
}

/* One line of plugstack.conf or of a file it includes. */
static int take_stack_line(void *arg, const struct np_slurm_stack_line *line,
			   struct np_err *err)
{
	const struct np_slurm_stack_line *from;
	struct stack *s = arg;

	(void)err;
	if (line->kind == NP_SLURM_INCLUDE) {
		s->carriage_return |= strchr(line->word, '\r') != NULL;
		take_include(s, line);
		return 0;
	}
	if (!*s->at && !strcmp(basename(line->word), "spank_pyxis.so"))
		snprintf(s->pyxis, sizeof(s->pyxis), "%s:%u", line->path,
			 line->number);
	s->carriage_return |= !strcmp(basename(line->word), SPANK "\r");
	if (strcmp(basename(line->word), SPANK))
		return 0;
	if (strchr(line->word, '/') && !exists(line->word, s->plugin_dirs)) {
		snprintf(s->missing, sizeof(s->missing), "%s", line->word);
		return 0;
	}
	if (*s->at) {
		snprintf(s->again, sizeof(s->again), "%s:%u", line->path,
			 line->number);
		return 0;
	}
	snprintf(s->at, sizeof(s->at), "%s:%u", line->path, line->number);
	s->required = line->kind == NP_SLURM_REQUIRED;
	for (from = line->from; from; from = from->from)
		if (!is_sent(s, from))
			snprintf(s->unsent, sizeof(s->unsent), "%s",
				 from->word);
	return 0;
}

/* Does slurmctld send its configuration files to the nodes? */
static bool slurm_configless(const struct cli_slurm *s)
{
	return cli_slurm_lists(s->parameters, "enable_configless");
}

/* The plugin is loaded; is it loaded well? */
static void check_loaded(struct cli_check *c, const struct stack *s)
{
	if (s->required) {
		cli_check_add(c, CLI_WARNING, "plugstack.conf", SPANK " is "
			  "required: if it cannot be loaded, jobs fail");
		cli_check_remedy(c, "write \"optional\" instead of \"required\" in "
			   "%s", s->at);
	}
	if (*s->again) {
		cli_check_add(c, CLI_WARNING, "plugstack.conf", SPANK " is loaded "
			  "by %s and again by %s: srun and sbatch print an "
			  "error about it", s->at, s->again);
		cli_check_remedy(c, "remove one of the two lines");
	}
	if (*s->pyxis) {
		cli_check_add(c, CLI_WARNING, "plugstack.conf", "%s loads "
			  "spank_pyxis.so before " SPANK ": steps with "
			  "--container-image are not measured, because the "
			  "probe agents would start in the container",
			  s->pyxis);
		cli_check_remedy(c, "move the line of " SPANK " (%s) before it",
			   s->at);
	}
	if (*s->unsent && slurm_configless(&c->slurm)) {
		cli_check_add(c, CLI_WARNING, "plugstack.conf", "nodes that get "
			  "it from slurmctld (enable_configless) do not get "
			  "what it includes as %s: they do not load " SPANK,
			  s->unsent);
		cli_check_remedy(c, "write \"optional " SPANK "\" into %s itself "
			   "instead of the include, then scontrol "
			   "reconfigure", c->slurm.plugstack);
	} else if (!s->required && !*s->again && !*s->pyxis) {
		cli_check_add(c, CLI_OK, "plugstack.conf", "loads " SPANK);
	}
}

/*
 * Not all of the files could be read, or not all is text. The latter alone does
 * not keep Slurm from loading the plugin.
 */
static void report_unread(struct cli_check *c, const struct stack *s, int rc,
			  const char *why)
{
	bool loaded = rc == -EILSEQ && *s->at;

	cli_check_add(c, rc == -EACCES || loaded ? CLI_WARNING : CLI_PROBLEM,
		  "plugstack.conf", "%s", why);
	if (rc == -EACCES)
		cli_check_remedy(c, "run netprof check as root");
	else if (loaded)
		cli_check_remedy(c, "write the line anew: srun and sbatch may "
			   "print an error about it");
}

/*
 * Each way of not loading the plugin has its own remedy: the file is
 * unreadable, names a plugin that does not exist, has DOS line ends, includes
 * an empty snippet, or does not mention the plugin at all.
 */
static void check_plugstack(struct cli_check *c)
{
	uint32_t version = c->slurm.running ? c->slurm.running :
					      c->slurm.installed;
	struct stack s = { .sends_includes = version >= 0x170b00,
			   .plugin_dirs = c->slurm.plugin_dirs };
	const char *path = c->slurm.plugstack;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!*path)
		return;
	rc = np_slurm_stack(path, take_stack_line, &s, &err);
	if (*s.at)
		check_loaded(c, &s);
	if (rc) {
		report_unread(c, &s, rc, err.text);
	} else if (*s.at) {
		return;
	} else if (*s.missing) {
		cli_check_add(c, CLI_PROBLEM, "plugstack.conf", "%s names %s, "
			      "which does not exist: there is no --netprofile",
			      path, s.missing);
		cli_check_remedy(c, "write " SPANK " without a directory: Slurm "
				 "searches for it in PluginDir");
	} else if (s.carriage_return) {
		cli_check_add(c, CLI_PROBLEM, "plugstack.conf", "%s does not load "
			  SPANK ": the line ends with a carriage return, which "
			  "Slurm takes as part of the name", path);
		cli_check_remedy(c, "convert the file to Unix line ends");
	} else if (s.has_snippet) {
		cli_check_add(c, CLI_PROBLEM, "plugstack.conf", "%s includes %s, "
			  "which does not load " SPANK ": there is no "
			  "--netprofile", path, SNIPPET);
		cli_check_remedy(c, "echo 'optional " SPANK "' >>%s", SNIPPET);
	} else {
		cli_check_add(c, CLI_PROBLEM, "plugstack.conf", "%s does not load "
			  SPANK ": there is no --netprofile", path);
		cli_check_remedy(c, "echo 'include %s/plugstack.conf.d/*.conf' >>%s",
			   NP_SYSCONFDIR, path);
	}
}

/* ---- the store ---- */

#define MAX_SQUATTERS 8 /* reported one by one */

/*
 * slurmctld reads a limited number of entries, so a crowd of them can hide
 * those of other users.
 */
static void report_cut(struct cli_check *c, bool squatters)
{
	cli_check_add(c, CLI_PROBLEM, "users/", "%s/users: more than %d entries: "
		  "slurmctld does not look at the rest", c->conf.store,
		  NP_STORE_MAX_SCAN);
	cli_check_remedy(c, squatters ? "remove the entries that do not belong to "
		   "the user they are named for, listed below" :
		   "remove the directories of users that no longer exist");
}

/* Directories made by root for other users only need their owner changed. */
static void report_root(struct cli_check *c, const struct np_store_squatter *q)
{
	cli_check_add(c, CLI_PROBLEM, "users/", "root owns %zu director%s of other "
		  "users, such as %s/users/%u: their runs are not recorded",
		  q->n_taken, q->n_taken == 1 ? "y" : "ies", c->conf.store,
		  q->taken);
	cli_check_remedy(c, "netprof check --make-users %u", q->taken);
}

/* A user owns entries that are named for other users, or for nobody. */
static void report_squatter(struct cli_check *c,
			    const struct np_store_squatter *q)
{
	const char *store = c->conf.store;
	char who[CLI_NUMBER];

	cli_user(q->uid, who);
	if (q->n_taken)
		cli_check_add(c, CLI_PROBLEM, "users/", "%s owns %zu director%s of "
			  "other users, such as %s/users/%u: their runs are "
			  "not recorded", who, q->n_taken,
			  q->n_taken == 1 ? "y" : "ies", store, q->taken);
	else
		cli_check_add(c, CLI_WARNING, "users/", "%s owns %zu entr%s in "
			  "%s/users that no user has the name of", who, q->n,
			  q->n == 1 ? "y" : "ies", store);
	cli_check_remedy(c, "find %s/users -mindepth 1 -maxdepth 1 -uid %u ! -name "
		   "%u -exec rm -r {} +; netprof check --make-users", store,
		   q->uid, q->uid);
}

/* slurmctld reads the profiles of users by its group. */
static void report_unreadable(struct cli_check *c,
			      const struct np_store_census *s)
{
	cli_check_add(c, CLI_WARNING, "users/", "slurmctld cannot read %zu "
		  "director%s because of the mode, such as %s/users/%u",
		  s->n_closed, s->n_closed == 1 ? "y" : "ies", c->conf.store,
		  s->closed);
	cli_check_remedy(c, "netprof check --make-users, or wait for the next runs "
		   "of these users");
}

/* The entries of users/: does each belong to the user it is named for? */
static void check_owners(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_census s;
	struct np_store *store;
	int rc = np_store_open(c->conf.store, &store, &err);

	if (!rc) {
		rc = np_store_census(store, &s, &err);
		np_store_close(store);
	}
	if (rc) {
		cli_check_add(c, CLI_WARNING, "users/", "%s", err.text);
		return;
	}
	if (s.cut)
		report_cut(c, s.n);
	for (size_t i = 0; i < s.n && i < MAX_SQUATTERS; i++)
		if (s.squatter[i].uid)
			report_squatter(c, &s.squatter[i]);
		else
			report_root(c, &s.squatter[i]);
	if (s.n > MAX_SQUATTERS)
		cli_check_add(c, CLI_WARNING, "users/", "%zu more users own such "
			  "entries", s.n - MAX_SQUATTERS);
	if (s.n_closed)
		report_unreadable(c, &s);
	np_store_census_free(&s);
}

#define OLD_CALIBRATION_SEC (365 * 86400.0)
#define CALIBRATE "salloc -N8 --exclusive netprof calibrate"

/* The uid and the group of SlurmUser, or -1 and -1. */
static uid_t slurm_uid(const struct cli_check *c, gid_t *gid)
{
	const struct passwd *pw = getpwnam(c->slurm.user);

	*gid = pw ? pw->pw_gid : (gid_t)-1;
	return pw ? pw->pw_uid : (uid_t)-1;
}

/* May users other than the owner and root write there? */
static bool others_may_write(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH) && !(st->st_mode & S_ISVTX);
}

/* The directory of the store itself. Returns false if there is none. */
static bool check_top(struct cli_check *c)
{
	const char *dir = c->conf.store;
	struct stat st;

	if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		cli_check_add(c, CLI_PROBLEM, "store", "%s: %s", dir, errno ?
			  strerror(errno) : "expected a directory");
		cli_check_remedy(c, "netprof check --make-store, as root; see "
			   "netprof-profile(5)");
		return false;
	}
	if (others_may_write(&st)) {
		cli_check_add(c, CLI_PROBLEM, "store", "%s: mode %o: users "
			  "other than its owner can write there", dir,
			  st.st_mode & 07777);
		cli_check_remedy(c, "chmod go-w %s", dir);
	} else {
		cli_check_add(c, CLI_OK, "store", "%s", dir);
	}
	return true;
}

/* The directory users/. Returns false if there is no such directory. */
static bool check_users(struct cli_check *c)
{
	char path[PATH_MAX + 32];
	struct stat st;
	gid_t group;
	uid_t uid = slurm_uid(c, &group);
	bool there;

	snprintf(path, sizeof(path), "%s/users", c->conf.store);
	there = !lstat(path, &st);
	if (!there) {
		cli_check_add(c, CLI_PROBLEM, "users/", "%s: %s", path,
			  strerror(errno));
	} else if ((st.st_mode & 07777) != 03777 || !S_ISDIR(st.st_mode)) {
		cli_check_add(c, CLI_PROBLEM, "users/", "%s: mode %o, expected "
			  "3777", path, st.st_mode & 07777);
	} else if (uid != (uid_t)-1 && uid && st.st_gid != group) {
		cli_check_add(c, CLI_PROBLEM, "users/", "%s: group %u, expected "
			  "that of %s, %u: slurmctld cannot read profiles "
			  "there", path, st.st_gid, c->slurm.user, group);
	} else {
		cli_check_add(c, CLI_OK, "users/", "users may write their "
			  "profiles, slurmctld may read them");
		return true;
	}
	cli_check_remedy(c, "install -d -m 3777 -g %s %s", c->slurm.user, path);
	return there && S_ISDIR(st.st_mode);
}

/* Published profiles are trusted if only root can write them. */
static void check_published_dir(struct cli_check *c)
{
	static const char about[] = "published/";
	char path[PATH_MAX + 32], owner[CLI_NUMBER];
	struct stat st, top;

	snprintf(path, sizeof(path), "%s/published", c->conf.store);
	if (lstat(path, &st)) {
		cli_check_add(c, errno == ENOENT ? CLI_WARNING : CLI_PROBLEM,
			  about, "%s: %s", path, strerror(errno));
		cli_check_remedy(c, "install -d -m 755 %s", path);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		cli_check_add(c, CLI_PROBLEM, about, "%s: not a directory; a "
			  "symbolic link is not allowed", path);
		cli_check_remedy(c, "rm %s; install -d -m 755 %s", path, path);
	} else if (st.st_uid && !stat(c->conf.store, &top) &&
		   st.st_uid != top.st_uid) {
		cli_check_add(c, CLI_PROBLEM, about, "%s: owned by %s, therefore "
			  "not trusted", path, cli_user(st.st_uid, owner));
		cli_check_remedy(c, "check its contents, then chown -R root %s",
			   path);
	} else if (others_may_write(&st) || (st.st_mode & 0555) != 0555) {
		cli_check_add(c, CLI_PROBLEM, about, "%s: mode %o, expected 755",
			  path, st.st_mode & 07777);
		cli_check_remedy(c, "chmod 755 %s", path);
	} else {
		cli_check_add(c, CLI_OK, about, "%s", path);
	}
}

/* By the mode bits alone: no ACLs, no supplementary groups. */
static bool may_write(const struct stat *st, uid_t uid, gid_t gid)
{
	if (!uid)
		return true;
	return st->st_mode & (st->st_uid == uid ? S_IWUSR :
			      st->st_gid == gid ? S_IWGRP : S_IWOTH);
}

/* slurmctld writes its state there, and makes the directory if it may. */
static void check_placement_dir(struct cli_check *c)
{
	char path[PATH_MAX + 32], owner[CLI_NUMBER];
	gid_t gid;
	uid_t uid = slurm_uid(c, &gid);
	struct stat st;
	bool there;

	snprintf(path, sizeof(path), "%s/placement", c->conf.store);
	there = !lstat(path, &st);
	if (uid == (uid_t)-1)
		cli_check_add(c, CLI_WARNING, "placement/", "this host has no user "
			  "%s", c->slurm.user);
	else if (there && S_ISDIR(st.st_mode) && may_write(&st, uid, gid) &&
		 !others_may_write(&st))
		cli_check_add(c, CLI_OK, "placement/", "%s belongs to %s", path,
			  cli_user(st.st_uid, owner));
	else if (!there && !stat(c->conf.store, &st) &&
		 may_write(&st, uid, gid))
		cli_check_add(c, CLI_OK, "placement/", "slurmctld will make %s",
			  path);
	else {
		cli_check_add(c, c->places ? CLI_PROBLEM : CLI_WARNING,
			  "placement/", "%s: %s", path, !there ?
			  "it is missing, and SlurmUser cannot make it" :
			  others_may_write(&st) ? "users other than its owner "
			  "can write there" : "SlurmUser cannot write there");
		cli_check_remedy(c, "install -d -m 755 -o %s %s", c->slurm.user,
			   path);
	}
}

/* Without the top directory there is nothing else to check. */
static void check_store(struct cli_check *c)
{
	errno = 0;
	if (!check_top(c))
		return;
	if (check_users(c))
		check_owners(c);
	check_published_dir(c);
	if (c->places)
		check_placement_dir(c);
}

/*
 * How well the levels of a calibration predict each other. Levels are programs
 * like any other, so bad predictions here mean bad predictions everywhere.
 */
static void check_levels(struct cli_check *c, const struct np_calibration *cal)
{
	struct np_err err = NP_ERR_INIT;
	struct np_self_check levels;

	if (np_self_check(cal->fabric, &levels, &err)) {
		cli_check_add(c, CLI_WARNING, "calibration", "%s", err.text);
		return;
	}
	if (!levels.n)
		return;
	cli_check_add(c, levels.doubtful ? CLI_WARNING : CLI_OK, "calibration",
		  "each load level predicted from the others: mean error %.1f "
		  "percentage points (of the best constant: %.1f; largest: "
		  "%s, %.1f)%s", levels.mean_points, levels.constant_points,
		  cal->level[levels.worst].name, levels.worst_points,
		  levels.doubtful ? "; predictions here cannot be trusted" :
				    "");
	if (levels.doubtful)
		cli_check_remedy(c, CALIBRATE);
}

/* ---- rails that differ ---- */

struct rail {
	const char *name, *nic;
	double link; /* of the adapter, if this host has it, bytes/s; or 0 */
	bool calibrated; /* it has a calibration of its own */
};

/* The rails of the file, each with its first adapter; returns their number. */
static size_t list_rails(const struct np_topo *t, struct rail rail[])
{
	size_t n = 0;

	for (size_t i = 0; i < t->n && n < NP_RAILS_MAX; i++) {
		const struct np_topo_leaf *l = &t->leaf[i];
		char name[NP_DEVICE_PATH];
		struct np_device d;
		size_t k = 0;

		while (k < n && strcmp(rail[k].name, l->rail))
			k++;
		if (k < n)
			continue;
		snprintf(name, sizeof(name), "any/%s", l->nic);
		rail[n++] = (struct rail){
			.name = l->rail, .nic = l->nic,
			.link = np_device_find("/sys", name, &d) ? 0 : d.link,
		};
	}
	return n;
}

/* Length of the part of an adapter's name that says its kind. */
static size_t kind_length(const char *nic)
{
	/* eth0, ens1 and enp65s0 are Ethernet. */
	return *nic == 'e' ? 1 : strcspn(nic, "0123456789");
}

static bool differ(const struct rail *a, const struct rail *b)
{
	size_t len = kind_length(a->nic);

	return len != kind_length(b->nic) || memcmp(a->nic, b->nic, len) ||
	       (a->link > 0 && b->link > 0 && a->link != b->link);
}

/* "rail0 (eth0, 10 Gbit/s)" */
static void add_rail_text(const struct rail *r, char *text, size_t len)
{
	cli_add(text, len, "%s%s (%s", *text ? ", " : "", r->name, r->nic);
	if (r->link > 0)
		cli_add(text, len, ", %g Gbit/s", r->link * 8e-9);
	cli_add(text, len, ")");
}

/*
 * A calibration describes the rail on which it was measured, and others only if
 * they are alike.
 */
static void check_rail_calibrations(struct cli_check *c, struct np_store *s,
				    const char *cluster,
				    const struct np_calibration *newest)
{
	char all[512] = "", without[512] = "";
	struct rail rail[NP_RAILS_MAX];
	const struct rail *next = NULL;
	bool unlike = false;
	struct np_topo t;
	size_t n;

	if (!c->conf.rails[0] || np_rails_load(c->conf.rails, &t, NULL))
		return; /* reported by check_rails() */
	n = list_rails(&t, rail);
	for (size_t i = 0; i < n; i++) {
		const struct np_fabric_of of = { .rail = rail[i].name };
		struct np_calibration own;

		unlike |= differ(&rail[i], &rail[0]);
		add_rail_text(&rail[i], all, sizeof(all));
		if (np_fabric_store_load_of(s, cluster, NULL, &of, &own, NULL))
			continue;
		rail[i].calibrated = own.rail && !strcmp(own.rail, rail[i].name);
		np_calibration_free(&own);
	}
	for (size_t i = 0; i < n; i++)
		if (!rail[i].calibrated) {
			next = next ? next : &rail[i];
			cli_add(without, sizeof(without), "%s%s",
				*without ? ", " : "", rail[i].name);
		}
	if (unlike && next) {
		cli_check_add(c, CLI_WARNING, "calibration", "the rails of the "
			      "nodes differ: %s; no calibration of %s: "
			      "programs that load it are compared with %s%s",
			      all, without, newest->rail ? "that of " :
			      "one that does not say its rail", newest->rail ?
			      newest->rail : "");
		cli_check_remedy(c, CALIBRATE " --rail=%s", next->name);
	} else if (unlike) {
		cli_check_add(c, CLI_OK, "calibration", "the rails of the nodes "
			      "differ, and each has its own: %s", all);
	}
	np_topo_free(&t);
}

/*
 * Without a calibration there are no predictions, so placement cannot act: a
 * problem if placement is on, otherwise a warning.
 */
static void check_calibration(struct cli_check *c, struct np_store *s)
{
	enum cli_result missing = c->places ? CLI_PROBLEM : CLI_WARNING;
	const char *cluster = *c->slurm.cluster ? c->slurm.cluster : NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_calibration cal;
	char day[CLI_NUMBER];
	double days;

	if (np_fabric_store_load(s, cluster, NULL, &cal, &err)) {
		cli_check_add(c, missing, "calibration", "%s", err.text);
		cli_check_remedy(c, CALIBRATE);
		return;
	}
	days = (c->now - cal.date) / 86400;
	cli_check_add(c, c->now - cal.date > OLD_CALIBRATION_SEC ? CLI_WARNING :
		  CLI_OK, "calibration", "of %s%s%s, %.0f day%s old, scope %s",
		  cli_day(cal.date, day), *cal.cluster ? " on " : "",
		  cal.cluster, days > 0 ? days : 0, days >= 0.5 && days < 1.5 ?
		  "" : "s", np_scope_name(cal.scope));
	if (c->now - cal.date > OLD_CALIBRATION_SEC)
		cli_check_remedy(c, CALIBRATE);
	if (cal.n_skipped) {
		cli_check_add(c, CLI_WARNING, "calibration", "%zu newer "
			  "calibration%s cannot be used: %s", cal.n_skipped,
			  cli_s(cal.n_skipped), cal.skipped.text);
		cli_check_remedy(c, CALIBRATE);
	}
	check_levels(c, &cal);
	check_rail_calibrations(c, s, cluster, &cal);
	np_calibration_free(&cal);
}

/*
 * Only published profiles affect jobs of other users. Without any, placement
 * has nothing to do between users.
 */
static void check_published(struct cli_check *c, struct np_store *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_app *apps;
	size_t n = 0, idle = 0;

	if (np_store_list_apps(s, NP_STORE_PUBLISHED, 0, &apps, &n, &err)) {
		cli_check_add(c, CLI_PROBLEM, "profiles", "%s", err.text);
		return;
	}
	for (size_t i = 0; i < n; i++)
		idle += !strcmp(apps[i].name, NP_IDLE_APP);
	if (n > idle) {
		cli_check_add(c, CLI_OK, "profiles", "%zu published", n - idle);
	} else if (c->places && !c->conf.place.n_trusted) {
		cli_check_add(c, CLI_WARNING, "profiles", "none are published: "
			  "jobs of different users are not kept apart");
		cli_check_remedy(c, "netprof list --all; netprof publish USER/APP");
	} else {
		cli_check_add(c, CLI_OK, "profiles", "none are published");
	}
	free(apps);
}

/* The calibration and the published profiles. */
static void check_contents(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store *s;

	if (np_store_open(c->conf.store, &s, &err))
		return; /* reported by check_store() */
	check_calibration(c, s);
	check_published(c, s);
	np_store_close(s);
}

/* ---- placement ---- */

#define MAX_DENIALS 8 /* of denied names, reported one by one */
#define NOT_LOADED "look for netprof in slurmctld.log; is JobSubmitPlugins=" \
	"netprof in slurm.conf, and was slurmctld reconfigured since?"

/*
 * Users whose jobs have a published name that they are not authorised to use.
 * Whether the jobs run that program is for the administrator to find out. The
 * first Claim= line for a name excludes everybody else, unless it has the word
 * "default".
 */
static void report_denials(struct cli_check *c, const struct np_state *s)
{
	for (size_t i = 0; i < s->n_denials && i < MAX_DENIALS; i++) {
		const struct np_state_denial *one = &s->denial[i];
		char line[CLI_CHECK_TEXT];

		cli_check_add(c, CLI_WARNING, "authorisation", "%s",
			      cli_denied_text(one, line, sizeof(line)));
		cli_check_remedy(c, "if these jobs do run it: Claim=%s:%suser=%u in "
			   "netprof.conf", one->app, one->refuted ?
			   "default," : "", one->uid);
	}
	if (s->n_denials > MAX_DENIALS) {
		cli_check_add(c, CLI_WARNING, "authorisation",
			      "%zu more are denied",
			      s->n_denials - MAX_DENIALS);
		cli_check_remedy(c, "netprof status --all");
	}
}

/* A stale state is only a problem if placement is supposed to act. */
static void report_state(struct cli_check *c, const struct np_state *s)
{
	char age[96];

	cli_age(s->date, c->now, age, sizeof(age));
	if (cli_state_stale(s, c->now)) {
		cli_check_add(c, c->places ? CLI_PROBLEM : CLI_OK, "placement",
			  "the last decision was %s: placement does not act",
			  age);
		if (c->places)
			cli_check_remedy(c, NOT_LOADED);
		return;
	}
	cli_check_add(c, CLI_OK, "placement", "mode %s, last decision %s on %s",
		  *s->mode ? s->mode : "off", age, s->controller);
	if (strcmp(s->mode, np_mode_name(c->conf.place.mode))) {
		cli_check_add(c, CLI_WARNING, "placement", "slurmctld is in mode "
			  "%s, netprof.conf here says %s", s->mode,
			  np_mode_name(c->conf.place.mode));
		cli_check_remedy(c, "is netprof.conf the same on all hosts? "
			   "slurmctld reads it again within a minute");
	}
	if (*s->trouble) {
		cli_check_add(c, CLI_WARNING, "placement", "%s", s->trouble);
		cli_check_remedy(c, "look for netprof in slurmctld.log");
	}
	if (strcmp(s->netprof_version, NP_VERSION)) {
		cli_check_add(c, CLI_WARNING, "placement", "slurmctld has netprof "
			  "%s loaded, %s is installed", s->netprof_version,
			  NP_VERSION);
		cli_check_remedy(c, "restart slurmctld");
	}
	report_denials(c, s);
}

/*
 * The state that slurmctld writes tells whether placement runs, and with which
 * configuration and version.
 */
static void check_placement(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_state s;
	int rc = np_state_load(c->conf.store, &s, &err);

	if (!rc) {
		report_state(c, &s);
		np_state_free(&s);
	} else if (rc == -ENOENT && !c->places) {
		cli_check_add(c, CLI_OK, "placement", "off");
	} else if (rc == -ENOENT) {
		cli_check_add(c, CLI_PROBLEM, "placement", "%s", err.text);
		cli_check_remedy(c, NOT_LOADED);
	} else if (rc == -EACCES) {
		cli_check_add(c, CLI_WARNING, "placement", "%s", err.text);
	} else {
		cli_check_add(c, CLI_PROBLEM, "placement", "%s", err.text);
		cli_check_remedy(c, "look for netprof in slurmctld.log");
	}
}

/* ---- all checks ---- */

/*
 * Files that are named need no running slurmctld: make install checks them
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

/* The configuration and Slurm come first, as the other checks use them. */
void cli_check_all(struct cli_check *c)
{
	static void (*const checks[])(struct cli_check *) = {
		check_programs, check_slurm, check_plugins, check_plugstack,
		check_store, check_contents, check_placement,
	};

	check_conf(c);
	cli_slurm_read(&c->slurm);
	for (size_t i = 0; i < NP_ARRAY_SIZE(checks); i++)
		checks[i](c);
}
