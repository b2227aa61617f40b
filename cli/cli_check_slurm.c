/* The installed Slurm, and the plugins in it. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_check.h"
#include "np_elf.h"
#include "np_loader.h"

#define JOB_SUBMIT "job_submit_netprof.so"
#define PLACEMENT "netprof_placement.so"
#define SPANK "spank_netprof.so"
#define REBUILD "install netprof-slurm for it, or in the source of netprof: " \
	"make clean && make install"
#define MAX_INCLUDES 4 /* plugstack.conf in plugstack.conf */
#define MAX_LINE 1024

void cli_check_slurm(struct cli_check *c)
{
	const struct cli_slurm *s = &c->slurm;
	char running[NP_LOADER_TEXT], here[NP_LOADER_TEXT];

	if (!s->installed) {
		cli_found(c, CLI_WARNING, "Slurm", "neither slurmctld nor "
			  "scontrol says its version here");
		cli_remedy(c, "run netprof check where slurmctld runs, with "
			   "Slurm's programs in PATH");
	} else if (s->running && s->running != s->installed) {
		cli_found(c, CLI_WARNING, "Slurm", "slurmctld %s runs, %s %s "
			  "is installed here", np_loader_text(s->running,
			  running), s->installed_of,
			  np_loader_text(s->installed, here));
		cli_remedy(c, "look at the plugins below before slurmctld is "
			   "restarted");
	} else {
		cli_found(c, CLI_OK, "Slurm", "%s %s", s->installed_of,
			  np_loader_text(s->installed, here));
	}
	if (s->answers)
		return;
	cli_found(c, CLI_WARNING, "Slurm", "slurmctld does not answer "
		  "scontrol%s%s", *s->conf ? "; what follows is from " :
		  ", and slurm.conf cannot be read", s->conf);
	cli_remedy(c, "look into slurmctld.log; journalctl -u slurmctld");
}

/* Is the file in one of the directories? */
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

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void say_misfit(struct cli_check *c, const char *path, bool in_ctld,
		       uint32_t built, bool used)
{
	char was[NP_LOADER_TEXT], is[NP_LOADER_TEXT];

	cli_found(c, used ? CLI_PROBLEM : CLI_WARNING, base_of(path),
		  "was built for Slurm %s, but %s is installed: %s",
		  np_loader_text(built, was),
		  np_loader_text(c->slurm.installed, is),
		  in_ctld ? "slurmctld starts with it, and placement is off" :
			    "sbatch, srun and slurmstepd take it, and nothing "
			    "is measured");
	cli_remedy(c, in_ctld ? REBUILD ", then restart slurmctld" : REBUILD);
}

/* The plugin proper, which slurmctld's own loads. */
static void check_beside(struct cli_check *c, const char *path, bool used)
{
	char beside[PATH_MAX + 64];

	snprintf(beside, sizeof(beside), "%.*s" PLACEMENT,
		 (int)(base_of(path) - path), path);
	if (!access(beside, R_OK))
		return;
	cli_found(c, used ? CLI_PROBLEM : CLI_WARNING, base_of(path),
		  "%s: %s: slurmctld starts without it, and placement is off",
		  beside, strerror(errno));
	cli_remedy(c, REBUILD ", then restart slurmctld");
}

void cli_check_plugin(struct cli_check *c, const char *path, bool used)
{
	struct np_err err = NP_ERR_INIT;
	char type[64] = "", was[NP_LOADER_TEXT], is[NP_LOADER_TEXT];
	uint32_t built = 0;
	bool in_ctld;

	if (np_elf_symbol(path, "plugin_version", &built, sizeof(built),
			  &err) != sizeof(built) ||
	    np_elf_symbol(path, "plugin_type", type, sizeof(type) - 1,
			  &err) < 0) {
		cli_found(c, used ? CLI_PROBLEM : CLI_WARNING, base_of(path),
			  "cannot be used: %s", err.text);
		cli_remedy(c, REBUILD);
		return;
	}
	in_ctld = !strncmp(type, "job_submit/", 11);
	if (!c->slurm.installed)
		cli_found(c, CLI_WARNING, base_of(path), "was built for Slurm "
			  "%s; which is installed is not known",
			  np_loader_text(built, was));
	else if (!np_loader_fits(built, c->slurm.installed))
		say_misfit(c, path, in_ctld, built, used);
	else
		cli_found(c, CLI_OK, base_of(path), "was built for Slurm %s: "
			  "works in %s %s", np_loader_text(built, was),
			  in_ctld ? "slurmctld" : "sbatch, srun and slurmstepd",
			  np_loader_text(c->slurm.installed, is));
	if (in_ctld)
		check_beside(c, path, used);
}

