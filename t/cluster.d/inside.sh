#!/usr/bin/env bash
# The half of t/cluster that runs inside, where only processes of the cluster are
# visible.
#
#	inside.sh RUNDIR COMMAND ARGS...
set -eu
RUNDIR=$1
shift
LIB=$RUNDIR/lib
. "$LIB/common.sh"
. "$LIB/net.sh"
. "$LIB/slurm.sh"
. "$LIB/metrics.sh"
load_settings

in_place() { # PLACE CMD...
	nsenter -t "$(place_pid "$1")" --mount --net --pid --ipc --uts -- "${@:2}"
}

start_place() { # PLACE
	local pid
	rm -f "$RUNDIR/pid/$1.ready"
	setsid unshare --mount --net --pid --ipc --uts --fork --kill-child \
		--mount-proc --propagation private \
		bash "$LIB/place_init.sh" "$RUNDIR" "$1" \
		</dev/null >>"$RUNDIR/log/place.$1.log" 2>&1 &
	pid=$!
	disown
	wait_until test -e "$RUNDIR/pid/$1.ready" || die "$1 does not start"
	child_of "$pid" >"$RUNDIR/pid/$1"
}

place_alive() {
	[ -e "$RUNDIR/pid/$1" ] && kill -0 "$(place_pid "$1")" 2>/dev/null
}

place_dead() { ! place_alive "$1"; }

is_unplugged() { [ ! -e "/sys/class/net/m-$1" ]; }

need_place() {
	is_place "$1" || die "no place $1; there are: $(places | tr '\n' ' ')"
	place_alive "$1" || die "$1 is down"
}

# The transport of Open MPI. With its own TCP transport, programs of 5.0 crash in
# MPI_Init() when a message arrives before its communicator exists: 7 of 20 on a busy
# machine, and none of 16 with UCX. Without a home directory it only prints an error.
pml() {
	case $(HOME=/ mpirun --version 2>/dev/null | head -n 1) in
	*" 5."*) echo ucx ;;
	*) echo ob1 ;;
	esac
}

# Run FUNCTION for every place, in parallel.
at_places() {
	local p n=0 most
	most=$(nproc)
	for p in $(places); do
		((n < most)) || { wait -n || exit 1; ((n -= 1)); }
		"$1" "$p" &
		((n += 1))
	done
	for (( ; n > 0; n--)); do
		wait -n || exit 1
	done
}

start_and_plug_in() {
	start_place "$1"
	plug_in "$1"
}

start_first_daemon() {
	case $1 in
	dbd | standby) ;;
	*) start_daemon "$1" ;;
	esac
}

cmd_up() {
	local u
	make_switches
	make_cpusets
	make_node_cgroups
	write_config
	pml >"$RUNDIR/pml"
	for u in alice bob slurm root; do
		environment $u >"$RUNDIR/env.$u"
	done
	start_munged
	at_places start_and_plug_in
	add_all_routes
	[ -z "$ACCOUNTING" ] || start_and_wait dbd
	at_places start_first_daemon
	wait_until ctl_answers || die "slurmctld does not answer"
	# A standby that starts at the same time waits for the first one's heartbeat,
	# and since Slurm 24.11 the first one waits for an answer of the standby.
	[ -z "$STANDBY" ] || start_daemon standby
	wait_until nodes_ready "$(node_range)" || die "not all nodes registered"
}

# Variables that make MPI programs use the shaped network and wait in the
# kernel instead of spinning. Open MPI would bind every node's first rank to
# the same core, because the nodes do not know of each other; and with its put
# protocol over TCP two ranks that exchange big messages get 19 or 10 Mbit/s
# each way by chance, because its requests queue behind its own data. A rank of 4.1
# that does not know of one of its connections polls for messages only every 10 ms
# (3 of 10 runs of NetPIPE), unless it is set to poll each time. A program
# built with a sanitizer would refuse to run with quiet_poll.so.
environment() { # USER
	local uid gid home
	account "$1"
	cat <<-END
		PATH=$RUNDIR/build:$(program_path)
		HOME=$home
		USER=$1
		LOGNAME=$1
		SHELL=/bin/bash
		LANG=C.UTF-8
		NETPROF_CLUSTER=$NAME
		CLUSTER_SHARED=$RUNDIR/shared
		SLURM_CONF=/etc/slurm/slurm.conf
		OMPI_MCA_pml=$(<"$RUNDIR/pml")
		OMPI_MCA_opal_common_ucx_tls=any
		OMPI_MCA_opal_common_ucx_devices=any
		OMPI_MCA_btl=tcp,self
		OMPI_MCA_btl_tcp_if_include=eth0
		OMPI_MCA_btl_tcp_flags=send,inplace
		OMPI_MCA_mpi_event_tick_rate=1
		OMPI_MCA_oob_tcp_if_include=mgmt
		OMPI_MCA_hwloc_base_binding_policy=none
		UCX_TLS=tcp,self
		UCX_NET_DEVICES=eth0
		NETPROF_TRANSPORT=$TRANSPORT
		ASAN_OPTIONS=verify_asan_link_order=0
	END
}

