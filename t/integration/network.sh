# The shaped network: what it promises, measured with plain TCP streams.
# Two streams of 20 Mbit/s do not fit through a leaf of 30; leaf 2 is
# non-blocking.
# shellcheck shell=bash

SUITE_CLUSTER=(--leaves 3 --nodes-per-leaf 4 --leaf-mbit 30 --uplink-mbit 10
	--nonblocking-leaf)
RATE=$ROOT/t/integration/rate.pl

addr() { # NODE
	inside --on "$1" ip -4 -o addr show dev eth0 | awk '{ sub("/.*", "", $4); print $4 }'
}

# Mbit/s of each stream while all of them run.
rates() { # FROM TO [FROM TO...]
	local i=0 p pids=()
	while [ $# -gt 0 ]; do
		inside --on "$2" perl - sink 5001 1.5 <"$RATE" >"$TMPDIR/rate.$i" &
		pids+=($!)
		inside --on "$1" perl - send "$(addr "$2")" 5001 <"$RATE" &
		pids+=($!)
		i=$((i + 1))
		shift 2
	done
	for p in "${pids[@]}"; do
		wait "$p" || fail "a stream ended early"
	done
	cat "$TMPDIR"/rate.*
}

# What streams can carry they carry in one of some measurements, as a machine
# that stands still only takes away; more than they may they never carry.
carry() { # each|sum LOW HIGH FROM TO [FROM TO...]
	local how=$1 low=$2 high=$3 r
	shift 3
	for _ in 1 2 3 4 5; do
		mapfile -t r < <(rates "$@" | "$how")
		[ "$how" = sum ] || equal "number of streams" "${#r[@]}" $(($# / 2))
		between "most, Mbit/s" "${r[-1]}" 0 "$high"
		! awk "BEGIN { exit !(${r[0]} >= $low) }" || return 0
	done
	fail "five times least ${r[0]} Mbit/s, expected $low to $high"
}
each() { sort -n; }
sum() { awk '{ s += $1 } END { print s }'; }

# 1448 of 1514 bytes are the stream's: 19.1 of 20 Mbit/s, 14.3 of 15.
test_a_link_carries_its_rate_and_no_more() {
	carry each 17.5 19.6 n0 n1
}

test_streams_between_disjoint_nodes_share_their_leaf() {
	carry each 8 17 n0 n1 n2 n3
	carry sum 25 29 n0 n1 n2 n3
}

test_streams_on_two_leaves_share_nothing() {
	carry each 17.5 19.6 n0 n1 n4 n5
}

test_streams_on_the_non_blocking_leaf_share_nothing() {
	carry each 17.5 19.6 n8 n9 n10 n11
}

test_uplinks_have_their_own_rate() {
	carry each 8.5 9.8 n0 n4
}

test_the_management_network_is_not_shaped() {
	local r
	inside --on n1 perl - sink 5001 0.5 <"$RATE" >"$TMPDIR/rate.0" &
	inside --on n0 perl - send n1 5001 <"$RATE"
	wait $!
	r=$(cat "$TMPDIR/rate.0")
	between "management, Mbit/s" "$r" 100 1000000
}

# Seconds of LAMMPS' main loop on the first nodes, while it runs on the second.
loop_sec() { # NODES NODES
	local pid
	lammps "$2" >/dev/null &
	pid=$!
	lammps "$1" | awk '/^Loop time of/ { print $4 }'
	wait "$pid" || fail "LAMMPS on $2 failed"
}

lammps() { # NODES
	inside srun -N2 -n2 -w "$1" --mpi=pmix lmp -in melt.in -log none
}

# The same two cores do all the work in both cases: only the switch differs.
test_programs_slow_each_other_on_one_leaf_and_not_on_two() {
	local one two
	needs_pmix
	sed 's/^run.*/run 15/' /usr/share/lammps/examples/melt/in.melt |
		inside tee melt.in >/dev/null
	one=$(loop_sec n0,n1 n2,n3)
	two=$(loop_sec n0,n1 n4,n5)
	between "one leaf over two ($one s, $two s)" \
		"$(awk "BEGIN { print $one / $two }")" 1.4 4
}