/* slurmctld runs here, as far as one can tell. */
static bool is_controller(const struct cli_slurm *s)
{
	char host[256] = "";
	size_t n = strcspn(s->controller, ".");

	gethostname(host, sizeof(host) - 1);
	return n && !strncmp(host, s->controller, n) &&
	       (!host[n] || host[n] == '.');
}

static void check_job_submit(struct cli_check *c)
{
	bool used = cli_slurm_lists(c->slurm.job_submit, "netprof");
	char path[PATH_MAX + 64];

	if (find_plugin(c->slurm.plugin_dirs, JOB_SUBMIT, path, sizeof(path)))
		cli_check_plugin(c, path, used);
	else if (used && is_controller(&c->slurm)) {
		cli_found(c, CLI_PROBLEM, JOB_SUBMIT, "is not in %s, and "
			  "JobSubmitPlugins asks for it: slurmctld will not "
			  "start", c->slurm.plugin_dirs);
		cli_remedy(c, "%s; or take netprof out of JobSubmitPlugins in "
			   "slurm.conf", REBUILD);
	} else if (used) {
		cli_found(c, CLI_OK, JOB_SUBMIT, "is not here; slurmctld runs "
			  "on %s", *c->slurm.controller ? c->slurm.controller :
			  "another host");
	}
	if (used && !c->places) {
		cli_found(c, CLI_OK, "slurm.conf", "JobSubmitPlugins has "
			  "netprof; Placement is off");
	} else if (used) {
		cli_found(c, CLI_OK, "slurm.conf", "JobSubmitPlugins=%s",
			  c->slurm.job_submit);
	} else if (c->places) {
		cli_found(c, CLI_PROBLEM, "slurm.conf", "placement is asked "
			  "for in netprof.conf, but JobSubmitPlugins has no "
			  "netprof");
		cli_remedy(c, "add netprof to JobSubmitPlugins in %s, then "
			   "scontrol reconfigure", *c->slurm.conf ?
			   c->slurm.conf : "slurm.conf");
	}
}

void cli_check_plugins(struct cli_check *c)
{
	char path[PATH_MAX + 64];

	check_job_submit(c);
	if (find_plugin(c->slurm.plugin_dirs, SPANK, path, sizeof(path))) {
		cli_check_plugin(c, path, true);
		return;
	}
	cli_found(c, CLI_PROBLEM, SPANK, "is not in %s",
		  c->slurm.plugin_dirs);
	cli_remedy(c, "%s", REBUILD);
}

/* What plugstack.conf says of our plugin. */
struct stack {
	bool found, required;
	bool unreadable;
};

static void read_stack(const char *path, struct stack *s, int depth);

static void include(const char *pattern, struct stack *s, int depth)
{
	glob_t g;

	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc && i < 256; i++)
			read_stack(g.gl_pathv[i], s, depth + 1);
	globfree(&g);
}

/* "optional spank_netprof.so ARGUMENTS", "include PATTERN" */
static void read_stack_line(char *line, struct stack *s, int depth)
{
	char *save, *word = strtok_r(line, " \t\n", &save);
	char *what = word ? strtok_r(NULL, " \t\n", &save) : NULL;

	if (!what || *word == '#')
		return;
	if (!strcmp(word, "include")) {
		include(what, s, depth);
	} else if (!strcmp(base_of(what), SPANK)) {
		s->found = true;
		s->required |= !strcmp(word, "required");
	}
}

static void read_stack(const char *path, struct stack *s, int depth)
{
	char line[MAX_LINE];
	FILE *f;

	errno = 0;
	f = depth < MAX_INCLUDES ? fopen(path, "re") : NULL;
	if (!f) {
		s->unreadable |= errno == EACCES;
		return;
	}
	for (int n = 0; n < 10000 && fgets(line, sizeof(line), f); n++)
		read_stack_line(line, s, depth);
	fclose(f);
}

void cli_check_plugstack(struct cli_check *c)
{
	const char *path = c->slurm.plugstack;
	struct stack s = { .found = false };

	if (!*path)
		return;
	read_stack(path, &s, 0);
	if (s.found && !s.required) {
		cli_found(c, CLI_OK, "plugstack.conf", "loads " SPANK);
	} else if (s.found) {
		cli_found(c, CLI_WARNING, "plugstack.conf", SPANK " is "
			  "required: jobs fail should it fail to load");
		cli_remedy(c, "write \"optional\" for \"required\" in %s",
			   path);
	} else if (s.unreadable) {
		cli_found(c, CLI_WARNING, "plugstack.conf", "%s or what it "
			  "includes: Permission denied", path);
	} else {
		cli_found(c, CLI_PROBLEM, "plugstack.conf", "%s does not load "
			  SPANK ": there is no --netprofile", path);
		cli_remedy(c, "echo 'include %s/plugstack.conf.d/*.conf' >>%s",
			   NP_SYSCONFDIR, path);
	}
}
