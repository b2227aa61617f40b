# Functions of both halves of t/cluster; sourced, never run.
# shellcheck shell=bash

die() {
	echo "cluster: $*" >&2
	exit 1
}

usage_error() {
	echo "cluster: $*; see t/cluster help" >&2
	exit 2
}

# wait_until CMD...: poll until CMD succeeds; returns 1 after three minutes, because a
# machine with several clusters may be slow. Pauses need no process: nothing is ever
# written to the descriptor, which is closed again, as daemons would inherit it. It
# changes $!.
wait_until() {
	local end=$((${EPOCHREALTIME/./} + 180000000)) never=
	until "$@"; do
		((${EPOCHREALTIME/./} < end)) || return 1
		[ -n "$never" ] || exec {never}<> <(:)
		read -rt 0.03 -u "$never" || :
	done
	[ -z "$never" ] || exec {never}>&-
}

# Settings of `up`, for later commands on the same cluster.
SETTINGS=(NAME LEAVES NODES_PER_LEAF NONBLOCKING LEAF_MBIT NIC_MBIT
	UPLINK_MBIT RAILS TOPOLOGY CGROUP STANDBY ACCOUNTING OWN_CPUS NODE_CGROUPS NETPROF TRANSPORT MESSAGE_TIMEOUT SLURM_PREFIX)

# The search path; programs of a Slurm installed elsewhere come first.
program_path() {
	echo "${SLURM_PREFIX:+$SLURM_PREFIX/sbin:$SLURM_PREFIX/bin:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

save_settings() {
	declare -p "${SETTINGS[@]}" >"$RUNDIR/settings"
}

# Without "declare", which would make the variables local to this function, and its
# flags, which include -x for variables that the caller exported.
load_settings() {
	local line
	while IFS= read -r line; do
		eval "${line#declare -* }"
	done <"$RUNDIR/settings"
}

node_count() {
	echo $((LEAVES * NODES_PER_LEAF))
}

node_leaf() { # NODE INDEX
	echo $(($1 / NODES_PER_LEAF))
}

# All places that run processes: accounting, the controllers, the nodes.
places() {
	[ -z "$ACCOUNTING" ] || echo dbd
	echo ctl
	[ -z "$STANDBY" ] || echo standby
	local i
	for ((i = 0; i < LEAVES * NODES_PER_LEAF; i++)); do
		echo "n$i"
	done
}

is_place() {
	local i=${1#n}
	case $1 in
	ctl) ;;
	standby) [ -n "$STANDBY" ] ;;
	dbd) [ -n "$ACCOUNTING" ] ;;
	n*) [[ $i =~ ^(0|[1-9][0-9]{0,4})$ ]] && ((i < LEAVES * NODES_PER_LEAF)) ;;
	*) false ;;
	esac
}

# Mount the cgroup hierarchy that binds processes to processors at
# $RUNDIR/cpuset: cgroup v2 if that has the controller, else v1.
mount_cpuset() {
	mount -t cgroup2 none "$RUNDIR/cpuset" 2>/dev/null &&
		if grep -qw cpuset "$RUNDIR/cpuset/cgroup.controllers"; then
			return 0
		else
			umount "$RUNDIR/cpuset"
		fi
	mount -t cgroup -o cpuset cpuset "$RUNDIR/cpuset"
}

# The only child of a waiting process; fails if there is none.
child_of() { # PID
	local child=
	read -r child _ <"/proc/$1/task/$1/children" || : # it is no whole line
	[ -n "$child" ] && echo "$child"
} 2>/dev/null

# Sets uid, gid and home.
account() { # USER
	local name
	while IFS=: read -r name _ uid gid _ home _; do
		[ "$name" != "$1" ] || return 0
	done <"$RUNDIR/etc/passwd"
	die "no user $1"
}
