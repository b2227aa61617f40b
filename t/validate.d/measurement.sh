# Do probe latencies show the utilisation of the switch? Each load level runs on
# four nodes of a leaf of eight, the probes on the other four; the leaf's own byte
# counter is the reference.
# shellcheck shell=bash

MEASURE_SEC=10

validate_measurement() {
	cluster up --leaves 1 --nodes-per-leaf 8 --netprof "$BUILD"
	echo "date $(date +%F); $MEASURE_SEC s per level, probes every 20 ms"
	inside -- srun -Q -N4 -w 'n[0-3]' --netprofile=idle \
		--netprofile-period=20ms sleep "$MEASURE_SEC"
	for level in c0 c1 c2 c3 c4 c5 c6 c7; do
		measure_level "$level"
	done >"$BUILD/levels.used"
	sleep 2
	table
	cluster down
}

# LEVEL: print it with the share of the fabric that it uses.
measure_level() {
	local from to

	inside -- salloc -Q -N8 srun -Q -N4 -w 'n[0-3]' \
		--netprofile="level-$1" --netprofile-compress="$1" \
		--netprofile-period=20ms sleep "$MEASURE_SEC" &
	sleep $((MEASURE_SEC / 2 + 3)) # in the middle of it
	from=$(cluster traffic 0)
	sleep 4
	to=$(cluster traffic 0)
	wait $!
	echo "$1 $(awk "BEGIN { print ($to - $from) * 8 / 4 / 80e6 }")"
}

# Quantiles from the histogram in the record, netprof-profile(5).
QUANTILE='def edge: 1e-7 * pow(10; (. - 1) / 25);
	def quantile(q): (map(.[1]) | add * q) as $want
		| reduce .[] as [$bin, $n] ({sum: 0, at: null};
			if .at == null and .sum + $n >= $want
			then .at = ($bin + 0.5) else . end | .sum += $n)
		| .at | edge;'

table() {
	local level used

	printf '%-6s %8s %7s %8s %8s %8s %9s\n' level "true use" probes \
		"p50 us" "p90 us" "mean us" rounds/s
	row idle - idle
	while read -r level used; do
		row "$level" "$used" "level-$level"
	done <"$BUILD/levels.used"
}

# LEVEL USE PROFILE
row() {
	jq -r --arg level "$1" --arg use "$2" "$QUANTILE"' .leaves[0] as $l |
		[$level, $use, $l.latency.n, ($l.hist | quantile(0.5)) * 1e6,
		($l.hist | quantile(0.9)) * 1e6, $l.latency.mean * 1e6,
		(if .level then 1 / .level.beside_round_sec.mean else 0 end)]
		| @tsv' "$(rundir)/store/users/20001/$3"/*.json |
		awk -F'\t' '{ printf "%-6s %8s %7d %8.0f %8.0f %8.0f %9.2f\n",
			$1, $2, $3, $4, $5, $6, $7 }'
}
