# Clusters leave no trace when they are removed, and do not see each other.
# shellcheck shell=bash
PARALLEL=60

# Every process in the cluster's namespaces; only root sees all of them.
processes_in() { # PID-NAMESPACES...
	local ns
	wait_for list_pid_namespaces NS,PID
	for ns in "$@"; do
		awk -v ns="$ns" '$1 == ns' "$TMPDIR/namespaces"
	done
}

# Of lines "NAMESPACE PID" those of processes that started before TICKS. The kernel
# gives the number of a namespace that has gone to the next new one, which may be
# another cluster's.
older_than() { # TICKS
	local ns pid ticks
	while read -r ns pid; do
		ticks=$(start_ticks "$pid") || continue
		((ticks >= $1)) || echo "$ns $pid"
	done
}

start_ticks() { # PID
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20 | grep .
}

# lsns fails if a process ends while it reads /proc.
list_pid_namespaces() { # COLUMNS [OPTION]
	lsns -n -t pid -o "$@" >"$TMPDIR/namespaces" 2>/dev/null
}

# The namespaces of processes of this cluster: its host and its places.
namespaces() {
	local root
	root=$(readlink "/proc/$(host_pid)/ns/pid" | tr -dc 0-9)
	wait_for list_pid_namespaces NS,PNS -T
	awk -v root="$root" '{ gsub(/[^0-9 ]/, "") } $1 == root || $2 == root { print $1 }' \
		"$TMPDIR/namespaces"
}

host_pid() {
	pgrep -P "$(cut -d' ' -f1 "$(rundir)/host.pid")"
}

nothing_is_left() { # NAME
	[ ! -e "$CLUSTER_BASE/$1" ] || fail "$CLUSTER_BASE/$1 is still there"
	! grep -F "$CLUSTER_BASE/$1/" /proc/self/mountinfo || fail "a mount is left"
	! grep -slF "$CLUSTER_BASE/$1/" /proc/[0-9]*/cmdline || fail "a process is left"
	! ip -o link | grep -E ' (m-n[0-9]+|leaf[0-9]+|uplink|fab)[@:]' ||
		fail "a network device is left"
	! ip netns list | grep -E '^(leaf[0-9]+|spine)' ||
		fail "a network namespace is left"
}

test_down_leaves_nothing_behind() {
	local name=$NETPROF_CLUSTER-own ns now
	own_cluster --nodes-per-leaf 2 --standby
	inside sh -c 'sbatch -N4 -o /dev/null --wrap "srun sleep 100"' >/dev/null
	# A process that leaves its session and parent, like a daemon.
	inside --on n0 sh -c 'setsid sleep 101 >/dev/null 2>&1 &'
	ns=$(namespaces)
	between "namespaces of 6 places and a host" "$(wc -w <<<"$ns")" 7 7
	# shellcheck disable=SC2086
	between "processes inside" "$(processes_in $ns | wc -l)" 7 1000
	cluster down
	nothing_is_left "$name"
	now=$(start_ticks self)
	# shellcheck disable=SC2086
	equal "processes left" "$(processes_in $ns | older_than "$now")" ""
	cluster down
}

test_up_after_everything_was_killed() {
	own_cluster --leaves 1 --nodes-per-leaf 2
	kill -9 "$(cut -d' ' -f1 "$(rundir)/host.pid")"
	wait_for is_not_up
	cluster up --leaves 1 --nodes-per-leaf 2
	equal "nodes of the new one" "$(inside srun -N2 "${PRINT_HOST[@]}" | sort | xargs)" "n0 n1"
}

# Delivery of a signal takes some time on a busy machine.
is_not_up() {
	! cluster status >/dev/null 2>&1
}

test_an_interrupted_up_removes_everything() {
	local pid rc=0
	export NETPROF_CLUSTER=$NETPROF_CLUSTER-own
	trap 'cluster down' EXIT
	"$ROOT/t/cluster" up --nodes-per-leaf 8 &
	pid=$!
	wait_for test -e "$(rundir)/host.ready"
	kill -TERM "$pid"
	wait "$pid" || rc=$?
	equal "exit code" "$rc" 143
	nothing_is_left "$NETPROF_CLUSTER"
}

test_two_clusters_run_side_by_side() {
	local main=$NETPROF_CLUSTER out
	own_cluster --leaves 1 --nodes-per-leaf 2
	equal "nodes of the second" "$(inside sinfo -h -N -o %n | wc -l)" 2
	equal "nodes of the first" "$(inside --name "$main" sinfo -h -N -o %n | wc -l)" 8
	inside srun -N2 sleep 2 &
	out=$(inside --name "$main" srun -N2 "${PRINT_HOST[@]}" | sort | xargs)
	equal "job on the first" "$out" "n0 n1"
	wait $!
	wait_for no_jobs # of the first, and no longer of its own
	cluster down
	equal "the first afterwards" "$(inside --name "$main" srun -N2 "${PRINT_HOST[@]}" | wc -l)" 2
}

test_a_standby_controller_takes_over() {
	own_cluster --leaves 1 --nodes-per-leaf 2 --standby
	cluster kill-node ctl
	wait_for standby_answers
	equal "job" "$(inside --on standby srun -N2 "${PRINT_HOST[@]}" | wc -l)" 2
}

standby_answers() {
	INSIDE_SEC=20 inside --on standby sinfo -h -t idle -o %D 2>/dev/null | grep -qx 2
}

test_more_leaves_and_lines_for_slurm_conf() {
	echo 'PriorityType=priority/basic' >"$TMPDIR/extra"
	echo '# a comment' >"$TMPDIR/plug.conf"
	own_cluster --leaves 6 --nodes-per-leaf 4 --slurm-conf-extra "$TMPDIR/extra" \
		--plugstack "$TMPDIR/plug.conf"
	# Not grep -q, with which a program that is still writing would get SIGPIPE.
	inside scontrol show config | grep 'PriorityType *= priority/basic' >/dev/null ||
		fail "the extra lines are not in force"
	equal "nodes" "$(inside srun -N24 "${PRINT_HOST[@]}" | sort -u | wc -l)" 24
	equal "leaves" "$(inside scontrol show topology | grep -c Level=0)" 6
}

sec_of() { # CMD...
	local begin=${EPOCHREALTIME/./}
	"$@" >&2 || return
	awk "BEGIN { print (${EPOCHREALTIME/./} - $begin) / 1e6 }"
}

start_shells() { # NUMBER
	local i
	for ((i = 0; i < $1; i++)); do
		bash -c :
	done
}

# Or as long as 5,000 shells take to start, on a machine that is slower or busy. Up to three
# times, as other suites begin and end in between.
test_up_takes_less_than_10_seconds() {
	local _ sec shells
	export NETPROF_CLUSTER=$NETPROF_CLUSTER-own
	trap 'cluster down' EXIT
	for _ in 1 2 3; do
		cluster down
		shells=$(sec_of start_shells 100)
		sec=$(sec_of cluster up)
		shells="$shells + $(sec_of start_shells 100)"
		! (is_quick) >/dev/null || break
	done
	is_quick
}

is_quick() {
	between "seconds" "$sec" 0 "$(awk "BEGIN {
		s = 25 * ($shells); print (s > 10 ? s : 10) }")"
}
