#!/usr/bin/env bash
# The first process of a place (a node or a controller). Killing it is like
# pulling the plug: all processes of the place and its network disappear.
set -eu
RUNDIR=$1
place=$2
cd /

hostname "$place"
# mpi/pmix and Open MPI keep session directories whose names would be the
# same on every node.
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t sysfs sysfs /sys
if [ -d "$RUNDIR/cgroup" ]; then
	mount -t tmpfs tmpfs /sys/fs/cgroup
	for c in "$RUNDIR"/cgroup/*; do
		mkdir "/sys/fs/cgroup/${c##*/}"
		mount --bind "$c/netprof-${RUNDIR##*/}" "/sys/fs/cgroup/${c##*/}"
	done
fi
: >"$RUNDIR/pid/$place.ready"

# Orphans vanish when they end, because reaping each would cost processor time
# that all nodes share.
exec perl -e '$SIG{CHLD} = "IGNORE"; sleep while 1'
