# The source's 40 levels, less those that are the same on so few nodes, as an
# administrator calibrates with them: which are taken, and what they do.
# shellcheck shell=bash

validate_levels() {
	cluster up --leaves 1 --nodes-per-leaf 8 --own-cpus --netprof "$BUILD"
	echo "date $(date +%F); netprof calibrate --levels=all, 8 nodes of a leaf"
	INSIDE_SEC=3000 inside --user root salloc -Q -N8 --exclusive \
		netprof calibrate --levels=all --seconds=1 --probe-seconds=3 \
		--repeats=1 2>&1 | grep -aE 'measurements|done' | tail -n 3
	cat "$(rundir)"/store/fabric/*/*.json | levels_table
	cluster down
}

# Of those that were taken: the mean latency beside each, and by how much it
# slows the other levels (geometric mean).
levels_table() {
	jq -r '.levels as $l | .level_beside_level as $m | .probes as $p |
		["level", "latency us", "slows others %"],
		($l | to_entries[] | .key as $j | [.value.name,
			($p[.value.name].mean_sec * 1e6 | round),
			([$m[] | .[$j].mean + 1 | log] | (add / length | exp) -
				1 | . * 100 | round)]) | @tsv' | column -t -s '	'
}
