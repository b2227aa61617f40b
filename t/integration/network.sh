# The properties of the shaped network, measured with plain TCP streams, with
# netprof-sharing, and with programs.
# Two streams of 20 Mbit/s exceed a leaf of 30; leaf 2 is non-blocking.
# shellcheck shell=bash

SUITE_CLUSTER=(--leaves 3 --nodes-per-leaf 4 --leaf-mbit 30 --uplink-mbit 10
	--nonblocking-leaf)
RATE=$ROOT/t/integration/rate.pl

addr() { # NODE
	inside --on "$1" ip -4 -o addr show dev eth0 | awk '{ sub("/.*", "", $4); print $4 }'
}

# Rate of each stream in Mbit/s while all of them run, as rate.pl prints it.
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

# Streams reach their rate in at least one of ten measurements, because pauses of
# the machine only reduce it; they never exceed it, except their share (fair) while
# another one pauses.
carry() { # each|fair|sum LOW HIGH FROM TO [FROM TO...]
	local how=$1 low=$2 high=$3 n least most
	shift 3
	for _ in {1..10}; do
		read -r n least most < <(rates "$@" | "$how")
		equal "number of streams" "$n" $(($# / 2))
		[ "$how" = fair ] || between "most, Mbit/s" "$most" 0 "$high"
		! awk "BEGIN { exit !($least >= $low && $most <= $high) }" || return 0
	done
	fail "ten times $least to $most Mbit/s, expected $low to $high"
}
# The number of streams, the least median and the largest mean.
each() {
	awk '{ n++; if (n == 1 || $1 < least) least = $1; if ($2 > most) most = $2 }
		END { print n, least, most }'
}
fair() { each; }
sum() { awk '{ n++; medians += $1; means += $2 } END { print n, medians, means }'; }

# 1448 of 1514 bytes are payload: 19.1 of 20 Mbit/s, 14.3 of 15.
test_a_link_carries_its_rate_and_no_more() {
	carry each 17.5 19.6 n0 n1
}

test_streams_between_disjoint_nodes_share_their_leaf() {
	carry fair 8 17 n0 n1 n2 n3
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
	local r _
	for _ in 1 2 3; do
		inside --on n1 perl - sink 5001 0.5 <"$RATE" >"$TMPDIR/rate.0" &
		inside --on n0 perl - send n1 5001 <"$RATE"
		wait $!
		read -r r _ <"$TMPDIR/rate.0"
		! (between management "$r" 100 1000000) >/dev/null || return 0
	done
	between "management, Mbit/s, thrice" "$r" 100 1000000
}

# Each node has its own /tmp, which may hide this checkout.
transfers() { # NODES OPTION-OF-SRUN OPTIONS SCHEME
	cp -u "$BUILD/netprof-sharing" "$(shared)"
	inside srun -w "$1" "$2" --mpi=pmix bash "$(rundir)/lib/together.sh" \
		"$(shared)/netprof-sharing" "${@:3}"
}

# The penalties of a scheme from the repetition in which it and its reference took
# the least time, because other programs only add time.
quietest() { # SCHEME <TABLE...
	awk -F'|' -v scheme="$1" '
		function choose() {
			if (n && (!best || sum < best)) { best = sum; row = got }
			n = sum = 0; got = ""
		}
		$1 == "Scheme" { choose() }
		$1 == scheme { n++; sum += $8 + $9; got = got " " $10 }
		END { choose(); print substr(row, 2) }'
}

# SCHEME LOW HIGH: each of its penalties is between these.
penalties() {
	local p got

	got=$(quietest "$1" <"$TMPDIR/table")
	for p in $got; do
		between "$1, penalties $got: each" "$p" "$2" "$3"
	done
	[ -n "$got" ] || fail "no scheme $1: $(cat "$TMPDIR/table")"
}

test_results_that_cannot_be_written_are_an_error() {
	local rc=0
	needs_pmix
	printf '%s\n' 'size 1K' 'scheme one' 'a: n8 -> n9' | inside tee one.scheme >/dev/null
	cp -u "$BUILD/netprof-sharing" "$(shared)"
	inside srun -w 'n[8-9]' --mpi=pmix bash "$(rundir)/lib/together.sh" sh -c \
		"exec $(shared)/netprof-sharing --repeats=2 one.scheme >/dev/full" 2>"$TMPDIR/err" || rc=$?
	[ "$rc" -ne 0 ] || fail "exit status 0"
	grep -q '^netprof-sharing: standard output: No space left on device$' "$TMPDIR/err" ||
		fail "$(cat "$TMPDIR/err")"
}

# Two pairs of nodes share the switch of 30 Mbit/s, so that both take 4/3
# of their time alone; on the non-blocking leaf they share nothing. Three times, or up to
# nine, as other programs add to times.
test_transfers_have_the_penalties_of_what_they_share() {
	local i
	needs_pmix
	inside tee schemes >/dev/null <<-'END'
		size 128K
		scheme out
		a: n8 -> n9
		b: n8 -> n10
		scheme in
		a: n9 -> n8
		b: n10 -> n8
		c: n11 -> n8
		scheme apart
		a: n8 -> n9
		b: n10 -> n11
		scheme leaf
		a: n0 -> n1
		b: n2 -> n3
	END
	for i in 1 2 3 4 5 6 7 8 9; do
		transfers 'n[0-3],n[8-11]' -K1 --parsable --repeats=2 schemes >>"$TMPDIR/table"
		((i < 3)) || ! (are_of_what_is_shared) >/dev/null || break
	done
	are_of_what_is_shared
}

are_of_what_is_shared() {
	penalties out 1.7 2.3
	penalties in 2.6 3.4
	penalties apart 0.9 1.15
	penalties leaf 1.2 1.6
}

test_a_wrong_scheme_is_refused_before_anything_is_sent() {
	local before

	needs_pmix
	# LINE: the only message of each process. Slurm prints messages of its own
	# if processes end before all have started. It kills none (-K0) when the first one has
	# failed, because srun may then end before their messages arrive. Up to three times,
	# as nodes may send requests of ARP meanwhile.
	refused() {
		local _
		for _ in 1 2 3; do
			before=$(cluster traffic 0)
			! transfers 'n[0-2]' -K0 schemes >"$TMPDIR/out" 2>"$TMPDIR/err" ||
				fail "it ran"
			equal "output" "$(cat "$TMPDIR/out")" ""
			equal "what is said" \
				"$(grep -Ev '^(\[|srun: |slurmstepd-|\(null\)$)' "$TMPDIR/err" |
					sort -u)" \
				"netprof-sharing: $1"
			[ "$(cluster traffic leaf0)" != "$before" ] || return 0
		done
		equal "bytes sent" "$(cluster traffic leaf0)" "$before"
	}
	printf 'a: n0 -> n1\nb: n0 => n2\n' | inside tee schemes >/dev/null
	refused 'schemes:2: transfer b: expected NAME: FROM -> TO'
	printf 'a: n0 -> n1\nb: n2 -> n3\n' | inside tee schemes >/dev/null
	refused 'scheme schemes has 4 nodes, the step has 3 processes'
}

# Time of LAMMPS' main loop on the first nodes while it also runs on the second, in s.
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

# In both cases the same two cores do all the work: only the switch differs. Up to
# three times, as other programs disturb them.
test_programs_slow_each_other_on_one_leaf_and_not_on_two() {
	local one two _
	needs_pmix
	sed 's/^run.*/run 15/' /usr/share/lammps/examples/melt/in.melt |
		inside tee melt.in >/dev/null
	for _ in 1 2 3; do
		one=$(loop_sec n0,n1 n2,n3)
		two=$(loop_sec n0,n1 n4,n5)
		! (between ratio "$(ratio "$one" "$two")" 1.4 4) >/dev/null || return 0
	done
	between "one leaf over two ($one s, $two s)" "$(ratio "$one" "$two")" 1.4 4
}
