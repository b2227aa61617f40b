/* The only file that knows UCX. */
#include "np_net.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ucp/api/ucp.h>
#include <ucs/config/global_opts.h>

#include "np_ofi.h"

struct peer {
	ucp_ep_h ep; /* NULL: not connected */
	int lost;    /* 0 or -errno */
};

struct ucx {
	struct np_net net;
	ucp_context_h context;
	ucp_worker_h worker;
	/* of every rank; UCX keeps pointers to the elements */
	struct peer *peer;
};

/*
 * Defaults for variables that are not in the environment. UCX ignores names
 * that its version does not know.
 */
static const struct {
	const char *name, *value;
	int without_rdma; /* only if messages cannot take RDMA */
} defaults[] = {
	/* Peers are always on other nodes. */
	{ "UCX_TLS", "^sm,self", 0 },
	/*
	 * Without I/O vectors UCX copies messages instead of sending them in
	 * place. When a peer dies in the middle of a send in place over TCP,
	 * UCX 1.13 aborts the process ("Assertion `comp->count > 0' failed");
	 * with copies it reports the loss as it should.
	 */
	{ "UCX_TCP_MAX_IOV", "0", 0 },
	/*
	 * No rendezvous either. Through full queues its handshake takes as long
	 * as the message, and a network that is meant to be saturated idles
	 * meanwhile. With RDMA the handshake is cheap, and the cost of copying
	 * would limit us.
	 */
	{ "UCX_RNDV_THRESH", "inf", 1 },
	/* A few messages at a time need no more buffers than this. */
	{ "UCX_TCP_TX_BUFS_GROW", "4", 0 },
	{ "UCX_TCP_RX_BUFS_GROW", "4", 0 },
};

static const struct {
	ucs_status_t ucs;
	int rc;
} codes[] = {
	{ UCS_ERR_NO_MEMORY, -ENOMEM },
	{ UCS_ERR_INVALID_PARAM, -EINVAL },
	{ UCS_ERR_UNREACHABLE, -ENETUNREACH },
	{ UCS_ERR_NO_DEVICE, -ENODEV },
	{ UCS_ERR_CANCELED, -ECANCELED },
	{ UCS_ERR_TIMED_OUT, -ETIMEDOUT },
	{ UCS_ERR_ENDPOINT_TIMEOUT, -ETIMEDOUT },
	{ UCS_ERR_REJECTED, -ECONNREFUSED },
	{ UCS_ERR_CONNECTION_RESET, -ECONNRESET },
	{ UCS_ERR_NOT_CONNECTED, -ENOTCONN },
	{ UCS_ERR_MESSAGE_TRUNCATED, -EMSGSIZE },
	{ UCS_ERR_UNSUPPORTED, -EOPNOTSUPP },
};

static int code_of(ucs_status_t status)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(codes); i++)
		if (codes[i].ucs == status)
			return codes[i].rc;
	return -EIO;
}

static int failed(struct np_err *err, ucs_status_t status, const char *what)
{
	return np_errf(err, code_of(status), "UCX: %s: %s", what,
		       ucs_status_string(status));
}

/* Called by UCX from inside progress(). */
static void on_loss(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	struct peer *peer = arg;

	(void)ep;
	peer->lost = code_of(status);
}

static int ucx_connect(struct np_net *net, uint32_t rank, const void *addr,
		       size_t len, struct np_err *err)
{
	struct ucx *ucx = (struct ucx *)net;
	struct peer *peer = &ucx->peer[rank];
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
			      UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.address = addr,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = { .cb = on_loss, .arg = peer },
	};
	ucs_status_t status = ucp_ep_create(ucx->worker, &params, &peer->ep);

	(void)len;
	return status == UCS_OK ? 0 :
				  failed(err, status,
					 "cannot connect (are UCX_TLS and "
					 "UCX_NET_DEVICES right?)");
}

static int ucx_lost(struct np_net *net, uint32_t rank)
{
	return ((struct ucx *)net)->peer[rank].lost;
}

/*
 * Before version 1.14 UCX names the transport only in its printed information,
 * on lines such as "#      lane[0]:  2:tcp/eth0.0 md[1]   ->
 * md[1]/tcp/sysdev[255] am".
 */
static void parse_lane(const char *info, char *buf, size_t size)
{
	const char *lane = strstr(info, "lane[0]:");
	size_t len, n;

	lane = lane ? lane + strlen("lane[0]:") : "";
	lane += strspn(lane, " 0123456789");
	if (*lane == ':')
		lane++;
	len = strcspn(lane, " \t\n");
	n = len;
	while (n && isdigit((unsigned char)lane[n - 1]))
		n--;
	if (n > 1 && n < len && lane[n - 1] == '.') /* the path index */
		len = n - 1;
	if (!len || len >= size || !memchr(lane, '/', len))
		return;
	memcpy(buf, lane, len);
	buf[len] = '\0';
}

static void ucx_transport(struct np_net *net, uint32_t rank, char *buf,
			  size_t size)
{
	struct ucx *ucx = (struct ucx *)net;
	char *info = NULL;
	size_t len;
	FILE *f = open_memstream(&info, &len);

	buf[0] = '\0';
	if (!f)
		return;
	ucp_ep_print_info(ucx->peer[rank].ep, f);
	if (!fclose(f))
		parse_lane(info, buf, size);
	free(info);
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
	struct np_op *op = arg;

	op->status = status == UCS_OK ? 0 : code_of(status);
	ucp_request_free(request);
}

