# Slurm on a cluster: its configuration and its daemons.
# shellcheck shell=bash

plugin_dir() {
	local f
	for f in "${SLURM_PREFIX:-/usr}"/lib*{,/*}/slurm*/auth_munge.so; do
		[ ! -e "$f" ] || { echo "${f%/*}"; return; }
	done
	die "no Slurm plugins under ${SLURM_PREFIX:-/usr}/lib*"
}

node_range() { echo "n[0-$(($(node_count) - 1))]"; }

write_hosts() {
	local p
	{
		echo "127.0.0.1 localhost $NAME"
		for p in $(places); do
			echo "$(mgmt_addr "$p") $p"
		done
	} >"$RUNDIR/etc/hosts"
}

# One line for each leaf: its name and its nodes.
leaves() {
	local l first
	for ((l = 0; l < LEAVES; l++)); do
		first=$((l * NODES_PER_LEAF))
		echo "leaf$l n[$first-$((first + NODES_PER_LEAF - 1))]"
	done
}

# "{switch: leaf0, nodes: "n[0-3]"}, ..."
leaf_items() { # KEY
	leaves | awk -v key="$1" '{ printf "%s{%s: %s, nodes: \"%s\"}",
		(NR > 1 ? ", " : ""), key, $1, $2 }'
}

# Slurm 23.11 has levels instead: a base block is level 0.
block_sizes() {
	case $(slurmctld -V) in
	"slurm 23.11."*) echo "BlockLevels=0" ;;
	*) echo "BlockSizes=$NODES_PER_LEAF" ;;
	esac
}

write_topology() {
	local spine="leaf[0-$((LEAVES - 1))]"
	case $TOPOLOGY in
	*.yaml) printf '%s\n' '- topology: all' '  cluster_default: true' ;;
	esac
	case $TOPOLOGY in
	tree)
		leaves | awk '{ print "SwitchName=" $1 " Nodes=" $2 }'
		echo "SwitchName=spine Switches=$spine" ;;
	odd) # a mistake that Slurm only warns of: the last node on two leaves
		leaves | awk '{ print "SwitchName=rack" NR - 1 ".ib" \
			" Nodes = \"" $2 ", cloud[" 200 * NR "-" \
			200 * NR + 199 "]" (NR > 1 ? ", n3" : "") "\"" }' ;;
	block)
		leaves | awk '{ print "BlockName=" $1 " Nodes=" $2 }'
		block_sizes ;;
	tree.yaml)
		echo "  tree: {switches: [$(leaf_items switch)," \
			"{switch: spine, children: \"$spine\"}]}" ;;
	block.yaml)
		echo "  block: {block_sizes: [$NODES_PER_LEAF]," \
			"blocks: [$(leaf_items block)]}" ;;
	ring.yaml) echo "  ring: {rings: [$(leaf_items ring)]}" ;;
	torus3d.yaml)
		echo "  torus3d: {toruses: [{name: all," \
			"dims: {x: $LEAVES, y: $NODES_PER_LEAF, z: 1}," \
			"nodes: \"$(node_range)\"}]}" ;;
	several.yaml)
		echo "  tree: {switches: [$(leaf_items switch | sed 's/}, {[^{]*$/}/')]}"
		echo '- topology: racks'
		echo "  tree: {switches: [$(rack_items), {switch: row, children: \"rack[0-$((NODES_PER_LEAF / 2 - 1))]\"}]}"
		printf '%s\n' '- topology: none' '  flat: true' ;;
	esac
}

# Two nodes of the last leaf to a rack.
rack_items() {
	local i first=$(((LEAVES - 1) * NODES_PER_LEAF))
	for ((i = 0; i < NODES_PER_LEAF / 2; i++)); do
		printf '%s{switch: rack%d, nodes: "n[%d-%d]"}' "${comma-}" $i \
			$((first + 2 * i)) $((first + 2 * i + 1))
		local comma=', '
	done
}

partitions() {
	echo "PartitionName=main Nodes=$(node_range) Default=YES MaxTime=INFINITE State=UP"
	[ "$TOPOLOGY" = several.yaml ] || return 0
	echo "PartitionName=racks Nodes=$(leaves | tail -n 1 | cut -d' ' -f2) Topology=racks"
	echo "PartitionName=flat Nodes=$(leaves | head -n 1 | cut -d' ' -f2) Topology=none"
}

topology_plugin() {
	case $TOPOLOGY in
	*.yaml) ;; # topology.yaml selects the plugin
	odd) echo TopologyPlugin=topology/tree ;;
	*) echo "TopologyPlugin=topology/$TOPOLOGY" ;;
	esac
}

