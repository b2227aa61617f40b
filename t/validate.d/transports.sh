# UCX and libfabric in one run: latency, processor time and memory of probes and of
# load levels, at the same time on leaf switches of their own.  On a machine that does
# nothing else:
#
#	t/validate transports			# 3 minutes
#	TRANSPORTS_SEC=5 t/validate transports	# 1 minute
# shellcheck shell=bash

TRANSPORTS=(ucx ofi:tcp ofi:udp)
TRANSPORTS_SEC=${TRANSPORTS_SEC:-30}

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
