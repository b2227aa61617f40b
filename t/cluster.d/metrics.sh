# Faults of single nodes, and a metrics server that shows them.
# shellcheck shell=bash

# With --node-cgroups each node is a cgroup of its own: of v2 for its pressure
# (how long its processes waited), of v1 for its limits.
NODE_LIMITS=(cpu blkio)

mount_node_cgroups() {
	local c
	mount -t cgroup2 none "$RUNDIR/pressure"
	for c in "${NODE_LIMITS[@]}"; do
		mount -t cgroup -o "$c" "$c" "$RUNDIR/limits/$c"
	done
}

node_cgroups() { # NODE: the cgroups of its processes
	local c
	[ -n "$NODE_CGROUPS" ] || return 0
	echo "$RUNDIR/pressure/netprof-$NAME/$1"
	for c in "${NODE_LIMITS[@]}"; do
		echo "$RUNDIR/limits/$c/netprof-$NAME/$1"
	done
}

make_node_cgroups() {
	local i
	for ((i = 0; i < $(node_count); i++)); do
		node_cgroups "n$i" | xargs -r mkdir -p
	done
}

limit() { # CONTROLLER NODE FILE VALUE
	[ -n "$NODE_CGROUPS" ] || die "up without --node-cgroups"
	need_place "$2"
	echo "$4" >"$RUNDIR/limits/$1/netprof-$NAME/$2/$3"
}

cmd_quota() { # NODE PERCENT|off: of one processor
	limit cpu "$1" cpu.cfs_quota_us "$([ "$2" = off ] && echo -1 || echo $(($2 * 1000)))"
}

# Limits only direct writes to the disk that holds the shared directory.
cmd_disk() { # NODE KBYTES|off: per second
	local dev
	dev=$(findmnt -no SOURCE -T "$RUNDIR/shared")
	dev=$(lsblk -no PKNAME "$dev" 2>/dev/null | grep . || basename "$dev")
	limit blkio "$1" blkio.throttle.write_bps_device \
		"$(cat "/sys/class/block/$dev/dev") $([ "$2" = off ] && echo 0 || echo $(($2 * 1024)))"
}

cmd_link() { # NODE MBIT|off: both ends of its cable
	local i=${1#n} mbit=$2
	need_place "$1"
	[ "$mbit" != off ] || mbit=$NIC_MBIT
	in_leaf "leaf$(node_leaf "$i")" shape "$1" "$mbit"
	in_place_net "$1" shape eth0 "$mbit"
	echo "$mbit" >"$RUNDIR/pid/$1.link"
}

# Starts node_exporter on every node, for its network. All other metrics come from
# its textfile collector, because node_exporter itself sees the whole machine.
cmd_metrics() { # SECONDS between two samples
	local p dir=$RUNDIR/metrics
	[ -n "$NODE_CGROUPS" ] || die "up without --node-cgroups"
	mkdir -p "$dir/data"
	for p in $(places); do
		[[ $p == n* ]] || continue
		mkdir -p "$dir/$p"
		[ -e "$RUNDIR/pid/$p.link" ] || echo "$NIC_MBIT" >"$RUNDIR/pid/$p.link"
		in_background "$p" "$RUNDIR/log/node_exporter.$p.log" env GOMAXPROCS=1 prometheus-node-exporter \
			--web.listen-address=:9100 --collector.disable-defaults \
			--collector.netdev --collector.netdev.device-exclude='^(lo|mgmt|late)$' \
			--collector.netstat --collector.time --collector.textfile \
			--collector.textfile.directory="$dir/$p"
	done
	setsid python3 "$LIB/node_metrics.py" "$RUNDIR" "netprof-$NAME" "$1" \
		</dev/null >"$RUNDIR/log/node_metrics.log" 2>&1 &
	disown
	cat >"$dir/prometheus.yml" <<-END
		global: {scrape_interval: ${1}s, scrape_timeout: ${1}s}
		scrape_configs:
		- job_name: node
		  static_configs:
		  - targets: [$(places | sed -n 's/^n.*/"&:9100"/p' | paste -sd,)]
	END
	in_background ctl "$RUNDIR/log/prometheus.log" env GOMAXPROCS=1 prometheus \
		--config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" \
		--web.listen-address=:9090
	wait_until in_place ctl bash -c 'exec 3<>/dev/tcp/127.0.0.1/9090' 2>/dev/null ||
		die "no metrics server: $(tail -n 3 "$RUNDIR/log/prometheus.log")"
}

in_background() { # PLACE LOG CMD...
	in_place "$1" setsid "${@:3}" </dev/null >"$2" 2>&1 &
	disown
}
