# `netprof calibrate --levels=all`: the levels of the publication without those
# that are the same on so many nodes; prints first how long it takes, then which are
# chosen, and how they slow each other. About five minutes with these options;
# LEVEL_OPTIONS= takes those that a site has by default. With DRY=yes only the time
# is printed.
# shellcheck shell=bash disable=SC2086 # a list of words

LEVEL_NODES=${LEVEL_NODES:-8} # half of them carry the load
LEVEL_OPTIONS=${LEVEL_OPTIONS---seconds=1 --probe-seconds=1 --repeats=1}

validate_levels() {
	local c="salloc -Q -N$LEVEL_NODES netprof calibrate --levels=all --choose=4 $LEVEL_OPTIONS"
	cluster up --leaves 1 --nodes-per-leaf "$LEVEL_NODES" --own-cpus \
		--netprof "$BUILD"
	echo "date $(date +%F)"
	inside --user root -- $c --dry-run
	if [ "${DRY-}" != yes ]; then
		INSIDE_SEC=${LEVELS_LIMIT_SEC:-7200} inside --user root -- $c
		chosen_levels "$(rundir)"/store/fabric/"$NETPROF_CLUSTER"/*.json
	fi
	cluster down
}

# FILE: print by how much, in percent, each of the others slows the level before the
# colon; "-" if no round of it ended meanwhile.
chosen_levels() {
	jq -r '(.levels | map(.name)) as $name | .level_beside_level |
		to_entries[] | "\($name[.key]): " + (.value |
		map(.mean // "-" | (numbers | . * 100 | round | tostring), strings) |
		join(" "))' "$1"
}