cmd_env() { # [USER]
	local v
	{
		environment "${1:-alice}"
		echo "TERM=${TERM-dumb}"
		echo "LD_PRELOAD=$LIB/quiet_poll.so"
	} | while IFS= read -r v; do
		echo "export ${v%%=*}=${v#*=}"
	done
}

cmd_status() {
	local p
	echo "$NAME: $LEAVES leaves of $NODES_PER_LEAF nodes; leaf $LEAF_MBIT," \
		"NIC $NIC_MBIT, uplink $UPLINK_MBIT Mbit/s;" \
		"non-blocking leaf: ${NONBLOCKING:-none}"
	for p in $(places); do
		if place_dead "$p"; then
			echo "$p down"
		elif daemon_dead "$p"; then
			echo "$p up, no $(daemon_of "$p")"
		else
			echo "$p up, $(daemon_of "$p") $(cat "$RUNDIR/pid/$p.daemon")"
		fi
	done
	place_dead ctl || in_place ctl timeout 10 sinfo || :
}

# With a delay of 0 packets still pass through the delay line, as a reference for
# other delays.
cmd_delay() { # NODE|all MICROSECONDS|off
	local p
	for p in $(places); do
		case $p in n*) ;; *) continue ;; esac
		[ "$1" = all ] || [ "$1" = "$p" ] || continue
		need_place "$p"
		delay_off "$p"
		[ "$2" = off ] || delay_on "$p" "$2"
	done
	[ "$1" = all ] || case $1 in
		n*) is_place "$1" ;;
		*) false ;;
	esac || die "no node $1"
}

delay_on() { # NODE MICROSECONDS
	in_place_net "$1" make_late
	in_place "$1" setsid "$LIB/late" late "$2" </dev/null >>"$RUNDIR/log/late.$1.log" 2>&1 &
	disown
	wait_until late_has_device "$1" || die "no delay on $1: $(tail -n 1 "$RUNDIR/log/late.$1.log")"
	in_place_net "$1" redirect_to_late
}

delay_off() { # NODE
	in_place_net "$1" remove_late
}

# A program that runs may have yet to open the device, or may be the one of an earlier delay.
late_has_device() { # NODE
	[ "$(in_place "$1" cat /sys/class/net/late/carrier 2>/dev/null)" = 1 ]
}

cmd_traffic() { # LEAF
	[ -n "$1" ] && is_blocking "$1" || die "leaf '$1' has no shared fabric"
	ip netns exec "leaf$1" cat /sys/class/net/fab/statistics/tx_bytes
}

cmd_kill_node() { # PLACE
	need_place "$1"
	kill -9 "$(place_pid "$1")"
	wait_until place_dead "$1" || die "$1 does not die"
	# The kernel removes a network some time after its last process has ended.
	wait_until is_unplugged "$1" || die "$1 is still plugged in"
	rm -f "$RUNDIR/pid/$1"
}

cmd_start_node() { # PLACE
	is_place "$1" || die "no place $1"
	! place_alive "$1" || die "$1 is up"
	start_and_plug_in "$1"
	add_all_routes
	start_and_wait "$1"
}

start_and_wait() { # PLACE
	local before=
	[ "$1" != dbd ] || in_place dbd pgrep -x mariadbd >/dev/null || start_database
	[[ $1 != n* ]] || before=$(registration "$1") || :
	start_daemon "$1"
	case $1 in
	n*)	wait_until has_registered "$1" "$before" && wait_until nodes_ready "$1" ||
			die "$1 does not register" ;;
	dbd) wait_until dbd_answers || die "slurmdbd does not answer" ;;
	*) wait_until ctl_answers || die "slurmctld does not answer" ;;
	esac
}

# After a failed test: print why the cluster may be to blame, and repair it for the
# next test.
cmd_revive() {
	local p
	for p in $(places); do
		place_alive "$p" && daemon_dead "$p" || continue
		last_words "$p"
		start_daemon "$p"
	done
	wait_until ctl_answers || die "slurmctld does not answer"
	in_place ctl sinfo -h -N -t down,drain,comp,unk,no_respond -o 'node %N: %T %E'
	in_place ctl squeue -h -o 'job %i %j: %T %N %r'
	for p in $(in_place ctl sinfo -h -N -t comp -o %N | sort -u); do
		show_steps "$p"
	done
}

# Processes of a node that does not complete, their age, and where they wait.
show_steps() { # PLACE
	in_place "$1" ps -eo etimes,wchan:20,args --no-headers |
		grep -v ' ps -eo ' | sed "s/^/$1: /" || :
}

# Replace the programs in place, as an upgrade by packages does.
cmd_upgrade() { # PLACE SLURM BUILD
	need_place "$1"
	[ -n "$SLURM_PREFIX" ] || die "up without a SLURM_PREFIX"
	stop_daemon "$1" TERM
	in_place "$1" mount --bind "$2" "$SLURM_PREFIX"
	in_place "$1" mount --bind "$3" "$RUNDIR/build"
	start_and_wait "$1"
}

cmd_restart_ctl() { # SIGNAL
	need_place ctl
	stop_daemon ctl "$1"
	start_and_wait ctl
}

command=$1
shift
case $command in
call) "$@" ;;
*) "cmd_${command//-/_}" "$@" ;;
esac
