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
 * So is a provider that says this often in a row that there is work when there
 * is none, as "net" of libfabric 1.17 does: the probe would never sleep. A
 * message that arrives in many parts wakes it for each.
 */
#define MOST_IDLE_WAKEUPS 64

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
	fi_addr_t at; /* address; FI_ADDR_UNSPEC: not connected */
	int lost;     /* 0 or -errno */
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
	struct request *unused;
	int timer;
	int provider_fd;    /* signals work; -1: the provider has none */
	bool listens;	    /* net.fd contains provider_fd */
	unsigned n_idle;    /* wake-ups since it slept or completed a message */
	double armed_sec;   /* time of the last call of arm() */
	bool timer_is_set;  /* the timer is running */
	double waiting_sec; /* start of the current wait; 0: not begun */
	char address[MAX_ADDRESS];
	char kind[64], version[32];
};

static int failed(const struct ofi *f, struct np_err *err, long code,
		  const char *what)
{
	return np_errf(err, code < 0 && code > -FI_ERRNO_OFFSET ? (int)code :
								 -EIO,
		       "libfabric: %s: %s", what, f->lib.strerror((int)-code));
}

/* ---- messages ---- */

static struct request *new_request(struct ofi *f)
{
	struct request *r = f->unused;

	if (!r)
		return calloc(1, sizeof(*r));
	f->unused = r->next;
	return r;
}

static void complete(struct ofi *f, struct request *r, int status)
{
	r->op->status = status;
	r->next = f->unused;
	f->unused = r;
}

/* Returns the provider's answer: 0, -FI_EAGAIN or another code. */
static ssize_t start(struct ofi *f, struct request *r)
{
	if (r->rank < 0)
		return fi_trecv(f->ep, r->buf, r->len, NULL, FI_ADDR_UNSPEC,
				r->tag, 0, &r->context);
	return fi_tsend(f->ep, r->buf, r->len, NULL, f->peer[r->rank].at,
			r->tag, &r->context);
}

static int code_of(long code)
{
	return code > 0 && code < FI_ERRNO_OFFSET ? (int)-code : -EIO;
}

static void fail(struct ofi *f, struct request *r, long code)
{
	if (r->rank >= 0 && !f->peer[r->rank].lost)
		f->peer[r->rank].lost = code_of(code);
	complete(f, r, code_of(code));
}

static void add(struct queue *q, struct request *r)
{
	r->next = NULL;
	*q->end = r;
	q->end = &r->next;
}

/* Start as many messages as the provider accepts; returns their number. */
static unsigned push(struct ofi *f, struct queue *q)
{
	unsigned n = 0;

	while (q->first) {
		struct request *r = q->first;
		ssize_t rc = start(f, r);

		if (rc == -FI_EAGAIN)
			break;
		q->first = r->next;
		if (!q->first)
			q->end = &q->first;
		if (rc)
			fail(f, r, -rc);
		n++;
	}
	return n;
}

static void enqueue(struct ofi *f, struct queue *q, const struct request *of)
{
	struct request *r = new_request(f);

	if (!r) {
		of->op->status = -ENOMEM;
		return;
	}
	*r = *of;
	r->op->status = 1;
	add(q, r);
	f->waiting_sec = 0;
	if (q->first == r)
		push(f, q);
}

static void ofi_send(struct np_net *n, uint32_t rank, uint64_t tag,
		     const void *buf, size_t len, struct np_op *op)
{
	struct ofi *f = (struct ofi *)n;

	if (f->peer[rank].lost)
		op->status = f->peer[rank].lost;
	else
		enqueue(f, &f->sends, &(struct request){
			.op = op, .buf = (void *)buf, .len = len, .tag = tag,
			.rank = rank });
}

static void ofi_recv(struct np_net *n, uint64_t tag, void *buf, size_t len,
		     struct np_op *op)
{
	struct ofi *f = (struct ofi *)n;

	enqueue(f, &f->receives, &(struct request){
		.op = op, .buf = buf, .len = len, .tag = tag, .rank = -1 });
}

/* ---- progress, and sleep ---- */

/* Handle one failed completion; returns 0 if there is none. */
static unsigned read_error(struct ofi *f)
{
	struct fi_cq_err_entry e = { NULL };

	if (fi_cq_readerr(f->cq, &e, 0) != 1)
		return 0;
	if (e.op_context)
		fail(f, e.op_context, e.err);
	return 1;
}

static unsigned read_completions(struct ofi *f)
{
	struct fi_cq_entry e[N_READ];
	ssize_t n = fi_cq_read(f->cq, e, N_READ);

	if (n == -FI_EAVAIL)
		return read_error(f);
	for (ssize_t i = 0; i < n; i++)
		complete(f, e[i].op_context, 0);
	return n > 0 ? (unsigned)n : 0;
}