static void on_received(void *request, ucs_status_t status,
			const ucp_tag_recv_info_t *info, void *arg)
{
	(void)info;
	on_sent(request, status, arg);
}

static void set_status(struct np_op *op, ucs_status_ptr_t request)
{
	if (!request)
		op->status = 0;
	else if (UCS_PTR_IS_ERR(request))
		op->status = code_of(UCS_PTR_STATUS(request));
}

static void ucx_send(struct np_net *net, uint32_t rank, uint64_t tag,
		     const void *buf, size_t len, struct np_op *op)
{
	const struct peer *peer = &((struct ucx *)net)->peer[rank];
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
				UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = on_sent,
		.user_data = op,
	};

	op->status = peer->lost ? peer->lost : 1;
	if (!peer->lost) /* UCX forbids calls on a failed endpoint */
		set_status(op,
			   ucp_tag_send_nbx(peer->ep, buf, len, tag, &param));
}

static void ucx_recv(struct np_net *net, uint64_t tag, void *buf, size_t len,
		     struct np_op *op)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
				UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.recv = on_received,
		.user_data = op,
	};

	op->status = 1;
	set_status(op, ucp_tag_recv_nbx(((struct ucx *)net)->worker, buf, len,
					tag, UINT64_MAX, &param));
}

static unsigned ucx_progress(struct np_net *net)
{
	return ucp_worker_progress(((struct ucx *)net)->worker);
}

static int ucx_arm(struct np_net *net)
{
	return ucp_worker_arm(((struct ucx *)net)->worker) == UCS_OK ? 0 :
								       -EAGAIN;
}

static const struct np_net_ops ops = {
	.connect = ucx_connect,
	.lost = ucx_lost,
	.transport = ucx_transport,
	.send = ucx_send,
	.recv = ucx_recv,
	.progress = ucx_progress,
	.arm = ucx_arm,
};

/* Do the settings of UCX leave no transport between nodes but TCP? */
static bool is_tcp(const char *transports)
{
	bool tcp = false;

	for (size_t len; transports && *transports;
	     transports += len + (transports[len] == ',')) {
		len = strcspn(transports, ",");
		tcp = !strncmp(transports, "tcp,", len) ||
		      !strncmp(transports, "self,", len);
		if (!tcp)
			break;
	}
	return tcp;
}

/* Has this node an RDMA adapter that the settings of UCX let messages take? */
static bool has_rdma(void)
{
	const char *devices = getenv("UCX_NET_DEVICES");
	const struct dirent *e;
	bool found = false;
	DIR *d = is_tcp(getenv("UCX_TLS")) ? NULL :
					     opendir("/sys/class/infiniband");

	while (d && !found && (e = readdir(d)))
		found = e->d_name[0] != '.' &&
			np_ofi_is_device(devices, e->d_name);
	if (d)
		closedir(d);
	return found;
}

/*
 * In the environment, because ucp_config_modify() does not reach the settings
 * of the transports.
 */
static void set_defaults(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(defaults); i++)
		if (!(defaults[i].without_rdma && has_rdma()))
			setenv(defaults[i].name, defaults[i].value, 0);
	/* UCX read this variable when it was loaded. */
	if (!getenv("UCX_LOG_LEVEL"))
		ucs_global_opts_set_value("LOG_LEVEL", "fatal");
}

static ucs_status_t open_context(struct ucx *ucx, size_t n_peers)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES |
			      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
		.estimated_num_eps = n_peers,
	};
	ucp_config_t *config;
	ucs_status_t status;

	set_defaults();
	status = ucp_config_read(NULL, NULL, &config);
	if (status != UCS_OK)
		return status;
	status = ucp_init(&params, config, &ucx->context);
	ucp_config_release(config);
	return status;
}

static ucs_status_t open_worker(struct ucx *ucx)
{
	const ucp_worker_params_t params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	ucs_status_t status;

	status = ucp_worker_create(ucx->context, &params, &ucx->worker);
	if (status != UCS_OK)
		return status;
	status = ucp_worker_get_efd(ucx->worker, &ucx->net.fd);
	if (status != UCS_OK)
		return status;
	return ucp_worker_get_address(ucx->worker,
				      (ucp_address_t **)&ucx->net.address,
				      &ucx->net.address_len);
}

static void free_ucx(struct ucx *ucx)
{
	if (ucx->worker)
		ucp_worker_destroy(ucx->worker);
	if (ucx->context)
		ucp_cleanup(ucx->context);
	free(ucx->peer);
	free(ucx);
}

int np_ucx_open(uint32_t size, size_t n_peers, struct np_net **out,
		struct np_err *err)
{
	struct ucx *ucx = calloc(1, sizeof(*ucx));
	ucs_status_t status;

	if (ucx)
		ucx->peer = calloc(size, sizeof(*ucx->peer));
	if (!ucx || !ucx->peer) {
		free(ucx);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	ucx->net.ops = &ops;
	ucx->net.kind = "ucx";
	ucx->net.version = ucp_get_version_string();
	status = open_context(ucx, n_peers);
	if (status == UCS_OK)
		status = open_worker(ucx);
	if (status != UCS_OK) {
		free_ucx(ucx);
		return failed(err, status,
			      "no usable transport (are UCX_TLS and "
			      "UCX_NET_DEVICES right?)");
	}
	*out = &ucx->net;
	return 0;
}

const char *np_ucx_version(void)
{
	return ucp_get_version_string();
}
