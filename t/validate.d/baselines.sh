# Does a load level, alone, take the same time for a round in a calibration,
# before the blocks of a run, and before a whole run under that level?  Each of
# the latter two is measured twice, so that differences can be compared with the
# noise.  Fails if a level differs by more than that.  Some six minutes.
#
#	LEAF_MBIT, NIC_MBIT	capacity of the leaf switch and of a node's link
# shellcheck shell=bash

# On n[0-3], with the levels on n[4-7], in an allocation of these nodes.
baselines_measure() {
	# shellcheck disable=SC2016 # expanded inside
	INSIDE_SEC=600 inside -- salloc -Q -w 'n[0-7]' --exclusive bash -c '
		for i in 1 2; do
			srun -Q -N4 -w "n[0-3]" --mpi=pmix \
				--netprofile=blocks.$i --netprofile-calibrate \
				sleep 8
			for level in c0 c1 c2 c3 c4 c5 c6 c7; do
				srun -Q -N4 -w "n[0-3]" --mpi=pmix \
					--netprofile=whole.$i \
					--netprofile-compress=$level sleep 1
			done
		done'
	sleep 3 # for the records
}

# One line for each level: its time for a round, by all three, in microseconds,
# the largest difference, and what the noise allows.  Fails beyond that.
baselines_table() {
	local store

	store=$(rundir)/store
	jq -nr --slurpfile cal <(cat "$store/fabric/$NETPROF_CLUSTER"/*.json) \
		--slurpfile blocks <(cat "$store"/users/*/blocks.[12]/*.json) \
		--slurpfile whole <(cat "$store"/users/*/whole.[12]/*.json) '
		def mean: add / length;
		# Standard deviation of logarithms, from the repetitions of all.
		def noise: map(map(log) | (.[0] - .[1]) | . * . / 2) | mean |
			sqrt;
		($cal[0].levels | map(.name)) as $level |
		[$level[] as $l | $blocks |
			map(.blocks_alone[] | select(.level == $l) |
				.round_sec.mean)] as $b |
		[$level[] as $l | $whole | map(select(.level.name == $l) |
			.level.alone_round_sec.mean)] as $w |
		if ($b + $w | map(length) | unique) != [2] then
			error("not every level was measured twice: " +
				($b + $w | tojson)) else . end |
		($cal[0].level_alone_round_sec |
			map(.sd / .mean / (.n | sqrt))) as $c |
		([($b | noise), ($w | noise)] | map(. * . / 2) | add) as $var |
		"level\tcalibration\tblocks\twhole runs\tdiffer by\tnoise allows",
		(range($level | length) | . as $i |
			[$cal[0].level_alone_round_sec[$i].mean, ($b[$i] | mean),
				($w[$i] | mean)] as $t |
			(($t | max) / ($t | min) - 1) as $differ |
			(4 * ($var + $c[$i] * $c[$i] | sqrt)) as $most |
			"\($level[$i])\t" + ($t | map(. * 1e6 | round |
				"\(.) us") | join("\t")) +
			"\t\($differ * 1000 | round / 10) %" +
			"\t\($most * 1000 | round / 10) %" +
			if $differ > $most then " DIFFERS" else "" end)' |
		column -t -s $'\t' | tee "$BUILD/baselines.txt"
	! grep -q DIFFERS "$BUILD/baselines.txt"
}

validate_baselines() {
	cluster up --leaves 2 --nodes-per-leaf 8 --leaf-mbit "${LEAF_MBIT:-120}" \
		--nic-mbit "${NIC_MBIT:-20}" --own-cpus --netprof "$BUILD"
	INSIDE_SEC=1800 inside --user root -- salloc -Q -N16 --exclusive \
		netprof calibrate --repeats=1 --seconds=2
	baselines_measure
	baselines_table
	cluster down
}
