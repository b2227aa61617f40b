/* The only file that knows libfabric. */
#include "np_net.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "np_clock.h"
#include "np_ofi.h"

/* API version requested; every release since 2020 has it. */
#define API FI_VERSION(1, 11)
#define MAX_ADDRESS 512
#define N_READ 16 /* completions per read */

/*
 * A provider without a wait descriptor is checked again after a part of the
 * time already waited: a message that arrives after t is found within t/8, and
 * a wait for one that never arrives costs 500 checks per second.
 */
#define CHECK_PART 0.125
#define CHECK_LEAST_SEC 50e-6
#define CHECK_MOST_SEC 2e-3
/*
 * The same for messages that wait for room, if the provider has a descriptor.
 */
#define RETRY_MOST_SEC 50e-3

/*
 * A provider is treated like one without a wait descriptor if it reports work
 * this often in a row when there is none, as "net" of libfabric 1.17 does: the
 * probe would never sleep. A message that arrives in many parts wakes the probe
 * once for each.
 */
#define MOST_IDLE_WAKEUPS 64

/*
 * How late a sleep may end while libfabric is loaded. The libraries of Omni-Path
 * (psm2, psm3, infinipath), on which it may depend, then measure the clock of
 * the processor: each sleeps for 125 us at a time until 100 ms have passed.
 * Longer sleeps make that no less exact and wake the processor less often.
 */
#define LOAD_SLACK_NS 10000000UL

/*
 * Sites install libfabric with the drivers of their network, next to that of
 * the distribution, which often lacks the provider.
 */
static const char *const places[] = {
	"/opt/cray/libfabric/*/lib64/libfabric.so.1",
	"/opt/amazon/efa/lib64/libfabric.so.1",
	"/opt/amazon/efa/lib/libfabric.so.1",
};

/* Functions exported by libfabric.so; all others are in its tables. */
struct library {
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		       uint64_t flags, const struct fi_info *hints,
		       struct fi_info **out);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **out,
		      void *context);
	uint32_t (*version)(void);
	const char *(*strerror)(int code);
};

/* A message that libfabric has accepted, or has yet to accept. */
struct request {
	struct fi_context2 context; /* must be first: used by the provider */
	struct request *next;
	struct np_op *op;
	void *buf;
	size_t len;
	uint64_t tag;
	long rank; /* of the receiver; -1 for a receive */
};

/* Messages that the provider had no room for yet, oldest first. */
struct queue {
	struct request *first, **end;
};

struct peer {
	fi_addr_t at;	  /* address; FI_ADDR_UNSPEC: not connected */
	int lost;	  /* 0 or -errno */
	size_t n_queued;  /* messages to it that wait for room */
	uint64_t no_room; /* number of the push() that last found no room */
};

struct ofi {
	struct np_net net;
	struct library lib;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct peer *peer; /* of every rank */
	struct queue sends, receives;
	uint64_t n_pushes; /* number of calls of push() */
	struct request *unused;
	int timer;
	int provider_fd;    /* signals work; -1: the provider has none */
	bool listens;	    /* net.fd contains provider_fd */
	unsigned n_idle;    /* wake-ups since it slept or completed a message */
	double armed_sec;   /* time of the last call of arm() */
	bool timer_is_set;  /* the timer is running */
	double waiting_sec; /* start of the current wait; 0: not begun */
	double retry_sec;   /* since when no waiting message was sent; 0: none
			     * waits */
	char address[MAX_ADDRESS];
	char kind[64], version[32];
};

static int failed(const struct ofi *ofi, struct np_err *err, long code,
		  const char *what)
{
	return np_errf(err,
		       code < 0 && code > -FI_ERRNO_OFFSET ? (int)code : -EIO,
		       "libfabric: %s: %s", what,
		       ofi->lib.strerror((int)-code));
}

/* ---- messages ---- */

