/*
 * netprof.conf: "Key=Value" lines as in slurm.conf; '#' starts a comment.
 * The same keys can be given to the SPANK plugin in plugstack.conf, which win.
 */
#ifndef NP_CONF_H
#define NP_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>

#include "np_err.h"
#include "np_metrics_conf.h"
#include "np_place_conf.h"

#ifndef NP_SYSCONFDIR
#define NP_SYSCONFDIR "/etc/slurm"
#endif
#define NP_CONF_DEFAULT_PATH NP_SYSCONFDIR "/netprof.conf"
#define NP_CONF_STORE "/var/lib/netprof"
#define NP_CONF_MAX_RUNS 1000 /* kept and read per application, at most */

struct np_conf {
	bool enabled;		 /* Enabled=yes|no */
	char store[PATH_MAX];	 /* Store=DIR */
	char bindir[PATH_MAX];	 /* BinDir=DIR, where the probes are installed */
	char libexecdir[PATH_MAX]; /* LibexecDir=DIR */
	double period_sec;	 /* Period=100ms, 1 ms to 1 h */
	uint32_t message_bytes;	 /* MessageSize=1K, 8 to 1 MiB */
	uint32_t per_node;	 /* ProcessesPerNode=1, 1 or 2, of calibrations */
	double probe_after_sec;	 /* ProbeAfter=2s: of a step's life, see np_invite.h */
	uint32_t probe_pairs;	 /* ProbePairs=2 a leaf, 1 to 128 */
	uint32_t probe_nodes;	 /* ProbeNodes=32 of a step at most, 2 to 256 */
	double calibrate_share;	 /* CalibrateShare=20% of a run, 0 .. 1 */
	double lead_in_sec;	 /* LevelLeadIn=2s: a level alone before the step */
	char transport[128];	 /* Transport=auto, see below */
	char net_devices[128];	 /* NetDevices=eth0: UCX_NET_DEVICES */
	char transports[128];	 /* Transports=tcp,self: UCX_TLS */
	uint32_t max_runs;	 /* MaxRuns=1000 kept per application */
	uint64_t trace_bytes;	 /* TraceSize=4G of a run, all ranks together */
	uint32_t max_traces;	 /* MaxTraces=4 kept per application */
	struct np_place_conf place; /* how jobs are placed */
	struct np_metrics_conf metrics; /* where the site's metrics are */
};

/* The built-in defaults. */
void np_conf_init(struct np_conf *c);

/*
 * Apply one "Key=Value" (keys in any case).  Returns 0 or -EINVAL with err:
 * the key, the value and what was expected.
 */
int np_conf_set(struct np_conf *c, const char *assignment, struct np_err *err);

/*
 * The same of the key of that name, of nlen characters.  Returns also -ENOENT,
 * without err: there is no such key.
 */
int np_conf_set_key(struct np_conf *c, const char *name, size_t nlen,
		    char *value, struct np_err *err);

/* "; did you mean Period?" of a key that does not exist, or "". */
void np_conf_suggest(const char *name, size_t nlen, char *buf, size_t len);

/*
 * Apply a file.  A missing file is fine (0).  Lines in error are passed over;
 * the first of them is told, with file and line.  Returns 0, -EINVAL for such
 * a line, or another -errno.
 */
int np_conf_load(struct np_conf *c, const char *path, struct np_err *err);

/* The file that NETPROF_CONF names, or the default path. */
const char *np_conf_path(void);

/*
 * Over which library the probes measure.  "ucx" or "ucx:TLS", TLS as for
 * UCX_TLS; "ofi:PROVIDER[/DEVICE]", of libfabric; "auto": by what the node has.
 */
struct np_transport {
	enum { NP_TRANSPORT_AUTO, NP_TRANSPORT_UCX, NP_TRANSPORT_OFI } library;
	const char *of; /* TLS or PROVIDER[/DEVICE] in the text; "": none */
};
#define NP_TRANSPORT_EXPECTED \
	"auto, ucx, ucx:TRANSPORTS or ofi:PROVIDER[/DEVICE], without spaces"

/* Returns 0 or -EINVAL. */
int np_transport_parse(const char *text, struct np_transport *out);

/*
 * Defaults, then np_conf_path(), then NETPROF_STORE.  Returns 0; -EINVAL with
 * err for a line in error, when all others are applied; or another -errno.
 */
int np_conf_from_environment(struct np_conf *c, struct np_err *err);

#endif
