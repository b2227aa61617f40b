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
		inside --on "$2" perl - sink 5001 1.2 <"$RATE" >"$TMPDIR/rate.$i" &
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

each_between() { # WHAT LOW HIGH RATES...
	local what=$1 lo=$2 hi=$3 r
	shift 3
	for r in "$@"; do
		between "$what, Mbit/s" "$r" "$lo" "$hi"
	done
}

# 1448 of 1514 bytes are the stream's: 19.1 of 20 Mbit/s, 14.3 of 15.
test_a_link_carries_its_rate_and_no_more() {
	# shellcheck disable=SC2046
	each_between "one stream" 17.5 19.6 $(rates n0 n1)
}

test_streams_between_disjoint_nodes_share_their_leaf() {
	local r
	mapfile -t r < <(rates n0 n1 n2 n3)
	equal "number of streams" "${#r[@]}" 2
	each_between "two on a leaf of 30" 8 17 "${r[@]}"
	between "their sum, Mbit/s" "$(awk "BEGIN { print ${r[0]} + ${r[1]} }")" 25 29
}

test_streams_on_two_leaves_share_nothing() {
	# shellcheck disable=SC2046
	each_between "one on each of two leaves" 17.5 19.6 $(rates n0 n1 n4 n5)
}

test_streams_on_the_non_blocking_leaf_share_nothing() {
	# shellcheck disable=SC2046
	each_between "two on the non-blocking leaf" 17.5 19.6 $(rates n8 n9 n10 n11)
}

test_uplinks_have_their_own_rate() {
	# shellcheck disable=SC2046
	each_between "across an uplink of 10" 8.5 9.8 $(rates n0 n4)
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
	sed 's/^run.*/run 15/' /usr/share/lammps/examples/melt/in.melt |
		inside tee melt.in >/dev/null
	one=$(loop_sec n0,n1 n2,n3)
	two=$(loop_sec n0,n1 n4,n5)
	between "one leaf over two ($one s, $two s)" \
		"$(awk "BEGIN { print $one / $two }")" 1.4 4
}
