#include "np_loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 1024

struct objects {
	char *path[MAX_OBJECTS];
	size_t n;
};

/* No dlopen() here: it would wait for the lock that dl_iterate_phdr() holds. */
static int collect_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *o = arg;

	(void)size;
	if (*info->dlpi_name && o->n < MAX_OBJECTS) {
		o->path[o->n] = strdup(info->dlpi_name);
		o->n += o->path[o->n] != NULL;
	}
	return 0;
}

/*
 * Not SPANK plugins, which are not Slurm's own and may be of another micro
 * release.
 */
static bool is_slurms_own(const char *type)
{
	static const char *const own[] = {
		"auth/", "cred/", "hash/", "select/", "serializer/",
		"accounting_storage/", "tls/", "topology/", "mpi/", "cgroup/",
		"switch/", "certmgr/",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(type, own[i], strlen(own[i])))
			return true;
	return false;
}

/* 0: not one of Slurm's own plugins. */
static uint32_t version_of(const char *path, int flags)
{
	void *object = dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags);
	const uint32_t *version = NULL;
	const char *type = NULL;
	uint32_t v = 0;

	if (!object)
		return 0;
	type = dlsym(object, "plugin_type");
	version = dlsym(object, "plugin_version");
	if (type && version && is_slurms_own(type))
		v = *version;
	dlclose(object);
	return v;
}

/* Slurm's plugins are next to its library, and every release has this one. */
static uint32_t version_of_neighbour(void)
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
	return version_of(path, 0);
}

uint32_t np_loader_version(void)
{
	struct objects *o = calloc(1, sizeof(*o));
	uint32_t v = 0;

	if (!o)
		return 0;
	dl_iterate_phdr(collect_path, o);
	for (size_t i = 0; i < o->n; i++) {
		if (!v)
			v = version_of(o->path[i], RTLD_NOLOAD);
		free(o->path[i]);
	}
	free(o);
	return v ? v : version_of_neighbour();
}

const char *np_loader_text(uint32_t v, char buf[NP_LOADER_TEXT])
{
	snprintf(buf, NP_LOADER_TEXT, "%u.%02u.%u", v >> 16 & 0xff,
		 v >> 8 & 0xff, v & 0xff);
	return buf;
}
