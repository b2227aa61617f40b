#!/usr/bin/env bash
# The first process of a cluster: sets up its view of the machine, then waits.
# As PID 1 it also reaps orphans, which bash does by itself.
set -eu
RUNDIR=$1
. "$RUNDIR/lib/common.sh"
. "$RUNDIR/lib/metrics.sh"
cd /

users() {
	{
		grep -vE '^(alice|bob):' /etc/passwd
		echo "alice:x:20001:20001:an ordinary user:$RUNDIR/home/alice:/bin/bash"
		echo "bob:x:20002:20002:another one:$RUNDIR/home/bob:/bin/bash"
	} >"$RUNDIR/etc/passwd"
	{
		grep -vE '^(alice|bob):' /etc/group
		echo alice:x:20001:
		echo bob:x:20002:
	} >"$RUNDIR/etc/group"
	install -d -o 20001 -g 20001 "$RUNDIR/home/alice"
	install -d -o 20002 -g 20002 "$RUNDIR/home/bob"
}

users
: >"$RUNDIR/etc/hosts"
for f in passwd group hosts; do
	mount --bind "$RUNDIR/etc/$f" "/etc/$f"
done
mount --bind "$RUNDIR/etc/slurm" /etc/slurm
# Hide the sockets of the machine's own services; named network namespaces
# (ip netns) are here too.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/munge /run/lock
# slurmd names its cgroups after the nodes, whose names are the same in all clusters.
for c in "$RUNDIR"/cgroup/*; do
	[ -d "$c" ] || continue
	mount -t cgroup -o "${c##*/}" "${c##*/}" "$c"
	mkdir -p "$c/netprof-${RUNDIR##*/}"
done
[ ! -d "$RUNDIR/cpuset" ] || mount_cpuset
[ ! -d "$RUNDIR/pressure" ] || mount_node_cgroups
# sysfs shows the network namespace that it was mounted in.
mount -t sysfs sysfs /sys
hostname "${RUNDIR##*/}"
# A processor that sleeps when it is idle answers a short message later than one that
# has work, so programs would seem to speed up messages on other leaf switches. Sites
# that care switch this off (tuned-adm profile network-latency), as the kernel does
# while this file is open.
if [ -d "$RUNDIR/cpuset" ] && [ -w /dev/cpu_dma_latency ]; then
	exec 8>/dev/cpu_dma_latency
	printf '\0\0\0\0' >&8
fi
: >"$RUNDIR/host.ready"

# The sleep only gives the shell something to wait for.
while :; do
	sleep 3600 &
	wait $! || :
done
