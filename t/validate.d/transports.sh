# UCX and libfabric in one run: latency, processor time and memory of probes and of
# load levels, at the same time on leaf switches of their own; then by how much the
# probes of each slow one program. On a machine that does nothing else:
#
#	t/validate transports						# 16 minutes
#	TRANSPORTS_SEC=5 TRANSPORTS_CYCLES=12 t/validate transports	# 8 minutes
# shellcheck shell=bash

TRANSPORTS=(ucx ofi:tcp ofi:udp)
TRANSPORTS_SEC=${TRANSPORTS_SEC:-30}
TRANSPORTS_CYCLES=${TRANSPORTS_CYCLES:-24}

# The program, one step from the first block to the last: each process sends 8 messages of
# 40 KB to the next one, waits for those of the previous one, and starts again. Its rounds
# take as long as a link of 20 Mbit/s needs for their bytes: 140 ms, of which the link is
# idle for a fraction of one, as a connection has 13 ms of data in its buffers.
COST_PROGRAM=(netprof-compressionb --level=P1:M8:B0us --report-every=0.5)
COST_GOAL=1.005
COST_BLOCK_SEC=4
COST_SETTLE_SEC=0.5
COST_LEAST_ROUNDS=40 # of a block, by all processes; 90 are usual

# The blocks of a cycle: the second half is the first one in reverse, so that a drift
# cancels out. In three cycles each kind of block comes first, second and third.
COST_ORDERS=(
	"none ucx ofi:tcp ofi:tcp ucx none"
	"ucx ofi:tcp none none ofi:tcp ucx"
	"ofi:tcp none ucx ucx none ofi:tcp"
)

validate_transports() {
	local what

	cluster up --leaves 3 --nodes-per-leaf 4 --netprof "$BUILD"
	echo "date $(date +%F); $TRANSPORTS_SEC s each"
	printf '%-12s %-10s %5s %9s %9s %8s %8s\n' what transport n "mean us" \
		"least us" "CPU %" "MB"
	transports_of "probe" lat netprof-impactb
	for what in c0 c4 c7; do
		transports_of "level $what" round netprof-compressionb --level=$what
	done
	cluster down
	cluster up --leaves 1 --nodes-per-leaf 4 --nonblocking-leaf --netprof "$BUILD"
	cost_measure
	cost_table
	cluster down
}

transports_step() { # TRANSPORT NODES COMMAND...
	inside env NETPROF_TRANSPORT="$1" srun -Q -N4 -w "$2" --mpi=pmix \
		bash "$(rundir)/lib/together.sh" "${@:3}"
}

# WHAT KIND COMMAND...: run it over all of them at once
transports_of() {
	local i=0 t pids=()
	for t in "${TRANSPORTS[@]}"; do
		transports_step "$t" "n[$((4 * i))-$((4 * i + 3))]" "${@:3}" \
			--duration="$TRANSPORTS_SEC"s >"$BUILD/transports.$i" & pids+=($!)
		i=$((i + 1))
	done
	wait "${pids[@]}"
	for i in "${!TRANSPORTS[@]}"; do
		transports_row "$1" "${TRANSPORTS[$i]}" "$2" <"$BUILD/transports.$i"
	done
}

# Without the first report of each process, which includes its start.
transports_row() { # WHAT TRANSPORT KIND
	awk -v what="$1" -v transport="$2" -v kind="$3" '
		$2 == kind {
			n += $5; sum += $5 * $6
			if (!least || $8 < least) least = $8
		}
		$2 == "cost" && seen[$3]++ { cpu += $4; sec += $5 }
		$2 == "cost" && $7 > rss { rss = $7 }
		END {
			printf "%-12s %-10s %5d %9.0f %9.0f %8.2f %8.1f\n", what,
				transport, n, 1e6 * sum / n, 1e6 * least,
				100 * cpu / sec, rss / 1048576
		}'
}

## The cost to a program

# Lines with the time of their arrival.
stamp() {
	local line

	while IFS= read -r line; do
		echo "${EPOCHREALTIME/,/.} $line"
	done
}

# Run the program, and the probes in blocks: $BUILD/cost.program, $BUILD/cost.blocks.
cost_measure() {
	local cycle transport program

	INSIDE_SEC=7200 transports_step ucx 'n[0-3]' "${COST_PROGRAM[@]}" |
		stamp >"$BUILD/cost.program" & program=$!
	wait_for grep -q ' np1 round ' "$BUILD/cost.program"
	for ((cycle = 0; cycle < TRANSPORTS_CYCLES; cycle++)); do
		printf '\rcycle %d of %d ' "$((cycle + 1))" "$TRANSPORTS_CYCLES" >&2
		for transport in ${COST_ORDERS[cycle % 3]}; do
			cost_block "$transport" | stamp | cost_limits "$cycle $transport"
		done
	done >"$BUILD/cost.blocks"
	printf '\r' >&2
	inside scancel -u alice --signal=USR1
	wait $program || :
}

