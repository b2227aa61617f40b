#include "t.h"
#include "np_nics.h"

static const char *sys(void)
{
	static char path[512];

	if (path[0])
		return path;
	snprintf(path, sizeof(path), "%s/sys", t_tmpdir());
	t_sh(t_tmpdir(),
	     "mkdir -p sys/class/net/eth0/statistics "
	     "sys/class/infiniband/mlx5_0/ports/1/counters && "
	     "echo 300 >sys/class/net/eth0/statistics/rx_bytes && "
	     "echo 45 >sys/class/net/eth0/statistics/tx_bytes && "
	     "echo 10000 >sys/class/net/eth0/speed && "
	     "mkdir -p sys/class/net/veth0/statistics && "
	     "cp sys/class/net/eth0/statistics/* "
	     "sys/class/net/veth0/statistics && "
	     "echo -1 >sys/class/net/veth0/speed && "
	     "cp -r sys/class/net/veth0 sys/class/net/fifo0 && "
	     "rm sys/class/net/fifo0/speed && "
	     "mkfifo sys/class/net/fifo0/speed && "
	     "cp -r sys/class/net/eth0 sys/class/net/ib0 && "
	     "mkdir -p sys/class/net/ib0/device/infiniband/mlx4_0 && "
	     "echo 32 >sys/class/net/ib0/type && "
	     "cp -r sys/class/net/ib0 sys/class/net/ib1 && "
	     "echo 1 >sys/class/net/ib1/dev_port && "
	     "cp -r sys/class/net/eth0 sys/class/net/ens1 && "
	     "echo 1 >sys/class/net/ens1/type && "
	     "mkdir -p sys/class/net/ens1/device/infiniband/bnxt_re0 && "
	     "mkdir -p sys/class/infiniband/bnxt_re0/device/net/ens1 && "
	     "mkdir -p sys/class/infiniband/bnxt_re0/device/net/gone0 && "
	     "mkdir -p sys/class/infiniband/bnxt_re0/ports/1/hw_counters && "
	     "echo 1000 | tee "
	     "sys/class/infiniband/bnxt_re0/ports/1/hw_counters/"
	     "rx_bytes >sys/class/infiniband/bnxt_re0/ports/1/hw_counters/"
	     "tx_bytes && "
	     "echo '200 Gb/sec' >sys/class/infiniband/bnxt_re0/ports/1/rate && "
	     "cp -r sys/class/infiniband/bnxt_re0 sys/class/infiniband/pf0 && "
	     "mkdir sys/class/infiniband/pf0/device/net/ens2 && "
	     "cp -r sys/class/net/ens1 sys/class/net/ens2 && "
	     "mkdir -p sys/class/infiniband/mlx4_0/ports/2/counters && "
	     "echo 300 >sys/class/infiniband/mlx4_0/ports/2/counters/"
	     "port_rcv_data && "
	     "echo 400 >sys/class/infiniband/mlx4_0/ports/2/counters/"
	     "port_xmit_data && "
	     "cd sys/class/infiniband/mlx5_0/ports/1/counters && "
	     "echo '100 Gb/sec (4X EDR)' >../rate && "
	     "echo 10 >port_rcv_data && echo 20 >port_xmit_data");
	return path;
}

static const struct {
	const char *transport;
	uint64_t bytes; /* 0: none */
	double link;
} rows[] = {
	{ "tcp/eth0", 345, 1.25e9 },
	{ "tcp/veth0", 345, 0 }, /* it says -1 */
	{ "tcp/fifo0", 345, 0 }, /* whoever opens it waits for a writer */
	/* Of the adapter's port, or, if that has none, of the device. */
	{ "tcp/ib1", 2800, 1.25e9 },
	{ "tcp/ib0", 345, 1.25e9 },
	/* RDMA and Ethernet share a port. */
	{ "tcp/ens1", 2345, 1.25e9 },
	{ "rc_verbs/bnxt_re0:1", 2345, 25e9 },
	{ "rc_verbs/pf0:1", 2000, 25e9 }, /* two Ethernet devices */
	{ "rc_mlx5/mlx5_0:1", 120, 12.5e9 },
	{ "rc_mlx5/mlx5_0:2", 0, 0 },
	{ "ofi:verbs/mlx5_0", 120, 12.5e9 },
	{ "tcp/eth1", 0, 0 },
	{ "sysv/memory", 0, 0 },
	{ "tcp", 0, 0 },
	{ "", 0, 0 },
	{ "tcp/..", 0, 0 },
	{ "tcp/../net/eth0", 0, 0 },
	{ "tcp/eth0/", 0, 0 },
};

T_TEST("a transport's device has its bytes and its rate")
{
	T_EACH(r, rows) {
		struct np_device d;
		uint64_t bytes = 0;
		int rc = np_device_find(sys(), r->transport, &d);

		T_ROW(r->transport, rc == (r->bytes ? 0 : -ENOENT));
		T_ROW(r->transport, d.link == r->link);
		rc = np_device_bytes(&d, &bytes);
		T_ROW(r->transport, rc == (r->bytes ? 0 : -EIO));
		T_ROW(r->transport, bytes == r->bytes);
	}
}
