# The network of a cluster. The management bridge, which is never shaped, is in the
# host's namespace. Each leaf switch is a namespace with a bridge, and "spine"
# joins the leaves. There are two bottlenecks:
#
#   NIC     a token bucket at both ends of a node's cable
#   fabric  every port of a leaf passes what it receives to one device, "fab",
#           with one token bucket, which jobs on disjoint nodes share
#
# A non-blocking leaf has no fabric stage. A second rail is the same once more,
# with namespaces leaf0r1, ..., spiner1 and devices eth1.
# shellcheck shell=bash

# A larger burst would hide short queues, a smaller one loses throughput.
BURST_BYTES=3200

rails() { ((RAILS == 1)) && echo 0 || echo 0 1; }
rail_suffix() { [ "$1" = 0 ] || echo "r$1"; } # of its switches

data_addr() { # NODE INDEX [RAIL]
	echo "10.$((77 + 2 * ${2-0})).$(($1 / 200)).$((10 + $1 % 200))"
}
mgmt_addr() { # PLACE
	case $1 in
	ctl) echo 10.78.255.1 ;;
	standby) echo 10.78.255.2 ;;
	dbd) echo 10.78.255.3 ;;
	n*) echo "10.78.$((${1#n} / 200)).$((10 + ${1#n} % 200))" ;;
	esac
}
data_mac() { # NODE INDEX [RAIL]
	printf '02:%d:00:00:%02x:%02x' $((77 + 2 * ${2-0})) $(($1 / 256)) $(($1 % 256))
}