static struct request *new_request(struct ofi *ofi)
{
	struct request *request = ofi->unused;

	if (!request)
		return calloc(1, sizeof(*request));
	ofi->unused = request->next;
	return request;
}

static void complete(struct ofi *ofi, struct request *request, int status)
{
	request->op->status = status;
	request->next = ofi->unused;
	ofi->unused = request;
}

/* Returns the provider's answer: 0, -FI_EAGAIN or another code. */
static ssize_t start(struct ofi *ofi, struct request *request)
{
	if (request->rank < 0)
		return fi_trecv(ofi->ep, request->buf, request->len, NULL,
				FI_ADDR_UNSPEC, request->tag, 0,
				&request->context);
	return fi_tsend(ofi->ep, request->buf, request->len, NULL,
			ofi->peer[request->rank].at, request->tag,
			&request->context);
}

static int code_of(long code)
{
	return code > 0 && code < FI_ERRNO_OFFSET ? (int)-code : -EIO;
}

static void fail(struct ofi *ofi, struct request *request, long code)
{
	if (request->rank >= 0 && !ofi->peer[request->rank].lost)
		ofi->peer[request->rank].lost = code_of(code);
	complete(ofi, request, code_of(code));
}

static void add(struct queue *queue, struct request *request)
{
	request->next = NULL;
	*queue->end = request;
	queue->end = &request->next;
}

/* Start a message, or let it fail. False: the provider has no room for it. */
static bool try_start(struct ofi *ofi, struct request *request)
{
	ssize_t rc = start(ofi, request);

	if (rc && rc != -FI_EAGAIN)
		fail(ofi, request, -rc);
	return rc != -FI_EAGAIN;
}

/* The receiver of a message; NULL: the message is received here. */
static struct peer *receiver(const struct ofi *ofi,
			     const struct request *request)
{
	return request->rank < 0 ? NULL : &ofi->peer[request->rank];
}

/*
 * Start as many messages as the provider accepts; returns their number. Those to
 * one peer stay in order. A peer that has no room, for example because it does
 * not answer, does not delay messages to others.
 */
static unsigned push(struct ofi *ofi, struct queue *queue)
{
	struct request **at = &queue->first;
	unsigned n = 0;

	ofi->n_pushes++;
	while (*at) {
		struct request *request = *at, *next = request->next;
		struct peer *peer = receiver(ofi, request);

		if ((peer && peer->no_room == ofi->n_pushes) ||
		    !try_start(ofi, request)) {
			if (!peer)
				break;
			peer->no_room = ofi->n_pushes;
			at = &request->next;
			continue;
		}
		if (peer)
			peer->n_queued--;
		*at = next;
		n++;
	}
	while (*at)
		at = &(*at)->next;
	queue->end = at;
	return n;
}

static void enqueue(struct ofi *ofi, struct queue *queue,
		    const struct request *of)
{
	struct request *request = new_request(ofi);
	struct peer *peer = receiver(ofi, of);

	if (!request) {
		of->op->status = -ENOMEM;
		return;
	}
	*request = *of;
	request->op->status = 1;
	ofi->waiting_sec = 0;
	if (!(peer ? peer->n_queued : queue->first != NULL) &&
	    try_start(ofi, request))
		return;
	add(queue, request);
	if (peer)
		peer->n_queued++;
}

static void ofi_send(struct np_net *net, uint32_t rank, uint64_t tag,
		     const void *buf, size_t len, struct np_op *op)
{
	struct ofi *ofi = (struct ofi *)net;

	if (ofi->peer[rank].lost)
		op->status = ofi->peer[rank].lost;
	else
		enqueue(ofi, &ofi->sends,
			&(struct request){ .op = op,
					   .buf = (void *)buf,
					   .len = len,
					   .tag = tag,
					   .rank = rank });
}

static void ofi_recv(struct np_net *net, uint64_t tag, void *buf, size_t len,
		     struct np_op *op)
{
	struct ofi *ofi = (struct ofi *)net;

