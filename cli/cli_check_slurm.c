/* The installed Slurm, and the plugins in it. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_check.h"
#include "np_elf.h"
#include "np_loader.h"
#include "np_slurm_stack.h"

#define JOB_SUBMIT "job_submit_netprof.so"
#define PLACEMENT "netprof_placement.so"
#define SPANK "spank_netprof.so"
#define REBUILD "install netprof-slurm for it, or in the source of netprof: " \
	"make clean && make install"
#define SNIPPET NP_SYSCONFDIR "/plugstack.conf.d/netprof.conf"

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
		  ", and slurm.conf cannot be read: ", *s->conf ? s->conf :
		  s->conf_error);
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
	bool ships_names; /* slurmctld sends files that are included by name */
	char at[PATH_MAX + 16]; /* file and line that load it; "": none */
	char again[PATH_MAX + 16]; /* a further one, which Slurm refuses */
	char apart[PATH_MAX]; /* an include that slurmctld sends to no node */
	bool required;
	bool as_dos; /* a line loads it with a carriage return in its name */
	bool has_snippet; /* the file that a package brings is included */
};

/* Plain names from 23.11 on, never patterns or other directories. */
static bool is_sent(const struct stack *s,
		    const struct np_slurm_stack_line *include)
{
	return s->ships_names && !strpbrk(include->word, "/*?[");
}

static void take_include(struct stack *s,
			 const struct np_slurm_stack_line *line)
{
	char pattern[PATH_MAX];

	if (!np_slurm_stack_pattern(line, pattern, sizeof(pattern)) &&
	    !fnmatch(pattern, SNIPPET, FNM_PATHNAME))
		s->has_snippet = true;
}

static int take_stack_line(void *arg, const struct np_slurm_stack_line *line,
			   struct np_err *err)
{
	const struct np_slurm_stack_line *from;
	struct stack *s = arg;

	(void)err;
	if (line->kind == NP_SLURM_INCLUDE) {
		take_include(s, line);
		return 0;
	}
	s->as_dos |= !strcmp(base_of(line->word), SPANK "\r");
	if (strcmp(base_of(line->word), SPANK))
		return 0;
	if (*s->at) {
		snprintf(s->again, sizeof(s->again), "%s:%u", line->path,
			 line->number);
		return 0;
	}
	snprintf(s->at, sizeof(s->at), "%s:%u", line->path, line->number);
	s->required = line->kind == NP_SLURM_REQUIRED;
	for (from = line->from; from; from = from->from)
		if (!is_sent(s, from))
			snprintf(s->apart, sizeof(s->apart), "%s",
				 from->word);
	return 0;
}

static void check_loaded(struct cli_check *c, const struct stack *s)
{
	if (s->required) {
		cli_found(c, CLI_WARNING, "plugstack.conf", SPANK " is "
			  "required: jobs fail should it fail to load");
		cli_remedy(c, "write \"optional\" for \"required\" in %s",
			   s->at);
	}
	if (*s->again) {
		cli_found(c, CLI_WARNING, "plugstack.conf", SPANK " is loaded "
			  "by %s and again by %s: srun and sbatch print an "
			  "error about it", s->at, s->again);
		cli_remedy(c, "take one of the two lines out");
	}
	if (*s->apart && cli_slurm_configless(&c->slurm)) {
		cli_found(c, CLI_WARNING, "plugstack.conf", "nodes that get "
			  "it from slurmctld (enable_configless) do not get "
			  "what it includes as %s: they do not load " SPANK,
			  s->apart);
		cli_remedy(c, "write \"optional " SPANK "\" into %s itself "
			   "in place of the include, then scontrol "
			   "reconfigure", c->slurm.plugstack);
	} else if (!s->required && !*s->again) {
		cli_found(c, CLI_OK, "plugstack.conf", "loads " SPANK);
	}
}

void cli_check_plugstack(struct cli_check *c)
{
	uint32_t version = c->slurm.running ? c->slurm.running :
					      c->slurm.installed;
	struct stack s = { .ships_names = version >= 0x170b00 };
	const char *path = c->slurm.plugstack;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!*path)
		return;
	rc = np_slurm_stack(path, take_stack_line, &s, &err);
	if (*s.at) {
		check_loaded(c, &s);
	} else if (rc) {
		cli_found(c, rc == -EACCES ? CLI_WARNING : CLI_PROBLEM,
			  "plugstack.conf", "%s", err.text);
		if (rc == -EACCES)
			cli_remedy(c, "run netprof check as root");
	} else if (s.as_dos) {
		cli_found(c, CLI_PROBLEM, "plugstack.conf", "%s does not load "
			  SPANK ": the line ends with a carriage return, which "
			  "Slurm takes for a part of the name", path);
		cli_remedy(c, "write the lines as Unix ends them");
	} else if (s.has_snippet) {
		cli_found(c, CLI_PROBLEM, "plugstack.conf", "%s includes %s, "
			  "which does not load " SPANK ": there is no "
			  "--netprofile", path, SNIPPET);
		cli_remedy(c, "echo 'optional " SPANK "' >>%s", SNIPPET);
	} else {
		cli_found(c, CLI_PROBLEM, "plugstack.conf", "%s does not load "
			  SPANK ": there is no --netprofile", path);
		cli_remedy(c, "echo 'include %s/plugstack.conf.d/*.conf' >>%s",
			   NP_SYSCONFDIR, path);
	}
}