mgmt_mac() { # PLACE
	case $1 in
	ctl) echo 02:78:00:ff:ff:01 ;;
	standby) echo 02:78:00:ff:ff:02 ;;
	dbd) echo 02:78:00:ff:ff:03 ;;
	n*) printf '02:78:00:00:%02x:%02x' $((${1#n} / 256)) $((${1#n} % 256)) ;;
	esac
}

# Permanent neighbour entries for all places. The kernel has one table of 1024
# dynamic entries for all namespaces; 64 daemons that communicate with each other
# overflow it, and messages between them then time out. Permanent entries do not
# count.
write_neighbours() {
	local p i r
	for p in $(places); do
		echo "neigh replace $(mgmt_addr "$p") lladdr $(mgmt_mac "$p") nud permanent dev mgmt"
	done >"$RUNDIR/neighbours.mgmt"
	for ((i = 0; i < LEAVES * NODES_PER_LEAF; i++)); do
		for r in $(rails); do
			echo "neigh replace $(data_addr "$i" "$r") lladdr" \
				"$(data_mac "$i" "$r") nud permanent dev eth$r"
		done
	done >"$RUNDIR/neighbours.data"
}

place_pid() { echo "$(<"$RUNDIR/pid/$1")"; }

in_leaf() { # NAMESPACE FUNCTION ARGS...
	local ns=$1
	shift
	ip netns exec "$ns" bash "$RUNDIR/lib/inside.sh" "$RUNDIR" call "$@"
}

in_place_net() { # PLACE FUNCTION ARGS...
	nsenter -t "$(place_pid "$1")" --net --mount -- \
		bash "$RUNDIR/lib/inside.sh" "$RUNDIR" call "${@:2}"
}

# Without offloads, so that each packet here is a packet on the wire.
plain_device() {
	ethtool -K "$1" tso off gso off gro off tx off rx off sg off >/dev/null 2>&1 || :
	if [ -w "/proc/sys/net/ipv6/conf/$1/disable_ipv6" ]; then
		echo 1 >"/proc/sys/net/ipv6/conf/$1/disable_ipv6"
	fi
}

# The arguments of tc.
shape_line() { # DEVICE MBIT
	echo "qdisc replace dev $1 root tbf rate $2mbit burst $BURST_BYTES limit 1mb"
}

shape() { # DEVICE MBIT
	# shellcheck disable=SC2046 # several
	tc $(shape_line "$1" "$2")
}

is_blocking() { # LEAF
	[ "$1" != "$NONBLOCKING" ]
}

# Make a plain bridge, in a leaf or in the host.
make_bridge() { # NAME
	ip link add name "$1" type bridge mcast_snooping 0 stp_state 0 forward_delay 0 \
		ageing_time 100000000
	plain_device "$1"
	ip link set "$1" up
	if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then
		echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables
	fi
}

make_leaf() { # LEAF; in its namespace
	ip link set lo up
	make_bridge br0
	is_blocking "$1" || return 0
	ip link add name fab type ifb
	plain_device fab
	ip link set fab txqueuelen 1000 up
	shape fab "$LEAF_MBIT"
}

add_port() { # DEVICE MBIT LEAF-or-spine; in the switch's namespace
	plain_device "$1"
	ip link set "$1" master br0 up
	if [ "$3" = spine ] || ! is_blocking "$3"; then
		shape "$1" "$2"
		return 0
	fi
	tc -batch - <<-END
		$(shape_line "$1" "$2")
		qdisc add dev $1 handle ffff: ingress
		filter add dev $1 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev fab
	END
}

# Static forwarding entries for all nodes, so that no packet is flooded.
add_routes() { # LEAF-or-spine RAIL; in the switch's namespace, ports present
	local i port
	for ((i = 0; i < LEAVES * NODES_PER_LEAF; i++)); do
		port=leaf$((i / NODES_PER_LEAF))
		[ "$port" = "leaf$1" ] && port=n$i
		[ "$1" = spine ] || [ "$port" = "n$i" ] || port=uplink
		[ -e "/sys/class/net/$port" ] || continue
		echo "fdb replace $(data_mac "$i" "$2") dev $port master static"
	done | bridge -batch -
}

make_switches() {
	local r
	make_bridge mgmt
	ip link set lo up
	write_neighbours
	for r in $(rails); do
		make_tree "$(rail_suffix "$r")"
	done
}

make_tree() { # SUFFIX of its names
	local l
	ip netns add "spine$1"
	in_leaf "spine$1" make_bridge br0
	for ((l = 0; l < LEAVES; l++)); do
		ip netns add "leaf$l$1"
		in_leaf "leaf$l$1" make_leaf "$l"
		ip link add name uplink netns "leaf$l$1" type veth \
			peer name "leaf$l" netns "spine$1"
		in_leaf "leaf$l$1" add_port uplink "$UPLINK_MBIT" "$l"
		in_leaf "spine$1" add_port "leaf$l" "$UPLINK_MBIT" spine
	done
}

add_all_routes() {
	local l r tail
	for r in $(rails); do
		tail=$(rail_suffix "$r")
		for ((l = 0; l < LEAVES; l++)); do
			in_leaf "leaf$l$tail" add_routes "$l" "$r"
		done
		in_leaf "spine$tail" add_routes spine "$r"
	done
}

# All cables of a place; in the host.
plug_in() { # PLACE
	local i leaf pid r
	pid=$(place_pid "$1")
	ip link add name "m-$1" type veth peer name mgmt netns "$pid"
	plain_device "m-$1"
	ip link set "m-$1" master mgmt up
	case $1 in
	n*)
		i=${1#n}
		leaf=$(node_leaf "$i")
		for r in $(rails); do
			ip link add name "$1" netns "leaf$leaf$(rail_suffix "$r")" \
				type veth peer name "eth$r" netns "$pid"
			in_leaf "leaf$leaf$(rail_suffix "$r")" \
				add_port "$1" "$NIC_MBIT" "$leaf"
		done
		in_place_net "$1" configure_node "$i" ;;
	*)
		in_place_net "$1" configure_mgmt "$1" ;;
	esac
}

configure_mgmt() { # PLACE; in it
	plain_device mgmt
	ip -batch - <<-END
		link set lo up
		link set mgmt address $(mgmt_mac "$1")
		addr add $(mgmt_addr "$1")/16 dev mgmt
		link set mgmt up
		$(<"$RUNDIR/neighbours.mgmt")
	END
}

configure_node() { # INDEX; in the node
	configure_mgmt "n$1"
	local r
	for r in $(rails); do
		plain_device "eth$r"
	done
	{
		for r in $(rails); do
			echo "link set eth$r address $(data_mac "$1" "$r")"
			echo "addr add $(data_addr "$1" "$r")/16 dev eth$r"
			echo "link set eth$r up"
		done
		echo "$(<"$RUNDIR/neighbours.data")"
	} | ip -batch -
	for r in $(rails); do
		shape "eth$r" "$NIC_MBIT"
	done
	tune_tcp
}

# Reno, because bbr adapts its pace to the token buckets; small windows, because
# the fabric's buffer would overflow otherwise; and no metrics saved from one
# connection to the next, so that runs are repeatable.
tune_tcp() {
	local tcp=/proc/sys/net/ipv4/tcp
	echo reno >"${tcp}_congestion_control"
	echo 0 >"${tcp}_slow_start_after_idle"
	echo 1 >"${tcp}_no_metrics_save"
	echo 4096 32768 32768 >"${tcp}_rmem"
	echo 4096 32768 32768 >"${tcp}_wmem"
}

# A tap with the address of eth0, so that the kernel treats what late writes to it as
# received; see late.c.
make_late() { # in the node
	local f
	ip tuntap add dev late mode tap
	ip link set late address "$(cat /sys/class/net/eth0/address)" txqueuelen 10000
	plain_device late
	for f in all late eth0; do
		echo 0 >"/proc/sys/net/ipv4/conf/$f/rp_filter"
	done
	ip link set late up
}

redirect_to_late() { # in the node
	tc qdisc add dev eth0 handle ffff: ingress
	tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 \
		action mirred egress redirect dev late
}

# Removing the device ends the program, which is in the node's process namespace,
# where this shell cannot signal it.
remove_late() { # in the node
	tc qdisc del dev eth0 handle ffff: ingress 2>/dev/null || :
	ip link del late 2>/dev/null || :
}
