# The half of t/cluster that runs on the machine. It starts one process in
# namespaces of its own, the host of the cluster, and from then on works inside
# these. The whole cluster (processes, mounts, network) depends on that one
# process: when it dies, by `down` or by kill -9, the kernel removes the rest.
# On the machine only the files in RUNDIR are ever changed.
# shellcheck shell=bash

# Starting a cluster and removing another of the same name exclude each
# other. The lock is on a directory that always exists, so that no lock file is left.
lock() {
	exec 9<"${BASE%/*}"
	flock -w 300 9 || die "another t/cluster holds ${BASE%/*} for 300 s"
}

unlock() {
	exec 9<&-
}

# Field 22 of stat; the name before it may contain spaces. Fails if the process
# is dead, even if it has not been reaped yet.
start_time() { # PID
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	[ "$1" != Z ] && echo "${20}"
}

# The recorded process, unless its number now belongs to another process.
host_alive() {
	local pid start
	[ -f "$RUNDIR/host.pid" ] || return 1
	read -r pid start <"$RUNDIR/host.pid" || return 1
	[ "$(start_time "$pid")" = "$start" ]
}

host_dead() {
	! host_alive
}

need_up() {
	host_alive || die "$NAME is not up"
}

# PID 1 inside; its parent is the recorded unshare.
host_init_pid() {
	local pid rest
	read -r pid rest <"$RUNDIR/host.pid"
	child_of "$pid"
}

enter() { # CMD...: in the host of the cluster
	local pid
	pid=$(host_init_pid) || die "$NAME: its first process is gone"
	exec nsenter -t "$pid" --mount --net --pid --ipc --uts -- \
		env -i PATH="$(program_path)" \
		LANG=C.UTF-8 TERM="${TERM-dumb}" \
		bash "$RUNDIR/lib/inside.sh" "$RUNDIR" "$@"
}

# Sets pid to the first process of a place, in the machine's numbering: the only child
# of a child of the host whose last argument is the place.
find_place() { # PLACE
	local host child children args
	host=$(host_init_pid) || die "$NAME: its first process is gone"
	read -r -a children <"/proc/$host/task/$host/children" || :
	for child in "${children[@]}"; do
		mapfile -d '' args 2>/dev/null <"/proc/$child/cmdline" || continue
		# a process that has just ended has no arguments
		[ "${#args[@]}" -gt 0 ] && [ "${args[-1]}" = "$1" ] || continue
		read -r pid _ 2>/dev/null <"/proc/$child/task/$child/children" || :
		[ -z "$pid" ] || return 0
	done
	load_settings
	is_place "$1" || die "no place $1; there are: $(places | tr '\n' ' ')"
	die "$1 is down"
}

# Tests call this some thousand times, so it starts as few processes as possible.
cmd_run() { # PLACE USER PRELOAD CMD...
	local pid='' uid gid home env
	account "$2"
	find_place "$1"
	[ -r "$RUNDIR/env.$2" ] || die "no environment for user $2"
	mapfile -t env <"$RUNDIR/env.$2"
	env+=("TERM=${TERM-dumb}")
	[ -z "$3" ] || env+=("LD_PRELOAD=$RUNDIR/lib/quiet_poll.so")
	[ -d "/proc/$pid/root$home" ] || home=/
	exec nsenter -t "$pid" --mount --net --pid --ipc --uts -- \
		setpriv --reuid="$uid" --regid="$gid" --init-groups \
		env -i -C "$home" "${env[@]}" "${@:4}"
}

make_rundir() {
	mkdir -p "$BASE"
	if [ ! -O "$BASE" ] || [ -L "$BASE" ]; then
		die "$BASE: not a directory of root"
	fi
	chmod 755 "$BASE"
	mkdir -m 755 "$RUNDIR"
	mkdir "$RUNDIR"/{lib,build,log,pid,etc,etc/slurm,etc/slurm/plugstack.conf.d}
	mkdir "$RUNDIR"/{home,spool,munge}
	mkdir -m 1777 "$RUNDIR/shared"
	cp "$HERE"/cluster.d/*.sh "$HERE"/cluster.d/*.py "$QUIET_POLL" "$LATE" "$RUNDIR/lib/"
	chmod 755 "$RUNDIR/lib/quiet_poll.so" "$RUNDIR/lib/late"
}

# Processes of a cluster that has just died may still be writing.
remove_rundir() {
	wait_until rm -rf --one-file-system "$RUNDIR" || die "cannot remove $RUNDIR"
	rmdir "$BASE" 2>/dev/null || :
}

# The controllers of cgroup v1 that Slurm needs, which can coexist with v2.
# CMD...: with the machine's hierarchies in $RUNDIR/cgroup
with_cgroups() {
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --propagation private sh -ec '
		for c in "$0"/cgroup/*; do
			mount -t cgroup -o "${c##*/}" "${c##*/}" "$c"
		done
		"$@"' "$RUNDIR" "$@" 2>/dev/null
}

# CMD...: with the machine's cpusets in $RUNDIR/cpuset
with_cpusets() {
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --propagation private bash -ec '
		. "$0"
		RUNDIR=$1
		mount_cpuset
		"${@:2}"' "$HERE/cluster.d/common.sh" "$RUNDIR" "$@" 2>/dev/null
}

# CMD...: with the machine's cgroups of --node-cgroups
with_node_cgroups() {
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --propagation private bash -ec '
		. "$0"
		RUNDIR=$1
		mount_node_cgroups
		"${@:2}"' "$HERE/cluster.d/metrics.sh" "$RUNDIR" "$@" 2>/dev/null
}