# A block in which probes fail has no end, and does not count.
cost_block() { # TRANSPORT
	if [ "$1" = none ]; then
		echo 'np1 hello'
		sleep "$COST_BLOCK_SEC"
		echo 'np1 bye'
	else
		INSIDE_SEC=60 transports_step "$1" 'n[0-3]' netprof-impactb \
			--duration="$COST_BLOCK_SEC"s || :
	fi
}

# Print "CYCLE TRANSPORT START END EXCHANGES": from when all processes run until one ends.
cost_limits() { # CYCLE and TRANSPORT
	awk -v name="$1" '
		$3 == "hello" { start = $1 }
		$3 == "bye" && !end { end = $1 }
		$3 == "lat" { n += $6 }
		END { printf "%s %.3f %.3f %d\n", name, start, end, n }'
}

# Print "CYCLE TRANSPORT SEC", the mean time of the rounds in each block. A report has the
# rounds that ended in half a second, and comes at most one round later.
cost_rounds() {
	awk -v settle="$COST_SETTLE_SEC" -v least="$COST_LEAST_ROUNDS" '
		NR == FNR {
			if ($4 > $3 && ($2 == "none" || $5)) {
				name[++n] = $1 " " $2
				from[n] = $3 + settle
				to[n] = $4
			}
			next
		}
		FNR == 1 { at = 1 }
		$3 == "round" {
			while (at <= n && $1 > to[at])
				at++
			if (at <= n && $1 - 0.7 >= from[at]) {
				rounds[at] += $6
				sec[at] += $6 * $7
			}
		}
		END {
			for (at = 1; at <= n; at++)
				if (rounds[at] >= least)
					print name[at], sec[at] / rounds[at]
		}' "$BUILD/cost.blocks" "$BUILD/cost.program"
}

# Print "A B" for each cycle whose blocks all count: the times with A and with B.
cost_pairs() { # A B <lines of cost_rounds
	awk -v a="$1" -v b="$2" '
		{ n[$1 " " $2]++; sec[$1 " " $2] += $3; last = $1 }
		END {
			for (c = 0; c <= last; c++)
				if (n[c " " a] == 2 && n[c " " b] == 2)
					print sec[c " " a], sec[c " " b]
		}'
}

# Likewise the first and the second block without probes, which shows what chance does.
cost_pairs_without() {
	awk '$2 == "none" && $1 in first { print first[$1], $3 }
		$2 == "none" { first[$1] = $3 }'
}

# Add what the interval says about the goal.
cost_verdict() {
	awk -v goal="$COST_GOAL" -F '[][, ]+' '{
		print $0 ": " ($2 < 6 ? "too few cycles" : \
			$9 <= goal ? "the goal of " goal " is met" : \
			$8 > goal ? "the goal of " goal " is missed" : "undecided")
	}'
}

cost_table() {
	local t rounds=$BUILD/cost.rounds

	cost_rounds >"$rounds"
	echo "a program that only exchanges messages, on links of 20 Mbit/s;" \
		"$TRANSPORTS_CYCLES cycles of 6 blocks, $COST_BLOCK_SEC s each;" \
		"load average $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors"
	awk -v blocks="$((6 * TRANSPORTS_CYCLES))" '{ n[$2]++; sum[$2] += $3 }
		END {
			printf "%d of %d blocks count; mean round in ms:", NR, blocks
			for (t in n)
				printf "  %s %.2f", t, 1e3 * sum[t] / n[t]
			print ""
		}' "$rounds"
	awk '$3 == "cost" && seen[$4]++ { cpu += $5; sec += $6 }
		END { printf "processor time of the program: %.1f %% of a processor for " \
			"each process\n", 100 * cpu / sec }' "$BUILD/cost.program"
	for t in ucx ofi:tcp; do
		printf '%-22s' "$t over none"
		cost_pairs $t none <"$rounds" | ratios | cost_verdict
	done
	printf '%-22s' "ofi:tcp over ucx"
	cost_pairs ofi:tcp ucx <"$rounds" | ratios
	printf '%-22s' "none over none"
	cost_pairs_without <"$rounds" | ratios
}