	enqueue(ofi, &ofi->receives,
		&(struct request){ .op = op,
				   .buf = buf,
				   .len = len,
				   .tag = tag,
				   .rank = -1 });
}

/* ---- progress, and sleep ---- */

/* Handle one failed completion; returns 0 if there is none. */
static unsigned read_error(struct ofi *ofi)
{
	struct fi_cq_err_entry entry = { NULL };

	if (fi_cq_readerr(ofi->cq, &entry, 0) != 1)
		return 0;
	if (entry.op_context)
		fail(ofi, entry.op_context, entry.err);
	return 1;
}

static unsigned read_completions(struct ofi *ofi)
{
	struct fi_cq_entry entry[N_READ];
	ssize_t n = fi_cq_read(ofi->cq, entry, N_READ);

	if (n == -FI_EAVAIL)
		return read_error(ofi);
	for (ssize_t i = 0; i < n; i++)
		complete(ofi, entry[i].op_context, 0);
	return n > 0 ? (unsigned)n : 0;
}

static unsigned ofi_progress(struct np_net *net)
{
	struct ofi *ofi = (struct ofi *)net;
	unsigned done = read_completions(ofi), sent = push(ofi, &ofi->sends);

	if (sent || !ofi->sends.first)
		ofi->retry_sec = 0;
	done += sent + push(ofi, &ofi->receives);
	if (done) {
		ofi->waiting_sec = 0;
		ofi->n_idle = 0;
	}
	return done;
}

/*
 * Make net.fd readable, by the timer, after a part of the time since *since_sec,
 * which begins now if it is 0; but after at most most_sec.
 */
static void set_timer(struct ofi *ofi, double *since_sec, double most_sec)
{
	double now_sec = np_mono_sec(), check_sec;
	struct itimerspec itimerspec = { { 0 } };

	if (!(*since_sec > 0))
		*since_sec = now_sec;
	check_sec =
		fmin(fmax((now_sec - *since_sec) * CHECK_PART, CHECK_LEAST_SEC),
		     most_sec);
	itimerspec.it_value.tv_nsec = (long)(check_sec * 1e9);
	timerfd_settime(ofi->timer, 0, &itimerspec, NULL);
	ofi->timer_is_set = true;
}

static void stop_timer(struct ofi *ofi)
{
	const struct itimerspec off = { { 0 } };

	if (ofi->timer_is_set)
		timerfd_settime(ofi->timer, 0, &off, NULL);
	ofi->timer_is_set = false;
}

/* Let the provider's descriptor wake the probe, or not. */
static void listen_to(struct ofi *ofi, bool on)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (on != ofi->listens &&
	    !epoll_ctl(ofi->net.fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		       ofi->provider_fd, &event))
		ofi->listens = on;
}

/* Can the provider's descriptor be relied on to let the probe sleep? */
static bool may_listen(struct ofi *ofi)
{
	double now_sec = np_mono_sec();

	if (ofi->listens && now_sec - ofi->armed_sec > CHECK_MOST_SEC)
		ofi->n_idle = 0; /* it has slept */
	ofi->armed_sec = now_sec;
	return ofi->provider_fd >= 0 && ofi->n_idle++ < MOST_IDLE_WAKEUPS;
}

/*
 * The timer also retries messages that wait for room, for example while a
 * connection is established: not every provider signals when there is room.
 */
static int ofi_arm(struct np_net *net)
{
	struct ofi *ofi = (struct ofi *)net;
	struct fid *fid = &ofi->cq->fid;
	bool listens = may_listen(ofi);

	if (listens && fi_trywait(ofi->fabric, &fid, 1))
		return -EAGAIN;
	listen_to(ofi, listens);
	if (!listens)
		set_timer(ofi, &ofi->waiting_sec, CHECK_MOST_SEC);
	else if (ofi->sends.first)
		set_timer(ofi, &ofi->retry_sec, RETRY_MOST_SEC);
	else
		stop_timer(ofi);
	return 0;
}