static unsigned ofi_progress(struct np_net *n)
{
	struct ofi *f = (struct ofi *)n;
	unsigned done = read_completions(f);

	done += push(f, &f->receives) + push(f, &f->sends);
	if (done) {
		f->waiting_sec = 0;
		f->n_idle = 0;
	}
	return done;
}

/*
 * Make net.fd readable, by the timer, after a part of the time waited so far.
 */
static void set_timer(struct ofi *f)
{
	double now_sec = np_mono_sec(), check_sec;
	struct itimerspec t = { { 0 } };

	if (!(f->waiting_sec > 0))
		f->waiting_sec = now_sec;
	check_sec = fmin(fmax((now_sec - f->waiting_sec) * CHECK_PART,
			      CHECK_LEAST_SEC), CHECK_MOST_SEC);
	t.it_value.tv_nsec = (long)(check_sec * 1e9);
	timerfd_settime(f->timer, 0, &t, NULL);
	f->timer_is_set = true;
}

static void stop_timer(struct ofi *f)
{
	const struct itimerspec off = { { 0 } };

	if (f->timer_is_set)
		timerfd_settime(f->timer, 0, &off, NULL);
	f->timer_is_set = false;
}

/* Let the provider's descriptor wake the probe, or not. */
static void listen_to(struct ofi *f, bool on)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (on != f->listens &&
	    !epoll_ctl(f->net.fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		       f->provider_fd, &e))
		f->listens = on;
}

/* Can the provider's descriptor be relied on to let the probe sleep? */
static bool may_listen(struct ofi *f)
{
	double now_sec = np_mono_sec();

	if (f->listens && now_sec - f->armed_sec > CHECK_MOST_SEC)
		f->n_idle = 0; /* it has slept */
	f->armed_sec = now_sec;
	return f->provider_fd >= 0 && f->n_idle++ < MOST_IDLE_WAKEUPS;
}

/*
 * The timer also retries messages that wait for room, for example while a
 * connection is established: not every provider signals when there is room.
 */
static int ofi_arm(struct np_net *n)
{
	struct ofi *f = (struct ofi *)n;
	struct fid *fid = &f->cq->fid;
	bool listens = may_listen(f);

	if (listens && fi_trywait(f->fabric, &fid, 1))
		return -EAGAIN;
	listen_to(f, listens);
	if (!listens || f->sends.first)
		set_timer(f);
	else
		stop_timer(f);
	return 0;
}

/* ---- connections ---- */

static int ofi_connect(struct np_net *n, uint32_t rank, const void *addr,
		       size_t len, struct np_err *err)
{
	struct ofi *f = (struct ofi *)n;
	int rc;

	/* The provider would read beyond the end of a shorter address. */
	if (len != n->address_len)
		return np_errf(err, -EPROTO, "libfabric: an address of %zu "
			       "bytes, expected %zu", len, n->address_len);
	rc = fi_av_insert(f->av, addr, 1, &f->peer[rank].at, 0, NULL);
	return rc == 1 ? 0 : failed(f, err, rc < 0 ? rc : -EINVAL,
				    "cannot connect (is Transport right?)");
}

static int ofi_lost(struct np_net *n, uint32_t rank)
{
	return ((struct ofi *)n)->peer[rank].lost;
}

static void ofi_transport(struct np_net *n, uint32_t rank, char *buf,
			  size_t size)
{
	const struct fi_info *i = ((struct ofi *)n)->info;

	(void)rank;
	snprintf(buf, size, "ofi:%s/%s", i->fabric_attr->prov_name,
		 i->domain_attr->name);
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
	const struct np_ofi_setting *s;
	void *handle;

	for (size_t i = 0; (s = np_ofi_setting(provider, i)); i++)
		setenv(s->name, s->value, 0);
	handle = load();
	if (!handle)
		return np_errf(err, -ENOENT, "%s: expected libfabric, which "
			       "Transport=ofi:... needs", dlerror());
	for (size_t i = 0; i < NP_ARRAY_SIZE(function); i++) {
		*function[i].at = dlsym(handle, function[i].name);
		if (!*function[i].at)
			return np_errf(err, -ENOENT, "libfabric: %s",
				       dlerror());
	}
	return 0;
}

/* ---- which provider and device ---- */

/* True if name is in the list, "a,b:1", whose entries may name a port. */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *w = list; *w; w += strcspn(w, ","), w += *w == ',')
		if (strcspn(w, ",:") == len && !strncmp(w, name, len))
			return true;
	return false;
}

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
		if (np_ofi_is_provider(provider, list->fabric_attr->prov_name) &&
		    (!devices || !*devices ||
		     is_listed(devices, list->domain_attr->name)) &&
		    strncmp(list->fabric_attr->name, "fe80:", 5))
			return list;
	return NULL;
}

