/*
 * job_submit/netprof: the plugin that Slurm loads.
 *
 * slurmctld does not start if a plugin named in slurm.conf cannot be loaded.
 * Therefore this plugin reports the version of its loader, and loads the
 * placement code (np_plugin.h) itself, if that was built for the same release.
 * Otherwise, or if that fails, jobs are submitted as if netprof were absent,
 * and one line per hour in slurmctld.log says why.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_loader.h"
#include "np_plugin.h"

const char plugin_name[] = "netprof: keeps jobs that slow each other down off "
			   "the same leaf switch";
const char plugin_type[] = "job_submit/netprof";
uint32_t plugin_version = SLURM_VERSION_NUMBER;

#define LOG_SEC 3600 /* seconds between two lines about the trouble */

static uint32_t built_for; /* SLURM_VERSION_NUMBER when this was built */
static const struct np_plugin *placement; /* NULL: it is off */
static char trouble[PATH_MAX + 256];	  /* why placement is off */

/* Runs in dlopen(), before Slurm reads plugin_version. */
__attribute__((constructor)) static void report_loader_version(void)
{
	uint32_t loader = np_loader_version();

	built_for = plugin_version;
	if (loader)
		plugin_version = loader;
}

/*
 * Whether a file is as long as its ELF header says. Loading a file that was
 * truncated, because a disk was full, could crash slurmctld.
 */
static bool is_complete(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ElfW(Ehdr) header;
	struct stat status;
	bool complete;

	if (fd < 0)
		return true; /* dlopen() reports the error */
	complete = pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
		   !fstat(fd, &status) &&
		   (uint64_t)status.st_size >=
			   header.e_shoff + (uint64_t)header.e_shnum *
						    header.e_shentsize;
	close(fd);
	return complete;
}

/* Load the placement code from the directory of this plugin. */
static void *open_placement(void)
{
	char path[PATH_MAX];
	void *object = NULL;
	Dl_info self;
	char *slash;

	if (!dladdr(&plugin_version, &self) ||
	    strlen(self.dli_fname) + sizeof(NP_PLUGIN_FILE) >= sizeof(path)) {
		strcpy(trouble, NP_PLUGIN_FILE ": its path is too long");
		return NULL;
	}
	strcpy(path, self.dli_fname);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, NP_PLUGIN_FILE);
	if (is_complete(path))
		object = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!object)
		snprintf(trouble, sizeof(trouble), "%s",
			 is_complete(path) ? dlerror() :
					     NP_PLUGIN_FILE ": damaged");
	return object;
}

/* Whether code built for a release fits this slurmctld. If not, set trouble. */
static bool fits_slurmctld(uint32_t release)
{
	char built[NP_LOADER_TEXT], loader[NP_LOADER_TEXT];

	if (np_loader_fits(release, plugin_version))
		return true;
	snprintf(trouble, sizeof(trouble),
		 "built for Slurm %s and loaded by %s",
		 np_loader_text(release, built),
		 np_loader_text(plugin_version, loader));
	return false;
}

/* Load the placement code, or set trouble. */
static void load_placement(void)
{
	const struct np_plugin *found = NULL;
	void *object;

	if (!fits_slurmctld(built_for))
		return;
	object = open_placement();
	if (object)
		found = dlsym(object, NP_PLUGIN_SYMBOL);
	if (object && !found)
		snprintf(trouble, sizeof(trouble), "%s", dlerror());
	else if (found && fits_slurmctld(found->built_for))
		placement = found;
}

/* Log why placement is off, once per LOG_SEC. */
static void log_trouble(void)
{
	static atomic_long next_sec;
	long next = atomic_load(&next_sec);
	long now_sec = (long)time(NULL);

	if (now_sec < next || !atomic_compare_exchange_strong(
				      &next_sec, &next, now_sec + LOG_SEC))
		return;
	np_ctl_error("%s: placement is off and no job is changed; rebuild "
		     "netprof for this Slurm (make clean && make install), "
		     "then restart slurmctld",
		     trouble);
}

/* No header declares these; Slurm looks them up by name. */
int init(void);
int fini(void);
int job_submit(job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg);
int job_modify(job_desc_msg_t *desc, job_record_t *job,
	       uint32_t submit_uid NP_JOB_MODIFY_MESSAGE);

int init(void)
{
	if (!placement)
		load_placement();
	if (placement)
		placement->init();
	else
		log_trouble();
	return SLURM_SUCCESS;
}

int fini(void)
{
	if (placement)
		placement->fini();
	return SLURM_SUCCESS;
}

int job_submit(job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg)
{
	(void)submit_uid;
	(void)err_msg;
	if (placement)
		placement->submit(desc);
	else
		log_trouble();
	return SLURM_SUCCESS;
}

int job_modify(job_desc_msg_t *desc, job_record_t *job,
	       uint32_t submit_uid NP_JOB_MODIFY_MESSAGE)
{
	(void)job;
	return placement ? placement->modify(desc, submit_uid) : SLURM_SUCCESS;
}
