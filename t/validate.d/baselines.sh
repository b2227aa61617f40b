# Does a load level, alone, take the same time for a round in a calibration,
# before the blocks of a run, and before a whole run under that level? Each of
# the latter two is measured twice, so that differences can be compared with the
# noise. Fails if a level differs by more than that. A whole run whose level came
# up too late has no rounds alone, and its record says so: such a round is reported
# and left out, and a level without any is not compared. Some six minutes.
#
#	LEAF_MBIT, NIC_MBIT	capacity of the leaf switch and of a node's link
#	BASELINES_LEVELS	the levels, such as "c1 c5" for a try of two minutes;
#				those of a calibration by default
# shellcheck shell=bash

# On n[0-3], with the levels on n[4-7], in an allocation of these nodes.
baselines_measure() {
	# shellcheck disable=SC2016 # expanded inside
	INSIDE_SEC=600 inside -- salloc -Q -w 'n[0-7]' --exclusive bash -c '
		for i in 1 2; do
			srun -Q -N4 -w "n[0-3]" --mpi=pmix \
				--netprofile=blocks.$i --netprofile-calibrate \
				sleep 8
			for level in $1; do
				srun -Q -N4 -w "n[0-3]" --mpi=pmix \
					--netprofile=whole.$i \
					--netprofile-compress=$level sleep 1
			done
		done' - "${BASELINES_LEVELS:-c0 c1 c2 c3 c4 c5 c6 c7}"
	sleep 3 # for the records
}

# One line for each level: its time for a round, by all three, in microseconds,
# the largest difference, and what the noise allows. Fails beyond that.
baselines_table() {
	local store

	store=$(rundir)/store
	jq -nr --slurpfile cal <(cat "$store/fabric/$NETPROF_CLUSTER"/*.json) \
		--slurpfile blocks <(cat "$store"/users/*/blocks.[12]/*.json) \
		--slurpfile whole <(cat "$store"/users/*/whole.[12]/*.json) '
		def mean: add / length;
		def us: if length == 0 then "-" else mean * 1e6 | round | "\(.) us" end;
		# Standard deviation of logarithms, from the repetitions of all
		# levels that have both.
		def noise: map(select(length == 2) | map(log) | (.[0] - .[1]) |
			. * . / 2) | if . == [] then error("no level was measured " +
			"twice") else mean | sqrt end;
		def rounds(f): map(f | select(. and .n > 0) | .mean);
		($cal[0].levels | map(.name)) as $level |
		[$level[] as $l | $blocks | rounds(.blocks_alone // [] | .[] |
			select(.level == $l) | .round_sec)] as $b |
		[$level[] as $l | $whole | map(select(.level.name == $l)) |
			rounds(.level.alone_round_sec)] as $w |
		($cal[0].level_alone_round_sec |
			map(.sd / .mean / (.n | sqrt))) as $c |
		($b | noise) as $nb | ($w | noise) as $nw |
		"level\tcalibration\tblocks\twhole runs\tdiffer by\tnoise allows",
		(range($level | length) | . as $i |
			([$b[$i], $w[$i]] | map(2 - length)) as $missing |
			if $b[$i] == [] or $w[$i] == [] then
				"\($level[$i])\t" + ([[$cal[0].level_alone_round_sec[$i].mean],
					$b[$i], $w[$i]] | map(us) | join("\t")) +
				"\t-\t- not compared: no round alone"
			else
			[$cal[0].level_alone_round_sec[$i].mean, ($b[$i] | mean),
				($w[$i] | mean)] as $t |
			(($t | max) / ($t | min) - 1) as $differ |
			(4 * ($nb * $nb / ($b[$i] | length) + $nw * $nw / ($w[$i] |
				length) + $c[$i] * $c[$i] | sqrt)) as $most |
			"\($level[$i])\t" + ($t | map([.] | us) | join("\t")) +
			"\t\($differ * 1000 | round / 10) %" +
			"\t\($most * 1000 | round / 10) %" +
			(if $differ > $most then " DIFFERS" else "" end) +
			if $missing == [0, 0] then "" else
				" without \($missing | add) of 4 rounds alone" end
			end)' |
		column -t -s $'\t' | tee "$BUILD/baselines.txt"
	baselines_missing
	grep -q ' %' "$BUILD/baselines.txt" || fail "no level is compared"
	! grep -q DIFFERS "$BUILD/baselines.txt"
}

# Say why rounds are missing: the notes of the records without them.
baselines_missing() {
	local store

	store=$(rundir)/store
	jq -r 'select((.level.alone_round_sec.n // 0) == 0) |
		"level \(.level.name), \(.app): no round alone" +
		((.notes // []) | map("; " + .) | join(""))' \
		"$store"/users/*/whole.[12]/*.json >&2
}

validate_baselines() {
	cluster up --leaves 2 --nodes-per-leaf 8 --leaf-mbit "${LEAF_MBIT:-120}" \
		--nic-mbit "${NIC_MBIT:-20}" --own-cpus --netprof "$BUILD"
	INSIDE_SEC=1800 inside --user root -- salloc -Q -N16 --exclusive \
		netprof calibrate --repeats=1 --seconds=2 \
		${BASELINES_LEVELS:+--levels="${BASELINES_LEVELS// /,}"}
	baselines_measure
	baselines_table
	cluster down
}
