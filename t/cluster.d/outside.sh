# The half of t/cluster that runs on the machine: it starts one process in
# namespaces of its own, the host of the cluster, and from then on works inside
# those.  All that a cluster is (processes, mounts, network) hangs on that one
# process: when it dies, by `down` or by kill -9, the kernel removes the rest,
# and nothing of the machine was ever changed but the files in RUNDIR.
# shellcheck shell=bash

# Starting one cluster and removing another of the same name exclude each
# other.  A directory that always exists leaves no lock file behind.
lock() {
	exec 9<"${BASE%/*}"
	flock -w 60 9 || die "another t/cluster holds ${BASE%/*} for 60 s"
}

unlock() {
	exec 9<&-
}

# Field 22 of stat, the name before it may hold spaces; fails when the process
# is dead, also when nobody has collected it yet.
start_time() { # PID
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	[ "$1" != Z ] && echo "${20}"
}

# The recorded process, unless its number now belongs to somebody else.
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

# PID 1 inside; its parent is the unshare that we recorded.
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

# The first process of a place, by the machine's numbers: the one child of a child
# of the host whose last argument is the place.  Sets pid.
find_place() { # PLACE
	local host child children args
	host=$(host_init_pid) || die "$NAME: its first process is gone"
	read -r -a children <"/proc/$host/task/$host/children" || :
	for child in "${children[@]}"; do
		mapfile -d '' args 2>/dev/null <"/proc/$child/cmdline" || continue
		[ "${args[-1]-}" = "$1" ] || continue
		read -r pid _ 2>/dev/null <"/proc/$child/task/$child/children" || :
		[ -z "$pid" ] || return 0
	done
	load_settings
	is_place "$1" || die "no place $1; there are: $(places | tr '\n' ' ')"
	die "$1 is down"
}

# Tests look at what happens by this, some thousand times: it starts nothing but
# what it has to.
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

# Processes of a cluster that died a moment ago may still write.
remove_rundir() {
	wait_until 10 rm -rf --one-file-system "$RUNDIR" || die "cannot remove $RUNDIR"
	rmdir "$BASE" 2>/dev/null || :
}

# What Slurm needs of cgroup v1, which can be had beside v2.
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

# Slurm leaves the cgroups of its nodes.
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
	wait_until 10 test -e "$RUNDIR/host.ready" ||
		die "the host does not start: $(cat "$RUNDIR/log/host.log")"
}

stop_host() {
	local pid init start
	host_alive || return 0
	read -r pid start <"$RUNDIR/host.pid"
	# The first process takes all others with it, and its parent waits for
	# that; without it (a crash just now) the parent goes by itself.
	if init=$(host_init_pid); then
		kill -9 "$init" 2>/dev/null || :
	fi
	wait_until 10 host_dead || die "process $pid of $NAME does not end"
}

# Built when `make` did not yet, and without what a surrounding make was told,
# as another compiler would have all of build/ made anew.
find_programs() {
	QUIET_POLL=$HERE/../build/quiet_poll.so LATE=$HERE/../build/late
	[[ $QUIET_POLL -nt $HERE/cluster.d/quiet_poll.c && $LATE -nt $HERE/cluster.d/late.c ]] ||
		env -u MAKEFLAGS -u MFLAGS -u CC -u CFLAGS -u BUILD -u SANITIZE \
			make -s -C "$HERE/.." build/quiet_poll.so build/late >&2 ||
		die "cannot build quiet_poll.so and late"
}

# Files that the caller names may be out of reach inside (a private /tmp, a
# home directory that others cannot enter): they are copied or bound.
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
	# From here on, whatever ends this shell early takes the cluster along.
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
