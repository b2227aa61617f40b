/*
 * np_net over UCX: InfiniBand, RoCE, TCP and whatever else UCX knows.
 */
#ifndef NP_UCX_H
#define NP_UCX_H

#include "np_net.h"

/*
 * Open a UCX worker for about n_peers connections.  Every UCX_* variable of
 * the environment is respected; what is not set there gets values for a small,
 * quiet process.  Returns 0 or -errno with err; close with (*out)->ops->close().
 */
int np_ucx_open(size_t n_peers, struct np_net **out, struct np_err *err);

/* "1.13.1": the library in use. */
const char *np_ucx_version(void);

#endif