/* ---- connections ---- */

static int ofi_connect(struct np_net *net, uint32_t rank, const void *addr,
		       size_t len, struct np_err *err)
{
	struct ofi *ofi = (struct ofi *)net;
	int rc;

	/* The provider would read beyond the end of a shorter address. */
	if (len != net->address_len)
		return np_errf(
			err, -EPROTO,
			"libfabric: an address of %zu bytes, expected %zu", len,
			net->address_len);
	rc = fi_av_insert(ofi->av, addr, 1, &ofi->peer[rank].at, 0, NULL);
	return rc == 1 ? 0 :
			 failed(ofi, err, rc < 0 ? rc : -EINVAL,
				"cannot connect (is Transport right?)");
}

static int ofi_lost(struct np_net *net, uint32_t rank)
{
	return ((struct ofi *)net)->peer[rank].lost;
}

static void ofi_transport(struct np_net *net, uint32_t rank, char *buf,
			  size_t size)
{
	const struct fi_info *info = ((struct ofi *)net)->info;

	(void)rank;
	snprintf(buf, size, "ofi:%s/%s", info->fabric_attr->prov_name,
		 info->domain_attr->name);
}

static const struct np_net_ops ops = {
	.connect = ofi_connect,
	.lost = ofi_lost,
	.transport = ofi_transport,
	.send = ofi_send,
	.recv = ofi_recv,
	.progress = ofi_progress,
	.arm = ofi_arm,
};

/* ---- the library ---- */

static bool loading; /* in load_and_find() */

/*
 * Libraries find this one before that of the C library. When libfabric is
 * loaded, its verbs provider, wanted or not, twice looks through all symbols of
 * the kernel for a way to send from a GPU's memory. That takes more processor
 * time than all else at the start, and probes send from no such memory.
 */
FILE *fopen(const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *);

	*(void **)&next = dlsym(RTLD_NEXT, "fopen");
	if (next && !(loading && !strcmp(path, "/proc/kallsyms")))
		return next(path, mode);
	errno = ENOENT;
	return NULL;
}

/*
 * Load the newest of the site's own libraries, or else what the loader finds.
 */
static void *load(void)
{
	void *handle = NULL;

	for (size_t i = 0; !handle && i < NP_ARRAY_SIZE(places); i++) {
		glob_t found;

		if (!glob(places[i], 0, NULL, &found))
			for (size_t k = found.gl_pathc; !handle && k > 0; k--)
				handle = dlopen(found.gl_pathv[k - 1],
						RTLD_NOW | RTLD_LOCAL);
		globfree(&found);
	}
	return handle ? handle : dlopen("libfabric.so.1", RTLD_NOW);
}

static int open_library(struct library *lib, const char *provider,
			struct np_err *err)
{
	const struct {
		const char *name;
		void **at;
	} function[] = {
		{ "fi_getinfo", (void **)&lib->getinfo },
		{ "fi_freeinfo", (void **)&lib->freeinfo },
		{ "fi_dupinfo", (void **)&lib->dupinfo },
		{ "fi_fabric", (void **)&lib->fabric },
		{ "fi_version", (void **)&lib->version },
		{ "fi_strerror", (void **)&lib->strerror },
	};
	const struct np_ofi_setting *setting;
	void *handle;

	for (size_t i = 0; (setting = np_ofi_setting(provider, i)); i++)
		setenv(setting->name, setting->value, 0);
	handle = load();
	if (!handle)
		return np_errf(
			err, -ENOENT,
			"%s: expected libfabric, which Transport=ofi:... needs",
			dlerror());
	for (size_t i = 0; i < NP_ARRAY_SIZE(function); i++) {
		*function[i].at = dlsym(handle, function[i].name);
		if (!*function[i].at)
			return np_errf(err, -ENOENT, "libfabric: %s",
				       dlerror());
	}
	return 0;
}