static struct fi_info *new_hints(const struct library *lib)
{
	struct fi_info *h = lib->dupinfo(NULL);

	if (!h)
		return NULL;
	h->caps = FI_TAGGED | FI_SEND | FI_RECV;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED |
				  FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
	return h;
}

static int find_info(struct ofi *f, const char *provider, const char *devices,
		     struct np_err *err)
{
	struct fi_info *hints = new_hints(&f->lib), *list = NULL, *one;
	int rc;

	if (!hints)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = f->lib.getinfo(API, NULL, NULL, 0, hints, &list);
	f->lib.freeinfo(hints);
	one = rc ? NULL : select_info(list, provider, devices);
	if (one)
		f->info = f->lib.dupinfo(one);
	f->lib.freeinfo(list);
	if (f->info)
		return 0;
	return np_errf(err, -ENOENT, "%s has no provider \"%s\"%s%s "
		       "on this node; fi_info lists what it has", f->version,
		       provider, devices && *devices ? " for " : "",
		       devices ? devices : "");
}

/* ---- opening ---- */

static int add_to(int set, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* Open net.fd: the provider's descriptor, if it has one, and a timer. */
static int open_wait(struct ofi *f, bool has_fd)
{
	int fd;

	f->net.fd = epoll_create1(EPOLL_CLOEXEC);
	f->timer = timerfd_create(CLOCK_MONOTONIC,
				  TFD_NONBLOCK | TFD_CLOEXEC);
	if (f->net.fd < 0 || f->timer < 0)
		return -errno;
	if (has_fd && !fi_control(&f->cq->fid, FI_GETWAIT, &fd) &&
	    !add_to(f->net.fd, fd)) {
		f->provider_fd = fd;
		f->listens = true;
	}
	return add_to(f->net.fd, f->timer);
}

static int open_queue(struct ofi *f)
{
	struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD,
	};
	bool has_fd = np_ofi_wakes(f->info->fabric_attr->prov_name) &&
		      !fi_cq_open(f->domain, &attr, &f->cq, NULL);
	int rc = 0;

	if (!has_fd) {
		attr.wait_obj = FI_WAIT_NONE;
		rc = fi_cq_open(f->domain, &attr, &f->cq, NULL);
	}
	return rc ? rc : open_wait(f, has_fd);
}

static int open_endpoint(struct ofi *f, size_t n_peers)
{
	struct fi_av_attr attr = { .count = n_peers };
	int rc = fi_av_open(f->domain, &attr, &f->av, NULL);

	if (!rc)
		rc = fi_endpoint(f->domain, f->info, &f->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(f->ep, &f->av->fid, 0);
	if (!rc)
		rc = fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(f->ep);
	f->net.address = f->address;
	f->net.address_len = sizeof(f->address);
	return rc ? rc : fi_getname(&f->ep->fid, f->address,
				    &f->net.address_len);
}

static int open_all(struct ofi *f, size_t n_peers)
{
	int rc = f->lib.fabric(f->info->fabric_attr, &f->fabric, NULL);

	if (!rc)
		rc = fi_domain(f->fabric, f->info, &f->domain, NULL);
	if (!rc)
		rc = open_queue(f);
	return rc ? rc : open_endpoint(f, n_peers);
}

static struct ofi *new_ofi(uint32_t size)
{
	struct ofi *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->peer = calloc(size, sizeof(*f->peer));
	if (!f->peer) {
		free(f);
		return NULL;
	}
	f->provider_fd = -1;
	f->net.ops = &ops;
	f->net.kind = f->kind;
	f->net.version = f->version;
	f->sends.end = &f->sends.first;
	f->receives.end = &f->receives.first;
	return f;
}

int np_ofi_open(uint32_t size, size_t n_peers, const char *provider,
		const char *devices, struct np_net **out, struct np_err *err)
{
	struct ofi *f = new_ofi(size);
	uint32_t v;
	int rc;

	if (!f)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = open_library(&f->lib, provider, err);
	if (!rc) {
		v = f->lib.version();
		snprintf(f->version, sizeof(f->version), "libfabric-%u.%u",
			 FI_MAJOR(v), FI_MINOR(v));
		rc = find_info(f, provider, devices, err);
	}
	if (!rc) {
		snprintf(f->kind, sizeof(f->kind), "ofi:%s",
			 f->info->fabric_attr->prov_name);
		rc = open_all(f, n_peers);
		if (rc)
			rc = failed(f, err, rc, f->kind);
	}
	if (rc) { /* open objects are released when the process ends */
		free(f->peer);
		free(f);
		return rc;
	}
	*out = &f->net;
	return 0;
}