# NETPROF_MESSAGE_TIMEOUT has other seconds than the 10 that Slurm waits for an answer, which
# may take longer on a busy machine. Where daemons are to be lost, what waits for them would
# take longer, too.
message_timeout() {
	[ -z "$MESSAGE_TIMEOUT" ] || [ -n "$STANDBY$ACCOUNTING" ] ||
		echo "MessageTimeout=$MESSAGE_TIMEOUT"
}

write_slurm_conf() {
	local i
	cat <<-END
		ClusterName=$NAME
		SlurmctldHost=ctl($(mgmt_addr ctl))
		${STANDBY:+SlurmctldHost=standby($(mgmt_addr standby))}
		SlurmUser=slurm
		AuthType=auth/munge
		AuthInfo=socket=/run/munge/munge.socket.2
		PluginDir=$RUNDIR/build:$(plugin_dir)
		PlugStackConfig=/etc/slurm/plugstack.conf
		StateSaveLocation=$RUNDIR/state
		SlurmdSpoolDir=$RUNDIR/spool/%n
		SlurmctldPidFile=/run/slurm/slurmctld.pid
		SlurmdPidFile=/run/slurm/slurmd.%n.pid
		SlurmctldDebug=verbose
		SlurmdDebug=verbose
		ProctrackType=proctrack/${CGROUP:-linuxproc}
		TaskPlugin=task/${CGROUP:-none}
		JobAcctGatherType=jobacct_gather/${CGROUP:-none}
		${CGROUP:+PrologFlags=Contain}
		AccountingStorageType=accounting_storage/$([ -z "$ACCOUNTING" ] && echo none || echo slurmdbd)
		${ACCOUNTING:+AccountingStorageHost=dbd}
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		DefMemPerCPU=100
		$(topology_plugin)
		SlurmdParameters=config_overrides
		ReturnToService=2
		SlurmdTimeout=60
		$(message_timeout)
		# Intervals are shorter than on a real cluster, to keep tests short.
		SlurmctldTimeout=8
		CompleteWait=0
		SchedulerType=sched/backfill
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000,sched_interval=5,bf_interval=2
	END
	for ((i = 0; i < LEAVES * NODES_PER_LEAF; i++)); do
		echo "NodeName=n$i NodeAddr=$(mgmt_addr "n$i") CPUs=4 RealMemory=2000"
	done
	partitions
	[ -z "$NETPROF" ] || echo JobSubmitPlugins=netprof
	[ ! -f "$RUNDIR/etc/slurm.conf.extra" ] || cat "$RUNDIR/etc/slurm.conf.extra"
}

# On other machines it contains passwords, and is refused if others can read it.
write_slurmdbd_conf() {
	install -m 600 -o slurm /dev/null "$1"
	cat >"$1" <<-END
		DbdHost=dbd
		SlurmUser=slurm
		AuthType=auth/munge
		AuthInfo=socket=/run/munge/munge.socket.2
		PluginDir=$(plugin_dir)
		PidFile=/run/slurm/slurmdbd.pid
		LogFile=$RUNDIR/log/$(log_of dbd).log
		DebugLevel=verbose
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
	END
}

# Used only by slurmdbd in the same place, over a socket whose path differs between
# releases of Debian; its data need not outlive the cluster.
export MYSQL_UNIX_PORT=$RUNDIR/database/socket

start_database() {
	local log=$RUNDIR/log/database.log
	[ -d "$RUNDIR/database" ] || make_database >"$log" 2>&1 ||
		die "no database: $(tail -n 4 "$log")"
	rm -f "$MYSQL_UNIX_PORT"
	in_place dbd setsid bash "$LIB/inside.sh" "$RUNDIR" call database \
		</dev/null >>"$log" 2>&1 &
	disown
	wait_until test -S "$MYSQL_UNIX_PORT" ||
		die "no database: $(tail -n 4 "$log")"
}

