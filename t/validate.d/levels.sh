# `netprof calibrate --levels=all`: the levels of the publication without those
# that are the same on eight nodes; prints which are chosen, and how they slow each
# other.  About five minutes.
# shellcheck shell=bash

validate_levels() {
	cluster up --leaves 1 --nodes-per-leaf 8 --own-cpus --netprof "$BUILD"
	echo "date $(date +%F)"
	INSIDE_SEC=1800 inside --user root -- salloc -Q -N8 netprof calibrate \
		--levels=all --choose=4 --seconds=1 --probe-seconds=1 --repeats=1
	chosen_levels "$(rundir)"/store/fabric/"$NETPROF_CLUSTER"/*.json
	cluster down
}

# FILE: print by how much, in percent, each of the others slows the level before the
# colon.
chosen_levels() {
	jq -r '(.levels | map(.name)) as $name | .level_beside_level |
		to_entries[] | "\($name[.key]): " + (.value |
		map(.mean * 100 | round | tostring) | join(" "))' "$1"
}
