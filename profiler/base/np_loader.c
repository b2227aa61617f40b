#include "np_loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 1024

/* The shared objects that the process has loaded. */
struct objects {
	char *path[MAX_OBJECTS];
	size_t n;
};

/*
 * A callback of dl_iterate_phdr(). It must not call dlopen(), which waits for
 * the lock that dl_iterate_phdr() holds.
 */
static int collect_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *objects = arg;

	(void)size;
	if (*info->dlpi_name && objects->n < MAX_OBJECTS) {
		objects->path[objects->n] = strdup(info->dlpi_name);
		objects->n += objects->path[objects->n] != NULL;
	}
	return 0;
}

/*
 * Whether a type is that of one of Slurm's own plugins. SPANK plugins are not,
 * and may be built for another micro release.
 */
static bool is_slurm_plugin(const char *type)
{
	static const char *const own[] = {
		"auth/",   "cred/",	  "hash/",
		"select/", "serializer/", "accounting_storage/",
		"tls/",	   "topology/",	  "mpi/",
		"cgroup/", "switch/",	  "certmgr/",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(type, own[i], strlen(own[i])))
			return true;
	return false;
}

/* Read the version of a plugin. Returns 0 if it is not one of Slurm's own. */
static uint32_t read_plugin_version(const char *path, int flags)
{
	void *object = dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags);
	const uint32_t *version = NULL;
	const char *type = NULL;
	uint32_t found = 0;

	if (!object)
		return 0;
	type = dlsym(object, "plugin_type");
	version = dlsym(object, "plugin_version");
	if (type && version && is_slurm_plugin(type))
		found = *version;
	dlclose(object);
	return found;
}

/*
 * Read the version of a plugin in the directory of Slurm's library, of one that
 * every release has.
 */
static uint32_t read_neighbour_version(void)
{
	void *function = dlsym(RTLD_DEFAULT, "slurm_info");
	char path[PATH_MAX];
	Dl_info library;
	const char *slash;

	if (!function || !dladdr(function, &library))
		return 0;
	slash = strrchr(library.dli_fname, '/');
	if (!slash || (size_t)snprintf(path, sizeof(path), "%.*s/hash_k12.so",
				       (int)(slash - library.dli_fname),
				       library.dli_fname) >= sizeof(path))
		return 0;
	return read_plugin_version(path, 0);
}

uint32_t np_loader_version(void)
{
	struct objects *objects = calloc(1, sizeof(*objects));
	uint32_t version = 0;

	if (!objects)
		return 0;
	dl_iterate_phdr(collect_path, objects);
	for (size_t i = 0; i < objects->n; i++) {
		if (!version)
			version = read_plugin_version(objects->path[i],
						      RTLD_NOLOAD);
		free(objects->path[i]);
	}
	free(objects);
	return version ? version : read_neighbour_version();
}

const char *np_loader_text(uint32_t version, char buf[NP_LOADER_TEXT])
{
	snprintf(buf, NP_LOADER_TEXT, "%u.%02u.%u", version >> 16 & 0xff,
		 version >> 8 & 0xff, version & 0xff);
	return buf;
}