make_database() {
	install -d -o slurm "$RUNDIR/database"
	{
		printf '%s;\n' 'CREATE DATABASE mysql' 'USE mysql'
		cat /usr/share/{mysql,mariadb}/*_system_tables.sql 2>/dev/null || :
	} | database --bootstrap
}

database() { # OPTION
	mariadbd --no-defaults --user=slurm --datadir="$RUNDIR/database" \
		--socket="$MYSQL_UNIX_PORT" --skip-networking --skip-grant-tables \
		--innodb-flush-log-at-trx-commit=0 "$@"
}

# Slurm's PMIx plugin lets nodes connect to each other directly, which fails in
# 2 to 4 % of the starts here: a step daemon that temporarily acts as the user
# cannot check a credential made for root ("Connection reject", the job hangs),
# and with the ring fence a rank can get a message while still in MPI_Init.
# Through slurmd, with the tree fence, neither was observed. But with either of
# these settings an MPI program hangs in a step that does not include the first nodes
# of its job (PMIx_Get of a remote rank): start such programs as jobs of their own,
# or with SLURM_PMIX_DIRECT_CONN=true and SLURM_PMIX_FENCE=mixed.
write_mpi_conf() {
	cat <<-END
		PMIxDirectConn=false
		PMIxCollFence=tree
	END
}

# As netprof.conf(5) describes for Rails.
rail_lines() {
	leaves | awk '{ for (r = 0; r < 2; r++)
		print "Rail=rail" r " NIC=eth" r " Leaf=" $1 (r ? "r1" : "") " Nodes=" $2 }'
}

# Probes start earlier than by default, to keep tests short.
# NETPROF_TRANSPORT sets their transport, so that any suite can run
# over libfabric: NETPROF_TRANSPORT=ofi:tcp t/check flagged calibrate.
write_netprof() {
	local store=$RUNDIR/store
	cat >"$RUNDIR/etc/slurm/netprof.conf" <<-END
		Store=$store
		BinDir=$RUNDIR/build
		LibexecDir=$RUNDIR/build
		NetDevices=eth0
		Transports=tcp,self
		ProbeAfter=200ms
		Transport=$TRANSPORT
	END
	if [ "$RAILS" != 1 ]; then
		rail_lines >"$RUNDIR/etc/slurm/rails.conf"
		echo "Rails=/etc/slurm/rails.conf" >>"$RUNDIR/etc/slurm/netprof.conf"
	fi
	[ ! -f "$RUNDIR/etc/netprof.conf.extra" ] ||
		cat "$RUNDIR/etc/netprof.conf.extra" >>"$RUNDIR/etc/slurm/netprof.conf"
	echo "optional $RUNDIR/build/spank_netprof.so" \
		>"$RUNDIR/etc/slurm/plugstack.conf.d/netprof.conf"
	install -d "$store"
	install -d -m 3777 -g slurm "$store/users"
	install -d -m 755 "$store/published"
	install -d -m 755 -o slurm "$store/placement"
}

write_config() {
	local dir=$RUNDIR/etc/slurm
	write_hosts
	write_slurm_conf >"$dir/slurm.conf"
	case $TOPOLOGY in
	flat) ;;
	*.yaml) write_topology >"$dir/topology.yaml" ;;
	*) write_topology >"$dir/topology.conf" ;;
	esac
	# The cluster's own mounts have no cgroup v2 below /sys.
	printf '%s\n' CgroupPlugin=cgroup/v1 ConstrainRAMSpace=yes >"$dir/cgroup.conf"
	echo "include $dir/plugstack.conf.d/*.conf" >"$dir/plugstack.conf"
	write_mpi_conf >"$dir/mpi.conf"
	[ -z "$ACCOUNTING" ] || write_slurmdbd_conf "$dir/slurmdbd.conf"
	[ -z "$NETPROF" ] || write_netprof
	install -d -o slurm "$RUNDIR/state" /run/slurm
}

# munged outlives any controller, so it runs in the host; its socket is a file and
# can be reached from every network namespace.
start_munged() {
	local dir=$RUNDIR/munge
	head -c 128 /dev/urandom >"$dir/key"
	chown -R munge: "$dir" /run/munge
	chmod 700 "$dir"
	chmod 600 "$dir/key"
	chmod 755 /run/munge
	setpriv --reuid=munge --regid=munge --clear-groups \
		munged --key-file="$dir/key" --num-threads=4 \
		--socket=/run/munge/munge.socket.2 --seed-file="$dir/seed" \
		--pid-file="$RUNDIR/munge/pid" --log-file="$dir/log"
	wait_until test -S /run/munge/munge.socket.2 ||
		die "munged does not start: $(cat "$dir/log")"
}

daemon_of() { # PLACE
	case $1 in
	n*) echo slurmd ;;
	dbd) echo slurmdbd ;;
	*) echo slurmctld ;;
	esac
}

log_of() { # PLACE
	case $1 in
	n*) echo "slurmd.$1" ;;
	ctl) echo slurmctld ;;
	dbd) echo slurmdbd ;;
	*) echo "slurmctld.$1" ;;
	esac
}

# With --own-cpus each node of a leaf has its own share of the processors, the same
# share on every leaf: programs on the first and on the last nodes of a leaf then
# share only the network, and so do two of them on two leaves. A cpuset holds
# the node's processes, because programs can change their affinity.
make_cpusets() {
	local top=$RUNDIR/cpuset/netprof-$NAME i n cpus

	[ -n "$OWN_CPUS" ] || return 0
	mapfile -t cpus < <(machine_cpus)
	make_cpuset "$top" "${cpus[@]}"
	n=${#cpus[@]}
	for ((i = 0; i < $(node_count); i++)); do
		local at=$((i % NODES_PER_LEAF)) first last
		first=$((at * n / NODES_PER_LEAF))
		last=$(((at + 1) * n / NODES_PER_LEAF))
		make_cpuset "$top/n$i" \
			"${cpus[@]:first:last > first ? last - first : 1}"
	done
}

# Numbers of the processors that a cpuset may use, one on each line.
machine_cpus() {
	local list first last
	list=$(cat "$RUNDIR"/cpuset/cpuset.{effective_cpus,cpus.effective} 2>/dev/null) || :
	for list in ${list//,/ }; do
		first=${list%-*} last=${list#*-}
		seq "$first" "$last"
	done
}

# A v2 cgroup uses the memory of all NUMA nodes by default, and its parent has
# to enable the controller for it.
make_cpuset() { # DIR CPU...
	local above=${1%/*} list

	[ ! -e "$above/cgroup.subtree_control" ] ||
		echo +cpuset >"$above/cgroup.subtree_control"
	mkdir -p "$1"
	list=$(IFS=,; echo "${*:2}")
	echo "$list" >"$1/cpuset.cpus"
	[ ! -e "$above/cpuset.effective_mems" ] ||
		cat "$above/cpuset.effective_mems" >"$1/cpuset.mems"
}

# In the foreground, so that its pid is known; its output before it opens its log,
# and its exit status, go to a file of its own.
start_daemon() { # PLACE
	local d log pid=$RUNDIR/pid/$1.daemon joins=
	rm -f "$pid"
	d=$(daemon_of "$1")
	if [ "$d" = slurmd ]; then
		[ -z "$OWN_CPUS" ] || joins=$RUNDIR/cpuset/netprof-$NAME/$1
		joins="$joins $(node_cgroups "$1" | xargs)"
	fi
	log=$RUNDIR/log/$(log_of "$1")
	: >>"$log.log"
	[ "$d" = slurmd ] || chown slurm: "$log.log"
	mkdir -p "$RUNDIR/spool/$1"
	# shellcheck disable=SC2016
	in_place "$1" bash -c 'ulimit -c 0 # it would be left in /
		for c in $5; do echo 0 >"$c/cgroup.procs"; done # joins it
		{ setsid "$1" -D $4 &
			echo $! >"$3.new"
			mv "$3.new" "$3"
			wait $! || echo "exit code $?"; } </dev/null >"$2.out" 2>&1 &
		until [ -e "$3" ]; do sleep 0.01; done' - "$d" "$log" "$pid" \
		"$([ "$d" = slurmdbd ] || echo "-L $log.log")" "$joins"
}

# PLACE: report the unexpected end of its daemon with the last lines of its output.
last_words() {
	local log
	log=$RUNDIR/log/$(log_of "$1")
	echo "$1: $(daemon_of "$1") has ended: $(tail -n 4 "$log.out" | xargs -d "\n")"
	tail -n 8 "$log.log"
}

# The pid was recorded inside the place and means something only there.
signal_daemon() { # PLACE SIGNAL
	in_place "$1" kill "-$2" "$(cat "$RUNDIR/pid/$1.daemon")" 2>/dev/null
}

stop_daemon() { # PLACE SIGNAL
	signal_daemon "$1" "$2" || return 0
	wait_until daemon_dead "$1" || die "$(daemon_of "$1") on $1 does not end"
}

# A process that has ended but for threads that wait for a lost file server is a zombie
# with these threads.
daemon_dead() {
	# shellcheck disable=SC2016
	! signal_daemon "$1" 0 || in_place "$1" sh -c '
		grep -q "^State:.Z" "/proc/$1/status" &&
			! grep -h "^State:" "/proc/$1"/task/*/status |
				grep -qv "^State:.[DZ]"' \
		- "$(cat "$RUNDIR/pid/$1.daemon")" 2>/dev/null
}

ctl_answers() {
	in_place ctl timeout 20 scontrol ping 2>/dev/null | grep -q ' UP$\|is UP'
}

dbd_answers() {
	in_place dbd timeout 20 sacctmgr -n show cluster >/dev/null 2>&1
}

# When the slurmd started that registered last.
registration() { # NODE
	in_place ctl timeout 20 scontrol -o show node "$1" 2>/dev/null |
		grep -o 'SlurmdStartTime=[^ ]*'
}

# slurmctld takes a node for ready that was lost a moment ago, until its slurmd registers.
has_registered() { # NODE BEFORE: another one than then
	local now
	now=$(registration "$1") && [ "$now" != "$2" ] && [ "${now#*=}" != None ]
}

nodes_ready() { # NODE...: all of them, no matter how busy
	local bad
	bad=$(in_place ctl timeout 20 sinfo -h -N -n "$(IFS=,; echo "$*")" -o '%T') || return 1
	[ -n "$bad" ] && ! grep -qE 'unknown|down|\*|drain' <<<"$bad"
}
