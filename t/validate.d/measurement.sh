# Does what the probes see say how full the switch is?  Each interference
# level runs on four nodes of a leaf of eight, the probes on the other four,
# and the leaf's own byte counter is the truth.
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

# LEVEL: prints it with the share of the fabric that it takes.
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

table() {
	local level used

	echo "level  true use  probes  p50 us  mean us  load index  rounds/s"
	while read -r level used; do
		inside -- netprof show "level-$level" --json >"$BUILD/level.json"
		jq -r --arg l "$level" --arg u "$used" '
			def col(w): tostring | (" " * (w - length)) + .;
			(.latency.n | col(8)) as $n |
			(.latency.p50_sec * 1e6 | round | col(8)) as $p |
			(.latency.mean_sec * 1e6 | round | col(9)) as $m |
			(.verdict.rho * 100 | round / 100 | col(12)) as $r |
			"\($l)    \($u | tonumber * 100 | round / 100 | col(8)
			)\($n)\($p)\($m)\($r)"' "$BUILD/level.json"
	done <"$BUILD/levels.used"
}