make_cgroups() {
	[ -z "$OWN_CPUS" ] || {
		mkdir "$RUNDIR/cpuset"
		with_cpusets true || die "--own-cpus: no cpuset of cgroup v2 or v1"
	}
	[ -z "$NODE_CGROUPS" ] || {
		mkdir -p "$RUNDIR"/{pressure,limits/{cpu,blkio}}
		with_node_cgroups true ||
			die "--node-cgroups: no cgroup v2 beside cpu and blkio of v1"
	}
	[ -n "$CGROUP" ] || return 0
	mkdir -p "$RUNDIR"/cgroup/{freezer,memory,cpuacct}
	with_cgroups true || die "--cgroup: no freezer, memory or cpuacct of cgroup v1"
}

# Slurm does not remove the cgroups of its nodes.
remove_cgroups() {
	[ ! -d "$RUNDIR/cpuset" ] ||
		with_cpusets find "$RUNDIR/cpuset/netprof-$NAME" -depth -type d \
			-exec rmdir {} + || :
	[ ! -d "$RUNDIR/pressure" ] ||
		with_node_cgroups find "$RUNDIR"/{pressure,limits/*}/"netprof-$NAME" \
			-depth -type d -exec rmdir {} + || :
	[ ! -d "$RUNDIR/cgroup" ] ||
		with_cgroups find "$RUNDIR"/cgroup/*/"netprof-$NAME" -depth -type d \
			-exec rmdir {} + || :
}

start_host() {
	local pid
	setsid unshare --mount --net --pid --ipc --uts --fork --kill-child \
		--mount-proc --propagation private \
		bash "$RUNDIR/lib/host_init.sh" "$RUNDIR" \
		</dev/null >"$RUNDIR/log/host.log" 2>&1 9<&- &
	pid=$!
	disown
	echo "$pid $(start_time "$pid")" >"$RUNDIR/host.pid"
	wait_until test -e "$RUNDIR/host.ready" ||
		die "the host does not start: $(cat "$RUNDIR/log/host.log")"
}

stop_host() {
	local pid init start
	host_alive || return 0
	read -r pid start <"$RUNDIR/host.pid"
	# All processes die with the first one, and its parent waits for
	# that; without it (after a crash) the parent ends by itself.
	if init=$(host_init_pid); then
		kill -9 "$init" 2>/dev/null || :
	fi
	wait_until host_dead || die "process $pid of $NAME does not end"
}

# Build the helpers if `make` has not, without the settings of a surrounding make,
# because another compiler would rebuild all of build/.
find_programs() {
	QUIET_POLL=$HERE/../build/quiet_poll.so LATE=$HERE/../build/late
	[[ $QUIET_POLL -nt $HERE/cluster.d/quiet_poll.c && $LATE -nt $HERE/cluster.d/late.c ]] ||
		env -u MAKEFLAGS -u MFLAGS -u CC -u CFLAGS -u BUILD -u SANITIZE \
			make -s -C "$HERE/.." build/quiet_poll.so build/late >&2 ||
		die "cannot build quiet_poll.so and late"
}

# Files that the caller names may be inaccessible inside (a private /tmp, a
# home directory that others cannot enter), so they are copied or bind-mounted.
take_files() {
	local f
	[ -z "$NETPROF_CONF_EXTRA" ] ||
		cp "$NETPROF_CONF_EXTRA" "$RUNDIR/etc/netprof.conf.extra"
	[ -z "$SLURM_CONF_EXTRA" ] ||
		cp "$SLURM_CONF_EXTRA" "$RUNDIR/etc/slurm.conf.extra"
	for f in "${PLUGSTACK[@]}"; do
		if [ -d "$f" ]; then
			cp "$f"/*.conf "$RUNDIR/etc/slurm/plugstack.conf.d/"
		else
			cp "$f" "$RUNDIR/etc/slurm/plugstack.conf.d/$(basename "$f" .conf).conf"
		fi
	done
}

up_failed() {
	local rc=$?
	trap - EXIT
	[ "$rc" = 0 ] || {
		echo "cluster: $NAME did not come up; its last words:" >&2
		tail -n 5 "$RUNDIR"/log/* >&2 || :
	}
	stop_host
	remove_cgroups
	remove_rundir
	exit "$rc"
}

cmd_up() {
	[ "$(id -u)" = 0 ] || die "namespaces need root"
	find_programs
	lock
	host_dead || die "$NAME is already up"
	remove_rundir
	# From here on, the cluster is removed if this shell ends early.
	trap up_failed EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	make_rundir
	make_cgroups
	save_settings
	take_files
	start_host
	unlock
	[ -z "$NETPROF" ] ||
		(nsenter -t "$(host_init_pid)" --mount -- \
			mount --bind "$NETPROF" "$RUNDIR/build")
	(enter up)
	trap - EXIT INT TERM
}

cmd_down() {
	[ -e "$RUNDIR" ] || return 0 # nothing to end
	[ "$(id -u)" = 0 ] || die "only root can end it"
	lock
	stop_host
	remove_cgroups
	remove_rundir
	unlock
}

cmd_log() {
	need_up
	local there
	there=$(find "$RUNDIR/log" -name '*.log' -printf '%f\n' | sed 's/\.log$//' | sort)
	[ $# -gt 0 ] || { echo "$there"; return; }
	grep -qxF -- "$1" <<<"$there" || die "no log of $1; there are: ${there//$'\n'/ }"
	cat "$RUNDIR/log/$1.log"
}
