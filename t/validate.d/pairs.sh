# How many pairs of nodes a leaf needs: single runs with 1, 2 and 4 pairs on eight
# nodes measure the same traffic of eight other nodes. About eight minutes.
# shellcheck shell=bash

PAIRS_RUNS=${PAIRS_RUNS:-6} PAIRS_SEC=${PAIRS_SEC:-10}

validate_pairs() {
	local level run pairs

	cluster up --leaves 1 --nodes-per-leaf 16 --leaf-mbit 120 --netprof "$BUILD"
	echo "date $(date +%F), $PAIRS_RUNS runs of $PAIRS_SEC s each"
	for level in none c1 c3; do
		for ((run = 0; run < PAIRS_RUNS; run++)); do
			for pairs in 1 2 4; do
				pairs_run "$level" "$pairs"
			done
		done
	done
	pairs_table
	cluster down
}

# LEVEL PAIRS: make one flagged run under the level.
pairs_run() {
	inside -- bash -c "{ cat /etc/slurm/netprof.conf; echo ProbePairs=$2; } >~/pairs.conf"
	# shellcheck disable=SC2016
	inside -- bash -c '
		[ "$1" = none ] || { srun -Q -N8 -w "n[8-15]" --mpi=pmix \
			netprof-compressionb --level="$1" >/dev/null 2>&1 &
			level=$!; sleep 1.5; }
		NETPROF_CONF=~/pairs.conf srun -Q -N8 -w "n[0-7]" \
			--netprofile="$1.$2" sleep "$3"
		[ "$1" = none ] || kill -USR1 $level
		wait' - "$1" "$2" "$PAIRS_SEC"
}

# Mean latency of each run: its mean over the runs, and their scatter.
pairs_table() {
	local d app

	echo "| traffic | pairs | n | mean latency, us | scatter of single runs, % |"
	echo "|---|---|---|---|---|"
	for d in "$(rundir)"/store/users/20001/*.[124]; do
		app=${d##*/}
		jq -rs --arg a "${app%.*}" --arg p "${app##*.}" '
			map(.leaves[0].latency | select(.n > 0) | .mean * 1e6) |
			(add / length) as $m |
			"| \($a) | \($p) | \(length) | \($m | round) | \(
			(map((. - $m) * (. - $m)) | add / (length - 1) | sqrt) /
			$m * 100 | round) |"' "$d"/*.json
	done
}