/* ---- which provider and device ---- */

/*
 * The first entry with that provider and one of the devices, named as in
 * UCX_NET_DEVICES; NULL: any device. Of several addresses of a device take the
 * first, because all nodes have the same order. A link-local IPv6 address
 * reaches nothing by itself.
 */
static struct fi_info *select_info(struct fi_info *list, const char *provider,
				   const char *devices)
{
	for (; list; list = list->next)
		if (np_ofi_is_provider(provider,
				       list->fabric_attr->prov_name) &&
		    np_ofi_is_device(devices, list->domain_attr->name) &&
		    strncmp(list->fabric_attr->name, "fe80:", 5))
			return list;
	return NULL;
}

static struct fi_info *new_hints(const struct library *lib,
				 const char *provider)
{
	struct fi_info *info = lib->dupinfo(NULL);

	if (!info)
		return NULL;
	/* The other providers need not look for devices. */
	info->fabric_attr->prov_name = strdup(provider);
	info->caps = FI_TAGGED | FI_SEND | FI_RECV;
	info->mode = FI_CONTEXT | FI_CONTEXT2;
	info->ep_attr->type = FI_EP_RDM;
	info->domain_attr->threading = FI_THREAD_DOMAIN;
	info->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED |
				     FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->tx_attr->msg_order = info->rx_attr->msg_order = FI_ORDER_SAS;
	return info;
}

static int find_info(struct ofi *ofi, const char *provider, const char *devices,
		     struct np_err *err)
{
	struct fi_info *hints = new_hints(&ofi->lib, provider);
	struct fi_info *list = NULL, *one;
	int rc;

	if (!hints)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = ofi->lib.getinfo(API, NULL, NULL, 0, hints, &list);
	ofi->lib.freeinfo(hints);
	one = rc ? NULL : select_info(list, provider, devices);
	if (one)
		ofi->info = ofi->lib.dupinfo(one);
	ofi->lib.freeinfo(list);
	if (ofi->info)
		return 0;
	return np_errf(err, -ENOENT,
		       "%s has no provider \"%s\"%s%s on this node; fi_info "
		       "lists what it has",
		       ofi->version, provider,
		       devices && *devices ? " for " : "",
		       devices ? devices : "");
}

/* Load libfabric, and find the provider and the device. */
static int load_and_find(struct ofi *ofi, const char *provider,
			 const char *devices, struct np_err *err)
{
	int slack_ns = prctl(PR_GET_TIMERSLACK), rc;
	uint32_t v;

	prctl(PR_SET_TIMERSLACK, LOAD_SLACK_NS);
	loading = true;
	rc = open_library(&ofi->lib, provider, err);
	if (!rc) {
		v = ofi->lib.version();
		snprintf(ofi->version, sizeof(ofi->version), "libfabric-%u.%u",
			 FI_MAJOR(v), FI_MINOR(v));
		rc = find_info(ofi, provider, devices, err);
	}
	loading = false;
	prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns);
	return rc;
}

/* ---- opening ---- */

static int add_to(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Open net.fd: the provider's descriptor, if it has one, and a timer. */
static int open_wait(struct ofi *ofi, bool has_fd)
{
	int fd;

	ofi->net.fd = epoll_create1(EPOLL_CLOEXEC);
	ofi->timer =
		timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (ofi->net.fd < 0 || ofi->timer < 0)
		return -errno;
	if (has_fd && !fi_control(&ofi->cq->fid, FI_GETWAIT, &fd) &&
	    !add_to(ofi->net.fd, fd)) {
		ofi->provider_fd = fd;
		ofi->listens = true;
	}
	return add_to(ofi->net.fd, ofi->timer);
}

static int open_queue(struct ofi *ofi)
{
	struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_CONTEXT,
		.wait_obj = FI_WAIT_FD,
	};
	bool has_fd = np_ofi_wakes(ofi->info->fabric_attr->prov_name) &&
		      !fi_cq_open(ofi->domain, &attr, &ofi->cq, NULL);
	int rc = 0;

	if (!has_fd) {
		attr.wait_obj = FI_WAIT_NONE;
		rc = fi_cq_open(ofi->domain, &attr, &ofi->cq, NULL);
	}
	return rc ? rc : open_wait(ofi, has_fd);
}

