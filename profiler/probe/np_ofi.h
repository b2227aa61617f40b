/*
 * What netprof sets for each provider of libfabric, apart from np_ofi.c, which
 * needs libfabric's headers. Pure: the environment is not touched here.
 */
#ifndef NP_OFI_H
#define NP_OFI_H

#include <stdbool.h>
#include <stddef.h>

/* A variable that np_ofi_open() sets if it is not in the environment. */
struct np_ofi_setting {
	const char *name, *value;
};

/*
 * The setting of that index for a provider, "cxi" or "tcp;ofi_rxm"; NULL after
 * the last. Those for all providers are among them.
 */
const struct np_ofi_setting *np_ofi_setting(const char *provider, size_t index);

/*
 * Is name the wanted provider? "tcp" is also "tcp;ofi_rxm", which adds what tcp
 * lacks.
 */
bool np_ofi_is_provider(const char *wanted, const char *name);

/*
 * Is a device meant by a list as of UCX_NET_DEVICES: "a,b:1", whose entries may
 * name a port, "all", or "^a,b" for all others? NULL and "" mean all.
 */
bool np_ofi_is_device(const char *list, const char *name);

/*
 * Does the wait descriptor of the provider's completion queue, if it has one,
 * become readable whenever the provider needs to be called?
 */
bool np_ofi_wakes(const char *provider);

#endif