static int open_endpoint(struct ofi *ofi, size_t n_peers)
{
	struct fi_av_attr attr = { .count = n_peers };
	int rc = fi_av_open(ofi->domain, &attr, &ofi->av, NULL);

	if (!rc)
		rc = fi_endpoint(ofi->domain, ofi->info, &ofi->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(ofi->ep, &ofi->av->fid, 0);
	if (!rc)
		rc = fi_ep_bind(ofi->ep, &ofi->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(ofi->ep);
	ofi->net.address = ofi->address;
	ofi->net.address_len = sizeof(ofi->address);
	return rc ? rc :
		    fi_getname(&ofi->ep->fid, ofi->address,
			       &ofi->net.address_len);
}

static int open_all(struct ofi *ofi, size_t n_peers)
{
	int rc = ofi->lib.fabric(ofi->info->fabric_attr, &ofi->fabric, NULL);

	if (!rc)
		rc = fi_domain(ofi->fabric, ofi->info, &ofi->domain, NULL);
	if (!rc)
		rc = open_queue(ofi);
	return rc ? rc : open_endpoint(ofi, n_peers);
}

static struct ofi *new_ofi(uint32_t size)
{
	struct ofi *ofi = calloc(1, sizeof(*ofi));

	if (!ofi)
		return NULL;
	ofi->peer = calloc(size, sizeof(*ofi->peer));
	if (!ofi->peer) {
		free(ofi);
		return NULL;
	}
	ofi->provider_fd = ofi->net.fd = ofi->timer = -1;
	ofi->net.ops = &ops;
	ofi->net.kind = ofi->kind;
	ofi->net.version = ofi->version;
	ofi->sends.end = &ofi->sends.first;
	ofi->receives.end = &ofi->receives.first;
	return ofi;
}

/* Another provider may be tried next, so leave nothing open. */
static void free_ofi(struct ofi *ofi)
{
	struct fid *const fids[] = {
		ofi->ep ? &ofi->ep->fid : NULL,
		ofi->cq ? &ofi->cq->fid : NULL,
		ofi->av ? &ofi->av->fid : NULL,
		ofi->domain ? &ofi->domain->fid : NULL,
		ofi->fabric ? &ofi->fabric->fid : NULL,
	};

	if (ofi->net.fd >= 0)
		close(ofi->net.fd);
	if (ofi->timer >= 0)
		close(ofi->timer);
	for (size_t i = 0; i < NP_ARRAY_SIZE(fids); i++)
		if (fids[i])
			fi_close(fids[i]);
	if (ofi->info)
		ofi->lib.freeinfo(ofi->info);
	free(ofi->peer);
	free(ofi);
}

int np_ofi_open(uint32_t size, size_t n_peers, const char *provider,
		const char *devices, struct np_net **out, struct np_err *err)
{
	struct ofi *ofi = new_ofi(size);
	int rc;

	if (!ofi)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = load_and_find(ofi, provider, devices, err);
	if (!rc) {
		snprintf(ofi->kind, sizeof(ofi->kind), "ofi:%s",
			 ofi->info->fabric_attr->prov_name);
		rc = open_all(ofi, n_peers);
		if (rc)
			rc = failed(ofi, err, rc, ofi->kind);
	}
	if (rc) {
		free_ofi(ofi);
		return rc;
	}
	*out = &ofi->net;
	return 0;
}
